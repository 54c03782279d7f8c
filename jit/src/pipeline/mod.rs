//! The stages of a build in order. The only place that orders, verifies, dumps and times them, for what is compiled when a
//! launch needs it too.
//!
//! | stage | by | gives |
//! |---|---|---|
//! | import | `spirv` | module at *imported*, descriptions of the kernels |
//! | canonical | `passes` | *canonical*: the interpreter takes it from here |
//! | images | `builtins::image` | accesses to images as code for certain formats and samplers |
//! | spmd | `spmd` | *looped*, memory needs, a line of the build log where it is asked for |
//! | clean | `passes` | *looped*, cleaned up |
//! | legalize | `codegen::legalize` | *legal* for the backend's capabilities |
//! | emit | the backend | entries |
//!
//! [`module`] takes a module through the stages that concern all of it, [`kernel`] a kernel through its own; [`on_demand`] does
//! the same for what only some launches need; [`observer`] verifies, dumps and times; [`backends`] says what makes the code.
//! Nothing below calls back up: what is compiled on demand is handed down as a trait object or a closure.
//!
//! A kernel of a module made by hand may be *looped* already; it then skips what comes before.
//!
//! Deliberately not here: what the stages do, and any decision by OpenCL.

mod backends;
mod kernel;
mod module;
mod observer;
mod on_demand;
#[cfg(test)]
mod tests;

use std::time::Instant;

use crate::guard::guarded;
use crate::{BuildError, Options, Program, spirv};

/// Names that [`Options::dump`] may contain: stages whose result goes to the build log, and forms of the backend's own.
///
/// [`REPORT`] is another.
pub const DUMPS: &[&str] = &["imported", "canonical", "widened", "looped", "clean", "legal", "clif", "asm"];

/// The name in [`Options::dump`] by which the build log tells what the vectorizer did with each kernel.
pub const REPORT: &str = "vectorize";

/// What a panic in a stage is called in the build log.
const PANIC: &str = "compiler";

/// Builds a program from SPIR-V.
pub(crate) fn run(inputs: &[crate::Input<'_>], options: &Options) -> Result<Program, BuildError> {
    guarded(PANIC, || {
        let started = Instant::now();
        let imported = spirv::import(inputs, options)?;
        module::build(imported, options, started)
    })
}

/// Builds a program from an imported module, or one made by hand whose kernels are at any stage up to *looped*: everything
/// after the import. The machine code of kernels at *looped* alone can run; the interpreter refuses them.
///
/// # Errors
/// As [`crate::compile`].
pub fn build(imported: spirv::Imported, options: &Options) -> Result<Program, BuildError> {
    guarded(PANIC, || module::build(imported, options, Instant::now()))
}
