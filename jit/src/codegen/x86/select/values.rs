//! Values in registers, and constants, which are materialized where they are used.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Inst, Opcode, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{ExtraOperands, RegMem, Selector, ValueLocation, avx2, broadcast_row, class, size};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{GPR, InstKind, MASK, RegField, RmField, RowInst, ZMM};
use crate::codegen::x86::encode::OperandSize;
use crate::codegen::x86::table as t;

/// Whether instructions on lanes of a type can broadcast an operand in memory.
pub(super) fn has_broadcast(ty: Type) -> bool {
    ty.elem.bytes() >= 4 || ty.elem == Elem::F16
}

impl<'a> Selector<'a> {
    /// The value of a constant.
    pub(super) fn constant(&self, value: Value) -> Option<&'a ConstData> {
        self.legal.dfg.as_const(value)
    }

    /// A scalar constant that fits the 32-bit immediate of an instruction.
    pub(super) fn small(&self, value: Value) -> Option<i64> {
        let data = self.constant(value)?;
        if data.ty.is_vector() || !(data.ty.elem.is_int() || data.ty.elem.is_ptr()) {
            return None;
        }
        let bits = data.ty.elem.bits();
        let extended = (data.lane(0) as i64) << (64 - bits) >> (64 - bits);
        i32::try_from(extended).ok().map(i64::from)
    }

    /// A value in a register.
    pub(super) fn get(&mut self, value: Value) -> VReg {
        if let Some(data) = self.constant(value) {
            return self.materialize(data);
        }
        self.demand(value);
        match self.values[value] {
            Some(ValueLocation::Register(register)) => register,
            Some(ValueLocation::Address(address)) => self.address_of(address),
            None => unreachable!("broken invariant: {value} used before its definition"),
        }
    }

    /// A value as the register or memory operand of an instruction on vectors or scalar floats.
    pub(super) fn operand(&mut self, value: Value) -> RegMem {
        let Some(data) = self.constant(value) else {
            let Some((operand, load)) = self.loaded(value) else { return RegMem::Register(self.get(value)) };
            // Faults are reported for the line of the load.
            self.loc = self.legal.locs[load];
            return operand;
        };
        if data.ty.is_bool() || class(data.ty) != ZMM {
            return RegMem::Register(self.materialize(data));
        }
        let bytes = data.ty.elem.bytes() as usize;
        let whole = |lanes: &mut dyn Iterator<Item = u64>| {
            lanes.flat_map(|bits| bits.to_le_bytes().into_iter().take(bytes)).collect::<Vec<u8>>()
        };
        match data.as_splat() {
            _ if !data.ty.is_vector() => {
                let constant = whole(&mut std::iter::once(data.lane(0)));
                RegMem::Bytes(self.pool.add(&constant))
            }
            Some(bits) if has_broadcast(data.ty) && self.level != Level::Avx2 => {
                let constant = whole(&mut std::iter::once(bits));
                RegMem::Lane(self.pool.add(&constant))
            }
            _ => {
                let mut constant = whole(&mut (0..data.ty.lanes()).map(|lane| data.lane(lane)));
                // The bytes that an instruction reads.
                let size = match size(data.ty) {
                    OperandSize::Y => 32,
                    OperandSize::Z => 64,
                    OperandSize::S8 | OperandSize::S16 | OperandSize::S32 | OperandSize::S64 | OperandSize::X => 16,
                };
                constant.resize(size, 0);
                RegMem::Bytes(self.pool.add(&constant))
            }
        }
    }

    /// A constant in a register.
    pub(super) fn materialize(&mut self, data: &ConstData) -> VReg {
        let ty = data.ty;
        match class(ty) {
            GPR => self.number(data.lane(0) as i64, ty.elem.bits().max(8)),
            MASK if self.masks_are_vectors() => self.constant_mask(data, avx2::param_bytes(ty.lanes())),
            MASK => {
                if data.as_splat() == Some(1) {
                    let result = self.fresh(MASK);
                    self.push(InstKind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
                    return result;
                }
                let bits = (0..ty.lanes()).fold(0, |bits, lane| bits | (data.lane(lane) & 1) << lane);
                let bits = self.number(bits as i64, 64);
                self.mask_from_bits(bits)
            }
            ZMM => self.vector_constant(data),
        }
    }

    pub(super) fn vector_constant(&mut self, data: &ConstData) -> VReg {
        let ty = data.ty;
        let result = self.fresh(ZMM);
        if data.as_splat() == Some(0) {
            self.push(InstKind::Zero, SmallVec::from_slice(&[Operand::reg_def(result)]));
            return result;
        }
        if data.as_splat() == Some(ty.elem.mask()) {
            self.push(InstKind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
            return result;
        }
        let bytes = ty.elem.bytes() as usize;
        if let Some(bits) = data.as_splat().filter(|_| ty.is_vector()) {
            let lane = self.pool.add(&bits.to_le_bytes()[..bytes]);
            return self.v1(broadcast_row(bytes), size(ty), RegMem::Bytes(lane));
        }
        let place = if ty.is_vector() {
            let lanes = (0..ty.lanes()).flat_map(|lane| data.lane(lane).to_le_bytes().into_iter().take(bytes));
            let constant: Vec<u8> = lanes.collect();
            let mut constant = constant;
            constant.resize(constant.len().next_power_of_two().max(16), 0);
            RegMem::Bytes(self.pool.add(&constant))
        } else {
            RegMem::Bytes(self.pool.add(&data.lane(0).to_le_bytes()[..bytes]))
        };
        match (ty.is_vector(), bytes) {
            (false, 2) => self.v1(t::VPBROADCASTW, OperandSize::X, place),
            (false, 4) => self.v1(t::VMOVSS, OperandSize::X, place),
            (false, _) => self.v1(t::VMOVSD, OperandSize::X, place),
            (true, _) => self.v1(t::VMOVUPS, size(ty), place),
        }
    }

    /// A vector constant with equal lanes, as an operand.
    pub(super) fn lanes_of(&mut self, ty: Type, bits: u64) -> RegMem {
        let bytes = ty.elem.bytes() as usize;
        if self.level == Level::Avx2 {
            let lane = &bits.to_le_bytes()[..bytes];
            return RegMem::Bytes(self.pool.add(&lane.repeat(32 / bytes)));
        }
        if bytes >= 4 {
            return RegMem::Lane(self.pool.add(&bits.to_le_bytes()[..bytes]));
        }
        let data = ConstData::splat(ty, bits);
        RegMem::Register(self.vector_constant(&data))
    }

    /// An integer in a scalar register.
    pub(super) fn number(&mut self, value: i64, bits: u32) -> VReg {
        let value = if bits < 64 { value << (64 - bits) >> (64 - bits) } else { value };
        let result = self.fresh(GPR);
        let operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[Operand::reg_def(result)]);
        if i32::try_from(value).is_ok() {
            // Nothing reads the upper half of values of at most 32 bits.
            let size = if bits == 64 && value < 0 { OperandSize::S64 } else { OperandSize::S32 };
            let plain = RowInst {
                row: t::MOV_IMM,
                size,
                reg: RegField::Digit(0),
                second: None,
                source: RmField::Operand(0),
                mask: None,
                zeroing: false,
                broadcast: false,
                immediate: Some((value, 4)),
                locked: false,
            };
            self.push(InstKind::Row(plain), operands);
        } else {
            self.push(InstKind::Constant64(value), operands);
        }
        result
    }

    /// A mask from the bits of a scalar register.
    pub(super) fn mask_from_bits(&mut self, bits: VReg) -> VReg {
        self.make(MASK, t::KMOVQ_FROM_SCALAR, OperandSize::X, RegMem::Register(bits), ExtraOperands::default())
    }

    /// The bits of a mask in a scalar register.
    pub(super) fn bits_of_mask(&mut self, mask: VReg) -> VReg {
        self.make(GPR, t::KMOVQ_TO_SCALAR, OperandSize::X, RegMem::Register(mask), ExtraOperands::default())
    }

    /// The type of an operand.
    pub(super) fn arg_type(&self, inst: Inst, index: usize) -> Type {
        self.legal.dfg.ty(self.legal.dfg.inst(inst).args[index])
    }

    /// The type of the only result.
    pub(super) fn result_type(&self, inst: Inst) -> Type {
        self.legal.dfg.ty(self.legal.dfg.result(inst))
    }

    /// Sets the only result of an instruction.
    pub(super) fn set(&mut self, inst: Inst, register: VReg) {
        let result = self.legal.dfg.result(inst);
        debug_assert_eq!(
            register.class(),
            self.register_class(self.legal.dfg.ty(result)),
            "broken invariant: class of {:?}",
            self.legal.dfg.inst(inst)
        );
        self.values[result] = Some(ValueLocation::Register(register));
        self.homes[result] = Some(self.block);
    }

    /// Whether this is the last use of a value: the only use, in the block that defines the value.
    pub(super) fn ends_here(&self, value: Value) -> bool {
        self.uses.get(value) == 1 && self.homes[value] == Some(self.block) && self.constant(value).is_none()
    }

    /// Whether the bits above an integer's own are known to be zero in its register.
    pub(super) fn is_zero_extended(&self, value: Value) -> bool {
        self.is_zero_extended_within(value, 4)
    }

    /// As [`Self::is_zero_extended`], looking at most `depth` definitions deep.
    fn is_zero_extended_within(&self, value: Value, depth: u32) -> bool {
        let dfg = &self.legal.dfg;
        let ty = dfg.ty(value);
        if ty.is_vector() || !ty.elem.is_int() {
            return false;
        }
        if let Some(data) = dfg.as_const(value) {
            // Constants are materialized as signed numbers.
            return data.lane(0) <= ty.elem.mask() >> 1;
        }
        let Some(inst) = dfg.def_inst(value) else { return false };
        let data = dfg.inst(inst);
        let zero = |index: usize| depth > 0 && self.is_zero_extended_within(data.args[index], depth - 1);
        // Instructions of 32 bits clear the upper half.
        let whole = ty.elem == Elem::I32;
        let is = |ops: &[Opcode]| ops.contains(&data.op);
        let always = is(&[Opcode::Load, Opcode::Zext, Opcode::Lshr]);
        let if_whole = is(&[
            Opcode::And,
            Opcode::Or,
            Opcode::Xor,
            Opcode::Select,
            Opcode::Iadd,
            Opcode::Isub,
            Opcode::Imul,
            Opcode::Not,
            Opcode::Ineg,
            Opcode::Shl,
            Opcode::Ashr,
            Opcode::Rotl,
            Opcode::Clz,
            Opcode::Ctz,
            Opcode::Popcnt,
        ]);
        always
            || if_whole && whole
            || data.op == Opcode::And && (zero(0) || zero(1))
            || is(&[Opcode::Or, Opcode::Xor]) && zero(0) && zero(1)
            || data.op == Opcode::Select && zero(1) && zero(2)
    }
}
