//! `CLIFT_SYMBOLS`: profilers and debuggers know the names of kernels.

use std::process::Command;

use opencl3::kernel::ExecuteKernel;

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
    let buffer = session.ints(COUNT);
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

/// Takes a number from the front of a file.
fn take<const N: usize>(bytes: &mut &[u8]) -> u64 {
    let (number, rest) = bytes.split_at(N);
    *bytes = rest;
    number.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Takes a text that ends with a zero byte.
fn take_text(bytes: &mut &[u8]) -> String {
    let length = bytes.iter().position(|byte| *byte == 0).expect("an end");
    let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
    *bytes = &bytes[length + 1..];
    text
}

/// The functions in a file for `perf inject`, with the number of bytes and the lines of each.
fn functions_of_dump(mut file: &[u8]) -> Vec<(String, u64, Vec<u64>)> {
    assert_eq!(take::<4>(&mut file), 0x4a69_5444, "the magic number");
    assert_eq!((take::<4>(&mut file), take::<4>(&mut file)), (1, 40), "the version and the header's size");
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    assert_eq!((take::<4>(&mut file), take::<4>(&mut file)), (machine, 0));
    assert_eq!(take::<4>(&mut file), u64::from(std::process::id()));
    let mut time = take::<8>(&mut file);
    assert_eq!(take::<8>(&mut file), 0, "flags");
    let (mut functions, mut lines) = (Vec::new(), None);
    while !file.is_empty() {
        let (kind, size) = (take::<4>(&mut file), take::<4>(&mut file) as usize);
        let written = take::<8>(&mut file);
        assert!(written >= time, "times ascend");
        time = written;
        let (mut content, rest) = file.split_at(size - 16);
        file = rest;
        match kind {
            0 => {
                assert_eq!(take::<4>(&mut content), u64::from(std::process::id()));
                let _thread = take::<4>(&mut content);
                let [runs, generated, bytes, index] = [(); 4].map(|()| take::<8>(&mut content));
                assert_eq!((runs, index), (generated, functions.len() as u64));
                let name = take_text(&mut content);
                assert_eq!(content.len() as u64, bytes, "the code of {name}");
                let lines = match lines.take() {
                    Some((start, lines)) if start == runs => lines,
                    other => other.map_or_else(Vec::new, |_| panic!("lines of another function than {name}")),
                };
                functions.push((name, bytes, lines));
            }
            2 => {
                let (start, count) = (take::<8>(&mut content), take::<8>(&mut content));
                let lines_of = (0..count).map(|_| {
                    let (address, line, _) =
                        (take::<8>(&mut content), take::<4>(&mut content), take::<4>(&mut content));
                    assert!(address >= start);
                    assert_eq!(take_text(&mut content), "kernels.cl");
                    line
                });
                lines = Some((start, lines_of.collect()));
                assert!(content.is_empty());
            }
            other => panic!("a record of kind {other}"),
        }
    }
    functions
}

#[test]
fn perf_inject_finds_code_and_lines_in_a_file() {
    const NAME: &str = "symbols::perf_inject_finds_code_and_lines_in_a_file";
    if child::is_for(NAME) {
        work();
        let path = format!("/tmp/jit-{}.dump", std::process::id());
        let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the process's mappings");
        assert!(maps.lines().any(|line| line.contains(" r-xp ") && line.ends_with(&path)), "{maps}");
        std::fs::remove_file(path).expect("its own file");
        let functions = functions_of_dump(&file);
        let ours = |(name, bytes, lines): &&(String, u64, Vec<u64>)| {
            name.starts_with("stores_its_id") && *bytes > 0 && lines.contains(&4)
        };
        assert!(functions.iter().any(|function| ours(&function)), "{functions:?}");
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let output = child::run(NAME, &[("CLIFT_SYMBOLS", "jitdump")]);
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
