//! Constants.

use super::{FunctionId, GlobalId};

/// A constant; its type is that of the expression or object.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// Zeros, of any type; a null pointer.
    Zero,
    /// Undefined, of any type.
    Undefined,
    /// The bits of a scalar in its width (a `bool` is 0 or 1, a float its encoding), other bits zero.
    Scalar(u64),
    /// The bits of a vector's lanes.
    Vector(Vec<u64>),
    /// Bytes of an array of one-byte elements; missing ones at the end are zeros.
    Bytes(Vec<u8>),
    /// Members of a record or elements of an array; missing ones at the end are zeros.
    Aggregate(Vec<Constant>),
    /// A member of a union: its index and value.
    Union(u32, Box<Constant>),
    /// The address of an object.
    Address(Address),
}

/// An address that the linker knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it is relative to.
    pub base: AddressBase,
    /// Bytes from there.
    pub offset: i64,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// A global.
    Global(GlobalId),
    /// A function.
    Function(FunctionId),
    /// A number.
    Absolute,
}
