//! Places: where objects lie, and how they are read and written.
//!
//! A place in memory is a pointer and indices from there ([`Memory`]), so that `a[i].b[j]` is one access chain.

use smallvec::SmallVec;
use spirv::{Op, StorageClass};

use super::Id;
use super::function::{FunctionEmitter, memory_access};
use super::records::FieldPlace;
use super::types::storage_class;
use crate::tree::{Constant, Expr, ExprKind, LocalId, Place, PlaceKind};
use crate::types::{AddressSpace, QualTy, Scalar, Ty, TypeKind};

/// Objects up to this size are copied as values, if all their bytes are in members of their type.
const COPIED_AS_VALUE: u64 = 128;

/// Where a parameter or an automatic variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// It was not used yet.
    Unused,
    /// A parameter that was not used yet: its value.
    Parameter(Id),
    /// In memory, at this address.
    Memory(Id),
    /// A value that never changes: an image, a sampler.
    Value(Id),
    /// In constant memory.
    Table,
}

/// An object in memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    base: Id,
    /// Objects of the base's type that are stepped over first.
    element: Option<Id>,
    /// Steps into the object.
    indices: SmallVec<[Id; 4]>,
    class: StorageClass,
    /// The type of the object.
    pub ty: Ty,
    /// The alignment that the address has at least.
    pub align: u32,
    /// Whether accesses are volatile.
    pub is_volatile: bool,
}

impl Memory {
    /// The storage class of the memory.
    pub(super) fn class(&self) -> StorageClass {
        self.class
    }
}

/// What a place is.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// An object in memory.
    Memory(Memory),
    /// Lanes of a vector in memory.
    Lanes(Memory, SmallVec<[u8; 16]>),
    /// One lane of a vector in memory.
    Lane(Memory, Id),
    /// A value that is not an object.
    Value(Id),
}

/// The largest power of two that divides a number, at most `limit`.
fn common_align(limit: u32, bytes: u64) -> u32 {
    if bytes == 0 { limit } else { limit.min(1 << bytes.trailing_zeros().min(30)) }
}

impl FunctionEmitter<'_, '_> {
    /// The natural alignment of a type.
    pub(crate) fn natural_align(&self, ty: Ty) -> u32 {
        self.module.source.types.layout(ty).map_or(1, |layout| layout.align)
    }

    fn size_of(&self, ty: Ty) -> u64 {
        self.module.source.types.layout(ty).map_or(0, |layout| layout.size)
    }

    /// The object of a type that a pointer points to, at least so aligned.
    pub(super) fn at_pointer(&mut self, pointer: Id, ty: QualTy, align: u32) -> Memory {
        Memory {
            base: pointer,
            element: None,
            indices: SmallVec::new(),
            class: storage_class(ty.quals.space),
            ty: ty.ty,
            align,
            is_volatile: ty.quals.is_volatile,
        }
    }

    /// Evaluates a place: what is needed to read or write it.
    pub(super) fn place(&mut self, place: &Place) -> Target {
        match &place.kind {
            PlaceKind::Local(local) => self.local(*local, place.ty),
            PlaceKind::Global(global) => match self.module.sampler_global(*global) {
                Some(sampler) => Target::Value(sampler),
                None => {
                    let pointer = self.module.global(*global);
                    let own = self.module.source.globals.get(global.0 as usize).map_or(0, |global| global.align);
                    let align = self.natural_align(place.ty.ty).max(own);
                    Target::Memory(self.at_pointer(pointer, place.ty, align))
                }
            },
            PlaceKind::Deref(pointer) => Target::Memory(self.deref(pointer, place.ty)),
            PlaceKind::Index(array, index) => {
                let target = self.place(array);
                let mut memory = self.in_memory(target, array.ty);
                let index = self.value(index);
                memory.indices.push(index);
                memory.align = common_align(memory.align, self.size_of(place.ty.ty));
                Target::Memory(self.part(memory, place.ty))
            }
            PlaceKind::Field(record, field) => {
                let target = self.place(record);
                let memory = self.in_memory(target, record.ty);
                Target::Memory(self.field(memory, *field, place.ty))
            }
            PlaceKind::Lanes(vector, lanes) => match self.place(vector) {
                Target::Lanes(memory, outer) => {
                    let beyond = self.module.source.types.lanes(memory.ty).map_or(0, |(_, count)| count);
                    let lanes =
                        lanes.iter().map(|lane| outer.get(usize::from(*lane)).copied().unwrap_or(beyond)).collect();
                    Target::Lanes(memory, lanes)
                }
                target @ (Target::Memory(_) | Target::Lane(..) | Target::Value(_)) => {
                    let mut memory = self.in_memory(target, vector.ty);
                    memory.is_volatile |= place.ty.quals.is_volatile;
                    Target::Lanes(memory, SmallVec::from_slice(lanes))
                }
            },
            PlaceKind::Lane(vector, index) => {
                let target = self.place(vector);
                let memory = self.in_memory(target, vector.ty);
                let lanes = self.module.source.types.lanes(vector.ty.ty).map_or(1, |(_, lanes)| lanes);
                if let ExprKind::Constant(Constant::Scalar(lane)) = index.kind
                    && lane < u64::from(lanes)
                {
                    return Target::Lanes(memory, SmallVec::from_slice(&[lane as u8]));
                }
                let index = self.value(index);
                Target::Lane(memory, index)
            }
            PlaceKind::Temporary(local, value) => {
                let ty = self.local_type(*local).unwrap_or(place.ty);
                let target = self.local(*local, ty);
                let Target::Memory(memory) = target else { return target };
                self.initialize(&memory, value);
                Target::Memory(Memory { ty: place.ty.ty, ..memory })
            }
        }
    }

    pub(super) fn local_type(&self, local: LocalId) -> Option<QualTy> {
        self.function.locals.get(local.0 as usize).map(|local| local.ty)
    }

    /// A variable. Its memory is reserved when it is first used.
    pub(super) fn local(&mut self, local: LocalId, ty: QualTy) -> Target {
        let index = local.0 as usize;
        let function = self.function;
        let own = function.locals.get(index).map_or(0, |local| local.align);
        let storage = self.locals.get(index).copied().unwrap_or(Storage::Unused);
        let pointer = match storage {
            Storage::Value(value) => return Target::Value(value),
            Storage::Table => {
                let table = self.table(local);
                let align = self.natural_align(ty.ty);
                return Target::Memory(self.at_pointer(table, ty.in_space(AddressSpace::Constant), align));
            }
            Storage::Memory(pointer) => pointer,
            Storage::Unused | Storage::Parameter(_) => {
                let pointer = self.variable(ty.ty, own);
                if let Some(storage) = self.locals.get_mut(index) {
                    *storage = Storage::Memory(pointer);
                }
                if self.module.session.options.debug
                    && let Some(name) = function.locals.get(index).and_then(|local| local.name)
                {
                    let name = self.module.session.names.text(name);
                    self.module.name(pointer, name);
                }
                if let Storage::Parameter(value) = storage {
                    self.store_parameter(pointer, value, ty, own);
                }
                pointer
            }
        };
        let align = self.natural_align(ty.ty).max(own);
        Target::Memory(self.at_pointer(pointer, ty.in_space(AddressSpace::Private), align))
    }

    /// The address of a variable, if it is in private memory.
    pub(super) fn local_memory(&mut self, local: LocalId, ty: QualTy) -> Option<Id> {
        match self.locals.get(local.0 as usize)? {
            Storage::Unused | Storage::Parameter(_) => {
                self.local(local, ty);
            }
            Storage::Memory(_) | Storage::Value(_) | Storage::Table => {}
        }
        match self.locals.get(local.0 as usize)? {
            &Storage::Memory(pointer) => Some(pointer),
            Storage::Unused | Storage::Parameter(_) | Storage::Value(_) | Storage::Table => None,
        }
    }

    fn store_parameter(&mut self, pointer: Id, value: Id, ty: QualTy, own: u32) {
        let [mask, align] = memory_access(self.natural_align(ty.ty).max(own), false);
        let mut stored = value;
        if self.is_bool(ty.ty) {
            let (byte, one) = (self.module.int_type(8), self.module.scalar(Scalar::UChar, 1));
            let zero = self.module.scalar(Scalar::UChar, 0);
            stored = self.module.fresh();
            self.prologue.push(Op::Select, &[byte, stored, value, one, zero]);
        }
        self.prologue.push(Op::Store, &[pointer, stored, mask, align]);
    }

    /// Whether a type is `bool`, which has another type in memory.
    pub(super) fn is_bool(&self, ty: Ty) -> bool {
        matches!(self.module.source.types.lanes(ty), Some((Scalar::Bool, 1)))
    }

    /// What a pointer points to.
    fn deref(&mut self, pointer: &Expr, ty: QualTy) -> Memory {
        let align = ty.alignment(self.natural_align(ty.ty));
        if let ExprKind::PointerAdd(base, index) = &pointer.kind
            && base.ty == pointer.ty
        {
            let base_id = self.value(base);
            let base_id = self.as_pointer(base_id, base.ty, ty);
            let index = self.value(index);
            let memory = self.at_pointer(base_id, ty, align);
            return Memory { element: Some(index), ..memory };
        }
        if let ExprKind::AddressOf(place) = &pointer.kind
            && place.ty.ty == ty.ty
            && place.ty.quals.space == ty.quals.space
            && let PlaceKind::Local(_) | PlaceKind::Deref(_) | PlaceKind::Index(..) | PlaceKind::Field(..) = place.kind
            && let Target::Memory(memory) = self.place(place)
        {
            return Memory { is_volatile: memory.is_volatile || ty.quals.is_volatile, ..memory };
        }
        let id = self.value(pointer);
        let id = self.as_pointer(id, pointer.ty, ty);
        self.at_pointer(id, ty, align)
    }

    /// A pointer as one to objects of a type. It is one already, unless its type is untyped in SPIR-V.
    pub(super) fn as_pointer(&mut self, pointer: Id, pointer_type: Ty, to: QualTy) -> Id {
        let from = self.module.type_id(pointer_type);
        let wanted = self.module.pointer_to(to.quals.space, to.ty);
        self.cast_pointer(pointer, from, wanted)
    }

    /// A pointer as another type of pointer with the same storage class.
    pub(crate) fn cast_pointer(&mut self, pointer: Id, from: Id, to: Id) -> Id {
        if from == to { pointer } else { self.op(Op::Bitcast, to, &[pointer]) }
    }

    /// The part of an object that the last index selects.
    fn part(&self, memory: Memory, ty: QualTy) -> Memory {
        Memory { ty: ty.ty, is_volatile: memory.is_volatile || ty.quals.is_volatile, ..memory }
    }

    /// An element of an array in memory.
    pub(super) fn element(&mut self, array: &Memory, index: u64, element: QualTy) -> Memory {
        let mut memory = array.clone();
        let id = self.module.size(index);
        memory.indices.push(id);
        memory.align = common_align(memory.align, self.size_of(element.ty));
        self.part(memory, element)
    }

    /// A member of a record in memory.
    pub(super) fn field(&mut self, mut record: Memory, field: u32, ty: QualTy) -> Memory {
        let types = &self.module.source.types;
        let TypeKind::Record(id) = types.kind(record.ty) else { return self.part(record, ty) };
        let offset = types.record(*id).fields.get(field as usize).map_or(0, |field| field.offset);
        let align = common_align(record.align, offset);
        self.module.memory_type_id(record.ty);
        let place = self.module.records.get(id).and_then(|map| map.fields.get(field as usize)).copied();
        match place {
            Some(FieldPlace::Member(member)) => {
                let index = self.module.int(member);
                record.indices.push(index);
                Memory { align, ..self.part(record, ty) }
            }
            Some(FieldPlace::Bytes) | None => {
                let class = record.class;
                let member = self.module.memory_type_id(ty.ty);
                let wanted = self.module.pointer_type(class, member);
                let mut pointer = self.pointer(&record);
                if offset != 0 {
                    let byte = self.module.int_type(8);
                    let bytes = self.module.pointer_type(class, byte);
                    let base = self.op(Op::Bitcast, bytes, &[pointer]);
                    let offset = self.module.size(offset);
                    pointer = self.op(Op::InBoundsPtrAccessChain, bytes, &[base, offset]);
                    pointer = self.cast_pointer(pointer, bytes, wanted);
                } else {
                    let from = self.module.memory_type_id(record.ty);
                    let from = self.module.pointer_type(class, from);
                    pointer = self.cast_pointer(pointer, from, wanted);
                }
                let is_volatile = record.is_volatile || ty.quals.is_volatile;
                Memory { base: pointer, element: None, indices: SmallVec::new(), class, ty: ty.ty, align, is_volatile }
            }
        }
    }

    /// The pointer to an object.
    pub(super) fn pointer(&mut self, memory: &Memory) -> Id {
        if memory.element.is_none() && memory.indices.is_empty() {
            return memory.base;
        }
        let pointee = self.module.memory_type_id(memory.ty);
        self.chain(memory, pointee, None)
    }

    /// The pointer to a part of an object, of type `pointee`.
    fn chain(&mut self, memory: &Memory, pointee: Id, last: Option<Id>) -> Id {
        let result = self.module.pointer_type(memory.class, pointee);
        let mut operands: SmallVec<[u32; 8]> = SmallVec::new();
        operands.push(memory.base);
        operands.extend(memory.element);
        operands.extend(memory.indices.iter().copied());
        operands.extend(last);
        let op = if memory.element.is_some() { Op::InBoundsPtrAccessChain } else { Op::InBoundsAccessChain };
        self.op(op, result, &operands)
    }

    /// A target as an object in memory; what is not an object is copied to memory.
    fn in_memory(&mut self, target: Target, ty: QualTy) -> Memory {
        match target {
            Target::Memory(memory) => memory,
            Target::Lanes(..) | Target::Lane(..) | Target::Value(_) => {
                let value = self.read(&target, ty.ty);
                self.spill(value, ty.ty)
            }
        }
    }

    /// A copy of a value in memory.
    pub(super) fn spill(&mut self, value: Id, ty: Ty) -> Memory {
        let pointer = self.variable(ty, 0);
        let align = self.natural_align(ty);
        let memory = self.at_pointer(pointer, QualTy::plain(ty), align);
        self.write_memory(&memory, value);
        memory
    }

    /// The value of a place of a type.
    pub(super) fn read(&mut self, target: &Target, ty: Ty) -> Id {
        match target {
            Target::Value(value) => *value,
            Target::Memory(memory) => self.read_memory(memory),
            Target::Lanes(memory, lanes) => {
                let vector = self.read_memory(memory);
                self.swizzle(vector, memory.ty, lanes, ty)
            }
            Target::Lane(memory, index) => {
                let vector = self.read_memory(memory);
                let ty = self.module.type_id(ty);
                self.op(Op::VectorExtractDynamic, ty, &[vector, *index])
            }
        }
    }

    /// The value of an object.
    pub(super) fn read_memory(&mut self, memory: &Memory) -> Id {
        let pointer = self.pointer(memory);
        let ty = self.module.memory_type_id(memory.ty);
        let value = self.load(ty, pointer, memory.align, memory.is_volatile);
        if self.is_bool(memory.ty) { self.bool_from_byte(value) } else { value }
    }

    /// A byte as a `bool`.
    pub(super) fn bool_from_byte(&mut self, byte: Id) -> Id {
        let (ty, zero) = (self.module.bool_type(), self.module.scalar(Scalar::UChar, 0));
        self.op(Op::INotEqual, ty, &[byte, zero])
    }

    /// A `bool` as a byte.
    pub(super) fn byte_from_bool(&mut self, value: Id) -> Id {
        let (ty, one) = (self.module.int_type(8), self.module.scalar(Scalar::UChar, 1));
        let zero = self.module.scalar(Scalar::UChar, 0);
        self.op(Op::Select, ty, &[value, one, zero])
    }

    /// Stores a value to an object.
    pub(super) fn write_memory(&mut self, memory: &Memory, value: Id) {
        let value = if self.is_bool(memory.ty) { self.byte_from_bool(value) } else { value };
        self.write_bytes(memory, value);
    }

    /// Stores a value of the type that the object has in memory.
    pub(super) fn write_bytes(&mut self, memory: &Memory, value: Id) {
        let pointer = self.pointer(memory);
        self.store(pointer, value, memory.align, memory.is_volatile);
    }

    /// Stores a value of a type to a place.
    pub(super) fn write(&mut self, target: &Target, value: Id, ty: Ty) {
        match target {
            Target::Value(_) => {}
            Target::Memory(memory) => self.write_memory(memory, value),
            Target::Lanes(memory, lanes) if memory.class == StorageClass::Function => {
                let Some((_, count)) = self.module.source.types.lanes(memory.ty) else { return };
                let vector = self.read_memory(memory);
                let vector_type = self.module.type_id(memory.ty);
                let merged = if let [lane] = lanes[..] {
                    if lane >= count {
                        return;
                    }
                    self.op(Op::CompositeInsert, vector_type, &[value, vector, lane.into()])
                } else {
                    let mut operands: SmallVec<[u32; 18]> = SmallVec::from_slice(&[vector, value]);
                    operands.extend((0..count).map(|lane| match lanes.iter().position(|one| *one == lane) {
                        Some(index) => u32::from(count) + index as u32,
                        None => lane.into(),
                    }));
                    self.op(Op::VectorShuffle, vector_type, &operands)
                };
                self.write_memory(memory, merged);
            }
            // Others may write the other lanes at the same time.
            Target::Lanes(memory, lanes) => {
                let Some((_, count)) = self.module.source.types.lanes(memory.ty) else { return };
                for (index, lane) in lanes.iter().enumerate().filter(|(_, lane)| **lane < count) {
                    let Some((scalar, _)) = self.module.source.types.lanes(ty) else { return };
                    let element = self.module.scalar_type(scalar);
                    let part = match lanes.len() {
                        1 => value,
                        _ => self.op(Op::CompositeExtract, element, &[value, index as u32]),
                    };
                    let lane_id = self.module.int((*lane).into());
                    self.write_lane(memory, lane_id, part, scalar);
                }
            }
            Target::Lane(memory, index) if memory.class == StorageClass::Function => {
                let vector = self.read_memory(memory);
                let vector_type = self.module.type_id(memory.ty);
                let merged = self.op(Op::VectorInsertDynamic, vector_type, &[vector, value, *index]);
                self.write_memory(memory, merged);
            }
            Target::Lane(memory, index) => {
                let Some((scalar, _)) = self.module.source.types.lanes(ty) else { return };
                self.write_lane(memory, *index, value, scalar);
            }
        }
    }

    fn write_lane(&mut self, memory: &Memory, lane: Id, value: Id, scalar: Scalar) {
        let element = self.module.scalar_type(scalar);
        let pointer = self.chain(memory, element, Some(lane));
        let align = common_align(memory.align, scalar.bytes().into());
        self.store(pointer, value, align, memory.is_volatile);
    }

    /// Whether objects of a type are copied in memory, not as values.
    pub(super) fn is_copied(&mut self, ty: Ty) -> bool {
        if !matches!(self.module.source.types.kind(ty), TypeKind::Record(_) | TypeKind::Array(..)) {
            return false;
        }
        let id = self.module.memory_type_id(ty);
        let layout = self.module.memory_layout(id);
        !layout.is_plain || layout.size > COPIED_AS_VALUE
    }

    /// Copies an object to another of the same type.
    pub(super) fn copy(&mut self, to: &Memory, from: &Memory) {
        let size = self.size_of(to.ty);
        if size == 0 {
            return;
        }
        let (target, source) = (self.pointer(to), self.pointer(from));
        let size = self.module.size(size);
        let access = memory_access(to.align.min(from.align), to.is_volatile || from.is_volatile);
        self.op_void(Op::CopyMemorySized, &[target, source, size, access[0], access[1]]);
    }
}
