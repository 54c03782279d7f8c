//! The child processes: build a source on one driver and run its kernels.
//!
//! A child appends to a file what it does, so that the parent knows where it died. A *survey*, with all checks of the driver,
//! plans the launches of each kernel and finds those without undefined behaviour; other children run these.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use clift_tests::session::{Session, error_name, session};
use clift_tests::ways::OPTIONS;
use opencl3::command_queue::CommandQueue;
use opencl3::kernel::Kernel;
use opencl3::program::Program;
use serde::{Deserialize, Serialize};

use crate::memory::{Argument, Output};
use crate::plan::{Arg, Element, KernelPlan, Launch, VALUES, element, image, launches};
use crate::source;

/// How many launches of a kernel are run: small ones, and large ones that are measured.
const MOST_LAUNCHES: [usize; 2] = [4, 1];
/// How long a survey tries launches of a kernel.
const MOST_TIME: Duration = Duration::from_secs(5);
/// What reports of races contain.
const RACE: &str = "\"class\":\"race\"";
/// Memory of a child.
const MEMORY: u64 = 12 << 30;
/// Sizes of values of unknown types, in the order in which they are tried.
const SIZES: std::ops::Range<usize> = 1..513;

/// What a child does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) file: PathBuf,
    /// Build options; for a survey, those of the command line.
    pub(crate) options: String,
    /// The kernels to run, or `None` for a survey.
    pub(crate) kernels: Option<Vec<KernelPlan>>,
    /// The kernels to pass over.
    pub(crate) skip: Vec<String>,
    /// The time for which a large launch is repeated and measured, in milliseconds.
    pub(crate) measure: u64,
    /// Where the events go.
    pub(crate) result: PathBuf,
}

/// What a child reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A build begins.
    Building,
    /// It was built with these options, in this time.
    Built(String, f64),
    /// It was not built; the log.
    NotBuilt(String),
    /// A launch begins.
    Begin(String, Launch),
    /// It ended.
    End(Outcome),
    /// A survey's result for a kernel.
    Plan(KernelPlan),
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// What it changed, and the least time if it was measured, in nanoseconds.
    Done(Vec<Output>, Option<u64>),
    /// A check reported something.
    Reported(String),
    /// The driver refused it, or it failed.
    Failed(String),
    /// The process died.
    Crash(String),
    /// It exceeded its time limit.
    Hang,
}

/// Does what a task file says.
pub(crate) fn run(task: &Path) -> Result<()> {
    let task: Task = serde_json::from_slice(&std::fs::read(task)?)?;
    confine();
    let mut log = Log(File::options().append(true).open(&task.result)?);
    // The loader takes an empty text for one that ends with a zero.
    let text = format!("{}\n", String::from_utf8_lossy(&std::fs::read(&task.file)?));
    log.write(&Event::Building)?;
    let session = session();
    let added = std::env::var(OPTIONS).unwrap_or_default();
    let start = Instant::now();
    let mut build = |options: &str| {
        log.write(&Event::Building).map_err(|error| error.to_string())?;
        session.build(&text, options)
    };
    let built = match &task.kernels {
        None => source::build_somehow(&task.file, &text, &task.options, build),
        Some(_) => build(&format!("{} {added}", task.options)).map(|program| (program, task.options.clone())),
    };
    let (program, options) = match built {
        Ok(built) => built,
        Err(error) => return log.write(&Event::NotBuilt(error)),
    };
    log.write(&Event::Built(options, start.elapsed().as_secs_f64()))?;
    let queue = session.queue();
    match &task.kernels {
        None => survey(&task, session, &queue, &program, &text, &mut log),
        Some(kernels) => {
            for plan in kernels.iter().filter(|plan| !task.skip.contains(&plan.name)) {
                for launch in &plan.launches {
                    log.write(&Event::Begin(plan.name.clone(), launch.clone()))?;
                    let measure = if VALUES[launch.values].is_large { task.measure } else { 0 };
                    let outcome = attempt(session, &queue, &program, plan, launch, measure);
                    log.write(&Event::End(outcome))?;
                }
            }
            Ok(())
        }
    }
}

/// The file of events.
struct Log(File);

impl Log {
    fn write(&mut self, event: &Event) -> Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        Ok(self.0.write_all(&line)?)
    }
}

/// Limits this process to the processor that it runs on and an amount of memory.
fn confine() {
    let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: all arguments are valid for the calls; an empty set of processors is all zeros.
    unsafe {
        libc::setrlimit(libc::RLIMIT_AS, &raw const limit);
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap_or_default(), &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Plans the launches of all kernels, and runs them with checks until enough of them had no report.
fn survey(
    task: &Task,
    session: &Session,
    queue: &CommandQueue,
    program: &Program,
    text: &str,
    log: &mut Log,
) -> Result<()> {
    let reports = std::env::var_os(crate::CHECK_OUTPUT).map(PathBuf::from).unwrap_or_default();
    let length = || reports.metadata().map_or(0, |metadata| metadata.len());
    let names = program.kernel_names().to_owned();
    for name in names.split(';').filter(|name| !name.is_empty() && !task.skip.iter().any(|skip| skip == name)) {
        let mut plan = match plan(session, program, name, text) {
            Ok(plan) => plan,
            Err(_) => continue,
        };
        let mut counts = [0; 2];
        let mut clean = Vec::new();
        let start = Instant::now();
        for launch in std::mem::take(&mut plan.launches) {
            let count = &mut counts[usize::from(VALUES[launch.values].is_large)];
            if *count >= MOST_LAUNCHES[usize::from(VALUES[launch.values].is_large)] {
                continue;
            }
            if start.elapsed() > MOST_TIME {
                break;
            }
            log.write(&Event::Begin(name.to_owned(), launch.clone()))?;
            let checked = |launch: &Launch, class: &str| {
                let before = length();
                let outcome = attempt(session, queue, program, &plan, launch, 0);
                let text = std::fs::read_to_string(&reports).unwrap_or_default();
                let report = text.get(before as usize..).and_then(|new| new.lines().find(|line| line.contains(class)));
                report.map_or(outcome, |report| Outcome::Reported(report.to_owned()))
            };
            let mut outcome = checked(&launch, "");
            if matches!(outcome, Outcome::Done(..)) {
                // The checks compare the work-items of a group only.
                if let outcome_of_one @ Outcome::Reported(_) = checked(&launch.as_one_group(), RACE) {
                    outcome = outcome_of_one;
                }
            }
            match &mut outcome {
                Outcome::Done(outputs, _) => {
                    *count += 1;
                    clean.push(launch);
                    outputs.clear();
                }
                Outcome::Reported(_) | Outcome::Failed(_) | Outcome::Crash(_) | Outcome::Hang => {}
            }
            log.write(&Event::End(outcome))?;
        }
        plan.launches = clean;
        log.write(&Event::Plan(plan))?;
    }
    Ok(())
}

/// The arguments of a kernel, and the launches to try.
fn plan(session: &Session, program: &Program, name: &str, text: &str) -> Result<KernelPlan> {
    let kernel = Kernel::create(program, name).map_err(|error| anyhow!("clCreateKernel: {error}"))?;
    let required =
        kernel.get_compile_work_group_size(session.device_id()).ok().filter(|size| size.iter().any(|n| *n > 0));
    let required = required.and_then(|size| size.try_into().ok());
    let mut args = Vec::new();
    for index in 0..kernel.num_args()? {
        let type_name = kernel.get_arg_type_name(index)?;
        let type_name = type_name.trim_end_matches('\0').trim();
        let known = element(type_name);
        let arg = match kernel.get_arg_address_qualifier(index)? {
            cl3::kernel::CL_KERNEL_ARG_ADDRESS_LOCAL => Arg::Local,
            _ if type_name.ends_with('*') => Arg::Buffer(known.map_or(Element::Mixed, |known| known.0)),
            _ if type_name == "sampler_t" => Arg::Sampler,
            _ if let Some(dimensions) = image(type_name) => Arg::Image(dimensions, source::channels(text)),
            _ if ["image", "pipe", "queue_t"].iter().any(|kind| type_name.contains(kind)) => bail!("{type_name}"),
            cl3::kernel::CL_KERNEL_ARG_ADDRESS_PRIVATE => match known {
                // A vector of three components has the size of four.
                Some((element, count)) => Arg::Value(element, element.size() * count.next_power_of_two()),
                None => Arg::Value(Element::Mixed, value_size(&kernel, index)?),
            },
            _ => Arg::Buffer(Element::Mixed),
        };
        args.push(arg);
    }
    Ok(KernelPlan { name: name.to_owned(), args, launches: launches(source::dimensions(text), required) })
}

/// The size of a value of a type that is not built in: the one that the driver accepts.
fn value_size(kernel: &Kernel, index: u32) -> Result<usize> {
    let bytes = [0_u8; SIZES.end];
    let accepts = |size: &usize| {
        // SAFETY: the pointer is to at least `size` bytes.
        unsafe { cl3::kernel::set_kernel_arg(kernel.get(), index, *size, bytes.as_ptr().cast()) }.is_ok()
    };
    SIZES.into_iter().find(accepts).ok_or_else(|| anyhow!("a value of an unknown size"))
}

fn attempt(
    session: &Session,
    queue: &CommandQueue,
    program: &Program,
    plan: &KernelPlan,
    launch: &Launch,
    measure: u64,
) -> Outcome {
    match one(session, queue, program, plan, launch, measure) {
        Ok((outputs, time)) => Outcome::Done(outputs, time),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Runs a launch with new arguments; if it is to be measured, again and again with the same data.
fn one(
    session: &Session,
    queue: &CommandQueue,
    program: &Program,
    plan: &KernelPlan,
    launch: &Launch,
    measure: u64,
) -> Result<(Vec<Output>, Option<u64>)> {
    let kernel = Kernel::create(program, &plan.name).map_err(|error| anyhow!("clCreateKernel: {error}"))?;
    let mut arguments = BTreeMap::new();
    for (index, arg) in plan.args.iter().enumerate() {
        let argument = Argument::new(session, *arg, index, &VALUES[launch.values])?;
        let (size, pointer) = argument.value();
        // SAFETY: the pointer is to as many bytes, or NULL for local memory.
        unsafe { cl3::kernel::set_kernel_arg(kernel.get(), index as u32, size, pointer) }
            .map_err(|code| anyhow!("clSetKernelArg({index}): {}", error_name(code)))?;
        arguments.insert(index, argument);
    }
    enqueue(queue, &kernel, launch)?;
    let mut outputs = Vec::new();
    for (index, argument) in &mut arguments {
        outputs.extend(argument.output(queue, *index)?);
    }
    if measure == 0 {
        return Ok((outputs, None));
    }
    let (start, mut least, mut runs) = (Instant::now(), u64::MAX, 0);
    while runs < 3 || start.elapsed() < Duration::from_millis(measure) {
        for output in &outputs {
            arguments[&output.arg].restore(queue, output)?;
        }
        least = least.min(enqueue(queue, &kernel, launch)?);
        runs += 1;
    }
    Ok((outputs, Some(least)))
}

/// Runs a launch and returns its time in nanoseconds.
fn enqueue(queue: &CommandQueue, kernel: &Kernel, launch: &Launch) -> Result<u64> {
    let none: *const *mut c_void = std::ptr::null();
    // SAFETY: the sizes have as many entries as dimensions, and the arguments are set.
    let event = unsafe {
        cl3::command_queue::enqueue_nd_range_kernel(
            queue.get(),
            kernel.get(),
            launch.global.len() as u32,
            std::ptr::null(),
            launch.global.as_ptr(),
            launch.local.as_ptr(),
            0,
            none,
        )
    };
    let event =
        opencl3::event::Event::new(event.map_err(|code| anyhow!("clEnqueueNDRangeKernel: {}", error_name(code)))?);
    event.wait().map_err(|error| anyhow!("clWaitForEvents: {error}"))?;
    Ok(event.profiling_command_end()?.saturating_sub(event.profiling_command_start()?))
}
