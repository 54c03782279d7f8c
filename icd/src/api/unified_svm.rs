//! Types of shared virtual memory (`cl_khr_unified_svm`): allocation, freeing, queries and suggestions. Commands on pointers
//! are in [`super::enqueue::pointer`], kernel arguments in [`super::kernel`].
//!
//! The types ([`SVM_TYPES`]) differ in whose the memory is, which matters only for what queries report. The device supports all
//! of them, so `CL_INVALID_OPERATION` for a type without support is never returned.

use clift_include::cl::*;

use super::queue::device_of;
use super::svm::allocate;
use crate::caps::SVM_TYPES;
use crate::error::ClError::{InvalidBufferSize, InvalidProperty, InvalidValue, OutOfResources};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, Out, Properties, pairs};
use crate::object::allocation::{Allocation, AllocationKind, SvmAllocation};
use crate::object::context::Context;
use crate::object::device::Device;

/// What host and device may promise not to do.
const ACCESS: cl_svm_alloc_access_flags_khr = CL_SVM_ALLOC_ACCESS_HOST_NOREAD_KHR
    | CL_SVM_ALLOC_ACCESS_HOST_NOWRITE_KHR
    | CL_SVM_ALLOC_ACCESS_DEVICE_NOREAD_KHR
    | CL_SVM_ALLOC_ACCESS_DEVICE_NOWRITE_KHR;

/// `clSVMAllocWithPropertiesKHR`
pub fn alloc(
    context: Handle<Context>,
    properties: Properties<cl_svm_alloc_properties_khr>,
    type_index: cl_uint,
    size: usize,
) -> ClResult<HostPtr> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_PROPERTY: see `given`
    let given = given(&context, properties)?;
    // CL_INVALID_VALUE if svm_type_index is not less than the number of types
    let type_index = type_index as usize;
    let capabilities = *SVM_TYPES.get(type_index).ok_or(InvalidValue)?;
    // CL_INVALID_PROPERTY if no device is associated with memory of a type that requires one
    let unassociated = capabilities & CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR != 0;
    ensure(unassociated || given.device.is_some(), InvalidProperty)?;
    // (no error if size is zero, but NULL)
    if size == 0 {
        return Ok(HostPtr::NULL);
    }
    // CL_OUT_OF_RESOURCES if there is a failure to allocate resources, also beyond CL_DEVICE_MAX_MEM_ALLOC_SIZE; an alignment
    // that is not supported is an invalid value of its property
    let bytes = allocate(size, given.alignment).map_err(|error| match error {
        InvalidValue => InvalidProperty,
        InvalidBufferSize => OutOfResources,
        other => other,
    })?;

    let start = HostPtr::new(bytes.as_ptr());
    let Given { device, access, list: properties, .. } = given;
    let kind = AllocationKind::Svm(SvmAllocation { type_index, device, access, properties });
    context.allocations().insert(Allocation { kind, flags: 0, bytes });
    Ok(start)
}

/// The properties of an allocation.
struct Given {
    device: Option<Ref<Device>>,
    access: cl_svm_alloc_access_flags_khr,
    /// 0 for that of the largest type.
    alignment: cl_uint,
    /// As they were given.
    list: Vec<cl_svm_alloc_properties_khr>,
}

/// The properties in a list.
///
/// # Errors
/// `CL_INVALID_PROPERTY` by the rules below.
fn given(context: &Ref<Context>, properties: Properties<cl_svm_alloc_properties_khr>) -> ClResult<Given> {
    let list = properties.verbatim();
    let mut given = Given { device: None, access: 0, alignment: 0, list: Vec::new() };
    for (index, (name, value)) in pairs(&list).enumerate() {
        // CL_INVALID_PROPERTY if the same property name is specified more than once
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidProperty)?;
        // CL_INVALID_PROPERTY if the value specified for a supported property name is not valid
        match name {
            CL_SVM_ALLOC_ASSOCIATED_DEVICE_HANDLE_KHR => {
                let device = Handle::<Device>::from_addr(value as usize);
                let known = |device| device_of(context, device).map_err(|_| InvalidProperty);
                given.device = if device.is_null() { None } else { Some(known(device)?) };
            }
            CL_SVM_ALLOC_ACCESS_FLAGS_KHR => {
                ensure(value & !ACCESS == 0, InvalidProperty)?;
                given.access = value;
            }
            CL_SVM_ALLOC_ALIGNMENT_KHR => {
                given.alignment = cl_uint::try_from(value).map_err(|_| InvalidProperty)?;
                ensure(value == 0 || value.is_power_of_two(), InvalidProperty)?;
            }
            // CL_INVALID_PROPERTY if a property name is not a supported property name
            _ => return Err(InvalidProperty),
        }
    }
    given.list = list;
    Ok(given)
}

/// `clSVMFreeWithPropertiesKHR`
pub fn free(
    context: Handle<Context>,
    properties: Properties<cl_svm_free_properties_khr>,
    flags: cl_svm_free_flags_khr,
    pointer: HostPtr,
) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_PROPERTY if a property name in properties is not a supported property name: there are none
    ensure(pairs(&properties.verbatim()).next().is_none(), InvalidProperty)?;
    // CL_INVALID_VALUE if flags contains an invalid flag: there are none
    ensure(flags == 0, InvalidValue)?;
    // CL_INVALID_VALUE if ptr is not a value returned by clSVMAlloc, clSVMAllocWithPropertiesKHR, or NULL
    let freed = context.allocations().remove(pointer.addr(), AllocationKind::is_svm);
    ensure(pointer.is_null() || freed.is_some(), InvalidValue)
}

/// `clGetSVMPointerInfoKHR`
pub fn get_info(
    context: Handle<Context>,
    device: Handle<Device>,
    pointer: HostPtr,
    name: cl_svm_pointer_info_khr,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_DEVICE if device is not a valid device or is not associated with context. (All devices have the same types.)
    if !device.is_null() {
        device_of(&context, device)?;
    }

    let found = context.allocations().at(pointer.addr());
    let svm = found.as_ref().and_then(|found| match &found.kind {
        AllocationKind::Svm(svm) => Some((found, svm)),
        AllocationKind::Host | AllocationKind::Device(_) | AllocationKind::Shared(_) => None,
    });
    match name {
        CL_SVM_INFO_TYPE_INDEX_KHR => info.value(svm.map_or(cl_uint::MAX, |(_, svm)| svm.type_index as cl_uint)),
        CL_SVM_INFO_CAPABILITIES_KHR => info.value(svm.map_or(0, |(_, svm)| SVM_TYPES[svm.type_index])),
        CL_SVM_INFO_PROPERTIES_KHR => info.slice(svm.map_or(&[], |(_, svm)| &svm.properties)),
        CL_SVM_INFO_ACCESS_FLAGS_KHR => info.value(svm.map_or(0, |(_, svm)| svm.access)),
        CL_SVM_INFO_BASE_PTR_KHR => info.value(svm.map_or(0, |(found, _)| found.start())),
        CL_SVM_INFO_SIZE_KHR => info.value(svm.map_or(0, |(found, _)| found.bytes.len())),
        CL_SVM_INFO_ASSOCIATED_DEVICE_HANDLE_KHR => info.object_or_null(svm.and_then(|(_, svm)| svm.device.as_ref())),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clGetSVMSuggestedTypeIndexKHR`: the type that has all that is required and most of what is desired.
pub fn suggested_type(
    context: Handle<Context>,
    required: cl_svm_capabilities_khr,
    desired: cl_svm_capabilities_khr,
    properties: Properties<cl_svm_alloc_properties_khr>,
    _size: usize,
    suggested: Out<cl_uint>,
) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_PROPERTY: see `given`. (Properties exclude no type: even one that needs a device is suggested without one.)
    given(&context, properties)?;
    // CL_INVALID_VALUE if suggested_svm_type_index is NULL
    ensure(!suggested.is_null(), InvalidValue)?;

    let fitting = SVM_TYPES.iter().enumerate().filter(|(_, capabilities)| *capabilities & required == required);
    // The first of several that are as good.
    let best = fitting.rev().max_by_key(|(_, capabilities)| (*capabilities & desired).count_ones());
    suggested.set(best.map_or(cl_uint::MAX, |(index, _)| index as cl_uint));
    Ok(())
}
