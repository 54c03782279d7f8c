//! The lanes of kernels that ask for their sub-groups.

use clift_kir::text;

use super::width::choose;
use crate::Options;
use crate::spmd::cost::width::Width;
use crate::target::machine::Machine;

/// Programs take a work-group of 32 work-items for one sub-group.
#[test]
fn sub_groups_have_the_size_that_programs_expect() {
    let module = text::parse_module(
        r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v2: i32 = sub_group_local_id
    v3: ptr(global) = addr scale 4 v0, v1
    store align 4 v3, v2
    ret
}
kernel f0 args 8
"#,
    );
    let module = module.unwrap_or_else(|e| panic!("{e}"));
    let lanes = |register_bits| {
        let machine = Machine { register_bits, registers: 16, gathers: false, masked_store_bits: None };
        let made = crate::spmd::group_functions(&module, &module.kernels[0], &Options::default(), &machine, true);
        made.unwrap().report.width
    };
    assert_eq!([128, 256, 512].map(lanes), [8, 32, 32]);
}

/// Kernels that exchange values through local memory, in places that depend on how many work-items a sub-group has, run with any
/// number. Those without barriers may ask on behalf of others.
#[test]
fn sub_groups_that_only_meet_have_the_usual_size() {
    let lanes = |query: &str, meets: &str| {
        let module = format!(
            r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v2: i32 = {query}
    v3: ptr(global) = addr scale 4 v0, v1
    {meets}
    store align 4 v3, v2
    ret
}}
kernel f0 args 8
"#
        );
        match choose(&module) {
            Width::Packs(lanes, ..) => lanes,
            Width::Scalar(_) | Width::Unprofitable(..) => 1,
        }
    };
    let meets = "barrier 0 sub_group sub_group local";
    assert_eq!(lanes("max_sub_group_size", meets), 16);
    assert_eq!(lanes("sub_group_size", meets), 16);
    assert_eq!(lanes("max_sub_group_size", ""), 32);
    assert_eq!(lanes("sub_group_local_id", meets), 32);
}
