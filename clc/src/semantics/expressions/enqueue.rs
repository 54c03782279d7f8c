//! Calls of the functions of device-side enqueue: what they take depends on the block.

use std::rc::Rc;

use super::assign::integer_value;
use crate::builtins::{EnqueueOp, Function, Overload};
use crate::semantics::Checker;
use crate::source::{Span, Symbol};
use crate::syntax::ast;
use crate::tree::{Constant, Expr, ExprKind};
use crate::types::{AddressSpace, FunctionType, QualTy, Scalar, Ty, TypeKind};

/// The arguments of `enqueue_kernel` before the block or the events.
const HEAD: usize = 3;

impl Checker<'_, '_> {
    /// A call of a function of device-side enqueue.
    pub(super) fn call_enqueue(
        &mut self,
        op: EnqueueOp,
        name: Symbol,
        function: &Rc<Function>,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        let Some(first) = function.overloads.first() else { return self.error_value(expr.span) };
        match op {
            EnqueueOp::Kernel => self.enqueue_kernel(first, name, values, callee, expr),
            EnqueueOp::KernelWorkGroupSize
            | EnqueueOp::KernelPreferredWorkGroupSizeMultiple
            | EnqueueOp::KernelSubGroupCount
            | EnqueueOp::KernelMaxSubGroupSize => self.kernel_query(first, name, values, callee, expr),
            EnqueueOp::Marker
            | EnqueueOp::RetainEvent
            | EnqueueOp::ReleaseEvent
            | EnqueueOp::CreateUserEvent
            | EnqueueOp::IsValidEvent
            | EnqueueOp::SetUserEventStatus
            | EnqueueOp::CaptureEventProfilingInfo
            | EnqueueOp::DefaultQueue
            | EnqueueOp::NdRange(_) => self.call_chosen(name, function, values, callee, expr),
        }
    }

    /// A query of a block, perhaps after a range.
    fn kernel_query(
        &mut self,
        overload: &Overload,
        name: Symbol,
        values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        if values.len() != overload.parameters.len() {
            return self.call_single(overload, name, values, callee, expr);
        }
        if let [range, _] = values.as_slice()
            && !matches!(self.kind(range.ty), TypeKind::NdRange)
        {
            self.illegal(name, "'ndrange_t'", range.span);
            return self.error_value(expr.span);
        }
        let Some(block) = values.last() else { return self.error_value(expr.span) };
        let span = block.span;
        match self.block_function_type(block.ty) {
            None => {
                self.illegal(name, "block", span);
                self.error_value(expr.span)
            }
            Some(ty) if !self.takes_local_pointers(&ty) => {
                self.wrong_block(span);
                self.error_value(expr.span)
            }
            Some(_) => {
                Expr { kind: ExprKind::Builtin(overload.lowering, values), ty: overload.result, span: expr.span }
            }
        }
    }

    fn illegal(&mut self, name: Symbol, wanted: &str, at: Span) {
        let text = format!("illegal call to '{}', expected {wanted} argument type", self.text(name));
        self.error(at, text);
    }

    fn wrong_block(&mut self, at: Span) {
        self.error(at, "blocks used in enqueue_kernel call are expected to have parameters of type 'local void*'");
    }

    /// The function type of a block.
    fn block_function_type(&self, ty: Ty) -> Option<FunctionType> {
        let TypeKind::BlockPointer(function) = self.kind(ty) else { return None };
        self.kind(*function).function().cloned()
    }

    /// Whether all parameters are `local void *`, or with an extension pointers to local memory of any type.
    fn takes_local_pointers(&self, ty: &FunctionType) -> bool {
        let any_type = self.session.options.profile.has_extension("cl_khr_device_enqueue_local_arg_types");
        ty.parameters.iter().all(|parameter| {
            self.pointee(parameter.ty).is_some_and(|to| {
                to.quals.space == AddressSpace::Local && (any_type || *self.kind(to.ty) == TypeKind::Void)
            })
        })
    }

    fn enqueue_kernel(
        &mut self,
        overload: &Overload,
        name: Symbol,
        mut values: Vec<Expr>,
        callee: Span,
        expr: &ast::Expr,
    ) -> Expr {
        if values.len() < HEAD + 1 {
            let end = Span { lo: expr.span.hi.saturating_sub(1).max(expr.span.lo), ..expr.span };
            let given = values.len();
            self.error(
                end,
                format!("too few arguments to function call, expected at least {}, have {given}", HEAD + 1),
            );
            return self.error_value(expr.span);
        }
        let wrong = self.enqueue_head(&values);
        if let Some((wanted, at)) = wrong {
            self.illegal(name, wanted, at);
            return self.error_value(expr.span);
        }
        let uint = self.scalar_ty(Scalar::UInt);
        self.convert_at(&mut values, 1, uint);
        // The block comes now, or after a number of events, a list of them, and a place for a new one.
        let at = if values.get(HEAD).and_then(|value| self.block_function_type(value.ty)).is_some() {
            HEAD
        } else if values.len() > HEAD + 3 {
            if let Some((wanted, at)) = self.enqueue_events(&values) {
                self.illegal(name, wanted, at);
                return self.error_value(expr.span);
            }
            self.convert_at(&mut values, HEAD, uint);
            let event = self.module.types.intern(TypeKind::ClkEvent);
            for index in [HEAD + 1, HEAD + 2] {
                if values.get(index).is_some_and(|value| self.is_null(value)) {
                    let space = self.default_pointee_space();
                    let pointer = self.module.types.pointer(QualTy::plain(event).in_space(space));
                    self.convert_at(&mut values, index, pointer);
                }
            }
            HEAD + 3
        } else if values.len() == HEAD + 1 {
            let span = values.get(HEAD).map_or(callee, |value| value.span);
            self.illegal(name, "block", span);
            return self.error_value(expr.span);
        } else {
            self.error(callee, "illegal call to enqueue_kernel, incorrect argument types");
            return self.error_value(expr.span);
        };
        let Some(block) = values.get(at) else { return self.error_value(expr.span) };
        let span = block.span;
        let Some(ty) = self.block_function_type(block.ty) else {
            self.illegal(name, "block", span);
            return self.error_value(expr.span);
        };
        if !self.takes_local_pointers(&ty) {
            self.wrong_block(span);
            return self.error_value(expr.span);
        }
        let sizes = values.len() - at - 1;
        if sizes != ty.parameters.len() {
            self.error(callee, "mismatch in number of block parameters and local size arguments passed");
            return self.error_value(expr.span);
        }
        for index in at + 1..values.len() {
            let Some(value) = values.get(index) else { break };
            let span = value.span;
            if !self.scalar_of(value.ty).is_some_and(Scalar::is_integer) {
                self.error(span, "illegal call to enqueue_kernel, parameter needs to be specified as integer type");
                return self.error_value(expr.span);
            }
            if let (ExprKind::Constant(Constant::Scalar(bits)), Some(scalar)) = (&value.kind, self.scalar_of(value.ty))
                && integer_value(*bits, scalar) == 0
            {
                self.warning(span, "zero-size-local", "the size of local memory is zero");
            }
            self.convert_at(&mut values, index, uint);
        }
        Expr { kind: ExprKind::Builtin(overload.lowering, values), ty: overload.result, span: expr.span }
    }

    fn convert_at(&mut self, values: &mut [Expr], index: usize, to: Ty) {
        if let Some(value) = values.get_mut(index) {
            let span = value.span;
            let taken = std::mem::replace(value, self.error_value(span));
            *value = self.convert(taken, to);
        }
    }

    /// What is wrong with queue, flags, and range.
    fn enqueue_head(&self, values: &[Expr]) -> Option<(&'static str, Span)> {
        let [queue, flags, range, ..] = values else { return None };
        if !matches!(self.kind(queue.ty), TypeKind::Queue) {
            return Some(("'queue_t'", queue.span));
        }
        if !self.scalar_of(flags.ty).is_some_and(Scalar::is_integer) {
            return Some(("'kernel_enqueue_flags_t' (i.e. uint)", flags.span));
        }
        if !matches!(self.kind(range.ty), TypeKind::NdRange) {
            return Some(("'ndrange_t'", range.span));
        }
        None
    }

    /// What is wrong with the events.
    fn enqueue_events(&self, values: &[Expr]) -> Option<(&'static str, Span)> {
        let count = values.get(HEAD)?;
        if !self.scalar_of(count.ty).is_some_and(Scalar::is_integer) {
            return Some(("integer", count.span));
        }
        values.iter().skip(HEAD + 1).take(2).find_map(|value| {
            let is_event = self.pointee(value.ty).is_some_and(|to| matches!(self.kind(to.ty), TypeKind::ClkEvent));
            (!is_event && !self.is_null(value)).then_some(("'clk_event_t *'", value.span))
        })
    }
}
