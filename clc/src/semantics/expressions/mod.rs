//! Expressions, conversions, overloads, calls.
//!
//! | file | concern |
//! |---|---|
//! | `literals.rs`, `float_text.rs` | numbers, characters, strings |
//! | `names.rs` | names, and what may have been meant |
//! | `convert.rs` | conversions as nodes, promotions, common types |
//! | `assign.rs` | implicit conversion as if by assignment |
//! | `unary.rs`, `binary.rs`, `compare.rs`, `assignment.rs` | operators |
//! | `casts.rs` | casts and vector literals |
//! | `members.rs` | members, components, elements |
//! | `special.rs` | `sizeof`, `_Generic`, and operators of GNU C that look like functions |
//! | `calls.rs`, `overloads.rs`, `builtin_calls.rs` | calls |
//! | `compiler_builtins.rs`, `printf.rs` | functions of clang's, and `printf` |
//! | `pipes.rs`, `enqueue.rs` | functions whose parameters depend on the pipe or the block |

mod assign;
mod assignment;
mod binary;
mod builtin_calls;
mod calls;
mod casts;
mod compare;
mod compiler_builtins;
mod convert;
mod enqueue;
mod float_text;
mod literals;
mod members;
mod names;
mod overloads;
mod pipes;
mod printf;
mod special;
#[cfg(test)]
mod tests;
mod unary;

use super::{Checker, Operand};
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind};

impl Checker<'_, '_> {
    /// The value of an expression: places are read, arrays and functions have become pointers.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        let operand = self.operand(expr);
        self.value(operand, expr.span)
    }

    /// The value of an operand.
    pub(crate) fn value(&mut self, operand: Operand, span: Span) -> Expr {
        match operand {
            Operand::Value(value) => value,
            Operand::Place(place) => self.load(place),
            Operand::Functions(_) | Operand::Builtin(_) => {
                self.error(span, "taking address of function is not allowed");
                self.error_value(span)
            }
        }
    }

    /// An expression before it is used.
    pub(crate) fn operand(&mut self, expr: &ast::Expr) -> Operand {
        // Behind the last error that is reported nothing is worth a look.
        if self.session.diagnostics.is_full() || !self.enter(expr.span) {
            return Operand::Value(self.error_value(expr.span));
        }
        let operand = self.operand_inner(expr);
        self.leave();
        operand
    }

    fn operand_inner(&mut self, expr: &ast::Expr) -> Operand {
        use ast::ExprKind as Kind;
        let span = expr.span;
        Operand::Value(match &expr.kind {
            Kind::Name(name) => return self.name(*name, span),
            Kind::Number(spelling) => self.number(*spelling, span),
            Kind::Char(spelling) => self.character(*spelling, span),
            Kind::String(parts) => return self.string(parts, span),
            Kind::FuncName => return self.function_name(span),
            Kind::Paren(inner) => return self.operand(inner),
            Kind::Index(base, index) => return self.index(base, index, expr),
            Kind::Call(callee, arguments) => return self.call(callee, arguments, expr),
            Kind::Member(base, name, arrow) => return self.member(base, *name, *arrow, expr),
            Kind::Unary(op, inner) => return self.unary(*op, inner, expr),
            Kind::Binary(op, left, right) => self.binary(*op, left, right, expr),
            Kind::Assign(op, left, right) => self.assignment(*op, left, right, expr),
            Kind::Conditional(condition, then, otherwise) => {
                self.conditional(condition, then.as_deref(), otherwise, expr)
            }
            Kind::Comma(left, right) => self.comma(left, right, expr),
            Kind::Cast(name, inner) => self.cast(name, inner, expr),
            Kind::CastList(name, items) => self.cast_list(name, items, expr),
            Kind::CompoundLiteral(name, list) => return self.compound_literal(name, list, span),
            Kind::Sizeof(what) => self.size_of(what, expr),
            Kind::Alignof(what) => self.align_of(what, expr),
            Kind::VecStep(what) => self.vec_step(what, expr),
            Kind::Statements(block) => self.statement_expression(block),
            Kind::Generic(control, choices) => return self.generic(control, choices, expr),
            Kind::Block(ty, body) => self.block_literal(ty.as_deref(), body, span),
            Kind::Offsetof(name, way) => self.offset_of(name, way, expr),
            Kind::TypesCompatible(a, b) => self.types_compatible(a, b, expr),
            Kind::ChooseExpr(condition, a, b) => return self.choose(condition, a, b, expr),
            Kind::Astype(inner, name) => self.astype(inner, name, expr),
            Kind::ConvertVector(inner, name) => self.convert_vector(inner, name, expr),
            Kind::ShuffleVector(items) => self.shuffle_vector(items, expr),
            Kind::LabelAddress(_) => {
                self.error(span, "the address of a label is not supported in OpenCL C");
                self.error_value(span)
            }
            Kind::Error => self.error_value(span),
        })
    }

    /// The value of an expression with an error.
    pub(crate) fn error_value(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Constant(Constant::Undefined), ty: self.module.types.error(), span }
    }
}
