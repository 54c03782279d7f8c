//! Released handles, and random sequences of calls. This is a separate test program that runs its cases one after the other,
//! because the address of a released object may be reused for another object.
//!
//! The random calls use handles that are valid, released, of another type, null or arbitrary, and extreme sizes, flags and names.
//! Nothing may crash or hang, and commands that are enqueued must end. Data pointers are valid, as OpenCL requires: NULL, or
//! memory large enough for all sizes used here. `CLIFT_FUZZ_MS` says for how many milliseconds such sequences are made.
#![allow(unsafe_code, reason = "C calls and the pointers they take")]

#[path = "api/cl.rs"]
#[allow(dead_code, reason = "shared with the test `api`")]
mod cl;
#[path = "stale/objects.rs"]
mod objects;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use arbtest::arbitrary::{Result, Unstructured};

use clift::ffi::handle::ClObject;
use clift::object::buffer::Mem;
use clift::object::context::Context;
use clift::object::event::Event;
use clift::object::queue::Queue;

use cl::*;

type Handle = *mut c_void;

/// Largest size and pitch that is not absurd.
const SMALL: usize = 64;
/// Bytes of the memory that commands read and write: enough for rectangles of small sizes at small pitches.
const SCRATCH: usize = 1 << 20;

/// A type of handle that the application makes.
#[derive(Clone, Copy)]
enum Kind {
    Context,
    Queue,
    Mem,
    Event,
    Image,
    CommandBuffer,
}

/// Number of kinds.
const KINDS: usize = 6;

/// The application's state: the objects it has created, released or not.
struct World {
    /// By kind; the first of each lives as long as the sequence, and is taken most often.
    handles: [Vec<Handle>; KINDS],
    /// User events whose status has not been set for sure.
    unset: Vec<cl_event>,
    maps: Vec<*mut c_void>,
    /// Shared virtual memory.
    shared: Vec<*mut c_void>,
    scratch: *mut c_void,
}

impl World {
    fn new() -> Self {
        // Commands of one sequence may still run when the next begins: the memory stays for good.
        // Buffers that are larger by a byte are copied from it, too.
        let scratch = vec![0u128; SCRATCH / 16 + 1].leak().as_mut_ptr().cast();
        Self { handles: Default::default(), unset: Vec::new(), maps: Vec::new(), shared: Vec::new(), scratch }
    }

    /// A handle, which in most cases is of this kind.
    fn handle(&self, u: &mut Unstructured<'_>, kind: Kind) -> Result<Handle> {
        let chance = u.int_in_range(0..=63)?;
        Ok(match chance {
            0 => null_mut(),
            1 => platform(),
            2 => device(),
            3 => std::ptr::without_provenance_mut(u.arbitrary()?),
            4 => self.scratch,
            _ => {
                let kind = if chance == 5 { u.int_in_range(0..=KINDS - 1)? } else { kind as usize };
                let of_kind = &self.handles[kind];
                if of_kind.is_empty() {
                    null_mut()
                } else if chance < 32 {
                    of_kind[0]
                } else {
                    *u.choose(of_kind)?
                }
            }
        })
    }

    fn event(&self, u: &mut Unstructured<'_>) -> Result<cl_event> {
        self.handle(u, Kind::Event)
    }

    fn size(u: &mut Unstructured<'_>) -> Result<usize> {
        Ok(match u.int_in_range(0..=15)? {
            0 => 0,
            1 => usize::MAX - u.int_in_range(0..=SMALL)?,
            2 => 128 * u.int_in_range(1..=3)?,
            _ => u.int_in_range(1..=SMALL)?,
        })
    }

    /// A pitch or an origin on the host's side, which no check bounds.
    fn host_size(u: &mut Unstructured<'_>) -> Result<usize> {
        u.int_in_range(0..=SMALL / 2)
    }

    fn triple(u: &mut Unstructured<'_>) -> Result<[usize; 3]> {
        let bytes = if u.arbitrary()? { u.int_in_range(0..=8)? } else { Self::size(u)? };
        Ok([bytes, u.int_in_range(0..=4)?, u.int_in_range(0..=4)?])
    }

    /// A pitch, most often the tight one.
    fn pitch(u: &mut Unstructured<'_>) -> Result<usize> {
        if u.ratio(1, 4)? { Self::size(u) } else { Ok(0) }
    }

    fn flags(u: &mut Unstructured<'_>) -> Result<u64> {
        Ok(match u.int_in_range(0..=5)? {
            0 => u.arbitrary()?,
            1 | 2 => 0,
            _ => 1 << u.int_in_range(0..=12)?,
        })
    }

    fn host(&self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        Ok(if u.ratio(1, 16)? { null_mut() } else { self.scratch })
    }

    fn keep(&mut self, kind: Kind, handle: Handle) {
        if !handle.is_null() {
            self.handles[kind as usize].push(handle);
        }
    }

    /// Sets all user events, so that nothing waits for the application.
    fn settle(&mut self) {
        for event in self.unset.drain(..) {
            clSetUserEventStatus(event, CL_COMPLETE);
        }
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut error = 0;
        let mut event: cl_event = null_mut();
        let list: Vec<cl_event> = (0..u.int_in_range(0..=2)?).map(|_| self.event(u)).collect::<Result<_>>()?;
        let (n, l) = match u.int_in_range(0..=19)? {
            0 => (1, null()),
            1 => (0, (&raw const event).cast()),
            _ => (list.len() as cl_uint, if list.is_empty() { null() } else { list.as_ptr() }),
        };
        let out: *mut cl_event = if u.arbitrary()? { &mut event } else { null_mut() };
        let blocking = u.ratio(1, 8)?;
        if blocking {
            self.settle();
        }
        let blocking = cl_bool::from(blocking);
        let (a, b, c) = (self.handle(u, Kind::Queue)?, self.handle(u, Kind::Mem)?, self.handle(u, Kind::Mem)?);
        let context = self.handle(u, Kind::Context)?;
        let (offset, size) = (Self::size(u)?, Self::size(u)?);
        match u.int_in_range(0..=36)? {
            0 => {
                if u.ratio(1, 4)? {
                    let made = clCreateContext(null(), 1, [device()].as_ptr(), None, null_mut(), &mut error);
                    self.keep(Kind::Context, made);
                }
            }
            1 => {
                let made = clCreateCommandQueue(context, device(), u.int_in_range(0..=4)?, &mut error);
                self.keep(Kind::Queue, made);
            }
            2 | 3 => {
                let flags = Self::flags(u)?;
                let host =
                    if flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 { self.scratch } else { null_mut() };
                let host = if u.ratio(1, 16)? { self.host(u)? } else { host };
                let made = clCreateBuffer(context, flags, size.min(SCRATCH + 1), host, &mut error);
                self.keep(Kind::Mem, made);
            }
            4 => {
                let region = cl_buffer_region { origin: if u.arbitrary()? { 0 } else { offset }, size };
                let info = (&raw const region).cast();
                let made = clCreateSubBuffer(b, Self::flags(u)?, CL_BUFFER_CREATE_TYPE_REGION, info, &mut error);
                self.keep(Kind::Mem, made);
            }
            5 => {
                let made = clCreateUserEvent(context, &mut error);
                self.keep(Kind::Event, made);
                self.unset.extend((!made.is_null()).then_some(made));
            }
            6 => drop((clRetainContext(context), clRetainMemObject(b), clRetainCommandQueue(a))),
            7 => drop(clReleaseMemObject(b)),
            8 => {
                // Its commands may use memory that is freed at the end of the sequence.
                if !self.shared.is_empty() {
                    self.settle();
                    clFinish(a);
                }
                clReleaseCommandQueue(a);
            }
            9 => drop(clReleaseContext(context)),
            10 => {
                // An event that is let go of before it is set would never be set.
                self.settle();
                clReleaseEvent(self.event(u)?);
            }
            11 => drop(clSetUserEventStatus(self.event(u)?, u.int_in_range(-3..=1)?)),
            12 => drop(clEnqueueReadBuffer(a, b, blocking, offset, size, self.host(u)?, n, l, out)),
            13 => drop(clEnqueueWriteBuffer(a, b, blocking, offset, size, self.host(u)?, n, l, out)),
            14 => drop(clEnqueueCopyBuffer(a, b, c, offset, Self::size(u)?, size, n, l, out)),
            15 => {
                let pattern_size = u.int_in_range(0..=200)?;
                let pattern_size = if u.ratio(7, 8)? { 1 << (pattern_size % 4) } else { pattern_size };
                clEnqueueFillBuffer(a, b, self.host(u)?, pattern_size, offset, size, n, l, out);
            }
            16 | 17 => {
                let (origin, region) = (Self::triple(u)?, Self::triple(u)?);
                let host_origin = [Self::host_size(u)?, u.int_in_range(0..=4)?, u.int_in_range(0..=4)?];
                let (row, slice) = (Self::pitch(u)?, Self::pitch(u)?);
                let host_pitches =
                    u.ratio(1, 4)?.then(|| Ok((Self::host_size(u)?, Self::host_size(u)?))).transpose()?;
                let (host_row, host_slice) = host_pitches.unwrap_or((0, 0));
                let (o, h, g, p) = (origin.as_ptr(), host_origin.as_ptr(), region.as_ptr(), self.host(u)?);
                let read = u.arbitrary()?;
                if read {
                    clEnqueueReadBufferRect(a, b, blocking, o, h, g, row, slice, host_row, host_slice, p, n, l, out);
                } else {
                    clEnqueueWriteBufferRect(a, b, blocking, o, h, g, row, slice, host_row, host_slice, p, n, l, out);
                }
            }
            18 => {
                let (from, to, region) = (Self::triple(u)?, Self::triple(u)?, Self::triple(u)?);
                let (from, to, region) = (from.as_ptr(), to.as_ptr(), region.as_ptr());
                let (row, slice) = (Self::pitch(u)?, Self::pitch(u)?);
                clEnqueueCopyBufferRect(a, b, c, from, to, region, row, slice, row, Self::pitch(u)?, n, l, out);
            }
            19 => {
                let flags = u.int_in_range(0..=8)?;
                let ptr = clEnqueueMapBuffer(a, b, blocking, flags, offset, size, n, l, out, &mut error);
                self.maps.push(ptr);
            }
            20 => {
                let ptr = if self.maps.is_empty() { self.scratch } else { *u.choose(&self.maps)? };
                clEnqueueUnmapMemObject(a, b, ptr, n, l, out);
            }
            21 => drop(clEnqueueMigrateMemObjects(a, 2, [b, c].as_ptr(), u.int_in_range(0..=4)?, n, l, out)),
            22 => drop(clEnqueueMarkerWithWaitList(a, n, l, out)),
            23 => drop(clEnqueueBarrierWithWaitList(a, n, l, out)),
            24 => {
                self.settle();
                clFinish(a);
            }
            25 => {
                self.settle();
                clWaitForEvents(n, l);
            }
            28..=30 => self.image_step(u, blocking, (n, l, out))?,
            31 | 32 => self.shared_step(u, blocking, (n, l, out))?,
            33..=35 => self.command_buffer_step(u, (n, l, out))?,
            26 => {
                let name = u.int_in_range(0x1080..=0x1110)?;
                let mut bytes = [0u8; 64];
                let (value, room) = (bytes.as_mut_ptr().cast(), u.int_in_range(0..=64)?);
                let mut needed = 0;
                clGetContextInfo(context, name, room, value, &mut needed);
                clGetCommandQueueInfo(a, name, room, value, &mut needed);
                clGetMemObjectInfo(b, name, room, value, &mut needed);
                clGetDeviceInfo(device(), name, room, value, &mut needed);
            }
            _ => {
                let (of, name) = (self.event(u)?, u.int_in_range(0x11d0..=0x11d5)?);
                let mut bytes = [0u8; 64];
                let value = bytes.as_mut_ptr().cast();
                clGetEventInfo(of, name, 64, value, null_mut());
                clGetEventProfilingInfo(of, CL_PROFILING_COMMAND_QUEUED + name % 8, 64, value, null_mut());
            }
        }
        self.keep(Kind::Event, event);
        Ok(())
    }
}

#[test]
fn stale_handles() {
    released();
    random_calls();
    nothing_leaks();
}

/// What is live of a type.
fn live<T: ClObject>() -> usize {
    T::registry().len()
}

/// All has been released; what the last commands held goes soon after their end.
fn nothing_leaks() {
    let count = || [live::<Context>(), live::<Queue>(), live::<Mem>(), live::<Event>()];
    let deadline = Instant::now() + Duration::from_secs(10);
    while count() != [0; 4] && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(count(), [0; 4], "contexts, queues, memory objects, events");
}

fn released() {
    let setup = Setup::new();
    let event = setup.user_event();
    assert_eq!(clReleaseEvent(event), CL_SUCCESS);
    assert_eq!(clReleaseEvent(event), CL_INVALID_EVENT);
    assert_eq!(clRetainEvent(event), CL_INVALID_EVENT);
    assert_eq!(clSetUserEventStatus(event, CL_COMPLETE), CL_INVALID_EVENT);
    assert_eq!(clWaitForEvents(1, &event), CL_INVALID_EVENT);
    let buffer = setup.buffer(0, 16);
    assert_eq!(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_eq!(clReleaseMemObject(buffer), CL_INVALID_MEM_OBJECT);
    assert_eq!(clRetainMemObject(buffer), CL_INVALID_MEM_OBJECT);
    assert_eq!(clGetMemObjectInfo(buffer, CL_MEM_SIZE, 0, null_mut(), null_mut()), CL_INVALID_MEM_OBJECT);
    let (context, queue) = (setup.context, setup.queue);
    drop(setup);
    assert_eq!(clReleaseCommandQueue(queue), CL_INVALID_COMMAND_QUEUE);
    assert_eq!(clRetainCommandQueue(queue), CL_INVALID_COMMAND_QUEUE);
    assert_eq!(clFinish(queue), CL_INVALID_COMMAND_QUEUE);
    assert_eq!(clReleaseContext(context), CL_INVALID_CONTEXT);
    assert_eq!(clRetainContext(context), CL_INVALID_CONTEXT);
    assert_eq!(clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, null_mut(), null_mut()), CL_INVALID_CONTEXT);
}

fn random_calls() {
    let mut world = World::new();
    arbtest::arbtest(move |u| {
        let setup = Setup::with(if u.arbitrary()? { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 });
        // So that the sequence cannot take the last reference away too soon.
        assert_eq!((clRetainContext(setup.context), clRetainCommandQueue(setup.queue)), (CL_SUCCESS, CL_SUCCESS));
        world.keep(Kind::Context, setup.context);
        world.keep(Kind::Queue, setup.queue);
        world.keep(Kind::Mem, setup.buffer(0, 512));
        let mut result = Ok(());
        while result.is_ok() && !u.is_empty() {
            result = world.step(u);
        }
        world.settle();
        let [contexts, queues, mems, events, images, command_buffers] = std::mem::take(&mut world.handles);
        // The references that are left.
        let (context, mut queues_left) = (contexts[0], Vec::new());
        for queue in queues {
            clFinish(queue);
            queues_left.push(queue);
        }
        // Nothing runs any more.
        for memory in std::mem::take(&mut world.shared) {
            clSVMFree(context, memory);
        }
        for buffer in command_buffers {
            while clReleaseCommandBufferKHR(buffer) == CL_SUCCESS {}
        }
        for queue in queues_left {
            while clReleaseCommandQueue(queue) == CL_SUCCESS {}
        }
        for mem in images.into_iter().chain(mems) {
            while clReleaseMemObject(mem) == CL_SUCCESS {}
        }
        for context in contexts {
            while clReleaseContext(context) == CL_SUCCESS {}
        }
        for event in events {
            while clReleaseEvent(event) == CL_SUCCESS {}
        }
        world.maps.clear();
        // The sequence has released the setup's objects too.
        std::mem::forget(setup);
        result
    })
    .budget_ms(std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000));
}
