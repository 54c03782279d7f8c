//! Sinking: sums of a block's parameter and a constant, and the low bits of both, are selected as late as possible.
//!
//! The next value of a loop counter is mostly computed at the start of an iteration, or where the source says so, while the
//! counter itself is still used. Both need a register then, and the end of each iteration a copy. Computed after the last use
//! of the counter, its next value takes its place. Such a value moves down its block to its first use there, or to the start of
//! the only block that uses it, if that is executed no more often. No register more is needed anywhere, because only one
//! operand varies.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Function, Inst, Opcode, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// The instructions of each block in the order in which they are selected.
pub(super) fn order(func: &Function) -> SecondaryMap<Block, Vec<Inst>> {
    let mut order: SecondaryMap<Block, Vec<Inst>> = SecondaryMap::new();
    for &block in func.layout.blocks() {
        order[block] = func.layout.insts(block).to_vec();
    }
    let users = users(func);
    if users.is_empty() {
        return order;
    }
    let cfg = Cfg::new(func);
    let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
    for &block in cfg.rpo() {
        let list = std::mem::take(&mut order[block]);
        if !list.iter().any(|&inst| may_sink(func, inst)) {
            order[block] = list;
            continue;
        }
        // From the end, so that what others are computed from moves, too.
        let mut places: FxHashMap<Inst, usize> = FxHashMap::default();
        let mut late: FxHashMap<usize, Vec<Inst>> = FxHashMap::default();
        let mut away: FxHashMap<Block, Vec<Inst>> = FxHashMap::default();
        let mut homes: FxHashMap<Inst, Block> = FxHashMap::default();
        for (at, &inst) in list.iter().enumerate().rev() {
            places.insert(inst, at);
            if !may_sink(func, inst) {
                continue;
            }
            let of = users.get(&func.dfg.result(inst)).map(Vec::as_slice).unwrap_or_default();
            let first = of.iter().filter_map(|&(user, _)| places.get(&user)).min();
            if let Some(&first) = first {
                places.insert(inst, first);
                late.entry(first).or_default().push(inst);
            } else if let Some(&(user, to)) = of.first()
                && let to = homes.get(&user).copied().unwrap_or(to)
                && to != block
                && of.iter().all(|(user, other)| homes.get(user).unwrap_or(other) == &to)
                && cfg.preds(to) == [block]
                && loops.innermost(to) == loops.innermost(block)
            {
                places.remove(&inst);
                homes.insert(inst, to);
                away.entry(to).or_default().push(inst);
            } else {
                late.entry(at).or_default().push(inst);
            }
        }
        let mut sunk = Vec::with_capacity(list.len());
        for (at, &inst) in list.iter().enumerate() {
            // Found from the end.
            sunk.extend(late.remove(&at).unwrap_or_default().into_iter().rev());
            if !may_sink(func, inst) {
                sunk.push(inst);
            }
        }
        order[block] = sunk;
        for (to, insts) in away {
            order[to].splice(0..0, insts.into_iter().rev());
        }
    }
    order
}

/// Whether an instruction computes what may be the next value of a counter: the sum of a parameter and a constant, or the low
/// bits of a parameter or of such a sum.
fn may_sink(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    let is_low = data.op == Opcode::Itrunc;
    if !is_low && !matches!(data.op, Opcode::Iadd | Opcode::Isub) {
        return false;
    }
    let ty = func.dfg.ty(data.args[0]);
    let constant = is_low || func.dfg.as_const(data.args[1]).is_some();
    constant
        && !ty.is_vector()
        && !ty.is_bool()
        && match func.dfg.def(data.args[0]) {
            ValueDef::Param(..) => true,
            ValueDef::Result(of, _) => is_low && func.dfg.inst(of).op != Opcode::Itrunc && may_sink(func, of),
        }
}

/// The instructions that use each value that may sink, with their blocks.
fn users(func: &Function) -> FxHashMap<Value, Vec<(Inst, Block)>> {
    let mut users: FxHashMap<Value, Vec<(Inst, Block)>> = FxHashMap::default();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            func.dfg.for_each_use(inst, |value| {
                if func.dfg.def_inst(value).is_some_and(|def| may_sink(func, def)) {
                    users.entry(value).or_default().push((inst, block));
                }
            });
        }
    }
    users
}
