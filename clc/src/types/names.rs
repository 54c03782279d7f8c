//! The names of types that OpenCL C declares in advance: one table of what each name is, and what it needs.
//!
//! Names that are keywords (`int`, `float`, `half`, `bool`) are not here: their words combine. A program may declare such a name
//! anew; that is up to the scopes of the parser and of the semantics.

use super::{Access, ImageShape, Scalar, Ty, TypeKind, TypeTable};
use crate::options::{Profile, Version};

/// What a name of OpenCL C stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinType {
    /// A scalar: `uint`, and names such as `cl_mem_fence_flags`.
    Scalar(Scalar),
    /// A vector: `float4`.
    Vector(Scalar, u8),
    /// `size_t`, `uintptr_t`
    Size,
    /// `ptrdiff_t`, `intptr_t`
    Difference,
    /// `atomic_int` and the like.
    Atomic(Scalar),
    /// `atomic_size_t`, `atomic_uintptr_t`
    AtomicSize,
    /// `atomic_ptrdiff_t`, `atomic_intptr_t`
    AtomicDifference,
    /// `image2d_t` and the like.
    Image(ImageShape),
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

impl BuiltinType {
    /// The type. The access qualifier is that of an image; other types have none.
    pub fn ty(self, types: &mut TypeTable, access: Access) -> Ty {
        match self {
            BuiltinType::Scalar(scalar) => types.scalar(scalar),
            BuiltinType::Vector(scalar, lanes) => types.vector(scalar, lanes),
            BuiltinType::Size => types.size_t(),
            BuiltinType::Difference => types.ptrdiff_t(),
            BuiltinType::Atomic(scalar) => {
                let of = types.scalar(scalar);
                types.intern(TypeKind::Atomic(of))
            }
            BuiltinType::AtomicSize => {
                let of = types.size_t();
                types.intern(TypeKind::Atomic(of))
            }
            BuiltinType::AtomicDifference => {
                let of = types.ptrdiff_t();
                types.intern(TypeKind::Atomic(of))
            }
            BuiltinType::Image(shape) => types.intern(TypeKind::Image(shape, access)),
            BuiltinType::Sampler => types.intern(TypeKind::Sampler),
            BuiltinType::Event => types.intern(TypeKind::Event),
            BuiltinType::ClkEvent => types.intern(TypeKind::ClkEvent),
            BuiltinType::Queue => types.intern(TypeKind::Queue),
            BuiltinType::NdRange => types.intern(TypeKind::NdRange),
            BuiltinType::ReserveId => types.intern(TypeKind::ReserveId),
            BuiltinType::NamedBarrier => types.intern(TypeKind::NamedBarrier),
        }
    }
}

/// What a name needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Nothing.
    Nothing,
    /// OpenCL C 2.0.
    V2,
    /// OpenCL C 2.0, where it is part of the language, or in later versions the feature.
    Feature(&'static str),
    /// OpenCL C 2.0, or the extension in earlier versions.
    V2OrExtension(&'static str),
    /// The extension.
    Extension(&'static str),
    /// OpenCL C 2.0, and atomics of 64 bits.
    Atomic64,
    /// OpenCL C 2.0, atomics of 64 bits and `double`.
    AtomicDouble,
    /// OpenCL C 2.0, and atomics of the width of a pointer.
    AtomicPointer,
    /// OpenCL C 2.0, and atomics of `half`.
    AtomicHalf,
    /// `half` in arithmetic.
    Half,
    /// `double`
    Double,
}

impl Needs {
    fn met(self, version: Version, profile: &Profile) -> bool {
        let v2 = version >= Version::V2_0;
        let double = || profile.has_extension("cl_khr_fp64") || profile.has_feature("__opencl_c_fp64");
        let wide = || {
            profile.has_extension("cl_khr_int64_base_atomics") && profile.has_extension("cl_khr_int64_extended_atomics")
        };
        match self {
            Needs::Nothing => true,
            Needs::V2 => v2,
            Needs::Feature(name) => v2 && (version == Version::V2_0 || profile.has_feature(name)),
            Needs::V2OrExtension(name) => v2 || profile.has_extension(name),
            Needs::Extension(name) => profile.has_extension(name),
            Needs::Atomic64 => v2 && wide(),
            Needs::AtomicDouble => v2 && wide() && double(),
            Needs::AtomicPointer => v2 && (!profile.bits_64 || wide()),
            Needs::AtomicHalf => {
                v2 && profile.has_extension("cl_khr_fp16") && profile.has_extension("cl_ext_float_atomics")
            }
            Needs::Half => profile.has_extension("cl_khr_fp16"),
            Needs::Double => double(),
        }
    }
}

const ENQUEUE: Needs = Needs::Feature("__opencl_c_device_enqueue");
const PIPES: Needs = Needs::Feature("__opencl_c_pipes");
const DEPTH: Needs = Needs::V2OrExtension("cl_khr_depth_images");
const MSAA: Needs = Needs::Extension("cl_khr_gl_msaa_sharing");

/// The names in alphabetical order. Vectors are [`VECTORS`].
const NAMES: &[(&str, BuiltinType, Needs)] = &[
    ("atomic_double", BuiltinType::Atomic(Scalar::Double), Needs::AtomicDouble),
    ("atomic_flag", BuiltinType::Atomic(Scalar::Int), Needs::V2),
    ("atomic_float", BuiltinType::Atomic(Scalar::Float), Needs::V2),
    ("atomic_half", BuiltinType::Atomic(Scalar::Half), Needs::AtomicHalf),
    ("atomic_int", BuiltinType::Atomic(Scalar::Int), Needs::V2),
    ("atomic_intptr_t", BuiltinType::AtomicDifference, Needs::AtomicPointer),
    ("atomic_long", BuiltinType::Atomic(Scalar::Long), Needs::Atomic64),
    ("atomic_ptrdiff_t", BuiltinType::AtomicDifference, Needs::AtomicPointer),
    ("atomic_size_t", BuiltinType::AtomicSize, Needs::AtomicPointer),
    ("atomic_uint", BuiltinType::Atomic(Scalar::UInt), Needs::V2),
    ("atomic_uintptr_t", BuiltinType::AtomicSize, Needs::AtomicPointer),
    ("atomic_ulong", BuiltinType::Atomic(Scalar::ULong), Needs::Atomic64),
    ("cl_mem_fence_flags", BuiltinType::Scalar(Scalar::UInt), Needs::Nothing),
    ("clk_event_t", BuiltinType::ClkEvent, ENQUEUE),
    ("clk_profiling_info", BuiltinType::Scalar(Scalar::Int), ENQUEUE),
    ("event_t", BuiltinType::Event, Needs::Nothing),
    ("image1d_array_t", BuiltinType::Image(ImageShape::Dim1Array), Needs::Nothing),
    ("image1d_buffer_t", BuiltinType::Image(ImageShape::Dim1Buffer), Needs::Nothing),
    ("image1d_t", BuiltinType::Image(ImageShape::Dim1), Needs::Nothing),
    ("image2d_array_depth_t", BuiltinType::Image(ImageShape::Dim2ArrayDepth), DEPTH),
    ("image2d_array_msaa_depth_t", BuiltinType::Image(ImageShape::Dim2ArrayMsaaDepth), MSAA),
    ("image2d_array_msaa_t", BuiltinType::Image(ImageShape::Dim2ArrayMsaa), MSAA),
    ("image2d_array_t", BuiltinType::Image(ImageShape::Dim2Array), Needs::Nothing),
    ("image2d_depth_t", BuiltinType::Image(ImageShape::Dim2Depth), DEPTH),
    ("image2d_msaa_depth_t", BuiltinType::Image(ImageShape::Dim2MsaaDepth), MSAA),
    ("image2d_msaa_t", BuiltinType::Image(ImageShape::Dim2Msaa), MSAA),
    ("image2d_t", BuiltinType::Image(ImageShape::Dim2), Needs::Nothing),
    ("image3d_t", BuiltinType::Image(ImageShape::Dim3), Needs::Nothing),
    ("intptr_t", BuiltinType::Difference, Needs::Nothing),
    ("kernel_enqueue_flags_t", BuiltinType::Scalar(Scalar::Int), ENQUEUE),
    ("memory_order", BuiltinType::Scalar(Scalar::UInt), Needs::V2),
    ("memory_scope", BuiltinType::Scalar(Scalar::UInt), Needs::V2),
    ("named_barrier_t", BuiltinType::NamedBarrier, Needs::Extension("cl_khr_subgroup_named_barrier")),
    ("ndrange_t", BuiltinType::NdRange, ENQUEUE),
    ("ptrdiff_t", BuiltinType::Difference, Needs::Nothing),
    ("queue_t", BuiltinType::Queue, ENQUEUE),
    ("reserve_id_t", BuiltinType::ReserveId, PIPES),
    ("sampler_t", BuiltinType::Sampler, Needs::Nothing),
    ("size_t", BuiltinType::Size, Needs::Nothing),
    ("uchar", BuiltinType::Scalar(Scalar::UChar), Needs::Nothing),
    ("uint", BuiltinType::Scalar(Scalar::UInt), Needs::Nothing),
    ("uintptr_t", BuiltinType::Size, Needs::Nothing),
    ("ulong", BuiltinType::Scalar(Scalar::ULong), Needs::Nothing),
    ("ushort", BuiltinType::Scalar(Scalar::UShort), Needs::Nothing),
];

/// The elements of vectors, whose names end in the number of lanes.
const VECTORS: &[(&str, Scalar, Needs)] = &[
    ("char", Scalar::Char, Needs::Nothing),
    ("double", Scalar::Double, Needs::Double),
    ("float", Scalar::Float, Needs::Nothing),
    ("half", Scalar::Half, Needs::Half),
    ("int", Scalar::Int, Needs::Nothing),
    ("long", Scalar::Long, Needs::Nothing),
    ("short", Scalar::Short, Needs::Nothing),
    ("uchar", Scalar::UChar, Needs::Nothing),
    ("uint", Scalar::UInt, Needs::Nothing),
    ("ulong", Scalar::ULong, Needs::Nothing),
    ("ushort", Scalar::UShort, Needs::Nothing),
];

/// Types of C that OpenCL C has under another name.
const OF_C: &[(&str, &str)] = &[
    ("int8_t", "char"),
    ("int16_t", "short"),
    ("int32_t", "int"),
    ("int64_t", "long"),
    ("uint8_t", "uchar"),
    ("uint16_t", "ushort"),
    ("uint32_t", "uint"),
    ("uint64_t", "ulong"),
    ("ssize_t", "ptrdiff_t"),
];

/// The names of types that a version has on a device, for hints: keywords, and what [`builtin_type`] knows.
pub(crate) fn type_names<'p>(version: Version, profile: &'p Profile) -> impl Iterator<Item = String> + 'p {
    let vectors = VECTORS.iter().flat_map(|(element, ..)| ["2", "3", "4", "8", "16"].map(|n| format!("{element}{n}")));
    let others = NAMES.iter().map(|(name, ..)| (*name).to_owned());
    let known = others.chain(vectors).filter(move |name| builtin_type(name, version, profile).is_some());
    let keywords = ["bool", "char", "double", "float", "half", "int", "long", "short", "unsigned", "void"];
    keywords.into_iter().map(str::to_owned).chain(known)
}

/// The name that OpenCL C has for a type of C's.
pub(crate) fn name_of_c_type(name: &str) -> Option<&'static str> {
    OF_C.iter().find(|(of_c, _)| *of_c == name).map(|(_, own)| *own)
}

/// The type that a name stands for in a version on a device; `None` if it is not one, or not there.
pub fn builtin_type(name: &str, version: Version, profile: &Profile) -> Option<BuiltinType> {
    let element = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let (found, needs) = match &name[element.len()..] {
        "" => {
            let at = NAMES.binary_search_by_key(&name, |(name, ..)| name).ok()?;
            (NAMES[at].1, NAMES[at].2)
        }
        digits => {
            let lanes = match digits {
                "2" => 2,
                "3" => 3,
                "4" => 4,
                "8" => 8,
                "16" => 16,
                _ => return None,
            };
            let at = VECTORS.binary_search_by_key(&element, |(name, ..)| name).ok()?;
            (BuiltinType::Vector(VECTORS[at].1, lanes), VECTORS[at].2)
        }
    };
    needs.met(version, profile).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(NAMES.is_sorted_by_key(|(name, ..)| name));
        assert!(VECTORS.is_sorted_by_key(|(name, ..)| name));
    }

    #[test]
    fn every_image_has_its_name() {
        for (shape, name) in ImageShape::NAMES {
            assert!(NAMES.iter().any(|row| (row.0, row.1) == (name, BuiltinType::Image(shape))), "{name}");
        }
    }

    #[test]
    fn names_depend_on_version_and_device() {
        let mut profile = Profile { bits_64: true, ..Profile::default() };
        let find = |name: &str, version, profile: &Profile| builtin_type(name, version, profile);
        assert_eq!(find("uint", Version::V1_0, &profile), Some(BuiltinType::Scalar(Scalar::UInt)));
        assert_eq!(find("float16", Version::V1_0, &profile), Some(BuiltinType::Vector(Scalar::Float, 16)));
        for name in ["float5", "float", "float04", "4", "", "size_t4", "bool2", "\u{e4}4", "atomic_int4"] {
            assert_eq!(find(name, Version::V3_0, &profile), None, "{name}");
        }
        assert_eq!(find("atomic_int", Version::V1_2, &profile), None);
        assert_eq!(find("atomic_int", Version::V2_0, &profile), Some(BuiltinType::Atomic(Scalar::Int)));
        assert_eq!(find("queue_t", Version::V2_0, &profile), Some(BuiltinType::Queue));
        assert_eq!(find("queue_t", Version::V3_0, &profile), None);
        assert_eq!(find("double2", Version::V1_2, &profile), None);
        profile.extensions.push("cl_khr_fp64");
        profile.features.push("__opencl_c_device_enqueue");
        assert_eq!(find("double2", Version::V1_2, &profile), Some(BuiltinType::Vector(Scalar::Double, 2)));
        assert_eq!(find("queue_t", Version::V3_0, &profile), Some(BuiltinType::Queue));
    }

    #[test]
    fn types_are_those_of_the_table() {
        let mut types = TypeTable::new(8);
        let ty = BuiltinType::AtomicSize.ty(&mut types, Access::ReadOnly);
        assert_eq!(*types.kind(ty), TypeKind::Atomic(types.scalar(Scalar::ULong)));
        let ty = BuiltinType::Image(ImageShape::Dim2).ty(&mut types, Access::WriteOnly);
        assert_eq!(*types.kind(ty), TypeKind::Image(ImageShape::Dim2, Access::WriteOnly));
    }
}
