//! Execution statuses of commands, with OpenCL's numbers: positive while unfinished, 0 for success, negative for an error.

/// `CL_QUEUED`: submitted to its queue, but its dependencies are not satisfied.
pub const QUEUED: i32 = 3;
/// `CL_SUBMITTED`: the dependencies are satisfied and the command is in the pool. Also the first status of a user event.
pub const SUBMITTED: i32 = 2;
/// `CL_RUNNING`: a worker has started it.
pub const RUNNING: i32 = 1;
/// `CL_COMPLETE`: it has ended successfully.
pub const COMPLETE: i32 = 0;

/// `CL_OUT_OF_RESOURCES`: a launch ran out of memory, a kernel faulted, or a task panicked.
pub const OUT_OF_RESOURCES: i32 = -5;
/// `CL_CONTEXT_TERMINATED_KHR`: the context was terminated before the command had ended.
pub const CONTEXT_TERMINATED: i32 = -1121;
/// `CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST`: a command in the wait list ended with an error.
pub const WAIT_LIST_FAILED: i32 = -14;
