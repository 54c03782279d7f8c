//! The layout of private variables. In structure-of-arrays layout, element i of all lanes is contiguous, so that lanes that
//! access the same index access neighbouring addresses.
//!
//! This is possible for a variable whose accesses have aligned elements and whose address is used only for such accesses. The
//! largest element is the *granule*: the granules of all lanes are contiguous, so that their offsets are multiplied by W, and the
//! lanes are one granule apart. Smaller elements, such as the bytes of a message block that a hash function reads as words, are
//! *parts* of granules ([`memory/parts.rs`](crate::spmd::vectorize)):
//!
//! ```text
//! W = 4, granules of 4 bytes:   lane 0: 0 1 2 3   lane 1: 0 1 2 3   lane 2: 0 1 2 3   lane 3: 0 1 2 3   lane 0: 4 5 6 7   ...
//! ```
//!
//! A variable with the same content in all lanes is *shared*: all stores are executed by all lanes, at indices and of values
//! that they share. That is how work-groups of one work-item fill a table that was written for the local memory of larger ones.
//! One copy serves the pack, which fits the cache where W copies would not.
//!
//! All other variables have one whole copy per lane, one after the other.

use clift_kir::{Block, Function, Imm, Opcode, Slot, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Scope;
use crate::spmd::class::{Class, class};

/// Which variables are interleaved lane by lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interleaved {
    /// The granule of each interleaved variable, in bytes.
    granules: SecondaryMap<Slot, Option<u32>>,
    /// The interleaved or shared variable into which a pointer points.
    pointers: SecondaryMap<Value, PackedOption<Slot>>,
    /// The shared variables.
    shared: EntitySet<Slot>,
}

/// A pointer into a variable.
#[derive(Clone, Copy, Default)]
struct Into {
    slot: PackedOption<Slot>,
    /// The power of two of which its offset is a multiple, as an exponent.
    alignment: u32,
    /// Whether its offset differs between lanes.
    varies: bool,
}

impl Interleaved {
    /// Finds the interleaved and the shared variables of a function. `order` lists its blocks so that definitions come before
    /// uses.
    pub(crate) fn new(func: &Function, order: &[Block], divergence: &Divergence) -> Interleaved {
        if func.slots.is_empty() {
            return Interleaved::default();
        }
        // Variables that do not qualify are marked as failed.
        let mut into: SecondaryMap<Value, Into> = SecondaryMap::new();
        let mut granules: SecondaryMap<Slot, u32> = SecondaryMap::new();
        let mut failed: SecondaryMap<Slot, bool> = SecondaryMap::new();
        // Variables that differ between lanes, or are volatile.
        let mut differs: SecondaryMap<Slot, bool> = SecondaryMap::new();
        let is_uniform = |value: Value| divergence.shape(value).is_uniform(Scope::Pack);
        for &block in order {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if class(data.op) == Class::SlotAddr
                    && let Imm::Slot(slot) = data.imm
                {
                    into[func.dfg.result(inst)] = Into { slot: slot.into(), alignment: u64::BITS, varies: false };
                    continue;
                }
                for (i, &arg) in data.args.iter().enumerate() {
                    let Into { slot, alignment, varies } = into[arg];
                    let Some(slot) = slot.expand() else { continue };
                    match (data.op, &data.imm) {
                        (Opcode::Addr, &Imm::Addr { scale, disp }) if i == 0 && !func.dfg.ty(arg).is_vector() => {
                            let step = if data.args.len() > 1 { scale } else { 0 };
                            let alignment = alignment.min(step.trailing_zeros()).min(disp.trailing_zeros());
                            let varies = varies || data.args.get(1).is_some_and(|&index| !is_uniform(index));
                            into[func.dfg.result(inst)] = Into { slot: slot.into(), alignment, varies };
                        }
                        (Opcode::Load | Opcode::Store, &Imm::Mem(mem)) if i == 0 => {
                            let value = func.dfg.single_result(inst).unwrap_or_else(|| data.args[1]);
                            let elem = func.dfg.ty(value).elem;
                            // Declared alignments are those of addresses.
                            let declared = mem.align.min(func.slots[slot].align);
                            let is_aligned = alignment >= elem.bytes().ilog2() || declared >= elem.bytes();
                            failed[slot] |= !is_aligned;
                            let is_shared_store =
                                !varies && is_uniform(value) && !divergence.in_divergent_region(block);
                            differs[slot] |= mem.volatile || data.op == Opcode::Store && !is_shared_store;
                            granules[slot] = granules[slot].max(elem.bytes());
                        }
                        // Anything else may access any bytes.
                        (_, _) => failed[slot] = true,
                    }
                }
                for target in func.dfg.targets(inst) {
                    for &arg in &target.args {
                        if let Some(slot) = into[arg].slot.expand() {
                            failed[slot] = true;
                        }
                    }
                }
            }
        }
        let mut interleaved = Interleaved::default();
        for (slot, data) in &func.slots {
            let granule = granules[slot];
            let fits = !failed[slot] && granule > 0 && data.size.is_multiple_of(u64::from(granule));
            if fits && !differs[slot] {
                interleaved.shared.insert(slot);
            } else {
                interleaved.granules[slot] = fits.then_some(granule);
            }
        }
        for value in into.keys() {
            let slot = into[value]
                .slot
                .expand()
                .filter(|&slot| interleaved.granules[slot].is_some() || interleaved.shared.contains(slot));
            interleaved.pointers[value] = slot.into();
        }
        interleaved
    }

    /// The distance between the lanes of an interleaved variable, in bytes.
    pub(crate) fn granule(&self, slot: Slot) -> Option<u32> {
        self.granules[slot]
    }

    /// Whether one copy of a variable serves all lanes.
    pub(crate) fn is_shared(&self, slot: Slot) -> bool {
        self.shared.contains(slot)
    }

    /// As [`Self::is_shared`], for the variable into which a pointer points.
    pub(crate) fn is_shared_at(&self, pointer: Value) -> bool {
        self.pointers[pointer].expand().is_some_and(|slot| self.shared.contains(slot))
    }

    /// As [`Self::granule`], for the variable into which a pointer points.
    pub(crate) fn granule_at(&self, pointer: Value) -> Option<u32> {
        self.pointers[pointer].expand().and_then(|slot| self.granules[slot])
    }
}
