//! Addresses in a loop that differ because integers do: `for (i = 0; i < c; i++)` does not access `a[c]` by `a[i]`, nor does
//! `for (j = c + 1; j < n; j++)` by `a[j]`.
//!
//! That integers differ follows from the branches on the edges to a loop's header, the first one and those of later iterations,
//! or from where a counter starts. The addresses must be the same function of the two integers, with a factor of at least the
//! size of the accesses: indices of at most 32 bits, whose products with the factor do not wrap.

use clift_kir::analysis::{Cfg, LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::inst::WrapFlags;
use clift_kir::{Block, Function, Imm, Inst, IntCond, Opcode, Value};

use super::linear::{Iteration, LinearForms};
use super::loop_form;

/// How many branches before an edge are looked at.
const MAX_BRANCHES: usize = 8;

/// A function in the form of [`loop_form`].
#[derive(Clone, Copy)]
pub(super) struct UnequalAddresses<'a> {
    pub(super) func: &'a Function,
    pub(super) cfg: &'a Cfg,
    pub(super) loops: &'a LoopForest,
}

impl UnequalAddresses<'_> {
    /// Whether accesses of at most `bytes` bytes at two addresses have no bytes in common, in any iteration of a loop in which
    /// one of the addresses is invariant.
    pub(super) fn are_apart(&self, id: LoopId, a: Value, b: Value, bytes: u32) -> bool {
        let &[latch] = self.loops.get(id).latches.as_slice() else { return false };
        let forms = LinearForms { func: self.func, loops: self.loops, id, latch };
        let form = |pointer| forms.of(pointer, Iteration::This);
        let difference = form(a).zip(form(b)).and_then(|(a, b)| a.scaled_difference(&b));
        difference
            .is_some_and(|(x, y, scale)| scale >= u64::from(bytes) && (self.is_never(x, y) || self.is_never(y, x)))
    }

    /// Whether a counter differs from a value from outside of its loop in all iterations.
    fn is_never(&self, counter: Value, bound: Value) -> bool {
        let ValueDef::Param(header, _) = self.func.dfg.def(counter) else { return false };
        let Some((id, data)) = self.loops.innermost(header).map(|id| (id, self.loops.get(id))) else { return false };
        let home = self.func.def_block(bound);
        if data.header != header || home.is_none_or(|home| self.loops.contains(id, home)) {
            return false;
        }
        let passed = |pred: Block| self.passed(counter, pred);
        let preds = self.cfg.preds(header);
        let differs = |&pred: &Block| passed(pred).is_some_and(|value| self.differ_on_edge(pred, header, value, bound));
        let goes_on = |pred: Block, promise: WrapFlags| {
            let start = if self.loops.contains(id, pred) { counter } else { bound };
            passed(pred).is_some_and(|value| self.is_above(value, start, promise))
        };
        let goes_up = |promise: WrapFlags| preds.iter().all(|&pred| goes_on(pred, promise));
        preds.iter().all(differs) || goes_up(WrapFlags::NO_SIGNED) || goes_up(WrapFlags::NO_UNSIGNED)
    }

    /// Whether a value is a sum of another one and a positive constant, which does not wrap by this promise.
    fn is_above(&self, value: Value, start: Value, promise: WrapFlags) -> bool {
        let Some(inst) = self.func.dfg.def_inst(value) else { return false };
        let data = self.func.dfg.inst(inst);
        let is_positive = |step: u64| (step << (u64::BITS - self.func.dfg.ty(value).elem.bits())) as i64 > 0;
        data.op == Opcode::Iadd
            && data.args[0] == start
            && data.imm.wrap().contains(promise)
            && self.func.dfg.as_splat_bits(data.args[1]).is_some_and(is_positive)
    }

    /// What a block passes to a parameter.
    fn passed(&self, param: Value, from: Block) -> Option<Value> {
        let ValueDef::Param(block, index) = self.func.dfg.def(param) else { return None };
        loop_form::args_of_edge(self.func, from, block)?.get(usize::from(index)).copied()
    }

    /// Whether two values differ where control passes from one block to another: by a branch there, or one that leads only there.
    fn differ_on_edge(&self, mut from: Block, mut to: Block, mut a: Value, mut b: Value) -> bool {
        for _ in 0..MAX_BRANCHES {
            if self.func.layout.terminator(from).is_some_and(|branch| self.says_unequal(branch, to, a, b)) {
                return true;
            }
            let &[pred] = self.cfg.preds(from) else { return false };
            // Preheaders have parameters of their own.
            let before = |value: Value| match self.func.dfg.def(value) {
                ValueDef::Param(block, _) if block == from => self.passed(value, pred),
                ValueDef::Param(..) | ValueDef::Result(..) => Some(value),
            };
            let Some(earlier) = before(a).zip(before(b)) else { return false };
            (a, b) = earlier;
            (from, to) = (pred, from);
        }
        false
    }

    /// Whether a branch leads to a block only if two values differ.
    fn says_unequal(&self, branch: Inst, to: Block, a: Value, b: Value) -> bool {
        let data = self.func.dfg.inst(branch);
        let Imm::Branch(calls) = &data.imm else { return false };
        let Some(test) = self.func.dfg.def_inst(data.args[0]) else { return false };
        let Imm::IntCond(cond) = self.func.dfg.inst(test).imm else { return false };
        let holds = match if calls[0].block == to { cond } else { cond.inverse() } {
            IntCond::Ne | IntCond::Ult | IntCond::Ugt | IntCond::Slt | IntCond::Sgt => true,
            IntCond::Eq | IntCond::Ule | IntCond::Uge | IntCond::Sle | IntCond::Sge => false,
        };
        let is = |value: Value, other: Value| {
            let bits = |value: Value| self.func.dfg.as_splat_bits(value);
            value == other || bits(value).is_some_and(|number| bits(other) == Some(number))
        };
        let &[x, y] = self.func.dfg.inst(test).args.as_slice() else { return false };
        holds && calls[0].block != calls[1].block && ((is(x, a) && is(y, b)) || (is(x, b) && is(y, a)))
    }
}
