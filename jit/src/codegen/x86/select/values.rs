//! Values in registers: constants where they are used, and where all others are.

use clift_kir::dfg::ConstData;
use clift_kir::{Inst, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{From, Held, More, Selector, broadcast_row, class, size};
use crate::codegen::x86::code::{Field, GPR, Kind, MASK, Plain, Source, ZMM};
use crate::codegen::x86::encode::Size;
use crate::codegen::x86::table as t;

impl<'a> Selector<'a> {
    /// The constant that a value is.
    pub(super) fn constant(&self, value: Value) -> Option<&'a ConstData> {
        self.legal.dfg.as_const(value)
    }

    /// A scalar constant of so few bits that instructions have it as an immediate.
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
        match self.values[value] {
            Some(Held::Register(register)) => register,
            Some(Held::Address(address)) => self.address_of(address),
            None => unreachable!("broken invariant: {value} used before its definition"),
        }
    }

    /// A value as the last operand of an instruction on vectors (or scalar floats), whose lanes have so many bits.
    pub(super) fn operand(&mut self, value: Value) -> From {
        let Some(data) = self.constant(value) else { return From::Register(self.get(value)) };
        if data.ty.is_bool() || class(data.ty) != ZMM {
            return From::Register(self.materialize(data));
        }
        let bytes = data.ty.elem.bytes() as usize;
        let whole = |lanes: &mut dyn Iterator<Item = u64>| {
            lanes.flat_map(|bits| bits.to_le_bytes().into_iter().take(bytes)).collect::<Vec<u8>>()
        };
        match data.as_splat() {
            _ if !data.ty.is_vector() => {
                let constant = whole(&mut std::iter::once(data.lane(0)));
                From::Bytes(self.pool.add(&constant))
            }
            Some(bits) if bytes >= 4 => {
                let constant = whole(&mut std::iter::once(bits));
                From::Lane(self.pool.add(&constant))
            }
            _ => {
                let mut constant = whole(&mut (0..data.ty.lanes()).map(|lane| data.lane(lane)));
                // What an instruction reads.
                let size = match size(data.ty) {
                    Size::Y => 32,
                    Size::Z => 64,
                    Size::S8 | Size::S16 | Size::S32 | Size::S64 | Size::X => 16,
                };
                constant.resize(size, 0);
                From::Bytes(self.pool.add(&constant))
            }
        }
    }

    /// A constant in a register.
    pub(super) fn materialize(&mut self, data: &ConstData) -> VReg {
        let ty = data.ty;
        match class(ty) {
            GPR => self.number(data.lane(0) as i64, ty.elem.bits().max(8)),
            MASK => {
                if data.as_splat() == Some(1) {
                    let result = self.fresh(MASK);
                    self.push(Kind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
                    return result;
                }
                let bits = (0..ty.lanes()).fold(0, |bits, lane| bits | (data.lane(lane) & 1) << lane);
                let bits = self.number(bits as i64, 64);
                self.mask_from_bits(bits)
            }
            _ => self.vector_constant(data),
        }
    }

    pub(super) fn vector_constant(&mut self, data: &ConstData) -> VReg {
        let ty = data.ty;
        let result = self.fresh(ZMM);
        if data.as_splat() == Some(0) {
            self.push(Kind::Zero, SmallVec::from_slice(&[Operand::reg_def(result)]));
            return result;
        }
        if data.as_splat() == Some(ty.elem.mask()) {
            self.push(Kind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
            return result;
        }
        let bytes = ty.elem.bytes() as usize;
        if let Some(bits) = data.as_splat().filter(|_| ty.is_vector()) {
            let lane = self.pool.add(&bits.to_le_bytes()[..bytes]);
            return self.v1(broadcast_row(bytes), size(ty), From::Bytes(lane));
        }
        let place = if ty.is_vector() {
            let lanes = (0..ty.lanes()).flat_map(|lane| data.lane(lane).to_le_bytes().into_iter().take(bytes));
            let constant: Vec<u8> = lanes.collect();
            let mut constant = constant;
            constant.resize(constant.len().next_power_of_two().max(16), 0);
            From::Bytes(self.pool.add(&constant))
        } else {
            From::Bytes(self.pool.add(&data.lane(0).to_le_bytes()[..bytes]))
        };
        match (ty.is_vector(), bytes) {
            (false, 4) => self.v1(t::VMOVSS, Size::X, place),
            (false, _) => self.v1(t::VMOVSD, Size::X, place),
            (true, _) => self.v1(t::VMOVUPS, size(ty), place),
        }
    }

    /// A vector constant of equal lanes.
    pub(super) fn lanes_of(&mut self, ty: Type, bits: u64) -> From {
        let bytes = ty.elem.bytes() as usize;
        if bytes >= 4 {
            return From::Lane(self.pool.add(&bits.to_le_bytes()[..bytes]));
        }
        let data = ConstData::splat(ty, bits);
        From::Register(self.vector_constant(&data))
    }

    /// A number in a scalar register.
    pub(super) fn number(&mut self, value: i64, bits: u32) -> VReg {
        let value = if bits < 64 { value << (64 - bits) >> (64 - bits) } else { value };
        let result = self.fresh(GPR);
        let operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[Operand::reg_def(result)]);
        if i32::try_from(value).is_ok() {
            // Of values of 32 bits at most nobody reads the upper half.
            let size = if bits == 64 && value < 0 { Size::S64 } else { Size::S32 };
            let plain = Plain {
                row: t::MOV_IMM,
                size,
                reg: Field::Digit(0),
                second: None,
                source: Source::Operand(0),
                mask: None,
                zeroing: false,
                broadcast: false,
                immediate: Some((value, 4)),
                locked: false,
            };
            self.push(Kind::Plain(plain), operands);
        } else {
            self.push(Kind::Long(value), operands);
        }
        result
    }

    /// A mask from bits in a scalar register.
    pub(super) fn mask_from_bits(&mut self, bits: VReg) -> VReg {
        self.make(MASK, t::KMOVQ_FROM_SCALAR, Size::X, From::Register(bits), More::default())
    }

    /// The bits of a mask in a scalar register.
    pub(super) fn bits_of_mask(&mut self, mask: VReg) -> VReg {
        self.make(GPR, t::KMOVQ_TO_SCALAR, Size::X, From::Register(mask), More::default())
    }

    /// Type of an operand.
    pub(super) fn arg_type(&self, inst: Inst, index: usize) -> Type {
        self.legal.dfg.ty(self.legal.dfg.inst(inst).args[index])
    }

    /// Type of the only result.
    pub(super) fn result_type(&self, inst: Inst) -> Type {
        self.legal.dfg.ty(self.legal.dfg.result(inst))
    }

    /// Notes the only result of an instruction.
    pub(super) fn set(&mut self, inst: Inst, register: VReg) {
        let result = self.legal.dfg.result(inst);
        debug_assert_eq!(
            register.class(),
            class(self.legal.dfg.ty(result)),
            "broken invariant: class of {:?}",
            self.legal.dfg.inst(inst)
        );
        self.values[result] = Some(Held::Register(register));
        self.homes[result] = Some(self.block);
    }

    /// Whether the instruction being translated is the last to need a value: the only one, in the same block.
    pub(super) fn ends_here(&self, value: Value) -> bool {
        self.uses.get(value) == 1 && self.homes[value] == Some(self.block) && self.constant(value).is_none()
    }
}
