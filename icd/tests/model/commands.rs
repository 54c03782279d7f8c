//! Calls that enqueue commands on buffers, markers and barriers, and calls that wait for commands.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::contents::{Effect, Region, Step};
use super::operations::{pointer, rect_origin, rect_pitches, rect_region, rect_rules};
use super::world::{Detail, HOST, Handle, Kind, Mapping, Place, World, writes};

/// What a command waits for, and whether its event is wanted.
pub(crate) struct Waits {
    pub(crate) events: Vec<cl_event>,
    pub(crate) count: cl_uint,
    /// Whether the list is given.
    given: bool,
    pub(crate) wants_event: bool,
}

impl Waits {
    pub(crate) fn list(&self) -> *const cl_event {
        // A list of no events must be NULL.
        if self.given { self.events.as_ptr() } else { null() }
    }
}

/// A queue to enqueue a command in: its handle and context.
pub(crate) type Target = (Handle, Option<u64>);

impl World {
    /// A queue and a wait list, with their rules.
    pub(crate) fn target(&self, u: &mut Unstructured<'_>, violated: &mut Violated) -> Result<(Target, Waits)> {
        let queue = self.pick(u, Kind::Queue)?;
        self.target_queue(u, violated, queue)
    }

    /// A wait list for a command in this queue, with the rules.
    pub(crate) fn target_queue(
        &self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        queue: Handle,
    ) -> Result<(Target, Waits)> {
        let context = self.context_of(Kind::Queue, queue);
        violated.rule(context.is_some(), CL_INVALID_COMMAND_QUEUE);
        let waits = self.waits(u, context)?;
        self.wait_rules(violated, &waits, context);
        Ok(((queue, context), waits))
    }

    /// A wait list, most often of events of this context.
    pub(crate) fn waits(&self, u: &mut Unstructured<'_>, context: Option<u64>) -> Result<Waits> {
        let events: Vec<cl_event> = if u.arbitrary()? {
            Vec::new()
        } else {
            (0..u.int_in_range(1..=2)?).map(|_| self.pick_in(u, Kind::Event, context)).collect::<Result<_>>()?
        };
        let (mut count, mut given) = (events.len() as cl_uint, !events.is_empty());
        match u.int_in_range(0..=63)? {
            0 => count = cl_uint::from(count == 0),
            1 => given = !given && !events.is_empty(),
            _ => {}
        }
        Ok(Waits { events, count, given, wants_event: u.arbitrary()? })
    }

    /// The rules for a wait list. `queue` is the number of the queue's context.
    pub(crate) fn wait_rules(&self, violated: &mut Violated, waits: &Waits, queue: Option<u64>) {
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

    /// The commands whose events are in a wait list.
    pub(crate) fn waited(&self, waits: &Waits) -> Vec<usize> {
        let events = if waits.given { &waits.events[..] } else { &[] };
        let details = events.iter().filter_map(|event| self.get(Kind::Event, *event)).map(|event| &event.detail);
        details.filter_map(|detail| if let Detail::Event(command) = detail { Some(*command) } else { None }).collect()
    }

    /// Before a call that blocks: nothing may wait for the application, and the call fails if an event in the list has.
    pub(crate) fn before_blocking(&mut self, violated: &mut Violated, waits: &Waits) {
        self.settle();
        if violated.is_empty() {
            let failed =
                self.waited(waits).iter().any(|command| self.timeline.end(*command).is_some_and(|end| end < 0));
            violated.rule(!failed, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        }
    }

    /// Checks a command's status, and adds the command and its event.
    pub(crate) fn enqueued(
        &mut self,
        call: String,
        (violated, status): (&Violated, cl_int),
        (waits, event): (&Waits, cl_event),
        (queue, context): Target,
        (place, effect): (Place, Effect),
    ) -> bool {
        let call = format!("{call} in {queue:?} after {}: {:?} = {event:?}", waits.count, waits.events);
        let succeeded = self.check(call, violated, status);
        assert_eq!(!event.is_null(), succeeded && waits.wants_event, "{:?}", self.calls.last());
        if succeeded {
            let command = self.submit(queue, self.waited(waits), place, effect);
            if waits.wants_event {
                self.add(event, Kind::Event, context, Detail::Event(command));
            }
        } else if status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST {
            // The command was enqueued, and has failed.
            self.submit(queue, self.waited(waits), place, Effect::default());
        }
        succeeded
    }

    /// A command, or a call that waits for commands.
    pub(crate) fn command(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=31)? {
            0..=5 => self.transfer(u),
            6 | 7 => self.transfer_rect(u),
            8..=16 => self.enqueue_operation(u),
            17..=19 => self.map(u),
            20..=22 => self.unmap(u),
            23 | 24 => self.transfer_image(u),
            25 | 26 => self.synchronize(u),
            27 => self.migrate(u),
            28 => self.quiesce_and_compare(u),
            _ => self.wait(u),
        }
    }

    fn enqueue_operation(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let (target, waits) = self.target(u, &mut violated)?;
        let Some((operation, effect)) = self.operation(u, &mut violated, target.1)? else {
            return Ok(());
        };
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let status = operation.enqueue(target.0, (waits.count, waits.list(), out));
        let call = format!("{operation:?}");
        self.enqueued(call, (&violated, status), (&waits, event), target, (Place::Usual, effect));
        Ok(())
    }

    /// Reads or writes a buffer.
    fn transfer(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let mem = self.pick_buffer(u, context)?;
        let (offset, size) = self.range(u, mem)?;
        let (at, mut host) = self.host_part(u, size)?;
        if u.ratio(1, 32)? {
            host = null_mut();
        }
        violated.rule(!host.is_null(), CL_INVALID_VALUE);
        let (reads, blocks) = (u.arbitrary()?, u.ratio(1, 4)?);
        let mut effect = Effect::default();
        if let Some(buffer) = self.buffer(&mut violated, mem, context) {
            violated.rule(buffer.holds(offset, size), CL_INVALID_VALUE);
            violated.rule(if reads { buffer.host_reads() } else { buffer.host_writes() }, CL_INVALID_OPERATION);
            let (inside, outside) = (buffer.region(offset, size), Region::linear(HOST, at, size));
            effect = if reads { Effect::copy(inside, outside) } else { Effect::copy(outside, inside) };
        }
        if blocks {
            self.before_blocking(&mut violated, &waits);
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let (n, l, blocks) = (waits.count, waits.list(), cl_bool::from(blocks));
        let status = if reads {
            clEnqueueReadBuffer(q, mem, blocks, offset, size, host, n, l, out)
        } else {
            clEnqueueWriteBuffer(q, mem, blocks, offset, size, host, n, l, out)
        };
        let call = format!("reads: {reads}, blocks: {blocks} ({mem:?}, {offset}, {size}, host + {at})");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect));
        Ok(())
    }

    /// Reads or writes a rectangle in a buffer.
    fn transfer_rect(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let mem = self.pick_buffer(u, context)?;
        let region = rect_region(u)?;
        let (origin, outer) = (rect_origin(u)?, rect_origin(u)?);
        let (pitches, outer_pitches) = (rect_pitches(u, region)?, rect_pitches(u, region)?);
        let reads = u.arbitrary()?;
        let buffer = self.buffer(&mut violated, mem, context);
        let inside = rect_rules(&mut violated, buffer.as_ref(), origin, region, pitches);
        if let Some(buffer) = &buffer {
            violated.rule(if reads { buffer.host_reads() } else { buffer.host_writes() }, CL_INVALID_OPERATION);
        }
        let mut fits = Violated::default();
        let outside = rect_rules(&mut fits, None, outer, region, outer_pitches);
        // Nothing says how large the host memory is.
        if region.is_some() && outer.is_some() && outside.is_none() && violated.is_empty() {
            let valid = |[row, slice]: [usize; 2]| {
                let [bytes, rows, _] = region.unwrap_or_default();
                let pitch = if row == 0 { bytes } else { row };
                (row == 0 || row >= bytes) && (slice == 0 || slice >= pitch * rows && slice.is_multiple_of(pitch))
            };
            if valid(outer_pitches) {
                return Ok(());
            }
        }
        violated.rule(fits.is_empty(), CL_INVALID_VALUE);
        let mut effect = Effect::default();
        if let (Some(inside), Some(outside)) = (inside, outside) {
            effect = if reads { Effect::copy(inside, outside) } else { Effect::copy(outside, inside) };
        }
        let host: Handle = if u.ratio(1, 32)? { null_mut() } else { self.common.host.cast() };
        violated.rule(!host.is_null(), CL_INVALID_VALUE);
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let (n, l) = (waits.count, waits.list());
        let (o, h, r) = (pointer(&origin), pointer(&outer), pointer(&region));
        let ([a, b], [c, d]) = (pitches, outer_pitches);
        let status = if reads {
            clEnqueueReadBufferRect(q, mem, CL_FALSE, o, h, r, a, b, c, d, host, n, l, out)
        } else {
            clEnqueueWriteBufferRect(q, mem, CL_FALSE, o, h, r, a, b, c, d, host, n, l, out)
        };
        let call =
            format!("rect, reads: {reads} ({mem:?}, {origin:?} {outer:?} {region:?} {pitches:?} {outer_pitches:?})");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect));
        Ok(())
    }

    /// Maps a part of a buffer or an image. A wait list that fails would take the mapping back; so there is none.
    fn map(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let q = self.pick(u, Kind::Queue)?;
        let context = self.context_of(Kind::Queue, q);
        let mem = self.pick_mem(u, context, |_| true)?;
        let flags = if u.ratio(15, 16)? { *u.choose(&[1, 1, 2, 3, 4])? } else { u.int_in_range(0..=8)? };
        let blocks = u.arbitrary()?;
        if blocks {
            self.quiesce();
        }
        let mut violated = Violated::default();
        violated.rule(context.is_some(), CL_INVALID_COMMAND_QUEUE);
        // CL_MAP_WRITE_INVALIDATE_REGION excludes the others. What a map without flags does is not said.
        if flags == 0 {
            return Ok(());
        }
        violated.rule(flags < 5, CL_INVALID_VALUE);
        if self.memory(mem).is_some_and(|memory| memory.image.is_some()) {
            return self.map_image(u, (q, context), mem, (flags, blocks), violated);
        }
        let (offset, size) = self.range(u, mem)?;
        violated.rule(size != 0, CL_INVALID_VALUE);
        let buffer = self.buffer(&mut violated, mem, context);
        if let Some(buffer) = &buffer {
            let inside = buffer.holds(offset, size);
            violated.rule(inside, CL_INVALID_VALUE);
            let region = if inside { buffer.region(offset, size) } else { buffer.region(0, 0) };
            self.map_rules(&mut violated, mem, flags, &region);
        }
        let mut error = 1;
        let blocking = cl_bool::from(blocks);
        let pointer = clEnqueueMapBuffer(q, mem, blocking, flags, offset, size, 0, null(), null_mut(), &mut error);
        let call = format!("map in {q:?} ({mem:?}, {blocks}, {flags}, {offset}, {size}) = {pointer:?}");
        if self.check(call, &violated, error) {
            let region = buffer.expect("a buffer").region(offset, size);
            self.mapped(u, (q, mem), (pointer, size, size), (flags, blocks), region)?;
        }
        Ok(())
    }

    /// The rules for mapping a region of a memory object, except those for the region.
    pub(crate) fn map_rules(&self, violated: &mut Violated, mem: Handle, flags: cl_map_flags, region: &Region) {
        let memory = self.memory(mem).expect("a memory object");
        violated.rule(flags & CL_MAP_READ == 0 || memory.host_reads(), CL_INVALID_OPERATION);
        violated.rule(!writes(flags) || memory.host_writes(), CL_INVALID_OPERATION);
        if !writes(flags) {
            return;
        }
        for other in self.all(Kind::Mem) {
            let other = self.memory(other).expect("a memory object");
            for map in other.maps.iter().filter(|map| map.writes() && map.region.touches(region)) {
                let shares = super::operations::shares_bytes(&map.region, region);
                violated.rule(!shares, CL_INVALID_OPERATION);
                violated.allow(true, CL_INVALID_OPERATION);
            }
        }
    }

    /// Adds a mapping with these pitches. The application reads and writes the region if it is mapped already.
    pub(crate) fn mapped(
        &mut self,
        u: &mut Unstructured<'_>,
        (q, mem): (Handle, Handle),
        (pointer, row, slice): (Handle, usize, usize),
        (flags, blocks): (cl_map_flags, bool),
        region: Region,
    ) -> Result<()> {
        let number = self.number();
        let step = Step::Map { mapping: number, region: region.clone(), flags };
        let (mut reads, mut written_region) = (vec![region.clone()], Vec::new());
        if writes(flags) {
            std::mem::swap(&mut reads, &mut written_region);
        }
        let effect = Effect { reads, writes: written_region, step: Some(step), ..Effect::default() };
        self.submit(q, Vec::new(), Place::Usual, effect);
        let mut written = None;
        if blocks {
            let [bytes, rows, slices] = region.extent;
            let places = (0..slices).flat_map(|z| (0..rows).map(move |y| z * slice + y * row));
            let places: Vec<*mut u8> = places.map(|at| pointer.cast::<u8>().wrapping_add(at)).collect();
            if flags & CL_MAP_WRITE_INVALIDATE_REGION == 0 && !self.timeline.is_mapped(&region) {
                // SAFETY: the region is mapped, and no command accesses it.
                let row = |place: &*mut u8| unsafe { std::slice::from_raw_parts(*place, bytes) }.to_vec();
                let actual: Vec<u8> = places.iter().flat_map(row).collect();
                self.compare(&format!("the mapping {pointer:?} of {mem:?}"), &region, &actual);
            }
            let free = !self.timeline.is_mapped(&region);
            if writes(flags) && free && u.ratio(3, 4)? {
                let new = self.bytes(region.size());
                for (place, row) in places.iter().zip(new.chunks(bytes)) {
                    // SAFETY: as above; it is mapped for writing.
                    unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), *place, row.len()) };
                }
                written = Some(new);
            }
        }
        let mapping = Mapping { number, pointer: pointer.addr(), region, flags, written };
        self.memory_mut(mem).maps.push(mapping);
        Ok(())
    }

    fn unmap(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let mem = self.pick_mem(u, context, |memory| !memory.maps.is_empty())?;
        // A pointer of this object, or of another one.
        let source = if u.ratio(15, 16)? { mem } else { self.pick(u, Kind::Mem)? };
        let pointer = match self.memory(source) {
            Some(memory) if !memory.maps.is_empty() => u.choose(&memory.maps)?.pointer,
            _ => self.common.host.addr() + 1,
        };
        let memory = self.memory(mem).cloned();
        violated.rule(memory.is_some(), CL_INVALID_MEM_OBJECT);
        let own = self.context_of(Kind::Mem, mem);
        violated.rule(own.is_none() || context.is_none() || own == context, CL_INVALID_CONTEXT);
        let mut found = None;
        let mut effect = Effect::default();
        if let Some(memory) = &memory {
            found = memory.maps.iter().rposition(|map| map.pointer == pointer);
            violated.rule(found.is_some(), CL_INVALID_VALUE);
            // Which of several mappings with this pointer ends is not said.
            if memory.maps.iter().filter(|map| map.pointer == pointer).count() > 1 {
                return Ok(());
            }
        }
        if let (Some(memory), Some(found)) = (&memory, found) {
            let Mapping { number, region, flags, written, .. } = memory.maps[found].clone();
            let step = Some(Step::Unmap { mapping: number, written });
            let (reads, changed) = if writes(flags) { (vec![], vec![region]) } else { (vec![region], vec![]) };
            effect = Effect { reads, writes: changed, step, ..Effect::default() };
            // A command that fails leaves the memory mapped, but the count is that of the calls: not modelled.
            let waited = self.waited(&waits);
            if waited.iter().any(|command| self.timeline.end(*command) != Some(CL_COMPLETE)) {
                return Ok(());
            }
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let target = std::ptr::without_provenance_mut(pointer);
        let status = clEnqueueUnmapMemObject(q, mem, target, waits.count, waits.list(), out);
        let call = format!("unmap ({mem:?}, {pointer:#x})");
        if self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect)) {
            self.memory_mut(mem).maps.remove(found.expect("a mapping"));
        }
        Ok(())
    }

    /// A marker or a barrier.
    fn synchronize(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let marks = u.arbitrary()?;
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let (n, l, of_all) = (waits.count, waits.list(), waits.count == 0);
        let (status, place) = if marks {
            (clEnqueueMarkerWithWaitList(q, n, l, out), if of_all { Place::Marker } else { Place::Usual })
        } else {
            (clEnqueueBarrierWithWaitList(q, n, l, out), Place::Barrier { of_all })
        };
        let call = format!("marker: {marks}");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (place, Effect::default()));
        Ok(())
    }

    fn migrate(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let ((q, context), waits) = self.target(u, &mut violated)?;
        let mems = [self.pick_mem(u, context, |_| true)?, self.pick_mem(u, context, |_| true)?];
        let (count, flags) = (u.int_in_range(0..=2)?, u.int_in_range(0..=4)?);
        violated.rule(count != 0 && flags < 4, CL_INVALID_VALUE);
        for mem in &mems[..count as usize] {
            let own = self.context_of(Kind::Mem, *mem);
            violated.rule(own.is_some(), CL_INVALID_MEM_OBJECT);
            violated.rule(own.is_none() || context.is_none() || own == context, CL_INVALID_CONTEXT);
        }
        let mut effect = Effect::default();
        if flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED != 0 && violated.is_empty() {
            let memory = mems[..count as usize].iter().map(|mem| self.memory(*mem).expect("a memory object"));
            let regions: Vec<Region> = memory.map(|memory| memory.region(0, memory.size)).collect();
            let sizes: Vec<usize> = regions.iter().map(Region::size).collect();
            effect = Effect::of(Vec::new(), regions, move |_| sizes.iter().map(|size| vec![None; *size]).collect());
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let status = clEnqueueMigrateMemObjects(q, count, mems.as_ptr(), flags, waits.count, waits.list(), out);
        let call = format!("migrate ({count}, {mems:?}, {flags})");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, effect));
        Ok(())
    }

    /// A call that waits, or makes commands start.
    fn wait(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let q = self.pick(u, Kind::Queue)?;
        let mut violated = Violated::default();
        match u.int_in_range(0..=2)? {
            0 => {
                violated.rule(self.line(q).is_some(), CL_INVALID_COMMAND_QUEUE);
                let status = clFlush(q);
                self.check(format!("clFlush({q:?})"), &violated, status);
            }
            1 => {
                self.settle();
                violated.rule(self.line(q).is_some(), CL_INVALID_COMMAND_QUEUE);
                let status = clFinish(q);
                self.check(format!("clFinish({q:?})"), &violated, status);
            }
            _ => self.wait_for_events(u)?,
        }
        Ok(())
    }

    fn wait_for_events(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        self.settle();
        let mut violated = Violated::default();
        let events: Vec<cl_event> =
            (0..u.int_in_range(0..=3)?).map(|_| self.pick(u, Kind::Event)).collect::<Result<_>>()?;
        let list = if events.is_empty() || u.ratio(1, 32)? { null() } else { events.as_ptr() };
        violated.rule(!list.is_null(), CL_INVALID_VALUE);
        let objects: Vec<_> = events.iter().map(|event| self.get(Kind::Event, *event).cloned()).collect();
        violated.rule(objects.iter().all(Option::is_some), CL_INVALID_EVENT);
        let objects: Vec<_> = objects.into_iter().flatten().collect();
        violated.rule(objects.windows(2).all(|pair| pair[0].context == pair[1].context), CL_INVALID_CONTEXT);
        let ends: Vec<cl_int> = objects
            .iter()
            .map(|object| match &object.detail {
                Detail::Event(command) => self.timeline.end(*command).expect("all are set"),
                other => unreachable!("{other:?} is not an event"),
            })
            .collect();
        let valid = violated.is_empty();
        violated.rule(!valid || ends.iter().all(|end| *end >= 0), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        let status = clWaitForEvents(events.len() as cl_uint, list);
        self.check(format!("clWaitForEvents({events:?})"), &violated, status);
        for ((event, object), end) in events.iter().zip(&objects).zip(ends).filter(|_| valid) {
            let name = CL_EVENT_COMMAND_EXECUTION_STATUS;
            let ended: cl_int = info(|s, v, r| clGetEventInfo(*event, name, s, v, r));
            assert_eq!(ended, end, "the status of {object:?}");
        }
        Ok(())
    }
}
