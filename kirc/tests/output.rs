//! What the program does with its output.

use std::process::{Command, Stdio};

#[test]
fn closed_early() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../jit/tests/files/kir/run/saxpy.kir");
    for task in [&["compile", file, "--print", "canonical"][..], &["run", file], &["digest", file], &["import", file]] {
        // Nobody reads.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = Command::new(env!("CARGO_BIN_EXE_kirc")).args(task).stdout(writer).stderr(Stdio::piped()).output();
        let child = child.unwrap();
        let errors = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success() && errors.is_empty(), "{task:?}: {}: {errors}", child.status);
    }
}
