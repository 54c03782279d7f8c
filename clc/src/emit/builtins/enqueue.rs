//! Device-side enqueue. Flags, events and so on have the same numbers in SPIR-V; only blocks are taken apart.

use smallvec::SmallVec;
use spirv::{Capability, Op, StorageClass};

use super::Call;
use crate::builtins::EnqueueOp;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::types::storage_class;
use crate::types::{AddressSpace, TypeKind};

/// Arguments of `enqueue_kernel` before the block, if it has events.
const ARGUMENTS_WITH_EVENTS: usize = 6;

impl FunctionEmitter<'_, '_> {
    /// An operation of device-side enqueue.
    pub(super) fn enqueue(&mut self, call: &Call<'_>, op: EnqueueOp) -> Id {
        self.module.capability(Capability::DeviceEnqueue);
        let ty = self.module.type_id(call.result);
        let simple = |op: Op| (op, matches!(op, Op::RetainEvent | Op::ReleaseEvent));
        let (op, is_void) = match op {
            EnqueueOp::Kernel => return self.enqueue_kernel(call),
            EnqueueOp::NdRange(dimensions) => return self.nd_range(call, dimensions),
            EnqueueOp::KernelWorkGroupSize => return self.kernel_query(call, Op::GetKernelWorkGroupSize),
            EnqueueOp::KernelPreferredWorkGroupSizeMultiple => {
                return self.kernel_query(call, Op::GetKernelPreferredWorkGroupSizeMultiple);
            }
            EnqueueOp::KernelSubGroupCount => return self.kernel_query(call, Op::GetKernelNDrangeSubGroupCount),
            EnqueueOp::KernelMaxSubGroupSize => return self.kernel_query(call, Op::GetKernelNDrangeMaxSubGroupSize),
            EnqueueOp::IsValidEvent => {
                let bool_type = self.module.bool_type();
                let truth = self.op(Op::IsValidEvent, bool_type, call.values);
                return self.number_of_truth(truth, call.result);
            }
            EnqueueOp::Marker => simple(Op::EnqueueMarker),
            EnqueueOp::RetainEvent => simple(Op::RetainEvent),
            EnqueueOp::ReleaseEvent => simple(Op::ReleaseEvent),
            EnqueueOp::CreateUserEvent => simple(Op::CreateUserEvent),
            EnqueueOp::SetUserEventStatus => (Op::SetUserEventStatus, true),
            EnqueueOp::CaptureEventProfilingInfo => (Op::CaptureEventProfilingInfo, true),
            EnqueueOp::DefaultQueue => simple(Op::GetDefaultQueue),
        };
        if is_void {
            self.op_void(op, call.values);
            return 0;
        }
        self.op(op, ty, call.values)
    }

    /// The position of the block among the arguments.
    fn block_argument(&self, call: &Call<'_>) -> Option<usize> {
        let types = &self.module.source.types;
        call.arguments.iter().position(|argument| matches!(types.kind(argument.ty), TypeKind::BlockPointer(_)))
    }

    /// The operands that stand for a block: function, captures, their size and alignment.
    fn block_operands(&mut self, call: &Call<'_>, index: usize) -> [Id; 4] {
        let Some(argument) = call.arguments.get(index) else { return [0; 4] };
        let Some(block) = self.known_block(argument) else {
            self.module.fail(argument.span, "a block that is not known at compile time");
            return [0; 4];
        };
        let function = self.block_function(block);
        let (size, align) = (self.module.int(block.size as u32), self.module.int(block.align));
        [function, call.value(index), size, align]
    }

    /// `enqueue_kernel`: queue, flags, range, perhaps events, block, sizes of local memory.
    fn enqueue_kernel(&mut self, call: &Call<'_>) -> Id {
        let Some(at) = self.block_argument(call) else { return self.module.zero(call.result) };
        let mut operands: SmallVec<[u32; 16]> = call.values.iter().take(3).copied().collect();
        if at >= ARGUMENTS_WITH_EVENTS {
            operands.push(call.value(3));
            operands.push(self.event_pointer(call, 4));
            operands.push(self.event_pointer(call, 5));
        } else {
            operands.push(self.module.int(0));
            let event = self.event_pointer_type();
            let null = self.module.null(event);
            operands.extend([null, null]);
        }
        operands.extend(self.block_operands(call, at));
        operands.extend(call.values.iter().skip(at + 1).copied());
        let ty = self.module.type_id(call.result);
        self.op(Op::EnqueueKernel, ty, &operands)
    }

    /// The type of pointers to events.
    fn event_pointer_type(&mut self) -> Id {
        let event = self.module.unique_type(Op::TypeDeviceEvent, &[]);
        self.module.pointer_type(StorageClass::Generic, event)
    }

    /// A pointer to events as a generic pointer, whatever null pointers point to.
    fn event_pointer(&mut self, call: &Call<'_>, index: usize) -> Id {
        let wanted = self.event_pointer_type();
        let Some(to) = self.pointee(call.ty(index)) else { return self.module.null(wanted) };
        let from = self.module.type_id(call.ty(index));
        if storage_class(to.quals.space) == StorageClass::Generic {
            return self.cast_pointer(call.value(index), from, wanted);
        }
        let pointee = self.module.memory_type_id(to.ty);
        let generic = self.module.pointer_type(StorageClass::Generic, pointee);
        let pointer = self.op(Op::PtrCastToGeneric, generic, &[call.value(index)]);
        self.cast_pointer(pointer, generic, wanted)
    }

    /// A query of a block, perhaps after a range.
    fn kernel_query(&mut self, call: &Call<'_>, op: Op) -> Id {
        let Some(at) = self.block_argument(call) else { return self.module.zero(call.result) };
        if matches!(op, Op::GetKernelNDrangeSubGroupCount | Op::GetKernelNDrangeMaxSubGroupSize) {
            self.module.capability(Capability::SubgroupDispatch);
        }
        let mut operands: SmallVec<[u32; 8]> = call.values.iter().take(at).copied().collect();
        operands.extend(self.block_operands(call, at));
        let ty = self.module.type_id(call.result);
        self.op(op, ty, &operands)
    }

    /// `ndrange_1D` and so on: global size; global and local size; offset, global and local size.
    fn nd_range(&mut self, call: &Call<'_>, dimensions: u8) -> Id {
        let size = self.module.size_type();
        let part = if dimensions == 1 { size } else { self.module.array_type(size, dimensions.into()) };
        let mut sizes: SmallVec<[Id; 3]> = SmallVec::new();
        for (index, value) in call.values.iter().enumerate() {
            sizes.push(if dimensions == 1 {
                *value
            } else {
                let space = self.pointee(call.ty(index)).map_or(AddressSpace::Generic, |to| to.quals.space);
                let from = self.module.type_id(call.ty(index));
                let array = self.module.pointer_type(storage_class(space), part);
                let pointer = self.cast_pointer(*value, from, array);
                let align = self.module.memory_layout(part).align;
                self.load(part, pointer, align, false)
            });
        }
        let none = self.module.null(part);
        let operands = match sizes[..] {
            [offset, global, local, ..] => [global, local, offset],
            [global, local] => [global, local, none],
            [global] => [global, none, none],
            [] => [none; 3],
        };
        let ty = self.module.type_id(call.result);
        self.op(Op::BuildNDRange, ty, &operands)
    }
}
