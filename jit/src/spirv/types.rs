//! Types: each SPIR-V type with its size, alignment and the kir values it is made of.
//!
//! Kir has no structs and arrays. A value of such a type is a sequence of *leaves*, the scalars, vectors and pointers it consists
//! of, each with its byte offset. Values of types with more than [`MAX_LEAVES`] leaves are kept in memory instead. Layout follows
//! OpenCL C: natural alignment, vectors padded to a power of two, structs padded unless `CPacked`.

use clift_kir::inst::ImageDims;
use clift_kir::{Elem, Space, Type};
use rspirv::dr::Operand;
use rspirv::spirv::{AccessQualifier, Dim, Op, StorageClass};
use rustc_hash::FxHashMap;

use super::decorations::DecorationTable;
use super::families::TypeInst;
use super::words::{Inst, InstError};

/// Maximum number of leaves of a type whose values are kept as kir values.
pub(crate) const MAX_LEAVES: u64 = 64;
/// Maximum alignment of any type, and of accesses.
pub(crate) const MAX_ALIGN: u32 = 128;
/// Maximum alignment of a variable.
pub(crate) const MAX_VARIABLE_ALIGN: u32 = 4096;
/// Maximum nesting depth of structs and arrays: SPIR-V's universal limit.
const MAX_DEPTH: u32 = 255;
/// Maximum size of a type: address arithmetic on it cannot overflow.
const MAX_SIZE: u64 = 1 << 48;
/// Size and alignment of pointers and handles.
const POINTER_BYTES: u64 = 8;

/// The kind of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypeKind {
    /// No value.
    Void,
    /// Boolean.
    Bool,
    /// Integer of 8 to 64 bits.
    Int,
    /// Float of 16 to 64 bits.
    Float,
    /// Vector of Booleans, integers or floats.
    Vector {
        /// Type of its elements.
        elem: u32,
        /// Number of elements.
        lanes: u32,
    },
    /// Array.
    Array {
        /// Type of its elements.
        elem: u32,
        /// Number of elements.
        len: u64,
    },
    /// Struct.
    Struct {
        /// Types of the members.
        members: Vec<u32>,
        /// Their offsets in bytes.
        offsets: Vec<u64>,
        /// Their first leaves.
        leaf_starts: Vec<u64>,
    },
    /// Pointer.
    Pointer {
        /// Storage class of the memory it points to.
        class: StorageClass,
        /// Type it points to; `None` for forward declarations and untyped pointers.
        pointee: Option<u32>,
    },
    /// Function.
    Function {
        /// Result type.
        ret: u32,
        /// Parameter types.
        params: Vec<u32>,
    },
    /// A type without a known definition: only pointers to it exist.
    Opaque,
    /// Event of an asynchronous copy.
    Event,
    /// Image.
    Image {
        /// Access qualifier.
        access: Option<AccessQualifier>,
        /// Its shape.
        shape: ImageShape,
    },
    /// Sampler.
    Sampler,
    /// Image with sampler.
    SampledImage {
        /// The image's type.
        image: u32,
    },
    /// Pipe: the address of its header in global memory.
    Pipe {
        /// Access qualifier.
        access: AccessQualifier,
    },
    /// Memory of a pipe in program scope: the address of its header.
    PipeStorage,
    /// Reservation of packets of a pipe.
    ReserveId,
    /// Device queue.
    Queue,
    /// Event of a device queue: a handle.
    Handle,
    /// Named barrier: the address of its counters in local memory.
    NamedBarrier,
}

impl TypeKind {
    /// The type and the number of its parts, if they are elements.
    pub(super) fn elements(&self) -> Option<(u32, u64)> {
        match *self {
            TypeKind::Vector { elem, lanes } => Some((elem, lanes.into())),
            TypeKind::Array { elem, len } => Some((elem, len)),
            TypeKind::Void
            | TypeKind::Bool
            | TypeKind::Int
            | TypeKind::Float
            | TypeKind::Struct { .. }
            | TypeKind::Pointer { .. }
            | TypeKind::Function { .. }
            | TypeKind::Opaque
            | TypeKind::Event
            | TypeKind::Image { .. }
            | TypeKind::Sampler
            | TypeKind::SampledImage { .. }
            | TypeKind::Pipe { .. }
            | TypeKind::PipeStorage
            | TypeKind::ReserveId
            | TypeKind::Queue
            | TypeKind::Handle
            | TypeKind::NamedBarrier => None,
        }
    }

    /// The number of its parts, if it is a composite.
    pub(super) fn parts(&self) -> Option<u64> {
        if let TypeKind::Struct { members, .. } = self {
            return Some(members.len() as u64);
        }
        self.elements().map(|(_, count)| count)
    }
}

/// Dimensions of an image, which determine its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageShape {
    /// Its dimensions; one for an image created from a buffer.
    pub(crate) dims: ImageDims,
    /// Whether it is an array.
    pub(crate) arrayed: bool,
}

/// A scalar, vector or pointer in an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Its type; Booleans are bytes in memory.
    pub(crate) ty: Type,
    /// Its offset in bytes.
    pub(crate) offset: u64,
}

/// A type.
#[derive(Clone, Debug)]
pub(crate) struct TypeInfo {
    /// What it is.
    pub(crate) kind: TypeKind,
    /// The kir type, if it is a single value.
    pub(crate) value: Option<Type>,
    /// Size in bytes, which is also the stride of arrays.
    pub(crate) size: u64,
    /// Alignment in bytes.
    pub(crate) align: u32,
    /// Number of leaves, saturating.
    pub(crate) leaf_count: u64,
    /// The leaves, when there are at most [`MAX_LEAVES`].
    pub(crate) leaves: Vec<Leaf>,
    depth: u32,
}

impl TypeInfo {
    fn plain(kind: TypeKind, size: u64, align: u32) -> TypeInfo {
        TypeInfo { kind, value: None, size, align, leaf_count: 0, leaves: Vec::new(), depth: 0 }
    }

    fn value(kind: TypeKind, ty: Type, size: u64) -> TypeInfo {
        TypeInfo {
            kind,
            value: Some(ty),
            size,
            align: size as u32,
            leaf_count: 1,
            leaves: vec![Leaf { ty, offset: 0 }],
            depth: 0,
        }
    }

    /// Whether its values are kept as kir values (otherwise in memory).
    pub(crate) fn is_flat(&self) -> bool {
        self.leaf_count <= MAX_LEAVES
    }

    /// Whether there can be variables of this type.
    pub(crate) fn is_sized(&self) -> bool {
        match self.kind {
            TypeKind::Void | TypeKind::Function { .. } | TypeKind::Opaque => false,
            TypeKind::Bool
            | TypeKind::Int
            | TypeKind::Float
            | TypeKind::Vector { .. }
            | TypeKind::Array { .. }
            | TypeKind::Struct { .. }
            | TypeKind::Pointer { .. }
            | TypeKind::Event
            | TypeKind::Image { .. }
            | TypeKind::Sampler
            | TypeKind::SampledImage { .. }
            | TypeKind::Pipe { .. }
            | TypeKind::PipeStorage
            | TypeKind::ReserveId
            | TypeKind::Queue
            | TypeKind::Handle
            | TypeKind::NamedBarrier => true,
        }
    }
}

/// One step into a composite by a constant index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Type of the part.
    pub(crate) ty: u32,
    /// Its offset in bytes.
    pub(crate) offset: u64,
    /// Its first leaf.
    pub(crate) leaf: u64,
}

/// The type that an `OpTypeImage` declares.
fn image(inst: &Inst) -> Result<TypeKind, InstError> {
    let Operand::Dim(dim) = *inst.operand(1)? else {
        return Err(InstError::malformed("the dimensions are missing"));
    };
    let dims = match dim {
        Dim::Dim1D | Dim::DimBuffer => ImageDims::One,
        Dim::Dim2D => ImageDims::Two,
        Dim::Dim3D => ImageDims::Three,
        Dim::DimCube | Dim::DimRect | Dim::DimSubpassData | Dim::DimTileImageDataEXT => {
            return Err(InstError::unsupported(format!("images of dimensions {dim:?}")));
        }
    };
    let (arrayed, multisampled) = (inst.literal(3)? != 0, inst.literal(4)? != 0);
    if multisampled {
        return Err(InstError::unsupported("multisampled images"));
    }
    if arrayed && (dims == ImageDims::Three || dim == Dim::DimBuffer) {
        return Err(InstError::malformed("images of this dimensionality cannot be arrayed"));
    }
    let access = inst
        .dr
        .operands
        .iter()
        .find_map(|operand| if let Operand::AccessQualifier(access) = operand { Some(*access) } else { None });
    Ok(TypeKind::Image { access, shape: ImageShape { dims, arrayed } })
}

/// The kir space of a storage class.
pub(crate) fn space(class: StorageClass) -> Result<Space, InstError> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others, of shaders and vendors, are refused")]
    match class {
        StorageClass::Function | StorageClass::Private | StorageClass::Input => Ok(Space::Private),
        StorageClass::CrossWorkgroup => Ok(Space::Global),
        StorageClass::UniformConstant => Ok(Space::Constant),
        StorageClass::Workgroup => Ok(Space::Local),
        StorageClass::Generic => Ok(Space::Generic),
        other => Err(InstError::unsupported(format!("storage class {other:?}"))),
    }
}

/// The types of a module by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    by_id: FxHashMap<u32, TypeInfo>,
}

impl Types {
    /// The type of an id.
    pub(crate) fn get(&self, id: u32) -> Result<&TypeInfo, InstError> {
        self.by_id.get(&id).ok_or_else(|| InstError::malformed(format!("%{id} is not a type that is defined earlier")))
    }

    /// The kir type of a type that is a single value.
    pub(crate) fn value(&self, id: u32) -> Result<Type, InstError> {
        self.get(id)?
            .value
            .ok_or_else(|| InstError::malformed(format!("type %{id} is not a scalar, vector or pointer")))
    }

    /// Storage class and pointee of a pointer type.
    pub(crate) fn pointer(&self, id: u32) -> Result<(StorageClass, u32), InstError> {
        let TypeKind::Pointer { class, pointee: Some(pointee) } = self.get(id)?.kind else {
            return Err(InstError::malformed(format!("type %{id} is not a typed pointer")));
        };
        Ok((class, pointee))
    }

    /// Storage class of a pointer type, and its pointee unless it is untyped.
    pub(crate) fn any_pointer(&self, id: u32) -> Result<(StorageClass, Option<u32>), InstError> {
        let TypeKind::Pointer { class, pointee } = self.get(id)?.kind else {
            return Err(InstError::malformed(format!("type %{id} is not a pointer")));
        };
        Ok((class, pointee))
    }

    /// The part of a composite at a constant index. A vector is one leaf, so the leaf number of its components is 0.
    pub(crate) fn step(&self, ty: u32, index: u64) -> Result<Step, InstError> {
        let out_of_range = |count: u64| {
            InstError::malformed(format!("index {index} is out of range for a composite of {count} parts"))
        };
        match &self.get(ty)?.kind {
            TypeKind::Struct { members, offsets, leaf_starts } => {
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                let member = *members.get(at).ok_or_else(|| out_of_range(members.len() as u64))?;
                Ok(Step { ty: member, offset: offsets[at], leaf: leaf_starts[at] })
            }
            &TypeKind::Array { elem, len } => {
                if index >= len {
                    return Err(out_of_range(len));
                }
                let info = self.get(elem)?;
                Ok(Step { ty: elem, offset: index * info.size, leaf: index.saturating_mul(info.leaf_count) })
            }
            &TypeKind::Vector { elem, lanes } => {
                if index >= u64::from(lanes) {
                    return Err(out_of_range(lanes.into()));
                }
                Ok(Step { ty: elem, offset: index * self.get(elem)?.size, leaf: 0 })
            }
            TypeKind::Void
            | TypeKind::Bool
            | TypeKind::Int
            | TypeKind::Float
            | TypeKind::Pointer { .. }
            | TypeKind::Function { .. }
            | TypeKind::Opaque
            | TypeKind::Event
            | TypeKind::Image { .. }
            | TypeKind::Sampler
            | TypeKind::SampledImage { .. }
            | TypeKind::Pipe { .. }
            | TypeKind::PipeStorage
            | TypeKind::ReserveId
            | TypeKind::Queue
            | TypeKind::Handle
            | TypeKind::NamedBarrier => Err(InstError::malformed(format!("too many indices: type %{ty} has no parts"))),
        }
    }

    /// Whether values of two types consist of the same kir values, so that one may be accessed as the other.
    pub(crate) fn same_shape(&self, a: u32, b: u32) -> Result<bool, InstError> {
        if a == b {
            return Ok(true);
        }
        let (a, b) = (self.get(a)?, self.get(b)?);
        Ok(a.leaf_count == b.leaf_count && a.size == b.size && (!a.is_flat() || a.leaves == b.leaves))
    }

    /// Whether a constant of one type may be used as one of the other: both have the same shape, or would have it if all pointers
    /// were 64-bit integers. LLVM's back end writes the null pointers of most address spaces as such integers.
    pub(crate) fn same_layout(&self, a: u32, b: u32) -> Result<bool, InstError> {
        if self.same_shape(a, b)? {
            return Ok(true);
        }
        let (a, b) = (self.get(a)?, self.get(b)?);
        let in_memory =
            |leaf: &Leaf| (leaf.offset, if leaf.ty.is_ptr() { leaf.ty.with_elem(Elem::I64) } else { leaf.ty });
        Ok(a.is_flat() && a.size == b.size && a.leaves.iter().map(in_memory).eq(b.leaves.iter().map(in_memory)))
    }

    /// Rejects an initializer whose memory layout differs from that of the variable.
    pub(crate) fn check_initializer(&self, initializer: u32, variable: u32) -> Result<(), InstError> {
        if self.same_layout(initializer, variable)? {
            return Ok(());
        }
        let (found, wanted) = (self.name(initializer), self.name(variable));
        Err(InstError::malformed(format!("the initializer has type {found}, the variable type {wanted}")))
    }

    /// The name of a type for messages.
    pub(crate) fn name(&self, id: u32) -> String {
        match self.get(id) {
            Ok(TypeInfo { value: Some(value), .. }) => value.to_string(),
            Ok(&TypeInfo { kind: TypeKind::Array { elem, len }, .. }) => format!("[{len} x {}]", self.name(elem)),
            Ok(TypeInfo { kind: TypeKind::Struct { .. }, .. }) => format!("struct %{id}"),
            Ok(_) | Err(_) => format!("type %{id}"),
        }
    }

    /// Defines the type of a type instruction. `length` evaluates the constants that are lengths of arrays.
    pub(crate) fn define(
        &mut self,
        inst: &Inst,
        decorations: &DecorationTable,
        length: impl Fn(u32) -> Result<u64, InstError>,
    ) -> Result<(), InstError> {
        if inst.op() == Op::TypeForwardPointer {
            let Operand::StorageClass(class) = *inst.operand(1)? else {
                return Err(InstError::malformed("the storage class is missing"));
            };
            let pointer = TypeKind::Pointer { class, pointee: None };
            let ty = Type::ptr(space(class)?);
            if self.by_id.insert(inst.id(0)?, TypeInfo::value(pointer, ty, POINTER_BYTES)).is_some() {
                return Err(InstError::malformed("the type is already defined"));
            }
            return Ok(());
        }
        let id = inst.result()?;
        let handle = |kind| TypeInfo::value(kind, Type::ptr(Space::Host), POINTER_BYTES);
        let Some(op) = TypeInst::of(inst.op()) else { return Err(InstError::unsupported("this type")) };
        let info = match op {
            TypeInst::TypeVoid => TypeInfo::plain(TypeKind::Void, 0, 1),
            TypeInst::TypeBool => TypeInfo::value(TypeKind::Bool, Type::B1, 1),
            TypeInst::TypeInt => {
                let bits = inst.literal(0)?;
                let elem = Elem::int(bits).ok_or_else(|| InstError::unsupported(format!("integers of {bits} bits")))?;
                if inst.literal(1)? > 1 {
                    return Err(InstError::malformed("the signedness is neither 0 nor 1"));
                }
                TypeInfo::value(TypeKind::Int, Type::scalar(elem), elem.bytes().into())
            }
            TypeInst::TypeFloat => {
                let bits = inst.literal(0)?;
                let elem = Elem::float(bits).ok_or_else(|| InstError::unsupported(format!("floats of {bits} bits")))?;
                if inst.len() > 1 {
                    return Err(InstError::unsupported("floats that are not IEEE 754"));
                }
                TypeInfo::value(TypeKind::Float, Type::scalar(elem), elem.bytes().into())
            }
            TypeInst::TypeVector => self.vector(inst)?,
            TypeInst::TypeArray => self.array(inst.id(0)?, length(inst.id(1)?)?)?,
            TypeInst::TypeRuntimeArray => self.array(inst.id(0)?, 0)?,
            TypeInst::TypeStruct => self.structure(&inst.ids_from(0)?, decorations.of(id).packed)?,
            TypeInst::TypePointer => {
                let Operand::StorageClass(class) = *inst.operand(0)? else {
                    return Err(InstError::malformed("the storage class is missing"));
                };
                let pointee = inst.id(1)?;
                self.get(pointee)?;
                let kind = TypeKind::Pointer { class, pointee: Some(pointee) };
                let info = TypeInfo::value(kind, Type::ptr(space(class)?), POINTER_BYTES);
                match self.by_id.get(&id).map(|old| &old.kind) {
                    Some(TypeKind::Pointer { class: declared, pointee: None }) if *declared == class => {
                        self.by_id.remove(&id);
                    }
                    Some(_) => return Err(InstError::malformed("the type differs from its forward declaration")),
                    None => {}
                }
                info
            }
            TypeInst::TypeUntypedPointerKHR => {
                let Operand::StorageClass(class) = *inst.operand(0)? else {
                    return Err(InstError::malformed("the storage class is missing"));
                };
                TypeInfo::value(TypeKind::Pointer { class, pointee: None }, Type::ptr(space(class)?), POINTER_BYTES)
            }
            TypeInst::TypeFunction => {
                let ret = inst.id(0)?;
                let params = inst.ids_from(1)?;
                self.get(ret)?;
                for &param in &params {
                    if !self.get(param)?.is_sized() {
                        return Err(InstError::malformed(format!("%{param} is not a type that parameters can have")));
                    }
                }
                TypeInfo::plain(TypeKind::Function { ret, params }, 0, 1)
            }
            TypeInst::TypeOpaque => TypeInfo::plain(TypeKind::Opaque, 0, 1),
            TypeInst::TypeEvent => TypeInfo::value(TypeKind::Event, Type::I64, POINTER_BYTES),
            TypeInst::TypeImage => {
                let kind = image(inst)?;
                TypeInfo::value(kind, Type::ptr(Space::Host), POINTER_BYTES)
            }
            TypeInst::TypeSampler => TypeInfo::value(TypeKind::Sampler, Type::I64, POINTER_BYTES),
            TypeInst::TypeSampledImage => {
                let image = inst.id(0)?;
                let TypeKind::Image { .. } = self.get(image)?.kind else {
                    return Err(InstError::malformed(format!("%{image} is not an image type")));
                };
                let parts = [Type::ptr(Space::Host), Type::I64];
                let offsets = [0, POINTER_BYTES];
                TypeInfo {
                    leaf_count: 2,
                    leaves: parts.into_iter().zip(offsets).map(|(ty, offset)| Leaf { ty, offset }).collect(),
                    ..TypeInfo::plain(TypeKind::SampledImage { image }, 2 * POINTER_BYTES, POINTER_BYTES as u32)
                }
            }
            TypeInst::TypePipe => {
                let Operand::AccessQualifier(access) = *inst.operand(0)? else {
                    return Err(InstError::malformed("the access qualifier is missing"));
                };
                TypeInfo::value(TypeKind::Pipe { access }, Type::ptr(Space::Global), POINTER_BYTES)
            }
            TypeInst::TypeQueue => handle(TypeKind::Queue),
            TypeInst::TypePipeStorage => {
                TypeInfo::value(TypeKind::PipeStorage, Type::ptr(Space::Global), POINTER_BYTES)
            }
            TypeInst::TypeReserveId => TypeInfo::value(TypeKind::ReserveId, Type::I64, 8),
            TypeInst::TypeDeviceEvent => handle(TypeKind::Handle),
            TypeInst::TypeNamedBarrier => {
                TypeInfo::value(TypeKind::NamedBarrier, Type::ptr(Space::Local), POINTER_BYTES)
            }
        };
        if self.by_id.insert(id, info).is_some() {
            return Err(InstError::malformed("the type is already defined"));
        }
        Ok(())
    }

    fn vector(&self, inst: &Inst) -> Result<TypeInfo, InstError> {
        let (elem, lanes) = (inst.id(0)?, inst.literal(1)?);
        let info = self.get(elem)?;
        if let TypeKind::Pointer { .. } = info.kind {
            return Err(InstError::unsupported("vectors of pointers"));
        }
        let is_scalar = matches!(info.kind, TypeKind::Bool | TypeKind::Int | TypeKind::Float);
        let scalar = info
            .value
            .filter(|_| is_scalar)
            .ok_or_else(|| InstError::malformed(format!("%{elem} is not a scalar type")))?;
        // The specification allows 2, 3, 4, 8 and 16 components. LLVM's back end also writes other numbers that its optimizer
        // created, such as 1 and 7. A vector of one component is the scalar.
        if !(1..=Type::MAX_LANES).contains(&lanes) {
            return Err(InstError::malformed(format!("vectors have 1 to {} components, not {lanes}", Type::MAX_LANES)));
        }
        let size = info.size * u64::from(lanes.next_power_of_two());
        Ok(TypeInfo::value(TypeKind::Vector { elem, lanes }, scalar.with_lanes(lanes), size))
    }

    fn array(&self, elem: u32, len: u64) -> Result<TypeInfo, InstError> {
        let info = self.get(elem)?;
        if !info.is_sized() {
            return Err(InstError::malformed(format!("%{elem} is not a type that array elements can have")));
        }
        let depth = deeper(info.depth)?;
        let size = info.size.checked_mul(len).filter(|&size| size <= MAX_SIZE).ok_or_else(too_large)?;
        let leaf_count = info.leaf_count.saturating_mul(len);
        let mut leaves = Vec::new();
        if leaf_count <= MAX_LEAVES && !info.leaves.is_empty() {
            for index in 0..len {
                leaves.extend(info.leaves.iter().map(|l| Leaf { ty: l.ty, offset: l.offset + index * info.size }));
            }
        }
        let kind = TypeKind::Array { elem, len };
        Ok(TypeInfo { kind, value: None, size, align: info.align, leaf_count, leaves, depth })
    }

    fn structure(&self, members: &[u32], packed: bool) -> Result<TypeInfo, InstError> {
        let (mut size, mut align, mut depth, mut leaf_count) = (0u64, 1u32, 0, 0u64);
        let mut offsets = Vec::with_capacity(members.len());
        let mut leaf_starts = Vec::with_capacity(members.len());
        for &member in members {
            let info = self.get(member)?;
            if !info.is_sized() {
                return Err(InstError::malformed(format!("%{member} is not a type that struct members can have")));
            }
            let member_align = if packed { 1 } else { info.align };
            let offset = size.next_multiple_of(member_align.into());
            offsets.push(offset);
            size = offset.checked_add(info.size).filter(|&size| size <= MAX_SIZE).ok_or_else(too_large)?;
            align = align.max(member_align);
            depth = depth.max(deeper(info.depth)?);
            leaf_starts.push(leaf_count);
            leaf_count = leaf_count.saturating_add(info.leaf_count);
        }
        let mut leaves = Vec::new();
        if leaf_count <= MAX_LEAVES {
            for (&member, &offset) in members.iter().zip(&offsets) {
                let inner = &self.get(member)?.leaves;
                leaves.extend(inner.iter().map(|l| Leaf { ty: l.ty, offset: l.offset + offset }));
            }
        }
        let kind = TypeKind::Struct { members: members.to_vec(), offsets, leaf_starts };
        let size = size.next_multiple_of(align.into());
        Ok(TypeInfo { kind, value: None, size, align, leaf_count, leaves, depth })
    }
}

fn deeper(depth: u32) -> Result<u32, InstError> {
    if depth >= MAX_DEPTH {
        return Err(InstError::unsupported(format!("types nested deeper than {MAX_DEPTH}")));
    }
    Ok(depth + 1)
}

fn too_large() -> InstError {
    InstError::unsupported(format!("types larger than {MAX_SIZE} bytes"))
}
