//! How the widener treats each op: the one exhaustive match of this directory over opcodes.

use clift_kir::Opcode;

/// What becomes of an op of one work-item when a pack of work-items executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::spmd) enum How {
    /// Depends on nothing and is the same for the launch or the group: copied.
    Leaf,
    /// Address of a private variable: one copy per lane.
    Slot,
    /// A work-item query: stays the query of the pack's first lane; lanes follow along x.
    Query,
    /// Lane by lane, and component by component: the same op on packs.
    Lanewise,
    /// Moves components of an OpenCL vector, or combines them.
    Components,
    /// The same bits seen as another type.
    Bitcast,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Has no form on packs: once per active lane.
    PerLane,
    /// Lanes exchange values.
    Collective,
    /// As it stands, once for the pack.
    Once,
    /// Goes to other blocks.
    Branch,
    /// The end of the kernel.
    End,
    /// Nothing that a kernel's own code contains.
    Foreign,
}

/// The treatment of an op.
pub(in crate::spmd) fn how(op: Opcode) -> How {
    match op {
        Opcode::Const | Opcode::Undef | Opcode::Arg | Opcode::ArgAddr | Opcode::GlobalAddr => How::Leaf,
        Opcode::SlotAddr => How::Slot,
        Opcode::WorkDim
        | Opcode::GlobalSize
        | Opcode::GlobalOffset
        | Opcode::NumGroups
        | Opcode::EnqueuedLocalSize
        | Opcode::LocalSize
        | Opcode::GroupId
        | Opcode::GlobalId
        | Opcode::LocalId
        | Opcode::GlobalLinearId
        | Opcode::LocalLinearId
        | Opcode::SubGroupSize
        | Opcode::MaxSubGroupSize
        | Opcode::NumSubGroups
        | Opcode::EnqueuedNumSubGroups
        | Opcode::SubGroupId
        | Opcode::SubGroupLocalId => How::Query,
        Opcode::Iadd
        | Opcode::Isub
        | Opcode::Imul
        | Opcode::Umulh
        | Opcode::Smulh
        | Opcode::Udiv
        | Opcode::Sdiv
        | Opcode::Urem
        | Opcode::Srem
        | Opcode::Ineg
        | Opcode::Iabs
        | Opcode::UaddSat
        | Opcode::SaddSat
        | Opcode::UsubSat
        | Opcode::SsubSat
        | Opcode::Umin
        | Opcode::Umax
        | Opcode::Smin
        | Opcode::Smax
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Shl
        | Opcode::Lshr
        | Opcode::Ashr
        | Opcode::Rotl
        | Opcode::Clz
        | Opcode::Ctz
        | Opcode::Popcnt
        | Opcode::Bitrev
        | Opcode::Icmp
        | Opcode::Fadd
        | Opcode::Fsub
        | Opcode::Fmul
        | Opcode::Fdiv
        | Opcode::Fma
        | Opcode::Fneg
        | Opcode::Fabs
        | Opcode::Fcopysign
        | Opcode::Fmin
        | Opcode::Fmax
        | Opcode::Sqrt
        | Opcode::Ceil
        | Opcode::Floor
        | Opcode::Trunc
        | Opcode::Rint
        | Opcode::Fcmp
        | Opcode::Itrunc
        | Opcode::Zext
        | Opcode::Sext
        | Opcode::FptoS
        | Opcode::FptoU
        | Opcode::StoFp
        | Opcode::UtoFp
        | Opcode::FptoFp
        | Opcode::PtrToInt
        | Opcode::IntToPtr
        | Opcode::SpaceCast
        | Opcode::InSpace
        | Opcode::Select
        | Opcode::Addr
        | Opcode::LibCall => How::Lanewise,
        Opcode::Splat
        | Opcode::Extract
        | Opcode::Insert
        | Opcode::ExtractDyn
        | Opcode::InsertDyn
        | Opcode::Shuffle
        | Opcode::Vec
        | Opcode::Any
        | Opcode::MaskBits
        | Opcode::All
        | Opcode::Reduce => How::Components,
        Opcode::Bitcast => How::Bitcast,
        Opcode::Load => How::Load,
        Opcode::Store => How::Store,
        Opcode::Memcpy
        | Opcode::Memset
        | Opcode::AtomicLoad
        | Opcode::AtomicStore
        | Opcode::AtomicRmw
        | Opcode::AtomicCmpxchg
        | Opcode::Printf
        | Opcode::Clock => How::PerLane,
        Opcode::Fence | Opcode::Barrier | Opcode::NamedBarrier => How::Once,
        Opcode::Jump | Opcode::Branch | Opcode::Switch => How::Branch,
        Opcode::Ret | Opcode::Unreachable => How::End,
        Opcode::MaskedLoad | Opcode::MaskedStore | Opcode::Gather | Opcode::Scatter => How::Foreign,
        Opcode::ImageRead | Opcode::ImageWrite | Opcode::Call | Opcode::Deadlock => How::Foreign,
        Opcode::GroupReduce
        | Opcode::GroupScan
        | Opcode::GroupScanExclusive
        | Opcode::PackAny
        | Opcode::GroupBallot
        | Opcode::GroupShuffle => How::Collective,
    }
}
