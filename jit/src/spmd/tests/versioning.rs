//! Versioning: results stay the same, and packs for which the assumptions hold have contiguous accesses and no masks.

use clift_kir::{Module, text};

use super::cases::kernel;
use super::generate::Rng;
use super::harness::{compare, make_all};
use super::launches;
use crate::Options;
use crate::spmd::analysis::assumptions::BOUNDS;
use crate::spmd::report::VectorizationReport;
use crate::spmd::transform::normalize::KnownOfPacks;
use crate::spmd::transform::{normalize, versioning};
use crate::spmd::workgroup::regions::Growth;

/// Compares the results at all widths. Returns the report for eight lanes.
fn report(module: &Module) -> VectorizationReport {
    for growth in [Growth::default(), Growth { factor: 1, slack: 0 }] {
        compare("versions", module, &Options::default(), growth, &launches(&mut Rng::new(11), 16));
    }
    made(module)
}

fn made(module: &Module) -> VectorizationReport {
    make_all(module, &Options { width: Some(8), ..Options::default() }, Growth::default()).report
}

/// The numbers of versions, masked blocks and scattered accesses, for most packs.
fn numbers(report: &VectorizationReport) -> [usize; 4] {
    [report.versions, report.masked_blocks.len(), report.gathers.len(), report.scatters.len()]
}

/// Word `at` of the input, which has eight.
fn kernel_of(head: &str) -> Module {
    kernel(&format!(
        "
    v10: i64 = global_id 0
    v11: i32 = itrunc v10
    v12: ptr(global) = arg 0
    v13: i32 = const 0
    v14: i32 = const 1
    v15: i32 = const -1
    v16: i32 = const 7
    v17: i32 = const 3
{head}"
    ))
}

#[test]
fn clamped_neighbours() {
    let module = kernel_of(
        "
    v20: i32 = and v11, v16
    v21: i32 = iadd v20, v15
    v22: i32 = smax v21, v13
    v23: i32 = iadd v20, v14
    v24: i32 = smin v23, v2
    v25: i64 = sext v22
    v26: ptr(global) = addr scale 4 v12, v25
    v27: i32 = load align 4 v26
    v28: i64 = sext v24
    v29: ptr(global) = addr scale 4 v12, v28
    v30: i32 = load align 4 v29
    v31: i32 = isub v27, v30
    store align 4 v0, v31
    ret",
    );
    let report = report(&module);
    assert_eq!((report.versions, report.gathers.len()), (1, 0), "{report}");
}

/// `x == 0 ? w - 1 : x - 1`: most packs are between the borders.
#[test]
fn periodic_borders() {
    let module = kernel_of(
        "
    v20: i32 = and v11, v16
    v21: b1 = icmp eq v20, v13
    v22: i32 = iadd v20, v15
    v23: i32 = select v21, v2, v22
    v24: i64 = sext v23
    v25: ptr(global) = addr scale 4 v12, v24
    v26: i32 = load align 4 v25
    v27: i32 = iadd v20, v14
    v28: b1 = icmp slt v27, v2
    v29: i32 = isub v16, v20
    v30: i32 = select v28, v27, v29
    v31: i64 = sext v30
    v32: ptr(global) = addr scale 4 v12, v31
    v33: i32 = load align 4 v32
    v34: i32 = isub v26, v33
    store align 4 v0, v34
    ret",
    );
    let report = report(&module);
    assert_eq!((report.versions, report.gathers.len()), (1, 0), "{report}");
}

/// `(x + 1) & (n - 1)`: few packs wrap around, and those of small `n` are never rows.
#[test]
fn indices_wrapped_by_masks() {
    let module = kernel_of(
        "
    v20: i32 = and v2, v16
    v21: i32 = iadd v11, v14
    v22: i32 = and v21, v20
    v23: i64 = zext v22
    v24: ptr(global) = addr scale 4 v12, v23
    v25: i32 = load align 4 v24
    v26: i32 = iadd v11, v15
    v27: i32 = and v20, v26
    v28: i64 = zext v27
    v29: ptr(global) = addr scale 4 v12, v28
    v30: i32 = load align 4 v29
    v31: i32 = isub v25, v30
    store align 4 v0, v31
    ret",
    );
    let report = report(&module);
    assert_eq!((report.versions, report.gathers.len()), (1, 0), "{report}");
}

#[test]
fn borders_of_an_image() {
    let module = kernel_of(
        "
    v20: b1 = icmp eq v11, v13
    v21: b1 = icmp sge v11, v2
    v22: b1 = or v20, v21
    branch v22, b1, b2
b1:
    store align 4 v0, v11
    jump b4
b2:
    v23: i32 = and v2, v17
    v24: i64 = zext v23
    v25: ptr(global) = addr scale 4 v12, v24
    v26: i32 = load align 4 v25
    v27: i64 = global_linear_id
    v28: ptr(global) = arg 8
    v29: ptr(global) = addr scale 32 disp 4 v28, v27
    store align 4 v29, v26
    jump b4
b4:
    ret",
    );
    assert_eq!(numbers(&report(&module))[..2], [1, 0]);
}

#[test]
fn loops_between_borders() {
    let module = kernel_of(
        "
    v20: i32 = and v11, v17
    v21: i32 = iadd v20, v15
    v22: i32 = smax v21, v13
    v23: i32 = iadd v20, v14
    v24: i32 = smin v23, v17
    v25: i32 = iadd v24, v14
    jump b1(v22, v13)
b1(v26: i32, v27: i32):
    v28: b1 = icmp eq v26, v25
    branch v28, b3, b2
b2:
    v29: i64 = sext v26
    v30: ptr(global) = addr scale 4 v12, v29
    v31: i32 = load align 4 v30
    v32: i32 = iadd v27, v31
    v33: i32 = iadd v26, v14
    jump b1(v33, v32)
b3:
    v34: i32 = isub v24, v22
    store align 4 v0, v27
    v35: ptr(global) = addr disp 4 v0
    store align 4 v35, v34
    ret",
    );
    report(&module);
}

/// Loops that begin or end at a bound in all lanes but those near a border: `max(0, x - 8)` and `x + r >= 15 ? 15 : x + r`.
#[test]
fn loops_to_bounds() {
    for (begin, end) in [
        ("smax v21, v13", "smin v23, v36"),
        ("select v18, v13, v21", "select v19, v36, v23"),
        ("smax v21, v13", "select v19, v36, v23"),
    ] {
        let module = kernel_of(&format!(
            "
    v36: i32 = const 15
    v37: i32 = const 8
    v38: i32 = and v11, v36
    v20: i32 = or v2, v37
    v40: i32 = and v20, v36
    v21: i32 = isub v38, v37
    v18: b1 = icmp slt v21, v13
    v23: i32 = iadd v38, v40
    v19: b1 = icmp sge v23, v36
    v22: i32 = {begin}
    v24: i32 = {end}
    jump b1(v22, v13)
b1(v26: i32, v27: i32):
    v28: b1 = icmp eq v26, v24
    branch v28, b3, b2
b2:
    v29: i32 = and v26, v17
    v39: i64 = zext v29
    v30: ptr(global) = addr scale 4 v12, v39
    v31: i32 = load align 4 v30
    v32: i32 = iadd v27, v31
    v33: i32 = iadd v26, v14
    jump b1(v33, v32)
b3:
    v34: i32 = isub v24, v22
    store align 4 v0, v27
    v35: ptr(global) = addr disp 4 v0
    store align 4 v35, v34
    ret"
        ));
        let report = report(&module);
        assert_eq!((report.versions, report.masked_blocks.len()), (1, 0), "{report}");
        let kernel = normalize::run(&module.funcs[module.kernels[0].func]);
        let versioned = kernel.and_then(|kernel| versioning::run(&kernel, 8, KnownOfPacks::Whole));
        let assumed = versioned.map(|kernel| kernel.assumed).unwrap_or_default();
        assert!(assumed.values().any(|&which| which == BOUNDS), "{begin}, {end}: {assumed:?}");
    }
}

#[test]
fn remainders_of_rows() {
    let module = kernel_of(
        "
    v18: i32 = iadd v2, v14
    v20: i32 = iadd v11, v2
    v21: i32 = srem v20, v18
    v22: i32 = urem v11, v18
    v23: i64 = sext v21
    v24: ptr(global) = addr scale 4 v12, v23
    v25: i32 = load align 4 v24
    v26: i64 = zext v22
    v27: ptr(global) = addr scale 4 v12, v26
    v28: i32 = load align 4 v27
    v29: i32 = udiv v11, v18
    v30: i32 = iadd v25, v28
    v31: i32 = imul v30, v29
    store align 4 v0, v31
    ret",
    );
    let report = report(&module);
    assert_eq!((report.versions, report.gathers.len()), (1, 0), "{report}");
}

/// Steps of a sort: partners are computed with masks of the form 2^n - 1.
#[test]
fn partners_in_local_memory() {
    let module = kernel_of(
        "
    store align 4 v4, v11
    jump b1(v14)
b1(v20: i32):
    barrier 0 work_group work_group local
    v21: i64 = local_id 0
    v22: i32 = itrunc v21
    v23: i32 = iadd v20, v15
    v24: i32 = and v22, v23
    v25: i32 = isub v22, v24
    v26: i32 = iadd v25, v24
    v27: i64 = zext v26
    v28: ptr(local) = arg 24
    v29: ptr(local) = addr scale 4 v28, v27
    v30: i32 = load align 4 v29
    v18: i64 = zext v24
    v19: ptr(local) = addr scale 4 v28, v18
    v39: i32 = load align 4 v19
    v40: i32 = iadd v30, v39
    barrier 1 work_group work_group local
    v31: b1 = icmp sgt v30, v11
    branch v31, b2, b3
b2:
    store align 4 v4, v40
    jump b3
b3:
    v32: i32 = shl v20, v14
    v33: i32 = const 32
    v34: b1 = icmp slt v32, v33
    branch v34, b1(v32), b4
b4:
    barrier 2 work_group work_group local
    v35: i32 = load align 4 v4
    store align 4 v0, v35
    ret",
    );
    let report = report(&module);
    assert!(report.versions >= 1 && report.gathers.is_empty(), "{report}");
}

/// Steps of a bitonic sort: the distance of partners is a power of two, which may be smaller than a pack.
#[test]
fn partners_within_a_pack() {
    let module = kernel_of(
        "
    v20: i64 = local_size 0
    v21: i64 = local_size 1
    v22: i64 = local_size 2
    v23: i64 = imul v20, v21
    v24: i64 = imul v23, v22
    v25: i32 = itrunc v24
    v26: i32 = imul v1, v16
    v27: i32 = xor v26, v17
    store align 4 v4, v27
    v28: i32 = shl v1, v14
    v29: ptr(local) = arg 24
    jump b1(v16)
b1(v31: i32):
    barrier 0 work_group work_group local
    v32: i32 = and v1, v31
    v33: i32 = isub v28, v32
    v34: i32 = iadd v31, v14
    v35: i32 = iadd v33, v34
    v36: b1 = icmp ult v35, v25
    branch v36, b5, b3
b5:
    v37: i64 = zext v33
    v38: ptr(local) = addr scale 4 v29, v37
    v39: i32 = load align 4 v38
    v40: i64 = zext v35
    v41: ptr(local) = addr scale 4 v29, v40
    v42: i32 = load align 4 v41
    v43: b1 = icmp ugt v39, v42
    branch v43, b2, b3
b2:
    store align 4 v38, v42
    store align 4 v41, v39
    jump b3
b3:
    barrier 1 work_group work_group local
    v44: i32 = lshr v31, v14
    v45: b1 = icmp ne v31, v13
    branch v45, b1(v44), b4
b4:
    v46: i32 = load align 4 v4
    store align 4 v0, v46
    ret",
    );
    let report = report(&module);
    // The results are 32 bytes apart.
    assert!(report.versions >= 1 && report.gathers.is_empty() && report.scatters.len() == 1, "{report}");
}

/// Exchanges with a neighbour at a constant distance need no versions.
#[test]
fn neighbours_by_constants() {
    let module = kernel_of(
        "
    v18: i32 = xor v11, v14
    v19: i64 = sext v18
    v20: ptr(global) = arg 8
    v21: i32 = const 6
    v22: i32 = and v11, v21
    v23: i64 = zext v22
    v24: ptr(global) = addr scale 4 v12, v23
    v25: i32 = load align 4 v24
    v26: i32 = lshr v11, v14
    v27: i32 = and v26, v17
    v28: i64 = zext v27
    v29: ptr(global) = addr scale 4 v12, v28
    v30: i32 = load align 4 v29
    v31: i32 = iadd v25, v30
    v32: i32 = iadd v31, v18
    store align 4 v0, v32
    ret",
    );
    let report = report(&module);
    assert!(report.gathers.is_empty(), "{report}");
}

/// `if (i < n)`: packs within the bound have no mask.
#[test]
fn the_bound_of_a_range() {
    let module = text::parse_module(include_str!("index_widening.kir")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(numbers(&made(&module)), [1, 0, 0, 0]);
}
