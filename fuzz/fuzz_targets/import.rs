//! Any words into the import. `cargo +nightly fuzz run import` from the top of the repository; the modules of
//! `jit/tests/files/spirv` make a good corpus.
#![no_main]

#[path = "../../jit/tests/import_fuzz/body.rs"]
#[allow(dead_code, reason = "shared with other targets")]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let words: Vec<u32> = data.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    body::import(&words);
});
