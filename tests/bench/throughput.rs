//! The measurement of one row of the suite by a child: build once, run repeatedly, compare with the reference.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use cl3::event::release_event;
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::kernel::Kernel;
use opencl3::memory::{
    Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_RGBA, ClMem, Image,
};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_image_desc, cl_image_format, cl_mem, cl_uchar};
use serde::{Deserialize, Serialize};

use crate::work::{Arg, Launch, Work};

/// Build options of all kernels: the language version, and no fast-math flags.
pub(crate) const OPTIONS: &str = "-cl-std=CL1.2";
/// Minimum number of repetitions.
const FEWEST: usize = 3;
/// Maximum number of repetitions.
const MOST: usize = 2000;
/// How often a program binary is built to measure that.
const BINARY_BUILDS: usize = 9;

/// The result of one child.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// The kernel ran and its results are right.
    Right(Times),
    /// It ran, but a result differs from the reference.
    Wrong {
        /// The element, and the difference.
        message: String,
    },
    /// The program did not build.
    Build {
        /// The build log.
        message: String,
    },
    /// An OpenCL call failed.
    Error {
        /// The call, and its error.
        message: String,
    },
    /// The process died.
    Crash {
        /// How, and its last output.
        message: String,
    },
    /// The process exceeded its time limit.
    Timeout {
        /// The limit in seconds.
        message: String,
    },
}

/// Times of one child, in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Median over the repetitions, each from the first enqueue to the end of `clFinish`.
    pub(crate) median: f64,
    /// The shortest repetition.
    pub(crate) shortest: f64,
    /// Processor time of a repetition, all threads together: their mean. It hardly depends on what else the machine does.
    pub(crate) processor: f64,
    /// How many repetitions.
    pub(crate) repetitions: usize,
    /// From `clCreateProgramWithSource` to the end of `clBuildProgram`.
    pub(crate) build: f64,
    /// From `clCreateProgramWithSource` to the end of the first repetition: some drivers compile at the first launch.
    pub(crate) first: f64,
    /// Median of `clCreateProgramWithBinary` and `clBuildProgram`. A binary of this driver contains SPIR-V, so this is its
    /// compile time without the front end. Binaries of other drivers contain machine code, so it is not measured for them.
    pub(crate) from_spirv: Option<f64>,
}

/// The parameters of a child.
pub(crate) struct Task {
    /// How long to repeat.
    pub(crate) budget: Duration,
    /// Whether to compare with the reference.
    pub(crate) verify: bool,
    /// Whether to measure building from the program's binary.
    pub(crate) binary: bool,
}

/// What a program is made of.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// OpenCL C.
    Source(&'a str),
    /// A SPIR-V module.
    Module(&'a [u8]),
}

/// Measures work with the kernels of a program.
pub(crate) fn measure(input: Input<'_>, work: Work, task: &Task, device: &Device) -> Outcome {
    attempt(input, work, task, device).unwrap_or_else(|error| Outcome::Error { message: format!("{error:#}") })
}

/// A kernel object with its arguments set, and the range it is launched over.
struct Step<'a> {
    kernel: Kernel,
    launch: &'a Launch,
}

fn attempt(input: Input<'_>, mut work: Work, task: &Task, device: &Device) -> Result<Outcome> {
    let checks = std::mem::take(&mut work.checks);
    let context = Context::from_device(device).map_err(|error| anyhow!("clCreateContext: {error}"))?;
    // SAFETY: the device is the context's own.
    let queue = unsafe { CommandQueue::create_with_properties(&context, device.id(), 0, 0) }
        .map_err(|error| anyhow!("clCreateCommandQueueWithProperties: {error}"))?;
    let buffers = buffers(&context, &work)?;

    let start = Instant::now();
    let program = match build(&context, input) {
        Ok(program) => program,
        Err(message) => return Ok(Outcome::Build { message }),
    };
    let built = millis(start);
    let steps =
        work.launches.iter().map(|launch| step(&program, launch, &buffers)).collect::<Result<Vec<Step<'_>>>>()?;
    repetition(&queue, &steps)?;
    let first = millis(start);

    // The first repetition may include compilation; the second one has warm memory.
    repetition(&queue, &steps)?;
    let start = Instant::now();
    let processor = processor_millis();
    let mut times = Vec::new();
    while times.len() < FEWEST || (start.elapsed() < task.budget && times.len() < MOST) {
        let start = Instant::now();
        repetition(&queue, &steps)?;
        times.push(millis(start));
    }
    let processor = (processor_millis() - processor) / times.len() as f64;
    times.sort_by(f64::total_cmp);

    if task.verify {
        for check in checks {
            let mut bytes = vec![0; work.buffers[check.buffer].bytes.len()];
            buffers[check.buffer].read(&queue, &mut bytes)?;
            if let Err(message) = (check.compare)(&bytes) {
                return Ok(Outcome::Wrong { message });
            }
        }
    }
    let from_spirv = if task.binary { Some(binary_build(&context, &program)?) } else { None };
    Ok(Outcome::Right(Times {
        median: times[times.len() / 2],
        shortest: times[0],
        processor,
        repetitions: times.len(),
        build: built,
        first,
        from_spirv,
    }))
}

/// Builds a program; an error is the build log.
fn build(context: &Context, input: Input<'_>) -> Result<Program, String> {
    match input {
        Input::Source(source) => Program::create_and_build_from_source(context, source, OPTIONS),
        Input::Module(module) => {
            let mut program = Program::create_from_il(context, module).map_err(|error| error.to_string())?;
            match program.build(context.devices(), OPTIONS) {
                Ok(()) => Ok(program),
                Err(error) => Err(program.get_build_log(context.default_device()).unwrap_or(error.to_string())),
            }
        }
    }
}

/// A memory object.
enum Memory {
    Buffer(Buffer<cl_uchar>),
    Image(Image, [usize; 2]),
}

impl Memory {
    fn get(&self) -> cl_mem {
        match self {
            Memory::Buffer(buffer) => buffer.get(),
            Memory::Image(image, _) => image.get(),
        }
    }

    /// Reads all of it.
    fn read(&self, queue: &CommandQueue, bytes: &mut [u8]) -> Result<()> {
        match self {
            // SAFETY: the read is blocking and as long as the buffer.
            Memory::Buffer(buffer) => unsafe { queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, bytes, &[]) }
                .map_err(|error| anyhow!("clEnqueueReadBuffer: {error}"))?,
            Memory::Image(image, [width, height]) => {
                let (origin, region, host) = ([0; 3], [*width, *height, 1], bytes.as_mut_ptr().cast());
                // SAFETY: the read is blocking and as long as the image.
                unsafe {
                    queue.enqueue_read_image(image, CL_BLOCKING, origin.as_ptr(), region.as_ptr(), 0, 0, host, &[])
                }
                .map_err(|error| anyhow!("clEnqueueReadImage: {error}"))?
            }
        };
        Ok(())
    }
}

fn buffers(context: &Context, work: &Work) -> Result<Vec<Memory>> {
    let create = |buffer: &crate::work::Buffer| {
        let access = if buffer.constant { CL_MEM_READ_ONLY } else { CL_MEM_READ_WRITE };
        let host = buffer.bytes.as_ptr().cast_mut().cast();
        if let Some(image) = buffer.image {
            let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: image.data };
            let desc = cl_image_desc {
                image_type: CL_MEM_OBJECT_IMAGE2D,
                image_width: image.size[0],
                image_height: image.size[1],
                image_depth: 1,
                image_array_size: 1,
                image_row_pitch: 0,
                image_slice_pitch: 0,
                num_mip_levels: 0,
                num_samples: 0,
                buffer: std::ptr::null_mut(),
            };
            // SAFETY: the host pointer is valid for the image's size, and copied at once.
            return unsafe { Image::create(context, access | CL_MEM_COPY_HOST_PTR, &format, &desc, host) }
                .map(|made| Memory::Image(made, image.size))
                .map_err(|error| anyhow!("clCreateImage: {error}"));
        }
        // SAFETY: the host pointer is valid for the size given, and copied at once.
        unsafe { Buffer::create(context, access | CL_MEM_COPY_HOST_PTR, buffer.bytes.len(), host) }
            .map(Memory::Buffer)
            .map_err(|error| anyhow!("clCreateBuffer: {error}"))
    };
    work.buffers.iter().map(create).collect()
}

fn step<'a>(program: &Program, launch: &'a Launch, buffers: &[Memory]) -> Result<Step<'a>> {
    let kernel = Kernel::create(program, launch.kernel).map_err(|error| anyhow!("clCreateKernel: {error}"))?;
    for (index, arg) in (0..).zip(&launch.args) {
        // SAFETY: the argument is of the type the kernel declares: the rows and the sources are written together.
        let set = unsafe {
            match arg {
                Arg::Buffer(handle) => kernel.set_arg(index, &buffers[handle.0].get()),
                Arg::Float(value) => kernel.set_arg(index, value),
                Arg::Int(value) => kernel.set_arg(index, value),
                Arg::Uint(value) => kernel.set_arg(index, value),
                Arg::Ulong(value) => kernel.set_arg(index, value),
            }
        };
        set.map_err(|error| anyhow!("clSetKernelArg {index} of {}: {error}", launch.kernel))?;
    }
    Ok(Step { kernel, launch })
}

/// All launches once, to the end.
fn repetition(queue: &CommandQueue, steps: &[Step<'_>]) -> Result<()> {
    for step in steps {
        let Launch { kernel, global, local, .. } = step.launch;
        let local = if local.is_empty() { std::ptr::null() } else { local.as_ptr() };
        // SAFETY: the arguments were set; the sizes have as many entries as there are dimensions.
        let event = unsafe {
            cl3::command_queue::enqueue_nd_range_kernel(
                queue.get(),
                step.kernel.get(),
                global.len() as u32,
                std::ptr::null(),
                global.as_ptr(),
                local,
                0,
                std::ptr::null(),
            )
        };
        let event = event.map_err(|code| anyhow!("enqueue {kernel}: {}", clift_tests::session::error_name(code)))?;
        // SAFETY: the one reference that the call gave.
        unsafe { release_event(event) }.map_err(|code| anyhow!("clReleaseEvent: {code}"))?;
    }
    queue.finish().map_err(|error| anyhow!("clFinish: {error}"))
}

/// The median time of building from the binary of `program`.
fn binary_build(context: &Context, program: &Program) -> Result<f64> {
    let binaries = program.get_binaries().map_err(|error| anyhow!("CL_PROGRAM_BINARIES: {error}"))?;
    let binary = binaries.first().ok_or_else(|| anyhow!("the program has no binary"))?;
    let mut times = Vec::new();
    for _ in 0..BINARY_BUILDS {
        let start = Instant::now();
        Program::create_and_build_from_binary(context, &[binary], OPTIONS).map_err(|log| anyhow!("{log}"))?;
        times.push(millis(start));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Processor time of this process so far.
fn processor_millis() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every system with processes; the result is written to a variable of its type.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
