//! Types: those of values, and those of objects in memory. They differ in `bool`, which is an `OpTypeBool` as a value and a
//! byte in memory; vectors of three lanes have the size of four in both.

use spirv::{AccessQualifier, Capability, Dim, Op, StorageClass};

use super::Id;
use super::module::ModuleBuilder;
use crate::types::{Access, AddressSpace, ImageShape, RecordId, Scalar, Ty, TypeKind};

/// Pointers to pointers are typed down to this depth, and bytes from there.
const POINTER_DEPTH: usize = 64;
/// Records and arrays may be nested this deeply: SPIR-V's limit.
const NESTING: usize = 255;

/// Size and alignment of a type in memory, as every consumer derives them from the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryLayout {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Whether all bytes that matter are in members of their type: no union, no explicit padding.
    pub is_plain: bool,
}

/// The storage class of an address space.
pub(crate) fn storage_class(space: AddressSpace) -> StorageClass {
    match space {
        AddressSpace::Private => StorageClass::Function,
        AddressSpace::Global => StorageClass::CrossWorkgroup,
        AddressSpace::Constant => StorageClass::UniformConstant,
        AddressSpace::Local => StorageClass::Workgroup,
        AddressSpace::Generic => StorageClass::Generic,
    }
}

impl ModuleBuilder<'_> {
    /// The type of values of a type. A `bool` is `OpTypeBool` as a value, and an 8-bit integer in memory.
    pub(crate) fn type_id(&mut self, ty: Ty) -> Id {
        if let Some(id) = self.value_types.get(ty.0 as usize).filter(|id| **id != 0) {
            return *id;
        }
        let kind = self.source.types.kind(ty);
        let id = if *kind == TypeKind::Void {
            self.void_type()
        } else if *kind == TypeKind::Scalar(Scalar::Bool) {
            self.bool_type()
        } else {
            self.memory_type_id(ty)
        };
        remember(&mut self.value_types, ty, id);
        id
    }

    /// The type of objects of a type in memory. Of what has no size, bytes.
    pub(crate) fn memory_type_id(&mut self, ty: Ty) -> Id {
        if let Some(id) = self.memory_types.get(ty.0 as usize).filter(|id| **id != 0) {
            return *id;
        }
        let source = self.source;
        let id = match source.types.kind(ty) {
            TypeKind::Error | TypeKind::Void | TypeKind::Function(_) => self.int_type(8),
            TypeKind::Scalar(scalar) => self.memory_scalar_type(*scalar),
            TypeKind::Vector(scalar, lanes) => {
                let element = self.memory_scalar_type(*scalar);
                self.vector_type(element, u32::from(*lanes))
            }
            TypeKind::Enum(id) => self.memory_scalar_type(source.types.enumeration(*id).scalar),
            TypeKind::Atomic(of) => self.memory_type_id(*of),
            TypeKind::Pointer(to) => return self.pointer(ty, storage_class(to.quals.space), to.ty),
            TypeKind::FunctionPointer(_) => {
                let byte = self.int_type(8);
                self.pointer_type(StorageClass::Function, byte)
            }
            TypeKind::BlockPointer(_) => self.block_type(),
            TypeKind::Array(element, count) => {
                let Some(element) = self.nested(|this| this.memory_type_id(element.ty)) else {
                    return self.int_type(8);
                };
                self.array_type(element, count.unwrap_or(0))
            }
            TypeKind::Record(id) => self.record_type(*id),
            TypeKind::Image(shape, access) => self.image_type(*shape, *access),
            TypeKind::Pipe(_, access) => {
                self.capability(Capability::Pipes);
                self.unique_type(Op::TypePipe, &[access_qualifier(*access) as u32])
            }
            TypeKind::Sampler => self.unique_type(Op::TypeSampler, &[]),
            TypeKind::Event => self.unique_type(Op::TypeEvent, &[]),
            TypeKind::ClkEvent => {
                self.capability(Capability::DeviceEnqueue);
                self.unique_type(Op::TypeDeviceEvent, &[])
            }
            TypeKind::Queue => {
                self.capability(Capability::DeviceEnqueue);
                self.unique_type(Op::TypeQueue, &[])
            }
            TypeKind::NdRange => {
                let (dimension, size) = (self.int_type(32), self.size_type());
                let sizes = self.array_type(size, 3);
                self.struct_type(&[dimension, sizes, sizes, sizes])
            }
            TypeKind::ReserveId => {
                self.capability(Capability::Pipes);
                self.unique_type(Op::TypeReserveId, &[])
            }
            TypeKind::NamedBarrier => {
                self.capability(Capability::NamedBarrier);
                self.unique_type(Op::TypeNamedBarrier, &[])
            }
        };
        remember(&mut self.memory_types, ty, id);
        id
    }

    /// Makes a type that is part of another, unless that is nested too deeply.
    pub(super) fn nested(&mut self, make: impl FnOnce(&mut Self) -> Id) -> Option<Id> {
        if self.type_depth > NESTING {
            self.fail(crate::source::Span::NONE, format!("types are nested more than {NESTING} levels deep"));
            return None;
        }
        self.type_depth += 1;
        let id = make(self);
        self.type_depth -= 1;
        Some(id)
    }

    /// The pointer type `ty` to objects of type `to`. What is declared by a pointer into an unfinished record is a forward
    /// pointer.
    fn pointer(&mut self, ty: Ty, class: StorageClass, to: Ty) -> Id {
        if class == StorageClass::Generic {
            self.capability(Capability::GenericPointer);
        }
        let source = self.source;
        let id = if let TypeKind::Record(record) = source.types.kind(to)
            && self.open_records.contains(record)
        {
            self.forward_pointer(class, *record)
        } else if self.type_depth >= POINTER_DEPTH || self.is_open(to) {
            let byte = self.int_type(8);
            self.pointer_type(class, byte)
        } else {
            self.type_depth += 1;
            let pointee = self.memory_type_id(to);
            self.type_depth -= 1;
            self.pointer_type(class, pointee)
        };
        // The pointee may have led back to this type.
        if let Some(made) = self.memory_types.get(ty.0 as usize).filter(|id| **id != 0) {
            return *made;
        }
        remember(&mut self.memory_types, ty, id);
        id
    }

    /// Whether a type is an array of unfinished records.
    fn is_open(&self, mut ty: Ty) -> bool {
        while let TypeKind::Array(element, _) = self.source.types.kind(ty) {
            ty = element.ty;
        }
        matches!(self.source.types.kind(ty), TypeKind::Record(record) if self.open_records.contains(record))
    }

    fn forward_pointer(&mut self, class: StorageClass, record: RecordId) -> Id {
        let found = self.forward_pointers.iter().find(|(of, to, _)| *of == class && *to == record);
        if let Some((.., id)) = found {
            return *id;
        }
        let id = self.fresh();
        self.globals.push(Op::TypeForwardPointer, &[id, class as u32]);
        self.forward_pointers.push((class, record, id));
        id
    }

    /// The type of pointers of a storage class to objects of a type.
    pub(crate) fn pointer_type(&mut self, class: StorageClass, pointee: Id) -> Id {
        if class == StorageClass::Generic {
            self.capability(Capability::GenericPointer);
        }
        self.unique_type(Op::TypePointer, &[class as u32, pointee])
    }

    /// The type of pointers to objects of a type in an address space.
    pub(crate) fn pointer_to(&mut self, space: AddressSpace, ty: Ty) -> Id {
        let pointee = self.memory_type_id(ty);
        self.pointer_type(storage_class(space), pointee)
    }

    /// The type of blocks: an untyped pointer to what they capture.
    pub(crate) fn block_type(&mut self) -> Id {
        let byte = self.int_type(8);
        self.pointer_type(StorageClass::Generic, byte)
    }

    /// `OpTypeVoid`
    pub(crate) fn void_type(&mut self) -> Id {
        self.unique_type(Op::TypeVoid, &[])
    }

    /// `OpTypeBool`
    pub(crate) fn bool_type(&mut self) -> Id {
        self.unique_type(Op::TypeBool, &[])
    }

    /// The integer type of a width in bits.
    pub(crate) fn int_type(&mut self, bits: u32) -> Id {
        match bits {
            8 => self.capability(Capability::Int8),
            16 => self.capability(Capability::Int16),
            64 => self.capability(Capability::Int64),
            _ => {}
        }
        let id = self.unique_type(Op::TypeInt, &[bits, 0]);
        self.remember_layout(id, bits / 8);
        id
    }

    /// `size_t`
    pub(crate) fn size_type(&mut self) -> Id {
        self.int_type(self.source.types.pointer_bytes * 8)
    }

    /// The floating-point type of a width in bits.
    pub(crate) fn float_type(&mut self, bits: u32) -> Id {
        match bits {
            16 if self.session.options.profile.has_extension("cl_khr_fp16") => self.capability(Capability::Float16),
            16 => self.capability(Capability::Float16Buffer),
            64 => self.capability(Capability::Float64),
            _ => {}
        }
        let id = self.unique_type(Op::TypeFloat, &[bits]);
        self.remember_float(id);
        self.remember_layout(id, bits / 8);
        id
    }

    /// The type of values of a scalar type.
    pub(crate) fn scalar_type(&mut self, scalar: Scalar) -> Id {
        if scalar == Scalar::Bool { self.bool_type() } else { self.memory_scalar_type(scalar) }
    }

    fn memory_scalar_type(&mut self, scalar: Scalar) -> Id {
        match scalar.is_float() {
            true => self.float_type(scalar.bytes() * 8),
            false => self.int_type(scalar.bytes() * 8),
        }
    }

    /// The type of values of a scalar type, or of a vector of it.
    pub(crate) fn lanes_type(&mut self, scalar: Scalar, lanes: u32) -> Id {
        let element = self.scalar_type(scalar);
        self.vector_type(element, lanes)
    }

    /// A vector type; of one lane, the element's.
    pub(crate) fn vector_type(&mut self, element: Id, lanes: u32) -> Id {
        if lanes == 1 {
            return element;
        }
        if lanes > 4 {
            self.capability(Capability::Vector16);
        }
        let id = self.unique_type(Op::TypeVector, &[element, lanes]);
        if self.is_float(element) {
            self.remember_float(id);
        }
        if let Some(one) = self.layouts.get(&element) {
            self.remember_layout(id, one.align * lanes.next_power_of_two());
        }
        id
    }

    /// An array type. SPIR-V has none of length 0: it has one element then.
    pub(crate) fn array_type(&mut self, element: Id, count: u64) -> Id {
        let count = count.max(1);
        let scalar = if u32::try_from(count).is_ok() { Scalar::UInt } else { Scalar::ULong };
        let length = self.scalar(scalar, count);
        let one = self.memory_layout(element);
        let id = self.unique_type(Op::TypeArray, &[element, length]);
        let layout = MemoryLayout { size: one.size.saturating_mul(count), ..one };
        self.layouts.insert(id, layout);
        id
    }

    /// A structure type with natural layout.
    pub(crate) fn struct_type(&mut self, members: &[Id]) -> Id {
        let id = self.unique_type(Op::TypeStruct, members);
        let (mut size, mut align) = (0u64, 1);
        for member in members {
            let layout = self.memory_layout(*member);
            size = size.saturating_add(u64::from(layout.align) - 1) / u64::from(layout.align) * u64::from(layout.align);
            size = size.saturating_add(layout.size);
            align = align.max(layout.align);
        }
        let size = size.saturating_add(u64::from(align) - 1) / u64::from(align) * u64::from(align);
        self.layouts.insert(id, MemoryLayout { size, align, is_plain: true });
        id
    }

    /// A function type.
    pub(crate) fn function_type(&mut self, result: Id, parameters: &[Id]) -> Id {
        let operands: Vec<u32> = std::iter::once(result).chain(parameters.iter().copied()).collect();
        self.unique_type(Op::TypeFunction, &operands)
    }

    /// The type of an image.
    pub(crate) fn image_type(&mut self, shape: ImageShape, access: Access) -> Id {
        let (dim, depth, arrayed, multisampled) = image_shape(shape);
        self.capability(Capability::ImageBasic);
        if dim == Dim::Dim1D {
            self.capability(Capability::Sampled1D);
        }
        if dim == Dim::DimBuffer {
            self.capability(Capability::SampledBuffer);
        }
        if access == Access::ReadWrite {
            self.capability(Capability::ImageReadWrite);
        }
        let void = self.void_type();
        let (sampled, format) = (0, spirv::ImageFormat::Unknown as u32);
        let flags = [u32::from(depth), u32::from(arrayed), u32::from(multisampled)];
        let operands =
            [void, dim as u32, flags[0], flags[1], flags[2], sampled, format, access_qualifier(access) as u32];
        self.unique_type(Op::TypeImage, &operands)
    }

    /// Size and alignment of a type in memory.
    pub(crate) fn memory_layout(&self, ty: Id) -> MemoryLayout {
        // What is not an arithmetic type or made of such is a pointer or a handle.
        let bytes = self.source.types.pointer_bytes;
        let word = MemoryLayout { size: bytes.into(), align: bytes, is_plain: true };
        self.layouts.get(&ty).copied().unwrap_or(word)
    }

    fn remember_layout(&mut self, ty: Id, bytes: u32) {
        let layout = MemoryLayout { size: bytes.into(), align: bytes, is_plain: true };
        self.layouts.insert(ty, layout);
    }
}

fn remember(types: &mut Vec<Id>, ty: Ty, id: Id) {
    let index = ty.0 as usize;
    if types.len() <= index {
        types.resize(index + 1, 0);
    }
    types[index] = id;
}

/// SPIR-V's access qualifier.
pub(crate) fn access_qualifier(access: Access) -> AccessQualifier {
    match access {
        Access::ReadOnly => AccessQualifier::ReadOnly,
        Access::WriteOnly => AccessQualifier::WriteOnly,
        Access::ReadWrite => AccessQualifier::ReadWrite,
    }
}

/// Dimensionality of an image, and whether it has depth, is an array, is multisampled.
pub(crate) fn image_shape(shape: ImageShape) -> (Dim, bool, bool, bool) {
    match shape {
        ImageShape::Dim1 => (Dim::Dim1D, false, false, false),
        ImageShape::Dim1Buffer => (Dim::DimBuffer, false, false, false),
        ImageShape::Dim1Array => (Dim::Dim1D, false, true, false),
        ImageShape::Dim2 => (Dim::Dim2D, false, false, false),
        ImageShape::Dim2Array => (Dim::Dim2D, false, true, false),
        ImageShape::Dim2Depth => (Dim::Dim2D, true, false, false),
        ImageShape::Dim2ArrayDepth => (Dim::Dim2D, true, true, false),
        ImageShape::Dim2Msaa => (Dim::Dim2D, false, false, true),
        ImageShape::Dim2ArrayMsaa => (Dim::Dim2D, false, true, true),
        ImageShape::Dim2MsaaDepth => (Dim::Dim2D, true, false, true),
        ImageShape::Dim2ArrayMsaaDepth => (Dim::Dim2D, true, true, true),
        ImageShape::Dim3 => (Dim::Dim3D, false, false, false),
    }
}
