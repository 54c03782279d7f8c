//! The programs of `examples/` that the book shows: each is built, run through the loader, and prints the right sum.

use std::path::{Path, PathBuf};
use std::process::Command;

use clift_tests::driver;

/// What every program prints.
const ANSWER: &str = "the sum of the squares is 332833500.0\n";

/// The Python with PyOpenCL; by default `python3`.
const PYTHON: &str = "CLIFT_TEST_PYTHON";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

/// A command that uses the driver under test: [`driver::select`] sets the environment.
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    driver::select();
    Command::new(program)
}

/// Checks what a program prints. The log of a build without warnings is empty, so there is nothing on standard error.
fn check(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (answer, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{answer}{errors}", output.status);
    assert_eq!((answer.as_ref(), errors.as_ref()), (ANSWER, ""));
}

/// Compiles and runs a program. Skipped if the compiler, the header or the library to link with is missing.
fn compiled(compiler: &str, source: &str, header: &str, packages: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let compile = |source: &Path, program: &str| {
        let program = directory.path().join(program);
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra"]).arg(source).args(["-lOpenCL", "-o"]).arg(&program);
        command.output().map(|output| (program, output))
    };
    let probe = directory.path().join("probe").with_extension(Path::new(source).extension().unwrap_or_default());
    std::fs::write(&probe, format!("#define CL_TARGET_OPENCL_VERSION 300\n#include <{header}>\nint main(void) {{}}\n"))
        .expect("a temporary file");
    if !compile(&probe, "probe").is_ok_and(|(_, output)| output.status.success()) {
        eprintln!("skipped: {compiler} finds no <{header}> or no libOpenCL.so; install {packages}");
        return;
    }
    let (program, output) = compile(&example(source), "square").expect("the compiler ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    check(&mut command(program));
}

#[test]
fn c() {
    compiled("cc", "square.c", "CL/cl.h", "gcc, opencl-c-headers, ocl-icd-opencl-dev");
}

#[test]
fn cpp() {
    compiled("c++", "square.cpp", "CL/opencl.hpp", "g++, opencl-clhpp-headers, ocl-icd-opencl-dev");
}

/// The Python with some modules. Skipped if it has not all of them.
fn python_with(modules: &str) -> Option<String> {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let imports = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    let found = imports.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {python} does not import {modules}; set {PYTHON} to one that does");
    }
    found.then_some(python)
}

#[test]
fn python() {
    let Some(python) = python_with("numpy, pyopencl") else { return };
    check(command(python).arg(example("square.py")).env("PYOPENCL_NO_CACHE", "1"));
}

#[test]
fn a_program_to_look_inside() {
    let Some(python) = python_with("numpy, pyopencl") else { return };
    let output = command(python).arg(example("inside.py")).env("PYOPENCL_NO_CACHE", "1").output().expect("a program");
    let (answer, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && answer.starts_with("counted ") && errors.is_empty(), "{answer}{errors}");
}

/// Runs a program of a cluster. It compares its results with those of one process, and prints times.
fn cluster(command: &mut Command, program: &str) {
    let program = example("cluster").join(program);
    let output = command.arg("-B").arg(program).env("PYOPENCL_NO_CACHE", "1").output().expect("a program");
    let (answer, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && answer.ends_with("the integral is 3.141592654\n"), "{answer}{errors}");
}

#[test]
fn dask() {
    let Some(python) = python_with("numpy, pyopencl, distributed") else { return };
    cluster(&mut command(python), "dask_workers.py");
}

#[test]
fn mpi() {
    let Some(python) = python_with("numpy, pyopencl, mpi4py.MPI") else { return };
    // Pip installs it beside Python.
    let beside = Path::new(&python).with_file_name("mpiexec");
    let launcher = if beside.is_file() { beside } else { PathBuf::from("mpiexec") };
    if !Command::new(&launcher).arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no mpiexec");
        return;
    }
    cluster(command(launcher).args(["-n", "2"]).arg(python), "mpi_ranks.py");
}

/// Cargo builds the program with the tests of the package, though not with a single one.
#[test]
fn rust() {
    let tests = std::env::current_exe().expect("the running program has a path");
    let program = tests.ancestors().nth(2).expect("tests are in target/PROFILE/deps").join("examples/square");
    if !program.is_file() {
        eprintln!("skipped: no {}; cargo build -p clift-tests --example square makes it", program.display());
        return;
    }
    check(&mut command(program));
}
