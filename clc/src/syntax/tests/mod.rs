//! Tests of the parser, from texts through a small lexer, so that they need no preprocessor.

mod declarations;
mod errors;
mod expressions;
mod print;
mod statements;

use super::ast::Unit;
use super::parse;
use crate::diagnostics::Level;
use crate::options::{Options, Version};
use crate::preprocess::{Pragma, Preprocessed, Punct, Session, Token, TokenKind};
use crate::source::{ExpansionId, Interner, Span};

/// The tokens of a text. `@unroll`, `@pack4` and `@pack` stand for pragmas.
fn lex(text: &str, names: &mut Interner) -> Preprocessed {
    let mut input = Preprocessed::default();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.as_bytes()[0];
        let word = |from: &str, more: fn(char) -> bool| from.find(|c| !more(c)).unwrap_or(from.len());
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (kind, length) = match first {
            b' ' | b'\n' => {
                at += 1;
                continue;
            }
            b'@' => {
                let length = 1 + word(&rest[1..], is_word);
                input.pragmas.push(match &rest[1..length] {
                    "unroll" => Pragma::Unroll(None),
                    "pack4" => Pragma::Pack(Some(4)),
                    _ => Pragma::Pack(None),
                });
                (TokenKind::Pragma(input.pragmas.len() as u32 - 1), length)
            }
            b'0'..=b'9' => {
                let length = word(rest, |c| c.is_ascii_alphanumeric() || c == '.');
                let length = rest[..length].find("..").unwrap_or(length);
                (TokenKind::Number(names.intern(&rest[..length])), length)
            }
            b'"' | b'\'' => {
                let length = 2 + rest[1..].find(first as char).unwrap_or(rest.len() - 2);
                let symbol = names.intern(&rest[..length]);
                (if first == b'"' { TokenKind::String(symbol) } else { TokenKind::Char(symbol) }, length)
            }
            _ if is_word(first as char) => {
                let length = word(rest, is_word);
                (TokenKind::Identifier(names.intern(&rest[..length])), length)
            }
            _ => {
                let longest = Punct::ALL.iter().filter(|punct| rest.starts_with(punct.text()));
                match longest.max_by_key(|punct| punct.text().len()) {
                    Some(punct) => (TokenKind::Punct(*punct), punct.text().len()),
                    None => (TokenKind::Unknown(first as char), 1),
                }
            }
        };
        let span = Span { lo: at as u32 + 1, hi: (at + length) as u32 + 1, expansion: ExpansionId(0) };
        input.tokens.push(Token { kind, span, space_before: true, line_start: false });
        at += length;
    }
    let span = Span { lo: at as u32 + 1, hi: at as u32 + 1, expansion: ExpansionId(0) };
    input.tokens.push(Token { kind: TokenKind::End, span, space_before: true, line_start: true });
    input
}

/// Parses a text; calls a function with the tree, and returns its result and the diagnostics (`line: text`).
fn with<T>(version: Version, text: &str, then: impl FnOnce(&Unit, &Interner) -> T + Send) -> (T, Vec<String>)
where
    T: Send,
{
    let options = Options { version, ..Options::default() };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(crate::limits::STACK);
        let run = || {
            let mut session = Session::new(&options);
            let input = lex(text, &mut session.names);
            let unit = parse(&mut session, &input);
            let line =
                |span: Span| text.bytes().take((span.lo.max(1) - 1) as usize).filter(|byte| *byte == b'\n').count() + 1;
            let diagnostics = session.diagnostics.list().iter();
            let lines = diagnostics.map(|one| {
                let level = if one.level == Level::Warning { "warning: " } else { "" };
                format!("{}: {level}{}", line(one.span), one.text)
            });
            (then(&unit, &session.names), lines.collect())
        };
        thread.spawn_scoped(scope, run).unwrap().join().unwrap()
    })
}

/// The diagnostics of a text in OpenCL C 3.0.
fn diagnostics(text: &str) -> Vec<String> {
    with(Version::V3_0, text, |_, _| ()).1
}

/// The tree of a text as text; there must be no diagnostics.
fn tree(text: &str) -> String {
    let (tree, lines) = with(Version::V3_0, text, print::unit);
    assert!(lines.is_empty(), "{text}: {lines:?}");
    tree
}

/// The tree of the expression in `int x = ...;`, behind some declarations.
fn expression(text: &str) -> String {
    let tree =
        tree(&format!("typedef int T; typedef float4 V; enum {{ a, b, c, f, p, s }}; void g() {{ x = {text}; }}"));
    let (from, to) = (tree.find("(= x ").unwrap() + 5, tree.rfind(")}").unwrap());
    tree[from..to].to_owned()
}

/// The tree of the statement in a function.
fn statement(text: &str) -> String {
    let tree = tree(&format!("typedef int T; void g() {{ {text} }}"));
    let (from, to) = (tree.find('{').unwrap() + 1, tree.rfind('}').unwrap());
    tree[from..to].to_owned()
}
