//! Promotes private variables to values.
//!
//! A slot is promoted if its address is used only by plain loads, stores, copies and fills at constant offsets. It is split into
//! the pieces that are accessed separately (scalar replacement of aggregates), and each piece becomes an SSA variable. Other
//! slots, for instance those with a variable index, stay in memory.

mod pieces;

use clift_kir::analysis::{Cfg, Frontiers};
use clift_kir::dfg::ConstData;
use clift_kir::ssa::{SsaBuilder, Var, remove_trivial_params};
use clift_kir::{Block, Builder, Function, Imm, Inst, MemInfo, Opcode, Slot, Type, Value};
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
    let mut placeholders: Vec<(Block, Var, Value)> = Vec::new();
    for &block in cfg.rpo() {
        let old = func.layout.take_insts(block);
        let mut values =
            BlockValues { block, pieces, vars: &vars, current: FxHashMap::default(), placeholders: &mut placeholders };
        for inst in old {
            let Some(&access) = accesses.get(&inst) else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let loc = func.locs[inst];
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            match access {
                SlotAccess::Load { place, ty } => {
                    let parts = values.read(&mut b, place, u64::from(ty.bytes()));
                    let value = pieces::assemble(&mut b, ty, &parts);
                    let result = b.func.dfg.result(inst);
                    replacements.set(result, value);
                }
                SlotAccess::Store { place, ty } => {
                    let stored = b.func.dfg.inst(inst).args[1];
                    values.write(&mut b, place, u64::from(ty.bytes()), |b, at, ty| pieces::part(b, stored, at, ty));
                }
                SlotAccess::Fill { place, bytes } => {
                    let byte = b.func.dfg.inst(inst).args[1];
                    values.write(&mut b, place, bytes, |b, _, ty| fill(b, byte, ty));
                }
                SlotAccess::Copy { to, from, bytes } => {
                    let promoted = |p: Option<SlotOffset>| p.filter(|p| pieces.contains_key(&p.slot));
                    match (promoted(to), promoted(from)) {
                        (None, None) => func.layout.append_inst(block, inst),
                        (to, from) => values.copy(&mut b, inst, to, from, bytes),
                    }
                }
            }
        }
        for (var, value) in values.current {
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

/// The values of promoted pieces while the instructions of a block are replaced.
struct BlockValues<'a> {
    block: Block,
    pieces: &'a FxHashMap<Slot, SlotPieces>,
    vars: &'a FxHashMap<(Slot, usize), Var>,
    /// The values of the pieces that the block has read or written so far.
    current: FxHashMap<Var, Value>,
    /// The value of each piece that the block reads first stands for that at its start.
    placeholders: &'a mut Vec<(Block, Var, Value)>,
}

impl BlockValues<'_> {
    /// The values of the pieces of some bytes, with their distances from the place.
    fn read(&mut self, b: &mut Builder<'_>, place: SlotOffset, bytes: u64) -> Vec<(u64, Value)> {
        let list = &self.pieces[&place.slot];
        let mut values = Vec::new();
        for (i, piece) in list.within(place.offset, bytes) {
            let var = self.vars[&(place.slot, i)];
            let value = *self.current.entry(var).or_insert_with(|| {
                let value = b.undef(piece.ty);
                self.placeholders.push((self.block, var, value));
                value
            });
            values.push((piece.start - place.offset, value));
        }
        values
    }

    /// Gives the pieces of some bytes new values: `value` takes the distance from the place, and the piece's type.
    fn write(
        &mut self,
        b: &mut Builder<'_>,
        place: SlotOffset,
        bytes: u64,
        mut value: impl FnMut(&mut Builder<'_>, u64, Type) -> Value,
    ) {
        let list = &self.pieces[&place.slot];
        for (i, piece) in list.within(place.offset, bytes) {
            let value = value(b, piece.start - place.offset, piece.ty);
            self.current.insert(self.vars[&(place.slot, i)], value);
        }
    }

    /// Replaces a copy to or from promoted pieces; what is not promoted stays in memory.
    fn copy(&mut self, b: &mut Builder<'_>, inst: Inst, to: Option<SlotOffset>, from: Option<SlotOffset>, bytes: u64) {
        let data = b.func.dfg.inst(inst);
        let alias = if let Imm::Mem(mem) = &data.imm { mem.alias } else { 0 };
        let mem = MemInfo { alias, ..MemInfo::aligned(1) };
        let (target, source) = (data.args[0], data.args[1]);
        // Everything is read before anything is written: source and target may be parts of the same variable.
        match (to, from.map(|from| self.read(b, from, bytes))) {
            (Some(to), Some(values)) => self.write(b, to, bytes, |b, at, ty| copied(b, &values, at, ty)),
            (Some(to), None) => self.write(b, to, bytes, |b, at, ty| {
                let pointer = b.addr(source, None, 1, at as i64);
                b.load(ty, pointer, mem)
            }),
            (None, values) => {
                for (at, value) in values.into_iter().flatten() {
                    let pointer = b.addr(target, None, 1, at as i64);
                    b.store(pointer, value, mem);
                }
            }
        }
    }
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
