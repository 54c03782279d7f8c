//! Scattered accesses to private variables, lane by lane, so that processors can forward stored elements to later loads.
//!
//! A work-item that counts or sorts in an array of its own soon loads what it has stored. Processors forward a store to a later
//! load of the same bytes. A gather, or a load of the word around an element, waits instead until the store has reached the
//! cache. So the lanes of a function that scatters to private variables are loaded and stored one by one. Their addresses are
//! computed as vectors, and pass through the stack: scalar registers could not hold them.
//!
//! An update of an element (`count[digit]++`) is one lane after the other as a whole: with a vector in between, all lanes would
//! wait for the one whose element was written last.
//!
//! A store of bytes or half-words whose addresses no gather shares, such as to a message that is put together, has its
//! addresses in registers: half as many instructions.
//!
//! Backends with short vectors, whose scattered accesses are lane by lane anyway, keep the addresses in registers.

use clift_kir::analysis::UseCounts;
use clift_kir::{Effects, Elem, Function, Imm, Inst, MemInfo, Opcode, Slot, Space, Type, Value};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Legalizer, SplitValue, carrier};
use crate::target::caps::VectorCaps;
use crate::target::machine::Machine;

/// The most accesses whose addresses are on the stack at a time.
const MAX_STORED: usize = 8;

/// How many lanes are stored at a time. Their addresses are loaded first: processors predict badly that loads do not depend on
/// the stores between them. More would not fit the scalar registers.
const STORED_TOGETHER: usize = 8;

/// The addresses of the lanes of a scattered access, which later accesses of the block share.
pub(super) struct StoredAddresses {
    /// The vector of addresses and the mask of the old function; none if nothing refers to them any more.
    of: Option<(Value, Value)>,
    slot: Slot,
}

/// The addresses of the lanes of one access, on the stack.
pub(super) struct LaneAddresses {
    /// Where the first one is.
    stored: Value,
    /// Their type.
    ty: Type,
    count: u32,
}

/// The operations of updates.
const UPDATES: [Opcode; 7] =
    [Opcode::Iadd, Opcode::Isub, Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Fadd, Opcode::Fsub];

/// Finds the scattered stores of elements that are computed only from what a gather has just loaded from there: by
/// gather and by scatter, the operation in between.
pub(super) fn updates(func: &Function) -> FxHashMap<Inst, Inst> {
    let uses = UseCounts::new(func);
    let mut found = FxHashMap::default();
    for &block in func.layout.blocks() {
        // The gathers since memory was last written.
        let mut gathers: FxHashSet<Inst> = FxHashSet::default();
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if data.op == Opcode::Scatter
                && is_private(func, data.args[0])
                && let Some(update) = func.dfg.def_inst(data.args[1])
                && let Some(gather) = loaded_operand(func, update)
                    .and_then(|(place, _)| func.dfg.def_inst(func.dfg.inst(update).args[place]))
                && gathers.contains(&gather)
                && uses.get(func.dfg.result(update)) == 1
                && uses.get(func.dfg.result(gather)) == 1
                && func.dfg.inst(gather).args[..2] == [data.args[0], data.args[2]]
            {
                found.extend([(inst, update), (gather, update)]);
            }
            match data.op.info().effects {
                Effects::Pure => (),
                Effects::Read if data.op == Opcode::Gather => drop(gathers.insert(inst)),
                Effects::Read => (),
                Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => gathers.clear(),
            }
        }
    }
    found
}

/// The addresses of gathers from private variables.
pub(super) fn gathered(func: &Function) -> FxHashSet<Value> {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let gathers = insts.map(|&inst| func.dfg.inst(inst)).filter(|data| data.op == Opcode::Gather);
    gathers.map(|data| data.args[0]).filter(|&pointers| is_private(func, pointers)).collect()
}

/// The operand of an update that a gather loads, and the other one, by their places.
fn loaded_operand(func: &Function, update: Inst) -> Option<(usize, usize)> {
    let data = func.dfg.inst(update);
    let is_gathered = |value: Value| {
        let Some(inst) = func.dfg.def_inst(value) else { return false };
        let gather = func.dfg.inst(inst);
        gather.op == Opcode::Gather && matches!(gather.imm, Imm::Mem(MemInfo { volatile: false, .. }))
    };
    if !UPDATES.contains(&data.op) {
        return None;
    }
    [(0, 1), (1, 0)]
        .into_iter()
        .find(|&(loaded, other)| is_gathered(data.args[loaded]) && data.args[other] != data.args[loaded])
}

/// Whether a function has scattered stores to private variables, on a backend with long vectors.
pub(super) fn is_needed(func: &Function, caps: &VectorCaps) -> bool {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let mut scatters = insts.map(|&inst| func.dfg.inst(inst)).filter(|data| data.op == Opcode::Scatter);
    caps.register_bits > Machine::COMMON.register_bits && scatters.any(|data| is_private(func, data.args[0]))
}

fn is_private(func: &Function, pointer: Value) -> bool {
    func.dfg.ty(pointer).elem.space() == Some(Space::Private)
}

impl Legalizer<'_> {
    /// Computes a vector of addresses in private variables as vectors of integers, where that is possible.
    pub(super) fn note_private_addresses(&mut self, inst: Inst) {
        let result = self.old.dfg.result(inst);
        if !self.forwards || !is_private(self.old, result) {
            return;
        }
        let data = self.old.dfg.inst(inst);
        let Imm::Addr { disp, .. } = data.imm else { return };
        let vector = match (self.private_addresses.get(&data.args[0]).cloned(), data.args.get(1)) {
            (None, _) => self.pointer_vector(result),
            (Some(base), None) => Some(self.op2_bits(Opcode::Iadd, &base, disp as u64)),
            (Some(base), Some(_)) => self.offsets(inst).map(|offsets| self.op2(Opcode::Iadd, &base, &offsets)),
        };
        if let Some(vector) = vector {
            self.private_addresses.insert(result, vector);
        }
    }

    /// What an address computation adds to its base, as vectors.
    fn offsets(&mut self, inst: Inst) -> Option<SplitValue> {
        let data = self.old.dfg.inst(inst);
        let (&Imm::Addr { scale, disp }, &[_, index]) = (&data.imm, &*data.args) else { return None };
        let index = self.get(index);
        if !index.ty.is_vector() || index.chunk < 2 || !scale.is_power_of_two() {
            return None;
        }
        let scaled = if scale == 1 { index } else { self.op2_bits(Opcode::Shl, &index, scale.trailing_zeros().into()) };
        Some(if disp == 0 { scaled } else { self.op2_bits(Opcode::Iadd, &scaled, disp as u64) })
    }

    /// The addresses of the lanes of a scattered access to a private variable; those of inactive lanes are harmless.
    pub(super) fn private_lane_addresses(&mut self, pointers: Value, mask: Value) -> Option<LaneAddresses> {
        let vector = self.private_addresses.get(&pointers)?.clone();
        let ty = self.old.dfg.ty(pointers);
        let known =
            self.private_lanes.iter().find(|stored| stored.of == Some((pointers, mask))).map(|stored| stored.slot);
        let slot = known.unwrap_or_else(|| {
            let active = self.get(mask);
            let vector = if self.constant_of_splat(&active) == Some(1) {
                vector
            } else {
                let safe = self.dummy_address();
                let safe = self.at().cast(Opcode::PtrToInt, safe, Type::I64);
                let safe = self.splat_value(safe, vector.ty);
                self.select(&active, &vector, &safe)
            };
            let slot = self.slot_for_addresses(u64::from(vector.ty.bytes()));
            let place = self.at().slot_addr(slot);
            self.store_value(place, &vector, MemInfo::aligned(Elem::I64.bytes()));
            self.private_lanes.push_back(StoredAddresses { of: Some((pointers, mask)), slot });
            slot
        });
        Some(LaneAddresses { stored: self.at().slot_addr(slot), ty: ty.lane(), count: ty.lanes() })
    }

    /// The address of a lane. It is loaded where it is used, as scalar registers could not hold those of all lanes.
    fn lane_address(&mut self, addresses: &LaneAddresses, lane: u32) -> Value {
        let place = self.displaced(addresses.stored, u64::from(lane * Elem::I64.bytes()));
        self.at().load(addresses.ty, place, MemInfo::aligned(Elem::I64.bytes()))
    }

    /// Updates lanes one after the other, if a scatter is the end of an update.
    pub(super) fn update_private_lanes(&mut self, scatter: Inst, addresses: &LaneAddresses, mem: MemInfo) -> bool {
        let Some(&update) = self.updates.get(&scatter) else { return false };
        let Some((loaded, other)) = loaded_operand(self.old, update) else { return false };
        let data = self.old.dfg.inst(update);
        let ty = self.old.dfg.ty(self.old.dfg.result(update)).lane();
        let other = self.get(data.args[other]);
        let others = self.lanes(&other);
        for (lane, &other) in (0..addresses.count).zip(&others) {
            let address = self.lane_address(addresses, lane);
            let old = self.load_value(ty, address, mem);
            let other = SplitValue::scalar(ty, other);
            let operands = if loaded == 0 { [old, other] } else { [other, old] };
            let new = self.lanewise(data.op, &data.imm, &operands, ty);
            self.store_value(address, &new, mem);
        }
        true
    }

    /// Stack memory for the addresses of an access: that of former ones if possible.
    fn slot_for_addresses(&mut self, bytes: u64) -> Slot {
        let fits = |stored: &StoredAddresses| self.new.slots[stored.slot].size >= bytes;
        let free = self.private_lanes.iter().position(|stored| stored.of.is_none() && fits(stored));
        let oldest = || (self.private_lanes.len() >= MAX_STORED).then(|| self.private_lanes.iter().position(fits))?;
        match free.or_else(oldest).and_then(|at| self.private_lanes.remove(at)) {
            Some(former) => former.slot,
            None => self.stack(bytes, 64),
        }
    }

    /// A block may not use what others have stored.
    pub(super) fn forget_lane_addresses(&mut self) {
        for stored in &mut self.private_lanes {
            stored.of = None;
        }
    }

    /// Loads lanes. Words are loaded as floats, which vectors are made of without passing through scalar registers.
    pub(super) fn load_private_lanes(&mut self, ty: Type, addresses: &LaneAddresses, mem: MemInfo) -> SplitValue {
        let loaded = match carrier(ty.elem) {
            Elem::I32 => ty.with_elem(Elem::F32),
            Elem::I64 => ty.with_elem(Elem::F64),
            Elem::B1 | Elem::I8 | Elem::I16 | Elem::F16 | Elem::F32 | Elem::F64 | Elem::Ptr(_) => ty,
        };
        let (lane_type, chunk) = (self.part_type(loaded.elem, 1), self.caps.part_lanes(loaded));
        let numbers: Vec<u32> = (0..addresses.count).collect();
        let parts = numbers.chunks(chunk as usize).flat_map(|numbers| {
            let load = |&lane: &u32| {
                let address = self.lane_address(addresses, lane);
                self.at().load(lane_type, address, mem)
            };
            let lanes: Vec<Value> = numbers.iter().map(load).collect();
            self.join_lanes(loaded, &lanes).parts
        });
        let lanes = SplitValue { ty: loaded, chunk, parts: parts.collect() };
        if loaded == ty { lanes } else { self.bitcast(&lanes, ty) }
    }

    /// Stores lanes. Pairs of integers are extracted together.
    pub(super) fn store_private_lanes(&mut self, addresses: &LaneAddresses, value: &SplitValue, mem: MemInfo) {
        let value = if value.ty.elem.is_float() { &self.bitcast(value, value.ty.as_int()) } else { value };
        let numbers: Vec<u32> = (0..addresses.count).collect();
        for numbers in numbers.chunks(STORED_TOGETHER) {
            let ready: Vec<Value> = numbers.iter().map(|&number| self.lane_address(addresses, number)).collect();
            for (&number, address) in numbers.iter().zip(ready) {
                let lane = self.lane(value, number);
                self.at().store(address, lane, mem);
            }
        }
    }
}
