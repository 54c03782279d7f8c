//! The code that follows accesses in shadow memory; the module above describes it.

use clift_include::check::{IN_SHADOWS, ORDERS_GLOBAL, ORDERS_LOCAL, PACKED, Plane, REPEATED, RaceFact, SAME_VALUE};
use clift_kir::{
    Block, BlockCall, Builder, Elem, Function, Imm, Inst, IntCond, MemInfo, Opcode, Slot, SlotData, Space, Type, Value,
};

use super::super::SHADOW_CLASS;
use super::super::groups::{Access, check, packed_place, site_operands, site_operands_if};
use super::{Class, Followed, Races};

/// The most cells that are accessed as one vector.
const MOST_LANES: u64 = 16;

/// What a work-item knows of its stamps, for one kind of memory: the first of its window, its own, and the size of the window,
/// all of type `i32`. A work-item without a stamp has an empty window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stamps {
    /// They do not change.
    Constant([Value; 3]),
    /// They are in private variables.
    InSlots([Slot; 3]),
}

/// What stamps are computed from; all of type `i32`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampParts {
    first: Value,
    groups: Value,
    group: Value,
    /// Work-items of a group and one more.
    window: Value,
    item: Value,
    intervals: Value,
    /// The number of barriers that the work-item has passed.
    passed: Slot,
}

impl StampParts {
    /// Emits the stamps of an interval.
    fn of_interval(&self, b: &mut Builder<'_>, interval: Value) -> [Value; 3] {
        let before = b.int2(Opcode::Imul, interval, self.groups);
        let number = b.int2(Opcode::Iadd, before, self.group);
        let start = b.int2(Opcode::Imul, number, self.window);
        let base = b.int2(Opcode::Iadd, self.first, start);
        let mine = b.int2(Opcode::Iadd, base, self.item);
        let zero = b.iconst(Type::I32, 0);
        let is_there = b.icmp(IntCond::Ult, interval, self.intervals);
        [base, b.select(is_there, mine, zero), b.select(is_there, self.window, zero)]
    }
}

const MEM: MemInfo = MemInfo { align: 4, volatile: false, invariant: false, alias: SHADOW_CLASS };

fn slot_mem() -> MemInfo {
    MemInfo::aligned(4)
}

impl Races {
    /// Emits what the kernel needs at its start. `changes` says which memory has barriers, and whether work-items may lose
    /// their stamps.
    pub(in super::super) fn begin(&mut self, func: &mut Function, changes: Changes) {
        let Some(entry) = func.layout.entry() else { unreachable!("broken invariant: a kernel has a body") };
        let body = func.layout.take_insts(entry);
        let count = Type::I32;
        let passed = self.needs(changes).contains(&true).then(|| slot(func));
        let slots = self.needs(changes).map(|needed| needed.then(|| [(); 3].map(|()| slot(func))));
        let mut b = Builder::at_end(func, entry);
        let in_shadows = b.arg(self.facts + RaceFact::InShadows.offset(), Type::I64);
        let zero = b.iconst(Type::I64, 0);
        let in_shadows = b.icmp(IntCond::Ne, in_shadows, zero);
        self.in_shadows = Some(in_shadows);
        if !self.objects.is_empty() {
            for object in &mut self.objects {
                let shared = object.form.as_ref().and_then(|form| form.are_distinct(&mut b)).map(|distinct| {
                    let one = b.iconst(Type::B1, 1);
                    b.int2(Opcode::Xor, distinct, one)
                });
                object.is_followed = match (object.space, shared) {
                    (Space::Global, Some(shared)) => Some(b.int2(Opcode::And, in_shadows, shared)),
                    (Space::Global, None) => Some(in_shadows),
                    (_, shared) => shared,
                };
            }
            let parts = stamp_parts(&mut b, self.facts, passed);
            let first = b.iconst(count, 0);
            let values = parts.of_interval(&mut b, first);
            if let Some(passed) = passed {
                put(&mut b, passed, first);
            }
            self.stamps = Some(slots.map(|slots| match slots {
                Some(slots) => {
                    slots.into_iter().zip(values).for_each(|(slot, value)| put(&mut b, slot, value));
                    Stamps::InSlots(slots)
                }
                None => Stamps::Constant(values),
            }));
            self.parts = Some(parts);
        }
        for inst in body {
            func.layout.append_inst(entry, inst);
        }
    }

    /// Whether the stamps for local and global memory change.
    fn needs(&self, changes: Changes) -> [bool; 2] {
        let any = |space: Space| self.objects.iter().any(|object| object.space == space);
        let ordered = |orders: u64| changes.orders & orders != 0 || changes.may_lose_stamps;
        [any(Space::Local) && ordered(ORDERS_LOCAL), any(Space::Global) && ordered(ORDERS_GLOBAL)]
    }

    /// Whether accesses are followed in shadow memory in this launch.
    pub(in super::super) fn in_shadows(&self) -> Value {
        let Some(value) = self.in_shadows else { unreachable!("broken invariant: the kernel has begun") };
        value
    }

    /// A work-item passes a barrier that orders some memory.
    pub(in super::super) fn pass(&self, func: &mut Function, here: Block, orders: u64) {
        let (Some(parts), Some(stamps)) = (self.parts, self.stamps) else { return };
        if stamps.iter().all(|stamps| matches!(stamps, Stamps::Constant(_))) {
            return;
        }
        let mut b = Builder::at_end(func, here);
        let before = get(&mut b, parts.passed);
        let one = b.iconst(Type::I32, 1);
        let passed = b.int2(Opcode::Iadd, before, one);
        put(&mut b, parts.passed, passed);
        for (stamps, ordered) in stamps.iter().zip([ORDERS_LOCAL, ORDERS_GLOBAL]) {
            if let Stamps::InSlots(slots) = stamps
                && orders & ordered != 0
            {
                let values = parts.of_interval(&mut b, passed);
                slots.iter().zip(values).for_each(|(&slot, value)| put(&mut b, slot, value));
            }
        }
    }

    /// A work-item orders its accesses by other means than barriers: until the next one it has no stamp.
    pub(in super::super) fn lose_stamp(&self, func: &mut Function, here: Block) {
        let mut b = Builder::at_end(func, here);
        for stamps in self.stamps.iter().flatten() {
            if let Stamps::InSlots([_, mine, window]) = stamps {
                let zero = b.iconst(Type::I32, 0);
                put(&mut b, *mine, zero);
                put(&mut b, *window, zero);
            }
        }
    }

    /// What is followed of an access of an instruction, if anything.
    fn followed(&self, inst: Inst, number: usize) -> Option<Followed> {
        self.followed.get(&inst)?.get(number).copied().flatten()
    }

    /// How an access of an instruction may be followed together with others.
    pub(in super::super) fn batch(&self, inst: Inst, number: usize) -> Option<BatchKey> {
        let followed = self.followed(inst, number)?;
        Some(BatchKey { class: followed.class, is_followed: self.objects[followed.object].is_followed })
    }

    /// Emits what follows accesses that have the same [batch](Self::batch). Returns the block that comes next.
    pub(in super::super) fn follow(&self, func: &mut Function, here: Block, batch: &[(Inst, usize, Access)]) -> Block {
        let followed = batch.iter().filter_map(|(inst, number, access)| {
            let followed = self.followed(*inst, *number)?;
            Some((*inst, access, followed))
        });
        let followed: Vec<(Inst, &Access, Followed)> = followed.collect();
        let (Some(&(_, _, first)), Some(stamps)) = (followed.first(), self.stamps) else { return here };
        let Some(StampParts { window: items, .. }) = self.parts else { return here };
        let first = &self.objects[first.object];
        let cold = func.layout.is_cold(here);
        let mut block = |is_cold: bool| {
            let block = func.append_block();
            if is_cold {
                func.layout.set_cold(block);
            }
            block
        };
        let known = block(cold);
        let [slow, again, tell] = [true; 3].map(&mut block);
        let conditional = first.is_followed.map(|is_followed| (is_followed, [cold; 2].map(&mut block)));
        let mut b = Builder::at_end(func, here);
        if let Some((is_followed, [hot, after])) = conditional {
            b.branch(is_followed, BlockCall::new(hot, &[]), BlockCall::new(after, &[]));
            b.switch_to(hot);
        }
        let mut any = None;
        let mut judged = Vec::with_capacity(followed.len());
        let mut repairs = Vec::new();
        for &(inst, access, followed) in &followed {
            b.set_loc(b.func.locs[inst]);
            let object = &self.objects[followed.object];
            let [base, mine, window] = match &stamps[usize::from(object.space == Space::Global)] {
                Stamps::Constant(values) => *values,
                Stamps::InSlots(slots) => slots.map(|slot| get(&mut b, slot)),
            };
            let mut code =
                Code { b, races: self, followed, base, mine, window, items, bad: None, raced: None, prior: None };
            let cells = self.cells_of(followed);
            for (start, lanes) in parts(cells) {
                code.cells(access, start, lanes, &mut repairs);
            }
            let Code { b: builder, bad, raced, prior, .. } = code;
            b = builder;
            for part in [bad, raced].into_iter().flatten() {
                any = Some(or(&mut b, any, part));
            }
            judged.push(Judged { inst, access, site: followed.site, mine, bad, raced, prior });
        }
        let mut repaired = None;
        for repair in &repairs {
            repaired = Some(or(&mut b, repaired, repair.needed));
            any = Some(or(&mut b, any, repair.needed));
        }
        let Some(any) = any else { unreachable!("broken invariant: accesses that compare nothing") };
        let any = b.value(Opcode::PackAny, &[any], Imm::None, Type::B1);
        b.branch(any, BlockCall::new(slow, &[]), BlockCall::new(known, &[]));

        b.switch_to(slow);
        match repaired {
            Some(repaired) => {
                let store = b.func.append_block();
                b.func.layout.set_cold(store);
                b.branch(repaired, BlockCall::new(store, &[]), BlockCall::new(again, &[]));
                b.switch_to(store);
                for repair in &repairs {
                    b.store(repair.cell, repair.value, MEM);
                }
                b.jump(again, &[]);
            }
            None => {
                b.jump(again, &[]);
            }
        }
        b.switch_to(again);
        self.tell(&mut b, &judged, [tell, known]);

        b.switch_to(known);
        for &(inst, access, followed) in &followed {
            let object = &self.objects[followed.object];
            if let (true, Some(plane)) = (followed.leaves_stamp, followed.class.plane())
                && let Some(sites) = object.planes[plane as usize].sites
            {
                b.set_loc(b.func.locs[inst]);
                for (start, lanes) in parts(self.cells_of(followed)) {
                    let at = self.cell(&mut b, followed.object, sites, access, start);
                    let site = b.iconst(cell_type(lanes), followed.site as i64);
                    b.store(at, site, MEM);
                }
            }
        }
        let Some((_, [_, after])) = conditional else { return known };
        b.jump(after, &[]);
        after
    }

    /// Emits what tells the launch's checker of accesses in `tell`, and goes on in `known`.
    fn tell(&self, b: &mut Builder<'_>, judged: &[Judged<'_>], [tell, known]: [Block; 2]) {
        let mut any = None;
        let mut told = Vec::with_capacity(judged.len());
        for access in judged {
            b.set_loc(b.func.locs[access.inst]);
            let mut flags = b.iconst(Type::I64, (PACKED | IN_SHADOWS).cast_signed());
            let mut condition = access.bad;
            if let Some(raced) = access.raced {
                let no = b.iconst(Type::B1, 0);
                let prior = access.prior.unwrap_or(no);
                let differs = self.differs(b, access.inst, prior);
                let told_write = b.int2(Opcode::And, raced, differs);
                condition = Some(or(b, condition, told_write));
                let none = b.iconst(Type::I64, 0);
                for (condition, flag) in [(differs, SAME_VALUE), (prior, REPEATED)] {
                    let flag = b.iconst(Type::I64, flag.cast_signed());
                    let flag = b.select(condition, none, flag);
                    flags = b.int2(Opcode::Or, flags, flag);
                }
            }
            if let Some(condition) = condition {
                any = Some(or(b, any, condition));
                told.push((access, condition, flags));
            }
        }
        let Some(any) = any else {
            b.jump(known, &[]);
            return;
        };
        b.branch(any, BlockCall::new(tell, &[]), BlockCall::new(known, &[]));
        b.switch_to(tell);
        let mut calls = Vec::with_capacity(told.len());
        for &(access, condition, flags) in &told {
            let loc = b.func.locs[access.inst];
            b.set_loc(loc);
            let stamp = b.int_resize(access.mine, Elem::I64, false);
            let place = packed_place(b, access.access);
            let packed = b.int2(Opcode::Or, place, flags);
            // Of a single access, all lanes that get here are told.
            calls.push((
                loc,
                if told.len() == 1 {
                    site_operands(b, access.site, [stamp, packed])
                } else {
                    site_operands_if(b, condition, access.site, [stamp, packed])
                },
            ));
        }
        // Next to one another: all in one loop over the lanes.
        for (loc, operands) in calls {
            b.set_loc(loc);
            check(b, operands);
        }
        b.jump(known, &[]);
    }

    /// How many cells an access has.
    fn cells_of(&self, followed: Followed) -> u64 {
        let object = &self.objects[followed.object];
        if object.one_cell { 1 } else { followed.bytes * u64::from(object.ratio) / 4 }
    }

    /// Emits the address of a cell of an access.
    fn cell(&self, b: &mut Builder<'_>, object: usize, plane: u32, access: &Access, number: u64) -> Value {
        let about = &self.objects[object];
        let start = b.arg(plane, Type::ptr(about.space));
        let at = access.place.moved(b, about.object, start, about.ratio.into());
        if number == 0 { at } else { b.addr(at, None, 1, 4 * number as i64) }
    }

    /// Emits whether a store changes what the memory has: what was there before it, if another work-item has written that, else
    /// what is there after all lanes have stored.
    fn differs(&self, b: &mut Builder<'_>, inst: Inst, prior: Value) -> Value {
        let yes = b.iconst(Type::B1, 1);
        let data = b.func.dfg.inst(inst).clone();
        let Imm::Mem(mem) = data.imm else { return yes };
        if data.op != Opcode::Store || mem.volatile {
            return yes;
        }
        let (pointer, value) = (data.args[0], data.args[1]);
        let ty = b.ty(value);
        if ty.is_ptr() || ty.is_bool() {
            return yes;
        }
        let bits = |b: &mut Builder<'_>, value: Value| {
            if ty.is_float() { b.cast(Opcode::Bitcast, value, ty.as_int()) } else { value }
        };
        let wanted = bits(b, value);
        let differs = |b: &mut Builder<'_>, from: Value| {
            let there = b.load(ty, from, mem);
            let there = bits(b, there);
            let differs = b.icmp(IntCond::Ne, there, wanted);
            if ty.is_vector() { b.any(differs) } else { differs }
        };
        let before = differs(b, pointer);
        b.store(pointer, value, mem);
        let zero = b.arg(self.facts + RaceFact::Zero.offset(), Type::I64);
        let same = b.addr(pointer, Some(zero), 1, 0);
        let after = differs(b, same);
        b.select(prior, before, after)
    }
}

/// What accesses have in common that are followed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct BatchKey {
    class: Class,
    is_followed: Option<Value>,
}

/// An access that has been compared with others, as [`Code`].
struct Judged<'a> {
    inst: Inst,
    access: &'a Access,
    site: usize,
    mine: Value,
    bad: Option<Value>,
    raced: Option<Value>,
    prior: Option<Value>,
}

/// Neighbouring cells that are accessed as one vector: the first one, and their number.
fn parts(cells: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..cells).step_by(MOST_LANES as usize).map(move |first| (first, (cells - first).min(MOST_LANES)))
}

/// What changes the stamps of a kernel's work-items.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Changes {
    /// The memory that its barriers order.
    pub(in super::super) orders: u64,
    /// Whether work-items order accesses by other means.
    pub(in super::super) may_lose_stamps: bool,
}

/// A cell whose readers are several.
struct Repair {
    cell: Value,
    needed: Value,
    value: Value,
}

/// The code of one access.
struct Code<'b, 'r> {
    b: Builder<'b>,
    races: &'r Races,
    followed: Followed,
    base: Value,
    mine: Value,
    window: Value,
    /// Work-items of a group and one more.
    items: Value,
    /// Whether there is a race with accesses of other kinds, of a write: with other writes, and whether one of those came before.
    bad: Option<Value>,
    raced: Option<Value>,
    prior: Option<Value>,
}

impl Code<'_, '_> {
    fn splat(&mut self, value: Value, lanes: u64) -> Value {
        if lanes == 1 { value } else { self.b.splat(value, lanes as u32) }
    }

    /// Emits whether a stamp is in the window.
    fn in_window(&mut self, stamp: Value, lanes: u64) -> Value {
        let (base, window) = (self.splat(self.base, lanes), self.splat(self.window, lanes));
        let distance = self.b.int2(Opcode::Isub, stamp, base);
        self.b.icmp(IntCond::Ult, distance, window)
    }

    /// Emits whether a stamp is in the window, and is another one.
    fn is_other(&mut self, stamp: Value, than: Value, lanes: u64) -> Value {
        let inside = self.in_window(stamp, lanes);
        let other = self.b.icmp(IntCond::Ne, stamp, than);
        self.b.int2(Opcode::And, inside, other)
    }

    fn any(&mut self, mask: Value, lanes: u64) -> Value {
        if lanes == 1 { mask } else { self.b.any(mask) }
    }

    fn address(&mut self, plane: Plane, access: &Access, first: u64) -> Option<Value> {
        let slot = self.races.objects[self.followed.object].planes[plane as usize].cells?;
        Some(self.races.cell(&mut self.b, self.followed.object, slot, access, first))
    }

    /// Emits what a neighbouring part of an access's cells is compared with, and the stamps it leaves.
    fn cells(&mut self, access: &Access, first: u64, lanes: u64, repairs: &mut Vec<Repair>) {
        let ty = cell_type(lanes);
        let mine = self.splat(self.mine, lanes);
        let own = self.followed.class.plane();
        for plane in Plane::ALL {
            if !self.followed.compared[plane as usize] || own == Some(plane) {
                continue;
            }
            let Some(at) = self.address(plane, access, first) else { continue };
            let stamp = self.b.load(ty, at, MEM);
            let other = self.is_other(stamp, mine, lanes);
            let other = self.any(other, lanes);
            self.bad = Some(or(&mut self.b, self.bad, other));
        }
        let Some(plane) = own.filter(|_| self.followed.leaves_stamp) else { return };
        let Some(at) = self.address(plane, access, first) else { return };
        let before = self.b.load(ty, at, MEM);
        let other = self.is_other(before, mine, lanes);
        let is_write = self.followed.class == Class::Store;
        let stamp = if is_write {
            self.b.select(other, before, mine)
        } else {
            // The stamp behind those of the work-items: several.
            let one = self.b.iconst(Type::I32, 1);
            let last = self.b.int2(Opcode::Isub, self.items, one);
            let several = self.b.int2(Opcode::Iadd, self.base, last);
            let several = self.splat(several, lanes);
            self.b.select(other, several, mine)
        };
        self.b.store(at, stamp, MEM);
        let zero = self.b.arg(self.races.facts + RaceFact::Zero.offset(), Type::I64);
        let again = self.b.addr(at, Some(zero), 1, 0);
        let now = self.b.load(ty, again, MEM);
        if is_write {
            let raced = self.is_other(now, mine, lanes);
            let raced = self.any(raced, lanes);
            self.raced = Some(or(&mut self.b, self.raced, raced));
            let prior = self.any(other, lanes);
            self.prior = Some(or(&mut self.b, self.prior, prior));
        } else {
            let lost = self.is_other(now, stamp, lanes);
            let one = self.b.iconst(Type::I32, 1);
            let last = self.b.int2(Opcode::Isub, self.items, one);
            let several = self.b.int2(Opcode::Iadd, self.base, last);
            let several = self.splat(several, lanes);
            let value = if lanes == 1 { several } else { self.b.select(lost, several, now) };
            let needed = self.any(lost, lanes);
            repairs.push(Repair { cell: at, needed, value });
        }
    }
}

fn cell_type(lanes: u64) -> Type {
    Type::I32.with_lanes(lanes as u32)
}

fn or(b: &mut Builder<'_>, sum: Option<Value>, part: Value) -> Value {
    match sum {
        Some(sum) => b.int2(Opcode::Or, sum, part),
        None => part,
    }
}

fn slot(func: &mut Function) -> Slot {
    func.slots.push(SlotData { size: 4, align: 4 })
}

fn put(b: &mut Builder<'_>, slot: Slot, value: Value) {
    let at = b.slot_addr(slot);
    b.store(at, value, slot_mem());
}

fn get(b: &mut Builder<'_>, slot: Slot) -> Value {
    let at = b.slot_addr(slot);
    b.load(Type::I32, at, slot_mem())
}

/// Emits what stamps are computed from.
fn stamp_parts(b: &mut Builder<'_>, facts: u32, passed: Option<Slot>) -> StampParts {
    let fact = |b: &mut Builder<'_>, fact: RaceFact| b.arg(facts + fact.offset(), Type::I32);
    let (first, intervals) = (fact(b, RaceFact::FirstStamp), fact(b, RaceFact::Intervals));
    let mut queries = |op: Opcode| {
        [0, 1, 2].map(|dim| {
            let value = b.query(op, dim);
            b.int_resize(value, Elem::I32, false)
        })
    };
    let (counts, ids, sizes) =
        (queries(Opcode::NumGroups), queries(Opcode::GroupId), queries(Opcode::EnqueuedLocalSize));
    let product = |b: &mut Builder<'_>, [x, y, z]: [Value; 3]| {
        let xy = b.int2(Opcode::Imul, x, y);
        b.int2(Opcode::Imul, xy, z)
    };
    let groups = product(b, counts);
    let items = product(b, sizes);
    let plane = b.int2(Opcode::Imul, counts[1], ids[2]);
    let row = b.int2(Opcode::Iadd, ids[1], plane);
    let row = b.int2(Opcode::Imul, counts[0], row);
    let group = b.int2(Opcode::Iadd, ids[0], row);
    let one = b.iconst(Type::I32, 1);
    let window = b.int2(Opcode::Iadd, items, one);
    let item = b.query_linear(Opcode::LocalLinearId);
    let item = b.int_resize(item, Elem::I32, false);
    let passed = passed.unwrap_or_else(|| slot(b.func));
    StampParts { first, groups, group, window, item, intervals, passed }
}
