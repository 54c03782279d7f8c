//! Checked kernels: code that tests its accesses while it runs (`docs/checking.md`).
//!
//! The pass runs over *canonical* kernels, before work-items become lanes, and inserts ordinary control flow, so that the checks are
//! vectorized with the kernel:
//!
//! ```text
//! before:  bad = offset of the first access >= its limit, or that of the second one, ...
//!          branch pack_any(bad), slow, fast
//! fast:    the accesses, and what depends on them            -> after
//! slow:    the same, each access behind a question to the launch's checker, which reports the bad ones   (cold)  -> after
//! ```
//!
//! - `provenance.rs`: the object of a pointer, and its offset in it;
//! - `sites.rs`: the table of what is checked, for the reports;
//! - `runs.rs`: accesses that are tested together, and the rewriting.
//!
//! Accesses of private variables that are values by now need no check. An access whose object is unknown asks the checker always.
//!
//! Deliberately not here: the judgement and the reports (`runtime/src/check`), images, whose accesses are always inside them.

mod provenance;
mod runs;
mod sites;

use std::sync::Arc;

use clift_include::check::KernelChecks;
use clift_kir::{Function, Module};

use crate::options::Checks;
use crate::program::ArgInfo;

/// Inserts the checks into a kernel, at stage *canonical*. Returns the table of its sites. The argument block grows by the bounds of
/// the arguments.
pub(crate) fn instrument(
    module: &Module,
    func: &mut Function,
    args: &[ArgInfo],
    arg_block_bytes: &mut u32,
    checks: Checks,
) -> Arc<KernelChecks> {
    let name = func.name.clone();
    let mut sites = sites::Sites::new(&name, args, &module.globals, *arg_block_bytes);
    if checks.memory {
        runs::run(func, &mut sites);
    }
    *arg_block_bytes = sites.arg_block_bytes();
    Arc::new(sites.checks)
}

/// The passes that clean up behind [`instrument`].
pub(crate) const CLEANUP: &[&str] = &["simplify", "gvn", "dce"];
