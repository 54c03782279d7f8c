//! Constant expressions: each operation in its own type.

use super::expect_tree;
use crate::options::Version::V2_0;

/// Checks values: pairs of a declaration's type and expression, and the value as the tree prints it.
fn values(list: &[(&str, &str, &str)]) {
    let mut source = String::new();
    let mut expected = String::new();
    for (index, (ty, expression, value)) in list.iter().enumerate() {
        source += &format!("constant {ty} x{index} = {expression};\n");
        expected += &format!("(global @x{index} constant {ty} {value})\n");
    }
    expect_tree(V2_0, &source, &expected);
}

#[test]
fn integers_wrap_in_their_width() {
    values(&[
        ("char", "(char)300", "44"),
        ("uchar", "(uchar)-1", "255"),
        ("int", "0x7fffffff + 1", "-2147483648"),
        ("uint", "0u - 1", "4294967295"),
        ("long", "1L << 63", "-9223372036854775808"),
        ("ulong", "~0UL", "18446744073709551615"),
        ("int", "-7 / 2", "-3"),
        ("int", "-7 % 2", "-1"),
        ("int", "-8 >> 1", "-4"),
        ("uint", "0xfffffff8u >> 1", "2147483644"),
        ("int", "1 << 33", "2"),
        ("short", "(short)(1 << 15)", "-32768"),
        ("int", "3 > 2 && 1 || 0", "1"),
        ("int", "0 && 1 / 0", "0"),
        ("int", "1 ? 2 : 1 / 0", "2"),
        ("int", "-1 < 0u", "0"),
        ("bool", "5", "1"),
    ]);
}

#[test]
fn floats_round_in_their_type() {
    values(&[
        ("float", "0.1f + 0.2f", "0.3"),
        ("double", "0.1 + 0.2", "0.30000000000000004"),
        ("float", "16777216.0f + 1.0f", "16777216.0"),
        ("half", "(half)2049", "2048.0"),
        ("half", "(half)65520.0f", "inf"),
        ("half", "(half)65519.99", "65504.0"),
        ("half", "(half)0.1f * (half)3.0f", "0.2998047"),
        ("half", "(half)1e-8", "0.0"),
        ("half", "(half)5e-8", "5.9604645e-8"),
        ("float", "1.0f / 3.0f", "0.33333334"),
        ("float", "1.0f / 0.0f", "inf"),
        ("float", "16777217", "16777216.0"),
        ("float", "(float)0xffffffffffffffffUL", "1.8446744e19"),
        ("int", "(int)-2.9f", "-2"),
        ("uchar", "(uchar)255.9f", "255"),
        ("int", "1e20f", "2147483647"),
        ("int", "0.5f == 0.5", "1"),
        ("double", "(double)0.1f", "0.10000000149011612"),
    ]);
}

#[test]
fn vectors_are_computed_by_lanes() {
    values(&[
        ("int4", "(int4)(1, 2, 3, 4) + 1", "<2 3 4 5>"),
        ("int4", "(int4)(1, 2, 3, 4) > 2", "<0 0 -1 -1>"),
        ("float2", "((float2)(1.0f, 2.0f)).yx", "<2.0 1.0>"),
        ("int", "((int4)(1, 2, 3, 4)).z", "3"),
        ("uchar4", "as_uchar4(0x04030201)", "<1 2 3 4>"),
        ("int", "as_int(1.0f)", "1065353216"),
        ("float4", "(float4)(1.0f)", "<1.0 1.0 1.0 1.0>"),
        ("int4", "(int4)((int2)(1, 2), 3, 4)", "<1 2 3 4>"),
        ("int2", "!(int2)(0, 5)", "<-1 0>"),
    ]);
}

#[test]
fn constant_objects_are_read() {
    expect_tree(
        V2_0,
        "struct s { int a; int b[2]; }; constant struct s t = {1, {2, 3}}; constant int v[3] = {4, 5};
         constant int a = t.b[1]; constant int b = v[1] + v[2]; constant int4 w = (int4)(1, 2, 3, 4);
         constant int c = w.y; constant int d = *(v + 1); constant int e = sizeof(v) / sizeof(v[0]);",
        "(global @a constant int 3)
         (global @b constant int 5)
         (global @c constant int 2)
         (global @d constant int 5)
         (global @e constant int 3)",
    );
}
