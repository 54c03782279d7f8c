//! Value types: an element type and a number of lanes.
//!
//! OpenCL vectors and SPMD packs use the same types; which of the two a value is follows from the function's
//! [`Stage`](crate::Stage). Structs and arrays do not exist: they end at import.

use std::fmt;
use std::str::FromStr;

/// An address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// A work-item's own memory (SPIR-V Function and Private).
    Private,
    /// Buffers and program-scope variables (CrossWorkgroup).
    Global,
    /// Read-only data (UniformConstant).
    Constant,
    /// A work-group's memory (Workgroup).
    Local,
    /// Private, global or local: known only when the kernel runs.
    Generic,
    /// The runtime's own structures: launch context and argument block. Never aliases memory the kernel can name; read-only.
    Host,
}

impl Space {
    /// All spaces, in declaration order.
    pub const ALL: [Space; 6] =
        [Space::Private, Space::Global, Space::Constant, Space::Local, Space::Generic, Space::Host];

    /// The name used in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Space::Private => "private",
            Space::Global => "global",
            Space::Constant => "constant",
            Space::Local => "local",
            Space::Generic => "generic",
            Space::Host => "host",
        }
    }

    /// Whether accesses through pointers into the two spaces may touch the same memory.
    pub fn may_alias(self, other: Space) -> bool {
        if self == other {
            return true;
        }
        match (self, other) {
            (Space::Generic, Space::Private | Space::Global | Space::Local)
            | (Space::Private | Space::Global | Space::Local, Space::Generic) => true,
            // A buffer may be bound to a `__constant` and to a `__global` argument of one kernel.
            (Space::Global | Space::Generic, Space::Constant) | (Space::Constant, Space::Global | Space::Generic) => {
                true
            }
            (
                Space::Private | Space::Global | Space::Constant | Space::Local | Space::Generic | Space::Host,
                Space::Private | Space::Global | Space::Constant | Space::Local | Space::Generic | Space::Host,
            ) => false,
        }
    }
}

/// The type of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Elem {
    /// A Boolean; a vector of them is a mask. It cannot be loaded or stored, and has no defined width before the backend.
    B1,
    /// 8-bit integer; integers have no signedness, ops have.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// A 64-bit address.
    Ptr(Space),
}

impl Elem {
    /// Width in bits; 1 for [`Elem::B1`].
    pub fn bits(self) -> u32 {
        match self {
            Elem::B1 => 1,
            Elem::I8 => 8,
            Elem::I16 | Elem::F16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 | Elem::F64 | Elem::Ptr(_) => 64,
        }
    }

    /// Size in memory in bytes; a Boolean counts as one byte but is never loaded or stored.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// All bits of an element set, in the low bits of the word.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Whether it is `i8` to `i64`.
    pub fn is_int(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }

    /// Whether it is `f16`, `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::F32 | Elem::F64)
    }

    /// Whether it is a pointer.
    pub fn is_ptr(self) -> bool {
        matches!(self, Elem::Ptr(_))
    }

    /// The space of a pointer element.
    pub fn space(self) -> Option<Space> {
        match self {
            Elem::Ptr(space) => Some(space),
            Elem::B1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::F16 | Elem::F32 | Elem::F64 => None,
        }
    }

    /// The integer element of `bits` bits: 8, 16, 32 or 64.
    pub fn int(bits: u32) -> Option<Elem> {
        match bits {
            8 => Some(Elem::I8),
            16 => Some(Elem::I16),
            32 => Some(Elem::I32),
            64 => Some(Elem::I64),
            _ => None,
        }
    }

    /// The float element of `bits` bits: 16, 32 or 64.
    pub fn float(bits: u32) -> Option<Elem> {
        match bits {
            16 => Some(Elem::F16),
            32 => Some(Elem::F32),
            64 => Some(Elem::F64),
            _ => None,
        }
    }

    /// The integer element of the same width, for bit manipulation of floats; `i8` for a Boolean.
    pub fn as_int(self) -> Elem {
        match self {
            Elem::B1 | Elem::I8 => Elem::I8,
            Elem::I16 | Elem::F16 => Elem::I16,
            Elem::I32 | Elem::F32 => Elem::I32,
            Elem::I64 | Elem::F64 | Elem::Ptr(_) => Elem::I64,
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::B1 => f.write_str("b1"),
            Elem::I8 => f.write_str("i8"),
            Elem::I16 => f.write_str("i16"),
            Elem::I32 => f.write_str("i32"),
            Elem::I64 => f.write_str("i64"),
            Elem::F16 => f.write_str("f16"),
            Elem::F32 => f.write_str("f32"),
            Elem::F64 => f.write_str("f64"),
            Elem::Ptr(space) => write!(f, "ptr({})", space.name()),
        }
    }
}

/// The type of a value: `lanes` elements, 1 to [`Type::MAX_LANES`]. One lane is a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// Type of each lane.
    pub elem: Elem,
    lanes: u8,
}

impl Type {
    /// Most lanes a value may have.
    pub const MAX_LANES: u32 = 64;
    /// A scalar Boolean.
    pub const B1: Type = Type::scalar(Elem::B1);
    /// A scalar 8-bit integer.
    pub const I8: Type = Type::scalar(Elem::I8);
    /// A scalar 16-bit integer.
    pub const I16: Type = Type::scalar(Elem::I16);
    /// A scalar 32-bit integer.
    pub const I32: Type = Type::scalar(Elem::I32);
    /// A scalar 64-bit integer.
    pub const I64: Type = Type::scalar(Elem::I64);
    /// A scalar half.
    pub const F16: Type = Type::scalar(Elem::F16);
    /// A scalar float.
    pub const F32: Type = Type::scalar(Elem::F32);
    /// A scalar double.
    pub const F64: Type = Type::scalar(Elem::F64);

    /// One lane of `elem`.
    pub const fn scalar(elem: Elem) -> Type {
        Type { elem, lanes: 1 }
    }

    /// A scalar pointer.
    pub const fn ptr(space: Space) -> Type {
        Type::scalar(Elem::Ptr(space))
    }

    /// `lanes` lanes of `elem`, or `None` when the count is out of range.
    pub fn new(elem: Elem, lanes: u32) -> Option<Type> {
        (1..=Self::MAX_LANES).contains(&lanes).then_some(Type { elem, lanes: lanes as u8 })
    }

    /// `lanes` lanes of `elem`.
    ///
    /// # Panics
    /// When the count is out of range: the caller broke its own invariant.
    pub fn vector(elem: Elem, lanes: u32) -> Type {
        Type::new(elem, lanes).unwrap_or_else(|| unreachable!("broken invariant: {lanes} lanes"))
    }

    /// Number of lanes.
    pub fn lanes(self) -> u32 {
        u32::from(self.lanes)
    }

    /// Whether it has more than one lane.
    pub fn is_vector(self) -> bool {
        self.lanes > 1
    }

    /// The same lanes of another element.
    pub fn with_elem(self, elem: Elem) -> Type {
        Type { elem, lanes: self.lanes }
    }

    /// The same element in `lanes` lanes.
    pub fn with_lanes(self, lanes: u32) -> Type {
        Type::vector(self.elem, lanes)
    }

    /// One lane of it.
    pub fn lane(self) -> Type {
        Type::scalar(self.elem)
    }

    /// The mask with the same number of lanes.
    pub fn as_mask(self) -> Type {
        self.with_elem(Elem::B1)
    }

    /// Integers of the same width and number of lanes.
    pub fn as_int(self) -> Type {
        self.with_elem(self.elem.as_int())
    }

    /// Bytes that a load or store of it touches: elements lie side by side, three lanes touch three elements.
    pub fn bytes(self) -> u32 {
        self.elem.bytes() * self.lanes()
    }

    /// Bits of all lanes together.
    pub fn bits(self) -> u32 {
        self.elem.bits() * self.lanes()
    }

    /// Whether its elements are integers.
    pub fn is_int(self) -> bool {
        self.elem.is_int()
    }

    /// Whether its elements are floats.
    pub fn is_float(self) -> bool {
        self.elem.is_float()
    }

    /// Whether its elements are Booleans.
    pub fn is_bool(self) -> bool {
        self.elem == Elem::B1
    }

    /// Whether its elements are pointers.
    pub fn is_ptr(self) -> bool {
        self.elem.is_ptr()
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.elem)?;
        if self.lanes > 1 { write!(f, "x{}", self.lanes) } else { Ok(()) }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a type; see [`Type`]'s `FromStr`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a type")]
pub struct ParseTypeError(String);

impl FromStr for Type {
    type Err = ParseTypeError;

    /// Reads the text form: `i32`, `f32x4`, `ptr(global)`, `ptr(local)x8`.
    fn from_str(text: &str) -> Result<Type, ParseTypeError> {
        let bad = || ParseTypeError(text.to_owned());
        let (elem, rest) = if let Some(rest) = text.strip_prefix("ptr(") {
            let (space, rest) = rest.split_once(')').ok_or_else(bad)?;
            let space = Space::ALL.into_iter().find(|s| s.name() == space).ok_or_else(bad)?;
            (Elem::Ptr(space), rest)
        } else {
            let split = text.find('x').unwrap_or(text.len());
            let elem = match &text[..split] {
                "b1" => Elem::B1,
                "i8" => Elem::I8,
                "i16" => Elem::I16,
                "i32" => Elem::I32,
                "i64" => Elem::I64,
                "f16" => Elem::F16,
                "f32" => Elem::F32,
                "f64" => Elem::F64,
                _ => return Err(bad()),
            };
            (elem, &text[split..])
        };
        let lanes = match rest.strip_prefix('x') {
            Some(digits) => digits.parse().ok().filter(|&n| n > 1).ok_or_else(bad)?,
            None if rest.is_empty() => 1,
            None => return Err(bad()),
        };
        Type::new(elem, lanes).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        for text in ["b1", "i8x3", "f16x16", "f64", "ptr(global)", "ptr(host)x4", "i64x64"] {
            assert_eq!(text.parse::<Type>().unwrap().to_string(), text);
        }
        for text in ["", "i7", "i32x", "i32x1", "i32x65", "ptr(glob)", "ptr(global", "f32y4"] {
            assert!(text.parse::<Type>().is_err(), "{text}");
        }
    }

    #[test]
    fn three_lanes_touch_three_elements() {
        assert_eq!(Type::vector(Elem::F32, 3).bytes(), 12);
    }
}
