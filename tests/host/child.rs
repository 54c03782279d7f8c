//! Tests that need a process of their own: for its standard output, or for its environment.

use std::process::{Command, Output};

/// Names the test that a child process is to run the inner part of.
pub(crate) const VARIABLE: &str = "CLIFT_TEST_CHILD";

/// Whether this process was started by [`run`] for the test `name`.
pub(crate) fn is_for(name: &str) -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == name)
}

/// Runs the test `name` (its full path) again in a child process in which [`is_for`] is true, with more environment.
pub(crate) fn run(name: &str, env: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().expect("the running program has a path"))
        .args(["--exact", name, "--nocapture", "--test-threads=1", "--quiet"])
        .env(VARIABLE, name)
        .envs(env.iter().copied())
        .output()
        .expect("a child process")
}

/// The lines between the markers that [`begin`] and [`end`] print.
pub(crate) fn marked(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let inside = text.split_once("<<<begin\n").and_then(|(_, rest)| rest.split_once("<<<end"));
    let inside = inside.map(|(inside, _)| inside.to_owned());
    assert!(output.status.success(), "{}\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    inside.unwrap_or_else(|| panic!("no markers in:\n{text}"))
}

/// Marks the beginning of the output that counts.
pub(crate) fn begin() {
    print_now("<<<begin\n");
}

/// Marks its end.
pub(crate) fn end() {
    print_now("<<<end\n");
}

/// Past every buffer: the driver writes to the same descriptor by other means.
fn print_now(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("standard output");
}
