//! Types as declarators make them.

use rustc_hash::FxHashMap;

use super::Checker;
use super::attributes::Attributes;
use super::specifiers::Specified;
use crate::diagnostics::Diagnostic;
use crate::limits;
use crate::source::Span;
use crate::syntax::ast::{self, DeclaratorPart};
use crate::types::{AddressSpace, FunctionType, QualTy, Quals, Ty, TypeKind, Uses};

/// A parameter of a function declarator.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredParameter {
    /// Its name.
    pub name: Option<ast::Name>,
    /// Its type, adjusted: arrays and functions are pointers.
    pub ty: QualTy,
    /// An `aligned` attribute; 0 for none.
    pub align: u32,
    /// The whole parameter.
    pub span: Span,
}

/// What a declarator declares.
#[derive(Debug)]
pub(crate) struct Declared {
    /// The name.
    pub name: Option<ast::Name>,
    /// The type. Its address space counts only if `space` is set.
    pub ty: QualTy,
    /// The address space that is written, or that a `typedef` has.
    pub space: Option<(AddressSpace, Span)>,
    /// Attributes of specifiers and declarator.
    pub attributes: Attributes,
    /// The parameters if the type is a function.
    pub parameters: Vec<DeclaredParameter>,
    /// Where: the name, or the whole if there is none.
    pub span: Span,
}

impl Checker<'_, '_> {
    /// Applies a declarator to a specified type.
    pub(crate) fn declarator(&mut self, specified: &Specified, declarator: &ast::Declarator) -> Declared {
        let span = declarator.name.map_or(declarator.span, |name| name.span);
        let own = self.attributes(&declarator.attributes);
        let mut ty = specified.ty;
        let mut space = specified.space;
        let is_plain = declarator.parts.is_empty();
        if is_plain {
            self.set_space(&mut ty, &mut space, own.space);
        }
        if let Some(lanes) = own.vector
            && is_plain
        {
            ty.ty = self.extended_vector(ty.ty, lanes, span);
        }
        let mut attributes = specified.attributes.clone();
        attributes.merge(&own);
        if let Some(bytes) = attributes.vector_bytes
            && let Some(layout) = self.module.types.layout(ty.ty)
            && layout.size != 0
        {
            ty.ty = self.extended_vector(ty.ty, bytes / i128::from(layout.size), span);
        }
        let mut parameters = Vec::new();
        let count = declarator.parts.len();
        for (index, part) in declarator.parts.iter().enumerate() {
            match part {
                DeclaratorPart::Pointer(qualifiers, list) => {
                    let of_pointer = self.attributes(list);
                    ty = QualTy::plain(self.pointer_to(ty, space, span));
                    space = None;
                    self.qualify(&mut ty, &mut space, qualifiers, false, span);
                    self.set_space(&mut ty, &mut space, of_pointer.space);
                }
                DeclaratorPart::BlockPointer(qualifiers) => {
                    ty = QualTy::plain(self.block_pointer_to(ty.ty, span));
                    space = None;
                    self.qualify(&mut ty, &mut space, qualifiers, false, span);
                }
                DeclaratorPart::Array { size, span: brackets, .. } => {
                    ty = self.array_of(ty, size.as_deref(), *brackets, declarator.name);
                }
                DeclaratorPart::Function(function) => {
                    // The parameters of the outermost function only have names that matter.
                    let (function_ty, list) = self.function_of(ty, space, function, span, index + 1 == count);
                    ty = QualTy::plain(function_ty);
                    space = None;
                    parameters = list;
                }
            }
        }
        if let Some(lanes) = own.vector
            && !is_plain
        {
            ty.ty = self.extended_vector(ty.ty, lanes, span);
        }
        if self.is_too_deep(ty.ty, span) {
            ty.ty = self.module.types.error();
        }
        Declared { name: declarator.name, ty, space, attributes, parameters, span }
    }

    /// Reports a type of more parts than limits allow: the parser limits those of one declarator, but `typedef`s add up.
    pub(crate) fn is_too_deep(&mut self, ty: Ty, span: Span) -> bool {
        let is_too_deep = self.module.types.depth(ty) > limits::NESTING;
        if is_too_deep {
            self.error(span, format!("type exceeds the maximum of {} parts", limits::NESTING));
        }
        is_too_deep
    }

    /// A pointer type. A space that is not written is the default one.
    fn pointer_to(&mut self, to: QualTy, space: Option<(AddressSpace, Span)>, span: Span) -> Ty {
        let mut to = to;
        let kind = self.module.types.kind(to.ty);
        if *kind == TypeKind::Error {
            return to.ty;
        }
        if matches!(kind, TypeKind::Function(_)) {
            if !self.session.options.profile.has_extension("__cl_clang_function_pointers") {
                self.error(span, "pointers to functions are not allowed");
                return self.module.types.error();
            }
            return self.module.types.intern(TypeKind::FunctionPointer(to.ty));
        }
        if kind.forbids(Uses::POINTEE) {
            let text = format!("pointer to type {} is invalid in OpenCL", self.describe(to));
            self.error(span, text);
            return self.module.types.error();
        }
        to.quals.space = match space {
            Some((space, _)) => space,
            None => self.default_pointee_space(),
        };
        self.module.types.pointer(to)
    }

    /// A block pointer type.
    fn block_pointer_to(&mut self, to: Ty, span: Span) -> Ty {
        if !self.has_blocks() {
            self.error(
                span,
                "blocks support disabled - compile with -fblocks or for OpenCL C 2.0 or OpenCL C 3.0 with \
                 __opencl_c_device_enqueue feature",
            );
        }
        if matches!(self.module.types.kind(to), TypeKind::Function(_)) {
            return self.module.types.intern(TypeKind::BlockPointer(to));
        }
        if to != self.module.types.error() {
            self.error(span, "block pointer to non-function type is invalid");
        }
        self.module.types.error()
    }

    /// Whether the language has blocks.
    pub(crate) fn has_blocks(&self) -> bool {
        self.has_feature("__opencl_c_device_enqueue")
    }

    /// An array type. Qualifiers of the elements become those of the array.
    fn array_of(&mut self, element: QualTy, size: Option<&ast::Expr>, span: Span, name: Option<ast::Name>) -> QualTy {
        let count = match size {
            None => Some(None),
            Some(size) => self.array_size(size, name).map(Some),
        };
        let types = &self.module.types;
        let kind = types.kind(element.ty);
        let text = if *kind == TypeKind::Error {
            return element;
        } else if matches!(kind, TypeKind::Function(_)) {
            let name = name.map_or("type name", |name| self.text(name.symbol));
            Some(format!("'{name}' declared as array of functions of type {}", self.describe_ty(element.ty)))
        } else if kind.forbids(Uses::ELEMENT) {
            Some(format!("array of {} type is invalid in OpenCL", self.describe_ty(element.ty)))
        } else if types.layout(element.ty).is_none() {
            Some(format!("array has incomplete element type {}", self.describe_ty(element.ty)))
        } else {
            None
        };
        if let Some(text) = text {
            self.error(name.map_or(span, |name| name.span), text);
            return QualTy::plain(self.module.types.error());
        }
        let Some(count) = count else { return QualTy::plain(self.module.types.error()) };
        // Qualifiers are the array's; its elements lie as their type says.
        let mut quals = element.quals;
        let align = std::mem::take(&mut quals.align);
        let one = QualTy { ty: element.ty, quals: Quals { align, ..Quals::default() } };
        let ty = self.module.types.intern(TypeKind::Array(one, count));
        if count.is_some() && self.module.types.layout(ty).is_none_or(|layout| layout.size > 1 << 60) {
            self.error(span, "array is too large");
            return QualTy::plain(self.module.types.error());
        }
        QualTy { ty, quals }
    }

    /// The alignment that attributes give a declared object, or a `typedef`; 0 for none.
    pub(crate) fn declared_align(&self, declared: &Declared) -> u32 {
        declared.attributes.align.max(declared.ty.quals.align)
    }

    /// The size of an array.
    fn array_size(&mut self, size: &ast::Expr, name: Option<ast::Name>) -> Option<u64> {
        let value = self.expr(size);
        if *self.module.types.kind(value.ty) == TypeKind::Error {
            return None;
        }
        if !self.is_integer(value.ty) {
            let text = format!("size of array has non-integer type {}", self.describe_ty(value.ty));
            self.error(size.span, text);
            return None;
        }
        let Some(count) = self.evaluate_integer(&value) else {
            self.error(size.span, "variable length arrays are not supported in OpenCL");
            return None;
        };
        match u64::try_from(count) {
            Ok(count) => Some(count),
            Err(_) => {
                let text = match name {
                    Some(name) => format!("'{}' declared as an array with a negative size", self.text(name.symbol)),
                    None => "array size is negative".to_owned(),
                };
                self.error(size.span, text);
                None
            }
        }
    }

    /// Whether a type is an integer or an enumeration.
    pub(crate) fn is_integer(&self, ty: Ty) -> bool {
        matches!(self.module.types.lanes(ty), Some((scalar, 1)) if scalar.is_integer())
            && !matches!(self.module.types.kind(ty), TypeKind::Vector(..))
    }

    /// A function type, and its parameters.
    fn function_of(
        &mut self,
        result: QualTy,
        space: Option<(AddressSpace, Span)>,
        function: &ast::FunctionPart,
        span: Span,
        outermost: bool,
    ) -> (Ty, Vec<DeclaredParameter>) {
        let mut result_ty = result.ty;
        let kind = self.module.types.kind(result_ty);
        let text = if matches!(kind, TypeKind::Array(..)) {
            Some(format!("function cannot return array type {}", self.describe_ty(result_ty)))
        } else if matches!(kind, TypeKind::Function(_)) {
            Some(format!("function cannot return function type {}", self.describe_ty(result_ty)))
        } else if self.is_missing_half(result_ty) {
            Some("declaring function return value of type 'half' is not allowed ; did you forget * ?".to_owned())
        } else if kind.forbids(Uses::RESULT) {
            Some(format!("declaring function return value of type {} is not allowed", self.describe_ty(result_ty)))
        } else {
            None
        };
        if let Some(text) = text {
            self.error(span, text);
            result_ty = self.module.types.error();
        } else if let Some((written, at)) = space
            && written != AddressSpace::Private
        {
            self.error(at, "return type cannot be qualified with address space");
        }
        // The names of a prototype have a scope of their own; those of a definition are declared again in its body.
        self.scopes.push();
        let around = std::mem::replace(&mut self.in_parameters, true);
        let mut names = FxHashMap::default();
        let mut list = Vec::new();
        for parameter in &function.parameters {
            let declared = self.parameter(parameter);
            if let Some(name) = declared.name
                && outermost
            {
                let first = *names.entry(name.symbol).or_insert(name.span);
                if first != name.span {
                    let text = format!("redefinition of parameter '{}'", self.text(name.symbol));
                    let error = Diagnostic::error(name.span, text);
                    self.report(error.note(first, "previous declaration is here"));
                }
            }
            list.push(declared);
        }
        self.in_parameters = around;
        self.scopes.pop();
        let parameters = list.iter().map(|parameter| QualTy::plain(parameter.ty.ty)).collect();
        let kind = FunctionType { result: result_ty, parameters, is_variadic: function.is_variadic };
        (self.module.types.intern(TypeKind::Function(Box::new(kind))), list)
    }

    /// A parameter.
    fn parameter(&mut self, parameter: &ast::Parameter) -> DeclaredParameter {
        let specified = self.specifiers(&parameter.specifiers, false);
        let declared = self.declarator(&specified, &parameter.declarator);
        let storage = parameter.specifiers.storage;
        if !(storage - ast::Storage::REGISTER).is_empty() {
            self.error(parameter.specifiers.span, "invalid storage class specifier in function declarator");
        }
        let mut ty = declared.ty;
        let mut space = declared.space;
        let span = declared.span;
        let kind = self.module.types.kind(ty.ty);
        if let TypeKind::Array(mut element, _) = *kind {
            // The pointer points where the array lies.
            element.quals = Quals { space: AddressSpace::Private, align: element.quals.align, ..ty.quals };
            if let Some((space, _)) = space {
                element.quals.space = space;
            }
            let mut quals = Quals::default();
            if let Some(DeclaratorPart::Array { qualifiers, .. }) = parameter.declarator.parts.last() {
                quals.is_const = qualifiers.is_const;
                quals.is_volatile = qualifiers.is_volatile;
                quals.is_restrict = qualifiers.is_restrict;
            }
            ty = QualTy { ty: self.module.types.pointer(element), quals };
            space = None;
        } else if matches!(kind, TypeKind::Function(_)) {
            ty = QualTy::plain(self.pointer_to(ty, None, span));
        } else if *kind == TypeKind::Void {
            self.error(span, "argument may not have 'void' type");
            ty = QualTy::plain(self.module.types.error());
        } else if self.is_missing_half(ty.ty) {
            self.error(
                span,
                "declaring function parameter of type '__private half' is not allowed; did you forget * ?",
            );
        }
        if let Some((written, at)) = space
            && written != AddressSpace::Private
        {
            self.error(at, "parameter may not be qualified with an address space");
        }
        ty.quals.space = AddressSpace::Private;
        DeclaredParameter { name: declared.name, ty, align: self.declared_align(&declared), span: parameter.span }
    }
}
