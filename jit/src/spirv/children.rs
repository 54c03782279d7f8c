//! Child kernels: the functions that kernels enqueue. Each becomes a kernel of its own in the program, which only the runtime
//! launches. Its argument block holds a copy of the block's captures, then the places of its local memory.
//!
//! Enqueuing is not a call: a function may enqueue itself, and functions that only children call are reached, too.

use clift_include::abi::ArgSlot;
use rustc_hash::FxHashMap;

use super::link::{CallGraph, Completeness, Links, Symbol};
use super::module::{FunctionDef, Module};
use super::ops::enqueue::invoked;
use super::reflect::{self, KernelDesc, MAX_ARG_BLOCK};
use super::types::{MAX_ALIGN, TypeKind};
use super::unit::Unit;
use super::words::InstError;
use crate::{AccessQualifier, AddressQualifier, ArgInfo, ArgKind, BuildError, ImportError, TypeQualifiers};

/// The child kernels of a build, in the order of their discovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Children {
    /// Their functions.
    pub(super) list: Vec<Symbol>,
    numbers: FxHashMap<Symbol, u32>,
    /// The instructions that name them: module and index.
    uses: Vec<(usize, usize, Symbol)>,
}

impl Children {
    /// Whether a function is a child kernel.
    pub(super) fn contains(&self, symbol: Symbol) -> bool {
        self.numbers.contains_key(&symbol)
    }

    /// The numbers of the functions by which a module names children.
    pub(super) fn numbers_in(&self, modules: &[Unit], links: &Links, module: usize) -> FxHashMap<u32, u32> {
        let functions = modules[module].module.functions.iter().filter_map(|function| {
            let target = links.resolve(Symbol { module, id: function.id })?;
            Some((function.id, *self.numbers.get(&target)?))
        });
        functions.collect()
    }

    /// Adds the children that the functions of a graph enqueue; whether there were new ones.
    fn extend(&mut self, modules: &[Module], links: &Links, graph: &CallGraph) -> Result<bool, ImportError> {
        let before = self.list.len();
        self.uses.clear();
        for symbol in &graph.order {
            let module = &modules[symbol.module];
            let blocks = module.function(symbol.id).map_or(&[][..], |function| &function.blocks);
            for index in blocks.iter().flat_map(|block| block.insts.clone()) {
                let inst = &module.insts[index];
                let Some(operand) = invoked(inst.op()) else { continue };
                let id = inst.id(operand).map_err(|error| error.at(inst))?;
                let target = links.resolve(Symbol { module: symbol.module, id });
                let defined = target.filter(|target| {
                    modules[target.module].function(target.id).is_some_and(|function| !function.blocks.is_empty())
                });
                let Some(target) = defined else {
                    let reason = format!("{} is not a function with a body", module.describe(id));
                    return Err(InstError::malformed(reason).at(inst));
                };
                self.uses.push((symbol.module, index, target));
                if let std::collections::hash_map::Entry::Vacant(entry) = self.numbers.entry(target) {
                    entry.insert(self.list.len() as u32);
                    self.list.push(target);
                }
            }
        }
        Ok(self.list.len() > before)
    }

    /// The size and alignment of each child's captures: the largest of all places that name it.
    fn captures(&self, units: &[Unit]) -> Result<FxHashMap<Symbol, (u64, u32)>, (usize, ImportError)> {
        let mut sizes: FxHashMap<Symbol, (u64, u32)> = FxHashMap::default();
        for &(module, index, child) in &self.uses {
            let unit = &units[module];
            let inst = &unit.module.insts[index];
            let number = |after: usize| {
                let operand = invoked(inst.op()).unwrap_or_default() + after;
                inst.id(operand).and_then(|id| unit.consts.integer(id)).map_err(|error| (module, error.at(inst)))
            };
            let (size, align) = (number(2)?, number(3)?);
            if size > MAX_ARG_BLOCK {
                let reason = format!("captures of more than {MAX_ARG_BLOCK} bytes");
                return Err((module, InstError::unsupported(reason).at(inst)));
            }
            let known = sizes.entry(child).or_insert((0, 1));
            *known = (known.0.max(size), known.1.max(align.min(MAX_ALIGN.into()).next_power_of_two() as u32));
        }
        Ok(sizes)
    }

    /// The descriptions of all children, and the sizes of their argument blocks.
    pub(super) fn describe(&self, units: &[Unit]) -> Result<Vec<(KernelDesc, u32)>, (usize, ImportError)> {
        let sizes = self.captures(units)?;
        let described = self.list.iter().map(|symbol| {
            let unit = &units[symbol.module];
            let Some(function) = unit.module.function(symbol.id) else {
                unreachable!("broken invariant: children are functions")
            };
            let (size, _) = sizes.get(symbol).copied().unwrap_or((0, 1));
            let head = &unit.module.insts[function.inst];
            describe(unit, function, size).map_err(|error| (symbol.module, error.at(head)))
        });
        described.collect()
    }
}

/// The description of a child kernel whose captures have `size` bytes.
fn describe(unit: &Unit, function: &FunctionDef, size: u64) -> Result<(KernelDesc, u32), InstError> {
    let (ret, params) = unit.function_type(function)?;
    if unit.types.get(ret)?.kind != TypeKind::Void {
        return Err(InstError::malformed("the result type of an enqueued function is not void"));
    }
    let Some((&captures, locals)) = params.split_first() else {
        return Err(InstError::malformed("an enqueued function has no parameter for its captures"));
    };
    unit.types.any_pointer(captures)?;
    let mut args = vec![ArgInfo {
        kind: ArgKind::Value,
        slot: ArgSlot { offset: 0, size: size as u32 },
        address: AddressQualifier::Private,
        access: AccessQualifier::None,
        qualifiers: TypeQualifiers::default(),
        written: false,
        max_bytes: None,
        name: None,
        type_name: None,
    }];
    let mut end = size;
    for (&ty, &inst) in locals.iter().zip(&function.params[1..]) {
        let (mut info, bytes, align) = reflect::argument(unit, unit.module.insts[inst].result()?, ty)?;
        if !matches!(info.kind, ArgKind::LocalPointer { .. }) {
            return Err(InstError::malformed("a parameter of an enqueued function is not a pointer to local memory"));
        }
        let offset = end.next_multiple_of(align.clamp(1, MAX_ALIGN).into());
        end = offset + bytes;
        info.slot = ArgSlot { offset: offset as u32, size: bytes as u32 };
        args.push(info);
    }
    let name = unit.module.names.get(&function.id).cloned().unwrap_or_else(|| "block".to_owned());
    let mut desc = KernelDesc { name, args, is_child: true, ..KernelDesc::default() };
    reflect::modes(unit, function.id, &mut desc)?;
    Ok((desc, end.next_multiple_of(8) as u32))
}

/// The call graph of everything that the roots call, enqueue, and so on, and the child kernels.
pub(super) fn reached(
    modules: &[Module],
    links: &Links,
    roots: &[Symbol],
    completeness: Completeness,
) -> Result<(CallGraph, Children), BuildError> {
    let mut children = Children::default();
    loop {
        let all = roots.iter().chain(&children.list).copied();
        let graph = CallGraph::new(modules, links, all, completeness)?;
        if !children.extend(modules, links, &graph)? {
            return Ok((graph, children));
        }
    }
}
