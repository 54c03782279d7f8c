//! The sizes of launches that a kernel and the device permit.

use clift_runtime::geometry::Demands;

use crate::caps::Limits;

/// Maximum scratch memory of one worker, which limits the work-group size of kernels with large private arrays (16 KiB for each
/// of 4096 work-items).
const MAX_SCRATCH_BYTES: u64 = 64 << 20;

/// `CL_KERNEL_WORK_GROUP_SIZE`: limited by the device and by a worker's scratch memory.
pub fn max_work_group_size(kernel: &clift_jit::Kernel, limits: &Limits) -> usize {
    let fits = |items: usize| {
        kernel.resources.scratch_bytes_for([items as u64, 1, 1]).is_some_and(|bytes| bytes <= MAX_SCRATCH_BYTES)
    };
    let mut items = limits.max_work_group_size;
    while items > 1 && !fits(items) {
        items /= 2;
    }
    items
}

/// What a kernel and the device require of the sizes of launches that should occupy `workers` threads.
pub fn demands(kernel: &clift_jit::Kernel, uniform: bool, workers: usize, limits: &Limits) -> Demands {
    Demands {
        required: kernel.required_local_size,
        uniform,
        max_group_items: max_work_group_size(kernel, limits) as u64,
        max_item_size: limits.max_work_group_size as u64,
        sub_groups: kernel.required_sub_groups,
        preferred_multiple: u64::from(kernel.resources.width.max(1)),
        workers: workers as u64,
        exchange: kernel.specializations.as_ref().and_then(|all| all.preferred_exchange()),
        tiles: kernel.prefers_tiles,
        rows: u64::from(kernel.rows),
    }
}
