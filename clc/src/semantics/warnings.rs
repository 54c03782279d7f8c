//! Warnings of statements: values that are not used, bodies that are empty, ends that should not be reached.

use super::Checker;
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind, Stmt};
use crate::types::TypeKind;

impl Checker<'_, '_> {
    /// Warns of `if (condition);`, but not where a macro with an empty expansion is the body.
    pub(super) fn warn_empty_body(&mut self, condition: &ast::Expr, body: &ast::Stmt) {
        // Where the parser went on after an error, an empty statement is longer than its semicolon.
        let is_semicolon = matches!(body.kind, ast::StmtKind::Empty) && body.span.hi == body.span.lo + 1;
        if !is_semicolon || body.span.expansion.0 != 0 {
            return;
        }
        let sources = &self.session.sources;
        let line = |span: Span| sources.location(span).map(|location| location.line);
        let end = Span { lo: sources.outermost(condition.span).hi, ..body.span };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let has_macro = sources.text_between(end.lo, body.span.lo).iter().copied().any(is_name);
        if line(end) == line(body.span) && !has_macro {
            self.warning(body.span, "empty-body", "if statement has empty body");
        }
    }

    /// Warns of a value that has no effect and is not used.
    pub(super) fn warn_unused(&mut self, expr: &ast::Expr, value: &Expr) {
        self.warn_without_effect(expr, value, "expression result unused");
    }

    /// Warns, in these words, of a value that has no effect.
    pub(crate) fn warn_without_effect(&mut self, expr: &ast::Expr, value: &Expr, text: &str) {
        use ast::{BinaryOp, ExprKind as Kind, UnaryOp};
        if matches!(self.module.types.kind(value.ty), TypeKind::Void | TypeKind::Error) {
            return;
        }
        // What a macro produces is often meant for its other uses.
        if expr.span.expansion.0 != 0 {
            return;
        }
        match &expr.kind {
            Kind::Binary(BinaryOp::Equal | BinaryOp::NotEqual, ..) => {
                let word =
                    if matches!(&expr.kind, Kind::Binary(BinaryOp::Equal, ..)) { "equality" } else { "inequality" };
                self.warning(expr.caret, "unused-comparison", format!("{word} comparison result unused"));
            }
            Kind::Binary(BinaryOp::Less | BinaryOp::Greater | BinaryOp::LessEqual | BinaryOp::GreaterEqual, ..) => {
                self.warning(expr.caret, "unused-comparison", "relational comparison result unused");
            }
            Kind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, ..) => {}
            Kind::Binary(..)
            | Kind::Name(_)
            | Kind::Number(_)
            | Kind::Char(_)
            | Kind::Index(..)
            | Kind::Member(..)
            | Kind::Sizeof(_)
            | Kind::Alignof(_)
            | Kind::VecStep(_)
            | Kind::Cast(..)
            | Kind::CastList(..)
            | Kind::Unary(
                UnaryOp::Plus
                | UnaryOp::Minus
                | UnaryOp::Not
                | UnaryOp::LogicalNot
                | UnaryOp::AddressOf
                | UnaryOp::Deref
                | UnaryOp::Real
                | UnaryOp::Imag,
                _,
            ) => {
                let is_volatile = matches!(&value.kind, ExprKind::Load(place) if place.ty.quals.is_volatile);
                if !is_volatile {
                    self.warning(expr.caret, "unused-value", text);
                }
            }
            Kind::Paren(inner) => self.warn_without_effect(inner, value, text),
            Kind::Call(callee, _) => {
                if let ExprKind::Builtin(lowering, arguments) = &value.kind
                    && let Some(attribute) = lowering.attribute()
                    && !arguments.iter().any(|one| matches!(self.module.types.kind(one.ty), TypeKind::Pointer(_)))
                {
                    let text = format!("ignoring return value of function declared with {attribute} attribute");
                    self.warning(callee.span, "unused-value", text);
                }
            }
            Kind::String(_)
            | Kind::FuncName
            | Kind::Unary(
                UnaryOp::PreIncrement | UnaryOp::PreDecrement | UnaryOp::PostIncrement | UnaryOp::PostDecrement,
                _,
            )
            | Kind::Assign(..)
            | Kind::Conditional(..)
            | Kind::Comma(..)
            | Kind::CompoundLiteral(..)
            | Kind::Statements(_)
            | Kind::Generic(..)
            | Kind::Block(..)
            | Kind::Offsetof(..)
            | Kind::TypesCompatible(..)
            | Kind::ChooseExpr(..)
            | Kind::Astype(..)
            | Kind::ConvertVector(..)
            | Kind::ShuffleVector(_)
            | Kind::LabelAddress(_)
            | Kind::Error => {}
        }
    }

    /// Reports a function or block whose end can be reached although it has a result.
    pub(crate) fn check_end(
        &mut self,
        body: &[Stmt],
        result: crate::types::Ty,
        is_noreturn: bool,
        span: Span,
        is_block: bool,
    ) {
        let kind = self.module.types.kind(result);
        // What follows from an error is not worth a warning.
        if self.session.diagnostics.has_errors() && !is_block {
            return;
        }
        let has_result = !matches!(kind, TypeKind::Void | TypeKind::Error);
        if !has_result && !is_noreturn {
            return;
        }
        let end = Span { lo: span.hi.saturating_sub(1).max(span.lo), ..span };
        if !super::flow::falls_through(body, &|id| self.functions.get(id.0 as usize).is_some_and(|f| f.is_noreturn)) {
            return;
        }
        if is_noreturn {
            self.warning(end, "invalid-noreturn", "function declared 'noreturn' should not return");
            return;
        }
        let some = super::flow::returns(body);
        let paths = if some { " in all control paths" } else { "" };
        if is_block {
            self.error(end, format!("non-void block does not return a value{paths}"));
        } else {
            self.warning(end, "return-type", format!("non-void function does not return a value{paths}"));
        }
    }
}

impl Expr {
    /// Whether it is a constant that is true, or false.
    pub(crate) fn truth(&self) -> Option<bool> {
        let ExprKind::Constant(constant) = &self.kind else { return None };
        if let Constant::Scalar(bits) = constant {
            Some(*bits != 0)
        } else {
            (*constant == Constant::Zero).then_some(false)
        }
    }
}
