//! One row per OpenCL.std instruction: operands, strategy, accuracy.

use clift_kir::{Builder, Opcode, Value};

use super::expand::{common, float, geometric, int, memory, misc};
use super::math::{Function, erf, exp, gamma, hyperbolic, inverse, log, pow, remainder, root, trig};
use super::{Args, ClOp};

/// How an instruction is built.
#[derive(Clone, Copy)]
pub(crate) enum Strategy {
    /// One kir op, lane by lane, of exactly its meaning.
    Op(Opcode),
    /// A function of `math/`; halves are widened to floats on the way.
    Math(Math),
    /// The first operand, unchanged.
    First,
    /// No code at all.
    Nothing,
    /// Several ops.
    Expand(fn(&mut Builder<'_>, &Args) -> Option<Value>),
}

/// A transcendental function.
#[derive(Clone, Copy)]
pub(crate) struct Math {
    /// Within the row's bound.
    pub(crate) full: Function,
    /// Of floats, where the source allows approximations.
    pub(crate) fast: Function,
    /// Of doubles, where `full` has no form for them.
    pub(crate) double: Option<Function>,
}

/// What the operands are.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// That many floats of the result's type.
    Float(usize),
    /// That many integers of the result's type.
    Int(usize),
    /// A float of the result's type and an `i32` of its lanes.
    FloatInt,
    /// A float; the result is an `i32` of its lanes.
    FloatToInt,
    /// That many floats of the result's type, then a pointer for a second result.
    FloatPointer(usize),
    /// Anything else; the function checks and spreads.
    Custom(fn(&mut Builder<'_>, &mut Args) -> Result<(), String>),
}

/// Greatest error of an instruction by element width, in units in the last place of the correctly rounded result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// Correctly rounded, or exact.
    Exact,
    /// At most this for f64, f32, f16.
    Ulp(f32, f32, f32),
    /// Whatever the implementation gives.
    Any,
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) strategy: Strategy,
    pub(crate) shape: Shape,
    pub(crate) accuracy: Accuracy,
}

/// The full-profile accuracy bound of an instruction.
pub fn accuracy(op: ClOp) -> Accuracy {
    row(op).accuracy
}

const fn op(op: Opcode, shape: Shape) -> Row {
    Row { strategy: Strategy::Op(op), shape, accuracy: Accuracy::Exact }
}

const fn math(function: Function, shape: Shape, accuracy: Accuracy) -> Row {
    fast_math(function, function, shape, accuracy)
}

const fn fast_math(full: Function, fast: Function, shape: Shape, accuracy: Accuracy) -> Row {
    Row { strategy: Strategy::Math(Math { full, fast, double: None }), shape, accuracy }
}

/// A function whose bound leaves room for the fast form of floats.
const fn rough_math(fast: Function, double: Function, shape: Shape, accuracy: Accuracy) -> Row {
    Row { strategy: Strategy::Math(Math { full: fast, fast, double: Some(double) }), shape, accuracy }
}

const fn expand(build: fn(&mut Builder<'_>, &Args) -> Option<Value>, shape: Shape, accuracy: Accuracy) -> Row {
    Row { strategy: Strategy::Expand(build), shape, accuracy }
}

const fn exact(build: fn(&mut Builder<'_>, &Args) -> Option<Value>, shape: Shape) -> Row {
    expand(build, shape, Accuracy::Exact)
}

const fn ulp(f64: f32, f32: f32, f16: f32) -> Accuracy {
    Accuracy::Ulp(f64, f32, f16)
}

/// The bound of the `half_` functions.
const HALF: Accuracy = ulp(8192.0, 8192.0, 8192.0);
const F1: Shape = Shape::Float(1);
const F2: Shape = Shape::Float(2);
const F3: Shape = Shape::Float(3);
const I1: Shape = Shape::Int(1);
const I2: Shape = Shape::Int(2);
const I3: Shape = Shape::Int(3);

/// The table. Bounds are those of the full profile (OpenCL SPIR-V environment specification, "Numerical compliance").
pub(crate) fn row(instruction: ClOp) -> &'static Row {
    macro_rules! rows {
        ($($name:ident => $row:expr;)+) => {
            match instruction { $(ClOp::$name => { const ROW: Row = $row; &ROW })+ }
        };
    }
    rows! {
        // -- trigonometry --
        acos => math(inverse::acos, F1, ulp(4.0, 4.0, 2.0));
        acosh => math(hyperbolic::acosh, F1, ulp(4.0, 4.0, 2.0));
        acospi => math(inverse::acospi, F1, ulp(5.0, 5.0, 2.0));
        asin => math(inverse::asin, F1, ulp(4.0, 4.0, 2.0));
        asinh => math(hyperbolic::asinh, F1, ulp(4.0, 4.0, 2.0));
        asinpi => math(inverse::asinpi, F1, ulp(5.0, 5.0, 2.0));
        atan => math(inverse::atan, F1, ulp(5.0, 5.0, 2.0));
        atan2 => math(inverse::atan2, F2, ulp(6.0, 6.0, 2.0));
        atanh => math(hyperbolic::atanh, F1, ulp(5.0, 5.0, 2.0));
        atanpi => math(inverse::atanpi, F1, ulp(5.0, 5.0, 2.0));
        atan2pi => math(inverse::atan2pi, F2, ulp(6.0, 6.0, 2.0));
        cos => fast_math(trig::cos, trig::cos_fast, F1, ulp(4.0, 4.0, 2.0));
        cosh => math(hyperbolic::cosh, F1, ulp(4.0, 4.0, 2.0));
        cospi => math(trig::cospi, F1, ulp(4.0, 4.0, 2.0));
        sin => fast_math(trig::sin, trig::sin_fast, F1, ulp(4.0, 4.0, 2.0));
        sincos => expand(float::sincos, Shape::FloatPointer(1), ulp(4.0, 4.0, 2.0));
        sinh => math(hyperbolic::sinh, F1, ulp(4.0, 4.0, 2.0));
        sinpi => math(trig::sinpi, F1, ulp(4.0, 4.0, 2.0));
        tan => fast_math(trig::tan, trig::tan_fast, F1, ulp(5.0, 5.0, 2.5));
        tanh => math(hyperbolic::tanh, F1, ulp(5.0, 5.0, 2.0));
        tanpi => math(trig::tanpi, F1, ulp(6.0, 6.0, 2.0));

        // -- exponentials, powers, special functions --
        cbrt => math(root::cbrt, F1, ulp(2.0, 2.0, 2.0));
        erfc => math(erf::erfc, F1, ulp(16.0, 16.0, 4.0));
        erf => math(erf::erf, F1, ulp(16.0, 16.0, 4.0));
        exp => math(exp::exp, F1, ulp(3.0, 3.0, 2.0));
        exp2 => math(exp::exp2, F1, ulp(3.0, 3.0, 2.0));
        exp10 => math(exp::exp10, F1, ulp(3.0, 3.0, 2.0));
        expm1 => math(exp::expm1, F1, ulp(3.0, 3.0, 2.0));
        hypot => math(root::hypot, F2, ulp(4.0, 4.0, 2.0));
        lgamma => math(gamma::lgamma, F1, Accuracy::Any);
        lgamma_r => expand(float::lgamma_r, Shape::FloatPointer(1), Accuracy::Any);
        log => math(log::log, F1, ulp(3.0, 3.0, 2.0));
        log2 => math(log::log2, F1, ulp(3.0, 3.0, 2.0));
        log10 => math(log::log10, F1, ulp(3.0, 3.0, 2.0));
        log1p => math(log::log1p, F1, ulp(2.0, 2.0, 2.0));
        pow => fast_math(pow::pow, pow::pow_fast, F2, ulp(16.0, 16.0, 4.0));
        pown => math(pow::pown, Shape::FloatInt, ulp(16.0, 16.0, 4.0));
        powr => fast_math(pow::powr, pow::powr_fast, F2, ulp(16.0, 16.0, 4.0));
        rootn => math(pow::rootn, Shape::FloatInt, ulp(16.0, 16.0, 4.0));
        rsqrt => math(root::rsqrt, F1, ulp(2.0, 2.0, 1.0));
        sqrt => op(Opcode::Sqrt, F1);
        tgamma => math(gamma::tgamma, F1, ulp(16.0, 16.0, 4.0));

        // -- exact operations on floats --
        ceil => op(Opcode::Ceil, F1);
        copysign => op(Opcode::Fcopysign, F2);
        fabs => op(Opcode::Fabs, F1);
        fdim => exact(float::fdim, F2);
        floor => op(Opcode::Floor, F1);
        fma => op(Opcode::Fma, F3);
        fmax => op(Opcode::Fmax, F2);
        fmin => op(Opcode::Fmin, F2);
        fmod => math(remainder::fmod, F2, Accuracy::Exact);
        fract => exact(float::fract, Shape::FloatPointer(1));
        frexp => exact(float::frexp, Shape::FloatPointer(1));
        ilogb => exact(float::ilogb, Shape::FloatToInt);
        ldexp => math(root::ldexp, Shape::FloatInt, Accuracy::Exact);
        logb => exact(float::logb, F1);
        mad => op(Opcode::Fma, F3);
        maxmag => exact(float::maxmag, F2);
        minmag => exact(float::minmag, F2);
        modf => exact(float::modf, Shape::FloatPointer(1));
        nan => exact(float::nan, Shape::Custom(float::check_nan));
        nextafter => exact(float::nextafter, F2);
        remainder => math(remainder::remainder, F2, Accuracy::Exact);
        remquo => exact(float::remquo, Shape::FloatPointer(2));
        rint => op(Opcode::Rint, F1);
        round => exact(float::round, F1);
        trunc => op(Opcode::Trunc, F1);

        // -- fast forms --
        half_cos => rough_math(trig::cos_fast, trig::cos, F1, HALF);
        half_divide => op(Opcode::Fdiv, F2);
        half_exp => rough_math(exp::exp_fast, exp::exp, F1, HALF);
        half_exp2 => rough_math(exp::exp2_fast, exp::exp2, F1, HALF);
        half_exp10 => rough_math(exp::exp10_fast, exp::exp10, F1, HALF);
        half_log => math(log::log, F1, HALF);
        half_log2 => math(log::log2, F1, HALF);
        half_log10 => math(log::log10, F1, HALF);
        half_powr => rough_math(pow::powr_fast, pow::powr, F2, HALF);
        half_recip => exact(float::recip, F1);
        half_rsqrt => math(root::rsqrt, F1, HALF);
        half_sin => rough_math(trig::sin_fast, trig::sin, F1, HALF);
        half_sqrt => op(Opcode::Sqrt, F1);
        half_tan => rough_math(trig::tan_fast, trig::tan, F1, HALF);
        native_cos => rough_math(trig::cos_fast, trig::cos, F1, Accuracy::Any);
        native_divide => op(Opcode::Fdiv, F2);
        native_exp => rough_math(exp::exp_fast, exp::exp, F1, Accuracy::Any);
        native_exp2 => rough_math(exp::exp2_fast, exp::exp2, F1, Accuracy::Any);
        native_exp10 => rough_math(exp::exp10_fast, exp::exp10, F1, Accuracy::Any);
        native_log => math(log::log, F1, Accuracy::Any);
        native_log2 => math(log::log2, F1, Accuracy::Any);
        native_log10 => math(log::log10, F1, Accuracy::Any);
        native_powr => rough_math(pow::powr_fast, pow::powr, F2, Accuracy::Any);
        native_recip => exact(float::recip, F1);
        native_rsqrt => math(root::rsqrt, F1, Accuracy::Any);
        native_sin => rough_math(trig::sin_fast, trig::sin, F1, Accuracy::Any);
        native_sqrt => op(Opcode::Sqrt, F1);
        native_tan => rough_math(trig::tan_fast, trig::tan, F1, Accuracy::Any);

        // -- common and geometric functions --
        fclamp => exact(common::fclamp, F3);
        degrees => expand(common::degrees, F1, ulp(2.0, 2.0, 2.0));
        fmax_common => op(Opcode::Fmax, F2);
        fmin_common => op(Opcode::Fmin, F2);
        mix => expand(common::mix, F3, Accuracy::Any);
        radians => expand(common::radians, F1, ulp(2.0, 2.0, 2.0));
        step => exact(common::step, F2);
        smoothstep => expand(common::smoothstep, F3, Accuracy::Any);
        sign => exact(common::sign, F1);
        cross => expand(geometric::cross, Shape::Custom(geometric::check_cross), Accuracy::Any);
        distance => expand(geometric::distance, Shape::Custom(geometric::check_two), Accuracy::Any);
        length => expand(geometric::length, Shape::Custom(geometric::check_one), Accuracy::Any);
        normalize => expand(geometric::normalize, F1, Accuracy::Any);
        fast_distance => expand(geometric::distance, Shape::Custom(geometric::check_two), Accuracy::Any);
        fast_length => expand(geometric::length, Shape::Custom(geometric::check_one), Accuracy::Any);
        fast_normalize => expand(geometric::normalize, F1, Accuracy::Any);

        // -- integers --
        s_abs => op(Opcode::Iabs, I1);
        s_abs_diff => exact(int::s_abs_diff, I2);
        s_add_sat => op(Opcode::SaddSat, I2);
        u_add_sat => op(Opcode::UaddSat, I2);
        s_hadd => exact(int::s_hadd, I2);
        u_hadd => exact(int::u_hadd, I2);
        s_rhadd => exact(int::s_rhadd, I2);
        u_rhadd => exact(int::u_rhadd, I2);
        s_clamp => exact(int::s_clamp, I3);
        u_clamp => exact(int::u_clamp, I3);
        clz => op(Opcode::Clz, I1);
        ctz => op(Opcode::Ctz, I1);
        s_mad_hi => exact(int::s_mad_hi, I3);
        u_mad_sat => exact(int::u_mad_sat, I3);
        s_mad_sat => exact(int::s_mad_sat, I3);
        s_max => op(Opcode::Smax, I2);
        u_max => op(Opcode::Umax, I2);
        s_min => op(Opcode::Smin, I2);
        u_min => op(Opcode::Umin, I2);
        s_mul_hi => op(Opcode::Smulh, I2);
        rotate => op(Opcode::Rotl, I2);
        s_sub_sat => op(Opcode::SsubSat, I2);
        u_sub_sat => op(Opcode::UsubSat, I2);
        u_upsample => exact(int::upsample, Shape::Custom(int::check_upsample));
        s_upsample => exact(int::upsample, Shape::Custom(int::check_upsample));
        popcount => op(Opcode::Popcnt, I1);
        s_mad24 => exact(int::mad, I3);
        u_mad24 => exact(int::mad, I3);
        s_mul24 => op(Opcode::Imul, I2);
        u_mul24 => op(Opcode::Imul, I2);
        u_abs => Row { strategy: Strategy::First, shape: I1, accuracy: Accuracy::Exact };
        u_abs_diff => exact(int::u_abs_diff, I2);
        u_mul_hi => op(Opcode::Umulh, I2);
        u_mad_hi => exact(int::u_mad_hi, I3);

        // -- vectors in memory --
        vloadn => exact(memory::vloadn, Shape::Custom(memory::check_load));
        vstoren => exact(memory::vstoren, Shape::Custom(memory::check_store));
        vload_half => exact(memory::vload_half, Shape::Custom(memory::check_half_load));
        vload_halfn => exact(memory::vload_half, Shape::Custom(memory::check_half_load));
        vstore_half => exact(memory::vstore_half, Shape::Custom(memory::check_half_store));
        vstore_half_r => exact(memory::vstore_half, Shape::Custom(memory::check_half_store));
        vstore_halfn => exact(memory::vstore_half, Shape::Custom(memory::check_half_store));
        vstore_halfn_r => exact(memory::vstore_half, Shape::Custom(memory::check_half_store));
        vloada_halfn => exact(memory::vloada_half, Shape::Custom(memory::check_half_load));
        vstorea_halfn => exact(memory::vstorea_half, Shape::Custom(memory::check_half_store));
        vstorea_halfn_r => exact(memory::vstorea_half, Shape::Custom(memory::check_half_store));

        // -- the rest --
        shuffle => exact(misc::shuffle, Shape::Custom(misc::check_shuffle));
        shuffle2 => exact(misc::shuffle2, Shape::Custom(misc::check_shuffle2));
        printf => exact(misc::printf, Shape::Custom(misc::check_printf));
        prefetch => Row { strategy: Strategy::Nothing, shape: Shape::Custom(misc::check_prefetch), accuracy: Accuracy::Exact };
        bitselect => exact(misc::bitselect, Shape::Custom(misc::check_bitselect));
        select => exact(misc::select, Shape::Custom(misc::check_select));
    }
}
