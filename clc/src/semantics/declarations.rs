//! Declarations at file scope, and what they share with those in functions.

use super::declarators::Declared;
use super::specifiers::Specified;
use super::{Checker, Entity};
use crate::diagnostics::Diagnostic;
use crate::preprocess::Pragma;
use crate::source::{Span, Symbol};
use crate::syntax::ast::{self, Declaration, Initializer, Item, Name, StaticAssert, Storage, TypeSpecifier};
use crate::tree::{Constant, Global, GlobalId, Linkage, Local, LocalId};
use crate::types::{AddressSpace, QualTy, Quals, Scalar, TypeKind, Uses};

/// What is known of a `typedef` besides its type.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypedefInfo {
    /// If it is a pointer: what it points to, as it is written.
    pub pointee: Option<String>,
    /// Whether it is another name of `size_t` or the like, which kernels cannot have as parameters.
    pub is_device_sized: bool,
}

impl Checker<'_, '_> {
    /// Checks a translation unit.
    pub(crate) fn unit(&mut self, unit: &ast::Unit) {
        for item in &unit.items {
            if let Item::Function(definition) = item
                && let Some(name) = definition.declarator.name
            {
                self.defined.insert(name.symbol);
            }
        }
        for item in &unit.items {
            if self.session.diagnostics.is_full() {
                return;
            }
            match item {
                Item::Function(definition) => self.function_definition(definition),
                Item::Declaration(declaration) => self.file_declaration(declaration),
                Item::StaticAssert(assert) => self.static_assert(assert),
                Item::Pragma(pragma, _) => {
                    if let Pragma::FpContract(value) = pragma {
                        self.contract = value.unwrap_or(true);
                    }
                }
            }
        }
        self.finish();
    }

    /// A declaration at file scope.
    fn file_declaration(&mut self, declaration: &Declaration) {
        let specifiers = &declaration.specifiers;
        let alone = declaration.declarators.is_empty();
        let specified = self.specifiers(specifiers, alone);
        self.check_storage(specifiers);
        if alone {
            self.empty_declaration(specifiers);
            return;
        }
        for one in &declaration.declarators {
            let declared = self.declarator(&specified, &one.declarator);
            let Some(name) = declared.name else {
                continue;
            };
            if specifiers.storage.contains(Storage::TYPEDEF) {
                self.typedef(&declared, name, specifiers, one);
            } else if matches!(self.module.types.kind(declared.ty.ty), TypeKind::Function(_)) {
                if one.init.is_some() {
                    self.error(name.span, "illegal initializer (only variables can be initialized)");
                }
                self.declare_function(&declared, specifiers, &one.declarator, false);
            } else {
                self.file_variable(declared, name, &specified, specifiers, one.init.as_ref());
            }
        }
    }

    /// A declaration without a declarator.
    pub(crate) fn empty_declaration(&mut self, specifiers: &ast::Specifiers) {
        let declares = match &specifiers.ty {
            TypeSpecifier::Record(record) => record.name.is_some(),
            TypeSpecifier::Enum(one) => one.name.is_some() || one.constants.is_some(),
            TypeSpecifier::Missing
            | TypeSpecifier::Words(_)
            | TypeSpecifier::Name(_)
            | TypeSpecifier::Typeof(_)
            | TypeSpecifier::Atomic(_)
            | TypeSpecifier::Auto(_) => false,
        };
        if !declares {
            self.warning(specifiers.span, "missing-declarations", "declaration does not declare anything");
        }
    }

    /// `_Static_assert`
    pub(crate) fn static_assert(&mut self, assert: &StaticAssert) {
        let condition = self.condition(&assert.condition);
        if *self.module.types.kind(condition.ty) == TypeKind::Error {
            return;
        }
        let Some(value) = self.evaluate(&condition).and_then(|value| value.scalar()) else {
            self.error(assert.condition.span, "static assertion expression is not an integral constant expression");
            return;
        };
        if value == 0 {
            let mut text = "static assertion failed".to_owned();
            if let Some(requirement) = self.source_text(assert.condition.span) {
                text = format!("{text} due to requirement '{requirement}'");
            }
            for (index, part) in assert.message.iter().enumerate() {
                text.push_str(if index == 0 { ": " } else { "" });
                let spelling = self.text(part.symbol);
                text.push_str(spelling.trim_start_matches(|c| c != '"').trim_matches('"'));
            }
            self.error(assert.condition.span, text);
        }
    }

    /// The source of a construct if it is on one line and not from a macro.
    fn source_text(&self, span: Span) -> Option<String> {
        let sources = &self.session.sources;
        let file = sources.file(sources.file_at(span.lo)?);
        let range = (span.lo - file.base) as usize..span.hi.checked_sub(file.base)? as usize;
        let text = std::str::from_utf8(file.text.get(range)?).ok()?;
        (span.expansion == Span::NONE.expansion && !text.contains('\n')).then(|| text.to_owned())
    }

    /// `typedef`
    pub(crate) fn typedef(
        &mut self,
        declared: &Declared,
        name: Name,
        specifiers: &ast::Specifiers,
        one: &ast::InitDeclarator,
    ) {
        if one.init.is_some() {
            self.error(name.span, "illegal initializer (only variables can be initialized)");
        }
        let mut ty = declared.ty;
        ty.quals.space = declared.space.map_or(AddressSpace::Private, |(space, _)| space);
        if declared.attributes.align != 0 {
            ty.quals.align = declared.attributes.align;
        }
        // An unnamed record is called by the first name that is given to it.
        let tag = if let TypeKind::Record(id) = *self.module.types.kind(ty.ty) {
            Some(&mut self.module.types.record_mut(id).name)
        } else if let TypeKind::Enum(id) = *self.module.types.kind(ty.ty) {
            Some(&mut self.module.types.enumeration_mut(id).name)
        } else {
            None
        };
        if let Some(tag) = tag
            && tag.is_none()
        {
            *tag = Some(name.symbol);
            self.untagged.insert(ty.ty);
        }
        if let Some(previous) = self.scopes.find_here(name.symbol).cloned() {
            match previous.entity {
                Entity::Typedef(old) if self.is_compatible_qualified(old, ty) => {
                    let text = format!("redefinition of typedef '{}' is a C11 feature", self.text(name.symbol));
                    let warning = Diagnostic::warning(name.span, "typedef-redefinition", text);
                    self.report(warning.note(previous.span, "previous definition is here"));
                }
                Entity::Typedef(old) => {
                    let text = format!(
                        "typedef redefinition with different types ({} vs {})",
                        self.describe(ty),
                        self.describe(old)
                    );
                    self.report(Diagnostic::error(name.span, text).note(previous.span, "previous definition is here"));
                    return;
                }
                Entity::Local(_)
                | Entity::Captured(..)
                | Entity::Global(_)
                | Entity::Functions(_)
                | Entity::EnumConstant(..) => {
                    self.different_kind(name, previous.span);
                    return;
                }
            }
        }
        let pointee = match (self.module.types.kind(ty.ty), &one.declarator.parts[..]) {
            (TypeKind::Pointer(to), [ast::DeclaratorPart::Pointer(..)]) => {
                Some(self.spell_specifiers(specifiers, to.ty))
            }
            (TypeKind::Pointer(to), []) => {
                if let TypeSpecifier::Name(of) = &specifiers.ty {
                    self.typedefs.get(&of.symbol).and_then(|info| info.pointee.clone())
                } else {
                    Some(self.spell(QualTy::plain(to.ty)))
                }
            }
            (TypeKind::Pointer(to), _) => Some(self.spell(QualTy::plain(to.ty))),
            _ => None,
        };
        let is_device_sized = one.declarator.parts.is_empty()
            && matches!(&specifiers.ty, TypeSpecifier::Name(of) if self.is_device_sized(of.symbol));
        let info = TypedefInfo { pointee, is_device_sized };
        self.typedefs.insert(name.symbol, info);
        let state = self.states.len().saturating_sub(1);
        self.scopes.set(name.symbol, Entity::Typedef(ty), name.span, state);
    }

    /// Reports that a name has a meaning of another kind in the same scope.
    pub(crate) fn different_kind(&mut self, name: Name, previous: Span) {
        let text = format!("redefinition of '{}' as different kind of symbol", self.text(name.symbol));
        self.report(Diagnostic::error(name.span, text).note(previous, "previous definition is here"));
    }

    /// Reports that a name that is declared now has a meaning in the innermost scope already. `kind` is `enumerator` or empty.
    pub(crate) fn check_redeclared(&mut self, name: Name, kind: &str) -> bool {
        let Some(previous) = self.scopes.find_here(name.symbol).cloned() else { return false };
        let same = match previous.entity {
            Entity::EnumConstant(..) => kind == "enumerator",
            Entity::Local(_) | Entity::Captured(..) | Entity::Global(_) => kind.is_empty(),
            Entity::Functions(_) | Entity::Typedef(_) => false,
        };
        if same {
            let kind = if kind.is_empty() { String::new() } else { format!("{kind} ") };
            let text = format!("redefinition of {kind}'{}'", self.text(name.symbol));
            self.report(Diagnostic::error(name.span, text).note(previous.span, "previous definition is here"));
        } else {
            self.different_kind(name, previous.span);
        }
        true
    }

    /// Whether variables at file scope may lie in the global address space.
    pub(crate) fn has_program_scope_globals(&self) -> bool {
        self.has_feature("__opencl_c_program_scope_global_variables")
    }

    /// The address space of an object that lives as long as the program.
    pub(crate) fn static_space(&mut self, declared: &Declared, name: Name, place: &str) -> AddressSpace {
        let globals = self.has_program_scope_globals();
        if *self.module.types.kind(declared.ty.ty) == TypeKind::Sampler && declared.space.is_none() {
            return AddressSpace::Constant;
        }
        let space = match declared.space {
            Some((space, _)) => Some(space),
            None if globals => Some(AddressSpace::Global),
            None => None,
        };
        match space {
            Some(AddressSpace::Constant) => AddressSpace::Constant,
            Some(AddressSpace::Global) if globals => AddressSpace::Global,
            _ => {
                let must = if globals { "global or constant" } else { "constant" };
                self.error(name.span, format!("{place} variable must reside in {must} address space"));
                AddressSpace::Constant
            }
        }
    }

    /// Reports types that an object that lives as long as the program cannot have. False if it is one.
    fn check_static_type(&mut self, ty: QualTy, name: Name) -> bool {
        let element = self.element_of_arrays(ty.ty);
        let kind = self.module.types.kind(element);
        let is_constant = ty.quals.is_const || ty.quals.space == AddressSpace::Constant;
        let text = if *kind == TypeKind::Error {
            return false;
        } else if *kind == TypeKind::Void {
            "variable has incomplete type 'void'".to_owned()
        } else if kind.forbids(Uses::VARIABLE) {
            format!("type {} can only be used as a function parameter in OpenCL", self.describe(ty))
        } else if kind.forbids(Uses::PROGRAM_SCOPE) {
            format!("the {} type cannot be used to declare a program scope variable", self.describe(ty))
        } else if self.is_missing_half(element) {
            format!("declaring variable of type {} is not allowed", self.describe(ty))
        } else if *kind == TypeKind::Sampler && !is_constant {
            "global sampler requires a const or constant address space qualifier".to_owned()
        } else {
            return true;
        };
        self.error(name.span, text);
        false
    }

    /// A variable at file scope.
    fn file_variable(
        &mut self,
        mut declared: Declared,
        name: Name,
        specified: &Specified,
        specifiers: &ast::Specifiers,
        init: Option<&Initializer>,
    ) {
        let storage = specifiers.storage;
        if storage.intersects(Storage::INLINE | Storage::NORETURN | Storage::KERNEL) {
            let word = if storage.contains(Storage::INLINE) {
                "'inline' can only appear on functions"
            } else {
                "'kernel' attribute only applies to functions"
            };
            self.error(name.span, word);
        }
        if specified.is_auto {
            let Some(Initializer::Expr(expr)) = init else {
                let text = format!(
                    "declaration of variable '{}' with deduced type '__auto_type' requires an initializer",
                    self.text(name.symbol)
                );
                self.error(name.span, text);
                return;
            };
            let ty = self.expr(expr).ty;
            declared.ty.ty = ty;
        }
        let is_sampler = *self.module.types.kind(declared.ty.ty) == TypeKind::Sampler;
        if is_sampler && matches!(declared.space, Some((AddressSpace::Local | AddressSpace::Global, _))) {
            let text = "sampler type cannot be used with the __local and __global address space qualifiers";
            self.error(name.span, text);
        }
        if is_sampler
            && !declared.ty.quals.is_const
            && declared.space.is_none_or(|(space, _)| space != AddressSpace::Constant)
        {
            self.error(name.span, "global sampler requires a const or constant address space qualifier");
            return;
        }
        let is_extern = storage.contains(Storage::EXTERN);
        if is_extern && matches!(self.module.types.kind(declared.ty.ty), TypeKind::BlockPointer(_)) {
            let text = "invalid block variable declaration - using 'extern' storage class is disallowed";
            self.error(name.span, text);
        } else {
            self.check_block_variable(&declared, name, init.is_some());
        }
        let place = if is_extern { "extern" } else { "program scope" };
        let space = self.static_space(&declared, name, place);
        let mut ty = declared.ty.in_space(space);
        if !self.check_static_type(ty, name) {
            ty.ty = self.module.types.error();
        }
        let id = self.redeclare_global(&declared, name, ty, storage, init.is_some());
        let Some(id) = id else { return };
        if let Some(init) = init {
            if is_extern {
                self.warning(name.span, "extern-initializer", "'extern' variable has an initializer");
            }
            self.static_initializer(id, init, name.span);
        } else if !is_extern
            && (is_sampler || matches!(declared.space, Some((AddressSpace::Constant, _))))
            && *self.module.types.kind(ty.ty) != TypeKind::Error
        {
            self.error(name.span, "variable in constant address space must be initialized");
        }
    }

    /// Declares a variable with linkage at file scope: a new one, or one that was declared before.
    pub(crate) fn redeclare_global(
        &mut self,
        declared: &Declared,
        name: Name,
        ty: QualTy,
        storage: Storage,
        has_init: bool,
    ) -> Option<GlobalId> {
        let is_extern = storage.contains(Storage::EXTERN);
        let defines = !is_extern || has_init;
        let linkage = if storage.contains(Storage::STATIC) { Linkage::Internal } else { Linkage::External };
        if let Some(previous) = self.scopes.find_outermost(name.symbol).cloned() {
            let Entity::Global(id) = previous.entity else {
                self.different_kind(name, previous.span);
                return None;
            };
            let old = self.module.globals.get(id.0 as usize)?;
            let (old_ty, old_linkage, has_old_init) = (old.ty, old.linkage, old.init.is_some());
            if !self.is_compatible_qualified(old_ty, ty) {
                let text = format!(
                    "redefinition of '{}' with a different type: {} vs {}",
                    self.text(name.symbol),
                    self.describe(ty),
                    self.describe(old_ty)
                );
                self.report(Diagnostic::error(name.span, text).note(previous.span, "previous definition is here"));
                return None;
            }
            if old_linkage != linkage && !is_extern {
                let text = if linkage == Linkage::Internal {
                    format!("static declaration of '{}' follows non-static declaration", self.text(name.symbol))
                } else {
                    format!("non-static declaration of '{}' follows static declaration", self.text(name.symbol))
                };
                self.report(Diagnostic::error(name.span, text).note(previous.span, "previous definition is here"));
                return None;
            }
            if has_init && has_old_init {
                let text = format!("redefinition of '{}'", self.text(name.symbol));
                self.report(Diagnostic::error(name.span, text).note(previous.span, "previous definition is here"));
                return None;
            }
            let merged = self.composite(old_ty.ty, ty.ty);
            let align = self.declared_align(declared);
            if let Some(global) = self.module.globals.get_mut(id.0 as usize) {
                global.ty.ty = merged;
                global.is_defined |= defines;
                global.align = global.align.max(align);
            }
            return Some(id);
        }
        let global = Global {
            name: self.text(name.symbol).to_owned(),
            ty,
            init: None,
            linkage,
            is_defined: defines,
            owner: None,
            align: self.declared_align(declared),
            span: name.span,
        };
        let id = self.add_global(global);
        self.scopes.set_outermost(name.symbol, Entity::Global(id), name.span);
        Some(id)
    }

    /// Adds a global.
    pub(crate) fn add_global(&mut self, global: Global) -> GlobalId {
        self.module.globals.push(global);
        GlobalId(self.module.globals.len() as u32 - 1)
    }

    /// The initializer of an object that lives as long as the program.
    pub(crate) fn static_initializer(&mut self, id: GlobalId, init: &Initializer, span: Span) {
        let Some(ty) = self.module.globals.get(id.0 as usize).map(|global| global.ty) else { return };
        // Until it is known, the value keeps other definitions away.
        if let Some(global) = self.module.globals.get_mut(id.0 as usize) {
            global.init = Some(Constant::Undefined);
        }
        let Some((ty, value)) = self.initialize(ty, init, span) else { return };
        let constant = self.evaluate(&value);
        if let Some(global) = self.module.globals.get_mut(id.0 as usize) {
            global.ty = ty;
        }
        match constant {
            Some(constant) => {
                if let Some(global) = self.module.globals.get_mut(id.0 as usize) {
                    global.init = Some(constant);
                }
            }
            None => {
                if *self.module.types.kind(value.ty) != TypeKind::Error {
                    let at = self.first_not_constant(&value);
                    self.error(at, "initializer element is not a compile-time constant");
                }
            }
        }
    }

    /// A new automatic variable of the current function: a named one, or a temporary. It is not declared in a scope.
    pub(crate) fn new_local(&mut self, name: Option<Symbol>, ty: QualTy, span: Span) -> LocalId {
        let Some(state) = self.states.last_mut() else { return LocalId(u32::MAX) };
        state.locals.push(Local { name, ty, align: 0, span });
        LocalId(state.locals.len() as u32 - 1)
    }

    /// The object of a string literal: bytes without the terminating zero. Equal literals are one object. Its type is an
    /// array of `char` in the constant address space, with the zero.
    pub(crate) fn string_literal(&mut self, bytes: Vec<u8>, span: Span) -> GlobalId {
        if let Some(id) = self.strings.get(&bytes) {
            return *id;
        }
        let char = self.module.types.scalar(Scalar::Char);
        let count = bytes.len() as u64 + 1;
        let ty = self.module.types.intern(TypeKind::Array(QualTy::plain(char), Some(count)));
        let quals = Quals { space: AddressSpace::Constant, ..Quals::default() };
        let id = self.add_global(Global {
            name: String::new(),
            ty: QualTy { ty, quals },
            init: Some(Constant::Bytes(bytes.clone())),
            linkage: Linkage::Internal,
            is_defined: true,
            owner: None,
            align: 0,
            span,
        });
        self.strings.insert(bytes, id);
        id
    }

    /// What is checked when everything is declared.
    fn finish(&mut self) {
        for index in 0..self.module.globals.len() {
            let Some(global) = self.module.globals.get(index) else { continue };
            if !global.is_defined || global.init.is_some() || self.module.types.layout(global.ty.ty).is_some() {
                continue;
            }
            let (ty, span) = (global.ty, global.span);
            if let TypeKind::Array(element, None) = *self.module.types.kind(ty.ty)
                && self.module.types.layout(element.ty).is_some()
            {
                let text = "tentative array definition assumed to have one element";
                self.warning(span, "tentative-definition-array", text);
                let one = self.module.types.intern(TypeKind::Array(element, Some(1)));
                if let Some(global) = self.module.globals.get_mut(index) {
                    global.ty.ty = one;
                }
            } else if ty.ty != self.module.types.error() {
                let text = format!("tentative definition has type {} that is never completed", self.describe(ty));
                self.error(span, text);
            }
        }
        if !self.session.diagnostics.has_errors() {
            self.check_calls();
        }
    }
}
