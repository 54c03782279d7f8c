//! The stages of a build in order. The only place that verifies, dumps and times.
//!
//! | stage | by | gives |
//! |---|---|---|
//! | import | `spirv` | module at *imported*, descriptions of the kernels |
//! | canonical | `passes` | *canonical*: the interpreter takes it from here |
//! | images | `builtins::image` | accesses to images as code for certain formats and samplers |
//! | spmd | `spmd` | *looped*, memory needs, a line of the build log where it is asked for |
//! | clean | `passes` | *looped*, cleaned up |
//! | legalize | `codegen::legalize` | *legal* for the backend's capabilities |
//! | emit | the backend | entries |
//!
//! A kernel of a module made by hand may be *looped* already; it then skips what comes before.
//!
//! Deliberately not here: what the stages do, and any decision by OpenCL.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use clift_include::abi::Resources;
use clift_kir::analysis::written_args;
use clift_kir::{Function, KernelData, Module, Stage};

use crate::builtins::image::{self, Facts};
use crate::codegen::clif::ClifBackend;
use crate::codegen::data::ProgramData;
use crate::codegen::interp::InterpBackend;
use crate::codegen::wide::WideBackend;
use crate::codegen::{Backend, Body, Executable, Input, KernelCode, Rest, legalize};
use crate::spmd::machine::Machine;
use crate::spmd::report::Report;
use crate::variants::{Variant, Variants};
use crate::{BuildError, Kernel, Options, Program, options, passes, spirv, spmd};

/// Names that [`Options::dump`] may contain: stages whose result goes to the build log, and forms of the backend's own.
///
/// [`REPORT`] is another.
pub const DUMPS: &[&str] = &["imported", "canonical", "widened", "looped", "clean", "legal", "clif", "asm"];

/// The name in [`Options::dump`] by which the build log tells what the vectorizer did with each kernel.
pub const REPORT: &str = "vectorize";

/// Builds a program from SPIR-V.
pub(crate) fn run(inputs: &[crate::Input<'_>], options: &Options) -> Result<Program, BuildError> {
    guarded(|| {
        let started = Instant::now();
        let imported = spirv::import(inputs, options)?;
        stages(imported, options, started)
    })
}

/// Builds a program from an imported module, or one made by hand whose kernels are at any stage up to *looped*: everything
/// after the import. The machine code of kernels at *looped* alone can run; the interpreter refuses them.
///
/// # Errors
/// As [`crate::compile`].
pub fn build(imported: spirv::Imported, options: &Options) -> Result<Program, BuildError> {
    guarded(|| stages(imported, options, Instant::now()))
}

/// A broken invariant of ours must end as a build error, not in the application.
fn guarded<T>(build: impl FnOnce() -> Result<T, BuildError>) -> Result<T, BuildError> {
    catch_unwind(AssertUnwindSafe(build)).unwrap_or_else(|payload| Err(BuildError::Internal(panic_text(&*payload))))
}

/// The message of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "panic without a message".to_owned())
}

fn stages(imported: spirv::Imported, options: &Options, started: Instant) -> Result<Program, BuildError> {
    let mut watch = Watch { options, log: String::new(), started };
    let spirv::Imported { mut module, mut kernels } = imported;
    watch.module("imported", &module)?;
    passes::canonicalize(&mut module, options)?;
    watch.module("canonical", &module)?;
    for (desc, kernel) in kernels.iter_mut().zip(&module.kernels) {
        let written = written_args(&module.funcs[kernel.func]);
        for arg in &mut desc.args {
            arg.written = written.contains(&arg.slot.offset);
        }
    }
    let data = Arc::new(ProgramData::new(&module)?);
    let global_variable_bytes = data.global_bytes();
    let accesses = image::has_accesses_in(&module).then(|| Arc::new(module.clone()));
    for (desc, kernel) in kernels.iter().zip(module.kernels.clone()) {
        if image::has_accesses(&module.funcs[kernel.func]) {
            let name = &desc.name;
            let _ = writeln!(
                watch.log,
                "kernel {name}: told of is its code for images of RGBA bytes; a launch gets its own"
            );
        }
        for_images(&mut module.funcs[kernel.func], &Facts::usual(&desc.args), options);
    }
    let module = Arc::new(module);
    let heads: Vec<Head<'_>> =
        kernels.iter().map(|desc| Head { name: &desc.name, sub_group_size: desc.required_sub_group_size }).collect();
    let (needs, executable) = last_stages(&mut watch, &module, &heads, &data, options)?;
    let kernels = kernels
        .into_iter()
        .enumerate()
        .zip(needs)
        .zip(executable.entries)
        .map(|(((number, desc), needs), entry)| {
            let usual = Variant { entry, resources: needs.resources, memory: executable.memory.clone() };
            let variants = accesses.as_ref().and_then(|accesses| {
                Variants::new(&desc, accesses, number, data.clone(), options, usual).map(Arc::new)
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
                variants,
            }
        })
        .collect();
    Ok(Program { kernels, log: watch.log, global_variable_bytes, memory: executable.memory })
}

/// A kernel at stage *canonical* for images of certain formats.
pub(crate) fn for_images(func: &mut Function, facts: &Facts, options: &Options) {
    if image::has_accesses(func) {
        image::expand(func, facts);
        passes::recanonicalize(func, options);
    }
}

/// Makes the code of one kernel, the only one of a module at stage *canonical*.
pub(crate) fn variant(
    name: &str,
    module: Module,
    data: &Arc<ProgramData>,
    options: &Options,
) -> Result<Variant, BuildError> {
    guarded(|| {
        let mut watch = Watch { options, log: String::new(), started: Instant::now() };
        // Where the size of sub-groups matters, the options demand it already.
        let head = Head { name, sub_group_size: None };
        let (needs, executable) = last_stages(&mut watch, &Arc::new(module), &[head], data, options)?;
        let (Some(needs), Some(&entry)) = (needs.first(), executable.entries.first()) else {
            return Err(BuildError::Internal("a kernel without code".to_owned()));
        };
        Ok(Variant { entry, resources: needs.resources, memory: executable.memory.clone() })
    })
}

/// What makes code: of packs, and of kernels for which the vectorizer chose one lane.
#[derive(Clone, Copy)]
struct Backends {
    packs: &'static dyn Backend,
    scalars: &'static dyn Backend,
}

impl Backends {
    /// Those that options ask for. Cranelift's scalar code is the better one.
    fn choose(options: &Options) -> Result<Backends, BuildError> {
        let both = |backend| Backends { packs: backend, scalars: backend };
        Ok(match options.backend {
            options::Backend::Clif => both(ClifBackend::host()?),
            options::Backend::Interp => both(&InterpBackend),
            options::Backend::Auto => match WideBackend::host()? {
                Some(wide) => Backends { packs: wide, scalars: ClifBackend::host()? },
                None => both(ClifBackend::host()?),
            },
        })
    }
}

/// A kernel on its way through the last stages.
#[derive(Clone, Copy, Debug)]
struct Head<'a> {
    name: &'a str,
    /// Work-items that a sub-group must have.
    sub_group_size: Option<u32>,
}

/// Everything behind the canonical stage, for all kernels of a module.
fn last_stages(
    watch: &mut Watch<'_>,
    module: &Arc<Module>,
    heads: &[Head<'_>],
    data: &Arc<ProgramData>,
    options: &Options,
) -> Result<(Vec<Needs>, Executable), BuildError> {
    let backends = Backends::choose(options)?;
    let mut needs = Vec::new();
    let (mut packs, mut scalars) = (Vec::new(), Vec::new());
    let mut places = Vec::new();
    for (number, &Head { name, sub_group_size }) in heads.iter().enumerate() {
        let demanding = sub_group_size.map(|size| Options { width: Some(size), ..options.clone() });
        let options = demanding.as_ref().unwrap_or(options);
        let made = guarded(|| kernel_stages(watch, module, number, backends, options));
        let made = made.map_err(|error| error.in_kernel(name))?;
        if let Some(size) = sub_group_size.filter(|size| *size != made.needs.resources.width) {
            let why = format!("sub-groups of {size} work-items: {}", made.needs.report);
            return Err(BuildError::Limit(why).in_kernel(name));
        }
        watch.report(name, &made.needs.report);
        needs.push(made.needs);
        let code = if made.scalar { &mut scalars } else { &mut packs };
        places.push((made.scalar, code.len()));
        code.push(KernelCode { name: name.to_owned(), general: made.general, packed: made.packed });
    }
    let mut emit = |backend: &dyn Backend, code: Vec<KernelCode>| {
        if code.is_empty() {
            return Ok(None);
        }
        let executable = backend.compile(module, code, data.clone(), &options.dump)?;
        watch.log += &executable.log;
        watch.passed("emit", backend.name());
        Ok::<_, BuildError>(Some(executable))
    };
    let (packs, scalars) = (emit(backends.packs, packs)?, emit(backends.scalars, scalars)?);
    let entries = |made: &Option<Executable>| made.as_ref().map_or(Vec::new(), |made| made.entries.clone());
    let (of_packs, of_scalars) = (entries(&packs), entries(&scalars));
    let entries = places.iter().map(|&(scalar, at)| if scalar { of_scalars[at] } else { of_packs[at] }).collect();
    let memory = Arc::new([packs, scalars].map(|made| made.map(|made| made.memory)));
    Ok((needs, Executable { entries, log: String::new(), memory }))
}

/// The stages that work on one kernel.
fn kernel_stages(
    watch: &mut Watch<'_>,
    module: &Arc<Module>,
    number: usize,
    backends: Backends,
    options: &Options,
) -> Result<Made, BuildError> {
    let kernel = &module.kernels[number];
    let machine = match backends.packs.input() {
        Input::Legal(caps) => caps.machine(),
        Input::Canonical => Machine::COMMON,
    };
    let groups = match module.funcs[kernel.func].stage {
        Stage::Looped => by_hand(module, kernel),
        _ => spmd::group_functions(module, kernel, options, &machine)?,
    };
    let packed = groups.packed.as_ref().map(|packed| packed.resources);
    let general = &groups.general;
    let mut needs = Needs {
        resources: packed.map_or(general.resources, |packed| general.resources.max(packed)),
        private_bytes: general.private_bytes,
        has_barrier: general.has_barrier,
        report: groups.report,
    };
    needs.resources.groups_may_grow =
        needs.report.accesses_runs() && spmd::groups_may_grow(&module.funcs[kernel.func], kernel);
    let scalar = needs.resources.width == 1 && options.width != Some(1);
    let backend = if scalar { backends.scalars } else { backends.packs };
    let Input::Legal(caps) = backend.input() else {
        // The reference interpreter steps work-items, in sub-groups of any size.
        let size = options.width.unwrap_or(1);
        needs.resources.width = size;
        return Ok(Made { needs, scalar, general: Body::Canonical(kernel.func, size), packed: None });
    };
    let mut legalized = |made: spmd::GroupFunction| {
        if let Some(widened) = &made.widened {
            watch.function("widened", module, widened)?;
        }
        let mut func = made.func;
        watch.function("looped", module, &func)?;
        passes::clean(&mut func, options);
        watch.function("clean", module, &func)?;
        let legal = legalize::run(&func, caps);
        watch.function("legal", module, &legal)?;
        Ok::<_, BuildError>(legal)
    };
    let packed = groups.packed.map(&mut legalized).transpose()?;
    // Most launches have whole packs only. What is asked to be seen has to be there, though.
    let general = if packed.is_some() && options.dump.is_empty() {
        if cfg!(debug_assertions) {
            legalized(groups.general.clone())?;
        }
        let (module, options, general) = (module.clone(), options.clone(), groups.general.func);
        Body::Late(Box::new(Rest { general, module, kernel: number, needs: needs.resources, options }))
    } else {
        Body::Legal(Box::new(legalized(groups.general)?))
    };
    Ok(Made { needs, scalar, general, packed })
}

/// A kernel that is looped already: one function for all groups.
fn by_hand(module: &Module, kernel: &KernelData) -> spmd::GroupFunctions {
    let general = spmd::GroupFunction {
        func: module.funcs[kernel.func].clone(),
        widened: None,
        resources: Resources { arg_block_bytes: kernel.arg_block_bytes, width: 1, ..Resources::default() },
        private_bytes: 0,
        has_barrier: false,
    };
    spmd::GroupFunctions { general, packed: None, report: Report::scalar("made by hand") }
}

/// What the stages make of a kernel: what it needs, and its legal functions where the backend wants them.
struct Made {
    needs: Needs,
    /// Whether it has one lane, and is for the backend of such kernels.
    scalar: bool,
    general: Body,
    packed: Option<Function>,
}

/// What a kernel needs of its launches, and what was done with it.
struct Needs {
    resources: Resources,
    private_bytes: u64,
    has_barrier: bool,
    report: Report,
}

/// Verifies, dumps and times after each stage.
struct Watch<'a> {
    options: &'a Options,
    log: String,
    started: Instant,
}

impl Watch<'_> {
    fn passed(&mut self, stage: &str, what: &str) {
        let now = Instant::now();
        tracing::debug!(target: "clift::time", stage, what, micros = (now - self.started).as_micros() as u64);
        self.started = now;
    }

    /// What the vectorizer did with a kernel.
    fn report(&mut self, kernel: &str, report: &Report) {
        tracing::debug!(target: "clift::vectorize", kernel, "{report}");
        if self.dumps(REPORT) {
            let _ = writeln!(self.log, "kernel {kernel}: {report}");
        }
    }

    fn dumps(&self, stage: &str) -> bool {
        self.options.dump.iter().any(|name| name == stage)
    }

    /// After a stage that concerns the whole module.
    fn module(&mut self, stage: &str, module: &Module) -> Result<(), BuildError> {
        self.passed(stage, "module");
        if self.dumps(stage) {
            let _ = writeln!(self.log, "; {stage}\n{module}");
        }
        if cfg!(debug_assertions) {
            clift_kir::verify::module(module).map_err(|errors| broken(stage, &errors))?;
        }
        self.started = Instant::now();
        Ok(())
    }

    /// After a stage that concerns one function.
    fn function(&mut self, stage: &str, module: &Module, func: &Function) -> Result<(), BuildError> {
        self.passed(stage, &func.name);
        if self.dumps(stage) {
            let _ = writeln!(self.log, "; {stage}\n{func}");
        }
        if cfg!(debug_assertions) {
            clift_kir::verify::function(module, func).map_err(|errors| broken(stage, &errors))?;
        }
        self.started = Instant::now();
        Ok(())
    }
}

fn broken(stage: &str, errors: &dyn std::fmt::Display) -> BuildError {
    BuildError::Internal(format!("after stage {stage}: {errors}"))
}
