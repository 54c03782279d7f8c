//! Full unrolling: a loop with a constant number of iterations becomes that many copies of its body.
//!
//! What is computed from the loop's counter folds in each copy. Private arrays that are indexed by the counter then have constant
//! indices, so that they become values. Work-items of a pack execute the copies without the loop's overhead, and loads of
//! neighbouring elements can be combined.
//!
//! **Cost model.** The size of a loop is the number of its instructions, without constants and jumps; what folds in the copies
//! counts only in the loop, not in the copies. An access to an image counts as the [`IMAGE_SIZE`] instructions that it becomes
//! later, and one of a checked kernel as those that its checks add, too. Copies may have [`MAX_COPIES`] instructions in all.
//! More are worth it, in proportion to what folds, but at most [`MAX_BOOST`] times as many; as many if the loop reads tables of
//! constants, since what is computed from their elements folds, too, or is shared where elements are equal; and
//! [`MAX_ARRAY_COPIES`], if the loop indexes private arrays only by counters, so that these may become values. That they do not
//! if other accesses in the loop would choose among too many elements ([`super::dynamic_elements`]).
//!
//! The number of iterations of an inner loop may depend on the counter of the loop around it, as in sorts and factorizations of
//! small arrays, also through a table in a constant variable. If the whole nest then fits [`MAX_ARRAY_COPIES`] and indexes
//! private arrays, the outer loop is unrolled first.
//!
//! A nest of loops over neighbours computes weights, distances or directions from all of its counters. Its outer loop is
//! unrolled first, too, if that folds most of the nest: with one of the counters alone, little folds.
//!
//! Otherwise inner loops come first. A kernel grows by at most [`MAX_GROWTH`] instructions.
//!
//! Copies of a barrier are barriers of their own, and begin regions of their own. Which region is next is then known, and need
//! not be found out for each pack; but each takes code, so there are at most [`MAX_BARRIERS`] copies. Loops with other
//! convergent ops are not unrolled.

use clift_kir::analysis::{Cfg, Cold, DomTree, Loop, LoopForest, LoopId};
use clift_kir::clone::Cloner;
use clift_kir::{Block, Effects, Function, Imm, Inst, Opcode, Slot, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::trip_count::{self, TripCount};
use super::util::set_jump;
use super::{Changed, Globals, UNROLL_ROUNDS, dynamic_elements, loop_form};

/// The most instructions of all copies of a loop.
const MAX_COPIES: u64 = 160;
/// The most times as many if instructions fold.
const MAX_BOOST: u64 = 3;
/// The most instructions of all copies of a loop if private arrays may become values.
const MAX_ARRAY_COPIES: u64 = 1000;
/// The most iterations.
const MAX_ITERATIONS: u64 = 130;
/// The most copies of barriers.
const MAX_BARRIERS: u64 = 16;
/// The most instructions that unrolling adds to a function.
const MAX_GROWTH: u64 = 8000;

/// What an access to an image counts. Of a two-dimensional one without interpolation, each copy becomes about as many
/// instructions besides what the copies share; interpolation in three dimensions takes ten times as many.
const IMAGE_SIZE: u64 = 20;

/// The most iterations of all loops of a nest of which most folds.
const MAX_NEST: u64 = 200;
/// How many times as many instructions such a nest executes than its copies do.
const MIN_FOLDING: u64 = 2;
/// The instructions of an iteration that only count it.
const LOOP_OVERHEAD: u64 = 3;

/// The most iterations of a loop whose copies may become vectors.
const MAX_LANES: u64 = 32;

/// Which loops are unrolled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Those whose copies are worth it by themselves.
    Folding,
    /// Those that store, and have few iterations.
    Vectors,
}

/// Unrolls innermost loops, then the loops around them if these have become innermost ones and that is still worth it.
pub(super) fn run(func: &mut Function, globals: &Globals) -> Changed {
    run_except(func, globals, &FxHashSet::default(), 0)
}

/// As [`run`], but the loops with the headers `rolled` stay, and so do those around them. An access to memory that is not
/// private will get `checks` instructions more.
pub(super) fn run_except(func: &mut Function, globals: &Globals, rolled: &FxHashSet<Block>, checks: u64) -> Changed {
    Changed(!unroll_loops(func, globals, Purpose::Folding, rolled, checks).is_empty())
}

/// The headers of the loops that [`run`] would unroll at first.
pub(super) fn loops(func: &Function, globals: &Globals) -> FxHashSet<Block> {
    unroll_loops(&mut func.clone(), globals, Purpose::Folding, &FxHashSet::default(), 0)
}

/// Unrolls innermost loops with few iterations that store, so that neighbouring iterations may become vectors.
pub(super) fn run_for_vectors(func: &mut Function, globals: &Globals) -> Changed {
    Changed(!unroll_loops(func, globals, Purpose::Vectors, &FxHashSet::default(), 0).is_empty())
}

/// Unrolls loops but those with the headers `rolled`. The result are the headers of the unrolled ones.
fn unroll_loops(
    func: &mut Function,
    globals: &Globals,
    purpose: Purpose,
    rolled: &FxHashSet<Block>,
    checks: u64,
) -> FxHashSet<Block> {
    let mut unrolled = FxHashSet::default();
    let Some((cfg, dom, loops)) = loop_form::run(func) else { return unrolled };
    let cold = Cold::new(func, &cfg);
    let mut growth = 0;
    let analyses = (&cfg, &dom, &loops);
    // Loops with an unrolled loop inside.
    let mut edited: FxHashSet<LoopId> = FxHashSet::default();
    let is_rolled = |id: LoopId| loops.get(id).blocks.iter().any(|block| rolled.contains(block));
    let folding: FxHashSet<LoopId> = match purpose {
        Purpose::Folding => folding_nests(func, globals, analyses, checks).filter(|&id| !is_rolled(id)).collect(),
        Purpose::Vectors => FxHashSet::default(),
    };
    for (id, data) in loops.iter().rev() {
        let mut around = std::iter::successors(data.parent, |&around| loops.get(around).parent);
        if around.any(|around| folding.contains(&around)) {
            continue;
        }
        if edited.contains(&id) || cold.contains(data.header) || is_rolled(id) {
            continue;
        }
        let is_innermost = is_innermost(&loops, id);
        let folds = folding.contains(&id);
        if !is_innermost && !folds && func.slots.is_empty() {
            continue;
        }
        let Some(trips) = trip_count::of_loop(func, analyses, id, MAX_ITERATIONS) else { continue };
        let iterations = if is_innermost {
            FxHashMap::from_iter([(id, trips.times)])
        } else {
            match trip_count::of_nest(func, globals, analyses, id, MAX_ARRAY_COPIES) {
                Some(iterations) => iterations,
                None => continue,
            }
        };
        let size = LoopSize::new(func, &loops, id, &iterations, checks);
        let is_worth = match purpose {
            Purpose::Folding => size.is_worth() && (is_innermost || folds || size.indexes_arrays),
            Purpose::Vectors => is_innermost && trips.times <= MAX_LANES && size.may_become_vectors(func, data),
        };
        if !is_worth || growth + size.copied > MAX_GROWTH {
            continue;
        }
        growth += size.copied;
        if unroll(func, &loops, id, trips).is_some() {
            unrolled.insert(data.header);
        }
        edited.extend(std::iter::successors(data.parent, |&around| loops.get(around).parent));
    }
    unrolled
}

fn is_innermost(loops: &LoopForest, id: LoopId) -> bool {
    loops.get(id).blocks.iter().all(|&block| loops.innermost(block) == Some(id))
}

/// The outer loops of nests of which most folds if all their loops are unrolled.
fn folding_nests<'a>(
    func: &'a Function,
    globals: &'a Globals,
    analyses: (&'a Cfg, &'a DomTree, &'a LoopForest),
    checks: u64,
) -> impl Iterator<Item = LoopId> + 'a {
    let (_, _, loops) = analyses;
    let nests = loops.iter().map(|(id, _)| id).filter(|&id| !is_innermost(loops, id));
    nests.filter(move |&id| {
        let Some(iterations) = trip_count::of_nest(func, globals, analyses, id, MAX_NEST) else { return false };
        let size = LoopSize::new(func, loops, id, &iterations, checks);
        // Counters, comparisons and branches fold in each loop.
        let overhead = LOOP_OVERHEAD * iterations.values().sum::<u64>();
        let folds = size.rolled.saturating_sub(overhead) >= MIN_FOLDING * size.copied;
        iterations.len() <= UNROLL_ROUNDS && size.is_worth() && folds
    })
}

/// What a loop and its copies cost.
struct LoopSize {
    /// Instructions that the loop executes.
    rolled: u64,
    /// Those of all copies.
    copied: u64,
    /// Whether the loop accesses private variables at places that only counters decide, and they may become values.
    indexes_arrays: bool,
    /// Whether the loop reads tables in constant variables at places that only counters decide.
    reads_tables: bool,
    /// The barriers of all copies.
    barriers: u64,
    /// Whether it contains nothing that must not be copied.
    may_copy: bool,
}

impl LoopSize {
    /// Of a loop with the loops inside, by how many iterations each of these has in all.
    fn new(
        func: &Function,
        loops: &LoopForest,
        id: LoopId,
        iterations: &FxHashMap<LoopId, u64>,
        checks: u64,
    ) -> LoopSize {
        let data = loops.get(id);
        let mut size =
            LoopSize { rolled: 0, copied: 0, indexes_arrays: false, reads_tables: false, barriers: 0, may_copy: true };
        // What folds in a copy: counters, and what is computed from them and constants, or loaded from tables with such indices.
        // `places` are addresses in private variables, `entries` those in constant ones.
        let mut folds: FxHashSet<Value> = iterations.keys().flat_map(|&id| counters(func, loops, id)).collect();
        let mut places: FxHashSet<Value> = FxHashSet::default();
        let mut entries: FxHashSet<Value> = FxHashSet::default();
        // Among how many elements the copies of accesses at other places would choose.
        let mut indexed: FxHashSet<Slot> = FxHashSet::default();
        let mut chosen: FxHashMap<Slot, u64> = FxHashMap::default();
        for &block in &data.blocks {
            let times = loops.innermost(block).and_then(|id| iterations.get(&id)).copied().unwrap_or(0);
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if data.op == Opcode::Barrier {
                    size.barriers += times;
                } else if data.op.info().effects == Effects::Convergent {
                    size.may_copy = false;
                }
                let folding = |value: Value| folds.contains(&value) || func.dfg.as_const(value).is_some();
                let result = func.dfg.single_result(inst);
                if matches!(data.op, Opcode::Const | Opcode::Undef | Opcode::Jump | Opcode::Branch) {
                    size.rolled += if data.op == Opcode::Branch { times } else { 0 };
                    continue;
                }
                let insts = times * (insts_of(data.op) + if is_checked(func, inst) { checks } else { 0 });
                size.rolled += insts;
                let is_address = data.op == Opcode::Addr && data.args[1..].iter().all(|&index| folding(index));
                if let Some(result) = result
                    && data.op.is_pure()
                    && (is_address || (!data.args.is_empty() && data.args.iter().all(|&arg| folding(arg))))
                {
                    if is_address {
                        if is_variable(func, data.args[0], &places, Opcode::SlotAddr) {
                            places.insert(result);
                        } else if is_constant(func, result)
                            && is_variable(func, data.args[0], &entries, Opcode::GlobalAddr)
                        {
                            entries.insert(result);
                        }
                    } else {
                        folds.insert(result);
                    }
                    continue;
                }
                if let (Opcode::Load, Some(result)) = (data.op, result)
                    && entries.contains(&data.args[0])
                {
                    folds.insert(result);
                    size.reads_tables = true;
                    continue;
                }
                if matches!(data.op, Opcode::Load | Opcode::Store)
                    && let Some((slot, is_fixed)) = accessed_slot(func, data.args[0], &places)
                {
                    if places.contains(&data.args[0]) {
                        indexed.insert(slot);
                    } else if !is_fixed {
                        let accessed = result.or(data.args.get(1).copied());
                        let bytes = accessed.map_or(1, |value| func.dfg.ty(value).bytes().max(1));
                        let elements = func.slots[slot].size / u64::from(bytes);
                        *chosen.entry(slot).or_default() += times * elements;
                    }
                }
                size.copied += insts;
            }
        }
        let stays = |slot: &Slot| chosen.get(slot).is_some_and(|&elements| elements > dynamic_elements::MAX_CHOSEN);
        size.indexes_arrays = indexed.iter().any(|slot| !stays(slot));
        size
    }

    /// Whether the copies are not too many, and the loop stores.
    fn may_become_vectors(&self, func: &Function, data: &Loop) -> bool {
        let stores =
            |&block: &Block| func.layout.insts(block).iter().any(|&inst| func.dfg.inst(inst).op == Opcode::Store);
        self.may_copy && self.barriers == 0 && self.copied <= MAX_ARRAY_COPIES && data.blocks.iter().any(stores)
    }

    fn is_worth(&self) -> bool {
        let least = if self.reads_tables { MAX_BOOST } else { 1 };
        let boost = (self.rolled * 100 / self.copied.max(1)).clamp(100 * least, 100 * MAX_BOOST);
        let limit = if self.indexes_arrays { MAX_ARRAY_COPIES } else { MAX_COPIES * boost / 100 };
        self.may_copy && self.barriers <= MAX_BARRIERS && self.copied <= limit
    }
}

/// How many instructions an instruction counts.
fn insts_of(op: Opcode) -> u64 {
    if matches!(op, Opcode::ImageRead | Opcode::ImageWrite) { IMAGE_SIZE } else { 1 }
}

/// Whether an instruction accesses memory that is not private.
fn is_checked(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    let is_shared = |&arg: &Value| {
        let ty = func.dfg.ty(arg);
        ty.is_ptr() && ty.elem.space() != Some(Space::Private)
    };
    !data.op.is_pure() && data.args.first().is_some_and(is_shared)
}

/// The parameters of a loop's header that start as constants and change by constants.
fn counters(func: &Function, loops: &LoopForest, id: LoopId) -> FxHashSet<Value> {
    let data = loops.get(id);
    let &[latch] = data.latches.as_slice() else { return FxHashSet::default() };
    let steps = loop_form::args_of_edge(func, latch, data.header).unwrap_or_default();
    let is_counter = |param: Value, step: Value| {
        let Some(inst) = func.dfg.def_inst(step) else { return false };
        let data = func.dfg.inst(inst);
        data.op.is_pure()
            && data.args.contains(&param)
            && data.args.iter().all(|&arg| arg == param || func.dfg.as_const(arg).is_some())
    };
    let params = func.dfg.params(data.header).iter().zip(steps);
    params.filter(|&(&param, &step)| is_counter(param, step)).map(|(&param, _)| param).collect()
}

/// The private variable that an address leads into, and whether to a constant place or to one of `places`.
fn accessed_slot(func: &Function, address: Value, places: &FxHashSet<Value>) -> Option<(Slot, bool)> {
    let (mut at, mut is_fixed) = (address, true);
    loop {
        let data = func.dfg.inst(func.dfg.def_inst(at)?);
        if let Imm::Slot(slot) = data.imm {
            return Some((slot, is_fixed));
        }
        if !matches!(data.op, Opcode::Addr | Opcode::SpaceCast) {
            return None;
        }
        is_fixed &= places.contains(&at) || data.args[1..].iter().all(|&index| func.dfg.as_const(index).is_some());
        at = data.args[0];
    }
}

/// Whether an address is in constant memory.
fn is_constant(func: &Function, address: Value) -> bool {
    func.dfg.ty(address).elem.space() == Some(Space::Constant)
}

/// Whether an address is that of a variable, which `root` defines, or one of `places`.
fn is_variable(func: &Function, address: Value, places: &FxHashSet<Value>, root: Opcode) -> bool {
    let mut at = address;
    loop {
        if places.contains(&at) {
            return true;
        }
        let Some(inst) = func.dfg.def_inst(at) else { return false };
        let data = func.dfg.inst(inst);
        match (data.op, data.args.as_slice()) {
            (op, _) if op == root => return true,
            (Opcode::Addr, &[base]) | (Opcode::SpaceCast, &[base]) => at = base,
            _ => return false,
        }
    }
}

/// Replaces a loop by as many copies of its body as it has iterations.
fn unroll(func: &mut Function, loops: &LoopForest, id: LoopId, trips: TripCount) -> Option<()> {
    let data = loops.get(id);
    let &[latch] = data.latches.as_slice() else { return None };
    let body: Vec<(Block, Vec<Inst>)> =
        data.blocks.iter().map(|&block| (block, func.layout.insts(block).to_vec())).collect();
    let mut order = Vec::new();
    // Of the last iteration so far: the loop's own blocks are the first one.
    let (mut last_latch, mut last_exit) = (latch, trips.block);
    let mut exits = Vec::new();
    for _ in 1..trips.times {
        let mut cloner = Cloner::within().with_new_barriers();
        let copies: Vec<Block> = body.iter().map(|&(block, _)| cloner.make_block(func, block)).collect();
        for (&copy, (block, insts)) in copies.iter().zip(&body) {
            cloner.copy_params(func, *block, copy);
            order.push(copy);
            func.layout.append_block(copy);
            // Blocks are in reverse postorder, so definitions come before their uses, except in arguments of the back edge.
            for &inst in insts {
                cloner.append(func, copy, inst);
            }
        }
        let back_edge = func.layout.terminator(last_latch)?;
        func.dfg.targets_mut(back_edge)[0].block = cloner.block(data.header)?;
        last_latch = cloner.block(latch)?;
        exits.push(last_exit);
        last_exit = cloner.block(trips.block)?;
    }
    for block in exits {
        jump_to(func, block, trips.stays);
    }
    jump_to(func, last_exit, 1 - trips.stays);
    place_after(func, latch, &order);
    Some(())
}

/// Replaces a block's branch by a jump to one of its targets.
fn jump_to(func: &mut Function, block: Block, target: usize) {
    let Some(terminator) = func.layout.terminator(block) else { return };
    let call = func.dfg.targets(terminator)[target].clone();
    set_jump(func, terminator, call);
}

/// Places blocks after another one.
fn place_after(func: &mut Function, at: Block, new: &[Block]) {
    let placed: FxHashSet<Block> = new.iter().copied().collect();
    let mut order = Vec::with_capacity(func.layout.blocks().len());
    for &block in func.layout.blocks().iter().filter(|block| !placed.contains(block)) {
        order.push(block);
        if block == at {
            order.extend(new);
        }
    }
    func.layout.set_order(order);
}
