//! `printf`: the format against the arguments, with clang's warnings.

use crate::builtins::Overload;
use crate::diagnostics::Diagnostic;
use crate::semantics::Checker;
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind, PlaceKind};
use crate::types::{AddressSpace, Scalar};

/// A conversion specification of a format.
#[derive(Debug, PartialEq, Eq)]
struct Conversion {
    /// Where it begins.
    begin: usize,
    /// Its text, from the percent sign.
    text: String,
    /// Arguments for the width and the precision (`*`).
    stars: usize,
    /// `v` and a number; 0 if there is none.
    lanes: Option<u8>,
    /// `hh`, `h`, `hl`, `l`, ...
    length: String,
    /// The letter; 0 if there is none.
    letter: u8,
}

/// An argument before its promotion.
#[derive(Debug)]
struct Passed {
    /// Its type as it is printed.
    shown: String,
    /// Element and lanes, of a scalar or a vector.
    lanes: Option<(Scalar, u8)>,
    /// For a pointer: whether it points to characters.
    pointer: Option<bool>,
    /// Where it is.
    span: Span,
}

/// The conversion specifications of a format.
fn conversions(format: &[u8]) -> Vec<Conversion> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = format.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'%')) {
        let begin = at + offset;
        let byte = |index: usize| format.get(index).copied().unwrap_or(0);
        let mut end = begin + 1;
        let mut stars = 0;
        while b"-+ #0'".contains(&byte(end)) {
            end += 1;
        }
        let mut number = |end: &mut usize| {
            if byte(*end) == b'*' {
                stars += 1;
                *end += 1;
            }
            while byte(*end).is_ascii_digit() {
                *end += 1;
            }
        };
        number(&mut end);
        if byte(end) == b'.' {
            end += 1;
            number(&mut end);
        }
        let mut lanes = None;
        if byte(end) == b'v' {
            let first = end + 1;
            end = first;
            while byte(end).is_ascii_digit() {
                end += 1;
            }
            let digits = format.get(first..end).and_then(|digits| std::str::from_utf8(digits).ok());
            lanes = Some(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0));
        }
        let first = end;
        while b"hljztLq".contains(&byte(end)) {
            end += 1;
        }
        let length = String::from_utf8_lossy(format.get(first..end).unwrap_or(&[])).into_owned();
        let letter = byte(end);
        end += usize::from(letter != 0);
        let text = String::from_utf8_lossy(format.get(begin..end).unwrap_or(&[])).into_owned();
        at = end;
        found.push(Conversion { begin, text, stars, lanes, length, letter });
    }
    found
}

impl Checker<'_, '_> {
    /// A call of `printf`.
    pub(super) fn call_printf(
        &mut self,
        overload: &Overload,
        values: Vec<Expr>,
        callee: Span,
        name: Symbol,
        expr: &ast::Expr,
    ) -> Expr {
        let span = values.first().map_or(expr.span, |value| value.span);
        // What is passed is known before the promotions.
        let passed: Vec<Passed> = values.iter().skip(1).map(|value| self.passed(value)).collect();
        let format = values.first().and_then(|format| self.literal_bytes(format));
        match format {
            Some(format) => self.check_format(&format, &passed, span),
            None if values.len() == 1 && values.iter().all(|value| self.is_constant_string(value)) => {
                let text = "format string is not a string literal (potentially insecure)";
                let note = "treat the string as an argument to avoid this";
                self.report(Diagnostic::warning(span, "format-security", text).note(span, note));
            }
            None => {}
        }
        self.call_single(overload, name, values, callee, expr)
    }

    /// Whether a value points to constant characters.
    fn is_constant_string(&self, value: &Expr) -> bool {
        self.pointee(value.ty)
            .is_some_and(|to| to.quals.space == AddressSpace::Constant && self.lanes(to.ty) == Some((Scalar::Char, 1)))
    }

    /// The bytes of a string literal, or of another constant string, whose address a value is.
    fn literal_bytes(&self, value: &Expr) -> Option<Vec<u8>> {
        if let ExprKind::Convert(_, inner) = &value.kind {
            return self.literal_bytes(inner);
        }
        let ExprKind::AddressOf(place) = &value.kind else { return None };
        let PlaceKind::Global(global) = place.kind else { return None };
        let global = self.module.globals.get(global.0 as usize)?;
        if global.ty.quals.space != AddressSpace::Constant {
            return None;
        }
        match global.init.as_ref() {
            Some(Constant::Bytes(bytes)) => {
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                bytes.get(..end).map(<[u8]>::to_vec)
            }
            Some(Constant::Zero) | None => Some(Vec::new()),
            _ => None,
        }
    }

    fn passed(&self, value: &Expr) -> Passed {
        let is_byte = |ty| matches!(self.lanes(ty), Some((Scalar::Char | Scalar::UChar, 1)));
        Passed {
            shown: self.shown(value),
            lanes: self.lanes(value.ty),
            pointer: self.pointee(value.ty).map(|to| is_byte(to.ty)),
            span: value.span,
        }
    }

    fn check_format(&mut self, format: &[u8], values: &[Passed], span: Span) {
        let mut next = 0;
        for conversion in conversions(format) {
            let at = Span { lo: (span.lo + 1 + conversion.begin as u32).min(span.hi), ..span };
            if conversion.letter == b'%' {
                continue;
            }
            if conversion.letter == 0 || conversion.lanes == Some(0) {
                self.warning(at, "format", "incomplete format specifier");
                return;
            }
            next += conversion.stars;
            if next >= values.len() {
                self.warning(at, "format-insufficient-args", "more '%' conversions than data arguments");
                return;
            }
            let Some(value) = values.get(next) else { return };
            next += 1;
            if !conversion.length.is_empty() && b"fFeEgGaA".contains(&conversion.letter) && conversion.lanes.is_none() {
                let (letter, length) = (char::from(conversion.letter), &conversion.length);
                let text = format!(
                    "length modifier '{length}' results in undefined behavior or no effect with '{letter}' conversion specifier"
                );
                self.warning(at, "format", text);
            }
            match self.expected(&conversion, value.lanes, value.pointer) {
                Ok(()) => {}
                Err(None) => {
                    let text = format!("invalid conversion specifier '{}'", char::from(conversion.letter));
                    self.warning(at, "format-invalid-specifier", text);
                }
                Err(Some(wanted)) => {
                    let text = format!("format specifies type '{wanted}' but the argument has type {}", value.shown);
                    self.report(Diagnostic::warning(value.span, "format", text).range(at));
                }
            }
        }
        if let Some(value) = values.get(next) {
            let text = "data argument not used by format string";
            self.report(Diagnostic::warning(value.span, "format-extra-args", text).range(span));
        }
    }

    /// Whether an argument is what a conversion wants; otherwise the type that it wants, or nothing if there is no such
    /// conversion.
    fn expected(
        &self,
        conversion: &Conversion,
        lanes: Option<(Scalar, u8)>,
        pointer: Option<bool>,
    ) -> Result<(), Option<String>> {
        let length = conversion.length.as_str();
        let (scalar, is_float) = match conversion.letter {
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
                let signed = matches!(conversion.letter, b'd' | b'i');
                let bytes = match (length, conversion.lanes) {
                    ("hh", _) => 1,
                    ("h", _) => 2,
                    ("l" | "ll" | "j" | "z" | "t" | "q", _) => 8,
                    _ => 4,
                };
                (Scalar::integer(bytes, signed), false)
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let scalar = match (length, conversion.lanes) {
                    ("h", Some(_)) => Scalar::Half,
                    ("hl", Some(_)) => Scalar::Float,
                    _ => Scalar::Double,
                };
                (Some(scalar), true)
            }
            b'c' if conversion.lanes.is_none() => (Some(Scalar::Int), false),
            b's' if conversion.lanes.is_none() => {
                return match pointer {
                    Some(true) => Ok(()),
                    _ => Err(Some("char *".to_owned())),
                };
            }
            b'p' if conversion.lanes.is_none() => {
                return if pointer.is_some() { Ok(()) } else { Err(Some("void *".to_owned())) };
            }
            _ => return Err(None),
        };
        let Some(scalar) = scalar else { return Err(None) };
        let name = match conversion.lanes {
            None => c_name(scalar).to_owned(),
            Some(count) => format!("{} __attribute__((ext_vector_type({count})))", c_name(scalar)),
        };
        let Some((given, count)) = lanes else { return Err(Some(name)) };
        let same_count = count == conversion.lanes.unwrap_or(1);
        let fits = match (is_float, given.is_float()) {
            (true, true) => conversion.lanes.is_none() || given == scalar,
            (false, false) => {
                // Smaller integers are promoted; signs may differ.
                let promoted = |scalar: Scalar| scalar.bytes().max(4);
                if conversion.lanes.is_some() { given == scalar } else { promoted(given) == promoted(scalar) }
            }
            _ => false,
        };
        if same_count && fits { Ok(()) } else { Err(Some(name)) }
    }
}

/// The name of a scalar in messages about formats.
fn c_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::UChar => "unsigned char",
        Scalar::UShort => "unsigned short",
        Scalar::UInt => "unsigned int",
        Scalar::ULong => "unsigned long",
        Scalar::Bool
        | Scalar::Char
        | Scalar::Short
        | Scalar::Int
        | Scalar::Long
        | Scalar::Half
        | Scalar::Float
        | Scalar::Double => scalar.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_have_parts() {
        let found = conversions(b"a %% %-5.3d %v4hlf%*.*s%");
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["%%", "%-5.3d", "%v4hlf", "%*.*s", "%"]);
        assert_eq!(found[2].lanes, Some(4));
        assert_eq!(found[2].length, "hl");
        assert_eq!(found[3].stars, 2);
        assert_eq!(found[4].letter, 0);
    }
}
