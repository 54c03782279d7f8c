//! Spin loops: loops in which lanes wait for each other, and loops that only look like that.

use clift_kir::text;

use crate::Options;
use crate::spmd::cost::width::{RowLengths, Width};
use crate::target::machine::Machine;

/// Why a kernel has one lane because of a spin loop, if it does. Its values: `v0` is a shared address, `v1` an input of the
/// work-item, `v2` its output, `v3` 0, `v4` 1, `v5` a bound.
fn spin_loop(body: &str) -> Option<String> {
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v90: ptr(global) = arg 8
    v91: ptr(global) = arg 16
    v92: i64 = global_id 0
    v93: ptr(global) = addr scale 4 v90, v92
    v1: i32 = load align 4 v93
    v2: ptr(global) = addr scale 4 v91, v92
    v3: i32 = const 0
    v4: i32 = const 1
    v5: i32 = arg 24
{body}
    ret
}}
kernel f0 args 32
"#
    );
    let module = text::parse_module(&module).unwrap_or_else(|e| panic!("{e}"));
    let kernel = &module.kernels[0];
    // The kernel does enough other work that the cost of atomics does not decide.
    match Width::choose(&module.funcs[kernel.func], RowLengths::of(kernel), &Options::default(), &Machine::COMMON) {
        Width::Packs(..) => None,
        Width::Scalar(reason) | Width::Unprofitable(reason, ..) => {
            Some(reason).filter(|reason| reason.contains("spin loop"))
        }
    }
}

const UNLOCK: &str = "
    v30: i32 = load align 4 volatile v2
    v31: i32 = iadd v30, v1
    store align 4 volatile v2, v31
    v32: i32 = atomic_rmw xchg relaxed device v0, v3";

#[test]
fn locks() {
    let compare = "jump b1
b1:
    v10: i32 = atomic_cmpxchg relaxed device v0, v3, v4
    v11: b1 = icmp eq v10, v3
    branch v11, b2, b1
b2:";
    assert!(spin_loop(&format!("{compare}{UNLOCK}")).is_some());
    let exchange = compare.replace("atomic_cmpxchg relaxed device v0, v3, v4", "atomic_rmw xchg relaxed device v0, v4");
    assert!(spin_loop(&format!("{exchange}{UNLOCK}")).is_some());
    let load = compare.replace("atomic_cmpxchg relaxed device v0, v3, v4", "load align 4 volatile v0");
    assert!(spin_loop(&format!("{load}{UNLOCK}")).is_some());
    // Nothing writes to the lock, so the loop would not end either way.
    assert!(spin_loop(compare).is_none());
    // A lane that waits has passed the barrier by then.
    assert!(spin_loop(&format!("{compare}\n    barrier 0 work_group work_group global{UNLOCK}")).is_none());
}

#[test]
fn a_done_flag_and_an_own_lock() {
    let text = format!(
        "jump b1(v3)
b1(v10: i32):
    v12: i32 = load align 4 v2
    v13: ptr(global) = addr scale 4 v0, v12
    v14: i32 = atomic_cmpxchg relaxed device v13, v3, v4
    v15: b1 = icmp eq v14, v3
    branch v15, b2, b3(v10)
b2:
    jump b3(v4)
b3(v16: i32):
    v17: b1 = icmp eq v16, v3
    branch v17, b1(v16), b4
b4:{UNLOCK}"
    );
    assert!(spin_loop(&text).is_some());
}

#[test]
fn a_leader_that_waits_for_another_group() {
    // Only one lane waits; the others are at the barrier.
    let leader = |behind: &str| {
        format!(
            "v10: i64 = local_id 0
    v11: i64 = const 0
    v12: b1 = icmp eq v10, v11
    branch v12, b1, b3
b1:
    v13: i32 = atomic_load acquire device v0
    v14: b1 = icmp eq v13, v3
    branch v14, b1, b2
b2:
    store align 4 v0, v4
    jump b3
b3:
{behind}"
        )
    };
    assert_eq!(spin_loop(&leader("barrier 0 work_group work_group global\n store align 4 v2, v4")), None);
    assert!(spin_loop(&leader("store align 4 v2, v4")).is_some(), "another lane may be the one that sets it");
}

#[test]
fn retries_and_searches_stay_wide() {
    let retry = "jump b1
b1:
    v10: i32 = load align 4 volatile v0
    v11: f32 = bitcast v10
    v12: f32 = bitcast v1
    v13: f32 = fadd v11, v12
    v14: i32 = bitcast v13
    v15: i32 = atomic_cmpxchg relaxed device v0, v10, v14
    v16: b1 = icmp eq v15, v10
    branch v16, b2, b1
b2:
    store align 4 v2, v4";
    assert_eq!(spin_loop(retry), None);
    let carried = "v9: i32 = load align 4 v0
    jump b1(v9)
b1(v10: i32):
    v11: i32 = iadd v10, v1
    v15: i32 = atomic_cmpxchg relaxed device v0, v10, v11
    v16: b1 = icmp ne v15, v10
    branch v16, b1(v15), b2
b2:
    store align 4 v2, v4";
    assert_eq!(spin_loop(carried), None);
    // The expected value lacks the lock's bit: this is a lock with a counter.
    let versioned = "jump b1
b1:
    v9: i32 = load align 4 volatile v0
    v10: i32 = and v9, v5
    v11: i32 = or v10, v4
    v15: i32 = atomic_cmpxchg relaxed device v0, v10, v11
    v16: b1 = icmp eq v15, v10
    branch v16, b2, b1
b2:
    store align 4 v2, v4";
    assert!(spin_loop(versioned).is_some());
    let queue = "jump b1
b1:
    v10: i32 = atomic_rmw add relaxed device v0, v4
    v11: b1 = icmp slt v10, v5
    branch v11, b2, b3
b2:
    v12: i64 = sext v10
    v13: ptr(global) = addr scale 4 v2, v12
    store align 4 v13, v4
    jump b1
b3:
    store align 4 v2, v4";
    assert_eq!(spin_loop(queue), None);
    let probe = "jump b1(v1)
b1(v10: i32):
    v11: i64 = zext v10
    v12: ptr(global) = addr scale 4 v0, v11
    v13: i32 = atomic_cmpxchg relaxed device v12, v3, v1
    v14: b1 = icmp eq v13, v3
    v15: i32 = iadd v10, v4
    branch v14, b2, b1(v15)
b2:
    store align 4 v2, v4";
    assert_eq!(spin_loop(probe), None);
    let counted = "jump b1(v3)
b1(v10: i32):
    v11: i32 = load align 4 volatile v0
    v12: b1 = icmp slt v10, v11
    branch v12, b2, b3
b2:
    v13: i32 = iadd v10, v4
    jump b1(v13)
b3:
    store align 4 v2, v10";
    assert_eq!(spin_loop(counted), None);
}
