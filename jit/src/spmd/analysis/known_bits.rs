//! Known low bits of integers.
//!
//! Alignment and constant arithmetic determine the lowest bits of many values. [`LowBits`] follows them through integer ops.
//! Higher bits are not tracked; [`super::ranges`] bounds values instead.

/// The known low bits of a number: modulo 2 to the power of `bits`, the number equals `value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LowBits {
    /// How many bits are known, at most 64.
    bits: u32,
    /// The known bits; less than 2 to the power of `bits`.
    value: u64,
}

/// The number whose `bits` lowest bits are ones.
fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl LowBits {
    /// No bit is known.
    pub(crate) const NONE: LowBits = LowBits { bits: 0, value: 0 };

    pub(super) fn new(bits: u32, value: u64) -> LowBits {
        let bits = bits.min(64);
        LowBits { bits, value: value & ones(bits) }
    }

    /// All bits are known.
    pub(crate) fn exact(value: u64) -> LowBits {
        LowBits::new(64, value)
    }

    /// A multiple of a power of two.
    pub(crate) fn multiple_of(power: u64) -> LowBits {
        LowBits::new(power.trailing_zeros(), 0)
    }

    /// How many bits are known.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    /// The known bits.
    pub(crate) fn value(self) -> u64 {
        self.value
    }

    /// A power of two that divides the number, at most 2 to the power of 31.
    pub(crate) fn align(self) -> u32 {
        1 << self.zeros().min(31)
    }

    /// How many trailing zeros are known.
    fn zeros(self) -> u32 {
        self.value.trailing_zeros().min(self.bits)
    }

    /// The bits that are known and equal in both.
    pub(crate) fn join(self, other: LowBits) -> LowBits {
        let same = (self.value ^ other.value).trailing_zeros();
        LowBits::new(self.bits.min(other.bits).min(same), self.value)
    }

    pub(crate) fn plus(self, other: LowBits) -> LowBits {
        LowBits::new(self.bits.min(other.bits), self.value.wrapping_add(other.value))
    }

    pub(crate) fn times(self, other: LowBits) -> LowBits {
        // The unknown part of one operand is shifted by the trailing zeros of the other.
        let bits = (self.bits + other.zeros()).min(other.bits + self.zeros());
        LowBits::new(bits, self.value.wrapping_mul(other.value))
    }

    /// The bits of the number that are set in `keep`; the others are zero.
    pub(crate) fn and(self, keep: u64) -> LowBits {
        LowBits::new((ones(self.bits) | !keep).trailing_ones(), self.value & keep)
    }

    /// The number with the bits in `set` set.
    pub(crate) fn or(self, set: u64) -> LowBits {
        LowBits::new((ones(self.bits) | set).trailing_ones(), self.value | set)
    }

    pub(crate) fn xor(self, flip: u64) -> LowBits {
        LowBits::new(self.bits, self.value ^ flip)
    }

    /// The number shifted right by `count` bits.
    pub(crate) fn shifted_right(self, count: u32) -> LowBits {
        if count >= self.bits { LowBits::NONE } else { LowBits::new(self.bits - count, self.value >> count) }
    }

    /// The lowest `bits` bits only.
    pub(crate) fn narrowed(self, bits: u32) -> LowBits {
        LowBits::new(self.bits.min(bits), self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_follow_arithmetic() {
        // The result of every 6-bit number that has the known bits must have the computed known bits.
        let all: Vec<LowBits> =
            (0..=3).flat_map(|bits| (0..1u64 << bits).map(move |value| LowBits::new(bits, value))).collect();
        let fits = |low_bits: LowBits, number: u64| (number ^ low_bits.value) & ones(low_bits.bits) == 0;
        for &a in &all {
            for x in (0..64).filter(|&x| fits(a, x)) {
                for c in 0..64 {
                    assert!(fits(a.and(c), x & c) && fits(a.or(c), x | c) && fits(a.xor(c), x ^ c));
                }
                assert!(fits(a.shifted_right(2), x >> 2) && fits(a.narrowed(1), x & 1));
                assert_eq!(x % u64::from(a.align()), 0);
                for &b in &all {
                    assert!(fits(a.join(b), x));
                    for y in (0..64).filter(|&y| fits(b, y)) {
                        assert!(fits(a.plus(b), x + y) && fits(a.times(b), x * y), "{a:?} {b:?} {x} {y}");
                        assert!(fits(a.join(b), y));
                    }
                }
            }
        }
        assert_eq!(LowBits::exact(12).align(), 4);
        assert_eq!(LowBits::exact(0).align(), 1 << 31);
        assert_eq!(LowBits::multiple_of(8).times(LowBits::exact(12)), LowBits::multiple_of(32));
        assert_eq!(LowBits::NONE.or(3), LowBits::new(2, 3));
    }
}
