//! Assumptions about selects, minima and maxima: all lanes choose the same operand, and which.
//!
//! Where the lanes of an index differ from one operand to the other, as in `x == 0 ? w - 1 : x - 1` or `max(x - 1, 0)`, it is not
//! enough that they choose alike: the stride depends on which operand it is. Usually packs lie where the index moves with the
//! lanes. The first and last iterations of a loop may be the other way round: `max(0, x + r - w)` is 0 but for the packs at the
//! right border. That is the alternative [`BOUNDS`].

use clift_kir::{Inst, IntCond, Opcode};
use smallvec::smallvec;

use super::affine::Affine;
use super::assumptions::{BOUNDS, Test, Tests};
use super::shape::{Bound, Check, Excludes, Scope};
use super::transfer::TransferFunctions;

impl TransferFunctions<'_> {
    /// A select whose condition is the same in all lanes, between operands with different strides.
    pub(crate) fn assumed_select(&self, inst: Inst, operands: [Affine; 3], which: u8) -> Option<(Affine, Tests)> {
        let [cond, then, otherwise] = operands;
        if !cond.is_uniform() || then.stride == otherwise.stride {
            return None;
        }
        let is = match (then.is_uniform(), otherwise.is_uniform()) {
            (false, false) if which == BOUNDS => return None,
            // The index that rises, not its mirror image.
            (false, false) => then.stride > otherwise.stride,
            (then_is_uniform, _) => then_is_uniform == (which == BOUNDS),
        };
        let chosen = if is { then } else { otherwise };
        let test = Test::Is { condition: self.func.dfg.inst(inst).args[0], is };
        Some((Affine { scope: Scope::Pack, ..chosen }, smallvec![test]))
    }

    /// A minimum or maximum that is its uniform operand in all lanes.
    pub(crate) fn assumed_bound(&mut self, inst: Inst, [a, b]: [Affine; 2]) -> Option<(Affine, Tests)> {
        let data = self.func.dfg.inst(inst);
        let (op, signed) = (data.op, [Opcode::Smin, Opcode::Smax].contains(&data.op));
        let (affine, value, limit, bound) =
            if b.is_uniform() { (a, data.args[0], b, data.args[1]) } else { (b, data.args[1], a, data.args[0]) };
        if !limit.is_uniform() {
            return None;
        }
        let step = self.step_to_last(affine, self.func.dfg.ty(value))?;
        let (at_most, at_least) = if signed { (IntCond::Sle, IntCond::Sge) } else { (IntCond::Ule, IntCond::Uge) };
        let excludes = Excludes::Clamps;
        let mut tests: Tests = self.wrap_check(affine, value, signed).map(Test::Check).into_iter().collect();
        // The lane that is farthest from the bound must be on the other side of it.
        let bound = Bound::Shared(bound);
        tests.push(Test::Check(if [Opcode::Smin, Opcode::Umin].contains(&op) {
            Check { excludes, value, plus: step.min(0), cond: at_least, bound }
        } else {
            Check { excludes, value, plus: step.max(0), cond: at_most, bound }
        }));
        Some((Affine { scope: Scope::Pack, ..limit }, tests))
    }
}
