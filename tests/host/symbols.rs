//! `CLIFT_SYMBOLS`: profilers and debuggers know the names of kernels.

use std::process::Command;

use opencl3::kernel::ExecuteKernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::types::cl_int;

use clift_tests::session::session;

use crate::child;

const COUNT: usize = 256;

/// The kernel stores on line 4.
const SOURCE: &str = "kernel void stores_its_id(global int *a)
{
    size_t i = get_global_id(0);
    a[i] = i;
}";

/// Builds and launches the kernel.
fn work() {
    let session = session();
    let (_program, kernel) = session.kernel(SOURCE, "", "stores_its_id");
    let queue = session.queue();
    // SAFETY: no host memory is given.
    let buffer = unsafe { Buffer::<cl_int>::create(&session.context, CL_MEM_READ_WRITE, COUNT, std::ptr::null_mut()) };
    let buffer = buffer.expect("a buffer");
    // SAFETY: the kernel writes inside of its buffer.
    let launch = unsafe {
        ExecuteKernel::new(&kernel)
            .set_arg(&buffer)
            .set_global_work_size(COUNT)
            .set_local_work_size(64)
            .enqueue_nd_range(&queue)
    };
    launch.expect("a launch").wait().expect("the launch");
}

#[test]
fn perf_finds_the_names_in_a_file() {
    const NAME: &str = "symbols::perf_finds_the_names_in_a_file";
    if child::is_for(NAME) {
        work();
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        std::fs::remove_file(path).expect("its own file");
        let functions: Vec<_> = text.lines().filter(|line| line.contains("stores_its_id")).collect();
        assert!(!functions.is_empty(), "{text}");
        for function in functions {
            let mut words = function.splitn(3, ' ');
            let mut number = || u64::from_str_radix(words.next().expect("a number"), 16).expect("a number");
            assert!(number() > 0 && number() > 0, "{function}");
        }
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let output = child::run(NAME, &[("CLIFT_SYMBOLS", "perf")]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn gdb_stops_at_kernels() {
    const NAME: &str = "symbols::gdb_stops_at_kernels";
    if child::is_for(NAME) {
        work();
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let program = std::env::current_exe().expect("the running program has a path");
    let commands = [
        "set breakpoint pending on",
        "set debuginfod enabled off",
        "handle all nostop noprint pass",
        "break stores_its_id",
        "run",
        "backtrace 1",
        "info symbol $pc",
        "info line 4",
        "delete",
        "continue",
    ];
    let output = Command::new("gdb")
        .arg("-batch")
        .arg("-nx")
        .args(commands.iter().flat_map(|command| ["-ex", command]))
        .arg("--args")
        .arg(program)
        .args(["--exact", NAME, "--nocapture", "--test-threads=1", "--quiet"])
        .envs([("CLIFT_TEST_CHILD", NAME), ("CLIFT_SYMBOLS", "gdb")])
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: no gdb");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("ptrace") || errors.contains("Could not trace") {
        eprintln!("skipped: no process can be traced: {errors}");
        return;
    }
    assert!(text.contains("#0") && text.contains("stores_its_id () at kernels.cl:"), "{text}\n{errors}");
    assert!(text.contains("Line 4 of \"kernels.cl\""), "{text}\n{errors}");
    assert!(text.contains("exited normally"), "{text}\n{errors}");
}
