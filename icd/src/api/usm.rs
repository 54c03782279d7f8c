//! Unified shared memory (`cl_intel_unified_shared_memory`): allocation, freeing and queries. Commands on pointers are in
//! [`super::enqueue::pointer`], kernel arguments in [`super::kernel`].
//!
//! Host, device and shared memory are the same memory; the three functions differ in their rules and in the results of queries.
//! The device supports all of them ([`crate::caps::USM_CAPABILITIES`]), so `CL_INVALID_OPERATION` for a device without support is
//! never returned.

use clift_include::cl::*;

use super::queue::device_of;
use super::svm::allocate;
use crate::error::ClError::{InvalidProperty, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, Properties, pairs};
use crate::object::allocation::{Allocation, AllocationKind};
use crate::object::context::Context;
use crate::object::device::Device;

/// Where the bytes of shared memory should be at first: hints.
const PLACEMENT: cl_mem_alloc_flags_intel =
    CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;

/// The name of the flags, which are a property, as a query.
const FLAGS: cl_mem_info_intel = CL_MEM_ALLOC_FLAGS_INTEL as cl_mem_info_intel;

/// `clHostMemAllocINTEL`
pub fn host_alloc(
    context: Handle<Context>,
    properties: Properties<cl_mem_properties_intel>,
    size: usize,
    alignment: cl_uint,
) -> ClResult<HostPtr> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_PROPERTY if a placement is specified: see `flags_of`
    alloc(&context, AllocationKind::Host, properties, 0, size, alignment)
}

/// `clDeviceMemAllocINTEL`
pub fn device_alloc(
    context: Handle<Context>,
    device: Handle<Device>,
    properties: Properties<cl_mem_properties_intel>,
    size: usize,
    alignment: cl_uint,
) -> ClResult<HostPtr> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_DEVICE if device is not a valid device or is not associated with context
    let device = device_of(&context, device)?;
    // CL_INVALID_PROPERTY if a placement is specified: see `flags_of`
    alloc(&context, AllocationKind::Device(device), properties, 0, size, alignment)
}

/// `clSharedMemAllocINTEL`
pub fn shared_alloc(
    context: Handle<Context>,
    device: Handle<Device>,
    properties: Properties<cl_mem_properties_intel>,
    size: usize,
    alignment: cl_uint,
) -> ClResult<HostPtr> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_DEVICE if device is not NULL and is either not a valid device or is not associated with context
    let device = if device.is_null() { None } else { Some(device_of(&context, device)?) };
    alloc(&context, AllocationKind::Shared(device), properties, PLACEMENT, size, alignment)
}

/// The common part of the three functions; `placement` contains the allowed placement flags.
fn alloc(
    context: &Ref<Context>,
    kind: AllocationKind,
    properties: Properties<cl_mem_properties_intel>,
    placement: cl_mem_alloc_flags_intel,
    size: usize,
    alignment: cl_uint,
) -> ClResult<HostPtr> {
    // CL_INVALID_VALUE if alignment is not zero or a power of two, or is not supported. (The extension's text ends at the size of
    // the largest data type; programs ask for pages, and other drivers give them.)
    // CL_INVALID_BUFFER_SIZE if size is zero or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE
    // (the properties are checked first, so that nothing is allocated if they are invalid)
    let flags = flags_of(properties, placement)?;
    let bytes = allocate(size, alignment)?;

    let start = HostPtr::new(bytes.as_ptr());
    context.allocations().insert(Allocation { kind, flags, bytes });
    Ok(start)
}

/// The flags in a property list.
fn flags_of(
    properties: Properties<cl_mem_properties_intel>,
    placement: cl_mem_alloc_flags_intel,
) -> ClResult<cl_mem_alloc_flags_intel> {
    let list = properties.verbatim();
    let mut given = None;
    for (name, value) in pairs(&list) {
        // CL_INVALID_PROPERTY if a memory property name in properties is not a supported property name
        ensure(name == CL_MEM_ALLOC_FLAGS_INTEL, InvalidProperty)?;
        // CL_INVALID_PROPERTY if the value specified for a supported property name is not valid: here, if a placement is
        // asked for where there can be none
        ensure(value & !(CL_MEM_ALLOC_WRITE_COMBINED_INTEL | placement) == 0, InvalidProperty)?;
        // CL_INVALID_PROPERTY if both placements are specified
        ensure(value & PLACEMENT != PLACEMENT, InvalidProperty)?;
        // CL_INVALID_PROPERTY if the same property name is specified more than once
        ensure(given.replace(value).is_none(), InvalidProperty)?;
    }
    Ok(given.unwrap_or(0))
}

/// `clMemFreeINTEL`
pub fn free(context: Handle<Context>, pointer: HostPtr) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    take(&context, pointer)
}

/// `clMemBlockingFreeINTEL`: waits for all commands in the queues of the context, because any may use the memory.
pub fn blocking_free(context: Handle<Context>, pointer: HostPtr) -> ClResult<()> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;
    // CL_INVALID_VALUE: see `take` (checked before anything is waited for)
    let known = context.allocations().at(pointer.addr());
    let is_start = known.is_some_and(|known| known.start() == pointer.addr() && !known.kind.is_svm());
    ensure(pointer.is_null() || is_start, InvalidValue)?;
    for queue in context.queues() {
        queue.commands().finish();
    }
    take(&context, pointer)
}

fn take(context: &Context, pointer: HostPtr) -> ClResult<()> {
    // CL_INVALID_VALUE if ptr is not a value returned by clHostMemAllocINTEL, clDeviceMemAllocINTEL,
    // clSharedMemAllocINTEL, or a NULL pointer
    let freed = context.allocations().remove(pointer.addr(), |kind| !kind.is_svm());
    ensure(pointer.is_null() || freed.is_some(), InvalidValue)
}

/// `clGetMemAllocInfoINTEL`
pub fn get_info(
    context: Handle<Context>,
    pointer: HostPtr,
    name: cl_mem_info_intel,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.get()?;

    let found = context.allocations().at(pointer.addr()).filter(|found| !found.kind.is_svm());
    let found = found.as_ref();
    match name {
        CL_MEM_ALLOC_TYPE_INTEL => info.value(match found.map(|found| &found.kind) {
            None | Some(AllocationKind::Svm(_)) => CL_MEM_TYPE_UNKNOWN_INTEL,
            Some(AllocationKind::Host) => CL_MEM_TYPE_HOST_INTEL,
            Some(AllocationKind::Device(_)) => CL_MEM_TYPE_DEVICE_INTEL,
            Some(AllocationKind::Shared(_)) => CL_MEM_TYPE_SHARED_INTEL,
        }),
        CL_MEM_ALLOC_BASE_PTR_INTEL => info.value(found.map_or(0, Allocation::start)),
        CL_MEM_ALLOC_SIZE_INTEL => info.value(found.map_or(0, |found| found.bytes.len())),
        CL_MEM_ALLOC_DEVICE_INTEL => info.object_or_null(match found.map(|found| &found.kind) {
            None | Some(AllocationKind::Svm(_) | AllocationKind::Host | AllocationKind::Shared(None)) => None,
            Some(AllocationKind::Device(device) | AllocationKind::Shared(Some(device))) => Some(device),
        }),
        FLAGS => info.value(found.map_or(0, |found| found.flags)),
        // CL_INVALID_VALUE if param_name is not a valid Unified Shared Memory allocation query
        _ => Err(InvalidValue),
    }
}
