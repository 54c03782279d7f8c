//! OpenCL's C types and constants.
//!
//! Types and constants come from the `opencl-sys` crate; those that it lacks or has wrong are defined here, each with its source.
//! The functions that the crate declares are *not* used: Clift implements them.

#![allow(non_camel_case_types, reason = "names of the C headers")]

pub use opencl_sys::*;

// cl_khr_command_buffer_mutable_dispatch: OpenCL-Headers, CL/cl_ext.h; opencl-sys 0.6.5 has 0x1287.

/// Property of a command buffer: the application's assertions about updates.
pub const CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR: cl_command_buffer_properties_khr = 0x12B7;

// cl_khr_terminate_context: OpenCL-Headers, CL/cl_ext.h.

/// What a device can terminate.
pub type cl_device_terminate_capability_khr = cl_bitfield;
/// `CL_DEVICE_TERMINATE_CAPABILITY_KHR` in the headers of OpenCL 1.2; `clinfo` asks for both.
pub const CL_DEVICE_TERMINATE_CAPABILITY_KHR_1X: cl_device_info = 0x200F;
/// `CL_CONTEXT_TERMINATE_KHR` in these headers.
pub const CL_CONTEXT_TERMINATE_KHR_1X: cl_uint = 0x2010;
/// The commands of a context.
pub const CL_DEVICE_TERMINATE_CAPABILITY_CONTEXT_KHR: cl_device_terminate_capability_khr = 1 << 0;

// Clift's own.

/// Query: what the driver found on this machine, as lines of a name, a tab and a text. `clift-info` shows it.
pub const CL_DEVICE_CONFIGURATION_CLIFT: cl_device_info = 0xC11F_0001;

// cl_ext_image_unorm_int_2_101010: OpenCL-Headers, CL/cl_ext.h.

/// Channel data type: four channels, ABGR, of 2, 10, 10 and 10 bits.
pub const CL_UNORM_INT_2_101010_EXT: cl_uint = 0x10E5;

// cl_khr_gl_depth_images: OpenCL-Headers, CL/cl_ext.h.

/// Channel data type: normalized unsigned integers of 24 bits.
pub const CL_UNORM_INT24: cl_uint = 0x10DF;

// cl_ext_image_raw10_raw12: OpenCL-Headers, CL/cl_ext.h.

/// Channel data type: unsigned integers of 10 bits, four in five bytes.
pub const CL_UNSIGNED_INT_RAW10_EXT: cl_uint = 0x10E3;
/// Channel data type: unsigned integers of 12 bits, two in three bytes.
pub const CL_UNSIGNED_INT_RAW12_EXT: cl_uint = 0x10E4;

// cl_ext_image_unsigned_10x6_12x4_14x2: OpenCL-Headers, CL/cl_ext.h.

/// Channel data type: normalized numbers in the upper 10 of 16 bits.
pub const CL_UNORM_INT10X6_EXT: cl_uint = 0x10E1;
/// Channel data type: unsigned integers in the upper 10 of 16 bits.
pub const CL_UNSIGNED_INT10X6_EXT: cl_uint = 0x10E6;
/// Channel data type: unsigned integers in the upper 12 of 16 bits.
pub const CL_UNSIGNED_INT12X4_EXT: cl_uint = 0x10E7;
/// Channel data type: unsigned integers in the upper 14 of 16 bits.
pub const CL_UNSIGNED_INT14X2_EXT: cl_uint = 0x10E8;
/// Channel data type: normalized numbers in the upper 12 of 16 bits.
pub const CL_UNORM_INT12X4_EXT: cl_uint = 0x10E9;
/// Channel data type: normalized numbers in the upper 14 of 16 bits.
pub const CL_UNORM_INT14X2_EXT: cl_uint = 0x10EA;

// cl_ext_float_atomics: OpenCL-Headers, CL/cl_ext.h.

/// The atomic floating-point operations that a device supports.
pub type cl_device_fp_atomic_capabilities_ext = cl_bitfield;
/// Query: the operations for `float`.
pub const CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT: cl_device_info = 0x4231;
/// Query: the operations for `double`.
pub const CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT: cl_device_info = 0x4232;
/// Query: the operations for `half`.
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

/// Query: the alignment in bytes of the slice pitch of an image created from a buffer.
pub const CL_IMAGE_REQUIREMENTS_SLICE_PITCH_ALIGNMENT_EXT: cl_image_requirements_info_ext = 0x1291;
