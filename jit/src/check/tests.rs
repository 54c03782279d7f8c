//! How much code the checks add. That they find what they should is tested through the loader (`tests/host/checking`).

use clift_kir::text;

use crate::pipeline;
use crate::{BackendChoice, Checks, Options};

const MEMORY: Checks = Checks { memory: true, uninit: false, race: false, barrier: false };
const UNINIT: Checks = Checks { memory: false, uninit: true, race: false, barrier: false };
const RACE: Checks = Checks { memory: false, uninit: false, race: true, barrier: false };

/// What a checked kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    blocks: usize,
    insts: usize,
    compares: usize,
    calls: usize,
}

/// A kernel with a local table of 256 bytes, in which `body` uses its address `v1`, the work-item's number `v2` and the address
/// `v3` of the result.
fn kernel(body: &str) -> String {
    format!(
        r#"
global g0 "table" local size 256 align 4
global g1 "result" local size 4 align 4

function f0 "k" canonical {{
b0:
    v1: ptr(local) = global_addr g0
    v2: i64 = global_id 0
    v3: ptr(local) = global_addr g1
{body}
    ret
}}
kernel f0 args 8
"#
    )
}

fn counted(source: &str, checks: Checks) -> Counted {
    let module = text::parse_module(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let dump = vec!["checked".to_owned()];
    let options = Options { dump, checks, backend: BackendChoice::Cranelift, width: Some(1), ..Options::default() };
    let program =
        pipeline::build(pipeline::tests::imported(module), &options).unwrap_or_else(|error| panic!("{error}"));
    let text =
        program.log.split("; checked").nth(1).and_then(|text| text.split("\nkernel ").next()).unwrap_or_default();
    let with = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    Counted {
        blocks: text.lines().filter(|line| line.starts_with('b')).count(),
        insts: text.lines().filter(|line| line.starts_with("    ")).count(),
        compares: with("= icmp "),
        calls: with("= check "),
    }
}

/// Accesses whose offsets cannot leave the object have no check.
#[test]
fn bounded_indices_need_no_check() {
    let bounded = |mask: u32, disp: u32| {
        kernel(&format!(
            "    v10: i64 = const {mask}
    v11: i64 = and v2, v10
    v12: ptr(local) = addr scale 4 disp {disp} v1, v11
    v13: i32 = load align 4 v12
    store align 4 v3, v13"
        ))
    };
    let inside = counted(&bounded(31, 128), MEMORY);
    assert_eq!((inside.calls, inside.compares), (0, 0), "{inside:?}");
    for outside in [bounded(31, 132), bounded(63, 128)] {
        let outside = counted(&outside, MEMORY);
        assert_eq!(outside.calls, 1, "{outside:?}");
    }
}

/// So many loads at constant distances from one another, and a sum of what they give.
fn loads(count: usize) -> String {
    let mut body = String::from("    v10: i32 = const 0\n");
    for number in 1..=count {
        let value = 10 * number;
        body += &format!(
            "    v{}: ptr(local) = addr scale 8 disp {} v1, v2
    v{}: i32 = load align 4 v{}
    v{}: i32 = iadd v{}, v{}\n",
            value + 1,
            4 * number,
            value + 2,
            value + 1,
            value + 10,
            value,
            value + 2
        );
    }
    body + &format!("    store align 4 v3, v{}", 10 * (count + 1))
}

/// Accesses at constant distances share a test.
#[test]
fn accesses_at_constant_distances_share_a_test() {
    let [two, many] = [2, 12].map(|count| counted(&kernel(&loads(count)), MEMORY));
    // The answers of the checker are compared, too.
    assert_eq!(many.compares - many.calls, two.compares - two.calls, "{two:?} {many:?}");
}

/// Tests of values share branches.
#[test]
fn tests_of_values_share_branches() {
    let source = |count| kernel(&loads(count)).replace("canonical", "imported");
    let [few, many] = [16, 64].map(|count| counted(&source(count), UNINIT));
    assert!(many.blocks <= few.blocks + 2 * (64 / 16), "{few:?} {many:?}");
    assert_eq!((few.calls, many.calls), (16, 64));
}

/// The code of checked kernels grows linearly.
#[test]
fn checked_code_grows_linearly() {
    for (checks, most) in [(MEMORY, 24), (UNINIT, 24)] {
        let source = |count| kernel(&loads(count)).replace("canonical", "imported");
        let [some, more] = [64, 256].map(|count| counted(&source(count), checks));
        assert!(more.insts <= 4 * some.insts && more.blocks <= 4 * some.blocks, "{checks:?}: {some:?} {more:?}");
        assert!(more.insts <= most * 256, "{checks:?}: {more:?}");
    }
}

/// Neighbouring loads that may race share branches, blocks and the loop over the lanes that tells of races.
#[test]
fn loads_that_may_race_share_branches() {
    let source = |count| {
        let store = "    v5: ptr(local) = addr scale 8 v1, v2
    v6: i32 = const 1
    store align 4 v5, v6\n";
        kernel(&(store.to_owned() + &loads(count)))
    };
    let [memory, race] = [MEMORY, RACE].map(|checks| [4, 14].map(|count| counted(&source(count), checks).blocks));
    assert_eq!(race[1] - race[0], memory[1] - memory[0], "{memory:?} {race:?}");
}

/// Loops are unrolled less if accesses get many checks.
#[test]
fn checks_count_when_loops_are_unrolled() {
    let source = kernel(
        "    v4: i64 = const 0
    v5: i32 = const 0
    jump b1(v4, v5)
b1(v6: i64, v7: i32):
    v8: ptr(local) = addr scale 8 v1, v2
    v9: ptr(local) = addr scale 4 v8, v6
    v10: i32 = load align 4 v9
    v11: i32 = iadd v7, v10
    store align 4 v9, v11
    v12: i64 = const 1
    v13: i64 = iadd v6, v12
    v14: i64 = const 12
    v15: b1 = icmp ult v13, v14
    branch v15, b1(v13, v11), b2
b2:
    store align 4 v3, v11",
    )
    .replace("canonical", "imported");
    let race = counted(&source, RACE);
    assert!(race.calls < 12, "{race:?}");
}
