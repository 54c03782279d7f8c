//! Functions: declarations and definitions.

use super::declarators::Declared;
use super::{Checker, Entity, FunctionInfo, FunctionState};
use crate::diagnostics::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, FunctionDefinition, Name, Storage};
use crate::tree::{Function, FunctionId, Kernel, Linkage, Local, Stmt};
use crate::types::{FunctionType, Ty, TypeKind};

impl Checker<'_, '_> {
    /// The function whose body is checked; `None` at file scope.
    pub(crate) fn current_function(&self) -> Option<FunctionId> {
        self.states.last().map(|state| state.id)
    }

    /// Notes that the current function calls another one of the program, or takes its address.
    pub(crate) fn record_call(&mut self, callee: FunctionId, span: Span) {
        if let Some(caller) = self.current_function() {
            self.calls.push((caller, callee, span));
        }
    }

    /// The type of a function.
    pub(crate) fn function_type(&self, id: FunctionId) -> Option<&FunctionType> {
        let info = self.functions.get(id.0 as usize)?;
        self.module.types.kind(info.ty).function()
    }

    /// Declares a function, or finds it if it was declared before.
    pub(crate) fn declare_function(
        &mut self,
        declared: &Declared,
        specifiers: &ast::Specifiers,
        declarator: &ast::Declarator,
        is_definition: bool,
    ) -> Option<FunctionId> {
        let name = declared.name?;
        let storage = specifiers.storage;
        let is_kernel = storage.contains(Storage::KERNEL);
        self.check_function(declared, name, is_kernel);
        let overloadable = declared.attributes.overloadable;
        let previous = self.scopes.find_outermost(name.symbol).cloned();
        // Programs declare `printf`. Unless they define it as well, the built-in function is meant.
        if previous.is_none()
            && !is_definition
            && !self.defined.contains(&name.symbol)
            && self.builtin_function(name.symbol).is_some_and(|builtin| !builtin.overloads.is_empty())
        {
            return None;
        }
        let mut overloads = Vec::new();
        if let Some(previous) = previous {
            let Entity::Functions(list) = previous.entity else {
                self.different_kind(name, previous.span);
                return None;
            };
            if let Some(id) = self.redeclared(&list, declared, overloadable) {
                let was_overloadable = self.functions.get(id.0 as usize).is_some_and(|info| info.is_overloadable);
                if was_overloadable && !overloadable {
                    let text =
                        format!("redeclaration of '{}' must have the 'overloadable' attribute", self.text(name.symbol));
                    self.report(
                        Diagnostic::error(name.span, text).note(previous.span, "previous overload of function is here"),
                    );
                }
                return self.redeclare_function(id, declared, name, storage, is_definition).then(|| {
                    self.kernel_of(id, declared, declarator, specifiers, is_kernel);
                    id
                });
            }
            let plain =
                list.iter().find(|id| self.functions.get(id.0 as usize).is_some_and(|info| !info.is_overloadable));
            if let Some(plain) = plain
                && !overloadable
            {
                let span = self.module.functions.get(plain.0 as usize).map_or(Span::NONE, |function| function.span);
                let text = format!("conflicting types for '{}'", self.text(name.symbol));
                let what = if self.module.functions.get(plain.0 as usize).is_some_and(|one| one.body.is_some()) {
                    "previous definition is here"
                } else {
                    "previous declaration is here"
                };
                self.report(Diagnostic::error(name.span, text).note(span, what));
                return None;
            }
            overloads = list;
        }
        let id = self.new_function(declared, name, storage);
        overloads.push(id);
        self.scopes.set_outermost(name.symbol, Entity::Functions(overloads), name.span);
        self.kernel_of(id, declared, declarator, specifiers, is_kernel);
        Some(id)
    }

    /// Reports what a function's declaration cannot have.
    fn check_function(&mut self, declared: &Declared, name: Name, is_kernel: bool) {
        let TypeKind::Function(function) = self.module.types.kind(declared.ty.ty) else { return };
        let is_variadic = function.is_variadic;
        if is_variadic
            && !self.session.options.profile.has_extension("__cl_clang_variadic_functions")
            && self.text(name.symbol) != "printf"
        {
            self.error(name.span, "invalid prototype, variadic arguments are not allowed in OpenCL");
        }
        if self.text(name.symbol) == "main" {
            let kind = if is_kernel { "kernel" } else { "function" };
            self.error(name.span, format!("{kind} cannot be called 'main'"));
        }
        if let Some((span, attribute)) = declared.attributes.kernel_only
            && !is_kernel
        {
            self.error(span, format!("attribute '{attribute}' can only be applied to an OpenCL kernel function"));
        }
    }

    /// The function of a name that a declaration declares again.
    fn redeclared(&self, list: &[FunctionId], declared: &Declared, overloadable: bool) -> Option<FunctionId> {
        let parameters = &self.module.types.kind(declared.ty.ty).function()?.parameters;
        list.iter().copied().find(|id| {
            let Some(info) = self.functions.get(id.0 as usize) else { return false };
            if !overloadable && !info.is_overloadable {
                return self.is_compatible(info.ty, declared.ty.ty);
            }
            self.function_type(*id).is_some_and(|function| {
                function.parameters.len() == parameters.len()
                    && function.parameters.iter().zip(parameters).all(|(a, b)| self.is_compatible(a.ty, b.ty))
            })
        })
    }

    /// Declares a function again. False if it cannot be.
    fn redeclare_function(
        &mut self,
        id: FunctionId,
        declared: &Declared,
        name: Name,
        storage: Storage,
        is_definition: bool,
    ) -> bool {
        let Some(function) = self.module.functions.get(id.0 as usize) else { return false };
        let (span, has_body, linkage, result) =
            (function.span, function.body.is_some(), function.linkage, function.result);
        let text = self.text(name.symbol).to_owned();
        let previous = if has_body { "previous definition is here" } else { "previous declaration is here" };
        if is_definition && (has_body || self.states.iter().any(|state| state.id == id)) {
            let error = Diagnostic::error(name.span, format!("redefinition of '{text}'"));
            self.report(error.note(span, "previous definition is here"));
            return false;
        }
        let Some(function) = self.module.types.kind(declared.ty.ty).function() else { return false };
        let own_result = function.result;
        if !self.is_compatible(own_result, result) {
            let error = Diagnostic::error(name.span, format!("conflicting types for '{text}'"));
            self.report(error.note(span, previous));
            return false;
        }
        if storage.contains(Storage::STATIC) && linkage != Linkage::Internal {
            let error =
                Diagnostic::error(name.span, format!("static declaration of '{text}' follows non-static declaration"));
            self.report(error.note(span, previous));
            return false;
        }
        let old_ty = self.functions.get(id.0 as usize).map(|info| info.ty);
        let merged = old_ty.map_or(declared.ty.ty, |old| self.composite(old, declared.ty.ty));
        if let Some(info) = self.functions.get_mut(id.0 as usize) {
            info.ty = merged;
            info.is_noreturn |= declared.attributes.noreturn || storage.contains(Storage::NORETURN);
            info.is_pure |= declared.attributes.pure;
            info.warn_unused_result |= declared.attributes.warn_unused_result;
        }
        if let Some(function) = self.module.functions.get_mut(id.0 as usize) {
            function.inline = declared.attributes.inline.or(function.inline);
            if is_definition {
                function.span = name.span;
            }
            if function.linkage == Linkage::External
                && storage.contains(Storage::INLINE)
                && !storage.contains(Storage::EXTERN)
            {
                function.linkage = Linkage::LinkOnce;
            }
        }
        true
    }

    /// Adds a function.
    fn new_function(&mut self, declared: &Declared, name: Name, storage: Storage) -> FunctionId {
        let attributes = &declared.attributes;
        let text = self.text(name.symbol).to_owned();
        let link_name = if attributes.overloadable { self.mangle(&text, declared.ty.ty) } else { text };
        let linkage = if storage.contains(Storage::STATIC) {
            Linkage::Internal
        } else if attributes.weak || storage.contains(Storage::INLINE) && !storage.contains(Storage::EXTERN) {
            Linkage::LinkOnce
        } else {
            Linkage::External
        };
        let function = self.module.types.kind(declared.ty.ty).function();
        let result = function.map_or(self.module.types.error(), |function| function.result);
        let locals = self.parameter_locals(declared);
        let function = Function {
            name: name.symbol,
            link_name,
            result,
            parameters: locals.len() as u32,
            linkage,
            kernel: None,
            inline: attributes.inline,
            locals,
            labels: 0,
            body: None,
            contract: self.contract,
            span: name.span,
            end: name.span,
        };
        let info = FunctionInfo {
            ty: declared.ty.ty,
            is_overloadable: attributes.overloadable,
            is_noreturn: attributes.noreturn || storage.contains(Storage::NORETURN),
            deprecated: attributes.deprecated.clone(),
            unavailable: attributes.unavailable.clone(),
            warn_unused_result: attributes.warn_unused_result,
            is_pure: attributes.pure,
            is_block: false,
        };
        self.add_function(function, info)
    }

    /// Adds a function to the module.
    pub(crate) fn add_function(&mut self, function: Function, info: FunctionInfo) -> FunctionId {
        self.module.functions.push(function);
        self.functions.push(info);
        FunctionId(self.module.functions.len() as u32 - 1)
    }

    fn parameter_locals(&self, declared: &Declared) -> Vec<Local> {
        let local = |parameter: &super::declarators::DeclaredParameter| Local {
            name: parameter.name.map(|name| name.symbol),
            ty: parameter.ty,
            align: parameter.align,
            span: parameter.name.map_or(parameter.span, |name| name.span),
        };
        declared.parameters.iter().map(local).collect()
    }

    /// A function with a body.
    pub(crate) fn function_definition(&mut self, definition: &FunctionDefinition) {
        let specified = self.specifiers(&definition.specifiers, false);
        self.check_storage(&definition.specifiers);
        let declared = self.declarator(&specified, &definition.declarator);
        let Some(name) = declared.name else { return };
        if definition.specifiers.storage.contains(Storage::TYPEDEF) {
            self.error(name.span, "function definition declared 'typedef'");
            return;
        }
        let Some(function) = self.module.types.kind(declared.ty.ty).function() else {
            if declared.ty.ty != self.module.types.error() {
                self.error(name.span, "expected function body after function declarator");
            }
            return;
        };
        let result = function.result;
        if !matches!(definition.declarator.parts.last(), Some(ast::DeclaratorPart::Function(_))) {
            self.error(name.span, "function definition has no parameter list");
            return;
        }
        self.check_definition_types(&declared, result, name);
        let id = match self.declare_function(&declared, &definition.specifiers, &definition.declarator, true) {
            Some(id) => id,
            // The body is checked all the same, as that of a function that no name refers to.
            None => self.new_function(&declared, name, definition.specifiers.storage),
        };
        let locals = self.parameter_locals(&declared);
        let is_kernel = definition.specifiers.storage.contains(Storage::KERNEL);
        let state = FunctionState { is_kernel, ..FunctionState::new(id, result, locals, self.contract) };
        let Some((state, body)) = self.function_body(state, &declared, &definition.body) else { return };
        let is_noreturn = self.functions.get(id.0 as usize).is_some_and(|info| info.is_noreturn);
        self.check_end(&body, result, is_noreturn, definition.body.span, false);
        if let Some(function) = self.module.functions.get_mut(id.0 as usize) {
            function.parameters = declared.parameters.len() as u32;
            function.locals = state.locals;
            function.labels = state.labels;
            function.contract = self.contract;
            function.body = Some(body);
            let end = definition.body.span;
            function.end = Span { lo: end.hi.saturating_sub(1).max(end.lo), ..end };
        }
    }

    /// Reports parameters and results that a definition cannot have.
    fn check_definition_types(&mut self, declared: &Declared, result: Ty, name: Name) {
        let is_incomplete = |checker: &Self, ty: Ty| {
            !matches!(checker.module.types.kind(ty), TypeKind::Void | TypeKind::Error)
                && checker.module.types.layout(ty).is_none()
        };
        if is_incomplete(self, result) {
            let text = format!("incomplete result type {} in function definition", self.describe_ty(result));
            self.error(name.span, text);
        }
        for parameter in &declared.parameters {
            let span = parameter.name.map_or(parameter.span, |name| name.span);
            if is_incomplete(self, parameter.ty.ty) {
                let text = format!("variable has incomplete type {}", self.describe_ty(parameter.ty.ty));
                self.error(span, text);
            }
            if parameter.name.is_none() {
                self.warning(
                    span,
                    "c23-extensions",
                    "omitting the parameter name in a function definition is a C23 extension",
                );
            }
        }
    }

    /// Checks the body of a function or a block, with its parameters in scope. The state is never lost.
    pub(crate) fn function_body(
        &mut self,
        mut state: FunctionState,
        declared: &Declared,
        body: &ast::Block,
    ) -> Option<(FunctionState, Vec<Stmt>)> {
        self.scopes.push();
        state.scope = self.scopes.depth();
        let first = state.locals.len() - declared.parameters.len();
        self.states.push(state);
        let index = self.states.len() - 1;
        for (number, parameter) in declared.parameters.iter().enumerate() {
            if let Some(name) = parameter.name {
                let local = crate::tree::LocalId((first + number) as u32);
                self.scopes.set(name.symbol, Entity::Local(local), name.span, index);
            }
        }
        let statements = self.items(&body.items);
        self.finish_labels();
        self.scopes.pop();
        self.states.pop().map(|state| (state, statements))
    }

    /// What a kernel has besides a function.
    fn kernel_of(
        &mut self,
        id: FunctionId,
        declared: &Declared,
        declarator: &ast::Declarator,
        specifiers: &ast::Specifiers,
        is_kernel: bool,
    ) {
        if !is_kernel {
            return;
        }
        let kernel = self.kernel(declared, declarator, specifiers);
        if let Some(function) = self.module.functions.get_mut(id.0 as usize) {
            let merged = match function.kernel.take() {
                // A declaration before may have attributes that the definition has not.
                Some(old) => Kernel {
                    required_size: kernel.required_size.or(old.required_size),
                    size_hint: kernel.size_hint.or(old.size_hint),
                    vector_hint: kernel.vector_hint.or(old.vector_hint),
                    required_sub_group_size: kernel.required_sub_group_size.or(old.required_sub_group_size),
                    attributes: if kernel.attributes.is_empty() { old.attributes } else { kernel.attributes },
                    arguments: kernel.arguments,
                },
                None => kernel,
            };
            function.kernel = Some(merged);
        }
    }
}
