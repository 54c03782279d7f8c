//! What the program does with its output.

use std::process::{Command, Stdio};

#[test]
fn closed_early() {
    // Nobody reads. There is no driver either, so the self-test fails.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_clift-info"));
    let child = command.args(["--library", "none.so"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.code() == Some(1) && errors.is_empty(), "{}: {errors}", child.status);
}
