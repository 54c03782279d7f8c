//! The headers of `clCompileProgram`, laid out as files for the compiler: each under its include name in a private
//! directory, together with the program itself, so that `#include "name"` finds them before anything else.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

/// One header program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name by which the source includes it.
    pub name: String,
    /// Its text.
    pub text: Vec<u8>,
}

/// Headers and main file on disk; removed with this value.
#[derive(Debug)]
pub struct Layout {
    directory: TempDir,
}

impl Layout {
    /// Writes `headers`; of two with one name the first counts.
    ///
    /// # Errors
    /// When the directory cannot be written, or a name cannot be a file in it (one header's name is a directory of
    /// another's).
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

    /// Writes a file of ours beside them; its path.
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

/// Whether an include name stays inside the directory: relative, not empty, not leading above.
pub fn is_safe_name(name: &str) -> bool {
    place(Path::new("/"), name, false).is_ok()
}

/// The file that `name` stands for below `root`. Directories on the way are made when `create` says so, those also that
/// a later `..` leaves again, because the compiler walks through them.
fn place(root: &Path, name: &str, create: bool) -> io::Result<PathBuf> {
    let refuse = || io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is no usable header name"));
    if name.is_empty() || name.contains('\0') || name.ends_with('/') {
        return Err(refuse());
    }
    let mut parts: Vec<&std::ffi::OsStr> = Vec::new();
    let mut last_is_name = false;
    for component in Path::new(name).components() {
        if last_is_name && create {
            // What was taken for the file's name is a directory.
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
    use super::{Header, Layout, is_safe_name};

    fn header(name: &str, text: &str) -> Header {
        Header { name: name.to_owned(), text: text.as_bytes().to_vec() }
    }

    #[test]
    fn names_that_lead_outside_are_refused() {
        for name in ["", "/etc/passwd", "..", "../x.h", "a/../../x.h", "a/", "a/..", ".", "a\0b"] {
            assert!(!is_safe_name(name), "{name:?}");
        }
        for name in ["x.h", "a/b/c.h", "a/../x.h", "./x.h", "with blank.h"] {
            assert!(is_safe_name(name), "{name:?}");
        }
    }

    #[test]
    fn headers_are_written_under_their_names() {
        let layout = Layout::new(&[
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
        assert!(Layout::new(&[header("a", "x"), header("a/b", "y")]).is_err());
        assert!(Layout::new(&[header("a/b", "x"), header("a", "y")]).is_err());
    }
}
