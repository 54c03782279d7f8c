//! How the widener treats each op, by the classes of the op table.

use clift_kir::Opcode;
use clift_kir::ops::{CallOp, ConvertOp, LaneOp, LeafOp, MemoryOp, OpClass, SyncOp, TerminatorOp};

/// What becomes of an op when a pack of work-items executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// Has no operands, and the same value for the launch or the group: copied.
    Leaf,
    /// The address of a private variable: one copy per lane.
    Slot,
    /// A work-item query: becomes the query of the pack's first lane; the other lanes follow along x.
    Query,
    /// Applies to each lane and component on its own: the same op on packs.
    Lanewise,
    /// Moves components of an OpenCL vector, or combines them.
    Components,
    /// Reinterprets the bits as another type.
    Bitcast,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Has no vector form: executed once per active lane.
    PerLane,
    /// A collective operation, in which lanes exchange values.
    Collective,
    /// Executed once for the pack, unchanged.
    Once,
    /// A region that at most one lane executes ([`crate::spmd::transform::single_lane_regions`]): scalar code for that lane.
    SingleLane,
    /// Transfers control to other blocks.
    Branch,
    /// The end of the kernel.
    End,
    /// Does not occur in a kernel at this stage.
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
            CallOp::Printf | CallOp::Request | CallOp::Clock | CallOp::Check => How::PerLane,
            CallOp::Call => How::SingleLane,
        },
        OpClass::Sync(op) => match op {
            SyncOp::Barrier | SyncOp::NamedBarrier | SyncOp::Yield => How::Once,
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
