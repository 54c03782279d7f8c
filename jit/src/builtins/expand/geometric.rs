//! Geometric functions. Lengths are computed with enough range that squares neither overflow nor underflow.

use clift_kir::{AtomicOp, Builder, Convert, Elem, FloatCond, Opcode, Type, Value};

use crate::builtins::{BuiltinArgs, expect_count};

/// Checks for one vector and a scalar result.
pub(in crate::builtins) fn check_one(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 1)?;
    check_operands(b, args)
}

/// Checks for two vectors and a scalar result.
pub(in crate::builtins) fn check_two(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 2)?;
    check_operands(b, args)
}

fn check_operands(b: &Builder<'_>, args: &BuiltinArgs) -> Result<(), String> {
    let ty = b.ty(args.values[0]);
    let fits = ty.is_float() && args.result == ty.lane() && args.values.iter().all(|&v| b.ty(v) == ty);
    if fits { Ok(()) } else { Err("the operands must be float vectors, the result their component type".into()) }
}

/// Checks for two vectors of three or four components.
pub(in crate::builtins) fn check_cross(b: &mut Builder<'_>, args: &mut BuiltinArgs) -> Result<(), String> {
    expect_count(args, 2)?;
    let ty = args.result;
    let fits = ty.is_float() && matches!(ty.lanes(), 3 | 4) && args.values.iter().all(|&v| b.ty(v) == ty);
    if fits { Ok(()) } else { Err("the operands must be float vectors of three or four components".into()) }
}

/// The cross product; a fourth component is 0.
pub(in crate::builtins) fn cross(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, y) = (args.values[0], args.values[1]);
    let mut elements: Vec<Value> = (0..3)
        .map(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let (xj, yk, xk, yj) = (b.extract(x, j), b.extract(y, k), b.extract(x, k), b.extract(y, j));
            let left = b.float2(Opcode::Fmul, xj, yk);
            let right = b.float2(Opcode::Fmul, xk, yj);
            b.float2(Opcode::Fsub, left, right)
        })
        .collect();
    if args.result.lanes() == 4 {
        elements.push(b.fconst(args.result.lane(), 0.0));
    }
    Some(b.vec(&elements))
}

/// |x - y|.
pub(in crate::builtins) fn distance(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let difference = b.float2(Opcode::Fsub, args.values[0], args.values[1]);
    Some(norm(b, difference))
}

/// |x|.
pub(in crate::builtins) fn length(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    Some(norm(b, args.values[0]))
}

/// The element type in which squares neither overflow nor underflow; for doubles there is none.
fn wide(elem: Elem) -> Elem {
    if elem == Elem::F16 { Elem::F32 } else { Elem::F64 }
}

fn resize(b: &mut Builder<'_>, x: Value, elem: Elem) -> Value {
    let ty = b.ty(x).with_elem(elem);
    if b.ty(x) == ty { x } else { b.convert(Opcode::FptoFp, x, ty, Convert::default()) }
}

fn root_of_squares(b: &mut Builder<'_>, x: Value) -> Value {
    let squares = b.float2(Opcode::Fmul, x, x);
    let sum = if b.ty(x).is_vector() { b.reduce(AtomicOp::Fadd, squares) } else { squares };
    b.float1(Opcode::Sqrt, sum)
}

/// A power of two that scales the largest lane of doubles so that squares neither overflow nor underflow, and its reciprocal.
fn scale(b: &mut Builder<'_>, x: Value) -> (Value, Value) {
    let magnitude = b.float1(Opcode::Fabs, x);
    let most = if b.ty(x).is_vector() { b.reduce(AtomicOp::Fmax, magnitude) } else { magnitude };
    let number = |b: &mut Builder<'_>, v: f64| b.fconst(Type::F64, v);
    let (large, small) = (number(b, 1e150), number(b, 1e-150));
    let is_large = b.fcmp(FloatCond::Ogt, most, large);
    let is_small = b.fcmp(FloatCond::Olt, most, small);
    let (up, down, one) = (number(b, 2f64.powi(600)), number(b, 2f64.powi(-600)), number(b, 1.0));
    let factor = b.select(is_small, up, one);
    let factor = b.select(is_large, down, factor);
    let inverse = b.select(is_small, down, one);
    let inverse = b.select(is_large, up, inverse);
    (factor, inverse)
}

fn norm(b: &mut Builder<'_>, x: Value) -> Value {
    let ty = b.ty(x);
    if !ty.is_vector() {
        return b.float1(Opcode::Fabs, x);
    }
    if ty.elem != Elem::F64 {
        let x = resize(b, x, wide(ty.elem));
        let root = root_of_squares(b, x);
        return resize(b, root, ty.elem);
    }
    let (factor, inverse) = scale(b, x);
    let factor = b.splat(factor, ty.lanes());
    let x = b.float2(Opcode::Fmul, x, factor);
    let root = root_of_squares(b, x);
    b.float2(Opcode::Fmul, root, inverse)
}

/// x / |x|; a zero vector is returned unchanged. If there are infinite lanes, they count as 1 and all others as 0.
pub(in crate::builtins) fn normalize(b: &mut Builder<'_>, args: &BuiltinArgs) -> Option<Value> {
    let (x, ty) = (args.values[0], args.result);
    let infinity = b.fconst(ty, f64::INFINITY);
    let magnitude = b.float1(Opcode::Fabs, x);
    let infinite = b.fcmp(FloatCond::Oeq, magnitude, infinity);
    let any_infinite = if ty.is_vector() { b.any(infinite) } else { infinite };
    let (zero, one) = (b.fconst(ty, 0.0), b.fconst(ty, 1.0));
    let unit = b.select(infinite, one, zero);
    let unit = b.float2(Opcode::Fcopysign, unit, x);
    // NaN lanes are kept, so that all lanes of the result are NaN.
    let unordered = b.fcmp(FloatCond::Uno, x, x);
    let unit = b.select(unordered, x, unit);
    let y = b.select(any_infinite, unit, x);
    let (quotient, is_zero) = if ty.elem == Elem::F64 { quotient_of_doubles(b, y) } else { quotient_in_wide(b, y) };
    Some(b.select(is_zero, x, quotient))
}

fn is_zero(b: &mut Builder<'_>, root: Value) -> Value {
    let zero = b.fconst(b.ty(root), 0.0);
    b.fcmp(FloatCond::Oeq, root, zero)
}

/// y / |y|, and whether |y| is 0. The wider elements have bits to spare, so one reciprocal serves all lanes.
fn quotient_in_wide(b: &mut Builder<'_>, y: Value) -> (Value, Value) {
    let ty = b.ty(y);
    let y = resize(b, y, wide(ty.elem));
    let root = root_of_squares(b, y);
    let is_zero = is_zero(b, root);
    let one = b.fconst(b.ty(root), 1.0);
    let reciprocal = b.float2(Opcode::Fdiv, one, root);
    let reciprocal = b.splat(reciprocal, ty.lanes());
    let quotient = b.float2(Opcode::Fmul, y, reciprocal);
    (resize(b, quotient, ty.elem), is_zero)
}

/// y / |y|, and whether |y| is 0, for doubles.
fn quotient_of_doubles(b: &mut Builder<'_>, y: Value) -> (Value, Value) {
    let lanes = b.ty(y).lanes();
    let times = |b: &mut Builder<'_>, x: Value, factor: Value| {
        let factor = b.splat(factor, lanes);
        b.float2(Opcode::Fmul, x, factor)
    };
    // A factor above 1 is applied before the division, one below 1 after it, so that lanes much smaller than the largest do not
    // lose bits in between.
    let factor = scale(b, y).0;
    let scaled = times(b, y, factor);
    let root = root_of_squares(b, scaled);
    let is_zero = is_zero(b, root);
    let root = b.splat(root, lanes);
    let one = b.fconst(Type::F64, 1.0);
    let (before, after) = (b.float2(Opcode::Fmax, factor, one), b.float2(Opcode::Fmin, factor, one));
    let enlarged = times(b, y, before);
    let quotient = b.float2(Opcode::Fdiv, enlarged, root);
    (times(b, quotient, after), is_zero)
}
