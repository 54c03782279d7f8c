//! Damaged inputs, for fuzz tests.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// How long a fuzz test runs: `CLIFT_FUZZ_MS` milliseconds, or a second.
pub fn budget_ms() -> u64 {
    std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000)
}

/// All files below a directory whose names end with `extension`.
pub fn files(directory: &Path, extension: &str) -> Vec<Vec<u8>> {
    fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { collect(&path, paths) } else { paths.push(path) }
        }
    }
    let mut paths = Vec::new();
    collect(directory, &mut paths);
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Damages bytes in one way. `choose(n)` returns a number below n; `pieces` are texts to insert.
pub fn damage<E>(
    choose: &mut impl FnMut(usize) -> Result<usize, E>,
    bytes: &mut Vec<u8>,
    pieces: &[&[u8]],
) -> Result<(), E> {
    let range = part(choose, bytes.len())?;
    match choose(6)? {
        // Any byte.
        0 if !bytes.is_empty() => {
            let at = range.start.min(bytes.len() - 1);
            bytes[at] = choose(256)? as u8;
        }
        // Something is missing.
        1 => drop(bytes.drain(range)),
        // Something is twice, or elsewhere.
        2 => {
            let piece = bytes[range].to_vec();
            let at = choose(bytes.len() + 1)?;
            bytes.splice(at..at, piece);
        }
        // Repeated.
        3 => {
            let piece = bytes[range.clone()].repeat(2 + choose(20)?);
            bytes.splice(range.start..range.start, piece);
        }
        // Something that means something, in place of something.
        _ if !pieces.is_empty() => {
            let piece = pieces[choose(pieces.len())?];
            bytes.splice(range, piece.iter().copied());
        }
        _ => bytes.truncate(range.start),
    }
    bytes.truncate(256 << 10);
    Ok(())
}

/// A part of something with `len` bytes, short as a rule.
fn part<E>(choose: &mut impl FnMut(usize) -> Result<usize, E>, len: usize) -> Result<Range<usize>, E> {
    let start = choose(len + 1)?;
    let most = if choose(8)? == 0 { len } else { 12 };
    Ok(start..(start + choose(most + 1)?).min(len))
}
