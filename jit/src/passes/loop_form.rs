//! The form of loops that passes on loops, and the vectorizer, rely on:
//!
//! - every loop has one *preheader* (its only predecessor from outside, whose only successor is the header) and one *latch* (the
//!   only source of a back edge, which has no other successor);
//! - all exits of a loop to one destination go through one block, which has no other predecessors;
//! - a value that is defined in a loop and used outside is a parameter of the exit block (loop-closed form), unless it is a
//!   constant.
//!
//! What the function computes does not change. Simplification of the control flow removes what a pass did not need.

use clift_kir::analysis::{Cfg, DomTree, Frontiers, Loop, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::ssa::SsaBuilder;
use clift_kir::{Block, BlockCall, Builder, Function, Inst, Type, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Brings all loops of a function into this form. `None` if it has no loops, an irreducible one, or one that
/// starts at the entry; then nothing changes.
pub(crate) fn run(func: &mut Function) -> Option<Analyses> {
    let analyses = analyze(func);
    let loops = &analyses.2;
    let starts_with_loop = loops.iter().any(|(_, data)| Some(data.header) == func.layout.entry());
    if loops.irreducible() || starts_with_loop || loops.iter().next().is_none() {
        return None;
    }
    let analyses = add_blocks(func, analyses);
    // Only parameters are added.
    close_loops(func, &analyses.0, &analyses.2);
    Some(analyses)
}

/// Gives all loops preheaders, latches and exit blocks of their own. Returns what the analyses are afterwards.
pub(crate) fn add_blocks(func: &mut Function, analyses: Analyses) -> Analyses {
    let after = |func: &Function, blocks: usize, analyses| {
        if func.layout.blocks().len() == blocks { analyses } else { analyze(func) }
    };
    let blocks = func.layout.blocks().len();
    add_preheaders_and_latches(func, &analyses.0, &analyses.2);
    let analyses = after(func, blocks, analyses);
    let blocks = func.layout.blocks().len();
    add_exit_blocks(func, &analyses.0, &analyses.2);
    after(func, blocks, analyses)
}

/// The graph of a function, its dominators, and its loops.
pub(crate) type Analyses = (Cfg, DomTree, LoopForest);

/// The graph of a function and its loops.
pub(crate) fn analyze(func: &Function) -> Analyses {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let loops = LoopForest::new(&cfg, &dom);
    (cfg, dom, loops)
}

/// Gives every loop its own preheader and latch.
fn add_preheaders_and_latches(func: &mut Function, cfg: &Cfg, loops: &LoopForest) {
    // A block redirected for one loop may be a predecessor of another one's header; `redirect` reads the current terminators.
    for (_, data) in loops.iter() {
        let outside: Vec<Block> =
            cfg.preds(data.header).iter().copied().filter(|pred| !data.latches.contains(pred)).collect();
        redirect(func, &data.latches, data.header);
        redirect(func, &outside, data.header);
    }
}

/// Redirects the edges from `preds` to `to` through a new block, unless there is only one edge, from a block without other
/// successors.
fn redirect(func: &mut Function, preds: &[Block], to: Block) {
    if let &[pred] = preds
        && func.successors(pred).count() == 1
    {
        return;
    }
    if let &[pred] = preds
        && !is_repeated_target(func, pred, to)
        && let Some(terminator) = func.layout.terminator(pred)
    {
        // A single edge: the new block can pass its arguments itself.
        let middle = func.dfg.make_block();
        let edge = func.dfg.targets_mut(terminator).into_iter().find(|call| call.block == to);
        let moved = edge.map(|edge| std::mem::replace(edge, BlockCall::new(middle, &[])));
        if let Some(call) = moved {
            func.layout.append_block(middle);
            Builder::at_end(func, middle).jump(to, &call.args);
        }
        return;
    }
    let middle = merge_edges(func, preds, to);
    func.layout.append_block(middle);
}

/// Redirects the edges from `preds` to `to` through a new block, which is not in the layout yet.
pub(super) fn merge_edges(func: &mut Function, preds: &[Block], to: Block) -> Block {
    let middle = func.dfg.make_block();
    let types: Vec<Type> = func.dfg.params(to).iter().map(|&param| func.dfg.ty(param)).collect();
    let passed: Vec<Value> = types.into_iter().map(|ty| func.dfg.append_param(middle, ty)).collect();
    Builder::at_end(func, middle).jump(to, &passed);
    for &pred in preds {
        let Some(terminator) = func.layout.terminator(pred) else { continue };
        for target in func.dfg.targets_mut(terminator) {
            if target.block == to {
                target.block = middle;
            }
        }
    }
    middle
}

/// Lets all edges from a loop to one block outside go through a block without other predecessors.
fn add_exit_blocks(func: &mut Function, cfg: &Cfg, loops: &LoopForest) {
    for &to in cfg.rpo() {
        // Grouped by the outermost loop that is left.
        let mut groups: Vec<(LoopId, Vec<Block>)> = Vec::new();
        for &pred in cfg.preds(to) {
            let Some(id) = outermost_left(loops, pred, to) else { continue };
            if is_repeated_target(func, pred, to) {
                continue;
            }
            match groups.iter_mut().find(|(other, _)| *other == id) {
                Some((_, preds)) => preds.push(pred),
                None => groups.push((id, vec![pred])),
            }
        }
        for (_, preds) in groups {
            if preds.len() < cfg.preds(to).len() {
                redirect(func, &preds, to);
            }
        }
    }
}

/// The outermost of the loops that an edge leaves.
pub(crate) fn outermost_left(loops: &LoopForest, from: Block, to: Block) -> Option<LoopId> {
    let mut found = None;
    let mut at = loops.innermost(from);
    while let Some(id) = at.filter(|&id| !loops.contains(id, to)) {
        found = Some(id);
        at = loops.get(id).parent;
    }
    found
}

/// Whether a block is several times a target of another one.
fn is_repeated_target(func: &Function, from: Block, to: Block) -> bool {
    func.successors(from).filter(|&target| target == to).count() > 1
}

/// Brings the function into loop-closed form.
pub(crate) fn close_loops(func: &mut Function, cfg: &Cfg, loops: &LoopForest) {
    if loops.iter().next().is_none() {
        return;
    }
    let entry = func.layout.entry().filter(|&entry| loops.innermost(entry).is_none());
    let mut graph = None;
    let mut ssa = SsaBuilder::new();
    let mut uses = Uses::default();
    for &block in cfg.rpo() {
        for &inst in func.layout.insts(block) {
            func.dfg.for_each_use(inst, |value| uses.add(value, block, inst));
        }
    }
    // Inner loops first: the new parameters of their exit blocks may be in the next outer loop.
    for (id, data) in loops.iter().rev() {
        let mut exits: Vec<Block> =
            data.blocks.iter().flat_map(|&b| cfg.succs(b)).copied().filter(|&succ| !loops.contains(id, succ)).collect();
        exits.sort_unstable();
        exits.dedup();
        for &home in &data.blocks {
            let results = func.layout.insts(home).iter().flat_map(|&inst| func.dfg.results(inst));
            let values: Vec<Value> = func.dfg.params(home).iter().chain(results).copied().collect();
            for value in values {
                let outside = uses.take(value, |block| !loops.contains(id, block));
                if outside.is_empty() {
                    continue;
                }
                if let Some(entry) = entry
                    && func.dfg.as_const(value).is_some()
                {
                    repeat_constant(func, entry, value, &outside);
                } else {
                    let left = LeftLoop { loops, id, exits: &exits };
                    let graph = graph.get_or_insert_with(|| Frontiers::new(cfg));
                    close_value(func, graph, &mut ssa, &left, (value, home), &outside, &mut uses);
                }
            }
        }
    }
}

/// The instructions that use each value.
#[derive(Default)]
struct Uses(SecondaryMap<Value, SmallVec<[(Block, Inst); 2]>>);

impl Uses {
    fn add(&mut self, value: Value, block: Block, inst: Inst) {
        if self.0[value].last() != Some(&(block, inst)) {
            self.0[value].push((block, inst));
        }
    }

    /// Removes and returns the uses in certain blocks.
    fn take(&mut self, value: Value, taken: impl Fn(Block) -> bool) -> Vec<(Block, Inst)> {
        let mut found = Vec::new();
        self.0[value].retain(|&mut (block, inst)| {
            let take = taken(block);
            if take {
                found.push((block, inst));
            }
            !take
        });
        found
    }
}

/// Gives uses of a constant outside the loop where it is defined one in the entry block.
fn repeat_constant(func: &mut Function, entry: Block, value: Value, outside: &[(Block, Inst)]) {
    let (Some(inst), Some(last)) = (func.dfg.def_inst(value), func.layout.insts(entry).len().checked_sub(1)) else {
        return;
    };
    let copy = Cloner::within().copy(func, inst);
    func.layout.insert_inst(entry, last, copy);
    let copy = func.dfg.result(copy);
    for &(_, inst) in outside {
        func.dfg.map_uses(inst, |old| if old == value { copy } else { old });
    }
}

/// A loop, and the blocks outside to which it has edges.
struct LeftLoop<'a> {
    loops: &'a LoopForest,
    id: LoopId,
    exits: &'a [Block],
}

/// Passes a value that is used outside its loop through parameters of the exit blocks.
fn close_value(
    func: &mut Function,
    graph: &Frontiers<'_>,
    ssa: &mut SsaBuilder,
    left: &LeftLoop<'_>,
    (value, home): (Value, Block),
    outside: &[(Block, Inst)],
    uses: &mut Uses,
) {
    let ty = func.dfg.ty(value);
    let var = ssa.declare(ty);
    ssa.define(var, home, value);
    let mut closed: FxHashMap<Block, Value> = FxHashMap::default();
    let dominated: Vec<Block> = left.exits.iter().copied().filter(|&exit| graph.dom().dominates(home, exit)).collect();
    for &exit in &dominated {
        let param = func.dfg.append_param(exit, ty);
        if let Some(name) = func.names.get(&value).cloned() {
            func.names.insert(param, name);
        }
        ssa.define(var, exit, param);
        closed.insert(exit, param);
    }
    for &exit in &dominated {
        for &pred in graph.cfg().preds(exit) {
            let Some(terminator) = func.layout.terminator(pred) else { continue };
            // An exit of several loops has edges from outer ones, too. There the value has come through another exit.
            let passed = match closed.get(&pred) {
                _ if left.loops.contains(left.id, pred) => value,
                Some(&param) => param,
                None => ssa.value_at_start(func, graph, var, pred),
            };
            for target in func.dfg.targets_mut(terminator) {
                if target.block == exit {
                    target.args.push(passed);
                }
            }
            uses.add(passed, pred, terminator);
        }
    }
    for &(block, inst) in outside {
        let new = match closed.get(&block) {
            Some(&param) => param,
            None => ssa.value_at_start(func, graph, var, block),
        };
        func.dfg.map_uses(inst, |old| if old == value { new } else { old });
        uses.add(new, block, inst);
    }
    for (join, param) in ssa.params(var) {
        let index = func.dfg.params(join).iter().position(|&other| other == param);
        for &pred in graph.cfg().preds(join) {
            let Some(terminator) = func.layout.terminator(pred) else { continue };
            for target in func.dfg.targets(terminator) {
                if let (true, Some(index)) = (target.block == join, index) {
                    uses.add(target.args[index], pred, terminator);
                }
            }
        }
    }
}

/// The preheader of a loop in this form.
pub(crate) fn preheader(cfg: &Cfg, data: &Loop) -> Option<Block> {
    cfg.preds(data.header).iter().copied().find(|pred| !data.latches.contains(pred))
}

/// The arguments that a block passes to another one.
pub(crate) fn args_of_edge(func: &Function, from: Block, to: Block) -> Option<&[Value]> {
    let terminator = func.layout.terminator(from)?;
    let call = func.dfg.targets(terminator).into_iter().find(|call| call.block == to)?;
    Some(&call.args)
}
