//! Linking: imports of one module resolved by exports of another, and the call graph over all of them.
//!
//! Modules keep their own ids and types; a resolved import refers to a function or variable of another module. All functions that
//! are called must exist, and recursion is an error.

use rspirv::spirv::{LinkageType, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::module::{FunctionDef, Module};
use super::words::InstError;
use crate::BuildError;

/// Whether symbols may stay unresolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// An executable: all symbols that are used must be defined.
    Executable,
    /// A check of one module by itself.
    Module,
}

/// An id of one of the modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Symbol {
    /// Number of the module.
    pub(crate) module: usize,
    /// The id in it.
    pub(crate) id: u32,
}

/// The symbols that imports resolve to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    imports: FxHashMap<Symbol, Option<Symbol>>,
}

impl Links {
    /// Resolves the imports of all modules.
    pub(crate) fn new(modules: &[Module], completeness: Completeness) -> Result<Links, BuildError> {
        let mut exports: FxHashMap<&str, (Symbol, LinkageType)> = FxHashMap::default();
        let mut imports = Vec::new();
        for (number, module) in modules.iter().enumerate() {
            let mut decorated: Vec<_> = module.decorations.iter().collect();
            decorated.sort_unstable_by_key(|(id, _)| *id);
            for (id, decorations) in decorated {
                let Some(linkage) = &decorations.linkage else { continue };
                let symbol = Symbol { module: number, id };
                if decorations.built_in.is_some() {
                    continue;
                }
                match linkage.kind {
                    LinkageType::Import => imports.push((symbol, linkage.name.as_str())),
                    LinkageType::Export | LinkageType::LinkOnceODR => match exports.entry(&linkage.name) {
                        std::collections::hash_map::Entry::Vacant(entry) => {
                            entry.insert((symbol, linkage.kind));
                        }
                        std::collections::hash_map::Entry::Occupied(mut entry) => match (entry.get().1, linkage.kind) {
                            (LinkageType::LinkOnceODR, LinkageType::Export) => {
                                entry.insert((symbol, linkage.kind));
                            }
                            (LinkageType::Export | LinkageType::LinkOnceODR, LinkageType::LinkOnceODR) => {}
                            _ => {
                                let name = &linkage.name;
                                return Err(BuildError::Link(format!("`{name}` is defined more than once")));
                            }
                        },
                    },
                }
            }
        }
        let mut links = Links::default();
        for (symbol, name) in imports {
            let Some(&(target, _)) = exports.get(name) else {
                let is_variable = modules[symbol.module].function(symbol.id).is_none();
                if is_variable && completeness == Completeness::Executable {
                    return Err(BuildError::Link(format!("undefined variable `{name}`")));
                }
                links.imports.insert(symbol, None);
                continue;
            };
            let kind = |s: Symbol| modules[s.module].def(s.id).map(|inst| inst.op() == Op::Function);
            if kind(symbol) != kind(target) {
                return Err(BuildError::Link(format!(
                    "`{name}` is a function in one module and a variable in another"
                )));
            }
            links.imports.insert(symbol, Some(target));
        }
        Ok(links)
    }

    /// The definition of a symbol: the exporting symbol for an import (`None` if there is none), otherwise the symbol itself.
    pub(crate) fn resolve(&self, symbol: Symbol) -> Option<Symbol> {
        match self.imports.get(&symbol) {
            Some(target) => *target,
            None => Some(symbol),
        }
    }

    /// Whether a symbol is an import.
    pub(crate) fn is_import(&self, symbol: Symbol) -> bool {
        self.imports.contains_key(&symbol)
    }
}

/// The call graph of the functions that are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallGraph {
    /// Functions with bodies, callers before the functions they call.
    pub(crate) order: Vec<Symbol>,
    /// Number of calls of each function.
    pub(crate) calls: FxHashMap<Symbol, u32>,
    /// Caller and callee of each call.
    edges: Vec<(Symbol, Symbol)>,
}

/// The calls in a function: instruction and callee, imports resolved.
fn calls(
    modules: &[Module],
    links: &Links,
    symbol: Symbol,
    completeness: Completeness,
) -> Result<Vec<(usize, Symbol)>, BuildError> {
    let module = &modules[symbol.module];
    let mut list = Vec::new();
    let blocks = module.function(symbol.id).map_or(&[][..], |f| &f.blocks);
    for index in blocks.iter().flat_map(|block| block.insts.clone()) {
        let inst = &module.insts[index];
        if inst.op() != Op::FunctionCall {
            continue;
        }
        let id = inst.id(0).map_err(|error| error.at(inst))?;
        if module.function(id).is_none() {
            let reason = format!("{} is not a function", module.describe(id));
            return Err(InstError::malformed(reason).at(inst).into());
        }
        match links.resolve(Symbol { module: symbol.module, id }) {
            Some(callee) if has_body(modules, callee) => list.push((index, callee)),
            Some(_) => {
                let reason = format!("{} has neither a body nor a LinkageAttributes decoration", module.describe(id));
                return Err(InstError::malformed(reason).at(inst).into());
            }
            None if completeness == Completeness::Module => {}
            None => {
                let name = module.decorations.of(id).linkage.as_ref().map_or("", |linkage| &linkage.name);
                if super::builtin_imports::find(name).is_none() {
                    return Err(BuildError::Link(format!("undefined function `{name}`")));
                }
            }
        }
    }
    Ok(list)
}

fn has_body(modules: &[Module], symbol: Symbol) -> bool {
    modules[symbol.module].function(symbol.id).is_some_and(|f: &FunctionDef| !f.blocks.is_empty())
}

impl CallGraph {
    /// The functions reached from the roots.
    pub(crate) fn new(
        modules: &[Module],
        links: &Links,
        roots: impl Iterator<Item = Symbol>,
        completeness: Completeness,
    ) -> Result<CallGraph, BuildError> {
        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Visit {
            Active,
            Done,
        }
        let mut graph = CallGraph::default();
        let mut visits: FxHashMap<Symbol, Visit> = FxHashMap::default();
        for root in roots {
            if visits.contains_key(&root) {
                continue;
            }
            visits.insert(root, Visit::Active);
            let mut stack = vec![(root, calls(modules, links, root, completeness)?, 0)];
            while let Some((symbol, list, next)) = stack.last_mut() {
                let Some(&(index, callee)) = list.get(*next) else {
                    visits.insert(*symbol, Visit::Done);
                    graph.order.push(*symbol);
                    stack.pop();
                    continue;
                };
                *next += 1;
                *graph.calls.entry(callee).or_default() += 1;
                graph.edges.push((*symbol, callee));
                match visits.get(&callee) {
                    Some(Visit::Active) => {
                        let inst = &modules[symbol.module].insts[index];
                        let name = modules[callee.module].describe(callee.id);
                        return Err(InstError::malformed(format!("recursion: {name} calls itself")).at(inst).into());
                    }
                    Some(Visit::Done) => {}
                    None => {
                        visits.insert(callee, Visit::Active);
                        let list = calls(modules, links, callee, completeness)?;
                        stack.push((callee, list, 0));
                    }
                }
            }
        }
        graph.order.reverse();
        Ok(graph)
    }

    /// Functions of which all kernels with these entry points together contain at most one copy, once calls are inlined.
    pub(crate) fn single_copies(&self, entries: impl Iterator<Item = Symbol>) -> FxHashSet<Symbol> {
        let mut copies: FxHashMap<Symbol, u32> = FxHashMap::default();
        entries.for_each(|symbol| *copies.entry(symbol).or_default() += 1);
        let mut callees: FxHashMap<Symbol, Vec<Symbol>> = FxHashMap::default();
        self.edges.iter().for_each(|&(caller, callee)| callees.entry(caller).or_default().push(callee));
        for symbol in &self.order {
            let own = copies.get(symbol).copied().unwrap_or_default();
            for callee in callees.get(symbol).into_iter().flatten() {
                let count = copies.entry(*callee).or_default();
                *count = count.saturating_add(own);
            }
        }
        copies.into_iter().filter(|&(_, count)| count <= 1).map(|(symbol, _)| symbol).collect()
    }
}
