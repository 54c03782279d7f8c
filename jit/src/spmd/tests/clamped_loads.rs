//! Loads at clamped indices: results stay the same, and lanes choose between contiguous and uniform loads.

use clift_kir::Module;

use super::cases::kernel;
use super::generate::Rng;
use super::harness::{compare, make_all};
use super::launches;
use crate::Options;
use crate::spmd::workgroup::regions::Growth;

/// The number of gathers in packs of 16 lanes of a kernel that loads word `v20 + v25` of the input, after a barrier, so that a
/// version that assumes something about the index would end before. `v11` is the local id modulo 8, `v2` an argument.
fn gathers(index: &str) -> usize {
    let module = module(index);
    compare("clamped", &module, &Options::default(), Growth::default(), &launches(&mut Rng::new(17), 16));
    make_all(&module, &Options { width: Some(16), ..Options::default() }, Growth::default()).report.gathers.len()
}

fn module(index: &str) -> Module {
    kernel(&format!(
        "
    v40: i64 = local_id 0
    v10: i32 = itrunc v40
    v12: ptr(global) = arg 0
    v13: i32 = const 0
    v14: i32 = const 1
    v15: i32 = const -1
    v16: i32 = const 7
    v17: i32 = const 3
    v18: i32 = const 2
    v11: i32 = and v10, v16
    v20: i32 = and v2, v14
{index}
    barrier 0 work_group work_group local
    v30: i32 = iadd v20, v25
    v31: i64 = sext v30
    v32: ptr(global) = addr scale 4 v12, v31
    v33: i32 = load align 4 v32
    store align 4 v0, v33
    ret"
    ))
}

#[test]
fn lanes_choose_between_neighbours_and_one_element() {
    let indices = [
        "    v21: i32 = iadd v10, v15\n    v22: i32 = smax v21, v13\n    v25: i32 = smin v22, v17",
        "    v21: b1 = icmp eq v10, v13\n    v22: i32 = iadd v10, v15\n    v23: i32 = select v21, v20, v22\n    v25: i32 = smin v23, v18",
        "    v21: b1 = icmp ult v10, v17\n    v22: i32 = isub v17, v10\n    v25: i32 = select v21, v22, v13",
    ];
    assert_eq!(indices.map(gathers), [0; 3]);
}

/// One of the operands scatters, or there are too many.
#[test]
fn others_stay() {
    let indices = [
        "    v21: i32 = imul v11, v11\n    v22: i32 = smin v21, v17\n    v25: i32 = smax v22, v14",
        "    v21: i32 = smin v10, v17\n    v22: i32 = smax v21, v14\n    v23: i32 = smin v22, v18\n    v24: i32 = smax v23, v20\n    v25: i32 = smin v24, v20",
    ];
    assert_eq!(indices.map(gathers), [1; 2]);
}
