//! Conditions are computed where they are branched on: scalar Booleans that only one successor of a block uses are computed
//! there, at its start. There, comparisons become part of the branch, and the other successors need not compute them.
//!
//! ```text
//! head: inside = x < n; branch whole, fast, slow     head: branch whole, fast, slow
//! fast: branch inside, body, latch               ->  fast: inside = x < n; branch inside, body, latch
//! ```
//!
//! Versions of code for whole packs leave such conditions behind. Other values stay where they are, because their operands may
//! be in registers for no other reason.

use clift_kir::analysis::{Cfg, Users};
use clift_kir::{Block, Function, Inst, Opcode, Type};

use super::Changed;

/// Visits blocks before their successors, and instructions after those that use them.
pub(super) fn run(func: &mut Function) -> Changed {
    let cfg = Cfg::new(func);
    let mut users: Option<Users> = None;
    let mut changed = false;
    for &block in cfg.rpo() {
        if cfg.succs(block).len() < 2 {
            continue;
        }
        for at in (0..func.layout.insts(block).len()).rev() {
            let inst = func.layout.insts(block)[at];
            if !is_condition(func, inst) {
                continue;
            }
            let users = users.get_or_insert_with(|| Users::new(func, func.layout.blocks()));
            if let Some(to) = only_user(func, users, inst).filter(|&to| to != block && cfg.preds(to) == [block]) {
                func.layout.remove_inst(inst);
                func.layout.insert_inst(to, 0, inst);
                changed = true;
            }
        }
    }
    Changed(changed)
}

/// Whether an instruction computes a scalar Boolean from its operands.
fn is_condition(func: &Function, inst: Inst) -> bool {
    let op = func.dfg.inst(inst).op;
    matches!(op, Opcode::Icmp | Opcode::Fcmp | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not)
        && func.dfg.single_result(inst).is_some_and(|result| func.dfg.ty(result) == Type::B1)
}

/// The only block with instructions that use the result.
fn only_user(func: &Function, users: &Users, inst: Inst) -> Option<Block> {
    let result = func.dfg.single_result(inst)?;
    if !users.arguments(result).is_empty() {
        return None;
    }
    let mut blocks = users.of(result).iter().map(|&user| func.layout.block_of(user));
    let first = blocks.next()??;
    blocks.all(|other| other == Some(first)).then_some(first)
}
