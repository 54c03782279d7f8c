//! The table of OpenCL.std instructions: operands, implementation and accuracy of each.

use clift_kir::{Builder, Opcode, Value};

use super::expand::{common, float, geometric, int, memory, misc};
use super::math::{MathFunction, erf, exp, gamma, hyperbolic, inverse, log, pow, remainder, root, trig};
use super::{BuiltinArgs, ClOp};

/// The implementation of an instruction.
#[derive(Clone, Copy)]
pub(crate) enum Strategy {
    /// One lane-wise kir op with the same semantics.
    Op(Opcode),
    /// A function of `math/`; halves are computed in floats.
    Math(Math),
    /// The first operand, unchanged.
    First,
    /// No code at all.
    Nothing,
    /// Several ops, emitted by this function.
    Expand(fn(&mut Builder<'_>, &BuiltinArgs) -> Option<Value>),
}

/// A transcendental function.
#[derive(Clone, Copy)]
pub(crate) struct Math {
    /// Accurate to the row's bound.
    pub(crate) full: MathFunction,
    /// For floats, if the fast-math flags allow approximations.
    pub(crate) fast: MathFunction,
    /// For doubles, if `full` does not support them.
    pub(crate) double: Option<MathFunction>,
}

/// The operand types.
#[derive(Clone, Copy)]
pub(crate) enum OperandShape {
    /// This many floats of the result's type.
    Float(usize),
    /// This many integers of the result's type.
    Int(usize),
    /// A float of the result's type and an `i32` with as many lanes.
    FloatInt,
    /// A float; the result is an `i32` with as many lanes.
    FloatToInt,
    /// This many floats of the result's type, then a pointer for a second result.
    FloatPointer(usize),
    /// Anything else; the function checks and splats the operands.
    Custom(fn(&mut Builder<'_>, &mut BuiltinArgs) -> Result<(), String>),
}

/// Error bound of an instruction by element width, in units in the last place of the correctly rounded result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// Correctly rounded, or exact.
    Exact,
    /// The bounds for f64, f32 and f16.
    Ulp(f32, f32, f32),
    /// Implementation-defined.
    Any,
}

/// A row of the table.
pub(crate) struct BuiltinRow {
    pub(crate) strategy: Strategy,
    pub(crate) shape: OperandShape,
    pub(crate) accuracy: Accuracy,
}

/// The full-profile accuracy bound of an instruction.
pub fn accuracy(op: ClOp) -> Accuracy {
    row(op).accuracy
}

const fn op(op: Opcode, shape: OperandShape) -> BuiltinRow {
    BuiltinRow { strategy: Strategy::Op(op), shape, accuracy: Accuracy::Exact }
}

const fn math(function: MathFunction, shape: OperandShape, accuracy: Accuracy) -> BuiltinRow {
    fast_math(function, function, shape, accuracy)
}

const fn fast_math(full: MathFunction, fast: MathFunction, shape: OperandShape, accuracy: Accuracy) -> BuiltinRow {
    BuiltinRow { strategy: Strategy::Math(Math { full, fast, double: None }), shape, accuracy }
}

/// A function whose bound the fast variant for floats meets.
const fn rough_math(fast: MathFunction, double: MathFunction, shape: OperandShape, accuracy: Accuracy) -> BuiltinRow {
    BuiltinRow { strategy: Strategy::Math(Math { full: fast, fast, double: Some(double) }), shape, accuracy }
}

const fn expand(
    build: fn(&mut Builder<'_>, &BuiltinArgs) -> Option<Value>,
    shape: OperandShape,
    accuracy: Accuracy,
) -> BuiltinRow {
    BuiltinRow { strategy: Strategy::Expand(build), shape, accuracy }
}

const fn exact(build: fn(&mut Builder<'_>, &BuiltinArgs) -> Option<Value>, shape: OperandShape) -> BuiltinRow {
    expand(build, shape, Accuracy::Exact)
}

const fn ulp(f64: f32, f32: f32, f16: f32) -> Accuracy {
    Accuracy::Ulp(f64, f32, f16)
}

/// The bound of the `half_` functions.
const HALF: Accuracy = ulp(8192.0, 8192.0, 8192.0);
const F1: OperandShape = OperandShape::Float(1);
const F2: OperandShape = OperandShape::Float(2);
const F3: OperandShape = OperandShape::Float(3);
const I1: OperandShape = OperandShape::Int(1);
const I2: OperandShape = OperandShape::Int(2);
const I3: OperandShape = OperandShape::Int(3);

/// The table. Bounds are those of the full profile (OpenCL SPIR-V environment specification, "Numerical compliance").
pub(crate) fn row(instruction: ClOp) -> &'static BuiltinRow {
    macro_rules! rows {
        ($($name:ident => $row:expr;)+) => {
            match instruction { $(ClOp::$name => { const ROW: BuiltinRow = $row; &ROW })+ }
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
        sincos => expand(float::sincos, OperandShape::FloatPointer(1), ulp(4.0, 4.0, 2.0));
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
        lgamma_r => expand(float::lgamma_r, OperandShape::FloatPointer(1), Accuracy::Any);
        log => math(log::log, F1, ulp(3.0, 3.0, 2.0));
        log2 => math(log::log2, F1, ulp(3.0, 3.0, 2.0));
        log10 => math(log::log10, F1, ulp(3.0, 3.0, 2.0));
        log1p => math(log::log1p, F1, ulp(2.0, 2.0, 2.0));
        pow => fast_math(pow::pow, pow::pow_fast, F2, ulp(16.0, 16.0, 4.0));
        pown => math(pow::pown, OperandShape::FloatInt, ulp(16.0, 16.0, 4.0));
        powr => fast_math(pow::powr, pow::powr_fast, F2, ulp(16.0, 16.0, 4.0));
        rootn => math(pow::rootn, OperandShape::FloatInt, ulp(16.0, 16.0, 4.0));
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
        fract => exact(float::fract, OperandShape::FloatPointer(1));
        frexp => exact(float::frexp, OperandShape::FloatPointer(1));
        ilogb => exact(float::ilogb, OperandShape::FloatToInt);
        ldexp => math(root::ldexp, OperandShape::FloatInt, Accuracy::Exact);
        logb => exact(float::logb, F1);
        mad => BuiltinRow { strategy: Strategy::Expand(float::mad), shape: F3, accuracy: Accuracy::Any };
        maxmag => exact(float::maxmag, F2);
        minmag => exact(float::minmag, F2);
        modf => exact(float::modf, OperandShape::FloatPointer(1));
        nan => exact(float::nan, OperandShape::Custom(float::check_nan));
        nextafter => exact(float::nextafter, F2);
        remainder => math(remainder::remainder, F2, Accuracy::Exact);
        remquo => exact(float::remquo, OperandShape::FloatPointer(2));
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
        fmax_common => exact(common::fmax_common, F2);
        fmin_common => exact(common::fmin_common, F2);
        mix => expand(common::mix, F3, Accuracy::Any);
        radians => expand(common::radians, F1, ulp(2.0, 2.0, 2.0));
        step => exact(common::step, F2);
        smoothstep => expand(common::smoothstep, F3, Accuracy::Any);
        sign => exact(common::sign, F1);
        cross => expand(geometric::cross, OperandShape::Custom(geometric::check_cross), Accuracy::Any);
        distance => expand(geometric::distance, OperandShape::Custom(geometric::check_two), Accuracy::Any);
        length => expand(geometric::length, OperandShape::Custom(geometric::check_one), Accuracy::Any);
        normalize => expand(geometric::normalize, F1, Accuracy::Any);
        fast_distance => expand(geometric::distance, OperandShape::Custom(geometric::check_two), Accuracy::Any);
        fast_length => expand(geometric::length, OperandShape::Custom(geometric::check_one), Accuracy::Any);
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
        u_upsample => exact(int::upsample, OperandShape::Custom(int::check_upsample));
        s_upsample => exact(int::upsample, OperandShape::Custom(int::check_upsample));
        popcount => op(Opcode::Popcnt, I1);
        s_mad24 => exact(int::mad, I3);
        u_mad24 => exact(int::mad, I3);
        s_mul24 => op(Opcode::Imul, I2);
        u_mul24 => op(Opcode::Imul, I2);
        u_abs => BuiltinRow { strategy: Strategy::First, shape: I1, accuracy: Accuracy::Exact };
        u_abs_diff => exact(int::u_abs_diff, I2);
        u_mul_hi => op(Opcode::Umulh, I2);
        u_mad_hi => exact(int::u_mad_hi, I3);

        // -- vectors in memory --
        vloadn => exact(memory::vloadn, OperandShape::Custom(memory::check_load));
        vstoren => exact(memory::vstoren, OperandShape::Custom(memory::check_store));
        vload_half => exact(memory::vload_half, OperandShape::Custom(memory::check_half_load));
        vload_halfn => exact(memory::vload_half, OperandShape::Custom(memory::check_half_load));
        vstore_half => exact(memory::vstore_half, OperandShape::Custom(memory::check_half_store));
        vstore_half_r => exact(memory::vstore_half, OperandShape::Custom(memory::check_half_store));
        vstore_halfn => exact(memory::vstore_half, OperandShape::Custom(memory::check_half_store));
        vstore_halfn_r => exact(memory::vstore_half, OperandShape::Custom(memory::check_half_store));
        vloada_halfn => exact(memory::vloada_half, OperandShape::Custom(memory::check_half_load));
        vstorea_halfn => exact(memory::vstorea_half, OperandShape::Custom(memory::check_half_store));
        vstorea_halfn_r => exact(memory::vstorea_half, OperandShape::Custom(memory::check_half_store));

        // -- the rest --
        shuffle => exact(misc::shuffle, OperandShape::Custom(misc::check_shuffle));
        shuffle2 => exact(misc::shuffle2, OperandShape::Custom(misc::check_shuffle2));
        printf => exact(misc::printf, OperandShape::Custom(misc::check_printf));
        prefetch => BuiltinRow { strategy: Strategy::Nothing, shape: OperandShape::Custom(misc::check_prefetch), accuracy: Accuracy::Exact };
        bitselect => exact(misc::bitselect, OperandShape::Custom(misc::check_bitselect));
        select => exact(misc::select, OperandShape::Custom(misc::check_select));
    }
}
