//! Memory that the application allocates and addresses by pointer: shared virtual memory and unified shared memory.
//!
//! All of it is host memory, like that of a buffer, and any thread may use it at any time. So the kind of an allocation matters
//! only for queries and for the functions that may free it, not for access. Other pointers are valid as well, because the device
//! shares the whole address space; therefore commands do not look up pointers in this table.

use std::collections::BTreeMap;

use clift_include::cl::{cl_mem_alloc_flags_intel, cl_svm_alloc_access_flags_khr, cl_svm_alloc_properties_khr};
use clift_runtime::memory::MemSlice;
use parking_lot::Mutex;

use super::device::Device;
use crate::ffi::handle::Ref;

/// The function that allocated the memory.
#[derive(Clone, Debug)]
pub enum AllocationKind {
    /// `clSVMAlloc`, `clSVMAllocWithPropertiesKHR`.
    Svm(SvmAllocation),
    /// `clHostMemAllocINTEL`.
    Host,
    /// `clDeviceMemAllocINTEL`.
    Device(Ref<Device>),
    /// `clSharedMemAllocINTEL`, for a device or for any.
    Shared(Option<Ref<Device>>),
}

impl AllocationKind {
    /// Whether it is shared virtual memory, which has its own functions.
    pub fn is_svm(&self) -> bool {
        matches!(self, AllocationKind::Svm(_))
    }
}

/// What was asked for when shared virtual memory was allocated, for queries.
#[derive(Clone, Debug, Default)]
pub struct SvmAllocation {
    /// Index of the type in [`SVM_TYPES`](crate::caps::SVM_TYPES).
    pub type_index: usize,
    /// The associated device.
    pub device: Option<Ref<Device>>,
    /// What host and device will not do.
    pub access: cl_svm_alloc_access_flags_khr,
    /// The property list as it was given, with its final zero.
    pub properties: Vec<cl_svm_alloc_properties_khr>,
}

/// One allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The function that allocated it.
    pub kind: AllocationKind,
    /// The given flags of unified shared memory.
    pub flags: cl_mem_alloc_flags_intel,
    /// Its memory; freed with the last slice.
    pub bytes: MemSlice,
}

impl Allocation {
    /// Its start address.
    pub fn start(&self) -> usize {
        self.bytes.as_ptr().addr()
    }

    /// Whether it contains `len` bytes from `address` on.
    fn contains(&self, address: usize, len: usize) -> bool {
        let offset = address.wrapping_sub(self.start());
        offset < self.bytes.len() && len <= self.bytes.len() - offset
    }
}

/// The allocations of a context by start address.
#[derive(Debug, Default)]
pub struct Allocations(Mutex<BTreeMap<usize, Allocation>>);

impl Allocations {
    /// Adds an allocation.
    pub fn insert(&self, allocation: Allocation) {
        // Live allocations have different start addresses.
        self.0.lock().insert(allocation.start(), allocation);
    }

    /// Removes the allocation that starts at an address, if `wanted` accepts its kind.
    pub fn remove(&self, start: usize, wanted: impl FnOnce(&AllocationKind) -> bool) -> Option<Allocation> {
        let mut all = self.0.lock();
        all.get(&start).filter(|found| wanted(&found.kind))?;
        // The memory is freed by the caller, without the lock.
        all.remove(&start)
    }

    /// Start addresses and sizes.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        self.0.lock().values().map(|found| (found.start() as u64, found.bytes.len() as u64)).collect()
    }

    /// The allocation that contains an address.
    pub fn at(&self, address: usize) -> Option<Allocation> {
        self.holding(address, 1)
    }

    /// The allocation that contains all of these bytes.
    pub fn holding(&self, address: usize, len: usize) -> Option<Allocation> {
        let all = self.0.lock();
        let (_, found) = all.range(..=address).next_back()?;
        found.contains(address, len).then(|| found.clone())
    }
}

#[cfg(test)]
mod tests {
    use clift_runtime::memory::HostBuffer;

    use super::*;

    #[test]
    fn found_by_any_address_inside() {
        let all = Allocations::default();
        let bytes = HostBuffer::new(100, 128).unwrap().into_slice();
        let start = bytes.as_ptr().addr();
        all.insert(Allocation { kind: AllocationKind::Svm(SvmAllocation::default()), flags: 0, bytes });
        for inside in [start, start + 1, start + 99] {
            assert_eq!(all.at(inside).unwrap().start(), start);
        }
        assert!(all.at(start - 1).is_none() && all.at(start + 100).is_none() && all.at(0).is_none());
        assert!(all.holding(start + 50, 50).is_some() && all.holding(start + 50, 51).is_none());
        assert!(all.holding(start, usize::MAX).is_none());
        assert!(all.remove(start + 1, |_| true).is_none());
        assert!(all.remove(start, |kind| !kind.is_svm()).is_none());
        assert!(all.remove(start, AllocationKind::is_svm).is_some());
        assert!(all.at(start).is_none());
    }
}
