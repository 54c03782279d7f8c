//! Pipes and device-side enqueue: throughput of pipes, the cost of children, and two algorithms with kernels that enqueue
//! kernels, beside the same with the host in their place. Results are checked.

use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use opencl3::command_queue::{
    CL_QUEUE_ON_DEVICE, CL_QUEUE_ON_DEVICE_DEFAULT, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, Pipe};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_int, cl_uint};

use crate::latency::{cl, micros};
use crate::work::Random;

const SOURCE: &str = include_str!("queues.cl");
const OPTIONS: &str = "-cl-std=CL2.0";

/// Packets that go through a pipe.
const PACKETS: usize = 1 << 16;
/// The work-groups that make reservations.
const GROUP: usize = 64;
/// Children of a kernel.
const CHILDREN: usize = 10_000;
/// Numbers to sort.
const NUMBERS: usize = 1 << 16;
/// Nodes in a row and a column of the grid that is searched.
const WIDTH: usize = 256;
/// How often each is measured.
const ROUNDS: usize = 15;

/// A driver's context with its queues and the program.
struct Bench {
    context: Context,
    queue: CommandQueue,
    program: Program,
    /// The default device queue, which kernels find by themselves.
    _children: Option<CommandQueue>,
}

impl Bench {
    fn new(context: Context, device: &Device, on_device: bool) -> Result<Bench> {
        let size = cl3::device::get_device_data(device.id(), cl3::device::CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE);
        let size = size.ok().and_then(|bytes| bytes.first_chunk().map(|bytes| cl_uint::from_ne_bytes(*bytes)));
        let properties = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        let create = |properties, size| {
            // SAFETY: the device is the context's own.
            unsafe { CommandQueue::create_with_properties(&context, device.id(), properties, size) }.map_err(cl)
        };
        let children = if on_device { Some(create(properties, size.unwrap_or(0))?) } else { None };
        let queue = create(0, 0)?;
        let program = Program::create_and_build_from_source(&context, SOURCE, OPTIONS).map_err(|log| anyhow!(log))?;
        Ok(Bench { context, queue, program, _children: children })
    }

    fn buffer(&self, content: &[cl_int]) -> Result<Buffer<cl_int>> {
        // SAFETY: no host memory is given, and the write is blocking.
        unsafe {
            let mut buffer = Buffer::create(&self.context, CL_MEM_READ_WRITE, content.len(), null_mut()).map_err(cl)?;
            self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, content, &[]).map_err(cl)?;
            Ok(buffer)
        }
    }

    fn read(&self, buffer: &Buffer<cl_int>, first: usize, count: usize) -> Result<Vec<cl_int>> {
        let mut content = vec![0; count];
        let offset = first * size_of::<cl_int>();
        // SAFETY: the read is blocking.
        unsafe { self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, offset, &mut content, &[]) }.map_err(cl)?;
        Ok(content)
    }

    fn kernel(&self, name: &str) -> Result<Kernel> {
        Kernel::create(&self.program, name).map_err(cl)
    }

    /// Enqueues a kernel whose arguments `set` gives.
    fn launch(&self, kernel: &Kernel, items: usize, set: impl FnOnce(&mut ExecuteKernel<'_>)) -> Result<()> {
        self.launch_groups(kernel, items, None, set)
    }

    fn launch_groups(
        &self,
        kernel: &Kernel,
        items: usize,
        group: Option<usize>,
        set: impl FnOnce(&mut ExecuteKernel<'_>),
    ) -> Result<()> {
        let mut launch = ExecuteKernel::new(kernel);
        set(&mut launch);
        launch.set_global_work_size(items);
        if let Some(group) = group {
            launch.set_local_work_size(group);
        }
        // SAFETY: the arguments are those of the kernel.
        unsafe { launch.enqueue_nd_range(&self.queue) }.map(drop).map_err(cl)
    }

    fn finish(&self) -> Result<()> {
        self.queue.finish().map_err(cl)
    }
}

/// The median of some rounds, each of which measures itself.
fn median(mut round: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut each = (0..ROUNDS).map(|_| round()).collect::<Result<Vec<f64>>>()?;
    each.sort_by(f64::total_cmp);
    Ok(each[ROUNDS / 2])
}

/// Microseconds for a thousand packets, from one writing kernel to one reading kernel.
pub(crate) fn pipes(context: Context, device: &Device, results: &mut BTreeMap<&'static str, f64>) -> Result<()> {
    if number(device, cl3::device::CL_DEVICE_MAX_PIPE_ARGS) == 0 {
        return Ok(());
    }
    let bench = Bench::new(context, device, false)?;
    for (name, names, group) in
        [("pipe_items", ["put", "take"], None), ("pipe_groups", ["put_groups", "take_groups"], Some(GROUP))]
    {
        let [put, take] = [bench.kernel(names[0])?, bench.kernel(names[1])?];
        // SAFETY: plain numbers.
        let pipe = unsafe { Pipe::create(&bench.context, 0, size_of::<cl_int>() as cl_uint, PACKETS as cl_uint) };
        let pipe = pipe.map_err(cl)?;
        let out = bench.buffer(&vec![0; PACKETS])?;
        let time = median(|| {
            let start = Instant::now();
            bench.launch_groups(&put, PACKETS, group, |launch| {
                // SAFETY: as the kernel declares.
                unsafe { launch.set_arg(&pipe) };
            })?;
            bench.launch_groups(&take, PACKETS, group, |launch| {
                // SAFETY: as the kernel declares.
                unsafe { launch.set_arg(&pipe).set_arg(&out) };
            })?;
            bench.finish()?;
            let time = micros(start);
            let mut got = bench.read(&out, 0, PACKETS)?;
            got.sort_unstable();
            ensure!(got.iter().copied().eq(0..PACKETS as cl_int), "packets were lost or doubled");
            Ok(time)
        })?;
        results.insert(name, time * 1000.0 / PACKETS as f64);
    }
    Ok(())
}

/// Device-side enqueue.
pub(crate) fn children(context: Context, device: &Device, results: &mut BTreeMap<&'static str, f64>) -> Result<()> {
    if number(device, cl3::device::CL_DEVICE_MAX_ON_DEVICE_QUEUES) == 0 {
        return Ok(());
    }
    let bench = Bench::new(context, device, true)?;
    results.insert("children", flat(&bench)?);
    let numbers: Vec<cl_int> = {
        let mut random = Random::new(7);
        (0..NUMBERS).map(|_| random.below(1 << 30) as cl_int).collect()
    };
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    for (name, sort) in [("sort_device", sort_device as fn(&Bench, &Buffer<cl_int>) -> _), ("sort_host", sort_host)] {
        let time = median(|| {
            let buffer = bench.buffer(&numbers)?;
            let start = Instant::now();
            sort(&bench, &buffer)?;
            let time = micros(start);
            ensure!(bench.read(&buffer, 0, NUMBERS)? == sorted, "the numbers are not sorted");
            Ok(time)
        })?;
        results.insert(name, time);
    }
    for (name, on_device) in [("search_device", true), ("search_host", false)] {
        results.insert(name, median(|| search(&bench, on_device))?);
    }
    Ok(())
}

/// Microseconds for each child of a kernel. A parent enqueues as many as its queue takes.
fn flat(bench: &Bench) -> Result<f64> {
    let (kernel, enqueued) = (bench.kernel("children")?, bench.buffer(&[0])?);
    let time = median(|| {
        let (start, mut done) = (Instant::now(), 0);
        while done < CHILDREN {
            let count = (CHILDREN - done) as cl_int;
            bench.launch(&kernel, 1, |launch| {
                // SAFETY: as the kernel declares.
                unsafe { launch.set_arg(&count).set_arg(&enqueued) };
            })?;
            let new = bench.read(&enqueued, 0, 1)?[0];
            ensure!(new > 0, "the queue takes no children");
            done += new as usize;
        }
        Ok(micros(start))
    })?;
    Ok(time / CHILDREN as f64)
}

fn sort_device(bench: &Bench, numbers: &Buffer<cl_int>) -> Result<()> {
    let (kernel, failed) = (bench.kernel("quicksort")?, bench.buffer(&[0])?);
    bench.launch(&kernel, 1, |launch| {
        // SAFETY: as the kernel declares.
        unsafe { launch.set_arg(numbers).set_arg(&0_i32).set_arg(&(NUMBERS as cl_int)).set_arg(&failed) };
    })?;
    bench.finish()?;
    ensure!(bench.read(&failed, 0, 1)? == [0], "an enqueue failed");
    Ok(())
}

/// The host enqueues a kernel for each part, a level of the recursion at a time.
fn sort_host(bench: &Bench, numbers: &Buffer<cl_int>) -> Result<()> {
    let (kernel, middles) = (bench.kernel("quicksort_step")?, bench.buffer(&vec![0; NUMBERS])?);
    let mut parts = vec![(0, NUMBERS as cl_int)];
    while !parts.is_empty() {
        for (part, (low, high)) in (0_i32..).zip(&parts) {
            bench.launch(&kernel, 1, |launch| {
                // SAFETY: as the kernel declares.
                unsafe { launch.set_arg(numbers).set_arg(low).set_arg(high).set_arg(&middles).set_arg(&part) };
            })?;
        }
        let found = bench.read(&middles, 0, parts.len())?;
        let split = found.iter().zip(&parts).filter(|(middle, _)| **middle > 0);
        parts = split.flat_map(|(&middle, &(low, high))| [(low, middle), (middle, high)]).collect();
    }
    Ok(())
}

/// A breadth-first search from a corner of the grid: microseconds.
fn search(bench: &Bench, on_device: bool) -> Result<f64> {
    const NODES: usize = WIDTH * WIDTH;
    /// Depths, and the empty frontier after the last one.
    const LEVELS: usize = 2 * WIDTH;
    let first = |count: usize, value: cl_int, rest: cl_int| {
        std::iter::once(value).chain(std::iter::repeat(rest)).take(count).collect::<Vec<_>>()
    };
    let depths = bench.buffer(&first(NODES, 0, -1))?;
    let frontiers = bench.buffer(&first(2 * NODES, 0, 0))?;
    let counts = bench.buffer(&first(LEVELS, 1, 0))?;
    let kernel = bench.kernel(if on_device { "search" } else { "search_step" })?;
    let step = |depth: usize, items: usize| {
        bench.launch(&kernel, items, |launch| {
            // SAFETY: as the kernel declares.
            unsafe {
                launch
                    .set_arg(&depths)
                    .set_arg(&frontiers)
                    .set_arg(&counts)
                    .set_arg(&(depth as cl_int))
                    .set_arg(&(WIDTH as cl_int))
            };
        })
    };
    let start = Instant::now();
    if on_device {
        step(0, 1)?;
        bench.finish()?;
    } else {
        let mut items = 1;
        for depth in 0..LEVELS - 1 {
            step(depth, items)?;
            items = bench.read(&counts, depth + 1, 1)?[0] as usize;
            if items == 0 {
                break;
            }
        }
    }
    let time = micros(start);
    let found = bench.read(&depths, 0, NODES)?;
    let expected = |node: usize| (node % WIDTH + node / WIDTH) as cl_int;
    ensure!(found.iter().enumerate().all(|(node, depth)| *depth == expected(node)), "depths are wrong");
    Ok(time)
}

/// A device query of a number; 0 if the driver does not know it.
fn number(device: &Device, query: cl_uint) -> cl_uint {
    let bytes = cl3::device::get_device_data(device.id(), query).unwrap_or_default();
    bytes.first_chunk().map_or(0, |bytes| cl_uint::from_ne_bytes(*bytes))
}
