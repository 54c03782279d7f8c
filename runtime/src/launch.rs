//! One kernel launch: its description, and its execution by one or many threads.
#![allow(unsafe_code, reason = "arenas, and calls of generated code")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clift_include::abi::{ARENA_ALIGN, ARG_BLOCK_ALIGN, KernelEntry, Resources, WgContext};

use crate::callbacks::CALLBACKS;
use crate::graph::{Node, Work};
use crate::memory::HostBuffer;
use crate::ndrange::NdRange;
use crate::status;

/// Where a launch's `printf` output goes; called once, before the launch is reported complete, with all of it. `None` in
/// [`Launch::printf_sink`] means standard output.
pub type PrintfSink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// A kernel launch: what to run, over what, with what.
///
/// Whoever builds one promises that the entry follows [`clift_include::abi::GroupRunFn`], that the argument block is the
/// kernel's, and that the code and all memory the arguments lead to live until the launch ends (see `Command::keep`).
pub struct Launch {
    /// The kernel's code.
    pub entry: KernelEntry,
    /// What it needs of a worker's memory.
    pub resources: Resources,
    /// Its arguments.
    pub args: ArgBlock,
    /// The geometry.
    pub nd: NdRange,
    /// Bytes of local pointer arguments. They lie behind [`Resources::local_bytes`]; their offsets are in the block.
    pub local_arg_bytes: u64,
    /// Takes the output of `printf`, instead of standard output.
    pub printf_sink: Option<PrintfSink>,
    /// What earlier launches of the kernel have cost; share one per kernel. Decides how many threads are woken.
    pub cost: Option<Arc<KernelCost>>,
}

/// An argument block: zeroed bytes aligned to [`ARG_BLOCK_ALIGN`].
#[derive(Debug)]
pub struct ArgBlock {
    bytes: Box<[u8]>,
    start: usize,
    len: usize,
}

impl ArgBlock {
    /// A block of `len` zero bytes ([`Resources::arg_block_bytes`]).
    pub fn new(len: usize) -> Self {
        let bytes = vec![0u8; len + ARG_BLOCK_ALIGN].into_boxed_slice();
        let start = bytes.as_ptr().align_offset(ARG_BLOCK_ALIGN);
        Self { bytes, start, len }
    }

    /// The block's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    /// The block's bytes, to be filled in.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

impl Clone for ArgBlock {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

/// Running estimate of what a work-group of a kernel costs.
#[derive(Debug, Default)]
pub struct KernelCost {}

/// Does a command's work on this thread; the status it ends with.
pub(crate) fn perform(node: &Node) -> i32 {
    match node.take_work() {
        Some(Work::Launch(launch)) => run(&launch),
        Some(Work::Task(task)) => match catch_unwind(AssertUnwindSafe(task)) {
            Ok(Ok(())) => status::COMPLETE,
            Ok(Err(error)) => {
                if error < 0 {
                    error
                } else {
                    status::OUT_OF_RESOURCES
                }
            }
            Err(_) => status::OUT_OF_RESOURCES,
        },
        Some(Work::Marker | Work::Barrier) | None => status::COMPLETE,
    }
}

fn run(launch: &Launch) -> i32 {
    let nd = &launch.nd;
    let local = launch.resources.local_bytes.checked_add(launch.local_arg_bytes);
    let (Some(local), Some(scratch)) = (local, launch.resources.scratch_bytes_for(nd.group_items())) else {
        return status::OUT_OF_RESOURCES;
    };
    let arena = |bytes: u64| HostBuffer::new(usize::try_from(bytes).ok()?, ARENA_ALIGN).ok();
    let (Some(local_mem), Some(scratch_mem)) = (arena(local), arena(scratch)) else {
        return status::OUT_OF_RESOURCES;
    };
    let mut ctx = WgContext {
        work_dim: nd.dims(),
        reserved: 0,
        global_size: nd.global_size(),
        global_offset: nd.global_offset(),
        local_size: nd.local_size(),
        num_groups: nd.num_groups(),
        group_y: 0,
        group_z: 0,
        local_mem: local_mem.as_ptr(),
        local_mem_bytes: local,
        scratch: scratch_mem.as_ptr(),
        scratch_bytes: scratch,
        callbacks: &CALLBACKS,
        launch: core::ptr::null(),
        entry_data: launch.entry.data,
    };
    for z in 0..nd.num_groups()[2] {
        for y in 0..nd.num_groups()[1] {
            (ctx.group_y, ctx.group_z) = (y, z);
            // SAFETY: the launch's promise; the context is filled in for it.
            unsafe { (launch.entry.run)(&ctx, launch.args.bytes().as_ptr(), 0, nd.num_groups()[0]) };
        }
    }
    status::COMPLETE
}
