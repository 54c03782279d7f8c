//! Diagnostics as text, in clang's layout:
//!
//! ```text
//! In file included from a.cl:1:
//! b.h:3:9: warning: 'X' macro redefined [-Wmacro-redefined]
//!     3 | #define X 2
//!       |         ^
//! ```

use std::fmt::Write;
use std::sync::Arc;

use super::snippet::Snippet;
use super::{Diagnostic, Diagnostics, Level};
use crate::source::{Interner, SourceMap, Span, Symbol};

/// Expansions of macros that are shown for one place. Of more, those in the middle are left out.
const EXPANSIONS: usize = 6;

/// What is needed to write.
struct Renderer<'a> {
    sources: &'a SourceMap,
    names: &'a Interner,
    out: String,
    /// The `#include` under which the diagnostic before was.
    included_from: Option<Span>,
}

/// One message.
struct Message<'a> {
    level: Level,
    text: &'a str,
    /// `-W` names in brackets.
    option: String,
    span: Span,
    ranges: &'a [Span],
    fix: Option<&'a (Span, String)>,
}

/// The text of all diagnostics; empty if there are none.
pub fn render(diagnostics: &Diagnostics, sources: &SourceMap, names: &Interner) -> String {
    let mut renderer = Renderer { sources, names, out: String::new(), included_from: None };
    for (index, diagnostic) in diagnostics.list().iter().enumerate() {
        renderer.diagnostic(diagnostic, diagnostics.promoted.binary_search(&index).is_ok());
    }
    let count = |level: Level| diagnostics.list().iter().filter(|one| one.level == level).count();
    renderer.total(count(Level::Warning), count(Level::Error) + count(Level::Fatal));
    renderer.out
}

impl Renderer<'_> {
    /// `1 warning and 2 errors generated.`
    fn total(&mut self, warnings: usize, errors: usize) {
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let text = match (warnings, errors) {
            (0, 0) => return,
            (_, 0) => counted(warnings, "warning"),
            (0, _) => counted(errors, "error"),
            _ => format!("{} and {}", counted(warnings, "warning"), counted(errors, "error")),
        };
        let _ = writeln!(self.out, "{text} generated.");
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic, is_promoted: bool) {
        let option = match (diagnostic.group, is_promoted) {
            (Some(group), true) => format!(" [-Werror,-W{}]", group.0),
            (Some(group), false) => format!(" [-W{}]", group.0),
            (None, true) => " [-Werror]".to_owned(),
            (None, false) => String::new(),
        };
        self.message(&Message {
            level: diagnostic.level,
            text: &diagnostic.text,
            option,
            span: diagnostic.span,
            ranges: &diagnostic.ranges,
            fix: diagnostic.fix.as_ref(),
        });
        for note in &diagnostic.notes {
            self.message(&Message {
                level: Level::Note,
                text: &note.text,
                option: String::new(),
                span: note.span,
                ranges: &[],
                fix: None,
            });
        }
    }

    /// Writes a message, and the macros through which its place came about.
    fn message(&mut self, message: &Message<'_>) {
        let (place, expansions) = self.unwind(message.span);
        self.place(message, place);
        let shown = expansions.iter().rev().filter(|(span, _)| span.lo != 0);
        let shown: Vec<_> = shown.copied().collect();
        let left_out = shown.len().saturating_sub(EXPANSIONS);
        for (index, (span, name)) in shown.into_iter().enumerate() {
            if left_out > 0 && index == EXPANSIONS / 2 {
                let _ = writeln!(
                    self.out,
                    "note: (skipping {left_out} expansions in backtrace; use -fmacro-backtrace-limit=0 to see all)"
                );
            }
            if left_out > 0 && (EXPANSIONS / 2..EXPANSIONS / 2 + left_out).contains(&index) {
                continue;
            }
            let text = format!("expanded from macro '{}'", self.names.text(name));
            let note = Message {
                level: Level::Note,
                text: &text,
                option: String::new(),
                span,
                ranges: message.ranges,
                fix: None,
            };
            self.place(&note, span);
        }
    }

    /// Where the outermost macro is used, or an argument is written; and from the inside, where the tokens of macros are.
    fn unwind(&self, mut span: Span) -> (Span, Vec<(Span, Symbol)>) {
        let mut expansions = Vec::new();
        while let Some(expansion) = self.sources.expansion(span.expansion) {
            if expansion.is_argument {
                span.expansion = expansion.usage.expansion;
            } else {
                expansions.push((span, expansion.name));
                span = expansion.usage;
            }
        }
        (span, expansions)
    }

    /// A range as seen from a place: within the same expansion.
    fn range_at(&self, mut range: Span, place: Span) -> Option<Span> {
        while range.expansion != place.expansion {
            let expansion = self.sources.expansion(range.expansion)?;
            range = match expansion.is_argument {
                true => Span { expansion: expansion.usage.expansion, ..range },
                false => expansion.usage,
            };
        }
        Some(range)
    }

    /// Writes a message at a place of a file.
    fn place(&mut self, message: &Message<'_>, place: Span) {
        let level = match message.level {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Fatal => "fatal error",
        };
        let found = self.sources.file_at(place.lo).filter(|_| place.lo != 0);
        let location = self.sources.location(place).filter(|_| found.is_some());
        if let (Some(id), true) = (found, message.level != Level::Note) {
            self.includes(self.sources.file(id).included_from);
        }
        if let Some(location) = &location {
            let name = printable(&location.file);
            let _ = write!(self.out, "{name}:{}:{}: ", location.line, location.column);
        }
        let _ = writeln!(self.out, "{level}: {}{}", printable(message.text), message.option);
        let (Some(id), Some(location)) = (found, location) else { return };
        let file = self.sources.file(id);
        let within = |span: Span| {
            let from = span.lo.checked_sub(file.base)?;
            let to = span.hi.checked_sub(file.base)?;
            ((to as usize) <= file.text.len() && from <= to).then_some(from as usize..to as usize)
        };
        let ranges = message.ranges.iter().filter_map(|range| self.range_at(*range, place));
        let ranges = ranges.filter_map(within).collect();
        let fix = message.fix.and_then(|(span, text)| Some((within(self.range_at(*span, place)?)?, &**text)));
        let snippet = Snippet {
            text: &file.text,
            lines: &file.lines,
            first_line: location.line,
            caret: (place.lo - file.base) as usize,
            ranges,
            fix,
        };
        snippet.write(&mut self.out);
    }

    /// Writes through which files a file was included, unless the diagnostic before did.
    fn includes(&mut self, included_from: Option<Span>) {
        if self.included_from == included_from {
            return;
        }
        self.included_from = included_from;
        let mut chain: Vec<(Arc<str>, u32)> = Vec::new();
        let mut next = included_from;
        while let Some(span) = next {
            if let Some(location) = self.sources.location(span) {
                chain.push((location.file, location.line));
            }
            next = self.sources.file_at(span.lo).and_then(|id| self.sources.file(id).included_from);
        }
        for (file, line) in chain.into_iter().rev() {
            let _ = writeln!(self.out, "In file included from {}:{line}:", printable(&file));
        }
    }
}

/// A text without control characters, except tabs and newlines.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\t' | '\n') {
            let _ = write!(out, "<U+{:04X}>", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests;
