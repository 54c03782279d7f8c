//! What is left in a process when it does nothing, after a fork, or when it no longer uses the driver: no processor time, no
//! memory, no output.

use std::io::{Read as _, Seek as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::sync::atomic::{AtomicBool, Ordering};

use clift_tests::driver;

use super::host::{everything_once, threads, until_threads_are};
use super::*;

/// Processor time of the process so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for one time.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Asserts that the process takes almost no processor time for two seconds. What just ended may still take some before.
fn sleeps(what: &str) {
    std::thread::sleep(Duration::from_millis(300));
    let before = processor_time();
    std::thread::sleep(Duration::from_secs(2));
    let taken = processor_time() - before;
    assert!(taken < Duration::from_millis(20), "{what}: {taken:?} of processor time");
}

/// Resident memory of the process in KiB, after freed memory has been returned to the system.
fn resident() -> usize {
    // SAFETY: the function has no preconditions.
    unsafe { libc::malloc_trim(0) };
    let text = std::fs::read_to_string("/proc/self/statm").expect("the process's sizes");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number of pages") * 4
}

/// Number of mappings with generated code.
fn generated_code() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the process's mappings");
    let fields = maps.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|fields| fields.len() == 5 && fields[1].contains('x')).count()
}

/// Runs the child of a fork; true if it returns true in time. Every other child ends like a program, with its exit handlers.
fn in_child(with_exit_handlers: bool, body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child uses the driver, which supports it; a child that hangs is ended by the alarm.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::alarm(60);
            let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
            if with_exit_handlers {
                libc::exit(i32::from(!passed));
            }
            libc::_exit(i32::from(!passed));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        status == 0
    }
}

/// What the body writes to standard error.
fn errors_of(body: impl FnOnce()) -> String {
    // SAFETY: the descriptors are valid, and the file owns its own.
    unsafe {
        let mut file = std::fs::File::from_raw_fd(libc::memfd_create(c"errors".as_ptr(), 0));
        let kept = libc::dup(2);
        assert_eq!(libc::dup2(file.as_raw_fd(), 2), 2);
        body();
        assert_eq!(libc::dup2(kept, 2), 2);
        let mut text = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("what was written");
        text
    }
}

isolated! {
    /// Queues without work, commands that wait for the application, and threads that wait for these.
    idle_processes_sleep => || {
        let rig = Rig::new();
        rig.works();
        sleeps("after work");
        let event = cl3::event::create_user_event(rig.context).expect("an event");
        let kernel = rig.kernel("kernel void t(global int *a) { a[get_global_id(0)] = 1; }");
        set(kernel, 0, &rig.buffer(4 * ITEMS));
        let other = queue_of(rig.context, 1);
        let events = [rig.queue, other].map(|queue| launch_after(queue, kernel, (ITEMS, 0), &[event]));
        let queue = rig.queue as usize;
        std::thread::scope(|scope| {
            scope.spawn(move || cl3::command_queue::finish(std::ptr::with_exposed_provenance_mut(queue)));
            sleeps("commands wait");
            cl3::event::set_user_event_status(event, 0).expect("it is set once");
        });
        cl3::event::wait_for_events(&events).expect("they end");
        rig.works();
        sleeps("after the commands");
    };
    /// After a fault and a time limit, too, nothing polls.
    idle_processes_sleep_after_faults with ("CLIFT_TIMEOUT", "0.3") => || {
        let rig = Rig::new();
        rig.fails(write_to(&rig, 64), (ITEMS, 0));
        let endless = rig.kernel("kernel void t(global volatile int *flag) { while (flag[0] == 0) ; }");
        set(endless, 0, &rig.buffer(4));
        rig.fails(endless, (64, 64));
        sleeps("after a fault and a kernel that was stopped");
    };
    /// Memory and generated code go with the objects they belong to.
    no_memory_is_left => || {
        let device = session().device_id();
        let (threads_before, code_before) = (threads(), generated_code());
        (0..20).for_each(|_| everything_once(device));
        let before = resident();
        (0..100).for_each(|_| everything_once(device));
        let grown = resident().saturating_sub(before);
        assert!(grown < 2000, "{grown} KiB are left by 100 rounds");
        until_threads_are(threads_before);
        // Functions that many programs have in common are compiled once, and stay.
        assert!(generated_code() <= code_before, "generated code is left");
    };
    /// Neither failures of any kind nor the end of the process print something.
    nothing_is_printed => || {
        let printed = errors_of(|| {
            let rig = Rig::new();
            rig.fails(write_to(&rig, 64), (ITEMS, 0));
            for source in ["kernel void t( {", "#error no\n", "kernel void t() { undeclared(1); }", "#include \"none.h\"\n"] {
                let program = cl3::program::create_program_with_source(rig.context, &[source]).expect("a program");
                let device = session().device_id();
                assert!(cl3::program::build_program(program, &[device], c"", None, std::ptr::null_mut()).is_err());
            }
            let bad = cl3::program::create_program_with_source(rig.context, &[" "]).expect("a program");
            let device = session().device_id();
            assert!(cl3::program::build_program(bad, &[device], c"-no-such-option", None, std::ptr::null_mut()).is_err());
            // SAFETY: no kernel's handle, which the driver has to notice.
            assert!(unsafe { cl3::kernel::release_kernel(rig.context.cast()) }.is_err());
            assert!(in_child(true, || { rig.works(); true }));
        });
        assert_eq!(printed, "");
    };
    /// Forks while other threads create, enqueue and release: the child builds, launches and ends.
    forks_with_commands_in_flight => || {
        static DONE: AtomicBool = AtomicBool::new(false);
        let rig = Rig::new();
        rig.works();
        let device = session().device_id() as usize;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let device = std::ptr::with_exposed_provenance_mut(device);
                    while !DONE.load(Ordering::SeqCst) {
                        everything_once_quietly(device);
                    }
                });
            }
            for round in 0..40 {
                // A child that does nothing only ends, with the driver's exit handlers or without.
                let passed = in_child(round % 2 == 0, || {
                    if round % 3 != 0 {
                        Rig { context: rig.context, queue: queue_of(rig.context, 0) }.works();
                    }
                    true
                });
                assert!(passed, "the child of round {round} fails or hangs");
            }
            DONE.store(true, Ordering::SeqCst);
        });
        rig.works();
    };
    /// Two copies of the library, as an application and one of its plug-ins may bring them: faults go to the copy whose they are.
    two_copies_of_the_library with ("CLIFT_TIMEOUT", "0.3") => || {
        let library = driver::select().library.clone();
        let library = if library.is_file() { library } else { "/usr/lib/x86_64-linux-gnu".parse::<std::path::PathBuf>().expect("a path").join(library) };
        let directory = driver::private_dir().join(format!("copies-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let copy = directory.join("copy.so");
        std::fs::copy(&library, &copy).expect("a copy");
        for (name, library) in [("first.icd", &library), ("second.icd", &copy)] {
            std::fs::write(directory.join(name), format!("{}\n", library.display())).expect("a file");
        }
        // SAFETY: no other thread exists, and the loader is loaded later.
        unsafe { std::env::set_var("OCL_ICD_VENDORS", &directory) };
        let platforms = cl3::platform::get_platform_ids().expect("platforms");
        std::fs::remove_dir_all(&directory).expect("it was made");
        assert_eq!(platforms.len(), 2, "each copy has its platform");
        let device = |platform| cl3::device::get_device_ids(platform, cl3::device::CL_DEVICE_TYPE_ALL).expect("devices")[0];
        let rigs = [Rig::on(device(platforms[0]), &[0]), Rig::on(device(platforms[1]), &[0])];
        for round in 0..6 {
            let rig = &rigs[round % 2];
            rig.fails(write_to(rig, 64), (ITEMS, 0));
            let endless = rig.kernel("kernel void t(global volatile int *flag) { while (flag[0] == 0) ; }");
            set(endless, 0, &rig.buffer(4));
            rig.fails(endless, (64, 64));
            rigs.iter().for_each(Rig::works);
        }
    };
}

/// A kernel on objects of its own, which are released again.
fn everything_once_quietly(device: cl_device_id) {
    let none = std::ptr::null_mut();
    let context = cl3::context::create_context(&[device], std::ptr::null(), None, none).expect("a context");
    let rig = Rig { context, queue: queue_of(context, 0) };
    let kernel = rig.kernel("kernel void t(global int *a) { a[get_global_id(0)] = 7; }");
    let buffer = rig.buffer(4 * ITEMS);
    set(kernel, 0, &buffer);
    let event = launch(rig.queue, kernel, (ITEMS, 0));
    assert_eq!(read(rig.queue, buffer, ITEMS), [7; ITEMS]);
    // SAFETY: the objects are valid and not used any more.
    unsafe {
        cl3::event::release_event(event).expect("a release");
        cl3::kernel::release_kernel(kernel).expect("a release");
        cl3::memory::release_mem_object(buffer).expect("a release");
        cl3::command_queue::release_command_queue(rig.queue).expect("a release");
        cl3::context::release_context(context).expect("a release");
    }
}
