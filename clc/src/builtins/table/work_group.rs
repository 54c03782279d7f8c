//! Collective functions of work-groups.

use spirv::{GroupOperation, Op, Scope};

use super::super::condition::When;
use super::{FLOATS, Group, SCALAR, Types, over, plain, types};
use crate::builtins::GroupOperator::{self, Add, And, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Mul, Or, Xor};
use crate::builtins::Lowering::{self, Broadcast, GroupArithmetic, Vote};
use crate::types::Scalar;

const COLLECTIVE: When = When::Feature("__opencl_c_work_group_collective_functions");
const ARITHMETIC: When = When::Extension("cl_khr_work_group_uniform_arithmetic");

const GENTYPE: Types = types(
    &[Scalar::Int, Scalar::UInt, Scalar::Long, Scalar::ULong, Scalar::Float, Scalar::Double, Scalar::Half],
    SCALAR,
);
const INTEGERS: Types = types(&[Scalar::Int, Scalar::UInt, Scalar::Long, Scalar::ULong], SCALAR);
const FLOATING: Types = types(FLOATS, SCALAR);

const fn arithmetic(how: GroupOperation, operator: GroupOperator) -> Lowering {
    GroupArithmetic { scope: Scope::Workgroup, uniform: true, how, operator }
}

const fn reduce(operator: GroupOperator) -> Lowering {
    arithmetic(GroupOperation::Reduce, operator)
}

const fn inclusive(operator: GroupOperator) -> Lowering {
    arithmetic(GroupOperation::InclusiveScan, operator)
}

const fn exclusive(operator: GroupOperator) -> Lowering {
    arithmetic(GroupOperation::ExclusiveScan, operator)
}

const MULTIPLICATIONS: &[(&str, Lowering)] = &[
    ("work_group_reduce_mul", reduce(Mul)),
    ("work_group_scan_exclusive_mul", exclusive(Mul)),
    ("work_group_scan_inclusive_mul", inclusive(Mul)),
];

pub(super) const TABLE: &[Group] = &[
    plain(
        COLLECTIVE,
        "int(int)",
        &[
            ("work_group_all", Vote(Op::GroupAll, Scope::Workgroup)),
            ("work_group_any", Vote(Op::GroupAny, Scope::Workgroup)),
        ],
    ),
    over(COLLECTIVE, GENTYPE, "T(T, size_t)", &[("work_group_broadcast", Broadcast(Scope::Workgroup))]),
    over(COLLECTIVE, GENTYPE, "T(T, size_t, size_t)", &[("work_group_broadcast", Broadcast(Scope::Workgroup))]),
    over(COLLECTIVE, GENTYPE, "T(T, size_t, size_t, size_t)", &[("work_group_broadcast", Broadcast(Scope::Workgroup))]),
    over(
        COLLECTIVE,
        GENTYPE,
        "T(T)",
        &[
            ("work_group_reduce_add", reduce(Add)),
            ("work_group_reduce_max", reduce(Max)),
            ("work_group_reduce_min", reduce(Min)),
            ("work_group_scan_exclusive_add", exclusive(Add)),
            ("work_group_scan_exclusive_max", exclusive(Max)),
            ("work_group_scan_exclusive_min", exclusive(Min)),
            ("work_group_scan_inclusive_add", inclusive(Add)),
            ("work_group_scan_inclusive_max", inclusive(Max)),
            ("work_group_scan_inclusive_min", inclusive(Min)),
        ],
    ),
    over(ARITHMETIC, INTEGERS, "T(T)", MULTIPLICATIONS),
    over(ARITHMETIC, FLOATING, "T(T)", MULTIPLICATIONS),
    over(
        ARITHMETIC,
        INTEGERS,
        "T(T)",
        &[
            ("work_group_reduce_and", reduce(And)),
            ("work_group_reduce_or", reduce(Or)),
            ("work_group_reduce_xor", reduce(Xor)),
            ("work_group_scan_exclusive_and", exclusive(And)),
            ("work_group_scan_exclusive_or", exclusive(Or)),
            ("work_group_scan_exclusive_xor", exclusive(Xor)),
            ("work_group_scan_inclusive_and", inclusive(And)),
            ("work_group_scan_inclusive_or", inclusive(Or)),
            ("work_group_scan_inclusive_xor", inclusive(Xor)),
        ],
    ),
    plain(
        ARITHMETIC,
        "int(int)",
        &[
            ("work_group_reduce_logical_and", reduce(LogicalAnd)),
            ("work_group_reduce_logical_or", reduce(LogicalOr)),
            ("work_group_reduce_logical_xor", reduce(LogicalXor)),
            ("work_group_scan_exclusive_logical_and", exclusive(LogicalAnd)),
            ("work_group_scan_exclusive_logical_or", exclusive(LogicalOr)),
            ("work_group_scan_exclusive_logical_xor", exclusive(LogicalXor)),
            ("work_group_scan_inclusive_logical_and", inclusive(LogicalAnd)),
            ("work_group_scan_inclusive_logical_or", inclusive(LogicalOr)),
            ("work_group_scan_inclusive_logical_xor", inclusive(LogicalXor)),
        ],
    ),
];
