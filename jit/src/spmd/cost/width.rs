//! Chooses the number of lanes of a pack.
//!
//! A pack is a sub-group, so the sub-group queries report this number as well. Programs that use sub-groups are written for
//! those of other processors, which have eight work-items at least, most often 32: they keep a table in the values of a
//! sub-group, and read past its end if there are fewer, or reduce a work-group of 32 work-items as one sub-group. So such
//! kernels have 32 lanes on machines with long registers, and [`LEAST_SUB_GROUP`] at least on others, whatever these cost,
//! unless they must have one. Those that only ask for the number, and exchange values through local memory, have the usual
//! lanes: sub-groups of more work-items than there is work for are mostly idle.

use std::rc::Rc;

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::{Block, Elem, Function, Imm, Inst, InstData, KernelData, Loc, Opcode, Type};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::recurrence;
use super::register_pressure;
use super::throughput::{Costs, Frequencies, estimate, estimate_long, innermost_of_unknown_length};
use crate::passes::Globals;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::spmd::analysis::spin_loops;
use crate::spmd::class::{Class, class};
use crate::spmd::transform::normalize::{self, KnownOfPacks, NormalForm};
use crate::spmd::transform::one_lane::{self, OneLane};
use crate::spmd::transform::versioning;
use crate::spmd::transform::{index_widening, record_access, row_loops, single_lane_regions, sink_under_guards};
use crate::spmd::vectorize::widen::how::{How, how};
use crate::spmd::workgroup::collectives::{adapts_to_sub_groups, observes_sub_groups};
use crate::target::machine::{MAX_LANES, Machine};
use crate::{BackendChoice, Options};

/// Lanes per pack.
#[derive(Debug)]
pub(crate) enum Width {
    /// One work-item at a time, and the reason.
    Scalar(String),
    /// One work-item at a time, and the reason: packs of so many lanes, made of this normal form, would be slower. The chance
    /// that they are not.
    Unprofitable(String, u32, Box<NormalForm>, Chance),
    /// The number of lanes, the normal form for any work-groups, and the one for rows of whole packs if it differs. Whether one
    /// lane is estimated to be nearly as fast.
    Packs(u32, Box<NormalForm>, Option<Box<NormalForm>>, bool),
}

/// The chance that packs are faster than one lane although the estimate says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// The estimates are close.
    Good,
    /// Packs are faster but for loops of which one lane executes several iterations at once, and that may be short.
    Small,
    None,
}

/// How many work-items the rows of work-groups have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowLengths {
    /// The launch decides.
    Unknown,
    /// All rows have so many.
    Exactly(u64),
    /// Many.
    Long,
}

impl RowLengths {
    /// What a kernel says of its rows.
    pub(crate) fn of(kernel: &KernelData) -> RowLengths {
        kernel.required_local_size.map_or(RowLengths::Unknown, |sizes| RowLengths::Exactly(sizes[0]))
    }
}

/// The usual row length of a square work-group.
const SQUARE_ROW: u32 = 16;
/// The fewest lanes of packs that the kernel can observe as sub-groups.
pub(crate) const LEAST_SUB_GROUP: u32 = 8;
/// The same on machines with long registers: many programs take a work-group of 32 work-items for one sub-group.
const LEAST_LONG_SUB_GROUP: u32 = 32;
/// Kernels with more instructions are not tried with twice the usual lanes.
const MAX_INSTS_DOUBLED: usize = 1000;
/// Kernels with more instructions take too long to compile as packs.
const MAX_INSTS: usize = 500_000;

/// The most targets of a divergent branch in packs: each target keeps a list of those that lanes still wait for, and a pack tests
/// for each whether a lane has chosen it.
const MAX_DIVERGENT_TARGETS: usize = 2048;

/// The divergent branch with most targets, if these exceed the limit, and where it is.
fn widest_divergent_branch(normal: &NormalForm, divergence: &Divergence) -> Option<(usize, Loc)> {
    let NormalForm { func, cfg, .. } = normal;
    let divergent = cfg.rpo().iter().filter(|&&block| divergence.diverges(block));
    let (targets, block) = divergent.map(|&block| (cfg.succs(block).len(), block)).max()?;
    let terminator = func.layout.terminator(block)?;
    (targets > MAX_DIVERGENT_TARGETS).then(|| (targets, func.locs[terminator]))
}

/// Why a kernel has one lane before anything is known of its accesses and branches: what the options say, or what the
/// vectorizer does not support.
fn why_one_lane(
    func: &Function,
    rows: RowLengths,
    (forced, sub_groups): (Option<u32>, bool),
    options: &Options,
) -> Option<String> {
    if options.backend == BackendChoice::Interp {
        return Some("the interpreter executes work-items one at a time".to_owned());
    }
    if forced == Some(1) {
        return Some("one lane was requested by CLIFT_WIDTH or a required sub-group size".to_owned());
    }
    if options.opt_disable && forced.is_none() && !sub_groups {
        return Some("optimization is disabled (-cl-opt-disable)".to_owned());
    }
    if forced.is_none() && !sub_groups && matches!(rows, RowLengths::Exactly(1)) {
        return Some("reqd_work_group_size has one work-item along x".to_owned());
    }
    let mut insts = 0;
    for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
        insts += 1;
        let op = func.dfg.inst(inst).op;
        if op == Opcode::Call {
            return Some("it calls functions, which are too large to be inlined".to_owned());
        }
        if how(op) == How::Foreign {
            return Some(format!("the vectorizer does not support `{}`", op.info().name));
        }
    }
    (insts > MAX_INSTS).then(|| format!("the kernel has {insts} instructions, more than the limit of {MAX_INSTS}"))
}

/// Why the work-items of a kernel cannot be lanes: one would wait for another, or their paths differ too much.
fn why_lanes_cannot(normal: &NormalForm, lanes: u32, sub_groups: bool) -> Option<String> {
    let in_line = |loc: Loc| if loc.line == 0 { String::new() } else { format!(" in line {}", loc.line) };
    let divergence = normal.divergence(lanes, false);
    if let Some(read) = spin_loops::find_blocking_read(normal, &divergence) {
        let (name, line) = (read.op.info().name, in_line(read.loc));
        return Some(format!("a spin loop waits for a value that another work-item writes (`{name}`{line})"));
    }
    let (targets, loc) = widest_divergent_branch(normal, &divergence).filter(|_| !sub_groups)?;
    Some(format!(
        "lanes diverge at a switch{} with {targets} targets, more than the limit of {MAX_DIVERGENT_TARGETS}",
        in_line(loc)
    ))
}

impl Width {
    /// Chooses the width of a kernel.
    pub(crate) fn choose(func: &Function, rows: RowLengths, options: &Options, machine: &Machine) -> Width {
        let forced = options.width.map(|width| width.clamp(1, MAX_LANES).next_power_of_two());
        let sub_groups = observes_sub_groups(func);
        if let Some(reason) = why_one_lane(func, rows, (forced, sub_groups), options) {
            return Width::Scalar(reason);
        }
        let Some(normal) = normalize::run(func) else {
            return Width::Scalar("the kernel has an irreducible loop".to_owned());
        };
        // What one lane of a pack executes at most says nothing of lanes.
        let outlines = options.checks.is_empty() && !options.opt_disable;
        let outlined = if outlines { single_lane_regions::run(&normal, machine) } else { None };
        if let Some(lanes) = forced {
            let normal = outlined.unwrap_or(normal);
            let normal = if lanes > 1 { sink_under_guards::run(normal, lanes) } else { normal };
            let chosen = WidthCandidate::new(normal, lanes, machine);
            return Width::Packs(lanes, Box::new(chosen.general), chosen.versions.map(Box::new), false);
        }
        let element_bits = dominant_element_bits(outlined.as_ref().unwrap_or(&normal));
        let adapts = adapts_to_sub_groups(func);
        let least = match (sub_groups, machine.register_bits > Machine::COMMON.register_bits && !adapts) {
            (true, true) => LEAST_LONG_SUB_GROUP,
            (true, false) => LEAST_SUB_GROUP,
            (false, _) => 1,
        };
        let lanes = machine.usual_lanes(element_bits).max(least);
        if let Some(reason) = why_lanes_cannot(&normal, lanes, sub_groups) {
            return Width::Scalar(reason);
        }
        let normal = sink_under_guards::run(outlined.unwrap_or(normal), lanes);
        if !sub_groups
            && let Some(bits) = long_vectors(&normal.func, machine)
            && register_pressure::estimate(&normal, &normal.divergence(lanes, true), lanes, machine)
                > machine.registers * machine.register_bits / bits.min(machine.register_bits)
        {
            let reason = format!("its vectors, of {bits} bits on average, fill the registers");
            // Vectors of half a register leave the other half unused, and one work-item waits for its own results.
            let close = 4 * bits <= 3 * machine.register_bits;
            return match close {
                true => WidthCandidate::new(normal, lanes, machine).unprofitable(reason, Chance::Good),
                false => Width::Scalar(reason),
            };
        }
        let waits = Waits::new(&normal, lanes, machine).any();
        let usual = WidthCandidate::new(normal.clone(), lanes, machine);
        let costs = usual.costs();
        // Long registers are worth their lanes, except for accesses that scatter but would not with fewer lanes: everything else
        // costs half as much at best.
        let scatters = costs.scattered > (1.0 - HALF_WORTHWHILE) * costs.hot;
        // Long registers are full without more lanes.
        let narrow_accesses = machine.is_short() && usual.accesses_narrow_elements();
        let search = Search {
            func,
            rows,
            machine,
            normal: &normal,
            element_bits,
            least,
            adapts,
            waits,
            scatters,
            narrow_accesses,
        };
        let (chosen, costs) = search.fewer_lanes(usual, costs);
        let (chosen, costs) = search.more_lanes(chosen, costs);
        chosen.or_one_lane(costs, func, options, (scatters, sub_groups))
    }
}

/// The search for the number of lanes of a kernel that may have packs.
struct Search<'a> {
    func: &'a Function,
    rows: RowLengths,
    machine: &'a Machine,
    normal: &'a NormalForm,
    element_bits: u32,
    /// The fewest lanes that packs may have.
    least: u32,
    /// As [`adapts_to_sub_groups`].
    adapts: bool,
    /// Whether packs with the usual lanes wait for results ([`Waits`]).
    waits: bool,
    /// Whether they scatter accesses that packs with fewer lanes might not.
    scatters: bool,
    /// Whether twice as many lanes take no more loads and stores.
    narrow_accesses: bool,
}

impl<'a> Search<'a> {
    fn candidate(&self, lanes: u32) -> WidthCandidate<'a> {
        WidthCandidate::new(self.normal.clone(), lanes, self.machine)
    }

    /// Packs with the usual lanes or fewer.
    fn fewer_lanes(&self, usual: WidthCandidate<'a>, costs: Costs) -> (WidthCandidate<'a>, Costs) {
        let &Search { machine, normal, element_bits, least, scatters, .. } = self;
        let (mut chosen, mut costs) = (usual, costs);
        if scatters && chosen.lanes > machine.least_lanes(element_bits).max(least) {
            let half = self.candidate(chosen.lanes / 2);
            let less = half.costs();
            // Cold blocks are included in the costs, but must not decide.
            if 2.0 * less.hot < costs.hot * HALF_WORTHWHILE {
                (chosen, costs) = (half, less);
            }
        }
        // Long OpenCL vectors are contiguous in packs of few lanes only.
        if let Some(fewer) =
            fitting_lanes(normal, 0).filter(|&lanes| scatters && (least..chosen.lanes).contains(&lanes))
        {
            let fewer = self.candidate(fewer);
            let less = fewer.costs();
            if less.hot / f64::from(fewer.lanes) < HALF_WORTHWHILE * costs.hot / f64::from(chosen.lanes) {
                (chosen, costs) = (fewer, less);
            }
        }
        // Elements of twice the dominant width fill two registers each: half the lanes keep more of them in registers.
        if chosen.lanes / 2 >= least
            && chosen.spills()
            && let half = self.candidate(chosen.lanes / 2)
            && f64::from(half.register_pressure()) < HALF_PRESSURE * f64::from(chosen.register_pressure())
        {
            costs = half.costs();
            chosen = half;
        }
        (chosen, costs)
    }

    /// Packs with so many lanes, or two or four times as many.
    fn more_lanes(&self, chosen: WidthCandidate<'a>, costs: Costs) -> (WidthCandidate<'a>, Costs) {
        let &Search { func, machine, normal, waits, narrow_accesses, .. } = self;
        let (mut chosen, mut costs) = (chosen, costs);
        let lanes = chosen.lanes;
        let narrow_ops = chosen.computes_narrow_elements();
        let doubled = self.has_room_for(2 * lanes, &chosen).then(|| self.candidate(2 * lanes));
        // The rows of volumes are short.
        let shares = |doubled: &WidthCandidate<'_>| highest_dimension(func) <= PLANE && !doubled.spills();
        if let Some(doubled) = doubled.filter(|doubled| waits || narrow_accesses || narrow_ops || shares(doubled)) {
            let more = doubled.costs();
            // With more lanes, cold blocks are executed more often, but they do not decide.
            let most = match (waits || narrow_accesses, narrow_ops) {
                (true, _) => SLACK,
                (false, true) => NARROW_WORTHWHILE,
                (false, false) => SHARED_WORTHWHILE,
            };
            if more.hot <= most * 2.0 * costs.hot {
                if narrow_accesses {
                    chosen = doubled;
                } else {
                    (chosen, costs) = (doubled, more);
                }
            }
        }
        // With elements of 64 bits, or short registers, loops wait with twice the lanes, too. Where lanes part, more of them are
        // idle in longer packs; and several rows at once fill the units as well, and share what they load.
        if waits
            && !uses_other_dimensions(func)
            && !narrow_accesses
            && chosen.lanes == 2 * lanes
            && self.has_room_for(2 * chosen.lanes, &chosen)
            && Waits::new(normal, chosen.lanes, machine).in_shared_loops()
        {
            let again = self.candidate(2 * chosen.lanes);
            let more = again.costs();
            if more.hot <= SLACK * 2.0 * costs.hot {
                (chosen, costs) = (again, more);
            }
        }
        (chosen, costs)
    }

    /// Whether packs of so many lanes may be tried in place of others.
    fn has_room_for(&self, lanes: u32, instead_of: &WidthCandidate<'_>) -> bool {
        let has_rows = match self.rows {
            RowLengths::Unknown => long_rows(self.func, lanes),
            RowLengths::Exactly(items) => items.is_multiple_of(lanes.into()),
            RowLengths::Long => true,
        };
        // Beyond those lanes, OpenCL vectors are taken apart where they are loaded. What is loaded before loops that wait does
        // not matter.
        let fitting = fitting_lanes(self.normal, u32::from(self.waits)).unwrap_or(MAX_LANES);
        let fits = lanes <= MAX_LANES.min(fitting) && !self.adapts;
        fits && has_rows && instead_of.insts() <= MAX_INSTS_DOUBLED
    }
}

/// A kernel prepared for some number of lanes.
struct WidthCandidate<'a> {
    machine: &'a Machine,
    lanes: u32,
    general: NormalForm,
    /// The kernel for rows of whole packs, if it differs.
    versions: Option<NormalForm>,
}

/// A kernel prepared for any rows.
pub(super) fn prepared(normal: NormalForm, lanes: u32, machine: &Machine) -> NormalForm {
    let mut prepared = row_loops::run(&normal, lanes, machine.register_bits).unwrap_or(normal);
    record_access::run(&mut prepared, lanes);
    index_widening::run(&mut prepared, lanes);
    prepared
}

impl<'a> WidthCandidate<'a> {
    fn new(normal: NormalForm, lanes: u32, machine: &'a Machine) -> WidthCandidate<'a> {
        let general = prepared(normal, lanes, machine);
        let versions = if lanes > 1 { versioning::run(&general, lanes, KnownOfPacks::Whole) } else { None };
        WidthCandidate { machine, lanes, general, versions }
    }

    /// One lane, as packs of this kind are not worth it.
    fn unprofitable(self, reason: String, chance: Chance) -> Width {
        Width::Unprofitable(reason, self.lanes, Box::new(self.versions.unwrap_or(self.general)), chance)
    }

    /// Packs of this kind with these costs, or one lane if they are not worth it. `scatters` as in [`Search::scatters`].
    fn or_one_lane(
        self,
        costs: Costs,
        func: &Function,
        options: &Options,
        (scatters, sub_groups): (bool, bool),
    ) -> Width {
        let over_scalar = costs.scalar / costs.pack.max(1.0);
        let (mut gain, mut instead) = (over_scalar, "scalar code");
        if scatters
            && !sub_groups
            && !options.opt_disable
            && let Some(other) = self.gain_over_one_lane(func, options).filter(|&other| other < gain)
        {
            (gain, instead) = (other, "one lane with vectors of neighbouring elements");
        }
        if gain < WORTHWHILE && !sub_groups {
            let reason = format!(
                "the estimated time with {} lanes is {:.1} times that of {instead}, because of scattered accesses or \
                 divergent branches",
                self.lanes,
                1.0 / gain
            );
            // Nothing is known of how long those loops are.
            let chance = match (gain >= CLOSE, over_scalar >= WORTHWHILE) {
                (true, _) => Chance::Good,
                (false, true) => Chance::Small,
                (false, false) => Chance::None,
            };
            return self.unprofitable(reason, chance);
        }
        if gain < WORTHWHILE_LONG && costs.scattered_insts > LONG_SCATTERED && !sub_groups {
            let reason = format!(
                "with {} lanes, its scattered accesses would take {:.0} instructions, for only {gain:.1} times the speed of \
                 {instead}",
                self.lanes, costs.scattered_insts
            );
            return self.unprofitable(reason, Chance::None);
        }
        let uncertain = costs.data_decides || costs.scattered > MOSTLY_SCATTERED * costs.hot;
        let close_above = if uncertain { CLOSE_ABOVE_OF_DATA } else { CLOSE_ABOVE };
        let close = gain < close_above && !sub_groups;
        Width::Packs(self.lanes, Box::new(self.general), self.versions.map(Box::new), close)
    }

    /// The kernel for rows of whole packs.
    fn whole(&self) -> &NormalForm {
        self.versions.as_ref().unwrap_or(&self.general)
    }

    /// Of the kernel for rows of whole packs.
    fn divergence(&self) -> Rc<Divergence> {
        self.whole().divergence(self.lanes, true)
    }

    /// Instructions of the kernel for rows of whole packs.
    fn insts(&self) -> usize {
        let NormalForm { func, cfg, .. } = self.whole();
        cfg.rpo().iter().map(|&block| func.layout.insts(block).len()).sum()
    }

    /// Whether all contiguous accesses have narrow elements: twice as many lanes take no more loads and stores.
    fn accesses_narrow_elements(&self) -> bool {
        let NormalForm { func, cfg, .. } = self.whole();
        let divergence = self.divergence();
        let mut any = false;
        for &block in cfg.rpo().iter().filter(|&&block| !func.layout.is_cold(block)) {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                let accessed = match how(data.op) {
                    How::Load => func.dfg.result(inst),
                    How::Store => data.args[1],
                    How::PerLane => return false,
                    How::Leaf
                    | How::Slot
                    | How::Query
                    | How::Lanewise
                    | How::Components
                    | How::Bitcast
                    | How::Collective
                    | How::Once
                    | How::SingleLane
                    | How::Branch
                    | How::End
                    | How::Foreign => continue,
                };
                let pointer = data.args[0];
                match divergence.shape(pointer) {
                    Shape::Uniform(_) => continue,
                    Shape::Varying if !divergence.has_known_distances(pointer) => return false,
                    Shape::Varying | Shape::Affine { .. } => {}
                }
                if bits_of_lane(func.dfg.ty(accessed)) > NARROW_BITS {
                    return false;
                }
                any = true;
            }
        }
        any
    }

    /// Whether most of what differs between lanes is computed with narrow elements: one for each lane of the usual pack fills
    /// part of a register.
    fn computes_narrow_elements(&self) -> bool {
        let normal = self.whole();
        let (func, divergence) = (&normal.func, self.divergence());
        let frequencies = Frequencies::new(normal, &FxHashSet::default());
        let (mut narrow, mut wide) = (0.0, 0.0);
        for &block in normal.cfg.rpo().iter().filter(|&&block| !func.layout.is_cold(block)) {
            let frequency = frequencies.of(normal, block);
            let results = func.layout.insts(block).iter().flat_map(|&inst| func.dfg.results(inst));
            for &value in results.filter(|&&value| matches!(divergence.shape(value), Shape::Varying)) {
                let ty = func.dfg.ty(value);
                if ty.is_bool() {
                    continue;
                }
                if bits_of_lane(ty) <= NARROW_BITS {
                    narrow += frequency;
                } else {
                    wide += frequency;
                }
            }
        }
        narrow > NARROW_SHARE * wide
    }

    /// How much faster the pack is than its work-items one after the other with vectors of neighbouring elements, if they have
    /// those.
    fn gain_over_one_lane(&self, func: &Function, options: &Options) -> Option<f64> {
        let (single, _) = one_lane::with_loops(func, &Globals::new(), options, self.machine);
        let OneLane { func: single, several } = single?;
        let single = normalize::run(&single)?.with_several(several);
        let mut long: FxHashSet<Block> =
            single.several.values().chain(self.whole().several.values()).map(|several| several.rest).collect();
        // Loops beside those of which several iterations are executed at once are as long: that says nothing of how often they
        // run.
        if !long.is_empty() {
            long.extend(innermost_of_unknown_length(&single));
        }
        let divergence = single.divergence(self.lanes, true);
        let single_costs = estimate_long(&single, &divergence, self.lanes, self.machine, &long);
        let packs = estimate_long(self.whole(), &self.divergence(), self.lanes, self.machine, &long);
        Some(single_costs.scalar / packs.pack.max(1.0))
    }

    /// Vector registers that the busiest loop needs at once.
    fn register_pressure(&self) -> u32 {
        register_pressure::estimate(self.whole(), &self.divergence(), self.lanes, self.machine)
    }

    /// Whether the values of the busiest loop do not fit the registers. Packs on the common machine spill a little anyway: their
    /// values fill two registers so that operations overlap.
    fn spills(&self) -> bool {
        self.machine.register_bits > Machine::COMMON.register_bits && self.register_pressure() > self.machine.registers
    }

    fn costs(&self) -> Costs {
        estimate(self.whole(), &self.divergence(), self.lanes, self.machine)
    }
}

/// Whether the rows of work-groups may be assumed to have so many work-items. Kernels of several dimensions whose work-items
/// cooperate are mostly launched in squares of at most 256 work-items. All other kernels have code with fewer lanes for short
/// rows.
fn long_rows(func: &Function, lanes: u32) -> bool {
    let insts =
        || func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).map(|&inst| func.dfg.inst(inst));
    lanes <= SQUARE_ROW || !uses_other_dimensions(func) || !insts().any(|data| class(data.op) == Class::Barrier)
}

/// The most and the fewest lanes of packs that are tried only because launches repeat.
const MOST_TRIED: u32 = 32;
const FEWEST_TRIED: u32 = 4;

/// Other numbers of lanes for a kernel with `lanes` lanes, if its results are the same with others.
pub(crate) fn other_lanes(func: &Function, lanes: u32, options: &Options) -> SmallVec<[u32; 2]> {
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let cooperates = insts.any(|&inst| class(func.dfg.inst(inst).op) == Class::Collective);
    if options.width.is_some() || cooperates || observes_sub_groups(func) {
        return SmallVec::new();
    }
    let tried = if 2 * lanes <= MOST_TRIED { [2 * lanes, lanes / 2] } else { [lanes / 2, lanes / 4] };
    tried.into_iter().filter(|&lanes| lanes >= FEWEST_TRIED).collect()
}

/// Whether a kernel has work-item functions of the second or third dimension.
pub(crate) fn uses_other_dimensions(func: &Function) -> bool {
    highest_dimension(func) > 0
}

/// The highest dimension that a kernel has work-item functions of; 0 also if there are none.
fn highest_dimension(func: &Function) -> u8 {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let dimensions = insts.map(|&inst| match func.dfg.inst(inst) {
        InstData { op, imm: Imm::Dim(dimension), .. } if how(*op) == How::Query => *dimension,
        _ => 0,
    });
    dimensions.max().unwrap_or(0)
}

/// Whether a kernel waits for results so that twice the usual lanes would fill the time.
struct Waits<'a> {
    normal: &'a NormalForm,
    lanes: u32,
    machine: &'a Machine,
}

impl<'a> Waits<'a> {
    fn new(normal: &'a NormalForm, lanes: u32, machine: &'a Machine) -> Waits<'a> {
        Waits { normal, lanes, machine }
    }

    fn any(&self) -> bool {
        2 * self.lanes <= MAX_LANES && (self.in_loops() || self.in_chains())
    }

    fn divergence(&self) -> Rc<Divergence> {
        self.normal.divergence(self.lanes, true)
    }

    /// In packs of twice the lanes.
    fn doubled(&self) -> Rc<Divergence> {
        self.normal.divergence(2 * self.lanes, true)
    }

    /// Operations executed lane by lane are limited only by themselves.
    fn is_per_lane(&self, inst: Inst) -> bool {
        how(self.normal.func.dfg.inst(inst).op) == How::PerLane
    }

    /// Whether there are recurrence-bound loops that all lanes execute together.
    fn in_shared_loops(&self) -> bool {
        let NormalForm { cfg, loops, .. } = self.normal;
        let divergence = self.divergence();
        let parts = |&&block: &&Block| loops.depth(block) > 0 && divergence.diverges(block);
        self.in_loops() && !cfg.rpo().iter().any(|block| parts(&block))
    }

    /// Whether there are recurrence-bound loops, and the values of twice as many lanes fit the registers. Work-items without
    /// loops overlap by themselves, if they are short.
    fn in_loops(&self) -> bool {
        let NormalForm { func, cfg, loops, .. } = self.normal;
        let in_loops = cfg.rpo().iter().filter(|&&block| loops.depth(block) > 0);
        let doubled = 2 * self.lanes;
        loops.iter().next().is_some()
            && !in_loops.flat_map(|&block| func.layout.insts(block)).any(|&inst| self.is_per_lane(inst))
            && recurrence::is_recurrence_bound(self.normal, &self.divergence(), self.lanes, self.machine)
            && register_pressure::estimate(self.normal, &self.doubled(), doubled, self.machine)
                <= self.machine.registers
    }

    /// Whether there are long chains of operations, and the values of twice as many lanes fit [`CHAIN_REGISTERS`]. Kernels of
    /// several dimensions are launched in shorter rows.
    fn in_chains(&self) -> bool {
        let NormalForm { func, cfg, .. } = self.normal;
        let mut insts = cfg.rpo().iter().flat_map(|&block| func.layout.insts(block));
        let pressure =
            || register_pressure::estimate_varying(self.normal, &self.doubled(), 2 * self.lanes, self.machine);
        !uses_other_dimensions(func)
            && !insts.any(|&inst| self.is_per_lane(inst))
            && recurrence::is_chain_bound(self.normal, &self.divergence(), self.lanes, self.machine)
            && f64::from(pressure()) <= CHAIN_REGISTERS * f64::from(self.machine.registers)
    }
}

/// The bits that a value fills for each lane, with all components of an OpenCL vector.
fn bits_of_lane(ty: Type) -> u32 {
    ty.elem.bits() * ty.lanes()
}

/// Values with at most so many bits are narrow: one for each lane of the usual pack fills half a register at most.
const NARROW_BITS: u32 = 16;
/// How many times as many values must be narrow as others for twice the lanes to be considered.
const NARROW_SHARE: f64 = 3.0;
/// How much less than proportionally the costs must grow with twice the lanes if only narrow values speak for them.
const NARROW_WORTHWHILE: f64 = 0.8;
/// The same if nothing but what the lanes of a pack share speaks for them. Measured: of 71 kernels of one and two dimensions
/// with such estimates, 18 took less than 0.9 and four more than 1.1 times as long with twice the lanes, on average 0.93; with
/// estimates of 0.7 to 0.8, 49 took 1.08 times as long, and eight small ones of three dimensions 1.06 times.
const SHARED_WORTHWHILE: f64 = 0.7;
/// The highest dimension of kernels over planes.
const PLANE: u8 = 1;
/// The part of the registers that the values of chains may take; uniform values need some, too.
const CHAIN_REGISTERS: f64 = 0.75;
/// How much more than proportionally the costs of twice the lanes may grow.
const SLACK: f64 = 1.05;

/// How much the costs per lane of half the lanes must be below those of the usual lanes for half the lanes to be chosen.
const HALF_WORTHWHILE: f64 = 0.9;

/// The part of the registers that half of the lanes may take, where all are too many.
const HALF_PRESSURE: f64 = 0.6;

/// How much faster a pack must be than its work-items one after the other. The model counts instructions; more of them are in
/// flight at once if they belong to a pack.
const WORTHWHILE: f64 = 0.85;
/// Packs with this part of the speed of one lane, by the estimate, may be faster: it knows neither how often branches are taken
/// nor how alike neighbours are.
const CLOSE: f64 = 0.25;
/// Packs estimated to be less than this many times as fast as one lane may be slower, for the same reasons. (Zen 4, grid
/// searches and hashes of words of different lengths: estimates of 0.9 to 1.7 where packs had a quarter to the same of the
/// speed of one lane.)
const CLOSE_ABOVE: f64 = 2.0;
/// As [`CLOSE_ABOVE`], where values from memory decide how many iterations a work-item has: a pack executes those of its
/// longest lane, which the values of hash tables and lists make many times as many as the average. Also where a pack mostly
/// accesses scattered elements, which take as long as its caches and masks let them. (Emerald Rapids, searches of rows, medians
/// of private arrays and butterflies: estimates of 3.3 to 4.9 where packs had 0.5 to 0.9 of the speed of one lane.)
const CLOSE_ABOVE_OF_DATA: f64 = 5.0;
/// The part of a pack's time that scattered accesses take if it is mostly these.
const MOSTLY_SCATTERED: f64 = 0.5;
/// As [`WORTHWHILE`], for packs with more than [`LONG_SCATTERED`] instructions for scattered accesses: they are a multiple of
/// the kernel's own instructions, leave the caches, and take long to compile. (Zen 4: where the estimate was 1.7, packs were 1.3
/// times as fast as one lane.)
const WORTHWHILE_LONG: f64 = 1.5;
const LONG_SCATTERED: f64 = 50_000.0;

/// How many times as much a block counts that is always executed as one that a branch may skip.
const SKIPPABLE_WEIGHT: f64 = 4.0;

/// The average length of the values that a kernel computes, in bits, if most fill half of a vector register at least, and such a
/// register is longer than the common ones: lanes would only multiply the registers that each value takes.
pub(crate) fn long_vectors(func: &Function, machine: &Machine) -> Option<u32> {
    let cfg = Cfg::new(func);
    let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
    let most = cfg.rpo().iter().map(|&block| loops.depth(block)).max()?;
    let (mut values, mut bits) = (0u64, 0u64);
    for &block in cfg.rpo().iter().filter(|&&block| !func.layout.is_cold(block) && loops.depth(block) == most) {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if let (How::Lanewise, Some(result)) = (how(data.op), func.dfg.single_result(inst)) {
                let ty = func.dfg.ty(result);
                if !ty.is_bool() && ty.elem.space().is_none() {
                    values += 1;
                    bits += u64::from(ty.elem.bits() * ty.lanes());
                }
            }
        }
    }
    let average = u32::try_from(bits.checked_div(values)?).ok()?;
    let long = 8 * average >= 3 * machine.register_bits;
    (machine.register_bits > Machine::COMMON.register_bits && long).then_some(average)
}

/// The lanes of a pack that has the longest of the OpenCL vectors in memory order, if any are loaded in so many loops.
fn fitting_lanes(normal: &NormalForm, depth: u32) -> Option<u32> {
    let NormalForm { func, cfg, loops, .. } = normal;
    let blocks = cfg.rpo().iter().filter(|&&block| loops.depth(block) >= depth);
    let insts = blocks.flat_map(|&block| func.layout.insts(block));
    let loads = insts.filter(|&&inst| how(func.dfg.inst(inst).op) == How::Load);
    let accessed = loads.map(|&inst| func.dfg.ty(func.dfg.result(inst)).lanes());
    let lanes = Type::MAX_LANES / accessed.max()?.next_power_of_two();
    (lanes > 1).then_some(lanes)
}

/// The dominant element width in bits: 32 or 64.
pub(super) fn dominant_element_bits(normal: &NormalForm) -> u32 {
    let NormalForm { func, cfg, dom, loops, .. } = normal;
    let post = DomTree::post(cfg);
    let frequencies = Frequencies::new(normal, &FxHashSet::default());
    let (mut narrow, mut wide) = (0.0, 0.0);
    // Cold paths of functions are long, and may compute with doubles.
    for &block in func.layout.blocks().iter().filter(|&&block| !func.layout.is_cold(block)) {
        // Blocks that a branch may skip count less.
        let level = loops.innermost(block);
        let skippable = dom.parent(block).is_some_and(|at| loops.innermost(at) == level && !post.dominates(block, at));
        let weight = if skippable { 1.0 } else { SKIPPABLE_WEIGHT };
        let frequency = frequencies.of(normal, block);
        for &inst in func.layout.insts(block) {
            for &value in func.dfg.results(inst) {
                match func.dfg.ty(value).elem {
                    Elem::F64 => wide += weight * frequency,
                    Elem::F16 | Elem::F32 => narrow += weight * frequency,
                    // In loops, many are counters and indices, which lanes share.
                    Elem::I8 | Elem::I16 | Elem::I32 => narrow += weight,
                    Elem::B1 | Elem::I64 | Elem::Ptr(_) => {}
                }
            }
        }
    }
    if wide > narrow { 64 } else { 32 }
}
