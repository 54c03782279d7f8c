//! Which accesses of a group's work-items may be concurrent: those in the same *interval*, which is what work-items execute
//! from a barrier (or their start) to the next one.
//!
//! All work-items of a group pass the same barriers, so that they are in the same interval only if they have started from the
//! same barrier. A forward data-flow analysis finds from which barriers each place is reached without another one in between;
//! accesses are concurrent only if they have one in common. Kernels in which some work-items pass other barriers have a bug
//! that `barrier` reports.

use clift_kir::analysis::{Cfg, cyclic_components};
use clift_kir::{Block, Function, Inst};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::super::groups::{Participants, participants};
use clift_include::check::{ORDERS_GLOBAL, ORDERS_LOCAL};

/// A set of places where intervals start, one bit each; barriers share bits if there are more than 63.
pub(super) type Starts = u64;

/// Where intervals start from which an access is reached, for local and for global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) local: Starts,
    pub(super) global: Starts,
}

impl Reached {
    fn pass(&mut self, bit: Starts, orders: u64) {
        if orders & ORDERS_LOCAL != 0 {
            self.local = bit;
        }
        if orders & ORDERS_GLOBAL != 0 {
            self.global = bit;
        }
    }
}

/// The barriers of a kernel.
#[derive(Debug)]
pub(super) struct Intervals {
    at: FxHashMap<Inst, Reached>,
    /// Number of barriers of the work-group.
    pub(super) barriers: u32,
    /// The memory that barriers order.
    pub(super) orders: u64,
    /// Whether a work-item may pass one of them several times.
    pub(super) in_loop: bool,
}

impl Intervals {
    /// Looks at the places of `accesses`.
    pub(super) fn new(func: &Function, accesses: impl Fn(Inst) -> bool) -> Intervals {
        let cfg = Cfg::new(func);
        let mut bits: FxHashMap<Inst, (Starts, u64)> = FxHashMap::default();
        let (mut barriers, mut all) = (0, 0);
        for &block in cfg.rpo() {
            for &inst in func.layout.insts(block) {
                if let Some(Participants::Group(orders)) = participants(func, inst) {
                    bits.insert(inst, (1 << (1 + barriers % 63), orders));
                    barriers += 1;
                    all |= orders;
                }
            }
        }
        let mut entries: SecondaryMap<Block, Reached> = SecondaryMap::new();
        if let Some(entry) = func.layout.entry() {
            entries[entry] = Reached { local: 1, global: 1 };
        }
        let through = |block: Block, mut state: Reached, mut see: Option<&mut FxHashMap<Inst, Reached>>| {
            for &inst in func.layout.insts(block) {
                if let Some(at) = see.as_deref_mut()
                    && accesses(inst)
                {
                    at.insert(inst, state);
                }
                if let Some(&(bit, orders)) = bits.get(&inst) {
                    state.pass(bit, orders);
                }
            }
            state
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.rpo() {
                let out = if bits.is_empty() { entries[block] } else { through(block, entries[block], None) };
                for &successor in cfg.succs(block) {
                    let old = entries[successor];
                    let new = Reached { local: old.local | out.local, global: old.global | out.global };
                    changed |= old != new;
                    entries[successor] = new;
                }
            }
        }
        let mut at = FxHashMap::default();
        for &block in cfg.rpo() {
            through(block, entries[block], Some(&mut at));
        }
        let cycles = cyclic_components(&cfg);
        let in_loop = bits.keys().any(|&inst| func.layout.block_of(inst).is_some_and(|block| cycles[block] != 0));
        Intervals { at, barriers, orders: all, in_loop }
    }

    /// From where an access is reached. Code that is never executed is not reached.
    pub(super) fn at(&self, inst: Inst) -> Reached {
        self.at.get(&inst).copied().unwrap_or_default()
    }
}
