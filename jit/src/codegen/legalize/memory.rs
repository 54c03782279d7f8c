//! Memory: addresses, accesses in parts that touch exactly the elements of the value, masked and scattered accesses lane by lane,
//! block copies and fills, and the test of generic pointers.

use std::mem::offset_of;

use clift_include::abi::WgContext;
use clift_kir::dfg::ConstData;
use clift_kir::{Block, BlockCall, Elem, Imm, Inst, IntCond, MemInfo, Opcode, Space, Type, Value};
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

/// Memory protection is never finer than this. Pages may be larger.
const PAGE_BYTES: u64 = 4096;
/// The most addresses of lanes that stay in scalar registers from one block to another.
const MAX_CARRIED_ADDRESSES: u32 = 4;

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
    fn lanes_here(&mut self, pointers: Value) -> Vec<Value> {
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
    fn note_access(&mut self, inst: Inst, ty: Type) {
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

    /// The address of 8 bytes of stack, for stores of inactive lanes.
    pub(super) fn dummy_address(&mut self) -> Value {
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

    /// `address` if the lane is active, else `safe`.
    fn select_address(&mut self, active: Value, address: Value, safe: Value) -> Value {
        let ty = self.new.dfg.ty(address);
        let mut at = self.at();
        let safe = if at.ty(safe) == ty { safe } else { at.cast(Opcode::SpaceCast, safe, ty) };
        at.select(active, address, safe)
    }

    pub(super) fn load_lanes(&mut self, ty: Type, addresses: &[Value], mem: MemInfo) -> SplitValue {
        let lane_type = self.part_type(ty.elem, 1);
        let lanes: Vec<Value> = addresses.iter().map(|&address| self.at().load(lane_type, address, mem)).collect();
        self.join_lanes(ty, &lanes)
    }

    pub(super) fn store_lanes(&mut self, addresses: &[Value], value: &SplitValue, mem: MemInfo) {
        for (i, &address) in addresses.iter().enumerate() {
            let lane = self.lane(value, i as u32);
            self.at().store(address, lane, mem);
        }
    }

    fn consecutive(&mut self, pointer: Value, ty: Type) -> Vec<Value> {
        let bytes = u64::from(ty.elem.bytes());
        (0..u64::from(ty.lanes())).map(|lane| self.displaced(pointer, lane * bytes)).collect()
    }

    /// The memory flags for the access of one lane.
    pub(super) fn lane_mem(mem: MemInfo, ty: Type) -> MemInfo {
        MemInfo { align: mem.align.min(ty.elem.bytes()), ..mem }
    }

    /// `loaded` where the mask is true, else the third operand of the masked access, unless that is undefined.
    pub(super) fn masked_or_other(&mut self, mask: &SplitValue, loaded: SplitValue, inst: Inst) -> SplitValue {
        let other = self.old.dfg.inst(inst).args[2];
        let anything = self.old.dfg.def_inst(other).is_some_and(|def| self.old.dfg.inst(def).op == Opcode::Undef);
        if anything {
            return loaded;
        }
        let other = self.get(other);
        self.select(mask, &loaded, &other)
    }

    /// Defines the result of an instruction that ends in several blocks: a parameter of the block where they meet.
    fn joined(&mut self, inst: Inst, ty: Type, join: Block) {
        let chunk = self.caps.part_lanes(ty);
        let part = self.part_type(ty.elem, chunk);
        let parts = (0..ty.lanes().div_ceil(chunk)).map(|_| self.new.dfg.append_param(join, part)).collect();
        self.block = join;
        self.set(inst, SplitValue { ty, chunk, parts });
    }

    /// Continues in a new block if a condition is true. Returns the block for the other case.
    fn split_if(&mut self, cond: Value) -> Block {
        let (then, otherwise) = (self.new.append_block(), self.new.append_block());
        self.at().branch(cond, BlockCall::new(then, &[]), BlockCall::new(otherwise, &[]));
        self.block = then;
        otherwise
    }

    pub(super) fn masked_load(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let [pointer, mask, other] = &args[..] else { unreachable!("broken invariant: masked load") };
        let (mem, ty) = (self.mem(inst), other.ty);
        let pointer = pointer.only();
        if self.constant_of_splat(mask) == Some(1) {
            let split = self.load_value(ty, pointer, mem);
            self.note_access(inst, ty);
            return self.set(inst, split);
        }
        if self.accesses_natively(Opcode::MaskedLoad, ty) {
            let mask = mask.clone();
            return self.masked_load_natively(inst, ty, pointer, &mask, mem);
        }
        if self.spans(inst, ty) && !mem.volatile {
            let split = self.load_value(ty, pointer, mem);
            let split = self.masked_or_other(mask, split, inst);
            self.note_access(inst, ty);
            return self.set(inst, split);
        }
        let join = self.new.append_block();
        // Mostly all lanes are active; then one whole load suffices.
        let all = self.test_mask(Opcode::All, mask);
        let some = self.split_if(all);
        let whole = self.load_value(ty, pointer, mem);
        self.at().jump(join, &whole.parts);
        self.block = some;
        if !mem.volatile {
            // If any lane is active, all lanes on its page can be read.
            let near = self.on_active_page(pointer, mask, u64::from(ty.bytes()), mem);
            let far = self.split_if(near);
            let whole = self.load_value(ty, pointer, mem);
            let whole = self.masked_or_other(mask, whole, inst);
            self.at().jump(join, &whole.parts);
            self.block = far;
        }
        let addresses = self.consecutive(pointer, ty);
        let safe = self.context();
        let addresses = self.select_lane_addresses(&addresses, mask, safe);
        let lanes = self.load_lanes(ty, &addresses, Self::lane_mem(mem, ty));
        let lanes = self.masked_or_other(mask, lanes, inst);
        self.at().jump(join, &lanes.parts);
        self.joined(inst, ty, join);
    }

    /// Whether a masked load is known to read the first and the last lane. All lanes between them are on the same pages and can
    /// be read too.
    fn spans(&self, inst: Inst, ty: Type) -> bool {
        let Some(mask) = self.old.dfg.def_inst(self.old.dfg.inst(inst).args[1]) else { return false };
        let Imm::Const(id) = self.old.dfg.inst(mask).imm else { return false };
        let lanes = self.old.dfg.constant(id);
        u64::from(ty.bytes()) <= PAGE_BYTES && lanes.lane(0) == 1 && lanes.lane(ty.lanes() - 1) == 1
    }

    /// Whether some lane is active and all `bytes` bytes are on one page.
    fn on_active_page(&mut self, pointer: Value, mask: &SplitValue, bytes: u64, mem: MemInfo) -> Value {
        let any = self.test_mask(Opcode::Any, mask);
        if u64::from(mem.align) >= bytes {
            return any;
        }
        let mut at = self.at();
        let address = at.cast(Opcode::PtrToInt, pointer, Type::I64);
        let low = at.iconst(Type::I64, PAGE_BYTES as i64 - 1);
        let offset = at.int2(Opcode::And, address, low);
        let last = at.iconst(Type::I64, PAGE_BYTES.saturating_sub(bytes) as i64);
        let fits = at.icmp(IntCond::Ule, offset, last);
        at.int2(Opcode::And, any, fits)
    }

    /// The addresses of active lanes, and a safe address for the others.
    fn select_lane_addresses(&mut self, addresses: &[Value], mask: &SplitValue, safe: Value) -> Vec<Value> {
        let guard = |this: &mut Self, (i, &address): (usize, &Value)| {
            let active = this.lane(mask, i as u32);
            this.select_address(active, address, safe)
        };
        addresses.iter().enumerate().map(|lane| guard(self, lane)).collect()
    }

    pub(super) fn masked_store(&mut self, inst: Inst) {
        let args = self.operands(inst);
        let [pointer, value, mask] = &args[..] else { unreachable!("broken invariant: masked store") };
        let (mem, pointer) = (self.mem(inst), pointer.only());
        if self.constant_of_splat(mask) == Some(1) {
            self.note_access(inst, value.ty);
            return self.store_value(pointer, value, mem);
        }
        if self.accesses_natively(Opcode::MaskedStore, value.ty) {
            return self.masked_store_natively(pointer, value, mask, mem);
        }
        let arena = self.own_arena(pointer).filter(|_| !mem.volatile);
        let reached =
            self.reached.get(&self.old.dfg.inst(inst).args[0]).is_some_and(|&bytes| bytes >= value.ty.bytes());
        if arena.is_some() && reached {
            // Other accesses of the kernel show that the whole value is in the arena.
            let old = self.load_value(value.ty, pointer, mem);
            let new = self.select(mask, value, &old);
            return self.store_value(pointer, &new, mem);
        }
        let join = self.new.append_block();
        if let Some(arena) = arena {
            // No other thread accesses the arena meanwhile, so inactive lanes can be written back unchanged.
            let inside = self.lies_within(pointer, u64::from(value.ty.bytes()), arena);
            let outside = self.split_if(inside);
            let old = self.load_value(value.ty, pointer, mem);
            let new = self.select(mask, value, &old);
            self.store_value(pointer, &new, mem);
            self.at().jump(join, &[]);
            self.block = outside;
        } else {
            let all = self.test_mask(Opcode::All, mask);
            let some = self.split_if(all);
            self.store_value(pointer, value, mem);
            self.at().jump(join, &[]);
            self.block = some;
        }
        // Inactive lanes must not be written at all: other threads may write there.
        let addresses = self.consecutive(pointer, value.ty);
        let safe = self.dummy_address();
        let addresses = self.select_lane_addresses(&addresses, mask, safe);
        self.store_lanes(&addresses, value, Self::lane_mem(mem, value.ty));
        self.at().jump(join, &[]);
        self.block = join;
    }

    /// The addresses of a pack of pointers, and a safe address where the mask is false. They are selected as vectors if the
    /// addresses are, or can be computed as, vectors.
    fn select_addresses(&mut self, pointers: Value, mask: &SplitValue, safe: Value) -> Vec<Value> {
        let split = self.get(pointers);
        let ty = split.ty;
        let vector = if split.chunk > 1 {
            Some(self.lanewise(Opcode::PtrToInt, &Imm::None, std::slice::from_ref(&split), ty.with_elem(Elem::I64)))
        } else {
            self.pointer_vector(pointers)
        };
        let Some(vector) = vector else {
            let addresses = self.lanes(&split);
            return self.select_lane_addresses(&addresses, mask, safe);
        };
        let safe = self.at().cast(Opcode::PtrToInt, safe, Type::I64);
        let safe = self.splat_value(safe, vector.ty);
        let chosen = self.select(mask, &vector, &safe);
        let lanes = self.lanes(&chosen);
        lanes.iter().map(|&lane| self.at().cast(Opcode::IntToPtr, lane, ty.lane())).collect()
    }

    /// Addresses with a common base, as vectors of integers.
    pub(super) fn pointer_vector(&mut self, pointers: Value) -> Option<SplitValue> {
        if let Some(known) = self.private_addresses.get(&pointers) {
            return Some(known.clone());
        }
        let data = self.old.dfg.inst(self.old.dfg.def_inst(pointers)?);
        let (&Imm::Addr { scale, disp }, &[base, index]) = (&data.imm, &*data.args) else { return None };
        let (base, index) = (self.get(base), self.get(index));
        if base.ty.is_vector() || index.chunk < 2 || !scale.is_power_of_two() {
            return None;
        }
        let base = self.displaced(base.only(), disp as u64);
        let base = self.at().cast(Opcode::PtrToInt, base, Type::I64);
        let base = self.splat_value(base, index.ty);
        let offset = if scale == 1 { index } else { self.op2_bits(Opcode::Shl, &index, scale.trailing_zeros().into()) };
        Some(self.op2(Opcode::Iadd, &base, &offset))
    }

    pub(super) fn gather(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let (pointers, mask) = (self.get(data.args[0]), self.get(data.args[1]));
        let ty = self.old.dfg.ty(self.old.dfg.result(inst));
        let mem = Self::lane_mem(self.mem(inst), ty);
        if self.updates.contains_key(&inst) && self.private_addresses.contains_key(&data.args[0]) {
            // The scatter loads the lanes.
            let nothing = self.splat_bits(ty, 0);
            return self.set(inst, nothing);
        }
        if let Some(addresses) = self.private_lane_addresses(data.args[0], data.args[1]) {
            let lanes = self.load_private_lanes(ty, &addresses, mem);
            let lanes = self.masked_or_other(&mask, lanes, inst);
            return self.set(inst, lanes);
        }
        let native = self.accesses_natively(Opcode::Gather, ty) && self.caps.part_lanes(pointers.ty) > 1;
        if native && self.caps.scattered.gathers {
            let lanes = self.gather_natively(inst, ty, data.args[0], &mask, mem);
            return self.set(inst, lanes);
        }
        if self.caps.scattered.gathers && self.gathers_words(ty, mem) {
            let lanes = self.gather_within_words(ty, data.args[0], &mask);
            let lanes = self.masked_or_other(&mask, lanes, inst);
            return self.set(inst, lanes);
        }
        let narrow = carrier(ty.elem).is_int() && ty.elem.bytes() < 4 && mem.align >= ty.elem.bytes() && !mem.volatile;
        // Processors do not forward stores of elements to loads of the words that contain them.
        let recently_stored = pointers.ty.elem.space() == Some(Space::Private);
        if narrow
            && !recently_stored
            && self.accesses_natively(Opcode::Gather, ty.with_elem(Elem::I32))
            && self.caps.part_lanes(pointers.ty) > 1
        {
            return self.gather_from_words(inst, ty, data.args[0], &mask, mem);
        }
        if self.constant_of_splat(&mask) == Some(1) {
            let addresses = self.lanes_here(data.args[0]);
            let split = self.load_lanes(ty, &addresses, mem);
            return self.set(inst, split);
        }
        let join = self.new.append_block();
        let all = self.test_mask(Opcode::All, &mask);
        let some = self.split_if(all);
        let addresses = self.lanes_here(data.args[0]);
        let whole = self.load_lanes(ty, &addresses, mem);
        self.at().jump(join, &whole.parts);
        self.block = some;
        let lanes = if native {
            let lanes = self.gather_natively(inst, ty, data.args[0], &mask, mem);
            self.regroup(&lanes, whole.chunk)
        } else {
            let safe = self.context();
            let addresses = self.select_addresses(data.args[0], &mask, safe);
            let lanes = self.load_lanes(ty, &addresses, mem);
            self.masked_or_other(&mask, lanes, inst)
        };
        self.at().jump(join, &lanes.parts);
        self.joined(inst, ty, join);
    }

    pub(super) fn scatter(&mut self, inst: Inst) {
        let data = self.old.dfg.inst(inst);
        let (pointers, value, mask) = (self.get(data.args[0]), self.get(data.args[1]), self.get(data.args[2]));
        let mem = Self::lane_mem(self.mem(inst), value.ty);
        if let Some(addresses) = self.private_lane_addresses(data.args[0], data.args[2]) {
            if !self.update_private_lanes(inst, &addresses, mem) {
                self.store_private_lanes(&addresses, &value, mem);
            }
            return;
        }
        let native = self.accesses_natively(Opcode::Scatter, value.ty) && self.caps.part_lanes(pointers.ty) > 1;
        if native && self.caps.scattered.scatters {
            return self.scatter_natively(data.args[0], &value, &mask, mem);
        }
        if self.constant_of_splat(&mask) == Some(1) {
            let addresses = self.lanes_here(data.args[0]);
            return self.store_lanes(&addresses, &value, mem);
        }
        let join = self.new.append_block();
        let all = self.test_mask(Opcode::All, &mask);
        let some = self.split_if(all);
        let addresses = self.lanes_here(data.args[0]);
        self.store_lanes(&addresses, &value, mem);
        self.at().jump(join, &[]);
        self.block = some;
        if native {
            self.scatter_natively(data.args[0], &value, &mask, mem);
        } else {
            let safe = self.dummy_address();
            let addresses = self.select_addresses(data.args[0], &mask, safe);
            self.store_lanes(&addresses, &value, mem);
        }
        self.at().jump(join, &[]);
        self.block = join;
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
    fn lies_within(&mut self, pointer: Value, size: u64, (base, bytes): ArenaFields) -> Value {
        let context = self.context();
        let mem = MemInfo::invariant(8);
        let mut at = self.at();
        let base = at.addr(context, None, 1, base as i64);
        let base = at.load(Type::I64, base, mem);
        let bytes = at.addr(context, None, 1, bytes as i64);
        let bytes = at.load(Type::I64, bytes, mem);
        let address = at.cast(Opcode::PtrToInt, pointer, Type::I64);
        let offset = at.int2(Opcode::Isub, address, base);
        // The first offset where the value does not fit any more; none fits if the arena is too small.
        let rest = at.iconst(Type::I64, size as i64 - 1);
        let least = at.int2(Opcode::Umax, bytes, rest);
        let end = at.int2(Opcode::Isub, least, rest);
        at.icmp(IntCond::Ult, offset, end)
    }

    fn in_range(&mut self, pointer: Value, (base, bytes): ArenaFields) -> Value {
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
