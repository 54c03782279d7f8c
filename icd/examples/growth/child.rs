//! The child process: builds a program and launches its kernel, through the API.

use std::ffi::c_void;
use std::fmt::Write;
use std::ptr::{null, null_mut};

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};

use crate::cl::*;

/// Limit on the address space.
const MOST_MEMORY: u64 = 8 << 30;

/// Bytes of a buffer: more than the kernels of the largest sizes access.
const BUFFER_BYTES: usize = 64 << 20;

/// Work-items of a launch: not whole packs.
const ITEMS: usize = 61;

/// Builds and launches, and reports: words, seconds of the build and of the first launch, megabytes, stages.
pub(crate) fn run(path: &str) -> Result<()> {
    let limit = Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) };
    setrlimit(Resource::As, limit)?;
    let source = std::fs::read_to_string(path)?;
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Times))?;
    let setup = Setup::new();
    let program = made(|e| {
        let (text, bytes) = (source.as_ptr().cast(), source.len());
        clCreateProgramWithSource(setup.context, 1, &text, &bytes, e)
    });
    let before = peak_megabytes()?;
    let started = processor_seconds();
    let status = clBuildProgram(program, 1, &device(), c"".as_ptr(), None, null_mut());
    let seconds = processor_seconds() - started;
    let megabytes = peak_megabytes()? - before;
    ensure!(status == CL_SUCCESS, "{}", log(program).lines().last().unwrap_or_default());
    let launch = launches(&setup, program).map_or_else(|| "-".to_owned(), |seconds| seconds.to_string());
    let mut stages = String::new();
    for (stage, micros) in TIMES.lock().iter().filter(|&(_, micros)| *micros >= 1000) {
        let _ = write!(stages, "{stage} {} ms, ", micros / 1000);
    }
    let words = info_bytes(&|size, value, ret| clGetProgramInfo(program, CL_PROGRAM_IL, size, value, ret)).len() / 4;
    println!("{words} {seconds} {launch} {megabytes} {stages}");
    // The time does not include freeing everything.
    std::process::exit(0)
}

/// What the first launch of the kernel takes beyond what the second one does, if the program has the kernel.
fn launches(setup: &Setup, program: cl_program) -> Option<f64> {
    let mut error = CL_SUCCESS;
    let kernel = clCreateKernel(program, c"k".as_ptr(), &mut error);
    if error != CL_SUCCESS {
        return None;
    }
    let buffer = || setup.buffer(CL_MEM_READ_WRITE, BUFFER_BYTES);
    let (o, a, f, n) = (buffer(), buffer(), buffer(), 1);
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_FLOAT };
    let image = made(|e| clCreateImage2D(setup.context, CL_MEM_READ_WRITE, &format, 4, 4, 0, null_mut(), e));
    let sampler = made(|e| clCreateSampler(setup.context, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, e));
    let set = |index: cl_uint, size: usize, value: *const c_void| {
        assert_eq!(clSetKernelArg(kernel, index, size, value), CL_SUCCESS, "argument {index}");
    };
    for (index, handle) in [(0, o), (1, a), (3, f), (5, image), (6, sampler)] {
        set(index, size_of::<cl_mem>(), (&raw const handle).cast());
    }
    set(2, size_of::<cl_int>(), (&raw const n).cast::<c_void>());
    set(4, 1024, null());
    let once = || {
        let started = processor_seconds();
        let queue = setup.queue;
        let status = clEnqueueNDRangeKernel(queue, kernel, 1, null(), &ITEMS, &ITEMS, 0, NONE, SKIP);
        assert_eq!((status, clFinish(queue)), (CL_SUCCESS, CL_SUCCESS));
        processor_seconds() - started
    };
    let first = once();
    Some((first - once()).max(0.0))
}

fn log(program: cl_program) -> String {
    info_text(|size, value, ret| clGetProgramBuildInfo(program, device(), CL_PROGRAM_BUILD_LOG, size, value, ret))
}

/// Processor time of this process in seconds.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Peak memory of this process.
fn peak_megabytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

/// Microseconds by stage.
static TIMES: Mutex<Vec<(String, u64)>> = Mutex::new(Vec::new());

/// Collects the times that the compiler's stages report.
struct Times;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Times {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: LayerContext<'_, S>) -> bool {
        metadata.target() == "clift::time"
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        let mut seen = Seen::default();
        event.record(&mut seen);
        let mut times = TIMES.lock();
        match times.iter_mut().find(|(stage, _)| *stage == seen.stage) {
            Some((_, micros)) => *micros += seen.micros,
            None => times.push((seen.stage, seen.micros)),
        }
    }
}

#[derive(Default)]
struct Seen {
    stage: String,
    micros: u64,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "stage" {
            self.stage = format!("{value:?}").trim_matches('"').to_owned();
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "micros" {
            self.micros = value;
        }
    }
}
