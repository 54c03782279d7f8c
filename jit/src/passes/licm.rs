//! Loop-invariant code motion: pure values whose operands do not change in a loop are computed before the loop. The same holds
//! for loads that always give the same value and may be executed at any time, and for loads from memory that nothing in the
//! loop may change ([`super::memory`]), if every entry into the loop executes them or has accessed that memory. The latter only
//! where nothing orders the accesses of work-items: after a barrier, memory may be another work-item's, and a load that the
//! program does not execute would race. Inner loops come first, so that values move out as far as possible. Values that only
//! cold blocks use stay where they are. What comes to stand in one block is computed once.

use clift_kir::analysis::{Cfg, Cold, DomTree, LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Function, Imm, Inst, InstData, MemInfo, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::loop_form::merge_edges;
use super::memory::{Escapes, LoopWrites, Place, Write};
use super::util::{Replacements, is_invariant_load, is_speculatable_load};
use super::{Changed, gvn};

/// Hoists out of every natural loop.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut cfg = Cfg::new(func);
    let mut dom = DomTree::new(&cfg);
    let mut loops = LoopForest::new(&cfg, &dom);
    let made: Vec<(Block, Block)> =
        loops.iter().filter_map(|(id, l)| Some((l.header, make_preheader(func, &cfg, &loops, id)?))).collect();
    if !made.is_empty() {
        place_before(func, made);
        cfg = Cfg::new(func);
        dom = DomTree::new(&cfg);
        loops = LoopForest::new(&cfg, &dom);
    }
    let cold = Cold::new(func, &cfg);
    let escapes = Escapes::new(func);
    let writes = LoopWrites::new(func, &loops);
    let accesses = if orders_accesses(func) { FxHashMap::default() } else { accesses(func) };
    let mut changed = false;
    let mut replacements = Replacements::default();
    for (id, l) in loops.iter().rev() {
        let inside = |block: Block| loops.contains(id, block);
        let leaves =
            |block: &Block| cfg.succs(*block).iter().any(|&succ| !inside(succ)) || cfg.succs(*block).is_empty();
        let exiting: Vec<Block> = l.blocks.iter().copied().filter(leaves).collect();
        let mut hoisted = Vec::new();
        let mut is_hoisted = FxHashSet::default();
        for &block in &l.blocks {
            // A loop that is cold as a whole is treated like any other.
            if cold.contains(block) && !cold.contains(l.header) {
                continue;
            }
            // Whether the block is executed whenever the loop is entered.
            let always = exiting.iter().chain(&l.latches).all(|&exit| dom.dominates(block, exit));
            let accessed_before = |inst: Inst| {
                let (&[pointer], bytes) = (func.dfg.inst(inst).args.as_slice(), accessed_bytes(func, inst)) else {
                    return false;
                };
                let before =
                    |&(at, known): &(Block, u32)| Some(known) >= bytes && !inside(at) && dom.dominates(at, l.header);
                bytes.is_some() && accesses.get(&pointer).is_some_and(|known| known.iter().any(before))
            };
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                let movable = data.op.is_pure()
                    || is_speculatable_load(func, inst)
                    || ((always || accessed_before(inst))
                        && (is_invariant_load(func, inst) || is_unchanged(func, &writes, id, inst, &escapes)));
                if !movable || is_free(data.op) {
                    continue;
                }
                let invariant = data.args.iter().all(|&arg| match func.dfg.def(replacements.get(arg)) {
                    ValueDef::Result(def, _) => {
                        is_hoisted.contains(&def)
                            || is_free(func.dfg.inst(def).op)
                            || !func.layout.block_of(def).is_some_and(inside)
                    }
                    ValueDef::Param(home, _) => !inside(home),
                });
                if invariant {
                    // Constants stay where they are used, but the operands of a hoisted instruction must be defined before the
                    // loop.
                    for &arg in &data.args {
                        if let Some(def) = func.dfg.def_inst(replacements.get(arg))
                            && is_free(func.dfg.inst(def).op)
                            && func.layout.block_of(def).is_some_and(inside)
                            && is_hoisted.insert(def)
                        {
                            hoisted.push(def);
                        }
                    }
                    is_hoisted.insert(inst);
                    hoisted.push(inst);
                }
            }
        }
        if hoisted.is_empty() {
            continue;
        }
        let Some(preheader) = preheader(func, &cfg, &loops, id) else { continue };
        changed = true;
        for &block in &l.blocks {
            func.layout.retain(block, |inst| !is_hoisted.contains(&inst));
        }
        merge_equal(func, preheader, &mut hoisted, &mut replacements);
        let at = func.layout.insts(preheader).len() - 1;
        func.layout.insert_insts(preheader, at, &hoisted);
    }
    replacements.apply(func);
    Changed(changed)
}

/// Removes instructions that compute what others do that are in their new block, or come there earlier: copies of code, such as
/// versions of a loop's body, have their invariant values in common.
fn merge_equal(func: &mut Function, to: Block, hoisted: &mut Vec<Inst>, replacements: &mut Replacements) {
    let mut known: FxHashMap<(InstData, Type), Value> = FxHashMap::default();
    let mut is_new = |func: &mut Function, inst: Inst| {
        func.dfg.map_uses(inst, |value| replacements.get(value));
        let data = func.dfg.inst(inst);
        let Some(result) = func.dfg.single_result(inst).filter(|_| data.op.is_pure() || is_invariant_load(func, inst))
        else {
            return true;
        };
        let key = (gvn::normalized(data), func.dfg.ty(result));
        let flags = data.imm.wrap();
        let value = *known.entry(key).or_insert(result);
        if value != result {
            gvn::intersect_wrap_flags(&mut func.dfg, value, flags);
            replacements.set(result, value);
        }
        value == result
    };
    for at in 0..func.layout.insts(to).len() {
        let inst = func.layout.insts(to)[at];
        // What is there already stays.
        if func.dfg.inst(inst).op.is_pure() {
            let _ = is_new(func, inst);
        }
    }
    hoisted.retain(|&inst| is_new(func, inst));
}

/// Whether anything orders the accesses of work-items, such as a barrier.
fn orders_accesses(func: &Function) -> bool {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| Write::of(func, inst).is_some_and(|write| !write.only_writes()))
}

/// By address, where it is accessed, and how many bytes of it.
fn accesses(func: &Function) -> FxHashMap<Value, SmallVec<[(Block, u32); 2]>> {
    let mut known: FxHashMap<Value, SmallVec<[(Block, u32); 2]>> = FxHashMap::default();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            if let Some(bytes) = accessed_bytes(func, inst) {
                known.entry(func.dfg.inst(inst).args[0]).or_default().push((block, bytes));
            }
        }
    }
    known
}

/// The bytes that a load or store accesses at its address.
fn accessed_bytes(func: &Function, inst: Inst) -> Option<u32> {
    let data = func.dfg.inst(inst);
    if !matches!(data.op, Opcode::Load | Opcode::Store) {
        return None;
    }
    let value = if data.op == Opcode::Load { func.dfg.result(inst) } else { data.args[1] };
    Some(func.dfg.ty(value).bits().div_ceil(8))
}

/// Whether an instruction is a load from memory that nothing in a loop may change.
fn is_unchanged(func: &Function, writes: &LoopWrites, id: LoopId, inst: Inst, escapes: &Escapes) -> bool {
    let data = func.dfg.inst(inst);
    let (Opcode::Load, Imm::Mem(mem @ MemInfo { volatile: false, .. })) = (data.op, &data.imm) else { return false };
    let place = Place::of_access(func, data.args[0], mem, func.dfg.ty(func.dfg.result(inst)));
    !writes.may_change(id, &place, escapes)
}

/// Ops that cost nothing where they are. Hoisting them would only lengthen live ranges.
fn is_free(op: Opcode) -> bool {
    matches!(op, Opcode::Const | Opcode::Undef)
}

/// The blocks outside a loop that branch to its header.
fn entering_blocks<'a>(cfg: &'a Cfg, loops: &'a LoopForest, id: LoopId) -> impl Iterator<Item = Block> + 'a {
    cfg.preds(loops.get(id).header).iter().copied().filter(move |&pred| !loops.contains(id, pred))
}

/// The preheader of a loop: the block that enters it and has no other successor, if there is one.
fn preheader(func: &Function, cfg: &Cfg, loops: &LoopForest, id: LoopId) -> Option<Block> {
    let mut outside = entering_blocks(cfg, loops, id);
    let only = outside.next()?;
    (outside.next().is_none() && func.successors(only).count() == 1).then_some(only)
}

/// Makes a preheader for a loop that has none; it is not in the layout yet. `None` also for a loop that starts at the function's
/// entry.
fn make_preheader(func: &mut Function, cfg: &Cfg, loops: &LoopForest, id: LoopId) -> Option<Block> {
    let header = loops.get(id).header;
    let outside: Vec<Block> = entering_blocks(cfg, loops, id).collect();
    if outside.is_empty() || preheader(func, cfg, loops, id).is_some() {
        return None;
    }
    Some(merge_edges(func, &outside, header))
}

/// Inserts new blocks directly before others.
fn place_before(func: &mut Function, new: Vec<(Block, Block)>) {
    let mut before: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
    for (at, block) in new {
        before[at] = Some(block).into();
        func.layout.append_block(block);
    }
    let mut order = Vec::with_capacity(func.layout.blocks().len());
    let mut placed: FxHashSet<Block> = FxHashSet::default();
    for &block in func.layout.blocks() {
        if let Some(new) = before[block].expand() {
            placed.insert(new);
            order.push(new);
        }
        if !placed.contains(&block) {
            order.push(block);
        }
    }
    func.layout.set_order(order);
}
