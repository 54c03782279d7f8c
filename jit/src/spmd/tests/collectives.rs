//! Collective operations of a work-group or sub-group.

use clift_kir::Opcode;

use super::cases::{count, kernel, regions, run};
use super::harness::make;
use crate::Options;
use crate::spmd::workgroup::regions::Growth;

#[test]
fn reduction_results_are_carried() {
    let module = kernel(
        r"
    v10: i32 = group_reduce work_group add v1
    v11: i32 = group_reduce work_group smax v2
    v12: i32 = iadd v10, v11
    store align 4 v0, v12
    ret
",
    );
    let made = run(&module);
    assert_eq!(regions(&module).list.len(), 3);
    assert!(made.has_barrier);
    assert_eq!(made.resources.scratch_item_bytes, 0, "nothing is kept per work-item");
    assert_eq!(made.resources.scratch_fixed_bytes, 0, "or in memory at all");
}

#[test]
fn scans_and_their_results_live_on() {
    let module = kernel(
        r"
    v10: i32 = group_scan work_group add v1
    v11: i32 = group_scan_exclusive work_group umax v10
    v12: f32 = stofp rte v1
    v13: f32 = group_scan_exclusive work_group fadd v12
    v14: f32 = group_reduce work_group fmin v13
    v15: i32 = fptos rtz v13
    v16: i32 = iadd v10, v11
    v17: i32 = iadd v16, v15
    v18: i32 = fptos rtz v14
    v19: i32 = iadd v17, v18
    store align 4 v0, v19
    ret
",
    );
    run(&module);
}

#[test]
fn loops_with_reduced_conditions() {
    // Halves numbers until all are 0; the branch depends on the operation's result.
    let module = kernel(
        r"
    v10: i32 = const 0
    v11: i32 = const 1
    jump b1(v1, v10)
b1(v12: i32, v13: i32):
    v14: b1 = icmp eq v12, v10
    v15: b1 = group_reduce work_group and v14
    branch v15, b3, b2
b2:
    v16: i32 = lshr v12, v11
    v17: i32 = group_scan work_group xor v16
    v18: i32 = iadd v13, v17
    v19: i32 = and v18, v1
    v20: i32 = xor v13, v19
    jump b1(v16, v20)
b3:
    store align 4 v0, v13
    ret
",
    );
    run(&module);
    assert!(regions(&module).lockstep, "the result is known to be the same for all");
}

#[test]
fn old_and_new_results_side_by_side() {
    // The work-items do not provably go together: the number of iterations is read from memory that the kernel writes.
    let body = |rounds: &str| {
        format!(
            r"
    v10: i32 = const 0
    v11: i32 = const 1
    v12: i32 = const 3
{rounds}
    v16: i32 = and v15, v12
    jump b1(v10, v1, v10, v10)
b1(v20: i32, v21: i32, v22: i32, v23: i32):
    v24: b1 = icmp ult v20, v16
    branch v24, b2, b5
b2:
    v25: i32 = group_reduce work_group add v21
    v26: i32 = xor v25, v22
    v27: i32 = and v20, v11
    v28: b1 = icmp eq v27, v10
    branch v28, b3, b4(v23)
b3:
    v29: i32 = iadd v1, v22
    v30: i32 = group_reduce work_group umax v29
    v31: b1 = icmp ugt v30, v25
    v32: b1 = group_scan work_group or v31
    v33: i32 = zext v32
    v34: i32 = iadd v33, v30
    jump b4(v34)
b4(v35: i32):
    v36: i32 = iadd v21, v26
    v37: i32 = iadd v20, v11
    jump b1(v37, v36, v25, v35)
b5:
    v38: i32 = iadd v22, v23
    store align 4 v0, v38
    ret
"
        )
    };
    let known = kernel(&body("    v15: i32 = iadd v2, v11"));
    assert!(regions(&known).lockstep);
    run(&known);
    let unknown = kernel(&body(
        r"
    v14: ptr(global) = arg 0
    v13: i32 = const 2
    v40: ptr(global) = addr disp 4 v0
    store align 4 v40, v13
    v41: i32 = load align 4 v14
    v42: i32 = and v41, v10
    v15: i32 = iadd v42, v13",
    ));
    assert!(!regions(&unknown).lockstep);
    let made = run(&unknown);
    assert!(made.resources.scratch_fixed_bytes > 0, "the result is kept once for the group");
}

#[test]
fn vectors_and_booleans() {
    let module = kernel(
        r"
    v10: i32 = const 3
    v11: b1 = icmp eq v1, v10
    v12: b1 = group_reduce work_group or v11
    v13: b1 = group_scan_exclusive work_group xor v11
    v14: b1x2 = vec v12, v13
    v15: b1x2 = group_scan work_group or v14
    v16: i32x2 = zext v15
    v17: i32x2 = splat v1
    v18: i32x2 = iadd v16, v17
    v19: i32x2 = group_reduce work_group mul v18
    v20: i32x2 = group_scan_exclusive work_group add v19
    v21: i32x2 = iadd v20, v16
    store align 8 v0, v21
    ret
",
    );
    run(&module);
}

/// All sub-group operations in straight-line code; the result, `v90`, combines all of their results. Values from inactive
/// work-items are zeroed.
fn exchange_all(own: &str) -> String {
    format!(
        r"
    v50: i32 = group_reduce sub_group add {own}
    v51: i32 = group_scan_exclusive sub_group smin {own}
    v52: i32 = group_scan sub_group xor {own}
    v53: i32 = const 3
    v54: i32 = sub_group_local_id
    v55: i32 = xor v54, v53
    v100: i32 = group_shuffle {own}, v55
    v57: i32 = sub_group_size
    v58: i32 = urem {own}, v57
    v101: i32 = group_shuffle v52, v58
    v60: i32 = const 0
    v102: i32 = group_shuffle {own}, v60
    v103: i32 = const 1
    v104: b1 = const true
    v105: i32x4 = group_ballot v104
    v106: i32 = extract 0 v105
    v107: i32 = lshr v106, v55
    v108: i32 = lshr v106, v58
    v109: i32x3 = vec v107, v108, v106
    v110: i32x3 = splat v103
    v111: i32x3 = and v109, v110
    v112: i32x3 = vec v100, v101, v102
    v113: i32x3 = imul v112, v111
    v56: i32 = extract 0 v113
    v59: i32 = extract 1 v113
    v61: i32 = extract 2 v113
    v62: i32 = const 2
    v63: i32 = urem {own}, v62
    v64: b1 = icmp eq v63, v60
    v65: i32x4 = group_ballot v64
    v66: i32 = extract 0 v65
    v67: i32 = group_reduce sub_group umax cluster 2 {own}
    v68: b1 = group_reduce sub_group xor v64
    v69: b1 = group_scan_exclusive sub_group or v64
    v70: i32x2 = vec v50, v56
    v71: i32x2 = group_scan sub_group add v70
    v72: i32 = reduce xor v71
    v73: i32 = zext v68
    v74: i32 = zext v69
    v75: f32 = stofp rte {own}
    v76: f32 = group_scan sub_group fadd v75
    v77: f32 = group_reduce sub_group fmax v76
    v78: i32 = fptos rtz sat v77
    v79: i64 = sext {own}
    v80: i64 = group_reduce sub_group mul v79
    v81: i32 = itrunc v80
    v82: i32 = max_sub_group_size
    v83: i32 = num_sub_groups
    v84: i32 = sub_group_id
    v85: i32x16 = vec v50, v51, v52, v56, v59, v61, v66, v67, v72, v73, v74, v78, v81, v82, v83, v84
    v86: i32 = const 5
    v87: i32 = reduce xor v85
    v88: i32 = reduce add v85
    v89: i32 = imul v88, v86
    v90: i32 = xor v87, v89
"
    )
}

#[test]
fn sub_groups() {
    let module = kernel(&format!("{}\n    store align 4 v0, v90\n    ret\n", exchange_all("v1")));
    run(&module);
}

#[test]
fn parts_of_sub_groups() {
    // Work-items whose number is divisible by three; then all; then those that have not ended.
    let module = kernel(&format!(
        r"
    v10: i32 = const 3
    v11: i32 = const 0
    v12: i32 = const 1
    v13: i32 = urem v1, v10
    v14: b1 = icmp eq v13, v11
    branch v14, b1, b2(v11)
b1:
{}
    jump b2(v90)
b2(v15: i32):
    v16: i32 = group_scan sub_group add v15
    store align 4 v0, v16
    v17: b1 = icmp eq v13, v12
    branch v17, b4, b3
b3:
    v18: i32 = group_reduce sub_group add v1
    v19: i32 = iadd v16, v18
    store align 4 v0, v19
    jump b4
b4:
    ret
",
        exchange_all("v1")
    ));
    run(&module);
}

#[test]
fn sub_groups_in_loops_of_their_own_lengths() {
    let module = kernel(
        r"
    v10: i32 = const 0
    v11: i32 = const 1
    v12: i32 = const 5
    v13: i32 = const 2
    v14: i32 = urem v1, v12
    jump b1(v10, v10)
b1(v20: i32, v21: i32):
    v22: b1 = icmp ult v20, v14
    branch v22, b2, b5(v21)
b2:
    v23: i32 = iadd v20, v11
    v24: i32 = iadd v20, v1
    v25: i32 = urem v24, v13
    v26: b1 = icmp eq v25, v10
    branch v26, b1(v23, v21), b3
b3:
    v27: i32 = group_reduce sub_group add v23
    v28: i32x4 = group_ballot v22
    v29: i32 = extract 0 v28
    v30: i32 = iadd v27, v29
    v31: i32 = iadd v21, v30
    v32: b1 = icmp eq v20, v13
    branch v32, b4, b1(v23, v31)
b4:
    v33: i32 = iadd v31, v12
    jump b5(v33)
b5(v34: i32):
    v35: i32 = group_scan_exclusive sub_group add v34
    v36: i32 = iadd v34, v35
    store align 4 v0, v36
    ret
",
    );
    run(&module);
}

#[test]
fn sub_groups_of_one() {
    let module = kernel(&format!("{}\n    store align 4 v0, v90\n    ret\n", exchange_all("v1")));
    let made = make(&module, &Options { width: Some(1), ..Options::default() }, Growth::default());
    assert_eq!(count(&made, Opcode::MaskBits) + count(&made, Opcode::GroupBallot), 0);
}
