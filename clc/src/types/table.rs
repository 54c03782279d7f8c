//! The table of all types of a compilation.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::{EnumId, Enumeration, Layout, QualTy, Record, RecordId, Scalar, Ty, TypeKind};

/// All types of a compilation.
#[derive(Debug)]
pub struct TypeTable {
    kinds: IndexSet<TypeKind, FxBuildHasher>,
    /// How many pointers, arrays and functions each type is made of, one in another. Records count as nothing.
    depths: Vec<u32>,
    records: Vec<Record>,
    enums: Vec<Enumeration>,
    /// Bytes of a pointer.
    pub pointer_bytes: u32,
}

/// Number of the error type.
const ERROR: u32 = 0;
/// Number of `void`.
const VOID: u32 = 1;
/// Number of the first scalar; they follow in the order of [`Scalar::ALL`].
const SCALARS: u32 = 2;

impl TypeTable {
    /// A table for pointers of this size.
    pub fn new(pointer_bytes: u32) -> Self {
        let mut table = Self {
            kinds: IndexSet::default(),
            depths: Vec::new(),
            records: Vec::new(),
            enums: Vec::new(),
            pointer_bytes,
        };
        table.intern(TypeKind::Error);
        table.intern(TypeKind::Void);
        for scalar in Scalar::ALL {
            table.intern(TypeKind::Scalar(scalar));
        }
        table
    }

    /// The type of a kind.
    pub fn intern(&mut self, kind: TypeKind) -> Ty {
        let (index, is_new) = self.kinds.insert_full(kind);
        if is_new {
            self.depths.push(self.new_depth(&self.kinds[index]));
        }
        Ty(index as u32)
    }

    /// How many pointers, arrays and functions a type is made of, one in another.
    pub fn depth(&self, ty: Ty) -> u32 {
        self.depths[ty.0 as usize]
    }

    fn new_depth(&self, kind: &TypeKind) -> u32 {
        match kind {
            TypeKind::Pointer(to) | TypeKind::Array(to, _) => 1 + self.depth(to.ty),
            TypeKind::FunctionPointer(to)
            | TypeKind::BlockPointer(to)
            | TypeKind::Atomic(to)
            | TypeKind::Pipe(to, _) => 1 + self.depth(*to),
            TypeKind::Function(function) => {
                let parts = function.parameters.iter().map(|parameter| parameter.ty);
                1 + parts.fold(self.depth(function.result), |depth, ty| depth.max(self.depth(ty)))
            }
            TypeKind::Error
            | TypeKind::Void
            | TypeKind::Scalar(_)
            | TypeKind::Vector(..)
            | TypeKind::Record(_)
            | TypeKind::Enum(_)
            | TypeKind::Image(..)
            | TypeKind::Sampler
            | TypeKind::Event
            | TypeKind::ClkEvent
            | TypeKind::Queue
            | TypeKind::NdRange
            | TypeKind::ReserveId
            | TypeKind::NamedBarrier => 0,
        }
    }

    /// What a type is.
    pub fn kind(&self, ty: Ty) -> &TypeKind {
        &self.kinds[ty.0 as usize]
    }

    /// The error type.
    pub fn error(&self) -> Ty {
        Ty(ERROR)
    }

    /// `void`
    pub fn void(&self) -> Ty {
        Ty(VOID)
    }

    /// A scalar type.
    pub fn scalar(&self, scalar: Scalar) -> Ty {
        Ty(SCALARS + scalar as u32)
    }

    /// A vector type, or for one lane the scalar.
    pub fn vector(&mut self, scalar: Scalar, lanes: u8) -> Ty {
        if lanes == 1 { self.scalar(scalar) } else { self.intern(TypeKind::Vector(scalar, lanes)) }
    }

    /// A pointer.
    pub fn pointer(&mut self, to: QualTy) -> Ty {
        self.intern(TypeKind::Pointer(to))
    }

    /// `size_t`
    pub fn size_t(&self) -> Ty {
        self.scalar(if self.pointer_bytes == 8 { Scalar::ULong } else { Scalar::UInt })
    }

    /// `ptrdiff_t`
    pub fn ptrdiff_t(&self) -> Ty {
        self.scalar(if self.pointer_bytes == 8 { Scalar::Long } else { Scalar::Int })
    }

    /// Adds a record.
    pub fn add_record(&mut self, record: Record) -> RecordId {
        self.records.push(record);
        RecordId(self.records.len() as u32 - 1)
    }

    /// A record.
    pub fn record(&self, id: RecordId) -> &Record {
        &self.records[id.0 as usize]
    }

    /// A record, to complete it.
    pub fn record_mut(&mut self, id: RecordId) -> &mut Record {
        &mut self.records[id.0 as usize]
    }

    /// Adds an enumeration.
    pub fn add_enum(&mut self, enumeration: Enumeration) -> EnumId {
        self.enums.push(enumeration);
        EnumId(self.enums.len() as u32 - 1)
    }

    /// An enumeration.
    pub fn enumeration(&self, id: EnumId) -> &Enumeration {
        &self.enums[id.0 as usize]
    }

    /// An enumeration, to complete it.
    pub fn enumeration_mut(&mut self, id: EnumId) -> &mut Enumeration {
        &mut self.enums[id.0 as usize]
    }

    /// Element and number of elements of a scalar (1) or vector, enumerations included; `None` for other types.
    pub fn lanes(&self, ty: Ty) -> Option<(Scalar, u8)> {
        if let TypeKind::Vector(scalar, lanes) = self.kind(ty) {
            return Some((*scalar, *lanes));
        }
        self.scalar_of(ty).map(|scalar| (scalar, 1))
    }

    /// The scalar type of a scalar or an enumeration.
    pub fn scalar_of(&self, ty: Ty) -> Option<Scalar> {
        if let TypeKind::Scalar(scalar) = self.kind(ty) {
            return Some(*scalar);
        }
        if let TypeKind::Enum(id) = self.kind(ty) { Some(self.enumeration(*id).scalar) } else { None }
    }

    /// The type of a member of a record, or of an array's elements.
    pub fn member(&self, ty: Ty, index: u32) -> Option<QualTy> {
        if let TypeKind::Array(element, _) = self.kind(ty) {
            return Some(*element);
        }
        let TypeKind::Record(id) = self.kind(ty) else { return None };
        self.record(*id).fields.get(index as usize).map(|field| field.ty)
    }

    /// Size and alignment; `None` if the type is incomplete or has no size.
    pub fn layout(&self, ty: Ty) -> Option<Layout> {
        let word = Layout { size: u64::from(self.pointer_bytes), align: self.pointer_bytes };
        Some(match self.kind(ty) {
            TypeKind::Error | TypeKind::Void | TypeKind::Function(_) | TypeKind::Array(_, None) => return None,
            TypeKind::Scalar(scalar) => Layout { size: u64::from(scalar.bytes()), align: scalar.bytes() },
            TypeKind::Vector(scalar, lanes) => {
                let bytes = scalar.bytes() * u32::from(*lanes).next_power_of_two();
                Layout { size: u64::from(bytes), align: bytes }
            }
            TypeKind::Enum(id) => {
                let enumeration = self.enumeration(*id);
                if !enumeration.is_complete {
                    return None;
                }
                let bytes = enumeration.scalar.bytes();
                Layout { size: u64::from(bytes), align: bytes }
            }
            TypeKind::Array(element, Some(count)) => {
                let one = self.layout(element.ty)?;
                Layout { size: one.size.checked_mul(*count)?, align: element.alignment(one.align) }
            }
            TypeKind::Record(id) => {
                let record = self.record(*id);
                if !record.is_complete {
                    return None;
                }
                record.layout
            }
            TypeKind::Atomic(of) => self.layout(*of)?,
            // An `ndrange_t` is a dimension and nine `size_t`, as the kernel compiler has it.
            TypeKind::NdRange => Layout { size: 10 * u64::from(self.pointer_bytes), align: self.pointer_bytes },
            TypeKind::Pointer(_)
            | TypeKind::FunctionPointer(_)
            | TypeKind::BlockPointer(_)
            | TypeKind::Image(..)
            | TypeKind::Pipe(..)
            | TypeKind::Sampler
            | TypeKind::Event
            | TypeKind::ClkEvent
            | TypeKind::Queue
            | TypeKind::ReserveId
            | TypeKind::NamedBarrier => word,
        })
    }
}
