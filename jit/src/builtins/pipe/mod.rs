//! Operations on pipes as kernel IR. `README.md` beside this file describes the protocol; `clift_include::pipe` is the layout
//! of the memory. Not here: copies of packets, whose types only the importer knows.

use std::mem::offset_of;

use clift_include::pipe::{HEADER_BYTES, PipeEnd, PipeHeader, PipeShape};
use clift_kir::{
    AtomicInfo, AtomicOp, BlockCall, Builder, Elem, IntCond, MemInfo, MemOrder, MemScope, Opcode, Type, Value,
};

/// The bit of a valid reservation.
const VALID: u64 = 1 << 63;
/// The first bit of a reservation's first slot.
const SLOT_SHIFT: u32 = 32;
/// The bits of a slot's number.
const SLOT_MASK: i64 = (1 << 31) - 1;

/// An end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Read,
    Write,
}

impl End {
    /// Offsets of its counters and its limit, and the offset of the other end's limit.
    fn offsets(self) -> (usize, usize, usize) {
        let limits = [offset_of!(PipeHeader, read_limit), offset_of!(PipeHeader, write_limit)];
        match self {
            End::Read => (offset_of!(PipeHeader, read), limits[0], limits[1]),
            End::Write => (offset_of!(PipeHeader, write), limits[1], limits[0]),
        }
    }
}

/// A number of packets to reserve, an `i32`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// A number that is the same for all work-items that execute the operation together.
    Same(Value),
    /// Any number.
    Any(Value),
}

/// An outcome of a reservation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    /// Whether it succeeded.
    pub(crate) succeeded: Value,
    /// The position of its first packet.
    pub(crate) position: Value,
}

/// A pipe as a kernel sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    /// The address of its header.
    pub(crate) header: Value,
    /// Size of the kernel's packets in bytes.
    pub(crate) packet_bytes: u64,
}

impl Pipe {
    /// A word of the header that does not change.
    fn shape(self, b: &mut Builder<'_>, field: usize) -> Value {
        let place = b.addr(self.header, None, 1, (offset_of!(PipeHeader, shape) + field) as i64);
        b.load(Type::I64, place, MemInfo { invariant: true, ..MemInfo::aligned(8) })
    }

    /// The address of a word that changes.
    fn word(self, b: &mut Builder<'_>, offset: usize) -> Value {
        b.addr(self.header, None, 1, offset as i64)
    }

    fn load(self, b: &mut Builder<'_>, offset: usize) -> Value {
        let place = self.word(b, offset);
        b.atomic_load(Type::I64, place, atomic(AtomicOp::Xchg, MemOrder::Acquire))
    }

    fn update(self, b: &mut Builder<'_>, op: AtomicOp, offset: usize, operand: Value) -> Value {
        let place = self.word(b, offset);
        b.atomic_rmw(place, operand, atomic(op, MemOrder::AcqRel))
    }

    /// Whether the pipe's packets have the size of the kernel's.
    fn fits(self, b: &mut Builder<'_>) -> Value {
        let found = self.shape(b, offset_of!(PipeShape, packet_bytes));
        let wanted = b.iconst(Type::I64, self.packet_bytes as i64);
        b.icmp(IntCond::Eq, found, wanted)
    }

    /// `get_pipe_max_packets`
    pub(crate) fn max_packets(self, b: &mut Builder<'_>) -> Value {
        let capacity = self.shape(b, offset_of!(PipeShape, capacity));
        b.cast(Opcode::Itrunc, capacity, Type::I32)
    }

    /// `get_pipe_num_packets`: the packets that readers may take.
    pub(crate) fn num_packets(self, b: &mut Builder<'_>) -> Value {
        let (counters, limit, _) = End::Read.offsets();
        let taken = self.load(b, counters + offset_of!(PipeEnd, taken));
        let limit = self.load(b, limit);
        let left = b.int2(Opcode::Isub, limit, taken);
        let none = b.iconst(Type::I64, 0);
        let left = b.int2(Opcode::Smax, left, none);
        b.cast(Opcode::Itrunc, left, Type::I32)
    }

    /// Reserves packets. Continues in a new block.
    pub(crate) fn reserve(self, b: &mut Builder<'_>, end: End, count: Count) -> Reserved {
        let (counters, limit, _) = end.offsets();
        let (Count::Same(packets) | Count::Any(packets)) = count;
        let packets = b.int_resize(packets, Elem::I64, false);
        let [attempt, success, done] = [(); 3].map(|()| b.func.append_block());
        let succeeded = b.func.dfg.append_param(done, Type::B1);
        let position = b.func.dfg.append_param(done, Type::I64);
        let (yes, no) = (b.iconst(Type::B1, 1), b.iconst(Type::B1, 0));
        let nowhere = b.iconst(Type::I64, 0);
        let failure = BlockCall::new(done, &[no, nowhere]);

        let limit = self.load(b, limit);
        let enough = |b: &mut Builder<'_>, taken: Value| {
            let left = b.int2(Opcode::Isub, limit, taken);
            b.icmp(IntCond::Sge, left, packets)
        };
        let taken_at = counters + offset_of!(PipeEnd, taken);
        let fits = self.fits(b);
        let taken = self.load(b, taken_at);
        match count {
            Count::Same(_) => {
                let enough_left = enough(b, taken);
                let start = b.int2(Opcode::And, fits, enough_left);
                b.branch(start, BlockCall::new(attempt, &[]), failure.clone());
                b.switch_to(attempt);
                let taken = self.update(b, AtomicOp::Add, taken_at, packets);
                let back = b.func.append_block();
                let enough = enough(b, taken);
                b.branch(enough, BlockCall::new(success, &[]), BlockCall::new(back, &[]));
                b.switch_to(back);
                self.update(b, AtomicOp::Sub, taken_at, packets);
                b.jump(done, &[no, nowhere]);
            }
            Count::Any(_) => {
                let exchange = b.func.append_block();
                let expected = b.func.dfg.append_param(attempt, Type::I64);
                b.branch(fits, BlockCall::new(attempt, &[taken]), failure.clone());
                b.switch_to(attempt);
                let enough = enough(b, expected);
                b.branch(enough, BlockCall::new(exchange, &[]), failure);
                b.switch_to(exchange);
                let new = b.int2(Opcode::Iadd, expected, packets);
                let place = self.word(b, taken_at);
                let found = b.atomic_cmpxchg(place, expected, new, atomic(AtomicOp::Xchg, MemOrder::AcqRel));
                let same = b.icmp(IntCond::Eq, found, expected);
                b.branch(same, BlockCall::new(success, &[]), BlockCall::new(attempt, &[found]));
            }
        }
        b.switch_to(success);
        let first = self.update(b, AtomicOp::Add, counters + offset_of!(PipeEnd, next), packets);
        b.jump(done, &[yes, first]);
        b.switch_to(done);
        Reserved { succeeded, position }
    }

    /// Commits a number of packets, an `i64`. Continues in a new block.
    pub(crate) fn commit(self, b: &mut Builder<'_>, end: End, packets: Value) {
        let (counters, _, others_limit) = end.offsets();
        let before = self.update(b, AtomicOp::Add, counters + offset_of!(PipeEnd, committed), packets);
        let committed = b.int2(Opcode::Iadd, before, packets);
        let next = self.load(b, counters + offset_of!(PipeEnd, next));
        let all = b.icmp(IntCond::Eq, committed, next);
        let (publish, done) = (b.func.append_block(), b.func.append_block());
        b.branch(all, BlockCall::new(publish, &[]), BlockCall::new(done, &[]));
        b.switch_to(publish);
        let limit = match end {
            End::Write => committed,
            End::Read => {
                let capacity = self.shape(b, offset_of!(PipeShape, capacity));
                b.int2(Opcode::Iadd, committed, capacity)
            }
        };
        self.update(b, AtomicOp::Umax, others_limit, limit);
        b.jump(done, &[]);
        b.switch_to(done);
    }

    /// The address of the packet at a position, or at a slot's number and an index added.
    pub(crate) fn packet(self, b: &mut Builder<'_>, position: Value) -> Value {
        let mask = self.shape(b, offset_of!(PipeShape, mask));
        let slot = b.int2(Opcode::And, position, mask);
        b.addr(self.header, Some(slot), self.packet_bytes, HEADER_BYTES as i64)
    }

    /// The number that represents a reservation of `packets` packets; 0 if it failed.
    pub(crate) fn number(self, b: &mut Builder<'_>, reserved: Reserved, packets: Value) -> Value {
        let mask = self.shape(b, offset_of!(PipeShape, mask));
        let slot = b.int2(Opcode::And, reserved.position, mask);
        let shift = b.iconst(Type::I64, SLOT_SHIFT.into());
        let slot = b.int2(Opcode::Shl, slot, shift);
        let packets = b.int_resize(packets, Elem::I64, false);
        let number = b.int2(Opcode::Or, slot, packets);
        let valid = b.iconst(Type::I64, VALID as i64);
        let number = b.int2(Opcode::Or, number, valid);
        let invalid = b.iconst(Type::I64, 0);
        b.select(reserved.succeeded, number, invalid)
    }

    /// For a reservation's number and an index: whether the packet is in the reservation, and its address.
    pub(crate) fn reserved_packet(self, b: &mut Builder<'_>, number: Value, index: Value) -> (Value, Value) {
        let index = b.int_resize(index, Elem::I64, false);
        let packets = packets(b, number);
        let inside = b.icmp(IntCond::Ult, index, packets);
        let fits = self.fits(b);
        let inside = b.int2(Opcode::And, inside, fits);
        let shift = b.iconst(Type::I64, SLOT_SHIFT.into());
        let first = b.int2(Opcode::Lshr, number, shift);
        let slots = b.iconst(Type::I64, SLOT_MASK);
        let first = b.int2(Opcode::And, first, slots);
        let position = b.int2(Opcode::Iadd, first, index);
        (inside, self.packet(b, position))
    }
}

/// The number of packets of a reservation.
pub(crate) fn packets(b: &mut Builder<'_>, number: Value) -> Value {
    let mask = b.iconst(Type::I64, 0xFFFF_FFFF);
    b.int2(Opcode::And, number, mask)
}

/// Whether a reservation is valid.
pub(crate) fn is_valid(b: &mut Builder<'_>, number: Value) -> Value {
    let invalid = b.iconst(Type::I64, 0);
    b.icmp(IntCond::Ne, number, invalid)
}

/// Pipes may be used by kernels on several sub-devices at a time.
fn atomic(op: AtomicOp, order: MemOrder) -> AtomicInfo {
    AtomicInfo { op, order, scope: MemScope::AllDevices }
}
