//! Finds loops in which a lane may wait for another lane of its pack: spin locks, and flags that another work-item sets.
//!
//! `while (atomic_cmpxchg(lock, 0, 1) != 0);` ends when work-items run one after another, because each releases the lock after
//! the loop. In a pack, the lane that has acquired the lock waits after the loop until all lanes have left it, which they never
//! do. OpenCL does not guarantee forward progress between work-items (OpenCL C 3.0, 3.2.1), but programs rely on it and other
//! implementations provide it. So a kernel with such a loop has one lane per pack. The analysis looks for a loop
//!
//! 1. with an exit that depends on a read of shared memory, by an atomic or volatile access at an address that stays the same (a
//!    search makes progress by itself), or by a plain access in a loop with a fence;
//! 2. in which a lane can be while other lanes of the pack are elsewhere: after the loop, or on another path of a branch;
//! 3. whose memory these other lanes may write before they reach a barrier, where they wait for all work-items in any case.
//!
//! Some loops look like that but make progress by themselves. They do not limit the width:
//!
//! - retries: `do old = *p; while (atomic_cmpxchg(p, old, f(old)) != old)`. A lane that stays has read a value that another lane
//!   has changed since, so one lane succeeds in each iteration of the pack; likewise `while ((x = atomic_xchg(p, atomic_xchg(p,
//!   0) + x)) != 0)`;
//! - `while ((i = atomic_inc(p)) < n)`: the loop's own additions lead out of it;
//! - `for (i = 0; i < *n; i++)` where `*n` is volatile.

use clift_kir::analysis::{DomTree, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::inst::BlockCall;
use clift_kir::ops::{Effects, MemoryOp, OpClass};
use clift_kir::{
    AtomicOp, BarrierInfo, Block, FloatCond, Imm, Inst, IntCond, Loc, Meeting, MemScope, Opcode, Space, Value,
};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;

use super::divergence::Divergence;
use crate::spmd::transform::normalize::NormalForm;

/// A read that lanes may spin on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockingRead {
    /// The op of the access.
    pub(crate) op: Opcode,
    /// The source location of the access.
    pub(crate) loc: Loc,
}

/// The first read on which lanes may spin until another lane of the pack has written.
pub(crate) fn find_blocking_read(normal: &NormalForm, divergence: &Divergence) -> Option<BlockingRead> {
    let NormalForm { func, cfg, loops, .. } = normal;
    let accesses = |id: LoopId| {
        let mut insts = loops.get(id).blocks.iter().flat_map(|&block| func.layout.insts(block));
        insts.any(|&inst| is_ordered(normal, inst) || func.dfg.inst(inst).op == Opcode::Fence)
    };
    if !loops.iter().any(|(id, _)| accesses(id)) {
        return None;
    }
    let post = DomTree::post(cfg);
    loops.iter().find_map(|(id, data)| {
        let has_fence =
            data.blocks.iter().flat_map(|&b| func.layout.insts(b)).any(|&i| func.dfg.inst(i).op == Opcode::Fence);
        let search = SpinLoopSearch { normal, divergence, post: &post, id, latch: *data.latches.first()?, has_fence };
        search.run()
    })
}

/// The address space of an access to memory that work-items share; `None` for other accesses and other instructions.
fn shared_space(normal: &NormalForm, inst: Inst) -> Option<Space> {
    let dfg = &normal.func.dfg;
    let space = dfg.ty(*dfg.inst(inst).args.first()?).elem.space()?;
    match space {
        Space::Global | Space::Local | Space::Generic => Some(space),
        Space::Private | Space::Constant | Space::Host => None,
    }
}

/// Whether an instruction reads shared memory by an atomic or volatile access.
fn is_ordered(normal: &NormalForm, inst: Inst) -> bool {
    let data = normal.func.dfg.inst(inst);
    let OpClass::Memory(op) = data.op.class() else { return false };
    let is_volatile = || matches!(&data.imm, Imm::Mem(mem) if mem.volatile);
    let reads = match op {
        MemoryOp::Load | MemoryOp::MaskedLoad | MemoryOp::Gather => is_volatile(),
        MemoryOp::AtomicLoad | MemoryOp::AtomicRmw | MemoryOp::AtomicCmpxchg => true,
        MemoryOp::Store
        | MemoryOp::MaskedStore
        | MemoryOp::Scatter
        | MemoryOp::Memcpy
        | MemoryOp::Memset
        | MemoryOp::AtomicStore
        | MemoryOp::Fence => false,
    };
    reads && shared_space(normal, inst).is_some()
}

/// Whether all work-items of a group wait for each other at an instruction.
fn synchronizes_group(normal: &NormalForm, inst: Inst) -> bool {
    match normal.func.dfg.inst(inst).meeting() {
        Some(Meeting::Barrier(BarrierInfo { execution: scope, .. }) | Meeting::Exchange(scope)) => {
            scope == MemScope::WorkGroup
        }
        Some(Meeting::NamedBarrier(_)) => true,
        None => false,
    }
}

/// The analysis of one loop.
struct SpinLoopSearch<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    post: &'a DomTree,
    id: LoopId,
    latch: Block,
    /// Whether the loop has a fence. If so, plain loads see what others write.
    has_fence: bool,
}

impl SpinLoopSearch<'_> {
    fn run(&self) -> Option<BlockingRead> {
        let NormalForm { func, dom, loops, .. } = self.normal;
        let data = loops.get(self.id);
        // If all lanes go through the loop together, none waits for another one of the pack.
        if !self.divergence.in_divergent_region(data.header)
            || self.synchronizes_in_each_iteration()
            || self.is_retry_loop()
        {
            return None;
        }
        let roots: Vec<Value> = data
            .blocks
            .iter()
            .filter(|&&block| self.exits(block).next().is_some())
            .filter_map(|&block| func.layout.terminator(block))
            .filter(|&branch| !self.compares_with_counter(branch))
            .filter_map(|branch| func.dfg.inst(branch).args.first().copied())
            .collect();
        let slice = self.slice(roots, true);
        let mut reads: Vec<Inst> = slice.iter().filter_map(|&value| self.read(value)).collect();
        reads.sort_unstable();
        let read = reads.into_iter().find(|&inst| {
            let address = func.dfg.inst(inst).args[0];
            self.is_invariant_address(address)
                && !self.is_only_added_to(inst)
                && !self.is_exchange_pair(inst)
                && self.other_lanes_write(inst)
        })?;
        debug_assert!(func.layout.block_of(read).is_some_and(|block| dom.dominates(data.header, block)));
        Some(BlockingRead { op: func.dfg.inst(read).op, loc: func.locs[read] })
    }

    fn contains(&self, block: Block) -> bool {
        self.normal.loops.contains(self.id, block)
    }

    /// The successors of a block of the loop that are outside the loop.
    fn exits(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.normal.cfg.succs(block).iter().copied().filter(|&succ| !self.contains(succ))
    }

    /// The block in which a value is defined, if that is in the loop.
    fn home(&self, value: Value) -> Option<Block> {
        let func = &self.normal.func;
        let block = match func.dfg.def(value) {
            ValueDef::Param(block, _) => block,
            ValueDef::Result(inst, _) => func.layout.block_of(inst)?,
        };
        Some(block).filter(|&block| self.contains(block))
    }

    /// The instruction of the loop that reads a value from memory that others may write.
    fn read(&self, value: Value) -> Option<Inst> {
        let func = &self.normal.func;
        let inst = func.dfg.def_inst(value)?;
        self.home(value)?;
        let plain = self.has_fence && func.dfg.inst(inst).op == Opcode::Load;
        (is_ordered(self.normal, inst) || plain && shared_space(self.normal, inst).is_some()).then_some(inst)
    }

    /// Whether every iteration of the loop passes a barrier.
    fn synchronizes_in_each_iteration(&self) -> bool {
        let NormalForm { func, dom, loops, .. } = self.normal;
        loops.get(self.id).blocks.iter().any(|&block| {
            dom.dominates(block, self.latch)
                && func.layout.insts(block).iter().any(|&inst| synchronizes_group(self.normal, inst))
        })
    }

    /// The values of the loop on which others depend: through operands, addresses, and the branches that choose between block
    /// arguments. Dependences from one iteration to the next are followed only if `across_iterations`.
    fn slice(&self, roots: Vec<Value>, across_iterations: bool) -> FxHashSet<Value> {
        let NormalForm { func, cfg, loops, .. } = self.normal;
        let header = loops.get(self.id).header;
        let mut found: FxHashSet<Value> = FxHashSet::default();
        let mut chosen: FxHashSet<Block> = FxHashSet::default();
        let mut open = roots;
        while let Some(value) = open.pop() {
            let Some(home) = self.home(value) else { continue };
            if !found.insert(value) {
                continue;
            }
            match func.dfg.def(value) {
                ValueDef::Result(inst, _) => open.extend(&func.dfg.inst(inst).args),
                ValueDef::Param(..) if home == header && !across_iterations => {}
                ValueDef::Param(_, index) => {
                    open.extend(cfg.preds(home).iter().flat_map(|&pred| self.arguments(pred, home, index)));
                    if home != header && chosen.insert(home) {
                        open.extend(self.selectors_before(home));
                    }
                }
            }
        }
        found
    }

    /// The arguments that a block passes for a parameter of another.
    fn arguments(&self, from: Block, to: Block, index: u16) -> impl Iterator<Item = Value> + '_ {
        let func = &self.normal.func;
        let calls: Vec<&BlockCall> =
            func.layout.terminator(from).map(|inst| func.dfg.targets(inst).into_iter().collect()).unwrap_or_default();
        calls.into_iter().filter(move |call| call.block == to).map(move |call| call.args[usize::from(index)])
    }

    /// The selectors of the branches that decide from which predecessor a block is entered.
    fn selectors_before(&self, join: Block) -> Vec<Value> {
        let NormalForm { func, cfg, dom, .. } = self.normal;
        let top = dom.parent(join);
        let mut seen: FxHashSet<Block> = FxHashSet::default();
        let mut selectors = Vec::new();
        let mut open: Vec<Block> = cfg.preds(join).to_vec();
        while let Some(block) = open.pop() {
            if !self.contains(block) || !seen.insert(block) {
                continue;
            }
            if cfg.succs(block).len() > 1 {
                let terminator = func.layout.terminator(block);
                selectors.extend(terminator.and_then(|inst| func.dfg.inst(inst).args.first()));
            }
            if Some(block) != top {
                open.extend(cfg.preds(block));
            }
        }
        selectors
    }

    /// Whether an address is the same in every iteration, as far as the loop itself changes it.
    fn is_invariant_address(&self, address: Value) -> bool {
        let header = self.normal.loops.get(self.id).header;
        let changes = |&value: &Value| match self.normal.func.dfg.def(value) {
            ValueDef::Param(block, index) => {
                block == header && self.arguments(self.latch, header, index).any(|next| next != value)
            }
            ValueDef::Result(..) => false,
        };
        !self.slice(vec![address], false).iter().any(changes)
    }

    /// Whether an exit compares a loaded value with one that the loop computes by itself, such as an induction variable.
    fn compares_with_counter(&self, branch: Inst) -> bool {
        let func = &self.normal.func;
        let header = self.normal.loops.get(self.id).header;
        let selector = func.dfg.inst(branch).args.first().and_then(|&value| func.dfg.def_inst(value));
        let Some(comparison) = selector.map(|inst| func.dfg.inst(inst)) else { return false };
        if comparison.op != Opcode::Icmp {
            return false;
        }
        let counted = |value: Value| {
            let slice = self.slice(vec![value], true);
            slice.iter().all(|&value| self.read(value).is_none())
                && slice
                    .iter()
                    .any(|&value| matches!(func.dfg.def(value), ValueDef::Param(block, _) if block == header))
        };
        let loaded = |value: Value| {
            let slice = self.slice(vec![value], true);
            slice
                .iter()
                .filter_map(|&value| self.read(value))
                .all(|inst| matches!(func.dfg.inst(inst).op, Opcode::Load | Opcode::AtomicLoad))
        };
        let [a, b] = [comparison.args[0], comparison.args[1]];
        counted(a) && loaded(b) || counted(b) && loaded(a)
    }

    /// A value without the casts that keep its bits.
    fn without_casts(&self, mut value: Value) -> Value {
        let dfg = &self.normal.func.dfg;
        while let Some(inst) = dfg.def_inst(value)
            && matches!(dfg.inst(inst).op, Opcode::Bitcast | Opcode::SpaceCast)
        {
            value = dfg.inst(inst).args[0];
        }
        value
    }

    /// Whether two addresses are certainly the same.
    fn same_address(&self, a: Value, b: Value) -> bool {
        let dfg = &self.normal.func.dfg;
        let [a, b] = [a, b].map(|address| self.without_casts(address));
        let addressing = |value: Value| dfg.def_inst(value).map(|inst| dfg.inst(inst)).filter(|i| i.op == Opcode::Addr);
        a == b || addressing(a).is_some_and(|at| addressing(b) == Some(at))
    }

    /// Whether each iteration ends with a compare-exchange that expects the value just read there, and that leaves the loop when
    /// it succeeds.
    fn is_retry_loop(&self) -> bool {
        let NormalForm { func, dom, loops, .. } = self.normal;
        let in_each_iteration = |block: Block| dom.dominates(block, self.latch);
        let blocks = &loops.get(self.id).blocks;
        let mut exchanges = blocks
            .iter()
            .filter(|&&block| in_each_iteration(block))
            .flat_map(|&block| func.layout.insts(block))
            .filter(|&&inst| func.dfg.inst(inst).op == Opcode::AtomicCmpxchg);
        exchanges.any(|&inst| {
            let data = func.dfg.inst(inst);
            let [pointer, expected] = [data.args[0], data.args[1]];
            let found = func.dfg.result(inst);
            let leads_out = |block: Block| {
                let Some(branch) = func.layout.terminator(block).map(|inst| func.dfg.inst(inst)) else { return false };
                let Imm::Branch(calls) = &branch.imm else { return false };
                let Some(comparison) = func.dfg.def_inst(branch.args[0]).map(|inst| func.dfg.inst(inst)) else {
                    return false;
                };
                let equal = match comparison.imm {
                    Imm::IntCond(IntCond::Eq) => &calls[0],
                    Imm::IntCond(IntCond::Ne) => &calls[1],
                    _ => return false,
                };
                let [a, b] = [comparison.args[0], comparison.args[1]].map(|value| self.without_casts(value));
                let expected = self.without_casts(expected);
                !self.contains(equal.block) && (a == found && b == expected || a == expected && b == found)
            };
            self.was_just_read(expected, pointer, 4)
                && blocks.iter().any(|&block| in_each_iteration(block) && leads_out(block))
        })
    }

    /// Whether a value was read from an address in this iteration, or at the end of the previous one.
    fn was_just_read(&self, value: Value, pointer: Value, depth: u32) -> bool {
        let NormalForm { func, cfg, .. } = self.normal;
        let value = self.without_casts(value);
        let Some(home) = self.home(value) else { return false };
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                let reads =
                    matches!(data.op, Opcode::Load | Opcode::AtomicLoad | Opcode::AtomicRmw | Opcode::AtomicCmpxchg);
                reads && self.same_address(data.args[0], pointer)
            }
            ValueDef::Param(_, index) => {
                let mut paths = cfg.preds(home).iter().filter(|&&pred| self.contains(pred));
                depth > 0
                    && paths.all(|&pred| {
                        self.arguments(pred, home, index).all(|value| self.was_just_read(value, pointer, depth - 1))
                    })
            }
        }
    }

    /// The instructions of the loop that write to an address atomically.
    fn atomics_at(&self, pointer: Value) -> impl Iterator<Item = Inst> + '_ {
        let NormalForm { func, loops, .. } = self.normal;
        let insts = loops.get(self.id).blocks.iter().flat_map(|&block| func.layout.insts(block)).copied();
        insts.filter(move |&inst| {
            let data = func.dfg.inst(inst);
            matches!(data.op, Opcode::AtomicRmw | Opcode::AtomicCmpxchg | Opcode::AtomicStore)
                && self.same_address(data.args[0], pointer)
        })
    }

    /// Whether an atomic adds to a location that the loop changes in no other way.
    fn is_only_added_to(&self, inst: Inst) -> bool {
        let dfg = &self.normal.func.dfg;
        let adds = |inst: Inst| match dfg.inst(inst).imm {
            Imm::Atomic(info) if dfg.inst(inst).op == Opcode::AtomicRmw => {
                [AtomicOp::Add, AtomicOp::Sub].contains(&info.op).then_some(info.op)
            }
            _ => None,
        };
        let Some(op) = adds(inst) else { return false };
        let data = dfg.inst(inst);
        dfg.as_splat_bits(data.args[1]) != Some(0) && self.atomics_at(data.args[0]).all(|other| adds(other) == Some(op))
    }

    /// Whether an exchange is one of a pair that empties a location and refills it with more, until the location is found empty
    /// as it was left.
    fn is_exchange_pair(&self, inst: Inst) -> bool {
        let NormalForm { func, cfg, dom, loops, .. } = self.normal;
        let dfg = &func.dfg;
        let is_exchange = |inst: Inst| {
            let data = dfg.inst(inst);
            data.op == Opcode::AtomicRmw && matches!(&data.imm, Imm::Atomic(info) if info.op == AtomicOp::Xchg)
        };
        let pointer = dfg.inst(inst).args[0];
        let all: Vec<Inst> = self.atomics_at(pointer).collect();
        let [first, second] = all[..] else { return false };
        let blocks = [first, second].map(|inst| func.layout.block_of(inst));
        let ([Some(a), Some(b)], true) = (blocks, is_exchange(first) && is_exchange(second)) else { return false };
        if !dom.dominates(a, b) || !dom.dominates(b, self.latch) {
            return false;
        }
        let Some(empty) = dfg.as_splat_bits(self.without_casts(dfg.inst(first).args[1])) else { return false };
        let refills = self.slice(vec![dfg.inst(second).args[1]], false).contains(&dfg.result(first));
        let leads_out = |block: Block| {
            let Some(branch) = func.layout.terminator(block).map(|inst| dfg.inst(inst)) else { return false };
            let Some(comparison) = branch.args.first().and_then(|&v| dfg.def_inst(v)).map(|inst| dfg.inst(inst)) else {
                return false;
            };
            let equal = match comparison.imm {
                Imm::IntCond(IntCond::Eq) | Imm::FloatCond(FloatCond::Oeq, _) => 0,
                Imm::IntCond(IntCond::Ne) | Imm::FloatCond(FloatCond::Une, _) => 1,
                _ => return false,
            };
            let [x, y] = [comparison.args[0], comparison.args[1]].map(|value| self.without_casts(value));
            x == dfg.result(second) && dfg.as_splat_bits(y) == Some(empty) && !self.contains(cfg.succs(block)[equal])
        };
        refills && loops.get(self.id).blocks.iter().any(|&block| cfg.succs(block).len() == 2 && leads_out(block))
    }

    /// Whether lanes that are elsewhere may write the memory that is read before all work-items meet at a barrier.
    fn other_lanes_write(&self, read: Inst) -> bool {
        let NormalForm { func, cfg, loops, .. } = self.normal;
        let data = loops.get(self.id);
        let synchronizes =
            |block: Block| func.layout.insts(block).iter().any(|&inst| synchronizes_group(self.normal, inst));
        let mut starts: Vec<Block> = Vec::new();
        if data.blocks.iter().any(|&block| self.divergence.diverges(block) && self.diverging_paths_leave(block)) {
            starts.extend(data.blocks.iter().flat_map(|&block| self.exits(block)));
        }
        // Divergent branches on the paths to the loop.
        let mut above: EntitySet<Block> = EntitySet::new();
        let mut open: Vec<Block> = vec![data.header];
        while let Some(block) = open.pop() {
            for &pred in cfg.preds(block) {
                if self.contains(pred) || !above.insert(pred) {
                    continue;
                }
                if self.divergence.diverges(pred) {
                    let others = |&succ: &Block| !self.post.dominates(data.header, succ);
                    starts.extend(cfg.succs(pred).iter().copied().filter(others));
                }
                if !synchronizes(pred) {
                    open.push(pred);
                }
            }
        }
        let mut seen: EntitySet<Block> = EntitySet::new();
        while let Some(block) = starts.pop() {
            if self.contains(block) || !seen.insert(block) {
                continue;
            }
            for &inst in func.layout.insts(block) {
                if self.may_write(inst, read) {
                    return true;
                }
                if synchronizes_group(self.normal, inst) {
                    break;
                }
            }
            if !synchronizes(block) {
                starts.extend(cfg.succs(block));
            }
        }
        false
    }

    /// Whether paths that diverge at a block of the loop lead out of it before they have all met again.
    fn diverging_paths_leave(&self, block: Block) -> bool {
        let cfg = &self.normal.cfg;
        let stop = self.post.parent(block);
        let mut seen: FxHashSet<Block> = FxHashSet::default();
        let mut open: Vec<Block> = cfg.succs(block).to_vec();
        while let Some(at) = open.pop() {
            if Some(at) == stop && self.contains(at) || !seen.insert(at) {
                continue;
            }
            if !self.contains(at) {
                return true;
            }
            open.extend(cfg.succs(at));
        }
        false
    }

    /// Whether an instruction may write the memory that another one reads.
    fn may_write(&self, inst: Inst, read: Inst) -> bool {
        let dfg = &self.normal.func.dfg;
        let (data, read_data) = (dfg.inst(inst), dfg.inst(read));
        let writes = match data.op.info().effects {
            Effects::Write | Effects::ReadWrite => true,
            Effects::Pure | Effects::Read | Effects::Convergent | Effects::Terminator => false,
        };
        if !writes
            || matches!(
                data.op,
                Opcode::AtomicLoad | Opcode::Fence | Opcode::Printf | Opcode::Request | Opcode::Clock | Opcode::Check
            )
        {
            return false;
        }
        let (Some(to), Some(from)) = (shared_space(self.normal, inst), shared_space(self.normal, read)) else {
            return false;
        };
        let alias = |imm: &Imm| if let Imm::Mem(mem) = imm { mem.alias } else { 0 };
        let (a, b) = (alias(&data.imm), alias(&read_data.imm));
        to.may_alias(from) && (a == 0 || b == 0 || a == b)
    }
}
