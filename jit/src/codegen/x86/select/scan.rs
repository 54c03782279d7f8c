//! Analyses of a whole function before its instructions are selected.

use clift_kir::analysis::UseCounts;
use clift_kir::{Block, Function, Imm, Inst, Opcode, Value};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

/// The instructions that have an effect, and those they depend on.
pub(super) fn needed(func: &Function) -> EntitySet<Inst> {
    let mut found: EntitySet<Inst> = EntitySet::new();
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let mut work: Vec<Inst> = insts.copied().filter(|&inst| !func.dfg.inst(inst).op.is_pure()).collect();
    found.extend(work.iter().copied());
    while let Some(inst) = work.pop() {
        func.dfg.for_each_use(inst, |value| {
            if let Some(def) = func.dfg.def_inst(value)
                && found.insert(def)
            {
                work.push(def);
            }
        });
    }
    found
}

/// Fewest lanes, beside the first one, for which moving all lanes to scalars in pairs is better than each by itself.
const LANES_IN_PAIRS: u32 = 3;

/// Vectors of integers or addresses many of whose lanes a block extracts, by block.
pub(super) fn taken_apart(func: &Function) -> FxHashSet<(Block, Value)> {
    let mut lanes: FxHashMap<(Block, Value), u32> = FxHashMap::default();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if data.op != Opcode::Extract || data.imm == Imm::Lane(0) {
                continue;
            }
            let elem = func.dfg.ty(data.args[0]).elem;
            if (elem.is_int() || elem.is_ptr()) && elem.bytes() >= 4 {
                *lanes.entry((block, data.args[0])).or_default() += 1;
            }
        }
    }
    lanes.into_iter().filter(|&(_, count)| count >= LANES_IN_PAIRS).map(|(place, _)| place).collect()
}

/// Addresses that only accesses use, in any block.
pub(super) fn addresses(func: &Function) -> EntitySet<Value> {
    let accesses = |op: Opcode| matches!(op, Opcode::Load | Opcode::Store | Opcode::MaskedLoad | Opcode::MaskedStore);
    let mut found = EntitySet::new();
    let mut others: EntitySet<Value> = EntitySet::new();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if matches!(data.op, Opcode::Addr | Opcode::SlotAddr) {
                found.insert(func.dfg.result(inst));
            }
            let mut place = 0;
            func.dfg.for_each_use(inst, |value| {
                if !(accesses(data.op) && place == 0) {
                    others.insert(value);
                }
                place += 1;
            });
        }
    }
    for value in others.iter().collect::<Vec<_>>() {
        found.remove(value);
    }
    found
}

/// Comparisons and tests that directly precede the branch that is their only user.
pub(super) fn fused(func: &Function) -> EntitySet<Value> {
    let uses = UseCounts::new(func);
    let mut found = EntitySet::new();
    for &block in func.layout.blocks() {
        let [.., before, last] = func.layout.insts(block) else { continue };
        let (test, branch) = (func.dfg.inst(*before), func.dfg.inst(*last));
        let scalars = |value: Value| !func.dfg.ty(value).is_vector() && !func.dfg.ty(value).is_bool();
        let compares =
            (test.op == Opcode::Icmp && scalars(test.args[0])) || matches!(test.op, Opcode::Any | Opcode::All);
        if branch.op == Opcode::Branch && compares && branch.args[0] == func.dfg.result(*before) {
            let value = branch.args[0];
            let mut count = 0;
            func.dfg.for_each_use(*last, |used| count += u32::from(used == value));
            if uses.get(value) == 1 && count == 1 {
                found.insert(value);
            }
        }
    }
    found
}
