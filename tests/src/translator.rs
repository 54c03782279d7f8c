//! Compiles OpenCL C to SPIR-V with LLVM IR and the SPIR-V-LLVM translator, like most programs that ship SPIR-V, for kernel tests
//! whose program is created from the module instead of from the source.
//!
//! The tools are Debian's clang 15 and llvm-spirv 15 ([`is_installed`]). If [`LEVEL`] is set in the environment, every kernel
//! test uses them; a failure of the tools is not the driver's fault, and the test is skipped.

use std::io::Write;
use std::process::{Command, Stdio};

/// The environment variable that selects this for kernel tests: the optimization level of clang, `-O0` or `-O2`.
pub const LEVEL: &str = "CLIFT_TEST_TRANSLATED";

/// Compiles OpenCL C to LLVM IR.
const CLANG: &str = "clang-15";
/// Compiles LLVM IR to SPIR-V.
const TRANSLATOR: &str = "llvm-spirv-15";

/// Extensions that the translator may use: those that both it and the driver support.
const EXTENSIONS: &str = "+SPV_KHR_no_integer_wrap_decoration,+SPV_KHR_linkonce_odr,+SPV_KHR_expect_assume,\
                          +SPV_KHR_bit_instructions,+SPV_KHR_float_controls,+SPV_KHR_integer_dot_product,\
                          +SPV_KHR_subgroup_rotate,+SPV_KHR_uniform_group_instructions,\
                          +SPV_EXT_shader_atomic_float_add,+SPV_EXT_shader_atomic_float_min_max";

/// The optimization level in [`LEVEL`].
pub fn level() -> Option<String> {
    std::env::var(LEVEL).ok()
}

/// Checks that the tools are installed.
///
/// # Errors
/// A sentence that names the missing programs.
pub fn is_installed() -> Result<(), String> {
    let runs = |name: &str| {
        let mut command = Command::new(name);
        let command = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if runs(CLANG) && runs(TRANSLATOR) { Ok(()) } else { Err(format!("needs {CLANG} and {TRANSLATOR} installed")) }
}

/// The module of a source.
///
/// # Errors
/// The first line of the error of the tool that failed.
pub fn translate(source: &str, options: &str, level: &str) -> Result<Vec<u8>, String> {
    let mut clang = Command::new(CLANG);
    clang.args([
        "-c",
        "-target",
        "spir64",
        "-x",
        "cl",
        "-emit-llvm",
        "-Xclang",
        "-finclude-default-header",
        "-fgnu89-inline",
        "-fno-strict-aliasing",
        "-w",
        level,
    ]);
    clang.args(options.split_whitespace()).args(["-", "-o", "-"]);
    let ir = pipe(&mut clang, source.as_bytes()).map_err(|error| format!("{CLANG}: {error}"))?;
    let mut translator = Command::new(TRANSLATOR);
    translator.arg(format!("--spirv-ext={EXTENSIONS}")).args(["-", "-o", "-"]);
    pipe(&mut translator, &ir).map_err(|error| format!("{TRANSLATOR}: {error}"))
}

/// The build options of a source that also apply to a module.
pub fn module_options(options: &str) -> String {
    let kept = options.split_whitespace().filter(|word| word.starts_with("-cl-") && !word.starts_with("-cl-std"));
    kept.collect::<Vec<_>>().join(" ")
}

/// Runs a tool with an input and returns its output.
fn pipe(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let Some(mut stdin) = child.stdin.take() else { return Err("no pipe to write to".to_owned()) };
    // Both tools read everything before they write; one that ends early closes the pipe.
    let written = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
        return Err(format!("{} ({})", lines.join(" "), output.status));
    }
    written.map_err(|error| error.to_string())?;
    Ok(output.stdout)
}
