//! Functions of sub-groups that Intel's extensions add: shuffles, reads and writes of blocks.

use spirv::{GroupOperation, Op, Scope};

use super::super::condition::When::{self, Any, Extension};
use super::{ANY, Group, Images, SCALAR, Types, over, types};
use crate::builtins::GroupOperator::{self, Add, Max, Min};
use crate::builtins::Lowering::{self, Broadcast, GroupArithmetic, IntelSubGroup};
use crate::types::Access::{ReadOnly, ReadWrite, WriteOnly};
use crate::types::{Access, ImageShape, Scalar};

const INTS: When = Extension("cl_intel_subgroups");
const CHARS: When = Extension("cl_intel_subgroups_char");
const SHORTS: When = Extension("cl_intel_subgroups_short");
const LONGS: When = Extension("cl_intel_subgroups_long");
/// The names of the functions of `uint`s with a suffix.
const SUFFIXED: When = Any(&[CHARS, SHORTS, LONGS]);
/// Blocks in local memory.
const LOCAL: When = Extension("cl_intel_subgroup_local_block_io");

const READ: Lowering = IntelSubGroup(Op::SubgroupBlockReadINTEL);
const WRITE: Lowering = IntelSubGroup(Op::SubgroupBlockWriteINTEL);
const READ_IMAGE: Lowering = IntelSubGroup(Op::SubgroupImageBlockReadINTEL);
const WRITE_IMAGE: Lowering = IntelSubGroup(Op::SubgroupImageBlockWriteINTEL);

const SHUFFLES: Functions = &[
    ("intel_sub_group_shuffle", IntelSubGroup(Op::SubgroupShuffleINTEL)),
    ("intel_sub_group_shuffle_xor", IntelSubGroup(Op::SubgroupShuffleXorINTEL)),
];
const SHIFTS: Functions = &[
    ("intel_sub_group_shuffle_down", IntelSubGroup(Op::SubgroupShuffleDownINTEL)),
    ("intel_sub_group_shuffle_up", IntelSubGroup(Op::SubgroupShuffleUpINTEL)),
];

const WORDS: Types = types(&[Scalar::Int, Scalar::UInt, Scalar::Float], ANY);
const SCALAR_LONGS: Types = types(&[Scalar::Long, Scalar::ULong, Scalar::Half, Scalar::Double], SCALAR);
const CHAR_VECTORS: Types = types(&[Scalar::Char, Scalar::UChar], ANY);
const SHORT_VECTORS: Types = types(&[Scalar::Short, Scalar::UShort], ANY);
const CHAR: Types = types(&[Scalar::Char, Scalar::UChar], SCALAR);
const SHORT: Types = types(&[Scalar::Short, Scalar::UShort], SCALAR);

type Functions = &'static [(&'static str, Lowering)];

const fn uniform(how: GroupOperation, operator: GroupOperator) -> Lowering {
    GroupArithmetic { scope: Scope::Subgroup, uniform: true, how, operator }
}

const COLLECTIVES: Functions = &[
    ("intel_sub_group_reduce_add", uniform(GroupOperation::Reduce, Add)),
    ("intel_sub_group_reduce_max", uniform(GroupOperation::Reduce, Max)),
    ("intel_sub_group_reduce_min", uniform(GroupOperation::Reduce, Min)),
    ("intel_sub_group_scan_exclusive_add", uniform(GroupOperation::ExclusiveScan, Add)),
    ("intel_sub_group_scan_exclusive_max", uniform(GroupOperation::ExclusiveScan, Max)),
    ("intel_sub_group_scan_exclusive_min", uniform(GroupOperation::ExclusiveScan, Min)),
    ("intel_sub_group_scan_inclusive_add", uniform(GroupOperation::InclusiveScan, Add)),
    ("intel_sub_group_scan_inclusive_max", uniform(GroupOperation::InclusiveScan, Max)),
    ("intel_sub_group_scan_inclusive_min", uniform(GroupOperation::InclusiveScan, Min)),
];
const BROADCAST: Functions = &[("intel_sub_group_broadcast", Broadcast(Scope::Subgroup))];

pub(super) const TABLE: &[Group] = &[
    over(INTS, WORDS, "T(T, uint)", SHUFFLES),
    over(INTS, WORDS, "T(T, T, uint)", SHIFTS),
    over(INTS, SCALAR_LONGS, "T(T, uint)", SHUFFLES),
    over(INTS, SCALAR_LONGS, "T(T, T, uint)", SHIFTS),
    over(CHARS, CHAR_VECTORS, "T(T, uint)", SHUFFLES),
    over(CHARS, CHAR_VECTORS, "T(T, T, uint)", SHIFTS),
    over(SHORTS, SHORT_VECTORS, "T(T, uint)", SHUFFLES),
    over(SHORTS, SHORT_VECTORS, "T(T, T, uint)", SHIFTS),
    over(CHARS, CHAR, "T(T)", COLLECTIVES),
    over(CHARS, CHAR, "T(T, uint)", BROADCAST),
    over(SHORTS, SHORT, "T(T)", COLLECTIVES),
    over(SHORTS, SHORT, "T(T, uint)", BROADCAST),
];

const fn image(
    when: When,
    types: Types,
    accesses: &'static [Access],
    signature: &'static str,
    functions: Functions,
) -> Group {
    Group { when, types, images: Some(Images { shapes: &[ImageShape::Dim2], accesses }), signature, functions }
}

/// The functions that read and write blocks of one type and number of elements.
macro_rules! blocks {
    ($($when:expr, $scalar:ident, $lanes:literal, $read:literal, $write:literal;)*) => {
        &[$(
            over($when, types(&[Scalar::$scalar], &[$lanes]), "T(const global S*)", &[($read, READ)]),
            over($when, types(&[Scalar::$scalar], &[$lanes]), "void(global S*, T)", &[($write, WRITE)]),
            over(
                When::All(&[$when, LOCAL]),
                types(&[Scalar::$scalar], &[$lanes]),
                "T(const local S*)",
                &[($read, READ)],
            ),
            over(
                When::All(&[$when, LOCAL]),
                types(&[Scalar::$scalar], &[$lanes]),
                "void(local S*, T)",
                &[($write, WRITE)],
            ),
            image(
                $when,
                types(&[Scalar::$scalar], &[$lanes]),
                &[ReadOnly, ReadWrite],
                "T(image, int2)",
                &[($read, READ_IMAGE)],
            ),
            image(
                $when,
                types(&[Scalar::$scalar], &[$lanes]),
                &[WriteOnly, ReadWrite],
                "void(image, int2, T)",
                &[($write, WRITE_IMAGE)],
            ),
        )*]
    };
}

pub(super) const BLOCKS: &[Group] = blocks! {
    INTS, UInt, 1, "intel_sub_group_block_read", "intel_sub_group_block_write";
    INTS, UInt, 2, "intel_sub_group_block_read2", "intel_sub_group_block_write2";
    INTS, UInt, 4, "intel_sub_group_block_read4", "intel_sub_group_block_write4";
    INTS, UInt, 8, "intel_sub_group_block_read8", "intel_sub_group_block_write8";
    SUFFIXED, UInt, 1, "intel_sub_group_block_read_ui", "intel_sub_group_block_write_ui";
    SUFFIXED, UInt, 2, "intel_sub_group_block_read_ui2", "intel_sub_group_block_write_ui2";
    SUFFIXED, UInt, 4, "intel_sub_group_block_read_ui4", "intel_sub_group_block_write_ui4";
    SUFFIXED, UInt, 8, "intel_sub_group_block_read_ui8", "intel_sub_group_block_write_ui8";
    CHARS, UChar, 1, "intel_sub_group_block_read_uc", "intel_sub_group_block_write_uc";
    CHARS, UChar, 2, "intel_sub_group_block_read_uc2", "intel_sub_group_block_write_uc2";
    CHARS, UChar, 4, "intel_sub_group_block_read_uc4", "intel_sub_group_block_write_uc4";
    CHARS, UChar, 8, "intel_sub_group_block_read_uc8", "intel_sub_group_block_write_uc8";
    CHARS, UChar, 16, "intel_sub_group_block_read_uc16", "intel_sub_group_block_write_uc16";
    SHORTS, UShort, 1, "intel_sub_group_block_read_us", "intel_sub_group_block_write_us";
    SHORTS, UShort, 2, "intel_sub_group_block_read_us2", "intel_sub_group_block_write_us2";
    SHORTS, UShort, 4, "intel_sub_group_block_read_us4", "intel_sub_group_block_write_us4";
    SHORTS, UShort, 8, "intel_sub_group_block_read_us8", "intel_sub_group_block_write_us8";
    SHORTS, UShort, 16, "intel_sub_group_block_read_us16", "intel_sub_group_block_write_us16";
    LONGS, ULong, 1, "intel_sub_group_block_read_ul", "intel_sub_group_block_write_ul";
    LONGS, ULong, 2, "intel_sub_group_block_read_ul2", "intel_sub_group_block_write_ul2";
    LONGS, ULong, 4, "intel_sub_group_block_read_ul4", "intel_sub_group_block_write_ul4";
    LONGS, ULong, 8, "intel_sub_group_block_read_ul8", "intel_sub_group_block_write_ul8";
};
