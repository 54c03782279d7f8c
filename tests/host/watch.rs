//! `CLIFT_WATCH`: a process says what it is doing, to its own user only, and leaves nothing behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use opencl3::event::Event;
use opencl3::kernel::ExecuteKernel;
use opencl3::types::CL_BLOCKING;

use clift_info::watch;
use clift_tests::session::session;

use crate::child;

const ITEMS: usize = 1 << 12;
const SOURCE: &str = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }";

/// Submits commands that wait for an event, and looks at the process from outside.
fn work(directory: &Path) {
    let session = session();
    let (_program, kernel) = session.kernel(SOURCE, "", "twice");
    let queue = session.queue();
    let buffer = session.ints(ITEMS);
    let gate = cl3::event::create_user_event(session.context.get()).expect("an event");
    let gate = Event::new(gate);
    for _ in 0..3 {
        let mut launch = ExecuteKernel::new(&kernel);
        // SAFETY: the kernel writes inside of its buffer.
        let launch = unsafe {
            launch
                .set_arg(&buffer)
                .set_global_work_size(ITEMS)
                .set_event_wait_list(&[gate.get()])
                .enqueue_nd_range(&queue)
        };
        launch.expect("a launch");
    }
    let table = watch::table_of(directory).expect("a table");
    let fields: Vec<&str> = table.lines().nth(1).expect("this process").split_whitespace().collect();
    assert_eq!(fields[0], std::process::id().to_string(), "{table}");
    // Queued, running, ended.
    assert_eq!(fields[4..7], ["3", "0", "0"], "{table}");
    cl3::event::set_user_event_status(gate.get(), 0).expect("the event");
    let mut values = vec![0; ITEMS];
    // SAFETY: the values live until the command has ended.
    unsafe { queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut values, &[]) }.expect("a read");
    let table = watch::table_of(directory).expect("a table");
    assert!(table.contains("kernel  twice") && table.contains("3 launches in"), "{table}");
}

#[test]
fn a_process_says_what_it_does() {
    const NAME: &str = "watch::a_process_says_what_it_does";
    if child::is_for(NAME) {
        let parent = std::env::var_os("XDG_RUNTIME_DIR").expect("a directory");
        work(&Path::new(&parent).join("clift"));
        // A child says nothing, and does not remove the socket.
        // SAFETY: the child only exits.
        let process = unsafe { libc::fork() };
        if process == 0 {
            // SAFETY: ends the child, with its handlers.
            unsafe { libc::exit(0) };
        }
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
        let socket = Path::new(&parent).join(format!("clift/{}.sock", std::process::id()));
        assert!(socket.exists());
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let parent = directory.path().to_str().expect("UTF-8");
    let output = child::run(NAME, &[("CLIFT_WATCH", "1"), ("XDG_RUNTIME_DIR", parent)]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_dir(directory.path().join("clift")).expect("the directory").count(), 0, "a socket is left");
}

#[test]
fn a_directory_that_others_can_enter_is_refused_and_without_the_variable_there_is_none() {
    const NAME: &str = "watch::a_directory_that_others_can_enter_is_refused_and_without_the_variable_there_is_none";
    if child::is_for(NAME) {
        session().kernel(SOURCE, "", "twice");
        let names: Vec<String> = fs::read_dir("/proc/self/task")
            .expect("threads")
            .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok())
            .collect();
        assert!(!names.iter().any(|name| name.trim_end() == "clift-answers"), "{names:?}");
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let parent = directory.path().to_str().expect("UTF-8");
    let output = child::run(NAME, &[("XDG_RUNTIME_DIR", parent)]);
    assert!(output.status.success(), "{output:?}");
    let ours = directory.path().join("clift");
    assert!(!ours.exists());
    fs::create_dir(&ours).expect("a directory");
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).expect("its owner may");
    let output = child::run(NAME, &[("CLIFT_WATCH", "1"), ("XDG_RUNTIME_DIR", parent)]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.contains("mode 0700"), "{output:?}");
    assert_eq!(fs::read_dir(&ours).expect("the directory").count(), 0);
}
