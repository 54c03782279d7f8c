//! An image filter: reads a PNG file, runs a kernel over it through OpenCL images, writes a PNG file.
//!
//! ```text
//! cargo run --release -p clift-tests --example filter -- blur 3 picture.png blurred.png
//! ```
//!
//! The filters are in `filter.cl`. The program is an ordinary OpenCL application: it does not depend on the driver and uses
//! whichever the loader finds.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Parser, ValueEnum};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{
    CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_RGBA, CL_UNORM_INT8, ClMem,
    Image,
};
use opencl3::program::Program;
use opencl3::types::{CL_TRUE, cl_image_desc, cl_image_format, cl_mem_flags};

/// Runs a filter over a picture.
#[derive(Parser)]
struct Arguments {
    /// The filter.
    filter: Filter,
    /// Its strength: the blur's radius in pixels, the strength of edges and sepia, the factor of a resize.
    amount: f32,
    /// A PNG file.
    input: PathBuf,
    /// The PNG file to write.
    output: PathBuf,
}

/// The kernels.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Filter {
    Blur,
    Edges,
    Sepia,
    Resize,
}

impl Filter {
    fn kernel(self) -> &'static str {
        match self {
            Filter::Blur => "blur",
            Filter::Edges => "edges",
            Filter::Sepia => "sepia",
            Filter::Resize => "resize",
        }
    }
}

/// Pixels of RGBA bytes, row by row.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

fn main() -> Result<()> {
    let Arguments { filter, amount, input, output } = Arguments::parse();
    let from = read(&input).with_context(|| format!("{}", input.display()))?;
    let factor = if filter == Filter::Resize { amount } else { 1.0 };
    let scaled = |size: usize| ((size as f32 * factor).round() as usize).clamp(1, 16384);
    let (width, height) = (scaled(from.width), scaled(from.height));
    let start = Instant::now();
    let to = run(filter, amount, &from, width, height)?;
    println!("{} to {width} x {height} pixels: {:.1} ms", filter.kernel(), start.elapsed().as_secs_f64() * 1e3);
    write(&output, &to).with_context(|| format!("{}", output.display()))
}

/// Applies a filter to a picture.
fn run(filter: Filter, amount: f32, from: &Picture, width: usize, height: usize) -> Result<Picture> {
    let failed = |call: &'static str| move |error: opencl3::error_codes::ClError| anyhow!("{call}: {error}");
    let devices = opencl3::device::get_all_devices(CL_DEVICE_TYPE_ALL).map_err(failed("clGetDeviceIDs"))?;
    let device = Device::new(*devices.first().context("no OpenCL device")?);
    let context = Context::from_device(&device).map_err(failed("clCreateContext"))?;
    // SAFETY: the device is the context's.
    let queue = unsafe { CommandQueue::create_with_properties(&context, device.id(), 0, 0) }
        .map_err(failed("clCreateCommandQueue"))?;
    let program =
        Program::create_and_build_from_source(&context, include_str!("filter.cl"), "").map_err(|log| anyhow!(log))?;
    let kernel = Kernel::create(&program, filter.kernel()).map_err(failed("clCreateKernel"))?;
    let source = image(&context, CL_MEM_READ_ONLY, from.width, from.height, Some(&from.pixels))?;
    let target = image(&context, CL_MEM_WRITE_ONLY, width, height, None)?;
    let mut execute = ExecuteKernel::new(&kernel);
    // SAFETY: the arguments are those of the kernels.
    unsafe { execute.set_arg(&source.get()).set_arg(&target.get()).set_arg(&amount) };
    // SAFETY: as above.
    unsafe { execute.set_global_work_sizes(&[width, height]).enqueue_nd_range(&queue) }
        .map_err(failed("clEnqueueNDRangeKernel"))?;
    let mut pixels = vec![0; width * height * 4];
    let (origin, region) = ([0; 3], [width, height, 1]);
    let host = pixels.as_mut_ptr().cast();
    // SAFETY: the read blocks, and there is room for the whole image.
    unsafe { queue.enqueue_read_image(&target, CL_TRUE, origin.as_ptr(), region.as_ptr(), 0, 0, host, &[]) }
        .map_err(failed("clEnqueueReadImage"))?;
    Ok(Picture { width, height, pixels })
}

/// An image of RGBA bytes.
fn image(context: &Context, flags: cl_mem_flags, width: usize, height: usize, pixels: Option<&[u8]>) -> Result<Image> {
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 };
    let desc = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: width,
        image_height: height,
        image_depth: 1,
        image_array_size: 1,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    let (flags, host) = match pixels {
        Some(pixels) => (flags | CL_MEM_COPY_HOST_PTR, pixels.as_ptr().cast_mut().cast()),
        None => (flags, null_mut()),
    };
    // SAFETY: the pixels, if there are some, are as many as the image has, and copied.
    unsafe { Image::create(context, flags, &format, &desc, host) }.map_err(|error| anyhow!("clCreateImage: {error}"))
}

fn read(path: &Path) -> Result<Picture> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().context("a picture too large for memory")?];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    let pixels = match info.color_type {
        png::ColorType::Rgba => bytes,
        png::ColorType::GrayscaleAlpha => bytes.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect(),
        other => bail!("pictures of {other:?}"),
    };
    Ok(Picture { width: info.width as usize, height: info.height as usize, pixels })
}

fn write(path: &Path, picture: &Picture) -> Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let mut encoder = png::Encoder::new(file, picture.width as u32, picture.height as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&picture.pixels)?;
    Ok(())
}
