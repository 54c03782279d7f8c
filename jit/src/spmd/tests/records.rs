//! Records that are too long for one vector in packs of many lanes: vectors of four words, with and without masks.

use super::cases::kernel;
use super::generate::Rng;
use super::harness::{compare, make_all};
use super::launches;
use crate::Options;
use crate::spmd::workgroup::regions::Growth;

/// Exchanges the elements of a vector of four words in memory; those of neighbouring work-items are contiguous.
fn exchange(condition: &str) -> String {
    format!(
        "
    v10: ptr(global) = addr scale 16 v6, v5
    v12: i32 = const 1
{condition}
b1:
    v20: i32x4 = load align 4 v10
    v21: i32x4 = shuffle [3, 2, 1, 0] v20, v20
    v22: i32x4 = splat v1
    v23: i32x4 = iadd v21, v22
    store align 4 v10, v23
    jump b2
b2:
    ret"
    )
}

/// No access of packs with 32 lanes is scattered, and the results are those of single work-items.
fn check(condition: &str) {
    let module = kernel(&exchange(condition));
    compare("records", &module, &Options::default(), Growth::default(), &launches(&mut Rng::new(5), 16));
    let made = make_all(&module, &Options { width: Some(32), ..Options::default() }, Growth::default());
    assert!(made.report.accesses_runs(), "{}", made.report);
}

#[test]
fn of_all_lanes() {
    check("    jump b1");
}

#[test]
fn of_some_lanes() {
    check(
        "    v13: i32 = and v1, v12
    v14: i32 = const 0
    v15: b1 = icmp eq v13, v14
    branch v15, b1, b2",
    );
}
