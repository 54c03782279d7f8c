//! Stores of some lanes of a pack to one place: the last active lane's value is stored, without a scatter.

use super::cases::kernel;
use super::generate::Rng;
use super::harness::{compare, make_all};
use super::launches;
use crate::Options;
use crate::spmd::workgroup::regions::Growth;

/// Work-items for which `condition` holds store `value` to the second half of the first output.
fn check(condition: &str, value: &str) {
    let module = kernel(&format!(
        "
    v10: ptr(global) = addr disp 16 v6
    v11: i32 = itrunc v5
    v12: i32 = const 3
    v13: b1 = icmp {condition} v11, v12
    branch v13, b1, b2
b1:
{value}
    store align 4 v10, v20
    jump b2
b2:
    ret"
    ));
    compare("shared places", &module, &Options::default(), Growth::default(), &launches(&mut Rng::new(7), 16));
    for lanes in [4, 16] {
        let made = make_all(&module, &Options { width: Some(lanes), ..Options::default() }, Growth::default());
        assert!(made.report.accesses_runs(), "{}", made.report);
    }
}

/// Values of one work-item, of all element sizes.
#[test]
fn of_one_lane() {
    check("eq", "    v20: i32 = imul v1, v12");
    check("eq", "    v20: i8 = itrunc v1");
    check("eq", "    v20: i64 = zext v1");
    check("eq", "    v20: f32 = stofp rte v1");
    check("eq", "    v20: i32x4 = vec v1, v12, v11, v1");
    check("eq", "    v20: i32x3 = vec v1, v12, v11");
}

/// Several work-items store the same value, which is not known to be the same.
#[test]
fn of_some_lanes() {
    check("ult", "    v20: i32 = lshr v11, v12");
}
