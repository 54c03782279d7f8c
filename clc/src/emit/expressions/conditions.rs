//! Conditions, and what is evaluated only under a condition.

use spirv::Op;

use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::tree::{BinaryOp, Constant, Conversion, Expr, ExprKind, Place, PlaceKind, UnaryOp};
use crate::types::{Scalar, Ty, TypeKind};

/// Nodes of an expression that is evaluated in vain rather than branched around.
const CHEAP: u32 = 12;

impl FunctionEmitter<'_, '_> {
    /// Jumps to one of two blocks, by an expression of type `bool`.
    pub(crate) fn condition(&mut self, expr: &Expr, then: Id, otherwise: Id) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other expressions are values to branch on")]
        match &expr.kind {
            ExprKind::Constant(Constant::Scalar(bits)) => self.jump(if *bits == 0 { otherwise } else { then }),
            ExprKind::Constant(Constant::Zero) => self.jump(otherwise),
            ExprKind::Unary(UnaryOp::LogicalNot, operand) => self.condition(operand, otherwise, then),
            ExprKind::LogicalAnd(left, right) if !self.is_cheap(right) => {
                let middle = self.label();
                self.condition(left, middle, otherwise);
                self.begin_block(middle);
                self.condition(right, then, otherwise);
            }
            ExprKind::LogicalOr(left, right) if !self.is_cheap(right) => {
                let middle = self.label();
                self.condition(left, then, middle);
                self.begin_block(middle);
                self.condition(right, then, otherwise);
            }
            ExprKind::Convert(Conversion::Arithmetic, operand) => match self.as_condition(operand) {
                Some(operand) => self.condition(operand, then, otherwise),
                None => self.branch_on_value(expr, then, otherwise),
            },
            ExprKind::Comma(first, second) => {
                self.effect(first);
                self.condition(second, then, otherwise);
            }
            _ => self.branch_on_value(expr, then, otherwise),
        }
    }

    fn branch_on_value(&mut self, expr: &Expr, then: Id, otherwise: Id) {
        let truth = self.value(expr);
        self.branch_to(truth, then, otherwise);
    }

    /// The `bool` from which a number was made that is converted to `bool` again.
    pub(super) fn as_condition<'e>(&self, number: &'e Expr) -> Option<&'e Expr> {
        let ExprKind::Convert(Conversion::Arithmetic, inner) = &number.kind else { return None };
        (self.module.source.types.lanes(inner.ty) == Some((Scalar::Bool, 1))).then_some(inner)
    }

    /// `left && right` or `left || right`.
    pub(super) fn logical(&mut self, left: &Expr, right: &Expr, is_and: bool) -> Id {
        let ty = self.module.bool_type();
        if self.is_cheap(right) {
            let left = self.value(left);
            let right = self.value(right);
            return self.op(if is_and { Op::LogicalAnd } else { Op::LogicalOr }, ty, &[left, right]);
        }
        let left = self.value(left);
        let (further, end) = (self.label(), self.label());
        let short = (self.module.scalar(Scalar::Bool, u64::from(!is_and)), self.current_block());
        let is_reached = self.is_open();
        let targets = if is_and { (further, end) } else { (end, further) };
        self.branch_to(left, targets.0, targets.1);
        self.begin_block(further);
        let value = self.value(right);
        let long = (value, self.current_block());
        let is_long = self.is_open();
        self.begin_block(end);
        match (is_reached, is_long) {
            (true, true) => self.phi(ty, &[short, long]),
            (true, false) => short.0,
            (false, _) => value,
        }
    }

    /// `left && right` or `left || right` without a value.
    pub(super) fn logical_effect(&mut self, left: &Expr, right: &Expr, is_and: bool) {
        let (further, end) = (self.label(), self.label());
        match is_and {
            true => self.condition(left, further, end),
            false => self.condition(left, end, further),
        }
        self.begin_block(further);
        self.effect(right);
        self.begin_block(end);
    }

    /// `condition ? left : right`
    pub(super) fn conditional(&mut self, condition: &Expr, left: &Expr, right: &Expr, ty: Ty) -> Id {
        let types = &self.module.source.types;
        let is_scalar =
            types.lanes(ty).is_some_and(|(_, lanes)| lanes == 1) || matches!(types.kind(ty), TypeKind::Pointer(_));
        if is_scalar && self.is_cheap(left) && self.is_cheap(right) {
            let condition = self.value(condition);
            let (left, right) = (self.value(left), self.value(right));
            let ty = self.module.type_id(ty);
            return self.op(Op::Select, ty, &[condition, left, right]);
        }
        if let TypeKind::Void = types.kind(ty) {
            self.conditional_effect(condition, left, right);
            return 0;
        }
        let (then, otherwise, end) = (self.label(), self.label(), self.label());
        self.condition(condition, then, otherwise);
        let mut values = smallvec::SmallVec::<[(Id, Id); 2]>::new();
        let mut any = 0;
        for (label, part) in [(then, left), (otherwise, right)] {
            self.begin_block(label);
            any = self.value(part);
            if self.is_open() {
                values.push((any, self.current_block()));
            }
            self.jump(end);
        }
        self.begin_block(end);
        match values[..] {
            [] => any,
            [(value, _)] => value,
            _ => {
                let ty = self.module.type_id(ty);
                self.phi(ty, &values)
            }
        }
    }

    /// `condition ? left : right` without a value.
    pub(super) fn conditional_effect(&mut self, condition: &Expr, left: &Expr, right: &Expr) {
        let (then, otherwise, end) = (self.label(), self.label(), self.label());
        self.condition(condition, then, otherwise);
        self.begin_block(then);
        self.effect(left);
        self.jump(end);
        self.begin_block(otherwise);
        self.effect(right);
        self.begin_block(end);
    }

    /// Whether an assumption is emitted: if the device has the instruction, and it costs little.
    pub(super) fn can_assume(&self, arguments: &[Expr]) -> bool {
        let extensions = &self.module.session.options.profile.spirv_extensions;
        extensions.contains(&crate::emit::builtins::ASSUMPTIONS)
            && arguments.iter().all(|argument| self.is_cheap(argument))
    }

    /// Whether an expression has no effects, cannot fail, and costs about as much as a branch.
    fn is_cheap(&self, expr: &Expr) -> bool {
        let mut budget = CHEAP;
        self.fits(expr, &mut budget)
    }

    fn fits(&self, expr: &Expr, budget: &mut u32) -> bool {
        let Some(rest) = budget.checked_sub(1) else { return false };
        *budget = rest;
        match &expr.kind {
            ExprKind::Constant(_) => true,
            ExprKind::Load(place) => self.is_cheap_place(place),
            ExprKind::AddressOf(place) => {
                matches!(place.kind, PlaceKind::Local(_) | PlaceKind::Global(_))
            }
            ExprKind::Unary(_, operand) => self.fits(operand, budget),
            ExprKind::Binary(op, left, right) => {
                let traps = matches!(op, BinaryOp::Div | BinaryOp::Rem)
                    && self.module.source.types.lanes(expr.ty).is_none_or(|(scalar, _)| scalar.is_integer());
                !traps && self.fits(left, budget) && self.fits(right, budget)
            }
            ExprKind::Compare(_, left, right)
            | ExprKind::LogicalAnd(left, right)
            | ExprKind::LogicalOr(left, right)
            | ExprKind::PointerAdd(left, right) => self.fits(left, budget) && self.fits(right, budget),
            ExprKind::Convert(conversion, operand) => match conversion {
                Conversion::Arithmetic
                | Conversion::Splat
                | Conversion::Pointer
                | Conversion::PointerToInteger
                | Conversion::IntegerToPointer
                | Conversion::PointerToBool
                | Conversion::Bits
                | Conversion::AddressSpace => self.fits(operand, budget),
                Conversion::Discard | Conversion::Sampler => false,
            },
            ExprKind::Swizzle(operand, _) => self.fits(operand, budget),
            ExprKind::PointerDiff(..)
            | ExprKind::Conditional(..)
            | ExprKind::Select(..)
            | ExprKind::Assign(..)
            | ExprKind::Init(..)
            | ExprKind::CompoundAssign { .. }
            | ExprKind::PointerAssign(..)
            | ExprKind::Increment { .. }
            | ExprKind::Call(..)
            | ExprKind::Builtin(..)
            | ExprKind::Vector(_)
            | ExprKind::Shuffle(..)
            | ExprKind::Field(..)
            | ExprKind::Aggregate(_)
            | ExprKind::Comma(..)
            | ExprKind::Statements(..)
            | ExprKind::Block(_)
            | ExprKind::BlockCall(..) => false,
        }
    }

    /// Whether a place is read without danger: a variable of an arithmetic or pointer type, or a part of a variable.
    fn is_cheap_place(&self, place: &Place) -> bool {
        if place.ty.quals.is_volatile {
            return false;
        }
        match &place.kind {
            PlaceKind::Local(_) => {
                let types = &self.module.source.types;
                types.lanes(place.ty.ty).is_some() || matches!(types.kind(place.ty.ty), TypeKind::Pointer(_))
            }
            PlaceKind::Lanes(inner, _) => self.is_cheap_place(inner),
            PlaceKind::Field(inner, _) => {
                let mut inner = inner;
                while let PlaceKind::Field(next, _) = &inner.kind {
                    inner = next;
                }
                matches!(inner.kind, PlaceKind::Local(_))
            }
            PlaceKind::Global(_)
            | PlaceKind::Deref(_)
            | PlaceKind::Index(..)
            | PlaceKind::Lane(..)
            | PlaceKind::Temporary(..) => false,
        }
    }
}
