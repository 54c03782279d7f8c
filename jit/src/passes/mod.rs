//! Canonical passes: from what a front end wrote to the form the rest of the compiler expects.
//!
//! [`inline`] and [`canonicalize`] take kernels from *imported* to *canonical*: calls inlined, private variables in values, constants folded,
//! common code shared, loop-invariant code outside loops. [`clean`] repeats the cheap half after work-items became loops.
//! One pass is one file with one `run`; a pass neither verifies nor prints nor times, the pipeline does. The order is
//! [`CANONICAL`]; a new pass is a row there (`docs/add-a-pass.md`).

mod addr;
mod dce;
mod dispatch;
mod gvn;
mod inline_calls;
mod licm;
mod mem2reg;
mod narrow;
mod simplify;
mod simplify_cfg;
mod util;

pub(crate) use util::Replacements;

use clift_kir::{Function, Module};

use super::options::Options;
use super::program::BuildError;

/// Whether a pass changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed(pub bool);

/// A pass over one function.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, as in `CLIFT_DEBUG` and in file tests.
    pub name: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    /// Runs it.
    pub run: fn(&mut Function) -> Changed,
}

macro_rules! pass {
    ($module:ident, $doc:literal) => {
        Pass { name: stringify!($module), doc: $doc, run: $module::run }
    };
}

/// Every pass over functions, by name.
pub static PASSES: &[Pass] = &[
    pass!(simplify_cfg, "removes unreached blocks, merges and threads blocks, folds branches"),
    pass!(mem2reg, "private variables, split into their parts, become values"),
    pass!(simplify, "folds constants and algebraic identities"),
    pass!(narrow, "computes in as few bits as are used"),
    pass!(gvn, "computes equal values once"),
    pass!(licm, "moves loop-invariant values out of loops"),
    pass!(addr, "folds index arithmetic into addresses"),
    pass!(dce, "removes what nobody uses"),
    pass!(dispatch, "cases of a switch in a loop go on to the next by themselves"),
];

/// Order of the canonical passes over a kernel. Inlining comes before.
pub static CANONICAL: &[&str] = &[
    "simplify_cfg",
    "simplify",
    "mem2reg",
    "simplify",
    "simplify_cfg",
    "gvn",
    "mem2reg",
    "narrow",
    "simplify",
    "simplify_cfg",
    "addr",
    "gvn",
    "licm",
    "simplify",
    "dce",
    "simplify_cfg",
];

/// Order of the passes after work-items became loops.
pub static CLEAN: &[&str] =
    &["simplify_cfg", "simplify", "addr", "gvn", "licm", "simplify", "dce", "simplify_cfg", "dispatch", "simplify_cfg"];

/// The passes correctness needs: what `-cl-opt-disable` leaves.
pub static MINIMAL: &[&str] = &["simplify_cfg", "mem2reg", "dce"];

/// The pass of a name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}

/// Runs passes by name; `after` is called after each that changed something.
pub fn run(func: &mut Function, names: &[&str], after: &mut dyn FnMut(&str, &Function)) {
    for name in names {
        let Some(pass) = pass(name) else { unreachable!("broken invariant: no pass `{name}`") };
        if (pass.run)(func) == Changed(true) {
            after(name, func);
        }
    }
}

/// Inlines all calls in all kernels. Functions that are not kernels lose their bodies.
///
/// # Errors
/// [`BuildError::Limit`] when a kernel becomes too large.
pub fn inline(module: &mut Module) -> Result<(), BuildError> {
    inline_calls::run(module)
}

/// Takes a kernel without calls to the canonical form. `after` is as in [`run`].
pub fn canonicalize(func: &mut Function, options: &Options, after: &mut dyn FnMut(&str, &Function)) {
    run(func, if options.opt_disable { MINIMAL } else { CANONICAL }, after);
}

/// Order of the passes after work-items became lanes: what the layout of contexts gains from.
pub static WIDENED: &[&str] = &["simplify_cfg", "simplify", "gvn", "dce"];

/// Cleans up a function whose work-items became lanes.
pub fn clean_widened(func: &mut Function, options: &Options) {
    run(func, if options.opt_disable { &["simplify_cfg", "dce"] } else { WIDENED }, &mut |_, _| ());
}

/// Cleans up a function whose work-items became loops. `after` is as in [`run`].
pub fn clean(func: &mut Function, options: &Options, after: &mut dyn FnMut(&str, &Function)) {
    run(func, if options.opt_disable { &["simplify_cfg", "dce"] } else { CLEAN }, after);
}
