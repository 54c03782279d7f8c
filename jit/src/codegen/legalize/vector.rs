//! Integer ops that backends lack on vectors, expressed by other vector ops. Ops without an expansion here are done lane by lane.

use clift_kir::ops::Meaning;
use clift_kir::{Elem, Opcode, Type};

use super::{Legalizer, SplitValue};

impl Legalizer<'_> {
    /// Whether vectors compute upper halves of 64-bit products faster than scalars.
    pub(super) fn multiplies_high_words(&self, ty: Type) -> bool {
        self.caps.part_lanes(ty) >= 4
    }

    /// The upper halves of 64-bit products, from four products of 32 bits.
    fn high_words(&mut self, a: &SplitValue, b: &SplitValue, signed: bool) -> SplitValue {
        use Opcode as O;
        let low = |this: &mut Self, x: &SplitValue| this.op2_bits(O::And, x, u64::from(u32::MAX));
        let high = |this: &mut Self, x: &SplitValue| this.op2_bits(O::Lshr, x, 32);
        let (a_low, a_high, b_low, b_high) = (low(self, a), high(self, a), low(self, b), high(self, b));
        // No sum exceeds 64 bits.
        let lowest = self.op2(O::Imul, &a_low, &b_low);
        let carried = high(self, &lowest);
        let middle = self.op2(O::Imul, &a_high, &b_low);
        let middle = self.op2(O::Iadd, &middle, &carried);
        let other = self.op2(O::Imul, &a_low, &b_high);
        let middle_low = low(self, &middle);
        let other = self.op2(O::Iadd, &other, &middle_low);
        let highest = self.op2(O::Imul, &a_high, &b_high);
        let (middle, other) = (high(self, &middle), high(self, &other));
        let sum = self.op2(O::Iadd, &highest, &middle);
        let product = self.op2(O::Iadd, &sum, &other);
        if !signed {
            return product;
        }
        // A negative factor is 2^64 too large as an unsigned number.
        let excess = |this: &mut Self, sign: &SplitValue, factor: &SplitValue| {
            let negative = this.op2_bits(O::Ashr, sign, 63);
            this.op2(O::And, &negative, factor)
        };
        let (first, second) = (excess(self, a, b), excess(self, b, a));
        let product = self.op2(O::Isub, &product, &first);
        self.op2(O::Isub, &product, &second)
    }

    /// Expands a lane-wise op into other vector ops where that is better than scalars.
    pub(super) fn expand_vector(&mut self, op: Opcode, args: &[SplitValue], result: Type) -> Option<SplitValue> {
        use Opcode as O;
        let a = args.first()?;
        let (elem, bits) = (a.ty.elem, u64::from(a.ty.elem.bits()));
        #[expect(clippy::wildcard_enum_match_arm, reason = "these are the ops that have expansions")]
        match op {
            O::Imul if elem == Elem::I8 => {
                let product = self.widening_multiply(a, &args[1], Elem::I16, false);
                Some(self.truncate(&product, Elem::I8))
            }
            O::Umulh | O::Smulh if matches!(elem, Elem::I8 | Elem::I16 | Elem::I32) => {
                let product = self.widening_multiply(a, &args[1], wider(elem), op == O::Smulh);
                let Some(halves) = Type::new(elem, 2 * product.ty.lanes()) else {
                    let high = self.op2_bits(O::Lshr, &product, bits);
                    return Some(self.truncate(&high, elem));
                };
                let halves = self.bitcast(&product, halves);
                Some(self.every_other_lane(&halves, 1))
            }
            O::Umulh | O::Smulh if elem == Elem::I64 && self.multiplies_high_words(a.ty) => {
                Some(self.high_words(a, &args[1], op == O::Smulh))
            }
            O::Udiv | O::Sdiv | O::Urem | O::Srem => self.vector_division(op, a, &args[1]),
            // In 16-bit words.
            O::Shl | O::Lshr | O::Ashr
                if elem == Elem::I8
                    && let Some(count) = self.constant_of_splat(&args[1])
                    && let Some(words) =
                        Type::new(Elem::I16, a.ty.lanes() / 2).filter(|words| words.bytes() == a.ty.bytes()) =>
            {
                Some(self.shifted_bytes(op, a, count % bits, words))
            }
            // In 32-bit words, if those can be shifted by varying counts.
            O::Shl | O::Lshr | O::Ashr if bits < 32 && (self.caps.varying_shifts)(op, Elem::I32) => {
                let count = self.op2_bits(O::And, &args[1], bits - 1);
                let count = self.extend(&count, Elem::I32, false);
                let wide = self.extend(a, Elem::I32, op == O::Ashr);
                let wide = if op == O::Shl {
                    self.op2(O::Shl, &wide, &count)
                } else {
                    // Shift left by the complementary count first, then right by a constant: left shifts are cheaper.
                    let width = self.splat_bits(count.ty, bits);
                    let count = self.op2(O::Isub, &width, &count);
                    let raised = self.op2(O::Shl, &wide, &count);
                    self.op2_bits(op, &raised, bits)
                };
                Some(self.truncate(&wide, elem))
            }
            O::Rotl if bits < 32 && !self.is_splat(&args[1]) && (self.caps.varying_shifts)(op, Elem::I32) => {
                let back = self.lanewise(O::Ineg, &clift_kir::Imm::None, &args[1..], args[1].ty);
                let (left, right) = (self.op2(O::Shl, a, &args[1]), self.op2(O::Lshr, a, &back));
                // For a count of zero both shifts leave the value unchanged.
                Some(self.op2(O::Or, &left, &right))
            }
            O::Rotl if self.is_splat(&args[1]) => {
                let left = self.lanewise(O::Shl, &clift_kir::Imm::None, args, result);
                let back = match self.constant_of_splat(&args[1]) {
                    Some(count) => self.splat_bits(args[1].ty, bits.wrapping_sub(count) % bits),
                    None => {
                        let count = self.scalar_of_splat(&args[1]);
                        let back = self.lanewise(O::Ineg, &clift_kir::Imm::None, &[count], args[1].ty.lane());
                        self.splat_value(back.only(), args[1].ty)
                    }
                };
                let right = self.op2(O::Lshr, a, &back);
                // For a count of zero both shifts leave the value unchanged.
                Some(self.op2(O::Or, &left, &right))
            }
            O::Popcnt if bits > 8 => {
                let bytes = self.byte_view(a)?;
                let counts = self.lanewise(O::Popcnt, &clift_kir::Imm::None, std::slice::from_ref(&bytes), bytes.ty);
                let mut sum = self.bitcast(&counts, a.ty);
                let mut shift = 8;
                while shift < bits {
                    let other = self.op2_bits(O::Lshr, &sum, shift);
                    sum = self.op2(O::Iadd, &sum, &other);
                    shift *= 2;
                }
                Some(self.op2_bits(O::And, &sum, 0xff))
            }
            O::Ctz => {
                // The bits below the lowest set bit.
                let one_less = self.op2_bits(O::Iadd, a, u64::MAX);
                let inverted = self.op2_bits(O::Xor, a, u64::MAX);
                let below = self.op2(O::And, &one_less, &inverted);
                Some(self.lanewise(O::Popcnt, &clift_kir::Imm::None, &[below], result))
            }
            O::Clz if bits <= 16 => {
                let mut filled = a.clone();
                let mut shift = 1;
                while shift < bits {
                    let other = self.op2_bits(O::Lshr, &filled, shift);
                    filled = self.op2(O::Or, &filled, &other);
                    shift *= 2;
                }
                let above = self.op2_bits(O::Xor, &filled, u64::MAX);
                Some(self.lanewise(O::Popcnt, &clift_kir::Imm::None, &[above], result))
            }
            O::Bitrev => {
                let mut value = a.clone();
                let mut shift = bits / 2;
                while shift > 0 {
                    // Exchange neighbouring groups of `shift` bits.
                    let low = u64::MAX / ((1 << shift) + 1);
                    let up = self.op2_bits(O::And, &value, low);
                    let up = self.op2_bits(O::Shl, &up, shift);
                    let down = self.op2_bits(O::Lshr, &value, shift);
                    let down = self.op2_bits(O::And, &down, low);
                    value = self.op2(O::Or, &up, &down);
                    shift /= 2;
                }
                Some(value)
            }
            // All other ops go lane by lane.
            op => {
                debug_assert!(matches!(op.info().meaning, Meaning::Lanes(_)));
                None
            }
        }
    }

    /// The product in wider elements.
    fn widening_multiply(&mut self, a: &SplitValue, b: &SplitValue, elem: Elem, signed: bool) -> SplitValue {
        let (a, b) = (self.extend(a, elem, signed), self.extend(b, elem, signed));
        self.op2(Opcode::Imul, &a, &b)
    }

    /// Bytes shifted by a constant, as `words` of 16 bits without what comes from the neighbouring byte.
    fn shifted_bytes(&mut self, op: Opcode, a: &SplitValue, count: u64, words: Type) -> SplitValue {
        let kept = if op == Opcode::Shl { 0xff << count & 0xff } else { 0xff >> count };
        let whole = self.bitcast(a, words);
        let shifted = self.op2_bits(if op == Opcode::Shl { op } else { Opcode::Lshr }, &whole, count);
        let bytes = self.bitcast(&shifted, a.ty);
        let bytes = self.op2_bits(Opcode::And, &bytes, kept);
        if op != Opcode::Ashr {
            return bytes;
        }
        // Extends the sign, which is now at another place.
        let sign = 0x80 >> count;
        let flipped = self.op2_bits(Opcode::Xor, &bytes, sign);
        self.op2_bits(Opcode::Isub, &flipped, sign)
    }

    /// A vector as bytes, if its lanes can be viewed as such.
    fn byte_view(&mut self, a: &SplitValue) -> Option<SplitValue> {
        let ty = Type::new(Elem::I8, a.ty.bytes())?;
        Some(self.bitcast(a, ty))
    }
}

fn wider(elem: Elem) -> Elem {
    match elem {
        Elem::I8 => Elem::I16,
        Elem::I16 => Elem::I32,
        Elem::I32 => Elem::I64,
        Elem::B1 | Elem::I64 | Elem::F16 | Elem::F32 | Elem::F64 | Elem::Ptr(_) => {
            unreachable!("broken invariant: no integer wider than {elem}")
        }
    }
}
