//! What the vector unit can do, as a backend uses it.

use clift_kir::{Elem, Imm, Opcode, Type};

use super::machine::Machine;
use super::processor::ScatteredAccesses;

/// The capabilities of a backend's vector unit, for the legalizer. Scalars need none: every backend supports all ops on scalars
/// of all elements except `f16`, which is legalized to integers and `f32`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorCaps {
    /// Bits of a vector register; 0 without vectors.
    pub(crate) register_bits: u32,
    /// The number of vector registers.
    pub(crate) registers: u32,
    /// Whether the backend supports an op on vectors of up to a register. `from` is the element of the first operand, `to` that
    /// of the result (of the stored value, for ops without a result).
    pub(crate) native: fn(op: Opcode, imm: &Imm, from: Elem, to: Elem) -> bool,
    /// Whether a shift or rotation of an element supports a different count in each lane. `native` describes these ops with the
    /// same count in all lanes.
    pub(crate) varying_shifts: fn(op: Opcode, elem: Elem) -> bool,
    /// Whether any selection of lanes from two registers is one instruction. Otherwise only simple patterns are.
    pub(crate) any_shuffle: bool,
    /// Whether any extension and truncation of lanes is one instruction. Otherwise extensions only double the width.
    pub(crate) any_extension: bool,
    /// When values are kept in stack slots from the start, and how many stay.
    pub(crate) demotion: DemotionLimits,
    /// Which instructions for scattered accesses are worth using where all lanes are active.
    pub(crate) scattered: ScatteredAccesses,
}

/// From which size on functions get some of their values into stack slots before registers are allocated, and how many values
/// may then be alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DemotionLimits {
    /// The fewest instructions of such a function.
    pub(crate) min_insts: usize,
    /// The fewest values alive at an average instruction.
    pub(crate) min_alive: u32,
    /// The least sum over all instructions of the values alive there.
    pub(crate) min_area: u64,
    /// The least sum of the lengths of a value's live ranges, in instructions.
    pub(crate) min_length: u64,
    /// Scalars alive at once that stay.
    pub(crate) scalars: u32,
    /// Vectors and floats alive at once that stay.
    pub(crate) vectors: u32,
}

impl DemotionLimits {
    /// For a processor with so many registers for vectors and floats.
    pub(crate) const fn of_registers(vectors: u32) -> DemotionLimits {
        DemotionLimits { min_insts: 4096, min_alive: 48, min_area: 1 << 21, min_length: 24, scalars: 14, vectors }
    }

    /// Demotes as much as possible, in functions of any size.
    #[cfg(test)]
    pub(crate) const ALWAYS: DemotionLimits =
        DemotionLimits { min_insts: 0, min_alive: 0, min_area: 0, min_length: 0, scalars: 0, vectors: 0 };
}

impl VectorCaps {
    /// A backend without vectors.
    pub(crate) const SCALAR: VectorCaps = VectorCaps {
        register_bits: 0,
        registers: 0,
        native: |_, _, _, _| false,
        varying_shifts: |_, _| false,
        any_shuffle: false,
        any_extension: false,
        demotion: DemotionLimits::of_registers(16),
        scattered: ScatteredAccesses::FAST,
    };

    /// The machine that the vectorizer makes packs for; without vectors, the common machine.
    pub(crate) fn machine(&self) -> Machine {
        if self.register_bits == 0 {
            return Machine::COMMON;
        }
        let gathers = self.scattered.gathers && (self.native)(Opcode::Gather, &Imm::None, Elem::I32, Elem::I32);
        let masks_stores = |&elem: &Elem| (self.native)(Opcode::MaskedStore, &Imm::None, elem, elem);
        let masked_store_bits =
            [Elem::I8, Elem::I16, Elem::I32].iter().find(|elem| masks_stores(elem)).map(|elem| elem.bits());
        Machine { register_bits: self.register_bits, registers: self.registers, gathers, masked_store_bits }
    }

    /// Lanes of the parts that a value is split into: as many as a register has, fewer if the value has fewer (rounded up to a
    /// power of two).
    pub(crate) fn part_lanes(&self, ty: Type) -> u32 {
        // A mask's natural width is that of 32-bit elements. Comparisons give their result the width of the operands.
        let bits = if ty.is_bool() { 32 } else { ty.elem.bits() };
        (self.register_bits / bits).max(1).min(ty.lanes().next_power_of_two())
    }
}
