//! The table, one file per class of functions, in the order of the chapters of the specification.
//!
//! A [`Group`] holds the functions that share signature, types and condition.

mod async_copies;
mod atomics;
mod bits;
mod c11_atomics;
mod common;
mod enqueue;
mod geometric;
mod images;
mod integer;
mod intel_sub_group;
mod math;
mod memory;
mod misc;
mod pipes;
mod relational;
mod sub_group;
mod sync;
mod work_group;
mod work_item;

use super::condition::When;
use super::{Lowering, ext};
use crate::types::{Access, ImageShape, Scalar};

/// What `T` stands for: every scalar with every number of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Types {
    /// Scalars.
    pub scalars: &'static [Scalar],
    /// Numbers of lanes.
    pub lanes: &'static [u8],
}

/// What `image` stands for: every shape with every access. Those that the device lacks are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Images {
    /// Shapes.
    pub shapes: &'static [ImageShape],
    /// Accesses.
    pub accesses: &'static [Access],
}

/// Functions that differ only in name and lowering.
#[derive(Debug)]
pub(super) struct Group {
    /// What they need.
    pub when: When,
    /// What `T` stands for.
    pub types: Types,
    /// What `image` stands for.
    pub images: Option<Images>,
    /// The signature, in the language of [`super::signature`].
    pub signature: &'static str,
    /// The functions.
    pub functions: &'static [(&'static str, Lowering)],
}

/// All groups.
pub(super) static TABLES: &[&[Group]] = &[
    work_item::TABLE,
    math::TABLE,
    integer::TABLE,
    common::TABLE,
    geometric::TABLE,
    relational::TABLE,
    memory::TABLE,
    sync::TABLE,
    async_copies::TABLE,
    atomics::TABLE,
    c11_atomics::INIT,
    c11_atomics::TABLE,
    c11_atomics::FLOAT_TABLE,
    misc::TABLE,
    bits::TABLE,
    images::FLOATS,
    images::INTS,
    images::UINTS,
    images::HALVES,
    images::TABLE,
    work_group::TABLE,
    sub_group::TABLE,
    intel_sub_group::TABLE,
    intel_sub_group::BLOCKS,
    pipes::TABLE,
    enqueue::TABLE,
];

/// A group without generic types.
const fn plain(when: When, signature: &'static str, functions: &'static [(&'static str, Lowering)]) -> Group {
    Group { when, types: ONE, images: None, signature, functions }
}

/// A group with generic types.
const fn over(
    when: When,
    types: Types,
    signature: &'static str,
    functions: &'static [(&'static str, Lowering)],
) -> Group {
    Group { when, types, images: None, signature, functions }
}

const fn types(scalars: &'static [Scalar], lanes: &'static [u8]) -> Types {
    Types { scalars, lanes }
}

const fn ext(number: u32) -> Lowering {
    Lowering::Ext(number)
}

/// Instructions for signed and unsigned integers.
const fn by_sign(signed: u32, unsigned: u32) -> Lowering {
    Lowering::ExtByClass { float: signed, signed, unsigned }
}

/// A single expansion.
const ONE: Types = types(&[Scalar::Int], &[1]);

const ANY: &[u8] = &[1, 2, 3, 4, 8, 16];
const VECTORS: &[u8] = &[2, 3, 4, 8, 16];
const SCALAR: &[u8] = &[1];

const FLOATS: &[Scalar] = &[Scalar::Float, Scalar::Double, Scalar::Half];
const SIGNED: &[Scalar] = &[Scalar::Char, Scalar::Short, Scalar::Int, Scalar::Long];
const INTEGERS: &[Scalar] = &[
    Scalar::Char,
    Scalar::UChar,
    Scalar::Short,
    Scalar::UShort,
    Scalar::Int,
    Scalar::UInt,
    Scalar::Long,
    Scalar::ULong,
];
const NUMBERS: &[Scalar] = &[
    Scalar::Char,
    Scalar::UChar,
    Scalar::Short,
    Scalar::UShort,
    Scalar::Int,
    Scalar::UInt,
    Scalar::Long,
    Scalar::ULong,
    Scalar::Float,
    Scalar::Double,
    Scalar::Half,
];

/// The types of mathematical functions.
const GENTYPEF: Types = types(FLOATS, ANY);
/// Vectors of these.
const VECTORF: Types = types(FLOATS, VECTORS);
/// Single precision only.
const FLOAT: Types = types(&[Scalar::Float], ANY);
/// The types of integer functions.
const GENTYPEI: Types = types(INTEGERS, ANY);
/// Vectors of these.
const VECTORI: Types = types(INTEGERS, VECTORS);
/// Every scalar and vector.
const GENTYPE: Types = types(NUMBERS, ANY);
/// Every scalar.
const SCALARS: Types = types(NUMBERS, SCALAR);

const V1_2: When = When::Since(crate::options::Version::V1_2);
const V2_0: When = When::Since(crate::options::Version::V2_0);
const V3_0: When = When::Since(crate::options::Version::V3_0);
const V3_1: When = When::Since(crate::options::Version::V3_1);
