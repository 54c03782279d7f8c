//! The headers of `clCompileProgram`, written as files for the compiler. Each has its include name below a private directory that
//! also contains the program itself, so `#include "name"` finds them first.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

/// A header program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name in `#include` directives.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
}

/// Headers and main file on disk; dropping this value removes them.
#[derive(Debug)]
pub struct HeaderFiles {
    directory: TempDir,
}

impl HeaderFiles {
    /// Writes `headers`. Of two headers with the same name, the first one is used.
    ///
    /// # Errors
    /// When the directory cannot be written, or a name cannot be a file in it (because it is a directory in another header's
    /// name).
    pub fn new(headers: &[Header]) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("clift-").tempdir()?;
        for header in headers {
            let path = place(directory.path(), &header.name, true)?;
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => io::Write::write_all(&mut file, &header.text)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_file() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { directory })
    }

    /// Writes another file into the directory and returns its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, name: &str, content: &[u8]) -> io::Result<String> {
        let path = self.path().join(name);
        fs::write(&path, content)?;
        Ok(path.display().to_string())
    }

    /// The directory that holds them.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Whether an include name stays inside the directory: it is relative, not empty, and does not lead above the root.
pub fn is_safe_name(name: &str) -> bool {
    place(Path::new("/"), name, false).is_ok()
}

/// The path of `name` below `root`. If `create` is set, intermediate directories are created, including those that a later `..`
/// leaves, because the compiler traverses them.
fn place(root: &Path, name: &str, create: bool) -> io::Result<PathBuf> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is not a valid header name"));
    if name.is_empty() || name.contains('\0') || name.ends_with('/') {
        return Err(refuse());
    }
    let mut parts: Vec<&std::ffi::OsStr> = Vec::new();
    let mut last_is_name = false;
    for component in Path::new(name).components() {
        if last_is_name && create {
            // The component taken for the file name is a directory.
            fs::create_dir_all(root.join(parts.iter().collect::<PathBuf>()))?;
        }
        last_is_name = false;
        match component {
            Component::Normal(part) => {
                parts.push(part);
                last_is_name = true;
            }
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop().ok_or_else(refuse)?;
            }
            Component::RootDir | Component::Prefix(_) => return Err(refuse()),
        }
    }
    if !last_is_name {
        return Err(refuse());
    }
    Ok(root.join(parts.iter().collect::<PathBuf>()))
}

#[cfg(test)]
mod tests {
    use super::{Header, HeaderFiles, is_safe_name};

    fn header(name: &str, text: &str) -> Header {
        Header { name: name.to_owned(), text: text.as_bytes().to_vec() }
    }

    #[test]
    fn names_that_lead_outside_are_rejected() {
        for name in ["", "/etc/passwd", "..", "../x.h", "a/../../x.h", "a/", "a/..", ".", "a\0b"] {
            assert!(!is_safe_name(name), "{name:?}");
        }
        for name in ["x.h", "a/b/c.h", "a/../x.h", "./x.h", "with blank.h"] {
            assert!(is_safe_name(name), "{name:?}");
        }
    }

    #[test]
    fn headers_are_written_under_their_names() {
        let layout = HeaderFiles::new(&[
            header("foo.h", "first"),
            header("my/dir/inc.h", "inner"),
            header("foo.h", "second"),
            header("gone/../bar.h", "bar"),
        ])
        .unwrap();
        let read = |name: &str| std::fs::read_to_string(layout.path().join(name)).unwrap();
        assert_eq!(read("foo.h"), "first");
        assert_eq!(read("my/dir/inc.h"), "inner");
        assert_eq!(read("gone/../bar.h"), "bar");
        let path = layout.path().to_owned();
        drop(layout);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_that_is_also_a_directory_is_an_error() {
        assert!(HeaderFiles::new(&[header("a", "x"), header("a/b", "y")]).is_err());
        assert!(HeaderFiles::new(&[header("a/b", "x"), header("a", "y")]).is_err());
    }
}
