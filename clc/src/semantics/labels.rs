//! `switch` and its cases, labels and `goto`.

use super::Checker;
use super::state::{NamedLabel, SwitchState};
use crate::diagnostics::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, Name};
use crate::tree::{Conversion, Expr, ExprKind, LabelId, StmtKind};
use crate::types::{Scalar, TypeKind};

impl Checker<'_, '_> {
    /// `switch`
    pub(super) fn switch(&mut self, value: &ast::Expr, body: &ast::Stmt) -> Option<StmtKind> {
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
    pub(super) fn case(&mut self, first: &ast::Expr, last: Option<&ast::Expr>, span: Span) -> Option<LabelId> {
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
    pub(super) fn default_label(&mut self, span: Span) -> Option<LabelId> {
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
    pub(super) fn define_label(&mut self, name: Name) -> Option<LabelId> {
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
    pub(super) fn use_label(&mut self, name: Name) -> Option<LabelId> {
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
}
