//! Memory: addresses, accesses in parts that touch exactly the elements of the value, block copies and fills, and the test of
//! generic pointers.

use std::mem::offset_of;

use clift_include::abi::WgContext;
use clift_kir::dfg::ConstData;
use clift_kir::{Elem, Imm, Inst, IntCond, MemInfo, Opcode, Space, Type, Value};
use smallvec::SmallVec;

use super::{Legalizer, SplitValue, carrier};

/// `memcpy` and `memset` of a constant count up to this are expanded into loads and stores.
const UNROLL_BYTES: u64 = 128;

/// Offsets in the launch context of an arena's address and size.
type ArenaFields = (usize, usize);

/// Local memory.
const LOCAL_ARENA: ArenaFields = (offset_of!(WgContext, local_mem), offset_of!(WgContext, local_mem_bytes));
/// Private variables.
const PRIVATE_ARENA: ArenaFields = (offset_of!(WgContext, scratch), offset_of!(WgContext, scratch_bytes));

/// The most addresses of lanes that stay in scalar registers from one block to another.
const MAX_CARRIED_ADDRESSES: u32 = 4;

impl Legalizer<'_> {
    pub(super) fn mem(&self, inst: Inst) -> MemInfo {
        let imm = &self.old.dfg.inst(inst).imm;
        let Imm::Mem(mem) = *imm else { unreachable!("broken invariant: access with immediate {imm:?}") };
        mem
    }

    pub(super) fn addr(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let args = self.operands(inst);
        if !ty.is_vector() {
            let operands: SmallVec<[Value; 2]> = args.iter().map(SplitValue::only).collect();
            let value = self.emit(data.op, &operands, data.imm.clone(), ty);
            self.set(inst, SplitValue::scalar(ty, value));
            return;
        }
        self.note_private_addresses(inst);
        // Vectors of pointers: lane by lane, so that each access has an address of its own.
        let parts = self.addr_lanes(inst).into();
        self.set(inst, SplitValue { ty, chunk: 1, parts });
    }

    /// A vector of addresses as one scalar per lane.
    fn addr_lanes(&mut self, inst: Inst) -> Vec<Value> {
        let data = self.old.dfg.inst(inst);
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        if let (&Imm::Addr { scale, disp }, &[base, index]) = (&data.imm, data.args.as_slice())
            && let Some(offsets) = self.scaled_lanes(inst, index, scale)
        {
            let bases = self.address_lanes(base, ty.lanes());
            return bases
                .iter()
                .zip(offsets)
                .map(|(&base, offset)| self.at().addr(base, Some(offset), 1, disp))
                .collect();
        }
        let lanes: Vec<SmallVec<[Value; 8]>> =
            data.args.iter().map(|&arg| self.address_lanes(arg, ty.lanes())).collect();
        (0..ty.lanes() as usize)
            .map(|lane| {
                let operands: SmallVec<[Value; 2]> = lanes.iter().map(|lanes| lanes[lane]).collect();
                self.emit(data.op, &operands, data.imm.clone(), ty.lane())
            })
            .collect()
    }

    /// The lanes of a vector of addresses for accesses in the current block. More than a few addresses that come from another
    /// block would fill the scalar registers on the way, so they are computed again.
    pub(super) fn lanes_here(&mut self, pointers: Value) -> Vec<Value> {
        let split = self.get(pointers);
        let addr = self.old.dfg.def_inst(pointers).filter(|&def| self.old.dfg.inst(def).op == Opcode::Addr);
        let is_elsewhere = |&value: &Value| {
            let def = self.new.dfg.def_inst(value);
            def.is_some_and(|def| self.new.layout.block_of(def) != Some(self.block))
        };
        match addr {
            Some(addr) if split.ty.lanes() > MAX_CARRIED_ADDRESSES && split.parts.iter().any(is_elsewhere) => {
                self.addr_lanes(addr)
            }
            Some(_) | None => self.lanes(&split),
        }
    }

    /// An operand of a vector of addresses as one scalar per lane. Extensions apply to the scalars, where they are often free.
    fn address_lanes(&mut self, operand: Value, lanes: u32) -> SmallVec<[Value; 8]> {
        let split = self.get(operand);
        if !split.ty.is_vector() {
            return std::iter::repeat_n(split.only(), lanes as usize).collect();
        }
        let extended = self.old.dfg.def_inst(operand).map(|def| self.old.dfg.inst(def));
        let (signed, narrow) = match extended {
            Some(data) if data.op == Opcode::Sext => (true, self.get(data.args[0])),
            Some(data) if data.op == Opcode::Zext => (false, self.get(data.args[0])),
            _ => return self.lanes(&split).into(),
        };
        if narrow.ty.is_bool() || narrow.chunk == 1 {
            return self.lanes(&split).into();
        }
        if narrow.ty.elem == Elem::I32 && narrow.chunk == 4 {
            return self.extended_pairs(&narrow, signed);
        }
        (0..lanes)
            .map(|lane| {
                let value = self.lane(&narrow, lane);
                self.at().int_resize(value, Elem::I64, signed)
            })
            .collect()
    }

    /// The lanes of 32-bit integers extended to 64 bits; they are extracted from the vector in pairs.
    fn extended_pairs(&mut self, narrow: &SplitValue, signed: bool) -> SmallVec<[Value; 8]> {
        let pairs = Type::vector(Elem::I64, 2);
        let lanes = narrow.ty.lanes();
        let mut all: SmallVec<[Value; 8]> = SmallVec::new();
        for &part in &narrow.parts {
            let halves = self.at().cast(Opcode::Bitcast, part, pairs);
            for half in 0..2 {
                let mut at = self.at();
                let both = at.extract(halves, half);
                let low = at.int_resize(both, Elem::I32, false);
                all.push(at.int_resize(low, Elem::I64, signed));
                let count = at.iconst(Type::I64, 32);
                all.push(at.int2(if signed { Opcode::Ashr } else { Opcode::Lshr }, both, count));
            }
        }
        all.truncate(lanes as usize);
        all
    }

    /// The pointer plus `bytes`.
    pub(super) fn displaced(&mut self, pointer: Value, bytes: u64) -> Value {
        if bytes == 0 { pointer } else { self.at().addr(pointer, None, 1, bytes as i64) }
    }

    pub(super) fn load(&mut self, inst: Inst) {
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let pointer = self.get_scalar(self.old.dfg.inst(inst).args[0]);
        let split = self.load_value(ty, pointer, self.mem(inst));
        self.note_access(inst, ty);
        self.set(inst, split);
    }

    /// Records how many bytes from its address an access touches.
    pub(super) fn note_access(&mut self, inst: Inst, ty: Type) {
        let bytes = self.reached.entry(self.old.dfg.inst(inst).args[0]).or_default();
        *bytes = ty.bytes().max(*bytes);
    }

    /// Reads a value.
    pub(super) fn load_value(&mut self, ty: Type, pointer: Value, mem: MemInfo) -> SplitValue {
        let chunk = self.caps.part_lanes(ty);
        let count = ty.lanes().div_ceil(chunk);
        let elem_bytes = u64::from(ty.elem.bytes());
        let parts = (0..count)
            .map(|part| {
                let offset = u64::from(part * chunk) * elem_bytes;
                let used = (ty.lanes() - part * chunk).min(chunk);
                self.load_part(ty, chunk, used, pointer, offset, mem)
            })
            .collect();
        SplitValue { ty, chunk, parts }
    }

    fn load_part(&mut self, ty: Type, chunk: u32, used: u32, pointer: Value, offset: u64, mem: MemInfo) -> Value {
        let elem_bytes = u64::from(ty.elem.bytes());
        let part_bytes = u64::from(chunk) * elem_bytes;
        // If a part is aligned to its size, reading its unused lanes touches no other page.
        let reads_same_pages = !mem.volatile && u64::from(mem.align) >= part_bytes;
        if used == chunk || reads_same_pages {
            let mem = aligned_at(mem, offset);
            let address = self.displaced(pointer, offset);
            let part = self.part_type(ty.elem, chunk);
            return self.at().load(part, address, mem);
        }
        let missing = chunk - used;
        if offset > 0 && !mem.volatile && !used.is_power_of_two() {
            // Load a whole part that overlaps the part before, and move its last lanes to the front.
            let at = offset - u64::from(missing) * elem_bytes;
            let address = self.displaced(pointer, at);
            let whole = self.part_type(ty.elem, chunk);
            let whole = self.at().load(whole, address, aligned_at(mem, at));
            let numbers: SmallVec<[u8; 16]> = (0..chunk).map(|i| (i + missing).min(chunk - 1) as u8).collect();
            return self.at().shuffle(whole, whole, &numbers);
        }
        if !mem.volatile && !used.is_power_of_two() && self.accesses_natively(Opcode::MaskedLoad, ty) {
            let (part, address) = (self.part_type(ty.elem, chunk), self.displaced(pointer, offset));
            let lanes: Vec<u64> = (0..chunk).map(|lane| u64::from(lane < used)).collect();
            let mut at = self.at();
            let mask = at.constant(ConstData::new(Type::B1.with_lanes(chunk), &lanes));
            let nothing = at.constant(ConstData::splat(part, 0));
            let mem = aligned_at(mem, offset);
            return at.value(Opcode::MaskedLoad, &[address, mask, nothing], Imm::Mem(mem), part);
        }
        let mut value = None;
        let mut done = 0;
        while done < used {
            let lanes = 1 << (used - done).ilog2();
            let at = offset + u64::from(done) * elem_bytes;
            let address = self.displaced(pointer, at);
            let piece_type = self.part_type(ty.elem, lanes);
            let piece = self.at().load(piece_type, address, aligned_at(mem, at));
            value = Some(match value {
                None => self.widen_part(piece, lanes, chunk),
                Some(value) if lanes == 1 => self.at().insert(value, piece, done),
                Some(value) => {
                    let piece = self.widen_part(piece, lanes, chunk);
                    let numbers: SmallVec<[u8; 16]> = (0..chunk)
                        .map(|i| if (done..done + lanes).contains(&i) { (chunk + i - done) as u8 } else { i as u8 })
                        .collect();
                    self.at().shuffle(value, piece, &numbers)
                }
            });
            done += lanes;
        }
        value.unwrap_or_else(|| unreachable!("broken invariant: part without used lanes"))
    }

    /// A short vector (or scalar) as the first lanes of a longer vector.
    fn widen_part(&mut self, part: Value, lanes: u32, to: u32) -> Value {
        if lanes == to {
            part
        } else if lanes == 1 {
            self.at().splat(part, to)
        } else {
            let numbers: SmallVec<[u8; 16]> = (0..to).map(|i| (i % lanes) as u8).collect();
            self.at().shuffle(part, part, &numbers)
        }
    }

    pub(super) fn store(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let pointer = self.get_scalar(data.args[0]);
        let value = self.get(data.args[1]);
        self.store_value(pointer, &value, self.mem(inst));
        self.note_access(inst, value.ty);
    }

    /// Writes a value.
    pub(super) fn store_value(&mut self, pointer: Value, value: &SplitValue, mem: MemInfo) {
        let elem_bytes = u64::from(value.ty.elem.bytes());
        for (i, &part) in value.parts.iter().enumerate() {
            let offset = u64::from(value.chunk) * i as u64 * elem_bytes;
            let used = value.used(i);
            let mut done = 0;
            while done < used {
                let lanes = 1 << (used - done).ilog2();
                let at = offset + u64::from(done) * elem_bytes;
                let piece = if lanes == value.chunk {
                    part
                } else if lanes == 1 {
                    self.part_lane(part, done)
                } else {
                    let numbers: SmallVec<[u8; 16]> = (done..done + lanes).map(|l| l as u8).collect();
                    self.at().shuffle(part, part, &numbers)
                };
                let address = self.displaced(pointer, at);
                self.at().store(address, piece, aligned_at(mem, at));
                done += lanes;
            }
        }
    }

    /// The memory flags for the access of one lane.
    pub(super) fn lane_mem(mem: MemInfo, ty: Type) -> MemInfo {
        MemInfo { align: mem.align.min(ty.elem.bytes()), ..mem }
    }

    /// The value of a constant count that is small enough for single accesses.
    fn unrolled(&self, count: Value, mem: MemInfo) -> Option<u64> {
        let bytes = self.old.dfg.as_splat_bits(count)?;
        // Odd alignments would need many accesses.
        let accesses = bytes / u64::from(mem.align.clamp(1, 16)) + 4;
        (bytes <= UNROLL_BYTES && (accesses <= 24 || self.caps.register_bits >= 128)).then_some(bytes)
    }

    /// Splits `bytes` into accesses, each with a type and an offset. Unaligned accesses are allowed.
    fn pieces(&self, bytes: u64) -> Vec<(Type, u64)> {
        let widest = u64::from(self.caps.register_bits / 8).max(8);
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < bytes {
            let size = (1u64 << (bytes - at).ilog2()).min(widest);
            let ty = match size {
                1 => Type::I8,
                2 => Type::I16,
                4 => Type::I32,
                8 => Type::I64,
                more => Type::vector(Elem::I8, more as u32),
            };
            pieces.push((ty, at));
            at += size;
        }
        pieces
    }

    pub(super) fn memcpy(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let mem = self.mem(inst);
        let (to, from) = (self.get_scalar(data.args[0]), self.get_scalar(data.args[1]));
        let Some(bytes) = self.unrolled(data.args[2], mem) else {
            let count = self.get_scalar(data.args[2]);
            self.at().memcpy(to, from, count, mem);
            return;
        };
        // Read a group of values before writing any of them.
        for group in self.pieces(bytes).chunks(8) {
            let mut values: SmallVec<[Value; 8]> = SmallVec::new();
            for &(ty, at) in group {
                let address = self.displaced(from, at);
                values.push(self.at().load(ty, address, aligned_at(mem, at)));
            }
            for (&(_, at), &value) in group.iter().zip(&values) {
                let address = self.displaced(to, at);
                self.at().store(address, value, aligned_at(mem, at));
            }
        }
    }

    pub(super) fn memset(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let mem = self.mem(inst);
        let to = self.get_scalar(data.args[0]);
        let byte = self.get_scalar(data.args[1]);
        let Some(bytes) = self.unrolled(data.args[2], mem) else {
            let count = self.get_scalar(data.args[2]);
            self.at().memset(to, byte, count, mem);
            return;
        };
        for (ty, at) in self.pieces(bytes) {
            let address = self.displaced(to, at);
            let mut b = self.at();
            let value = if ty.is_vector() {
                b.splat(byte, ty.lanes())
            } else if ty == Type::I8 {
                byte
            } else {
                let split = b.cast(Opcode::Zext, byte, ty);
                let ones = b.iconst(ty, 0x0101_0101_0101_0101);
                b.int2(Opcode::Imul, split, ones)
            };
            b.store(address, value, aligned_at(mem, at));
        }
    }

    /// Whether a generic pointer points into local or private memory, or else global memory, by the arenas' ranges.
    pub(super) fn in_space(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let Imm::Space(space) = data.imm else { unreachable!("broken invariant: in_space without a space") };
        let split = self.get(data.args[0]);
        let (local, private) = (LOCAL_ARENA, PRIVATE_ARENA);
        let pointers = self.lanes(&split);
        let lanes: Vec<Value> = pointers
            .iter()
            .map(|&pointer| match space {
                Space::Local => self.in_range(pointer, local),
                Space::Private => self.in_range(pointer, private),
                Space::Global => {
                    let in_local = self.in_range(pointer, local);
                    let in_private = self.in_range(pointer, private);
                    let mut at = self.at();
                    let either = at.int2(Opcode::Or, in_local, in_private);
                    at.int1(Opcode::Not, either)
                }
                Space::Constant | Space::Generic | Space::Host => {
                    unreachable!("broken invariant: in_space of {}", space.name())
                }
            })
            .collect();
        let split = self.join_lanes(split.ty.as_mask(), &lanes);
        self.set(inst, split);
    }

    /// The arena that a pointer points into according to its type, if only the thread that runs the work-group uses it.
    pub(super) fn own_arena(&self, pointer: Value) -> Option<ArenaFields> {
        match self.new.dfg.ty(pointer).elem.space()? {
            Space::Local => Some(LOCAL_ARENA),
            Space::Private => Some(PRIVATE_ARENA),
            Space::Global | Space::Constant | Space::Generic | Space::Host => None,
        }
    }

    /// Whether `size` bytes from a pointer are within an arena.
    pub(super) fn lies_within(&mut self, pointer: Value, size: u64, arena: ArenaFields) -> Value {
        let (offset, bytes) = self.offset_in(pointer, arena);
        let mut at = self.at();
        // The first offset where the value does not fit any more; none fits if the arena is too small.
        let rest = at.iconst(Type::I64, size as i64 - 1);
        let least = at.int2(Opcode::Umax, bytes, rest);
        let end = at.int2(Opcode::Isub, least, rest);
        at.icmp(IntCond::Ult, offset, end)
    }

    /// Whether a pointer points into an arena.
    fn in_range(&mut self, pointer: Value, arena: ArenaFields) -> Value {
        let (offset, bytes) = self.offset_in(pointer, arena);
        self.at().icmp(IntCond::Ult, offset, bytes)
    }

    /// The offset of a pointer from the start of an arena, and the arena's size. Of pointers to lower addresses, the offset wraps
    /// around and is larger than any size.
    fn offset_in(&mut self, pointer: Value, (base, bytes): ArenaFields) -> (Value, Value) {
        let context = self.context();
        let mem = MemInfo::invariant(8);
        let mut at = self.at();
        let base = at.addr(context, None, 1, base as i64);
        let base = at.load(Type::I64, base, mem);
        let bytes = at.addr(context, None, 1, bytes as i64);
        let bytes = at.load(Type::I64, bytes, mem);
        let address = at.cast(Opcode::PtrToInt, pointer, Type::I64);
        (at.int2(Opcode::Isub, address, base), bytes)
    }

    /// Stores values to the stack, each at a multiple of 8 bytes. Returns the base address and the offsets.
    pub(super) fn store_on_stack(&mut self, values: &[SplitValue]) -> (Value, Vec<u64>) {
        let mut size = 0u64;
        let mut offsets = Vec::new();
        for value in values {
            offsets.push(size);
            size = (size + u64::from(carrier(value.ty.elem).bytes() * value.ty.lanes())).next_multiple_of(8);
        }
        let slot = self.stack(size.max(8), 16);
        let base = self.at().slot_addr(slot);
        for (value, &offset) in values.iter().zip(&offsets) {
            let address = self.displaced(base, offset);
            self.store_value(address, value, MemInfo::aligned(8));
        }
        (base, offsets)
    }
}

/// The memory flags of an access at `offset`.
fn aligned_at(mem: MemInfo, offset: u64) -> MemInfo {
    let align = if offset == 0 { mem.align } else { mem.align.min(1 << offset.trailing_zeros().min(16)) };
    MemInfo { align, ..mem }
}
