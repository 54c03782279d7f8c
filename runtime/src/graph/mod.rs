//! The command graph: queues put commands in, events say what became of them.
//!
//! A command waits by a counter of unfinished predecessors; no thread is parked for a queue. Two kinds of edge lead from a
//! command to a later one: *explicit* (the wait list; passes a failure on) and *implicit* (queue order, barriers; only
//! orders). When the counter falls to zero the command is ready: commands that do nothing end on the spot, others go to
//! the [`crate::pool`]. What a command's end sets off is worked through in a loop (`settle`), never by recursion, and
//! with no lock held while work, callbacks or destructors run. Callbacks on
//! events are called by a thread of their own, one after the other ([`crate::pool`]).
//!
//! - `node`: the state of a command or user event, and its edges;
//! - `event`: the handle others hold;
//! - `queue`: order between the commands of a queue;
//! - `settle`: from status to status, and on to the dependants.
//!
//! Not here: running anything (`pool`, [`crate::launch`]).

mod event;
mod node;
mod queue;
mod settle;
#[cfg(test)]
mod tests;

pub use event::{AlreadySet, Event, ProfilingTimes};
pub use queue::{Command, Keep, Queue, QueueOptions, Waits, Work};

pub(crate) use node::{DueCallbacks, Kind, Node, Origin};
pub(crate) use settle::{Ended, drain_here, finish, start};
