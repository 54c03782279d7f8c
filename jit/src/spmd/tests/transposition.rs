//! Which kernels are faster, or might be, with dimensions exchanged.

use clift_include::exchange::Exchange;
use clift_kir::text;

use crate::Options;
use crate::specialize::Transposition;
use crate::target::machine::Machine;

/// A kernel that reads and writes a row of `n` elements for each work-item along the dimension `row`.
fn matrix(row: u8, more: &str) -> Option<u32> {
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = arg 16
    v3: i64 = global_id {row}
    v4: i64 = global_id {}
    v5: i64 = imul v3, v2
    v6: i64 = iadd v5, v4
    v7: ptr(global) = addr scale 4 v0, v6
    v8: f32 = load align 4 v7
    v9: ptr(global) = addr scale 4 v1, v6
{more}
    store align 4 v9, v8
    ret
}}
kernel f0 args 24
"#,
        1 - row
    );
    transposed_lanes(&module, Exchange::Y)
}

/// The lanes of packs of the only kernel of a module in transposed launches, if it gains from those.
fn transposed_lanes(module: &str, exchange: Exchange) -> Option<u32> {
    transposition(module, exchange).filter(|how| how.is_faster).map(|how| how.lanes)
}

/// How launches of the only kernel of a module are or might be transposed.
fn transposition(module: &str, exchange: Exchange) -> Option<Transposition> {
    let module = text::parse_module(module).unwrap_or_else(|e| panic!("{e}"));
    let kernel = &module.kernels[0];
    let machine = Machine { register_bits: 512, registers: 32, gathers: false, masked_store_bits: None };
    let (func, options) = (&module.funcs[kernel.func], Options::default());
    let usual = crate::spmd::group_functions(&module, kernel, &options, &machine, true).unwrap().costs?;
    crate::spmd::gains_from_transposition(func, kernel, usual, exchange, &options, &machine)
}

/// As [`matrix`], of a volume whose planes, rows and columns have the numbers of these dimensions.
fn volume([plane, row, column]: [u8; 3], exchange: Exchange) -> Option<u32> {
    let module = format!(
        r#"
function f0 "k" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = arg 16
    v3: i64 = global_id {plane}
    v4: i64 = global_id {row}
    v5: i64 = global_id {column}
    v6: i64 = imul v3, v2
    v7: i64 = iadd v6, v4
    v8: i64 = imul v7, v2
    v9: i64 = iadd v8, v5
    v10: ptr(global) = addr scale 4 v0, v9
    v11: f32 = load align 4 v10
    v12: ptr(global) = addr scale 4 v1, v9
    store align 4 v12, v11
    ret
}}
kernel f0 args 24
"#
    );
    transposed_lanes(&module, exchange)
}

#[test]
fn transposed_launches_for_planes_along_x() {
    assert_eq!(volume([0, 1, 2], Exchange::Z), Some(16));
    assert_eq!(volume([0, 1, 2], Exchange::Y), None, "contiguous along z");
    assert_eq!(volume([2, 0, 1], Exchange::Y), Some(16));
    assert_eq!(volume([2, 1, 0], Exchange::Z), None, "contiguous along x");
}

/// As a convolution: both the input's rows along x and the weights' rows along z are apart, and the output is contiguous along z.
#[test]
fn launches_that_might_be_transposed() {
    let module = r#"
function f0 "k" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: ptr(global) = arg 16
    v3: i64 = arg 24
    v4: i64 = global_id 0
    v5: i64 = global_id 2
    v6: i64 = imul v4, v3
    v7: i64 = imul v5, v3
    v8: ptr(global) = addr scale 4 v0, v6
    v9: ptr(global) = addr scale 4 v1, v7
    v10: f32 = load align 4 v8
    v11: f32 = load align 4 v9
    v12: ptr(global) = addr scale 4 v8, v3
    v13: ptr(global) = addr scale 4 v9, v3
    v14: f32 = load align 4 v12
    v15: f32 = load align 4 v13
    v16: f32 = fmul v10, v11
    v17: f32 = fmul v14, v15
    v21: ptr(global) = addr scale 4 v12, v3
    v22: ptr(global) = addr scale 4 v13, v3
    v23: f32 = load align 4 v21
    v24: f32 = load align 4 v22
    v25: f32 = fmul v23, v24
    v26: ptr(global) = addr scale 4 v21, v3
    v27: ptr(global) = addr scale 4 v22, v3
    v28: f32 = load align 4 v26
    v29: f32 = load align 4 v27
    v30: f32 = fmul v28, v29
    v31: f32 = fadd v16, v17
    v32: f32 = fadd v25, v30
    v18: f32 = fadd v31, v32
    v19: i64 = iadd v6, v5
    v20: ptr(global) = addr scale 4 v2, v19
    store align 4 v20, v18
    ret
}
kernel f0 args 32
"#;
    assert_eq!(transposition(module, Exchange::Z).map(|how| how.is_faster), Some(false));
    assert_eq!(transposition(module, Exchange::Y), None);
}

#[test]
fn transposed_launches_for_rows_along_x() {
    assert_eq!(matrix(0, ""), Some(32));
    assert_eq!(matrix(1, ""), None, "contiguous along x");
    assert_eq!(matrix(0, "v10: i64 = local_linear_id"), None, "an order can be observed");
    assert_eq!(matrix(0, "barrier 0 work_group work_group local"), Some(16));
}
