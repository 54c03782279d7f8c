//! Runs the file tests of `jit/tests/files/spirv`: pairs of an assembled module (`.spv`, what is tested) and its text
//! (`.spvasm`, what is read), with what is expected in the comments at the head of the text.
//!
//! ```text
//! ; run: KERNEL global=4 local=2          one run, in the interpreter, as imported and after the canonical passes;
//!                                         `sub_group=4` for sub-groups of more than one work-item
//! ; arg: buffer i32 1 2 3                 arguments in order: memory with content,
//! ; arg: buffer i32 zero 8                memory of 8 zeros,
//! ; arg: value f32 1.5                    a value,
//! ; arg: local 64                         local memory of 64 bytes
//! ; expect: 0 i32 4 5 6                   what argument 0 holds after the run
//! ; spec: 1 i32 5                         a specialization constant, for the runs of the file
//! ; link: other.spv                       a further module of the program
//! ; error: malformed SPIR-V at word 40 …  the import fails with exactly this text
//! ```
//!
//! What is run is run once more as `spirv-opt` optimizes it, where that is installed.
//!
//! `CLIFT_BLESS=1` assembles every text with `spirv-as` and writes down the errors as they are now.
//! `cargo test -p clift-jit --test spirv -- NAME` runs those whose path contains NAME.
#![allow(missing_docs, reason = "a test")]

mod case;
mod launch;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clift_jit::{ModuleInput, Options, spirv, testing};
use libtest_mimic::{Arguments, Failed, Trial};

use case::Case;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/spirv");
    let mut paths = Vec::new();
    collect(&root, &mut paths).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    paths.sort();
    let trials = paths.into_iter().flat_map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let optimized = name.starts_with("run").then(|| {
            let path = path.clone();
            Trial::test(format!("{name} optimized"), move || check_optimized(&path).map_err(Failed::from))
        });
        std::iter::once(Trial::test(name, move || check(&path).map_err(Failed::from))).chain(optimized)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// All `.spvasm` files below a directory.
fn collect(dir: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "spvasm") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Runs one file.
fn check(path: &Path) -> Result<(), String> {
    let text = read(path)?;
    let binary = path.with_extension("spv");
    let bless = std::env::var_os("CLIFT_BLESS").is_some();
    if bless {
        assemble(path, &binary, &text)?;
    }
    let case = Case::parse(&text)?;
    let words = words(&binary)?;
    let linked = case.link.iter().map(|name| words_beside(path, name)).collect::<Result<Vec<_>, _>>()?;
    let mut inputs = vec![ModuleInput { spec_constants: &case.spec, ..ModuleInput::new(&words) }];
    inputs.extend(linked.iter().map(|words| ModuleInput::new(words)));
    let options = Options { arg_info: true, ..Options::default() };
    match (spirv::import(&inputs, &options), &case.error) {
        (Err(error), _) if bless => bless_error(path, &text, &error.to_string()),
        (Err(error), Some(expected)) if error.to_string() == *expected => Ok(()),
        (Err(error), Some(expected)) => Err(format!("expected: {expected}\n     got: {error}")),
        (Err(error), None) => Err(error.to_string()),
        (Ok(_), Some(expected)) => Err(format!("imported, but expected: {expected}")),
        (Ok(mut imported), None) => {
            clift_kir::verify::module(&imported.module).map_err(|errors| errors.to_string())?;
            let context =
                |stage: &str, reason: String, module: &clift_kir::Module| format!("{stage}: {reason}\n{module}");
            for run in &case.runs {
                launch::run(&imported, run).map_err(|reason| context("imported", reason, &imported.module))?;
            }
            testing::canonicalize(&mut imported.module, &options).map_err(|error| error.to_string())?;
            for run in &case.runs {
                launch::run(&imported, run).map_err(|reason| context("canonical", reason, &imported.module))?;
            }
            Ok(())
        }
    }
}

/// Runs what an optimizer of modules, if there is one, makes of one file: the same must come out.
fn check_optimized(path: &Path) -> Result<(), String> {
    let case = Case::parse(&read(path)?)?;
    for level in ["-O", "-Os"] {
        let optimized = Command::new("spirv-opt").arg(level).arg(path.with_extension("spv")).args(["-o", "-"]).output();
        // It dies of some modules, and stops at others.
        let Ok(output) = optimized else { return Ok(()) };
        if !output.status.success() {
            continue;
        }
        let words = as_words(&output.stdout);
        let linked = case.link.iter().map(|name| words_beside(path, name)).collect::<Result<Vec<_>, _>>()?;
        let mut inputs = vec![ModuleInput { spec_constants: &case.spec, ..ModuleInput::new(&words) }];
        inputs.extend(linked.iter().map(|words| ModuleInput::new(words)));
        let options = Options { arg_info: true, ..Options::default() };
        let imported = spirv::import(&inputs, &options).map_err(|error| format!("{level}: {error}"))?;
        clift_kir::verify::module(&imported.module).map_err(|errors| errors.to_string())?;
        for run in &case.runs {
            launch::run(&imported, run).map_err(|reason| format!("{level}: {reason}\n{}", imported.module))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn words(path: &Path) -> Result<Vec<u32>, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(as_words(&bytes))
}

fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn words_beside(path: &Path, name: &str) -> Result<Vec<u32>, String> {
    words(&path.with_file_name(name))
}

/// Assembles a text. The version is that of its `; version:` line, 1.4 without one.
fn assemble(path: &Path, binary: &Path, text: &str) -> Result<(), String> {
    let version = text.lines().find_map(|line| line.strip_prefix("; version: ")).unwrap_or("1.4");
    let mut command = Command::new("spirv-as");
    command.args(["--preserve-numeric-ids", "--target-env", &format!("spv{version}")]).arg("-o").arg(binary).arg(path);
    let output = command.output().map_err(|error| format!("spirv-as: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Writes down an error in place of the one expected.
fn bless_error(path: &Path, text: &str, error: &str) -> Result<(), String> {
    let Some(old) = text.lines().find(|line| line.starts_with("; error:")) else {
        return Err(error.to_owned());
    };
    std::fs::write(path, text.replacen(old, &format!("; error: {error}"), 1)).map_err(|error| error.to_string())
}
