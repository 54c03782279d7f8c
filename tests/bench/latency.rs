//! The latencies that a child of the benchmark measures: from source or SPIR-V to a result, and the overhead of calls. Those of
//! pipes and of kernels that enqueue kernels are in [`queues`].

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MAP_READ, CL_MEM_READ_WRITE, ClMem};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_int};

use crate::queues;
use crate::suite::Kind;

/// A small kernel with a loop and a branch.
const SOURCE: &str = include_str!("small.cl");
/// The same as SPIR-V.
const SPIRV: &[u8] = include_bytes!("small.spv");

/// Groups of latencies; each runs in processes of its own.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Part {
    /// From source to the first result, with empty caches and in a fresh process.
    Source,
    /// The same from SPIR-V.
    Il,
    /// Launches of an empty kernel.
    Launch,
    /// Pipes between two kernels.
    Pipes,
    /// Kernels that enqueue kernels.
    Children,
}

impl Part {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Source, Self::Il, Self::Launch, Self::Pipes, Self::Children];

    /// As the command line spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Il => "il",
            Self::Launch => "launch",
            Self::Pipes => "pipes",
            Self::Children => "children",
        }
    }

    /// Its description.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Source | Self::Il => Kind::Build,
            Self::Launch | Self::Pipes | Self::Children => Kind::Launch,
        }
    }
}

/// The measurements in the order of the table, with what they are.
pub(crate) const LABELS: &[(&str, Kind, &str)] = &[
    ("platform", Kind::Build, "loading the driver, first device query"),
    ("source_build", Kind::Build, "source: program, build (cold)"),
    ("source_first_result", Kind::Build, "source to first result (cold)"),
    ("source_again", Kind::Build, "source to first result, same process again"),
    ("il_build", Kind::Build, "SPIR-V: program, build (cold)"),
    ("il_first_result", Kind::Build, "SPIR-V to first result (cold)"),
    ("il_warm", Kind::Build, "SPIR-V to first result (tenth time)"),
    ("launch_finish", Kind::Launch, "empty kernel: enqueue and finish"),
    ("launch_back_to_back", Kind::Launch, "empty kernel: each of 1,000 back to back"),
    ("launch_enqueue", Kind::Launch, "empty kernel: enqueue alone, in a queue of 1,000"),
    ("write_read", Kind::Launch, "4 KiB: blocking write and read"),
    ("read", Kind::Launch, "4 KiB: blocking read"),
    ("write", Kind::Launch, "4 KiB: blocking write"),
    ("copy", Kind::Launch, "4 KiB: copy and finish"),
    ("fill", Kind::Launch, "4 KiB: fill and finish"),
    ("map_unmap", Kind::Launch, "4 KiB: blocking map, unmap and finish"),
    ("create_buffer", Kind::Launch, "4 KiB: create and release a buffer"),
    ("event_chain", Kind::Launch, "empty kernel: each of 100 that wait for the one before by its event"),
    ("pipe_items", Kind::Launch, "pipe: 1,000 packets, reservations per work-item"),
    ("pipe_groups", Kind::Launch, "pipe: 1,000 packets, reservations per work-group"),
    ("children", Kind::Launch, "empty kernel: each of 10,000 that a kernel enqueues"),
    ("sort_device", Kind::Launch, "quicksort: kernels enqueue kernels"),
    ("sort_host", Kind::Launch, "quicksort: the host enqueues the same kernels"),
    ("search_device", Kind::Launch, "breadth-first search: kernels enqueue kernels"),
    ("search_host", Kind::Launch, "breadth-first search: the host enqueues the same kernels"),
];

/// Measures; microseconds by name.
pub(crate) fn run(part: Part) -> Result<BTreeMap<&'static str, f64>> {
    let mut results = BTreeMap::new();
    let start = Instant::now();
    let platforms = opencl3::platform::get_platforms().map_err(cl)?;
    let platform = platforms.first().ok_or_else(|| anyhow!("no platform"))?;
    let devices = platform.get_devices(opencl3::device::CL_DEVICE_TYPE_ALL).map_err(cl)?;
    let device = Device::new(*devices.first().ok_or_else(|| anyhow!("no device"))?);
    device.name().map_err(cl)?;
    results.insert("platform", micros(start));
    let context = Context::from_device(&device).map_err(cl)?;
    // SAFETY: the device is the context's own.
    let queue = unsafe { CommandQueue::create_with_properties(&context, device.id(), 0, 0).map_err(cl)? };
    match part {
        Part::Source => {
            let start = Instant::now();
            let program = Program::create_and_build_from_source(&context, SOURCE, "").map_err(|log| anyhow!(log))?;
            results.insert("source_build", micros(start));
            first_result(&context, &queue, &program)?;
            results.insert("source_first_result", micros(start));
            let start = Instant::now();
            let program = Program::create_and_build_from_source(&context, SOURCE, "").map_err(|log| anyhow!(log))?;
            first_result(&context, &queue, &program)?;
            results.insert("source_again", micros(start));
        }
        Part::Il => {
            let versions =
                cl3::device::get_device_data(device.id(), cl3::device::CL_DEVICE_IL_VERSION).unwrap_or_default();
            if !versions.starts_with(b"SPIR-V") {
                return Ok(results);
            }
            let mut attempt = |names: [&'static str; 2]| -> Result<()> {
                let start = Instant::now();
                let program = Program::create_and_build_from_il(&context, SPIRV, "").map_err(|log| anyhow!(log))?;
                results.insert(names[0], micros(start));
                first_result(&context, &queue, &program)?;
                results.insert(names[1], micros(start));
                Ok(())
            };
            attempt(["il_build", "il_first_result"])?;
            for _ in 1..10 {
                attempt(["il_build_warm", "il_warm"])?;
            }
        }
        Part::Launch => launches(&context, &queue, &mut results)?,
        Part::Pipes => queues::pipes(context, &device, &mut results)?,
        Part::Children => queues::children(context, &device, &mut results)?,
    }
    Ok(results)
}

/// Runs the small kernel once and checks what it computed.
fn first_result(context: &Context, queue: &CommandQueue, program: &Program) -> Result<()> {
    let kernel = Kernel::create(program, "small").map_err(cl)?;
    let mut out = [0; 256];
    // SAFETY: the arguments are those the kernel declares; the read is blocking.
    unsafe {
        let buffer =
            Buffer::<cl_int>::create(context, CL_MEM_READ_WRITE, out.len(), std::ptr::null_mut()).map_err(cl)?;
        kernel.set_arg(0, &buffer).map_err(cl)?;
        kernel.set_arg(1, &10_i32).map_err(cl)?;
        enqueue(queue, &kernel, out.len())?;
        queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[]).map_err(cl)?;
    }
    let expected =
        |i: cl_int| (0..10).fold(i, |x, k| if x & 1 == 1 { x.wrapping_mul(3).wrapping_add(k) } else { x / 2 });
    ensure!(out.iter().zip(0..).all(|(got, i)| *got == expected(i)), "the kernel computed something else");
    Ok(())
}

fn launches(context: &Context, queue: &CommandQueue, results: &mut BTreeMap<&'static str, f64>) -> Result<()> {
    const COUNT: usize = 1000;
    let program =
        Program::create_and_build_from_source(context, "kernel void empty(void) {}", "").map_err(|log| anyhow!(log))?;
    let kernel = Kernel::create(&program, "empty").map_err(cl)?;
    for _ in 0..100 {
        enqueue(queue, &kernel, 1)?;
        queue.finish().map_err(cl)?;
    }
    let mut each: Vec<f64> = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let start = Instant::now();
        enqueue(queue, &kernel, 1)?;
        queue.finish().map_err(cl)?;
        each.push(micros(start));
    }
    each.sort_by(f64::total_cmp);
    results.insert("launch_finish", each[COUNT / 2]);
    let (mut enqueued, mut finished) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let start = Instant::now();
        for _ in 0..COUNT {
            enqueue(queue, &kernel, 1)?;
        }
        enqueued.push(micros(start) / COUNT as f64);
        queue.finish().map_err(cl)?;
        finished.push(micros(start) / COUNT as f64);
    }
    for (name, mut times) in [("launch_enqueue", enqueued), ("launch_back_to_back", finished)] {
        times.sort_by(f64::total_cmp);
        results.insert(name, times[times.len() / 2]);
    }
    let mut data = vec![7_i32; 1024];
    // SAFETY: blocking transfers of the buffer's size.
    unsafe {
        let mut buffer =
            Buffer::<cl_int>::create(context, CL_MEM_READ_WRITE, data.len(), std::ptr::null_mut()).map_err(cl)?;
        let mut each: Vec<f64> = Vec::with_capacity(COUNT);
        for _ in 0..COUNT {
            let start = Instant::now();
            queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &data, &[]).map_err(cl)?;
            queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut data, &[]).map_err(cl)?;
            each.push(micros(start));
        }
        each.sort_by(f64::total_cmp);
        results.insert("write_read", each[COUNT / 2]);
    }
    small_commands(context, queue, results)?;
    event_chain(queue, &kernel, results)
}

/// The median time of a thousand calls, in microseconds.
fn median(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    const COUNT: usize = 1000;
    let mut each = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let start = Instant::now();
        call()?;
        each.push(micros(start));
    }
    each.sort_by(f64::total_cmp);
    Ok(each[COUNT / 2])
}

/// Commands on buffers of 4 KiB, one at a time.
fn small_commands(context: &Context, queue: &CommandQueue, results: &mut BTreeMap<&'static str, f64>) -> Result<()> {
    const LEN: usize = 1024;
    const BYTES: usize = LEN * size_of::<cl_int>();
    // SAFETY: no host memory is given.
    let create =
        || unsafe { Buffer::<cl_int>::create(context, CL_MEM_READ_WRITE, LEN, std::ptr::null_mut()) }.map_err(cl);
    let mut data = vec![7; LEN];
    let (mut buffer, mut other) = (create()?, create()?);
    // SAFETY: in this block, transfers of the buffers' size, waited for; the mapped pointer is only handed back.
    unsafe {
        let write = |buffer: &mut _, data: &[cl_int]| queue.enqueue_write_buffer(buffer, CL_BLOCKING, 0, data, &[]);
        write(&mut buffer, &data).map_err(cl)?;
        results.insert("write", median(|| write(&mut buffer, &data).map(drop).map_err(cl))?);
        results.insert(
            "read",
            median(|| queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut data, &[]).map(drop).map_err(cl))?,
        );
        let copy = median(|| {
            queue.enqueue_copy_buffer(&buffer, &mut other, 0, 0, BYTES, &[]).map_err(cl)?;
            queue.finish().map_err(cl)
        });
        results.insert("copy", copy?);
        let fill = median(|| {
            queue.enqueue_fill_buffer(&mut other, &[3], 0, BYTES, &[]).map_err(cl)?;
            queue.finish().map_err(cl)
        });
        results.insert("fill", fill?);
        let map = median(|| {
            let mut mapped = std::ptr::null_mut();
            queue.enqueue_map_buffer(&buffer, CL_BLOCKING, CL_MAP_READ, 0, BYTES, &mut mapped, &[]).map_err(cl)?;
            queue.enqueue_unmap_mem_object(buffer.get(), mapped, &[]).map_err(cl)?;
            queue.finish().map_err(cl)
        });
        results.insert("map_unmap", map?);
    }
    ensure!(data.iter().all(|value| *value == 7), "the buffer holds something else");
    results.insert("create_buffer", median(|| create().map(drop))?);
    Ok(())
}

/// Kernels that wait for each other by events.
fn event_chain(queue: &CommandQueue, kernel: &Kernel, results: &mut BTreeMap<&'static str, f64>) -> Result<()> {
    const LINKS: usize = 100;
    let mut each = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        let mut last: Option<opencl3::event::Event> = None;
        for _ in 0..LINKS {
            let waits: Vec<_> = last.iter().map(|event| event.get()).collect();
            // SAFETY: the kernel has no arguments; a one-dimensional range.
            let event = unsafe {
                queue.enqueue_nd_range_kernel(kernel.get(), 1, std::ptr::null(), [1].as_ptr(), std::ptr::null(), &waits)
            };
            last = Some(event.map_err(cl)?);
        }
        if let Some(last) = last {
            last.wait().map_err(cl)?;
        }
        each.push(micros(start) / LINKS as f64);
    }
    each.sort_by(f64::total_cmp);
    results.insert("event_chain", each[each.len() / 2]);
    Ok(())
}

/// One launch without an event, as most applications do.
fn enqueue(queue: &CommandQueue, kernel: &Kernel, items: usize) -> Result<()> {
    // SAFETY: the arguments were set; a one-dimensional range.
    let event = unsafe {
        cl3::command_queue::enqueue_nd_range_kernel(
            queue.get(),
            kernel.get(),
            1,
            std::ptr::null(),
            &raw const items,
            std::ptr::null(),
            0,
            std::ptr::null(),
        )
    };
    let event = event.map_err(|code| anyhow!("enqueue: {}", clift_tests::session::error_name(code)))?;
    // SAFETY: the one reference that the call gave.
    unsafe { cl3::event::release_event(event) }.map_err(|code| anyhow!("release: {code}"))
}

/// Microseconds since a time.
pub(crate) fn micros(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}

/// An error of a call.
pub(crate) fn cl(error: opencl3::error_codes::ClError) -> anyhow::Error {
    anyhow!("OpenCL error {error}")
}
