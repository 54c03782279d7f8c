//! Kernel IR written as arithmetic: [`Num`] is a value with Rust's operators.
//!
//! An expansion looks like the formula it computes, `(x - n * C).fma(y, z)`; each operator emits one op at the builder's cursor.
//! Literals become constants of the other operand's type. Ops have no fast-math flags, so that optimizations preserve error-free
//! transformations.
//!
//! Not here: the functions themselves.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Sub};

use clift_kir::inst::BlockCall;
use clift_kir::{
    Block, Builder, Convert, Elem, FloatCond, FpFlags, Imm, IntCond, LibFn, Opcode, Rounding, Type, Value,
};

/// A builder that several values share.
pub(super) trait Cursor {
    /// Calls a function with the builder.
    fn with(&self, emit: &mut dyn FnMut(&mut Builder<'_>));
}

/// The cursor of one expansion. Float ops have no fast-math flags while it lives.
struct SharedCursor<'a, 'f>(RefCell<&'a mut Builder<'f>>);

impl Cursor for SharedCursor<'_, '_> {
    fn with(&self, emit: &mut dyn FnMut(&mut Builder<'_>)) {
        emit(&mut self.0.borrow_mut());
    }
}

/// A mathematical function for the table. Its operands have been checked.
pub(crate) type MathFunction = for<'m> fn(&[Num<'m>]) -> Num<'m>;

/// A mathematical function with two results.
pub(crate) type MathPair = for<'m> fn(&[Num<'m>]) -> [Num<'m>; 2];

/// Emits a function.
pub(in crate::builtins) fn emit(b: &mut Builder<'_>, function: MathFunction, args: &[Value]) -> Value {
    let [result] = emit_all(b, |args| [function(args)], args);
    result
}

/// Emits a function with two results.
pub(in crate::builtins) fn emit_pair(b: &mut Builder<'_>, function: MathPair, args: &[Value]) -> [Value; 2] {
    emit_all(b, function, args)
}

fn emit_all<const N: usize>(
    b: &mut Builder<'_>,
    function: impl for<'m> Fn(&[Num<'m>]) -> [Num<'m>; N],
    args: &[Value],
) -> [Value; N] {
    let flags = b.fp_flags();
    b.set_fp_flags(FpFlags::empty());
    let cursor = SharedCursor(RefCell::new(b));
    let args: Vec<Num<'_>> = args.iter().map(|&value| Num { at: &cursor, value }).collect();
    let results = function(&args).map(|result| result.value);
    cursor.with(&mut |b| b.set_fp_flags(flags));
    results
}

/// A value with operators that emit ops.
#[derive(Clone, Copy)]
pub(crate) struct Num<'m> {
    at: &'m dyn Cursor,
    value: Value,
}

/// A second operand: a value, or a literal that gets the type of the first operand.
pub(crate) trait NumOperand<'m>: Copy {
    /// The operand as a value, for an op with `other`.
    fn beside(self, other: Num<'m>) -> Num<'m>;
}

impl<'m> NumOperand<'m> for Num<'m> {
    fn beside(self, _: Num<'m>) -> Num<'m> {
        self
    }
}

impl<'m> NumOperand<'m> for f64 {
    fn beside(self, other: Num<'m>) -> Num<'m> {
        other.emit(|b, v| b.fconst(b.ty(v), self))
    }
}

impl<'m> NumOperand<'m> for i64 {
    fn beside(self, other: Num<'m>) -> Num<'m> {
        other.emit(|b, v| b.iconst(b.ty(v), self))
    }
}

impl<'m> Num<'m> {
    fn emit(self, make: impl Fn(&mut Builder<'_>, Value) -> Value) -> Num<'m> {
        let mut made = self.value;
        self.at.with(&mut |b| made = make(b, self.value));
        Num { at: self.at, value: made }
    }

    fn emit2(self, other: impl NumOperand<'m>, make: impl Fn(&mut Builder<'_>, Value, Value) -> Value) -> Num<'m> {
        let other = other.beside(self).value;
        self.emit(|b, v| make(b, v, other))
    }

    /// The type.
    pub(super) fn ty(self) -> Type {
        let mut ty = Type::B1;
        self.at.with(&mut |b| ty = b.ty(self.value));
        ty
    }

    /// Whether the elements are doubles or 64-bit integers.
    pub(super) fn is_double(self) -> bool {
        self.ty().elem.bits() == 64
    }

    /// The value of a constant whose lanes are all equal: a float, or a signed integer. Halves, which are converted before,
    /// are not seen as constants.
    pub(super) fn constant(self) -> Option<f64> {
        let mut constant = None;
        self.at.with(&mut |b| {
            let dfg = &b.func.dfg;
            let elem = dfg.ty(self.value).elem;
            constant = dfg.as_splat_bits(self.value).map(|bits| match elem.is_float() {
                true => clift_kir::eval::float::to_f64(elem, bits),
                false => clift_kir::eval::int::signed(elem, bits) as f64,
            });
        });
        constant
    }

    /// A literal of this type.
    pub(super) fn lit(self, literal: impl NumOperand<'m>) -> Num<'m> {
        literal.beside(self)
    }

    fn arith(self, other: impl NumOperand<'m>, float: Opcode, int: Opcode) -> Num<'m> {
        self.emit2(other, |b, x, y| if b.ty(x).is_float() { b.float2(float, x, y) } else { b.int2(int, x, y) })
    }

    // -- floats --

    /// `self * b + c`, rounded once.
    pub(super) fn fma(self, b: impl NumOperand<'m>, c: impl NumOperand<'m>) -> Num<'m> {
        let c = c.beside(self).value;
        self.emit2(b, |at, x, y| at.fma(x, y, c))
    }

    /// The polynomial with these coefficients, lowest degree first. Short ones are evaluated by Horner's rule. The terms of long
    /// ones except the first are summed in independent groups; the first is added last, for its precision.
    pub(super) fn poly(self, coefficients: &[f64]) -> Num<'m> {
        match coefficients {
            [first, rest @ ..] if rest.len() >= self.long() => self.grouped(rest).fma(self, *first),
            _ => Num::horner(self, &coefficients.iter().map(|&c| self.lit(c)).collect::<Vec<_>>()),
        }
    }

    /// The number of coefficients from which on a polynomial counts as long. It is less for doubles, as a pack has fewer
    /// registers of them to hide latencies with.
    fn long(self) -> usize {
        if self.is_double() { 5 } else { 8 }
    }

    /// A polynomial whose terms are summed in groups of four (Estrin's scheme).
    fn grouped(self, coefficients: &[f64]) -> Num<'m> {
        let square = self * self;
        let pair = |pair: &[f64]| match *pair {
            [low, high] => self.fma(high, low),
            _ => self.lit(pair[0]),
        };
        let pairs: Vec<Num<'m>> = coefficients.chunks(2).map(pair).collect();
        let fours: Vec<Num<'m>> = pairs.chunks(2).map(|pairs| Num::horner(square, pairs)).collect();
        Num::horner(square * square, &fours)
    }

    /// The polynomial in `x` with coefficients that are values.
    fn horner(x: Num<'m>, coefficients: &[Num<'m>]) -> Num<'m> {
        let mut rest = coefficients.iter().rev();
        let last = rest.next().copied().unwrap_or_else(|| x.lit(0.0));
        rest.fold(last, |sum, &coefficient| sum.fma(x, coefficient))
    }

    fn float1(self, op: Opcode) -> Num<'m> {
        self.emit(|b, x| b.float1(op, x))
    }

    /// Magnitude.
    pub(super) fn abs(self) -> Num<'m> {
        self.float1(Opcode::Fabs)
    }

    /// Square root.
    pub(super) fn sqrt(self) -> Num<'m> {
        self.float1(Opcode::Sqrt)
    }

    /// Emits an op with [`FpFlags::ESTIMATE`].
    fn estimated(self, make: impl Fn(&mut Builder<'_>, Value) -> Value) -> Num<'m> {
        self.emit(|b, x| {
            b.set_fp_flags(FpFlags::ESTIMATE);
            let made = make(b, x);
            b.set_fp_flags(FpFlags::empty());
            made
        })
    }

    /// The quotient to one unit in the last place if the operands, the quotient and the divisor's reciprocal are well inside the
    /// range of normal numbers. For a zero dividend it is a zero of any sign; in all other cases it is arbitrary.
    pub(super) fn div_estimate(self, other: impl NumOperand<'m>) -> Num<'m> {
        let other = other.beside(self).value;
        self.estimated(|b, x| b.float2(Opcode::Fdiv, x, other))
    }

    /// The square root of a positive normal number to one unit in the last place; arbitrary for other numbers.
    pub(super) fn sqrt_estimate(self) -> Num<'m> {
        self.estimated(|b, x| b.float1(Opcode::Sqrt, x))
    }

    /// The reciprocal square root of any number to two units in the last place.
    pub(super) fn rsqrt_estimate(self) -> Num<'m> {
        let root = self.sqrt_estimate();
        root.lit(1.0).div_estimate(root)
    }

    /// Nearest integral value, ties to even.
    pub(super) fn rint(self) -> Num<'m> {
        self.float1(Opcode::Rint)
    }

    /// Integral value toward zero.
    pub(super) fn trunc(self) -> Num<'m> {
        self.float1(Opcode::Trunc)
    }

    /// The minimum; if one operand is NaN, the other.
    pub(super) fn min(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.float2(Opcode::Fmin, x, y))
    }

    /// The maximum; if one operand is NaN, the other.
    pub(super) fn max(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.float2(Opcode::Fmax, x, y))
    }

    /// The value clamped to bounds; NaN is kept.
    pub(super) fn clamp_keeping_nan(self, low: f64, high: f64) -> Num<'m> {
        let (low, high) = (self.lit(low), self.lit(high));
        let x = low.gt(self).select(low, self);
        high.lt(x).select(high, x)
    }

    /// The magnitude of this value with the sign of the other.
    pub(super) fn copysign(self, sign: impl NumOperand<'m>) -> Num<'m> {
        self.emit2(sign, |b, x, y| b.float2(Opcode::Fcopysign, x, y))
    }

    fn fcmp(self, cond: FloatCond, other: impl NumOperand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.fcmp(cond, x, y))
    }

    fn cmp(self, float: FloatCond, int: IntCond, other: impl NumOperand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| if b.ty(x).is_float() { b.fcmp(float, x, y) } else { b.icmp(int, x, y) })
    }

    /// Less than; false for NaN. Integers are signed.
    pub(super) fn lt(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Olt, IntCond::Slt, other)
    }

    /// Less or equal; false for NaN.
    pub(super) fn le(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Ole, IntCond::Sle, other)
    }

    /// Greater; false for NaN.
    pub(super) fn gt(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Ogt, IntCond::Sgt, other)
    }

    /// Greater or equal; false for NaN.
    pub(super) fn ge(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Oge, IntCond::Sge, other)
    }

    /// Equal; false for NaN.
    pub(super) fn eq(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Oeq, IntCond::Eq, other)
    }

    /// Different; true for NaN.
    pub(super) fn ne(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Une, IntCond::Ne, other)
    }

    /// Greater or equal as unsigned integers.
    pub(super) fn uge(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.icmp(IntCond::Uge, x, y))
    }

    /// Whether it is NaN.
    pub(super) fn is_nan(self) -> Num<'m> {
        self.fcmp(FloatCond::Uno, self)
    }

    /// Whether either is NaN.
    pub(super) fn either_nan(self, other: Num<'m>) -> Num<'m> {
        self.fcmp(FloatCond::Uno, other)
    }

    /// Greater, or either is NaN.
    pub(super) fn gt_or_nan(self, other: impl NumOperand<'m>) -> Num<'m> {
        self.fcmp(FloatCond::Ugt, other)
    }

    /// In another precision.
    pub(super) fn to(self, elem: Elem) -> Num<'m> {
        self.emit(|b, x| match b.ty(x) {
            ty if ty.elem == elem => x,
            ty => b.convert(Opcode::FptoFp, x, ty.with_elem(elem), Convert::default()),
        })
    }

    /// A float as `i32`, rounded toward zero; arbitrary if out of range.
    pub(super) fn to_i32(self) -> Num<'m> {
        let how = Convert { rounding: Rounding::TowardZero, saturate: false };
        self.emit(|b, x| b.convert(Opcode::FptoS, x, b.ty(x).with_elem(Elem::I32), how))
    }

    /// A library function of the value, called lane by lane.
    pub(super) fn library(self, function: LibFn) -> Num<'m> {
        self.emit(|b, x| b.lib_call(function, &[x]))
    }

    /// The bits as an integer.
    pub(super) fn bits(self) -> Num<'m> {
        self.emit(|b, x| b.cast(Opcode::Bitcast, x, b.ty(x).as_int()))
    }

    // -- integers and masks --

    /// The integer's bits as a float of its width.
    pub(super) fn float(self) -> Num<'m> {
        self.emit(|b, x| {
            let elem = if b.ty(x).elem == Elem::I64 { Elem::F64 } else { Elem::F32 };
            b.cast(Opcode::Bitcast, x, b.ty(x).with_elem(elem))
        })
    }

    /// The signed integer's value as a float.
    pub(super) fn to_float(self, elem: Elem) -> Num<'m> {
        self.emit(|b, x| b.convert(Opcode::StoFp, x, b.ty(x).with_elem(elem), Convert::default()))
    }

    /// The integer in another width, sign-extended or truncated.
    pub(super) fn resize(self, elem: Elem) -> Num<'m> {
        self.emit(|b, x| b.int_resize(x, elem, true))
    }

    /// Logical shift right.
    pub(super) fn lshr(self, count: u32) -> Num<'m> {
        self.emit2(i64::from(count), |b, x, n| b.int2(Opcode::Lshr, x, n))
    }

    /// Arithmetic shift right.
    pub(super) fn ashr(self, count: u32) -> Num<'m> {
        self.emit2(i64::from(count), |b, x, n| b.int2(Opcode::Ashr, x, n))
    }

    /// `yes` where the mask is true, else `no`.
    pub(super) fn select(self, yes: Num<'m>, no: impl NumOperand<'m>) -> Num<'m> {
        let (mask, no) = (self.value, no.beside(yes).value);
        yes.emit(|b, yes| b.select(mask, yes, no))
    }

    /// A loop: `step` returns a mask and the next values, and is repeated while the mask is true in any lane. In lanes where it
    /// is false, the step must not change the values.
    pub(super) fn repeat<const N: usize>(
        values: [Num<'m>; N],
        step: impl FnOnce([Num<'m>; N]) -> (Num<'m>, [Num<'m>; N]),
    ) -> [Num<'m>; N] {
        let at = values[0].at;
        let mut current = values;
        let mut head = None;
        at.with(&mut |b| {
            let block = append_like(b);
            b.jump(block, &values.map(|v| v.value));
            for value in &mut current {
                let ty = b.ty(value.value);
                value.value = b.func.dfg.append_param(block, ty);
            }
            b.switch_to(block);
            head = Some(block);
        });
        let Some(head) = head else { unreachable!("broken invariant: cursor without a builder") };
        let (again, next) = step(current);
        at.with(&mut |b| {
            let exit = append_like(b);
            let any = if b.ty(again.value).is_vector() { b.any(again.value) } else { again.value };
            b.branch(any, BlockCall::new(head, &next.map(|v| v.value)), BlockCall::new(exit, &[]));
            b.switch_to(exit);
        });
        next
    }

    /// The values, replaced by those that `slow` computes in lanes where the mask is true. The code of `slow` is a cold block,
    /// which is executed if the mask is true in any lane of the vector.
    pub(super) fn cold_path<const N: usize>(
        self,
        values: [Num<'m>; N],
        slow: impl FnOnce() -> [Num<'m>; N],
    ) -> [Num<'m>; N] {
        self.branch_over(values, slow, CountedLanes::Masked)
    }

    /// As [`Num::cold_path`], but all lanes take the values that `slow` computes: where the mask is false, these must be equal to
    /// `values`. It is cheaper, because neither the mask nor the values are live in the cold block.
    pub(super) fn cold_path_all<const N: usize>(
        self,
        values: [Num<'m>; N],
        slow: impl FnOnce() -> [Num<'m>; N],
    ) -> [Num<'m>; N] {
        self.branch_over(values, slow, CountedLanes::All)
    }

    /// The value that `usual` computes, replaced by that of `any` in lanes where the mask of `usual` is true.
    pub(super) fn with_cold_path(usual: impl Fn() -> (Num<'m>, Num<'m>), any: impl FnOnce() -> Num<'m>) -> Num<'m> {
        let (special, y) = usual();
        let [y] = special.cold_path_all([y], || {
            // The other lanes recompute their values.
            let (special, y) = usual();
            [special.select(any(), y)]
        });
        y
    }

    fn branch_over<const N: usize>(
        self,
        values: [Num<'m>; N],
        slow: impl FnOnce() -> [Num<'m>; N],
        counts: CountedLanes,
    ) -> [Num<'m>; N] {
        let at = self.at;
        let mut blocks = None;
        at.with(&mut |b| {
            let (cold, join) = (b.func.append_block(), append_like(b));
            b.func.layout.set_cold(cold);
            let any = if b.ty(self.value).is_vector() { b.any(self.value) } else { self.value };
            let any = match counts {
                CountedLanes::Masked => any,
                CountedLanes::All => b.value(Opcode::PackAny, &[any], Imm::None, Type::B1),
            };
            let plain = values.map(|v| v.value);
            b.branch(any, BlockCall::new(cold, &[]), BlockCall::new(join, &plain));
            b.switch_to(cold);
            blocks = Some(join);
        });
        let Some(join) = blocks else { unreachable!("broken invariant: cursor without a builder") };
        let slow = slow();
        let mut results = values;
        at.with(&mut |b| {
            let mut out = slow.map(|v| v.value);
            if counts == CountedLanes::Masked && b.ty(self.value).is_vector() {
                for (out, plain) in out.iter_mut().zip(&values) {
                    *out = b.select(self.value, *out, plain.value);
                }
            }
            b.jump(join, &out);
            for result in &mut results {
                let ty = b.ty(result.value);
                result.value = b.func.dfg.append_param(join, ty);
            }
            b.switch_to(join);
        });
        results
    }
}

/// A new block, which is cold if the current one is.
fn append_like(b: &mut Builder<'_>) -> Block {
    let block = b.func.append_block();
    if b.func.layout.is_cold(b.block()) {
        b.func.layout.set_cold(block);
    }
    block
}

/// The lanes that take the results of a cold block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedLanes {
    /// Those in which the mask is true.
    Masked,
    /// All.
    All,
}

macro_rules! operators {
    ($($trait:ident $method:ident $float:ident $int:ident;)+) => {$(
        impl<'m, T: NumOperand<'m>> $trait<T> for Num<'m> {
            type Output = Num<'m>;

            fn $method(self, other: T) -> Num<'m> {
                self.arith(other, Opcode::$float, Opcode::$int)
            }
        }
    )+};
}

operators! {
    Add add Fadd Iadd;
    Sub sub Fsub Isub;
    Mul mul Fmul Imul;
}

impl<'m, T: NumOperand<'m>> Div<T> for Num<'m> {
    type Output = Num<'m>;

    fn div(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.float2(Opcode::Fdiv, x, y))
    }
}

impl<'m, T: NumOperand<'m>> BitAnd<T> for Num<'m> {
    type Output = Num<'m>;

    fn bitand(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.int2(Opcode::And, x, y))
    }
}

impl<'m, T: NumOperand<'m>> BitOr<T> for Num<'m> {
    type Output = Num<'m>;

    fn bitor(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.int2(Opcode::Or, x, y))
    }
}

impl<'m, T: NumOperand<'m>> BitXor<T> for Num<'m> {
    type Output = Num<'m>;

    fn bitxor(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.int2(Opcode::Xor, x, y))
    }
}

impl<'m> Shl<u32> for Num<'m> {
    type Output = Num<'m>;

    fn shl(self, count: u32) -> Num<'m> {
        self.emit2(i64::from(count), |b, x, n| b.int2(Opcode::Shl, x, n))
    }
}

impl<'m> Neg for Num<'m> {
    type Output = Num<'m>;

    fn neg(self) -> Num<'m> {
        self.emit(|b, x| if b.ty(x).is_float() { b.float1(Opcode::Fneg, x) } else { b.int1(Opcode::Ineg, x) })
    }
}

impl<'m> Not for Num<'m> {
    type Output = Num<'m>;

    fn not(self) -> Num<'m> {
        self.emit(|b, x| b.int1(Opcode::Not, x))
    }
}
