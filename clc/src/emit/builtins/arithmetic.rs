//! Predicates, dot products, bit fields, arithmetic that tells an overflow.

use smallvec::SmallVec;
use spirv::{Capability, Op};

use super::Call;
use crate::builtins::{ByteDot, ext};
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::types::Scalar;

/// `PackedVectorFormat4x8Bit`
const PACKED_4X8: u32 = 0;

impl FunctionEmitter<'_, '_> {
    /// A test of floats: 1 for a true scalar, -1 for a true lane.
    pub(super) fn predicate(&mut self, call: &Call<'_>, op: Op) -> Id {
        let (scalar, lanes) = self.lanes_of(call.result);
        let lanes = u32::from(lanes);
        let truth_type = self.module.lanes_type(Scalar::Bool, lanes);
        let truth = self.op(op, truth_type, call.values);
        let yes = if lanes == 1 { 1 } else { u64::MAX >> (64 - scalar.bytes() * 8) };
        let (yes, no) = (self.module.splat(scalar, lanes, yes), self.module.splat(scalar, lanes, 0));
        let ty = self.module.type_id(call.result);
        self.op(Op::Select, ty, &[truth, yes, no])
    }

    /// `any` and `all` of the sign bits.
    pub(super) fn sign_bits(&mut self, call: &Call<'_>, op: Op) -> Id {
        let (scalar, lanes) = self.lanes_of(call.ty(0));
        let lanes = u32::from(lanes);
        let truth_type = self.module.lanes_type(Scalar::Bool, lanes);
        let zero = self.module.splat(scalar, lanes, 0);
        let mut truth = self.op(Op::SLessThan, truth_type, &[call.value(0), zero]);
        if lanes > 1 {
            let bool_type = self.module.bool_type();
            truth = self.op(op, bool_type, &[truth]);
        }
        self.number_of_truth(truth, call.result)
    }

    /// `dot` of floats.
    pub(super) fn dot(&mut self, call: &Call<'_>) -> Id {
        let ty = self.module.type_id(call.result);
        let op = if self.lanes_of(call.ty(0)).1 == 1 { Op::FMul } else { Op::Dot };
        self.op(op, ty, call.values)
    }

    /// An instruction of `SPV_KHR_bit_instructions`.
    pub(super) fn bit_field(&mut self, call: &Call<'_>, op: Op) -> Id {
        self.module.capability(Capability::BitInstructions);
        self.module.extension("SPV_KHR_bit_instructions");
        let ty = self.module.type_id(call.result);
        self.op(op, ty, call.values)
    }

    /// A dot product of bytes. The instruction for mixed signs has the signed operand first.
    pub(super) fn byte_dot(&mut self, call: &Call<'_>, how: ByteDot) -> Id {
        let ByteDot { signed, packed, accumulate } = how;
        self.module.extension("SPV_KHR_integer_dot_product");
        self.module.capability(Capability::DotProduct);
        self.module.capability(match packed {
            true => Capability::DotProductInput4x8BitPacked,
            false => Capability::DotProductInput4x8Bit,
        });
        let op = match (signed, accumulate) {
            ([true, true], false) => Op::SDot,
            ([true, true], true) => Op::SDotAccSat,
            ([false, false], false) => Op::UDot,
            ([false, false], true) => Op::UDotAccSat,
            (_, false) => Op::SUDot,
            (_, true) => Op::SUDotAccSat,
        };
        let mut operands: SmallVec<[u32; 4]> = SmallVec::from_slice(call.values);
        if signed == [false, true] && operands.len() >= 2 {
            operands.swap(0, 1);
        }
        if packed {
            operands.push(PACKED_4X8);
        }
        let ty = self.module.type_id(call.result);
        self.op(op, ty, &operands)
    }

    /// Arithmetic that stores the result, wrapped around to the type that the pointer points to, and tells whether it is
    /// another one than without limits. The operands are of that type, or of one of 64 bits in which `op` is exact.
    pub(super) fn overflow(&mut self, call: &Call<'_>, op: Op) -> Id {
        let (left, right) = (call.value(0), call.value(1));
        let (ty, truth) = (call.ty(0), self.module.bool_type());
        let of = self.lanes_of(ty).0;
        let Some(to) = self.pointee(call.ty(2)) else { return 0 };
        let target = self.lanes_of(to.ty).0;
        let id = self.module.type_id(ty);
        let result = self.op(op, id, &[left, right]);
        let stored = self.convert_lanes(result, (of, 1), (target, 1));
        let align = self.natural_align(to.ty);
        let memory = self.at_pointer(call.value(2), to, align);
        self.write_memory(&memory, stored);
        let zero = self.module.scalar(of, 0);
        if to.ty != ty {
            if target.bytes() == of.bytes() {
                return self.op(Op::SLessThan, truth, &[result, zero]);
            }
            let again = self.convert_lanes(stored, (target, 1), (of, 1));
            return self.op(Op::INotEqual, truth, &[again, result]);
        }
        match (op, of.is_signed()) {
            (Op::IMul, signed) => {
                let (number, beyond) = if signed {
                    let last = self.module.scalar(of, u64::from(of.bytes()) * 8 - 1);
                    (ext::S_MUL_HI, self.op(Op::ShiftRightArithmetic, id, &[result, last]))
                } else {
                    (ext::U_MUL_HI, zero)
                };
                let high = self.ext(number, id, &[left, right]);
                self.op(Op::INotEqual, truth, &[high, beyond])
            }
            (Op::ISub, false) => self.op(Op::ULessThan, truth, &[left, right]),
            (_, false) => self.op(Op::ULessThan, truth, &[result, left]),
            (_, true) => {
                // The sign is another one than both operands have, or than those of the difference would give.
                let other = if op == Op::ISub { right } else { result };
                let one = self.op(Op::BitwiseXor, id, &[left, other]);
                let other = if op == Op::ISub { left } else { right };
                let two = self.op(Op::BitwiseXor, id, &[other, result]);
                let both = self.op(Op::BitwiseAnd, id, &[one, two]);
                self.op(Op::SLessThan, truth, &[both, zero])
            }
        }
    }
}
