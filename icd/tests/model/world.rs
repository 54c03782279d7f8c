//! What a sequence of calls has made: objects with their reference counts and contexts, memory, and commands.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::callbacks::Callbacks;
use super::cl::*;
use super::command_buffers::Recording;
use super::contents::{Byte, Effect, Region, Timeline};
use super::images::{Image, ImageLimits};
use super::kernels::Kernel;
use super::semaphores::Semaphore;
use super::svm::Allocation;

pub(crate) type Handle = *mut c_void;

/// The root of the host memory that commands read and write.
pub(crate) const HOST: u64 = u64::MAX;
/// The root of the program's variable.
pub(crate) const VARIABLE: u64 = u64::MAX - 1;

/// A type of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    Context,
    Queue,
    Mem,
    Event,
    Sampler,
    Kernel,
    CommandBuffer,
    Semaphore,
}

impl Kind {
    pub(crate) const ALL: [Kind; 9] = [
        Kind::Device,
        Kind::Context,
        Kind::Queue,
        Kind::Mem,
        Kind::Event,
        Kind::Sampler,
        Kind::Kernel,
        Kind::CommandBuffer,
        Kind::Semaphore,
    ];

    /// The error for a handle that is not one of such an object.
    pub(crate) fn invalid(self) -> cl_int {
        match self {
            Kind::Device => CL_INVALID_DEVICE,
            Kind::Context => CL_INVALID_CONTEXT,
            Kind::Queue => CL_INVALID_COMMAND_QUEUE,
            Kind::Mem => CL_INVALID_MEM_OBJECT,
            Kind::Event => CL_INVALID_EVENT,
            Kind::Sampler => CL_INVALID_SAMPLER,
            Kind::Kernel => CL_INVALID_KERNEL,
            Kind::CommandBuffer => CL_INVALID_COMMAND_BUFFER_KHR,
            Kind::Semaphore => CL_INVALID_SEMAPHORE_KHR,
        }
    }
}

/// A mapping of a buffer or image.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    pub(crate) number: u64,
    pub(crate) pointer: usize,
    pub(crate) region: Region,
    pub(crate) flags: cl_map_flags,
    /// What the application has written.
    pub(crate) written: Option<Vec<u8>>,
}

impl Mapping {
    pub(crate) fn writes(&self) -> bool {
        writes(self.flags)
    }
}

/// Whether a mapping with these flags is one for writing.
pub(crate) fn writes(flags: cl_map_flags) -> bool {
    flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0
}

/// A buffer or image.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// In bytes.
    pub(crate) size: usize,
    pub(crate) flags: cl_mem_flags,
    /// Where it begins in its root.
    pub(crate) origin: usize,
    pub(crate) root: u64,
    /// The number of the object whose memory it has.
    pub(crate) parent: Option<u64>,
    pub(crate) image: Option<Image>,
    pub(crate) maps: Vec<Mapping>,
}

impl Memory {
    pub(crate) fn host_reads(&self) -> bool {
        self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }

    pub(crate) fn host_writes(&self) -> bool {
        self.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }

    /// Whether bytes of a buffer are inside it.
    pub(crate) fn holds(&self, offset: usize, size: usize) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.size)
    }

    /// Bytes of a buffer.
    pub(crate) fn region(&self, offset: usize, size: usize) -> Region {
        Region::linear(self.root, self.origin.wrapping_add(offset), size)
    }
}

/// A queue, and what later commands in it come after.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) device: usize,
    pub(crate) properties: cl_bitfield,
    /// What all later commands come after: the last command if the queue is in-order, otherwise the last barrier.
    pub(crate) last: Option<usize>,
    /// Commands of an out-of-order queue that a barrier or marker has to wait for.
    pub(crate) since: Vec<usize>,
}

impl Line {
    pub(crate) fn in_order(&self) -> bool {
        self.properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0
    }
}

/// The place of a command in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Usual,
    /// Ends after all earlier commands.
    Marker,
    /// Ends after all earlier commands, or those it waits for; later commands begin after it.
    Barrier {
        of_all: bool,
    },
}

/// What the model knows of an object besides its count and its context.
#[derive(Clone, Debug)]
pub(crate) enum Detail {
    Device,
    /// The addresses of its devices.
    Context(Vec<usize>),
    Queue(Line),
    Mem(Memory),
    /// The index of its command.
    Event(usize),
    Sampler,
    Kernel(Kernel),
    CommandBuffer(Recording),
    Semaphore(Semaphore),
}

/// A live object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    /// Unique among all objects that a sequence makes; addresses are used again.
    pub(crate) number: u64,
    pub(crate) refs: u32,
    /// The number of its context.
    pub(crate) context: u64,
    pub(crate) detail: Detail,
}

/// What all sequences have in common.
#[derive(Clone)]
pub(crate) struct Common {
    /// A context with a program.
    pub(crate) base: Handle,
    pub(crate) program: cl_program,
    /// The host memory that commands access.
    pub(crate) host: *mut u8,
    pub(crate) limits: ImageLimits,
}

/// The state of a sequence.
pub(crate) struct World {
    live: HashMap<usize, Object>,
    /// The live handles in the order of their creation, so that sequences repeat.
    handles: Vec<usize>,
    /// Released handles.
    pub(crate) dead: Vec<(Kind, usize)>,
    pub(crate) timeline: Timeline,
    pub(crate) svm: Vec<Allocation>,
    /// The roots of allocations that have been freed.
    pub(crate) freed: HashSet<u64>,
    pub(crate) callbacks: Callbacks,
    /// The calls so far.
    pub(crate) calls: Vec<String>,
    next: u64,
    pub(crate) common: Common,
    /// Events of the last commands in queues that have been released.
    pub(crate) last_events: Vec<cl_event>,
    /// Memory of the application that objects use.
    used: Vec<Box<[u128]>>,
    seed: u64,
    /// Bytes of contents that have been compared, and those that were known.
    pub(crate) compared: [usize; 2],
}

impl World {
    pub(crate) fn new(common: &Common) -> Self {
        let mut world = Self {
            live: HashMap::new(),
            handles: Vec::new(),
            dead: Vec::new(),
            timeline: Timeline::default(),
            svm: Vec::new(),
            freed: HashSet::new(),
            callbacks: Callbacks::default(),
            calls: Vec::new(),
            next: 0,
            common: common.clone(),
            last_events: Vec::new(),
            used: Vec::new(),
            seed: 1,
            compared: [0; 2],
        };
        world.add(common.base, Kind::Context, None, Detail::Context(vec![device().addr()]));
        world.timeline.add_root(VARIABLE, vec![None; 4]);
        world.timeline.add_root(HOST, vec![None; super::HOST_BYTES]);
        world.write_host(0, super::HOST_BYTES);
        world
    }

    /// A number that no object or mapping has.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Bytes without a pattern.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let byte = || {
            // xorshift64
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            (self.seed >> 32) as u8
        };
        std::iter::repeat_with(byte).take(count).collect()
    }

    /// Adds a new object of a context; a new context is its own.
    pub(crate) fn add(&mut self, handle: Handle, kind: Kind, context: Option<u64>, detail: Detail) -> u64 {
        let number = self.number();
        let address = handle.addr();
        self.dead.retain(|(_, other)| *other != address);
        let object = Object { kind, number, refs: 1, context: context.unwrap_or(number), detail };
        assert!(self.live.insert(address, object).is_none(), "a live object's handle is given to another");
        self.handles.push(address);
        handle.expose_provenance();
        number
    }

    /// The live object of a kind that has this handle.
    pub(crate) fn get(&self, kind: Kind, handle: Handle) -> Option<&Object> {
        self.live.get(&handle.addr()).filter(|object| object.kind == kind)
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut Object {
        self.live.get_mut(&handle.addr()).expect("a live object")
    }

    /// The live memory object with a handle.
    pub(crate) fn memory(&self, handle: Handle) -> Option<&Memory> {
        match self.get(Kind::Mem, handle).map(|object| &object.detail) {
            Some(Detail::Mem(memory)) => Some(memory),
            _ => None,
        }
    }

    pub(crate) fn memory_mut(&mut self, handle: Handle) -> &mut Memory {
        match &mut self.get_mut(handle).detail {
            Detail::Mem(memory) => memory,
            other => unreachable!("{other:?} is not a memory object"),
        }
    }

    /// The live queue with a handle.
    pub(crate) fn line(&self, handle: Handle) -> Option<&Line> {
        match self.get(Kind::Queue, handle).map(|object| &object.detail) {
            Some(Detail::Queue(line)) => Some(line),
            _ => None,
        }
    }

    pub(crate) fn line_mut(&mut self, handle: Handle) -> &mut Line {
        match &mut self.get_mut(handle).detail {
            Detail::Queue(line) => line,
            other => unreachable!("{other:?} is not a queue"),
        }
    }

    /// The number of an object's context.
    pub(crate) fn context_of(&self, kind: Kind, handle: Handle) -> Option<u64> {
        self.get(kind, handle).map(|object| object.context)
    }

    /// Whether a live object has this number.
    pub(crate) fn is_live(&self, number: u64) -> bool {
        self.live.values().any(|object| object.number == number)
    }

    /// Takes an object's last reference away.
    pub(crate) fn remove(&mut self, handle: Handle) {
        let address = handle.addr();
        let object = self.live.remove(&address).expect("a live object");
        self.handles.retain(|other| *other != address);
        self.dead.push((object.kind, address));
    }

    /// The live handles of a kind.
    pub(crate) fn all(&self, kind: Kind) -> Vec<Handle> {
        let of_kind = self.handles.iter().filter(|address| self.live[address].kind == kind);
        of_kind.map(|address| with_exposed_provenance_mut(*address)).collect()
    }

    /// A handle, most often a live one of this kind.
    pub(crate) fn pick(&self, u: &mut Unstructured<'_>, kind: Kind) -> Result<Handle> {
        let all = self.all(kind);
        self.pick_of(u, kind, &all)
    }

    /// A handle, most often a live one that belongs to this context.
    pub(crate) fn pick_in(&self, u: &mut Unstructured<'_>, kind: Kind, context: Option<u64>) -> Result<Handle> {
        let mut all = self.all(kind);
        if !u.ratio(1, 16)? {
            all.retain(|handle| context.is_none() || self.context_of(kind, *handle) == context);
        }
        self.pick_of(u, kind, &all)
    }

    /// A live buffer or image of a context, most often; otherwise any handle.
    pub(crate) fn pick_mem(
        &self,
        u: &mut Unstructured<'_>,
        context: Option<u64>,
        wanted: impl Fn(&Memory) -> bool,
    ) -> Result<Handle> {
        let mut all = self.all(Kind::Mem);
        if !u.ratio(1, 16)? {
            all.retain(|handle| context.is_none() || self.context_of(Kind::Mem, *handle) == context);
            all.retain(|handle| self.memory(*handle).is_some_and(&wanted));
        }
        self.pick_of(u, Kind::Mem, &all)
    }

    fn pick_of(&self, u: &mut Unstructured<'_>, kind: Kind, all: &[Handle]) -> Result<Handle> {
        let chance = u.int_in_range(0..=63)?;
        Ok(match chance {
            0 => {
                let others = self.all(*u.choose(&Kind::ALL)?);
                if others.is_empty() { null_mut() } else { *u.choose(&others)? }
            }
            1 => null_mut(),
            2 => std::ptr::without_provenance_mut(u.arbitrary::<usize>()? | 1),
            3 => device(),
            _ if all.is_empty() && kind == Kind::Device => device(),
            _ if all.is_empty() => null_mut(),
            _ if u.arbitrary()? => *all.last().expect("not empty"),
            _ => *u.choose(all)?,
        })
    }

    /// Adds a command to a queue.
    pub(crate) fn submit(&mut self, queue: Handle, waits: Vec<usize>, place: Place, effect: Effect) -> usize {
        let line = self.line(queue).expect("a queue");
        let of_all = matches!(place, Place::Marker | Place::Barrier { of_all: true });
        let mut follows: Vec<usize> = line.last.into_iter().collect();
        if of_all {
            follows.extend(&line.since);
        }
        let in_order = line.in_order();
        let command = self.timeline.push(waits, follows, effect);
        let line = self.line_mut(queue);
        if in_order || matches!(place, Place::Barrier { .. }) {
            line.last = Some(command);
        }
        if !in_order {
            line.since.push(command);
        }
        command
    }

    /// Sets all user events that are not set, so that nothing waits for the application.
    pub(crate) fn settle(&mut self) {
        for command in &mut self.timeline.commands {
            if let Some(event) = command.unset.take() {
                assert_eq!(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
                command.end = Some(CL_COMPLETE);
            }
        }
    }

    /// Remembers the end of a queue's commands, before its last reference is released.
    pub(crate) fn before_release(&mut self, queue: Handle) {
        if self.timeline.pending() != 0 {
            let mut event = null_mut();
            assert_eq!(clEnqueueMarkerWithWaitList(queue, 0, NONE, &mut event), CL_SUCCESS);
            self.last_events.push(event);
        }
    }

    /// Waits until nothing executes, and executes the commands in the model.
    pub(crate) fn quiesce(&mut self) {
        self.settle();
        for queue in self.all(Kind::Queue) {
            assert_eq!(clFinish(queue), CL_SUCCESS);
            let line = self.line_mut(queue);
            (line.last, line.since) = (None, Vec::new());
        }
        for event in std::mem::take(&mut self.last_events) {
            // It may have failed.
            clWaitForEvents(1, &event);
            assert_eq!(clReleaseEvent(event), CL_SUCCESS);
        }
        let freed = self.timeline.replay();
        self.svm_freed(&freed);
        self.check_svm_callbacks();
    }

    /// Memory of the application with these bytes, which lives as long as the sequence.
    pub(crate) fn own_memory(&mut self, bytes: &[u8]) -> Handle {
        let mut memory = vec![0u128; bytes.len() / 16 + 1].into_boxed_slice();
        let pointer: *mut u8 = memory.as_mut_ptr().cast();
        // SAFETY: it is large enough.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, bytes.len()) };
        self.used.push(memory);
        pointer.cast()
    }

    /// The contents of memory of which only the application's bytes are known.
    pub(crate) fn content(bytes: Option<Vec<u8>>, size: usize) -> Vec<Byte> {
        bytes.map_or(vec![None; size], |bytes| bytes.into_iter().map(Some).collect())
    }

    /// A part of the host memory of at least this size, as offset and pointer.
    pub(crate) fn host_part(&self, u: &mut Unstructured<'_>, size: usize) -> Result<(usize, Handle)> {
        let last = super::HOST_BYTES.saturating_sub(size) / 64;
        let offset = 64 * u.int_in_range(0..=last)?;
        Ok((offset, self.common.host.wrapping_add(offset).cast()))
    }

    /// Writes new bytes into the host memory, while nothing executes.
    pub(crate) fn write_host(&mut self, offset: usize, count: usize) {
        let bytes = self.bytes(count);
        // SAFETY: a part of the host memory, which no command accesses now.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.common.host.add(offset), count) };
        let known: Vec<_> = bytes.into_iter().map(Some).collect();
        self.timeline.set_bytes(&Region::linear(HOST, offset, count), &known);
    }

    /// Compares bytes with the model, which knows them from now on.
    pub(crate) fn compare(&mut self, what: &str, region: &Region, actual: &[u8]) {
        let known = self.timeline.bytes(region);
        assert_eq!(known.len(), actual.len());
        let wrong = known.iter().zip(actual).position(|(known, actual)| known.is_some_and(|known| known != *actual));
        if let Some(at) = wrong {
            let last = self.calls.len().saturating_sub(60);
            panic!(
                "byte {at} of {what} ({region:?}) is {}, wanted {:?}, after these calls:\n{}",
                actual[at],
                known[at],
                self.calls[last..].join("\n")
            );
        }
        self.compared[0] += known.len();
        self.compared[1] += known.iter().flatten().count();
        if !self.timeline.is_mapped(region) {
            let actual: Vec<_> = actual.iter().copied().map(Some).collect();
            self.timeline.set_bytes(region, &actual);
        }
    }
}
