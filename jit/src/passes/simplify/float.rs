//! Floating-point identities that hold bit for bit, except for NaN payloads, or that the instruction's fast-math flags permit.

use clift_kir::dfg::ConstData;
use clift_kir::eval::convert::round_f64;
use clift_kir::eval::float::to_f64;
use clift_kir::ops::FloatOp;
use clift_kir::{Builder, Elem, FpFlags, Imm, InstData, Opcode, Rounding, Type, Value};

use super::{defined_by, is_bits};

/// Rules for float ops.
pub(super) fn rules(b: &mut Builder<'_>, op: FloatOp, data: &InstData, ty: Type) -> Option<Value> {
    let Imm::Fp(flags) = data.imm else { return None };
    let one = round_f64(ty.elem, 1.0, Rounding::NearestEven);
    let minus_zero = 1u64 << (ty.elem.bits() - 1);
    let arg = |i: usize| data.args[i];
    match op {
        FloatOp::Fmul if is_bits(b, arg(1), one) => Some(arg(0)),
        FloatOp::Fdiv if is_bits(b, arg(1), one) => Some(arg(0)),
        FloatOp::Fdiv => {
            let reciprocal = reciprocal(b, arg(1), flags.contains(FpFlags::RECIPROCAL))?;
            Some(b.value(Opcode::Fmul, &[arg(0), reciprocal], data.imm.clone(), ty))
        }
        // x + -0 and x - +0 are x for every x. x + +0 is not x for x = -0.
        FloatOp::Fadd if is_bits(b, arg(1), minus_zero) => Some(arg(0)),
        FloatOp::Fsub if is_bits(b, arg(1), 0) => Some(arg(0)),
        FloatOp::Fadd if flags.contains(FpFlags::NO_SIGNED_ZERO) && is_bits(b, arg(1), 0) => Some(arg(0)),
        FloatOp::Fneg => defined_by(b, arg(0), Opcode::Fneg).map(|inner| inner.args[0]),
        FloatOp::Fabs => {
            let inner = defined_by(b, arg(0), Opcode::Fneg).or_else(|| defined_by(b, arg(0), Opcode::Fabs))?.args[0];
            Some(b.float1(Opcode::Fabs, inner))
        }
        FloatOp::Fadd | FloatOp::Fsub => negated_term(b, data, ty),
        FloatOp::Fmul | FloatOp::Fma => None,
        FloatOp::Fcopysign | FloatOp::Fmin | FloatOp::Fmax | FloatOp::Sqrt | FloatOp::Fcmp => None,
        FloatOp::Ceil | FloatOp::Floor | FloatOp::Trunc | FloatOp::Rint => None,
    }
}

/// A sum with a negated term is a difference, and a difference with one a sum.
fn negated_term(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let &[left, right] = data.args.as_slice() else { return None };
    let negated = |value: Value| defined_by(b, value, Opcode::Fneg).map(|inner| inner.args[0]);
    let (op, args) = match (data.op, negated(left), negated(right)) {
        (Opcode::Fadd, _, Some(right)) => (Opcode::Fsub, [left, right]),
        (Opcode::Fadd, Some(left), None) => (Opcode::Fsub, [right, left]),
        (_, _, Some(right)) => (Opcode::Fadd, [left, right]),
        (_, _, None) => return None,
    };
    Some(b.value(op, &args, data.imm.clone(), ty))
}

/// The reciprocal of a constant if multiplying by it gives the same bits as dividing: all lanes are powers of two, or
/// `inexact` ones will do, and normal numbers.
fn reciprocal(b: &mut Builder<'_>, divisor: Value, inexact: bool) -> Option<Value> {
    let divisor = b.func.dfg.as_const(divisor)?.clone();
    let elem = divisor.ty.elem;
    let of_lane = |bits: u64| {
        let number = to_f64(elem, bits);
        let exact = number.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1;
        let result = round_f64(elem, 1.0 / number, Rounding::NearestEven);
        let are_normal = [bits, result].into_iter().all(|bits| is_normal(elem, to_f64(elem, bits)));
        (are_normal && (exact || inexact)).then_some(result)
    };
    let lanes: Option<Vec<u64>> = (0..divisor.ty.lanes()).map(|lane| of_lane(divisor.lane(lane))).collect();
    Some(b.constant(ConstData::new(divisor.ty, &lanes?)))
}

/// Whether a number is a normal one of a type.
fn is_normal(elem: Elem, number: f64) -> bool {
    let least = match elem {
        Elem::F16 => 2f64.powi(-14),
        Elem::F32 => f64::from(f32::MIN_POSITIVE),
        Elem::F64 => f64::MIN_POSITIVE,
        Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => return false,
    };
    number.is_finite() && number.abs() >= least
}
