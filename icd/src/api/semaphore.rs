//! Semaphores (`cl_khr_semaphore`): creation and queries; the commands that signal them and wait for them. External semaphores,
//! which are file descriptors (`cl_khr_external_semaphore` with `_opaque_fd` and `_sync_fd`).
//!
//! An opaque descriptor is one that a Clift semaphore has exported, in this process or in another one. Sync files cannot be
//! exported: no system call makes one.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::descriptor::Descriptor;
use clift_runtime::graph::Work;

use super::enqueue::{Submission, Wait, same_context};
use crate::caps;
use crate::error::ClError::{
    InvalidCommandQueue, InvalidDevice, InvalidOperation, InvalidProperty, InvalidSemaphore, InvalidValue,
    OutOfResources,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{InArray, Properties};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::queue::Queue;
use crate::object::semaphore::{External, Semaphore};

/// The name of the type as a property.
const TYPE: cl_semaphore_properties_khr = CL_SEMAPHORE_TYPE_KHR as cl_semaphore_properties_khr;
/// The name of the list of devices as a property.
const DEVICES: cl_semaphore_properties_khr = CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR as cl_semaphore_properties_khr;
/// The name of the list of handle types as a property.
const EXPORTS: cl_semaphore_properties_khr = CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR;
/// An opaque descriptor as a property.
const OPAQUE_FD: cl_semaphore_properties_khr = CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR as cl_semaphore_properties_khr;
/// A sync file as a property.
const SYNC_FD: cl_semaphore_properties_khr = CL_SEMAPHORE_HANDLE_SYNC_FD_KHR as cl_semaphore_properties_khr;

/// The descriptor in a property. It is an `int`, which C extends by its sign or not.
fn descriptor_of(value: cl_semaphore_properties_khr) -> ClResult<RawFd> {
    let signed = i64::from_ne_bytes(value.to_ne_bytes());
    RawFd::try_from(signed).or_else(|_| u32::try_from(value).map(u32::cast_signed)).map_err(|_| InvalidProperty)
}

/// A fence, or `None` for the number of one that has been signaled.
fn fence_of(file: RawFd) -> Option<Option<Arc<Descriptor>>> {
    if file == -1 { Some(None) } else { Descriptor::import_fence(file).map(|fence| Some(Arc::new(fence))) }
}

/// `clCreateSemaphoreWithPropertiesKHR`
pub fn create(
    context: Handle<Context>,
    properties: Properties<cl_semaphore_properties_khr>,
) -> ClResult<Ref<Semaphore>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if sema_props is NULL
    ensure(!properties.is_null(), InvalidValue)?;
    let mut list = Vec::new();
    let (mut of_type, mut devices, mut exports, mut handle) = (None, None, None, None);
    loop {
        let name = properties.element(list.len());
        list.push(name);
        match name {
            0 => break,
            // CL_INVALID_PROPERTY if the same property name is specified more than once, or if the value specified for a
            // supported property name is not valid
            TYPE => {
                let value = properties.element(list.len());
                list.push(value);
                let known =
                    caps::SEMAPHORE_TYPES.iter().any(|known| cl_semaphore_properties_khr::from(*known) == value);
                ensure(of_type.is_none() && known, InvalidProperty)?;
                of_type = Some(value);
            }
            DEVICES => {
                ensure(devices.is_none(), InvalidProperty)?;
                let mut named = Vec::new();
                loop {
                    let value = properties.element(list.len());
                    list.push(value);
                    if value == u64::from(CL_SEMAPHORE_DEVICE_HANDLE_LIST_END_KHR) {
                        break;
                    }
                    // CL_INVALID_DEVICE if the list does not identify exactly one valid device, or a device identified by
                    // it is not one of the devices within context
                    let device = Handle::<Device>::from_addr(value as usize).get()?;
                    ensure(named.is_empty() && context.has_device(&device), InvalidDevice)?;
                    named.push(device);
                }
                ensure(!named.is_empty(), InvalidDevice)?;
                devices = Some(named);
            }
            EXPORTS => {
                ensure(exports.is_none(), InvalidProperty)?;
                let mut types = Vec::new();
                loop {
                    let value = properties.element(list.len());
                    list.push(value);
                    if value == CL_SEMAPHORE_EXPORT_HANDLE_TYPES_LIST_END_KHR {
                        break;
                    }
                    let known = caps::SEMAPHORE_EXPORT_TYPES
                        .iter()
                        .find(|known| cl_semaphore_properties_khr::from(**known) == value);
                    types.push(*known.ok_or(InvalidProperty)?);
                }
                exports = Some(types);
            }
            OPAQUE_FD | SYNC_FD => {
                let value = properties.element(list.len());
                list.push(value);
                // CL_INVALID_PROPERTY if sema_props includes more than one external semaphore handle
                ensure(handle.replace((name, descriptor_of(value)?)).is_none(), InvalidProperty)?;
            }
            // CL_INVALID_PROPERTY if a property name in sema_props is not a supported property name
            _ => return Err(InvalidProperty),
        }
    }
    // CL_INVALID_VALUE if sema_props do not specify CL_SEMAPHORE_TYPE_KHR
    ensure(of_type.is_some(), InvalidValue)?;
    // CL_INVALID_PROPERTY if context is a multiple device context and sema_props does not specify
    // CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR
    ensure(devices.is_some() || context.devices().len() == 1, InvalidProperty)?;

    let exported = exports.unwrap_or_default();
    // CL_INVALID_VALUE if more than one semaphore handle type is specified in the CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR list
    ensure(exported.len() <= 1, InvalidValue)?;
    // CL_INVALID_OPERATION if props_list specifies a cl_external_semaphore_handle_type_khr followed by a handle as well as
    // CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR
    ensure(handle.is_none() || exported.is_empty(), InvalidOperation)?;

    let external = match (handle, exported.first()) {
        (Some((SYNC_FD, file)), _) => External::Fence(fence_of(file).ok_or(InvalidProperty)?),
        (Some((_, file)), _) => {
            External::Counter(Arc::new(Descriptor::import_counter(file).ok_or(InvalidProperty)?), None)
        }
        (None, Some(&exported)) => {
            External::Counter(Arc::new(Descriptor::counter().ok_or(OutOfResources)?), Some(exported))
        }
        (None, None) => External::None,
    };
    let devices = devices.unwrap_or_else(|| context.devices().to_vec());
    Ok(Object::create(Semaphore::new(context, devices, list, external)))
}

/// `clGetSemaphoreInfoKHR`
pub fn get_info(semaphore: Handle<Semaphore>, name: cl_semaphore_info_khr, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_SEMAPHORE_KHR if sema_object is not a valid semaphore
    let semaphore = semaphore.get()?;

    match name {
        CL_SEMAPHORE_CONTEXT_KHR => info.object(semaphore.context()),
        CL_SEMAPHORE_REFERENCE_COUNT_KHR => info.value(semaphore.reference_count()),
        CL_SEMAPHORE_PROPERTIES_KHR => info.slice(semaphore.properties()),
        CL_SEMAPHORE_TYPE_KHR => info.value(CL_SEMAPHORE_TYPE_BINARY_KHR),
        CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR_INFO => info.slice(exported_as(&semaphore).as_slice()),
        CL_SEMAPHORE_EXPORTABLE_KHR => info.bool(exported_as(&semaphore).is_some()),
        CL_SEMAPHORE_PAYLOAD_KHR => info.value(cl_semaphore_payload_khr::from(semaphore.is_signaled())),
        CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR => {
            let devices: Vec<Handle<Device>> = semaphore.devices().iter().map(|device| device.handle()).collect();
            info.slice(&devices)
        }
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// The name of the list of handle types as a query.
const CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR_INFO: cl_semaphore_info_khr =
    CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR as cl_semaphore_info_khr;

/// The handle type as which a semaphore may be exported.
fn exported_as(semaphore: &Semaphore) -> Option<cl_external_semaphore_handle_type_khr> {
    match semaphore.external() {
        External::Counter(_, exported) => *exported,
        External::None | External::Fence(_) => None,
    }
}

/// `clGetSemaphoreHandleForTypeKHR`
pub fn get_handle_for_type(
    semaphore: Handle<Semaphore>,
    device: Handle<Device>,
    handle_type: cl_external_semaphore_handle_type_khr,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_SEMAPHORE_KHR if sema_object is not a valid semaphore
    let semaphore = semaphore.get()?;
    // CL_INVALID_DEVICE if device is not a valid device, or not one that the semaphore is associated with
    let device = device.get()?;
    ensure(semaphore.devices().iter().any(|own| Ref::ptr_eq(own, &device)), InvalidDevice)?;
    // CL_INVALID_VALUE if the requested handle type was not specified when the semaphore was created
    let External::Counter(counter, Some(exported)) = semaphore.external() else { return Err(InvalidValue) };
    ensure(*exported == handle_type, InvalidValue)?;

    match info.room_for::<c_int>() {
        // Only the size is asked for.
        None => info.value::<c_int>(-1),
        // CL_INVALID_VALUE if handle_size is less than the size of the requested handle
        Some(0) => Err(InvalidValue),
        Some(_) => info.value::<c_int>(counter.export().ok_or(OutOfResources)?),
    }
}

/// `clReImportSemaphoreSyncFdKHR`
pub fn reimport_sync_fd(
    semaphore: Handle<Semaphore>,
    properties: Properties<cl_semaphore_reimport_properties_khr>,
    file: c_int,
) -> ClResult<()> {
    // CL_INVALID_SEMAPHORE_KHR if sema_object is not a valid semaphore, or if a CL_SEMAPHORE_HANDLE_SYNC_FD_KHR handle was not
    // imported when it was created
    let semaphore = semaphore.get()?;
    let External::Fence(_) = semaphore.external() else { return Err(InvalidSemaphore) };
    // No property is defined.
    ensure(properties.is_null() || properties.element(0) == 0, InvalidProperty)?;
    // CL_INVALID_VALUE if fd is invalid
    let fence = fence_of(file).ok_or(InvalidValue)?;
    semaphore.take_fence(fence.as_ref());
    Ok(())
}

/// What both commands check alike, in the specification's order. `CL_INVALID_VALUE` for a missing payload never comes up:
/// binary semaphores have none.
fn checked<'call>(
    queue: Handle<Queue>,
    kind: cl_command_type,
    (count, semaphores): (cl_uint, InArray<'_, Handle<Semaphore>>),
    wait: Wait<'call>,
) -> ClResult<(Submission<'call>, Vec<Ref<Semaphore>>)> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    let queue = queue.active()?;
    // CL_INVALID_VALUE if num_sema_objects is 0
    ensure(count != 0 && !semaphores.is_null(), InvalidValue)?;
    // CL_INVALID_SEMAPHORE_KHR if any of the semaphore objects specified by sema_objects is not valid
    let semaphores: Vec<Ref<Semaphore>> = semaphores
        .iter(count as usize)
        .map(|semaphore| semaphore.get().map_err(|_| InvalidSemaphore))
        .collect::<ClResult<_>>()?;
    for semaphore in &semaphores {
        // CL_INVALID_CONTEXT if the context associated with command_queue and any of the semaphore objects are not the same
        // CL_INVALID_COMMAND_QUEUE if one or more of sema_objects belong to a context that does not contain the device of
        // command_queue (which the first rule covers where the device is in neither)
        let has_device = semaphore.context().has_device(queue.device());
        ensure(has_device, InvalidCommandQueue)?;
        same_context(&queue, semaphore.context())?;
        // CL_INVALID_COMMAND_QUEUE if the device associated with command_queue is not one of the devices specified when the
        // semaphore was created
        ensure(semaphore.devices().iter().any(|device| Ref::ptr_eq(device, queue.device())), InvalidCommandQueue)?;
    }
    // CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT: see `Submission::new`
    let mut command = Submission::new(&queue, kind, wait)?;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the execution status of any of the events in event_wait_list is a
    // negative integer value
    command.ensure_none_failed()?;
    for semaphore in &semaphores {
        command = command.keep(semaphore);
    }
    Ok((command, semaphores))
}

/// `clEnqueueSignalSemaphoresKHR`
pub fn enqueue_signal(
    queue: Handle<Queue>,
    count: cl_uint,
    semaphores: InArray<'_, Handle<Semaphore>>,
    _payloads: InArray<'_, cl_semaphore_payload_khr>,
    wait: Wait<'_>,
) -> ClResult<()> {
    let (command, semaphores) = checked(queue, CL_COMMAND_SEMAPHORE_SIGNAL_KHR, (count, semaphores), wait)?;

    let signaled = semaphores.clone();
    let work = move || {
        signaled.iter().for_each(|semaphore| semaphore.signal());
        Ok(())
    };
    command.submit_observed(false, Work::Task(Box::new(work)), |event| {
        semaphores.iter().for_each(|semaphore| semaphore.enqueue_signal(event));
    })
}

/// `clEnqueueWaitSemaphoresKHR`
pub fn enqueue_wait(
    queue: Handle<Queue>,
    count: cl_uint,
    semaphores: InArray<'_, Handle<Semaphore>>,
    _payloads: InArray<'_, cl_semaphore_payload_khr>,
    wait: Wait<'_>,
) -> ClResult<()> {
    let (mut command, semaphores) = checked(queue, CL_COMMAND_SEMAPHORE_WAIT_KHR, (count, semaphores), wait)?;

    for semaphore in &semaphores {
        command = command.after(semaphore.enqueue_wait());
    }
    command.task(false, move || {
        semaphores.iter().for_each(|semaphore| semaphore.wait());
        Ok(())
    })
}
