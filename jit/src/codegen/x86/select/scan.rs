//! Analyses of a whole function before its instructions are selected.

use clift_kir::analysis::UseCounts;
use clift_kir::{Block, Function, Imm, Inst, Opcode, Type, Value};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::class;
use crate::codegen::x86::code::GPR;

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

/// Comparisons and tests that are not computed where they are, but set the flags for each instruction that uses them: branches
/// and choices between scalars of the same block. With them the conjunctions of bits that they compare with zero, and the
/// conjunctions and disjunctions of comparisons that become several branches.
pub(super) fn fused(func: &Function, uses: &UseCounts) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    let mut wanted: FxHashMap<Value, u32> = FxHashMap::default();
    for &block in func.layout.blocks() {
        wanted.clear();
        for &inst in func.layout.insts(block) {
            let Some((cond, def)) = flags_user(func, inst) else { continue };
            if func.layout.block_of(def) != Some(block) {
                continue;
            }
            *wanted.entry(cond).or_default() += 1;
        }
        if let Some(terms) = func.layout.terminator(block).and_then(|last| terms_of_branch(func, uses, block, last)) {
            found.extend(terms);
        }
        for (&value, &count) in &wanted {
            if uses.get(value) == count {
                found.insert(value);
                found.extend(tested_bits(func, value, block).filter(|&bits| uses.get(bits) == 1));
            }
        }
    }
    found
}

/// The most comparisons that become a branch each.
const MAX_TERMS: usize = 4;

/// How many definitions deep it is looked for what decides a comparison.
const PREDICTABLE_DEPTH: u32 = 6;

/// The terms of a branch's condition, and the conjunctions or disjunctions that they form, if each term becomes a branch: all are
/// comparisons of integers without other uses, of which at most one depends on data. Two branches on data would be mispredicted
/// more often than one.
fn terms_of_branch(func: &Function, uses: &UseCounts, block: Block, branch: Inst) -> Option<Vec<Value>> {
    let dfg = &func.dfg;
    let cond = *dfg.inst(branch).args.first().filter(|_| dfg.inst(branch).op == Opcode::Branch)?;
    let op = dfg.inst(dfg.def_inst(cond)?).op;
    if !matches!(op, Opcode::And | Opcode::Or) || dfg.ty(cond) != Type::B1 {
        return None;
    }
    let (mut found, mut terms, mut unsure) = (Vec::new(), 0, 0);
    let mut stack = vec![cond];
    while let Some(value) = stack.pop() {
        let inst = dfg.def_inst(value).filter(|&inst| func.layout.block_of(inst) == Some(block))?;
        let data = dfg.inst(inst);
        found.push(value);
        if uses.get(value) != 1 {
            return None;
        } else if data.op == op {
            stack.extend(&data.args);
        } else if data.op == Opcode::Icmp && !dfg.ty(data.args[0]).is_bool() && class(dfg.ty(data.args[0])) == GPR {
            terms += 1;
            unsure += usize::from(!data.args.iter().all(|&arg| is_predictable(func, arg, PREDICTABLE_DEPTH)));
        } else {
            return None;
        }
    }
    (terms <= MAX_TERMS && unsure <= 1).then_some(found)
}

/// Whether an integer is computed from ids, counters and arguments alone, as far as its definitions are looked at.
fn is_predictable(func: &Function, value: Value, depth: u32) -> bool {
    let Some(inst) = func.dfg.def_inst(value) else { return true };
    let data = func.dfg.inst(inst);
    let is_argument = matches!(&data.imm, Imm::Mem(mem) if mem.invariant);
    (data.op.is_pure() && data.op != Opcode::Extract || is_argument)
        && (depth == 0 || data.args.iter().all(|&arg| is_predictable(func, arg, depth - 1)))
}

/// The condition of a branch, or of a choice between scalars, that the flags may tell, and its definition.
fn flags_user(func: &Function, inst: Inst) -> Option<(Value, Inst)> {
    let dfg = &func.dfg;
    let data = dfg.inst(inst);
    let branches = data.op == Opcode::Branch;
    let chooses = || data.op == Opcode::Select && class(dfg.ty(dfg.result(inst))) == GPR;
    if !branches && !chooses() {
        return None;
    }
    let cond = data.args[0];
    let def = dfg.def_inst(cond)?;
    let test = dfg.inst(def);
    let of_flags = match (&test.imm, test.op) {
        (Imm::IntCond(_), Opcode::Icmp) => class(dfg.ty(test.args[0])) == GPR && !dfg.ty(test.args[0]).is_bool(),
        (Imm::FloatCond(cond, _), Opcode::Fcmp) => {
            !dfg.ty(test.args[0]).is_vector() && super::float::flags_condition(*cond).is_some()
        }
        (_, Opcode::Any | Opcode::All) => branches,
        _ => false,
    };
    of_flags.then_some((cond, def))
}

/// The bits that a comparison with zero tests, if one instruction tests them: the result of a conjunction in the same block.
fn tested_bits(func: &Function, comparison: Value, block: Block) -> Option<Value> {
    let dfg = &func.dfg;
    let test = dfg.inst(dfg.def_inst(comparison)?);
    let Imm::IntCond(_) = test.imm else { return None };
    let (&bits, &zero) = (test.args.first()?, test.args.get(1)?);
    let conjunction = dfg.def_inst(bits).filter(|&inst| dfg.inst(inst).op == Opcode::And)?;
    let whole = dfg.ty(bits).elem.bits() >= 32;
    let here = func.layout.block_of(conjunction) == Some(block);
    (whole && here && dfg.as_splat_bits(zero) == Some(0)).then_some(bits)
}
