//! Chains of commands on one buffer, each of which must come after the one before: slow kernels, fills and copies. What orders
//! them is the queue, a barrier, or that each waits for the last one, in a queue or in a command buffer. Few random sequences
//! have two commands whose order shows, and of which the first is slow.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::contents::{Effect, Region};
use super::kernels::{self, Sizes};
use super::operations::Operation;
use super::world::{Detail, Handle, Kind, Line, Memory, Place, World};

/// Bytes of the buffer.
const SIZE: usize = 256;

/// What orders the commands of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Queue,
    Barriers,
    Waits,
}

/// A command of a chain.
enum Link {
    Launch(Handle, Sizes),
    Operation(Operation),
}

impl Link {
    fn enqueue(&self, q: cl_command_queue, wait: super::operations::Wait) -> cl_int {
        match self {
            Self::Launch(kernel, sizes) => {
                let [o, g, l] = sizes.pointers();
                clEnqueueNDRangeKernel(q, *kernel, sizes.dims, o, g, l, wait.0, wait.1, wait.2)
            }
            Self::Operation(operation) => operation.enqueue(q, wait),
        }
    }

    fn record(&self, record: super::operations::Record) -> cl_int {
        match self {
            Self::Launch(kernel, sizes) => {
                let [o, g, l] = sizes.pointers();
                let (c, q, p, (n, w, s, h)) = record;
                clCommandNDRangeKernelKHR(c, q, p, *kernel, sizes.dims, o, g, l, n, w, s, h)
            }
            Self::Operation(operation) => operation.record(record),
        }
    }
}

impl World {
    /// Makes a chain of commands, executes it, and compares the buffer.
    pub(crate) fn chain(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let order = *u.choose(&[Order::Queue, Order::Barriers, Order::Waits])?;
        let in_buffer = u.arbitrary()?;
        let context = self.context_of(Kind::Context, self.common.base);
        // A command buffer may be recorded for a queue that is in order and execute in another one.
        let queue = self.new_queue(context, order == Order::Queue);
        let other = self.new_queue(context, false);
        let (buffer, root) = self.new_buffer(context);
        let fine = Violated::default();
        let (mut links, mut effects) = (Vec::new(), Vec::new());
        for _ in 0..u.int_in_range(2..=5)? {
            let (link, effect) = self.link(u, buffer, root)?;
            links.push(link);
            effects.push(effect);
        }
        self.calls.push(format!("-- chain of {} on {buffer:?}, {order:?}, recorded: {in_buffer}", links.len()));
        let mut ends: Vec<usize> = Vec::new();
        if in_buffer {
            let commands = made(|e| clCreateCommandBufferKHR(1, &queue, null(), e));
            let mut last: Option<cl_uint> = None;
            for (at, link) in links.iter().enumerate() {
                if order == Order::Barriers && at != 0 {
                    let status = clCommandBarrierWithWaitListKHR(
                        commands,
                        null_mut(),
                        null(),
                        0,
                        null(),
                        null_mut(),
                        null_mut(),
                    );
                    self.check("record barrier".to_owned(), &fine, status);
                }
                let wait = last.filter(|_| order == Order::Waits);
                let list = wait.as_ref().map_or(null(), |point| &raw const *point);
                let mut point = 0;
                let arguments = (cl_uint::from(wait.is_some()), list, &raw mut point, null_mut());
                let status = link.record((commands, null_mut(), null(), arguments));
                self.check("record a link".to_owned(), &fine, status);
                last = Some(point);
            }
            assert_eq!(clFinalizeCommandBufferKHR(commands), CL_SUCCESS);
            let status = clEnqueueCommandBufferKHR(1, &other, commands, 0, NONE, SKIP);
            self.check(format!("enqueue {commands:?} in {other:?}"), &fine, status);
            assert_eq!(clReleaseCommandBufferKHR(commands), CL_SUCCESS);
            for effect in effects {
                let follows = ends.last().copied().into_iter().collect();
                ends.push(self.timeline.push(Vec::new(), follows, effect));
            }
        } else {
            let mut last: cl_event = null_mut();
            for (at, (link, effect)) in links.iter().zip(effects).enumerate() {
                if order == Order::Barriers && at != 0 {
                    assert_eq!(clEnqueueBarrierWithWaitList(queue, 0, NONE, SKIP), CL_SUCCESS);
                    self.submit(queue, Vec::new(), Place::Barrier { of_all: true }, Effect::default());
                }
                let waits = order == Order::Waits && at != 0;
                let mut event: cl_event = null_mut();
                let (n, list) = if waits { (1, &raw const last) } else { (0, NONE) };
                let status = link.enqueue(queue, (n, list, &mut event));
                self.check("enqueue a link".to_owned(), &fine, status);
                let waits = if waits { ends.last().copied().into_iter().collect() } else { Vec::new() };
                ends.push(self.submit(queue, waits, Place::Usual, effect));
                if !last.is_null() {
                    assert_eq!(clReleaseEvent(last), CL_SUCCESS);
                }
                last = event;
            }
            assert_eq!(clReleaseEvent(last), CL_SUCCESS);
        }
        self.quiesce();
        self.compare_memory(buffer);
        Ok(())
    }

    fn new_queue(&mut self, context: Option<u64>, in_order: bool) -> Handle {
        let properties = if in_order { 0 } else { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE };
        let queue = made(|e| clCreateCommandQueue(self.common.base, device(), properties, e));
        let line = Line { device: device().addr(), properties, last: None, since: Vec::new() };
        self.add(queue, Kind::Queue, context, Detail::Queue(line));
        queue
    }

    /// A buffer with known bytes, and its root.
    fn new_buffer(&mut self, context: Option<u64>) -> (Handle, u64) {
        let mut bytes = self.bytes(SIZE);
        let host = bytes.as_mut_ptr().cast();
        let flags = CL_MEM_COPY_HOST_PTR;
        let buffer = made(|e| clCreateBuffer(self.common.base, flags, SIZE, host, e));
        let root = self.number();
        let memory = Memory { size: SIZE, flags, origin: 0, root, parent: None, image: None, maps: Vec::new() };
        self.add(buffer, Kind::Mem, context, Detail::Mem(memory));
        self.timeline.add_root(root, Self::content(Some(bytes), SIZE));
        (buffer, root)
    }

    /// A command on the buffer.
    fn link(&mut self, u: &mut Unstructured<'_>, buffer: Handle, root: u64) -> Result<(Link, Effect)> {
        Ok(match u.int_in_range(0..=3)? {
            0 | 1 => {
                let (handle, kernel) = self.new_add(u, buffer)?;
                let sizes = Sizes { dims: 1, offset: None, global: Some([SIZE / 4, 1, 1]), local: None };
                let effect = kernels::effect(&kernel, &sizes).expect("the buffer is large enough");
                (Link::Launch(handle, sizes), effect)
            }
            2 => {
                let (offset, size, pattern) = (4 * u.int_in_range(0..=32)?, 128, self.bytes(4));
                let effect = Effect::fill(pattern.clone(), Region::linear(root, offset, size));
                let pattern = Some(pattern);
                (
                    Link::Operation(Operation::FillBuffer { target: buffer, pattern, pattern_size: 4, offset, size }),
                    effect,
                )
            }
            _ => {
                let size = SIZE / 2;
                let [from, to] = if u.arbitrary()? { [0, size] } else { [size, 0] };
                let effect = Effect::copy(Region::linear(root, from, size), Region::linear(root, to, size));
                (Link::Operation(Operation::CopyBuffer { from: buffer, to: buffer, offsets: [from, to], size }), effect)
            }
        })
    }
}
