//! The report of what the vectorizer did with a kernel: for `CLIFT_DEBUG=vectorize`, the build log and tests.
//!
//! The vectorizer collects [`VectorizationReport`]; [`Access`] says what an access goes to and why it is scattered; `text` turns
//! both into sentences, each with its source line and what to change; [`work`] estimates what a work-item computes. Nothing here
//! affects code.

mod access;
mod text;
pub mod work;

use clift_kir::{Function, Imm, Loc, Module, Opcode};
use smallvec::SmallVec;

pub use access::{Access, Cause, Object};
pub use text::{Remark, ranges};

use super::class::{Class, class};
pub use super::transform::loop_vectorizer::{LoopOutcome, Obstacle};
use crate::target::machine::Machine;

/// What the vectorizer did, and source locations of costly code. They are those of the variant for whole packs, if there is one.
#[derive(Clone, Debug, Default)]
pub struct VectorizationReport {
    /// Lanes per pack.
    pub width: u32,
    /// Why the kernel has one lane per pack; `None` if it has several. If it has one because packs would be slower, the rest is
    /// about the packs it would have had.
    pub scalar: Option<String>,
    /// Lanes that were estimated to be somewhat slower: those of packs where there is one lane, or one where there are packs.
    pub rejected_lanes: Option<u32>,
    /// Other lanes that packs may have.
    pub untried_lanes: SmallVec<[u32; 2]>,
    /// Whether packs are made of neighbouring work-groups, of one work-item each.
    pub groups: bool,
    /// Rows of a work-group whose packs are executed together, if there are several and their number is a multiple of it.
    pub rows: Option<u32>,
    /// What became of loops, in kernels with one lane.
    pub loops: Vec<(Loc, LoopOutcome)>,
    /// Regions: pieces of the kernel between barriers.
    pub regions: usize,
    /// Barriers of the work-group.
    pub barriers: Vec<Loc>,
    /// Private variables in memory, as far as they have names.
    pub private_variables: Vec<String>,
    /// Bytes of private variables in memory, per work-item.
    pub private_bytes: u64,
    /// Pieces of the kernel that have a fast and a slow version. The rest is about the fast versions.
    pub versions: usize,
    /// Blocks that only some lanes execute: the source lines of each.
    pub masked_blocks: Vec<Vec<u32>>,
    /// Regions that one lane of a pack executes at most, as scalar code.
    pub single_lane: Vec<Loc>,
    /// Accesses that are contiguous or scattered, as a run-time test decides.
    pub tested: Vec<Access>,
    /// Loads with an address per lane.
    pub gathers: Vec<Access>,
    /// Stores with an address per lane.
    pub scatters: Vec<Access>,
    /// Operations executed lane by lane.
    pub per_lane: Vec<(Opcode, Loc)>,
}

impl VectorizationReport {
    /// Whether the accesses of a pack are contiguous, so that longer rows mean longer runs of memory.
    pub fn accesses_runs(&self) -> bool {
        self.scalar.is_none() && self.gathers.is_empty() && self.scatters.is_empty() && self.per_lane.is_empty()
    }

    /// Whether iterations of loops execute together, in a kernel with one lane.
    pub fn has_vectorized_loops(&self) -> bool {
        self.loops.iter().any(|(_, outcome)| matches!(outcome, LoopOutcome::Vectorized(_)))
    }

    /// The report for a kernel with one lane per pack.
    pub fn scalar(reason: impl Into<String>) -> VectorizationReport {
        VectorizationReport { width: 1, scalar: Some(reason.into()), ..VectorizationReport::default() }
    }

    /// Adds what the module and the code of a work-item tell.
    pub(super) fn describe(
        mut self,
        module: &Module,
        func: &Function,
        (private_bytes, machine): (u64, &Machine),
    ) -> VectorizationReport {
        // Lookups in registers are not accesses to memory.
        self.gathers.retain(|access| !access.object.is_table(module, machine));
        for access in [&mut self.gathers, &mut self.scatters, &mut self.tested].into_iter().flatten() {
            access.find_names(module);
        }
        for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
            let data = func.dfg.inst(inst);
            match class(data.op) {
                Class::Barrier => self.barriers.push(func.locs[inst]),
                Class::SlotAddr if matches!(data.imm, Imm::Slot(_)) => {
                    self.private_variables.extend(func.names.get(&func.dfg.result(inst)).cloned());
                }
                Class::SlotAddr
                | Class::Constant
                | Class::Arg
                | Class::ArgAddr
                | Class::GlobalAddr
                | Class::Query(_)
                | Class::InSpace
                | Class::Cheap
                | Class::Load
                | Class::Plain
                | Class::NamedBarrier
                | Class::Yield
                | Class::Collective
                | Class::Branch
                | Class::End
                | Class::Image => {}
            }
        }
        self.private_variables.sort();
        self.private_variables.dedup();
        self.private_bytes = private_bytes;
        self
    }
}
