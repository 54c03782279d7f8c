//! Pragmas.

use super::*;

#[test]
fn pragmas_of_the_language() {
    assert_tokens(&[
        ("#pragma unroll\nx", "<Unroll(None)> x"),
        ("#define N 4\n#pragma unroll N\nx", "<Unroll(Some(4))> x"),
        ("#pragma unroll 0\nx", "<Unroll(Some(1))> x"),
        ("#pragma unroll(8)\n#pragma nounroll\nx", "<Unroll(Some(8))> <Unroll(Some(1))> x"),
        ("#pragma clang loop unroll(full)\n#pragma clang loop unroll_count(2)", "<Unroll(None)> <Unroll(Some(2))>"),
        (
            "#pragma OPENCL FP_CONTRACT OFF\n#pragma STDC FP_CONTRACT DEFAULT",
            "<FpContract(Some(false))> <FpContract(None)>",
        ),
        (
            "#pragma pack(push, 2)\n#pragma pack(1)\n#pragma pack(pop)\n#pragma pack()",
            "<Pack(Some(2))> <Pack(Some(1))> <Pack(None)> <Pack(None)>",
        ),
        ("_Pragma(\"unroll 3\") x", "<Unroll(Some(3))> x"),
        (
            "#define P(x) _Pragma(#x)\n#define Q(x) x\nP(unroll 2) Q(P(nounroll) a)",
            "<Unroll(Some(2))> <Unroll(Some(1))> a",
        ),
        ("#define A 1\n#pragma push_macro(\"A\")\n#undef A\n#define A 2\nA\n#pragma pop_macro(\"A\")\nA", "2 1"),
    ]);
    let (text, diagnostics) =
        with(&options(), "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL EXTENSION all : disable");
    assert!(text.starts_with("<Extension(Symbol(") && text.ends_with("false)>"), "{text}");
    assert_eq!(diagnostics, [""; 0]);
}

#[test]
fn warnings() {
    assert_diagnostics(&[
        ("#pragma foo\n#pragma\n#pragma OPENCL foo", &[]),
        ("#pragma STDC FOO", &["1: warning: unknown pragma in STDC namespace"]),
        ("#pragma omp parallel\n#pragma mark x", &[]),
        ("#pragma once", &["1: warning: #pragma once in main file"]),
        (
            "#pragma OPENCL EXTENSION cl_foo : enable",
            &["1: warning: OpenCL extension 'cl_foo' unknown or does not require pragma - ignoring"],
        ),
        (
            "#pragma OPENCL EXTENSION cl_khr_gl_msaa_sharing : enable",
            &["1: warning: unsupported OpenCL extension 'cl_khr_gl_msaa_sharing' - ignoring"],
        ),
        ("#pragma OPENCL EXTENSION all : enable", &["1: warning: expected 'disable' - ignoring"]),
        (
            "#pragma OPENCL EXTENSION cl_khr_fp64 : foo",
            &["1: warning: expected 'enable', 'disable', 'begin' or 'end' - ignoring"],
        ),
        ("#pragma OPENCL EXTENSION cl_khr_fp64", &["1: warning: missing ':' after 'cl_khr_fp64' - ignoring"]),
        ("#pragma OPENCL EXTENSION", &["1: warning: expected identifier in '#pragma OPENCL' - ignored"]),
        ("#pragma OPENCL FP_CONTRACT maybe", &["1: warning: expected 'ON' or 'OFF' or 'DEFAULT' in pragma"]),
        ("#pragma pack(3)", &["1: warning: expected #pragma pack parameter to be '1', '2', '4', '8', or '16'"]),
        ("#pragma message(\"a\" \"b\")\n#pragma GCC error \"c\"", &["1: warning: ab", "2: error: c"]),
        ("_Pragma(1)", &["1: error: _Pragma takes a parenthesized string literal"]),
        (
            "#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Wunknown-pragmas\"\n#pragma STDC foo\n\
             #pragma clang diagnostic pop\n#pragma STDC bar",
            &["5: warning: unknown pragma in STDC namespace"],
        ),
        ("#pragma GCC diagnostic error \"-Wunknown-pragmas\"\n#pragma foo", &["2: error: unknown pragma ignored"]),
    ]);
}
