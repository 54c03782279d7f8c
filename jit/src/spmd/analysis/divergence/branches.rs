//! What a divergent branch makes vary: parameters of blocks where its paths meet, and values that are used outside of loops
//! that lanes leave in different iterations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Inst, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{DivergentRegion, MAX_LABELLED, Reason, Solver};
use crate::spmd::analysis::transfer::LaneForm;

impl Solver<'_> {
    /// Marks the joins and loop exits of a branch that has turned out to be divergent.
    pub(super) fn diverge(&mut self, branch: Block, inst: Inst) {
        self.divergent.insert(branch);
        let coarse = self.labelled > MAX_LABELLED;
        let mut region = if coarse { self.coarse_divergent_region(branch) } else { self.divergent_region(branch) };
        // A block that is a target twice is a successor only once.
        let mut targets: FxHashSet<Block> = FxHashSet::default();
        let repeated = self.func.dfg.targets(inst).into_iter().map(|call| call.block);
        region.joins.extend(repeated.filter(|&target| !targets.insert(target)));
        for &join in &region.joins {
            self.join(join, inst);
        }
        let mut up = self.loops.innermost(branch);
        while let Some(id) = up {
            let leaves = coarse || region.reached.iter().any(|&b| !self.loops.contains(id, b));
            if leaves && self.divergent_loops.insert(id) {
                let inside = self.loops.get(id).blocks.clone();
                self.vary_outside(&inside, inst, |solver, block| solver.loops.contains(id, block));
            }
            up = self.loops.get(id).parent;
        }
        self.widen_irreducible_cycle(branch, inst);
    }

    /// The blocks between a branch and the point where all paths from it have met again. Each block is labelled with the target,
    /// or the last join, through which all paths reach it; a block with two labels is a join.
    ///
    /// The paths meet where all of them pass in the same iteration of each loop around the branch. The next block that all pass
    /// may be one that some pass in a later iteration: those have come to the header, a join, before.
    fn divergent_region(&mut self, branch: Block) -> DivergentRegion {
        let mut stop = self.post.parent(branch);
        let mut labels: FxHashMap<Block, Block> = FxHashMap::default();
        let mut joins: FxHashSet<Block> = FxHashSet::default();
        // In reverse postorder.
        let mut queue: BinaryHeap<(Reverse<u32>, Block)> = BinaryHeap::new();
        let mut arrive = |at: Block,
                          label: Block,
                          stop: Option<Block>,
                          queue: &mut BinaryHeap<_>,
                          labels: &mut FxHashMap<Block, Block>| {
            let changed = match labels.insert(at, label) {
                None => true,
                Some(old) if old == label => false,
                Some(old) => {
                    joins.insert(at);
                    labels.insert(at, at);
                    old != at
                }
            };
            if changed && Some(at) != stop {
                queue.push((Reverse(self.cfg.number(at).unwrap_or(u32::MAX)), at));
            }
        };
        for &succ in self.cfg.succs(branch) {
            arrive(succ, succ, stop, &mut queue, &mut labels);
        }
        loop {
            while let Some((_, at)) = queue.pop() {
                let label = labels[&at];
                for &succ in self.cfg.succs(at) {
                    arrive(succ, label, stop, &mut queue, &mut labels);
                }
            }
            let Some(passed) = stop.filter(|&stop| self.is_passed_later(branch, stop, &labels)) else { break };
            stop = self.post.parent(passed);
            queue.push((Reverse(self.cfg.number(passed).unwrap_or(u32::MAX)), passed));
        }
        self.labelled += labels.len();
        self.in_divergent_region.extend(labels.keys().copied().filter(|&b| Some(b) != stop));
        DivergentRegion { reached: labels.into_keys().collect(), joins: joins.into_iter().collect() }
    }

    /// Whether a path from a branch to a block that all paths pass goes through the header of a loop around both.
    fn is_passed_later(&self, branch: Block, at: Block, reached: &FxHashMap<Block, Block>) -> bool {
        let mut around = self.loops.innermost(branch);
        while let Some(id) = around {
            let header = self.loops.get(id).header;
            if header != at && reached.contains_key(&header) && self.loops.contains(id, at) {
                return true;
            }
            around = self.loops.get(id).parent;
        }
        false
    }

    /// As [`Self::divergent_region`], for functions with very many divergent branches: every reachable block belongs to the
    /// region, and every block in it with several predecessors is a join. All such branches together take one walk over the
    /// function.
    fn coarse_divergent_region(&mut self, branch: Block) -> DivergentRegion {
        let mut region = DivergentRegion::default();
        let mut stack = self.cfg.succs(branch).to_vec();
        while let Some(block) = stack.pop() {
            if self.coarse.insert(block) {
                self.in_divergent_region.insert(block);
                region.reached.push(block);
                stack.extend(self.cfg.succs(block));
                if self.cfg.preds(block).len() > 1 {
                    region.joins.push(block);
                }
            }
        }
        region
    }

    /// Handles a divergent branch in an irreducible cycle. Nothing tells iterations apart there, so only uses in the block of the
    /// definition stay uniform.
    fn widen_irreducible_cycle(&mut self, branch: Block, inst: Inst) {
        let component = self.irreducible_cycles[branch];
        if component == 0 || !self.varying_cycles.insert(component) {
            return;
        }
        let blocks = self.cfg.rpo();
        for &block in blocks {
            if self.irreducible_cycles[block] != component {
                continue;
            }
            for &param in self.func.dfg.params(block) {
                self.raise(param, LaneForm::Varying, Reason::Join(inst));
            }
            self.vary_outside(&[block], inst, |_, at| at == block);
        }
    }

    /// Parameters of a join vary unless all edges pass the same value.
    pub(super) fn join(&mut self, block: Block, branch: Inst) {
        if self.joins[block].is_some() {
            return;
        }
        self.joins[block] = Some(branch).into();
        let func = self.func;
        for (i, &param) in func.dfg.params(block).iter().enumerate() {
            let mut args = self.arguments(block, i);
            let first = args.next();
            let differ = args.any(|arg| Some(arg) != first);
            drop(args);
            if differ {
                self.raise(param, LaneForm::Varying, Reason::Join(branch));
            }
        }
    }

    /// Makes values that are defined in `blocks` vary if they are used where `inside` does not hold. If such a use is an
    /// argument, the parameter that gets it varies instead.
    fn vary_outside(&mut self, blocks: &[Block], branch: Inst, inside: impl Fn(&Solver<'_>, Block) -> bool) {
        let func = self.func;
        for &block in blocks {
            let results = func.layout.insts(block).iter().flat_map(|&inst| func.dfg.results(inst));
            for &value in func.dfg.params(block).iter().chain(results) {
                if self.is_invariant(value, &inside, 6) {
                    continue;
                }
                let is_inside = |user: Inst| func.layout.block_of(user).is_some_and(|at| inside(self, at));
                let mut varies = Vec::new();
                if self.users.of(value).iter().any(|&user| !is_inside(user)) {
                    varies.push(value);
                }
                for argument in self.users.arguments(value) {
                    if !is_inside(argument.by) {
                        varies.push(value);
                    } else if !inside(self, argument.to) {
                        varies.push(argument.param);
                    }
                }
                for value in varies {
                    self.raise(value, LaneForm::Varying, Reason::LoopExit(branch));
                }
            }
        }
    }

    /// Whether a value is the same in every iteration of the cycle of blocks for which `inside` holds. Looks at most `depth`
    /// definitions deep.
    fn is_invariant(&self, value: Value, inside: &impl Fn(&Solver<'_>, Block) -> bool, depth: u32) -> bool {
        let func = self.func;
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                if !func.layout.block_of(inst).is_some_and(|at| inside(self, at)) {
                    return true;
                }
                let invariant = |&arg: &Value| self.is_invariant(arg, inside, depth - 1);
                data.op.is_pure() && (data.args.is_empty() || depth > 0 && data.args.iter().all(invariant))
            }
            ValueDef::Param(block, _) if !inside(self, block) => true,
            // A parameter that gets only itself or always the same other value.
            ValueDef::Param(block, index) => {
                let mut others = self.arguments(block, usize::from(index)).filter(|&arg| arg != value);
                let Some(first) = others.next() else { return false };
                depth > 0 && others.all(|arg| arg == first) && self.is_invariant(first, inside, depth - 1)
            }
        }
    }

    /// The arguments that all edges to a block pass for one of its parameters.
    pub(super) fn arguments(&self, block: Block, index: usize) -> impl Iterator<Item = Value> + '_ {
        let func = self.func;
        self.cfg.preds(block).iter().flat_map(move |&pred| {
            let targets = func.layout.terminator(pred).map(|t| func.dfg.targets(t)).unwrap_or_default();
            targets.into_iter().filter(move |call| call.block == block).map(move |call| call.args[index])
        })
    }
}
