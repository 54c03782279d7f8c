//! What the work-group loops do with each op: the one exhaustive match of this directory over opcodes.

use clift_kir::{Imm, Opcode};

/// How an op of one work-item's code is treated when it becomes the body of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A constant or `undef`: made anew wherever it is used.
    Constant,
    /// Reads the argument block: becomes a load, once per run.
    Arg,
    /// An address in the argument block.
    ArgAddr,
    /// A private variable's address: a place in the scratch arena.
    SlotAddr,
    /// A module variable's address: a place in the local arena for `__local` ones.
    GlobalAddr,
    /// A work-item query: a value of the loops.
    Query(Query),
    /// A test for an address space: a comparison with an arena's bounds.
    InSpace,
    /// A pure op so cheap that recomputing it beats keeping its result in memory.
    Cheap,
    /// A plain load.
    Load,
    /// Anything else that is copied as it stands.
    Plain,
    /// A barrier.
    Barrier,
    /// A barrier at which sub-groups of a work-group meet.
    NamedBarrier,
    /// An operation in which work-items exchange values.
    Collective,
    /// Goes to other blocks.
    Branch,
    /// Ends the work-item.
    End,
    /// A call: gone before.
    Call,
}

/// The work-item queries, named as their ops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Query {
    WorkDim,
    GlobalSize,
    GlobalOffset,
    NumGroups,
    EnqueuedLocalSize,
    LocalSize,
    GroupId,
    GlobalId,
    LocalId,
    GlobalLinearId,
    LocalLinearId,
    SubGroupSize,
    MaxSubGroupSize,
    NumSubGroups,
    EnqueuedNumSubGroups,
    SubGroupId,
    SubGroupLocalId,
}

impl Query {
    /// Whether work-items of one row may get different answers.
    pub(super) fn varies_along_x(self, imm: &Imm) -> bool {
        match self {
            Query::GlobalId | Query::LocalId => *imm == Imm::Dim(0),
            Query::GlobalLinearId | Query::LocalLinearId | Query::SubGroupId => true,
            Query::WorkDim
            | Query::GlobalSize
            | Query::GlobalOffset
            | Query::NumGroups
            | Query::EnqueuedLocalSize
            | Query::LocalSize
            | Query::GroupId
            | Query::SubGroupSize
            | Query::MaxSubGroupSize
            | Query::NumSubGroups
            | Query::EnqueuedNumSubGroups
            | Query::SubGroupLocalId => false,
        }
    }
}

impl Query {
    /// Whether the answer depends on which work-items of a row make up a work-group.
    pub(super) fn is_of_groups_along_x(self, imm: &Imm) -> bool {
        match self {
            Query::NumGroups | Query::EnqueuedLocalSize | Query::LocalSize | Query::GroupId | Query::LocalId => {
                *imm == Imm::Dim(0)
            }
            Query::LocalLinearId
            | Query::SubGroupSize
            | Query::MaxSubGroupSize
            | Query::NumSubGroups
            | Query::EnqueuedNumSubGroups
            | Query::SubGroupId
            | Query::SubGroupLocalId => true,
            Query::WorkDim | Query::GlobalSize | Query::GlobalOffset | Query::GlobalId | Query::GlobalLinearId => false,
        }
    }
}

impl Query {
    /// Whether the answer depends on which work-items make up a sub-group.
    pub(super) fn is_of_sub_groups(self) -> bool {
        match self {
            Query::SubGroupSize
            | Query::MaxSubGroupSize
            | Query::NumSubGroups
            | Query::EnqueuedNumSubGroups
            | Query::SubGroupId
            | Query::SubGroupLocalId => true,
            Query::WorkDim
            | Query::GlobalSize
            | Query::GlobalOffset
            | Query::NumGroups
            | Query::EnqueuedLocalSize
            | Query::LocalSize
            | Query::GroupId
            | Query::GlobalId
            | Query::LocalId
            | Query::GlobalLinearId
            | Query::LocalLinearId => false,
        }
    }
}

/// The class of an op.
pub(super) fn class(op: Opcode) -> Class {
    match op {
        Opcode::Const | Opcode::Undef => Class::Constant,
        Opcode::Arg => Class::Arg,
        Opcode::ArgAddr => Class::ArgAddr,
        Opcode::SlotAddr => Class::SlotAddr,
        Opcode::GlobalAddr => Class::GlobalAddr,
        Opcode::WorkDim => Class::Query(Query::WorkDim),
        Opcode::GlobalSize => Class::Query(Query::GlobalSize),
        Opcode::GlobalOffset => Class::Query(Query::GlobalOffset),
        Opcode::NumGroups => Class::Query(Query::NumGroups),
        Opcode::EnqueuedLocalSize => Class::Query(Query::EnqueuedLocalSize),
        Opcode::LocalSize => Class::Query(Query::LocalSize),
        Opcode::GroupId => Class::Query(Query::GroupId),
        Opcode::GlobalId => Class::Query(Query::GlobalId),
        Opcode::LocalId => Class::Query(Query::LocalId),
        Opcode::GlobalLinearId => Class::Query(Query::GlobalLinearId),
        Opcode::LocalLinearId => Class::Query(Query::LocalLinearId),
        Opcode::SubGroupSize => Class::Query(Query::SubGroupSize),
        Opcode::MaxSubGroupSize => Class::Query(Query::MaxSubGroupSize),
        Opcode::NumSubGroups => Class::Query(Query::NumSubGroups),
        Opcode::EnqueuedNumSubGroups => Class::Query(Query::EnqueuedNumSubGroups),
        Opcode::SubGroupId => Class::Query(Query::SubGroupId),
        Opcode::SubGroupLocalId => Class::Query(Query::SubGroupLocalId),
        Opcode::InSpace => Class::InSpace,
        Opcode::Iadd
        | Opcode::Isub
        | Opcode::Imul
        | Opcode::Ineg
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
        | Opcode::Icmp
        | Opcode::Itrunc
        | Opcode::Zext
        | Opcode::Sext
        | Opcode::PtrToInt
        | Opcode::IntToPtr
        | Opcode::SpaceCast
        | Opcode::Select
        | Opcode::Splat
        | Opcode::Addr => Class::Cheap,
        Opcode::Load => Class::Load,
        Opcode::Umulh
        | Opcode::Smulh
        | Opcode::Udiv
        | Opcode::Sdiv
        | Opcode::Urem
        | Opcode::Srem
        | Opcode::Iabs
        | Opcode::UaddSat
        | Opcode::SaddSat
        | Opcode::UsubSat
        | Opcode::SsubSat
        | Opcode::Rotl
        | Opcode::Clz
        | Opcode::Ctz
        | Opcode::Popcnt
        | Opcode::Bitrev
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
        | Opcode::FptoS
        | Opcode::FptoU
        | Opcode::StoFp
        | Opcode::UtoFp
        | Opcode::FptoFp
        | Opcode::Bitcast
        | Opcode::Extract
        | Opcode::Insert
        | Opcode::ExtractDyn
        | Opcode::InsertDyn
        | Opcode::Shuffle
        | Opcode::Vec
        | Opcode::Any
        | Opcode::MaskBits
        | Opcode::All
        | Opcode::Reduce
        | Opcode::Store
        | Opcode::MaskedLoad
        | Opcode::MaskedStore
        | Opcode::Gather
        | Opcode::Scatter
        | Opcode::Memcpy
        | Opcode::Memset
        | Opcode::AtomicLoad
        | Opcode::AtomicStore
        | Opcode::AtomicRmw
        | Opcode::AtomicCmpxchg
        | Opcode::Fence
        | Opcode::PackAny
        | Opcode::LibCall
        | Opcode::Printf
        | Opcode::Clock
        | Opcode::Deadlock => Class::Plain,
        Opcode::Barrier => Class::Barrier,
        Opcode::NamedBarrier => Class::NamedBarrier,
        Opcode::GroupReduce
        | Opcode::GroupScan
        | Opcode::GroupScanExclusive
        | Opcode::GroupBallot
        | Opcode::GroupShuffle => Class::Collective,
        Opcode::Jump | Opcode::Branch | Opcode::Switch => Class::Branch,
        Opcode::Ret | Opcode::Unreachable => Class::End,
        Opcode::ImageRead | Opcode::ImageWrite | Opcode::Call => Class::Call,
    }
}
