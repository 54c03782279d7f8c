//! Command queue: creation and queries; flush and finish.

use clift_include::cl::*;

use crate::error::ClError::{
    InvalidCommandQueue, InvalidDevice, InvalidOperation, InvalidQueueProperties, InvalidValue,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{Out, Properties, pairs};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::queue::Queue;

/// The property bits that host queues may have.
const HOST_PROPERTIES: cl_command_queue_properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
/// The property bits of device queues: known, not supported.
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

/// `clCreateCommandQueueWithProperties`, `clCreateCommandQueueWithPropertiesKHR`
pub fn create_with_properties(
    context: Handle<Context>,
    device: Handle<Device>,
    properties: Properties<cl_queue_properties>,
) -> ClResult<Ref<Queue>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_DEVICE if device is not a valid device, or is not associated with context
    let device = device_of(&context, device)?;
    // CL_INVALID_VALUE if values specified in properties are not valid
    let list = properties.verbatim();
    let mut bits = 0;
    let mut has_size = false;
    for (index, (name, value)) in pairs(&list).enumerate() {
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidValue)?;
        match cl_command_queue_info::try_from(name) {
            Ok(CL_QUEUE_PROPERTIES) => bits = value,
            Ok(CL_QUEUE_SIZE) => has_size = true,
            // Hints are stored only for queries
            Ok(PRIORITY) => ensure(PRIORITIES.contains(&value), InvalidValue)?,
            Ok(THROTTLE) => ensure(THROTTLES.contains(&value), InvalidValue)?,
            _ => return Err(InvalidValue),
        }
    }
    check_bits(bits)?;
    // CL_INVALID_VALUE: CL_QUEUE_SIZE can only be specified for a queue on the device
    ensure(!has_size, InvalidValue)?;

    Ok(made(Queue::new(context, device, bits, list)))
}

/// `clCreateCommandQueue` (deprecated in 2.0)
pub fn create(
    context: Handle<Context>,
    device: Handle<Device>,
    properties: cl_command_queue_properties,
) -> ClResult<Ref<Queue>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_DEVICE if device is not a valid device, or is not associated with context
    let device = device_of(&context, device)?;
    // CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES: see `check_bits`
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
    ensure(!on_device || bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0, InvalidValue)?;
    // CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but are not supported by device
    ensure(bits & DEVICE_PROPERTIES == 0, InvalidQueueProperties)
}

/// `clReleaseCommandQueue`
pub fn release(queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    let queue = queue.get()?;
    queue.commands().flush();
    queue.release()
}

/// `clGetCommandQueueInfo`
pub fn get_info(queue: Handle<Queue>, name: cl_command_queue_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
    let queue = queue.get()?;

    match name {
        CL_QUEUE_CONTEXT => info.object(queue.context()),
        CL_QUEUE_DEVICE => info.object(queue.device()),
        CL_QUEUE_REFERENCE_COUNT => info.value(queue.reference_count()),
        CL_QUEUE_PROPERTIES => info.value(queue.properties()),
        CL_QUEUE_PROPERTIES_ARRAY => info.slice(queue.property_list()),
        // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for param_name: not on the device
        CL_QUEUE_SIZE => Err(InvalidCommandQueue),
        CL_QUEUE_DEVICE_DEFAULT => info.object_or_null::<Queue>(None),
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
    queue.get()?;
    // CL_INVALID_OPERATION if no devices in the context associated with command_queue support modifying the properties of
    // a command-queue: only devices of OpenCL 1.0 have to
    Err(InvalidOperation)
}

/// `clSetDefaultDeviceCommandQueue`
pub fn set_default_on_device(context: Handle<Context>, device: Handle<Device>, _queue: Handle<Queue>) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_DEVICE if device is not a valid device, or is not associated with context
    device_of(&context, device)?;
    // CL_INVALID_OPERATION if device does not support a replaceable default on-device queue
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for device: cannot be
    Err(InvalidOperation)
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
