//! Initializers: values for objects, from expressions and brace-enclosed lists.

use std::collections::BTreeMap;

use super::{Assigning, Checker, Operand};
use crate::limits;
use crate::source::Span;
use crate::syntax::ast::{self, InitItem, InitList, Initializer};
use crate::tree::{Constant, Expr, ExprKind, Place, PlaceKind};
use crate::types::{QualTy, Scalar, Ty, TypeKind};

/// The value of an object that is being put together.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A value.
    Value(Expr),
    /// Members or elements by their number; the others are zeros.
    Members(Ty, BTreeMap<u32, Node>),
}

impl Node {
    /// Number of values in it: what a copy costs.
    pub(super) fn elements(&self) -> u64 {
        match self {
            Node::Value(Expr { kind: ExprKind::Constant(constant), .. }) => constant.elements(),
            Node::Value(_) => 1,
            Node::Members(_, members) => 1 + members.values().map(Node::elements).sum::<u64>(),
        }
    }
}

/// The items of a list, and how far they are used.
pub(super) struct Cursor<'a> {
    items: &'a [InitItem],
    at: usize,
    /// The value of the current item, if it was checked already to know its type.
    pending: Option<Expr>,
}

impl<'a> Cursor<'a> {
    fn new(items: &'a [InitItem]) -> Self {
        Self { items, at: 0, pending: None }
    }

    fn item(&self) -> Option<&'a InitItem> {
        self.items.get(self.at)
    }

    fn advance(&mut self) {
        self.at += 1;
        self.pending = None;
    }
}

impl Checker<'_, '_> {
    /// The value of an initializer for an object of a type, and the type: that of an array of unknown size is completed.
    /// `None` if there is an error; it was reported.
    pub(crate) fn initialize(&mut self, target: QualTy, init: &Initializer, span: Span) -> Option<(QualTy, Expr)> {
        if *self.module.types.kind(target.ty) == TypeKind::Error {
            // The expressions are checked all the same.
            if let Initializer::Expr(expr) = init {
                self.expr(expr);
            }
            return None;
        }
        let (ty, value) = match init {
            Initializer::Expr(expr) => self.initialize_with(target.ty, expr)?,
            Initializer::List(list) => self.initialize_list(target.ty, list, span)?,
        };
        Some((QualTy { ty, quals: target.quals }, self.fold_initializer(value)))
    }

    /// A constant in place of a tree of constants.
    pub(super) fn fold_initializer(&self, mut value: Expr) -> Expr {
        if matches!(value.kind, ExprKind::Aggregate(_))
            && let Some(constant) = self.evaluate(&value)
        {
            value.kind = ExprKind::Constant(if constant.is_zero() { Constant::Zero } else { constant });
        }
        value
    }

    /// `= expression`
    fn initialize_with(&mut self, ty: Ty, expr: &ast::Expr) -> Option<(Ty, Expr)> {
        if let TypeKind::Array(element, count) = *self.module.types.kind(ty) {
            if let Some(value) = self.initialize_string(element.ty, count, expr) {
                return value;
            }
            // An array literal (GNU) or an error.
            if let Operand::Place(Place { kind: PlaceKind::Temporary(_, value), .. }) = self.operand(expr)
                && self.is_compatible(value.ty, ty)
            {
                return Some((value.ty, *value));
            }
            let text = if self.is_character(element.ty) {
                "array initializer must be an initializer list or string literal"
            } else {
                "array initializer must be an initializer list"
            };
            self.error(expr.span, text);
            return None;
        }
        let value = self.expr(expr);
        Some((ty, self.initialize_value(ty, value)?))
    }

    /// The implicit conversion of an initializer's value.
    fn initialize_value(&mut self, ty: Ty, value: Expr) -> Option<Expr> {
        if *self.module.types.kind(value.ty) == TypeKind::Error {
            return None;
        }
        let target = self.module.types.kind(ty).atomic_value().unwrap_or(ty);
        let mut value = self.convert_assign(value, target, Assigning::Initialization);
        if *self.module.types.kind(value.ty) == TypeKind::Error {
            return None;
        }
        if value.ty == target && target != ty {
            value.ty = ty;
        }
        Some(value)
    }

    /// Whether a type is one of those that a string literal initializes an array of.
    fn is_character(&self, ty: Ty) -> bool {
        matches!(self.module.types.kind(ty), TypeKind::Scalar(Scalar::Char | Scalar::UChar))
    }

    /// A string literal as the value of an array. The outer `None` means that it is something else.
    fn initialize_string(&mut self, element: Ty, count: Option<u64>, expr: &ast::Expr) -> Option<Option<(Ty, Expr)>> {
        let mut inner = expr;
        while let ast::ExprKind::Paren(of) = &inner.kind {
            inner = of;
        }
        if !matches!(inner.kind, ast::ExprKind::String(_)) || !self.is_character(element) {
            return None;
        }
        let Operand::Place(Place { kind: PlaceKind::Global(id), .. }) = self.operand(inner) else { return Some(None) };
        let Some(Constant::Bytes(bytes)) =
            self.module.globals.get(id.0 as usize).and_then(|global| global.init.clone())
        else {
            return Some(None);
        };
        let size = count.unwrap_or(bytes.len() as u64 + 1);
        if bytes.len() as u64 > size {
            self.warning(expr.span, "excess-initializers", "initializer-string for char array is too long");
        }
        let bytes: Vec<u8> = bytes.into_iter().take(usize::try_from(size).unwrap_or(usize::MAX)).collect();
        let ty = self.module.types.intern(TypeKind::Array(QualTy::plain(element), Some(size)));
        Some(Some((ty, Expr { kind: ExprKind::Constant(Constant::Bytes(bytes)), ty, span: expr.span })))
    }

    /// `= { ... }`
    pub(super) fn initialize_list(&mut self, ty: Ty, list: &InitList, span: Span) -> Option<(Ty, Expr)> {
        if !self.enter(span) {
            return None;
        }
        let node = self.list_node(ty, list);
        self.leave();
        let (ty, node) = node?;
        Some((ty, self.node_value(ty, node, list.span)))
    }

    /// The value of a node.
    fn node_value(&self, ty: Ty, node: Node, span: Span) -> Expr {
        match node {
            Node::Value(value) => value,
            Node::Members(own, members) => {
                let list = members.into_iter().map(|(index, node)| {
                    let member = self.member_type(own, index).unwrap_or_else(|| self.module.types.error());
                    (index, self.node_value(member, node, span))
                });
                let list: Vec<(u32, Expr)> = list.collect();
                if list.is_empty() {
                    return Expr { kind: ExprKind::Constant(Constant::Zero), ty, span };
                }
                Expr { kind: ExprKind::Aggregate(list), ty, span }
            }
        }
    }

    /// The type of a member or element.
    pub(super) fn member_type(&self, ty: Ty, index: u32) -> Option<Ty> {
        self.module.types.member(ty, index).map(|member| member.ty)
    }

    /// The value of a brace-enclosed list; arrays of unknown size are completed.
    fn list_node(&mut self, ty: Ty, list: &InitList) -> Option<(Ty, Node)> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other types are those of single values")]
        match *self.module.types.kind(ty) {
            TypeKind::Array(element, count) => {
                // `char s[] = {"text"}`
                if let [InitItem { designators, value: Initializer::Expr(expr) }] = &list.items[..]
                    && designators.is_empty()
                    && let Some(value) = self.initialize_string(element.ty, count, expr)
                {
                    return value.map(|(ty, value)| (ty, Node::Value(value)));
                }
                let mut members = BTreeMap::new();
                let mut cursor = Cursor::new(&list.items);
                let complete = self.fill(ty, &mut members, &mut cursor, 0, true);
                let found = members.last_key_value().map_or(0, |(last, _)| u64::from(*last) + 1);
                let ty = match count {
                    Some(_) => ty,
                    None => self.module.types.intern(TypeKind::Array(element, Some(found))),
                };
                complete.then_some((ty, Node::Members(ty, members)))
            }
            TypeKind::Record(_) => {
                let mut members = BTreeMap::new();
                let mut cursor = Cursor::new(&list.items);
                let complete = self.fill(ty, &mut members, &mut cursor, 0, true);
                complete.then_some((ty, Node::Members(ty, members)))
            }
            TypeKind::Vector(scalar, lanes) => {
                let mut cursor = Cursor::new(&list.items);
                let value = self.vector_value(ty, scalar, lanes, &mut cursor, list.span)?;
                self.excess(&cursor, "vector");
                Some((ty, Node::Value(value)))
            }
            _ => self.scalar_list(ty, list),
        }
    }

    /// `{ value }` for a scalar.
    fn scalar_list(&mut self, ty: Ty, list: &InitList) -> Option<(Ty, Node)> {
        let Some(first) = list.items.first() else {
            return Some((ty, Node::Value(Expr { kind: ExprKind::Constant(Constant::Zero), ty, span: list.span })));
        };
        if !first.designators.is_empty() {
            let text = format!("designator in initializer for scalar type {}", self.describe_ty(ty));
            self.error(list.span, text);
            return None;
        }
        let value = match &first.value {
            Initializer::Expr(expr) => {
                let value = self.expr(expr);
                self.initialize_value(ty, value)?
            }
            Initializer::List(inner) => {
                if !self.enter(list.span) {
                    return None;
                }
                let node = self.list_node(ty, inner);
                self.leave();
                match node?.1 {
                    Node::Value(value) => value,
                    node @ Node::Members(..) => self.node_value(ty, node, inner.span),
                }
            }
        };
        if let Some(second) = list.items.get(1) {
            let span = initializer_span(&second.value);
            self.warning(span, "excess-initializers", "excess elements in scalar initializer");
        }
        Some((ty, Node::Value(value)))
    }

    /// Reports items that nothing is left for.
    fn excess(&mut self, cursor: &Cursor<'_>, what: &str) {
        if let Some(item) = cursor.item() {
            let span = initializer_span(&item.value);
            let text = format!("excess elements in {what} initializer");
            if what == "vector" {
                self.error(span, text);
            } else {
                self.warning(span, "excess-initializers", text);
            }
        }
    }

    /// Members or elements from the items of a list, from number `from`. `braced` tells that the list is that of the type
    /// itself: otherwise the items that do not fit are left to the type around. False if there was an error.
    pub(super) fn fill(
        &mut self,
        ty: Ty,
        members: &mut BTreeMap<u32, Node>,
        cursor: &mut Cursor<'_>,
        from: u64,
        braced: bool,
    ) -> bool {
        let (count, is_union, what) = if let TypeKind::Array(_, count) = self.module.types.kind(ty) {
            (count.unwrap_or(limits::CONSTANT_ELEMENTS), false, "array")
        } else if let TypeKind::Record(id) = self.module.types.kind(ty) {
            let record = self.module.types.record(*id);
            let word = if record.is_union { "union" } else { "struct" };
            (record.fields.len() as u64, record.is_union, word)
        } else {
            return false;
        };
        let mut index = from;
        let mut good = true;
        // Elements without members use no items, however many there are.
        let mut stuck = false;
        while let Some(item) = cursor.item() {
            if !item.designators.is_empty() {
                if !braced {
                    return good;
                }
                match self.designated(ty, members, &item.designators, cursor) {
                    Some(next) => index = next,
                    None => {
                        good = false;
                        cursor.advance();
                    }
                }
                continue;
            }
            let full = stuck || if is_union { index > 0 || (count == 0) } else { index >= count };
            if full {
                if braced {
                    self.excess(cursor, what);
                    // What is in excess is checked, and left out.
                    while cursor.item().is_some() {
                        cursor.advance();
                    }
                }
                return good;
            }
            let Ok(number) = u32::try_from(index) else { return false };
            if index >= limits::CONSTANT_ELEMENTS {
                self.error(initializer_span(&item.value), "array is too large to be initialized");
                return false;
            }
            let Some(member) = self.member_type(ty, number) else { return false };
            let before = cursor.at;
            match self.next_member(member, cursor) {
                Some(node) => {
                    members.insert(number, node);
                }
                None => good = false,
            }
            index += 1;
            stuck = cursor.at == before && what == "array";
        }
        good
    }

    /// The value of one member from the items of a list.
    pub(super) fn next_member(&mut self, ty: Ty, cursor: &mut Cursor<'_>) -> Option<Node> {
        let item = cursor.item()?;
        let expr = match &item.value {
            Initializer::List(list) => {
                cursor.advance();
                if !self.enter(list.span) {
                    return None;
                }
                let node = self.list_node(ty, list);
                self.leave();
                return node.map(|(_, node)| node);
            }
            Initializer::Expr(expr) => expr,
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other types are those of single values")]
        match *self.module.types.kind(ty) {
            TypeKind::Array(element, count) => {
                if cursor.pending.is_none()
                    && let Some(value) = self.initialize_string(element.ty, count, expr)
                {
                    cursor.advance();
                    return value.map(|(_, value)| Node::Value(value));
                }
                if count.is_none() {
                    self.error(expr.span, "initialization of flexible array member is not allowed");
                    cursor.advance();
                    return None;
                }
                self.elided(ty, cursor)
            }
            TypeKind::Record(_) => {
                if is_string(expr) {
                    return self.elided(ty, cursor);
                }
                let value = self.pending(expr, cursor);
                if *self.module.types.kind(value.ty) == TypeKind::Error {
                    cursor.advance();
                    return None;
                }
                if self.is_compatible(value.ty, ty) {
                    cursor.advance();
                    return Some(Node::Value(value));
                }
                cursor.pending = Some(value);
                self.elided(ty, cursor)
            }
            _ => {
                let value = self.pending(expr, cursor);
                cursor.advance();
                self.initialize_value(ty, value).map(Node::Value)
            }
        }
    }

    /// The value of the current item.
    fn pending(&mut self, expr: &ast::Expr, cursor: &mut Cursor<'_>) -> Expr {
        match cursor.pending.take() {
            Some(value) => value,
            None => self.expr(expr),
        }
    }

    /// An aggregate whose braces are left out.
    fn elided(&mut self, ty: Ty, cursor: &mut Cursor<'_>) -> Option<Node> {
        let span = cursor.item().map_or(Span::NONE, |item| initializer_span(&item.value));
        let before = cursor.at;
        if !self.enter(span) {
            return None;
        }
        let mut members = BTreeMap::new();
        let good = self.fill(ty, &mut members, cursor, 0, false);
        self.leave();
        if cursor.at == before && !members.is_empty() {
            cursor.advance();
        }
        if cursor.at == before && good && self.has_no_members(ty) {
            return Some(Node::Members(ty, members));
        }
        if cursor.at == before {
            cursor.advance();
        }
        good.then_some(Node::Members(ty, members))
    }

    fn has_no_members(&self, ty: Ty) -> bool {
        if let TypeKind::Record(id) = self.module.types.kind(ty) {
            return self.module.types.record(*id).fields.is_empty();
        }
        matches!(self.module.types.kind(ty), TypeKind::Array(_, Some(0)))
    }

    /// The lanes of a vector from the items of a list: scalars, and vectors of the same element.
    fn vector_value(&mut self, ty: Ty, scalar: Scalar, lanes: u8, cursor: &mut Cursor<'_>, span: Span) -> Option<Expr> {
        let mut parts = Vec::new();
        let mut have = 0_u8;
        let mut good = true;
        let element = self.module.types.scalar(scalar);
        while have < lanes {
            let Some(item) = cursor.item().filter(|item| item.designators.is_empty()) else { break };
            let value = match &item.value {
                Initializer::Expr(expr) => self.pending(expr, cursor),
                Initializer::List(list) => {
                    let Some((_, value)) = self.initialize_list(element, list, span) else {
                        good = false;
                        cursor.advance();
                        continue;
                    };
                    value
                }
            };
            if let TypeKind::Vector(other, count) = *self.module.types.kind(value.ty) {
                if other == scalar && count <= lanes - have {
                    have += count;
                    parts.push(value);
                    cursor.advance();
                    continue;
                }
                if have > 0 && other == scalar {
                    break;
                }
            }
            cursor.advance();
            have += 1;
            match self.initialize_value(element, value) {
                Some(value) => parts.push(value),
                None => good = false,
            }
        }
        if !good {
            return None;
        }
        if let [only] = &parts[..]
            && only.ty == ty
        {
            return parts.pop();
        }
        for _ in have..lanes {
            parts.push(Expr { kind: ExprKind::Constant(Constant::Zero), ty: element, span });
        }
        let value = Expr { kind: ExprKind::Vector(parts), ty, span };
        Some(self.fold(value))
    }
}

/// Where an initializer is.
fn initializer_span(init: &Initializer) -> Span {
    match init {
        Initializer::Expr(expr) => expr.span,
        Initializer::List(list) => list.span,
    }
}

/// Whether an expression is a string literal.
fn is_string(expr: &ast::Expr) -> bool {
    if let ast::ExprKind::Paren(inner) = &expr.kind {
        is_string(inner)
    } else {
        matches!(expr.kind, ast::ExprKind::String(_))
    }
}
