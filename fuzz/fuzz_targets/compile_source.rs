//! Any bytes into the front end. `cargo +nightly fuzz run compile_source` from the top of the repository; the kernels of
//! `tests/bench/kernels` make a good corpus.
#![no_main]

#[path = "../../clc/tests/source_fuzz/body.rs"]
#[allow(dead_code, reason = "each target runs one of the bodies")]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::compile_source(data));
