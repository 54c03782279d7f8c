//! Elements of small private arrays at variable indices are chosen among all elements, so that the array may become values.
//!
//! ```text
//! float v[4] = ...;               float v0 = ..., v1 = ..., v2 = ..., v3 = ...;
//! x = v[i];             ->        x = i & 2 ? (i & 1 ? v3 : v2) : (i & 1 ? v1 : v0);
//! v[i] = y;                       v0 = i == 0 ? y : v0; v1 = i == 1 ? y : v1; ...
//! ```
//!
//! One access at a variable index keeps an array in memory, and then each access to it: rays that are indexed by the axis of a
//! split, medians of sorted pixels. In packs, each lane has an index of its own, which makes such an access a gather.
//!
//! **Cost model.** The other accesses have constant indices. An array has at most [`MAX_ELEMENTS`] elements, and
//! [`MAX_CHOSEN`] are chosen among in all. Loops index arrays by their counters, which they share in a pack: there, only the
//! elements of arrays of at most [`MAX_ELEMENTS_IN_LOOPS`] are chosen, by indices that are not counters.

use clift_kir::analysis::{Cfg, DomTree, LoopForest, UseCounts};
use clift_kir::dfg::ValueDef;
use clift_kir::{Builder, Function, Imm, Inst, IntCond, MemInfo, Opcode, Slot, Space, Type, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;

use super::util::Replacements;
use super::{Changed, dce, mem2reg};

/// The most elements of an array.
const MAX_ELEMENTS: u64 = 16;
/// The most elements of an array that is indexed in a loop.
const MAX_ELEMENTS_IN_LOOPS: u64 = 4;
/// The most elements among which all accesses to an array choose.
pub(super) const MAX_CHOSEN: u64 = 64;
/// How many definitions deep an index is searched for counters.
const MAX_DEPTH: u32 = 8;

/// Rewrites the accesses of all arrays for which that is worth it, and promotes these. Arrays that stay in memory for another
/// reason keep their accesses.
pub(super) fn run(func: &mut Function) -> Changed {
    if func.slots.is_empty() {
        return Changed(false);
    }
    let mut accesses = Arrays::find(func).chosen(func);
    while !accesses.is_empty() {
        let mut promoted = func.clone();
        rewrite(&mut promoted, &accesses);
        // Of the addresses at variable indices.
        dce::run(&mut promoted);
        mem2reg::run(&mut promoted);
        dce::run(&mut promoted);
        let left = addressed(&promoted);
        let before = accesses.len();
        accesses.retain(|_, access| !left.contains(access.slot));
        if accesses.len() == before {
            *func = promoted;
            return Changed(true);
        }
    }
    Changed(false)
}

/// The variables whose addresses are used.
fn addressed(func: &Function) -> EntitySet<Slot> {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let uses = UseCounts::new(func);
    let mut found = EntitySet::new();
    for &inst in insts {
        if let &Imm::Slot(slot) = &func.dfg.inst(inst).imm
            && func.dfg.single_result(inst).is_some_and(|address| uses.get(address) > 0)
        {
            found.insert(slot);
        }
    }
    found
}

/// Replaces accesses by choices among all elements.
fn rewrite(func: &mut Function, accesses: &FxHashMap<Inst, DynamicAccess>) {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        if !func.layout.insts(block).iter().any(|inst| accesses.contains_key(inst)) {
            continue;
        }
        for inst in func.layout.take_insts(block) {
            let Some(access) = accesses.get(&inst) else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let loc = func.locs[inst];
            let data = func.dfg.inst(inst);
            let (is_load, stored) = (data.op == Opcode::Load, data.args.get(1).copied());
            let &Imm::Mem(mem) = &data.imm else {
                unreachable!("broken invariant: only plain accesses are candidates")
            };
            let ty = if is_load { func.dfg.ty(func.dfg.result(inst)) } else { func.dfg.ty(data.args[1]) };
            let result = func.dfg.single_result(inst);
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            if let Some(result) = result {
                let value = access.load(&mut b, ty, mem);
                replacements.set(result, value);
            } else if let Some(value) = stored {
                access.store(&mut b, value, mem);
            }
        }
    }
    replacements.apply(func);
}

/// An address in an array.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: Slot,
    /// The constant part of the offset, in bytes.
    offset: i64,
    /// What multiplied by what is added, in bytes.
    index: Option<(Value, u64)>,
}

/// An access at a variable index.
#[derive(Clone, Copy, Debug)]
struct DynamicAccess {
    slot: Slot,
    index: Value,
    /// Bytes from an element to the next.
    scale: u64,
    /// Bytes before the first element.
    first: u64,
    /// The element at index 0.
    zero: i64,
    elements: u64,
}

impl DynamicAccess {
    fn element(&self, b: &mut Builder<'_>, number: u64) -> Value {
        let base = b.slot_addr(self.slot);
        b.addr(base, None, 1, (self.first + number * self.scale).cast_signed())
    }

    /// The number of the element.
    fn number(&self, b: &mut Builder<'_>) -> Value {
        let ty = b.ty(self.index);
        if self.zero == 0 {
            return self.index;
        }
        let zero = b.iconst(ty, self.zero);
        b.int2(Opcode::Iadd, self.index, zero)
    }

    /// Loads all elements, and chooses among neighbours by the lowest bit of the number, then among pairs by the next one.
    fn load(&self, b: &mut Builder<'_>, ty: Type, mem: MemInfo) -> Value {
        let number = self.number(b);
        let index_ty = b.ty(number);
        let mut values: Vec<Value> = Vec::new();
        for element in 0..self.elements {
            let at = self.element(b, element);
            values.push(b.load(ty, at, mem));
        }
        let mut bit = 1;
        while values.len() > 1 {
            let mask = b.iconst(index_ty, bit);
            let masked = b.int2(Opcode::And, number, mask);
            let none = b.iconst(index_ty, 0);
            let is_odd = b.icmp(IntCond::Ne, masked, none);
            values = values
                .chunks(2)
                .map(|pair| match *pair {
                    [even, odd] => b.select(is_odd, odd, even),
                    _ => pair[0],
                })
                .collect();
            bit <<= 1;
        }
        values[0]
    }

    fn store(&self, b: &mut Builder<'_>, value: Value, mem: MemInfo) {
        let number = self.number(b);
        let (index_ty, ty) = (b.ty(number), b.ty(value));
        for element in 0..self.elements {
            let at = self.element(b, element);
            let own = b.iconst(index_ty, element.cast_signed());
            let is_this = b.icmp(IntCond::Eq, number, own);
            let old = b.load(ty, at, mem);
            let new = b.select(is_this, value, old);
            b.store(at, new, mem);
        }
    }
}

/// The private arrays of a function whose accesses are all plain.
struct Arrays {
    rejected: SecondaryMap<Slot, bool>,
    /// Accesses at variable indices.
    dynamic: Vec<(Inst, DynamicAccess)>,
    /// Whether elements are accessed at constant indices.
    has_constant: SecondaryMap<Slot, bool>,
    places: SecondaryMap<Value, Option<Place>>,
}

impl Arrays {
    fn find(func: &Function) -> Arrays {
        let mut arrays = Arrays {
            rejected: SecondaryMap::new(),
            dynamic: Vec::new(),
            has_constant: SecondaryMap::new(),
            places: SecondaryMap::new(),
        };
        let cfg = Cfg::new(func);
        // Addresses come before their users.
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                arrays.visit(func, inst);
            }
        }
        arrays
    }

    fn visit(&mut self, func: &Function, inst: Inst) {
        let data = func.dfg.inst(inst);
        if let (Opcode::SlotAddr, &Imm::Slot(slot)) = (data.op, &data.imm) {
            self.places[func.dfg.result(inst)] = Some(Place { slot, offset: 0, index: None });
            return;
        }
        let of = |number: usize| data.args.get(number).and_then(|&arg| self.places[arg]);
        // Whether the first operands, addresses, are used in a way that values could replace.
        let kept = match (data.op, &data.imm, of(0)) {
            (Opcode::Addr, &Imm::Addr { scale, disp }, Some(place)) => {
                let moved = moved(func, place, &data.args[1..], scale, disp);
                self.places[func.dfg.result(inst)] = moved;
                usize::from(moved.is_some())
            }
            (Opcode::Load, &Imm::Mem(mem), Some(place)) => self.access(func, inst, place, mem, func.dfg.result(inst)),
            (Opcode::Store, &Imm::Mem(mem), Some(place)) => self.access(func, inst, place, mem, data.args[1]),
            // Of a variable that is copied to another one, not all elements need have values.
            (Opcode::Memcpy, ..) if data.args[..2].iter().all(|&arg| is_private(func, arg)) => 0,
            (Opcode::Memset | Opcode::Memcpy, ..) => {
                let is_whole = |&number: &usize| of(number).is_none_or(|place| place.index.is_none());
                (0..2).take_while(is_whole).count()
            }
            _ => 0,
        };
        let mut number = 0;
        func.dfg.for_each_use(inst, |value| {
            if let Some(place) = self.places[value]
                && number >= kept
            {
                self.rejected[place.slot] = true;
            }
            number += 1;
        });
    }

    /// Notes an access. Returns how many operands of it may be addresses: none if the array has to stay in memory.
    fn access(&mut self, func: &Function, inst: Inst, place: Place, mem: MemInfo, value: Value) -> usize {
        if mem.volatile {
            return 0;
        }
        let Some((index, scale)) = place.index else {
            self.has_constant[place.slot] = true;
            return 1;
        };
        match dynamic(func, place, index, scale, func.dfg.ty(value)) {
            Some(access) => {
                self.dynamic.push((inst, access));
                1
            }
            None => 0,
        }
    }

    /// The accesses of the arrays for which it is worth it.
    fn chosen(&self, func: &Function) -> FxHashMap<Inst, DynamicAccess> {
        if self.dynamic.is_empty() {
            return FxHashMap::default();
        }
        let cfg = Cfg::new(func);
        let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
        let mut elements: SecondaryMap<Slot, u64> = SecondaryMap::new();
        let mut rejected = self.rejected.clone();
        for (inst, access) in &self.dynamic {
            elements[access.slot] += access.elements;
            let in_loop = func.layout.block_of(*inst).is_some_and(|block| loops.innermost(block).is_some());
            let may_be_counter = || is_counted(func, &loops, access.index, MAX_DEPTH);
            if in_loop && (access.elements > MAX_ELEMENTS_IN_LOOPS || may_be_counter()) {
                rejected[access.slot] = true;
            }
        }
        let is_chosen = |slot: Slot| !rejected[slot] && self.has_constant[slot] && elements[slot] <= MAX_CHOSEN;
        self.dynamic.iter().copied().filter(|(_, access)| is_chosen(access.slot)).collect()
    }
}

fn is_private(func: &Function, address: Value) -> bool {
    func.dfg.ty(address).elem.space() == Some(Space::Private)
}

/// The access at a variable index, if the array is small and the index that of an element.
fn dynamic(func: &Function, place: Place, index: Value, scale: u64, ty: Type) -> Option<DynamicAccess> {
    let size = func.slots[place.slot].size;
    let step = i64::try_from(scale).ok().filter(|&step| step > 0)?;
    let (first, zero) = (place.offset.rem_euclid(step).cast_unsigned(), place.offset.div_euclid(step));
    let elements = size / scale;
    let fits = first + u64::from(ty.bytes()) <= scale && size.is_multiple_of(scale);
    let suits = fits && !ty.is_vector() && !ty.is_ptr() && (1..=MAX_ELEMENTS).contains(&elements);
    let index = narrowed(func, index);
    suits.then_some(DynamicAccess { slot: place.slot, index, scale, first, zero, elements })
}

/// An address at a distance from another one; `None` with several variable indices.
fn moved(func: &Function, place: Place, indices: &[Value], scale: u64, disp: i64) -> Option<Place> {
    let mut place = Place { offset: place.offset.checked_add(disp)?, ..place };
    match indices {
        [] => {}
        &[index] => match func.dfg.as_splat_bits(index) {
            Some(bits) => {
                place.offset = place.offset.checked_add(bits.cast_signed().checked_mul(scale.cast_signed())?)?
            }
            None if place.index.is_none() && !func.dfg.ty(index).is_vector() => place.index = Some((index, scale)),
            None => return None,
        },
        _ => return None,
    }
    Some(place)
}

/// An index before it was extended, if no element needs more bits.
fn narrowed(func: &Function, index: Value) -> Value {
    match func.dfg.def_inst(index).map(|inst| func.dfg.inst(inst)) {
        Some(data) if matches!(data.op, Opcode::Sext | Opcode::Zext) && func.dfg.ty(data.args[0]).elem.bits() >= 8 => {
            data.args[0]
        }
        Some(_) | None => index,
    }
}

/// Whether an index may be computed from a loop's counter.
fn is_counted(func: &Function, loops: &LoopForest, index: Value, depth: u32) -> bool {
    match func.dfg.def(index) {
        ValueDef::Param(block, _) => loops.headed_by(block).is_some(),
        ValueDef::Result(inst, _) => {
            let data = func.dfg.inst(inst);
            depth == 0 || data.op.is_pure() && data.args.iter().any(|&arg| is_counted(func, loops, arg, depth - 1))
        }
    }
}
