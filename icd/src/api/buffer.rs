//! Memory object: buffers and sub-buffers. Commands on them are in [`super::enqueue`].

use clift_include::cl::*;
use clift_runtime::memory::HostBuffer;

use super::external_memory::{self, Given, Import};
use crate::caps;
use crate::error::ClError::{
    InvalidBufferSize, InvalidHostPtr, InvalidMemObject, InvalidOperation, InvalidValue, MemObjectAllocationFailure,
    MisalignedSubBufferOffset,
};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::ObjectNotify;
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, InBytes, Properties, UserData};
use crate::object::allocation::Allocation;
use crate::object::buffer::Mem;
use crate::object::context::Context;

/// Flags for the use by kernels.
pub(super) const KERNEL_ACCESS: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
/// Flags for the use by the host.
pub(super) const HOST_ACCESS: cl_mem_flags = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
/// Flags for the location and origin of the memory.
pub(super) const STORAGE: cl_mem_flags = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

/// Flags by which an object may be written to.
const WRITABLE: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_HOST_WRITE_ONLY;

/// `clCreateBuffer`
pub fn create(context: Handle<Context>, flags: cl_mem_flags, size: usize, host_ptr: HostPtr) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    create_checked(context.active()?, Vec::new(), false, None, flags, size, host_ptr)
}

/// `clCreateBufferWithProperties`
pub fn create_with_properties(
    context: Handle<Context>,
    properties: Properties<cl_mem_properties>,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_PROPERTY, CL_INVALID_DEVICE: see `external_memory::given`
    let Given { list, addressed, external } = external_memory::given(&context, properties)?;
    // CL_INVALID_OPERATION if properties includes CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT and no devices in the context support
    // it: they do

    create_checked(context, list, addressed, external, flags, size, host_ptr)
}

fn create_checked(
    context: Ref<Context>,
    properties: Vec<cl_mem_properties>,
    addressed: bool,
    external: Option<Import>,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: HostPtr,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_VALUE if values specified in flags are not valid
    check_flags(flags)?;
    // CL_INVALID_VALUE if properties includes an external memory handle and flags includes CL_MEM_USE_HOST_PTR,
    // CL_MEM_ALLOC_HOST_PTR, or CL_MEM_COPY_HOST_PTR
    ensure(external.is_none() || flags & STORAGE == 0, InvalidValue)?;
    // CL_INVALID_VALUE if CL_MEM_IMMUTABLE_EXT is set in flags and neither CL_MEM_COPY_HOST_PTR nor CL_MEM_USE_HOST_PTR is,
    // nor does properties include an external memory handle
    let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    ensure(flags & CL_MEM_IMMUTABLE_EXT == 0 || from_host || external.is_some(), InvalidValue)?;
    // CL_INVALID_BUFFER_SIZE if size is zero
    ensure(size != 0, InvalidBufferSize)?;
    // CL_INVALID_BUFFER_SIZE if size is greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE for all devices in context
    ensure(size as u64 <= caps::limits().max_mem_alloc_size, InvalidBufferSize)?;
    // CL_INVALID_BUFFER_SIZE if CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR is set in flags, and host_ptr is a pointer
    // returned by clSVMAlloc, and size is greater than the size passed to clSVMAlloc
    let shared = if from_host { context.allocations().at(host_ptr.addr()) } else { None };
    let too_large = |shared: Allocation| shared.start() == host_ptr.addr() && size > shared.bytes.len();
    ensure(!shared.is_some_and(too_large), InvalidBufferSize)?;
    // CL_INVALID_HOST_PTR if host_ptr is NULL, and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are set in flags,
    // or if host_ptr is not NULL but neither is set
    ensure(host_ptr.is_null() != from_host, InvalidHostPtr)?;

    if let Some(import) = external {
        let external = import.open(size)?;
        let bytes = external.memory.slice();
        let buffer = Mem::buffer(context, flags, properties, HostPtr::NULL, bytes);
        return Ok(created(buffer.with_external(external), addressed));
    }
    let host_bytes = host_ptr.slice(size);
    if flags & CL_MEM_USE_HOST_PTR != 0 {
        let bytes = host_bytes.ok_or(InvalidHostPtr)?;
        return Ok(created(Mem::buffer(context, flags, properties, host_ptr, bytes), addressed));
    }
    // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the buffer object
    let allocate = if host_bytes.is_some() { HostBuffer::overwritten } else { HostBuffer::new };
    let allocated = allocate(size, caps::limits().base_address_align).map_err(|_| MemObjectAllocationFailure)?;
    let bytes = allocated.into_slice();
    if let Some(source) = host_bytes {
        bytes.copy_from(&source).map_err(|_| MemObjectAllocationFailure)?;
    }
    Ok(created(Mem::buffer(context, flags, properties, HostPtr::NULL, bytes), addressed))
}

/// The object for a new buffer; `addressed` says whether the application may query its address.
fn created(buffer: Mem, addressed: bool) -> Ref<Mem> {
    let buffer = Object::create(buffer.with_device_address(addressed));
    if addressed {
        buffer.context().add_addressed(&buffer);
    }
    buffer
}

/// The rules for the flags of a memory object.
///
/// # Errors
/// `CL_INVALID_VALUE` for flags that do not exist or exclude each other.
pub(super) fn check_flags(flags: cl_mem_flags) -> ClResult<()> {
    ensure(flags & !(KERNEL_ACCESS | HOST_ACCESS | STORAGE | CL_MEM_IMMUTABLE_EXT) == 0, InvalidValue)?;
    // CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY are mutually exclusive
    ensure((flags & KERNEL_ACCESS).count_ones() <= 1, InvalidValue)?;
    // CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY and CL_MEM_HOST_NO_ACCESS are mutually exclusive
    ensure((flags & HOST_ACCESS).count_ones() <= 1, InvalidValue)?;
    // CL_MEM_IMMUTABLE_EXT excludes CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY and CL_MEM_HOST_WRITE_ONLY
    ensure(flags & CL_MEM_IMMUTABLE_EXT == 0 || flags & WRITABLE == 0, InvalidValue)?;
    // CL_MEM_USE_HOST_PTR excludes CL_MEM_ALLOC_HOST_PTR and CL_MEM_COPY_HOST_PTR
    ensure(flags & CL_MEM_USE_HOST_PTR == 0 || flags & STORAGE == CL_MEM_USE_HOST_PTR, InvalidValue)
}

/// The rules for the flags of an object in the memory of another one.
///
/// # Errors
/// `CL_INVALID_VALUE` for flags that exceed the other's, or ask for memory.
pub(super) fn check_view(parent: cl_mem_flags, flags: cl_mem_flags) -> ClResult<()> {
    // CL_INVALID_VALUE if it was created with CL_MEM_WRITE_ONLY and flags specifies CL_MEM_READ_WRITE or CL_MEM_READ_ONLY
    ensure(parent & CL_MEM_WRITE_ONLY == 0 || flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY) == 0, InvalidValue)?;
    // CL_INVALID_VALUE if it was created with CL_MEM_READ_ONLY and flags specifies CL_MEM_READ_WRITE or CL_MEM_WRITE_ONLY
    ensure(parent & CL_MEM_READ_ONLY == 0 || flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY) == 0, InvalidValue)?;
    // CL_INVALID_VALUE if it was created with CL_MEM_HOST_WRITE_ONLY and flags specify CL_MEM_HOST_READ_ONLY
    ensure(parent & CL_MEM_HOST_WRITE_ONLY == 0 || flags & CL_MEM_HOST_READ_ONLY == 0, InvalidValue)?;
    // CL_INVALID_VALUE if it was created with CL_MEM_HOST_READ_ONLY and flags specify CL_MEM_HOST_WRITE_ONLY
    ensure(parent & CL_MEM_HOST_READ_ONLY == 0 || flags & CL_MEM_HOST_WRITE_ONLY == 0, InvalidValue)?;
    // CL_INVALID_VALUE if it was created with CL_MEM_HOST_NO_ACCESS and flags specify CL_MEM_HOST_READ_ONLY or
    // CL_MEM_HOST_WRITE_ONLY
    let host_reads_or_writes = flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY) != 0;
    ensure(parent & CL_MEM_HOST_NO_ACCESS == 0 || !host_reads_or_writes, InvalidValue)?;
    // CL_INVALID_VALUE if it was created with CL_MEM_IMMUTABLE_EXT and flags specifies CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, or
    // CL_MEM_HOST_WRITE_ONLY
    ensure(parent & CL_MEM_IMMUTABLE_EXT == 0 || flags & WRITABLE == 0, InvalidValue)?;
    // CL_INVALID_VALUE if flags specifies CL_MEM_USE_HOST_PTR or CL_MEM_ALLOC_HOST_PTR or CL_MEM_COPY_HOST_PTR
    ensure(flags & STORAGE == 0, InvalidValue)
}

/// `clCreateSubBuffer`
pub fn create_sub(
    buffer: Handle<Mem>,
    flags: cl_mem_flags,
    create_type: cl_buffer_create_type,
    create_info: InBytes,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object, or is a sub-buffer object
    let buffer = buffer.get()?;
    ensure(buffer.parent().is_none() && buffer.is_buffer(), InvalidMemObject)?;
    // CL_CONTEXT_TERMINATED_KHR if the context has been terminated
    buffer.context().ensure_active()?;
    // CL_INVALID_VALUE if flags are not valid
    check_flags(flags)?;
    let parent = buffer.flags();
    // CL_INVALID_VALUE: see `check_view`
    check_view(parent, flags)?;
    // CL_INVALID_VALUE if the value specified in buffer_create_type is not valid
    ensure(create_type == CL_BUFFER_CREATE_TYPE_REGION, InvalidValue)?;
    // CL_INVALID_VALUE if buffer_create_info is NULL
    let cl_buffer_region { origin, size } = create_info.read().ok_or(InvalidValue)?;
    // CL_INVALID_BUFFER_SIZE if the size field of the cl_buffer_region is zero
    ensure(size != 0, InvalidBufferSize)?;
    // CL_INVALID_VALUE if the region specified by the cl_buffer_region is out of bounds in buffer
    let inherit = |group: cl_mem_flags| if flags & group == 0 { parent & group } else { 0 };
    let all_flags =
        flags | inherit(KERNEL_ACCESS) | inherit(HOST_ACCESS) | inherit(STORAGE) | inherit(CL_MEM_IMMUTABLE_EXT);
    let part = Mem::sub_buffer(&buffer, all_flags, origin, size).ok_or(InvalidValue)?;
    // CL_MISALIGNED_SUB_BUFFER_OFFSET if there are no devices in context associated with buffer for which the origin
    // field is aligned to the CL_DEVICE_MEM_BASE_ADDR_ALIGN value
    ensure(origin.is_multiple_of(caps::limits().base_address_align), MisalignedSubBufferOffset)?;

    Ok(Object::create(part))
}

/// `clSetMemObjectDestructorCallback`
pub fn set_destructor_callback(mem: Handle<Mem>, notify: ObjectNotify<Mem>, user_data: UserData) -> ClResult<()> {
    // CL_INVALID_MEM_OBJECT if memobj is not a valid memory object
    let object = mem.get()?;
    // CL_INVALID_VALUE if pfn_notify is NULL
    ensure(!notify.is_null(), InvalidValue)?;

    object.add_destructor(notify, mem, user_data);
    Ok(())
}

/// `clGetMemObjectInfo`
pub fn get_info(mem: Handle<Mem>, name: cl_mem_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_MEM_OBJECT if memobj is a not a valid memory object
    let mem = mem.get()?;

    match name {
        CL_MEM_TYPE => info.value(mem.object_type()),
        CL_MEM_FLAGS => info.value(mem.flags()),
        CL_MEM_SIZE => info.value(mem.size()),
        CL_MEM_HOST_PTR => info.value(mem.host_ptr().addr()),
        CL_MEM_MAP_COUNT => info.value(mem.maps().count() as cl_uint),
        CL_MEM_REFERENCE_COUNT => info.value(mem.reference_count()),
        CL_MEM_CONTEXT => info.object(mem.context()),
        CL_MEM_ASSOCIATED_MEMOBJECT => info.object_or_null(mem.parent()),
        CL_MEM_OFFSET => info.value(mem.origin()),
        CL_MEM_USES_SVM_POINTER => info.bool(mem.uses_svm()),
        CL_MEM_PROPERTIES => info.slice(mem.properties()),
        // CL_INVALID_OPERATION if the buffer was not allocated with CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT
        CL_MEM_DEVICE_ADDRESS_EXT => {
            let address = mem.device_address().ok_or(InvalidOperation)?;
            info.slice(&vec![address; mem.context().devices().len()])
        }
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}
