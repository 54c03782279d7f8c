//! Block literals (`^{ ... }`) and what they capture.

use super::attributes::Attributes;
use super::declarators::Declared;
use super::specifiers::Specified;
use super::state::BlockState;
use super::{Checker, FunctionInfo, FunctionState};
use crate::source::Span;
use crate::syntax::ast::{self, TypeSpecifier};
use crate::tree::{BlockLiteral, Expr, ExprKind, Function, Linkage, Local, LocalId, Place, PlaceKind};
use crate::types::{AddressSpace, Field, FunctionType, Layout, QualTy, Quals, Record, Scalar, Ty, TypeKind};

impl Checker<'_, '_> {
    /// `^ type (parameters) { ... }`: a value of a block pointer type.
    pub(crate) fn block_literal(&mut self, ty: Option<&ast::TypeName>, body: &ast::Block, span: Span) -> Expr {
        if !self.has_blocks() {
            self.error(
                span,
                "blocks support disabled - compile with -fblocks or for OpenCL C 2.0 or OpenCL C 3.0 with \
                 __opencl_c_device_enqueue feature",
            );
            return self.error_value(span);
        }
        if !self.enter(span) {
            return self.error_value(span);
        }
        let value = self.checked_block(ty, body, span);
        self.leave();
        value
    }

    fn checked_block(&mut self, ty: Option<&ast::TypeName>, body: &ast::Block, span: Span) -> Expr {
        let (declared, result) = self.block_type(ty, span);
        let space = self.default_pointee_space();
        let (record, captures) = self.new_captures(space, span);
        let pointer = self.module.types.pointer(QualTy::plain(captures).in_space(space));
        let local = |name, ty, span| Local { name, ty, align: 0, span };
        let mut locals = vec![local(None, QualTy::plain(pointer), span)];
        for parameter in &declared.parameters {
            locals.push(local(parameter.name.map(|name| name.symbol), parameter.ty, parameter.span));
        }
        let outer = self.states.last().and_then(|state| self.module.functions.get(state.id.0 as usize));
        let outer = outer.map_or("", |function| function.link_name.as_str());
        let link_name = format!("__{outer}_block_invoke_{}", self.module.functions.len());
        let name = self.session.names.intern(&link_name);
        let function = Function {
            name,
            link_name,
            result: result.unwrap_or_else(|| self.module.types.void()),
            parameters: locals.len() as u32,
            linkage: Linkage::Internal,
            kernel: None,
            inline: None,
            locals: Vec::new(),
            labels: 0,
            body: None,
            contract: self.contract,
            span,
            end: span,
        };
        let info = FunctionInfo { is_block: true, ..FunctionInfo::new(declared.ty.ty) };
        let id = self.add_function(function, info);
        self.record_call(id, span);
        let contract = self.states.last().map_or(self.contract, |state| state.contract);
        let result_or_error = result.unwrap_or_else(|| self.module.types.error());
        let state = FunctionState {
            block: Some(BlockState {
                record,
                captured: Vec::new(),
                values: Vec::new(),
                infers_result: result.is_none(),
            }),
            ..FunctionState::new(id, result_or_error, locals, contract)
        };
        let contract = state.contract;
        let Some((mut state, statements)) = self.function_body(state, &declared, body) else {
            return self.error_value(span);
        };
        let block = state.block.take();
        let result = match &block {
            Some(block) if block.infers_result => self.module.types.void(),
            _ => state.result,
        };
        self.check_end(&statements, result, false, body.span, true);
        let parameters = declared.parameters.iter().map(|parameter| QualTy::plain(parameter.ty.ty)).collect();
        let function = FunctionType { result, parameters, is_variadic: false };
        let function_ty = self.module.types.intern(TypeKind::Function(Box::new(function)));
        if let Some(info) = self.functions.get_mut(id.0 as usize) {
            info.ty = function_ty;
        }
        if let Some(function) = self.module.functions.get_mut(id.0 as usize) {
            function.result = result;
            function.parameters = declared.parameters.len() as u32 + 1;
            function.locals = state.locals;
            function.labels = state.labels;
            function.contract = contract;
            function.body = Some(statements);
            function.end = Span { lo: body.span.hi.saturating_sub(1).max(body.span.lo), ..body.span };
        }
        self.finish_captures(record);
        let ty = self.module.types.intern(TypeKind::BlockPointer(function_ty));
        let values = block.map(|block| block.values).unwrap_or_default();
        Expr { kind: ExprKind::Block(BlockLiteral { function: id, captures, values }), ty, span }
    }

    /// The type of a block literal as it is written, and its result if that is written.
    fn block_type(&mut self, ty: Option<&ast::TypeName>, span: Span) -> (Declared, Option<Ty>) {
        let void = self.module.types.void();
        let nothing = |checker: &mut Self, result: Ty| {
            let function = FunctionType { result, parameters: Vec::new(), is_variadic: false };
            let ty = checker.module.types.intern(TypeKind::Function(Box::new(function)));
            Declared {
                name: None,
                ty: QualTy::plain(ty),
                space: None,
                attributes: Attributes::default(),
                parameters: Vec::new(),
                span,
            }
        };
        let Some(name) = ty else { return (nothing(self, void), None) };
        let is_missing = matches!(name.specifiers.ty, TypeSpecifier::Missing);
        let specified = if is_missing {
            Specified { ty: QualTy::plain(void), space: None, attributes: Attributes::default(), is_auto: false }
        } else {
            self.specifiers(&name.specifiers, false)
        };
        let declared = self.declarator(&specified, &name.declarator);
        let kind = self.module.types.kind(declared.ty.ty);
        if let Some(function) = kind.function() {
            let result = function.result;
            (declared, (!is_missing).then_some(result))
        } else if *kind == TypeKind::Error {
            (nothing(self, void), None)
        } else {
            let result = declared.ty.ty;
            (nothing(self, result), Some(result))
        }
    }

    /// The record of a block's captures: size, alignment and invoke function come first.
    fn new_captures(&mut self, space: AddressSpace, span: Span) -> (crate::types::RecordId, Ty) {
        let int = QualTy::plain(self.module.types.scalar(Scalar::Int));
        let void = QualTy::plain(self.module.types.void()).in_space(space);
        let invoke = QualTy::plain(self.module.types.pointer(void));
        let field = |ty| Field { name: None, ty, offset: 0, align: None, span };
        let record = self.module.types.add_record(Record {
            is_union: false,
            name: None,
            fields: vec![field(int), field(int), field(invoke)],
            is_complete: true,
            is_packed: false,
            align: None,
            layout: Layout::default(),
            depth: 1,
            span,
        });
        (record, self.module.types.intern(TypeKind::Record(record)))
    }

    /// The place of a local of a function around the current block literal ([`super::Entity::Captured`]): a `const` member of
    /// the captures.
    pub(crate) fn capture(&mut self, local: LocalId, state: usize, span: Span) -> Place {
        let error = QualTy::plain(self.module.types.error());
        let failed = Place { kind: PlaceKind::Local(local), ty: error, span };
        let ty = self.states.get(state).and_then(|state| state.locals.get(local.0 as usize)).map(|local| local.ty);
        let Some(ty) = ty else { return failed };
        if matches!(self.module.types.kind(ty.ty), TypeKind::BlockPointer(_)) {
            self.error(span, "cannot refer to a block inside block");
            return failed;
        }
        let Some(innermost) = self.states.len().checked_sub(1) else { return failed };
        for level in state + 1..=innermost {
            let known = self.states.get(level).and_then(|one| one.block.as_ref());
            let Some(block) = known else { return failed };
            if block.captured.iter().any(|(one, of, _)| *one == local && *of == state) {
                continue;
            }
            let record = block.record;
            let outer = if level == state + 1 {
                Place { kind: PlaceKind::Local(local), ty, span }
            } else {
                match self.captured_place(local, state, level - 1, ty, span) {
                    Some(place) => place,
                    None => return failed,
                }
            };
            let name = self.states.get(state).and_then(|one| one.locals.get(local.0 as usize)).and_then(|one| one.name);
            let value = Expr { kind: ExprKind::Load(Box::new(outer)), ty: ty.ty, span };
            let fields = &mut self.module.types.record_mut(record).fields;
            fields.push(Field { name, ty: QualTy::plain(ty.ty), offset: 0, align: None, span });
            let member = fields.len() as u32 - 1;
            if let Some(block) = self.states.get_mut(level).and_then(|one| one.block.as_mut()) {
                block.captured.push((local, state, member));
                block.values.push(value);
            }
        }
        self.captured_place(local, state, innermost, ty, span).unwrap_or(failed)
    }

    /// The member of a level's captures that holds a local.
    fn captured_place(&self, local: LocalId, state: usize, level: usize, ty: QualTy, span: Span) -> Option<Place> {
        let one = self.states.get(level)?;
        let block = one.block.as_ref()?;
        let (_, _, member) = block.captured.iter().find(|(name, of, _)| *name == local && *of == state)?;
        let pointer_ty = one.locals.first()?.ty;
        let TypeKind::Pointer(record) = *self.module.types.kind(pointer_ty.ty) else { return None };
        let parameter = Place { kind: PlaceKind::Local(LocalId(0)), ty: pointer_ty, span };
        let pointer = Expr { kind: ExprKind::Load(Box::new(parameter)), ty: pointer_ty.ty, span };
        let captures = Place { kind: PlaceKind::Deref(Box::new(pointer)), ty: record, span };
        let quals = Quals { is_const: true, space: record.quals.space, ..Quals::default() };
        let kind = PlaceKind::Field(Box::new(captures), *member);
        Some(Place { kind, ty: QualTy { ty: ty.ty, quals }, span })
    }
}
