//! Vectors in memory: `vload` and `vstore`, and halves.

use spirv::FPRoundingMode::{RTE, RTN, RTP, RTZ};

use super::super::condition::When::Always;
use super::{Group, NUMBERS, Types, ext, over, types};
use crate::builtins::Lowering::{ExtLanes, ExtRounding};
use crate::builtins::ext as std;
use crate::types::Scalar;

/// What becomes a half.
const WIDE: &[Scalar] = &[Scalar::Float, Scalar::Double];
/// What a half becomes.
const FLOAT: &[Scalar] = &[Scalar::Float];

const fn vectors(lanes: &'static [u8]) -> Types {
    types(NUMBERS, lanes)
}

pub(super) const TABLE: &[Group] = &[
    over(Always, vectors(&[2]), "T(size_t, const all S*)", &[("vload2", ExtLanes(std::VLOADN))]),
    over(Always, vectors(&[3]), "T(size_t, const all S*)", &[("vload3", ExtLanes(std::VLOADN))]),
    over(Always, vectors(&[4]), "T(size_t, const all S*)", &[("vload4", ExtLanes(std::VLOADN))]),
    over(Always, vectors(&[8]), "T(size_t, const all S*)", &[("vload8", ExtLanes(std::VLOADN))]),
    over(Always, vectors(&[16]), "T(size_t, const all S*)", &[("vload16", ExtLanes(std::VLOADN))]),
    over(Always, vectors(&[2]), "void(T, size_t, any S*)", &[("vstore2", ext(std::VSTOREN))]),
    over(Always, vectors(&[3]), "void(T, size_t, any S*)", &[("vstore3", ext(std::VSTOREN))]),
    over(Always, vectors(&[4]), "void(T, size_t, any S*)", &[("vstore4", ext(std::VSTOREN))]),
    over(Always, vectors(&[8]), "void(T, size_t, any S*)", &[("vstore8", ext(std::VSTOREN))]),
    over(Always, vectors(&[16]), "void(T, size_t, any S*)", &[("vstore16", ext(std::VSTOREN))]),
    over(Always, types(FLOAT, &[1]), "T(size_t, const all half*)", &[("vload_half", ext(std::VLOAD_HALF))]),
    over(
        Always,
        types(FLOAT, &[2]),
        "T(size_t, const all half*)",
        &[("vload_half2", ExtLanes(std::VLOAD_HALFN)), ("vloada_half2", ExtLanes(std::VLOADA_HALFN))],
    ),
    over(
        Always,
        types(FLOAT, &[3]),
        "T(size_t, const all half*)",
        &[("vload_half3", ExtLanes(std::VLOAD_HALFN)), ("vloada_half3", ExtLanes(std::VLOADA_HALFN))],
    ),
    over(
        Always,
        types(FLOAT, &[4]),
        "T(size_t, const all half*)",
        &[("vload_half4", ExtLanes(std::VLOAD_HALFN)), ("vloada_half4", ExtLanes(std::VLOADA_HALFN))],
    ),
    over(
        Always,
        types(FLOAT, &[8]),
        "T(size_t, const all half*)",
        &[("vload_half8", ExtLanes(std::VLOAD_HALFN)), ("vloada_half8", ExtLanes(std::VLOADA_HALFN))],
    ),
    over(
        Always,
        types(FLOAT, &[16]),
        "T(size_t, const all half*)",
        &[("vload_half16", ExtLanes(std::VLOAD_HALFN)), ("vloada_half16", ExtLanes(std::VLOADA_HALFN))],
    ),
    over(
        Always,
        types(WIDE, &[1]),
        "void(T, size_t, any half*)",
        &[
            ("vstore_half", ext(std::VSTORE_HALF)),
            ("vstore_half_rte", ExtRounding(std::VSTORE_HALF_R, RTE)),
            ("vstore_half_rtn", ExtRounding(std::VSTORE_HALF_R, RTN)),
            ("vstore_half_rtp", ExtRounding(std::VSTORE_HALF_R, RTP)),
            ("vstore_half_rtz", ExtRounding(std::VSTORE_HALF_R, RTZ)),
        ],
    ),
    over(
        Always,
        types(WIDE, &[2]),
        "void(T, size_t, any half*)",
        &[
            ("vstore_half2", ext(std::VSTORE_HALFN)),
            ("vstore_half2_rte", ExtRounding(std::VSTORE_HALFN_R, RTE)),
            ("vstore_half2_rtn", ExtRounding(std::VSTORE_HALFN_R, RTN)),
            ("vstore_half2_rtp", ExtRounding(std::VSTORE_HALFN_R, RTP)),
            ("vstore_half2_rtz", ExtRounding(std::VSTORE_HALFN_R, RTZ)),
            ("vstorea_half2", ext(std::VSTOREA_HALFN)),
            ("vstorea_half2_rte", ExtRounding(std::VSTOREA_HALFN_R, RTE)),
            ("vstorea_half2_rtn", ExtRounding(std::VSTOREA_HALFN_R, RTN)),
            ("vstorea_half2_rtp", ExtRounding(std::VSTOREA_HALFN_R, RTP)),
            ("vstorea_half2_rtz", ExtRounding(std::VSTOREA_HALFN_R, RTZ)),
        ],
    ),
    over(
        Always,
        types(WIDE, &[3]),
        "void(T, size_t, any half*)",
        &[
            ("vstore_half3", ext(std::VSTORE_HALFN)),
            ("vstore_half3_rte", ExtRounding(std::VSTORE_HALFN_R, RTE)),
            ("vstore_half3_rtn", ExtRounding(std::VSTORE_HALFN_R, RTN)),
            ("vstore_half3_rtp", ExtRounding(std::VSTORE_HALFN_R, RTP)),
            ("vstore_half3_rtz", ExtRounding(std::VSTORE_HALFN_R, RTZ)),
            ("vstorea_half3", ext(std::VSTOREA_HALFN)),
            ("vstorea_half3_rte", ExtRounding(std::VSTOREA_HALFN_R, RTE)),
            ("vstorea_half3_rtn", ExtRounding(std::VSTOREA_HALFN_R, RTN)),
            ("vstorea_half3_rtp", ExtRounding(std::VSTOREA_HALFN_R, RTP)),
            ("vstorea_half3_rtz", ExtRounding(std::VSTOREA_HALFN_R, RTZ)),
        ],
    ),
    over(
        Always,
        types(WIDE, &[4]),
        "void(T, size_t, any half*)",
        &[
            ("vstore_half4", ext(std::VSTORE_HALFN)),
            ("vstore_half4_rte", ExtRounding(std::VSTORE_HALFN_R, RTE)),
            ("vstore_half4_rtn", ExtRounding(std::VSTORE_HALFN_R, RTN)),
            ("vstore_half4_rtp", ExtRounding(std::VSTORE_HALFN_R, RTP)),
            ("vstore_half4_rtz", ExtRounding(std::VSTORE_HALFN_R, RTZ)),
            ("vstorea_half4", ext(std::VSTOREA_HALFN)),
            ("vstorea_half4_rte", ExtRounding(std::VSTOREA_HALFN_R, RTE)),
            ("vstorea_half4_rtn", ExtRounding(std::VSTOREA_HALFN_R, RTN)),
            ("vstorea_half4_rtp", ExtRounding(std::VSTOREA_HALFN_R, RTP)),
            ("vstorea_half4_rtz", ExtRounding(std::VSTOREA_HALFN_R, RTZ)),
        ],
    ),
    over(
        Always,
        types(WIDE, &[8]),
        "void(T, size_t, any half*)",
        &[
            ("vstore_half8", ext(std::VSTORE_HALFN)),
            ("vstore_half8_rte", ExtRounding(std::VSTORE_HALFN_R, RTE)),
            ("vstore_half8_rtn", ExtRounding(std::VSTORE_HALFN_R, RTN)),
            ("vstore_half8_rtp", ExtRounding(std::VSTORE_HALFN_R, RTP)),
            ("vstore_half8_rtz", ExtRounding(std::VSTORE_HALFN_R, RTZ)),
            ("vstorea_half8", ext(std::VSTOREA_HALFN)),
            ("vstorea_half8_rte", ExtRounding(std::VSTOREA_HALFN_R, RTE)),
            ("vstorea_half8_rtn", ExtRounding(std::VSTOREA_HALFN_R, RTN)),
            ("vstorea_half8_rtp", ExtRounding(std::VSTOREA_HALFN_R, RTP)),
            ("vstorea_half8_rtz", ExtRounding(std::VSTOREA_HALFN_R, RTZ)),
        ],
    ),
    over(
        Always,
        types(WIDE, &[16]),
        "void(T, size_t, any half*)",
        &[
            ("vstore_half16", ext(std::VSTORE_HALFN)),
            ("vstore_half16_rte", ExtRounding(std::VSTORE_HALFN_R, RTE)),
            ("vstore_half16_rtn", ExtRounding(std::VSTORE_HALFN_R, RTN)),
            ("vstore_half16_rtp", ExtRounding(std::VSTORE_HALFN_R, RTP)),
            ("vstore_half16_rtz", ExtRounding(std::VSTORE_HALFN_R, RTZ)),
            ("vstorea_half16", ext(std::VSTOREA_HALFN)),
            ("vstorea_half16_rte", ExtRounding(std::VSTOREA_HALFN_R, RTE)),
            ("vstorea_half16_rtn", ExtRounding(std::VSTOREA_HALFN_R, RTN)),
            ("vstorea_half16_rtp", ExtRounding(std::VSTOREA_HALFN_R, RTP)),
            ("vstorea_half16_rtz", ExtRounding(std::VSTOREA_HALFN_R, RTZ)),
        ],
    ),
];
