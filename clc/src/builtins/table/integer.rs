//! Integer functions.

use super::super::condition::When::{self, Always};
use super::{ANY, GENTYPEI, Group, Types, V1_2, V2_0, V3_1, VECTORI, by_sign, ext, over, plain, types};
use crate::builtins::ext as std;
use crate::builtins::{ByteDot, Lowering};
use crate::types::Scalar;

/// Types of the functions of 24-bit integers.
const GENTYPE24: Types = types(&[Scalar::Int, Scalar::UInt], ANY);
/// Integers that have a type of twice the size.
const NARROW: Types =
    types(&[Scalar::Char, Scalar::UChar, Scalar::Short, Scalar::UShort, Scalar::Int, Scalar::UInt], ANY);

/// Dot products of vectors.
const BYTES: When = When::Feature("__opencl_c_integer_dot_product_input_4x8bit");
/// Dot products of integers that hold four bytes. Required by OpenCL C 3.1.
const PACKED: When = When::Any(&[When::Feature("__opencl_c_integer_dot_product_input_4x8bit_packed"), V3_1]);

const fn dot(first: bool, second: bool) -> Lowering {
    Lowering::ByteDot(ByteDot { signed: [first, second], packed: false, accumulate: false })
}

const fn accumulating(first: bool, second: bool) -> Lowering {
    Lowering::ByteDot(ByteDot { signed: [first, second], packed: false, accumulate: true })
}

const fn packed(first: bool, second: bool, accumulate: bool) -> Lowering {
    Lowering::ByteDot(ByteDot { signed: [first, second], packed: true, accumulate })
}

pub(super) const TABLE: &[Group] = &[
    over(Always, GENTYPEI, "U(T)", &[("abs", by_sign(std::S_ABS, std::U_ABS))]),
    over(Always, GENTYPEI, "U(T, T)", &[("abs_diff", by_sign(std::S_ABS_DIFF, std::U_ABS_DIFF))]),
    over(
        Always,
        GENTYPEI,
        "T(T, T)",
        &[
            ("add_sat", by_sign(std::S_ADD_SAT, std::U_ADD_SAT)),
            ("hadd", by_sign(std::S_HADD, std::U_HADD)),
            ("max", by_sign(std::S_MAX, std::U_MAX)),
            ("min", by_sign(std::S_MIN, std::U_MIN)),
            ("mul_hi", by_sign(std::S_MUL_HI, std::U_MUL_HI)),
            ("rhadd", by_sign(std::S_RHADD, std::U_RHADD)),
            ("rotate", ext(std::ROTATE)),
            ("sub_sat", by_sign(std::S_SUB_SAT, std::U_SUB_SAT)),
        ],
    ),
    over(
        Always,
        VECTORI,
        "T(T, S)",
        &[("max", by_sign(std::S_MAX, std::U_MAX)), ("min", by_sign(std::S_MIN, std::U_MIN))],
    ),
    over(
        Always,
        GENTYPEI,
        "T(T, T, T)",
        &[
            ("clamp", by_sign(std::S_CLAMP, std::U_CLAMP)),
            ("mad_hi", by_sign(std::S_MAD_HI, std::U_MAD_HI)),
            ("mad_sat", by_sign(std::S_MAD_SAT, std::U_MAD_SAT)),
        ],
    ),
    over(Always, VECTORI, "T(T, S, S)", &[("clamp", by_sign(std::S_CLAMP, std::U_CLAMP))]),
    over(Always, GENTYPEI, "T(T)", &[("clz", ext(std::CLZ))]),
    over(V1_2, GENTYPEI, "T(T)", &[("popcount", ext(std::POPCOUNT))]),
    over(V2_0, GENTYPEI, "T(T)", &[("ctz", ext(std::CTZ))]),
    over(Always, NARROW, "W(T, U)", &[("upsample", by_sign(std::S_UPSAMPLE, std::U_UPSAMPLE))]),
    over(Always, GENTYPE24, "T(T, T, T)", &[("mad24", by_sign(std::S_MAD24, std::U_MAD24))]),
    over(Always, GENTYPE24, "T(T, T)", &[("mul24", by_sign(std::S_MUL24, std::U_MUL24))]),
    plain(BYTES, "uint(uchar4, uchar4)", &[("dot", dot(false, false))]),
    plain(BYTES, "int(char4, char4)", &[("dot", dot(true, true))]),
    plain(BYTES, "int(uchar4, char4)", &[("dot", dot(false, true))]),
    plain(BYTES, "int(char4, uchar4)", &[("dot", dot(true, false))]),
    plain(BYTES, "uint(uchar4, uchar4, uint)", &[("dot_acc_sat", accumulating(false, false))]),
    plain(BYTES, "int(char4, char4, int)", &[("dot_acc_sat", accumulating(true, true))]),
    plain(BYTES, "int(uchar4, char4, int)", &[("dot_acc_sat", accumulating(false, true))]),
    plain(BYTES, "int(char4, uchar4, int)", &[("dot_acc_sat", accumulating(true, false))]),
    plain(PACKED, "uint(uint, uint)", &[("dot_4x8packed_uu_uint", packed(false, false, false))]),
    plain(
        PACKED,
        "int(uint, uint)",
        &[
            ("dot_4x8packed_ss_int", packed(true, true, false)),
            ("dot_4x8packed_us_int", packed(false, true, false)),
            ("dot_4x8packed_su_int", packed(true, false, false)),
        ],
    ),
    plain(PACKED, "uint(uint, uint, uint)", &[("dot_acc_sat_4x8packed_uu_uint", packed(false, false, true))]),
    plain(
        PACKED,
        "int(uint, uint, int)",
        &[
            ("dot_acc_sat_4x8packed_ss_int", packed(true, true, true)),
            ("dot_acc_sat_4x8packed_us_int", packed(false, true, true)),
            ("dot_acc_sat_4x8packed_su_int", packed(true, false, true)),
        ],
    ),
];
