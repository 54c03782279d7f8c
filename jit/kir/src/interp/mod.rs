//! The reference interpreter: executes every op at every stage. It is the oracle for passes and code generators, finds a
//! program's own faults, and is a backend of the driver.
//!
//! - [`Prepared`] (`prepare`): what is computed once per module;
//! - [`Interpreter::run_group`] (`group`): one work-group of a kernel up to the widened stage; work-items are stepped in a
//!   seeded random order from barrier to barrier, or switched at every memory access;
//! - [`Interpreter::run_function`] (`group`): a plain function, a looped kernel among them, to its end;
//! - `meet`: barriers, and operations in which work-items exchange values;
//! - `step` dispatches one instruction: to its meaning in [`eval`](crate::eval) (`lanes`), or to the arms of its class (`query`,
//!   `access`, `control`);
//! - [`Memory`] (`memory`): memory behind a trait; [`SimMemory`] (`sim`) checks bounds, initialization and races;
//! - [`Observer`] (`observe`): what one may watch, and where faults and `printf` go.
//!
//! A program's fault is part of the [`Outcome`]; [`InterpError`] means that the run could not be made. Programs must have
//! passed the verifier. Deliberately not here: files, threads, formatting of `printf`, and any host address.

mod access;
mod control;
mod group;
mod lanes;
mod meet;
mod memory;
mod observe;
mod prepare;
mod query;
mod sim;
mod step;
#[cfg(test)]
mod tests;

pub use group::{Geometry, GroupLaunch};
pub use memory::{Access, Fault, FaultKind, Memory, Near};
pub use observe::{ItemId, Lanes, NoObserver, Observer, PrintfCall, Report, Touch, read_c_string};
pub use prepare::{GlobalAddresses, Prepared, load_globals};
pub use sim::{SimMemory, SimOptions};

use crate::entities::Func;
use crate::module::Module;

/// Why a run could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// The module has no such function.
    #[error("the module has no {0}")]
    NoFunction(Func),
    /// Arguments do not fit the function's parameters, or sizes make no work-group.
    #[error("{0}")]
    BadLaunch(String),
    /// There is no more memory, or initial content lies outside of it.
    #[error("memory: {0}")]
    Memory(String),
}

/// When work-items take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interleave {
    /// Each runs from barrier to barrier.
    #[default]
    Barriers,
    /// Any of them may go on after each memory access: finds what depends on order.
    Accesses,
}

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seed of the order of work-items; 0 runs them in ascending order.
    pub seed: u64,
    /// When work-items take turns.
    pub interleave: Interleave,
    /// Instructions that may be executed.
    pub fuel: u64,
    /// Different faults after which the run stops.
    pub max_faults: usize,
    /// `get_max_sub_group_size`: work-items of a row that follow one another.
    pub sub_group_size: u32,
    /// Whether addresses are checked against the alignment that instructions state.
    pub check_alignment: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            interleave: Interleave::Barriers,
            fuel: 100_000_000,
            max_faults: 100,
            sub_group_size: 1,
            check_alignment: true,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What the program did that has no defined meaning, in order; one report per instruction and kind.
    pub faults: Vec<Report>,
    /// Instructions executed.
    pub steps: u64,
    /// Whether the fuel ran out.
    pub out_of_fuel: bool,
    /// Whether there were more faults than wanted.
    pub too_many_faults: bool,
}

impl Outcome {
    /// Whether the program ran to its end and did nothing wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty() && !self.out_of_fuel
    }
}

/// Runs functions of a module.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
    prepared: &'m Prepared,
}

impl<'m> Interpreter<'m> {
    /// An interpreter of a module that `prepared` was made for.
    pub fn new(module: &'m Module, prepared: &'m Prepared) -> Interpreter<'m> {
        Interpreter { module, prepared }
    }
}
