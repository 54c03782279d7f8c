//! Common functions: of floats, in the range of ordinary values.

use super::super::condition::When::Always;
use super::{GENTYPEF, Group, VECTORF, ext, over};
use crate::builtins::ext as std;

pub(super) const TABLE: &[Group] = &[
    over(
        Always,
        GENTYPEF,
        "T(T)",
        &[("degrees", ext(std::DEGREES)), ("radians", ext(std::RADIANS)), ("sign", ext(std::SIGN))],
    ),
    over(
        Always,
        GENTYPEF,
        "T(T, T)",
        &[("max", ext(std::FMAX_COMMON)), ("min", ext(std::FMIN_COMMON)), ("step", ext(std::STEP))],
    ),
    over(Always, VECTORF, "T(T, S)", &[("max", ext(std::FMAX_COMMON)), ("min", ext(std::FMIN_COMMON))]),
    over(Always, VECTORF, "T(S, T)", &[("step", ext(std::STEP))]),
    over(
        Always,
        GENTYPEF,
        "T(T, T, T)",
        &[("clamp", ext(std::FCLAMP)), ("mix", ext(std::MIX)), ("smoothstep", ext(std::SMOOTHSTEP))],
    ),
    over(Always, VECTORF, "T(T, S, S)", &[("clamp", ext(std::FCLAMP))]),
    over(Always, VECTORF, "T(T, T, S)", &[("mix", ext(std::MIX))]),
    over(Always, VECTORF, "T(S, S, T)", &[("smoothstep", ext(std::SMOOTHSTEP))]),
];
