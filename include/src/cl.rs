//! OpenCL's C types and constants.
//!
//! Types and numbers come from the `opencl-sys` crate; what it lacks or has wrong is defined here, each with its source. The functions
//! that crate declares are *not* used: Clift implements them.

#![allow(non_camel_case_types, reason = "names of the C headers")]

pub use opencl_sys::*;

// cl_khr_command_buffer_mutable_dispatch: OpenCL-Headers, CL/cl_ext.h; opencl-sys 0.6.5 has 0x1287.

/// Property of a command buffer: what the application promises about updates.
pub const CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR: cl_command_buffer_properties_khr = 0x12B7;

// cl_ext_float_atomics: OpenCL-Headers, CL/cl_ext.h.

/// What a device can do with floating-point numbers atomically.
pub type cl_device_fp_atomic_capabilities_ext = cl_bitfield;
/// Query: of `float`.
pub const CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT: cl_device_info = 0x4231;
/// Query: of `double`.
pub const CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT: cl_device_info = 0x4232;
/// Query: of `half`.
pub const CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT: cl_device_info = 0x4233;
/// Load, store and exchange in global memory.
pub const CL_DEVICE_GLOBAL_FP_ATOMIC_LOAD_STORE_EXT: cl_device_fp_atomic_capabilities_ext = 1 << 0;
/// Addition in global memory.
pub const CL_DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT: cl_device_fp_atomic_capabilities_ext = 1 << 1;
/// Minimum and maximum in global memory.
pub const CL_DEVICE_GLOBAL_FP_ATOMIC_MIN_MAX_EXT: cl_device_fp_atomic_capabilities_ext = 1 << 2;
/// Load, store and exchange in local memory.
pub const CL_DEVICE_LOCAL_FP_ATOMIC_LOAD_STORE_EXT: cl_device_fp_atomic_capabilities_ext = 1 << 16;
/// Addition in local memory.
pub const CL_DEVICE_LOCAL_FP_ATOMIC_ADD_EXT: cl_device_fp_atomic_capabilities_ext = 1 << 17;
/// Minimum and maximum in local memory.
pub const CL_DEVICE_LOCAL_FP_ATOMIC_MIN_MAX_EXT: cl_device_fp_atomic_capabilities_ext = 1 << 18;

// cl_ext_image_from_buffer: OpenCL-Headers, CL/cl_ext.h.

/// Query: bytes that the slice pitch of an image in a buffer is a multiple of.
pub const CL_IMAGE_REQUIREMENTS_SLICE_PITCH_ALIGNMENT_EXT: cl_image_requirements_info_ext = 0x1291;
