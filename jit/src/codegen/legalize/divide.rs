//! Division of vectors: by constants through multiplications, otherwise through floats. Nothing here traps, and division by zero
//! has the result that the op defines.

use clift_kir::{Elem, FpFlags, Imm, IntCond, Opcode};

use super::{Legalizer, SplitValue};

/// The magic number of a division by a constant: the high half of a product with `factor`, corrected and shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Magic {
    factor: u64,
    /// Whether the factor lacks its highest bit, so that the dividend must be added to the high half.
    add: bool,
    shift: u32,
}

/// Unsigned division of `bits`-bit numbers by `divisor`, which is not a power of two (Hacker's Delight, 10-9).
fn unsigned_magic(divisor: u64, bits: u32) -> Magic {
    // The least sufficient power; rounded up, the factor may need one bit more than fits.
    let shift = u64::BITS - divisor.leading_zeros();
    let power = |shift: u32| 1u128 << (bits + shift);
    let smaller = power(shift - 1).div_ceil(divisor.into());
    if smaller * u128::from(divisor) - power(shift - 1) <= 1 << (shift - 1) {
        return Magic { factor: smaller as u64, add: false, shift: shift - 1 };
    }
    let factor = power(shift).div_ceil(divisor.into());
    Magic { factor: (factor - (1 << bits)) as u64, add: true, shift }
}

/// Signed division of `bits`-bit numbers by a divisor of the given magnitude, which is not a power of two (Hacker's Delight,
/// 10-1).
fn signed_magic(magnitude: u64, bits: u32) -> Magic {
    let shift = u64::BITS - 1 - magnitude.leading_zeros();
    let factor = (1u128 << (bits + shift)) / u128::from(magnitude) + 1;
    Magic { factor: factor as u64, add: factor >> (bits - 1) != 0, shift }
}

impl Legalizer<'_> {
    /// Quotient or remainder, if vectors can compute it.
    pub(super) fn vector_division(&mut self, op: Opcode, a: &SplitValue, b: &SplitValue) -> Option<SplitValue> {
        let bits = a.ty.elem.bits();
        let signed = matches!(op, Opcode::Sdiv | Opcode::Srem);
        let remainder = matches!(op, Opcode::Urem | Opcode::Srem);
        let quotient = match self.constant_of_splat(b) {
            Some(divisor) => match self.by_constant(a, divisor, signed, remainder) {
                Some(ConstantDivision::Remainder(rest)) => return Some(rest),
                Some(ConstantDivision::Quotient(quotient)) => Some(quotient),
                None => None,
            },
            None => None,
        };
        let (quotient, checked) = match quotient {
            Some(quotient) => (quotient, true),
            None if bits < 64 => (self.through_floats(a, b, signed), false),
            None => return None,
        };
        let value = if remainder {
            let product = self.op2(Opcode::Imul, &quotient, b);
            self.op2(Opcode::Isub, a, &product)
        } else {
            quotient
        };
        if checked {
            return Some(value);
        }
        let zero = self.splat_bits(a.ty, 0);
        let by_zero = self.compare(IntCond::Eq, b, &zero);
        Some(self.select(&by_zero, &zero, &value))
    }

    /// Division by a constant, if it can be done without dividing.
    fn by_constant(&mut self, a: &SplitValue, divisor: u64, signed: bool, remainder: bool) -> Option<ConstantDivision> {
        let bits = a.ty.elem.bits();
        let zero = |this: &mut Self| this.splat_bits(a.ty, 0);
        if divisor == 0 {
            return Some(ConstantDivision::Remainder(zero(self)));
        }
        let negative = signed && divisor >> (bits - 1) != 0;
        let magnitude = if negative { divisor.wrapping_neg() & a.ty.elem.mask() } else { divisor };
        if magnitude.is_power_of_two() {
            let shift = magnitude.trailing_zeros();
            if !signed {
                return Some(if remainder {
                    ConstantDivision::Remainder(self.op2_bits(Opcode::And, a, magnitude - 1))
                } else {
                    ConstantDivision::Quotient(self.op2_bits(Opcode::Lshr, a, shift.into()))
                });
            }
            // Negative dividends need a bias, because the shift rounds down.
            let biased = if shift == 0 {
                a.clone()
            } else {
                let sign = self.op2_bits(Opcode::Ashr, a, u64::from(shift - 1));
                let bias = self.op2_bits(Opcode::Lshr, &sign, u64::from(bits - shift));
                self.op2(Opcode::Iadd, a, &bias)
            };
            if remainder {
                let multiple = self.op2_bits(Opcode::And, &biased, magnitude.wrapping_neg());
                return Some(ConstantDivision::Remainder(self.op2(Opcode::Isub, a, &multiple)));
            }
            let quotient = self.op2_bits(Opcode::Ashr, &biased, shift.into());
            return Some(ConstantDivision::Quotient(self.negated_if(negative, quotient)));
        }
        let wide = a.ty.elem == Elem::I64 && self.multiplies_high_words(a.ty) && magnitude < 1 << 63;
        if a.ty.elem != Elem::I32 && !wide {
            // Narrower elements are as fast through floats.
            return None;
        }
        if !signed {
            let magic = unsigned_magic(divisor, bits);
            let factor = self.splat_bits(a.ty, magic.factor);
            let high = self.op2(Opcode::Umulh, a, &factor);
            if !magic.add {
                return Some(ConstantDivision::Quotient(self.op2_bits(Opcode::Lshr, &high, magic.shift.into())));
            }
            // Half of the sum; the sum itself needs one bit more.
            let rest = self.op2(Opcode::Isub, a, &high);
            let half = self.op2_bits(Opcode::Lshr, &rest, 1);
            let sum = self.op2(Opcode::Iadd, &half, &high);
            return Some(ConstantDivision::Quotient(self.op2_bits(Opcode::Lshr, &sum, u64::from(magic.shift - 1))));
        }
        let magic = signed_magic(magnitude, bits);
        let factor = self.splat_bits(a.ty, magic.factor);
        let mut high = self.op2(Opcode::Smulh, a, &factor);
        if magic.add {
            high = self.op2(Opcode::Iadd, &high, a);
        }
        let shifted = self.op2_bits(Opcode::Ashr, &high, magic.shift.into());
        let sign = self.op2_bits(Opcode::Lshr, a, u64::from(bits - 1));
        let quotient = self.op2(Opcode::Iadd, &shifted, &sign);
        Some(ConstantDivision::Quotient(self.negated_if(negative, quotient)))
    }

    fn negated_if(&mut self, negative: bool, a: SplitValue) -> SplitValue {
        if negative { self.lanewise(Opcode::Ineg, &Imm::None, std::slice::from_ref(&a), a.ty) } else { a }
    }

    /// Quotients computed as floats. They are exact after truncation: 16-bit quotients in single precision, 32-bit ones in
    /// double.
    fn through_floats(&mut self, a: &SplitValue, b: &SplitValue, signed: bool) -> SplitValue {
        use Opcode as O;
        let elem = a.ty.elem;
        let to_float = if signed { O::StoFp } else { O::UtoFp };
        let float = if elem == Elem::I32 { Elem::F64 } else { Elem::F32 };
        let (x, y) = (self.convert(to_float, a, float), self.convert(to_float, b, float));
        let imm = Imm::Fp(FpFlags::empty());
        let quotient = self.lanewise(O::Fdiv, &imm, &[x.clone(), y], x.ty);
        let quotient = self.lanewise(O::Trunc, &imm, std::slice::from_ref(&quotient), x.ty);
        // Add a number whose last place is one: the low bits of the sum are the integer in two's complement.
        let last_place = if elem == Elem::I32 { 1.5 * 2f64.powi(52) } else { 1.5 * 2f64.powi(23) };
        let bits = clift_kir::eval::convert::round_f64(float, last_place, clift_kir::Rounding::NearestEven);
        let last_place = self.splat_bits(x.ty, bits);
        let sum = self.lanewise(O::Fadd, &imm, &[quotient, last_place], x.ty);
        let sum = self.bitcast(&sum, x.ty.as_int());
        self.truncate(&sum, elem)
    }
}

/// The result of a division by a constant.
enum ConstantDivision {
    Quotient(SplitValue),
    Remainder(SplitValue),
}

#[cfg(test)]
mod tests {
    use super::{signed_magic, unsigned_magic};

    /// Divisors and dividends at the edges, and some in between.
    fn numbers() -> impl Iterator<Item = u64> + Clone {
        let near = |n: u64| [n.wrapping_sub(1), n, n + 1];
        let powers = (1..32).flat_map(move |k| near(1 << k));
        powers.chain([3, 5, 6, 7, 9, 10, 11, 13, 100, 641, 1000, 10_000, 0x5555_5555, 0xffff_fff0, 0xffff_ffff])
    }

    #[test]
    fn unsigned_division_by_multiplication() {
        for divisor in numbers().filter(|&d| d > 1 && !d.is_power_of_two()) {
            let magic = unsigned_magic(divisor, 32);
            assert!(magic.factor >> 32 == 0);
            for n in numbers().flat_map(|n| [n, n * divisor, (n * divisor).wrapping_sub(1)]) {
                let n = n & 0xffff_ffff;
                let high = (n * magic.factor) >> 32;
                let got = if magic.add { (((n - high) >> 1) + high) >> (magic.shift - 1) } else { high >> magic.shift };
                assert_eq!(got, n / divisor, "{n} / {divisor} by {magic:?}");
            }
        }
    }

    #[test]
    fn unsigned_division_of_64_bits() {
        let divisors =
            (1..63).flat_map(|k| [(1 << k) - 1, (1 << k) + 1]).chain([10, 641, 1_000_000_007, u64::MAX >> 1]);
        for divisor in divisors.filter(|d| *d > 1 && !d.is_power_of_two()) {
            let magic = unsigned_magic(divisor, 64);
            let multiples = [1, 2, u64::MAX / divisor].map(|n| n * divisor);
            for n in multiples.into_iter().flat_map(|n| [n - 1, n, n.wrapping_add(1)]).chain([0, u64::MAX]) {
                let high = ((u128::from(n) * u128::from(magic.factor)) >> 64) as u64;
                let got = if magic.add { (((n - high) >> 1) + high) >> (magic.shift - 1) } else { high >> magic.shift };
                assert_eq!(got, n / divisor, "{n} / {divisor} by {magic:?}");
            }
        }
    }

    #[test]
    fn signed_division_of_64_bits() {
        let divisors = (1..63).flat_map(|k| [(1 << k) - 1, (1 << k) + 1]).chain([10, 641, 1_000_000_007, i64::MAX]);
        for divisor in divisors.filter(|d| *d > 1 && !(*d as u64).is_power_of_two()) {
            let magic = signed_magic(divisor as u64, 64);
            for n in [0, 1, -1, divisor, -divisor, divisor - 1, 1 - divisor, i64::MAX, i64::MIN, i64::MAX / 3] {
                let high = ((i128::from(n) * i128::from(magic.factor as i64)) >> 64) as i64;
                let high = if magic.add { high.wrapping_add(n) } else { high };
                let got = (high >> magic.shift) + i64::from(n < 0);
                assert_eq!(got, n / divisor, "{n} / {divisor} by {magic:?}");
            }
        }
    }

    #[test]
    fn signed_division_by_multiplication() {
        for divisor in numbers().filter(|&d| d > 1 && d <= 1 << 31 && !d.is_power_of_two()) {
            let magic = signed_magic(divisor, 32);
            for n in numbers().flat_map(|n| [n, n.wrapping_neg(), n * divisor, (n * divisor).wrapping_neg()]) {
                let n = i64::from(n as u32 as i32);
                let factor = i64::from(magic.factor as u32 as i32);
                let high = ((n * factor) >> 32) as i32;
                let high = if magic.add { high.wrapping_add(n as i32) } else { high };
                let got = (high >> magic.shift) + i32::from(n < 0);
                assert_eq!(i64::from(got), n / divisor as i64, "{n} / {divisor} by {magic:?}");
            }
        }
    }
}
