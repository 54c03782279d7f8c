//! Combines accesses to neighbouring bytes into one access to a word.
//!
//! ```text
//! x = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24      ->      x = *(uint *)p           (any alignment)
//! q[0] = x >> 24; q[1] = x >> 16; q[2] = x >> 8; q[3] = x     ->      *(uint *)q = byte-swapped x
//! ```
//!
//! Hash functions, ciphers, decoders and network formats take words apart so that they depend neither on byte order nor on
//! alignment. In packs, each byte is an access of its own with the stride of the word or of the whole message.
//!
//! Loads are combined if all are in one block, nothing is written in between, and their values are used for nothing else;
//! stores if they follow one another with neither loads nor other stores in between. Volatile accesses are left alone. Words
//! are stored in little-endian order; the opposite order costs rotations.

use clift_kir::analysis::UseCounts;
use clift_kir::{Block, Builder, Effects, Elem, Function, Imm, Inst, MemInfo, Opcode, Space, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::util::Replacements;
use super::{Changed, dce};

/// The most accesses that are combined into one.
const MAX_PARTS: usize = 8;
/// How deep below a value its parts may be: `x = x << 8 | p[i]` is two levels for each of them, and some conversions.
const MAX_DEPTH: u32 = 24;

/// Combines the accesses of each block.
pub(super) fn run(func: &mut Function) -> Changed {
    let has_parts = |&inst: &Inst| {
        let data = func.dfg.inst(inst);
        let value = func.dfg.single_result(inst).or(data.args.get(1).copied());
        matches!(data.op, Opcode::Load | Opcode::Store)
            && value.is_some_and(|value| func.dfg.ty(value).elem.bits() < 64)
    };
    let mut blocks = func.layout.blocks().iter();
    if !blocks.any(|&block| func.layout.insts(block).iter().filter(|inst| has_parts(inst)).count() > 1) {
        return Changed(false);
    }
    // What is not needed would count as a use.
    dce::run(func);
    let uses = UseCounts::new(func);
    let mut replacements = Replacements::default();
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        let plan = Plan::new(func, &uses, block);
        if plan.words.is_empty() && plan.stores.is_empty() {
            continue;
        }
        changed = true;
        plan.apply(func, block, &mut replacements);
    }
    replacements.apply(func);
    if changed {
        dce::run(func);
    }
    Changed(changed)
}

/// What accesses have in common that are a constant distance apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Base {
    pointer: Value,
    index: Option<(Value, u64)>,
}

/// A plain access to an integer.
#[derive(Clone, Copy, Debug)]
struct Access {
    base: Base,
    /// Where it is from there, in bytes.
    disp: i64,
    bytes: u32,
    mem: MemInfo,
    /// Its place in the block.
    position: usize,
    /// For a load, how many instructions before it may write to memory.
    writes: usize,
}

impl Access {
    fn new(func: &Function, inst: Inst, ty: Type, position: usize, writes: usize) -> Option<Access> {
        let data = func.dfg.inst(inst);
        let Imm::Mem(mem) = data.imm else { return None };
        if ty.is_vector() || !ty.is_int() || ty.elem.bits() > 32 || mem.volatile {
            return None;
        }
        let (mut pointer, mut disp) = (data.args[0], 0i64);
        let mut index = None;
        while let Some(def) = func.dfg.def_inst(pointer)
            && let addr = func.dfg.inst(def)
            && let (Opcode::Addr, &Imm::Addr { scale, disp: more }) = (addr.op, &addr.imm)
            && index.is_none()
        {
            disp = disp.checked_add(more)?;
            index = addr.args.get(1).map(|&index| (index, scale));
            pointer = addr.args[0];
        }
        Some(Access { base: Base { pointer, index }, disp, bytes: ty.bytes(), mem, position, writes })
    }
}

/// The order of the bytes of a word in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Little,
    Big,
}

/// A word whose bytes are loaded one by one.
struct Word {
    /// The access to its first byte in memory.
    first: Access,
    bytes: u32,
    order: Order,
    /// By how many bits the result is the word shifted.
    shift: u32,
}

/// A word that is stored byte by byte.
struct StoredWord {
    first: Access,
    bytes: u32,
    order: Order,
    /// The value that contains the word, so many bits up.
    value: Value,
    shift: u32,
}

/// What is done in a block.
#[derive(Default)]
struct Plan {
    /// Words by the result that they replace; the loads are made before the given position.
    words: FxHashMap<Inst, (Word, usize)>,
    /// Stores by the position of the last part.
    stores: FxHashMap<usize, StoredWord>,
    /// Stores that are replaced.
    dropped: FxHashSet<Inst>,
}

/// A part of a value: so many bits up, what a load has read.
type Parts = SmallVec<[(u32, Access); MAX_PARTS]>;

impl Plan {
    fn new(func: &Function, uses: &UseCounts, block: Block) -> Plan {
        let mut plan = Plan::default();
        let mut loads: FxHashMap<Value, Access> = FxHashMap::default();
        let mut run: Vec<(Inst, Access)> = Vec::new();
        let mut writes = 0;
        let insts = func.layout.insts(block);
        for (position, &inst) in insts.iter().enumerate() {
            let data = func.dfg.inst(inst);
            if data.op == Opcode::Store {
                let access = Access::new(func, inst, func.dfg.ty(data.args[1]), position, 0);
                if run.first().is_some_and(|(_, first)| access.is_none_or(|access| access.base != first.base)) {
                    plan.combine_stores(func, &std::mem::take(&mut run));
                }
                run.extend(access.map(|access| (inst, access)));
                writes += 1;
                continue;
            }
            match data.op.info().effects {
                Effects::Pure => continue,
                Effects::Read => (),
                Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => writes += 1,
            }
            plan.combine_stores(func, &std::mem::take(&mut run));
            if data.op == Opcode::Load {
                let result = func.dfg.result(inst);
                if uses.get(result) == 1
                    && let Some(access) = Access::new(func, inst, func.dfg.ty(result), position, writes)
                {
                    loads.insert(result, access);
                }
            }
        }
        if loads.len() > 1 {
            plan.combine_loads(func, uses, insts, &loads);
        }
        plan
    }

    /// Finds words among the values of a block, the largest ones first.
    fn combine_loads(&mut self, func: &Function, uses: &UseCounts, insts: &[Inst], loads: &FxHashMap<Value, Access>) {
        let mut taken: FxHashSet<usize> = FxHashSet::default();
        for &inst in insts.iter().rev() {
            if !joins(func.dfg.inst(inst).op) {
                continue;
            }
            let result = func.dfg.result(inst);
            let mut parts = Parts::new();
            if !collect(func, uses, loads, result, 0, 0, &mut parts)
                || parts.iter().any(|(_, access)| taken.contains(&access.position))
            {
                continue;
            }
            if let Some(word) = word_of(func, &mut parts) {
                let earliest = parts.iter().map(|(_, access)| access.position).min().unwrap_or_default();
                taken.extend(parts.iter().map(|(_, access)| access.position));
                self.words.insert(inst, (word, earliest));
            }
        }
    }

    /// Finds words among stores that follow one another.
    fn combine_stores(&mut self, func: &Function, run: &[(Inst, Access)]) {
        if run.len() < 2 {
            return;
        }
        let stores: Option<Vec<(Inst, Access, Value, u32)>> = run
            .iter()
            .map(|&(inst, access)| {
                let (value, shift) = part_of(func, func.dfg.inst(inst).args[1])?;
                Some((inst, access, value, shift))
            })
            .collect();
        let Some(mut stores) = stores else { return };
        let mut places: Vec<(i64, i64)> =
            run.iter().map(|(_, access)| (access.disp, access.disp.saturating_add(access.bytes.into()))).collect();
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[1].0 < pair[0].1) {
            // Bytes that are stored twice.
            return;
        }
        stores.sort_by_key(|(_, access, ..)| access.disp);
        let mut words: Vec<(usize, StoredWord)> = Vec::new();
        let mut rest = stores.as_slice();
        while !rest.is_empty() {
            let most = MAX_PARTS.min(rest.len());
            let found = (2..=most).rev().find_map(|count| {
                let parts = &rest[..count];
                let value = parts[0].2;
                let mut shifted: Parts = parts.iter().map(|&(_, access, _, shift)| (shift, access)).collect();
                let same = parts.iter().all(|part| part.2 == value);
                let word = if same { word_of(func, &mut shifted) } else { None }?;
                Some((count, word, value))
            });
            // Single bytes beside words would make records of fields of several sizes.
            let Some((count, Word { first, bytes, order, shift }, value)) = found else { return };
            let last = rest[..count].iter().map(|(_, access, ..)| access.position).max().unwrap_or_default();
            words.push((last, StoredWord { first, bytes, order, value, shift }));
            rest = &rest[count..];
        }
        self.dropped.extend(stores.iter().map(|(inst, ..)| *inst));
        self.stores.extend(words);
    }

    fn apply(mut self, func: &mut Function, block: Block, replacements: &mut Replacements) {
        let mut loads: FxHashMap<usize, Vec<Inst>> = FxHashMap::default();
        for (&inst, &(_, position)) in &self.words {
            loads.entry(position).or_default().push(inst);
        }
        let mut loaded: FxHashMap<Inst, Value> = FxHashMap::default();
        for (position, inst) in func.layout.take_insts(block).into_iter().enumerate() {
            let loc = func.locs[inst];
            for root in loads.remove(&position).unwrap_or_default() {
                let Some((word, _)) = self.words.get(&root) else { continue };
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let pointer = pointer_to(&mut b, &word.first);
                let value = b.load(Type::scalar(integer(word.bytes)), pointer, word.first.mem);
                let value = if word.order == Order::Big { byte_swapped(&mut b, value) } else { value };
                loaded.insert(root, value);
            }
            if let (Some((word, _)), Some(&value)) = (self.words.remove(&inst), loaded.get(&inst)) {
                let result = func.dfg.result(inst);
                let ty = func.dfg.ty(result);
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let value = b.int_resize(value, ty.elem, false);
                let count = b.iconst(ty, word.shift.into());
                let value = if word.shift == 0 { value } else { b.int2(Opcode::Shl, value, count) };
                replacements.set(result, value);
                continue;
            }
            if !self.dropped.contains(&inst) {
                func.layout.append_inst(block, inst);
                continue;
            }
            if let Some(word) = self.stores.remove(&position) {
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let pointer = pointer_to(&mut b, &word.first);
                let ty = b.ty(word.value);
                let count = b.iconst(ty, word.shift.into());
                let value = if word.shift == 0 { word.value } else { b.int2(Opcode::Lshr, word.value, count) };
                let value = b.int_resize(value, integer(word.bytes), false);
                let value = if word.order == Order::Big { byte_swapped(&mut b, value) } else { value };
                b.store(pointer, value, word.first.mem);
            }
        }
    }
}

/// The integer of so many bytes.
fn integer(bytes: u32) -> Elem {
    match Elem::int(8 * bytes) {
        Some(elem) => elem,
        None => unreachable!("broken invariant: a word of {bytes} bytes"),
    }
}

/// The address of an access, of which only the base need exist yet.
fn pointer_to(b: &mut Builder<'_>, access: &Access) -> Value {
    let Base { pointer, index } = access.base;
    let (index, scale) = index.map_or((None, 1), |(index, scale)| (Some(index), scale));
    if index.is_none() && access.disp == 0 { pointer } else { b.addr(pointer, index, scale, access.disp) }
}

/// Whether an op joins the bits of its operands if these have none in common.
fn joins(op: Opcode) -> bool {
    matches!(op, Opcode::Or | Opcode::Xor | Opcode::Iadd)
}

/// Collects the loads that a value is made of. Returns false if it is made of anything else, or too deep
/// below it.
fn collect(
    func: &Function,
    uses: &UseCounts,
    loads: &FxHashMap<Value, Access>,
    value: Value,
    shift: u32,
    depth: u32,
    parts: &mut Parts,
) -> bool {
    let ty = func.dfg.ty(value);
    let is_part = depth > 0;
    if ty.is_vector() || !ty.is_int() || depth > MAX_DEPTH || (is_part && uses.get(value) != 1) {
        return false;
    }
    if let Some(&access) = loads.get(&value) {
        parts.push((shift, access));
        return parts.len() <= MAX_PARTS;
    }
    let Some(def) = func.dfg.def_inst(value) else { return false };
    let data = func.dfg.inst(def);
    let mut operand = |value, shift| collect(func, uses, loads, value, shift, depth + 1, parts);
    if joins(data.op) {
        return operand(data.args[0], shift) && operand(data.args[1], shift);
    }
    if data.op == Opcode::Zext {
        return operand(data.args[0], shift);
    }
    if data.op != Opcode::Shl {
        return false;
    }
    let count = func.dfg.as_splat_bits(data.args[1]).and_then(|bits| u32::try_from(bits).ok());
    let before = parts.len();
    let Some(count) = count.filter(|&count| count < ty.elem.bits()) else { return false };
    // No bit may be shifted out.
    collect(func, uses, loads, data.args[0], shift + count, depth + 1, parts)
        && parts[before..].iter().all(|(at, access)| at - shift + 8 * access.bytes <= ty.elem.bits())
}

/// The value and the bits above which a stored value is a part of it.
fn part_of(func: &Function, value: Value) -> Option<(Value, u32)> {
    let data = func.dfg.inst(func.dfg.def_inst(value)?);
    if data.op != Opcode::Itrunc {
        return None;
    }
    let whole = data.args[0];
    let bits = func.dfg.ty(whole).elem.bits();
    let part = func.dfg.ty(value).elem.bits();
    let shifted = func.dfg.def_inst(whole).map(|def| func.dfg.inst(def));
    if let Some(shifted) = shifted
        && matches!(shifted.op, Opcode::Lshr | Opcode::Ashr)
        && let Some(count) = func.dfg.as_splat_bits(shifted.args[1])
        && count + u64::from(part) <= u64::from(bits)
    {
        return Some((shifted.args[0], count as u32));
    }
    Some((whole, 0))
}

/// The word of which these are all parts, in the order of memory.
fn word_of(func: &Function, parts: &mut Parts) -> Option<Word> {
    parts.sort_by_key(|(_, access)| access.disp);
    let first = parts.first()?.1;
    let bytes: u32 = parts.iter().map(|(_, access)| access.bytes).sum();
    if parts.len() < 2 || !matches!(bytes, 2 | 4 | 8) {
        return None;
    }
    // The copies of private variables in a pack are interleaved by aligned elements.
    let steps = [Some(first.disp.unsigned_abs()), first.base.index.map(|(_, scale)| scale)];
    let is_aligned = steps.iter().flatten().all(|step| step.is_multiple_of(bytes.into()));
    if !is_aligned && func.dfg.ty(first.base.pointer).elem.space() == Some(Space::Private) {
        return None;
    }
    let together = |access: &Access| {
        access.base == first.base
            && access.writes == first.writes
            && access.mem.alias == first.mem.alias
            && access.mem.invariant == first.mem.invariant
    };
    let is_contiguous =
        parts.windows(2).all(|pair| pair[0].1.disp.checked_add(pair[0].1.bytes.into()) == Some(pair[1].1.disp));
    if !is_contiguous || !parts.iter().all(|(_, access)| together(access)) {
        return None;
    }
    let is_little = parts.windows(2).all(|pair| pair[1].0 == pair[0].0 + 8 * pair[0].1.bytes);
    let is_big = parts.windows(2).all(|pair| pair[0].0 == pair[1].0 + 8 && pair[0].1.bytes == 1)
        && parts.iter().all(|(_, access)| access.bytes == 1);
    let order = match (is_little, is_big) {
        (true, _) => Order::Little,
        (false, true) => Order::Big,
        (false, false) => return None,
    };
    let shift = parts.iter().map(|&(shift, _)| shift).min()?;
    Some(Word { first, bytes, order, shift })
}

/// A word with its bytes in the opposite order: rotated so that each byte gets to its place in one of the rotations.
fn byte_swapped(b: &mut Builder<'_>, word: Value) -> Value {
    let ty = b.ty(word);
    let bits = ty.elem.bits();
    let turns = (8..bits).step_by(16);
    let mut swapped: Option<Value> = None;
    for turn in turns {
        let count = b.iconst(ty, turn.into());
        let rotated = b.int2(Opcode::Rotl, word, count);
        // The byte at `place` is rotated to where it belongs, from the bottom as far as that is from the top.
        let mask = (0..bits / 8)
            .filter(|place| (8 * place + turn) % bits == bits - 8 - 8 * place)
            .map(|place| 0xffu64 << (bits - 8 - 8 * place))
            .fold(0, |all, one| all | one);
        let mask = b.iconst(ty, mask as i64);
        let part = if bits == 16 { rotated } else { b.int2(Opcode::And, rotated, mask) };
        swapped = Some(swapped.map_or(part, |others| b.int2(Opcode::Or, others, part)));
    }
    swapped.unwrap_or(word)
}
