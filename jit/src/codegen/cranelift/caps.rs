//! The ops on 128-bit vectors that Cranelift can lower on all targets of this backend.

use clift_kir::ops::{ConvertOp, IntOp, MemoryOp, OpClass};
use clift_kir::{Elem, Imm, Opcode};

use super::isa::Features;
use crate::codegen::legalize::{native_lane, native_leaf};
use crate::target::caps::{DemotionLimits, VectorCaps};
use crate::target::processor::ScatteredAccesses;

/// The capabilities of a target.
pub(super) fn of(features: Features) -> VectorCaps {
    if !features.simd {
        return VectorCaps::SCALAR;
    }
    let native = if features.fma { native } else { native_without_fma };
    let varying_shifts = if features.x86 { |_, elem| elem == Elem::I32 } else { |_, _| false };
    VectorCaps {
        register_bits: 128,
        registers: 16,
        native,
        varying_shifts,
        any_shuffle: false,
        any_extension: false,
        demotion: DemotionLimits::of_registers(16),
        scattered: ScatteredAccesses::FAST,
    }
}

fn native_without_fma(op: Opcode, imm: &Imm, from: Elem, to: Elem) -> bool {
    op != Opcode::Fma && native(op, imm, from, to)
}

/// Whether an op on vectors has a lowering. For shifts this assumes the same count in all lanes.
fn native(op: Opcode, _imm: &Imm, from: Elem, to: Elem) -> bool {
    let float = matches!(from, Elem::F32 | Elem::F64);
    match op.class() {
        OpClass::Int(op) => native_int(op, from),
        OpClass::Float(_) => float,
        OpClass::Convert(op) => match op {
            ConvertOp::Itrunc | ConvertOp::Zext | ConvertOp::Sext | ConvertOp::Bitcast => true,
            ConvertOp::FptoS | ConvertOp::FptoU => to == Elem::I32 && float,
            ConvertOp::StoFp | ConvertOp::UtoFp => from == Elem::I32 && matches!(to, Elem::F32 | Elem::F64),
            ConvertOp::FptoFp => float && matches!(to, Elem::F32 | Elem::F64),
            ConvertOp::PtrToInt | ConvertOp::IntToPtr | ConvertOp::SpaceCast => true,
        },
        OpClass::Lane(op) => native_lane(op),
        OpClass::Leaf(op) => native_leaf(op),
        OpClass::Memory(MemoryOp::Load | MemoryOp::Store) => true,
        OpClass::Memory(_)
        | OpClass::Address(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Image(_)
        | OpClass::Call(_)
        | OpClass::Terminator(_) => false,
    }
}

fn native_int(op: IntOp, elem: Elem) -> bool {
    use IntOp as O;
    match op {
        O::Iadd | O::Isub | O::Ineg | O::Iabs | O::UaddSat | O::SaddSat | O::UsubSat | O::SsubSat => elem.is_int(),
        O::Umin | O::Umax | O::Smin | O::Smax => elem.is_int(),
        O::Imul => matches!(elem, Elem::I16 | Elem::I32 | Elem::I64),
        O::And | O::Or | O::Xor | O::Not => elem.is_int() || elem == Elem::B1,
        O::Shl | O::Lshr | O::Ashr => elem.is_int(),
        O::Popcnt => elem == Elem::I8,
        O::Umulh | O::Smulh | O::Udiv | O::Sdiv | O::Urem | O::Srem | O::Rotl | O::Clz | O::Ctz | O::Bitrev => false,
        O::Icmp => elem.is_int() || elem.is_ptr() || elem == Elem::B1,
    }
}
