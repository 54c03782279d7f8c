//! Functions of sub-groups.

use spirv::{BuiltIn, GroupOperation, Op, Scope};

use super::super::condition::When::{self, All, Any, Extension};
use super::{Group, NUMBERS, SCALAR, SCALARS, Types, V2_0, V3_1, VECTORS, over, plain, types};
use crate::builtins::GroupOperator::{self, Add, And, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Mul, Or, Xor};
use crate::builtins::Lowering::{
    self, BallotCount, Barrier, Broadcast, GroupArithmetic, NamedBarrier, SubGroup, Variable, Vote,
};
use crate::builtins::NamedBarrierOp;
use crate::types::Scalar;

const BASE: When = When::SubGroups;
const BASE_2_0: When = All(&[V2_0, When::SubGroups]);
const EXTENDED_TYPES: When = All(&[BASE, Any(&[Extension("cl_khr_subgroup_extended_types"), V3_1])]);
const VOTE: When = Extension("cl_khr_subgroup_non_uniform_vote");
const BALLOT: When = Extension("cl_khr_subgroup_ballot");
const ARITHMETIC: When = Extension("cl_khr_subgroup_non_uniform_arithmetic");
const CLUSTERED: When = Extension("cl_khr_subgroup_clustered_reduce");
const SHUFFLE: When = Any(&[Extension("cl_khr_subgroup_shuffle"), V3_1]);
const RELATIVE: When = Any(&[Extension("cl_khr_subgroup_shuffle_relative"), V3_1]);
const ROTATE: When = Any(&[Extension("cl_khr_subgroup_rotate"), V3_1]);
const NAMED: When = Extension("cl_khr_subgroup_named_barrier");

const GENTYPE: Types = types(
    &[Scalar::Int, Scalar::UInt, Scalar::Long, Scalar::ULong, Scalar::Float, Scalar::Half, Scalar::Double],
    SCALAR,
);
const SHORT: Types = types(&[Scalar::Char, Scalar::UChar, Scalar::Short, Scalar::UShort], SCALAR);
const EVERY_VECTOR: Types = types(NUMBERS, VECTORS);
const INTEGERS: Types = types(super::INTEGERS, SCALAR);

type Functions = &'static [(&'static str, Lowering)];

const fn uniform(how: GroupOperation, operator: GroupOperator) -> Lowering {
    GroupArithmetic { scope: Scope::Subgroup, uniform: true, how, operator }
}

const fn non_uniform(how: GroupOperation, operator: GroupOperator) -> Lowering {
    GroupArithmetic { scope: Scope::Subgroup, uniform: false, how, operator }
}

const fn reduce(operator: GroupOperator) -> Lowering {
    non_uniform(GroupOperation::Reduce, operator)
}

const fn inclusive(operator: GroupOperator) -> Lowering {
    non_uniform(GroupOperation::InclusiveScan, operator)
}

const fn exclusive(operator: GroupOperator) -> Lowering {
    non_uniform(GroupOperation::ExclusiveScan, operator)
}

const fn clustered(operator: GroupOperator) -> Lowering {
    non_uniform(GroupOperation::ClusteredReduce, operator)
}

const UNIFORM: Functions = &[
    ("sub_group_reduce_add", uniform(GroupOperation::Reduce, Add)),
    ("sub_group_reduce_max", uniform(GroupOperation::Reduce, Max)),
    ("sub_group_reduce_min", uniform(GroupOperation::Reduce, Min)),
    ("sub_group_scan_exclusive_add", uniform(GroupOperation::ExclusiveScan, Add)),
    ("sub_group_scan_exclusive_max", uniform(GroupOperation::ExclusiveScan, Max)),
    ("sub_group_scan_exclusive_min", uniform(GroupOperation::ExclusiveScan, Min)),
    ("sub_group_scan_inclusive_add", uniform(GroupOperation::InclusiveScan, Add)),
    ("sub_group_scan_inclusive_max", uniform(GroupOperation::InclusiveScan, Max)),
    ("sub_group_scan_inclusive_min", uniform(GroupOperation::InclusiveScan, Min)),
];

const BROADCAST: Functions = &[("sub_group_broadcast", Broadcast(Scope::Subgroup))];

pub(super) const TABLE: &[Group] = &[
    plain(
        BASE,
        "uint()",
        &[
            ("get_max_sub_group_size", Variable(BuiltIn::SubgroupMaxSize)),
            ("get_num_sub_groups", Variable(BuiltIn::NumSubgroups)),
            ("get_sub_group_id", Variable(BuiltIn::SubgroupId)),
            ("get_sub_group_local_id", Variable(BuiltIn::SubgroupLocalInvocationId)),
            ("get_sub_group_size", Variable(BuiltIn::SubgroupSize)),
        ],
    ),
    plain(BASE_2_0, "uint()", &[("get_enqueued_num_sub_groups", Variable(BuiltIn::NumEnqueuedSubgroups))]),
    plain(BASE, "void(cl_mem_fence_flags)", &[("sub_group_barrier", Barrier(Scope::Subgroup))]),
    plain(BASE_2_0, "void(cl_mem_fence_flags, memory_scope)", &[("sub_group_barrier", Barrier(Scope::Subgroup))]),
    plain(
        BASE,
        "int(int)",
        &[
            ("sub_group_all", Vote(Op::GroupAll, Scope::Subgroup)),
            ("sub_group_any", Vote(Op::GroupAny, Scope::Subgroup)),
        ],
    ),
    over(BASE, GENTYPE, "T(T, uint)", BROADCAST),
    over(BASE, GENTYPE, "T(T)", UNIFORM),
    over(EXTENDED_TYPES, SHORT, "T(T, uint)", BROADCAST),
    over(EXTENDED_TYPES, EVERY_VECTOR, "T(T, uint)", BROADCAST),
    over(EXTENDED_TYPES, SHORT, "T(T)", UNIFORM),
    plain(VOTE, "int()", &[("sub_group_elect", Vote(Op::GroupNonUniformElect, Scope::Subgroup))]),
    plain(
        VOTE,
        "int(int)",
        &[
            ("sub_group_non_uniform_all", Vote(Op::GroupNonUniformAll, Scope::Subgroup)),
            ("sub_group_non_uniform_any", Vote(Op::GroupNonUniformAny, Scope::Subgroup)),
        ],
    ),
    over(
        VOTE,
        SCALARS,
        "int(T)",
        &[("sub_group_non_uniform_all_equal", Vote(Op::GroupNonUniformAllEqual, Scope::Subgroup))],
    ),
    over(
        BALLOT,
        types(NUMBERS, super::ANY),
        "T(T, uint)",
        &[("sub_group_non_uniform_broadcast", SubGroup(Op::GroupNonUniformBroadcast))],
    ),
    over(BALLOT, SCALARS, "T(T)", &[("sub_group_broadcast_first", SubGroup(Op::GroupNonUniformBroadcastFirst))]),
    plain(BALLOT, "uint4(int)", &[("sub_group_ballot", Vote(Op::GroupNonUniformBallot, Scope::Subgroup))]),
    plain(
        BALLOT,
        "int(uint4)",
        &[("sub_group_inverse_ballot", Vote(Op::GroupNonUniformInverseBallot, Scope::Subgroup))],
    ),
    plain(
        BALLOT,
        "int(uint4, uint)",
        &[("sub_group_ballot_bit_extract", Vote(Op::GroupNonUniformBallotBitExtract, Scope::Subgroup))],
    ),
    plain(
        BALLOT,
        "uint(uint4)",
        &[
            ("sub_group_ballot_bit_count", BallotCount(GroupOperation::Reduce)),
            ("sub_group_ballot_exclusive_scan", BallotCount(GroupOperation::ExclusiveScan)),
            ("sub_group_ballot_find_lsb", SubGroup(Op::GroupNonUniformBallotFindLSB)),
            ("sub_group_ballot_find_msb", SubGroup(Op::GroupNonUniformBallotFindMSB)),
            ("sub_group_ballot_inclusive_scan", BallotCount(GroupOperation::InclusiveScan)),
        ],
    ),
    plain(
        BALLOT,
        "uint4()",
        &[
            ("get_sub_group_eq_mask", Variable(BuiltIn::SubgroupEqMask)),
            ("get_sub_group_ge_mask", Variable(BuiltIn::SubgroupGeMask)),
            ("get_sub_group_gt_mask", Variable(BuiltIn::SubgroupGtMask)),
            ("get_sub_group_le_mask", Variable(BuiltIn::SubgroupLeMask)),
            ("get_sub_group_lt_mask", Variable(BuiltIn::SubgroupLtMask)),
        ],
    ),
    over(
        ARITHMETIC,
        SCALARS,
        "T(T)",
        &[
            ("sub_group_non_uniform_reduce_add", reduce(Add)),
            ("sub_group_non_uniform_reduce_max", reduce(Max)),
            ("sub_group_non_uniform_reduce_min", reduce(Min)),
            ("sub_group_non_uniform_reduce_mul", reduce(Mul)),
            ("sub_group_non_uniform_scan_exclusive_add", exclusive(Add)),
            ("sub_group_non_uniform_scan_exclusive_max", exclusive(Max)),
            ("sub_group_non_uniform_scan_exclusive_min", exclusive(Min)),
            ("sub_group_non_uniform_scan_exclusive_mul", exclusive(Mul)),
            ("sub_group_non_uniform_scan_inclusive_add", inclusive(Add)),
            ("sub_group_non_uniform_scan_inclusive_max", inclusive(Max)),
            ("sub_group_non_uniform_scan_inclusive_min", inclusive(Min)),
            ("sub_group_non_uniform_scan_inclusive_mul", inclusive(Mul)),
        ],
    ),
    over(
        ARITHMETIC,
        INTEGERS,
        "T(T)",
        &[
            ("sub_group_non_uniform_reduce_and", reduce(And)),
            ("sub_group_non_uniform_reduce_or", reduce(Or)),
            ("sub_group_non_uniform_reduce_xor", reduce(Xor)),
            ("sub_group_non_uniform_scan_exclusive_and", exclusive(And)),
            ("sub_group_non_uniform_scan_exclusive_or", exclusive(Or)),
            ("sub_group_non_uniform_scan_exclusive_xor", exclusive(Xor)),
            ("sub_group_non_uniform_scan_inclusive_and", inclusive(And)),
            ("sub_group_non_uniform_scan_inclusive_or", inclusive(Or)),
            ("sub_group_non_uniform_scan_inclusive_xor", inclusive(Xor)),
        ],
    ),
    plain(
        ARITHMETIC,
        "int(int)",
        &[
            ("sub_group_non_uniform_reduce_logical_and", reduce(LogicalAnd)),
            ("sub_group_non_uniform_reduce_logical_or", reduce(LogicalOr)),
            ("sub_group_non_uniform_reduce_logical_xor", reduce(LogicalXor)),
            ("sub_group_non_uniform_scan_exclusive_logical_and", exclusive(LogicalAnd)),
            ("sub_group_non_uniform_scan_exclusive_logical_or", exclusive(LogicalOr)),
            ("sub_group_non_uniform_scan_exclusive_logical_xor", exclusive(LogicalXor)),
            ("sub_group_non_uniform_scan_inclusive_logical_and", inclusive(LogicalAnd)),
            ("sub_group_non_uniform_scan_inclusive_logical_or", inclusive(LogicalOr)),
            ("sub_group_non_uniform_scan_inclusive_logical_xor", inclusive(LogicalXor)),
        ],
    ),
    over(
        CLUSTERED,
        SCALARS,
        "T(T, uint)",
        &[
            ("sub_group_clustered_reduce_add", clustered(Add)),
            ("sub_group_clustered_reduce_max", clustered(Max)),
            ("sub_group_clustered_reduce_min", clustered(Min)),
            ("sub_group_clustered_reduce_mul", clustered(Mul)),
        ],
    ),
    over(
        CLUSTERED,
        INTEGERS,
        "T(T, uint)",
        &[
            ("sub_group_clustered_reduce_and", clustered(And)),
            ("sub_group_clustered_reduce_or", clustered(Or)),
            ("sub_group_clustered_reduce_xor", clustered(Xor)),
        ],
    ),
    plain(
        CLUSTERED,
        "int(int, uint)",
        &[
            ("sub_group_clustered_reduce_logical_and", clustered(LogicalAnd)),
            ("sub_group_clustered_reduce_logical_or", clustered(LogicalOr)),
            ("sub_group_clustered_reduce_logical_xor", clustered(LogicalXor)),
        ],
    ),
    over(
        SHUFFLE,
        SCALARS,
        "T(T, uint)",
        &[
            ("sub_group_shuffle", SubGroup(Op::GroupNonUniformShuffle)),
            ("sub_group_shuffle_xor", SubGroup(Op::GroupNonUniformShuffleXor)),
        ],
    ),
    over(
        RELATIVE,
        SCALARS,
        "T(T, uint)",
        &[
            ("sub_group_shuffle_down", SubGroup(Op::GroupNonUniformShuffleDown)),
            ("sub_group_shuffle_up", SubGroup(Op::GroupNonUniformShuffleUp)),
        ],
    ),
    over(ROTATE, SCALARS, "T(T, int)", &[("sub_group_rotate", SubGroup(Op::GroupNonUniformRotateKHR))]),
    over(ROTATE, SCALARS, "T(T, int, uint)", &[("sub_group_clustered_rotate", SubGroup(Op::GroupNonUniformRotateKHR))]),
    plain(NAMED, "named_barrier_t(int)", &[("named_barrier_init", NamedBarrier(NamedBarrierOp::Init))]),
    plain(
        NAMED,
        "void(named_barrier_t, cl_mem_fence_flags)",
        &[("work_group_named_barrier", NamedBarrier(NamedBarrierOp::Wait))],
    ),
    plain(
        NAMED,
        "void(named_barrier_t, cl_mem_fence_flags, memory_scope)",
        &[("work_group_named_barrier", NamedBarrier(NamedBarrierOp::Wait))],
    ),
];
