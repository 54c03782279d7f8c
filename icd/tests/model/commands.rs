//! Calls that enqueue commands, wait for them, or set arguments of kernels.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;
use super::world::{Arg, Detail, Fate, Handle, Kind, Mapping, World};
use super::{SCRATCH, Violated};

/// What a command waits for, and whether its event is wanted.
struct Waits {
    events: Vec<cl_event>,
    count: cl_uint,
    /// Whether the list is given.
    given: bool,
    wants_event: bool,
}

impl Waits {
    fn list(&self) -> *const cl_event {
        // A list of no events must be NULL.
        if self.given { self.events.as_ptr() } else { null() }
    }
}

/// A buffer as a command uses it.
struct Buffer {
    size: usize,
    flags: cl_mem_flags,
    origin: usize,
    root: u64,
}

impl Buffer {
    fn holds(&self, offset: usize, size: usize) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.size)
    }

    fn host_reads(&self) -> bool {
        self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }

    fn host_writes(&self) -> bool {
        self.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }
}

impl World {
    fn waits(&self, u: &mut Unstructured<'_>) -> Result<Waits> {
        let events: Vec<cl_event> = if u.arbitrary()? {
            Vec::new()
        } else {
            (0..u.int_in_range(1..=2)?).map(|_| self.pick(u, Kind::Event)).collect::<Result<_>>()?
        };
        let (mut count, mut given) = (events.len() as cl_uint, !events.is_empty());
        match u.int_in_range(0..=31)? {
            0 => count = cl_uint::from(count == 0),
            1 => given = !given && !events.is_empty(),
            _ => {}
        }
        Ok(Waits { events, count, given, wants_event: u.arbitrary()? })
    }

    /// The rules for a wait list. `queue` is the number of the queue's context.
    fn wait_rules(&self, violated: &mut Violated, waits: &Waits, queue: Option<u64>) {
        violated.rule((waits.count != 0) == waits.given, CL_INVALID_EVENT_WAIT_LIST);
        if waits.count == 0 || !waits.given {
            return;
        }
        for event in &waits.events {
            let event = self.get(Kind::Event, *event);
            violated.rule(event.is_some(), CL_INVALID_EVENT_WAIT_LIST);
            violated
                .rule(event.is_none_or(|event| queue.is_none_or(|queue| event.context == queue)), CL_INVALID_CONTEXT);
        }
    }

    /// The fates that a command waits for.
    fn fates_of(&self, waits: &Waits) -> Vec<usize> {
        let events = if waits.given { &waits.events[..] } else { &[] };
        let details = events.iter().filter_map(|event| self.get(Kind::Event, *event)).map(|event| &event.detail);
        details.filter_map(|detail| if let Detail::Event(fate) = detail { Some(*fate) } else { None }).collect()
    }

    /// The buffer of a handle, with the rules that it exists and belongs to the queue's context.
    fn buffer(&self, violated: &mut Violated, handle: Handle, queue: Option<u64>) -> Option<Buffer> {
        let object = self.get(Kind::Mem, handle);
        violated.rule(object.is_some(), CL_INVALID_MEM_OBJECT);
        let object = object?;
        violated.rule(queue.is_none_or(|queue| queue == object.context), CL_INVALID_CONTEXT);
        match object.detail {
            Detail::Buffer { size, flags, origin, root, .. } => Some(Buffer { size, flags, origin, root }),
            _ => None,
        }
    }

    /// Checks a command's status, and adds its event.
    fn enqueued(
        &mut self,
        call: String,
        (violated, status): (&Violated, cl_int),
        (waits, event): (&Waits, cl_event),
        queue: Option<u64>,
    ) -> bool {
        let succeeded = self.check(format!("{call}, {:?}) = {event:?}", waits.events), violated, status);
        assert_eq!(!event.is_null(), succeeded && waits.wants_event, "{:?}", self.calls.last());
        if succeeded && waits.wants_event {
            let fate = Fate::Command(self.fates_of(waits));
            self.fates.push(fate);
            self.add(event, Kind::Event, queue, Detail::Event(self.fates.len() - 1));
        }
        succeeded
    }

    fn size(u: &mut Unstructured<'_>) -> Result<usize> {
        Ok(match u.int_in_range(0..=15)? {
            0 => usize::MAX - u.int_in_range(0..=64)?,
            1 => u.int_in_range(0..=SCRATCH)?,
            2 => 0,
            _ => 4 * u.int_in_range(1..=64)?,
        })
    }

    /// A command, or a call that waits for commands.
    pub(crate) fn command(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let q = self.pick(u, Kind::Queue)?;
        let queue = self.get(Kind::Queue, q).map(|object| object.context);
        let waits = self.waits(u)?;
        let mut violated = Violated::default();
        violated.rule(queue.is_some(), CL_INVALID_COMMAND_QUEUE);
        self.wait_rules(&mut violated, &waits, queue);
        let (n, l) = (waits.count, waits.list());
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let (a, b) = (self.pick(u, Kind::Mem)?, self.pick(u, Kind::Mem)?);
        let (offset, size) = (if u.arbitrary()? { 0 } else { Self::size(u)? }, Self::size(u)?);
        let (call, status) = match u.int_in_range(0..=11)? {
            0..=2 => {
                let blocks = u.ratio(1, 4)?;
                if blocks {
                    self.settle();
                }
                let host = if u.ratio(1, 32)? { null_mut() } else { self.scratch };
                violated.rule(!host.is_null(), CL_INVALID_VALUE);
                let reads = u.arbitrary()?;
                if let Some(buffer) = self.buffer(&mut violated, a, queue) {
                    violated.rule(buffer.holds(offset, size), CL_INVALID_VALUE);
                    violated.rule(if reads { buffer.host_reads() } else { buffer.host_writes() }, CL_INVALID_OPERATION);
                }
                if blocks && violated.is_empty() {
                    let failed = self.fates_of(&waits).iter().any(|fate| self.fate(*fate).is_some_and(|end| end < 0));
                    violated.rule(!failed, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
                }
                let blocks = cl_bool::from(blocks);
                let status = if reads {
                    clEnqueueReadBuffer(q, a, blocks, offset, size, host, n, l, out)
                } else {
                    clEnqueueWriteBuffer(q, a, blocks, offset, size, host, n, l, out)
                };
                (format!("read {reads} ({q:?}, {a:?}, {blocks}, {offset}, {size}, {host:?}, {n}, {l:?}"), status)
            }
            3 | 4 => {
                let to = if u.arbitrary()? { 0 } else { Self::size(u)? };
                let (from, target) = (self.buffer(&mut violated, a, queue), self.buffer(&mut violated, b, queue));
                violated.rule(from.as_ref().is_none_or(|buffer| buffer.holds(offset, size)), CL_INVALID_VALUE);
                violated.rule(target.as_ref().is_none_or(|buffer| buffer.holds(to, size)), CL_INVALID_VALUE);
                if let (Some(from), Some(target)) = (from, target)
                    && from.root == target.root
                {
                    let (x, y) = (from.origin.wrapping_add(offset), target.origin.wrapping_add(to));
                    let overlaps = size != 0 && x < y.wrapping_add(size) && y < x.wrapping_add(size);
                    violated.rule(!overlaps, CL_MEM_COPY_OVERLAP);
                }
                let status = clEnqueueCopyBuffer(q, a, b, offset, to, size, n, l, out);
                (format!("copy ({q:?}, {a:?}, {b:?}, {offset}, {to}, {size}, {n}, {l:?}"), status)
            }
            5 => {
                let pattern_size = if u.ratio(3, 4)? { 1 << u.int_in_range(0..=3)? } else { u.int_in_range(0..=260)? };
                let pattern = if u.ratio(1, 32)? { null() } else { self.scratch.cast_const() };
                violated.rule(!pattern.is_null(), CL_INVALID_VALUE);
                let fits = usize::is_power_of_two(pattern_size) && pattern_size <= 128;
                violated.rule(fits, CL_INVALID_VALUE);
                let whole = fits && offset.is_multiple_of(pattern_size) && size.is_multiple_of(pattern_size);
                violated.rule(whole, CL_INVALID_VALUE);
                let buffer = self.buffer(&mut violated, a, queue);
                violated.rule(buffer.is_none_or(|buffer| buffer.holds(offset, size)), CL_INVALID_VALUE);
                let status = clEnqueueFillBuffer(q, a, pattern, pattern_size, offset, size, n, l, out);
                (format!("fill ({q:?}, {a:?}, {pattern_size}, {offset}, {size}, {n}, {l:?}"), status)
            }
            6 => return self.map(u, (q, queue), a, (offset, size)),
            7 => return self.unmap(u, (q, queue), (a, b), violated, &waits),
            8 => {
                let marks = u.arbitrary()?;
                let status = if marks {
                    clEnqueueMarkerWithWaitList(q, n, l, out)
                } else {
                    clEnqueueBarrierWithWaitList(q, n, l, out)
                };
                (format!("marker {marks} ({q:?}, {n}, {l:?}"), status)
            }
            9 => {
                let (count, flags) = (u.int_in_range(0..=2)?, u.int_in_range(0..=4)?);
                violated.rule(count != 0 && flags < 4, CL_INVALID_VALUE);
                let mems = [a, b];
                for mem in &mems[..count as usize] {
                    self.buffer(&mut violated, *mem, queue);
                }
                let status = clEnqueueMigrateMemObjects(q, count, mems.as_ptr(), flags, n, l, out);
                (format!("migrate ({q:?}, {count}, {mems:?}, {flags}, {n}, {l:?}"), status)
            }
            _ => return self.wait(u, q),
        };
        self.enqueued(call, (&violated, status), (&waits, event), queue);
        Ok(())
    }

    /// Maps a part of a buffer. A wait list that fails would take the mapping back; so there is none.
    fn map(
        &mut self,
        u: &mut Unstructured<'_>,
        (q, queue): (Handle, Option<u64>),
        mem: Handle,
        (offset, size): (usize, usize),
    ) -> Result<()> {
        let flags = u.int_in_range(0..=8)?;
        let writes = flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0;
        let mut violated = Violated::default();
        violated.rule(queue.is_some(), CL_INVALID_COMMAND_QUEUE);
        violated.rule(flags < 5, CL_INVALID_VALUE);
        violated.rule(size != 0, CL_INVALID_VALUE);
        if let Some(buffer) = self.buffer(&mut violated, mem, queue) {
            violated.rule(buffer.holds(offset, size), CL_INVALID_VALUE);
            violated.rule(flags & CL_MAP_READ == 0 || buffer.host_reads(), CL_INVALID_OPERATION);
            violated.rule(!writes || buffer.host_writes(), CL_INVALID_OPERATION);
            if let Detail::Buffer { maps, .. } = &self.get(Kind::Mem, mem).expect("a buffer").detail {
                let overlaps = |map: &Mapping| {
                    map.writes && map.offset < offset.saturating_add(size) && offset < map.offset + map.size
                };
                violated.rule(!writes || !maps.iter().any(overlaps), CL_INVALID_OPERATION);
            }
        }
        let mut error = 1;
        let pointer = clEnqueueMapBuffer(q, mem, CL_FALSE, flags, offset, size, 0, null(), null_mut(), &mut error);
        let call = format!("map ({q:?}, {mem:?}, {flags}, {offset}, {size}) = {pointer:?}");
        if self.check(call, &violated, error)
            && let Detail::Buffer { maps, .. } = &mut self.get_mut(mem).detail
        {
            maps.push(Mapping { pointer: pointer.addr(), offset, size, writes });
        }
        Ok(())
    }

    fn unmap(
        &mut self,
        u: &mut Unstructured<'_>,
        (q, queue): (Handle, Option<u64>),
        (mem, other): (Handle, Handle),
        mut violated: Violated,
        waits: &Waits,
    ) -> Result<()> {
        // A pointer of this buffer, or of another one.
        let source = if u.ratio(3, 4)? { mem } else { other };
        let pointer = match self.get(Kind::Mem, source).map(|object| &object.detail) {
            Some(Detail::Buffer { maps, .. }) if !maps.is_empty() => u.choose(maps)?.pointer,
            _ => self.scratch.addr() + 1,
        };
        self.buffer(&mut violated, mem, queue);
        let mut found = None;
        if let Some(Detail::Buffer { maps, .. }) = self.get(Kind::Mem, mem).map(|object| &object.detail) {
            found = maps.iter().rposition(|map| map.pointer == pointer);
            violated.rule(found.is_some(), CL_INVALID_VALUE);
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let target = std::ptr::without_provenance_mut(pointer);
        let status = clEnqueueUnmapMemObject(q, mem, target, waits.count, waits.list(), out);
        let call = format!("unmap ({q:?}, {mem:?}, {pointer:#x}");
        if self.enqueued(call, (&violated, status), (waits, event), queue)
            && let Detail::Buffer { maps, .. } = &mut self.get_mut(mem).detail
        {
            maps.remove(found.expect("a mapping"));
        }
        Ok(())
    }

    /// A call that waits, or makes commands start.
    fn wait(&mut self, u: &mut Unstructured<'_>, q: Handle) -> Result<()> {
        let mut violated = Violated::default();
        match u.int_in_range(0..=2)? {
            0 => {
                violated.rule(self.get(Kind::Queue, q).is_some(), CL_INVALID_COMMAND_QUEUE);
                let status = clFlush(q);
                self.check(format!("clFlush({q:?})"), &violated, status);
            }
            1 => {
                self.settle();
                violated.rule(self.get(Kind::Queue, q).is_some(), CL_INVALID_COMMAND_QUEUE);
                let status = clFinish(q);
                self.check(format!("clFinish({q:?})"), &violated, status);
            }
            _ => {
                self.settle();
                let events: Vec<cl_event> =
                    (0..u.int_in_range(0..=3)?).map(|_| self.pick(u, Kind::Event)).collect::<Result<_>>()?;
                let list = if events.is_empty() || u.ratio(1, 32)? { null() } else { events.as_ptr() };
                violated.rule(!list.is_null(), CL_INVALID_VALUE);
                let objects: Vec<_> = events.iter().map(|event| self.get(Kind::Event, *event).cloned()).collect();
                violated.rule(objects.iter().all(Option::is_some), CL_INVALID_EVENT);
                let objects: Vec<_> = objects.into_iter().flatten().collect();
                violated.rule(objects.windows(2).all(|pair| pair[0].context == pair[1].context), CL_INVALID_CONTEXT);
                let ends = |world: &Self, detail: &Detail| match detail {
                    Detail::Event(fate) => world.fate(*fate).expect("all are set"),
                    _ => 0,
                };
                let valid = violated.is_empty();
                if valid {
                    let failed = objects.iter().any(|object| ends(self, &object.detail) < 0);
                    violated.rule(!failed, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
                }
                let status = clWaitForEvents(events.len() as cl_uint, list);
                self.check(format!("clWaitForEvents({events:?})"), &violated, status);
                for (event, object) in events.iter().zip(&objects).filter(|_| valid) {
                    let name = CL_EVENT_COMMAND_EXECUTION_STATUS;
                    let ended: cl_int = info(|s, v, r| clGetEventInfo(*event, name, s, v, r));
                    assert_eq!(ended, ends(self, &object.detail), "the status of {object:?}");
                }
            }
        }
        Ok(())
    }

    /// Sets an argument of a kernel, or launches it.
    pub(crate) fn kernel_step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        if u.ratio(1, 3)? {
            return self.launch(u);
        }
        let k = self.pick(u, Kind::Kernel)?;
        let mut violated = Violated::default();
        let kernel = self.get(Kind::Kernel, k).cloned();
        violated.rule(kernel.is_some(), CL_INVALID_KERNEL);
        let (index, right_size) = (u.int_in_range(0..=4)?, u.ratio(15, 16)?);
        let context = kernel.map(|kernel| kernel.context);
        let (mut mem, mut sampler) = (self.pick(u, Kind::Mem)?, self.pick(u, Kind::Sampler)?);
        let number = 5u32;
        let mut arg = Arg::Set;
        let (size, value) = match index {
            0 => {
                // NULL is a pointer.
                if !mem.is_null()
                    && let Some(object) = self.get(Kind::Mem, mem)
                {
                    arg = Arg::Mem(object.number);
                    violated.rule(context.is_none_or(|context| context == object.context), CL_INVALID_CONTEXT);
                } else {
                    violated.rule(mem.is_null(), CL_INVALID_MEM_OBJECT);
                }
                (size_of::<cl_mem>(), (&raw mut mem).cast_const().cast())
            }
            1 => (4, (&raw const number).cast()),
            2 => (64, null()),
            _ => {
                let object = self.get(Kind::Sampler, sampler);
                violated.rule(index > 3 || object.is_some(), CL_INVALID_SAMPLER);
                let of_context = object.is_none_or(|object| context.is_none_or(|context| context == object.context));
                violated.rule(index > 3 || of_context, CL_INVALID_SAMPLER);
                (size_of::<cl_sampler>(), (&raw mut sampler).cast_const().cast())
            }
        };
        violated.rule(index < 4, CL_INVALID_ARG_INDEX);
        let size = if right_size || index == 2 { size } else { size + 1 };
        violated.rule(right_size || index == 2, CL_INVALID_ARG_SIZE);
        let status = clSetKernelArg(k, index, size, value);
        let call = format!("clSetKernelArg({k:?}, {index}, {size}: {mem:?} or {sampler:?})");
        if self.check(call, &violated, status)
            && let Detail::Kernel(args) = &mut self.get_mut(k).detail
        {
            args[index as usize] = arg;
        }
        Ok(())
    }

    fn launch(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (q, k) = (self.pick(u, Kind::Queue)?, self.pick(u, Kind::Kernel)?);
        let queue = self.get(Kind::Queue, q).map(|object| object.context);
        let waits = self.waits(u)?;
        let mut violated = Violated::default();
        violated.rule(queue.is_some(), CL_INVALID_COMMAND_QUEUE);
        self.wait_rules(&mut violated, &waits, queue);
        match self.get(Kind::Kernel, k).map(|kernel| (kernel.context, &kernel.detail)) {
            Some((context, Detail::Kernel(args))) => {
                violated.rule(queue.is_none_or(|queue| queue == context), CL_INVALID_CONTEXT);
                violated.rule(args.iter().all(|arg| *arg != Arg::Unset), CL_INVALID_KERNEL_ARGS);
                // The object must be alive, which nobody checks.
                if args.iter().any(|arg| matches!(arg, Arg::Mem(number) if self.numbered(*number).is_none())) {
                    return Ok(());
                }
            }
            _ => violated.rule(false, CL_INVALID_KERNEL),
        }
        let dims = if u.ratio(15, 16)? { u.int_in_range(1..=3)? } else { *u.choose(&[0, 4])? };
        let (global, local) = ([8usize, 4, 2], [u.int_in_range(0..=4)?, 2, 1]);
        // Since OpenCL 2.1, a launch without a size succeeds and does nothing.
        let g = if u.ratio(31, 32)? { global.as_ptr() } else { null() };
        let l = if !g.is_null() && u.arbitrary()? { local.as_ptr() } else { null() };
        violated.rule((1..=3).contains(&dims), CL_INVALID_WORK_DIMENSION);
        violated.rule(l.is_null() || (local[0] != 0 && 8 % local[0] == 0), CL_INVALID_WORK_GROUP_SIZE);
        violated.rule(l.is_null() || local[0] != 0, CL_INVALID_WORK_ITEM_SIZE);
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let status = clEnqueueNDRangeKernel(q, k, dims, null(), g, l, waits.count, waits.list(), out);
        let call = format!("launch ({q:?}, {k:?}, {dims}, {g:?}, {l:?} {local:?}, {}", waits.count);
        self.enqueued(call, (&violated, status), (&waits, event), queue);
        Ok(())
    }
}
