//! Scopes and memory semantics; barriers, also named ones; fences; address spaces of pointers.

use spirv::{Capability, MemorySemantics, Op, Scope, StorageClass};

use super::Call;
use crate::builtins::{FenceKind, NamedBarrierOp};
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::types::storage_class;
use crate::types::AddressSpace;

/// The SPIR-V scopes of `memory_scope_work_item`, `_work_group`, `_device`, `_all_svm_devices`, `_sub_group`, which are 0 to 4.
const SCOPES: [Scope; 5] = [Scope::Invocation, Scope::Workgroup, Scope::Device, Scope::CrossDevice, Scope::Subgroup];

/// `memory_order_seq_cst`; the others are `relaxed` (0), `acquire` (2), `release` (3) and `acq_rel` (4).
const SEQ_CST: u64 = 5;

/// The SPIR-V bits of `CLK_LOCAL_MEM_FENCE`, `CLK_GLOBAL_MEM_FENCE` and `CLK_IMAGE_MEM_FENCE`, which are 1, 2 and 4.
const FLAGS: [(u64, MemorySemantics); 3] = [
    (1, MemorySemantics::WORKGROUP_MEMORY),
    (2, MemorySemantics::CROSS_WORKGROUP_MEMORY),
    (4, MemorySemantics::IMAGE_MEMORY),
];

/// The memory semantics of an order.
fn order_bits(order: u64) -> MemorySemantics {
    match order {
        1 | 2 => MemorySemantics::ACQUIRE,
        3 => MemorySemantics::RELEASE,
        4 => MemorySemantics::ACQUIRE_RELEASE,
        SEQ_CST => MemorySemantics::SEQUENTIALLY_CONSISTENT,
        _ => MemorySemantics::RELAXED,
    }
}

impl FunctionEmitter<'_, '_> {
    /// A scope's number.
    pub(super) fn scope_id(&mut self, scope: Scope) -> Id {
        self.module.int(scope as u32)
    }

    /// The scope of a `memory_scope`.
    pub(super) fn scope_of(&mut self, value: Id) -> Id {
        match self.module.constant_bits(value) {
            Some(number) => {
                let scope = SCOPES.get(number as usize).copied().unwrap_or(Scope::CrossDevice);
                self.scope_id(scope)
            }
            None => {
                // The numbers are in the digits of a constant.
                let table = SCOPES.iter().rev().fold(0, |table, scope| table << 4 | *scope as u32);
                let shift = self.uint_op(Op::ShiftLeftLogical, value, 2);
                let (ty, table) = (self.module.int_type(32), self.module.int(table));
                let digit = self.op(Op::ShiftRightLogical, ty, &[table, shift]);
                self.uint_op(Op::BitwiseAnd, digit, 0xf)
            }
        }
    }

    /// The memory semantics of a `memory_order`, for what lies in some kinds of memory.
    pub(super) fn order_of(&mut self, value: Id, memory: MemorySemantics) -> Id {
        match self.module.constant_bits(value) {
            Some(order) => self.semantics(order_bits(order), memory),
            None => {
                let one = self.module.int(1);
                let ty = self.module.int_type(32);
                let power = self.op(Op::ShiftLeftLogical, ty, &[one, value]);
                let order = self.uint_op(Op::ShiftRightLogical, power, 1);
                self.uint_op(Op::BitwiseOr, order, memory.bits())
            }
        }
    }

    /// Memory semantics of an order. A relaxed operation orders nothing.
    pub(super) fn semantics(&mut self, order: MemorySemantics, memory: MemorySemantics) -> Id {
        let bits = if order.is_empty() { order } else { order | memory };
        self.module.int(bits.bits())
    }

    /// The strictest memory semantics.
    pub(super) fn strict_semantics(&mut self, memory: MemorySemantics) -> Id {
        self.semantics(MemorySemantics::SEQUENTIALLY_CONSISTENT, memory)
    }

    /// Memory semantics of an order, for what flags name.
    fn fence_semantics(&mut self, flags: Id, order: Id) -> Id {
        if let (Some(flags), Some(order)) = (self.module.constant_bits(flags), self.module.constant_bits(order)) {
            let named = FLAGS.iter().filter(|(flag, _)| flags & flag != 0);
            let bits = named.fold(order as u32, |bits, (_, memory)| bits | memory.bits());
            return self.module.int(bits);
        }
        let ty = self.module.int_type(32);
        let mut bits = order;
        for (flag, memory) in FLAGS {
            let part = self.uint_op(Op::BitwiseAnd, flags, flag as u32);
            let shift = memory.bits().trailing_zeros() - flag.trailing_zeros();
            let part = self.uint_op(Op::ShiftLeftLogical, part, shift);
            bits = self.op(Op::BitwiseOr, ty, &[bits, part]);
        }
        bits
    }

    /// A barrier: flags, perhaps the scope of memory.
    pub(super) fn barrier(&mut self, call: &Call<'_>, execution: Scope) -> Id {
        let order = self.module.int(MemorySemantics::SEQUENTIALLY_CONSISTENT.bits());
        let semantics = self.fence_semantics(call.value(0), order);
        let execution = self.scope_id(execution);
        let memory = if call.count() > 1 { self.scope_of(call.value(1)) } else { execution };
        self.op_void(Op::ControlBarrier, &[execution, memory, semantics]);
        0
    }

    /// A fence of OpenCL C 1.x. Its scope is the work-group, but programs use it together with atomics of the whole device.
    pub(super) fn fence(&mut self, call: &Call<'_>, kind: FenceKind) -> Id {
        let order = match kind {
            FenceKind::Full => MemorySemantics::ACQUIRE_RELEASE,
            FenceKind::Read => MemorySemantics::ACQUIRE,
            FenceKind::Write => MemorySemantics::RELEASE,
        };
        let order = self.module.int(order.bits());
        let semantics = self.fence_semantics(call.value(0), order);
        let scope = self.scope_id(Scope::Device);
        self.op_void(Op::MemoryBarrier, &[scope, semantics]);
        0
    }

    /// `atomic_work_item_fence`: flags, order, scope.
    pub(super) fn work_item_fence(&mut self, call: &Call<'_>) -> Id {
        let order = self.order_of(call.value(1), MemorySemantics::empty());
        let semantics = match self.module.constant_bits(order) {
            Some(0) => order,
            _ => self.fence_semantics(call.value(0), order),
        };
        let scope = self.scope_of(call.value(2));
        self.op_void(Op::MemoryBarrier, &[scope, semantics]);
        0
    }

    /// `async_work_group_copy_fence`: the work-items copy together, so they wait for each other.
    pub(super) fn async_fence(&mut self, call: &Call<'_>) -> Id {
        self.barrier(call, Scope::Workgroup)
    }

    /// The flags of the address space that a generic pointer points to.
    pub(super) fn get_fence(&mut self, call: &Call<'_>) -> Id {
        let ty = self.module.type_id(call.result);
        let bits = self.op(Op::GenericPtrMemSemantics, ty, &[call.value(0)]);
        let shift = MemorySemantics::WORKGROUP_MEMORY.bits().trailing_zeros();
        let flags = self.uint_op(Op::ShiftRightLogical, bits, shift);
        self.uint_op(Op::BitwiseAnd, flags, 3)
    }

    /// `to_global` and the like: null if the pointer points elsewhere.
    pub(super) fn cast_to_space(&mut self, call: &Call<'_>) -> Id {
        let Some(to) = self.pointee(call.result) else { return call.value(0) };
        let class = storage_class(to.quals.space);
        // The instruction keeps what the pointer points to.
        let generic = self.module.pointer_to(AddressSpace::Generic, to.ty);
        let from = self.module.type_id(call.ty(0));
        let pointer = self.cast_pointer(call.value(0), from, generic);
        let ty = self.module.pointer_to(to.quals.space, to.ty);
        self.op(Op::GenericCastToPtrExplicit, ty, &[pointer, class as u32])
    }

    /// A named barrier: the number of its sub-groups; or the barrier, flags, perhaps a scope.
    pub(super) fn named_barrier(&mut self, call: &Call<'_>, op: NamedBarrierOp) -> Id {
        self.module.require_version(1, 1);
        self.module.capability(Capability::NamedBarrier);
        match op {
            NamedBarrierOp::Init => {
                let ty = self.module.type_id(call.result);
                self.op(Op::NamedBarrierInitialize, ty, &[call.value(0)])
            }
            NamedBarrierOp::Wait => {
                let order = self.module.int(MemorySemantics::SEQUENTIALLY_CONSISTENT.bits());
                let semantics = self.fence_semantics(call.value(1), order);
                let scope =
                    if call.count() > 2 { self.scope_of(call.value(2)) } else { self.scope_id(Scope::Workgroup) };
                self.op_void(Op::MemoryNamedBarrier, &[call.value(0), scope, semantics]);
                0
            }
        }
    }
}

/// The kinds of memory that a pointer of a storage class may point to.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other storage class is shared between work-items")]
pub(super) fn memory_of(class: StorageClass) -> MemorySemantics {
    match class {
        StorageClass::Workgroup => MemorySemantics::WORKGROUP_MEMORY,
        StorageClass::CrossWorkgroup | StorageClass::UniformConstant => MemorySemantics::CROSS_WORKGROUP_MEMORY,
        StorageClass::Generic => MemorySemantics::WORKGROUP_MEMORY | MemorySemantics::CROSS_WORKGROUP_MEMORY,
        _ => MemorySemantics::empty(),
    }
}
