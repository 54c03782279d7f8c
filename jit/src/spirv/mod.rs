//! SPIR-V to kernel IR.
//!
//! ```text
//! words ── words.rs ──> instructions ── module.rs ──> index ── link.rs ──> call graph
//!                                                       │ unit.rs: types.rs consts.rs specialize.rs
//!                                                       v
//!            kernels' descriptions <── reflect.rs ──  units ── function.rs lower.rs ops/* local_init.rs ──> clift_kir::Module
//! ```
//!
//! The importer validates its input: each error in a module is reported with its word offset and instruction, and the result is
//! well-formed kir at [`Stage::Imported`](clift_kir::Stage). Deliberately not here: optimizations (`passes/` handles unoptimized
//! code) and OpenCL.std (`builtins/`). `docs/add-a-spirv-op.md` shows how to add an instruction.

mod builtin_imports;
pub mod caps;
mod cfg;
mod children;
mod consts;
mod decorations;
mod environment;
mod families;
mod function;
mod link;
mod llvm_backend;
mod local_init;
mod lower;
mod module;
mod ops;
mod paired_angles;
mod reflect;
mod specialize;
#[cfg(test)]
mod tests;
mod types;
mod unit;
mod words;

use std::cell::{Cell, RefCell};

use clift_kir::{FpFlags, Func, Function, GlobalData, GlobalInit, KernelData};
use cranelift_entity::PrimaryMap;
use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};
use rustc_hash::{FxHashMap, FxHashSet};

pub use reflect::KernelDesc;

use self::function::FunctionRole;
use self::link::{CallGraph, Completeness, Links, Symbol};
use self::lower::SharedState;
use self::module::{EntryPoint, Module};
use self::unit::{Callee, ModuleGlobals, Ownership, Unit};
use self::words::InstError;
use super::{BuildError, ImportError, ModuleInput, ModuleSummary, Options, SpecConstant};

/// Maximum number of named barriers of a work-group at a time.
pub const MAX_NAMED_BARRIERS: u32 = 64;

/// Maximum size of a variable in program scope in global memory, in bytes: every device's copy of a program takes this memory.
pub const MAX_GLOBAL_VARIABLE_BYTES: u64 = 64 << 20;

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The kernels with everything they need, linked.
    pub module: clift_kir::Module,
    /// Descriptions of the kernels, in the order of `module.kernels`: those of the application, then those that only kernels
    /// enqueue.
    pub kernels: Vec<KernelDesc>,
}

/// Reads header, instruction stream and declarations of a module.
///
/// # Errors
/// [`ImportError`] when the words are not a SPIR-V module.
pub fn inspect(words: &[u32]) -> Result<ModuleSummary, ImportError> {
    summarize(&Module::new(words::parse(words)?)?)
}

/// Imports one module without linking. All functions are checked, also those that no kernel calls.
///
/// # Errors
/// [`BuildError::Import`] says what is wrong with the module.
pub fn check(input: &ModuleInput<'_>, options: &Options) -> Result<ModuleSummary, BuildError> {
    let module = Module::new(words::parse(input.words)?)?;
    let summary = summarize(&module)?;
    build(vec![module], std::slice::from_ref(input), options, Completeness::Module)?;
    Ok(summary)
}

/// Links modules and imports their kernels.
///
/// # Errors
/// [`BuildError::Import`] or [`BuildError::Link`].
pub fn import(inputs: &[ModuleInput<'_>], options: &Options) -> Result<Imported, BuildError> {
    let modules = inputs.iter().enumerate().map(|(number, input)| {
        let module = words::parse(input.words).and_then(Module::new);
        module.map_err(|error| in_module(error, number, inputs.len()))
    });
    let modules = modules.collect::<Result<Vec<_>, ImportError>>()?;
    build(modules, inputs, options, Completeness::Executable)
}

/// Adds the number of the module to an error when there are several modules.
fn in_module(mut error: ImportError, number: usize, count: usize) -> ImportError {
    if count > 1 {
        let (ImportError::Malformed { reason, .. } | ImportError::Unsupported { reason, .. }) = &mut error;
        reason.push_str(&format!(" (module {} of {count})", number + 1));
    }
    error
}

/// Summarizes the declarations of a module.
fn summarize(module: &Module) -> Result<ModuleSummary, ImportError> {
    let mut spec_constants = Vec::new();
    for &index in &module.globals {
        let inst = &module.insts[index];
        let Some(id) = inst.dr.result_id.and_then(|id| module.decorations.of(id).spec_id) else { continue };
        let size = if matches!(inst.op(), Op::SpecConstantTrue | Op::SpecConstantFalse) {
            1
        } else if inst.op() == Op::SpecConstant {
            let bits = inst.result_type().ok().and_then(|ty| module.def(ty)).and_then(|ty| ty.literal(0).ok());
            let bits =
                bits.ok_or_else(|| InstError::malformed("the result type is neither an integer nor a float").at(inst))?;
            bits / 8
        } else {
            return Err(
                InstError::malformed("SpecId decorates something other than a scalar specialization constant").at(inst)
            );
        };
        spec_constants.push(SpecConstant { id, size });
    }
    let kernel_names = module.entry_points.iter().map(|entry| entry.name.clone()).collect();
    Ok(ModuleSummary { version: module.version, spec_constants, kernel_names })
}

/// Imports parsed modules.
fn build(
    modules: Vec<Module>,
    inputs: &[ModuleInput<'_>],
    options: &Options,
    completeness: Completeness,
) -> Result<Imported, BuildError> {
    let links = Links::new(&modules, completeness)?;
    let entries = || {
        modules.iter().enumerate().flat_map(|(number, module)| {
            module.entry_points.iter().map(move |entry| (Symbol { module: number, id: entry.function }, entry.clone()))
        })
    };
    // Kernels are found by name, so no other function may have the same name.
    let mut names = FxHashSet::default();
    for (_, entry) in entries() {
        if !names.insert(entry.name.clone()) {
            return Err(BuildError::Link(format!("kernel `{}` is defined more than once", entry.name)));
        }
    }
    let roots = match completeness {
        Completeness::Executable => entries().map(|(symbol, _)| symbol).collect::<Vec<_>>(),
        Completeness::Module => {
            let all = modules.iter().enumerate().flat_map(|(number, module)| {
                let bodies = module.functions.iter().filter(|function| !function.blocks.is_empty());
                bodies.map(move |function| Symbol { module: number, id: function.id })
            });
            all.collect()
        }
    };
    let (graph, children) = children::reached(&modules, &links, &roots, completeness)?;
    // Some producers declare child kernels as entry points.
    let mut entries: Vec<_> = entries().filter(|(symbol, _)| !children.contains(*symbol)).collect();
    let kernel_count = entries.len();
    for &symbol in &children.list {
        let module = &modules[symbol.module];
        let inst = module.function(symbol.id).map_or(0, |function| function.inst);
        entries.push((symbol, EntryPoint { inst, function: symbol.id, name: String::new() }));
    }

    let shared = shared(options);
    let variables = variables(&modules, &links, &shared)?;
    let mut units: Vec<Unit> =
        modules.into_iter().zip(inputs).map(|(module, input)| Unit::new(module, input.compiled_here)).collect();
    let place = |error: ImportError, symbol: &Symbol| in_module(error, symbol.module, inputs.len());
    for (number, ((unit, input), globals)) in units.iter_mut().zip(inputs).zip(&variables).enumerate() {
        let resolved = unit.resolve(&shared, input.spec_constants, globals);
        resolved.and_then(|()| environment::check(unit)).map_err(|error| in_module(error, number, inputs.len()))?;
    }
    check_imported_variables(&units, &links, &shared)?;
    for number in 0..units.len() {
        units[number].children = children.numbers_in(&units, &links, number);
    }

    let FunctionNumbers { mut plans, kernels, funcs } = FunctionNumbers::assign(&entries, &graph);
    connect(&mut units, &links, &funcs, &mut plans)?;
    let mut descs = Vec::new();
    let mut blocks = Vec::new();
    for (symbol, entry) in &entries[..kernel_count] {
        let unit = &units[symbol.module];
        let inst = &unit.module.insts[entry.inst];
        let function = defined(unit, symbol.id);
        let described = reflect::kernel(unit, entry, function, options.arg_info);
        let (desc, bytes) = described.map_err(|error| place(error.at(inst), symbol))?;
        descs.push(desc);
        blocks.push(bytes);
    }
    for (mut desc, bytes) in children.describe(&units).map_err(|(module, e)| in_module(e, module, inputs.len()))? {
        desc.name = unique(&mut names, &desc.name);
        descs.push(desc);
        blocks.push(bytes);
    }
    let single = graph.single_copies(entries.iter().map(|(symbol, _)| *symbol));
    let mut module = clift_kir::Module::default();
    for (func, plan) in &plans {
        let body = |symbol: Symbol| (&units[symbol.module], defined(&units[symbol.module], symbol.id));
        let made = match plan {
            &FunctionPlan::Kernel(number) => {
                let (unit, function) = body(entries[number].0);
                function::import(unit, &shared, function, &FunctionRole::Kernel(&descs[number]))
                    .map_err(|error| place(error, &entries[number].0))?
            }
            &FunctionPlan::Wrapper(number) => {
                let (unit, function) = body(entries[number].0);
                function::wrapper(unit, &shared, function, &descs[number])
                    .map_err(|error| place(error, &entries[number].0))?
            }
            &FunctionPlan::Callee(symbol) => {
                let (unit, function) = body(symbol);
                let named = unit.module.names.get(&symbol.id).map_or("function", |name| name);
                let copies = match single.contains(&symbol) {
                    true => function::InlinedCopies::One,
                    false => function::InlinedCopies::Several,
                };
                let role = FunctionRole::Callee(unique(&mut names, named), copies);
                function::import(unit, &shared, function, &role).map_err(|error| place(error, &symbol))?
            }
            FunctionPlan::Missing(function) => {
                let name = unique(&mut names, &function.name);
                Function { name, ..(**function).clone() }
            }
        };
        let pushed = module.funcs.push(made);
        debug_assert_eq!(pushed, func, "broken invariant: functions are made in order");
    }
    module.globals = shared.globals.into_inner();
    for ((func, desc), arg_block_bytes) in kernels.into_iter().zip(&descs).zip(blocks) {
        module.kernels.push(KernelData { func, arg_block_bytes, required_local_size: desc.required_local_size });
    }
    local_init::run(&mut module, &shared.zeroed.into_inner());
    Ok(Imported { module, kernels: descs })
}

/// The numbers of the functions of a module that is imported, in the order in which they are made.
struct FunctionNumbers {
    plans: PrimaryMap<Func, FunctionPlan>,
    /// By entry point.
    kernels: Vec<Func>,
    /// The functions that are called.
    funcs: FxHashMap<Symbol, Func>,
}

impl FunctionNumbers {
    /// Numbers kernels first, then the functions that are called. A function that is one entry point and nothing else is that
    /// kernel.
    fn assign(entries: &[(Symbol, EntryPoint)], graph: &CallGraph) -> FunctionNumbers {
        let mut numbers =
            FunctionNumbers { plans: PrimaryMap::new(), kernels: Vec::new(), funcs: FxHashMap::default() };
        let mut entry_counts: FxHashMap<Symbol, u32> = FxHashMap::default();
        entries.iter().for_each(|(symbol, _)| *entry_counts.entry(*symbol).or_default() += 1);
        let is_only_kernel =
            |symbol: &Symbol| entry_counts.get(symbol) == Some(&1) && !graph.calls.contains_key(symbol);
        for (number, (symbol, _)) in entries.iter().enumerate() {
            let alone = is_only_kernel(symbol);
            let plan = if alone { FunctionPlan::Kernel(number) } else { FunctionPlan::Wrapper(number) };
            numbers.kernels.push(numbers.plans.push(plan));
        }
        for &symbol in graph.order.iter().filter(|symbol| !is_only_kernel(symbol)) {
            numbers.funcs.insert(symbol, numbers.plans.push(FunctionPlan::Callee(symbol)));
        }
        numbers
    }
}

/// A function name that is not used yet.
fn unique(names: &mut FxHashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    // Modules may have names of this form, too.
    let mut number = names.len();
    while !names.insert(name.clone()) {
        name = format!("{wanted}.{number}");
        number += 1;
    }
    name
}

/// The source of a kir function.
#[derive(Clone, Debug)]
enum FunctionPlan {
    /// The function of exactly one entry point, which no function calls.
    Kernel(usize),
    /// A kernel that calls the function of its entry point.
    Wrapper(usize),
    /// A function that is called.
    Callee(Symbol),
    /// A placeholder for an unresolved import, in a check without linking.
    Missing(Box<Function>),
}

/// Finds a function that is known to be defined.
fn defined(unit: &Unit, id: u32) -> &module::FunctionDef {
    unit.module.function(id).unwrap_or_else(|| unreachable!("broken invariant: %{id} is a function"))
}

/// The state that all functions share, initialized from the build options.
fn shared(options: &Options) -> SharedState {
    let math = options.fast_math;
    let mut fp = FpFlags::empty();
    fp.set(FpFlags::NO_SIGNED_ZERO, math.no_signed_zeros || math.unsafe_math || math.relaxed);
    fp.set(FpFlags::REASSOC | FpFlags::RECIPROCAL | FpFlags::APPROX, math.unsafe_math || math.relaxed);
    fp.set(FpFlags::NO_NAN | FpFlags::NO_INF, math.finite_only || math.relaxed);
    SharedState {
        globals: RefCell::new(PrimaryMap::new()),
        init_bytes: Cell::new(0),
        variable_bytes: Cell::new(0),
        fp,
        force_contract: math.mad_enable || math.unsafe_math || math.relaxed,
        zeroed: RefCell::default(),
        named_barriers: Cell::default(),
    }
}

/// Creates a kir variable for each variable in memory that a module defines, and resolves imported variables to them.
fn variables(modules: &[Module], links: &Links, shared: &SharedState) -> Result<Vec<ModuleGlobals>, BuildError> {
    let mut all = vec![ModuleGlobals::default(); modules.len()];
    let mut imported = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        for &index in &module.globals {
            let inst = &module.insts[index];
            let is_variable = matches!(inst.op(), Op::Variable | Op::UntypedVariableKHR);
            let Some(id) = inst.dr.result_id.filter(|_| is_variable) else { continue };
            let Some(&Operand::StorageClass(class)) = inst.dr.operands.first() else { continue };
            // The SPIR-V-LLVM translator of LLVM 4 to 10 imports its built-in variables as UniformConstant.
            if class == StorageClass::Input || module.decorations.of(id).built_in.is_some() {
                continue;
            }
            let symbol = Symbol { module: number, id };
            if let Some(target) = links.resolve(symbol).filter(|_| links.is_import(symbol)) {
                imported.push((symbol, target));
                continue;
            }
            let space = unit::variable_space(class).map_err(|error| error.at(inst))?;
            let placeholder = GlobalData { name: String::new(), space, size: 0, align: 1, init: GlobalInit::default() };
            let ownership = if links.is_import(symbol) { Ownership::Imported } else { Ownership::Defined };
            all[number].insert(id, (shared.globals.borrow_mut().push(placeholder), ownership));
        }
    }
    for (symbol, target) in imported {
        let Some(&(global, _)) = all[target.module].get(&target.id) else {
            return Err(BuildError::Link(
                "an imported variable resolves to something that is not a variable in memory".to_owned(),
            ));
        };
        all[symbol.module].insert(symbol.id, (global, Ownership::Imported));
    }
    Ok(all)
}

/// Checks that imported variables have the address space and size of the variables they resolve to.
fn check_imported_variables(units: &[Unit], links: &Links, shared: &SharedState) -> Result<(), BuildError> {
    for (number, unit) in units.iter().enumerate() {
        for (&id, variable) in &unit.variables {
            let symbol = Symbol { module: number, id };
            let &unit::ModuleVariable::Global { global, space } = variable else { continue };
            if !links.is_import(symbol) || links.resolve(symbol).is_none() {
                continue;
            }
            let size = unit
                .module
                .def(id)
                .and_then(|inst| unit::declared(inst, &unit.types).and_then(|(.., ty, _)| unit.types.get(ty)).ok())
                .map(|info| info.size);
            let data = &shared.globals.borrow()[global];
            if data.space != space || Some(data.size) != size {
                return Err(BuildError::Link(format!("variable `{}` has different types in two modules", data.name)));
            }
        }
    }
    Ok(())
}

/// Sets the kir functions of each unit's function ids.
fn connect(
    units: &mut [Unit],
    links: &Links,
    funcs: &FxHashMap<Symbol, Func>,
    plans: &mut PrimaryMap<Func, FunctionPlan>,
) -> Result<(), BuildError> {
    for number in 0..units.len() {
        let mut callees = FxHashMap::default();
        for function in &units[number].module.functions {
            let symbol = Symbol { module: number, id: function.id };
            let Some(target) = links.resolve(symbol) else {
                let linkage = units[number].module.decorations.of(function.id).linkage.as_ref();
                let name = linkage.map_or_else(String::new, |linkage| linkage.name.clone());
                if builtin_imports::find(&name).is_none() {
                    let inst = &units[number].module.insts[function.inst];
                    let signature = units[number].signature(function).map_err(|error| error.at(inst))?;
                    let made = function::placeholder(&name, &signature.params, &signature.returns);
                    callees.insert(function.id, Callee { func: plans.push(FunctionPlan::Missing(Box::new(made))) });
                }
                continue;
            };
            let Some(&func) = funcs.get(&target) else { continue };
            if target != symbol {
                let here = units[number].signature(function);
                let unit = &units[target.module];
                let there = unit.signature(defined(unit, target.id));
                let inst = &units[number].module.insts[function.inst];
                if here.map_err(|error| error.at(inst))? != there.map_err(|error| error.at(inst))? {
                    let linkage = units[number].module.decorations.of(function.id).linkage.as_ref();
                    let name = linkage.map_or("", |linkage| &linkage.name);
                    return Err(BuildError::Link(format!("function `{name}` has different types in two modules")));
                }
            }
            callees.insert(function.id, Callee { func });
        }
        units[number].callees = callees;
    }
    Ok(())
}
