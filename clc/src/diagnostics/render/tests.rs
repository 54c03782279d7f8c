//! Tests of the layout of diagnostics.

use super::*;
use crate::diagnostics::WarningOptions;
use crate::source::{Expansion, ExpansionId};

struct Case {
    sources: SourceMap,
    names: Interner,
    diagnostics: Diagnostics,
}

impl Case {
    fn new(text: &[u8]) -> Self {
        let mut sources = SourceMap::default();
        sources.add("a.cl", Arc::from(text), None);
        Self { sources, names: Interner::default(), diagnostics: Diagnostics::new(WarningOptions::default()) }
    }

    /// The span of the `number`th occurrence of a text in the first file.
    fn span(&self, text: &str, number: usize) -> Span {
        let file = &self.sources.files()[0];
        let at = file.text.windows(text.len()).enumerate().filter(|(_, window)| *window == text.as_bytes());
        let at = file.base + at.map(|(at, _)| at).nth(number).unwrap() as u32;
        Span { lo: at, hi: at + text.len() as u32, expansion: ExpansionId(0) }
    }

    fn text(&self) -> String {
        render(&self.diagnostics, &self.sources, &self.names)
    }
}

#[test]
fn a_caret_ranges_and_a_replacement() {
    let mut case = Case::new(b"int x;\n\tint y = aa + bb;\n");
    let (plus, left, right) = (case.span("+", 0), case.span("aa", 0), case.span("bb", 0));
    case.diagnostics.report(Diagnostic::error(plus, "bad").range(left).range(right).fix(plus, "-"));
    case.diagnostics.report(Diagnostic::warning(left, "name", "odd").note(case.span("x", 0), "here"));
    assert_eq!(
        case.text(),
        "a.cl:2:13: error: bad\n    2 |         int y = aa + bb;\n      |                 ~~ ^ ~~\n      |                    -\n\
         a.cl:2:10: warning: odd [-Wname]\n    2 |         int y = aa + bb;\n      |                 ^\n\
         a.cl:1:5: note: here\n    1 | int x;\n      |     ^\n1 warning and 1 error generated.\n"
    );
}

#[test]
fn ranges_of_several_lines() {
    let mut case = Case::new(b"int y = aa +\n   bb;\n");
    let (plus, left, right) = (case.span("+", 0), case.span("aa", 0), case.span("bb", 0));
    case.diagnostics.report(Diagnostic::error(plus, "bad").range(left.to(right)));
    assert_eq!(
        case.text(),
        "a.cl:1:12: error: bad\n    1 | int y = aa +\n      |         ~~~^\n    2 |    bb;\n      |    ~~\n1 error generated.\n"
    );
}

#[test]
fn macros_and_their_arguments() {
    let mut case = Case::new(b"#define F(x) x + y\nF(z)\n");
    let name = case.names.intern("F");
    let usage = case.span("F(z)", 0);
    let body = case.sources.add_expansion(Expansion { name, usage, is_argument: false });
    let argument = case.sources.add_expansion(Expansion { name, usage, is_argument: true });
    let y = Span { expansion: body, ..case.span("y", 0) };
    let z = Span { expansion: argument, ..case.span("z", 0) };
    case.diagnostics.error(y, "no y");
    case.diagnostics.error(z, "no z");
    assert_eq!(
        case.text(),
        "a.cl:2:1: error: no y\n    2 | F(z)\n      | ^\na.cl:1:18: note: expanded from macro 'F'\n    1 | #define F(x) x + y\n      \
         |                  ^\na.cl:2:3: error: no z\n    2 | F(z)\n      |   ^\n2 errors generated.\n"
    );
}

#[test]
fn included_files() {
    let mut case = Case::new(b"\n#include \"b.h\"\n");
    let from = case.span("include", 0);
    case.sources.add("b.h", Arc::from(&b"x\n"[..]), Some(from));
    let base = case.sources.files()[1].base;
    case.diagnostics.error(Span { lo: base, hi: base + 1, expansion: ExpansionId(0) }, "bad");
    case.diagnostics.error(Span { lo: base, hi: base + 1, expansion: ExpansionId(0) }, "worse");
    assert_eq!(
        case.text(),
        "In file included from a.cl:2:\nb.h:1:1: error: bad\n    1 | x\n      | ^\nb.h:1:1: error: worse\n    1 | x\n      | ^\n\
         2 errors generated.\n"
    );
}

#[test]
fn long_lines_and_odd_bytes() {
    let mut text = vec![b'a'; 100_000];
    text[50_000] = b'!';
    let mut case = Case::new(&text);
    case.diagnostics.error(case.span("!", 0), "bad");
    let shown = case.text();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].len() < 300, "{}", lines[1].len());
    assert_eq!(lines[1].find('!'), lines[2].find('^'));

    let mut case = Case::new(b"\xff\x01 x\n");
    case.diagnostics.error(case.span("x", 0), "bad\x07");
    assert_eq!(
        case.text(),
        "a.cl:1:4: error: bad<U+0007>\n    1 | <FF><U+0001> x\n      |              ^\n1 error generated.\n"
    );
}

#[test]
fn nowhere() {
    let mut case = Case::new(b"x\n");
    case.diagnostics.error(Span::NONE, "bad");
    assert_eq!(case.text(), "error: bad\n1 error generated.\n");
}
