//! External memory, given by file descriptors (`cl_khr_external_memory` with `_opaque_fd` and `_dma_buf`): the properties of
//! buffers and images, and the commands to acquire and release.
//!
//! The processor must be able to map a descriptor (a memfd, shared memory, a dma_buf whose exporter allows it). Images in such
//! memory are linear, with the pitches of their descriptor.

use std::os::fd::RawFd;
use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::memory::{HostBuffer, ImportError};

use super::enqueue::{Submission, Wait, same_context};
use crate::caps;
use crate::error::ClError::{
    InvalidCommandQueue, InvalidDevice, InvalidMemObject, InvalidProperty, InvalidValue, MemObjectAllocationFailure,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::pointer::{InArray, Properties};
use crate::object::buffer::{External, Mem};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::queue::Queue;

/// The parsed property list of a memory object.
pub(super) struct Given {
    /// The list as given, including the final zero; empty for NULL.
    pub(super) list: Vec<cl_mem_properties>,
    /// `CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT`
    pub(super) addressed: bool,
    /// The external memory, if it names one.
    pub(super) external: Option<Import>,
}

impl Given {
    /// No properties.
    pub(super) const NOTHING: Given = Given { list: Vec::new(), addressed: false, external: None };
}

/// Memory to import.
pub(super) struct Import {
    file: RawFd,
    devices: Vec<Ref<Device>>,
}

impl Import {
    /// Maps `size` bytes of it. On success, the descriptor belongs to the driver.
    ///
    /// # Errors
    /// `CL_INVALID_PROPERTY` if the descriptor is not one of memory of that size; `CL_MEM_OBJECT_ALLOCATION_FAILURE` if the
    /// system does not map it.
    pub(super) fn open(self, size: usize) -> ClResult<External> {
        let memory = HostBuffer::import(self.file, size).map_err(|error| match error {
            ImportError::NoMemory | ImportError::TooSmall => InvalidProperty,
            ImportError::Unmappable => MemObjectAllocationFailure,
        })?;
        Ok(External { devices: self.devices, memory: Arc::new(memory) })
    }
}

/// The properties of a memory object.
///
/// # Errors
/// `CL_INVALID_PROPERTY`, `CL_INVALID_DEVICE` by the rules below.
pub(super) fn given(context: &Ref<Context>, properties: Properties<'_, cl_mem_properties>) -> ClResult<Given> {
    let mut list = Vec::new();
    let (mut addressed, mut file, mut devices) = (None, None, None);
    while !properties.is_null() {
        let name = properties.element(list.len());
        list.push(name);
        if name == 0 {
            break;
        }
        // CL_INVALID_PROPERTY if a property name in properties is not a supported property name, if the value specified
        // for a supported property name is not valid, or if the same property name is specified more than once
        if name == CL_MEM_DEVICE_HANDLE_LIST_KHR {
            ensure(devices.is_none(), InvalidProperty)?;
            let mut named = Vec::new();
            loop {
                let value = properties.element(list.len());
                list.push(value);
                if value == CL_MEM_DEVICE_HANDLE_LIST_END_KHR {
                    break;
                }
                named.push(Handle::<Device>::from_addr(value as usize));
            }
            devices = Some(named);
            continue;
        }
        let value = properties.element(list.len());
        list.push(value);
        if name == CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT {
            ensure(value == u64::from(CL_TRUE) || value == u64::from(CL_FALSE), InvalidProperty)?;
            ensure(addressed.replace(value == u64::from(CL_TRUE)).is_none(), InvalidProperty)?;
        } else {
            let known = caps::EXTERNAL_MEMORY_TYPES.iter().any(|known| cl_mem_properties::from(*known) == name);
            ensure(known, InvalidProperty)?;
            // CL_INVALID_PROPERTY if properties includes more than one external memory handle
            let descriptor = RawFd::try_from(value).map_err(|_| InvalidProperty)?;
            ensure(file.replace(descriptor).is_none(), InvalidProperty)?;
        }
    }
    // CL_INVALID_PROPERTY if properties does not include a supported external memory handle and
    // CL_MEM_DEVICE_HANDLE_LIST_KHR is specified
    ensure(devices.is_none() || file.is_some(), InvalidProperty)?;
    let devices = match devices {
        None => context.devices().to_vec(),
        Some(named) => {
            let mut found = Vec::new();
            for handle in named {
                // CL_INVALID_DEVICE if a device identified by the property is not a valid device or is not associated with
                // context, or cannot import the type of memory: all can
                let device = handle.get()?;
                ensure(context.has_device(&device), InvalidDevice)?;
                found.push(device);
            }
            found
        }
    };
    let external = file.map(|file| Import { file, devices });
    Ok(Given { list, addressed: addressed == Some(true), external })
}

/// `clEnqueueAcquireExternalMemObjectsKHR`
pub fn enqueue_acquire(
    queue: Handle<Queue>,
    count: cl_uint,
    objects: InArray<'_, Handle<Mem>>,
    wait: Wait<'_>,
) -> ClResult<()> {
    hand_over(queue, (count, objects), CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR, true, wait)
}

/// `clEnqueueReleaseExternalMemObjectsKHR`
pub fn enqueue_release(
    queue: Handle<Queue>,
    count: cl_uint,
    objects: InArray<'_, Handle<Mem>>,
    wait: Wait<'_>,
) -> ClResult<()> {
    hand_over(queue, (count, objects), CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR, false, wait)
}

/// Implements both commands: begins or ends the processor's access to the memory.
fn hand_over(
    queue: Handle<Queue>,
    (count, objects): (cl_uint, InArray<'_, Handle<Mem>>),
    kind: cl_command_type,
    begin: bool,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if num_mem_objects is zero and mem_objects is not a NULL value, or if num_mem_objects is greater than 0
    // and mem_objects is NULL
    let mut memory = Vec::new();
    let mut kept = Vec::new();
    for object in objects.checked(count, InvalidValue)? {
        // CL_INVALID_MEM_OBJECT if any of the memory objects is not a valid OpenCL memory object created using an external
        // memory handle
        let object = object.get()?;
        let external = object.external().ok_or(InvalidMemObject)?;
        // CL_INVALID_COMMAND_QUEUE if one or more of mem_objects belong to a context that does not contain the device of
        // command_queue, or if the device is not one of those specified when one of them was created
        ensure(external.devices.iter().any(|device| Ref::ptr_eq(device, queue.device())), InvalidCommandQueue)?;
        same_context(&queue, object.context())?;
        memory.push(external.memory.clone());
        kept.push(object);
    }
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut command = Submission::new(&queue, kind, wait)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the execution status of any of the events in event_wait_list is a
    // negative integer value
    command.ensure_none_failed()?;

    for object in &kept {
        command = command.keep(object);
    }
    command.task(false, move || {
        memory.iter().for_each(|memory| memory.sync_shared(begin));
        Ok(())
    })
}
