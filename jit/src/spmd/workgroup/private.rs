//! Private variables that stay in memory: which of them need one copy per work-item.
//!
//! If the content of a variable is never needed on the other side of a region boundary, it is dead whenever another work-item
//! runs, so one copy per worker is enough. The content is needed across a boundary if a write can come before it and a read after
//! it. If the address of a variable escapes from this analysis, its content is assumed to be needed across every boundary.

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Function, Opcode, Slot, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

use super::regions::Regions;
use crate::spmd::class::{Class, class};

/// How one private variable is used.
#[derive(Clone, Debug, Default)]
struct Accesses {
    used: bool,
    escapes: bool,
    reads: EntitySet<Block>,
    writes: EntitySet<Block>,
}

/// How many copies a private variable needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SlotCopies {
    /// None: the kernel does not use the variable.
    #[default]
    None,
    /// One for all work-items that a worker runs one after the other.
    One,
    /// One for each work-item of a group.
    PerItem,
}

/// Decides how many copies each private variable of a kernel needs.
pub(crate) fn copies(regions: &Regions) -> SecondaryMap<Slot, SlotCopies> {
    let func = &regions.func;
    let accesses = accesses(regions);
    let mut copies = SecondaryMap::new();
    for slot in func.slots.keys().filter(|&slot| accesses[slot].used) {
        copies[slot] = SlotCopies::One;
        if accesses[slot].escapes && regions.list.len() > 1 {
            copies[slot] = SlotCopies::PerItem;
        }
    }
    for region in &regions.list[1..] {
        let after = reach(&[region.start], |b| regions.cfg.succs(b));
        let before = reach(regions.cfg.preds(region.start), |b| regions.cfg.preds(b));
        for slot in func.slots.keys() {
            let of = &accesses[slot];
            if of.reads.iter().any(|b| after.contains(b)) && of.writes.iter().any(|b| before.contains(b)) {
                copies[slot] = SlotCopies::PerItem;
            }
        }
    }
    copies
}

/// The blocks that are reachable from the given ones, including these.
fn reach<'a>(from: &[Block], next: impl Fn(Block) -> &'a [Block]) -> EntitySet<Block> {
    let mut seen = EntitySet::new();
    let mut stack = from.to_vec();
    while let Some(block) = stack.pop() {
        if seen.insert(block) {
            stack.extend(next(block));
        }
    }
    seen
}

/// Collects the accesses to each variable by following its address.
fn accesses(regions: &Regions) -> SecondaryMap<Slot, Accesses> {
    let func = &regions.func;
    let mut accesses: SecondaryMap<Slot, Accesses> = SecondaryMap::new();
    for slot in func.slots.keys() {
        let mut derived: EntitySet<Value> = EntitySet::new();
        for &block in regions.cfg.rpo() {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if class(data.op) == Class::SlotAddr && data.imm == clift_kir::Imm::Slot(slot) {
                    derived.insert(func.dfg.result(inst));
                }
            }
        }
        if derived.is_empty() {
            continue;
        }
        let of = &mut accesses[slot];
        of.used = true;
        // A pointer may be passed around a loop: repeat until nothing new is derived.
        loop {
            let known = derived.iter().count();
            for &block in regions.cfg.rpo() {
                follow(func, block, &mut derived, of);
            }
            if derived.iter().count() == known {
                break;
            }
        }
    }
    accesses
}

/// Records how a block uses derived pointers.
fn follow(func: &Function, block: Block, derived: &mut EntitySet<Value>, of: &mut Accesses) {
    use Opcode::{
        Addr, AtomicCmpxchg, AtomicLoad, AtomicRmw, AtomicStore, Gather, Icmp, InSpace, Load, MaskedLoad, MaskedStore,
        Memcpy, Memset, Scatter, Select, SpaceCast, Store,
    };
    const DERIVE: [Opcode; 3] = [Addr, SpaceCast, Select];
    const READ: [Opcode; 6] = [Load, MaskedLoad, Gather, AtomicLoad, AtomicRmw, AtomicCmpxchg];
    const WRITE: [Opcode; 8] = [Store, MaskedStore, Scatter, Memcpy, Memset, AtomicStore, AtomicRmw, AtomicCmpxchg];
    const HARMLESS: [Opcode; 2] = [Icmp, InSpace];
    for &inst in func.layout.insts(block) {
        let data = func.dfg.inst(inst);
        for (i, &arg) in data.args.iter().enumerate() {
            if !derived.contains(arg) {
                continue;
            }
            // With any other use, the address escapes.
            if DERIVE.contains(&data.op) {
                derived.insert(func.dfg.result(inst));
            } else if i == 0 && (READ.contains(&data.op) || WRITE.contains(&data.op)) {
                if READ.contains(&data.op) {
                    of.reads.insert(block);
                }
                if WRITE.contains(&data.op) {
                    of.writes.insert(block);
                }
            } else if i == 1 && data.op == Memcpy {
                of.reads.insert(block);
            } else if !HARMLESS.contains(&data.op) {
                of.escapes = true;
            }
        }
        for target in func.dfg.targets(inst) {
            for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                debug_assert!(matches!(func.dfg.def(param), ValueDef::Param(..)));
                if derived.contains(arg) {
                    derived.insert(param);
                }
            }
        }
    }
}
