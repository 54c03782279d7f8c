//! Loop rotation: a loop that tests its condition at the top gets the test at the bottom, behind a copy of it that guards the
//! loop.
//!
//! ```text
//! preheader: jump head(a)                    preheader: branch c(a), body(a), exit
//! head(i):   branch c(i), body, exit         body(i):   ...
//! body:      ...                                        branch c(i + 1), body(i + 1), exit
//!            jump head(i + 1)
//! ```
//!
//! An iteration then takes one jump less. What matters more: everything at the start of the loop is executed whenever the loop is
//! entered, so loads can be hoisted out of it; and the guard often folds.
//!
//! The guard has decided what the first iteration's test would, so a counter that changes by one towards a loop-invariant limit
//! meets it exactly: the test at the bottom becomes an inequality ([`exit_test`]). Then work-items whose counters and limits are
//! the same distance apart leave the loop together, which comparisons of order would not show.
//!
//! The test is copied only if it is short and has no effects. Loops that already test at the bottom are not changed.

mod exit_test;

use std::cmp::Reverse;

use clift_kir::analysis::{Cfg, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::{Block, BlockCall, Builder, Effects, Function, Imm, Inst, MemInfo, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Changed;
use super::loop_form;

/// The most instructions of a test, constants apart.
const MAX_TEST: usize = 24;

/// Rotates every loop that allows it, inner ones first.
pub(super) fn run(func: &mut Function) -> Changed {
    let Some((cfg, _, loops)) = loop_form::run(func) else { return Changed(false) };
    let mut rotated = Rotated::default();
    for (id, data) in loops.iter().rev() {
        let header = rotate(func, &cfg, &loops, id, &rotated);
        rotated.add(id, data.parent, header);
    }
    Changed(true)
}

/// The loops that have been rotated: their new headers are in none of the analyses.
#[derive(Default)]
struct Rotated {
    loops: FxHashMap<Block, LoopId>,
    /// The new headers within a loop that is still to come.
    within: FxHashMap<LoopId, Vec<(LoopId, Block)>>,
}

impl Rotated {
    /// Adds a loop whose inner loops are all known.
    fn add(&mut self, id: LoopId, parent: Option<LoopId>, header: Option<Block>) {
        let mut headers = self.within.remove(&id).unwrap_or_default();
        if let Some(header) = header {
            self.loops.insert(header, id);
            headers.push((id, header));
        }
        if let Some(parent) = parent {
            let of_parent = self.within.entry(parent).or_default();
            // The longer list takes the shorter one.
            if of_parent.len() < headers.len() {
                std::mem::swap(of_parent, &mut headers);
            }
            of_parent.append(&mut headers);
        }
    }

    /// The new headers within a loop, inner ones first.
    fn within(&self, id: LoopId) -> Vec<Block> {
        let mut headers = self.within.get(&id).cloned().unwrap_or_default();
        headers.sort_unstable_by_key(|&(id, _)| Reverse(id));
        headers.into_iter().map(|(_, header)| header).collect()
    }
}

/// Rotates a loop and returns its new header.
fn rotate(func: &mut Function, cfg: &Cfg, loops: &LoopForest, id: LoopId, rotated: &Rotated) -> Option<Block> {
    let data = loops.get(id);
    let head = data.header;
    let preheader = loop_form::preheader(cfg, data)?;
    let &[latch] = data.latches.as_slice() else { return None };
    let leaves = |block: Block| {
        let known = rotated.loops.get(&block).map_or(block, |&inner| loops.get(inner).header);
        !loops.contains(id, known)
    };
    let test = func.layout.terminator(head)?;
    let Imm::Branch(calls) = &func.dfg.inst(test).imm else { return None };
    let stays = match [leaves(calls[0].block), leaves(calls[1].block)] {
        [true, false] => 1,
        [false, true] => 0,
        [true, true] | [false, false] => return None,
    };
    let into = calls[stays].clone();
    if head == latch || into.block == head || is_exiting(func, cfg, latch, leaves) || !may_copy(func, head) {
        return None;
    }
    let entered = loop_form::args_of_edge(func, preheader, head)?.to_vec();
    let limited = exit_test::limited_counter(func, (head, latch), test, stays);

    // What the test computes from outside the loop moves to the preheader; the rest is copied there.
    let jump = func.layout.terminator(preheader)?;
    func.layout.remove_inst(jump);
    let mut guard = Cloner::within();
    for (&param, arg) in func.dfg.params(head).iter().zip(entered) {
        guard.set_value(param, arg);
    }
    let mut stay = Vec::new();
    for inst in func.layout.take_insts(head) {
        let pure = func.dfg.inst(inst).op.is_pure();
        let mut outside = true;
        func.dfg
            .for_each_use(inst, |value| outside &= guard.value(value).is_none() && !defined_in(func, loops, id, value));
        if pure && outside {
            func.layout.append_inst(preheader, inst);
            continue;
        }
        guard.append(func, preheader, inst);
        stay.push(inst);
    }
    func.layout.set_insts(head, stay);
    // A limit that does not change in the loop is computed outside by now.
    if let Some(counter) = limited
        && func.dfg.def_inst(counter.limit).is_none_or(|inst| func.layout.block_of(inst) != Some(head))
    {
        exit_test::test_equality(func, preheader, test, &counter, stays);
    }

    // The new header has a parameter for each value of the test that the rest of the loop uses.
    let mut used: Vec<Value> = Vec::new();
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let rest: Vec<Block> =
        data.blocks.iter().copied().filter(|&block| block != head).chain(rotated.within(id)).collect();
    let mut note = |value: Value| {
        if guard.value(value).is_some() && seen.insert(value) {
            used.push(value);
        }
    };
    into.args.iter().copied().for_each(&mut note);
    for &block in &rest {
        for &inst in func.layout.insts(block) {
            func.dfg.for_each_use(inst, &mut note);
        }
    }
    let body = func.dfg.make_block();
    func.layout.insert_block_after(body, preheader);
    let mut inside: FxHashMap<Value, Value> = FxHashMap::default();
    for &value in &used {
        let ty = func.dfg.ty(value);
        let param = func.dfg.append_param(body, ty);
        if let Some(name) = func.names.get(&value).cloned() {
            func.names.insert(param, name);
        }
        inside.insert(value, param);
    }
    let param_of = |value: Value| inside.get(&value).copied().unwrap_or(value);
    for &block in &rest {
        for i in 0..func.layout.insts(block).len() {
            let inst = func.layout.insts(block)[i];
            func.dfg.map_uses(inst, param_of);
        }
    }
    let args: Vec<Value> = into.args.iter().map(|&value| param_of(value)).collect();
    Builder::at_end(func, body).jump(into.block, &args);
    if func.layout.is_cold(into.block) {
        func.layout.set_cold(body);
    }
    let guards = func.layout.terminator(preheader)?;
    for (terminator, map) in [(test, None), (guards, Some(&guard))] {
        let passed: Vec<Value> =
            used.iter().map(|&value| map.map_or(value, |map: &Cloner<'_>| map.value_or_same(value))).collect();
        *func.dfg.targets_mut(terminator)[stays] = BlockCall::new(body, &passed);
    }
    Some(body)
}

/// Whether a value is defined in a loop.
fn defined_in(func: &Function, loops: &LoopForest, id: LoopId, value: Value) -> bool {
    let home = func.def_block(value);
    home.is_none_or(|block| loops.contains(id, block))
}

/// Whether the loop can be left at the end of an iteration.
fn is_exiting(func: &Function, cfg: &Cfg, latch: Block, leaves: impl Fn(Block) -> bool) -> bool {
    let &[pred] = cfg.preds(latch) else { return false };
    func.layout.insts(latch).len() == 1 && func.successors(pred).any(leaves)
}

/// Whether a block may be executed in two places: it is short and has no effects.
fn may_copy(func: &Function, block: Block) -> bool {
    let copied = |inst: Inst| {
        let data = func.dfg.inst(inst);
        data.op.is_pure()
            || data.op.is_terminator()
            || (data.op.info().effects == Effects::Read
                && matches!(data.imm, Imm::Mem(MemInfo { volatile: false, .. })))
    };
    let insts = func.layout.insts(block);
    let size = insts.iter().filter(|&&inst| func.dfg.inst(inst).op != Opcode::Const).count();
    size <= MAX_TEST && insts.iter().all(|&inst| copied(inst))
}
