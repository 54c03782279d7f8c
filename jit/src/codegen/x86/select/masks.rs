//! Logic of masks. A comparison that only a complement or a conjunction uses becomes part of it: it compares the other way round,
//! or only the lanes of the other operand.

use clift_kir::ops::{FloatOp, IntOp, OpClass};
use clift_kir::{Imm, Inst, IntCond, Opcode, Value};
use regalloc2::VReg;

use super::{ExtraOperands, RegMem, Selector, wrong_imm};
use crate::codegen::BooleanOp;
use crate::codegen::x86::code::MASK;
use crate::codegen::x86::encode::{InstRow, OperandSize};
use crate::codegen::x86::table as t;

/// A comparison of lanes, or its complement.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    inst: Inst,
    inverted: bool,
}

impl Selector<'_> {
    pub(super) fn mask2(&mut self, row: InstRow, a: VReg, b: VReg) -> VReg {
        let more = ExtraOperands { second: Some(a), ..ExtraOperands::default() };
        self.make(MASK, row, OperandSize::X, RegMem::Register(b), more)
    }

    fn mask_not(&mut self, a: VReg) -> VReg {
        self.make(MASK, t::KNOTQ, OperandSize::X, RegMem::Register(a), ExtraOperands::default())
    }

    /// The operand of a complement.
    fn complement_of(&self, value: Value) -> Option<Value> {
        let data = self.legal.dfg.inst(self.legal.dfg.def_inst(value)?);
        (data.op == Opcode::Not).then(|| data.args[0])
    }

    /// The comparison of lanes, or the complement of one, that gives a mask without other uses.
    fn comparison(&self, value: Value) -> Option<Comparison> {
        if !self.ends_here(value) {
            return None;
        }
        if let Some(inner) = self.complement_of(value) {
            let Comparison { inst, inverted } = self.comparison(inner)?;
            return Some(Comparison { inst, inverted: !inverted });
        }
        let inst = self.legal.dfg.def_inst(value)?;
        let class = self.legal.dfg.inst(inst).op.class();
        let compares = matches!(class, OpClass::Int(IntOp::Icmp) | OpClass::Float(FloatOp::Fcmp));
        (compares && !self.arg_type(inst, 0).is_bool()).then_some(Comparison { inst, inverted: false })
    }

    /// A comparison of all lanes, or of those in a mask; the others are false.
    fn compare(&mut self, comparison: Comparison, mask: Option<VReg>) -> VReg {
        let Comparison { inst, inverted } = comparison;
        let data = self.legal.dfg.inst(inst);
        let (ty, a, b) = (self.arg_type(inst, 0), data.args[0], data.args[1]);
        if let Imm::FloatCond(cond, _) = data.imm {
            return self.compare_floats(if inverted { cond.inverse() } else { cond }, ty, a, b, mask);
        }
        let Imm::IntCond(cond) = data.imm else { wrong_imm(&data.imm) };
        self.compare_lanes(if inverted { cond.inverse() } else { cond }, ty, a, b, mask)
    }

    /// An op on masks that a comparison becomes part of.
    fn fused_comparison(&mut self, op: BooleanOp, args: &[Value]) -> Option<VReg> {
        match op {
            BooleanOp::Not => {
                let Comparison { inst, inverted } = self.comparison(args[0])?;
                Some(self.compare(Comparison { inst, inverted: !inverted }, None))
            }
            BooleanOp::And => {
                let (comparison, other) = [(args[1], args[0]), (args[0], args[1])]
                    .into_iter()
                    .find_map(|(one, other)| self.comparison(one).map(|comparison| (comparison, other)))?;
                let mask = self.get(other);
                Some(self.compare(comparison, Some(mask)))
            }
            BooleanOp::Or | BooleanOp::Xor | BooleanOp::Compare => None,
        }
    }

    pub(super) fn mask_op(&mut self, op: IntOp, inst: Inst) -> VReg {
        use BooleanOp as O;
        let op = BooleanOp::of(op);
        let data = self.legal.dfg.inst(inst);
        if let Some(mask) = self.fused_comparison(op, &data.args) {
            return mask;
        }
        if op == O::And {
            for (one, other) in [(0, 1), (1, 0)] {
                if let Some(inner) = self.complement_of(data.args[one]) {
                    let (a, b) = (self.get(inner), self.get(data.args[other]));
                    return self.mask2(t::KANDNQ, a, b);
                }
            }
        }
        let a = self.get(data.args[0]);
        let b = data.args.get(1).map(|&b| self.get(b)).unwrap_or(a);
        match (op, &data.imm) {
            (O::And, _) => self.mask2(t::KANDQ, a, b),
            (O::Or, _) => self.mask2(t::KORQ, a, b),
            (O::Xor, _) => self.mask2(t::KXORQ, a, b),
            (O::Not, _) => self.mask_not(a),
            (O::Compare, Imm::IntCond(cond)) => match cond {
                IntCond::Ne => self.mask2(t::KXORQ, a, b),
                IntCond::Eq => self.mask2(t::KXNORQ, a, b),
                // True is 1 as an unsigned and -1 as a signed number.
                IntCond::Ult | IntCond::Sgt => self.mask2(t::KANDNQ, a, b),
                IntCond::Ugt | IntCond::Slt => self.mask2(t::KANDNQ, b, a),
                IntCond::Ule | IntCond::Sge => {
                    let not_a = self.mask_not(a);
                    self.mask2(t::KORQ, not_a, b)
                }
                IntCond::Uge | IntCond::Sle => {
                    let not_b = self.mask_not(b);
                    self.mask2(t::KORQ, a, not_b)
                }
            },
            (O::Compare, imm) => wrong_imm(imm),
        }
    }
}
