//! Functions of clang's whose names begin with `__builtin_`, and atomic ones, as far as kernels use them. Most are functions of
//! OpenCL C by another name.

use std::rc::Rc;

use spirv::Op;

use crate::builtins::{self, Environment, Lowering};
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::semantics::{Assigning, Checker, Operand};
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Constant, Conversion, Expr, ExprKind, Place, PlaceKind};
use crate::types::{AddressSpace, Field, Layout, QualTy, Quals, Record, Scalar, Ty, TypeKind};

/// Functions of fixed types: name, function of OpenCL C, parameters, result.
const FIXED: &[(&str, &str, Scalar, Scalar)] = &[
    ("popcount", "popcount", Scalar::UInt, Scalar::Int),
    ("popcountl", "popcount", Scalar::ULong, Scalar::Int),
    ("popcountll", "popcount", Scalar::ULong, Scalar::Int),
    ("clz", "clz", Scalar::UInt, Scalar::Int),
    ("clzl", "clz", Scalar::ULong, Scalar::Int),
    ("clzll", "clz", Scalar::ULong, Scalar::Int),
    ("clzs", "clz", Scalar::UShort, Scalar::Int),
    ("ctz", "ctz", Scalar::UInt, Scalar::Int),
    ("ctzl", "ctz", Scalar::ULong, Scalar::Int),
    ("ctzll", "ctz", Scalar::ULong, Scalar::Int),
    ("ctzs", "ctz", Scalar::UShort, Scalar::Int),
    ("abs", "abs", Scalar::Int, Scalar::Int),
    ("labs", "abs", Scalar::Long, Scalar::Long),
    ("llabs", "abs", Scalar::Long, Scalar::Long),
    ("bitreverse8", "bit_reverse", Scalar::UChar, Scalar::UChar),
    ("bitreverse16", "bit_reverse", Scalar::UShort, Scalar::UShort),
    ("bitreverse32", "bit_reverse", Scalar::UInt, Scalar::UInt),
    ("bitreverse64", "bit_reverse", Scalar::ULong, Scalar::ULong),
    ("rotateleft8", "rotate", Scalar::UChar, Scalar::UChar),
    ("rotateleft16", "rotate", Scalar::UShort, Scalar::UShort),
    ("rotateleft32", "rotate", Scalar::UInt, Scalar::UInt),
    ("rotateleft64", "rotate", Scalar::ULong, Scalar::ULong),
];

/// Functions of `double`s, and with an `f` behind of `float`s, that OpenCL C has by the same name.
const MATH: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];

/// Functions of any type behind `__builtin_elementwise_`: name, function for floats, function for integers.
const ELEMENTWISE: &[(&str, &str, &str)] = &[
    ("abs", "fabs", "abs"),
    ("max", "fmax", "max"),
    ("min", "fmin", "min"),
    ("maxnum", "fmax", ""),
    ("minnum", "fmin", ""),
    ("maximum", "fmax", ""),
    ("minimum", "fmin", ""),
    ("add_sat", "", "add_sat"),
    ("sub_sat", "", "sub_sat"),
    ("popcount", "", "popcount"),
    ("bitreverse", "", "bit_reverse"),
    ("ctzg", "", "ctz"),
    ("clzg", "", "clz"),
    ("ceil", "ceil", ""),
    ("floor", "floor", ""),
    ("round", "round", ""),
    ("roundeven", "rint", ""),
    ("rint", "rint", ""),
    ("nearbyint", "rint", ""),
    ("trunc", "trunc", ""),
    ("sqrt", "sqrt", ""),
    ("sin", "sin", ""),
    ("cos", "cos", ""),
    ("tan", "tan", ""),
    ("asin", "asin", ""),
    ("acos", "acos", ""),
    ("atan", "atan", ""),
    ("atan2", "atan2", ""),
    ("sinh", "sinh", ""),
    ("cosh", "cosh", ""),
    ("tanh", "tanh", ""),
    ("exp", "exp", ""),
    ("exp2", "exp2", ""),
    ("exp10", "exp10", ""),
    ("log", "log", ""),
    ("log2", "log2", ""),
    ("log10", "log10", ""),
    ("pow", "pow", ""),
    ("fmod", "fmod", ""),
    ("fma", "fma", ""),
    ("copysign", "copysign", ""),
];

/// Functions that OpenCL C has by the same name, with overloads.
const SAME: &[&str] = &[
    "isnan",
    "isinf",
    "isfinite",
    "isnormal",
    "signbit",
    "isgreater",
    "isgreaterequal",
    "isless",
    "islessequal",
    "islessgreater",
    "isunordered",
];

/// The operations that tell an overflow: name between a type and `_overflow`, instruction.
const OVERFLOWS: &[(&str, Op)] = &[("add", Op::IAdd), ("sub", Op::ISub), ("mul", Op::IMul)];

/// The types of which they are: beginning and end of the name.
const OVERFLOW_TYPES: &[(&str, &str, Scalar)] = &[
    ("s", "", Scalar::Int),
    ("s", "l", Scalar::Long),
    ("s", "ll", Scalar::Long),
    ("u", "", Scalar::UInt),
    ("u", "l", Scalar::ULong),
    ("u", "ll", Scalar::ULong),
];

/// The instruction of an operation that tells an overflow, and its type if the name says it: `smull_overflow`, `add_overflow`.
fn overflow(short: &str) -> Option<(Op, Option<Scalar>)> {
    let name = short.strip_suffix("_overflow")?;
    if let Some((_, op)) = OVERFLOWS.iter().find(|row| row.0 == name) {
        return Some((*op, None));
    }
    OVERFLOW_TYPES.iter().find_map(|(before, behind, scalar)| {
        let name = name.strip_prefix(before)?;
        let (_, op) = OVERFLOWS.iter().find(|(one, _)| name.strip_prefix(one) == Some(behind))?;
        Some((*op, Some(*scalar)))
    })
}

/// Beginnings of the names: all functions, and the atomic ones of OpenCL's types and of plain ones.
const PREFIXES: &[&str] = &["__builtin_", "__opencl_atomic_", "__atomic_"];

/// Whether a name is for a function of clang's.
pub(super) fn is_name(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a type is an integer, and not `bool`.
fn is_whole_number(scalar: Scalar) -> bool {
    scalar.is_integer() && scalar != Scalar::Bool
}

impl Checker<'_, '_> {
    /// `__builtin_name(...)`
    pub(super) fn compiler_builtin(
        &mut self,
        name: Symbol,
        arguments: &[ast::Expr],
        callee: Span,
        expr: &ast::Expr,
    ) -> Operand {
        let full = self.text(name).to_owned();
        let values: Vec<Expr> = arguments.iter().map(|argument| self.expr(argument)).collect();
        if self.any_error(&values) {
            return Operand::Value(self.error_value(expr.span));
        }
        Operand::Value(if let Some(short) = full.strip_prefix("__builtin_") {
            self.compiler_builtin_value(short, values, callee, expr)
        } else {
            self.atomic_builtin(&full, values, callee, expr)
        })
    }

    /// `__opencl_atomic_name(...)`, and `__atomic_name(...)` on objects that are not of an atomic type.
    fn atomic_builtin(&mut self, full: &str, mut values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        let name = if let Some(rest) = full.strip_prefix("__opencl_atomic_") {
            if rest == "init" { "atomic_init".to_owned() } else { format!("atomic_{rest}_explicit") }
        } else {
            let rest = full.strip_prefix("__atomic_").unwrap_or("");
            let rest = rest.strip_suffix("_n").unwrap_or(rest);
            if rest == "compare_exchange" && values.len() == 6 {
                // Whether it may fail for no reason.
                values.remove(3);
            }
            if let Some(first) = values.first_mut()
                && let TypeKind::Pointer(to) = *self.module.types.kind(first.ty)
                && !matches!(self.module.types.kind(to.ty), TypeKind::Atomic(_))
            {
                let atomic = self.module.types.intern(TypeKind::Atomic(to.ty));
                let pointer = self.module.types.pointer(QualTy { ty: atomic, ..to });
                let span = first.span;
                let taken = std::mem::replace(first, self.error_value(span));
                let pointer = self.convert(taken, pointer);
                if let Some(first) = values.first_mut() {
                    *first = pointer;
                }
            }
            let strong = if rest == "compare_exchange" { "_strong" } else { "" };
            format!("atomic_{rest}{strong}_explicit")
        };
        self.call_newest(&name, values, callee, expr)
    }

    fn compiler_builtin_value(&mut self, short: &str, values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        if let Some((_, function, parameter, result)) = FIXED.iter().find(|row| row.0 == short) {
            return self.fixed(function, *parameter, *result, values, callee, expr);
        }
        if let Some(name) = short.strip_prefix("elementwise_") {
            return self.elementwise(name, values, callee, expr);
        }
        let (base, scalar) = match short.strip_suffix('f') {
            Some(base) if MATH.contains(&base) => (base, Scalar::Float),
            _ => (short, Scalar::Double),
        };
        if MATH.contains(&base) {
            return self.fixed(base, scalar, scalar, values, callee, expr);
        }
        if SAME.contains(&short) {
            return self.call_newest(short, values, callee, expr);
        }
        match (short, values.as_slice()) {
            ("expect", [_, _]) | ("expect_with_probability", [_, _, _]) => {
                let long = self.scalar_ty(Scalar::Long);
                let mut values = values;
                values.truncate(1);
                match values.pop() {
                    Some(value) => self.convert_assign(value, long, Assigning::Argument),
                    None => self.error_value(expr.span),
                }
            }
            ("assume", [_]) => {
                let truths = values.into_iter().map(|value| self.truth(value)).collect();
                self.lowered(Lowering::Assume, truths, expr.span)
            }
            // A kernel cannot end its program: what follows a trap does not take place.
            ("unreachable" | "trap", []) => self.lowered(Lowering::Unreachable, Vec::new(), expr.span),
            ("debugtrap", []) | ("assume_separate_storage", [_, _]) => self.nothing(expr.span),
            ("prefetch", [_, ..]) => self.nothing(expr.span),
            ("constant_p", [value]) => {
                let is_constant = matches!(value.kind, ExprKind::Constant(_));
                self.int_constant(i32::from(is_constant), expr.span)
            }
            ("object_size" | "dynamic_object_size", [_, kind]) => {
                let unknown = if matches!(self.constant_integer(kind), Some(2 | 3)) { 0 } else { u64::MAX };
                self.size_constant(unknown, expr.span)
            }
            (_, [_, _, _]) if let Some((op, scalar)) = overflow(short) => {
                self.overflow(short, op, scalar, values, expr)
            }
            ("bswap16" | "bswap32" | "bswap64", [_]) => self.byte_swap(short, values, expr),
            ("inff" | "huge_valf", []) => self.scalar_constant(Scalar::Float, 0x7f80_0000, expr.span),
            ("inf" | "huge_val", []) => self.scalar_constant(Scalar::Double, 0x7ff0_0000_0000_0000, expr.span),
            ("nanf", [_]) => self.scalar_constant(Scalar::Float, 0x7fc0_0000, expr.span),
            ("nan", [_]) => self.scalar_constant(Scalar::Double, 0x7ff8_0000_0000_0000, expr.span),
            ("memcpy" | "memmove" | "memcpy_inline", [_, _, _]) => self.copy_memory(values, callee, expr),
            ("memset" | "memset_inline", [_, _, _]) => self.set_memory(values, callee, expr),
            _ => {
                let text = format!("use of undeclared identifier '__builtin_{short}'");
                self.error(callee, text);
                self.error_value(expr.span)
            }
        }
    }

    /// A call without a result of a function that has no signature in the table.
    fn lowered(&self, lowering: Lowering, values: Vec<Expr>, span: Span) -> Expr {
        Expr { kind: ExprKind::Builtin(lowering, values), ty: self.module.types.void(), span }
    }

    /// A value of type `void` without effects.
    fn nothing(&mut self, span: Span) -> Expr {
        let (zero, void) = (self.int_constant(0, span), self.module.types.void());
        Expr { kind: ExprKind::Convert(Conversion::Discard, Box::new(zero)), ty: void, span }
    }

    /// A call of a function of OpenCL C, whatever the version that is compiled for.
    fn call_newest(&mut self, name: &str, values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        let options = self.session.options;
        let environment = Environment { version: Version::V3_0, profile: &options.profile };
        let found = builtins::find(name, environment, &mut self.module.types);
        let symbol = self.session.names.intern(name);
        match found {
            Some(function) if !function.overloads.is_empty() => {
                self.call_overload(symbol, &Rc::new(function), values, callee, expr)
            }
            _ => {
                let text = format!("the device has no function '{name}', which this one needs");
                self.error(callee, text);
                self.error_value(expr.span)
            }
        }
    }

    fn fixed(
        &mut self,
        function: &str,
        parameter: Scalar,
        result: Scalar,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        let (parameter, result) = (self.scalar_ty(parameter), self.scalar_ty(result));
        let values =
            values.into_iter().map(|value| self.convert_assign(value, parameter, Assigning::Argument)).collect();
        let value = self.call_newest(function, values, callee, expr);
        self.convert(value, result)
    }

    fn elementwise(&mut self, name: &str, values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        let row = ELEMENTWISE.iter().find(|row| row.0 == name);
        let first = values.first().map(|value| value.ty);
        let (Some((_, of_floats, of_integers)), Some(ty)) = (row, first) else {
            let text = format!("use of undeclared identifier '__builtin_elementwise_{name}'");
            self.error(callee, text);
            return self.error_value(expr.span);
        };
        let Some((scalar, _)) = self.lanes(ty) else {
            let text = format!(
                "1st argument must be a scalar or vector of arithmetic types (was {})",
                values.first().map(|value| self.shown(value)).unwrap_or_default()
            );
            self.error(expr.span, text);
            return self.error_value(expr.span);
        };
        let function = if scalar.is_float() { of_floats } else { of_integers };
        if function.is_empty() {
            let text = format!(
                "1st argument of '__builtin_elementwise_{name}' has an invalid type (was {})",
                self.describe_ty(ty)
            );
            self.error(expr.span, text);
            return self.error_value(expr.span);
        }
        let values: Vec<Expr> =
            values.into_iter().map(|value| self.convert_assign(value, ty, Assigning::Argument)).collect();
        if self.any_error(&values) {
            return self.error_value(expr.span);
        }
        let value = self.call_newest(function, values, callee, expr);
        self.convert(value, ty)
    }

    /// `__builtin_add_overflow(left, right, &result)` and the like: whether the result is not the one that its type has room
    /// for. `fixed` is the type that the name says.
    fn overflow(&mut self, short: &str, op: Op, fixed: Option<Scalar>, values: Vec<Expr>, expr: &ast::Expr) -> Expr {
        let result = values.last().and_then(|pointer| self.pointee(pointer.ty));
        let result = result.filter(|to| !to.quals.is_const && to.quals.space != AddressSpace::Constant);
        let result = result.and_then(|to| self.scalar_of(to.ty)).filter(|scalar| is_whole_number(*scalar));
        let operands = values.iter().take(2).map(|value| self.scalar_of(value.ty).filter(|one| is_whole_number(*one)));
        let (Some(result), Some(operands)) = (result, operands.collect::<Option<Vec<Scalar>>>()) else {
            let text =
                format!("'__builtin_{short}' needs two integers and a pointer to an integer that is not constant");
            self.error(expr.span, text);
            return self.error_value(expr.span);
        };
        let fits = |from: &Scalar| {
            *from == result || from.bytes() < result.bytes() && (!from.is_signed() || result.is_signed())
        };
        let of = match fixed {
            Some(scalar) => scalar,
            None if operands.iter().all(fits) => result,
            // Exact: products of two unsigned numbers may need the last bit.
            None if operands.iter().all(|scalar| scalar.bytes() <= 4) => {
                let unsigned = op == Op::IMul && operands.iter().all(|scalar| !scalar.is_signed());
                if unsigned { Scalar::ULong } else { Scalar::Long }
            }
            None => {
                let text = format!("operands of '__builtin_{short}' must have 32 bits at most, or fit into the result");
                self.error(expr.span, text);
                return self.error_value(expr.span);
            }
        };
        let ty = self.scalar_ty(of);
        let convert = |(index, value): (usize, Expr)| if index < 2 { self.convert(value, ty) } else { value };
        let values = values.into_iter().enumerate().map(convert).collect();
        let truth = self.scalar_ty(Scalar::Bool);
        Expr { kind: ExprKind::Builtin(Lowering::Overflow(op), values), ty: truth, span: expr.span }
    }

    /// The bytes of an integer in the other order: those of a vector of bytes.
    fn byte_swap(&mut self, name: &str, mut values: Vec<Expr>, expr: &ast::Expr) -> Expr {
        let scalar = match name {
            "bswap16" => Scalar::UShort,
            "bswap32" => Scalar::UInt,
            _ => Scalar::ULong,
        };
        let Some(value) = values.pop() else { return self.error_value(expr.span) };
        let lanes = scalar.bytes() as u8;
        let (ty, bytes) = (self.scalar_ty(scalar), self.module.types.vector(Scalar::UChar, lanes));
        let value = self.convert_assign(value, ty, Assigning::Argument);
        let value = self.reinterpret(value, bytes, expr.span, expr.span);
        let value = self.make(ExprKind::Swizzle(Box::new(value), (0..lanes).rev().collect()), bytes, expr.span);
        self.reinterpret(value, ty, expr.span, expr.span)
    }

    /// A record of so many bytes, as which memory is copied.
    fn bytes_type(&mut self, count: u64, span: Span) -> Ty {
        let byte = QualTy::plain(self.scalar_ty(Scalar::Char));
        let array = self.module.types.intern(TypeKind::Array(byte, Some(count)));
        let field = Field { name: None, ty: QualTy::plain(array), offset: 0, align: None, span };
        let id = self.module.types.add_record(Record {
            is_union: false,
            name: None,
            fields: vec![field],
            is_complete: true,
            is_packed: false,
            align: None,
            layout: Layout { size: count, align: 1 },
            depth: 1,
            span,
        });
        self.module.types.intern(TypeKind::Record(id))
    }

    /// What a pointer points to, as a record of bytes.
    fn bytes_place(&mut self, pointer: Expr, bytes: Ty) -> Place {
        let space = self.pointee(pointer.ty).map_or_else(Default::default, |to| to.quals.space);
        let ty = QualTy { ty: bytes, quals: Quals { space, ..Quals::default() } };
        let to = self.module.types.pointer(ty);
        let span = pointer.span;
        let pointer = self.convert(pointer, to);
        Place { kind: PlaceKind::Deref(Box::new(pointer)), ty, span }
    }

    /// The constant number of bytes of a copy.
    fn byte_count(&mut self, count: &Expr) -> Option<u64> {
        let number = self.constant_integer(count).and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| *number <= crate::limits::CONSTANT_ELEMENTS);
        if number.is_none() {
            self.report(Diagnostic::error(count.span, "the number of bytes must be a constant"));
        }
        number
    }

    /// `memcpy(to, from, n)`
    fn copy_memory(&mut self, mut values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        let (Some(count), Some(from), Some(to)) = (values.pop(), values.pop(), values.pop()) else {
            return self.error_value(expr.span);
        };
        let Some(count) = self.byte_count(&count) else { return self.error_value(expr.span) };
        if !self.are_pointers(&[&to, &from], callee) {
            return self.error_value(expr.span);
        }
        let bytes = self.bytes_type(count, expr.span);
        let target = self.bytes_place(to, bytes);
        let source = self.bytes_place(from, bytes);
        let value = self.load(source);
        self.store_bytes(target, value, count, expr.span)
    }

    /// `memset(to, value, n)` of a constant.
    fn set_memory(&mut self, mut values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        let (Some(count), Some(value), Some(to)) = (values.pop(), values.pop(), values.pop()) else {
            return self.error_value(expr.span);
        };
        let Some(count) = self.byte_count(&count) else { return self.error_value(expr.span) };
        let Some(byte) = self.constant_integer(&value) else {
            self.error(value.span, "the value must be a constant");
            return self.error_value(expr.span);
        };
        if !self.are_pointers(&[&to], callee) {
            return self.error_value(expr.span);
        }
        let bytes = self.bytes_type(count, expr.span);
        let target = self.bytes_place(to, bytes);
        let constant = match byte as u8 {
            0 => Constant::Zero,
            byte => Constant::Aggregate(vec![Constant::Bytes(vec![byte; count as usize])]),
        };
        let value = Expr { kind: ExprKind::Constant(constant), ty: bytes, span: expr.span };
        self.store_bytes(target, value, count, expr.span)
    }

    fn are_pointers(&mut self, values: &[&Expr], callee: Span) -> bool {
        let all = values.iter().all(|value| self.pointee(value.ty).is_some());
        if !all {
            self.error(callee, "the arguments must be pointers");
        }
        all
    }

    fn store_bytes(&mut self, target: Place, value: Expr, count: u64, span: Span) -> Expr {
        if count == 0 {
            return self.nothing(span);
        }
        let (ty, void) = (value.ty, self.module.types.void());
        let stored = Expr { kind: ExprKind::Assign(Box::new(target), Box::new(value)), ty, span };
        self.convert(stored, void)
    }
}
