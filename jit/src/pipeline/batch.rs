//! The stages of a module's kernels after *canonical*, and code generation in one batch per backend.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use clift_include::abi::KernelEntry;
use clift_kir::Module;

use super::PANIC;
use super::backends::Backends;
use super::kernel::{self, KernelNeeds, StagedKernel};
use super::observer::StageObserver;
use super::parallel;
use crate::codegen::data::ProgramData;
use crate::codegen::{Backend, KernelCode};
use crate::guard::guarded;
use crate::{BuildError, Options};

/// A kernel to be compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelRequest<'a> {
    pub(super) name: &'a str,
    /// The sub-group size that the kernel requires.
    pub(super) sub_group_size: Option<u32>,
    /// Why the kernel gets one lane, if that is not to be chosen.
    pub(super) one_lane: Option<&'a str>,
}

/// Compiled kernels of a module.
pub(super) struct CompiledModule {
    /// What launches of each kernel need.
    pub(super) needs: Vec<KernelNeeds>,
    /// The entry of each kernel.
    pub(super) entries: Vec<KernelEntry>,
    /// Keeps code and data alive.
    pub(super) memory: Arc<dyn Any + Send + Sync>,
}

/// Runs everything after stage *canonical* for all kernels of a module. A kernel whose packs exceed a limit of the backend is
/// compiled with one lane, unless it must have more.
pub(super) fn compile_kernels(
    observer: &mut StageObserver<'_>,
    module: &Arc<Module>,
    requests: &[KernelRequest<'_>],
    data: &Arc<ProgramData>,
    options: &Options,
) -> Result<CompiledModule, BuildError> {
    let backends = Backends::choose(options)?;
    let stage = |observer: &mut StageObserver<'_>, number: usize, one_lane: Option<&str>, options: &Options| {
        let KernelRequest { name, sub_group_size, .. } = requests[number];
        let demanding = sub_group_size.map(|size| Options { width: Some(size), ..options.clone() });
        let options = demanding.as_ref().unwrap_or(options);
        guarded(PANIC, || kernel::compile(observer, module, number, backends, options, one_lane))
            .map_err(|error| error.in_kernel(name))
    };
    let keeps_lanes = |request: &KernelRequest<'_>| options.width.is_some() || request.sub_group_size.is_some();
    let numbers = (0..requests.len()).collect();
    let staged = parallel::map(numbers, parallel::insts(module), options, |number| {
        let mut observer = StageObserver::new(options, Instant::now());
        let made = stage(&mut observer, number, requests[number].one_lane, options)?;
        Ok((made, observer))
    })?;
    observer.restart();
    let (mut needs, mut packs, mut scalars) = (Vec::new(), Batch::default(), Batch::default());
    for (number, (made, of_kernel)) in staged.into_iter().enumerate() {
        observer.append(of_kernel);
        let KernelRequest { name, sub_group_size, .. } = requests[number];
        if let Some(size) = sub_group_size.filter(|size| *size != made.needs.resources.width) {
            let why =
                format!("it requires sub-groups of {size} work-items, which are not possible: {}", made.needs.report);
            return Err(BuildError::Limit(why).in_kernel(name));
        }
        let batch = if made.scalar { &mut scalars } else { &mut packs };
        needs.push(batch.add(number, name, made, keeps_lanes(&requests[number])));
    }
    let mut entries = vec![None; requests.len()];
    let packs = packs.emit(observer, module, backends.packs, data, options)?;
    for (number, entry) in packs.entries {
        match entry {
            Ok(entry) => entries[number] = Some(entry),
            Err(BuildError::Limit(reason)) if !keeps_lanes(&requests[number]) => {
                let reason = format!("its packs exceed a limit: {reason}");
                // Packs of iterations need the backend whose limit was exceeded.
                let single = Options { loop_lanes: Some(1), ..options.clone() };
                let made = stage(observer, number, Some(&reason), &single)?;
                needs[number] = scalars.add(number, requests[number].name, made, true);
            }
            Err(error) => return Err(error),
        }
    }
    for (number, (request, needs)) in requests.iter().zip(&needs).enumerate() {
        observer.report(request.name, &needs.report);
        let backend = if scalars.numbers.contains(&number) { backends.scalars } else { backends.packs };
        observer.describe(request.name, &needs.report, needs.resources.width, backend.name());
    }
    let scalars = scalars.emit(observer, module, backends.scalars, data, options)?;
    for (number, entry) in scalars.entries {
        entries[number] = Some(entry?);
    }
    let Some(entries) = entries.into_iter().collect() else { unreachable!("broken invariant: kernel without code") };
    Ok(CompiledModule { needs, entries, memory: Arc::new([packs.memory, scalars.memory]) })
}

/// Kernels for one backend.
#[derive(Default)]
struct Batch {
    code: Vec<KernelCode>,
    /// Their indices in the module.
    numbers: Vec<usize>,
}

/// What a backend made of a [`Batch`].
#[derive(Default)]
struct CompiledBatch {
    /// The entry of each kernel, with its index in the module.
    entries: Vec<(usize, Result<KernelEntry, BuildError>)>,
    /// Keeps code and data alive.
    memory: Option<Arc<dyn Any + Send + Sync>>,
}

impl Batch {
    /// Adds a kernel; returns what its launches need.
    fn add(&mut self, number: usize, name: &str, made: StagedKernel, keeps_lanes: bool) -> KernelNeeds {
        self.numbers.push(number);
        self.code.push(KernelCode { name: name.to_owned(), general: made.general, packed: made.packed, keeps_lanes });
        made.needs
    }

    /// Makes the kernels executable.
    fn emit(
        self,
        observer: &mut StageObserver<'_>,
        module: &Module,
        backend: &'static dyn Backend,
        data: &Arc<ProgramData>,
        options: &Options,
    ) -> Result<CompiledBatch, BuildError> {
        if self.code.is_empty() {
            return Ok(CompiledBatch::default());
        }
        let compiled = backend.compile(module, self.code, data.clone(), &options.dump)?;
        observer.log += &compiled.log;
        observer.passed("emit", backend.name());
        Ok(CompiledBatch {
            entries: self.numbers.into_iter().zip(compiled.entries).collect(),
            memory: Some(compiled.memory),
        })
    }
}
