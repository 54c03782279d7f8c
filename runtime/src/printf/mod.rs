//! OpenCL C's `printf`: what one call prints, and what becomes of a launch's output.
//!
//! - `spec`: the conversion specifications of a format, parsed;
//! - `value`: one value printed by one specification. The C library does the converting, so that digits are exact; it is
//!   handed formats built from parsed parts only, never the kernel's own.
//!
//! A call's text is put together by the thread that makes the call and added to the launch's `Output` as a whole. The
//! output is written when the launch ends, before that is reported.
#![allow(unsafe_code, reason = "`%s` reads strings of the kernel")]

mod spec;
#[cfg(test)]
mod tests;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};

use clift_include::abi::PrintfArg;

use crate::launch::PrintfSink;
use spec::{Conversion, Piece, pieces};

/// Most bytes a launch prints: what the device reports as its printf buffer.
pub const BUFFER_BYTES: usize = 1 << 20;

/// A call that cannot be printed. OpenCL leaves the behaviour open; the call prints nothing and returns -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A conversion specification is malformed, or none of OpenCL C's.
    #[error("malformed conversion specification at byte {0}")]
    Specification(usize),
    /// There are fewer values than conversions.
    #[error("not enough values for the format")]
    MissingValue,
    /// A value cannot be printed by its conversion.
    #[error("a value does not fit its conversion")]
    WrongValue,
    /// One call prints more than the whole buffer holds.
    #[error("the text is longer than the printf buffer")]
    TooLong,
}

/// Prints one call: appends the text of `format`, with the values described by `args` and stored in `data`, to `text`.
///
/// # Safety
/// Values of kind `Pointer` that a `%s` takes lead to NUL-terminated strings (or at least as many bytes as its precision).
pub unsafe fn format(format: &[u8], args: &[PrintfArg], data: &[u8], text: &mut Vec<u8>) -> Result<(), FormatError> {
    let _locale = value::CLocale::enter();
    let mut args = args.iter();
    for piece in pieces(format) {
        match piece? {
            Piece::Text(literal) => text.extend_from_slice(literal),
            Piece::Conversion(spec) => {
                let arg = args.next().ok_or(FormatError::MissingValue)?;
                let bytes = value::bytes_of(arg, data).ok_or(FormatError::MissingValue)?;
                if spec.conversion == Conversion::String {
                    let address = value::address(arg, bytes).ok_or(FormatError::WrongValue)?;
                    // SAFETY: the caller's promise.
                    unsafe { value::print_string(&spec, address, text) }?;
                } else {
                    value::print(&spec, arg, bytes, text)?;
                }
            }
        }
        if text.len() > BUFFER_BYTES {
            return Err(FormatError::TooLong);
        }
    }
    Ok(())
}

/// What a launch has printed.
#[derive(Debug, Default)]
pub(crate) struct Output {
    text: Vec<u8>,
}

impl Output {
    /// Adds one call's text; false when the buffer is full.
    pub(crate) fn append(&mut self, text: &[u8]) -> bool {
        if self.text.len() + text.len() > BUFFER_BYTES {
            return false;
        }
        self.text.extend_from_slice(text);
        true
    }

    /// Writes it out.
    pub(crate) fn write(self, sink: Option<&PrintfSink>) {
        if self.text.is_empty() {
            return;
        }
        match sink {
            Some(sink) => {
                if catch_unwind(AssertUnwindSafe(|| sink(&self.text))).is_err() {
                    tracing::error!("a printf callback panicked");
                }
            }
            None => crate::sys::write_stdout(&self.text),
        }
    }
}
