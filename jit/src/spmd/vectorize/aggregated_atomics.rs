//! Atomics of all lanes on one place: a pack makes them as one.
//!
//! The lanes' operations follow one another in the order of the place's modifications, lane by lane, with nothing between: an
//! order that every memory order and scope allows. So what the lanes bring is combined first, and one atomic changes the place.
//! What a lane would have found there is what the atomic found, combined with what the lanes before it bring.

use clift_kir::analysis::UseCounts;
use clift_kir::eval::identity;
use clift_kir::inst::Imm;
use clift_kir::{AtomicOp, Function, Inst, Opcode};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Scope;

/// What a pack makes of an atomic of all its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    /// Combines what lanes bring: what is subtracted is added up.
    pub(crate) combine: AtomicOp,
    /// The bits that change nothing they are combined with.
    pub(crate) neutral: u64,
    /// Whether lanes ask for what they would have found.
    pub(crate) asked: bool,
}

/// How an atomic is made once for all lanes; `None` where it is made lane by lane. Takes how often values of the function are used.
pub(crate) fn together(func: &Function, uses: &UseCounts, divergence: &Divergence, inst: Inst) -> Option<Together> {
    let data = func.dfg.inst(inst);
    let (Opcode::AtomicRmw, &Imm::Atomic(info)) = (data.op, &data.imm) else { return None };
    if !divergence.shape(data.args[0]).is_uniform(Scope::Pack) {
        return None;
    }
    let result = func.dfg.result(inst);
    let combine = combining(info.op)?;
    let neutral = identity(combine, func.dfg.ty(result).elem);
    Some(Together { combine, neutral, asked: uses.get(result) > 0 })
}

/// What combines the lanes of an atomic; `None` where lanes combined first would give another result.
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
