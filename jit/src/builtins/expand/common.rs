//! Common functions.

use clift_kir::{Builder, FloatCond, Opcode, Value};

use crate::builtins::BuiltinArgs;

/// x if x < y, otherwise y. What NaN gives is left open; as on other processors, the second operand, so that this is one
/// instruction.
pub(in crate::builtins) fn fmin_common(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    Some(ordered(b, FloatCond::Olt, args.values[0], args.values[1]))
}

/// x if x > y, otherwise y; of NaN as [`fmin_common`].
pub(in crate::builtins) fn fmax_common(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    Some(ordered(b, FloatCond::Ogt, args.values[0], args.values[1]))
}

/// min(max(x, low), high).
pub(in crate::builtins) fn fclamp(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let least = ordered(b, FloatCond::Ogt, args.values[0], args.values[1]);
    Some(ordered(b, FloatCond::Olt, least, args.values[2]))
}

/// x if it compares so with y, otherwise y.
fn ordered(b: &mut Builder<'_>, cond: FloatCond, x: Value, y: Value) -> Value {
    let chosen = b.fcmp(cond, x, y);
    b.select(chosen, x, y)
}

/// Radians to degrees.
pub(in crate::builtins) fn degrees(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let factor = b.fconst(args.result, 180.0 / std::f64::consts::PI);
    Some(b.float2(Opcode::Fmul, args.values[0], factor))
}

/// Degrees to radians.
pub(in crate::builtins) fn radians(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let factor = b.fconst(args.result, std::f64::consts::PI / 180.0);
    Some(b.float2(Opcode::Fmul, args.values[0], factor))
}

/// x + (y - x) * a.
pub(in crate::builtins) fn mix(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, y, a) = (args.values[0], args.values[1], args.values[2]);
    let span = b.float2(Opcode::Fsub, y, x);
    Some(b.fma(span, a, x))
}

/// 0 below the edge, else 1.
pub(in crate::builtins) fn step(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let below = b.fcmp(FloatCond::Olt, args.values[1], args.values[0]);
    let (zero, one) = (b.fconst(args.result, 0.0), b.fconst(args.result, 1.0));
    Some(b.select(below, zero, one))
}

/// Hermite interpolation between two edges.
pub(in crate::builtins) fn smoothstep(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (low, high, x, ty) = (args.values[0], args.values[1], args.values[2], args.result);
    let way = b.float2(Opcode::Fsub, x, low);
    let span = b.float2(Opcode::Fsub, high, low);
    let t = b.float2(Opcode::Fdiv, way, span);
    let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
    let t = b.float2(Opcode::Fmax, t, zero);
    let t = b.float2(Opcode::Fmin, t, one);
    let (minus_two, three) = (b.fconst(ty, -2.0), b.fconst(ty, 3.0));
    let slope = b.fma(minus_two, t, three);
    let square = b.float2(Opcode::Fmul, t, t);
    Some(b.float2(Opcode::Fmul, square, slope))
}

/// 1, -1, the zero itself, or 0 for NaN.
pub(in crate::builtins) fn sign(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, ty) = (args.values[0], args.result);
    let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
    let unit = b.float2(Opcode::Fcopysign, one, x);
    let signed_zero = b.float2(Opcode::Fcopysign, zero, x);
    let nonzero = b.fcmp(FloatCond::One, x, zero);
    let unordered = b.fcmp(FloatCond::Uno, x, x);
    let otherwise = b.select(unordered, zero, signed_zero);
    Some(b.select(nonzero, unit, otherwise))
}
