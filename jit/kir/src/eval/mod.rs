//! The semantics of ops whose result depends only on their operands: lane by lane ([`int`], [`float`], [`convert`]) or from all
//! lanes at once ([`whole`]).
//!
//! A lane is the low `bits()` bits of a `u64`, the rest zero, for every element type. The functions are total, need no memory
//! and are the definition of the ops: constant folder and interpreter call them, code generators are tested against them.

pub mod convert;
pub mod float;
pub mod int;
pub mod whole;

use smallvec::SmallVec;

use crate::inst::{AtomicOp, Imm, Rounding};
use crate::ops::Meaning;
use crate::types::{Elem, Type};

/// Lanes of one value.
pub type LaneVec = SmallVec<[u64; 4]>;

/// The inputs of a lane-wise meaning besides its operands.
#[derive(Clone, Copy, Debug)]
pub struct LaneCx<'a> {
    /// The instruction's immediate.
    pub imm: &'a Imm,
    /// Element type of the first operand.
    pub src: Elem,
    /// Element type of the result.
    pub dst: Elem,
}

/// The inputs of a meaning of whole values besides its operands.
#[derive(Clone, Copy, Debug)]
pub struct WholeCx<'a> {
    /// The instruction's immediate.
    pub imm: &'a Imm,
    /// Element type of the first operand.
    pub src: Elem,
    /// Type of the result.
    pub dst: Type,
}

/// The meaning of `libcall`.
pub fn lib_call(cx: &LaneCx<'_>, args: &[u64]) -> u64 {
    let Imm::Lib(function) = cx.imm else { unreachable!("broken invariant: libcall with immediate {:?}", cx.imm) };
    function.eval(cx.src, args)
}

/// Combines two values by an atomic operation or a step of a reduction.
pub fn combine(op: AtomicOp, elem: Elem, old: u64, operand: u64) -> u64 {
    let cx = LaneCx { imm: &Imm::None, src: elem, dst: elem };
    let Some(op) = op.combines_by() else { return operand };
    match op.info().meaning {
        Meaning::Lanes(compute) => compute(&cx, &[old, operand]),
        Meaning::Whole(_) | Meaning::Query | Meaning::Memory | Meaning::Control => {
            unreachable!("broken invariant: {op:?} does not combine lanes")
        }
    }
}

/// The identity of an operation: the start value of a reduction or scan.
pub fn identity(op: AtomicOp, elem: Elem) -> u64 {
    let smallest = int::wrap(elem, int::signed_range(elem).0);
    let float = |number| convert::round_f64(elem, number, Rounding::NearestEven);
    match op {
        AtomicOp::Xchg | AtomicOp::Sub => unreachable!("broken invariant: {op:?} combines nothing"),
        AtomicOp::Add | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Umax => 0,
        AtomicOp::Mul => 1,
        AtomicOp::And | AtomicOp::Umin => elem.mask(),
        AtomicOp::Smin => smallest ^ elem.mask(),
        AtomicOp::Smax => smallest,
        AtomicOp::Fadd => float(0.0),
        AtomicOp::Fmul => float(1.0),
        AtomicOp::Fmin => float(f64::INFINITY),
        AtomicOp::Fmax => float(f64::NEG_INFINITY),
    }
}

/// The memory representation of lanes.
pub fn to_bytes(elem: Elem, lanes: &[u64]) -> SmallVec<[u8; 64]> {
    let size = elem.bytes() as usize;
    lanes.iter().flat_map(|lane| lane.to_le_bytes().into_iter().take(size)).collect()
}

/// Lanes from their memory representation.
pub fn from_bytes(elem: Elem, bytes: &[u8]) -> LaneVec {
    let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks_exact(elem.bytes() as usize).map(lane).collect()
}
