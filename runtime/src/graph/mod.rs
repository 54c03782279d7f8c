//! The command graph: commands are submitted to queues, and events report their status.
//!
//! Each command has a counter of unfinished predecessors; no thread blocks on behalf of a queue. There are two kinds of
//! dependencies: *explicit* ones (the wait list), which propagate failures, and *implicit* ones (queue order, barriers), which
//! only order commands. When the counter reaches zero the command is ready: a command without work ends at once, others go to
//! the [`crate::pool`]. The consequences of a command's end are processed in a loop (`settle`) without recursion, and no lock is
//! held while work, callbacks or destructors run. A dedicated thread calls the callbacks on events, one after the other
//! ([`crate::pool`]).
//!
//! - `node`: the state of a command or user event, and its dependencies;
//! - `event`: the public handle;
//! - `queue`: order between the commands of a queue;
//! - `settle`: status transitions and their effect on dependants;
//! - `termination`: ending all commands of a context.
//!
//! Not here: execution (`pool`, [`crate::launch`]).

mod event;
#[cfg(all(test, feature = "loom"))]
mod models;
mod node;
mod queue;
mod settle;
mod termination;
#[cfg(test)]
mod tests;

pub use event::{AlreadySet, Event, ProfilingTimes};
pub use queue::{Command, ErrorSink, KeepAlive, Queue, QueueOptions, TaskError, WaitList, Work};

pub(crate) use node::{Dependency, DueCallbacks, Node, NodeKind, QueuePosition, TIMES, Timestamp};
pub use settle::is_ending_command;
pub(crate) use settle::{Ended, begin_child, drain_here, end_work, finish, start, submitted};
pub use termination::Termination;
