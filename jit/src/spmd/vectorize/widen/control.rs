//! Control flow of a pack: the blocks and branches of the plan, the assignments of edges, and the masks.

use clift_kir::analysis::{Cfg, DomTree, Frontiers};
use clift_kir::inst::{BlockCall, Imm};
use clift_kir::ssa::{Var, remove_trivial_params};
use clift_kir::{Block, Builder, Inst, IntCond, MemScope, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::how::{How, how};
use super::{Mask, Widener};
use crate::spmd::analysis::shape::Scope;
use crate::spmd::vectorize::linearize::{Pending, insert};

/// A block with at least so many instructions is skipped if no lane waits for it, even if executing it would be harmless.
const GUARD_COST: usize = 8;

impl Widener<'_> {
    /// Finds the roots that must not be executed without lanes, or that are worth a test.
    pub(super) fn find_guards(&mut self) {
        let mut cost: FxHashMap<Block, usize> = FxHashMap::default();
        for &block in &self.plan.order {
            let root = self.masks.root(block);
            let insts = self.func.layout.insts(block);
            let cold = self.func.layout.is_cold(block);
            let is_header = self.normal.loops.headed_by(block).is_some();
            if insts.iter().any(|&inst| self.needs_lanes(inst)) || is_header || cold {
                self.guarded.insert(root);
            }
            let mut at = Some(root);
            while let Some(root) = at {
                *cost.entry(root).or_default() += insts.len();
                at = self.normal.dom.parent(root).map(|above| self.masks.root(above));
            }
        }
        self.guarded.extend(cost.into_iter().filter(|&(_, cost)| cost >= GUARD_COST).map(|(root, _)| root));
    }

    /// Whether an instruction has an effect, or is costly, even if no lane is active.
    fn needs_lanes(&self, inst: Inst) -> bool {
        let data = self.func.dfg.inst(inst);
        match how(data.op) {
            How::Load | How::Store => self.divergence.shape(data.args[0]).is_uniform(Scope::Pack),
            How::PerLane | How::Once | How::SingleLane => true,
            // A collective operation of a work-group is a boundary between regions.
            How::Collective => matches!(&data.imm, Imm::Group(info) if info.scope == MemScope::WorkGroup),
            How::Leaf
            | How::Slot
            | How::Query
            | How::Lanewise
            | How::Components
            | How::Bitcast
            | How::Branch
            | How::End
            | How::Foreign => false,
        }
    }

    fn head(&self, block: Block) -> Block {
        match self.heads[block].expand() {
            Some(head) => head,
            None => unreachable!("broken invariant: {block} is not in the order"),
        }
    }

    fn terminator(&self, block: Block) -> Inst {
        match self.func.layout.terminator(block) {
            Some(inst) => inst,
            None => unreachable!("broken invariant: {block} has no terminator"),
        }
    }

    /// Makes all blocks with their branches; conditions are filled in later.
    pub(super) fn make_skeleton(&mut self) {
        let order = self.plan.order.clone();
        for &block in &order {
            let head = self.out.append_block();
            self.heads[block] = Some(head).into();
            if self.func.layout.is_cold(block) {
                self.out.layout.set_cold(head);
            }
        }
        let first = self.head(order[0]);
        Builder::at_end(&mut self.out, self.entry).jump(first, &[]);
        let unknown = Builder::before(&mut self.out, self.entry, 0).undef(Type::B1);
        for &block in &order {
            self.end_block(block, unknown);
        }
        self.skeleton = Some(DomTree::new(&Cfg::new(&self.out)));
    }

    /// Makes the terminator of a block.
    fn end_block(&mut self, block: Block, unknown: Value) {
        let head = self.head(block);
        let deferred = self.plan.deferred[block].clone();
        let inst = self.terminator(block);
        let data = self.func.dfg.inst(inst);
        if let Some(id) = self.plan.latches[block] {
            let header = self.head(self.normal.loops.get(id).header);
            if !self.plan.divergent_loops.contains(&id) {
                Builder::at_end(&mut self.out, head).jump(header, &[]);
                return;
            }
            let out = self.dispatch(&deferred, unknown);
            let calls = (BlockCall::new(header, &[]), BlockCall::new(out, &[]));
            Builder::at_end(&mut self.out, head).branch(unknown, calls.0, calls.1);
            return;
        }
        let targets: Vec<Block> = self.func.dfg.targets(inst).iter().map(|call| call.block).collect();
        if targets.is_empty() {
            Builder::at_end(&mut self.out, head).ret(&[]);
            return;
        }
        if targets.len() == 1 || self.divergence.diverges(block) {
            let mut pending = deferred;
            for &target in &targets {
                insert(&mut pending, self.plan.place[target]);
            }
            self.go_to_first(head, &pending, unknown);
            return;
        }
        // A uniform branch: each edge has its own block for the assignments. A switch may have many.
        let mut paths: Vec<(Block, Block)> = Vec::new();
        let mut path_to: FxHashMap<Block, Block> = FxHashMap::default();
        for &target in &targets {
            if path_to.contains_key(&target) {
                continue;
            }
            let path = self.out.append_block();
            path_to.insert(target, path);
            let mut pending = deferred.clone();
            insert(&mut pending, self.plan.place[target]);
            self.go_to_first(path, &pending, unknown);
            paths.push((target, path));
        }
        let mut imm = data.imm.clone();
        for call in imm.targets_mut() {
            *call = BlockCall::new(path_to[&call.block], &[]);
        }
        // The selector of a switch has its own type.
        let selector_ty = self.func.dfg.ty(data.args[0]);
        let selector = if selector_ty == Type::B1 {
            unknown
        } else {
            Builder::before(&mut self.out, self.entry, 0).undef(selector_ty)
        };
        Builder::at_end(&mut self.out, head).inst(data.op, &[selector], imm, &[]);
        self.edges[block] = paths;
    }

    /// Ends a block: goes to the first pending block, or to the next one if no lane waits for it.
    fn go_to_first(&mut self, from: Block, pending: &[u32], unknown: Value) {
        let Some((&first, rest)) = pending.split_first() else {
            unreachable!("broken invariant: nowhere to go");
        };
        let next = self.plan.at(first);
        let is_root = self.masks.root(next) == next;
        if rest.is_empty() || !is_root || !self.guarded.contains(next) {
            let head = self.head(next);
            Builder::at_end(&mut self.out, from).jump(head, &[]);
            return;
        }
        let otherwise = self.dispatch(rest, unknown);
        let calls = (BlockCall::new(self.head(next), &[]), BlockCall::new(otherwise, &[]));
        let test = Builder::at_end(&mut self.out, from).branch(unknown, calls.0, calls.1);
        self.tests.push((test, next));
    }

    /// The block that continues with the first of some pending blocks.
    fn dispatch(&mut self, pending: &[u32], unknown: Value) -> Block {
        let Some((&first, rest)) = pending.split_first() else {
            unreachable!("broken invariant: nowhere to go");
        };
        let next = self.plan.at(first);
        if rest.is_empty() || !self.guarded.contains(next) || self.masks.root(next) != next {
            return self.head(next);
        }
        let key = Pending::from_slice(pending);
        if let Some(&block) = self.dispatch.get(&key) {
            return block;
        }
        let block = self.out.append_block();
        self.dispatch.insert(key, block);
        self.go_to_first(block, pending, unknown);
        block
    }

    /// Fills a block of the kernel.
    pub(super) fn fill(&mut self, block: Block) {
        self.block = block;
        self.here = self.head(block);
        let mask = self.enter(block);
        for &param in self.func.dfg.params(block) {
            self.enter_param(param);
        }
        let insts = self.func.layout.insts(block);
        let (&terminator, body) = match insts.split_last() {
            Some(split) => split,
            None => unreachable!("broken invariant: {block} is empty"),
        };
        let is_check = |inst: &Inst| self.func.dfg.inst(*inst).op == Opcode::Check;
        for insts in body.chunk_by(|a, b| is_check(a) && is_check(b)) {
            self.loc = self.func.locs[insts[0]];
            match insts {
                [inst] => self.instruction(*inst, mask),
                checks => self.checks(checks, mask),
            }
        }
        self.loc = self.func.locs[terminator];
        self.leave(block, terminator, mask);
    }

    /// The mask at the start of a block.
    fn enter(&mut self, block: Block) -> Mask {
        let root = self.masks.root(block);
        if self.masks.is_full(block) {
            return self.tail_mask;
        }
        if root == block {
            let var = self.waiting_for(block);
            let mask = self.at_start(var, self.here, Type::B1.with_lanes(self.width));
            self.mask_values[block] = Some(mask).into();
            if self.plan.ever_deferred.contains(block) {
                let none = self.mask_constant(false);
                self.assign(var, none);
            }
            if !self.func.layout.is_cold(block) {
                let lines = self.func.layout.insts(block).iter().map(|&inst| self.func.locs[inst].line);
                self.report.masked_blocks.push(lines.collect());
            }
            return Some(mask);
        }
        let Some(mask) = self.mask_values[root].expand() else {
            unreachable!("broken invariant: {root} has not been executed before {block}")
        };
        if self.dominates(root, block) {
            return Some(mask);
        }
        let var = match self.mask_vars.get(&root) {
            Some(&var) => var,
            None => {
                let var = self.ssa.declare(Type::B1.with_lanes(self.width));
                let none = self.mask_constant(false);
                self.ssa.define(var, self.entry, none);
                let head = self.head(root);
                self.ssa.define(var, head, mask);
                self.mask_vars.insert(root, var);
                var
            }
        };
        Some(self.at_start(var, self.here, Type::B1.with_lanes(self.width)))
    }

    /// Whether one block of the kernel is executed before another one on every path there.
    pub(super) fn dominates(&self, a: Block, b: Block) -> bool {
        a == b || self.skeleton.as_ref().is_some_and(|dom| dom.dominates(self.head(a), self.head(b)))
    }

    /// The variable for the mask of lanes that wait for a root.
    fn waiting_for(&mut self, root: Block) -> Var {
        if let Some(var) = self.waiting[root] {
            return var;
        }
        let var = self.ssa.declare(Type::B1.with_lanes(self.width));
        self.waiting[root] = Some(var);
        let none = self.mask_constant(false);
        self.ssa.define(var, self.entry, none);
        var
    }

    /// A constant mask, made in the entry.
    pub(super) fn mask_constant(&mut self, value: bool) -> Value {
        if let Some(made) = self.mask_constants[usize::from(value)].expand() {
            return made;
        }
        let ty = Type::B1.with_lanes(self.width);
        let made = Builder::before(&mut self.out, self.entry, 0).iconst(ty, i64::from(value));
        self.mask_constants[usize::from(value)] = Some(made).into();
        made
    }

    /// Ends a block: the assignments of its edges, and its condition.
    fn leave(&mut self, block: Block, inst: Inst, mask: Mask) {
        let func = self.func;
        let data = func.dfg.inst(inst);
        let calls: Vec<BlockCall> = func.dfg.targets(inst).into_iter().cloned().collect();
        let end = self.here;
        let Some(terminator) = self.out.layout.terminator(end) else {
            unreachable!("broken invariant: the skeleton has no terminator")
        };
        if let Some(id) = self.plan.latches[block] {
            self.edge(block, &calls[0], mask, mask);
            if self.plan.divergent_loops.contains(&id) {
                let mask = match mask {
                    Some(mask) => mask,
                    None => self.mask_constant(true),
                };
                let any = self.at().any(mask);
                self.out.dfg.inst_mut(terminator).args[0] = any;
            }
            return;
        }
        match calls.len() {
            0 => {
                let values = data.args.iter().map(|&arg| self.packs(arg)[0]).collect();
                self.out.dfg.inst_mut(terminator).args = values;
            }
            1 => self.edge(block, &calls[0], mask, mask),
            _ if self.divergence.diverges(block) => {
                for (call, lanes) in self.target_masks(inst, &calls, mask) {
                    self.edge(block, &call, mask, Some(lanes));
                }
            }
            _ => {
                let selector = self.scalar(data.args[0]);
                self.out.dfg.inst_mut(terminator).args[0] = selector;
                let to: FxHashMap<Block, &BlockCall> = calls.iter().map(|call| (call.block, call)).collect();
                for (target, path) in std::mem::take(&mut self.edges[block]) {
                    self.here = path;
                    self.edge(block, to[&target], mask, mask);
                }
            }
        }
    }

    /// The targets of a divergent branch, each once, with the lanes that go there.
    fn target_masks(&mut self, inst: Inst, calls: &[BlockCall], mask: Mask) -> Vec<(BlockCall, Value)> {
        let data = self.func.dfg.inst(inst);
        let selector = self.packs(data.args[0])[0];
        let active = |this: &mut Self, chosen: Value| match mask {
            Some(mask) => this.at().int2(Opcode::And, mask, chosen),
            None => chosen,
        };
        if data.op == Opcode::Branch {
            let other = self.at().int1(Opcode::Not, selector);
            let masks = [active(self, selector), active(self, other)];
            return calls.iter().cloned().zip(masks).collect();
        }
        let Imm::Switch(switch) = &data.imm else { unreachable!("broken invariant: {:?} diverges", data.op) };
        let ty = self.out.dfg.ty(selector);
        let mut chosen: Vec<(BlockCall, Value)> = Vec::new();
        let mut any: Option<Value> = None;
        for (value, call) in &switch.cases {
            let mut b = self.at();
            let value = b.iconst(ty, *value as i64);
            let equal = b.icmp(IntCond::Eq, selector, value);
            any = Some(match any {
                Some(any) => b.int2(Opcode::Or, any, equal),
                None => equal,
            });
            add_lanes(&mut b, &mut chosen, call, equal);
        }
        let default = match any {
            Some(any) => self.at().int1(Opcode::Not, any),
            None => self.mask_constant(true),
        };
        add_lanes(&mut self.at(), &mut chosen, &switch.default, default);
        chosen.into_iter().map(|(call, lanes)| (call, active(self, lanes))).collect()
    }

    /// Emits the assignments of an edge in the current block: the target's parameters, and the lanes that wait for it. The
    /// parameters are assigned for all lanes that are active here: these lanes are not waiting for the target, and if one goes
    /// there later, its values are assigned again. So no mask is needed if all lanes are active here, and the mask of the edge is
    /// computed only if it is used otherwise.
    fn edge(&mut self, from: Block, call: &BlockCall, here: Mask, taken: Mask) {
        let to = call.block;
        let again = self.plan.ever_deferred.contains(to) && !self.is_first_into(from, to);
        // A block without a guard is executed even if no lane waits for it. Then lanes that wait for the target must keep its
        // uniform values.
        let lanes = here.filter(|_| again && !self.guarded.contains(self.masks.root(from)));
        let args: Vec<Vec<Value>> =
            self.func.dfg.params(to).iter().zip(&call.args).map(|(&param, &arg)| self.as_param(param, arg)).collect();
        for (&param, values) in self.func.dfg.params(to).iter().zip(args) {
            let packs = self.is_packs(param);
            for (var, value) in self.param_vars(param).into_iter().zip(values) {
                let value = match here {
                    Some(mask) if again && packs => {
                        let ty = self.out.dfg.ty(value);
                        let old = self.read(var, ty);
                        self.at().select(mask, value, old)
                    }
                    _ if !packs && let Some(lanes) = lanes => {
                        let ty = self.out.dfg.ty(value);
                        let old = self.read(var, ty);
                        let any = self.at().any(lanes);
                        self.at().select(any, value, old)
                    }
                    _ => value,
                };
                self.assign(var, value);
            }
        }
        if self.masks.root(to) == to && !self.masks.is_full(to) {
            let var = self.waiting_for(to);
            let lanes = match taken {
                Some(mask) => mask,
                None => self.mask_constant(true),
            };
            let lanes = if again {
                let old = self.read(var, Type::B1.with_lanes(self.width));
                self.at().int2(Opcode::Or, old, lanes)
            } else {
                lanes
            };
            self.assign(var, lanes);
        }
    }

    /// Whether no lane can be waiting for `to` because of another edge, or of this one in an earlier iteration.
    fn is_first_into(&self, from: Block, to: Block) -> bool {
        let loops = &self.normal.loops;
        loops.innermost(from) == loops.innermost(to) && self.plan.first_pred[to].expand() == Some(from)
    }

    /// Fills in the conditions of the branches that test whether a lane waits.
    pub(super) fn fill_tests(&mut self) {
        for (test, root) in std::mem::take(&mut self.tests) {
            let Some(block) = self.out.layout.block_of(test) else { continue };
            self.here = block;
            let var = self.waiting_for(root);
            let waiting = self.read(var, Type::B1.with_lanes(self.width));
            let any = self.at().any(waiting);
            self.out.dfg.inst_mut(test).args[0] = any;
        }
    }

    /// Resolves variables and removes unreachable blocks.
    pub(super) fn finish(&mut self) {
        let cfg = Cfg::new(&self.out);
        self.out.layout.set_order(cfg.rpo().to_vec());
        let graph = Frontiers::new(&cfg);
        let mut open: Vec<((Var, Block), Value)> = self.placeholders.drain().collect();
        open.sort_by_key(|&(key, _)| key);
        let mut resolved: FxHashMap<Value, Value> = FxHashMap::default();
        for ((var, block), placeholder) in open {
            if cfg.reaches(block) {
                let value = self.ssa.value_at_start(&mut self.out, &graph, var, block);
                resolved.insert(placeholder, value);
            }
        }
        let resolve = |mut value: Value| {
            while let Some(&next) = resolved.get(&value) {
                value = next;
            }
            value
        };
        for &block in cfg.rpo() {
            for i in 0..self.out.layout.insts(block).len() {
                let inst = self.out.layout.insts(block)[i];
                self.out.dfg.map_uses(inst, resolve);
            }
        }
        remove_trivial_params(&mut self.out);
    }
}

/// Adds lanes to those of a target.
fn add_lanes(b: &mut Builder<'_>, chosen: &mut Vec<(BlockCall, Value)>, call: &BlockCall, lanes: Value) {
    match chosen.iter_mut().find(|(other, _)| other.block == call.block) {
        Some((_, all)) => *all = b.int2(Opcode::Or, *all, lanes),
        None => chosen.push((call.clone(), lanes)),
    }
}
