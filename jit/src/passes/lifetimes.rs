//! Lifetimes of private variables.
//!
//! A variable of a block that is executed again, or of an inlined function, has no value when the block or the function begins. A
//! fill with an undefined byte says so: without it, the variable would seem to keep its value from one iteration of a loop to the
//! next, in a block parameter and, across barriers, in memory. [`super::mem2reg`] and [`mod@crate::check`] use these marks.
//! This pass removes those of variables that stay in memory, which must not become code.

use clift_kir::dfg::DataFlowGraph;
use clift_kir::{Function, Inst, Opcode, Value};

use super::Changed;

/// Removes all marks.
pub(super) fn run(func: &mut Function) -> Changed {
    let Function { layout, dfg, .. } = func;
    let mut changed = false;
    for block in layout.blocks().to_vec() {
        let before = layout.insts(block).len();
        layout.retain(block, |inst| !is_start(dfg, inst));
        changed |= layout.insts(block).len() != before;
    }
    Changed(changed)
}

/// Whether an instruction is the beginning of a private variable's lifetime: a fill with an undefined byte.
pub(crate) fn is_start(dfg: &DataFlowGraph, inst: Inst) -> bool {
    let data = dfg.inst(inst);
    data.op == Opcode::Memset && is_undef(dfg, data.args[1])
}

/// Whether a value is `undef`.
pub(super) fn is_undef(dfg: &DataFlowGraph, value: Value) -> bool {
    dfg.def_inst(value).is_some_and(|def| dfg.inst(def).op == Opcode::Undef)
}
