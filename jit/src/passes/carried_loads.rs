//! Loads of what the iteration before has stored: the value is kept in a variable of the loop.
//!
//! ```text
//! for (j = 0; j != n; j++)                   left = row[0];
//!     row[j + 1] = f(row[j], row[j + 1]);    for (j = 0; j != n; j++)
//!                                                row[j + 1] = left = f(left, row[j + 1]);
//! ```
//!
//! A load from memory that was just written takes several cycles longer than a register, and here each iteration waits for it:
//! dynamic programming, recurrences, prefix sums. Only innermost loops with one counter of constant steps are considered, loads
//! that every iteration executes first of all, and stores that every iteration executes. Nothing else in the loop may write what
//! is loaded, or order accesses of work-items.

use clift_kir::analysis::{Cfg, DomTree, Loop, LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Builder, Effects, Function, Imm, Inst, MemInfo, Opcode, Type, Value};
use rustc_hash::FxHashSet;

use super::memory::{Escapes, Place, Write};
use super::util::Replacements;
use super::{Changed, loop_form};

/// The most instructions of a loop that is looked at.
const MAX_INSTS: usize = 1000;
/// The most values that a loop keeps.
const MAX_CARRIED: usize = 4;

/// Keeps stored values in all loops.
pub(super) fn run(func: &mut Function) -> Changed {
    if !has_candidates(func) {
        return Changed(false);
    }
    let (cfg, dom, loops) = loop_form::analyze(func);
    if loops.irreducible() {
        return Changed(false);
    }
    let has_inner: FxHashSet<Block> =
        loops.iter().filter_map(|(_, data)| data.parent).map(|parent| loops.get(parent).header).collect();
    let mut escapes = None;
    let mut found: Vec<Carried> = Vec::new();
    for (id, data) in loops.iter() {
        if !has_inner.contains(&data.header) {
            found.extend(of_loop(func, (&cfg, &dom, &loops), id, data, &mut escapes));
        }
    }
    if found.is_empty() {
        return Changed(false);
    }
    loop_form::add_preheaders_and_latches(func, &cfg, &loops);
    let (cfg, _, loops) = loop_form::analyze(func);
    let mut replacements = Replacements::default();
    for carried in &found {
        carried.apply(func, &cfg, &loops, &mut replacements);
    }
    replacements.apply(func);
    Changed(true)
}

/// Whether a block loads from an address that one of its parameters indexes, and something is stored to an address from the same base
/// and index.
fn has_candidates(func: &Function) -> bool {
    let indexed = |inst: Inst, op: Opcode| {
        let (pointer, ..) = access(func, inst, op)?;
        let address = func.dfg.inst(func.dfg.def_inst(pointer)?);
        let (&Imm::Addr { scale, .. }, &[base, index]) = (&address.imm, address.args.as_slice()) else { return None };
        Some((base, index, scale))
    };
    let mut stored: FxHashSet<(Value, Value, u64)> = FxHashSet::default();
    let insts = |block: Block| func.layout.insts(block).iter().copied();
    for inst in func.layout.blocks().iter().flat_map(|&block| insts(block)) {
        stored.extend(indexed(inst, Opcode::Store));
    }
    let loaded = |block: Block, inst: Inst| {
        let Some(place @ (_, index, _)) = indexed(inst, Opcode::Load) else { return false };
        stored.contains(&place) && func.dfg.params(block).contains(&index)
    };
    !stored.is_empty() && func.layout.blocks().iter().any(|&block| insts(block).any(|inst| loaded(block, inst)))
}

/// A load of what the iteration before has stored.
struct Carried {
    header: Block,
    load: Inst,
    stored: Value,
    address: Address,
}

/// An address that a counter of a loop indexes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Address {
    base: Value,
    counter: Value,
    scale: u64,
    disp: i64,
}

/// A plain access: its pointer and type.
fn access(func: &Function, inst: Inst, op: Opcode) -> Option<(Value, Type, MemInfo)> {
    let data = func.dfg.inst(inst);
    let &Imm::Mem(mem @ MemInfo { volatile: false, invariant: false, .. }) = &data.imm else { return None };
    if data.op != op {
        return None;
    }
    let ty = if op == Opcode::Store { func.dfg.ty(data.args[1]) } else { func.dfg.ty(func.dfg.result(inst)) };
    Some((data.args[0], ty, mem))
}

/// The loads in the header of an innermost loop that get what the iteration before has stored.
fn of_loop(
    func: &Function,
    (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest),
    id: LoopId,
    data: &Loop,
    escapes: &mut Option<Escapes>,
) -> Vec<Carried> {
    let (&[latch], header) = (data.latches.as_slice(), data.header) else { return Vec::new() };
    let mut insts = data.blocks.iter().flat_map(|&block| func.layout.insts(block));
    let stores = insts.clone().any(|&inst| func.dfg.inst(inst).op == Opcode::Store);
    if !stores || insts.nth(MAX_INSTS).is_some() || Some(header) == func.layout.entry() {
        return Vec::new();
    }
    let outside = |value: Value| match func.dfg.def(value) {
        ValueDef::Param(block, _) => !loops.contains(id, block),
        ValueDef::Result(inst, _) => func.layout.block_of(inst).is_none_or(|block| !loops.contains(id, block)),
    };
    let address = |pointer: Value| -> Option<Address> {
        let data = func.dfg.inst(func.dfg.def_inst(pointer)?);
        let (&Imm::Addr { scale, disp }, &[base, counter]) = (&data.imm, data.args.as_slice()) else { return None };
        let counts = func.dfg.params(header).contains(&counter) && !func.dfg.ty(pointer).is_vector();
        (counts && outside(base)).then_some(Address { base, counter, scale, disp })
    };
    // Where the loop writes.
    let mut writes: Vec<(Inst, Write)> = Vec::new();
    for &block in &data.blocks {
        for &inst in func.layout.insts(block) {
            match func.dfg.inst(inst).op.info().effects {
                Effects::Pure | Effects::Terminator | Effects::Read => {}
                Effects::Write if func.dfg.inst(inst).op == Opcode::Store => {
                    let Some(write) = Write::of(func, inst) else { return Vec::new() };
                    writes.push((inst, write));
                }
                Effects::Write | Effects::ReadWrite | Effects::Convergent => return Vec::new(),
            }
        }
    }
    let mut found = Vec::new();
    for &load in func.layout.insts(header) {
        let Some((pointer, ty, mem)) = access(func, load, Opcode::Load) else { continue };
        let Some(read) = address(pointer) else { continue };
        let Some(step) = step(func, latch, header, read.counter) else { continue };
        let distance = (read.scale as i64).wrapping_mul(step);
        let next = Address { disp: read.disp.wrapping_add(distance), ..read };
        let store = writes.iter().map(|&(inst, _)| inst).find(|&inst| {
            let at = access(func, inst, Opcode::Store);
            at.is_some_and(|(pointer, stored, _)| stored == ty && address(pointer) == Some(next))
                && func.layout.block_of(inst).is_some_and(|block| dom.dominates(block, latch))
        });
        let Some(store) = store else { continue };
        let Some((written, _, written_mem)) = access(func, store, Opcode::Store) else { continue };
        let escapes = &*escapes.get_or_insert_with(|| Escapes::new(func));
        let place = Place::of_access(func, pointer, &mem, ty);
        let next_place = Place::of_access(func, written, &written_mem, ty);
        let alone = writes.iter().all(|(inst, write)| {
            let may_write_next = *inst != store && write.may_change(&next_place, escapes);
            !may_write_next && !write.may_change(&place, escapes)
        });
        if alone && found.len() < MAX_CARRIED && cfg.preds(header).len() >= 2 {
            found.push(Carried { header, load, stored: func.dfg.inst(store).args[1], address: read });
        }
    }
    found
}

/// By how much a counter changes in each iteration, if that is constant.
fn step(func: &Function, latch: Block, header: Block, counter: Value) -> Option<i64> {
    let index = func.dfg.params(header).iter().position(|&param| param == counter)?;
    let next = func.dfg.inst(func.dfg.def_inst(loop_form::args_of_edge(func, latch, header)?[index])?);
    let (Opcode::Iadd | Opcode::Isub, &[of, by]) = (next.op, next.args.as_slice()) else { return None };
    let bits = func.dfg.ty(counter).elem.bits();
    let by = (func.dfg.as_splat_bits(by)? as i64) << (64 - bits) >> (64 - bits);
    (of == counter && bits == 64).then_some(if next.op == Opcode::Iadd { by } else { by.wrapping_neg() })
}

impl Carried {
    /// Replaces the load by a parameter of the header.
    fn apply(&self, func: &mut Function, cfg: &Cfg, loops: &LoopForest, replacements: &mut Replacements) {
        let (header, Address { base, counter, scale, disp }) = (self.header, self.address);
        let Some(id) = loops.innermost(header) else { return };
        let Some(preheader) = loop_form::preheader(cfg, loops.get(id)) else { return };
        let Some(index) = func.dfg.params(header).iter().position(|&param| param == counter) else { return };
        let Some(start) = loop_form::args_of_edge(func, preheader, header).map(|args| args[index]) else { return };
        let result = func.dfg.result(self.load);
        let (ty, loc) = (func.dfg.ty(result), func.locs[self.load]);
        let Imm::Mem(mem) = func.dfg.inst(self.load).imm else { return };
        let mut b = Builder::before(func, preheader, end_of(func, preheader));
        b.set_loc(loc);
        let pointer = b.addr(base, Some(start), scale, disp);
        let first = b.load(ty, pointer, mem);
        let param = func.dfg.append_param(header, ty);
        for &pred in cfg.preds(header) {
            let Some(terminator) = func.layout.terminator(pred) else { continue };
            let value = if pred == preheader { first } else { self.stored };
            for call in func.dfg.targets_mut(terminator) {
                if call.block == header {
                    call.args.push(value);
                }
            }
        }
        let rest = func.layout.take_insts(header).into_iter().filter(|&inst| inst != self.load).collect();
        func.layout.set_insts(header, rest);
        replacements.set(result, param);
    }
}

/// The place before a block's terminator.
fn end_of(func: &Function, block: Block) -> usize {
    func.layout.insts(block).len() - 1
}
