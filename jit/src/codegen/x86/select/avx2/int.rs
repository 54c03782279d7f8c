//! Integer ops on lanes that take several instructions.

use clift_kir::dfg::ConstData;
use clift_kir::ops::{IntOp, OpClass};
use clift_kir::{Elem, Imm, Inst, IntCond, Opcode, Type, Value};
use regalloc2::VReg;

use crate::codegen::x86::code::{GPR, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::select::{ExtraOperands, Immediate, NO_DIGIT, RegMem, Selector, size, wrong_imm};
use crate::codegen::x86::table as t;
use crate::codegen::{Saturating, Shift};

/// Opcode extensions of shifts by an immediate.
const RIGHT: u8 = 2;
const ARITHMETIC_RIGHT: u8 = 4;
const LEFT: u8 = 6;

/// Whether there is an instruction for an op on lanes of so many bytes, or a sequence of instructions that is better than
/// scalars.
pub(in crate::codegen::x86) fn native(op: Opcode, bytes: u32) -> bool {
    use IntOp as O;
    let OpClass::Int(op) = op.class() else { return false };
    match op {
        O::Imul => bytes > 1,
        O::Umulh | O::Smulh => matches!(bytes, 2 | 4),
        O::Shl | O::Lshr | O::Ashr => bytes > 1,
        O::Rotl => bytes >= 4,
        O::Popcnt => bytes == 1,
        O::Clz | O::Ctz | O::Bitrev | O::Udiv | O::Sdiv | O::Urem | O::Srem => false,
        O::Iadd
        | O::Isub
        | O::Ineg
        | O::Iabs
        | O::UaddSat
        | O::SaddSat
        | O::UsubSat
        | O::SsubSat
        | O::Umin
        | O::Umax
        | O::Smin
        | O::Smax
        | O::And
        | O::Or
        | O::Xor
        | O::Not
        | O::Icmp => true,
    }
}

/// Whether lanes of so many bytes can be shifted by a count each.
pub(in crate::codegen::x86) fn varying_shift(bytes: u32) -> bool {
    bytes >= 4
}

fn equal_row(bytes: u32) -> InstRow {
    match bytes {
        1 => t::VPCMPEQB,
        2 => t::VPCMPEQW,
        4 => t::VPCMPEQD,
        _ => t::VPCMPEQQ,
    }
}

fn greater_row(bytes: u32) -> InstRow {
    match bytes {
        1 => t::VPCMPGTB,
        2 => t::VPCMPGTW,
        4 => t::VPCMPGTD,
        _ => t::VPCMPGTQ,
    }
}

fn unsigned_extremes(bytes: u32) -> [InstRow; 2] {
    match bytes {
        1 => [t::VPMINUB, t::VPMAXUB],
        2 => [t::VPMINUW, t::VPMAXUW],
        _ => [t::VPMINUD, t::VPMAXUD],
    }
}

impl Selector<'_> {
    /// An op that takes other instructions than with AVX-512.
    pub(in crate::codegen::x86::select) fn vector_int_avx2(&mut self, op: IntOp, inst: Inst, ty: Type) -> Option<VReg> {
        use IntOp as O;
        let data = self.legal.dfg.inst(inst);
        let (bytes, args) = (ty.elem.bytes(), &data.args);
        Some(match op {
            O::Not => {
                let (a, ones) = (self.get(args[0]), self.ones());
                self.v2(t::VPXORD, size(ty), a, RegMem::Register(ones))
            }
            O::Icmp => {
                let Imm::IntCond(cond) = data.imm else { wrong_imm(&data.imm) };
                self.vector_compare(cond, ty, args[0], args[1])
            }
            O::Shl | O::Lshr | O::Ashr | O::Rotl => self.shift_lanes(inst, ty),
            O::UaddSat | O::UsubSat | O::SaddSat | O::SsubSat if bytes >= 4 => self.saturate(inst, ty),
            O::Umin | O::Umax | O::Smin | O::Smax if bytes == 8 => self.long_extreme(inst, ty),
            O::Iabs if bytes == 8 => {
                let a = self.get(args[0]);
                self.long_abs(a, ty)
            }
            O::Imul if bytes == 8 => match self.widening_multiply(ty, args[0], args[1]) {
                Some(product) => product,
                None => self.long_multiply(ty, args[0], args[1]),
            },
            O::Iadd
            | O::Isub
            | O::Imul
            | O::Umulh
            | O::Smulh
            | O::Udiv
            | O::Sdiv
            | O::Urem
            | O::Srem
            | O::Ineg
            | O::Iabs
            | O::UaddSat
            | O::SaddSat
            | O::UsubSat
            | O::SsubSat
            | O::Umin
            | O::Umax
            | O::Smin
            | O::Smax
            | O::And
            | O::Or
            | O::Xor
            | O::Clz
            | O::Ctz
            | O::Popcnt
            | O::Bitrev => return None,
        })
    }

    /// A comparison of lanes.
    pub(in crate::codegen::x86::select) fn vector_compare(
        &mut self,
        cond: IntCond,
        ty: Type,
        a: Value,
        b: Value,
    ) -> VReg {
        let (cond, a, b) = if self.constant(a).is_some() { (cond.swapped(), b, a) } else { (cond, a, b) };
        let (a, b) = (self.get(a), self.get(b));
        self.compare_registers(cond, ty, a, b)
    }

    pub(super) fn compare_registers(&mut self, cond: IntCond, ty: Type, a: VReg, b: VReg) -> VReg {
        let (bytes, size) = (ty.elem.bytes(), size(ty));
        let test = |this: &mut Self, row: InstRow, a: VReg, b: VReg| {
            let result = this.v2(row, size, a, RegMem::Register(b));
            this.as_mask(result, bytes)
        };
        match cond {
            IntCond::Eq => test(self, equal_row(bytes), a, b),
            IntCond::Sgt => test(self, greater_row(bytes), a, b),
            IntCond::Slt => test(self, greater_row(bytes), b, a),
            IntCond::Ule | IntCond::Uge if bytes < 8 => {
                let extreme = unsigned_extremes(bytes)[usize::from(cond == IntCond::Uge)];
                let extreme = self.v2(extreme, size, a, RegMem::Register(b));
                test(self, equal_row(bytes), extreme, a)
            }
            IntCond::Ugt | IntCond::Ult if bytes == 8 => {
                let sign = self.lanes_of(ty.with_elem(Elem::I64), 1 << 63);
                let (a, b) = (self.v2(t::VPXORD, size, a, sign), self.v2(t::VPXORD, size, b, sign));
                let cond = if cond == IntCond::Ugt { IntCond::Sgt } else { IntCond::Slt };
                self.compare_registers(cond, ty, a, b)
            }
            IntCond::Ne | IntCond::Sle | IntCond::Sge | IntCond::Ule | IntCond::Uge | IntCond::Ugt | IntCond::Ult => {
                let inverse = self.compare_registers(cond.inverse(), ty, a, b);
                self.complement(inverse)
            }
        }
    }

    /// The minimum or maximum of 64-bit lanes.
    pub(in crate::codegen::x86::select) fn long_extreme(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (a, b) = (self.get(data.args[0]), self.get(data.args[1]));
        let cond = if matches!(data.op, Opcode::Smin | Opcode::Smax) { IntCond::Sgt } else { IntCond::Ugt };
        let largest = matches!(data.op, Opcode::Smax | Opcode::Umax);
        let greater = self.compare_registers(cond, ty, a, b);
        let (chosen, other) = if largest { (a, b) } else { (b, a) };
        self.blend(ty, greater, chosen, other)
    }

    /// The magnitude of 64-bit lanes.
    pub(in crate::codegen::x86::select) fn long_abs(&mut self, a: VReg, ty: Type) -> VReg {
        let sign = self.signs(a, ty);
        let flipped = self.v2(t::VPXORD, size(ty), a, RegMem::Register(sign));
        self.v2(t::VPSUBQ, size(ty), flipped, RegMem::Register(sign))
    }

    /// All bits of a lane where it is negative.
    fn signs(&mut self, a: VReg, ty: Type) -> VReg {
        match ty.elem.bytes() {
            2 => self.shifted(t::VPSHIFTW_IMM, ARITHMETIC_RIGHT, size(ty), a, 15),
            4 => self.shifted(t::VPSHIFTD_IMM, ARITHMETIC_RIGHT, size(ty), a, 31),
            _ => {
                let zero = self.zero();
                self.v2(greater_row(ty.elem.bytes()), size(ty), zero, RegMem::Register(a))
            }
        }
    }

    /// The low halves of products of 64-bit lanes: the product of the lower words, and those of a lower and an upper one.
    pub(in crate::codegen::x86::select) fn long_multiply(&mut self, ty: Type, a: Value, b: Value) -> VReg {
        let size = size(ty);
        let (a, b) = if self.constant(a).is_some() { (b, a) } else { (a, b) };
        if let Some(factor) = self.legal.dfg.as_splat_bits(b).filter(|&factor| u32::try_from(factor).is_ok()) {
            // The upper word of a lane times the factor, already in its place.
            let a = self.get(a);
            let upper = self.lanes_of(ty, factor << 32);
            let cross = self.v2(t::VPMULLD, size, a, upper);
            let factor = self.lanes_of(ty, factor);
            let low = self.v2(t::VPMULUDQ, size, a, factor);
            return self.v2(t::VPADDQ, size, low, RegMem::Register(cross));
        }
        let (a, b) = (self.get(a), self.get(b));
        let exchanged = self.v1_imm(t::VPSHUFD, size, RegMem::Register(b), 0xb1);
        let cross = self.v2(t::VPMULLD, size, a, RegMem::Register(exchanged));
        let upper = self.shifted(t::VPSHIFTQ_IMM, RIGHT, size, cross, 32);
        let cross = self.v2(t::VPADDD, size, cross, RegMem::Register(upper));
        let cross = self.shifted(t::VPSHIFTQ_IMM, LEFT, size, cross, 32);
        let low = self.v2(t::VPMULUDQ, size, a, RegMem::Register(b));
        self.v2(t::VPADDQ, size, low, RegMem::Register(cross))
    }

    /// Halves of 64-bit products, of which the even and the odd ones are in a register each.
    pub(in crate::codegen::x86::select) fn product_halves(
        &mut self,
        ty: Type,
        even: VReg,
        odd: VReg,
        high: bool,
    ) -> VReg {
        let size = size(ty);
        let (even, odd) = match high {
            true => (self.shifted(t::VPSHIFTQ_IMM, RIGHT, size, even, 32), odd),
            false => (even, self.shifted(t::VPSHIFTQ_IMM, LEFT, size, odd, 32)),
        };
        self.v2_imm(t::VPBLENDD, size, even, RegMem::Register(odd), 0xaa)
    }

    /// Saturating ops on lanes of four and eight bytes.
    pub(in crate::codegen::x86::select) fn saturate(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (size, long) = (size(ty), ty.elem.bits() == 64);
        let (a, b) = (self.get(data.args[0]), self.get(data.args[1]));
        let (add, sub) = if long { (t::VPADDQ, t::VPSUBQ) } else { (t::VPADDD, t::VPSUBD) };
        let op = Saturating::of(data.op);
        match op {
            Saturating::Sum => {
                let sum = self.v2(add, size, a, RegMem::Register(b));
                let over = self.compare_registers(IntCond::Ugt, ty, a, sum);
                self.v2(t::VPORD, size, sum, RegMem::Register(over))
            }
            Saturating::Difference => {
                let difference = self.v2(sub, size, a, RegMem::Register(b));
                let kept = self.compare_registers(IntCond::Uge, ty, a, b);
                self.v2(t::VPANDD, size, difference, RegMem::Register(kept))
            }
            Saturating::SignedSum | Saturating::SignedDifference => {
                let is_sum = op == Saturating::SignedSum;
                let value = self.v2(if is_sum { add } else { sub }, size, a, RegMem::Register(b));
                // Overflow shows in the sign bit: `(a ^ value) & (b ^ value)` for sums, `(a ^ value) & (a ^ b)` for differences.
                let against = self.v2(t::VPXORD, size, a, RegMem::Register(value));
                let second = if is_sum { value } else { a };
                let other = self.v2(t::VPXORD, size, b, RegMem::Register(second));
                let overflow = self.v2(t::VPANDD, size, against, RegMem::Register(other));
                let fill = self.signs(a, ty);
                let most = self.lanes_of(ty, ty.elem.mask() >> 1);
                let clamped = self.v2(t::VPXORD, size, fill, most);
                // The blend depends on the top bit of a lane only.
                let row = if long { t::VBLENDVPD } else { t::VBLENDVPS };
                self.blend_by(row, size, overflow, clamped, value)
            }
        }
    }

    // -- shifts --

    pub(in crate::codegen::x86::select) fn shift_lanes(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let bits = ty.elem.bits();
        let a = self.get(data.args[0]);
        if let Some(count) = self.legal.dfg.as_splat_bits(data.args[1]) {
            return self.shift_by_constant(data.op, ty, a, (count % u64::from(bits)) as i64);
        }
        if bits == 16 {
            return self.shift_words(data.op, ty, a, data.args[1]);
        }
        let size = size(ty);
        let count = self.get(data.args[1]);
        let most = self.lanes_of(ty, u64::from(bits) - 1);
        let count = self.v2(t::VPANDD, size, count, most);
        let (left, right) = if bits == 32 { (t::VPSLLVD, t::VPSRLVD) } else { (t::VPSLLVQ, t::VPSRLVQ) };
        match Shift::of(data.op) {
            Shift::Left => self.v2(left, size, a, RegMem::Register(count)),
            Shift::Right => self.v2(right, size, a, RegMem::Register(count)),
            Shift::ArithmeticRight if bits == 32 => self.v2(t::VPSRAVD, size, a, RegMem::Register(count)),
            Shift::ArithmeticRight => {
                let value = self.v2(right, size, a, RegMem::Register(count));
                let sign = self.vector_constant(&ConstData::splat(ty, 1 << 63));
                let sign = self.v2(right, size, sign, RegMem::Register(count));
                self.extended_sign(size, value, RegMem::Register(sign))
            }
            Shift::RotateLeft => {
                // A shift by all bits gives zero.
                let width = self.vector_constant(&ConstData::splat(ty, bits.into()));
                let sub = if bits == 32 { t::VPSUBD } else { t::VPSUBQ };
                let back = self.v2(sub, size, width, RegMem::Register(count));
                let up = self.v2(left, size, a, RegMem::Register(count));
                let down = self.v2(right, size, a, RegMem::Register(back));
                self.v2(t::VPORD, size, up, RegMem::Register(down))
            }
        }
    }

    /// 64-bit lanes whose sign is in a lower bit, with that bit in all bits above.
    fn extended_sign(&mut self, size: OperandSize, value: VReg, sign: RegMem) -> VReg {
        let flipped = self.v2(t::VPXORD, size, value, sign);
        self.v2(t::VPSUBQ, size, flipped, sign)
    }

    fn shift_by_constant(&mut self, op: Opcode, ty: Type, a: VReg, count: i64) -> VReg {
        let (size, bits) = (size(ty), i64::from(ty.elem.bits()));
        let row = match bits {
            16 => t::VPSHIFTW_IMM,
            32 => t::VPSHIFTD_IMM,
            _ => t::VPSHIFTQ_IMM,
        };
        match Shift::of(op) {
            Shift::Left => self.shifted(row, LEFT, size, a, count),
            Shift::Right => self.shifted(row, RIGHT, size, a, count),
            Shift::ArithmeticRight if bits < 64 => self.shifted(row, ARITHMETIC_RIGHT, size, a, count),
            Shift::ArithmeticRight if count == 63 => self.signs(a, ty),
            Shift::ArithmeticRight => {
                let value = self.shifted(row, RIGHT, size, a, count);
                let sign = self.lanes_of(ty, 1 << (63 - count));
                self.extended_sign(size, value, sign)
            }
            Shift::RotateLeft if count == 0 => a,
            Shift::RotateLeft => {
                let up = self.shifted(row, LEFT, size, a, count);
                let down = self.shifted(row, RIGHT, size, a, bits - count);
                self.v2(t::VPORD, size, up, RegMem::Register(down))
            }
        }
    }

    /// Shifts 16-bit lanes by the same count.
    fn shift_words(&mut self, op: Opcode, ty: Type, a: VReg, count: Value) -> VReg {
        let row = match Shift::of(op) {
            Shift::Left => t::VPSLLW,
            Shift::Right => t::VPSRLW,
            Shift::ArithmeticRight => t::VPSRAW,
            Shift::RotateLeft => unreachable!("broken invariant: a rotation of words by the same count"),
        };
        let count = self.get(count);
        let first = self.fresh(GPR);
        let more = ExtraOperands { immediate: Some((0, 1)), ..ExtraOperands::default() };
        self.push_row(t::VPEXTRW, OperandSize::S32, Some(first), Some(count), NO_DIGIT, RegMem::Result, more);
        let first = self.g_imm(Immediate::And, OperandSize::S32, first, 15);
        let count = self.v1(t::VMOVD_FROM_SCALAR, OperandSize::S32, RegMem::Register(first));
        self.make(
            ZMM,
            row,
            size(ty),
            RegMem::Register(count),
            ExtraOperands { second: Some(a), ..ExtraOperands::default() },
        )
    }
}
