//! Calls that make, count and describe objects, and that compare their contents.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;
use super::contents::Region;
use super::world::{Detail, HOST, Handle, Kind, Line, Memory, World};
use super::{HOST_BYTES, Violated};

/// Largest size of a buffer.
const LARGEST: usize = 2048;

/// `clRelease*` of a kind.
pub(crate) fn release(kind: Kind, handle: Handle) -> cl_int {
    match kind {
        Kind::Device => clReleaseDevice(handle),
        Kind::Context => clReleaseContext(handle),
        Kind::Queue => clReleaseCommandQueue(handle),
        Kind::Mem => clReleaseMemObject(handle),
        Kind::Event => clReleaseEvent(handle),
        Kind::Sampler => clReleaseSampler(handle),
        Kind::Kernel => clReleaseKernel(handle),
        Kind::CommandBuffer => clReleaseCommandBufferKHR(handle),
        Kind::Semaphore => clReleaseSemaphoreKHR(handle),
    }
}

fn retain(kind: Kind, handle: Handle) -> cl_int {
    match kind {
        Kind::Device => clRetainDevice(handle),
        Kind::Context => clRetainContext(handle),
        Kind::Queue => clRetainCommandQueue(handle),
        Kind::Mem => clRetainMemObject(handle),
        Kind::Event => clRetainEvent(handle),
        Kind::Sampler => clRetainSampler(handle),
        Kind::Kernel => clRetainKernel(handle),
        Kind::CommandBuffer => clRetainCommandBufferKHR(handle),
        Kind::Semaphore => clRetainSemaphoreKHR(handle),
    }
}

/// The reference count, and the context; that of a context or device is itself.
fn describe(kind: Kind, handle: Handle) -> (cl_int, cl_uint, Handle) {
    let (mut count, mut context) = (0, null_mut::<std::ffi::c_void>());
    let (c, x) = ((&raw mut count).cast(), (&raw mut context).cast());
    let (four, eight) = (4, size_of::<Handle>());
    let (first, second) = match kind {
        Kind::Device => {
            context = handle;
            (clGetDeviceInfo(handle, CL_DEVICE_REFERENCE_COUNT, four, c, null_mut()), CL_SUCCESS)
        }
        Kind::Context => {
            context = handle;
            (clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, four, c, null_mut()), CL_SUCCESS)
        }
        Kind::Queue => (
            clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, four, c, null_mut()),
            clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, eight, x, null_mut()),
        ),
        Kind::Mem => (
            clGetMemObjectInfo(handle, CL_MEM_REFERENCE_COUNT, four, c, null_mut()),
            clGetMemObjectInfo(handle, CL_MEM_CONTEXT, eight, x, null_mut()),
        ),
        Kind::Event => (
            clGetEventInfo(handle, CL_EVENT_REFERENCE_COUNT, four, c, null_mut()),
            clGetEventInfo(handle, CL_EVENT_CONTEXT, eight, x, null_mut()),
        ),
        Kind::Sampler => (
            clGetSamplerInfo(handle, CL_SAMPLER_REFERENCE_COUNT, four, c, null_mut()),
            clGetSamplerInfo(handle, CL_SAMPLER_CONTEXT, eight, x, null_mut()),
        ),
        Kind::Kernel => (
            clGetKernelInfo(handle, CL_KERNEL_REFERENCE_COUNT, four, c, null_mut()),
            clGetKernelInfo(handle, CL_KERNEL_CONTEXT, eight, x, null_mut()),
        ),
        Kind::CommandBuffer => (
            clGetCommandBufferInfoKHR(handle, CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR, four, c, null_mut()),
            clGetCommandBufferInfoKHR(handle, CL_COMMAND_BUFFER_CONTEXT_KHR, eight, x, null_mut()),
        ),
        Kind::Semaphore => (
            clGetSemaphoreInfoKHR(handle, CL_SEMAPHORE_REFERENCE_COUNT_KHR, four, c, null_mut()),
            clGetSemaphoreInfoKHR(handle, CL_SEMAPHORE_CONTEXT_KHR, eight, x, null_mut()),
        ),
    };
    (if first == CL_SUCCESS { second } else { first }, count, context)
}

/// Flags for the access by kernels, for that by the host, and for the memory.
const ACCESS: [cl_mem_flags; 3] = [CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY];
const HOST_ACCESS: [cl_mem_flags; 3] = [CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS];
const STORAGE: [cl_mem_flags; 3] = [CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR];

/// At most one of the flags of a group.
fn exclusive(flags: cl_mem_flags, group: &[cl_mem_flags]) -> bool {
    group.iter().filter(|flag| flags & **flag != 0).count() <= 1
}

/// The rules for flags alone.
pub(crate) fn flag_rules(violated: &mut Violated, flags: cl_mem_flags) {
    let known = ACCESS.iter().chain(&HOST_ACCESS).chain(&STORAGE).fold(0, |all, flag| all | flag);
    violated.rule(flags & !known == 0, CL_INVALID_VALUE);
    violated.rule(exclusive(flags, &ACCESS) && exclusive(flags, &HOST_ACCESS), CL_INVALID_VALUE);
    violated.rule(flags & CL_MEM_USE_HOST_PTR == 0 || exclusive(flags, &STORAGE), CL_INVALID_VALUE);
}

/// The rules for the flags of an object in the memory of another one.
pub(crate) fn exclusive_view(violated: &mut Violated, parent: cl_mem_flags, flags: cl_mem_flags) {
    let [rw, wo, ro] = ACCESS;
    let [host_ro, host_wo, none] = HOST_ACCESS;
    for (of_parent, of_part) in
        [(wo, rw | ro), (ro, rw | wo), (host_wo, host_ro), (host_ro, host_wo), (none, host_ro | host_wo)]
    {
        violated.rule(parent & of_parent == 0 || flags & of_part == 0, CL_INVALID_VALUE);
    }
    violated.rule(STORAGE.iter().all(|flag| flags & flag == 0), CL_INVALID_VALUE);
}

/// The flags of an object in the memory of another one.
pub(crate) fn inherited(parent: cl_mem_flags, flags: cl_mem_flags) -> cl_mem_flags {
    let group = |group: [cl_mem_flags; 3]| group.iter().fold(0, |all, flag| all | flag);
    let inherit = |group: cl_mem_flags| if flags & group == 0 { parent & group } else { 0 };
    flags | inherit(group(ACCESS)) | inherit(group(HOST_ACCESS)) | parent & group(STORAGE)
}

impl World {
    pub(crate) fn flags(u: &mut Unstructured<'_>) -> Result<cl_mem_flags> {
        Ok(match u.int_in_range(0..=15)? {
            0..=7 => 0,
            8 => CL_MEM_USE_HOST_PTR,
            9 => CL_MEM_COPY_HOST_PTR,
            10 | 11 => 1 << u.int_in_range(0..=5)?,
            12 => 1 << u.int_in_range(7..=9)?,
            13 | 14 => (1 << u.int_in_range(0..=2)?) | (1 << u.int_in_range(7..=9)?),
            // Immutable memory, of an extension, is not modelled.
            _ => ((1 << u.int_in_range(0..=11)?) | (1 << u.int_in_range(0..=9)?)) & !CL_MEM_IMMUTABLE_EXT,
        })
    }

    /// Makes an object of any kind.
    pub(crate) fn create(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=31)? {
            0 | 1 => self.create_context(u),
            2 => self.create_sub_devices(u),
            3..=5 => self.create_queue(u),
            6..=10 => self.create_buffer(u),
            11..=13 => self.create_sub_buffer(u),
            14..=21 => self.create_image(u),
            22..=25 => self.create_user_event(u),
            26 | 27 => self.create_sampler(u),
            _ => self.create_kernel(u),
        }
    }

    /// A context for a new object, and its number.
    pub(crate) fn some_context(
        &self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
    ) -> Result<(Handle, Option<u64>)> {
        let context = if u.ratio(3, 4)? { self.common.base } else { self.pick(u, Kind::Context)? };
        let number = self.get(Kind::Context, context).map(|object| object.number);
        violated.rule(number.is_some(), CL_INVALID_CONTEXT);
        Ok((context, number))
    }

    /// Adds an object if the call that makes it has succeeded.
    pub(crate) fn made(
        &mut self,
        call: String,
        (violated, error): (&Violated, cl_int),
        (made, kind): (Handle, Kind),
        (context, detail): (Option<u64>, Detail),
    ) -> bool {
        let succeeded = self.check(format!("{call} = {made:?}"), violated, error);
        assert_eq!(made.is_null(), !succeeded);
        if succeeded {
            self.add(made, kind, context, detail);
        }
        succeeded
    }

    fn create_context(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let devices = if u.arbitrary()? {
            [device(), self.pick(u, Kind::Context)?]
        } else {
            [self.pick(u, Kind::Device)?, self.pick(u, Kind::Device)?]
        };
        let count = u.int_in_range(0..=2)?;
        let list = if u.ratio(1, 16)? { null() } else { devices.as_ptr() };
        violated.rule(count != 0 && !list.is_null(), CL_INVALID_VALUE);
        let valid = |handle: &Handle| *handle == device() || self.get(Kind::Device, *handle).is_some();
        let used = &devices[..if list.is_null() { 0 } else { count }];
        violated.rule(used.iter().all(valid), CL_INVALID_DEVICE);
        let mut error = 1;
        let made = clCreateContext(null(), count as cl_uint, list, None, null_mut(), &mut error);
        let detail = Detail::Context(used.iter().map(|device| device.addr()).collect());
        let call = format!("clCreateContext({count}, {devices:?})");
        self.made(call, (&violated, error), (made, Kind::Context), (None, detail));
        Ok(())
    }

    fn create_sub_devices(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let parent = if u.ratio(15, 16)? { device() } else { self.pick(u, Kind::Context)? };
        if self.get(Kind::Device, parent).is_some() {
            // It has one unit.
            return Ok(());
        }
        violated.rule(parent == device(), CL_INVALID_DEVICE);
        let units = info::<cl_uint>(|s, v, r| clGetDeviceInfo(device(), CL_DEVICE_MAX_COMPUTE_UNITS, s, v, r)) as usize;
        let (properties, mut parts) = match u.int_in_range(0..=3)? {
            0 => (vec![CL_DEVICE_PARTITION_BY_COUNTS, 1, 0, 0], 1),
            1 => (vec![CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 0, 0], 2),
            2 => (vec![1, 1, 0], 0),
            _ => (vec![CL_DEVICE_PARTITION_EQUALLY, 1, 0], units),
        };
        if !(2..=16).contains(&units) {
            // It cannot be partitioned, or makes too many.
            return Ok(());
        }
        violated.rule(properties[0] != 1, CL_INVALID_VALUE);
        let mut out = vec![null_mut(); parts.max(1)];
        let room = if u.ratio(1, 8)? { 0 } else { out.len() };
        violated.rule(room >= parts, CL_INVALID_VALUE);
        let mut count = 0;
        let status = clCreateSubDevices(parent, properties.as_ptr(), room as cl_uint, out.as_mut_ptr(), &mut count);
        let call = format!("clCreateSubDevices({parent:?}, {properties:?}, {room}) = {out:?}");
        if self.check(call, &violated, status) {
            assert_eq!(count as usize, parts);
            parts = count as usize;
            for part in out.into_iter().take(parts) {
                self.add(part, Kind::Device, None, Detail::Device);
            }
        }
        Ok(())
    }

    fn create_queue(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let (context, number) = self.some_context(u, &mut violated)?;
        let of_context = match self.get(Kind::Context, context).map(|object| &object.detail) {
            Some(Detail::Context(devices)) => devices.clone(),
            _ => vec![device().addr()],
        };
        let chosen: Handle = if u.ratio(15, 16)? {
            std::ptr::with_exposed_provenance_mut(*u.choose(&of_context)?)
        } else {
            self.pick(u, Kind::Device)?
        };
        let is_device = chosen == device() || self.get(Kind::Device, chosen).is_some();
        if !is_device && of_context.contains(&chosen.addr()) {
            // A sub-device that the application has released, and the context has not.
            return Ok(());
        }
        violated.rule(is_device, CL_INVALID_DEVICE);
        violated.rule(number.is_none() || of_context.contains(&chosen.addr()), CL_INVALID_DEVICE);
        let bits = if u.ratio(15, 16)? { u.int_in_range(0..=3)? } else { u.int_in_range(4..=31)? };
        let mut error = 1;
        let with_properties = u.arbitrary()?;
        // Bits 2 and 3 make queues for kernels, which have another function.
        if with_properties && bits & 12 != 0 {
            return Ok(());
        }
        violated.rule(bits < 4, CL_INVALID_VALUE);
        let list = [CL_QUEUE_PROPERTIES.into(), bits, 0];
        let made = if with_properties {
            let list = if bits == 0 { null() } else { list.as_ptr() };
            clCreateCommandQueueWithProperties(context, chosen, list, &mut error)
        } else {
            clCreateCommandQueue(context, chosen, bits, &mut error)
        };
        let call = format!("clCreateCommandQueue({context:?}, {chosen:?}, {bits})");
        let detail = Detail::Queue(Line { device: chosen.addr(), properties: bits, last: None, since: Vec::new() });
        self.made(call, (&violated, error), (made, Kind::Queue), (number, detail));
        Ok(())
    }

    fn create_buffer(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let (context, number) = self.some_context(u, &mut violated)?;
        let (flags, size) = (Self::flags(u)?, if u.ratio(1, 32)? { 0 } else { u.int_in_range(1..=LARGEST)? });
        let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        let content = if from_host ^ u.ratio(1, 16)? { Some(self.bytes(size)) } else { None };
        let host = content.as_ref().map_or(null_mut(), |content| self.own_memory(content));
        flag_rules(&mut violated, flags);
        violated.rule(size != 0, CL_INVALID_BUFFER_SIZE);
        violated.rule(host.is_null() != from_host, CL_INVALID_HOST_PTR);
        let mut error = 1;
        let made = clCreateBuffer(context, flags, size, host, &mut error);
        let call = format!("clCreateBuffer({context:?}, {flags:#x}, {size}, {host:?})");
        let root = self.number();
        let memory = Memory { size, flags, origin: 0, root, parent: None, image: None, maps: Vec::new() };
        if self.made(call, (&violated, error), (made, Kind::Mem), (number, Detail::Mem(memory))) {
            self.timeline.add_root(root, Self::content(content, size));
        }
        Ok(())
    }

    fn create_sub_buffer(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let buffer = self.pick_mem(u, None, |memory| memory.image.is_none() && memory.parent.is_none())?;
        let flags = if u.ratio(3, 4)? { 0 } else { Self::flags(u)? };
        let whole = self.memory(buffer).map_or(LARGEST, |memory| memory.size);
        let (origin, size) = if u.ratio(7, 8)? {
            let origin = 128 * u.int_in_range(0..=whole / 128)?;
            (origin, u.int_in_range(0..=whole - origin)?)
        } else {
            (u.int_in_range(0..=LARGEST)?, u.int_in_range(0..=LARGEST)?)
        };
        let ty = if u.ratio(31, 32)? { CL_BUFFER_CREATE_TYPE_REGION } else { 0 };
        let region = cl_buffer_region { origin, size };
        let info: *const std::ffi::c_void = if u.ratio(31, 32)? { (&raw const region).cast() } else { null() };
        let mut violated = Violated::default();
        flag_rules(&mut violated, flags);
        violated.rule(ty == CL_BUFFER_CREATE_TYPE_REGION, CL_INVALID_VALUE);
        violated.rule(!info.is_null(), CL_INVALID_VALUE);
        violated.rule(info.is_null() || size != 0, CL_INVALID_BUFFER_SIZE);
        violated.rule(info.is_null() || origin.is_multiple_of(128), CL_MISALIGNED_SUB_BUFFER_OFFSET);
        let parent = self.get(Kind::Mem, buffer).map(|object| (object.number, object.context));
        let memory = self.memory(buffer).filter(|memory| memory.image.is_none()).cloned();
        violated.rule(memory.as_ref().is_some_and(|memory| memory.parent.is_none()), CL_INVALID_MEM_OBJECT);
        if let Some(memory) = &memory {
            violated.rule(info.is_null() || memory.holds(origin, size), CL_INVALID_VALUE);
            exclusive_view(&mut violated, memory.flags, flags);
        }
        let mut error = 1;
        let made = clCreateSubBuffer(buffer, flags, ty, info, &mut error);
        let call = format!("clCreateSubBuffer({buffer:?}, {flags:#x}, {ty:#x}, {origin}, {size}) = {made:?}");
        let succeeded = self.check(call, &violated, error);
        assert_eq!(made.is_null(), !succeeded);
        if succeeded {
            let (parent, whole) = parent.zip(memory).expect("a buffer");
            let flags = inherited(whole.flags, flags);
            let view =
                Memory { size, flags, origin, root: whole.root, parent: Some(parent.0), image: None, maps: Vec::new() };
            self.add(made, Kind::Mem, Some(parent.1), Detail::Mem(view));
        }
        Ok(())
    }

    fn create_user_event(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let (context, number) = self.some_context(u, &mut violated)?;
        let mut error = 1;
        let made = clCreateUserEvent(context, &mut error);
        let detail = Detail::Event(self.timeline.commands.len());
        let call = format!("clCreateUserEvent({context:?})");
        if self.made(call, (&violated, error), (made, Kind::Event), (number, detail)) {
            self.timeline.push_user_event(made);
        }
        Ok(())
    }

    fn create_sampler(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let (context, number) = self.some_context(u, &mut violated)?;
        let (addressing, filter) = (u.int_in_range(0x112f..=0x1135)?, u.int_in_range(0x113f..=0x1142)?);
        violated.rule((CL_ADDRESS_NONE..=CL_ADDRESS_MIRRORED_REPEAT).contains(&addressing), CL_INVALID_VALUE);
        violated.rule((CL_FILTER_NEAREST..=CL_FILTER_LINEAR).contains(&filter), CL_INVALID_VALUE);
        let mut error = 1;
        let with_properties = u.arbitrary()?;
        let list: [cl_ulong; 5] =
            [CL_SAMPLER_ADDRESSING_MODE.into(), addressing.into(), CL_SAMPLER_FILTER_MODE.into(), filter.into(), 0];
        let made = if with_properties {
            clCreateSamplerWithProperties(context, list.as_ptr(), &mut error)
        } else {
            clCreateSampler(context, CL_TRUE, addressing, filter, &mut error)
        };
        let call = format!("clCreateSampler({context:?}, {addressing:#x}, {filter:#x})");
        self.made(call, (&violated, error), (made, Kind::Sampler), (number, Detail::Sampler));
        Ok(())
    }

    /// Changes a reference count.
    pub(crate) fn retain_or_release(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let kind = *u.choose(&Kind::ALL)?;
        let (mut handle, retains) = (self.pick(u, kind)?, u.ratio(1, 3)?);
        if !retains && !self.dead.is_empty() && u.ratio(1, 8)? {
            handle = std::ptr::with_exposed_provenance_mut(u.choose(&self.dead)?.1);
        }
        let object = self.get(kind, handle).cloned();
        let refs = object.as_ref().map(|object| object.refs);
        if handle == device() && kind == Kind::Device {
            // Root devices are not counted.
            assert_eq!(if retains { retain(kind, handle) } else { release(kind, handle) }, CL_SUCCESS);
            return Ok(());
        }
        if !retains && refs == Some(1) {
            match &object.expect("it is live").detail {
                Detail::Context(_) if handle == self.common.base => return Ok(()),
                // Its allocations could not be freed any more.
                Detail::Context(_) if self.svm.iter().any(|svm| Some(svm.context) == self.context_of(kind, handle)) => {
                    return Ok(());
                }
                // Whether it is mapped then is not said.
                Detail::Mem(memory) if !memory.maps.is_empty() => return Ok(()),
                // Without a handle, it could not be set any more, and what waits for it would never end.
                Detail::Event(_) => self.settle(),
                Detail::Queue(_) => self.before_release(handle),
                _ => {}
            }
        }
        let mut violated = Violated::default();
        violated.rule(refs.is_some(), kind.invalid());
        let status = if retains { retain(kind, handle) } else { release(kind, handle) };
        let call = format!("{} {kind:?} {handle:?}", if retains { "retain" } else { "release" });
        if self.check(call, &violated, status) {
            let object = self.get_mut(handle);
            object.refs = if retains { object.refs + 1 } else { object.refs - 1 };
            if object.refs == 0 {
                self.remove(handle);
            }
        }
        Ok(())
    }

    /// Asks for a reference count, a context, and what else queries say.
    pub(crate) fn query(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let kind = *u.choose(&Kind::ALL)?;
        let handle = self.pick(u, kind)?;
        if handle == device() && kind == Kind::Device {
            return Ok(());
        }
        let mut violated = Violated::default();
        violated.rule(self.get(kind, handle).is_some(), kind.invalid());
        let (status, count, context) = describe(kind, handle);
        if self.check(format!("query {kind:?} {handle:?} = {count}, {context:?}"), &violated, status) {
            let object = self.get(kind, handle).expect("it is valid").clone();
            assert_eq!(count, object.refs, "references of {object:?}");
            // The context may have no reference of the application any more.
            if let Some(known) = self.get(Kind::Context, context) {
                assert_eq!(known.number, object.context, "the context of {object:?}");
            }
            match &object.detail {
                Detail::Mem(memory) => {
                    self.describe_memory(handle, memory);
                    self.describe_image(handle);
                }
                Detail::CommandBuffer(_) => self.describe_command_buffer(handle),
                Detail::Queue(line) => {
                    let ask = |name| move |s, v, r| clGetCommandQueueInfo(handle, name, s, v, r);
                    assert_eq!(info::<cl_bitfield>(ask(CL_QUEUE_PROPERTIES)), line.properties);
                    assert_eq!(info::<Handle>(ask(CL_QUEUE_DEVICE)).addr(), line.device);
                }
                Detail::Event(command) => self.describe_event(handle, *command),
                Detail::Device | Detail::Context(_) | Detail::Sampler | Detail::Kernel(_) | Detail::Semaphore(_) => {}
            }
        }
        Ok(())
    }

    fn describe_memory(&self, handle: Handle, memory: &Memory) {
        let ask = |name| move |s, v, r| clGetMemObjectInfo(handle, name, s, v, r);
        if memory.image.is_none() {
            assert_eq!(info::<usize>(ask(CL_MEM_SIZE)), memory.size, "the size of {memory:?}");
        }
        assert_eq!(info::<cl_uint>(ask(CL_MEM_MAP_COUNT)) as usize, memory.maps.len(), "mappings of {memory:?}");
        assert_eq!(info::<cl_mem_flags>(ask(CL_MEM_FLAGS)), memory.flags, "flags of {memory:?}");
        let parent: Handle = info(ask(CL_MEM_ASSOCIATED_MEMOBJECT));
        assert_eq!(parent.is_null(), memory.parent.is_none(), "the parent of {memory:?}");
        // It may have no reference of the application any more.
        let known = self.get(Kind::Mem, parent).map(|object| object.number);
        assert!(known.is_none() || known == memory.parent, "the parent of {memory:?}");
    }

    /// The status of a command that has ended, or certainly has not.
    fn describe_event(&mut self, handle: Handle, command: usize) {
        // Not by `info`, which asks several times: the command may execute.
        let (mut status, name): (cl_int, _) = (0, CL_EVENT_COMMAND_EXECUTION_STATUS);
        assert_eq!(clGetEventInfo(handle, name, 4, (&raw mut status).cast(), null_mut()), CL_SUCCESS);
        match self.timeline.end(command) {
            Some(end) => {
                assert!(status == end || status > 0 && self.timeline.is_pending(command), "{status}, not {end}")
            }
            None => assert!(status > 0, "status {status} of a command that waits for a user event"),
        }
    }

    /// Whether it is a user event that has not been set.
    fn is_unset(&self, event: Handle) -> bool {
        match self.get(Kind::Event, event).map(|object| &object.detail) {
            Some(Detail::Event(command)) => self.timeline.commands[*command].unset.is_some(),
            _ => false,
        }
    }

    /// Sets the status of an event.
    pub(crate) fn set_user_event(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut all = self.all(Kind::Event);
        all.retain(|event| self.is_unset(*event));
        let event = if all.is_empty() || u.ratio(1, 4)? { self.pick(u, Kind::Event)? } else { *u.choose(&all)? };
        let status = *u.choose(&[0, 0, 0, -1, -2, 1])?;
        let mut violated = Violated::default();
        let command = match self.get(Kind::Event, event).map(|object| &object.detail) {
            Some(Detail::Event(command)) => Some(*command),
            _ => None,
        };
        let user = command.filter(|command| self.timeline.commands[*command].is_user);
        violated.rule(user.is_some(), CL_INVALID_EVENT);
        violated.rule(status <= 0, CL_INVALID_VALUE);
        let is_set = user.is_some_and(|user| self.timeline.commands[user].unset.is_none());
        violated.rule(!is_set, CL_INVALID_OPERATION);
        let result = clSetUserEventStatus(event, status);
        if self.check(format!("clSetUserEventStatus({event:?}, {status})"), &violated, result) {
            let command = &mut self.timeline.commands[user.expect("a user event")];
            (command.unset, command.end) = (None, Some(status));
        }
        Ok(())
    }

    /// Waits for all commands, and compares some contents with the model.
    pub(crate) fn quiesce_and_compare(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        self.quiesce();
        self.calls.push("-- all commands have ended".to_owned());
        for _ in 0..2 {
            let mem = self.pick(u, Kind::Mem)?;
            if self.memory(mem).is_some() {
                self.compare_memory(mem);
            }
        }
        if u.ratio(1, 4)? {
            self.compare_pointers();
        }
        let (at, _) = self.host_part(u, 64)?;
        self.write_host(at, 64);
        Ok(())
    }

    /// Compares the contents of memory that the application can access by pointer, while nothing executes.
    pub(crate) fn compare_pointers(&mut self) {
        let pointer: *const u8 = self.common.host;
        // SAFETY: nothing executes.
        let actual = unsafe { std::slice::from_raw_parts(pointer, HOST_BYTES) }.to_vec();
        self.compare("the host memory", &Region::linear(HOST, 0, HOST_BYTES), &actual);
        for allocation in self.svm.clone() {
            let region = Region::linear(allocation.root, 0, allocation.size);
            if !self.timeline.is_mapped(&region) {
                let pointer: *const u8 = std::ptr::with_exposed_provenance(allocation.address);
                // SAFETY: nothing executes.
                let actual = unsafe { std::slice::from_raw_parts(pointer, allocation.size) }.to_vec();
                self.compare("an allocation", &region, &actual);
            }
        }
    }

    /// Compares the contents of a buffer or image, while nothing executes: what a read of all of it returns.
    pub(crate) fn compare_memory(&mut self, mem: Handle) {
        let memory = self.memory(mem).expect("a memory object").clone();
        let region = match &memory.image {
            Some(image) => image.whole(&memory),
            None => memory.region(0, memory.size),
        };
        let context = self.context_of(Kind::Mem, mem);
        let queues = self.all(Kind::Queue);
        let Some(q) = queues.into_iter().find(|queue| self.context_of(Kind::Queue, *queue) == context) else {
            return;
        };
        if !memory.host_reads() || self.timeline.is_mapped(&region) {
            return;
        }
        let mut actual = vec![0u8; region.size()];
        let room = actual.as_mut_ptr().cast();
        let status = match &memory.image {
            Some(image) => {
                let (origin, bounds) = ([0; 3], image.bounds());
                clEnqueueReadImage(q, mem, CL_TRUE, origin.as_ptr(), bounds.as_ptr(), 0, 0, room, 0, NONE, SKIP)
            }
            None => clEnqueueReadBuffer(q, mem, CL_TRUE, 0, memory.size, room, 0, NONE, SKIP),
        };
        assert_eq!(status, CL_SUCCESS, "reading {memory:?}");
        self.compare(&format!("{mem:?}"), &region, &actual);
    }
}
