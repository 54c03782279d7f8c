//! `struct`, `union` and `enum`.

use super::scope::Tag;
use super::{Checker, Entity};
use crate::diagnostics::Diagnostic;
use crate::limits;
use crate::source::{Span, Symbol};
use crate::syntax::ast::{EnumSpecifier, Member, Name, RecordSpecifier, Storage, TypeSpecifier};
use crate::types::{
    AddressSpace, EnumId, Enumeration, Field, Layout, QualTy, Record, RecordId, Scalar, Ty, TypeKind, Uses,
};

/// What a member's place depends on besides its type.
#[derive(Clone, Copy, Debug, Default)]
struct Placement {
    /// `packed` on the member.
    packed: bool,
}

impl Checker<'_, '_> {
    /// The type of a `struct` or `union` specifier. `alone` tells that it is the whole declaration: `struct s;` declares a tag
    /// in the innermost scope.
    pub(crate) fn record_specifier(&mut self, specifier: &RecordSpecifier, alone: bool) -> Ty {
        let attributes = self.attributes(&specifier.attributes);
        let declares = specifier.members.is_some() || alone;
        let existing = specifier.name.and_then(|name| {
            if declares { self.scopes.find_tag_here(name.symbol) } else { self.scopes.find_tag(name.symbol) }
        });
        let id = match (existing, specifier.name) {
            (Some(Tag::Record(id)), _) if self.module.types.record(id).is_union == specifier.is_union => {
                if specifier.members.is_some() && self.module.types.record(id).is_complete {
                    let name = specifier.name.map_or("", |name| self.text(name.symbol)).to_owned();
                    let previous = self.module.types.record(id).span;
                    let span = specifier.name.map_or(specifier.span, |name| name.span);
                    let error = Diagnostic::error(span, format!("redefinition of '{name}'"));
                    self.report(error.note(previous, "previous definition is here"));
                    self.new_record(specifier)
                } else {
                    id
                }
            }
            (Some(tag), Some(name)) => {
                self.wrong_tag(tag, name, specifier.span);
                return self.module.types.error();
            }
            _ => {
                let id = self.new_record(specifier);
                if let Some(name) = specifier.name {
                    let word = if specifier.is_union { "union" } else { "struct" };
                    self.warn_visibility(word, name);
                    self.scopes.set_tag(name.symbol, Tag::Record(id));
                }
                id
            }
        };
        let ty = self.module.types.intern(TypeKind::Record(id));
        if let Some(members) = &specifier.members {
            let record = self.module.types.record_mut(id);
            record.is_packed |= attributes.packed;
            if attributes.align != 0 {
                record.align = Some(record.align.unwrap_or(0).max(attributes.align));
            }
            record.span = specifier.name.map_or(specifier.span, |name| name.span);
            let (fields, placements) = self.members(id, members, specifier.is_union);
            self.complete_record(id, fields, &placements, specifier.pack);
        }
        ty
    }

    fn new_record(&mut self, specifier: &RecordSpecifier) -> RecordId {
        self.module.types.add_record(Record {
            is_union: specifier.is_union,
            name: specifier.name.map(|name| name.symbol),
            fields: Vec::new(),
            is_complete: false,
            is_packed: false,
            align: None,
            layout: Layout::default(),
            depth: 1,
            span: specifier.name.map_or(specifier.span, |name| name.span),
        })
    }

    /// Warns of a tag that is declared in a parameter list.
    fn warn_visibility(&mut self, word: &str, name: Name) {
        if self.in_parameters {
            let name_text = self.text(name.symbol);
            let text = format!("declaration of '{word} {name_text}' will not be visible outside of this function");
            self.warning(name.span, "visibility", text);
        }
    }

    fn wrong_tag(&mut self, tag: Tag, name: Name, span: Span) {
        let previous = match tag {
            Tag::Record(id) => self.module.types.record(id).span,
            Tag::Enum(id) => self.module.types.enumeration(id).span,
        };
        let text =
            format!("use of '{}' with tag type that does not match previous declaration", self.text(name.symbol));
        self.report(Diagnostic::error(span, text).note(previous, "previous use is here"));
    }

    /// The members of a record.
    fn members(&mut self, id: RecordId, members: &[Member], is_union: bool) -> (Vec<Field>, Vec<Placement>) {
        let mut fields: Vec<Field> = Vec::new();
        let mut placements = Vec::new();
        let mut names = rustc_hash::FxHashMap::default();
        for member in members {
            let (specifiers, declarators) = match member {
                Member::Fields { specifiers, declarators } => (specifiers, declarators),
                Member::StaticAssert(assert) => {
                    self.static_assert(assert);
                    continue;
                }
            };
            if !specifiers.storage.is_empty() && specifiers.storage != Storage::KERNEL {
                self.error(specifiers.span, "type name does not allow storage class to be specified");
            } else if !specifiers.storage.is_empty() && !declarators.is_empty() {
                self.error(specifiers.span, "'__kernel' can only appear on functions");
            }
            let specified = self.specifiers(specifiers, declarators.is_empty());
            if declarators.is_empty() {
                self.anonymous_member(&specified.ty, specifiers, &mut fields, &mut placements, &mut names);
                continue;
            }
            for (declarator, width) in declarators {
                let declared = self.declarator(&specified, declarator);
                let span = declared.span;
                if width.is_some() {
                    self.error(span, "bit-fields are not supported in OpenCL");
                }
                let Some(name) = declared.name else { continue };
                if let Some(previous) = names.insert(name.symbol, name.span) {
                    let error = Diagnostic::error(span, format!("duplicate member '{}'", self.text(name.symbol)));
                    self.report(error.note(previous, "previous declaration is here"));
                    continue;
                }
                let mut ty = declared.ty;
                self.check_field(&mut ty, declared.space, name);
                if let Some(last) = fields.last()
                    && !is_union
                    && matches!(self.module.types.kind(last.ty.ty), TypeKind::Array(_, None))
                {
                    let (last_name, last_ty, last_span) = (last.name, last.ty, last.span);
                    let last_name = last_name.map_or("", |name| self.text(name));
                    let text = format!(
                        "flexible array member '{last_name}' with type {} is not at the end of struct",
                        self.describe(last_ty)
                    );
                    self.report(Diagnostic::error(last_span, text).note(span, "next field declaration is here"));
                }
                if let TypeSpecifier::Name(of) = &specifiers.ty
                    && declarator.parts.is_empty()
                    && self.is_device_sized(of.symbol)
                {
                    self.device_sized_fields.insert((id, fields.len() as u32));
                }
                let align = (declared.attributes.align != 0).then_some(declared.attributes.align);
                fields.push(Field { name: Some(name.symbol), ty, offset: 0, align, span });
                placements.push(Placement { packed: declared.attributes.packed });
            }
        }
        (fields, placements)
    }

    /// A `struct` or `union` member without a name; its members are as if they were the outer record's.
    fn anonymous_member(
        &mut self,
        ty: &QualTy,
        specifiers: &crate::syntax::ast::Specifiers,
        fields: &mut Vec<Field>,
        placements: &mut Vec<Placement>,
        names: &mut rustc_hash::FxHashMap<Symbol, Span>,
    ) {
        let crate::syntax::ast::TypeSpecifier::Record(specifier) = &specifiers.ty else {
            self.warning(specifiers.span, "missing-declarations", "declaration does not declare anything");
            return;
        };
        if specifier.name.is_some() || specifier.members.is_none() {
            self.warning(specifiers.span, "missing-declarations", "declaration does not declare anything");
            return;
        }
        let TypeKind::Record(id) = *self.module.types.kind(ty.ty) else { return };
        for (name, span) in self.member_names(id) {
            if let Some(previous) = names.insert(name, span) {
                let text = format!("member of anonymous struct redeclares '{}'", self.text(name));
                self.report(Diagnostic::error(span, text).note(previous, "previous declaration is here"));
            }
        }
        fields.push(Field { name: None, ty: *ty, offset: 0, align: None, span: specifiers.span });
        placements.push(Placement { packed: false });
    }

    /// The names of a record's members, those of anonymous members included.
    fn member_names(&self, id: RecordId) -> Vec<(Symbol, Span)> {
        let mut names = Vec::new();
        for field in &self.module.types.record(id).fields {
            match (field.name, self.module.types.kind(field.ty.ty)) {
                (Some(name), _) => names.push((name, field.span)),
                (None, TypeKind::Record(inner)) => names.extend(self.member_names(*inner)),
                (None, _) => {}
            }
        }
        names
    }

    /// Reports what a field cannot be.
    fn check_field(&mut self, ty: &mut QualTy, space: Option<(AddressSpace, Span)>, name: Name) {
        if let Some((written, at)) = space
            && written != AddressSpace::Private
        {
            self.error(at, "field may not be qualified with an address space");
        }
        ty.quals.space = AddressSpace::Private;
        let types = &self.module.types;
        let element = self.element_of_arrays(ty.ty);
        let kind = types.kind(element);
        let text = if *kind == TypeKind::Error {
            return;
        } else if kind.forbids(Uses::FIELD) {
            format!("the {} type cannot be used to declare a structure or union field", self.describe_ty(element))
        } else if matches!(kind, TypeKind::Function(_)) {
            format!("field '{}' declared as a function", self.text(name.symbol))
        } else if types.layout(element).is_none() {
            format!("field has incomplete type {}", self.describe_ty(element))
        } else {
            return;
        };
        self.error(name.span, text);
        ty.ty = self.module.types.error();
    }

    /// Whether it is `half`, of which the device has no objects.
    pub(crate) fn is_missing_half(&self, ty: Ty) -> bool {
        ty == self.module.types.scalar(Scalar::Half) && !self.has_half()
    }

    /// The type of an array's elements, through all dimensions; other types as they are.
    pub(crate) fn element_of_arrays(&self, mut ty: Ty) -> Ty {
        while let TypeKind::Array(element, _) = self.module.types.kind(ty) {
            ty = element.ty;
        }
        ty
    }

    /// Sets the fields of a record, their offsets, and its layout.
    fn complete_record(&mut self, id: RecordId, mut fields: Vec<Field>, placements: &[Placement], pack: Option<u32>) {
        let types = &self.module.types;
        let record = types.record(id);
        let pack = pack.filter(|pack| *pack != 0);
        let mut size = 0_u64;
        let mut align = 1_u32;
        for (field, placement) in fields.iter_mut().zip(placements) {
            let layout = self.field_layout(field.ty.ty);
            let mut own = if record.is_packed || placement.packed { 1 } else { field.ty.alignment(layout.align) };
            own = own.max(field.align.unwrap_or(1));
            if let Some(pack) = pack {
                own = own.min(pack);
            }
            align = align.max(own);
            if record.is_union {
                size = size.max(layout.size);
            } else {
                field.offset = size.next_multiple_of(u64::from(own));
                size = field.offset.saturating_add(layout.size);
            }
        }
        align = align.max(record.align.unwrap_or(1));
        let size = size.checked_next_multiple_of(u64::from(align)).unwrap_or(u64::MAX);
        let span = record.span;
        // `pack` is as if the record were packed, as far as accesses are concerned.
        let is_packed = record.is_packed || pack.is_some();
        if size > 1 << 60 {
            self.error(span, "structure is too large");
        }
        let depth = 1 + fields.iter().map(|field| self.record_depth(field.ty.ty)).max().unwrap_or(0);
        if depth > limits::NESTING {
            self.error(span, format!("structures are nested more than {} deep", limits::NESTING));
        }
        let record = self.module.types.record_mut(id);
        record.fields = fields;
        record.layout = Layout { size, align };
        record.depth = depth;
        record.is_packed = is_packed;
        record.is_complete = true;
    }

    /// How many records an object of a type consists of, one in another.
    fn record_depth(&self, ty: Ty) -> u32 {
        let TypeKind::Record(id) = *self.module.types.kind(self.element_of_arrays(ty)) else { return 0 };
        self.module.types.record(id).depth
    }

    /// Lays a record of a block's captures out.
    pub(crate) fn finish_captures(&mut self, id: RecordId) {
        let fields = self.module.types.record(id).fields.clone();
        let placements = vec![Placement::default(); fields.len()];
        self.complete_record(id, fields, &placements, None);
    }

    /// The layout of a field: a flexible array member has size 0.
    fn field_layout(&self, ty: Ty) -> Layout {
        if let TypeKind::Array(element, None) = self.module.types.kind(ty) {
            let natural = self.module.types.layout(element.ty).map_or(1, |layout| layout.align);
            return Layout { size: 0, align: element.alignment(natural) };
        }
        self.module.types.layout(ty).unwrap_or_default()
    }

    /// The path of member numbers that leads to a member: more than one number if it is in an anonymous record.
    pub(crate) fn find_member(&self, id: RecordId, name: Symbol) -> Option<Vec<u32>> {
        for (index, field) in self.module.types.record(id).fields.iter().enumerate() {
            if field.name == Some(name) {
                return Some(vec![index as u32]);
            }
            if field.name.is_none()
                && let TypeKind::Record(inner) = self.module.types.kind(field.ty.ty)
                && let Some(mut path) = self.find_member(*inner, name)
            {
                path.insert(0, index as u32);
                return Some(path);
            }
        }
        None
    }

    /// The type of an `enum` specifier.
    pub(crate) fn enum_specifier(&mut self, specifier: &EnumSpecifier) -> Ty {
        let attributes = self.attributes(&specifier.attributes);
        let existing = specifier.name.and_then(|name| {
            if specifier.constants.is_some() {
                self.scopes.find_tag_here(name.symbol)
            } else {
                self.scopes.find_tag(name.symbol)
            }
        });
        let id = match (existing, specifier.name) {
            (Some(Tag::Enum(id)), Some(name)) => {
                if specifier.constants.is_some() && self.module.types.enumeration(id).is_complete {
                    let previous = self.module.types.enumeration(id).span;
                    let error = Diagnostic::error(name.span, format!("redefinition of '{}'", self.text(name.symbol)));
                    self.report(error.note(previous, "previous definition is here"));
                    self.new_enum(specifier)
                } else {
                    id
                }
            }
            (Some(tag), Some(name)) => {
                self.wrong_tag(tag, name, specifier.span);
                return self.module.types.error();
            }
            _ => {
                let id = self.new_enum(specifier);
                if let Some(name) = specifier.name {
                    self.warn_visibility("enum", name);
                    self.scopes.set_tag(name.symbol, Tag::Enum(id));
                }
                id
            }
        };
        let ty = self.module.types.intern(TypeKind::Enum(id));
        if let Some(constants) = &specifier.constants {
            self.enum_constants(id, constants, attributes.packed);
        }
        ty
    }

    fn new_enum(&mut self, specifier: &EnumSpecifier) -> EnumId {
        self.module.types.add_enum(Enumeration {
            name: specifier.name.map(|name| name.symbol),
            scalar: Scalar::UInt,
            is_complete: false,
            span: specifier.name.map_or(specifier.span, |name| name.span),
        })
    }

    /// Declares the constants of an enumeration and chooses its type.
    fn enum_constants(&mut self, id: EnumId, constants: &[(Name, Option<crate::syntax::ast::Expr>)], packed: bool) {
        let mut values = Vec::new();
        let mut next = 0_i128;
        for (name, value) in constants {
            if let Some(expr) = value
                && let Some((value, _)) = self.integer_constant(expr, "")
            {
                next = value;
            }
            if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&next) {
                let text = "incremented enumerator value is not representable in the largest integer type";
                self.error(name.span, text);
                next = 0;
            }
            self.check_redeclared(*name, "enumerator");
            // Until the enumeration is complete a constant has a type that fits.
            let scalar = if i32::try_from(next).is_ok() { Scalar::Int } else { Scalar::Long };
            let entity = Entity::EnumConstant(next as i64, self.module.types.scalar(scalar));
            self.scopes.set(name.symbol, entity, name.span, self.states.len().saturating_sub(1));
            values.push((*name, next));
            next += 1;
        }
        let low = values.iter().map(|(_, value)| *value).min().unwrap_or(0);
        let high = values.iter().map(|(_, value)| *value).max().unwrap_or(0);
        let mut candidates: Vec<Scalar> = vec![Scalar::UInt, Scalar::Int, Scalar::ULong, Scalar::Long];
        if packed {
            candidates.splice(0..0, [Scalar::UChar, Scalar::Char, Scalar::UShort, Scalar::Short]);
        }
        let fits = |scalar: &&Scalar| {
            let bits = scalar.bytes() * 8;
            let (min, max) = if scalar.is_signed() {
                (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
            } else {
                (0, (1_i128 << bits) - 1)
            };
            min <= low && high <= max
        };
        let scalar = candidates.iter().find(fits).copied().unwrap_or(Scalar::Long);
        let enumeration = self.module.types.enumeration_mut(id);
        enumeration.scalar = scalar;
        enumeration.is_complete = true;
        let all_int = i32::try_from(low).is_ok() && i32::try_from(high).is_ok();
        for (name, value) in values {
            let own = if all_int || i32::try_from(value).is_ok() { Scalar::Int } else { scalar };
            let entity = Entity::EnumConstant(value as i64, self.module.types.scalar(own));
            self.scopes.set(name.symbol, entity, name.span, self.states.len().saturating_sub(1));
        }
    }
}
