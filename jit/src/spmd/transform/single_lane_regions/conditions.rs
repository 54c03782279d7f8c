//! Conditions that hold for one lane of a pack at most: comparisons that tell one element of a progression from all others.

use clift_kir::inst::Imm;
use clift_kir::{Function, IntCond, Opcode, Value};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Scope, Shape};
use crate::target::machine::MAX_LANES;

/// The most instructions between a comparison and a branch.
const MAX_DEPTH: u32 = 8;

/// What a condition says of a value where it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is equal to another one.
    Equal(Value, Value),
    /// It is zero.
    Zero(Value),
}

/// What is known where a condition has the value `holds`, if that is so for one lane of a pack at most.
pub(crate) fn of_single_lane(func: &Function, divergence: &Divergence, condition: Value, holds: bool) -> Option<Known> {
    within(func, divergence, condition, holds, MAX_DEPTH)
}

fn within(func: &Function, divergence: &Divergence, condition: Value, holds: bool, depth: u32) -> Option<Known> {
    let inst = func.dfg.def_inst(condition).filter(|_| depth > 0)?;
    let data = func.dfg.inst(inst);
    if func.dfg.ty(condition).is_vector() {
        return None;
    }
    match (data.op, &data.imm, data.args.as_slice()) {
        (Opcode::Not, _, &[other]) => within(func, divergence, other, !holds, depth - 1),
        (Opcode::And, _, args) if holds => any(func, divergence, args, holds, depth),
        (Opcode::Or, _, args) if !holds => any(func, divergence, args, holds, depth),
        (Opcode::Icmp, &Imm::IntCond(cond), &[a, b]) => {
            let cond = if holds { cond } else { cond.inverse() };
            compared(func, divergence, cond, a, b).or_else(|| compared(func, divergence, cond.swapped(), b, a))
        }
        _ => None,
    }
}

/// One of several conditions that hold.
fn any(func: &Function, divergence: &Divergence, args: &[Value], holds: bool, depth: u32) -> Option<Known> {
    args.iter().find_map(|&arg| within(func, divergence, arg, holds, depth - 1))
}

/// As [`of_single_lane`], for a comparison.
fn compared(func: &Function, divergence: &Divergence, cond: IntCond, a: Value, b: Value) -> Option<Known> {
    if !divergence.shape(b).is_uniform(Scope::Pack) || !differs_between_lanes(func, divergence, a) {
        return None;
    }
    let bound = func.dfg.as_splat_bits(b);
    match cond {
        IntCond::Eq => Some(Known::Equal(a, b)),
        IntCond::Ult if bound == Some(1) => Some(Known::Zero(a)),
        IntCond::Ule if bound == Some(0) => Some(Known::Zero(a)),
        IntCond::Ne
        | IntCond::Ult
        | IntCond::Ule
        | IntCond::Ugt
        | IntCond::Uge
        | IntCond::Slt
        | IntCond::Sle
        | IntCond::Sgt
        | IntCond::Sge => None,
    }
}

/// Whether no two lanes of a pack have the same value.
fn differs_between_lanes(func: &Function, divergence: &Divergence, value: Value) -> bool {
    let ty = func.dfg.ty(value);
    if ty.is_vector() || ty.is_float() || ty.is_ptr() || ty.is_bool() {
        return false;
    }
    let is_progression = |value: Value| match divergence.shape(value) {
        Shape::Affine { stride, .. } => Some(stride),
        Shape::Uniform(_) | Shape::Varying => None,
    };
    let lanes = u128::from(MAX_LANES);
    let fits = |stride: i64, bits: u32| u128::from(stride.unsigned_abs()) * lanes <= 1u128 << (bits - 1);
    if let Some(stride) = is_progression(value) {
        return fits(stride, ty.elem.bits());
    }
    let Some(data) = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst)) else { return false };
    // Different numbers are different when they are extended.
    if matches!(data.op, Opcode::Zext | Opcode::Sext) {
        return differs_between_lanes(func, divergence, data.args[0]);
    }
    // As many neighbours as a pack has differ in the low bits.
    let masked = |of: Value, by: Value| {
        let mask = func.dfg.as_splat_bits(by)?;
        let stride = is_progression(of)?;
        Some(mask.trailing_ones() >= MAX_LANES.ilog2() && stride.unsigned_abs() == 1)
    };
    data.op == Opcode::And
        && masked(data.args[0], data.args[1]).or_else(|| masked(data.args[1], data.args[0])).unwrap_or(false)
}
