//! Statements.

use super::{Assigning, Checker};
use crate::diagnostics::Diagnostic;
use crate::preprocess::Pragma;
use crate::source::Span;
use crate::syntax::ast::{self, Name};
use crate::tree::{Constant, Conversion, Expr, ExprKind, LabelId, LoopHints, Stmt, StmtKind};
use crate::types::{Scalar, TypeKind};

use super::state::{NamedLabel, SwitchState};

impl Checker<'_, '_> {
    /// `{ ... }`, in a scope of its own.
    pub(crate) fn block(&mut self, block: &ast::Block) -> Vec<Stmt> {
        self.scopes.push();
        let contract = self.states.last().is_none_or(|state| state.contract);
        let statements = self.items(&block.items);
        if let Some(state) = self.states.last_mut() {
            state.contract = contract;
        }
        self.scopes.pop();
        statements
    }

    /// The statements of a block.
    pub(crate) fn items(&mut self, items: &[ast::Stmt]) -> Vec<Stmt> {
        let mut statements = Vec::with_capacity(items.len());
        let mut hints = LoopHints::default();
        for item in items {
            if self.session.diagnostics.is_full() {
                break;
            }
            if let ast::StmtKind::Pragma(Pragma::Unroll(count)) = &item.kind {
                hints.unroll = Some(count.unwrap_or(0));
                continue;
            }
            self.hinted(item, hints, &mut statements);
            hints = LoopHints::default();
        }
        statements
    }

    /// A statement.
    pub(crate) fn statement(&mut self, statement: &ast::Stmt) -> Vec<Stmt> {
        let mut statements = Vec::new();
        self.hinted(statement, LoopHints::default(), &mut statements);
        statements
    }

    /// A statement that is the body of another one.
    fn body(&mut self, statement: &ast::Stmt) -> Vec<Stmt> {
        if let ast::StmtKind::Block(block) = &statement.kind {
            return if self.enter(statement.span) {
                let list = self.block(block);
                self.leave();
                list
            } else {
                Vec::new()
            };
        }
        self.scopes.push();
        let list = self.statement(statement);
        self.scopes.pop();
        list
    }

    /// The body of a loop.
    fn loop_body(&mut self, statement: &ast::Stmt) -> Vec<Stmt> {
        if let Some(state) = self.states.last_mut() {
            state.breakable += 1;
            state.continuable += 1;
        }
        let list = self.body(statement);
        if let Some(state) = self.states.last_mut() {
            state.breakable -= 1;
            state.continuable -= 1;
        }
        list
    }

    fn hinted(&mut self, statement: &ast::Stmt, hints: LoopHints, out: &mut Vec<Stmt>) {
        if !self.enter(statement.span) {
            return;
        }
        self.statement_into(statement, hints, out);
        self.leave();
    }

    fn statement_into(&mut self, statement: &ast::Stmt, hints: LoopHints, out: &mut Vec<Stmt>) {
        let span = statement.span;
        let mut add = |kind: StmtKind| out.push(Stmt { kind, span });
        match &statement.kind {
            ast::StmtKind::Empty => {}
            ast::StmtKind::Expr(expr) => {
                let value = self.expr(expr);
                self.warn_unused(expr, &value);
                add(StmtKind::Expr(value));
            }
            ast::StmtKind::Declaration(declaration) => {
                let list = self.local_declaration(declaration);
                out.extend(list);
            }
            ast::StmtKind::StaticAssert(assert) => self.static_assert(assert),
            ast::StmtKind::Block(block) => {
                let list = self.block(block);
                add(StmtKind::Block(list));
            }
            ast::StmtKind::If(written, then, otherwise) => {
                let condition = self.condition(written);
                if otherwise.is_none() {
                    self.warn_empty_body(written, then);
                }
                let then = self.body(then);
                let otherwise = otherwise.as_ref().map_or_else(Vec::new, |otherwise| self.body(otherwise));
                add(StmtKind::If(condition, then, otherwise));
            }
            ast::StmtKind::While(condition, body) => {
                let condition = Some(self.condition(condition));
                let body = self.loop_body(body);
                add(StmtKind::Loop { init: Vec::new(), condition, tests_first: true, step: None, body, hints });
            }
            ast::StmtKind::DoWhile(body, condition) => {
                let body = self.loop_body(body);
                let condition = Some(self.condition(condition));
                add(StmtKind::Loop { init: Vec::new(), condition, tests_first: false, step: None, body, hints });
            }
            ast::StmtKind::For(init, condition, step, body) => {
                self.scopes.push();
                let init = init.as_ref().map_or_else(Vec::new, |init| self.statement(init));
                let condition = condition.as_ref().map(|condition| self.condition(condition));
                let step = step.as_ref().map(|step| {
                    let value = self.expr(step);
                    self.warn_unused(step, &value);
                    value
                });
                let body = self.loop_body(body);
                self.scopes.pop();
                add(StmtKind::Loop { init, condition, tests_first: true, step, body, hints });
            }
            ast::StmtKind::Switch(value, body) => {
                if let Some(kind) = self.switch(value, body) {
                    add(kind);
                }
            }
            ast::StmtKind::Case(first, last, body) => {
                if let Some(label) = self.case(first, last.as_ref(), span) {
                    add(StmtKind::Label(label));
                }
                let list = self.statement(body);
                out.extend(list);
            }
            ast::StmtKind::Default(body) => {
                if let Some(label) = self.default_label(span) {
                    add(StmtKind::Label(label));
                }
                let list = self.statement(body);
                out.extend(list);
            }
            ast::StmtKind::Label(name, body) => {
                if let Some(label) = self.define_label(*name) {
                    add(StmtKind::Label(label));
                }
                let list = self.statement(body);
                out.extend(list);
            }
            ast::StmtKind::Goto(name) => {
                if let Some(label) = self.use_label(*name) {
                    add(StmtKind::Goto(label));
                }
            }
            ast::StmtKind::Break => {
                if self.states.last().is_some_and(|state| state.breakable > 0) {
                    add(StmtKind::Break);
                } else {
                    self.error(span, "'break' statement not in loop or switch statement");
                }
            }
            ast::StmtKind::Continue => {
                if self.states.last().is_some_and(|state| state.continuable > 0) {
                    add(StmtKind::Continue);
                } else {
                    self.error(span, "'continue' statement not in loop statement");
                }
            }
            ast::StmtKind::Return(value) => {
                let value = self.return_value(value.as_ref(), span);
                add(StmtKind::Return(value));
            }
            ast::StmtKind::Pragma(pragma) => {
                if let Pragma::FpContract(value) = pragma {
                    let contract = value.unwrap_or(true);
                    if let Some(state) = self.states.last_mut() {
                        state.contract = contract;
                    }
                    add(StmtKind::FpContract(contract));
                }
            }
            ast::StmtKind::Attributed(attributes, inner) => {
                let attributes = self.attributes(attributes);
                let hints = LoopHints { unroll: attributes.unroll.or(hints.unroll) };
                let is_loop = matches!(
                    inner.kind,
                    ast::StmtKind::While(..) | ast::StmtKind::DoWhile(..) | ast::StmtKind::For(..)
                );
                if attributes.unroll.is_some() && !is_loop {
                    self.error(
                        span,
                        "'opencl_unroll_hint' attribute only applies to 'for', 'while', and 'do' statements",
                    );
                }
                self.hinted(inner, hints, out);
            }
            ast::StmtKind::Asm => self.error(span, "inline assembly is not supported"),
        }
    }

    /// `({ ... })`: its value is that of the last statement, if that is an expression.
    pub(crate) fn statement_expression(&mut self, block: &ast::Block) -> Expr {
        if self.states.is_empty() {
            self.error(block.span, "statement expression not allowed at file scope");
            return self.error_value(block.span);
        }
        self.scopes.push();
        let (last, rest) = match block.items.split_last() {
            Some((ast::Stmt { kind: ast::StmtKind::Expr(last), .. }, rest)) => (Some(last), rest),
            _ => (None, &block.items[..]),
        };
        let statements = self.items(rest);
        let value = last.map(|last| Box::new(self.expr(last)));
        self.scopes.pop();
        let ty = value.as_ref().map_or_else(|| self.module.types.void(), |value| value.ty);
        Expr { kind: ExprKind::Statements(statements, value), ty, span: block.span }
    }

    /// `switch`
    fn switch(&mut self, value: &ast::Expr, body: &ast::Stmt) -> Option<StmtKind> {
        let mut value = self.expr(value);
        let is_error = *self.module.types.kind(value.ty) == TypeKind::Error;
        let mut scalar = Scalar::Int;
        if self.is_integer(value.ty) {
            let from = self.module.types.lanes(value.ty).map_or(Scalar::Int, |(scalar, _)| scalar);
            // The integer promotions.
            scalar = if from < Scalar::Int { Scalar::Int } else { from };
            let to = self.module.types.scalar(scalar);
            if value.ty != to {
                let span = value.span;
                let kind = ExprKind::Convert(Conversion::Arithmetic, Box::new(value));
                value = self.fold(Expr { kind, ty: to, span });
            }
        } else if !is_error {
            let text =
                format!("statement requires expression of integer type ({} invalid)", self.describe_ty(value.ty));
            self.error(value.span, text);
        }
        if let Some(state) = self.states.last_mut() {
            state.switches.push(SwitchState { scalar, cases: Vec::new(), default: None });
            state.breakable += 1;
        }
        let body = self.body(body);
        let state = self.states.last_mut()?;
        state.breakable -= 1;
        let switch = state.switches.pop()?;
        self.check_cases(&switch);
        let bits = |value: i128| Self::integer_bits(value, scalar);
        let cases = switch.cases.iter().map(|(first, last, label, _)| (bits(*first), bits(*last), *label)).collect();
        let default = switch.default.map(|(label, _)| label);
        Some(StmtKind::Switch { value, cases, default, body })
    }

    /// Reports cases that occur twice.
    fn check_cases(&mut self, switch: &SwitchState) {
        let mut sorted: Vec<&(i128, i128, LabelId, Span)> = switch.cases.iter().collect();
        sorted.sort_by_key(|case| (case.0, case.2));
        let mut duplicates = Vec::new();
        let mut reach: Option<&(i128, i128, LabelId, Span)> = None;
        for case in sorted {
            match reach {
                Some(before) if case.0 <= before.1 => duplicates.push((case.0, case.3, before.3, case.2)),
                _ => {}
            }
            if reach.is_none_or(|before| case.1 > before.1) {
                reach = Some(case);
            }
        }
        duplicates.sort_by_key(|duplicate| duplicate.3);
        for (value, span, before, _) in duplicates {
            let error = Diagnostic::error(span, format!("duplicate case value '{value}'"));
            self.report(error.note(before, "previous case defined here"));
        }
    }

    /// `case`: its label. `None` if there is an error.
    fn case(&mut self, first: &ast::Expr, last: Option<&ast::Expr>, span: Span) -> Option<LabelId> {
        let low = self.integer_constant(first, "");
        let high = match last {
            Some(last) => self.integer_constant(last, ""),
            None => low,
        };
        let Some(scalar) = self.states.last().and_then(|state| state.switches.last()).map(|switch| switch.scalar)
        else {
            self.error(span, "'case' statement not in switch statement");
            return None;
        };
        let low = self.case_value(low?.0, scalar, first.span);
        let high = if let Some(last) = last { self.case_value(high?.0, scalar, last.span) } else { low };
        let label = self.new_label();
        if high < low {
            self.warning(first.span, "case-range-empty", "empty case range specified");
            return Some(label);
        }
        if let Some(switch) = self.states.last_mut().and_then(|state| state.switches.last_mut()) {
            switch.cases.push((low, high, label, first.span));
        }
        Some(label)
    }

    /// The value of a `case` in the type of the condition.
    fn case_value(&mut self, value: i128, scalar: Scalar, span: Span) -> i128 {
        let bits = Self::integer_bits(value, scalar);
        let width = scalar.bytes() * 8;
        let wrapped = if scalar.is_signed() {
            i128::from(((bits << (64 - width)) as i64) >> (64 - width))
        } else {
            i128::from(bits)
        };
        // A change of sign is what a conversion does; bits that are lost are worth a warning.
        let limit = 1_i128 << width;
        if value >= limit || value < -(limit / 2) {
            let text = format!("overflow converting case value to switch condition type ({value} to {wrapped})");
            self.warning(span, "switch", text);
        }
        wrapped
    }

    /// `default:`
    fn default_label(&mut self, span: Span) -> Option<LabelId> {
        let label = self.new_label();
        let Some(switch) = self.states.last_mut().and_then(|state| state.switches.last_mut()) else {
            self.error(span, "'default' statement not in switch statement");
            return None;
        };
        if let Some((_, previous)) = switch.default {
            let error = Diagnostic::error(span, "multiple default labels in one switch");
            self.report(error.note(previous, "previous case defined here"));
            return None;
        }
        switch.default = Some((label, span));
        Some(label)
    }

    /// A new label.
    fn new_label(&mut self) -> LabelId {
        let Some(state) = self.states.last_mut() else { return LabelId(0) };
        state.labels += 1;
        LabelId(state.labels - 1)
    }

    /// The label of a name.
    fn named_label(&mut self, name: Name) -> Option<LabelId> {
        if let Some(label) = self.states.last()?.named_labels.get(&name.symbol) {
            return Some(label.id);
        }
        let id = self.new_label();
        let state = self.states.last_mut()?;
        state.named_labels.insert(name.symbol, NamedLabel { id, defined: None, used: None });
        state.label_order.push(name.symbol);
        Some(id)
    }

    /// `name:`
    fn define_label(&mut self, name: Name) -> Option<LabelId> {
        let id = self.named_label(name)?;
        let label = self.states.last_mut()?.named_labels.get_mut(&name.symbol)?;
        if let Some(previous) = label.defined {
            let error = Diagnostic::error(name.span, format!("redefinition of label '{}'", self.text(name.symbol)));
            self.report(error.note(previous, "previous definition is here"));
            return None;
        }
        label.defined = Some(name.span);
        Some(id)
    }

    /// `goto name;`
    fn use_label(&mut self, name: Name) -> Option<LabelId> {
        let id = self.named_label(name)?;
        let label = self.states.last_mut()?.named_labels.get_mut(&name.symbol)?;
        label.used.get_or_insert(name.span);
        Some(id)
    }

    /// Reports labels that are used and nowhere defined.
    pub(crate) fn finish_labels(&mut self) {
        let Some(state) = self.states.last() else { return };
        let mut missing = Vec::new();
        for name in &state.label_order {
            if let Some(NamedLabel { defined: None, used: Some(span), .. }) = state.named_labels.get(name) {
                missing.push((*name, *span));
            }
        }
        for (name, span) in missing {
            let text = format!("use of undeclared label '{}'", self.text(name));
            self.error(span, text);
        }
    }

    /// The value of a `return`.
    fn return_value(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<Expr> {
        let value = value.map(|value| self.expr(value));
        let state = self.states.last_mut()?;
        let (id, mut result) = (state.id, state.result);
        if let Some(block) = &mut state.block
            && block.infers_result
        {
            block.infers_result = false;
            result = value.as_ref().map_or_else(|| self.module.types.void(), |value| value.ty);
            state.result = result;
        }
        let is_block = state.block.is_some();
        let is_void = *self.module.types.kind(result) == TypeKind::Void;
        let name = self.module.functions.get(id.0 as usize).map(|function| function.name);
        let name = name.map_or("", |name| self.text(name)).to_owned();
        match value {
            None if is_void || *self.module.types.kind(result) == TypeKind::Error => None,
            None if is_block => {
                self.error(span, "non-void block should return a value");
                None
            }
            None => {
                self.error(span, format!("non-void function '{name}' should return a value"));
                None
            }
            Some(value) if is_void => {
                if !matches!(self.module.types.kind(value.ty), TypeKind::Void | TypeKind::Error) {
                    let text = if is_block {
                        "void block should not return a value".to_owned()
                    } else {
                        format!("void function '{name}' should not return a value")
                    };
                    self.error(span, text);
                }
                Some(value)
            }
            Some(value) => Some(self.convert_assign(value, result, Assigning::Return)),
        }
    }

    /// Warns of `if (condition);`
    fn warn_empty_body(&mut self, condition: &ast::Expr, body: &ast::Stmt) {
        // Where the parser went on after an error, an empty statement is longer than its semicolon.
        let is_semicolon = matches!(body.kind, ast::StmtKind::Empty) && body.span.hi == body.span.lo + 1;
        if !is_semicolon || body.span.expansion.0 != 0 {
            return;
        }
        let line = |span: Span| self.session.sources.location(span).map(|location| location.line);
        let end = Span { lo: condition.span.hi, ..condition.span };
        if line(end) == line(body.span) {
            self.warning(body.span, "empty-body", "if statement has empty body");
        }
    }

    /// Warns of a value that has no effect and is not used.
    fn warn_unused(&mut self, expr: &ast::Expr, value: &Expr) {
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
        match &self.kind {
            ExprKind::Constant(Constant::Zero) => Some(false),
            ExprKind::Constant(Constant::Scalar(bits)) => Some(*bits != 0),
            _ => None,
        }
    }
}
