//! What names mean.

use rustc_hash::FxHashMap;

use super::Checker;
use crate::source::{Span, Symbol};
use crate::tree::{FunctionId, GlobalId, LocalId};
use crate::types::{EnumId, QualTy, RecordId, Ty};

/// What an ordinary name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    /// A parameter or an automatic variable of the function that is checked.
    Local(LocalId),
    /// A local of a function around the block literal that is checked, and the index of that function in
    /// [`Checker::states`]. [`Checker::capture`] makes a place of it.
    Captured(LocalId, usize),
    /// A global, or a `static` or `local` variable of a function.
    Global(GlobalId),
    /// Functions of the program: several if they are `overloadable`.
    Functions(Vec<FunctionId>),
    /// A `typedef`.
    Typedef(QualTy),
    /// A constant of an enumeration: its value, and its type in expressions.
    EnumConstant(i64, Ty),
}

/// What a tag means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// A `struct` or a `union`.
    Record(RecordId),
    /// An `enum`.
    Enum(EnumId),
}

/// An ordinary name that is declared.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// What it means.
    pub entity: Entity,
    /// Where it was declared last.
    pub span: Span,
    /// The depth of the scope in which it is declared.
    pub scope: u32,
    /// For locals: the index of the function in [`Checker::states`].
    pub state: usize,
}

/// The scopes around the point that is checked. Each name has a stack of meanings, so a look-up is one access.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    names: FxHashMap<Symbol, Vec<Named>>,
    tags: FxHashMap<Symbol, Vec<(Tag, u32)>>,
    /// The names and tags (flag set) that each open scope declares, file scope excluded.
    open: Vec<Vec<(Symbol, bool)>>,
}

impl Scopes {
    /// The file scope.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The depth of the innermost scope: 0 is file scope.
    pub(crate) fn depth(&self) -> u32 {
        self.open.len() as u32
    }

    /// Opens a scope.
    pub(crate) fn push(&mut self) {
        self.open.push(Vec::new());
    }

    /// Closes the innermost scope.
    pub(crate) fn pop(&mut self) {
        for (name, is_tag) in self.open.pop().unwrap_or_default() {
            if is_tag {
                if let Some(list) = self.tags.get_mut(&name) {
                    list.pop();
                }
            } else if let Some(list) = self.names.get_mut(&name) {
                list.pop();
            }
        }
    }

    /// The innermost meaning of an ordinary name.
    pub(crate) fn find(&self, name: Symbol) -> Option<&Named> {
        self.names.get(&name)?.last()
    }

    /// All ordinary names that are visible, in no order.
    pub(crate) fn visible(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.names.iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| *name)
    }

    /// The meaning of an ordinary name in the innermost scope.
    pub(crate) fn find_here(&self, name: Symbol) -> Option<&Named> {
        self.find(name).filter(|named| named.scope == self.depth())
    }

    /// The meaning of an ordinary name at file scope.
    pub(crate) fn find_outermost(&self, name: Symbol) -> Option<&Named> {
        self.names.get(&name)?.first().filter(|named| named.scope == 0)
    }

    /// Gives a name a meaning in the innermost scope, in place of what it had there.
    pub(crate) fn set(&mut self, name: Symbol, entity: Entity, span: Span, state: usize) {
        let scope = self.depth();
        let named = Named { entity, span, scope, state };
        let list = self.names.entry(name).or_default();
        match list.last_mut() {
            Some(last) if last.scope == scope => *last = named,
            _ => {
                list.push(named);
                if let Some(open) = self.open.last_mut() {
                    open.push((name, false));
                }
            }
        }
    }

    /// Gives a name a meaning at file scope, whatever the innermost scope is.
    pub(crate) fn set_outermost(&mut self, name: Symbol, entity: Entity, span: Span) {
        let named = Named { entity, span, scope: 0, state: 0 };
        let list = self.names.entry(name).or_default();
        match list.first_mut() {
            Some(first) if first.scope == 0 => *first = named,
            _ => list.insert(0, named),
        }
    }

    /// The innermost meaning of a tag.
    pub(crate) fn find_tag(&self, name: Symbol) -> Option<Tag> {
        Some(self.tags.get(&name)?.last()?.0)
    }

    /// The meaning of a tag in the innermost scope.
    pub(crate) fn find_tag_here(&self, name: Symbol) -> Option<Tag> {
        self.tags.get(&name)?.last().filter(|(_, scope)| *scope == self.depth()).map(|(tag, _)| *tag)
    }

    /// Gives a tag a meaning in the innermost scope.
    pub(crate) fn set_tag(&mut self, name: Symbol, tag: Tag) {
        let scope = self.depth();
        self.tags.entry(name).or_default().push((tag, scope));
        if let Some(open) = self.open.last_mut() {
            open.push((name, true));
        }
    }
}

impl Checker<'_, '_> {
    /// What an ordinary name means: the innermost declaration. Names that OpenCL C declares (`memory_order_relaxed`) are
    /// entities as well; built-in functions and types are not.
    pub(crate) fn lookup(&self, name: Symbol) -> Option<Entity> {
        if let Some(named) = self.scopes.find(name) {
            if let Entity::Local(local) = named.entity
                && named.state + 1 < self.states.len()
            {
                return Some(Entity::Captured(local, named.state));
            }
            return Some(named.entity.clone());
        }
        self.predeclared_constant(name)
    }
}
