//! Fuzzes program binaries, entries of the disk cache and build options: damaged, for a second each. `CLIFT_FUZZ_MS` says how
//! long instead; a failure names the seed that `ARBTEST_SEED` repeats.
#![allow(missing_docs, reason = "a test")]

mod body;

use std::path::Path;
use std::sync::Arc;

use clift::envelope::EnvelopeFormat;
use clift::frontend::{BuildOptions, Compiled};
use clift::object::program::binary::{BinaryKind, Contents};
use clift::object::program::unit::Unit;
use clift_kir::testing::damage::{budget_ms, damage, files};

/// Modules to start from.
fn modules() -> Vec<Vec<u32>> {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../jit/tests/files/spirv/run"), "spv");
    assert!(files.len() > 20, "the modules of jit/tests/files/spirv are missing");
    let words = |bytes: &Vec<u8>| bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    files.iter().map(words).collect()
}

/// Damages sealed inputs; most of them get the right hash.
fn damaged(seeds: &[Vec<u8>], body: impl Fn(&[u8])) {
    arbtest::arbtest(|u| {
        let mut bytes = u.choose(seeds)?.clone();
        let mut payload = bytes.split_off(body::HEADER);
        for _ in 0..u.int_in_range(1..=3)? {
            damage(&mut |n| u.int_in_range(0..=n - 1), &mut payload, &[&[0; 4], &[0xff; 5], &[0x80, 1]])?;
        }
        bytes.extend(payload);
        if u.ratio(1, 16)? {
            damage(&mut |n| u.int_in_range(0..=n - 1), &mut bytes, &[])?;
        } else {
            body::with_right_hash(&mut bytes);
        }
        body(&bytes);
        Ok(())
    })
    .budget_ms(budget_ms());
}

#[test]
fn program_binaries() {
    let options = BuildOptions::default();
    let seal = |words: Vec<u32>| {
        let unit = Arc::new(Unit::from_il(words, Vec::new(), "-cl-mad-enable".to_owned(), options.clone()));
        let contents =
            Contents { kind: BinaryKind::Executable, options: String::new(), units: vec![unit.clone(), unit] };
        contents.seal()
    };
    let seeds: Vec<Vec<u8>> = modules().into_iter().map(seal).collect();
    damaged(&seeds, body::program_binary);
}

#[test]
fn cache_entries() {
    const FORMAT: EnvelopeFormat = EnvelopeFormat { magic: *b"CLIFTCCH", version: 1 };
    let seal = |words| FORMAT.seal(&Compiled { words, log: "warning\n".to_owned(), kernels: None });
    let seeds: Vec<Vec<u8>> = modules().into_iter().filter_map(seal).collect();
    damaged(&seeds, body::cache_entry);
}

#[test]
fn build_options() {
    const PIECES: &[&[u8]] = &[
        b" ",
        b"-",
        b"-D",
        b"-D A",
        b"=1",
        b"\"",
        b"'",
        b"\\",
        b"-I",
        b"-I /",
        b"-cl-std=",
        b"CL3.0",
        b"-cl-",
        b"fast-relaxed-math",
        b"-w",
        b"-Werror",
        b"-x spir",
        b"-create-library",
        b"-g",
        b"-O",
        b"3",
        b"-clift-vectorize-report",
        b"\n",
        b"\0",
        b"--",
        b"-cl-std=CL1.2",
        b"-spir-std=1.2",
    ];
    arbtest::arbtest(|u| {
        let mut text = Vec::new();
        for _ in 0..u.int_in_range(1..=10)? {
            text.extend_from_slice(u.choose(PIECES)?);
        }
        damage(&mut |n| u.int_in_range(0..=n - 1), &mut text, PIECES)?;
        body::build_options(&text);
        Ok(())
    })
    .budget_ms(budget_ms());
}
