//! Structure: ids that exist, complete blocks, single definitions that dominate their uses.

use cranelift_entity::{EntityRef, EntitySet};

use super::{Checker, each_inst};
use crate::analysis::{Cfg, DomTree};
use crate::dfg::ValueDef;
use crate::entities::{Inst, Value};
use crate::inst::Imm;

/// Every id names something of this function. All other checks rely on it.
pub(super) fn ids(report: &mut Checker<'_>) {
    let func = report.func;
    let dfg = &func.dfg;
    for &block in func.layout.blocks() {
        if block.index() >= dfg.block_count() {
            report.block(block, "is not a block of this function");
            continue;
        }
        for &inst in func.layout.insts(block) {
            if inst.index() >= dfg.inst_count() {
                report.block(block, format!("{inst} is not an instruction of this function"));
                continue;
            }
            let mut wrong = None;
            dfg.for_each_use(inst, |value| {
                if value.index() >= dfg.value_count() {
                    wrong = Some(value.to_string());
                }
            });
            for target in dfg.targets(inst) {
                if target.block.index() >= dfg.block_count() || !func.layout.contains(target.block) {
                    wrong = Some(target.block.to_string());
                }
            }
            if let Imm::Const(id) = dfg.inst(inst).imm
                && id.index() >= dfg.const_count()
            {
                wrong = Some(id.to_string());
            }
            if let Some(wrong) = wrong {
                // Not printed: its text might need what does not exist.
                report.block(
                    block,
                    format!("{inst} ({}) names {wrong}, which does not exist", dfg.inst(inst).op.info().name),
                );
            }
        }
    }
}

/// Blocks are complete, instructions stand once, definitions know where they are.
pub(super) fn blocks(report: &mut Checker<'_>) {
    let func = report.func;
    let Some(entry) = func.layout.entry() else {
        report.function("has no blocks");
        return;
    };
    let mut seen: EntitySet<Inst> = EntitySet::new();
    for &block in func.layout.blocks() {
        for (i, &param) in func.dfg.params(block).iter().enumerate() {
            if func.dfg.def(param) != ValueDef::Param(block, i as u16) {
                report.block(block, format!("parameter {param} is defined elsewhere too"));
            }
        }
        let insts = func.layout.insts(block);
        let Some((&last, _)) = insts.split_last() else {
            report.block(block, "is empty");
            continue;
        };
        for &inst in insts {
            if !seen.insert(inst) || func.layout.block_of(inst) != Some(block) {
                report.inst(block, inst, "stands in more than one place");
            }
            let terminator = func.dfg.inst(inst).op.is_terminator();
            if terminator && inst != last {
                report.inst(block, inst, "ends a block but is not the last instruction");
            } else if !terminator && inst == last {
                report.inst(block, inst, "is the last instruction but does not end the block");
            }
            for (i, &result) in func.dfg.results(inst).iter().enumerate() {
                if func.dfg.def(result) != ValueDef::Result(inst, i as u16) {
                    report.inst(block, inst, format!("result {result} is defined elsewhere too"));
                }
            }
            for target in func.dfg.targets(inst) {
                if target.block == entry {
                    report.inst(block, inst, "goes back to the entry block");
                }
            }
        }
    }
}

/// Every used value is defined in the function, before the use on every path. Blocks that the entry does not reach may use
/// anything that is defined somewhere.
pub(super) fn dominance(report: &mut Checker<'_>) {
    let func = report.func;
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    // Position of each instruction, to order definition and use within a block.
    let mut position: cranelift_entity::SecondaryMap<Inst, u32> = cranelift_entity::SecondaryMap::new();
    for &block in func.layout.blocks() {
        for (i, &inst) in func.layout.insts(block).iter().enumerate() {
            position[inst] = i as u32;
        }
    }
    for (block, inst) in each_inst(func) {
        let mut wrong: Vec<(Value, &str)> = Vec::new();
        func.dfg.for_each_use(inst, |value| {
            let home = match func.dfg.def(value) {
                ValueDef::Param(home, i) => {
                    let known = func.layout.contains(home) && func.dfg.params(home).get(usize::from(i)) == Some(&value);
                    known.then_some(home)
                }
                ValueDef::Result(def, i) => {
                    func.layout.block_of(def).filter(|_| func.dfg.results(def).get(usize::from(i)) == Some(&value))
                }
            };
            let Some(home) = home else {
                wrong.push((value, "is not defined in the function"));
                return;
            };
            if !cfg.reaches(block) {
                return;
            }
            let before = match func.dfg.def(value) {
                ValueDef::Result(def, _) if home == block => position[def] < position[inst],
                ValueDef::Result(..) | ValueDef::Param(..) => dom.dominates(home, block),
            };
            if !before {
                wrong.push((value, "does not dominate this use"));
            }
        });
        for (value, what) in wrong {
            report.inst(block, inst, format!("{value} {what}"));
        }
    }
}
