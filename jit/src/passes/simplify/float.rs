//! Floating-point identities that hold bit for bit, except for NaN payloads, or that the instruction's fast-math flags permit.

use clift_kir::ops::FloatOp;
use clift_kir::{Builder, FpFlags, Imm, InstData, Opcode, Type, Value};

use super::{defined_by, is_bits};

/// Rules for float ops.
pub(super) fn rules(b: &mut Builder<'_>, op: FloatOp, data: &InstData, ty: Type) -> Option<Value> {
    let Imm::Fp(flags) = data.imm else { return None };
    let one = clift_kir::eval::convert::round_f64(ty.elem, 1.0, clift_kir::Rounding::NearestEven);
    let minus_zero = 1u64 << (ty.elem.bits() - 1);
    let arg = |i: usize| data.args[i];
    match op {
        FloatOp::Fmul if is_bits(b, arg(1), one) => Some(arg(0)),
        FloatOp::Fdiv if is_bits(b, arg(1), one) => Some(arg(0)),
        // x + -0 and x - +0 are x for every x. x + +0 is not x for x = -0.
        FloatOp::Fadd if is_bits(b, arg(1), minus_zero) => Some(arg(0)),
        FloatOp::Fsub if is_bits(b, arg(1), 0) => Some(arg(0)),
        FloatOp::Fadd if flags.contains(FpFlags::NO_SIGNED_ZERO) && is_bits(b, arg(1), 0) => Some(arg(0)),
        FloatOp::Fneg => defined_by(b, arg(0), Opcode::Fneg).map(|inner| inner.args[0]),
        FloatOp::Fabs => {
            let inner = defined_by(b, arg(0), Opcode::Fneg).or_else(|| defined_by(b, arg(0), Opcode::Fabs))?.args[0];
            Some(b.float1(Opcode::Fabs, inner))
        }
        FloatOp::Fmul | FloatOp::Fdiv | FloatOp::Fadd | FloatOp::Fsub | FloatOp::Fma => None,
        FloatOp::Fcopysign | FloatOp::Fmin | FloatOp::Fmax | FloatOp::Sqrt | FloatOp::Fcmp => None,
        FloatOp::Ceil | FloatOp::Floor | FloatOp::Trunc | FloatOp::Rint => None,
    }
}
