//! Types of the generated language: scalars and vectors of OpenCL C, their names and spellings of values.

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elem {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

use Elem::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// The integer types.
pub(super) const INTS: [Elem; 8] = [I8, U8, I16, U16, I32, U32, I64, U64];

impl Elem {
    pub(super) fn name(self) -> &'static str {
        match self {
            I8 => "char",
            U8 => "uchar",
            I16 => "short",
            U16 => "ushort",
            I32 => "int",
            U32 => "uint",
            I64 => "long",
            U64 => "ulong",
            F32 => "float",
            F64 => "double",
        }
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            I8 | U8 => 8,
            I16 | U16 => 16,
            I32 | U32 | F32 => 32,
            I64 | U64 | F64 => 64,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, F32 | F64)
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    pub(super) fn signed(self) -> Self {
        match self {
            I8 | U8 => I8,
            I16 | U16 => I16,
            I32 | U32 | F32 => I32,
            I64 | U64 | F64 => I64,
        }
    }

    pub(super) fn unsigned(self) -> Self {
        match self {
            I8 | U8 => U8,
            I16 | U16 => U16,
            I32 | U32 | F32 => U32,
            I64 | U64 | F64 => U64,
        }
    }

    /// The integer type of half the size and the same sign.
    pub(super) fn half(self) -> Option<Self> {
        match self {
            I16 => Some(I8),
            U16 => Some(U8),
            I32 => Some(I16),
            U32 => Some(U16),
            I64 => Some(I32),
            U64 => Some(U32),
            I8 | U8 | F32 | F64 => None,
        }
    }
}

/// A scalar, or a vector of 2, 3, 4, 8 or 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ty {
    pub(super) elem: Elem,
    pub(super) lanes: u32,
}

pub(super) const UINT: Ty = Ty::scalar(U32);
pub(super) const ULONG: Ty = Ty::scalar(U64);

impl Ty {
    pub(super) const fn scalar(elem: Elem) -> Self {
        Self { elem, lanes: 1 }
    }

    pub(super) fn name(self) -> String {
        if self.lanes == 1 { self.elem.name().to_owned() } else { format!("{}{}", self.elem.name(), self.lanes) }
    }

    pub(super) fn with(self, elem: Elem) -> Self {
        Self { elem, ..self }
    }

    pub(super) fn is_vector(self) -> bool {
        self.lanes > 1
    }

    /// Bytes without padding.
    pub(super) fn bytes(self) -> u32 {
        self.elem.bits() / 8 * self.lanes
    }
}

/// A literal of an integer type, edges among them.
pub(super) fn int_literal(rng: &mut fastrand::Rng, elem: Elem) -> String {
    let top = 1_u64 << (elem.bits() - 1);
    let bits = match rng.u32(..12) {
        0 => 0,
        1 => 1,
        2 => u64::MAX,
        3 => top,
        4 => top - 1,
        5 => rng.u64(..) >> rng.u32(..64),
        6 => 1 << rng.u32(..elem.bits()),
        _ => rng.u64(..10),
    };
    let bits = if elem.bits() == 64 { bits } else { bits & (2 * top - 1) };
    format!("({})0x{bits:x}ul", elem.name())
}

/// A literal of a floating-point type, exact and moderate.
pub(super) fn float_literal(rng: &mut fastrand::Rng, elem: Elem) -> String {
    let value = match rng.u32(..8) {
        0 => 0.0,
        1 => 1.0,
        2 => -0.5,
        3 => f64::from(rng.i32(-1000..1000)) / 16.0,
        4 => f64::from(rng.f32()),
        5 => 2.5,
        _ => f64::from(rng.i32(-9..9)),
    };
    let suffix = if elem == F32 { "f" } else { "" };
    format!("({})({value:?}{suffix})", elem.name())
}
