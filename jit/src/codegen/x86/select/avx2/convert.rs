//! Conversions that AVX-512 has instructions for.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, FloatCond, Type};
use regalloc2::VReg;

use super::masks::lanes_size;
use crate::codegen::x86::code::{Cond, GPR, ZMM};
use crate::codegen::x86::encode::OperandSize;
use crate::codegen::x86::select::float::{CMP, FMA213, FloatRowsWithoutHalves, of, predicate};
use crate::codegen::x86::select::{ExtraOperands, Immediate, RegMem, Selector, size};
use crate::codegen::x86::table as t;

const MIN: FloatRowsWithoutHalves = [t::VMINPS, t::VMINPD, t::VMINSS, t::VMINSD];
const MAX: FloatRowsWithoutHalves = [t::VMAXPS, t::VMAXPD, t::VMAXSS, t::VMAXSD];
const ADD: FloatRowsWithoutHalves = [t::VADDPS, t::VADDPD, t::VADDSS, t::VADDSD];
const SUB: FloatRowsWithoutHalves = [t::VSUBPS, t::VSUBPD, t::VSUBSS, t::VSUBSD];

/// The bits of a number as a single or a double.
fn bits_of(elem: Elem, number: f64) -> u64 {
    if elem == Elem::F64 { number.to_bits() } else { (number as f32).to_bits().into() }
}

impl Selector<'_> {
    /// A number in all lanes, or in a scalar.
    fn number_in(&mut self, ty: Type, number: f64) -> VReg {
        self.vector_constant(&ConstData::splat(ty, bits_of(ty.elem, number)))
    }

    /// The low bits of each lane.
    pub(in crate::codegen::x86::select) fn truncated(&mut self, a: VReg, from: Type, to: Type) -> VReg {
        let (wide, narrow) = (from.elem.bytes(), to.elem.bytes());
        let long = size(from) == OperandSize::Y;
        if wide == 8 && narrow == 4 {
            return match long {
                true => self.permuted_words(a, &[0, 2, 4, 6, 0, 2, 4, 6]),
                false => self.v1_imm(t::VPSHUFD, OperandSize::X, RegMem::Register(a), 0x08),
            };
        }
        // To the start of each 128 bits, then together.
        let each = 16 / wide;
        let number = |at: u64| match at % 16 {
            at if at < u64::from(each * narrow) => at / u64::from(narrow) * u64::from(wide) + at % u64::from(narrow),
            _ => 0x80,
        };
        let held = if long { 32 } else { 16 };
        let numbers: Vec<u64> = (0..held).map(number).collect();
        let numbers = self.vector_constant(&ConstData::new(Type::vector(Elem::I8, held as u32), &numbers));
        let packed = self.v2(t::VPSHUFB, size(from), a, RegMem::Register(numbers));
        match (long, each * narrow) {
            (false, _) => packed,
            (true, 8) => self.v1_imm(t::VPERMQ_IMM, OperandSize::Y, RegMem::Register(packed), 0x08),
            (true, 4) => self.permuted_words(packed, &[0, 4, 0, 4, 0, 4, 0, 4]),
            (true, _) => {
                let upper = self.upper_128(packed);
                self.v2(t::VPUNPCKLWD, OperandSize::X, packed, RegMem::Register(upper))
            }
        }
    }

    /// A mask as 0 and 1, or as 0 and -1.
    pub(in crate::codegen::x86::select) fn mask_to_integers(&mut self, mask: VReg, to: Type, signed: bool) -> VReg {
        let lanes = self.mask_of_width(mask, to.lanes(), to.elem.bytes());
        if signed {
            return lanes;
        }
        let one = self.lanes_of(to, 1);
        self.v2(t::VPANDD, size(to), lanes, one)
    }

    /// Lanes of 32-bit integers as floats.
    pub(in crate::codegen::x86::select) fn lanes_to_float(
        &mut self,
        a: VReg,
        from: Type,
        to: Type,
        signed: bool,
    ) -> VReg {
        let double = to.elem == Elem::F64;
        match (double, signed) {
            (true, true) => self.v1(t::VCVTDQ2PD, size(to), RegMem::Register(a)),
            (false, true) => self.v1(t::VCVTDQ2PS, size(to), RegMem::Register(a)),
            (true, false) => {
                // As signed numbers that are 2^31 less, which is exact.
                let sign = self.lanes_of(from, 1 << 31);
                let less = self.v2(t::VPXORD, size(from), a, sign);
                let value = self.v1(t::VCVTDQ2PD, size(to), RegMem::Register(less));
                let offset = self.number_in(to, 2f64.powi(31));
                self.v2(t::VADDPD, size(to), value, RegMem::Register(offset))
            }
            (false, false) => {
                // Both halves are exact, so the fused multiply-add is the only rounding.
                let low = self.lanes_of(from, 0xffff);
                let low = self.v2(t::VPANDD, size(from), a, low);
                let high = self.shifted(t::VPSHIFTD_IMM, 2, size(from), a, 16);
                let low = self.v1(t::VCVTDQ2PS, size(to), RegMem::Register(low));
                let high = self.v1(t::VCVTDQ2PS, size(to), RegMem::Register(high));
                let unit = self.number_in(to, 65536.0);
                self.v3(of(&FMA213[0], to), size(to), high, unit, RegMem::Register(low))
            }
        }
    }

    /// A scalar integer as a float.
    pub(in crate::codegen::x86::select) fn scalar_to_float(
        &mut self,
        a: VReg,
        from: Type,
        to: Type,
        signed: bool,
    ) -> VReg {
        let row = if to.elem == Elem::F64 { t::VCVTSI2SD } else { t::VCVTSI2SS };
        let convert = |this: &mut Self, a: VReg, size: OperandSize| {
            let rest = this.zero();
            this.v2(row, size, rest, RegMem::Register(a))
        };
        match (from.elem.bits(), signed) {
            (_, true) => convert(self, a, size(from)),
            (64, false) => {
                // Half of a number with the top bit set, where the lowest bit is kept for rounding, and twice the result.
                let half = self.g_digit(t::SHIFT_IMM, 5, OperandSize::S64, a, Some((1, 1)));
                let lowest = self.g_imm(Immediate::And, OperandSize::S32, a, 1);
                let half = self.g2(t::OR, OperandSize::S64, half, RegMem::Register(lowest));
                let sign = self.g_digit(t::SHIFT_IMM, 7, OperandSize::S64, a, Some((63, 1)));
                self.flags(t::TEST, OperandSize::S64, sign, RegMem::Register(sign));
                let taken = self.choose(Cond::NotEqual, OperandSize::S64, half, a);
                let value = convert(self, taken, OperandSize::S64);
                let twice = self.v2(of(&ADD, to), OperandSize::X, value, RegMem::Register(value));
                let mask = self.v1(t::VMOVD_FROM_SCALAR, OperandSize::S64, RegMem::Register(sign));
                self.blend(to, mask, twice, value)
            }
            _ => {
                let long = self.g1(t::MOV, OperandSize::S32, RegMem::Register(a));
                convert(self, long, OperandSize::S64)
            }
        }
    }

    /// Lanes of floats as 32-bit integers. If `saturates`, values out of range are clamped and NaN gives zero.
    pub(in crate::codegen::x86::select) fn lanes_to_int(
        &mut self,
        a: VReg,
        from: Type,
        signed: bool,
        saturates: bool,
    ) -> VReg {
        let double = from.elem == Elem::F64;
        let (lanes, vector) = (lanes_size(from.lanes(), 4), size(from));
        let row = if double { t::VCVTTPD2DQ } else { t::VCVTTPS2DQ };
        let convert = |this: &mut Self, a: VReg| this.v1(row, vector, RegMem::Register(a));
        let test = |this: &mut Self, cond: FloatCond, a: VReg, b: VReg| {
            let more =
                ExtraOperands { second: Some(a), immediate: Some((predicate(cond), 1)), ..ExtraOperands::default() };
            this.make(ZMM, of(&CMP, from), vector, RegMem::Register(b), more)
        };
        let ints = Type::vector(Elem::I32, from.lanes());
        match (signed, double) {
            (true, _) if !saturates => convert(self, a),
            (true, false) => {
                // Values out of range become the least integer.
                let value = convert(self, a);
                let limit = self.number_in(from, 2f64.powi(31));
                let above = test(self, FloatCond::Oge, a, limit);
                let value = self.v2(t::VPXORD, lanes, value, RegMem::Register(above));
                let number = test(self, FloatCond::Ord, a, a);
                self.v2(t::VPANDD, lanes, value, RegMem::Register(number))
            }
            (true, true) => {
                // The limits are exact. The comparison clears what is not a number.
                let number = test(self, FloatCond::Ord, a, a);
                let a = self.v2(t::VPANDD, vector, a, RegMem::Register(number));
                let (least, most) = (self.number_in(from, -2f64.powi(31)), self.number_in(from, 2f64.powi(31) - 1.0));
                let a = self.v2(of(&MAX, from), vector, a, RegMem::Register(least));
                let a = self.v2(of(&MIN, from), vector, a, RegMem::Register(most));
                convert(self, a)
            }
            (false, false) => {
                // The second operand is taken if one is not a number.
                let zero = self.zero();
                let a = self.v2(of(&MAX, from), vector, a, RegMem::Register(zero));
                let limit = self.number_in(from, 2f64.powi(31));
                let rest = self.v2(of(&SUB, from), vector, a, RegMem::Register(limit));
                let (low, high) = (convert(self, a), convert(self, rest));
                // Where the first conversion gave the least integer, the rest has the lower bits.
                let sign = self.shifted(t::VPSHIFTD_IMM, 4, lanes, low, 31);
                let high = self.v2(t::VPANDD, lanes, high, RegMem::Register(sign));
                let value = self.v2(t::VPORD, lanes, low, RegMem::Register(high));
                let limit = self.number_in(from, 2f64.powi(32));
                let above = test(self, FloatCond::Oge, a, limit);
                self.v2(t::VPORD, lanes, value, RegMem::Register(above))
            }
            (false, true) => {
                let zero = self.zero();
                let a = self.v2(of(&MAX, from), vector, a, RegMem::Register(zero));
                let most = self.number_in(from, 2f64.powi(32) - 1.0);
                let a = self.v2(of(&MIN, from), vector, a, RegMem::Register(most));
                // Rounded first, so that nothing crosses zero.
                let more = ExtraOperands { immediate: Some((8 | 3, 1)), ..ExtraOperands::default() };
                let a = self.make(ZMM, t::VRNDSCALEPD, vector, RegMem::Register(a), more);
                let offset = self.number_in(from, 2f64.powi(31));
                let a = self.v2(of(&SUB, from), vector, a, RegMem::Register(offset));
                let value = convert(self, a);
                let sign = self.lanes_of(ints, 1 << 31);
                self.v2(t::VPXORD, lanes, value, sign)
            }
        }
    }

    /// A scalar float as an integer. Values out of range are clamped and NaN gives zero.
    pub(in crate::codegen::x86::select) fn scalar_to_int(
        &mut self,
        a: VReg,
        from: Type,
        to: Type,
        signed: bool,
    ) -> VReg {
        let double = from.elem == Elem::F64;
        let (row, compare) = if double { (t::VCVTTSD2SI, t::VUCOMISD) } else { (t::VCVTTSS2SI, t::VUCOMISS) };
        let bits = to.elem.bits();
        let convert = |this: &mut Self, a: VReg, size: OperandSize| {
            this.make(GPR, row, size, RegMem::Register(a), ExtraOperands::default())
        };
        if signed {
            let value = convert(self, a, size(to));
            let limit = self.number_in(from, 2f64.powi(bits as i32 - 1));
            let most = self.number((to.elem.mask() >> 1) as i64, bits);
            self.flags(compare, OperandSize::X, a, RegMem::Register(limit));
            let value = self.choose(Cond::AboveOrEqual, size(to), most, value);
            let zero = self.number(0, 64);
            self.flags(compare, OperandSize::X, a, RegMem::Register(a));
            return self.choose(Cond::Parity, size(to), zero, value);
        }
        // Negative numbers and NaN become zero: the second operand is taken if one is not a number.
        let zero = self.zero();
        let a = self.v2(of(&MAX, from), OperandSize::X, a, RegMem::Register(zero));
        let limit = self.number_in(from, 2f64.powi(bits as i32));
        let most = self.number(-1, 64);
        let value = convert(self, a, OperandSize::S64);
        let value = if bits == 64 {
            let half = self.number_in(from, 2f64.powi(63));
            let rest = self.v2(of(&SUB, from), OperandSize::X, a, RegMem::Register(half));
            let rest = convert(self, rest, OperandSize::S64);
            // Where the first conversion gave the least integer, the rest has the lower bits.
            let sign = self.g_digit(t::SHIFT_IMM, 7, OperandSize::S64, value, Some((63, 1)));
            let rest = self.g2(t::AND, OperandSize::S64, rest, RegMem::Register(sign));
            self.g2(t::OR, OperandSize::S64, value, RegMem::Register(rest))
        } else {
            value
        };
        self.flags(compare, OperandSize::X, a, RegMem::Register(limit));
        self.choose(Cond::AboveOrEqual, OperandSize::S64, most, value)
    }
}
