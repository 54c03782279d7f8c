//! Operators and comparisons.

use spirv::Op;

use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::source::Span;
use crate::tree::{BinaryOp, CompareOp, Expr, ExprKind, UnaryOp};
use crate::types::{Arithmetic, Scalar, Ty, TypeKind};

fn comparison(op: CompareOp, class: Arithmetic) -> Op {
    match (op, class) {
        (CompareOp::Equal, Arithmetic::Float) => Op::FOrdEqual,
        (CompareOp::NotEqual, Arithmetic::Float) => Op::FUnordNotEqual,
        (CompareOp::Less, Arithmetic::Float) => Op::FOrdLessThan,
        (CompareOp::LessEqual, Arithmetic::Float) => Op::FOrdLessThanEqual,
        (CompareOp::Greater, Arithmetic::Float) => Op::FOrdGreaterThan,
        (CompareOp::GreaterEqual, Arithmetic::Float) => Op::FOrdGreaterThanEqual,
        (CompareOp::Equal, Arithmetic::Signed | Arithmetic::Unsigned) => Op::IEqual,
        (CompareOp::NotEqual, Arithmetic::Signed | Arithmetic::Unsigned) => Op::INotEqual,
        (CompareOp::Less, Arithmetic::Signed) => Op::SLessThan,
        (CompareOp::LessEqual, Arithmetic::Signed) => Op::SLessThanEqual,
        (CompareOp::Greater, Arithmetic::Signed) => Op::SGreaterThan,
        (CompareOp::GreaterEqual, Arithmetic::Signed) => Op::SGreaterThanEqual,
        (CompareOp::Less, Arithmetic::Unsigned) => Op::ULessThan,
        (CompareOp::LessEqual, Arithmetic::Unsigned) => Op::ULessThanEqual,
        (CompareOp::Greater, Arithmetic::Unsigned) => Op::UGreaterThan,
        (CompareOp::GreaterEqual, Arithmetic::Unsigned) => Op::UGreaterThanEqual,
    }
}

fn instruction(op: BinaryOp, class: Arithmetic) -> Op {
    match (op, class) {
        (BinaryOp::Add, Arithmetic::Float) => Op::FAdd,
        (BinaryOp::Sub, Arithmetic::Float) => Op::FSub,
        (BinaryOp::Mul, Arithmetic::Float) => Op::FMul,
        (BinaryOp::Div, Arithmetic::Float) => Op::FDiv,
        (BinaryOp::Rem, Arithmetic::Float) => Op::FRem,
        (BinaryOp::Add, Arithmetic::Signed | Arithmetic::Unsigned) => Op::IAdd,
        (BinaryOp::Sub, Arithmetic::Signed | Arithmetic::Unsigned) => Op::ISub,
        (BinaryOp::Mul, Arithmetic::Signed | Arithmetic::Unsigned) => Op::IMul,
        (BinaryOp::Div, Arithmetic::Signed) => Op::SDiv,
        (BinaryOp::Div, Arithmetic::Unsigned) => Op::UDiv,
        (BinaryOp::Rem, Arithmetic::Signed) => Op::SRem,
        (BinaryOp::Rem, Arithmetic::Unsigned) => Op::UMod,
        (BinaryOp::Shr, Arithmetic::Signed) => Op::ShiftRightArithmetic,
        (BinaryOp::Shr, Arithmetic::Unsigned | Arithmetic::Float) => Op::ShiftRightLogical,
        (BinaryOp::Shl, _) => Op::ShiftLeftLogical,
        (BinaryOp::And, _) => Op::BitwiseAnd,
        (BinaryOp::Or, _) => Op::BitwiseOr,
        (BinaryOp::Xor, _) => Op::BitwiseXor,
    }
}

/// Whether overflow is undefined behavior: of signed scalars that arithmetic is done in. Narrower ones, which an increment is
/// emitted in, are computed as `int` and cut off; programs rely on vectors that wrap, and other compilers let them.
fn cannot_overflow(scalar: Scalar, lanes: u8) -> bool {
    lanes == 1 && matches!(scalar, Scalar::Int | Scalar::Long)
}

impl FunctionEmitter<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Expr, expr: &Expr) -> Id {
        let value = self.value(operand);
        self.at(expr.span);
        let Some((scalar, lanes)) = self.module.source.types.lanes(operand.ty) else { return value };
        let ty = self.module.type_id(operand.ty);
        match op {
            UnaryOp::Negate if scalar.is_float() => self.op(Op::FNegate, ty, &[value]),
            UnaryOp::Negate => {
                let result = self.op(Op::SNegate, ty, &[value]);
                if cannot_overflow(scalar, lanes) {
                    self.no_signed_wrap(result);
                }
                result
            }
            UnaryOp::Not => self.op(Op::Not, ty, &[value]),
            UnaryOp::LogicalNot if scalar == Scalar::Bool => self.op(Op::LogicalNot, ty, &[value]),
            UnaryOp::LogicalNot => {
                let zero = self.module.zero(operand.ty);
                let truths = self.module.lanes_type(Scalar::Bool, lanes.into());
                let is_zero = self.op(comparison(CompareOp::Equal, scalar.arithmetic()), truths, &[value, zero]);
                self.truth_as_number(is_zero, expr.ty)
            }
        }
    }

    /// An operator on two values of a type. The right operand of a shift has a type of its own.
    pub(super) fn binary(&mut self, op: BinaryOp, ty: Ty, left: Id, right: Id, right_type: Ty) -> Id {
        let Some((scalar, lanes)) = self.module.source.types.lanes(ty) else { return left };
        let right = match op {
            BinaryOp::Shl | BinaryOp::Shr => self.shift_count(right, right_type, scalar, lanes),
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => right,
        };
        let result = self.module.type_id(ty);
        if scalar == Scalar::Bool {
            return self.bool_operator(op, left, right);
        }
        let instruction = instruction(op, scalar.arithmetic());
        if scalar.is_float() && !self.contract {
            self.module.contraction_off = true;
        }
        let result = self.op(instruction, result, &[left, right]);
        if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) && cannot_overflow(scalar, lanes) {
            self.no_signed_wrap(result);
        }
        result
    }

    /// Operators on `bool`s, which the language computes as `int`: only the lowest bit counts.
    fn bool_operator(&mut self, op: BinaryOp, left: Id, right: Id) -> Id {
        let ty = self.module.bool_type();
        let op = match op {
            BinaryOp::And | BinaryOp::Mul => Op::LogicalAnd,
            BinaryOp::Or => Op::LogicalOr,
            BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => Op::LogicalNotEqual,
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => return left,
        };
        self.op(op, ty, &[left, right])
    }

    /// A shift count as the shifted type, modulo its width.
    fn shift_count(&mut self, count: Id, count_type: Ty, scalar: Scalar, lanes: u8) -> Id {
        let Some((from, from_lanes)) = self.module.source.types.lanes(count_type) else { return count };
        let mask = u64::from(scalar.bytes() * 8 - 1);
        let to = Scalar::integer(scalar.bytes(), false).unwrap_or(scalar);
        if let Some(bits) = self.module.constant_bits(count) {
            return self.module.splat(to, lanes.into(), bits & mask);
        }
        let mut count = self.convert_lanes(count, (from, from_lanes), (to, from_lanes));
        if from_lanes != lanes {
            count = self.splat_value(count, to, lanes);
        }
        let ty = self.module.lanes_type(to, lanes.into());
        let mask = self.module.splat(to, lanes.into(), mask);
        self.op(Op::BitwiseAnd, ty, &[count, mask])
    }

    /// A comparison as a `bool`, or as a vector of such.
    pub(super) fn compare(&mut self, op: CompareOp, left: &Expr, right: &Expr, span: Span) -> Id {
        let types = &self.module.source.types;
        let (kind, lanes) = (types.kind(left.ty), types.lanes(left.ty));
        let left_value = self.value(left);
        let right_value = self.value(right);
        self.at(span);
        if let Some((scalar, lanes)) = lanes {
            let ty = self.module.lanes_type(Scalar::Bool, lanes.into());
            let op = match (op, scalar) {
                (CompareOp::Equal, Scalar::Bool) => Op::LogicalEqual,
                (CompareOp::NotEqual, Scalar::Bool) => Op::LogicalNotEqual,
                _ => comparison(op, scalar.arithmetic()),
            };
            return self.op(op, ty, &[left_value, right_value]);
        }
        let ty = self.module.bool_type();
        if kind.is_address() {
            let left_value = self.pointer_bits(left_value);
            let right_value = self.pointer_bits(right_value);
            return self.op(comparison(op, Arithmetic::Unsigned), ty, &[left_value, right_value]);
        }
        // SPIR-V cannot compare handles: a comparison with null asks whether there is one, others look at memory.
        let is_null =
            |expr: &Expr| matches!(&expr.kind, ExprKind::Constant(one) if crate::emit::constants::is_zero(one));
        let truth = match (is_null(left), is_null(right)) {
            (true, true) => self.module.scalar(Scalar::Bool, 0),
            (true, false) => self.is_valid(right_value, right.ty),
            (false, true) => self.is_valid(left_value, left.ty),
            (false, false) => {
                let bits = [self.handle_bits(left_value, left.ty), self.handle_bits(right_value, right.ty)];
                return self.op(comparison(op, Arithmetic::Unsigned), ty, &bits);
            }
        };
        if op == CompareOp::Equal { self.op(Op::LogicalNot, ty, &[truth]) } else { truth }
    }

    /// What memory holds of a handle, as an integer.
    fn handle_bits(&mut self, handle: Id, ty: Ty) -> Id {
        let memory = self.spill(handle, ty);
        let (from, word) = (self.module.type_id(ty), self.module.size_type());
        let from = self.module.pointer_type(memory.class(), from);
        let to = self.module.pointer_type(memory.class(), word);
        let pointer = self.pointer(&memory);
        let pointer = self.cast_pointer(pointer, from, to);
        self.load(word, pointer, memory.align, false)
    }

    /// The address of a pointer as an integer.
    pub(super) fn pointer_bits(&mut self, pointer: Id) -> Id {
        let ty = self.module.size_type();
        self.op(Op::ConvertPtrToU, ty, &[pointer])
    }

    /// Whether a handle is not null.
    pub(super) fn is_valid(&mut self, value: Id, ty: Ty) -> Id {
        let truth = self.module.bool_type();
        let kind = self.module.source.types.kind(ty);
        if *kind == TypeKind::ClkEvent {
            return self.op(Op::IsValidEvent, truth, &[value]);
        }
        if *kind == TypeKind::ReserveId {
            return self.op(Op::IsValidReserveId, truth, &[value]);
        }
        // Other handles have no null value that could be asked for.
        self.module.scalar(Scalar::Bool, 1)
    }

    /// A `bool`, or a vector of such, as a number: 1 for a scalar, all bits for a vector.
    pub(super) fn truth_as_number(&mut self, truth: Id, ty: Ty) -> Id {
        let Some((scalar, lanes)) = self.module.source.types.lanes(ty) else { return truth };
        if scalar == Scalar::Bool {
            return truth;
        }
        let (result, zero) = (self.module.type_id(ty), self.module.splat(scalar, lanes.into(), 0));
        let bits = match (lanes, scalar) {
            (1, Scalar::Half) => 0x3c00,
            (1, Scalar::Float) => 0x3f80_0000,
            (1, Scalar::Double) => 0x3ff0_0000_0000_0000,
            (1, _) => 1,
            _ => u64::MAX,
        };
        let one = self.module.splat(scalar, lanes.into(), bits);
        self.op(Op::Select, result, &[truth, one, zero])
    }

    /// A pointer plus a number of elements.
    pub(super) fn pointer_add(&mut self, pointer: Id, ty: Ty, index: Id, result: Ty) -> Id {
        let TypeKind::Pointer(pointee) = self.module.source.types.kind(ty) else { return pointer };
        let typed = self.module.pointer_to(pointee.quals.space, pointee.ty);
        let pointer = self.as_pointer(pointer, ty, *pointee);
        let to = self.module.type_id(result);
        let sum = self.op(Op::InBoundsPtrAccessChain, typed, &[pointer, index]);
        self.cast_pointer(sum, typed, to)
    }

    pub(super) fn pointer_diff(&mut self, left: &Expr, right: &Expr, size: u64, ty: Ty) -> Id {
        let left = self.value(left);
        let right = self.value(right);
        let word = self.module.size_type();
        let (left, right) = (self.pointer_bits(left), self.pointer_bits(right));
        let bytes = self.op(Op::ISub, word, &[left, right]);
        let elements = match size {
            0 | 1 => bytes,
            // The difference is a multiple of the size.
            _ if size.is_power_of_two() => {
                let count = self.module.size(size.trailing_zeros().into());
                self.op(Op::ShiftRightArithmetic, word, &[bytes, count])
            }
            _ => {
                let size = self.module.size(size);
                self.op(Op::SDiv, word, &[bytes, size])
            }
        };
        let size_t = if self.module.source.types.pointer_bytes == 4 { Scalar::Int } else { Scalar::Long };
        let to = self.module.source.types.lanes(ty).unwrap_or((size_t, 1));
        self.convert_lanes(elements, (size_t, 1), to)
    }
}
