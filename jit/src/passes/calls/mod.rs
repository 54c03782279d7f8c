//! Calls: what becomes of them before a kernel is compiled.
//!
//! Calls are inlined ([`inline`]): kernels are then one function, which all later stages see as a whole. But where kernels call
//! large functions from many places, their copies would take minutes and gigabytes to compile. Of a kernel that would exceed
//! [`INLINE_LIMIT`] instructions, the large functions that it needs several times stay functions ([`graph`] chooses them), which
//! are compiled once and called. Before that, functions are optimized on their own, callees first, so that a copy is small, and
//! so that their sizes tell what they cost.
//!
//! A called function takes one operand, the address of a *record* in private memory, and returns nothing ([`record`]). What it
//! asks of its work-item is passed to it ([`work_item`]); it has neither arguments nor barriers of its own. Kernels that call
//! functions have one lane per pack.

mod graph;
mod inline;
mod record;
mod work_item;

use clift_kir::{Func, Function, Module, Stage};
use rustc_hash::FxHashMap;

use crate::program::BuildError;
use graph::CallGraph;
use record::Lowered;
pub(crate) use record::RecordLayout;

/// The most instructions of a kernel into which all functions are inlined.
const INLINE_LIMIT: usize = 40_000;

/// Functions of fewer instructions are always inlined: copies cost little, and many are simpler than the function itself.
const SMALL: usize = 250;

/// A function that is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalledFunction {
    /// The function, at stage *canonical*.
    pub(crate) func: Func,
    /// The parameters and results in its record.
    pub(crate) layout: RecordLayout,
}

/// How functions are optimized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As a part of others: what later passes need not see again.
    Part,
    /// As a whole.
    Whole,
}

/// What [`run`] is to do.
pub(crate) struct CallPolicy<'a> {
    /// The most instructions of a kernel into which all functions are inlined; `None` for the usual number. With 0, every
    /// function is called for which that is possible.
    pub(crate) limit: Option<usize>,
    /// Whether a kernel, given by its number, may call functions.
    pub(crate) may_call: &'a dyn Fn(usize) -> bool,
    /// The most instructions of a kernel after inlining.
    pub(crate) most_insts: usize,
    /// Whether inlined instructions know the calls that they come from ([`Function::inlined_calls`]).
    pub(crate) keeps_positions: bool,
    /// Optimizes a function of the module.
    pub(crate) optimize: &'a dyn Fn(&Module, &mut Function, Effort) -> Result<(), BuildError>,
}

/// Inlines the calls in all kernels, except for those of functions that it returns: callees first. All other functions lose their
/// bodies.
pub(crate) fn run(module: &mut Module, policy: &CallPolicy<'_>) -> Result<Vec<CalledFunction>, BuildError> {
    let kernels: Vec<Func> = module.kernels.iter().map(|kernel| kernel.func).collect();
    let limit = policy.limit.unwrap_or(INLINE_LIMIT);
    let may_call = |number: usize| (policy.may_call)(number) && module.funcs[kernels[number]].stage == Stage::Imported;
    let callers: Vec<Func> =
        (0..kernels.len()).filter(|&number| may_call(number)).map(|number| kernels[number]).collect();
    let mut graph = CallGraph::new(module, &kernels);
    let mut called = Vec::new();
    if callers.iter().any(|&kernel| graph.inlined_size(kernel) > limit) {
        let least = if limit == 0 { 0 } else { SMALL };
        for func in graph.bottom_up() {
            inline::into(module, func, &|callee| graph.is_candidate(callee), policy)?;
            optimize(module, func, policy, Effort::Part)?;
            graph.optimized(module, func, least);
        }
        called = call_functions(module, &graph, &callers, limit, policy)?;
    }
    for &kernel in &kernels {
        let is_called = |callee| called.iter().any(|known| known.func == callee);
        inline::into(module, kernel, &is_called, policy)?;
    }
    for (id, func) in module.funcs.iter_mut() {
        if !kernels.contains(&id) && !called.iter().any(|known| known.func == id) {
            *func = Function::new(std::mem::take(&mut func.name), &func.returns);
            func.stage = Stage::Canonical;
        }
    }
    Ok(called)
}

/// Inlines all calls in all kernels. All other functions lose their bodies.
pub(super) fn inline_all(module: &mut Module) -> Result<(), BuildError> {
    let policy = CallPolicy {
        limit: Some(usize::MAX),
        may_call: &|_| false,
        most_insts: usize::MAX,
        keeps_positions: false,
        optimize: &|_, _, _| Ok(()),
    };
    run(module, &policy).map(|_| ())
}

/// Makes called functions of those that large kernels need several times, and lets these kernels call them.
fn call_functions(
    module: &mut Module,
    graph: &CallGraph,
    callers: &[Func],
    limit: usize,
    policy: &CallPolicy<'_>,
) -> Result<Vec<CalledFunction>, BuildError> {
    let chosen: Vec<(Func, Vec<Func>)> = callers
        .iter()
        .filter(|&&kernel| graph.inlined_size(kernel) > limit)
        .map(|&kernel| (kernel, graph.repeated(kernel, if limit == 0 { 1 } else { 2 })))
        .collect();
    let mut made: Vec<CalledFunction> = Vec::new();
    let mut records: FxHashMap<Func, Lowered> = FxHashMap::default();
    for func in graph.bottom_up() {
        if !chosen.iter().any(|(_, functions)| functions.contains(&func)) {
            continue;
        }
        let mut copy = module.funcs[func].clone();
        copy.name += " (called)";
        let id = module.funcs.push(copy);
        let is_called = |callee| {
            chosen.iter().any(|(_, functions)| functions.contains(&callee))
                || made.iter().any(|known| known.func == callee)
        };
        inline::into(module, id, &is_called, policy)?;
        record::lower_calls(module, id, &records);
        let queries = work_item::lower(&mut module.funcs[id]);
        let layout = record::lower_signature(&mut module.funcs[id]);
        optimize(module, id, policy, Effort::Whole)?;
        module.funcs[id].stage = Stage::Canonical;
        let function = CalledFunction { func: id, layout };
        records.insert(func, Lowered { function, queries });
        made.push(function);
    }
    for (kernel, functions) in &chosen {
        let is_called = |callee| functions.contains(&callee) || made.iter().any(|known| known.func == callee);
        inline::into(module, *kernel, &is_called, policy)?;
        record::lower_calls(module, *kernel, &records);
    }
    Ok(made)
}

/// Optimizes a function while the rest of the module is readable.
fn optimize(module: &mut Module, id: Func, policy: &CallPolicy<'_>, effort: Effort) -> Result<(), BuildError> {
    let mut func = std::mem::replace(&mut module.funcs[id], Function::new("", &[]));
    let done = (policy.optimize)(module, &mut func, effort);
    module.funcs[id] = inline::compacted(&func);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls whatever can be called.
    fn policy(most_insts: usize) -> CallPolicy<'static> {
        let optimize = &|_: &Module, _: &mut Function, _| Ok(());
        CallPolicy { limit: Some(0), may_call: &|_| true, most_insts, keeps_positions: false, optimize }
    }

    /// A kernel that would be too large names the limit.
    #[test]
    fn inlining_has_a_limit() {
        let text = include_str!("../../../tests/files/kir/run/calls_of_work_items.kir");
        let mut module = clift_kir::text::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let error = run(&mut module, &CallPolicy { may_call: &|_| false, ..policy(10) }).unwrap_err().to_string();
        assert!(error.contains("more than 10 instructions after inlining"), "{error}");
    }

    /// Functions that ask for their work-item or have a rare branch can be called.
    #[test]
    fn work_items_have_calls() {
        let text = include_str!("../../../tests/files/kir/run/calls_of_work_items.kir");
        let mut module = clift_kir::text::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let policy = policy(usize::MAX);
        let called = run(&mut module, &policy).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = called.iter().map(|function| module.funcs[function.func].name.as_str()).collect();
        assert_eq!(names, ["of_group (called)", "step (called)"]);
    }
}
