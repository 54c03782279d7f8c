//! Values of expressions.
//!
//! | file | content |
//! |---|---|
//! | `arithmetic.rs` | operators, comparisons |
//! | `assignments.rs` | stores, initializers, aggregates |
//! | `blocks.rs` | block literals and their calls |
//! | `conditions.rs` | `bool`s, what is evaluated conditionally |
//! | `contraction.rs` | fused multiply-adds |
//! | `conversions.rs` | conversions |
//! | `vectors.rs` | lanes |

mod arithmetic;
mod assignments;
pub(super) mod blocks;
mod conditions;
mod contraction;
mod conversions;
mod vectors;

use spirv::Op;

use crate::builtins::Lowering;

use super::Id;
use super::function::FunctionEmitter;
use super::places::Target;
use crate::tree::{Expr, ExprKind, FunctionId, Place, PlaceKind};
use crate::types::{Ty, TypeKind};

impl FunctionEmitter<'_, '_> {
    /// Evaluates an expression. The value of what has none is never used.
    pub(crate) fn value(&mut self, expr: &Expr) -> Id {
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Constant(constant) => self.module.constant(expr.ty, constant),
            ExprKind::Load(place) => self.load_place(place, expr.ty),
            ExprKind::AddressOf(place) => self.address(place, expr.ty),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, expr),
            ExprKind::Binary(op, left, right) => {
                if let Some(sum) = self.contracted(*op, left, right, expr) {
                    return sum;
                }
                let left_value = self.value(left);
                let right_value = self.value(right);
                self.at(expr.span);
                self.binary(*op, expr.ty, left_value, right_value, right.ty)
            }
            ExprKind::Compare(op, left, right) => {
                let truth = self.compare(*op, left, right, expr.span);
                self.truth_as_number(truth, expr.ty)
            }
            ExprKind::LogicalAnd(left, right) => self.logical(left, right, true),
            ExprKind::LogicalOr(left, right) => self.logical(left, right, false),
            ExprKind::PointerAdd(pointer, index) => {
                let pointer_value = self.value(pointer);
                let index = self.value(index);
                self.at(expr.span);
                self.pointer_add(pointer_value, pointer.ty, index, expr.ty)
            }
            ExprKind::PointerDiff(left, right, size) => self.pointer_diff(left, right, *size, expr.ty),
            ExprKind::Conditional(condition, left, right) => self.conditional(condition, left, right, expr.ty),
            ExprKind::Select(condition, left, right) => self.select_lanes(condition, left, right, expr),
            ExprKind::Assign(place, value) => self.assign(place, value, true),
            ExprKind::Init(place, value) => {
                self.init(place, value);
                self.load_place(place, expr.ty)
            }
            ExprKind::CompoundAssign { place, op, computed, value } => {
                self.compound_assign(place, *op, *computed, value, expr)
            }
            ExprKind::PointerAssign(place, index) => self.pointer_assign(place, index, expr),
            ExprKind::Increment { place, post, decrement } => self.increment(place, *post, *decrement, expr),
            ExprKind::Convert(conversion, operand) => self.convert(*conversion, operand, expr),
            ExprKind::Call(function, arguments) => self.call(*function, arguments, expr),
            ExprKind::Builtin(lowering, arguments) => {
                // An assumption is not worth a branch, and its effects do not take place.
                if *lowering == Lowering::Assume && !self.can_assume(arguments) {
                    return 0;
                }
                let values: Vec<Id> = arguments.iter().map(|argument| self.value(argument)).collect();
                self.at(expr.span);
                super::builtins::call(self, *lowering, expr.ty, arguments, &values).unwrap_or(0)
            }
            ExprKind::Vector(parts) => self.vector(parts, expr.ty),
            ExprKind::Swizzle(vector, lanes) => {
                let value = self.value(vector);
                self.at(expr.span);
                if self.module.source.types.lanes(vector.ty).is_some_and(|(_, count)| count == 1) {
                    return value;
                }
                self.swizzle(value, vector.ty, lanes, expr.ty)
            }
            ExprKind::Shuffle(left, right, lanes) => self.shuffle(left, right, lanes, expr),
            ExprKind::Field(record, field) => self.field_value(record, *field, expr.ty),
            ExprKind::Aggregate(_) => {
                let pointer = self.variable(expr.ty, 0);
                let align = self.natural_align(expr.ty);
                let memory = self.at_pointer(pointer, crate::types::QualTy::plain(expr.ty), align);
                self.initialize(&memory, expr);
                self.read_memory(&memory)
            }
            ExprKind::Comma(first, second) => {
                self.effect(first);
                self.value(second)
            }
            ExprKind::Statements(statements, value) => {
                let contract = self.contract;
                self.statements(statements);
                let value = value.as_ref().map_or(0, |value| self.value(value));
                self.contract = contract;
                value
            }
            ExprKind::Block(literal) => self.block_literal(literal),
            ExprKind::BlockCall(block, arguments) => self.block_call(block, arguments, expr),
        }
    }

    /// Evaluates an expression whose value is not used.
    pub(crate) fn effect(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Constant(_) => {}
            ExprKind::Load(place) if !place.ty.quals.is_volatile => self.place_effect(place),
            ExprKind::Assign(place, value) => {
                self.at(expr.span);
                self.assign(place, value, false);
            }
            ExprKind::Init(place, value) => {
                self.at(expr.span);
                self.init(place, value);
            }
            ExprKind::Conditional(condition, left, right) => self.conditional_effect(condition, left, right),
            ExprKind::LogicalAnd(left, right) => self.logical_effect(left, right, true),
            ExprKind::LogicalOr(left, right) => self.logical_effect(left, right, false),
            ExprKind::Convert(_, operand) | ExprKind::Swizzle(operand, _) => self.effect(operand),
            ExprKind::Comma(first, second) => {
                self.effect(first);
                self.effect(second);
            }
            ExprKind::Statements(statements, value) => {
                let contract = self.contract;
                self.statements(statements);
                if let Some(value) = value {
                    self.effect(value);
                }
                self.contract = contract;
            }
            ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Compare(..)
            | ExprKind::PointerAdd(..)
            | ExprKind::PointerDiff(..)
            | ExprKind::Select(..)
            | ExprKind::CompoundAssign { .. }
            | ExprKind::PointerAssign(..)
            | ExprKind::Increment { .. }
            | ExprKind::Call(..)
            | ExprKind::Builtin(..)
            | ExprKind::Vector(_)
            | ExprKind::Shuffle(..)
            | ExprKind::Field(..)
            | ExprKind::Aggregate(_)
            | ExprKind::Block(_)
            | ExprKind::BlockCall(..) => {
                self.value(expr);
            }
        }
    }

    /// Evaluates a place that is not read.
    fn place_effect(&mut self, place: &Place) {
        match &place.kind {
            PlaceKind::Local(_) | PlaceKind::Global(_) => {}
            PlaceKind::Deref(pointer) => self.effect(pointer),
            PlaceKind::Field(inner, _) | PlaceKind::Lanes(inner, _) => self.place_effect(inner),
            PlaceKind::Index(inner, index) | PlaceKind::Lane(inner, index) => {
                self.place_effect(inner);
                self.effect(index);
            }
            PlaceKind::Temporary(_, value) => self.effect(value),
        }
    }

    fn load_place(&mut self, place: &Place, ty: Ty) -> Id {
        if let Some(element) = self.table_element(place, ty) {
            return element;
        }
        let target = self.place(place);
        self.at(place.span);
        self.read(&target, ty)
    }

    /// The address of an object, or of an array's first element.
    fn address(&mut self, place: &Place, ty: Ty) -> Id {
        let types = &self.module.source.types;
        let memory = match self.place(place) {
            Target::Memory(memory) => memory,
            // Lanes have no addresses.
            target @ (Target::Lanes(..) | Target::Lane(..) | Target::Value(_)) => {
                let value = self.read(&target, place.ty.ty);
                self.spill(value, place.ty.ty)
            }
        };
        let decays = match (types.kind(place.ty.ty), types.kind(ty)) {
            (TypeKind::Array(element, _), TypeKind::Pointer(to)) if element.ty == to.ty && place.ty.ty != to.ty => {
                Some(*element)
            }
            _ => None,
        };
        let memory = match decays {
            Some(element) => self.element(&memory, 0, element),
            None => memory,
        };
        let pointer = self.pointer(&memory);
        let pointee = self.module.memory_type_id(memory.ty);
        let wanted = self.module.type_id(ty);
        let class = memory.class();
        let from = self.module.pointer_type(class, pointee);
        self.cast_pointer(pointer, from, wanted)
    }

    /// A member of a record that is a value.
    fn field_value(&mut self, record: &Expr, field: u32, ty: Ty) -> Id {
        // A member of an object is read alone.
        if let ExprKind::Load(place) = &record.kind
            && let Target::Memory(memory) = self.place(place)
        {
            let member = self.field(memory, field, crate::types::QualTy::plain(ty));
            return self.read_memory(&member);
        }
        let value = self.value(record);
        let TypeKind::Record(id) = self.module.source.types.kind(record.ty) else { return value };
        self.module.memory_type_id(record.ty);
        let place = self.module.records.get(id).and_then(|map| map.fields.get(field as usize)).copied();
        if let Some(super::records::FieldPlace::Member(member)) = place {
            let member_type = self.module.memory_type_id(ty);
            let value = self.op(Op::CompositeExtract, member_type, &[value, member]);
            return if self.is_bool(ty) { self.bool_from_byte(value) } else { value };
        }
        let memory = self.spill(value, record.ty);
        let member = self.field(memory, field, crate::types::QualTy::plain(ty));
        self.read_memory(&member)
    }

    /// A call of a function of the program.
    fn call(&mut self, function: FunctionId, arguments: &[Expr], expr: &Expr) -> Id {
        let values: Vec<Id> = arguments.iter().map(|argument| self.value(argument)).collect();
        self.at(expr.span);
        let id = self.module.function(function);
        let parameters = self.module.source.functions.get(function.0 as usize).map_or(0, |one| one.parameters);
        // Arguments beyond the parameters cannot be read by anyone.
        let values = values.get(..parameters as usize).unwrap_or(&values);
        self.call_id(id, expr.ty, values)
    }

    fn call_id(&mut self, function: Id, result: Ty, values: &[Id]) -> Id {
        let mut operands = vec![function];
        operands.extend_from_slice(values);
        let result = self.module.type_id(result);
        self.op(Op::FunctionCall, result, &operands)
    }
}
