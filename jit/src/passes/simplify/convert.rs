//! Chains of conversions.

use clift_kir::{Builder, Imm, InstData, Opcode, Type, Value};

use super::defined_by;

/// Rules for conversions.
pub(super) fn rules(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let x = *data.args.first()?;
    let from = b.ty(x);
    let inner = |b: &Builder<'_>, op: Opcode| defined_by(b, x, op).map(|d| d.args[0]);
    match data.op {
        Opcode::Bitcast if from == ty => Some(x),
        Opcode::Bitcast => {
            let source = inner(b, Opcode::Bitcast)?;
            Some(if b.ty(source) == ty { source } else { b.cast(Opcode::Bitcast, source, ty) })
        }
        Opcode::Zext => inner(b, Opcode::Zext).map(|source| b.cast(Opcode::Zext, source, ty)),
        Opcode::Sext => {
            if let Some(source) = inner(b, Opcode::Sext) {
                return Some(b.cast(Opcode::Sext, source, ty));
            }
            // A zero-extended value has a clear sign bit.
            inner(b, Opcode::Zext).map(|source| b.cast(Opcode::Zext, source, ty))
        }
        Opcode::Itrunc => {
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
            None
        }
        Opcode::SpaceCast if from == ty => Some(x),
        Opcode::SpaceCast => {
            let source = inner(b, Opcode::SpaceCast)?;
            Some(if b.ty(source) == ty { source } else { b.cast(Opcode::SpaceCast, source, ty) })
        }
        Opcode::PtrToInt => inner(b, Opcode::IntToPtr),
        Opcode::IntToPtr => inner(b, Opcode::PtrToInt).filter(|&source| b.ty(source) == ty),
        // Extending a float and truncating it again is the identity, because the extension is exact.
        Opcode::FptoFp => {
            let source = inner(b, Opcode::FptoFp)?;
            let wider = b.ty(source).elem.bits() < from.elem.bits();
            (b.ty(source) == ty && wider && matches!(data.imm, Imm::Convert(_))).then_some(source)
        }
        _ => None,
    }
}
