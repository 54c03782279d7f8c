//! Work-groups of one work-item: packs of neighbouring groups compute what the work-items compute one by one.

use clift_kir::{Module, Opcode, text};

use super::generate::{self, Barriers, Rng};
use super::harness::{Launch, compare, general_of, make_all};
use super::{launches, seeds};
use crate::Options;
use crate::spmd::can_pack_groups;
use crate::spmd::workgroup::regions::Growth;

fn options() -> Options {
    Options { single_items: true, ..Options::default() }
}

/// Launches with groups of one work-item, with enough of them for packs and a rest.
fn single_items(rng: &mut Rng, count: usize) -> Vec<Launch> {
    let mut launches = launches(rng, count);
    for launch in &mut launches {
        launch.geometry.local_size = [1; 3];
    }
    launches
}

/// A kernel with a `__local` array of four words in front of `body`, which follows the address of its own word of the output in
/// `v3` and the group's id in `v1`.
fn kernel(body: &str) -> Module {
    let text = format!(
        r#"
global g0 "words" local size 16 align 4
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 8
    v1: i64 = group_id 0
    v2: i32 = itrunc v1
    v5: i64 = global_linear_id
    v3: ptr(global) = addr scale 32 v0, v5
    v4: ptr(local) = global_addr g0
{body}}}
kernel f0 args 32
"#
    );
    text::parse_module(&text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn generated_kernels() {
    let mut packed = 0;
    for (kind, barriers) in
        [Barriers::None, Barriers::Uniform, Barriers::Hidden, Barriers::EarlyReturn].into_iter().enumerate()
    {
        for seed in seeds(40) {
            let module = generate::kernel(seed + 1000 * kind as u64, barriers);
            packed += usize::from(can_pack_groups(&module, &module.funcs[module.kernels[0].func]));
            compare("groups", &module, &options(), Growth::default(), &single_items(&mut Rng::new(seed), 3));
        }
    }
    assert!(packed > 20, "only {packed} kernels can have packs of groups");
}

#[test]
fn local_memory_belongs_to_the_work_item() {
    let module = kernel(
        r"    v10: i32 = const 3
    v11: i32 = and v2, v10
    v12: i64 = zext v11
    v13: ptr(local) = addr scale 4 v4, v12
    store align 4 v13, v2
    barrier 0 work_group work_group local
    v14: i32 = atomic_rmw add relaxed work_group v13, v10
    v15: i32 = load align 4 v13
    v16: i32 = iadd v14, v15
    store align 4 v3, v16
    ret
",
    );
    assert!(can_pack_groups(&module, &module.funcs[module.kernels[0].func]));
    compare("local memory", &module, &options(), Growth::default(), &single_items(&mut Rng::new(5), 10));
    let made = make_all(&module, &Options { width: Some(8), ..options() }, Growth::default());
    assert_eq!(general_of(&made).resources.local_bytes, 0);
    let atomics =
        general_of(&made).func.layout.blocks().iter().flat_map(|&block| general_of(&made).func.layout.insts(block));
    assert!(!atomics.clone().any(|&inst| general_of(&made).func.dfg.inst(inst).op == Opcode::AtomicRmw));
}

#[test]
fn groups_that_may_share_are_left_alone() {
    let observes = kernel("    v10: i32 = sub_group_size\n    store align 4 v3, v10\n    ret\n");
    let asks = kernel(
        "    v10: ptr(generic) = spacecast v4\n    v11: b1 = in_space local v10\n    v12: i32 = zext v11\n    store align 4 v3, v12\n    ret\n",
    );
    let argument = kernel("    v10: ptr(local) = arg 24\n    store align 4 v10, v2\n    ret\n");
    for module in [observes, asks, argument] {
        assert!(!can_pack_groups(&module, &module.funcs[module.kernels[0].func]), "{module}");
    }
}
