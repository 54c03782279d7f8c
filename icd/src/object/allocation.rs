//! Memory that the application allocates and addresses by pointer: shared virtual memory and unified shared memory.
//!
//! All of it is host memory, as a buffer's is, and any thread may use it at any time; so what kind an allocation is matters
//! for queries and for who may free it, not for access. Pointers the driver has not handed out are good as well (the device
//! shares the whole address space): the table is not asked when a command uses a pointer.

use std::collections::BTreeMap;

use clift_include::cl::cl_mem_alloc_flags_intel;
use clift_runtime::memory::MemSlice;
use parking_lot::Mutex;

use super::device::Device;
use crate::ffi::handle::Ref;

/// By which call memory was allocated.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `clSVMAlloc`.
    Svm,
    /// `clHostMemAllocINTEL`.
    Host,
    /// `clDeviceMemAllocINTEL`.
    Device(Ref<Device>),
    /// `clSharedMemAllocINTEL`, for a device or for any.
    Shared(Option<Ref<Device>>),
}

impl Kind {
    /// Whether it is shared virtual memory, which has calls of its own.
    pub fn is_svm(&self) -> bool {
        matches!(self, Kind::Svm)
    }
}

/// One allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// What it is.
    pub kind: Kind,
    /// The flags of unified shared memory as given.
    pub flags: cl_mem_alloc_flags_intel,
    /// Its memory; freed with the last slice.
    pub bytes: MemSlice,
}

impl Allocation {
    /// The address it starts at.
    pub fn start(&self) -> usize {
        self.bytes.as_ptr().addr()
    }

    /// Whether `len` bytes from `address` on lie in it.
    fn contains(&self, address: usize, len: usize) -> bool {
        let offset = address.wrapping_sub(self.start());
        offset < self.bytes.len() && len <= self.bytes.len() - offset
    }
}

/// The allocations of a context by the addresses they start at.
#[derive(Debug, Default)]
pub struct Allocations(Mutex<BTreeMap<usize, Allocation>>);

impl Allocations {
    /// Adds an allocation.
    pub fn insert(&self, allocation: Allocation) {
        // Two live pieces of memory do not start at the same address.
        self.0.lock().insert(allocation.start(), allocation);
    }

    /// Takes out the allocation that starts at an address, if `wanted` accepts what it is.
    pub fn remove(&self, start: usize, wanted: impl FnOnce(&Kind) -> bool) -> Option<Allocation> {
        let mut all = self.0.lock();
        all.get(&start).filter(|found| wanted(&found.kind))?;
        // The memory is freed by the caller, without the lock.
        all.remove(&start)
    }

    /// The allocation that an address lies in.
    pub fn at(&self, address: usize) -> Option<Allocation> {
        self.holding(address, 1)
    }

    /// The allocation that has all of these bytes.
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
        all.insert(Allocation { kind: Kind::Svm, flags: 0, bytes });
        for inside in [start, start + 1, start + 99] {
            assert_eq!(all.at(inside).unwrap().start(), start);
        }
        assert!(all.at(start - 1).is_none() && all.at(start + 100).is_none() && all.at(0).is_none());
        assert!(all.holding(start + 50, 50).is_some() && all.holding(start + 50, 51).is_none());
        assert!(all.holding(start, usize::MAX).is_none());
        assert!(all.remove(start + 1, |_| true).is_none());
        assert!(all.remove(start, |kind| !kind.is_svm()).is_none());
        assert!(all.remove(start, Kind::is_svm).is_some());
        assert!(all.at(start).is_none());
    }
}
