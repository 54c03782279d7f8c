//! Collective operations of work-groups and sub-groups.

use smallvec::SmallVec;
use spirv::{Capability, GroupOperation, Op, Scope};

use super::Call;
use crate::builtins::GroupOperator;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::types::{Arithmetic, Scalar};

/// The capability of a sub-group instruction; `None` for those of the core.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other instructions of the table of built-in functions are of the core"
)]
fn capability(op: Op) -> Option<Capability> {
    Some(match op {
        Op::GroupNonUniformElect => Capability::GroupNonUniform,
        Op::GroupNonUniformAll | Op::GroupNonUniformAny | Op::GroupNonUniformAllEqual => {
            Capability::GroupNonUniformVote
        }
        Op::GroupNonUniformBroadcast
        | Op::GroupNonUniformBroadcastFirst
        | Op::GroupNonUniformBallot
        | Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitExtract
        | Op::GroupNonUniformBallotBitCount
        | Op::GroupNonUniformBallotFindLSB
        | Op::GroupNonUniformBallotFindMSB => Capability::GroupNonUniformBallot,
        Op::GroupNonUniformShuffle | Op::GroupNonUniformShuffleXor => Capability::GroupNonUniformShuffle,
        Op::GroupNonUniformShuffleUp | Op::GroupNonUniformShuffleDown => Capability::GroupNonUniformShuffleRelative,
        Op::GroupNonUniformRotateKHR => Capability::GroupNonUniformRotateKHR,
        Op::SubgroupBlockReadINTEL | Op::SubgroupBlockWriteINTEL => Capability::SubgroupBufferBlockIOINTEL,
        Op::SubgroupImageBlockReadINTEL | Op::SubgroupImageBlockWriteINTEL => Capability::SubgroupImageBlockIOINTEL,
        Op::SubgroupShuffleINTEL
        | Op::SubgroupShuffleDownINTEL
        | Op::SubgroupShuffleUpINTEL
        | Op::SubgroupShuffleXorINTEL => Capability::SubgroupShuffleINTEL,
        _ => return None,
    })
}

/// The instruction of a reduction. Those of uniform control flow beyond the core are an extension's.
fn instruction(operator: GroupOperator, uniform: bool, class: Arithmetic) -> Op {
    match (operator, class, uniform) {
        (GroupOperator::Add, Arithmetic::Float, true) => Op::GroupFAdd,
        (GroupOperator::Add, Arithmetic::Float, false) => Op::GroupNonUniformFAdd,
        (GroupOperator::Add, _, true) => Op::GroupIAdd,
        (GroupOperator::Add, _, false) => Op::GroupNonUniformIAdd,
        (GroupOperator::Mul, Arithmetic::Float, true) => Op::GroupFMulKHR,
        (GroupOperator::Mul, Arithmetic::Float, false) => Op::GroupNonUniformFMul,
        (GroupOperator::Mul, _, true) => Op::GroupIMulKHR,
        (GroupOperator::Mul, _, false) => Op::GroupNonUniformIMul,
        (GroupOperator::Min, Arithmetic::Float, true) => Op::GroupFMin,
        (GroupOperator::Min, Arithmetic::Float, false) => Op::GroupNonUniformFMin,
        (GroupOperator::Min, Arithmetic::Signed, true) => Op::GroupSMin,
        (GroupOperator::Min, Arithmetic::Signed, false) => Op::GroupNonUniformSMin,
        (GroupOperator::Min, Arithmetic::Unsigned, true) => Op::GroupUMin,
        (GroupOperator::Min, Arithmetic::Unsigned, false) => Op::GroupNonUniformUMin,
        (GroupOperator::Max, Arithmetic::Float, true) => Op::GroupFMax,
        (GroupOperator::Max, Arithmetic::Float, false) => Op::GroupNonUniformFMax,
        (GroupOperator::Max, Arithmetic::Signed, true) => Op::GroupSMax,
        (GroupOperator::Max, Arithmetic::Signed, false) => Op::GroupNonUniformSMax,
        (GroupOperator::Max, Arithmetic::Unsigned, true) => Op::GroupUMax,
        (GroupOperator::Max, Arithmetic::Unsigned, false) => Op::GroupNonUniformUMax,
        (GroupOperator::And, _, true) => Op::GroupBitwiseAndKHR,
        (GroupOperator::And, _, false) => Op::GroupNonUniformBitwiseAnd,
        (GroupOperator::Or, _, true) => Op::GroupBitwiseOrKHR,
        (GroupOperator::Or, _, false) => Op::GroupNonUniformBitwiseOr,
        (GroupOperator::Xor, _, true) => Op::GroupBitwiseXorKHR,
        (GroupOperator::Xor, _, false) => Op::GroupNonUniformBitwiseXor,
        (GroupOperator::LogicalAnd, _, true) => Op::GroupLogicalAndKHR,
        (GroupOperator::LogicalAnd, _, false) => Op::GroupNonUniformLogicalAnd,
        (GroupOperator::LogicalOr, _, true) => Op::GroupLogicalOrKHR,
        (GroupOperator::LogicalOr, _, false) => Op::GroupNonUniformLogicalOr,
        (GroupOperator::LogicalXor, _, true) => Op::GroupLogicalXorKHR,
        (GroupOperator::LogicalXor, _, false) => Op::GroupNonUniformLogicalXor,
    }
}

impl FunctionEmitter<'_, '_> {
    /// Declares what an instruction needs.
    fn need(&mut self, op: Op) {
        match capability(op) {
            Some(capability) => {
                self.module.require_version(1, 3);
                self.module.capability(capability);
                if op == Op::GroupNonUniformRotateKHR {
                    self.module.extension("SPV_KHR_subgroup_rotate");
                }
            }
            None => self.module.capability(Capability::Groups),
        }
    }

    /// A vote or a ballot: `int`s stand for Booleans, as the argument and as the result.
    pub(super) fn vote(&mut self, call: &Call<'_>, op: Op, scope: Scope) -> Id {
        self.need(op);
        let mut operands: SmallVec<[u32; 4]> = SmallVec::new();
        operands.push(self.scope_id(scope));
        let takes_truth = !matches!(
            op,
            Op::GroupNonUniformAllEqual
                | Op::GroupNonUniformInverseBallot
                | Op::GroupNonUniformBallotBitExtract
                | Op::GroupNonUniformElect
        );
        for (index, value) in call.values.iter().enumerate() {
            operands.push(if takes_truth { self.truth_of(*value, call.ty(index)) } else { *value });
        }
        if op == Op::GroupNonUniformBallot {
            let ty = self.module.type_id(call.result);
            return self.op(op, ty, &operands);
        }
        let bool_type = self.module.bool_type();
        let truth = self.op(op, bool_type, &operands);
        self.number_of_truth(truth, call.result)
    }

    /// A reduction or scan: value, perhaps the size of clusters.
    pub(super) fn group_arithmetic(
        &mut self,
        call: &Call<'_>,
        scope: Scope,
        uniform: bool,
        how: GroupOperation,
        operator: GroupOperator,
    ) -> Id {
        let scalar = self.lanes_of(call.ty(0)).0;
        let op = instruction(operator, uniform, scalar.arithmetic());
        if !uniform {
            self.module.require_version(1, 3);
            let is_clustered = how == GroupOperation::ClusteredReduce;
            let arithmetic = Capability::GroupNonUniformArithmetic;
            self.module.capability(if is_clustered { Capability::GroupNonUniformClustered } else { arithmetic });
        } else if matches!(operator, GroupOperator::Add | GroupOperator::Min | GroupOperator::Max) {
            self.module.capability(Capability::Groups);
        } else {
            self.module.capability(Capability::GroupUniformArithmeticKHR);
            self.module.extension("SPV_KHR_uniform_group_instructions");
        }
        let is_logical =
            matches!(operator, GroupOperator::LogicalAnd | GroupOperator::LogicalOr | GroupOperator::LogicalXor);
        let scope = self.scope_id(scope);
        let value = if is_logical { self.truth_of(call.value(0), call.ty(0)) } else { call.value(0) };
        let ty = if is_logical { self.module.bool_type() } else { self.module.type_id(call.result) };
        let mut operands: SmallVec<[u32; 4]> = SmallVec::from_slice(&[scope, how as u32, value]);
        operands.extend(call.values.get(1).copied());
        let value = self.op(op, ty, &operands);
        if is_logical { self.number_of_truth(value, call.result) } else { value }
    }

    /// A broadcast: value, number in the sub-group or local id of one to three dimensions.
    pub(super) fn broadcast(&mut self, call: &Call<'_>, scope: Scope) -> Id {
        self.module.capability(Capability::Groups);
        let id = match call.count() {
            ..=2 => call.value(1),
            count => {
                let size = self.module.size_type();
                let ty = self.module.vector_type(size, count as u32 - 1);
                self.op(Op::CompositeConstruct, ty, call.values.get(1..).unwrap_or(&[]))
            }
        };
        let (ty, scope) = (self.module.type_id(call.result), self.scope_id(scope));
        self.op(Op::GroupBroadcast, ty, &[scope, call.value(0), id])
    }

    /// An instruction of the sub-group with the arguments in order.
    pub(super) fn sub_group(&mut self, call: &Call<'_>, op: Op) -> Id {
        self.need(op);
        if op == Op::GroupNonUniformBroadcast && self.module.constant_bits(call.value(1)).is_none() {
            // Before version 1.5 the number must be constant.
            self.module.require_version(1, 5);
        }
        let mut operands: SmallVec<[u32; 4]> = SmallVec::new();
        operands.push(self.scope_id(Scope::Subgroup));
        operands.extend_from_slice(call.values);
        let ty = self.module.type_id(call.result);
        self.op(op, ty, &operands)
    }

    /// An instruction of `SPV_INTEL_subgroups` with the arguments in order.
    pub(super) fn intel_sub_group(&mut self, call: &Call<'_>, op: Op) -> Option<Id> {
        self.module.extension("SPV_INTEL_subgroups");
        if let Some(capability) = capability(op) {
            self.module.capability(capability);
        }
        if matches!(op, Op::SubgroupBlockWriteINTEL | Op::SubgroupImageBlockWriteINTEL) {
            self.op_void(op, call.values);
            return None;
        }
        let ty = self.module.type_id(call.result);
        Some(self.op(op, ty, call.values))
    }

    /// A number of bits of a ballot.
    pub(super) fn ballot_count(&mut self, call: &Call<'_>, how: GroupOperation) -> Id {
        self.need(Op::GroupNonUniformBallotBitCount);
        let (ty, scope) = (self.module.scalar_type(Scalar::UInt), self.scope_id(Scope::Subgroup));
        self.op(Op::GroupNonUniformBallotBitCount, ty, &[scope, how as u32, call.value(0)])
    }
}
