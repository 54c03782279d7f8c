//! The bodies of the fuzz targets for what an application, or the disk, hands to the driver: shared by the test that damages
//! known inputs and the `cargo fuzz` targets.

use clift::envelope::EnvelopeFormat;
use clift::frontend::BuildOptions;
use clift::frontend::Compiled;
use clift::frontend::options::BuildCall;
use clift::object::program::binary::Contents;
use clift::object::program::unit::Executable;

/// Bytes in front of the payload: those that identify the format, and the payload's hash.
pub(crate) const HEADER: usize = 12 + 32;

/// Gives a damaged binary or cache entry the hash that belongs to its payload: otherwise, nothing behind it would be looked at.
pub(crate) fn with_right_hash(bytes: &mut [u8]) {
    if bytes.len() >= HEADER {
        let hash = blake3::hash(&bytes[HEADER..]);
        bytes[12..HEADER].copy_from_slice(hash.as_bytes());
    }
}

/// Loads a program binary, and compiles what it contains.
pub(crate) fn program_binary(bytes: &[u8]) {
    let Some(contents) = Contents::open(bytes) else { return };
    // What is accepted is stored in the same way again.
    let sealed = contents.seal();
    assert!(Contents::open(&sealed).is_some_and(|again| again.seal() == sealed));
    let _ = Executable::link(contents.units, None, &clift_jit::Options::default());
}

/// Reads an entry of the disk cache.
pub(crate) fn cache_entry(bytes: &[u8]) {
    const FORMAT: EnvelopeFormat = EnvelopeFormat { magic: *b"CLIFTCCH", version: 1 };
    let entry: Option<Compiled> = FORMAT.open(bytes);
    if let Some(entry) = entry {
        let _ = clift_jit::inspect(&entry.words);
    }
}

/// Parses build options.
pub(crate) fn build_options(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for call in [BuildCall::Compile, BuildCall::Link] {
        if let Err(message) = BuildOptions::parse(&text, call) {
            assert!(!message.is_empty());
        }
    }
}
