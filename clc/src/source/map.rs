//! The files of a compilation, and the expansions of macros.

use std::sync::Arc;

use super::{ExpansionId, Span, Symbol};

/// An index into the files of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// One file, or one inclusion of it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its name in diagnostics and in `__FILE__`.
    pub name: Arc<str>,
    /// Its text. It need not be UTF-8.
    pub text: Arc<[u8]>,
    /// The map's offset of its first byte.
    pub base: u32,
    /// The `#include` that read it.
    pub included_from: Option<Span>,
    /// Offsets in the text at which lines begin.
    pub lines: Vec<u32>,
    /// `#line` directives, in order: offset in the text from which it applies, the number of the line that begins there, and the
    /// name if it or one before it sets one.
    pub line_directives: Vec<(u32, u32, Option<Arc<str>>)>,
}

/// One expansion of a macro.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    /// The macro's name.
    pub name: Symbol,
    /// Where it was used. Its own `expansion` is the enclosing one.
    pub usage: Span,
    /// Whether the tokens are those of an argument, not of the macro's body: a diagnostic then points to their spelling.
    pub is_argument: bool,
}

/// A position as users know it: `#line` directives are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
}

/// Files and expansions of a compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    expansions: Vec<Expansion>,
    end: u32,
}

impl SourceMap {
    /// Adds a file. `None` if the address space is exhausted.
    pub fn add(&mut self, name: &str, text: Arc<[u8]>, included_from: Option<Span>) -> Option<FileId> {
        let base = self.end.checked_add(1)?;
        // One more position than bytes: the end of the file is a place, too.
        self.end = base.checked_add(u32::try_from(text.len()).ok()?)?.checked_add(1)?;
        // A carriage return alone is a newline, too.
        let is_end = |(at, byte): &(usize, &u8)| match byte {
            b'\n' => true,
            b'\r' => text.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = text.iter().enumerate().filter(is_end).map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile {
            name: name.into(),
            text,
            base,
            included_from,
            lines,
            line_directives: Vec::new(),
        });
        Some(id)
    }

    /// A file.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All files in the order in which they were read.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Adds a `#line` directive that applies from `offset` of the file.
    pub fn add_line_directive(&mut self, id: FileId, offset: u32, line: u32, name: Option<Arc<str>>) {
        let directives = &mut self.files[id.0 as usize].line_directives;
        let name = name.or_else(|| directives.last().and_then(|(.., name)| name.clone()));
        directives.push((offset, line, name));
    }

    /// Adds an expansion.
    pub fn add_expansion(&mut self, expansion: Expansion) -> ExpansionId {
        self.expansions.push(expansion);
        ExpansionId(self.expansions.len() as u32)
    }

    /// An expansion; `None` for what is not from a macro.
    pub fn expansion(&self, id: ExpansionId) -> Option<&Expansion> {
        self.expansions.get((id.0 as usize).checked_sub(1)?)
    }

    /// The file that contains a position.
    pub fn file_at(&self, position: u32) -> Option<FileId> {
        let after = self.files.partition_point(|file| file.base <= position);
        let index = after.checked_sub(1)?;
        (position <= self.files[index].base + self.files[index].text.len() as u32).then_some(FileId(index as u32))
    }

    /// The text of a file from one position to another; nothing if they are not in this order in one file.
    pub fn text_between(&self, from: u32, to: u32) -> &[u8] {
        let text = || {
            let file = self.file(self.file_at(from)?);
            let range = (from - file.base) as usize..to.checked_sub(file.base)? as usize;
            file.text.get(range)
        };
        text().unwrap_or_default()
    }

    /// The place in a file where the outermost macro was used, or the span itself if it is not from a macro.
    pub fn outermost(&self, mut span: Span) -> Span {
        while let Some(expansion) = self.expansion(span.expansion) {
            span = expansion.usage;
        }
        span
    }

    /// The place that a diagnostic names: where a macro was used, or, for an argument of a macro, where it is written.
    pub fn primary(&self, mut span: Span) -> Span {
        while let Some(expansion) = self.expansion(span.expansion) {
            span = match expansion.is_argument {
                true => Span { expansion: expansion.usage.expansion, ..span },
                false => expansion.usage,
            };
        }
        span
    }

    /// The location of a span's first byte. Expansions are not considered: see [`SourceMap::primary`].
    pub fn location(&self, span: Span) -> Option<Location> {
        let file = self.file(self.file_at(span.lo)?);
        let offset = span.lo - file.base;
        let index = file.lines.partition_point(|start| *start <= offset) - 1;
        let column = offset - file.lines[index] + 1;
        let physical = index as u32 + 1;
        let after = file.line_directives.partition_point(|(from, ..)| *from <= offset);
        let Some(at) = after.checked_sub(1) else {
            return Some(Location { file: file.name.clone(), line: physical, column });
        };
        let (from, line, name) = &file.line_directives[at];
        let first = file.lines.partition_point(|start| start <= from) as u32;
        let line = line.wrapping_add(physical - first);
        Some(Location { file: name.as_ref().unwrap_or(&file.name).clone(), line, column })
    }
}
