//! `#include`.

use super::*;

fn with_headers(headers: &[(&str, &str)], text: &str) -> (String, Vec<String>) {
    let headers = headers.iter().map(|(name, text)| ((*name).to_owned(), Arc::from(text.as_bytes())));
    with(&Options { headers: headers.collect(), ..options() }, text)
}

#[test]
fn headers_in_memory() {
    let headers = [
        ("a.h", "a __FILE__ __INCLUDE_LEVEL__\n#include \"dir/b.h\"\n"),
        ("dir/b.h", "b\n#include \"c.h\"\n"),
        ("dir/c.h", "#pragma once\nc\n#include <a2.h>"),
        ("a2.h", "#ifndef G\n#define G\nA2\n#endif"),
    ];
    let text = "#include \"a.h\"\n#define N <a2.h>\n#include N\n#include \"dir/../dir/c.h\"\nend __INCLUDE_LEVEL__";
    assert_eq!(with_headers(&headers, text), ("a \"a.h\" 1 b c A2 end 0".to_owned(), Vec::new()));
}

#[test]
fn a_call_may_end_in_another_file() {
    let (text, diagnostics) = with_headers(&[("a.h", "#define F(x) [x]\nF(1")], "#include \"a.h\"\n) x");
    assert_eq!((&*text, diagnostics.len()), ("[ 1 ] x", 0));
}

#[test]
fn errors() {
    assert_diagnostics(&[
        ("#include \"none.h\"\n#error more", &["1: fatal: 'none.h' file not found"]),
        ("#include", &["1: error: expected \"FILENAME\" or <FILENAME>"]),
        ("#include <a", &["1: error: expected '>'"]),
        ("#include \"\"", &["1: error: empty filename"]),
    ]);
    let (_, diagnostics) = with_headers(&[("a.h", "#if 1\n")], "#include \"a.h\"\nx");
    assert_eq!(diagnostics, ["1: error: unterminated conditional directive"]);
    let (_, diagnostics) = with_headers(&[("a.h", "x")], "#define F(x) x\nF(\n#include \"a.h\"\n)");
    assert_eq!(diagnostics, ["3: error: embedding a #include directive within macro arguments is not supported"]);
    let (_, diagnostics) = with_headers(&[("a.h", "#include \"a.h\"")], "#include \"a.h\"");
    assert_eq!(diagnostics, ["1: fatal: #include nested too deeply"]);
}

#[test]
fn files_of_directories() {
    let directory = std::env::temp_dir().join(format!("clift-clc-include-{}", std::process::id()));
    let inner = directory.join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(directory.join("a.h"), "a\n#include \"inner/b.h\"\n").unwrap();
    std::fs::write(inner.join("b.h"), "b\n#include \"c.h\"\n#include <c.h>\n").unwrap();
    std::fs::write(inner.join("c.h"), "c1\n#include_next <c.h>\n").unwrap();
    std::fs::write(directory.join("c.h"), "c2\n").unwrap();
    let options = Options { include_directories: vec![inner, directory.clone()], ..options() };
    let mut session = Session::new(&options);
    let result = preprocess(&mut session, b"#include <a.h>\n#if __has_include(\"c.h\")\nyes\n#endif");
    let names = &session.names;
    let words: Vec<&str> =
        result.tokens.iter().filter_map(|token| token.kind.identifier().map(|name| names.text(name))).collect();
    // The neighbour comes first for quotes; it is not from a directory of the path, so the next is the first.
    assert_eq!(words, ["a", "b", "c1", "c1", "c2", "c1", "c2", "yes"]);
    assert_eq!(session.diagnostics.list(), []);
    assert_eq!(result.files.len(), 4);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn forced_includes_come_after_macros() {
    let mut options = options();
    options.headers = vec![("f.h".to_owned(), Arc::from(&b"#ifdef A\nforced\n#endif"[..]))];
    options.macros = vec![MacroOption::Define("A".to_owned(), "1".to_owned())];
    options.forced_includes = vec!["f.h".to_owned()];
    assert_eq!(with(&options, "main").0, "forced main");
}
