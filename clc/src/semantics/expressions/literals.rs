//! Numbers, characters and strings.

use super::float_text;
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::semantics::{Checker, Operand};
use crate::source::{Span, Symbol};
use crate::syntax::ast::Name;
use crate::tree::{Constant, Expr, ExprKind, Place, PlaceKind};
use crate::types::{FloatFormat, Scalar};

/// The part of a token that begins at a byte of its spelling.
fn part(span: Span, offset: usize) -> Span {
    Span { lo: span.lo.saturating_add(offset as u32).min(span.hi), ..span }
}

/// What a number is by its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    radix: u32,
    /// Where the digits begin.
    begin: usize,
    /// Where they end, and the suffix begins.
    end: usize,
    is_float: bool,
}

/// Finds the parts of a number; or the place and text of an error.
fn shape(text: &str) -> Result<Shape, (usize, String)> {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0).to_ascii_lowercase();
    let (radix, begin) = match (at(0), at(1)) {
        (b'0', b'x') => (16, 2),
        (b'0', b'b') => (2, 2),
        _ => (10, 0),
    };
    let name = if radix == 16 { "hexadecimal" } else { "binary" };
    let is_digit = |byte: u8| if radix == 16 { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let run = |mut index: usize| {
        while is_digit(at(index)) {
            index += 1;
        }
        index
    };
    let mut end = run(begin);
    let mut is_float = false;
    let mut digits = end - begin;
    if at(end) == b'.' && radix != 2 {
        is_float = true;
        let fraction = end + 1;
        end = run(fraction);
        digits += end - fraction;
    }
    if digits == 0 {
        return Err(match radix {
            16 if is_float => (begin, "hexadecimal floating constant requires a significand".into()),
            _ => (1, format!("invalid suffix '{}' on integer constant", text.get(1..).unwrap_or(""))),
        });
    }
    let mark = if radix == 16 { b'p' } else { b'e' };
    if at(end) == mark && radix != 2 {
        is_float = true;
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        let after = end + 1 + sign;
        let mut last = after;
        while at(last).is_ascii_digit() {
            last += 1;
        }
        if last == after {
            return Err((end, "exponent has no digits".into()));
        }
        end = last;
    } else if is_float && radix == 16 {
        return Err((end, format!("{name} floating constant requires an exponent")));
    }
    if !is_float {
        let (limit, kind) = match radix {
            2 => (b'2', "binary"),
            10 if at(0) == b'0' => (b'8', "octal"),
            _ => (b':', ""),
        };
        if radix != 16
            && let Some(wrong) = (begin..end).find(|index| at(*index) >= limit)
        {
            return Err((wrong, format!("invalid digit '{}' in {kind} constant", char::from(at(wrong)))));
        }
    }
    let radix = if radix == 10 && !is_float && at(0) == b'0' { 8 } else { radix };
    Ok(Shape { radix, begin, end, is_float })
}

impl Checker<'_, '_> {
    /// A number as spelled.
    pub(super) fn number(&mut self, spelling: Symbol, span: Span) -> Expr {
        let text = self.session.names.text(spelling);
        // By far the most frequent numbers: a few decimal digits.
        if text.len() < 10 && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let value: u64 = text.parse().unwrap_or(0);
            return self.scalar_constant(Scalar::Int, value, span);
        }
        let text = text.to_owned();
        match shape(&text) {
            Err((offset, message)) => {
                self.error(part(span, offset), message);
                self.error_value(span)
            }
            Ok(shape) if shape.is_float => self.float(&text, shape, span),
            Ok(shape) => self.integer(&text, shape, span),
        }
    }

    fn float(&mut self, text: &str, shape: Shape, span: Span) -> Expr {
        let suffix = text.get(shape.end..).unwrap_or("");
        let digits = text.get(shape.begin..shape.end).unwrap_or("0");
        let mut scalar = match suffix {
            "" | "l" | "L" => Scalar::Double,
            "f" | "F" => Scalar::Float,
            "h" | "H" => Scalar::Half,
            _ => {
                let message = format!("invalid suffix '{suffix}' on floating constant");
                self.error(part(span, shape.end), message);
                return self.error_value(span);
            }
        };
        if scalar == Scalar::Half && !self.has_half() {
            self.error(span, "half precision constant requires cl_khr_fp16");
            return self.error_value(span);
        }
        if scalar == Scalar::Double {
            if self.session.options.math.single_precision_constant {
                scalar = Scalar::Float;
            } else if !self.has_double() {
                let needs =
                    if self.version() >= Version::V3_0 { "cl_khr_fp64 and __opencl_c_fp64" } else { "cl_khr_fp64" };
                let text = format!("double precision constant requires {needs}, casting to single precision");
                self.report(Diagnostic { group: None, ..Diagnostic::warning(span, "", text) });
                scalar = Scalar::Float;
            }
        }
        let format = scalar.float_format().unwrap_or(FloatFormat::Double);
        let parsed = float_text::parse(digits, shape.radix == 16, format);
        if parsed.overflows || parsed.underflows {
            let (word, extreme) = match (format, parsed.overflows) {
                (FloatFormat::Half, true) => ("large", "maximum is 65504"),
                (FloatFormat::Half, false) => ("small", "minimum is 5.9605E-8"),
                (FloatFormat::Single, true) => ("large", "maximum is 3.40282347E+38"),
                (FloatFormat::Single, false) => ("small", "minimum is 1.40129846E-45"),
                (FloatFormat::Double, true) => ("large", "maximum is 1.7976931348623157E+308"),
                (FloatFormat::Double, false) => ("small", "minimum is 4.9406564584124654E-324"),
            };
            let message =
                format!("magnitude of floating-point constant too {word} for type '{}'; {extreme}", scalar.name());
            self.warning(span, "literal-range", message);
        }
        self.scalar_constant(scalar, parsed.bits, span)
    }

    fn integer(&mut self, text: &str, shape: Shape, span: Span) -> Expr {
        let suffix = text.get(shape.end..).unwrap_or("");
        let (is_unsigned, is_long) = match suffix {
            "" => (false, false),
            "u" | "U" => (true, false),
            "l" | "L" | "ll" | "LL" => (false, true),
            "ul" | "uL" | "Ul" | "UL" | "lu" | "lU" | "Lu" | "LU" | "ull" | "uLL" | "Ull" | "ULL" | "llu" | "llU"
            | "LLu" | "LLU" => (true, true),
            _ => {
                let message = format!("invalid suffix '{suffix}' on integer constant");
                self.error(part(span, shape.end), message);
                return self.error_value(span);
            }
        };
        let mut value = 0_u64;
        let mut overflows = false;
        for byte in text.get(shape.begin..shape.end).unwrap_or("").bytes() {
            let digit = u64::from(char::from(byte).to_digit(16).unwrap_or(0));
            let next = value.checked_mul(u64::from(shape.radix)).and_then(|value| value.checked_add(digit));
            overflows |= next.is_none();
            value = next.unwrap_or(u64::MAX);
        }
        if overflows {
            self.error(span, "integer literal is too large to be represented in any integer type");
            return self.error_value(span);
        }
        let takes_unsigned = is_unsigned || shape.radix != 10;
        let scalar = if !is_long && !is_unsigned && i32::try_from(value).is_ok() {
            Scalar::Int
        } else if !is_long && takes_unsigned && u32::try_from(value).is_ok() {
            Scalar::UInt
        } else if !is_unsigned && i64::try_from(value).is_ok() {
            Scalar::Long
        } else {
            if !takes_unsigned {
                let message =
                    "integer literal is too large to be represented in a signed integer type, interpreting as unsigned";
                self.warning(span, "implicitly-unsigned-literal", message);
            }
            Scalar::ULong
        };
        self.scalar_constant(scalar, value, span)
    }

    /// A character constant as spelled: an `int`.
    pub(super) fn character(&mut self, spelling: Symbol, span: Span) -> Expr {
        let text = self.session.names.text(spelling).to_owned();
        let Some(body) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) else {
            self.error(span, "wide character constants are not supported in OpenCL C");
            return self.error_value(span);
        };
        let bytes = self.unescape(body.as_bytes(), 1, span);
        if bytes.is_empty() {
            self.error(span, "expected expression");
            return self.error_value(span);
        }
        if bytes.len() > 1 {
            self.warning(span, "multichar", "multi-character character constant");
        }
        if bytes.len() > 4 {
            let text = "character constant too long for its type";
            self.report(Diagnostic { group: None, ..Diagnostic::warning(span, "", text) });
        }
        let value = match bytes[..] {
            [one] => i32::from(one as i8),
            _ => bytes.iter().fold(0_i32, |value, byte| value.wrapping_shl(8) | i32::from(*byte)),
        };
        self.scalar_constant(Scalar::Int, u64::from(value as u32), span)
    }

    /// Adjacent string literals: the bytes of the string without the terminating zero.
    pub(crate) fn string_bytes(&mut self, parts: &[Name]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for one in parts {
            let text = self.session.names.text(one.symbol).to_owned();
            match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(body) if body.contains('\\') => bytes.extend(self.unescape(body.as_bytes(), 1, one.span)),
                Some(body) => bytes.extend_from_slice(body.as_bytes()),
                None => self.error(one.span, "wide string literals are not supported in OpenCL C"),
            }
        }
        bytes
    }

    /// Adjacent string literals: an array in the constant address space.
    pub(super) fn string(&mut self, parts: &[Name], span: Span) -> Operand {
        let bytes = self.string_bytes(parts);
        self.string_place(bytes, span)
    }

    /// The object of a string literal with these bytes.
    pub(super) fn string_place(&mut self, bytes: Vec<u8>, span: Span) -> Operand {
        let global = self.string_literal(bytes, span);
        let ty = match self.module.globals.get(global.0 as usize) {
            Some(global) => global.ty,
            None => return Operand::Value(self.error_value(span)),
        };
        Operand::Place(Place { kind: PlaceKind::Global(global), ty, span })
    }

    /// The bytes of a literal's body, which begins at an offset of its token.
    fn unescape(&mut self, body: &[u8], offset: usize, span: Span) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(body.len());
        let mut at = 0;
        while let Some(&byte) = body.get(at) {
            let begin = at;
            at += 1;
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            let Some(&escape) = body.get(at) else { break };
            at += 1;
            let simple = match escape {
                b'a' => 7,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'e' | b'E' => 27,
                b'\\' | b'\'' | b'"' | b'?' => escape,
                b'x' => {
                    let mut value = 0_u32;
                    let first = at;
                    while let Some(digit) = body.get(at).and_then(|byte| char::from(*byte).to_digit(16)) {
                        value = value.saturating_mul(16).saturating_add(digit);
                        at += 1;
                    }
                    if at == first {
                        self.error(part(span, offset + begin), "\\x used with no following hex digits");
                    } else if value > 255 {
                        self.error(part(span, offset + begin), "hex escape sequence out of range");
                    }
                    value as u8
                }
                b'0'..=b'7' => {
                    let mut value = u32::from(escape - b'0');
                    let last = at + 2;
                    while at < last
                        && let Some(digit) = body.get(at).and_then(|byte| char::from(*byte).to_digit(8))
                    {
                        value = value * 8 + digit;
                        at += 1;
                    }
                    if value > 255 {
                        self.error(part(span, offset + begin), "octal escape sequence out of range");
                    }
                    value as u8
                }
                b'u' | b'U' => {
                    let count = if escape == b'u' { 4 } else { 8 };
                    let digits = body.get(at..at + count).and_then(|digits| std::str::from_utf8(digits).ok());
                    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
                    at = (at + count).min(body.len());
                    let Some(value) = value else {
                        self.error(part(span, offset + begin), "invalid universal character");
                        continue;
                    };
                    let mut buffer = [0; 4];
                    bytes.extend_from_slice(value.encode_utf8(&mut buffer).as_bytes());
                    continue;
                }
                other => {
                    let message = format!("unknown escape sequence '\\{}'", char::from(other));
                    self.warning(part(span, offset + begin), "unknown-escape-sequence", message);
                    other
                }
            };
            bytes.push(simple);
        }
        bytes
    }

    /// A constant of a scalar type.
    pub(crate) fn scalar_constant(&self, scalar: Scalar, bits: u64, span: Span) -> Expr {
        Expr { kind: ExprKind::Constant(Constant::Scalar(bits)), ty: self.module.types.scalar(scalar), span }
    }

    /// A constant of type `size_t`.
    pub(super) fn size_constant(&self, value: u64, span: Span) -> Expr {
        let bits = if self.module.types.pointer_bytes == 8 { value } else { value & 0xffff_ffff };
        Expr { kind: ExprKind::Constant(Constant::Scalar(bits)), ty: self.module.types.size_t(), span }
    }

    /// An `int` constant.
    pub(super) fn int_constant(&self, value: i32, span: Span) -> Expr {
        self.scalar_constant(Scalar::Int, u64::from(value as u32), span)
    }

    /// Whether `double` exists.
    pub(crate) fn has_double(&self) -> bool {
        let profile = &self.session.options.profile;
        profile.has_extension("cl_khr_fp64")
            && (self.version() < Version::V3_0 || profile.has_feature("__opencl_c_fp64"))
    }

    /// Whether arithmetic of `half` exists.
    pub(crate) fn has_half(&self) -> bool {
        self.session.options.profile.has_extension("cl_khr_fp16")
    }
}
