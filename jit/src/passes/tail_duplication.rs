//! Tail duplication of switches in loops, which turns the central dispatch of an interpreter into threaded dispatch.
//!
//! An interpreter is a loop around a switch: all cases return to one place, which fetches the next instruction and dispatches it.
//! That takes two jumps per step, and a processor that predicts an indirect jump by its address alone mispredicts the single
//! dispatch jump often. The path from the cases back to the switch, if it is short, is therefore duplicated at the end of each
//! case:
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
//! Values that the duplicated blocks compute only for the cases are first sunk into the cases that use them. Otherwise the copies
//! would have to agree on the registers of such values.
//!
//! The loop becomes irreducible, and passes that look for natural loops do not find it any more; so this is the last of the
//! passes on loops. Switches with too few cases for a jump table, long paths, and switches with so many cases that the copies
//! would be large are left unchanged.

use clift_kir::analysis::{Cfg, Cold, DomTree, Frontiers, LoopForest};
use clift_kir::clone::Cloner;
use clift_kir::ssa::{SsaBuilder, remove_trivial_params};
use clift_kir::{Block, BlockCall, Function, Imm, Inst, InstData, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Changed;

/// The least number of cases. With fewer, there is no jump table, and branch prediction works well.
const MIN_CASES: usize = 4;
/// The least number of edges back to the switch for which copies are worthwhile.
const MIN_EDGES: usize = 3;
/// The most instructions of all copies together.
const MAX_COPIED: usize = 400;
/// The most jump table entries of all copies together.
const MAX_TABLE_ENTRIES: usize = 1024;
/// The most blocks on the path from the end of a case to the switch, including the block of the switch.
const MAX_BLOCKS: usize = 4;

/// Duplicates the path to each switch in a loop.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    // Of all switches up to the next one that changes the function.
    let mut flow = None;
    for block in func.layout.blocks().to_vec() {
        if switch_of(func, block).is_some_and(|entries| entries >= MIN_CASES) {
            let known = flow.take().unwrap_or_else(|| ControlFlow::new(func));
            if duplicate_path(func, &known, block) {
                changed = true;
            } else {
                flow = Some(known);
            }
        }
    }
    Changed(changed)
}

/// What is known of the blocks of a function.
struct ControlFlow {
    cfg: Cfg,
    loops: LoopForest,
    cold: Cold,
}

impl ControlFlow {
    fn new(func: &Function) -> ControlFlow {
        let cfg = Cfg::new(func);
        let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
        let cold = Cold::new(func, &cfg);
        ControlFlow { cfg, loops, cold }
    }
}

/// The number of cases of the switch that ends a block.
fn switch_of(func: &Function, block: Block) -> Option<usize> {
    let inst = func.layout.terminator(block)?;
    if let Imm::Switch(switch) = &func.dfg.inst(inst).imm { Some(switch.cases.len()) } else { None }
}

/// The path back to a switch: a chain of blocks. All cases jump to the first of them.
struct DispatchPath {
    blocks: Vec<Block>,
    /// Branches to the first block from within the loop: the terminators and the numbers of their targets.
    edges: Vec<(Inst, usize)>,
}

/// Duplicates the path to a switch, if it can and should be duplicated. Returns whether that changes the function.
fn duplicate_path(func: &mut Function, flow: &ControlFlow, switch: Block) -> bool {
    let Some(path) = DispatchPath::find(func, flow, switch) else { return false };
    let entries = switch_of(func, switch).unwrap_or(0);
    // A cheap test first; which instructions will be sunk is not known yet.
    if path.edges.len() * entries > MAX_TABLE_ENTRIES || path.size(func, None) > MAX_COPIED {
        return false;
    }
    let needed = needed(func, switch);
    if path.edges.len() * path.size(func, Some((switch, &needed))) > MAX_COPIED {
        return false;
    }
    split_case_edges(func, switch);
    sink(func, switch, &needed);
    rematerialize_constants(func, &path.blocks);
    // Edges from the switch to itself have got blocks of their own.
    let Some(path) = DispatchPath::find(func, &ControlFlow::new(func), switch) else { return true };
    if path.edges.len() * path.size(func, None) <= MAX_COPIED {
        path.copy(func);
    }
    true
}

impl DispatchPath {
    /// The path back to a switch, if it can and should be duplicated.
    fn find(func: &Function, flow: &ControlFlow, switch: Block) -> Option<DispatchPath> {
        let ControlFlow { cfg, loops, cold } = flow;
        if !cfg.reaches(switch) {
            return None;
        }
        let id = loops.innermost(switch)?;
        if cold.contains(switch) {
            return None;
        }
        let mut blocks = vec![switch];
        let from = loop {
            let first = blocks[0];
            let from: Vec<Block> =
                cfg.preds(first).iter().copied().filter(|&block| loops.contains(id, block)).collect();
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
        (edges.len() >= MIN_EDGES).then_some(DispatchPath { blocks, edges })
    }

    /// The number of instructions of one copy. With `needed`, only those instructions of the switch's block are counted.
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

    /// Gives every edge its own copy of the path.
    fn copy(&self, func: &mut Function) {
        let mut def_blocks: FxHashMap<Value, Block> = FxHashMap::default();
        for &block in &self.blocks {
            def_blocks.extend(func.dfg.params(block).iter().map(|&param| (param, block)));
            for &inst in func.layout.insts(block) {
                def_blocks.extend(func.dfg.results(inst).iter().map(|&result| (result, block)));
            }
        }
        // The copies of each value of the path, with their blocks.
        let mut copies: FxHashMap<Value, Vec<(Block, Value)>> = FxHashMap::default();
        for &(terminator, target) in &self.edges {
            let mut cloner = Cloner::within();
            let copied: Vec<Block> = self.blocks.iter().map(|&block| cloner.make_block(func, block)).collect();
            // The end of the path may lead to its start, which is not part of this copy.
            cloner.set_block(self.blocks[0], self.blocks[0]);
            let mut after = func.layout.block_of(terminator);
            for (&old, &new) in self.blocks.iter().zip(&copied) {
                match after {
                    Some(after) => func.layout.insert_block_after(new, after),
                    None => func.layout.append_block(new),
                }
                after = Some(new);
                cloner.copy_params(func, old, new);
                for (&param, &copy) in func.dfg.params(old).iter().zip(func.dfg.params(new)) {
                    copies.entry(param).or_default().push((new, copy));
                }
                for inst in func.layout.insts(old).to_vec() {
                    let copy = cloner.append(func, new, inst);
                    for (&old, &copy) in func.dfg.results(inst).iter().zip(func.dfg.results(copy)) {
                        copies.entry(old).or_default().push((new, copy));
                    }
                }
            }
            func.dfg.targets_mut(terminator)[target].block = copied[0];
        }
        repair(func, &def_blocks, &copies);
    }
}

/// Repairs the uses of duplicated values, by SSA construction.
fn repair(func: &mut Function, def_blocks: &FxHashMap<Value, Block>, copies: &FxHashMap<Value, Vec<(Block, Value)>>) {
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
                used.extend(
                    def_blocks
                        .get(&value)
                        .filter(|&&def_block| def_block != block)
                        .map(|&def_block| (value, def_block)),
                );
            });
            for (value, def_block) in used {
                let var = *vars.entry(value).or_insert_with(|| {
                    let var = ssa.declare(func.dfg.ty(value));
                    ssa.define(var, def_block, value);
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

/// Whether the instructions of a block may be duplicated: pure ops, loads and stores.
fn may_copy(func: &Function, block: Block) -> bool {
    func.layout.insts(block).iter().all(|&inst| {
        let op = func.dfg.inst(inst).op;
        op.is_pure() || matches!(op, Opcode::Load | Opcode::Store) || func.layout.terminator(block) == Some(inst)
    })
}

fn is_constant(op: Opcode) -> bool {
    matches!(op, Opcode::Const | Opcode::Undef)
}

/// The instructions of a block that its terminator depends on or that must not move, including the terminator.
fn needed(func: &Function, block: Block) -> FxHashSet<Inst> {
    let insts = func.layout.insts(block);
    // Loads must not move past a store.
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

/// Splits the edges to cases whose block has other predecessors.
fn split_case_edges(func: &mut Function, switch: Block) {
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

/// Sinks what a switch's block computes only for its cases into these cases. Address computations that the switch itself needs
/// are rematerialized in the cases.
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
        let repeatable = matches!(
            data.op,
            Opcode::Const | Opcode::Addr | Opcode::Sext | Opcode::Zext | Opcode::Itrunc | Opcode::Iadd
        );
        if stays && !repeatable {
            continue;
        }
        let Some(value) = func.dfg.single_result(inst) else { continue };
        let mut outside: Vec<Inst> = users.get(&value).cloned().unwrap_or_default();
        outside.retain(|user| !gone.contains(user) && func.layout.block_of(*user) != Some(switch));
        let user_cases: Option<Vec<Block>> =
            outside.iter().map(|&user| func.layout.block_of(user).and_then(case_of)).collect();
        let inside = users.get(&value).is_some_and(|users| {
            users.iter().any(|user| !gone.contains(user) && func.layout.block_of(*user) == Some(switch))
        });
        let Some(user_cases) = user_cases.filter(|_| stays || !inside) else { continue };
        let mut copies: FxHashMap<Block, Value> = FxHashMap::default();
        for (user, case) in outside.into_iter().zip(user_cases) {
            let copy = *copies.entry(case).or_insert_with(|| {
                let copy = Cloner::within().copy(func, inst);
                func.layout.insert_inst(case, 0, copy);
                func.dfg.for_each_use(copy, |value| users.entry(value).or_default().push(copy));
                func.dfg.result(copy)
            });
            func.dfg.map_uses(user, |old| if old == value { copy } else { old });
        }
        if !stays {
            func.layout.remove_inst(inst);
            gone.insert(inst);
        }
    }
}

/// Rematerializes constants of the path at their uses outside of it.
fn rematerialize_constants(func: &mut Function, path: &[Block]) {
    let mut def_blocks: FxHashMap<Value, (Block, Inst)> = FxHashMap::default();
    for &block in path {
        for &inst in func.layout.insts(block) {
            if is_constant(func.dfg.inst(inst).op) {
                def_blocks.insert(func.dfg.result(inst), (block, inst));
            }
        }
    }
    if def_blocks.is_empty() {
        return;
    }
    for block in func.layout.blocks().to_vec() {
        let mut copies: FxHashMap<Value, Value> = FxHashMap::default();
        for inst in func.layout.insts(block).to_vec() {
            let mut used = Vec::new();
            func.dfg.for_each_use(inst, |value| {
                used.extend(
                    def_blocks.get(&value).filter(|(def_block, _)| *def_block != block).map(|(_, def)| (value, *def)),
                );
            });
            for (value, def) in used {
                let copy = *copies.entry(value).or_insert_with(|| {
                    let copy = Cloner::within().copy(func, def);
                    func.layout.insert_inst(block, 0, copy);
                    func.dfg.result(copy)
                });
                func.dfg.map_uses(inst, |old| if old == value { copy } else { old });
            }
        }
    }
}
