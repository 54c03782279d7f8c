//! Control-flow simplification: unreached blocks go, branches whose way is known become jumps, chains of blocks become one,
//! empty blocks are threaded.

use clift_kir::analysis::Cfg;
use clift_kir::ssa::remove_trivial_params;
use clift_kir::{Block, BlockCall, Function, Imm, Value};
use cranelift_entity::SecondaryMap;

use super::Changed;
use super::util::{Replacements, set_jump};

/// Repeats the steps until none changes anything.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    loop {
        let mut again = fold_branches(func);
        again |= remove_unreached(func);
        again |= thread_empty(func);
        again |= remove_trivial_params(func);
        again |= merge_chains(func);
        if !again {
            return Changed(changed);
        }
        changed = true;
    }
}

/// Branches and switches on constants, or whose targets are all the same, become jumps.
fn fold_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        let Some(inst) = func.layout.terminator(block) else { continue };
        let data = func.dfg.inst(inst);
        let selector = data.args.first().and_then(|&v| func.dfg.as_splat_bits(v));
        let target = match &data.imm {
            Imm::Branch(calls) => match selector {
                Some(bits) => Some(calls[usize::from(bits == 0)].clone()),
                None => (calls[0] == calls[1]).then(|| calls[0].clone()),
            },
            Imm::Switch(switch) => match selector {
                Some(bits) => {
                    let case = switch.cases.iter().find(|(value, _)| *value == bits);
                    Some(case.map_or(&switch.default, |(_, call)| call).clone())
                }
                None => switch.cases.iter().all(|(_, call)| *call == switch.default).then(|| switch.default.clone()),
            },
            _ => None,
        };
        if let Some(call) = target {
            set_jump(func, inst, call);
            changed = true;
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

/// A block that only jumps on is skipped by those who come to it. Its parameters may be used by nobody but its own jump.
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
        if forward[block].is_some() {
            continue; // its own callers are redirected; it will be unreached
        }
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

/// Where a call of a block with these parameters, which only makes another, ends.
fn through(call: &BlockCall, params: &[Value], next: &BlockCall) -> BlockCall {
    let args = next.args.iter().map(|v| match params.iter().position(|p| p == v) {
        Some(i) => call.args[i],
        None => *v,
    });
    BlockCall { block: next.block, args: args.collect() }
}

/// Lets blocks that jump to others that only jump on lead to the last of them. One block of a cycle of such stays.
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

/// A block whose only predecessor jumps to it, and nowhere else, is appended to that predecessor.
fn merge_chains(func: &mut Function) -> bool {
    let mut edges: SecondaryMap<Block, u32> = SecondaryMap::new();
    for &block in func.layout.blocks() {
        for succ in func.successors(block) {
            edges[succ] += 1;
        }
    }
    let entry = func.layout.entry();
    let mut replacements = Replacements::default();
    let mut gone: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut changed = false;
    for block in func.layout.blocks().to_vec() {
        if gone[block] {
            continue;
        }
        while let Some(inst) = func.layout.terminator(block)
            && let Imm::Jump(call) = &func.dfg.inst(inst).imm
            && call.block != block
            && Some(call.block) != entry
            && edges[call.block] == 1
        {
            let BlockCall { block: next, args } = call.clone();
            for (&param, &arg) in func.dfg.params(next).iter().zip(&args) {
                replacements.set(param, arg);
            }
            let mut insts = func.layout.take_insts(block);
            insts.pop();
            insts.extend(func.layout.take_insts(next));
            func.layout.set_insts(block, insts);
            if func.layout.is_cold(next) {
                func.layout.set_cold(block);
            }
            gone[next] = true;
            changed = true;
        }
    }
    if changed {
        let order = func.layout.blocks().iter().copied().filter(|&b| !gone[b]).collect();
        func.layout.set_order(order);
        replacements.apply(func);
    }
    changed
}
