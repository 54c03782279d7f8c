//! Memory: addresses, accesses in parts that touch exactly the value's elements, masked and scattered accesses by lane, blocks
//! of bytes, and the test of generic pointers.

use std::mem::offset_of;

use clift_include::abi::WgContext;
use clift_kir::{Imm, Inst, IntCond, MemInfo, Opcode, Space, Type, Value};
use smallvec::SmallVec;

use super::{Legalizer, Wide, carrier};

/// Up to this many bytes `memcpy` and `memset` of a constant count become loads and stores.
const UNROLL_BYTES: u64 = 128;

impl Legalizer<'_> {
    fn mem(&self, inst: Inst) -> MemInfo {
        match self.old.dfg.inst(inst).imm {
            Imm::Mem(mem) => mem,
            ref imm => unreachable!("broken invariant: access with immediate {imm:?}"),
        }
    }

    pub(super) fn addr(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let args = self.operands(inst);
        if !ty.is_vector() {
            let operands: SmallVec<[Value; 2]> = args.iter().map(Wide::only).collect();
            let value = self.emit(data.op, &operands, data.imm.clone(), ty);
            self.set(inst, Wide::scalar(ty, value));
            return;
        }
        // Vectors of pointers: lane by lane, so that each access gets an address of its own.
        let lanes: Vec<Value> = (0..ty.lanes())
            .map(|lane| {
                let operands: SmallVec<[Value; 2]> =
                    args.iter().map(|arg| if arg.ty.is_vector() { self.lane(arg, lane) } else { arg.only() }).collect();
                self.emit(data.op, &operands, data.imm.clone(), ty.lane())
            })
            .collect();
        let wide = self.join_lanes(ty, &lanes);
        self.set(inst, wide);
    }

    /// The pointer `bytes` further.
    fn displaced(&mut self, pointer: Value, bytes: u64) -> Value {
        if bytes == 0 { pointer } else { self.at().addr(pointer, None, 1, bytes as i64) }
    }

    pub(super) fn load(&mut self, inst: Inst) {
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let pointer = self.get_scalar(self.old.dfg.inst(inst).args[0]);
        let wide = self.load_value(ty, pointer, self.mem(inst));
        self.set(inst, wide);
    }

    /// Reads a value.
    pub(super) fn load_value(&mut self, ty: Type, pointer: Value, mem: MemInfo) -> Wide {
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
        Wide { ty, chunk, parts }
    }

    fn load_part(&mut self, ty: Type, chunk: u32, used: u32, pointer: Value, offset: u64, mem: MemInfo) -> Value {
        let elem_bytes = u64::from(ty.elem.bytes());
        let part_bytes = u64::from(chunk) * elem_bytes;
        // Where a whole part is aligned to its size, reading its unused lanes touches no other page.
        let harmless = !mem.volatile && u64::from(mem.align) >= part_bytes;
        if used == chunk || harmless {
            let mem = aligned_at(mem, offset);
            let address = self.displaced(pointer, offset);
            let part = self.part_type(ty.elem, chunk);
            return self.at().load(part, address, mem);
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

    /// A short vector (or scalar) as the first lanes of a longer one.
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
    }

    /// Writes a value.
    pub(super) fn store_value(&mut self, pointer: Value, value: &Wide, mem: MemInfo) {
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

    /// An address that may be read and written in place of one that must not be touched: 8 bytes of stack.
    fn dummy_address(&mut self) -> Value {
        let slot = match self.dummy {
            Some(slot) => slot,
            None => {
                let slot = self.stack(8, 8);
                self.dummy = Some(slot);
                slot
            }
        };
        self.at().slot_addr(slot)
    }

    /// Reads each lane whose mask is true from its address; the others touch the dummy place and take `other`.
    fn load_lanes(&mut self, addresses: &[Value], mask: &Wide, other: &Wide, mem: MemInfo) -> Wide {
        let ty = other.ty;
        let lane_type = self.part_type(ty.elem, 1);
        let dummy = self.dummy_address();
        let lanes: Vec<Value> = addresses
            .iter()
            .enumerate()
            .map(|(i, &address)| {
                let active = self.lane(mask, i as u32);
                let other = self.lane(other, i as u32);
                let address = self.guarded(active, address, dummy);
                let mut at = self.at();
                let value = at.load(lane_type, address, mem);
                at.select(active, value, other)
            })
            .collect();
        self.join_lanes(ty, &lanes)
    }

    /// The address where active, else the dummy place.
    fn guarded(&mut self, active: Value, address: Value, dummy: Value) -> Value {
        let ty = self.new.dfg.ty(address);
        let mut at = self.at();
        let dummy = if at.ty(dummy) == ty { dummy } else { at.cast(Opcode::SpaceCast, dummy, ty) };
        at.select(active, address, dummy)
    }

    fn store_lanes(&mut self, addresses: &[Value], value: &Wide, mask: &Wide, mem: MemInfo) {
        let dummy = self.dummy_address();
        for (i, &address) in addresses.iter().enumerate() {
            let active = self.lane(mask, i as u32);
            let lane = self.lane(value, i as u32);
            let address = self.guarded(active, address, dummy);
            self.at().store(address, lane, mem);
        }
    }

    fn consecutive(&mut self, pointer: Value, ty: Type) -> Vec<Value> {
        let bytes = u64::from(ty.elem.bytes());
        (0..u64::from(ty.lanes())).map(|lane| self.displaced(pointer, lane * bytes)).collect()
    }

    /// Facts about the access of any one lane.
    fn lane_mem(mem: MemInfo, ty: Type) -> MemInfo {
        MemInfo { align: mem.align.min(ty.elem.bytes()), ..mem }
    }

    pub(super) fn masked_load(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let [pointer, mask, other] = &args[..] else { unreachable!("broken invariant: masked load") };
        let (mem, ty) = (self.mem(inst), other.ty);
        let pointer = pointer.only();
        // Mostly all lanes are active: one whole load then.
        let natural = self.caps.part_lanes(ty);
        let (full, some, join) = (self.new.append_block(), self.new.append_block(), self.new.append_block());
        self.branch_if_all(mask, full, some);
        self.block = full;
        let whole = self.load_value(ty, pointer, mem);
        self.at().jump(join, &whole.parts);
        self.block = some;
        let addresses = self.consecutive(pointer, ty);
        let partial = self.load_lanes(&addresses, mask, other, Self::lane_mem(mem, ty));
        self.at().jump(join, &partial.parts);
        let part_type = self.part_type(ty.elem, natural);
        let parts = (0..ty.lanes().div_ceil(natural)).map(|_| self.new.dfg.append_param(join, part_type)).collect();
        self.block = join;
        self.set(inst, Wide { ty, chunk: natural, parts });
    }

    fn branch_if_all(&mut self, mask: &Wide, then: clift_kir::Block, otherwise: clift_kir::Block) {
        let all = self.test_mask(Opcode::All, mask);
        let (then, otherwise) = (clift_kir::BlockCall::new(then, &[]), clift_kir::BlockCall::new(otherwise, &[]));
        self.at().branch(all, then, otherwise);
    }

    pub(super) fn masked_store(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let [pointer, value, mask] = &args[..] else { unreachable!("broken invariant: masked store") };
        let (mem, pointer) = (self.mem(inst), pointer.only());
        let (full, some, join) = (self.new.append_block(), self.new.append_block(), self.new.append_block());
        self.branch_if_all(mask, full, some);
        self.block = full;
        self.store_value(pointer, value, mem);
        self.at().jump(join, &[]);
        self.block = some;
        let addresses = self.consecutive(pointer, value.ty);
        self.store_lanes(&addresses, value, mask, Self::lane_mem(mem, value.ty));
        self.at().jump(join, &[]);
        self.block = join;
    }

    pub(super) fn gather(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let [pointers, mask, other] = &args[..] else { unreachable!("broken invariant: gather") };
        let addresses = self.lanes(pointers);
        let mem = Self::lane_mem(self.mem(inst), other.ty);
        let wide = self.load_lanes(&addresses, mask, other, mem);
        self.set(inst, wide);
    }

    pub(super) fn scatter(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let [pointers, value, mask] = &args[..] else { unreachable!("broken invariant: scatter") };
        let addresses = self.lanes(pointers);
        let mem = Self::lane_mem(self.mem(inst), value.ty);
        self.store_lanes(&addresses, value, mask, mem);
    }

    /// A constant count that is small enough for single accesses.
    fn unrolled(&self, count: Value, mem: MemInfo) -> Option<u64> {
        let bytes = self.old.dfg.as_splat_bits(count)?;
        // Odd alignments would need many accesses.
        let accesses = bytes / u64::from(mem.align.clamp(1, 16)) + 4;
        (bytes <= UNROLL_BYTES && (accesses <= 24 || self.caps.register_bits >= 128)).then_some(bytes)
    }

    /// Splits `bytes` into accesses: type and offset. Unaligned accesses are allowed.
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
                more => Type::vector(clift_kir::Elem::I8, more as u32),
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
        // All is read before anything is written, a few values at a time.
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
                let wide = b.cast(Opcode::Zext, byte, ty);
                let ones = b.iconst(ty, 0x0101_0101_0101_0101);
                b.int2(Opcode::Imul, wide, ones)
            };
            b.store(address, value, aligned_at(mem, at));
        }
    }

    /// Whether a generic pointer leads into local or private memory, or (neither) global: by the arenas' ranges.
    pub(super) fn in_space(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let Imm::Space(space) = data.imm else { unreachable!("broken invariant: in_space without a space") };
        let wide = self.get(data.args[0]);
        let (local, private) = (
            (offset_of!(WgContext, local_mem), offset_of!(WgContext, local_mem_bytes)),
            (offset_of!(WgContext, scratch), offset_of!(WgContext, scratch_bytes)),
        );
        let pointers = self.lanes(&wide);
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
        let wide = self.join_lanes(wide.ty.as_mask(), &lanes);
        self.set(inst, wide);
    }

    fn in_range(&mut self, pointer: Value, (base, bytes): (usize, usize)) -> Value {
        let context = self.context();
        let mem = MemInfo::invariant(8);
        let mut at = self.at();
        let base = at.addr(context, None, 1, base as i64);
        let base = at.load(Type::I64, base, mem);
        let bytes = at.addr(context, None, 1, bytes as i64);
        let bytes = at.load(Type::I64, bytes, mem);
        let address = at.cast(Opcode::PtrToInt, pointer, Type::I64);
        let offset = at.int2(Opcode::Isub, address, base);
        at.icmp(IntCond::Ult, offset, bytes)
    }

    /// Stores values one after the other on the stack, each at a multiple of 8 bytes; the base address and the offsets.
    pub(super) fn store_on_stack(&mut self, values: &[Wide]) -> (Value, Vec<u64>) {
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

/// Facts about the access `offset` bytes further.
fn aligned_at(mem: MemInfo, offset: u64) -> MemInfo {
    let align = if offset == 0 { mem.align } else { mem.align.min(1 << offset.trailing_zeros().min(16)) };
    MemInfo { align, ..mem }
}
