//! What the estimate of packs takes as usual: guards are passed, loops are entered, and cold paths are not taken.

use clift_kir::text;

use crate::spmd::cost::throughput::{Costs, estimate};
use crate::spmd::transform::normalize;
use crate::target::machine::Machine;

const LANES: u32 = 16;

/// The costs of packs of a kernel that looks up elements: `v3` is the global id, `v8` a number that all work-items share, and
/// `v11` what an element says.
fn costs(gathers: bool, body: &str) -> Costs {
    let text = format!(
        "function f0 \"k\" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = arg 16
    v3: i64 = global_id 0
    v4: i32 = const 0
    v5: i32 = const 1
    v6: f32 = const 0.0
    v8: i32 = itrunc v2
    v9: ptr(global) = addr scale 4 v0, v3
{body}
}}
kernel f0 args 24
"
    );
    let module = text::parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let normal = normalize::run(&module.funcs[module.kernels[0].func]).expect("reducible");
    let machine = Machine { register_bits: 512, registers: 32, gathers, masked_store_bits: Some(8) };
    estimate(&normal, &normal.divergence(LANES, true), LANES, &machine)
}

fn gain(costs: Costs) -> f64 {
    costs.scalar / costs.pack
}

/// Stores an element that an index from memory chooses.
const LOOK_UP: &str = "
    v10: i32 = load align 4 v9
    v12: i64 = sext v10
    v13: ptr(global) = addr scale 4 v1, v12
    v14: f32 = load align 4 v13
    v15: f32 = fmul v14, v14
    store align 4 v9, v15";

#[test]
fn guards_decide_nothing() {
    let sums: String =
        (50..80).map(|at| format!("\n    v{at}: i32 = iadd v{}, v8", if at == 50 { 4 } else { at - 1 })).collect();
    let work = format!("{LOOK_UP}{}", sums.replace("iadd v4", "iadd v10"));
    let plain = gain(costs(true, &format!("{work}\n    ret")));
    let guarded = |test: &str| {
        gain(costs(true, &format!("{test}\n    branch v40, b1, b2\nb1:{work}\n    jump b2\nb2:\n    ret")))
    };
    let below = guarded("    v40: b1 = icmp ult v3, v2");
    assert!((0.9..1.25).contains(&(below / plain)), "{below} instead of {plain}");
    let other = guarded("    v41: i64 = and v3, v2\n    v40: b1 = icmp ult v41, v2");
    assert!(other < 0.8 * below, "not a guard: {other}, and {below} with a guard");
}

/// A loop that adds elements up to the number `v10`.
const SUM: &str = "
b1(v20: i32, v21: f32):
    v22: i64 = sext v20
    v23: ptr(global) = addr scale 4 v1, v22
    v24: f32 = load align 4 v23
    v25: f32 = fadd v21, v24
    v26: i32 = iadd v20, v5
    v27: b1 = icmp slt v26, v10
    branch v27, b1(v26, v25), b2(v25)
b2(v30: f32):
    store align 4 v9, v30
    ret";

#[test]
fn loops_are_entered() {
    let plain = gain(costs(true, &format!("    v10: i32 = load align 4 v9\n    jump b1(v4, v6){SUM}")));
    let test = "    v10: i32 = load align 4 v9\n    v11: b1 = icmp sgt v10, v4\n    branch v11, b1(v4, v6), b2(v6)";
    let guarded = gain(costs(true, &format!("{test}{SUM}")));
    assert!((0.9..1.25).contains(&(guarded / plain)), "{guarded} instead of {plain}");
}

/// Work-items that have a row each wait longer for one another than those that look up a length.
#[test]
fn rows_differ_in_length() {
    let row = gain(costs(true, &format!("    v10: i32 = load align 4 v9\n    jump b1(v4, v6){SUM}")));
    let table = "    v12: i32 = load align 4 v9\n    v13: i64 = sext v12\n    v14: ptr(global) = addr scale 4 v1, v13\n    v10: i32 = load align 4 v14";
    let table = gain(costs(true, &format!("{table}\n    jump b1(v4, v6){SUM}")));
    assert!(row < 0.7 * table, "{row} and {table}");
}

#[test]
fn gathers_cost_less_than_loads_of_lanes() {
    let with = |gathers| gain(costs(gathers, &format!("{LOOK_UP}\n    ret")));
    assert!(with(true) > 1.2 * with(false));
}

/// What a loop adds to an address is found once for each value: each of these has the one before as both operands.
#[test]
fn powers_in_addresses_take_no_longer() {
    let squares: String = (41..80).map(|at| format!("\n    v{at}: i64 = imul v{}, v{}", at - 1, at - 1)).collect();
    let body = format!(
        "    jump b1(v4, v6)
b1(v20: i32, v21: f32):
    v40: i64 = sext v20{squares}
    v81: i64 = iadd v79, v3
    v82: ptr(global) = addr scale 4096 v1, v81
    v24: f32 = load align 4 v82
    v25: f32 = fadd v21, v24
    v26: i32 = iadd v20, v5
    v27: b1 = icmp slt v26, v8
    branch v27, b1(v26, v25), b2
b2:
    store align 4 v9, v25
    ret"
    );
    assert!(costs(true, &body).lines > 0.0);
}
