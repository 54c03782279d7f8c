//! Which functions a kernel needs, how often, and which of them can be called.

use clift_kir::ops::{AddressOp, CallOp, CollectiveOp, LeafOp, MemoryOp, OpClass};
use clift_kir::{Func, Function, Imm, Module, Space};
use rustc_hash::{FxHashMap, FxHashSet};

use super::inline::called;

/// The calls of a module's kernels and functions.
pub(super) struct CallGraph {
    /// All functions that kernels call, callees first.
    order: Vec<Func>,
    /// The functions that a function calls, and from how many places.
    calls: FxHashMap<Func, FxHashMap<Func, usize>>,
    /// Instructions of each function and kernel itself.
    sizes: FxHashMap<Func, usize>,
    /// Instructions after inlining.
    inlined: FxHashMap<Func, usize>,
    /// Functions that can be called and are large enough for it.
    candidates: FxHashSet<Func>,
}

impl CallGraph {
    /// The graph of what the kernels call.
    pub(super) fn new(module: &Module, kernels: &[Func]) -> CallGraph {
        let mut graph = CallGraph {
            order: Vec::new(),
            calls: FxHashMap::default(),
            sizes: FxHashMap::default(),
            inlined: FxHashMap::default(),
            candidates: FxHashSet::default(),
        };
        // The functions to visit, and whether what they call has been visited.
        let mut work: Vec<(Func, bool)> = kernels.iter().map(|&kernel| (kernel, false)).collect();
        while let Some((func, after)) = work.pop() {
            if after {
                graph.set_size(module, func);
                if !kernels.contains(&func) {
                    graph.order.push(func);
                }
            } else if !graph.calls.contains_key(&func) {
                let calls = graph.count_calls(module, func);
                work.push((func, true));
                work.extend(calls.into_iter().map(|callee| (callee, false)));
            }
        }
        graph
    }

    fn count_calls(&mut self, module: &Module, func: Func) -> Vec<Func> {
        let mut calls: FxHashMap<Func, usize> = FxHashMap::default();
        let mut order = Vec::new();
        for callee in called(&module.funcs[func]) {
            let count = calls.entry(callee).or_default();
            *count += 1;
            if *count == 1 {
                order.push(callee);
            }
        }
        self.calls.insert(func, calls);
        order
    }

    fn set_size(&mut self, module: &Module, func: Func) {
        let layout = &module.funcs[func].layout;
        let own: usize = layout.blocks().iter().map(|&block| layout.insts(block).len()).sum();
        self.sizes.insert(func, own);
        self.set_inlined_size(func);
    }

    fn set_inlined_size(&mut self, func: Func) {
        let called = self.calls[&func].iter().map(|(callee, &count)| self.inlined[callee].saturating_mul(count));
        let all = called.fold(self.sizes[&func], usize::saturating_add);
        self.inlined.insert(func, all);
    }

    /// All functions that kernels call, callees first.
    pub(super) fn bottom_up(&self) -> Vec<Func> {
        self.order.clone()
    }

    /// Instructions of a function or kernel into which all calls are inlined.
    pub(super) fn inlined_size(&self, func: Func) -> usize {
        let called = self.calls[&func].iter().map(|(callee, &count)| self.inlined[callee].saturating_mul(count));
        called.fold(self.sizes[&func], usize::saturating_add)
    }

    /// Whether a function can be called, and is large enough.
    pub(super) fn is_candidate(&self, func: Func) -> bool {
        self.candidates.contains(&func)
    }

    /// Records that a function has been optimized; what it still calls are candidates. It becomes one if it has at least as many
    /// instructions.
    pub(super) fn optimized(&mut self, module: &Module, func: Func, least: usize) {
        self.count_calls(module, func);
        self.set_size(module, func);
        if self.inlined[&func] >= least && can_be_called(module, &module.funcs[func]) {
            self.candidates.insert(func);
        }
    }

    /// The candidates that a kernel needs at least so many times, after inlining what it needs less often.
    pub(super) fn repeated(&self, kernel: Func, times: usize) -> Vec<Func> {
        let mut copies: FxHashMap<Func, usize> = FxHashMap::default();
        let mut chosen = Vec::new();
        for &func in [kernel].iter().chain(self.order.iter().rev()) {
            let mut count = if func == kernel { 1 } else { copies.get(&func).copied().unwrap_or(0) };
            if func != kernel && self.is_candidate(func) && count >= times {
                chosen.push(func);
                count = 1;
            }
            if count > 0 {
                for (&callee, &times) in &self.calls[&func] {
                    let copies = copies.entry(callee).or_default();
                    *copies = copies.saturating_add(times.saturating_mul(count));
                }
            }
        }
        chosen
    }
}

/// Whether a function can be called: it has no part in what the work-items of a group do together, and does not wait for others.
/// What it asks of its work-item, its caller passes to it ([`super::work_item`]).
fn can_be_called(module: &Module, func: &Function) -> bool {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.map(|&inst| func.dfg.inst(inst)).all(|data| match data.op.class() {
        OpClass::Leaf(op) => match op {
            LeafOp::Const | LeafOp::Undef | LeafOp::SlotAddr => true,
            LeafOp::Arg | LeafOp::ArgAddr => false,
            LeafOp::GlobalAddr => {
                !matches!(data.imm, Imm::Global(global) if module.globals[global].space == Space::Local)
            }
        },
        OpClass::Memory(op) => match op {
            // Loops may wait for what other work-items write.
            MemoryOp::Load | MemoryOp::Store | MemoryOp::Memcpy | MemoryOp::Memset => {
                !matches!(data.imm, Imm::Mem(mem) if mem.volatile)
            }
            MemoryOp::MaskedLoad | MemoryOp::MaskedStore | MemoryOp::Gather | MemoryOp::Scatter => true,
            MemoryOp::AtomicLoad
            | MemoryOp::AtomicStore
            | MemoryOp::AtomicRmw
            | MemoryOp::AtomicCmpxchg
            | MemoryOp::Fence => false,
        },
        OpClass::Call(op) => match op {
            // Whatever it still calls can be called.
            CallOp::Call | CallOp::LibCall | CallOp::Clock => true,
            CallOp::Printf | CallOp::Request | CallOp::Check => false,
        },
        OpClass::Address(AddressOp::Addr)
        | OpClass::Int(_)
        | OpClass::Float(_)
        | OpClass::Convert(_)
        | OpClass::Lane(_)
        | OpClass::Query(_)
        | OpClass::Terminator(_) => true,
        OpClass::Collective(op) => match op {
            CollectiveOp::PackAny => true,
            CollectiveOp::GroupReduce
            | CollectiveOp::GroupScan
            | CollectiveOp::GroupScanExclusive
            | CollectiveOp::GroupBallot
            | CollectiveOp::GroupShuffle => false,
        },
        OpClass::Address(AddressOp::InSpace) | OpClass::Sync(_) | OpClass::Image(_) => false,
    })
}
