//! `OpLine`: the source line of instructions, where the outermost macro was used.

use std::sync::Arc;

use spirv::Op;

use super::Id;
use super::function::FunctionEmitter;
use crate::source::Span;

/// The current line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// File, line and column of what is emitted.
    wanted: Option<(Id, u32, u32)>,
    /// The last in this block.
    emitted: Option<(Id, u32)>,
    /// The line that was found last: positions of its bytes, file and number.
    known: Option<(u32, u32, Id, u32)>,
    file: Option<(Arc<str>, Id)>,
}

impl Lines {
    /// A block begins.
    pub(super) fn reset(&mut self) {
        self.emitted = None;
    }
}

impl FunctionEmitter<'_, '_> {
    /// Sets the place of the instructions from here on.
    pub(super) fn at(&mut self, span: Span) {
        let span = if span.expansion.0 == 0 { span } else { self.module.session.sources.outermost(span) };
        if span.lo == 0 {
            return;
        }
        if let Some((start, end, file, line)) = self.lines.known
            && (start..end).contains(&span.lo)
        {
            self.lines.wanted = Some((file, line, span.lo - start + 1));
            return;
        }
        let sources = &self.module.session.sources;
        let Some(place) = sources.location(span) else { return };
        let Some(file_id) = sources.file_at(span.lo) else { return };
        let file = sources.file(file_id);
        let offset = span.lo - file.base;
        let next = file.lines.partition_point(|start| *start <= offset);
        let end = file.lines.get(next).copied().unwrap_or(file.text.len() as u32 + 1);
        let start = span.lo - (place.column - 1);
        let id = match &self.lines.file {
            Some((name, id)) if Arc::ptr_eq(name, &place.file) => *id,
            _ => self.module.string(&place.file),
        };
        self.lines.file = Some((place.file, id));
        self.lines.known = Some((start, file.base + end, id, place.line));
        self.lines.wanted = Some((id, place.line, place.column));
    }

    /// Emits the line if it is another than before.
    pub(super) fn line(&mut self) {
        if let Some((file, line, column)) = self.lines.wanted
            && self.lines.emitted != Some((file, line))
        {
            self.lines.emitted = Some((file, line));
            self.body.push(Op::Line, &[file, line, column]);
        }
    }
}
