//! Atomic operations.

use spirv::{Capability, MemorySemantics, Op, Scope, StorageClass};

use super::Call;
use super::sync::memory_of;
use crate::builtins::{AtomicForm, AtomicOp};
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::types::storage_class;
use crate::types::{FloatFormat, Scalar, Ty};

impl FunctionEmitter<'_, '_> {
    /// An atomic operation.
    pub(super) fn atomic(&mut self, call: &Call<'_>, op: AtomicOp, form: AtomicForm) -> Id {
        let Some((class, object)) = self.atomic_object(call.ty(0)) else { return 0 };
        let scalar = self.lanes_of(object).0;
        if scalar.is_integer() && scalar.bytes() == 8 {
            self.module.capability(Capability::Int64Atomics);
        }
        let (pointer, memory) = (call.value(0), memory_of(class));
        if op == AtomicOp::Init {
            let align = self.natural_align(object);
            self.store(pointer, call.value(1), align, false);
            return 0;
        }
        if op == AtomicOp::CompareExchange {
            return match form {
                AtomicForm::Old => {
                    let (scope, relaxed) = (self.scope_id(Scope::Device), self.module.int(0));
                    let ty = self.module.type_id(call.result);
                    let operands = [pointer, scope, relaxed, relaxed, call.value(2), call.value(1)];
                    self.op(Op::AtomicCompareExchange, ty, &operands)
                }
                AtomicForm::C11 => self.compare_exchange(call, class, object, memory),
            };
        }
        let operands = match op {
            AtomicOp::Load
            | AtomicOp::Increment
            | AtomicOp::Decrement
            | AtomicOp::FlagSet
            | AtomicOp::FlagClear
            | AtomicOp::Init => 1,
            AtomicOp::Store
            | AtomicOp::Exchange
            | AtomicOp::CompareExchange
            | AtomicOp::Add
            | AtomicOp::Sub
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor => 2,
        };
        let (scope, order) = match form {
            AtomicForm::Old => (self.scope_id(Scope::Device), self.module.int(0)),
            AtomicForm::C11 => {
                let order = match call.count() > operands {
                    true => self.order_of(call.value(operands), memory),
                    false => self.strict_semantics(memory),
                };
                let scope = match call.count() > operands + 1 {
                    true => self.scope_of(call.value(operands + 1)),
                    false => self.scope_id(Scope::Device),
                };
                (scope, order)
            }
        };
        let ty = self.module.type_id(call.result);
        match op {
            AtomicOp::Load => self.op(Op::AtomicLoad, ty, &[pointer, scope, order]),
            AtomicOp::Store => {
                self.op_void(Op::AtomicStore, &[pointer, scope, order, call.value(1)]);
                0
            }
            AtomicOp::Increment => self.op(Op::AtomicIIncrement, ty, &[pointer, scope, order]),
            AtomicOp::Decrement => self.op(Op::AtomicIDecrement, ty, &[pointer, scope, order]),
            AtomicOp::FlagSet => self.op(Op::AtomicFlagTestAndSet, ty, &[pointer, scope, order]),
            AtomicOp::FlagClear => {
                self.op_void(Op::AtomicFlagClear, &[pointer, scope, order]);
                0
            }
            AtomicOp::Sub if scalar.is_float() => {
                let negated = self.op(Op::FNegate, ty, &[call.value(1)]);
                let op = self.read_modify_write(AtomicOp::Add, scalar);
                self.op(op, ty, &[pointer, scope, order, negated])
            }
            AtomicOp::Init
            | AtomicOp::CompareExchange
            | AtomicOp::Exchange
            | AtomicOp::Add
            | AtomicOp::Sub
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor => {
                let op = self.read_modify_write(op, scalar);
                self.op(op, ty, &[pointer, scope, order, call.value(1)])
            }
        }
    }

    /// Storage class and type of what a pointer to an atomic object points to.
    fn atomic_object(&self, ty: Ty) -> Option<(StorageClass, Ty)> {
        let to = self.pointee(ty)?;
        let object = self.module.source.types.kind(to.ty).atomic_value();
        Some((storage_class(to.quals.space), object.unwrap_or(to.ty)))
    }

    /// The instruction of an operation with one operand; declares what it needs.
    fn read_modify_write(&mut self, op: AtomicOp, scalar: Scalar) -> Op {
        let is_float = scalar.is_float();
        if let Some(format) = scalar.float_format() {
            if op == AtomicOp::Add {
                self.module.capability(match format {
                    FloatFormat::Half => Capability::AtomicFloat16AddEXT,
                    FloatFormat::Single => Capability::AtomicFloat32AddEXT,
                    FloatFormat::Double => Capability::AtomicFloat64AddEXT,
                });
                if format == FloatFormat::Half {
                    self.module.extension("SPV_EXT_shader_atomic_float16_add");
                }
                self.module.extension("SPV_EXT_shader_atomic_float_add");
            }
            if matches!(op, AtomicOp::Min | AtomicOp::Max) {
                self.module.capability(match format {
                    FloatFormat::Half => Capability::AtomicFloat16MinMaxEXT,
                    FloatFormat::Single => Capability::AtomicFloat32MinMaxEXT,
                    FloatFormat::Double => Capability::AtomicFloat64MinMaxEXT,
                });
                self.module.extension("SPV_EXT_shader_atomic_float_min_max");
            }
        }
        match op {
            AtomicOp::Add if is_float => Op::AtomicFAddEXT,
            AtomicOp::Min if is_float => Op::AtomicFMinEXT,
            AtomicOp::Max if is_float => Op::AtomicFMaxEXT,
            AtomicOp::Min if scalar.is_signed() => Op::AtomicSMin,
            AtomicOp::Max if scalar.is_signed() => Op::AtomicSMax,
            AtomicOp::Min => Op::AtomicUMin,
            AtomicOp::Max => Op::AtomicUMax,
            AtomicOp::Add => Op::AtomicIAdd,
            AtomicOp::Sub => Op::AtomicISub,
            AtomicOp::And => Op::AtomicAnd,
            AtomicOp::Or => Op::AtomicOr,
            AtomicOp::Xor => Op::AtomicXor,
            AtomicOp::Init
            | AtomicOp::Load
            | AtomicOp::Store
            | AtomicOp::Exchange
            | AtomicOp::CompareExchange
            | AtomicOp::Increment
            | AtomicOp::Decrement
            | AtomicOp::FlagSet
            | AtomicOp::FlagClear => Op::AtomicExchange,
        }
    }

    /// `atomic_compare_exchange`: object, pointer to the expected value, value, orders for success and failure, scope. Compares
    /// bits.
    fn compare_exchange(&mut self, call: &Call<'_>, class: StorageClass, object: Ty, memory: MemorySemantics) -> Id {
        let (scalar, _) = self.lanes_of(object);
        let (success, failure) = match call.count() > 4 {
            true => (self.order_of(call.value(3), memory), self.order_of(call.value(4), memory)),
            false => {
                let strict = self.strict_semantics(memory);
                (strict, strict)
            }
        };
        let scope = if call.count() > 5 { self.scope_of(call.value(5)) } else { self.scope_id(Scope::Device) };
        let bits = self.module.int_type(scalar.bytes() * 8);
        let align = self.natural_align(object);
        let (mut pointer, mut expected_at, mut value) = (call.value(0), call.value(1), call.value(2));
        if scalar.is_float() {
            if scalar.bytes() == 8 {
                self.module.capability(Capability::Int64Atomics);
            }
            let expected_class =
                self.pointee(call.ty(1)).map_or(StorageClass::Function, |to| storage_class(to.quals.space));
            let object_pointer = self.module.pointer_type(class, bits);
            let expected_pointer = self.module.pointer_type(expected_class, bits);
            pointer = self.op(Op::Bitcast, object_pointer, &[pointer]);
            expected_at = self.op(Op::Bitcast, expected_pointer, &[expected_at]);
            value = self.op(Op::Bitcast, bits, &[value]);
        }
        let expected = self.load(bits, expected_at, align, false);
        let operands = [pointer, scope, success, failure, value, expected];
        let old = self.op(Op::AtomicCompareExchange, bits, &operands);
        let bool_type = self.module.bool_type();
        let succeeded = self.op(Op::IEqual, bool_type, &[old, expected]);
        // Storing the same value again when it succeeded would be a race if others read it.
        let (failed, done) = (self.label(), self.label());
        self.branch_to(succeeded, done, failed);
        self.begin_block(failed);
        self.store(expected_at, old, align, false);
        self.begin_block(done);
        self.number_of_truth(succeeded, call.result)
    }
}
