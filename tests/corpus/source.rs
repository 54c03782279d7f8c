//! Sources: where they are, the options they are built with, and what their text tells about their kernels.

use std::path::{Path, PathBuf};

use crate::plan::Channels;

/// Extensions of files with OpenCL C.
const EXTENSIONS: [&str; 3] = ["cl", "ocl", "opencl"];
/// Most definitions that are guessed.
const MOST_GUESSES: usize = 60;
/// The versions of the language that are tried.
const STANDARDS: [&str; 3] = ["", "-cl-std=CL2.0", "-cl-std=CL3.0"];

/// Appends the sources of a folder, sorted, with the folder.
pub(crate) fn find(root: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if root.is_file() {
        found.push(root.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(root)?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            find(&path, found)?;
        } else if path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known)) {
            found.push(path);
        }
    }
    Ok(())
}

/// Options that name the folders in which a file's headers may be: its own, those above it, and their `include` folders.
pub(crate) fn include_options(file: &Path) -> String {
    let above = file.ancestors().skip(1).take(4);
    let folders = above.flat_map(|folder| [folder.to_owned(), folder.join("include")]);
    folders.filter(|folder| folder.is_dir()).map(|folder| format!("-I \"{}\" ", folder.display())).collect()
}

/// Calls `build` with several options until it succeeds: the versions of the language, and definitions of undeclared names that
/// the log mentions. Programs define such names when they build their sources.
///
/// # Errors
/// The log of the first attempt.
pub(crate) fn build_somehow<T>(
    file: &Path,
    text: &str,
    given: &str,
    mut build: impl FnMut(&str) -> Result<T, String>,
) -> Result<(T, String), String> {
    let base = format!("{given} {}", include_options(file));
    let mut first = None;
    for standard in STANDARDS {
        let mut options = format!("{base}{standard}");
        let mut guessed = Vec::new();
        loop {
            let log = match build(&format!("{options} -cl-kernel-arg-info")) {
                Ok(built) => return Ok((built, options)),
                Err(log) => log,
            };
            let new = guesses(&log, text, &guessed);
            first.get_or_insert(log);
            if new.is_empty() || guessed.len() > MOST_GUESSES {
                break;
            }
            for (name, value) in new {
                options += &format!(" -D{name}={value}");
                guessed.push(name);
            }
        }
    }
    Err(first.unwrap_or_default())
}

/// Definitions of the names that a log calls unknown: types first, because their uses cause other errors.
fn guesses(log: &str, text: &str, known: &[String]) -> Vec<(String, &'static str)> {
    let names = |message: &str| {
        let mut names: Vec<String> = Vec::new();
        for line in log.lines() {
            let name =
                line.split_once(message).and_then(|(_, rest)| rest.split_once('\'')).map(|(name, _)| name.to_owned());
            names.extend(name.filter(|name| !known.contains(name) && !names.contains(name)));
        }
        names
    };
    let types = names("unknown type name '");
    if !types.is_empty() {
        return types.into_iter().map(|name| (name.clone(), vector_type(&name))).collect();
    }
    let is_called = |name: &str| text.contains(&format!("{name}(")) || text.contains(&format!("{name} ("));
    let values = names("use of undeclared identifier '").into_iter().filter(|name| !is_called(name));
    values.map(|name| (name, "16")).collect()
}

/// The type that a name like `DATA_TYPE4` probably stands for.
fn vector_type(name: &str) -> &'static str {
    const VECTORS: [&str; 5] = ["float2", "float3", "float4", "float8", "float16"];
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    VECTORS.into_iter().find(|vector| base != name && vector["float".len()..] == name[base.len()..]).unwrap_or("float")
}

/// The error that a build ended with: the first line with one, without its place.
pub(crate) fn first_error(log: &str) -> String {
    let line = log.lines().find(|line| line.contains("error")).or_else(|| log.lines().next()).unwrap_or("no log");
    line.split_once("error: ").map_or(line, |(_, text)| text).chars().take(160).collect()
}

/// How many dimensions of the NDRange the source uses.
pub(crate) fn dimensions(text: &str) -> usize {
    let uses = |dimension: char| {
        ["get_global_id", "get_local_id", "get_group_id", "GET_GLOBAL_ID", "get_global_size"].iter().any(|function| {
            text.match_indices(function).any(|(at, _)| {
                let rest = text[at + function.len()..].trim_start();
                rest.strip_prefix('(').is_some_and(|rest| rest.trim_start().starts_with(dimension))
            })
        })
    };
    if uses('2') {
        3
    } else if uses('1') {
        2
    } else {
        1
    }
}

/// The channels of the images that the source reads and writes.
pub(crate) fn channels(text: &str) -> Channels {
    if text.contains("imagef") {
        if text.contains("half") { Channels::Normalized } else { Channels::Float }
    } else if text.contains("imageui") {
        Channels::Unsigned
    } else if text.contains("imagei") {
        Channels::Signed
    } else {
        Channels::Float
    }
}

/// Why results may legally differ between ways: the order of work-items is visible, or the number of lanes.
pub(crate) fn depends_on_order(text: &str) -> bool {
    ["atom", "sub_group", "printf", "enqueue_kernel", "clock"].iter().any(|word| text.contains(word))
}

/// Whether results may legally differ within a tolerance: the errors of native functions are those of the machine's instructions.
pub(crate) fn depends_on_instructions(text: &str) -> bool {
    text.contains("native_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_guessed() {
        let log = "a.cl:1:2: error: unknown type name 'T'\na.cl:2:2: error: use of undeclared identifier 'N'\n";
        assert_eq!(guesses(log, "", &[]), [("T".to_owned(), "float")]);
        assert_eq!(vector_type("DATA_TYPE4"), "float4");
        assert_eq!(vector_type("FLOAT64"), "float");
        assert_eq!(guesses(log.lines().last().unwrap(), "", &[]), [("N".to_owned(), "16")]);
        assert_eq!(guesses(log.lines().last().unwrap(), "N (1)", &[]), []);
    }

    #[test]
    fn dimensions_are_those_of_queries() {
        assert_eq!(dimensions("get_global_id(0)"), 1);
        assert_eq!(dimensions("get_local_id ( 1 )"), 2);
        assert_eq!(dimensions("get_group_id(2) get_global_id(1)"), 3);
    }
}
