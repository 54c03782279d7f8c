//! The code that a launch gets.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use clift_include::image::ArgFact;
use clift_jit::ArgFacts;
use clift_jit::specialize::{CodeVariant, Specialization, Specializations};
use clift_runtime::background;
use clift_runtime::fault::LaunchInfo;
use clift_runtime::ndrange::NdRange;

use crate::config::{SpecializeChoice, config};
use crate::error::ClError::OutOfResources;
use crate::error::ClResult;
use crate::object::kernel::Kernel;
use crate::object::launch_info::KernelInfo;
use crate::object::queue::Queue;
use crate::object::repeated_launches::{
    Choice, CodeRequest, LEAST_LAUNCH_NS, LaunchTimes, RepeatedLaunches, TimedLaunch,
};

/// What is known of a launch when its code is chosen.
pub(super) struct Known<'a> {
    /// Its geometry.
    pub(super) nd: &'a NdRange,
    /// Its argument block.
    pub(super) block: &'a [u8],
    /// Its images and samplers.
    pub(super) images: &'a [(u32, ArgFact)],
    /// Whether memory of its arguments overlaps.
    pub(super) overlap: bool,
}

impl Known<'_> {
    fn facts(&self) -> ArgFacts<'_> {
        ArgFacts { images: self.images, overlap: self.overlap }
    }
}

/// Chooses the code of a launch, `None` for the kernel's usual one, and who is told about the launch.
pub(super) fn choose(
    queue: &Queue,
    kernel: &Kernel,
    launch: &Known<'_>,
) -> ClResult<(Option<Specialization>, Arc<dyn LaunchInfo>)> {
    let info = kernel.launch_info();
    let Some(specializations) = &kernel.info().specializations else { return Ok((None, info.clone())) };
    let mut times = None;
    if let Some(repeated) = info.launches().repeated.as_ref().filter(|_| !launch.overlap) {
        let choice = for_repeated(repeated, specializations, info, launch);
        if let Some(request) = choice.compile {
            compile(info, *request);
        }
        if let Some(code) = choice.code {
            return Ok((Some(code), told(info, choice.times)));
        }
        times = choice.times;
    }
    // CL_OUT_OF_RESOURCES if there is a failure to make the code for these arguments
    // The code is compiled on a thread with a large stack.
    let (local_size, num_groups) = (launch.nd.local_size(), launch.nd.num_groups());
    let code = specializations.known(launch.facts(), local_size, num_groups).unwrap_or_else(|| {
        background::run(|| {
            if specializations.has_packs_of_groups(local_size, num_groups) {
                prepare_others(info, local_size, num_groups);
            }
            specializations.get(launch.facts(), local_size, num_groups)
        })
    });
    let code = code.map_err(|error| {
        let name = &kernel.info().name;
        queue.context().report(&format!("kernel `{name}` cannot be compiled for its arguments: {error}"));
        OutOfResources
    })?;
    Ok((code, told(info, times)))
}

/// Who is told about a launch, which is part of a trial if it has `times`.
fn told(info: &Arc<KernelInfo>, times: Option<Arc<LaunchTimes>>) -> Arc<dyn LaunchInfo> {
    match times {
        Some(times) => Arc::new(TimedLaunch { info: info.clone(), times }),
        None => info.clone(),
    }
}

fn for_repeated(
    repeated: &RepeatedLaunches,
    specializations: &Specializations,
    info: &KernelInfo,
    launch: &Known<'_>,
) -> Choice {
    let constants = || repeated.constants(launch.nd, launch.block, launch.images);
    if config().specialize == SpecializeChoice::Always {
        let compile = |constants, variant| {
            background::run(|| specializations.with_constants(launch.facts(), constants, variant)).ok()
        };
        return Choice { code: repeated.always(constants(), compile), ..Choice::default() };
    }
    let nanos = info.launches().cost.estimate(launch.nd.total_items()).unwrap_or(0);
    if nanos < LEAST_LAUNCH_NS { Choice::default() } else { repeated.choose(constants(), nanos) }
}

/// Compiles the code for groups of one work-item of the program's other kernels in the background: programs that launch such
/// groups do so with all of their kernels.
fn prepare_others(info: &KernelInfo, local_size: [u64; 3], num_groups: [u64; 3]) {
    let kernels = info.executable.program.kernels.iter().zip(&info.executable.launches).enumerate();
    for (index, (kernel, launches)) in kernels {
        let Some(specializations) = &kernel.specializations else { continue };
        let is_likely = index != info.index && launches.has_object.load(Ordering::Relaxed);
        let facts = ArgFacts { images: &[], overlap: false };
        if is_likely
            && specializations.has_packs_of_groups(local_size, num_groups)
            && specializations.known(facts, local_size, num_groups).is_none()
        {
            let specializations = specializations.clone();
            // A failure is met again by the launch, which reports it.
            background::start(move || drop(specializations.get(facts, local_size, num_groups)));
        }
    }
}

/// Compiles code for repeated launches in the background.
fn compile(info: &Arc<KernelInfo>, request: CodeRequest) {
    // The program may end first.
    let (executable, index) = (Arc::downgrade(&info.executable), info.index);
    background::start(move || {
        let Some(executable) = executable.upgrade() else { return };
        let specializations = &executable.program.kernels[index].specializations;
        let (Some(specializations), Some(repeated)) = (specializations, &executable.launches[index].repeated) else {
            return;
        };
        let facts = ArgFacts { images: request.constants.images(), overlap: false };
        let constants = repeated.for_compiler(&request.constants);
        let variant = request.variant;
        let code = if variant != CodeVariant::Usual && !specializations.differs(&constants, variant) {
            None
        } else if request.is_general {
            specializations.without_constants(facts, &constants, variant).ok()
        } else {
            specializations.with_constants(facts, constants, variant).ok()
        };
        repeated.compiled(&request, code);
    });
}
