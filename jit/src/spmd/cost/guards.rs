//! Guards against work-items that have nothing to do, as in `if (get_global_id(0) < n)`, and before loops without iterations: nearly
//! all work-items pass them.
//!
//! A guard of a kernel compares a global id, or what has been computed from it by additions, multiplications and conversions, with something that
//! all lanes share, outside of loops; one of its targets is where its paths meet. Comparisons of local ids are not guards: in
//! each step of a reduction, half of the work-items are left. A guard of a loop branches to where the loop begins, and around it.

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
            let tests = outside && is_border_test(func, divergence, data.args[0], MAX_DEPTH);
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
        blocks.any(|block| {
            loops.innermost(block).is_some_and(|id| loops.get(id).header == block && !loops.contains(id, at))
        })
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

/// Whether a condition combines comparisons of global ids with what lanes share.
fn is_border_test(func: &Function, divergence: &Divergence, condition: Value, depth: u32) -> bool {
    let Some(inst) = func.dfg.def_inst(condition).filter(|_| depth > 0) else { return false };
    let data = func.dfg.inst(inst);
    let shared = |value: Value| divergence.shape(value).is_uniform(Scope::Pack);
    if matches!(data.op, Opcode::And | Opcode::Or | Opcode::Not) {
        let is_test = |&arg: &Value| shared(arg) || is_border_test(func, divergence, arg, depth - 1);
        return data.args.iter().all(is_test);
    }
    let orders = data.op == Opcode::Icmp && !matches!(data.imm, Imm::IntCond(IntCond::Eq | IntCond::Ne));
    let [a, b] = *data.args.as_slice() else { return false };
    orders && (shared(a) && is_global_id(func, b, MAX_DEPTH) || shared(b) && is_global_id(func, a, MAX_DEPTH))
}

/// Whether a value is computed from a global id by linear operations.
fn is_global_id(func: &Function, value: Value, depth: u32) -> bool {
    let Some(inst) = func.dfg.def_inst(value).filter(|_| depth > 0) else { return false };
    let data = func.dfg.inst(inst);
    let is_linear = |op: Opcode| {
        matches!(
            op,
            Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Shl | Opcode::Sext | Opcode::Zext | Opcode::Itrunc
        )
    };
    is_query(func, inst) || is_linear(data.op) && data.args.iter().any(|&arg| is_global_id(func, arg, depth - 1))
}

fn is_query(func: &Function, inst: Inst) -> bool {
    matches!(class(func.dfg.inst(inst).op), Class::Query(QueryOp::GlobalId | QueryOp::GlobalLinearId))
}
