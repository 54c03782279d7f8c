//! Division of integers through floats: by vector divisions, or by the reciprocal of a divisor that all lanes share.

use clift_kir::dfg::ConstData;
use clift_kir::eval::convert::round_f64;
use clift_kir::{Convert, Elem, FpFlags, Imm, IntCond, Opcode, Rounding};

use super::divide::Division;
use super::{Legalizer, SplitValue};

impl Legalizer<'_> {
    /// Quotients or remainders, if vectors compute them faster than scalars. For divisors of zero the result is arbitrary.
    pub(super) fn through_floats(
        &mut self,
        a: &SplitValue,
        b: &SplitValue,
        signed: bool,
        remainder: bool,
    ) -> Option<Division> {
        match a.ty.elem.bits() {
            64 => self.long_division(a, b, signed, remainder),
            _ if self.is_splat(b) => Some(Division::Quotient(self.by_shared_divisor(a, b, signed))),
            _ => Some(Division::Quotient(self.by_float_division(a, b, signed))),
        }
    }

    /// The float type that has enough bits for quotients of up to 32 bits: exact quotients are exact, and the others are further
    /// from the next integer than any rounding error.
    fn quotient_type(elem: Elem) -> Elem {
        if elem == Elem::I32 { Elem::F64 } else { Elem::F32 }
    }

    /// Quotients of up to 32 bits, by float divisions. An estimate of at least 48 bits (or 22) whose residual is added is exact
    /// where the quotient is an integer.
    fn by_float_division(&mut self, a: &SplitValue, b: &SplitValue, signed: bool) -> SplitValue {
        let float = Self::quotient_type(a.ty.elem);
        let (x, y) = (self.int_to_float(a, float, signed), self.int_to_float(b, float, signed));
        let quotient = self.float_op(Opcode::Fdiv, FpFlags::ESTIMATE, &x, &y);
        self.truncated(&quotient, a.ty.elem, signed)
    }

    /// Quotients of up to 32 bits by a divisor that all lanes share: products with its reciprocal, made slightly too large. With
    /// a relative error of e above zero, an integer quotient stays above itself, and any other below the next integer, because
    /// the distance to that is at least 1 / b, and a * e < 1.
    fn by_shared_divisor(&mut self, a: &SplitValue, b: &SplitValue, signed: bool) -> SplitValue {
        let float = Self::quotient_type(a.ty.elem);
        let excess = if float == Elem::F64 { 2f64.powi(-40) } else { 2f64.powi(-20) };
        let reciprocal = self.reciprocal(b, float, signed, 1.0 + excess);
        let x = self.int_to_float(a, float, signed);
        let quotient = self.float_op(Opcode::Fmul, FpFlags::empty(), &x, &reciprocal);
        self.truncated(&quotient, a.ty.elem, signed)
    }

    /// Quotients or remainders of 64 bits in two steps, with reciprocals made slightly too small: the first quotient lacks at
    /// most 2^17, that of the rest by the same divisor at most 1. All rests are nonnegative.
    fn long_division(&mut self, a: &SplitValue, b: &SplitValue, signed: bool, remainder: bool) -> Option<Division> {
        let converts = |op| (self.caps.native)(op, &Imm::None, Elem::I64, Elem::F64);
        if self.caps.part_lanes(a.ty) < 4 || !converts(Opcode::UtoFp) {
            return None;
        }
        let signs = |this: &mut Self, value: &SplitValue| this.op2_bits(Opcode::Ashr, value, 63);
        let (x, y) = if signed { (self.magnitude(a), self.magnitude(b)) } else { (a.clone(), b.clone()) };
        let reciprocal = self.reciprocal(&y, Elem::F64, false, 1.0 - 2f64.powi(-48));
        let (first, rest) = self.partial_quotient(&x, &y, &reciprocal);
        let (second, rest) = self.partial_quotient(&rest, &y, &reciprocal);
        let lacks_one = self.compare(IntCond::Uge, &rest, &y);
        let (value, negative) = if remainder {
            let less = self.op2(Opcode::Isub, &rest, &y);
            (self.select(&lacks_one, &less, &rest), signed.then(|| signs(self, a)))
        } else {
            let sum = self.op2(Opcode::Iadd, &first, &second);
            let more = self.op2_bits(Opcode::Iadd, &sum, 1);
            let quotient = self.select(&lacks_one, &more, &sum);
            let differ = signed.then(|| {
                let differ = self.op2(Opcode::Xor, a, b);
                signs(self, &differ)
            });
            (quotient, differ)
        };
        let value = match negative {
            // The two's complement where the mask is all ones.
            Some(mask) => {
                let flipped = self.op2(Opcode::Xor, &value, &mask);
                self.op2(Opcode::Isub, &flipped, &mask)
            }
            None => value,
        };
        Some(if remainder { Division::Remainder(value) } else { Division::Quotient(value) })
    }

    /// The integer part of `x * reciprocal`, and what is left of `x`.
    fn partial_quotient(
        &mut self,
        x: &SplitValue,
        y: &SplitValue,
        reciprocal: &SplitValue,
    ) -> (SplitValue, SplitValue) {
        let float = self.int_to_float(x, Elem::F64, false);
        let quotient = self.float_op(Opcode::Fmul, FpFlags::empty(), &float, reciprocal);
        let quotient = self.float_to_int(&quotient, Elem::I64, false);
        let product = self.op2(Opcode::Imul, &quotient, y);
        let rest = self.op2(Opcode::Isub, x, &product);
        (quotient, rest)
    }

    /// `factor / b` as floats, to the last bits; one scalar division if all lanes share the divisor.
    fn reciprocal(&mut self, b: &SplitValue, float: Elem, signed: bool, factor: f64) -> SplitValue {
        let floats = b.ty.with_elem(float);
        if let Some(bits) = self.constant_of_splat(b) {
            let by = if signed { sign_extended(bits, b.ty.elem) as f64 } else { bits as f64 };
            return self.splat_bits(floats, round_f64(float, factor / by, Rounding::NearestEven));
        }
        let is_shared = self.is_splat(b);
        let divisor = if is_shared { self.scalar_of_splat(b) } else { b.clone() };
        let divisor = self.int_to_float(&divisor, float, signed);
        let [one, factor] = [1.0, factor].map(|number| {
            let bits = round_f64(float, number, Rounding::NearestEven);
            if divisor.ty.is_vector() {
                return self.splat_bits(divisor.ty, bits);
            }
            let value = self.at().constant(ConstData::splat(divisor.ty, bits));
            SplitValue::scalar(divisor.ty, value)
        });
        let flags = if is_shared { FpFlags::empty() } else { FpFlags::ESTIMATE };
        let inverse = self.float_op(Opcode::Fdiv, flags, &one, &divisor);
        let scaled = self.float_op(Opcode::Fmul, FpFlags::empty(), &inverse, &factor);
        if is_shared { self.splat_value(scaled.only(), floats) } else { scaled }
    }

    fn magnitude(&mut self, a: &SplitValue) -> SplitValue {
        self.lanewise(Opcode::Iabs, &Imm::None, std::slice::from_ref(a), a.ty)
    }

    fn float_op(&mut self, op: Opcode, flags: FpFlags, a: &SplitValue, b: &SplitValue) -> SplitValue {
        self.lanewise(op, &Imm::Fp(flags), &[a.clone(), b.clone()], a.ty)
    }

    fn int_to_float(&mut self, a: &SplitValue, float: Elem, signed: bool) -> SplitValue {
        // Singles are exact for numbers of up to 24 bits, signed or not.
        let a = if a.ty.elem.bits() < 32 { self.extend(a, Elem::I32, signed) } else { a.clone() };
        let op = if signed || float == Elem::F32 { Opcode::StoFp } else { Opcode::UtoFp };
        self.convert(op, &a, float)
    }

    /// The integer part, where it is in range.
    fn float_to_int(&mut self, a: &SplitValue, elem: Elem, signed: bool) -> SplitValue {
        let op = if signed { Opcode::FptoS } else { Opcode::FptoU };
        let imm = Imm::Convert(Convert { rounding: Rounding::TowardZero, saturate: false });
        self.lanewise(op, &imm, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    /// Quotients of up to 32 bits as integers.
    fn truncated(&mut self, quotient: &SplitValue, elem: Elem, signed: bool) -> SplitValue {
        let float = quotient.ty.elem;
        // Registers of 128 bits go with instruction sets that convert doubles to signed words only.
        if float == Elem::F32 || signed || self.caps.register_bits > 128 {
            let words = self.float_to_int(quotient, Elem::I32, signed || float == Elem::F32);
            return if elem == Elem::I32 { words } else { self.truncate(&words, elem) };
        }
        let imm = Imm::Fp(FpFlags::empty());
        let whole = self.lanewise(Opcode::Trunc, &imm, std::slice::from_ref(quotient), quotient.ty);
        // Add a number whose last place is one: the low bits of the sum are the integer in two's complement.
        let last_place = if float == Elem::F64 { 1.5 * 2f64.powi(52) } else { 1.5 * 2f64.powi(23) };
        let last_place = self.splat_bits(quotient.ty, round_f64(float, last_place, Rounding::NearestEven));
        let sum = self.float_op(Opcode::Fadd, FpFlags::empty(), &whole, &last_place);
        let bits = self.bitcast(&sum, quotient.ty.as_int());
        self.truncate(&bits, elem)
    }
}

fn sign_extended(bits: u64, elem: Elem) -> i64 {
    let unused = 64 - elem.bits();
    (bits as i64) << unused >> unused
}
