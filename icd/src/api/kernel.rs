//! Kernel: creation from an executable program, arguments, queries.
//!
//! Enqueuing one is in [`super::enqueue::ndrange`].

use std::sync::Arc;

use clift_include::cl::*;
use clift_jit::{AccessQualifier, AddressQualifier, ArgInfo, ArgKind, TypeQualifiers};

use super::program::build::built;
use crate::caps::{OPENCL_VERSION, limits};
use crate::error::ClError::{
    InvalidArgIndex, InvalidArgSize, InvalidArgValue, InvalidContext, InvalidDevice, InvalidDeviceQueue,
    InvalidKernelName, InvalidMemObject, InvalidProgramExecutable, InvalidSampler, InvalidValue,
    KernelArgInfoNotAvailable, MaxSizeRestrictionExceeded,
};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, InBytes, Out, OutArray, Text};
use crate::object::buffer::Mem;
use crate::object::device::Device;
use crate::object::device_queue::DeviceQueue;
use crate::object::kernel::{ArgValue, Kernel};
use crate::object::program::Program;
use crate::object::sampler::Sampler;

/// `clCreateKernel`
pub fn create(program: Handle<Program>, name: Text) -> ClResult<Ref<Kernel>> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    let program = program.get()?;
    // CL_CONTEXT_TERMINATED_KHR if the context has been terminated
    program.context().ensure_active()?;
    // CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built executable for program
    let executable = built(&program).ok_or(InvalidProgramExecutable)?;
    // CL_INVALID_VALUE if kernel_name is NULL (checked before the name is looked for)
    let name = name.bytes().ok_or(InvalidValue)?;
    // CL_INVALID_KERNEL_NAME if kernel_name is not found in program
    executable.kernel_index(name).ok_or(InvalidKernelName)?;
    // CL_INVALID_KERNEL_DEFINITION if the kernel is not the same for all devices: there is one device

    // The program may have been built again since the lookup, so the executable it is now attached to is used.
    let executable = program.attach().ok_or(InvalidProgramExecutable)?;
    match executable.kernel_index(name) {
        Some(index) => Ok(Object::create(Kernel::new(program, executable, index))),
        None => {
            program.detach();
            Err(InvalidKernelName)
        }
    }
}

/// `clCreateKernelsInProgram`
pub fn create_all(
    program: Handle<Program>,
    num_kernels: cl_uint,
    kernels: OutArray<Handle<Kernel>>,
    num_kernels_ret: Out<cl_uint>,
) -> ClResult<()> {
    // CL_INVALID_PROGRAM if program is not a valid program object
    let program = program.get()?;
    // CL_CONTEXT_TERMINATED_KHR if the context has been terminated
    program.context().ensure_active()?;
    // CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built executable for any device in program
    let executable = built(&program).ok_or(InvalidProgramExecutable)?;
    let count = executable.program.kernels.len();
    // CL_INVALID_VALUE if kernels is not NULL and num_kernels is less than the number of kernels in program
    ensure(kernels.is_null() || num_kernels as usize >= count, InvalidValue)?;

    if !kernels.is_null() {
        let mut created = Vec::with_capacity(count);
        for index in 0..count {
            let attached = program.attach().ok_or(InvalidProgramExecutable)?;
            if !Arc::ptr_eq(&attached, &executable) {
                // The program was built again meanwhile: a race in the application, but the count must be correct.
                program.detach();
                created.iter().try_for_each(|kernel: &Ref<Kernel>| kernel.release())?;
                return Err(InvalidProgramExecutable);
            }
            created.push(Object::create(Kernel::new(program.clone(), attached, index)));
        }
        kernels.fill(num_kernels as usize, created.iter().map(|kernel| kernel.handle()));
    }
    num_kernels_ret.set(count as cl_uint);
    Ok(())
}

/// `clSetKernelArg`
pub fn set_arg(kernel: Handle<Kernel>, index: cl_uint, size: usize, value: InBytes) -> ClResult<()> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;
    kernel.set_arg(index as usize, arg_value(&kernel, index, size, value)?);
    Ok(())
}

/// The value of an argument, after checking the rules of `clSetKernelArg`.
pub fn arg_value(kernel: &Kernel, index: cl_uint, size: usize, value: InBytes) -> ClResult<ArgValue> {
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index
    let arg = kernel.info().args.get(index as usize).ok_or(InvalidArgIndex)?;

    Ok(match arg.kind {
        ArgKind::GlobalPointer | ArgKind::ConstantPointer => pointer(kernel, arg, size, value)?,
        ArgKind::LocalPointer { .. } => {
            // CL_INVALID_ARG_SIZE if arg_size is zero for a local pointer (legal from 3.1 on)
            ensure(size != 0 || OPENCL_VERSION >= (3, 1), InvalidArgSize)?;
            // CL_INVALID_ARG_VALUE if arg_value is not NULL for a local pointer
            ensure(value.is_null(), InvalidArgValue)?;
            // CL_MAX_SIZE_RESTRICTION_EXCEEDED if arg_size exceeds what the kernel says of the argument
            ensure(arg.max_bytes.is_none_or(|most| size as u64 <= most), MaxSizeRestrictionExceeded)?;
            ArgValue::Local(size as u64)
        }
        ArgKind::Value => {
            // CL_INVALID_ARG_SIZE if arg_size does not match the size of the data type for the argument
            ensure(size == arg.slot.size as usize, InvalidArgSize)?;
            // CL_INVALID_ARG_VALUE if arg_value is NULL and the argument is data
            ArgValue::Data(value.copy(size)?.ok_or(InvalidArgValue)?.into())
        }
        ArgKind::Image { dimensions, arrayed } => image(kernel, (dimensions, arrayed), arg.access, size, value)?,
        ArgKind::Sampler => {
            // CL_INVALID_ARG_SIZE if arg_size is not the size of a sampler's handle
            ensure(value.is_null() || size == size_of::<cl_sampler>(), InvalidArgSize)?;
            // CL_INVALID_SAMPLER if the argument is a sampler, but arg_value does not point to a valid sampler object
            let sampler = value.read::<Handle<Sampler>>().ok_or(InvalidSampler)?.get()?;
            // CL_INVALID_CONTEXT if the contexts of kernel and sampler are not the same
            ensure(Ref::ptr_eq(sampler.context(), kernel.program().context()), InvalidContext)?;
            ArgValue::Sampler(sampler.word())
        }
        ArgKind::Pipe => {
            // CL_INVALID_ARG_SIZE if arg_size is not the size of a memory object's handle
            ensure(value.is_null() || size == size_of::<cl_mem>(), InvalidArgSize)?;
            // CL_INVALID_MEM_OBJECT if arg_value does not point to a valid pipe object. Whether the kernel's packets have the
            // size of the pipe's is not checked here: otherwise, its accesses fail
            let mem = value.read::<Handle<Mem>>().ok_or(InvalidMemObject)?.get()?;
            ensure(mem.as_pipe().is_some(), InvalidMemObject)?;
            // CL_INVALID_CONTEXT if the contexts of kernel and memory object are not the same
            ensure(Ref::ptr_eq(mem.context(), kernel.program().context()), InvalidContext)?;
            ArgValue::Buffer(Arc::downgrade(&mem))
        }
        // CL_INVALID_DEVICE_QUEUE if the argument is a device queue, but arg_value does not point to one
        ArgKind::Queue => {
            // CL_INVALID_ARG_SIZE if arg_value points to a queue and arg_size is not the size of its handle
            ensure(value.is_null() || size == size_of::<cl_command_queue>(), InvalidArgSize)?;
            let queue = value.read::<Handle<DeviceQueue>>().ok_or(InvalidDeviceQueue)?;
            let queue = queue.get().map_err(|_| InvalidDeviceQueue)?;
            // CL_INVALID_CONTEXT if the contexts of kernel and queue are not the same
            ensure(Ref::ptr_eq(queue.context(), kernel.program().context()), InvalidContext)?;
            ArgValue::Queue(Arc::downgrade(&queue))
        }
    })
}

/// The value of an image argument; `shape` is the number of its dimensions, and whether it is an array.
fn image(
    kernel: &Kernel,
    shape: (u32, bool),
    access: AccessQualifier,
    size: usize,
    value: InBytes,
) -> ClResult<ArgValue> {
    // CL_INVALID_ARG_SIZE if arg_size is not the size of a memory object's handle
    ensure(value.is_null() || size == size_of::<cl_mem>(), InvalidArgSize)?;
    // CL_INVALID_MEM_OBJECT if arg_value does not point to a valid image object
    let mem = value.read::<Handle<Mem>>().ok_or(InvalidMemObject)?.get()?;
    let kind = mem.as_image().ok_or(InvalidMemObject)?.kind();
    // CL_INVALID_MEM_OBJECT if the memory object is not valid for the kernel argument: an image of another type. A 1-D image may
    // be a buffer or not, whatever the kernel says, and a depth image any 2-D image: applications mix them, and it makes no
    // difference to the code
    ensure((kind.dimensions(), kind.is_array()) == shape, InvalidMemObject)?;
    // CL_INVALID_CONTEXT if the contexts of kernel and memory object are not the same
    ensure(Ref::ptr_eq(mem.context(), kernel.program().context()), InvalidContext)?;
    // CL_INVALID_ARG_VALUE if the argument is an image declared with read_only and the image was created with
    // CL_MEM_WRITE_ONLY, or declared with write_only and created with CL_MEM_READ_ONLY; so too of read_write
    let (reads, writes) = match access {
        AccessQualifier::ReadOnly | AccessQualifier::None => (true, false),
        AccessQualifier::WriteOnly => (false, true),
        AccessQualifier::ReadWrite => (true, true),
    };
    ensure(!reads || mem.flags() & CL_MEM_WRITE_ONLY == 0, InvalidArgValue)?;
    // (and if an immutable object is declared to be written)
    ensure(!writes || mem.flags() & (CL_MEM_READ_ONLY | CL_MEM_IMMUTABLE_EXT) == 0, InvalidArgValue)?;
    Ok(ArgValue::Image(Arc::downgrade(&mem)))
}

/// The value of a pointer to global or constant memory: a buffer, or NULL.
fn pointer(kernel: &Kernel, arg: &ArgInfo, size: usize, value: InBytes) -> ClResult<ArgValue> {
    // arg_value NULL, or pointing to NULL, sets the argument to NULL
    if value.is_null() {
        return Ok(ArgValue::Address(0));
    }
    // CL_INVALID_ARG_SIZE if arg_value points to a memory object and arg_size is not equal to sizeof(cl_mem)
    // (checked first, because it limits how much may be read)
    ensure(size == size_of::<cl_mem>(), InvalidArgSize)?;
    let Some(handle) = value.read::<Handle<Mem>>().filter(|handle| !handle.is_null()) else {
        return Ok(ArgValue::Address(0));
    };
    // CL_INVALID_MEM_OBJECT if arg_value does not point to a valid memory object: a buffer
    let mem = handle.get()?;
    ensure(mem.is_buffer(), InvalidMemObject)?;
    // CL_INVALID_CONTEXT if the contexts of kernel and memory object are not the same
    ensure(Ref::ptr_eq(mem.context(), kernel.program().context()), InvalidContext)?;
    // CL_INVALID_ARG_VALUE if the kernel writes through the argument and the buffer was created with CL_MEM_IMMUTABLE_EXT
    // (the specification says so for images, and for buffers that they cannot be modified. Writes through a pointer that a
    // kernel loads from memory are not detected)
    ensure(!arg.written || mem.is_mutable(), InvalidArgValue)?;
    // CL_MAX_SIZE_RESTRICTION_EXCEEDED if the size of the memory object exceeds what the kernel says of the argument
    ensure(arg.max_bytes.is_none_or(|most| mem.size() as u64 <= most), MaxSizeRestrictionExceeded)?;
    Ok(ArgValue::Buffer(Arc::downgrade(&mem)))
}

/// `clSetKernelArgSVMPointer`, `clSetKernelArgMemPointerINTEL`
pub fn set_arg_svm_pointer(kernel: Handle<Kernel>, index: cl_uint, value: HostPtr) -> ClResult<()> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;
    kernel.set_arg(index as usize, svm_arg_value(&kernel, index, value)?);
    Ok(())
}

/// The value of an argument, after checking the rules of `clSetKernelArgSVMPointer`.
pub fn svm_arg_value(kernel: &Kernel, index: cl_uint, value: HostPtr) -> ClResult<ArgValue> {
    // CL_INVALID_OPERATION if no devices in the context associated with kernel support SVM: the device does
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index
    let arg = kernel.info().args.get(index as usize).ok_or(InvalidArgIndex)?;
    // CL_INVALID_ARG_VALUE if arg_value specified is not a valid value: any pointer is one, for a pointer to global or
    // constant memory
    ensure(matches!(arg.kind, ArgKind::GlobalPointer | ArgKind::ConstantPointer), InvalidArgValue)?;

    Ok(ArgValue::Address(value.addr() as u64))
}

/// `clSetKernelArgDevicePointerEXT`
pub fn set_arg_device_pointer(
    kernel: Handle<Kernel>,
    index: cl_uint,
    value: cl_mem_device_address_ext,
) -> ClResult<()> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;
    // CL_INVALID_OPERATION if no devices support the extension: the device does
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index
    let arg = kernel.info().args.get(index as usize).ok_or(InvalidArgIndex)?;
    // CL_INVALID_ARG_INDEX if arg_index corresponds to an argument that is not a pointer to the global address space
    ensure(arg.kind == ArgKind::GlobalPointer, InvalidArgIndex)?;

    let buffer = kernel.program().context().addressed(value as usize);
    kernel.set_arg(index as usize, ArgValue::DeviceAddress(value, buffer.as_ref().map(Arc::downgrade)));
    Ok(())
}

/// `clSetKernelExecInfo`
pub fn set_exec_info(kernel: Handle<Kernel>, name: cl_kernel_exec_info, size: usize, value: InBytes) -> ClResult<()> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    apply_exec_info(&*kernel.get()?, name, size, value)
}

/// The rules of `clSetKernelExecInfo` for its values, and their effect. Kernels may use memory without this; buffers that are
/// listed are kept alive by launches.
pub fn apply_exec_info(kernel: &Kernel, name: cl_kernel_exec_info, size: usize, value: InBytes) -> ClResult<()> {
    // CL_INVALID_OPERATION if no devices in the context support what param_name is about: the device does
    match name {
        CL_KERNEL_EXEC_INFO_SVM_PTRS | CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL | CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT => {
            // CL_INVALID_VALUE if param_value is NULL (an empty set is given by NULL and size 0)
            // CL_INVALID_VALUE if the size specified by param_value_size is not valid
            ensure(value.is_null() == (size == 0) && size.is_multiple_of(size_of::<u64>()), InvalidValue)?;

            if name == CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT {
                let bytes = value.copy(size)?.unwrap_or_default();
                let addresses = bytes.chunks_exact(size_of::<u64>());
                let addresses = addresses.map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
                let context = kernel.program().context();
                let buffers = addresses.filter_map(|address| context.addressed(address as usize));
                kernel.set_reached(buffers.map(|buffer| Arc::downgrade(&buffer)).collect());
            }
            Ok(())
        }
        CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM
        | CL_KERNEL_EXEC_INFO_SVM_INDIRECT_ACCESS_KHR
        | CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL
        | CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL
        | CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL => {
            // CL_INVALID_VALUE if param_value is NULL, or the size specified by param_value_size is not valid
            ensure(!value.is_null() && size == size_of::<cl_bool>(), InvalidValue)
        }
        // CL_INVALID_VALUE if param_name is not valid
        _ => Err(InvalidValue),
    }
}

/// `clCloneKernel`
pub fn clone(source: Handle<Kernel>) -> ClResult<Ref<Kernel>> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let source = source.get()?;
    // CL_CONTEXT_TERMINATED_KHR if the context has been terminated
    source.program().context().ensure_active()?;

    // The program is attached, so the executable has not changed.
    source.program().attach().ok_or(InvalidProgramExecutable)?;
    Ok(Object::create(source.copy()))
}

/// `clGetKernelInfo`
pub fn get_info(kernel: Handle<Kernel>, name: cl_kernel_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;

    match name {
        CL_KERNEL_FUNCTION_NAME => info.string(&kernel.info().name),
        CL_KERNEL_NUM_ARGS => info.value(kernel.info().args.len() as cl_uint),
        CL_KERNEL_REFERENCE_COUNT => info.value(kernel.reference_count()),
        CL_KERNEL_CONTEXT => info.object(kernel.program().context()),
        CL_KERNEL_PROGRAM => info.object(kernel.program()),
        CL_KERNEL_ATTRIBUTES => {
            let known = kernel.info();
            // The front end is only queried for kernels that have attributes.
            let any = known.required_local_size.is_some()
                || known.local_size_hint.is_some()
                || known.vec_type_hint.is_some()
                || known.required_sub_group_size.is_some();
            let described = if any { kernel.executable().describe(&known.name) } else { None };
            info.string(described.map_or("", |(description, _)| description.attributes.as_str()))
        }
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clGetKernelArgInfo`
pub fn get_arg_info(
    kernel: Handle<Kernel>,
    index: cl_uint,
    name: cl_kernel_arg_info,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index
    let arg = kernel.info().args.get(index as usize).ok_or(InvalidArgIndex)?;
    // CL_INVALID_VALUE if param_name is not one of the supported values
    ensure((CL_KERNEL_ARG_ADDRESS_QUALIFIER..=CL_KERNEL_ARG_NAME).contains(&name), InvalidValue)?;

    // CL_KERNEL_ARG_INFO_NOT_AVAILABLE if the argument information is not available: kernels from OpenCL C have it only with
    // -cl-kernel-arg-info, and those from SPIR-V as far as the module contains it
    let units = &kernel.executable().units;
    let described = if units.iter().any(|unit| unit.has_arg_info() && unit.is_from_source()) {
        kernel.executable().describe(&kernel.info().name).filter(|(_, asked)| *asked)
    } else {
        None
    };
    let (address, access, qualifiers, type_name, arg_name) = match described {
        Some((description, _)) => {
            let arg = description.args.get(index as usize).ok_or(KernelArgInfoNotAvailable)?;
            let names = (Some(arg.type_name.as_str()), Some(arg.name.as_str()));
            (arg.address(), arg.access(), arg.type_qualifiers(), names.0, names.1)
        }
        None if units.iter().any(|unit| unit.is_from_source()) => return Err(KernelArgInfoNotAvailable),
        None => (arg.address, arg.access, arg.qualifiers, arg.type_name.as_deref(), arg.name.as_deref()),
    };
    match name {
        CL_KERNEL_ARG_ADDRESS_QUALIFIER => info.value(match address {
            AddressQualifier::Global => CL_KERNEL_ARG_ADDRESS_GLOBAL,
            AddressQualifier::Local => CL_KERNEL_ARG_ADDRESS_LOCAL,
            AddressQualifier::Constant => CL_KERNEL_ARG_ADDRESS_CONSTANT,
            AddressQualifier::Private => CL_KERNEL_ARG_ADDRESS_PRIVATE,
        }),
        CL_KERNEL_ARG_ACCESS_QUALIFIER => info.value(match access {
            AccessQualifier::ReadOnly => CL_KERNEL_ARG_ACCESS_READ_ONLY,
            AccessQualifier::WriteOnly => CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
            AccessQualifier::ReadWrite => CL_KERNEL_ARG_ACCESS_READ_WRITE,
            AccessQualifier::None => CL_KERNEL_ARG_ACCESS_NONE,
        }),
        CL_KERNEL_ARG_TYPE_NAME => info.string(type_name.ok_or(KernelArgInfoNotAvailable)?),
        CL_KERNEL_ARG_TYPE_QUALIFIER => info.value(qualifier_bits(qualifiers)),
        CL_KERNEL_ARG_NAME => info.string(arg_name.ok_or(KernelArgInfoNotAvailable)?),
        _ => unreachable!("broken invariant: the name is in the range checked above"),
    }
}

/// `cl_kernel_arg_type_qualifier`: a bit field in C, 64 bits, whatever the constants' type is here.
fn qualifier_bits(qualifiers: TypeQualifiers) -> cl_bitfield {
    [
        (qualifiers.is_const, CL_KERNEL_ARG_TYPE_CONST),
        (qualifiers.is_restrict, CL_KERNEL_ARG_TYPE_RESTRICT),
        (qualifiers.is_volatile, CL_KERNEL_ARG_TYPE_VOLATILE),
        (qualifiers.is_pipe, CL_KERNEL_ARG_TYPE_PIPE),
    ]
    .iter()
    .fold(
        cl_bitfield::from(CL_KERNEL_ARG_TYPE_NONE),
        |bits, (set, bit)| if *set { bits | cl_bitfield::from(*bit) } else { bits },
    )
}

/// `clGetKernelWorkGroupInfo`
pub fn get_work_group_info(
    kernel: Handle<Kernel>,
    device: Handle<Device>,
    name: cl_kernel_work_group_info,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;
    // CL_INVALID_DEVICE: see `checked_device`
    checked_device(&kernel, device)?;

    let known = kernel.info();
    match name {
        CL_KERNEL_WORK_GROUP_SIZE => info.value(kernel.max_work_group_size(limits())),
        CL_KERNEL_COMPILE_WORK_GROUP_SIZE => {
            info.value(known.required_local_size.unwrap_or([0; 3]).map(|size| size as usize))
        }
        CL_KERNEL_LOCAL_MEM_SIZE => info.value::<cl_ulong>(kernel.local_bytes()),
        CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
            info.value(limits().preferred_multiple().max(known.resources.width as usize))
        }
        CL_KERNEL_PRIVATE_MEM_SIZE => info.value::<cl_ulong>(known.private_bytes),
        // Values that do not fit in registers are on the C stack, a few words for any kernel.
        CL_KERNEL_SPILL_MEM_SIZE_INTEL => info.value::<cl_ulong>(0),
        // CL_INVALID_VALUE if param_name is CL_KERNEL_GLOBAL_WORK_SIZE and kernel is not a built-in kernel: none is
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// `clGetKernelSubGroupInfo`
pub fn get_sub_group_info(
    kernel: Handle<Kernel>,
    device: Handle<Device>,
    name: cl_kernel_sub_group_info,
    input_size: usize,
    input: InBytes<'_>,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object
    let kernel = kernel.get()?;
    // CL_INVALID_DEVICE: see `checked_device`
    checked_device(&kernel, device)?;
    // CL_INVALID_OPERATION if device does not support sub-groups: it does

    match name {
        CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE => {
            local_size(input_size, input)?;
            info.value(kernel.sub_group_size())
        }
        CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => info.value(kernel.sub_group_count(local_size(input_size, input)?)),
        CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
            // CL_INVALID_VALUE if input_value_size is not valid or input_value is NULL
            ensure(input_size == size_of::<usize>(), InvalidValue)?;
            let count = input.read::<usize>().ok_or(InvalidValue)?;
            // The size of the application's buffer gives the number of dimensions.
            let dims = info.room_for::<usize>().unwrap_or(3).min(3);
            ensure(dims != 0, InvalidValue)?;
            let size = kernel.local_size_for(count, dims, limits()).unwrap_or([0; 3]);
            info.slice(&size[..dims])
        }
        CL_KERNEL_MAX_NUM_SUB_GROUPS => info.value(kernel.max_sub_groups(limits())),
        CL_KERNEL_COMPILE_NUM_SUB_GROUPS => info.value(kernel.info().required_sub_groups.unwrap_or(0) as usize),
        CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => {
            info.value(kernel.info().required_sub_group_size.unwrap_or(0) as usize)
        }
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}

/// The local size in a query about sub-groups: one to three dimensions.
fn local_size(input_size: usize, input: InBytes<'_>) -> ClResult<[usize; 3]> {
    // CL_INVALID_VALUE if input_value_size is not valid or input_value is NULL
    let dims = input_size / size_of::<usize>();
    ensure((1..=3).contains(&dims) && input_size.is_multiple_of(size_of::<usize>()), InvalidValue)?;
    let bytes = input.copy(input_size)?.ok_or(InvalidValue)?;
    let mut size = [1; 3];
    for (size, bytes) in size.iter_mut().zip(bytes.chunks_exact(size_of::<usize>())) {
        *size = usize::from_ne_bytes(bytes.try_into().unwrap_or_default());
    }
    Ok(size)
}

/// Checks the device of a query about a kernel.
fn checked_device(kernel: &Ref<Kernel>, device: Handle<Device>) -> ClResult<()> {
    // CL_INVALID_DEVICE if device is not in the list of devices associated with kernel, or if device is NULL but there is more
    // than one device associated with kernel
    let context = kernel.program().context();
    ensure(
        device.get_nullable()?.map_or(context.devices().len() == 1, |device| context.has_device(&device)),
        InvalidDevice,
    )
}
