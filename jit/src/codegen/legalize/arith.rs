//! Lane-wise ops: expanded where the legal form has no such op, else part by part or lane by lane.

use clift_kir::{Convert, Elem, Imm, IntCond, Opcode, Rounding, Type, Value};
use smallvec::SmallVec;

use super::{Legalizer, Wide, carrier};

impl Legalizer<'_> {
    /// A lane-wise op on values of equally many lanes.
    pub(super) fn lanewise(&mut self, op: Opcode, imm: &Imm, args: &[Wide], result: Type) -> Wide {
        if let Some(wide) = self.expand_float(op, imm, args, result) {
            return wide;
        }
        let from = args.first().map_or(result, |arg| arg.ty);
        if let Some(between) = self.stepping_stone(op, from, result) {
            let half = self.lanewise(op, imm, args, between);
            return self.lanewise(op, imm, &[half], result);
        }
        let chunk = self.common_chunk(args, result);
        if chunk > 1
            && let Some(wide) = self.cheaper(op, imm, args, result)
        {
            return wide;
        }
        if chunk > 1 && self.is_native(op, imm, args, from.elem, result.elem) {
            let args: SmallVec<[Wide; 4]> = args.iter().map(|arg| self.regroup(arg, chunk)).collect();
            let ty = self.part_type(result.elem, chunk);
            let parts = (0..args[0].parts.len())
                .map(|part| {
                    let operands: SmallVec<[Value; 4]> = args.iter().map(|arg| arg.parts[part]).collect();
                    self.emit(op, &operands, imm.clone(), ty)
                })
                .collect();
            return Wide { ty: result, chunk, parts };
        }
        if chunk > 1
            && let Some(wide) = self.expand_vector(op, args, result)
        {
            return wide;
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

    /// What is better said in other ops on any vector hardware: products with a constant that has few bits, and differences of
    /// integers, which are the complements of equalities (known already, or combined with another mask for nothing).
    fn cheaper(&mut self, op: Opcode, imm: &Imm, args: &[Wide], result: Type) -> Option<Wide> {
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

    /// The type through which integers change their width when that is more than vectors do at once: extensions double it, and
    /// 64 bits go to 32 first.
    fn stepping_stone(&self, op: Opcode, from: Type, to: Type) -> Option<Type> {
        let registers = self.caps.part_lanes(from) > 1 && self.caps.part_lanes(to) > 1 && !from.is_bool();
        let elem = match (op, from.elem, to.elem) {
            (Opcode::Zext | Opcode::Sext, Elem::I8, Elem::I32 | Elem::I64) => Elem::I16,
            (Opcode::Zext | Opcode::Sext, Elem::I16, Elem::I64) => Elem::I32,
            (Opcode::Itrunc, Elem::I64, Elem::I8 | Elem::I16) => Elem::I32,
            _ => return None,
        };
        registers.then(|| from.with_elem(elem))
    }

    /// Lanes per part in which operands and result can meet.
    fn common_chunk(&self, args: &[Wide], result: Type) -> u32 {
        // Masks take any number of lanes; among masks alone that of the first operand.
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

    /// Two operands of one type, result of the same.
    pub(super) fn op2(&mut self, op: Opcode, a: &Wide, b: &Wide) -> Wide {
        self.lanewise(op, &Imm::None, &[a.clone(), b.clone()], a.ty)
    }

    /// As [`Self::op2`], the second operand a constant with the same bits in every lane.
    pub(super) fn op2_bits(&mut self, op: Opcode, a: &Wide, bits: u64) -> Wide {
        let b = self.splat_bits(a.ty, bits);
        self.op2(op, a, &b)
    }

    /// Integer comparison.
    pub(super) fn compare(&mut self, cond: IntCond, a: &Wide, b: &Wide) -> Wide {
        self.lanewise(Opcode::Icmp, &Imm::IntCond(cond), &[a.clone(), b.clone()], a.ty.as_mask())
    }

    /// Integer comparison with a constant that has the same bits in every lane.
    pub(super) fn compare_bits(&mut self, cond: IntCond, a: &Wide, bits: u64) -> Wide {
        let b = self.splat_bits(a.ty, bits);
        self.compare(cond, a, &b)
    }

    /// A conversion in the mode that the legal form has.
    pub(super) fn convert(&mut self, op: Opcode, a: &Wide, elem: Elem) -> Wide {
        let to_int = matches!(op, Opcode::FptoS | Opcode::FptoU);
        let rounding = if to_int { Rounding::TowardZero } else { Rounding::NearestEven };
        let imm = Imm::Convert(Convert { rounding, saturate: true });
        self.lanewise(op, &imm, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    /// Zero or sign extension.
    pub(super) fn extend(&mut self, a: &Wide, elem: Elem, signed: bool) -> Wide {
        let op = if signed { Opcode::Sext } else { Opcode::Zext };
        self.lanewise(op, &Imm::None, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    /// Low bits of each lane.
    pub(super) fn truncate(&mut self, a: &Wide, elem: Elem) -> Wide {
        self.lanewise(Opcode::Itrunc, &Imm::None, std::slice::from_ref(a), a.ty.with_elem(elem))
    }

    fn is_native(&self, op: Opcode, imm: &Imm, args: &[Wide], from: Elem, to: Elem) -> bool {
        if matches!(op, Opcode::Shl | Opcode::Lshr | Opcode::Ashr | Opcode::Rotl) && !self.is_splat(&args[1]) {
            return (self.caps.varying_shifts)(op, from);
        }
        (self.caps.native)(op, imm, carrier(from), carrier(to))
    }
}
