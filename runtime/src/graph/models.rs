//! Models of the graph. Their commands have no work, so they need no pool.

use std::sync::Arc;

use super::{
    Dependency, Ended, Event, KeepAlive, Node, Queue, QueueOptions, QueuePosition, Termination, Work, begin_child,
    end_work, finish, submitted,
};
use crate::models::{Count, explore, explore_with, join};
use crate::pool::{PoolHandle, PoolOptions, configure};
use crate::status;
use crate::sync::thread::spawn;

/// Exploring all orders is affordable without workers.
const ALL: usize = 100;

/// A command without work that is being submitted.
fn marker(sequence: u64) -> Arc<Node> {
    let position = QueuePosition { queue: 1, sequence, in_order: false };
    Arc::new(Node::command(position, PoolHandle::root(), false, Work::Marker, KeepAlive::new(), None, None))
}

/// A user event whose status another thread sets.
fn set_elsewhere(status: i32) -> (Event, loom::thread::JoinHandle<()>) {
    let event = Event::user();
    let other = event.clone();
    (event, spawn(move || other.set_user_status(status).expect("it is set once")))
}

/// Submits a command while both predecessors end.
fn after_two(statuses: [i32; 2]) -> i32 {
    let events = statuses.map(set_elsewhere);
    let node = marker(1);
    for (event, _) in &events {
        event.0.precede(&node, Dependency::Explicit);
    }
    submitted(node.clone());
    for (_, thread) in events {
        join(thread);
    }
    node.status()
}

/// A command whose predecessors end while it is submitted ends once they have.
#[test]
fn a_command_follows_two_predecessors() {
    explore_with(3, || assert_eq!(after_two([status::COMPLETE; 2]), status::COMPLETE));
}

/// The failure of a predecessor is known when the other makes the command ready.
#[test]
fn a_failure_is_seen_whoever_ends_last() {
    explore_with(3, || assert_eq!(after_two([-7, status::COMPLETE]), status::WAIT_LIST_FAILED));
}

/// What was written before a status was set is visible to those who read the status.
#[test]
fn a_status_publishes_what_came_before() {
    explore_with(ALL, || {
        let (event, count) = (Event::user(), Count::new());
        let (other, counter) = (event.clone(), count.clone());
        let reader = spawn(move || {
            if other.status() == status::COMPLETE {
                assert_eq!(counter.get(), 1);
            }
        });
        count.add();
        event.set_user_status(0).expect("it is set once");
        join(reader);
    });
}

/// A thread that waits is told of the end whenever it comes.
#[test]
fn who_waits_is_told() {
    explore(|| {
        // Without workers, who waits looks for work again and again.
        configure(PoolOptions { threads: Some(1) }).expect("an execution has one pool");
        let _queue = Queue::new(QueueOptions::default());
        let (event, thread) = set_elsewhere(-3);
        assert_eq!(event.wait(), -3);
        join(thread);
    });
}

/// A status is set once, even if two threads set it.
#[test]
fn a_status_is_set_once() {
    explore_with(ALL, || {
        let event = Event::user();
        let node = marker(1);
        event.0.precede(&node, Dependency::Explicit);
        submitted(node.clone());
        let other = event.clone();
        let thread = spawn(move || other.set_user_status(-1).is_ok());
        let mine = event.set_user_status(-1).is_ok();
        assert!(mine != join(thread), "one of them sets it");
        assert_eq!(node.status(), status::WAIT_LIST_FAILED);
    });
}

/// A callback that is registered while the status changes is called once: by one side or by the other.
#[test]
fn a_callback_is_due_once() {
    explore_with(ALL, || {
        let (event, count) = (Event::user(), Count::new());
        let other = event.clone();
        let thread = spawn(move || other.0.end(0, None).map_or(0, |completion| usize::from(completion.has_callbacks)));
        let counter = count.clone();
        let late = event.0.on_status(status::COMPLETE, Box::new(move |_| counter.add()));
        let due = usize::from(late.is_some()) + join(thread);
        assert_eq!(due, 1);
    });
}

/// A parent ends when its own work and its child have ended, with the failure of either.
#[test]
fn a_parent_ends_after_its_child() {
    explore_with(3, || {
        let (parent, child) = (marker(1), marker(2));
        parent.begin_family();
        child.precede(&parent, Dependency::Child);
        let of_child = child.clone();
        let thread = spawn(move || {
            submitted(of_child);
        });
        if let Some(ended) = end_work(&parent, -9, || {}) {
            assert!(child.is_ended());
            finish(ended, |_| false);
        }
        join(thread);
        assert_eq!((parent.status(), child.status()), (-9, status::COMPLETE));
    });
}

/// A child that waits for its parent's own work and for an event begins once, when both have ended.
#[test]
fn a_child_waits_for_its_parents_work() {
    explore_with(3, || {
        let (event, thread) = set_elsewhere(status::COMPLETE);
        let (parent, child) = (marker(1), marker(2));
        parent.begin_family();
        child.precede(&parent, Dependency::Child);
        event.0.precede(&child, Dependency::Explicit);
        let begin = || begin_child(child.clone(), status::COMPLETE);
        if let Some(ended) = end_work(&parent, status::COMPLETE, begin) {
            finish(ended, |_| false);
        }
        join(thread);
        assert_eq!((parent.status(), child.status()), (status::COMPLETE, status::COMPLETE));
    });
}

/// A command that becomes ready while its context is terminated runs with its resources, or it does not run; and it ends once.
#[test]
fn a_terminated_command_runs_or_ends() {
    explore_with(3, || {
        let termination = Arc::new(Termination::default());
        let position = QueuePosition { queue: 1, sequence: 1, in_order: false };
        let work = Work::Task(Box::new(|| Ok(())));
        let keep = KeepAlive::from_iter([Arc::new(()) as _]);
        let node = Node::command(position, PoolHandle::root(), false, work, keep, None, None);
        let node = Arc::new(node.with_termination(Some(termination.clone())));
        termination.add(&node);
        let running = node.clone();
        let worker = spawn(move || {
            running.advance(status::SUBMITTED);
            let runs = running.begin().0.is_some();
            assert_eq!(runs, running.kept().len() == 1 && runs, "it keeps what it uses");
            finish(Ended { node: running, status: status::COMPLETE, retired: None }, |_| false);
            runs
        });
        assert!(termination.begin());
        let runs = join(worker);
        assert!(node.status() == status::CONTEXT_TERMINATED || (runs && node.status() == status::COMPLETE));
    });
}

/// The last handle of a user event that is never set fails those who wait for it, though one of them is still being submitted.
#[test]
fn a_dropped_user_event_fails_its_dependants() {
    explore_with(ALL, || {
        let event = Event::user();
        let node = marker(1);
        event.0.precede(&node, Dependency::Explicit);
        let thread = spawn(move || drop(event));
        submitted(node.clone());
        join(thread);
        assert_eq!(node.status(), status::WAIT_LIST_FAILED);
    });
}
