//! OpenCL C's `printf`: formats the calls and collects a launch's output.
//!
//! - `spec`: parses a format into conversion specifications;
//! - `value`: prints one value by one specification, with `integer` and `float`; `clib`, the C library, prints the floats that
//!   `float` does not (hexadecimal ones, infinities, NaNs);
//! - `output`: what a launch has printed.
//!
//! The calling thread formats a call directly to the end of its part of the launch's output. The output is written when the
//! launch has ended, before the end is reported. Formats are parsed by each call: that takes less time than to find what an
//! earlier call has parsed.
#![allow(unsafe_code, reason = "`%s` reads strings of the kernel")]

mod clib;
mod float;
mod integer;
mod output;
mod spec;
#[cfg(test)]
mod tests;
mod value;

use clift_include::abi::PrintfArg;

pub(crate) use output::PrintfOutput;
use spec::{Conversion, Reader};

/// Maximum size of a launch's output, which the device reports as the size of its printf buffer. Memory is used for what is
/// printed only.
pub const BUFFER_BYTES: usize = 16 << 20;

/// A call that cannot be printed. OpenCL leaves the behaviour undefined; here, the call prints nothing and returns -1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A conversion specification is malformed, or not one of OpenCL C.
    #[error("malformed conversion specification at byte {0}")]
    Specification(usize),
    /// There are fewer values than conversions.
    #[error("not enough values for the format")]
    MissingValue,
    /// A value's type does not match its conversion.
    #[error("the type of a value does not match its conversion")]
    WrongValue,
    /// The text of one call is longer than the whole buffer.
    #[error("the text is longer than the printf buffer")]
    TooLong,
    /// A string of the kernel is not accessible.
    #[error("{0}")]
    Inaccessible(String),
}

/// Formats one call: appends the text of `format`, with the values described by `args` and stored in `data`, to `text`.
///
/// # Safety
/// Values of kind `Pointer` for a `%s` point to NUL-terminated strings (or to at least as many bytes as the precision).
pub unsafe fn format(format: &[u8], args: &[PrintfArg], data: &[u8], text: &mut Vec<u8>) -> Result<(), FormatError> {
    let start = text.len();
    let mut args = args.iter();
    let mut reader = Reader::new(format);
    while reader.left() > 0 {
        text.extend_from_slice(reader.text());
        if reader.at_specification() {
            let at = format.len() - reader.left();
            // It is not copied: processors wait before they load words that have been stored byte by byte.
            let Some(spec) = &reader.specification() else { return Err(FormatError::Specification(at)) };
            let arg = args.next().ok_or(FormatError::MissingValue)?;
            let bytes = value::bytes_of(arg, data).ok_or(FormatError::MissingValue)?;
            if spec.conversion == Conversion::String {
                let address = value::address(arg, bytes).ok_or(FormatError::WrongValue)?;
                // SAFETY: guaranteed by the caller.
                unsafe { value::print_string(spec, address, text) }?;
            } else {
                value::print(spec, arg, bytes, text)?;
            }
        }
        if text.len() - start > BUFFER_BYTES {
            return Err(FormatError::TooLong);
        }
    }
    Ok(())
}
