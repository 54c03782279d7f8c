//! The types of OpenCL C: an interned [`Ty`] stands for a type without its outermost qualifiers, a [`QualTy`] for a qualified
//! one. `typedef` names are not types: they are resolved when they are used. `signed char` is `char`, and `long long` is
//! `long`.

mod float;
mod layout;
mod names;
mod table;
mod uses;

pub use float::FloatFormat;
pub use layout::Layout;
pub use names::{BuiltinType, builtin_type};
pub(crate) use names::{name_of_c_type, type_names};
pub use table::TypeTable;
pub use uses::Uses;

use crate::source::{Span, Symbol};

/// A type; its [`TypeKind`] is in the [`TypeTable`]. Equal types have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty(pub u32);

/// A record of a [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub u32);

/// An enumeration of a [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);

/// Address spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AddressSpace {
    /// `private`
    #[default]
    Private,
    /// `global`
    Global,
    /// `constant`
    Constant,
    /// `local`
    Local,
    /// `generic`
    Generic,
}

/// Access qualifiers of images and pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// `read_only`
    #[default]
    ReadOnly,
    /// `write_only`
    WriteOnly,
    /// `read_write`
    ReadWrite,
}

/// The qualifiers of an object's type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quals {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `restrict`
    pub is_restrict: bool,
    /// The address space in which the object lies.
    pub space: AddressSpace,
    /// The alignment in bytes that a `typedef` gives the object instead of that of the type; 0 for none. It says where objects
    /// lie and how they are accessed; types that differ only in it are compatible.
    pub align: u32,
}

/// A qualified type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QualTy {
    /// The type.
    pub ty: Ty,
    /// Its qualifiers.
    pub quals: Quals,
}

impl QualTy {
    /// A type without qualifiers, in the private address space.
    pub fn plain(ty: Ty) -> Self {
        Self { ty, quals: Quals::default() }
    }

    /// The alignment of an object of the type, which has a natural one.
    pub fn alignment(self, natural: u32) -> u32 {
        if self.quals.align == 0 { natural } else { self.quals.align }
    }

    /// The same type in an address space.
    #[must_use]
    pub fn in_space(mut self, space: AddressSpace) -> Self {
        self.quals.space = space;
        self
    }
}

/// Scalar types, in the order of their conversion rank within each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "OpenCL C's names")]
pub enum Scalar {
    Bool,
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    Half,
    Float,
    Double,
}

impl Scalar {
    /// All of them.
    pub const ALL: [Scalar; 12] = [
        Scalar::Bool,
        Scalar::Char,
        Scalar::UChar,
        Scalar::Short,
        Scalar::UShort,
        Scalar::Int,
        Scalar::UInt,
        Scalar::Long,
        Scalar::ULong,
        Scalar::Half,
        Scalar::Float,
        Scalar::Double,
    ];

    /// Its size in memory in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Scalar::Bool | Scalar::Char | Scalar::UChar => 1,
            Scalar::Short | Scalar::UShort | Scalar::Half => 2,
            Scalar::Int | Scalar::UInt | Scalar::Float => 4,
            Scalar::Long | Scalar::ULong | Scalar::Double => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::Half | Scalar::Float | Scalar::Double)
    }

    /// Whether it is an integer type, `bool` included.
    pub fn is_integer(self) -> bool {
        !self.is_float()
    }

    /// Whether it is a signed integer type.
    pub fn is_signed(self) -> bool {
        matches!(self, Scalar::Char | Scalar::Short | Scalar::Int | Scalar::Long)
    }

    /// The kind of arithmetic that it has; `bool` is unsigned.
    pub fn arithmetic(self) -> Arithmetic {
        if self.is_float() {
            Arithmetic::Float
        } else if self.is_signed() {
            Arithmetic::Signed
        } else {
            Arithmetic::Unsigned
        }
    }

    /// Its name in OpenCL C.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Char => "char",
            Scalar::UChar => "uchar",
            Scalar::Short => "short",
            Scalar::UShort => "ushort",
            Scalar::Int => "int",
            Scalar::UInt => "uint",
            Scalar::Long => "long",
            Scalar::ULong => "ulong",
            Scalar::Half => "half",
            Scalar::Float => "float",
            Scalar::Double => "double",
        }
    }

    /// The signed or unsigned integer type of a size in bytes.
    pub fn integer(bytes: u32, signed: bool) -> Option<Scalar> {
        Some(match (bytes, signed) {
            (1, true) => Scalar::Char,
            (1, false) => Scalar::UChar,
            (2, true) => Scalar::Short,
            (2, false) => Scalar::UShort,
            (4, true) => Scalar::Int,
            (4, false) => Scalar::UInt,
            (8, true) => Scalar::Long,
            (8, false) => Scalar::ULong,
            _ => return None,
        })
    }
}

/// The kinds of arithmetic: what the operands of an instruction are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Arithmetic {
    Signed,
    Unsigned,
    Float,
}

/// The shapes of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "named after OpenCL C's types: `Dim2ArrayDepth` is `image2d_array_depth_t`")]
pub enum ImageShape {
    Dim1,
    Dim1Buffer,
    Dim1Array,
    Dim2,
    Dim2Array,
    Dim2Depth,
    Dim2ArrayDepth,
    Dim2Msaa,
    Dim2ArrayMsaa,
    Dim2MsaaDepth,
    Dim2ArrayMsaaDepth,
    Dim3,
}

impl ImageShape {
    /// All of them, with their names in OpenCL C.
    pub const NAMES: [(ImageShape, &str); 12] = [
        (ImageShape::Dim1, "image1d_t"),
        (ImageShape::Dim1Buffer, "image1d_buffer_t"),
        (ImageShape::Dim1Array, "image1d_array_t"),
        (ImageShape::Dim2, "image2d_t"),
        (ImageShape::Dim2Array, "image2d_array_t"),
        (ImageShape::Dim2Depth, "image2d_depth_t"),
        (ImageShape::Dim2ArrayDepth, "image2d_array_depth_t"),
        (ImageShape::Dim2Msaa, "image2d_msaa_t"),
        (ImageShape::Dim2ArrayMsaa, "image2d_array_msaa_t"),
        (ImageShape::Dim2MsaaDepth, "image2d_msaa_depth_t"),
        (ImageShape::Dim2ArrayMsaaDepth, "image2d_array_msaa_depth_t"),
        (ImageShape::Dim3, "image3d_t"),
    ];
}

/// A function's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionType {
    /// The result.
    pub result: Ty,
    /// The parameters' types; arrays and functions have become pointers. Qualifiers are those of the parameter object.
    pub parameters: Vec<QualTy>,
    /// Whether more arguments may follow.
    pub is_variadic: bool,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// The type of an expression with an error: it is compatible with everything, and nothing more is reported.
    Error,
    /// `void`
    Void,
    /// A scalar.
    Scalar(Scalar),
    /// A vector: 2, 3, 4, 8 or 16 elements (any count up to 64 by `ext_vector_type`).
    Vector(Scalar, u8),
    /// A pointer to an object.
    Pointer(QualTy),
    /// A pointer to a function (only as the type of an expression that names one).
    FunctionPointer(Ty),
    /// A pointer to a block with a function type.
    BlockPointer(Ty),
    /// An array; `None` if the size is unknown.
    Array(QualTy, Option<u64>),
    /// A function.
    Function(Box<FunctionType>),
    /// A `struct` or a `union`.
    Record(RecordId),
    /// An `enum`.
    Enum(EnumId),
    /// `_Atomic(T)`, which `atomic_int` and the like are.
    Atomic(Ty),
    /// An image.
    Image(ImageShape, Access),
    /// `pipe T`
    Pipe(Ty, Access),
    /// `sampler_t`
    Sampler,
    /// `event_t`
    Event,
    /// `clk_event_t`
    ClkEvent,
    /// `queue_t`
    Queue,
    /// `ndrange_t`
    NdRange,
    /// `reserve_id_t`
    ReserveId,
    /// `named_barrier_t`
    NamedBarrier,
}

impl TypeKind {
    /// What a pointer to an object points to.
    pub fn pointee(&self) -> Option<QualTy> {
        if let TypeKind::Pointer(to) = self { Some(*to) } else { None }
    }

    /// Whether it is a scalar in C's sense: a number or an address, which can be a condition.
    pub fn has_truth(&self) -> bool {
        matches!(self, TypeKind::Scalar(_) | TypeKind::Enum(_) | TypeKind::Pointer(_))
    }

    /// Whether it is a pointer, to an object or anything else.
    pub fn is_address(&self) -> bool {
        matches!(self, TypeKind::Pointer(_) | TypeKind::FunctionPointer(_) | TypeKind::BlockPointer(_))
    }

    /// A function's type.
    pub fn function(&self) -> Option<&FunctionType> {
        if let TypeKind::Function(function) = self { Some(function) } else { None }
    }

    /// The type of the values of an atomic type.
    pub fn atomic_value(&self) -> Option<Ty> {
        if let TypeKind::Atomic(of) = self { Some(*of) } else { None }
    }
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; `None` for an anonymous record.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: QualTy,
    /// Its offset in bytes.
    pub offset: u64,
    /// An `aligned` attribute of its own.
    pub align: Option<u32>,
    /// Where it is declared.
    pub span: Span,
}

/// A `struct` or a `union`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whether it is a union.
    pub is_union: bool,
    /// Its tag, or the `typedef` that names it.
    pub name: Option<Symbol>,
    /// Its fields; offsets are set when it is complete.
    pub fields: Vec<Field>,
    /// Whether its members are known.
    pub is_complete: bool,
    /// `packed`
    pub is_packed: bool,
    /// An `aligned` attribute.
    pub align: Option<u32>,
    /// Its size and alignment when it is complete.
    pub layout: Layout,
    /// How many records it is made of, one in another, when it is complete.
    pub depth: u32,
    /// Where it is declared.
    pub span: Span,
}

/// An `enum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumeration {
    /// Its tag, or the `typedef` that names it.
    pub name: Option<Symbol>,
    /// The integer type that represents it.
    pub scalar: Scalar,
    /// Whether its constants are known.
    pub is_complete: bool,
    /// Where it is declared.
    pub span: Span,
}
