//! Commands and paths: helpers to run other programs and to report that.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the source tree.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The directory of cargo's output.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A cargo command in the source tree, with the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// `cargo test` of the packages that `rest` names with `-p`, else of all: cargo ignores `-p` beside `--workspace`.
pub(crate) fn cargo_test(rest: &[String]) -> Command {
    let own = rest.split(|word| word == "--").next().unwrap_or_default();
    let mut command = cargo();
    command.arg("test");
    if !own.iter().any(|word| names_package(word)) {
        command.arg("--workspace");
    }
    command.args(rest);
    command
}

/// Whether an argument of cargo names a package: `-p NAME`, `-pNAME`, `--package NAME` or `--package=NAME`.
fn names_package(word: &str) -> bool {
    word == "--package" || word.starts_with("--package=") || word.starts_with("-p")
}

/// Runs `command` with its output shown.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Standard output of `command`, or `None` when it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether `program` is on the search path.
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// The search path with a directory before all others.
///
/// # Errors
/// When the directory's name cannot be in a search path.
pub(crate) fn path_before(directory: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(directory.to_path_buf()).chain(std::env::split_paths(&path));
    std::env::join_paths(directories).context("a search path")
}

/// The command in shell notation.
fn shown(command: &Command) -> String {
    let env = command.get_envs().filter_map(|(key, value)| {
        let value = value?.to_string_lossy().into_owned();
        Some(format!("{}={value}", key.to_string_lossy()))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(OsStr::to_string_lossy);
    env.chain(words.map(|word| if word.contains(' ') { format!("'{word}'") } else { word.into_owned() }))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_one_package_are_not_those_of_all() {
        let shown = |words: &[&str]| {
            let rest: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let command = cargo_test(&rest);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[]), "test --workspace");
        assert_eq!(shown(&["--profile", "dev", "fdim"]), "test --workspace --profile dev fdim");
        assert_eq!(shown(&["-p", "clift-kir", "fdim"]), "test -p clift-kir fdim");
        assert_eq!(shown(&["--package=clift-kir"]), "test --package=clift-kir");
        assert_eq!(shown(&["fdim", "--", "-p"]), "test --workspace fdim -- -p");
    }
}
