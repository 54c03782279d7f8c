//! Estimates what a pack costs compared with its work-items one after the other: the cost model for the choice of lanes.
//!
//! The model counts instructions of a machine with registers of some width, weighted by how often blocks are executed. Two things
//! decide: operations without a vector form (atomics, scattered accesses, divisions) gain nothing from lanes; and where control
//! flow diverges, the pack executes all paths, while a single work-item executes one.

use std::iter;

use clift_kir::analysis::{LoopId, UseCounts};
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Elem, Function, Imm, Inst, Opcode, Slot, Space, Type, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

use super::guards::{SENT_AWAY, Steps, guards, reduction_steps};
use super::locality::Locality;
use crate::passes::trip_count;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Scope, Shape};
use crate::spmd::transform::normalize::{NormalForm, Several};
use crate::spmd::transform::private_arrays::Interleaved;
use crate::spmd::transform::single_lane_regions::is_of_single_lane;
use crate::spmd::vectorize::aggregated_atomics::aggregated;
use crate::spmd::vectorize::linearize::LinearizationPlan;
use crate::spmd::vectorize::masks::Masks;
use crate::spmd::vectorize::widen::how::{How, how};
use crate::spmd::vectorize::widen::{has_row_length, lanewise_throughout, overlapping_pieces, record_step};
use crate::target::costs::THROUGHPUTS;
use crate::target::machine::Machine;

/// The costs of as many work-items as a pack has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// One work-item after the other.
    pub(crate) scalar: f64,
    /// As a pack.
    pub(crate) pack: f64,
    /// The part of `pack` outside of cold blocks.
    pub(crate) hot: f64,
    /// The part of `hot` in scattered accesses.
    pub(crate) scattered: f64,
    /// Instructions of the pack for scattered accesses, each counted once, however often it is executed.
    pub(crate) scattered_insts: f64,
    /// What it takes in addition outside of cold blocks that scattered accesses of memory take a cache line for each lane.
    /// Whether they do depends on strides that are not known, so it only decides between forms of a kernel.
    pub(crate) lines: f64,
    /// Whether values from memory that differ between lanes decide how many iterations a loop has.
    pub(crate) data_decides: bool,
}

/// How many iterations a loop is assumed to have if constants do not decide.
const ITERATIONS: u32 = 8;
/// How many iterations a loop is assumed to have of which several may be executed at once. More are not counted.
const LONG_ITERATIONS: u32 = 64;
/// How much longer it takes to write part of a line than to read it: the line is read, and written back.
const WRITTEN_LINE: f64 = 3.0;
/// Loops nested deeper count as if they had one iteration each.
const MAX_DEPTH: usize = 6;
/// Bits of the vectors that each lane accesses whole, and that take about as many instructions if they are longer.
const ROW_BITS: u32 = 128;
/// The iterations of the longest of a pack's lanes, relative to the average lane.
const LONGEST: f64 = 1.3;
/// The same where memory decides, as the lengths of a sparse matrix's rows.
const LONGEST_OF_DATA: f64 = 2.0;
/// The same where each work-item has a number of iterations of its own in memory, as the rows of sparse matrices and the
/// neighbours in graphs, for each term of the harmonic series: of exponentially distributed lengths, the longest of n is the
/// mean times the sum of n terms, and those of graphs are less alike.
const LONGEST_OF_ROWS: f64 = 1.3;
/// The share of branches on which the lanes of a pack agree, as neighbouring pixels do; at the others each lane decides for
/// itself.
const COHERENT: f64 = 0.5;
/// The share of packs for which a versioned piece's assumption fails, per lane: those at the border of a row of some hundred
/// elements.
const UNUSUAL: f64 = 0.005;
/// The share of work-items that take a cold path by themselves: those whose arguments of a function are far from the usual ones.
const UNUSUAL_ITEMS: f64 = 0.001;
/// The work-items of a group that cooperates.
const ITEMS_OF_GROUP: f64 = 64.0;

/// Estimates the costs of a kernel.
pub(crate) fn estimate(normal: &NormalForm, divergence: &Divergence, lanes: u32, machine: &Machine) -> Costs {
    estimate_long(normal, divergence, lanes, machine, &FxHashSet::default())
}

/// As [`estimate`], where the loops with the headers `long` have many iterations, of which the kernel may execute several at
/// once.
pub(crate) fn estimate_long(
    normal: &NormalForm,
    divergence: &Divergence,
    lanes: u32,
    machine: &Machine,
    long: &FxHashSet<Block>,
) -> Costs {
    let plan = LinearizationPlan::new(normal, divergence);
    let masks = Masks::new(normal, divergence, &plan);
    let interleaved = Interleaved::new(&normal.func, &plan.order, divergence);
    let uses = UseCounts::new(&normal.func);
    let flat = lanewise_throughout(&normal.func, &plan.order, divergence);
    let (frequencies, branches) = (Frequencies::new(normal, long), branches(normal, divergence, f64::from(lanes)));
    let lanes = f64::from(lanes);
    let longest: FxHashMap<LoopId, f64> =
        plan.divergent_loops.iter().map(|&id| (id, longest(normal, divergence, id, lanes))).collect();
    let data_decides = longest.values().any(|&longest| longest != LONGEST);
    let model = ThroughputModel { normal, divergence, uses, flat, interleaved, branches, lanes, machine, longest };
    let mut locality = Locality::new(normal, divergence);
    let through_memory = carried_through_memory(normal);
    let mut reached: SecondaryMap<Block, Reached> = SecondaryMap::new();
    let mut costs =
        Costs { scalar: 0.0, pack: 0.0, hot: 0.0, scattered: 0.0, scattered_insts: 0.0, lines: 0.0, data_decides };
    for &block in &plan.order {
        reached[block] = model.reached(block, &reached, &plan);
        let Reached { items: own, .. } = reached[block];
        let frequency = frequencies.of(normal, block);
        let divergence_factor = model.divergence_factor(block);
        let executed = if model.is_of_few(block) { reached[block].packs } else { reached[block].executed(model.lanes) };
        let (mut one, mut all, mut scattered, mut lines) = (0.0, 0.0, 0.0, 0.0);
        for &inst in normal.func.layout.insts(block) {
            let cost = model.inst(block, inst, !masks.is_full(block));
            one += cost.0;
            all += cost.1;
            if model.is_scattered(inst) {
                scattered += cost.1;
                let data = normal.func.dfg.inst(inst);
                let pointer = data.args[0];
                if locality.misses_alone(block, pointer) {
                    one += THROUGHPUTS.missed_line;
                }
                if locality.takes_lines(block, pointer) {
                    let written = if data.op == Opcode::Store { WRITTEN_LINE } else { 1.0 };
                    lines += written * THROUGHPUTS.missed_line * lanes;
                }
            }
        }
        if masks.root(block) == block && !masks.is_full(block) {
            all += THROUGHPUTS.any_lane_test;
        }
        all += THROUGHPUTS.carried_through_memory * through_memory.iter().filter(|&&at| at == block).count() as f64;
        costs.scattered_insts += scattered;
        costs.scalar += frequency * own * one * model.lanes;
        let times = frequency * divergence_factor * executed;
        costs.pack += times * all;
        if !normal.func.layout.is_cold(block) {
            costs.hot += times * all;
            costs.scattered += times * scattered;
            costs.lines += times * lines;
        }
    }
    costs
}

/// For each volatile private variable that an iteration of a loop reads before it has written it, the block with the read.
fn carried_through_memory(normal: &NormalForm) -> Vec<Block> {
    let NormalForm { func, cfg, dom, loops, .. } = normal;
    let variable = |pointer: Value| match func.dfg.def_inst(pointer).map(|inst| &func.dfg.inst(inst).imm) {
        Some(&Imm::Slot(slot)) => Some(slot),
        Some(_) | None => None,
    };
    // Accesses in loops, in the order of the code: loop, variable, block, whether it is a write.
    let mut accesses: Vec<(LoopId, Slot, Block, bool)> = Vec::new();
    for &block in cfg.rpo() {
        let Some(id) = loops.innermost(block) else { continue };
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            let (op @ (Opcode::Load | Opcode::Store), Imm::Mem(mem)) = (data.op, &data.imm) else { continue };
            if let Some(slot) = variable(data.args[0]).filter(|_| mem.volatile) {
                accesses.push((id, slot, block, op == Opcode::Store));
            }
        }
    }
    let mut carried: FxHashMap<(LoopId, Slot), Block> = FxHashMap::default();
    for (i, &(id, slot, block, writes)) in accesses.iter().enumerate() {
        let same = |other: &&(LoopId, Slot, Block, bool)| other.0 == id && other.1 == slot && other.3;
        let written_before = || accesses[..i].iter().filter(same).any(|write| dom.dominates(write.2, block));
        if !writes && !carried.contains_key(&(id, slot)) && accesses.iter().any(|a| same(&a)) && !written_before() {
            carried.insert((id, slot), block);
        }
    }
    carried.into_values().collect()
}

/// How often blocks are executed, relative to the kernel.
pub(super) struct Frequencies {
    /// How many iterations each loop is assumed to have.
    iterations: FxHashMap<LoopId, f64>,
}

impl Frequencies {
    /// Where the loops with the headers `long` have many iterations; see [`estimate_long`].
    pub(super) fn new(normal: &NormalForm, long: &FxHashSet<Block>) -> Frequencies {
        Frequencies { iterations: normal.loops.iter().map(|(id, _)| (id, iterations(normal, long, id))).collect() }
    }

    pub(super) fn of(&self, normal: &NormalForm, block: Block) -> f64 {
        let loops = &normal.loops;
        let around = iter::successors(loops.innermost(block), |&id| loops.get(id).parent);
        around.map(|id| self.iterations[&id]).take(MAX_DEPTH).product()
    }
}

/// How many iterations a loop is assumed to have.
fn iterations(normal: &NormalForm, long: &FxHashSet<Block>, id: LoopId) -> f64 {
    let NormalForm { func, cfg, dom, loops, several, .. } = normal;
    let limits = (u64::from(ITERATIONS), u64::from(LONG_ITERATIONS));
    let expected = || trip_count::expected(func, (cfg, dom, loops), id, limits).map(|iterations| iterations as f64);
    let header = normal.original(loops.get(id).header);
    let is_several = |header: Block| several.contains_key(&normal.original(header));
    let remainder = trip_count::remainder(func, (cfg, dom, loops), id, is_several);
    if let Some(iterations) = remainder.filter(|_| !long.contains(&header)) {
        iterations
    } else if several.values().any(|several| several.rest == header)
        || several.get(&header).is_some_and(|several| several.at_most.is_some())
    {
        // Candidates differ in how many iterations they execute at once, so the loop has the same number in all of them: what
        // is left does not count.
        0.0
    } else if let Some(&Several { iterations, rest, .. }) = several.get(&header) {
        let all = if long.contains(&rest) { LONG_ITERATIONS } else { ITERATIONS };
        expected().unwrap_or(f64::from(all) / f64::from(iterations))
    } else if long.contains(&header) {
        LONG_ITERATIONS.into()
    } else {
        expected().unwrap_or(ITERATIONS.into())
    }
}

/// The headers of innermost loops of which nothing says how many iterations they have.
pub(super) fn innermost_of_unknown_length(normal: &NormalForm) -> Vec<Block> {
    let NormalForm { func, cfg, dom, loops, .. } = normal;
    let around: FxHashSet<LoopId> = loops.iter().filter_map(|(_, inner)| inner.parent).collect();
    let limits = (u64::from(ITERATIONS), u64::from(LONG_ITERATIONS));
    let is_unknown = |id: LoopId| trip_count::expected(func, (cfg, dom, loops), id, limits).is_none();
    let innermost = loops.iter().filter(|&(id, _)| !around.contains(&id) && is_unknown(id));
    innermost.map(|(_, data)| data.header).collect()
}

/// The iterations of the longest of a pack's lanes in a divergent loop, relative to the average one: more if values from memory
/// that differ between lanes decide when it is left.
fn longest(normal: &NormalForm, divergence: &Divergence, id: LoopId, lanes: f64) -> f64 {
    let NormalForm { func, cfg, loops, .. } = normal;
    let leaves = |block: Block| cfg.succs(block).iter().any(|&succ| !loops.contains(id, succ));
    let exits = loops.get(id).blocks.iter().copied().filter(|&block| leaves(block) && divergence.diverges(block));
    let mut work: Vec<Value> = exits
        .filter_map(|block| func.layout.terminator(block))
        .flat_map(|exit| func.dfg.inst(exit).args.clone())
        .collect();
    if work.iter().any(|&condition| is_bounded_by_row(func, divergence, condition)) {
        return LONGEST_OF_ROWS * (1..=lanes as u32).map(|lane| f64::from(lane).recip()).sum::<f64>();
    }
    let mut seen = EntitySet::new();
    while let Some(value) = work.pop() {
        if divergence.shape(value) != Shape::Varying || !seen.insert(value) {
            continue;
        }
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) if how(func.dfg.inst(inst).op) == How::Load => return LONGEST_OF_DATA,
            ValueDef::Result(inst, _) => work.extend(func.dfg.inst(inst).args.iter().copied()),
            ValueDef::Param(block, index) => {
                for &pred in cfg.preds(block) {
                    let targets = func.layout.terminator(pred).map(|end| func.dfg.targets(end)).unwrap_or_default();
                    let to_here = targets.into_iter().filter(|call| call.block == block);
                    work.extend(to_here.map(|call| call.args[usize::from(index)]));
                }
            }
        }
    }
    LONGEST
}

/// Whether a condition compares a counter with what each work-item loads from a place of its own, next to its neighbours'.
fn is_bounded_by_row(func: &Function, divergence: &Divergence, condition: Value) -> bool {
    let definition = |value: Value| func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst));
    let extended = |&value: &Value| {
        definition(value).filter(|data| matches!(data.op, Opcode::Sext | Opcode::Zext)).map(|data| data.args[0])
    };
    let without = |value: Value| iter::successors(Some(value), extended).last().unwrap_or(value);
    let is_param = |value: Value| matches!(func.dfg.def(value), ValueDef::Param(..));
    let counts = |value: Value| {
        is_param(value) || definition(value).is_some_and(|data| data.op == Opcode::Iadd && is_param(data.args[0]))
    };
    let loads = |value: Value| {
        let loaded = definition(without(value)).filter(|data| how(data.op) == How::Load);
        loaded.is_some_and(|data| matches!(divergence.shape(data.args[0]), Shape::Affine { .. }))
    };
    // The end of a row, or its beginning and its length.
    let bounds = |value: Value| {
        let sum = definition(value).filter(|data| data.op == Opcode::Iadd);
        loads(value) || sum.is_some_and(|data| data.args.iter().any(|&part| loads(part)))
    };
    let Some(compare) = definition(condition).filter(|data| data.op == Opcode::Icmp) else { return false };
    let [a, b] = [without(compare.args[0]), without(compare.args[1])];
    counts(a) && bounds(b) || counts(b) && bounds(a)
}

struct ThroughputModel<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    uses: UseCounts,
    /// OpenCL vectors that stay in memory order.
    flat: EntitySet<Value>,
    interleaved: Interleaved,
    branches: SecondaryMap<Block, BranchFacts>,
    lanes: f64,
    machine: &'a Machine,
    /// Of each divergent loop, the iterations of the longest lane, relative to the average one.
    longest: FxHashMap<LoopId, f64>,
}

/// How often a block is reached.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    /// The share of packs that may reach it.
    packs: f64,
    /// The share of work-items that do.
    items: f64,
}

impl Reached {
    /// The share of packs of which a lane reaches the block.
    fn executed(self, lanes: f64) -> f64 {
        let of_lanes = if self.packs > 0.0 { self.items / self.packs } else { 0.0 };
        self.packs * (COHERENT * of_lanes + (1.0 - COHERENT) * (of_lanes * lanes).min(1.0))
    }
}

/// What the targets of a branch say about it. Switches may have many, so that this is found once.
#[derive(Clone, Copy, Debug, Default)]
struct BranchFacts {
    has_cold_target: bool,
    /// Whether it decides about another iteration rather than between paths.
    is_loop_exit: bool,
    /// Where it sends work-items away to, if it is a guard.
    away: PackedOption<Block>,
    /// The target that is reached by few, and how many.
    few: Option<(Block, Reached)>,
}

fn branches(normal: &NormalForm, divergence: &Divergence, lanes: f64) -> SecondaryMap<Block, BranchFacts> {
    let NormalForm { func, cfg, loops, .. } = normal;
    let mut facts: SecondaryMap<Block, BranchFacts> = SecondaryMap::new();
    let guards = guards(normal, divergence);
    for &block in cfg.rpo() {
        let leaves = |id| cfg.succs(block).iter().any(|&succ| !loops.contains(id, succ));
        facts[block] = BranchFacts {
            has_cold_target: cfg.succs(block).iter().any(|&succ| func.layout.is_cold(succ)),
            is_loop_exit: loops.innermost(block).is_some_and(leaves),
            away: guards.get(&block).copied().into(),
            few: few(normal, divergence, block, lanes),
        };
    }
    facts
}

/// The target of a branch that few work-items reach, and the shares of packs and work-items that do: one work-item of a group, or
/// fewer ones in each step of a reduction.
fn few(normal: &NormalForm, divergence: &Divergence, block: Block, lanes: f64) -> Option<(Block, Reached)> {
    let func = &normal.func;
    let data = func.layout.terminator(block).map(|last| func.dfg.inst(last))?;
    let Imm::Branch(calls) = &data.imm else { return None };
    if !divergence.diverges(block) {
        return None;
    }
    calls.iter().zip([true, false]).find_map(|(call, holds)| {
        if is_of_single_lane(func, divergence, data.args[0], holds) {
            let items = 1.0 / ITEMS_OF_GROUP;
            return Some((call.block, Reached { packs: lanes * items, items }));
        }
        let steps = reduction_steps(normal, divergence, block, data.args[0], holds)?;
        let (mut packs, mut items) = (0.0, 0.0);
        let count = ITEMS_OF_GROUP.log2();
        let mut active = ITEMS_OF_GROUP / 2.0;
        while active >= 1.0 {
            items += active / ITEMS_OF_GROUP / count;
            let executing = match steps {
                Steps::Neighbours => (active / lanes).ceil(),
                Steps::Spread => active.min(ITEMS_OF_GROUP / lanes),
            };
            packs += executing * lanes / ITEMS_OF_GROUP / count;
            active /= 2.0;
        }
        Some((call.block, Reached { packs, items }))
    })
}

impl ThroughputModel<'_> {
    /// How many packs and work-items reach a block.
    fn reached(&self, block: Block, reached: &SecondaryMap<Block, Reached>, plan: &LinearizationPlan) -> Reached {
        let NormalForm { cfg, dom, .. } = self.normal;
        let mut sum = Reached { packs: 0.0, items: 0.0 };
        for &pred in cfg.preds(block).iter().filter(|&&pred| plan.latches[pred].is_none()) {
            let edge = self.edge(pred, block);
            sum.packs += reached[pred].packs * edge.packs;
            sum.items += reached[pred].items * edge.items;
        }
        // All targets of branches that lanes take together count fully: where the paths meet again, as the branch does.
        match dom.parent(block) {
            Some(at) => Reached { packs: sum.packs.min(reached[at].packs), items: sum.items.min(reached[at].items) },
            None => Reached { packs: 1.0, items: 1.0 },
        }
    }

    /// The shares of packs, and of work-items, that go from a block to one of its targets.
    fn edge(&self, from: Block, to: Block) -> Reached {
        let func = &self.normal.func;
        let BranchFacts { has_cold_target, is_loop_exit, away, few } = self.branches[from];
        let diverges = self.divergence.diverges(from);
        let reports = |&inst: &Inst| func.dfg.inst(inst).op == Opcode::Check;
        if func.layout.is_cold(from) {
            Reached { packs: 1.0, items: 1.0 }
        } else if func.layout.is_cold(to) && func.layout.insts(to).iter().any(reports) {
            // Bugs are not expected.
            Reached { packs: 0.0, items: 0.0 }
        } else if has_cold_target {
            // Where assumptions are tested, packs take one of the paths, otherwise each lane does.
            let items = if diverges { UNUSUAL_ITEMS } else { self.lanes * UNUSUAL };
            match (func.layout.is_cold(to), diverges) {
                (true, true) => Reached { packs: self.lanes * items, items },
                (true, false) => Reached { packs: items, items },
                (false, true) => Reached { packs: 1.0, items: 1.0 - items },
                (false, false) => Reached { packs: 1.0 - items, items: 1.0 - items },
            }
        } else if !diverges || is_loop_exit {
            Reached { packs: 1.0, items: 1.0 }
        } else if let Some((target, share)) = few {
            if to == target { share } else { Reached { packs: 1.0, items: 1.0 - share.items } }
        } else if let Some(away) = away.expand() {
            Reached { packs: 1.0, items: if to == away { SENT_AWAY } else { 1.0 - SENT_AWAY } }
        } else {
            Reached { packs: 1.0, items: 1.0 / self.normal.cfg.succs(from).len() as f64 }
        }
    }

    /// Whether a block begins what few work-items execute, and it is known which packs these are in.
    fn is_of_few(&self, block: Block) -> bool {
        let preds = self.normal.cfg.preds(block);
        matches!(*preds, [pred] if self.branches[pred].few.is_some_and(|(target, _)| target == block))
    }

    /// Divergent loops around a block run as long as the longest lane.
    fn divergence_factor(&self, block: Block) -> f64 {
        let loops = &self.normal.loops;
        let around = iter::successors(loops.innermost(block), |&id| loops.get(id).parent);
        // In an inner loop, only the lanes that are still in the outer one are waited for.
        let (mut most, mut others): (f64, f64) = (1.0, 1.0);
        for factor in around.filter_map(|id| self.longest.get(&id).copied()) {
            others *= most.min(factor).min(LONGEST);
            most = most.max(factor);
        }
        most * others
    }

    /// How many registers a pack of such elements fills.
    fn registers(&self, elem: Elem) -> f64 {
        let bits = if elem == Elem::B1 { 32 } else { elem.bits() };
        (self.lanes * f64::from(bits) / f64::from(self.machine.register_bits)).max(1.0)
    }

    /// Whether a pack has an OpenCL vector in memory order.
    fn is_flat(&self, value: Value) -> bool {
        let components = self.normal.func.dfg.ty(value).lanes();
        self.flat.contains(value) && components * self.lanes as u32 <= Type::MAX_LANES
    }

    /// The registers of a vector that fills each but the last one.
    fn whole(&self, ty: Type) -> f64 {
        f64::from((ty.lanes() * ty.elem.bits()).div_ceil(self.machine.register_bits).max(1))
    }

    /// The cost of an instruction for one lane, and for a pack.
    fn inst(&self, block: Block, inst: Inst, masked: bool) -> (f64, f64) {
        let func = &self.normal.func;
        let data = func.dfg.inst(inst);
        let result = func.dfg.single_result(inst);
        let same = |cost: f64| (cost, cost);
        match how(data.op) {
            How::Leaf | How::Slot | How::Query | How::End => same(0.0),
            How::Once => same(1.0),
            How::SingleLane => {
                let region = if let &Imm::Func(number) = &data.imm { number.as_u32() as usize } else { 0 };
                same(self.normal.single_lane.get(region).map_or(1.0, |region| region.cost))
            }
            How::Lanewise | How::Components | How::Bitcast => {
                let Some(result) = result else { return same(1.0) };
                if self.divergence.shape(result) != Shape::Varying || self.divergence.has_known_distances(result) {
                    return same(1.0);
                }
                let (from, to) = (func.dfg.ty(data.args[0]), func.dfg.ty(result));
                if matches!(data.op, Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem) {
                    let divisor = data.args[1];
                    let constant = func.dfg.as_splat_bits(divisor).is_some();
                    let shared = matches!(self.divergence.shape(divisor), Shape::Uniform(_));
                    return self.division(to, constant, shared);
                }
                if self.is_flat(result) {
                    let wide = if from.elem.bits() > to.elem.bits() { from } else { to };
                    return (self.whole(wide), self.whole(wide.with_lanes(wide.lanes() * self.lanes as u32)));
                }
                self.computation(data.op, from, to)
            }
            How::Load => {
                let ty = func.dfg.ty(func.dfg.result(inst));
                self.access(inst, ty, masked, false)
            }
            How::Store => {
                let ty = func.dfg.ty(data.args[1]);
                self.access(inst, ty, masked, true)
            }
            How::Collective
                if data.op == Opcode::GroupShuffle && self.divergence.shape(data.args[0]) != Shape::Varying =>
            {
                same(0.0)
            }
            How::Collective if data.op == Opcode::PackAny => (0.0, self.registers(Elem::B1)),
            How::Collective => {
                // One step per doubling of lanes.
                let steps = self.lanes.log2().max(1.0);
                let parts: f64 = func.dfg.ty(data.args[0]).lanes().into();
                (parts, parts * 2.0 * steps * self.registers(func.dfg.ty(data.args[0]).elem))
            }
            How::PerLane if let Some(atomic) = aggregated(func, &self.uses, self.divergence, inst) => {
                let steps = if atomic.result_used { 2.0 * self.lanes.log2() } else { self.lanes.log2() };
                (
                    THROUGHPUTS.atomic,
                    THROUGHPUTS.atomic + THROUGHPUTS.scattered + steps * self.registers(func.dfg.ty(data.args[1]).elem),
                )
            }
            How::PerLane => (
                THROUGHPUTS.atomic,
                self.lanes * (THROUGHPUTS.atomic + THROUGHPUTS.scattered + if masked { 1.0 } else { 0.0 }),
            ),
            How::Branch if self.divergence.diverges(block) => {
                (THROUGHPUTS.unsure_branch, 2.0 * self.registers(Elem::B1) * func.dfg.targets(inst).len() as f64)
            }
            How::Branch => same(0.5),
            How::Foreign => (1.0, self.lanes),
        }
    }

    /// Whether a register has more than two 64-bit lanes, so that 64-bit products need not be computed lane by lane.
    fn has_long_registers(&self) -> bool {
        self.machine.register_bits >= 256
    }

    /// The cost of an integer division. Vectors multiply by the inverse of a constant or of a divisor that all lanes share, and
    /// divide other numbers as floats that have enough bits, those of 64 bits in two steps.
    fn division(&self, ty: Type, constant: bool, shared: bool) -> (f64, f64) {
        let components = f64::from(ty.lanes());
        let bits = ty.elem.bits();
        let float = self.registers(if bits >= 32 { Elem::F64 } else { Elem::F32 });
        let (one, pack) = if constant {
            let multiply = 2.0 * THROUGHPUTS.wide_multiply;
            match bits {
                64 if !self.has_long_registers() => (multiply, self.lanes * (multiply + THROUGHPUTS.scattered)),
                64 => (multiply, self.registers(ty.elem) * 3.0 * multiply),
                _ => (multiply, self.registers(ty.elem) * multiply),
            }
        } else {
            let pack = match bits {
                64 if !self.has_long_registers() => self.lanes * (THROUGHPUTS.divide + THROUGHPUTS.scattered),
                64 => float * THROUGHPUTS.long_division,
                _ if shared => THROUGHPUTS.divide + float * THROUGHPUTS.convert_and_correct,
                _ if self.has_long_registers() => {
                    float * (THROUGHPUTS.convert_and_correct + THROUGHPUTS.divide_estimate)
                }
                32 => self.lanes * 2.0 + float * THROUGHPUTS.convert_and_correct,
                _ => self.lanes * 0.7 + float * THROUGHPUTS.convert_and_correct,
            };
            (THROUGHPUTS.divide, pack)
        };
        (components * one, components * pack)
    }

    fn computation(&self, op: Opcode, from: Type, to: Type) -> (f64, f64) {
        let components = f64::from(to.lanes());
        let wide = if from.elem.bits() > to.elem.bits() { from.elem } else { to.elem };
        let registers = self.registers(wide);
        let lane_by_lane = |cost: f64| (components * cost, components * self.lanes * (cost + THROUGHPUTS.scattered));
        // A scalar operation takes an OpenCL vector at once if that fits a register.
        let one = (components * f64::from(wide.bits()) / f64::from(self.machine.register_bits)).ceil().max(1.0);
        if op == Opcode::LibCall {
            lane_by_lane(THROUGHPUTS.call)
        } else if wide.bits() == 64 && (op == Opcode::Umulh || op == Opcode::Smulh) {
            if self.has_long_registers() {
                (one, components * registers * 4.0 * THROUGHPUTS.wide_multiply)
            } else {
                lane_by_lane(1.0)
            }
        } else if op == Opcode::Umulh || op == Opcode::Smulh || op == Opcode::Imul && wide.bits() == 64 {
            (one, components * registers * THROUGHPUTS.wide_multiply)
        } else if op == Opcode::Addr {
            // Mostly part of the access.
            let pack = 0.5 * if self.machine.gathers { registers } else { self.lanes };
            (0.5, pack)
        } else {
            (one, components * registers)
        }
    }

    /// The distance between the records of two neighbouring lanes in elements, if a pack accesses contiguous records or its lanes
    /// access elements within a few neighbours.
    fn step(&self, inst: Inst, ty: Type) -> Option<u32> {
        let func = &self.normal.func;
        let data = func.dfg.inst(inst);
        let pointer = data.args[0];
        let shape = self.divergence.shape(pointer);
        // A volatile access to memory that others may see is executed as written, lane by lane.
        if matches!(data.imm, Imm::Mem(mem) if mem.volatile)
            && func.dfg.ty(pointer).elem.space() != Some(Space::Private)
        {
            return None;
        }
        if self.interleaved.granule_at(pointer).is_some() || self.interleaved.is_shared_at(pointer) {
            return matches!(shape, Shape::Affine { .. }).then_some(ty.lanes());
        }
        let stride = match shape {
            Shape::Affine { stride, .. } => stride,
            Shape::Uniform(_) | Shape::Varying => match self.divergence.conditional(pointer) {
                Some(on) => on.stride,
                None => return self.divergence.has_known_distances(pointer).then_some(1),
            },
        };
        record_step(stride, ty, self.lanes as u32)
    }

    /// Whether an instruction accesses addresses that are not contiguous.
    fn is_scattered(&self, inst: Inst) -> bool {
        let func = &self.normal.func;
        let data = func.dfg.inst(inst);
        let ty = match how(data.op) {
            How::Load => func.dfg.ty(func.dfg.result(inst)),
            How::Store => func.dfg.ty(data.args[1]),
            How::Leaf
            | How::Slot
            | How::Query
            | How::Lanewise
            | How::Components
            | How::Bitcast
            | How::Collective
            | How::PerLane
            | How::Once
            | How::SingleLane
            | How::Branch
            | How::End
            | How::Foreign => return false,
        };
        let shape = self.divergence.shape(data.args[0]);
        let overlaps = how(data.op) == How::Load
            && matches!(shape, Shape::Affine { stride, .. } if overlapping_pieces(stride, ty).is_some());
        !shape.is_uniform(Scope::Pack) && !overlaps && self.step(inst, ty).is_none()
    }

    fn access(&self, inst: Inst, ty: Type, masked: bool, write: bool) -> (f64, f64) {
        let pointer = self.normal.func.dfg.inst(inst).args[0];
        let components = f64::from(ty.lanes());
        if self.divergence.shape(pointer).is_uniform(Scope::Pack) {
            return (1.0, 1.0);
        }
        // A scalar access takes an OpenCL vector at once.
        let one = (components * f64::from(ty.elem.bits()) / f64::from(self.machine.register_bits)).max(1.0);
        if let Some(granule) = self.interleaved.granule_at(pointer).filter(|&granule| granule > ty.elem.bytes())
            && matches!(self.divergence.shape(pointer), Shape::Affine { .. })
        {
            // The granules are loaded and shifted; for a store, also modified and written.
            let registers = self.registers(Elem::int(8 * granule).unwrap_or(ty.elem));
            return (one, components * registers * if write { 6.0 } else { 3.0 });
        }
        let Some(step) = self.step(inst, ty) else {
            if let Shape::Affine { stride, .. } = self.divergence.shape(pointer)
                && let Some(pieces) = overlapping_pieces(stride, ty).filter(|_| !write)
            {
                return (1.0, 3.0 * f64::from(pieces) * self.registers(ty.elem));
            }
            // Vectors of 128 bits and more of active lanes are loaded whole, and transposed, or stored, if scalars compute
            // their addresses. Others are loaded in pieces of 64 bits.
            let is_affine = matches!(self.divergence.shape(pointer), Shape::Affine { .. });
            let fits = f64::from(ty.lanes()) <= self.lanes;
            let is_row = has_row_length(ty.bits()) && ty.elem.bits() >= 32 && fits && !masked;
            let pieces = if is_row && (!write || is_affine) {
                f64::from(ROW_BITS / ty.elem.bits()) / 2.0
            } else if write {
                components
            } else {
                (f64::from(ty.bits()) / 64.0).ceil().min(components)
            };
            // Processors do not forward the stores of several lanes to a gather, which waits for them.
            let recently_stored = self.normal.func.dfg.ty(pointer).elem.space() == Some(Space::Private);
            let gathers = self.machine.gathers && !write && !is_row && !recently_stored && ty.elem.bits() >= 32;
            // Where addresses are mostly vectors, their lanes are moved to scalar registers for other accesses.
            let moved = if self.machine.gathers { 0.5 } else { 0.0 };
            let lane = match (gathers, write && masked) {
                (true, _) => THROUGHPUTS.gathered,
                (false, true) => THROUGHPUTS.scattered + moved + 1.0,
                (false, false) => THROUGHPUTS.scattered + moved,
            };
            return (one, pieces * self.lanes * lane);
        };
        let value = self.normal.func.dfg.single_result(inst).or(self.normal.func.dfg.inst(inst).args.get(1).copied());
        let tests = match (masked, write) {
            (false, _) => 1.0,
            (true, false) => 1.3,
            (true, true) => 2.0,
        };
        if value.is_some_and(|value| self.is_flat(value)) {
            return (one, self.whole(ty.with_lanes(ty.lanes() * self.lanes as u32)) * tests);
        }
        // A register of one component is put together from `step` registers, two at a time.
        let moved = match step {
            0 | 1 => 1.0,
            2 => 1.5,
            3 => 2.0,
            _ => 3.0,
        };
        (one, moved * f64::from(step) * self.registers(ty.elem) * tests)
    }
}
