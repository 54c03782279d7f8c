//! The child processes: build and run programs on one driver.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, anyhow};
use clift_tests::session::{Session, session};
use clift_tests::values::spread;
use clift_tests::ways::{OPTIONS, REPORTS};
use opencl3::command_queue::CommandQueue;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{
    Buffer, CL_FLOAT, CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_WRITE, CL_RGBA, CL_UNSIGNED_INT16,
    CL_UNSIGNED_INT32, Image, cl_image_desc, cl_image_format,
};
use opencl3::types::{CL_BLOCKING, cl_uchar};
use serde::{Deserialize, Serialize};

use crate::Args;
use crate::generate::memory::{CANVAS_WIDTH, PICTURE, PLAIN_BYTES};
use crate::generate::{ATOMIC_WORDS, IN_WORDS, Launch, MEM_WORDS, Program, program};

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// Hashes of the buffers after each launch.
    Results(Vec<String>),
    /// It was not built: the build log.
    Build(String),
    /// It was not run.
    Run(String),
    /// The process died.
    Crash(String),
    /// It exceeded its time limit.
    Timeout,
}

/// Runs the programs of the seeds in the arguments.
pub(crate) fn run(args: &Args, result: &Path) -> Result<()> {
    let session = session();
    let queue = session.queue();
    let mut file = File::options().append(true).open(result)?;
    let added = std::env::var(OPTIONS).unwrap_or_default();
    let mut read = 0;
    first_report(&mut read);
    for seed in args.first..args.first + args.count {
        let mut program = program(seed);
        if let Some(source) = &args.source {
            program.source = std::fs::read_to_string(source)?;
        }
        let outcome = match session.build(&program.source, &format!("{} {added}", program.options)) {
            Err(log) => Outcome::Build(errors(&log)),
            Ok(built) => match launches(session, &queue, &built, &program, seed) {
                Ok(results) => match first_report(&mut read) {
                    None => Outcome::Results(results),
                    Some(report) => Outcome::Run(format!("reported: {report}")),
                },
                Err(error) => Outcome::Run(error.to_string()),
            },
        };
        writeln!(file, "{}", serde_json::to_string(&(seed, outcome))?)?;
    }
    Ok(())
}

/// The first report of the checks of kernels that has been added to the file of these. `read` is the part of the file that is
/// known.
fn first_report(read: &mut usize) -> Option<String> {
    let text = std::fs::read_to_string(std::env::var_os(REPORTS)?).ok()?;
    let added = text.get(*read..)?.lines().next().map(str::to_owned);
    *read = text.len();
    added
}

/// The relevant lines of a log.
fn errors(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("error")).take(3).collect();
    if lines.is_empty() { log.to_owned() } else { lines.join("\n") }
}

fn launches(
    session: &Session,
    queue: &CommandQueue,
    built: &opencl3::program::Program,
    program: &Program,
    seed: u64,
) -> Result<Vec<String>> {
    let kernel = Kernel::create(built, "t").map_err(|error| anyhow!("clCreateKernel: {error}"))?;
    program.launches.iter().map(|launch| one(session, queue, &kernel, program, launch, seed)).collect()
}

/// A word of the input: small, arbitrary, or an edge case.
fn word(seed: u64, i: usize) -> u64 {
    let bits = spread(seed, i);
    match bits >> 60 {
        0..=5 => bits & 7,
        6 => u64::MAX,
        7 => bits & 0xffff,
        8 => 1 << (bits & 63),
        9 => (bits & 0xff).wrapping_neg(),
        _ => bits,
    }
}

fn one(
    session: &Session,
    queue: &CommandQueue,
    kernel: &Kernel,
    program: &Program,
    launch: &Launch,
    seed: u64,
) -> Result<String> {
    let items: usize = launch.global.iter().product();
    let input: Vec<u64> = (0..IN_WORDS).map(|i| word(seed, i)).collect();
    let memory: Vec<u32> = (0..items * MEM_WORDS).map(|i| word(!seed, i) as u32).collect();
    let halves: Vec<u16> = (0..items * MEM_WORDS)
        .map(|i| half::f16::from_f32((spread(seed, i) % 4096) as f32 / 64.0 - 32.0).to_bits())
        .collect();
    let atoms: Vec<u32> = (0..ATOMIC_WORDS).map(|i| if i.is_multiple_of(2) { u32::MAX } else { 0 }).collect();
    let mut contents: Vec<Vec<u8>> = vec![
        bytemuck::cast_slice(&input).to_vec(),
        vec![0xa5; items * 8],
        bytemuck::cast_slice(&memory).to_vec(),
        bytemuck::cast_slice(&halves).to_vec(),
        bytemuck::cast_slice(&atoms).to_vec(),
    ];
    let mut buffers = contents
        .iter_mut()
        .map(|bytes| {
            // SAFETY: the pointer is to as many bytes, which are copied before the call returns.
            unsafe {
                Buffer::<cl_uchar>::create(
                    &session.context,
                    CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                    bytes.len(),
                    bytes.as_mut_ptr().cast(),
                )
            }
            .map_err(|error| anyhow!("clCreateBuffer: {error}"))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut plain = [0_u8; PLAIN_BYTES];
    plain.copy_from_slice(&bytemuck::cast_slice::<u64, u8>(&input)[..PLAIN_BYTES]);
    let odd = [input[3] as i16, input[4] as i16, input[5] as i16, 0];
    let rows = items.div_ceil(CANVAS_WIDTH);
    let mut canvas = vec![0_u32; 4 * CANVAS_WIDTH * rows];
    let images = if program.images {
        let pixels = PICTURE[0] * PICTURE[1];
        let mut picture: Vec<u16> = (0..4 * pixels).map(|i| word(seed, i) as u16).collect();
        let mut field: Vec<f32> = (0..4 * pixels).map(|i| (spread(!seed, i) % 4096) as f32 / 16.0 - 128.0).collect();
        vec![
            image(session, CL_UNSIGNED_INT16, PICTURE, bytemuck::cast_slice_mut(&mut picture))?,
            image(session, CL_FLOAT, PICTURE, bytemuck::cast_slice_mut(&mut field))?,
            image(session, CL_UNSIGNED_INT32, [CANVAS_WIDTH, rows], bytemuck::cast_slice_mut(&mut canvas))?,
        ]
    } else {
        Vec::new()
    };
    // SAFETY: the arguments are of the kinds that the kernel has; it stays within its buffers.
    let event = unsafe {
        let mut execute = ExecuteKernel::new(kernel);
        for buffer in &buffers {
            execute.set_arg(buffer);
        }
        execute.set_arg_local_buffer(4 * crate::generate::MOST_LOCAL).set_arg(&launch.n).set_arg(&plain).set_arg(&odd);
        for image in &images {
            execute.set_arg(image);
        }
        execute
            .set_global_work_sizes(&launch.global)
            .set_local_work_sizes(&launch.local)
            .enqueue_nd_range(queue)
            .map_err(|error| anyhow!("clEnqueueNDRangeKernel: {error}"))?
    };
    event.wait().map_err(|error| anyhow!("clWaitForEvents: {error}"))?;
    let mut hashes = Vec::new();
    for (buffer, bytes) in buffers.iter_mut().zip(&mut contents) {
        // SAFETY: the read is blocking, and the buffer has as many bytes.
        unsafe { queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, bytes, &[]) }
            .map_err(|error| anyhow!("clEnqueueReadBuffer: {error}"))?;
        hashes.push(hash(bytes));
    }
    if let Some(image) = images.last() {
        let (origin, region) = ([0; 3], [CANVAS_WIDTH, rows, 1]);
        // SAFETY: the read is blocking, and the vector has as many pixels.
        unsafe {
            queue.enqueue_read_image(
                image,
                CL_BLOCKING,
                origin.as_ptr(),
                region.as_ptr(),
                0,
                0,
                canvas.as_mut_ptr().cast(),
                &[],
            )
        }
        .map_err(|error| anyhow!("clEnqueueReadImage: {error}"))?;
        hashes.push(hash(bytemuck::cast_slice(&canvas)));
    }
    Ok(hashes.join(" "))
}

fn hash(bytes: &[u8]) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    format!("{:08x}", hasher.finish() as u32)
}

/// A two-dimensional image of four channels.
fn image(session: &Session, channel: u32, [width, height]: [usize; 2], pixels: &mut [u8]) -> Result<Image> {
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: channel };
    let shape = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: width,
        image_height: height,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: std::ptr::null_mut(),
    };
    let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    // SAFETY: the pixels are copied before the call returns, and are as many as the image has.
    unsafe { Image::create(&session.context, flags, &format, &shape, pixels.as_mut_ptr().cast()) }
        .map_err(|error| anyhow!("clCreateImage: {error}"))
}
