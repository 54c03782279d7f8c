//! Command buffers: creation, recording, enqueuing, changes of recorded kernels.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::contents::Effect;
use super::kernels::{self, Kernel, Sizes};
use super::world::{Detail, Handle, Kind, Place, World};

/// A queue that a command buffer was created with.
#[derive(Clone, Debug)]
struct OwnQueue {
    handle: usize,
    number: u64,
    device: usize,
    in_order: bool,
}

/// A recorded kernel.
#[derive(Clone, Debug)]
struct Launch {
    kernel: Kernel,
    sizes: Sizes,
    /// What may be changed.
    fields: cl_bitfield,
    /// The handle, if the application has one.
    command: Option<usize>,
}

/// A recorded command.
#[derive(Clone)]
struct Recorded {
    queue: usize,
    /// The commands whose sync points it waits for.
    waits: Vec<usize>,
    /// The sync point, if the application has it.
    point: Option<cl_uint>,
    is_barrier: bool,
    effect: Effect,
    launch: Option<Launch>,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} in {} after {:?}, barrier: {}", self.point, self.queue, self.waits, self.is_barrier)
    }
}

/// What the model knows of a command buffer.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    queues: Vec<OwnQueue>,
    flags: cl_bitfield,
    finalized: bool,
    commands: Vec<Recorded>,
    /// The end of the last execution, and its queue if there is one.
    last: Option<(usize, Option<u64>)>,
}

impl Recording {
    fn state(&self) -> cl_uint {
        let complete = |command: &Recorded| command.launch.as_ref().is_none_or(|launch| launch.kernel.is_complete());
        match (self.finalized, self.commands.iter().all(complete)) {
            (false, _) => CL_COMMAND_BUFFER_STATE_RECORDING_KHR,
            (true, false) => CL_COMMAND_BUFFER_STATE_FINALIZED_KHR,
            (true, true) => CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR,
        }
    }
}

/// All that kernels may have changed.
const FIELDS: cl_bitfield = CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR
    | CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR
    | CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR
    | CL_MUTABLE_DISPATCH_ARGUMENTS_KHR
    | CL_MUTABLE_DISPATCH_EXEC_INFO_KHR;

/// The arguments that recording functions have in common, as they are passed.
struct Arguments {
    buffer: Handle,
    queue: Handle,
    list: Vec<cl_bitfield>,
    points: Vec<cl_uint>,
    count: cl_uint,
    given: bool,
    wants_point: bool,
    wants_handle: bool,
    /// The index of the queue, and of the commands whose sync points the list has.
    place: usize,
    waits: Vec<usize>,
}

impl World {
    fn recording(&self, handle: Handle) -> Option<&Recording> {
        match self.get(Kind::CommandBuffer, handle).map(|object| &object.detail) {
            Some(Detail::CommandBuffer(recording)) => Some(recording),
            _ => None,
        }
    }

    fn recording_mut(&mut self, handle: Handle) -> &mut Recording {
        match &mut self.get_mut(handle).detail {
            Detail::CommandBuffer(recording) => recording,
            other => unreachable!("{other:?} is not a command buffer"),
        }
    }

    /// A call about command buffers.
    pub(crate) fn command_buffer_step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=31)? {
            0..=2 => self.create_command_buffer(u),
            3..=12 => self.record_operation(u),
            13..=17 => self.record_kernel(u),
            18 | 19 => self.record_barrier(u),
            20..=22 => self.finalize(u),
            23..=28 => self.enqueue_command_buffer(u),
            29 => self.remap(u),
            _ => self.update(u),
        }
    }

    fn create_command_buffer(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let first = self.pick(u, Kind::Queue)?;
        let queues = [first, self.pick_in(u, Kind::Queue, self.context_of(Kind::Queue, first))?];
        let count = *u.choose(&[1, 1, 1, 1, 1, 2, 2, 0])?;
        let used = &queues[..count];
        let list = if u.ratio(1, 64)? { null() } else { queues.as_ptr() };
        let mut violated = Violated::default();
        violated.rule(count != 0 && !list.is_null(), CL_INVALID_VALUE);
        let contexts: Vec<_> = used.iter().map(|queue| self.context_of(Kind::Queue, *queue)).collect();
        violated.rule(contexts.iter().all(Option::is_some), CL_INVALID_COMMAND_QUEUE);
        let known: Vec<u64> = contexts.into_iter().flatten().collect();
        violated.rule(known.iter().all(|context| *context == known[0]), CL_INVALID_CONTEXT);
        // The same queue twice is not excluded, but which of the two a command is in cannot be said.
        if count == 2 && queues[0] == queues[1] {
            return Ok(());
        }
        let flags = if u.arbitrary()? { 0 } else { u.int_in_range(1..=3)? };
        let properties = match u.int_in_range(0..=15)? {
            0 => vec![CL_COMMAND_BUFFER_FLAGS_KHR, flags, CL_COMMAND_BUFFER_FLAGS_KHR, flags, 0],
            1 => vec![1, 1, 0],
            2 => vec![CL_COMMAND_BUFFER_FLAGS_KHR, 1 << 20, 0],
            3 => vec![0],
            _ if flags == 0 => Vec::new(),
            _ => vec![CL_COMMAND_BUFFER_FLAGS_KHR, flags, 0],
        };
        let valid = matches!(properties[..], [] | [0]) || properties[1..] == [flags, 0] && properties[0] != 1;
        violated.rule(valid, CL_INVALID_VALUE);
        let flags = if properties.len() < 2 { 0 } else { flags };
        let properties_list = if properties.is_empty() { null() } else { properties.as_ptr() };
        let mut error = 1;
        let made = clCreateCommandBufferKHR(count as cl_uint, list, properties_list, &mut error);
        let call = format!("clCreateCommandBufferKHR({count}, {queues:?}, {properties:?}) = {made:?}");
        let succeeded = self.check(call, &violated, error);
        assert_eq!(made.is_null(), !succeeded);
        if succeeded {
            let own = |queue: &Handle| {
                let (object, line) =
                    (self.get(Kind::Queue, *queue).expect("a queue"), self.line(*queue).expect("a queue"));
                OwnQueue {
                    handle: queue.expose_provenance(),
                    number: object.number,
                    device: line.device,
                    in_order: line.in_order(),
                }
            };
            let queues = used.iter().map(own).collect();
            let recording = Recording { queues, flags, finalized: false, commands: Vec::new(), last: None };
            self.add(made, Kind::CommandBuffer, Some(known[0]), Detail::CommandBuffer(recording));
        }
        Ok(())
    }

    /// The arguments for recording into a command buffer, with their rules.
    fn arguments(&self, u: &mut Unstructured<'_>, violated: &mut Violated) -> Result<Arguments> {
        let buffer = self.pick_recording(u, |recording| !recording.finalized)?;
        let recording = self.recording(buffer);
        let context = self.context_of(Kind::CommandBuffer, buffer);
        violated.rule(recording.is_some(), CL_INVALID_COMMAND_BUFFER_KHR);
        let (mut queue, mut place) = (null_mut(), 0);
        let own = recording.map_or(&[][..], |recording| &recording.queues);
        if u.ratio(1, 16)? {
            queue = self.pick(u, Kind::Queue)?;
        } else if own.len() > 1 || u.ratio(1, 4)? && !own.is_empty() {
            let chosen = u.choose(own)?;
            let handle: Handle = std::ptr::with_exposed_provenance_mut(chosen.handle);
            // It may have been released, and its handle be another's.
            queue = if self.is_live(chosen.number) { handle } else { null_mut() };
        }
        if queue.is_null() {
            violated.rule(own.len() < 2, CL_INVALID_COMMAND_QUEUE);
        } else {
            let number = self.get(Kind::Queue, queue).map(|object| object.number);
            let listed = own.iter().position(|queue| Some(queue.number) == number);
            violated.rule(listed.is_some(), CL_INVALID_COMMAND_QUEUE);
            let of_queue = self.context_of(Kind::Queue, queue);
            let same = of_queue.is_none() || context.is_none() || of_queue == context;
            violated.rule(same, CL_INVALID_CONTEXT);
            place = listed.unwrap_or(0);
        }
        violated.rule(recording.is_none_or(|recording| !recording.finalized), CL_INVALID_OPERATION);
        let mut points = Vec::new();
        let mut waits = Vec::new();
        if let Some(recording) = recording {
            let known: Vec<(usize, cl_uint)> =
                recording.commands.iter().enumerate().filter_map(|(at, command)| Some((at, command.point?))).collect();
            for _ in 0..u.int_in_range(0..=2)? {
                if !known.is_empty() {
                    let (at, point) = *u.choose(&known)?;
                    waits.push(at);
                    points.push(point);
                }
            }
        }
        if u.ratio(1, 32)? {
            points.push(0xdead_beef);
            violated.rule(false, CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
        }
        let (mut count, mut given) = (points.len() as cl_uint, !points.is_empty());
        match u.int_in_range(0..=63)? {
            0 => count = cl_uint::from(count == 0),
            1 => given = false,
            _ => {}
        }
        violated.rule((count != 0) == given, CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
        let wants_point = u.ratio(3, 4)?;
        Ok(Arguments {
            buffer,
            queue,
            list: Vec::new(),
            points,
            count,
            given,
            wants_point,
            wants_handle: false,
            place,
            waits,
        })
    }

    /// The rules of commands other than kernels.
    fn immutable(u: &mut Unstructured<'_>, violated: &mut Violated, arguments: &mut Arguments) -> Result<()> {
        match u.int_in_range(0..=63)? {
            0 => arguments.list = vec![CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, 1, 0],
            1 => arguments.wants_handle = true,
            2 => arguments.list = vec![0],
            _ => {}
        }
        violated.rule(arguments.list.len() < 2 && !arguments.wants_handle, CL_INVALID_VALUE);
        Ok(())
    }

    /// Records a command by a call, and checks its status.
    fn record(
        &mut self,
        call: String,
        violated: &Violated,
        arguments: Arguments,
        (is_barrier, effect, launch): (bool, Effect, Option<Launch>),
        function: impl FnOnce(super::operations::Record) -> cl_int,
    ) {
        let Arguments { buffer, queue, list, points, count, given, wants_point, wants_handle, place, waits } =
            arguments;
        let (mut point, mut handle): (cl_uint, Handle) = (0, null_mut());
        let properties = if list.is_empty() { null() } else { list.as_ptr() };
        let point_list = if given { points.as_ptr() } else { null() };
        let point_out: *mut cl_uint = if wants_point { &mut point } else { null_mut() };
        let handle_out: *mut Handle = if wants_handle { &mut handle } else { null_mut() };
        let status = function((buffer, queue, properties, (count, point_list, point_out, handle_out)));
        let call = format!("record {call} ({buffer:?}, {queue:?}, {list:?}, {count}: {points:?}) = {point} {handle:?}");
        if self.check(call, violated, status) {
            let number = wants_point.then_some(point);
            let known =
                self.recording(buffer).expect("a command buffer").commands.iter().filter_map(|command| command.point);
            assert!(!wants_point || known.into_iter().all(|other| other != point), "two commands have a sync point");
            let launch =
                launch.map(|launch| Launch { command: wants_handle.then(|| handle.expose_provenance()), ..launch });
            let recorded = Recorded { queue: place, waits, point: number, is_barrier, effect, launch };
            self.recording_mut(buffer).commands.push(recorded);
        }
    }

    fn record_operation(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let mut arguments = self.arguments(u, &mut violated)?;
        Self::immutable(u, &mut violated, &mut arguments)?;
        let context = self.context_of(Kind::CommandBuffer, arguments.buffer);
        let Some((operation, effect)) = self.operation(u, &mut violated, context)? else {
            return Ok(());
        };
        let call = format!("{operation:?}");
        self.record(call, &violated, arguments, (false, effect, None), |record| operation.record(record));
        Ok(())
    }

    fn record_barrier(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let mut arguments = self.arguments(u, &mut violated)?;
        Self::immutable(u, &mut violated, &mut arguments)?;
        let function =
            |(c, q, p, (n, l, s, h)): super::operations::Record| clCommandBarrierWithWaitListKHR(c, q, p, n, l, s, h);
        self.record("barrier".to_owned(), &violated, arguments, (true, Effect::default(), None), function);
        Ok(())
    }

    fn record_kernel(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let mut arguments = self.arguments(u, &mut violated)?;
        let context = self.context_of(Kind::CommandBuffer, arguments.buffer);
        let k = self.pick_in(u, Kind::Kernel, context)?;
        if u.ratio(15, 16)? {
            self.complete(u, k)?;
        }
        let kernel = self.kernel_for(&mut violated, k, context);
        let sizes = Sizes::any(u)?;
        sizes.rules(&mut violated);
        let is_mutable = self
            .recording(arguments.buffer)
            .is_some_and(|recording| recording.flags & CL_COMMAND_BUFFER_MUTABLE_KHR != 0);
        let mut fields = FIELDS;
        match u.int_in_range(0..=15)? {
            0 => {
                arguments.list = vec![2, 1, 0];
                violated.rule(false, CL_INVALID_VALUE);
            }
            1..=4 => {
                fields = u.int_in_range(0..=31)?;
                arguments.list = vec![CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, fields, 0];
            }
            _ => {}
        }
        arguments.wants_handle = u.arbitrary()?;
        let mut launch = None;
        if let Some(kernel) = kernel {
            if !kernel.is_complete() {
                // Whether a command of an immutable command buffer may be set later is not said.
                if !is_mutable && fields & CL_MUTABLE_DISPATCH_ARGUMENTS_KHR != 0 && !arguments.list.is_empty() {
                    return Ok(());
                }
                let later = is_mutable && fields & CL_MUTABLE_DISPATCH_ARGUMENTS_KHR != 0;
                violated.rule(later, CL_INVALID_KERNEL_ARGS);
            }
            if !self.is_alive(&kernel) {
                return Ok(());
            }
            launch = Some(Launch { kernel, sizes: sizes.clone(), fields, command: None });
        }
        let call = format!("kernel {k:?} {sizes:?}");
        let [o, g, l] = sizes.pointers();
        let function = |(c, q, p, (n, w, s, h)): super::operations::Record| {
            clCommandNDRangeKernelKHR(c, q, p, k, sizes.dims, o, g, l, n, w, s, h)
        };
        self.record(call, &violated, arguments, (false, Effect::default(), launch), function);
        Ok(())
    }

    fn finalize(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let buffer = self.pick_recording(u, |recording| !recording.finalized)?;
        let mut violated = Violated::default();
        let recording = self.recording(buffer);
        violated.rule(recording.is_some(), CL_INVALID_COMMAND_BUFFER_KHR);
        if let Some(recording) = recording {
            violated.rule(!recording.finalized, CL_INVALID_OPERATION);
            // Most command buffers have some commands.
            if recording.commands.len() < 4 && u.ratio(7, 8)? {
                return Ok(());
            }
        }
        let status = clFinalizeCommandBufferKHR(buffer);
        if self.check(format!("clFinalizeCommandBufferKHR({buffer:?})"), &violated, status) {
            self.recording_mut(buffer).finalized = true;
        }
        Ok(())
    }

    /// What the commands of a command buffer do. `None` if that is not defined.
    fn effects(&self, recording: &Recording) -> Option<Vec<Effect>> {
        let usable = |effect: &Effect| effect.regions().all(|region| !self.is_freed(region.root));
        let effect = |command: &Recorded| {
            let effect = match &command.launch {
                Some(launch) if !self.is_alive(&launch.kernel) => return None,
                Some(launch) if launch.kernel.is_complete() => kernels::effect(&launch.kernel, &launch.sizes)?,
                Some(_) => Effect::default(),
                None => command.effect.clone(),
            };
            usable(&effect).then_some(effect)
        };
        recording.commands.iter().map(effect).collect()
    }

    /// A command buffer, most often one of these.
    fn pick_recording(&self, u: &mut Unstructured<'_>, wanted: impl Fn(&Recording) -> bool) -> Result<Handle> {
        let mut all = self.all(Kind::CommandBuffer);
        all.retain(|buffer| self.recording(*buffer).is_some_and(&wanted));
        if all.is_empty() || u.ratio(1, 8)? { self.pick(u, Kind::CommandBuffer) } else { Ok(*u.choose(&all)?) }
    }

    fn enqueue_command_buffer(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let is_ready = |recording: &Recording| recording.state() == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
        let buffer = self.pick_recording(u, is_ready)?;
        let recording = self.recording(buffer).cloned();
        let mut context = self.context_of(Kind::CommandBuffer, buffer);
        let mut violated = Violated::default();
        violated.rule(recording.is_some(), CL_INVALID_COMMAND_BUFFER_KHR);
        // Its queues, or others.
        let own = recording.as_ref().map_or(&[][..], |recording| &recording.queues);
        let mut queues: Vec<Handle> = Vec::new();
        if own.iter().any(|queue| !self.is_live(queue.number)) || u.ratio(1, 4)? {
            for own in own {
                let fits = |queue: &Handle| self.line(*queue).is_some_and(|line| line.device == own.device);
                let mut all = self.all(Kind::Queue);
                all.retain(|queue| fits(queue) && self.context_of(Kind::Queue, *queue) == context);
                queues.push(if all.is_empty() || u.ratio(1, 16)? {
                    self.pick(u, Kind::Queue)?
                } else {
                    *u.choose(&all)?
                });
            }
            if u.ratio(1, 32)? {
                queues.push(self.pick(u, Kind::Queue)?);
            }
        }
        let mut count = queues.len() as cl_uint;
        if u.ratio(1, 32)? {
            count = cl_uint::from(count == 0);
        }
        let list = if queues.is_empty() { null() } else { queues.as_ptr() };
        violated.rule(list.is_null() == (count == 0), CL_INVALID_VALUE);
        if recording.is_some() {
            violated.rule(count == 0 || count as usize == own.len(), CL_INVALID_VALUE);
        }
        for (at, queue) in queues.iter().take(count as usize).enumerate() {
            let own = own.get(at);
            let line = self.line(*queue);
            violated.rule(line.is_some(), CL_INVALID_COMMAND_QUEUE);
            if let (Some(line), Some(own)) = (line, own) {
                violated.rule(line.device == own.device, CL_INVALID_DEVICE);
                violated.rule(self.context_of(Kind::Queue, *queue) == context, CL_INVALID_CONTEXT);
            }
        }
        if let Some(recording) = &recording {
            violated.rule(recording.state() == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR, CL_INVALID_OPERATION);
        } else {
            context = None;
        }
        let waits = self.waits(u, context)?;
        self.wait_rules(&mut violated, &waits, context);
        let mut effects = Vec::new();
        if let Some(recording) = &recording
            && violated.is_empty()
        {
            match self.effects(recording) {
                Some(defined) => effects = defined,
                None => return Ok(()),
            }
        }
        let used: Vec<Handle> = if count == 0 {
            own.iter().map(|queue| std::ptr::with_exposed_provenance_mut(queue.handle)).collect()
        } else {
            queues.clone()
        };
        // An execution must not begin before the last one has ended, unless the application has asked for that.
        let queue_number =
            if used.len() == 1 { self.get(Kind::Queue, used[0]).map(|queue| queue.number) } else { None };
        if let Some(recording) = &recording
            && violated.is_empty()
            && recording.flags & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR == 0
            && let Some((_, last)) = recording.last
        {
            let ordered =
                last.is_some() && last == queue_number && self.line(used[0]).is_some_and(|line| line.in_order());
            if !ordered {
                self.quiesce();
            }
        }
        let mut event: cl_event = null_mut();
        let status = clEnqueueCommandBufferKHR(count, list, buffer, waits.count, waits.list(), &mut event);
        let call =
            format!("enqueue {buffer:?} in {queues:?} ({count}) after {}: {:?} = {event:?}", waits.count, waits.events);
        if self.check(call, &violated, status) {
            let recording = recording.expect("a command buffer");
            let waited = self.waited(&waits);
            let end = self.execute(&recording, effects, (&used, waited));
            self.recording_mut(buffer).last = Some((end, queue_number));
            if waits.wants_event {
                self.add(event, Kind::Event, context, Detail::Event(end));
            } else {
                self.last_events.push(event);
            }
        }
        Ok(())
    }

    /// Adds an execution of a command buffer. Returns its end.
    fn execute(
        &mut self,
        recording: &Recording,
        effects: Vec<Effect>,
        (queues, waits): (&[Handle], Vec<usize>),
    ) -> usize {
        let single = if let [queue] = queues { Some(*queue) } else { None };
        // Nothing orders commands in several queues but their events.
        let begin = match single {
            Some(queue) => self.submit(queue, waits, Place::Usual, Effect::default()),
            None => self.timeline.push(waits, Vec::new(), Effect::default()),
        };
        let mut last = vec![None; queues.len()];
        let mut barriers: Vec<usize> = Vec::new();
        let mut all: Vec<usize> = Vec::new();
        for (command, effect) in recording.commands.iter().zip(effects) {
            let mut follows: Vec<usize> = command.waits.iter().map(|at| all[*at]).collect();
            follows.extend(last[command.queue]);
            follows.extend(&barriers);
            if command.is_barrier && command.waits.is_empty() {
                // Of all commands in its queue: the text of the function and the note differ on others.
                let same = recording.commands.iter().zip(&all).filter(|(other, _)| other.queue == command.queue);
                follows.extend(same.map(|(_, at)| *at));
            }
            let at = self.timeline.push(vec![begin], follows, effect);
            if recording.queues[command.queue].in_order {
                last[command.queue] = Some(at);
            }
            if command.is_barrier {
                barriers.push(at);
            }
            all.push(at);
        }
        match single {
            Some(queue) => {
                let end = self.submit(queue, vec![begin], Place::Usual, Effect::default());
                self.timeline.commands[end].follows.extend(all);
                end
            }
            None => self.timeline.push(vec![begin], all, Effect::default()),
        }
    }

    /// Compares what queries say about a command buffer.
    pub(crate) fn describe_command_buffer(&self, handle: Handle) {
        let recording = self.recording(handle).expect("a command buffer");
        let ask = |name| move |s, v, r| clGetCommandBufferInfoKHR(handle, name, s, v, r);
        assert_eq!(info::<cl_uint>(ask(CL_COMMAND_BUFFER_STATE_KHR)), recording.state(), "the state of {recording:?}");
        assert_eq!(info::<cl_uint>(ask(CL_COMMAND_BUFFER_NUM_QUEUES_KHR)) as usize, recording.queues.len());
        for launch in recording.commands.iter().filter_map(|command| command.launch.as_ref()) {
            let Some(command) = launch.command else {
                continue;
            };
            let command = std::ptr::with_exposed_provenance_mut(command);
            let ask = |name| move |s, v, r| clGetMutableCommandInfoKHR(command, name, s, v, r);
            assert_eq!(info::<Handle>(ask(CL_MUTABLE_COMMAND_COMMAND_BUFFER_KHR)), handle);
            assert_eq!(info::<cl_uint>(ask(CL_MUTABLE_DISPATCH_DIMENSIONS_KHR)), launch.sizes.dims);
            for (name, sizes) in [
                (CL_MUTABLE_DISPATCH_GLOBAL_WORK_OFFSET_KHR, launch.sizes.offset),
                (CL_MUTABLE_DISPATCH_GLOBAL_WORK_SIZE_KHR, launch.sizes.global),
                (CL_MUTABLE_DISPATCH_LOCAL_WORK_SIZE_KHR, launch.sizes.local),
            ] {
                let used = &sizes.unwrap_or_default()[..launch.sizes.dims as usize];
                let bytes: Vec<u8> = used.iter().flat_map(|size| size.to_ne_bytes()).collect();
                assert_eq!(info_bytes(&ask(name)), bytes, "query {name:#x} of a recorded kernel");
            }
        }
    }

    /// Copies a command buffer for other queues.
    fn remap(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let buffer = self.pick(u, Kind::CommandBuffer)?;
        let recording = self.recording(buffer).cloned();
        let context = self.context_of(Kind::CommandBuffer, buffer);
        let mut violated = Violated::default();
        violated.rule(recording.is_some(), CL_INVALID_COMMAND_BUFFER_KHR);
        let count = recording.as_ref().map_or(1, |recording| recording.queues.len());
        let queues: Vec<Handle> = (0..count).map(|_| self.pick_in(u, Kind::Queue, context)).collect::<Result<_>>()?;
        if count == 2 && queues[0] == queues[1] {
            return Ok(());
        }
        let contexts: Vec<_> = queues.iter().map(|queue| self.context_of(Kind::Queue, *queue)).collect();
        violated.rule(contexts.iter().all(Option::is_some), CL_INVALID_COMMAND_QUEUE);
        violated.rule(contexts.iter().flatten().all(|of_queue| context == Some(*of_queue)), CL_INVALID_CONTEXT);
        let commands = recording.iter().flat_map(|recording| &recording.commands);
        let old: Vec<usize> = commands.filter_map(|command| command.launch.as_ref()?.command).collect();
        let handles: Vec<Handle> = old.iter().map(|command| std::ptr::with_exposed_provenance_mut(*command)).collect();
        let mut copied: Vec<Handle> = vec![null_mut(); handles.len()];
        let (list, out) =
            if handles.is_empty() { (null(), null_mut()) } else { (handles.as_ptr(), copied.as_mut_ptr()) };
        let mut error = 1;
        let made = clRemapCommandBufferKHR(
            buffer,
            CL_FALSE,
            count as cl_uint,
            queues.as_ptr(),
            handles.len() as cl_uint,
            list,
            out,
            &mut error,
        );
        let call = format!("clRemapCommandBufferKHR({buffer:?}, {queues:?}, {handles:?}) = {made:?}, {copied:?}");
        let succeeded = self.check(call, &violated, error);
        assert_eq!(made.is_null(), !succeeded);
        if succeeded {
            let mut recording = recording.expect("a command buffer");
            recording.last = None;
            for (own, queue) in recording.queues.iter_mut().zip(&queues) {
                let object = self.get(Kind::Queue, *queue).expect("a queue");
                own.number = object.number;
                own.handle = queue.expose_provenance();
                let line = self.line(*queue).expect("a queue");
                (own.device, own.in_order) = (line.device, line.in_order());
            }
            let mut copied = copied.iter();
            for command in &mut recording.commands {
                // The application knows the sync points of the command buffer that it has recorded.
                command.point = None;
                if let Some(Launch { command: Some(command), .. }) = &mut command.launch {
                    *command = copied.next().expect("as many as there are").expose_provenance();
                }
            }
            self.add(made, Kind::CommandBuffer, context, Detail::CommandBuffer(recording));
        }
        Ok(())
    }

    /// Changes a recorded kernel.
    fn update(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let has_kernels = |recording: &Recording| {
            let has_handle =
                |command: &Recorded| command.launch.as_ref().is_some_and(|launch| launch.command.is_some());
            recording.finalized && recording.commands.iter().any(has_handle)
        };
        let buffer = self.pick_recording(u, |recording| {
            has_kernels(recording) && recording.flags & CL_COMMAND_BUFFER_MUTABLE_KHR != 0
        })?;
        let recording = self.recording(buffer).cloned();
        let context = self.context_of(Kind::CommandBuffer, buffer);
        let mut violated = Violated::default();
        violated.rule(recording.is_some(), CL_INVALID_COMMAND_BUFFER_KHR);
        if let Some(recording) = &recording {
            violated.rule(recording.finalized, CL_INVALID_OPERATION);
            violated.rule(recording.flags & CL_COMMAND_BUFFER_MUTABLE_KHR != 0, CL_INVALID_OPERATION);
        }
        let commands = recording.iter().flat_map(|recording| recording.commands.iter().enumerate());
        let all: Vec<(usize, Launch)> = commands
            .filter_map(|(at, command)| Some((at, command.launch.clone()?)))
            .filter(|(_, launch)| launch.command.is_some())
            .collect();
        let chosen = if all.is_empty() { None } else { Some(u.choose(&all)?.clone()) };
        let mut command: Handle = null_mut();
        if let Some((_, launch)) = &chosen {
            command = std::ptr::with_exposed_provenance_mut(launch.command.expect("it has one"));
        }
        if u.ratio(1, 32)? {
            command = self.pick(u, Kind::Kernel)?;
        }
        let valid = chosen.as_ref().is_some_and(|(_, launch)| launch.command == Some(command.addr()));
        violated.rule(valid, CL_INVALID_MUTABLE_COMMAND_KHR);
        // SAFETY: zero and NULL are valid for all fields.
        let mut config: cl_mutable_dispatch_config_khr = unsafe { std::mem::zeroed() };
        config.command = command;
        let mut changed = chosen.clone();
        let mut kept = Vec::new();
        let mut args = Vec::new();
        let mut global = [0; 3];
        if let Some((_, launch)) = &mut changed
            && let Some(context) = context
        {
            let may = |field| launch.fields & field != 0;
            if u.ratio(7, 8)? {
                let index = u.int_in_range(0..=launch.kernel.args.len() - 1)?;
                let Some(value) = self.value(u, &mut violated, (&launch.kernel, context), index)? else {
                    return Ok(());
                };
                violated.rule(may(CL_MUTABLE_DISPATCH_ARGUMENTS_KHR), CL_INVALID_OPERATION);
                launch.kernel.args[index] = value.arg();
                args.push(cl_mutable_dispatch_arg_khr {
                    arg_index: index as cl_uint,
                    arg_size: value.size,
                    arg_value: value.pointer(),
                });
                kept.push(value);
            }
            if launch.sizes.local.is_none() && launch.sizes.global.is_some() && u.arbitrary()? {
                global = [u.int_in_range(1..=16)?, u.int_in_range(1..=4)?, 1];
                violated.rule(may(CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR), CL_INVALID_OPERATION);
                launch.sizes.global = Some(global);
                config.global_work_size = global.as_ptr();
            }
            config.work_dim = if u.arbitrary()? { 0 } else { u.int_in_range(1..=3)? };
            violated.rule([0, launch.sizes.dims].contains(&config.work_dim), CL_INVALID_OPERATION);
            config.num_args = args.len() as cl_uint;
            config.arg_list = if args.is_empty() { null() } else { args.as_ptr() };
            if !self.is_alive(&launch.kernel) {
                return Ok(());
            }
        }
        let (kind, pointer) = (CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR, (&raw const config).cast());
        let kind = if u.ratio(1, 32)? { kind + 1 } else { kind };
        violated.rule(kind == CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR, CL_INVALID_VALUE);
        let status = clUpdateMutableCommandsKHR(buffer, 1, &kind, &pointer);
        let call = format!("clUpdateMutableCommandsKHR({buffer:?}, {config:?}, {args:?}, {global:?})");
        if self.check(call, &violated, status) {
            let (at, launch) = changed.expect("a recorded kernel");
            self.recording_mut(buffer).commands[at].launch = Some(launch);
        }
        Ok(())
    }
}
