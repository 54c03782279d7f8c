//! Barriers and fences.

use spirv::Scope;

use super::super::condition::When::{self, Always};
use super::{Group, V2_0, plain};
use crate::builtins::FenceKind;
use crate::builtins::Lowering::{Barrier, Fence, GetFence, ToSpace, WorkItemFence};

const GENERIC: When = When::Feature("__opencl_c_generic_address_space");

pub(super) const TABLE: &[Group] = &[
    plain(
        Always,
        "void(cl_mem_fence_flags)",
        &[
            ("barrier", Barrier(Scope::Workgroup)),
            ("mem_fence", Fence(FenceKind::Full)),
            ("read_mem_fence", Fence(FenceKind::Read)),
            ("write_mem_fence", Fence(FenceKind::Write)),
        ],
    ),
    plain(V2_0, "void(cl_mem_fence_flags)", &[("work_group_barrier", Barrier(Scope::Workgroup))]),
    plain(V2_0, "void(cl_mem_fence_flags, memory_scope)", &[("work_group_barrier", Barrier(Scope::Workgroup))]),
    plain(V2_0, "void(cl_mem_fence_flags, memory_order, memory_scope)", &[("atomic_work_item_fence", WorkItemFence)]),
    plain(GENERIC, "cl_mem_fence_flags(const generic void*)", &[("get_fence", GetFence)]),
    plain(GENERIC, "global void*(const generic void*)", &[("to_global", ToSpace)]),
    plain(GENERIC, "local void*(const generic void*)", &[("to_local", ToSpace)]),
    plain(GENERIC, "private void*(const generic void*)", &[("to_private", ToSpace)]),
];
