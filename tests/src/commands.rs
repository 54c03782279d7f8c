//! Commands on buffers for tests that share a buffer between threads: the binding crate requires exclusive access to the target.

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use opencl3::memory::ClMem;
use opencl3::types::{cl_event, cl_int};

/// `clEnqueueFillBuffer` with a pattern of whole words.
///
/// # Errors
/// The call's error code.
pub fn fill(
    queue: &CommandQueue,
    buffer: &impl ClMem,
    pattern: &[cl_int],
    offset: usize,
    bytes: usize,
    after: &[cl_event],
) -> Result<Event, cl_int> {
    // SAFETY: the pattern is copied before the call returns; the rest are numbers and handles that the call checks.
    unsafe {
        cl3::command_queue::enqueue_fill_buffer(
            queue.get(),
            buffer.get(),
            pattern.as_ptr().cast(),
            size_of_val(pattern),
            offset,
            bytes,
            after.len() as u32,
            list(after),
        )
    }
    .map(Event::new)
}

/// `clEnqueueCopyBuffer`.
///
/// # Errors
/// The call's error code.
pub fn copy(
    queue: &CommandQueue,
    (from, from_offset): (&impl ClMem, usize),
    (to, to_offset): (&impl ClMem, usize),
    bytes: usize,
    after: &[cl_event],
) -> Result<Event, cl_int> {
    // SAFETY: numbers and handles that the call checks.
    unsafe {
        cl3::command_queue::enqueue_copy_buffer(
            queue.get(),
            from.get(),
            to.get(),
            from_offset,
            to_offset,
            bytes,
            after.len() as u32,
            list(after),
        )
    }
    .map(Event::new)
}

/// The wait list in C form: NULL when it is empty.
pub fn list(events: &[cl_event]) -> *const cl_event {
    if events.is_empty() { std::ptr::null() } else { events.as_ptr() }
}
