//! A kernel: one entry of an executable program, and the arguments set so far.
//!
//! A kernel keeps its program's code alive, and prevents building the program again. It does *not* keep memory objects alive: the
//! specification forbids that, because an application could not tell when a buffer no longer uses its host memory. References to
//! the memory objects in the arguments are taken when the kernel is enqueued ([`Kernel::prepare`]).

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use clift_include::abi::ARENA_ALIGN;
use clift_include::check::KernelChecks;
use clift_include::image::{self, ArgFact};
use clift_jit::{AccessQualifier, ArgInfo, ArgKind};
use clift_runtime::check::Reported;
use clift_runtime::launch::ArgBlock;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::buffer::Mem;
use super::device_queue::DeviceQueue;
use super::launch_info::KernelInfo;
use super::launch_limits;
use super::program::Program;
use super::program::unit::Executable;
use crate::caps::{Limits, MAX_IMAGE_ARGS, MAX_SAMPLERS, limits};
use crate::ffi::handle::{Object, Ref, cl_object};

/// A kernel.
#[derive(Debug)]
pub struct Kernel {
    program: Ref<Program>,
    executable: Arc<Executable>,
    index: usize,
    launch_info: Arc<KernelInfo>,
    /// What its code checks and has reported.
    checks: Option<(Arc<KernelChecks>, Arc<Reported>)>,
    /// Which limit of the device its arguments exceed, if any.
    exceeded: Option<String>,
    args: Mutex<Args>,
}

cl_object!(Kernel, b"kern", InvalidKernel);

/// The arguments set so far.
#[derive(Clone)]
struct Args {
    /// The argument block with all values; pointers are filled in when the kernel is enqueued.
    block: ArgBlock,
    values: Vec<Option<ArgValue>>,
    /// Buffers that the kernel accesses by addresses in memory (`CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT`).
    reached: Vec<Weak<Object<Mem>>>,
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub enum ArgValue {
    /// Bytes, as many as the argument has.
    Data(SmallVec<[u8; 16]>),
    /// A pointer of the application: NULL, or shared memory.
    Address(u64),
    /// An address, and the buffer that contains it, if any.
    DeviceAddress(u64, Option<Weak<Object<Mem>>>),
    /// A buffer or a pipe.
    Buffer(Weak<Object<Mem>>),
    /// Local memory of this many bytes.
    Local(u64),
    /// An image.
    Image(Weak<Object<Mem>>),
    /// A sampler.
    Sampler(image::Sampler),
    /// A device queue.
    Queue(Weak<Object<DeviceQueue>>),
}

/// The arguments of one launch.
#[derive(Debug)]
pub struct PreparedArgs {
    /// The argument block; addresses of buffers are not filled in.
    pub block: ArgBlock,
    /// Buffers and pipes, and the offsets of their addresses in the block.
    pub buffers: SmallVec<[(Ref<Mem>, u32); 8]>,
    /// Size of the local memory arguments, which follow the kernel's own local memory.
    pub local_arg_bytes: u64,
    /// Images, whose descriptors' addresses are in the block, and buffers accessed by address.
    pub objects: SmallVec<[Ref<Mem>; 4]>,
    /// Device queues, whose addresses are in the block.
    pub queues: SmallVec<[Ref<DeviceQueue>; 1]>,
    /// Facts about images and samplers, by their offsets in the block.
    pub facts: SmallVec<[(u32, ArgFact); 4]>,
    /// Whether the kernel may write memory of one pointer argument that is also memory of another one, and its usual code takes
    /// them for separate.
    pub overlap: bool,
}

/// An argument was never set, or the object it was set to no longer exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSet;

impl Kernel {
    /// A kernel of the program's executable without arguments. The caller has called [`Program::attach`] for it.
    pub fn new(program: Ref<Program>, executable: Arc<Executable>, index: usize) -> Self {
        let info = &executable.program.kernels[index];
        let args = Args {
            block: ArgBlock::new(info.resources.arg_block_bytes as usize),
            values: vec![None; info.args.len()],
            reached: Vec::new(),
        };
        let context = Arc::downgrade(program.context());
        executable.launches[index].has_object.store(true, Ordering::Relaxed);
        let launch_info = Arc::new(KernelInfo { executable: executable.clone(), index, context });
        let checks = info.checks.as_ref().map(|checks| (checks.clone(), Arc::new(Reported::none(checks))));
        let exceeded = exceeded_limit(&info.args);
        Self { program, executable, index, launch_info, checks, exceeded, args: Mutex::new(args) }
    }

    /// A kernel with the same arguments. The caller has called [`Program::attach`] for it.
    pub fn copy(&self) -> Self {
        Self {
            program: self.program.clone(),
            executable: self.executable.clone(),
            index: self.index,
            launch_info: self.launch_info.clone(),
            checks: self.checks.clone(),
            exceeded: self.exceeded.clone(),
            args: Mutex::new(self.args.lock().clone()),
        }
    }

    /// Its program.
    pub fn program(&self) -> &Ref<Program> {
        &self.program
    }

    /// The executable it is part of.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// The kernel compiler's information about it.
    pub fn info(&self) -> &clift_jit::Kernel {
        &self.executable.program.kernels[self.index]
    }

    /// What its code checks, and which bugs have been reported.
    pub fn checks(&self) -> Option<&(Arc<KernelChecks>, Arc<Reported>)> {
        self.checks.as_ref()
    }

    /// Which limit of the device its arguments exceed: such a kernel cannot be enqueued.
    pub fn exceeded_limit(&self) -> Option<&str> {
        self.exceeded.as_deref()
    }

    /// What its launches share.
    pub fn launch_info(&self) -> &Arc<KernelInfo> {
        &self.launch_info
    }

    /// Sets an argument. The caller has checked that the value matches the argument's kind and size.
    pub fn set_arg(&self, index: usize, value: ArgValue) {
        let slot = self.info().args[index].slot;
        let mut args = self.args.lock();
        if let ArgValue::Data(bytes) = &value {
            place(&mut args.block, slot.offset, bytes);
        }
        args.values[index] = Some(value);
    }

    /// Sets the buffers that launches access by addresses in memory.
    pub fn set_reached(&self, buffers: Vec<Weak<Object<Mem>>>) {
        self.args.lock().reached = buffers;
    }

    /// Whether all arguments are set.
    pub fn has_all_args(&self) -> bool {
        self.args.lock().values.iter().all(Option::is_some)
    }

    /// The arguments for a launch, with references to the buffers.
    ///
    /// # Errors
    /// [`NotSet`] when an argument is missing or its buffer no longer exists.
    pub fn prepare(&self) -> Result<PreparedArgs, NotSet> {
        // Declared before the lock's guard: if an argument is missing, objects are dropped after the lock has been released, and
        // may call the application's destructor callbacks.
        let mut buffers = SmallVec::new();
        let mut objects = SmallVec::new();
        let mut queues = SmallVec::new();
        let mut facts = SmallVec::new();
        let args = self.args.lock();
        let mut block = args.block.clone();
        objects.extend(args.reached.iter().filter_map(Weak::upgrade));
        let mut local_end = self.info().resources.local_bytes;
        for (value, info) in args.values.iter().zip(&self.info().args) {
            match value.as_ref().ok_or(NotSet)? {
                ArgValue::Data(_) => {}
                ArgValue::Address(address) => place(&mut block, info.slot.offset, &address.to_le_bytes()),
                ArgValue::DeviceAddress(address, buffer) => {
                    place(&mut block, info.slot.offset, &address.to_le_bytes());
                    objects.extend(buffer.as_ref().and_then(Weak::upgrade));
                }
                ArgValue::Buffer(mem) => buffers.push((mem.upgrade().ok_or(NotSet)?, info.slot.offset)),
                ArgValue::Image(mem) => {
                    let mem = mem.upgrade().ok_or(NotSet)?;
                    let image = mem.as_image().ok_or(NotSet)?;
                    let address = std::ptr::from_ref(image.descriptor()).expose_provenance() as u64;
                    place(&mut block, info.slot.offset, &address.to_le_bytes());
                    facts.push((info.slot.offset, image.fact()));
                    objects.push(mem);
                }
                ArgValue::Sampler(sampler) => {
                    place(&mut block, info.slot.offset, &sampler.0.to_le_bytes());
                    facts.push((info.slot.offset, ArgFact::Sampler(sampler.modes())));
                }
                ArgValue::Queue(queue) => {
                    let queue = queue.upgrade().ok_or(NotSet)?;
                    place(&mut block, info.slot.offset, &queue.word().to_le_bytes());
                    queues.push(queue);
                }
                ArgValue::Local(size) => {
                    let start = aligned(local_end, info);
                    place(&mut block, info.slot.offset, &start.to_le_bytes());
                    local_end = start.saturating_add(*size);
                }
            }
        }
        for bounds in self.checks.iter().flat_map(|(checks, _)| &checks.bounds) {
            let Some(value) = &args.values[bounds.arg.index as usize] else { continue };
            let (before, total) = self.bounds(value);
            place(&mut block, bounds.offset, &before.to_le_bytes());
            place(&mut block, bounds.offset + 8, &total.to_le_bytes());
        }
        if let Some(shadow) = self.checks.as_ref().and_then(|(checks, _)| checks.local_shadow) {
            let distance = local_end.checked_next_multiple_of(ARENA_ALIGN as u64).unwrap_or(u64::MAX);
            place(&mut block, shadow, &distance.to_le_bytes());
            local_end = local_end.saturating_add(distance);
        }
        let local_arg_bytes = local_end - self.info().resources.local_bytes;
        let overlap = self.info().assumes_separate_args && self.written_args_overlap(&args.values);
        Ok(PreparedArgs { block, buffers, local_arg_bytes, objects, queues, facts, overlap })
    }

    /// Whether the object behind a pointer argument through which the kernel writes overlaps that behind another one.
    fn written_args_overlap(&self, values: &[Option<ArgValue>]) -> bool {
        let mut objects: SmallVec<[(u64, u64, bool); 8]> = SmallVec::new();
        for (value, info) in values.iter().zip(&self.info().args) {
            let (Some(value), ArgKind::GlobalPointer | ArgKind::ConstantPointer) = (value, info.kind) else { continue };
            let start = match value {
                ArgValue::Address(address) | ArgValue::DeviceAddress(address, _) => *address,
                ArgValue::Buffer(mem) => mem.upgrade().map_or(0, |mem| mem.bytes().as_ptr().addr() as u64),
                ArgValue::Data(_)
                | ArgValue::Local(_)
                | ArgValue::Image(_)
                | ArgValue::Sampler(_)
                | ArgValue::Queue(_) => continue,
            };
            let (before, total) = self.bounds(value);
            let start = start.saturating_sub(before);
            objects.push((start, start.saturating_add(total), info.written));
        }
        let overlap = |a: &(u64, u64, bool), b: &(u64, u64, bool)| (a.2 || b.2) && a.0 < b.1 && b.0 < a.1;
        objects.iter().enumerate().any(|(at, a)| objects[at + 1..].iter().any(|b| overlap(a, b)))
    }

    /// The object behind a pointer argument: its bytes in front of the pointer, and all its bytes.
    fn bounds(&self, value: &ArgValue) -> (u64, u64) {
        // A pointer that no function of OpenCL returned: the device shares the host's address space.
        let anything = (1 << 62, 1 << 63);
        let allocated = |address: u64| {
            let found = self.program.context().allocations().at(address as usize)?;
            Some((address - found.start() as u64, found.bytes.len() as u64))
        };
        match value {
            ArgValue::Address(0) | ArgValue::DeviceAddress(0, _) => (0, 0),
            ArgValue::Address(address) => allocated(*address).unwrap_or(anything),
            ArgValue::DeviceAddress(address, buffer) => match buffer.as_ref().and_then(Weak::upgrade) {
                Some(mem) => {
                    let bytes = mem.bytes();
                    (address.wrapping_sub(bytes.as_ptr().addr() as u64), bytes.len() as u64)
                }
                None => allocated(*address).unwrap_or(anything),
            },
            ArgValue::Buffer(mem) => (0, mem.upgrade().map_or(0, |mem| mem.bytes().len() as u64)),
            ArgValue::Local(size) => (0, *size),
            ArgValue::Data(_) | ArgValue::Image(_) | ArgValue::Sampler(_) | ArgValue::Queue(_) => anything,
        }
    }

    /// `CL_KERNEL_LOCAL_MEM_SIZE`: its own local variables, and the local arguments set so far.
    pub fn local_bytes(&self) -> u64 {
        let args = self.args.lock();
        let pairs = args.values.iter().zip(&self.info().args);
        pairs.fold(self.info().resources.local_bytes, |end, (value, info)| match value {
            Some(ArgValue::Local(size)) => aligned(end, info).saturating_add(*size),
            Some(
                ArgValue::Data(_)
                | ArgValue::Address(_)
                | ArgValue::DeviceAddress(..)
                | ArgValue::Buffer(_)
                | ArgValue::Image(_)
                | ArgValue::Sampler(_)
                | ArgValue::Queue(_),
            )
            | None => end,
        })
    }

    /// `CL_KERNEL_WORK_GROUP_SIZE`: limited by the device and by a worker's scratch memory.
    pub fn max_work_group_size(&self, limits: &Limits) -> usize {
        launch_limits::max_work_group_size(self.info(), limits)
    }

    /// Maximum number of work-items in a sub-group, which is the number of lanes.
    pub fn sub_group_size(&self) -> usize {
        self.info().resources.width as usize
    }

    /// Number of sub-groups of a work-group.
    pub fn sub_group_count(&self, local_size: [usize; 3]) -> usize {
        let count = self.info().resources.sub_group_count(local_size.map(|size| size as u64));
        count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
    }

    /// `CL_KERNEL_MAX_NUM_SUB_GROUPS`.
    pub fn max_sub_groups(&self, limits: &Limits) -> usize {
        match self.info().required_local_size {
            Some(size) => self.sub_group_count(size.map(|size| size as usize)),
            None => self.sub_group_count([self.max_work_group_size(limits), 1, 1]),
        }
    }

    /// A local size with `dims` dimensions that gives `sub_groups` sub-groups per work-group, if there is one.
    pub fn local_size_for(&self, sub_groups: usize, dims: usize, limits: &Limits) -> Option<[usize; 3]> {
        let size = match self.info().required_local_size {
            Some(size) => size.map(|size| size as usize),
            None => [sub_groups.checked_mul(self.sub_group_size())?, 1, 1],
        };
        let fits = size[0] != 0 && size.iter().product::<usize>() <= self.max_work_group_size(limits);
        let in_dims = size[dims..].iter().all(|&size| size == 1);
        (fits && in_dims && self.sub_group_count(size) == sub_groups).then_some(size)
    }
}

/// The first limit of the device that a kernel with these arguments exceeds.
fn exceeded_limit(args: &[ArgInfo]) -> Option<String> {
    let images = |accesses: &[AccessQualifier]| {
        args.iter().filter(|arg| matches!(arg.kind, ArgKind::Image { .. }) && accesses.contains(&arg.access)).count()
    };
    let read = images(&[AccessQualifier::None, AccessQualifier::ReadOnly]);
    let written = images(&[AccessQualifier::WriteOnly, AccessQualifier::ReadWrite]);
    let samplers = args.iter().filter(|arg| arg.kind == ArgKind::Sampler).count();
    let bytes = args.iter().map(|arg| arg.slot.size as usize).sum::<usize>();
    let limits = [
        ("bytes of arguments", bytes, limits().max_parameter_size),
        ("images to read", read, MAX_IMAGE_ARGS as usize),
        ("images to write", written, MAX_IMAGE_ARGS as usize),
        ("samplers", samplers, MAX_SAMPLERS as usize),
    ];
    let (what, count, most) = limits.into_iter().find(|(_, count, most)| count > most)?;
    Some(format!("it has {count} {what}; the device's limit is {most}"))
}

/// The first offset from `end` on with the alignment of a local argument's type.
fn aligned(end: u64, info: &ArgInfo) -> u64 {
    match info.kind {
        ArgKind::LocalPointer { align } => end.checked_next_multiple_of(u64::from(align.max(1))).unwrap_or(u64::MAX),
        ArgKind::Value
        | ArgKind::GlobalPointer
        | ArgKind::ConstantPointer
        | ArgKind::Image { .. }
        | ArgKind::Sampler
        | ArgKind::Pipe
        | ArgKind::Queue => end,
    }
}

/// Writes into an argument block.
pub fn place(block: &mut ArgBlock, offset: u32, bytes: &[u8]) {
    let start = offset as usize;
    let Some(target) = block.bytes_mut().get_mut(start..start + bytes.len()) else {
        unreachable!("broken invariant: an argument is outside of its kernel's argument block")
    };
    target.copy_from_slice(bytes);
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.program.detach();
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}
