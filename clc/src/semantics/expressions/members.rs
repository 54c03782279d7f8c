//! Members of records, and components of vectors.

use super::convert::merged;
use crate::diagnostics::{Diagnostic, similar};
use crate::options::Version;
use crate::semantics::{Checker, Operand};
use crate::source::{Span, Symbol};
use crate::syntax::ast::{self, Name};
use crate::tree::{Expr, ExprKind, Place, PlaceKind};
use crate::types::{QualTy, RecordId, Scalar, Ty, TypeKind};

/// The lanes that a component name chooses.
enum Lanes {
    /// Lanes of the vector; `None` is the lane that a vector of three has only in memory.
    Chosen(Vec<Option<u8>>),
    /// An illegal character, by its index.
    Illegal(usize),
    /// A lane that the vector does not have.
    Exceeds,
}

/// Finds the lanes of a component name.
fn component_lanes(name: &str, lanes: u8) -> Lanes {
    let half = lanes.div_ceil(2);
    let lane = |index: u8| (index < lanes).then_some(index);
    match name {
        "lo" => return Lanes::Chosen((0..half).map(lane).collect()),
        "hi" => return Lanes::Chosen((half..half * 2).map(lane).collect()),
        "even" => return Lanes::Chosen((0..half).map(|index| lane(index * 2)).collect()),
        "odd" => return Lanes::Chosen((0..half).map(|index| lane(index * 2 + 1)).collect()),
        _ => {}
    }
    let bytes = name.as_bytes();
    let first = bytes.first().copied().unwrap_or(0);
    let position = |set: &[u8], byte: u8| set.iter().position(|one| *one == byte).map(|at| at as u8);
    let is_numeric = matches!(first, b's' | b'S') && bytes.len() > 1;
    let set: &[u8] = if b"rgba".contains(&first) { b"rgba" } else { b"xyzw" };
    let mut chosen = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate().skip(usize::from(is_numeric)) {
        let index =
            if is_numeric { char::from(*byte).to_digit(16).map(|digit| digit as u8) } else { position(set, *byte) };
        match index {
            None => return Lanes::Illegal(at),
            Some(index) => chosen.push(index),
        }
    }
    if chosen.iter().any(|index| *index >= lanes) {
        return Lanes::Exceeds;
    }
    Lanes::Chosen(chosen.into_iter().map(Some).collect())
}

impl Checker<'_, '_> {
    /// Where the operator behind an operand is: right behind it, usually.
    fn operator_behind(base: &ast::Expr, expr: &ast::Expr) -> Span {
        if base.span.expansion == expr.span.expansion && base.span.hi < expr.span.hi && base.span.lo != 0 {
            Span { lo: base.span.hi, hi: base.span.hi + 1, ..base.span }
        } else {
            expr.caret
        }
    }

    /// `a.name`, `a->name`
    pub(super) fn member(&mut self, base: &ast::Expr, name: Name, arrow: bool, expr: &ast::Expr) -> Operand {
        let operand = self.operand(base);
        let operator = Self::operator_behind(base, expr);
        let (operand, ty) = match self.member_base(operand, arrow, base.span, operator) {
            Some(found) => found,
            None => return Operand::Value(self.error_value(expr.span)),
        };
        let kind = self.kind(ty.ty);
        if let TypeKind::Vector(scalar, lanes) = *kind {
            return self.component(operand, (scalar, lanes), name, expr);
        }
        if matches!(kind, TypeKind::Record(_)) {
            return self.record_member(operand, ty, name, expr);
        }
        if !self.is_error(ty.ty) {
            let text = format!("member reference base type {} is not a structure or union", self.describe(ty));
            self.report(Diagnostic::error(operator, text).range(base.span));
        }
        Operand::Value(self.error_value(expr.span))
    }

    /// The object whose member is meant, and its type.
    fn member_base(&mut self, operand: Operand, arrow: bool, range: Span, operator: Span) -> Option<(Operand, QualTy)> {
        let ty = match &operand {
            Operand::Value(value) => QualTy::plain(value.ty),
            Operand::Place(place) => place.ty,
            Operand::Functions(_) | Operand::Builtin(_) => {
                self.report(
                    Diagnostic::error(operator, "member reference base type is a function, not a structure or union")
                        .range(range),
                );
                return None;
            }
        };
        if self.is_error(ty.ty) {
            return None;
        }
        let points = self.pointee(ty.ty);
        let is_array = matches!(self.kind(ty.ty), TypeKind::Array(..));
        if !arrow {
            let has_members =
                points.is_some_and(|to| matches!(self.kind(to.ty), TypeKind::Record(_) | TypeKind::Vector(..)));
            if !has_members {
                return Some((operand, ty));
            }
            let text = format!("member reference type {} is a pointer; did you mean to use '->'?", self.describe(ty));
            self.report(Diagnostic::error(operator, text).range(range).fix(operator, "->"));
        } else if points.is_none() && !is_array {
            let is_record = matches!(self.kind(ty.ty), TypeKind::Record(_));
            let text = if is_record {
                format!("member reference type {} is not a pointer; did you mean to use '.'?", self.describe(ty))
            } else {
                format!("member reference type {} is not a pointer", self.describe(ty))
            };
            self.report(Diagnostic::error(operator, text).range(range));
            return is_record.then_some((operand, ty));
        }
        let value = self.value(operand, range);
        let to = self.pointee(value.ty)?;
        let span = value.span;
        Some((Operand::Place(self.deref_place(value, to, span)), to))
    }

    /// The way to a member through anonymous records: indices.
    fn find_field(&self, id: RecordId, name: Symbol, depth: u32, path: &mut Vec<u32>) -> bool {
        let record = self.module.types.record(id);
        if let Some(at) = record.fields.iter().position(|field| field.name == Some(name)) {
            path.push(at as u32);
            return true;
        }
        if depth >= crate::limits::NESTING {
            return false;
        }
        for (at, field) in record.fields.iter().enumerate() {
            if field.name.is_none()
                && let TypeKind::Record(inner) = *self.kind(field.ty.ty)
            {
                path.push(at as u32);
                if self.find_field(inner, name, depth + 1, path) {
                    return true;
                }
                path.pop();
            }
        }
        false
    }

    /// The way to a member, or an error.
    pub(super) fn field_path(&mut self, ty: Ty, name: Name, at: Span) -> Option<Vec<u32>> {
        let TypeKind::Record(id) = *self.kind(ty) else { return None };
        let record = self.module.types.record(id);
        if !record.is_complete {
            let text = format!("incomplete definition of type {}", self.describe_ty(ty));
            let declared = record.span;
            self.report(
                Diagnostic::error(at, text).note(declared, format!("forward declaration of {}", self.describe_ty(ty))),
            );
            return None;
        }
        let mut path = Vec::new();
        if self.find_field(id, name.symbol, 0, &mut path) {
            return Some(path);
        }
        let wanted = self.text(name.symbol);
        let names = record.fields.iter().filter_map(|field| field.name);
        let similar = similar(wanted, names.map(|name| (self.text(name), name)));
        let mut text = format!("no member named '{wanted}' in {}", self.describe_ty(ty));
        let mut result = None;
        let mut diagnostic = Diagnostic::error(name.span, String::new());
        if let Some(symbol) = similar {
            let spelled = self.text(symbol).to_owned();
            text = format!("{text}; did you mean '{spelled}'?");
            if let Some(field) = record.fields.iter().find(|field| field.name == Some(symbol)) {
                diagnostic = diagnostic.note(field.span, format!("'{spelled}' declared here"));
            }
            diagnostic = diagnostic.fix(name.span, spelled);
            if self.find_field(id, symbol, 0, &mut path) {
                result = Some(path);
            }
        }
        diagnostic.text = text;
        self.report(diagnostic);
        result
    }

    fn record_member(&mut self, base: Operand, ty: QualTy, name: Name, expr: &ast::Expr) -> Operand {
        let Some(path) = self.field_path(ty.ty, name, expr.caret) else {
            return Operand::Value(self.error_value(expr.span));
        };
        let mut operand = base;
        let mut ty = ty;
        for index in path {
            let TypeKind::Record(id) = *self.kind(ty.ty) else { break };
            let Some(field) = self.module.types.record(id).fields.get(index as usize) else { break };
            let field_ty = field.ty;
            operand = match operand {
                Operand::Place(place) => {
                    ty = QualTy { quals: merged(field_ty, place.ty), ..field_ty };
                    Operand::Place(Place { kind: PlaceKind::Field(Box::new(place), index), ty, span: expr.span })
                }
                Operand::Value(value) => {
                    ty = field_ty;
                    if let TypeKind::Array(..) = self.kind(field_ty.ty) {
                        let place = self.temporary(value);
                        Operand::Place(Place { kind: PlaceKind::Field(Box::new(place), index), ty, span: expr.span })
                    } else {
                        let kind = ExprKind::Field(Box::new(value), index);
                        Operand::Value(self.make(kind, ty.ty, expr.span))
                    }
                }
                Operand::Functions(_) | Operand::Builtin(_) => operand,
            };
        }
        operand
    }

    /// Components of a vector.
    fn component(&mut self, base: Operand, shape: (Scalar, u8), name: Name, expr: &ast::Expr) -> Operand {
        let (scalar, lanes) = shape;
        let text = self.text(name.symbol);
        let chosen = match component_lanes(text, lanes) {
            Lanes::Chosen(chosen) => chosen,
            Lanes::Illegal(at) => {
                let letter = text.as_bytes().get(at).map_or(' ', |byte| char::from(*byte));
                let message = format!("illegal vector component name '{letter}'");
                let at = Span { lo: name.span.lo + at as u32, ..name.span };
                self.error(at, message);
                return Operand::Value(self.error_value(expr.span));
            }
            Lanes::Exceeds => {
                let ty = if let Operand::Place(place) = &base {
                    self.describe(place.ty)
                } else {
                    let ty = self.module.types.vector(scalar, lanes);
                    self.describe_ty(ty)
                };
                let message = format!("vector component access exceeds type {ty}");
                self.error(expr.caret, message);
                return Operand::Value(self.error_value(expr.span));
            }
        };
        if !matches!(chosen.len(), 1..=4 | 8 | 16) {
            let message = format!("illegal vector component name '{text}'");
            self.error(name.span, message);
            return Operand::Value(self.error_value(expr.span));
        }
        let is_color = text.bytes().all(|byte| b"rgba".contains(&byte));
        if is_color && self.version() < Version::V3_0 {
            let message =
                format!("vector component name '{}' is a feature from OpenCL version 3.0 onwards", &text[..1]);
            self.warning(name.span, "opencl-unsupported-rgba", message);
        }
        let ty = self.module.types.vector(scalar, chosen.len() as u8);
        let is_whole = chosen.iter().all(Option::is_some);
        // The fourth lane of a vector of three is one that it does not have.
        let whole: Vec<u8> = chosen.iter().map(|lane| lane.unwrap_or(lanes)).collect();
        if !is_whole && !matches!(base, Operand::Place(_)) {
            // That lane is undefined.
            let value = self.value(base, expr.span);
            let ExprKind::Constant(_) = value.kind else {
                let place = self.temporary(value);
                let PlaceKind::Temporary(local, value) = place.kind else {
                    return Operand::Value(self.error_value(expr.span));
                };
                let read = Place { kind: PlaceKind::Local(local), ty: place.ty, span: place.span };
                let second = Expr { kind: ExprKind::Load(Box::new(read)), ty: place.ty.ty, span: place.span };
                let kind = PlaceKind::Temporary(local, value);
                let first = Place { kind, ty: place.ty, span: place.span };
                let first = Expr { kind: ExprKind::Load(Box::new(first)), ty: place.ty.ty, span: place.span };
                let kind = ExprKind::Shuffle(Box::new(first), Box::new(second), chosen);
                return Operand::Value(Expr { kind, ty, span: expr.span });
            };
            let lanes: Vec<u8> = chosen.iter().map(|lane| lane.unwrap_or(0)).collect();
            return Operand::Value(self.make(ExprKind::Swizzle(Box::new(value), lanes), ty, expr.span));
        }
        match base {
            Operand::Place(place) => {
                let quals = place.ty.quals;
                let kind = if let PlaceKind::Lanes(inner, outer) = place.kind {
                    // Components of components are components of the vector.
                    let beyond = self.lanes(inner.ty.ty).map_or(0, |(_, count)| count);
                    let composed = whole.iter().map(|lane| outer.get(usize::from(*lane)).copied().unwrap_or(beyond));
                    PlaceKind::Lanes(inner, composed.collect())
                } else {
                    PlaceKind::Lanes(Box::new(place), whole)
                };
                Operand::Place(Place { kind, ty: QualTy { ty, quals }, span: expr.span })
            }
            Operand::Value(_) | Operand::Functions(_) | Operand::Builtin(_) => {
                let value = self.value(base, expr.span);
                Operand::Value(self.make(ExprKind::Swizzle(Box::new(value), whole), ty, expr.span))
            }
        }
    }

    /// `a[i]`
    pub(super) fn index(&mut self, left: &ast::Expr, right: &ast::Expr, expr: &ast::Expr) -> Operand {
        let base = self.operand(left);
        let index = self.operand(right);
        let is_integer = |checker: &Self, operand: &Operand| match operand {
            Operand::Value(value) => checker.scalar_of(value.ty),
            Operand::Place(place) => checker.scalar_of(place.ty.ty),
            Operand::Functions(_) | Operand::Builtin(_) => None,
        };
        // `i[a]` is `a[i]`.
        let swapped = is_integer(self, &base).is_some() && is_integer(self, &index).is_none();
        let (base, index, base_span, index_span) =
            if swapped { (index, base, right.span, left.span) } else { (base, index, left.span, right.span) };
        let index = self.value(index, index_span);
        if self.is_error(index.ty) {
            return Operand::Value(index);
        }
        if !self.scalar_of(index.ty).is_some_and(Scalar::is_integer) {
            let ty = match &base {
                Operand::Value(value) => value.ty,
                Operand::Place(place) => place.ty.ty,
                Operand::Functions(_) | Operand::Builtin(_) => self.module.types.void(),
            };
            let indexable = matches!(self.kind(ty), TypeKind::Pointer(_) | TypeKind::Array(..) | TypeKind::Vector(..));
            let text = if indexable {
                "array subscript is not an integer"
            } else {
                "subscripted value is not an array, pointer, or vector"
            };
            if !self.is_error(ty) {
                self.report(Diagnostic::error(Self::operator_behind(left, expr), text).range(expr.span));
            }
            return Operand::Value(self.error_value(expr.span));
        }
        let index = self.index_width(index);
        match base {
            Operand::Place(place) if matches!(self.kind(place.ty.ty), TypeKind::Array(..)) => {
                Operand::Place(self.element(place, index, expr.span))
            }
            Operand::Place(place) if self.is_vector(place.ty.ty) => self.lane_of_place(place, index, expr.span),
            Operand::Value(value) if self.is_vector(value.ty) => self.lane_of_value(value, index, expr.span),
            Operand::Value(_) | Operand::Place(_) | Operand::Functions(_) | Operand::Builtin(_) => {
                let value = self.value(base, base_span);
                if self.is_error(value.ty) {
                    return Operand::Value(value);
                }
                let Some(to) = self.pointee(value.ty) else {
                    let text = "subscripted value is not an array, pointer, or vector";
                    let operator = Self::operator_behind(left, expr);
                    self.report(Diagnostic::error(operator, text).range(index_span));
                    return Operand::Value(self.error_value(expr.span));
                };
                if *self.kind(to.ty) != TypeKind::Void && self.module.types.layout(to.ty).is_none() {
                    let text = format!("subscript of pointer to incomplete type {}", self.describe(to));
                    self.report(Diagnostic::error(base_span, text).range(index_span));
                    return Operand::Value(self.error_value(expr.span));
                }
                if matches!(self.kind(to.ty), TypeKind::BlockPointer(_)) {
                    let text = format!(
                        "dereferencing pointer of type {} is not allowed in OpenCL",
                        self.describe_ty(value.ty)
                    );
                    self.error(base_span, text);
                    return Operand::Value(self.error_value(expr.span));
                }
                let pointer = self.move_pointer(value, to, index, false, expr.span);
                Operand::Place(self.deref_place(pointer, to, expr.span))
            }
        }
    }

    /// An element of an array.
    fn element(&mut self, place: Place, index: Expr, span: Span) -> Place {
        let TypeKind::Array(element, count) = *self.kind(place.ty.ty) else { return place };
        if let (ExprKind::Constant(_), Some(count)) = (&index.kind, count)
            && let Some(number) = self.evaluate_integer(&index)
            && (number < 0 || number > i128::from(count) || number == i128::from(count) && count > 0)
        {
            let ty = self.describe(place.ty);
            let text = if number < 0 {
                format!("array index {number} is before the beginning of the array")
            } else {
                format!("array index {number} is past the end of the array (that has type {ty})")
            };
            // One past the end has an address; whether it is read is not known here.
            if number != i128::from(count) {
                self.report(Diagnostic::warning(place.span, "array-bounds", text).range(index.span));
            }
        }
        let ty = QualTy { quals: merged(element, place.ty), ..element };
        Place { kind: PlaceKind::Index(Box::new(place), Box::new(index)), ty, span }
    }

    fn lane_of_place(&mut self, place: Place, index: Expr, span: Span) -> Operand {
        let Some((scalar, lanes)) = self.lanes(place.ty.ty) else { return Operand::Place(place) };
        let ty = QualTy { ty: self.scalar_ty(scalar), quals: place.ty.quals };
        let constant = self.constant_lane(&index, lanes);
        match (place.kind, constant) {
            (PlaceKind::Lanes(inner, outer), Some(lane)) => {
                let lane = outer.get(usize::from(lane)).copied().unwrap_or(0);
                Operand::Place(Place { kind: PlaceKind::Lanes(inner, vec![lane]), ty, span })
            }
            (kind @ PlaceKind::Lanes(..), None) => {
                let value = self.load(Place { kind, ..place });
                self.lane_of_value(value, index, span)
            }
            (kind, Some(lane)) => {
                let inner = Place { kind, ..place };
                Operand::Place(Place { kind: PlaceKind::Lanes(Box::new(inner), vec![lane]), ty, span })
            }
            (kind, None) => {
                let inner = Place { kind, ..place };
                Operand::Place(Place { kind: PlaceKind::Lane(Box::new(inner), Box::new(index)), ty, span })
            }
        }
    }

    fn lane_of_value(&mut self, value: Expr, index: Expr, span: Span) -> Operand {
        let Some((scalar, lanes)) = self.lanes(value.ty) else { return Operand::Value(value) };
        let ty = self.scalar_ty(scalar);
        if let Some(lane) = self.constant_lane(&index, lanes) {
            return Operand::Value(self.make(ExprKind::Swizzle(Box::new(value), vec![lane]), ty, span));
        }
        let place = self.temporary(value);
        let kind = PlaceKind::Lane(Box::new(place), Box::new(index));
        Operand::Value(self.load(Place { kind, ty: QualTy::plain(ty), span }))
    }

    fn constant_lane(&self, index: &Expr, lanes: u8) -> Option<u8> {
        let ExprKind::Constant(_) = index.kind else { return None };
        let number = self.evaluate_integer(index)?;
        u8::try_from(number).ok().filter(|lane| *lane < lanes)
    }
}
