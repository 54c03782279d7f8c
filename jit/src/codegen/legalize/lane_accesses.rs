//! Masked and scattered accesses lane by lane, for backends that lack instructions for them: at addresses that are safe also for
//! inactive lanes.

use clift_kir::{Block, BlockCall, Elem, Imm, Inst, IntCond, MemInfo, Opcode, Space, Type, Value};

use super::{Legalizer, SplitValue, carrier};

/// Memory protection is never finer than this. Pages may be larger.
const PAGE_BYTES: u64 = 4096;

impl Legalizer<'_> {
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
        let lanes = self.lanes_in_words(value);
        for (&address, lane) in addresses.iter().zip(lanes) {
            self.at().store(address, lane, mem);
        }
    }

    /// The lanes of a value as scalars. Bytes and half-words are moved in words of 64 bits, and shifted.
    fn lanes_in_words(&mut self, value: &SplitValue) -> Vec<Value> {
        let (ty, bits) = (value.ty, value.ty.elem.bits());
        let in_word = u64::BITS / bits;
        let part = self.new.dfg.ty(value.parts[0]);
        if !carrier(ty.elem).is_int() || ty.is_bool() || in_word < 4 || !part.lanes().is_multiple_of(in_word) {
            return self.lanes(value);
        }
        let words = Type::I64.with_lanes(part.lanes() / in_word);
        let mut lanes = Vec::with_capacity(ty.lanes() as usize);
        for &part in &value.parts {
            let all = self.at().cast(Opcode::Bitcast, part, words);
            for number in 0..words.lanes() {
                let word = if words.is_vector() { self.at().extract(all, number) } else { all };
                for place in 0..in_word {
                    let mut at = self.at();
                    let count = at.iconst(Type::I64, i64::from(place * bits));
                    let lane = if place == 0 { word } else { at.int2(Opcode::Lshr, word, count) };
                    lanes.push(at.int_resize(lane, carrier(ty.elem), false));
                }
            }
        }
        lanes.truncate(ty.lanes() as usize);
        lanes
    }

    fn consecutive(&mut self, pointer: Value, ty: Type) -> Vec<Value> {
        let bytes = u64::from(ty.elem.bytes());
        (0..u64::from(ty.lanes())).map(|lane| self.displaced(pointer, lane * bytes)).collect()
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
        // Processors do not forward stores of elements to loads of the words that contain them.
        let recently_stored = pointers.ty.elem.space() == Some(Space::Private);
        if self.gathers_words(ty, mem) && (self.caps.scattered.gathers || !recently_stored) {
            let lanes = self.gather_within_words(ty, data.args[0], &mask);
            let lanes = self.masked_or_other(&mask, lanes, inst);
            return self.set(inst, lanes);
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
        let is_narrow = value.ty.elem.bytes() < 4;
        if (!is_narrow || self.gathered.contains(&data.args[0]))
            && let Some(addresses) = self.private_lane_addresses(data.args[0], data.args[2])
        {
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
}
