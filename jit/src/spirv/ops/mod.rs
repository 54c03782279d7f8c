//! Instructions, one file per class. [`lower`] only dispatches; `docs/add-a-spirv-op.md` is the recipe.

pub(super) mod arith;
pub(super) mod atomic;
pub(super) mod ballot;
pub(super) mod bits;
pub(super) mod built_in;
mod classes;
pub(super) mod collective;
pub(super) mod composite;
pub(super) mod control;
pub(super) mod convert;
pub(super) mod enqueue;
pub(super) mod group;
pub(super) mod image;
mod intel_blocks;
mod intel_sub_group;
pub(super) mod logic;
pub(super) mod memory;
pub(super) mod misc;
mod named_barrier;
pub(super) mod pipe;

use rspirv::spirv::Op;

use self::classes::Class;
use super::lower::FuncCx;
use super::words::{Inst, InstError};

/// Whether an instruction accesses memory atomically.
pub(super) fn is_atomic(op: Op) -> bool {
    matches!(Class::of(op), Some(Class::AtomicInst(_) | Class::UpdateInst(_)))
}

/// Imports one instruction of a function, or of an `OpSpecConstantOp`.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let Some(class) = Class::of(inst.op()) else { return Err(InstError::unsupported(missing(inst.op()))) };
    match class {
        Class::ArithInst(op) => arith::lower(cx, inst, op),
        Class::WideInst(op) => arith::two_results(cx, inst, op),
        Class::DotInst(op) => arith::int_dot(cx, inst, op),
        Class::ConvertInst(op) => convert::lower(cx, inst, op),
        Class::LogicInst(op) => logic::lower(cx, inst, op),
        Class::ClassifyInst(op) => logic::classify(cx, inst, op),
        Class::BitInst(op) => bits::lower(cx, inst, op),
        Class::CompositeInst(op) => composite::lower(cx, inst, op),
        Class::MemoryInst(op) => memory::lower(cx, inst, op),
        Class::ControlInst(op) => control::lower(cx, inst, op),
        Class::AtomicInst(op) => atomic::lower(cx, inst, op),
        Class::UpdateInst(op) => atomic::update(cx, inst, op),
        Class::GroupInst(op) => group::lower(cx, inst, op),
        Class::EnqueueInst(op) => enqueue::lower(cx, inst, op),
        Class::NamedBarrierInst(op) => named_barrier::lower(cx, inst, op),
        Class::PipeInst(op) => pipe::lower(cx, inst, op),
        Class::CollectiveInst(op) => collective::lower(cx, inst, op),
        Class::CombineInst(op) => collective::combine(cx, inst, op),
        Class::ShuffleInst(op) => intel_sub_group::lower(cx, inst, op),
        Class::BlockInst(op) => intel_blocks::lower(cx, inst, op),
        Class::BallotInst(op) => ballot::lower(cx, inst, op),
        Class::ImageInst(op) => image::lower(cx, inst, op),
        Class::MiscInst(op) => misc::lower(cx, inst, op),
    }
}

/// The reason why an instruction that has no class cannot be imported.
fn missing(op: Op) -> String {
    let name = format!("{op:?}");
    let reason = if name.starts_with("Image") {
        "this image instruction is not supported by this device"
    } else if name.starts_with("Group") {
        "this group instruction is not supported by this device"
    } else {
        "this instruction is not defined for OpenCL kernels"
    };
    reason.to_owned()
}
