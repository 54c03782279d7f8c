//! The demonstration: an ordinary OpenCL host program that renders a picture.
//!
//! It does not depend on Clift. It gets a device from the loader, builds `scene.cl` (or, if there is no OpenCL C compiler, the
//! SPIR-V module compiled from it), launches one kernel over the picture's pixels and writes a PNG file.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Parser;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_float, cl_int, cl_uchar};

const SOURCE: &str = include_str!("scene.cl");
const SPIRV: &[u8] = include_bytes!("scene.spv");

/// Renders a ray-traced scene with the first OpenCL device.
#[derive(Parser)]
struct Args {
    /// The output file.
    #[arg(long, short, default_value = "demo.png")]
    output: PathBuf,
    /// Width in pixels.
    #[arg(long, default_value_t = 1280)]
    width: u32,
    /// Height in pixels.
    #[arg(long, default_value_t = 720)]
    height: u32,
    /// Samples per pixel.
    #[arg(long, default_value_t = 32)]
    samples: u32,
    /// Use the SPIR-V module even if OpenCL C can be compiled.
    #[arg(long)]
    il: bool,
}

/// The kernel's `Sphere`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sphere {
    centre_radius: [cl_float; 4],
    colour_mirror: [cl_float; 4],
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.width == 0 || args.height == 0 || args.samples == 0 {
        bail!("width, height and samples must be positive");
    }
    let device = first_device()?;
    println!("device: {} ({})", device.name().map_err(cl)?.trim(), device.version().map_err(cl)?.trim());
    let context = Context::from_device(&device).map_err(cl)?;
    // SAFETY: a queue of the context's own device, with a property every device offers.
    let queue = unsafe {
        CommandQueue::create_with_properties(&context, device.id(), CL_QUEUE_PROFILING_ENABLE, 0).map_err(cl)?
    };

    let started = Instant::now();
    let (program, form) = build(&context, &device, args.il)?;
    println!("built from {form} in {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    let kernel = Kernel::create(&program, "render").map_err(cl)?;

    let mut spheres = scene();
    let pixels = args.width as usize * args.height as usize;
    let mut picture = vec![0; pixels * 4];
    // SAFETY: the host pointer is valid for the sizes given and copied at once; the arguments are those the kernel
    // declares; the picture lives until the blocking read is done.
    let event = unsafe {
        let spheres_size = spheres.len();
        let spheres = Buffer::<Sphere>::create(
            &context,
            CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
            spheres_size,
            spheres.as_mut_ptr().cast(),
        )
        .map_err(cl)?;
        let image =
            Buffer::<cl_uchar>::create(&context, CL_MEM_WRITE_ONLY, picture.len(), std::ptr::null_mut()).map_err(cl)?;
        let event = ExecuteKernel::new(&kernel)
            .set_arg(&image)
            .set_arg(&spheres)
            .set_arg(&(spheres_size as cl_int))
            .set_arg(&(args.width as cl_int))
            .set_arg(&(args.height as cl_int))
            .set_arg(&(args.samples as cl_int))
            .set_global_work_sizes(&[
                args.width.next_multiple_of(16) as usize,
                args.height.next_multiple_of(4) as usize,
            ])
            .set_local_work_sizes(&[16, 4])
            .enqueue_nd_range(&queue)
            .map_err(cl)?;
        queue.enqueue_read_buffer(&image, CL_BLOCKING, 0, &mut picture, &[]).map_err(cl)?;
        event
    };
    let nanoseconds = event.profiling_command_end().map_err(cl)? - event.profiling_command_start().map_err(cl)?;
    println!(
        "rendered {}x{} with {} samples per pixel in {:.0} ms ({:.1} million camera rays a second)",
        args.width,
        args.height,
        args.samples,
        nanoseconds as f64 / 1e6,
        pixels as f64 * f64::from(args.samples) / nanoseconds as f64 * 1e3,
    );
    check(&picture)?;
    write_png(&args, &picture)?;
    println!("wrote {}", args.output.display());
    Ok(())
}

/// The first device of the first platform that has one.
fn first_device() -> Result<Device> {
    let platforms =
        get_platforms().map_err(cl).context("no OpenCL platform (is a driver registered with the loader?)")?;
    platforms
        .iter()
        .find_map(|platform| platform.get_devices(opencl3::device::CL_DEVICE_TYPE_ALL).ok()?.first().copied())
        .map(Device::new)
        .ok_or_else(|| anyhow!("no OpenCL device"))
}

/// Builds the program from OpenCL C if the device has a compiler, otherwise from SPIR-V.
fn build(context: &Context, device: &Device, il_only: bool) -> Result<(Program, &'static str)> {
    let has_compiler = device.compiler_available().unwrap_or(false);
    if !il_only && has_compiler {
        match Program::create_and_build_from_source(context, SOURCE, "-cl-std=CL1.2") {
            Ok(program) => return Ok((program, "OpenCL C")),
            Err(log) => eprintln!("no program from OpenCL C: {log}\nusing the SPIR-V module instead"),
        }
    }
    let program = Program::create_and_build_from_il(context, SPIRV, "").map_err(|log| anyhow!("from SPIR-V: {log}"))?;
    Ok((program, "SPIR-V"))
}

/// One large mirror ball, a ring of smaller coloured ones around it, and some marbles.
fn scene() -> Vec<Sphere> {
    let mut spheres = vec![Sphere { centre_radius: [0.0, 1.5, 0.4, 1.5], colour_mirror: [0.95, 0.95, 0.97, 0.88] }];
    const COLOURS: [[f32; 3]; 7] = [
        [0.90, 0.16, 0.14],
        [0.95, 0.50, 0.10],
        [0.95, 0.80, 0.18],
        [0.25, 0.70, 0.25],
        [0.12, 0.55, 0.75],
        [0.20, 0.25, 0.80],
        [0.60, 0.20, 0.65],
    ];
    for (i, [red, green, blue]) in COLOURS.into_iter().enumerate() {
        let angle = i as f32 / COLOURS.len() as f32 * std::f32::consts::TAU + 0.35;
        let radius = if i % 2 == 0 { 0.62 } else { 0.44 };
        spheres.push(Sphere {
            centre_radius: [3.0 * angle.cos(), radius, 0.2 + 3.0 * angle.sin(), radius],
            colour_mirror: [red, green, blue, if i % 2 == 0 { 0.10 } else { 0.35 }],
        });
    }
    for i in 0..24_u32 {
        // A golden-angle spiral spreads the marbles evenly without a random source.
        let angle = i as f32 * 2.399_963;
        let distance = 4.2 + 0.19 * i as f32;
        let radius = 0.16 + 0.02 * (i % 5) as f32;
        let shade = 0.35 + 0.6 * (i % 7) as f32 / 6.0;
        spheres.push(Sphere {
            centre_radius: [distance * angle.cos(), radius, 0.6 + distance * angle.sin(), radius],
            colour_mirror: [shade, 0.75 - 0.4 * shade, 1.0 - shade, 0.25],
        });
    }
    spheres
}

/// Rejects a picture that cannot be the scene: with only one colour, or with transparent pixels.
fn check(picture: &[u8]) -> Result<()> {
    let (pixels, _) = picture.as_chunks::<4>();
    if pixels.iter().any(|pixel| pixel[3] != 255) {
        bail!("the picture has pixels that were not written");
    }
    let mut seen = [false; 256];
    pixels.iter().for_each(|pixel| seen[usize::from(pixel[1])] = true);
    let levels = seen.iter().filter(|level| **level).count();
    if pixels.len() >= 10_000 && levels < 64 {
        bail!("the picture has only {levels} levels of green: this is not the scene");
    }
    Ok(())
}

fn write_png(args: &Args, picture: &[u8]) -> Result<()> {
    if let Some(dir) = args.output.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir)?;
    }
    let file =
        std::fs::File::create(&args.output).with_context(|| format!("cannot write {}", args.output.display()))?;
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), args.width, args.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(picture)?;
    writer.finish()?;
    Ok(())
}

/// An OpenCL error with its name.
fn cl(error: opencl3::error_codes::ClError) -> anyhow::Error {
    anyhow!("OpenCL error {error}")
}
