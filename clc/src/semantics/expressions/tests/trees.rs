//! The trees of expressions.

use super::trees;

const PARAMETERS: &str = "int a, uint b, char c, short h, float x, double d, float4 v, int4 r, global int *g, const int *p, bool t, long l, float3 w, uchar4 u";

/// Checks that each statement has the tree behind the arrow.
fn compare(lines: &[(&str, &str)]) {
    let statements: Vec<&str> = lines.iter().map(|(statement, _)| *statement).collect();
    let expected: String = lines.iter().map(|(_, tree)| format!("{tree}\n")).collect();
    let found = trees(PARAMETERS, &statements.join("\n"));
    for (tree, wanted) in found.lines().zip(expected.lines()) {
        assert_eq!(tree, wanted);
    }
    assert_eq!(found.lines().count(), lines.len());
}

#[test]
fn arithmetic_converts_its_operands() {
    compare(&[
        ("l = a + b;", "(assign %l (to long (add (to uint (load %a)) (load %b))))"),
        ("x = c * h;", "(assign %x (to float (mul (to int (load %c)) (to int (load %h)))))"),
        ("d = x + a;", "(assign %d (to double (add (load %x) (to float (load %a)))))"),
        ("c += 1;", "(add-assign int %c int:1)"),
        ("x -= d;", "(sub-assign double %x (load %d))"),
        ("v += x;", "(add-assign float4 %v (splat float4 (load %x)))"),
        ("a <<= l;", "(shl-assign int %a (load %l))"),
        ("g += c;", "(pointer-assign %g (to long (load %c)))"),
        ("g--;", "(post-decrement %g)"),
        ("l = g - g;", "(assign %l (pointer-diff 4 (load %g) (load %g)))"),
        ("a = g[c];", "(assign %a (load (deref (pointer-add (load %g) (to long (load %c))))))"),
        ("a = 2[g];", "(assign %a (load (deref (pointer-add (load %g) long:2))))"),
        ("a = -c + ~h;", "(assign %a (add (negate (to int (load %c))) (not (to int (load %h)))))"),
        ("a = !x;", "(assign %a (to int (logicalnot (to bool (load %x)))))"),
        (
            "a = t && g || a;",
            "(assign %a (to int (or-else (and-then (load %t) (is-not-null bool (load %g))) (to bool (load %a)))))",
        ),
    ]);
}

#[test]
fn vectors_are_compared_chosen_and_built_by_lanes() {
    compare(&[
        ("r = v < x;", "(assign %r (less (load %v) (splat float4 (load %x))))"),
        ("r = r && 1;", "(assign %r (and (notequal (load %r) int4:0) int4:<-1 -1 -1 -1>))"),
        ("r = !v;", "(assign %r (logicalnot (load %v)))"),
        ("v = r ? v : x;", "(assign %v (select (load %r) (load %v) (splat float4 (load %x))))"),
        ("v = t ? v : 1;", "(assign %v (cond (load %t) (load %v) float4:<1.0 1.0 1.0 1.0>))"),
        ("x = v.w;", "(assign %x (load (lanes [3] %v)))"),
        ("v.xy = v.zw.yx;", "(assign (lanes [0, 1] %v) (load (lanes [3, 2] %v)))"),
        ("v.xyz.y = x;", "(assign (lanes [1] %v) (load %x))"),
        ("x = v[a];", "(assign %x (load (lane %v (to long (load %a)))))"),
        ("x = v[2];", "(assign %x (load (lanes [2] %v)))"),
        ("w = v.hi.xyx;", "(assign %w (load (lanes [2, 3, 2] %v)))"),
        ("v = (float4)(v.xy, 1, x);", "(assign %v (vector float4 (load (lanes [0, 1] %v)) float:1.0 (load %x)))"),
        ("r = (int4)a;", "(assign %r (splat int4 (load %a)))"),
        ("r = (int4)t;", "(assign %r (splat int4 (negate (to int (load %t)))))"),
    ]);
}

#[test]
fn pointers_and_casts() {
    compare(&[
        ("u = (uchar4)(1, 2, 3, 4);", "(assign %u uchar4:<1 2 3 4>)"),
        ("p = g;", "(assign %p (space-to *const generic int (load %g)))"),
        ("a = p == 0;", "(assign %a (equal (load %p) *const generic int:0))"),
        ("g = a ? g : 0;", "(assign %g (cond (to bool (load %a)) (load %g) *global int:0))"),
        ("a = (int)x;", "(assign %a (to int (load %x)))"),
        ("l = (long)g;", "(assign %l (to long (pointer-to-integer ulong (load %g))))"),
        ("a = sizeof(v) + 1;", "(assign %a int:17)"),
        ("a = 'a' + (3 > 2 ? 4 : 5);", "(assign %a int:101)"),
        (
            "x = max(x, 1.0f) + dot(v, v);",
            "(assign %x (add (builtin float Ext(97) (load %x) float:1.0) (builtin float Dot (load %v) (load %v))))",
        ),
        ("r = convert_int4(v);", "(assign %r (builtin int4 Convert { saturate: false, rounding: None } (load %v)))"),
        ("a = as_int(x);", "(assign %a (bits int (load %x)))"),
        (
            "a = a ?: 3;",
            "(assign %a (comma (discard void (init %14 (load %a))) (cond (to bool (load %14)) (load %14) int:3)))",
        ),
        ("(a, b);", "(comma (discard void (load %a)) (load %b))"),
    ]);
}
