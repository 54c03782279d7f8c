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
    /// Which instructions for scattered accesses are worth using where all lanes are active.
    pub(crate) scattered: ScatteredAccesses,
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
        scattered: ScatteredAccesses::FAST,
    };

    /// The machine that the vectorizer makes packs for; without vectors, the common machine.
    pub(crate) fn machine(&self) -> Machine {
        if self.register_bits == 0 {
            return Machine::COMMON;
        }
        Machine { register_bits: self.register_bits, registers: self.registers }
    }

    /// Lanes of the parts that a value is split into: as many as a register has, fewer if the value has fewer (rounded up to a
    /// power of two).
    pub(crate) fn part_lanes(&self, ty: Type) -> u32 {
        // A mask's natural width is that of 32-bit elements. Comparisons give their result the width of the operands.
        let bits = if ty.is_bool() { 32 } else { ty.elem.bits() };
        (self.register_bits / bits).max(1).min(ty.lanes().next_power_of_two())
    }
}
