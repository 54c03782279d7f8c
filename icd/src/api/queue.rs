//! Command queue: creation and queries; flush and finish.

use std::ffi::c_void;

use clift_include::cl::*;

use crate::caps;
use crate::error::ClError::{
    InvalidCommandQueue, InvalidDevice, InvalidOperation, InvalidQueueProperties, InvalidValue, OutOfResources,
};
use crate::error::{ClResult, ensure};
use crate::ffi::entry::Returned;
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{Out, Properties, pairs};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::device_queue::DeviceQueue;
use crate::object::queue::Queue;

/// The property bits that host queues may have.
const HOST_PROPERTIES: cl_command_queue_properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
/// The property bits that only device queues have.
const DEVICE_PROPERTIES: cl_command_queue_properties = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

/// Name of `cl_khr_priority_hints`.
const PRIORITY: cl_command_queue_info = CL_QUEUE_PRIORITY_KHR as cl_command_queue_info;
/// Name of `cl_khr_throttle_hints`.
const THROTTLE: cl_command_queue_info = CL_QUEUE_THROTTLE_KHR as cl_command_queue_info;
/// Values of `cl_khr_priority_hints`.
const PRIORITIES: [cl_queue_properties; 3] = [
    CL_QUEUE_PRIORITY_HIGH_KHR as cl_queue_properties,
    CL_QUEUE_PRIORITY_MED_KHR as cl_queue_properties,
    CL_QUEUE_PRIORITY_LOW_KHR as cl_queue_properties,
];
/// Values of `cl_khr_throttle_hints`.
const THROTTLES: [cl_queue_properties; 3] = [
    CL_QUEUE_THROTTLE_HIGH_KHR as cl_queue_properties,
    CL_QUEUE_THROTTLE_MED_KHR as cl_queue_properties,
    CL_QUEUE_THROTTLE_LOW_KHR as cl_queue_properties,
];

/// A queue of either kind: to both the application has handles of type `cl_command_queue`.
#[derive(Clone, Debug)]
pub enum AnyQueue {
    /// A host queue.
    Host(Ref<Queue>),
    /// A device queue.
    Device(Ref<DeviceQueue>),
}

impl AnyQueue {
    /// The live queue of a handle.
    fn of(handle: Handle<Queue>) -> ClResult<Self> {
        if let Ok(queue) = handle.get() {
            return Ok(Self::Host(queue));
        }
        Handle::<DeviceQueue>::from_addr(handle.as_ptr().addr()).get().map(Self::Device)
    }
}

impl Returned for AnyQueue {
    fn into_c(self) -> *mut c_void {
        match self {
            AnyQueue::Host(queue) => queue.into_c(),
            AnyQueue::Device(queue) => queue.into_c(),
        }
    }
}

/// `clCreateCommandQueueWithProperties`, `clCreateCommandQueueWithPropertiesKHR`
pub fn create_with_properties(
    context: Handle<Context>,
    device: Handle<Device>,
    properties: Properties<cl_queue_properties>,
) -> ClResult<AnyQueue> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_DEVICE if device is not a valid device, or is not associated with context
    let device = device_of(&context, device)?;
    // CL_INVALID_VALUE if values specified in properties are not valid
    let list = properties.verbatim();
    let mut bits = 0;
    let mut size = None;
    let mut has_hints = false;
    for (index, (name, value)) in pairs(&list).enumerate() {
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidValue)?;
        match cl_command_queue_info::try_from(name) {
            Ok(CL_QUEUE_PROPERTIES) => bits = value,
            Ok(CL_QUEUE_SIZE) => size = Some(value),
            // Hints are stored only for queries
            Ok(PRIORITY) => {
                ensure(PRIORITIES.contains(&value), InvalidValue)?;
                has_hints = true;
            }
            Ok(THROTTLE) => {
                ensure(THROTTLES.contains(&value), InvalidValue)?;
                has_hints = true;
            }
            _ => return Err(InvalidValue),
        }
    }
    check_bits(bits)?;
    if bits & CL_QUEUE_ON_DEVICE == 0 {
        // CL_INVALID_VALUE: CL_QUEUE_SIZE can only be specified for a queue on the device
        ensure(size.is_none(), InvalidValue)?;
        return Ok(AnyQueue::Host(made(Queue::new(context, device, bits, list))));
    }
    // CL_INVALID_QUEUE_PROPERTIES if a hint is specified, and the queue is a CL_QUEUE_ON_DEVICE
    ensure(!has_hints, InvalidQueueProperties)?;
    let size = match size {
        None => caps::PREFERRED_DEVICE_QUEUE_BYTES,
        Some(size) => {
            // CL_INVALID_VALUE: CL_QUEUE_SIZE must be a value <= CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
            let fits = |size: &cl_uint| *size != 0 && *size <= caps::MAX_DEVICE_QUEUE_BYTES;
            cl_uint::try_from(size).ok().filter(fits).ok_or(InvalidValue)?
        }
    };
    let queue = Object::create(DeviceQueue::new(context.clone(), device, bits, list, size));
    let Some(kept) = context.add_device_queue(&queue, caps::MAX_DEVICE_QUEUES as usize) else {
        queue.release()?;
        // CL_OUT_OF_RESOURCES if there is a failure to allocate resources required on the device
        return Err(OutOfResources);
    };
    // If there already is a default queue, it is retained and returned
    if !Ref::ptr_eq(&kept, &queue) {
        queue.release()?;
        kept.retain()?;
    }
    Ok(AnyQueue::Device(kept))
}

/// `clCreateCommandQueue` (deprecated in 2.0)
pub fn create(
    context: Handle<Context>,
    device: Handle<Device>,
    properties: cl_command_queue_properties,
) -> ClResult<Ref<Queue>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_DEVICE if device is not a valid device, or is not associated with context
    let device = device_of(&context, device)?;
    // CL_INVALID_VALUE if values specified in properties are not valid: only those of host queues are
    ensure(properties & DEVICE_PROPERTIES == 0, InvalidValue)?;
    check_bits(properties)?;

    Ok(made(Queue::new(context, device, properties, Vec::new())))
}

/// The object of a new queue, known to its context.
fn made(queue: Queue) -> Ref<Queue> {
    let queue = Object::create(queue);
    queue.context().add_queue(&queue);
    queue
}

/// The device, which must belong to the context.
///
/// # Errors
/// `CL_INVALID_DEVICE` if it is not a valid device, or is not associated with the context.
pub(super) fn device_of(context: &Ref<Context>, device: Handle<Device>) -> ClResult<Ref<Device>> {
    let device = device.get()?;
    ensure(context.has_device(&device), InvalidDevice)?;
    Ok(device)
}

/// The rules for a queue's property bits.
fn check_bits(bits: cl_command_queue_properties) -> ClResult<()> {
    // CL_INVALID_VALUE if values specified in properties are not valid
    ensure(bits & !(HOST_PROPERTIES | DEVICE_PROPERTIES) == 0, InvalidValue)?;
    // CL_INVALID_VALUE: CL_QUEUE_ON_DEVICE_DEFAULT can only be set together with CL_QUEUE_ON_DEVICE
    ensure(bits & DEVICE_PROPERTIES != CL_QUEUE_ON_DEVICE_DEFAULT, InvalidValue)?;
    // CL_INVALID_VALUE: if CL_QUEUE_ON_DEVICE is set, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE must also be set
    let on_device = bits & CL_QUEUE_ON_DEVICE != 0;
    ensure(!on_device || bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0, InvalidValue)
    // CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but are not supported by device: all are
}

/// `clRetainCommandQueue`
pub fn retain(queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    match AnyQueue::of(queue)? {
        AnyQueue::Host(queue) => queue.retain(),
        AnyQueue::Device(queue) => queue.retain(),
    }
}

/// `clReleaseCommandQueue`
pub fn release(queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    match AnyQueue::of(queue)? {
        AnyQueue::Host(queue) => {
            queue.commands().flush();
            queue.release()
        }
        AnyQueue::Device(queue) => queue.release(),
    }
}

/// `clGetCommandQueueInfo`
pub fn get_info(queue: Handle<Queue>, name: cl_command_queue_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    let queue = match AnyQueue::of(queue)? {
        AnyQueue::Host(queue) => queue,
        AnyQueue::Device(queue) => return device_queue_info(&queue, name, info),
    };

    match name {
        CL_QUEUE_CONTEXT => info.object(queue.context()),
        CL_QUEUE_DEVICE => info.object(queue.device()),
        CL_QUEUE_REFERENCE_COUNT => info.value(queue.reference_count()),
        CL_QUEUE_PROPERTIES => info.value(queue.properties()),
        CL_QUEUE_PROPERTIES_ARRAY => info.slice(queue.property_list()),
        // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for param_name: not on the device
        CL_QUEUE_SIZE => Err(InvalidCommandQueue),
        CL_QUEUE_DEVICE_DEFAULT => info.object_or_null(queue.context().default_device_queue(queue.device()).as_ref()),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clGetCommandQueueInfo` of a device queue.
fn device_queue_info(queue: &Ref<DeviceQueue>, name: cl_command_queue_info, info: Info<'_>) -> ClResult<Written> {
    match name {
        CL_QUEUE_CONTEXT => info.object(queue.context()),
        CL_QUEUE_DEVICE => info.object(queue.device()),
        CL_QUEUE_REFERENCE_COUNT => info.value(queue.reference_count()),
        CL_QUEUE_PROPERTIES => info.value(queue.properties()),
        CL_QUEUE_PROPERTIES_ARRAY => info.slice(queue.property_list()),
        CL_QUEUE_SIZE => info.value(queue.size()),
        CL_QUEUE_DEVICE_DEFAULT => info.object_or_null(queue.context().default_device_queue(queue.device()).as_ref()),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clSetCommandQueueProperty` (deprecated in 1.1)
pub fn set_property(
    queue: Handle<Queue>,
    _properties: cl_command_queue_properties,
    _enable: cl_bool,
    _old_properties: Out<cl_command_queue_properties>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    AnyQueue::of(queue)?;
    // CL_INVALID_OPERATION if no devices in the context associated with command_queue support modifying the properties of
    // a command-queue: only devices of OpenCL 1.0 have to
    Err(InvalidOperation)
}

/// `clSetDefaultDeviceCommandQueue`
pub fn set_default_on_device(context: Handle<Context>, device: Handle<Device>, queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_DEVICE if device is not a valid device, or is not associated with context
    let device = device_of(&context, device)?;
    // CL_INVALID_OPERATION if device does not support a replaceable default on-device queue: it does
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for device
    let AnyQueue::Device(queue) = AnyQueue::of(queue)? else { return Err(InvalidCommandQueue) };
    let belongs = Ref::ptr_eq(queue.context(), &context) && Ref::ptr_eq(queue.device(), &device);
    ensure(belongs, InvalidCommandQueue)?;

    context.set_default_device_queue(&queue);
    Ok(())
}

/// `clFlush`
pub fn flush(queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    queue.get()?.commands().flush();
    Ok(())
}

/// `clFinish`
pub fn finish(queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    queue.get()?.commands().finish();
    Ok(())
}
