//! Declarations.

use super::{tree, with};
use crate::options::Version;

#[test]
fn declarators_apply_from_the_inside() {
    let rows = [
        ("int *a[3];", "a: [3] * int;"),
        ("int (*a)[3];", "a: * [3] int;"),
        ("int a[2][3];", "a: [2] [3] int;"),
        ("int *f(int), g;", "f: (int) * int, g: int;"),
        ("int (*f)(void);", "f: * () int;"),
        ("int (*f(int a))(float b);", "f: (a: int) * (b: float) int;"),
        ("int (^b)(int);", "b: ^ (int) int;"),
        ("int f();", "f: (?) int;"),
        ("int f(int, ...);", "f: (int...) int;"),
        ("int f(int (a), int (*)(int), int (float));", "f: (a: int, * (int) int, (float) int) int;"),
        (
            "int f(int a[static const 3], int *restrict volatile b);",
            "f: (a: [static const 3] int, b: volatile restrict * int) int;",
        ),
        ("int f(int n, int a[n]);", "f: (n: int, a: [n] int) int;"),
        ("int f(int [3], int (*[2])(void));", "f: ([3] int, [2] * () int) int;"),
        ("global int * constant a;", "a: constant * global int;"),
        ("int local *a;", "a: * local int;"),
        ("int * __attribute__((aligned(4))) const a;", "a: const @aligned(4) * int;"),
        (
            "void f(read_only image2d_t a, __write_only image3d_t b, read_write pipe int c);",
            "f: (a: readonly image2d_t, b: writeonly image3d_t, c: readwrite pipe int) void;",
        ),
    ];
    for (text, expected) in rows {
        let (printed, lines) = with(Version::V2_0, text, super::print::unit);
        assert_eq!((printed.as_str(), lines), (expected, Vec::new()), "{text}");
    }
}

#[test]
fn specifiers() {
    let rows = [
        ("unsigned long int static const a;", "a: static const unsigned long int;"),
        ("typedef float4 T; T a;", "T: typedef float4; a: T;"),
        ("extern int typedef_;", "typedef_: extern int;"),
        ("inline static int f(void) { return 1; }", "f: () static inline int{(return 1)}"),
        ("kernel void f(global int *a) {}", "f: (a: * global int) kernel void{}"),
        ("_Alignas(8) _Alignas(int) int a;", "a: alignas((paren 8)) alignas(<int>) int;"),
        ("_Atomic int a; _Atomic(int) b;", "a: _Atomic int; b: atomic(int);"),
        ("__extension__ typedef int T; __auto_type a = 1;", "T: typedef int; a: auto_type = 1;"),
        ("typeof(1 + 2) a; typeof(int *) b;", "a: typeof((paren (+ 1 2))); b: typeof(<* int>);"),
        ("int typeof; int asm;", "typeof: int; asm: int;"),
        ("; int a;;", "a: int;"),
        ("_Static_assert(1, \"a\" \"b\"); _Static_assert(1);", "(assert 1) (assert 1)"),
    ];
    for (text, expected) in rows {
        assert_eq!(tree(text), expected.replace("atomic(int)", "atomic(<int>)"), "{text}");
    }
}

#[test]
fn records_and_enumerations() {
    let rows = [
        ("struct s { int a, *b; float c[2]; } x;", "x: struct s{a: int, b: * int;c: [2] float;};"),
        ("union { int a; struct { int b; }; } x;", "x: union {a: int;struct {b: int;};};"),
        ("struct s { int a : 3, : 0, b : 1 + 1; };", "struct s{a: int:3, int:0, b: int:(+ 1 1);};"),
        ("struct s; union u *p;", "struct s; p: * union u;"),
        (
            "struct __attribute__((packed)) s { int a __attribute__((aligned(8))); } __attribute__((aligned));",
            "struct @packed @aligned s{a: @aligned(8) int;};",
        ),
        ("struct s { _Static_assert(1, \"\"); ; __extension__ int a; @unroll };", "struct s{(assert 1);a: int;};"),
        ("enum e { A, B = 1 + 1, C __attribute__((deprecated)) = 3, } x;", "x: enum e A B=(+ 1 1) C=3;"),
        ("@pack4 struct a { int a; } @pack ; struct b { int a; };", "struct pack4 a{a: int;}; struct b{a: int;};"),
        ("typedef struct { int T; } T; T a;", "T: typedef struct {T: int;}; a: T;"),
    ];
    for (text, expected) in rows {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn attributes_anywhere() {
    let rows = [
        ("__attribute__((a)) int __attribute__((b)) x __attribute__((c)) = 1;", "x: @c @a @b int = 1;"),
        (
            "__attribute__((__aligned__(4), , vec_type_hint(float4), f(a, 1 + 1), const)) int x;",
            "x: @aligned(4) @vec_type_hint(<float4>) @f(a, (+ 1 1)) @const int;",
        ),
        (
            "kernel __attribute__((reqd_work_group_size(1, 2, 3))) void f() {}",
            "f: (?) kernel @reqd_work_group_size(1, 2, 3) void{}",
        ),
        ("kernel void f() __attribute__((a)) __attribute__((b)) {}", "f: @a @b (?) kernel void{}"),
        ("int f(int a __attribute__((unused)), __attribute__((x)) int);", "f: (a: @unused int, @x int) int;"),
        (
            "[[a]] int [[b]] x [[c]]; [[gnu::a, clang::__b__(1), x::c]] int y;",
            "x: @c @a @b int; y: @a @b(1) @x::c int;",
        ),
        ("int x, __attribute__((a)) y;", "x: @a int, y: @a int;"),
        ("__attribute__(()) int x;", "x: int;"),
        (
            "__attribute__((availability(macosx, introduced=10.4))) int f();",
            "f: (?) @availability(macosx, (= introduced 10.4)) int;",
        ),
        ("typedef int T __attribute__((ext_vector_type(4))); T x;", "T: @ext_vector_type(4) typedef int; x: T;"),
        ("int x asm(\"y\") __attribute__((a));", "x: @a int;"),
        ("typedef void (*F)(__attribute__((a)) int);", "F: * (@a int) typedef void;"),
    ];
    for (text, expected) in rows {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn initializers() {
    let rows = [
        ("int a[] = { 1, 2, };", "a: [] int = {1, 2};"),
        ("int a[] = { [1] = 2, [3 ... 4] = 5, [6] 7 };", "a: [] int = {[1]=2, [3...4]=5, [6]=7};"),
        ("struct s a = { .x = 1, .y.z[1] = { 2 }, w: 3 };", "a: struct s = {.x=1, .y.z[1]={2}, .w=3};"),
        ("int a = {}, b = { { 1 } };", "a: int = {}, b: int = {{1}};"),
    ];
    for (text, expected) in rows {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn names_hide_types() {
    let rows = [
        ("typedef int T; void f(int T) { T * 2; }", "T: typedef int; f: (T: int) void{(* T 2)}"),
        ("typedef int T; void f(T T) { T + 1; } T a;", "T: typedef int; f: (T: T) void{(+ T 1)} a: T;"),
        (
            "typedef int T; void f() { T T; T = 1; { typedef float T; T x; } T = 2; }",
            "T: typedef int; f: (?) void{T: T; (= T 1) {T: typedef float; x: T;} (= T 2)}",
        ),
        (
            "typedef int T; void f() { for (int T = 0; T < 1; T++) T; T x; }",
            "T: typedef int; f: (?) void{(for T: int = 0; | (< T 1) | (postincrement T) T) x: T;}",
        ),
        ("void f() { int uint4 = 1; uint4 * 2; } uint4 x;", "f: (?) void{uint4: int = 1; (* uint4 2)} x: uint4;"),
        (
            "typedef unsigned uint; typedef int image2d_t; uint x;",
            "uint: typedef unsigned; image2d_t: typedef int; x: uint;",
        ),
        (
            "typedef int T; enum { T2 = sizeof(T) }; void f() { enum { T }; T + 1; }",
            "T: typedef int; enum  T2=(sizeof <T>); f: (?) void{enum  T; (+ T 1)}",
        ),
        ("typedef int T; struct s { T T; T b; };", "T: typedef int; struct s{T: T;b: T;};"),
        ("typedef int T; void f(int (T), T b);", "T: typedef int; f: ((T) int, b: T) void;"),
        ("typedef int T; void f() { T: goto T; }", "T: typedef int; f: (?) void{T: goto T}"),
        ("typedef int T; void g(int T); T a;", "T: typedef int; g: (T: int) void; a: T;"),
        (
            "typedef int T; void f() { int x = sizeof(T), T = 1, y = T; }",
            "T: typedef int; f: (?) void{x: int = (sizeof <T>), T: int = 1, y: int = T;}",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn keywords_of_versions() {
    let printed = |version, text| with(version, text, super::print::unit);
    assert_eq!(printed(Version::V1_2, "int pipe;"), ("pipe: int;".to_owned(), Vec::new()));
    assert_eq!(printed(Version::V3_0, "int uniform;"), ("uniform: int;".to_owned(), Vec::new()));
    assert_eq!(printed(Version::V1_2, "int queue_t;"), ("queue_t: int;".to_owned(), Vec::new()));
    assert_eq!(printed(Version::V1_0, "bool b; inline half *f(int *restrict a);").1, Vec::<String>::new());
    assert!(!printed(Version::V2_0, "int pipe;").1.is_empty());
}
