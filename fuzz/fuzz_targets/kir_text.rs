//! Any text into the parser of the kernel IR. The files of `jit/tests/files/kir` make a good corpus. `cargo +nightly fuzz run
//! kir_text` from the top of the repository.
#![no_main]

#[path = "../../jit/kir/tests/text_fuzz/body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::read(data));
