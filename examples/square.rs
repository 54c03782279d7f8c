//! Squares numbers on the CPU with the crate `opencl3`: `cargo run --release -p clift-tests --example square`
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

use anyhow::{Context as _, Result, anyhow};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_CPU, Device};
use opencl3::error_codes::ClError;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_float};
use std::ptr::null_mut;

const SOURCE: &str = "
    kernel void square(global const float *in, global float *out) {
        size_t i = get_global_id(0);
        out[i] = in[i] * in[i];
    }
";

/// The device of the platform named Clift.
fn find_device() -> Result<Device> {
    let platforms = get_platforms().map_err(failed)?;
    let platform = platforms.iter().find(|platform| platform.name().is_ok_and(|name| name == "Clift"));
    let platform = platform.context("there is no platform named Clift; clift-info says why")?;
    let devices = platform.get_devices(CL_DEVICE_TYPE_CPU).map_err(failed)?;
    Ok(Device::new(*devices.first().context("the platform has no device")?))
}

fn failed(error: ClError) -> anyhow::Error {
    anyhow!("{error}")
}

fn main() -> Result<()> {
    let values: Vec<cl_float> = (0..1000u16).map(f32::from).collect();
    let mut squares: Vec<cl_float> = vec![0.0; values.len()];

    let device = find_device()?;
    let context = Context::from_device(&device).map_err(failed)?;
    let program = Program::create_and_build_from_source(&context, SOURCE, "").map_err(|log| anyhow!(log))?;
    let kernel = Kernel::create(&program, "square").map_err(failed)?;
    // SAFETY: the device is the context's, the buffers are as long as the kernel's range and the slices, and both copies block.
    unsafe {
        let queue = CommandQueue::create_with_properties(&context, device.id(), 0, 0).map_err(failed)?;
        let size = values.len();
        let mut source = Buffer::create(&context, CL_MEM_READ_ONLY, size, null_mut()).map_err(failed)?;
        let target = Buffer::create(&context, CL_MEM_WRITE_ONLY, size, null_mut()).map_err(failed)?;
        queue.enqueue_write_buffer(&mut source, CL_BLOCKING, 0, &values, &[]).map_err(failed)?;
        let mut square = ExecuteKernel::new(&kernel);
        square.set_arg(&source).set_arg(&target).set_global_work_size(size);
        square.enqueue_nd_range(&queue).map_err(failed)?;
        queue.enqueue_read_buffer(&target, CL_BLOCKING, 0, &mut squares, &[]).map_err(failed)?;
    }

    println!("the sum of the squares is {:.1}", squares.iter().copied().map(f64::from).sum::<f64>());
    Ok(())
}
