//! Divisions and square roots from the instructions that give estimates of 14 bits, where the operation's fast-math flags permit
//! it. A few multiplications take a third of the time of the divider. This gains nothing for scalars, but they must give the same
//! results as lanes.
//!
//! The residual of an estimate is computed exactly, with a fused multiply-add, so each Newton-Raphson step doubles the number of
//! correct bits. The last step multiplies the residual by an estimate and adds the product, which rounds once.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, FloatCond, FpFlags, Imm, Inst, Opcode, Type, Value};
use regalloc2::VReg;

use super::float::{CMP, FMA213, FMA231, FloatRowsWithoutHalves, MUL, of, predicate};
use super::{ExtraOperands, RegMem, Selector, size};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{MASK, ZMM};
use crate::codegen::x86::table as t;

/// Indices into [`FMA213`] and [`FMA231`].
const FMADD: usize = 0;
const FNMADD: usize = 2;

const RECIPROCAL: FloatRowsWithoutHalves = [t::VRCP14PS, t::VRCP14PD, t::VRCP14SS, t::VRCP14SD];
const RECIPROCAL_ROOT: FloatRowsWithoutHalves = [t::VRSQRT14PS, t::VRSQRT14PD, t::VRSQRT14SS, t::VRSQRT14SD];

impl Selector<'_> {
    /// Whether the operation's flags permit an estimate, and there are rows for its type: halves are not estimated.
    pub(super) fn may_estimate(&self, inst: Inst) -> bool {
        self.level != Level::Avx2
            && self.arg_type(inst, 0).elem != Elem::F16
            && matches!(self.legal.dfg.inst(inst).imm, Imm::Fp(flags) if flags.contains(FpFlags::ESTIMATE))
    }

    /// x / y.
    pub(super) fn quotient(&mut self, ty: Type, x: Value, y: Value) -> VReg {
        let is_one = self.constant(x).is_some_and(|data| data.as_splat() == Some(bits(ty, 1.0)));
        if is_one
            && let Some(root) = self.legal.dfg.def_inst(y)
            && self.legal.dfg.inst(root).op == Opcode::Sqrt
            && self.may_estimate(root)
        {
            return self.reciprocal_square_root(ty, self.legal.dfg.inst(root).args[0]);
        }
        let y = self.get(y);
        let mut estimate = self.unary(&RECIPROCAL, ty, y, None);
        if ty.elem == Elem::F64 {
            estimate = self.newton_raphson_step(ty, y, estimate);
        }
        if is_one {
            return self.newton_raphson_step(ty, y, estimate);
        }
        let x = self.get(x);
        let quotient = self.multiply(ty, x, estimate);
        let residual = self.fma_onto(ty, FNMADD, x, y, quotient);
        self.fma_over(ty, residual, estimate, quotient)
    }

    /// One Newton-Raphson step for 1 / y, which doubles the number of correct bits of the estimate.
    fn newton_raphson_step(&mut self, ty: Type, y: VReg, estimate: VReg) -> VReg {
        let one = self.splat_number(ty, 1.0);
        let residual = self.fma_onto(ty, FNMADD, one, y, estimate);
        self.fma_over(ty, residual, estimate, estimate)
    }

    /// The square root of x.
    pub(super) fn square_root(&mut self, ty: Type, x: Value) -> VReg {
        let x = self.get(x);
        let estimate = self.unary(&RECIPROCAL_ROOT, ty, x, None);
        let (mut root, mut half) = (self.multiply(ty, x, estimate), self.multiply_by(ty, estimate, 0.5));
        if ty.elem == Elem::F64 {
            let residual = self.splat_number(ty, 0.5);
            let residual = self.fma_onto(ty, FNMADD, residual, half, root);
            root = self.fma_onto(ty, FMADD, root, root, residual);
            half = self.fma_onto(ty, FMADD, half, half, residual);
        }
        let residual = self.fma_onto(ty, FNMADD, x, root, root);
        self.fma_over(ty, residual, half, root)
    }

    /// The reciprocal of the square root of x. For zero and infinity the estimate is exact and the refinement is masked off.
    fn reciprocal_square_root(&mut self, ty: Type, x: Value) -> VReg {
        let x = self.get(x);
        let estimate = self.unary(&RECIPROCAL_ROOT, ty, x, None);
        let root = self.multiply(ty, x, estimate);
        let residual = self.splat_number(ty, 1.0);
        let residual = self.fma_onto(ty, FNMADD, residual, root, estimate);
        // (1 - left)^(-1/2)
        let (first, second) = if ty.elem == Elem::F64 {
            let mut series = self.splat_number(ty, 35.0 / 128.0);
            for term in [5.0 / 16.0, 3.0 / 8.0, 0.5] {
                let term = self.constant_operand(ty, term);
                series = self.v3(of(&FMA213[FMADD], ty), size(ty), series, residual, term);
            }
            (series, self.multiply(ty, residual, estimate))
        } else {
            (residual, self.multiply_by(ty, estimate, 0.5))
        };
        let more = ExtraOperands {
            second: Some(residual),
            immediate: Some((predicate(FloatCond::Ord), 1)),
            ..ExtraOperands::default()
        };
        let is_number = self.make(MASK, of(&CMP, ty), size(ty), RegMem::Register(residual), more);
        let more = ExtraOperands {
            tied: Some(estimate),
            second: Some(first),
            mask: Some(is_number),
            ..ExtraOperands::default()
        };
        self.make(ZMM, of(&FMA231[FMADD], ty), size(ty), RegMem::Register(second), more)
    }

    fn multiply(&mut self, ty: Type, a: VReg, b: VReg) -> VReg {
        self.v2(of(&MUL, ty), size(ty), a, RegMem::Register(b))
    }

    fn multiply_by(&mut self, ty: Type, a: VReg, factor: f64) -> VReg {
        let factor = self.constant_operand(ty, factor);
        self.v2(of(&MUL, ty), size(ty), a, factor)
    }

    /// `c + a * b`, or another of the [`FMA231`] forms; the result overwrites `c`.
    fn fma_onto(&mut self, ty: Type, form: usize, c: VReg, a: VReg, b: VReg) -> VReg {
        self.v3(of(&FMA231[form], ty), size(ty), c, a, RegMem::Register(b))
    }

    /// `a * b + c`; the result overwrites `a`.
    fn fma_over(&mut self, ty: Type, a: VReg, b: VReg, c: VReg) -> VReg {
        self.v3(of(&FMA213[FMADD], ty), size(ty), a, b, RegMem::Register(c))
    }

    /// A number as an operand in the constant pool.
    fn constant_operand(&mut self, ty: Type, number: f64) -> RegMem {
        if ty.is_vector() {
            return self.lanes_of(ty, bits(ty, number));
        }
        let bytes = bits(ty, number).to_le_bytes();
        RegMem::Bytes(self.pool.add(&bytes[..ty.elem.bytes() as usize]))
    }

    /// A number in all lanes.
    fn splat_number(&mut self, ty: Type, number: f64) -> VReg {
        self.vector_constant(&ConstData::splat(ty, bits(ty, number)))
    }
}

/// The bits of a number as a single or a double.
fn bits(ty: Type, number: f64) -> u64 {
    if ty.elem == Elem::F64 { number.to_bits() } else { (number as f32).to_bits().into() }
}
