//! One error for one fault, and parsing goes on.

use super::diagnostics;

#[test]
fn in_functions() {
    let rows: &[(&str, &[&str])] = &[
        ("a = 1\n b = 2;", &["1: expected ';' after expression"]),
        ("a = ;\n b = 2; c = ;", &["1: expected expression", "2: expected expression"]),
        ("a = (1;\n b = 2;", &["1: expected ')'"]),
        ("a[1 = 2;\n b = 2;", &["1: expected ']'"]),
        ("f(a, );", &["1: expected expression"]),
        ("return 1\n }", &["1: expected ';' after return statement"]),
        ("int a = 1\n int b = 2;", &["1: expected ';' at end of declaration"]),
        ("int a = ;\n a = 2;", &["1: expected expression"]),
        ("int a[3] = {1, 2;\n a = 2;", &["1: expected '}'"]),
        ("foo x, y;\n x = 1;", &["1: use of undeclared identifier 'foo'"]),
        ("struct foo { int a; };\n foo x;", &["2: must use 'struct' tag to refer to type 'foo' in this scope"]),
        ("if a) b;\n c;", &["1: expected '(' after 'if'"]),
        ("if (a b;\n c;", &["1: expected ')'"]),
        ("if (a = ) b;\n c = ;", &["1: expected expression", "2: expected expression"]),
        ("if (a) int b;\n c;", &["1: expected expression"]),
        ("for (int i = 0; i < ; i++) { a = ; }", &["1: expected expression", "1: expected expression"]),
        ("do { } while (1)\n a;", &["1: expected ';' after do/while statement"]),
        ("case 1;", &["1: expected ':' after 'case'"]),
        ("goto 1;", &["1: expected identifier"]),
        ("else a;", &["1: expected expression"]),
        ("a = b c;", &["1: expected ';' after expression"]),
        ("a ? b;", &["1: expected ':'"]),
        ("a.;", &["1: expected identifier"]),
        ("x = int;", &["1: expected expression"]),
        ("x = float4(1);", &["1: unexpected type name 'float4': expected expression"]),
        ("foo(a));", &["1: extraneous ')' before ';'"]),
        ("int f() { return 1; }\n a;", &["1: function definition is not allowed here"]),
        ("$;", &["1: expected expression"]),
        ("a = `1;", &["1: expected expression"]),
    ];
    for (text, expected) in rows {
        let closing = if text.ends_with('}') && !text.contains('{') { "" } else { "\n}" };
        assert_eq!(diagnostics(&format!("void f() {{ {text}{closing}\nint x;")), *expected, "{text}");
    }
}

#[test]
fn at_file_scope() {
    let implicit = "type specifier missing, defaults to 'int'; ISO C99 and later do not support implicit int";
    let rows: &[(&str, &[&str])] = &[
        ("foo x;\nint y;", &["1: unknown type name 'foo'"]),
        ("x;\nstatic z;", &[&format!("1: {implicit}"), &format!("2: {implicit}")]),
        ("main() {}", &[&format!("1: {implicit}")]),
        ("void f(foo a, int b) { a; }", &["1: unknown type name 'foo'"]),
        ("void f(a) {}", &["1: unknown type name 'a'"]),
        ("int a\nint b;", &["1: expected ';' after top level declarator"]),
        ("int f(int a) b;\nint c;", &["1: expected function body after function declarator"]),
        ("int 3;\nint b", &["1: expected identifier or '('", "2: expected ';' after top level declarator"]),
        ("struct s { int a } x;", &["1: warning: expected ';' at end of declaration list"]),
        ("struct s { int a; int 4; float b; };", &["1: expected member name or ';' after declaration specifiers"]),
        ("struct s { foo a; int b; };", &["1: unknown type name 'foo'"]),
        ("struct s { int a; }\nint b;", &["1: expected ';' after struct"]),
        ("struct { int a;", &["1: expected '}'"]),
        ("struct;", &["1: expected identifier or '{'"]),
        ("enum { A B };", &["1: missing ',' between enumerators"]),
        ("enum { A 1, B };\nint a;", &["1: expected '}'"]),
        ("int a[] = { 1 +, { 2 } }, b = f(1 +, 2), c =;\nint d;", &["1: expected expression"; 3]),
        (
            "void f() { if (f(a) { b; }\n c; for (;;a b { c = ; } }",
            &["1: expected ')'", "2: expected ')'", "2: expected expression"],
        ),
        ("}\nint a;", &["1: extraneous closing brace ('}')"]),
        ("void f() { a;", &["1: expected '}'"]),
        ("void f() { a }\nint b = ;", &["1: expected ';' after expression", "2: expected expression"]),
        ("global local int *a;", &["1: multiple address spaces specified for type"]),
        ("global global int *a;", &["1: warning: multiple identical address spaces specified for type"]),
        ("void f(read_only write_only image2d_t a);", &["1: multiple access qualifiers"]),
        ("void f(read_only read_only image2d_t a);", &["1: warning: duplicate 'read_only' declaration specifier"]),
        ("const const int a;", &["1: warning: duplicate 'const' declaration specifier"]),
        ("static extern int a;", &["1: cannot combine with previous 'static' declaration specifier"]),
        ("static static int a;", &["1: warning: duplicate 'static' declaration specifier"]),
        ("float4 int a;", &["1: cannot combine with previous 'type-name' declaration specifier"]),
        ("int struct s a;", &["1: cannot combine with previous 'int' declaration specifier"]),
        ("int f(static int a);", &["1: invalid storage class specifier in function declarator"]),
        ("int f(...);", &["1: ISO C requires a named parameter before '...'"]),
        ("int f(int a,);", &["1: expected parameter declarator"]),
        ("int a = sizeof(static int);", &["1: expected expression"]),
        ("asm(\"x\");", &["1: file-scope assembly is not supported"]),
        ("__attribute__((a) int x;", &["1: expected ')'"]),
        ("int a = sizeof int;", &["1: expected parentheses around type name in sizeof expression"]),
        ("int x = 1 +;\nint y = 2 *;", &["1: expected expression", "2: expected expression"]),
        ("int x = (1, y = 2;\nint z;", &["1: expected ')'"]),
    ];
    for (text, expected) in rows {
        assert_eq!(diagnostics(text), *expected, "{text}");
    }
}

#[test]
fn no_input_is_too_odd() {
    let words = [
        "int",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ";",
        "a",
        "=",
        "struct",
        "T",
        ",",
        "*",
        "if",
        "for",
        "else",
        "case",
        ":",
        "typedef",
        "^",
        "__attribute__",
        "@unroll",
        "1",
        ".",
        "?",
        "enum",
        "sizeof",
        "kernel",
        "do",
        "...",
    ];
    let mut state = 1u32;
    for _ in 0..800 {
        let mut text = "typedef int T; void f() {".to_owned();
        for _ in 0..30 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push(' ');
            text.push_str(words[(state >> 16) as usize % words.len()]);
        }
        diagnostics(&text);
    }
}
