//! Guards against work-items that have nothing to do, as in `if (get_global_id(0) < n)`, and before loops without iterations:
//! nearly all work-items pass them.
//!
//! A guard of a kernel compares a global id, or what has been computed from it by additions, multiplications and conversions,
//! with something that all lanes share, outside of loops; one of its targets is where its paths meet. Comparisons of local ids
//! are not guards: in each step of a reduction, half of the work-items are left. A guard of a loop branches to where the loop
//! begins, and around it.

use clift_kir::analysis::DomTree;
use clift_kir::ops::QueryOp;
use clift_kir::{Block, Function, Imm, Inst, IntCond, Opcode, Value};
use rustc_hash::FxHashMap;

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Scope;
use crate::spmd::class::{Class, class};
use crate::spmd::transform::normalize::NormalForm;

/// The share of work-items that a guard sends away.
pub(super) const SENT_AWAY: f64 = 0.05;

/// The most instructions between a global id and a comparison, or between a comparison and a branch.
const MAX_DEPTH: u32 = 8;

/// The most blocks between a branch and the loop that it guards.
const MAX_BLOCKS: usize = 3;

/// Where guards send work-items away to, by the blocks that end in them.
pub(super) fn guards(normal: &NormalForm, divergence: &Divergence) -> FxHashMap<Block, Block> {
    let NormalForm { func, cfg, loops, .. } = normal;
    let branches = cfg.rpo().iter().copied().filter(|&block| divergence.diverges(block));
    let mut guards = FxHashMap::default();
    let mut post = None;
    for at in branches {
        let Some(data) = func.layout.terminator(at).map(|last| func.dfg.inst(last)) else { continue };
        if data.op != Opcode::Branch {
            continue;
        }
        let away = around_loop(normal, at).or_else(|| {
            let outside = loops.innermost(at).is_none();
            let tests = outside && is_guard(func, divergence, data.args[0]);
            tests.then(|| where_paths_meet(normal, post.get_or_insert_with(|| DomTree::post(cfg)), at)).flatten()
        });
        guards.extend(away.map(|away| (at, away)));
    }
    guards
}

/// The target of a branch that leads around a loop, if the other one leads into it.
fn around_loop(normal: &NormalForm, at: Block) -> Option<Block> {
    let NormalForm { cfg, loops, .. } = normal;
    let only_successor = |&block: &Block| match *cfg.succs(block) {
        [next] => Some(next),
        _ => None,
    };
    let enters = |&target: &Block| {
        let mut blocks = std::iter::successors(Some(target), only_successor).take(MAX_BLOCKS);
        blocks.any(|block| loops.headed_by(block).is_some_and(|id| !loops.contains(id, at)))
    };
    match *cfg.succs(at) {
        [a, b] if enters(&a) && !enters(&b) => Some(b),
        [a, b] if enters(&b) && !enters(&a) => Some(a),
        _ => None,
    }
}

/// The target of a branch that leads to where its paths meet, without anything on the way.
fn where_paths_meet(normal: &NormalForm, post: &DomTree, at: Block) -> Option<Block> {
    let NormalForm { func, cfg, .. } = normal;
    let meet = post.parent(at)?;
    let is_empty = |block: Block| func.layout.insts(block).len() == 1 && cfg.succs(block).len() == 1;
    let leads_there = |&&target: &&Block| target == meet || is_empty(target) && cfg.succs(target)[0] == meet;
    cfg.succs(at).iter().find(leads_there).copied()
}

/// Whether a condition is that of a guard: combines comparisons of global ids with what lanes share.
pub(crate) fn is_guard(func: &Function, divergence: &Divergence, condition: Value) -> bool {
    is_border_test(func, &|value| divergence.shape(value).is_uniform(Scope::Pack), condition, MAX_DEPTH)
}

/// Whether a condition may be that of a guard: whether it is depends on what lanes share.
pub(crate) fn may_be_guard(func: &Function, condition: Value) -> bool {
    is_border_test(func, &|_| true, condition, MAX_DEPTH)
}

/// As [`is_guard`], so many instructions deep, and with the values that lanes share.
fn is_border_test(func: &Function, shared: &impl Fn(Value) -> bool, condition: Value, depth: u32) -> bool {
    let Some(inst) = func.dfg.def_inst(condition).filter(|_| depth > 0) else { return false };
    let data = func.dfg.inst(inst);
    if matches!(data.op, Opcode::And | Opcode::Or | Opcode::Not) {
        let mut any = false;
        let all = data.args.iter().all(|&arg| {
            let tests = is_border_test(func, shared, arg, depth - 1);
            any |= tests;
            tests || shared(arg)
        });
        return any && all;
    }
    let orders = data.op == Opcode::Icmp && !matches!(data.imm, Imm::IntCond(IntCond::Eq | IntCond::Ne));
    let [a, b] = *data.args.as_slice() else { return false };
    orders && (shared(a) && is_global_id(func, b, MAX_DEPTH) || shared(b) && is_global_id(func, a, MAX_DEPTH))
}

/// Which work-items of a group take part in a step of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// The first ones.
    Neighbours,
    /// Every second, fourth, ... one.
    Spread,
}

/// Whether the work-items for which a condition has the value `holds` are those of a step of a reduction, of which each has
/// half as many as the one before: `lid < s` and `lid % (2 * s) == 0` where s changes in a loop around.
pub(super) fn reduction_steps(
    normal: &NormalForm,
    divergence: &Divergence,
    at: Block,
    condition: Value,
    holds: bool,
) -> Option<Steps> {
    let around = normal.loops.innermost(at)?;
    let changes = |value: Value| {
        let home = normal.func.def_block(value);
        divergence.shape(value).is_uniform(Scope::Pack) && home.is_some_and(|home| normal.loops.contains(around, home))
    };
    steps(&normal.func, &changes, condition, holds, MAX_DEPTH)
}

fn steps(
    func: &Function,
    changes: &impl Fn(Value) -> bool,
    condition: Value,
    holds: bool,
    depth: u32,
) -> Option<Steps> {
    let data = func.dfg.def_inst(condition).filter(|_| depth > 0).map(|inst| func.dfg.inst(inst))?;
    match (data.op, &data.imm, data.args.as_slice()) {
        (Opcode::Not, _, &[other]) => steps(func, changes, other, !holds, depth - 1),
        (Opcode::And | Opcode::Or, _, args) if holds == (data.op == Opcode::And) => {
            args.iter().find_map(|&arg| steps(func, changes, arg, holds, depth - 1))
        }
        (Opcode::Icmp, &Imm::IntCond(cond), &[a, b]) => {
            let cond = if holds { cond } else { cond.inverse() };
            let is_below = |cond: IntCond| matches!(cond, IntCond::Ult | IntCond::Slt | IntCond::Ule | IntCond::Sle);
            let of_id = |a: Value, b: Value, cond: IntCond| {
                is_below(cond) && changes(b) && is_id(func, a, &is_local_query, MAX_DEPTH)
            };
            if of_id(a, b, cond) || of_id(b, a, cond.swapped()) {
                return Some(Steps::Neighbours);
            }
            let is_zero = |value: Value| func.dfg.as_splat_bits(value) == Some(0);
            let rest = if is_zero(b) { a } else { b };
            let divided = func.dfg.def_inst(rest).map(|inst| func.dfg.inst(inst))?;
            let by = matches!(divided.op, Opcode::And | Opcode::Urem | Opcode::Srem)
                && divided.args.iter().any(|&arg| changes(arg))
                && divided.args.iter().any(|&arg| is_id(func, arg, &is_local_query, MAX_DEPTH));
            (cond == IntCond::Eq && (is_zero(a) || is_zero(b)) && by).then_some(Steps::Spread)
        }
        _ => None,
    }
}

/// Whether a value is computed from a global id by linear operations.
fn is_global_id(func: &Function, value: Value, depth: u32) -> bool {
    is_id(func, value, &is_query, depth)
}

/// Whether a value is computed from a query by linear operations.
fn is_id(func: &Function, value: Value, is_query: &impl Fn(&Function, Inst) -> bool, depth: u32) -> bool {
    let Some(inst) = func.dfg.def_inst(value).filter(|_| depth > 0) else { return false };
    let data = func.dfg.inst(inst);
    let is_linear = |op: Opcode| {
        matches!(
            op,
            Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Shl | Opcode::Sext | Opcode::Zext | Opcode::Itrunc
        )
    };
    is_query(func, inst) || is_linear(data.op) && data.args.iter().any(|&arg| is_id(func, arg, is_query, depth - 1))
}

fn is_query(func: &Function, inst: Inst) -> bool {
    matches!(class(func.dfg.inst(inst).op), Class::Query(QueryOp::GlobalId | QueryOp::GlobalLinearId))
}

fn is_local_query(func: &Function, inst: Inst) -> bool {
    matches!(class(func.dfg.inst(inst).op), Class::Query(QueryOp::LocalId | QueryOp::LocalLinearId))
}
