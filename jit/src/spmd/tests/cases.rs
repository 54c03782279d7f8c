//! Single kernels, each for one case that is easy to get wrong.
//!
//! The arguments are those of the generated kernels: input, output (32 bytes for each work-item), constants, local pointer, n.

use clift_kir::{Imm, Module, Opcode, text};

use super::generate::Rng;
use super::harness::{compare, make, make_all};
use super::{launches, scalar};
use crate::Options;
use crate::spmd::GroupFunction;
use crate::spmd::workgroup::regions::{Growth, Regions};

pub(super) fn parse(text: &str) -> Module {
    text::parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A kernel with the given body. `v0` is the address of the work-item's output, `v1` its local linear id as i32, `v2` the
/// argument n, `v3` the group's id along x as i32, `v4` the address of the work-item's word of local memory.
pub(super) fn kernel(body: &str) -> Module {
    kernel_with("", "", body)
}

/// As [`kernel`], with module variables and slots.
pub(super) fn kernel_with(head: &str, slots: &str, body: &str) -> Module {
    parse(&format!(
        r#"{head}
function f0 "case" canonical {{
{slots}
b0:
    v5: i64 = global_linear_id
    v6: ptr(global) = arg 8
    v0: ptr(global) = addr scale 32 v6, v5
    v7: i64 = local_linear_id
    v1: i32 = itrunc v7
    v2: i32 = arg 32
    v8: i64 = group_id 0
    v3: i32 = itrunc v8
    v9: ptr(local) = arg 24
    v4: ptr(local) = addr scale 4 v9, v7
{body}
}}
kernel f0 args 48
"#
    ))
}

pub(super) fn run(module: &Module) -> GroupFunction {
    run_with(module, &Options::default())
}

fn run_with(module: &Module, options: &Options) -> GroupFunction {
    for growth in [Growth::default(), Growth { factor: 1, slack: 0 }] {
        compare("case", module, options, growth, &launches(&mut Rng::new(7), 12));
    }
    make(module, &scalar(), Growth::default())
}

pub(super) fn regions(module: &Module) -> Regions {
    Regions::new(&module.funcs[module.kernels[0].func], Growth::default())
}

pub(super) fn count(made: &GroupFunction, op: Opcode) -> usize {
    let func = &made.func;
    let insts = func.layout.blocks().iter().flat_map(|&b| func.layout.insts(b));
    insts.filter(|&&inst| func.dfg.inst(inst).op == op).count()
}

#[test]
fn barrier_first_and_last() {
    let module = parse(
        r#"
function f0 "case" canonical {
b0:
    barrier 0 work_group work_group local
    v5: i64 = global_linear_id
    v6: ptr(global) = arg 8
    v0: ptr(global) = addr scale 32 v6, v5
    v1: i32 = itrunc v5
    store align 4 v0, v1
    barrier 1 work_group all_devices global
    ret
}
kernel f0 args 48
"#,
    );
    let made = run(&module);
    assert!(made.has_barrier);
    assert_eq!(regions(&module).list.len(), 2, "nothing follows the last barrier");
    assert_eq!(count(&made, Opcode::Fence), 1, "but its fence stays");
    assert_eq!(made.resources.scratch_item_bytes, 0);
}

/// Exchanges a value with the next work-item. The values are `v{n}1` to `v{n}9`, the barriers `n` and `n + 1`.
fn exchange(n: usize, value: &str) -> String {
    format!(
        r"
    store align 4 v4, {value}
    barrier {0} work_group work_group local
    v{0}1: i64 = local_size 0
    v{0}2: i64 = const 1
    v{0}3: i64 = local_id 0
    v{0}4: i64 = iadd v{0}3, v{0}2
    v{0}5: i64 = urem v{0}4, v{0}1
    v{0}6: i64 = isub v{0}5, v{0}3
    v{0}7: i64 = iadd v7, v{0}6
    v{0}8: ptr(local) = addr scale 4 v9, v{0}7
    v{0}9: i32 = load align 4 v{0}8
    barrier {1} work_group work_group local
",
        n,
        n + 1
    )
}

#[test]
fn barriers_in_both_arms() {
    let body = format!(
        r"
    v10: i32 = const 1
    v11: i32 = and v3, v10
    v12: b1 = icmp eq v11, v10
    v13: i32 = imul v1, v1
    branch v12, b1, b2
b1:
{}
    jump b3(v209)
b2:
    barrier 30 work_group device global
{}
    v14: i32 = iadd v409, v10
    jump b3(v14)
b3(v15: i32):
    v16: i32 = iadd v15, v13
    store align 4 v0, v16
    ret
",
        exchange(20, "v1"),
        exchange(40, "v13"),
    );
    let module = kernel(&body);
    assert!(regions(&module).lockstep);
    let made = run(&module);
    assert_eq!(count(&made, Opcode::Fence), 1);
}

/// The nest `for i < n { exchange; for j < i { exchange } }`.
fn nested_loops(before: &str, n: &str) -> Module {
    let body = format!(
        r"
    {before}
    v10: i32 = const 0
    v11: i32 = const 1
    jump b1(v10, v1)
b1(v12: i32, v13: i32):
    v14: b1 = icmp slt v12, {n}
    branch v14, b2, b5
b2:
{}
    v15: i32 = iadd v209, v13
    jump b3(v10, v15)
b3(v16: i32, v17: i32):
    v18: b1 = icmp slt v16, v12
    branch v18, b4, b6
b4:
{}
    v19: i32 = imul v17, v409
    v90: i32 = iadd v16, v11
    jump b3(v90, v19)
b6:
    v91: i32 = iadd v12, v11
    jump b1(v91, v17)
b5:
    store align 4 v0, v13
    ret
",
        exchange(20, "v13"),
        exchange(40, "v17"),
    );
    kernel(&body)
}

#[test]
fn barriers_in_nested_loops() {
    let module = nested_loops("", "v2");
    assert!(regions(&module).lockstep);
    let made = run(&module);
    // The counters are carried; the accumulator and the exchanged value need slots.
    assert_eq!(made.resources.scratch_item_bytes, 8);
}

#[test]
fn a_bound_that_may_be_written_makes_a_state_machine() {
    let load = "v93: ptr(global) = arg 0\n    v92: i32 = load align 4 v93";
    let module = nested_loops(load, "v92");
    assert!(!regions(&module).lockstep);
    run(&module);
    // A load of memory that is certainly not written is uniform.
    let module = nested_loops(&load.replace("align 4", "align 4 invariant"), "v92");
    assert!(regions(&module).lockstep);
    run(&module);
    let module = nested_loops(&load.replace("align 4", "align 4 alias 1"), "v92");
    assert!(!regions(&module).lockstep);
    let text = module.to_string().replace("store align 4", "store align 4 alias 2");
    assert!(regions(&parse(&text)).lockstep, "the stores go elsewhere");
}

/// A loop around barriers whose end one work-item decides: it counts in local memory, between two barriers, what all read after
/// the second one. `other` is stored to the counter before the first one.
fn counted_by_one(other: &str) -> Module {
    let body = format!(
        r"
    v10: i32 = const 0
    v11: i32 = const 1
    v12: i32 = const 3
    v13: ptr(local) = global_addr g0
    v14: b1 = icmp eq v1, v10
    branch v14, b1, b2
b1:
    store align 4 v13, v10
    jump b2
b2:
    barrier 0 work_group work_group local
    jump b3(v1)
b3(v15: i32):
    v16: i32 = load align 4 v13
    v17: b1 = icmp slt v16, v12
    branch v17, b4, b7
b4:
    {other}
{}
    branch v14, b5, b6
b5:
    v18: i32 = load align 4 v13
    v19: i32 = iadd v18, v11
    store align 4 v13, v19
    jump b6
b6:
    barrier 60 work_group work_group local
    v20: i32 = iadd v409, v16
    jump b3(v20)
b7:
    store align 4 v0, v15
    ret
",
        exchange(40, "v15"),
    );
    kernel_with("global g0 \"count\" local size 4 align 4", "", &body)
}

#[test]
fn what_is_not_written_between_two_barriers_is_the_same_for_all() {
    let module = counted_by_one("");
    assert!(regions(&module).lockstep);
    // The loaded counter is carried.
    assert_eq!(run(&module).resources.scratch_item_bytes, 4);
    // A store while others may read, which is a race.
    assert!(!regions(&counted_by_one("store align 4 v13, v16")).lockstep);
}

#[test]
fn work_items_that_end_before_a_barrier() {
    let body = r"
    v10: i32 = const 3
    v12: b1 = icmp ult v1, v10
    store align 4 v0, v10
    branch v12, b1, b2
b1:
    ret
b2:
    v13: i32 = udiv v1, v10
    barrier 0 work_group work_group local
    v14: i32 = iadd v13, v1
    barrier 1 work_group work_group local
    v15: b1 = icmp ult v14, v2
    branch v15, b3, b4
b3:
    ret
b4:
    store align 4 v0, v14
    ret
";
    let module = kernel(body);
    assert!(!regions(&module).lockstep);
    let made = run(&module);
    // The next region, then v13; v14 has the same slot.
    assert_eq!(made.resources.scratch_item_bytes, 8);
}

/// Many barriers one after the other, if `optional` each under its own uniform condition.
fn many_barriers(count: usize, optional: bool) -> Module {
    let mut body = String::from("    v10: i32 = const 1\n    jump b1(v1)\n");
    for i in 1..=count {
        let (join, block) = (2 * i - 1, 2 * i);
        body += &format!(
            "b{join}(v{i}00: i32):\n    v{i}10: i32 = imul v{i}00, v{i}00\n    v{i}11: i32 = iadd v{i}10, v1\n"
        );
        let next = join + 2;
        if optional {
            body += &format!(
                "    v{i}12: i32 = const {i}\n    v{i}13: i32 = urem v3, v{i}12\n    v{i}14: b1 = icmp eq v{i}13, v10\n    \
                 branch v{i}14, b{block}, b{next}(v{i}11)\nb{block}:\n"
            );
        }
        body += &exchange(1000 + 10 * i, &format!("v{i}11"));
        body += &format!("    v{i}15: i32 = xor v{}9, v{i}11\n    jump b{next}(v{i}15)\n", 1000 + 10 * i);
    }
    body += &format!("b{}(v9999: i32):\n    store align 4 v0, v9999\n    ret\n", 2 * count + 1);
    kernel(&body)
}

fn insts(func: &clift_kir::Function) -> usize {
    func.layout.blocks().iter().map(|&b| func.layout.insts(b).len()).sum()
}

#[test]
fn many_barriers_do_not_blow_up_code() {
    let module = many_barriers(24, false);
    let made = run(&module);
    assert_eq!(regions(&module).list.len(), 49);
    assert_eq!(made.resources.scratch_item_bytes, 8, "at most two values need a slot at the same time");
    let kernel = insts(&module.funcs[module.kernels[0].func]);
    // Each region has a loop nest of about 25 instructions.
    assert!(insts(&made.func) < 2 * kernel + 49 * 30, "{} from {kernel}", insts(&made.func));

    let module = many_barriers(24, true);
    let cut = regions(&module);
    assert!(cut.lockstep && cut.list.len() > 49, "seams where optional barriers meet: {}", cut.list.len());
    let made = run(&module);
    let kernel = insts(&module.funcs[module.kernels[0].func]);
    assert!(insts(&made.func) < 3 * kernel + 80 * 35, "{} from {kernel}", insts(&made.func));
}

#[test]
fn irreducible_loops() {
    // Two blocks that branch to each other, entered at either of them; a uniform path around them with barriers, and a divergent
    // one without.
    let module = |entry: &str, between: &str| {
        kernel(&format!(
            r"
    v10: i32 = const 0
    v11: i32 = const 1
    v12: i32 = const 5
    v13: i32 = and {entry}, v11
    v14: b1 = icmp eq v13, v11
    branch v14, b1(v10, v1), b2(v11, v1)
b1(v15: i32, v16: i32):
    v17: i32 = iadd v15, v11
    v18: i32 = imul v16, v12
    {between}
    v19: b1 = icmp ult v17, v12
    branch v19, b2(v17, v18), b3(v17, v18)
b2(v20: i32, v21: i32):
    v22: i32 = iadd v20, v11
    v23: i32 = iadd v21, v22
    {between}
    v24: b1 = icmp ult v22, v12
    branch v24, b1(v22, v23), b3(v22, v23)
b3(v25: i32, v26: i32):
    v27: i32 = xor v25, v26
    store align 4 v0, v27
    ret
"
        ))
    };
    let barriers = module("v3", "barrier 0 work_group work_group local");
    assert!(regions(&barriers).lockstep);
    run(&barriers);
    let hidden = module("v1", "");
    run(&hidden);
    let divergence = regions(&hidden).divergence;
    let func = &hidden.funcs[hidden.kernels[0].func];
    let last = func.layout.blocks()[3];
    assert!(!divergence.is_uniform(func.dfg.params(last)[0]));
}

#[test]
fn private_variables_are_copied_as_needed() {
    let body = r"
    v10: ptr(private) = slot_addr s0
    store align 4 v10, v1
    v11: i32 = load align 4 v10
    v12: ptr(private) = slot_addr s1
    v13: ptr(private) = addr disp 4 v12
    store align 4 v13, v11
    barrier 0 work_group work_group local
    v14: i32 = load align 4 v13
    store align 4 v0, v14
    ret
";
    let slots = "slot s0 size 16 align 4\nslot s1 size 8 align 8\nslot s2 size 64 align 4";
    let made = run(&kernel_with("", slots, body));
    assert_eq!((made.resources.scratch_fixed_bytes, made.resources.scratch_item_bytes), (16, 8));
    assert_eq!(made.private_bytes, 24, "the third is not used");
    // An address that escapes may be read anywhere.
    let escaping =
        body.replace("v11: i32 = load align 4 v10", "v11: i32 = load align 4 v10\n    v80: i64 = ptrtoint v10");
    assert_eq!(run(&kernel_with("", slots, &escaping)).resources.scratch_item_bytes, 24);
    // Without a barrier there is never more than one copy.
    let alone = escaping.replace("    barrier 0 work_group work_group local\n", "");
    assert_eq!(run(&kernel_with("", slots, &alone)).resources.scratch_item_bytes, 0);
}

#[test]
fn alignment_beyond_the_arenas() {
    let body = r"
    v10: ptr(private) = slot_addr s0
    v11: i64 = ptrtoint v10
    v12: i64 = const 255
    v13: i64 = and v11, v12
    store align 8 v0, v13
    store align 4 v10, v1
    v14: ptr(local) = global_addr g0
    v15: i64 = ptrtoint v14
    v16: i64 = and v15, v12
    v17: ptr(global) = addr disp 8 v0
    store align 8 v17, v16
    barrier 0 work_group work_group local
    v18: i32 = load align 4 v10
    v19: ptr(local) = addr scale 4 v14, v7
    store align 4 v19, v18
    v20: ptr(global) = addr disp 16 v0
    store align 4 v20, v18
    ret
";
    let module = kernel_with("global g0 \"wide\" local size 256 align 512", "slot s0 size 16 align 256", body);
    let made = run(&module);
    assert_eq!(made.resources.scratch_fixed_bytes, 128, "room to align the base");
    assert_eq!(made.resources.local_bytes, 256 + 384);
}

/// The interpreter's sub-groups are single work-items, so these are compared without packs only.
#[test]
fn queries() {
    let names = [
        "global_size",
        "global_offset",
        "num_groups",
        "enqueued_local_size",
        "local_size",
        "group_id",
        "global_id",
        "local_id",
    ];
    let narrow = [
        "work_dim",
        "sub_group_size",
        "max_sub_group_size",
        "num_sub_groups",
        "enqueued_num_sub_groups",
        "sub_group_id",
        "sub_group_local_id",
    ];
    // Two mixtures, so that no value is correct by chance.
    let mut body = String::from("    v10: i64 = const 31\n    v11: i64 = local_linear_id\n");
    let mut sum = "v11".to_owned();
    let mut next = 12;
    let mut add = |body: &mut String, line: String, wide: bool| {
        *body += &line.replace("$", &format!("v{next}"));
        let mut value = next;
        if !wide {
            *body += &format!("    v{}: i64 = zext v{next}\n", next + 1);
            value += 1;
        }
        *body += &format!(
            "    v{}: i64 = imul {sum}, v10\n    v{}: i64 = iadd v{}, v{value}\n",
            value + 1,
            value + 2,
            value + 1
        );
        sum = format!("v{}", value + 2);
        next = value + 3;
    };
    for name in names {
        for dim in 0..3 {
            add(&mut body, format!("    $: i64 = {name} {dim}\n"), true);
        }
    }
    for name in narrow {
        add(&mut body, format!("    $: i32 = {name}\n"), false);
    }
    let body = format!(
        "{body}    store align 8 v0, {sum}\n    barrier 0 work_group work_group local\n    v900: i64 = global_linear_id\n    \
         v901: i64 = iadd v900, v7\n    v902: ptr(global) = addr disp 8 v0\n    store align 8 v902, v901\n    ret\n"
    );
    let made = run_with(&kernel(&body), &scalar());
    assert_eq!(made.resources.scratch_item_bytes, 0, "queries are recomputed");
}

#[test]
fn required_sizes_are_constants() {
    let body = format!("{}    store align 4 v0, v209\n    ret\n", exchange(20, "v1"));
    let mut module = kernel(&body);
    module.kernels[0].required_local_size = Some([4, 1, 1]);
    let all: Vec<_> = launches(&mut Rng::new(3), 40)
        .into_iter()
        .map(|mut launch| {
            launch.geometry.local_size = [4, 1, 1];
            launch
        })
        .collect();
    compare("required", &module, &Options::default(), Growth::default(), &all);
    let loops = |made: &GroupFunction| {
        let func = &made.func;
        let cfg = clift_kir::analysis::Cfg::new(func);
        clift_kir::analysis::LoopForest::new(&cfg, &clift_kir::analysis::DomTree::new(&cfg)).iter().count()
    };
    let made = make(&module, &scalar(), Growth::default());
    assert_eq!(loops(&made), 4, "the groups, and x in three regions");
    assert_eq!(count(&made, Opcode::Umin), 1, "the last group may be smaller");
    let full = Options { uniform_work_groups: true, ..scalar() };
    let whole: Vec<_> = all.into_iter().filter(|launch| launch.geometry.global_size[0].is_multiple_of(4)).collect();
    compare("full", &module, &full, Growth::default(), &whole);
    let made = make(&module, &full, Growth::default());
    assert_eq!(count(&made, Opcode::Umin), 0);
    module.kernels[0].required_local_size = Some([1, 1, 1]);
    let all: Vec<_> = launches(&mut Rng::new(3), 10)
        .into_iter()
        .map(|mut launch| {
            launch.geometry.local_size = [1; 3];
            launch
        })
        .collect();
    compare("one work-item", &module, &Options::default(), Growth::default(), &all);
    assert_eq!(loops(&make(&module, &full, Growth::default())), 1);
}

#[test]
fn kinds_of_values_across_a_barrier() {
    let body = r"
    v10: f64 = stofp rte v1
    v11: f32x3 = undef
    v12: f32 = fptofp rte v10
    v13: f32x3 = insert 1 v11, v12
    v14: i32 = const 2
    v15: b1 = icmp ult v1, v14
    v16: i32x3 = vec v1, v14, v2
    v17: i32x3 = const [1, 2, 3]
    v18: b1x3 = icmp slt v16, v17
    v19: i8 = itrunc v1
    v20: i16 = itrunc v2
    v21: ptr(global) = select v15, v0, v6
    v22: i16x16 = splat v20
    barrier 0 work_group work_group local
    v23: i32x3 = select v18, v16, v17
    v24: i32 = extract 0 v23
    v25: i32 = extract 1 v23
    v26: i32 = zext v15
    v27: i32 = zext v19
    v28: f32 = extract 1 v13
    v29: i32 = bitcast v28
    v30: i64 = bitcast v10
    v31: i32 = itrunc v30
    v32: i64 = ptrtoint v21
    v33: i64 = ptrtoint v6
    v34: i64 = isub v32, v33
    v35: i32 = itrunc v34
    v36: i16 = extract 9 v22
    v37: i32 = sext v36
    v38: i32x8 = vec v24, v25, v26, v27, v29, v31, v35, v37
    store align 4 v0, v38
    ret
";
    let made = run(&kernel(body));
    assert!(made.resources.scratch_item_bytes < 100, "{}", made.resources.scratch_item_bytes);
}

#[test]
fn generic_pointers_and_argument_structures() {
    let body = r"
    v10: ptr(private) = slot_addr s0
    v11: ptr(generic) = spacecast v10
    v12: ptr(generic) = spacecast v4
    v13: ptr(generic) = spacecast v0
    v14: b1 = in_space private v11
    v15: b1 = in_space local v11
    v16: b1 = in_space global v11
    v17: b1 = in_space local v12
    v18: b1 = in_space private v12
    v19: b1 = in_space global v13
    v20: b1 = in_space local v13
    v21: ptr(host) = arg_addr 32
    v22: i64 = const 16
    memcpy align 4 v10, v21, v22
    v23: i32 = load align 4 v10
    v24: i8 = zext v14
    v25: i8 = zext v15
    v26: i8 = zext v16
    v27: i8 = zext v17
    v28: i8 = zext v18
    v29: i8 = zext v19
    v30: i8 = zext v20
    v31: i8 = itrunc v23
    v32: i8x8 = vec v24, v25, v26, v27, v28, v29, v30, v31
    store align 1 v0, v32
    ret
";
    run(&kernel_with("", "slot s0 size 16 align 4", body));
}

#[test]
fn kernels_without_reachable_end() {
    // A loop without exit, and an end that is never reached: there is nothing to run, but the kernels must compile.
    for body in [
        "    jump b1\nb1:\n    jump b1\n",
        "    jump b1\nb1:\n    barrier 0 work_group work_group local\n    jump b1\n",
        "    barrier 0 work_group work_group local\n    unreachable\n",
    ] {
        make(&kernel(body), &scalar(), Growth::default());
    }
}

#[test]
fn sub_group_barriers_are_fences() {
    let body = r"
    store align 4 v4, v1
    barrier 0 sub_group work_group local
    barrier 1 sub_group sub_group local
    v10: i32 = load align 4 v4
    store align 4 v0, v10
    ret
";
    let module = kernel(body);
    let made = run(&module);
    assert!(!made.has_barrier);
    assert_eq!(count(&made, Opcode::Fence), 1);
    assert!(made.func.layout.blocks().iter().all(|&b| {
        made.func.layout.insts(b).iter().all(|&inst| !matches!(made.func.dfg.inst(inst).imm, Imm::Barrier(_)))
    }));
}

#[test]
fn kernels_whose_groups_may_be_coalesced() {
    let coalesced = |body: &str| {
        let module = parse(&format!(
            "function f0 \"case\" canonical {{\nb0:\n v0: ptr(global) = arg 8\n \
             v1: i64 = global_id 0\n{body}\n}}\nkernel f0 args 48\n"
        ));
        let kernel = &module.kernels[0];
        crate::spmd::coalesced_row(&module.funcs[kernel.func], kernel, 16, true)
    };
    let may_coalesce = |body: &str| coalesced(body) > 0;
    let store = "v9: ptr(global) = addr scale 8 v0, v1\n store align 8 v9, v2\n ret";
    for query in ["global_id 1", "global_size 0", "global_linear_id", "local_id 1", "group_id 2"] {
        assert!(may_coalesce(&format!("v2: i64 = {query}\n{store}")), "{query}");
    }
    for query in
        ["local_id 0", "group_id 0", "num_groups 0", "local_size 0", "enqueued_local_size 0", "local_linear_id"]
    {
        assert!(!may_coalesce(&format!("v2: i64 = {query}\n{store}")), "{query}");
    }
    let id = "v2: i64 = global_id 1";
    assert!(!may_coalesce(&format!("{id}\n v3: ptr(local) = arg 16\n store align 8 v3, v2\n{store}")), "local memory");
    assert!(!may_coalesce(&format!("{id}\n v3: i32 = sub_group_size\n{store}")), "sub-groups");
    assert!(
        !may_coalesce(&format!("{id}\n v3: i64 = group_reduce work_group add v1\n{store}")),
        "a reduction over the group"
    );
    let looped =
        "jump b1(v1)\nb1(v3: i64):\n v4: b1 = icmp ult v3, v2\n v5: i64 = iadd v3, v2\n branch v4, b1(v5), b2\nb2:";
    assert_eq!(coalesced(&format!("{id}\n{looped}\n{store}")), 16, "a loop");
    assert_eq!(coalesced(&format!("{id}\n{store}")), 128, "no loop");
}

/// Two stores of each iteration to one element of the work-item's own row, and loads between them that may read it. Of the pairs
/// of accesses, tests before the loop compare those of the first store only, so that the second one stays in its place.
#[test]
fn the_last_store_to_an_element_of_a_row_stays_the_last() {
    let loads: String = (0..3)
        .map(|word| {
            let [at, loaded, sum, before] = [0, 1, 2, -1].map(|part| 30 + 3 * word + part);
            let before = if word == 0 { 22 } else { before };
            format!(
                "    v{at}: ptr(global) = addr scale 4 disp {} v10, v20
    v{loaded}: i32 = load align 4 v{at}
    v{sum}: i32 = iadd v{before}, v{loaded}
",
                4 * word
            )
        })
        .collect();
    let body = format!(
        "    v10: ptr(global) = arg 0
    v11: i64 = const 0
    v12: i64 = const 1
    v13: i64 = const 6
    jump b1(v11)
b1(v20: i64):
    v21: ptr(global) = addr scale 4 v0, v20
    v22: i32 = itrunc v20
    store align 4 v21, v22
{loads}    store align 4 v21, v38
    v50: i64 = iadd v20, v12
    v51: b1 = icmp eq v50, v13
    branch v51, b2, b1(v50)
b2:
    ret
"
    );
    run(&kernel(&body));
}

/// A long chain of values that are affine unless an index wraps: where all lanes of the last one are needed, those of all others
/// are computed, which takes no stack.
#[test]
fn long_chains_of_values_with_only_a_first_lane() {
    let count = 4000;
    let mut body = String::from("    v10: i32 = iadd v1, v2\n    v11: i64 = zext v10\n    v12: i64 = const 3\n");
    body += "    v13: i64 = const 7\n    v14: i64 = zext v2\n";
    let mut last = "v11".to_owned();
    for i in 0..count {
        let [product, sum] = [100 + 2 * i, 101 + 2 * i];
        body += &format!("    v{product}: i64 = imul {last}, v12\n    v{sum}: i64 = iadd v{product}, v14\n");
        last = format!("v{sum}");
    }
    body += &format!("    v15: i64 = urem {last}, v13\n    store align 8 v0, v15\n    ret\n");
    let made = make_all(&kernel(&body), &Options { width: Some(8), ..Options::default() }, Growth::default());
    let widened = made.packed.and_then(|packed| packed.widened).expect("packs of eight lanes");
    assert!(insts(&widened) > count, "the chain is computed");
}
