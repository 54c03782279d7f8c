//! Regions that at most one lane executes: found, executed as scalar code, with loops whose iterations are lanes.

use clift_kir::Opcode;

use super::cases::{kernel_with, run};
use super::harness::make_all;
use crate::Options;
use crate::spmd::workgroup::regions::Growth;

/// A kernel in which the lanes for which `condition` holds (v20, of the local id v1) add up eight elements of an array, in a
/// loop that begins with a value of their own.
fn summing(condition: &str) -> String {
    format!(
        "    v10: i64 = local_id 0
    v11: i32 = itrunc v10
    v12: i32 = const 0
    v13: i32 = const 1
    v14: i32 = const 8
    v15: ptr(global) = arg 0
    v16: i32 = const 3
    v17: i32 = imul v1, v16
{condition}
    branch v20, b1, b4(v17)
b1:
    jump b2(v12, v17)
b2(v30: i32, v31: i32):
    v32: i64 = zext v30
    v33: ptr(global) = addr scale 4 v15, v32
    v34: i32 = load align 4 v33
    v35: i32 = iadd v31, v34
    v36: i32 = iadd nsw v30, v13
    v37: b1 = icmp slt v36, v14
    branch v37, b2(v36, v35), b3
b3:
    jump b4(v35)
b4(v38: i32):
    store align 4 v0, v38
    ret
"
    )
}

fn regions(condition: &str) -> (usize, usize) {
    let module = kernel_with("", "", &summing(condition));
    run(&module);
    let made = make_all(&module, &Options { width: Some(8), ..Options::default() }, Growth::default());
    let widened = made.packed.and_then(|packed| packed.widened).unwrap_or_else(|| panic!("no packs"));
    let insts = widened.layout.blocks().iter().flat_map(|&block| widened.layout.insts(block));
    let mut gathers = 0;
    for &inst in insts {
        let data = widened.dfg.inst(inst);
        assert_ne!(data.op, Opcode::Call, "a call is left");
        gathers += usize::from(matches!(data.op, Opcode::Gather | Opcode::MaskedLoad));
    }
    (made.report.single_lane.len(), gathers)
}

#[test]
fn conditions_of_single_lanes() {
    let single = [
        "    v20: b1 = icmp eq v11, v12",
        "    v20: b1 = icmp eq v2, v11",
        "    v20: b1 = icmp ult v11, v13",
        "    v21: b1 = icmp eq v11, v16\n    v22: b1 = icmp ult v1, v14\n    v20: b1 = and v22, v21",
        "    v21: b1 = icmp ne v11, v16\n    v20: b1 = not v21",
        "    v21: i32 = const 31\n    v22: i32 = and v11, v21\n    v20: b1 = icmp eq v22, v16",
        "    v21: i32 = imul v11, v16\n    v20: b1 = icmp eq v21, v16",
    ];
    for condition in single {
        assert_eq!(regions(condition), (1, 0), "{condition}");
    }
}

#[test]
fn conditions_of_several_lanes() {
    let several = [
        "    v20: b1 = icmp ne v11, v12",
        "    v20: b1 = icmp ult v11, v16",
        "    v21: b1 = icmp eq v11, v16\n    v22: b1 = icmp ult v1, v14\n    v20: b1 = or v22, v21",
        "    v21: i32 = and v11, v16\n    v20: b1 = icmp eq v21, v16",
        "    v21: i32 = const 0x20000000\n    v22: i32 = imul v11, v21\n    v20: b1 = icmp eq v22, v12",
        "    v21: i32 = udiv v11, v16\n    v20: b1 = icmp eq v21, v12",
    ];
    for condition in several {
        assert_eq!(regions(condition).0, 0, "{condition}");
    }
}
