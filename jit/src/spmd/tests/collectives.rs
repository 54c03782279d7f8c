//! Operations in which the work-items of a group exchange values.

use clift_kir::Opcode;

use super::cases::{count, kernel, regions, run};

#[test]
fn a_result_for_all_is_carried() {
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
    assert_eq!(made.resources.scratch_item_bytes, 0, "nothing is kept by work-item");
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
fn loops_by_what_all_agree_on() {
    // Halves numbers until all are 0; the branch is on the operation's result.
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
    assert!(regions(&module).together, "the result is known to be the same for all");
}

#[test]
fn old_and_new_results_side_by_side() {
    // Not known to go together: the number of rounds is read from memory that the kernel writes.
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
    assert!(regions(&known).together);
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
    assert!(!regions(&unknown).together);
    let made = run(&unknown);
    assert!(made.resources.scratch_fixed_bytes > 0, "what all got is kept once");
}

#[test]
fn vectors_and_truth_values() {
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

#[test]
fn sub_groups_of_one() {
    let module = kernel(
        r"
    v10: i32 = group_reduce sub_group add v1
    v11: i32 = group_scan_exclusive sub_group smin v1
    v12: i32 = const 2
    v13: i32 = group_shuffle v10, v12
    v14: b1 = icmp eq v1, v12
    v15: i32x4 = group_ballot v14
    v16: i32 = extract 0 v15
    v17: i32 = group_reduce work_group xor v11
    v18: i32 = iadd v13, v16
    v19: i32 = iadd v17, v18
    store align 4 v0, v19
    ret
",
    );
    let made = run(&module);
    assert_eq!(count(&made, Opcode::GroupBallot), 0);
}
