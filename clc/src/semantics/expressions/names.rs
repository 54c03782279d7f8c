//! Names: objects, functions, constants of enumerations.

use std::rc::Rc;

use crate::builtins::{self, Environment};
use crate::diagnostics::{Diagnostic, similar};
use crate::preprocess::constants;
use crate::semantics::{Checker, Entity, Operand};
use crate::source::{Span, Symbol};
use crate::tree::{Constant, Expr, ExprKind, Place, PlaceKind};
use crate::types::{QualTy, Scalar};

impl Checker<'_, '_> {
    /// A name in an expression.
    pub(super) fn name(&mut self, name: Symbol, span: Span) -> Operand {
        match self.lookup(name) {
            Some(entity) => self.entity(entity, name, span),
            None => self.builtin_name(name, span),
        }
    }

    fn entity(&mut self, entity: Entity, name: Symbol, span: Span) -> Operand {
        match entity {
            Entity::Local(local) => {
                let found = self.states.last().and_then(|state| state.locals.get(local.0 as usize));
                let ty = found.map_or(QualTy::plain(self.module.types.error()), |local| local.ty);
                Operand::Place(Place { kind: PlaceKind::Local(local), ty, span })
            }
            Entity::Captured(local, state) => Operand::Place(self.capture(local, state, span)),
            Entity::Global(global) => {
                let found = self.module.globals.get(global.0 as usize);
                let ty = found.map_or(QualTy::plain(self.module.types.error()), |global| global.ty);
                Operand::Place(Place { kind: PlaceKind::Global(global), ty, span })
            }
            Entity::Functions(functions) => Operand::Functions(functions),
            Entity::Typedef(_) => {
                let text = format!("unexpected type name '{}': expected expression", self.text(name));
                self.error(span, text);
                Operand::Value(self.error_value(span))
            }
            Entity::EnumConstant(value, ty) => {
                let scalar = self.scalar_of(ty).unwrap_or(Scalar::Int);
                let bits = match scalar.bytes() {
                    1 => u64::from(value as u8),
                    2 => u64::from(value as u16),
                    4 => u64::from(value as u32),
                    _ => value as u64,
                };
                Operand::Value(Expr { kind: ExprKind::Constant(Constant::Scalar(bits)), ty, span })
            }
        }
    }

    /// A name that the program does not declare: a built-in function, or a mistake.
    fn builtin_name(&mut self, name: Symbol, span: Span) -> Operand {
        if super::compiler_builtins::is_name(self.text(name)) {
            return Operand::Builtin(name);
        }
        // Macros of the specification, but constants of type `bool` in clang.
        match self.text(name) {
            "true" => return Operand::Value(self.scalar_constant(Scalar::Bool, 1, span)),
            "false" => return Operand::Value(self.scalar_constant(Scalar::Bool, 0, span)),
            _ => {}
        }
        match self.builtin_function(name) {
            Some(function) if !function.overloads.is_empty() => Operand::Builtin(name),
            Some(function) => {
                let mut diagnostic =
                    Diagnostic::error(span, format!("use of undeclared identifier '{}'", self.text(name)));
                if let Some(missing) = &function.missing {
                    diagnostic = diagnostic.note(span, format!("'{}' {missing}", self.text(name)));
                }
                self.report(diagnostic);
                Operand::Value(self.error_value(span))
            }
            None => self.undeclared(name, span),
        }
    }

    fn undeclared(&mut self, name: Symbol, span: Span) -> Operand {
        let wanted = self.text(name);
        let names = &self.session.names;
        let mut visible: Vec<Symbol> = self.scopes.visible().collect();
        visible.sort_unstable();
        let declared = visible.iter().map(|symbol| names.text(*symbol));
        let provided = builtins::names().chain(constants(self.session.options));
        let similar = similar(wanted, declared.chain(provided).map(|name| (name, name)));
        let similar = similar.map(str::to_owned);
        let named = similar.as_ref().and_then(|name| names.get(name));
        let Some((symbol, named)) = named.and_then(|symbol| Some((symbol, self.scopes.find(symbol)?))) else {
            return self.undeclared_like(name, similar, span);
        };
        let (entity, declared) = (named.entity.clone(), named.span);
        let spelled = names.text(symbol).to_owned();
        let text = format!("use of undeclared identifier '{wanted}'; did you mean '{spelled}'?");
        let note = format!("'{spelled}' declared here");
        self.report(Diagnostic::error(span, text).range(span).note(declared, note).fix(span, spelled));
        // What was meant is used, so that its mistakes are found, too.
        match (entity, self.lookup(symbol)) {
            (Entity::Typedef(_), _) | (_, None) => Operand::Value(self.error_value(span)),
            (_, Some(entity)) => self.entity(entity, symbol, span),
        }
    }

    /// A name that is not declared; perhaps a built-in function or constant is meant.
    fn undeclared_like(&mut self, name: Symbol, similar: Option<String>, span: Span) -> Operand {
        let mut text = format!("use of undeclared identifier '{}'", self.text(name));
        let mut fix = None;
        let mut meant = None;
        if let Some(similar) = similar {
            let symbol = self.session.names.intern(&similar);
            let is_function = self.builtin_function(symbol).map(|function| !function.overloads.is_empty());
            // A constant, or a function that the device has.
            if is_function != Some(false) {
                text = format!("{text}; did you mean '{similar}'?");
                fix = Some((span, similar));
                meant = is_function.map(|_| symbol);
            }
        }
        self.report(Diagnostic { fix, ..Diagnostic::error(span, text).range(span) });
        meant.map_or_else(|| Operand::Value(self.error_value(span)), Operand::Builtin)
    }

    /// The built-in function of a name. What was found is kept.
    pub(crate) fn builtin_function(&mut self, name: Symbol) -> Option<Rc<builtins::Function>> {
        if let Some(known) = self.builtins.get(&name) {
            return known.clone();
        }
        let text = self.session.names.text(name);
        let environment =
            Environment { version: self.session.version_of(text), profile: &self.session.options.profile };
        let found = builtins::find(text, environment, &mut self.module.types);
        let found = found.map(Rc::new);
        self.builtins.insert(name, found.clone());
        found
    }
}
