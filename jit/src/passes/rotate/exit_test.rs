//! Exit tests of counters as inequalities (LLVM's linear-function test replacement).
//!
//! A loop stays while `i < end`; `i` grows by one. Every iteration begins with `i < end`, so `i + 1` does not wrap and is at most
//! `end`: the loop stays if `i + 1 != end`. The same holds for a counter that falls by one while `i > end`. While `i <= end`, the
//! limit is `end + 1`, which is right if the counter's step promises not to wrap.

use clift_kir::{Block, Builder, Function, Imm, Inst, IntCond, Opcode, Value, WrapFlags};

use super::loop_form;

/// A counter of steps of one, and the value with which a loop is left.
pub(super) struct LimitedCounter {
    counter: Value,
    /// Loop-invariant, up to the caller.
    pub(super) limit: Value,
    /// What is added to the limit.
    beyond: i64,
}

/// The counter that a header's branch compares, if the latch changes it by one towards the limit.
pub(super) fn limited_counter(
    func: &Function,
    (head, latch): (Block, Block),
    branch: Inst,
    stays: usize,
) -> Option<LimitedCounter> {
    let condition = func.dfg.inst(func.dfg.def_inst(func.dfg.inst(branch).args[0])?);
    let Imm::IntCond(cond) = condition.imm else { return None };
    let (a, b) = (condition.args[0], condition.args[1]);
    let params = func.dfg.params(head);
    let cond = if stays == 0 { cond } else { cond.inverse() };
    let (counter, limit, cond) = if params.contains(&a) { (a, b, cond) } else { (b, a, cond.swapped()) };
    let index = params.iter().position(|&param| param == counter)?;
    if params.contains(&limit) {
        return None;
    }
    let next = func.dfg.inst(func.dfg.def_inst(loop_form::args_of_edge(func, latch, head)?[index])?);
    if next.op != Opcode::Iadd || next.args[0] != counter {
        return None;
    }
    let ty = func.dfg.ty(counter);
    let step = func.dfg.as_splat_bits(next.args[1])?;
    let (up, down) = (step == 1, step == ty.elem.mask());
    let keeps_sign = next.imm.wrap().contains(WrapFlags::NO_SIGNED);
    let beyond = match cond {
        IntCond::Slt | IntCond::Ult if up => 0,
        IntCond::Sgt | IntCond::Ugt if down => 0,
        IntCond::Sle if up && keeps_sign => 1,
        IntCond::Sge if down && keeps_sign => -1,
        IntCond::Eq
        | IntCond::Ne
        | IntCond::Ult
        | IntCond::Ule
        | IntCond::Ugt
        | IntCond::Uge
        | IntCond::Slt
        | IntCond::Sle
        | IntCond::Sgt
        | IntCond::Sge => return None,
    };
    Some(LimitedCounter { counter, limit, beyond })
}

/// Lets a branch compare a counter with its limit for equality. What the limit needs is computed at the end of `outside`, before
/// its terminator.
pub(super) fn test_equality(func: &mut Function, outside: Block, branch: Inst, counter: &LimitedCounter, stays: usize) {
    let loc = func.locs[branch];
    let ty = func.dfg.ty(counter.counter);
    let mut limit = counter.limit;
    if counter.beyond != 0 {
        let index = func.layout.insts(outside).len() - 1;
        let mut b = Builder::before(func, outside, index);
        b.set_loc(loc);
        let distance = b.iconst(ty, counter.beyond);
        limit = b.int2(Opcode::Iadd, limit, distance);
    }
    let Some(home) = func.layout.block_of(branch) else { return };
    let index = func.layout.insts(home).len() - 1;
    let mut b = Builder::before(func, home, index);
    b.set_loc(loc);
    let cond = if stays == 0 { IntCond::Ne } else { IntCond::Eq };
    let test = b.icmp(cond, counter.counter, limit);
    func.dfg.inst_mut(branch).args[0] = test;
}
