//! Fuzzes the text form of the kernel IR: the compiler's test files, damaged, for a second. `CLIFT_FUZZ_MS` says how long
//! instead; a failure names the seed that `ARBTEST_SEED` repeats.
#![allow(missing_docs, reason = "a test")]

mod body;

use std::path::Path;

use clift_kir::testing::damage::{budget_ms, damage, files};

const PIECES: &[&[u8]] = &[
    b"i32",
    b"i64x4",
    b"f16x3",
    b"b1",
    b"ptr(global)",
    b"ptr(",
    b"v0",
    b"v4294967295",
    b"b0",
    b"b99",
    b"0x",
    b"-1",
    b"(",
    b")",
    b"{",
    b"}",
    b":",
    b",",
    b"=",
    b"->",
    b"\n",
    b"function",
    b"kernel",
    b"global",
    b"slot",
    b"const",
    b"align",
    b"load",
    b"store",
    b"switch",
    b"branch",
    b"jump",
    b"ret",
    b"99999999999999999999",
    b"1e999",
    b"\"",
    b";",
    b"@",
    b"!",
    b"x64",
    b"x65",
];

#[test]
fn damaged_texts() {
    let seeds = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/files/kir"), "kir");
    assert!(seeds.len() > 20, "the files of jit/tests/files/kir are missing");
    arbtest::arbtest(|u| {
        let mut text = u.choose(&seeds)?.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            damage(&mut |n| u.int_in_range(0..=n - 1), &mut text, PIECES)?;
        }
        body::read(&text);
        Ok(())
    })
    .budget_ms(budget_ms());
}
