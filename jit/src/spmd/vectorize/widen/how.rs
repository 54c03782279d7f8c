//! How the widener treats each op: the one exhaustive match of this directory over opcodes.

use clift_kir::Opcode;
use clift_kir::ops::{CallOp, ConvertOp, LaneOp, LeafOp, MemoryOp, OpClass, SyncOp, TerminatorOp};

/// What becomes of an op of one work-item when a pack of work-items executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
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
pub(crate) fn how(op: Opcode) -> How {
    match op.class() {
        OpClass::Leaf(op) => match op {
            LeafOp::Const | LeafOp::Undef | LeafOp::Arg | LeafOp::ArgAddr | LeafOp::GlobalAddr => How::Leaf,
            LeafOp::SlotAddr => How::Slot,
        },
        OpClass::Query(_) => How::Query,
        OpClass::Int(_) | OpClass::Float(_) | OpClass::Address(_) => How::Lanewise,
        OpClass::Convert(ConvertOp::Bitcast) => How::Bitcast,
        OpClass::Convert(_) => How::Lanewise,
        OpClass::Lane(LaneOp::Select) => How::Lanewise,
        OpClass::Lane(_) => How::Components,
        OpClass::Memory(op) => match op {
            MemoryOp::Load => How::Load,
            MemoryOp::Store => How::Store,
            MemoryOp::Memcpy
            | MemoryOp::Memset
            | MemoryOp::AtomicLoad
            | MemoryOp::AtomicStore
            | MemoryOp::AtomicRmw
            | MemoryOp::AtomicCmpxchg => How::PerLane,
            MemoryOp::Fence => How::Once,
            MemoryOp::MaskedLoad | MemoryOp::MaskedStore | MemoryOp::Gather | MemoryOp::Scatter => How::Foreign,
        },
        OpClass::Call(op) => match op {
            CallOp::LibCall => How::Lanewise,
            CallOp::Printf | CallOp::Clock => How::PerLane,
            CallOp::Call => How::Foreign,
        },
        OpClass::Sync(op) => match op {
            SyncOp::Barrier | SyncOp::NamedBarrier => How::Once,
            SyncOp::Deadlock => How::Foreign,
        },
        OpClass::Image(_) => How::Foreign,
        OpClass::Collective(_) => How::Collective,
        OpClass::Terminator(op) => match op {
            TerminatorOp::Jump | TerminatorOp::Branch | TerminatorOp::Switch => How::Branch,
            TerminatorOp::Ret | TerminatorOp::Unreachable => How::End,
        },
    }
}
