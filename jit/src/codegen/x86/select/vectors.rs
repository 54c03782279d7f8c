//! Integer ops on vectors. Most are one row of the table for each lane width.

use clift_kir::dfg::ConstData;
use clift_kir::ops::IntOp;
use clift_kir::{Elem, Imm, Inst, IntCond, Opcode, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{ExtraOperands, RegMem, Selector, size, wrong_imm};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{InstKind, MASK, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;
use crate::codegen::{Saturating, Shift, not_legal};

/// Rows for lanes of 1, 2, 4 and 8 bytes.
type LaneRows = [Option<InstRow>; 4];

const ADD: LaneRows = [Some(t::VPADDB), Some(t::VPADDW), Some(t::VPADDD), Some(t::VPADDQ)];
const SUB: LaneRows = [Some(t::VPSUBB), Some(t::VPSUBW), Some(t::VPSUBD), Some(t::VPSUBQ)];
const MUL: LaneRows = [None, Some(t::VPMULLW), Some(t::VPMULLD), Some(t::VPMULLQ)];
const UMULH: LaneRows = [None, Some(t::VPMULHUW), None, None];
const SMULH: LaneRows = [None, Some(t::VPMULHW), None, None];
const ABS: LaneRows = [Some(t::VPABSB), Some(t::VPABSW), Some(t::VPABSD), Some(t::VPABSQ)];
const UADD_SAT: LaneRows = [Some(t::VPADDUSB), Some(t::VPADDUSW), None, None];
const SADD_SAT: LaneRows = [Some(t::VPADDSB), Some(t::VPADDSW), None, None];
const USUB_SAT: LaneRows = [Some(t::VPSUBUSB), Some(t::VPSUBUSW), None, None];
const SSUB_SAT: LaneRows = [Some(t::VPSUBSB), Some(t::VPSUBSW), None, None];
const UMIN: LaneRows = [Some(t::VPMINUB), Some(t::VPMINUW), Some(t::VPMINUD), Some(t::VPMINUQ)];
const UMAX: LaneRows = [Some(t::VPMAXUB), Some(t::VPMAXUW), Some(t::VPMAXUD), Some(t::VPMAXUQ)];
const SMIN: LaneRows = [Some(t::VPMINSB), Some(t::VPMINSW), Some(t::VPMINSD), Some(t::VPMINSQ)];
const SMAX: LaneRows = [Some(t::VPMAXSB), Some(t::VPMAXSW), Some(t::VPMAXSD), Some(t::VPMAXSQ)];
const SHL: LaneRows = [None, Some(t::VPSLLVW), Some(t::VPSLLVD), Some(t::VPSLLVQ)];
const LSHR: LaneRows = [None, Some(t::VPSRLVW), Some(t::VPSRLVD), Some(t::VPSRLVQ)];
const ASHR: LaneRows = [None, Some(t::VPSRAVW), Some(t::VPSRAVD), Some(t::VPSRAVQ)];
const ROTL: LaneRows = [None, None, Some(t::VPROLVD), Some(t::VPROLVQ)];
const LZCNT: LaneRows = [None, None, Some(t::VPLZCNTD), Some(t::VPLZCNTQ)];
const POPCNT: LaneRows = [Some(t::VPOPCNTB), Some(t::VPOPCNTW), Some(t::VPOPCNTD), Some(t::VPOPCNTQ)];
const CMP: LaneRows = [Some(t::VPCMPB), Some(t::VPCMPW), Some(t::VPCMPD), Some(t::VPCMPQ)];
const CMPU: LaneRows = [Some(t::VPCMPUB), Some(t::VPCMPUW), Some(t::VPCMPUD), Some(t::VPCMPUQ)];
const TESTM: LaneRows = [Some(t::VPTESTMB), Some(t::VPTESTMW), Some(t::VPTESTMD), Some(t::VPTESTMQ)];
const TESTNM: LaneRows = [Some(t::VPTESTNMB), Some(t::VPTESTNMW), Some(t::VPTESTNMD), Some(t::VPTESTNMQ)];
const AND: LaneRows = [Some(t::VPANDD), Some(t::VPANDD), Some(t::VPANDD), Some(t::VPANDQ)];
const OR: LaneRows = [Some(t::VPORD), Some(t::VPORD), Some(t::VPORD), Some(t::VPORQ)];
const XOR: LaneRows = [Some(t::VPXORD), Some(t::VPXORD), Some(t::VPXORD), Some(t::VPXORQ)];

/// The ops that are a single vector instruction.
const ROWS: [(Opcode, &LaneRows); 23] = [
    (Opcode::Iadd, &ADD),
    (Opcode::Isub, &SUB),
    (Opcode::Imul, &MUL),
    (Opcode::Umulh, &UMULH),
    (Opcode::Smulh, &SMULH),
    (Opcode::Iabs, &ABS),
    (Opcode::UaddSat, &UADD_SAT),
    (Opcode::SaddSat, &SADD_SAT),
    (Opcode::UsubSat, &USUB_SAT),
    (Opcode::SsubSat, &SSUB_SAT),
    (Opcode::Umin, &UMIN),
    (Opcode::Umax, &UMAX),
    (Opcode::Smin, &SMIN),
    (Opcode::Smax, &SMAX),
    (Opcode::And, &AND),
    (Opcode::Or, &OR),
    (Opcode::Xor, &XOR),
    (Opcode::Shl, &SHL),
    (Opcode::Lshr, &LSHR),
    (Opcode::Ashr, &ASHR),
    (Opcode::Rotl, &ROTL),
    (Opcode::Clz, &LZCNT),
    (Opcode::Popcnt, &POPCNT),
];

/// Whether vectors have an instruction for an op, or a sequence of instructions that is better than scalars.
pub(in crate::codegen::x86) fn native(level: Level, op: Opcode, bytes: u32) -> bool {
    if level == Level::Avx2 {
        return super::avx2::native_int(op, bytes);
    }
    let saturates = matches!(op, Opcode::UaddSat | Opcode::UsubSat | Opcode::SaddSat | Opcode::SsubSat);
    if saturates || matches!(op, Opcode::Ineg | Opcode::Not) || is_high_multiply(op) && bytes == 4 {
        true
    } else if op == Opcode::Popcnt && level == Level::Skylake {
        bytes == 1
    } else {
        rows(op).is_some_and(|rows| rows[bytes.trailing_zeros() as usize].is_some())
    }
}

/// Whether an op gives the upper halves of products.
pub(super) fn is_high_multiply(op: Opcode) -> bool {
    matches!(op, Opcode::Umulh | Opcode::Smulh)
}

/// The rows of an op that is a single vector instruction.
fn rows(op: Opcode) -> Option<&'static LaneRows> {
    ROWS.iter().find(|(of, _)| *of == op).map(|&(_, rows)| rows)
}

/// Whether an op is a single instruction that works lane by lane.
pub(super) fn is_lanewise(op: Opcode) -> bool {
    rows(op).is_some()
}

/// The row for the lanes of a type.
fn of(rows: &LaneRows, ty: Type) -> InstRow {
    let bytes = ty.elem.bytes();
    rows[bytes.trailing_zeros() as usize].unwrap_or_else(|| unreachable!("broken invariant: no row for {ty}"))
}

/// The immediate of a comparison of lanes, and whether it is signed.
fn predicate(cond: IntCond) -> (i64, bool) {
    match cond {
        IntCond::Eq => (0, true),
        IntCond::Ne => (4, true),
        IntCond::Ult => (1, false),
        IntCond::Ule => (2, false),
        IntCond::Ugt => (6, false),
        IntCond::Uge => (5, false),
        IntCond::Slt => (1, true),
        IntCond::Sle => (2, true),
        IntCond::Sgt => (6, true),
        IntCond::Sge => (5, true),
    }
}

impl Selector<'_> {
    pub(super) fn vector_int(&mut self, op: IntOp, inst: Inst, ty: Type) -> VReg {
        use IntOp as O;
        if self.level == Level::Avx2
            && let Some(result) = self.vector_int_avx2(op, inst, ty)
        {
            return result;
        }
        if let Some(result) = self.ternary_logic(inst, ty) {
            return result;
        }
        let data = self.legal.dfg.inst(inst);
        let size = size(ty);
        match op {
            O::Ineg => {
                let zero = self.zero();
                let a = self.operand(data.args[0]);
                self.v2(of(&SUB, ty), size, zero, a)
            }
            O::Not => {
                let a = self.get(data.args[0]);
                let more = ExtraOperands {
                    tied: Some(a),
                    second: Some(a),
                    immediate: Some((0x0f, 1)),
                    ..ExtraOperands::default()
                };
                self.make(ZMM, t::VPTERNLOGD, size, RegMem::Register(a), more)
            }
            O::Popcnt if self.level < Level::IceLake => self.byte_population_count(data.args[0], size),
            O::Iabs | O::Clz | O::Popcnt => {
                let a = self.get(data.args[0]);
                let Some(row) = rows(data.op) else { not_legal(op) };
                self.v1(of(row, ty), size, RegMem::Register(a))
            }
            O::Shl | O::Lshr | O::Ashr | O::Rotl => self.vector_shift(inst, ty),
            O::UaddSat | O::UsubSat | O::SaddSat | O::SsubSat if ty.elem.bits() >= 32 => self.vector_saturate(inst, ty),
            O::Icmp => {
                let Imm::IntCond(cond) = data.imm else { wrong_imm(&data.imm) };
                self.compare_lanes(cond, ty, data.args[0], data.args[1], None)
            }
            O::Umulh | O::Smulh if ty.elem.bits() == 32 => self.high_words(inst, ty),
            O::Udiv | O::Sdiv | O::Urem | O::Srem | O::Ctz | O::Bitrev => not_legal(op),
            O::Iadd
            | O::Isub
            | O::Imul
            | O::Umulh
            | O::Smulh
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
            | O::Xor => {
                let op = data.op;
                let Some(rows) = rows(op) else { not_legal(op) };
                // An operand in memory is the last one.
                let swaps = self.is_memory(data.args[0]) && !self.is_memory(data.args[1]);
                let (a, b) = match op.commutes() && swaps {
                    true => (data.args[1], data.args[0]),
                    false => (data.args[0], data.args[1]),
                };
                if op == Opcode::Imul
                    && let Some(product) = self.widening_multiply(ty, a, b).or_else(|| self.low_words(ty, a, b))
                {
                    return product;
                }
                if let Some(sum) = self.add_mask(op, ty, a, b) {
                    return sum;
                }
                let a = self.get(a);
                let b = self.operand(b);
                self.v2(of(rows, ty), size, a, b)
            }
        }
    }

    /// The population count of each byte: the sum of table entries for its two halves.
    fn byte_population_count(&mut self, a: Value, size: OperandSize) -> VReg {
        const COUNTS: [u64; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
        let a = self.get(a);
        let (table, low): (Vec<u64>, Vec<u64>) =
            (0..self.level.vector_bytes() as usize).map(|lane| (COUNTS[lane % 16], 0x0f)).unzip();
        let bytes = Type::vector(Elem::I8, self.level.vector_bytes());
        let table = self.vector_constant(&ConstData::new(bytes, &table));
        let low = self.vector_constant(&ConstData::new(bytes, &low));
        let upper = self.shifted(t::VPSHIFTW_IMM, 2, size, a, 4);
        let [lower, upper] = [a, upper].map(|half| {
            let half = self.v2(t::VPANDD, size, half, RegMem::Register(low));
            self.v2(t::VPSHUFB, size, table, RegMem::Register(half))
        });
        self.v2(t::VPADDB, size, lower, RegMem::Register(upper))
    }

    /// A comparison of lanes, or of those in a mask.
    pub(super) fn compare_lanes(&mut self, cond: IntCond, ty: Type, a: Value, b: Value, mask: Option<VReg>) -> VReg {
        let (cond, a, b) = if self.constant(a).is_some() { (cond.swapped(), b, a) } else { (cond, a, b) };
        if let Some(result) = self.test_bits(cond, ty, a, b, mask) {
            return result;
        }
        let (immediate, signed) = predicate(cond);
        let row = of(if signed { &CMP } else { &CMPU }, ty);
        let a = self.get(a);
        let b = self.operand(b);
        let more = ExtraOperands { second: Some(a), mask, immediate: Some((immediate, 1)), ..ExtraOperands::default() };
        self.make(MASK, row, size(ty), b, more)
    }

    /// A test instruction for `(a & b) != 0` or `== 0`, if the conjunction has no other use.
    fn test_bits(&mut self, cond: IntCond, ty: Type, a: Value, zero: Value, mask: Option<VReg>) -> Option<VReg> {
        let rows = match cond {
            IntCond::Eq => &TESTNM,
            IntCond::Ne => &TESTM,
            IntCond::Ult
            | IntCond::Ule
            | IntCond::Ugt
            | IntCond::Uge
            | IntCond::Slt
            | IntCond::Sle
            | IntCond::Sgt
            | IntCond::Sge => return None,
        };
        let both = self.legal.dfg.inst(self.legal.dfg.def_inst(a)?);
        if both.op != Opcode::And || !self.ends_here(a) || self.legal.dfg.as_splat_bits(zero) != Some(0) {
            return None;
        }
        let (one, other) = match self.constant(both.args[0]) {
            Some(_) => (both.args[1], both.args[0]),
            None => (both.args[0], both.args[1]),
        };
        let one = self.get(one);
        let other = self.operand(other);
        Some(self.make(
            MASK,
            of(rows, ty),
            size(ty),
            other,
            ExtraOperands { second: Some(one), mask, ..ExtraOperands::default() },
        ))
    }

    /// Adds or subtracts the lanes of a mask, which count as -1, with an instruction masked by it that subtracts or adds 1.
    fn add_mask(&mut self, op: Opcode, ty: Type, a: Value, b: Value) -> Option<VReg> {
        let lanes_of_mask = |value: Value| {
            let data = self.legal.dfg.inst(self.legal.dfg.def_inst(value)?);
            let extends = data.op == Opcode::Sext && self.legal.dfg.ty(data.args[0]).is_bool();
            extends.then(|| data.args[0])
        };
        let (value, mask) = match (op, lanes_of_mask(a), lanes_of_mask(b)) {
            (Opcode::Iadd | Opcode::Isub, _, Some(mask)) => (a, mask),
            (Opcode::Iadd, Some(mask), None) => (b, mask),
            _ => return None,
        };
        if ty.elem.bits() < 32 || self.masks_are_vectors() {
            return None;
        }
        let (value, mask) = (self.get(value), self.get(mask));
        let one = self.lanes_of(ty, 1);
        let row = of(if op == Opcode::Isub { &ADD } else { &SUB }, ty);
        let more =
            ExtraOperands { tied: Some(value), second: Some(value), mask: Some(mask), ..ExtraOperands::default() };
        Some(self.make(ZMM, row, size(ty), one, more))
    }

    fn vector_shift(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let shift = Shift::of(data.op);
        let (size, bits) = (size(ty), ty.elem.bits());
        let a = self.get(data.args[0]);
        if let Some(count) = self.legal.dfg.as_splat_bits(data.args[1]) {
            let count = (count % u64::from(bits)) as i64;
            let digit = match shift {
                Shift::Left => 6,
                Shift::Right => 2,
                Shift::ArithmeticRight => 4,
                Shift::RotateLeft => 1,
            };
            let row = match (bits, shift) {
                (16, _) => t::VPSHIFTW_IMM,
                (32, _) => t::VPSHIFTD_IMM,
                (_, Shift::ArithmeticRight | Shift::RotateLeft) => t::VPSRAQ_IMM,
                (_, Shift::Left | Shift::Right) => t::VPSHIFTQ_IMM,
            };
            return self.shifted(row, digit, size, a, count);
        }
        let row = match shift {
            Shift::Left => of(&SHL, ty),
            Shift::Right => of(&LSHR, ty),
            Shift::ArithmeticRight => of(&ASHR, ty),
            Shift::RotateLeft => of(&ROTL, ty),
        };
        let mut count = self.operand(data.args[1]);
        if shift != Shift::RotateLeft {
            // Rotations take the count modulo the width; shifts do not.
            let register = self.get(data.args[1]);
            let most = self.lanes_of(ty, u64::from(bits) - 1);
            count = RegMem::Register(self.v2(of(&AND, ty), size, register, most));
        }
        self.v2(row, size, a, count)
    }

    pub(super) fn zero(&mut self) -> VReg {
        let result = self.fresh(ZMM);
        self.push(InstKind::Zero, SmallVec::from_slice(&[Operand::reg_def(result)]));
        result
    }

    /// Saturating ops on lanes of four and eight bytes.
    fn vector_saturate(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let size = size(ty);
        let (a, b) = (self.get(data.args[0]), self.get(data.args[1]));
        let op = Saturating::of(data.op);
        let (value, overflow, clamped) = match op {
            Saturating::Sum => {
                let sum = self.v2(of(&ADD, ty), size, a, RegMem::Register(b));
                let more = ExtraOperands { second: Some(sum), immediate: Some((1, 1)), ..ExtraOperands::default() };
                let over = self.make(MASK, of(&CMPU, ty), size, RegMem::Register(a), more);
                let ones = self.fresh(ZMM);
                self.push(InstKind::Ones, SmallVec::from_slice(&[Operand::reg_def(ones)]));
                (sum, over, ones)
            }
            Saturating::Difference => {
                let difference = self.v2(of(&SUB, ty), size, a, RegMem::Register(b));
                let more = ExtraOperands { second: Some(a), immediate: Some((1, 1)), ..ExtraOperands::default() };
                let under = self.make(MASK, of(&CMPU, ty), size, RegMem::Register(b), more);
                let zero = self.zero();
                (difference, under, zero)
            }
            Saturating::SignedSum | Saturating::SignedDifference => {
                let add = op == Saturating::SignedSum;
                let value = self.v2(of(if add { &ADD } else { &SUB }, ty), size, a, RegMem::Register(b));
                // Overflow shows in the sign bit: `(a ^ value) & (b ^ value)` for sums, `(a ^ value) & (a ^ b)` for differences.
                let against = self.v2(t::VPXORQ, size, a, RegMem::Register(value));
                let second = if add { value } else { a };
                let other = self.v2(t::VPXORQ, size, b, RegMem::Register(second));
                let sign = self.v2(t::VPANDQ, size, against, RegMem::Register(other));
                let zero = self.zero();
                let more = ExtraOperands { second: Some(sign), immediate: Some((1, 1)), ..ExtraOperands::default() };
                let overflow = self.make(MASK, of(&CMP, ty), size, RegMem::Register(zero), more);
                let row = if ty.elem.bits() == 32 { t::VPSHIFTD_IMM } else { t::VPSRAQ_IMM };
                let fill = self.shifted(row, 4, size, a, i64::from(ty.elem.bits()) - 1);
                let most = self.lanes_of(ty, ty.elem.mask() >> 1);
                let clamped = self.v2(of(&XOR, ty), size, fill, most);
                (value, overflow, clamped)
            }
        };
        self.blend(ty, overflow, clamped, value)
    }
}
