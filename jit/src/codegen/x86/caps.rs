//! The capabilities of vectors, for the legalizer.

use clift_kir::ops::{ConvertOp, FloatOp, IntOp, LaneOp, MemoryOp, OpClass};
use clift_kir::{Elem, Opcode};

use super::Level;
use super::select::{native_int, varying_shift};
use crate::codegen::legalize::{native_lane, native_leaf};
use crate::target::caps::{DemotionLimits, VectorCaps};
use crate::target::processor::ScatteredAccesses;

/// The capabilities at a level: everything that the instruction set supports on lanes of any width.
pub(super) fn caps(level: Level, scattered: ScatteredAccesses) -> VectorCaps {
    let caps = match level {
        Level::Avx2 if scattered.masked_stores => AVX2,
        Level::Avx2 => AVX2_SLOW_MASKED_STORES,
        Level::Skylake => SKYLAKE,
        Level::IceLake => ICE_LAKE,
        Level::SapphireRapids => SAPPHIRE_RAPIDS,
    };
    VectorCaps { scattered, ..caps }
}

const AVX2: VectorCaps = VectorCaps {
    register_bits: 256,
    registers: 16,
    native: |op, _, from, to| native(Level::Avx2, op, from, to),
    varying_shifts: |op, elem| native_int(Level::Avx2, op, elem.bytes()) && varying_shift(elem.bytes()),
    any_shuffle: true,
    any_extension: true,
    demotion: DemotionLimits::of_registers(16),
    scattered: ScatteredAccesses::FAST,
};

const AVX2_SLOW_MASKED_STORES: VectorCaps =
    VectorCaps { native: |op, _, from, to| op != Opcode::MaskedStore && native(Level::Avx2, op, from, to), ..AVX2 };

const SKYLAKE: VectorCaps = VectorCaps {
    register_bits: 512,
    registers: 32,
    native: |op, _, from, to| native(Level::Skylake, op, from, to),
    varying_shifts: |op, elem| native_int(Level::Skylake, op, elem.bytes()),
    any_shuffle: true,
    any_extension: true,
    demotion: DemotionLimits::of_registers(32),
    scattered: ScatteredAccesses::FAST,
};

const ICE_LAKE: VectorCaps = VectorCaps {
    native: |op, _, from, to| native(Level::IceLake, op, from, to),
    varying_shifts: |op, elem| native_int(Level::IceLake, op, elem.bytes()),
    ..SKYLAKE
};

const SAPPHIRE_RAPIDS: VectorCaps = VectorCaps {
    native: |op, _, from, to| native(Level::SapphireRapids, op, from, to),
    varying_shifts: |op, elem| native_int(Level::SapphireRapids, op, elem.bytes()),
    ..ICE_LAKE
};

/// Whether there are instructions for an op on vectors.
fn native(level: Level, op: Opcode, from: Elem, to: Elem) -> bool {
    let float = matches!(from, Elem::F32 | Elem::F64);
    let avx512 = level != Level::Avx2;
    let word = |elem: Elem| elem == Elem::I32 || elem == Elem::I64 && avx512;
    match op.class() {
        OpClass::Int(IntOp::And | IntOp::Or | IntOp::Xor | IntOp::Not) if from == Elem::B1 => true,
        OpClass::Int(IntOp::Udiv | IntOp::Sdiv | IntOp::Urem | IntOp::Srem | IntOp::Ctz | IntOp::Bitrev) => false,
        OpClass::Int(IntOp::Icmp) => from.is_int() || from.is_ptr() || from == Elem::B1,
        OpClass::Int(_) => from.is_int() && native_int(level, op, from.bytes()),
        // The bits of a half's sign are those of an integer.
        OpClass::Float(FloatOp::Fcopysign) if from == Elem::F16 => false,
        OpClass::Float(_) => float || from == Elem::F16 && level >= Level::SapphireRapids,
        OpClass::Convert(op) => match op {
            ConvertOp::Itrunc | ConvertOp::Zext | ConvertOp::Sext | ConvertOp::Bitcast => true,
            ConvertOp::FptoS | ConvertOp::FptoU => word(to) && float,
            ConvertOp::StoFp | ConvertOp::UtoFp => word(from) && matches!(to, Elem::F32 | Elem::F64),
            ConvertOp::FptoFp => {
                let half = matches!((from, to), (Elem::F16, Elem::F32) | (Elem::F32, Elem::F16));
                half || float && matches!(to, Elem::F32 | Elem::F64)
            }
            ConvertOp::PtrToInt | ConvertOp::IntToPtr | ConvertOp::SpaceCast => true,
        },
        OpClass::Lane(LaneOp::Lookup) => avx512 && (from.bits() > 8 || level >= Level::IceLake),
        OpClass::Lane(op) => native_lane(op),
        OpClass::Leaf(op) => native_leaf(op),
        OpClass::Memory(op) => match op {
            MemoryOp::Load | MemoryOp::Store => true,
            MemoryOp::MaskedLoad | MemoryOp::MaskedStore => avx512 || from.bits() >= 32,
            MemoryOp::Gather | MemoryOp::Scatter => avx512 && from.bits() >= 32,
            MemoryOp::Memcpy
            | MemoryOp::Memset
            | MemoryOp::AtomicLoad
            | MemoryOp::AtomicStore
            | MemoryOp::AtomicRmw
            | MemoryOp::AtomicCmpxchg
            | MemoryOp::Fence => false,
        },
        OpClass::Address(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Image(_)
        | OpClass::Call(_)
        | OpClass::Terminator(_) => false,
    }
}
