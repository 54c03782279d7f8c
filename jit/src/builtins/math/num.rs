//! Kernel IR written as arithmetic: [`Num`] is a value with Rust's operators.
//!
//! An expansion reads as the formula it computes, `(x - n * C).fma(y, z)`; each operator emits one op at the builder's cursor.
//! Literals become constants of the other operand's type. Ops carry no floating-point liberties: what an expansion writes is what
//! is computed, error-free transformations included.
//!
//! Not here: anything about particular functions.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Sub};

use clift_kir::inst::BlockCall;
use clift_kir::{
    Block, Builder, Convert, Elem, FloatCond, FpFlags, Imm, IntCond, LibFn, Opcode, Rounding, Type, Value,
};

/// Where ops go: a builder that several values share.
pub(super) trait Cursor {
    /// Runs something with the builder.
    fn with(&self, emit: &mut dyn FnMut(&mut Builder<'_>));
}

/// The cursor of one expansion. Float ops have no liberties while it lives.
struct Shared<'a, 'f>(RefCell<&'a mut Builder<'f>>);

impl Cursor for Shared<'_, '_> {
    fn with(&self, emit: &mut dyn FnMut(&mut Builder<'_>)) {
        emit(&mut self.0.borrow_mut());
    }
}

/// A function of numbers, as the table names it: operands have been checked.
pub(crate) type Function = for<'m> fn(&[Num<'m>]) -> Num<'m>;

/// A function of two results.
pub(crate) type Pair = for<'m> fn(&[Num<'m>]) -> [Num<'m>; 2];

/// Emits a function of values.
pub(in crate::builtins) fn emit(b: &mut Builder<'_>, function: Function, args: &[Value]) -> Value {
    let [result] = emit_all(b, |args| [function(args)], args);
    result
}

/// Emits a function of two results.
pub(in crate::builtins) fn emit_pair(b: &mut Builder<'_>, function: Pair, args: &[Value]) -> [Value; 2] {
    emit_all(b, function, args)
}

fn emit_all<const N: usize>(
    b: &mut Builder<'_>,
    function: impl for<'m> Fn(&[Num<'m>]) -> [Num<'m>; N],
    args: &[Value],
) -> [Value; N] {
    let liberties = b.fp_flags();
    b.set_fp_flags(FpFlags::empty());
    let cursor = Shared(RefCell::new(b));
    let args: Vec<Num<'_>> = args.iter().map(|&value| Num { at: &cursor, value }).collect();
    let results = function(&args).map(|result| result.value);
    cursor.with(&mut |b| b.set_fp_flags(liberties));
    results
}

/// A value that ops can be made with.
#[derive(Clone, Copy)]
pub(crate) struct Num<'m> {
    at: &'m dyn Cursor,
    value: Value,
}

/// A second operand: a value, or a literal that takes the type of the first.
pub(crate) trait Operand<'m>: Copy {
    /// As a value beside another.
    fn beside(self, other: Num<'m>) -> Num<'m>;
}

impl<'m> Operand<'m> for Num<'m> {
    fn beside(self, _: Num<'m>) -> Num<'m> {
        self
    }
}

impl<'m> Operand<'m> for f64 {
    fn beside(self, other: Num<'m>) -> Num<'m> {
        other.emit(|b, v| b.fconst(b.ty(v), self))
    }
}

impl<'m> Operand<'m> for i64 {
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

    fn emit2(self, other: impl Operand<'m>, make: impl Fn(&mut Builder<'_>, Value, Value) -> Value) -> Num<'m> {
        let other = other.beside(self).value;
        self.emit(|b, v| make(b, v, other))
    }

    /// The type.
    pub(super) fn ty(self) -> Type {
        let mut ty = Type::B1;
        self.at.with(&mut |b| ty = b.ty(self.value));
        ty
    }

    /// Whether it is made of doubles (or 64-bit integers).
    pub(super) fn is_double(self) -> bool {
        self.ty().elem.bits() == 64
    }

    /// A literal of this type.
    pub(super) fn lit(self, literal: impl Operand<'m>) -> Num<'m> {
        literal.beside(self)
    }

    fn arith(self, other: impl Operand<'m>, float: Opcode, int: Opcode) -> Num<'m> {
        self.emit2(other, |b, x, y| if b.ty(x).is_float() { b.float2(float, x, y) } else { b.int2(int, x, y) })
    }

    // -- floats --

    /// `self * b + c`, rounded once.
    pub(super) fn fma(self, b: impl Operand<'m>, c: impl Operand<'m>) -> Num<'m> {
        let c = c.beside(self).value;
        self.emit2(b, |at, x, y| at.fma(x, y, c))
    }

    /// The polynomial with these coefficients, lowest degree first: by Horner's rule where it is short. Of a long one the terms but
    /// the first are summed in groups, which do not wait for each other; the last step keeps the first coefficient's precision.
    pub(super) fn poly(self, coefficients: &[f64]) -> Num<'m> {
        match coefficients {
            [first, rest @ ..] if rest.len() >= self.long() => self.grouped(rest).fma(self, *first),
            _ => Num::horner(self, &coefficients.iter().map(|&c| self.lit(c)).collect::<Vec<_>>()),
        }
    }

    /// From how many coefficients on a chain of them takes too long. A pack of doubles has few registers to fill the time.
    fn long(self) -> usize {
        if self.is_double() { 5 } else { 8 }
    }

    /// A polynomial whose terms are summed in groups of four, after Estrin.
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

    /// The polynomial in `x` with coefficients that are no literals.
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

    /// What an op gives where it grants [`FpFlags::ESTIMATE`].
    fn estimated(self, make: impl Fn(&mut Builder<'_>, Value) -> Value) -> Num<'m> {
        self.emit(|b, x| {
            b.set_fp_flags(FpFlags::ESTIMATE);
            let made = make(b, x);
            b.set_fp_flags(FpFlags::empty());
            made
        })
    }

    /// The quotient to one unit in the last place, where both operands, it and the divisor's reciprocal are well inside the range of
    /// normal numbers. Of zero it is zero, of any sign; of others it may be anything.
    pub(super) fn over(self, other: impl Operand<'m>) -> Num<'m> {
        let other = other.beside(self).value;
        self.estimated(|b, x| b.float2(Opcode::Fdiv, x, other))
    }

    /// The square root of a positive normal number to one unit in the last place; of others it may be anything.
    pub(super) fn near_sqrt(self) -> Num<'m> {
        self.estimated(|b, x| b.float1(Opcode::Sqrt, x))
    }

    /// The reciprocal of the square root to two units in the last place, of all numbers.
    pub(super) fn near_rsqrt(self) -> Num<'m> {
        let root = self.near_sqrt();
        root.lit(1.0).over(root)
    }

    /// Nearest integral value, ties to even.
    pub(super) fn rint(self) -> Num<'m> {
        self.float1(Opcode::Rint)
    }

    /// Integral value toward zero.
    pub(super) fn trunc(self) -> Num<'m> {
        self.float1(Opcode::Trunc)
    }

    /// The smaller one; the other where one is NaN.
    pub(super) fn min(self, other: impl Operand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.float2(Opcode::Fmin, x, y))
    }

    /// The larger one; the other where one is NaN.
    pub(super) fn max(self, other: impl Operand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.float2(Opcode::Fmax, x, y))
    }

    /// Not less than one and not greater than the other bound; NaN stays.
    pub(super) fn between(self, low: f64, high: f64) -> Num<'m> {
        let (low, high) = (self.lit(low), self.lit(high));
        let x = low.gt(self).select(low, self);
        high.lt(x).select(high, x)
    }

    /// This magnitude with the other's sign.
    pub(super) fn copysign(self, sign: impl Operand<'m>) -> Num<'m> {
        self.emit2(sign, |b, x, y| b.float2(Opcode::Fcopysign, x, y))
    }

    fn fcmp(self, cond: FloatCond, other: impl Operand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.fcmp(cond, x, y))
    }

    fn cmp(self, float: FloatCond, int: IntCond, other: impl Operand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| if b.ty(x).is_float() { b.fcmp(float, x, y) } else { b.icmp(int, x, y) })
    }

    /// Less; false for NaN. Integers are signed.
    pub(super) fn lt(self, other: impl Operand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Olt, IntCond::Slt, other)
    }

    /// Less or equal; false for NaN.
    pub(super) fn le(self, other: impl Operand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Ole, IntCond::Sle, other)
    }

    /// Greater; false for NaN.
    pub(super) fn gt(self, other: impl Operand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Ogt, IntCond::Sgt, other)
    }

    /// Greater or equal; false for NaN.
    pub(super) fn ge(self, other: impl Operand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Oge, IntCond::Sge, other)
    }

    /// Equal; false for NaN.
    pub(super) fn eq(self, other: impl Operand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Oeq, IntCond::Eq, other)
    }

    /// Different; true for NaN.
    pub(super) fn ne(self, other: impl Operand<'m>) -> Num<'m> {
        self.cmp(FloatCond::Une, IntCond::Ne, other)
    }

    /// Not less as an integer without sign.
    pub(super) fn not_below(self, other: impl Operand<'m>) -> Num<'m> {
        self.emit2(other, |b, x, y| b.icmp(IntCond::Uge, x, y))
    }

    /// Whether it is NaN.
    pub(super) fn is_nan(self) -> Num<'m> {
        self.fcmp(FloatCond::Uno, self)
    }

    /// Whether either is NaN.
    pub(super) fn unordered(self, other: Num<'m>) -> Num<'m> {
        self.fcmp(FloatCond::Uno, other)
    }

    /// Greater, or either is NaN.
    pub(super) fn above_or_nan(self, other: impl Operand<'m>) -> Num<'m> {
        self.fcmp(FloatCond::Ugt, other)
    }

    /// In another precision.
    pub(super) fn to(self, elem: Elem) -> Num<'m> {
        self.emit(|b, x| match b.ty(x) {
            ty if ty.elem == elem => x,
            ty => b.convert(Opcode::FptoFp, x, ty.with_elem(elem), Convert::default()),
        })
    }

    /// A number as `i32`, rounded toward zero; out of range anything.
    pub(super) fn to_i32(self) -> Num<'m> {
        let how = Convert { rounding: Rounding::TowardZero, saturate: false };
        self.emit(|b, x| b.convert(Opcode::FptoS, x, b.ty(x).with_elem(Elem::I32), how))
    }

    /// A library function of it, called lane by lane.
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

    /// The integer in another width, sign-extended or cut off.
    pub(super) fn resize(self, elem: Elem) -> Num<'m> {
        self.emit(|b, x| b.int_resize(x, elem, true))
    }

    /// Shifted right, zeros coming in.
    pub(super) fn lshr(self, count: u32) -> Num<'m> {
        self.emit2(i64::from(count), |b, x, n| b.int2(Opcode::Lshr, x, n))
    }

    /// Shifted right, signs coming in.
    pub(super) fn ashr(self, count: u32) -> Num<'m> {
        self.emit2(i64::from(count), |b, x, n| b.int2(Opcode::Ashr, x, n))
    }

    /// One where the mask is true, else the other.
    pub(super) fn select(self, yes: Num<'m>, no: impl Operand<'m>) -> Num<'m> {
        let (mask, no) = (self.value, no.beside(yes).value);
        yes.emit(|b, yes| b.select(mask, yes, no))
    }

    /// What a step makes of the values, again as long as it says so of any lane: in lanes where it says no, it must leave them.
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

    /// The values, or those that `slow` computes in lanes where the mask is true: code that is branched over where no lane needs
    /// it.
    pub(super) fn cold_path<const N: usize>(
        self,
        values: [Num<'m>; N],
        slow: impl FnOnce() -> [Num<'m>; N],
    ) -> [Num<'m>; N] {
        self.branch_over(values, slow, CountedLanes::Masked)
    }

    /// The values, or those that `slow` computes, which it does for all lanes: for those where the mask is false it must give equal
    /// values. Cheaper than [`Num::cold_path`], as neither the mask nor the values are needed any more where it runs.
    pub(super) fn cold_path_all<const N: usize>(
        self,
        values: [Num<'m>; N],
        slow: impl FnOnce() -> [Num<'m>; N],
    ) -> [Num<'m>; N] {
        self.branch_over(values, slow, CountedLanes::All)
    }

    /// What `usual` gives, but in lanes where it says so what `any` gives, which is rare.
    pub(super) fn with_cold_path(usual: impl Fn() -> (Num<'m>, Num<'m>), any: impl FnOnce() -> Num<'m>) -> Num<'m> {
        let (rare, y) = usual();
        let [y] = rare.cold_path_all([y], || {
            // What is not rare among it keeps its value.
            let (rare, y) = usual();
            [rare.select(any(), y)]
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
            let (rare, join) = (b.func.append_block(), append_like(b));
            b.func.layout.set_cold(rare);
            let any = if b.ty(self.value).is_vector() { b.any(self.value) } else { self.value };
            let any = match counts {
                CountedLanes::Masked => any,
                CountedLanes::All => b.value(Opcode::PackAny, &[any], Imm::None, Type::B1),
            };
            let plain = values.map(|v| v.value);
            b.branch(any, BlockCall::new(rare, &[]), BlockCall::new(join, &plain));
            b.switch_to(rare);
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

/// A new block, as rare as the current one.
fn append_like(b: &mut Builder<'_>) -> Block {
    let block = b.func.append_block();
    if b.func.layout.is_cold(b.block()) {
        b.func.layout.set_cold(block);
    }
    block
}

/// For which lanes rare code's results count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedLanes {
    /// Those that asked for it.
    Masked,
    /// All.
    All,
}

macro_rules! operators {
    ($($trait:ident $method:ident $float:ident $int:ident;)+) => {$(
        impl<'m, T: Operand<'m>> $trait<T> for Num<'m> {
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

impl<'m, T: Operand<'m>> Div<T> for Num<'m> {
    type Output = Num<'m>;

    fn div(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.float2(Opcode::Fdiv, x, y))
    }
}

impl<'m, T: Operand<'m>> BitAnd<T> for Num<'m> {
    type Output = Num<'m>;

    fn bitand(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.int2(Opcode::And, x, y))
    }
}

impl<'m, T: Operand<'m>> BitOr<T> for Num<'m> {
    type Output = Num<'m>;

    fn bitor(self, other: T) -> Num<'m> {
        self.emit2(other, |b, x, y| b.int2(Opcode::Or, x, y))
    }
}

impl<'m, T: Operand<'m>> BitXor<T> for Num<'m> {
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
