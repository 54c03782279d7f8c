//! The code made from a kernel grows linearly with the kernel. Counts it for kernels that repeat one piece; `icd/examples/growth`
//! measures time.

use clift_kir::{Function, Module, text};

use super::harness::make_all;
use crate::Options;
use crate::passes::{self, memory};
use crate::spmd::transform::loop_vectorizer;
use crate::spmd::workgroup::regions::Growth;
use crate::target::machine::Machine;

/// A kernel of so many pieces. A piece uses the values from `v@0` to `v@99`. It begins in a block in which `v@0` is its number
/// and `v@1` its input, and ends in its block `b@9`.
fn kernel(count: usize, piece: &str) -> String {
    let mut body = String::new();
    for i in 1..=count {
        let own = piece.replace("v@", &format!("v{i}")).replace("b@", &format!("b{i}"));
        body += &format!(
            "    v{i}00: i32 = const {i}
    v{i}01: ptr(global) = addr scale 4 disp {} v3, v4
    v{i}02: i32 = load align 4 v{i}01
{own}",
            4 * i
        );
    }
    format!(
        r#"
function f0 "k" canonical {{
slot s0 size 1024 align 4
b0:
    v5: ptr(private) = slot_addr s0
    v6: i32 = const 3
    v1: i32 = const 0
    v2: i32 = const 1
    v3: ptr(global) = arg 0
    v4: i64 = global_id 0
{body}
    ret
}}
kernel f0 args 32
"#
    )
}

fn module(count: usize, piece: &str) -> Module {
    text::parse_module(&kernel(count, piece)).unwrap_or_else(|e| panic!("{e}"))
}

/// The number of entities ever made in the group functions, including removed ones.
fn made(count: usize, piece: &str) -> [usize; 3] {
    let module = module(count, piece);
    let options = Options { width: Some(16), ..Options::default() };
    let made = make_all(&module, &options, Growth::default());
    let count = |func: &Function| [func.dfg.value_count(), func.dfg.inst_count(), func.dfg.block_count()];
    let functions = [made.general.as_ref(), made.packed.as_ref()];
    let mut sum = [0; 3];
    for group in functions.into_iter().flatten() {
        for func in [Some(&group.func), group.widened.as_ref()].into_iter().flatten() {
            let counts = count(func);
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    sum
}

fn grows_linearly(what: &str, piece: &str) {
    let (some, more) = (made(8, piece), made(32, piece));
    for ((some, more), what_of) in some.into_iter().zip(more).zip(["values", "instructions", "blocks"]) {
        assert!(more <= 4 * some + some / 2, "{what}: {some} {what_of} for 8 pieces, {more} for 32");
    }
}

const LOOP: &str = "    jump b@0(v1)
b@0(v@10: i32):
    v@11: b1 = icmp ult v@10, v@02
    branch v@11, b@1, b@9
b@1:
    v@12: i32 = iadd v@10, v2
    jump b@0(v@12)
b@9:
    store align 4 v@01, v@10
";

const BREAK: &str = "    jump b@0(v1)
b@0(v@10: i32):
    v@11: b1 = icmp ult v@10, v@00
    branch v@11, b@1, b@9
b@1:
    v@12: i32 = iadd v@10, v2
    v@13: b1 = icmp eq v@12, v@02
    branch v@13, b@2, b@0(v@12)
b@2:
    store align 4 v@01, v@12
    jump b@9
b@9:
";

const IF: &str = "    v@11: b1 = icmp ult v@00, v@02
    branch v@11, b@1, b@9
b@1:
    store align 4 v@01, v@00
    jump b@9
b@9:
";

const ATOMIC: &str = "    v@11: b1 = icmp ult v@00, v@02
    branch v@11, b@1, b@9
b@1:
    v@12: i32 = atomic_rmw xchg relaxed device v@01, v@00
    store align 4 v@01, v@12
    jump b@9
b@9:
";

const COPY: &str = "    v@11: b1 = icmp ult v@00, v@02
    branch v@11, b@1, b@9
b@1:
    v@12: i64 = zext v@02
    v@13: ptr(global) = addr scale 4 v3, v@12
    v@14: i32 = atomic_cmpxchg relaxed device v@13, v@00, v@02
    jump b@9
b@9:
";

const BARRIER: &str = "    barrier 0 work_group work_group global
    v@12: ptr(global) = addr scale 8 v3, v4
    store align 4 v@12, v@02
    jump b@9
b@9:
";

const SWITCH: &str = "    switch v@02, [1: b@1, 2: b@2, 3: b@3], b@4
b@1:
    jump b@8(v1)
b@2:
    jump b@8(v2)
b@3:
    store align 4 v@01, v@00
    jump b@8(v1)
b@4:
    jump b@8(v@02)
b@8(v@10: i32):
    store align 4 v@01, v@10
    jump b@9
b@9:
";

#[test]
fn control_flow() {
    grows_linearly("loops", LOOP);
    grows_linearly("loops with two ways out", BREAK);
    grows_linearly("conditions", IF);
    grows_linearly("switches", SWITCH);
}

#[test]
fn lane_by_lane() {
    grows_linearly("atomics", ATOMIC);
    grows_linearly("compare-exchanges", COPY);
}

#[test]
fn barriers() {
    grows_linearly("barriers", BARRIER);
}

/// Stores to a private array and to an element of a buffer that stays the same while the loop runs. The loop is too short to be
/// vectorized: that would look at all other loops again, up to a limit.
const ARRAY: &str = "    jump b@0(v1)
b@0(v@10: i32):
    v@11: i64 = zext v@10
    v@12: ptr(private) = addr scale 4 v5, v@11
    v@13: i32 = imul v@10, v@02
    store align 4 v@12, v@13
    v@14: i32 = load align 4 v@01
    v@15: i32 = iadd v@14, v@10
    store align 4 v@01, v@15
    v@16: i32 = iadd nsw v@10, v2
    v@17: b1 = icmp slt v@16, v6
    branch v@17, b@0(v@16), b@9
b@9:
";

/// How many instructions are looked at for addresses that escape.
fn looked_at(run: impl FnOnce()) -> usize {
    let before = memory::LOOKED_AT.get();
    run();
    memory::LOOKED_AT.get() - before
}

#[test]
fn escapes() {
    let vectorizer = |count| {
        let mut module = module(count, ARRAY);
        let func = &mut module.funcs[module.kernels[0].func];
        passes::run(func, &module.globals, &["scalar_promotion", "mem2reg"], &mut |_, _| ());
        let (options, machine) = (Options::default(), Machine::COMMON);
        looked_at(|| drop(loop_vectorizer::run(func, &module.globals, &options, &machine)))
    };
    let promotion = |count| {
        let mut module = module(count, ARRAY);
        let func = &mut module.funcs[module.kernels[0].func];
        looked_at(|| passes::run(func, &module.globals, &["scalar_promotion"], &mut |_, _| ()))
    };
    for (what, some, more) in
        [("loops", vectorizer(8), vectorizer(32)), ("promoted memory", promotion(8), promotion(32))]
    {
        assert!(0 < some && more <= 5 * some, "{what}: {some} instructions for 8 pieces, {more} for 32");
    }
}
