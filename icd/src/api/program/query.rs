//! Queries about programs.

use clift_include::cl::*;

use super::build::built;
use crate::error::ClError::{InvalidDevice, InvalidProgramExecutable, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::Handle;
use crate::ffi::info::{Info, Written};
use crate::object::device::Device;
use crate::object::program::{Origin, Program};

/// `clGetProgramInfo`
pub fn get_info(program: Handle<Program>, name: cl_program_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    let program = program.get()?;
    let devices = program.context().devices();
    // CL_INVALID_PROGRAM_EXECUTABLE if a successful program executable has not been built, for the queries that need one
    let executable = || built(&program).ok_or(InvalidProgramExecutable);

    match name {
        CL_PROGRAM_REFERENCE_COUNT => info.value(program.reference_count()),
        CL_PROGRAM_CONTEXT => info.object(program.context()),
        CL_PROGRAM_NUM_DEVICES => info.value(devices.len() as cl_uint),
        CL_PROGRAM_DEVICES => {
            let devices: Vec<Handle<Device>> = devices.iter().map(|device| device.handle()).collect();
            info.slice(&devices)
        }
        CL_PROGRAM_SOURCE => match program.origin() {
            Origin::Source(text) => info.string(text.as_slice()),
            // A null string for programs not created from source
            Origin::Il { .. } | Origin::Binary | Origin::Link => info.string(""),
        },
        CL_PROGRAM_IL => match program.origin() {
            Origin::Il { bytes, .. } => info.slice(bytes),
            // Size 0 for programs not created from IL
            Origin::Source(_) | Origin::Binary | Origin::Link => info.slice::<u8>(&[]),
        },
        CL_PROGRAM_BINARY_SIZES => {
            let product = program.product();
            let size = product.as_ref().map_or(0, |product| product.bytes().len());
            info.slice(&vec![size; devices.len()])
        }
        CL_PROGRAM_BINARIES => {
            let product = program.product();
            let bytes = product.as_ref().map_or(&[][..], |product| product.bytes());
            info.blobs(&vec![bytes; devices.len()])
        }
        CL_PROGRAM_NUM_KERNELS => info.value(executable()?.program.kernels.len()),
        CL_PROGRAM_KERNEL_NAMES => {
            let executable = executable()?;
            let names: Vec<&str> = executable.program.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            info.string(names.join(";"))
        }
        // Constructors and destructors are not supported
        CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => {
            executable()?;
            info.bool(false)
        }
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clGetProgramBuildInfo`
pub fn get_build_info(
    program: Handle<Program>,
    device: Handle<Device>,
    name: cl_program_build_info,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    let program = program.get()?;
    // CL_INVALID_DEVICE if device is not in the list of devices associated with program
    ensure(program.context().has_device(&device.get()?), InvalidDevice)?;

    match name {
        CL_PROGRAM_BUILD_STATUS => info.value(program.report().status),
        CL_PROGRAM_BUILD_OPTIONS => info.string(program.report().options),
        CL_PROGRAM_BUILD_LOG => info.string(program.report().log),
        CL_PROGRAM_BINARY_TYPE => info.value(
            program.product().map_or(CL_PROGRAM_BINARY_TYPE_NONE, |product| product.contents.kind.binary_type()),
        ),
        CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => {
            info.value(program.executable().map_or(0, |executable| executable.program.global_variable_bytes as usize))
        }
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}
