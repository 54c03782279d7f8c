//! Asynchronous copies.

use spirv::{Op, Scope, StorageClass};

use super::Call;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::types::storage_class;
use crate::types::Scalar;

impl FunctionEmitter<'_, '_> {
    /// A copy: destination, source, number of elements, perhaps a stride, event.
    pub(super) fn async_copy(&mut self, call: &Call<'_>, strided: bool) -> Id {
        let (stride, event) = match strided {
            true => (call.value(3), call.value(4)),
            false => (self.module.size(1), call.value(3)),
        };
        let ty = self.module.type_id(call.result);
        let scope = self.scope_id(Scope::Workgroup);
        let operands = [scope, call.value(0), call.value(1), call.value(2), stride, event];
        self.op(Op::GroupAsyncCopy, ty, &operands)
    }

    /// Waits: number of events, pointer to them.
    pub(super) fn wait_events(&mut self, call: &Call<'_>) -> Id {
        let scope = self.scope_id(Scope::Workgroup);
        self.op_void(Op::GroupWaitEvents, &[scope, call.value(0), call.value(1)]);
        0
    }

    /// The size of the integers of which an element of a number of bytes consists.
    fn copied_unit(&self, bytes: Id) -> u32 {
        let fits = |unit: u32| self.module.constant_bits(bytes).is_some_and(|bytes| bytes.is_multiple_of(unit.into()));
        [8, 4, 2].into_iter().find(|unit| fits(*unit)).unwrap_or(1)
    }

    /// A copy of lines, and of planes of lines: one after the other, in bytes or integers, as elements have any size.
    ///
    /// Arguments: destination, its offset, source, its offset, bytes of an element, elements of a line, lines; the number of
    /// planes; for the source the elements from a line to the next, and from a plane to the next; likewise for the destination;
    /// the event.
    pub(super) fn async_block_copy(&mut self, call: &Call<'_>, dimensions: u8) -> Id {
        let size = self.module.size_type();
        let mut arguments = (4..).map(|index| call.value(index));
        let mut next = || arguments.next().unwrap_or(0);
        let (bytes, elements, lines) = (next(), next(), next());
        let planes = if dimensions == 3 { next() } else { 0 };
        let from_line = next();
        let from_plane = if dimensions == 3 { next() } else { 0 };
        let to_line = next();
        let to_plane = if dimensions == 3 { next() } else { 0 };
        let event = next();
        let unit = self.copied_unit(bytes);
        let units = match self.module.constant_bits(bytes) {
            Some(bytes) => self.module.size(bytes / u64::from(unit)),
            None => bytes,
        };
        let line_units = self.op(Op::IMul, size, &[elements, units]);
        let total = if dimensions == 3 { self.op(Op::IMul, size, &[lines, planes]) } else { lines };

        let before = self.current_block();
        let (head, body, done) = (self.label(), self.label(), self.label());
        let (number, next_number) = (self.module.fresh(), self.module.fresh());
        let (last_event, next_event) = (self.module.fresh(), self.module.fresh());
        let (zero, one) = (self.module.size(0), self.module.size(1));
        let event_type = self.module.type_id(call.result);
        self.begin_target(head);
        self.op_void(Op::Phi, &[size, number, zero, before, next_number, body]);
        self.op_void(Op::Phi, &[event_type, last_event, event, before, next_event, body]);
        let bool_type = self.module.bool_type();
        let is_inside = self.op(Op::ULessThan, bool_type, &[number, total]);
        self.branch_to(is_inside, body, done);

        self.begin_block(body);
        let (line, plane) = match dimensions {
            3 => (self.op(Op::UMod, size, &[number, lines]), self.op(Op::UDiv, size, &[number, lines])),
            _ => (number, zero),
        };
        let mut address = |pointer: usize, offset: usize, line_step: Id, plane_step: Id| {
            let lines = self.op(Op::IMul, size, &[line, line_step]);
            let mut place = self.op(Op::IAdd, size, &[call.value(offset), lines]);
            if dimensions == 3 {
                let planes = self.op(Op::IMul, size, &[plane, plane_step]);
                place = self.op(Op::IAdd, size, &[place, planes]);
            }
            let place = self.op(Op::IMul, size, &[place, bytes]);
            let class =
                self.pointee(call.ty(pointer)).map_or(StorageClass::Generic, |to| storage_class(to.quals.space));
            let byte = self.module.scalar_type(Scalar::UChar);
            let ty = self.module.pointer_type(class, byte);
            let from = self.module.type_id(call.ty(pointer));
            let pointer = self.cast_pointer(call.value(pointer), from, ty);
            let pointer = self.op(Op::PtrAccessChain, ty, &[pointer, place]);
            let element = self.module.int_type(unit * 8);
            let wide = self.module.pointer_type(class, element);
            self.cast_pointer(pointer, ty, wide)
        };
        let to = address(0, 1, to_line, to_plane);
        let from = address(2, 3, from_line, from_plane);
        let scope = self.scope_id(Scope::Workgroup);
        let copied = [event_type, next_event, scope, to, from, line_units, one, last_event];
        self.op_void(Op::GroupAsyncCopy, &copied);
        self.op_void(Op::IAdd, &[size, next_number, number, one]);
        self.jump(head);
        self.begin_block(done);
        last_event
    }
}
