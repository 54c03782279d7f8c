//! Where tokens come from: a stack of files and of expansions.

use std::rc::Rc;

use super::Preprocessor;
use super::conditionals::Conditional;
use super::files::Origin;
use super::lexer::{Lexer, PpToken, Sink};
use super::macros::MacroId;
use super::token::{Punct, TokenKind};
use crate::source::{ExpansionId, Span};

/// A file that is being read.
#[derive(Debug)]
pub(super) struct FileStream {
    pub lexer: Lexer,
    /// The open `#if`s.
    pub conditionals: Vec<Conditional>,
    /// Where the file was found.
    pub origin: Origin,
}

/// Tokens of a [`TokenStream`].
#[derive(Debug)]
pub(super) enum Tokens {
    /// A macro's body.
    Shared(Rc<[PpToken]>),
    /// Made for this expansion.
    Owned(Vec<PpToken>),
}

impl Tokens {
    fn as_slice(&self) -> &[PpToken] {
        match self {
            Tokens::Shared(tokens) => tokens,
            Tokens::Owned(tokens) => tokens,
        }
    }
}

/// Tokens that are read instead of a file: an expansion, or an argument.
#[derive(Debug)]
pub(super) struct TokenStream {
    pub tokens: Tokens,
    pub at: usize,
    /// The macro that is expanded: it is enabled again at the end.
    pub id: Option<MacroId>,
    /// The expansion that the tokens are part of, if that is not in the tokens.
    pub expansion: Option<ExpansionId>,
    /// The first token's place is that of the macro's name.
    pub line_start: bool,
    pub space_before: bool,
    /// Whether white space follows the last token.
    pub space_after: bool,
    /// Whether the end is an end, not followed by what is below.
    pub is_closed: bool,
}

/// What tokens are read from.
#[derive(Debug)]
pub(super) enum Stream {
    File(Box<FileStream>),
    Tokens(TokenStream),
}

impl Preprocessor<'_, '_> {
    /// The file that is being read: the topmost.
    pub(super) fn file(&self) -> Option<&FileStream> {
        self.streams.iter().rev().find_map(|stream| match stream {
            Stream::File(file) => Some(&**file),
            Stream::Tokens(_) => None,
        })
    }

    /// The same, to change it.
    pub(super) fn file_mut(&mut self) -> Option<&mut FileStream> {
        self.streams.iter_mut().rev().find_map(|stream| match stream {
            Stream::File(file) => Some(&mut **file),
            Stream::Tokens(_) => None,
        })
    }

    /// The next token, not expanded. Directives on the way are executed.
    pub(super) fn raw(&mut self) -> PpToken {
        loop {
            if self.is_stopped {
                self.abandon();
            }
            match self.streams.last_mut() {
                None => return PpToken::new(TokenKind::End, self.end_span()),
                Some(Stream::Tokens(stream)) => {
                    let Some(token) = stream.tokens.as_slice().get(stream.at) else {
                        if stream.is_closed {
                            return PpToken::new(TokenKind::End, Span::NONE);
                        }
                        self.end_of_tokens();
                        continue;
                    };
                    let mut token = *token;
                    if stream.at == 0 {
                        token.token.line_start = stream.line_start;
                        token.token.space_before = stream.space_before;
                    }
                    stream.at += 1;
                    if let Some(expansion) = stream.expansion {
                        token.token.span.expansion = expansion;
                    }
                    self.count_step(token.token.span);
                    return self.after_nothing(token);
                }
                Some(Stream::File(file)) => {
                    let in_directive = file.lexer.in_directive;
                    let mut sink = Sink { names: &mut self.session.names, diagnostics: &mut self.session.diagnostics };
                    let token = file.lexer.next(&mut sink);
                    if !in_directive && token.token.kind == TokenKind::End {
                        self.end_of_file();
                    } else if !in_directive
                        && token.token.line_start
                        && token.token.kind == TokenKind::Punct(Punct::Hash)
                    {
                        if let Some(token) = self.directive(token) {
                            return token;
                        }
                    } else {
                        return self.after_nothing(token);
                    }
                }
            }
        }
    }

    /// A token with the white space that expansions to nothing before it left.
    fn after_nothing(&mut self, mut token: PpToken) -> PpToken {
        token.token.space_before |= std::mem::take(&mut self.space_pending);
        token.token.line_start |= std::mem::take(&mut self.line_pending);
        token
    }

    /// Leaves an expansion.
    fn end_of_tokens(&mut self) {
        let Some(Stream::Tokens(stream)) = self.streams.pop() else { return };
        if let Some(id) = stream.id {
            self.macros.set_disabled(id, false);
        }
        if stream.at == 0 {
            self.line_pending |= stream.line_start;
            self.space_pending |= stream.space_before;
        }
        self.space_pending |= stream.space_after;
    }

    /// Leaves everything: nothing more is read.
    fn abandon(&mut self) {
        // Whoever reads an argument needs its end.
        self.streams.retain(|stream| matches!(stream, Stream::Tokens(TokenStream { is_closed: true, .. })));
        for stream in &mut self.streams {
            if let Stream::Tokens(stream) = stream {
                stream.tokens = Tokens::Owned(Vec::new());
            }
        }
    }

    /// Leaves expansions down to the file, and skips the rest of the directive that is being read there.
    pub(super) fn skip_directive(&mut self) {
        while let Some(Stream::Tokens(stream)) = self.streams.last() {
            if stream.is_closed {
                return;
            }
            self.end_of_tokens();
        }
        self.space_pending = false;
        self.line_pending = false;
        if let Some(Stream::File(file)) = self.streams.last_mut() {
            let mut sink = Sink { names: &mut self.session.names, diagnostics: &mut self.session.diagnostics };
            file.lexer.skip_directive(&mut sink);
        }
    }

    /// Whether the next token is an opening parenthesis. Nothing is read.
    pub(super) fn is_call_next(&mut self) -> bool {
        for stream in self.streams.iter().rev() {
            match stream {
                Stream::Tokens(stream) => match stream.tokens.as_slice().get(stream.at) {
                    Some(token) => return token.token.kind == TokenKind::Punct(Punct::LeftParen),
                    None if stream.is_closed => return false,
                    None => {}
                },
                Stream::File(file) => {
                    match file.lexer.text.get(file.lexer.at) {
                        Some(b'(') => return true,
                        Some(b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'\\' | b'?' | 0x0b | 0x0c | 0) => {}
                        Some(_) | None => return false,
                    }
                    let mut lexer = file.lexer.clone();
                    lexer.is_silent = true;
                    let mut sink = Sink { names: &mut self.session.names, diagnostics: &mut self.session.diagnostics };
                    return lexer.next(&mut sink).token.kind == TokenKind::Punct(Punct::LeftParen);
                }
            }
        }
        false
    }

    /// The end of the main file.
    fn end_span(&self) -> Span {
        self.session.sources.files().first().map_or(Span::NONE, |file| {
            // The newline at the end, because there is no line after it.
            let last = file.text.strip_suffix(b"\n").unwrap_or(&file.text);
            let last = last.strip_suffix(b"\r").unwrap_or(last);
            let end = file.base + last.len() as u32;
            Span { lo: end, hi: end, expansion: ExpansionId(0) }
        })
    }
}
