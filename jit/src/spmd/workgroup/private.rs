//! Private variables that stay in memory: which of them need one copy per work-item.
//!
//! If the content of a variable is never needed on the other side of a region boundary, it is dead whenever another work-item
//! runs, so one copy per worker is enough. The content is needed across a boundary if a write can come before it and a read after
//! it. If the address of a variable escapes from this analysis, its content is assumed to be needed across every boundary.

use clift_kir::{Block, Function, Imm, Inst, Opcode, Slot, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;

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
    let mut open: Vec<Slot> = Vec::new();
    for slot in func.slots.keys().filter(|&slot| accesses[slot].used) {
        if accesses[slot].escapes && regions.list.len() > 1 {
            copies[slot] = SlotCopies::PerItem;
        } else {
            copies[slot] = SlotCopies::One;
            open.push(slot);
        }
    }
    let boundaries = &regions.list[1..];
    let is_needed: Vec<bool> = match open.len() <= boundaries.len() {
        true => open.iter().map(|&slot| is_needed_across(regions, &accesses[slot])).collect(),
        false => {
            let mut needed = vec![false; open.len()];
            for region in boundaries {
                let after = reach(&[region.start], |b| regions.cfg.succs(b));
                let before = reach(regions.cfg.preds(region.start), |b| regions.cfg.preds(b));
                for (needed, &slot) in needed.iter_mut().zip(&open) {
                    let of = &accesses[slot];
                    *needed |=
                        of.reads.iter().any(|b| after.contains(b)) && of.writes.iter().any(|b| before.contains(b));
                }
            }
            needed
        }
    };
    for (&slot, _) in open.iter().zip(&is_needed).filter(|&(_, &needed)| needed) {
        copies[slot] = SlotCopies::PerItem;
    }
    copies
}

/// Whether a variable may be written before a region boundary and read after it.
fn is_needed_across(regions: &Regions, of: &Accesses) -> bool {
    let Regions { cfg, list, .. } = regions;
    let blocks = |set: &EntitySet<Block>| set.iter().collect::<Vec<Block>>();
    let written = reach(&blocks(&of.writes), |b| cfg.succs(b));
    let read = reach(&blocks(&of.reads), |b| cfg.preds(b));
    list[1..]
        .iter()
        .any(|region| read.contains(region.start) && cfg.preds(region.start).iter().any(|&pred| written.contains(pred)))
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

/// Collects the accesses to each variable by following its address to all its uses.
fn accesses(regions: &Regions) -> SecondaryMap<Slot, Accesses> {
    let func = &regions.func;
    let mut pointers = Pointers::default();
    let mut addresses: Vec<(Slot, Value)> = Vec::new();
    for &block in regions.cfg.rpo() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if let (Class::SlotAddr, &Imm::Slot(slot)) = (class(data.op), &data.imm) {
                addresses.push((slot, func.dfg.result(inst)));
            }
            func.dfg.for_each_use(inst, |value| {
                if func.dfg.ty(value).is_ptr() {
                    pointers.users[value].push((block, inst));
                }
            });
        }
    }
    addresses.sort_unstable();
    let mut accesses: SecondaryMap<Slot, Accesses> = SecondaryMap::new();
    for of_slot in addresses.chunk_by(|a, b| a.0 == b.0) {
        let of = &mut accesses[of_slot[0].0];
        of.used = true;
        pointers.derived.clear();
        pointers.work.extend(of_slot.iter().map(|&(_, address)| address));
        while let Some(value) = pointers.work.pop() {
            if pointers.derived.insert(value) {
                pointers.follow(func, value, of);
            }
        }
    }
    accesses
}

/// Uses of pointers, and those that were found to be derived from the variable in question.
#[derive(Default)]
struct Pointers {
    users: SecondaryMap<Value, Vec<(Block, Inst)>>,
    derived: FxHashSet<Value>,
    work: Vec<Value>,
}

impl Pointers {
    /// Notes what is done with a derived pointer.
    fn follow(&mut self, func: &Function, pointer: Value, of: &mut Accesses) {
        use Opcode::{
            Addr, AtomicCmpxchg, AtomicLoad, AtomicRmw, AtomicStore, Gather, Icmp, InSpace, Load, MaskedLoad,
            MaskedStore, Memcpy, Memset, Scatter, Select, SpaceCast, Store,
        };
        const DERIVE: [Opcode; 3] = [Addr, SpaceCast, Select];
        const READ: [Opcode; 6] = [Load, MaskedLoad, Gather, AtomicLoad, AtomicRmw, AtomicCmpxchg];
        const WRITE: [Opcode; 8] = [Store, MaskedStore, Scatter, Memcpy, Memset, AtomicStore, AtomicRmw, AtomicCmpxchg];
        const HARMLESS: [Opcode; 2] = [Icmp, InSpace];
        for &(block, inst) in &self.users[pointer] {
            let data = func.dfg.inst(inst);
            for (i, _) in data.args.iter().enumerate().filter(|&(_, &arg)| arg == pointer) {
                // An op that is not named may let the address escape.
                if DERIVE.contains(&data.op) {
                    self.work.push(func.dfg.result(inst));
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
                    if arg == pointer {
                        self.work.push(param);
                    }
                }
            }
        }
    }
}
