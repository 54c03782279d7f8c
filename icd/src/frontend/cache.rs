//! The disk cache: what a front end made of a source, found again by the source's content.
//!
//! One file per result, named after the hash of everything that went in ([`Key`]). Files appear whole (written beside,
//! then renamed) and carry a checksum, so processes need no locks; of two that write the same result the last one wins.
//! The newest results by last use stay when the directory exceeds its bound. Nothing here can fail a build: an unusable
//! directory is no cache.
//!
//! Deliberately not cached: sources that read files of their own (`-I`, `#include` without a header program). Whether such
//! a file changed, or a new one now stands in front of it, cannot be seen without searching for it as the compiler does.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use super::{Compiled, Job};
use crate::envelope::Format;

/// Layout of an entry.
const FORMAT: Format = Format { magic: *b"CLIFTCCH", version: 1 };

/// Ending of an entry's name; the rest is its key in hexadecimal.
const ENDING: &str = ".clift";
/// Beginning of the name of a file being written.
const UNFINISHED: &str = ".clift-new-";

/// Insertions between two looks at the directory's size; the first insertion of a process looks.
const LOOK_EVERY: u32 = 64;

/// A directory of results.
#[derive(Debug)]
pub struct DiskCache {
    directory: PathBuf,
    limit: u64,
    insertions: AtomicU32,
}

/// The name of a result: a hash over everything that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a job for a compiler with this fingerprint, or `None` when the job may read files that it does not hold.
    pub fn of(job: &Job<'_>, fingerprint: &str) -> Option<Self> {
        let texts = || std::iter::once(job.source).chain(job.headers.iter().map(|header| header.text.as_slice()));
        if job.options.include_directories || texts().any(may_read_files) {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        // Every item with its length: no two lists of items hash alike.
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(fingerprint.as_bytes());
        add(job.source);
        for header in job.headers {
            add(header.name.as_bytes());
            add(&header.text);
        }
        Some(Self(hasher.finalize()))
    }

    fn file_name(&self) -> String {
        format!("{}{ENDING}", self.0.to_hex())
    }
}

/// Whether a text may make the compiler read a file: it has the word of such a directive, spliced lines joined.
pub(super) fn may_read_files(text: &[u8]) -> bool {
    let joined: Vec<u8>;
    let text = if text.contains(&b'\\') || text.windows(3).any(|w| w == b"??/") {
        let text = String::from_utf8_lossy(text).replace("??/", "\\").replace('\r', "");
        joined = text.replace("\\\n", "").into_bytes();
        &joined
    } else {
        text
    };
    [b"include".as_slice(), b"import", b"embed"].iter().any(|word| text.windows(word.len()).any(|w| w == *word))
}

impl DiskCache {
    /// Opens the directory `chosen` (empty: no cache), or the usual place: `clift` in `XDG_CACHE_HOME`, else in `~/.cache`.
    /// It may hold `limit` bytes; 0 means no cache.
    pub fn at(chosen: Option<&Path>, limit: u64) -> Option<Self> {
        let directory = match chosen {
            Some(directory) => directory.to_owned(),
            None => base_directory()?.join("clift"),
        };
        if limit == 0 || directory.as_os_str().is_empty() { None } else { Self::open(directory, limit) }
    }

    /// Opens or makes `directory`; `None` when that is not possible.
    pub fn open(directory: PathBuf, limit: u64) -> Option<Self> {
        if let Err(error) = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
            tracing::debug!(directory = %directory.display(), %error, "no disk cache");
            return None;
        }
        Some(Self { directory, limit, insertions: AtomicU32::new(0) })
    }

    /// The result stored for `key`.
    pub fn get(&self, key: &Key) -> Option<Compiled> {
        let path = self.directory.join(key.file_name());
        let bytes = fs::read(&path).ok()?;
        let Some(compiled) = FORMAT.open::<Compiled>(&bytes) else {
            // Damaged, or of another version: it will be written anew.
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time of last use decides what stays; not being able to note it does no harm.
        if let Ok(file) = fs::OpenOptions::new().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(compiled)
    }

    /// Stores a result.
    pub fn put(&self, key: &Key, compiled: &Compiled) {
        let Some(bytes) = FORMAT.seal(compiled) else { return };
        if bytes.len() as u64 > self.limit {
            return;
        }
        let stored = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.directory)
            .and_then(|mut file| {
                file.write_all(&bytes)?;
                Ok(file)
            })
            .and_then(|file| file.persist(self.directory.join(key.file_name())).map_err(|error| error.error));
        if let Err(error) = stored {
            tracing::debug!(directory = %self.directory.display(), %error, "a result could not be cached");
            return;
        }
        if self.insertions.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK_EVERY) {
            self.evict();
        }
    }

    /// Removes the entries not used for longest until the directory is well within its bound. Other processes may do the
    /// same at the same time; a file that is gone already is fine.
    fn evict(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter(|entry| is_ours(&entry.file_name()))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        if total <= self.limit {
            return;
        }
        files.sort();
        for (_, size, path) in files {
            if total <= self.limit / 4 * 3 {
                break;
            }
            total -= size;
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a file in the directory is one of ours: the directory may be anything the user named.
fn is_ours(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let entry = name
        .strip_suffix(ENDING)
        .is_some_and(|key| key.len() == 2 * blake3::OUT_LEN && key.bytes().all(|byte| byte.is_ascii_hexdigit()));
    entry || name.starts_with(UNFINISHED)
}

/// Where caches belong.
fn base_directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::{DiskCache, Key, may_read_files};
    use crate::frontend::options::{BuildOptions, Stage};
    use crate::frontend::{Compiled, Header, Job, Profile};

    fn compiled(size: usize) -> Compiled {
        Compiled { words: vec![7; size], log: "warning\n".to_owned() }
    }

    fn key(source: &str, options: &str, identity: &str) -> Option<Key> {
        let options = BuildOptions::parse(options, Stage::Compile).unwrap();
        let profile = Profile::default();
        let fingerprint = format!("{identity} {options:?}");
        Key::of(
            &Job { source: source.as_bytes(), headers: &[], options: &options, profile: &profile, level: 2 },
            &fingerprint,
        )
    }

    #[test]
    fn whatever_matters_is_in_the_key() {
        let base = key("kernel", "", "clang").unwrap();
        assert_eq!(key("kernel", "  ", "clang").unwrap(), base);
        for (source, options, identity) in
            [("kernel ", "", "clang"), ("kernel", "-D X", "clang"), ("kernel", "", "clang2")]
        {
            assert_ne!(key(source, options, identity).unwrap(), base);
        }
        let options = BuildOptions::default();
        let profile = Profile::default();
        let with = |headers: &[Header]| {
            Key::of(&Job { source: b"kernel", headers, options: &options, profile: &profile, level: 2 }, "clang")
                .unwrap()
        };
        let header = |name: &str, text: &str| Header { name: name.to_owned(), text: text.as_bytes().to_vec() };
        assert_ne!(with(&[header("a", "bc")]), with(&[header("ab", "c")]));
    }

    #[test]
    fn sources_that_read_files_have_no_key() {
        assert!(key("#include \"x.h\"", "", "clang").is_none());
        assert!(key("kernel", "-I .", "clang").is_none());
        for text in ["#inc\\\nlude <x>", "# embed \"x\"", "#inc??/\nlude", "#if __has_include(<x>)", "#inc\\\r\nlude"] {
            assert!(may_read_files(text.as_bytes()), "{text:?}");
        }
        assert!(!may_read_files(b"kernel void k() { /* \\ */ }"));
    }

    #[test]
    fn results_come_back_and_damage_is_a_miss() {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(directory.path().join("made/here"), 1 << 20).unwrap();
        let key = key("kernel", "", "clang").unwrap();
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &compiled(10));
        assert_eq!(cache.get(&key), Some(compiled(10)));
        let path = directory.path().join("made/here").join(key.file_name());
        std::fs::write(&path, b"garbage").unwrap();
        assert_eq!(cache.get(&key), None);
        assert!(!path.exists());
    }

    #[test]
    fn the_bound_holds_and_strangers_stay() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("stranger.clift"), vec![0; 50_000]).unwrap();
        let cache = DiskCache::open(directory.path().to_owned(), 20_000).unwrap();
        for i in 0..40 {
            let key = key(&format!("kernel {i}"), "", "clang").unwrap();
            cache.put(&key, &compiled(1000));
        }
        cache.evict();
        let size: u64 = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name() != "stranger.clift")
            .map(|entry| entry.metadata().unwrap().len())
            .sum();
        assert!(size > 0 && size <= 20_000, "{size}");
        assert!(directory.path().join("stranger.clift").exists());
    }

    #[test]
    fn an_unusable_directory_is_no_cache() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(DiskCache::open(file.path().join("below"), 1).is_none());
        // One that vanishes later is none either.
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(directory.path().to_owned(), 1 << 20).unwrap();
        drop(directory);
        let key = key("kernel", "", "clang").unwrap();
        cache.put(&key, &compiled(1));
        assert_eq!(cache.get(&key), None);
    }
}
