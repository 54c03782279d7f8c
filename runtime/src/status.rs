//! Execution statuses of commands, with OpenCL's numbers: positive while under way, 0 when done, negative for an error.

/// `CL_QUEUED`: in its queue, waiting for others.
pub const QUEUED: i32 = 3;
/// `CL_SUBMITTED`: nothing left to wait for, handed to the pool. Also the first status of a user event.
pub const SUBMITTED: i32 = 2;
/// `CL_RUNNING`: a worker has started it.
pub const RUNNING: i32 = 1;
/// `CL_COMPLETE`: done.
pub const COMPLETE: i32 = 0;

/// `CL_OUT_OF_RESOURCES`: a launch could not get its memory, a kernel faulted, or a task panicked.
pub const OUT_OF_RESOURCES: i32 = -5;
/// `CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST`: a command in the wait list ended with an error.
pub const WAIT_LIST_FAILED: i32 = -14;
