//! Lane-wise ops: expanded if the legal form lacks them, else applied part by part or lane by lane.

use clift_kir::{Convert, Elem, Imm, IntCond, Opcode, Rounding, Type, Value};
use smallvec::SmallVec;

use super::{Legalizer, SplitValue, carrier};

/// The result of an op that expansions apply to operands that may be constants.
fn folded(op: Opcode, elem: Elem, value: u64, bits: u64) -> Option<u64> {
    let value = value & elem.mask();
    if op == Opcode::And {
        return Some(value & bits);
    }
    (op == Opcode::Lshr && bits < u64::from(elem.bits())).then(|| value >> bits)
}

impl Legalizer<'_> {
    /// Applies a lane-wise op to values with equal numbers of lanes.
    pub(super) fn lanewise(&mut self, op: Opcode, imm: &Imm, args: &[SplitValue], result: Type) -> SplitValue {
        if let Some(split) = self.expand_float(op, imm, args, result) {
            return split;
        }
        let from = args.first().map_or(result, |arg| arg.ty);
        if let Some(between) = self.intermediate_type(op, from, result) {
            let half = self.lanewise(op, imm, args, between);
            return self.lanewise(op, imm, &[half], result);
        }
        let chunk = self.common_chunk(args, result);
        if chunk > 1
            && let Some(split) = self.reduce_strength(op, imm, args, result)
        {
            return split;
        }
        if chunk > 1 && self.is_native(op, imm, args, from.elem, result.elem) {
            let args: SmallVec<[SplitValue; 4]> = args.iter().map(|arg| self.regroup(arg, chunk)).collect();
            let ty = self.part_type(result.elem, chunk);
            let parts = (0..args[0].parts.len())
                .map(|part| {
                    let operands: SmallVec<[Value; 4]> = args.iter().map(|arg| arg.parts[part]).collect();
                    self.emit(op, &operands, imm.clone(), ty)
                })
                .collect();
            return SplitValue { ty: result, chunk, parts };
        }
        if chunk > 1
            && let Some(split) = self.expand_vector(op, args, result)
        {
            return split;
        }
        if result.lanes() == 1
            && let Some(split) = self.scalar_division(op, args)
        {
            return split;
        }
        let lane_type = self.part_type(result.elem, 1);
        let lanes: Vec<Value> = (0..result.lanes())
            .map(|lane| {
                let operands: SmallVec<[Value; 4]> = args.iter().map(|arg| self.lane(arg, lane)).collect();
                self.emit(op, &operands, imm.clone(), lane_type)
            })
            .collect();
        self.join_lanes(result, &lanes)
    }

    /// Strength reductions that pay off on any vector unit. Multiplications by constants with few set bits become shifts and
    /// sums. Inequalities of integers become complements of equalities; the equality often exists already, and the complement
    /// often folds into another mask operation.
    fn reduce_strength(&mut self, op: Opcode, imm: &Imm, args: &[SplitValue], result: Type) -> Option<SplitValue> {
        if op == Opcode::Imul {
            let a = &args[0];
            let factor = self.constant_of_splat(&args[1])? & a.ty.elem.mask();
            let shifted = |this: &mut Self, count: u32| match count {
                0 => a.clone(),
                _ => this.op2_bits(Opcode::Shl, a, count.into()),
            };
            let (low, above) = (factor.trailing_zeros(), 64 - factor.leading_zeros());
            if factor.count_ones() == 2 {
                let (high, low) = (shifted(self, above - 1), shifted(self, low));
                return Some(self.op2(Opcode::Iadd, &high, &low));
            }
            // A run of ones.
            if factor.count_ones() > 2 && factor.count_ones() == above - low && above < a.ty.elem.bits() {
                let (high, low) = (shifted(self, above), shifted(self, low));
                return Some(self.op2(Opcode::Isub, &high, &low));
            }
        }
        if op == Opcode::Icmp && *imm == Imm::IntCond(IntCond::Ne) && args[0].ty.elem.is_int() {
            let equal = self.compare(IntCond::Eq, &args[0], &args[1]);
            return Some(self.lanewise(Opcode::Not, &Imm::None, &[equal], result));
        }
        None
    }

    /// The intermediate type of an integer conversion that vectors cannot do in one step: where extensions double the width only,
    /// and 64 bits are truncated to 32 first.
    fn intermediate_type(&self, op: Opcode, from: Type, to: Type) -> Option<Type> {
        if self.caps.any_extension {
            return None;
        }
        let registers = self.caps.part_lanes(from) > 1 && self.caps.part_lanes(to) > 1 && !from.is_bool();
        let elem = match (op, from.elem, to.elem) {
            (Opcode::Zext | Opcode::Sext, Elem::I8, Elem::I32 | Elem::I64) => Elem::I16,
            (Opcode::Zext | Opcode::Sext, Elem::I16, Elem::I64) => Elem::I32,
            (Opcode::Itrunc, Elem::I64, Elem::I8 | Elem::I16) => Elem::I32,
            _ => return None,
        };
        registers.then(|| from.with_elem(elem))
    }

    /// The number of lanes per part that suits all operands and the result.
    fn common_chunk(&self, args: &[SplitValue], result: Type) -> u32 {
        // Masks can have any number of lanes per part. If there are only masks, the first operand decides.
        let natural = |ty: Type, chunk: u32| {
            let chunk = if ty.is_ptr() { self.caps.part_lanes(ty) } else { chunk };
            (!ty.is_bool()).then_some(chunk)
        };
        args.iter()
            .filter_map(|arg| natural(arg.ty, arg.chunk))
            .chain(natural(result, self.caps.part_lanes(result)))
            .min()
            .or(args.first().map(|arg| arg.chunk))
            .unwrap_or(1)
    }

    /// A binary op whose operands and result have the same type.
    pub(super) fn op2(&mut self, op: Opcode, a: &SplitValue, b: &SplitValue) -> SplitValue {
        self.lanewise(op, &Imm::None, &[a.clone(), b.clone()], a.ty)
    }

    /// As [`Self::op2`]; the second operand is a constant with the same bits in every lane.
    pub(super) fn op2_bits(&mut self, op: Opcode, a: &SplitValue, bits: u64) -> SplitValue {
        if let Some(known) = self.constant_of_splat(a).and_then(|value| folded(op, a.ty.elem, value, bits)) {
            return self.splat_bits(a.ty, known);
        }
        let b = self.splat_bits(a.ty, bits);
        self.op2(op, a, &b)
    }

    /// An integer comparison.
    pub(super) fn compare(&mut self, cond: IntCond, a: &SplitValue, b: &SplitValue) -> SplitValue {
        self.lanewise(Opcode::Icmp, &Imm::IntCond(cond), &[a.clone(), b.clone()], a.ty.as_mask())
    }

    /// An integer comparison with a constant that has the same bits in every lane.
    pub(super) fn compare_bits(&mut self, cond: IntCond, a: &SplitValue, bits: u64) -> SplitValue {
        let b = self.splat_bits(a.ty, bits);
        self.compare(cond, a, &b)
    }

    /// A conversion in the mode of the legal form.
    pub(super) fn convert(&mut self, op: Opcode, a: &SplitValue, elem: Elem) -> SplitValue {
        let to_int = matches!(op, Opcode::FptoS | Opcode::FptoU);
        let rounding = if to_int { Rounding::TowardZero } else { Rounding::NearestEven };
        let imm = Imm::Convert(Convert { rounding, saturate: true });
        self.lanewise(op, &imm, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    /// Zero or sign extension.
    pub(super) fn extend(&mut self, a: &SplitValue, elem: Elem, signed: bool) -> SplitValue {
        let op = if signed { Opcode::Sext } else { Opcode::Zext };
        self.lanewise(op, &Imm::None, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    /// Truncation to the low bits of each lane.
    pub(super) fn truncate(&mut self, a: &SplitValue, elem: Elem) -> SplitValue {
        self.lanewise(Opcode::Itrunc, &Imm::None, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    fn is_native(&self, op: Opcode, imm: &Imm, args: &[SplitValue], from: Elem, to: Elem) -> bool {
        if matches!(op, Opcode::Shl | Opcode::Lshr | Opcode::Ashr | Opcode::Rotl) && !self.has_splat_parts(&args[1]) {
            return (self.caps.varying_shifts)(op, from);
        }
        (self.caps.native)(op, imm, carrier(from), carrier(to))
    }
}
