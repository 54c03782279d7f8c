//! `cl_khr_extended_bit_ops`, part of OpenCL C 3.1.

use spirv::Op;

use super::super::condition::When;
use super::{GENTYPEI, Group, V3_1, over};
use crate::builtins::Lowering::BitField;

const BITS: When = When::Any(&[When::Extension("cl_khr_extended_bit_ops"), V3_1]);

pub(super) const TABLE: &[Group] = &[
    over(BITS, GENTYPEI, "T(T, T, uint, uint)", &[("bitfield_insert", BitField(Op::BitFieldInsert))]),
    over(BITS, GENTYPEI, "I(T, uint, uint)", &[("bitfield_extract_signed", BitField(Op::BitFieldSExtract))]),
    over(BITS, GENTYPEI, "U(T, uint, uint)", &[("bitfield_extract_unsigned", BitField(Op::BitFieldUExtract))]),
    over(BITS, GENTYPEI, "T(T)", &[("bit_reverse", BitField(Op::BitReverse))]),
];
