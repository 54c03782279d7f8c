//! Native kernels: functions of the application as commands.

use std::ffi::c_void;

use clift_include::cl::*;

use super::{Submission, Wait, same_context};
use crate::error::ClError::{InvalidMemObject, InvalidValue};
use crate::error::{ClResult, ensure};
use crate::ffi::callback::NativeFunction;
use crate::ffi::handle::Handle;
use crate::ffi::pointer::{HostPtr, InArray, InBytes};
use crate::object::buffer::Mem;
use crate::object::queue::Queue;

/// `clEnqueueNativeKernel`
#[expect(clippy::too_many_arguments, reason = "the C function has them")]
pub fn native_kernel(
    queue: Handle<Queue>,
    function: NativeFunction,
    args: InBytes<'_>,
    args_size: usize,
    num_mem_objects: cl_uint,
    mem_list: InArray<'_, Handle<Mem>>,
    args_mem_loc: InArray<'_, *const c_void>,
    wait: Wait<'_>,
) -> ClResult<()> {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue
    let queue = queue.active()?;
    // CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST: see `Submission::new`
    let mut command = Submission::new(&queue, CL_COMMAND_NATIVE_KERNEL, wait)?;
    // CL_INVALID_VALUE if user_func is NULL
    ensure(!function.is_null(), InvalidValue)?;
    // CL_INVALID_VALUE if args is a NULL value and cb_args > 0, or if args is a NULL value and num_mem_objects > 0
    ensure(!args.is_null() || (args_size == 0 && num_mem_objects == 0), InvalidValue)?;
    // CL_INVALID_VALUE if args is not NULL and cb_args is 0
    ensure(args.is_null() || args_size != 0, InvalidValue)?;
    // CL_INVALID_VALUE if num_mem_objects > 0 and mem_list or args_mem_loc are NULL, or if num_mem_objects = 0 and
    // mem_list or args_mem_loc are not NULL
    let mems = mem_list.checked(num_mem_objects, InvalidValue)?;
    let places = args_mem_loc.checked(num_mem_objects, InvalidValue)?;
    // CL_INVALID_OPERATION if the device associated with command_queue cannot execute the native kernel: it can

    // The function gets a copy of the arguments in which the handles are replaced by addresses of the buffers.
    let mut block = ArgBlock::new(&args.copy(args_size)?.unwrap_or_default())?;
    for (mem, place) in mems.zip(places) {
        // CL_INVALID_MEM_OBJECT if one or more memory objects specified in mem_list are not valid or are not buffer
        // objects (NULL is allowed)
        let mem = mem.get_nullable()?;
        ensure(mem.as_ref().is_none_or(|mem| mem.is_buffer()), InvalidMemObject)?;
        // CL_INVALID_VALUE (not in the specification's list) if a place in args_mem_loc is not within the arguments
        let offset = place.addr().checked_sub(args.addr()).ok_or(InvalidValue)?;
        let address = mem.as_ref().map_or(0, |mem| mem.bytes().as_ptr().expose_provenance());
        block.patch(offset, args_size, address).ok_or(InvalidValue)?;
        if let Some(mem) = mem {
            // CL_INVALID_CONTEXT (not in the specification's list) if a memory object is of another context
            same_context(&queue, mem.context())?;
            command = command.keep(&mem);
        }
    }

    command.task(false, move || {
        function.call(block.pointer());
        Ok(())
    })
}

/// A copy of the arguments, aligned for any type.
struct ArgBlock(Vec<u128>);

impl ArgBlock {
    fn new(bytes: &[u8]) -> ClResult<Self> {
        let mut all = Vec::new();
        all.try_reserve_exact(bytes.len().div_ceil(size_of::<u128>()))?;
        let words = bytes.chunks(size_of::<u128>()).map(|chunk| {
            let mut word = [0; size_of::<u128>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        });
        all.extend(words);
        Ok(Self(all))
    }

    /// Stores an address at an offset; `None` when it would exceed the first `size` bytes.
    fn patch(&mut self, offset: usize, size: usize, address: usize) -> Option<()> {
        let bytes = address.to_ne_bytes();
        if offset.checked_add(bytes.len())? > size {
            return None;
        }
        for (at, byte) in (offset..).zip(bytes) {
            let word = &mut self.0[at / size_of::<u128>()];
            let mut whole = word.to_ne_bytes();
            whole[at % size_of::<u128>()] = byte;
            *word = u128::from_ne_bytes(whole);
        }
        Some(())
    }

    /// The address for the function; NULL when there are no arguments.
    fn pointer(&mut self) -> HostPtr {
        if self.0.is_empty() { HostPtr::NULL } else { HostPtr::new(self.0.as_mut_ptr().cast()) }
    }
}
