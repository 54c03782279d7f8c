//! Whether the other sub-groups of a work-group can wait while one polls: they have nothing to do before the next barrier of the
//! work-group that anybody could see.
//!
//! The usual case is one work-item of the group that waits for another work-group, between two barriers:
//!
//! ```text
//! barrier(...); if (get_local_id(0) == 0) { atomic_inc(arrived); while (*arrived < groups) ; } barrier(...);
//! ```
//!
//! Others see what a sub-group does by its atomics, volatile accesses and fences, and by writes to the memory that is polled.
//! Those of the work-item that polls do not count, if it is the only one that gets there.

use clift_kir::{Block, Function, Imm, Inst, IntCond, Opcode, Value};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;

use super::{PollingLoop, may_write, shared_space, synchronizes_group};
use crate::spmd::transform::normalize::NormalForm;

/// A piece of a block between two barriers of the work-group, by its number in the block.
type Piece = (Block, usize);

/// Whether the other sub-groups can wait while one is in the loop.
pub(super) fn can_wait(polling: &PollingLoop<'_>, required_local_size: Option<[u64; 3]>) -> bool {
    let func = &polling.normal.func;
    let header = polling.normal.loops.get(polling.id).header;
    let one_row = required_local_size.map_or_else(|| !asks_for_other_dimensions(func), |[_, y, z]| y == 1 && z == 1);
    let leaders = leaders_at(polling.normal, header, one_row);
    let reads = polling.reads_before_exits();
    let is_seen = |inst: Inst| {
        let data = func.dfg.inst(inst);
        let volatile = matches!(&data.imm, Imm::Mem(mem) if mem.volatile) && shared_space(func, inst).is_some();
        let seen = matches!(
            data.op,
            Opcode::AtomicStore | Opcode::AtomicRmw | Opcode::AtomicCmpxchg | Opcode::Fence | Opcode::Request
        );
        seen || data.op == Opcode::Store && volatile || reads.iter().any(|&read| may_write(func, inst, read))
    };
    let pieces = between_barriers(polling, header);
    pieces.iter().all(|&(block, number)| {
        !insts_of(func, (block, number)).iter().any(|&inst| is_seen(inst))
            || leaders_at(polling.normal, block, one_row).iter().any(|leader| leaders.contains(leader))
    })
}

/// Whether a kernel asks for ids or sizes of more than one dimension.
fn asks_for_other_dimensions(func: &Function) -> bool {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.any(|&inst| matches!(func.dfg.inst(inst).imm, Imm::Dim(1..)))
}

/// The instructions of a piece, without the barrier at its end.
fn insts_of(func: &Function, (block, number): Piece) -> &[Inst] {
    let insts = func.layout.insts(block);
    insts.split(|&inst| synchronizes_group(func, inst)).nth(number).unwrap_or(&[])
}

/// Whether a piece is the last one of its block.
fn is_last(func: &Function, (block, number): Piece) -> bool {
    func.layout.insts(block).iter().filter(|&&inst| synchronizes_group(func, inst)).count() == number
}

/// The pieces that sub-groups may execute between the same two barriers as the beginning of a block.
fn between_barriers(polling: &PollingLoop<'_>, of: Block) -> FxHashSet<Piece> {
    let (func, cfg) = (&polling.normal.func, &polling.normal.cfg);
    let behind = cfg.rpo().iter().flat_map(|&block| {
        let barriers = func.layout.insts(block).iter().filter(|&&inst| synchronizes_group(func, inst)).count();
        (1..=barriers).map(move |number| (block, number))
    });
    let entry = func.layout.entry().map(|entry| (entry, 0));
    let mut all: FxHashSet<Piece> = FxHashSet::default();
    for start in entry.into_iter().chain(behind) {
        let mut found: FxHashSet<Piece> = FxHashSet::default();
        let mut open = vec![start];
        while let Some(piece) = open.pop() {
            if found.insert(piece) && is_last(func, piece) {
                open.extend(cfg.succs(piece.0).iter().map(|&succ| (succ, 0)));
            }
        }
        if found.contains(&(of, 0)) {
            all.extend(found);
        }
    }
    all
}

/// What only one work-item of a work-group has: an id, and its value.
type Leader = (Opcode, u64);

/// The conditions that hold at a block for one work-item of the group at most.
fn leaders_at(normal: &NormalForm, block: Block, one_row: bool) -> Vec<Leader> {
    let NormalForm { func, cfg, dom, .. } = normal;
    let mut leaders = Vec::new();
    let mut seen: EntitySet<Block> = EntitySet::new();
    let mut at = Some(block);
    while let Some(here) = at.filter(|&here| seen.insert(here)) {
        let above = dom.parent(here);
        if let Some(branch) = above.and_then(|above| func.layout.terminator(above))
            && let Imm::Branch(calls) = &func.dfg.inst(branch).imm
            && calls[0].block != calls[1].block
            && let Some(comparison) = func.dfg.def_inst(func.dfg.inst(branch).args[0])
        {
            let data = func.dfg.inst(comparison);
            let equal = if let Imm::IntCond(cond @ (IntCond::Eq | IntCond::Ne)) = data.imm {
                Some(calls[usize::from(cond == IntCond::Ne)].block)
            } else {
                None
            };
            if equal == Some(here) && data.op == Opcode::Icmp && cfg.preds(here).len() == 1 {
                leaders.extend(leader(func, data.args[0], data.args[1], one_row));
            }
        }
        at = above;
    }
    leaders
}

/// The work-item whose id is a constant.
fn leader(func: &Function, id: Value, value: Value, one_row: bool) -> Option<Leader> {
    let mut id = id;
    while let Some(inst) = func.dfg.def_inst(id) {
        let data = func.dfg.inst(inst);
        match (data.op, &data.imm) {
            // Fewer bits may be those of several ids.
            (Opcode::Itrunc, _) if func.dfg.ty(id).elem.bits() < 32 => return None,
            (Opcode::Itrunc | Opcode::Zext | Opcode::Sext, _) => id = data.args[0],
            (Opcode::LocalLinearId | Opcode::GlobalLinearId, _) => {
                return Some((data.op, func.dfg.as_splat_bits(value)?));
            }
            (Opcode::LocalId | Opcode::GlobalId, Imm::Dim(0)) if one_row => {
                return Some((data.op, func.dfg.as_splat_bits(value)?));
            }
            _ => return None,
        }
    }
    None
}
