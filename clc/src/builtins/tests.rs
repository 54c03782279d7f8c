//! Tests of the table.

use super::table::TABLES;
use super::{Environment, Function, Overload, find, generated, index, signature};
use crate::options::{Profile, Version};
use crate::types::TypeTable;

/// A device with everything.
fn everything() -> Profile {
    let mut extensions = Vec::new();
    let mut features = Vec::new();
    for group in TABLES.iter().copied().flatten() {
        group.when.names(&mut extensions, &mut features);
    }
    extensions.extend(["cl_khr_fp16", "cl_khr_fp64", "cl_khr_gl_msaa_sharing", "cl_khr_depth_images"]);
    extensions.push("cl_khr_3d_image_writes");
    features.extend(["__opencl_c_read_write_images", "__opencl_c_images", "__opencl_c_subgroups"]);
    Profile { opencl_version: 310, extensions, features, images: true, bits_64: true, ..Profile::default() }
}

fn lookup(name: &str, version: Version, profile: &Profile) -> Option<Function> {
    find(name, Environment { version, profile }, &mut TypeTable::new(8))
}

fn overloads(name: &str) -> Vec<Overload> {
    lookup(name, Version::V3_0, &everything()).map(|function| function.overloads).unwrap_or_default()
}

#[test]
fn every_row_expands() {
    let profile = everything();
    let environment = Environment { version: Version::V3_0, profile: &profile };
    for group in TABLES.iter().copied().flatten() {
        assert!(signature::is_well_formed(group.signature, environment), "{}", group.signature);
        assert!(group.when.holds(environment), "{:?}", group.functions);
        for (name, lowering) in group.functions {
            let mut found = Vec::new();
            signature::expand(group, *lowering, environment, &mut TypeTable::new(8), &mut found);
            assert!(!found.is_empty(), "{name}");
            assert!(index::rows(name).any(|(row, same)| std::ptr::eq(row, group) && same == *lowering), "{name}");
            assert!(!generated::is_generated(name), "{name}");
        }
    }
}

#[test]
fn no_overload_exists_twice() {
    let profile = everything();
    let environment = Environment { version: Version::V3_0, profile: &profile };
    let mut names: Vec<&str> =
        TABLES.iter().copied().flatten().flat_map(|group| group.functions.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let mut types = TypeTable::new(8);
        let function = find(name, environment, &mut types).unwrap_or_default();
        let mut signatures: Vec<_> = function.overloads.iter().map(|one| (&one.parameters, one.is_variadic)).collect();
        let count = signatures.len();
        signatures.sort_unstable();
        signatures.dedup();
        assert_eq!(signatures.len(), count, "{name}");
        assert!(count > 0 && function.missing.is_none(), "{name}");
    }
}

#[test]
fn signatures_have_the_right_numbers_of_overloads() {
    for (name, count) in [
        ("sin", 18),
        ("max", 121),
        ("shuffle2", 176),
        ("vload3", 22),
        ("barrier", 1),
        ("upsample", 36),
        ("convert_int4_sat_rte", 11),
        ("as_float3", 14),
    ] {
        assert_eq!(overloads(name).len(), count, "{name}");
    }
}

#[test]
fn versions_and_features_decide() {
    let none = Profile { bits_64: true, ..Profile::default() };
    let missing = |name, version| lookup(name, version, &none).and_then(|function| function.missing);
    assert!(lookup("no_such_function", Version::V3_0, &none).is_none());
    assert!(lookup("convert_bool", Version::V3_0, &none).is_none());
    assert!(lookup("convert_float_sat", Version::V3_0, &none).is_none());
    assert!(lookup("as_int5", Version::V3_0, &none).is_none());
    assert_eq!(missing("popcount", Version::V1_1).as_deref(), Some("requires OpenCL C 1.2"));
    assert_eq!(missing("popcount", Version::V1_2), None);
    assert_eq!(
        missing("bit_reverse", Version::V1_2).as_deref(),
        Some("requires the extension cl_khr_extended_bit_ops or OpenCL C 3.1")
    );
    assert_eq!(missing("bit_reverse", Version::V3_1), None);
    assert!(missing("as_double", Version::V1_2).is_some());
    // Without the generic address space there is an overload for each of the others.
    let count = |version| lookup("fract", version, &none).map(|function| function.overloads.len());
    assert_eq!((count(Version::V1_2), count(Version::V2_0)), (Some(18), Some(6)));
}

/// A program asks for the macro of an extension and uses its functions, whatever its version of the language.
#[test]
fn functions_of_extensions_are_there_in_all_versions() {
    let full = Profile::full();
    for (extension, name) in [
        ("cl_khr_extended_async_copies", "async_work_group_copy_2D2D"),
        ("cl_khr_extended_bit_ops", "bitfield_insert"),
        ("cl_khr_integer_dot_product", "dot_acc_sat"),
        ("cl_khr_integer_dot_product", "dot_acc_sat_4x8packed_ss_int"),
        ("cl_khr_kernel_clock", "clock_read_device"),
        ("cl_khr_kernel_clock", "clock_read_work_group"),
        ("cl_khr_subgroup_ballot", "sub_group_ballot"),
        ("cl_khr_subgroup_clustered_reduce", "sub_group_clustered_reduce_add"),
        ("cl_khr_subgroup_non_uniform_arithmetic", "sub_group_non_uniform_reduce_add"),
        ("cl_khr_subgroup_non_uniform_vote", "sub_group_elect"),
        ("cl_khr_subgroup_rotate", "sub_group_rotate"),
        ("cl_khr_subgroup_shuffle", "sub_group_shuffle"),
        ("cl_khr_subgroup_shuffle_relative", "sub_group_shuffle_up"),
        ("cl_khr_subgroups", "sub_group_reduce_add"),
        ("cl_intel_subgroups", "intel_sub_group_shuffle"),
    ] {
        assert!(full.has_extension(extension));
        for version in [Version::V1_0, Version::V1_2, Version::V2_0, Version::V3_0] {
            let missing = lookup(name, version, &full).and_then(|function| function.missing);
            assert_eq!(missing, None, "{name} of {extension} in {version:?}");
        }
    }
}
