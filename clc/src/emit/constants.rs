//! Constants. Each exists once in the module.

use spirv::{Capability, Op, StorageClass};

use super::Id;
use super::module::ModuleBuilder;
use super::records::FieldPlace;
use super::types::storage_class;
use crate::source::Span;
use crate::tree::{Address, AddressBase, Constant};
use crate::types::{RecordId, Scalar, Ty, TypeKind};

/// Elements that an `OpConstantComposite` can have.
pub(super) const MAX_ELEMENTS: usize = super::words::MAX_WORDS - 3;

impl ModuleBuilder<'_> {
    /// A constant of a scalar type from its bits.
    pub(crate) fn scalar(&mut self, scalar: Scalar, bits: u64) -> Id {
        let ty = self.scalar_type(scalar);
        let id = match scalar.bytes() {
            _ if scalar == Scalar::Bool => {
                let op = if bits & 1 == 0 { Op::ConstantFalse } else { Op::ConstantTrue };
                self.unique(op, ty, &[])
            }
            // Literals narrower than a word are extended according to the type, which is unsigned.
            1 => self.unique(Op::Constant, ty, &[bits as u32 & 0xff]),
            2 => self.unique(Op::Constant, ty, &[bits as u32 & 0xffff]),
            4 => self.unique(Op::Constant, ty, &[bits as u32]),
            _ => self.unique(Op::Constant, ty, &[bits as u32, (bits >> 32) as u32]),
        };
        let is_number = scalar.is_integer() && scalar != Scalar::Bool;
        self.remember_constant(id, is_number.then_some(bits & (u64::MAX >> (64 - scalar.bytes() * 8))));
        id
    }

    /// An `int` constant: scopes, memory semantics.
    pub(crate) fn int(&mut self, value: u32) -> Id {
        self.scalar(Scalar::UInt, value.into())
    }

    /// A constant of type `size_t`.
    pub(crate) fn size(&mut self, value: u64) -> Id {
        let scalar = if self.source.types.pointer_bytes == 4 { Scalar::UInt } else { Scalar::ULong };
        self.scalar(scalar, value)
    }

    /// A constant with all lanes the same: a scalar for one lane.
    pub(crate) fn splat(&mut self, scalar: Scalar, lanes: u32, bits: u64) -> Id {
        let lane = self.scalar(scalar, bits);
        if lanes == 1 {
            return lane;
        }
        let ty = self.lanes_type(scalar, lanes);
        self.unique(Op::ConstantComposite, ty, &vec![lane; lanes as usize])
    }

    /// A zero of any type.
    pub(crate) fn zero(&mut self, ty: Ty) -> Id {
        match self.source.types.lanes(ty) {
            Some((scalar, 1)) => self.scalar(scalar, 0),
            _ => {
                let ty = self.type_id(ty);
                self.unique(Op::ConstantNull, ty, &[])
            }
        }
    }

    /// An undefined value of a SPIR-V type.
    pub(crate) fn undefined(&mut self, ty: Id) -> Id {
        self.unique(Op::Undef, ty, &[])
    }

    /// A constant as a value of a type.
    pub(crate) fn constant(&mut self, ty: Ty, constant: &Constant) -> Id {
        match (self.source.types.kind(ty), constant) {
            (TypeKind::Scalar(Scalar::Bool), Constant::Zero) => self.scalar(Scalar::Bool, 0),
            (TypeKind::Scalar(Scalar::Bool), Constant::Undefined) => {
                let ty = self.bool_type();
                self.undefined(ty)
            }
            (TypeKind::Scalar(Scalar::Bool), Constant::Scalar(bits)) => self.scalar(Scalar::Bool, *bits),
            (TypeKind::Scalar(Scalar::Bool), Constant::Address(_)) => self.scalar(Scalar::Bool, 1),
            _ => self.memory_constant(ty, constant),
        }
    }

    /// A constant as the contents of an object of a type: a `bool` is a byte.
    pub(crate) fn memory_constant(&mut self, ty: Ty, constant: &Constant) -> Id {
        let source = self.source;
        let kind = source.types.kind(ty);
        if let TypeKind::Atomic(of) = kind {
            return self.memory_constant(*of, constant);
        }
        match constant {
            Constant::Zero => self.memory_zero(ty),
            Constant::Undefined => {
                let ty = self.memory_type_id(ty);
                self.undefined(ty)
            }
            Constant::Scalar(bits) => self.bits(ty, *bits),
            Constant::Vector(lanes) => {
                let Some((scalar, count)) = source.types.lanes(ty) else { return self.memory_zero(ty) };
                let lane = |index: usize| lanes.get(index).copied().unwrap_or(0);
                let ids: Vec<Id> = (0..usize::from(count)).map(|index| self.scalar(scalar, lane(index))).collect();
                let ty = self.memory_type_id(ty);
                self.unique(Op::ConstantComposite, ty, &ids)
            }
            Constant::Bytes(bytes) => {
                let elements =
                    |this: &mut Self| bytes.iter().map(|byte| this.scalar(Scalar::UChar, (*byte).into())).collect();
                self.array_constant(ty, bytes.iter().all(|byte| *byte == 0), elements)
            }
            Constant::Aggregate(parts) => {
                if let TypeKind::Array(element, _) = kind {
                    let element = element.ty;
                    let elements = |this: &mut Self| this.elements(element, parts);
                    return self.array_constant(ty, parts.iter().all(is_zero), elements);
                }
                let TypeKind::Record(record) = kind else { return self.memory_zero(ty) };
                self.record_constant(ty, *record, parts)
            }
            Constant::Union(field, value) => {
                let TypeKind::Record(record) = kind else { return self.memory_zero(ty) };
                self.union_constant(ty, *record, *field, value)
            }
            Constant::Address(address) => self.address_constant(ty, address),
        }
    }

    /// A zero in memory.
    pub(crate) fn memory_zero(&mut self, ty: Ty) -> Id {
        match self.source.types.lanes(ty) {
            Some((Scalar::Bool, 1)) => self.scalar(Scalar::UChar, 0),
            Some((scalar, 1)) => self.scalar(scalar, 0),
            _ => {
                let ty = self.memory_type_id(ty);
                self.unique(Op::ConstantNull, ty, &[])
            }
        }
    }

    /// The bits of a scalar, or of a pointer or sampler that is a number.
    fn bits(&mut self, ty: Ty, bits: u64) -> Id {
        if let TypeKind::Sampler = self.source.types.kind(ty) {
            return self.sampler(bits);
        }
        match self.source.types.lanes(ty) {
            Some((Scalar::Bool, _)) => self.scalar(Scalar::UChar, bits & 1),
            Some((scalar, _)) => self.scalar(scalar, bits),
            None if bits == 0 => self.memory_zero(ty),
            None => {
                let number = self.size(bits);
                let ty = self.memory_type_id(ty);
                self.unique(Op::SpecConstantOp, ty, &[Op::ConvertUToPtr as u32, number])
            }
        }
    }

    /// A sampler from the value of its initializer.
    pub(crate) fn sampler(&mut self, bits: u64) -> Id {
        // A device has the second if it has the first.
        self.capability(Capability::ImageBasic);
        self.capability(Capability::LiteralSampler);
        let ty = self.unique_type(Op::TypeSampler, &[]);
        let addressing = (bits as u32 & 0xe) >> 1;
        let normalized = bits as u32 & 1;
        let filter = u32::from(bits & 0x30 == 0x20);
        self.unique(Op::ConstantSampler, ty, &[addressing.min(4), normalized, filter])
    }

    /// Elements of an array. Long ones often repeat an element.
    pub(super) fn elements(&mut self, element: Ty, parts: &[Constant]) -> Vec<Id> {
        let mut ids: Vec<Id> = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let before = index.checked_sub(1).filter(|before| parts[*before] == *part);
            ids.push(match before {
                Some(before) => ids[before],
                None => self.memory_constant(element, part),
            });
        }
        ids
    }

    /// An array from its first elements; the others are zeros.
    fn array_constant(&mut self, ty: Ty, all_zero: bool, first: impl FnOnce(&mut Self) -> Vec<Id>) -> Id {
        let TypeKind::Array(element, count) = self.source.types.kind(ty) else { return self.memory_zero(ty) };
        let count = count.unwrap_or(0).max(1);
        if all_zero {
            return self.memory_zero(ty);
        }
        let ids = first(self);
        let Some(missing) = count.checked_sub(ids.len() as u64) else { return self.memory_zero(ty) };
        let zero = if missing > 0 { self.memory_zero(element.ty) } else { 0 };
        if count > MAX_ELEMENTS as u64 {
            self.fail(Span::NONE, format!("an initializer of more than {MAX_ELEMENTS} elements in a nested array"));
            return self.memory_zero(ty);
        }
        let mut ids = ids;
        ids.resize(count as usize, zero);
        let ty = self.memory_type_id(ty);
        self.unique(Op::ConstantComposite, ty, &ids)
    }

    fn record_constant(&mut self, ty: Ty, record: RecordId, parts: &[Constant]) -> Id {
        if parts.iter().all(is_zero) {
            return self.memory_zero(ty);
        }
        let struct_id = self.memory_type_id(ty);
        let Some(map) = self.records.get(&record).cloned() else { return self.memory_zero(ty) };
        let fields = &self.source.types.record(record).fields;
        let mut ids = Vec::with_capacity(map.members.len());
        for (member, origin) in map.members.iter().zip(&map.origins) {
            let part = origin.and_then(|field| Some((fields.get(field as usize)?, parts.get(field as usize)?)));
            ids.push(match part {
                Some((field, part)) => self.memory_constant(field.ty.ty, part),
                None => self.null(*member),
            });
        }
        self.unique(Op::ConstantComposite, struct_id, &ids)
    }

    /// A null of a type in memory.
    pub(crate) fn null(&mut self, memory_type: Id) -> Id {
        self.unique(Op::ConstantNull, memory_type, &[])
    }

    /// A union with a value. If its type cannot hold the member's, the bytes of the value fill a structure of another type:
    /// objects with such an initializer are given that type (`globals.rs`), so here only the bytes of scalars are translated.
    fn union_constant(&mut self, ty: Ty, record: RecordId, field: u32, value: &Constant) -> Id {
        if is_zero(value) {
            return self.memory_zero(ty);
        }
        let struct_id = self.memory_type_id(ty);
        let Some(map) = self.records.get(&record).cloned() else { return self.memory_zero(ty) };
        let source = self.source;
        let Some(member) = source.types.record(record).fields.get(field as usize) else { return self.memory_zero(ty) };
        if map.fields.get(field as usize) == Some(&FieldPlace::Member(0)) {
            let mut ids = vec![self.memory_constant(member.ty.ty, value)];
            for padding in map.members.iter().skip(1) {
                ids.push(self.null(*padding));
            }
            return self.unique(Op::ConstantComposite, struct_id, &ids);
        }
        let Some(layout) = source.types.layout(ty) else { return self.memory_zero(ty) };
        let mut bytes = vec![0; usize::try_from(layout.size).unwrap_or(0)];
        if self.store_bytes(member.ty.ty, value, 0, &mut bytes).is_none() {
            self.fail(Span::NONE, "the initializer of a union member that contains an address, and is not the widest");
            return self.memory_zero(ty);
        }
        self.constant_from_bytes(ty, &bytes, 0)
    }

    /// An address as a pointer, or as an integer.
    fn address_constant(&mut self, ty: Ty, address: &Address) -> Id {
        let result = self.memory_type_id(ty);
        let is_pointer = matches!(self.source.types.kind(ty), TypeKind::Pointer(_));
        let global = match address.base {
            AddressBase::Global(global) => global,
            AddressBase::Absolute if address.offset == 0 => return self.memory_zero(ty),
            AddressBase::Absolute if is_pointer => {
                let number = self.size(address.offset as u64);
                return self.unique(Op::SpecConstantOp, result, &[Op::ConvertUToPtr as u32, number]);
            }
            AddressBase::Absolute => return self.bits(ty, address.offset as u64),
            // The addresses of functions are never used as numbers.
            AddressBase::Function(_) => return self.memory_zero(ty),
        };
        let object = self.source.globals.get(global.0 as usize).map(|global| global.ty);
        let class = object.map_or(StorageClass::CrossWorkgroup, |ty| storage_class(ty.quals.space));
        let mut id = self.global(global);
        let mut id_type = match object {
            Some(object) => self.pointer_to(object.quals.space, object.ty),
            None => result,
        };
        if address.offset != 0 {
            let byte = self.int_type(8);
            let bytes = self.pointer_type(class, byte);
            id = self.cast_constant(id, id_type, bytes);
            let offset = self.size(address.offset as u64);
            id = self.unique(Op::SpecConstantOp, bytes, &[Op::InBoundsPtrAccessChain as u32, id, offset]);
            id_type = bytes;
        }
        let Some(to) = self.source.types.kind(ty).pointee() else {
            return self.unique(Op::SpecConstantOp, result, &[Op::ConvertPtrToU as u32, id]);
        };
        let target = storage_class(to.quals.space);
        if target == StorageClass::Generic && class != StorageClass::Generic {
            let byte = self.int_type(8);
            let (bytes, generic) = (self.pointer_type(class, byte), self.pointer_type(target, byte));
            id = self.cast_constant(id, id_type, bytes);
            id = self.unique(Op::SpecConstantOp, generic, &[Op::PtrCastToGeneric as u32, id]);
            id_type = generic;
        }
        self.cast_constant(id, id_type, result)
    }

    /// A pointer constant as another type of pointer.
    pub(super) fn cast_constant(&mut self, id: Id, from: Id, to: Id) -> Id {
        if from == to {
            return id;
        }
        self.unique(Op::SpecConstantOp, to, &[Op::Bitcast as u32, id])
    }
}

/// Whether a constant is zero in all parts.
pub(crate) fn is_zero(constant: &Constant) -> bool {
    match constant {
        Constant::Zero | Constant::Undefined => true,
        Constant::Scalar(bits) => *bits == 0,
        Constant::Vector(lanes) => lanes.iter().all(|bits| *bits == 0),
        Constant::Bytes(bytes) => bytes.iter().all(|byte| *byte == 0),
        Constant::Aggregate(parts) => parts.iter().all(is_zero),
        Constant::Union(_, value) => is_zero(value),
        Constant::Address(_) => false,
    }
}
