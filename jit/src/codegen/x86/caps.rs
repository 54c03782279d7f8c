//! What vectors of 512 bits can do, for the legalizer.

use clift_kir::{Elem, Opcode};

use super::Level;
use super::select::native_int;
use crate::codegen::VectorCaps;

/// The capabilities: all that the instruction set has for lanes of any width.
pub(super) fn caps(level: Level) -> &'static VectorCaps {
    match level {
        Level::Skylake => &SKYLAKE,
        Level::IceLake => &ICE_LAKE,
    }
}

const SKYLAKE: VectorCaps = VectorCaps {
    register_bits: 512,
    registers: 32,
    native: |op, _, from, to| native(Level::Skylake, op, from, to),
    varying_shifts: |op, elem| native_int(Level::Skylake, op, elem.bytes()),
    any_shuffle: true,
};

const ICE_LAKE: VectorCaps = VectorCaps {
    native: |op, _, from, to| native(Level::IceLake, op, from, to),
    varying_shifts: |op, elem| native_int(Level::IceLake, op, elem.bytes()),
    ..SKYLAKE
};

/// Whether an op on vectors has instructions.
fn native(level: Level, op: Opcode, from: Elem, to: Elem) -> bool {
    use Opcode as O;
    let float = matches!(from, Elem::F32 | Elem::F64);
    let word = |elem: Elem| matches!(elem, Elem::I32 | Elem::I64);
    match op {
        O::And | O::Or | O::Xor | O::Not if from == Elem::B1 => true,
        O::Iadd
        | O::Isub
        | O::Ineg
        | O::Iabs
        | O::UaddSat
        | O::SaddSat
        | O::UsubSat
        | O::SsubSat
        | O::Umin
        | O::Umax
        | O::Smin
        | O::Smax
        | O::Imul
        | O::Umulh
        | O::Smulh
        | O::And
        | O::Or
        | O::Xor
        | O::Not
        | O::Shl
        | O::Lshr
        | O::Ashr
        | O::Rotl
        | O::Clz
        | O::Popcnt => from.is_int() && native_int(level, op, from.bytes()),
        O::Udiv | O::Sdiv | O::Urem | O::Srem | O::Ctz | O::Bitrev => false,
        O::Icmp => from.is_int() || from.is_ptr() || from == Elem::B1,
        O::Fadd
        | O::Fsub
        | O::Fmul
        | O::Fdiv
        | O::Fma
        | O::Fneg
        | O::Fabs
        | O::Fcopysign
        | O::Fmin
        | O::Fmax
        | O::Sqrt
        | O::Ceil
        | O::Floor
        | O::Trunc
        | O::Rint
        | O::Fcmp => float,
        O::Itrunc | O::Zext | O::Sext => true,
        O::FptoS | O::FptoU => word(to) && float,
        O::StoFp | O::UtoFp => word(from) && matches!(to, Elem::F32 | Elem::F64),
        O::FptoFp => float && matches!(to, Elem::F32 | Elem::F64),
        O::PtrToInt | O::IntToPtr | O::SpaceCast => true,
        O::MaskedLoad | O::MaskedStore => true,
        O::Gather | O::Scatter => from.bits() >= 32,
        O::Const
        | O::Undef
        | O::Bitcast
        | O::Select
        | O::Splat
        | O::Extract
        | O::Insert
        | O::Shuffle
        | O::Vec
        | O::Any
        | O::MaskBits
        | O::All
        | O::Load
        | O::Store => true,
        O::Arg
        | O::ArgAddr
        | O::SlotAddr
        | O::GlobalAddr
        | O::InSpace
        | O::ExtractDyn
        | O::InsertDyn
        | O::Reduce
        | O::Addr
        | O::Memcpy
        | O::Memset
        | O::AtomicLoad
        | O::AtomicStore
        | O::AtomicRmw
        | O::AtomicCmpxchg
        | O::Fence
        | O::WorkDim
        | O::GlobalSize
        | O::GlobalOffset
        | O::NumGroups
        | O::EnqueuedLocalSize
        | O::LocalSize
        | O::GroupId
        | O::GlobalId
        | O::LocalId
        | O::GlobalLinearId
        | O::LocalLinearId
        | O::SubGroupSize
        | O::MaxSubGroupSize
        | O::NumSubGroups
        | O::EnqueuedNumSubGroups
        | O::SubGroupId
        | O::SubGroupLocalId
        | O::Barrier
        | O::NamedBarrier
        | O::Deadlock
        | O::GroupReduce
        | O::GroupScan
        | O::GroupScanExclusive
        | O::PackAny
        | O::GroupBallot
        | O::GroupShuffle
        | O::ImageRead
        | O::ImageWrite
        | O::Call
        | O::LibCall
        | O::Printf
        | O::Clock
        | O::Jump
        | O::Branch
        | O::Switch
        | O::Ret
        | O::Unreachable => false,
    }
}
