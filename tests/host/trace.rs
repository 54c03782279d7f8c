//! `CLIFT_TRACE`: the file shows what a process has done, whatever way the process ends.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use opencl3::kernel::ExecuteKernel;
use opencl3::types::CL_NON_BLOCKING;
use serde_json::Value;

use clift_tests::session::session;

use crate::child;

const COUNT: usize = 1 << 16;

const SOURCE: &str = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }";

/// Builds a program, and runs two commands of which the second waits for the first.
fn work() {
    let session = session();
    let (_program, kernel) = session.kernel(SOURCE, "", "twice");
    let queue = session.out_of_order_queue();
    let mut values = vec![21; COUNT];
    let mut buffer = session.ints(COUNT);
    // SAFETY: the values live until the commands have ended.
    let write = unsafe { queue.enqueue_write_buffer(&mut buffer, CL_NON_BLOCKING, 0, &values, &[]) }.expect("a write");
    // SAFETY: the kernel writes inside of its buffer.
    let launch = unsafe {
        ExecuteKernel::new(&kernel)
            .set_arg(&buffer)
            .set_global_work_size(COUNT)
            .set_event_wait_list(&[write.get()])
            .enqueue_nd_range(&queue)
    };
    let launch = launch.expect("a launch");
    // SAFETY: as above.
    let read = unsafe { queue.enqueue_read_buffer(&buffer, CL_NON_BLOCKING, 0, &mut values, &[launch.get()]) };
    read.expect("a read").wait().expect("the commands");
    assert!(values.iter().all(|value| *value == 42));
}

/// The events of a file. The end of the array may be missing.
fn events(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn named<'a>(events: &'a [Value], group: &str, name: &str) -> &'a Value {
    let found = events.iter().find(|event| event["cat"] == group && event["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} of {group} in {events:#?}"))
}

/// Begin and end of a slice in microseconds, with fractions.
fn times(slice: &Value) -> (f64, f64) {
    let start = slice["ts"].as_f64().expect("a time");
    (start, start + slice["dur"].as_f64().expect("a duration"))
}

#[test]
fn shows_calls_builds_commands_and_work_groups() {
    const NAME: &str = "trace::shows_calls_builds_commands_and_work_groups";
    if child::is_for(NAME) {
        work();
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("trace.json");
    let output = child::run(NAME, &[("CLIFT_TRACE", path.to_str().expect("UTF-8"))]);
    assert!(output.status.success(), "{output:?}");
    let events = events(&path);

    // Stages are inside of the call that builds.
    let build = times(named(&events, "api", "clBuildProgram"));
    for stage in ["front end", "whole build", "canonical", "emit"] {
        let (start, end) = times(named(&events, "build", stage));
        // Stages have whole microseconds.
        assert!(start >= build.0 - 1.0 && end <= build.1, "{stage}: {start} to {end} of {build:?}");
    }
    // All work-groups were executed, by named threads, within the time of the command.
    let command = named(&events, "command", "twice");
    let (start, end) = times(command);
    let mut done = 0;
    let names: BTreeMap<_, _> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| (event["tid"].as_u64(), event["args"]["name"].as_str()))
        .collect();
    for slice in events.iter().filter(|event| event["cat"] == "work-groups") {
        let (from, to) = times(slice);
        assert!(slice["name"] == "twice" && from >= start - 0.001 && to <= end + 0.001, "{slice} {command}");
        assert!(names.contains_key(&slice["tid"].as_u64()));
        done += slice["args"]["count"].as_u64().expect("a number of groups");
    }
    assert!(done > 0);
    // The launch waited for the write, and the read for the launch: arrows lead from one to the other.
    let order = ["CL_COMMAND_WRITE_BUFFER", "twice", "CL_COMMAND_READ_BUFFER"].map(|name| {
        let command = named(&events, "command", name);
        (command["tid"].as_u64().expect("a track"), times(command))
    });
    let at = |event: &Value| (event["tid"].as_u64().expect("a track"), event["ts"].as_f64().expect("a time"));
    let arrows: Vec<_> = events
        .iter()
        .filter(|event| event["ph"] == "s")
        .map(|start| {
            let ends = |event: &&Value| event["ph"] == "f" && event["id"] == start["id"];
            (at(start), at(events.iter().find(ends).expect("the end of an arrow")))
        })
        .collect();
    let inside = |(track, time): (u64, f64), &(of, (start, end)): &(u64, (f64, f64))| {
        track == of && (start..=end).contains(&time)
    };
    assert!(order.windows(2).all(|pair| pair[0].1.1 <= pair[1].1.0), "{order:?}");
    for command in &order {
        assert!(arrows.iter().any(|(_, to)| inside(*to, command)), "{command:?} {arrows:?}");
    }
    // The buffer, among others.
    let most = events.iter().filter(|event| event["ph"] == "C").filter_map(|event| event["args"]["value"].as_u64());
    assert!(most.max() >= Some(4 * COUNT as u64));
    // Every track has a name, and slices of a track do not overlap, except inside of another.
    let tracks: HashSet<_> =
        events.iter().filter(|event| event["ph"] == "X").map(|event| event["tid"].as_u64()).collect();
    assert!(tracks.iter().all(|track| names.contains_key(track)), "{names:?}");
}

#[test]
fn the_child_of_a_fork_has_a_file_of_its_own() {
    const NAME: &str = "trace::the_child_of_a_fork_has_a_file_of_its_own";
    if child::is_for(NAME) {
        work();
        // SAFETY: the child uses this library as the first process of a program may.
        let process = unsafe { libc::fork() };
        if process == 0 {
            work();
            // SAFETY: ends the child, with its handlers.
            unsafe { libc::exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(process, &raw mut status, 0) };
        assert_eq!(status, 0);
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("trace.json");
    let output = child::run(NAME, &[("CLIFT_TRACE", path.to_str().expect("UTF-8"))]);
    assert!(output.status.success(), "{output:?}");
    let files: Vec<PathBuf> =
        std::fs::read_dir(directory.path()).expect("files").map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let events = events(&file);
        let processes: HashSet<_> = events.iter().map(|event| event["pid"].as_u64()).collect();
        assert_eq!(processes.len(), 1, "{}", file.display());
        assert_eq!(events.iter().filter(|event| event["cat"] == "command" && event["name"] == "twice").count(), 1);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_reported_once() {
    const NAME: &str = "trace::a_file_that_cannot_be_written_is_reported_once";
    if child::is_for(NAME) {
        work();
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let output = child::run(NAME, &[("CLIFT_TRACE", "/nowhere/trace.json")]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.matches("CLIFT_TRACE=/nowhere/trace.json").count() == 1, "{text}");
}
