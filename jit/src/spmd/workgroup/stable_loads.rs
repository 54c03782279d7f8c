//! Stable loads: loads of memory that no work-item writes between the same two barriers.
//!
//! The work-items of a group that read such memory at one address get the same value, although the kernel writes it elsewhere: a
//! counter or a flag in local memory that one work-item sets and that all read after the next barrier. With this, the condition
//! of a loop around barriers is uniform.
//!
//! That all work-items execute the code between the same two barriers at the same time is only true if they reach the barriers
//! together, which may depend on the loads. It holds if the divergence analysis shows it under the assumption that it does:
//! before the first barrier it holds for all work-items, and if it holds up to some barrier, the loads after it and the
//! branches that depend on them are uniform up to the next one. [`super::regions`] makes this test.

use clift_kir::analysis::Cfg;
use clift_kir::inst::Imm;
use clift_kir::{Block, Function, Inst, Opcode, Space};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;

use crate::passes::memory::{Escapes, Place, Write};

/// The most different writes between two barriers that are compared with loads.
const MAX_WRITES: usize = 64;

/// The stable loads of a kernel whose work-items may meet at the given blocks, the entry among them.
pub(super) fn stable_loads(func: &Function, cfg: &Cfg, starts: &[Block]) -> EntitySet<Inst> {
    let mut stable = EntitySet::new();
    // Without barriers all work-items execute everything at the same time.
    if starts.len() < 2 {
        return stable;
    }
    let mut is_start = EntitySet::new();
    is_start.extend(starts.iter().copied());
    let escapes = Escapes::new(func);
    let mut unstable = EntitySet::new();
    for &start in starts {
        let blocks = between_barriers(cfg, &is_start, start);
        let insts = || blocks.iter().flat_map(|&block| func.layout.insts(block)).copied();
        let writes: FxHashSet<Write> = insts().filter_map(|inst| Write::of(func, inst)).collect();
        for load in insts() {
            let Some(place) = shared_place(func, load) else { continue };
            if writes.len() <= MAX_WRITES && !writes.iter().any(|write| write.may_write(&place, &escapes)) {
                stable.insert(load);
            } else {
                unstable.insert(load);
            }
        }
    }
    for load in unstable.iter() {
        stable.remove(load);
    }
    stable
}

/// The blocks that are executed after a start before the next one.
fn between_barriers(cfg: &Cfg, is_start: &EntitySet<Block>, start: Block) -> Vec<Block> {
    let mut seen = EntitySet::new();
    seen.insert(start);
    let mut blocks = vec![start];
    let mut next = 0;
    while let Some(&block) = blocks.get(next) {
        next += 1;
        let new = cfg.succs(block).iter().filter(|&&succ| !is_start.contains(succ) && seen.insert(succ));
        blocks.extend(new.copied().collect::<Vec<_>>());
    }
    blocks
}

/// What a plain load reads of the memory that the work-items of a group share.
fn shared_place(func: &Function, load: Inst) -> Option<Place> {
    let data = func.dfg.inst(load);
    let (Opcode::Load, Imm::Mem(mem)) = (data.op, &data.imm) else { return None };
    let pointer = data.args[0];
    match func.dfg.ty(pointer).elem.space()? {
        Space::Global | Space::Local if !mem.volatile => {
            Some(Place::of_access(func, pointer, mem, func.dfg.ty(func.dfg.result(load))))
        }
        // The divergence analysis knows that constant memory does not change; generic addresses may be private.
        Space::Global | Space::Local | Space::Private | Space::Generic | Space::Constant | Space::Host => None,
    }
}
