//! Initializers.

use super::{expect, expect_tree};
use crate::options::Version::{V1_2, V2_0, V3_0};

#[test]
fn lists_fill_members_in_order_and_by_name() {
    expect_tree(
        V1_2,
        r#"
        struct p { int x, y; };
        struct q { struct p a; struct p b[2]; int c; };
        constant int a[] = {1, 2, 3};
        constant struct p b = {.y = 2};
        constant struct p c[] = {[2].x = 1, 2, 3};
        constant struct q d = {1, 2, 3, 4, 5, 6, 7};
        constant struct q e = {.b[1].y = 1, 2, .a = {3}};
        constant int f[4] = {[0 ... 2] = 7};
        constant int g[2][2] = {{1}, 2, 3};
        constant char s[] = "abc";
        constant char t[2] = "ab";
        constant char u[2][3] = {"ab", {"c"}};
        constant int v = {1};
        constant float4 w = {1, 2, 3, 4};
        constant float4 x[2] = {1, (float4)(1, 2, 3, 4)};
        union un { int a; float b; };
        constant union un y = {1};
        constant union un z = {.b = 1.0f};
        struct an { int i; union { int j; float k; }; int l; };
        constant struct an aa = {1, 2, 3};
        constant struct an ab = {.k = 1.0f, 4};
        constant int zero[3] = {};"#,
        "(global @a constant [3]int {1 2 3})
         (global @b constant struct.p {0 2})
         (global @c constant [4]struct.p {0 0 {1 2} {3}})
         (global @d constant struct.q {{1 2} {{3 4} {5 6}} 7})
         (global @e constant struct.q {{3} {0 {0 1}} 2})
         (global @f constant [4]int {7 7 7})
         (global @g constant [2][2]int {{1} {2 3}})
         (global @s constant [4]char \"abc\")
         (global @t constant [2]char \"ab\")
         (global @u constant [2][3]char {\"ab\" \"c\"})
         (global @v constant int 1)
         (global @w constant float4 <1.0 2.0 3.0 4.0>)
         (global @x constant [2]float4 {<1.0 1.0 1.0 1.0> <1.0 2.0 3.0 4.0>})
         (global @y constant union.un {.0=1})
         (global @z constant union.un {.1=1.0})
         (global @aa constant struct.an {1 {.0=2} 3})
         (global @ab constant struct.an {0 {.1=1.0} 4})
         (global @zero constant [3]int 0)",
    );
}

#[test]
fn what_does_not_fit_is_reported() {
    expect(
        V2_0,
        r#"
        int a[2] = {1,2,3};
        char s[3] = "abcd";
        struct p { int x, y; };
        struct p p1 = {1,2,3};
        struct p p2 = {.x = 1, .z = 2};
        struct p p4[2] = {[1] = {1,2}, [2] = {1}};
        int d = {1,2};
        int f[3] = 5;
        int h[3] = {[-1] = 2};
        float4 v2 = {1,2,3,4,5};
        union u { int a; float b; };
        union u u3 = {1, 2};
        int n;
        int m = n;
        int id = 1 / 0;"#,
        "2: warning: excess elements in array initializer
         3: warning: initializer-string for char array is too long
         5: warning: excess elements in struct initializer
         6: error: field designator 'z' does not refer to any field in type 'struct p'
         7: error: array designator index (2) exceeds array bounds (2)
         8: warning: excess elements in scalar initializer
         9: error: array initializer must be an initializer list
         10: error: array designator value '-1' is negative
         11: error: excess elements in vector initializer
         13: warning: excess elements in union initializer
         15: error: initializer element is not a compile-time constant
         16: warning: division by zero is undefined
         16: error: initializer element is not a compile-time constant",
    );
}

#[test]
fn elements_without_members_use_no_items() {
    expect(
        V1_2,
        "struct e { }; constant struct e a[] = {1}; constant struct e b[3] = {}; constant struct e c[9] = {{}, 1};
         struct f { struct e e[2]; int i; }; constant struct f d = {1};",
        "1: warning: excess elements in array initializer
         1: warning: excess elements in array initializer",
    );
}

#[test]
fn locals_are_initialized_by_assignments() {
    expect_tree(
        V1_2,
        "struct p { int x, y; };
         void f(int n, struct p q) {
           int a[3] = {1, n};
           struct p b = {n, 2};
           struct p c = q;
           struct p d[2] = {q, {1}};
           int e[2] = {0};
           float4 g = {n, 1, 2, 3};
           const int k = 4; int h[k];
         }",
        "(init %a (aggregate [3]int 0=int:1 1=(load %n)))
         (init %b (aggregate struct.p 0=(load %n) 1=int:2))
         (init %c (load %q))
         (init %d (aggregate [2]struct.p 0=(load %q) 1=(aggregate struct.p 0=int:1)))
         (init %e [2]int:0)
         (declare %h [4]int)",
    );
}

#[test]
fn compound_literals_are_objects() {
    expect_tree(
        V2_0,
        "struct p { int x, y; };
         struct p a = (struct p){1, 2};
         constant int *b = (constant int[]){1, 2};
         void f(struct p *q);
         void g(void) { f(&(struct p){1, 2}); int i = ((int[]){1, 2, 3})[1]; }",
        "(global @a global struct.p {1 2})",
    );
}

#[test]
fn addresses_are_constant() {
    expect_tree(
        V2_0,
        r#"
        int a[4]; struct s { char c; int i[3]; } r[2];
        global int *p = a + 2;
        global int *q = &a[3];
        global int *t = &r[1].i[2];
        constant char *s = "abc";
        constant char *const u[] = {"abc", "abc" + 1};
        long d = &a[3] - &a[1];
        int e = &a[0] == a;
        int n = &a[0] == 0;
        global int *z = 0;
        int k = "abc"[1];"#,
        "(global @p global *global int &@a+8)
         (global @q global *global int &@a+12)
         (global @t global *global int &@r+28)
         (global @s global *constant char &@6+0)
         (global @u const global [2]*constant char {&@6+0 &@6+1})
         (global @d global long 2)
         (global @e global int 1)
         (global @z global *global int 0)
         (global @k global int 98)",
    );
}

#[test]
fn elements_that_are_not_listed() {
    expect(
        V3_0,
        "
        constant char a[20000][20000] = { [0 ... 19999] = { [0 ... 19999] = 1 } };
        ",
        "2: error: designators repeat or skip more than 16777216 array elements",
    );
    expect(
        V3_0,
        "
        constant int a[4][16777216] = { [0][16777215] = 1,
            [1][16777215] = 1 };
        ",
        "3: error: designators repeat or skip more than 16777216 array elements",
    );
    expect(
        V3_0,
        "
        constant char text[1000000][1000] = { [0 ... 999999] = \"0123456789012345678901234567890123456789\"
            \"01234567890123456789012345678901234567890123456789012345678901234567890123456789\"
            \"01234567890123456789012345678901234567890123456789012345678901234567890123456789\" };
        ",
        "2: error: designators repeat or skip more than 16777216 array elements",
    );
    expect(V3_0, "constant int a[1000][1000] = { [0 ... 999] = { [0 ... 998] = 1, [999] = 2 } };", "");
}
