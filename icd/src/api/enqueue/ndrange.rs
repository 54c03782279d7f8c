//! Kernel launches: `clEnqueueNDRangeKernel`, `clEnqueueTask`, and the query for the local size that a launch would get.

use clift_include::cl::*;
use clift_runtime::enqueue::Enqueuing;
use clift_runtime::geometry::{self, Demands, MAX_DIMENSIONS, Request};
use clift_runtime::graph::{KeepAlive, Work};
use clift_runtime::launch::Launch;

use super::{Submission, Wait, code};
use crate::caps::limits;
use crate::check;
use crate::error::ClError::{InvalidContext, InvalidGlobalWorkSize, InvalidKernelArgs, InvalidValue, OutOfResources};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{InArray, OutArray};
use crate::object::kernel::{Kernel, PreparedArgs, place};
use crate::object::launch_limits;
use crate::object::queue::Queue;

/// `clEnqueueNDRangeKernel`
pub fn enqueue(
    queue: Handle<Queue>,
    kernel: Handle<Kernel>,
    work_dim: cl_uint,
    global_work_offset: InArray<usize>,
    global_work_size: InArray<usize>,
    local_work_size: InArray<usize>,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_KERNEL if kernel is not a valid kernel
    let kernel = kernel.get()?;
    let request = Request {
        dims: work_dim,
        offset: sizes(global_work_offset, work_dim),
        global: sizes(global_work_size, work_dim),
        local: sizes(local_work_size, work_dim),
    };
    launch(&queue, &kernel, &request, wait, CL_COMMAND_NDRANGE_KERNEL)
}

/// `clEnqueueTask` (deprecated in 2.0)
pub fn enqueue_task(queue: Handle<Queue>, kernel: Handle<Kernel>, wait: Wait<'_>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_KERNEL if kernel is not a valid kernel
    let kernel = kernel.get()?;
    // Equivalent to clEnqueueNDRangeKernel with one work-item; CL_INVALID_WORK_GROUP_SIZE if the kernel requires another
    // size follows
    let one = Some([1; 3]);
    let request = Request { dims: 1, offset: None, global: one, local: one };
    launch(&queue, &kernel, &request, wait, CL_COMMAND_TASK)
}

/// `clGetKernelSuggestedLocalWorkSize`
pub fn suggested_local_size(
    queue: Handle<Queue>,
    kernel: Handle<Kernel>,
    work_dim: cl_uint,
    global_work_offset: InArray<usize>,
    global_work_size: InArray<usize>,
    suggested: OutArray<usize>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.get()?;
    // CL_INVALID_KERNEL if kernel is not a valid kernel
    let kernel = kernel.get()?;
    // CL_INVALID_CONTEXT, CL_INVALID_KERNEL_ARGS: see `prepared`
    prepared(&queue, &kernel)?;
    let request = Request {
        dims: work_dim,
        offset: sizes(global_work_offset, work_dim),
        global: sizes(global_work_size, work_dim),
        local: None,
    };
    // CL_INVALID_WORK_DIMENSION, CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE: see `geometry`
    let nd = geometry::checked(&request, &demands(&queue, &kernel))?;
    // CL_INVALID_GLOBAL_WORK_SIZE if global_work_size is NULL or any of its values is zero
    ensure(nd.total_groups() != 0, InvalidGlobalWorkSize)?;
    // CL_INVALID_VALUE if suggested_local_work_size is NULL
    ensure(!suggested.is_null(), InvalidValue)?;

    suggested.fill(work_dim as usize, nd.local_size().map(|size| size as usize));
    Ok(())
}

/// An array with one number per dimension; `None` for NULL. If the number of dimensions is wrong, which is reported later, nothing
/// is read.
pub fn sizes(array: InArray<usize>, dims: cl_uint) -> Option<[u64; 3]> {
    if array.is_null() {
        return None;
    }
    let mut sizes = [1; 3];
    let count = if dims <= MAX_DIMENSIONS { dims as usize } else { 0 };
    for (size, given) in sizes.iter_mut().zip(array.iter(count)) {
        *size = given as u64;
    }
    Some(sizes)
}

/// The requirements of the kernel and the queue's device.
pub fn demands(queue: &Queue, kernel: &Kernel) -> Demands {
    let uniform = kernel.executable().uniform_work_groups;
    launch_limits::demands(kernel.info(), uniform, queue.device().units().1, limits())
}

/// The kernel's arguments, after checking the rules for kernel and queue.
fn prepared(queue: &Queue, kernel: &Kernel) -> ClResult<PreparedArgs> {
    // CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built program executable: a kernel holds one
    // CL_INVALID_CONTEXT if the context associated with command_queue and kernel are not the same
    ensure(Ref::ptr_eq(queue.context(), kernel.program().context()), InvalidContext)?;
    // CL_INVALID_KERNEL_ARGS if any kernel arguments for kernel have not been set
    kernel.prepare().map_err(|_| InvalidKernelArgs)
}

/// Checks a launch and submits it.
fn launch(
    queue: &Ref<Queue>,
    kernel: &Ref<Kernel>,
    request: &Request,
    wait: Wait<'_>,
    kind: cl_command_type,
) -> ClResult<()> {
    // CL_INVALID_CONTEXT, CL_INVALID_KERNEL_ARGS, those about sizes, CL_OUT_OF_RESOURCES: see `ready`
    let (launch, keep) = ready(queue, kernel, request)?;
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut command = Submission::new(queue, kind, wait)?;
    for thing in keep {
        command = command.keep_any(thing);
    }
    command.submit(false, Work::Launch(launch))
}

/// A launch that may be submitted, and the resources to keep alive, after checking all rules except those for wait lists.
pub fn ready(queue: &Queue, kernel: &Kernel, request: &Request) -> ClResult<(Box<Launch>, KeepAlive)> {
    // CL_INVALID_CONTEXT, CL_INVALID_KERNEL_ARGS: see `prepared`
    let PreparedArgs { mut block, buffers, local_arg_bytes, objects, queues, facts, overlap } =
        prepared(queue, kernel)?;
    // CL_INVALID_WORK_DIMENSION, CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_GROUP_SIZE,
    // CL_INVALID_WORK_ITEM_SIZE: see `geometry`
    let mut nd = geometry::checked(request, &demands(queue, kernel))?;
    let info = kernel.info();
    // CL_OUT_OF_RESOURCES if the number of image arguments or samplers exceeds the device's limits, and also if the size of the
    // arguments does
    if let Some(reason) = kernel.exceeded_limit() {
        queue.context().report(&format!("kernel `{}` cannot be enqueued: {reason}", info.name));
        return Err(OutOfResources);
    }
    // CL_OUT_OF_RESOURCES if there is not enough local memory
    let local_bytes = info.resources.local_bytes.checked_add(local_arg_bytes);
    // Variables and arguments of checked kernels have shadows, and those of variables may have them again.
    let most = limits().local_mem_size * if kernel.checks().is_some() { 4 } else { 1 };
    ensure(local_bytes.is_some_and(|bytes| bytes <= most), OutOfResources)?;

    let mut keep = KeepAlive::new();
    keep.push(kernel.executable().program.memory.clone());
    let (mut entry, mut resources) = (info.entry, info.resources);
    // CL_OUT_OF_RESOURCES if there is a failure to make the code for these arguments: see `code::choose`
    let known = code::Known { nd: &nd, block: block.bytes(), images: &facts, overlap };
    let (code, launch_info) = code::choose(queue, kernel, &known)?;
    if let Some(code) = code {
        (entry, resources) = (code.entry, resources.max(code.resources));
        resources.width = code.resources.width;
        resources.packs_of_groups = code.resources.packs_of_groups;
        resources.coalesced_row = code.resources.coalesced_row;
        if let Some(exchange) = code.exchange {
            nd = nd.exchanged(exchange);
        }
        keep.push(code.memory);
    }
    let reached = objects.iter().chain(buffers.iter().map(|(mem, _)| mem));
    let checks = check::of_launch(queue.context(), kernel, reached);
    for object in objects {
        keep.push(object);
    }
    for queue in queues {
        keep.push(queue);
    }
    for (mem, offset) in buffers {
        let address = mem.bytes().as_ptr().expose_provenance() as u64;
        place(&mut block, offset, &address.to_le_bytes());
        keep.push(mem);
    }
    if let Some((checks, _)) = kernel.checks() {
        check::place_facts(&mut block, checks);
    }
    let enqueuing = info.enqueues.then(|| {
        let default_queue = queue.context().default_device_queue(queue.device());
        let events = queue.context().device_events().clone();
        Enqueuing::new(
            kernel.executable().children.clone(),
            events,
            default_queue.map(|queue| queue.commands().clone()),
        )
    });
    let launch = Launch {
        entry,
        resources,
        args: block,
        nd,
        local_arg_bytes,
        printf_sink: None,
        enqueuing,
        info: Some(launch_info),
        checks,
    };
    Ok((Box::new(launch), keep))
}
