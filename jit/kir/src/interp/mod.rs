//! The reference interpreter: executes every op at every stage. It is the oracle for passes and code generators, detects
//! undefined behaviour of programs, and is a backend of the driver.
//!
//! - [`PreparedModule`] (`prepare`): data that is computed once per module;
//! - [`Interpreter::run_group`] (`group`): one work-group of a kernel up to the widened stage; work-items are stepped in a
//!   seeded random order from barrier to barrier, or switched at every memory access;
//! - [`Interpreter::run_function`] (`group`): a plain function, such as a looped kernel, to its end;
//! - `sync`: synchronization of work-items: barriers and collective operations;
//! - `step` dispatches one instruction to its semantics in [`eval`](crate::eval) (`lanes`), or to the implementation of its class
//!   (`query`, `access`, `control`);
//! - [`Memory`] (`memory`): memory behind a trait; [`SimMemory`] (`sim`) checks bounds, initialization and races;
//! - [`Observer`] (`observe`): callbacks for the events of a run, with faults and `printf`.
//!
//! Faults of the program are part of the [`Outcome`]; [`InterpError`] means that the program could not be run. Programs must have
//! passed the verifier. Deliberately not here: files, threads, formatting of `printf`, and host addresses.

mod access;
mod control;
mod group;
mod lanes;
mod memory;
mod observe;
mod prepare;
mod query;
mod sim;
mod step;
mod sync;
#[cfg(test)]
mod tests;

pub use group::{Geometry, GroupLaunch};
pub use memory::{Accessor, Fault, FaultKind, Memory, NearbyAllocation};
pub use observe::{AccessEvent, ItemId, Lanes, NoObserver, Observer, PrintfCall, Report, read_c_string};
pub use prepare::{GlobalAddresses, PreparedModule, load_globals};
pub use sim::{SimMemory, SimOptions};

use crate::entities::Func;
use crate::module::Module;

/// The reason why a program could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// The module has no such function.
    #[error("the module has no {0}")]
    NoFunction(Func),
    /// The arguments do not fit the function's parameters, or the sizes are invalid.
    #[error("{0}")]
    BadLaunch(String),
    /// Memory is exhausted, or initial content is outside its allocation.
    #[error("memory: {0}")]
    Memory(String),
}

/// When the interpreter switches between work-items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interleave {
    /// At barriers and collective operations.
    #[default]
    Barriers,
    /// Also at memory accesses, which exposes dependencies on their order.
    Accesses,
}

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpOptions {
    /// Seed of the order of work-items; 0 runs them in ascending order.
    pub seed: u64,
    /// When the interpreter switches between work-items.
    pub interleave: Interleave,
    /// Maximum number of instructions to execute.
    pub fuel: u64,
    /// Number of different faults after which the run stops.
    pub max_faults: usize,
    /// `get_max_sub_group_size`: the number of work-items with consecutive local linear ids that are a sub-group.
    pub sub_group_size: u32,
    /// Whether addresses are checked against the alignment that instructions state.
    pub check_alignment: bool,
}

impl Default for InterpOptions {
    fn default() -> InterpOptions {
        InterpOptions {
            seed: 0,
            interleave: Interleave::Barriers,
            fuel: 100_000_000,
            max_faults: 100,
            sub_group_size: 1,
            check_alignment: true,
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Undefined behaviour of the program, in order; one report per instruction and kind.
    pub faults: Vec<Report>,
    /// Number of executed instructions.
    pub steps: u64,
    /// Whether the fuel ran out.
    pub out_of_fuel: bool,
    /// Whether the run stopped because of [`InterpOptions::max_faults`].
    pub too_many_faults: bool,
}

impl Outcome {
    /// Whether the program ran to its end without faults.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty() && !self.out_of_fuel
    }
}

/// Runs functions of a module.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
    prepared: &'m PreparedModule,
}

impl<'m> Interpreter<'m> {
    /// An interpreter of a module; `prepared` must belong to it.
    pub fn new(module: &'m Module, prepared: &'m PreparedModule) -> Interpreter<'m> {
        Interpreter { module, prepared }
    }
}
