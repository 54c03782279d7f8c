//! Canonical passes: from the form that a front end emits to the form that the rest of the compiler expects.
//!
//! [`calls`] and [`canonicalize`] take kernels from stage *imported* to *canonical*: calls are inlined or lowered, private
//! variables are promoted, constants are folded, common subexpressions are shared, loops are rotated and unrolled, and
//! loop-invariant code is hoisted. [`clean`] repeats the cheaper passes after work-items have become loops. A pass is one file
//! with one function `run`; the pipeline verifies, prints and times. The order is [`PROMOTE`], [`CANONICAL`], [`UNROLL`],
//! [`SETTLE`]. How to add a pass: `docs/add-a-pass.md`.
//!
//! Deliberately not here: anything that depends on lanes or on a backend.

mod addr;
mod address_spaces;
mod alias;
pub(crate) mod calls;
mod cancelled_terms;
mod chosen_loads;
mod combined_accesses;
mod common_code;
mod constant_loads;
mod dce;
mod dead_stores;
mod dynamic_elements;
mod final_values;
mod flags;
mod global_ids;
mod gvn;
mod idle;
mod if_convert;
pub(crate) mod launch_constants;
mod licm;
pub(crate) mod lifetimes;
pub(crate) mod linear;
mod loop_borders;
pub(crate) mod loop_form;
mod loop_loads;
mod mem2reg;
pub(crate) mod memory;
mod narrow;
mod neighbouring_loads;
mod origins;
mod private_pointers;
mod rotate;
mod scalar_promotion;
mod shared_divisions;
mod simplify;
mod simplify_cfg;
mod sink_conditions;
mod split_loads;
mod tail_duplication;
mod trim_loops;
pub(crate) mod trip_count;
mod unequal_addresses;
mod unroll;
mod unswitch;
mod util;
mod widen_counters;

pub(crate) use util::{Replacements, base_and_offset};

use clift_kir::{Block, Function, Global, GlobalData, Module};
use cranelift_entity::PrimaryMap;
use rustc_hash::FxHashSet;

use super::options::Options;
use super::program::BuildError;

/// Whether a pass changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed(pub bool);

/// The variables of a module.
pub type Globals = PrimaryMap<Global, GlobalData>;

/// A pass over one function.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, as in `CLIFT_DEBUG` and in file tests.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Runs it.
    pub run: fn(&mut Function, &Globals) -> Changed,
}

macro_rules! pass {
    ($module:ident, $doc:literal) => {
        Pass { name: stringify!($module), doc: $doc, run: |func, _| $module::run(func) }
    };
}

/// All passes over functions, by name.
pub static PASSES: &[Pass] = &[
    pass!(simplify_cfg, "removes unreached blocks, merges and threads blocks, folds branches"),
    pass!(mem2reg, "promotes private variables to values, split into their parts"),
    Pass {
        name: "constant_loads",
        doc: "loads from constant variables at constant offsets become constants",
        run: constant_loads::run,
    },
    pass!(dynamic_elements, "chooses among the elements of small private arrays that are indexed by variables"),
    pass!(simplify, "folds constants and algebraic identities"),
    pass!(flags, "passes on Booleans instead of bytes that are 0 or 1"),
    pass!(narrow, "narrows computations to the bits that are used"),
    pass!(alias, "gives accesses through arguments that do not alias their classes"),
    pass!(cancelled_terms, "cancels terms of sums that are added and subtracted again"),
    pass!(global_ids, "replaces global ids computed from the ids of groups by queries"),
    pass!(gvn, "computes equal values only once"),
    pass!(lifetimes, "removes the marks of where the lifetimes of private variables begin"),
    pass!(licm, "moves loop-invariant values out of loops"),
    pass!(chosen_loads, "chooses among loaded values where a loop chooses among indices"),
    pass!(combined_accesses, "accesses words in place of their bytes"),
    pass!(neighbouring_loads, "moves loads of neighbouring elements before stores to these"),
    pass!(loop_loads, "passes on what an iteration stores and the next one loads"),
    pass!(dead_stores, "removes stores that are overwritten before anything reads them"),
    pass!(scalar_promotion, "keeps memory at invariant addresses in variables while loops run"),
    pass!(addr, "folds index arithmetic into addresses"),
    pass!(if_convert, "turns branches around a few cheap instructions into selects"),
    pass!(common_code, "executes what the sides of a branch have in common once, before or after them"),
    pass!(shared_divisions, "computes remainders from the quotients of the same operands"),
    pass!(split_loads, "loads elements where nothing else of a vector in memory is used"),
    pass!(sink_conditions, "computes conditions where they are branched on"),
    pass!(rotate, "tests the conditions of loops at the bottom"),
    pass!(unswitch, "tests loop-invariant conditions before loops that do nothing otherwise"),
    pass!(final_values, "executes only the last iteration of loops that only count"),
    pass!(trim_loops, "ends loops before iterations that do nothing, and enters them only if they do something"),
    Pass { name: "unroll", doc: "unrolls loops with a constant number of iterations", run: unroll::run },
    pass!(loop_borders, "copies loops that treat borders, without that for when no iteration is at one"),
    pass!(dce, "removes instructions and parameters without uses, and barriers that follow one another"),
    pass!(widen_counters, "counters that index memory have 64 bits"),
    pass!(address_spaces, "generic pointers whose address space is known become pointers to that space"),
    pass!(private_pointers, "pointers into private variables that differ with the path become offsets"),
    Pass {
        name: "joined_variables",
        doc: "private variables that one pointer may point into become one",
        run: |func, _| private_pointers::join(func),
    },
    pass!(tail_duplication, "threaded dispatch: each case of a switch in a loop dispatches the next one"),
];

/// The first canonical passes over a kernel, after inlining.
pub static PROMOTE: &[&str] = &["simplify_cfg", "simplify", "mem2reg", "simplify", "simplify_cfg"];

/// The order of the canonical passes over a kernel after [`PROMOTE`], up to those on loops.
pub static CANONICAL: &[&str] = &[
    "global_ids",
    "address_spaces",
    "alias",
    "private_pointers",
    "gvn",
    "constant_loads",
    "mem2reg",
    "flags",
    "simplify",
    "narrow",
    "simplify",
    "cancelled_terms",
    "simplify",
    "simplify_cfg",
    "common_code",
    "if_convert",
    "rotate",
    "simplify_cfg",
    "unswitch",
    "final_values",
    "simplify",
    "simplify_cfg",
    "chosen_loads",
];

/// Unrolling, and what follows if it has changed something: counters have become constants. Repeated for the loops around those
/// unrolled, at most [`UNROLL_ROUNDS`] times.
pub static UNROLL: &[&str] = &[
    "unroll",
    "simplify_cfg",
    "simplify",
    "constant_loads",
    "simplify",
    "mem2reg",
    "constant_loads",
    "simplify",
    "simplify_cfg",
];

/// How many nested loops are unrolled.
const UNROLL_ROUNDS: usize = 3;

/// The canonical passes after those on loops.
pub static SETTLE: &[&str] = &[
    "loop_borders",
    "simplify_cfg",
    "dynamic_elements",
    "mem2reg",
    "simplify",
    "simplify_cfg",
    "lifetimes",
    "joined_variables",
    "private_pointers",
    "common_code",
    "if_convert",
    "addr",
    "alias",
    "gvn",
    "licm",
    "scalar_promotion",
    "mem2reg",
    "loop_loads",
    "dead_stores",
    "simplify",
    "dce",
    "neighbouring_loads",
    "combined_accesses",
    "simplify_cfg",
];

/// The order of the passes after work-items have become loops.
pub static CLEAN: &[&str] = &[
    "simplify_cfg",
    "simplify",
    "widen_counters",
    "addr",
    "gvn",
    "shared_divisions",
    "trim_loops",
    "licm",
    "simplify",
    "split_loads",
    "dce",
    "simplify_cfg",
    "tail_duplication",
    "simplify_cfg",
    "sink_conditions",
];

/// The passes needed for correctness, which also run with `-cl-opt-disable`.
pub static MINIMAL: &[&str] = &["simplify_cfg", "mem2reg", "lifetimes", "dce"];

/// The pass with the given name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}

/// Runs passes by name over a function of a module with the given variables. `after` is called after each pass that changed
/// something.
pub fn run(func: &mut Function, globals: &Globals, names: &[&str], after: &mut dyn FnMut(&str, &Function)) {
    for name in names {
        let Some(pass) = pass(name) else { unreachable!("broken invariant: no pass `{name}`") };
        if (pass.run)(func, globals) == Changed(true) {
            after(name, func);
        }
    }
}

/// Inlines all calls in all kernels. Other functions lose their bodies.
///
/// # Errors
/// [`BuildError::Limit`] when a kernel becomes too large.
pub fn inline(module: &mut Module) -> Result<(), BuildError> {
    calls::inline_all(module)
}

/// Promotes the private variables of a kernel that hold nothing but pointers, also pointers to such variables.
pub(crate) fn promote_pointers(func: &mut Function) {
    simplify_cfg::run(func);
    while mem2reg::run_on_pointers(func) == Changed(true) {}
}

/// The passes over a function before it is inlined: they make it small and leave its loops and branches as they are.
static PART: &[&str] = &[
    "simplify_cfg",
    "simplify",
    "mem2reg",
    "simplify",
    "simplify_cfg",
    "gvn",
    "mem2reg",
    "simplify",
    "dce",
    "simplify_cfg",
];

/// The passes over a function before it is inlined.
pub(crate) fn part(options: &Options) -> &'static [&'static str] {
    if options.opt_disable { MINIMAL } else { PART }
}

/// The canonical passes in order, with one round of unrolling.
pub fn canonical() -> Vec<&'static str> {
    [PROMOTE, CANONICAL, UNROLL, SETTLE].concat()
}

/// Takes a kernel without calls to stage *canonical*. `after` is as in [`run`].
pub fn canonicalize(func: &mut Function, globals: &Globals, options: &Options, after: &mut dyn FnMut(&str, &Function)) {
    if !options.opt_disable {
        run(func, globals, PROMOTE, after);
    }
    canonicalize_promoted(func, globals, options, after);
}

/// The rest of [`canonicalize`] for a kernel after the passes of [`PROMOTE`], if it is optimized.
pub fn canonicalize_promoted(
    func: &mut Function,
    globals: &Globals,
    options: &Options,
    after: &mut dyn FnMut(&str, &Function),
) {
    until_unrolling(func, globals, options, after);
    from_unrolling(func, globals, options, &FxHashSet::default(), after);
}

/// [`canonicalize_promoted`] up to unrolling.
pub(crate) fn until_unrolling(
    func: &mut Function,
    globals: &Globals,
    options: &Options,
    after: &mut dyn FnMut(&str, &Function),
) {
    if options.opt_disable {
        return run(func, globals, MINIMAL, after);
    }
    if options.uniform_work_groups {
        global_ids::assume_full_groups(func);
    }
    run(func, globals, &visible(CANONICAL, options), after);
}

/// The rest of [`canonicalize_promoted`]. The loops with the headers `rolled` are not unrolled.
pub(crate) fn from_unrolling(
    func: &mut Function,
    globals: &Globals,
    options: &Options,
    rolled: &FxHashSet<Block>,
    after: &mut dyn FnMut(&str, &Function),
) {
    if options.opt_disable {
        return;
    }
    for _ in 0..UNROLL_ROUNDS {
        if unroll::run_except(func, globals, rolled, options.checks.insts_of_access()) == Changed(false) {
            break;
        }
        after(UNROLL[0], func);
        run(func, globals, &UNROLL[1..], after);
    }
    run(func, globals, &visible(SETTLE, options), after);
}

/// The headers of the loops of a kernel after [`until_unrolling`] that are unrolled first.
pub(crate) fn unrolled_loops(func: &Function, globals: &Globals) -> FxHashSet<Block> {
    unroll::loops(func, globals)
}

/// Those of some passes that leave to checks what they want to see: the line of one access, and each index.
fn visible(names: &[&'static str], options: &Options) -> Vec<&'static str> {
    let hides_accesses = |name: &str| {
        matches!(
            name,
            "chosen_loads" | "common_code" | "dead_stores" | "dynamic_elements" | "joined_variables" | "loop_loads"
        )
    };
    names.iter().copied().filter(|name| options.checks.is_empty() || !hides_accesses(name)).collect()
}

/// What follows unrolling for vectors.
static UNROLLED: &[&str] = &["simplify_cfg", "simplify", "addr", "gvn", "simplify", "dce"];

/// Unrolls loops whose iterations may become vectors, and cleans up. Returns whether there were any.
pub(crate) fn unroll_for_vectors(func: &mut Function, globals: &Globals) -> bool {
    let Changed(changed) = unroll::run_for_vectors(func, globals);
    if changed {
        run(func, globals, UNROLLED, &mut |_, _| ());
    }
    changed
}

/// The order of the passes after work-items have become lanes. They reduce the values that a work-item's context has to keep.
pub static WIDENED: &[&str] = &["simplify_cfg", "simplify", "gvn", "dce"];

/// The order of the passes after packs of several rows have been put together. They find what the rows share.
static ROWS: &[&str] = &["simplify_cfg", "simplify", "addr", "gvn", "simplify", "dce"];

/// Cleans up the code of packs of several rows. `after` is as in [`run`].
pub(crate) fn clean_rows(func: &mut Function, globals: &Globals, after: &mut dyn FnMut(&str, &Function)) {
    run(func, globals, ROWS, after);
}

/// Cleans up a function after its work-items have become lanes. `after` is as in [`run`].
pub fn clean_widened(
    func: &mut Function,
    globals: &Globals,
    options: &Options,
    after: &mut dyn FnMut(&str, &Function),
) {
    run(func, globals, if options.opt_disable { &["simplify_cfg", "dce"] } else { WIDENED }, after);
}

/// Cleans up a function after its work-items have become loops. `after` is as in [`run`].
pub fn clean(func: &mut Function, globals: &Globals, options: &Options, after: &mut dyn FnMut(&str, &Function)) {
    run(func, globals, if options.opt_disable { &["simplify_cfg", "dce"] } else { CLEAN }, after);
}
