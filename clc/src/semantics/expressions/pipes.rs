//! Calls of the functions of pipes: what they take depends on the pipe.

use std::rc::Rc;

use crate::builtins::{Function, Overload, PipeOp};
use crate::semantics::Checker;
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Expr, ExprKind};
use crate::types::{Access, QualTy, Scalar, Ty, TypeKind};

/// How an operation accesses its pipe; `None` if both ways are right.
fn access(op: PipeOp) -> Option<Access> {
    match op {
        PipeOp::Read
        | PipeOp::ReserveRead
        | PipeOp::CommitRead
        | PipeOp::WorkGroupReserveRead
        | PipeOp::WorkGroupCommitRead
        | PipeOp::SubGroupReserveRead
        | PipeOp::SubGroupCommitRead => Some(Access::ReadOnly),
        PipeOp::Write
        | PipeOp::ReserveWrite
        | PipeOp::CommitWrite
        | PipeOp::WorkGroupReserveWrite
        | PipeOp::WorkGroupCommitWrite
        | PipeOp::SubGroupReserveWrite
        | PipeOp::SubGroupCommitWrite => Some(Access::WriteOnly),
        PipeOp::IsValidReserveId | PipeOp::NumPackets | PipeOp::MaxPackets => None,
    }
}

impl Checker<'_, '_> {
    /// A call of a function of pipes.
    pub(super) fn call_pipe(
        &mut self,
        op: PipeOp,
        name: Symbol,
        function: &Rc<Function>,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        let Some(first) = function.overloads.first() else { return self.error_value(expr.span) };
        if op == PipeOp::IsValidReserveId {
            return self.call_single(first, name, values, callee, expr);
        }
        let fits = |one: &&Overload| one.parameters.len() == values.len();
        let Some(overload) = function.overloads.iter().find(fits) else {
            if function.overloads.len() == 1 {
                return self.call_single(first, name, values, callee, expr);
            }
            let text = format!("invalid number of arguments to function: '{}'", self.text(name));
            self.error(callee, text);
            return self.error_value(expr.span);
        };
        let pipe = values.first().map(|value| self.kind(value.ty).clone());
        let Some(TypeKind::Pipe(packet, given)) = pipe else {
            let text = format!("first argument to '{}' must be a pipe type", self.text(name));
            self.error(callee, text);
            return self.error_value(expr.span);
        };
        if let Some(wanted) = access(op)
            && wanted != given
        {
            let word = if wanted == Access::ReadOnly { "read_only" } else { "write_only" };
            let at = values.first().map_or(callee, |value| value.span);
            self.error(at, format!("invalid pipe access modifier (expecting {word})"));
            return self.error_value(expr.span);
        }
        let mut passed = Vec::with_capacity(values.len());
        let last = values.len().saturating_sub(1);
        for (index, (value, parameter)) in values.into_iter().zip(&overload.parameters).enumerate() {
            let is_packet = index == last && matches!(op, PipeOp::Read | PipeOp::Write);
            passed.push(match index {
                0 => value,
                _ if is_packet => match self.packet(value, packet, name, callee) {
                    Some(value) => value,
                    None => return self.error_value(expr.span),
                },
                _ => match self.pipe_argument(value, parameter.ty, name, callee) {
                    Some(value) => value,
                    None => return self.error_value(expr.span),
                },
            });
        }
        Expr { kind: ExprKind::Builtin(overload.lowering, passed), ty: overload.result, span: expr.span }
    }

    fn wrong_pipe_argument(&mut self, name: Symbol, wanted: &str, value: &Expr, callee: Span) {
        let text = format!(
            "invalid argument type to function '{}' (expecting '{wanted}' having {})",
            self.text(name),
            self.shown(value)
        );
        self.error(callee, text);
    }

    /// The pointer to a packet.
    fn packet(&mut self, value: Expr, packet: Ty, name: Symbol, callee: Span) -> Option<Expr> {
        if self.pointee(value.ty).is_some_and(|to| self.is_compatible(to.ty, packet)) {
            return Some(value);
        }
        let wanted = format!("{} *", self.spell(QualTy::plain(packet)));
        self.wrong_pipe_argument(name, &wanted, &value, callee);
        None
    }

    /// A reservation, a number of packets, or an index.
    fn pipe_argument(&mut self, value: Expr, to: Ty, name: Symbol, callee: Span) -> Option<Expr> {
        if value.ty == to {
            return Some(value);
        }
        let is_integer = |ty: Ty| self.scalar_of(ty).is_some_and(Scalar::is_integer);
        if is_integer(value.ty) && is_integer(to) {
            return Some(self.convert(value, to));
        }
        let wanted = if is_integer(to) { "unsigned int".to_owned() } else { self.spell(QualTy::plain(to)) };
        self.wrong_pipe_argument(name, &wanted, &value, callee);
        None
    }
}
