//! Aggregated atomics: a pack executes an atomic of all its lanes on one address as one atomic.
//!
//! Every memory order and scope permits the modification order in which the lanes' operations follow one another, lane by lane,
//! with nothing between. So the lanes' operands are combined first, and one atomic changes the memory. A lane's result is the
//! result of that atomic, combined with the operands of the lanes before it.

use clift_kir::analysis::UseCounts;
use clift_kir::eval::identity;
use clift_kir::inst::Imm;
use clift_kir::{AtomicOp, Function, Inst, Opcode};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Scope;

/// How a pack executes an atomic of all its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AggregatedAtomic {
    /// The operation that combines the lanes' operands; for a subtraction, this is addition.
    pub(crate) combine: AtomicOp,
    /// The bits of the operation's identity.
    pub(crate) identity_bits: u64,
    /// Whether the results of the lanes are used.
    pub(crate) result_used: bool,
}

/// How an atomic is executed once for all lanes; `None` if it is executed lane by lane. `uses` counts the uses of the function's
/// values.
pub(crate) fn aggregated(
    func: &Function,
    uses: &UseCounts,
    divergence: &Divergence,
    inst: Inst,
) -> Option<AggregatedAtomic> {
    let data = func.dfg.inst(inst);
    let (Opcode::AtomicRmw, &Imm::Atomic(info)) = (data.op, &data.imm) else { return None };
    if !divergence.shape(data.args[0]).is_uniform(Scope::Pack) {
        return None;
    }
    let result = func.dfg.result(inst);
    let combine = combining(info.op)?;
    let identity_bits = identity(combine, func.dfg.ty(result).elem);
    Some(AggregatedAtomic { combine, identity_bits, result_used: uses.get(result) > 0 })
}

/// The operation that combines the operands of an atomic; `None` if combining them first would change the result.
fn combining(op: AtomicOp) -> Option<AtomicOp> {
    match op {
        AtomicOp::Sub => Some(AtomicOp::Add),
        AtomicOp::Add
        | AtomicOp::Mul
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor
        | AtomicOp::Smin
        | AtomicOp::Smax
        | AtomicOp::Umin
        | AtomicOp::Umax => Some(op),
        AtomicOp::Xchg | AtomicOp::Fadd | AtomicOp::Fmul | AtomicOp::Fmin | AtomicOp::Fmax => None,
    }
}
