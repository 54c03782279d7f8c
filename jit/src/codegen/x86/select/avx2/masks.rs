//! Masks as vectors: their logic, their lanes in other widths, and their bits in scalar registers.

use clift_kir::dfg::ConstData;
use clift_kir::ops::IntOp;
use clift_kir::{Elem, Imm, Inst, IntCond, Opcode, Type, Value};
use regalloc2::{Operand, VReg};
use smallvec::SmallVec;

use super::{SignedMask, param_bytes};
use crate::codegen::BooleanOp;
use crate::codegen::x86::code::{Cond, GPR, InstKind, ZMM};
use crate::codegen::x86::encode::OperandSize;
use crate::codegen::x86::select::convert::widening;
use crate::codegen::x86::select::{ExtraOperands, Immediate, RegMem, Selector, wrong_imm};
use crate::codegen::x86::table as t;

/// The size of a register with lanes of so many bytes.
pub(super) fn lanes_size(lanes: u32, bytes: u32) -> OperandSize {
    OperandSize::vector(8 * lanes * bytes)
}

/// The integer element of so many bytes.
pub(super) fn int_of(bytes: u32) -> Elem {
    Elem::int(8 * bytes).unwrap_or(Elem::I64)
}

impl Selector<'_> {
    /// Records that a register has a mask.
    pub(in crate::codegen::x86::select) fn as_mask(&mut self, register: VReg, bytes: u32) -> VReg {
        self.masks.define(register, bytes);
        register
    }

    /// A constant mask with lanes of a given width.
    pub(in crate::codegen::x86::select) fn constant_mask(&mut self, data: &ConstData, bytes: u32) -> VReg {
        let ty = Type::vector(int_of(bytes), data.ty.lanes());
        let lanes = match data.as_splat() {
            Some(bit) => ConstData::splat(ty, if bit & 1 == 1 { ty.elem.mask() } else { 0 }),
            None => {
                let lane = |lane| if data.lane(lane) & 1 == 1 { ty.elem.mask() } else { 0 };
                ConstData::new(ty, &(0..ty.lanes()).map(lane).collect::<Vec<u64>>())
            }
        };
        let register = self.vector_constant(&lanes);
        self.as_mask(register, bytes)
    }

    /// A vector whose bits are all set.
    pub(super) fn ones(&mut self) -> VReg {
        let result = self.fresh(ZMM);
        self.push(InstKind::Ones, SmallVec::from_slice(&[Operand::reg_def(result)]));
        result
    }

    /// The complement of a mask.
    pub(super) fn complement(&mut self, mask: VReg) -> VReg {
        if let Some(&known) = self.masks.complements.get(&mask) {
            return known;
        }
        let ones = self.ones();
        let result = self.v2(t::VPXORD, OperandSize::Y, mask, RegMem::Register(ones));
        self.masks.complements.insert(result, mask);
        let bytes = self.masks.lane_bytes(mask);
        self.as_mask(result, bytes)
    }

    /// The width of the lanes of a mask in its register; `None` if it is a constant.
    pub(super) fn mask_bytes(&mut self, value: Value) -> Option<u32> {
        match self.constant(value) {
            Some(_) => None,
            None => {
                let register = self.get(value);
                Some(self.masks.lane_bytes(register))
            }
        }
    }

    /// A mask with lanes of a given width.
    pub(in crate::codegen::x86::select) fn mask_lanes(&mut self, value: Value, bytes: u32) -> VReg {
        if let Some(data) = self.constant(value) {
            return self.constant_mask(data, bytes);
        }
        let register = self.get(value);
        self.mask_of_width(register, self.legal.dfg.ty(value).lanes(), bytes)
    }

    /// A mask, or its complement if only that would have to be computed, with lanes of a given width.
    pub(super) fn signed_mask(&mut self, value: Value, bytes: u32) -> SignedMask {
        if self.constant(value).is_some() {
            return SignedMask { register: self.mask_lanes(value, bytes), is_complement: false };
        }
        let register = self.get(value);
        let lanes = self.legal.dfg.ty(value).lanes();
        let (register, is_complement) = match self.masks.complements.get(&register) {
            Some(&other) => (other, true),
            None => (register, false),
        };
        SignedMask { register: self.mask_of_width(register, lanes, bytes), is_complement }
    }

    /// The lanes of a mask in another width.
    pub(super) fn mask_of_width(&mut self, mask: VReg, lanes: u32, bytes: u32) -> VReg {
        let from = self.masks.lane_bytes(mask);
        if from == bytes {
            return mask;
        }
        let key = (self.current, mask, bytes);
        if let Some(&known) = self.masks.converted.get(&key) {
            return known;
        }
        let register = if from < bytes {
            self.v1(widening(from, bytes, true), lanes_size(lanes, bytes), RegMem::Register(mask))
        } else {
            let half = self.halved_lanes(mask, lanes, from);
            let half = self.as_mask(half, from / 2);
            self.mask_of_width(half, lanes, bytes)
        };
        self.as_mask(register, bytes);
        self.masks.converted.insert(key, register);
        register
    }

    /// Lanes that have all bits set or none, in half of their width.
    fn halved_lanes(&mut self, mask: VReg, lanes: u32, bytes: u32) -> VReg {
        let long = lanes_size(lanes, bytes) == OperandSize::Y;
        if bytes == 8 {
            return match long {
                true => self.permuted_words(mask, &[0, 2, 4, 6, 0, 2, 4, 6]),
                false => self.v1_imm(t::VPSHUFD, OperandSize::X, RegMem::Register(mask), 0x08),
            };
        }
        let row = if bytes == 4 { t::VPACKSSDW } else { t::VPACKSSWB };
        let upper = if long { self.upper_128(mask) } else { mask };
        self.v2(row, OperandSize::X, mask, RegMem::Register(upper))
    }

    // -- logic --

    fn finished(&mut self, mask: SignedMask) -> VReg {
        if mask.is_complement { self.complement(mask.register) } else { mask.register }
    }

    fn logic(&mut self, row: crate::codegen::x86::encode::InstRow, a: VReg, b: VReg, bytes: u32) -> VReg {
        let result = self.v2(row, OperandSize::Y, a, RegMem::Register(b));
        self.as_mask(result, bytes)
    }

    fn conjunction(&mut self, a: SignedMask, b: SignedMask, bytes: u32) -> SignedMask {
        let (x, y) = (a.register, b.register);
        let (register, is_complement) = match (a.is_complement, b.is_complement) {
            (false, false) => (self.logic(t::VPANDD, x, y, bytes), false),
            (true, false) => (self.logic(t::VPANDN, x, y, bytes), false),
            (false, true) => (self.logic(t::VPANDN, y, x, bytes), false),
            (true, true) => (self.logic(t::VPORD, x, y, bytes), true),
        };
        SignedMask { register, is_complement }
    }

    fn exclusive(&mut self, a: SignedMask, b: SignedMask, bytes: u32) -> SignedMask {
        let register = self.logic(t::VPXORD, a.register, b.register, bytes);
        SignedMask { register, is_complement: a.is_complement != b.is_complement }
    }

    /// The widest lanes that one of some masks has.
    pub(super) fn common_width(&mut self, masks: &[Value]) -> u32 {
        let lanes = self.legal.dfg.ty(masks[0]).lanes();
        let widths = masks.iter().filter_map(|&mask| self.mask_bytes(mask)).max();
        widths.unwrap_or(param_bytes(lanes)).min(32 / lanes.max(4))
    }

    /// An op on masks.
    pub(in crate::codegen::x86::select) fn vector_mask_op(&mut self, op: IntOp, inst: Inst) -> VReg {
        use BooleanOp as O;
        let data = self.legal.dfg.inst(inst);
        let args = &data.args;
        let bytes = self.common_width(args);
        let a = self.signed_mask(args[0], bytes);
        let b = args.get(1).map(|&b| self.signed_mask(b, bytes)).unwrap_or(a);
        let not = |mask: SignedMask| SignedMask { is_complement: !mask.is_complement, ..mask };
        let result = match (BooleanOp::of(op), &data.imm) {
            (O::And, _) => self.conjunction(a, b, bytes),
            (O::Or, _) => not(self.conjunction(not(a), not(b), bytes)),
            (O::Xor, _) => self.exclusive(a, b, bytes),
            (O::Not, _) => not(a),
            (O::Compare, Imm::IntCond(cond)) => match cond {
                IntCond::Ne => self.exclusive(a, b, bytes),
                IntCond::Eq => not(self.exclusive(a, b, bytes)),
                // True is 1 as an unsigned and -1 as a signed number.
                IntCond::Ult | IntCond::Sgt => self.conjunction(not(a), b, bytes),
                IntCond::Ugt | IntCond::Slt => self.conjunction(a, not(b), bytes),
                IntCond::Ule | IntCond::Sge => not(self.conjunction(a, not(b), bytes)),
                IntCond::Uge | IntCond::Sle => not(self.conjunction(not(a), b, bytes)),
            },
            (O::Compare, imm) => wrong_imm(imm),
        };
        self.finished(result)
    }

    // -- bits --

    /// The top bits of the lanes of a mask (of lanes of two bytes: two bits each) in a scalar register, and how many they are.
    /// The bits above are zero.
    fn top_bits(&mut self, mask: VReg, lanes: u32) -> (VReg, u32) {
        let bytes = self.masks.lane_bytes(mask);
        let (row, each) = match bytes {
            8 => (t::VMOVMSKPD, 1),
            4 => (t::VMOVMSKPS, 1),
            _ => (t::VPMOVMSKB, bytes),
        };
        let size = lanes_size(lanes, bytes);
        let bits = self.make(GPR, row, size, RegMem::Register(mask), ExtraOperands::default());
        let used = lanes * each;
        let bits = match lanes * bytes {
            16 | 32 => bits,
            _ => self.g_imm(Immediate::And, OperandSize::S32, bits, (1 << used) - 1),
        };
        (bits, used)
    }

    /// The bits of a mask in a scalar register; those above are zero.
    pub(in crate::codegen::x86::select) fn bits_of_vector_mask(&mut self, mask: VReg, lanes: u32) -> VReg {
        let mask = if self.masks.lane_bytes(mask) == 2 { self.mask_of_width(mask, lanes, 1) } else { mask };
        self.top_bits(mask, lanes).0
    }

    /// Sets the flags by a mask and returns the condition on them.
    pub(in crate::codegen::x86::select) fn test_vector_mask(&mut self, inst: Inst) -> Cond {
        let data = self.legal.dfg.inst(inst);
        let lanes = self.arg_type(inst, 0).lanes();
        let bytes = self.common_width(&data.args);
        let mask = self.signed_mask(data.args[0], bytes);
        let (bits, used) = self.top_bits(mask.register, lanes);
        let any = data.op == Opcode::Any;
        if any != mask.is_complement {
            self.flags(t::TEST, OperandSize::S32, bits, RegMem::Register(bits));
            return if any { Cond::NotEqual } else { Cond::Equal };
        }
        let all = if used == 32 { -1 } else { (1i64 << used) - 1 };
        self.compare_imm(OperandSize::S32, RegMem::Register(bits), all);
        if any { Cond::NotEqual } else { Cond::Equal }
    }

    /// A mask whose lanes all have the value of a Boolean in a scalar register.
    pub(in crate::codegen::x86::select) fn vector_mask_of_bool(&mut self, value: VReg, lanes: u32, bytes: u32) -> VReg {
        let all = self.g_digit(t::GROUP3, 3, OperandSize::S64, value, None);
        let first = self.v1(t::VMOVD_FROM_SCALAR, OperandSize::S64, RegMem::Register(all));
        let register = match lanes * bytes {
            0..=8 => first,
            _ => self.v1(t::VPBROADCASTQ, lanes_size(lanes, bytes), RegMem::Register(first)),
        };
        self.as_mask(register, bytes)
    }

    /// A mask from Booleans in scalar registers.
    pub(in crate::codegen::x86::select) fn vector_mask_of(&mut self, parts: &[VReg]) -> VReg {
        let lanes = parts.len() as u32;
        let bytes = param_bytes(lanes);
        let parts: Vec<VReg> =
            parts.iter().map(|&part| self.g_digit(t::GROUP3, 3, OperandSize::S32, part, None)).collect();
        let register = self.vector(Type::vector(int_of(bytes), lanes), |_, lane| RegMem::Register(parts[lane]));
        self.as_mask(register, bytes)
    }
}
