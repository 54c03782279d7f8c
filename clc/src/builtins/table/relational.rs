//! Relational functions.

use spirv::Op;

use super::super::condition::When::Always;
use super::{ANY, GENTYPE, GENTYPEF, Group, SIGNED, ext, over, types};
use crate::builtins::Lowering::{Predicate, SignBits};
use crate::builtins::ext as std;

pub(super) const TABLE: &[Group] = &[
    over(
        Always,
        GENTYPEF,
        "R(T, T)",
        &[
            ("isequal", Predicate(Op::FOrdEqual)),
            ("isgreater", Predicate(Op::FOrdGreaterThan)),
            ("isgreaterequal", Predicate(Op::FOrdGreaterThanEqual)),
            ("isless", Predicate(Op::FOrdLessThan)),
            ("islessequal", Predicate(Op::FOrdLessThanEqual)),
            ("islessgreater", Predicate(Op::FOrdNotEqual)),
            ("isnotequal", Predicate(Op::FUnordNotEqual)),
            ("isordered", Predicate(Op::Ordered)),
            ("isunordered", Predicate(Op::Unordered)),
        ],
    ),
    over(
        Always,
        GENTYPEF,
        "R(T)",
        &[
            ("isfinite", Predicate(Op::IsFinite)),
            ("isinf", Predicate(Op::IsInf)),
            ("isnan", Predicate(Op::IsNan)),
            ("isnormal", Predicate(Op::IsNormal)),
            ("signbit", Predicate(Op::SignBitSet)),
        ],
    ),
    over(Always, types(SIGNED, ANY), "int(T)", &[("all", SignBits(Op::All)), ("any", SignBits(Op::Any))]),
    over(Always, GENTYPE, "T(T, T, T)", &[("bitselect", ext(std::BITSELECT))]),
    over(Always, GENTYPE, "T(T, T, I)", &[("select", ext(std::SELECT))]),
    over(Always, GENTYPE, "T(T, T, U)", &[("select", ext(std::SELECT))]),
];
