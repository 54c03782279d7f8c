//! The disk cache: what a front end made of a source, found again by the source's content.
//!
//! One file per result, named after the hash of everything that went in ([`Key`]). Files appear whole (written beside,
//! then renamed) and carry a checksum, so processes need no locks; of two that write the same result the last one wins.
//! They lie in [`SHARDS`] subdirectories, each with its part of the bound: one in [`LOOK_EVERY`] insertions looks at the size of
//! its own, so that no process pays for what all others have stored. The newest results by last use stay when a
//! subdirectory exceeds its bound. Nothing here can fail a build: an unusable directory is no cache.
//!
//! Of sources that read files of their own (`#include` without a header program) only what the back end makes of the front
//! end's result is kept: whether such a file changed, or a new one now stands in front of it, cannot be seen without searching for it
//! as the compiler does.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Job;
use crate::envelope::Format;

/// Layout of an entry.
const FORMAT: Format = Format { magic: *b"CLIFTCCH", version: 1 };

/// Ending of an entry's name; the rest is its key in hexadecimal.
const ENDING: &str = ".clift";
/// Beginning of the name of a file being written.
const UNFINISHED: &str = ".clift-new-";

/// Subdirectories, named by the first hexadecimal digit of the keys in them.
const SHARDS: u64 = 16;

/// One in so many insertions looks at the size of its subdirectory. The key decides, not a count: most processes insert a
/// few results only.
const LOOK_EVERY: u8 = 64;

/// Bytes of a block in which file systems count.
const BLOCK: u64 = 512;

/// A directory of results.
#[derive(Debug)]
pub struct DiskCache {
    directory: PathBuf,
    /// Bytes on disk that it may hold, about.
    limit: u64,
}

/// The name of a result: a hash over everything that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a job for a compiler with this fingerprint, or `None` when the job may read files that it does not hold.
    pub fn of(job: &Job<'_>, fingerprint: &str) -> Option<Self> {
        if reads_files(job) {
            return None;
        }
        let mut parts = vec![b"job", fingerprint.as_bytes(), job.source];
        for header in job.headers {
            parts.extend([header.name.as_bytes(), &header.text]);
        }
        Some(Self::of_parts(&parts))
    }

    /// The key of what depends on these texts alone. The first tells what it is.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Every item with its length: no two lists of items hash alike.
        for bytes in std::iter::once(env!("CARGO_PKG_VERSION").as_bytes()).chain(parts.iter().copied()) {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
        Self(hasher.finalize())
    }

    /// Where the result lies in the cache's directory.
    fn path(&self) -> PathBuf {
        let name = self.0.to_hex();
        Path::new(&name[..1]).join(format!("{name}{ENDING}"))
    }

    /// Whether inserting this one looks at the size of its subdirectory.
    fn looks(&self) -> bool {
        self.0.as_bytes()[1].is_multiple_of(LOOK_EVERY)
    }
}

/// Whether a job may read files that it does not hold.
pub fn reads_files(job: &Job<'_>) -> bool {
    let mut texts = std::iter::once(job.source).chain(job.headers.iter().map(|header| header.text.as_slice()));
    // Directories (-I) alone are none: applications name them always.
    texts.any(may_read_files)
}

/// Whether a text may make the compiler read a file: it has the word of such a directive, spliced lines joined.
fn may_read_files(text: &[u8]) -> bool {
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
        Some(Self { directory, limit })
    }

    /// The result stored for `key`.
    pub fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let path = self.directory.join(key.path());
        let bytes = fs::read(&path).ok()?;
        let Some(value) = FORMAT.open::<T>(&bytes) else {
            // Damaged, or of another version: it will be written anew.
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time of last use decides what stays; not being able to note it does no harm.
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
        if key.looks() {
            evict(shard, self.limit / SHARDS);
        }
    }
}

/// Writes a file whole, and the directory that it is in, if there is none yet. The directory of the cache itself is not made:
/// if somebody removed it, it was not to be there.
fn store(bytes: &[u8], directory: &Path, path: &Path) -> std::io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Removes the entries of a directory not used for longest until it is well within `limit`. Other processes may do the same at
/// the same time; a file that is gone already is fine.
fn evict(directory: &Path, limit: u64) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| is_ours(&entry.file_name()))
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
    use super::{BLOCK, DiskCache, Key, LOOK_EVERY, SHARDS, evict, may_read_files};
    use crate::frontend::options::{BuildOptions, Stage};
    use crate::frontend::{Compiled, Header, Job, Profile};
    use std::os::unix::fs::MetadataExt;
    use std::time::SystemTime;

    fn compiled(size: usize) -> Compiled {
        Compiled { words: vec![7; size], log: "warning\n".to_owned() }
    }

    fn key(source: &str, options: &str, identity: &str) -> Option<Key> {
        let options = BuildOptions::parse(options, Stage::Compile).unwrap();
        let profile = Profile::default();
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
    fn sources_that_read_files_have_no_key() {
        assert!(key("#include \"x.h\"", "", "clang").is_none());
        // Without an #include it does not matter where headers are.
        assert!(key("kernel", "-I .", "clang").is_some());
        assert!(key("#include <x>", "-I .", "clang").is_none());
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
        assert_eq!(cache.get::<Compiled>(&key), None);
        cache.put(&key, &compiled(10));
        assert_eq!(cache.get(&key), Some(compiled(10)));
        let path = directory.path().join("made/here").join(key.path());
        std::fs::write(&path, b"garbage").unwrap();
        assert_eq!(cache.get::<Compiled>(&key), None);
        assert!(!path.exists());
    }

    #[test]
    fn the_bound_holds_and_strangers_stay() {
        let directory = tempfile::tempdir().unwrap();
        let limit = 1 << 20;
        let cache = DiskCache::open(directory.path().to_owned(), limit).unwrap();
        let shard = directory.path().join("7");
        std::fs::create_dir(&shard).unwrap();
        std::fs::write(shard.join("stranger.clift"), vec![0; 200_000]).unwrap();
        // As many of one subdirectory that some of them look at its size.
        let keys =
            || (0..).filter_map(|i| key(&format!("kernel {i}"), "", "clang")).filter(|key| key.path().starts_with("7"));
        for key in keys().take(8 * usize::from(LOOK_EVERY)) {
            cache.put(&key, &compiled(1000));
        }
        let last = keys().filter(Key::looks).nth(20).unwrap();
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
        // One that vanishes later is none either.
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::open(directory.path().to_owned(), 1 << 20).unwrap();
        drop(directory);
        let key = key("kernel", "", "clang").unwrap();
        cache.put(&key, &compiled(1));
        assert_eq!(cache.get::<Compiled>(&key), None);
    }
}
