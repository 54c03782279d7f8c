//! The instructions of one function.

use spirv::Op;

use super::Id;
use super::module::ModuleBuilder;

/// Emits one function's instructions into its current block.
#[derive(Debug)]
pub(crate) struct FunctionEmitter<'m, 'a> {
    /// The module.
    pub module: &'m mut ModuleBuilder<'a>,
}

#[expect(unused_variables, clippy::unused_self, reason = "interface first")]
impl FunctionEmitter<'_, '_> {
    /// Emits an instruction with a result.
    pub(crate) fn op(&mut self, op: Op, result_type: Id, operands: &[u32]) -> Id {
        0
    }

    /// Emits an instruction without a result.
    pub(crate) fn op_void(&mut self, op: Op, operands: &[u32]) {}

    /// Emits an instruction of `OpenCL.std`.
    pub(crate) fn ext(&mut self, number: u32, result_type: Id, operands: &[u32]) -> Id {
        0
    }

    /// Ends the current block with a branch on a condition (`OpTypeBool`) to two new blocks, and returns them: then, else.
    pub(crate) fn branch(&mut self, condition: Id) -> (Id, Id) {
        (0, 0)
    }

    /// Begins a block; the current one, unless it has ended, branches to it.
    pub(crate) fn begin_block(&mut self, label: Id) {}

    /// A new block's label.
    pub(crate) fn label(&mut self) -> Id {
        0
    }
}
