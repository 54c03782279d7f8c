//! Statements.

use super::{Assigning, Checker};
use crate::preprocess::Pragma;
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Expr, ExprKind, LoopHints, Stmt, StmtKind};
use crate::types::TypeKind;

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
    pub(super) fn body(&mut self, statement: &ast::Stmt) -> Vec<Stmt> {
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
            ast::StmtKind::Asm { is_empty: true } => {}
            ast::StmtKind::Asm { is_empty: false } => self.error(span, "inline assembly is not supported"),
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
}
