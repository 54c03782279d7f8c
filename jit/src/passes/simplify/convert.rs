//! Chains of conversions, and conversions of the components of records.

use clift_kir::ops::ConvertOp;
use clift_kir::{Builder, Elem, Imm, InstData, Opcode, Type, Value};

use super::{defined_by, evaluate, permuted_bytes, splat, splat_bits};

/// Rules for conversions.
pub(super) fn rules(b: &mut Builder<'_>, op: ConvertOp, data: &InstData, ty: Type) -> Option<Value> {
    let x = data.args[0];
    let from = b.ty(x);
    let inner = |b: &Builder<'_>, op: Opcode| defined_by(b, x, op).map(|d| d.args[0]);
    if matches!(op, ConvertOp::Zext | ConvertOp::Sext | ConvertOp::Itrunc)
        && let Some(chosen) = chosen_constants(b, data, ty)
    {
        return Some(chosen);
    }
    match op {
        ConvertOp::Bitcast if from == ty => Some(x),
        ConvertOp::Bitcast => {
            let Some(source) = inner(b, Opcode::Bitcast) else { return permuted_bytes::cast(b, data, ty) };
            Some(if b.ty(source) == ty { source } else { b.cast(Opcode::Bitcast, source, ty) })
        }
        ConvertOp::Zext => {
            if let Some(source) = inner(b, Opcode::Zext) {
                return Some(b.cast(Opcode::Zext, source, ty));
            }
            // Extensions of 32 bits are part of many instructions and of index arithmetic.
            if let Some(source) = inner(b, Opcode::Itrunc).filter(|_| matches!(from.elem, Elem::I8 | Elem::I16)) {
                return Some(low_bits(b, source, from.elem, ty));
            }
            component(b, x, ty.elem, false)
        }
        ConvertOp::Sext => {
            if let Some(source) = inner(b, Opcode::Sext) {
                return Some(b.cast(Opcode::Sext, source, ty));
            }
            // A zero-extended value has a clear sign bit.
            inner(b, Opcode::Zext)
                .map(|source| b.cast(Opcode::Zext, source, ty))
                .or_else(|| component(b, x, ty.elem, true))
        }
        ConvertOp::StoFp | ConvertOp::UtoFp => {
            let signed = op == ConvertOp::StoFp;
            let lanes = component(b, x, Elem::I32, signed)?;
            Some(b.value(Opcode::StoFp, &[lanes], data.imm.clone(), ty))
        }
        ConvertOp::Itrunc => {
            if let Some(source) = inner(b, Opcode::Itrunc) {
                return Some(b.cast(Opcode::Itrunc, source, ty));
            }
            for op in [Opcode::Zext, Opcode::Sext] {
                if let Some(source) = inner(b, op) {
                    let width = b.ty(source).elem.bits();
                    return Some(match width.cmp(&ty.elem.bits()) {
                        std::cmp::Ordering::Equal => source,
                        std::cmp::Ordering::Less => b.cast(op, source, ty),
                        std::cmp::Ordering::Greater => b.cast(Opcode::Itrunc, source, ty),
                    });
                }
            }
            if let Some(source) = unmasked(b, x, ty.elem) {
                return Some(b.cast(Opcode::Itrunc, source, ty));
            }
            bytes(b, x, ty)
        }
        ConvertOp::SpaceCast if from == ty => Some(x),
        ConvertOp::SpaceCast => {
            let source = inner(b, Opcode::SpaceCast)?;
            Some(if b.ty(source) == ty { source } else { b.cast(Opcode::SpaceCast, source, ty) })
        }
        ConvertOp::PtrToInt => inner(b, Opcode::IntToPtr),
        ConvertOp::IntToPtr => inner(b, Opcode::PtrToInt).filter(|&source| b.ty(source) == ty),
        // Extending a float and truncating it again is the identity, because the extension is exact.
        ConvertOp::FptoFp => {
            let source = inner(b, Opcode::FptoFp)?;
            let wider = b.ty(source).elem.bits() < from.elem.bits();
            (b.ty(source) == ty && wider && matches!(data.imm, Imm::Convert(_))).then_some(source)
        }
        ConvertOp::FptoS | ConvertOp::FptoU => None,
    }
}

/// A conversion of one of two constants is one of the converted constants.
fn chosen_constants(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let &[condition, then, otherwise] = defined_by(b, data.args[0], Opcode::Select)?.args.as_slice() else {
        return None;
    };
    if b.ty(condition).lanes() != ty.lanes() {
        return None;
    }
    let [then, otherwise] = [then, otherwise].map(|constant| evaluate(data, ty, &[b.func.dfg.as_const(constant)?]));
    let [then, otherwise] = [then?, otherwise?].map(|constant| b.constant(constant));
    Some(b.select(condition, then, otherwise))
}

/// The low bits of a value, as many as `kept` has, as a value of type `ty`: `zext(itrunc x)` is `x & mask`, without the narrow
/// vector.
fn low_bits(b: &mut Builder<'_>, source: Value, kept: Elem, ty: Type) -> Value {
    let (from, mask) = (b.ty(source), kept.mask());
    if from.elem.bits() > ty.elem.bits() {
        let source = b.cast(Opcode::Itrunc, source, ty);
        let mask = splat(b, ty, mask);
        return b.int2(Opcode::And, source, mask);
    }
    let mask = splat(b, from, mask);
    let low = b.int2(Opcode::And, source, mask);
    if from == ty { low } else { b.cast(Opcode::Zext, low, ty) }
}

/// What is masked by a constant that keeps all bits of `kept`.
fn unmasked(b: &Builder<'_>, x: Value, kept: Elem) -> Option<Value> {
    let data = defined_by(b, x, Opcode::And)?;
    let mask = splat_bits(b, data.args[1])?;
    (mask & kept.mask() == kept.mask()).then_some(data.args[0])
}

/// The low bytes of what is computed from extended bytes, computed from the bytes: C computes with bytes as `int`.
fn bytes(b: &mut Builder<'_>, x: Value, ty: Type) -> Option<Value> {
    let data = b.func.dfg.inst(b.func.dfg.def_inst(x)?);
    let (op, &[left, right]) = (data.op, data.args.as_slice()) else { return None };
    if ty.elem != Elem::I8 || ![Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Iadd, Opcode::Isub].contains(&op) {
        return None;
    }
    let byte = |value: Value| {
        let extended = [Opcode::Zext, Opcode::Sext].into_iter().find_map(|op| defined_by(b, value, op));
        extended.map(|data| data.args[0]).filter(|&source| b.ty(source) == ty)
    };
    let constant = |value: Value| splat_bits(b, value).map(|bits| bits & ty.elem.mask());
    let (left, right) = match (byte(left), byte(right), constant(left), constant(right)) {
        (Some(left), Some(right), ..) => (left, right),
        (Some(left), None, _, Some(bits)) => (left, splat(b, ty, bits)),
        (None, Some(right), Some(bits), _) => (splat(b, ty, bits), right),
        _ => return None,
    };
    Some(b.int2(op, left, right))
}

/// Extended components of records that are as long as the result's lanes: shifts instead of moving lanes.
///
/// `zext(shuffle [1, 5, 9, 13] x)` is `(bitcast x >> 8) & 255`.
fn component(b: &mut Builder<'_>, x: Value, to: Elem, signed: bool) -> Option<Value> {
    let (from, lanes) = (b.ty(x), b.ty(x).lanes());
    let shuffle = defined_by(b, x, Opcode::Shuffle).filter(|_| from.elem.is_int() && to.bits() > from.elem.bits())?;
    let Imm::Lanes(places) = &shuffle.imm else { return None };
    let (source, step) = (shuffle.args[0], to.bits() / from.elem.bits());
    let first = u32::from(*places.first()?);
    let strided = places.iter().zip(0..).all(|(&at, lane)| u32::from(at) == first + lane * step);
    if !strided || first >= step || b.ty(source).lanes() != lanes * step || !lanes.is_power_of_two() || lanes == 1 {
        return None;
    }
    let records = b.cast(Opcode::Bitcast, source, from.with_elem(to));
    let ty = b.ty(records);
    let (below, above) = (first * from.elem.bits(), (step - 1 - first) * from.elem.bits());
    let mut shift = |op, value, count: u32| {
        if count == 0 {
            return value;
        }
        let count = splat(b, ty, count.into());
        b.int2(op, value, count)
    };
    Some(if signed {
        let top = shift(Opcode::Shl, records, above);
        shift(Opcode::Ashr, top, below + above)
    } else if above == 0 {
        shift(Opcode::Lshr, records, below)
    } else {
        let low = shift(Opcode::Lshr, records, below);
        let mask = splat(b, ty, from.elem.mask());
        b.int2(Opcode::And, low, mask)
    })
}
