//! Finds the clang to use.
//!
//! `CLIFT_CLANG` names the only candidate (empty: none). Otherwise every `clang` and `clang-NN` in `PATH` and every
//! `/usr/lib/llvm-*/bin/clang` is a candidate. Candidates older than [`OLDEST`] are discarded, and the newest comes first. The
//! version is taken from the path if possible (`clang-22`, `.../llvm-22/bin/clang`, also behind symbolic links), because running
//! `clang --version` takes as long as compiling a kernel.
//!
//! Whether a candidate has a SPIR-V back end is determined at its first compilation, not here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::child::{self, End};

/// The oldest major version whose SPIR-V back end is good enough.
pub const OLDEST: u32 = 20;

/// Time limit of `clang --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A usable clang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The program's path, symbolic links resolved.
    pub path: PathBuf,
    /// Its major version.
    pub version: u32,
    /// A text that changes when the program is replaced: path, size, modification time.
    pub identity: String,
}

/// Candidates, best first.
pub fn candidates(chosen: Option<&OsStr>) -> Vec<Candidate> {
    if let Some(chosen) = chosen {
        return one_chosen(chosen).into_iter().collect();
    }
    let mut found: Vec<Candidate> = Vec::new();
    for path in search_paths() {
        // The same program has several names; the first one is used.
        let Ok(path) = fs::canonicalize(path) else { continue };
        if !found.iter().any(|candidate| candidate.path == path)
            && let Some(candidate) = examine(path)
        {
            found.push(candidate);
        }
    }
    found.retain(|candidate| candidate.version >= OLDEST);
    // The sort is stable: of two equal versions, the one earlier in PATH stays first.
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.version));
    found
}

/// The program that `CLIFT_CLANG` names: a path, or a name to be found in `PATH`. It is used regardless of its version.
fn one_chosen(chosen: &OsStr) -> Option<Candidate> {
    if chosen.is_empty() {
        return None;
    }
    let direct = Path::new(chosen);
    let path = if direct.components().count() > 1 {
        direct.to_owned()
    } else {
        path_directories().map(|directory| directory.join(direct)).find(|path| path.is_file())?
    };
    examine(fs::canonicalize(path).ok()?)
}

/// Paths of all programs that may be a clang.
fn search_paths() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for directory in path_directories() {
        paths.extend(matching(&directory, |name| name == "clang" || name_version(name).is_some()));
    }
    for directory in matching(Path::new("/usr/lib"), |name| name.starts_with("llvm-")) {
        paths.push(directory.join("bin/clang"));
    }
    paths
}

/// The absolute directories in `PATH`. Relative ones are left out: the working directory is not trusted, and in a privileged
/// process the variable neither.
fn path_directories() -> impl Iterator<Item = PathBuf> {
    let path = if clift_runtime::is_privileged() { None } else { std::env::var_os("PATH") }.unwrap_or_default();
    std::env::split_paths(&path).filter(|directory| directory.is_absolute()).collect::<Vec<_>>().into_iter()
}

/// Entries of a directory whose names match, sorted.
fn matching(directory: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(&fits))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// Version and identity of one program.
fn examine(path: PathBuf) -> Option<Candidate> {
    let metadata = fs::metadata(&path).ok().filter(|metadata| metadata.is_file())?;
    let version = path_version(&path).or_else(|| query_version(&path))?;
    let identity = format!("{}:{}:{}.{:09}", path.display(), metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    Some(Candidate { path, version, identity })
}

/// The version of `clang-NN`.
fn name_version(name: &str) -> Option<u32> {
    name.strip_prefix("clang-")?.parse().ok()
}

/// The version in a path: in its file name, or in a directory `llvm-NN` above it.
fn path_version(path: &Path) -> Option<u32> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let in_name = name_version(name);
    in_name.or_else(|| {
        path.ancestors()
            .skip(1)
            .filter_map(|ancestor| ancestor.file_name()?.to_str()?.strip_prefix("llvm-")?.parse().ok())
            .next()
    })
}

/// Runs the program to get its version.
fn query_version(path: &Path) -> Option<u32> {
    let finished = child::run(path, &["--version".to_owned()], b"", VERSION_TIMEOUT).ok()?;
    if !matches!(finished.end, End::Exit(0) | End::Unknown) {
        return None;
    }
    version_in(&String::from_utf8_lossy(&finished.output))
}

/// The major version in the first line of `clang --version`.
fn version_in(text: &str) -> Option<u32> {
    let (_, rest) = text.lines().next()?.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{candidates, name_version, path_version, version_in};
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn versions_are_read_from_names() {
        assert_eq!(name_version("clang-22"), Some(22));
        assert_eq!(name_version("clang-format-22"), None);
        assert_eq!(name_version("clang"), None);
        assert_eq!(path_version(Path::new("/usr/lib/llvm-22/bin/clang")), Some(22));
        assert_eq!(path_version(Path::new("/opt/bin/clang-21")), Some(21));
        assert_eq!(path_version(Path::new("/opt/bin/clang")), None);
    }

    #[test]
    fn versions_are_read_from_output() {
        assert_eq!(version_in("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x"), Some(22));
        assert_eq!(version_in("clang version 21.0.0git (https://example)"), Some(21));
        assert_eq!(version_in("Apple clang version 15.0.0"), Some(15));
        assert_eq!(version_in("gcc (Debian) 12"), None);
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn an_empty_or_wrong_choice_gives_no_candidate() {
        assert_eq!(candidates(Some(OsStr::new(""))), []);
        assert_eq!(candidates(Some(OsStr::new("/no/such/clang-99"))), []);
        assert_eq!(candidates(Some(OsStr::new("/bin/false"))), []);
    }

    #[test]
    fn a_chosen_program_is_run_for_its_version() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my-clang");
        crate::frontend::clang::tests::write_script(&path, "echo 'clang version 23.0.1'");
        let found = candidates(Some(path.as_os_str()));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].version, 23);
        assert!(found[0].identity.contains("my-clang:"));
    }
}
