//! Calls that make, count and describe objects.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;
use super::world::{Arg, Detail, Fate, Handle, Kind, World};
use super::{SCRATCH, Violated};

/// `clRelease*` of a kind.
pub(crate) fn release(kind: Kind, handle: Handle) -> cl_int {
    match kind {
        Kind::Context => clReleaseContext(handle),
        Kind::Queue => clReleaseCommandQueue(handle),
        Kind::Mem => clReleaseMemObject(handle),
        Kind::Event => clReleaseEvent(handle),
        Kind::Sampler => clReleaseSampler(handle),
        Kind::Kernel => clReleaseKernel(handle),
    }
}

fn retain(kind: Kind, handle: Handle) -> cl_int {
    match kind {
        Kind::Context => clRetainContext(handle),
        Kind::Queue => clRetainCommandQueue(handle),
        Kind::Mem => clRetainMemObject(handle),
        Kind::Event => clRetainEvent(handle),
        Kind::Sampler => clRetainSampler(handle),
        Kind::Kernel => clRetainKernel(handle),
    }
}

/// The reference count, and the context; that of a context is itself.
fn describe(kind: Kind, handle: Handle) -> (cl_int, cl_uint, Handle) {
    let (mut count, mut context) = (0, null_mut::<std::ffi::c_void>());
    let (c, x) = ((&raw mut count).cast(), (&raw mut context).cast());
    let (four, eight) = (4, size_of::<Handle>());
    let (first, second) = match kind {
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
    };
    (if first == CL_SUCCESS { second } else { first }, count, context)
}

/// At most one of the flags of a group.
fn exclusive(flags: cl_mem_flags, group: &[cl_mem_flags]) -> bool {
    group.iter().filter(|flag| flags & **flag != 0).count() <= 1
}

/// The rules for flags of buffers alone.
fn flag_rules(violated: &mut Violated, flags: cl_mem_flags) {
    let kernel = [CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY];
    let host = [CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS];
    let storage = [CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR];
    let known = kernel.iter().chain(&host).chain(&storage).fold(0, |all, flag| all | flag);
    violated.rule(flags & !known == 0, CL_INVALID_VALUE);
    violated.rule(exclusive(flags, &kernel) && exclusive(flags, &host), CL_INVALID_VALUE);
    violated.rule(flags & CL_MEM_USE_HOST_PTR == 0 || exclusive(flags, &storage), CL_INVALID_VALUE);
}

impl World {
    fn flags(u: &mut Unstructured<'_>) -> Result<cl_mem_flags> {
        Ok(match u.int_in_range(0..=7)? {
            0..=3 => 0,
            4 => 1 << u.int_in_range(0..=5)?,
            5 => 1 << u.int_in_range(7..=9)?,
            6 => (1 << u.int_in_range(0..=2)?) | (1 << u.int_in_range(7..=9)?),
            // Immutable memory, of an extension, is not modelled.
            _ => ((1 << u.int_in_range(0..=11)?) | (1 << u.int_in_range(0..=9)?)) & !CL_MEM_IMMUTABLE_EXT,
        })
    }

    /// Makes an object of any kind.
    pub(crate) fn create(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let context = if u.arbitrary()? { self.base } else { self.pick(u, Kind::Context)? };
        let number = self.get(Kind::Context, context).map(|object| object.number);
        let mut violated = Violated::default();
        violated.rule(number.is_some(), CL_INVALID_CONTEXT);
        let mut error = 1;
        let e = &raw mut error;
        let (made, kind, call, detail): (Handle, _, _, _) = match u.int_in_range(0..=11)? {
            0 => {
                let devices = [device(), self.pick(u, Kind::Context)?];
                let count = u.int_in_range(0..=2)?;
                let list = if u.ratio(1, 16)? { null() } else { devices.as_ptr() };
                violated = Violated::default();
                violated.rule(count != 0 && !list.is_null(), CL_INVALID_VALUE);
                violated.rule(count < 2 || list.is_null() || devices[1] == device(), CL_INVALID_DEVICE);
                let made = clCreateContext(null(), count, list, None, null_mut(), e);
                let call = format!("clCreateContext({count}, {devices:?}) = {made:?}");
                let succeeded = self.check(call, &violated, error);
                assert_eq!(made.is_null(), !succeeded);
                if succeeded {
                    self.add(made, Kind::Context, None, Detail::Context);
                }
                return Ok(());
            }
            1 | 2 => {
                let other = if u.ratio(7, 8)? { device() } else { self.pick(u, Kind::Queue)? };
                let bits = if u.ratio(7, 8)? { u.int_in_range(0..=3)? } else { u.int_in_range(4..=31)? };
                violated.rule(other == device(), CL_INVALID_DEVICE);
                violated.rule(bits < 4, CL_INVALID_VALUE);
                let made = clCreateCommandQueue(context, other, bits, e);
                (made, Kind::Queue, format!("clCreateCommandQueue({context:?}, {other:?}, {bits})"), Detail::Queue)
            }
            3..=5 => {
                let (flags, size) = (Self::flags(u)?, u.int_in_range(0..=SCRATCH)?);
                let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
                let host = if from_host ^ u.ratio(1, 16)? { self.scratch } else { null_mut() };
                flag_rules(&mut violated, flags);
                violated.rule(size != 0, CL_INVALID_BUFFER_SIZE);
                violated.rule(host.is_null() != from_host, CL_INVALID_HOST_PTR);
                let made = clCreateBuffer(context, flags, size, host, e);
                let call = format!("clCreateBuffer({context:?}, {flags:#x}, {size}, {host:?})");
                // The number of the next object is its own.
                let detail = Detail::Buffer { size, flags, origin: 0, root: u64::MAX, maps: Vec::new() };
                (made, Kind::Mem, call, detail)
            }
            6 => return self.create_sub_buffer(u),
            7 | 8 => {
                let made = clCreateUserEvent(context, e);
                (made, Kind::Event, format!("clCreateUserEvent({context:?})"), Detail::Event(self.fates.len()))
            }
            9 => {
                let (addressing, filter) = (u.int_in_range(0x112f..=0x1135)?, u.int_in_range(0x113f..=0x1142)?);
                violated.rule((0x1130..=0x1134).contains(&addressing), CL_INVALID_VALUE);
                violated.rule((0x1140..=0x1141).contains(&filter), CL_INVALID_VALUE);
                let made = clCreateSampler(context, CL_TRUE, addressing, filter, e);
                let call = format!("clCreateSampler({context:?}, {addressing:#x}, {filter:#x})");
                (made, Kind::Sampler, call, Detail::Sampler)
            }
            _ => {
                violated = Violated::default();
                let name = if u.ratio(7, 8)? { c"k" } else { c"other" };
                violated.rule(name == c"k", CL_INVALID_KERNEL_NAME);
                let made = clCreateKernel(self.program, name.as_ptr(), e);
                let call = format!("clCreateKernel({name:?})");
                let succeeded = self.check(format!("{call} = {made:?}"), &violated, error);
                if succeeded {
                    let context = self.get(Kind::Context, self.base).expect("it lives").number;
                    self.add(made, Kind::Kernel, Some(context), Detail::Kernel([Arg::Unset; 4]));
                }
                return Ok(());
            }
        };
        let succeeded = self.check(format!("{call} = {made:?}"), &violated, error);
        assert_eq!(made.is_null(), !succeeded);
        if succeeded {
            if kind == Kind::Event {
                self.fates.push(Fate::User(made, None));
            }
            let own = self.add(made, kind, number, detail);
            if let Detail::Buffer { root, .. } = &mut self.get_mut(made).detail {
                *root = own;
            }
        }
        Ok(())
    }

    fn create_sub_buffer(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let buffer = self.pick(u, Kind::Mem)?;
        let flags = if u.arbitrary()? { 0 } else { Self::flags(u)? };
        let size = u.int_in_range(0..=SCRATCH / 2)?;
        let origin = if u.ratio(3, 4)? { 128 * u.int_in_range(0..=8)? } else { u.int_in_range(0..=SCRATCH)? };
        let ty = if u.ratio(15, 16)? { CL_BUFFER_CREATE_TYPE_REGION } else { 0 };
        let region = cl_buffer_region { origin, size };
        let info: *const std::ffi::c_void = if u.ratio(15, 16)? { (&raw const region).cast() } else { null() };
        let mut violated = Violated::default();
        flag_rules(&mut violated, flags);
        violated.rule(ty == CL_BUFFER_CREATE_TYPE_REGION, CL_INVALID_VALUE);
        violated.rule(!info.is_null(), CL_INVALID_VALUE);
        violated.rule(info.is_null() || size != 0, CL_INVALID_BUFFER_SIZE);
        violated.rule(info.is_null() || origin.is_multiple_of(128), CL_MISALIGNED_SUB_BUFFER_OFFSET);
        let mut view = None;
        match self.get(Kind::Mem, buffer).map(|object| (object.number, object.context, &object.detail)) {
            Some((number, context, &Detail::Buffer { size: whole, flags: parent, root, .. })) => {
                violated.rule(root == number, CL_INVALID_MEM_OBJECT);
                violated.rule(info.is_null() || origin + size <= whole, CL_INVALID_VALUE);
                let (rw, ro, wo) = (CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY);
                let (host_ro, host_wo, none) = (CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS);
                let excluded =
                    [(wo, rw | ro), (ro, rw | wo), (host_wo, host_ro), (host_ro, host_wo), (none, host_ro | host_wo)];
                for (of_parent, of_part) in excluded {
                    violated.rule(parent & of_parent == 0 || flags & of_part == 0, CL_INVALID_VALUE);
                }
                let storage = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
                violated.rule(flags & storage == 0, CL_INVALID_VALUE);
                let inherited = |group: cl_mem_flags| if flags & group == 0 { parent & group } else { 0 };
                view = Some((root, context, flags | inherited(rw | ro | wo) | inherited(host_ro | host_wo | none)));
            }
            _ => violated.rule(false, CL_INVALID_MEM_OBJECT),
        }
        let mut error = 1;
        let made = clCreateSubBuffer(buffer, flags, ty, info, &mut error);
        let call = format!("clCreateSubBuffer({buffer:?}, {flags:#x}, {ty:#x}, {origin}, {size}) = {made:?}");
        if self.check(call, &violated, error) {
            let (root, context, flags) = view.expect("a buffer");
            let detail = Detail::Buffer { size, flags, origin, root, maps: Vec::new() };
            self.add(made, Kind::Mem, Some(context), detail);
        }
        Ok(())
    }

    /// Changes a reference count.
    pub(crate) fn retain_or_release(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let kind = *u.choose(&Kind::ALL)?;
        let (mut handle, retains) = (self.pick(u, kind)?, u.ratio(1, 3)?);
        if !retains && !self.dead.is_empty() && u.ratio(1, 8)? {
            handle = std::ptr::with_exposed_provenance_mut(u.choose(&self.dead)?.1);
        }
        let refs = self.get(kind, handle).map(|object| object.refs);
        if handle == self.base && kind == Kind::Context && !retains && refs == Some(1) {
            return Ok(());
        }
        if !retains && refs == Some(1) && kind == Kind::Event {
            // An event that nobody can set any more would never be set.
            self.settle();
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

    /// Asks for a reference count and a context.
    pub(crate) fn query(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let kind = *u.choose(&Kind::ALL)?;
        let handle = self.pick(u, kind)?;
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
            if let Detail::Buffer { size, ref maps, .. } = object.detail {
                let (mut bytes, mut mapped) = (0usize, 0 as cl_uint);
                let room = (&raw mut bytes).cast();
                assert_eq!(clGetMemObjectInfo(handle, CL_MEM_SIZE, 8, room, null_mut()), CL_SUCCESS);
                let room = (&raw mut mapped).cast();
                assert_eq!(clGetMemObjectInfo(handle, CL_MEM_MAP_COUNT, 4, room, null_mut()), CL_SUCCESS);
                assert_eq!((bytes, mapped as usize), (size, maps.len()), "size and mappings of {object:?}");
            }
        }
        Ok(())
    }

    /// Sets the status of an event.
    pub(crate) fn set_user_event(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (event, status) = (self.pick(u, Kind::Event)?, u.int_in_range(-2..=1)?);
        let mut violated = Violated::default();
        let fate = match self.get(Kind::Event, event).map(|object| &object.detail) {
            Some(Detail::Event(fate)) => Some(*fate),
            _ => None,
        };
        let user = fate.filter(|fate| matches!(self.fates[*fate], Fate::User(..)));
        violated.rule(user.is_some(), CL_INVALID_EVENT);
        violated.rule(status <= 0, CL_INVALID_VALUE);
        let is_set = user.is_some_and(|user| matches!(self.fates[user], Fate::User(_, Some(_))));
        violated.rule(!is_set, CL_INVALID_OPERATION);
        let result = clSetUserEventStatus(event, status);
        if self.check(format!("clSetUserEventStatus({event:?}, {status})"), &violated, result) {
            self.fates[user.expect("a user event")] = Fate::User(event, Some(status));
        }
        Ok(())
    }
}
