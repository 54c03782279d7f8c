//! The OpenCL.std extended instruction set as kernel IR.
//!
//! The SPIR-V importer calls [`expand()`] for each `OpExtInst` of the set; what comes back is plain kir, so builtins widen with the
//! kernel like everything else. [`table`] says for each of the 162 instructions what its operands are and how it is built:
//! one op, or an expansion from `expand/` (exact operations) or `math/` (transcendental functions).

mod expand;
pub(crate) mod image;
mod math;
pub mod table;

use clift_kir::{Builder, Elem, FpFlags, Imm, Opcode, Type, Value};

use table::{Math, Shape, Strategy};

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

/// What an expansion sees: its operands (literals apart), already of the types its [`Shape`] promises.
pub(crate) struct Args {
    values: Vec<Value>,
    literals: Vec<u32>,
    /// Declared result type; a stand-in `i32` when the instruction gives nothing.
    result: Type,
}

/// Emits what `op` does at the builder's cursor and gives its result; `result` is the declared result type, `None` for void.
/// May create blocks: continue at `b.block()`.
///
/// # Errors
/// A reason why the instruction cannot be built, for the build log.
pub fn expand(b: &mut Builder<'_>, op: ClOp, args: &[Operand], result: Option<Type>) -> Result<Option<Value>, String> {
    let row = table::row(op);
    let mut values = Vec::new();
    let mut literals = Vec::new();
    for &arg in args {
        match arg {
            Operand::Value(v) => values.push(v),
            Operand::Literal(n) => literals.push(n),
        }
    }
    let mut args = Args { values, literals, result: result.unwrap_or(Type::I32) };
    check(b, row.shape, &mut args).map_err(|reason| format!("OpenCL.std {op:?}: {reason}"))?;
    Ok(apply(b, row, args))
}

/// An instruction on operands that are what its row says, for expansions that are made of others.
fn call(b: &mut Builder<'_>, op: ClOp, values: &[Value]) -> Value {
    let args = Args { values: values.to_vec(), literals: Vec::new(), result: b.ty(values[0]) };
    match apply(b, table::row(op), args) {
        Some(value) => value,
        None => unreachable!("broken invariant: {op:?} gives no value"),
    }
}

fn apply(b: &mut Builder<'_>, row: &table::Row, args: Args) -> Option<Value> {
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

/// A half function by way of floats: 13 more bits make the last rounding the only one that counts.
fn in_single(b: &mut Builder<'_>, row: &table::Row, mut args: Args) -> Value {
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
        None => unreachable!("broken invariant: mathematical functions give a value"),
    }
}

/// Checks operands against the instruction's shape. Scalars where vectors belong are spread out: front ends leave that to us.
fn check(b: &mut Builder<'_>, shape: Shape, args: &mut Args) -> Result<(), String> {
    let result = args.result;
    let (count, class) = match shape {
        Shape::Float(n) => (n, Type::is_float as fn(Type) -> bool),
        Shape::Int(n) => (n, Type::is_int as fn(Type) -> bool),
        Shape::FloatInt => {
            expect_count(args, 2)?;
            spread(b, &mut args.values[..], result.lanes());
            let int = result.with_elem(Elem::I32);
            let fits = b.ty(args.values[0]) == result && result.is_float() && b.ty(args.values[1]) == int;
            return if fits { Ok(()) } else { Err("operands must be a float and an int of its lanes".into()) };
        }
        Shape::FloatToInt => {
            expect_count(args, 1)?;
            let ty = b.ty(args.values[0]);
            let fits = ty.is_float() && result == ty.with_elem(Elem::I32);
            return if fits {
                Ok(())
            } else {
                Err("the operand must be a float, the result an int of its lanes".into())
            };
        }
        Shape::FloatPointer(n) => {
            expect_count(args, n + 1)?;
            let pointer = b.ty(args.values[n]);
            if !pointer.is_ptr() || pointer.is_vector() {
                return Err("the last operand must be a pointer".into());
            }
            return same(b, &mut args.values[..n], result, Type::is_float);
        }
        Shape::Custom(check) => return check(b, args),
    };
    expect_count(args, count)?;
    same(b, &mut args.values, result, class)
}

fn expect_count(args: &Args, count: usize) -> Result<(), String> {
    if args.values.len() == count {
        Ok(())
    } else {
        Err(format!("{count} operands wanted, {} given", args.values.len()))
    }
}

fn spread(b: &mut Builder<'_>, values: &mut [Value], lanes: u32) {
    for value in values {
        if !b.ty(*value).is_vector() && lanes > 1 && !b.ty(*value).is_ptr() {
            *value = b.splat(*value, lanes);
        }
    }
}

fn same(b: &mut Builder<'_>, values: &mut [Value], ty: Type, class: fn(Type) -> bool) -> Result<(), String> {
    spread(b, values, ty.lanes());
    if !class(ty) {
        return Err(format!("the result cannot be {ty}"));
    }
    match values.iter().find(|&&v| b.ty(v) != ty) {
        Some(&v) => Err(format!("operand of type {} where {ty} belongs", b.ty(v))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
