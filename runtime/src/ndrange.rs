//! The geometry of a launch: NDRange arithmetic, all of it checked, and the choice of a local size.
//!
//! Knows nothing of kernels; limits come in as arguments. Not here: splitting a launch among workers ([`crate::launch`]).

/// Why a geometry is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NdRangeError {
    /// `CL_INVALID_WORK_DIMENSION`.
    #[error("{0} dimensions, not 1 to 3")]
    Dimensions(u32),
    /// `CL_INVALID_WORK_GROUP_SIZE`.
    #[error("a local size of zero, or one whose product overflows")]
    LocalSize,
    /// `CL_INVALID_GLOBAL_WORK_SIZE`: the number of work-items does not fit 64 bits.
    #[error("the number of work-items overflows")]
    GlobalSize,
    /// `CL_INVALID_GLOBAL_OFFSET`: offset + size passes the largest `size_t`.
    #[error("global offset plus global size overflows")]
    GlobalOffset,
}

/// A checked NDRange. Dimensions above [`NdRange::dims`] have size 1 and offset 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdRange {
    dims: u32,
    global_size: [u64; 3],
    global_offset: [u64; 3],
    local_size: [u64; 3],
    num_groups: [u64; 3],
}

impl NdRange {
    /// Checks the geometry and computes the group counts. A dimension whose global size is no multiple of its local size
    /// gets a smaller last group; whether the kernel may be launched so is the caller's check. A global size of 0 is
    /// legal and makes the launch empty. Entries above `dims` are ignored.
    pub fn new(
        dims: u32,
        global_size: [u64; 3],
        global_offset: [u64; 3],
        local_size: [u64; 3],
    ) -> Result<Self, NdRangeError> {
        if !(1..=3).contains(&dims) {
            return Err(NdRangeError::Dimensions(dims));
        }
        let used =
            |values: [u64; 3], other: u64| core::array::from_fn(|i| if i < dims as usize { values[i] } else { other });
        let (global_size, global_offset, local_size) =
            (used(global_size, 1), used(global_offset, 0), used(local_size, 1));
        if product(local_size).is_none_or(|items| items == 0) {
            return Err(NdRangeError::LocalSize);
        }
        if product(global_size).is_none() {
            return Err(NdRangeError::GlobalSize);
        }
        for d in 0..3 {
            if global_offset[d].checked_add(global_size[d]).is_none() {
                return Err(NdRangeError::GlobalOffset);
            }
        }
        let num_groups = core::array::from_fn(|d| global_size[d].div_ceil(local_size[d]));
        Ok(Self { dims, global_size, global_offset, local_size, num_groups })
    }

    /// One work-item: the geometry of a task.
    pub const fn single() -> Self {
        Self { dims: 1, global_size: [1; 3], global_offset: [0; 3], local_size: [1; 3], num_groups: [1; 3] }
    }

    /// Number of dimensions, 1 to 3.
    pub fn dims(&self) -> u32 {
        self.dims
    }

    /// Work-items per dimension.
    pub fn global_size(&self) -> [u64; 3] {
        self.global_size
    }

    /// Offset of the global ids per dimension.
    pub fn global_offset(&self) -> [u64; 3] {
        self.global_offset
    }

    /// Enqueued local size per dimension.
    pub fn local_size(&self) -> [u64; 3] {
        self.local_size
    }

    /// Work-groups per dimension, the smaller last one included.
    pub fn num_groups(&self) -> [u64; 3] {
        self.num_groups
    }

    /// Work-groups in all; 0 for an empty launch. Cannot overflow: there are no more of them than work-items.
    pub fn total_groups(&self) -> u64 {
        self.num_groups.iter().product()
    }

    /// Work-items in all.
    pub fn total_items(&self) -> u64 {
        self.global_size.iter().product()
    }

    /// Work-items of a full group.
    pub fn group_items(&self) -> u64 {
        self.local_size.iter().product()
    }

    /// Whether every group has the full local size.
    pub fn is_uniform(&self) -> bool {
        (0..3).all(|d| self.global_size[d].is_multiple_of(self.local_size[d]))
    }
}

/// The product of a size per dimension, or `None` when it overflows.
pub fn product(sizes: [u64; 3]) -> Option<u64> {
    // A zero makes the whole zero, however large the rest is.
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.into_iter().try_fold(1u64, u64::checked_mul)
}

/// What bounds the choice of a local size.
#[derive(Clone, Copy, Debug)]
pub struct LocalSizeLimits {
    /// Most work-items in a group for this kernel.
    pub max_group_items: u64,
    /// Most work-items per dimension.
    pub max_item_sizes: [u64; 3],
    /// The kernel's preferred multiple (its lanes per pack).
    pub preferred_multiple: u64,
    /// Threads that should find work.
    pub workers: u64,
    /// Whether the kernel may be run with smaller last groups.
    pub non_uniform: bool,
}

/// The local size for a launch that leaves it open (a NULL `local_work_size`).
pub fn choose_local_size(dims: u32, global_size: [u64; 3], limits: &LocalSizeLimits) -> [u64; 3] {
    let max_items = limits.max_group_items.max(1);
    let mut local = [1u64; 3];
    if (1..=3).contains(&dims) && global_size[0] > 0 {
        let cap = max_items.min(limits.max_item_sizes[0]).min(256);
        local[0] = if limits.non_uniform {
            global_size[0].min(cap)
        } else {
            (1..=cap).rev().find(|n| global_size[0].is_multiple_of(*n)).unwrap_or(1)
        };
    }
    local
}
