//! Statements.

use super::{diagnostics, statement, tree};

#[test]
fn every_statement() {
    let rows = [
        ("; {} { a; }", "; {} {a}"),
        ("if (a) b; else if (c) d; else e;", "(if a b else (if c d else e))"),
        ("if (a) if (b) c; else d;", "(if a (if b c else d))"),
        ("while (a) b;", "(while a b)"),
        ("do a; while (b);", "(do b a)"),
        ("for (;;) a;", "(for  |  |  a)"),
        ("for (a = 1, b = 2; a; a++) {}", "(for (, (= a 1) (= b 2)) | a | (postincrement a) {})"),
        ("for (uint i = 0, j = 1; ; ) {}", "(for i: uint = 0, j: uint = 1; |  |  {})"),
        (
            "switch (a) { case 1: case 2 ... 3: b; break; default: c; }",
            "(switch a {case 1: case 2...3: b break default: c})",
        ),
        ("a: b: c; goto a; d: ;", "a: b: c goto a d: ;"),
        ("return; return a;", "(return) (return a)"),
        ("while (1) { break; continue; }", "(while 1 {break continue})"),
        ("_Static_assert(1, \"\"); int a;", "(assert 1) a: int;"),
        ("int a; float b = 1; static const T c = 2;", "a: int; b: float = 1; c: static const T = 2;"),
        ("asm volatile (\"x\" : [a] \"=r\"(b) : \"0\"(c) : \"m\"); __asm__(\"y\");", "asm asm"),
        (
            "asm(\"\"); asm volatile (\"\" \" \" ::: \"memory\", \"cc\"); __asm__ (\"\" : \"+r\"(f(a)), [x] \"+m\"(b[1]) : \"r\"(c));",
            "asm-empty asm-empty asm-empty",
        ),
        ("asm(\"\" : \"=r\"(a) : \"0\"(b)); asm(\"\" \"x\"); asm(\"\" :: : \"memory\"); a;", "asm asm asm-empty a"),
        ("__extension__ int a; __extension__ a;", "a: int; a"),
        ("struct s { int x; } v; enum { A };", "v: struct s{x: int;}; enum  A;"),
        ("extern int f(int); f(1);", "f: (int) extern int; (call f 1)"),
    ];
    for (text, expected) in rows {
        assert_eq!(statement(text), expected, "{text}");
    }
}

#[test]
fn labels_stand_anywhere() {
    let rows = [
        ("a: int b; c: }", "a: b: int; c: ;"),
        ("switch (a) { case 1: int b = 1; default: }", "(switch a {case 1: b: int = 1; default: ;})"),
        ("a: __attribute__((unused)) int b;", "a: b: int;"),
        ("a: __attribute__((opencl_unroll_hint)) for (;;) ;", "a: @opencl_unroll_hint (for  |  |  ;)"),
        ("if (a) b: c;", "(if a b: c)"),
    ];
    for (text, expected) in rows {
        let text = text.strip_suffix(" }").filter(|rest| !rest.contains('{')).unwrap_or(text);
        assert_eq!(statement(text), expected, "{text}");
    }
}

#[test]
fn attributes_and_pragmas() {
    let rows = [
        ("__attribute__((opencl_unroll_hint(2))) for (;;) ;", "@opencl_unroll_hint(2) (for  |  |  ;)"),
        ("[[fallthrough]]; [[a]] while (1) ;", "@fallthrough ; @a (while 1 ;)"),
        ("__attribute__((a)) int x;", "x: @a int;"),
        ("@unroll for (;;) ;", "#Unroll(None) (for  |  |  ;)"),
        (
            "if (a) @unroll for (;;) ; else @unroll while (1) ;",
            "(if a {#Unroll(None) (for  |  |  ;)} else {#Unroll(None) (while 1 ;)})",
        ),
        ("a = f(1) @pack + 2;", "(= a (+ (call f 1) 2))"),
        ("case_: @unroll for (;;) ;", "case_: ; #Unroll(None) (for  |  |  ;)"),
    ];
    for (text, expected) in rows {
        assert_eq!(statement(text), expected, "{text}");
    }
    assert_eq!(tree("@unroll void f() { } @unroll"), "#Unroll(None) f: (?) void{} #Unroll(None)");
}

#[test]
fn long_chains_do_not_nest() {
    let text = "switch (a) {".to_owned() + &"case 1: ".repeat(16_000) + ";}";
    assert_eq!(diagnostics(&format!("void f() {{ {text} }}")), Vec::<String>::new());
    let text = "if (a) b; else ".repeat(16_000) + ";";
    assert_eq!(diagnostics(&format!("void f() {{ {text} }}")), Vec::<String>::new());
    let text = "if (a) b; else ".repeat(20_000) + ";";
    assert_eq!(diagnostics(&format!("void f() {{ {text} }}")), ["1: more than 16384 branches in a chain of 'else if'"]);
    for nest in ["if (a) ", "while (a) ", "{", "for (;;) ", "do ", "a: if (1) "] {
        let lines = diagnostics(&format!("void f() {{ {} }}", nest.repeat(20_000)));
        assert_eq!(lines, ["1: bracket nesting level exceeded maximum of 1024"], "{nest}");
    }
}
