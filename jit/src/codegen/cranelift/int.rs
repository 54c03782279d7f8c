//! Integer ops. Nothing traps: divisors that would trap are replaced first.

use clift_kir::ops::IntOp;
use clift_kir::{Imm, Inst, IntCond, Opcode};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::{Translator, int_cc, wrong_imm};
use crate::codegen::BooleanOp;

impl Translator<'_> {
    pub(super) fn int_op(&mut self, op: IntOp, inst: Inst) {
        use IntOp as O;
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        let args = self.args(inst);
        let operand = self.arg_type(inst, 0);
        if operand.is_bool() {
            return self.bool_op(op, inst, &args);
        }
        let a = args[0];
        let b = args.get(1).copied().unwrap_or(a);
        let value = match op {
            O::Iadd => self.pos.ins().iadd(a, b),
            O::Isub => self.pos.ins().isub(a, b),
            O::Imul => {
                let [a, b] = self.widened_alike(inst, [a, b]);
                self.pos.ins().imul(a, b)
            }
            O::Umulh => self.multiply_high(a, b, false),
            O::Smulh => self.multiply_high(a, b, true),
            O::Udiv | O::Urem => self.unsigned_division(data.op, a, b, legal.dfg.as_splat_bits(data.args[1])),
            O::Sdiv | O::Srem => self.signed_division(data.op, a, b, legal.dfg.as_splat_bits(data.args[1])),
            O::Ineg => self.pos.ins().ineg(a),
            O::Iabs => self.pos.ins().iabs(a),
            O::UaddSat => self.unsigned_add_sat(a, b),
            O::UsubSat => self.unsigned_sub_sat(a, b),
            O::SaddSat => self.signed_sat(a, b, true),
            O::SsubSat => self.signed_sat(a, b, false),
            O::Umin => self.pos.ins().umin(a, b),
            O::Umax => self.pos.ins().umax(a, b),
            O::Smin => self.pos.ins().smin(a, b),
            O::Smax => self.pos.ins().smax(a, b),
            O::And => self.pos.ins().band(a, b),
            O::Or => self.pos.ins().bor(a, b),
            O::Xor => self.pos.ins().bxor(a, b),
            O::Not => self.pos.ins().bnot(a),
            // The legal form has only varying rotations of vectors; in some parts all lanes may have the same count.
            O::Rotl if operand.is_vector() => self.varying_shift(data.op, a, b),
            O::Shl | O::Lshr | O::Ashr if operand.is_vector() && !self.is_splat(data.args[1]) => {
                self.varying_shift(data.op, a, b)
            }
            O::Shl => {
                let count = self.shift_count(inst, b);
                self.pos.ins().ishl(a, count)
            }
            O::Lshr => {
                let count = self.shift_count(inst, b);
                self.pos.ins().ushr(a, count)
            }
            O::Ashr => {
                let count = self.shift_count(inst, b);
                self.pos.ins().sshr(a, count)
            }
            O::Rotl => self.pos.ins().rotl(a, b),
            O::Clz => self.pos.ins().clz(a),
            O::Ctz => self.pos.ins().ctz(a),
            O::Popcnt => self.pos.ins().popcnt(a),
            O::Bitrev => self.pos.ins().bitrev(a),
            O::Icmp => {
                let Imm::IntCond(cond) = data.imm else { wrong_imm(&data.imm) };
                self.pos.ins().icmp(int_cc(cond), a, b)
            }
        };
        self.set(inst, value);
    }

    /// Ops on Booleans (`i8` of 0 or 1) and masks.
    fn bool_op(&mut self, op: IntOp, inst: Inst, args: &[ir::Value]) {
        use BooleanOp as O;
        let data = self.legal.dfg.inst(inst);
        let vector = self.arg_type(inst, 0).is_vector();
        let a = args[0];
        let b = args.get(1).map(|&b| if vector { self.mask_of_width(b, self.ty(a).lane_bits()) } else { b });
        let b = b.unwrap_or(a);
        let value = match BooleanOp::of(op) {
            O::And => self.pos.ins().band(a, b),
            O::Or => self.pos.ins().bor(a, b),
            O::Xor if vector => self.masks_differ(inst, false),
            O::Xor => self.pos.ins().bxor(a, b),
            O::Not => self.invert(a),
            O::Compare if vector && matches!(data.imm, Imm::IntCond(IntCond::Eq | IntCond::Ne)) => {
                self.masks_differ(inst, matches!(data.imm, Imm::IntCond(IntCond::Eq)))
            }
            O::Compare => {
                let Imm::IntCond(cond) = data.imm else { wrong_imm(&data.imm) };
                match cond {
                    IntCond::Ne => self.pos.ins().bxor(a, b),
                    IntCond::Eq => {
                        let differ = self.pos.ins().bxor(a, b);
                        self.invert(differ)
                    }
                    // True is 1 as an unsigned and -1 as a signed number.
                    IntCond::Ult | IntCond::Sgt => {
                        let not_a = self.invert(a);
                        self.pos.ins().band(not_a, b)
                    }
                    IntCond::Ugt | IntCond::Slt => {
                        let not_b = self.invert(b);
                        self.pos.ins().band(a, not_b)
                    }
                    IntCond::Ule | IntCond::Sge => {
                        let not_a = self.invert(a);
                        self.pos.ins().bor(not_a, b)
                    }
                    IntCond::Uge | IntCond::Sle => {
                        let not_b = self.invert(b);
                        self.pos.ins().bor(a, not_b)
                    }
                }
            }
        };
        self.set(inst, value);
    }

    /// Where two masks differ, or where they are equal.
    fn masks_differ(&mut self, inst: Inst, same: bool) -> ir::Value {
        let args = &self.legal.dfg.inst(inst).args;
        let ((a, a_opposite), (b, b_opposite)) = (self.mask_or_inverse(args[0]), self.mask_or_inverse(args[1]));
        let b = self.mask_of_width(b, self.ty(a).lane_bits());
        let differ = self.pos.ins().bxor(a, b);
        if same ^ a_opposite ^ b_opposite { self.invert(differ) } else { differ }
    }

    /// The complement of a Boolean or mask.
    pub(super) fn invert(&mut self, a: ir::Value) -> ir::Value {
        if self.ty(a).is_vector() { self.pos.ins().bnot(a) } else { self.pos.ins().bxor_imm_s(a, 1) }
    }

    /// Whether a vector is known to have the same value in all lanes.
    fn is_splat(&self, value: clift_kir::Value) -> bool {
        let splat = self.legal.dfg.def_inst(value).is_some_and(|def| self.legal.dfg.inst(def).op == Opcode::Splat);
        splat || self.legal.dfg.as_splat_bits(value).is_some()
    }

    /// The scalar count of a shift. Vectors are shifted by splats.
    fn shift_count(&mut self, inst: Inst, count: ir::Value) -> ir::Value {
        if !self.ty(count).is_vector() {
            return count;
        }
        let operand = self.legal.dfg.inst(inst).args[1];
        if let Some(bits) = self.legal.dfg.as_splat_bits(operand) {
            return self.pos.ins().iconst(types::I32, bits as i64 & 0x3f);
        }
        match self.legal.dfg.def_inst(operand).map(|def| self.legal.dfg.inst(def)) {
            Some(splat) if splat.op == Opcode::Splat => self.get(splat.args[0]),
            _ => unreachable!("broken invariant: vector shift by a count that is not a splat"),
        }
    }

    fn multiply_high(&mut self, a: ir::Value, b: ir::Value, signed: bool) -> ir::Value {
        let ty = self.ty(a);
        if ty == types::I64 || ty.is_vector() {
            return if signed { self.pos.ins().smulhi(a, b) } else { self.pos.ins().umulhi(a, b) };
        }
        let wide = if ty == types::I32 { types::I64 } else { types::I32 };
        let (a, b) = if signed {
            (self.pos.ins().sextend(wide, a), self.pos.ins().sextend(wide, b))
        } else {
            (self.pos.ins().uextend(wide, a), self.pos.ins().uextend(wide, b))
        };
        let product = self.pos.ins().imul(a, b);
        let high = self.pos.ins().ushr_imm_u(product, i64::from(ty.bits()));
        self.pos.ins().ireduce(ty, high)
    }

    fn unsigned_division(&mut self, op: Opcode, a: ir::Value, b: ir::Value, constant: Option<u64>) -> ir::Value {
        let ty = self.ty(a);
        let quotient = op == Opcode::Udiv;
        match constant {
            Some(0) => return self.int(ty, 0),
            Some(_) if quotient => return self.pos.ins().udiv(a, b),
            Some(_) => return self.pos.ins().urem(a, b),
            None => {}
        }
        let is_zero = self.pos.ins().icmp_imm_u(IntCC::Equal, b, 0);
        let one = self.int(ty, 1);
        let safe = self.pos.ins().select(is_zero, one, b);
        if quotient {
            let value = self.pos.ins().udiv(a, safe);
            let zero = self.int(ty, 0);
            self.pos.ins().select(is_zero, zero, value)
        } else {
            // A remainder by one is zero, which is the required result.
            self.pos.ins().urem(a, safe)
        }
    }

    fn signed_division(&mut self, op: Opcode, a: ir::Value, b: ir::Value, constant: Option<u64>) -> ir::Value {
        let ty = self.ty(a);
        let quotient = op == Opcode::Sdiv;
        let all_ones = u64::MAX >> (64 - ty.bits());
        match constant {
            Some(0) => return self.int(ty, 0),
            Some(bits) if bits == all_ones => {
                return if quotient { self.pos.ins().ineg(a) } else { self.int(ty, 0) };
            }
            Some(_) if quotient => return self.pos.ins().sdiv(a, b),
            Some(_) => return self.pos.ins().srem(a, b),
            None => {}
        }
        // The divisors 0 and -1 are replaced by 1, which gives the right remainder; the quotient is then `-a & b`.
        let one = self.int(ty, 1);
        let next = self.pos.ins().iadd(b, one);
        let special = self.pos.ins().icmp_imm_u(IntCC::UnsignedLessThan, next, 2);
        let safe = self.pos.ins().select(special, one, b);
        if quotient {
            let value = self.pos.ins().sdiv(a, safe);
            let negated = self.pos.ins().ineg(a);
            let other = self.pos.ins().band(negated, b);
            self.pos.ins().select(special, other, value)
        } else {
            self.pos.ins().srem(a, safe)
        }
    }

    fn unsigned_add_sat(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        if ty.is_vector() && ty.lane_bits() <= 16 {
            return self.pos.ins().uadd_sat(a, b);
        }
        let sum = self.pos.ins().iadd(a, b);
        let over = self.pos.ins().icmp(IntCC::UnsignedLessThan, sum, a);
        let max = self.int(ty, -1);
        self.choose(over, max, sum)
    }

    fn unsigned_sub_sat(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        if ty.is_vector() && ty.lane_bits() <= 16 {
            return self.pos.ins().usub_sat(a, b);
        }
        let difference = self.pos.ins().isub(a, b);
        let under = self.pos.ins().icmp(IntCC::UnsignedLessThan, a, b);
        let zero = self.int(ty, 0);
        self.choose(under, zero, difference)
    }

    fn signed_sat(&mut self, a: ir::Value, b: ir::Value, add: bool) -> ir::Value {
        let ty = self.ty(a);
        if ty.is_vector() && ty.lane_bits() <= 16 {
            return if add { self.pos.ins().sadd_sat(a, b) } else { self.pos.ins().ssub_sat(a, b) };
        }
        let bits = ty.lane_bits();
        let value = if add { self.pos.ins().iadd(a, b) } else { self.pos.ins().isub(a, b) };
        // Overflow shows in the sign bit: a sum has a sign different from both operands, a difference one different from the
        // first operand, where the operands' signs differ.
        let against_a = self.pos.ins().bxor(value, a);
        let second = if add { self.pos.ins().bxor(value, b) } else { self.pos.ins().bxor(a, b) };
        let sign = self.pos.ins().band(against_a, second);
        let zero = self.int(ty, 0);
        let overflow = self.pos.ins().icmp(IntCC::SignedLessThan, sign, zero);
        let count = self.pos.ins().iconst(types::I32, i64::from(bits) - 1);
        let fill = self.pos.ins().sshr(a, count);
        let max = self.int(ty, (u64::MAX >> (65 - bits)) as i64);
        let clamped = self.pos.ins().bxor(fill, max);
        self.choose(overflow, clamped, value)
    }
}
