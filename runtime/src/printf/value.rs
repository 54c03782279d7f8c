//! Prints one value by one specification: dispatches to `integer`, `float` and `clib`; prints characters and strings.
#![allow(unsafe_code, reason = "reads the kernel's strings")]

use std::fmt::{self, Write};

use clift_include::abi::{PrintfArg, PrintfArgKind};
use smallvec::SmallVec;

use super::spec::{Conversion, Spec};
use super::{BUFFER_BYTES, FormatError, clib, float, integer};
use crate::fault::access;

/// The text of a number, on the stack as long as it is short.
#[derive(Default)]
pub(super) struct Text(pub(super) SmallVec<[u8; 64]>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The bytes of a value, if they are inside the call's data.
#[inline]
pub(super) fn bytes_of<'a>(arg: &PrintfArg, data: &'a [u8]) -> Option<&'a [u8]> {
    let start = arg.offset as usize;
    let end = start + usize::from(arg.elem_bytes) * usize::from(arg.lanes);
    data.get(start..end).filter(|bytes| !bytes.is_empty())
}

/// The address in a pointer value.
#[inline]
pub(super) fn address(arg: &PrintfArg, bytes: &[u8]) -> Option<usize> {
    match arg.kind {
        PrintfArgKind::Pointer => usize::try_from(bits(bytes)).ok(),
        PrintfArgKind::Int | PrintfArgKind::Float => None,
    }
}

/// Prints anything but a string: the elements, separated by commas.
#[inline]
pub(super) fn print(spec: &Spec, arg: &PrintfArg, bytes: &[u8], text: &mut Vec<u8>) -> Result<(), FormatError> {
    let (start, len) = (text.len(), usize::from(arg.elem_bytes));
    for index in 0..usize::from(spec.lanes.min(arg.lanes)) {
        let element = &bytes[index * len..][..len];
        if index > 0 {
            text.push(b',');
        }
        if text.len() - start > BUFFER_BYTES {
            return Err(FormatError::TooLong);
        }
        match spec.conversion {
            Conversion::Signed => integer::print(spec, integer(spec, arg, element, true), text),
            Conversion::Unsigned(_) => integer::print(spec, integer(spec, arg, element, false), text),
            Conversion::Float(letter) => {
                let value = float(arg, element);
                if !float::print(spec, value, text) {
                    clib::print(spec, letter, value, text)?;
                }
            }
            Conversion::Char => pad(spec, &[integer(spec, arg, element, false).to_le_bytes()[0]], text),
            Conversion::Pointer => integer::print_pointer(spec, integer(spec, arg, element, false), text),
            Conversion::String => unreachable!("broken invariant: strings are printed by print_string"),
        }
    }
    Ok(())
}

/// Prints a string.
///
/// # Safety
/// `address` is 0, or the address of a NUL-terminated string, or of at least as many bytes as the precision.
pub(super) unsafe fn print_string(spec: &Spec, address: usize, text: &mut Vec<u8>) -> Result<(), FormatError> {
    let most = spec.precision.unwrap_or(usize::MAX);
    if address == 0 {
        pad(spec, &b"(null)"[..most.min(6)], text);
    } else {
        let start = core::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: what is accessible up to the NUL or the precision may be read.
        let length = unsafe { access::string_length(start, most.min(BUFFER_BYTES + 1)) };
        let length = length.map_err(|error| FormatError::Inaccessible(error.to_string()))?;
        if length > BUFFER_BYTES {
            return Err(FormatError::TooLong);
        }
        // SAFETY: so many bytes have been read above.
        pad(spec, unsafe { core::slice::from_raw_parts(start, length) }, text);
    }
    Ok(())
}

/// The place of a value in its field.
pub(super) struct Field<'a> {
    pub(super) spec: &'a Spec,
    /// What is before zeros that fill the field: the sign, `0x`.
    pub(super) prefix: &'a [u8],
    /// Length of what follows the prefix.
    pub(super) len: usize,
    /// Whether zeros fill the field, if it is not aligned to the left.
    pub(super) fill_zeros: bool,
}

impl Field<'_> {
    /// Appends the prefix, what `body` appends, and what fills the field up to its width.
    #[inline]
    pub(super) fn print(&self, text: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        let left = self.spec.flags.left;
        let missing = self.spec.width.saturating_sub(self.prefix.len() + self.len);
        if !left && !self.fill_zeros {
            fill(text, b' ', missing);
        }
        text.extend_from_slice(self.prefix);
        if !left && self.fill_zeros {
            fill(text, b'0', missing);
        }
        body(text);
        if left {
            fill(text, b' ', missing);
        }
    }
}

/// Pads with spaces to the field width.
fn pad(spec: &Spec, body: &[u8], text: &mut Vec<u8>) {
    let field = Field { spec, prefix: b"", len: body.len(), fill_zeros: false };
    field.print(text, |text| text.extend_from_slice(body));
}

/// Appends copies of a byte.
#[inline]
pub(super) fn fill(text: &mut Vec<u8>, byte: u8, count: usize) {
    if count > 0 {
        text.resize(text.len() + count, byte);
    }
}

/// The bits of an element.
#[inline]
fn bits(element: &[u8]) -> u64 {
    match *element {
        [] => 0,
        [byte] => u64::from(byte),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h, ..] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        // Generated code has no such elements.
        [..] => element.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)),
    }
}

/// An element as an integer of the specified size, extended to 64 bits.
#[inline]
fn integer(spec: &Spec, arg: &PrintfArg, element: &[u8], signed: bool) -> u64 {
    let stored = element.len().min(8);
    let value = match arg.kind {
        PrintfArgKind::Int | PrintfArgKind::Pointer => bits(element),
        // Undefined behaviour; the result is the integer part.
        PrintfArgKind::Float => (float(arg, element) as i64).cast_unsigned(),
    };
    let size = match (arg.kind, spec.size) {
        (PrintfArgKind::Int, Some(size)) => stored.min(usize::from(size)),
        (PrintfArgKind::Int, None) => stored,
        (PrintfArgKind::Pointer | PrintfArgKind::Float, _) => 8,
    };
    let unused = 64 - 8 * u32::try_from(size).unwrap_or(8);
    if unused == 64 {
        0
    } else if signed {
        ((value << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        (value << unused) >> unused
    }
}

/// An element as a number.
#[inline]
fn float(arg: &PrintfArg, element: &[u8]) -> f64 {
    let bits = bits(element);
    match (arg.kind, element.len()) {
        (PrintfArgKind::Float, 2) => half::f16::from_bits(bits as u16).to_f64(),
        (PrintfArgKind::Float, 4) => f64::from(f32::from_bits(bits as u32)),
        (PrintfArgKind::Float, _) => f64::from_bits(bits),
        // Undefined behaviour; the result is the integer's value.
        (PrintfArgKind::Int, 1) => f64::from(bits as i8),
        (PrintfArgKind::Int, 2) => f64::from(bits as i16),
        (PrintfArgKind::Int, 4) => f64::from(bits as i32),
        (PrintfArgKind::Int | PrintfArgKind::Pointer, _) => bits.cast_signed() as f64,
    }
}
