//! Masks in the form that takes the fewest instructions: the inverse of a comparison if its user can swap its operands, and the
//! top bits of lanes if the user reads nothing else.

use clift_kir::{Imm, Inst, InstData, IntCond, Opcode, Type, Value};
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::{Translator, int_cc};

impl Translator<'_> {
    /// A mask or its inverse, and whether it is the inverse. The inverse is returned if only the instruction being translated
    /// uses the mask, and the inverse takes fewer instructions.
    pub(super) fn mask_or_inverse(&mut self, mask: Value) -> (ir::Value, bool) {
        if let Some((cond, [a, b])) = self.comparison(mask)
            && is_costly(cond, self.legal.dfg.ty(a))
        {
            let (a, b) = (self.get(a), self.get(b));
            return (self.pos.ins().icmp(int_cc(cond.inverse()), a, b), true);
        }
        if let Some(def) = self.legal.dfg.def_inst(mask).filter(|_| self.is_only_use(mask))
            && let InstData { op: Opcode::Not, args, .. } = self.legal.dfg.inst(def)
        {
            return (self.get(args[0]), true);
        }
        (self.get(mask), false)
    }

    /// A vector of lanes as wide as `ty`'s whose top bits are the lanes of a mask, or of its inverse (the flag tells which).
    /// `None` unless this is cheaper than the comparison.
    pub(super) fn mask_as_signs(&mut self, mask: Value, ty: ir::Type) -> Option<(ir::Value, bool)> {
        let (cond, [a, b]) = self.comparison(mask)?;
        let lanes = self.legal.dfg.ty(a);
        if !self.features.x86 || lanes.elem.bits() < 32 || lanes.elem.bits() != ty.lane_bits() {
            return None;
        }
        if self.legal.dfg.as_splat_bits(b) != Some(0) {
            return None;
        }
        match cond {
            IntCond::Slt => return Some((self.get(a), false)),
            IntCond::Sge => return Some((self.get(a), true)),
            IntCond::Eq | IntCond::Ne => {}
            IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge | IntCond::Sle | IntCond::Sgt => return None,
        }
        let bits = self.legal.dfg.inst(self.legal.dfg.def_inst(a)?);
        let (Opcode::And, &[value, bit]) = (bits.op, &*bits.args) else { return None };
        let bit = self.legal.dfg.as_splat_bits(bit).filter(|bit| bit.is_power_of_two())?;
        let value = self.get(value);
        let count = lanes.elem.bits() - 1 - bit.trailing_zeros();
        let signs = if count == 0 {
            value
        } else {
            let count = self.pos.ins().iconst(types::I32, i64::from(count));
            self.pos.ins().ishl(value, count)
        };
        Some((signs, cond == IntCond::Eq))
    }

    /// The condition and operands of an integer vector comparison that only the instruction being translated uses. The comparison
    /// may be in an earlier block: instruction selection sinks it to its use, unless the use is in a loop and the comparison is
    /// not.
    fn comparison(&self, mask: Value) -> Option<(IntCond, [Value; 2])> {
        let def: Inst = self.legal.dfg.def_inst(mask).filter(|_| self.is_only_use(mask))?;
        let data = self.legal.dfg.inst(def);
        let (Imm::IntCond(cond), &[a, b]) = (&data.imm, &*data.args) else { return None };
        let ty = self.legal.dfg.ty(a);
        (ty.is_vector() && !ty.is_bool()).then_some((*cond, [a, b]))
    }
}

/// Whether a comparison of vectors takes more instructions than its inverse.
fn is_costly(cond: IntCond, ty: Type) -> bool {
    // Two of the unsigned comparisons use maxima, which exist for up to 32 bits.
    let narrow = ty.elem.bits() < 64;
    match cond {
        IntCond::Eq | IntCond::Slt | IntCond::Sgt => false,
        IntCond::Ne | IntCond::Sle | IntCond::Sge => true,
        IntCond::Ult | IntCond::Ugt => narrow,
        IntCond::Ule | IntCond::Uge => !narrow,
    }
}
