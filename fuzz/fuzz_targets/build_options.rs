//! Any build options. `cargo +nightly fuzz run build_options` from the top of the repository.
#![no_main]

#[path = "../../icd/tests/input_fuzz/body.rs"]
#[allow(dead_code, reason = "shared with other targets")]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::build_options(data));
