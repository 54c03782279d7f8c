//! Arithmetic.

use clift_kir::{Builder, Elem, FloatCond, FpFlags, IntCond, Opcode, Type, Value};
use rspirv::spirv::FPFastMathMode;

use super::classes::{ArithInst, DotInst, WideInst};
use crate::builtins::{self, ClOp, Operand};
use crate::spirv::llvm_backend;
use crate::spirv::lower::{FuncCx, Val};
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: ArithInst) -> Result<(), InstError> {
    let value = match op {
        ArithInst::SNegate => {
            let a = cx.value(inst.id(0)?)?;
            int(cx, a)?;
            cx.b.int1(Opcode::Ineg, a)
        }
        ArithInst::IAdd => int2_wrap(cx, inst, Opcode::Iadd)?,
        ArithInst::ISub => int2_wrap(cx, inst, Opcode::Isub)?,
        ArithInst::IMul => int2_wrap(cx, inst, Opcode::Imul)?,
        ArithInst::UDiv => int2(cx, inst, Opcode::Udiv)?,
        ArithInst::SDiv => int2(cx, inst, Opcode::Sdiv)?,
        ArithInst::UMod => int2(cx, inst, Opcode::Urem)?,
        ArithInst::SRem => int2(cx, inst, Opcode::Srem)?,
        ArithInst::SMod => {
            let rem = int2(cx, inst, Opcode::Srem)?;
            let divisor = cx.value(inst.id(1)?)?;
            let zero = {
                let ty = cx.b.ty(rem);
                cx.b.iconst(ty, 0)
            };
            let signs = cx.b.int2(Opcode::Xor, rem, divisor);
            let differ = cx.b.icmp(IntCond::Slt, signs, zero);
            let inexact = cx.b.icmp(IntCond::Ne, rem, zero);
            let adjust = cx.b.int2(Opcode::And, differ, inexact);
            let sum = cx.b.int2(Opcode::Iadd, rem, divisor);
            cx.b.select(adjust, sum, rem)
        }
        ArithInst::FNegate => {
            let a = cx.value(inst.id(0)?)?;
            float(cx, a)?;
            cx.set_fp(inst);
            cx.b.float1(Opcode::Fneg, a)
        }
        ArithInst::FAdd => float2(cx, inst, Opcode::Fadd)?,
        ArithInst::FSub => float2(cx, inst, Opcode::Fsub)?,
        ArithInst::FMul => float2(cx, inst, Opcode::Fmul)?,
        ArithInst::FDiv => float2(cx, inst, Opcode::Fdiv)?,
        ArithInst::FmaKHR => {
            let ((a, b), c) = (float_pair(cx, inst)?, cx.value(inst.id(2)?)?);
            if cx.b.ty(c) != cx.b.ty(a) {
                return Err(InstError::malformed("the addend does not have the type of the factors"));
            }
            cx.b.fma(a, b, c)
        }
        ArithInst::FRem => {
            let (a, b) = float_pair(cx, inst)?;
            fmod(&mut cx.b, a, b)
        }
        ArithInst::FMod => {
            let (a, b) = float_pair(cx, inst)?;
            let rem = fmod(&mut cx.b, a, b);
            let zero = {
                let ty = cx.b.ty(rem);
                cx.b.fconst(ty, 0.0)
            };
            let inexact = cx.b.fcmp(FloatCond::One, rem, zero);
            let below = cx.b.fcmp(FloatCond::Olt, rem, zero);
            let divisor_below = cx.b.fcmp(FloatCond::Olt, b, zero);
            let differ = cx.b.int2(Opcode::Xor, below, divisor_below);
            let adjust = cx.b.int2(Opcode::And, inexact, differ);
            let sum = cx.b.float2(Opcode::Fadd, rem, b);
            let signed_zero = cx.b.float2(Opcode::Fcopysign, rem, b);
            let exact = cx.b.select(inexact, rem, signed_zero);
            cx.b.select(adjust, sum, exact)
        }
        ArithInst::VectorTimesScalar => {
            let (vector, scalar) = (cx.value(inst.id(0)?)?, cx.value(inst.id(1)?)?);
            float(cx, vector)?;
            if cx.b.ty(vector).lane() != cx.b.ty(scalar) {
                return Err(InstError::malformed("the scalar does not have the vector's component type"));
            }
            cx.set_fp(inst);
            let lanes = cx.b.ty(vector).lanes();
            let scalar = cx.b.splat(scalar, lanes);
            cx.b.float2(Opcode::Fmul, vector, scalar)
        }
        ArithInst::Dot => {
            let product = float2(cx, inst, Opcode::Fmul)?;
            let mut sum = cx.extract(product, 0);
            for lane in 1..cx.b.ty(product).lanes() {
                let term = cx.extract(product, lane);
                sum = cx.b.float2(Opcode::Fadd, sum, term);
            }
            sum
        }
    };
    cx.set(inst, value)
}

/// Checks that a value is an integer or a vector of integers.
pub(super) fn int(cx: &FuncCx<'_>, value: Value) -> Result<(), InstError> {
    if cx.b.ty(value).is_int() { Ok(()) } else { Err(InstError::malformed("an operand is not an integer")) }
}

/// Checks that a value is a float or a vector of floats.
pub(super) fn float(cx: &FuncCx<'_>, value: Value) -> Result<(), InstError> {
    if cx.b.ty(value).is_float() { Ok(()) } else { Err(InstError::malformed("an operand is not a float")) }
}

/// The operands of an op on two integers. LLVM's back end widens one without the other, or omits its truncation: if no bit of the
/// result depends on higher bits of the operands, these are left out.
fn int_pair(cx: &mut FuncCx<'_>, inst: &Inst, op: Opcode) -> Result<(Value, Value), InstError> {
    let (a, b) = (inst.id(0)?, inst.id(1)?);
    let from_low_bits = [Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Iadd, Opcode::Isub, Opcode::Imul].contains(&op);
    if cx.unit.module.generator != llvm_backend::GENERATOR || !from_low_bits {
        return cx.pair(a, b);
    }
    let declared = cx.kir_type(inst.result_type()?)?;
    let (values, is_wider) = ([cx.value(a)?, cx.value(b)?], |ty: Type| {
        ty.is_int() && declared.is_int() && ty.lanes() == declared.lanes() && ty.elem.bits() > declared.elem.bits()
    });
    match values.map(|value| is_wider(cx.b.ty(value))) {
        [true, false] => Ok((cx.b.int_resize(values[0], declared.elem, false), values[1])),
        [false, true] => Ok((values[0], cx.b.int_resize(values[1], declared.elem, false))),
        [false, false] | [true, true] => cx.pair(a, b),
    }
}

/// An op on two integers of one type.
pub(super) fn int2(cx: &mut FuncCx<'_>, inst: &Inst, op: Opcode) -> Result<Value, InstError> {
    let (a, b) = int_pair(cx, inst, op)?;
    int(cx, a)?;
    Ok(cx.b.int2(op, a, b))
}

/// As [`int2`], for an op with no-wrap flags.
fn int2_wrap(cx: &mut FuncCx<'_>, inst: &Inst, op: Opcode) -> Result<Value, InstError> {
    let (a, b) = int_pair(cx, inst, op)?;
    int(cx, a)?;
    let flags = cx.wrap_flags(inst);
    Ok(cx.b.int2_wrap(op, a, b, flags))
}

/// Two float operands of one type; sets the fast-math flags.
fn float_pair(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(Value, Value), InstError> {
    let (a, b) = cx.pair(inst.id(0)?, inst.id(1)?)?;
    float(cx, a)?;
    cx.set_fp(inst);
    Ok((a, b))
}

/// An op on two floats of one type.
fn float2(cx: &mut FuncCx<'_>, inst: &Inst, op: Opcode) -> Result<Value, InstError> {
    let (a, b) = float_pair(cx, inst)?;
    Ok(cx.b.float2(op, a, b))
}

/// Remainder with the sign of the dividend. It is exact, so the built-in function implements it.
fn fmod(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let value = builtins::expand(b, ClOp::fmod, &[Operand::Value(x), Operand::Value(y)], Some(ty));
    match value {
        Ok(Some(value)) => value,
        Ok(None) | Err(_) => unreachable!("broken invariant: two floats of one type have a remainder"),
    }
}

/// Instructions whose result is a struct of two values.
pub(super) fn two_results(cx: &mut FuncCx<'_>, inst: &Inst, op: WideInst) -> Result<(), InstError> {
    let (a, b) = cx.pair(inst.id(0)?, inst.id(1)?)?;
    int(cx, a)?;
    let ty = cx.b.ty(a);
    let (first, second) = match op {
        WideInst::IAddCarry => {
            let sum = cx.b.int2(Opcode::Iadd, a, b);
            let carry = cx.b.icmp(IntCond::Ult, sum, a);
            (sum, cx.b.cast(Opcode::Zext, carry, ty))
        }
        WideInst::ISubBorrow => {
            let difference = cx.b.int2(Opcode::Isub, a, b);
            let borrow = cx.b.icmp(IntCond::Ult, a, b);
            (difference, cx.b.cast(Opcode::Zext, borrow, ty))
        }
        WideInst::UMulExtended => (cx.b.int2(Opcode::Imul, a, b), cx.b.int2(Opcode::Umulh, a, b)),
        WideInst::SMulExtended => (cx.b.int2(Opcode::Imul, a, b), cx.b.int2(Opcode::Smulh, a, b)),
    };
    cx.set_val(inst, Val::Leaves([first, second].into_iter().collect()))
}

/// Integer dot products, of vectors or of four bytes packed in a word, with or without saturating accumulation.
pub(super) fn int_dot(cx: &mut FuncCx<'_>, inst: &Inst, op: DotInst) -> Result<(), InstError> {
    let (signed_a, signed_b, accumulate) = match op {
        DotInst::SDot => (true, true, false),
        DotInst::UDot => (false, false, false),
        DotInst::SUDot => (true, false, false),
        DotInst::SDotAccSat => (true, true, true),
        DotInst::UDotAccSat => (false, false, true),
        DotInst::SUDotAccSat => (true, false, true),
    };
    let result = cx.kir_type(inst.result_type()?)?;
    if !result.is_int() || result.is_vector() {
        return Err(InstError::malformed("the result type is not a scalar integer"));
    }
    let (a, b) = cx.pair(inst.id(0)?, inst.id(1)?)?;
    int(cx, a)?;
    let accumulator = if accumulate { Some(cx.value(inst.id(2)?)?) } else { None };
    let value = dot(cx, (a, signed_a), (b, signed_b), accumulator, result)?;
    cx.set(inst, value)
}

/// The dot product of two integer vectors of one type as a scalar integer, added to an accumulator with saturation if there is
/// one. Each vector is given with its signedness; the second may be signed only if the first is.
pub(in crate::spirv) fn dot(
    cx: &mut FuncCx<'_>,
    (a, signed_a): (Value, bool),
    (b, signed_b): (Value, bool),
    accumulator: Option<Value>,
    result: Type,
) -> Result<Value, InstError> {
    let ty = cx.b.ty(a);
    let packed = !ty.is_vector();
    if packed && ty != Type::I32 {
        return Err(InstError::malformed("a packed vector is not a 32-bit integer"));
    }
    let bits = if packed { 8 } else { ty.elem.bits() };
    if bits > result.elem.bits() {
        return Err(InstError::malformed("the result is narrower than the components"));
    }
    // The sum is exact in this width; it is wrapped or clamped afterwards.
    let wide = if bits == 8 { Elem::I32 } else { Elem::I64 };
    let (a, b) = if packed {
        (packed_bytes(cx, a, signed_a), packed_bytes(cx, b, signed_b))
    } else {
        let a = cx.b.int_resize(a, wide, signed_a);
        let b = cx.b.int_resize(b, wide, signed_b);
        let lanes = 0..ty.lanes();
        (lanes.clone().map(|lane| cx.b.extract(a, lane)).collect(), lanes.map(|lane| cx.b.extract(b, lane)).collect())
    };
    let mut sum = cx.b.int2(Opcode::Imul, a[0], b[0]);
    for (&a, &b) in a.iter().zip(&b).skip(1) {
        let term = cx.b.int2(Opcode::Imul, a, b);
        sum = cx.b.int2(Opcode::Iadd, sum, term);
    }
    let sum = cx.b.int_resize(sum, result.elem, signed_a);
    let Some(accumulator) = accumulator else { return Ok(sum) };
    if cx.b.ty(accumulator) != result {
        return Err(InstError::malformed("the accumulator does not have the result type"));
    }
    let op = if signed_a { Opcode::SaddSat } else { Opcode::UaddSat };
    Ok(cx.b.int2(op, sum, accumulator))
}

/// The four bytes of a word as words, the lowest first. Shifts do that without moving values between lanes of a pack.
fn packed_bytes(cx: &mut FuncCx<'_>, word: Value, signed: bool) -> Vec<Value> {
    (0..4)
        .map(|byte| {
            let [up, down, top, mask] = [24 - 8 * byte, 8 * byte, 24, 0xff].map(|n| cx.b.iconst(Type::I32, n));
            if signed {
                let high = cx.b.int2(Opcode::Shl, word, up);
                cx.b.int2(Opcode::Ashr, high, top)
            } else {
                let low = cx.b.int2(Opcode::Lshr, word, down);
                cx.b.int2(Opcode::And, low, mask)
            }
        })
        .collect()
}

/// The fast-math flags of a fast-math mode.
pub(in crate::spirv) fn fast_math_flags(mode: FPFastMathMode) -> FpFlags {
    let mut flags = FpFlags::empty();
    flags.set(FpFlags::NO_NAN, mode.contains(FPFastMathMode::NOT_NAN));
    flags.set(FpFlags::NO_INF, mode.contains(FPFastMathMode::NOT_INF));
    flags.set(FpFlags::NO_SIGNED_ZERO, mode.contains(FPFastMathMode::NSZ));
    flags.set(FpFlags::RECIPROCAL, mode.contains(FPFastMathMode::ALLOW_RECIP));
    flags.set(FpFlags::CONTRACT, mode.contains(FPFastMathMode::ALLOW_CONTRACT));
    flags.set(FpFlags::REASSOC, mode.contains(FPFastMathMode::ALLOW_REASSOC));
    if mode.contains(FPFastMathMode::FAST) {
        flags |= FpFlags::all() - FpFlags::ESTIMATE;
    }
    flags
}
