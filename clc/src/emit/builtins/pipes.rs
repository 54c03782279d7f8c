//! Pipes.

use smallvec::SmallVec;
use spirv::{Capability, Op, Scope, StorageClass};

use super::Call;
use crate::builtins::PipeOp;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::types::storage_class;
use crate::types::{Ty, TypeKind};

impl FunctionEmitter<'_, '_> {
    /// An operation on a pipe.
    pub(super) fn pipe(&mut self, call: &Call<'_>, op: PipeOp) -> Id {
        self.module.capability(Capability::Pipes);
        let ty = self.module.type_id(call.result);
        if op == PipeOp::IsValidReserveId {
            let bool_type = self.module.bool_type();
            let truth = self.op(Op::IsValidReserveId, bool_type, &[call.value(0)]);
            return self.number_of_truth(truth, call.result);
        }
        let is_reserved = call.count() > 2;
        let (instruction, scope) = match op {
            PipeOp::Read if is_reserved => (Op::ReservedReadPipe, None),
            PipeOp::Read => (Op::ReadPipe, None),
            PipeOp::Write if is_reserved => (Op::ReservedWritePipe, None),
            PipeOp::Write => (Op::WritePipe, None),
            PipeOp::ReserveRead => (Op::ReserveReadPipePackets, None),
            PipeOp::ReserveWrite => (Op::ReserveWritePipePackets, None),
            PipeOp::CommitRead => (Op::CommitReadPipe, None),
            PipeOp::CommitWrite => (Op::CommitWritePipe, None),
            PipeOp::WorkGroupReserveRead => (Op::GroupReserveReadPipePackets, Some(Scope::Workgroup)),
            PipeOp::WorkGroupReserveWrite => (Op::GroupReserveWritePipePackets, Some(Scope::Workgroup)),
            PipeOp::WorkGroupCommitRead => (Op::GroupCommitReadPipe, Some(Scope::Workgroup)),
            PipeOp::WorkGroupCommitWrite => (Op::GroupCommitWritePipe, Some(Scope::Workgroup)),
            PipeOp::SubGroupReserveRead => (Op::GroupReserveReadPipePackets, Some(Scope::Subgroup)),
            PipeOp::SubGroupReserveWrite => (Op::GroupReserveWritePipePackets, Some(Scope::Subgroup)),
            PipeOp::SubGroupCommitRead => (Op::GroupCommitReadPipe, Some(Scope::Subgroup)),
            PipeOp::SubGroupCommitWrite => (Op::GroupCommitWritePipe, Some(Scope::Subgroup)),
            PipeOp::NumPackets | PipeOp::IsValidReserveId => (Op::GetNumPipePackets, None),
            PipeOp::MaxPackets => (Op::GetMaxPipePackets, None),
        };
        let kind = self.module.source.types.kind(call.ty(0));
        let packet = if let TypeKind::Pipe(packet, _) = kind { *packet } else { call.result };
        let layout = self.module.source.types.layout(packet).unwrap_or_default();
        let mut operands: SmallVec<[u32; 8]> = SmallVec::new();
        if let Some(scope) = scope {
            if scope == Scope::Subgroup {
                self.module.capability(Capability::SubgroupDispatch);
            }
            operands.push(self.scope_id(scope));
        }
        for (index, value) in call.values.iter().enumerate() {
            operands.push(self.packet_pointer(*value, call.ty(index)));
        }
        operands.push(self.module.int(layout.size as u32));
        operands.push(self.module.int(layout.align));
        let is_commit = matches!(
            instruction,
            Op::CommitReadPipe | Op::CommitWritePipe | Op::GroupCommitReadPipe | Op::GroupCommitWritePipe
        );
        if !is_commit {
            return self.op(instruction, ty, &operands);
        }
        self.op_void(instruction, &operands);
        0
    }

    /// An argument; pointers to packets are generic.
    fn packet_pointer(&mut self, value: Id, ty: Ty) -> Id {
        let Some(to) = self.pointee(ty) else { return value };
        if storage_class(to.quals.space) == StorageClass::Generic {
            return value;
        }
        let pointee = self.module.memory_type_id(to.ty);
        let generic = self.module.pointer_type(StorageClass::Generic, pointee);
        self.op(Op::PtrCastToGeneric, generic, &[value])
    }
}
