//! Structure of group functions made from small kernels: they verify, and have the loops they should have.

use clift_kir::{Module, text, verify};

use super::{GroupFunction, group_function};
use crate::Options;

fn build(text: &str) -> GroupFunction {
    build_with(text, &Options::default())
}

fn build_with(text: &str, options: &Options) -> GroupFunction {
    let module: Module = text::parse_module(text).unwrap_or_else(|e| panic!("{e}"));
    verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
    let made = group_function(&module, &module.kernels[0], options).unwrap_or_else(|e| panic!("{e}"));
    verify::function(&module, &made.func).unwrap_or_else(|e| panic!("{e}\n{}", made.func));
    made
}

const COPY: &str = r#"
function f0 "copy" canonical {
b0:
    v0: i64 = global_id 0
    v1: ptr(global) = arg 0
    v2: ptr(global) = arg 8
    v3: ptr(global) = addr scale 4 v1, v0
    v4: i32 = load align 4 v3
    v5: ptr(global) = addr scale 4 v2, v0
    store align 4 v5, v4
    ret
}
kernel f0 args 16
"#;

#[test]
fn a_plain_kernel_is_one_loop_nest() {
    let made = build(COPY);
    println!("{}", made.func);
    assert!(!made.has_barrier);
    assert_eq!((made.resources.scratch_fixed_bytes, made.resources.scratch_item_bytes), (0, 0));
}

const LOOP: &str = r#"
global g0 "tile" local size 256 align 4
function f0 "tiles" canonical {
    slot s0 size 16 align 4
b0:
    v0 "lid": i64 = local_id 0
    v1 "in": ptr(global) = arg 0
    v2 "n": i32 = arg 8
    v3 "zero": i32 = const 0
    v4 "acc0": f32 = const 0.0
    v5 "gid": i64 = global_id 0
    v40: ptr(global) = addr scale 4 v1, v5
    v41 "own": f32 = load align 4 v40
    v42 "own2": f32 = fadd v41, v41
    jump b1(v3, v4)
b1(v6 "i": i32, v7 "acc": f32):
    v8: b1 = icmp slt v6, v2
    branch v8, b2, b3
b2:
    v9: i64 = sext v6
    v10: i64 = iadd v9, v5
    v11: ptr(global) = addr scale 4 v1, v10
    v12: f32 = load align 4 v11
    v13: ptr(local) = global_addr g0
    v14: ptr(local) = addr scale 4 v13, v0
    store align 4 v14, v12
    barrier 0 work_group work_group local
    v15: i64 = const 1
    v16: i64 = xor v0, v15
    v17: ptr(local) = addr scale 4 v13, v16
    v18: f32 = load align 4 v17
    v19 "acc1": f32 = fadd v7, v18
    barrier 1 work_group device local
    v20: i32 = const 1
    v21 "i1": i32 = iadd v6, v20
    jump b1(v21, v19)
b3:
    v22: ptr(global) = addr scale 4 v1, v5
    v23: f32 = fadd v7, v42
    store align 4 v22, v23
    ret
}
kernel f0 args 16
"#;

#[test]
fn a_barrier_in_a_uniform_loop() {
    let made = build(LOOP);
    println!("{}", made.func);
    assert!(made.has_barrier);
    assert_eq!(made.resources.local_bytes, 256);
    assert_eq!(made.resources.scratch_item_bytes, 8, "own2 and acc");
}

#[test]
fn a_barrier_in_a_divergent_loop() {
    let made = build(&LOOP.replace("v2 \"n\": i32 = arg 8", "v99: i64 = local_id 0\n    v2 \"n\": i32 = itrunc v99"));
    println!("{}", made.func);
    assert!(made.has_barrier);
}
