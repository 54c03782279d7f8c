//! `#if` and the like.

use super::*;

/// Whether a condition is true; it must not be reported.
#[track_caller]
fn holds(condition: &str) {
    assert_eq!(tokens(&format!("#if {condition}\nyes\n#else\nno\n#endif")), "yes", "{condition}");
}

#[test]
fn arithmetic() {
    for condition in [
        "1",
        "-1 < 0",
        "2 - 1 - 1 == 0",
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "-7 / 2 == -3",
        "-7 % 2 == -1",
        "7 % 3 == 1",
        "1 << 3 == 8",
        "-1 >> 1 == -1",
        "~0 == -1",
        "!0 == 1",
        "!5 == 0",
        "+3 == 3",
        "6 & 3 == 2 || 1",
        "(6 & 3) == 2",
        "(6 | 1) == 7",
        "(6 ^ 3) == 5",
        "1 ? 2 : 0",
        "(0 ? 1 : 2) == 2",
        "1 ? 0 ? 1 : 2 : 3",
        "(1, 2) == 2",
        "1 && 2",
        "0 || 2",
        "0xFFFFFFFFu == 4294967295",
        "0b101 == 5",
        "017 == 15",
        "1ull + 1LLU == 2",
        "'a' == 97",
        "'\\n' == 10",
        "'\\x41' == 65",
        "'\\101' == 65",
        "'\\377' < 0",
        "~0UL >> 63 == 1",
        "0u - 1 > 0",
        "0 || 1/1",
        "1 || 1/0",
        "0 && 1/0 || 1",
        "UNKNOWN == 0",
        "true && !false",
        "0x8000000000000000 > 0",
        "-9223372036854775807 - 1 < 0",
        "1 == 1 != 0",
    ] {
        holds(condition);
    }
}

#[test]
fn definedness() {
    for condition in [
        "!defined A",
        "!defined(A) && defined __LINE__",
        "defined(M_PI)",
        "defined __has_include",
        "__has_attribute(aligned)",
        "__has_attribute(__packed__)",
        "!__has_attribute(none)",
        "__has_builtin(__builtin_expect)",
        "!__has_builtin(none)",
        "!__has_feature(c_static_assert)",
        "__has_extension(c_static_assert)",
        "!__is_identifier(int)",
        "__is_identifier(name)",
        "__has_warning(\"-Wundef\")",
        "!__has_include(\"none.h\")",
        "!__has_include(<none.h>)",
    ] {
        holds(condition);
    }
}

#[test]
fn groups() {
    assert_tokens(&[
        ("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif\ne", "b e"),
        ("#if 0\na\n#else\nb\n#endif", "b"),
        ("#if 0\n#if 1\n#else\n#endif\n'x \"y /* #endif */ // #endif\n#else\nb\n#endif", "b"),
        ("#ifdef A\na\n#endif\n#ifndef A\nb\n#endif", "b"),
        ("#if 0\n#elif 0\n#endif\nx", "x"),
        ("#if 1\na\n#elif 1/0\n#else\n#endif", "a"),
        ("#if 0\n\\\n#endif\ny", "y"),
        ("#if 0 /*\n*/\n#endif // x\nz", "z"),
        ("#if 0\n??=if 1\n%:endif\n#endif\nz", "z"),
        ("#if 0\n#\n#foo\n# 12\n#endif\nz", "z"),
    ]);
}

#[test]
fn errors() {
    assert_diagnostics(&[
        ("#if\n#endif", &["1: error: expected value in expression"]),
        ("#if 1 2\n#endif", &["1: error: token is not a valid binary operator in a preprocessor subexpression"]),
        ("#if (1\n#endif", &["1: error: expected ')' in preprocessor expression"]),
        ("#if 1)\n#endif", &["1: error: expected end of line in preprocessor expression"]),
        ("#if 1 +\n#endif", &["1: error: expected value in expression"]),
        ("#if *\n#endif", &["1: error: invalid token at start of a preprocessor expression"]),
        ("#if 1 ? 2\n#endif", &["1: error: expected ':'"]),
        ("#if 1 : 2\n#endif", &["1: error: expected end of line in preprocessor expression"]),
        ("#if 1/0\n#endif", &["1: error: division by zero in preprocessor expression"]),
        ("#if 1%0\n#endif", &["1: error: remainder by zero in preprocessor expression"]),
        ("#if 1.0\n#endif", &["1: error: floating point literal in preprocessor expression"]),
        ("#if 08\n#endif", &["1: error: invalid digit '8' in octal constant"]),
        ("#if 1x\n#endif", &["1: error: invalid suffix 'x' on integer constant"]),
        ("#if F(1)\n#endif", &["1: error: function-like macro 'F' is not defined"]),
        ("#if defined\n#endif", &["1: error: macro name missing"]),
        ("#if defined(A\n#endif", &["1: error: missing ')' after 'defined'"]),
        (
            "#if -1 > 0u\n#endif",
            &[
                "1: warning: left side of operator converted from negative value to unsigned: -1 to 18446744073709551615",
            ],
        ),
        ("#if 9223372036854775807 + 1\n#endif", &["1: warning: integer overflow in preprocessor expression"]),
        ("#if 'ab'\n#endif", &["1: warning: multi-character character constant"]),
        (
            "#define D defined(A)\n#if D\n#endif",
            &["2: warning: macro expansion producing 'defined' has undefined behavior"],
        ),
        ("#if 1", &["1: error: unterminated conditional directive"]),
        ("#else", &["1: error: #else without #if"]),
        ("#endif", &["1: error: #endif without #if"]),
        ("#elif 1", &["1: error: #elif without #if"]),
        ("#if 1\n#else\n#else\n#endif", &["3: error: #else after #else"]),
        ("#if 1\n#else\n#elif 1\n#endif", &["3: error: #elif after #else"]),
        ("#if 1\n#endif x", &["2: warning: extra tokens at end of #endif directive"]),
        ("#if 0\n#elifdef A\n#endif", &["2: warning: use of a '#elifdef' directive is a C23 extension"]),
        ("__has_include(\"a\")", &["1: error: '__has_include' must be used within a preprocessing directive"]),
        ("#if __has_attribute\n#endif", &["1: error: missing '(' after '__has_attribute'"]),
    ]);
}

#[test]
fn other_directives() {
    assert_diagnostics(&[
        ("#error it's  bad", &["1: error: it's  bad"]),
        ("#warning \"w\"", &["1: warning: \"w\""]),
        ("#foo", &["1: error: invalid preprocessing directive"]),
        ("#edif", &["1: error: invalid preprocessing directive, did you mean '#elif'?"]),
        ("#line", &["1: error: #line directive requires a positive integer argument"]),
        ("#line 1a", &["1: error: #line directive requires a simple digit sequence"]),
        ("#line 1 x", &["1: error: invalid filename for #line directive"]),
        ("#ident 1", &["1: error: invalid #ident directive"]),
        ("#\n# /* */\n#ident \"x\"", &[]),
    ]);
}
