//! Code under guards: what only the work-items need that pass a guard is computed behind it.
//!
//! ```text
//! D: a = load ...; branch a < 0, A, B          D:  branch x < n, D1, J
//! A: v1 = ...; jump G(v1)                      D1: a = load ...; branch a < 0, A, B
//! B: v2 = ...; jump G(v2)                ->    A:  v1 = ...; jump G(v1)
//! G(v): branch x < n, T, J                     B:  v2 = ...; jump G(v2)
//! T: store v                                   G(v): store v
//! ```
//!
//! First a guard goes before the blocks without effects in front of it whose values are used only behind it, then instructions
//! go behind the guard.
//!
//! Work-items beyond the border of an image compute nothing then, and packs of such work-items go around it all. Only guards that
//! compare global ids with what lanes share are looked at: packs mostly agree on these, so that loads need no masks. Code with
//! one lane gets some of this from the backends, which compute values where they are needed.
//!
//! Deliberately not here: what lanes share, which is computed once for many packs where it is, and code in loops that the guard
//! is outside of.

use clift_kir::analysis::{Cfg, DomTree, Users};
use clift_kir::clone::Cloner;
use clift_kir::ops::OpClass;
use clift_kir::{Block, BlockCall, Builder, Effects, Function, Imm, Inst, Opcode, Value};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;

use super::normalize::{self, NormalForm};
use crate::passes::memory::{Escapes, Place, Write, plain_access};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::spmd::cost::guards;

/// The fewest instructions that are worth it.
const WORTHWHILE: usize = 8;
/// The most instructions of a kernel, and the most guards that are looked at.
const MAX_INSTS: usize = 20_000;
const MAX_GUARDS: usize = 16;
/// The most instructions between a global id and the condition of a guard.
const MAX_CONDITION: u32 = 12;

/// Moves guards before what only work-items behind them need, and instructions behind guards.
///
/// Guards differ little between numbers of lanes, so that one number stands for all that are tried.
pub(crate) fn run(normal: NormalForm, lanes: u32) -> NormalForm {
    // Most kernels without a border have no such branch at all.
    if insts(&normal) > MAX_INSTS || possible_guards(&normal).next().is_none() {
        return normal;
    }
    let mut normal = hoist_guards(normal, lanes);
    sink_insts(&mut normal, lanes);
    normal
}

/// Moves guards before what only work-items behind them need.
fn hoist_guards(mut normal: NormalForm, lanes: u32) -> NormalForm {
    if !normal.several.is_empty() {
        return normal;
    }
    for _ in 0..MAX_GUARDS {
        let mut lower = possible_guards(&normal).filter(|&(at, _)| has_room_above(&normal, at)).peekable();
        if lower.peek().is_none() {
            break;
        }
        let divergence = normal.divergence(lanes, true);
        let post = DomTree::post(&normal.cfg);
        let users = Users::new(&normal.func, normal.func.layout.blocks());
        let mut guards = lower.filter(|&(at, _)| tests_border(&normal, &divergence, at));
        let Some(func) = guards.find_map(|(at, to)| Hoisting::new(&normal, &post, &users, at, to)?.run()) else {
            break;
        };
        drop(guards);
        let Some(hoisted) = normalize::run_owned(func) else { break };
        normal = hoisted.with_regions(normal.single_lane);
    }
    normal
}

/// Whether a block between the entry and a guard, in its loop, may be where the guard goes.
fn has_room_above(normal: &NormalForm, guard: Block) -> bool {
    let NormalForm { func, dom, loops, cfg, .. } = normal;
    let mut above = dom.parent(guard);
    while let Some(at) = above.filter(|&at| Some(at) != func.layout.entry()) {
        if cfg.succs(at).len() > 1 && loops.innermost(at) == loops.innermost(guard) {
            return true;
        }
        above = dom.parent(at);
    }
    false
}

fn insts(normal: &NormalForm) -> usize {
    normal.cfg.rpo().iter().map(|&block| normal.func.layout.insts(block).len()).sum()
}

/// A guard that goes before other blocks.
struct Hoisting<'a> {
    normal: &'a NormalForm,
    users: &'a Users,
    /// The guard, where it leads to, and where it sends work-items away to.
    guard: Block,
    to: Block,
    away: BlockCall,
    /// The block at whose end it can be.
    above: Block,
    /// The blocks after that up to the guard.
    between: EntitySet<Block>,
}

impl Hoisting<'_> {
    /// The place for a guard, if there is one.
    fn new<'a>(
        normal: &'a NormalForm,
        post: &DomTree,
        users: &'a Users,
        guard: Block,
        to: Block,
    ) -> Option<Hoisting<'a>> {
        let NormalForm { func, dom, loops, cfg, .. } = normal;
        let branch = func.dfg.inst(func.layout.terminator(guard)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        let away = calls.iter().find(|call| call.block != to)?.clone();
        // Only what is before the guard on all paths, in the same loop.
        let mut best = None;
        let mut above = dom.parent(guard);
        while let Some(at) = above.filter(|&at| post.dominates(guard, at)) {
            if loops.innermost(at) == loops.innermost(guard) && Some(at) != func.layout.entry() {
                let between = blocks_between(cfg, at, guard);
                let hoisting = Hoisting { normal, users, guard, to, away: away.clone(), above: at, between };
                if !hoisting.is_possible(branch.args[0]) {
                    break;
                }
                // A block that only jumps to the next one is the same place.
                if cfg.succs(at).len() > 1 {
                    best = Some(hoisting);
                }
            }
            above = dom.parent(at);
        }
        best
    }

    fn is_between(&self, value: Value) -> bool {
        self.normal.func.def_block(value).is_some_and(|home| self.between.contains(home))
    }

    fn is_possible(&self, condition: Value) -> bool {
        let NormalForm { func, dom, cfg, .. } = self.normal;
        let users = self.users;
        let inside = |user: Inst| {
            func.layout.block_of(user).is_some_and(|at| self.between.contains(at) || dom.dominates(self.to, at))
        };
        let only_behind = |value: Value| {
            users.of(value).iter().all(|&user| inside(user))
                && users.arguments(value).iter().all(|argument| {
                    inside(argument.by) && (argument.to != self.away.block || !self.is_edge_away(argument.by))
                })
        };
        // No path goes to another iteration of a loop around instead.
        let leads_there = |block: Block| cfg.succs(block).iter().all(|&succ| self.between.contains(succ));
        let mut blocks = self.normal.cfg.rpo().iter().filter(|&&block| self.between.contains(block));
        let no_effects = |inst: Inst| match func.dfg.inst(inst).op.info().effects {
            Effects::Pure | Effects::Read | Effects::Terminator => true,
            Effects::Write | Effects::ReadWrite | Effects::Convergent => false,
        };
        blocks.all(|&block| {
            let insts = func.layout.insts(block);
            let results = insts.iter().flat_map(|&inst| func.dfg.results(inst));
            (block == self.guard || leads_there(block))
                && insts.iter().all(|&inst| no_effects(inst))
                && func.dfg.params(block).iter().chain(results).all(|&value| only_behind(value))
        }) && leads_there(self.above)
            && self.away.args.iter().all(|&arg| !self.is_between(arg))
            && self.is_available(condition, MAX_CONDITION)
    }

    fn is_edge_away(&self, by: Inst) -> bool {
        self.normal.func.layout.block_of(by) == Some(self.guard)
    }

    /// Whether a condition can be computed before the blocks.
    fn is_available(&self, value: Value, depth: u32) -> bool {
        let func = &self.normal.func;
        !self.is_between(value)
            || depth > 0
                && func.dfg.def_inst(value).is_some_and(|inst| {
                    let data = func.dfg.inst(inst);
                    let pure = data.op.info().effects == Effects::Pure && is_lanewise(data.op);
                    pure && data.args.iter().all(|&arg| self.is_available(arg, depth - 1))
                })
    }

    /// The function with the guard in its new place.
    fn run(&self) -> Option<Function> {
        let mut func = self.normal.func.clone();
        let end = func.layout.terminator(self.guard)?;
        let Imm::Branch(calls) = func.dfg.inst(end).imm.clone() else { return None };
        let condition = func.dfg.inst(end).args[0];
        let stays = calls.iter().find(|call| call.block == self.to)?.clone();
        // The terminator of the block above is in a block of its own.
        let inner = func.append_block();
        let last = func.layout.terminator(self.above)?;
        func.layout.remove_inst(last);
        let mut cloner = Cloner::within();
        let is_copied = |_: &Function, inst: Inst| {
            self.normal.func.layout.block_of(inst).is_some_and(|home| self.between.contains(home))
        };
        let above = self.above;
        let condition =
            cloner.computed(&mut func, condition, &is_copied, &mut |func, inst| func.layout.append_inst(above, inst));
        func.layout.append_inst(inner, last);
        let passes = calls[0].block == self.to;
        let (behind, away) = (BlockCall::new(inner, &[]), self.away.clone());
        let mut b = Builder::at_end(&mut func, above);
        match passes {
            true => b.branch(condition, behind, away),
            false => b.branch(condition, away, behind),
        };
        func.layout.remove_inst(end);
        Builder::at_end(&mut func, self.guard).jump(stays.block, &stays.args);
        Some(func)
    }
}

/// The blocks between one that dominates another one and that one, which is among them.
fn blocks_between(cfg: &Cfg, above: Block, last: Block) -> EntitySet<Block> {
    let mut between: EntitySet<Block> = EntitySet::new();
    between.insert(last);
    let mut work = vec![last];
    while let Some(at) = work.pop() {
        for &pred in cfg.preds(at) {
            if pred != above && between.insert(pred) {
                work.push(pred);
            }
        }
    }
    between
}

/// Moves instructions that only work-items behind guards need.
fn sink_insts(normal: &mut NormalForm, lanes: u32) {
    let divergence = normal.divergence(lanes, true);
    let is_one = |&(at, _): &(Block, Block)| tests_border(normal, &divergence, at) && has_enough_above(normal, at);
    let guards: Vec<(Block, Block)> = possible_guards(normal).filter(is_one).take(MAX_GUARDS).collect();
    if guards.is_empty() {
        return;
    }
    let users = Users::new(&normal.func, normal.func.layout.blocks());
    let escapes = Escapes::new(&normal.func);
    for (at, to) in guards {
        let mut moved = Sinking { normal, divergence: &divergence, users: &users, escapes: &escapes, at, to }.moved();
        if moved.len() < WORTHWHILE {
            continue;
        }
        moved.reverse();
        let func = normal.func_mut();
        let mut removed: EntitySet<Inst> = EntitySet::new();
        removed.extend(moved.iter().copied());
        func.layout.remove_insts(&removed);
        func.layout.insert_insts(to, 0, &moved);
    }
}

/// Whether the blocks from which code may move behind a guard have enough of it.
fn has_enough_above(normal: &NormalForm, guard: Block) -> bool {
    let NormalForm { func, dom, loops, .. } = normal;
    let mut insts = 0;
    let mut above = Some(guard);
    while let Some(at) = above.filter(|&at| loops.innermost(at) == loops.innermost(guard)) {
        insts += func.layout.insts(at).len() - 1;
        if insts >= WORTHWHILE {
            return true;
        }
        above = dom.parent(at);
    }
    false
}

/// The edges to blocks that are behind branches and nowhere else, if the branches may be guards: if lanes share what they must.
fn possible_guards(normal: &NormalForm) -> impl Iterator<Item = (Block, Block)> {
    let NormalForm { func, cfg, loops, .. } = normal;
    let is_guard = move |at: Block| condition(func, at).is_some_and(|tested| guards::may_be_guard(func, tested));
    let is_behind = move |at: Block, to: Block| {
        matches!(*cfg.preds(to), [_])
            && loops.innermost(at) == loops.innermost(to)
            && loops.headed_by(to).is_none()
            && !func.layout.is_cold(to)
    };
    let branches = cfg.rpo().iter().copied().filter(move |&at| is_guard(at));
    branches
        .flat_map(move |at| cfg.succs(at).iter().map(move |&to| (at, to)).filter(move |&(at, to)| is_behind(at, to)))
}

/// Whether a branch is a guard.
fn tests_border(normal: &NormalForm, divergence: &Divergence, at: Block) -> bool {
    condition(&normal.func, at).is_some_and(|tested| guards::is_guard(&normal.func, divergence, tested))
}

/// The condition of the branch at the end of a block.
fn condition(func: &Function, at: Block) -> Option<Value> {
    let last = func.dfg.inst(func.layout.terminator(at)?);
    (last.op == Opcode::Branch).then(|| last.args[0])
}

/// What may move behind one guard.
struct Sinking<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    users: &'a Users,
    escapes: &'a Escapes,
    at: Block,
    to: Block,
}

impl Sinking<'_> {
    /// The instructions that move, those that use others before these.
    fn moved(&self) -> Vec<Inst> {
        let NormalForm { func, dom, loops, .. } = self.normal;
        let (mut moved, mut known): (Vec<Inst>, FxHashSet<Inst>) = (Vec::new(), FxHashSet::default());
        // What is written between a load and the guard.
        let mut writes: Vec<Write> = Vec::new();
        let mut seen: EntitySet<Block> = EntitySet::new();
        let mut home = Some(self.at);
        while let Some(block) = home {
            self.add_writes_after(block, &mut seen, &mut writes);
            if loops.innermost(block) == loops.innermost(self.at) {
                for &inst in func.layout.insts(block).iter().rev() {
                    if self.may_move(inst, &known, &writes) {
                        known.insert(inst);
                        moved.push(inst);
                    } else {
                        writes.extend(Write::of(func, inst));
                    }
                }
            } else {
                break;
            }
            seen.insert(block);
            home = dom.parent(block);
        }
        moved
    }

    /// Adds the writes of blocks between one that dominates the guard and the guard, which have not been seen.
    fn add_writes_after(&self, block: Block, seen: &mut EntitySet<Block>, writes: &mut Vec<Write>) {
        let NormalForm { func, cfg, .. } = self.normal;
        let mut work: Vec<Block> = if block == self.at { Vec::new() } else { vec![self.at] };
        let mut visited: FxHashSet<Block> = work.iter().copied().collect();
        while let Some(at) = work.pop() {
            if at != self.at && seen.insert(at) {
                writes.extend(func.layout.insts(at).iter().filter_map(|&inst| Write::of(func, inst)));
            }
            for &pred in cfg.preds(at) {
                if pred != block && visited.insert(pred) {
                    work.push(pred);
                }
            }
        }
    }

    fn may_move(&self, inst: Inst, moved: &FxHashSet<Inst>, writes: &[Write]) -> bool {
        let func = &self.normal.func;
        let data = func.dfg.inst(inst);
        let Some(result) = func.dfg.single_result(inst) else { return false };
        let varies = self.divergence.shape(result) == Shape::Varying || data.op == Opcode::PackAny;
        let behind = |user: Inst| {
            moved.contains(&user)
                || func.layout.block_of(user).is_some_and(|block| self.normal.dom.dominates(self.to, block))
        };
        let is_wanted = varies
            && self.users.of(result).iter().all(|&user| behind(user))
            && self.users.arguments(result).iter().all(|argument| behind(argument.by))
            && self.has_users(func, inst);
        // The writes are compared with those loads only that would move.
        is_wanted
            && match data.op.info().effects {
                // Whether it is true for any lane that is still there decides as well.
                Effects::Pure => is_lanewise(data.op) || data.op == Opcode::PackAny,
                Effects::Read => plain_access(func, inst).is_some_and(|(pointer, ty, mem)| {
                    let place = Place::of_access(func, pointer, &mem, ty);
                    data.op == Opcode::Load
                        && !mem.volatile
                        && !writes.iter().any(|write| write.may_change(&place, self.escapes))
                }),
                Effects::Write | Effects::ReadWrite | Effects::Convergent | Effects::Terminator => false,
            }
    }

    fn has_users(&self, func: &Function, inst: Inst) -> bool {
        let result = func.dfg.result(inst);
        !self.users.of(result).is_empty() || !self.users.arguments(result).is_empty()
    }
}

/// Whether an op without effects computes each lane's result from that lane's operands.
fn is_lanewise(op: Opcode) -> bool {
    match op.class() {
        OpClass::Int(_) | OpClass::Float(_) | OpClass::Convert(_) | OpClass::Lane(_) | OpClass::Address(_) => true,
        OpClass::Leaf(_)
        | OpClass::Memory(_)
        | OpClass::Query(_)
        | OpClass::Sync(_)
        | OpClass::Collective(_)
        | OpClass::Call(_)
        | OpClass::Image(_)
        | OpClass::Terminator(_) => false,
    }
}
