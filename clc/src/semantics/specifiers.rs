//! Types as specifiers give them.

use super::attributes::Attributes;
use super::{Checker, Entity};
use crate::diagnostics::Diagnostic;
use crate::options::Version;
use crate::source::{Span, Symbol};
use crate::syntax::ast::{self, ArithmeticWord as Word, TypeOrExpr, TypeSpecifier};
use crate::types::{Access, AddressSpace, QualTy, Scalar, Ty, TypeKind, builtin_type};

/// What specifiers say of a declaration.
#[derive(Debug)]
pub(crate) struct Specified {
    /// The type. Its address space counts only if `space` is set.
    pub ty: QualTy,
    /// The address space, if it is written or part of a `typedef`, and where.
    pub space: Option<(AddressSpace, Span)>,
    /// Attributes.
    pub attributes: Attributes,
    /// `__auto_type`: the type is that of the initializer.
    pub is_auto: bool,
}

/// Enumeration constants of OpenCL C: name, value, and the feature of OpenCL C 3.0 that has it.
const CONSTANTS: &[(&str, i64, &str)] = &[
    ("memory_order_relaxed", 0, ""),
    ("memory_order_acquire", 2, ""),
    ("memory_order_release", 3, ""),
    ("memory_order_acq_rel", 4, ""),
    ("memory_order_seq_cst", 5, "__opencl_c_atomic_order_seq_cst"),
    ("memory_scope_work_item", 0, ""),
    ("memory_scope_work_group", 1, ""),
    ("memory_scope_device", 2, "__opencl_c_atomic_scope_device"),
    ("memory_scope_all_svm_devices", 3, "__opencl_c_atomic_scope_all_devices"),
    ("memory_scope_all_devices", 3, "__opencl_c_atomic_scope_all_devices"),
    ("memory_scope_sub_group", 4, ""),
];

impl Checker<'_, '_> {
    /// A constant that OpenCL C declares: `memory_order_relaxed` and the like.
    pub(crate) fn predeclared_constant(&self, name: Symbol) -> Option<Entity> {
        let text = self.text(name);
        let version = self.session.version_of(text);
        if !text.starts_with("memory_") || version < Version::V2_0 {
            return None;
        }
        let (_, value, feature) = CONSTANTS.iter().find(|(one, ..)| *one == text)?;
        (feature.is_empty() || self.version_has_feature(version, feature))
            .then(|| Entity::EnumConstant(*value, self.module.types.scalar(Scalar::UInt)))
    }

    /// The type of a type name (in a cast, `sizeof`, a compound literal).
    pub(crate) fn type_name(&mut self, name: &ast::TypeName) -> QualTy {
        self.written_type_name(name).0
    }

    /// The type of a type name, and whether its address space is written.
    pub(crate) fn written_type_name(&mut self, name: &ast::TypeName) -> (QualTy, bool) {
        let specified = self.specifiers(&name.specifiers, false);
        let declared = self.declarator(&specified, &name.declarator);
        (declared.ty, declared.space.is_some())
    }

    /// What specifiers say. `alone` tells that no declarator follows: `struct s;` declares a tag.
    pub(crate) fn specifiers(&mut self, specifiers: &ast::Specifiers, alone: bool) -> Specified {
        let mut attributes = self.attributes(&specifiers.attributes);
        for alignas in &specifiers.alignas {
            if let Some(align) = self.alignas(alignas, specifiers.span) {
                attributes.align = attributes.align.max(align);
            }
        }
        let mut is_auto = false;
        let error = self.module.types.error();
        let mut ty = match &specifiers.ty {
            TypeSpecifier::Missing => {
                self.error(
                    specifiers.span,
                    "type specifier missing, defaults to 'int'; ISO C99 and later do not support implicit int",
                );
                QualTy::plain(self.module.types.scalar(Scalar::Int))
            }
            TypeSpecifier::Words(words) => QualTy::plain(self.words(words)),
            TypeSpecifier::Name(name) => self.named_type(*name),
            TypeSpecifier::Record(record) => {
                let plain = alone && specifiers.qualifiers == ast::Qualifiers::default();
                QualTy::plain(self.record_specifier(record, plain))
            }
            TypeSpecifier::Enum(specifier) => QualTy::plain(self.enum_specifier(specifier)),
            TypeSpecifier::Typeof(of) => match &**of {
                TypeOrExpr::Type(name) => self.type_name(name),
                TypeOrExpr::Expr(expr) => self.type_of(expr),
            },
            TypeSpecifier::Atomic(name) => {
                let of = self.type_name(name).ty;
                QualTy::plain(self.atomic(of, specifiers.span))
            }
            TypeSpecifier::Auto(_) => {
                is_auto = true;
                QualTy::plain(error)
            }
        };
        if specifiers.is_pipe {
            let access = specifiers.qualifiers.access.map_or(Access::ReadOnly, |(access, _)| access);
            ty = QualTy::plain(self.module.types.intern(TypeKind::Pipe(ty.ty, access)));
        }
        let mut space = (ty.quals.space != AddressSpace::Private).then_some((ty.quals.space, specifiers.span));
        if let Some(lanes) = attributes.vector {
            ty.ty = self.extended_vector(ty.ty, lanes, specifiers.span);
        }
        let qualifiers = self.without_repeated_access(specifiers, ty);
        self.qualify(&mut ty, &mut space, &qualifiers, specifiers.is_pipe, specifiers.span);
        self.set_space(&mut ty, &mut space, attributes.space);
        Specified { ty, space, attributes, is_auto }
    }

    /// The qualifiers, without an access qualifier that the `typedef` of an image or pipe has, too.
    fn without_repeated_access(&mut self, specifiers: &ast::Specifiers, ty: QualTy) -> ast::Qualifiers {
        let mut qualifiers = specifiers.qualifiers;
        let TypeSpecifier::Name(name) = &specifiers.ty else { return qualifiers };
        let is_typedef = self.scopes.find(name.symbol).is_some_and(|named| matches!(named.entity, Entity::Typedef(_)));
        let (TypeKind::Image(_, old) | TypeKind::Pipe(_, old)) = *self.module.types.kind(ty.ty) else {
            return qualifiers;
        };
        if !is_typedef {
            return qualifiers;
        }
        if let Some((access, span)) = qualifiers.access.take() {
            if access == old {
                let name = match access {
                    Access::ReadOnly => "read_only",
                    Access::WriteOnly => "write_only",
                    Access::ReadWrite => "read_write",
                };
                let text = format!("duplicate '{name}' declaration specifier");
                self.warning(span, "duplicate-decl-specifier", text);
            } else {
                self.error(span, "multiple access qualifiers");
            }
        }
        qualifiers
    }

    /// `_Alignas(...)`: the alignment in bytes.
    fn alignas(&mut self, alignas: &TypeOrExpr, span: Span) -> Option<u32> {
        match alignas {
            TypeOrExpr::Type(name) => {
                let ty = self.type_name(name).ty;
                self.module.types.layout(ty).map(|layout| layout.align)
            }
            TypeOrExpr::Expr(expr) => {
                let (value, _) = self.integer_constant(expr, "")?;
                self.check_alignment(value, span)
            }
        }
    }

    /// The value of an alignment: a power of two.
    pub(crate) fn check_alignment(&mut self, value: i128, span: Span) -> Option<u32> {
        match u32::try_from(value) {
            Ok(align) if align.is_power_of_two() && align <= 1 << 29 => Some(align),
            _ => {
                self.error(span, "requested alignment is not a power of 2");
                None
            }
        }
    }

    /// Puts objects of a type into an address space that a qualifier or an attribute names.
    pub(crate) fn set_space(
        &mut self,
        ty: &mut QualTy,
        space: &mut Option<(AddressSpace, Span)>,
        written: Option<(AddressSpace, Span)>,
    ) {
        let Some((written, span)) = written else { return };
        if written == AddressSpace::Generic && !self.has_generic() {
            let text =
                format!("OpenCL C version {} does not support the '__generic' type qualifier", self.version_text());
            self.error(span, text);
        }
        match *space {
            Some((one, _)) if one != written => self.error(span, "multiple address spaces specified for type"),
            _ => {}
        }
        ty.quals.space = written;
        *space = Some((written, span));
    }

    /// Adds qualifiers to a type.
    pub(crate) fn qualify(
        &mut self,
        ty: &mut QualTy,
        space: &mut Option<(AddressSpace, Span)>,
        qualifiers: &ast::Qualifiers,
        is_pipe: bool,
        span: Span,
    ) {
        ty.quals.is_const |= qualifiers.is_const;
        ty.quals.is_volatile |= qualifiers.is_volatile;
        if qualifiers.is_restrict {
            if matches!(self.module.types.kind(ty.ty), TypeKind::Pointer(_) | TypeKind::Error) {
                ty.quals.is_restrict = true;
            } else {
                let text = format!("restrict requires a pointer or reference ({} is invalid)", self.describe(*ty));
                self.error(span, text);
            }
        }
        if qualifiers.is_atomic {
            ty.ty = self.atomic(ty.ty, span);
        }
        self.set_space(ty, space, qualifiers.space);
        if let Some((access, span)) = qualifiers.access {
            let name = match access {
                Access::ReadOnly => "read_only",
                Access::WriteOnly => "write_only",
                Access::ReadWrite => "read_write",
            };
            let needs =
                "prior to OpenCL C version 2.0 or in version 3.0 and without __opencl_c_read_write_images feature";
            if let TypeKind::Image(shape, _) = *self.module.types.kind(ty.ty) {
                ty.ty = self.module.types.intern(TypeKind::Image(shape, access));
                if access == Access::ReadWrite && !self.has_feature("__opencl_c_read_write_images") {
                    let image = self.describe_ty(ty.ty);
                    self.error(span, format!("access qualifier '{name}' cannot be used for {image} {needs}"));
                }
            } else if is_pipe && matches!(self.module.types.kind(ty.ty), TypeKind::Pipe(..)) {
                if access == Access::ReadWrite {
                    let pipe = self.describe_ty(ty.ty);
                    self.error(span, format!("access qualifier '{name}' cannot be used for {pipe}"));
                }
            } else if ty.ty != self.module.types.error() {
                // Other compilers take it, above all for pointers: programs written for them have it.
                let text = format!("'{name}' ignored: only images and pipes have an access qualifier");
                self.warning(span, "ignored-attributes", text);
            }
        }
    }

    /// The atomic type of a type.
    fn atomic(&mut self, of: Ty, span: Span) -> Ty {
        let kind = self.module.types.kind(of);
        if matches!(kind, TypeKind::Atomic(_) | TypeKind::Error) {
            return of;
        }
        if matches!(kind, TypeKind::Scalar(scalar) if *scalar != Scalar::Bool) {
            return self.module.types.intern(TypeKind::Atomic(of));
        }
        let text = format!("_Atomic cannot be applied to type {}", self.describe_ty(of));
        self.error(span, text);
        self.module.types.error()
    }

    /// A vector type by attribute.
    pub(crate) fn extended_vector(&mut self, ty: Ty, lanes: i128, span: Span) -> Ty {
        if let TypeKind::Scalar(scalar) = *self.module.types.kind(ty)
            && scalar != Scalar::Bool
        {
            if let Ok(lanes @ 1..=64) = u8::try_from(lanes) {
                return self.module.types.intern(TypeKind::Vector(scalar, lanes));
            }
            self.error(span, if lanes == 0 { "zero vector size" } else { "vector size too large" });
        } else if ty != self.module.types.error() {
            let text = format!("invalid vector element type {}", self.describe_ty(ty));
            self.error(span, text);
        }
        ty
    }

    /// The type of an arithmetic type's words.
    fn words(&mut self, words: &[(Word, Span)]) -> Ty {
        let mut base: Option<Word> = None;
        let mut longs = 0;
        let mut short = false;
        let mut sign: Option<Word> = None;
        let spell = |word: Word| match word {
            Word::Void => "void",
            Word::Bool => "bool",
            Word::Char => "char",
            Word::Short => "short",
            Word::Int => "int",
            Word::Long => "long",
            Word::Signed => "signed",
            Word::Unsigned => "unsigned",
            Word::Half => "half",
            Word::Float => "float",
            Word::Double => "double",
            Word::Complex => "_Complex",
        };
        let combine = |checker: &mut Self, span: Span, previous: Word| {
            checker.error(span, format!("cannot combine with previous '{}' declaration specifier", spell(previous)));
            checker.module.types.scalar(Scalar::Int)
        };
        for (word, span) in words {
            match word {
                Word::Signed | Word::Unsigned => match sign {
                    Some(one) if one == *word => {
                        let text = format!("duplicate '{}' declaration specifier", spell(*word));
                        self.warning(*span, "duplicate-decl-specifier", text);
                    }
                    Some(one) => return combine(self, *span, one),
                    None => sign = Some(*word),
                },
                Word::Long if short => return combine(self, *span, Word::Short),
                Word::Long => {
                    longs += 1;
                    if longs > 2 {
                        self.error(*span, "cannot combine with previous 'long long' declaration specifier");
                        return self.module.types.scalar(Scalar::Long);
                    }
                }
                Word::Short if longs > 0 => return combine(self, *span, Word::Long),
                Word::Short => short = true,
                Word::Complex => {
                    self.error(*span, "complex types are not supported in OpenCL C");
                    return self.module.types.error();
                }
                Word::Void | Word::Bool | Word::Char | Word::Int | Word::Half | Word::Float | Word::Double => {
                    if let Some(one) = base {
                        return combine(self, *span, one);
                    }
                    base = Some(*word);
                }
            }
        }
        let last = words.last().map_or(Span::NONE, |(_, span)| *span);
        let modified = longs > 0 || short;
        let is_single = !modified && sign.is_none();
        let signed = sign != Some(Word::Unsigned);
        let width = |bytes| Scalar::integer(bytes, signed).unwrap_or(Scalar::Int);
        let scalar = match base {
            None | Some(Word::Int) if short => width(2),
            None | Some(Word::Int) if longs > 0 => width(8),
            None | Some(Word::Int) => width(4),
            Some(Word::Char) if !modified => width(1),
            // `long double` is reserved; other drivers have it as double.
            Some(Word::Double) if !short && longs < 2 && sign.is_none() => {
                self.require_double(last);
                Scalar::Double
            }
            Some(Word::Void) if is_single => return self.module.types.void(),
            Some(Word::Bool) if is_single => Scalar::Bool,
            Some(Word::Half) if is_single => Scalar::Half,
            Some(Word::Float) if is_single => Scalar::Float,
            Some(one) => {
                let other = sign.unwrap_or(if short { Word::Short } else { Word::Long });
                self.error(last, format!("'{} {}' is invalid", spell(other), spell(one)));
                Scalar::Int
            }
        };
        self.module.types.scalar(scalar)
    }

    /// Reports an error if the device has no `double`.
    fn require_double(&mut self, span: Span) {
        if !self.has_double() {
            let needs = if self.version() >= Version::V3_0 { "cl_khr_fp64 and __opencl_c_fp64" } else { "cl_khr_fp64" };
            self.error(span, format!("use of type 'double' requires {needs} support"));
        }
    }

    /// The type of a name.
    fn named_type(&mut self, name: ast::Name) -> QualTy {
        match self.scopes.find(name.symbol).map(|named| &named.entity) {
            Some(Entity::Typedef(ty)) => {
                return *ty;
            }
            Some(_) => {
                let text = format!("unknown type name '{}'", self.text(name.symbol));
                self.error(name.span, text);
                return QualTy::plain(self.module.types.error());
            }
            None => {}
        }
        let text = self.session.names.text(name.symbol);
        let found = builtin_type(text, self.session.version_of(text), &self.session.options.profile);
        match found {
            Some(found) => QualTy::plain(found.ty(&mut self.module.types, Access::ReadOnly)),
            None => {
                let text = format!("unknown type name '{}'", self.text(name.symbol));
                self.error(name.span, text);
                QualTy::plain(self.module.types.error())
            }
        }
    }

    /// The type of an expression, for `typeof`: that of a place with its qualifiers.
    fn type_of(&mut self, expr: &ast::Expr) -> QualTy {
        let mut ty = self.unevaluated_type(expr);
        // The object that is declared lies where its own declaration says.
        ty.quals.space = AddressSpace::Private;
        ty
    }

    /// Checks what is not evaluated: its calls do not take place, so they are neither recursive nor need a definition.
    pub(crate) fn unevaluated<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        let calls = self.calls.len();
        let result = check(self);
        self.calls.truncate(calls);
        result
    }

    /// The type of an expression that is not evaluated; arrays have not decayed.
    pub(crate) fn unevaluated_type(&mut self, expr: &ast::Expr) -> QualTy {
        match self.unevaluated(|checker| checker.operand(expr)) {
            super::Operand::Place(place) => place.ty,
            super::Operand::Value(value) => QualTy::plain(value.ty),
            super::Operand::Functions(list) => {
                let ty = list.first().and_then(|id| self.functions.get(id.0 as usize)).map(|info| info.ty);
                QualTy::plain(ty.unwrap_or_else(|| self.module.types.error()))
            }
            super::Operand::Builtin(_) => {
                self.error(expr.span, "a built-in function has no type of its own");
                QualTy::plain(self.module.types.error())
            }
        }
    }

    /// The type as it is written, for `clGetKernelArgInfo`: without qualifiers, `typedef` names kept.
    pub(crate) fn spell_specifiers(&self, specifiers: &ast::Specifiers, ty: Ty) -> String {
        let tagged = |word: &str, name: Option<ast::Name>| match name {
            Some(name) => format!("{word} {}", self.text(name.symbol)),
            None => word.to_owned(),
        };
        match &specifiers.ty {
            TypeSpecifier::Name(name) => self.text(name.symbol).to_owned(),
            TypeSpecifier::Record(record) => tagged(if record.is_union { "union" } else { "struct" }, record.name),
            TypeSpecifier::Enum(one) => tagged("enum", one.name),
            TypeSpecifier::Missing
            | TypeSpecifier::Words(_)
            | TypeSpecifier::Typeof(_)
            | TypeSpecifier::Atomic(_)
            | TypeSpecifier::Auto(_) => {
                let shown = if let TypeKind::Pipe(of, _) = self.module.types.kind(ty) { *of } else { ty };
                self.spell(QualTy::plain(shown))
            }
        }
    }

    /// The language version as diagnostics print it.
    fn version_text(&self) -> String {
        let number = self.version().number();
        format!("{}.{}", number / 100, number / 10 % 10)
    }

    /// Reports what is wrong with storage classes that exclude each other or do not exist in OpenCL C.
    pub(crate) fn check_storage(&mut self, specifiers: &ast::Specifiers) {
        use ast::Storage;
        let storage = specifiers.storage;
        if storage.contains(Storage::THREAD) {
            self.error(specifiers.span, "thread-local storage is not supported for the current target");
        }
        for (class, name) in [(Storage::AUTO, "auto"), (Storage::REGISTER, "register")] {
            if storage.contains(class) {
                let text = format!(
                    "OpenCL C version {} does not support the '{name}' storage class specifier",
                    self.version_text()
                );
                self.error(specifiers.span, text);
            }
        }
        let classes = Storage::TYPEDEF | Storage::EXTERN | Storage::STATIC | Storage::AUTO | Storage::REGISTER;
        if (storage & classes).bits().count_ones() > 1 {
            let names = [
                (Storage::TYPEDEF, "typedef"),
                (Storage::EXTERN, "extern"),
                (Storage::STATIC, "static"),
                (Storage::AUTO, "auto"),
                (Storage::REGISTER, "register"),
            ];
            let first = names.iter().find(|(class, _)| storage.contains(*class)).map_or("", |(_, name)| name);
            let text = format!("cannot combine with previous '{first}' declaration specifier");
            self.report(Diagnostic::error(specifiers.span, text));
        }
    }
}
