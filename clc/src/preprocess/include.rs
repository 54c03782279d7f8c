//! `#include` and the like, and the beginning and end of files.

use std::sync::Arc;

use super::Preprocessor;
use super::files::Origin;
use super::lexer::{Lexer, PpToken, Sink};
use super::stream::{FileStream, Stream};
use super::token::{Punct, TokenKind};
use crate::diagnostics::Diagnostic;
use crate::limits;
use crate::options::MacroOption;
use crate::source::Span;

/// A file's name as `#include` writes it.
#[derive(Debug)]
pub(super) struct HeaderName {
    pub name: String,
    pub is_angled: bool,
    pub span: Span,
}

impl Preprocessor<'_, '_> {
    /// Begins with the program, and before it the macros and files of the options.
    pub(super) fn begin(&mut self, source: &[u8]) {
        let options = self.session.options;
        let source: Arc<[u8]> = Arc::from(source);
        self.open(&options.main_name, source, Origin::Main, None);
        let mut text = String::new();
        for one in &options.macros {
            match one {
                MacroOption::Define(name, value) => {
                    let value = value.split(['\n', '\r']).next().unwrap_or_default();
                    text.push_str(&format!("#define {} {value}\n", name.replace(['\n', '\r'], " ")));
                }
                MacroOption::Undefine(name) => text.push_str(&format!("#undef {}\n", name.replace(['\n', '\r'], " "))),
            }
        }
        for name in &options.forced_includes {
            text.push_str(&format!("#include \"{}\"\n", name.replace(['\n', '\r'], " ")));
        }
        if !text.is_empty() {
            self.open("<command line>", Arc::from(text.into_bytes()), Origin::CommandLine, None);
        }
    }

    /// Begins to read a file.
    fn open(&mut self, name: &str, text: Arc<[u8]>, origin: Origin, included_from: Option<Span>) {
        let Some(file) = self.session.sources.add(name, Arc::clone(&text), included_from) else {
            return self.stop(included_from.unwrap_or(Span::NONE), "the program is too large");
        };
        let base = self.session.sources.file(file).base;
        let lexer = Lexer::new(file, text, base);
        self.streams.push(Stream::File(Box::new(FileStream { lexer, conditionals: Vec::new(), origin })));
        if self.settings.is_some() {
            self.begin_region();
        }
    }

    /// The end of the topmost file.
    pub(super) fn end_of_file(&mut self) {
        let Some(Stream::File(file)) = self.streams.pop() else { return };
        for conditional in file.conditionals.iter().rev() {
            self.session.diagnostics.error(conditional.span, "unterminated conditional directive");
        }
        if self.settings.is_some() {
            self.begin_region();
        }
    }

    /// Number of files that are being read, one in another.
    pub(super) fn include_depth(&self) -> usize {
        let files = self.streams.iter().filter(|stream| match stream {
            Stream::File(file) => !matches!(file.origin, Origin::CommandLine),
            Stream::Tokens(_) => false,
        });
        files.count().saturating_sub(1)
    }

    /// `#include`, `#include_next`, `#import`
    pub(super) fn include_directive(&mut self, directive: &str, hash: PpToken, word: PpToken) {
        let Some(header) = self.header_name() else { return self.skip_directive() };
        self.end_directive(directive);
        if header.name.is_empty() {
            return self.session.diagnostics.error(header.span, "empty filename");
        }
        if self.reading_arguments > 0 {
            let text = format!("embedding a #{directive} directive within macro arguments is not supported");
            return self.session.diagnostics.error(hash.token.span, text);
        }
        if self.include_depth() >= limits::INCLUDES as usize {
            return self.stop(header.span, "#include nested too deeply");
        }
        let Some(file) = self.file() else { return };
        let mut is_next = directive == "include_next";
        if is_next && file.origin == Origin::Main {
            let text = "#include_next in primary source file; will search from start of include path";
            self.session.diagnostics.warning(word.token.span, "include-next-outside-header", text);
            is_next = false;
        }
        let Some(file) = self.file() else { return };
        let options = self.session.options;
        let origin = file.origin.clone();
        let Some(found) = self.files.find(options, &header.name, header.is_angled, is_next, &origin) else {
            return self.report_missing(&header, &origin);
        };
        match self.files.read(options, &found) {
            Ok(Some(text)) => {
                if directive == "import" {
                    self.files.once(&found.origin);
                }
                let usage = self.session.sources.outermost(header.span);
                self.open(&found.name, text, found.origin, Some(usage));
            }
            Ok(None) => {}
            Err(error) => self.stop(header.span, error),
        }
    }

    /// Reports a file that is not found.
    fn report_missing(&mut self, header: &HeaderName, origin: &Origin) {
        let name = &header.name;
        if header.is_angled && self.files.find(self.session.options, name, false, false, origin).is_some() {
            let text = format!("'{name}' file not found with <angled> include; use \"quotes\" instead");
            let error = Diagnostic::error(header.span, text).fix(header.span, format!("\"{name}\""));
            self.session.diagnostics.report(error);
            return;
        }
        self.stop(header.span, format!("'{name}' file not found"));
    }

    /// Reads a file's name; macros are expanded if it is neither in quotes nor in angle brackets.
    pub(super) fn header_name(&mut self) -> Option<HeaderName> {
        if let Some(header) = self.written_header_name() {
            return Some(header);
        }
        let first = self.lex();
        match first.token.kind {
            TokenKind::String(text) => {
                let text = self.session.names.text(text);
                let name = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'))?;
                Some(HeaderName { name: name.to_owned(), is_angled: false, span: first.token.span })
            }
            TokenKind::Punct(Punct::Less) => {
                let mut name = String::new();
                loop {
                    let token = self.lex();
                    if token.token.kind == TokenKind::Punct(Punct::Greater) {
                        let span = first.token.span.to(token.token.span);
                        return Some(HeaderName { name, is_angled: true, span });
                    }
                    if token.token.kind == TokenKind::End {
                        let error = Diagnostic::error(token.token.span, "expected '>'");
                        self.session.diagnostics.report(error.note(first.token.span, "to match this '<'"));
                        return None;
                    }
                    if token.token.space_before && !name.is_empty() {
                        name.push(' ');
                    }
                    name.push_str(&self.spelling(&token));
                }
            }
            TokenKind::Identifier(_)
            | TokenKind::Number(_)
            | TokenKind::Char(_)
            | TokenKind::Punct(_)
            | TokenKind::Pragma(_)
            | TokenKind::Unknown(_)
            | TokenKind::End => {
                self.session.diagnostics.error(first.token.span, "expected \"FILENAME\" or <FILENAME>");
                None
            }
        }
    }

    /// Reads a file's name in quotes or angle brackets that follows in the file itself.
    fn written_header_name(&mut self) -> Option<HeaderName> {
        let Some(Stream::File(file)) = self.streams.last_mut() else { return None };
        let mut sink = Sink { names: &mut self.session.names, diagnostics: &mut self.session.diagnostics };
        file.lexer.skip_space(&mut sink);
        let start = file.lexer.at;
        let is_angled = match file.lexer.text.get(start)? {
            b'<' => true,
            b'"' => false,
            _ => return None,
        };
        let close = if is_angled { b'>' } else { b'"' };
        let rest = file.lexer.text.get(start + 1..)?;
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r') || *byte == close)?;
        if rest.get(length) != Some(&close) {
            return None;
        }
        let name = String::from_utf8_lossy(&rest[..length]).into_owned();
        file.lexer.at = start + length + 2;
        Some(HeaderName { name, is_angled, span: file.lexer.span(start, start + length + 2) })
    }
}
