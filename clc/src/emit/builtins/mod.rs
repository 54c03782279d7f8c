//! Calls of built-in functions.

use super::Id;
use super::function::FunctionEmitter;
use crate::builtins::Lowering;
use crate::tree::Expr;
use crate::types::Ty;

/// Emits a call. `arguments` are the (typed) arguments; `values` are their values, already emitted.
///
/// Returns the result's value; `None` if it is `void`.
pub(crate) fn call(
    emitter: &mut FunctionEmitter<'_, '_>,
    lowering: Lowering,
    result: Ty,
    arguments: &[Expr],
    values: &[Id],
) -> Option<Id> {
    let _ = arguments;
    match lowering {
        Lowering::Ext(number) => {
            let ty = emitter.module.type_id(result);
            Some(emitter.ext(number, ty, values))
        }
        _ => Some(emitter.module.zero(result)),
    }
}
