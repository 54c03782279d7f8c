//! Instructions of the common forms: what goes into which field, and which operand the result replaces.

use regalloc2::{Operand, PReg, PRegSet, RegClass, VReg};
use smallvec::SmallVec;

use super::{From, Immediate, More, NO_DIGIT, Selector, Start};
use crate::codegen::x86::code::{Base, Cond, Field, GPR, Kind, MachInst, Plain, Source, ZMM};
use crate::codegen::x86::encode::{Row, Size};
use crate::codegen::x86::table as t;

impl Selector<'_> {
    pub(super) fn fresh(&mut self, class: RegClass) -> VReg {
        let register = VReg::new(self.vregs, class);
        self.vregs += 1;
        register
    }

    pub(super) fn push(&mut self, kind: Kind, operands: SmallVec<[Operand; 4]>) {
        self.push_clobbering(kind, operands, PRegSet::empty());
    }

    pub(super) fn push_clobbering(&mut self, kind: Kind, operands: SmallVec<[Operand; 4]>, clobbers: PRegSet) {
        let loc = self.loc;
        self.blocks[self.current].insts.push(MachInst { kind, operands, clobbers, loc });
    }

    /// Appends an instruction that is a row of the table, with a result of a class or none; `reg` is an operand in the register
    /// field that is no result.
    #[allow(clippy::too_many_arguments, reason = "an instruction's fields, all at one place")]
    pub(super) fn plain(
        &mut self,
        row: Row,
        size: Size,
        result: Option<VReg>,
        reg: Option<VReg>,
        digit: u8,
        source: From,
        more: More,
    ) {
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut add = |operand: Operand| {
            operands.push(operand);
            operands.len() as u8 - 1
        };
        let mut field = Field::Digit(digit);
        if let Some(tied) = more.tied {
            add(Operand::reg_use(tied));
        }
        // A digit takes the register field; the result is then the second register, or the tied one in the last field.
        let mut result_at = None;
        if let Some(result) = result {
            let operand =
                if more.tied.is_some() { Operand::reg_reuse_def(result, 0) } else { Operand::reg_def(result) };
            result_at = Some(add(operand));
        }
        if let Some(reg) = reg {
            field = Field::Operand(add(Operand::reg_use(reg)));
        }
        let mut second = more.second.map(|register| add(Operand::reg_use(register)));
        let mask = more.mask.map(|register| add(Operand::reg_use(register)));
        let mut broadcast = false;
        let mut source = match source {
            From::Register(register) => Source::Operand(add(Operand::reg_use(register))),
            From::Memory(address) => {
                let base = match address.base {
                    Start::Register(base) => Base::Operand(add(Operand::reg_use(base))),
                    Start::Stack(offset) => Base::Stack(offset),
                };
                let index = address.index.map(|(index, scale)| (add(Operand::reg_use(index)), scale));
                Source::Memory(base, index, address.disp)
            }
            From::Bytes(constant) => Source::Constant(constant),
            From::Lane(constant) => {
                broadcast = true;
                Source::Constant(constant)
            }
            From::Result => Source::Operand(result_at.unwrap_or(0)),
        };
        match (result_at, reg.is_some(), digit) {
            (None, ..) => {}
            // The result is where the operand in the register field is not.
            (Some(at), true, _) => source = Source::Operand(at),
            (Some(at), false, NO_DIGIT) => field = Field::Operand(at),
            (Some(at), false, _) if row.is_evex() => second = Some(at),
            (Some(at), false, _) => source = Source::Operand(at),
        }
        let More { zeroing, immediate, .. } = more;
        self.push(
            Kind::Plain(Plain {
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
    pub(super) fn make(&mut self, class: RegClass, row: Row, size: Size, source: From, more: More) -> VReg {
        let result = self.fresh(class);
        self.plain(row, size, Some(result), None, NO_DIGIT, source, more);
        result
    }

    /// A vector instruction of one operand.
    pub(super) fn v1(&mut self, row: Row, size: Size, source: From) -> VReg {
        self.make(ZMM, row, size, source, More::default())
    }

    /// A vector instruction of two operands.
    pub(super) fn v2(&mut self, row: Row, size: Size, a: VReg, b: From) -> VReg {
        self.make(ZMM, row, size, b, More { second: Some(a), ..More::default() })
    }

    /// A vector instruction of two operands and an immediate byte.
    pub(super) fn v2_imm(&mut self, row: Row, size: Size, a: VReg, b: From, immediate: i64) -> VReg {
        self.make(ZMM, row, size, b, More { second: Some(a), immediate: Some((immediate, 1)), ..More::default() })
    }

    /// A vector instruction of one operand and an immediate byte.
    pub(super) fn v1_imm(&mut self, row: Row, size: Size, source: From, immediate: i64) -> VReg {
        self.make(ZMM, row, size, source, More { immediate: Some((immediate, 1)), ..More::default() })
    }

    /// A shift of vectors by a number, which a digit tells from others.
    pub(super) fn shifted(&mut self, row: Row, digit: u8, size: Size, a: VReg, count: i64) -> VReg {
        let result = self.fresh(ZMM);
        let more = More { immediate: Some((count, 1)), ..More::default() };
        self.plain(row, size, Some(result), None, digit, From::Register(a), more);
        result
    }

    /// A vector instruction whose result replaces its first operand.
    pub(super) fn v3(&mut self, row: Row, size: Size, tied: VReg, a: VReg, b: From) -> VReg {
        self.make(ZMM, row, size, b, More { tied: Some(tied), second: Some(a), ..More::default() })
    }

    /// A scalar instruction whose result replaces its first operand.
    pub(super) fn g2(&mut self, row: Row, size: Size, tied: VReg, b: From) -> VReg {
        self.make(GPR, row, size, b, More { tied: Some(tied), ..More::default() })
    }

    /// A scalar instruction of one operand.
    pub(super) fn g1(&mut self, row: Row, size: Size, source: From) -> VReg {
        self.make(GPR, row, size, source, More::default())
    }

    /// A scalar instruction that replaces its operand, which a digit tells from others.
    pub(super) fn g_digit(
        &mut self,
        row: Row,
        digit: u8,
        size: Size,
        tied: VReg,
        immediate: Option<(i64, u8)>,
    ) -> VReg {
        let result = self.fresh(GPR);
        let more = More { tied: Some(tied), immediate, ..More::default() };
        self.plain(row, size, Some(result), None, digit, From::Result, more);
        result
    }

    /// A scalar operation with an immediate.
    pub(super) fn g_imm(&mut self, operation: Immediate, size: Size, a: VReg, value: i64) -> VReg {
        self.g_digit(t::ALU_IMM, operation as u8, size, a, Some((value, 4)))
    }

    /// An instruction of two scalars that only sets flags.
    pub(super) fn flags(&mut self, row: Row, size: Size, a: VReg, b: From) {
        self.plain(row, size, None, Some(a), NO_DIGIT, b, More::default());
    }

    /// Compares a scalar with a number.
    pub(super) fn compare_imm(&mut self, size: Size, a: VReg, value: i64) {
        let more = More { immediate: Some((value, 4)), ..More::default() };
        self.plain(t::ALU_IMM, size, None, None, 7, From::Register(a), more);
    }

    /// A truth value from the flags.
    pub(super) fn truth(&mut self, cond: Cond) -> VReg {
        let byte = self.fresh(GPR);
        let row = Row { opcode: t::SETCC.opcode | cond as u8, ..t::SETCC };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(Operand::reg_def(byte));
        let plain = Plain {
            row,
            size: Size::S8,
            reg: Field::Digit(0),
            second: None,
            source: Source::Operand(0),
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        };
        self.push(Kind::Plain(plain), operands);
        self.g1(t::MOVZX8, Size::S32, From::Register(byte))
    }

    /// `a` where the flags say so, else `b`.
    pub(super) fn choose(&mut self, cond: Cond, size: Size, a: VReg, b: VReg) -> VReg {
        let row = Row { opcode: t::CMOVCC.opcode | cond as u8, ..t::CMOVCC };
        self.g2(row, size, b, From::Register(a))
    }

    /// Moves a value into the only operand of a given register: nothing for the allocator to know.
    pub(super) fn fixed_use(register: VReg, place: PReg) -> Operand {
        Operand::reg_fixed_use(register, place)
    }
}
