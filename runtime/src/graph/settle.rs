//! Status transitions: what happens when a command becomes ready, starts or ends.
//!
//! The end of a command may make other commands ready. Some of them (markers, failed ones) end at once, so there can be chains of
//! any length. They are processed as *steps* in a loop. A thread has only one such loop at a time, and callbacks called from it
//! append their steps to the same list, so the depth of the stack is bounded.
//!
//! Not here: calling callbacks ([`crate::pool`] does so, in order).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use super::node::{Completion, Dependant, Dependants, Dependency, DueCallbacks, Node, NodeKind, Timestamp};
use super::queue::Work;
use crate::launch::Launch;
use crate::sync::per_thread;
use crate::{pool, status, trace};

/// A command whose work has ended, or will not be done.
pub(crate) struct Ended {
    pub(crate) node: Arc<Node>,
    /// Its final status.
    pub(crate) status: i32,
    /// A finished launch, to be freed with the node.
    pub(crate) retired: Option<Box<Launch>>,
}

/// One pending step.
pub(super) enum SettleStep {
    /// All dependencies of the command are satisfied.
    Ready(Arc<Node>),
    /// Report the command's end.
    End(Ended),
    /// Process the completion of a command whose final status has been set.
    Completion(Completion, i32),
    /// Release these commands: a predecessor ended with this status.
    Release(Dependants, i32),
    /// Let the callbacks that are due be called.
    Callbacks,
}

/// A thread's pending steps.
#[derive(Default)]
struct Steps {
    list: RefCell<VecDeque<SettleStep>>,
    /// Whether the thread is inside the loop that empties the list.
    looping: Cell<bool>,
}

per_thread! {
    static STEPS: Rc<Steps> = Rc::default();
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is dropping the resources of a command whose end is not visible yet. Destructors must not call the
/// application then, which may wait for that command, or hold a lock while another thread waits for it: see
/// [`crate::pool::defer`].
pub fn is_ending_command() -> bool {
    ENDING.with(Cell::get)
}

/// The thread's steps; a new list on a thread that is being destroyed.
fn steps() -> Rc<Steps> {
    STEPS.try_with(Rc::clone).unwrap_or_default()
}

/// Executes `first` and all steps that result from it. Commands that become ready go to the pool, except one that `keep` accepts,
/// which is returned for the caller to run. Inside another loop of this thread the step is only appended to the list.
pub(super) fn run(first: SettleStep, keep: impl FnMut(&Node) -> bool) -> Option<Arc<Node>> {
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

/// Executes the pending steps of callbacks on this thread, before the thread blocks inside one.
pub(crate) fn drain_here() {
    let steps = steps();
    let mut round = Round { steps: &steps, kept: None, keep: |_: &Node| false };
    while let Some(step) = steps.pop() {
        round.take(step);
    }
}

impl Steps {
    fn push(&self, step: SettleStep) {
        self.list.borrow_mut().push_back(step);
    }

    fn pop(&self) -> Option<SettleStep> {
        self.list.borrow_mut().pop_front()
    }
}

/// One execution of the loop.
struct Round<'a, F> {
    steps: &'a Steps,
    kept: Option<Arc<Node>>,
    keep: F,
}

impl<F: FnMut(&Node) -> bool> Round<'_, F> {
    fn take(&mut self, step: SettleStep) {
        match step {
            SettleStep::Ready(node) => self.ready(node),
            SettleStep::End(Ended { node, .. }) if node.is_terminated() && node.is_ended() => drop(node),
            SettleStep::End(Ended { node, status, retired }) => {
                let status = if node.is_terminated() { status::CONTEXT_TERMINATED } else { status };
                // Resources are released first: when the command's end is visible, it holds nothing any more.
                ENDING.with(|ending| {
                    let outer = ending.replace(true);
                    drop_quietly(node.take_resources());
                    ending.set(outer);
                });
                node.record_end();
                node.report_times();
                node.trace_end(status);
                tracing::trace!(queue = node.position.queue, number = node.position.sequence, status, "ends");
                if status < status::COMPLETE
                    && let Some((reason, errors)) = node.report()
                {
                    pool::defer(move || errors(&reason));
                }
                if let Some(completion) = node.end(status, retired) {
                    if trace::is_enabled() {
                        node.trace_waiting(&completion.dependants);
                    }
                    self.take(SettleStep::Completion(completion, status));
                }
            }
            SettleStep::Completion(completion, status) => {
                for signal in completion.waiters {
                    signal.raise();
                }
                self.release(completion.dependants, status);
                if completion.has_callbacks {
                    self.steps.push(SettleStep::Callbacks);
                }
            }
            SettleStep::Release(dependants, status) => self.release(dependants, status),
            SettleStep::Callbacks => pool::call_due(),
        }
    }

    fn ready(&mut self, node: Arc<Node>) {
        if node.is_ended() {
            // By termination, before its predecessors.
            return;
        }
        if node.has_failed_predecessor() {
            self.steps.push(SettleStep::End(Ended { node, status: status::WAIT_LIST_FAILED, retired: None }));
            return;
        }
        node.record(Timestamp::Submit);
        call_back(&node, node.advance(status::SUBMITTED));
        if node.kind == NodeKind::Nothing {
            start(&node);
            self.steps.push(SettleStep::End(Ended { node, status: status::COMPLETE, retired: None }));
        } else if self.kept.is_none() && (self.keep)(&node) {
            self.kept = Some(node);
        } else {
            trace(&node, "ready");
            node.pool.get().push(node);
        }
    }

    fn release(&mut self, dependants: Dependants, status: i32) {
        for dependant in dependants {
            let (node, dependency) = match dependant {
                Dependant::Node(node, dependency) => (node, dependency),
                Dependant::Child(child) => {
                    child.predecessor_ended(status);
                    continue;
                }
            };
            match dependency {
                Dependency::Child => {
                    if let Some(status) = node.leave_family(status) {
                        self.steps.push(SettleStep::End(Ended { node, status, retired: None }));
                    }
                }
                Dependency::Gate => {
                    if let Some(completion) = node.end(status, None) {
                        self.steps.push(SettleStep::Completion(completion, status));
                    }
                }
                Dependency::Explicit | Dependency::Implicit => {
                    if node.predecessor_ended(dependency, status) {
                        self.steps.push(SettleStep::Ready(node));
                    }
                }
            }
        }
    }
}

/// Starts the command; returns its work.
pub(crate) fn start(node: &Node) -> Option<Work> {
    trace(node, "starts");
    node.record_start();
    node.trace_start();
    let (work, callbacks) = node.begin();
    call_back(node, callbacks);
    work
}

/// Makes callbacks of the command due.
fn call_back(node: &Node, callbacks: DueCallbacks) {
    if !callbacks.is_empty() {
        pool::call_back(node.callback_source(), callbacks);
    }
}

/// Ends a command. Returns a command to run next, see [`run`].
pub(crate) fn finish(ended: Ended, keep: impl FnMut(&Node) -> bool) -> Option<Arc<Node>> {
    run(SettleStep::End(ended), keep)
}

/// Ends the submission of a command, which becomes ready if its predecessors have ended.
pub(crate) fn submitted(node: Arc<Node>) {
    if node.release() {
        run(SettleStep::Ready(node), |_| false);
    }
}

/// Ends the own work of a command that may have children; `begin` lets those begin that waited for it. Returns the command if it
/// has no unfinished children.
pub(crate) fn end_work(node: &Arc<Node>, status: i32, begin: impl FnOnce()) -> Option<Ended> {
    node.end_work(status);
    begin();
    let status = node.leave_family(status)?;
    Some(Ended { node: node.clone(), status, retired: None })
}

/// Lets a child command begin that waited for work of its parent, which ended with this status.
pub(crate) fn begin_child(child: Arc<Node>, status: i32) {
    if child.predecessor_ended(Dependency::Explicit, status) {
        run(SettleStep::Ready(child), |_| false);
    }
}

fn trace(node: &Node, what: &str) {
    tracing::trace!(queue = node.position.queue, number = node.position.sequence, kind = ?node.kind, "{what}");
}

/// Drops a value whose destructor is foreign code.
fn drop_quietly<T>(value: T) {
    if catch_unwind(AssertUnwindSafe(move || drop(value))).is_err() {
        tracing::error!("a destructor panicked at the end of a command");
    }
}
