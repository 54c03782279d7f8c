//! What Cranelift's lowering of 128-bit vectors covers, on all targets that this backend is for.

use clift_kir::{Elem, Imm, Opcode};

use super::isa::Features;
use crate::codegen::VectorCaps;

/// The capabilities of a target.
pub(super) fn of(features: Features) -> VectorCaps {
    if !features.simd {
        return VectorCaps::SCALAR;
    }
    let native = if features.fma { native } else { native_without_fma };
    let varying_shifts = if features.x86 { |_, elem| elem == Elem::I32 } else { |_, _| false };
    VectorCaps { register_bits: 128, registers: 16, native, varying_shifts, any_shuffle: false }
}

fn native_without_fma(op: Opcode, imm: &Imm, from: Elem, to: Elem) -> bool {
    op != Opcode::Fma && native(op, imm, from, to)
}

/// Whether an op on vectors has a lowering. Shifts are asked for with counts that are the same in every lane.
fn native(op: Opcode, _imm: &Imm, from: Elem, to: Elem) -> bool {
    use Opcode as O;
    let float = matches!(from, Elem::F32 | Elem::F64);
    match op {
        O::Iadd | O::Isub | O::Ineg | O::Iabs | O::UaddSat | O::SaddSat | O::UsubSat | O::SsubSat => from.is_int(),
        O::Umin | O::Umax | O::Smin | O::Smax => from.is_int(),
        O::Imul => matches!(from, Elem::I16 | Elem::I32 | Elem::I64),
        O::And | O::Or | O::Xor | O::Not => from.is_int() || from == Elem::B1,
        O::Shl | O::Lshr | O::Ashr => from.is_int(),
        O::Popcnt => from == Elem::I8,
        O::Umulh | O::Smulh | O::Udiv | O::Sdiv | O::Urem | O::Srem | O::Rotl | O::Clz | O::Ctz | O::Bitrev => false,
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
        O::FptoS | O::FptoU => to == Elem::I32 && float,
        O::StoFp | O::UtoFp => from == Elem::I32 && matches!(to, Elem::F32 | Elem::F64),
        O::FptoFp => float && matches!(to, Elem::F32 | Elem::F64),
        O::PtrToInt | O::IntToPtr | O::SpaceCast => true,
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
        | O::MaskedLoad
        | O::MaskedStore
        | O::Gather
        | O::Scatter
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
