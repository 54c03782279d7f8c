//! Contraction: a product in a sum of the same expression is a fused multiply-add, unless `FP_CONTRACT` forbids it.

use spirv::Op;

use crate::builtins::ext;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::tree::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Ty};

/// A product of floats, perhaps negated.
pub(super) struct Product<'e> {
    factors: (&'e Expr, &'e Expr),
    is_negated: bool,
}

/// The factors' values.
pub(super) struct Factors {
    left: Id,
    right: Id,
    is_negated: bool,
}

impl FunctionEmitter<'_, '_> {
    /// The product of floats that an operand of a sum or a difference is, if the two may be contracted.
    pub(super) fn product<'e>(&self, op: BinaryOp, operand: &'e Expr) -> Option<Product<'e>> {
        let is_float = self.module.source.types.lanes(operand.ty).is_some_and(|(scalar, _)| scalar.is_float());
        if !self.contract || !is_float || !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            return None;
        }
        let (product, is_negated) = if let ExprKind::Unary(UnaryOp::Negate, negated) = &operand.kind {
            (&**negated, true)
        } else {
            (operand, false)
        };
        let ExprKind::Binary(BinaryOp::Mul, left, right) = &product.kind else { return None };
        Some(Product { factors: (left, right), is_negated })
    }

    /// Evaluates the factors of a product.
    pub(super) fn factors(&mut self, product: &Product<'_>) -> Factors {
        let (left, right) = (self.value(product.factors.0), self.value(product.factors.1));
        Factors { left, right, is_negated: product.is_negated }
    }

    /// A sum or difference of which one operand is a product; `None` if it is none.
    pub(super) fn contracted(&mut self, op: BinaryOp, left: &Expr, right: &Expr, expr: &Expr) -> Option<Id> {
        if let Some(product) = self.product(op, left) {
            let factors = self.factors(&product);
            let mut summand = self.value(right);
            self.at(expr.span);
            if op == BinaryOp::Sub {
                let ty = self.module.type_id(expr.ty);
                summand = self.op(Op::FNegate, ty, &[summand]);
            }
            return Some(self.multiply_add(&factors, summand, expr.ty));
        }
        let product = self.product(op, right)?;
        let summand = self.value(left);
        let factors = self.factors(&product);
        self.at(expr.span);
        Some(self.add_product(op, summand, factors, expr.ty))
    }

    /// A value plus or minus a product.
    pub(super) fn add_product(&mut self, op: BinaryOp, summand: Id, mut factors: Factors, ty: Ty) -> Id {
        factors.is_negated ^= op == BinaryOp::Sub;
        self.multiply_add(&factors, summand, ty)
    }

    fn multiply_add(&mut self, factors: &Factors, summand: Id, ty: Ty) -> Id {
        // Halves: rounding in single precision first is much cheaper, and `mad` permits it.
        let is_half = self.module.source.types.lanes(ty).is_some_and(|(scalar, _)| scalar == Scalar::Half);
        let ty = self.module.type_id(ty);
        let left = if factors.is_negated { self.op(Op::FNegate, ty, &[factors.left]) } else { factors.left };
        self.ext(if is_half { ext::MAD } else { ext::FMA }, ty, &[left, factors.right, summand])
    }
}
