//! Ops without operands: constants, arguments, addresses of variables, and work-item queries.

use super::step::{LaneVec, Machine, Thread, frame};
use crate::entities::Inst;
use crate::eval::from_bytes;
use crate::inst::{Imm, InstData};
use crate::ops::{LeafOp, QueryOp};
use crate::types::{Space, Type};

impl<'m> Machine<'m, '_> {
    pub(super) fn leaf(&mut self, op: LeafOp, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let frame = frame(thread);
        let result = frame.func.dfg.result(inst);
        let address = match op {
            LeafOp::Const => {
                let Imm::Const(id) = data.imm else { unreachable!("broken invariant: const with {:?}", data.imm) };
                frame.set(result, &frame.func.dfg.constant(id).to_lanes());
                return;
            }
            LeafOp::Undef => {
                // An unspecified value, which must be the same at every use: zero.
                frame.set(result, &LaneVec::from_elem(0, frame.ty(result).lanes() as usize));
                return;
            }
            LeafOp::Arg => {
                let value = self.arg(frame.ty(result), data);
                frame.set(result, &value);
                return;
            }
            LeafOp::ArgAddr => {
                let Imm::Offset(offset) = data.imm else {
                    unreachable!("broken invariant: arg_addr with {:?}", data.imm)
                };
                self.place.arg_block.wrapping_add(u64::from(offset))
            }
            LeafOp::SlotAddr => {
                let Imm::Slot(slot) = data.imm else { unreachable!("broken invariant: slot_addr with {:?}", data.imm) };
                frame.slots[slot.as_u32() as usize]
            }
            LeafOp::GlobalAddr => {
                let Imm::Global(global) = data.imm else {
                    unreachable!("broken invariant: global_addr with {:?}", data.imm)
                };
                self.globals.get(global)
            }
        };
        frame.set(result, &[address]);
    }

    pub(super) fn query(&mut self, op: QueryOp, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let id = thread.id.unwrap_or_default();
        let item = u64::from(thread.access.item);
        let frame = frame(thread);
        let result = frame.func.dfg.result(inst);
        let place = &self.place;
        let dim = usize::from(data.imm.dim());
        let width = u64::from(self.options.sub_group_size.max(1));
        let items = |[x, y, z]: [u64; 3]| x.wrapping_mul(y).wrapping_mul(z);
        let bits = match op {
            QueryOp::WorkDim => u64::from(place.work_dim),
            QueryOp::GlobalSize => place.global_size[dim],
            QueryOp::GlobalOffset => place.global_offset[dim],
            QueryOp::NumGroups => place.num_groups[dim],
            QueryOp::EnqueuedLocalSize => place.enqueued_local_size[dim],
            QueryOp::LocalSize => place.local_size[dim],
            QueryOp::GroupId => id.group[dim],
            QueryOp::GlobalId => id.global[dim],
            QueryOp::LocalId => id.local[dim],
            QueryOp::GlobalLinearId => {
                let [x, y, z] = [0, 1, 2].map(|d| id.global[d].wrapping_sub(place.global_offset[d]));
                let [width, height, _] = place.global_size;
                z.wrapping_mul(height).wrapping_add(y).wrapping_mul(width).wrapping_add(x)
            }
            QueryOp::LocalLinearId => item,
            QueryOp::SubGroupSize => width.min(items(place.local_size).saturating_sub(item / width * width)),
            QueryOp::MaxSubGroupSize => width,
            QueryOp::NumSubGroups => items(place.local_size).div_ceil(width),
            QueryOp::EnqueuedNumSubGroups => items(place.enqueued_local_size).div_ceil(width),
            QueryOp::SubGroupId => item / width,
            QueryOp::SubGroupLocalId => item % width,
        };
        let mask = frame.ty(result).elem.mask();
        frame.set(result, &[bits & mask]);
    }

    /// An argument's value. The block holds the offset of a local pointer from the group's local memory. Bytes beyond the
    /// block are zero.
    fn arg(&self, ty: Type, data: &InstData) -> LaneVec {
        let Imm::Offset(offset) = data.imm else { unreachable!("broken invariant: arg with {:?}", data.imm) };
        let mut bytes = vec![0; ty.bytes() as usize];
        let stored = self.place.args.get(offset as usize..).unwrap_or_default();
        for (byte, &stored) in bytes.iter_mut().zip(stored) {
            *byte = stored;
        }
        let mut value = from_bytes(ty.elem, &bytes);
        if ty.elem.space() == Some(Space::Local) {
            value.iter_mut().for_each(|lane| *lane = lane.wrapping_add(self.place.local_base));
        }
        value
    }
}
