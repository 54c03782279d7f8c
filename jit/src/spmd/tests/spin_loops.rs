//! Spin loops: loops in which lanes wait for each other, and loops that only look like that.

use clift_kir::{Module, Opcode, text, verify};

use crate::Options;
use crate::spmd::cost::width::{RowLengths, Width};
use crate::spmd::transform;
use crate::target::machine::Machine;

/// A kernel with some code. `v0` is a shared address, `v1` an input of the work-item, `v2` the address of its output, `v3` 0,
/// `v4` 1, `v5` a bound.
fn kernel(body: &str) -> Module {
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
    text::parse_module(&module).unwrap_or_else(|e| panic!("{e}"))
}

/// How many yields there are in a kernel, because a sub-group waits for another one.
fn yields(body: &str) -> usize {
    let mut module = kernel(body);
    let func = module.kernels[0].func;
    let any = transform::yields::run(&mut module.funcs[func], None);
    verify::module(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let func = &module.funcs[func];
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let count = insts.filter(|&&inst| func.dfg.inst(inst).op == Opcode::Yield).count();
    assert_eq!(any, count > 0);
    count
}

/// Why a kernel has one lane because of a spin loop, if it does.
fn spin_loop(body: &str) -> Option<String> {
    let module = kernel(body);
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
    // Nothing in the kernel writes to the lock, so no lane waits for another one; but the host may.
    assert!(spin_loop(compare).is_none());
    for lock in [compare, &exchange, &load] {
        assert_eq!(yields(&format!("{lock}{UNLOCK}")), 1);
        assert_eq!(yields(lock), usize::from(lock != load));
    }
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
    let in_sub_group = leader("barrier 0 sub_group sub_group global\n store align 4 v2, v4");
    assert_eq!(spin_loop(&in_sub_group), None, "the other lanes wait at the barrier");
    assert_eq!(yields(&in_sub_group), 1, "the others may write what is polled");
    // Nobody sees what the others do meanwhile, unless it is an atomic or they are leaders, too.
    assert_eq!(yields(&leader("")), 0);
    let atomic = "v30: i32 = atomic_rmw add relaxed device v2, v4";
    assert_eq!(yields(&leader(atomic)), 1);
    assert_eq!(yields(&leader(&format!("barrier 0 work_group work_group global\n {atomic}"))), 0);
    assert_eq!(yields(&leader(&format!("barrier 0 sub_group sub_group global\n {atomic}"))), 1);
    assert_eq!(yields(&format!("{atomic}\n {}", leader(""))), 1);
    let arrives = leader("")
        .replace("b1:\n", "b9:\n")
        .replace("branch v12, b1", "branch v12, b5")
        .replace("b9:\n", "b5:\n v31: i32 = atomic_rmw add relaxed device v0, v4\n jump b1\nb1:\n");
    assert_eq!(yields(&arrives), 0, "only the leader adds");
    assert_eq!(yields(&arrives.replace("local_id 0", "local_id 1")), 1, "there may be several leaders");
    assert_eq!(yields(&format!("v33: i64 = local_size 1\n {arrives}")), 1, "in several rows");
    let narrow = arrives
        .replace("v11: i64 = const 0", "v19: i8 = itrunc v10\n v11: i8 = const 0")
        .replace("icmp eq v10, v11", "icmp eq v19, v11");
    assert_eq!(yields(&narrow), 1, "every 256th work-item is one");
    let other = arrives.replace("jump b3\nb3:", "jump b3\nb3:\n v32: i32 = atomic_rmw add relaxed device v2, v4");
    assert_eq!(yields(&other), 1, "the others add as well");
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
    assert_eq!(yields(retry), 0);
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
    assert_eq!(yields(carried), 0);
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
    assert_eq!(yields(versioned), 1);
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
    assert_eq!(yields(queue), 0);
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
    assert_eq!(yields(probe), 0, "it goes through memory in one direction");
    let around = probe.replace("v15: i32 = iadd v10, v4", "v16: i32 = iadd v10, v4\n    v15: i32 = and v16, v5");
    assert_eq!(spin_loop(&around), None);
    assert_eq!(yields(&around), 1, "it may wait for any of several places");
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
    assert_eq!(yields(counted), 0);
}

#[test]
fn bounded_loops() {
    // Work that ends when a flag is set, and a loop that only counts how long it waits.
    let bounded = |work: &str, next: &str| {
        format!(
            "jump b1(v3, v1)
b1(v10: i32, v20: i32):
    v11: i32 = load align 4 volatile v0
    v12: b1 = icmp eq v11, v3
    branch v12, b2, b3
b2:
{work}
    v13: i32 = iadd v10, v4
    v14: b1 = icmp slt v13, v5
    branch v14, b1(v13, {next}), b3
b3:
    store align 4 v2, v10"
        )
    };
    assert_eq!(yields(&bounded("v21: i32 = imul v20, v20", "v21")), 0);
    assert_eq!(yields(&bounded("store align 4 v2, v4", "v20")), 0);
    let counts = bounded("", "v20").replace(", v20: i32", "").replace(", v20)", ")").replace("(v3, v1)", "(v3)");
    assert_eq!(yields(&counts), 1);
    let searches = bounded("v21: i32 = imul v20, v20", "v21");
    assert_eq!(spin_loop(&searches), None, "a lane that has left the loop waits for a known number of iterations");
    assert_eq!(spin_loop(&searches.replace("load align 4 volatile v0", "atomic_load relaxed device v0")), None);
    assert!(spin_loop(&counts).is_some());
    let acquires = searches.replace("load align 4 volatile v0", "atomic_cmpxchg acquire device v0, v3, v4");
    assert!(spin_loop(&acquires).is_some(), "only the lane that has the lock would get it in all these iterations");
}

#[test]
fn plain_reads_with_a_fence() {
    let fenced = "jump b1
b1:
    fence acq_rel device
    v10: i32 = load align 4 v0
    v11: b1 = icmp eq v10, v3
    branch v11, b1, b2
b2:
    store align 4 v2, v4";
    assert_eq!(yields(fenced), 1, "the fence lets others see what was done before");
    assert_eq!(yields(&fenced.replace("    fence acq_rel device\n", "")), 0, "nothing says that others change it");
    assert_eq!(yields(&fenced.replace("fence acq_rel device", "barrier 0 work_group work_group global")), 0);
}

#[test]
fn irreducible_loops() {
    let text = "v6: b1 = icmp eq v1, v3
    branch v6, b1, b2
b1:
    v10: i32 = atomic_load acquire device v0
    v11: b1 = icmp eq v10, v3
    branch v11, b2, b3
b2:
    store align 4 v2, v4
    jump b1
b3:";
    assert_eq!(yields(text), 1);
}
