//! Macros whose expansion is computed.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Preprocessor;
use super::files::Origin;
use super::lexer::PpToken;
use super::macros::{Dynamic, Feature};
use super::token::{Punct, TokenKind};
use crate::source::Span;

/// Attributes that `__has_attribute` knows.
const ATTRIBUTES: &[&str] = &[
    "aligned",
    "always_inline",
    "annotate",
    "assume",
    "const",
    "convergent",
    "deprecated",
    "enum_extensibility",
    "ext_vector_type",
    "flatten",
    "format",
    "intel_reqd_sub_group_size",
    "internal_linkage",
    "may_alias",
    "mode",
    "noduplicate",
    "noinline",
    "nonnull",
    "noreturn",
    "nothrow",
    "opencl_unroll_hint",
    "overloadable",
    "packed",
    "pure",
    "reqd_work_group_size",
    "section",
    "transparent_union",
    "unused",
    "used",
    "vec_type_hint",
    "vector_size",
    "visibility",
    "warn_unused_result",
    "weak",
    "work_group_size_hint",
];

/// Builtins beyond those of OpenCL C.
const BUILTINS: &[&str] = &[
    "__builtin_assume",
    "__builtin_astype",
    "__builtin_choose_expr",
    "__builtin_constant_p",
    "__builtin_convertvector",
    "__builtin_expect",
    "__builtin_expect_with_probability",
    "__builtin_huge_val",
    "__builtin_huge_valf",
    "__builtin_inf",
    "__builtin_inff",
    "__builtin_nan",
    "__builtin_nanf",
    "__builtin_offsetof",
    "__builtin_shufflevector",
    "__builtin_trap",
    "__builtin_types_compatible_p",
    "__builtin_unreachable",
];

/// Extensions of the language that `__has_extension` knows. None of them is a feature of C99.
const EXTENSIONS: &[&str] = &[
    "attribute_deprecated_with_message",
    "attribute_ext_vector_type",
    "attribute_overloadable",
    "attribute_unavailable_with_message",
    "attribute_unused_on_fields",
    "blocks",
    "c_alignas",
    "c_alignof",
    "c_atomic",
    "c_generic_selections",
    "c_static_assert",
    "enumerator_attributes",
    "gnu_asm",
    "overloadable_unmarked",
    "pragma_clang_attribute_namespaces",
    "statement_attributes_with_gnu_syntax",
];

/// The part of [`EXTENSIONS`] that `__has_feature` has, too.
const FEATURES: &[&str] = &[
    "attribute_deprecated_with_message",
    "attribute_ext_vector_type",
    "attribute_overloadable",
    "attribute_unavailable_with_message",
    "attribute_unused_on_fields",
    "enumerator_attributes",
    "overloadable_unmarked",
    "statement_attributes_with_gnu_syntax",
];

impl Preprocessor<'_, '_> {
    /// Expands a macro whose expansion is computed. The result is one token.
    pub(super) fn expand_dynamic(&mut self, name: PpToken, dynamic: Dynamic) -> Option<PpToken> {
        let span = name.token.span;
        let text = match dynamic {
            Dynamic::Line => self.line_of(span).to_string(),
            Dynamic::File => quoted(&self.file_of(span)),
            Dynamic::FileName => {
                let name = self.file_of(span);
                quoted(name.rsplit('/').next().unwrap_or(&name))
            }
            Dynamic::BaseFile => quoted(&self.session.options.main_name),
            Dynamic::IncludeLevel => self.include_depth().to_string(),
            Dynamic::Counter => {
                self.counter += 1;
                (self.counter - 1).to_string()
            }
            Dynamic::Date => quoted(&Moment::now().date()),
            Dynamic::Time => quoted(&Moment::now().time()),
            Dynamic::Timestamp => quoted(&self.timestamp()),
            Dynamic::HasInclude(is_next) => match self.has_include(name, is_next) {
                Ok(found) => u64::from(found).to_string(),
                Err(token) => return Some(token),
            },
            Dynamic::Has(feature) => match self.feature_check(name, feature) {
                Ok(value) => value.to_string(),
                Err(token) => return Some(token),
            },
        };
        let symbol = self.session.names.intern(&text);
        let kind = if text.starts_with('"') { TokenKind::String(symbol) } else { TokenKind::Number(symbol) };
        let mut token = name;
        token.token.kind = kind;
        Some(token)
    }

    /// The line of a place: for a macro, that of the end of its call.
    fn line_of(&self, span: Span) -> u32 {
        let mut span = self.session.sources.outermost(span);
        span.lo = span.hi.saturating_sub(1).max(span.lo);
        self.session.sources.location(span).map_or(0, |location| location.line)
    }

    /// The file of a place, as `#line` names it.
    fn file_of(&self, span: Span) -> String {
        let span = self.session.sources.outermost(span);
        self.session.sources.location(span).map_or_else(String::new, |location| location.file.to_string())
    }

    /// When the file was changed, as `asctime` writes it.
    fn timestamp(&self) -> String {
        let changed = match self.origin() {
            Some(Origin::File(path, _)) => std::fs::metadata(path).and_then(|data| data.modified()).ok(),
            Some(Origin::Main) => {
                std::fs::metadata(&self.session.options.main_name).and_then(|data| data.modified()).ok()
            }
            Some(Origin::Header(_) | Origin::CommandLine) | None => None,
        };
        changed.map_or_else(|| "??? ??? ?? ??:??:?? ????".to_owned(), |time| Moment::of(time).stamp())
    }

    /// `__has_include(<name>)`
    fn has_include(&mut self, name: PpToken, is_next: bool) -> Result<bool, PpToken> {
        let word = if is_next { "__has_include_next" } else { "__has_include" };
        let in_directive = self.file().is_some_and(|file| file.lexer.in_directive);
        if !in_directive {
            let text = format!("'{word}' must be used within a preprocessing directive");
            self.session.diagnostics.error(name.token.span, text);
            return Err(PpToken { is_plain: true, ..name });
        }
        let has_parenthesis = self.is_call_next();
        if has_parenthesis {
            self.raw();
        } else {
            let text = format!("missing '(' after '{word}'");
            self.session.diagnostics.error(name.token.span, text);
        }
        let Some(header) = self.header_name() else {
            return Err(PpToken::new(TokenKind::End, name.token.span));
        };
        if has_parenthesis {
            let close = self.raw();
            if close.token.kind != TokenKind::Punct(Punct::RightParen) {
                let text = format!("missing ')' after '{word}'");
                self.session.diagnostics.error(close.token.span, text);
                return Err(close);
            }
        }
        let Some(origin) = self.origin() else { return Ok(false) };
        Ok(self.files.find(self.session.options, &header.name, header.is_angled, is_next, &origin).is_some())
    }

    /// `__has_feature(name)` and the like.
    fn feature_check(&mut self, name: PpToken, feature: Feature) -> Result<u32, PpToken> {
        let span = name.token.span;
        if !self.is_call_next() {
            let TokenKind::Identifier(symbol) = name.token.kind else { return Ok(0) };
            let text = format!("missing '(' after '{}'", self.session.names.text(symbol));
            self.session.diagnostics.error(span, text);
            return Ok(0);
        }
        self.raw();
        let mut depth = 0;
        let mut argument = None;
        loop {
            let token = self.raw();
            if token.token.kind == TokenKind::End {
                self.session.diagnostics.error(span, "unterminated function-like macro invocation");
                return Err(token);
            }
            match token.token.kind.nesting() {
                0 => argument = argument.or(Some(token)),
                change => depth += change,
            }
            if depth < 0 {
                break;
            }
        }
        let text = match argument.map(|token| token.token.kind) {
            Some(TokenKind::Identifier(name)) => self.session.names.text(name),
            Some(TokenKind::String(text)) if feature == Feature::Warning => {
                return Ok(u32::from(self.session.names.text(text).starts_with("\"-W")));
            }
            _ => {
                let text = "builtin feature check macro requires a parenthesized identifier";
                self.session.diagnostics.error(span, text);
                return Ok(0);
            }
        };
        let plain = text.strip_prefix("__").and_then(|text| text.strip_suffix("__")).unwrap_or(text);
        let is_known = match feature {
            Feature::Attribute => ATTRIBUTES.contains(&plain),
            Feature::OtherAttribute | Feature::Warning => false,
            Feature::Builtin => BUILTINS.contains(&text),
            Feature::Language => FEATURES.contains(&plain),
            Feature::Extension => EXTENSIONS.contains(&plain),
            Feature::Identifier => {
                self.session.names.get(text).is_none_or(|symbol| crate::syntax::keyword::Keyword::of(symbol).is_none())
            }
        };
        Ok(u32::from(is_known))
    }
}

/// A text as a string literal.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A time in UTC.
struct Moment {
    days: i64,
    seconds: i64,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

impl Moment {
    fn now() -> Self {
        Self::of(SystemTime::now())
    }

    fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        Self { days: seconds / 86_400, seconds: seconds % 86_400 }
    }

    /// Year, month from 0, and day from 1.
    fn calendar(&self) -> (i64, usize, i64) {
        // Years that begin in March end with the leap day.
        let days = self.days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = (shifted + 2) % 12;
        let year = year_of_era + era * 400 + i64::from(month < 2);
        (year, month as usize, day)
    }

    fn date(&self) -> String {
        let (year, month, day) = self.calendar();
        format!("{} {day:2} {year}", MONTHS.get(month).copied().unwrap_or_default())
    }

    fn time(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.seconds / 3600, self.seconds / 60 % 60, self.seconds % 60)
    }

    fn stamp(&self) -> String {
        let (year, month, day) = self.calendar();
        let weekday = WEEKDAYS.get(self.days.rem_euclid(7) as usize).copied().unwrap_or_default();
        format!("{weekday} {} {day:2} {} {year}", MONTHS.get(month).copied().unwrap_or_default(), self.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let moment = |seconds: u64| Moment::of(UNIX_EPOCH + std::time::Duration::from_secs(seconds));
        assert_eq!(moment(0).stamp(), "Thu Jan  1 00:00:00 1970");
        assert_eq!(moment(951_782_400).date(), "Feb 29 2000");
        assert_eq!(moment(1_763_880_321).stamp(), "Sun Nov 23 06:45:21 2025");
    }
}
