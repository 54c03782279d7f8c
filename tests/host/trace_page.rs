//! The page that `clift-report` makes from a trace: a program is traced, and the page shows what it did. If there is a browser,
//! it opens the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use opencl3::kernel::ExecuteKernel;
use opencl3::types::{CL_BLOCKING, cl_int};

use clift_info::page;
use clift_info::peaks::Peaks;
use clift_info::trace::events::Trace;
use clift_info::trace::summary::Summary;
use clift_tests::session::session;

use crate::child;

const ITEMS: usize = 1 << 14;
const STEPS: cl_int = 100;

/// The second line of `scattered` is a scatter; the loop of `steps` ends at an argument.
const SOURCE: &str = "kernel void scattered(global int *a, global const int *b, int n) {
    a[b[get_global_id(0)]] = n;
}
kernel void steps(global float *a, global const int *b, int n) {
    float x = a[get_global_id(0)];
    for (int i = 0; i < n; i++)
        x = fma(x, x, 1.0f);
    a[get_global_id(0)] = x + b[0];
}";

/// Runs both kernels, the first one twice.
fn work() {
    let session = session();
    let queue = session.queue();
    let (a, b) = (session.ints(ITEMS), session.ints(ITEMS));
    for (name, launches) in [("scattered", 2), ("steps", 1)] {
        let (_program, kernel) = session.kernel(SOURCE, "", name);
        for _ in 0..launches {
            let mut launch = ExecuteKernel::new(&kernel);
            // SAFETY: the arguments have the parameters' types, and the kernels access their buffers inside.
            let launch = unsafe {
                launch.set_arg(&a).set_arg(&b).set_arg(&STEPS).set_global_work_size(ITEMS).enqueue_nd_range(&queue)
            };
            launch.expect("a launch");
        }
    }
    let mut values = vec![0; ITEMS];
    // SAFETY: the values live until the command has ended.
    unsafe { queue.enqueue_read_buffer(&a, CL_BLOCKING, 0, &mut values, &[]) }.expect("a read");
}

/// The trace of a process that does [`work`].
fn traced(name: &str, directory: &Path) -> Vec<u8> {
    let path = directory.join("trace.json");
    let output = child::run(name, &[("CLIFT_TRACE", path.to_str().expect("UTF-8")), ("CLIFT_WIDTH", "8")]);
    assert!(output.status.success(), "{output:?}");
    fs::read(path).expect("the trace")
}

fn peaks() -> Option<Peaks> {
    Some("100,10".parse().expect("two numbers"))
}

#[test]
fn shows_what_the_program_did() {
    const NAME: &str = "trace_page::shows_what_the_program_did";
    if child::is_for(NAME) {
        work();
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let text = traced(NAME, directory.path());
    let trace = Trace::read(&text).expect("a trace");
    assert!(trace.problems.is_empty(), "{:?}", trace.problems);
    for fact in ["device", "driver", "threads", "backend"] {
        assert!(trace.facts.contains_key(fact), "{fact}: {:?}", trace.facts);
    }
    let summary = Summary::of(&trace);
    let kernel = |name: &str| summary.kernels.iter().find(|kernel| kernel.name == name).expect("a kernel");
    let scattered = kernel("scattered");
    assert_eq!((scattered.launches(), scattered.items), (2, Some(2.0 * ITEMS as f64)));
    assert_eq!(scattered.argument_bytes, Some(8.0 * ITEMS as f64), "two buffers");
    let remarks = scattered.remarks();
    assert!(remarks.iter().any(|remark| remark.kind == "scatter" && remark.lines == "2"), "{remarks:?}");
    let steps = kernel("steps");
    let lanes = steps.code.as_ref().map(|code| code.lanes.iter().copied().collect::<Vec<_>>());
    assert_eq!(lanes, Some(vec![8]));
    // Each step is a multiply-add, and the launch knows how many there are.
    let floats = steps.work.expect("counts").floats / ITEMS as f64;
    assert!(!steps.is_bound && (200.0..=202.0).contains(&floats), "{floats} {}", steps.is_bound);
    let page = page::of(&trace, "trace.json", peaks());
    for text in ["scattered", "steps", "scatter to", "clBuildProgram", "canonical", "</html>"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn shows_a_process_that_was_killed() {
    const NAME: &str = "trace_page::shows_a_process_that_was_killed";
    if child::is_for(NAME) {
        work();
        return;
    }
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let text = traced(NAME, directory.path());
    let trace = Trace::read(&text[..text.len() - 300]).expect("a trace");
    assert_eq!(trace.problems.len(), 1, "{:?}", trace.problems);
    assert!(page::of(&trace, "trace.json", None).contains("The end of the trace is missing"));
}

/// The browser in which pages are opened, without its updates and its other traffic.
fn browser() -> Option<PathBuf> {
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories).map(|directory| directory.join("chromium")).find(|path| path.is_file())
}

/// Opens a page. Returns the document as it is once its script has run, and a picture.
fn open(browser: &Path, page: &Path, directory: &Path) -> (String, Vec<u8>) {
    const OPTIONS: [&str; 10] = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--window-size=1000,700",
    ];
    let run = |what: &str, profile: &str| {
        let mut command = Command::new(browser);
        command.args(OPTIONS).arg(what).arg(format!("--user-data-dir={}", directory.join(profile).display()));
        command.arg(format!("file://{}", page.display())).stdin(Stdio::null()).stderr(Stdio::null());
        let output = directory.join(format!("{profile}.out"));
        let mut process =
            command.stdout(fs::File::create(&output).expect("a file")).spawn().expect("the browser starts");
        let begun = Instant::now();
        while process.try_wait().expect("a process").is_none() {
            if begun.elapsed() > Duration::from_secs(120) {
                process.kill().expect("it runs");
                process.wait().expect("it ends");
                panic!("the browser does not end");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        fs::read_to_string(output).expect("text")
    };
    let picture = directory.join("page.png");
    let document = run("--dump-dom", "document");
    run(&format!("--screenshot={}", picture.display()), "picture");
    (document, fs::read(picture).expect("a picture"))
}

#[test]
fn a_browser_shows_the_page() {
    const NAME: &str = "trace_page::a_browser_shows_the_page";
    if child::is_for(NAME) {
        work();
        return;
    }
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium");
        return;
    };
    if !session().driver.is_clift {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let trace = Trace::read(&traced(NAME, directory.path())).expect("a trace");
    let page = directory.path().join("page.html");
    fs::write(&page, page::of(&trace, "trace.json", peaks())).expect("a file");
    let (document, picture) = open(&browser, &page, directory.path());
    // The script says so when it has drawn the time line.
    assert!(document.contains("data-drawn="), "the script failed: {document}");
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("a picture");
    assert_eq!((info.width, info.height), (1000, 700));
    let channels = info.color_type.samples();
    let colours: std::collections::HashSet<&[u8]> = pixels[..info.buffer_size()].chunks_exact(channels).collect();
    assert!(colours.len() > 20, "{} colours", colours.len());
}
