//! Calls of OpenCL C's built-in functions.

use std::rc::Rc;

use super::assign::Target;
use super::overloads::Choice;
use crate::builtins::{Function, Lowering, Overload};
use crate::diagnostics::Diagnostic;
use crate::semantics::{Assigning, Checker};
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Expr, ExprKind};
use crate::types::{AddressSpace, FunctionType, QualTy};

impl Checker<'_, '_> {
    /// A call of a built-in function.
    pub(super) fn call_builtin(
        &mut self,
        name: Symbol,
        arguments: &[ast::Expr],
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        let values: Vec<Expr> = arguments.iter().map(|argument| self.expr(argument)).collect();
        let Some(function) = self.builtin_function(name) else { return self.error_value(expr.span) };
        if self.any_error(&values) {
            return self.error_value(expr.span);
        }
        self.call_overload(name, &function, values, callee, expr)
    }

    /// A call of a built-in function by its name, with values.
    pub(super) fn call_overload(
        &mut self,
        name: Symbol,
        function: &Rc<Function>,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        let Some(first) = function.overloads.first() else { return self.error_value(expr.span) };
        match (&first.lowering, values.len()) {
            (Lowering::Bits, 1) => return self.call_as(first, values, expr),
            (Lowering::ToSpace, 1) => return self.call_to_space(name, first, values, expr),
            (Lowering::Printf, _) => return self.call_printf(first, values, callee, name, expr),
            (Lowering::Pipe(op), _) => return self.call_pipe(*op, name, function, values, callee, expr),
            (Lowering::Enqueue(op), _) => return self.call_enqueue(*op, name, function, values, callee, expr),
            _ => {}
        }
        self.call_chosen(name, function, values, callee, expr)
    }

    /// A call of the overload that fits best.
    pub(super) fn call_chosen(
        &mut self,
        name: Symbol,
        function: &Rc<Function>,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        if let [only] = function.overloads.as_slice() {
            return self.call_single(only, name, values, callee, expr);
        }
        let candidates = function.overloads.iter().map(|one| (one.parameters.as_slice(), one.is_variadic));
        match self.choose_overload(candidates, &values) {
            Choice::Best(index) => match function.overloads.get(index) {
                Some(overload) => self.finish_builtin(overload, values, expr.span),
                None => self.error_value(expr.span),
            },
            Choice::Ambiguous(best) => {
                let text = format!("call to '{}' is ambiguous", self.text(name));
                let mut diagnostic = Diagnostic::error(callee, text).range(callee);
                for overload in best.into_iter().take(6).filter_map(|index| function.overloads.get(index)) {
                    diagnostic =
                        diagnostic.note(Span::NONE, format!("candidate function: {}", self.prototype(name, overload)));
                }
                self.report(diagnostic);
                self.error_value(expr.span)
            }
            Choice::None => {
                let text = format!("no matching function for call to '{}'", self.text(name));
                let mut diagnostic = Diagnostic::error(callee, text).range(callee);
                let mut nearest: Vec<&Overload> = function.overloads.iter().collect();
                nearest.sort_by_cached_key(|overload| self.distance(&overload.parameters, &values));
                for overload in nearest.into_iter().take(6) {
                    let reason = self.not_viable(&overload.parameters, overload.is_variadic, &values);
                    let text = format!("candidate function not viable: {reason}: {}", self.prototype(name, overload));
                    diagnostic = diagnostic.note(Span::NONE, text);
                }
                let rest = function.overloads.len().saturating_sub(6);
                if rest > 0 {
                    diagnostic = diagnostic.note(Span::NONE, format!("{rest} more candidates are not shown"));
                }
                self.report(diagnostic);
                self.error_value(expr.span)
            }
        }
    }

    /// How an overload would be declared.
    fn prototype(&self, name: Symbol, overload: &Overload) -> String {
        let mut parameters: Vec<String> = overload.parameters.iter().map(|ty| self.spell(*ty)).collect();
        if overload.is_variadic {
            parameters.push("...".to_owned());
        }
        let result = self.spell(QualTy::plain(overload.result));
        format!("{result} {}({})", self.text(name), parameters.join(", "))
    }

    /// A call of the only overload: arguments are passed as those of any function.
    pub(super) fn call_single(
        &mut self,
        overload: &Overload,
        name: Symbol,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        let ty = FunctionType {
            result: overload.result,
            parameters: overload.parameters.clone(),
            is_variadic: overload.is_variadic,
        };
        let _ = callee;
        let extra = values.get(ty.parameters.len());
        if !self.count_builtin(values.len(), &ty, name, overload, expr, extra) {
            return self.error_value(expr.span);
        }
        self.finish_builtin(overload, values, expr.span)
    }

    fn count_builtin(
        &mut self,
        given: usize,
        ty: &FunctionType,
        name: Symbol,
        overload: &Overload,
        expr: &ast::Expr,
        extra: Option<&Expr>,
    ) -> bool {
        let wanted = ty.parameters.len();
        if given == wanted || given > wanted && ty.is_variadic {
            return true;
        }
        let word = if given < wanted { "few" } else { "many" };
        let at_least = if ty.is_variadic { "at least " } else { "" };
        let text = format!("too {word} arguments to function call, expected {at_least}{wanted}, have {given}");
        let end = Span { lo: expr.span.hi.saturating_sub(1).max(expr.span.lo), ..expr.span };
        let at = extra.filter(|_| given > wanted).map_or(end, |value| value.span);
        let note = format!("'{}' is declared as: {}", self.text(name), self.prototype(name, overload));
        self.report(Diagnostic::error(at, text).note(Span::NONE, note));
        false
    }

    /// Converts the arguments to the types of the overload's parameters.
    pub(super) fn finish_builtin(&mut self, overload: &Overload, values: Vec<Expr>, span: Span) -> Expr {
        let mut passed = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            passed.push(match overload.parameters.get(index) {
                Some(parameter) if self.is_error(parameter.ty) => value,
                Some(parameter) => {
                    let target =
                        Target { ty: *parameter, context: Assigning::Argument, at: value.span, parameter: None };
                    self.convert_to(value, target)
                }
                None => self.promote_argument(value),
            });
        }
        if self.any_error(&passed) {
            return Expr { ty: overload.result, ..self.error_value(span) };
        }
        if let (Lowering::Convert { saturate: false, rounding: None }, [value]) =
            (&overload.lowering, passed.as_slice())
            && (matches!(value.kind, ExprKind::Constant(_)) || value.ty == overload.result)
            && let Some(value) = passed.pop()
        {
            // As a cast is.
            return Expr { span, ..self.convert(value, overload.result) };
        }
        self.make(ExprKind::Builtin(overload.lowering, passed), overload.result, span)
    }

    /// `as_type`, which takes every type of the size.
    fn call_as(&mut self, overload: &Overload, mut values: Vec<Expr>, expr: &ast::Expr) -> Expr {
        let Some(value) = values.pop() else { return self.error_value(expr.span) };
        self.reinterpret(value, overload.result, expr.span, expr.span)
    }

    /// `to_global` and the like: the result points to what the argument points to.
    fn call_to_space(&mut self, name: Symbol, overload: &Overload, mut values: Vec<Expr>, expr: &ast::Expr) -> Expr {
        let Some(value) = values.pop() else { return self.error_value(expr.span) };
        let Some(to) = self.pointee(value.ty).filter(|to| to.quals.space != AddressSpace::Constant) else {
            let text = format!(
                "invalid argument {} to function: '{}', expecting a generic pointer argument",
                self.shown(&value),
                self.text(name)
            );
            self.error(value.span, text);
            return self.error_value(expr.span);
        };
        let space = self.pointee(overload.result).map_or(AddressSpace::Global, |to| to.quals.space);
        let generic = self.module.types.pointer(to.in_space(AddressSpace::Generic));
        let value = self.convert(value, generic);
        let ty = self.module.types.pointer(to.in_space(space));
        Expr { kind: ExprKind::Builtin(overload.lowering, vec![value]), ty, span: expr.span }
    }
}
