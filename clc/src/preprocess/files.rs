//! Files to include: where they are looked for, and what was read.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::limits;
use crate::options::Options;

/// Where a file was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// The program itself.
    Main,
    /// The text of `-D`, `-U` and `-include`.
    CommandLine,
    /// A header in memory, by its name without `.` and `..`.
    Header(String),
    /// A file, and the number of the `-I` directory in which it was found.
    File(PathBuf, Option<usize>),
}

/// A file that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What diagnostics call it.
    pub name: String,
    /// Where it is.
    pub origin: Origin,
}

/// What was read, and what must not be read again.
#[derive(Debug, Default)]
pub(super) struct Files {
    read: Vec<PathBuf>,
    texts: FxHashMap<PathBuf, Arc<[u8]>>,
    once: FxHashSet<Origin>,
    bytes: usize,
    count: usize,
}

/// A name without `.` and `..`, as far as that is possible.
fn normal(name: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for component in name.components() {
        match component {
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            Component::ParentDir if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            Component::ParentDir => parts.push(".."),
            Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
        }
    }
    parts.join("/")
}

/// The directory of the main file.
fn main_directory(options: &Options) -> PathBuf {
    match Path::new(&options.main_name).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

impl Files {
    /// The files that were read, in order.
    pub(super) fn into_read(self) -> Vec<PathBuf> {
        self.read
    }

    /// Looks for what `#include` names in the file `from`. Headers in memory come before files.
    pub(super) fn find(
        &self,
        options: &Options,
        name: &str,
        is_angled: bool,
        is_next: bool,
        from: &Origin,
    ) -> Option<Found> {
        let path = Path::new(name);
        let header = |name: &Path| {
            let name = normal(name);
            let found = options.headers.iter().any(|(other, _)| *other == name || normal(Path::new(other)) == name);
            found.then(|| Found { origin: Origin::Header(name.clone()), name })
        };
        let file = |path: PathBuf, directory| {
            let found = || Found { name: path.display().to_string(), origin: Origin::File(path.clone(), directory) };
            (self.texts.contains_key(&path) || path.is_file()).then(found)
        };
        if path.is_absolute() {
            return file(path.to_owned(), None);
        }
        let mut first_directory = 0;
        if is_next {
            if let Origin::File(_, Some(directory)) = from {
                first_directory = directory + 1;
            }
        } else if !is_angled {
            let near = match from {
                Origin::Header(includer) => {
                    let near = header(&Path::new(includer).with_file_name(name)).or_else(|| header(path));
                    near.or_else(|| file(main_directory(options).join(path), None))
                }
                Origin::File(includer, _) => file(includer.with_file_name(name), None),
                Origin::Main | Origin::CommandLine => {
                    header(path).or_else(|| file(main_directory(options).join(path), None))
                }
            };
            if near.is_some() {
                return near;
            }
        }
        if !is_next && let Some(found) = header(path) {
            return Some(found);
        }
        let directories = options.include_directories.iter().enumerate().skip(first_directory);
        directories.into_iter().find_map(|(number, directory)| file(directory.join(path), Some(number)))
    }

    /// The text of a file. `Ok(None)` if it is not to be read again.
    pub(super) fn read(&mut self, options: &Options, found: &Found) -> Result<Option<Arc<[u8]>>, String> {
        if self.once.contains(&Self::identity(&found.origin)) {
            return Ok(None);
        }
        self.count += 1;
        if self.count > limits::FILES {
            return Err(format!("more than {} files are included", limits::FILES));
        }
        let text = match &found.origin {
            Origin::Header(name) => {
                let same = |other: &str| other == name || normal(Path::new(other)) == *name;
                options.headers.iter().find(|(other, _)| same(other)).map(|(_, text)| Arc::clone(text))
            }
            Origin::File(path, _) => match self.texts.get(path) {
                Some(text) => Some(Arc::clone(text)),
                None => Some(self.load(path)?),
            },
            Origin::Main | Origin::CommandLine => None,
        };
        let text = text.unwrap_or_default();
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > limits::SOURCE_BYTES {
            return Err(format!("included files have more than {} bytes", limits::SOURCE_BYTES));
        }
        Ok(Some(text))
    }

    /// Reads a file.
    fn load(&mut self, path: &Path) -> Result<Arc<[u8]>, String> {
        let cannot = |error: std::io::Error| format!("cannot open file '{}': {error}", path.display());
        let mut text = Vec::new();
        let file = std::fs::File::open(path).map_err(cannot)?;
        file.take(limits::SOURCE_BYTES as u64 + 1).read_to_end(&mut text).map_err(cannot)?;
        let text: Arc<[u8]> = text.into();
        self.read.push(path.to_owned());
        self.texts.insert(path.to_owned(), Arc::clone(&text));
        Ok(text)
    }

    /// `#pragma once`
    pub(super) fn once(&mut self, origin: &Origin) {
        self.once.insert(Self::identity(origin));
    }

    /// What is the same for a file under any of its names.
    fn identity(origin: &Origin) -> Origin {
        match origin {
            Origin::File(path, _) => Origin::File(path.canonicalize().unwrap_or_else(|_| path.clone()), None),
            Origin::Main | Origin::CommandLine | Origin::Header(_) => origin.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_normal() {
        assert_eq!(normal(Path::new("./a/../b/./c.h")), "b/c.h");
        assert_eq!(normal(Path::new("../x.h")), "../x.h");
    }

    #[test]
    fn headers_are_found_beside_their_includer_first() {
        let text: Arc<[u8]> = Arc::from(&b""[..]);
        let names = ["inc/a.h", "inc/b.h", "b.h"];
        let options =
            Options { headers: names.map(|name| (name.to_owned(), Arc::clone(&text))).into(), ..Options::default() };
        let files = Files::default();
        let find =
            |name, is_angled, from: Origin| files.find(&options, name, is_angled, false, &from).map(|found| found.name);
        assert_eq!(find("b.h", false, Origin::Main).as_deref(), Some("b.h"));
        assert_eq!(find("b.h", false, Origin::Header("inc/a.h".to_owned())).as_deref(), Some("inc/b.h"));
        assert_eq!(find("b.h", true, Origin::Header("inc/a.h".to_owned())).as_deref(), Some("b.h"));
        assert_eq!(find("../b.h", false, Origin::Header("inc/a.h".to_owned())).as_deref(), Some("b.h"));
        assert_eq!(find("none.h", false, Origin::Main), None);
    }
}
