//! How the pool affects its process: threads, affinity, fork, exit. Each scenario runs in a process of its own, so this program
//! starts itself. `cargo test -p clift-runtime --test process -- NAME` runs one scenario.
#![allow(unsafe_code, reason = "fork, affinity and kernel entries")]

use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clift_include::abi::{KernelEntry, Resources, WgContext};
use clift_runtime::graph::{AlreadySet, Command, Event, Queue, QueueOptions, Work};
use clift_runtime::launch::{ArgBlock, Launch};
use clift_runtime::ndrange::NdRange;
use clift_runtime::pool::{self, PoolHandle, PoolOptions};
use clift_runtime::status;

/// Time limit of a scenario.
const PATIENCE: Duration = Duration::from_secs(30);

/// The exit code of a passed scenario.
const PASSED: i32 = 42;

/// The code of a scenario; its result is the exit code.
type Scenario = fn() -> i32;

const SCENARIOS: &[(&str, Scenario)] = &[
    ("no_thread_before_the_first_queue", no_thread_before_the_first_queue),
    ("workers_respect_the_affinity_mask", workers_respect_the_affinity_mask),
    ("one_worker_does_everything", || mixture(1)),
    ("more_workers_than_processors", || mixture(5)),
    ("sub_device_workers_are_bound", sub_device_workers_are_bound),
    ("workers_leave_signals_to_the_application", workers_leave_signals_to_the_application),
    ("queues_work_in_the_child_of_a_fork", queues_work_in_the_child_of_a_fork),
    ("fork_while_others_submit", fork_while_others_submit),
    ("fork_on_a_worker", fork_on_a_worker),
    ("commands_outlive_queue_and_threads", commands_outlive_queue_and_threads),
    ("exit_with_work_in_flight", exit_with_work_in_flight),
    ("exit_with_a_task_that_does_not_end", exit_with_a_task_that_does_not_end),
    ("exit_in_a_callback", exit_in_a_callback),
    ("callbacks_have_been_called_when_a_wait_ends", callbacks_have_been_called_when_a_wait_ends),
    ("destructors_may_finish_queues", destructors_may_finish_queues),
    ("waiting_threads_finish_their_work_at_exit", waiting_threads_finish_their_work_at_exit),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mark, name] = &arguments[..]
        && mark == "scenario"
    {
        let scenario = SCENARIOS.iter().find(|(other, _)| other == name).expect("the scenario exists").1;
        std::process::exit(scenario());
    }
    let wanted = |name: &str| {
        let filters: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    };
    let mut failed = false;
    for (name, _) in SCENARIOS.iter().filter(|(name, _)| wanted(name)) {
        let start = Instant::now();
        let result = run(name);
        failed |= result.is_err();
        let result = result.map_or_else(|error| format!("FAILED: {error}"), |()| "ok".to_owned());
        println!("test {name} ... {result} ({} ms)", start.elapsed().as_millis());
    }
    println!("process: {}", if failed { "FAILED" } else { "ok" });
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run(name: &str) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut process = Process::new(program)
        .args(["scenario", name])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let start = Instant::now();
    loop {
        match process.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.code() == Some(PASSED) => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None if start.elapsed() > PATIENCE => {
                process.kill().map_err(|error| error.to_string())?;
                process.wait().map_err(|error| error.to_string())?;
                return Err("it hangs".to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn queue() -> Queue {
    Queue::new(QueueOptions::default())
}

fn task(f: impl FnOnce() + Send + 'static) -> Command {
    Command::new(Work::Task(Box::new(move || {
        f();
        Ok(())
    })))
}

static GROUPS: AtomicU64 = AtomicU64::new(0);

/// Counts groups, with a small delay.
unsafe extern "C" fn count_groups(_: *const WgContext, _: *const u8, _: u64, count: u64) {
    for group in 0..count {
        for i in 0..2000 {
            std::hint::black_box(group ^ i);
        }
        GROUPS.fetch_add(1, Ordering::Relaxed);
    }
}

fn launch(groups: u64) -> Command {
    Command::new(Work::Launch(Box::new(Launch {
        entry: KernelEntry { run: count_groups, packed: None, data: std::ptr::null() },
        resources: Resources { width: 1, ..Resources::default() },
        args: ArgBlock::new(0),
        nd: NdRange::new(1, [groups, 1, 1], [0; 3], [1; 3]).expect("it is legal"),
        local_arg_bytes: 0,
        printf_sink: None,
        enqueuing: None,
        info: None,
        checks: None,
    })))
}

/// Names of the process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("there is a /proc");
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        Some(std::fs::read_to_string(task.ok()?.path().join("comm")).ok()?.trim().to_owned())
    };
    tasks.filter_map(name).collect()
}

/// As [`threads`], once this number of workers have set their names.
fn named_threads(workers: usize) -> Vec<String> {
    loop {
        let names = threads();
        if names.iter().filter(|name| name.starts_with("clift-")).count() >= workers {
            return names;
        }
        std::thread::yield_now();
    }
}

/// Forks and runs `child` in the child process; returns its result, which is the child's exit code. The pool has been started.
fn fork(child: impl FnOnce() -> i32) -> i32 {
    // A Rust program holds a lock while it starts a thread and in `std::process::exit`, which does not survive a fork. The
    // driver, a library in other programs, has no such problem.
    named_threads(pool::worker_count());
    // SAFETY: the child runs code that is formally not allowed after a fork of a process with threads (it allocates). The C
    // library supports that, and the test checks that the runtime does.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork works");
    if pid == 0 {
        let code = child();
        // SAFETY: ends the process through its exit handlers.
        unsafe { libc::exit(code) };
    }
    let mut result = 0;
    // SAFETY: waits for our child; `result` can be written to.
    assert_eq!(unsafe { libc::waitpid(pid, &mut result, 0) }, pid);
    if libc::WIFEXITED(result) { libc::WEXITSTATUS(result) } else { -result }
}

fn no_thread_before_the_first_queue() -> i32 {
    pool::configure(PoolOptions { threads: Some(3) }).expect("nothing has been fixed");
    assert_eq!(pool::worker_count(), 3);
    assert!(pool::configure(PoolOptions::default()).is_err());
    let event = Event::user();
    event.set_user_status(0).expect("it is set once");
    assert_eq!(threads().len(), 1);
    let queue = queue();
    queue.submit(task(|| ())).wait();
    let mut names = named_threads(3);
    names.sort_unstable();
    assert_eq!(names[..3], ["clift-0", "clift-1", "clift-2"]);
    assert_eq!(names.len(), 4);
    PASSED
}

fn workers_respect_the_affinity_mask() -> i32 {
    // SAFETY: the set is plain data, written before it is read.
    let one = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
        let first = (0..1024).find(|cpu| libc::CPU_ISSET(*cpu, &set)).expect("some processor is allowed");
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(first, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    assert_eq!(one, 0);
    assert_eq!(pool::worker_count(), 1);
    let queue = queue();
    for _ in 0..100 {
        queue.submit(launch(100));
    }
    queue.finish();
    assert_eq!(GROUPS.load(Ordering::Relaxed), 10_000);
    assert_eq!(threads().len(), 2);
    PASSED
}

/// All threads leave after the last queue. A command that is submitted, but not ready, starts them again.
fn commands_outlive_queue_and_threads() -> i32 {
    let until_alone = || {
        while threads().len() > 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    for round in 1..4 {
        let queue = queue();
        queue.submit(launch(100));
        queue.finish();
        let user = Event::user();
        let (first, second) = (launch(100).after([user.clone()]), launch(100).after([user.clone()]));
        let last = queue.submit(first);
        let also = queue.submit(second);
        drop(queue);
        until_alone();
        assert_eq!(user.set_user_status(status::COMPLETE), Ok(()));
        assert_eq!((last.wait(), also.wait()), (status::COMPLETE, status::COMPLETE));
        assert_eq!(GROUPS.load(Ordering::Relaxed), 300 * round);
        until_alone();
    }
    PASSED
}

/// The processors the calling thread may run on.
fn affinity() -> Vec<usize> {
    let mut mask = [0u64; 16];
    // SAFETY: the mask is valid for its size.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    assert_eq!(result, 0);
    (0..1024).filter(|number| mask[number / 64] >> (number % 64) & 1 != 0).collect()
}

/// Sub-devices have workers of their own, bound to their units' processors. Commands of different sub-devices wait for each
/// other, and fork and exit work as for the root device.
fn sub_device_workers_are_bound() -> i32 {
    let all = affinity();
    pool::configure(PoolOptions { threads: Some(all.len().max(2)) }).expect("nothing has been fixed");
    let part = |first, count| PoolHandle::sub_device(first, count);
    assert_eq!(part(0, 1), part(0, 1));
    assert_ne!(part(0, 1), part(1, 1));
    let queue = |pool| Queue::new(QueueOptions { pool, ..QueueOptions::default() });
    let queues = [queue(part(0, 1)), queue(part(1, 1)), queue(part(0, 2)), queue(PoolHandle::root())];
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = || {
        let seen = seen.clone();
        task(move || seen.lock().expect("no thread panicked").push(affinity()))
    };
    for queue in &queues[..3] {
        assert_eq!(queue.submit(note()).wait(), 0);
    }
    let masks = std::mem::take(&mut *seen.lock().expect("no thread panicked"));
    assert!(masks.iter().all(|mask| mask.len() == 1 && all.contains(&mask[0])), "{masks:?}");
    assert!(all.len() == 1 || masks[0] != masks[1], "{masks:?}");

    let mut expected = 0;
    let chain = |expected: &mut u64| {
        let mut last: Option<Event> = None;
        for round in 0..400 {
            let queue = &queues[round * 7 % 4];
            let command = if round % 3 == 0 { note() } else { launch(5) };
            *expected += if round % 3 == 0 { 0 } else { 5 };
            last = Some(queue.submit(command.after(last)));
        }
        last.expect("there was a round").wait()
    };
    assert_eq!(chain(&mut expected), 0);
    assert_eq!(GROUPS.load(Ordering::Relaxed), expected);
    assert_eq!(fork(|| if chain(&mut 0) == 0 { 7 } else { 8 }), 7);
    // They are unfinished at the end of the process.
    for queue in &queues {
        drop(queue.submit(launch(100_000)));
    }
    PASSED
}

/// All kinds of commands, large and small, from several threads, waited for in all ways: none may be lost.
fn mixture(workers: usize) -> i32 {
    pool::configure(PoolOptions { threads: Some(workers) }).expect("nothing has been fixed");
    let queues = [false, true].map(|out_of_order| Queue::new(QueueOptions { out_of_order, ..QueueOptions::default() }));
    let tasks = AtomicU64::new(0);
    let callbacks = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..3usize {
            let (queues, tasks, callbacks) = (&queues, &tasks, &callbacks);
            scope.spawn(move || {
                for round in 0..300usize {
                    let queue = &queues[(thread + round) % 2];
                    let first = queue.submit(launch(1 + (round as u64 * 7) % 50));
                    let second = queue.submit(task(|| ()).after([first.clone()]));
                    let third = queues[round % 2].submit(launch(2).after([second.clone()]));
                    let callbacks = callbacks.clone();
                    second.on_status(
                        status::COMPLETE,
                        Box::new(move |_| {
                            callbacks.fetch_add(1, Ordering::Relaxed);
                        }),
                    );
                    tasks.fetch_add(1 + (round as u64 * 7) % 50 + 2, Ordering::Relaxed);
                    match round % 5 {
                        0 => assert_eq!(third.wait(), 0),
                        1 => assert_eq!(first.wait(), 0),
                        2 => queue.finish(),
                        3 => std::thread::sleep(Duration::from_micros(100)),
                        _ => {}
                    }
                }
            });
        }
    });
    queues.iter().for_each(Queue::finish);
    assert_eq!(GROUPS.load(Ordering::Relaxed), tasks.load(Ordering::Relaxed));
    let start = Instant::now();
    while callbacks.load(Ordering::Relaxed) < 900 {
        assert!(start.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    PASSED
}

fn workers_leave_signals_to_the_application() -> i32 {
    let queue = queue();
    queue.submit(task(|| ())).wait();
    named_threads(pool::worker_count());
    for task in std::fs::read_dir("/proc/self/task").expect("there is a /proc").flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).expect("it has a name");
        let status = std::fs::read_to_string(task.path().join("status")).expect("it has a status");
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("the line is there");
        let blocked = u64::from_str_radix(blocked.trim(), 16).expect("it is a number");
        let is_blocked = |signal: i32| blocked >> (signal - 1) & 1 == 1;
        if name.starts_with("clift-") {
            assert!(is_blocked(libc::SIGINT) && is_blocked(libc::SIGCHLD) && !is_blocked(libc::SIGSEGV));
        } else if task.file_name().to_str() == Some(&std::process::id().to_string()) {
            assert!(!is_blocked(libc::SIGINT));
        }
    }
    PASSED
}

fn queues_work_in_the_child_of_a_fork() -> i32 {
    let queue = queue();
    let done = queue.submit(task(|| ()));
    done.wait();
    let gate = Event::user();
    let held = queue.submit(task(|| ()).after([gate.clone()]));
    queue.submit(launch(1000));
    let code = fork(|| {
        // The parent's commands have ended, or will never end.
        assert_eq!((done.status(), done.wait()), (0, 0));
        assert!(held.status() < 0 && held.wait() < 0);
        assert_eq!(gate.set_user_status(0), Err(AlreadySet));
        held.on_status(status::COMPLETE, Box::new(|told| assert!(told < 0)));
        GROUPS.store(0, Ordering::Relaxed);
        queue.finish();
        assert_eq!(queue.submit(launch(5000)).wait(), 0);
        assert_eq!(GROUPS.load(Ordering::Relaxed), 5000);
        assert!(queue.submit(task(|| ()).after([held.clone()])).wait() < 0);
        let own = Queue::new(QueueOptions { out_of_order: true, profiling: true, ..QueueOptions::default() });
        let event = own.submit(task(|| ()).after([done.clone()]));
        own.finish();
        assert!(event.times().is_some());
        // The same holds for a grandchild.
        fork(|| if queue.submit(launch(10)).wait() == 0 { PASSED } else { 1 })
    });
    assert_eq!(code, PASSED);
    assert_eq!(held.status(), status::QUEUED);
    gate.set_user_status(0).expect("it is set once");
    queue.finish();
    assert_eq!(held.status(), 0);
    PASSED
}

fn fork_while_others_submit() -> i32 {
    let queue = Arc::new(queue());
    let stop = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..2)
        .map(|_| {
            let (queue, stop) = (queue.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..20 {
                        queue.submit(launch(3));
                        queue.submit(task(|| ()));
                    }
                    queue.finish();
                }
            })
        })
        .collect();
    for round in 0..40 {
        let code = fork(|| {
            let event = queue.submit(launch(200));
            queue.finish();
            if event.status() == 0 { PASSED } else { 1 }
        });
        assert_eq!(code, PASSED, "in round {round}");
    }
    stop.store(true, Ordering::Relaxed);
    others.into_iter().for_each(|other| other.join().expect("it does not panic"));
    PASSED
}

fn fork_on_a_worker() -> i32 {
    let queue = queue();
    let event = queue.submit(task(|| assert_eq!(fork(|| PASSED), PASSED)));
    assert_eq!(event.wait(), 0);
    PASSED
}

fn exit_with_work_in_flight() -> i32 {
    let queue = queue();
    for _ in 0..1000 {
        queue.submit(launch(10_000));
        queue.submit(task(|| std::thread::sleep(Duration::from_micros(100))));
    }
    PASSED
}

fn exit_with_a_task_that_does_not_end() -> i32 {
    let queue = queue();
    let started = Arc::new(AtomicBool::new(false));
    let flag = started.clone();
    queue.submit(task(move || {
        flag.store(true, Ordering::Relaxed);
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }));
    while !started.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    PASSED
}

/// With a thread of its own: callbacks of other tests would delay these.
fn callbacks_have_been_called_when_a_wait_ends() -> i32 {
    let late = |event: &Event| {
        let called = Arc::new(AtomicBool::new(false));
        let flag = called.clone();
        let callback = move |_| {
            std::thread::sleep(Duration::from_millis(2));
            flag.store(true, Ordering::Relaxed);
        };
        event.on_status(status::COMPLETE, Box::new(callback));
        called
    };
    for out_of_order in [false, true] {
        let queue = Queue::new(QueueOptions { out_of_order, ..QueueOptions::default() });
        for _ in 0..20 {
            let event = queue.submit(task(|| std::thread::sleep(Duration::from_micros(50))));
            let called = late(&event);
            event.wait();
            assert!(called.load(Ordering::Relaxed), "by the wait for the event");
            let called = late(&queue.submit(task(|| ())));
            queue.submit(task(|| ()));
            queue.finish();
            assert!(called.load(Ordering::Relaxed), "by the wait for the queue");
        }
        let event = queue.submit(task(|| ()));
        let called = late(&event);
        while event.status() != status::COMPLETE {}
        drop(queue);
        assert!(called.load(Ordering::Relaxed), "by the end of the queue");
    }
    let event = Event::user();
    let called = late(&event);
    event.set_user_status(0).expect("it is set once");
    event.wait();
    assert!(called.load(Ordering::Relaxed), "by the wait for a user event");
    PASSED
}

fn exit_in_a_callback() -> i32 {
    let queue = queue();
    let gate = Event::user();
    let event = queue.submit(task(|| std::thread::sleep(Duration::from_millis(5))).after([gate.clone()]));
    event.on_status(status::COMPLETE, Box::new(|_| std::process::exit(PASSED)));
    gate.set_user_status(0).expect("it is set once");
    std::thread::sleep(PATIENCE);
    1
}

static LATE: OnceLock<Queue> = OnceLock::new();

/// Represents the destructor of a static object: it runs after the pool's own handler.
extern "C" fn late() {
    let Some(queue) = LATE.get() else { return };
    queue.finish();
    let more = queue.submit(launch(1000));
    let ok = more.wait() == 0 && GROUPS.load(Ordering::Relaxed) == 21_000;
    // SAFETY: ends the process.
    unsafe { libc::_exit(if ok { PASSED } else { 1 }) };
}

fn destructors_may_finish_queues() -> i32 {
    // SAFETY: the handler is a plain function.
    assert_eq!(unsafe { libc::atexit(late) }, 0);
    let queue = LATE.get_or_init(queue);
    for _ in 0..20 {
        queue.submit(launch(1000));
    }
    1
}

static WAITER: OnceLock<std::sync::Mutex<Option<std::thread::JoinHandle<i32>>>> = OnceLock::new();

extern "C" fn join_waiter() {
    let handle = WAITER.get().and_then(|place| place.lock().ok()?.take());
    let status = handle.and_then(|handle| handle.join().ok());
    // SAFETY: ends the process.
    unsafe { libc::_exit(if status == Some(0) { PASSED } else { 1 }) };
}

fn waiting_threads_finish_their_work_at_exit() -> i32 {
    // SAFETY: the handler is a plain function.
    assert_eq!(unsafe { libc::atexit(join_waiter) }, 0);
    let queue = LATE.get_or_init(queue);
    // Blocks a worker for longer than process exit waits.
    let event = queue.submit(task(|| std::thread::sleep(Duration::from_millis(300))));
    queue.submit(launch(1000).after([event]));
    let waiter = std::thread::spawn(|| LATE.get().map_or(1, |queue| queue.submit(launch(10)).wait()));
    WAITER.get_or_init(|| std::sync::Mutex::new(Some(waiter)));
    std::thread::sleep(Duration::from_millis(50));
    1
}
