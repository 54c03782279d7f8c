//! Divisions of extended values.
//!
//! Mixing `int` with `long` constants or `ulong` indices gives divisions of 64 bits, which take several times as long, of
//! numbers that have 32 bits.

use clift_kir::{Builder, Elem, Opcode, Type, Value};

use super::{defined_by, splat, splat_bits};

/// A quotient or remainder of 64 bits computed with 32 bits, if both operands fit.
///
/// `sext(x) / 10` is `sext(x / 10)`; if the divisor is larger than every `x`, the quotient is 0 and the remainder is the operand.
pub(super) fn narrow(b: &mut Builder<'_>, op: Opcode, x: Value, y: Value, ty: Type) -> Option<Value> {
    if ty.elem != Elem::I64 {
        return None;
    }
    let by_zero_extension = defined_by(b, x, Opcode::Zext).map(|data| data.args[0]);
    let (source, signed) = match by_zero_extension {
        Some(source) => (source, false),
        None => (defined_by(b, x, Opcode::Sext).map(|data| data.args[0])?, true),
    };
    let is_signed_op = matches!(op, Opcode::Sdiv | Opcode::Srem);
    let is_remainder = matches!(op, Opcode::Urem | Opcode::Srem);
    let narrow_type = ty.with_elem(Elem::I32);
    // As an unsigned number, an extended negative one is huge.
    if b.ty(source).elem.bits() > 32 || b.ty(source).elem == Elem::B1 || signed && !is_signed_op {
        return None;
    }
    let divisor = match splat_bits(b, y) {
        Some(bits) if signed => {
            let divisor = bits as i64;
            // The quotient of the least integer and -1 has 33 bits.
            if divisor.unsigned_abs() > 1 << 31 {
                return Some(if is_remainder { x } else { splat(b, ty, 0) });
            }
            let fits = i32::try_from(divisor).is_ok_and(|divisor| divisor != -1 && divisor != 0);
            fits.then(|| splat(b, narrow_type, bits & Elem::I32.mask()))?
        }
        Some(bits) if is_signed_op && bits as i64 <= 0 => return None,
        Some(bits) if bits > Elem::I32.mask() => return Some(if is_remainder { x } else { splat(b, ty, 0) }),
        Some(bits) => splat(b, narrow_type, bits),
        None if signed => return None,
        None => {
            let other = defined_by(b, y, Opcode::Zext)?.args[0];
            let elem = b.ty(other).elem;
            if elem.bits() > 32 || elem == Elem::B1 {
                return None;
            }
            extended(b, other, narrow_type, false)
        }
    };
    let op = match (signed, is_remainder) {
        (true, false) => Opcode::Sdiv,
        (true, true) => Opcode::Srem,
        (false, false) => Opcode::Udiv,
        (false, true) => Opcode::Urem,
    };
    let dividend = extended(b, source, narrow_type, signed);
    let value = b.int2(op, dividend, divisor);
    Some(extended(b, value, ty, signed))
}

/// A value with more bits, if it has fewer than `ty`.
fn extended(b: &mut Builder<'_>, value: Value, ty: Type, signed: bool) -> Value {
    let op = if signed { Opcode::Sext } else { Opcode::Zext };
    if b.ty(value) == ty { value } else { b.cast(op, value, ty) }
}
