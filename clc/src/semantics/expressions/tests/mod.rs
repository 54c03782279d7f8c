//! Sources whose comments say what is reported of their lines, and trees of expressions.

mod functions;
mod numbers;
mod objects;
mod operators;
mod trees;

use std::sync::Arc;

use crate::diagnostics::Level;
use crate::options::{Options, Profile, Version};
use crate::preprocess::{Session, preprocess};
use crate::tree::Module;
use crate::{semantics, syntax};

/// Checks a source for a device that has everything.
fn with_session<T>(version: Version, source: &str, then: impl FnOnce(&Session<'_>, &Module) -> T) -> T {
    let options = Options { version, profile: Arc::new(Profile::full()), ..Options::default() };
    let mut session = Session::new(&options);
    let input = preprocess(&mut session, source.as_bytes());
    let unit = syntax::parse(&mut session, &input);
    let module = semantics::check(&mut session, &unit);
    then(&session, &module)
}

/// Compares what is reported with the comments of the lines: `// error: text | warning: text`.
fn check(version: Version, source: &str) {
    let mut expected = Vec::new();
    for (index, line) in source.lines().enumerate() {
        if let Some((_, comment)) = line.split_once(" // ") {
            expected.extend(comment.split(" | ").map(|text| format!("{}: {text}", index + 1)));
        }
    }
    let mut reported = with_session(version, source, |session, _| {
        let line = |diagnostic: &crate::diagnostics::Diagnostic| {
            session.sources.location(session.sources.primary(diagnostic.span)).map_or(0, |location| location.line)
        };
        let one = |diagnostic: &crate::diagnostics::Diagnostic| {
            let level = if diagnostic.level >= Level::Error { "error" } else { "warning" };
            format!("{}: {level}: {}", line(diagnostic), diagnostic.text)
        };
        session.diagnostics.list().iter().map(one).collect::<Vec<_>>()
    });
    expected.sort_unstable();
    reported.sort_unstable();
    let list = |texts: &[String], others: &[String]| {
        let only = texts.iter().filter(|text| !others.contains(text));
        only.map(|text| format!("  {text}\n")).collect::<String>()
    };
    let (missing, extra) = (list(&expected, &reported), list(&reported, &expected));
    assert!(missing.is_empty() && extra.is_empty(), "not reported:\n{missing}reported, but not expected:\n{extra}");
}

/// The trees of statements of a function with these parameters, one a line.
fn trees(parameters: &str, statements: &str) -> String {
    let source = format!("void f({parameters}) {{\n{statements}\n}}\n");
    with_session(Version::V3_0, &source, |session, module| {
        let reported: Vec<&str> = session.diagnostics.list().iter().map(|one| one.text.as_str()).collect();
        assert!(!session.diagnostics.has_errors(), "{reported:?}");
        let text = crate::tree::print(module, &session.names);
        let body = text.split_once('\n').map_or("", |(_, body)| body).trim_end();
        body.strip_suffix(')').unwrap_or(body).lines().map(|line| format!("{}\n", line.trim())).collect()
    })
}
