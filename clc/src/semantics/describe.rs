//! Types as diagnostics print them.

use super::Checker;
use crate::types::{Access, AddressSpace, ImageShape, QualTy, Quals, Ty, TypeKind};

/// An address space as it is written in a type.
pub(crate) fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Private => "__private",
        AddressSpace::Global => "__global",
        AddressSpace::Constant => "__constant",
        AddressSpace::Local => "__local",
        AddressSpace::Generic => "__generic",
    }
}

/// An access qualifier as it is written in a type.
pub(crate) fn access_name(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "__read_only",
        Access::WriteOnly => "__write_only",
        Access::ReadWrite => "__read_write",
    }
}

/// The name of an image type.
pub(crate) fn image_name(shape: ImageShape) -> &'static str {
    ImageShape::NAMES.iter().find(|(one, _)| *one == shape).map_or("image", |(_, name)| name)
}

/// Qualifiers before a type, each with a blank after it. The address space is left out if it is `hidden`.
fn before(quals: Quals, hidden: bool) -> String {
    let mut text = String::new();
    for (is, word) in [(quals.is_const, "const "), (quals.is_volatile, "volatile "), (quals.is_restrict, "restrict ")] {
        if is {
            text.push_str(word);
        }
    }
    if !hidden {
        text.push_str(space_name(quals.space));
        text.push(' ');
    }
    text
}

impl Checker<'_, '_> {
    /// A qualified type as clang prints it in quotes: `'__global int *'`.
    pub(crate) fn describe(&self, ty: QualTy) -> String {
        format!("'{}'", self.spell(ty))
    }

    /// A type without qualifiers, likewise.
    pub(crate) fn describe_ty(&self, ty: Ty) -> String {
        self.describe(QualTy::plain(ty))
    }

    /// A type as clang prints it, without quotes. The private address space is not shown at the outermost level.
    pub(crate) fn spell(&self, ty: QualTy) -> String {
        self.spell_around(ty, String::new(), ty.quals.space == AddressSpace::Private)
    }

    /// A type around a declarator.
    fn spell_around(&self, ty: QualTy, inner: String, hidden: bool) -> String {
        let types = &self.module.types;
        let join = |name: &str| {
            let blank = if inner.is_empty() || inner.starts_with('[') { "" } else { " " };
            format!("{}{name}{blank}{inner}", before(ty.quals, hidden))
        };
        let pointer = |to: QualTy, star: char, hidden: bool| {
            let own = before(ty.quals, ty.quals.space == AddressSpace::Private);
            let mut declarator = format!("{star}{}{inner}", own.trim_end());
            if matches!(types.kind(to.ty), TypeKind::Array(..) | TypeKind::Function(_)) {
                declarator = format!("({declarator})");
            }
            self.spell_around(to, declarator, hidden)
        };
        match types.kind(ty.ty) {
            TypeKind::Error => join("<error>"),
            TypeKind::Void => join("void"),
            TypeKind::Scalar(scalar) => join(scalar.name()),
            TypeKind::Vector(scalar, lanes) => join(&format!("{}{lanes}", scalar.name())),
            TypeKind::Pointer(to) => pointer(*to, '*', false),
            TypeKind::FunctionPointer(to) => pointer(QualTy::plain(*to), '*', true),
            TypeKind::BlockPointer(to) => pointer(QualTy::plain(*to), '^', true),
            TypeKind::Array(element, count) => {
                let count = count.map_or_else(String::new, |count| count.to_string());
                let mut element = *element;
                element.quals.is_const |= ty.quals.is_const;
                element.quals.is_volatile |= ty.quals.is_volatile;
                element.quals.is_restrict |= ty.quals.is_restrict;
                element.quals.space = ty.quals.space;
                self.spell_around(element, format!("{inner}[{count}]"), hidden)
            }
            TypeKind::Function(function) => {
                let mut list: Vec<String> = function.parameters.iter().map(|one| self.spell(*one)).collect();
                if function.is_variadic {
                    list.push("...".to_owned());
                }
                if list.is_empty() {
                    list.push("void".to_owned());
                }
                self.spell_around(QualTy::plain(function.result), format!("{inner}({})", list.join(", ")), true)
            }
            TypeKind::Record(id) => {
                let record = types.record(*id);
                let word = if record.is_union { "union" } else { "struct" };
                match record.name {
                    Some(name) if self.untagged.contains(&ty.ty) => join(self.text(name)),
                    Some(name) => join(&format!("{word} {}", self.text(name))),
                    None => join(&format!("{word} (unnamed)")),
                }
            }
            TypeKind::Enum(id) => match types.enumeration(*id).name {
                Some(name) if self.untagged.contains(&ty.ty) => join(self.text(name)),
                Some(name) => join(&format!("enum {}", self.text(name))),
                None => join("enum (unnamed)"),
            },
            TypeKind::Atomic(of) => join(&format!("_Atomic({})", self.spell(QualTy::plain(*of)))),
            TypeKind::Image(shape, access) => join(&format!("{} {}", access_name(*access), image_name(*shape))),
            TypeKind::Pipe(of, access) => join(&format!(
                "{} pipe {}",
                access_name(*access).trim_start_matches('_'),
                self.spell(QualTy::plain(*of))
            )),
            TypeKind::Sampler => join("sampler_t"),
            TypeKind::Event => join("event_t"),
            TypeKind::ClkEvent => join("clk_event_t"),
            TypeKind::Queue => join("queue_t"),
            TypeKind::NdRange => join("ndrange_t"),
            TypeKind::ReserveId => join("reserve_id_t"),
            TypeKind::NamedBarrier => join("named_barrier_t"),
        }
    }
}
