//! Statements and control flow.

use spirv::{LoopControl, Op};

use super::Id;
use super::function::FunctionEmitter;
use crate::source::Span;
use crate::tree::{Expr, ExprKind, LabelId, LocalId, LoopHints, PlaceKind, Stmt, StmtKind};

/// Values of a range of cases that are listed one by one; larger ranges are compared.
const LISTED: u64 = 64;
/// Cases of one `OpSwitch`, which has a limited length.
const CASES: usize = 16_000;

/// Where `break` and `continue` lead.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    breaks: Vec<Id>,
    continues: Vec<Id>,
}

/// The parts of a loop.
struct Loop<'t> {
    condition: Option<&'t Expr>,
    tests_first: bool,
    step: Option<&'t Expr>,
    body: &'t [Stmt],
    hints: LoopHints,
}

/// Whether a statement is the initialization of a whole variable.
fn initializes(statement: &Stmt, local: LocalId) -> bool {
    let StmtKind::Expr(Expr { kind: ExprKind::Init(place, _), .. }) = &statement.kind else { return false };
    matches!(place.kind, PlaceKind::Local(of) if of == local)
}

impl FunctionEmitter<'_, '_> {
    /// Emits statements in order.
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        for (i, statement) in statements.iter().enumerate() {
            if let StmtKind::Declare(local) = statement.kind
                && !statements.get(i + 1).is_some_and(|next| initializes(next, local))
            {
                self.declaration(local, statement.span);
            }
            self.statement(statement);
        }
    }

    /// The declaration of a variable without an initializer, whose value is undefined from here on. In a loop, this says that no
    /// value is passed from one iteration to the next.
    fn declaration(&mut self, local: LocalId, span: Span) {
        let Some(ty) = self.local_type(local) else { return };
        if self.exits.continues.is_empty() {
            return;
        }
        self.at(span);
        if let Some(pointer) = self.local_memory(local, ty) {
            self.op_void(Op::LifetimeStart, &[pointer, 0]);
        }
    }

    /// Emits statements in a scope of their own.
    fn scope(&mut self, statements: &[Stmt]) {
        let contract = self.contract;
        self.statements(statements);
        self.contract = contract;
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) => self.effect(expr),
            // Variables exist from the beginning of the function; see `declaration`.
            StmtKind::Declare(_) => {}
            StmtKind::Block(statements) => self.scope(statements),
            StmtKind::If(condition, then, otherwise) => self.if_statement(condition, then, otherwise),
            StmtKind::Loop { init, condition, tests_first, step, body, hints } => {
                let contract = self.contract;
                self.statements(init);
                let (condition, step) = (condition.as_ref(), step.as_ref());
                self.loop_statement(&Loop { condition, tests_first: *tests_first, step, body, hints: *hints });
                self.contract = contract;
            }
            StmtKind::Switch { value, cases, default, body } => {
                self.at(statement.span);
                self.switch(value, cases, *default, body);
            }
            StmtKind::Label(label) => {
                let label = self.target(*label);
                self.begin_target(label);
            }
            StmtKind::Goto(label) => {
                self.at(statement.span);
                let label = self.target(*label);
                self.needs_order = true;
                self.jump(label);
            }
            StmtKind::Break => {
                self.at(statement.span);
                if let Some(label) = self.exits.breaks.last() {
                    self.jump(*label);
                }
            }
            StmtKind::Continue => {
                self.at(statement.span);
                if let Some(label) = self.exits.continues.last() {
                    self.jump(*label);
                }
            }
            StmtKind::Return(value) => self.return_statement(value.as_ref(), statement),
            StmtKind::FpContract(is_allowed) => self.contract = *is_allowed,
        }
    }

    fn return_statement(&mut self, value: Option<&Expr>, statement: &Stmt) {
        let void = self.module.source.types.void();
        match value {
            Some(value) if value.ty != void => {
                let value = self.value(value);
                self.at(statement.span);
                self.end_block(Op::ReturnValue, &[value], &[]);
            }
            _ => {
                if let Some(value) = value {
                    self.effect(value);
                }
                self.at(statement.span);
                self.return_nothing();
            }
        }
    }

    /// Returns without a value. In a function that has a result, that is undefined.
    pub(super) fn return_nothing(&mut self) {
        let result = self.function.result;
        if result == self.module.source.types.void() {
            self.end_block(Op::Return, &[], &[]);
        } else {
            let ty = self.module.type_id(result);
            let value = self.module.undefined(ty);
            self.end_block(Op::ReturnValue, &[value], &[]);
        }
    }

    fn if_statement(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) {
        let (then_label, end) = (self.label(), self.label());
        let else_label = if otherwise.is_empty() { end } else { self.label() };
        self.condition(condition, then_label, else_label);
        self.begin_block(then_label);
        self.scope(then);
        if !otherwise.is_empty() {
            self.jump(end);
            self.begin_block(else_label);
            self.scope(otherwise);
        }
        self.begin_block(end);
    }

    fn loop_statement(&mut self, parts: &Loop<'_>) {
        let (header, next, exit) = (self.label(), self.label(), self.label());
        if self.is_open() {
            self.begin_block(header);
        } else {
            // A label in the loop may make it reachable.
            self.begin_target(header);
        }
        if let Some(control) = loop_control(parts.hints) {
            let first = self.label();
            // Both blocks have to exist.
            self.mark_target(next);
            self.mark_target(exit);
            self.op_void(Op::LoopMerge, &[exit, next, control.bits()]);
            self.keep_blocks(&[exit, next]);
            self.jump(first);
            self.begin_block(first);
        }
        if parts.tests_first {
            let body = self.label();
            match parts.condition {
                Some(condition) => self.condition(condition, body, exit),
                None => self.jump(body),
            }
            self.begin_block(body);
        }
        self.exits.breaks.push(exit);
        self.exits.continues.push(next);
        self.scope(parts.body);
        self.exits.breaks.pop();
        self.exits.continues.pop();
        self.begin_block(next);
        if let Some(step) = parts.step {
            self.effect(step);
        }
        match parts.condition {
            Some(condition) if !parts.tests_first => self.condition(condition, header, exit),
            Some(_) | None => self.jump(header),
        }
        self.begin_block(exit);
    }

    fn switch(&mut self, value: &Expr, cases: &[(u64, u64, LabelId)], default: Option<LabelId>, body: &[Stmt]) {
        let selector = self.value(value);
        let Some((scalar, _)) = self.module.source.types.lanes(value.ty) else { return };
        let exit = self.label();
        let otherwise = match default {
            Some(label) => self.target(label),
            None => exit,
        };
        let (width, mask) = (scalar.bytes() * 8, u64::MAX >> (64 - scalar.bytes() * 8));
        let mut literals: Vec<(u64, Id)> = Vec::with_capacity(cases.len());
        let mut ranges = Vec::new();
        for &(first, last, label) in cases {
            let label = self.target(label);
            let count = last.wrapping_sub(first) & mask;
            if count < LISTED {
                literals.extend((0..=count).map(|step| (first.wrapping_add(step) & mask, label)));
            } else {
                ranges.push((first & mask, count, label));
            }
        }
        let mut chunks = literals.chunks(CASES).peekable();
        while let Some(chunk) = chunks.next() {
            let after = match chunks.peek().is_some() || !ranges.is_empty() {
                true => self.label(),
                false => otherwise,
            };
            let mut operands = vec![selector, after];
            let mut targets = vec![after];
            for (bits, label) in chunk {
                operands.push(*bits as u32);
                if width == 64 {
                    operands.push((*bits >> 32) as u32);
                }
                operands.push(*label);
                targets.push(*label);
            }
            self.end_block(Op::Switch, &operands, &targets);
            if after != otherwise {
                self.begin_block(after);
            }
        }
        for (index, &(first, count, label)) in ranges.iter().enumerate() {
            let (ty, truth) = (self.module.scalar_type(scalar), self.module.bool_type());
            let (first, count) = (self.module.scalar(scalar, first), self.module.scalar(scalar, count));
            let offset = self.op(Op::ISub, ty, &[selector, first]);
            let is_inside = self.op(Op::ULessThanEqual, truth, &[offset, count]);
            let after = if index + 1 == ranges.len() { otherwise } else { self.label() };
            self.branch_to(is_inside, label, after);
            if after != otherwise {
                self.begin_block(after);
            }
        }
        self.jump(otherwise);
        self.exits.breaks.push(exit);
        self.scope(body);
        self.exits.breaks.pop();
        self.begin_block(exit);
    }
}

/// The control of a loop with a hint. SPIR-V 1.2 has no count.
fn loop_control(hints: LoopHints) -> Option<LoopControl> {
    Some(match hints.unroll? {
        1 => LoopControl::DONT_UNROLL,
        _ => LoopControl::UNROLL,
    })
}
