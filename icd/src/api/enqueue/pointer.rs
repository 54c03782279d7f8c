//! Commands on memory given by pointer: shared virtual memory, and unified shared memory (`...INTEL`).
//!
//! The device uses the host's memory, so mapping, migration and advice are commands without work. The device supports shared
//! virtual memory, so `CL_INVALID_OPERATION` for a device without support is never returned.

use clift_include::cl::*;
use clift_runtime::graph::KeepAlive;
use clift_runtime::memory::MemSlice;

use super::{Submission, Wait};
use crate::error::ClError::{InvalidValue, MemCopyOverlap};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::FreeFunction;
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{HostPtr, InArray, InBytes, UserData};
use crate::object::allocation::AllocationKind;
use crate::object::operation::{self, Operation, Task};
use crate::object::queue::Queue;

/// Maximum size of a pattern: the largest type of OpenCL C.
const MAX_PATTERN: usize = 128;

/// `clEnqueueSVMFree`
pub fn svm_free(
    queue: Handle<Queue>,
    num_svm_pointers: cl_uint,
    svm_pointers: InArray<'_, HostPtr>,
    function: FreeFunction<Queue>,
    user_data: UserData,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if num_svm_pointers is 0 and svm_pointers is non-NULL, or if svm_pointers is NULL and
    // num_svm_pointers is not 0
    let pointers: Vec<HostPtr> = svm_pointers.checked(num_svm_pointers, InvalidValue)?.collect();
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut command = Submission::new(&queue, CL_COMMAND_SVM_FREE, wait)?;
    if !function.is_null() {
        // It is called with the queue, which the application may have released by then.
        command = command.keep(&queue);
    }

    let context = queue.context().clone();
    let handle = queue.handle();
    command.task(false, move || {
        if function.is_null() {
            for pointer in pointers {
                context.allocations().remove(pointer.addr(), AllocationKind::is_svm);
            }
        } else {
            function.call(handle, pointers, user_data);
        }
        Ok(())
    })
}

/// `clEnqueueSVMMemcpy`
pub fn svm_copy(
    queue: Handle<Queue>,
    blocking: cl_bool,
    target: HostPtr,
    source: HostPtr,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    copy(queue, CL_COMMAND_SVM_MEMCPY, blocking, (target, source, size), wait)
}

/// `clEnqueueMemcpyINTEL`
pub fn usm_copy(
    queue: Handle<Queue>,
    blocking: cl_bool,
    target: HostPtr,
    source: HostPtr,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    copy(queue, CL_COMMAND_MEMCPY_INTEL, blocking, (target, source, size), wait)
}

fn copy(
    queue: Handle<Queue>,
    kind: cl_command_type,
    blocking: cl_bool,
    (target, source, size): (HostPtr, HostPtr, usize),
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let copy = checked_copy(target, source, size)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`
    Submission::new(&queue, kind, wait)?.operation(blocking != CL_FALSE, copy)
}

/// The rules for a copy between addresses, except those for wait lists.
///
/// # Errors
/// `CL_INVALID_VALUE` if dst_ptr or src_ptr is NULL and size is not zero, `CL_MEM_COPY_OVERLAP` if the copy is an overlapping
/// one.
pub fn checked_copy(target: HostPtr, source: HostPtr, size: usize) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_VALUE if dst_ptr is NULL, if src_ptr is NULL (and size is not zero: cl_khr_unified_svm)
    let target = range(target, size)?;
    let source = range(source, size)?;
    // CL_MEM_COPY_OVERLAP if the values specified for dst_ptr, src_ptr and size result in an overlapping copy
    ensure(!target.overlaps(&source), MemCopyOverlap)?;
    Ok(operation::copy(target, source, KeepAlive::new()))
}

/// The bytes at an address. No bytes may be at any, even NULL.
///
/// # Errors
/// `CL_INVALID_VALUE` for bytes at NULL.
fn range(start: HostPtr, size: usize) -> ClResult<MemSlice> {
    let nowhere = HostPtr::new(std::ptr::NonNull::<u8>::dangling().as_ptr());
    if size == 0 { nowhere } else { start }.slice(size).ok_or(InvalidValue)
}

/// `clEnqueueSVMMemFill`
pub fn svm_fill(
    queue: Handle<Queue>,
    target: HostPtr,
    pattern: InBytes<'_>,
    pattern_size: usize,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    fill(queue, CL_COMMAND_SVM_MEMFILL, target, (pattern, pattern_size), size, wait)
}

/// `clEnqueueMemFillINTEL`
pub fn usm_fill(
    queue: Handle<Queue>,
    target: HostPtr,
    pattern: InBytes<'_>,
    pattern_size: usize,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    fill(queue, CL_COMMAND_MEMFILL_INTEL, target, (pattern, pattern_size), size, wait)
}

fn fill(
    queue: Handle<Queue>,
    kind: cl_command_type,
    target: HostPtr,
    pattern: (InBytes<'_>, usize),
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let fill = checked_fill(target, pattern, size)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, kind, wait)?.operation(false, fill)
}

/// The rules for a fill of memory at an address, except those for wait lists.
///
/// # Errors
/// `CL_INVALID_VALUE` if a rule about them is broken.
pub fn checked_fill(
    target: HostPtr,
    (pattern, pattern_size): (InBytes<'_>, usize),
    size: usize,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_VALUE if svm_ptr is NULL (and size is not zero: cl_khr_unified_svm)
    let bytes = range(target, size)?;
    // CL_INVALID_VALUE if pattern is NULL
    ensure(!pattern.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if pattern_size is zero, is not a power of two, or is greater than 128
    ensure(pattern_size.is_power_of_two() && pattern_size <= MAX_PATTERN, InvalidValue)?;
    // CL_INVALID_VALUE if svm_ptr is not aligned to pattern_size bytes
    ensure(target.addr().is_multiple_of(pattern_size), InvalidValue)?;
    // CL_INVALID_VALUE if size is not a multiple of pattern_size
    ensure(size.is_multiple_of(pattern_size), InvalidValue)?;
    let pattern = pattern.copy(pattern_size)?.ok_or(InvalidValue)?;
    Ok(operation::fill(bytes, pattern, KeepAlive::new()))
}

/// `clEnqueueMemsetINTEL` (deprecated: `clEnqueueMemFillINTEL` with a pattern of one byte)
pub fn usm_set(queue: Handle<Queue>, target: HostPtr, value: cl_int, size: usize, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if dst_ptr is NULL
    let bytes = target.slice(size).ok_or(InvalidValue)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_MEMFILL_INTEL, wait)?;

    // As in memset, the lowest byte of the value is used.
    command.operation(false, operation::fill(bytes, vec![value.to_le_bytes()[0]], KeepAlive::new()))
}

/// `clEnqueueSVMMap`
pub fn svm_map(
    queue: Handle<Queue>,
    blocking: cl_bool,
    flags: cl_map_flags,
    pointer: HostPtr,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if svm_ptr is NULL
    ensure(!pointer.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if size is zero
    ensure(size != 0, InvalidValue)?;
    // CL_INVALID_VALUE if values specified in map_flags are not valid
    super::map::check_flags(flags)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`
    Submission::new(&queue, CL_COMMAND_SVM_MAP, wait)?.nothing(blocking != CL_FALSE, |_| ())
}

/// `clEnqueueSVMUnmap`
pub fn svm_unmap(queue: Handle<Queue>, pointer: HostPtr, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if svm_ptr is NULL
    ensure(!pointer.is_null(), InvalidValue)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_SVM_UNMAP, wait)?.nothing(false, |_| ())
}

/// `clEnqueueSVMMigrateMem`
pub fn svm_migrate(
    queue: Handle<Queue>,
    num_svm_pointers: cl_uint,
    svm_pointers: InArray<'_, HostPtr>,
    sizes: InArray<'_, usize>,
    flags: cl_mem_migration_flags,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if num_svm_pointers is zero or svm_pointers is NULL
    ensure(num_svm_pointers != 0 && !svm_pointers.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if flags is not zero and is not a valid combination of the values described in the table
    super::map::check_migration(flags)?;
    // CL_INVALID_VALUE if sizes[i] is non-zero and the memory range described by svm_pointers[i] and sizes[i] is not
    // contained within an SVM allocation. Memory of no allocation is that of a type of cl_khr_unified_svm, so only ranges that
    // leave an allocation are refused; NULL is ignored if its size is zero.
    let count = num_svm_pointers as usize;
    let mut sizes = sizes.iter(count);
    let allocations = queue.context().allocations();
    for pointer in svm_pointers.iter(count) {
        let size = sizes.next().unwrap_or(0);
        ensure(!pointer.is_null() || size == 0, InvalidValue)?;
        let (start, len) = (pointer.addr(), size.max(1));
        ensure(allocations.at(start).is_none() || allocations.holding(start, len).is_some(), InvalidValue)?;
    }
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_SVM_MIGRATE_MEM, wait)?.nothing(false, |_| ())
}

/// `clEnqueueMigrateMemINTEL`
pub fn usm_migrate(
    queue: Handle<Queue>,
    _pointer: HostPtr,
    _size: usize,
    flags: cl_mem_migration_flags,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if flags is not a supported combination of memory migration flags
    super::map::check_migration(flags)?;
    hint(&queue, CL_COMMAND_MIGRATEMEM_INTEL, wait)
}

/// `clEnqueueMemAdviseINTEL`
pub fn usm_advise(
    queue: Handle<Queue>,
    _pointer: HostPtr,
    _size: usize,
    advice: cl_mem_advice_intel,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if advice is not supported advice for the device: the extension defines none but 0, "no advice"
    ensure(advice == 0, InvalidValue)?;
    hint(&queue, CL_COMMAND_MEMADVISE_INTEL, wait)
}

/// A command with information that the driver does not use.
fn hint(queue: &Ref<Queue>, kind: cl_command_type, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(queue, kind, wait)?.nothing(false, |_| ())
}
