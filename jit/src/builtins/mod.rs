//! The OpenCL.std extended instruction set as kernel IR.
//!
//! The SPIR-V importer calls [`expand()`] for each `OpExtInst` of the set. The result is plain kir, so that built-in functions
//! are vectorized with the kernel. [`table`] lists the operands and the implementation of each of the 162 instructions: one op,
//! or an expansion from `expand/` (exact operations) or `math/` (transcendental functions). `docs/add-a-builtin.md` is the
//! recipe.

mod expand;
pub(crate) mod image;
mod math;
pub(crate) mod pipe;
pub mod table;

use clift_kir::{Builder, Elem, FpFlags, Imm, Opcode, Type, Value};

use table::{BuiltinRow, Math, OperandShape, Strategy};

/// An instruction of the OpenCL.std set.
pub use rspirv::spirv::OpenclStd100Op as ClOp;

/// An operand of an OpenCL.std instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A value; an OpenCL vector is a kir vector.
    Value(Value),
    /// A literal number in the instruction stream (vector sizes, rounding modes).
    Literal(u32),
}

/// The operands of an expansion, literals apart. Their types have been checked against the [`OperandShape`].
pub(crate) struct BuiltinArgs {
    values: Vec<Value>,
    literals: Vec<u32>,
    /// Declared result type; a placeholder `i32` if the instruction has no result.
    result: Type,
}

/// Emits `op` at the builder's cursor and returns its result; `result` is the declared result type, `None` for void.
/// May create blocks: continue at `b.block()`.
///
/// # Errors
/// The reason why the instruction cannot be built, for the build log.
pub fn expand(b: &mut Builder<'_>, op: ClOp, args: &[Operand], result: Option<Type>) -> Result<Option<Value>, String> {
    expand_row(b, op, table::row(op), args, result)
}

/// As [`expand()`] for a sine or cosine whose counterpart is computed of the same angle: what both need is computed alike, so
/// that it is computed once.
///
/// # Errors
/// As [`expand()`].
pub fn expand_paired(
    b: &mut Builder<'_>,
    op: ClOp,
    args: &[Operand],
    result: Option<Type>,
) -> Result<Option<Value>, String> {
    let &BuiltinRow { strategy, shape, accuracy } = table::row(op);
    let strategy = match strategy {
        Strategy::Math(math) => Strategy::Math(math::trig::paired(op, math)),
        Strategy::Op(_) | Strategy::First | Strategy::Nothing | Strategy::Expand(_) => strategy,
    };
    expand_row(b, op, &BuiltinRow { strategy, shape, accuracy }, args, result)
}

fn expand_row(
    b: &mut Builder<'_>,
    op: ClOp,
    row: &BuiltinRow,
    args: &[Operand],
    result: Option<Type>,
) -> Result<Option<Value>, String> {
    let mut values = Vec::new();
    let mut literals = Vec::new();
    for &arg in args {
        match arg {
            Operand::Value(v) => values.push(v),
            Operand::Literal(n) => literals.push(n),
        }
    }
    let mut args = BuiltinArgs { values, literals, result: result.unwrap_or(Type::I32) };
    check(b, row.shape, &mut args).map_err(|reason| format!("OpenCL.std {op:?}: {reason}"))?;
    Ok(apply(b, row, args))
}

/// Emits another instruction as part of an expansion. The operands must have the types of its row.
fn call(b: &mut Builder<'_>, op: ClOp, values: &[Value]) -> Value {
    let args = BuiltinArgs { values: values.to_vec(), literals: Vec::new(), result: b.ty(values[0]) };
    match apply(b, table::row(op), args) {
        Some(value) => value,
        None => unreachable!("broken invariant: {op:?} has no result"),
    }
}

fn apply(b: &mut Builder<'_>, row: &BuiltinRow, args: BuiltinArgs) -> Option<Value> {
    let half = args.values.first().is_some_and(|&v| b.ty(v).elem == Elem::F16);
    if half && matches!(row.strategy, Strategy::Math(_)) {
        return Some(in_single(b, row, args));
    }
    match row.strategy {
        Strategy::Op(op) => {
            let imm = match op.info().imm {
                clift_kir::ops::ImmKind::Fp => Imm::Fp(b.fp_flags()),
                _ => Imm::None,
            };
            Some(b.value(op, &args.values, imm, args.result))
        }
        Strategy::Math(Math { full, fast, double }) => {
            let approximate = args.result.elem == Elem::F32 && b.fp_flags().contains(FpFlags::APPROX);
            let function = match double {
                Some(double) if args.result.elem == Elem::F64 => double,
                Some(_) | None if approximate => fast,
                Some(_) | None => full,
            };
            Some(math::emit(b, function, &args.values))
        }
        Strategy::First => Some(args.values[0]),
        Strategy::Nothing => None,
        Strategy::Expand(build) => build(b, &args),
    }
}

/// A function of halves, computed in floats: with 13 more bits only the final rounding matters.
fn in_single(b: &mut Builder<'_>, row: &BuiltinRow, mut args: BuiltinArgs) -> Value {
    let result = args.result;
    for value in &mut args.values {
        if b.ty(*value).elem == Elem::F16 {
            let wide = b.ty(*value).with_elem(Elem::F32);
            *value = b.convert(Opcode::FptoFp, *value, wide, Default::default());
        }
    }
    args.result = result.with_elem(Elem::F32);
    match apply(b, row, args) {
        Some(value) if b.ty(value).is_float() => b.convert(Opcode::FptoFp, value, result, Default::default()),
        Some(value) => value,
        None => unreachable!("broken invariant: mathematical functions have a result"),
    }
}

/// Checks operands against the instruction's shape. Scalar operands of vector instructions are splatted, as front ends rely on
/// it.
fn check(b: &mut Builder<'_>, shape: OperandShape, args: &mut BuiltinArgs) -> Result<(), String> {
    let result = args.result;
    let (count, class) = match shape {
        OperandShape::Float(n) => (n, Type::is_float as fn(Type) -> bool),
        OperandShape::Int(n) => (n, Type::is_int as fn(Type) -> bool),
        OperandShape::FloatInt => {
            expect_count(args, 2)?;
            splat_scalars(b, &mut args.values[..], result.lanes());
            let int = result.with_elem(Elem::I32);
            let fits = b.ty(args.values[0]) == result && result.is_float() && b.ty(args.values[1]) == int;
            return if fits {
                Ok(())
            } else {
                Err("the operands must be a float and an int with as many components".into())
            };
        }
        OperandShape::FloatToInt => {
            expect_count(args, 1)?;
            let ty = b.ty(args.values[0]);
            let fits = ty.is_float() && result == ty.with_elem(Elem::I32);
            return if fits {
                Ok(())
            } else {
                Err("the operand must be a float, the result an int with as many components".into())
            };
        }
        OperandShape::FloatPointer(n) => {
            expect_count(args, n + 1)?;
            let pointer = b.ty(args.values[n]);
            if !pointer.is_ptr() || pointer.is_vector() {
                return Err("the last operand must be a pointer".into());
            }
            return same(b, &mut args.values[..n], result, Type::is_float);
        }
        OperandShape::Custom(check) => return check(b, args),
    };
    expect_count(args, count)?;
    same(b, &mut args.values, result, class)
}

fn expect_count(args: &BuiltinArgs, count: usize) -> Result<(), String> {
    if args.values.len() == count {
        Ok(())
    } else {
        Err(format!("it takes {count} operands, not {}", args.values.len()))
    }
}

fn splat_scalars(b: &mut Builder<'_>, values: &mut [Value], lanes: u32) {
    for value in values {
        if !b.ty(*value).is_vector() && lanes > 1 && !b.ty(*value).is_ptr() {
            *value = b.splat(*value, lanes);
        }
    }
}

fn same(b: &mut Builder<'_>, values: &mut [Value], ty: Type, class: fn(Type) -> bool) -> Result<(), String> {
    splat_scalars(b, values, ty.lanes());
    if !class(ty) {
        return Err(format!("the result cannot have type {ty}"));
    }
    match values.iter().find(|&&v| b.ty(v) != ty) {
        Some(&v) => Err(format!("an operand has type {}, not {ty}", b.ty(v))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
