//! Context: the scope of objects that may be used together.

use clift_include::cl::*;
use clift_runtime::pool;

use super::device;
use crate::error::ClError::{ContextTerminated, InvalidOperation, InvalidPlatform, InvalidProperty, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::{ContextNotify, ObjectNotify};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{InArray, Properties, UserData, pairs};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::platform::Platform;

const TERMINATE: cl_context_properties = CL_CONTEXT_TERMINATE_KHR as cl_context_properties;
const TERMINATE_1X: cl_context_properties = CL_CONTEXT_TERMINATE_KHR_1X as cl_context_properties;

/// `clCreateContext`
pub fn create(
    properties: Properties<cl_context_properties>,
    num_devices: cl_uint,
    devices: InArray<Handle<Device>>,
    notify: ContextNotify,
    user_data: UserData,
) -> ClResult<Ref<Context>> {
    // CL_INVALID_PLATFORM, CL_INVALID_PROPERTY: see `checked_properties`
    let properties = checked_properties(properties)?;
    // CL_INVALID_VALUE if devices is NULL
    ensure(!devices.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if num_devices is equal to zero
    ensure(num_devices != 0, InvalidValue)?;
    // CL_INVALID_VALUE if pfn_notify is NULL and user_data is not NULL
    ensure(!notify.is_null() || user_data.is_null(), InvalidValue)?;
    // CL_INVALID_DEVICE if any device in devices is not a valid device
    // (a device that is listed twice counts once)
    let mut distinct: Vec<Ref<Device>> = Vec::new();
    for device in devices.iter(num_devices as usize) {
        let device = device.get()?;
        if !distinct.iter().any(|known| Ref::ptr_eq(known, &device)) {
            distinct.push(device);
        }
    }
    // CL_DEVICE_NOT_AVAILABLE if a device in devices is currently not available: the processor always is

    Ok(Object::create(Context::new(distinct, properties, (notify, user_data))))
}

/// `clCreateContextFromType`
pub fn create_from_type(
    properties: Properties<cl_context_properties>,
    device_type: cl_device_type,
    notify: ContextNotify,
    user_data: UserData,
) -> ClResult<Ref<Context>> {
    // CL_INVALID_PLATFORM, CL_INVALID_PROPERTY: see `checked_properties`
    let properties = checked_properties(properties)?;
    // CL_INVALID_VALUE if pfn_notify is NULL and user_data is not NULL
    ensure(!notify.is_null() || user_data.is_null(), InvalidValue)?;
    // CL_INVALID_DEVICE_TYPE if device_type is not a valid value
    // CL_DEVICE_NOT_AVAILABLE if no devices that match device_type are currently available: the processor always is
    // CL_DEVICE_NOT_FOUND if no devices that match device_type were found
    let devices = device::of_type(device_type)?;

    Ok(Object::create(Context::new(devices, properties, (notify, user_data))))
}

/// The property list of a new context, as given.
fn checked_properties(properties: Properties<cl_context_properties>) -> ClResult<Vec<cl_context_properties>> {
    let list = properties.verbatim();
    for (index, (name, value)) in pairs(&list).enumerate() {
        match name {
            // CL_INVALID_PLATFORM if the platform specified in properties is not a valid platform
            CL_CONTEXT_PLATFORM => {
                Handle::<Platform>::from_addr(value as usize).get().map_err(|_| InvalidPlatform)?;
            }
            // CL_INVALID_PROPERTY if the value specified for a supported property name is not valid
            CL_CONTEXT_INTEROP_USER_SYNC => {
                ensure(value == CL_FALSE as isize || value == CL_TRUE as isize, InvalidProperty)?;
            }
            // CL_INVALID_PROPERTY if CL_CONTEXT_TERMINATE_KHR is set to CL_TRUE, but not all of the devices support
            // termination: they do
            TERMINATE | TERMINATE_1X => {
                ensure(value == CL_FALSE as isize || value == CL_TRUE as isize, InvalidProperty)?;
            }
            // CL_INVALID_PROPERTY if a context property name in properties is not a supported property name
            _ => return Err(InvalidProperty),
        }
        // CL_INVALID_PROPERTY if the same property name is specified more than once
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidProperty)?;
    }
    // CL_INVALID_PLATFORM if no platform is specified and no platform could be selected: there is always this one
    Ok(list)
}

/// `clTerminateContextKHR`
pub fn terminate(context: Handle<Context>) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_OPERATION if context was not created with CL_CONTEXT_TERMINATE_KHR set to CL_TRUE
    let termination = context.termination().ok_or(InvalidOperation)?;
    // CL_CONTEXT_TERMINATED_KHR if the context has already been terminated
    ensure(termination.begin(), ContextTerminated)?;

    // The callback function registered when the context was created is called.
    let terminated = context.clone();
    pool::defer(move || terminated.report("the context was terminated"));
    Ok(())
}

/// `clGetContextInfo`
pub fn get_info(context: Handle<Context>, name: cl_context_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;

    match name {
        CL_CONTEXT_REFERENCE_COUNT => info.value(context.reference_count()),
        CL_CONTEXT_NUM_DEVICES => info.value(context.devices().len() as cl_uint),
        CL_CONTEXT_DEVICES => {
            let devices: Vec<Handle<Device>> = context.devices().iter().map(|device| device.handle()).collect();
            info.slice(&devices)
        }
        CL_CONTEXT_PROPERTIES => info.slice(context.properties()),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clSetContextDestructorCallback`
pub fn set_destructor_callback(
    context: Handle<Context>,
    notify: ObjectNotify<Context>,
    user_data: UserData,
) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    // CL_CONTEXT_TERMINATED_KHR if it has been terminated
    let object = context.active()?;
    // CL_INVALID_VALUE if pfn_notify is NULL
    ensure(!notify.is_null(), InvalidValue)?;

    object.add_destructor(notify, context, user_data);
    Ok(())
}
