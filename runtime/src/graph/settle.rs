//! From status to status: what happens when a command becomes ready, starts or ends.
//!
//! The end of a command may make others ready, some of which (markers, failed ones) end at once, and so on: chains of any
//! length. They are worked off as *steps* in a loop. A thread has one such loop at a time: whatever a callback inside it
//! sets off is appended to it, so stacks stay flat whatever applications nest.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use super::node::{Aftermath, DueCallbacks, Edge, Node, StatusCallback, Time};
use super::queue::Work;
use crate::{pool, status};

/// One thing left to do.
pub(super) enum Step {
    /// Nothing holds the command back any more.
    Ready(Arc<Node>),
    /// The command's work is done (or will not be done): report it.
    End(Arc<Node>, i32),
    /// A final status was set.
    Aftermath { aftermath: Aftermath, status: i32 },
    /// Predecessors of these ended.
    Release { dependants: SmallVec<[(Arc<Node>, Edge); 2]>, status: i32 },
    /// Call these.
    Callbacks(DueCallbacks),
}

thread_local! {
    /// The steps of the thread's loop, while one runs.
    static STEPS: RefCell<Option<VecDeque<Step>>> = const { RefCell::new(None) };
}

/// Does `first` and all that follows from it. Commands that have become ready go to the pool, except one that `keep`
/// accepts: that is returned, to be run by the caller. Inside another loop of this thread the step is only noted.
pub(super) fn run(first: Step, keep: impl Fn(&Node) -> bool) -> Option<Arc<Node>> {
    let mut first = Some(first);
    let nested = STEPS.try_with(|steps| match steps.borrow_mut().as_mut() {
        Some(steps) => {
            steps.extend(first.take());
            true
        }
        None => false,
    });
    if nested == Ok(true) {
        return None;
    }
    let mut kept = None;
    // Steps made by the loop itself are kept here; the thread's list receives those from callbacks inside it.
    let mut steps: VecDeque<Step> = VecDeque::new();
    let mut next = first;
    while let Some(step) = next {
        let foreign = step.runs_foreign_code();
        if foreign {
            // Foreign code may take long: nothing runnable is held back meanwhile.
            if let Some(node) = kept.take() {
                pool::push(node);
            }
            let _ = STEPS.try_with(|list| list.replace(Some(VecDeque::new())));
        }
        take(step, &mut steps, &mut kept, &keep);
        if foreign && let Ok(Some(more)) = STEPS.try_with(|list| list.replace(None)) {
            steps.extend(more);
        }
        next = steps.pop_front();
    }
    kept
}

impl Step {
    /// Whether callbacks or destructors may run in it.
    fn runs_foreign_code(&self) -> bool {
        match self {
            Step::Ready(_) | Step::End(..) | Step::Callbacks(_) => true,
            Step::Aftermath { .. } | Step::Release { .. } => false,
        }
    }
}

fn take(step: Step, steps: &mut VecDeque<Step>, kept: &mut Option<Arc<Node>>, keep: &impl Fn(&Node) -> bool) {
    match step {
        Step::Ready(node) => {
            if node.is_doomed() {
                steps.push_back(Step::End(node, status::WAIT_LIST_FAILED));
                return;
            }
            node.record(Time::Submit);
            call_all(node.advance(status::SUBMITTED));
            let idle = node.peek_work(|work| match work {
                Work::Marker | Work::Barrier => true,
                Work::Launch(launch) => launch.nd.total_groups() == 0,
                Work::Task(_) => false,
            });
            if idle == Some(false) {
                if kept.is_none() && keep(&node) {
                    *kept = Some(node);
                } else {
                    pool::push(node);
                }
            } else {
                start(&node);
                steps.push_back(Step::End(node, status::COMPLETE));
            }
        }
        Step::End(node, status) => {
            // What the command kept alive goes first: when its end is known, it holds nothing any more.
            drop_quietly(node.take_belongings());
            node.record(Time::End);
            if let Some(aftermath) = node.end(status) {
                steps.push_back(Step::Aftermath { aftermath, status });
            }
        }
        Step::Aftermath { aftermath, status } => {
            for thread in aftermath.waiters {
                thread.unpark();
            }
            if !aftermath.dependants.is_empty() {
                release(aftermath.dependants, status, steps);
            }
            if !aftermath.callbacks.is_empty() {
                steps.push_back(Step::Callbacks(aftermath.callbacks));
            }
        }
        Step::Release { dependants, status } => release(dependants, status, steps),
        Step::Callbacks(callbacks) => call_all(callbacks),
    }
}

fn release(dependants: SmallVec<[(Arc<Node>, Edge); 2]>, status: i32, steps: &mut VecDeque<Step>) {
    for (node, edge) in dependants {
        if node.predecessor_ended(edge, status) {
            steps.push_back(Step::Ready(node));
        }
    }
}

/// Does what callbacks on this thread have left to be done, before the thread blocks inside one.
pub(crate) fn drain_here() {
    loop {
        let next = STEPS.try_with(|list| list.borrow_mut().as_mut().and_then(VecDeque::pop_front));
        let Ok(Some(step)) = next else { return };
        let mut steps = VecDeque::new();
        take(step, &mut steps, &mut None, &|_| false);
        let _ = STEPS.try_with(|list| match list.borrow_mut().as_mut() {
            Some(list) => list.extend(steps.drain(..)),
            None => unreachable!("broken invariant: a thread's step list vanished inside its loop"),
        });
    }
}

/// The command's work begins.
pub(crate) fn start(node: &Node) {
    node.record(Time::Start);
    call_all(node.advance(status::RUNNING));
}

/// The command's work has ended with `status`. Returns a command to run next, see [`run`].
pub(crate) fn finish(node: Arc<Node>, status: i32, keep: impl Fn(&Node) -> bool) -> Option<Arc<Node>> {
    run(Step::End(node, status), keep)
}

/// A command has been put into its queue: done with, as far as its predecessors allow.
pub(super) fn submitted(node: Arc<Node>) {
    if node.release() {
        run(Step::Ready(node), |_| false);
    }
}

fn call_all(callbacks: DueCallbacks) {
    for (told, callback) in callbacks {
        call(told, callback);
    }
}

/// Calls a callback; a panic in it ends with it.
pub(super) fn call(told: i32, callback: StatusCallback) {
    if catch_unwind(AssertUnwindSafe(move || callback(told))).is_err() {
        tracing::error!("an event callback panicked");
    }
}

/// Drops something whose destructors are not ours.
fn drop_quietly<T>(value: T) {
    if catch_unwind(AssertUnwindSafe(move || drop(value))).is_err() {
        tracing::error!("a destructor panicked at the end of a command");
    }
}
