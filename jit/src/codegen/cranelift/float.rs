//! Floating-point ops.

use clift_kir::ops::FloatOp;
use clift_kir::{FloatCond, FpFlags, Imm, Inst, Value};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::{Translator, wrong_imm};

impl Translator<'_> {
    pub(super) fn float_op(&mut self, op: FloatOp, inst: Inst) {
        use FloatOp as O;
        let data = self.legal.dfg.inst(inst);
        let args = self.args(inst);
        let a = args[0];
        let b = args.get(1).copied().unwrap_or(a);
        let value = match op {
            O::Fadd => self.pos.ins().fadd(a, b),
            O::Fsub => self.pos.ins().fsub(a, b),
            // `2 * x` as `x + x`, which needs no register for the constant.
            O::Fmul if self.is_two(data.args[1]) => self.pos.ins().fadd(a, a),
            O::Fmul if self.is_two(data.args[0]) => self.pos.ins().fadd(b, b),
            O::Fmul => self.pos.ins().fmul(a, b),
            O::Fdiv => self.pos.ins().fdiv(a, b),
            O::Fma => {
                // The instruction overwrites its first operand; prefer one without later uses.
                let second_ends = !self.ends_here(data.args[0]) && self.ends_here(data.args[1]);
                let (a, b) = if second_ends { (b, a) } else { (a, b) };
                self.fma(a, b, args[2])
            }
            O::Fneg => self.pos.ins().fneg(a),
            O::Fabs => self.magnitude(a),
            O::Fcopysign => self.copy_sign(a, b),
            O::Fmin | O::Fmax => {
                let no_nan = matches!(&data.imm, Imm::Fp(flags) if flags.contains(FpFlags::NO_NAN));
                let (first, second) = (self.is_number(data.args[0]), self.is_number(data.args[1]));
                // The instruction returns its second operand if one is NaN.
                let (a, b) = if first && !second { (b, a) } else { (a, b) };
                self.min_max(op == O::Fmin, a, b, no_nan || first || second)
            }
            O::Sqrt => self.pos.ins().sqrt(a),
            O::Ceil => self.pos.ins().ceil(a),
            O::Floor => self.pos.ins().floor(a),
            O::Trunc => self.pos.ins().trunc(a),
            O::Rint => self.pos.ins().nearest(a),
            O::Fcmp => {
                let Imm::FloatCond(cond, _) = data.imm else { wrong_imm(&data.imm) };
                match self.inverse_comparison(inst, cond) {
                    Some(inverted) => self.invert(inverted),
                    None => self.compare(cond, a, b),
                }
            }
        };
        self.set(inst, value);
    }

    /// The inverse comparison of vectors, if the block has already computed it. Its complement often folds into another mask
    /// operation, and the operands need not stay live.
    fn inverse_comparison(&mut self, inst: Inst, cond: FloatCond) -> Option<ir::Value> {
        let legal = self.legal;
        let data = legal.dfg.inst(inst);
        if !self.arg_type(inst, 0).is_vector() {
            return None;
        }
        let key = |cond: FloatCond| (data.args[0], data.args[1], cond as u8);
        let known = self.comparisons.get(&key(cond.inverse())).copied();
        self.comparisons.insert(key(cond), legal.dfg.result(inst));
        known.map(|value| self.get(value))
    }

    /// Whether a value is the constant 2.
    fn is_two(&self, value: Value) -> bool {
        let constant = self.legal.dfg.as_const(value).and_then(|data| Some((data.ty.elem, data.as_splat()?)));
        constant.is_some_and(|(elem, bits)| clift_kir::eval::float::to_f64(elem, bits) == 2.0)
    }

    pub(super) fn compare(&mut self, cond: FloatCond, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        match cond {
            // Vectors have no such condition; it takes two comparisons.
            FloatCond::One | FloatCond::Ueq if ty.is_vector() => {
                let below = self.pos.ins().fcmp(FloatCC::LessThan, a, b);
                let above = self.pos.ins().fcmp(FloatCC::GreaterThan, a, b);
                let differ = self.pos.ins().bor(below, above);
                if cond == FloatCond::One { differ } else { self.pos.ins().bnot(differ) }
            }
            FloatCond::Ult | FloatCond::Ule | FloatCond::Ugt | FloatCond::Uge
                if ty.is_vector() && !self.features.unordered =>
            {
                let inverse = self.pos.ins().fcmp(float_cc(cond.inverse()), a, b);
                self.pos.ins().bnot(inverse)
            }
            FloatCond::Oeq
            | FloatCond::One
            | FloatCond::Olt
            | FloatCond::Ole
            | FloatCond::Ogt
            | FloatCond::Oge
            | FloatCond::Ueq
            | FloatCond::Une
            | FloatCond::Ult
            | FloatCond::Ule
            | FloatCond::Ugt
            | FloatCond::Uge
            | FloatCond::Ord
            | FloatCond::Uno => self.pos.ins().fcmp(float_cc(cond), a, b),
        }
    }

    fn fma(&mut self, a: ir::Value, b: ir::Value, c: ir::Value) -> ir::Value {
        if self.features.fma { self.pos.ins().fma(a, b, c) } else { self.fma_call(a, b, c) }
    }

    /// The absolute value. Cranelift's lowering for vectors would build its mask each time.
    fn magnitude(&mut self, a: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        if !ty.is_vector() {
            return self.pos.ins().fabs(a);
        }
        let int = if ty.lane_type() == types::F32 { types::I32X4 } else { types::I64X2 };
        let mut lane = u64::MAX.to_le_bytes();
        let lane = &mut lane[..ty.lane_bits() as usize / 8];
        lane[lane.len() - 1] = 0x7f;
        let mut mask = [0; 16];
        mask.chunks_exact_mut(lane.len()).for_each(|chunk| chunk.copy_from_slice(lane));
        let mask = self.vector_constant(int, u128::from_le_bytes(mask));
        let bits = self.recast(a, int);
        let bits = self.pos.ins().band(bits, mask);
        self.recast(bits, ty)
    }

    /// The magnitude of `a` with the sign of `b`.
    fn copy_sign(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        if !ty.is_vector() {
            return self.pos.ins().fcopysign(a, b);
        }
        let int = if ty.lane_type() == types::F32 { types::I32X4 } else { types::I64X2 };
        let sign = self.int(int, i64::MIN >> (64 - ty.lane_bits()));
        let sign = self.recast(sign, ty);
        self.pos.ins().bitselect(sign, b, a)
    }

    /// Whether a value is a constant without NaN lanes.
    fn is_number(&self, value: Value) -> bool {
        self.legal.dfg.as_const(value).is_some_and(|data| {
            data.to_lanes().iter().all(|&bits| !clift_kir::eval::float::to_f64(data.ty.elem, bits).is_nan())
        })
    }

    /// The minimum or maximum; if one operand is NaN, the other one. `second_is_number` tells that `b` is known not to be NaN.
    fn min_max(&mut self, min: bool, a: ir::Value, b: ir::Value, second_is_number: bool) -> ir::Value {
        let chosen = self.pseudo_min_max(min, a, b);
        if second_is_number {
            return chosen;
        }
        let b_is_nan = self.pos.ins().fcmp(FloatCC::Unordered, b, b);
        self.choose(b_is_nan, a, chosen)
    }

    /// The smaller or greater operand; the second one if either is NaN. This is the pattern that instruction selection matches.
    pub(super) fn pseudo_min_max(&mut self, min: bool, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.ty(a);
        let (x, y) = if min { (a, b) } else { (b, a) };
        let first = self.pos.ins().fcmp(FloatCC::LessThan, x, y);
        if !ty.is_vector() {
            return self.pos.ins().select(first, a, b);
        }
        let first = self.recast(first, ty);
        self.pos.ins().bitselect(first, a, b)
    }
}

fn float_cc(cond: FloatCond) -> FloatCC {
    match cond {
        FloatCond::Oeq => FloatCC::Equal,
        FloatCond::One => FloatCC::OrderedNotEqual,
        FloatCond::Olt => FloatCC::LessThan,
        FloatCond::Ole => FloatCC::LessThanOrEqual,
        FloatCond::Ogt => FloatCC::GreaterThan,
        FloatCond::Oge => FloatCC::GreaterThanOrEqual,
        FloatCond::Ueq => FloatCC::UnorderedOrEqual,
        FloatCond::Une => FloatCC::NotEqual,
        FloatCond::Ult => FloatCC::UnorderedOrLessThan,
        FloatCond::Ule => FloatCC::UnorderedOrLessThanOrEqual,
        FloatCond::Ugt => FloatCC::UnorderedOrGreaterThan,
        FloatCond::Uge => FloatCC::UnorderedOrGreaterThanOrEqual,
        FloatCond::Ord => FloatCC::Ordered,
        FloatCond::Uno => FloatCC::Unordered,
    }
}
