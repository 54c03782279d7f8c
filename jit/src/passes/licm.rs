//! Loop-invariant code motion: pure values whose operands do not change in a loop are computed before it; so are loads that
//! always give the same and may run at any time. Inner loops first, so that a value climbs as far as it can. What only blocks
//! need that are executed seldom stays there.

use clift_kir::analysis::{Cfg, DomTree, Loop, LoopForest, Rare};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Function, Imm, InstData, Opcode};
use cranelift_entity::SecondaryMap;

use super::Changed;
use super::util::{is_invariant_load, is_speculatable_load};

/// Hoists out of every natural loop.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut cfg = Cfg::new(func);
    let mut dom = DomTree::new(&cfg);
    let mut loops = LoopForest::new(&cfg, &dom);
    for (_, l) in loops.iter() {
        preheader(func, l.header, &membership(l));
    }
    if func.dfg.block_count() > cfg.rpo().len() {
        cfg = Cfg::new(func);
        dom = DomTree::new(&cfg);
        loops = LoopForest::new(&cfg, &dom);
    }
    let rare = Rare::new(func, &cfg);
    let mut changed = false;
    for (_, l) in loops.iter().rev() {
        let inside = membership(l);
        let mut hoisted = Vec::new();
        let mut is_hoisted = rustc_hash::FxHashSet::default();
        for &block in &l.blocks {
            // A loop that is executed seldom as a whole is as good as any other.
            if rare.contains(block) && !rare.contains(l.header) {
                continue;
            }
            // A block of the loop that every iteration passes before anything can leave or fault.
            let always = l.latches.iter().all(|&latch| dom.dominates(block, latch)) && block == l.header;
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                let movable =
                    data.op.is_pure() || is_speculatable_load(func, inst) || (always && is_invariant_load(func, inst));
                if !movable || is_free(data.op) {
                    continue;
                }
                let invariant = data.args.iter().all(|&arg| match func.dfg.def(arg) {
                    ValueDef::Result(def, _) => {
                        is_hoisted.contains(&def)
                            || is_free(func.dfg.inst(def).op)
                            || !func.layout.block_of(def).is_some_and(|b| inside[b])
                    }
                    ValueDef::Param(home, _) => !inside[home],
                });
                if invariant {
                    // Constants stay where they are used, but a hoisted user needs them before the loop.
                    for &arg in &data.args {
                        if let Some(def) = func.dfg.def_inst(arg)
                            && is_free(func.dfg.inst(def).op)
                            && func.layout.block_of(def).is_some_and(|b| inside[b])
                            && is_hoisted.insert(def)
                        {
                            hoisted.push(def);
                        }
                    }
                    is_hoisted.insert(inst);
                    hoisted.push(inst);
                }
            }
        }
        if hoisted.is_empty() {
            continue;
        }
        let Some(preheader) = preheader(func, l.header, &inside) else { continue };
        changed = true;
        for &block in &l.blocks {
            func.layout.retain(block, |inst| !is_hoisted.contains(&inst));
        }
        let at = func.layout.insts(preheader).len() - 1;
        for (i, inst) in hoisted.into_iter().enumerate() {
            func.layout.insert_inst(preheader, at + i, inst);
        }
    }
    Changed(changed)
}

fn membership(l: &Loop) -> SecondaryMap<Block, bool> {
    let mut inside: SecondaryMap<Block, bool> = SecondaryMap::new();
    for &block in &l.blocks {
        inside[block] = true;
    }
    inside
}

/// Ops that cost nothing where they stand: hoisting them would only lengthen live ranges.
fn is_free(op: Opcode) -> bool {
    matches!(op, Opcode::Const | Opcode::Undef)
}

/// The block from which the loop is entered and which goes nowhere else; made if there is none. `None` for a loop at the
/// function's entry.
fn preheader(func: &mut Function, header: Block, inside: &SecondaryMap<Block, bool>) -> Option<Block> {
    let outside: Vec<Block> = func
        .layout
        .blocks()
        .iter()
        .copied()
        .filter(|&b| !inside[b] && func.successors(b).any(|s| s == header))
        .collect();
    if let [only] = *outside
        && func.successors(only).count() == 1
    {
        return Some(only);
    }
    if outside.is_empty() {
        return None;
    }
    let block = func.dfg.make_block();
    let types: Vec<_> = func.dfg.params(header).iter().map(|&p| func.dfg.ty(p)).collect();
    let params: Vec<_> = types.into_iter().map(|ty| func.dfg.append_param(block, ty)).collect();
    let jump = InstData { op: Opcode::Jump, args: Default::default(), imm: Imm::Jump(BlockCall::new(header, &params)) };
    let jump = func.dfg.make_inst(jump, &[]);
    for from in outside {
        let Some(terminator) = func.layout.terminator(from) else { continue };
        for target in func.dfg.targets_mut(terminator) {
            if target.block == header {
                target.block = block;
            }
        }
    }
    let order = func.layout.blocks().to_vec();
    let at = order.iter().position(|&b| b == header)?;
    let previous = order.get(at.checked_sub(1)?)?;
    func.layout.insert_block_after(block, *previous);
    func.layout.append_inst(block, jump);
    Some(block)
}
