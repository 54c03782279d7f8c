//! Affine values over the lanes of a pack, and constant offsets of lanes.
//!
//! An [`Affine`] value has a constant stride from lane to lane; a uniform value is one with stride 0. The [`LowBits`] of the
//! first lane's value may be known. They keep multiples of the pack's width visible through index arithmetic, and thereby show
//! that a pack does not cross a multiple of a power of two, where masks, shifts and narrow integers would make the value
//! non-affine.

use super::shape::Scope;
use crate::target::machine::MAX_LANES;

/// Known lowest bits of a number: it is `value` modulo 2 to the power of `bits`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LowBits {
    /// How many, at most 64.
    bits: u32,
    /// Less than 2 to the power of `bits`.
    value: u64,
}

/// The number whose `bits` lowest bits are ones.
fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl LowBits {
    /// Nothing is known.
    pub(crate) const NONE: LowBits = LowBits { bits: 0, value: 0 };

    fn new(bits: u32, value: u64) -> LowBits {
        let bits = bits.min(64);
        LowBits { bits, value: value & ones(bits) }
    }

    /// A number that is known.
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

    /// Trailing zeros that are known.
    fn zeros(self) -> u32 {
        self.value.trailing_zeros().min(self.bits)
    }

    /// What holds for both.
    pub(crate) fn join(self, other: LowBits) -> LowBits {
        let same = (self.value ^ other.value).trailing_zeros();
        LowBits::new(self.bits.min(other.bits).min(same), self.value)
    }

    pub(crate) fn plus(self, other: LowBits) -> LowBits {
        LowBits::new(self.bits.min(other.bits), self.value.wrapping_add(other.value))
    }

    pub(crate) fn times(self, other: LowBits) -> LowBits {
        // Unknown parts of one are multiplied by the trailing zeros of the other.
        let bits = (self.bits + other.zeros()).min(other.bits + self.zeros());
        LowBits::new(bits, self.value.wrapping_mul(other.value))
    }

    /// The bits in `keep`, the others cleared.
    pub(crate) fn and(self, keep: u64) -> LowBits {
        LowBits::new((ones(self.bits) | !keep).trailing_ones(), self.value & keep)
    }

    /// The bits in `set` set.
    pub(crate) fn or(self, set: u64) -> LowBits {
        LowBits::new((ones(self.bits) | set).trailing_ones(), self.value | set)
    }

    pub(crate) fn xor(self, flip: u64) -> LowBits {
        LowBits::new(self.bits, self.value ^ flip)
    }

    /// Without the lowest `count` bits.
    pub(crate) fn shifted_right(self, count: u32) -> LowBits {
        if count >= self.bits { LowBits::NONE } else { LowBits::new(self.bits - count, self.value >> count) }
    }

    /// The lowest `bits` at most.
    pub(crate) fn narrowed(self, bits: u32) -> LowBits {
        LowBits::new(self.bits.min(bits), self.value)
    }
}

/// A value with a constant stride from lane to lane, wrapping in its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Affine {
    /// The stride, sign-extended from the value's width; 0 for a uniform value.
    pub(crate) stride: i64,
    /// The known bits of the first lane's value.
    pub(crate) low_bits: LowBits,
    /// For stride 0, the scope over which the value is uniform; [`Scope::Pack`] otherwise.
    pub(crate) scope: Scope,
}

impl Affine {
    /// A value that is the same for all work-items of the scope.
    pub(crate) fn uniform(scope: Scope, low_bits: LowBits) -> Affine {
        Affine { stride: 0, low_bits, scope }
    }

    /// A value with a stride.
    pub(crate) fn step(stride: i64, low_bits: LowBits) -> Affine {
        Affine { stride, low_bits, scope: Scope::Pack }
    }

    pub(crate) fn is_uniform(self) -> bool {
        self.stride == 0
    }

    /// The same value truncated to `bits` bits.
    pub(crate) fn fit(self, bits: u32) -> Affine {
        let unused = 64 - bits.clamp(1, 64);
        Affine { stride: self.stride << unused >> unused, low_bits: self.low_bits.narrowed(bits), ..self }
    }

    pub(crate) fn plus(self, other: Affine) -> Affine {
        Affine {
            stride: self.stride.wrapping_add(other.stride),
            low_bits: self.low_bits.plus(other.low_bits),
            scope: self.scope.max(other.scope),
        }
    }

    pub(crate) fn times(self, factor: u64) -> Affine {
        Affine {
            stride: self.stride.wrapping_mul(factor as i64),
            low_bits: self.low_bits.times(LowBits::exact(factor)),
            ..self
        }
    }

    /// The value that is one or the other, if all lanes make the same choice and the strides agree.
    pub(crate) fn join(self, other: Affine) -> Option<Affine> {
        (self.stride == other.stride).then(|| Affine {
            stride: self.stride,
            low_bits: self.low_bits.join(other.low_bits),
            scope: self.scope.max(other.scope),
        })
    }

    /// The largest distance of a lane's value from the first one's.
    pub(crate) fn reach(self, width: u32) -> u128 {
        u128::from(self.stride.unsigned_abs()) * u128::from(width.max(1) - 1)
    }

    /// Whether all lanes are known to lie between two neighbouring multiples of 2 to the power of `bits`. Then all higher bits
    /// are the same in all lanes, and the bits below are affine without wrapping.
    pub(crate) fn stays_within(self, bits: u32, width: u32) -> bool {
        let known = bits.min(self.low_bits.bits);
        let (first, reach) = (u128::from(self.low_bits.narrowed(known).value), self.reach(width));
        if self.stride >= 0 { first + reach < 1 << known } else { first >= reach }
    }
}

/// A value whose lanes differ from the first one by constants, wrapping in its width, but without a common stride. Examples are
/// `i ^ 1`, `i & 3` and `2 * i - (i & 3)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offsets {
    /// The difference of each lane from the first; 0 beyond the pack.
    by: [i16; MAX_LANES as usize],
    /// The known bits of the first lane's value.
    pub(crate) low_bits: LowBits,
}

impl Offsets {
    /// Makes offsets from each lane's difference to the first, in a width of `bits` bits; `None` if a difference is too large.
    pub(crate) fn new(low_bits: LowBits, bits: u32, width: u32, by: impl Fn(u32) -> Option<i64>) -> Option<Offsets> {
        let unused = 64 - bits.clamp(1, 64);
        let mut offsets = Offsets { by: [0; MAX_LANES as usize], low_bits: low_bits.narrowed(bits) };
        for (place, lane) in offsets.by.iter_mut().zip(0..width) {
            *place = i16::try_from(by(lane)? << unused >> unused).ok()?;
        }
        Some(offsets)
    }

    /// An affine value as offsets.
    pub(crate) fn of(line: Affine, width: u32) -> Option<Offsets> {
        Offsets::new(line.low_bits, 64, width, |lane| Some(line.stride.wrapping_mul(i64::from(lane))))
    }

    /// The difference of a lane from the first.
    pub(crate) fn by(self, lane: u32) -> i64 {
        self.by[lane as usize].into()
    }

    /// The affine value that the offsets describe, if they have a common stride.
    pub(crate) fn line(self, width: u32) -> Option<Affine> {
        let stride = self.by(1);
        let steady = (0..width).all(|lane| self.by(lane) == stride * i64::from(lane));
        steady.then_some(Affine { stride, low_bits: self.low_bits, scope: Scope::Pack })
    }

    /// The smallest (not positive) and the largest (not negative) offset.
    pub(crate) fn reach(self) -> (i64, i64) {
        self.by.iter().fold((0, 0), |(least, most), &by| (least.min(by.into()), most.max(by.into())))
    }

    /// The `bits` lowest bits of a lane's value, if they are known and the bits above are the same in all lanes.
    pub(crate) fn lane(self, lane: u32, bits: u32) -> Option<u64> {
        let value = self.low_bits.narrowed(bits).value as i64 + self.by(lane);
        (self.low_bits.bits >= bits && bits < 63 && (0..1 << bits).contains(&value)).then_some(value as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_follow_arithmetic() {
        // All numbers of 6 bits that agree with what is known must agree with what is computed from it.
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

    #[test]
    fn packs_between_multiples() {
        let by = |stride, bits, value| Affine::step(stride, LowBits::new(bits, value));
        assert!(by(1, 3, 0).stays_within(3, 8) && by(1, 3, 0).stays_within(60, 8) && !by(1, 3, 0).stays_within(2, 8));
        assert!(!by(1, 3, 1).stays_within(3, 8) && by(1, 4, 1).stays_within(4, 8));
        assert!(by(4, 5, 3).stays_within(5, 8) && !by(4, 5, 4).stays_within(5, 8));
        assert!(by(-1, 3, 7).stays_within(3, 8) && !by(-1, 3, 6).stays_within(3, 8));
        assert!(Affine::uniform(Scope::Pack, LowBits::NONE).stays_within(0, 8));
        assert_eq!(by(0xffff_ffff, 40, 0).fit(32).stride, -1);
        assert_eq!(by(0x1_0000_0000, 40, 0).fit(32).stride, 0);
    }
}
