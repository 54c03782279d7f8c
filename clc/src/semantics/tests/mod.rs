//! Tests of the semantic checks: sources in, diagnostics or the typed tree out.

mod constants;
mod declarations;
mod functions;
mod initializers;
mod kernels;
mod records;
mod statements;

use std::sync::Arc;

use crate::diagnostics::Level;
use crate::options::{Options, Profile, Version};
use crate::preprocess::{Session, preprocess};
use crate::syntax;

/// Options for a version, with all features and extensions.
fn options(version: Version) -> Options {
    Options { version, profile: Arc::new(Profile::full()), ..Options::default() }
}

/// The typed tree as text, and the diagnostics as `line: level: text`.
fn check(source: &str, options: &Options) -> (String, Vec<String>) {
    let mut session = Session::new(options);
    let input = preprocess(&mut session, source.as_bytes());
    let unit = syntax::parse(&mut session, &input);
    let module = super::check(&mut session, &unit);
    let list = session.diagnostics.list().iter().map(|diagnostic| {
        let level = match diagnostic.level {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error | Level::Fatal => "error",
        };
        let place = session.sources.location(session.sources.primary(diagnostic.span));
        format!("{}: {level}: {}", place.map_or(0, |place| place.line), diagnostic.text)
    });
    let mut list: Vec<String> = list.collect();
    list.sort_by_key(|text| text.split(':').next().and_then(|line| line.parse::<u32>().ok()));
    (crate::tree::print(&module, &session.names), list)
}

/// Checks the diagnostics of a source: one line of `expected` for each.
#[track_caller]
fn expect(version: Version, source: &str, expected: &str) {
    let (_, found) = check(source, &options(version));
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found, expected, "\n{source}");
}

/// The typed tree of a source without errors.
#[track_caller]
fn tree(version: Version, source: &str) -> String {
    let (tree, found) = check(source, &options(version));
    assert!(found.iter().all(|text| !text.contains(" error: ")), "{found:?}\n{source}");
    tree
}

/// Checks that each line of `expected` is a line of the typed tree, closing parentheses aside.
#[track_caller]
fn expect_tree(version: Version, source: &str, expected: &str) {
    let text = tree(version, source);
    for line in expected.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let same = |one: &str| one.trim().trim_end_matches(')') == line.trim_end_matches(')');
        assert!(text.lines().any(same), "missing: {line}\n{text}");
    }
}
