//! Shuffles of `SPV_INTEL_subgroups`, which SYCL compilers write. They have no scope operand, and up and down shuffles have two
//! values: they select from the concatenation of both values of the sub-group.

use clift_kir::{IntCond, Opcode, Type, Value};

use super::classes::ShuffleInst;
use super::collective::{exchanged, number};
use crate::spirv::lower::FuncCx;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: ShuffleInst) -> Result<(), InstError> {
    let own = cx.b.query_linear(Opcode::SubGroupLocalId);
    let value = match op {
        ShuffleInst::SubgroupShuffleINTEL => {
            let (value, from) = (exchanged(cx, inst.id(0)?)?, number(cx, inst.id(1)?)?);
            cx.b.group_shuffle(value, from)
        }
        ShuffleInst::SubgroupShuffleXorINTEL => {
            let (value, mask) = (exchanged(cx, inst.id(0)?)?, number(cx, inst.id(1)?)?);
            let from = cx.b.int2(Opcode::Xor, own, mask);
            cx.b.group_shuffle(value, from)
        }
        // The current value, then the next one.
        ShuffleInst::SubgroupShuffleDownINTEL => {
            let delta = number(cx, inst.id(2)?)?;
            let place = cx.b.int2(Opcode::Iadd, own, delta);
            of_two(cx, inst, place)?
        }
        // The previous value, then the current one.
        ShuffleInst::SubgroupShuffleUpINTEL => {
            let delta = number(cx, inst.id(2)?)?;
            let size = cx.b.query_linear(Opcode::MaxSubGroupSize);
            let place = cx.b.int2(Opcode::Isub, own, delta);
            let place = cx.b.int2(Opcode::Iadd, place, size);
            of_two(cx, inst, place)?
        }
    };
    cx.set(inst, value)
}

/// The element at an index into the concatenation of two values of the sub-group.
fn of_two(cx: &mut FuncCx<'_>, inst: &Inst, place: Value) -> Result<Value, InstError> {
    let (first, second) = (exchanged(cx, inst.id(0)?)?, exchanged(cx, inst.id(1)?)?);
    if cx.b.ty(first) != cx.b.ty(second) {
        return Err(InstError::malformed("the two values have different types"));
    }
    let size = cx.b.query_linear(Opcode::MaxSubGroupSize);
    let one = cx.b.iconst(Type::I32, 1);
    let within = cx.b.int2(Opcode::Isub, size, one);
    let from = cx.b.int2(Opcode::And, place, within);
    let (first, second) = (cx.b.group_shuffle(first, from), cx.b.group_shuffle(second, from));
    let in_first = cx.b.icmp(IntCond::Ult, place, size);
    Ok(cx.b.select(in_first, first, second))
}
