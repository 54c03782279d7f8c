//! Functions.

use super::Checker;
use crate::source::Span;
use crate::tree::FunctionId;

impl Checker<'_, '_> {
    /// The function whose body is checked; `None` at file scope.
    pub(crate) fn current_function(&self) -> Option<FunctionId> {
        self.states.last().map(|state| state.id)
    }

    /// Notes that the current function calls another one of the program, or takes its address.
    pub(crate) fn record_call(&mut self, callee: FunctionId, span: Span) {
        if let Some(info) = self.functions.get_mut(callee.0 as usize) {
            info.used.get_or_insert(span);
        }
        if let Some(caller) = self.current_function() {
            self.calls.push((caller, callee, span));
        }
    }
}
