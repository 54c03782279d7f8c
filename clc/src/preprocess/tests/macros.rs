//! Definition and expansion of macros.

use super::*;

#[test]
fn examples_of_the_standard() {
    let definitions = "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n\
                       #define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n#define q(x) x\n\
                       #define r(x,y) x ## y\n#define str(x) # x\n";
    assert_tokens(&[
        (
            &format!("{definitions}f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);"),
            "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ;",
        ),
        (
            &format!("{definitions}g(x+(3,4)-w) | h 5) & m\n(f)^m(m);"),
            "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , 1 ) ;",
        ),
        (
            &format!("{definitions}p() i[q()] = {{ q(1), r(2,3), r(4,), r(,5), r(,) }};"),
            "int i [ ] = { 1 , 23 , 4 , 5 , } ;",
        ),
        (&format!("{definitions}str(hello) str()"), "\"hello\" \"\""),
        (
            "#define hash_hash # ## #\n#define mkstr(a) # a\n#define in_between(a) mkstr(a)\n\
             #define join(c, d) in_between(c hash_hash d)\njoin(x, y)",
            "\"x ## y\"",
        ),
        (
            "#define t(x,y,z) x ## y ## z\nt(1,2,3) t(,4,5) t(6,,7) t(8,9,) t(10,,) t(,11,) t(,,12) t(,,)",
            "123 45 67 89 10 11 12",
        ),
    ]);
}

#[test]
fn a_macro_is_not_expanded_in_itself() {
    assert_tokens(&[
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g"),
        ("#define NIL(x) x\n#define G_0(a) NIL(G_1)(a)\n#define G_1(a) NIL(a)\nG_0(42)", "42"),
        ("#define R1(x) x R2\n#define R2(x) x R1\nR1(1)(2)(3)", "1 2 3 R2"),
    ]);
}

#[test]
fn strings_of_arguments() {
    assert_tokens(&[
        ("#define S(x) #x\nS( a   b /* c */ + \"x\\n\" '\\'')", r#""a b + \"x\\n\" '\\''""#),
        ("#define S(x) #x\n#define X(x) S(x)\n#define E\nX(-E-) X(E) X(a E b)", "\"--\" \"\" \"a b\""),
        ("#define S(x) #x\nS(<: %:)", "\"<: %:\""),
        ("#define S(...) #__VA_ARGS__\nS(a,b , c)", "\"a,b , c\""),
    ]);
    assert_diagnostics(&[("#define S(x) #x\nS(\\)", &["2: warning: invalid string literal, ignoring final '\\'"])]);
}

#[test]
fn pasted_tokens() {
    let cat = "#define CAT(a,b) a##b\n";
    assert_tokens(&[
        (&format!("{cat}CAT(<,<=) CAT(a,1) CAT(1,a) CAT(1e,-) CAT(L,\"x\") CAT(,) x"), "<<= a1 1a 1e- L\"x\" x"),
        ("#define O ob j ## k\nO", "ob jk"),
        ("#define AB 7\n#define CAT(a,b) a##b\nCAT(A,B)", "7"),
    ]);
    assert_diagnostics(&[
        (&format!("{cat}CAT(x,+)"), &["2: error: pasting formed 'x+', an invalid preprocessing token"]),
        (&format!("{cat}CAT(/,/)"), &["2: error: pasting formed '//', an invalid preprocessing token"]),
    ]);
}

#[test]
fn variable_arguments() {
    assert_tokens(&[
        ("#define P(f, ...) p(f, ##__VA_ARGS__)\nP(1) P(1,) P(1,2,3)", "p ( 1 ) p ( 1 , ) p ( 1 , 2 , 3 )"),
        ("#define P(f, a...) p(f, ##a)\nP(1) P(1,2)", "p ( 1 ) p ( 1 , 2 )"),
        ("#define P(...) p(0, ##__VA_ARGS__)\nP()", "p ( 0 , )"),
        ("#define E\n#define P(...) p(0 __VA_OPT__(,) __VA_ARGS__)\nP() P(E) P(1)", "p ( 0 ) p ( 0 ) p ( 0 , 1 )"),
        ("#define H(x, ...) #__VA_OPT__(x##x x##x)\nH(, 0) H(a,1) H(a)", "\"\" \"aa aa\" \"\""),
        ("#define H(x, ...) __VA_OPT__(a x ## x) ## b\nH(, 1) H(x, 1) H(x)", "a b a xxb b"),
        ("#define H(...) a ## __VA_OPT__(b) ## c\nH() H(1)", "ac abc"),
    ]);
    assert_diagnostics(&[
        ("#define A(...) __VA_OPT__", &["1: error: missing '(' following __VA_OPT__"]),
        (
            "#define A(...) __VA_OPT__(__VA_OPT__())",
            &["1: error: __VA_OPT__ cannot be nested within its own replacement tokens"],
        ),
        ("#define A(...) __VA_OPT__(## a)", &["1: error: '##' cannot appear at start of __VA_OPT__ argument"]),
    ]);
}

#[test]
fn calls() {
    assert_tokens(&[
        ("#define F(x, y) x + y\n#define C ,\nF(1 C 2, 3)", "1 , 2 + 3"),
        ("#define F(x) [x]\nF\n(1) F F /* */ (2)", "[ 1 ] F [ 2 ]"),
        ("#define F() n\nF() F( ) F", "n n F"),
        ("#define F(x) [x]\nF(\n#define G 1\nG\n#if 0\n2\n#endif\n)", "[ 1 ]"),
        ("#define F(x) [x]\nF()", "[ ]"),
        ("#define F(x,y) [x|y]\nF((1,2),{3}) F(,)", "[ ( 1 , 2 ) | { 3 } ] [ | ]"),
    ]);
    let f = "#define F(a,b) a b\n";
    assert_diagnostics(&[
        (&format!("{f}F(1)"), &["2: error: too few arguments provided to function-like macro invocation"]),
        (&format!("{f}F(1,2,3)"), &["2: error: too many arguments provided to function-like macro invocation"]),
        (&format!("{f}F(1,"), &["2: error: unterminated function-like macro invocation"]),
        ("#define F() 1\nF(2)", &["2: error: too many arguments provided to function-like macro invocation"]),
    ]);
}

#[test]
fn wrong_definitions() {
    assert_diagnostics(&[
        ("#define", &["1: error: macro name missing"]),
        ("#define 1", &["1: error: macro name must be an identifier"]),
        ("#define defined", &["1: error: 'defined' cannot be used as a macro name"]),
        ("#define F(", &["1: error: missing ')' in macro parameter list"]),
        ("#define F(a,)", &["1: error: expected identifier in macro parameter list"]),
        ("#define F(a b)", &["1: error: expected comma in macro parameter list"]),
        ("#define F(a,a)", &["1: error: duplicate macro parameter name 'a'"]),
        ("#define F(1)", &["1: error: invalid token in macro parameter list"]),
        ("#define F(..., a)", &["1: error: missing ')' in macro parameter list"]),
        ("#define F(a) #b", &["1: error: '#' is not followed by a macro parameter"]),
        ("#define F(a) ##a", &["1: error: '##' cannot appear at start of macro expansion"]),
        ("#define F a##", &["1: error: '##' cannot appear at end of macro expansion"]),
        ("#define F+1", &["1: warning: ISO C99 requires whitespace after the macro name"]),
        ("#define A 1\n#define A 1\n#define A  2", &["3: warning: 'A' macro redefined"]),
        ("#define F(a) a\n#define F(b) b", &["2: warning: 'F' macro redefined"]),
        (
            "#define __LINE__ 1\n#undef __FILE__",
            &["1: warning: redefining builtin macro", "2: warning: undefining builtin macro"],
        ),
        (
            "#undef A B\n#undef",
            &["1: warning: extra tokens at end of #undef directive", "2: error: macro name missing"],
        ),
    ]);
}

#[test]
fn computed_macros() {
    assert_tokens(&[
        ("__LINE__\n__LINE__ __COUNTER__ __COUNTER__ __FILE__ __INCLUDE_LEVEL__", "1 2 0 1 \"program.cl\" 0"),
        ("#define F(x) x __LINE__\nF(\n__LINE__\n)", "3 4"),
        ("#line 7 \"a\\\\b\"\n__LINE__ __FILE__", "7 \"a\\\\b\""),
        ("# 8 \"c\" 1 3\n__LINE__ __FILE__", "8 \"c\""),
        (
            "__OPENCL_C_VERSION__ CL_VERSION_3_1 cl_khr_fp64 __opencl_c_images INFINITY CHAR_BIT",
            "300 310 1 1 ( as_float ( 0x7f800000 ) ) 8",
        ),
    ]);
}

#[test]
fn tokens_of_all_kinds() {
    assert_tokens(
        &[
            ("a\\\nb c??/\nd", "ab cd"),
            ("1.2.3 .5e+3 1e+x 0x1p-3 1..2 a.b ... ..", "1.2.3 .5e+3 1e+x 0x1p-3 1..2 a . b ... . ."),
            ("x %: <% %> <: :> %:%:", "x # { } [ ] ##"),
            ("x/**/y/*\n*/z // comment \\\n still\nw", "x y z w"),
            ("/* *\\\n/ x /* *??/  \r\n/ y", "x y"),
            ("/* *\\\n\n/ x */ y", "y"),
            ("'a' L'b' L\"c\" \"\\\"\" '\\''", "'a' L'b' L\"c\" \"\\\"\" '\\''"),
            ("$a a$ \\u00e9t\u{e9} \u{3b1}", "$a a$ \u{e9}t\u{e9} \u{3b1}"),
            ("a\rb\r\nc\u{b}d", "a b c d"),
        ]
        .map(|(text, expected)| (text, expected)),
    );
    assert_diagnostics(&[
        ("'a", &["1: warning: missing terminating ' character"]),
        ("''", &["1: warning: empty character constant"]),
        (
            "\"a\nb\"",
            &["1: warning: missing terminating '\"' character", "2: warning: missing terminating '\"' character"],
        ),
        ("/* a", &["1: error: unterminated /* comment"]),
        ("/* /* */", &["1: warning: '/*' within block comment"]),
        ("\u{a9}", &["1: error: unexpected character <U+00A9>"]),
        ("\u{a0}", &["1: warning: treating Unicode character as whitespace"]),
        ("??(", &["1: warning: trigraph converted to '[' character"]),
    ]);
}
