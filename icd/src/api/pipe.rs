//! Memory object: pipes. Kernels operate on their memory ([`clift_include::pipe`]); no command does.

use clift_include::cl::*;
use clift_include::pipe;
use clift_runtime::memory::HostBuffer;

use crate::caps;
use crate::error::ClError::{InvalidMemObject, InvalidPipeSize, InvalidValue, MemObjectAllocationFailure};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::Properties;
use crate::object::buffer::{Mem, PipeSize};
use crate::object::context::Context;

/// The only flags of pipes, and the flags of those created without any.
const FLAGS: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS;

/// `clCreatePipe`
pub fn create(
    context: Handle<Context>,
    flags: cl_mem_flags,
    packet_size: cl_uint,
    max_packets: cl_uint,
    properties: Properties<'_, cl_pipe_properties>,
) -> ClResult<Ref<Mem>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_OPERATION if no devices in context support pipes: they do
    // CL_INVALID_VALUE if values specified in flags are not CL_MEM_READ_WRITE or CL_MEM_HOST_NO_ACCESS
    ensure(flags & !FLAGS == 0, InvalidValue)?;
    // CL_INVALID_VALUE if properties is not NULL
    ensure(properties.is_null(), InvalidValue)?;
    // CL_INVALID_PIPE_SIZE if pipe_packet_size is 0 or exceeds CL_DEVICE_PIPE_MAX_PACKET_SIZE for all devices in context, or
    // if pipe_max_packets is 0
    ensure((1..=pipe::MAX_PACKET_BYTES).contains(&packet_size) && max_packets != 0, InvalidPipeSize)?;

    // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the pipe object
    let bytes = pipe::bytes(packet_size, max_packets).filter(|&bytes| bytes <= caps::limits().max_mem_alloc_size);
    let bytes = bytes.ok_or(MemObjectAllocationFailure)?;
    let allocated =
        HostBuffer::new(bytes as usize, caps::limits().base_address_align).map_err(|_| MemObjectAllocationFailure)?;
    let bytes = allocated.into_slice();
    bytes.write(&pipe::empty(packet_size, max_packets)).map_err(|_| MemObjectAllocationFailure)?;
    let flags = if flags == 0 { FLAGS } else { flags };
    Ok(Object::create(Mem::pipe(context, flags, PipeSize { packet_bytes: packet_size, max_packets }, bytes)))
}

/// `clGetPipeInfo`
pub fn get_info(pipe: Handle<Mem>, name: cl_pipe_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_MEM_OBJECT if pipe is a not a valid pipe object
    let mem = pipe.get()?;
    let size = mem.as_pipe().ok_or(InvalidMemObject)?;

    match name {
        CL_PIPE_PACKET_SIZE => info.value(size.packet_bytes),
        CL_PIPE_MAX_PACKETS => info.value(size.max_packets),
        CL_PIPE_PROPERTIES => info.slice::<cl_pipe_properties>(&[]),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}
