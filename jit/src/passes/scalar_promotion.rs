//! Scalar promotion: memory at an address that does not change in a loop, which the loop reads and writes, is a value there.
//!
//! ```text
//! for (k = 0; k != n; k++)                   sum = c[i];
//!     c[i] += a[k] * b[k];                   for (k = 0; k != n; k++)
//!                                                sum += a[k] * b[k];
//!                                            c[i] = sum;
//! ```
//!
//! Every iteration must store there, so that the store after the loop is not a new one, and nothing else in the loop may access
//! the memory or order accesses of work-items. The value is put into a variable, which [`super::mem2reg`] promotes afterwards.

use clift_kir::analysis::{Cfg, DomTree, LoopForest, LoopId};
use clift_kir::{Block, Builder, Effects, Function, Imm, Inst, MemInfo, Opcode, SlotData, Space, Type, Value};
use rustc_hash::FxHashMap;

use super::memory::{Escapes, Place, Write, plain_access};
use super::unequal_addresses::UnequalAddresses;
use super::{Changed, loop_form};

/// The most instructions of a loop that is looked at.
const MAX_INSTS: usize = 4000;
/// The most addresses of a loop that become values.
const MAX_PROMOTED: usize = 16;

/// Promotes in all loops, from the inside out.
pub(super) fn run(func: &mut Function) -> Changed {
    let cfg = Cfg::new(func);
    let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
    if !loops.iter().any(|(id, _)| has_candidate(func, &loops, id)) {
        return Changed(false);
    }
    let Some((cfg, dom, loops)) = loop_form::run(func) else { return Changed(false) };
    // Promotion makes no address escape that did not before: what was stored is passed on as a value.
    let escapes = Escapes::new(func);
    for (id, _) in loops.iter().rev() {
        if has_candidate(func, &loops, id) {
            promote(func, &escapes, (&cfg, &dom, &loops), id);
        }
    }
    Changed(true)
}

/// A plain load or store at an address from outside of a loop: the address, the type, and the access.
fn candidate(func: &Function, loops: &LoopForest, id: LoopId, inst: Inst) -> Option<(Value, Type, MemInfo)> {
    let (pointer, ty, mem) = plain_access(func, inst)?;
    let home = func.def_block(pointer);
    let outside = home.is_some_and(|home| !loops.contains(id, home));
    outside.then_some((pointer, ty, mem))
}

/// Whether a loop, which is not too long, loads from and stores to an address from outside.
fn has_candidate(func: &Function, loops: &LoopForest, id: LoopId) -> bool {
    let insts = || loops.get(id).blocks.iter().flat_map(|&block| func.layout.insts(block)).copied();
    insts().take(MAX_INSTS + 1).count() <= MAX_INSTS
        && insts().any(|inst| func.dfg.inst(inst).op == Opcode::Store && candidate(func, loops, id, inst).is_some())
}

/// What a loop does at one address.
struct Promoted {
    pointer: Value,
    ty: Type,
    mem: MemInfo,
    insts: Vec<Inst>,
    /// Whether every iteration stores.
    is_stored: bool,
}

fn promote(func: &mut Function, escapes: &Escapes, (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest), id: LoopId) {
    let data = loops.get(id);
    let inside = |block: Block| loops.contains(id, block);
    let exits: Vec<Block> =
        data.blocks.iter().flat_map(|&block| cfg.succs(block)).copied().filter(|&succ| !inside(succ)).collect();
    let own_exits = exits.iter().all(|&exit| cfg.preds(exit).iter().all(|&pred| inside(pred)));
    let entering: Vec<Block> = cfg.preds(data.header).iter().copied().filter(|&pred| !inside(pred)).collect();
    let &[preheader] = entering.as_slice() else { return };
    if !own_exits || exits.is_empty() || cfg.succs(preheader).len() != 1 {
        return;
    }
    let leaves = |block: &Block| cfg.succs(*block).iter().any(|&succ| !inside(succ)) || cfg.succs(*block).is_empty();
    let exiting: Vec<Block> = data.blocks.iter().copied().filter(leaves).collect();
    let mut found: FxHashMap<Value, Promoted> = FxHashMap::default();
    for &block in &data.blocks {
        let always = exiting.iter().chain(&data.latches).all(|&exit| dom.dominates(block, exit));
        for &inst in func.layout.insts(block) {
            let Some((pointer, ty, mem)) = candidate(func, loops, id, inst) else { continue };
            let at = found.entry(pointer).or_insert(Promoted { pointer, ty, mem, insts: Vec::new(), is_stored: false });
            at.is_stored |= always && func.dfg.inst(inst).op == Opcode::Store && at.ty == ty;
            at.insts.push(inst);
        }
    }
    let mut found: Vec<Promoted> = found.into_values().filter(|at| at.is_stored).collect();
    found.sort_by_key(|at| at.pointer);
    found.truncate(MAX_PROMOTED);
    let unequal = UnequalAddresses { func, cfg, loops };
    found.retain(|at| is_alone(&unequal, id, at, escapes));
    for at in &found {
        apply(func, at, preheader, &exits);
    }
}

/// Whether nothing else in a loop may access what is at an address, or order accesses to it.
fn is_alone(unequal: &UnequalAddresses<'_>, id: LoopId, at: &Promoted, escapes: &Escapes) -> bool {
    let UnequalAddresses { func, loops, .. } = *unequal;
    let place = Place::of_access(func, at.pointer, &at.mem, at.ty);
    let are_apart =
        |pointer: Value, ty: Type| unequal.are_apart(id, pointer, at.pointer, ty.bytes().max(at.ty.bytes()));
    let mut insts = loops.get(id).blocks.iter().flat_map(|&block| func.layout.insts(block));
    insts.all(|&inst| {
        let data = func.dfg.inst(inst);
        if at.insts.contains(&inst) {
            let ty =
                if data.op == Opcode::Store { func.dfg.ty(data.args[1]) } else { func.dfg.ty(func.dfg.result(inst)) };
            return ty == at.ty;
        }
        match data.op.info().effects {
            Effects::Pure | Effects::Terminator => true,
            Effects::Read => {
                if let Imm::Mem(mem) = &data.imm
                    && data.op == Opcode::Load
                {
                    let ty = func.dfg.ty(func.dfg.result(inst));
                    let apart = !Place::of_access(func, data.args[0], mem, ty).may_overlap(&place, escapes);
                    apart || are_apart(data.args[0], ty)
                } else {
                    false
                }
            }
            Effects::Write if data.op == Opcode::Store => {
                let may_change = Write::of(func, inst).is_some_and(|write| write.may_change(&place, escapes));
                !may_change || are_apart(data.args[0], func.dfg.ty(data.args[1]))
            }
            Effects::Write | Effects::ReadWrite | Effects::Convergent => false,
        }
    })
}

/// Keeps what is at an address in a variable from the preheader to the exits.
fn apply(func: &mut Function, at: &Promoted, preheader: Block, exits: &[Block]) {
    let bytes = u64::from(at.ty.bytes());
    let slot = func.slots.push(SlotData { size: bytes, align: at.ty.bytes().next_power_of_two().min(64) });
    let mem = MemInfo::aligned(at.ty.bytes().next_power_of_two().min(64));
    let loc = func.locs[at.insts[0]];
    let before = func.layout.insts(preheader).len() - 1;
    let mut b = Builder::before(func, preheader, before);
    b.set_loc(loc);
    let value = b.load(at.ty, at.pointer, at.mem);
    let variable = b.slot_addr(slot);
    b.store(variable, value, mem);
    for &inst in &at.insts {
        let data = func.dfg.inst_mut(inst);
        data.args[0] = variable;
        data.imm = Imm::Mem(mem);
    }
    let mut stored: Vec<Block> = Vec::new();
    for &exit in exits {
        if stored.contains(&exit) {
            continue;
        }
        stored.push(exit);
        let mut b = Builder::before(func, exit, 0);
        b.set_loc(loc);
        let value = b.load(at.ty, variable, mem);
        b.store(at.pointer, value, at.mem);
    }
    debug_assert!(func.dfg.ty(variable).elem.space() == Some(Space::Private));
}
