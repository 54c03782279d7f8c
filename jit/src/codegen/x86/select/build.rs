//! Constructors for instructions of the common forms: they assign operands to fields, and choose the operand that the result
//! overwrites.

use regalloc2::{Operand, PReg, PRegSet, RegClass, VReg};
use smallvec::SmallVec;

use super::{AddressBase, ExtraOperands, Immediate, NO_DIGIT, RegMem, Selector};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{BaseOperand, Cond, GPR, InstKind, MachInst, RegField, RmField, RowInst, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

impl Selector<'_> {
    pub(super) fn fresh(&mut self, class: RegClass) -> VReg {
        let register = VReg::new(self.vregs, class);
        self.vregs += 1;
        register
    }

    pub(super) fn push(&mut self, kind: InstKind, operands: SmallVec<[Operand; 4]>) {
        self.push_clobbering(kind, operands, PRegSet::empty());
    }

    pub(super) fn push_clobbering(&mut self, kind: InstKind, operands: SmallVec<[Operand; 4]>, clobbers: PRegSet) {
        let loc = self.loc;
        self.blocks[self.current].insts.push(MachInst { kind, operands, clobbers, loc });
    }

    /// Appends an instruction that is a row of the table. `result` is the register that it defines, if any; `reg` is a source
    /// operand in the register field.
    #[allow(clippy::too_many_arguments, reason = "an instruction's fields, all at one place")]
    pub(super) fn push_row(
        &mut self,
        row: InstRow,
        size: OperandSize,
        result: Option<VReg>,
        reg: Option<VReg>,
        digit: u8,
        source: RegMem,
        more: ExtraOperands,
    ) {
        let row = if self.level == Level::Avx2 { row.as_vex() } else { row };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut add = |operand: Operand| {
            operands.push(operand);
            operands.len() as u8 - 1
        };
        let mut field = RegField::Digit(digit);
        if let Some(tied) = more.tied {
            add(Operand::reg_use(tied));
        }
        // An opcode extension occupies the register field. The result is then the second register, or the tied operand in the
        // last field.
        let mut result_at = None;
        if let Some(result) = result {
            let operand =
                if more.tied.is_some() { Operand::reg_reuse_def(result, 0) } else { Operand::reg_def(result) };
            result_at = Some(add(operand));
        }
        if let Some(reg) = reg {
            field = RegField::Operand(add(Operand::reg_use(reg)));
        }
        let mut second = more.second.map(|register| add(Operand::reg_use(register)));
        let mask = more.mask.map(|register| add(Operand::reg_use(register)));
        let mut broadcast = false;
        let is_broadcast = matches!(source, RegMem::Broadcast(_));
        let mut source = match source {
            RegMem::Register(register) => RmField::Operand(add(Operand::reg_use(register))),
            RegMem::Memory(address) | RegMem::Broadcast(address) => {
                broadcast = is_broadcast;
                let base = match address.base {
                    AddressBase::Register(base) => BaseOperand::Operand(add(Operand::reg_use(base))),
                    AddressBase::Stack(offset) => BaseOperand::Stack(offset),
                };
                let index = address.index.map(|(index, scale)| (add(Operand::reg_use(index)), scale));
                RmField::Memory(base, index, address.disp)
            }
            RegMem::Bytes(constant) => RmField::Constant(constant),
            RegMem::Lane(constant) => {
                broadcast = true;
                RmField::Constant(constant)
            }
            RegMem::Result => RmField::Operand(result_at.unwrap_or(0)),
        };
        match (result_at, reg.is_some(), digit) {
            (None, ..) => {}
            // The source operand has the register field, so the result is in the other one.
            (Some(at), true, _) => source = RmField::Operand(at),
            (Some(at), false, NO_DIGIT) => field = RegField::Operand(at),
            (Some(at), false, _) if row.is_vector() => second = Some(at),
            (Some(at), false, _) => source = RmField::Operand(at),
        }
        let ExtraOperands { zeroing, immediate, .. } = more;
        self.push(
            InstKind::Row(RowInst {
                row,
                size,
                reg: field,
                second,
                source,
                mask,
                zeroing,
                broadcast,
                immediate,
                locked: false,
            }),
            operands,
        );
    }

    /// An instruction with a result in the register field.
    pub(super) fn make(
        &mut self,
        class: RegClass,
        row: InstRow,
        size: OperandSize,
        source: RegMem,
        more: ExtraOperands,
    ) -> VReg {
        let result = self.fresh(class);
        self.push_row(row, size, Some(result), None, NO_DIGIT, source, more);
        result
    }

    /// A vector instruction of one operand.
    pub(super) fn v1(&mut self, row: InstRow, size: OperandSize, source: RegMem) -> VReg {
        self.make(ZMM, row, size, source, ExtraOperands::default())
    }

    /// A vector instruction of two operands.
    pub(super) fn v2(&mut self, row: InstRow, size: OperandSize, a: VReg, b: RegMem) -> VReg {
        self.make(ZMM, row, size, b, ExtraOperands { second: Some(a), ..ExtraOperands::default() })
    }

    /// A vector instruction of two operands and an immediate byte.
    pub(super) fn v2_imm(&mut self, row: InstRow, size: OperandSize, a: VReg, b: RegMem, immediate: i64) -> VReg {
        self.make(
            ZMM,
            row,
            size,
            b,
            ExtraOperands { second: Some(a), immediate: Some((immediate, 1)), ..ExtraOperands::default() },
        )
    }

    /// A vector instruction of one operand and an immediate byte.
    pub(super) fn v1_imm(&mut self, row: InstRow, size: OperandSize, source: RegMem, immediate: i64) -> VReg {
        self.make(ZMM, row, size, source, ExtraOperands { immediate: Some((immediate, 1)), ..ExtraOperands::default() })
    }

    /// A shift of vectors by a constant, selected by an opcode extension.
    pub(super) fn shifted(&mut self, row: InstRow, digit: u8, size: OperandSize, a: VReg, count: i64) -> VReg {
        let result = self.fresh(ZMM);
        let more = ExtraOperands { immediate: Some((count, 1)), ..ExtraOperands::default() };
        self.push_row(row, size, Some(result), None, digit, RegMem::Register(a), more);
        result
    }

    /// A vector instruction whose result overwrites its first operand.
    pub(super) fn v3(&mut self, row: InstRow, size: OperandSize, tied: VReg, a: VReg, b: RegMem) -> VReg {
        self.make(ZMM, row, size, b, ExtraOperands { tied: Some(tied), second: Some(a), ..ExtraOperands::default() })
    }

    /// A scalar instruction whose result overwrites its first operand.
    pub(super) fn g2(&mut self, row: InstRow, size: OperandSize, tied: VReg, b: RegMem) -> VReg {
        self.make(GPR, row, size, b, ExtraOperands { tied: Some(tied), ..ExtraOperands::default() })
    }

    /// A scalar instruction of one operand.
    pub(super) fn g1(&mut self, row: InstRow, size: OperandSize, source: RegMem) -> VReg {
        self.make(GPR, row, size, source, ExtraOperands::default())
    }

    /// A scalar instruction that overwrites its operand, selected by an opcode extension.
    pub(super) fn g_digit(
        &mut self,
        row: InstRow,
        digit: u8,
        size: OperandSize,
        tied: VReg,
        immediate: Option<(i64, u8)>,
    ) -> VReg {
        let result = self.fresh(GPR);
        let more = ExtraOperands { tied: Some(tied), immediate, ..ExtraOperands::default() };
        self.push_row(row, size, Some(result), None, digit, RegMem::Result, more);
        result
    }

    /// A scalar operation with an immediate.
    pub(super) fn g_imm(&mut self, operation: Immediate, size: OperandSize, a: VReg, value: i64) -> VReg {
        self.g_digit(t::ALU_IMM, operation as u8, size, a, Some((value, 4)))
    }

    /// An instruction of two scalars that only sets flags.
    pub(super) fn flags(&mut self, row: InstRow, size: OperandSize, a: VReg, b: RegMem) {
        self.push_row(row, size, None, Some(a), NO_DIGIT, b, ExtraOperands::default());
    }

    /// Compares a scalar with a constant.
    pub(super) fn compare_imm(&mut self, size: OperandSize, a: RegMem, value: i64) {
        let more = ExtraOperands { immediate: Some((value, 4)), ..ExtraOperands::default() };
        self.push_row(t::ALU_IMM, size, None, None, 7, a, more);
    }

    /// A Boolean from the flags.
    pub(super) fn bool_from_flags(&mut self, cond: Cond) -> VReg {
        let byte = self.fresh(GPR);
        let row = InstRow { opcode: t::SETCC.opcode | cond as u8, ..t::SETCC };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(Operand::reg_def(byte));
        let plain = RowInst {
            row,
            size: OperandSize::S8,
            reg: RegField::Digit(0),
            second: None,
            source: RmField::Operand(0),
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        };
        self.push(InstKind::Row(plain), operands);
        self.g1(t::MOVZX8, OperandSize::S32, RegMem::Register(byte))
    }

    /// `a` if the flags satisfy the condition, else `b`.
    pub(super) fn choose(&mut self, cond: Cond, size: OperandSize, a: VReg, b: VReg) -> VReg {
        let row = InstRow { opcode: t::CMOVCC.opcode | cond as u8, ..t::CMOVCC };
        self.g2(row, size, b, RegMem::Register(a))
    }

    /// A use of a value in a fixed register; the allocator inserts the move.
    pub(super) fn fixed_use(register: VReg, place: PReg) -> Operand {
        Operand::reg_fixed_use(register, place)
    }
}
