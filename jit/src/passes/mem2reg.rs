//! Promotes private variables to values.
//!
//! A slot is promoted if its address is used only by plain loads, stores, copies and fills at constant offsets. It is split into
//! the pieces that are accessed separately (scalar replacement of aggregates), and each piece becomes an SSA variable. Other
//! slots, for instance those with a variable index, stay in memory.

mod pieces;

use clift_kir::analysis::{Cfg, Frontiers};
use clift_kir::dfg::ConstData;
use clift_kir::ssa::{SsaBuilder, Var, remove_trivial_params};
use clift_kir::{Builder, Function, Imm, Inst, MemInfo, Opcode, Slot, Type, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::Changed;
use super::lifetimes;
use super::util::Replacements;
use pieces::SlotPieces;

/// The largest slot, in bytes, that is split. Larger ones are arrays that are rarely indexed only by constants.
const MAX_SLOT_BYTES: u64 = 4096;

/// Promotes all slots for which that is possible.
pub(super) fn run(func: &mut Function) -> Changed {
    run_on(func, Which::All)
}

/// Promotes the slots that hold nothing but pointers.
pub(super) fn run_on_pointers(func: &mut Function) -> Changed {
    run_on(func, Which::Pointers)
}

fn run_on(func: &mut Function, which: Which) -> Changed {
    let mut slots = Candidates::find(func, which);
    if slots.accesses.is_empty() {
        return Changed(false);
    }
    let pieces = slots.partition();
    if pieces.is_empty() {
        return Changed(false);
    }
    promote(func, &slots, &pieces);
    remove_trivial_params(func);
    Changed(true)
}

/// Which slots are promoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    /// Those that are accessed only as pointers.
    Pointers,
}

/// A constant offset in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotOffset {
    slot: Slot,
    offset: u64,
}

/// What an instruction does to candidate slots.
#[derive(Clone, Copy, Debug)]
enum SlotAccess {
    Load {
        place: SlotOffset,
        ty: Type,
    },
    Store {
        place: SlotOffset,
        ty: Type,
    },
    Fill {
        place: SlotOffset,
        bytes: u64,
    },
    /// A copy whose source, target or both are in candidates.
    Copy {
        to: Option<SlotOffset>,
        from: Option<SlotOffset>,
        bytes: u64,
    },
}

/// Slots that may be promoted, and their accesses in layout order.
struct Candidates {
    which: Which,
    /// Addresses with a constant offset in a slot.
    places: SecondaryMap<Value, Option<SlotOffset>>,
    rejected: SecondaryMap<Slot, bool>,
    accesses: Vec<(Inst, SlotAccess)>,
}

impl Candidates {
    fn find(func: &Function, which: Which) -> Candidates {
        let (places, rejected) = (SecondaryMap::new(), SecondaryMap::new());
        let mut this = Candidates { which, places, rejected, accesses: Vec::new() };
        for (slot, data) in func.slots.iter() {
            this.rejected[slot] = data.size > MAX_SLOT_BYTES;
        }
        // Definitions dominate uses, so a walk in reverse postorder visits every address before its users.
        let cfg = Cfg::new(func);
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                this.visit(func, inst);
            }
        }
        this.drop_rejected();
        this
    }

    /// Drops accesses that do not touch any candidate.
    fn drop_rejected(&mut self) {
        let rejected = &self.rejected;
        self.accesses.retain(|(_, access)| match access {
            SlotAccess::Load { place, .. } | SlotAccess::Store { place, .. } | SlotAccess::Fill { place, .. } => {
                !rejected[place.slot]
            }
            SlotAccess::Copy { to, from, .. } => {
                to.is_some_and(|p| !rejected[p.slot]) || from.is_some_and(|p| !rejected[p.slot])
            }
        });
    }

    fn visit(&mut self, func: &Function, inst: Inst) {
        let data = func.dfg.inst(inst);
        let place = |v: Value| self.places[v];
        let constant = |v: Value| func.dfg.as_splat_bits(v);
        match (data.op, &data.imm) {
            (Opcode::SlotAddr, Imm::Slot(slot)) => {
                self.places[func.dfg.result(inst)] = Some(SlotOffset { slot: *slot, offset: 0 });
                return;
            }
            (Opcode::SpaceCast, _) if !func.dfg.ty(data.args[0]).is_vector() => {
                self.places[func.dfg.result(inst)] = place(data.args[0]);
                return;
            }
            (Opcode::Addr, Imm::Addr { scale, disp }) => {
                let index = match data.args.get(1) {
                    None => Some(0),
                    Some(&v) => constant(v).filter(|_| !func.dfg.ty(v).is_vector()),
                };
                if let (Some(place), Some(index)) = (place(data.args[0]), index) {
                    let offset = place.offset.wrapping_add(index.wrapping_mul(*scale)).wrapping_add_signed(*disp);
                    self.places[func.dfg.result(inst)] = Some(SlotOffset { offset, ..place });
                    return;
                }
            }
            (Opcode::Load, Imm::Mem(MemInfo { volatile: false, .. })) => {
                if let Some(place) = place(data.args[0]) {
                    let ty = func.dfg.ty(func.dfg.result(inst));
                    self.accept(func, inst, SlotAccess::Load { place, ty }, place, u64::from(ty.bytes()));
                }
                return;
            }
            (Opcode::Store, Imm::Mem(MemInfo { volatile: false, .. })) => {
                if let Some(place) = place(data.args[0]) {
                    let ty = func.dfg.ty(data.args[1]);
                    self.accept(func, inst, SlotAccess::Store { place, ty }, place, u64::from(ty.bytes()));
                }
                self.escape(data.args[1]);
                return;
            }
            (Opcode::Memset, Imm::Mem(MemInfo { volatile: false, .. })) => {
                if let (Some(place), Some(bytes)) = (place(data.args[0]), constant(data.args[2])) {
                    self.accept(func, inst, SlotAccess::Fill { place, bytes }, place, bytes);
                    return;
                }
            }
            (Opcode::Memcpy, Imm::Mem(MemInfo { volatile: false, .. })) => {
                let (to, from) = (place(data.args[0]), place(data.args[1]));
                let all = self.which == Which::All;
                if let Some(bytes) = constant(data.args[2]).filter(|_| all && (to.is_some() || from.is_some())) {
                    let fits = |p: SlotOffset| in_bounds(func, p, bytes);
                    if to.is_none_or(fits) && from.is_none_or(fits) {
                        self.accesses.push((inst, SlotAccess::Copy { to, from, bytes }));
                        return;
                    }
                }
            }
            _ => (),
        }
        func.dfg.for_each_use(inst, |v| self.escape(v));
    }

    fn accept(&mut self, func: &Function, inst: Inst, access: SlotAccess, place: SlotOffset, bytes: u64) {
        let wanted = self.which == Which::All
            || lifetimes::is_start(&func.dfg, inst)
            || match access {
                SlotAccess::Load { ty, .. } | SlotAccess::Store { ty, .. } => ty.is_ptr(),
                SlotAccess::Fill { .. } | SlotAccess::Copy { .. } => false,
            };
        if wanted && in_bounds(func, place, bytes) {
            self.accesses.push((inst, access));
        } else {
            self.rejected[place.slot] = true;
        }
    }

    fn escape(&mut self, value: Value) {
        if let Some(place) = self.places[value] {
            self.rejected[place.slot] = true;
        }
    }

    /// Splits each candidate into pieces, and rejects those that cannot be split.
    fn partition(&mut self) -> FxHashMap<Slot, SlotPieces> {
        loop {
            let mut pieces: FxHashMap<Slot, SlotPieces> = FxHashMap::default();
            let ok = |slot: Slot, rejected: &SecondaryMap<Slot, bool>| !rejected[slot];
            for (_, access) in &self.accesses {
                match *access {
                    SlotAccess::Load { place, ty } | SlotAccess::Store { place, ty }
                        if ok(place.slot, &self.rejected) =>
                    {
                        pieces.entry(place.slot).or_default().add(place.offset, ty);
                    }
                    SlotAccess::Fill { place, bytes } if ok(place.slot, &self.rejected) => {
                        pieces.entry(place.slot).or_default().cut(place.offset, bytes);
                    }
                    SlotAccess::Copy { to, from, bytes } => {
                        for place in [to, from].into_iter().flatten().filter(|p| ok(p.slot, &self.rejected)) {
                            pieces.entry(place.slot).or_default().cut(place.offset, bytes);
                        }
                    }
                    SlotAccess::Load { .. } | SlotAccess::Store { .. } | SlotAccess::Fill { .. } => (),
                }
            }
            self.link_copies(&mut pieces);
            let bad: Vec<Slot> = pieces.iter_mut().filter_map(|(&slot, p)| (!p.finish()).then_some(slot)).collect();
            if bad.is_empty() {
                return pieces;
            }
            for slot in bad {
                self.rejected[slot] = true;
            }
            self.drop_rejected();
        }
    }

    /// Splits both slots of a copy at the same offsets, until there are no new splits.
    fn link_copies(&self, pieces: &mut FxHashMap<Slot, SlotPieces>) {
        let mut again = true;
        while again {
            again = false;
            for (_, access) in &self.accesses {
                if let SlotAccess::Copy { to: Some(to), from: Some(from), bytes } = *access
                    && pieces.contains_key(&to.slot)
                    && pieces.contains_key(&from.slot)
                {
                    for (a, b) in [(to, from), (from, to)] {
                        let cuts = pieces[&a.slot].cuts_within(a.offset, bytes);
                        if let Some(other) = pieces.get_mut(&b.slot) {
                            for cut in cuts {
                                again |= other.cut_at(b.offset + (cut - a.offset));
                            }
                        }
                    }
                }
            }
        }
    }
}

fn in_bounds(func: &Function, place: SlotOffset, bytes: u64) -> bool {
    place.offset.checked_add(bytes).is_some_and(|end| end <= func.slots[place.slot].size)
}

/// Rewrites all accesses to the promoted slots.
fn promote(func: &mut Function, slots: &Candidates, pieces: &FxHashMap<Slot, SlotPieces>) {
    let cfg = Cfg::new(func);
    let graph = Frontiers::new(&cfg);
    let mut ssa = SsaBuilder::new();
    let mut vars: FxHashMap<(Slot, usize), Var> = FxHashMap::default();
    let mut keys: Vec<&Slot> = pieces.keys().collect();
    keys.sort_unstable();
    for &slot in keys {
        for (i, piece) in pieces[&slot].list().iter().enumerate() {
            vars.insert((slot, i), ssa.declare(piece.ty));
        }
    }
    let accesses: FxHashMap<Inst, SlotAccess> = slots.accesses.iter().copied().collect();
    let mut replacements = Replacements::default();
    // The value at the start of a block can be determined only when all definitions are known. Until then a placeholder is used.
    let mut placeholders: Vec<(clift_kir::Block, Var, Value)> = Vec::new();
    for &block in cfg.rpo() {
        let old = func.layout.take_insts(block);
        let mut current: FxHashMap<Var, Value> = FxHashMap::default();
        for inst in old {
            let Some(&access) = accesses.get(&inst) else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let loc = func.locs[inst];
            let args = func.dfg.inst(inst).args.clone();
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            let mut get = |b: &mut Builder<'_>, var: Var, ty: Type| {
                *current.entry(var).or_insert_with(|| {
                    let value = b.undef(ty);
                    placeholders.push((block, var, value));
                    value
                })
            };
            match access {
                SlotAccess::Load { place, ty } => {
                    let list = &pieces[&place.slot];
                    let parts: Vec<(u64, Value)> = list
                        .within(place.offset, u64::from(ty.bytes()))
                        .map(|(i, piece)| (piece.start - place.offset, get(&mut b, vars[&(place.slot, i)], piece.ty)))
                        .collect();
                    let value = pieces::assemble(&mut b, ty, &parts);
                    let result = b.func.dfg.result(inst);
                    replacements.set(result, value);
                }
                SlotAccess::Store { place, ty } => {
                    for (i, piece) in pieces[&place.slot].within(place.offset, u64::from(ty.bytes())) {
                        let part = pieces::part(&mut b, args[1], piece.start - place.offset, piece.ty);
                        current.insert(vars[&(place.slot, i)], part);
                    }
                }
                SlotAccess::Fill { place, bytes } => {
                    for (i, piece) in pieces[&place.slot].within(place.offset, bytes) {
                        let value = fill(&mut b, args[1], piece.ty);
                        current.insert(vars[&(place.slot, i)], value);
                    }
                }
                SlotAccess::Copy { to, from, bytes } => {
                    let promoted = |p: Option<SlotOffset>| p.filter(|p| pieces.contains_key(&p.slot));
                    let alias = if let Imm::Mem(mem) = &b.func.dfg.inst(inst).imm { mem.alias } else { 0 };
                    let mem = |b: &mut Builder<'_>, base: Value, at: u64| {
                        (b.addr(base, None, 1, at as i64), MemInfo { alias, ..MemInfo::aligned(1) })
                    };
                    match (promoted(to), promoted(from)) {
                        (Some(to), Some(from)) => {
                            // Read everything before writing: source and target may be parts of the same slot.
                            let values: Vec<(u64, Value)> = pieces[&from.slot]
                                .within(from.offset, bytes)
                                .map(|(i, p)| (p.start - from.offset, get(&mut b, vars[&(from.slot, i)], p.ty)))
                                .collect();
                            for (i, piece) in pieces[&to.slot].within(to.offset, bytes) {
                                let at = piece.start - to.offset;
                                let value = copied(&mut b, &values, at, piece.ty);
                                current.insert(vars[&(to.slot, i)], value);
                            }
                        }
                        (Some(to), None) => {
                            for (i, piece) in pieces[&to.slot].within(to.offset, bytes) {
                                let (pointer, mem) = mem(&mut b, args[1], piece.start - to.offset);
                                let value = b.load(piece.ty, pointer, mem);
                                current.insert(vars[&(to.slot, i)], value);
                            }
                        }
                        (None, Some(from)) => {
                            for (i, piece) in pieces[&from.slot].within(from.offset, bytes) {
                                let value = get(&mut b, vars[&(from.slot, i)], piece.ty);
                                let (pointer, mem) = mem(&mut b, args[0], piece.start - from.offset);
                                b.store(pointer, value, mem);
                            }
                        }
                        (None, None) => func.layout.append_inst(block, inst),
                    }
                }
            }
        }
        for (var, value) in current {
            ssa.define(var, block, value);
        }
    }
    for (block, var, placeholder) in placeholders {
        let value = ssa.value_at_start(func, &graph, var, block);
        if value != placeholder {
            replacements.set(placeholder, value);
        }
    }
    replacements.apply(func);
}

/// The value of a copied piece with the given start and type, made of the source's pieces. Both slots are split at the same
/// offsets. Between two offsets, however, one may have a single piece and the other, if nothing else accesses it there, several.
fn copied(b: &mut Builder<'_>, source: &[(u64, Value)], at: u64, ty: Type) -> Value {
    let bytes = |b: &Builder<'_>, v: Value| u64::from(b.ty(v).bytes());
    let end = at + u64::from(ty.bytes());
    if let Some(&(start, value)) = source.iter().find(|&&(start, v)| start <= at && end <= start + bytes(b, v)) {
        return pieces::part(b, value, at - start, ty);
    }
    let parts: Vec<(u64, Value)> = source
        .iter()
        .filter(|&&(start, v)| at <= start && start + bytes(b, v) <= end)
        .map(|&(start, v)| (start - at, v))
        .collect();
    pieces::assemble(b, ty, &parts)
}

/// A value whose bytes are all the same.
fn fill(b: &mut Builder<'_>, byte: Value, ty: Type) -> Value {
    if lifetimes::is_undef(&b.func.dfg, byte) {
        return b.undef(ty);
    }
    if let Some(bits) = b.func.dfg.as_splat_bits(byte) {
        let word = (bits & 0xff) * 0x0101_0101_0101_0101;
        let int = ty.as_int();
        let value = b.constant(ConstData::splat(int, word));
        return pieces::reinterpret(b, value, ty);
    }
    let lane = ty.as_int().lane();
    let ones = b.iconst(lane, 0x0101_0101_0101_0101);
    let word = b.int_resize(byte, lane.elem, false);
    let word = b.int2(Opcode::Imul, word, ones);
    let words = b.splat(word, ty.lanes());
    pieces::reinterpret(b, words, ty)
}
