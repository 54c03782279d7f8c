//! What the work-group loops do with each op: their own classes, made from the classes of the op table.

use clift_kir::ops::{
    AddressOp, CallOp, CollectiveOp, ConvertOp, IntOp, LaneOp, LeafOp, MemoryOp, OpClass, QueryOp, SyncOp, TerminatorOp,
};
use clift_kir::{Imm, Opcode};

/// How an op of a work-item's code is treated when that code becomes the body of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A constant or `undef`: made again wherever it is used.
    Constant,
    /// Reads the argument block: becomes a load that is executed once per run.
    Arg,
    /// An address in the argument block.
    ArgAddr,
    /// A private variable's address: a place in the scratch arena.
    SlotAddr,
    /// A module variable's address: a place in the local arena for `__local` ones.
    GlobalAddr,
    /// A work-item query: a value of the loops.
    Query(QueryOp),
    /// A test for an address space: becomes comparisons with an arena's bounds.
    InSpace,
    /// A pure op so cheap that recomputing it beats keeping its result in memory.
    Cheap,
    /// A plain load.
    Load,
    /// Anything else; it is copied unchanged.
    Plain,
    /// A barrier.
    Barrier,
    /// A barrier for some of the sub-groups of a work-group.
    NamedBarrier,
    /// Lets the other packs of the work-group go on.
    Yield,
    /// A collective operation, in which work-items exchange values.
    Collective,
    /// Transfers control to other blocks.
    Branch,
    /// Ends the work-item.
    End,
    /// An access to an image, which is expanded before.
    Image,
}

/// Whether the result may differ between work-items of one row.
pub(super) fn varies_along_x(query: QueryOp, imm: &Imm) -> bool {
    match query {
        QueryOp::GlobalId | QueryOp::LocalId => *imm == Imm::Dim(0),
        QueryOp::GlobalLinearId | QueryOp::LocalLinearId | QueryOp::SubGroupId => true,
        QueryOp::WorkDim
        | QueryOp::GlobalSize
        | QueryOp::GlobalOffset
        | QueryOp::NumGroups
        | QueryOp::EnqueuedLocalSize
        | QueryOp::LocalSize
        | QueryOp::GroupId
        | QueryOp::SubGroupSize
        | QueryOp::MaxSubGroupSize
        | QueryOp::NumSubGroups
        | QueryOp::EnqueuedNumSubGroups
        | QueryOp::SubGroupLocalId => false,
    }
}

/// Whether the result depends on which work-items of a row make up a work-group.
pub(super) fn is_of_groups_along_x(query: QueryOp, imm: &Imm) -> bool {
    match query {
        QueryOp::NumGroups | QueryOp::EnqueuedLocalSize | QueryOp::LocalSize | QueryOp::GroupId | QueryOp::LocalId => {
            *imm == Imm::Dim(0)
        }
        QueryOp::LocalLinearId
        | QueryOp::SubGroupSize
        | QueryOp::MaxSubGroupSize
        | QueryOp::NumSubGroups
        | QueryOp::EnqueuedNumSubGroups
        | QueryOp::SubGroupId
        | QueryOp::SubGroupLocalId => true,
        QueryOp::WorkDim
        | QueryOp::GlobalSize
        | QueryOp::GlobalOffset
        | QueryOp::GlobalId
        | QueryOp::GlobalLinearId => false,
    }
}

/// Whether the result depends on which work-items make up a sub-group.
pub(super) fn is_of_sub_groups(query: QueryOp) -> bool {
    match query {
        QueryOp::SubGroupSize
        | QueryOp::MaxSubGroupSize
        | QueryOp::NumSubGroups
        | QueryOp::EnqueuedNumSubGroups
        | QueryOp::SubGroupId
        | QueryOp::SubGroupLocalId => true,
        QueryOp::WorkDim
        | QueryOp::GlobalSize
        | QueryOp::GlobalOffset
        | QueryOp::NumGroups
        | QueryOp::EnqueuedLocalSize
        | QueryOp::LocalSize
        | QueryOp::GroupId
        | QueryOp::GlobalId
        | QueryOp::LocalId
        | QueryOp::GlobalLinearId
        | QueryOp::LocalLinearId => false,
    }
}

/// Whether the result is how many work-items a sub-group has.
pub(super) fn is_size_of_sub_groups(query: QueryOp) -> bool {
    matches!(query, QueryOp::SubGroupSize | QueryOp::MaxSubGroupSize)
}

/// The class of an op.
pub(super) fn class(op: Opcode) -> Class {
    match op.class() {
        OpClass::Leaf(op) => match op {
            LeafOp::Const | LeafOp::Undef => Class::Constant,
            LeafOp::Arg => Class::Arg,
            LeafOp::ArgAddr => Class::ArgAddr,
            LeafOp::SlotAddr => Class::SlotAddr,
            LeafOp::GlobalAddr => Class::GlobalAddr,
        },
        OpClass::Int(op) => int(op),
        OpClass::Float(_) => Class::Plain,
        OpClass::Convert(op) => match op {
            ConvertOp::Itrunc
            | ConvertOp::Zext
            | ConvertOp::Sext
            | ConvertOp::PtrToInt
            | ConvertOp::IntToPtr
            | ConvertOp::SpaceCast => Class::Cheap,
            ConvertOp::FptoS
            | ConvertOp::FptoU
            | ConvertOp::StoFp
            | ConvertOp::UtoFp
            | ConvertOp::FptoFp
            | ConvertOp::Bitcast => Class::Plain,
        },
        OpClass::Lane(op) => match op {
            LaneOp::Select | LaneOp::Splat => Class::Cheap,
            LaneOp::Extract
            | LaneOp::Insert
            | LaneOp::ExtractDyn
            | LaneOp::InsertDyn
            | LaneOp::Lookup
            | LaneOp::Shuffle
            | LaneOp::Vec
            | LaneOp::Any
            | LaneOp::All
            | LaneOp::MaskBits
            | LaneOp::Reduce => Class::Plain,
        },
        OpClass::Address(AddressOp::Addr) => Class::Cheap,
        OpClass::Address(AddressOp::InSpace) => Class::InSpace,
        OpClass::Memory(MemoryOp::Load) => Class::Load,
        OpClass::Memory(_) => Class::Plain,
        OpClass::Query(query) => Class::Query(query),
        OpClass::Sync(op) => match op {
            SyncOp::Barrier => Class::Barrier,
            SyncOp::NamedBarrier => Class::NamedBarrier,
            SyncOp::Yield => Class::Yield,
            SyncOp::Deadlock => Class::Plain,
        },
        OpClass::Collective(op) => match op {
            CollectiveOp::PackAny => Class::Plain,
            CollectiveOp::GroupReduce
            | CollectiveOp::GroupScan
            | CollectiveOp::GroupScanExclusive
            | CollectiveOp::GroupBallot
            | CollectiveOp::GroupShuffle => Class::Collective,
        },
        OpClass::Call(op) => match op {
            CallOp::Call | CallOp::LibCall | CallOp::Printf | CallOp::Request | CallOp::Clock | CallOp::Check => {
                Class::Plain
            }
        },
        OpClass::Image(_) => Class::Image,
        OpClass::Terminator(op) => match op {
            TerminatorOp::Jump | TerminatorOp::Branch | TerminatorOp::Switch => Class::Branch,
            TerminatorOp::Ret | TerminatorOp::Unreachable => Class::End,
        },
    }
}

/// The class of an integer op.
fn int(op: IntOp) -> Class {
    match op {
        IntOp::Iadd
        | IntOp::Isub
        | IntOp::Imul
        | IntOp::Ineg
        | IntOp::Umin
        | IntOp::Umax
        | IntOp::Smin
        | IntOp::Smax
        | IntOp::And
        | IntOp::Or
        | IntOp::Xor
        | IntOp::Not
        | IntOp::Shl
        | IntOp::Lshr
        | IntOp::Ashr
        | IntOp::Icmp => Class::Cheap,
        IntOp::Umulh
        | IntOp::Smulh
        | IntOp::Udiv
        | IntOp::Sdiv
        | IntOp::Urem
        | IntOp::Srem
        | IntOp::Iabs
        | IntOp::UaddSat
        | IntOp::SaddSat
        | IntOp::UsubSat
        | IntOp::SsubSat
        | IntOp::Rotl
        | IntOp::Clz
        | IntOp::Ctz
        | IntOp::Popcnt
        | IntOp::Bitrev => Class::Plain,
    }
}
