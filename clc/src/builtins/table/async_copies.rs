//! Asynchronous copies between global and local memory, and prefetches.

use super::super::condition::When::{self, Always};
use super::{GENTYPE, Group, ext, over, plain};
use crate::builtins::Lowering::{AsyncBlockCopy, AsyncCopy, AsyncFence, AsyncStridedCopy, WaitEvents};
use crate::builtins::ext as std;

const BLOCKS: When = When::Extension("cl_khr_extended_async_copies");
/// The device may have the fence without its extension, as a part of the extension above.
const FENCE: When = When::Any(&[
    When::Extension("cl_khr_async_work_group_copy_fence"),
    When::Extension("cl_khr_extended_async_copies"),
]);

pub(super) const TABLE: &[Group] = &[
    over(
        Always,
        GENTYPE,
        "event_t(local T*, const global T*, size_t, event_t)",
        &[("async_work_group_copy", AsyncCopy)],
    ),
    over(
        Always,
        GENTYPE,
        "event_t(global T*, const local T*, size_t, event_t)",
        &[("async_work_group_copy", AsyncCopy)],
    ),
    over(
        Always,
        GENTYPE,
        "event_t(local T*, const global T*, size_t, size_t, event_t)",
        &[("async_work_group_strided_copy", AsyncStridedCopy)],
    ),
    over(
        Always,
        GENTYPE,
        "event_t(global T*, const local T*, size_t, size_t, event_t)",
        &[("async_work_group_strided_copy", AsyncStridedCopy)],
    ),
    plain(Always, "void(int, event_t*)", &[("wait_group_events", WaitEvents)]),
    over(Always, GENTYPE, "void(const global T*, size_t)", &[("prefetch", ext(std::PREFETCH))]),
    plain(
        BLOCKS,
        "event_t(local void*, size_t, const global void*, size_t, size_t, size_t, size_t, size_t, size_t, event_t)",
        &[("async_work_group_copy_2D2D", AsyncBlockCopy(2))],
    ),
    plain(
        BLOCKS,
        "event_t(global void*, size_t, const local void*, size_t, size_t, size_t, size_t, size_t, size_t, event_t)",
        &[("async_work_group_copy_2D2D", AsyncBlockCopy(2))],
    ),
    plain(
        BLOCKS,
        "event_t(local void*, size_t, const global void*, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, \
         size_t, event_t)",
        &[("async_work_group_copy_3D3D", AsyncBlockCopy(3))],
    ),
    plain(
        BLOCKS,
        "event_t(global void*, size_t, const local void*, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t, \
         size_t, event_t)",
        &[("async_work_group_copy_3D3D", AsyncBlockCopy(3))],
    ),
    plain(FENCE, "void(cl_mem_fence_flags)", &[("async_work_group_copy_fence", AsyncFence)]),
];
