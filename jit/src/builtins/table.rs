//! One row per OpenCL.std instruction: operands, strategy, accuracy.

use clift_kir::{Builder, LibFn, Opcode, Value};

use super::expand::{common, float, geometric, int, memory, misc};
use super::{Args, ClOp};

/// How an instruction is built.
#[derive(Clone, Copy)]
pub(crate) enum Strategy {
    /// One kir op, lane by lane, of exactly its meaning.
    Op(Opcode),
    /// A library function called per lane: a slow path.
    Lib(LibFn),
    /// The first operand, unchanged.
    First,
    /// No code at all.
    Nothing,
    /// Several ops.
    Expand(fn(&mut Builder<'_>, &Args) -> Option<Value>),
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

/// Whether an instruction is built from library functions called lane by lane.
pub fn is_library_call(op: ClOp) -> bool {
    matches!(row(op).strategy, Strategy::Lib(_))
}

const fn op(op: Opcode, shape: Shape) -> Row {
    Row { strategy: Strategy::Op(op), shape, accuracy: Accuracy::Exact }
}

const fn lib(function: LibFn, f64: f32, f32: f32, f16: f32) -> Row {
    Row { strategy: Strategy::Lib(function), shape: Shape::Float(1), accuracy: Accuracy::Ulp(f64, f32, f16) }
}

const fn lib2(function: LibFn, f64: f32, f32: f32, f16: f32) -> Row {
    Row { strategy: Strategy::Lib(function), shape: Shape::Float(2), accuracy: Accuracy::Ulp(f64, f32, f16) }
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
        acos => lib(LibFn::Acos, 4.0, 4.0, 2.0);
        acosh => lib(LibFn::Acosh, 4.0, 4.0, 2.0);
        acospi => lib(LibFn::Acospi, 5.0, 5.0, 2.0);
        asin => lib(LibFn::Asin, 4.0, 4.0, 2.0);
        asinh => lib(LibFn::Asinh, 4.0, 4.0, 2.0);
        asinpi => lib(LibFn::Asinpi, 5.0, 5.0, 2.0);
        atan => lib(LibFn::Atan, 5.0, 5.0, 2.0);
        atan2 => lib2(LibFn::Atan2, 6.0, 6.0, 2.0);
        atanh => lib(LibFn::Atanh, 5.0, 5.0, 2.0);
        atanpi => lib(LibFn::Atanpi, 5.0, 5.0, 2.0);
        atan2pi => lib2(LibFn::Atan2pi, 6.0, 6.0, 2.0);
        cos => lib(LibFn::Cos, 4.0, 4.0, 2.0);
        cosh => lib(LibFn::Cosh, 4.0, 4.0, 2.0);
        cospi => lib(LibFn::Cospi, 4.0, 4.0, 2.0);
        sin => lib(LibFn::Sin, 4.0, 4.0, 2.0);
        sincos => expand(float::sincos, Shape::FloatPointer(1), ulp(4.0, 4.0, 2.0));
        sinh => lib(LibFn::Sinh, 4.0, 4.0, 2.0);
        sinpi => lib(LibFn::Sinpi, 4.0, 4.0, 2.0);
        tan => lib(LibFn::Tan, 5.0, 5.0, 2.5);
        tanh => lib(LibFn::Tanh, 5.0, 5.0, 2.0);
        tanpi => lib(LibFn::Tanpi, 6.0, 6.0, 2.0);

        // -- exponentials, powers, special functions --
        cbrt => lib(LibFn::Cbrt, 2.0, 2.0, 2.0);
        erfc => lib(LibFn::Erfc, 16.0, 16.0, 4.0);
        erf => lib(LibFn::Erf, 16.0, 16.0, 4.0);
        exp => lib(LibFn::Exp, 3.0, 3.0, 2.0);
        exp2 => lib(LibFn::Exp2, 3.0, 3.0, 2.0);
        exp10 => lib(LibFn::Exp10, 3.0, 3.0, 2.0);
        expm1 => lib(LibFn::Expm1, 3.0, 3.0, 2.0);
        hypot => lib2(LibFn::Hypot, 4.0, 4.0, 2.0);
        lgamma => Row { strategy: Strategy::Lib(LibFn::Lgamma), shape: F1, accuracy: Accuracy::Any };
        lgamma_r => expand(float::lgamma_r, Shape::FloatPointer(1), Accuracy::Any);
        log => lib(LibFn::Log, 3.0, 3.0, 2.0);
        log2 => lib(LibFn::Log2, 3.0, 3.0, 2.0);
        log10 => lib(LibFn::Log10, 3.0, 3.0, 2.0);
        log1p => lib(LibFn::Log1p, 2.0, 2.0, 2.0);
        pow => lib2(LibFn::Pow, 16.0, 16.0, 4.0);
        pown => Row { strategy: Strategy::Lib(LibFn::Pown), shape: Shape::FloatInt, accuracy: ulp(16.0, 16.0, 4.0) };
        powr => lib2(LibFn::Powr, 16.0, 16.0, 4.0);
        rootn => Row { strategy: Strategy::Lib(LibFn::Rootn), shape: Shape::FloatInt, accuracy: ulp(16.0, 16.0, 4.0) };
        rsqrt => expand(float::rsqrt, F1, ulp(2.0, 2.0, 1.0));
        sqrt => op(Opcode::Sqrt, F1);
        tgamma => lib(LibFn::Tgamma, 16.0, 16.0, 4.0);

        // -- exact operations on floats --
        ceil => op(Opcode::Ceil, F1);
        copysign => op(Opcode::Fcopysign, F2);
        fabs => op(Opcode::Fabs, F1);
        fdim => exact(float::fdim, F2);
        floor => op(Opcode::Floor, F1);
        fma => op(Opcode::Fma, F3);
        fmax => op(Opcode::Fmax, F2);
        fmin => op(Opcode::Fmin, F2);
        fmod => Row { strategy: Strategy::Lib(LibFn::Fmod), shape: F2, accuracy: Accuracy::Exact };
        fract => exact(float::fract, Shape::FloatPointer(1));
        frexp => exact(float::frexp, Shape::FloatPointer(1));
        ilogb => exact(float::ilogb, Shape::FloatToInt);
        ldexp => exact(float::ldexp, Shape::FloatInt);
        logb => exact(float::logb, F1);
        mad => op(Opcode::Fma, F3);
        maxmag => exact(float::maxmag, F2);
        minmag => exact(float::minmag, F2);
        modf => exact(float::modf, Shape::FloatPointer(1));
        nan => exact(float::nan, Shape::Custom(float::check_nan));
        nextafter => exact(float::nextafter, F2);
        remainder => Row { strategy: Strategy::Lib(LibFn::Remainder), shape: F2, accuracy: Accuracy::Exact };
        remquo => exact(float::remquo, Shape::FloatPointer(2));
        rint => op(Opcode::Rint, F1);
        round => exact(float::round, F1);
        trunc => op(Opcode::Trunc, F1);

        // -- fast forms: as accurate as the full ones --
        half_cos => lib(LibFn::Cos, 8192.0, 8192.0, 8192.0);
        half_divide => op(Opcode::Fdiv, F2);
        half_exp => lib(LibFn::Exp, 8192.0, 8192.0, 8192.0);
        half_exp2 => lib(LibFn::Exp2, 8192.0, 8192.0, 8192.0);
        half_exp10 => lib(LibFn::Exp10, 8192.0, 8192.0, 8192.0);
        half_log => lib(LibFn::Log, 8192.0, 8192.0, 8192.0);
        half_log2 => lib(LibFn::Log2, 8192.0, 8192.0, 8192.0);
        half_log10 => lib(LibFn::Log10, 8192.0, 8192.0, 8192.0);
        half_powr => lib2(LibFn::Powr, 8192.0, 8192.0, 8192.0);
        half_recip => exact(float::recip, F1);
        half_rsqrt => expand(float::rsqrt, F1, ulp(8192.0, 8192.0, 8192.0));
        half_sin => lib(LibFn::Sin, 8192.0, 8192.0, 8192.0);
        half_sqrt => op(Opcode::Sqrt, F1);
        half_tan => lib(LibFn::Tan, 8192.0, 8192.0, 8192.0);
        native_cos => Row { strategy: Strategy::Lib(LibFn::Cos), shape: F1, accuracy: Accuracy::Any };
        native_divide => op(Opcode::Fdiv, F2);
        native_exp => Row { strategy: Strategy::Lib(LibFn::Exp), shape: F1, accuracy: Accuracy::Any };
        native_exp2 => Row { strategy: Strategy::Lib(LibFn::Exp2), shape: F1, accuracy: Accuracy::Any };
        native_exp10 => Row { strategy: Strategy::Lib(LibFn::Exp10), shape: F1, accuracy: Accuracy::Any };
        native_log => Row { strategy: Strategy::Lib(LibFn::Log), shape: F1, accuracy: Accuracy::Any };
        native_log2 => Row { strategy: Strategy::Lib(LibFn::Log2), shape: F1, accuracy: Accuracy::Any };
        native_log10 => Row { strategy: Strategy::Lib(LibFn::Log10), shape: F1, accuracy: Accuracy::Any };
        native_powr => Row { strategy: Strategy::Lib(LibFn::Powr), shape: F2, accuracy: Accuracy::Any };
        native_recip => exact(float::recip, F1);
        native_rsqrt => expand(float::rsqrt, F1, Accuracy::Any);
        native_sin => Row { strategy: Strategy::Lib(LibFn::Sin), shape: F1, accuracy: Accuracy::Any };
        native_sqrt => op(Opcode::Sqrt, F1);
        native_tan => Row { strategy: Strategy::Lib(LibFn::Tan), shape: F1, accuracy: Accuracy::Any };

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
