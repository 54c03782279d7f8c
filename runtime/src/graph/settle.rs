//! From status to status: what happens when a command becomes ready, starts or ends.
//!
//! The end of a command may make others ready, some of which (markers, failed ones) end at once, and so on: chains of any
//! length. They are worked off as *steps* in a loop. A thread has one such loop at a time: whatever a callback inside it
//! sets off is appended to it, so stacks stay flat whatever applications nest.
//!
//! Not here: calling callbacks ([`crate::pool`] does, in order).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use super::node::{Aftermath, DueCallbacks, Edge, Kind, Node, Time};
use super::queue::Work;
use crate::launch::Launch;
use crate::{pool, status};

/// A command whose work is done (or will not be done).
pub(crate) struct Ended {
    pub(crate) node: Arc<Node>,
    /// Its final status.
    pub(crate) status: i32,
    /// What is left of the launch, to be freed with the node.
    pub(crate) spent: Option<Box<Launch>>,
}

/// One thing left to do.
pub(super) enum Step {
    /// Nothing holds the command back any more.
    Ready(Arc<Node>),
    /// Report it.
    End(Ended),
    /// A final status was set.
    Aftermath(Aftermath, i32),
    /// Predecessors of these ended with the status.
    Release(SmallVec<[(Arc<Node>, Edge); 2]>, i32),
    /// Call these.
    Callbacks(DueCallbacks),
}

/// A thread's steps.
#[derive(Default)]
struct Steps {
    list: RefCell<VecDeque<Step>>,
    /// Whether the thread is in the loop that empties the list.
    looping: Cell<bool>,
}

thread_local! {
    static STEPS: Rc<Steps> = Rc::default();
}

/// The thread's steps; on a thread that is ending, fresh ones.
fn steps() -> Rc<Steps> {
    STEPS.try_with(Rc::clone).unwrap_or_default()
}

/// Does `first` and all that follows from it. Commands that have become ready go to the pool, except one that `keep`
/// accepts: that is returned, to be run by the caller. Inside another loop of this thread the step is only noted.
pub(super) fn run(first: Step, keep: impl FnMut(&Node) -> bool) -> Option<Arc<Node>> {
    let steps = steps();
    if steps.looping.replace(true) {
        steps.push(first);
        return None;
    }
    let mut round = Round { steps: &steps, kept: None, keep };
    let mut next = Some(first);
    while let Some(step) = next {
        round.take(step);
        next = steps.pop();
    }
    steps.looping.set(false);
    round.kept
}

/// Does what callbacks on this thread have left to be done, before the thread blocks inside one.
pub(crate) fn drain_here() {
    let steps = steps();
    let mut round = Round { steps: &steps, kept: None, keep: |_: &Node| false };
    while let Some(step) = steps.pop() {
        round.take(step);
    }
}

impl Steps {
    fn push(&self, step: Step) {
        self.list.borrow_mut().push_back(step);
    }

    fn pop(&self) -> Option<Step> {
        self.list.borrow_mut().pop_front()
    }
}

/// One run of the loop.
struct Round<'a, F> {
    steps: &'a Steps,
    kept: Option<Arc<Node>>,
    keep: F,
}

impl<F: FnMut(&Node) -> bool> Round<'_, F> {
    fn take(&mut self, step: Step) {
        match step {
            Step::Ready(node) => self.ready(node),
            Step::End(Ended { node, status, spent }) => {
                // What the command kept alive goes first: when its end is known, it holds nothing any more.
                drop_quietly(node.take_belongings());
                node.record(Time::End);
                tracing::trace!(queue = node.origin.queue, number = node.origin.sequence, status, "ends");
                if let Some(aftermath) = node.end(status, spent) {
                    self.take(Step::Aftermath(aftermath, status));
                }
            }
            Step::Aftermath(aftermath, status) => {
                for signal in aftermath.waiters {
                    signal.raise();
                }
                self.release(aftermath.dependants, status);
                if !aftermath.callbacks.is_empty() {
                    self.steps.push(Step::Callbacks(aftermath.callbacks));
                }
            }
            Step::Release(dependants, status) => self.release(dependants, status),
            Step::Callbacks(callbacks) => self.call_all(callbacks),
        }
    }

    fn ready(&mut self, node: Arc<Node>) {
        if node.is_doomed() {
            self.steps.push(Step::End(Ended { node, status: status::WAIT_LIST_FAILED, spent: None }));
            return;
        }
        node.record(Time::Submit);
        self.call_all(node.advance(status::SUBMITTED));
        if node.kind == Kind::Nothing {
            start(&node);
            self.steps.push(Step::End(Ended { node, status: status::COMPLETE, spent: None }));
        } else if self.kept.is_none() && (self.keep)(&node) {
            self.kept = Some(node);
        } else {
            trace(&node, "ready");
            node.crew.pool().push(node);
        }
    }

    fn release(&mut self, dependants: SmallVec<[(Arc<Node>, Edge); 2]>, status: i32) {
        for (node, edge) in dependants {
            if node.predecessor_ended(edge, status) {
                self.steps.push(Step::Ready(node));
            }
        }
    }

    fn call_all(&mut self, callbacks: DueCallbacks) {
        if callbacks.is_empty() {
            return;
        }
        pool::call_back(callbacks);
    }
}

/// The command begins to run: its work.
pub(crate) fn start(node: &Node) -> Option<Work> {
    trace(node, "starts");
    node.record(Time::Start);
    let (work, callbacks) = node.begin();
    if !callbacks.is_empty() {
        pool::call_back(callbacks);
    }
    work
}

/// A command's work has ended. Returns a command to run next, see [`run`].
pub(crate) fn finish(ended: Ended, keep: impl FnMut(&Node) -> bool) -> Option<Arc<Node>> {
    run(Step::End(ended), keep)
}

/// A command has been put into its queue: done with, as far as its predecessors allow.
pub(super) fn submitted(node: Arc<Node>) {
    if node.release() {
        run(Step::Ready(node), |_| false);
    }
}

fn trace(node: &Node, what: &str) {
    tracing::trace!(queue = node.origin.queue, number = node.origin.sequence, kind = ?node.kind, "{what}");
}

/// Drops something whose destructors are not ours.
fn drop_quietly<T>(value: T) {
    if catch_unwind(AssertUnwindSafe(move || drop(value))).is_err() {
        tracing::error!("a destructor panicked at the end of a command");
    }
}
