//! Tokens of the text form.

use logos::Logos;

/// A token; its text is the slice of its span.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\f]+")]
#[logos(skip(r";[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    /// Line end: ends an instruction.
    #[token("\n")]
    Newline,
    /// Keyword, op, type, id, flag.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    #[regex(r"ptr\([a-z]+\)(x[0-9]+)?")]
    Word,
    /// Number; whether it is one of the kind wanted is seen when it is read.
    #[regex(r"-?(0x[0-9a-fA-F]+|[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?)|-inf")]
    #[regex(r"nan:0x[0-9a-fA-F]+")]
    Number,
    /// Quoted string.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,
    /// `(`
    #[token("(")]
    Open,
    /// `)`
    #[token(")")]
    Close,
    /// `[`
    #[token("[")]
    OpenList,
    /// `]`
    #[token("]")]
    CloseList,
    /// `{`
    #[token("{")]
    OpenBody,
    /// `}`
    #[token("}")]
    CloseBody,
    /// `:`
    #[token(":")]
    Colon,
    /// `,`
    #[token(",")]
    Comma,
    /// `=`
    #[token("=")]
    Equals,
    /// `->`
    #[token("->")]
    Arrow,
    /// `@`
    #[token("@")]
    At,
    /// Anything else: refused by whoever meets it.
    Unknown,
    /// End of the text.
    End,
}

impl Token {
    /// How messages name it.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Token::Newline => "the end of the line",
            Token::Word => "a word",
            Token::Number => "a number",
            Token::Str => "a quoted string",
            Token::Open => "`(`",
            Token::Close => "`)`",
            Token::OpenList => "`[`",
            Token::CloseList => "`]`",
            Token::OpenBody => "`{`",
            Token::CloseBody => "`}`",
            Token::Colon => "`:`",
            Token::Comma => "`,`",
            Token::Equals => "`=`",
            Token::Arrow => "`->`",
            Token::At => "`@`",
            Token::Unknown => "an unknown character",
            Token::End => "the end of the text",
        }
    }
}
