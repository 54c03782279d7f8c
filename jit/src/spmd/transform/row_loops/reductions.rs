//! Reductions of integers in loops of a single lane: each of the iterations that are executed at once has an accumulator of its
//! own.
//!
//! ```text
//! for (k = first; k != limit; k++)           four = 0;
//!     sum += a[k];                           for (; limit - k >= 4; k += 4)
//!                                                four += elements k to k + 3;
//!                                            sum += four.x + four.y + four.z + four.w;
//! ```
//!
//! Sums of floats depend on the order, so they stay.

use clift_kir::dfg::ConstData;
use clift_kir::{AtomicOp, Builder, Function, Imm, Inst, Opcode, Type, Value, eval};

use super::CountedLoop;
use crate::spmd::transform::reduction_ops::INTEGER_REDUCTIONS;

/// A value that each iteration combines with another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The parameter of the loop.
    pub(super) param: Value,
    /// What the next iteration gets.
    pub(super) next: Value,
    op: AtomicOp,
    /// Whether the iterations' values are subtracted.
    subtracts: bool,
    /// What an iteration adds.
    operand: Value,
    /// The Boolean on which that depends, and whether it must be true.
    condition: Option<(Value, bool)>,
    /// The instruction under the condition.
    update: Option<Inst>,
}

impl Reduction {
    /// The reductions of a loop.
    pub(super) fn all(func: &Function, counted: &CountedLoop) -> Vec<Reduction> {
        let params = func.dfg.params(counted.body);
        params.iter().filter_map(|&param| Reduction::of(func, counted, param)).collect()
    }

    fn of(func: &Function, counted: &CountedLoop, param: Value) -> Option<Reduction> {
        let ty = func.dfg.ty(param);
        let next = counted.next_of(func, param)?;
        if param == counted.counter || !ty.is_int() || ty.is_vector() {
            return None;
        }
        let last = func.dfg.def_inst(next)?;
        let data = func.dfg.inst(last);
        let reduction = if data.op == Opcode::Select {
            let &[condition, then, otherwise] = data.args.as_slice() else { return None };
            let (updated, is_true) = if otherwise == param { (then, true) } else { (otherwise, false) };
            let unchanged = if is_true { otherwise } else { then };
            let update = func.dfg.def_inst(updated)?;
            let condition = Some((condition, is_true));
            let made = Reduction::by(func, param, update)?;
            (unchanged == param).then_some(Reduction { next, condition, update: Some(update), ..made })?
        } else {
            Reduction { next, ..Reduction::by(func, param, last)? }
        };
        // Nothing else sees the values in between.
        let own = |inst: Inst| inst == last || Some(inst) == reduction.update;
        let hidden = [Some(param), reduction.update.map(|update| func.dfg.result(update))];
        let mut is_alone = true;
        for &inst in func.layout.insts(counted.body) {
            let is_end = func.layout.terminator(counted.body) == Some(inst);
            func.dfg.for_each_use(inst, |value| {
                is_alone &= own(inst) || !hidden.contains(&Some(value)) && (is_end || value != next);
            });
        }
        let is_own = |value: Value| value == param || func.dfg.def_inst(value).is_some_and(own);
        let free = !is_own(reduction.operand) && reduction.condition.is_none_or(|(condition, _)| !is_own(condition));
        (is_alone && free).then_some(reduction)
    }

    /// The reduction by an instruction that combines `param` with another value.
    fn by(func: &Function, param: Value, inst: Inst) -> Option<Reduction> {
        let data = func.dfg.inst(inst);
        let &[x, y] = data.args.as_slice() else { return None };
        let &(_, op) = INTEGER_REDUCTIONS.iter().find(|(op, _)| *op == data.op)?;
        let operand = if x == param {
            y
        } else if y == param && data.op != Opcode::Isub {
            x
        } else {
            return None;
        };
        let subtracts = data.op == Opcode::Isub;
        Some(Reduction { param, next: param, op, subtracts, operand, condition: None, update: None })
    }

    /// Whether an instruction of the body computes nothing but the reduction.
    pub(super) fn contains(&self, func: &Function, inst: Inst) -> bool {
        Some(inst) == self.update || func.dfg.def_inst(self.next) == Some(inst)
    }

    /// What one iteration adds; `value` gives the values of its copy.
    pub(super) fn contribution(&self, at: &mut Builder<'_>, value: impl Fn(Value) -> Value) -> Value {
        let operand = value(self.operand);
        let Some((condition, is_true)) = self.condition else { return operand };
        let nothing = identity(at, self.op, at.ty(operand));
        let [then, otherwise] = if is_true { [operand, nothing] } else { [nothing, operand] };
        at.select(value(condition), then, otherwise)
    }

    /// The accumulators before the loop.
    pub(super) fn start(&self, at: &mut Builder<'_>, count: u32) -> Value {
        let ty = at.ty(self.param);
        identity(at, self.op, ty.with_lanes(count))
    }

    /// The accumulators after iterations that add `more`.
    pub(super) fn combine(&self, at: &mut Builder<'_>, accumulators: Value, more: Value) -> Value {
        at.int2(opcode(self.op), accumulators, more)
    }

    /// The value after the loop.
    pub(super) fn finish(&self, at: &mut Builder<'_>, before: Value, accumulators: Value) -> Value {
        let ty = at.ty(before);
        let all = at.value(Opcode::Reduce, &[accumulators], Imm::Reduce(self.op), ty);
        at.int2(if self.subtracts { Opcode::Isub } else { opcode(self.op) }, before, all)
    }
}

/// The op that combines accumulators.
fn opcode(op: AtomicOp) -> Opcode {
    op.combines_by().unwrap_or_else(|| unreachable!("broken invariant: no reduction by {op:?}"))
}

/// What changes nothing.
fn identity(at: &mut Builder<'_>, op: AtomicOp, ty: Type) -> Value {
    at.constant(ConstData::splat(ty, eval::identity(op, ty.elem)))
}
