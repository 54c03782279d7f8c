//! Integer ops on scalars, vectors, Booleans and masks. Nothing traps: divisors that would trap are replaced first.

use clift_kir::dfg::ValueDef;
use clift_kir::ops::IntOp;
use clift_kir::{Imm, Inst, IntCond, Opcode, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{AddressBase, ExtraOperands, Immediate, MemAddress, RegMem, Selector, size, wrong_imm};
use crate::codegen::BooleanOp;
use crate::codegen::Shift;
use crate::codegen::x86::code::{Cond, GPR, InstKind, RAX, RCX, RDX, RegField, RmField, RowInst};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

/// The condition on the flags for a comparison.
pub(super) fn condition(cond: IntCond) -> Cond {
    match cond {
        IntCond::Eq => Cond::Equal,
        IntCond::Ne => Cond::NotEqual,
        IntCond::Ult => Cond::Below,
        IntCond::Ule => Cond::BelowOrEqual,
        IntCond::Ugt => Cond::Above,
        IntCond::Uge => Cond::AboveOrEqual,
        IntCond::Slt => Cond::Less,
        IntCond::Sle => Cond::LessOrEqual,
        IntCond::Sgt => Cond::Greater,
        IntCond::Sge => Cond::GreaterOrEqual,
    }
}

fn is_signed(cond: IntCond) -> bool {
    matches!(cond, IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge)
}

impl Selector<'_> {
    pub(super) fn int_op(&mut self, op: IntOp, inst: Inst) {
        let ty = self.arg_type(inst, 0);
        let result = self.legal.dfg.result(inst);
        if self.fused.contains(result) {
            return;
        }
        let register = match (ty.is_bool(), ty.is_vector()) {
            (true, true) if self.masks_are_vectors() => self.vector_mask_op(op, inst),
            (true, true) => self.mask_op(op, inst),
            (true, false) => self.bool_op(op, inst),
            (false, true) => self.vector_int(op, inst, ty),
            (false, false) => self.scalar_int(op, inst, ty),
        };
        self.set(inst, register);
    }

    // -- Booleans --

    fn bool_op(&mut self, op: IntOp, inst: Inst) -> VReg {
        use BooleanOp as O;
        let op = BooleanOp::of(op);
        let data = self.legal.dfg.inst(inst);
        let a = self.get(data.args[0]);
        let b = data.args.get(1).map(|&b| self.get(b)).unwrap_or(a);
        match (op, &data.imm) {
            (O::And, _) => self.g2(t::AND, OperandSize::S32, a, RegMem::Register(b)),
            (O::Or, _) => self.g2(t::OR, OperandSize::S32, a, RegMem::Register(b)),
            (O::Xor, _) => self.g2(t::XOR, OperandSize::S32, a, RegMem::Register(b)),
            (O::Not, _) => self.g_imm(Immediate::Xor, OperandSize::S32, a, 1),
            (O::Compare, Imm::IntCond(cond)) => {
                // True is 1 as an unsigned and -1 as a signed number.
                let cond = match cond {
                    IntCond::Slt => IntCond::Ugt,
                    IntCond::Sle => IntCond::Uge,
                    IntCond::Sgt => IntCond::Ult,
                    IntCond::Sge => IntCond::Ule,
                    IntCond::Eq | IntCond::Ne | IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => *cond,
                };
                self.flags(t::CMP, OperandSize::S32, a, RegMem::Register(b));
                self.bool_from_flags(condition(cond))
            }
            (O::Compare, imm) => wrong_imm(imm),
        }
    }

    // -- scalars --

    /// A scalar zero-extended from `bits` bits.
    pub(super) fn zero_extended(&mut self, value: VReg, bits: u32) -> VReg {
        match bits {
            8 => self.g1(t::MOVZX8, OperandSize::S32, RegMem::Register(value)),
            16 => self.g1(t::MOVZX16, OperandSize::S32, RegMem::Register(value)),
            _ => value,
        }
    }

    /// A scalar of 8 or 16 bits sign-extended to 32.
    pub(super) fn sign_extended(&mut self, value: VReg, bits: u32) -> VReg {
        match bits {
            8 => self.g1(t::MOVSX8, OperandSize::S32, RegMem::Register(value)),
            16 => self.g1(t::MOVSX16, OperandSize::S32, RegMem::Register(value)),
            _ => value,
        }
    }

    fn extended(&mut self, value: Value, ty: Type, signed: bool) -> VReg {
        let register = self.get(value);
        if !signed && self.is_zero_extended(value) {
            return register;
        }
        match signed {
            true => self.sign_extended(register, ty.elem.bits()),
            false => self.zero_extended(register, ty.elem.bits()),
        }
    }

    /// `a + b * 2^scale + disp`; the flags are preserved.
    pub(super) fn lea(&mut self, size: OperandSize, a: VReg, index: Option<(VReg, u8)>, disp: i32) -> VReg {
        let address = MemAddress { base: AddressBase::Register(a), index, disp };
        self.g1(t::LEA, size, RegMem::Memory(address))
    }

    fn scalar_int(&mut self, op: IntOp, inst: Inst, ty: Type) -> VReg {
        use IntOp as O;
        let data = self.legal.dfg.inst(inst);
        let (size, bits) = (size(ty), ty.elem.bits());
        let first = data.args[0];
        match op {
            O::Iadd => {
                let (a, b) = self.constant_last(inst);
                if let Some(value) = self.small(b) {
                    let a = self.get(a);
                    self.lea(size, a, None, value as i32)
                } else if let Some(sum) = self.of_memory(t::ADD, ty, a, b) {
                    sum
                } else {
                    let (a, b) = (self.get(a), self.get(b));
                    self.lea(size, a, Some((b, 0)), 0)
                }
            }
            O::Isub => {
                let a = self.get(first);
                match self.small(data.args[1]).filter(|&value| value != i64::from(i32::MIN)) {
                    Some(value) => self.lea(size, a, None, -value as i32),
                    None => {
                        let b = self.scalar_operand(data.args[1], ty);
                        self.g2(t::SUB, size, a, b)
                    }
                }
            }
            O::Imul => {
                let (a, b) = self.constant_last(inst);
                if let Some(value) = self.small(b) {
                    let a = self.scalar_operand(a, ty);
                    let more = ExtraOperands { immediate: Some((value, 4)), ..ExtraOperands::default() };
                    self.make(GPR, t::IMUL_IMM, size, a, more)
                } else if let Some(product) = self.of_memory(t::IMUL, ty, a, b) {
                    product
                } else {
                    let (a, b) = self.overwritten_first(a, b);
                    let (a, b) = (self.get(a), self.get(b));
                    self.g2(t::IMUL, size, a, RegMem::Register(b))
                }
            }
            O::And => self.bitwise(inst, ty, Immediate::And, t::AND),
            O::Or => self.bitwise(inst, ty, Immediate::Or, t::OR),
            O::Xor => self.bitwise(inst, ty, Immediate::Xor, t::XOR),
            O::Not => {
                let a = self.get(first);
                self.g_digit(t::GROUP3, 2, size, a, None)
            }
            O::Ineg => {
                let a = self.get(first);
                self.negated(size, a)
            }
            O::Iabs => {
                let a = self.extended(first, ty, true);
                let negated = self.negated(size, a);
                self.flags(t::CMP, size, negated, RegMem::Register(a));
                self.choose(Cond::Less, size, a, negated)
            }
            O::Umin => self.scalar_choice(inst, ty, false, Cond::Below),
            O::Umax => self.scalar_choice(inst, ty, false, Cond::Above),
            O::Smin => self.scalar_choice(inst, ty, true, Cond::Less),
            O::Smax => self.scalar_choice(inst, ty, true, Cond::Greater),
            O::UaddSat | O::UsubSat | O::SaddSat | O::SsubSat => self.scalar_saturate(inst, ty),
            O::Umulh | O::Smulh => self.multiply_high(inst, ty),
            O::Udiv | O::Urem => self.unsigned_division(inst, ty),
            O::Sdiv | O::Srem => self.signed_division(inst, ty),
            O::Shl | O::Lshr | O::Ashr => self.scalar_shift(inst, ty),
            O::Rotl => self.rotation(inst, ty),
            O::Clz => {
                let a = self.extended(first, ty, false);
                let count = self.g1(t::LZCNT, size, RegMem::Register(a));
                if bits < 32 { self.lea(size, count, None, bits as i32 - 32) } else { count }
            }
            O::Ctz => {
                let mut a = self.get(first);
                if bits < 32 {
                    a = self.g_imm(Immediate::Or, size, a, 1 << bits);
                }
                self.g1(t::TZCNT, size, RegMem::Register(a))
            }
            O::Popcnt => {
                let a = self.extended(first, ty, false);
                self.g1(t::POPCNT, size, RegMem::Register(a))
            }
            O::Bitrev => self.reversed(inst, ty),
            O::Icmp => {
                let cond = self.compare_scalars(inst);
                self.bool_from_flags(cond)
            }
        }
    }

    fn negated(&mut self, size: OperandSize, a: VReg) -> VReg {
        self.g_digit(t::GROUP3, 3, size, a, None)
    }

    /// The operands of a commutative op, a constant last.
    fn constant_last(&self, inst: Inst) -> (Value, Value) {
        let args = &self.legal.dfg.inst(inst).args;
        if self.constant(args[0]).is_some() { (args[1], args[0]) } else { (args[0], args[1]) }
    }

    fn bitwise(&mut self, inst: Inst, ty: Type, operation: Immediate, row: InstRow) -> VReg {
        let (a, b) = self.constant_last(inst);
        if let Some(value) = self.small(b) {
            let a = self.get(a);
            // Bits that become zero are zero in the upper half, too.
            let keeps_few = matches!(operation, Immediate::And) && value >= 0;
            return self.g_imm(operation, if keeps_few { OperandSize::S32 } else { size(ty) }, a, value);
        }
        if let Some(result) = self.of_memory(row, ty, a, b) {
            return result;
        }
        let (a, b) = self.overwritten_first(a, b);
        let (a, b) = (self.get(a), self.get(b));
        self.g2(row, size(ty), a, RegMem::Register(b))
    }

    /// The operands of a commutative op, first the one that its result overwrites: one that is not needed afterwards, of such
    /// ones a variable of a loop, whose next value the result may be.
    fn overwritten_first(&self, a: Value, b: Value) -> (Value, Value) {
        let rank = |value: Value| {
            let is_param = matches!(self.legal.dfg.def(value), ValueDef::Param(..));
            (self.ends_here(value), is_param)
        };
        if rank(b) > rank(a) { (b, a) } else { (a, b) }
    }

    /// The result of a commutative op of which one operand is loaded for it only.
    fn of_memory(&mut self, row: InstRow, ty: Type, a: Value, b: Value) -> Option<VReg> {
        let (a, b) = match self.scalar_in_memory(b, ty) {
            Some(b) => (a, b),
            None => (b, self.scalar_in_memory(a, ty)?),
        };
        let a = self.get(a);
        Some(self.g2(row, size(ty), a, b))
    }

    /// Sets the flags by a comparison and returns the condition on them.
    pub(super) fn compare_scalars(&mut self, inst: Inst) -> Cond {
        let data = self.legal.dfg.inst(inst);
        let Imm::IntCond(mut cond) = data.imm else { wrong_imm(&data.imm) };
        let ty = self.arg_type(inst, 0);
        let (mut a, mut b) = (data.args[0], data.args[1]);
        if self.constant(a).is_some() && self.constant(b).is_none() {
            (a, b) = (b, a);
            cond = cond.swapped();
        }
        let (signed, bits) = (is_signed(cond), ty.elem.bits());
        let small = self.constant(b).and_then(|data| {
            let value = data.lane(0) as i64;
            let value = if signed || bits >= 32 { value << (64 - bits) >> (64 - bits) } else { value };
            i32::try_from(value).ok()
        });
        let once = self.uses.get(self.legal.dfg.result(inst)) == 1;
        if small == Some(0) && self.fused.contains(a) {
            self.test_conjunction(a, ty);
        } else if let Some(value) = small.filter(|&value| value != 0)
            && once
            && let Some(a) = self.scalar_in_memory(a, ty)
        {
            self.compare_imm(size(ty), a, value.into());
        } else {
            let a = self.extended(a, ty, signed);
            match small {
                Some(0) => self.flags(t::TEST, size(ty), a, RegMem::Register(a)),
                Some(value) => self.compare_imm(size(ty), RegMem::Register(a), value.into()),
                None => {
                    let in_memory = if once { self.scalar_in_memory(b, ty) } else { None };
                    let b = in_memory.unwrap_or_else(|| RegMem::Register(self.extended(b, ty, signed)));
                    self.flags(t::CMP, size(ty), a, b);
                }
            }
        }
        condition(cond)
    }

    /// Sets the flags by the result of a conjunction.
    fn test_conjunction(&mut self, conjunction: Value, ty: Type) {
        let Some(inst) = self.legal.dfg.def_inst(conjunction) else {
            unreachable!("broken invariant: {conjunction} is not a conjunction")
        };
        let (a, b) = self.constant_last(inst);
        let a = self.get(a);
        match self.small(b) {
            Some(bits) => {
                let more = ExtraOperands { immediate: Some((bits, 4)), ..ExtraOperands::default() };
                let size = if bits >= 0 { OperandSize::S32 } else { size(ty) };
                self.push_row(t::GROUP3, size, None, None, 0, RegMem::Register(a), more);
            }
            None => {
                let b = self.get(b);
                self.flags(t::TEST, size(ty), a, RegMem::Register(b));
            }
        }
    }

    /// The operand in memory for a scalar of at least 32 bits that is loaded for this instruction only.
    fn scalar_in_memory(&mut self, value: Value, ty: Type) -> Option<RegMem> {
        let (operand, load) = self.loaded_scalar(value).filter(|_| ty.elem.bits() >= 32)?;
        // Faults are reported for the line of the load.
        self.loc = self.legal.locs[load];
        Some(operand)
    }

    /// A scalar operand in a register or in memory.
    fn scalar_operand(&mut self, value: Value, ty: Type) -> RegMem {
        match self.scalar_in_memory(value, ty) {
            Some(operand) => operand,
            None => RegMem::Register(self.get(value)),
        }
    }

    /// The first operand if it compares with the second as given, else the second.
    fn scalar_choice(&mut self, inst: Inst, ty: Type, signed: bool, cond: Cond) -> VReg {
        let args = &self.legal.dfg.inst(inst).args;
        let (a, b) = (self.extended(args[0], ty, signed), self.extended(args[1], ty, signed));
        self.flags(t::CMP, size(ty), a, RegMem::Register(b));
        self.choose(cond, size(ty), a, b)
    }

    fn scalar_shift(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (size, bits) = (size(ty), ty.elem.bits());
        let (digit, row, a) = match Shift::of(data.op) {
            Shift::Left => (4, t::SHLX, self.get(data.args[0])),
            Shift::Right => (5, t::SHRX, self.extended(data.args[0], ty, false)),
            Shift::ArithmeticRight => (7, t::SARX, self.extended(data.args[0], ty, true)),
            Shift::RotateLeft => unreachable!("broken invariant: a rotation of a scalar"),
        };
        if let Some(count) = self.legal.dfg.as_splat_bits(data.args[1]) {
            return self.g_digit(t::SHIFT_IMM, digit, size, a, Some(((count % u64::from(bits)) as i64, 1)));
        }
        let mut count = self.get(data.args[1]);
        if bits < 32 {
            count = self.g_imm(Immediate::And, OperandSize::S32, count, i64::from(bits) - 1);
        }
        self.make(
            GPR,
            row,
            size,
            RegMem::Register(a),
            ExtraOperands { second: Some(count), ..ExtraOperands::default() },
        )
    }

    fn rotation(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (size, bits) = (size(ty), ty.elem.bits());
        if bits < 32 {
            let a = self.extended(data.args[0], ty, false);
            let count = self.get(data.args[1]);
            let most = i64::from(bits) - 1;
            let left = self.g_imm(Immediate::And, OperandSize::S32, count, most);
            let right = self.negated(OperandSize::S32, count);
            let right = self.g_imm(Immediate::And, OperandSize::S32, right, most);
            let up = self.make(
                GPR,
                t::SHLX,
                size,
                RegMem::Register(a),
                ExtraOperands { second: Some(left), ..ExtraOperands::default() },
            );
            let down = self.make(
                GPR,
                t::SHRX,
                size,
                RegMem::Register(a),
                ExtraOperands { second: Some(right), ..ExtraOperands::default() },
            );
            return self.g2(t::OR, size, up, RegMem::Register(down));
        }
        let a = self.get(data.args[0]);
        if let Some(count) = self.legal.dfg.as_splat_bits(data.args[1]) {
            return self.g_digit(t::SHIFT_IMM, 0, size, a, Some(((count % u64::from(bits)) as i64, 1)));
        }
        let count = self.get(data.args[1]);
        let result = self.fresh(GPR);
        let operands = SmallVec::from_slice(&[
            Operand::reg_use(a),
            Operand::reg_reuse_def(result, 0),
            Self::fixed_use(count, RCX),
        ]);
        self.push(self.of_group(t::SHIFT_CL, size, 0, 1), operands);
        result
    }

    /// An instruction whose only named operand is the register or memory operand.
    fn of_group(&self, row: InstRow, size: OperandSize, digit: u8, operand: u8) -> InstKind {
        InstKind::Row(RowInst {
            row,
            size,
            reg: RegField::Digit(digit),
            second: None,
            source: RmField::Operand(operand),
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        })
    }

    fn reversed(&mut self, inst: Inst, ty: Type) -> VReg {
        let (size, bits) = (size(ty), ty.elem.bits());
        let width = bits.max(32);
        let mut value = self.extended(self.legal.dfg.inst(inst).args[0], ty, false);
        let mut shift = width / 2;
        while shift > 0 {
            // Exchange neighbouring groups of `shift` bits.
            let mask = (u64::MAX / ((1 << shift) + 1)) & (u64::MAX >> (64 - width));
            let mask = self.number(mask as i64, width);
            let down = self.g_digit(t::SHIFT_IMM, 5, size, value, Some((shift.into(), 1)));
            let down = self.g2(t::AND, size, down, RegMem::Register(mask));
            let up = self.g2(t::AND, size, value, RegMem::Register(mask));
            let up = self.g_digit(t::SHIFT_IMM, 4, size, up, Some((shift.into(), 1)));
            value = self.g2(t::OR, size, up, RegMem::Register(down));
            shift /= 2;
        }
        if bits < 32 { self.g_digit(t::SHIFT_IMM, 5, size, value, Some((i64::from(32 - bits), 1))) } else { value }
    }

    fn multiply_high(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (bits, signed) = (ty.elem.bits(), data.op == Opcode::Smulh);
        if bits == 64 {
            let (a, b) = (self.get(data.args[0]), self.get(data.args[1]));
            let (high, low) = (self.fresh(GPR), self.fresh(GPR));
            let operands = SmallVec::from_slice(&[
                Self::fixed_use(a, RAX),
                Operand::reg_use(b),
                Operand::reg_fixed_def(high, RDX),
                Operand::reg_fixed_def(low, RAX),
            ]);
            self.push(self.of_group(t::GROUP3, OperandSize::S64, if signed { 5 } else { 4 }, 1), operands);
            return high;
        }
        let extend = |this: &mut Self, value: Value| {
            let register = this.extended(value, ty, signed);
            match (bits, signed) {
                (32, true) => this.g1(t::MOVSXD, OperandSize::S64, RegMem::Register(register)),
                // The move clears the upper half.
                (32, false) => this.g1(t::MOV, OperandSize::S32, RegMem::Register(register)),
                _ => register,
            }
        };
        let (a, b) = (extend(self, data.args[0]), extend(self, data.args[1]));
        let size = if bits == 32 { OperandSize::S64 } else { OperandSize::S32 };
        let product = self.g2(t::IMUL, size, a, RegMem::Register(b));
        self.g_digit(t::SHIFT_IMM, if signed { 7 } else { 5 }, size, product, Some((bits.into(), 1)))
    }

    /// Quotient and remainder of the number in `rdx` and `rax`.
    fn divide(&mut self, size: OperandSize, signed: bool, a: VReg, upper: VReg, divisor: VReg) -> (VReg, VReg) {
        let (quotient, rest) = (self.fresh(GPR), self.fresh(GPR));
        let operands = SmallVec::from_slice(&[
            Self::fixed_use(a, RAX),
            Self::fixed_use(upper, RDX),
            Operand::reg_use(divisor),
            Operand::reg_fixed_def(quotient, RAX),
            Operand::reg_fixed_def(rest, RDX),
        ]);
        self.push(self.of_group(t::GROUP3, size, if signed { 7 } else { 6 }, 2), operands);
        (quotient, rest)
    }

    fn unsigned_division(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let size = size(ty);
        let known = self.legal.dfg.as_splat_bits(data.args[1]);
        if known == Some(0) {
            return self.number(0, ty.elem.bits());
        }
        let a = self.extended(data.args[0], ty, false);
        let b = self.extended(data.args[1], ty, false);
        let upper = self.number(0, 64);
        let mut divisor = b;
        if known.is_none() {
            let one = self.number(1, 64);
            self.flags(t::TEST, size, b, RegMem::Register(b));
            divisor = self.choose(Cond::Equal, size, one, b);
        }
        let (quotient, rest) = self.divide(size, false, a, upper, divisor);
        if data.op == Opcode::Urem {
            // A remainder by one is zero, which is the required result.
            return rest;
        }
        if known.is_some() {
            return quotient;
        }
        let zero = self.number(0, 64);
        self.flags(t::TEST, size, b, RegMem::Register(b));
        self.choose(Cond::Equal, size, zero, quotient)
    }

    fn signed_division(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (size, bits) = (size(ty), ty.elem.bits());
        let a = self.extended(data.args[0], ty, true);
        let b = self.extended(data.args[1], ty, true);
        let upper = self.g_digit(t::SHIFT_IMM, 7, size, a, Some((if bits == 64 { 63 } else { 31 }, 1)));
        // The divisors 0 and -1 are replaced by 1, which gives the right remainder; the quotient is then `-a & b`.
        let one = self.number(1, 64);
        let next = self.lea(size, b, None, 1);
        self.compare_imm(size, RegMem::Register(next), 2);
        let divisor = self.choose(Cond::Below, size, one, b);
        let (quotient, rest) = self.divide(size, true, a, upper, divisor);
        if data.op == Opcode::Srem {
            return rest;
        }
        let negated = self.negated(size, a);
        let other = self.g2(t::AND, size, negated, RegMem::Register(b));
        self.compare_imm(size, RegMem::Register(next), 2);
        self.choose(Cond::Below, size, other, quotient)
    }

    fn scalar_saturate(&mut self, inst: Inst, ty: Type) -> VReg {
        let data = self.legal.dfg.inst(inst);
        let (size, bits) = (size(ty), ty.elem.bits());
        let signed = matches!(data.op, Opcode::SaddSat | Opcode::SsubSat);
        let add = matches!(data.op, Opcode::UaddSat | Opcode::SaddSat);
        let (a, b) = (self.extended(data.args[0], ty, signed), self.extended(data.args[1], ty, signed));
        let row = if add { t::ADD } else { t::SUB };
        if bits < 32 {
            // A wider register has room for the overflow.
            let value = self.g2(row, size, a, RegMem::Register(b));
            let most = (ty.elem.mask() >> u32::from(signed)) as i64;
            let least = if signed { -most - 1 } else { 0 };
            let (most, least) = (self.number(most, 32), self.number(least, 32));
            self.flags(t::CMP, size, value, RegMem::Register(most));
            let value = self.choose(Cond::Greater, size, most, value);
            self.flags(t::CMP, size, value, RegMem::Register(least));
            return self.choose(Cond::Less, size, least, value);
        }
        let clamped = match (signed, add) {
            (false, true) => self.number(-1, 64),
            (false, false) => self.number(0, 64),
            (true, _) => {
                let fill = self.g_digit(t::SHIFT_IMM, 7, size, a, Some((i64::from(bits) - 1, 1)));
                let most = self.number((ty.elem.mask() >> 1) as i64, bits);
                self.g2(t::XOR, size, fill, RegMem::Register(most))
            }
        };
        let value = self.g2(row, size, a, RegMem::Register(b));
        self.choose(if signed { Cond::Overflow } else { Cond::Below }, size, clamped, value)
    }
}
