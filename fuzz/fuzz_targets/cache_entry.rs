//! Any payload as an entry of the disk cache. `cargo +nightly fuzz run cache_entry` from the top of the repository.
#![no_main]

#[path = "../../icd/tests/input_fuzz/body.rs"]
#[allow(dead_code, reason = "shared with other targets")]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut bytes = [b"CLIFTCCH\x01\0\0\0", &[0; 32][..], data].concat();
    body::with_right_hash(&mut bytes);
    body::cache_entry(&bytes);
});
