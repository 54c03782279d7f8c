//! Control-flow simplification: removes unreachable blocks, turns branches with a known outcome into jumps, merges chains of
//! blocks, threads jumps through empty blocks, and finds blocks that are not cold after all.

use clift_kir::analysis::Cfg;
use clift_kir::ssa::remove_trivial_params;
use clift_kir::{Block, BlockCall, Function, Imm, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::Changed;
use super::util::{Replacements, set_jump};

/// Repeats all steps until none changes anything.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    loop {
        let mut again = fold_branches(func);
        again |= remove_unreached(func);
        again |= clear_cold(func);
        again |= thread_empty(func);
        again |= remove_trivial_params(func);
        again |= merge_chains(func);
        if !again {
            return Changed(changed);
        }
        changed = true;
    }
}

/// Turns branches and switches on constants, or with equal targets, into jumps.
fn fold_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        let Some(inst) = func.layout.terminator(block) else { continue };
        let data = func.dfg.inst(inst);
        let selector = data.args.first().and_then(|&v| func.dfg.as_splat_bits(v));
        let target = if let Imm::Branch(calls) = &data.imm {
            match selector {
                Some(bits) => Some(calls[usize::from(bits == 0)].clone()),
                None => (calls[0] == calls[1]).then(|| calls[0].clone()),
            }
        } else if let Imm::Switch(switch) = &data.imm {
            match selector {
                Some(bits) => {
                    let case = switch.cases.iter().find(|(value, _)| *value == bits);
                    Some(case.map_or(&switch.default, |(_, call)| call).clone())
                }
                None => switch.cases.iter().all(|(_, call)| *call == switch.default).then(|| switch.default.clone()),
            }
        } else {
            None
        };
        if let Some(call) = target {
            set_jump(func, inst, call);
            changed = true;
        }
    }
    changed
}

/// A block that is not cold leads to one that is not: if all its targets are cold, because a pass has found out that the others
/// are never reached, they are executed as often as it is.
fn clear_cold(func: &mut Function) -> bool {
    let mut warm: Vec<Block> = func.layout.blocks().iter().copied().filter(|&b| !func.layout.is_cold(b)).collect();
    if warm.len() == func.layout.blocks().len() {
        return false;
    }
    let mut changed = false;
    while let Some(block) = warm.pop() {
        let targets: SmallVec<[Block; 2]> = func.successors(block).collect();
        if targets.iter().all(|&target| func.layout.is_cold(target)) {
            changed |= !targets.is_empty();
            for target in targets {
                func.layout.clear_cold(target);
                warm.push(target);
            }
        }
    }
    changed
}

fn remove_unreached(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    if cfg.rpo().len() == func.layout.blocks().len() {
        return false;
    }
    let order = func.layout.blocks().iter().copied().filter(|&b| cfg.reaches(b)).collect();
    func.layout.set_order(order);
    true
}

/// Jump threading: branches to a block that only jumps go directly to its target. The block's parameters must not be used outside
/// of its own jump.
fn thread_empty(func: &mut Function) -> bool {
    let entry = func.layout.entry();
    let mut forward: SecondaryMap<Block, Option<BlockCall>> = SecondaryMap::new();
    let mut any = false;
    let mut outside_uses: SecondaryMap<Block, bool> = SecondaryMap::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            func.dfg.for_each_use(inst, |value| {
                if let clift_kir::dfg::ValueDef::Param(home, _) = func.dfg.def(value)
                    && home != block
                {
                    outside_uses[home] = true;
                }
            });
        }
    }
    for &block in func.layout.blocks() {
        if let [only] = *func.layout.insts(block)
            && let Imm::Jump(call) = &func.dfg.inst(only).imm
            && call.block != block
            && Some(block) != entry
            && !outside_uses[block]
        {
            forward[block] = Some(call.clone());
            any = true;
        }
    }
    if !any {
        return false;
    }
    follow(func, &mut forward);
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        let Some(inst) = func.layout.terminator(block) else { continue };
        let params: Vec<Vec<_>> =
            func.dfg.targets(inst).iter().map(|call| func.dfg.params(call.block).to_vec()).collect();
        for (target, params) in func.dfg.targets_mut(inst).into_iter().zip(params) {
            if let Some(call) = &forward[target.block] {
                *target = through(target, &params, call);
                changed = true;
            }
        }
    }
    changed
}

/// The combined call for a call of a block with the parameters `params` that only makes the call `next`.
fn through(call: &BlockCall, params: &[Value], next: &BlockCall) -> BlockCall {
    let args = next.args.iter().map(|v| match params.iter().position(|p| p == v) {
        Some(i) => call.args[i],
        None => *v,
    });
    BlockCall { block: next.block, args: args.collect() }
}

/// Resolves chains of blocks that only jump, so that each leads to the end of its chain. In a cycle of such blocks one stays.
fn follow(func: &Function, forward: &mut SecondaryMap<Block, Option<BlockCall>>) {
    let mut on_path: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut done: SecondaryMap<Block, bool> = SecondaryMap::new();
    for &start in func.layout.blocks() {
        let mut path = Vec::new();
        let mut at = start;
        while let Some(call) = &forward[at] {
            let next = call.block;
            if done[at] {
                break;
            }
            if on_path[at] {
                forward[at] = None;
                break;
            }
            on_path[at] = true;
            path.push(at);
            at = next;
        }
        for block in path.into_iter().rev() {
            done[block] = true;
            if let Some(call) = &forward[block]
                && let Some(next) = &forward[call.block]
            {
                forward[block] = Some(through(call, func.dfg.params(call.block), next));
            }
        }
    }
}

/// Merges a block into its only predecessor if that jumps to it unconditionally. Of a chain, all blocks are merged into the first
/// one, so that each instruction moves once.
fn merge_chains(func: &mut Function) -> bool {
    let mut edges: SecondaryMap<Block, u32> = SecondaryMap::new();
    for &block in func.layout.blocks() {
        for succ in func.successors(block) {
            edges[succ] += 1;
        }
    }
    let entry = func.layout.entry();
    let mut replacements = Replacements::default();
    let follower = |func: &Function, block: Block| {
        let Imm::Jump(call) = &func.dfg.inst(func.layout.terminator(block)?).imm else { return None };
        (call.block != block && Some(call.block) != entry && edges[call.block] == 1).then(|| call.clone())
    };
    let mut merged: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut changed = false;
    for &block in func.layout.blocks() {
        if let Some(call) = follower(func, block) {
            merged[call.block] = true;
            changed = true;
        }
    }
    for block in func.layout.blocks().to_vec() {
        if merged[block] {
            continue;
        }
        while let Some(BlockCall { block: next, args }) = follower(func, block) {
            for (&param, &arg) in func.dfg.params(next).iter().zip(&args) {
                replacements.set(param, arg);
            }
            func.layout.merge(block, next);
            if func.layout.is_cold(next) {
                func.layout.set_cold(block);
            }
        }
    }
    if changed {
        let order = func.layout.blocks().iter().copied().filter(|&b| !merged[b]).collect();
        func.layout.set_order(order);
        replacements.apply(func);
    }
    changed
}

#[cfg(test)]
mod tests {
    use clift_kir::{Builder, Type};

    use super::*;

    /// If each merge moved all instructions so far, this would take minutes.
    #[test]
    fn a_long_chain_is_one_block() {
        const BLOCKS: usize = 1 << 17;
        let mut func = Function::new("k", &[]);
        let blocks: Vec<Block> = (0..BLOCKS).map(|_| func.append_block()).collect();
        for (at, &block) in blocks.iter().enumerate() {
            let mut b = Builder::at_end(&mut func, block);
            b.iconst(Type::I32, at as i64);
            match blocks.get(at + 1) {
                Some(&next) => b.jump(next, &[]),
                None => b.ret(&[]),
            };
        }
        assert!(run(&mut func).0);
        assert_eq!(func.layout.blocks().len(), 1);
        assert_eq!(func.layout.insts(blocks[0]).len(), BLOCKS + 1);
    }
}
