//! Device: enumeration and queries.

use clift_include::cl::*;
use clift_include::{image, pipe};
use clift_runtime::clock;
use clift_runtime::enqueue::DeviceEvents;

use super::partition;
use crate::caps::{self, Limits, configuration};
use crate::error::ClError::{DeviceNotFound, InvalidDeviceType, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{Out, OutArray};
use crate::object::device::{self, Device};
use crate::object::platform::{self, Platform};

/// All bits of device types, except `CL_DEVICE_TYPE_ALL`.
const DEVICE_TYPES: cl_device_type = CL_DEVICE_TYPE_DEFAULT
    | CL_DEVICE_TYPE_CPU
    | CL_DEVICE_TYPE_GPU
    | CL_DEVICE_TYPE_ACCELERATOR
    | CL_DEVICE_TYPE_CUSTOM;

/// The devices of a type.
///
/// # Errors
/// `CL_INVALID_DEVICE_TYPE` for an invalid type, `CL_DEVICE_NOT_FOUND` if there is no device of it.
pub fn of_type(device_type: cl_device_type) -> ClResult<Vec<Ref<Device>>> {
    // CL_INVALID_DEVICE_TYPE if device_type is not a valid value: bindings without unsigned integers, such as those of Java,
    // pass CL_DEVICE_TYPE_ALL with its sign extended
    let all = device_type & CL_DEVICE_TYPE_ALL == CL_DEVICE_TYPE_ALL;
    let known = all || (device_type != 0 && device_type & !DEVICE_TYPES == 0);
    ensure(known, InvalidDeviceType)?;
    // CL_DEVICE_NOT_FOUND if no OpenCL devices that matched device_type were found
    ensure(device_type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT) != 0, DeviceNotFound)?;
    Ok(vec![device::root().clone()])
}

/// `clGetDeviceIDs`
pub fn get_ids(
    platform: Handle<Platform>,
    device_type: cl_device_type,
    num_entries: cl_uint,
    devices: OutArray<Handle<Device>>,
    num_devices: Out<cl_uint>,
) -> ClResult<()> {
    // CL_INVALID_PLATFORM if platform is not a valid platform
    platform.get()?;
    // CL_INVALID_DEVICE_TYPE, CL_DEVICE_NOT_FOUND: see `of_type`
    let found = of_type(device_type);
    ensure(!matches!(found, Err(InvalidDeviceType)), InvalidDeviceType)?;
    // CL_INVALID_VALUE if num_entries is equal to zero and devices is not NULL
    ensure(devices.is_null() || num_entries != 0, InvalidValue)?;
    // CL_INVALID_VALUE if both num_devices and devices are NULL
    ensure(!(num_devices.is_null() && devices.is_null()), InvalidValue)?;

    // Some applications use the number even after an error.
    num_devices.set(found.as_ref().map_or(0, Vec::len) as cl_uint);
    devices.fill(num_entries as usize, found?.iter().map(|device| device.handle()));
    Ok(())
}

/// `clRetainDevice`: root devices are not counted.
pub fn retain(device: Handle<Device>) -> ClResult<()> {
    // CL_INVALID_DEVICE if device is not a valid device
    let device = device.get()?;
    if device.parent().is_some() { device.retain() } else { Ok(()) }
}

/// `clReleaseDevice`: root devices are not counted.
pub fn release(device: Handle<Device>) -> ClResult<()> {
    // CL_INVALID_DEVICE if device is not a valid device
    let device = device.get()?;
    if device.parent().is_some() { device.release() } else { Ok(()) }
}

/// `clGetDeviceInfo`
pub fn get_info(device: Handle<Device>, name: cl_device_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_DEVICE if device is not a valid device
    let device = device.get()?;
    let limits = caps::limits();

    match name {
        CL_DEVICE_TYPE => info.value(CL_DEVICE_TYPE_CPU),
        CL_DEVICE_VENDOR_ID => info.value(limits.host.vendor_id),
        CL_DEVICE_MAX_COMPUTE_UNITS => info.value(device.units().1 as cl_uint),
        CL_DEVICE_MAX_CLOCK_FREQUENCY => info.value(limits.host.clock_mhz),
        CL_DEVICE_ADDRESS_BITS => info.value(usize::BITS),
        CL_DEVICE_AVAILABLE => info.bool(true),
        CL_DEVICE_COMPILER_AVAILABLE | CL_DEVICE_LINKER_AVAILABLE => info.bool(true),
        CL_DEVICE_ENDIAN_LITTLE => info.bool(cfg!(target_endian = "little")),
        CL_DEVICE_ERROR_CORRECTION_SUPPORT => info.bool(false),
        CL_DEVICE_EXECUTION_CAPABILITIES => info.value(CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL),
        CL_DEVICE_HOST_UNIFIED_MEMORY => info.bool(true),
        CL_DEVICE_PLATFORM => info.object(platform::get()),
        CL_DEVICE_PREFERRED_INTEROP_USER_SYNC => info.bool(true),
        CL_DEVICE_PROFILING_TIMER_RESOLUTION => info.value(clock::RESOLUTION_NS as usize),
        CL_DEVICE_REFERENCE_COUNT => info.value(device.reference_count()),

        CL_DEVICE_PARENT_DEVICE => info.object_or_null(device.parent()),
        CL_DEVICE_PARTITION_MAX_SUB_DEVICES => info.value(partition::max_sub_devices(&device) as cl_uint),
        CL_DEVICE_PARTITION_PROPERTIES => info.slice(&partition::kinds(&device)),
        CL_DEVICE_PARTITION_AFFINITY_DOMAIN => info.value(partition::affinity_domains(&device)),
        CL_DEVICE_PARTITION_TYPE => info.slice(device.partition()),

        CL_DEVICE_NAME => info.string(&limits.host.model),
        CL_DEVICE_VENDOR => info.string(&limits.host.vendor),
        CL_DRIVER_VERSION => info.string(caps::DRIVER_VERSION),
        CL_DEVICE_CONFIGURATION_CLIFT => info.string(configuration::text()),
        CL_DEVICE_PROFILE => info.string(caps::PROFILE),
        CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED => info.string(caps::CONFORMANCE),
        CL_DEVICE_BUILT_IN_KERNELS => info.string(""),
        CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION => info.slice::<cl_name_version>(&[]),
        CL_DEVICE_UUID => info.value(limits.device_uuid),
        CL_DRIVER_UUID => info.value(limits.driver_uuid),
        CL_DEVICE_LUID_VALID => info.bool(false),
        CL_DEVICE_LUID => info.value([0u8; CL_LUID_SIZE as usize]),
        CL_DEVICE_NODE_MASK => info.value::<cl_uint>(0),

        _ => match queue_info(name, limits, info) {
            Ok(answer) => answer,
            Err(info) => match memory_info(name, limits, info) {
                Ok(answer) => answer,
                Err(info) => match language_info(name, info) {
                    Ok(answer) => answer,
                    Err(info) => image_info(name, info).unwrap_or_else(|info| pipe_info(name, info)),
                },
            },
        },
    }
}

/// A result, or the `Info` when the query belongs to another group.
type Grouped<'a> = Result<ClResult<Written>, Info<'a>>;

/// Queries about launches, queues and arithmetic.
#[allow(non_upper_case_globals, reason = "names of the C headers")]
fn queue_info<'a>(name: cl_device_info, limits: &Limits, info: Info<'a>) -> Grouped<'a> {
    let single =
        CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    // The minimum that the specification requires for doubles; directed rounding modes exist in conversions.
    let double =
        CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA;
    let half = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA;
    Ok(match name {
        CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS => info.value::<cl_uint>(3),
        CL_DEVICE_MAX_WORK_GROUP_SIZE => info.value(limits.max_work_group_size),
        CL_DEVICE_MAX_WORK_GROUP_SIZES => info.value([limits.max_work_group_size; 3]),
        // Sub-groups may have one work-item.
        CL_DEVICE_MAX_NUM_SUB_GROUPS => info.value(limits.max_work_group_size as cl_uint),
        CL_DEVICE_MAX_NAMED_BARRIER_COUNT_KHR => info.value::<cl_uint>(caps::MAX_NAMED_BARRIERS),
        CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => info.bool(true),
        CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR => info.value(caps::COMMAND_BUFFER_CAPABILITIES),
        // The device synchronizes with itself and its parts.
        CL_DEVICE_COMMAND_BUFFER_NUM_SYNC_DEVICES_KHR => info.value::<cl_uint>(1),
        CL_DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR => info.object(device::root()),
        CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR => info.value(caps::COMMAND_BUFFER_QUEUE_PROPERTIES),
        CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR => info.value::<cl_command_queue_properties>(0),
        CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES_KHR => info.value(caps::MUTABLE_DISPATCH_FIELDS),
        CL_DEVICE_SUB_GROUP_SIZES_INTEL => {
            let sizes: Vec<usize> = clift_jit::SUB_GROUP_SIZES.iter().map(|size| *size as usize).collect();
            info.slice(&sizes)
        }
        // Images in external memory are linear.
        CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR
        | CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR => {
            info.slice(caps::EXTERNAL_MEMORY_TYPES)
        }
        CL_DEVICE_TERMINATE_CAPABILITY_KHR | CL_DEVICE_TERMINATE_CAPABILITY_KHR_1X => {
            info.value(CL_DEVICE_TERMINATE_CAPABILITY_CONTEXT_KHR)
        }
        CL_DEVICE_SEMAPHORE_TYPES_KHR => info.slice(caps::SEMAPHORE_TYPES),
        CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR => info.slice(caps::SEMAPHORE_IMPORT_TYPES),
        CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR => info.slice(caps::SEMAPHORE_EXPORT_TYPES),
        CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT => info.bool(true),
        CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT => info.bool(true),
        CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => info.value(limits.preferred_multiple()),
        CL_DEVICE_QUEUE_ON_HOST_PROPERTIES => {
            info.value(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
        }
        CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES => info.value(caps::DEVICE_ENQUEUE_CAPABILITIES),
        CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES => info.value(caps::DEVICE_QUEUE_PROPERTIES),
        CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE => info.value(caps::PREFERRED_DEVICE_QUEUE_BYTES),
        CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE => info.value(caps::MAX_DEVICE_QUEUE_BYTES),
        CL_DEVICE_MAX_ON_DEVICE_QUEUES => info.value(caps::MAX_DEVICE_QUEUES),
        CL_DEVICE_MAX_ON_DEVICE_EVENTS => info.value(DeviceEvents::MAX as cl_uint),
        CL_DEVICE_SINGLE_FP_CONFIG => info.value(single),
        CL_DEVICE_DOUBLE_FP_CONFIG => info.value(double),
        CL_DEVICE_HALF_FP_CONFIG => info.value(half),
        CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES => {
            info.value(CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED | CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT)
        }
        // Dot products are compiled to ordinary arithmetic.
        CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT
        | CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED => {
            info.value(cl_device_integer_dot_product_acceleration_properties {
                signed_accelerated: CL_FALSE,
                unsigned_accelerated: CL_FALSE,
                mixed_signedness_accelerated: CL_FALSE,
                accumulating_saturating_signed_accelerated: CL_FALSE,
                accumulating_saturating_unsigned_accelerated: CL_FALSE,
                accumulating_saturating_mixed_signedness_accelerated: CL_FALSE,
            })
        }
        CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR => info.value(
            CL_DEVICE_KERNEL_CLOCK_SCOPE_DEVICE_KHR
                | CL_DEVICE_KERNEL_CLOCK_SCOPE_WORK_GROUP_KHR
                | CL_DEVICE_KERNEL_CLOCK_SCOPE_SUB_GROUP_KHR,
        ),
        // Work-items become lanes, so programs that use vectors leave fewer lanes and gain nothing. The native width is that of a
        // work-item, too, as on GPUs: programs that choose the length of their vectors by it are fastest without vectors.
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_INT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF => info.value::<cl_uint>(1),
        _ => return Err(info),
    })
}

/// Queries about memory and arguments.
fn memory_info<'a>(name: cl_device_info, limits: &Limits, info: Info<'a>) -> Grouped<'a> {
    let orders = CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_ORDER_SEQ_CST;
    let scopes = CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES;
    Ok(match name {
        CL_DEVICE_GLOBAL_MEM_SIZE => info.value(limits.host.memory_bytes),
        CL_DEVICE_GLOBAL_MEM_CACHE_TYPE => info.value(CL_READ_WRITE_CACHE),
        CL_DEVICE_GLOBAL_MEM_CACHE_SIZE => info.value(limits.host.cache_bytes),
        CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE => info.value(limits.host.cache_line_bytes),
        CL_DEVICE_MAX_MEM_ALLOC_SIZE => info.value(limits.max_mem_alloc_size),
        CL_DEVICE_LOCAL_MEM_TYPE => info.value(CL_GLOBAL),
        CL_DEVICE_LOCAL_MEM_SIZE => info.value(limits.local_mem_size),
        CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE => info.value(limits.max_constant_buffer_size),
        CL_DEVICE_MAX_CONSTANT_ARGS => info.value(limits.max_constant_args),
        CL_DEVICE_MAX_PARAMETER_SIZE => info.value(limits.max_parameter_size),
        CL_DEVICE_MEM_BASE_ADDR_ALIGN => info.value((limits.base_address_align * 8) as cl_uint),
        CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => info.value(limits.base_address_align as cl_uint),
        CL_DEVICE_PRINTF_BUFFER_SIZE => info.value(limits.printf_buffer_size),
        CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE | CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE => {
            info.value(limits.max_global_variable_size)
        }
        CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES => info.value(orders | scopes),
        CL_DEVICE_ATOMIC_FENCE_CAPABILITIES => info.value(orders | scopes | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM),
        CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT
        | CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT
        | CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT => info.value(
            CL_DEVICE_GLOBAL_FP_ATOMIC_LOAD_STORE_EXT
                | CL_DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT
                | CL_DEVICE_GLOBAL_FP_ATOMIC_MIN_MAX_EXT
                | CL_DEVICE_LOCAL_FP_ATOMIC_LOAD_STORE_EXT
                | CL_DEVICE_LOCAL_FP_ATOMIC_ADD_EXT
                | CL_DEVICE_LOCAL_FP_ATOMIC_MIN_MAX_EXT,
        ),
        // Zero: natural alignment.
        CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
        | CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
        | CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT => info.value::<cl_uint>(0),
        CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT => info.bool(true),
        CL_DEVICE_SVM_CAPABILITIES => info.value(caps::SVM_CAPABILITIES),
        CL_DEVICE_SVM_TYPE_CAPABILITIES_KHR => info.slice(caps::SVM_TYPES),
        CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL => info.value(caps::USM_CAPABILITIES),
        _ => return Err(info),
    })
}

/// Queries about versions, extensions, the language and the intermediate language.
fn language_info(name: cl_device_info, info: Info<'_>) -> Grouped<'_> {
    let (major, minor) = caps::OPENCL_VERSION;
    Ok(match name {
        CL_DEVICE_VERSION => info.string(caps::version_string()),
        CL_DEVICE_NUMERIC_VERSION => info.value(caps::version(major, minor, 0)),
        CL_DEVICE_EXTENSIONS => {
            let names: Vec<&str> = caps::device_extensions().map(|extension| extension.name).collect();
            info.string(names.join(" "))
        }
        CL_DEVICE_EXTENSIONS_WITH_VERSION => {
            let list: Vec<_> = caps::device_extensions().map(|e| caps::name_version(e.name, e.version)).collect();
            info.slice(&list)
        }
        CL_DEVICE_OPENCL_C_VERSION => info.string(caps::opencl_c_version_string()),
        CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR => {
            info.value(caps::version(caps::OPENCL_C_VERSION.0, caps::OPENCL_C_VERSION.1, 0))
        }
        CL_DEVICE_OPENCL_C_ALL_VERSIONS => {
            let list: Vec<_> = caps::OPENCL_C_VERSIONS
                .iter()
                .map(|&(major, minor)| caps::name_version("OpenCL C", caps::version(major, minor, 0)))
                .collect();
            info.slice(&list)
        }
        CL_DEVICE_OPENCL_C_FEATURES => {
            let list: Vec<_> = caps::OPENCL_C_FEATURES
                .iter()
                .map(|feature| caps::name_version(feature, caps::version(3, 0, 0)))
                .collect();
            info.slice(&list)
        }
        CL_DEVICE_IL_VERSION => info.string(caps::il_version_string()),
        CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS => info.slice(&caps::INSTRUCTION_SETS.pointers()),
        CL_DEVICE_SPIRV_EXTENSIONS => info.slice(&caps::MODULE_EXTENSIONS.pointers()),
        CL_DEVICE_SPIRV_CAPABILITIES => info.slice(&caps::module_capabilities()),
        CL_DEVICE_ILS_WITH_VERSION => {
            let list: Vec<_> = clift_jit::SPIRV_VERSIONS
                .iter()
                .map(|&(major, minor)| caps::name_version("SPIR-V", caps::version(major.into(), minor.into(), 0)))
                .collect();
            info.slice(&list)
        }
        _ => return Err(info),
    })
}

/// Queries about images.
fn image_info(name: cl_device_info, info: Info<'_>) -> Grouped<'_> {
    Ok(match name {
        CL_DEVICE_IMAGE_SUPPORT => info.bool(caps::IMAGES),
        CL_DEVICE_MAX_READ_IMAGE_ARGS | CL_DEVICE_MAX_WRITE_IMAGE_ARGS | CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS => {
            info.value::<cl_uint>(caps::MAX_IMAGE_ARGS)
        }
        CL_DEVICE_MAX_SAMPLERS => info.value::<cl_uint>(caps::MAX_SAMPLERS),
        CL_DEVICE_IMAGE_PITCH_ALIGNMENT => info.value::<cl_uint>(caps::IMAGE_PITCH_ALIGNMENT),
        CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT => info.value::<cl_uint>(caps::IMAGE_BASE_ADDRESS_ALIGNMENT),
        CL_DEVICE_IMAGE2D_MAX_WIDTH | CL_DEVICE_IMAGE2D_MAX_HEIGHT => info.value(image::MAX_2D as usize),
        CL_DEVICE_IMAGE3D_MAX_WIDTH | CL_DEVICE_IMAGE3D_MAX_HEIGHT | CL_DEVICE_IMAGE3D_MAX_DEPTH => {
            info.value(image::MAX_3D as usize)
        }
        CL_DEVICE_IMAGE_MAX_BUFFER_SIZE => info.value(image::MAX_BUFFER as usize),
        CL_DEVICE_IMAGE_MAX_ARRAY_SIZE => info.value(image::MAX_LAYERS as usize),
        _ => return Err(info),
    })
}

/// Queries about pipes.
fn pipe_info(name: cl_device_info, info: Info<'_>) -> ClResult<Written> {
    match name {
        CL_DEVICE_PIPE_SUPPORT => info.bool(true),
        CL_DEVICE_MAX_PIPE_ARGS => info.value(pipe::MAX_PIPE_ARGS),
        CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS => info.value(pipe::MAX_RESERVATIONS),
        CL_DEVICE_PIPE_MAX_PACKET_SIZE => info.value(pipe::MAX_PACKET_BYTES),

        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clGetDeviceAndHostTimer`: both are the clock that profiling uses.
pub fn device_and_host_timer(device: Handle<Device>, on_device: Out<cl_ulong>, on_host: Out<cl_ulong>) -> ClResult<()> {
    // CL_INVALID_DEVICE if device is not a valid device
    device.get()?;
    // CL_INVALID_OPERATION if the platform does not support device and host timer synchronization: it does
    // CL_INVALID_VALUE if host_timestamp or device_timestamp is NULL
    ensure(!on_device.is_null() && !on_host.is_null(), InvalidValue)?;

    let now = clock::now_ns();
    on_device.set(now);
    on_host.set(now);
    Ok(())
}

/// `clGetHostTimer`
pub fn host_timer(device: Handle<Device>, on_host: Out<cl_ulong>) -> ClResult<()> {
    // CL_INVALID_DEVICE if device is not a valid device
    device.get()?;
    // CL_INVALID_OPERATION if the platform does not support device and host timer synchronization: it does
    // CL_INVALID_VALUE if host_timestamp is NULL
    ensure(!on_host.is_null(), InvalidValue)?;

    on_host.set(clock::now_ns());
    Ok(())
}
