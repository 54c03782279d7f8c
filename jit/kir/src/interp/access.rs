//! Memory ops.

use smallvec::SmallVec;

use super::memory::{Accessor, Fault};
use super::observe::AccessEvent;
use super::step::{LaneVec, Machine, Thread, frame};
use crate::entities::{Inst, Value};
use crate::eval::{combine, from_bytes, to_bytes};
use crate::inst::{Imm, InstData};
use crate::ops::{ImageOp, MemoryOp};
use crate::types::Type;

impl<'m> Machine<'m, '_> {
    pub(super) fn in_space(&mut self, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let Imm::Space(space) = data.imm else { unreachable!("broken invariant: in_space with {:?}", data.imm) };
        let frame = frame(thread);
        let is_in = |&address: &u64| u64::from(self.memory.is_in(space, address));
        let value: LaneVec = frame.lanes_vec(data.args[0]).iter().map(is_in).collect();
        frame.set(frame.func.dfg.result(inst), &value);
    }

    /// Accesses to images are gone before kernels run.
    pub(super) fn image_op(&mut self, op: ImageOp, thread: &mut Thread<'m>, inst: Inst) {
        self.fault(thread, inst, Fault::Image);
        match op {
            ImageOp::ImageRead => {
                let frame = frame(thread);
                frame.set(frame.func.dfg.result(inst), &LaneVec::from_elem(0, 4));
            }
            ImageOp::ImageWrite => {}
        }
    }

    pub(super) fn memory_op(&mut self, op: MemoryOp, thread: &mut Thread<'m>, inst: Inst, data: &InstData) {
        let args = &data.args;
        let result = frame(thread).func.dfg.results(inst).first().copied();
        let scalar = |thread: &mut Thread<'m>, i: usize| frame(thread).scalar(args[i]);
        let lanes = |thread: &mut Thread<'m>, i: usize| frame(thread).lanes_vec(args[i]);
        let value = match op {
            MemoryOp::Load => {
                let address = scalar(thread, 0);
                self.check_alignment(thread, inst, data, address);
                let ty = type_of(thread, result);
                Some(self.read(thread, inst, address, ty))
            }
            MemoryOp::Store => {
                let (address, value) = (scalar(thread, 0), lanes(thread, 1));
                self.check_alignment(thread, inst, data, address);
                let ty = frame(thread).ty(args[1]);
                self.write(thread, inst, address, ty, &value);
                None
            }
            MemoryOp::MaskedLoad => {
                let (address, mask, mut value) = (scalar(thread, 0), lanes(thread, 1), lanes(thread, 2));
                if any(&mask) {
                    self.check_alignment(thread, inst, data, address);
                }
                let ty = type_of(thread, result).lane();
                for (lane, place) in value.iter_mut().enumerate().filter(|(lane, _)| mask[*lane] & 1 == 1) {
                    let address = address.wrapping_add(lane as u64 * u64::from(ty.bytes()));
                    *place = self.read(thread, inst, address, ty)[0];
                }
                Some(value)
            }
            MemoryOp::MaskedStore => {
                let (address, value, mask) = (scalar(thread, 0), lanes(thread, 1), lanes(thread, 2));
                if any(&mask) {
                    self.check_alignment(thread, inst, data, address);
                }
                let ty = frame(thread).ty(args[1]).lane();
                for (lane, bits) in value.iter().enumerate().filter(|(lane, _)| mask[*lane] & 1 == 1) {
                    let address = address.wrapping_add(lane as u64 * u64::from(ty.bytes()));
                    self.write(thread, inst, address, ty, &[*bits]);
                }
                None
            }
            MemoryOp::Gather => {
                let (addresses, mask, mut value) = (lanes(thread, 0), lanes(thread, 1), lanes(thread, 2));
                let ty = type_of(thread, result).lane();
                for (lane, place) in value.iter_mut().enumerate().filter(|(lane, _)| mask[*lane] & 1 == 1) {
                    self.check_alignment(thread, inst, data, addresses[lane]);
                    *place = self.read(thread, inst, addresses[lane], ty)[0];
                }
                Some(value)
            }
            MemoryOp::Scatter => {
                let (addresses, value, mask) = (lanes(thread, 0), lanes(thread, 1), lanes(thread, 2));
                let ty = frame(thread).ty(args[1]).lane();
                for (lane, bits) in value.iter().enumerate().filter(|(lane, _)| mask[*lane] & 1 == 1) {
                    self.check_alignment(thread, inst, data, addresses[lane]);
                    self.write(thread, inst, addresses[lane], ty, &[*bits]);
                }
                None
            }
            MemoryOp::Memcpy => {
                let (to, from, count) = (scalar(thread, 0), scalar(thread, 1), scalar(thread, 2));
                self.check_alignment(thread, inst, data, to);
                self.check_alignment(thread, inst, data, from);
                self.copy(thread, inst, to, from, count);
                None
            }
            MemoryOp::Memset => {
                let (to, byte, count) = (scalar(thread, 0), scalar(thread, 1), scalar(thread, 2));
                self.check_alignment(thread, inst, data, to);
                let bytes = [byte as u8; CHUNK];
                self.in_chunks(thread, count, |machine, thread, at, size| {
                    machine.write_bytes(thread, inst, to.wrapping_add(at), &bytes[..size])
                });
                None
            }
            MemoryOp::AtomicLoad => {
                let address = scalar(thread, 0);
                let ty = type_of(thread, result);
                Some(self.update(thread, inst, address, ty, false, &mut |_| None))
            }
            MemoryOp::AtomicStore => {
                let (address, value) = (scalar(thread, 0), scalar(thread, 1));
                let ty = frame(thread).ty(args[1]);
                self.update(thread, inst, address, ty, true, &mut |_| Some(value));
                None
            }
            MemoryOp::AtomicRmw => {
                let (address, value) = (scalar(thread, 0), scalar(thread, 1));
                let Imm::Atomic(info) = data.imm else {
                    unreachable!("broken invariant: atomic_rmw with {:?}", data.imm)
                };
                let ty = frame(thread).ty(args[1]);
                let mut new = |old| Some(combine(info.op, ty.elem, old, value));
                Some(self.update(thread, inst, address, ty, true, &mut new))
            }
            MemoryOp::AtomicCmpxchg => {
                let (address, expected, new) = (scalar(thread, 0), scalar(thread, 1), scalar(thread, 2));
                let ty = frame(thread).ty(args[2]);
                let mut new = |old| (old == expected).then_some(new);
                Some(self.update(thread, inst, address, ty, true, &mut new))
            }
            MemoryOp::Fence => {
                self.memory.fence();
                None
            }
        };
        if let (Some(result), Some(value)) = (result, value) {
            frame(thread).set(result, &value);
        }
    }

    fn check_alignment(&mut self, thread: &Thread<'m>, inst: Inst, data: &InstData, address: u64) {
        if let Imm::Mem(mem) = data.imm {
            self.aligned(thread, inst, address, u64::from(mem.align));
        }
    }

    fn aligned(&mut self, thread: &Thread<'m>, inst: Inst, address: u64, align: u64) {
        if self.options.check_alignment && !address.is_multiple_of(align) {
            self.fault(thread, inst, Fault::Misaligned { address, align });
        }
    }

    fn touch(&mut self, thread: &Thread<'m>, inst: Inst, address: u64, size: u64, write: bool) {
        self.observer.touch(inst, &AccessEvent { access: thread.access, address, size, write });
    }

    fn read(&mut self, thread: &Thread<'m>, inst: Inst, address: u64, ty: Type) -> LaneVec {
        let mut bytes: SmallVec<[u8; 64]> = SmallVec::from_elem(0, ty.bytes() as usize);
        self.read_bytes(thread, inst, address, &mut bytes);
        from_bytes(ty.elem, &bytes)
    }

    fn write(&mut self, thread: &Thread<'m>, inst: Inst, address: u64, ty: Type, lanes: &[u64]) {
        self.write_bytes(thread, inst, address, &to_bytes(ty.elem, lanes));
    }

    fn read_bytes(&mut self, thread: &Thread<'m>, inst: Inst, address: u64, bytes: &mut [u8]) {
        self.touch(thread, inst, address, bytes.len() as u64, false);
        if let Err(fault) = self.memory.read(&thread.access, address, bytes) {
            self.fault(thread, inst, fault);
        }
    }

    fn write_bytes(&mut self, thread: &Thread<'m>, inst: Inst, address: u64, bytes: &[u8]) {
        self.touch(thread, inst, address, bytes.len() as u64, true);
        if let Err(fault) = self.memory.write(&thread.access, address, bytes) {
            self.fault(thread, inst, fault);
        }
    }

    /// Copies bytes. Uninitialized bytes may be copied, such as the padding of structs.
    fn copy(&mut self, thread: &Thread<'m>, inst: Inst, to: u64, from: u64, count: u64) {
        let mut bytes = [0; CHUNK];
        self.in_chunks(thread, count, |machine, thread, at, size| {
            let from = from.wrapping_add(at);
            machine.touch(thread, inst, from, size as u64, false);
            match machine.memory.read(&thread.access, from, &mut bytes[..size]) {
                Ok(()) | Err(Fault::Uninitialized { .. }) => {}
                Err(fault) => machine.fault(thread, inst, fault),
            }
            machine.write_bytes(thread, inst, to.wrapping_add(at), &bytes[..size]);
        });
    }

    /// Calls `part` with the offset and size of each chunk of `count` bytes, until one has a fault, so that a huge count is
    /// reported only once.
    fn in_chunks(&mut self, thread: &Thread<'m>, count: u64, mut part: impl FnMut(&mut Self, &Thread<'m>, u64, usize)) {
        let before = |machine: &Self| machine.outcome.faults.iter().map(|f| f.count).sum::<u64>();
        let faults = before(self);
        let mut at = 0;
        while at < count {
            let size = (count - at).min(CHUNK as u64);
            part(self, thread, at, size as usize);
            at += size;
            if before(self) != faults || self.outcome.too_many_faults {
                break;
            }
        }
    }

    /// An atomic read-modify-write; returns the old value.
    fn update(
        &mut self,
        thread: &Thread<'m>,
        inst: Inst,
        address: u64,
        ty: Type,
        write: bool,
        new: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> LaneVec {
        let size = ty.bytes();
        // Atomics always require their natural alignment, also if stated alignments are not checked.
        if !address.is_multiple_of(u64::from(size)) {
            self.fault(thread, inst, Fault::Misaligned { address, align: u64::from(size) });
            return SmallVec::from_elem(0, 1);
        }
        self.touch(thread, inst, address, u64::from(size), write);
        let access = Accessor { atomic: true, ..thread.access };
        let mut old = 0;
        if let Err(fault) = self.memory.update(&access, address, size, &mut old, new) {
            self.fault(thread, inst, fault);
        }
        SmallVec::from_elem(old, 1)
    }
}

fn any(mask: &[u64]) -> bool {
    mask.iter().any(|lane| lane & 1 == 1)
}

/// Bytes that a copy moves at a time.
const CHUNK: usize = 256;

fn type_of(thread: &mut Thread<'_>, result: Option<Value>) -> Type {
    match result {
        Some(value) => frame(thread).ty(value),
        None => unreachable!("broken invariant: a load without a result"),
    }
}
