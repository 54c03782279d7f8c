//! The ABI of generated code, which `jit` emits and `runtime` calls.
//!
//! A kernel is entered through a [`GroupRunFn`]: one call executes a *run*, a number of consecutive work-groups along x with
//! the same y and z. Everything that is constant for the launch, the run and the worker is in the [`WgContext`]; the
//! arguments are in the *argument block* (see [`ArgSlot`]). Generated code keeps no state between calls and does not
//! allocate memory: besides the arguments it uses two arenas of the worker, whose sizes follow from the kernel's [`Resources`].
//!
//! `docs/abi.md` explains the ABI with a drawing.

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

/// An entry together with its data: null for machine code; for an entry that is a function of the compiler (lazy compilation, the
/// interpreter), it is the kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// The function to call for any work-group.
    pub run: GroupRunFn,
    /// A faster function for work-groups that consist of whole packs. It may be called if, with W the kernel's
    /// [`Resources::width`],
    ///
    /// - the global offset along x is a multiple of W;
    /// - the size along x of each work-group of the run is a multiple of W; or, with [`Resources::packs_of_groups`], the number
    ///   of groups of the run and the id of the first are multiples of W;
    /// - in every dimension global offset plus global size is at most [`PACKED_ID_BOUND`].
    pub packed: Option<GroupRunFn>,
    /// The value of [`WgContext::entry_data`].
    pub data: *const c_void,
}

// SAFETY-free marker: the data behind `data` is immutable for the life of the program that owns it.
#[allow(unsafe_code, reason = "KernelEntry is a plain pair of pointers to immutable code and data")]
mod entry_is_shared {
    // SAFETY: both pointers point to immutable memory owned by the program object, which outlives every launch.
    unsafe impl Send for super::KernelEntry {}
    // SAFETY: as above.
    unsafe impl Sync for super::KernelEntry {}
}

/// The properties of the launch, the run and the worker that generated code can read.
///
/// Generated code addresses the fields by `offset_of!`. Machine code is never stored, so both sides are always built together and
/// the layout may change.
#[repr(C)]
#[derive(Debug)]
pub struct WgContext {
    /// Dimensions of the NDRange, 1 to 3. Higher dimensions have size 1, offset 0 and id 0.
    pub work_dim: u32,
    /// Explicit padding, zero.
    pub reserved: u32,
    /// Global size per dimension, in work-items.
    pub global_size: [u64; 3],
    /// Global offset per dimension, in work-items.
    pub global_offset: [u64; 3],
    /// *Enqueued* local size per dimension. The last group of a dimension is smaller if the global size is not a multiple
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
    /// in memory, and values that are live across barriers.
    pub scratch: *mut u8,
    /// Size of the scratch arena in bytes, for generic-pointer tests (`to_private`).
    pub scratch_bytes: u64,
    /// Functions that generated code may call.
    pub callbacks: *const Callbacks,
    /// The runtime's own state of the launch; opaque to generated code, passed back through the callbacks' `ctx`.
    pub launch: *const c_void,
    /// [`KernelEntry::data`] of the running kernel.
    pub entry_data: *const c_void,
}

/// An exclusive upper bound on the work-items of a work-group.
pub const MAX_LOCAL_SIZE: u64 = 1 << 31;

/// An exclusive upper bound on the ids of launches for [`KernelEntry::packed`]: they are representable as signed 32-bit integers.
pub const PACKED_ID_BOUND: u64 = 1 << 31;

/// Alignment of the local and scratch arenas in bytes: a cache line, and the widest OpenCL type (long16/double16).
pub const ARENA_ALIGN: usize = 128;

/// Alignment of the argument block in bytes.
pub const ARG_BLOCK_ALIGN: usize = 128;

/// Functions of the runtime that generated code may call. They do not panic and may be called from any worker.
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
    /// Reports undefined behaviour that the interpreter detected, or a deadlock of sub-groups: `message` is UTF-8 of `len` bytes.
    /// The launch ends with an error status; the run should return soon after.
    pub fault: unsafe extern "C" fn(ctx: *const WgContext, message: *const u8, len: u64),
    /// A [`Request`](crate::request::Request) of device-side enqueue, by its number: `operands` are `count` words. Each request
    /// states its result.
    pub request: unsafe extern "C" fn(ctx: *const WgContext, number: u32, operands: *const u64, count: u64) -> u64,
    /// The time in nanoseconds, of the monotonic clock that profiling uses.
    pub clock: extern "C" fn() -> u64,
    /// Calls machine code from an entry that is not machine code itself: `run`, with the other arguments. If the code faults,
    /// it is left, the launch ends with an error status, and the result is false; the entry should return soon after.
    pub enter: unsafe extern "C" fn(
        run: GroupRunFn,
        ctx: *const WgContext,
        args: *const u8,
        first_group: u64,
        group_count: u64,
    ) -> bool,
    /// Copies memory that the kernel addresses, for entries that are not machine code. False if the memory cannot be accessed;
    /// the launch goes on.
    pub copy: unsafe extern "C" fn(to: *mut u8, from: *const u8, bytes: u64) -> bool,
    /// Asks about an access of a checked kernel: the number of its site ([`crate::check::Site`]), its offset in the object that
    /// the site names (or its address), its size, and the work-item's global linear id. Returns 0 if the access must not be
    /// performed; it has been reported then.
    pub check: unsafe extern "C" fn(ctx: *const WgContext, site: u64, place: u64, bytes: u64, item: u64) -> i32,
}

/// Implementations of [`Callbacks::enter`] and [`Callbacks::copy`] without protection, for tests that call entries without the
/// runtime: a fault ends the process.
#[allow(unsafe_code, reason = "the callbacks get raw pointers")]
pub mod unprotected {
    use super::{GroupRunFn, WgContext};

    /// [`super::Callbacks::enter`].
    ///
    /// # Safety
    /// As [`GroupRunFn`].
    pub unsafe extern "C" fn enter(
        run: GroupRunFn,
        ctx: *const WgContext,
        args: *const u8,
        first_group: u64,
        group_count: u64,
    ) -> bool {
        // SAFETY: the caller guarantees what the function requires.
        unsafe { run(ctx, args, first_group, group_count) };
        true
    }

    /// [`super::Callbacks::copy`].
    ///
    /// # Safety
    /// Both addresses are valid for `bytes` bytes.
    pub unsafe extern "C" fn copy(to: *mut u8, from: *const u8, bytes: u64) -> bool {
        // SAFETY: by contract; `copy` allows overlap.
        unsafe { core::ptr::copy(from, to, bytes as usize) };
        true
    }
}

/// One `printf` value that generated code has stored. Values are little-endian and unpadded: `lanes` elements of `elem_bytes`
/// each.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintfArg {
    /// The class of the value.
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

/// The place of a kernel argument in the argument block. The stored value depends on the kind of argument:
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

/// The memory that a launch of a kernel needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Size of the argument block in bytes.
    pub arg_block_bytes: u32,
    /// Size of the kernel's own `__local` variables in bytes; local pointer arguments are placed after them.
    pub local_bytes: u64,
    /// Scratch memory in bytes that does not depend on the group's size.
    pub scratch_fixed_bytes: u64,
    /// Scratch memory in bytes for each work-item of a group, the work-items of a row (along x) rounded up to a multiple of
    /// `width`.
    pub scratch_item_bytes: u64,
    /// Lanes per pack; a pack is a sub-group. 1 when the kernel is not vectorized.
    pub width: u32,
    /// How many work-items rows should have: the runtime may coalesce work-groups along x until rows have so many, because the
    /// kernel cannot observe it. 0 if it can, or would not gain.
    pub coalesced_row: u32,
    /// Whether the entries take launches with groups of one work-item only, and make packs of neighbouring groups. A run then
    /// has less than [`MAX_LOCAL_SIZE`] groups.
    pub packs_of_groups: bool,
}

/// Whether the global ids of a launch are below [`PACKED_ID_BOUND`], also those of `idle` lanes beyond the end of a row.
pub fn has_bounded_ids(global_size: [u64; 3], global_offset: [u64; 3], idle: u64) -> bool {
    let end = |d: usize| global_size[d].checked_add(global_offset[d])?.checked_add(if d == 0 { idle } else { 0 });
    (0..3).all(|d| end(d).is_some_and(|end| end <= PACKED_ID_BOUND))
}

impl Resources {
    /// Scratch bytes for a group of the given size; `None` on overflow.
    pub fn scratch_bytes_for(&self, local_size: [u64; 3]) -> Option<u64> {
        let [x, y, z] = local_size;
        let row = x.checked_next_multiple_of(u64::from(self.width.max(1)))?;
        let items = row.checked_mul(y)?.checked_mul(z)?;
        self.scratch_item_bytes.checked_mul(items)?.checked_add(self.scratch_fixed_bytes)
    }

    /// Number of sub-groups of a work-group of the given size; `None` on overflow. Their work-items have consecutive local
    /// linear ids.
    pub fn sub_group_count(&self, local_size: [u64; 3]) -> Option<u64> {
        let [x, y, z] = local_size;
        Some(x.checked_mul(y)?.checked_mul(z)?.div_ceil(self.width.max(1).into()))
    }

    /// Whether sub-groups of a launch go beyond the ends of rows: work-groups have several rows, not all of which are whole
    /// packs.
    pub fn sub_groups_cross_rows(&self, global_size: [u64; 3], local_size: [u64; 3]) -> bool {
        let width = u64::from(self.width.max(1));
        let [x, y, z] = local_size;
        let rest = global_size[0].checked_rem(x).unwrap_or(0);
        y.saturating_mul(z) > 1 && !(x.is_multiple_of(width) && rest.is_multiple_of(width))
    }

    /// The number of work-groups at the start of a row of groups for which [`KernelEntry::packed`] may be called in a launch of
    /// these sizes; with [`Self::packs_of_groups`], for each of whose packs it may be called.
    pub fn packed_groups(&self, global_size: [u64; 3], global_offset: [u64; 3], local_size: [u64; 3]) -> u64 {
        let width = u64::from(self.width.max(1));
        if !has_bounded_ids(global_size, global_offset, 0) {
            return 0;
        }
        if !global_offset[0].is_multiple_of(width) {
            return 0;
        }
        if self.packs_of_groups {
            return global_size[0];
        }
        if !local_size[0].is_multiple_of(width) {
            return 0;
        }
        // The last group may be smaller.
        let whole = global_size[0] / local_size[0].max(1);
        let rest = global_size[0] % local_size[0].max(1);
        whole + u64::from(rest > 0 && rest.is_multiple_of(width))
    }

    /// How many of `groups` consecutive groups one call may take, and whether [`KernelEntry::packed`] may take them. The first
    /// has the id `first` in its row, and `packed` is [`Self::packed_groups`].
    pub fn next_call(&self, first: u64, groups: u64, packed: u64) -> (u64, bool) {
        if first >= packed {
            let most = if self.packs_of_groups { MAX_LOCAL_SIZE - 1 } else { u64::MAX };
            return (groups.min(most), false);
        }
        let groups = groups.min(packed - first);
        if !self.packs_of_groups {
            return (groups, true);
        }
        let width = u64::from(self.width.max(1));
        let to_whole = first.next_multiple_of(width) - first;
        match groups / width * width {
            _ if to_whole > 0 => (groups.min(to_whole), false),
            0 => (groups, false),
            whole => (whole.min(MAX_LOCAL_SIZE - width), true),
        }
    }

    /// Resources that are sufficient for two entries of a kernel.
    #[must_use]
    pub fn max(self, other: Resources) -> Resources {
        Resources {
            arg_block_bytes: self.arg_block_bytes.max(other.arg_block_bytes),
            local_bytes: self.local_bytes.max(other.local_bytes),
            scratch_fixed_bytes: self.scratch_fixed_bytes.max(other.scratch_fixed_bytes),
            scratch_item_bytes: self.scratch_item_bytes.max(other.scratch_item_bytes),
            width: self.width.max(other.width),
            coalesced_row: self.coalesced_row.min(other.coalesced_row),
            packs_of_groups: self.packs_of_groups && other.packs_of_groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PACKED_ID_BOUND, Resources};

    #[test]
    fn calls_take_whole_packs_where_they_can() {
        let rows = Resources { width: 8, ..Resources::default() };
        let packed = rows.packed_groups([100, 1, 1], [0; 3], [16, 1, 1]);
        assert_eq!(packed, 6, "the last group is smaller");
        assert_eq!(rows.next_call(0, 7, packed), (6, true));
        assert_eq!(rows.next_call(6, 1, packed), (1, false));
    }

    #[test]
    fn packs_of_groups_begin_at_multiples_of_their_width() {
        let groups = Resources { width: 8, packs_of_groups: true, ..Resources::default() };
        let packed = groups.packed_groups([100, 2, 1], [16, 0, 0], [1; 3]);
        assert_eq!(groups.next_call(0, 100, packed), (96, true));
        assert_eq!(groups.next_call(3, 97, packed), (5, false), "up to the first whole pack");
        assert_eq!(groups.next_call(96, 4, packed), (4, false), "what remains");
        assert_eq!(groups.next_call(8, 7, packed), (7, false), "less than a pack");
        assert_eq!(groups.packed_groups([100, 1, 1], [3, 0, 0], [1; 3]), 0, "lanes would not begin at multiples");
        assert_eq!(groups.packed_groups([PACKED_ID_BOUND, 1, 1], [8, 0, 0], [1; 3]), 0, "large ids");
        assert!(groups.next_call(0, u64::MAX, 0).0 < u64::MAX);
    }
}
