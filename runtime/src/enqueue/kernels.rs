//! The child kernels of a program, and what kernels may ask about them.

use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources};
use clift_include::request::RANGE_WORDS;

use crate::geometry::{self, Demands, Request, SizeError};
use crate::launch::KernelCost;
use crate::ndrange::NdRange;

/// A local memory argument of a child kernel.
#[derive(Clone, Copy, Debug)]
pub struct LocalArg {
    /// Its place in the argument block.
    pub offset: u32,
    /// The alignment of the memory.
    pub align: u32,
}

/// A kernel that kernels enqueue. Its argument block begins with the captures.
#[derive(Debug)]
pub struct ChildKernel {
    /// Its code.
    pub entry: KernelEntry,
    /// Its requirements on a worker's memory.
    pub resources: Resources,
    /// Size of its captures.
    pub captures_bytes: u32,
    /// Its local memory arguments.
    pub locals: Vec<LocalArg>,
    /// What the kernel and the device require of its sizes.
    pub demands: Demands,
    /// `CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE`.
    pub preferred_multiple: u64,
    /// Whether it makes requests itself.
    pub enqueues: bool,
    /// Its cost estimate.
    pub cost: Arc<KernelCost>,
}

/// The child kernels of a program, by number. Whoever launches a kernel of the program keeps their code alive.
#[derive(Debug)]
pub struct ChildKernels {
    /// The kernels.
    pub list: Vec<ChildKernel>,
    /// Whether statuses say why an enqueue failed (build option `-g`).
    pub precise_errors: bool,
    /// Local memory that a work-group may have, in bytes.
    pub max_local_bytes: u64,
}

impl ChildKernel {
    /// The checked geometry of a launch with a range of [`RANGE_WORDS`] words.
    pub(super) fn geometry(&self, range: &[u64; RANGE_WORDS]) -> Result<NdRange, SizeError> {
        let [dims, sizes @ ..] = range;
        let sizes = |first: usize| [sizes[first], sizes[first + 1], sizes[first + 2]];
        let dims = u32::try_from(*dims).unwrap_or(u32::MAX);
        let local = sizes(6);
        let is_chosen = local.iter().take(dims as usize).all(|size| *size == 0);
        let request = Request {
            dims,
            offset: Some(sizes(0)),
            global: Some(sizes(3)),
            local: if is_chosen { None } else { Some(local) },
        };
        geometry::checked(&request, &self.demands)
    }

    /// Number of sub-groups of a full work-group of a range.
    pub(super) fn sub_group_count(&self, range: &[u64; RANGE_WORDS]) -> u64 {
        let geometry = self.geometry(range).ok();
        geometry.and_then(|nd| self.resources.sub_group_count(nd.local_size())).unwrap_or(0)
    }

    /// The most work-items that a sub-group of a range has.
    pub(super) fn max_sub_group_size(&self, range: &[u64; RANGE_WORDS]) -> u64 {
        let width = u64::from(self.resources.width.max(1));
        self.geometry(range).map_or(width, |nd| width.min(nd.local_size().iter().product()))
    }

    /// The local size along x that gives this number of sub-groups; 0 if there is none.
    pub(super) fn local_size_for(&self, sub_groups: u64) -> u64 {
        let row = match self.demands.required {
            Some([x, 1, 1]) => x,
            Some(_) => return 0,
            None => sub_groups.saturating_mul(self.resources.width.max(1).into()),
        };
        let fits = row != 0 && row <= self.demands.max_group_items;
        if fits && self.resources.sub_group_count([row, 1, 1]) == Some(sub_groups) { row } else { 0 }
    }

    /// The most sub-groups that a work-group may have.
    pub(super) fn max_sub_groups(&self) -> u64 {
        match self.demands.required {
            Some(size) => self.resources.sub_group_count(size).unwrap_or(0),
            None => self.resources.sub_group_count([self.demands.max_group_items, 1, 1]).unwrap_or(0),
        }
    }
}
