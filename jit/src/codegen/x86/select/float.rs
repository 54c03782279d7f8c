//! Floating-point ops, on scalars and lanes alike.

use clift_kir::ops::FloatOp;
use clift_kir::{Elem, FloatCond, FpFlags, Imm, Inst, Opcode, Type, Value};
use regalloc2::VReg;

use super::{ExtraOperands, Immediate, RegMem, Selector, size, wrong_imm};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{Cond, GPR, MASK, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

/// Rows for vectors of singles and of doubles, for scalars of both, and for vectors and scalars of halves.
pub(super) type FloatRows = [InstRow; 6];

/// As [`FloatRows`], for instructions that have no forms for halves here.
pub(super) type FloatRowsWithoutHalves = [InstRow; 4];

const ADD: FloatRows = [t::VADDPS, t::VADDPD, t::VADDSS, t::VADDSD, t::VADDPH, t::VADDSH];
const SUB: FloatRows = [t::VSUBPS, t::VSUBPD, t::VSUBSS, t::VSUBSD, t::VSUBPH, t::VSUBSH];
pub(super) const MUL: FloatRows = [t::VMULPS, t::VMULPD, t::VMULSS, t::VMULSD, t::VMULPH, t::VMULSH];
const DIV: FloatRows = [t::VDIVPS, t::VDIVPD, t::VDIVSS, t::VDIVSD, t::VDIVPH, t::VDIVSH];
const MIN: FloatRows = [t::VMINPS, t::VMINPD, t::VMINSS, t::VMINSD, t::VMINPH, t::VMINSH];
const MAX: FloatRows = [t::VMAXPS, t::VMAXPD, t::VMAXSS, t::VMAXSD, t::VMAXPH, t::VMAXSH];
const SQRT: FloatRows = [t::VSQRTPS, t::VSQRTPD, t::VSQRTSS, t::VSQRTSD, t::VSQRTPH, t::VSQRTSH];
const ROUND: FloatRows =
    [t::VRNDSCALEPS, t::VRNDSCALEPD, t::VRNDSCALESS, t::VRNDSCALESD, t::VRNDSCALEPH, t::VRNDSCALESH];
/// Fused multiply-adds: `a * b + c`, `a * b - c`, `-(a * b) + c`, `-(a * b) - c`. The result overwrites a factor.
pub(super) const FMA213: [FloatRows; 4] = [
    [t::VFMADD213PS, t::VFMADD213PD, t::VFMADD213SS, t::VFMADD213SD, t::VFMADD213PH, t::VFMADD213SH],
    [t::VFMSUB213PS, t::VFMSUB213PD, t::VFMSUB213SS, t::VFMSUB213SD, t::VFMSUB213PH, t::VFMSUB213SH],
    [t::VFNMADD213PS, t::VFNMADD213PD, t::VFNMADD213SS, t::VFNMADD213SD, t::VFNMADD213PH, t::VFNMADD213SH],
    [t::VFNMSUB213PS, t::VFNMSUB213PD, t::VFNMSUB213SS, t::VFNMSUB213SD, t::VFNMSUB213PH, t::VFNMSUB213SH],
];
/// The same with the result overwriting the addend.
pub(super) const FMA231: [FloatRows; 4] = [
    [t::VFMADD231PS, t::VFMADD231PD, t::VFMADD231SS, t::VFMADD231SD, t::VFMADD231PH, t::VFMADD231SH],
    [t::VFMSUB231PS, t::VFMSUB231PD, t::VFMSUB231SS, t::VFMSUB231SD, t::VFMSUB231PH, t::VFMSUB231SH],
    [t::VFNMADD231PS, t::VFNMADD231PD, t::VFNMADD231SS, t::VFNMADD231SD, t::VFNMADD231PH, t::VFNMADD231SH],
    [t::VFNMSUB231PS, t::VFNMSUB231PD, t::VFNMSUB231SS, t::VFNMSUB231SD, t::VFNMSUB231PH, t::VFNMSUB231SH],
];
pub(super) const CMP: FloatRows = [t::VCMPPS, t::VCMPPD, t::VCMPSS, t::VCMPSD, t::VCMPPH, t::VCMPSH];

/// The row for a type. Rows without forms for halves end before those.
pub(super) fn of(rows: &[InstRow], ty: Type) -> InstRow {
    let scalar = usize::from(!ty.is_vector());
    rows[if ty.elem == Elem::F16 { 4 + scalar } else { usize::from(ty.elem == Elem::F64) + 2 * scalar }]
}

/// The comparisons of singles, doubles and halves that set the flags.
const FLAGS: [InstRow; 3] = [t::VUCOMISS, t::VUCOMISD, t::VUCOMISH];

/// The immediate of a comparison.
pub(super) fn predicate(cond: FloatCond) -> i64 {
    match cond {
        FloatCond::Oeq => 0x00,
        FloatCond::One => 0x0c,
        FloatCond::Olt => 0x11,
        FloatCond::Ole => 0x12,
        FloatCond::Ogt => 0x1e,
        FloatCond::Oge => 0x1d,
        FloatCond::Ueq => 0x08,
        FloatCond::Une => 0x04,
        FloatCond::Ult => 0x19,
        FloatCond::Ule => 0x1a,
        FloatCond::Ugt => 0x16,
        FloatCond::Uge => 0x15,
        FloatCond::Ord => 0x07,
        FloatCond::Uno => 0x03,
    }
}

/// Whether an op is a single instruction that works lane by lane.
pub(super) fn is_lanewise(op: Opcode) -> bool {
    use Opcode as O;
    matches!(
        op,
        O::Fadd
            | O::Fsub
            | O::Fmul
            | O::Fdiv
            | O::Fma
            | O::Fneg
            | O::Fabs
            | O::Sqrt
            | O::Ceil
            | O::Floor
            | O::Trunc
            | O::Rint
    )
}

/// The condition on the flags for a comparison of scalars by one instruction, and whether its operands change places.
pub(super) fn flags_condition(cond: FloatCond) -> Option<(Cond, bool)> {
    match cond {
        FloatCond::Ogt => Some((Cond::Above, false)),
        FloatCond::Oge => Some((Cond::AboveOrEqual, false)),
        FloatCond::Olt => Some((Cond::Above, true)),
        FloatCond::Ole => Some((Cond::AboveOrEqual, true)),
        FloatCond::Ult => Some((Cond::Below, false)),
        FloatCond::Ule => Some((Cond::BelowOrEqual, false)),
        FloatCond::Ugt => Some((Cond::Below, true)),
        FloatCond::Uge => Some((Cond::BelowOrEqual, true)),
        FloatCond::Ueq => Some((Cond::Equal, false)),
        FloatCond::One => Some((Cond::NotEqual, false)),
        FloatCond::Ord => Some((Cond::NoParity, false)),
        FloatCond::Uno => Some((Cond::Parity, false)),
        // They need two flags.
        FloatCond::Oeq | FloatCond::Une => None,
    }
}

impl Selector<'_> {
    pub(super) fn float_op(&mut self, op: FloatOp, inst: Inst) {
        use FloatOp as O;
        let data = self.legal.dfg.inst(inst);
        let ty = self.arg_type(inst, 0);
        if op == O::Fcmp && self.fused.contains(self.legal.dfg.result(inst)) {
            return;
        }
        let args = &data.args;
        let register = match op {
            O::Fadd => self.commuting(&ADD, ty, args[0], args[1]),
            O::Fmul => self.commuting(&MUL, ty, args[0], args[1]),
            O::Fsub => self.binary(&SUB, ty, args[0], args[1]),
            O::Fdiv if self.may_estimate(inst) => self.quotient(ty, args[0], args[1]),
            O::Sqrt if self.may_estimate(inst) => self.square_root(ty, args[0]),
            O::Fdiv => self.binary(&DIV, ty, args[0], args[1]),
            O::Fma => self.fma(ty, args[0], args[1], args[2]),
            // Folded into the instructions that use it, where possible.
            O::Fneg => self.with_signs(ty, args[0], t::VPXORD, t::VPXORQ, sign(ty)),
            O::Fabs => self.with_signs(ty, args[0], t::VPANDD, t::VPANDQ, sign(ty) - 1),
            O::Fcopysign => self.copy_sign(ty, args[0], args[1]),
            O::Fmin | O::Fmax => {
                let no_nan = matches!(&data.imm, Imm::Fp(flags) if flags.contains(FpFlags::NO_NAN));
                self.min_max(op == O::Fmin, ty, args[0], args[1], no_nan)
            }
            O::Sqrt => {
                let a = self.get(args[0]);
                self.unary(&SQRT, ty, a, None)
            }
            O::Rint => self.rounded(ty, args[0], 0),
            O::Floor => self.rounded(ty, args[0], 1),
            O::Ceil => self.rounded(ty, args[0], 2),
            O::Trunc => self.rounded(ty, args[0], 3),
            O::Fcmp => {
                let Imm::FloatCond(cond, _) = data.imm else { wrong_imm(&data.imm) };
                let mask = self.compare_floats(cond, ty, args[0], args[1], None);
                if ty.is_vector() {
                    mask
                } else if self.masks_are_vectors() {
                    let lane = self.first_lane(mask, Type::I32);
                    self.g_imm(Immediate::And, OperandSize::S32, lane, 1)
                } else {
                    self.make(GPR, t::KMOVQ_TO_SCALAR, OperandSize::X, RegMem::Register(mask), ExtraOperands::default())
                }
            }
        };
        self.set(inst, register);
    }

    /// A comparison, giving a mask, of all lanes or of those in a mask; for scalars a mask of one bit.
    pub(super) fn compare_floats(&mut self, cond: FloatCond, ty: Type, a: Value, b: Value, mask: Option<VReg>) -> VReg {
        let (cond, a, b) = if self.constant(a).is_some() { (cond.swapped(), b, a) } else { (cond, a, b) };
        let a = self.get(a);
        let b = self.operand(b);
        let immediate = Some((predicate(cond), 1));
        let more = ExtraOperands { second: Some(a), mask, immediate, ..ExtraOperands::default() };
        if self.masks_are_vectors() {
            let result = self.make(ZMM, of(&CMP, ty), size(ty), b, more);
            return self.as_mask(result, ty.elem.bytes());
        }
        self.make(MASK, of(&CMP, ty), size(ty), b, more)
    }

    /// Sets the flags by a comparison of scalars and returns the condition on them.
    pub(super) fn compare_scalar_floats(&mut self, inst: Inst) -> Cond {
        let data = self.legal.dfg.inst(inst);
        let Imm::FloatCond(cond, _) = data.imm else { wrong_imm(&data.imm) };
        let Some((cond, swapped)) = flags_condition(cond) else {
            unreachable!("broken invariant: {cond:?} needs two flags")
        };
        let (a, b) = if swapped { (data.args[1], data.args[0]) } else { (data.args[0], data.args[1]) };
        let (a, b) = (self.get(a), self.operand(b));
        let elem = self.arg_type(inst, 0).elem;
        let row = FLAGS[if elem == Elem::F16 { 2 } else { usize::from(elem == Elem::F64) }];
        self.flags(row, OperandSize::X, a, b);
        cond
    }

    fn binary(&mut self, rows: &FloatRows, ty: Type, a: Value, b: Value) -> VReg {
        let a = self.get(a);
        let b = self.operand(b);
        self.v2(of(rows, ty), size(ty), a, b)
    }

    fn commuting(&mut self, rows: &FloatRows, ty: Type, a: Value, b: Value) -> VReg {
        let (a, b) = if self.is_memory(a) && !self.is_memory(b) { (b, a) } else { (a, b) };
        self.binary(rows, ty, a, b)
    }

    pub(super) fn unary(&mut self, rows: &[InstRow], ty: Type, a: VReg, immediate: Option<i64>) -> VReg {
        // Scalar instructions take the other lanes from a second register.
        let second = (!ty.is_vector()).then_some(a);
        let more = ExtraOperands { second, immediate: immediate.map(|value| (value, 1)), ..ExtraOperands::default() };
        self.make(ZMM, of(rows, ty), size(ty), RegMem::Register(a), more)
    }

    /// A fused multiply-add overwrites one operand; prefer one without later uses. Another operand can be in memory.
    fn fma(&mut self, ty: Type, a: Value, b: Value, c: Value) -> VReg {
        let ((a, less_a), (b, less_b), (c, less)) = (self.sign_of(a), self.sign_of(b), self.sign_of(c));
        let form = usize::from(less) + 2 * usize::from(less_a != less_b);
        let overwrites = |this: &Self, value: Value| this.ends_here(value) && !this.is_memory(value);
        let (a, b) = if self.is_memory(a) || (!overwrites(self, a) && overwrites(self, b)) { (b, a) } else { (a, b) };
        let size = size(ty);
        // If two operands are in memory, one is loaded into a register that can be overwritten.
        let spare = match self.is_memory(c) {
            true => self.is_memory(b) && !overwrites(self, a),
            false => overwrites(self, c) || !overwrites(self, a),
        };
        if spare {
            // c becomes a * b + c.
            let (tied, second) = (self.get(c), self.get(a));
            let last = self.operand(b);
            return self.v3(of(&FMA231[form], ty), size, tied, second, last);
        }
        let (tied, second) = (self.get(a), self.get(b));
        let last = self.operand(c);
        self.v3(of(&FMA213[form], ty), size, tied, second, last)
    }

    /// An operand of a fused multiply-add without its negation, and whether it was negated.
    fn sign_of(&self, value: Value) -> (Value, bool) {
        match self.legal.dfg.def_inst(value) {
            Some(inst) if self.legal.dfg.inst(inst).op == Opcode::Fneg => (self.legal.dfg.inst(inst).args[0], true),
            _ => (value, false),
        }
    }

    /// Rounds to an integral value. `direction` is encoded as the instruction requires; exceptions are suppressed.
    fn rounded(&mut self, ty: Type, a: Value, direction: i64) -> VReg {
        let a = self.get(a);
        self.unary(&ROUND, ty, a, Some(8 | direction))
    }

    /// A bitwise operation with the same constant in every lane.
    fn with_signs(&mut self, ty: Type, a: Value, words: InstRow, longs: InstRow, bits: u64) -> VReg {
        let a = self.get(a);
        let bits = bits & ty.elem.mask();
        // There are operations on words, not on halves of them.
        let (lane, bits) = if ty.elem == Elem::F16 { (Elem::I32, bits | bits << 16) } else { (ty.elem, bits) };
        let constant = self.lanes_of(Type::vector(lane, 2), bits);
        let row = if ty.elem == Elem::F64 { longs } else { words };
        self.v2(row, size(ty), a, constant)
    }

    /// The magnitude of `a` with the sign of `b`.
    fn copy_sign(&mut self, ty: Type, a: Value, b: Value) -> VReg {
        let (a, b) = (self.get(a), self.get(b));
        let signs = self.lanes_of(ty.with_lanes(2), sign(ty));
        if self.level == Level::Avx2 {
            let size = size(ty);
            let signs = self.v1(t::VMOVUPS, size, signs);
            let magnitude = self.v2(t::VPANDN, size, signs, RegMem::Register(a));
            let sign = self.v2(t::VPANDD, size, signs, RegMem::Register(b));
            return self.v2(t::VPORD, size, magnitude, RegMem::Register(sign));
        }
        let row = if ty.elem == Elem::F64 { t::VPTERNLOGQ } else { t::VPTERNLOGD };
        // Bitwise: `b` where the third operand is set, else `a`.
        let more =
            ExtraOperands { tied: Some(a), second: Some(b), immediate: Some((0xd8, 1)), ..ExtraOperands::default() };
        self.make(ZMM, row, size(ty), signs, more)
    }

    /// A select between the two operands of their own comparison, if it is what `VMINPS` or `VMAXPS` compute: the first operand
    /// if it is less or greater, the second one otherwise, also if one is NaN or both are zero.
    pub(super) fn chosen_extreme(&mut self, cond: Value, then: Value, otherwise: Value) -> Option<VReg> {
        let data = self.legal.dfg.inst(self.legal.dfg.def_inst(cond)?);
        let (Imm::FloatCond(cond, _), &[a, b]) = (&data.imm, data.args.as_slice()) else { return None };
        let ty = self.legal.dfg.ty(a);
        let (less, then, otherwise) = match cond {
            FloatCond::Olt => (true, then, otherwise),
            FloatCond::Ogt => (false, then, otherwise),
            FloatCond::Uge => (true, otherwise, then),
            FloatCond::Ule => (false, otherwise, then),
            FloatCond::Oeq
            | FloatCond::One
            | FloatCond::Ole
            | FloatCond::Oge
            | FloatCond::Ueq
            | FloatCond::Une
            | FloatCond::Ult
            | FloatCond::Ugt
            | FloatCond::Ord
            | FloatCond::Uno => return None,
        };
        let min = match (then == a && otherwise == b, then == b && otherwise == a) {
            (true, _) => less,
            (_, true) => !less,
            _ => return None,
        };
        Some(self.binary(if min { &MIN } else { &MAX }, ty, then, otherwise))
    }

    /// The minimum or maximum; if one operand is NaN, the other one.
    fn min_max(&mut self, min: bool, ty: Type, a: Value, b: Value, no_nan: bool) -> VReg {
        let number = |this: &Self, value: Value| {
            this.constant(value).is_some_and(|data| {
                data.to_lanes().iter().all(|&bits| !clift_kir::eval::float::to_f64(data.ty.elem, bits).is_nan())
            })
        };
        // The instruction returns its second operand if one is NaN.
        let (a, b) = if number(self, a) && !number(self, b) { (b, a) } else { (a, b) };
        let rows = if min { &MIN } else { &MAX };
        if no_nan || number(self, b) {
            return self.binary(rows, ty, a, b);
        }
        let (a, b) = (self.get(a), self.get(b));
        let chosen = self.v2(of(rows, ty), size(ty), a, RegMem::Register(b));
        let more = ExtraOperands {
            second: Some(b),
            immediate: Some((predicate(FloatCond::Uno), 1)),
            ..ExtraOperands::default()
        };
        let is_nan = self.make(
            if self.masks_are_vectors() { ZMM } else { MASK },
            of(&CMP, ty),
            size(ty),
            RegMem::Register(b),
            more,
        );
        self.blend(ty, is_nan, a, chosen)
    }
}

/// The sign bit of a lane.
fn sign(ty: Type) -> u64 {
    1 << (ty.elem.bits() - 1)
}
