//! What an instruction accesses: pointers, kinds of access and sizes.

use clift_include::check::SiteKind;
use clift_kir::ops::{MemoryOp, OpClass};
use clift_kir::{Function, Inst, Value};
use smallvec::{SmallVec, smallvec};

/// The size of an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bytes {
    Constant(u64),
    Value(Value),
}

/// The pointers through which an instruction accesses memory. Masked and vector accesses do not count:
/// they arise after the checks.
pub(super) fn pointers(func: &Function, inst: Inst) -> SmallVec<[(SiteKind, Value, Bytes); 2]> {
    let data = func.dfg.inst(inst);
    let args = &data.args;
    let OpClass::Memory(op) = data.op.class() else { return SmallVec::new() };
    let of_type = |value: Value| Bytes::Constant(func.dfg.ty(value).bytes().into());
    let size = |value: Value| match func.dfg.as_splat_bits(value) {
        Some(bytes) => Bytes::Constant(bytes),
        None => Bytes::Value(value),
    };
    match op {
        MemoryOp::Load => smallvec![(SiteKind::Load, args[0], of_type(func.dfg.result(inst)))],
        MemoryOp::Store => smallvec![(SiteKind::Store, args[0], of_type(args[1]))],
        MemoryOp::Memcpy => {
            smallvec![(SiteKind::Store, args[0], size(args[2])), (SiteKind::Load, args[1], size(args[2]))]
        }
        MemoryOp::Memset => smallvec![(SiteKind::Store, args[0], size(args[2]))],
        MemoryOp::AtomicLoad | MemoryOp::AtomicRmw | MemoryOp::AtomicCmpxchg => {
            smallvec![(SiteKind::Atomic, args[0], of_type(func.dfg.result(inst)))]
        }
        MemoryOp::AtomicStore => smallvec![(SiteKind::Atomic, args[0], of_type(args[1]))],
        MemoryOp::MaskedLoad | MemoryOp::MaskedStore | MemoryOp::Gather | MemoryOp::Scatter | MemoryOp::Fence => {
            SmallVec::new()
        }
    }
}
