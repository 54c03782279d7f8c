//! Tokens.

use crate::source::{Span, Symbol};

/// A token after preprocessing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
    /// Whether white space precedes it.
    pub space_before: bool,
    /// Whether it is the first of its line.
    pub line_start: bool,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a keyword ([`crate::syntax::keyword`]).
    Identifier(Symbol),
    /// A preprocessing number, as spelled.
    Number(Symbol),
    /// A character constant, as spelled, with prefix and quotes.
    Char(Symbol),
    /// A string literal, as spelled, with prefix and quotes. Bytes that are not UTF-8 are kept as escapes.
    String(Symbol),
    /// A punctuator; digraphs are the punctuators that they stand for.
    Punct(Punct),
    /// A pragma, by its index in [`super::Preprocessed::pragmas`].
    Pragma(u32),
    /// A character that begins no token.
    Unknown(char),
    /// The end of the input.
    End,
}

impl TokenKind {
    /// The name of an identifier or keyword.
    pub fn identifier(self) -> Option<Symbol> {
        if let TokenKind::Identifier(name) = self { Some(name) } else { None }
    }

    /// The text of a string literal, as spelled.
    pub fn string(self) -> Option<Symbol> {
        if let TokenKind::String(text) = self { Some(text) } else { None }
    }

    /// By how much the token changes the nesting of parentheses.
    pub fn nesting(self) -> i32 {
        i32::from(self == TokenKind::Punct(Punct::LeftParen)) - i32::from(self == TokenKind::Punct(Punct::RightParen))
    }
}

/// A pragma that later stages handle. Others are reported and dropped by the preprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pragma {
    /// `#pragma unroll` with the count, if there is one. `#pragma nounroll` and `#pragma unroll(disable)` have 1.
    Unroll(Option<u32>),
    /// `#pragma OPENCL FP_CONTRACT ON|OFF|DEFAULT` (and `STDC`): whether contraction is allowed; `None` is the default.
    FpContract(Option<bool>),
    /// `#pragma OPENCL EXTENSION name : behavior`. `all` is a name; the value tells whether it is enabled.
    Extension(Symbol, bool),
    /// `#pragma pack(n)` or `pack()`: the alignment that members of later structures have at most; `push` and `pop` are resolved.
    Pack(Option<u32>),
}

macro_rules! puncts {
    ($($name:ident $text:literal,)*) => {
        /// Punctuators.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names say it, and `text` shows it")]
        pub enum Punct { $($name,)* }

        impl Punct {
            /// All of them.
            pub const ALL: &[Punct] = &[$(Punct::$name,)*];

            /// How it is spelled.
            pub fn text(self) -> &'static str {
                match self { $(Punct::$name => $text,)* }
            }
        }
    };
}

puncts! {
    LeftParen "(", RightParen ")", LeftBracket "[", RightBracket "]", LeftBrace "{", RightBrace "}",
    Dot ".", Arrow "->", Increment "++", Decrement "--", Ampersand "&", Star "*", Plus "+", Minus "-", Tilde "~", Bang "!",
    Slash "/", Percent "%", ShiftLeft "<<", ShiftRight ">>", Less "<", Greater ">", LessEqual "<=", GreaterEqual ">=",
    EqualEqual "==", BangEqual "!=", Caret "^", Pipe "|", AndAnd "&&", OrOr "||", Question "?", Colon ":", Semicolon ";",
    Ellipsis "...", Equal "=", StarEqual "*=", SlashEqual "/=", PercentEqual "%=", PlusEqual "+=", MinusEqual "-=",
    ShiftLeftEqual "<<=", ShiftRightEqual ">>=", AndEqual "&=", CaretEqual "^=", PipeEqual "|=", Comma ",", Hash "#",
    HashHash "##", ColonColon "::", At "@",
}
