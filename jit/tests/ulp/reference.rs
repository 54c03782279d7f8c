//! The functions, and what they should give: the per-lane library's doubles for floats, the host's C library for doubles.

use clift_jit::builtins::ClOp;
use clift_kir::Elem;
use clift_kir::libfn::{LibFn, LibImpl};

/// Operands of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// One float.
    One,
    /// Two floats.
    Two,
    /// A float and an `int`.
    WithInt,
}

/// A function to test.
pub(crate) struct Function {
    pub(crate) op: ClOp,
    /// The function that its results are compared with.
    pub(crate) library: LibFn,
    /// Whether there is an expansion for doubles.
    pub(crate) doubles: bool,
    /// The reference for doubles, if it is not the library.
    pub(crate) double: Option<fn(f64) -> f64>,
    /// The reference for floats, if the library, whose function then only shows the operands, has none.
    pub(crate) own: Option<fn(f64) -> f64>,
    /// The reference for doubles of two operands, if it is not the library.
    pub(crate) double2: Option<fn(f64, f64) -> f64>,
    /// Largest magnitude of the first operand that has to work.
    pub(crate) limit: f64,
    /// The largest error where the specification sets none.
    pub(crate) open: f64,
    /// Results for negative operands count as no smaller than this when errors are measured.
    pub(crate) least: f64,
    /// Whether subnormal operands and results may be taken for zeros.
    pub(crate) flushes: bool,
}

const fn full(op: ClOp, library: LibFn) -> Function {
    Function {
        op,
        library,
        double: None,
        own: None,
        double2: None,
        doubles: false,
        limit: f64::INFINITY,
        open: 0.0,
        least: 0.0,
        flushes: false,
    }
}

const fn both(op: ClOp, library: LibFn, double: fn(f64) -> f64) -> Function {
    Function { double: Some(double), doubles: true, ..full(op, library) }
}

/// As [`full`], with the library's doubles as the reference for doubles: only what it computes well.
const fn both2(op: ClOp, library: LibFn) -> Function {
    Function { doubles: true, ..full(op, library) }
}

/// As [`both2`], with a reference for doubles of its own: the library's power is coarse where the exponent is huge.
const fn power(op: ClOp, library: LibFn, double2: fn(f64, f64) -> f64) -> Function {
    Function { double2: Some(double2), ..both2(op, library) }
}

const fn half(op: ClOp, library: LibFn) -> Function {
    Function { flushes: true, ..full(op, library) }
}

const fn half_angle(op: ClOp, library: LibFn) -> Function {
    Function { limit: 65536.0, ..half(op, library) }
}

/// Functions whose results never leave -1 to 1: programs take roots and arc functions of what they give.
pub(crate) const WITHIN_ONE: &[ClOp] = &[ClOp::sin, ClOp::cos, ClOp::sinpi, ClOp::cospi, ClOp::tanh, ClOp::erf];

/// All functions whose rows are expansions.
pub(crate) const FUNCTIONS: &[Function] = &[
    both(ClOp::exp, LibFn::Exp, f64::exp),
    both(ClOp::exp2, LibFn::Exp2, f64::exp2),
    both(ClOp::exp10, LibFn::Exp10, exp10),
    both(ClOp::expm1, LibFn::Expm1, f64::exp_m1),
    both(ClOp::log, LibFn::Log, f64::ln),
    both(ClOp::log2, LibFn::Log2, f64::log2),
    both(ClOp::log10, LibFn::Log10, f64::log10),
    both(ClOp::log1p, LibFn::Log1p, f64::ln_1p),
    both(ClOp::sin, LibFn::Sin, f64::sin),
    both(ClOp::cos, LibFn::Cos, f64::cos),
    both(ClOp::tan, LibFn::Tan, f64::tan),
    both(ClOp::sinpi, LibFn::Sinpi, |x| library(LibFn::Sinpi, x)),
    both(ClOp::cospi, LibFn::Cospi, |x| library(LibFn::Cospi, x)),
    both(ClOp::tanpi, LibFn::Tanpi, |x| library(LibFn::Tanpi, x)),
    both(ClOp::sinh, LibFn::Sinh, f64::sinh),
    both(ClOp::cosh, LibFn::Cosh, f64::cosh),
    both(ClOp::tanh, LibFn::Tanh, f64::tanh),
    both(ClOp::asinh, LibFn::Asinh, |x| library(LibFn::Asinh, x)),
    both(ClOp::acosh, LibFn::Acosh, |x| library(LibFn::Acosh, x)),
    both(ClOp::atanh, LibFn::Atanh, |x| library(LibFn::Atanh, x)),
    both(ClOp::cbrt, LibFn::Cbrt, f64::cbrt),
    Function { own: Some(rsqrt), ..both(ClOp::rsqrt, LibFn::Cbrt, rsqrt) },
    both2(ClOp::hypot, LibFn::Hypot),
    both2(ClOp::ldexp, LibFn::Ldexp),
    both2(ClOp::fmod, LibFn::Fmod),
    both2(ClOp::remainder, LibFn::Remainder),
    both(ClOp::erf, LibFn::Erf, libm::erf),
    both(ClOp::erfc, LibFn::Erfc, libm::erfc),
    both(ClOp::tgamma, LibFn::Tgamma, libm::tgamma),
    // Its zeros at negative operands are where larger numbers cancel, and between numbers: as in the reference, the error there
    // is that of the larger numbers.
    Function { open: 32.0, least: 1.0, ..both(ClOp::lgamma, LibFn::Lgamma, libm::lgamma) },
    both(ClOp::asin, LibFn::Asin, f64::asin),
    both(ClOp::acos, LibFn::Acos, f64::acos),
    both(ClOp::atan, LibFn::Atan, f64::atan),
    both(ClOp::asinpi, LibFn::Asinpi, |x| library(LibFn::Asinpi, x)),
    both(ClOp::acospi, LibFn::Acospi, |x| library(LibFn::Acospi, x)),
    both(ClOp::atanpi, LibFn::Atanpi, |x| library(LibFn::Atanpi, x)),
    both2(ClOp::atan2, LibFn::Atan2),
    both2(ClOp::atan2pi, LibFn::Atan2pi),
    power(ClOp::pow, LibFn::Pow, pow),
    power(ClOp::powr, LibFn::Powr, powr),
    both2(ClOp::pown, LibFn::Pown),
    both2(ClOp::rootn, LibFn::Rootn),
    half(ClOp::half_exp, LibFn::Exp),
    half(ClOp::half_exp2, LibFn::Exp2),
    half(ClOp::half_exp10, LibFn::Exp10),
    half(ClOp::half_log, LibFn::Log),
    half(ClOp::half_log2, LibFn::Log2),
    half(ClOp::half_log10, LibFn::Log10),
    half(ClOp::half_powr, LibFn::Powr),
    half_angle(ClOp::half_sin, LibFn::Sin),
    half_angle(ClOp::half_cos, LibFn::Cos),
    half_angle(ClOp::half_tan, LibFn::Tan),
];

fn library(library: LibFn, x: f64) -> f64 {
    match library.implementation(Elem::F64) {
        LibImpl::F64(function) => function(x),
        _ => unreachable!("broken invariant: a function of one double"),
    }
}

fn pow(x: f64, y: f64) -> f64 {
    ordinary_power(x, y, LibFn::Pow)
}

fn powr(x: f64, y: f64) -> f64 {
    ordinary_power(x, y, LibFn::Powr)
}

/// C's power of ordinary operands, the library's of all others.
fn ordinary_power(x: f64, y: f64, library: LibFn) -> f64 {
    match library.implementation(Elem::F64) {
        _ if x > 0.0 && x.is_finite() && y.is_finite() => x.powf(y),
        LibImpl::FF64(function) => function(x, y),
        _ => unreachable!("broken invariant: a function of two doubles"),
    }
}

/// With what the two roundings left.
fn rsqrt(x: f64) -> f64 {
    let root = 1.0 / x.sqrt();
    if !root.is_normal() || x.is_infinite() {
        return root;
    }
    let product = x * root;
    let left = product.mul_add(-root, 1.0) - x.mul_add(root, -product) * root;
    (0.5 * root).mul_add(left, root)
}

/// By the exponential, with the rest of the product.
fn exp10(x: f64) -> f64 {
    let product = x * std::f64::consts::LN_10;
    let power = product.exp();
    if !power.is_normal() {
        return libm::exp10(x);
    }
    let rest = x.mul_add(std::f64::consts::LN_10, -product) - x * 2.1707562233822494e-16;
    power.mul_add(rest, power)
}

impl Function {
    /// The function's name.
    pub(crate) fn name(&self) -> String {
        format!("{:?}", self.op)
    }

    /// Its operands.
    pub(crate) fn operands(&self) -> Operands {
        match self.library.implementation(Elem::F64) {
            LibImpl::F64(_) => Operands::One,
            LibImpl::FF64(_) => Operands::Two,
            LibImpl::FI64(_) => Operands::WithInt,
            _ => unreachable!("broken invariant: {:?} gives no float", self.library),
        }
    }

    /// Whether a first operand is one that has to work.
    pub(crate) fn in_domain(&self, elem: Elem, x: u64) -> bool {
        let x = super::value(elem, x);
        let subnormal = x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
        (x.abs() <= self.limit || self.limit.is_infinite()) && !(self.flushes && subnormal)
    }

    /// The least magnitude that the error of a result counts against.
    pub(crate) fn least(&self, elem: Elem, x: u64) -> f64 {
        if super::value(elem, x) < 0.0 { self.least } else { 0.0 }
    }

    /// The exact result for operands given as bits.
    pub(crate) fn expected(&self, elem: Elem, x: u64, y: u64) -> f64 {
        let value = |bits| super::value(elem, bits);
        if let (Elem::F64, Some(function)) = (elem, self.double) {
            return function(value(x));
        }
        if let (Elem::F32, Some(function)) = (elem, self.own) {
            return function(value(x));
        }
        if let (Elem::F64, Some(function)) = (elem, self.double2) {
            return function(value(x), value(y));
        }
        match self.library.implementation(Elem::F64) {
            LibImpl::F64(function) => function(value(x)),
            LibImpl::FF64(function) => function(value(x), value(y)),
            LibImpl::FI64(function) => function(value(x), y as u32 as i32),
            _ => unreachable!("broken invariant: {:?} gives no float", self.library),
        }
    }
}
