//! The stages of a module: the canonical passes over all kernels, the stages of each kernel, and code generation for all kernels
//! at once.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use clift_include::check::KernelChecks;
use clift_kir::analysis::written_args;
use clift_kir::{Func, Function, Inst, KernelData, Module, Opcode, Stage};
use rustc_hash::FxHashMap;

use super::PANIC;
use super::backends::Backends;
use super::kernel::{self, KernelNeeds};
use super::observer::StageObserver;
use super::on_demand::KernelSource;
use crate::builtins::image::{self, Facts};
use crate::check::Instrumentation;
use crate::codegen::data::ProgramData;
use crate::codegen::{AcceptedStage, Backend, CompileError, CompiledKernels, KernelCode};
use crate::guard::guarded;
use crate::passes::calls::{CallPolicy, CalledFunction, Effort};
use crate::specialize::{LaunchFacts, Specialization, Specializations};
use crate::spirv::{Imported, KernelDesc};
use crate::{BuildError, Kernel, Options, Program, check, passes, spmd};

/// Runs all stages after the import of a module.
pub(super) fn build(imported: Imported, options: &Options, started: Instant) -> Result<Program, BuildError> {
    let mut observer = StageObserver::new(options, started);
    let Imported { mut module, mut kernels } = imported;
    observer.module("imported", &module)?;
    let mut tables: Vec<KernelChecks> =
        kernels.iter().map(|desc| KernelChecks { kernel: desc.name.clone(), ..KernelChecks::default() }).collect();
    let called = canonicalize(&observer, &mut module, &kernels, &mut tables, options)?;
    observer.module("canonical", &module)?;
    for (desc, kernel) in kernels.iter_mut().zip(&module.kernels) {
        let written = written_args(&module.funcs[kernel.func]);
        for arg in &mut desc.args {
            arg.written = written.contains(&arg.slot.offset);
        }
    }
    let checks = instrument(&mut observer, &mut module, &kernels, tables, options)?;
    let data = Arc::new(ProgramData::new(&module)?);
    let data = compile_called(&mut observer, &module, &called, data, options)?;
    let global_variable_bytes = data.global_bytes();
    let accesses = image::has_accesses_in(&module).then(|| Arc::new(module.clone()));
    for (desc, kernel) in kernels.iter().zip(module.kernels.clone()) {
        if image::has_accesses(&module.funcs[kernel.func]) {
            if desc.is_child {
                let reason = "a kernel that is enqueued on the device accesses an image, which is not supported";
                return Err(BuildError::Limit(reason.to_owned()).in_kernel(&desc.name));
            }
            if !options.dump.is_empty() {
                let name = &desc.name;
                let _ = writeln!(
                    observer.log,
                    "kernel {name}: the remarks are about its code for RGBA8 images; each launch gets code for its own images"
                );
            }
            expand_images(&observer, &mut module, kernel.func, &Facts::default_for(&desc.args), options)?;
        }
    }
    let module = Arc::new(module);
    let requests: Vec<KernelRequest<'_>> = kernels
        .iter()
        .map(|desc| KernelRequest { name: &desc.name, sub_group_size: desc.required_sub_group_size })
        .collect();
    let (needs, executable) = compile_kernels(&mut observer, &module, &requests, &data, options)?;
    let enqueues: Vec<bool> = module.kernels.iter().map(|kernel| has_requests(&module.funcs[kernel.func])).collect();
    let kernel_count = kernels.iter().filter(|desc| !desc.is_child).count();
    let mut kernels: Vec<Kernel> = kernels
        .into_iter()
        .enumerate()
        .zip(needs)
        .zip(executable.entries)
        .zip(checks)
        .map(|((((number, desc), needs), entry), checks)| {
            let memory = executable.memory.clone();
            let usual = Specialization { entry, resources: needs.resources, memory, transposed: false };
            let accesses =
                accesses.clone().filter(|accesses| image::has_accesses(&accesses.funcs[accesses.kernels[number].func]));
            let by_groups = !desc.is_child && kernel::gains_from_packs_of_groups(&module, number, &needs, options);
            let images = accesses.is_some().then(|| Facts::default_for(&desc.args));
            let transposed =
                (!desc.is_child).then(|| kernel::gains_from_transposition(&module, number, options)).flatten();
            if let Some(lanes) = transposed {
                observer.report_transposed(&desc.name, lanes);
            }
            let specializations = (accesses.is_some() || by_groups || transposed.is_some()).then(|| {
                let source = accesses.unwrap_or_else(|| module.clone());
                let width = needs.resources.width;
                let source = KernelSource::new(&desc.name, source, number, data.clone(), options, width);
                let make = Box::new(move |facts: &LaunchFacts| source.compile(facts));
                Arc::new(Specializations::new(images, usual, by_groups, transposed, make))
            });
            Kernel {
                name: desc.name,
                entry,
                resources: needs.resources,
                args: desc.args,
                required_local_size: desc.required_local_size,
                local_size_hint: desc.local_size_hint,
                vec_type_hint: desc.vec_type_hint,
                required_sub_groups: desc.required_sub_groups,
                required_sub_group_size: desc.required_sub_group_size,
                private_bytes: needs.private_bytes,
                has_barrier: needs.has_barrier,
                enqueues: enqueues[number],
                specializations,
                checks,
            }
        })
        .collect();
    let children = kernels.split_off(kernel_count);
    let range = data.range();
    Ok(Program { kernels, children, log: observer.log, global_variable_bytes, data: range, memory: executable.memory })
}

/// Whether a function makes requests to the runtime.
fn has_requests(func: &Function) -> bool {
    let is_request = |&inst: &Inst| func.dfg.inst(inst).op == Opcode::Request;
    func.layout.blocks().iter().any(|&block| func.layout.insts(block).iter().any(is_request))
}

/// Takes every kernel of a module to stage *canonical*, and the functions that they call, which it returns. Other functions lose
/// their bodies; they have been inlined into their callers.
fn canonicalize(
    observer: &StageObserver<'_>,
    module: &mut Module,
    kernels: &[KernelDesc],
    tables: &mut [KernelChecks],
    options: &Options,
) -> Result<Vec<CalledFunction>, BuildError> {
    let policy = CallPolicy {
        limit: options.inline_limit,
        // Checks follow pointers from the objects that they belong to, and a sub-group of one work-item may not be what is required.
        may_call: &|number| {
            options.checks.is_empty() && kernels[number].required_sub_group_size.is_none_or(|size| size == 1)
        },
        optimize: &|module, func, effort| {
            observer.passes(module, func, |func, after| match effort {
                Effort::Part => passes::run(func, &module.globals, passes::part(options), after),
                Effort::Whole => passes::canonicalize(func, &module.globals, options, after),
            })
        },
    };
    let called = passes::calls::run(module, &policy)?;
    for (number, kernel) in module.kernels.clone().into_iter().enumerate() {
        if module.funcs[kernel.func].stage == Stage::Imported {
            if !kernels[number].is_child {
                with_checks(module, number, &kernels[number], &mut tables[number], |checks, func| {
                    checks.before_promotion(func, options.checks);
                });
            }
            with_function(module, kernel.func, |module, func| {
                observer.passes(module, func, |func, after| passes::canonicalize(func, &module.globals, options, after))
            })?;
            module.funcs[kernel.func].stage = Stage::Canonical;
        }
    }
    Ok(called)
}

/// Compiles the functions that kernels call. The result also holds their code.
fn compile_called(
    observer: &mut StageObserver<'_>,
    module: &Module,
    called: &[CalledFunction],
    mut data: Arc<ProgramData>,
    options: &Options,
) -> Result<Arc<ProgramData>, BuildError> {
    if called.is_empty() {
        return Ok(data);
    }
    let backend = Backends::choose(options)?.scalars;
    let AcceptedStage::Legal(caps) = backend.accepted_stage() else {
        // The reference interpreter executes calls itself.
        return Ok(data);
    };
    for function in called {
        let func = &module.funcs[function.func];
        let looped = spmd::called_function(func, function.layout);
        let legal = kernel::looped_to_legal(observer, module, looped, caps, options)?;
        let (placed, log) =
            backend.compile_called(&legal, &data, &options.dump).map_err(|error| error.in_function(&func.name))?;
        observer.log += &log;
        observer.passed("emit", &func.name);
        data = Arc::new(data.with_function(function.func, placed));
    }
    Ok(data)
}

/// Inserts the checks that the options ask for; none into child kernels: checks need the sizes of arguments, which only the
/// application's launches know.
fn instrument(
    observer: &mut StageObserver<'_>,
    module: &mut Module,
    kernels: &[KernelDesc],
    mut tables: Vec<KernelChecks>,
    options: &Options,
) -> Result<Vec<Option<Arc<KernelChecks>>>, BuildError> {
    if options.checks.is_empty() {
        return Ok(vec![None; kernels.len()]);
    }
    let mut checked = Vec::new();
    for (number, desc) in kernels.iter().enumerate() {
        let func = module.kernels[number].func;
        let is_canonical = module.funcs[func].stage == Stage::Canonical;
        checked.push(if is_canonical && !desc.is_child {
            with_checks(module, number, desc, &mut tables[number], |checks, func| {
                checks.after_promotion(func, options.checks);
            });
            with_function(module, func, |module, func| {
                observer.passes(module, func, |func, after| passes::run(func, &module.globals, check::CLEANUP, after))
            })?;
            Some(Arc::new(std::mem::take(&mut tables[number])))
        } else {
            None
        });
    }
    observer.module("checked", module)?;
    Ok(checked)
}

/// Instruments a kernel.
fn with_checks(
    module: &mut Module,
    number: usize,
    desc: &KernelDesc,
    table: &mut KernelChecks,
    run: impl FnOnce(&mut Instrumentation<'_>, &mut Function),
) {
    let KernelData { func, arg_block_bytes, .. } = module.kernels[number];
    let (checks, globals) = (std::mem::take(table), std::mem::take(&mut module.globals));
    let mut checks = Instrumentation { checks, args: &desc.args, arg_block_bytes, globals };
    run(&mut checks, &mut module.funcs[func]);
    (*table, module.globals) = (checks.checks, checks.globals);
    module.kernels[number].arg_block_bytes = checks.arg_block_bytes;
}

/// Expands a kernel's image accesses for the images and samplers that `facts` describes. The kernel stays *canonical*.
pub(super) fn expand_images(
    observer: &StageObserver<'_>,
    module: &mut Module,
    func: Func,
    facts: &Facts,
    options: &Options,
) -> Result<(), BuildError> {
    with_function(module, func, |module, func| {
        image::expand(func, facts);
        observer.passes(module, func, |func, after| passes::canonicalize(func, &module.globals, options, after))
    })
}

/// Edits a function of a module while the rest of the module is readable.
fn with_function<T>(module: &mut Module, func: Func, edit: impl FnOnce(&Module, &mut Function) -> T) -> T {
    let mut taken = std::mem::replace(&mut module.funcs[func], Function::new("", &[]));
    let done = edit(module, &mut taken);
    module.funcs[func] = taken;
    done
}

/// A kernel to be compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelRequest<'a> {
    pub(super) name: &'a str,
    /// The sub-group size that the kernel requires.
    pub(super) sub_group_size: Option<u32>,
}

/// Kernels to be compiled with one lane, by their index, and the reasons.
type OneLane = FxHashMap<usize, String>;

/// Runs everything after stage *canonical* for all kernels of a module. A kernel whose packs exceed a limit of the backend is compiled
/// with one lane, unless it must have more.
pub(super) fn compile_kernels(
    observer: &mut StageObserver<'_>,
    module: &Arc<Module>,
    requests: &[KernelRequest<'_>],
    data: &Arc<ProgramData>,
    options: &Options,
) -> Result<(Vec<KernelNeeds>, CompiledKernels), BuildError> {
    let logged = observer.log.len();
    let mut one_lane = OneLane::default();
    loop {
        match try_compile_kernels(observer, module, requests, data, options, &one_lane) {
            Err(CompileError { kernel: Some(number), error: BuildError::Limit(reason) })
                if options.width.is_none()
                    && requests[number].sub_group_size.is_none()
                    && !one_lane.contains_key(&number) =>
            {
                observer.log.truncate(logged);
                one_lane.insert(number, reason);
            }
            result => return result.map_err(|error| error.error),
        }
    }
}

/// As [`compile_kernels`], with given exceptions. Errors of the backend for packs name the kernel by its index in the module.
fn try_compile_kernels(
    observer: &mut StageObserver<'_>,
    module: &Arc<Module>,
    requests: &[KernelRequest<'_>],
    data: &Arc<ProgramData>,
    options: &Options,
    one_lane: &OneLane,
) -> Result<(Vec<KernelNeeds>, CompiledKernels), CompileError> {
    let backends = Backends::choose(options)?;
    let mut needs = Vec::new();
    let (mut packs, mut scalars) = (Vec::new(), Vec::new());
    // Whether each kernel is among the scalar ones, and its index there or among the others; and the other way round for packs.
    let mut places = Vec::new();
    let mut packed_kernels = Vec::new();
    for (number, &KernelRequest { name, sub_group_size }) in requests.iter().enumerate() {
        let demanding = sub_group_size.map(|size| Options { width: Some(size), ..options.clone() });
        let options = demanding.as_ref().unwrap_or(options);
        let one_lane = one_lane.get(&number).map(String::as_str);
        let made = guarded(PANIC, || kernel::compile(observer, module, number, backends, options, one_lane));
        let made = made.map_err(|error| error.in_kernel(name))?;
        if let Some(size) = sub_group_size.filter(|size| *size != made.needs.resources.width) {
            let why =
                format!("it requires sub-groups of {size} work-items, which are not possible: {}", made.needs.report);
            return Err(BuildError::Limit(why).in_kernel(name).into());
        }
        observer.report(name, &made.needs.report);
        needs.push(made.needs);
        let code = if made.scalar { &mut scalars } else { &mut packs };
        places.push((made.scalar, code.len()));
        if !made.scalar {
            packed_kernels.push(number);
        }
        code.push(KernelCode { name: name.to_owned(), general: made.general, packed: made.packed });
    }
    let mut emit = |backend: &'static dyn Backend, code: Vec<KernelCode>| {
        if code.is_empty() {
            return Ok(None);
        }
        let executable = backend.compile(module, code, data.clone(), &options.dump)?;
        observer.log += &executable.log;
        observer.passed("emit", backend.name());
        Ok::<_, CompileError>(Some(executable))
    };
    let packs = emit(backends.packs, packs)
        .map_err(|error| CompileError { kernel: error.kernel.map(|at| packed_kernels[at]), ..error })?;
    let scalars = emit(backends.scalars, scalars).map_err(|error| CompileError { kernel: None, ..error })?;
    let entries = |made: &Option<CompiledKernels>| made.as_ref().map_or(Vec::new(), |made| made.entries.clone());
    let (of_packs, of_scalars) = (entries(&packs), entries(&scalars));
    let entries = places.iter().map(|&(scalar, at)| if scalar { of_scalars[at] } else { of_packs[at] }).collect();
    let memory = Arc::new([packs, scalars].map(|made| made.map(|made| made.memory)));
    Ok((needs, CompiledKernels { entries, log: String::new(), memory }))
}
