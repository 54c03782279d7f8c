//! Division: by constants through multiplications; of vectors by other divisors through floats. Nothing here traps, and division
//! by zero has the result that the op defines.

use clift_kir::{Elem, Imm, IntCond, Opcode};

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
        let signed = matches!(op, Opcode::Sdiv | Opcode::Srem);
        let remainder = matches!(op, Opcode::Urem | Opcode::Srem);
        if let Some(divisor) = self.constant_of_splat(b)
            && let Some(result) = self.by_constant(a, divisor, signed, remainder)
        {
            return Some(self.part_of_division(result, remainder, a, b));
        }
        let result = self.through_floats(a, b, signed, remainder)?;
        let value = self.part_of_division(result, remainder, a, b);
        let zero = self.splat_bits(a.ty, 0);
        let by_zero = self.compare(IntCond::Eq, b, &zero);
        Some(self.select(&by_zero, &zero, &value))
    }

    /// Quotient or remainder of scalars, if the divisor is a constant. Short numbers are divided as 32-bit ones.
    pub(super) fn scalar_division(&mut self, op: Opcode, args: &[SplitValue]) -> Option<SplitValue> {
        if !matches!(op, Opcode::Udiv | Opcode::Urem | Opcode::Sdiv | Opcode::Srem) {
            return None;
        }
        let signed = matches!(op, Opcode::Sdiv | Opcode::Srem);
        let remainder = matches!(op, Opcode::Urem | Opcode::Srem);
        let [a, b] = args else { return None };
        let elem = a.ty.elem;
        let divisor = self.constant_of_splat(b)? & elem.mask();
        if elem.bits() >= Elem::I32.bits() {
            let result = self.by_constant(a, divisor, signed, remainder)?;
            return Some(self.part_of_division(result, remainder, a, b));
        }
        let wide = [a, b].map(|operand| self.extend(operand, Elem::I32, signed));
        let sign = if signed && divisor >> (elem.bits() - 1) != 0 { Elem::I32.mask() & !elem.mask() } else { 0 };
        let result = self.by_constant(&wide[0], divisor | sign, signed, remainder)?;
        let result = self.part_of_division(result, remainder, &wide[0], &wide[1]);
        Some(self.truncate(&result, elem))
    }

    /// The quotient, or the remainder that belongs to it.
    fn part_of_division(&mut self, result: Division, remainder: bool, a: &SplitValue, b: &SplitValue) -> SplitValue {
        match result {
            Division::Quotient(quotient) if remainder => {
                let product = self.op2(Opcode::Imul, &quotient, b);
                self.op2(Opcode::Isub, a, &product)
            }
            Division::Quotient(value) | Division::Remainder(value) => value,
        }
    }

    /// Division by a constant, if it can be done without dividing.
    fn by_constant(&mut self, a: &SplitValue, divisor: u64, signed: bool, remainder: bool) -> Option<Division> {
        let bits = a.ty.elem.bits();
        let zero = |this: &mut Self| this.splat_bits(a.ty, 0);
        if divisor == 0 {
            return Some(Division::Remainder(zero(self)));
        }
        let negative = signed && divisor >> (bits - 1) != 0;
        let magnitude = if negative { divisor.wrapping_neg() & a.ty.elem.mask() } else { divisor };
        if magnitude.is_power_of_two() {
            let shift = magnitude.trailing_zeros();
            if !signed {
                return Some(if remainder {
                    Division::Remainder(self.op2_bits(Opcode::And, a, magnitude - 1))
                } else {
                    Division::Quotient(self.op2_bits(Opcode::Lshr, a, shift.into()))
                });
            }
            // Negative dividends need a bias, because the shift rounds down.
            let biased = if shift == 0 {
                a.clone()
            } else {
                // Only the highest bits of the sign count.
                let sign = if shift == 1 { a.clone() } else { self.op2_bits(Opcode::Ashr, a, u64::from(shift - 1)) };
                let bias = self.op2_bits(Opcode::Lshr, &sign, u64::from(bits - shift));
                self.op2(Opcode::Iadd, a, &bias)
            };
            if remainder {
                let multiple = self.op2_bits(Opcode::And, &biased, magnitude.wrapping_neg());
                return Some(Division::Remainder(self.op2(Opcode::Isub, a, &multiple)));
            }
            let quotient = self.op2_bits(Opcode::Ashr, &biased, shift.into());
            return Some(Division::Quotient(self.negated_if(negative, quotient)));
        }
        let multiplies = match a.ty.elem {
            Elem::I64 => (a.ty.lanes() == 1 || self.multiplies_high_words(a.ty)) && magnitude < 1 << 63,
            Elem::I16 => (self.caps.native)(Opcode::Umulh, &Imm::None, Elem::I16, Elem::I16),
            Elem::I8 => return self.byte_by_constant(a, divisor, signed, remainder),
            Elem::I32 => true,
            Elem::B1 | Elem::F16 | Elem::F32 | Elem::F64 | Elem::Ptr(_) => false,
        };
        if !multiplies {
            return None;
        }
        if !signed {
            let magic = unsigned_magic(divisor, bits);
            let factor = self.splat_bits(a.ty, magic.factor);
            let high = self.op2(Opcode::Umulh, a, &factor);
            if !magic.add {
                return Some(Division::Quotient(self.op2_bits(Opcode::Lshr, &high, magic.shift.into())));
            }
            // Half of the sum; the sum itself needs one bit more.
            let rest = self.op2(Opcode::Isub, a, &high);
            let half = self.op2_bits(Opcode::Lshr, &rest, 1);
            let sum = self.op2(Opcode::Iadd, &half, &high);
            return Some(Division::Quotient(self.op2_bits(Opcode::Lshr, &sum, u64::from(magic.shift - 1))));
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
        Some(Division::Quotient(self.negated_if(negative, quotient)))
    }

    /// Division of bytes by a constant, as one of 16-bit elements.
    fn byte_by_constant(&mut self, a: &SplitValue, divisor: u64, signed: bool, remainder: bool) -> Option<Division> {
        let wide = self.extend(a, Elem::I16, signed);
        let divisor = if signed { i64::from(divisor as i8) as u64 & Elem::I16.mask() } else { divisor };
        Some(match self.by_constant(&wide, divisor, signed, remainder)? {
            Division::Quotient(quotient) => Division::Quotient(self.truncate(&quotient, Elem::I8)),
            Division::Remainder(rest) => Division::Remainder(self.truncate(&rest, Elem::I8)),
        })
    }

    fn negated_if(&mut self, negative: bool, a: SplitValue) -> SplitValue {
        if negative { self.lanewise(Opcode::Ineg, &Imm::None, std::slice::from_ref(&a), a.ty) } else { a }
    }
}

/// What a division computed.
pub(super) enum Division {
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
