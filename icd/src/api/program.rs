//! Program: creation from source, SPIR-V and binaries.
//!
//! Builds are in [`build`]; the queries are in [`query`].

pub mod build;
pub mod query;

use std::ffi::c_char;
use std::sync::Arc;

use clift_include::cl::*;

use crate::error::ClError::{
    InvalidBinary, InvalidDevice, InvalidOperation, InvalidProgram, InvalidSpecId, InvalidValue,
};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::ObjectNotify;
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::pointer::{InArray, InBytes, OutArray, Text, UserData, blobs, joined_texts};
use crate::object::context::Context;
use crate::object::device::Device;
use crate::object::program::binary::Contents;
use crate::object::program::{Origin, Program};

/// `clCreateProgramWithSource`
pub fn create_with_source(
    context: Handle<Context>,
    count: cl_uint,
    strings: InArray<*const c_char>,
    lengths: InArray<usize>,
) -> ClResult<Ref<Program>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if count is zero
    ensure(count != 0, InvalidValue)?;
    // CL_INVALID_VALUE if strings or any entry in strings is NULL
    // CL_OUT_OF_HOST_MEMORY if there is not enough memory for a copy
    let mut text = joined_texts(strings, lengths, count as usize)?;

    // The concatenation strips any nulls in the original source strings
    text.retain(|byte| *byte != 0);
    Ok(Object::create(Program::new(context, Origin::Source(Arc::new(text)))))
}

/// `clCreateProgramWithIL`
pub fn create_with_il(context: Handle<Context>, il: InBytes, length: usize) -> ClResult<Ref<Program>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_OPERATION if no devices in context support intermediate language programs: the device does
    // CL_INVALID_VALUE if il is NULL or if length is zero
    ensure(length != 0, InvalidValue)?;
    let bytes = il.copy(length)?.ok_or(InvalidValue)?;
    // CL_INVALID_VALUE if the block of memory does not contain well-formed intermediate language input
    let (words, rest) = bytes.as_chunks::<4>();
    ensure(rest.is_empty(), InvalidValue)?;
    let mut copy: Vec<u32> = Vec::new();
    copy.try_reserve_exact(words.len())?;
    copy.extend(words.iter().map(|word| u32::from_ne_bytes(*word)));
    let words = copy;
    let summary = clift_jit::inspect(&words).map_err(|error| {
        context.report(&format!("clCreateProgramWithIL: {error}"));
        InvalidValue
    })?;

    Ok(Object::create(Program::new(context, Origin::Il { bytes, words, summary })))
}

/// `clCreateProgramWithBinary`
pub fn create_with_binary(
    context: Handle<Context>,
    num_devices: cl_uint,
    device_list: InArray<Handle<Device>>,
    lengths: InArray<usize>,
    binaries: InArray<*const c_char>,
    binary_status: OutArray<cl_int>,
) -> ClResult<Ref<Program>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if device_list is NULL or num_devices is zero
    ensure(!device_list.is_null() && num_devices != 0, InvalidValue)?;
    // CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with context
    all_devices_of(&context, device_list, num_devices)?;
    // CL_INVALID_DEVICE if a device is in the list twice: which of its binaries would count?
    let devices: Vec<_> = device_list.iter(num_devices as usize).collect();
    ensure((1..devices.len()).all(|at| !devices[..at].contains(&devices[at])), InvalidDevice)?;
    // CL_INVALID_VALUE if lengths or binaries is NULL or if any entry in lengths is zero or in binaries is NULL;
    // binary_status tells which
    let count = num_devices as usize;
    ensure(!lengths.is_null() && !binaries.is_null(), InvalidValue)?;
    let binaries = blobs(binaries, lengths, count)?;
    if binaries.iter().any(|bytes| bytes.is_empty()) {
        let status = binaries.iter().map(|bytes| if bytes.is_empty() { CL_INVALID_VALUE } else { CL_SUCCESS });
        binary_status.fill(count, status);
        return Err(InvalidValue);
    }
    // CL_INVALID_BINARY if an invalid program binary was encountered for any device; binary_status tells which
    let opened: Vec<Option<Contents>> = binaries.iter().map(|bytes| Contents::open(bytes)).collect();
    let status = opened.iter().map(|contents| if contents.is_some() { CL_SUCCESS } else { CL_INVALID_BINARY });
    binary_status.fill(count, status);
    // All devices are equal
    let contents = opened.into_iter().reduce(|first, next| first.and(next)).flatten().ok_or(InvalidBinary)?;

    Ok(Object::create(Program::from_binary(context, contents)))
}

/// `clCreateProgramWithBuiltInKernels`
pub fn create_with_built_in_kernels(
    context: Handle<Context>,
    num_devices: cl_uint,
    device_list: InArray<Handle<Device>>,
    kernel_names: Text,
) -> ClResult<Ref<Program>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if device_list is NULL or num_devices is zero
    ensure(!device_list.is_null() && num_devices != 0, InvalidValue)?;
    // CL_INVALID_VALUE if kernel_names is NULL
    ensure(kernel_names.bytes().is_some(), InvalidValue)?;
    // CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with context
    all_devices_of(&context, device_list, num_devices)?;
    // CL_INVALID_VALUE if kernel_names contains a kernel name that is not supported by any of the devices: none is
    Err(InvalidValue)
}

/// `clSetProgramReleaseCallback`
pub fn set_release_callback(
    program: Handle<Program>,
    _notify: ObjectNotify<Program>,
    _user_data: UserData,
) -> ClResult<()> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    program.get()?;
    // CL_INVALID_OPERATION if no devices support destructors for program scope global variables: the device does not
    Err(InvalidOperation)
}

/// `clSetProgramSpecializationConstant`
pub fn set_specialization_constant(
    program: Handle<Program>,
    spec_id: cl_uint,
    spec_size: usize,
    spec_value: InBytes,
) -> ClResult<()> {
    // CL_INVALID_PROGRAM if program is not a valid program object created from an intermediate language
    let program = program.get()?;
    let Origin::Il { summary, .. } = program.origin() else { return Err(InvalidProgram) };
    // CL_INVALID_OPERATION if no devices associated with program support intermediate language programs: the device does
    // CL_COMPILER_NOT_AVAILABLE if a compiler is not available: for SPIR-V it is
    // CL_INVALID_SPEC_ID if spec_id is not a valid specialization constant identifier
    let constant = summary.spec_constants.iter().find(|constant| constant.id == spec_id).ok_or(InvalidSpecId)?;
    // CL_INVALID_VALUE if spec_size does not match the size of the specialization constant in the module
    ensure(spec_size == constant.size as usize, InvalidValue)?;
    // CL_INVALID_VALUE if spec_value is NULL
    let value = spec_value.copy(spec_size)?.ok_or(InvalidValue)?;

    program.set_spec_constant(spec_id, value);
    Ok(())
}

/// Checks a list of devices, all of which must belong to the context.
fn all_devices_of(context: &Ref<Context>, list: InArray<Handle<Device>>, count: cl_uint) -> ClResult<()> {
    for device in list.iter(count as usize) {
        ensure(context.has_device(&device.get()?), InvalidDevice)?;
    }
    Ok(())
}
