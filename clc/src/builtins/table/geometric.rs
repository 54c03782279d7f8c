//! Geometric functions.

use super::super::condition::When::Always;
use super::{FLOATS, Group, Types, ext, over, types};
use crate::builtins::Lowering;
use crate::builtins::ext as std;
use crate::types::Scalar;

const POINTS: Types = types(FLOATS, &[1, 2, 3, 4]);
const FLOAT_POINTS: Types = types(&[Scalar::Float], &[1, 2, 3, 4]);
const SPACE: Types = types(FLOATS, &[3, 4]);

pub(super) const TABLE: &[Group] = &[
    over(Always, SPACE, "T(T, T)", &[("cross", ext(std::CROSS))]),
    over(Always, POINTS, "S(T, T)", &[("distance", ext(std::DISTANCE)), ("dot", Lowering::Dot)]),
    over(Always, POINTS, "S(T)", &[("length", ext(std::LENGTH))]),
    over(Always, POINTS, "T(T)", &[("normalize", ext(std::NORMALIZE))]),
    over(Always, FLOAT_POINTS, "S(T, T)", &[("fast_distance", ext(std::FAST_DISTANCE))]),
    over(Always, FLOAT_POINTS, "S(T)", &[("fast_length", ext(std::FAST_LENGTH))]),
    over(Always, FLOAT_POINTS, "T(T)", &[("fast_normalize", ext(std::FAST_NORMALIZE))]),
];
