//! Divisions and square roots from the instructions that give 14 bits, where the operation grants it: a few products take a third
//! of the time that the units for divisions and roots do. Scalars gain nothing, but are to give what lanes give.
//!
//! What an estimate leaves of the operand is exact to its last places, so one step more doubles the bits; the last step adds what
//! is left, times an estimate, to a rounded result.

use clift_kir::dfg::ConstData;
use clift_kir::{Elem, FloatCond, FpFlags, Imm, Inst, Opcode, Type, Value};
use regalloc2::VReg;

use super::float::{CMP, FMA213, FMA231, MUL, Rows, of, predicate};
use super::{From, More, Selector, size};
use crate::codegen::x86::code::{MASK, ZMM};
use crate::codegen::x86::table as t;

/// Forms of products with a sum, as [`FMA213`] counts them.
const PLUS: usize = 0;
const LESS_PRODUCT: usize = 2;

const RECIPROCAL: Rows = [t::VRCP14PS, t::VRCP14PD, t::VRCP14SS, t::VRCP14SD];
const RECIPROCAL_ROOT: Rows = [t::VRSQRT14PS, t::VRSQRT14PD, t::VRSQRT14SS, t::VRSQRT14SD];

impl Selector<'_> {
    /// Whether an operation may be estimated.
    pub(super) fn is_estimate(&self, inst: Inst) -> bool {
        matches!(self.legal.dfg.inst(inst).imm, Imm::Fp(flags) if flags.contains(FpFlags::ESTIMATE))
    }

    /// x / y.
    pub(super) fn quotient(&mut self, ty: Type, x: Value, y: Value) -> VReg {
        let is_one = self.constant(x).is_some_and(|data| data.as_splat() == Some(bits(ty, 1.0)));
        if is_one
            && let Some(root) = self.legal.dfg.def_inst(y)
            && self.legal.dfg.inst(root).op == Opcode::Sqrt
            && self.is_estimate(root)
        {
            return self.reciprocal_root(ty, self.legal.dfg.inst(root).args[0]);
        }
        let y = self.get(y);
        let mut estimate = self.unary(&RECIPROCAL, ty, y, None);
        if ty.elem == Elem::F64 {
            estimate = self.better_reciprocal(ty, y, estimate);
        }
        if is_one {
            return self.better_reciprocal(ty, y, estimate);
        }
        let x = self.get(x);
        let quotient = self.product(ty, x, estimate);
        let left = self.fma_onto(ty, LESS_PRODUCT, x, y, quotient);
        self.fma_over(ty, left, estimate, quotient)
    }

    /// An estimate of 1 / y with twice as many bits.
    fn better_reciprocal(&mut self, ty: Type, y: VReg, estimate: VReg) -> VReg {
        let one = self.everywhere(ty, 1.0);
        let left = self.fma_onto(ty, LESS_PRODUCT, one, y, estimate);
        self.fma_over(ty, left, estimate, estimate)
    }

    /// The square root of x.
    pub(super) fn root(&mut self, ty: Type, x: Value) -> VReg {
        let x = self.get(x);
        let estimate = self.unary(&RECIPROCAL_ROOT, ty, x, None);
        let (mut root, mut half) = (self.product(ty, x, estimate), self.times(ty, estimate, 0.5));
        if ty.elem == Elem::F64 {
            let left = self.everywhere(ty, 0.5);
            let left = self.fma_onto(ty, LESS_PRODUCT, left, half, root);
            root = self.fma_onto(ty, PLUS, root, root, left);
            half = self.fma_onto(ty, PLUS, half, half, left);
        }
        let left = self.fma_onto(ty, LESS_PRODUCT, x, root, root);
        self.fma_over(ty, left, half, root)
    }

    /// The reciprocal of the square root of x. The estimate is exact where there is nothing to refine: of zero and infinity.
    fn reciprocal_root(&mut self, ty: Type, x: Value) -> VReg {
        let x = self.get(x);
        let estimate = self.unary(&RECIPROCAL_ROOT, ty, x, None);
        let root = self.product(ty, x, estimate);
        let left = self.everywhere(ty, 1.0);
        let left = self.fma_onto(ty, LESS_PRODUCT, left, root, estimate);
        // (1 - left)^(-1/2)
        let (first, second) = if ty.elem == Elem::F64 {
            let mut series = self.everywhere(ty, 35.0 / 128.0);
            for term in [5.0 / 16.0, 3.0 / 8.0, 0.5] {
                let term = self.term(ty, term);
                series = self.v3(of(&FMA213[PLUS], ty), size(ty), series, left, term);
            }
            (series, self.product(ty, left, estimate))
        } else {
            (left, self.times(ty, estimate, 0.5))
        };
        let more = More { second: Some(left), immediate: Some((predicate(FloatCond::Ord), 1)), ..More::default() };
        let is_number = self.make(MASK, of(&CMP, ty), size(ty), From::Register(left), more);
        let more = More { tied: Some(estimate), second: Some(first), mask: Some(is_number), ..More::default() };
        self.make(ZMM, of(&FMA231[PLUS], ty), size(ty), From::Register(second), more)
    }

    fn product(&mut self, ty: Type, a: VReg, b: VReg) -> VReg {
        self.v2(of(&MUL, ty), size(ty), a, From::Register(b))
    }

    fn times(&mut self, ty: Type, a: VReg, factor: f64) -> VReg {
        let factor = self.term(ty, factor);
        self.v2(of(&MUL, ty), size(ty), a, factor)
    }

    /// `c + a * b` in a form; the result replaces c.
    fn fma_onto(&mut self, ty: Type, form: usize, c: VReg, a: VReg, b: VReg) -> VReg {
        self.v3(of(&FMA231[form], ty), size(ty), c, a, From::Register(b))
    }

    /// `a * b + c`; the result replaces a.
    fn fma_over(&mut self, ty: Type, a: VReg, b: VReg, c: VReg) -> VReg {
        self.v3(of(&FMA213[PLUS], ty), size(ty), a, b, From::Register(c))
    }

    /// A number as an operand in memory.
    fn term(&mut self, ty: Type, number: f64) -> From {
        if ty.is_vector() {
            return self.lanes_of(ty, bits(ty, number));
        }
        let bytes = bits(ty, number).to_le_bytes();
        From::Bytes(self.pool.add(&bytes[..ty.elem.bytes() as usize]))
    }

    /// A number in all lanes.
    fn everywhere(&mut self, ty: Type, number: f64) -> VReg {
        self.vector_constant(&ConstData::splat(ty, bits(ty, number)))
    }
}

/// A number's bits in a type of floats or doubles.
fn bits(ty: Type, number: f64) -> u64 {
    if ty.elem == Elem::F64 { number.to_bits() } else { (number as f32).to_bits().into() }
}
