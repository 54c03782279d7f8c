//! Each case of a switch in a loop finds its successor by itself.
//!
//! An interpreter is a loop around a switch: all cases come back to one place that fetches what is next and jumps there. That is
//! two jumps per step, and a processor that predicts the one indirect jump by its address mixes up what follows which case. So
//! the way from the cases back to the switch, when it is short, is copied to the end of each case:
//!
//! ```text
//! head: op = next(pc)                      head: op = next(pc)
//!       switch op, a, b                          switch op, a, b
//! a:    ...                        a:    ...
//!       jump head                                op = next(pc); switch op, a, b
//! b:    ...                        b:    ...
//!       jump head                                op = next(pc); switch op, a, b
//! ```
//!
//! What the copied blocks compute for the cases alone moves into those cases that need it first: copies would have to agree on
//! where such values are.
//!
//! The loop gets several entries by this, which passes that look for natural loops do not like: it is the last of its kind. Left
//! alone are switches that no table of jumps would be made for, long ways and switches of many cases, whose copies would be large.

use clift_kir::analysis::{Cfg, Cold, DomTree, Frontiers, LoopForest};
use clift_kir::ssa::{SsaBuilder, remove_trivial_params};
use clift_kir::{Block, BlockCall, Function, Imm, Inst, InstData, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Changed;

/// Fewer cases are compared one by one, and those branches are predicted well where they are.
const MIN_CASES: usize = 4;
/// Ways back to the switch that are worth copies.
const MIN_EDGES: usize = 3;
/// Instructions that all copies together have at most.
const MAX_COPIED: usize = 400;
/// Places that the tables of all copies together have at most.
const MAX_PLACES: usize = 1024;
/// Blocks between the end of a case and the switch, that one included, at most.
const MAX_BLOCKS: usize = 4;

/// Copies the way to each switch in a loop.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        if switch_of(func, block).is_some_and(|places| places >= MIN_CASES) {
            changed |= copy_way(func, block);
        }
    }
    Changed(changed)
}

/// The number of cases of the switch at the end of a block.
fn switch_of(func: &Function, block: Block) -> Option<usize> {
    let inst = func.layout.terminator(block)?;
    match &func.dfg.inst(inst).imm {
        Imm::Switch(switch) => Some(switch.cases.len()),
        _ => None,
    }
}

/// The way to a switch: a chain of blocks, the first of which all ways from the cases lead to.
struct Way {
    blocks: Vec<Block>,
    /// Terminators that lead to the first block from within the loop, with the number of the target.
    edges: Vec<(Inst, usize)>,
}

fn copy_way(func: &mut Function, switch: Block) -> bool {
    let Some(way) = Way::find(func, switch) else { return false };
    let places = switch_of(func, switch).unwrap_or(0);
    // What moves into the cases is not known yet; this much of the others is copied anyway.
    if way.edges.len() * places > MAX_PLACES || way.size(func, None) > MAX_COPIED {
        return false;
    }
    let needed = needed(func, switch);
    if way.edges.len() * way.size(func, Some((switch, &needed))) > MAX_COPIED {
        return false;
    }
    give_cases_blocks(func, switch);
    sink(func, switch, &needed);
    spread_constants(func, &way.blocks);
    // Edges from the switch to itself have got blocks of their own.
    let Some(way) = Way::find(func, switch) else { return true };
    if way.edges.len() * way.size(func, None) <= MAX_COPIED {
        way.copy(func);
    }
    true
}

impl Way {
    /// The way back to a switch, if it can be copied and is worth it.
    fn find(func: &Function, switch: Block) -> Option<Way> {
        let cfg = Cfg::new(func);
        if !cfg.reaches(switch) {
            return None;
        }
        let dom = DomTree::new(&cfg);
        let loops = LoopForest::new(&cfg, &dom);
        let id = loops.innermost(switch)?;
        if Cold::new(func, &cfg).contains(switch) {
            return None;
        }
        let inside: FxHashSet<Block> = loops.get(id).blocks.iter().copied().collect();
        let mut blocks = vec![switch];
        let from = loop {
            let first = blocks[0];
            let from: Vec<Block> = cfg.preds(first).iter().copied().filter(|block| inside.contains(block)).collect();
            match *from {
                [only] if blocks.len() < MAX_BLOCKS && !blocks.contains(&only) => blocks.insert(0, only),
                _ => break from,
            }
        };
        if !blocks.contains(&loops.get(id).header) || !blocks.iter().all(|&block| may_copy(func, block)) {
            return None;
        }
        let mut edges = Vec::new();
        for block in from {
            let terminator = func.layout.terminator(block)?;
            let targets = func.dfg.targets(terminator);
            edges.extend((0..targets.len()).filter(|&n| targets[n].block == blocks[0]).map(|n| (terminator, n)));
        }
        (edges.len() >= MIN_EDGES).then_some(Way { blocks, edges })
    }

    /// Instructions of one copy: of the switch's block only those that are needed, if these are told.
    fn size(&self, func: &Function, needed: Option<(Block, &FxHashSet<Inst>)>) -> usize {
        let counts = |block: Block, inst: Inst| {
            !is_constant(func.dfg.inst(inst).op)
                && needed.is_none_or(|(switch, needed)| block != switch || needed.contains(&inst))
        };
        self.blocks
            .iter()
            .map(|&block| func.layout.insts(block).iter().filter(|&&inst| counts(block, inst)).count())
            .sum()
    }

    /// Gives every edge a copy of the way.
    fn copy(&self, func: &mut Function) {
        let mut homes: FxHashMap<Value, Block> = FxHashMap::default();
        for &block in &self.blocks {
            homes.extend(func.dfg.params(block).iter().map(|&param| (param, block)));
            for &inst in func.layout.insts(block) {
                homes.extend(func.dfg.results(inst).iter().map(|&result| (result, block)));
            }
        }
        // Each value of the way with its copies and the blocks they are in.
        let mut copies: FxHashMap<Value, Vec<(Block, Value)>> = FxHashMap::default();
        for &(terminator, target) in &self.edges {
            let copied: Vec<Block> = self.blocks.iter().map(|_| func.dfg.make_block()).collect();
            let mut known: FxHashMap<Value, Value> = FxHashMap::default();
            let mut after = func.layout.block_of(terminator);
            for (i, (&old, &new)) in self.blocks.iter().zip(&copied).enumerate() {
                match after {
                    Some(after) => func.layout.insert_block_after(new, after),
                    None => func.layout.append_block(new),
                }
                after = Some(new);
                for param in func.dfg.params(old).to_vec() {
                    let ty = func.dfg.ty(param);
                    let copy = func.dfg.append_param(new, ty);
                    known.insert(param, copy);
                    copies.entry(param).or_default().push((new, copy));
                }
                for inst in func.layout.insts(old).to_vec() {
                    let clone = clone_inst(func, inst, |value| known.get(&value).copied().unwrap_or(value));
                    func.layout.append_inst(new, clone);
                    for (&old, &copy) in func.dfg.results(inst).iter().zip(func.dfg.results(clone)) {
                        known.insert(old, copy);
                        copies.entry(old).or_default().push((new, copy));
                    }
                    if let Some((&next, &next_copy)) = self.blocks.get(i + 1).zip(copied.get(i + 1)) {
                        for call in func.dfg.targets_mut(clone) {
                            if call.block == next {
                                call.block = next_copy;
                            }
                        }
                    }
                }
            }
            func.dfg.targets_mut(terminator)[target].block = copied[0];
        }
        repair(func, &homes, &copies);
    }
}

/// Uses of what has copies now: by SSA construction.
fn repair(func: &mut Function, homes: &FxHashMap<Value, Block>, copies: &FxHashMap<Value, Vec<(Block, Value)>>) {
    let cfg = Cfg::new(func);
    let order = func.layout.blocks().iter().copied().filter(|&block| cfg.reaches(block)).collect();
    func.layout.set_order(order);
    let graph = Frontiers::new(&cfg);
    let mut ssa = SsaBuilder::new();
    let mut vars = FxHashMap::default();
    for &block in cfg.rpo() {
        for inst in func.layout.insts(block).to_vec() {
            let mut used = Vec::new();
            func.dfg.for_each_use(inst, |value| {
                used.extend(homes.get(&value).filter(|&&home| home != block).map(|&home| (value, home)));
            });
            for (value, home) in used {
                let var = *vars.entry(value).or_insert_with(|| {
                    let var = ssa.declare(func.dfg.ty(value));
                    ssa.define(var, home, value);
                    for &(place, copy) in &copies[&value] {
                        ssa.define(var, place, copy);
                    }
                    var
                });
                let joined = ssa.value_at_start(func, &graph, var, block);
                func.dfg.map_uses(inst, |old| if old == value { joined } else { old });
            }
        }
    }
    remove_trivial_params(func);
}

/// Whether a block's instructions may stand in several places: they compute, load and store.
fn may_copy(func: &Function, block: Block) -> bool {
    func.layout.insts(block).iter().all(|&inst| {
        let op = func.dfg.inst(inst).op;
        op.is_pure() || matches!(op, Opcode::Load | Opcode::Store) || func.layout.terminator(block) == Some(inst)
    })
}

fn is_constant(op: Opcode) -> bool {
    matches!(op, Opcode::Const | Opcode::Undef)
}

/// A copy of an instruction that stands nowhere yet.
fn clone_inst(func: &mut Function, inst: Inst, rename: impl FnMut(Value) -> Value) -> Inst {
    let data = func.dfg.inst(inst).clone();
    let types: Vec<_> = func.dfg.results(inst).iter().map(|&value| func.dfg.ty(value)).collect();
    let clone = func.dfg.make_inst(data, &types);
    func.dfg.map_uses(clone, rename);
    func.locs[clone] = func.locs[inst];
    clone
}

/// The instructions of a block that its terminator depends on, or that may not move; the terminator is one.
fn needed(func: &Function, block: Block) -> FxHashSet<Inst> {
    let insts = func.layout.insts(block);
    // Loads would not pass a store.
    let stores = insts.iter().any(|&inst| func.dfg.inst(inst).op == Opcode::Store);
    let mut needed: FxHashSet<Inst> = FxHashSet::default();
    for &inst in insts.iter().rev() {
        let data = func.dfg.inst(inst);
        let stays = match (data.op, &data.imm) {
            (Opcode::Load, Imm::Mem(mem)) => mem.volatile || stores,
            (op, _) => !op.is_pure(),
        };
        if stays || needed.contains(&inst) {
            needed.insert(inst);
            func.dfg.for_each_use(inst, |value| needed.extend(func.dfg.def_inst(value)));
        }
    }
    needed
}

/// Cases whose block others lead to as well get a block before it.
fn give_cases_blocks(func: &mut Function, switch: Block) {
    let cfg = Cfg::new(func);
    let Some(terminator) = func.layout.terminator(switch) else { return };
    let calls: Vec<BlockCall> = func.dfg.targets(terminator).into_iter().cloned().collect();
    for (n, call) in calls.into_iter().enumerate() {
        if *cfg.preds(call.block) == [switch] {
            continue;
        }
        let block = func.dfg.make_block();
        func.layout.insert_block_after(block, switch);
        let jump = InstData { op: Opcode::Jump, args: Default::default(), imm: Imm::Jump(call) };
        let jump = func.dfg.make_inst(jump, &[]);
        func.locs[jump] = func.locs[terminator];
        func.layout.append_inst(block, jump);
        *func.dfg.targets_mut(terminator)[n] = BlockCall::new(block, &[]);
    }
}

/// What a switch's block computes for its cases alone is computed in these. Of what the switch itself needs, steps of addresses
/// are computed again.
fn sink(func: &mut Function, switch: Block, needed: &FxHashSet<Inst>) {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let cases: FxHashSet<Block> = cfg.succs(switch).iter().copied().filter(|&b| *cfg.preds(b) == [switch]).collect();
    // The case that a block belongs to.
    let case_of = |mut block: Block| {
        while !cases.contains(&block) {
            block = dom.parent(block)?;
        }
        Some(block)
    };
    let candidates: Vec<Inst> = func.layout.insts(switch).iter().rev().copied().collect();
    let mut users: FxHashMap<Value, Vec<Inst>> = FxHashMap::default();
    for &block in cfg.rpo() {
        for &inst in func.layout.insts(block) {
            func.dfg.for_each_use(inst, |value| users.entry(value).or_default().push(inst));
        }
    }
    let mut gone = FxHashSet::default();
    for inst in candidates {
        let data = func.dfg.inst(inst);
        let stays = needed.contains(&inst);
        let again = matches!(
            data.op,
            Opcode::Const | Opcode::Addr | Opcode::Sext | Opcode::Zext | Opcode::Itrunc | Opcode::Iadd
        );
        if stays && !again {
            continue;
        }
        let Some(value) = func.dfg.single_result(inst) else { continue };
        let mut outside: Vec<Inst> = users.get(&value).cloned().unwrap_or_default();
        outside.retain(|user| !gone.contains(user) && func.layout.block_of(*user) != Some(switch));
        let homes: Option<Vec<Block>> =
            outside.iter().map(|&user| func.layout.block_of(user).and_then(case_of)).collect();
        let inside = users.get(&value).is_some_and(|users| {
            users.iter().any(|user| !gone.contains(user) && func.layout.block_of(*user) == Some(switch))
        });
        let Some(homes) = homes.filter(|_| stays || !inside) else { continue };
        let mut copies: FxHashMap<Block, Value> = FxHashMap::default();
        for (user, home) in outside.into_iter().zip(homes) {
            let copy = *copies.entry(home).or_insert_with(|| {
                let clone = clone_inst(func, inst, |value| value);
                func.layout.insert_inst(home, 0, clone);
                func.dfg.for_each_use(clone, |value| users.entry(value).or_default().push(clone));
                func.dfg.result(clone)
            });
            func.dfg.map_uses(user, |old| if old == value { copy } else { old });
        }
        if !stays {
            func.layout.remove_inst(inst);
            gone.insert(inst);
        }
    }
}

/// Constants of the way that others use are made where they are used.
fn spread_constants(func: &mut Function, way: &[Block]) {
    let mut homes: FxHashMap<Value, (Block, Inst)> = FxHashMap::default();
    for &block in way {
        for &inst in func.layout.insts(block) {
            if is_constant(func.dfg.inst(inst).op) {
                homes.insert(func.dfg.result(inst), (block, inst));
            }
        }
    }
    if homes.is_empty() {
        return;
    }
    for block in func.layout.blocks().to_vec() {
        let mut copies: FxHashMap<Value, Value> = FxHashMap::default();
        for inst in func.layout.insts(block).to_vec() {
            let mut used = Vec::new();
            func.dfg.for_each_use(inst, |value| {
                used.extend(homes.get(&value).filter(|(home, _)| *home != block).map(|(_, def)| (value, *def)));
            });
            for (value, def) in used {
                let copy = *copies.entry(value).or_insert_with(|| {
                    let clone = clone_inst(func, def, |value| value);
                    func.layout.insert_inst(block, 0, clone);
                    func.dfg.result(clone)
                });
                func.dfg.map_uses(inst, |old| if old == value { copy } else { old });
            }
        }
    }
}
