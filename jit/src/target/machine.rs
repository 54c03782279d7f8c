//! What of a machine decides how many lanes a pack has.

/// The vector unit that packs are for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Bits of a vector register; 0 without vectors.
    pub register_bits: u32,
    /// Vector registers.
    pub registers: u32,
    /// Whether a gather is faster than a load for each lane.
    pub gathers: bool,
    /// Bits of the shortest elements of which a store takes a mask of lanes; `None` if masked stores are lane by lane.
    pub masked_store_bits: Option<u32>,
}

impl Machine {
    /// Registers of 128 bits, as every machine has them.
    pub const COMMON: Machine = Machine { register_bits: 128, registers: 16, gathers: false, masked_store_bits: None };

    /// Instructions on vectors that begin in one cycle: of the longest ones fewer.
    pub(crate) fn ports(&self) -> f64 {
        if self.register_bits > 256 { 2.0 } else { 3.0 }
    }

    /// The most bytes of a constant table that stays in registers, in which packs look up elements by permutations.
    pub(crate) fn table_bytes(&self) -> u32 {
        if self.register_bits >= 512 { MAX_TABLE_REGISTERS * self.register_bits / 8 } else { 0 }
    }

    /// Whether a store of elements of so many bits takes a mask of lanes.
    pub(crate) fn masks_stores(&self, bits: u32) -> bool {
        self.masked_store_bits.is_some_and(|least| bits >= least)
    }

    /// Whether a pack has room for more lanes where elements of 8 or 16 bits are accessed.
    pub(crate) fn is_short(&self) -> bool {
        self.register_bits <= 2 * Machine::COMMON.register_bits
    }

    /// Lanes of the usual pack, whose elements have so many bits: two short registers, whose operations overlap, or a long one.
    pub(crate) fn usual_lanes(&self, bits: u32) -> u32 {
        let bits_of_pack = self.register_bits.max(2 * Machine::COMMON.register_bits);
        (bits_of_pack / bits).min(MAX_LANES)
    }

    /// The fewest lanes that a pack of such elements is tried with.
    pub(crate) fn least_lanes(&self, bits: u32) -> u32 {
        Machine::COMMON.usual_lanes(bits)
    }
}

/// The most registers of a table. Each takes a permutation, and all but one a selection.
const MAX_TABLE_REGISTERS: u32 = 4;

/// The most lanes that a pack has.
pub(crate) const MAX_LANES: u32 = 32;
