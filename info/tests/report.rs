//! The program `clift-report`: its options, its exit status, and what it says of files that are not traces.

use std::fs;
use std::process::{Command, Output};

const TRACE: &str = include_str!("small.json");

fn report(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clift-report")).args(args).output().expect("the program")
}

#[test]
fn a_page_is_made_from_a_trace() {
    let directory = tempfile::tempdir().expect("a directory");
    let [trace, page] = ["trace.json", "page.html"].map(|name| directory.path().join(name).display().to_string());
    fs::write(&trace, TRACE).expect("a file");
    let output = report(&[&trace, "--peaks=100,10", "-o", &page]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let made = fs::read_to_string(&page).expect("the page");
    assert!(made.starts_with("<!DOCTYPE html>") && made.contains("100 GFLOP/s"));
    let output = report(&[&trace, "--peaks=100,10"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), made, "the same on standard output");
}

#[test]
fn the_page_is_made_from_what_there_is_of_a_trace() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("trace.json").display().to_string();
    fs::write(&trace, &TRACE[..TRACE.len() - 200]).expect("a file");
    let output = report(&[&trace]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("The end of the trace is missing"), "{output:?}");
}

#[test]
fn what_is_no_trace_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file").display().to_string();
    for (text, reason) in [("", "empty"), ("some text", "not a trace"), ("{\"a\": 1}", "not a trace")] {
        fs::write(&file, text).expect("a file");
        let output = report(&[&file]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(errors.contains(&file) && errors.contains(reason), "{errors}");
    }
    assert_eq!(report(&["/nowhere/trace.json"]).status.code(), Some(1));
    for wrong in [vec![], vec!["--peaks=1,0", "x"], vec!["-o", "page.html", "--peaks=1,1"]] {
        assert_eq!(report(&wrong).status.code(), Some(2), "{wrong:?}");
    }
}
