//! Queues: the order between commands.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::event::Event;
use super::node::{Dependency, Node, QueuePosition};
use super::settle;
use super::termination::Termination;
use crate::launch::Launch;
use crate::memory::MemoryError;
use crate::pool::{self, CallbackSource, PoolHandle};
use crate::sync::{Mutex, MutexGuard};
use crate::trace::Traced;

/// The work of a command.
pub enum Work {
    /// A kernel launch, on as many threads as it needs.
    Launch(Box<Launch>),
    /// A function, on one thread. A panic counts as [`crate::status::OUT_OF_RESOURCES`].
    Task(Box<dyn FnOnce() -> Result<(), TaskError> + Send>),
    /// No work. With an empty wait list it waits for all earlier commands of the queue.
    Marker,
    /// No work. In addition to [`Work::Marker`], all later commands of the queue wait for it.
    Barrier,
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    /// The command's final status, which is negative.
    pub status: i32,
    /// The reason, if it is to be reported.
    pub reason: Option<String>,
}

impl From<i32> for TaskError {
    fn from(status: i32) -> Self {
        Self { status, reason: None }
    }
}

impl From<MemoryError> for TaskError {
    fn from(error: MemoryError) -> Self {
        Self { status: crate::status::OUT_OF_RESOURCES, reason: Some(error.to_string()) }
    }
}

/// Receives the reasons for which tasks of a queue failed. Called by the thread that calls callbacks.
pub type ErrorSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A wait list.
pub type WaitList = SmallVec<[Event; 2]>;

/// The resources that a command keeps alive until it ends.
pub type KeepAlive = SmallVec<[Arc<dyn Any + Send + Sync>; 4]>;

/// A command to be submitted.
pub struct Command {
    /// What a trace calls it, unless it is a launch, which has the name of its kernel.
    pub name: &'static str,
    /// Its work.
    pub work: Work,
    /// The commands and user events it waits for, of any queue. If one of them fails, it ends with
    /// [`crate::status::WAIT_LIST_FAILED`] without having run.
    pub waits: WaitList,
    /// Resources kept alive while the command may run. They are dropped after its work and *before* its end is reported, on any
    /// thread, with no lock held ([`super::is_ending_command`]).
    pub keep: KeepAlive,
    /// Commands that execute as a part of this one, which waits for them: it is queued, submitted and started with the first of
    /// them.
    pub parts: WaitList,
}

impl Work {
    /// Its kind.
    fn kind(&self) -> &'static str {
        match self {
            Work::Launch(_) => "launch",
            Work::Task(_) => "task",
            Work::Marker => "marker",
            Work::Barrier => "barrier",
        }
    }

    /// What a trace calls a command with this work: the name of the kernel, or `name`.
    pub(crate) fn traced_name<'a>(&'a self, name: &'a str) -> &'a str {
        match self {
            Work::Launch(launch) => launch.info.as_ref().map_or(name, |info| info.kernel()),
            Work::Task(_) | Work::Marker | Work::Barrier => name,
        }
    }
}

impl Command {
    /// A command without a wait list that keeps nothing alive.
    pub fn new(work: Work) -> Self {
        Self { name: work.kind(), work, waits: WaitList::new(), keep: KeepAlive::new(), parts: WaitList::new() }
    }

    /// Adds events to the wait list.
    pub fn after(mut self, waits: impl IntoIterator<Item = Event>) -> Self {
        self.waits.extend(waits);
        self
    }

    /// Keeps `thing` alive until the command has ended.
    pub fn keeping(mut self, thing: Arc<dyn Any + Send + Sync>) -> Self {
        self.keep.push(thing);
        self
    }
}

/// The properties of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueOptions {
    /// Commands are ordered by wait lists and barriers only.
    pub out_of_order: bool,
    /// Events record profiling times.
    pub profiling: bool,
    /// The pool that executes the commands.
    pub pool: PoolHandle,
}

/// A command queue. Dropping it does not affect its commands.
pub struct Queue {
    id: u64,
    options: QueueOptions,
    errors: Option<ErrorSink>,
    termination: Option<Arc<Termination>>,
    state: ProcessOrder,
}

/// A queue's state in one process. A child made by `fork` starts with a new one: it does not execute the parent's commands, and
/// a thread that does not exist in the child may have held the parent's lock.
struct ProcessOrder {
    epoch: u32,
    order: Mutex<Order>,
    in_child: OnceLock<Box<ProcessOrder>>,
}

impl ProcessOrder {
    fn new() -> Self {
        Self { epoch: pool::epoch(), order: Mutex::default(), in_child: OnceLock::new() }
    }
}

/// The commands that later ones may have to wait for.
#[derive(Default)]
struct Order {
    sequence: u64,
    /// In-order: the latest commands, with ended ones at the front. The submitting thread frees them, because freeing memory on
    /// another thread than the allocating one makes both contend for the allocator's lock.
    recent: VecDeque<Arc<Node>>,
    /// Out-of-order: the latest barrier.
    barrier: Option<Arc<Node>>,
    /// Out-of-order: the latest command that waits for all earlier ones, and all commands since then, as far as they may not have
    /// ended.
    open: Vec<Arc<Node>>,
    /// Length of `open` at which ended commands are removed.
    prune_at: usize,
}

/// Number of ended commands that a submission frees: more than one, so that their number decreases.
const FREED_AT_ONCE: usize = 4;

/// Smallest length of `open` at which ended commands are removed.
const PRUNE_AT_LEAST: usize = 64;

impl Queue {
    /// Creates a queue. The first queue of a pool starts the pool's workers, which leave some time after the last one.
    pub fn new(options: QueueOptions) -> Self {
        Self::reporting(options, None)
    }

    /// As [`Queue::new`]; `errors` receives the reasons for which tasks fail.
    pub fn reporting(options: QueueOptions, errors: Option<ErrorSink>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        options.pool.add_queue();
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            options,
            errors,
            termination: None,
            state: ProcessOrder::new(),
        }
    }

    /// Makes its commands end when the context is terminated.
    pub fn with_termination(mut self, termination: Option<Arc<Termination>>) -> Self {
        self.termination = termination;
        self
    }

    /// Its properties.
    pub fn options(&self) -> QueueOptions {
        self.options
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        let mut state = &self.state;
        while state.epoch != pool::epoch() {
            state = state.in_child.get_or_init(|| Box::new(ProcessOrder::new()));
        }
        state.order.lock()
    }

    /// Submits a command and returns at once. The command starts without a [`Queue::flush`].
    pub fn submit(&self, command: Command) -> Event {
        let Command { name, work, waits, keep, parts } = command;
        let traced = Traced::new(name, &work, &keep);
        if let Some(traced) = &traced {
            traced.submitted();
        }
        let mut order = self.lock();
        order.sequence += 1;
        let position = QueuePosition { queue: self.id, sequence: order.sequence, in_order: !self.options.out_of_order };
        let everything = waits.is_empty() && matches!(work, Work::Marker | Work::Barrier);
        let is_barrier = matches!(work, Work::Barrier);
        // Launches of kernels report their errors themselves.
        let reports = match &work {
            Work::Task(_) => true,
            Work::Launch(launch) => launch.info.is_none(),
            Work::Marker | Work::Barrier => false,
        };
        let errors = if reports { self.errors.clone() } else { None };
        let node = Node::command(position, self.options.pool, self.options.profiling, work, keep, errors, traced);
        let node = Arc::new(node.with_termination(self.termination.clone()).with_parts(parts));
        if self.options.out_of_order {
            order.link_out_of_order(&node, everything, is_barrier);
        } else {
            order.link_in_order(&node);
        }
        let ended = order.take_ended();
        drop(order);
        drop(ended);
        for event in &waits {
            event.0.precede(&node, Dependency::Explicit);
        }
        drop(waits);
        if let Some(termination) = &self.termination {
            termination.add(&node);
        }
        settle::submitted(node.clone());
        Event(node)
    }

    /// Does nothing: submitted commands start without it.
    pub fn flush(&self) {}

    /// Waits until all commands submitted so far have ended. The calling thread helps, as in [`Event::wait`].
    pub fn finish(&self) {
        let last = if self.options.out_of_order {
            Some(self.submit(Command::new(Work::Marker)).0)
        } else {
            self.lock().recent.back().cloned()
        };
        if let Some(last) = last {
            pool::wait_for_queue(&last);
        }
        // They are freed without the lock.
        while {
            let ended = self.lock().take_ended();
            !ended.is_empty()
        } {}
    }
}

impl Drop for Queue {
    /// Its commands go on. Callbacks that are due should have been called: the application may be about to free what they use.
    fn drop(&mut self) {
        pool::leave_callbacks(CallbackSource::Queue(self.id), !settle::is_ending_command());
        self.options.pool.remove_queue();
    }
}

impl Order {
    /// Makes a command wait for the one before it.
    fn link_in_order(&mut self, node: &Arc<Node>) {
        if let Some(last) = self.recent.back() {
            last.precede(node, Dependency::Implicit);
        }
        self.recent.push_back(node.clone());
    }

    /// Removes a few ended commands from the list, to be dropped without the lock.
    fn take_ended(&mut self) -> SmallVec<[Arc<Node>; FREED_AT_ONCE]> {
        let mut ended = SmallVec::new();
        while ended.len() < FREED_AT_ONCE
            && let Some(node) = self.recent.pop_front_if(|node| node.is_ended())
        {
            ended.push(node);
        }
        ended
    }

    /// Makes a command wait for the latest barrier, and with `everything` for all earlier commands.
    fn link_out_of_order(&mut self, node: &Arc<Node>, everything: bool, is_barrier: bool) {
        if everything {
            for earlier in &self.open {
                earlier.precede(node, Dependency::Implicit);
            }
        }
        if let Some(barrier) = &self.barrier {
            barrier.precede(node, Dependency::Implicit);
        }
        if is_barrier {
            self.barrier = Some(node.clone());
        }
        if everything {
            // Who waits for this command waits for all of them.
            self.open.clear();
        }
        if self.open.len() >= self.prune_at {
            self.open.retain(|earlier| !earlier.is_ended());
            self.prune_at = (2 * self.open.len()).max(PRUNE_AT_LEAST);
        }
        self.open.push(node.clone());
    }
}
