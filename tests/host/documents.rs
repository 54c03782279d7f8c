//! The documents: links between files lead somewhere, and the files that they name exist.

use std::fs;
use std::path::{Path, PathBuf};

/// The documents at the root of the source tree and in `docs/`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in a directory");
    let directories = [root.to_path_buf(), root.join("docs"), root.join("docs/guide")];
    let entries = directories.iter().flat_map(|directory| fs::read_dir(directory).expect("a directory"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The targets of a document's links to files, without the parts after `#`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = ends.map(|(target, _)| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(char::is_whitespace))
}

/// Extensions of the files that documents name between backquotes.
const NAMED: [&str; 7] = ["c", "cl", "kir", "md", "rs", "sollya", "spvasm"];

/// The files that a document names between backquotes, by the end of their paths; `NAME` in a path stands for any name.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "./_-".contains(c);
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter(move |name| {
        let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
        name.chars().all(is_path) && !name.contains("NAME") && extension.is_some_and(|end| NAMED.contains(&end))
    })
}

/// Adds the files below a directory of the source tree to a list, without Cargo's and hidden directories.
fn add_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name());
        if !entry.file_type().expect("a type").is_dir() {
            files.push(path);
        } else if !path.join("CACHEDIR.TAG").exists() && !name.as_encoded_bytes().starts_with(b".") {
            add_files(&path, files);
        }
    }
}

#[test]
fn named_files_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in a directory");
    let mut files = Vec::new();
    add_files(root, &mut files);
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document is text");
        let unknown = named_files(&text).filter(|name| !files.iter().any(|file| file.ends_with(name)));
        missing.extend(unknown.map(|name| format!("{}: {name}", document.display())));
    }
    assert!(missing.is_empty(), "names of missing files:\n{}", missing.join("\n"));
}

#[test]
fn links_lead_to_files() {
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document is text");
        let directory = document.parent().expect("a file is in a directory");
        let broken = links(&text).filter(|target| !directory.join(target).exists());
        missing.extend(broken.map(|target| format!("{}: {target}", document.display())));
    }
    assert!(missing.is_empty(), "links to missing files:\n{}", missing.join("\n"));
}

#[test]
fn the_summary_lists_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in a directory");
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).expect("a summary");
    for document in documents().iter().filter(|path| path.parent().is_some_and(|parent| parent.ends_with("guide"))) {
        let name = document.file_name().expect("a name").to_string_lossy();
        assert!(summary.contains(&format!("guide/{name}")), "docs/SUMMARY.md lacks {name}");
    }
}
