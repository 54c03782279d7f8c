//! The width of kernels on a machine with long registers.

use clift_kir::text;

use crate::Options;
use crate::passes::trip_count;
use crate::spmd::cost::width::{Chance, RowLengths, Width};
use crate::spmd::transform::normalize::{self, NormalForm};
use crate::target::machine::Machine;

/// The choice for the kernel of a module.
pub(super) fn choose(module: &str) -> Width {
    let module = text::parse_module(module).unwrap_or_else(|e| panic!("{e}"));
    let kernel = &module.kernels[0];
    let machine = Machine { register_bits: 512, registers: 32, gathers: false, masked_store_bits: None };
    Width::choose(&module.funcs[kernel.func], RowLengths::of(kernel), &Options::default(), &machine)
}

/// The lanes of a kernel with the arguments in, out, n, a loop variable `v20`, and a running value `v21`, which becomes `v30`.
fn lanes(before: &str, body: &str) -> Option<u32> {
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i32 = arg 16
    v3: i64 = global_id 0
    v4: ptr(global) = addr scale 4 v0, v3
    v5: f32 = load align 4 v4
    v6: i32 = const 0
    v7: i32 = const 1
{before}
    jump b1(v6, v5)
b1(v20: i32, v21: f32):
    v22: b1 = icmp ult v20, v2
    branch v22, b2, b3
b2:
    v23: i32 = iadd v20, v7
{body}
    jump b1(v23, v30)
b3:
    v40: ptr(global) = addr scale 4 v1, v3
    store align 4 v40, v21
    ret
}}
kernel f0 args 24
"#
    );
    match choose(&module) {
        Width::Packs(lanes, ..) => Some(lanes),
        Width::Scalar(reason) | Width::Unprofitable(reason, ..) => {
            println!("{reason}");
            None
        }
    }
}

const CHAIN: &str = "v30: f32 = fma v21, v5, v5";

#[test]
fn twice_the_lanes_for_recurrence_bound_loops() {
    assert_eq!(lanes("", CHAIN), Some(32));
}

/// Most of the loop is the same for all lanes.
#[test]
fn twice_the_lanes_for_shared_work() {
    let shared = "
    v24: i64 = zext v20
    v25: ptr(global) = addr scale 4 v1, v24
    v26: i32 = load align 4 v25
    v27: i32 = imul v26, v26
    v28: i32 = xor v27, v26
    v29: i32 = imul v28, v27
    v31: i32 = xor v29, v26
    v32: f32 = bitcast v31
    v30: f32 = fadd v32, v5";
    assert_eq!(lanes("", shared), Some(32));
}

/// Vectors of four elements are in memory order with sixteen lanes and taken apart with 32, where a loop loads them.
#[test]
fn no_more_lanes_than_fit_vectors() {
    let pixel = |at: &str| {
        let load = "v50: ptr(global) = addr scale 4 v0, v3\nv51: i8x4 = load align 4 v50";
        let used = "v52: i8 = extract 1 v51\nv53: i32 = zext v52\nv54: f32 = bitcast v53\nv30: f32 = fma v21, v5, v54";
        match at {
            "loop" => lanes("", &format!("{load}\n{used}")),
            _ => lanes(load, used),
        }
    };
    assert_eq!(pixel("loop"), Some(16));
    assert_eq!(pixel("entry"), Some(32));
}

#[test]
fn no_more_lanes_for_sums_from_memory() {
    let sum = "
    v24: i64 = zext v20
    v25: ptr(global) = addr scale 64 v4, v24
    v26: i32 = load align 4 v25
    v27: i32 = bitcast v21
    v28: i32 = xor v26, v2
    v29: i32 = smax v26, v28
    v31: i32 = iadd v27, v29
    v30: f32 = bitcast v31";
    assert_eq!(lanes("", sum), Some(16));
}

/// Whether work-groups should be tiles if a kernel reads element (`x`, `y`) or (`y`, `x`) of a matrix and writes that of another.
fn tiles(reads: [u8; 2], writes: [u8; 2]) -> bool {
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i32 = arg 16
    v3: i64 = global_id {}
    v4: i64 = global_id {}
    v5: i64 = global_id {}
    v6: i64 = global_id {}
    v7: i32 = itrunc v3
    v8: i32 = itrunc v4
    v9: i32 = itrunc v5
    v10: i32 = itrunc v6
    v11: i32 = imul v7, v2
    v12: i32 = iadd v11, v8
    v13: i64 = sext v12
    v14: ptr(global) = addr scale 4 v0, v13
    v15: f32 = load align 4 v14
    v16: i32 = imul v9, v2
    v17: i32 = iadd v16, v10
    v18: i64 = sext v17
    v19: ptr(global) = addr scale 4 v1, v18
    store align 4 v19, v15
    ret
}}
kernel f0 args 24
"#,
        reads[0], reads[1], writes[0], writes[1]
    );
    let module = text::parse_module(&module).unwrap_or_else(|e| panic!("{e}"));
    crate::spmd::gains_from_tiles(&module.funcs[module.kernels[0].func])
}

/// In a row of work-items, a transpose accesses one element of each cache line of a column.
#[test]
fn tiles_for_transposes() {
    assert!(tiles([0, 1], [1, 0]), "reads columns");
    assert!(tiles([1, 0], [0, 1]), "writes columns");
    assert!(!tiles([1, 0], [1, 0]), "rows only");
    assert!(!tiles([1, 0], [2, 0]), "nothing is contiguous along y");
}

/// Groups of several dimensions whose work-items cooperate have short rows.
#[test]
fn no_more_lanes_than_the_row_of_a_square() {
    let meet = "barrier 0 work_group work_group local";
    assert_eq!(lanes(meet, CHAIN), Some(32));
    assert_eq!(lanes(&format!("v8: i64 = local_id 1\n{meet}"), CHAIN), Some(16));
    assert_eq!(lanes("v8: i64 = global_id 1", CHAIN), Some(32));
}

/// Operations executed lane by lane are limited only by themselves.
#[test]
fn no_more_lanes_for_atomics() {
    let count = "
    v24: ptr(global) = addr scale 4 v1, v3
    v25: i32 = atomic_rmw add relaxed device v24, v20
    v26: f32 = bitcast v25
    v30: f32 = fma v21, v26, v5";
    assert!(lanes("", count).is_none_or(|lanes| lanes <= 16));
}

/// Look-ups in tables, one after the other, that make a pack somewhat faster, but many times as long as the kernel. As in ciphers
/// with unrolled rounds.
#[test]
fn one_lane_for_long_code_of_look_ups() {
    let look_ups = |count: u32| {
        let mut body = String::from("v50: i32 = const 255\nv51: i32 = load align 4 v4\n");
        for at in (0..count).map(|i| 52 + 4 * i) {
            let [before, index, address, loaded] = [at - 1, at + 1, at + 2, at + 3];
            body += &format!(
                "v{at}: i32 = and v{before}, v50\nv{index}: i64 = zext v{at}\n\
                 v{address}: ptr(global) = addr scale 4 v1, v{index}\nv{loaded}: i32 = load align 4 v{address}\n"
            );
        }
        let last = 51 + 4 * count;
        body + &format!("v{}: f32 = bitcast v{last}\nstore align 4 v4, v{}\n", last + 1, last + 1)
    };
    assert_eq!(lanes(&look_ups(200), CHAIN).map(|lanes| lanes.min(16)), Some(16));
    assert_eq!(lanes(&look_ups(1500), CHAIN), None);
}

/// Elements at a distance that the compiler does not know are scattered. Work-items that go on far away share cache lines with
/// their neighbours only; those that go on beside have lines of their own.
#[test]
fn packs_where_neighbours_share_lines() {
    let sum = |index: &str| {
        let before = "v50: i64 = zext v2\nv51: i64 = imul v3, v50";
        let address = format!("v24: i64 = zext v20\nv25: i64 = imul v24, v50\nv26: i64 = iadd v51, {index}\n");
        let copy = |at: u32| {
            let (from, value, to) = (60 + at, 70 + at, 80 + at);
            format!(
                "v{from}: ptr(global) = addr scale 4 disp {} v0, v26\nv{value}: f32 = load align 4 v{from}\n\
                 v{to}: ptr(global) = addr scale 4 disp {} v1, v26\nstore align 4 v{to}, v{value}\n",
                4096 * at,
                4096 * at,
            )
        };
        let body = format!("{address}{}v30: f32 = fadd v21, v70", (0..4).map(copy).collect::<String>());
        lanes(before, &body)
    };
    assert_eq!(sum("v25").map(|lanes| lanes > 1), Some(true));
    assert_eq!(sum("v24"), None);
}

/// Accesses to records that are shuffles with eight lanes, and scattered with sixteen.
#[test]
fn fewer_lanes_for_long_records() {
    let load = |field: i32| {
        let (at, value) = (50 + 2 * field, 51 + 2 * field);
        format!(
            "v{at}: ptr(global) = addr scale 32 disp {} v0, v3\n\
             v{value}: f32 = load align 4 v{at}\nv{}: f32 = fadd v{value}, v{}\n",
            4 * field,
            70 + field,
            if field == 0 { 5 } else { 69 + field },
        )
    };
    let loads: String = (0..8).map(load).collect();
    assert_eq!(lanes(&loads, "v30: f32 = fadd v21, v77"), Some(8));
}

/// A running value of 64 bits that becomes 20 others, which are all alive at once.
#[test]
fn half_the_lanes_for_many_long_values() {
    let powers = (51..70).map(|power| format!("v{power}: i64 = imul v{}, v50\n", power - 1)).collect::<String>();
    let sum = (71..90).map(|sum| format!("v{sum}: i64 = xor v{}, v{}\n", sum - 1, sum - 20)).collect::<String>();
    let body = |powers: &str, sum: &str, last: u32| {
        format!(
            "v24: i32 = bitcast v21\nv50: i64 = zext v24\n{powers}v70: i64 = iadd v50, v50\n{sum}\n\
             v31: i32 = itrunc v{last}\nv30: f32 = bitcast v31"
        )
    };
    assert_eq!(lanes("", &body(&powers, &sum, 89)), Some(8));
    assert_ne!(lanes("", &body("", "", 70)), Some(8), "few values");
}

/// Scattered accesses beside a loop: its constant trip count decides whether they do.
#[test]
fn trip_counts_weigh_loops() {
    let lanes = |times: u32| {
        let fields: String = (0..24)
            .map(|field| {
                let [at, value, to] = [50, 51, 52].map(|first| first + 3 * field);
                format!(
                    "v{at}: ptr(global) = addr scale 4 disp {} v0, v4\nv{value}: f32 = load align 4 v{at}\n\
                     v{to}: ptr(global) = addr scale 4 disp {} v1, v4\nstore align 4 v{to}, v{value}\n",
                    8 * field,
                    8 * field + 4
                )
            })
            .collect();
        let module = format!(
            r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v3: i64 = global_id 0
    v4: i64 = imul v3, v3
{fields}
    v6: i32 = const 0
    v7: i32 = const 1
    v8: i32 = const {times}
    jump b1(v6, v51)
b1(v20: i32, v21: f32):
    v22: b1 = icmp ult v20, v8
    branch v22, b2, b3
b2:
    v23: i32 = iadd v20, v7
    v27: f32 = fma v21, v51, v54
    jump b1(v23, v27)
b3:
    v40: ptr(global) = addr scale 4 v1, v3
    store align 4 v40, v21
    ret
}}
kernel f0 args 16
"#
        );
        matches!(choose(&module), Width::Packs(..))
    };
    assert!(!lanes(4));
    assert!(lanes(64));
}

/// Whether a kernel has one lane because its lanes diverge at a switch with so many cases.
fn diverges_too_widely(cases: usize) -> bool {
    let (mut list, mut blocks) = (Vec::new(), String::new());
    for case in 0..cases {
        let (block, value) = (case + 2, case + 10);
        list.push(format!("{case}: b{block}"));
        blocks +=
            &format!("b{block}:\n    v{value}: i32 = const {case}\n    store align 4 v2, v{value}\n    jump b1\n");
    }
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v2: ptr(global) = addr scale 4 v0, v1
    v3: i32 = load align 4 v2
    switch v3, [{}], b1
b1:
    ret
{blocks}}}
kernel f0 args 8
"#,
        list.join(", ")
    );
    match choose(&module) {
        Width::Scalar(reason) => reason.contains("lanes diverge at a switch"),
        Width::Packs(..) | Width::Unprofitable(..) => false,
    }
}

/// What packs keep for each target of a branch grows with the square of the targets.
#[test]
fn switches_with_very_many_cases_have_one_lane() {
    assert!(diverges_too_widely(4000));
    assert!(!diverges_too_widely(100));
}

/// The lanes of a kernel that applies so many fused multiply-adds to each element, without a loop.
fn lanes_of_chain(length: usize, dimension: &str) -> Option<u32> {
    let mut chain = String::new();
    for at in 0..length {
        chain += &format!("    v{}: f32 = fma v{}, v5, v5\n", at + 11, at + 10);
    }
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = {dimension}
    v3: i64 = global_id 0
    v4: ptr(global) = addr scale 4 v0, v3
    v5: f32 = load align 4 v4
    v6: ptr(global) = addr scale 4 v1, v2
    v10: f32 = load align 4 v6
{chain}    store align 4 v4, v{}
    ret
}}
kernel f0 args 16
"#,
        length + 10
    );
    match choose(&module) {
        Width::Packs(lanes, ..) => Some(lanes),
        Width::Scalar(_) | Width::Unprofitable(..) => None,
    }
}

/// Packs overlap only as far as the processor looks ahead.
#[test]
fn twice_the_lanes_for_long_chains() {
    assert_eq!(lanes_of_chain(4, "global_id 0"), Some(16));
    assert_eq!(lanes_of_chain(48, "global_id 0"), Some(32));
    // Rows may be short.
    assert_eq!(lanes_of_chain(48, "global_id 1"), Some(16));
}

/// A loop that continues where another one with larger steps has stopped has few iterations.
#[test]
fn remainders_have_few_iterations() {
    let module = r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: i32 = arg 8
    v2: i32 = const 0
    v3: i32 = const 1
    v4: i32 = const 8
    jump b1(v2)
b1(v10: i32):
    v11: b1 = icmp slt v10, v1
    branch v11, b2, b3(v10)
b2:
    v12: i32 = iadd v10, v4
    jump b1(v12)
b3(v20: i32):
    v21: b1 = icmp slt v20, v1
    branch v21, b4, b5
b4:
    v22: i32 = iadd v20, v3
    jump b3(v22)
b5:
    ret
}
kernel f0 args 16
"#;
    let module = text::parse_module(module).unwrap_or_else(|e| panic!("{e}"));
    let normal = normalize::run(&module.funcs[module.kernels[0].func]).expect("it is reducible");
    let NormalForm { func, cfg, dom, loops, .. } = &normal;
    let rests: Vec<Option<f64>> =
        loops.iter().map(|(id, _)| trip_count::remainder(func, (cfg, dom, loops), id, |_| false)).collect();
    assert!(rests.contains(&Some(3.5)) && rests.contains(&None), "{rests:?}");
}

/// A loop in which each iteration waits for the one before has twice the lanes, also if vectors are stored behind it.
#[test]
fn recurrences_before_vectors_have_twice_the_lanes() {
    let module = text::parse_module(
        r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v2: i32 = itrunc v1
    v3: f32 = stofp rte v2
    v4: i32 = const 0
    v5: i32 = const 1
    v6: i32 = const 100
    v7: f32 = const 0.5
    jump b1(v4, v3)
b1(v10: i32, v11: f32):
    v12: f32 = fmul v11, v11
    v13: f32 = fadd v12, v7
    v14: f32 = fmul v13, v13
    v15: f32 = fadd v14, v3
    v16: i32 = iadd v10, v5
    v17: b1 = icmp slt v16, v6
    branch v17, b1(v16, v15), b2(v15)
b2(v20: f32):
    v21: f32x4 = splat v20
    v22: ptr(global) = addr scale 16 v0, v1
    store align 16 v22, v21
    ret
}
kernel f0 args 8
"#,
    );
    let module = module.unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine { register_bits: 512, registers: 32, gathers: false, masked_store_bits: None };
    let made = crate::spmd::group_functions(&module, &module.kernels[0], &Options::default(), &machine, true).unwrap();
    assert_eq!(made.report.width, 32, "{}", made.report);
}

/// Two registers of doubles do not fill the units either, and sums of doubles from memory do not wait.
#[test]
fn recurrences_of_doubles_have_four_times_the_lanes() {
    let lanes = |next: &str| {
        let module = text::parse_module(&format!(
            r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v3: f64 = stofp rte v1
    v4: i32 = const 0
    v5: i32 = const 1
    v6: i32 = const 100
    v8: i64 = global_size 0
    jump b1(v4, v3, v1)
b1(v10: i32, v11: f64, v18: i64):
    v30: ptr(global) = addr scale 8 v0, v18
    {next}
    v16: i32 = iadd v10, v5
    v19: i64 = iadd v18, v8
    v17: b1 = icmp slt v16, v6
    branch v17, b1(v16, v15, v19), b2
b2:
    v22: ptr(global) = addr scale 8 v0, v1
    store align 8 v22, v15
    ret
}}
kernel f0 args 8
"#
        ));
        let module = module.unwrap_or_else(|e| panic!("{e}"));
        let machine = Machine { register_bits: 512, registers: 32, gathers: false, masked_store_bits: None };
        let made =
            crate::spmd::group_functions(&module, &module.kernels[0], &Options::default(), &machine, true).unwrap();
        made.report.width
    };
    assert_eq!(lanes("v12: f64 = fma v11, v11, v3\nv15: f64 = fma v12, v11, v3"), 32);
    assert_ne!(lanes("v12: f64 = load align 8 v30\nv13: f64 = fmul v12, v12\nv15: f64 = fadd v13, v12"), 32);
}

/// Whether either choice between packs and one lane is estimated to be close.
fn is_close(module: &str) -> bool {
    match choose(module) {
        Width::Packs(.., close) => close,
        Width::Unprofitable(.., chance) => chance == Chance::Good,
        Width::Scalar(_) => false,
    }
}

/// Each work-item has a chunk of an array: one lane executes several iterations at once if chunks are long, and packs are faster
/// if they are not.
#[test]
fn chunks_may_be_short() {
    let chunks = r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: i32 = arg 8
    v2: i64 = global_id 0
    v3: i32 = itrunc v2
    v4: i32 = imul nsw v3, v1
    v5: i32 = iadd nsw v4, v1
    v6: i32 = const 1
    v7: b1 = icmp slt v4, v5
    branch v7, b1(v4), b2
b1(v10: i32):
    v11: f32 = stofp rte v10
    v12: f32 = sqrt v11
    v13: f32 = fdiv v12, v11
    v14: f32 = sqrt v13
    v15: f32 = fdiv v14, v12
    v16: f32 = sqrt v15
    v17: f32 = fdiv v16, v13
    v20: i64 = sext v10
    v21: ptr(global) = addr scale 4 v0, v20
    store align 4 v21, v17
    v22: i32 = iadd nsw v10, v6
    v23: b1 = icmp slt v22, v5
    branch v23, b1(v22), b2
b2:
    ret
}
kernel f0 args 16
"#;
    let Width::Unprofitable(reason, _, _, chance) = choose(chunks) else { panic!("packs") };
    assert_eq!(chance, Chance::Small, "{reason}");
}

/// Two sorted rows are merged, and the rest of the first one is copied: that several iterations of the copy can be executed at
/// once does not make it longer than the merge.
#[test]
fn loops_beside_vectorized_ones_are_as_long() {
    assert!(is_close(
        r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i32 = arg 16
    v3: i64 = global_id 0
    v4: i32 = itrunc v3
    v30: i32 = const 1
    v31: i32 = shl nsw v4, v30
    v5: i32 = imul nsw v31, v2
    v6: i32 = iadd nsw v5, v2
    v7: i32 = iadd nsw v6, v2
    v41: b1 = icmp slt v5, v6
    v42: b1 = icmp slt v6, v7
    v43: b1 = and v41, v42
    branch v43, b4(v5, v6, v5), b2(v5, v5)
b4(v44: i32, v45: i32, v46: i32):
    v18: i64 = sext v44
    v19: ptr(global) = addr scale 4 v0, v18
    v20: i32 = load align 4 v19
    v21: i64 = sext v45
    v22: ptr(global) = addr scale 4 v0, v21
    v23: i32 = load align 4 v22
    v32: i32 = smin v20, v23
    v24: i32 = iadd nsw v46, v30
    v25: i64 = sext v46
    v26: ptr(global) = addr scale 4 v1, v25
    store align 4 v26, v32
    v27: b1 = icmp sle v20, v23
    v29: i32 = iadd nsw v44, v30
    v28: i32 = iadd nsw v45, v30
    v33: i32 = select v27, v29, v44
    v34: i32 = select v27, v45, v28
    v8: b1 = icmp slt v33, v6
    v9: b1 = icmp slt v34, v7
    v10: b1 = and v8, v9
    branch v10, b4(v33, v34, v24), b2(v33, v24)
b1:
    ret
b2(v35: i32, v36: i32):
    v37: b1 = icmp slt v35, v6
    branch v37, b3(v35, v36), b1
b3(v39: i32, v40: i32):
    v11: i32 = iadd nsw v39, v30
    v12: i64 = sext v39
    v13: ptr(global) = addr scale 4 v0, v12
    v14: i32 = load align 4 v13
    v15: i32 = iadd nsw v40, v30
    v16: i64 = sext v40
    v17: ptr(global) = addr scale 4 v1, v16
    store align 4 v17, v14
    v38: b1 = icmp ne v11, v6
    branch v38, b3(v11, v15), b1
}
kernel f0 args 24
"#
    ));
}

/// Insertion into a hash table: the values of the table decide how often a work-item looks for a place, which no estimate knows.
#[test]
fn searches_of_unknown_length_are_close() {
    assert!(is_close(
        r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i32 = arg 16
    v3: i64 = global_id 0
    v4: i32 = itrunc v3
    v5: i32 = imul v4, v2
    v6: i32 = const 0
    v20: i32 = const 1
    v28: b1 = icmp ugt v2, v6
    branch v28, b4(v6), b1
b4(v27: i32):
    v7: i32 = iadd v5, v27
    v8: i64 = zext v7
    v9: ptr(global) = addr scale 4 v0, v8
    v10: i32 = load align 4 v9
    v11: i32 = urem v10, v2
    v12: i32 = iadd v5, v11
    v21: i64 = zext v12
    v22: ptr(global) = addr scale 4 v1, v21
    v23: i32 = load align 4 v22
    v24: b1 = icmp ne v23, v6
    branch v24, b3(v12), b2(v22)
b1:
    ret
b3(v25: i32):
    v18: i32 = iadd v25, v20
    v13: i64 = zext v18
    v14: ptr(global) = addr scale 4 v1, v13
    v15: i32 = load align 4 v14
    v16: b1 = icmp ne v15, v6
    branch v16, b3(v18), b2(v14)
b2(v19: ptr(global)):
    store align 4 v19, v10
    v17: i32 = iadd v27, v20
    v26: b1 = icmp ne v17, v2
    branch v26, b4(v17), b1
}
kernel f0 args 24
"#
    ));
}

/// Each work-item divides a row of its own by another one, backwards, in packs or with vectors of the iterations.
fn packs_of_rows(guarded: bool) -> bool {
    let guard = if guarded { "v6: b1 = icmp slt v5, v3" } else { "v6: b1 = const true" };
    let module = format!(
        r#"
function f0 "k" canonical {{
    noalias 0
    noalias 8
    noalias 16
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: ptr(global) = arg 16
    v3: i32 = arg 24
    v4: i64 = global_id 0
    v5: i32 = itrunc v4
    {guard}
    branch v6, b1, b2
b1:
    v17: i32 = const -2
    v18: i32 = iadd nsw v3, v17
    v7: i32 = const 1
    v21: b1 = icmp sge v18, v7
    v24: i32 = const 0
    branch v21, b4, b2
b4:
    v8: i32 = imul nsw v5, v3
    jump b3(v18)
b3(v23: i32):
    v9: i32 = iadd nsw v8, v23
    v10: i64 = sext v9
    v11: ptr(global) = addr scale 4 v0, v10
    v12: f32 = load align 4 alias 1 v11
    v13: ptr(global) = addr scale 4 v1, v10
    v14: f32 = load align 4 alias 2 v13
    v15: f32 = fdiv v12, v14
    v16: ptr(global) = addr scale 4 v2, v10
    store align 4 alias 3 v16, v15
    v19: i32 = const -1
    v20: i32 = iadd nsw v23, v19
    v22: b1 = icmp ne v20, v24
    branch v22, b3(v20), b2
b2:
    ret
}}
kernel f0 args 32
"#
    );
    let module = text::parse_module(&module).unwrap_or_else(|e| panic!("{e}"));
    let kernel = &module.kernels[0];
    let machine = Machine { register_bits: 512, registers: 32, gathers: true, masked_store_bits: None };
    let rows = RowLengths::of(kernel);
    matches!(Width::choose(&module.funcs[kernel.func], rows, &Options::default(), &machine), Width::Packs(..))
}

/// Packs within the border get a copy of the loop, which is as long as the loop of a work-item.
#[test]
fn copies_of_loops_are_as_long() {
    assert!(!packs_of_rows(false));
    assert!(!packs_of_rows(true));
}
