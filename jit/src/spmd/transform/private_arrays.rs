//! The layout of private variables. In structure-of-arrays layout, element i of all lanes is contiguous, so that lanes that
//! access the same index access neighbouring addresses.
//!
//! This is possible for a variable whose accesses all have elements of one size, the *granule*, at multiples of that size, and
//! whose address is used only for such accesses. Its offsets are multiplied by W, and the lanes are one granule apart. All other
//! variables have one whole copy per lane, one after the other.

use clift_kir::{Block, Function, Imm, Opcode, Slot, Value};
use cranelift_entity::SecondaryMap;

use crate::spmd::class::{Class, class};

/// Which variables are interleaved lane by lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interleaved {
    /// The granule of each interleaved variable, in bytes.
    granules: SecondaryMap<Slot, Option<u32>>,
    /// The granule of the interleaved variable into which a pointer points.
    pointers: SecondaryMap<Value, Option<u32>>,
}

impl Interleaved {
    /// Finds the interleaved variables of a function. `order` lists its blocks so that definitions come before uses.
    pub(crate) fn new(func: &Function, order: &[Block]) -> Interleaved {
        if func.slots.is_empty() {
            return Interleaved::default();
        }
        // The variable into which each pointer points. Variables that do not qualify are marked as failed.
        let mut into: SecondaryMap<Value, Option<Slot>> = SecondaryMap::new();
        let mut sizes: SecondaryMap<Slot, Option<u32>> = SecondaryMap::new();
        let mut failed: SecondaryMap<Slot, bool> = SecondaryMap::new();
        // Displacements and scales, which must be multiples of the granule.
        let mut steps: Vec<(Slot, u64)> = Vec::new();
        for &block in order {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if class(data.op) == Class::SlotAddr
                    && let Imm::Slot(slot) = data.imm
                {
                    into[func.dfg.result(inst)] = Some(slot);
                    continue;
                }
                for (i, &arg) in data.args.iter().enumerate() {
                    let Some(slot) = into[arg] else { continue };
                    match (data.op, &data.imm) {
                        (Opcode::Addr, &Imm::Addr { scale, disp }) if i == 0 && !func.dfg.ty(arg).is_vector() => {
                            into[func.dfg.result(inst)] = Some(slot);
                            steps.push((slot, disp.unsigned_abs()));
                            if data.args.len() > 1 {
                                steps.push((slot, scale));
                            }
                        }
                        (Opcode::Load, _) => {
                            let ty = func.dfg.ty(func.dfg.result(inst));
                            note_size(&mut sizes[slot], &mut failed[slot], ty.elem.bytes());
                        }
                        (Opcode::Store, _) if i == 0 => {
                            let ty = func.dfg.ty(data.args[1]);
                            note_size(&mut sizes[slot], &mut failed[slot], ty.elem.bytes());
                        }
                        // Anything else may access single bytes.
                        (_, _) => failed[slot] = true,
                    }
                }
                for target in func.dfg.targets(inst) {
                    for &arg in &target.args {
                        if let Some(slot) = into[arg] {
                            failed[slot] = true;
                        }
                    }
                }
            }
        }
        for (slot, step) in steps {
            failed[slot] |= sizes[slot].is_none_or(|size| step % u64::from(size) != 0);
        }
        let mut interleaved = Interleaved::default();
        for (slot, data) in &func.slots {
            interleaved.granules[slot] =
                sizes[slot].filter(|&size| !failed[slot] && data.size.is_multiple_of(u64::from(size)));
        }
        for value in into.keys() {
            interleaved.pointers[value] = into[value].and_then(|slot| interleaved.granules[slot]);
        }
        interleaved
    }

    /// The distance between the lanes of an interleaved variable, in bytes.
    pub(crate) fn granule(&self, slot: Slot) -> Option<u32> {
        self.granules[slot]
    }

    /// As [`Self::granule`], for the variable into which a pointer points.
    pub(crate) fn granule_at(&self, pointer: Value) -> Option<u32> {
        self.pointers[pointer]
    }
}

/// Records the element size of an access.
fn note_size(size: &mut Option<u32>, failed: &mut bool, bytes: u32) {
    match *size {
        None => *size = Some(bytes),
        Some(known) => *failed |= known != bytes,
    }
}
