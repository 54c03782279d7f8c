//! Calls: of functions of the program, of blocks, of built-in functions.

use super::assign::Target;
use super::overloads::Choice;
use crate::diagnostics::Diagnostic;
use crate::semantics::{Assigning, Checker, Operand};
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Expr, ExprKind, FunctionId};
use crate::types::{FunctionType, QualTy, Scalar, TypeKind};

impl Checker<'_, '_> {
    /// `f(...)`
    pub(super) fn call(&mut self, callee: &ast::Expr, arguments: &[ast::Expr], expr: &ast::Expr) -> Operand {
        let mut operand = self.operand(callee);
        if let Operand::Functions(functions) = operand {
            operand = self.redeclared_printf(functions);
        }
        if let Operand::Builtin(name) = operand {
            if super::compiler_builtins::is_name(self.text(name)) {
                return self.compiler_builtin(name, arguments, callee.span, expr);
            }
            return Operand::Value(self.call_builtin(name, arguments, callee.span, expr));
        }
        let values: Vec<Expr> = arguments.iter().map(|argument| self.expr(argument)).collect();
        Operand::Value(if let Operand::Functions(functions) = operand {
            self.call_functions(&functions, values, callee.span, expr)
        } else {
            let value = self.value(operand, callee.span);
            self.call_value(value, values, expr)
        })
    }

    /// A program's own declaration of `printf` is one of the built-in function.
    fn redeclared_printf(&mut self, functions: Vec<FunctionId>) -> Operand {
        if let [id] = functions.as_slice()
            && let Some(function) = self.module.functions.get(id.0 as usize)
            && function.body.is_none()
            && self.text(function.name) == "printf"
        {
            return Operand::Builtin(function.name);
        }
        Operand::Functions(functions)
    }

    /// Whether an argument has an error, so that nothing is said of the call.
    pub(super) fn any_error(&self, values: &[Expr]) -> bool {
        values.iter().any(|value| self.is_error(value.ty))
    }

    fn call_value(&mut self, callee: Expr, values: Vec<Expr>, expr: &ast::Expr) -> Expr {
        if self.is_error(callee.ty) {
            return self.error_value(expr.span);
        }
        let TypeKind::BlockPointer(function) = *self.kind(callee.ty) else {
            let text =
                format!("called object type {} is not a function or function pointer", self.describe_ty(callee.ty));
            self.report(Diagnostic::error(callee.span, text));
            return self.error_value(expr.span);
        };
        let TypeKind::Function(ty) = self.kind(function).clone() else { return self.error_value(expr.span) };
        if self.any_error(&values) {
            return Expr { ty: ty.result, ..self.error_value(expr.span) };
        }
        match self.count_arguments(values.len(), &ty, "block", None, expr, values.get(ty.parameters.len())) {
            false => self.error_value(expr.span),
            true => {
                let values = self.pass(values, &ty, &[]);
                Expr { kind: ExprKind::BlockCall(Box::new(callee), values), ty: ty.result, span: expr.span }
            }
        }
    }

    fn call_functions(&mut self, functions: &[FunctionId], values: Vec<Expr>, callee: Span, expr: &ast::Expr) -> Expr {
        let id = match functions {
            [] => return self.error_value(expr.span),
            [only] => *only,
            several => {
                if self.any_error(&values) {
                    return self.error_value(expr.span);
                }
                match self.choose_function(several, &values, callee) {
                    Some(id) => id,
                    None => return self.error_value(expr.span),
                }
            }
        };
        let Some(info) = self.functions.get(id.0 as usize) else { return self.error_value(expr.span) };
        let ty = info.ty;
        let (deprecated, unavailable) = (info.deprecated.clone(), info.unavailable.clone());
        let TypeKind::Function(ty) = self.kind(ty).clone() else { return self.error_value(expr.span) };
        let Some(function) = self.module.functions.get(id.0 as usize) else { return self.error_value(expr.span) };
        let (name, declared) = (function.name, function.span);
        if let Some(message) = unavailable {
            let text = with_message(format!("'{}' is unavailable", self.text(name)), &message);
            let note = format!("'{}' has been explicitly marked unavailable here", self.text(name));
            self.report(Diagnostic::error(callee, text).note(declared, note));
        } else if let Some(message) = deprecated {
            let text = with_message(format!("'{}' is deprecated", self.text(name)), &message);
            let note = format!("'{}' has been explicitly marked deprecated here", self.text(name));
            self.report(Diagnostic::warning(callee, "deprecated-declarations", text).note(declared, note));
        }
        self.record_call(id, callee);
        let result = ty.result;
        if self.any_error(&values) {
            return self.error_value(expr.span);
        }
        let extra = values.get(ty.parameters.len());
        if !self.count_arguments(values.len(), &ty, "function", Some((name, declared)), expr, extra) {
            return self.error_value(expr.span);
        }
        let parameters: Vec<(Option<Symbol>, Span)> = match self.module.functions.get(id.0 as usize) {
            Some(function) => {
                function.locals.iter().take(ty.parameters.len()).map(|local| (local.name, local.span)).collect()
            }
            None => Vec::new(),
        };
        let values = self.pass(values, &ty, &parameters);
        if self.any_error(&values) {
            return Expr { ty: result, ..self.error_value(expr.span) };
        }
        Expr { kind: ExprKind::Call(id, values), ty: result, span: expr.span }
    }

    fn choose_function(&mut self, functions: &[FunctionId], values: &[Expr], callee: Span) -> Option<FunctionId> {
        let mut types = Vec::with_capacity(functions.len());
        for id in functions {
            let ty = self.functions.get(id.0 as usize).map(|info| info.ty)?;
            let TypeKind::Function(ty) = self.kind(ty) else { return None };
            types.push(ty.clone());
        }
        let candidates = types.iter().map(|ty| (ty.parameters.as_slice(), ty.is_variadic));
        let (text, listed, note): (_, Vec<usize>, _) = match self.choose_overload(candidates, values) {
            Choice::Best(index) => return functions.get(index).copied(),
            Choice::Ambiguous(best) => ("is ambiguous", best, "candidate function"),
            Choice::None => ("", (0..functions.len()).collect(), "candidate function not viable"),
        };
        let first = functions.first().and_then(|id| self.module.functions.get(id.0 as usize))?;
        let name = self.text(first.name);
        let text = if text.is_empty() {
            format!("no matching function for call to '{name}'")
        } else {
            format!("call to '{name}' {text}")
        };
        let mut diagnostic = Diagnostic::error(callee, text).range(callee);
        for index in listed.into_iter().take(8) {
            let (Some(id), Some(ty)) = (functions.get(index), types.get(index)) else { continue };
            let Some(function) = self.module.functions.get(id.0 as usize) else { continue };
            let reason = match note {
                "candidate function" => String::new(),
                _ => format!(": {}", self.not_viable(&ty.parameters, ty.is_variadic, values)),
            };
            diagnostic = diagnostic.note(function.span, format!("{note}{reason}"));
        }
        self.report(diagnostic);
        None
    }

    /// Why a candidate cannot be called.
    pub(super) fn not_viable(&self, parameters: &[QualTy], is_variadic: bool, values: &[Expr]) -> String {
        if values.len() != parameters.len() {
            let at_least = if is_variadic { "at least " } else { "" };
            let plural = if parameters.len() == 1 { "" } else { "s" };
            let given = match values.len() {
                0 => "none were provided".to_owned(),
                1 => "1 was provided".to_owned(),
                count => format!("{count} were provided"),
            };
            return format!("requires {at_least}{} argument{plural}, but {given}", parameters.len());
        }
        for (index, (value, parameter)) in values.iter().zip(parameters).enumerate() {
            let one = [*parameter];
            if self.choose_overload(std::iter::once((one.as_slice(), false)), std::slice::from_ref(value))
                == Choice::None
            {
                let ordinal = match index + 1 {
                    1 => "1st".to_owned(),
                    2 => "2nd".to_owned(),
                    3 => "3rd".to_owned(),
                    n => format!("{n}th"),
                };
                return format!(
                    "no known conversion from {} to {} for {ordinal} argument",
                    self.shown(value),
                    self.describe(*parameter)
                );
            }
        }
        "not viable".to_owned()
    }

    /// Checks the number of arguments.
    pub(super) fn count_arguments(
        &mut self,
        given: usize,
        ty: &FunctionType,
        what: &str,
        declared: Option<(Symbol, Span)>,
        expr: &ast::Expr,
        extra: Option<&Expr>,
    ) -> bool {
        let wanted = ty.parameters.len();
        let few = given < wanted;
        if !few && (given == wanted || ty.is_variadic) {
            return true;
        }
        let at_least = if ty.is_variadic { "at least " } else { "" };
        let word = if few { "few" } else { "many" };
        let text = format!("too {word} arguments to {what} call, expected {at_least}{wanted}, have {given}");
        // The closing parenthesis, or the first argument that is too much.
        let end = Span { lo: expr.span.hi.saturating_sub(1).max(expr.span.lo), ..expr.span };
        let mut diagnostic = Diagnostic::error(extra.filter(|_| !few).map_or(end, |value| value.span), text);
        if let Some((name, span)) = declared {
            diagnostic = diagnostic.note(span, format!("'{}' declared here", self.text(name)));
        }
        self.report(diagnostic);
        false
    }

    /// Converts arguments to the types of parameters, and promotes the others.
    pub(super) fn pass(
        &mut self,
        values: Vec<Expr>,
        ty: &FunctionType,
        declared: &[(Option<Symbol>, Span)],
    ) -> Vec<Expr> {
        let mut passed = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            passed.push(match ty.parameters.get(index) {
                Some(parameter) => {
                    let target = Target {
                        ty: *parameter,
                        context: Assigning::Argument,
                        at: value.span,
                        parameter: declared.get(index).copied(),
                    };
                    self.convert_to(value, target)
                }
                None => self.promote_argument(value),
            });
        }
        passed
    }

    /// The default argument promotions.
    pub(super) fn promote_argument(&mut self, value: Expr) -> Expr {
        match self.scalar_of(value.ty) {
            Some(Scalar::Half | Scalar::Float) if self.has_double() => {
                let double = self.scalar_ty(Scalar::Double);
                self.convert(value, double)
            }
            Some(Scalar::Half) => {
                let float = self.scalar_ty(Scalar::Float);
                self.convert(value, float)
            }
            _ => self.promote(value),
        }
    }
}

/// A text with the message of an attribute.
fn with_message(text: String, message: &str) -> String {
    if message.is_empty() { text } else { format!("{text}: {message}") }
}
