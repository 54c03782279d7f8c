//! Whether the end of a function can be reached.

use crate::builtins::Lowering;
use crate::tree::{Expr, ExprKind, FunctionId, Stmt, StmtKind};

/// Whether control can reach the end of statements. Labels count as reachable.
pub(super) fn falls_through(statements: &[Stmt], is_noreturn: &dyn Fn(FunctionId) -> bool) -> bool {
    let mut reachable = true;
    for statement in statements {
        let is_entered = reachable || has_label(statement);
        let is_label = matches!(statement.kind, StmtKind::Label(_));
        reachable = is_label || is_entered && passes(&statement.kind, is_noreturn);
    }
    reachable
}

/// Whether control can go on after a statement that is reached.
fn passes(kind: &StmtKind, is_noreturn: &dyn Fn(FunctionId) -> bool) -> bool {
    match kind {
        StmtKind::Expr(expr) => !never_returns(expr, is_noreturn),
        StmtKind::Declare(_) | StmtKind::Label(_) | StmtKind::FpContract(_) => true,
        StmtKind::Block(list) => falls_through(list, is_noreturn),
        StmtKind::If(condition, then, otherwise) => match condition.truth() {
            Some(true) => falls_through(then, is_noreturn),
            Some(false) => falls_through(otherwise, is_noreturn),
            None => falls_through(then, is_noreturn) || falls_through(otherwise, is_noreturn),
        },
        StmtKind::Loop { condition, tests_first, body, .. } => {
            let endless = condition.as_ref().is_none_or(|condition| condition.truth() == Some(true));
            if breaks(body) {
                return true;
            }
            if endless {
                return false;
            }
            // The body of a `do` that never comes to its condition.
            *tests_first || falls_through(body, is_noreturn) || continues(body)
        }
        StmtKind::Switch { default, body, .. } => default.is_none() || breaks(body) || falls_through(body, is_noreturn),
        StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => false,
    }
}

/// Whether an expression is a call of a function that does not return.
fn never_returns(expr: &Expr, is_noreturn: &dyn Fn(FunctionId) -> bool) -> bool {
    matches!(&expr.kind, ExprKind::Call(id, _) if is_noreturn(*id))
        || matches!(&expr.kind, ExprKind::Builtin(Lowering::Unreachable, _))
}

/// Whether any statement, at any depth, fulfils a condition; the bodies of loops and of switches count only if the flags say so.
fn any(statements: &[Stmt], into_loops: bool, into_switches: bool, test: &dyn Fn(&StmtKind) -> bool) -> bool {
    statements.iter().any(|statement| {
        test(&statement.kind)
            || match &statement.kind {
                StmtKind::Block(list) => any(list, into_loops, into_switches, test),
                StmtKind::If(_, then, otherwise) => {
                    any(then, into_loops, into_switches, test) || any(otherwise, into_loops, into_switches, test)
                }
                StmtKind::Loop { body, .. } => into_loops && any(body, into_loops, into_switches, test),
                StmtKind::Switch { body, .. } => into_switches && any(body, into_loops, into_switches, test),
                StmtKind::Expr(_)
                | StmtKind::Declare(_)
                | StmtKind::Label(_)
                | StmtKind::Goto(_)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::FpContract(_) => false,
            }
    })
}

/// Whether a `break` leaves the statement whose body this is.
fn breaks(body: &[Stmt]) -> bool {
    any(body, false, false, &|kind| matches!(kind, StmtKind::Break))
}

/// Whether a `continue` belongs to the loop whose body this is.
fn continues(body: &[Stmt]) -> bool {
    any(body, false, true, &|kind| matches!(kind, StmtKind::Continue))
}

/// Whether there is a label in a statement.
fn has_label(statement: &Stmt) -> bool {
    any(std::slice::from_ref(statement), true, true, &|kind| matches!(kind, StmtKind::Label(_)))
}

/// Whether there is a `return` with a value.
pub(super) fn returns(statements: &[Stmt]) -> bool {
    any(statements, true, true, &|kind| matches!(kind, StmtKind::Return(Some(_))))
}
