//! The calls of the program: recursion, and calls of functions that are not defined.

use super::Checker;
use crate::diagnostics::Diagnostic;
use crate::source::Span;
use crate::tree::FunctionId;

impl Checker<'_, '_> {
    /// Checks the calls of what the program can run: everything that its kernels reach if it is whole; otherwise everything.
    ///
    /// A block literal is not a call: a function may enqueue a block that calls the function. So a block's function begins a
    /// path.
    pub(crate) fn check_calls(&mut self) {
        let count = self.module.functions.len();
        let mut callees: Vec<Vec<(FunctionId, Span)>> = vec![Vec::new(); count];
        for (caller, callee, span) in &self.calls {
            if let Some(list) = callees.get_mut(caller.0 as usize) {
                list.push((*callee, *span));
            }
        }
        let whole = self.session.options.whole_program;
        let is_root =
            |function: &crate::tree::Function| function.body.is_some() && (!whole || function.kernel.is_some());
        let is_block = |index: usize| self.functions.get(index).is_some_and(|info| info.is_block);
        let blocks: Vec<bool> = (0..count).map(is_block).collect();
        let mut roots: Vec<usize> = (0..count).rev().filter(|index| is_root(&self.module.functions[*index])).collect();
        // 0: not seen; 1: on the path from the root; 2: done.
        let mut marks = vec![0_u8; count];
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut reported = vec![false; count];
        while let Some(root) = roots.pop() {
            if marks[root] != 0 {
                continue;
            }
            marks[root] = 1;
            path.push((root, 0));
            while let Some((function, next)) = path.last_mut() {
                let Some((callee, span)) = callees[*function].get(*next).copied() else {
                    marks[*function] = 2;
                    path.pop();
                    continue;
                };
                *next += 1;
                let index = callee.0 as usize;
                if blocks.get(index) == Some(&true) {
                    roots.push(index);
                    continue;
                }
                match marks.get(index) {
                    Some(0) => {
                        if self.module.functions[index].body.is_some() {
                            marks[index] = 1;
                            path.push((index, 0));
                        } else {
                            marks[index] = 2;
                            self.undefined(callee, span);
                        }
                    }
                    Some(1) if !reported[index] => {
                        reported[index] = true;
                        let cycle: Vec<usize> = path.iter().map(|(function, _)| *function).collect();
                        self.recursion(callee, span, &cycle);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Reports a call of a function that is not defined, if no other unit can define it.
    fn undefined(&mut self, callee: FunctionId, span: Span) {
        let function = &self.module.functions[callee.0 as usize];
        if !self.session.options.whole_program && function.linkage != crate::tree::Linkage::Internal {
            return;
        }
        let name = self.text(function.name).to_owned();
        let declared = function.span;
        let error = Diagnostic::error(span, format!("undefined reference to '{name}'"));
        self.report(error.note(declared, format!("'{name}' is declared here and defined nowhere")));
    }

    /// Reports a recursive call.
    fn recursion(&mut self, callee: FunctionId, span: Span, path: &[usize]) {
        let name = self.text(self.module.functions[callee.0 as usize].name).to_owned();
        let start = path.iter().position(|function| *function == callee.0 as usize).unwrap_or(0);
        let mut error = Diagnostic::error(span, format!("recursive call of '{name}': OpenCL C has no recursion"));
        for between in path.iter().skip(start + 1) {
            let function = &self.module.functions[*between];
            error = error.note(function.span, format!("through '{}'", self.text(function.name)));
        }
        self.report(error);
    }
}
