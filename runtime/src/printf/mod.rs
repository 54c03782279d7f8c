//! OpenCL C's `printf`: formats the calls and collects a launch's output.
//!
//! - `spec`: parses a format into conversion specifications;
//! - `value`: prints one value by one specification. The C library does the conversion, so that digits are exact; its formats are
//!   built from parsed parts only, never copied from the kernel's format.
//!
//! The calling thread formats the text of a call and appends it to the launch's output as a whole. The output is written when
//! the launch has ended, before the end is reported.
#![allow(unsafe_code, reason = "`%s` reads strings of the kernel")]

mod spec;
#[cfg(test)]
mod tests;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};

use clift_include::abi::PrintfArg;

use crate::launch::PrintfSink;
use spec::{Conversion, FormatPiece, pieces};

/// Maximum size of a launch's output, which the device reports as the size of its printf buffer.
pub const BUFFER_BYTES: usize = 1 << 20;

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
    let _locale = value::CLocale::enter();
    let mut args = args.iter();
    for piece in pieces(format) {
        match piece? {
            FormatPiece::Text(literal) => text.extend_from_slice(literal),
            FormatPiece::Conversion(spec) => {
                let arg = args.next().ok_or(FormatError::MissingValue)?;
                let bytes = value::bytes_of(arg, data).ok_or(FormatError::MissingValue)?;
                if spec.conversion == Conversion::String {
                    let address = value::address(arg, bytes).ok_or(FormatError::WrongValue)?;
                    // SAFETY: guaranteed by the caller.
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

/// The output of a launch.
#[derive(Debug, Default)]
pub(crate) struct PrintfOutput {
    text: Vec<u8>,
}

impl PrintfOutput {
    /// Appends one call's text; false when the buffer is full.
    pub(crate) fn append(&mut self, text: &[u8]) -> bool {
        if self.text.len() + text.len() > BUFFER_BYTES {
            return false;
        }
        self.text.extend_from_slice(text);
        true
    }

    /// Writes the output to the sink, or to standard output.
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
