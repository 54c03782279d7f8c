//! Smaller files with the same fault.

use std::path::Path;
use std::process::Command;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../jit/tests/files");

/// Minimizes a file for a command, and gives what is left, as kernel IR.
fn minimized(file: &str, command: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let extension = Path::new(file).extension().unwrap().to_str().unwrap();
    let output = folder.path().join(format!("small.{extension}"));
    let kirc = |arguments: &[&str]| {
        let child = Command::new(env!("CARGO_BIN_EXE_kirc")).args(arguments).output().unwrap();
        assert!(child.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&child.stderr));
        String::from_utf8(child.stdout).unwrap()
    };
    let (file, output) = (format!("{FILES}/{file}"), output.to_str().unwrap());
    kirc(&[&["minimize", &file, "-o", output, "--"], command].concat());
    match extension {
        "spv" => kirc(&["import", "--print", output]),
        _ => std::fs::read_to_string(output).unwrap(),
    }
}

#[test]
fn kernel_ir() {
    let small = minimized("kir/run/saxpy.kir", &["grep", "-q", "fmul"]);
    let lines: Vec<&str> = small.lines().map(str::trim).collect();
    let undefined = |line: &str| line.ends_with(": f32 = undef");
    assert!(lines.len() <= 8 && lines.iter().any(|line| line.contains("= fmul ")), "{small}");
    assert!(lines.iter().any(|line| undefined(line)) && !small.contains("load"), "{small}");
}

#[test]
fn spir_v() {
    // The module is asked for what it becomes: the file follows as `$0`.
    let question = concat!(env!("CARGO_BIN_EXE_kirc"), " import --print \"$0\" | grep -q \"icmp ugt\"");
    let small = minimized("spirv/run/logic.spv", &["sh", "-c", question]);
    assert!(small.contains("icmp ugt") && small.lines().count() < 20, "{small}");
}

#[test]
fn a_command_that_never_succeeds() {
    let file = format!("{FILES}/kir/run/saxpy.kir");
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("small.kir");
    let arguments = ["minimize", &file, "-o", output.to_str().unwrap(), "--", "false"];
    let child = Command::new(env!("CARGO_BIN_EXE_kirc")).args(arguments).output().unwrap();
    assert!(!child.status.success());
}
