//! Tests of the preprocessor: text in, text and diagnostics out.

mod conditions;
mod files;
mod limits;
mod macros;
mod pragmas;

use std::sync::Arc;

use super::*;
use crate::diagnostics::Level;
use crate::options::{MacroOption, Profile, Version};

/// Options for tests.
fn options() -> Options {
    Options { version: Version::V3_0, profile: Arc::new(Profile::full()), ..Options::default() }
}

/// The tokens with one blank between two, and diagnostics as `line: level: text`.
fn with(options: &Options, text: &str) -> (String, Vec<String>) {
    let mut session = Session::new(options);
    let result = preprocess(&mut session, text.as_bytes());
    let mut words = Vec::new();
    for token in &result.tokens {
        words.push(match token.kind {
            TokenKind::Identifier(text) | TokenKind::Number(text) | TokenKind::Char(text) | TokenKind::String(text) => {
                session.names.text(text).to_owned()
            }
            TokenKind::Punct(punct) => punct.text().to_owned(),
            TokenKind::Pragma(index) => format!("<{:?}>", result.pragmas[index as usize]),
            TokenKind::Unknown(character) => format!("<?{character}>"),
            TokenKind::End => break,
        });
    }
    let lines = session.diagnostics.list().iter().map(|one| {
        let line = session.sources.location(session.sources.primary(one.span)).map_or(0, |location| location.line);
        let level = match one.level {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Fatal => "fatal",
        };
        format!("{line}: {level}: {}", one.text)
    });
    (words.join(" "), lines.collect())
}

/// The tokens of a text without diagnostics.
#[track_caller]
fn tokens(text: &str) -> String {
    let (text, diagnostics) = with(&options(), text);
    assert_eq!(diagnostics, [""; 0], "{text}");
    text
}

/// The diagnostics of a text.
fn diagnostics(text: &str) -> Vec<String> {
    with(&options(), text).1
}

#[track_caller]
fn assert_tokens(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(tokens(text), *expected, "{text}");
    }
}

#[track_caller]
fn assert_diagnostics(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(diagnostics(text), *expected, "{text}");
    }
}

#[test]
fn options_define_macros() {
    let mut options = options();
    options.macros = vec![
        MacroOption::Define("A".to_owned(), "1 + 2".to_owned()),
        MacroOption::Define("F(x)".to_owned(), "[x]".to_owned()),
        MacroOption::Define("M_PI".to_owned(), "3".to_owned()),
        MacroOption::Undefine("A".to_owned()),
        MacroOption::Define("B".to_owned(), String::new()),
        MacroOption::Define("C".to_owned(), "1\n#error no".to_owned()),
    ];
    let (text, diagnostics) = with(&options, "A F(B 2) C\n#ifdef B\nM_PI\n#endif");
    assert_eq!(text, "A [ 2 ] 1 3");
    assert_eq!(diagnostics, ["0: warning: 'M_PI' macro redefined"].map(|line| line.replace("0:", "3:")));
}

#[test]
fn places_of_tokens() {
    let options = options();
    let mut session = Session::new(&options);
    let text = "#define F(x) x + y ## 1\n#line 100 \"f.cl\"\n\nF(z)\n";
    let result = preprocess(&mut session, text.as_bytes());
    let places: Vec<(u32, u32)> = result
        .tokens
        .iter()
        .map(|token| {
            let location = session.sources.location(session.sources.primary(token.span)).unwrap();
            (location.line, location.column)
        })
        .collect();
    // The argument is where it is written, the rest where the macro is used.
    assert_eq!(places, [(101, 3), (101, 1), (101, 1), (101, 5)]);
    let spelled: Vec<u32> = result
        .tokens
        .iter()
        .map(|token| {
            let bare = Span { expansion: crate::source::ExpansionId(0), ..token.span };
            session.sources.location(bare).unwrap().column
        })
        .collect();
    assert_eq!(spelled, [3, 16, 18, 5]);
}
