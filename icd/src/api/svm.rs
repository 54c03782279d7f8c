//! Shared virtual memory: allocation and freeing. What `cl_khr_unified_svm` adds is in [`super::unified_svm`]. Commands on
//! pointers are in [`super::enqueue::pointer`], kernel arguments in [`super::kernel`].
//!
//! The device supports all kinds, up to fine-grained sharing of the whole address space with atomics
//! ([`crate::caps::SVM_CAPABILITIES`]), so the rules for devices without support can never be violated.

use clift_include::cl::*;
use clift_runtime::memory::{HostBuffer, MemSlice};

use super::buffer::KERNEL_ACCESS;
use crate::caps;
use crate::error::ClError::{InvalidBufferSize, InvalidValue, OutOfResources};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::Handle;
use crate::ffi::pointer::HostPtr;
use crate::object::allocation::{Allocation, AllocationKind, SvmAllocation};
use crate::object::context::Context;

/// `clSVMAlloc`: the error is not reported, only that there is one.
pub fn alloc(context: Handle<Context>, flags: cl_svm_mem_flags, size: usize, alignment: cl_uint) -> ClResult<HostPtr> {
    const SVM: cl_svm_mem_flags = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;

    // It fails if context is not a valid context, or no devices in context support SVM
    let context = context.active()?;
    // ... if flags does not contain CL_MEM_SVM_FINE_GRAIN_BUFFER but does contain CL_MEM_SVM_ATOMICS
    ensure(flags & SVM != CL_MEM_SVM_ATOMICS, InvalidValue)?;
    // ... if flags contains CL_MEM_IMMUTABLE_EXT, or values specified in flags do not follow the rules, or are not valid
    ensure(flags & !(KERNEL_ACCESS | SVM) == 0, InvalidValue)?;
    ensure((flags & KERNEL_ACCESS).count_ones() <= 1, InvalidValue)?;
    // ... if size is 0 (with cl_khr_unified_svm no error, but NULL all the same) or > CL_DEVICE_MAX_MEM_ALLOC_SIZE for any device
    // in context
    // ... if alignment is not a power of two or cannot be supported
    let bytes = allocate(size, alignment)?;

    let start = HostPtr::new(bytes.as_ptr());
    context.allocations().insert(Allocation { kind: AllocationKind::Svm(SvmAllocation::default()), flags: 0, bytes });
    Ok(start)
}

/// Allocates memory that the application addresses by pointer.
///
/// # Errors
/// `CL_INVALID_VALUE` if alignment is neither zero nor a power of two that is supported,
/// `CL_INVALID_BUFFER_SIZE` if size is zero or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE, `CL_OUT_OF_RESOURCES` if there is
/// no memory.
pub(super) fn allocate(size: usize, alignment: cl_uint) -> ClResult<MemSlice> {
    let limits = caps::limits();
    // Zero means the size of the largest type
    let align = if alignment == 0 { limits.base_address_align } else { alignment as usize };
    ensure(align.is_power_of_two() && align <= limits.max_alignment, InvalidValue)?;
    ensure(size != 0 && size as u64 <= limits.max_mem_alloc_size, InvalidBufferSize)?;
    Ok(HostBuffer::new(size, align).map_err(|_| OutOfResources)?.into_slice())
}

/// `clSVMFree`: has no errors to report.
pub fn free(context: Handle<Context>, pointer: HostPtr) -> ClResult<()> {
    // Nothing happens if context is not a valid context, or svm_pointer is NULL (or was not returned by clSVMAlloc)
    context.get()?.allocations().remove(pointer.addr(), AllocationKind::is_svm);
    Ok(())
}
