//! Ballots of sub-groups, and operations on ballots. A ballot is a vector of four words with one bit per work-item, by its number
//! in the sub-group.

use clift_kir::dfg::ConstData;
use clift_kir::{AtomicOp, Elem, IntCond, Opcode, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, GroupOperation};

use super::classes::BallotInst;
use super::collective::{sub_group, truth};
use super::group::execution_scope;
use crate::spirv::lower::FuncCx;
use crate::spirv::words::{Inst, InstError};

/// Type of a ballot.
fn words() -> Type {
    Type::vector(Elem::I32, 4)
}

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: BallotInst) -> Result<(), InstError> {
    let scope = execution_scope(cx, inst.id(0)?)?;
    sub_group(scope)?;
    let value = match op {
        BallotInst::GroupNonUniformElect => {
            let first = first_here(cx);
            let own = cx.b.query_linear(Opcode::SubGroupLocalId);
            cx.b.icmp(IntCond::Eq, own, first)
        }
        BallotInst::GroupNonUniformBallot => {
            let truth = truth(cx, inst.id(1)?)?;
            cx.b.group_ballot(truth)
        }
        BallotInst::GroupNonUniformInverseBallot => {
            let ballot = ballot(cx, inst.id(1)?)?;
            let own = cx.b.query_linear(Opcode::SubGroupLocalId);
            bit(cx, ballot, own)
        }
        BallotInst::GroupNonUniformBallotBitExtract => {
            let ballot = ballot(cx, inst.id(1)?)?;
            let number = cx.scalar_int(inst.id(2)?)?;
            let number = cx.b.int_resize(number, Elem::I32, false);
            bit(cx, ballot, number)
        }
        BallotInst::GroupNonUniformBallotBitCount => {
            let Operand::GroupOperation(how) = *inst.operand(1)? else {
                return Err(InstError::malformed("the group operation is missing"));
            };
            let ballot = ballot(cx, inst.id(2)?)?;
            let counted = if how == GroupOperation::Reduce {
                possible(cx)
            } else if how == GroupOperation::InclusiveScan {
                up_to_own(cx)
            } else if how == GroupOperation::ExclusiveScan {
                before_own(cx)
            } else {
                return Err(InstError::unsupported(format!("group operation {how:?}")));
            };
            let bits = cx.b.int2(Opcode::And, ballot, counted);
            let counts = cx.b.int1(Opcode::Popcnt, bits);
            let count = cx.b.reduce(AtomicOp::Add, counts);
            sized(cx, inst, count)?
        }
        BallotInst::GroupNonUniformBallotFindLSB => {
            let ballot = relevant(cx, inst.id(1)?)?;
            let number = first(cx, ballot);
            sized(cx, inst, number)?
        }
        BallotInst::GroupNonUniformBallotFindMSB => {
            let ballot = relevant(cx, inst.id(1)?)?;
            let number = last(cx, ballot);
            sized(cx, inst, number)?
        }
    };
    cx.set(inst, value)
}

/// The value of a built-in variable that is a mask of work-items; `None` for other variables.
pub(super) fn mask(cx: &mut FuncCx<'_>, built_in: BuiltIn) -> Option<Value> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other variables are not masks")]
    let (of, without) = match built_in {
        BuiltIn::SubgroupEqMask => (up_to_own(cx), Some(before_own(cx))),
        BuiltIn::SubgroupGeMask => (possible(cx), Some(before_own(cx))),
        BuiltIn::SubgroupGtMask => (possible(cx), Some(up_to_own(cx))),
        BuiltIn::SubgroupLeMask => (up_to_own(cx), None),
        BuiltIn::SubgroupLtMask => (before_own(cx), None),
        _ => return None,
    };
    Some(match without {
        None => of,
        Some(without) => {
            let with = cx.b.int1(Opcode::Not, without);
            cx.b.int2(Opcode::And, of, with)
        }
    })
}

/// Number of the first active work-item.
pub(super) fn first_here(cx: &mut FuncCx<'_>) -> Value {
    let here = cx.b.iconst(Type::B1, 1);
    let ballot = cx.b.group_ballot(here);
    first(cx, ballot)
}

/// An operand that must be a ballot.
fn ballot(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = cx.value(id)?;
    if cx.b.ty(value) == words() {
        Ok(value)
    } else {
        Err(InstError::malformed("the ballot is not a vector of four 32-bit integers"))
    }
}

/// A ballot operand restricted to the work-items that a sub-group may have.
fn relevant(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let value = ballot(cx, id)?;
    let possible = possible(cx);
    Ok(cx.b.int2(Opcode::And, value, possible))
}

/// A number as the declared integer type.
fn sized(cx: &mut FuncCx<'_>, inst: &Inst, number: Value) -> Result<Value, InstError> {
    let ty = cx.kir_type(inst.result_type()?)?;
    if !ty.is_int() || ty.is_vector() {
        return Err(InstError::malformed("the result type is not a scalar integer"));
    }
    Ok(cx.b.int_resize(number, ty.elem, false))
}

/// A ballot with the bits below a number set.
fn below(cx: &mut FuncCx<'_>, number: Value) -> Value {
    let starts = cx.b.constant(ConstData::new(words(), &[0, 32, 64, 96]));
    let [zero, one, all, full] = [0, 1, -1, 32].map(|n| cx.b.iconst(words(), n));
    let numbers = cx.b.splat(number, 4);
    let bits = cx.b.int2(Opcode::Isub, numbers, starts);
    let bits = cx.b.int2(Opcode::Smax, bits, zero);
    let whole = cx.b.icmp(IntCond::Uge, bits, full);
    let power = cx.b.int2(Opcode::Shl, one, bits);
    let part = cx.b.int2(Opcode::Isub, power, one);
    cx.b.select(whole, all, part)
}

/// The bits of all work-items that a sub-group may have.
fn possible(cx: &mut FuncCx<'_>) -> Value {
    let size = cx.b.query_linear(Opcode::MaxSubGroupSize);
    below(cx, size)
}

fn before_own(cx: &mut FuncCx<'_>) -> Value {
    let own = cx.b.query_linear(Opcode::SubGroupLocalId);
    below(cx, own)
}

fn up_to_own(cx: &mut FuncCx<'_>) -> Value {
    let own = cx.b.query_linear(Opcode::SubGroupLocalId);
    let one = cx.b.iconst(Type::I32, 1);
    let next = cx.b.int2(Opcode::Iadd, own, one);
    below(cx, next)
}

/// A bit of a ballot.
fn bit(cx: &mut FuncCx<'_>, ballot: Value, number: Value) -> Value {
    let [one, five] = [1, 5].map(|n| cx.b.iconst(Type::I32, n));
    let index = cx.b.int2(Opcode::Lshr, number, five);
    let word = cx.b.extract_dyn(ballot, index);
    // The count is taken modulo 32.
    let shifted = cx.b.int2(Opcode::Lshr, word, number);
    let bit = cx.b.int2(Opcode::And, shifted, one);
    cx.b.icmp(IntCond::Eq, bit, one)
}

/// Number of the lowest bit that is set; an arbitrary number if there is none.
fn first(cx: &mut FuncCx<'_>, ballot: Value) -> Value {
    let counts = cx.b.int1(Opcode::Ctz, ballot);
    choose(cx, ballot, counts, [3, 2, 1, 0])
}

/// Number of the highest bit that is set; an arbitrary number if there is none.
fn last(cx: &mut FuncCx<'_>, ballot: Value) -> Value {
    let counts = cx.b.int1(Opcode::Clz, ballot);
    let top = cx.b.iconst(words(), 31);
    let places = cx.b.int2(Opcode::Isub, top, counts);
    choose(cx, ballot, places, [0, 1, 2, 3])
}

/// The position of a bit in the ballot: `places` gives the position in each word, and the last nonzero word in `order` is used.
fn choose(cx: &mut FuncCx<'_>, ballot: Value, places: Value, order: [u32; 4]) -> Value {
    let zero = cx.b.iconst(Type::I32, 0);
    let mut found = zero;
    for word in order {
        let bits = cx.b.extract(ballot, word);
        let place = cx.b.extract(places, word);
        let start = cx.b.iconst(Type::I32, i64::from(32 * word));
        let number = cx.b.int2(Opcode::Iadd, start, place);
        let some = cx.b.icmp(IntCond::Ne, bits, zero);
        found = cx.b.select(some, number, found);
    }
    found
}
