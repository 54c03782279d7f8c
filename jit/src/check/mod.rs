//! Checked kernels: code that tests its accesses while it runs (`docs/checking.md`).
//!
//! The pass runs over *canonical* kernels, before work-items become lanes, and inserts ordinary control flow, so that the
//! checks are vectorized with the kernel:
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
//! - `runs.rs`: accesses that are tested together, and the rewriting;
//! - `races/`: races, which the code follows in shadow memory;
//! - `groups.rs`: races that are followed by calls of the launch's checker, and barriers;
//! - `uninit.rs`: uses of memory that has not been written. It runs before variables become values.
//!
//! Accesses of private variables that are values by now need no check. An access whose object is unknown asks the checker always.
//!
//! Deliberately not here: the judgement and the reports (`runtime/src/check`), images, whose accesses are always inside them.

mod accesses;
mod groups;
mod provenance;
mod races;
mod runs;
mod sites;
#[cfg(test)]
mod tests;
mod uninit;

use clift_include::check::KernelChecks;
use clift_kir::{Function, Global, GlobalData};
use cranelift_entity::{EntitySet, PrimaryMap};

use crate::options::Checks;
use crate::passes;
use crate::program::ArgInfo;
use sites::Sites;

/// The alias class of accesses to shadow memory.
const SHADOW_CLASS: u32 = u32::MAX;

/// What a kernel's checks need beside its code.
#[derive(Debug)]
pub(crate) struct Instrumentation<'a> {
    /// The table of the checks.
    pub(crate) checks: KernelChecks,
    /// The kernel's arguments.
    pub(crate) args: &'a [ArgInfo],
    /// The argument block, which grows by what the checks need.
    pub(crate) arg_block_bytes: u32,
    /// The module's variables; the checks may add some.
    pub(crate) globals: PrimaryMap<Global, GlobalData>,
}

impl Instrumentation<'_> {
    fn instrument(&mut self, run: impl FnOnce(&mut Sites<'_>)) {
        let mut sites =
            Sites::new(std::mem::take(&mut self.checks), self.args, &mut self.globals, self.arg_block_bytes);
        run(&mut sites);
        self.arg_block_bytes = sites.arg_block_bytes();
        self.checks = sites.checks;
    }

    /// Inserts the checks that have to see variables in memory, into a kernel at stage *imported* without calls.
    pub(crate) fn before_promotion(&mut self, func: &mut Function, checks: Checks) {
        if checks.uninit {
            passes::promote_pointers(func);
            self.instrument(|sites| uninit::run(func, sites));
        }
    }

    /// Inserts the other checks, at stage *canonical*.
    pub(crate) fn after_promotion(&mut self, func: &mut Function, checks: Checks) {
        let mut slow = EntitySet::new();
        // Shadow memory is accessed where accesses are known to be inside of their objects.
        if checks.memory || checks.race {
            self.instrument(|sites| slow = runs::run(func, sites));
        }
        if checks.concern_groups() {
            self.instrument(|sites| groups::run(func, sites, checks, &slow));
        }
    }
}

/// The passes that clean up behind [`Instrumentation::after_promotion`].
pub(crate) const CLEANUP: &[&str] = &["mem2reg", "simplify", "gvn", "dce"];
