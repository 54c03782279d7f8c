//! Calls of built-in functions.
//!
//! | file | lowerings |
//! |---|---|
//! | `arithmetic.rs` | predicates, dot products, bit fields, arithmetic that tells an overflow |
//! | `conversions.rs` | `convert_` |
//! | `work_items.rs` | built-in variables, the clock |
//! | `sync.rs` | scopes and memory semantics, barriers, fences, address spaces |
//! | `copies.rs` | asynchronous copies |
//! | `atomics.rs` | atomic operations |
//! | `images.rs` | images |
//! | `groups.rs` | collective operations |
//! | `pipes.rs`, `enqueue.rs` | pipes, device-side enqueue |

mod arithmetic;
mod atomics;
mod conversions;
mod copies;
mod enqueue;
mod groups;
mod images;
mod pipes;
mod sync;
#[cfg(test)]
mod tests;
mod work_items;

use smallvec::SmallVec;
use spirv::{Capability, Op};

use super::Id;
use super::function::FunctionEmitter;
use crate::builtins::{Lowering, ext};
use crate::tree::Expr;
use crate::types::{Arithmetic, QualTy, Scalar, Ty, TypeKind};

/// The extension of SPIR-V that has assumptions.
pub(super) const ASSUMPTIONS: &str = "SPV_KHR_expect_assume";

/// A call.
struct Call<'c> {
    /// Type of the result.
    result: Ty,
    /// The arguments.
    arguments: &'c [Expr],
    /// Their values.
    values: &'c [Id],
}

impl Call<'_> {
    /// The value of an argument.
    fn value(&self, index: usize) -> Id {
        self.values.get(index).copied().unwrap_or(0)
    }

    /// The type of an argument; the result's if there is none.
    fn ty(&self, index: usize) -> Ty {
        self.arguments.get(index).map_or(self.result, |argument| argument.ty)
    }

    /// Number of arguments.
    fn count(&self) -> usize {
        self.values.len()
    }
}

/// Emits a call. `arguments` are the (typed) arguments; `values` are their values, already emitted.
///
/// Returns the result's value; `None` if it is `void`.
pub(crate) fn call(
    emitter: &mut FunctionEmitter<'_, '_>,
    lowering: Lowering,
    result: Ty,
    arguments: &[Expr],
    values: &[Id],
) -> Option<Id> {
    let call = &Call { result, arguments, values };
    let value = match lowering {
        Lowering::Ext(number) => emitter.extended(call, number, &[]),
        Lowering::ExtByClass { float, signed, unsigned } => {
            let scalar = emitter.lanes_of(call.ty(0)).0;
            let number = match scalar.arithmetic() {
                Arithmetic::Float => float,
                Arithmetic::Signed => signed,
                Arithmetic::Unsigned => unsigned,
            };
            emitter.extended(call, number, &[])
        }
        Lowering::ExtLanes(number) => {
            let lanes = emitter.lanes_of(result).1;
            emitter.extended(call, number, &[lanes.into()])
        }
        Lowering::ExtRounding(number, mode) => emitter.extended(call, number, &[mode as u32]),
        Lowering::Op(op) => {
            let ty = emitter.module.type_id(result);
            emitter.op(op, ty, values)
        }
        Lowering::Predicate(op) => emitter.predicate(call, op),
        Lowering::SignBits(op) => emitter.sign_bits(call, op),
        Lowering::Dot => emitter.dot(call),
        Lowering::BitField(op) => emitter.bit_field(call, op),
        Lowering::ByteDot(how) => emitter.byte_dot(call, how),
        Lowering::Bits => emitter.convert_bits(call.value(0), call.ty(0), result),
        Lowering::Convert { saturate, rounding } => emitter.explicit_conversion(call, saturate, rounding),
        Lowering::Dimension(built_in, beyond) => emitter.dimension(call, built_in, beyond),
        Lowering::Variable(built_in) => emitter.built_in_value(call, built_in),
        Lowering::Clock(scope) => emitter.clock(call, scope),
        Lowering::Barrier(scope) => emitter.barrier(call, scope),
        Lowering::Fence(kind) => emitter.fence(call, kind),
        Lowering::WorkItemFence => emitter.work_item_fence(call),
        Lowering::GetFence => emitter.get_fence(call),
        Lowering::ToSpace => emitter.cast_to_space(call),
        Lowering::AsyncCopy => emitter.async_copy(call, false),
        Lowering::AsyncStridedCopy => emitter.async_copy(call, true),
        Lowering::AsyncBlockCopy(dimensions) => emitter.async_block_copy(call, dimensions),
        Lowering::AsyncFence => emitter.async_fence(call),
        Lowering::WaitEvents => emitter.wait_events(call),
        Lowering::Atomic(op, form) => emitter.atomic(call, op, form),
        Lowering::Printf => emitter.extended(call, ext::PRINTF, &[]),
        Lowering::ReadImage => emitter.read_image(call),
        Lowering::WriteImage => emitter.write_image(call),
        Lowering::QueryImage(query) => emitter.query_image(call, query),
        Lowering::Vote(op, scope) => emitter.vote(call, op, scope),
        Lowering::GroupArithmetic { scope, uniform, how, operator } => {
            emitter.group_arithmetic(call, scope, uniform, how, operator)
        }
        Lowering::Broadcast(scope) => emitter.broadcast(call, scope),
        Lowering::SubGroup(op) => emitter.sub_group(call, op),
        Lowering::IntelSubGroup(op) => return emitter.intel_sub_group(call, op),
        Lowering::BallotCount(how) => emitter.ballot_count(call, how),
        Lowering::NamedBarrier(op) => emitter.named_barrier(call, op),
        Lowering::Pipe(op) => emitter.pipe(call, op),
        Lowering::Enqueue(op) => emitter.enqueue(call, op),
        Lowering::Overflow(op) => emitter.overflow(call, op),
        Lowering::Unreachable => {
            emitter.end_block(Op::Unreachable, &[], &[]);
            0
        }
        Lowering::Assume => emitter.assume(call),
    };
    let is_void = matches!(emitter.module.source.types.kind(result), TypeKind::Void);
    (!is_void).then_some(value)
}

/// Extended instructions, assumptions, and helpers of all files here.
impl FunctionEmitter<'_, '_> {
    /// Scalar and lanes of an arithmetic type.
    fn lanes_of(&self, ty: Ty) -> (Scalar, u8) {
        self.module.source.types.lanes(ty).unwrap_or((Scalar::Int, 1))
    }

    /// An instruction of `OpenCL.std` with the arguments of a call, and literals after them. Scalars among vectors are splat.
    fn extended(&mut self, call: &Call<'_>, number: u32, literals: &[u32]) -> Id {
        let mut operands: SmallVec<[u32; 8]> = SmallVec::from_slice(call.values);
        if takes_equal_operands(number)
            && let Some((scalar, lanes)) = self.module.source.types.lanes(call.result).filter(|(_, lanes)| *lanes > 1)
        {
            for (index, operand) in operands.iter_mut().enumerate() {
                if let Some((own, 1)) = self.module.source.types.lanes(call.ty(index)) {
                    // `ldexp` has an integer beside the floats.
                    let own = if own.is_float() == scalar.is_float() { scalar } else { own };
                    *operand = self.splat_value(*operand, own, lanes);
                }
            }
        }
        operands.extend_from_slice(literals);
        let ty = self.module.type_id(call.result);
        self.ext(number, ty, &operands)
    }

    /// `__builtin_assume` of a `bool`.
    fn assume(&mut self, call: &Call<'_>) -> Id {
        self.module.capability(Capability::ExpectAssumeKHR);
        self.module.extension(ASSUMPTIONS);
        self.op_void(Op::AssumeTrueKHR, &[call.value(0)]);
        0
    }

    /// What a pointer argument points to.
    fn pointee(&self, ty: Ty) -> Option<QualTy> {
        self.module.source.types.kind(ty).pointee()
    }

    /// An `int` other than zero as an `OpTypeBool`.
    fn truth_of(&mut self, value: Id, ty: Ty) -> Id {
        let (scalar, _) = self.lanes_of(ty);
        self.convert_lanes(value, (scalar, 1), (Scalar::Bool, 1))
    }

    /// An `OpTypeBool` as the result of a call, a `bool` or an integer.
    fn number_of_truth(&mut self, truth: Id, ty: Ty) -> Id {
        let to = self.lanes_of(ty);
        self.convert_lanes(truth, (Scalar::Bool, 1), to)
    }

    /// An unsigned comparison, sum or other operation of two `uint`s.
    fn uint_op(&mut self, op: Op, left: Id, right: u32) -> Id {
        let (ty, right) = (self.module.int_type(32), self.module.int(right));
        self.op(op, ty, &[left, right])
    }

    /// A lane of a vector.
    fn lane(&mut self, vector: Id, element: Id, lane: u32) -> Id {
        self.op(Op::CompositeExtract, element, &[vector, lane])
    }
}

/// Whether the operands of an instruction of `OpenCL.std` that are scalars become vectors if the result is one.
fn takes_equal_operands(number: u32) -> bool {
    !matches!(
        number,
        ext::VLOADN
            | ext::VSTOREN
            | ext::VLOAD_HALF
            | ext::VLOAD_HALFN
            | ext::VSTORE_HALF
            | ext::VSTORE_HALF_R
            | ext::VSTORE_HALFN
            | ext::VSTORE_HALFN_R
            | ext::VLOADA_HALFN
            | ext::VSTOREA_HALFN
            | ext::VSTOREA_HALFN_R
            | ext::PRINTF
            | ext::PREFETCH
    )
}
