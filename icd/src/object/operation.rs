//! A copy or fill: what `clEnqueueCopyBuffer` and its kin submit, and what command buffers record.

use std::sync::Arc;

use clift_runtime::graph::{KeepAlive, TaskError, Work};
use clift_runtime::launch::LargeTransfer;
use clift_runtime::memory::{MemSlice, MemoryError, RectCopy, RectLayout};

/// A copy or fill whose arguments have been checked. It can be executed any number of times.
pub struct Operation<F = RecordedTask> {
    /// Executes it.
    pub task: F,
    /// The memory objects that must stay alive.
    pub keep: KeepAlive,
    /// The same, to be executed by several threads, if that is worth it.
    large: Option<Arc<LargeTransfer>>,
}

/// The function of a recorded operation.
pub type RecordedTask = Box<dyn Fn() -> Result<(), TaskError> + Send + Sync>;

/// The function of an operation.
pub trait Task: Fn() -> Result<(), TaskError> + Send + Sync + 'static {}
impl<F: Fn() -> Result<(), TaskError> + Send + Sync + 'static> Task for F {}

/// A copy of bytes that are contiguous on both sides.
pub fn copy(target: MemSlice, source: MemSlice, keep: KeepAlive) -> Operation<impl Task> {
    let large = LargeTransfer::copy(&target, &source);
    Operation { task: move || checked_before(target.copy_from(&source)), keep, large }
}

/// A copy of a rectangle.
pub fn copy_rect(target: MemSlice, source: MemSlice, rect: RectCopy, keep: KeepAlive) -> Operation<impl Task> {
    let large = LargeTransfer::copy_rect(&target, &source, &rect);
    Operation { task: move || checked_before(target.copy_rect_from(&source, &rect)), keep, large }
}

/// A fill of contiguous bytes.
pub fn fill(target: MemSlice, pattern: Vec<u8>, keep: KeepAlive) -> Operation<impl Task> {
    let large = LargeTransfer::fill(&target, &pattern);
    Operation { task: move || checked_before(target.fill(&pattern)), keep, large }
}

/// A fill of a region whose rows are multiples of the pattern.
pub fn fill_rect(
    target: MemSlice,
    pattern: Vec<u8>,
    (place, region): (RectLayout, [usize; 3]),
    keep: KeepAlive,
) -> Operation<impl Task> {
    let large = LargeTransfer::fill_rect(&target, &pattern, &place, region);
    Operation { task: move || checked_before(target.fill_rect(&pattern, &place, region)), keep, large }
}

impl<F: Task> Operation<F> {
    /// The work of a command, and what it keeps alive.
    pub fn into_work(self) -> (Work, KeepAlive) {
        let Self { task, keep, large } = self;
        match large {
            Some(large) => of_several_threads(large, keep),
            None => (Work::Task(Box::new(task)), keep),
        }
    }

    /// The form that command buffers store.
    pub fn recorded(self) -> Operation {
        Operation { task: Box::new(self.task), keep: self.keep, large: self.large }
    }
}

impl Operation {
    /// The work of a recorded command, and what it keeps alive.
    pub fn work(self: &Arc<Self>) -> (Work, KeepAlive) {
        let (operation, keep) = (self.clone(), self.keep.clone());
        match &self.large {
            Some(large) => of_several_threads(large.clone(), keep),
            None => (Work::Task(Box::new(move || (operation.task)())), keep),
        }
    }
}

/// The work of a transfer that several threads execute, and what it keeps alive.
fn of_several_threads(large: Arc<LargeTransfer>, mut keep: KeepAlive) -> (Work, KeepAlive) {
    let launch = large.launch();
    keep.push(large);
    (Work::Launch(launch), keep)
}

/// Result of a task on memory whose bounds were checked when it was enqueued. The application's memory may be inaccessible.
fn checked_before(result: Result<(), MemoryError>) -> Result<(), TaskError> {
    let within = result != Err(MemoryError::OutOfBounds);
    debug_assert!(within, "broken invariant: the bounds of a command were checked when it was enqueued");
    Ok(result?)
}
