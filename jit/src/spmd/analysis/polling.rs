//! Loops that poll: their end depends on what others write to shared memory.
//!
//! Two analyses ask which loops wait for others. [`super::spin_loops`] finds those in which a lane would wait for another lane of
//! its pack, so that packs are not possible. [`waiting_loops`] finds those in which a work-item may wait for another sub-group of
//! its work-group, so that the sub-groups are scheduled round-robin ([`crate::spmd::transform::yields`]).
//!
//! Some loops look like that but make progress by themselves:
//!
//! - retries: `do old = *p; while (atomic_cmpxchg(p, old, f(old)) != old)`. If it fails, another work-item has succeeded;
//!   likewise `while ((x = atomic_xchg(p, atomic_xchg(p, 0) + x)) != 0)`;
//! - `while ((i = atomic_inc(p)) < n)`: the loop's own additions lead out of it;
//! - `for (i = 0; i < *n; i++)` where `*n` is volatile;
//! - searches through memory in one direction.

mod bystanders;

use clift_kir::analysis::LoopId;
use clift_kir::dfg::ValueDef;
use clift_kir::inst::BlockCall;
use clift_kir::ops::{Effects, MemoryOp, OpClass};
use clift_kir::{
    AtomicOp, BarrierInfo, Block, FloatCond, Function, Imm, Inst, IntCond, Meeting, MemScope, Opcode, Space, Value,
};
use rustc_hash::FxHashSet;

use crate::spmd::transform::normalize::NormalForm;

/// How surely a loop waits for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    /// It reads one location until another work-item has written to it.
    Surely,
    /// It reads several locations. Usually it finds what it looks for, as in a hash table; it waits if others have to write it
    /// first.
    Perhaps,
}

/// The loops in which a work-item may wait for others of its work-group, or may keep them from something that others can see,
/// with their latches.
pub(crate) fn waiting_loops(
    normal: &NormalForm,
    required_local_size: Option<[u64; 3]>,
) -> Vec<(LoopId, Block, Waiting)> {
    let polling = normal.loops.iter().filter_map(|(id, _)| PollingLoop::new(normal, id));
    let waiting = polling.filter_map(|polling| {
        let waiting = polling.waits()?;
        (!bystanders::can_wait(&polling, required_local_size)).then_some((polling.id, polling.latch, waiting))
    });
    waiting.collect()
}

/// Whether an instruction may write the memory that another one reads.
pub(super) fn may_write(func: &Function, inst: Inst, read: Inst) -> bool {
    let (data, read_data) = (func.dfg.inst(inst), func.dfg.inst(read));
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
    let (Some(to), Some(from)) = (shared_space(func, inst), shared_space(func, read)) else {
        return false;
    };
    let alias = |imm: &Imm| if let Imm::Mem(mem) = imm { mem.alias } else { 0 };
    let (a, b) = (alias(&data.imm), alias(&read_data.imm));
    to.may_alias(from) && (a == 0 || b == 0 || a == b)
}

/// The address space of an access to memory that work-items share; `None` for other accesses and other instructions.
pub(super) fn shared_space(func: &Function, inst: Inst) -> Option<Space> {
    let space = func.dfg.ty(*func.dfg.inst(inst).args.first()?).elem.space()?;
    match space {
        Space::Global | Space::Local | Space::Generic => Some(space),
        Space::Private | Space::Constant | Space::Host => None,
    }
}

/// Whether an instruction reads shared memory by an atomic or volatile access.
pub(crate) fn is_ordered_read(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
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
    reads && shared_space(func, inst).is_some()
}

/// Whether a function has what polling loops have: reads that see what others write, or fences.
pub(crate) fn may_poll(func: &Function) -> bool {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| is_ordered_read(func, inst) || func.dfg.inst(inst).op == Opcode::Fence)
}

/// Whether all work-items of a group wait for each other at an instruction.
pub(super) fn synchronizes_group(func: &Function, inst: Inst) -> bool {
    match func.dfg.inst(inst).meeting() {
        Some(Meeting::Barrier(BarrierInfo { execution: scope, .. }) | Meeting::Exchange(scope)) => {
            scope == MemScope::WorkGroup
        }
        Some(Meeting::NamedBarrier(_)) => true,
        None => false,
    }
}

/// The analysis of one loop.
pub(super) struct PollingLoop<'a> {
    pub(super) normal: &'a NormalForm,
    pub(super) id: LoopId,
    pub(super) latch: Block,
    /// Whether the loop has a fence. If so, plain loads see what others write.
    has_fence: bool,
}

impl<'a> PollingLoop<'a> {
    /// A loop, if it has reads that see what others write, or fences.
    pub(super) fn new(normal: &'a NormalForm, id: LoopId) -> Option<PollingLoop<'a>> {
        let NormalForm { func, loops, .. } = normal;
        let data = loops.get(id);
        let insts = || data.blocks.iter().flat_map(|&block| func.layout.insts(block)).copied();
        let has_fence = insts().any(|inst| func.dfg.inst(inst).op == Opcode::Fence);
        if !has_fence && !insts().any(|inst| is_ordered_read(func, inst)) {
            return None;
        }
        Some(PollingLoop { normal, id, latch: *data.latches.first()?, has_fence })
    }

    /// Whether a work-item in the loop may wait for another one of its work-group, wherever that is.
    fn waits(&self) -> Option<Waiting> {
        if self.synchronizes_in_each_iteration() || self.is_retry_loop() || self.is_finite_work() {
            return None;
        }
        let func = &self.normal.func;
        let reads = self.reads_before_exits().into_iter();
        reads
            .filter(|&inst| !self.is_only_added_to(inst) && !self.is_exchange_pair(inst))
            .filter_map(|inst| {
                let address = func.dfg.inst(inst).args[0];
                if self.is_invariant_address(address) {
                    Some(Waiting::Surely)
                } else {
                    (!self.is_search(address)).then_some(Waiting::Perhaps)
                }
            })
            .max_by_key(|&waiting| waiting == Waiting::Surely)
    }

    /// The reads of shared memory on which the exits of the loop depend, apart from bounds that a counter is compared with.
    pub(super) fn reads_before_exits(&self) -> Vec<Inst> {
        let NormalForm { func, loops, .. } = self.normal;
        let roots: Vec<Value> = loops
            .get(self.id)
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
        reads
    }

    /// Whether the loop ends after some number of iterations whatever others write, and does not count them only to wait for so
    /// long.
    pub(super) fn is_finite_work(&self) -> bool {
        let NormalForm { func, dom, loops, .. } = self.normal;
        let data = loops.get(self.id);
        let params = func.dfg.params(data.header);
        let is_counted = |&&block: &&Block| {
            let Some(branch) = func.layout.terminator(block) else { return false };
            let slice = self.slice(func.dfg.inst(branch).args.first().copied().into_iter().collect(), true);
            dom.dominates(block, self.latch)
                && self.exits(block).next().is_some()
                && slice.iter().any(|value| params.contains(value))
                && slice.iter().all(|&value| self.read(value).is_none())
        };
        let Some(&counted) = data.blocks.iter().find(is_counted) else { return false };
        // What the loop needs to count. If it computes nothing else, it counts in order to wait.
        let branch = func.layout.terminator(counted);
        let counter =
            self.slice(branch.and_then(|inst| func.dfg.inst(inst).args.first().copied()).into_iter().collect(), true);
        let writes = data.blocks.iter().flat_map(|&block| func.layout.insts(block)).any(|&inst| {
            let data = func.dfg.inst(inst);
            matches!(data.op, Opcode::Store | Opcode::Memcpy | Opcode::Memset)
        });
        writes || params.iter().any(|param| !counter.contains(param))
    }

    /// Whether an address moves through memory in one direction.
    fn is_search(&self, address: Value) -> bool {
        let func = &self.normal.func;
        let header = self.normal.loops.get(self.id).header;
        let slice = self.slice(vec![address], true);
        slice.iter().all(|&value| match func.dfg.def(value) {
            ValueDef::Param(..) => true,
            ValueDef::Result(inst, _) => {
                let cyclic = matches!(func.dfg.inst(inst).op, Opcode::And | Opcode::Urem | Opcode::Srem);
                !cyclic && self.read(value).is_none()
            }
        }) && slice.iter().any(|&value| matches!(func.dfg.def(value), ValueDef::Param(block, _) if block == header))
    }

    pub(super) fn contains(&self, block: Block) -> bool {
        self.normal.loops.contains(self.id, block)
    }

    /// The successors of a block of the loop that are outside the loop.
    pub(super) fn exits(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.normal.cfg.succs(block).iter().copied().filter(|&succ| !self.contains(succ))
    }

    /// The block in which a value is defined, if that is in the loop.
    fn home(&self, value: Value) -> Option<Block> {
        self.normal.func.def_block(value).filter(|&block| self.contains(block))
    }

    /// The instruction of the loop that reads a value from memory that others may write.
    fn read(&self, value: Value) -> Option<Inst> {
        let func = &self.normal.func;
        let inst = func.dfg.def_inst(value)?;
        self.home(value)?;
        let plain = self.has_fence && func.dfg.inst(inst).op == Opcode::Load;
        (is_ordered_read(func, inst) || plain && shared_space(func, inst).is_some()).then_some(inst)
    }

    /// Whether every iteration of the loop passes a barrier.
    pub(super) fn synchronizes_in_each_iteration(&self) -> bool {
        let NormalForm { func, dom, loops, .. } = self.normal;
        loops.get(self.id).blocks.iter().any(|&block| {
            dom.dominates(block, self.latch)
                && func.layout.insts(block).iter().any(|&inst| synchronizes_group(func, inst))
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
    pub(super) fn is_invariant_address(&self, address: Value) -> bool {
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
    pub(super) fn is_retry_loop(&self) -> bool {
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
                let Imm::IntCond(cond @ (IntCond::Eq | IntCond::Ne)) = comparison.imm else { return false };
                let equal = &calls[usize::from(cond == IntCond::Ne)];
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
    pub(super) fn is_only_added_to(&self, inst: Inst) -> bool {
        let dfg = &self.normal.func.dfg;
        let adds = |inst: Inst| {
            if let Imm::Atomic(info) = dfg.inst(inst).imm
                && dfg.inst(inst).op == Opcode::AtomicRmw
            {
                [AtomicOp::Add, AtomicOp::Sub].contains(&info.op).then_some(info.op)
            } else {
                None
            }
        };
        let Some(op) = adds(inst) else { return false };
        let data = dfg.inst(inst);
        dfg.as_splat_bits(data.args[1]) != Some(0) && self.atomics_at(data.args[0]).all(|other| adds(other) == Some(op))
    }

    /// Whether an exchange is one of a pair that empties a location and refills it with more, until the location is found empty
    /// as it was left.
    pub(super) fn is_exchange_pair(&self, inst: Inst) -> bool {
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
            let equal = if let Imm::IntCond(IntCond::Eq) | Imm::FloatCond(FloatCond::Oeq, _) = comparison.imm {
                0
            } else if let Imm::IntCond(IntCond::Ne) | Imm::FloatCond(FloatCond::Une, _) = comparison.imm {
                1
            } else {
                return false;
            };
            let [x, y] = [comparison.args[0], comparison.args[1]].map(|value| self.without_casts(value));
            x == dfg.result(second) && dfg.as_splat_bits(y) == Some(empty) && !self.contains(cfg.succs(block)[equal])
        };
        refills && loops.get(self.id).blocks.iter().any(|&block| cfg.succs(block).len() == 2 && leads_out(block))
    }
}
