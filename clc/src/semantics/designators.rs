//! Designators in initializer lists.

use std::collections::BTreeMap;

use super::Checker;
use super::initializers::{Cursor, Node};
use crate::limits;
use crate::source::Span;
use crate::syntax::ast::{self, Designator};
use crate::types::{Ty, TypeKind};

impl Checker<'_, '_> {
    /// A member that a designator names, and those that follow in the same aggregate. Returns the number after the member in
    /// the outermost aggregate.
    pub(super) fn designated(
        &mut self,
        ty: Ty,
        members: &mut BTreeMap<u32, Node>,
        designators: &[Designator],
        cursor: &mut Cursor<'_>,
    ) -> Option<u64> {
        let (first, rest) = designators.split_first()?;
        let (path, last, span) = match first {
            Designator::Field(name) => {
                let TypeKind::Record(id) = *self.module.types.kind(ty) else {
                    let text = format!(
                        "field designator cannot initialize a non-struct, non-union type {}",
                        self.describe_ty(ty)
                    );
                    self.error(name.span, text);
                    return None;
                };
                let Some(path) = self.find_member(id, name.symbol) else {
                    let text = format!(
                        "field designator '{}' does not refer to any field in type {}",
                        self.text(name.symbol),
                        self.describe_ty(ty)
                    );
                    self.error(name.span, text);
                    return None;
                };
                let index = *path.first()?;
                if self.module.types.record(id).is_union {
                    members.retain(|member, _| *member == index);
                }
                (path, u64::from(index), name.span)
            }
            Designator::Index(low, high) => {
                let (first, last) = self.designated_range(ty, low, high.as_ref())?;
                (vec![u32::try_from(first).ok()?], last, low.span)
            }
        };
        let number = *path.first()?;
        if let TypeKind::Array(..) = self.module.types.kind(ty) {
            let end = members.last_key_value().map_or(0, |(last, _)| u64::from(*last) + 1);
            self.count_unlisted(u64::from(number).saturating_sub(end), span)?;
        }
        let child = self.member_type(ty, number)?;
        let inner_path = path.get(1..)?;
        self.designated_member(child, members, number, inner_path, rest, cursor)?;
        let start = u64::from(number);
        if last > start {
            let node = members.get(&number)?.clone();
            self.count_unlisted((last - start).saturating_mul(node.elements()), span)?;
            for index in start + 1..=last {
                members.insert(u32::try_from(index).ok()?, node.clone());
            }
        }
        Some(last + 1)
    }

    /// Counts elements of arrays that a range repeats or a designator skips. `None`, and an error, if they are too many.
    fn count_unlisted(&mut self, count: u64, span: Span) -> Option<()> {
        self.unlisted = self.unlisted.saturating_add(count);
        if self.unlisted <= limits::CONSTANT_ELEMENTS {
            return Some(());
        }
        let limit = limits::CONSTANT_ELEMENTS;
        self.error(span, format!("designators repeat or skip more than {limit} array elements"));
        None
    }

    /// The bounds of an index designator.
    fn designated_range(&mut self, ty: Ty, low: &ast::Expr, high: Option<&ast::Expr>) -> Option<(u64, u64)> {
        let TypeKind::Array(_, count) = *self.module.types.kind(ty) else {
            let text = format!("array designator cannot initialize non-array type {}", self.describe_ty(ty));
            self.error(low.span, text);
            return None;
        };
        let (first, _) = self.integer_constant(low, "")?;
        let last = match high {
            Some(high) => self.integer_constant(high, "")?.0,
            None => first,
        };
        if first < 0 {
            self.error(low.span, format!("array designator value '{first}' is negative"));
            return None;
        }
        if last < first {
            self.error(low.span, format!("array designator range [{first}, {last}] is empty"));
            return None;
        }
        let bound = count.unwrap_or(limits::CONSTANT_ELEMENTS);
        if last >= i128::from(bound) || last >= i128::from(limits::CONSTANT_ELEMENTS) {
            let text = format!("array designator index ({last}) exceeds array bounds ({bound})");
            self.error(low.span, text);
            return None;
        }
        Some((first as u64, last as u64))
    }

    /// Sets a member: the rest of a path through anonymous records, then the rest of the designators.
    fn designated_member(
        &mut self,
        ty: Ty,
        members: &mut BTreeMap<u32, Node>,
        number: u32,
        path: &[u32],
        designators: &[Designator],
        cursor: &mut Cursor<'_>,
    ) -> Option<()> {
        if path.is_empty() && designators.is_empty() {
            let node = self.next_member(ty, cursor)?;
            members.insert(number, node);
            return Some(());
        }
        let mut inner = match members.remove(&number) {
            Some(Node::Members(_, inner)) => inner,
            // A value as a whole, some of whose members are replaced: the replaced ones count.
            Some(Node::Value(_)) | None => BTreeMap::new(),
        };
        let next = match path.split_first() {
            Some((first, rest)) => {
                let child = self.member_type(ty, *first)?;
                if let TypeKind::Record(id) = self.module.types.kind(ty)
                    && self.module.types.record(*id).is_union
                {
                    inner.retain(|member, _| member == first);
                }
                self.designated_member(child, &mut inner, *first, rest, designators, cursor)?;
                u64::from(*first) + 1
            }
            None => self.designated(ty, &mut inner, designators, cursor)?,
        };
        // Items without designators go on after the member.
        let good = self.fill(ty, &mut inner, cursor, next, false);
        members.insert(number, Node::Members(ty, inner));
        good.then_some(())
    }
}
