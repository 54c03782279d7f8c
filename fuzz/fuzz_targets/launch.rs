//! Any words into the import, and the kernels of what it accepts into launches, which the interpreter and machine code execute.
//! `cargo +nightly fuzz run launch` from the top of the repository; the modules of `jit/tests/files/spirv` make a good corpus.
#![no_main]

#[path = "../../jit/tests/import_fuzz/launches.rs"]
#[allow(dead_code, reason = "kernel IR is damaged by a test")]
mod launches;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let words: Vec<u32> = data.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    launches::run(&words);
});
