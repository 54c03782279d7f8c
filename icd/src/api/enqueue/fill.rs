//! Filling a buffer with a pattern.

use clift_include::cl::*;
use clift_runtime::graph::KeepAlive;

use super::{Submission, Wait, buffer_of, region, same_context};
use crate::error::ClError::{InvalidOperation, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::InBytes;
use crate::object::buffer::Mem;
use crate::object::operation::{self, Operation, Task};
use crate::object::queue::Queue;

/// Maximum size of a pattern: the largest type of OpenCL C.
const MAX_PATTERN: usize = 128;

/// `clEnqueueFillBuffer`
pub fn fill_buffer(
    queue: Handle<Queue>,
    buffer: Handle<Mem>,
    pattern: InBytes<'_>,
    pattern_size: usize,
    offset: usize,
    size: usize,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    let fill = checked_fill(&queue, buffer, (pattern, pattern_size), offset, size)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    Submission::new(&queue, CL_COMMAND_FILL_BUFFER, wait)?.operation(false, fill)
}

/// The rules for a fill, except those for wait lists.
pub fn checked_fill(
    queue: &Ref<Queue>,
    buffer: Handle<Mem>,
    (pattern, pattern_size): (InBytes<'_>, usize),
    offset: usize,
    size: usize,
) -> ClResult<Operation<impl Task + use<>>> {
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object
    let buffer = buffer_of(buffer)?;
    // CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
    same_context(queue, buffer.context())?;
    // CL_INVALID_VALUE if the region being filled specified by offset and size is out of bounds
    let target = region(&buffer, offset, size)?;
    // CL_INVALID_VALUE if pattern is NULL
    ensure(!pattern.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if pattern_size is zero, is not a power of two, or is greater than 128
    ensure(pattern_size.is_power_of_two() && pattern_size <= MAX_PATTERN, InvalidValue)?;
    // CL_INVALID_VALUE if offset or size is not a multiple of pattern_size
    ensure(offset.is_multiple_of(pattern_size) && size.is_multiple_of(pattern_size), InvalidValue)?;
    // CL_INVALID_OPERATION if buffer was created with CL_MEM_IMMUTABLE_EXT
    ensure(buffer.is_mutable(), InvalidOperation)?;

    let pattern = pattern.copy(pattern_size)?.ok_or(InvalidValue)?;
    Ok(operation::fill(target, pattern, KeepAlive::from_iter([buffer as _])))
}
