//! Instructions executed lane by lane: so many that they become loops over the lanes, with and without masks.

use clift_kir::{Imm, Opcode};

use super::cases::{kernel, kernel_with, run};
use super::harness::make_all;
use crate::Options;
use crate::spmd::workgroup::regions::Growth;

/// As many atomics as are copied for each lane, and more. They access the work-item's own words; some are executed only by some
/// lanes.
#[test]
fn atomics_in_loops_over_the_lanes() {
    for count in [3, 160] {
        let mut body = String::new();
        let mut last = "v1".to_owned();
        for i in 1..=count {
            let (value, next) = (format!("v{i}07"), format!("v{i}09"));
            let word = 4 * (i % 8);
            body += &format!(
                "    v{i}00: i32 = const {i}
    v{i}01: ptr(global) = addr disp {word} v0
    v{i}02: i32 = xor v{i}00, {last}
    v{i}03: i32 = and v{i}02, v2
    v{i}04: b1 = icmp ult v{i}03, v{i}00
    v{i}05: i32 = atomic_rmw add relaxed device v{i}01, v{i}02
    branch v{i}04, b{i}0, b{i}1(v{i}05)
b{i}0:
    v{i}06: i32 = atomic_cmpxchg relaxed device v{i}01, v{i}05, v{i}00
    {value}: i32 = iadd v{i}06, {last}
    jump b{i}1({value})
b{i}1(v{i}08: i32):
    {next}: i32 = iadd v{i}08, v{i}00
",
            );
            last = next;
        }
        run(&kernel(&format!("{body}    store align 4 v0, {last}\n    ret\n")));
    }
}

/// A volatile private variable belongs to one work-item, so packs access it as a whole, no matter which lanes are active.
#[test]
fn volatile_private_variables() {
    let body = "    v10: ptr(private) = slot_addr s0
    v11: i32 = const 0
    v12: i32 = const 1
    v13: i32 = const 7
    v14: i32 = and v1, v13
    store align 4 volatile v10, v11
    jump b1
b1:
    v20: i32 = load align 4 volatile v10
    v21: b1 = icmp ult v20, v14
    branch v21, b2, b3
b2:
    v22: i32 = load align 4 volatile v10
    v23: i32 = iadd v22, v12
    store align 4 volatile v10, v23
    jump b1
b3:
    v24: i32 = load align 4 volatile v10
    store align 4 v0, v24
    ret
";
    let module = kernel_with("", "slot s0 size 4 align 4", body);
    run(&module);
    let made = make_all(&module, &Options { width: Some(8), ..Options::default() }, Growth::default());
    assert!(made.report.gathers.is_empty() && made.report.per_lane.is_empty());
    let func = made.packed.and_then(|packed| packed.widened).unwrap_or_else(|| panic!("no packs"));
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let (mut whole, mut masked) = (0, 0);
    for data in insts.map(|&inst| func.dfg.inst(inst)) {
        match (data.op, &data.imm) {
            (Opcode::MaskedLoad | Opcode::MaskedStore, _) => masked += 1,
            (Opcode::Load | Opcode::Store, Imm::Mem(mem)) => whole += usize::from(mem.volatile),
            _ => {}
        }
    }
    assert!(whole >= 5 && masked == 0, "{whole} whole accesses, {masked} masked ones");
}
