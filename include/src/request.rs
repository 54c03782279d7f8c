//! Requests of device-side enqueue: what generated code asks of the runtime through [`crate::abi::Callbacks::request`].
//!
//! Operands are words of 64 bits; 32-bit numbers are zero-extended. `docs/device-enqueue.md` describes how kernels enqueue
//! kernels.

/// Number of words of an `ndrange_t`: the number of dimensions, then offset, global size and local size, three words each. A
/// local size of 0 leaves the choice to the runtime.
pub const RANGE_WORDS: usize = 10;

/// A request. Below, a *kernel* is the number of a child kernel in its program.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `enqueue_kernel`: queue, flags, range, number of events to wait for, their address, whether an event is wanted, kernel,
    /// address of the captures, sizes of local memory. The result is an [`Enqueued`].
    EnqueueKernel,
    /// `enqueue_marker`: queue, number of events to wait for, their address, whether an event is wanted. The result is an
    /// [`Enqueued`].
    EnqueueMarker,
    /// `create_user_event`: no operands. The result is the event, 0 if there cannot be another one.
    CreateUserEvent,
    /// `retain_event`: event.
    RetainEvent,
    /// `release_event`: event.
    ReleaseEvent,
    /// `is_valid_event`: event. The result is 0 or 1.
    IsValidEvent,
    /// `set_user_event_status`: event, status.
    SetUserEventStatus,
    /// `capture_event_profiling_info`: event, what to capture, address of two times.
    CaptureProfiling,
    /// `get_default_queue`: no operands. The result is the queue, 0 if there is none.
    DefaultQueue,
    /// `get_kernel_work_group_size`: kernel.
    WorkGroupSize,
    /// `get_kernel_preferred_work_group_size_multiple`: kernel.
    PreferredWorkGroupSizeMultiple,
    /// `get_kernel_sub_group_count_for_ndrange`: range, kernel.
    SubGroupCount,
    /// `get_kernel_max_sub_group_size_for_ndrange`: range, kernel.
    MaxSubGroupSize,
    /// `OpGetKernelLocalSizeForSubgroupCount`: number of sub-groups, kernel. The result is the size along x, 0 if there is none.
    LocalSizeForSubGroupCount,
    /// `OpGetKernelMaxNumSubgroups`: kernel.
    MaxSubGroups,
}

impl Request {
    /// All requests, by number.
    pub const ALL: [Request; 15] = [
        Request::EnqueueKernel,
        Request::EnqueueMarker,
        Request::CreateUserEvent,
        Request::RetainEvent,
        Request::ReleaseEvent,
        Request::IsValidEvent,
        Request::SetUserEventStatus,
        Request::CaptureProfiling,
        Request::DefaultQueue,
        Request::WorkGroupSize,
        Request::PreferredWorkGroupSizeMultiple,
        Request::SubGroupCount,
        Request::MaxSubGroupSize,
        Request::LocalSizeForSubGroupCount,
        Request::MaxSubGroups,
    ];
}

/// The result of an enqueue: a status in the low 16 bits (`CLK_SUCCESS` or a negative number), and above them the event if one
/// was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The status.
    pub status: i16,
    /// The event, of at most 48 bits; 0 if there is none.
    pub event: u64,
}

impl Enqueued {
    /// Bits of the status in the result.
    pub const STATUS_BITS: u32 = 16;

    /// The word that generated code gets.
    pub fn word(self) -> u64 {
        (self.event << Self::STATUS_BITS) | u64::from(self.status.cast_unsigned())
    }
}

/// Statuses of enqueues, `CLK_*` in OpenCL C.
pub mod status {
    /// `CLK_SUCCESS`
    pub const SUCCESS: i16 = 0;
    /// `CLK_OUT_OF_RESOURCES`
    pub const OUT_OF_RESOURCES: i16 = -5;
    /// `CLK_INVALID_ARG_SIZE`
    pub const INVALID_ARG_SIZE: i16 = -51;
    /// `CLK_INVALID_EVENT_WAIT_LIST`
    pub const INVALID_EVENT_WAIT_LIST: i16 = -57;
    /// `CLK_EVENT_ALLOCATION_FAILURE`
    pub const EVENT_ALLOCATION_FAILURE: i16 = -100;
    /// `CLK_ENQUEUE_FAILURE`
    pub const ENQUEUE_FAILURE: i16 = -101;
    /// `CLK_INVALID_QUEUE`
    pub const INVALID_QUEUE: i16 = -102;
    /// `CLK_INVALID_NDRANGE`
    pub const INVALID_NDRANGE: i16 = -160;
    /// `CLK_DEVICE_QUEUE_FULL`
    pub const DEVICE_QUEUE_FULL: i16 = -161;
}

/// When a child kernel may begin: `kernel_enqueue_flags_t`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// `CLK_ENQUEUE_FLAGS_NO_WAIT`: at once.
    AtOnce = 0,
    /// `CLK_ENQUEUE_FLAGS_WAIT_KERNEL`: when all work-items of the parent have ended.
    AfterKernel = 1,
    /// `CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP`: when the work-group that enqueued it has ended.
    AfterWorkGroup = 2,
}

impl Begin {
    /// The flag with a number.
    pub fn from_number(number: u64) -> Option<Self> {
        [Begin::AtOnce, Begin::AfterKernel, Begin::AfterWorkGroup].into_iter().find(|begin| *begin as u64 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::Request;

    #[test]
    fn requests_are_listed_by_number() {
        for (number, request) in Request::ALL.into_iter().enumerate() {
            assert_eq!(request as usize, number);
        }
    }
}
