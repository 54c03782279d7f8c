//! Evaluation of constant expressions, exactly: every operation in its own type.
//!
//! | file | content |
//! |---|---|
//! | `evaluate.rs` | the walk over the typed tree |
//! | `arithmetic.rs` | operations on scalars |
//! | `float.rs` | encodings of floating-point numbers |
//! | `memory.rs` | addresses, and reading constant objects |

mod arithmetic;
mod evaluate;
mod float;
mod memory;

use super::Checker;
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind};
use crate::types::{Scalar, Ty, TypeKind};

/// How deep [`Checker::fold`] looks: the operands were folded before.
const SHALLOW: u32 = 4;

impl Checker<'_, '_> {
    /// The value and type of an integer constant expression. `None` if it is none: an error was reported, in which `what`
    /// (such as `"static assertion expression"`) may say what it is for; it may be empty.
    pub(crate) fn integer_constant(&mut self, expr: &ast::Expr, what: &str) -> Option<(i128, Ty)> {
        let value = self.expr(expr);
        if *self.module.types.kind(value.ty) == TypeKind::Error {
            return None;
        }
        if !self.is_integer(value.ty) {
            let text =
                format!("integer constant expression must have integer type, not {}", self.describe_ty(value.ty));
            self.error(expr.span, text);
            return None;
        }
        match self.evaluate_integer(&value) {
            Some(number) => Some((number, value.ty)),
            None => {
                let text = if what.is_empty() {
                    "expression is not an integer constant expression".to_owned()
                } else {
                    format!("{what} is not an integral constant expression")
                };
                self.error(expr.span, text);
                None
            }
        }
    }

    /// The value of a typed tree, if it is constant. Nothing is reported.
    pub(crate) fn evaluate(&self, expr: &Expr) -> Option<Constant> {
        self.evaluate_within(expr, u32::MAX)
    }

    /// The value of a typed tree as an integer.
    pub(crate) fn evaluate_integer(&self, expr: &Expr) -> Option<i128> {
        let (scalar, 1) = self.module.types.lanes(expr.ty)? else { return None };
        if scalar.is_float() {
            return None;
        }
        let bits = self.evaluate(expr)?.scalar()?;
        Some(arithmetic::integer(bits, scalar))
    }

    /// The tree as a constant if it is a constant of a scalar or a vector; otherwise the tree as it is. The operands should be
    /// folded already.
    pub(crate) fn fold(&self, mut expr: Expr) -> Expr {
        if matches!(expr.kind, ExprKind::Constant(_)) || self.module.types.lanes(expr.ty).is_none() {
            return expr;
        }
        if let Some(constant) = self.evaluate_within(&expr, SHALLOW)
            && !matches!(constant, Constant::Undefined | Constant::Address(_))
        {
            expr.kind = ExprKind::Constant(constant);
        }
        expr
    }

    /// The integer constant of a value and a type.
    pub(crate) fn integer_bits(value: i128, scalar: Scalar) -> u64 {
        arithmetic::wrap(value, scalar)
    }
}

impl Constant {
    /// The bits of a scalar.
    pub(crate) fn scalar(&self) -> Option<u64> {
        match self {
            Constant::Zero => Some(0),
            Constant::Scalar(bits) => Some(*bits),
            Constant::Undefined
            | Constant::Vector(_)
            | Constant::Bytes(_)
            | Constant::Aggregate(_)
            | Constant::Union(..)
            | Constant::Address(_) => None,
        }
    }

    /// The bits of the lanes of a scalar or vector.
    pub(crate) fn lanes(&self, count: u8) -> Option<Vec<u64>> {
        match self {
            Constant::Zero => Some(vec![0; usize::from(count)]),
            Constant::Scalar(bits) if count == 1 => Some(vec![*bits]),
            Constant::Vector(lanes) if lanes.len() == usize::from(count) => Some(lanes.clone()),
            Constant::Undefined
            | Constant::Scalar(_)
            | Constant::Vector(_)
            | Constant::Bytes(_)
            | Constant::Aggregate(_)
            | Constant::Union(..)
            | Constant::Address(_) => None,
        }
    }

    /// The constant of a scalar (one lane) or a vector.
    pub(crate) fn of_lanes(mut lanes: Vec<u64>) -> Constant {
        match lanes.len() {
            1 => Constant::Scalar(lanes.pop().unwrap_or(0)),
            _ => Constant::Vector(lanes),
        }
    }

    /// Number of values in it; bytes count as words.
    pub(crate) fn elements(&self) -> u64 {
        match self {
            Constant::Bytes(bytes) => 1 + bytes.len() as u64 / 8,
            Constant::Aggregate(members) => 1 + members.iter().map(Constant::elements).sum::<u64>(),
            Constant::Union(_, value) => value.elements(),
            Constant::Zero | Constant::Undefined | Constant::Scalar(_) | Constant::Vector(_) | Constant::Address(_) => {
                1
            }
        }
    }

    /// Whether all of it is zero.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Constant::Zero => true,
            Constant::Scalar(bits) => *bits == 0,
            Constant::Vector(lanes) => lanes.iter().all(|bits| *bits == 0),
            Constant::Bytes(bytes) => bytes.iter().all(|byte| *byte == 0),
            Constant::Aggregate(members) => members.iter().all(Constant::is_zero),
            Constant::Union(_, value) => value.is_zero(),
            Constant::Undefined | Constant::Address(_) => false,
        }
    }
}
