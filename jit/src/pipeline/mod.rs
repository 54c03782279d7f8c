//! The stages of a build. This is the only place that orders, verifies, dumps and times them, also for code that is compiled when
//! a launch first needs it.
//!
//! | stage | module | result |
//! |---|---|---|
//! | import | `spirv` | a module at stage *imported*, and descriptions of the kernels |
//! | canonical | `passes` | stage *canonical*; the interpreter runs kernels at this stage |
//! | checks | `check` | stage *canonical*, with checks of the kernel's accesses, if the options ask for them |
//! | images | `builtins::image` | image accesses expanded for certain formats and samplers |
//! | spmd | `spmd` | stage *looped*, memory requirements, and a line of the build log on request |
//! | clean | `passes`, `codegen::constant_tables` | stage *looped*, cleaned up |
//! | legalize | `codegen::legalize` | stage *legal* for the backend's capabilities |
//! | demote | `codegen::demote` | stage *legal*, with values of large functions in stack slots |
//! | emit | the backend | entries |
//!
//! [`module`] runs the stages that concern a whole module, [`kernel`] those of one kernel. [`launches`] decides which launches
//! get code of their own, and [`on_demand`] runs the stages again for it. [`observer`] verifies, dumps and times. [`backends`]
//! selects the backends. Nothing that the stages call knows the pipeline: code to be compiled on demand is passed down as a
//! trait object or a closure.
//!
//! The kernels of a handwritten module may already be *looped*; the earlier stages are then skipped.
//!
//! Deliberately not here: the work of the stages, and any decision that depends on OpenCL's rules.

mod backends;
mod batch;
mod kernel;
mod launches;
mod module;
mod observer;
mod on_demand;
mod parallel;
#[cfg(test)]
pub(crate) mod tests;

use std::time::Instant;

use crate::guard::guarded;
use crate::{BuildError, Options, Program, spirv};

/// Names that [`Options::dump`] may contain: stages whose result goes to the build log, and the output of the backends.
///
/// [`REPORT`] is another such name.
pub const DUMPS: &[&str] =
    &["imported", "canonical", "checked", "widened", "looped", "clean", "legal", "demoted", "clif", "asm"];

/// The name in [`Options::dump`] that puts the vectorizer's report on each kernel into the build log.
pub const REPORT: &str = "vectorize";

/// Prefix of the message for a panic in a stage.
const PANIC: &str = "compiler";

/// Builds a program from SPIR-V.
pub(crate) fn run(inputs: &[crate::ModuleInput<'_>], options: &Options) -> Result<Program, BuildError> {
    guarded(PANIC, || {
        let started = Instant::now();
        let imported = spirv::import(inputs, options)?;
        module::build(imported, options, started)
    })
}

/// Builds a program from an imported or handwritten module whose kernels are at any stage up to *looped*. This runs everything
/// after the import. The interpreter rejects kernels that are already *looped*.
///
/// # Errors
/// As [`crate::compile`].
pub fn build(imported: spirv::Imported, options: &Options) -> Result<Program, BuildError> {
    guarded(PANIC, || module::build(imported, options, Instant::now()))
}
