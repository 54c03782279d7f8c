//! The formats of floating-point types.

use half::f16;

use super::Scalar;

/// A format of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatFormat {
    /// That of `half`.
    Half,
    /// That of `float`.
    Single,
    /// That of `double`.
    Double,
}

impl FloatFormat {
    /// Bits of the significand, the hidden one included.
    pub fn precision(self) -> u32 {
        match self {
            FloatFormat::Half => 11,
            FloatFormat::Single => 24,
            FloatFormat::Double => 53,
        }
    }

    /// The exponent of the largest finite number.
    pub fn max_exponent(self) -> i64 {
        match self {
            FloatFormat::Half => 15,
            FloatFormat::Single => 127,
            FloatFormat::Double => 1023,
        }
    }

    /// The encoding of infinity.
    pub fn infinity(self) -> u64 {
        ((2 * self.max_exponent() + 1) as u64) << (self.precision() - 1)
    }

    /// The encoding of 1.
    pub fn one(self) -> u64 {
        (self.max_exponent() as u64) << (self.precision() - 1)
    }

    /// The value of an encoding, exactly.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            FloatFormat::Half => f64::from(f16::from_bits(bits as u16).to_f32()),
            FloatFormat::Single => f64::from(f32::from_bits(bits as u32)),
            FloatFormat::Double => f64::from_bits(bits),
        }
    }
}

impl Scalar {
    /// The format of a floating-point type.
    pub fn float_format(self) -> Option<FloatFormat> {
        match self {
            Scalar::Half => Some(FloatFormat::Half),
            Scalar::Float => Some(FloatFormat::Single),
            Scalar::Double => Some(FloatFormat::Double),
            Scalar::Bool
            | Scalar::Char
            | Scalar::UChar
            | Scalar::Short
            | Scalar::UShort
            | Scalar::Int
            | Scalar::UInt
            | Scalar::Long
            | Scalar::ULong => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_those_of_ieee_754() {
        assert_eq!(FloatFormat::Half.one(), u64::from(f16::ONE.to_bits()));
        assert_eq!(FloatFormat::Half.infinity(), u64::from(f16::INFINITY.to_bits()));
        assert_eq!(FloatFormat::Single.one(), u64::from(1_f32.to_bits()));
        assert_eq!(FloatFormat::Single.infinity(), u64::from(f32::INFINITY.to_bits()));
        assert_eq!(FloatFormat::Double.one(), 1_f64.to_bits());
        assert_eq!(FloatFormat::Double.infinity(), f64::INFINITY.to_bits());
    }
}
