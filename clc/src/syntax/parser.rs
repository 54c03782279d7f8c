//! The state of the parser: the current token, the nesting, what was reported.

use super::ast::{Expr, ExprKind, Name};
use super::keyword::Keyword;
use super::names::{Meaning, Names};
use crate::limits;
use crate::options::Version;
use crate::preprocess::{Pragma, Preprocessed, Punct, Session, Token, TokenKind};
use crate::source::{Span, Symbol};

/// Something could not be parsed, and that was reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed;

/// The result of parsing something.
pub(super) type Parse<T> = Result<T, Failed>;

/// The current token, with keywords told from names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    /// A punctuator.
    Punct(Punct),
    /// A keyword of the language version.
    Keyword(Keyword),
    /// A name.
    Name(Symbol),
    /// A number.
    Number(Symbol),
    /// A character constant.
    Char(Symbol),
    /// A string literal.
    String(Symbol),
    /// A pragma.
    Pragma(u32),
    /// A character that begins no token.
    Unknown,
    /// The end of the input.
    End,
}

impl Tok {
    /// By how much the token changes the nesting of parentheses.
    pub(super) fn nesting(self) -> i32 {
        if let Tok::Punct(punct) = self { TokenKind::Punct(punct).nesting() } else { 0 }
    }
}

/// Spellings of keywords that are names in some versions, or unless they are used as keywords.
#[derive(Debug)]
struct Spellings {
    type_of: Option<Symbol>,
    asm: Option<Symbol>,
}

/// The state.
pub(super) struct Parser<'p, 'o> {
    /// Options, names, diagnostics.
    pub(super) session: &'p mut Session<'o>,
    /// Which names are types.
    pub(super) names: Names,
    /// The current token.
    pub(super) tok: Tok,
    /// Where it is.
    pub(super) span: Span,
    /// Where the token before it is.
    pub(super) previous: Span,
    /// What `#pragma pack` set.
    pub(super) pack: Option<u32>,
    /// The height of the tallest expression of the innermost construct that measures it.
    peak: u32,
    tokens: &'p [Token],
    pragmas: &'p [Pragma],
    at: usize,
    depth: u32,
    /// Parsing was given up: nothing more is reported.
    stopped: bool,
    /// The token at which an error was reported last: only one is reported for a token.
    reported: Option<usize>,
    spellings: Spellings,
}

const END: Token = Token { kind: TokenKind::End, span: Span::NONE, space_before: false, line_start: true };

impl<'p, 'o> Parser<'p, 'o> {
    /// A parser at the first token.
    pub(super) fn new(session: &'p mut Session<'o>, input: &'p Preprocessed) -> Self {
        let spellings = Spellings { type_of: session.names.get("typeof"), asm: session.names.get("asm") };
        let mut parser = Self {
            session,
            names: Names::default(),
            tok: Tok::End,
            span: Span::NONE,
            previous: Span::NONE,
            pack: None,
            peak: 0,
            tokens: &input.tokens,
            pragmas: &input.pragmas,
            at: 0,
            depth: 0,
            stopped: false,
            reported: None,
            spellings,
        };
        parser.load(true);
        parser
    }

    // --- Tokens.

    /// Goes to the next token. A pragma stops here only where a statement or a declaration may begin.
    pub(super) fn advance(&mut self) {
        if self.tok == Tok::End {
            return;
        }
        let stop = match self.tok {
            Tok::Punct(punct) => matches!(
                punct,
                Punct::Semicolon | Punct::LeftBrace | Punct::RightBrace | Punct::RightParen | Punct::Colon
            ),
            Tok::Keyword(keyword) => matches!(keyword, Keyword::Else | Keyword::Do),
            Tok::Pragma(_) => true,
            Tok::Name(_) | Tok::Number(_) | Tok::Char(_) | Tok::String(_) | Tok::Unknown | Tok::End => false,
        };
        self.previous = self.span;
        self.at += 1;
        self.load(stop);
    }

    /// Makes the token at `at` the current one, or one after it if that is a pragma that takes effect here.
    fn load(&mut self, stop_at_pragmas: bool) {
        while let Some(Token { kind: TokenKind::Pragma(index), .. }) = self.tokens.get(self.at) {
            match self.pragmas.get(*index as usize) {
                Some(Pragma::Pack(value)) => self.pack = *value,
                Some(Pragma::Unroll(_) | Pragma::FpContract(_) | Pragma::Extension(..)) if stop_at_pragmas => break,
                Some(Pragma::Unroll(_) | Pragma::FpContract(_) | Pragma::Extension(..)) | None => {}
            }
            self.at += 1;
        }
        let token = self.tokens.get(self.at).copied().unwrap_or(END);
        self.tok = self.classify(token.kind, self.at);
        if token.span != Span::NONE || self.tok != Tok::End {
            self.span = token.span;
        } else {
            self.span = Span { lo: self.previous.hi, hi: self.previous.hi, expansion: self.previous.expansion };
        }
    }

    /// What the token at an index is.
    fn classify(&self, kind: TokenKind, at: usize) -> Tok {
        match kind {
            TokenKind::Identifier(symbol) => match Keyword::of(symbol) {
                Some(keyword) if self.is_available(keyword, symbol, at) => Tok::Keyword(keyword),
                Some(_) | None => Tok::Name(symbol),
            },
            TokenKind::Number(symbol) => Tok::Number(symbol),
            TokenKind::Char(symbol) => Tok::Char(symbol),
            TokenKind::String(symbol) => Tok::String(symbol),
            TokenKind::Punct(punct) => Tok::Punct(punct),
            TokenKind::Pragma(index) => Tok::Pragma(index),
            TokenKind::Unknown(_) => Tok::Unknown,
            TokenKind::End => Tok::End,
        }
    }

    /// Whether a spelling is a keyword here, and not a name.
    fn is_available(&self, keyword: Keyword, symbol: Symbol, at: usize) -> bool {
        let follows = |wanted: TokenKind| self.tokens.get(at + 1).is_some_and(|token| token.kind == wanted);
        let paren = TokenKind::Punct(Punct::LeftParen);
        // Extensions of GNU C whose plain spelling a program may use as a name.
        if Some(symbol) == self.spellings.type_of {
            return follows(paren);
        }
        if Some(symbol) == self.spellings.asm {
            let next = self.tokens.get(at + 1).and_then(|token| token.kind.identifier());
            return follows(paren) || next.and_then(Keyword::of) == Some(Keyword::Volatile);
        }
        // `uniform` and `_Imaginary` are reserved, but used nowhere.
        let is_reserved = matches!(keyword, Keyword::Uniform | Keyword::Imaginary);
        !is_reserved && (keyword != Keyword::Pipe || self.session.options.version >= Version::V2_0)
    }

    /// The token after the current one.
    pub(super) fn peek(&self) -> Tok {
        self.peek_at(1)
    }

    /// The token `ahead` of the current one.
    pub(super) fn peek_at(&self, ahead: usize) -> Tok {
        let at = self.at + ahead;
        self.tokens.get(at).map_or(Tok::End, |token| self.classify(token.kind, at))
    }

    /// The current token as the preprocessor gave it: keywords are identifiers.
    pub(super) fn raw_kind(&self) -> TokenKind {
        self.tokens.get(self.at).map_or(TokenKind::End, |token| token.kind)
    }

    /// Whether the current token is this one.
    pub(super) fn is(&self, punct: Punct) -> bool {
        self.tok == Tok::Punct(punct)
    }

    /// Whether the current token is this keyword.
    pub(super) fn is_keyword(&self, keyword: Keyword) -> bool {
        self.tok == Tok::Keyword(keyword)
    }

    /// Takes the current token if it is this one.
    pub(super) fn eat(&mut self, punct: Punct) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the current token if it is this keyword.
    pub(super) fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.is_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// The current token as a name.
    pub(super) fn name(&self) -> Option<Name> {
        if let Tok::Name(symbol) = self.tok { Some(Name { symbol, span: self.span }) } else { None }
    }

    /// Takes a name.
    pub(super) fn expect_name(&mut self) -> Parse<Name> {
        match self.name() {
            Some(name) => {
                self.advance();
                Ok(name)
            }
            None => self.fail("expected identifier"),
        }
    }

    /// The pragma of the current token.
    pub(super) fn pragma(&self) -> Option<Pragma> {
        let Tok::Pragma(index) = self.tok else { return None };
        self.pragmas.get(index as usize).cloned()
    }

    /// Skips pragmas where they mean nothing.
    pub(super) fn skip_pragmas(&mut self) {
        while let Tok::Pragma(_) = self.tok {
            self.advance();
        }
    }

    /// From the beginning of a construct to the last token that was taken.
    pub(super) fn since(&self, start: Span) -> Span {
        start.to(self.previous)
    }

    /// How many tokens were taken: what makes no progress has failed.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// What a name means to the parser.
    pub(super) fn meaning(&mut self, symbol: Symbol) -> Meaning {
        self.names.meaning(symbol, self.session)
    }

    /// A name's text.
    pub(super) fn text(&self, symbol: Symbol) -> &str {
        self.session.names.text(symbol)
    }

    // --- Errors and limits.

    /// Whether an error may be reported here: none after giving up, and one for each token.
    pub(super) fn may_report(&mut self) -> bool {
        let may = !self.stopped && self.reported != Some(self.at);
        self.reported = Some(self.at);
        may
    }

    /// Reports an error at a place.
    pub(super) fn error(&mut self, span: Span, text: impl Into<String>) {
        if self.may_report() {
            self.session.diagnostics.error(span, text);
        }
    }

    /// Reports an error at the current token.
    pub(super) fn fail<T>(&mut self, text: impl Into<String>) -> Parse<T> {
        self.error(self.span, text);
        Err(Failed)
    }

    /// Reports a warning.
    pub(super) fn warning(&mut self, span: Span, group: &'static str, text: impl Into<String>) {
        if !self.stopped {
            self.session.diagnostics.warning(span, group, text);
        }
    }

    /// Reports an error after which nothing more can be parsed.
    pub(super) fn stop(&mut self, text: String) -> Failed {
        self.error(self.span, text);
        self.stopped = true;
        self.at = self.tokens.len();
        self.tok = Tok::End;
        Failed
    }

    /// Whether parsing was given up.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped || self.session.diagnostics.is_full()
    }

    /// Parses something one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= limits::NESTING {
            return Err(self.stop(format!("bracket nesting level exceeded maximum of {}", limits::NESTING)));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Measures the height of what is parsed: it counts for the enclosing construct as one of its parts.
    pub(super) fn measured<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let before = std::mem::take(&mut self.peak);
        let result = parse(self);
        self.peak = self.peak.max(before);
        result
    }

    /// The expression that was just parsed becomes part of another: the tree grows.
    pub(super) fn grow(&mut self) -> Parse<()> {
        self.peak += 1;
        if self.peak > limits::CHAIN {
            return Err(self.stop(format!("expression exceeds the maximum of {} nested operators", limits::CHAIN)));
        }
        Ok(())
    }

    /// The place of what could not be parsed.
    pub(super) fn error_expr(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Error, span, caret: span }
    }
}
