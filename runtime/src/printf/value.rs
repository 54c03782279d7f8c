//! Prints one value by one specification.
#![allow(unsafe_code, reason = "calls the C library's formatter and reads the kernel's strings")]

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use clift_include::abi::{PrintfArg, PrintfArgKind};

use super::spec::{Conversion, Spec};
use super::{BUFFER_BYTES, FormatError};
use crate::fault::access;

/// The bytes of a value, if they are inside the call's data.
pub(super) fn bytes_of<'a>(arg: &PrintfArg, data: &'a [u8]) -> Option<&'a [u8]> {
    let start = arg.offset as usize;
    let end = start + usize::from(arg.elem_bytes) * usize::from(arg.lanes);
    data.get(start..end).filter(|bytes| !bytes.is_empty())
}

/// The address in a pointer value.
pub(super) fn address(arg: &PrintfArg, bytes: &[u8]) -> Option<usize> {
    match arg.kind {
        PrintfArgKind::Pointer => usize::try_from(bits(bytes)).ok(),
        PrintfArgKind::Int | PrintfArgKind::Float => None,
    }
}

/// Prints anything but a string: the elements, separated by commas.
pub(super) fn print(spec: &Spec, arg: &PrintfArg, bytes: &[u8], text: &mut Vec<u8>) -> Result<(), FormatError> {
    let elements = bytes.chunks_exact(usize::from(arg.elem_bytes)).take(usize::from(spec.lanes));
    for (index, element) in elements.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        match spec.conversion {
            Conversion::Signed => convert(spec, b"lld", CValue::Int(integer(spec, arg, element, true)), text)?,
            Conversion::Unsigned(letter) => {
                convert(spec, &[b'l', b'l', letter], CValue::Int(integer(spec, arg, element, false)), text)?;
            }
            Conversion::Float(letter) => convert(spec, &[letter], CValue::Float(float(arg, element)), text)?,
            Conversion::Char => print_char(spec, integer(spec, arg, element, false), text),
            Conversion::Pointer => {
                convert(spec, b"p", CValue::Pointer(integer(spec, arg, element, false)), text)?;
            }
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
    let mut string = Vec::new();
    if address == 0 {
        string.extend_from_slice(&b"(null)"[..most.min(6)]);
    } else {
        let start = core::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: what is accessible up to the NUL or the precision may be read.
        let length = unsafe { access::string_length(start, most.min(BUFFER_BYTES + 1)) };
        let length = length.map_err(|error| FormatError::Inaccessible(error.to_string()))?;
        if length > BUFFER_BYTES {
            return Err(FormatError::TooLong);
        }
        // SAFETY: so many bytes have been read above.
        string.extend_from_slice(unsafe { core::slice::from_raw_parts(start, length) });
    }
    pad(spec, &string, text);
    Ok(())
}

fn print_char(spec: &Spec, value: u64, text: &mut Vec<u8>) {
    pad(spec, &[value.to_le_bytes()[0]], text);
}

/// Pads with spaces to the field width.
fn pad(spec: &Spec, body: &[u8], text: &mut Vec<u8>) {
    let padding = core::iter::repeat_n(b' ', spec.width.saturating_sub(body.len()));
    if spec.flags.left {
        text.extend_from_slice(body);
        text.extend(padding);
    } else {
        text.extend(padding);
        text.extend_from_slice(body);
    }
}

/// The bits of an element.
fn bits(element: &[u8]) -> u64 {
    let mut all = [0; 8];
    let len = element.len().min(8);
    all[..len].copy_from_slice(&element[..len]);
    u64::from_le_bytes(all)
}

/// An element as an integer of the specified size, extended to 64 bits.
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

/// A value as the C library's variadic argument.
#[derive(Clone, Copy)]
enum CValue {
    Int(u64),
    Float(f64),
    Pointer(u64),
}

/// Converts a value with the C library, by the specification's flags, width and precision and the given length and letter.
fn convert(spec: &Spec, letters: &[u8], value: CValue, text: &mut Vec<u8>) -> Result<(), FormatError> {
    let format = c_format(spec, letters);
    let mut short = [0u8; 128];
    let len = formatted(&format, value, &mut short)?;
    if len < short.len() {
        text.extend_from_slice(&short[..len]);
        return Ok(());
    }
    if len > BUFFER_BYTES {
        return Err(FormatError::TooLong);
    }
    let start = text.len();
    // One more byte for the NUL, which is removed again.
    text.resize(start + len + 1, 0);
    let again = formatted(&format, value, &mut text[start..]);
    text.truncate(start + len);
    again.map(|_| ())
}

/// Formats into `target`, NUL-terminated and truncated if necessary; returns the untruncated length.
fn formatted(format: &CString, value: CValue, target: &mut [u8]) -> Result<usize, FormatError> {
    let (start, len) = (target.as_mut_ptr().cast::<c_char>(), target.len());
    let format = format.as_ptr();
    // SAFETY: the target is valid for its length; the format has exactly one conversion, which `c_format` built for the type
    // of the argument.
    let result = unsafe {
        match value {
            CValue::Int(value) => libc::snprintf(start, len, format, value),
            CValue::Float(value) => libc::snprintf(start, len, format, value),
            CValue::Pointer(value) => {
                let address = usize::try_from(value).unwrap_or(usize::MAX);
                libc::snprintf(start, len, format, core::ptr::without_provenance::<libc::c_void>(address))
            }
        }
    };
    usize::try_from(result).map_err(|_| FormatError::TooLong)
}

fn c_format(spec: &Spec, letters: &[u8]) -> CString {
    let mut format = Vec::with_capacity(32);
    format.push(b'%');
    let flags = &spec.flags;
    let is_pointer = spec.conversion == Conversion::Pointer;
    // In C, `p` takes no flag but `-`.
    for (set, flag) in [
        (flags.left, b'-'),
        (flags.plus && !is_pointer, b'+'),
        (flags.space && !is_pointer, b' '),
        (flags.alternative && !is_pointer, b'#'),
        (flags.zero && !is_pointer, b'0'),
    ] {
        if set {
            format.push(flag);
        }
    }
    if spec.width > 0 {
        format.extend_from_slice(spec.width.to_string().as_bytes());
    }
    if let Some(precision) = spec.precision.filter(|_| !is_pointer) {
        format.push(b'.');
        format.extend_from_slice(precision.to_string().as_bytes());
    }
    format.extend_from_slice(letters);
    CString::new(format).unwrap_or_else(|_| unreachable!("broken invariant: a format without NUL"))
}

/// While it exists, the thread formats by the C locale, with a decimal *point*, regardless of the application's locale.
pub(super) struct CLocale {
    before: Option<libc::locale_t>,
}

struct Locale(libc::locale_t);

// SAFETY: any thread may use a locale object that is never modified or freed.
unsafe impl Send for Locale {}
// SAFETY: as above.
unsafe impl Sync for Locale {}

impl CLocale {
    pub(super) fn enter() -> Self {
        static LOCALE: OnceLock<Locale> = OnceLock::new();
        let locale = LOCALE.get_or_init(|| {
            // SAFETY: makes a new locale from a valid name.
            Locale(unsafe { libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), core::ptr::null_mut()) })
        });
        if locale.0.is_null() {
            return Self { before: None };
        }
        // SAFETY: the locale is never freed.
        let before = unsafe { libc::uselocale(locale.0) };
        Self { before: (!before.is_null()).then_some(before) }
    }
}

impl Drop for CLocale {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: this is the thread's previous locale.
            unsafe { libc::uselocale(before) };
        }
    }
}
