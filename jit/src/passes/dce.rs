//! Dead-code elimination: removes instructions and block parameters that do not contribute to any visible effect, and barriers
//! right after which the same work-items meet again.

use clift_include::check::NO_SITE;
use clift_kir::dfg::ValueDef;
use clift_kir::{BarrierInfo, Block, DataFlowGraph, Effects, Function, Imm, Inst, InstData, Opcode, Value};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use super::Changed;

/// Marks what is needed, starting from effects and control flow, and removes the rest.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut live: EntitySet<Value> = EntitySet::new();
    let mut stack: Vec<Value> = Vec::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            if is_root(func, inst) {
                // Arguments of branch targets are needed only if the parameter is; see below.
                stack.extend(func.dfg.inst(inst).args.iter().copied());
            }
        }
    }
    let incoming = incoming_args(func);
    while let Some(value) = stack.pop() {
        if !live.insert(value) {
            continue;
        }
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => stack.extend(func.dfg.inst(inst).args.iter().copied()),
            ValueDef::Param(block, index) => {
                if let Some(args) = incoming.get(&block) {
                    stack.extend(args.iter().filter_map(|list| list.get(usize::from(index)).copied()));
                }
            }
        }
    }
    let mut changed = false;
    let mut unneeded: FxHashMap<Block, Vec<usize>> = FxHashMap::default();
    let entry = func.layout.entry();
    for block in func.layout.blocks().to_vec() {
        let Function { layout, dfg, .. } = func;
        let before = layout.insts(block).len();
        let dead: Vec<bool> = layout
            .insts(block)
            .iter()
            .map(|&inst| {
                !dfg.inst(inst).op.is_terminator()
                    && is_removable(dfg, dfg.inst(inst))
                    && !dfg.results(inst).iter().any(|&v| live.contains(v))
            })
            .collect();
        let mut position = 0;
        layout.retain(block, |_| {
            position += 1;
            !dead[position - 1]
        });
        changed |= layout.insts(block).len() != before;
        if Some(block) != entry {
            let params = func.dfg.params(block);
            let dead: Vec<usize> = (0..params.len()).filter(|&index| !live.contains(params[index])).collect();
            if !dead.is_empty() {
                unneeded.insert(block, dead);
            }
        }
    }
    changed |= merge_barriers(func);
    changed |= !unneeded.is_empty();
    remove_params(func, &unneeded);
    Changed(changed)
}

/// Merges barriers between which no memory is accessed into the last of them: each would end a loop over the work-group.
fn merge_barriers(func: &mut Function) -> bool {
    let mut removed: EntitySet<Inst> = EntitySet::new();
    let mut any = false;
    for &block in func.layout.blocks() {
        let mut last: Option<(Inst, BarrierInfo)> = None;
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if let Imm::Barrier(mut info) = data.imm
                && data.op == Opcode::Barrier
            {
                if let Some((earlier, before)) = last
                    && (before.execution, before.memory) == (info.execution, info.memory)
                {
                    removed.insert(earlier);
                    any = true;
                    info.spaces |= before.spaces;
                    func.dfg.inst_mut(inst).imm = Imm::Barrier(info);
                }
                last = Some((inst, info));
            } else if !data.op.is_pure() {
                last = None;
            }
        }
    }
    func.layout.remove_insts(&removed);
    any
}

fn is_root(func: &Function, inst: Inst) -> bool {
    !is_removable(&func.dfg, func.dfg.inst(inst))
}

fn is_removable(dfg: &DataFlowGraph, data: &InstData) -> bool {
    if data.op == Opcode::Check {
        // It reports nothing.
        return dfg.as_splat_bits(data.args[0]) == Some(NO_SITE);
    }
    match data.op.info().effects {
        Effects::Pure => true,
        Effects::Read => !matches!(&data.imm, Imm::Mem(mem) if mem.volatile),
        // Exchanging values between work-items does not order memory.
        Effects::Convergent => !matches!(data.op, Opcode::Barrier | Opcode::NamedBarrier | Opcode::Yield),
        Effects::Write | Effects::ReadWrite | Effects::Terminator => false,
    }
}

/// By block: the argument lists of all branches to it.
fn incoming_args(func: &Function) -> FxHashMap<Block, Vec<Vec<Value>>> {
    let mut map: FxHashMap<Block, Vec<Vec<Value>>> = Default::default();
    for &block in func.layout.blocks() {
        if let Some(terminator) = func.layout.terminator(block) {
            for target in func.dfg.targets(terminator) {
                if !target.args.is_empty() {
                    map.entry(target.block).or_default().push(target.args.to_vec());
                }
            }
        }
    }
    map
}

/// Removes parameters, given by block and number, and the arguments for them.
fn remove_params(func: &mut Function, unneeded: &FxHashMap<Block, Vec<usize>>) {
    let Function { layout, dfg, .. } = func;
    for &from in layout.blocks() {
        let Some(terminator) = layout.terminator(from) else { continue };
        for target in dfg.targets_mut(terminator) {
            let Some(numbers) = unneeded.get(&target.block) else { continue };
            for &number in numbers.iter().rev() {
                target.args.remove(number);
            }
        }
    }
    for (&block, numbers) in unneeded {
        for &number in numbers.iter().rev() {
            dfg.remove_param(block, number);
        }
    }
}
