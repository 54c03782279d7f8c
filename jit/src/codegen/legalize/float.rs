//! Floating-point ops that the legal form lacks: half precision, rounding modes other than the hardware's, and conversions
//! between floats and narrow integers. All are expanded into lane-wise ops, so they work for any number of lanes.

use clift_kir::dfg::ConstData;
use clift_kir::ops::{Meaning, OpClass};
use clift_kir::{Convert, Elem, FloatCond, FpFlags, Imm, IntCond, Opcode, Rounding, Type, Value};

use smallvec::SmallVec;

use super::{Legalizer, SplitValue};

/// How to adjust a value that was rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nudge {
    /// Move to the neighbour that the rounding mode requires.
    To(Rounding),
    /// Round to odd: move inexact values to the neighbour with an odd mantissa, so that a later rounding to at least two bits
    /// less is correct.
    Odd,
}

/// The rounding mode of conversions to nearest even.
const NEAREST: Convert = Convert { rounding: Rounding::NearestEven, saturate: true };

impl Legalizer<'_> {
    /// Expands float ops that the legal form does not have.
    pub(super) fn expand_float(
        &mut self,
        op: Opcode,
        imm: &Imm,
        args: &[SplitValue],
        result: Type,
    ) -> Option<SplitValue> {
        use Opcode as O;
        let first = args.first()?;
        let half = first.ty.elem == Elem::F16;
        if half && let Some(split) = self.half_natively(op, imm, args, result) {
            return Some(split);
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "these are the ops that have expansions")]
        match op {
            O::Fadd
            | O::Fsub
            | O::Fmul
            | O::Fdiv
            | O::Fmin
            | O::Fmax
            | O::Sqrt
            | O::Ceil
            | O::Floor
            | O::Trunc
            | O::Rint
                if half =>
            {
                let args: Vec<SplitValue> = args.iter().map(|arg| self.half_to_single(arg)).collect();
                let wide = self.lanewise(op, imm, &args, result.with_elem(Elem::F32));
                Some(self.single_to_half(&wide))
            }
            O::Fcmp if half => {
                let args: Vec<SplitValue> = args.iter().map(|arg| self.half_to_single(arg)).collect();
                Some(self.lanewise(op, imm, &args, result))
            }
            O::Fneg if half => Some(self.op2_bits(O::Xor, &first.viewed_as(Elem::I16), 0x8000).viewed_as(Elem::F16)),
            O::Fabs if half => Some(self.op2_bits(O::And, &first.viewed_as(Elem::I16), 0x7fff).viewed_as(Elem::F16)),
            O::Fcopysign if half => {
                let magnitude = self.op2_bits(O::And, &first.viewed_as(Elem::I16), 0x7fff);
                let sign = self.op2_bits(O::And, &args[1].viewed_as(Elem::I16), 0x8000);
                Some(self.op2(O::Or, &magnitude, &sign).viewed_as(Elem::F16))
            }
            O::Fma if half => {
                let args: Vec<SplitValue> = args.iter().map(|arg| self.half_to_single(arg)).collect();
                if matches!(imm, Imm::Fp(flags) if flags.contains(FpFlags::ESTIMATE)) {
                    let sum = self.lanewise(op, imm, &args, result.with_elem(Elem::F32));
                    return Some(self.single_to_half(&sum));
                }
                Some(self.half_fma(&args[0], &args[1], &args[2]))
            }
            O::FptoS | O::FptoU => self.expand_float_to_int(op, mode(imm), first, result),
            O::StoFp | O::UtoFp => self.expand_int_to_float(op, mode(imm), first, result),
            O::FptoFp => self.expand_float_to_float(mode(imm), first, result),
            // The legal form has all other ops.
            op => {
                debug_assert!(matches!(op.info().meaning, Meaning::Lanes(_)));
                None
            }
        }
    }

    /// An op on halves by instructions for them, if the backend has some. The bits of a scalar's sign are cheaper in the general
    /// register where a scalar is.
    fn half_natively(&mut self, op: Opcode, imm: &Imm, args: &[SplitValue], result: Type) -> Option<SplitValue> {
        let float = matches!(op.class(), OpClass::Float(_));
        let of_signs = matches!(op, Opcode::Fneg | Opcode::Fabs) && !result.is_vector();
        if !float || of_signs || !(self.caps.native)(op, imm, Elem::F16, result.elem) {
            return None;
        }
        let chunk = self.caps.part_lanes(args[0].ty);
        let args: SmallVec<[SplitValue; 4]> = args.iter().map(|arg| self.regroup(arg, chunk)).collect();
        let part_type = Type::vector(result.elem, chunk);
        let parts = (0..args[0].parts.len()).map(|part| {
            let operands: SmallVec<[Value; 4]> = args.iter().map(|arg| self.as_half(arg.parts[part])).collect();
            let value = self.emit(op, &operands, imm.clone(), part_type);
            if result.is_bool() { value } else { self.at().cast(Opcode::Bitcast, value, part_type.as_int()) }
        });
        let parts = parts.collect();
        Some(SplitValue { ty: result, chunk, parts })
    }

    /// The halves whose bits are in a part.
    fn as_half(&mut self, part: Value) -> Value {
        let dfg = &self.new.dfg;
        let half = dfg.ty(part).with_elem(Elem::F16);
        if let Some(data) = dfg.as_const(part) {
            let data = match data.as_splat() {
                Some(bits) => ConstData::splat(half, bits),
                None => ConstData::new(half, &data.to_lanes()),
            };
            return self.at().constant(data);
        }
        match dfg.def_inst(part).map(|inst| dfg.inst(inst)) {
            Some(cast) if cast.op == Opcode::Bitcast && dfg.ty(cast.args[0]) == half => cast.args[0],
            _ => self.at().cast(Opcode::Bitcast, part, half),
        }
    }

    /// A float op with two operands.
    fn float2(&mut self, op: Opcode, a: &SplitValue, b: &SplitValue) -> SplitValue {
        self.lanewise(op, &Imm::Fp(FpFlags::empty()), &[a.clone(), b.clone()], a.ty)
    }

    fn float_compare(&mut self, cond: FloatCond, a: &SplitValue, b: &SplitValue) -> SplitValue {
        let imm = Imm::FloatCond(cond, FpFlags::empty());
        self.lanewise(Opcode::Fcmp, &imm, &[a.clone(), b.clone()], a.ty.as_mask())
    }

    /// The bits of a float as an integer of the same width.
    fn bits_of(&mut self, a: &SplitValue) -> SplitValue {
        self.bitcast(a, a.ty.as_int())
    }

    /// `a * b + c` on halves, computed in single precision and rounded to odd; the product is exact.
    fn half_fma(&mut self, a: &SplitValue, b: &SplitValue, c: &SplitValue) -> SplitValue {
        let product = self.float2(Opcode::Fmul, a, b);
        let (sum, error) = self.exact_sum(&product, c);
        let odd = self.nudge_by_error(&sum, &error, Nudge::Odd);
        self.single_to_half(&odd)
    }

    /// The rounded sum and its exact error, which together are the true sum.
    fn exact_sum(&mut self, a: &SplitValue, b: &SplitValue) -> (SplitValue, SplitValue) {
        let sum = self.float2(Opcode::Fadd, a, b);
        let back = self.float2(Opcode::Fsub, &sum, a);
        let rest = self.float2(Opcode::Fsub, &sum, &back);
        let error_a = self.float2(Opcode::Fsub, a, &rest);
        let error_b = self.float2(Opcode::Fsub, b, &back);
        let error = self.float2(Opcode::Fadd, &error_a, &error_b);
        (sum, error)
    }

    /// Adjusts a rounded value whose true value is `value + error`. For non-finite values the error is NaN and the value stays.
    fn nudge_by_error(&mut self, value: &SplitValue, error: &SplitValue, how: Nudge) -> SplitValue {
        let zero = self.splat_bits(error.ty, 0);
        let above = self.float_compare(FloatCond::Ogt, error, &zero);
        let below = self.float_compare(FloatCond::Olt, error, &zero);
        self.nudge(value, &above, &below, how)
    }

    /// Adjusts a value that was rounded to nearest where the true value is `above` or `below` it.
    fn nudge(&mut self, value: &SplitValue, above: &SplitValue, below: &SplitValue, how: Nudge) -> SplitValue {
        let elem = value.ty.elem;
        let bits = if elem == Elem::F16 { value.viewed_as(Elem::I16) } else { self.bits_of(value) };
        let zero = self.splat_bits(bits.ty, 0);
        let one = self.splat_bits(bits.ty, 1);
        let minus_one = self.splat_bits(bits.ty, u64::MAX);
        let negative = self.compare(IntCond::Slt, &bits, &zero);
        // Steps of the magnitude: +1 is away from zero for both signs.
        let up = self.select(&negative, &minus_one, &one);
        let down = self.select(&negative, &one, &minus_one);
        let step = match how {
            Nudge::To(Rounding::NearestEven) => zero,
            Nudge::To(Rounding::Up) => self.select(above, &up, &zero),
            Nudge::To(Rounding::Down) => self.select(below, &down, &zero),
            Nudge::To(Rounding::TowardZero) => {
                // Toward zero is downward for positive values; they are inexact if the true value is below.
                let shrink_positive = self.select(below, &minus_one, &zero);
                let shrink_negative = self.select(above, &minus_one, &zero);
                self.select(&negative, &shrink_negative, &shrink_positive)
            }
            Nudge::Odd => {
                let toward = self.select(below, &down, &zero);
                let toward = self.select(above, &up, &toward);
                let low = self.op2_bits(Opcode::And, &bits, 1);
                let even = self.compare(IntCond::Eq, &low, &zero);
                self.select(&even, &toward, &zero)
            }
        };
        let moved = self.op2(Opcode::Iadd, &bits, &step);
        if elem == Elem::F16 { moved.viewed_as(Elem::F16) } else { self.bitcast(&moved, value.ty) }
    }

    /// Halves to singles, which is exact. NaN stays NaN.
    pub(super) fn half_to_single(&mut self, a: &SplitValue) -> SplitValue {
        if a.ty.elem != Elem::F16 {
            return a.clone();
        }
        if self.converts_halves() {
            let single = a.ty.with_elem(Elem::F32);
            let chunk = self.caps.part_lanes(single);
            let parts = self.regroup(a, chunk).parts;
            let half = Type::vector(Elem::F16, chunk);
            let convert = |&part: &Value| {
                let part = self.at().cast(Opcode::Bitcast, part, half);
                self.emit(Opcode::FptoFp, &[part], Imm::Convert(NEAREST), half.with_elem(Elem::F32))
            };
            let parts = parts.iter().map(convert).collect();
            return SplitValue { ty: single, chunk, parts };
        }
        let bits = self.extend(&a.viewed_as(Elem::I16), Elem::I32, false);
        let magnitude = self.op2_bits(Opcode::And, &bits, 0x7fff);
        let shifted = self.op2_bits(Opcode::Shl, &magnitude, 13);
        // The exponent is too small by 127 - 15. The multiplication corrects it and normalizes subnormals.
        let small = self.bitcast(&shifted, bits.ty.with_elem(Elem::F32));
        let factor = self.splat_bits(small.ty, u64::from(2f32.powi(112).to_bits()));
        let scaled = self.float2(Opcode::Fmul, &small, &factor);
        let scaled = self.bits_of(&scaled);
        // Magnitudes are small enough for signed comparisons, which are cheaper on vectors.
        let special = self.compare_bits(IntCond::Sgt, &magnitude, 0x7bff);
        let infinite = self.op2_bits(Opcode::Or, &shifted, 0x7f80_0000);
        let value = self.select(&special, &infinite, &scaled);
        let sign = self.op2_bits(Opcode::And, &bits, 0x8000);
        let sign = self.op2_bits(Opcode::Shl, &sign, 16);
        let value = self.op2(Opcode::Or, &value, &sign);
        self.bitcast(&value, bits.ty.with_elem(Elem::F32))
    }

    /// Whether the backend converts between halves and singles.
    fn converts_halves(&self) -> bool {
        let native = |from, to| (self.caps.native)(Opcode::FptoFp, &Imm::Convert(NEAREST), from, to);
        native(Elem::F16, Elem::F32) && native(Elem::F32, Elem::F16)
    }

    /// Singles to halves in any rounding mode, by the backend.
    fn single_to_half_natively(&mut self, a: &SplitValue, mode: Convert) -> SplitValue {
        let chunk = self.caps.part_lanes(a.ty);
        let parts = self.regroup(a, chunk).parts;
        let half = Type::vector(Elem::F16, chunk);
        let convert = |&part: &Value| {
            let part = self.emit(Opcode::FptoFp, &[part], Imm::Convert(mode), half);
            self.at().cast(Opcode::Bitcast, part, half.as_int())
        };
        let parts = parts.iter().map(convert).collect();
        SplitValue { ty: a.ty.with_elem(Elem::F16), chunk, parts }
    }

    /// Singles to halves, rounded to nearest even.
    pub(super) fn single_to_half(&mut self, a: &SplitValue) -> SplitValue {
        if self.converts_halves() {
            return self.single_to_half_natively(a, NEAREST);
        }
        let bits = self.bits_of(a);
        let sign = self.op2_bits(Opcode::And, &bits, 0x8000_0000);
        let magnitude = self.op2(Opcode::Xor, &bits, &sign);
        // Normal results: rebias the exponent and round the 13 bits that are dropped. A carry goes into the exponent, up to
        // infinity.
        let shifted = self.op2_bits(Opcode::Lshr, &magnitude, 13);
        let odd = self.op2_bits(Opcode::And, &shifted, 1);
        let rebias = u64::from(0xfff_u32.wrapping_sub(112 << 23));
        let rounded = self.op2_bits(Opcode::Iadd, &magnitude, rebias);
        let rounded = self.op2(Opcode::Iadd, &rounded, &odd);
        let normal = self.op2_bits(Opcode::Lshr, &rounded, 13);
        // Subnormal results: add a number whose last place is 2^-24 and let the hardware round.
        let magic_bits = u64::from(0.5f32.to_bits());
        let magic = self.splat_bits(a.ty, magic_bits);
        let small = self.bitcast(&magnitude, a.ty);
        let sum = self.float2(Opcode::Fadd, &small, &magic);
        let sum = self.bits_of(&sum);
        let subnormal = self.op2_bits(Opcode::Isub, &sum, magic_bits);
        let is_small = self.compare_bits(IntCond::Slt, &magnitude, 113 << 23);
        let finite = self.select(&is_small, &subnormal, &normal);
        // Values beyond the largest half and its rounding range, infinities, NaN.
        let infinity = self.splat_bits(bits.ty, 0x7c00);
        let is_nan = self.compare_bits(IntCond::Sgt, &magnitude, 0x7f80_0000);
        let payload = self.op2_bits(Opcode::And, &shifted, 0x3ff);
        let nan = self.op2_bits(Opcode::Or, &payload, 0x7e00);
        let special = self.select(&is_nan, &nan, &infinity);
        let is_large = self.compare_bits(IntCond::Sgt, &magnitude, u64::from(65536f32.to_bits() - 1));
        let value = self.select(&is_large, &special, &finite);
        let sign = self.op2_bits(Opcode::Lshr, &sign, 16);
        let value = self.op2(Opcode::Or, &value, &sign);
        self.truncate(&value, Elem::I16).viewed_as(Elem::F16)
    }

    fn expand_float_to_float(&mut self, mode: Convert, a: &SplitValue, result: Type) -> Option<SplitValue> {
        let rounding = mode.rounding;
        let (from, to) = (a.ty.elem, result.elem);
        if from == Elem::F16 {
            let single = self.half_to_single(a);
            return Some(if to == Elem::F32 { single } else { self.convert(Opcode::FptoFp, &single, to) });
        }
        if to == Elem::F16 {
            if from == Elem::F64 {
                let single = self.double_to_single(a, Nudge::Odd);
                return self.expand_float_to_float(mode, &single, result);
            }
            if self.converts_halves() {
                return Some(self.single_to_half_natively(a, mode));
            }
            let near = self.single_to_half(a);
            return Some(if rounding == Rounding::NearestEven {
                near
            } else {
                let back = self.half_to_single(&near);
                let above = self.float_compare(FloatCond::Ogt, a, &back);
                let below = self.float_compare(FloatCond::Olt, a, &back);
                self.nudge(&near, &above, &below, Nudge::To(rounding))
            });
        }
        if rounding == Rounding::NearestEven {
            None
        } else if to == Elem::F64 {
            // Exact in any rounding mode.
            Some(self.convert(Opcode::FptoFp, a, to))
        } else {
            Some(self.double_to_single(a, Nudge::To(rounding)))
        }
    }

    fn double_to_single(&mut self, a: &SplitValue, how: Nudge) -> SplitValue {
        let near = self.convert(Opcode::FptoFp, a, Elem::F32);
        let back = self.convert(Opcode::FptoFp, &near, Elem::F64);
        let above = self.float_compare(FloatCond::Ogt, a, &back);
        let below = self.float_compare(FloatCond::Olt, a, &back);
        self.nudge(&near, &above, &below, how)
    }

    fn expand_float_to_int(&mut self, op: Opcode, mode: Convert, a: &SplitValue, result: Type) -> Option<SplitValue> {
        if a.ty.elem == Elem::F16 {
            let single = self.half_to_single(a);
            return Some(self.lanewise(op, &Imm::Convert(mode), &[single], result));
        }
        let round = match mode.rounding {
            Rounding::TowardZero => None,
            Rounding::NearestEven => Some(Opcode::Rint),
            Rounding::Up => Some(Opcode::Ceil),
            Rounding::Down => Some(Opcode::Floor),
        };
        if let Some(round) = round {
            let integral = self.lanewise(round, &Imm::Fp(FpFlags::empty()), std::slice::from_ref(a), a.ty);
            let mode = Convert { rounding: Rounding::TowardZero, ..mode };
            return Some(self.lanewise(op, &Imm::Convert(mode), &[integral], result));
        }
        if result.elem.bits() >= 32 {
            return None;
        }
        let narrow = |this: &mut Self, a: &SplitValue| {
            let mode = Convert { rounding: Rounding::TowardZero, saturate: false };
            let words = a.ty.with_elem(Elem::I32);
            let words = this.lanewise(Opcode::FptoS, &Imm::Convert(mode), std::slice::from_ref(a), words);
            this.truncate(&words, result.elem)
        };
        if !mode.saturate {
            return Some(narrow(self, a));
        }
        // Clamp as floats, which keeps the conversion to words in range.
        let (low, high) = if op == Opcode::FptoS {
            let half = 2f64.powi(result.elem.bits() as i32 - 1);
            (-half, half - 1.0)
        } else {
            (0.0, 2f64.powi(result.elem.bits() as i32) - 1.0)
        };
        let number = |x: f64| clift_kir::eval::convert::round_f64(a.ty.elem, x, Rounding::NearestEven);
        let (low, high) = (self.splat_bits(a.ty, number(low)), self.splat_bits(a.ty, number(high)));
        let mut clamped = a.clone();
        if op == Opcode::FptoS {
            // NaN gives zero; a minimum of zero does that already.
            let is_number = self.float_compare(FloatCond::Ord, a, a);
            let zero = self.splat_bits(a.ty, 0);
            clamped = self.select(&is_number, a, &zero);
        }
        let clamped = self.float2(Opcode::Fmax, &clamped, &low);
        let clamped = self.float2(Opcode::Fmin, &clamped, &high);
        Some(narrow(self, &clamped))
    }

    fn expand_int_to_float(&mut self, op: Opcode, mode: Convert, a: &SplitValue, result: Type) -> Option<SplitValue> {
        let signed = op == Opcode::StoFp;
        let rounding = mode.rounding;
        if a.ty.elem.bits() < 32 {
            // Exact in single precision.
            let wide = self.extend(a, Elem::I32, signed);
            return Some(if result.elem == Elem::F16 {
                let single = self.convert(Opcode::StoFp, &wide, Elem::F32);
                self.lanewise(Opcode::FptoFp, &Imm::Convert(mode), &[single], result)
            } else {
                self.convert(Opcode::StoFp, &wide, result.elem)
            });
        }
        let native = rounding == Rounding::NearestEven && result.elem != Elem::F16;
        if native {
            return None;
        }
        let exact_in_double = a.ty.elem.bits() == 32;
        if result.elem == Elem::F64 {
            return Some(if exact_in_double {
                self.convert(op, a, result.elem)
            } else {
                self.long_to_double(a, signed, Nudge::To(rounding))
            });
        }
        let double =
            if exact_in_double { self.convert(op, a, Elem::F64) } else { self.long_to_double(a, signed, Nudge::Odd) };
        Some(self.lanewise(Opcode::FptoFp, &Imm::Convert(mode), &[double], result))
    }

    /// 64-bit integers to doubles: both halves are exact, and the error of their sum is known.
    fn long_to_double(&mut self, a: &SplitValue, signed: bool, how: Nudge) -> SplitValue {
        let shift = if signed { Opcode::Ashr } else { Opcode::Lshr };
        let high = self.op2_bits(shift, a, 32);
        let high = self.truncate(&high, Elem::I32);
        let high = self.convert(if signed { Opcode::StoFp } else { Opcode::UtoFp }, &high, Elem::F64);
        let factor = self.splat_bits(high.ty, 2f64.powi(32).to_bits());
        let high = self.float2(Opcode::Fmul, &high, &factor);
        let low = self.truncate(a, Elem::I32);
        let low = self.convert(Opcode::UtoFp, &low, Elem::F64);
        let (sum, error) = self.exact_sum(&high, &low);
        self.nudge_by_error(&sum, &error, how)
    }
}

fn mode(imm: &Imm) -> Convert {
    let Imm::Convert(mode) = imm else { unreachable!("broken invariant: conversion with immediate {imm:?}") };
    *mode
}
