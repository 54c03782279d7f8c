//! Predicates, dot products, bit fields.

use smallvec::SmallVec;
use spirv::{Capability, Op};

use super::Call;
use crate::builtins::ByteDot;
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
}
