//! Brings a kernel into normal form before its work-items become lanes.
//!
//! Everything from [`crate::spmd::vectorize::order`] to [`crate::spmd::vectorize::widen`] relies on this:
//!
//! - constants, arguments and queries are in the entry block, and the entry block has no predecessors;
//! - one block returns (`unreachable` goes there too);
//! - every loop has one *preheader* (its only predecessor from outside, whose only successor is the header) and one *latch* (the
//!   only source of a back edge, which has no other successor);
//! - no edge is critical except exits of a loop: otherwise a block with several targets is the only predecessor of each of them;
//!   no two targets are the same block;
//! - all exits of a loop to one destination go through one block, which has no other predecessors: lanes that have left there, in
//!   any iteration and from any block, are one set;
//! - a value that is defined in a loop and used outside is a parameter of the exit block (loop-closed form): lanes that left in
//!   an earlier iteration keep their value.
//!
//! What the kernel computes does not change.

use clift_include::abi::{MAX_LOCAL_SIZE, PACKED_ID_BOUND};
use clift_kir::analysis::{Cfg, DomTree, Frontiers, LoopForest, LoopId};
use clift_kir::inst::BlockCall;
use clift_kir::ssa::{SsaBuilder, remove_trivial_params};
use clift_kir::{Block, Builder, Function, Inst, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::spmd::analysis::assumptions::{Assume, Assumed};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Assumptions, Scope};
use crate::spmd::class::{Class, class};

/// A kernel in normal form, with its graph.
#[derive(Clone, Debug)]
pub(crate) struct NormalForm {
    pub(crate) func: Function,
    pub(crate) cfg: Cfg,
    pub(crate) dom: DomTree,
    pub(crate) loops: LoopForest,
    /// Instructions about which packs assume something that was tested before; see [`super::versioning`].
    pub(crate) assumed: Assumed,
    /// How many pieces of the kernel have versions.
    pub(crate) pieces: usize,
}

impl NormalForm {
    /// Analyses divergence in packs of so many lanes; `whole` as in [`Packing::whole`](crate::spmd::workgroup::Packing::whole).
    pub(crate) fn divergence(&self, lanes: u32, whole: bool) -> Divergence {
        self.divergence_assuming(lanes, whole, &self.assumed)
    }

    /// As [`Self::divergence`], with assumptions about some instructions.
    pub(crate) fn divergence_assuming(&self, lanes: u32, whole: bool, assumed: &Assumed) -> Divergence {
        let assumptions = Assumptions {
            width: lanes,
            packs_aligned: whole,
            ids_below: whole.then_some(PACKED_ID_BOUND),
            local_below: Some(MAX_LOCAL_SIZE),
        };
        Divergence::assuming(&self.func, &self.cfg, Scope::Pack, &assumptions, Assume::These(assumed))
    }
}

/// Brings a kernel into normal form; `None` if it has an irreducible loop.
pub(crate) fn run(kernel: &Function) -> Option<NormalForm> {
    let mut func = kernel.clone();
    unify_returns(&mut func);
    hoist_leaves(&mut func);
    let (cfg, _, loops) = analyze(&func);
    if loops.irreducible() {
        return None;
    }
    add_preheaders_and_latches(&mut func, &cfg, &loops);
    add_exit_blocks(&mut func);
    split_critical_edges(&mut func);
    let (cfg, _, loops) = analyze(&func);
    close_loops(&mut func, &cfg, &loops);
    remove_trivial_exit_free_params(&mut func, &loops);
    let (cfg, dom, loops) = analyze(&func);
    Some(NormalForm { func, cfg, dom, loops, assumed: Assumed::default(), pieces: 0 })
}

fn analyze(func: &Function) -> (Cfg, DomTree, LoopForest) {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let loops = LoopForest::new(&cfg, &dom);
    (cfg, dom, loops)
}

/// Lets all ends of the kernel go to one block.
fn unify_returns(func: &mut Function) {
    let ends: Vec<(Block, Inst)> = func
        .layout
        .blocks()
        .iter()
        .filter_map(|&block| Some((block, func.layout.terminator(block)?)))
        .filter(|&(_, inst)| class(func.dfg.inst(inst).op) == Class::End)
        .collect();
    let exit = func.append_block();
    for (block, inst) in ends {
        func.layout.remove_inst(inst);
        Builder::at_end(func, block).jump(exit, &[]);
    }
    Builder::at_end(func, exit).ret(&[]);
}

/// Moves instructions without operands and effects to a new entry block.
fn hoist_leaves(func: &mut Function) {
    let Some(old) = func.layout.entry() else { return };
    let entry = func.dfg.make_block();
    let mut order = vec![entry];
    order.extend(func.layout.blocks());
    func.layout.append_block(entry);
    for block in func.layout.blocks().to_vec() {
        let leaves: Vec<Inst> = func
            .layout
            .insts(block)
            .iter()
            .copied()
            .filter(|&inst| match class(func.dfg.inst(inst).op) {
                Class::Constant
                | Class::Arg
                | Class::ArgAddr
                | Class::SlotAddr
                | Class::GlobalAddr
                | Class::Query(_) => true,
                Class::InSpace
                | Class::Cheap
                | Class::Load
                | Class::Plain
                | Class::Barrier
                | Class::NamedBarrier
                | Class::Collective
                | Class::Branch
                | Class::End
                | Class::Call => false,
            })
            .collect();
        if leaves.is_empty() {
            continue;
        }
        let taken: rustc_hash::FxHashSet<Inst> = leaves.iter().copied().collect();
        func.layout.retain(block, |inst| !taken.contains(&inst));
        for inst in leaves {
            func.layout.append_inst(entry, inst);
        }
    }
    Builder::at_end(func, entry).jump(old, &[]);
    func.layout.set_order(order);
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
    let middle = func.dfg.make_block();
    let params: Vec<Value> = func.dfg.params(to).to_vec();
    let passed: Vec<Value> = params
        .iter()
        .map(|&param| {
            let ty = func.dfg.ty(param);
            func.dfg.append_param(middle, ty)
        })
        .collect();
    func.layout.append_block(middle);
    Builder::at_end(func, middle).jump(to, &passed);
    for &pred in preds {
        let Some(terminator) = func.layout.terminator(pred) else { continue };
        for target in func.dfg.targets_mut(terminator) {
            if target.block == to {
                target.block = middle;
            }
        }
    }
}

/// Lets all edges from a loop to one block outside go through a block without other predecessors.
fn add_exit_blocks(func: &mut Function) {
    let (cfg, _, loops) = analyze(func);
    for &to in cfg.rpo() {
        // Grouped by the outermost loop that is left.
        let mut groups: Vec<(LoopId, Vec<Block>)> = Vec::new();
        for &pred in cfg.preds(to) {
            if is_repeated_target(func, pred, to) {
                continue;
            }
            let Some(id) = outermost_left(&loops, pred, to) else { continue };
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
fn outermost_left(loops: &LoopForest, from: Block, to: Block) -> Option<LoopId> {
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

/// Splits every edge from a block with several targets to a block with several predecessors, unless it leaves a loop.
fn split_critical_edges(func: &mut Function) {
    let (cfg, _, loops) = analyze(func);
    for &block in cfg.rpo() {
        let Some(terminator) = func.layout.terminator(block) else { continue };
        let calls: Vec<BlockCall> = func.dfg.targets(terminator).into_iter().cloned().collect();
        if calls.len() < 2 {
            continue;
        }
        let mut replaced: Vec<Option<Block>> = Vec::with_capacity(calls.len());
        let mut made: FxHashMap<BlockCall, Block> = FxHashMap::default();
        for (i, call) in calls.iter().enumerate() {
            let repeated = calls.iter().enumerate().any(|(j, other)| j != i && other.block == call.block);
            let preds = cfg.preds(call.block);
            let all_leave = preds.iter().all(|&pred| outermost_left(&loops, pred, call.block).is_some());
            if !repeated && (preds.len() < 2 || all_leave) {
                replaced.push(None);
                continue;
            }
            let middle = *made.entry(call.clone()).or_insert_with(|| {
                let middle = func.append_block();
                Builder::at_end(func, middle).jump(call.block, &call.args);
                middle
            });
            replaced.push(Some(middle));
        }
        for (target, middle) in func.dfg.targets_mut(terminator).into_iter().zip(replaced) {
            if let Some(middle) = middle {
                *target = BlockCall::new(middle, &[]);
            }
        }
    }
}

/// Brings the function into loop-closed form.
fn close_loops(func: &mut Function, cfg: &Cfg, loops: &LoopForest) {
    if loops.iter().next().is_none() {
        return;
    }
    let graph = Frontiers::new(cfg);
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
                if !outside.is_empty() {
                    close_value(func, &graph, &mut ssa, &exits, (value, home), &outside, &mut uses);
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

/// Passes a value that is used outside its loop through parameters of the exit blocks.
fn close_value(
    func: &mut Function,
    graph: &Frontiers<'_>,
    ssa: &mut SsaBuilder,
    exits: &[Block],
    (value, home): (Value, Block),
    outside: &[(Block, Inst)],
    uses: &mut Uses,
) {
    let ty = func.dfg.ty(value);
    let var = ssa.declare(ty);
    ssa.define(var, home, value);
    let mut closed: FxHashMap<Block, Value> = FxHashMap::default();
    for &exit in exits {
        if !graph.dom().dominates(home, exit) {
            continue;
        }
        let param = func.dfg.append_param(exit, ty);
        for &pred in graph.cfg().preds(exit) {
            let Some(terminator) = func.layout.terminator(pred) else { continue };
            for target in func.dfg.targets_mut(terminator) {
                if target.block == exit {
                    target.args.push(value);
                }
            }
            uses.add(value, pred, terminator);
        }
        if let Some(name) = func.names.get(&value).cloned() {
            func.names.insert(param, name);
        }
        ssa.define(var, exit, param);
        closed.insert(exit, param);
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

/// Removes the trivial parameters that SSA construction makes. Those that close a loop must stay, so only functions without loops
/// are cleaned.
fn remove_trivial_exit_free_params(func: &mut Function, loops: &LoopForest) {
    if loops.iter().next().is_none() {
        remove_trivial_params(func);
    }
}
