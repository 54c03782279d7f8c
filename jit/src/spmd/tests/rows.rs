//! Several rows at once: what does not depend on the row is executed once, and results stay the same where rows take different
//! paths.

use clift_kir::{Function, Module, Opcode};

use super::cases::kernel;
use super::generate::{self, Barriers, Rng};
use super::harness::{compare, make_all};
use super::{launches, seeds};
use crate::Options;
use crate::spmd::make as make_for;
use crate::spmd::workgroup::regions::Growth;
use crate::target::machine::Machine;

/// The machine with AVX-512.
const LONG: Machine = Machine { register_bits: 512, registers: 32, gathers: true, masked_store_bits: Some(8) };

/// Compares the results at all widths, with several rows at once, too. Returns the code of packs of eight lanes and two rows.
fn two_rows(module: &Module) -> Function {
    compare("rows", module, &Options::default(), Growth::default(), &launches(&mut Rng::new(3), 24));
    let made = make_all(module, &Options { width: Some(8), rows: Some(2), ..Options::default() }, Growth::default());
    assert_eq!(made.report.rows, Some(2), "{module}");
    made.packed.and_then(|packed| packed.widened).expect("packs of eight lanes")
}

fn count(func: &Function, op: Opcode) -> usize {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.filter(|&&inst| func.dfg.inst(inst).op == op).count()
}

/// A sum over eight words of the input, of which each row and each column takes some: `body` adds to `v30` what an iteration
/// adds to the sum `v21`, of the words `v20`, `v20 + x` and `v20 + y`.
fn sum(body: &str) -> Module {
    kernel(&format!(
        "
    v10: i64 = local_id 0
    v11: i64 = local_id 1
    v12: ptr(global) = arg 0
    v13: i64 = const 0
    v14: i64 = const 1
    v15: i64 = const 7
    v16: i32 = const 0
    v17: i64 = const 6
    jump b1(v13, v16)
b1(v20: i64, v21: i32):
    v22: ptr(global) = addr scale 4 v12, v20
    v23: i32 = load align 4 v22
    v24: i64 = iadd v20, v11
    v25: i64 = and v24, v15
    v26: ptr(global) = addr scale 4 v12, v25
    v27: i32 = load align 4 v26
{body}
    v90: i64 = iadd v20, v14
    v91: b1 = icmp ult v90, v17
    branch v91, b1(v90, v30), b9(v30)
b9(v92: i32):
    v93: ptr(global) = addr scale 4 v6, v5
    store align 4 v93, v92
    ret"
    ))
}

#[test]
fn what_rows_share_is_loaded_once() {
    let code = two_rows(&sum("
    v28: i32 = imul v23, v27
    v30: i32 = iadd v21, v28"));
    // The words that all rows load, and one word of each row.
    assert_eq!((count(&code, Opcode::Load), count(&code, Opcode::Imul)), (3, 2), "{code}");
}

#[test]
fn few_instructions_are_copied_for_each_row() {
    let code = two_rows(&sum("
    v28: b1 = icmp eq v27, v23
    branch v28, b2, b3(v21)
b2:
    v29: i32 = iadd v21, v27
    jump b3(v29)
b3(v30: i32):"));
    assert!(count(&code, Opcode::Load) >= 3, "{code}");
}

#[test]
fn rows_that_agree_about_a_border_stay_together() {
    let module = kernel(
        "
    v10: i64 = local_id 0
    v11: i64 = local_id 1
    v12: ptr(global) = arg 0
    v13: i64 = const 0
    v14: i64 = const 1
    v15: i64 = const 2
    v16: i32 = const 0
    v17: i64 = const 8
    v18: b1 = icmp ult v11, v15
    v19: b1 = icmp ult v10, v17
    v40: b1 = and v18, v19
    branch v40, b1(v13, v16), b9(v16)
b1(v20: i64, v21: i32):
    v22: ptr(global) = addr scale 4 v12, v20
    v23: i32 = load align 4 v22
    v24: i32 = imul v23, v23
    v25: i32 = iadd v21, v24
    v26: i32 = xor v25, v2
    v27: i32 = imul v26, v23
    v28: i32 = iadd v27, v3
    v29: i32 = imul v28, v23
    v30: i32 = xor v29, v27
    v31: i32 = iadd v30, v2
    v90: i64 = iadd v20, v14
    v91: b1 = icmp ult v90, v17
    branch v91, b1(v90, v31), b9(v31)
b9(v92: i32):
    store align 4 v0, v92
    ret",
    );
    let code = two_rows(&module);
    let cold = code.layout.blocks().iter().filter(|&&block| code.layout.is_cold(block)).count();
    assert!(cold > 0, "the paths for one row after the other are cold\n{code}");
    // A loop over the rows has the paths once, however many rows there are.
    let of_rows = |rows: u32| {
        let options = Options { width: Some(8), rows: Some(rows), ..Options::default() };
        let made = make_all(&module, &options, Growth::default());
        assert_eq!(made.report.rows, Some(rows), "{module}");
        let code = made.packed.and_then(|packed| packed.widened).expect("packs of eight lanes");
        let cold = code.layout.blocks().iter().filter(|&&block| code.layout.is_cold(block));
        cold.flat_map(|&block| code.layout.insts(block)).count()
    };
    let (two, four) = (of_rows(2), of_rows(4));
    assert!(four <= two + 4, "{two} and {four} instructions of cold blocks");
}

#[test]
fn products_of_matrices_gain() {
    let module = sum("
    v28: i64 = iadd v20, v10
    v31: ptr(global) = addr scale 4 v12, v28
    v32: i32 = load align 4 v31
    v33: i32 = imul v32, v27
    v30: i32 = iadd v21, v33");
    let made = make_for(&module, &module.kernels[0], &Options::default(), &LONG, (Growth::default(), true))
        .expect("it is built");
    assert!(made.report.rows.is_some_and(|rows| rows > 1), "{}", made.report);
    let one = Options { rows: Some(1), ..Options::default() };
    let made = make_for(&module, &module.kernels[0], &one, &LONG, (Growth::default(), true)).expect("it is built");
    assert_eq!(made.report.rows, None, "{}", made.report);
}

#[test]
fn generated_kernels_often_have_several_rows() {
    let mut several = 0;
    let seeds = seeds(40);
    for seed in seeds.clone() {
        let options = Options { width: Some(4), rows: Some(2), ..Options::default() };
        let module = generate::kernel(seed, Barriers::Uniform);
        several += u64::from(make_all(&module, &options, Growth::default()).report.rows.is_some());
    }
    assert!(several > (seeds.end - seeds.start) / 8, "{several}");
}
