//! A family: a command and its descendants, as long as no event of a kernel that enqueues is between them. Its *small* members
//! are executed without a command of their own.
//!
//! A child is small if it is the work of one thread, and has no event or no children. Such a child is a record ([`SmallChild`])
//! in the lists of its family ([`Pending`]). While there are any, the family is a job of the pool, as a launch is that other
//! threads may join: each thread that takes the job executes children until it finds none ([`work`]). What a launch needs is
//! set up once per thread and kernel, and the command's count of children changes only when the first small child is added or
//! the last one has ended. The event of a small child is a node of the graph without work, which the thread ends.
//!
//! Not here: which children are small ([`super::child`]); how they wait ([`super::waiting`]).

use std::sync::Arc;

use smallvec::SmallVec;

use super::pending::Pending;
use super::queue::DeviceQueue;
use super::{Enqueuing, Shared};
use crate::graph::{self, Ended, Node, Timestamp};
use crate::launch::{ArgBlock, Launch, PrintfSink, Running};
use crate::ndrange::NdRange;
use crate::{pool, status};

/// Bytes of arguments that a record has room for.
pub(super) const INLINE_ARGS: usize = 64;

/// A child that needs no command.
pub(crate) struct SmallChild {
    /// Number of the kernel.
    pub(super) kernel: u32,
    pub(super) nd: NdRange,
    /// The argument block.
    pub(super) args: SmallVec<[u8; INLINE_ARGS]>,
    pub(super) local_arg_bytes: u64,
    /// Its share of the device queue.
    pub(super) bytes: u64,
    /// The queue; `None` for the default one.
    pub(super) queue: Option<Arc<DeviceQueue>>,
    /// Its event, if it has one.
    pub(super) event: Option<Arc<Node>>,
}

impl SmallChild {
    /// Makes a launch of its kernel one of this child.
    pub(crate) fn fill_in(&self, launch: &mut Launch) {
        launch.nd = self.nd;
        launch.args.bytes_mut().copy_from_slice(&self.args);
        launch.local_arg_bytes = self.local_arg_bytes;
    }

    /// Ends its event.
    fn end_event(self, status: i32) {
        if let Some(node) = self.event {
            graph::finish(Ended { node, status, retired: None }, |_| false);
        }
    }
}

/// The small members of a family.
pub(crate) struct Family {
    /// The command that ends only after all members.
    ancestor: Arc<Node>,
    shared: Arc<Shared>,
    printf_sink: Option<PrintfSink>,
    children: Pending<SmallChild>,
}

impl Family {
    /// The family of a command.
    pub(super) fn new(ancestor: Arc<Node>, shared: Arc<Shared>, printf_sink: Option<PrintfSink>) -> Arc<Self> {
        // Workers, and a thread that helps.
        let children = Pending::new(ancestor.pool.size() + 1);
        Arc::new(Self { ancestor, shared, printf_sink, children })
    }

    /// The command that ends only after all members.
    pub(crate) fn ancestor(&self) -> &Arc<Node> {
        &self.ancestor
    }

    /// Counts a child that a launch of the family enqueues.
    pub(super) fn count(&self, parent: &Running) {
        if !parent.reuse_ended() && self.children.count() {
            self.ancestor.add_member();
        }
    }

    /// Lets a child begin that has been counted, unless what it waits for has failed.
    pub(super) fn begin(self: &Arc<Self>, child: SmallChild, status: i32) {
        if status < status::COMPLETE {
            self.give_back(&child);
            self.ancestor.member_failed(status::WAIT_LIST_FAILED);
            child.end_event(status::WAIT_LIST_FAILED);
            if let Some(ended) = self.discount(1) {
                // The launch that has enqueued it has ended before an event that it waited for.
                graph::finish(ended, |_| false);
            }
        } else if self.children.add(pool::place(), child) {
            self.ancestor.pool.get().offer_family(self.clone());
        }
    }

    /// Whether threads may join; called for a family that is a job. If the result is false, it has stopped being one.
    pub(crate) fn is_joinable(&self) -> bool {
        !self.children.withdraw()
    }

    /// Discounts children that have ended. Returns the command if it has ended thereby.
    fn discount(self: &Arc<Self>, children: usize) -> Option<Ended> {
        if !self.children.discount(children) {
            return None;
        }
        if self.children.is_offered() {
            self.ancestor.pool.get().retract_family(self);
        }
        let status = self.ancestor.leave_family(status::COMPLETE)?;
        Some(Ended { node: self.ancestor.clone(), status, retired: None })
    }

    fn give_back(&self, child: &SmallChild) {
        if let Some(queue) = child.queue.as_ref().or(self.shared.default_queue.as_ref()) {
            queue.give_back(child.bytes);
        }
    }

    /// A launch of a kernel whose geometry and arguments are still to come.
    fn launch(self: &Arc<Self>, number: usize) -> Box<Launch> {
        let kernel = &self.shared.kernels.list[number];
        let enqueuing = kernel.enqueues.then(|| Enqueuing { shared: self.shared.clone(), family: Some(self.clone()) });
        Box::new(Launch {
            entry: kernel.entry,
            resources: kernel.resources,
            args: ArgBlock::new(kernel.resources.arg_block_bytes as usize),
            nd: NdRange::single(),
            local_arg_bytes: 0,
            printf_sink: self.printf_sink.clone(),
            enqueuing,
            info: Some(kernel.cost.clone()),
            checks: None,
        })
    }
}

/// Executes children of a family on this thread until it finds none, or `go_on` is false. Returns the command if it has ended
/// thereby.
pub(crate) fn work(family: &Arc<Family>, mut go_on: impl FnMut() -> bool) -> Option<Ended> {
    let (born, place) = (pool::epoch(), pool::place());
    let mut launches: SmallVec<[(u32, Running); 2]> = SmallVec::new();
    // Children that have ended and are still counted.
    let mut ended = 0;
    loop {
        let (child, offer) = family.children.take(place);
        if offer {
            family.ancestor.pool.get().offer_family(family.clone());
        }
        let Some(child) = child else { break };
        let mut outcome = status::COMPLETE;
        if !family.ancestor.is_terminated() {
            if let Some(event) = &child.event {
                event.record(Timestamp::Start);
            }
            let index = launches.iter().position(|(kernel, _)| *kernel == child.kernel).unwrap_or_else(|| {
                let launch = family.launch(child.kernel as usize);
                launches.push((child.kernel, Running::for_children(launch, family.ancestor.clone())));
                launches.len() - 1
            });
            (outcome, ended) = launches[index].1.run_child(&child, ended);
            if pool::epoch() != born {
                // A function of the application has forked on this thread; in the child the family never ends.
                core::mem::forget((launches, child));
                return None;
            }
            if outcome < status::COMPLETE {
                family.ancestor.member_failed(outcome);
            }
        }
        family.give_back(&child);
        // What its end lets begin is counted already.
        child.end_event(outcome);
        ended += 1;
        if !go_on() {
            family.ancestor.pool.get().defer_family(family);
            break;
        }
    }
    // They refer to the command.
    drop(launches);
    family.discount(ended)
}
