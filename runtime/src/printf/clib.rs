//! Prints hexadecimal floats, infinities, NaNs and very long numbers with the C library.
#![allow(unsafe_code, reason = "calls the C library's formatter")]

use std::ffi::{CStr, c_char};
use std::io::Write;
use std::sync::OnceLock;

use super::spec::Spec;
use super::{BUFFER_BYTES, FormatError};

/// Prints a float by the specification's flags, width and precision and the given letter.
pub(super) fn print(spec: &Spec, letter: u8, value: f64, text: &mut Vec<u8>) -> Result<(), FormatError> {
    let mut format = [0; FORMAT_BYTES];
    let format = c_format(spec, letter, &mut format);
    let _locale = CLocale::enter();
    let mut short = [0u8; 128];
    let len = formatted(format, value, &mut short)?;
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
    let again = formatted(format, value, &mut text[start..]);
    text.truncate(start + len);
    again.map(|_| ())
}

/// Formats into `target`, NUL-terminated and truncated if necessary; returns the untruncated length.
fn formatted(format: &CStr, value: f64, target: &mut [u8]) -> Result<usize, FormatError> {
    let (start, len) = (target.as_mut_ptr().cast::<c_char>(), target.len());
    // SAFETY: the target is valid for its length; the format has exactly one conversion, which `c_format` built for a float.
    let result = unsafe { libc::snprintf(start, len, format.as_ptr(), value) };
    usize::try_from(result).map_err(|_| FormatError::TooLong)
}

/// Enough for a `%`, all flags, two numbers of 20 digits, the point, the letter and the NUL.
const FORMAT_BYTES: usize = 64;

/// A format of parsed parts only; nothing is copied from the kernel's.
fn c_format<'a>(spec: &Spec, letter: u8, bytes: &'a mut [u8; FORMAT_BYTES]) -> &'a CStr {
    let mut rest = &mut bytes[..];
    let flags = &spec.flags;
    let mut write = || {
        rest.write_all(b"%")?;
        for (set, flag) in
            [(flags.left, b"-"), (flags.plus, b"+"), (flags.space, b" "), (flags.alternative, b"#"), (flags.zero, b"0")]
        {
            if set {
                rest.write_all(flag)?;
            }
        }
        if spec.width > 0 {
            write!(rest, "{}", spec.width)?;
        }
        if let Some(precision) = spec.precision {
            write!(rest, ".{precision}")?;
        }
        rest.write_all(&[letter, 0])
    };
    let written: std::io::Result<()> = write();
    match (written, CStr::from_bytes_until_nul(bytes)) {
        (Ok(()), Ok(format)) => format,
        _ => unreachable!("broken invariant: a format of at most {FORMAT_BYTES} bytes"),
    }
}

/// While it exists, the thread formats by the C locale, with a decimal *point*, regardless of the application's locale.
struct CLocale {
    before: Option<libc::locale_t>,
}

struct Locale(libc::locale_t);

// SAFETY: any thread may use a locale object that is never modified or freed.
unsafe impl Send for Locale {}
// SAFETY: as above.
unsafe impl Sync for Locale {}

impl CLocale {
    fn enter() -> Self {
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
