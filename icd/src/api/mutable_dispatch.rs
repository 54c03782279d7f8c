//! Changing the kernels of a command buffer between two enqueues (`cl_khr_command_buffer_mutable_dispatch`).
//!
//! Changes are made to copies. After all of them have been checked, they are applied together. So a call that fails changes
//! nothing, and running executions keep the values they were enqueued with.

use std::sync::Arc;

use clift_include::cl::*;
use clift_runtime::geometry::{self, Request};
use rustc_hash::FxHashMap;

use super::enqueue::ndrange::{demands, sizes};
use super::kernel::{apply_exec_info, arg_value, svm_arg_value};
use super::recording::snapshot;
use crate::error::ClError::{InvalidMutableCommand, InvalidOperation, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{HostPtr, In, InArray, InBytes};
use crate::object::command_buffer::{CommandBuffer, MutableCommand, PreparedLaunch, RecordedLaunch};
use crate::object::queue::Queue;

/// `clUpdateMutableCommandsKHR`
pub fn update(
    buffer: Handle<CommandBuffer>,
    num_configs: cl_uint,
    types: InArray<'_, cl_command_buffer_update_type_khr>,
    configs: InArray<'_, In<'static, cl_mutable_dispatch_config_khr>>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer
    let buffer = buffer.get()?;
    // CL_INVALID_OPERATION if command_buffer has not been finalized
    ensure(buffer.state() != CL_COMMAND_BUFFER_STATE_RECORDING_KHR, InvalidOperation)?;
    // CL_INVALID_OPERATION if command_buffer was not created with the CL_COMMAND_BUFFER_MUTABLE_KHR flag
    ensure(buffer.is_mutable(), InvalidOperation)?;
    // CL_INVALID_VALUE if config_types is NULL and num_configs > 0, or the other way round
    let types = types.checked(num_configs, InvalidValue)?;
    // CL_INVALID_VALUE if configs is NULL and num_configs > 0, or the other way round
    let configs = configs.checked(num_configs, InvalidValue)?;

    // The last change of each command, by the address of the recorded launch.
    let mut changes: FxHashMap<*const RecordedLaunch, (Arc<RecordedLaunch>, Arc<PreparedLaunch>)> =
        FxHashMap::default();
    for (kind, config) in types.zip(configs) {
        // CL_INVALID_VALUE if any element of config_types is not a valid cl_command_buffer_update_type_khr enum
        ensure(kind == CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR, InvalidValue)?;
        // CL_INVALID_VALUE if any element of configs is NULL
        let config = config.get().ok_or(InvalidValue)?;
        // CL_INVALID_MUTABLE_COMMAND_KHR if command is not a valid mutable command object, or not of this buffer
        let command = Handle::<MutableCommand>::from_addr(config.command.addr()).get()?;
        let owner = command.buffer().ok_or(InvalidMutableCommand)?;
        ensure(Ref::ptr_eq(&owner, &buffer), InvalidMutableCommand)?;
        let dispatch = command.dispatch();
        // A later change of the same command is based on the earlier one.
        let earlier = changes.get(&Arc::as_ptr(dispatch));
        let base = earlier.map_or_else(|| dispatch.prepared(), |(_, prepared)| prepared.clone());
        let prepared = Arc::new(changed(command.queue(), dispatch, &base, &config)?);
        changes.insert(Arc::as_ptr(dispatch), (dispatch.clone(), prepared));
    }
    for (dispatch, prepared) in changes.into_values() {
        dispatch.change(prepared);
    }
    Ok(())
}

/// A kernel launch after a change.
fn changed(
    queue: &Ref<Queue>,
    dispatch: &RecordedLaunch,
    base: &PreparedLaunch,
    config: &cl_mutable_dispatch_config_khr,
) -> ClResult<PreparedLaunch> {
    let may = |field| dispatch.fields & field != 0;
    let dims = base.request.dims;
    // CL_INVALID_OPERATION if work_dim is not zero and different from the work_dim set on command recording
    ensure(config.work_dim == 0 || config.work_dim == dims, InvalidOperation)?;
    // CL_INVALID_OPERATION if the property for a field was not set on command recording and the field is not NULL
    let (offset, global, local) = (
        sizes(InArray::of(config.global_work_offset), dims),
        sizes(InArray::of(config.global_work_size), dims),
        sizes(InArray::of(config.local_work_size), dims),
    );
    ensure(offset.is_none() || may(CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR), InvalidOperation)?;
    ensure(global.is_none() || may(CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR), InvalidOperation)?;
    ensure(local.is_none() || may(CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR), InvalidOperation)?;
    // CL_INVALID_OPERATION if CL_MUTABLE_DISPATCH_ARGUMENTS_KHR was not set and num_args or num_svm_args is non-zero
    let any_args = config.num_args != 0 || config.num_svm_args != 0;
    ensure(!any_args || may(CL_MUTABLE_DISPATCH_ARGUMENTS_KHR), InvalidOperation)?;
    // CL_INVALID_OPERATION if CL_MUTABLE_DISPATCH_EXEC_INFO_KHR was not set and num_exec_infos is non-zero
    ensure(config.num_exec_infos == 0 || may(CL_MUTABLE_DISPATCH_EXEC_INFO_KHR), InvalidOperation)?;
    // CL_INVALID_VALUE if arg_list, arg_svm_list or exec_info_list is NULL and its number > 0, or the other way round
    let args = InArray::of(config.arg_list).checked(config.num_args, InvalidValue)?;
    let svm_args = InArray::of(config.arg_svm_list).checked(config.num_svm_args, InvalidValue)?;
    let infos = InArray::of(config.exec_info_list).checked(config.num_exec_infos, InvalidValue)?;

    let kernel = snapshot(&base.kernel)?;
    for arg in args {
        // The errors of clSetKernelArg
        let value = arg_value(&kernel, arg.arg_index, arg.arg_size, InBytes::of(arg.arg_value))?;
        kernel.set_arg(arg.arg_index as usize, value);
    }
    for arg in svm_args {
        // The errors of clSetKernelArgSVMPointer
        let pointer = HostPtr::new(arg.arg_value.cast_mut().cast());
        kernel.set_arg(arg.arg_index as usize, svm_arg_value(&kernel, arg.arg_index, pointer)?);
    }
    for info in infos {
        // The errors of clSetKernelExecInfo
        apply_exec_info(&kernel, info.param_name, info.param_value_size, InBytes::of(info.param_value))?;
    }
    let old = &base.request;
    let request =
        Request { dims, offset: offset.or(old.offset), global: global.or(old.global), local: local.or(old.local) };
    // The errors of clEnqueueNDRangeKernel about sizes
    let demands = demands(queue, &kernel);
    let new = geometry::checked(&request, &demands)?;
    // CL_INVALID_OPERATION if the values of local_work_size and/or global_work_size result in a change to work-group
    // uniformity
    let was_uniform = geometry::checked(old, &demands)?.is_uniform();
    ensure(new.is_uniform() == was_uniform, InvalidOperation)?;
    Ok(PreparedLaunch { kernel, request })
}

/// `clGetMutableCommandInfoKHR`
pub fn get_info(
    command: Handle<MutableCommand>,
    name: cl_mutable_command_info_khr,
    info: Info<'_>,
) -> ClResult<Written> {
    // CL_INVALID_MUTABLE_COMMAND_KHR if command is not a valid mutable command object
    let command = command.get()?;
    let buffer = command.buffer().ok_or(InvalidMutableCommand)?;
    let dispatch = command.dispatch();
    let prepared = dispatch.prepared();
    let per_dimension = |sizes: Option<[u64; 3]>| {
        let used = &sizes.unwrap_or([0; 3])[..prepared.request.dims as usize];
        used.iter().map(|size| *size as usize).collect::<Vec<usize>>()
    };

    match name {
        CL_MUTABLE_COMMAND_COMMAND_QUEUE_KHR => info.object(command.queue()),
        CL_MUTABLE_COMMAND_COMMAND_BUFFER_KHR => info.object(&buffer),
        CL_MUTABLE_COMMAND_COMMAND_TYPE_KHR => info.value(CL_COMMAND_NDRANGE_KERNEL),
        CL_MUTABLE_COMMAND_PROPERTIES_ARRAY_KHR => info.slice(&dispatch.properties),
        CL_MUTABLE_DISPATCH_KERNEL_KHR => info.object(&dispatch.kernel),
        CL_MUTABLE_DISPATCH_DIMENSIONS_KHR => info.value(prepared.request.dims),
        CL_MUTABLE_DISPATCH_GLOBAL_WORK_OFFSET_KHR => info.slice(&per_dimension(prepared.request.offset)),
        CL_MUTABLE_DISPATCH_GLOBAL_WORK_SIZE_KHR => info.slice(&per_dimension(prepared.request.global)),
        CL_MUTABLE_DISPATCH_LOCAL_WORK_SIZE_KHR => info.slice(&per_dimension(prepared.request.local)),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}
