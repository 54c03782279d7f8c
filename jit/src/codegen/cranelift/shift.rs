//! Shifts and rotations of vectors by counts that vary between lanes. x86 below AVX2 has no instructions for these, so they
//! become multiplications by powers of two, which are made by writing the counts into the exponents of floats.

use clift_kir::Opcode;
use cranelift_codegen::ir::{self, InstBuilder, types};

use super::translate::Translator;
use crate::codegen::Shift;

impl Translator<'_> {
    /// Four words, each shifted by its own count modulo 32.
    pub(super) fn varying_shift(&mut self, op: Opcode, a: ir::Value, count: ir::Value) -> ir::Value {
        match Shift::of(op) {
            Shift::Left => {
                let factor = self.power_of_two(count, false);
                self.pos.ins().imul(a, factor)
            }
            Shift::Right => self.varying_shift_right(a, count),
            Shift::ArithmeticRight => {
                // Negative numbers are complemented before and after the shift.
                let sign = self.pos.ins().sshr_imm_u(a, 31);
                let positive = self.pos.ins().bxor(a, sign);
                let shifted = self.varying_shift_right(positive, count);
                self.pos.ins().bxor(shifted, sign)
            }
            Shift::RotateLeft => {
                let factor = self.power_of_two(count, false);
                let (one, two) = self.widening_multiply(a, factor);
                let low = self.words_of(one, two, 0);
                let high = self.words_of(one, two, 1);
                self.pos.ins().bor(low, high)
            }
        }
    }

    fn varying_shift_right(&mut self, a: ir::Value, count: ir::Value) -> ir::Value {
        // Multiply by 2^(31 - count), then shift right by 31.
        let factor = self.power_of_two(count, true);
        let (one, two) = self.widening_multiply(a, factor);
        let (one, two) = (self.pos.ins().ushr_imm_u(one, 31), self.pos.ins().ushr_imm_u(two, 31));
        self.words_of(one, two, 0)
    }

    /// 2^count, or 2^(31 - count).
    fn power_of_two(&mut self, count: ir::Value, inverse: bool) -> ir::Value {
        let ty = types::I32X4;
        let mask = self.int(ty, 31);
        let count = self.pos.ins().band(count, mask);
        let exponent = self.pos.ins().ishl_imm_u(count, 23);
        let bits = if inverse {
            let top = self.int(ty, i64::from(2f32.powi(31).to_bits()));
            self.pos.ins().isub(top, exponent)
        } else {
            let one = self.int(ty, i64::from(1f32.to_bits()));
            self.pos.ins().iadd(exponent, one)
        };
        let float = self.recast(bits, types::F32X4);
        // 2^31 is out of range; the conversion then gives 0x8000_0000, as required.
        self.pos.ins().x86_cvtt2dq(ty, float)
    }

    /// The 64-bit products of words.
    fn widening_multiply(&mut self, a: ir::Value, b: ir::Value) -> (ir::Value, ir::Value) {
        let (a_low, b_low) = (self.pos.ins().uwiden_low(a), self.pos.ins().uwiden_low(b));
        let (a_high, b_high) = (self.pos.ins().uwiden_high(a), self.pos.ins().uwiden_high(b));
        (self.pos.ins().imul(a_low, b_low), self.pos.ins().imul(a_high, b_high))
    }

    /// The low (0) or high (1) words of the 64-bit lanes of two registers.
    fn words_of(&mut self, one: ir::Value, two: ir::Value, which: u8) -> ir::Value {
        let pattern = std::array::from_fn(|i| (i as u8 / 4) * 8 + which * 4 + i as u8 % 4);
        let (one, two) = (self.recast(one, types::I8X16), self.recast(two, types::I8X16));
        let value = self.shuffle_bytes(one, two, &pattern);
        self.recast(value, types::I32X4)
    }
}
