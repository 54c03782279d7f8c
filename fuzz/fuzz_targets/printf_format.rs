//! Any format of `printf` with any values. `cargo +nightly fuzz run printf_format` from the top of the repository.
#![no_main]

#[path = "../../runtime/tests/printf_fuzz/body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let (Some((shape, rest)), true) = (data.split_at_checked(8), data.len() < 4096)
        && let Some((values, pattern)) = rest.split_at_checked(96)
    {
        body::print(shape, pattern, values);
    }
});
