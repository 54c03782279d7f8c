//! How many lanes a pack has.
//!
//! A pack is a sub-group: the number is also what the sub-group queries report.

use clift_kir::analysis::DomTree;
use clift_kir::{Elem, Function, Imm, Inst, KernelData};

use super::recurrence;
use super::register_pressure;
use super::throughput::{Costs, estimate};
use crate::spmd::analysis::shape::Shape;
use crate::spmd::analysis::spin_loops;
use crate::spmd::class::{Class, class};
use crate::spmd::transform::normalize::{self, Prepared};
use crate::spmd::transform::versioning;
use crate::spmd::transform::{index_widening, record_access};
use crate::spmd::vectorize::widen::how::{How, how};
use crate::target::machine::{MAX_LANES, Machine};
use crate::{BackendChoice, Options};

/// Lanes per pack.
#[derive(Debug)]
pub(crate) enum Width {
    /// One work-item after the other, and why.
    Scalar(String),
    /// So many side by side: the kernel for any work-groups, and the one for rows of whole packs if that is another.
    Packs(u32, Box<Prepared>, Option<Box<Prepared>>),
}

/// The row of a square work-group.
const SQUARE: u32 = 16;
/// Beyond so many instructions a kernel is not tried with twice the lanes of the usual pack.
const MAX_TWICE: usize = 1000;
/// Beyond so many instructions compiling packs takes too long.
const MAX_INSTS: usize = 20_000;

impl Width {
    /// Chooses for a kernel.
    pub(crate) fn choose(func: &Function, kernel: &KernelData, options: &Options, machine: &Machine) -> Width {
        let forced = options.width.map(|width| width.clamp(1, MAX_LANES).next_power_of_two());
        if options.backend == BackendChoice::Interp {
            return Width::Scalar("the interpreter steps work-items".to_owned());
        }
        if forced == Some(1) {
            return Width::Scalar("asked for".to_owned());
        }
        if options.opt_disable && forced.is_none() {
            return Width::Scalar("optimization is switched off".to_owned());
        }
        if forced.is_none() && kernel.required_local_size.is_some_and(|sizes| sizes[0] == 1) {
            return Width::Scalar("work-groups have one work-item along x".to_owned());
        }
        let mut insts = 0;
        for &block in func.layout.blocks() {
            for &inst in func.layout.insts(block) {
                insts += 1;
                let op = func.dfg.inst(inst).op;
                if how(op) == How::Foreign {
                    return Width::Scalar(format!("the kernel contains `{}`", op.info().name));
                }
            }
        }
        if insts > MAX_INSTS {
            return Width::Scalar(format!("{insts} instructions are too many"));
        }
        let Some(prepared) = normalize::run(func) else {
            return Width::Scalar("a cycle of the kernel has several entries".to_owned());
        };
        if let Some(lanes) = forced {
            let chosen = Candidate::new(prepared, lanes, machine);
            return Width::Packs(lanes, Box::new(chosen.general), chosen.versions.map(Box::new));
        }
        let usual = usual_bits(&prepared);
        let lanes = machine.usual_lanes(usual);
        if let Some(wait) = spin_loops::find(&prepared, &prepared.divergence(lanes, false)) {
            let line = match wait.loc.line {
                0 => String::new(),
                line => format!(" in line {line}"),
            };
            let name = wait.op.info().name;
            return Width::Scalar(format!("a loop waits for what another work-item writes (`{name}`{line})"));
        }
        let loops = has_quick_loops(&prepared, lanes, machine);
        let mut chosen = Candidate::new(prepared.clone(), lanes, machine);
        let mut costs = chosen.costs();
        // Long registers are full as it is.
        let few_bits = lanes * usual > machine.register_bits && chosen.accesses_few_bits();
        // Long registers are worth their lanes unless accesses scatter that would not with fewer: whatever else there is costs half
        // as much at best.
        let scatters = costs.scattered > (1.0 - HALF_WORTHWHILE) * costs.usual;
        if scatters && lanes > machine.least_lanes(usual) {
            let half = Candidate::new(prepared.clone(), lanes / 2, machine);
            let less = half.costs();
            // What is rare counts with fewer lanes as well, but must not decide.
            if 2.0 * less.usual < costs.usual * HALF_WORTHWHILE {
                (chosen, costs) = (half, less);
            }
        }
        let lanes = chosen.lanes;
        let rows = kernel
            .required_local_size
            .map_or_else(|| long_rows(func, 2 * lanes), |sizes| sizes[0] % u64::from(2 * lanes) == 0);
        let twice = rows && (loops || few_bits) && lanes < MAX_LANES && chosen.insts() <= MAX_TWICE;
        let twice = twice.then(|| Candidate::new(prepared, 2 * lanes, machine));
        if let Some(twice) = twice {
            let more = twice.costs();
            if few_bits && more.usual <= SLACK * 2.0 * costs.usual {
                // The rare blocks are less rare with more lanes, but do not decide whether packs pay.
                chosen = twice;
            } else if more.pack <= SLACK * 2.0 * costs.pack {
                (chosen, costs) = (twice, more);
            }
        }
        let gain = costs.scalar / costs.pack.max(1.0);
        if gain < WORTHWHILE {
            return Width::Scalar(format!(
                "{} lanes would take {:.1} times as long as one after the other: scattered accesses, or lanes that go \
                 different ways",
                chosen.lanes,
                1.0 / gain
            ));
        }
        Width::Packs(chosen.lanes, Box::new(chosen.general), chosen.versions.map(Box::new))
    }
}

/// A kernel made ready for some number of lanes.
struct Candidate<'a> {
    machine: &'a Machine,
    lanes: u32,
    general: Prepared,
    /// The kernel for rows of whole packs, if it is another.
    versions: Option<Prepared>,
}

impl<'a> Candidate<'a> {
    fn new(mut general: Prepared, lanes: u32, machine: &'a Machine) -> Candidate<'a> {
        index_widening::run(&mut general, lanes);
        record_access::run(&mut general, lanes);
        let versions = if lanes > 1 { versioning::run(&general, lanes) } else { None };
        Candidate { machine, lanes, general, versions }
    }

    /// The kernel for rows of whole packs.
    fn whole(&self) -> &Prepared {
        self.versions.as_ref().unwrap_or(&self.general)
    }

    /// Instructions of the kernel for rows of whole packs.
    fn insts(&self) -> usize {
        let Prepared { func, cfg, .. } = self.whole();
        cfg.rpo().iter().map(|&block| func.layout.insts(block).len()).sum()
    }

    /// Whether all that lanes access one beside the other has few bits: twice as many of them take no more loads and stores.
    fn accesses_few_bits(&self) -> bool {
        let Prepared { func, cfg, .. } = self.whole();
        let divergence = self.whole().divergence(self.lanes, true);
        let mut any = false;
        for &block in cfg.rpo().iter().filter(|&&block| !func.layout.is_rare(block)) {
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
                    | How::Branch
                    | How::End
                    | How::Foreign => continue,
                };
                let pointer = data.args[0];
                match divergence.shape(pointer) {
                    Shape::Uniform(_) => continue,
                    Shape::Varying if !divergence.is_near(pointer) => return false,
                    Shape::Varying | Shape::Affine { .. } => {}
                }
                if func.dfg.ty(accessed).elem.bits() > FEW_BITS {
                    return false;
                }
                any = true;
            }
        }
        any
    }

    fn costs(&self) -> Costs {
        estimate(self.whole(), &self.whole().divergence(self.lanes, true), self.lanes, self.machine)
    }
}

/// Whether rows of work-groups may be taken to have so many work-items. Kernels of several dimensions whose groups work together
/// are mostly launched in squares, of 256 work-items at most; for short rows of all others there is code with fewer lanes.
fn long_rows(func: &Function, lanes: u32) -> bool {
    let insts =
        || func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).map(|&inst| func.dfg.inst(inst));
    let asks_for_others = insts().any(|data| matches!((how(data.op), &data.imm), (How::Query, Imm::Dim(1..))));
    lanes <= SQUARE || !asks_for_others || !insts().any(|data| class(data.op) == Class::Barrier)
}

/// Whether a kernel has loops whose iterations wait for each other, and in which twice as many lanes fit the registers. Work-items
/// without loops overlap by themselves.
fn has_quick_loops(prepared: &Prepared, lanes: u32, machine: &Machine) -> bool {
    let Prepared { func, cfg, loops, .. } = prepared;
    let twice = 2 * lanes;
    // What is done lane by lane waits for nothing but itself.
    let by_lanes = |&inst: &Inst| how(func.dfg.inst(inst).op) == How::PerLane;
    let in_loops = cfg.rpo().iter().filter(|&&block| loops.depth(block) > 0);
    twice <= MAX_LANES
        && loops.iter().next().is_some()
        && !in_loops.flat_map(|&block| func.layout.insts(block)).any(by_lanes)
        && recurrence::waits(prepared, &prepared.divergence(lanes, true), lanes, machine)
        && register_pressure::estimate(prepared, &prepared.divergence(twice, true), twice, machine) <= machine.registers
}

/// Elements of so many bits, one for each lane of the usual pack, fill one register at most.
const FEW_BITS: u32 = 16;
/// How much more twice the lanes may cost, for each of them, as the model sees it.
const SLACK: f64 = 1.05;

/// How much less half the lanes must cost, for each of them, to be preferred.
const HALF_WORTHWHILE: f64 = 0.9;

/// How much faster a pack has to be than its work-items one after the other, as the model sees it: it counts instructions, of which
/// more are under way at once where they belong to a pack.
const WORTHWHILE: f64 = 0.85;

/// How many times less often a block that may be passed by is taken to be executed.
const PASSED: usize = 4;

/// Bits of the elements that prevail: 32, or 64.
fn usual_bits(prepared: &Prepared) -> u32 {
    let Prepared { func, cfg, dom, loops, .. } = prepared;
    let post = DomTree::post(cfg);
    let (mut narrow, mut wide) = (0usize, 0usize);
    // The rare cases of functions are long, and may be in doubles.
    for &block in func.layout.blocks().iter().filter(|&&block| !func.layout.is_rare(block)) {
        // What a branch may pass by counts less.
        let level = loops.innermost(block);
        let passed = dom.parent(block).is_some_and(|at| loops.innermost(at) == level && !post.dominates(block, at));
        let weight = if passed { 1 } else { PASSED };
        for &inst in func.layout.insts(block) {
            for &value in func.dfg.results(inst) {
                match func.dfg.ty(value).elem {
                    Elem::F64 => wide += weight,
                    Elem::I8 | Elem::I16 | Elem::I32 | Elem::F16 | Elem::F32 => narrow += weight,
                    Elem::B1 | Elem::I64 | Elem::Ptr(_) => {}
                }
            }
        }
    }
    if wide > narrow { 64 } else { 32 }
}
