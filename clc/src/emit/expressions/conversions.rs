//! Conversions.

use spirv::{Op, StorageClass};

use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::emit::types::storage_class;
use crate::tree::{Constant, Conversion, Expr, ExprKind};
use crate::types::{AddressSpace, FloatFormat, QualTy, Scalar, Ty, TypeKind};

impl FunctionEmitter<'_, '_> {
    pub(super) fn convert(&mut self, conversion: Conversion, operand: &Expr, expr: &Expr) -> Id {
        match conversion {
            Conversion::Discard => {
                self.effect(operand);
                return 0;
            }
            Conversion::Sampler => {
                if let ExprKind::Constant(Constant::Scalar(bits)) = operand.kind {
                    return self.module.sampler(bits);
                }
                if let ExprKind::Constant(_) = operand.kind {
                    return self.module.sampler(0);
                }
            }
            Conversion::Arithmetic if self.is_bool(expr.ty) => {
                // A comparison or a `bool` that became a number, and is a `bool` again.
                if let ExprKind::Compare(op, left, right) = &operand.kind
                    && self.module.source.types.lanes(operand.ty).is_some_and(|(_, lanes)| lanes == 1)
                {
                    return self.compare(*op, left, right, operand.span);
                }
                if let Some(truth) = self.as_condition(operand) {
                    return self.value(truth);
                }
            }
            Conversion::Arithmetic
            | Conversion::Splat
            | Conversion::Pointer
            | Conversion::AddressSpace
            | Conversion::PointerToInteger
            | Conversion::IntegerToPointer
            | Conversion::PointerToBool
            | Conversion::Bits => {}
        }
        let value = self.value(operand);
        self.at(expr.span);
        let types = &self.module.source.types;
        match conversion {
            Conversion::Arithmetic => self.convert_value(value, operand.ty, expr.ty),
            Conversion::Splat => match types.lanes(expr.ty) {
                Some((scalar, lanes)) => self.splat_value(value, scalar, lanes),
                None => value,
            },
            Conversion::Pointer => {
                let (from, to) = (self.module.type_id(operand.ty), self.module.type_id(expr.ty));
                self.cast_pointer(value, from, to)
            }
            Conversion::AddressSpace => self.convert_space(value, operand.ty, expr.ty),
            Conversion::PointerToInteger => {
                let bits = self.pointer_bits(value);
                let word = if types.pointer_bytes == 4 { Scalar::UInt } else { Scalar::ULong };
                let to = types.lanes(expr.ty).unwrap_or((word, 1));
                self.convert_lanes(bits, (word, 1), to)
            }
            Conversion::IntegerToPointer => {
                let word = if types.pointer_bytes == 4 { Scalar::UInt } else { Scalar::ULong };
                let bits = match types.lanes(operand.ty) {
                    Some(from) => self.convert_lanes(value, from, (word, 1)),
                    None => value,
                };
                let ty = self.module.type_id(expr.ty);
                self.op(Op::ConvertUToPtr, ty, &[bits])
            }
            Conversion::PointerToBool if types.kind(operand.ty).is_address() => {
                let bits = self.pointer_bits(value);
                let (ty, zero) = (self.module.bool_type(), self.module.size(0));
                self.op(Op::INotEqual, ty, &[bits, zero])
            }
            Conversion::PointerToBool => self.is_valid(value, operand.ty),
            Conversion::Bits => self.convert_bits(value, operand.ty, expr.ty),
            Conversion::Discard | Conversion::Sampler => value,
        }
    }

    /// A value of an arithmetic type as another, with the same number of lanes.
    pub(super) fn convert_value(&mut self, value: Id, from: Ty, to: Ty) -> Id {
        let types = &self.module.source.types;
        match (types.lanes(from), types.lanes(to)) {
            (Some(from), Some(to)) => self.convert_lanes(value, from, to),
            _ => value,
        }
    }

    /// A scalar or vector as another, with C's meaning.
    pub(crate) fn convert_lanes(&mut self, value: Id, from: (Scalar, u8), to: (Scalar, u8)) -> Id {
        if from.0 == to.0 {
            return value;
        }
        let lanes = u32::from(to.1);
        let ty = self.module.lanes_type(to.0, lanes);
        let op = match (from.0, to.0) {
            (Scalar::Bool, _) => {
                let one = to.0.float_format().map_or(1, FloatFormat::one);
                let (one, zero) = (self.module.splat(to.0, lanes, one), self.module.splat(to.0, lanes, 0));
                return self.op(Op::Select, ty, &[value, one, zero]);
            }
            (_, Scalar::Bool) => {
                let zero = self.module.splat(from.0, lanes, 0);
                let op = if from.0.is_float() { Op::FUnordNotEqual } else { Op::INotEqual };
                return self.op(op, ty, &[value, zero]);
            }
            (from, to) if from.is_float() && to.is_float() => Op::FConvert,
            (from, to) if from.is_float() && to.is_signed() => Op::ConvertFToS,
            (from, _) if from.is_float() => Op::ConvertFToU,
            (from, to) if to.is_float() && from.is_signed() => Op::ConvertSToF,
            (_, to) if to.is_float() => Op::ConvertUToF,
            (from, to) if from.bytes() == to.bytes() => return value,
            (from, _) if from.is_signed() => Op::SConvert,
            _ => Op::UConvert,
        };
        if let Some(bits) = self.module.constant_bits(value)
            && to.0.is_integer()
            && lanes == 1
        {
            let width = from.0.bytes() * 8;
            let wide = if from.0.is_signed() { ((bits << (64 - width)) as i64 >> (64 - width)) as u64 } else { bits };
            let mask = u64::MAX >> (64 - to.0.bytes() * 8);
            return self.module.scalar(to.0, wide & mask);
        }
        self.op(op, ty, &[value])
    }

    /// A scalar in all lanes of a vector.
    pub(crate) fn splat_value(&mut self, value: Id, scalar: Scalar, lanes: u8) -> Id {
        if lanes == 1 {
            return value;
        }
        let ty = self.module.lanes_type(scalar, lanes.into());
        let operands = vec![value; lanes.into()];
        if self.module.is_constant(value) {
            return self.module.unique(Op::ConstantComposite, ty, &operands);
        }
        self.op(Op::CompositeConstruct, ty, &operands)
    }

    /// A pointer into another address space.
    fn convert_space(&mut self, value: Id, from: Ty, to: Ty) -> Id {
        let types = &self.module.source.types;
        // Blocks are generic.
        let generic = QualTy::plain(types.void()).in_space(AddressSpace::Generic);
        let space = |ty: Ty| types.kind(ty).pointee().unwrap_or(generic);
        let (source, target) = (space(from), space(to));
        let (from_id, to_id) = (self.module.type_id(from), self.module.type_id(to));
        self.cast_space(value, from_id, storage_class(source.quals.space), to_id, target)
    }

    fn cast_space(&mut self, value: Id, from: Id, from_class: StorageClass, to: Id, target: QualTy) -> Id {
        let to_class = storage_class(target.quals.space);
        if from_class == to_class {
            return self.cast_pointer(value, from, to);
        }
        let op = match (from_class, to_class) {
            (StorageClass::UniformConstant, _) | (_, StorageClass::UniformConstant) => None,
            (_, StorageClass::Generic) => Some(Op::PtrCastToGeneric),
            (StorageClass::Generic, _) => Some(Op::GenericCastToPtr),
            _ => None,
        };
        let Some(op) = op else {
            let bits = self.pointer_bits(value);
            return self.op(Op::ConvertUToPtr, to, &[bits]);
        };
        // The instruction keeps what the pointer points to.
        let pointee = self.module.memory_type_id(target.ty);
        let typed = self.module.pointer_type(from_class, pointee);
        let value = self.cast_pointer(value, from, typed);
        let cast = self.module.pointer_type(to_class, pointee);
        let value = self.op(op, cast, &[value]);
        self.cast_pointer(value, cast, to)
    }

    /// The bits of a value as another type of the same size; three lanes have the size of four.
    pub(crate) fn convert_bits(&mut self, value: Id, from: Ty, to: Ty) -> Id {
        let types = &self.module.source.types;
        let (from_id, to_id) = (self.module.type_id(from), self.module.type_id(to));
        if from_id == to_id {
            return value;
        }
        let (from_lanes, to_lanes) = match (types.lanes(from), types.lanes(to)) {
            (Some(from), Some(to)) => (from, to),
            (None, Some((scalar, lanes))) if matches!(types.kind(from), TypeKind::Pointer(_)) => {
                let bits = self.pointer_bits(value);
                let word = if types.pointer_bytes == 4 { Scalar::UInt } else { Scalar::ULong };
                let is_integer = lanes == 1 && scalar.is_integer();
                return if is_integer {
                    self.convert_lanes(bits, (word, 1), (scalar, 1))
                } else {
                    self.op(Op::Bitcast, to_id, &[bits])
                };
            }
            (Some(_), None) if matches!(types.kind(to), TypeKind::Pointer(_)) => {
                let word = self.module.size_type();
                let bits = if from_id == word { value } else { self.op(Op::Bitcast, word, &[value]) };
                return self.op(Op::ConvertUToPtr, to_id, &[bits]);
            }
            (None, None)
                if matches!((types.kind(from), types.kind(to)), (TypeKind::Pointer(_), TypeKind::Pointer(_))) =>
            {
                return self.convert_space(value, from, to);
            }
            // Records of the same size: through memory.
            _ => {
                let memory = self.spill(value, from);
                let pointer = self.pointer(&memory);
                let wanted = self.module.pointer_to(AddressSpace::Private, to);
                let pointer = self.op(Op::Bitcast, wanted, &[pointer]);
                let align = memory.align.min(self.natural_align(to));
                let memory = self.at_pointer(pointer, QualTy::plain(to), align);
                return self.read_memory(&memory);
            }
        };
        if from_lanes.0.bytes() == to_lanes.0.bytes() && from_lanes.1 == to_lanes.1 {
            return self.op(Op::Bitcast, to_id, &[value]);
        }
        let padded = |lanes: u8| if lanes == 3 { 4 } else { lanes };
        let mut value = value;
        if from_lanes.1 == 3 {
            value = self.resize(value, from_lanes, 4);
        }
        let (from_id, wide) = (
            self.module.lanes_type(from_lanes.0, padded(from_lanes.1).into()),
            self.module.lanes_type(to_lanes.0, padded(to_lanes.1).into()),
        );
        if from_id != wide {
            value = self.op(Op::Bitcast, wide, &[value]);
        }
        if to_lanes.1 == 3 {
            value = self.resize(value, (to_lanes.0, 4), 3);
        }
        value
    }

    /// A vector with more or fewer lanes; new ones are undefined.
    fn resize(&mut self, value: Id, from: (Scalar, u8), lanes: u8) -> Id {
        let ty = self.module.lanes_type(from.0, lanes.into());
        let mut operands = smallvec::SmallVec::<[u32; 18]>::from_slice(&[value, value]);
        operands.extend((0..lanes).map(|lane| if lane < from.1 { u32::from(lane) } else { u32::MAX }));
        self.op(Op::VectorShuffle, ty, &operands)
    }
}
