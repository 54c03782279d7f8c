//! The ABI of generated code: what `jit` emits, what `runtime` calls.
//!
//! A kernel is entered through a [`GroupRunFn`]: one call executes a *run*, a number of consecutive work-groups along x with
//! the same y and z. Everything that is constant for the launch, the run and the worker is in the [`WgContext`]; the
//! arguments are in the *argument block* (see [`ArgSlot`]). Generated code keeps no state between calls and never
//! allocates: all memory it needs besides the arguments comes from two arenas of the worker, whose sizes follow from the
//! kernel's [`Resources`].
//!
//! `docs/abi.md` explains the whole with a drawing.

use core::ffi::c_void;

/// The entry of a compiled (or interpreted) kernel: runs the work-groups `first_group .. first_group + group_count` along
/// x, at the y and z given by [`WgContext::group_y`] and [`WgContext::group_z`].
///
/// The floating-point environment must be round-to-nearest-even with denormals kept; the runtime sets it per worker.
///
/// # Safety
/// `ctx` points to a context that satisfies its field documentation, `args` to an argument block of the kernel's
/// [`Resources::arg_block_bytes`], aligned to [`ARG_BLOCK_ALIGN`]. Both stay unchanged during the call.
pub type GroupRunFn = unsafe extern "C" fn(ctx: *const WgContext, args: *const u8, first_group: u64, group_count: u64);

/// An entry together with the data it needs: for compiled code `data` is null, for the interpreter it is the kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// The function to call; takes any work-group.
    pub run: GroupRunFn,
    /// A faster one for work-groups made of whole packs. It may be called when, with W the kernel's [`Resources::width`],
    ///
    /// - the size along x of each work-group of the run is a multiple of W, and so is the global offset along x;
    /// - in every dimension global offset plus global size is at most [`PACKED_ID_BOUND`].
    pub packed: Option<GroupRunFn>,
    /// Goes into [`WgContext::entry_data`].
    pub data: *const c_void,
}

// SAFETY-free marker: the data behind `data` is immutable for the life of the program that owns it.
#[allow(unsafe_code, reason = "KernelEntry is a plain pair of pointers to immutable code and data")]
mod entry_is_shared {
    // SAFETY: both pointers lead to immutable memory owned by the program object, which outlives every launch.
    unsafe impl Send for super::KernelEntry {}
    // SAFETY: as above.
    unsafe impl Sync for super::KernelEntry {}
}

/// What a run of work-groups may read about its launch, its place and its worker.
///
/// Generated code addresses the fields by `offset_of!`; none may move without a rebuild of both sides (they are always
/// built together: machine code is never stored).
#[repr(C)]
#[derive(Debug)]
pub struct WgContext {
    /// Dimensions of the NDRange, 1 to 3. Dimensions above are 1 in size, 0 in offset and id.
    pub work_dim: u32,
    /// Explicit padding, zero.
    pub reserved: u32,
    /// Global size per dimension, in work-items.
    pub global_size: [u64; 3],
    /// Global offset per dimension, in work-items.
    pub global_offset: [u64; 3],
    /// *Enqueued* local size per dimension. The last group of a dimension is smaller when the global size is no multiple
    /// of it (non-uniform work-groups): its size is `min(local_size, global_size - group_id * local_size)`.
    pub local_size: [u64; 3],
    /// Number of work-groups per dimension, the smaller last one included.
    pub num_groups: [u64; 3],
    /// Work-group id in y of this run.
    pub group_y: u64,
    /// Work-group id in z of this run.
    pub group_z: u64,
    /// The worker's local-memory arena: [`Resources::local_bytes`] for the kernel's own `__local` variables first, then the
    /// launch's local pointer arguments. Aligned to [`ARENA_ALIGN`]. Content undefined at the start of each group.
    pub local_mem: *mut u8,
    /// Size of the local-memory arena in bytes, for generic-pointer tests (`to_local`).
    pub local_mem_bytes: u64,
    /// The worker's scratch arena, [`Resources::scratch_bytes_for`] bytes, aligned to [`ARENA_ALIGN`]: private variables
    /// that stayed in memory, and values that live across barriers.
    pub scratch: *mut u8,
    /// Size of the scratch arena in bytes, for generic-pointer tests (`to_private`).
    pub scratch_bytes: u64,
    /// Functions generated code may call.
    pub callbacks: *const Callbacks,
    /// The runtime's own state of the launch; opaque to generated code, passed back through the callbacks' `ctx`.
    pub launch: *const c_void,
    /// [`KernelEntry::data`] of the running kernel.
    pub entry_data: *const c_void,
}

/// No work-group has as many work-items.
pub const MAX_LOCAL_SIZE: u64 = 1 << 31;

/// Ids of launches that [`KernelEntry::packed`] takes are below this: they are the same as signed 32-bit numbers.
pub const PACKED_ID_BOUND: u64 = 1 << 31;

/// Alignment of the local and scratch arenas in bytes: a cache line, and the widest OpenCL type (long16/double16).
pub const ARENA_ALIGN: usize = 128;

/// Alignment of the argument block in bytes.
pub const ARG_BLOCK_ALIGN: usize = 128;

/// Functions of the runtime that generated code may call. Each is panic-proof and may be called from any worker.
#[repr(C)]
#[derive(Debug)]
pub struct Callbacks {
    /// `printf`: formats one call's values into the launch's output. Returns 0, or -1 when the output buffer is full or the
    /// format is malformed.
    ///
    /// `format` is a NUL-terminated string; `args` describes `count` values; value `i` lies at `data + args[i].offset`.
    pub printf: unsafe extern "C" fn(
        ctx: *const WgContext,
        format: *const u8,
        args: *const PrintfArg,
        count: u64,
        data: *const u8,
    ) -> i32,
    /// The kernel did something undefined, as the interpreter sees it, or its sub-groups wait for one another in vain: `message` is
    /// UTF-8 of `len` bytes. The launch ends with an error status; the run should return soon after.
    pub fault: unsafe extern "C" fn(ctx: *const WgContext, message: *const u8, len: u64),
    /// The time in nanoseconds, on the clock that profiling uses. It never goes back.
    pub clock: extern "C" fn() -> u64,
}

/// One `printf` value as the generated code stored it. Values are stored little-endian and unpadded: `lanes` elements of
/// `elem_bytes` each.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintfArg {
    /// What the bytes are.
    pub kind: PrintfArgKind,
    /// Bytes per element: 1, 2, 4 or 8.
    pub elem_bytes: u8,
    /// Elements: 1, 2, 3, 4, 8 or 16.
    pub lanes: u8,
    /// Explicit padding, zero.
    pub reserved: u8,
    /// Offset of the first element in the call's data, in bytes; a multiple of 8.
    pub offset: u32,
}

/// The class of a [`PrintfArg`].
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintfArgKind {
    /// Integer; the conversion specifier says whether it is signed.
    Int = 0,
    /// IEEE float of 2, 4 or 8 bytes.
    Float = 1,
    /// Pointer of 8 bytes (`%p`, and `%s`: to a NUL-terminated string).
    Pointer = 2,
}

/// The place of one kernel argument in the argument block, and what has to be stored there.
///
/// | kind | stored |
/// |---|---|
/// | value | its bytes, `size` of them |
/// | global or constant pointer | host address, 8 bytes (null for a NULL buffer) |
/// | local pointer | byte offset from [`WgContext::local_mem`], 8 bytes |
/// | image, sampler, pipe, queue | address of the runtime's descriptor, 8 bytes |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgSlot {
    /// Offset from the start of the block in bytes, a multiple of the value's alignment.
    pub offset: u32,
    /// Bytes stored.
    pub size: u32,
}

/// What one launch of a kernel needs of a worker's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Size of the argument block in bytes.
    pub arg_block_bytes: u32,
    /// `__local` variables of the kernel itself, in bytes; local pointer arguments are placed behind them.
    pub local_bytes: u64,
    /// Scratch memory in bytes whatever the group's size.
    pub scratch_fixed_bytes: u64,
    /// Scratch memory in bytes for each work-item of a group, the work-items of a row (along x) rounded up to a multiple of
    /// `width`.
    pub scratch_item_bytes: u64,
    /// Lanes per pack; a pack is a sub-group. 1 when the kernel is not vectorized.
    pub width: u32,
    /// Whether a launch may have larger groups along x than were asked for: the kernel cannot tell, and passes once over runs
    /// of memory.
    pub groups_may_grow: bool,
}

impl Resources {
    /// Scratch bytes for a group of the given size, or `None` when that overflows.
    pub fn scratch_bytes_for(&self, local_size: [u64; 3]) -> Option<u64> {
        let [x, y, z] = local_size;
        let row = x.checked_next_multiple_of(u64::from(self.width.max(1)))?;
        let items = row.checked_mul(y)?.checked_mul(z)?;
        self.scratch_item_bytes.checked_mul(items)?.checked_add(self.scratch_fixed_bytes)
    }

    /// How many work-groups of a row of groups, from its start, [`KernelEntry::packed`] takes in a launch of these sizes.
    pub fn packed_groups(&self, global_size: [u64; 3], global_offset: [u64; 3], local_size: [u64; 3]) -> u64 {
        let width = u64::from(self.width.max(1));
        let ends = |d: usize| global_size[d].checked_add(global_offset[d]);
        if !(0..3).all(|d| ends(d).is_some_and(|end| end <= PACKED_ID_BOUND))
            || !local_size[0].is_multiple_of(width)
            || !global_offset[0].is_multiple_of(width)
        {
            return 0;
        }
        // The last group may be smaller.
        let whole = global_size[0] / local_size[0].max(1);
        let rest = global_size[0] % local_size[0].max(1);
        whole + u64::from(rest > 0 && rest.is_multiple_of(width))
    }

    /// What serves two entries of one kernel alike.
    #[must_use]
    pub fn max(self, other: Resources) -> Resources {
        Resources {
            arg_block_bytes: self.arg_block_bytes.max(other.arg_block_bytes),
            local_bytes: self.local_bytes.max(other.local_bytes),
            scratch_fixed_bytes: self.scratch_fixed_bytes.max(other.scratch_fixed_bytes),
            scratch_item_bytes: self.scratch_item_bytes.max(other.scratch_item_bytes),
            width: self.width.max(other.width),
            groups_may_grow: self.groups_may_grow && other.groups_may_grow,
        }
    }
}
