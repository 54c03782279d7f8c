//! Mapping, unmapping and migration, which on a processor are commands without work.

use clift_include::cl::*;
use clift_runtime::status;

use super::{Submission, Wait, buffer_of, region, same_context};
use crate::error::ClError::{InvalidMemObject, InvalidOperation, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{HostPtr, InArray};
use crate::object::buffer::Mem;
use crate::object::mapping::Region;
use crate::object::queue::Queue;

/// Mapping for writing.
const WRITE: cl_map_flags = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

/// The rules for the flags of a mapping.
///
/// # Errors
/// `CL_INVALID_VALUE` for flags that do not exist or exclude each other: CL_MAP_READ or CL_MAP_WRITE and
/// CL_MAP_WRITE_INVALIDATE_REGION.
pub(super) fn check_flags(flags: cl_map_flags) -> ClResult<()> {
    ensure(flags & !(CL_MAP_READ | WRITE) == 0, InvalidValue)?;
    ensure(flags & CL_MAP_WRITE_INVALIDATE_REGION == 0 || flags == CL_MAP_WRITE_INVALIDATE_REGION, InvalidValue)
}

/// The rules for access by mappings.
///
/// # Errors
/// See the comments.
pub(super) fn check_access(mem: &Mem, flags: cl_map_flags) -> ClResult<()> {
    // CL_INVALID_OPERATION if it was created with CL_MEM_HOST_WRITE_ONLY or CL_MEM_HOST_NO_ACCESS and CL_MAP_READ is
    // set in map_flags
    ensure(flags & CL_MAP_READ == 0 || mem.host_may_read(), InvalidOperation)?;
    // CL_INVALID_OPERATION if it was created with CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_NO_ACCESS and CL_MAP_WRITE or
    // CL_MAP_WRITE_INVALIDATE_REGION is set in map_flags; likewise if it was created with CL_MEM_IMMUTABLE_EXT
    ensure(flags & WRITE == 0 || mem.host_may_write(), InvalidOperation)
}

/// The rule for the flags of a migration.
///
/// # Errors
/// `CL_INVALID_VALUE` for flags that do not exist.
pub(super) fn check_migration(flags: cl_mem_migration_flags) -> ClResult<()> {
    ensure(flags & !(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) == 0, InvalidValue)
}

/// `clEnqueueMapBuffer`
pub fn map_buffer(
    queue: Handle<Queue>,
    buffer: Handle<Mem>,
    blocking: cl_bool,
    flags: cl_map_flags,
    offset: usize,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<HostPtr> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object
    let buffer = buffer_of(buffer)?;
    // CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
    same_context(&queue, buffer.context())?;
    // CL_INVALID_VALUE if the region being mapped specified by offset and size is out of bounds
    region(&buffer, offset, size)?;
    // CL_INVALID_VALUE if size is zero
    ensure(size != 0, InvalidValue)?;
    // CL_INVALID_VALUE, CL_INVALID_OPERATION and the rest: see `mapped`
    mapped(&queue, &buffer, CL_COMMAND_MAP_BUFFER, flags, Region::linear(offset, size), blocking, wait)
}

/// Maps bytes of a memory object, by a command of the given kind.
///
/// # Errors
/// See the comments.
pub(super) fn mapped(
    queue: &Ref<Queue>,
    mem: &Ref<Mem>,
    kind: cl_command_type,
    flags: cl_map_flags,
    part: Region,
    blocking: cl_bool,
    wait: Wait<'_>,
) -> ClResult<HostPtr> {
    // CL_INVALID_VALUE if values specified in map_flags are not valid
    check_flags(flags)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(queue, kind, wait)?;
    // CL_MAP_FAILURE if there is a failure to map the requested region into the host address space: it is there already
    // CL_INVALID_OPERATION: see `check_access`
    check_access(mem, flags)?;
    // CL_INVALID_OPERATION if mapping would lead to overlapping regions being mapped for writing, also of associated objects
    let pointer = HostPtr::new(mem.bytes().as_ptr().wrapping_add(part.start));
    let mapping = mem.maps().add(part, pointer, flags & WRITE != 0).map_err(|_| InvalidOperation)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: see `Submission::submit`

    // If the wait list fails, the mapping is removed again. Callbacks run some time after the end, but a call that returns an
    // error must leave nothing behind.
    let undo = Ref::downgrade(mem);
    let submitted = command.keep(mem).nothing(blocking != CL_FALSE, |event| {
        if wait.count != 0 {
            event.on_status(
                status::COMPLETE,
                Box::new(move |ended| {
                    if ended < status::COMPLETE
                        && let Some(mem) = undo.upgrade()
                    {
                        mem.maps().undo(mapping.id);
                    }
                }),
            );
        }
    });
    submitted.inspect_err(|_| mem.maps().undo(mapping.id))?;
    Ok(mapping.pointer)
}

/// `clEnqueueUnmapMemObject`
pub fn unmap(queue: Handle<Queue>, mem: Handle<Mem>, pointer: HostPtr, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_MEM_OBJECT if memobj is not a valid memory object or is a pipe object
    let mem = mem.get()?;
    ensure(mem.as_pipe().is_none(), InvalidMemObject)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let command = Submission::new(&queue, CL_COMMAND_UNMAP_MEM_OBJECT, wait)?;
    // CL_INVALID_CONTEXT if context associated with command_queue and memobj are not the same
    same_context(&queue, mem.context())?;
    // CL_INVALID_VALUE if mapped_ptr is not a valid pointer returned by clEnqueueMapBuffer or clEnqueueMapImage for memobj
    // (checked last, because it takes the mapping back)
    mem.maps().remove(pointer).ok_or(InvalidValue)?;

    command.keep(&mem).nothing(false, |_| ())
}

/// `clEnqueueMigrateMemObjects`
pub fn migrate(
    queue: Handle<Queue>,
    num_mem_objects: cl_uint,
    mem_objects: InArray<'_, Handle<Mem>>,
    flags: cl_mem_migration_flags,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if num_mem_objects is zero or if mem_objects is NULL
    ensure(num_mem_objects != 0 && !mem_objects.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if flags is not 0 or is not any of the values described in the table
    check_migration(flags)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut command = Submission::new(&queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, wait)?;
    for mem in mem_objects.iter(num_mem_objects as usize) {
        // CL_INVALID_MEM_OBJECT if any of the memory objects in mem_objects is not a valid memory object
        let mem = mem.get()?;
        // CL_INVALID_CONTEXT if the context associated with command_queue and memory objects in mem_objects are not the
        // same
        same_context(&queue, mem.context())?;
        command = command.keep(&mem);
    }

    command.nothing(false, |_| ())
}
