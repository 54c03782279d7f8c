//! A copy or fill: what `clEnqueueCopyBuffer` and its kin submit, and what command buffers record.

use clift_runtime::graph::{KeepAlive, TaskError};
use clift_runtime::memory::{MemSlice, MemoryError, RectCopy};

/// A copy or fill whose arguments have been checked. It can be executed any number of times.
pub struct Operation<F = RecordedTask> {
    /// Executes it.
    pub task: F,
    /// The memory objects that must stay alive.
    pub keep: KeepAlive,
}

/// The function of a recorded operation.
pub type RecordedTask = Box<dyn Fn() -> Result<(), TaskError> + Send + Sync>;

/// The function of an operation.
pub trait Task: Fn() -> Result<(), TaskError> + Send + Sync + 'static {}
impl<F: Fn() -> Result<(), TaskError> + Send + Sync + 'static> Task for F {}

/// A copy of bytes that are contiguous on both sides.
pub fn copy(target: MemSlice, source: MemSlice, keep: KeepAlive) -> Operation<impl Task> {
    Operation { task: move || checked_before(target.copy_from(&source)), keep }
}

/// A copy of a rectangle.
pub fn copy_rect(target: MemSlice, source: MemSlice, rect: RectCopy, keep: KeepAlive) -> Operation<impl Task> {
    Operation { task: move || checked_before(target.copy_rect_from(&source, &rect)), keep }
}

/// A fill of contiguous bytes.
pub fn fill(target: MemSlice, pattern: Vec<u8>, keep: KeepAlive) -> Operation<impl Task> {
    Operation { task: move || checked_before(target.fill(&pattern)), keep }
}

impl<F: Task> Operation<F> {
    /// The form that command buffers store.
    pub fn recorded(self) -> Operation {
        Operation { task: Box::new(self.task), keep: self.keep }
    }
}

/// Result of a task on memory whose bounds were checked when it was enqueued. The application's memory may be inaccessible.
pub fn checked_before(result: Result<(), MemoryError>) -> Result<(), TaskError> {
    let within = result != Err(MemoryError::OutOfBounds);
    debug_assert!(within, "broken invariant: the bounds of a command were checked when it was enqueued");
    Ok(result?)
}
