//! The stages of a module: the canonical passes over all kernels, the functions that they call, and the program that results.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use clift_include::check::KernelChecks;
use clift_kir::analysis::written_args;
use clift_kir::{Func, Function, Inst, KernelData, Module, Opcode, Stage};
use rustc_hash::FxHashSet;

use super::backends::Backends;
use super::batch::{CompiledModule, KernelRequest, compile_kernels};
use super::kernel::{self, KernelNeeds};
use super::launches::{CompiledKernel, LaunchSources, may_be_specialized};
use super::observer::{StageObserver, describes_kernels};
use super::parallel;
use crate::builtins::image::{self, Facts};
use crate::check::Instrumentation;
use crate::codegen::AcceptedStage;
use crate::codegen::data::ProgramData;
use crate::passes::calls::{CallPolicy, CalledFunction, Effort};
use crate::specialize::{DecidingConstants, LaunchConstants};
use crate::spirv::{Imported, KernelDesc};
use crate::spmd::report::work;
use crate::{ArgKind, BackendChoice, BuildError, Kernel, Options, Program, check, passes, spmd};

/// Runs all stages after the import of a module.
pub(super) fn build(imported: Imported, options: &Options, started: Instant) -> Result<Program, BuildError> {
    let mut observer = StageObserver::new(options, started);
    let Imported { mut module, mut kernels } = imported;
    observer.module("imported", &module)?;
    let mut tables: Vec<KernelChecks> =
        kernels.iter().map(|desc| KernelChecks { kernel: desc.name.clone(), ..KernelChecks::default() }).collect();
    let Canonicalized { called, assumes_separate_args, deciding, promoted } =
        canonicalize(&observer, &mut module, &kernels, &mut tables, options)?;
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
    expand_usual_images(&mut observer, &mut module, &kernels, options)?;
    let module = Arc::new(module);
    let requests: Vec<KernelRequest<'_>> = kernels
        .iter()
        .zip(&module.kernels)
        .map(|(desc, kernel)| {
            let one_lane = too_large_for_checked_packs(&module.funcs[kernel.func], desc, options);
            KernelRequest { name: &desc.name, sub_group_size: desc.required_sub_group_size, one_lane }
        })
        .collect();
    let CompiledModule { needs, entries, memory } = compile_kernels(&mut observer, &module, &requests, &data, options)?;
    let sources = LaunchSources {
        module: &module,
        accesses: accesses.as_ref(),
        promoted: promoted.as_ref(),
        data: &data,
        options,
    };
    let kernel_count = kernels.iter().filter(|desc| !desc.is_child).count();
    let compiled: Vec<CompiledKernel<'_>> = deciding
        .into_iter()
        .enumerate()
        .map(|(number, deciding)| CompiledKernel {
            desc: &kernels[number],
            number,
            needs: &needs[number],
            entry: entries[number],
            memory: &memory,
            assumes_separate_args: assumes_separate_args[number],
            deciding,
        })
        .collect();
    let launches = parallel::map(compiled, parallel::insts(&module), options, |kernel| {
        let mut observer = StageObserver::new(options, Instant::now());
        Ok((sources.of(&mut observer, kernel), observer))
    })?;
    let mut made = Vec::with_capacity(kernels.len());
    for (number, ((desc, checks), (launches, of_kernel))) in kernels.into_iter().zip(checks).zip(launches).enumerate() {
        observer.append(of_kernel);
        let func = &module.funcs[module.kernels[number].func];
        let is_counted = describes_kernels() && func.stage == Stage::Canonical;
        let KernelNeeds { resources, private_bytes, has_barrier, ref report, .. } = needs[number];
        made.push(Kernel {
            name: desc.name,
            entry: entries[number],
            resources,
            args: desc.args,
            required_local_size: desc.required_local_size,
            local_size_hint: desc.local_size_hint,
            vec_type_hint: desc.vec_type_hint,
            required_sub_groups: desc.required_sub_groups,
            required_sub_group_size: desc.required_sub_group_size,
            private_bytes,
            has_barrier,
            prefers_tiles: launches.prefers_tiles,
            rows: report.rows.unwrap_or(1),
            enqueues: has_requests(func),
            assumes_separate_args: assumes_separate_args[number],
            specializations: launches.specializations,
            checks,
            work: is_counted.then(|| Arc::new(work::estimate(func))),
        });
    }
    observer.passed("launches", "module");
    let children = made.split_off(kernel_count);
    let range = data.range();
    Ok(Program { kernels: made, children, log: observer.log, global_variable_bytes, data: range, memory })
}

/// Expands the accesses to images of all kernels for the usual formats.
fn expand_usual_images(
    observer: &mut StageObserver<'_>,
    module: &mut Module,
    kernels: &[KernelDesc],
    options: &Options,
) -> Result<(), BuildError> {
    for (number, desc) in kernels.iter().enumerate() {
        let func = module.kernels[number].func;
        if !image::has_accesses(&module.funcs[func]) {
            continue;
        }
        let name = &desc.name;
        if desc.is_child {
            let reason = "a kernel that is enqueued on the device accesses an image, which is not supported";
            return Err(BuildError::Limit(reason.to_owned()).in_kernel(name));
        }
        if !options.dump.is_empty() {
            let _ = writeln!(
                observer.log,
                "kernel {name}: the remarks are about its code for RGBA8 images; each launch gets code for its own images"
            );
        }
        expand_images(observer, module, func, &Facts::default_for(&desc.args), options)?;
    }
    Ok(())
}

/// Whether a function makes requests to the runtime.
fn has_requests(func: &Function) -> bool {
    let is_request = |&inst: &Inst| func.dfg.inst(inst).op == Opcode::Request;
    func.layout.blocks().iter().any(|&block| func.layout.insts(block).iter().any(is_request))
}

/// What [`canonicalize`] found and made besides the kernels.
struct Canonicalized {
    /// The functions that kernels call.
    called: Vec<CalledFunction>,
    /// By kernel, whether its code takes accesses through different arguments for independent.
    assumes_separate_args: Vec<bool>,
    /// By kernel, which constants of launches decide how its code could be.
    deciding: Vec<DecidingConstants>,
    /// The module before anything was assumed of launches, if other code may be needed or useful.
    promoted: Option<Arc<Module>>,
}

/// Takes every kernel of a module to stage *canonical*, and the functions that they call. Other functions lose their bodies; they
/// have been inlined into their callers.
fn canonicalize(
    observer: &StageObserver<'_>,
    module: &mut Module,
    kernels: &[KernelDesc],
    tables: &mut [KernelChecks],
    options: &Options,
) -> Result<Canonicalized, BuildError> {
    let policy = CallPolicy {
        limit: options.inline_limit,
        // Checks follow pointers from the objects that they belong to, and a sub-group of one work-item may not be what is
        // required.
        may_call: &|number| {
            options.checks.is_empty() && kernels[number].required_sub_group_size.is_none_or(|size| size == 1)
        },
        most_insts: options.most_insts(),
        // For reports.
        keeps_positions: !options.checks.is_empty(),
        optimize: &|module, func, effort| {
            observer.passes(module, func, |func, after| match effort {
                Effort::Part => passes::run(func, &module.globals, passes::part(options), after),
                Effort::Whole => passes::canonicalize(func, &module.globals, options, after),
            })
        },
    };
    let called = passes::calls::run(module, &policy)?;
    let imported: Vec<(usize, Func)> = module.kernels.iter().map(|kernel| kernel.func).enumerate().collect();
    let imported = imported.into_iter().filter(|&(_, func)| module.funcs[func].stage == Stage::Imported);
    let imported: Vec<(usize, Func)> = imported.collect();
    for &(number, _) in &imported {
        let desc = &kernels[number];
        if !desc.is_child {
            with_checks(module, number, desc, &mut tables[number], |checks, func| {
                checks.before_promotion(func, options.checks);
            });
        }
    }
    let funcs: Vec<Func> = imported.iter().map(|&(_, func)| func).collect();
    if !options.opt_disable {
        edit_kernels(module, &funcs, options, |module, _, func| {
            observer.passes(module, func, |func, after| passes::run(func, &module.globals, passes::PROMOTE, after))
        })?;
    }
    let mut assumes_separate_args = vec![false; kernels.len()];
    let mut deciding = vec![DecidingConstants::default(); kernels.len()];
    for &(number, func) in &imported {
        let desc = &kernels[number];
        assumes_separate_args[number] = gains_from_separate_args(&module.funcs[func], desc, options);
        if may_be_specialized(desc, options) {
            deciding[number] = DecidingConstants::of(&module.funcs[func]);
        }
    }
    let is_needed = assumes_separate_args.contains(&true) || deciding.iter().any(|deciding| !deciding.is_empty());
    let promoted = is_needed.then(|| Arc::new(module.clone()));
    for &(number, func) in imported.iter().filter(|&&(number, _)| assumes_separate_args[number]) {
        module.funcs[func].noalias_args = pointer_args(&kernels[number]).collect();
    }
    edit_kernels(module, &funcs, options, |module, number, func| {
        finish_function(observer, module, number, func, options)
    })?;
    Ok(Canonicalized { called, assumes_separate_args, deciding, promoted })
}

/// The offsets of a kernel's arguments that are pointers to memory objects.
fn pointer_args(desc: &KernelDesc) -> impl Iterator<Item = u32> {
    let is_pointer = |kind| matches!(kind, ArgKind::GlobalPointer | ArgKind::ConstantPointer);
    desc.args.iter().filter(move |arg| is_pointer(arg.kind)).map(|arg| arg.slot.offset)
}

/// Whether a kernel's code should take accesses through different arguments for independent, and launches say whether they are.
fn gains_from_separate_args(func: &Function, desc: &KernelDesc, options: &Options) -> bool {
    let applies = options.separate_args && may_be_specialized(desc, options);
    let written = written_args(func);
    applies && pointer_args(desc).count() > 1 && pointer_args(desc).any(|arg| written.contains(&arg))
}

/// Inserts constants of launches into a kernel after [`passes::PROMOTE`].
pub(super) fn insert_constants(
    observer: &StageObserver<'_>,
    module: &mut Module,
    func: Func,
    constants: &LaunchConstants,
) -> Result<(), BuildError> {
    with_function(module, func, |module, func| {
        passes::launch_constants::run(func, constants);
        observer.passes(module, func, |func, after| passes::run(func, &module.globals, passes::PROMOTE, after))
    })
}

/// Takes a kernel after [`passes::PROMOTE`] to stage *canonical*.
pub(super) fn finish_canonical(
    observer: &StageObserver<'_>,
    module: &mut Module,
    number: Func,
    options: &Options,
) -> Result<(), BuildError> {
    with_function(module, number, |module, func| finish_function(observer, module, number, func, options))
}

/// As [`finish_canonical`], for the function that is the module's with the given number.
fn finish_function(
    observer: &StageObserver<'_>,
    module: &Module,
    number: Func,
    func: &mut Function,
    options: &Options,
) -> Result<(), BuildError> {
    let optimizes = !options.opt_disable && options.checks.is_empty() && options.backend != BackendChoice::Interp;
    let kernel = module.kernels.iter().find(|kernel| kernel.func == number);
    let required = kernel.and_then(|kernel| kernel.required_local_size);
    let one_lane = optimizes && (options.width == Some(1) || required == Some([1; 3]));
    let globals = &module.globals;
    observer.passes(module, func, |func, after| passes::until_unrolling(func, globals, options, after))?;
    let rolled = match one_lane {
        true => spmd::rolled_loops::run(func, globals, options, &Backends::choose(options)?.machine()),
        false => FxHashSet::default(),
    };
    observer.passes(module, func, |func, after| passes::from_unrolling(func, globals, options, &rolled, after))?;
    // All later stages copy it, and have tables of its size.
    func.compact();
    func.stage = Stage::Canonical;
    if !options.dependent_sub_groups && kernel.is_some() {
        spmd::yields::run(func, required);
    }
    Ok(())
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

/// The most instructions of a checked kernel that becomes packs. What one lane takes to build is a third of that, or less.
const MOST_CHECKED_INSTS: usize = 1 << 14;

/// Why a checked kernel gets one lane, if its checks make it so large that packs would take long to build.
fn too_large_for_checked_packs(func: &Function, desc: &KernelDesc, options: &Options) -> Option<&'static str> {
    let chooses = options.width.is_none() && desc.required_sub_group_size.is_none();
    if options.checks.is_empty() || !chooses || options.backend == BackendChoice::Interp {
        return None;
    }
    let insts: usize = func.layout.blocks().iter().map(|&block| func.layout.insts(block).len()).sum();
    (insts > MOST_CHECKED_INSTS).then_some("with its checks it is too large for packs")
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
    module.funcs.values_mut().for_each(Function::forget_inlined_calls);
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
    })?;
    module.funcs[func].compact();
    Ok(())
}

/// Edits functions of kernels while the rest of the module is readable; those of large modules at the same time.
fn edit_kernels(
    module: &mut Module,
    funcs: &[Func],
    options: &Options,
    edit: impl Fn(&Module, Func, &mut Function) -> Result<(), BuildError> + Sync,
) -> Result<(), BuildError> {
    let insts = parallel::insts(module);
    let taken: Vec<(Func, Function)> =
        funcs.iter().map(|&func| (func, std::mem::replace(&mut module.funcs[func], Function::new("", &[])))).collect();
    let readable = &*module;
    let edited = parallel::map(taken, insts, options, |(number, mut func)| {
        edit(readable, number, &mut func)?;
        Ok((number, func))
    })?;
    for (number, func) in edited {
        module.funcs[number] = func;
    }
    Ok(())
}

/// Edits a function of a module while the rest of the module is readable.
fn with_function<T>(module: &mut Module, func: Func, edit: impl FnOnce(&Module, &mut Function) -> T) -> T {
    let mut taken = std::mem::replace(&mut module.funcs[func], Function::new("", &[]));
    let done = edit(module, &mut taken);
    module.funcs[func] = taken;
    done
}
