//! Any payload as a program binary, which is compiled if it is accepted. `cargo +nightly fuzz run program_binary` from the top
//! of the repository.
#![no_main]

#[path = "../../icd/tests/input_fuzz/body.rs"]
#[allow(dead_code, reason = "shared with other targets")]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut bytes = [b"CLIFTPRG\x01\0\0\0", &[0; 32][..], data].concat();
    body::with_right_hash(&mut bytes);
    body::program_binary(&bytes);
});
