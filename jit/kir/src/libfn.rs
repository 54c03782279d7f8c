//! Library functions that `libcall` may name: the per-lane fallback for mathematics that has no expansion into ops.
//!
//! One table: name, signature, and the host function in single and double precision. Halves never come here: the
//! importer widens them. The functions are pure.

use crate::types::{Elem, Type};

/// Parameter and result classes of a library function; `F` is the float element it is called at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibSignature {
    /// F -> F.
    F,
    /// F, F -> F.
    FF,
    /// F, i32 -> F.
    FI,
    /// F -> i32.
    FToI,
    /// F, F -> i32.
    FFToI,
}

impl LibSignature {
    /// Whether operand `i` is a float (else an i32); `None` beyond the last.
    pub fn param_is_float(self, i: usize) -> Option<bool> {
        match (self, i) {
            (_, 0) => Some(true),
            (LibSignature::FF | LibSignature::FFToI, 1) => Some(true),
            (LibSignature::FI, 1) => Some(false),
            (LibSignature::F | LibSignature::FToI, 1) => None,
            (LibSignature::F | LibSignature::FF | LibSignature::FI | LibSignature::FToI | LibSignature::FFToI, _) => {
                None
            }
        }
    }

    /// Number of operands.
    pub fn arity(self) -> usize {
        match self {
            LibSignature::F | LibSignature::FToI => 1,
            LibSignature::FF | LibSignature::FI | LibSignature::FFToI => 2,
        }
    }

    /// The result's type, given the first operand's.
    pub fn result(self, operand: Type) -> Type {
        match self {
            LibSignature::F | LibSignature::FF | LibSignature::FI => operand,
            LibSignature::FToI | LibSignature::FFToI => operand.with_elem(Elem::I32),
        }
    }
}

/// The host implementation of a library function.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "one variant per signature and precision")]
pub enum LibImpl {
    F32(fn(f32) -> f32),
    F64(fn(f64) -> f64),
    FF32(fn(f32, f32) -> f32),
    FF64(fn(f64, f64) -> f64),
    FI32(fn(f32, i32) -> f32),
    FI64(fn(f64, i32) -> f64),
    FToI32(fn(f32) -> i32),
    FToI64(fn(f64) -> i32),
    FFToI32(fn(f32, f32) -> i32),
    FFToI64(fn(f64, f64) -> i32),
}

macro_rules! single_and_double {
    (F, $s:expr, $d:expr) => {
        (LibSignature::F, LibImpl::F32($s), LibImpl::F64($d))
    };
    (FF, $s:expr, $d:expr) => {
        (LibSignature::FF, LibImpl::FF32($s), LibImpl::FF64($d))
    };
    (FI, $s:expr, $d:expr) => {
        (LibSignature::FI, LibImpl::FI32($s), LibImpl::FI64($d))
    };
    (FToI, $s:expr, $d:expr) => {
        (LibSignature::FToI, LibImpl::FToI32($s), LibImpl::FToI64($d))
    };
    (FFToI, $s:expr, $d:expr) => {
        (LibSignature::FFToI, LibImpl::FFToI32($s), LibImpl::FFToI64($d))
    };
}

macro_rules! lib_table {
    ($($(#[doc = $doc:literal])+ $name:ident $text:literal $sig:ident $single:expr, $double:expr;)+) => {
        /// A library function.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum LibFn { $($(#[doc = $doc])+ $name,)+ }

        impl LibFn {
            /// Every function.
            pub const ALL: &'static [LibFn] = &[$(LibFn::$name,)+];

            /// Its name in the text form.
            pub fn name(self) -> &'static str {
                match self { $(LibFn::$name => $text,)+ }
            }

            fn row(self) -> (LibSignature, LibImpl, LibImpl) {
                match self { $(LibFn::$name => single_and_double!($sig, $single, $double),)+ }
            }
        }
    };
}

lib_table! {
    /// Sine.
    Sin "sin" F libm::sinf, libm::sin;
    /// Cosine.
    Cos "cos" F libm::cosf, libm::cos;
    /// Tangent.
    Tan "tan" F libm::tanf, libm::tan;
    /// Arc sine.
    Asin "asin" F |x| libm::asin(x.into()) as f32, libm::asin;
    /// Arc cosine.
    Acos "acos" F |x| libm::acos(x.into()) as f32, libm::acos;
    /// Arc tangent.
    Atan "atan" F |x| libm::atan(x.into()) as f32, libm::atan;
    /// Arc tangent of a quotient: y, x.
    Atan2 "atan2" FF |y, x| libm::atan2(y.into(), x.into()) as f32, libm::atan2;
    /// Arc sine over pi.
    Asinpi "asinpi" F |x| asinpi(x.into()) as f32, asinpi;
    /// Arc cosine over pi.
    Acospi "acospi" F |x| acospi(x.into()) as f32, acospi;
    /// Arc tangent over pi.
    Atanpi "atanpi" F |x| atanpi(x.into()) as f32, atanpi;
    /// Arc tangent of a quotient over pi: y, x.
    Atan2pi "atan2pi" FF |y, x| atan2pi(y.into(), x.into()) as f32, atan2pi;
    /// Hyperbolic sine.
    Sinh "sinh" F |x| libm::sinh(x.into()) as f32, libm::sinh;
    /// Hyperbolic cosine.
    Cosh "cosh" F |x| libm::cosh(x.into()) as f32, libm::cosh;
    /// Hyperbolic tangent.
    Tanh "tanh" F |x| libm::tanh(x.into()) as f32, libm::tanh;
    /// Inverse hyperbolic sine.
    Asinh "asinh" F |x| libm::asinh(x.into()) as f32, libm::asinh;
    /// Inverse hyperbolic cosine.
    Acosh "acosh" F |x| acosh(x.into()) as f32, acosh;
    /// Inverse hyperbolic tangent.
    Atanh "atanh" F |x| libm::atanh(x.into()) as f32, libm::atanh;
    /// Sine of pi x.
    Sinpi "sinpi" F |x| sinpi(x.into()) as f32, sinpi;
    /// Cosine of pi x.
    Cospi "cospi" F |x| cospi(x.into()) as f32, cospi;
    /// Tangent of pi x.
    Tanpi "tanpi" F |x| tanpi(x.into()) as f32, tanpi;
    /// Exponential.
    Exp "exp" F libm::expf, libm::exp;
    /// Power of two.
    Exp2 "exp2" F libm::exp2f, libm::exp2;
    /// Power of ten.
    Exp10 "exp10" F |x| libm::exp10(x.into()) as f32, libm::exp10;
    /// Exponential minus one.
    Expm1 "expm1" F |x| libm::expm1(x.into()) as f32, libm::expm1;
    /// Natural logarithm.
    Log "log" F libm::logf, libm::log;
    /// Logarithm to base two.
    Log2 "log2" F libm::log2f, libm::log2;
    /// Logarithm to base ten.
    Log10 "log10" F |x| libm::log10(x.into()) as f32, libm::log10;
    /// Logarithm of one plus x.
    Log1p "log1p" F |x| libm::log1p(x.into()) as f32, libm::log1p;
    /// Power.
    Pow "pow" FF |x, y| libm::pow(x.into(), y.into()) as f32, libm::pow;
    /// Power with an integer exponent.
    Pown "pown" FI |x, n| pown(x.into(), n) as f32, pown;
    /// Power of a non-negative base.
    Powr "powr" FF |x, y| powr(x.into(), y.into()) as f32, powr;
    /// Integer root.
    Rootn "rootn" FI |x, n| rootn(x.into(), n) as f32, rootn;
    /// Cube root.
    Cbrt "cbrt" F |x| libm::cbrt(x.into()) as f32, libm::cbrt;
    /// Euclidean distance.
    Hypot "hypot" FF |x, y| libm::hypot(x.into(), y.into()) as f32, libm::hypot;
    /// Error function.
    Erf "erf" F |x| libm::erf(x.into()) as f32, libm::erf;
    /// Complementary error function.
    Erfc "erfc" F |x| libm::erfc(x.into()) as f32, libm::erfc;
    /// Gamma function.
    Tgamma "tgamma" F |x| libm::tgamma(x.into()) as f32, libm::tgamma;
    /// Logarithm of the absolute value of the gamma function.
    Lgamma "lgamma" F |x| libm::lgamma(x.into()) as f32, libm::lgamma;
    /// Sign of the gamma function: 1, -1, or 0 at its poles.
    GammaSign "gamma_sign" FToI |x| gamma_sign(x.into()), gamma_sign;
    /// Remainder with the sign of the dividend.
    Fmod "fmod" FF libm::fmodf, libm::fmod;
    /// IEEE remainder.
    Remainder "remainder" FF libm::remainderf, libm::remainder;
    /// Low bits and sign of the quotient of `remainder`.
    RemquoBits "remquo_bits" FFToI |x, y| remquo_bits(x.into(), y.into()), remquo_bits;
    /// x times a power of two, rounded once.
    Ldexp "ldexp" FI libm::scalbnf, libm::scalbn;
    /// Binary exponent as an integer.
    Ilogb "ilogb" FToI |x| ilogb(x.into()), ilogb;
    /// Next representable number toward y.
    Nextafter "nextafter" FF libm::nextafterf, libm::nextafter;
    /// Nearest integer, halfway cases away from zero.
    Round "round" F libm::roundf, libm::round;
}

impl LibFn {
    /// The function of a name in the text form.
    pub fn from_name(name: &str) -> Option<LibFn> {
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// Its parameters and result.
    pub fn signature(self) -> LibSignature {
        self.row().0
    }

    /// The host function for `f32` or `f64`.
    pub fn implementation(self, elem: Elem) -> LibImpl {
        let (_, single, double) = self.row();
        match elem {
            Elem::F32 => single,
            Elem::F64 => double,
            Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::F16 | Elem::Ptr(_) => {
                unreachable!("broken invariant: library function at {elem}")
            }
        }
    }

    /// Its value for lanes given as bits.
    pub fn eval(self, elem: Elem, args: &[u64]) -> u64 {
        let s = |i: usize| f32::from_bits(args[i] as u32);
        let d = |i: usize| f64::from_bits(args[i]);
        let n = |i: usize| args[i] as u32 as i32;
        match self.implementation(elem) {
            LibImpl::F32(f) => f(s(0)).to_bits().into(),
            LibImpl::F64(f) => f(d(0)).to_bits(),
            LibImpl::FF32(f) => f(s(0), s(1)).to_bits().into(),
            LibImpl::FF64(f) => f(d(0), d(1)).to_bits(),
            LibImpl::FI32(f) => f(s(0), n(1)).to_bits().into(),
            LibImpl::FI64(f) => f(d(0), n(1)).to_bits(),
            LibImpl::FToI32(f) => u64::from(f(s(0)) as u32),
            LibImpl::FToI64(f) => u64::from(f(d(0)) as u32),
            LibImpl::FFToI32(f) => u64::from(f(s(0), s(1)) as u32),
            LibImpl::FFToI64(f) => u64::from(f(d(0), d(1)) as u32),
        }
    }
}

/// sin(pi x): reduced exactly to [-0.5, 0.5] first; integers give a zero with the sign of x.
fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let r = x % 2.0;
    let n = r.round();
    let f = r - n;
    if f == 0.0 {
        return 0.0f64.copysign(x);
    }
    let s = libm::sin(std::f64::consts::PI * f);
    if n.abs() == 1.0 { -s } else { s }
}

/// cos(pi x); odd multiples of one half give +0.
fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let r = (x % 2.0).abs();
    if r == 0.5 || r == 1.5 {
        return 0.0;
    }
    let f = if r > 1.0 { 2.0 - r } else { r };
    if f > 0.5 {
        -cospi(1.0 - f)
    } else if f > 0.25 {
        libm::sin(std::f64::consts::PI * (0.5 - f))
    } else {
        libm::cos(std::f64::consts::PI * f)
    }
}

/// tan(pi x) with OpenCL's signs: n even gives copysign(0, n), n odd copysign(0, -n); n + 0.5 gives +inf for even n, -inf for
/// odd.
fn tanpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let r = x % 2.0;
    let n = r.round();
    if r == n {
        return if n.abs() == 1.0 { 0.0f64.copysign(-x) } else { 0.0f64.copysign(x) };
    }
    match r {
        0.5 | -1.5 => f64::INFINITY,
        1.5 | -0.5 => f64::NEG_INFINITY,
        _ => {
            let f = r - n;
            if f.abs() > 0.25 {
                let g = 0.5f64.copysign(f) - f;
                1.0 / libm::tan(std::f64::consts::PI * g)
            } else {
                libm::tan(std::f64::consts::PI * f)
            }
        }
    }
}

/// The library's gives numbers for some arguments below one.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// asin(x) / pi.
fn asinpi(x: f64) -> f64 {
    if x.abs() == 1.0 { 0.5f64.copysign(x) } else { libm::asin(x) * std::f64::consts::FRAC_1_PI }
}

/// acos(x) / pi; exactly 1 at -1.
fn acospi(x: f64) -> f64 {
    match x {
        -1.0 => 1.0,
        0.0 => 0.5,
        _ => libm::acos(x) * std::f64::consts::FRAC_1_PI,
    }
}

/// atan(x) / pi; exactly one half at infinity.
fn atanpi(x: f64) -> f64 {
    if x.is_infinite() { 0.5f64.copysign(x) } else { libm::atan(x) * std::f64::consts::FRAC_1_PI }
}

/// atan2(y, x) / pi, with the multiples of a quarter exact.
fn atan2pi(y: f64, x: f64) -> f64 {
    let special = if x.is_nan() || y.is_nan() {
        return f64::NAN;
    } else if y == 0.0 {
        Some(if x.is_sign_negative() { 1.0 } else { 0.0 })
    } else if x == 0.0 {
        Some(0.5)
    } else {
        match (y.is_infinite(), x.is_infinite()) {
            (true, true) => Some(if x < 0.0 { 0.75 } else { 0.25 }),
            (true, false) => Some(0.5),
            (false, true) => Some(if x < 0.0 { 1.0 } else { 0.0 }),
            (false, false) => None,
        }
    };
    match special {
        Some(magnitude) => f64::copysign(magnitude, y),
        None => libm::atan2(y, x) * std::f64::consts::FRAC_1_PI,
    }
}

/// The power with an i32 exponent, which is exact as an f64.
fn pown(x: f64, n: i32) -> f64 {
    libm::pow(x, f64::from(n))
}

/// The power of a base that must not be negative.
fn powr(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if (y == 0.0 && (x == 0.0 || x == f64::INFINITY)) || (x == 1.0 && y.is_infinite()) {
        return f64::NAN;
    }
    libm::pow(x.abs(), y)
}

/// The n-th root.
fn rootn(x: f64, n: i32) -> f64 {
    if n == 0 || (x < 0.0 && n % 2 == 0) {
        return f64::NAN;
    }
    if x.is_nan() {
        return x;
    }
    if x == 0.0 || x.is_infinite() {
        let large = (x == 0.0) == (n < 0);
        let magnitude = if large { f64::INFINITY } else { 0.0 };
        return if n % 2 == 0 { magnitude } else { magnitude.copysign(x) };
    }
    let degree = n.unsigned_abs();
    let mut root;
    if degree > 1000 {
        root = libm::pow(x.abs(), 1.0 / f64::from(degree));
    } else {
        // Scaled to be near one; one Newton step then removes the error of rounding the reciprocal.
        let shift = (libm::log2(x.abs()) / f64::from(degree)).round() as i32;
        let scaled = libm::scalbn(x.abs(), -shift * degree as i32);
        root = libm::pow(scaled, 1.0 / f64::from(degree));
        let power = libm::pow(root, f64::from(degree));
        root -= root * ((power - scaled) / power / f64::from(degree));
        root = libm::scalbn(root, shift);
    }
    (if n < 0 { 1.0 / root } else { root }).copysign(x)
}

fn gamma_sign(x: f64) -> i32 {
    if x.is_nan() {
        1
    } else if x == 0.0 || x == f64::NEG_INFINITY || (x < 0.0 && x == x.trunc()) {
        0
    } else {
        libm::lgamma_r(x).1
    }
}

/// Quotient bits of `remquo`: at least seven low bits of the quotient rounded to nearest even, with its sign.
fn remquo_bits(x: f64, y: f64) -> i32 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 { 0 } else { libm::remquo(x, y).1 }
}

/// `FP_ILOGB0` is INT_MIN, `FP_ILOGBNAN` INT_MAX, as clang's OpenCL headers define them.
fn ilogb(x: f64) -> i32 {
    if x == 0.0 {
        i32::MIN
    } else if x.is_nan() || x.is_infinite() {
        i32::MAX
    } else {
        libm::ilogb(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &f in LibFn::ALL {
            assert_eq!(LibFn::from_name(f.name()), Some(f));
        }
    }

    #[test]
    fn prescribed_values() {
        assert!(sinpi(-3.0).is_sign_negative() && sinpi(3.0) == 0.0 && sinpi(3.0).is_sign_positive());
        assert_eq!((cospi(0.5), cospi(1.0), cospi(2.0)), (0.0, -1.0, 1.0));
        assert_eq!((tanpi(0.5), tanpi(1.5), tanpi(-0.5)), (f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert!(tanpi(1.0).is_sign_negative() && tanpi(2.0).is_sign_positive() && tanpi(-1.0).is_sign_positive());
        assert!((tanpi(0.75) + 1.0).abs() < 1e-15 && (tanpi(0.3) - 1.3763819204711736).abs() < 1e-14);
        assert_eq!(rootn(-27.0, 3), -3.0);
        assert!(rootn(-4.0, 2).is_nan() && rootn(2.0, 0).is_nan());
        assert_eq!((rootn(-0.0, -3), rootn(-0.0, 3).is_sign_negative()), (f64::NEG_INFINITY, true));
        assert!(powr(-1.0, 2.0).is_nan() && powr(0.0, 0.0).is_nan() && powr(2.0, 0.0) == 1.0);
        assert_eq!((ilogb(0.0), ilogb(8.0), ilogb(f64::NAN)), (i32::MIN, 3, i32::MAX));
    }
}
