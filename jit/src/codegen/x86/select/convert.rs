//! Conversions: between integer widths, between integers and floats, between float types, and of addresses.

use clift_kir::dfg::ConstData;
use clift_kir::ops::ConvertOp;
use clift_kir::{Elem, FloatCond, Imm, Inst, Rounding, Type};
use regalloc2::VReg;

use super::float::predicate;
use super::{ExtraOperands, NO_DIGIT, RegMem, Selector, broadcast_row, size, wrong_imm};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{GPR, MASK, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

/// Truncation of lanes, by their bytes before and after.
fn narrowing(from: u32, to: u32) -> InstRow {
    match (from, to) {
        (2, _) => t::VPMOVWB,
        (4, 1) => t::VPMOVDB,
        (4, _) => t::VPMOVDW,
        (_, 1) => t::VPMOVQB,
        (_, 2) => t::VPMOVQW,
        _ => t::VPMOVQD,
    }
}

/// Extension of lanes, by their bytes before and after.
pub(super) fn widening(from: u32, to: u32, signed: bool) -> InstRow {
    match (from, to, signed) {
        (1, 2, true) => t::VPMOVSXBW,
        (1, 4, true) => t::VPMOVSXBD,
        (1, _, true) => t::VPMOVSXBQ,
        (2, 4, true) => t::VPMOVSXWD,
        (2, _, true) => t::VPMOVSXWQ,
        (_, _, true) => t::VPMOVSXDQ,
        (1, 2, false) => t::VPMOVZXBW,
        (1, 4, false) => t::VPMOVZXBD,
        (1, _, false) => t::VPMOVZXBQ,
        (2, 4, false) => t::VPMOVZXWD,
        (2, _, false) => t::VPMOVZXWQ,
        (_, _, false) => t::VPMOVZXDQ,
    }
}

/// Float to integer of four or eight bytes, rounding toward zero.
fn to_int(from: Elem, to: Elem, signed: bool) -> InstRow {
    match (from == Elem::F64, to == Elem::I64, signed) {
        (false, false, true) => t::VCVTTPS2DQ,
        (false, false, false) => t::VCVTTPS2UDQ,
        (false, true, true) => t::VCVTTPS2QQ,
        (false, true, false) => t::VCVTTPS2UQQ,
        (true, false, true) => t::VCVTTPD2DQ,
        (true, false, false) => t::VCVTTPD2UDQ,
        (true, true, true) => t::VCVTTPD2QQ,
        (true, true, false) => t::VCVTTPD2UQQ,
    }
}

/// Integer of four or eight bytes to float.
fn to_float(from: Elem, to: Elem, signed: bool) -> InstRow {
    match (from == Elem::I64, to == Elem::F64, signed) {
        (false, false, true) => t::VCVTDQ2PS,
        (false, false, false) => t::VCVTUDQ2PS,
        (false, true, true) => t::VCVTDQ2PD,
        (false, true, false) => t::VCVTUDQ2PD,
        (true, false, true) => t::VCVTQQ2PS,
        (true, false, false) => t::VCVTUQQ2PS,
        (true, true, true) => t::VCVTQQ2PD,
        (true, true, false) => t::VCVTUQQ2PD,
    }
}

/// The rounding mode of an instruction as its immediate byte.
fn rounding(mode: Rounding) -> i64 {
    match mode {
        Rounding::NearestEven => 0,
        Rounding::Down => 1,
        Rounding::Up => 2,
        Rounding::TowardZero => 3,
    }
}

/// A mask as lanes of a given size.
pub(super) fn mask_to_lanes(bytes: u32) -> InstRow {
    match bytes {
        1 => t::VPMOVM2B,
        2 => t::VPMOVM2W,
        4 => t::VPMOVM2D,
        _ => t::VPMOVM2Q,
    }
}

impl Selector<'_> {
    pub(super) fn convert_op(&mut self, op: ConvertOp, inst: Inst) {
        use ConvertOp as O;
        let data = self.legal.dfg.inst(inst);
        let (from, to) = (self.arg_type(inst, 0), self.result_type(inst));
        let a = self.get(data.args[0]);
        let longer = size(from).max(size(to));
        let register = match op {
            O::Itrunc if from.is_vector() && self.level == Level::Avx2 => self.truncated(a, from, to),
            O::Itrunc if from.is_vector() => {
                let result = self.fresh(ZMM);
                let row = narrowing(from.elem.bytes(), to.elem.bytes());
                self.push_row(row, longer, Some(result), Some(a), NO_DIGIT, RegMem::Result, ExtraOperands::default());
                result
            }
            // Nothing depends on the upper bits of a scalar.
            O::Itrunc => a,
            O::Zext | O::Sext if from.is_bool() => self.bool_to_lanes(a, to, op == O::Sext),
            O::Zext | O::Sext if from.is_vector() => {
                let row = widening(from.elem.bytes(), to.elem.bytes(), op == O::Sext);
                self.v1(row, longer, RegMem::Register(a))
            }
            // Moving a lane of 32 bits to a scalar register clears the upper half.
            O::Zext if from.elem.bits() == 32 && self.is_extracted(data.args[0]) => a,
            O::Zext if self.is_zero_extended(data.args[0]) => a,
            O::Zext => match from.elem.bits() {
                32 => self.g1(t::MOV, OperandSize::S32, RegMem::Register(a)),
                bits => self.zero_extended(a, bits),
            },
            O::Sext => {
                let a = self.loaded_scalar(data.args[0]).map_or(RegMem::Register(a), |(operand, _)| operand);
                match from.elem.bits() {
                    8 => self.g1(t::MOVSX8, size(to), a),
                    16 => self.g1(t::MOVSX16, size(to), a),
                    _ => self.g1(t::MOVSXD, OperandSize::S64, a),
                }
            }
            O::FptoS | O::FptoU if self.level == Level::Avx2 => {
                let saturates = matches!(&data.imm, Imm::Convert(mode) if mode.saturate);
                match from.is_vector() {
                    true => self.lanes_to_int(a, from, op == O::FptoS, saturates),
                    false => self.scalar_to_int(a, from, to, op == O::FptoS),
                }
            }
            O::StoFp | O::UtoFp if self.level == Level::Avx2 => match from.is_vector() {
                true => self.lanes_to_float(a, from, to, op == O::StoFp),
                false => self.scalar_to_float(a, from, to, op == O::StoFp),
            },
            O::FptoS | O::FptoU => {
                let saturates = matches!(&data.imm, Imm::Convert(mode) if mode.saturate);
                let lanes = self.float_to_int(a, from, to, op == O::FptoS, saturates);
                if from.is_vector() { lanes } else { self.first_lane(lanes, to) }
            }
            O::StoFp | O::UtoFp if from.is_vector() => {
                self.v1(to_float(from.elem, to.elem, op == O::StoFp), longer, RegMem::Register(a))
            }
            O::StoFp | O::UtoFp => {
                let row = match (to.elem == Elem::F64, op == O::StoFp) {
                    (false, true) => t::VCVTSI2SS,
                    (false, false) => t::VCVTUSI2SS,
                    (true, true) => t::VCVTSI2SD,
                    (true, false) => t::VCVTUSI2SD,
                };
                let rest = self.vector_constant(&ConstData::splat(Type::vector(Elem::I32, 4), 0));
                self.v2(row, size(from), rest, RegMem::Register(a))
            }
            O::FptoFp if from.elem == Elem::F16 => self.v1(t::VCVTPH2PS, size(to), RegMem::Register(a)),
            O::FptoFp if to.elem == Elem::F16 => {
                let Imm::Convert(mode) = &data.imm else { wrong_imm(&data.imm) };
                let immediate = Some((rounding(mode.rounding), 1));
                let result = self.fresh(ZMM);
                let more = ExtraOperands { immediate, ..ExtraOperands::default() };
                self.push_row(t::VCVTPS2PH, size(from), Some(result), Some(a), NO_DIGIT, RegMem::Result, more);
                result
            }
            O::FptoFp => match (from.is_vector(), to.elem == Elem::F64) {
                (true, true) => self.v1(t::VCVTPS2PD, longer, RegMem::Register(a)),
                (true, false) => self.v1(t::VCVTPD2PS, longer, RegMem::Register(a)),
                (false, true) => self.v2(t::VCVTSS2SD, OperandSize::X, a, RegMem::Register(a)),
                (false, false) => self.v2(t::VCVTSD2SS, OperandSize::X, a, RegMem::Register(a)),
            },
            O::PtrToInt | O::IntToPtr | O::SpaceCast => a,
            O::Bitcast => self.bitcast(a, to),
        };
        self.set(inst, register);
    }

    /// A Boolean or mask as 0 and 1, or as 0 and -1.
    fn bool_to_lanes(&mut self, a: VReg, to: Type, signed: bool) -> VReg {
        if to.is_vector() && self.masks_are_vectors() {
            return self.mask_to_integers(a, to, signed);
        }
        match (to.is_vector(), signed) {
            (true, true) => self.v1(mask_to_lanes(to.elem.bytes()), size(to), RegMem::Register(a)),
            (true, false) => {
                let bytes = to.elem.bytes() as usize;
                let one = self.pool.add(&1u64.to_le_bytes()[..bytes]);
                let more = ExtraOperands { mask: Some(a), zeroing: true, ..ExtraOperands::default() };
                self.make(ZMM, broadcast_row(bytes), size(to), RegMem::Bytes(one), more)
            }
            (false, true) => self.g_digit(t::GROUP3, 3, size(to), a, None),
            (false, false) => a,
        }
    }

    /// The first lane as a scalar integer.
    pub(super) fn first_lane(&mut self, lanes: VReg, to: Type) -> VReg {
        let result = self.fresh(GPR);
        self.push_row(
            t::VMOVD_TO_SCALAR,
            size(to),
            Some(result),
            Some(lanes),
            NO_DIGIT,
            RegMem::Result,
            ExtraOperands::default(),
        );
        result
    }

    /// Lanes (the first one, for a scalar) converted to integers. If `saturates`, values out of range are clamped and NaN gives
    /// zero.
    fn float_to_int(&mut self, a: VReg, from: Type, to: Type, signed: bool, saturates: bool) -> VReg {
        let longer = OperandSize::vector(from.lanes() * from.elem.bits().max(to.elem.bits()));
        let value = self.v1(to_int(from.elem, to.elem, signed), longer, RegMem::Register(a));
        if !saturates {
            return value;
        }
        let vector = OperandSize::vector(from.lanes() * from.elem.bits());
        let lanes = OperandSize::vector(from.lanes() * to.elem.bits());
        let compare = if from.elem == Elem::F64 { t::VCMPPD } else { t::VCMPPS };
        let and = if to.elem == Elem::I64 { t::VPANDQ } else { t::VPANDD };
        let test = |this: &mut Self, cond: FloatCond, with: RegMem| {
            let more =
                ExtraOperands { second: Some(a), immediate: Some((predicate(cond), 1)), ..ExtraOperands::default() };
            this.make(MASK, compare, vector, with, more)
        };
        if !signed {
            // Values that are too large become all ones.
            let zero = self.vector_constant(&ConstData::splat(Type::vector(Elem::I32, 4), 0));
            let kept = test(self, FloatCond::Oge, RegMem::Register(zero));
            let more =
                ExtraOperands { second: Some(value), mask: Some(kept), zeroing: true, ..ExtraOperands::default() };
            return self.make(ZMM, and, lanes, RegMem::Register(value), more);
        }
        // Values out of range become the least integer.
        let limit = 2f64.powi(to.elem.bits() as i32 - 1);
        let bits = if from.elem == Elem::F64 { limit.to_bits() } else { u64::from((limit as f32).to_bits()) };
        let limit = self.lanes_of(from.with_lanes(2), bits);
        let above = test(self, FloatCond::Oge, limit);
        let most = self.lanes_of(to.with_lanes(2), to.elem.mask() >> 1);
        let blend = if to.elem == Elem::I64 { t::VPBLENDMQ } else { t::VPBLENDMD };
        let more = ExtraOperands { second: Some(value), mask: Some(above), ..ExtraOperands::default() };
        let value = self.make(ZMM, blend, lanes, most, more);
        let number = test(self, FloatCond::Ord, RegMem::Register(a));
        let more = ExtraOperands { second: Some(value), mask: Some(number), zeroing: true, ..ExtraOperands::default() };
        self.make(ZMM, and, lanes, RegMem::Register(value), more)
    }
}
