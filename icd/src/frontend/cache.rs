//! The disk cache: compiled modules, found by the content of their sources.
//!
//! There is one file per result, named after the hash of all inputs ([`Key`]). A file is written under a temporary name and then
//! renamed, and it carries a checksum, so processes need no locks. When two processes write the same result, the last one wins.
//! The files are in [`SHARDS`] subdirectories, and each subdirectory has an equal part of the size limit. One in
//! [`EVICTION_INTERVAL`] insertions checks the size of its own subdirectory, so the cost of a check does not depend on what all
//! other processes have stored. When a subdirectory exceeds its limit, the least recently used results are removed. A failure of
//! the cache never fails a build: an unusable directory means that there is no cache.
//!
//! For sources that read other files (`#include` without a header program) or the clock, only the back end's output for the front
//! end's result is cached. A change of such a file, or a new file that precedes it in the search path, cannot be detected
//! without searching as the compiler does.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Job;
use crate::envelope::EnvelopeFormat;

/// The format of an entry.
const FORMAT: EnvelopeFormat = EnvelopeFormat { magic: *b"CLIFTCCH", version: 1 };

/// Extension of an entry's file name; the stem is its key in hexadecimal.
const EXTENSION: &str = ".clift";
/// Prefix of the name of a file being written.
const TEMPORARY_PREFIX: &str = ".clift-new-";

/// Number of subdirectories. They are named by the first hexadecimal digit of the keys in them.
const SHARDS: u64 = 16;

/// One in this many insertions checks the size of its subdirectory. The key decides, not a counter, because most processes
/// insert only a few results.
const EVICTION_INTERVAL: u8 = 64;

/// Bytes of a block of `st_blocks`.
const BLOCK: u64 = 512;

/// A directory of results.
#[derive(Debug)]
pub struct DiskCache {
    directory: PathBuf,
    /// The approximate maximum size on disk in bytes.
    limit: u64,
}

/// The name of a result: a hash of all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a job for a compiler with this fingerprint, or `None` when the job is not self-contained.
    pub fn of(job: &Job<'_>, fingerprint: &str) -> Option<Self> {
        if !is_self_contained(job) {
            return None;
        }
        let mut parts = vec![b"job", fingerprint.as_bytes(), job.source];
        for header in job.headers {
            parts.extend([header.name.as_bytes(), &header.text]);
        }
        Some(Self::of_parts(&parts))
    }

    /// The key of a result that depends only on these texts. The first text names the kind of result.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        // The length of every item is hashed too, so that different lists of items have different hashes.
        for bytes in std::iter::once(env!("CARGO_PKG_VERSION").as_bytes()).chain(parts.iter().copied()) {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
        Self(hasher.finalize())
    }

    /// The path of the result relative to the cache's directory.
    fn path(&self) -> PathBuf {
        let name = self.0.to_hex();
        Path::new(&name[..1]).join(format!("{name}{EXTENSION}"))
    }

    /// Whether inserting this key checks the size of its subdirectory.
    fn triggers_eviction(&self) -> bool {
        self.0.as_bytes()[1].is_multiple_of(EVICTION_INTERVAL)
    }
}

/// Whether a job's result depends on nothing but the job: it reads no files that are not part of it, and no clock.
pub fn is_self_contained(job: &Job<'_>) -> bool {
    let headers = job.headers.iter().map(|header| header.text.as_slice());
    // Include directories (-I) alone do not count: many applications always pass them.
    let definitions = job.options.front_end.iter().filter(|option| option.starts_with("-D")).map(String::as_bytes);
    std::iter::once(job.source).chain(headers).chain(definitions).all(is_self_contained_text)
}

/// What names a directive, pragma, operator or macro through which the compiler learns of more than its input.
const LOOKS_OUTSIDE: [&str; 7] = ["include", "import", "embed", "dependency", "__DATE__", "__TIME__", "__TIMESTAMP__"];

/// Whether a text contains none of the words of [`LOOKS_OUTSIDE`], after splicing lines.
fn is_self_contained_text(text: &[u8]) -> bool {
    let joined: Vec<u8>;
    let text = if text.contains(&b'\\') || text.windows(3).any(|w| w == b"??/") {
        joined = spliced(&String::from_utf8_lossy(text).replace("??/", "\\")).into_bytes();
        &joined
    } else {
        text
    };
    !LOOKS_OUTSIDE.iter().any(|word| text.windows(word.len()).any(|window| window == word.as_bytes()))
}

/// Joins lines that end with a backslash. As for clang, white space may follow the backslash, and a line ends with a line feed, a
/// carriage return, or both in either order.
fn spliced(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.split_inclusive(['\n', '\r']) {
        match line.trim_end().strip_suffix('\\') {
            Some(rest) => joined.push_str(rest),
            // The second of two characters that end a line is here on its own.
            None if line == "\n" || line == "\r" => {}
            None => joined.push_str(line),
        }
    }
    joined
}

impl DiskCache {
    /// Opens the directory `chosen` (empty: no cache), or the default: `clift` in `XDG_CACHE_HOME`, else in `~/.cache`.
    /// `limit` is the maximum size in bytes; 0 means no cache.
    pub fn at(chosen: Option<&Path>, limit: u64) -> Option<Self> {
        let directory = match chosen {
            Some(directory) => directory.to_owned(),
            // With the rights of another user, neither that user's directory nor the variables that name it are trusted.
            None if clift_runtime::is_privileged() => return None,
            None => base_directory().filter(|base| is_own(base))?.join("clift"),
        };
        if limit == 0 || directory.as_os_str().is_empty() { None } else { Self::open(directory, limit) }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Opens or creates `directory`; `None` when that is not possible, or if it belongs to somebody else, who could change what
    /// is in it.
    pub fn open(directory: PathBuf, limit: u64) -> Option<Self> {
        if let Err(error) = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
            tracing::debug!(directory = %directory.display(), %error, "the disk cache is disabled");
            return None;
        }
        if !is_own(&directory) {
            tracing::debug!(directory = %directory.display(), "the disk cache is disabled: the directory is another user's");
            return None;
        }
        Some(Self { directory, limit })
    }

    /// The result stored for `key`.
    pub fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let path = self.directory.join(key.path());
        let bytes = fs::read(&path).ok()?;
        let Some(value) = FORMAT.open::<T>(&bytes) else {
            // Damaged, or of another version: the caller computes and stores it again.
            let _ = fs::remove_file(&path);
            return None;
        };
        // Eviction goes by the time of last use. Failure to record it does no harm.
        if let Ok(file) = fs::OpenOptions::new().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(value)
    }

    /// Stores a result.
    pub fn put<T: Serialize>(&self, key: &Key, value: &T) {
        let Some(bytes) = FORMAT.seal(value) else { return };
        if bytes.len() as u64 > self.limit / SHARDS {
            return;
        }
        let path = self.directory.join(key.path());
        let Some(shard) = path.parent() else { return };
        if let Err(error) = store(&bytes, shard, &path) {
            tracing::debug!(path = %path.display(), %error, "a result could not be cached");
            return;
        }
        if key.triggers_eviction() {
            evict(shard, self.limit / SHARDS);
        }
    }
}

/// Writes a whole file, and creates its directory if necessary. The directory of the cache itself is not created again: if
/// somebody removed it, it stays removed.
fn store(bytes: &[u8], directory: &Path, path: &Path) -> std::io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let mut file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Removes the least recently used entries of a directory until it is well below `limit`. Other processes may do the same at the
/// same time; a file that has already been removed is not an error.
fn evict(directory: &Path, limit: u64) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| is_cache_file(&entry.file_name()))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.blocks() * BLOCK, entry.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    if total <= limit {
        return;
    }
    files.sort();
    for (_, size, path) in files {
        if total <= limit / 4 * 3 {
            break;
        }
        total -= size;
        let _ = fs::remove_file(path);
    }
}

/// Whether a file in the directory belongs to the cache. The user may have named any directory.
fn is_cache_file(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let entry = name
        .strip_suffix(EXTENSION)
        .is_some_and(|key| key.len() == 2 * blake3::OUT_LEN && key.bytes().all(|byte| byte.is_ascii_hexdigit()));
    entry || name.starts_with(TEMPORARY_PREFIX)
}

/// The user's directory for caches.
fn base_directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

/// Whether a directory, or the nearest one above it if it does not exist, belongs to the user that the process acts for. This
/// is not so for root with the variable `HOME` of another user.
fn is_own(directory: &Path) -> bool {
    let found = directory.ancestors().find_map(|existing| fs::metadata(existing).ok());
    found.is_some_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, DiskCache, EVICTION_INTERVAL, Key, SHARDS, evict, is_self_contained_text};
    use crate::frontend::options::{BuildCall, BuildOptions};
    use std::sync::Arc;

    use crate::frontend::{Compiled, Header, Job, Profile};
    use std::os::unix::fs::MetadataExt;
    use std::time::SystemTime;

    fn compiled(size: usize) -> Compiled {
        Compiled { words: vec![7; size], log: "warning\n".to_owned(), kernels: None }
    }

    fn key(source: &str, options: &str, identity: &str) -> Option<Key> {
        let options = BuildOptions::parse(options, BuildCall::Compile).unwrap();
        let profile = Arc::new(Profile::default());
        let fingerprint = format!("{identity} {options:?}");
        Key::of(
            &Job {
                source: source.as_bytes(),
                headers: &[],
                options: &options,
                profile: &profile,
                level: 2,
                whole: true,
            },
            &fingerprint,
        )
    }

    /// As clang does, also with white space behind the backslash and with carriage returns.
    #[test]
    fn files_are_found_across_spliced_lines() {
        for text in [
            "#inc\\\nlude <a>",
            "#inc\\\r\nlude <a>",
            "#inc\\ \t\nlude <a>",
            "#inc??/\nlude <a>",
            "#inc\\\rlude <a>",
            "#inc\\\n\rlude <a>",
        ] {
            assert!(!is_self_contained_text(text.as_bytes()), "{text:?}");
        }
        assert!(is_self_contained_text(b"inc\nlude"));
        assert!(is_self_contained_text(b"in\\ clude \\n"));
    }

    /// A directory, or the place for one, of another user is not used.
    #[test]
    fn only_own_directories_are_used() {
        let own = tempfile::tempdir().unwrap();
        assert!(DiskCache::open(own.path().join("a/b"), 1 << 20).is_some());
        assert!(super::is_own(&own.path().join("a/c/d")));
        // Only root may give it away.
        if std::os::unix::fs::chown(own.path(), Some(12345), None).is_ok() {
            assert!(!super::is_own(&own.path().join("nothing")));
            assert!(DiskCache::open(own.path().to_owned(), 1 << 20).is_none());
        }
    }

    #[test]
    fn every_input_is_in_the_key() {
        let base = key("kernel", "", "clang").unwrap();
        assert_eq!(key("kernel", "  ", "clang").unwrap(), base);
        for (source, options, identity) in
            [("kernel ", "", "clang"), ("kernel", "-D X", "clang"), ("kernel", "", "clang2")]
        {
            assert_ne!(key(source, options, identity).unwrap(), base);
        }
        let options = BuildOptions::default();
        let profile = Arc::new(Profile::default());
        let with = |headers: &[Header]| {
            Key::of(
                &Job { source: b"kernel", headers, options: &options, profile: &profile, level: 2, whole: true },
                "clang",
            )
            .unwrap()
        };
        let header = |name: &str, text: &str| Header { name: name.to_owned(), text: text.as_bytes().to_vec() };
        assert_ne!(with(&[header("a", "bc")]), with(&[header("ab", "c")]));
    }

    #[test]
    fn sources_that_read_the_clock_have_no_key() {
        for text in ["constant char built[] = __DATE__ \" \" __TIME__;", "__TIME\\\nSTAMP__"] {
            assert!(key(text, "", "clang").is_none(), "{text:?}");
        }
        assert!(key("kernel", "-D BUILT=__DATE__", "clang").is_none());
    }

    #[test]
    fn sources_that_read_files_have_no_key() {
        assert!(key("#include \"x.h\"", "", "clang").is_none());
        // Without an #include it does not matter where headers are.
        assert!(key("kernel", "-I .", "clang").is_some());
        assert!(key("#include <x>", "-I .", "clang").is_none());
        for text in [
            "#inc\\\nlude <x>",
            "# embed \"x\"",
            "#inc??/\nlude",
            "#if __has_include(<x>)",
            "#inc\\\r\nlude",
            "#pragma GCC dependency \"x\"",
        ] {
            assert!(!is_self_contained_text(text.as_bytes()), "{text:?}");
        }
        assert!(is_self_contained_text(b"kernel void k() { /* \\ */ }"));
    }

    #[test]
    fn stored_results_are_found_and_damaged_ones_are_misses() {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(directory.path().join("made/here"), 1 << 20).unwrap();
        let key = key("kernel", "", "clang").unwrap();
        assert_eq!(cache.get::<Compiled>(&key), None);
        cache.put(&key, &compiled(10));
        assert_eq!(cache.get(&key), Some(compiled(10)));
        let path = directory.path().join("made/here").join(key.path());
        std::fs::write(&path, b"garbage").unwrap();
        assert_eq!(cache.get::<Compiled>(&key), None);
        assert!(!path.exists());
    }

    #[test]
    fn the_limit_holds_and_other_files_stay() {
        let directory = tempfile::tempdir().unwrap();
        let limit = 1 << 20;
        let cache = DiskCache::open(directory.path().to_owned(), limit).unwrap();
        let shard = directory.path().join("7");
        std::fs::create_dir(&shard).unwrap();
        std::fs::write(shard.join("stranger.clift"), vec![0; 200_000]).unwrap();
        // Enough keys of one subdirectory that some of them check its size.
        let keys =
            || (0..).filter_map(|i| key(&format!("kernel {i}"), "", "clang")).filter(|key| key.path().starts_with("7"));
        for key in keys().take(8 * usize::from(EVICTION_INTERVAL)) {
            cache.put(&key, &compiled(1000));
        }
        let last = keys().filter(Key::triggers_eviction).nth(20).unwrap();
        cache.put(&last, &compiled(1000));
        let size: u64 = std::fs::read_dir(&shard)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name() != "stranger.clift")
            .map(|entry| entry.metadata().unwrap().blocks() * BLOCK)
            .sum();
        assert!(size > 0 && size <= limit / SHARDS, "{size}");
        assert!(cache.get::<Compiled>(&last).is_some());
        assert!(shard.join("stranger.clift").exists());
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(directory.path().to_owned(), 1 << 30).unwrap();
        let keys: Vec<Key> = (0..400)
            .filter_map(|i| key(&format!("kernel {i}"), "", "clang"))
            .filter(|key| key.path().starts_with("3"))
            .take(8)
            .collect();
        for key in &keys {
            cache.put(key, &compiled(5000));
            let file = std::fs::File::open(directory.path().join(key.path())).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let used = &keys[3];
        assert!(cache.get::<Compiled>(used).is_some());
        let shard = directory.path().join("3");
        evict(&shard, 4 * 5000);
        assert!(keys.iter().filter(|key| cache.get::<Compiled>(key).is_some()).count() < keys.len());
        assert!(cache.get::<Compiled>(used).is_some());
    }

    #[test]
    fn an_unusable_directory_is_no_cache() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(DiskCache::open(file.path().join("below"), 1).is_none());
        // The same holds for one that is removed later.
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(directory.path().to_owned(), 1 << 20).unwrap();
        drop(directory);
        let key = key("kernel", "", "clang").unwrap();
        cache.put(&key, &compiled(1));
        assert_eq!(cache.get::<Compiled>(&key), None);
    }
}
