//! Declarations in functions.

use super::declarators::Declared;
use super::{Checker, Entity};
use crate::options::Version;
use crate::source::Span;
use crate::syntax::ast::{self, Declaration, Initializer, Name, Storage};
use crate::tree::{Expr, ExprKind, FunctionId, Global, GlobalId, Linkage, LocalId, Place, PlaceKind, Stmt, StmtKind};
use crate::types::{AddressSpace, QualTy, TypeKind, Uses};

impl Checker<'_, '_> {
    /// A declaration in a function: the statements that it becomes.
    pub(crate) fn local_declaration(&mut self, declaration: &Declaration) -> Vec<Stmt> {
        let specifiers = &declaration.specifiers;
        let alone = declaration.declarators.is_empty();
        let specified = self.specifiers(specifiers, alone);
        self.check_storage(specifiers);
        let mut statements = Vec::new();
        if alone {
            self.empty_declaration(specifiers);
            return statements;
        }
        for one in &declaration.declarators {
            let declared = self.declarator(&specified, &one.declarator);
            let Some(name) = declared.name else { continue };
            if specifiers.storage.contains(Storage::TYPEDEF) {
                self.typedef(&declared, name, specifiers, one);
            } else if matches!(self.module.types.kind(declared.ty.ty), TypeKind::Function(_)) {
                if one.init.is_some() {
                    self.error(name.span, "illegal initializer (only variables can be initialized)");
                }
                if let Some(id) = self.declare_function(&declared, specifiers, &one.declarator, false)
                    && self.scopes.find(name.symbol).is_some_and(|named| named.scope != 0)
                {
                    let state = self.states.len().saturating_sub(1);
                    self.scopes.set(name.symbol, Entity::Functions(vec![id]), name.span, state);
                }
            } else {
                let init = one.init.as_ref();
                self.local_variable(declared, name, specifiers, specified.is_auto, init, &mut statements);
            }
        }
        statements
    }

    /// A variable in a function.
    fn local_variable(
        &mut self,
        mut declared: Declared,
        name: Name,
        specifiers: &ast::Specifiers,
        is_auto: bool,
        init: Option<&Initializer>,
        statements: &mut Vec<Stmt>,
    ) {
        let storage = specifiers.storage;
        if storage.contains(Storage::INLINE) {
            self.error(name.span, "'inline' can only appear on functions");
        }
        if storage.contains(Storage::EXTERN) {
            let space = self.static_space(&declared, name, "extern");
            if init.is_some() {
                self.error(name.span, "declaration of block scope identifier with linkage cannot have an initializer");
            }
            let ty = declared.ty.in_space(space);
            if let Some(id) = self.redeclare_global(&declared, name, ty, storage, false) {
                let state = self.states.len().saturating_sub(1);
                self.scopes.set(name.symbol, Entity::Global(id), name.span, state);
            }
            return;
        }
        if is_auto {
            self.auto_variable(declared, name, init, statements);
            return;
        }
        self.check_block_variable(&declared, name, init.is_some());
        let space = declared.space.map(|(space, _)| space);
        let is_static = storage.contains(Storage::STATIC);
        if is_static && self.version() < Version::V2_0 {
            self.error(name.span, "variables in function scope cannot be declared static");
        }
        match space {
            _ if is_static => self.static_local(&declared, name, init),
            Some(AddressSpace::Constant) => {
                self.check_function_scope(name, "constant");
                self.static_local(&declared, name, init);
            }
            Some(AddressSpace::Local) => {
                self.check_function_scope(name, "local");
                if init.is_some() {
                    self.error(name.span, "'__local' variable cannot have an initializer");
                }
                self.work_group_variable(&declared, name);
            }
            Some(AddressSpace::Global) => {
                self.error(name.span, "function scope variable cannot be declared in global address space");
            }
            Some(AddressSpace::Generic) => {
                self.error(name.span, "automatic variable qualified with an invalid address space");
            }
            Some(AddressSpace::Private) | None => {
                declared.ty.quals.space = AddressSpace::Private;
                self.automatic_variable(&declared, name, init, statements);
            }
        }
    }

    /// Reports a variable of a block type without an initializer: blocks cannot be assigned.
    pub(crate) fn check_block_variable(&mut self, declared: &Declared, name: Name, has_init: bool) {
        if !has_init && matches!(self.module.types.kind(declared.ty.ty), TypeKind::BlockPointer(_)) {
            self.error(name.span, "invalid block variable declaration - must be initialized");
        }
    }

    /// Reports that a variable of the constant or local address space is not in the outermost block of a kernel. In another
    /// block of a kernel it is accepted with a warning, as by compilers of GPUs: clBLAS declares its tiles in loops. There is
    /// one variable per work-group all the same.
    fn check_function_scope(&mut self, name: Name, space: &str) {
        let Some(state) = self.states.last() else { return };
        if !state.is_kernel {
            let text = format!("non-kernel function variable cannot be declared in {space} address space");
            self.error(name.span, text);
        } else if self.scopes.depth() != state.scope {
            let text = format!(
                "variables in the {space} address space can only be declared in the outermost scope of a kernel function"
            );
            self.warning(name.span, "nested-address-space", text);
        }
    }

    /// Reports types that no variable of a function can have.
    fn check_local_type(&mut self, ty: QualTy, name: Name, has_init: bool) -> bool {
        let element = self.element_of_arrays(ty.ty);
        let kind = self.module.types.kind(element);
        let space = ty.quals.space;
        let text = if *kind == TypeKind::Error {
            return false;
        } else if kind.forbids(Uses::VARIABLE) {
            format!("type '__private {}' can only be used as a function parameter in OpenCL", self.spell(ty))
        } else if self.is_missing_half(element) {
            format!("declaring variable of type '__private {}' is not allowed", self.spell(ty))
        } else if *kind == TypeKind::Sampler && matches!(space, AddressSpace::Local | AddressSpace::Global) {
            "sampler type cannot be used with the __local and __global address space qualifiers".to_owned()
        } else if *kind == TypeKind::Event && space != AddressSpace::Private {
            "the event_t type can only be used with __private address space qualifier".to_owned()
        } else {
            let unknown_size = matches!(self.module.types.kind(ty.ty), TypeKind::Array(_, None));
            if unknown_size && has_init || self.module.types.layout(ty.ty).is_some() {
                return true;
            }
            if unknown_size {
                "definition of variable with array type needs an explicit size or an initializer".to_owned()
            } else {
                format!("variable has incomplete type {}", self.describe(ty))
            }
        };
        self.error(name.span, text);
        false
    }

    /// A `static` variable of a function, or one in the constant address space.
    fn static_local(&mut self, declared: &Declared, name: Name, init: Option<&Initializer>) {
        let space = if self.version() < Version::V2_0 {
            // What is `static` was reported.
            AddressSpace::Constant
        } else {
            self.static_space(declared, name, "static local")
        };
        let mut ty = declared.ty.in_space(space);
        if !self.check_local_type(ty, name, init.is_some()) {
            ty.ty = self.module.types.error();
        }
        let id = self.declare_global_local(declared, name, ty, None);
        match init {
            Some(init) => self.static_initializer(id, init, name.span),
            None if matches!(declared.space, Some((AddressSpace::Constant, _)))
                && *self.module.types.kind(ty.ty) != TypeKind::Error =>
            {
                self.error(name.span, "variable in constant address space must be initialized");
            }
            None => {}
        }
    }

    /// A variable in the local address space.
    fn work_group_variable(&mut self, declared: &Declared, name: Name) {
        let mut ty = declared.ty.in_space(AddressSpace::Local);
        if !self.check_local_type(ty, name, false) {
            ty.ty = self.module.types.error();
        }
        let owner = self.current_function();
        self.declare_global_local(declared, name, ty, owner);
    }

    /// Declares a variable of the function that is checked as a global, which is called by the names of both.
    fn declare_global_local(
        &mut self,
        declared: &Declared,
        name: Name,
        ty: QualTy,
        owner: Option<FunctionId>,
    ) -> GlobalId {
        self.check_redeclared(name, "");
        let function = self.current_function().and_then(|id| self.module.functions.get(id.0 as usize));
        let prefix = function.map_or("", |function| function.link_name.as_str());
        let id = self.add_global(Global {
            name: format!("{prefix}.{}", self.text(name.symbol)),
            ty,
            init: None,
            linkage: Linkage::Internal,
            is_defined: true,
            owner,
            align: self.declared_align(declared),
            span: name.span,
        });
        let state = self.states.len().saturating_sub(1);
        self.scopes.set(name.symbol, Entity::Global(id), name.span, state);
        id
    }

    /// `__auto_type x = value;`
    fn auto_variable(
        &mut self,
        mut declared: Declared,
        name: Name,
        init: Option<&Initializer>,
        statements: &mut Vec<Stmt>,
    ) {
        let Some(Initializer::Expr(expr)) = init else {
            let text = format!(
                "declaration of variable '{}' with deduced type '__auto_type' requires an initializer",
                self.text(name.symbol)
            );
            self.error(name.span, text);
            return;
        };
        let value = self.expr(expr);
        declared.ty.ty = value.ty;
        declared.ty.quals.space = AddressSpace::Private;
        if !self.check_local_type(declared.ty, name, true) {
            declared.ty.ty = self.module.types.error();
        }
        self.check_redeclared(name, "");
        let local = self.declare_local(&declared, name);
        statements.push(Stmt { kind: StmtKind::Declare(local), span: name.span });
        statements.push(self.initialization(local, declared.ty, value, name.span));
    }

    /// An automatic variable.
    fn automatic_variable(
        &mut self,
        declared: &Declared,
        name: Name,
        init: Option<&Initializer>,
        statements: &mut Vec<Stmt>,
    ) {
        let mut declared_ty = declared.ty;
        if !self.check_local_type(declared.ty, name, init.is_some()) {
            declared_ty.ty = self.module.types.error();
        }
        self.check_redeclared(name, "");
        let local = self.declare_local(declared, name);
        self.set_local_type(local, declared_ty);
        statements.push(Stmt { kind: StmtKind::Declare(local), span: name.span });
        let Some(init) = init else { return };
        let Some((ty, value)) = self.initialize(declared_ty, init, name.span) else { return };
        self.set_local_type(local, ty);
        if ty.quals.is_const
            && let Some(constant) = self.evaluate(&value)
            && let Some(state) = self.states.last_mut()
        {
            state.constants.insert(local, constant);
        }
        statements.push(self.initialization(local, ty, value, name.span));
    }

    fn set_local_type(&mut self, local: LocalId, ty: QualTy) {
        if let Some(local) = self.states.last_mut().and_then(|state| state.locals.get_mut(local.0 as usize)) {
            local.ty = ty;
        }
    }

    /// Declares an automatic variable in the innermost scope.
    fn declare_local(&mut self, declared: &Declared, name: Name) -> LocalId {
        let local = self.new_local(Some(name.symbol), declared.ty, name.span);
        let align = self.declared_align(declared);
        if let Some(one) = self.states.last_mut().and_then(|state| state.locals.get_mut(local.0 as usize)) {
            one.align = align;
        }
        let state = self.states.len().saturating_sub(1);
        self.scopes.set(name.symbol, Entity::Local(local), name.span, state);
        local
    }

    /// The statement that initializes a local.
    pub(crate) fn initialization(&self, local: LocalId, ty: QualTy, value: Expr, span: Span) -> Stmt {
        let place = Place { kind: PlaceKind::Local(local), ty, span };
        let of = value.ty;
        let kind = ExprKind::Init(Box::new(place), Box::new(value));
        Stmt { kind: StmtKind::Expr(Expr { kind, ty: of, span }), span }
    }
}
