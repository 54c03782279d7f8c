//! The body of the fuzz target for formats of `printf`: shared by the test that makes formats and the `cargo fuzz` target.
#![allow(unsafe_code, reason = "formats a call")]

use clift_include::abi::{PrintfArg, PrintfArgKind};
use clift_runtime::printf::{BUFFER_BYTES, format};

/// Formats with any format and any values. The first bytes say what the values are; there are no strings, because any address
/// would be read.
pub(crate) fn print(shape: &[u8], pattern: &[u8], data: &[u8]) {
    let args: Vec<PrintfArg> = shape
        .chunks_exact(2)
        .map(|shape| PrintfArg {
            kind: if shape[0] & 1 == 0 { PrintfArgKind::Int } else { PrintfArgKind::Float },
            elem_bytes: [1, 2, 4, 8][usize::from(shape[0] >> 1 & 3)],
            lanes: [1, 2, 3, 4, 8, 16][usize::from(shape[0] >> 3) % 6],
            reserved: 0,
            offset: u32::from(shape[1]) * 8,
        })
        .collect();
    let mut text = Vec::new();
    // SAFETY: no value is a pointer.
    if unsafe { format(pattern, &args, data, &mut text) }.is_ok() {
        assert!(text.len() <= BUFFER_BYTES);
        if !pattern.contains(&b'%') {
            assert_eq!(text, pattern);
        }
    }
}
