//! Device-side enqueue. The forms of `enqueue_kernel` and of queries of a block depend on the block: the check of the call
//! decides them, and these rows only say that there are such functions.

use super::super::condition::When::{self, All, Feature};
use super::{Group, plain};
use crate::builtins::EnqueueOp;
use crate::builtins::Lowering::Enqueue;

const ENQUEUE: When = Feature("__opencl_c_device_enqueue");
const SUB_GROUP: When = All(&[ENQUEUE, When::SubGroups]);

pub(super) const TABLE: &[Group] = &[
    plain(ENQUEUE, "int(queue_t, uint, ndrange_t, ...)", &[("enqueue_kernel", Enqueue(EnqueueOp::Kernel))]),
    plain(
        ENQUEUE,
        "int(queue_t, uint, const clk_event_t*, clk_event_t*)",
        &[("enqueue_marker", Enqueue(EnqueueOp::Marker))],
    ),
    plain(
        ENQUEUE,
        "void(clk_event_t)",
        &[("release_event", Enqueue(EnqueueOp::ReleaseEvent)), ("retain_event", Enqueue(EnqueueOp::RetainEvent))],
    ),
    plain(ENQUEUE, "clk_event_t()", &[("create_user_event", Enqueue(EnqueueOp::CreateUserEvent))]),
    plain(ENQUEUE, "bool(clk_event_t)", &[("is_valid_event", Enqueue(EnqueueOp::IsValidEvent))]),
    plain(ENQUEUE, "void(clk_event_t, int)", &[("set_user_event_status", Enqueue(EnqueueOp::SetUserEventStatus))]),
    plain(
        ENQUEUE,
        "void(clk_event_t, int, global void*)",
        &[("capture_event_profiling_info", Enqueue(EnqueueOp::CaptureEventProfilingInfo))],
    ),
    plain(ENQUEUE, "queue_t()", &[("get_default_queue", Enqueue(EnqueueOp::DefaultQueue))]),
    plain(ENQUEUE, "ndrange_t(size_t)", &[("ndrange_1D", Enqueue(EnqueueOp::NdRange(1)))]),
    plain(ENQUEUE, "ndrange_t(size_t, size_t)", &[("ndrange_1D", Enqueue(EnqueueOp::NdRange(1)))]),
    plain(ENQUEUE, "ndrange_t(size_t, size_t, size_t)", &[("ndrange_1D", Enqueue(EnqueueOp::NdRange(1)))]),
    plain(
        ENQUEUE,
        "ndrange_t(const size_t*)",
        &[("ndrange_2D", Enqueue(EnqueueOp::NdRange(2))), ("ndrange_3D", Enqueue(EnqueueOp::NdRange(3)))],
    ),
    plain(
        ENQUEUE,
        "ndrange_t(const size_t*, const size_t*)",
        &[("ndrange_2D", Enqueue(EnqueueOp::NdRange(2))), ("ndrange_3D", Enqueue(EnqueueOp::NdRange(3)))],
    ),
    plain(
        ENQUEUE,
        "ndrange_t(const size_t*, const size_t*, const size_t*)",
        &[("ndrange_2D", Enqueue(EnqueueOp::NdRange(2))), ("ndrange_3D", Enqueue(EnqueueOp::NdRange(3)))],
    ),
    plain(
        ENQUEUE,
        "uint(block)",
        &[
            ("get_kernel_preferred_work_group_size_multiple", Enqueue(EnqueueOp::KernelPreferredWorkGroupSizeMultiple)),
            ("get_kernel_work_group_size", Enqueue(EnqueueOp::KernelWorkGroupSize)),
        ],
    ),
    plain(
        SUB_GROUP,
        "uint(ndrange_t, block)",
        &[
            ("get_kernel_max_sub_group_size_for_ndrange", Enqueue(EnqueueOp::KernelMaxSubGroupSize)),
            ("get_kernel_sub_group_count_for_ndrange", Enqueue(EnqueueOp::KernelSubGroupCount)),
        ],
    ),
];
