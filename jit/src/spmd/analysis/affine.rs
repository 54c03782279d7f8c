//! Affine values over the lanes of a pack, and constant offsets of lanes.
//!
//! An [`Affine`] value has a constant stride from lane to lane; a uniform value is one with stride 0. The [`LowBits`] of the
//! first lane's value may be known. They keep multiples of the pack's width visible through index arithmetic, and thereby show
//! that a pack does not cross a multiple of a power of two, where masks, shifts and narrow integers would make the value
//! non-affine.

use super::known_bits::LowBits;
use super::shape::Scope;
use crate::target::machine::MAX_LANES;

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
    pub(crate) fn strided(stride: i64, low_bits: LowBits) -> Affine {
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
        let known = bits.min(self.low_bits.bits());
        let (first, reach) = (u128::from(self.low_bits.narrowed(known).value()), self.reach(width));
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
    pub(crate) fn of(affine: Affine, width: u32) -> Option<Offsets> {
        Offsets::new(affine.low_bits, 64, width, |lane| Some(affine.stride.wrapping_mul(i64::from(lane))))
    }

    /// The difference of a lane from the first.
    pub(crate) fn by(self, lane: u32) -> i64 {
        self.by[lane as usize].into()
    }

    /// The affine value that the offsets describe, if they have a common stride.
    pub(crate) fn affine(self, width: u32) -> Option<Affine> {
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
        let value = self.low_bits.narrowed(bits).value() as i64 + self.by(lane);
        (self.low_bits.bits() >= bits && bits < 63 && (0..1 << bits).contains(&value)).then_some(value as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_between_multiples() {
        let by = |stride, bits, value| Affine::strided(stride, LowBits::new(bits, value));
        assert!(by(1, 3, 0).stays_within(3, 8) && by(1, 3, 0).stays_within(60, 8) && !by(1, 3, 0).stays_within(2, 8));
        assert!(!by(1, 3, 1).stays_within(3, 8) && by(1, 4, 1).stays_within(4, 8));
        assert!(by(4, 5, 3).stays_within(5, 8) && !by(4, 5, 4).stays_within(5, 8));
        assert!(by(-1, 3, 7).stays_within(3, 8) && !by(-1, 3, 6).stays_within(3, 8));
        assert!(Affine::uniform(Scope::Pack, LowBits::NONE).stays_within(0, 8));
        assert_eq!(by(0xffff_ffff, 40, 0).fit(32).stride, -1);
        assert_eq!(by(0x1_0000_0000, 40, 0).fit(32).stride, 0);
    }
}
