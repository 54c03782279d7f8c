//! Order, failures, callbacks, user events, profiling.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{AlreadySet, Command, Event, Queue, QueueOptions, Work};
use crate::sync::plain::Mutex;
use crate::{clock, status};

fn in_order() -> Queue {
    Queue::new(QueueOptions::default())
}

fn out_of_order() -> Queue {
    Queue::new(QueueOptions { out_of_order: true, ..QueueOptions::default() })
}

fn task(f: impl FnOnce() + Send + 'static) -> Command {
    Command::new(Work::Task(Box::new(move || {
        f();
        Ok(())
    })))
}

fn failing(status: i32) -> Command {
    Command::new(Work::Task(Box::new(move || Err(status.into()))))
}

/// A list that tasks write to.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<i32>>>);

impl Log {
    fn push(&self, value: i32) {
        self.0.lock().push(value);
    }

    fn note(&self, value: i32) -> impl FnOnce() + Send + 'static {
        let log = self.clone();
        move || log.push(value)
    }

    fn values(&self) -> Vec<i32> {
        self.0.lock().clone()
    }
}

/// Waits for something that has no event; false when it does not come about.
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn in_order_queues_keep_the_order() {
    let (queue, log) = (in_order(), Log::default());
    for i in 0..1000 {
        queue.submit(task(log.note(i)));
    }
    queue.finish();
    assert_eq!(log.values(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn diamonds_join() {
    let queue = out_of_order();
    for _ in 0..200 {
        let log = Log::default();
        let top = queue.submit(task(log.note(0)));
        let left = queue.submit(task(log.note(1)).after([top.clone()]));
        let right = queue.submit(task(log.note(2)).after([top.clone(), top.clone()]));
        let bottom = queue.submit(task(log.note(3)).after([left, right, top]));
        assert_eq!(bottom.wait(), status::COMPLETE);
        let values = log.values();
        assert_eq!((values.len(), values[0], values[3]), (4, 0, 3));
    }
}

#[test]
fn waits_between_queues() {
    let (a, b, log) = (in_order(), in_order(), Log::default());
    let gate = Event::user();
    let first = a.submit(task(log.note(1)).after([gate.clone()]));
    let second = b.submit(task(log.note(2)).after([first]));
    let third = a.submit(task(log.note(3)).after([second]));
    assert_eq!((third.status(), log.values()), (status::QUEUED, vec![]));
    assert_eq!(gate.set_user_status(0), Ok(()));
    assert_eq!(third.wait(), status::COMPLETE);
    assert_eq!(log.values(), [1, 2, 3]);
}

#[test]
fn long_chains_need_no_stack() {
    // All released at once by a user event: markers end on the spot, tasks pass through the pool.
    let gate = Event::user();
    let (queue, count) = (out_of_order(), Arc::new(AtomicUsize::new(0)));
    let mut last = gate.clone();
    for i in 0..100_000 {
        let counter = count.clone();
        let command = if i % 100 == 0 {
            task(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })
        } else {
            Command::new(Work::Marker)
        };
        last = queue.submit(command.after([last]));
    }
    assert_eq!(gate.set_user_status(0), Ok(()));
    assert_eq!(last.wait(), status::COMPLETE);
    assert_eq!(count.load(Ordering::Relaxed), 1000);
}

#[test]
fn long_chains_fail_without_stack() {
    let gate = Event::user();
    let queue = in_order();
    let mut last = gate.clone();
    for _ in 0..100_000 {
        last = queue.submit(task(|| unreachable!("it must not run")).after([last]));
    }
    // The last handle is dropped, so the status can no longer be set.
    drop(gate);
    assert_eq!(last.wait(), status::WAIT_LIST_FAILED);
    assert_eq!(queue.submit(task(|| ())).wait(), status::COMPLETE);
}

#[test]
fn only_wait_lists_propagate_failures() {
    let queue = in_order();
    let bad = queue.submit(failing(-1234));
    let dependant = queue.submit(task(|| unreachable!("it must not run")).after([bad.clone()]));
    let behind = queue.submit(Command::new(Work::Marker).after([dependant.clone()]));
    let after = queue.submit(task(|| ()));
    let marker = queue.submit(Command::new(Work::Marker));
    assert_eq!(bad.wait(), -1234);
    assert_eq!(dependant.wait(), status::WAIT_LIST_FAILED);
    assert_eq!(behind.wait(), status::WAIT_LIST_FAILED);
    assert_eq!(after.wait(), status::COMPLETE);
    assert_eq!(marker.wait(), status::COMPLETE);
    // A wait on one that has failed already.
    assert_eq!(queue.submit(task(|| ()).after([bad])).wait(), status::WAIT_LIST_FAILED);
    // Nonsense from a task is an error all the same.
    assert_eq!(queue.submit(failing(7)).wait(), status::OUT_OF_RESOURCES);
}

#[test]
fn panics_do_not_propagate() {
    let queue = in_order();
    let bad = queue.submit(task(|| panic!("on purpose")));
    assert_eq!(bad.wait(), status::OUT_OF_RESOURCES);
    assert!(bad.fault().is_some());
    let event = queue.submit(task(|| ()));
    event.on_status(status::COMPLETE, Box::new(|_| panic!("on purpose")));
    assert_eq!(event.wait(), status::COMPLETE);
    assert_eq!(queue.submit(task(|| ())).wait(), status::COMPLETE);
}

#[test]
fn user_events() {
    let event = Event::user();
    assert_eq!((event.status(), event.is_user(), event.times()), (status::SUBMITTED, true, None));
    let command = in_order().submit(Command::new(Work::Marker).after([event.clone()]));
    let other = event.clone();
    let setter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        other.set_user_status(-99)
    });
    assert_eq!(event.wait(), -99);
    assert_eq!(setter.join().expect("it does not panic"), Ok(()));
    assert_eq!(event.set_user_status(0), Err(AlreadySet));
    assert_eq!(command.wait(), status::WAIT_LIST_FAILED);
    assert_eq!(command.set_user_status(0), Err(AlreadySet));
}

#[test]
fn callbacks_come_in_order_and_once() {
    let queue = in_order();
    let gate = Event::user();
    let log = Log::default();
    let event = queue.submit(task(log.note(100)).after([gate.clone()]));
    for threshold in [status::COMPLETE, status::RUNNING, status::SUBMITTED] {
        let log = log.clone();
        event.on_status(threshold, Box::new(move |callback_status| log.push(10 * threshold + callback_status)));
    }
    assert_eq!(log.values(), []);
    assert_eq!(gate.set_user_status(0), Ok(()));
    assert!(eventually(|| log.values().len() == 4));
    // The command itself may come anywhere among them.
    let of_callbacks = |log: &Log| log.values().into_iter().filter(|value| *value != 100).collect::<Vec<_>>();
    assert_eq!(of_callbacks(&log), [22, 11, 0]);
    // The status has already been reached: called at once, with the requested status.
    for threshold in [status::SUBMITTED, status::RUNNING, status::COMPLETE] {
        let log = log.clone();
        event.on_status(threshold, Box::new(move |callback_status| log.push(1000 + callback_status)));
    }
    assert!(eventually(|| log.values().len() == 7));
    assert_eq!(of_callbacks(&log)[3..], [1002, 1001, 1000]);
}

#[test]
fn callbacks_get_the_error() {
    let queue = in_order();
    let gate = Event::user();
    let log = Log::default();
    let event = queue.submit(failing(-5000).after([gate.clone()]));
    let predecessor_failed = queue.submit(task(|| ()).after([event.clone()]));
    for (number, event) in [&event, &predecessor_failed].into_iter().enumerate() {
        let number = i32::try_from(number).expect("it is small");
        for threshold in [status::SUBMITTED, status::COMPLETE] {
            let log = log.clone();
            event.on_status(threshold, Box::new(move |callback_status| log.push(10_000 * number + callback_status)));
        }
    }
    gate.set_user_status(0).expect("it is set once");
    assert_eq!(predecessor_failed.wait(), status::WAIT_LIST_FAILED);
    assert!(eventually(|| log.values().len() == 4));
    assert_eq!(log.values(), [2, -5000, 10_000 - 14, 10_000 - 14]);
}

#[test]
fn callbacks_may_take_locks_of_waiting_threads() {
    let queue = in_order();
    let lock = Arc::new(Mutex::new(0));
    for _ in 0..200 {
        let mut held = lock.lock();
        for _ in 0..3 {
            let event = queue.submit(task(|| ()));
            let lock = lock.clone();
            event.on_status(status::COMPLETE, Box::new(move |_| *lock.lock() += 1));
        }
        *held += 0;
        queue.finish();
    }
    assert!(eventually(|| *lock.lock() == 600));
}

#[test]
fn deferred_functions_come_after_callbacks() {
    let queue = in_order();
    let log = Log::default();
    let event = queue.submit(task(|| ()));
    event.wait();
    let of_callback = log.clone();
    event.on_status(status::COMPLETE, Box::new(move |_| of_callback.push(1)));
    crate::pool::defer(log.note(2));
    assert!(eventually(|| log.values() == [1, 2]));
}

#[test]
fn chains_of_callbacks_need_no_stack() {
    let count = 50_000;
    let events: Arc<Vec<Event>> = Arc::new((0..=count).map(|_| Event::user()).collect());
    for i in 0..count {
        let all = events.clone();
        events[i].on_status(
            status::COMPLETE,
            Box::new(move |_| {
                all[i + 1].set_user_status(0).expect("it is set once");
            }),
        );
    }
    events[0].set_user_status(0).expect("it is set once");
    assert!(eventually(|| events[count].status() == status::COMPLETE));
}

#[test]
fn callbacks_may_use_the_queue() {
    let queue = Arc::new(in_order());
    let done = Arc::new(AtomicBool::new(false));
    let event = queue.submit(task(|| ()));
    let (inner_queue, inner_done) = (queue.clone(), done.clone());
    event.on_status(
        status::COMPLETE,
        Box::new(move |_| {
            let event = inner_queue.submit(task(|| ()));
            event.on_status(status::COMPLETE, Box::new(move |_| inner_done.store(true, Ordering::Relaxed)));
        }),
    );
    assert!(eventually(|| done.load(Ordering::Relaxed)));
}

#[test]
fn out_of_order_commands_do_not_wait() {
    let queue = out_of_order();
    let gate = Event::user();
    let held = queue.submit(task(|| ()).after([gate.clone()]));
    assert_eq!(queue.submit(task(|| ())).wait(), status::COMPLETE);
    // A marker without a wait list waits for all, one with a list for that only.
    let marker = queue.submit(Command::new(Work::Marker));
    let ended = queue.submit(task(|| ()));
    assert_eq!(queue.submit(Command::new(Work::Marker).after([ended])).wait(), status::COMPLETE);
    assert_eq!((held.status(), marker.status()), (status::QUEUED, status::QUEUED));
    gate.set_user_status(0).expect("it is set once");
    assert_eq!(marker.wait(), status::COMPLETE);
    assert_eq!(held.status(), status::COMPLETE);
}

#[test]
fn barriers_order_later_commands() {
    let queue = out_of_order();
    let gate = Event::user();
    let log = Log::default();
    for i in 0..10 {
        queue.submit(task(log.note(i)).after([gate.clone()]));
    }
    let barrier = queue.submit(Command::new(Work::Barrier));
    let after: Vec<Event> = (10..20).map(|i| queue.submit(task(log.note(i)))).collect();
    let second = queue.submit(Command::new(Work::Barrier));
    let last = queue.submit(task(log.note(20)));
    std::thread::sleep(Duration::from_millis(5));
    assert!(after.iter().chain([&barrier, &second, &last]).all(|event| event.status() == status::QUEUED));
    gate.set_user_status(0).expect("it is set once");
    queue.finish();
    let values = log.values();
    assert_eq!(values.len(), 21);
    assert!(values[..10].iter().all(|value| *value < 10) && values[20] == 20);
    assert!([barrier, second, last].iter().all(|event| event.status() == status::COMPLETE));
}

/// A command that waits for all earlier ones has few predecessors, however many such commands there are.
#[test]
fn markers_stand_for_what_they_wait_for() {
    let queue = out_of_order();
    let gate = Event::user();
    let first = queue.submit(task(|| ()).after([gate.clone()]));
    for _ in 0..1000 {
        queue.submit(Command::new(Work::Marker));
    }
    let other = queue.submit(task(|| ()));
    let last = queue.submit(Command::new(Work::Marker));
    assert!(first.0.dependant_count() <= 2 && other.wait() == status::COMPLETE);
    assert_eq!(last.status(), status::QUEUED);
    gate.set_user_status(0).expect("it is set once");
    assert_eq!((last.wait(), first.status()), (status::COMPLETE, status::COMPLETE));
}

#[test]
fn barriers_with_a_wait_list() {
    let queue = out_of_order();
    let (gate, other) = (Event::user(), Event::user());
    let held = queue.submit(task(|| ()).after([other.clone()]));
    let barrier = queue.submit(Command::new(Work::Barrier).after([gate.clone()]));
    let after = queue.submit(task(|| ()));
    let all = queue.submit(Command::new(Work::Marker));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(after.status(), status::QUEUED);
    gate.set_user_status(0).expect("it is set once");
    assert_eq!((barrier.wait(), after.wait()), (0, 0));
    // The barrier did not wait for what its list does not name; a marker for all still does.
    assert_eq!((held.status(), all.status()), (status::QUEUED, status::QUEUED));
    other.set_user_status(0).expect("it is set once");
    assert_eq!(all.wait(), status::COMPLETE);
}

#[test]
fn a_failed_barrier_releases_later_commands() {
    let queue = out_of_order();
    let gate = Event::user();
    let barrier = queue.submit(Command::new(Work::Barrier).after([gate.clone()]));
    let after = queue.submit(task(|| ()));
    gate.set_user_status(-3).expect("it is set once");
    assert_eq!((barrier.wait(), after.wait()), (status::WAIT_LIST_FAILED, status::COMPLETE));
}

#[test]
fn times_are_ordered() {
    let queue = Queue::new(QueueOptions { profiling: true, ..QueueOptions::default() });
    let before = clock::now_ns();
    let gate = Event::user();
    let event = queue.submit(task(|| std::thread::sleep(Duration::from_millis(2))).after([gate.clone()]));
    assert_eq!(event.times(), None);
    gate.set_user_status(0).expect("it is set once");
    event.wait();
    let times = event.times().expect("the command has ended");
    assert!(before <= times.queued && times.queued <= times.submit && times.submit <= times.start);
    assert!(times.end - times.start >= 2_000_000 && times.end <= clock::now_ns());
    let marker = queue.submit(Command::new(Work::Marker));
    marker.wait();
    let times = marker.times().expect("markers have times, too");
    assert!(times.queued <= times.submit && times.submit <= times.start && times.start <= times.end);
    assert_eq!(in_order().submit(Command::new(Work::Marker)).times(), None);
}

#[test]
fn a_command_starts_with_its_first_part() {
    let queue = Queue::new(QueueOptions { profiling: true, out_of_order: true, ..QueueOptions::default() });
    let first = queue.submit(task(|| std::thread::sleep(Duration::from_millis(2))));
    let second = queue.submit(task(|| ()).after([first.clone()]));
    let parts = [second.clone(), first.clone()];
    let whole =
        queue.submit(Command { parts: parts.clone().into_iter().collect(), ..Command::new(Work::Marker) }.after(parts));
    whole.wait();
    let times = |event: &Event| event.times().expect("the command has ended");
    assert_eq!(times(&whole).start, times(&first).start);
    assert_eq!((times(&whole).queued, times(&whole).submit), (times(&first).queued, times(&first).submit));
    assert!(times(&whole).end >= times(&second).end);
}

#[test]
fn resources_are_released_before_the_end_is_reported() {
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(5));
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let event = in_order().submit(task(|| ()).keeping(Arc::new(Guard(gone.clone()))));
    event.wait();
    assert!(gone.load(Ordering::SeqCst));
    // Those of a command that never ran as well.
    let gone = Arc::new(AtomicBool::new(false));
    let gate = Event::user();
    let event = in_order().submit(task(|| ()).after([gate.clone()]).keeping(Arc::new(Guard(gone.clone()))));
    gate.set_user_status(-1).expect("it is set once");
    event.wait();
    assert!(gone.load(Ordering::SeqCst));
}

#[test]
fn queues_from_many_threads() {
    let queues = [Arc::new(in_order()), Arc::new(out_of_order())];
    let count = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (queues, count) = (queues.clone(), count.clone());
            scope.spawn(move || {
                for i in 0..500 {
                    let counter = count.clone();
                    let queue = &queues[(thread + i) % 2];
                    let event = queue.submit(task(move || {
                        counter.fetch_add(1, Ordering::Relaxed);
                    }));
                    match i % 7 {
                        0 => assert_eq!(event.wait(), status::COMPLETE),
                        3 => queue.finish(),
                        _ => {}
                    }
                }
            });
        }
    });
    queues.iter().for_each(|queue| queue.finish());
    assert_eq!(count.load(Ordering::Relaxed), 2000);
}

#[test]
fn tasks_may_wait_for_other_queues() {
    // More of them than there are workers: waiting workers help.
    let (queue, other) = (Arc::new(out_of_order()), Arc::new(in_order()));
    for _ in 0..8 {
        let other = other.clone();
        queue.submit(task(move || {
            let event = other.submit(task(|| ()));
            assert_eq!(event.wait(), status::COMPLETE);
        }));
    }
    queue.finish();
}

/// A user event takes over another event's status: later, or at once.
#[test]
fn user_events_end_with_others() {
    let queue = in_order();
    for status in [status::COMPLETE, -7] {
        let (first, gate) = (Event::user(), Event::user());
        gate.end_with(&first);
        let waiting = queue.submit(task(|| ()).after([gate.clone()]));
        assert_eq!(gate.status(), status::SUBMITTED);
        assert_eq!(first.set_user_status(status), Ok(()));
        assert_eq!(gate.status(), status);
        assert_eq!(waiting.wait(), if status < 0 { status::WAIT_LIST_FAILED } else { status });
        let late = Event::user();
        late.end_with(&gate);
        assert_eq!(late.status(), status);
        assert_eq!(late.set_user_status(0), Err(AlreadySet));
    }
}
