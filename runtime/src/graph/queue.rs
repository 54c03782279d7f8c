//! Queues: the order between commands.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use super::event::Event;
use super::node::{Edge, Node, Origin};
use super::settle;
use crate::launch::Launch;
use crate::pool::{self, Crew};

/// What a command does.
pub enum Work {
    /// A kernel, on as many threads as it is worth.
    Launch(Box<Launch>),
    /// A function, on one thread. `Err` carries the (negative) status the command ends with; a panic counts as
    /// [`crate::status::OUT_OF_RESOURCES`].
    Task(Box<dyn FnOnce() -> Result<(), i32> + Send>),
    /// Nothing. With an empty wait list it waits for everything earlier in the queue.
    Marker,
    /// Nothing; as [`Work::Marker`], and everything later in the queue waits for it.
    Barrier,
}

/// A wait list.
pub type Waits = SmallVec<[Event; 2]>;

/// What has to live until a command has ended.
pub type Keep = SmallVec<[Arc<dyn Any + Send + Sync>; 4]>;

/// A command to be submitted.
pub struct Command {
    /// What it does.
    pub work: Work,
    /// The commands and user events it waits for, of any queue. If one of them fails, it ends with
    /// [`crate::status::WAIT_LIST_FAILED`] without having run.
    pub waits: Waits,
    /// Kept alive while the command may run: dropped after its work, *before* its end is reported, on any thread, with no
    /// lock held.
    pub keep: Keep,
}

impl Command {
    /// A command that waits for nothing but its queue's order and keeps nothing alive.
    pub fn new(work: Work) -> Self {
        Self { work, waits: Waits::new(), keep: Keep::new() }
    }

    /// With this wait list.
    pub fn after(mut self, waits: impl IntoIterator<Item = Event>) -> Self {
        self.waits.extend(waits);
        self
    }

    /// Keeping `thing` alive until it has ended.
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
    /// Events record their times.
    pub profiling: bool,
    /// Who runs the commands.
    pub crew: Crew,
}

/// A command queue. Dropping it lets its commands go on.
pub struct Queue {
    id: u64,
    options: QueueOptions,
    book: Book,
}

/// A queue's order in one process. A child made by `fork` begins a new one: the parent's commands are no business of the
/// child's, and the parent's lock may have been held by a thread the child does not have.
struct Book {
    epoch: u32,
    order: Mutex<Order>,
    in_child: OnceLock<Box<Book>>,
}

impl Book {
    fn new() -> Self {
        Self { epoch: pool::epoch(), order: Mutex::default(), in_child: OnceLock::new() }
    }
}

/// What later commands may have to wait for.
#[derive(Default)]
struct Order {
    sequence: u64,
    /// In-order: the latest commands, ended ones at the front. The thread that submits frees them: memory that is
    /// allocated by one thread and freed by another costs both the allocator's lock.
    recent: VecDeque<Arc<Node>>,
    /// Out-of-order: the latest barrier.
    barrier: Option<Arc<Node>>,
    /// Out-of-order: commands that may not have ended, without gaps since the latest full barrier.
    open: Vec<Arc<Node>>,
    /// Length of `open` at which ended commands are taken out.
    prune_at: usize,
}

/// Ended commands a submission frees: more than one, so that their number falls.
const FREED_AT_ONCE: usize = 4;

/// Least number of remembered commands before ended ones are taken out.
const PRUNE_AT_LEAST: usize = 64;

impl Queue {
    /// A queue; the first one of a crew starts its workers.
    pub fn new(options: QueueOptions) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        options.crew.pool().start();
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), options, book: Book::new() }
    }

    /// Its properties.
    pub fn options(&self) -> QueueOptions {
        self.options
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        let mut book = &self.book;
        while book.epoch != pool::epoch() {
            book = book.in_child.get_or_init(|| Box::new(Book::new()));
        }
        book.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a command in and returns at once. The command needs no [`Queue::flush`] to get going.
    pub fn submit(&self, command: Command) -> Event {
        let mut order = self.lock();
        order.sequence += 1;
        let origin = Origin { queue: self.id, sequence: order.sequence, in_order: !self.options.out_of_order };
        let everything = command.waits.is_empty() && matches!(command.work, Work::Marker | Work::Barrier);
        let is_barrier = matches!(command.work, Work::Barrier);
        let node =
            Arc::new(Node::command(origin, self.options.crew, self.options.profiling, command.work, command.keep));
        if self.options.out_of_order {
            order.link_out_of_order(&node, everything, is_barrier);
        } else {
            order.link_in_order(&node);
        }
        let ended = order.take_ended();
        drop(order);
        drop(ended);
        for event in &command.waits {
            event.0.precede(&node, Edge::Explicit);
        }
        drop(command.waits);
        settle::submitted(node.clone());
        Event(node)
    }

    /// Sees to it that everything submitted gets going (which it does anyway).
    pub fn flush(&self) {}

    /// Waits until everything submitted so far has ended. The calling thread helps, as in [`Event::wait`].
    pub fn finish(&self) {
        let last = if self.options.out_of_order {
            Some(self.submit(Command::new(Work::Marker)).0)
        } else {
            self.lock().recent.back().cloned()
        };
        if let Some(last) = last {
            pool::wait_for_queue(&last);
        }
        // Freed without the lock.
        while {
            let ended = self.lock().take_ended();
            !ended.is_empty()
        } {}
    }
}

impl Order {
    fn link_in_order(&mut self, node: &Arc<Node>) {
        if let Some(last) = self.recent.back() {
            last.precede(node, Edge::Implicit);
        }
        self.recent.push_back(node.clone());
    }

    /// Takes a few ended commands out of the list, to be dropped without the lock.
    fn take_ended(&mut self) -> SmallVec<[Arc<Node>; FREED_AT_ONCE]> {
        let mut ended = SmallVec::new();
        while ended.len() < FREED_AT_ONCE
            && let Some(node) = self.recent.pop_front_if(|node| node.is_ended())
        {
            ended.push(node);
        }
        ended
    }

    fn link_out_of_order(&mut self, node: &Arc<Node>, everything: bool, is_barrier: bool) {
        if everything {
            for earlier in &self.open {
                earlier.precede(node, Edge::Implicit);
            }
        }
        if let Some(barrier) = &self.barrier {
            barrier.precede(node, Edge::Implicit);
        }
        if is_barrier {
            self.barrier = Some(node.clone());
            if everything {
                self.open.clear();
            }
        }
        if self.open.len() >= self.prune_at {
            self.open.retain(|earlier| !earlier.is_ended());
            self.prune_at = (2 * self.open.len()).max(PRUNE_AT_LEAST);
        }
        self.open.push(node.clone());
    }
}
