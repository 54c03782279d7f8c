//! Models of the pool.

use std::sync::Arc;

use super::{PoolHandle, PoolOptions, Signal, configure, wait};
use crate::graph::{Command, KeepAlive, Node, NodeKind, Queue, QueueOptions, QueuePosition, Work, submitted};
use crate::models::{Count, explore, explore_with, join};
use crate::status;
use crate::sync::atomic::Ordering;
use crate::sync::thread::{self, Thread, spawn};

/// An out-of-order queue, and with it the workers of the pool.
fn queue(workers: usize) -> Queue {
    configure(PoolOptions { threads: Some(workers) }).expect("an execution has one pool");
    Queue::new(QueueOptions { out_of_order: true, ..QueueOptions::default() })
}

fn task(body: impl FnOnce() + Send + 'static) -> Work {
    Work::Task(Box::new(move || {
        body();
        Ok(())
    }))
}

/// A ready command that counts as a kernel for the pool, and runs a function.
fn kernel(queue: u64, body: impl FnOnce() + Send + 'static) -> Arc<Node> {
    let position = QueuePosition { queue, sequence: 1, in_order: false };
    let mut node = Node::command(position, PoolHandle::root(), false, task(body), KeepAlive::new(), None, None);
    node.kind = NodeKind::Launch;
    Arc::new(node)
}

/// A function that wakes a thread when it has been called.
fn waking(thread: Thread, count: &Count) -> impl FnOnce() + Send + use<> {
    let count = count.clone();
    move || {
        count.add();
        thread.unpark();
    }
}

/// A command is executed although no waiter helps, whether the worker still searches or already sleeps.
#[test]
fn a_command_wakes_a_worker() {
    explore(|| {
        let (queue, count) = (queue(1), Count::new());
        queue.submit(Command::new(task(waking(thread::current(), &count))));
        thread::park();
        assert_eq!(count.get(), 1);
    });
}

/// Commands of two threads are executed: one wake-up may serve for both, but none is lost.
#[test]
fn commands_of_two_threads_are_all_executed() {
    explore_with(1, || {
        let (first, count) = (queue(1), Count::new());
        let second = Queue::new(QueueOptions::default());
        let main = thread::current();
        let (waker, counter) = (main.clone(), count.clone());
        let other = spawn(move || {
            second.submit(Command::new(task(waking(waker, &counter))));
        });
        first.submit(Command::new(task(waking(main, &count))));
        join(other);
        while count.get() < 2 {
            thread::park();
        }
    });
}

/// A worker that begins a command wakes another one for the next command: the first waits for the second.
#[test]
fn a_worker_hands_over_the_search() {
    explore_with(1, || {
        let queue = queue(2);
        let done = waking(thread::current(), &Count::new());
        let begun = Arc::new(Signal::default());
        let begins = begun.clone();
        queue.submit(Command::new(task(move || {
            begins.sleep(None);
            done();
        })));
        queue.submit(Command::new(task(move || begun.raise())));
        thread::park();
    });
}

/// A thread that waits sees what the command has done, whether it has helped, slept, or come too late.
#[test]
fn who_waits_sees_the_effects() {
    explore(|| {
        let (queue, count) = (queue(1), Count::new());
        let event = queue.submit(Command::new(task({
            let count = count.clone();
            move || count.add()
        })));
        assert_eq!(event.wait(), status::COMPLETE);
        assert_eq!(count.get(), 1);
    });
}

/// With one worker, which is about to sleep because another thread runs a kernel, and a helper whose attempt to reserve room
/// fails: when that kernel ends, the attempt does not keep the worker from seeing the job.
#[test]
fn a_failed_reservation_hides_no_kernel() {
    explore(|| {
        let (queue, count) = (queue(1), Count::new());
        let busy = PoolHandle::root().get().reserve().expect("no kernel runs");
        let counter = count.clone();
        let next = kernel(1, move || counter.add());
        submitted(next.clone());
        let other = spawn(move || drop(busy));
        wait(&next);
        assert_eq!((next.status(), count.get()), (status::COMPLETE, 1));
        join(other);
        drop(queue);
    });
}

/// Kernels of two threads do not overlap if there is one worker.
#[test]
fn a_reservation_is_exclusive() {
    explore_with(3, || {
        configure(PoolOptions { threads: Some(1) }).expect("an execution has one pool");
        let pool = PoolHandle::root().get();
        pool.has_workers.store(true, Ordering::SeqCst);
        let running = Count::new();
        let alone = move || {
            pool.reserve().map(|busy| {
                running.add();
                assert_eq!(running.get() % 2, 1, "one kernel at a time");
                running.add();
                drop(busy);
            })
        };
        let other = spawn({
            let alone = alone.clone();
            move || alone().is_some()
        });
        let mine = alone().is_some();
        assert!(join(other) || mine, "one of them may run");
    });
}

/// A command that becomes ready when all workers are leaving is executed.
#[test]
fn a_late_command_starts_workers_again() {
    explore(|| {
        let (queue, count) = (queue(1), Count::new());
        let late = kernel(7, waking(thread::current(), &count));
        drop(queue);
        submitted(late);
        thread::park();
        assert_eq!(count.get(), 1);
    });
}
