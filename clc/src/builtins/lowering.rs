//! What calls of built-in functions become.

use spirv::{BuiltIn, FPRoundingMode, GroupOperation, Op, Scope};

/// What a call becomes. The types of the arguments and of the result say the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// An instruction of the extended instruction set `OpenCL.std`, by its number: arguments in order, scalars that stand for
    /// vectors already splat.
    Ext(u32),
    /// Instructions of `OpenCL.std` by the class of the first argument.
    ExtByClass {
        /// Of floats.
        float: u32,
        /// Of signed integers.
        signed: u32,
        /// Of unsigned integers.
        unsigned: u32,
    },
    /// An instruction of `OpenCL.std` whose last operand is the number of lanes of the result.
    ExtLanes(u32),
    /// An instruction of `OpenCL.std` whose last operand is a rounding mode.
    ExtRounding(u32, FPRoundingMode),
    /// A core instruction: arguments in order.
    Op(Op),
    /// A core instruction whose result is a Boolean for each lane: 1 for a true scalar, -1 for a true lane.
    Predicate(Op),
    /// `any` and `all`: the instruction on the sign bits.
    SignBits(Op),
    /// `dot` of floats.
    Dot,
    /// `bitfield_insert` and similar functions, and `bit_reverse`.
    BitField(Op),
    /// A dot product of four bytes, perhaps packed into an integer, perhaps with a saturating accumulator.
    ByteDot(ByteDot),
    /// `as_type`
    Bits,
    /// `convert_type`
    Convert {
        /// `_sat`
        saturate: bool,
        /// `_rte` and so on.
        rounding: Option<FPRoundingMode>,
    },
    /// A component of a built-in variable; for dimensions beyond the third this number.
    Dimension(BuiltIn, u32),
    /// A built-in variable.
    Variable(BuiltIn),
    /// A barrier of a work-group or a sub-group: flags, perhaps a scope.
    Barrier(Scope),
    /// `mem_fence` and the like.
    Fence(FenceKind),
    /// `atomic_work_item_fence`
    WorkItemFence,
    /// `async_work_group_copy`, without a stride.
    AsyncCopy,
    /// `async_work_group_strided_copy`
    AsyncStridedCopy,
    /// Copies of blocks in two or three dimensions.
    AsyncBlockCopy(u8),
    /// `async_work_group_copy_fence`
    AsyncFence,
    /// `wait_group_events`
    WaitEvents,
    /// An atomic operation.
    Atomic(AtomicOp, AtomicForm),
    /// `printf`
    Printf,
    /// `get_fence`
    GetFence,
    /// `to_global` and the like: the result's type names the address space.
    ToSpace,
    /// A read of an image; the arguments say which form.
    ReadImage,
    /// A write of an image.
    WriteImage,
    /// A property of an image.
    QueryImage(ImageQuery),
    /// A vote of a group: instruction, execution scope. Argument and result are `int`s for Booleans.
    Vote(Op, Scope),
    /// A reduction or a scan.
    GroupArithmetic {
        /// The work-group or the sub-group.
        scope: Scope,
        /// Whether all work-items take part.
        uniform: bool,
        /// Reduction or scan.
        how: GroupOperation,
        /// The arithmetic.
        operator: GroupOperator,
    },
    /// `work_group_broadcast` and `sub_group_broadcast`.
    Broadcast(Scope),
    /// A `GroupNonUniform` instruction of the sub-group: arguments in order.
    SubGroup(Op),
    /// An instruction of `SPV_INTEL_subgroups`: arguments in order.
    IntelSubGroup(Op),
    /// `sub_group_ballot_bit_count` and its scans.
    BallotCount(GroupOperation),
    /// `clock_read_...`
    Clock(Scope),
    /// An operation on pipes.
    Pipe(PipeOp),
    /// An operation of device-side enqueue: arguments in order.
    Enqueue(EnqueueOp),
    /// `sub_group_named_barrier`'s functions.
    NamedBarrier(NamedBarrierOp),
    /// `__builtin_add_overflow` and the like, by the instruction that wraps around: two operands of one type and a pointer to
    /// the result.
    Overflow(Op),
    /// `__builtin_unreachable` and `__builtin_trap`: control does not come here.
    Unreachable,
    /// `__builtin_assume`: the argument is true.
    Assume,
}

impl Lowering {
    /// The attribute of C that says that a call without its result is in vain; `None` if the call has effects. Functions that
    /// store through pointers are not told apart.
    pub(crate) fn attribute(self) -> Option<&'static str> {
        match self {
            Lowering::Ext(_)
            | Lowering::ExtByClass { .. }
            | Lowering::ExtRounding(..)
            | Lowering::Op(_)
            | Lowering::Predicate(_)
            | Lowering::SignBits(_)
            | Lowering::Dot
            | Lowering::BitField(_)
            | Lowering::ByteDot(_)
            | Lowering::Convert { .. }
            | Lowering::Dimension(..)
            | Lowering::Variable(_)
            | Lowering::QueryImage(_) => Some("const"),
            Lowering::ReadImage => Some("pure"),
            Lowering::ExtLanes(_)
            | Lowering::Bits
            | Lowering::Barrier(_)
            | Lowering::Fence(_)
            | Lowering::WorkItemFence
            | Lowering::AsyncCopy
            | Lowering::AsyncStridedCopy
            | Lowering::AsyncBlockCopy(_)
            | Lowering::AsyncFence
            | Lowering::WaitEvents
            | Lowering::Atomic(..)
            | Lowering::Printf
            | Lowering::GetFence
            | Lowering::ToSpace
            | Lowering::WriteImage
            | Lowering::Vote(..)
            | Lowering::GroupArithmetic { .. }
            | Lowering::Broadcast(_)
            | Lowering::SubGroup(_)
            | Lowering::IntelSubGroup(_)
            | Lowering::BallotCount(_)
            | Lowering::Clock(_)
            | Lowering::Pipe(_)
            | Lowering::Enqueue(_)
            | Lowering::NamedBarrier(_)
            | Lowering::Overflow(_)
            | Lowering::Unreachable
            | Lowering::Assume => None,
        }
    }
}

/// Dot products of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteDot {
    /// Whether the bytes of the first and of the second operand are signed.
    pub signed: [bool; 2],
    /// Whether they are packed into an integer.
    pub packed: bool,
    /// Whether there is an accumulator, and the sum saturates.
    pub accumulate: bool,
}

/// The fences of OpenCL C 1.x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum FenceKind {
    Full,
    Read,
    Write,
}

/// Atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum AtomicOp {
    Init,
    Load,
    Store,
    Exchange,
    CompareExchange,
    Add,
    Sub,
    Min,
    Max,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
    FlagSet,
    FlagClear,
}

/// How an atomic operation says its order and scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicForm {
    /// OpenCL C 1.x: relaxed, in the device. A compare-exchange has a value to compare with and returns the old value.
    Old,
    /// C11: orders and a scope may follow the operands; sequentially consistent in the device otherwise. A compare-exchange has a
    /// pointer to the value to compare with and returns whether it succeeded.
    C11,
}

/// Properties of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum ImageQuery {
    Width,
    Height,
    Depth,
    Dim,
    ArraySize,
    ChannelDataType,
    ChannelOrder,
    Levels,
    Samples,
}

/// The arithmetic of reductions and scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum GroupOperator {
    Add,
    Mul,
    Min,
    Max,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
}

/// Operations on pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum PipeOp {
    Read,
    Write,
    ReserveRead,
    ReserveWrite,
    CommitRead,
    CommitWrite,
    WorkGroupReserveRead,
    WorkGroupReserveWrite,
    WorkGroupCommitRead,
    WorkGroupCommitWrite,
    SubGroupReserveRead,
    SubGroupReserveWrite,
    SubGroupCommitRead,
    SubGroupCommitWrite,
    IsValidReserveId,
    NumPackets,
    MaxPackets,
}

/// Operations of device-side enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum EnqueueOp {
    Kernel,
    Marker,
    RetainEvent,
    ReleaseEvent,
    CreateUserEvent,
    IsValidEvent,
    SetUserEventStatus,
    CaptureEventProfilingInfo,
    DefaultQueue,
    NdRange(u8),
    KernelWorkGroupSize,
    KernelPreferredWorkGroupSizeMultiple,
    KernelSubGroupCount,
    KernelMaxSubGroupSize,
}

/// Operations on named barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum NamedBarrierOp {
    Init,
    Wait,
}
