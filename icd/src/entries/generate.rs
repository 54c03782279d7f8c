//! Generates everything that depends on the list of entry points ([`super::list`]): the C stubs, the dispatch table of 150
//! slots, the lookup by name, and the list of unimplemented functions.
//!
//! A row of the list is
//!
//! ```text
//! [slot] clName(arg: Type, ...) -> kind = module::function;
//! ```
//!
//! where the types are those of [`crate::ffi`] (transparent wrappers of what C passes), and the kind determines the arguments
//! that the C function has in addition to the listed ones:
//!
//! | kind | C function | Rust function |
//! |---|---|---|
//! | `status` | returns `cl_int` | `fn(args) -> ClResult<()>` |
//! | `info` | adds `param_value_size`, `param_value`, `param_value_size_ret`, returns `cl_int` | `fn(args, Info) -> ClResult<Written>` |
//! | `object` | adds `errcode_ret`, returns a pointer | `fn(args) -> ClResult<impl Returned>` |
//! | `enqueue` | adds the wait list and `event`, returns `cl_int` | `fn(args, Wait) -> ClResult<()>` |
//! | `enqueue_object` | adds the wait list, `event` and `errcode_ret`, returns a pointer | `fn(args, Wait) -> ClResult<impl Returned>` |
//! | `command` | adds the arguments of [`Recording`](crate::api::recording::Recording) before and after, returns `cl_int` | `fn(args, Recording) -> ClResult<()>` |
//! | `pointer` | returns a pointer, NULL on error | `fn(args) -> ClResult<impl Returned>` |
//! | `nothing` | returns nothing | `fn(args) -> ClResult<()>` |
//!
//! The Rust function is a path in `crate::api`. An entry point that is not implemented has `gap::Error` instead: it returns that
//! error for all arguments and is listed in [`gaps`]. Rows without a slot are functions that are found by name only.

use super::list::ENTRIES;
use crate::error::ClError;
use crate::ffi::dispatch::{self, Address, DispatchTable, ICD2_TAG, ICD2_TAG_SLOTS, SLOTS};

/// The form of an entry point's C function; see the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Returns its error code.
    Status,
    /// An info query.
    Info,
    /// Returns an object and stores its error code.
    Object,
    /// Enqueues a command.
    Enqueue,
    /// Enqueues a command, returns a pointer and stores its error code.
    EnqueueObject,
    /// Records a command into a command buffer.
    Command,
    /// Returns a pointer only.
    Pointer,
    /// Returns nothing.
    Nothing,
}

/// One row of the list.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Index in the table; `None` for functions that are found by name only.
    pub slot: Option<usize>,
    /// The C name.
    pub name: &'static str,
    /// The stub.
    pub address: Address,
    /// The form of the C function.
    pub kind: EntryKind,
    /// Number of listed arguments.
    pub args: usize,
    /// The error that it always returns, if it is not implemented.
    pub gap: Option<ClError>,
}

const fn build_table() -> DispatchTable {
    let mut slots = [Address::NULL; SLOTS];
    let mut row = 0;
    while row < ENTRIES.len() {
        if let Some(slot) = ENTRIES[row].slot {
            slots[slot] = ENTRIES[row].address;
        }
        row += 1;
    }
    let mut tag = 0;
    while tag < ICD2_TAG_SLOTS.len() {
        slots[ICD2_TAG_SLOTS[tag]] = Address(std::ptr::without_provenance(ICD2_TAG));
        tag += 1;
    }
    DispatchTable { slots }
}

/// The table. The slots of Direct3D and DX9 functions, which exist only on Windows, are null.
pub static TABLE: DispatchTable = build_table();

/// Registers the table and the lookup by name for all objects and calls to come.
pub fn install() {
    dispatch::install(&TABLE, lookup);
}

/// Finds an entry point by its C name.
pub fn lookup(name: &[u8]) -> Option<Address> {
    ENTRIES.iter().find(|entry| entry.name.as_bytes() == name).map(|entry| entry.address)
}

/// The entry points that are not implemented, with the error they return.
pub fn gaps() -> impl Iterator<Item = (&'static str, ClError)> {
    ENTRIES.iter().filter_map(|entry| Some((entry.name, entry.gap?)))
}

/// Calls the Rust function of a row, or returns the error of a gap.
macro_rules! run {
    (object gap::$error:ident $args:tt) => {
        Err::<$crate::ffi::entry::Never, _>($crate::error::ClError::$error)
    };
    (status gap::$error:ident $args:tt) => {
        Err($crate::error::ClError::$error)
    };
    ($kind:ident $($path:ident)::+ ($($arg:expr),* $(,)?)) => {
        $crate::api::$($path)::+($($arg),*)
    };
}
pub(super) use run;

/// The error of a row that is a gap.
macro_rules! gap_of {
    (gap::$error:ident) => {
        Some($crate::error::ClError::$error)
    };
    ($($path:ident)::+) => {
        None
    };
}
pub(super) use gap_of;

/// The C stub of one row.
macro_rules! stub {
    (status $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name($($arg: $ty),*) -> cl_int {
            entry::status(stringify!($name), trace_args!($($arg)*), || run!(status $($path)::+ ($($arg),*)))
        }
    };
    (nothing $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name($($arg: $ty),*) {
            entry::status(stringify!($name), trace_args!($($arg)*), || run!(status $($path)::+ ($($arg),*)));
        }
    };
    (info $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name($($arg: $ty,)* size: usize, value: *mut c_void, size_ret: *mut usize) -> cl_int {
            entry::info(stringify!($name), trace_args!($($arg)*), (size, value, size_ret), |_info| {
                run!(status $($path)::+ ($($arg,)* _info))
            })
        }
    };
    (object $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name($($arg: $ty,)* errcode_ret: ErrorCode<'_>) -> *mut c_void {
            entry::object(stringify!($name), trace_args!($($arg)*), errcode_ret, || {
                run!(object $($path)::+ ($($arg),*))
            })
        }
    };
    (enqueue $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name(
            $($arg: $ty,)*
            num_events: cl_uint,
            event_wait_list: InArray<'_, Handle<Event>>,
            event: Out<'_, Handle<Event>>,
        ) -> cl_int {
            let _wait = Wait { count: num_events, list: event_wait_list, event };
            entry::status(stringify!($name), trace_args!($($arg)* num_events event_wait_list event), || {
                run!(status $($path)::+ ($($arg,)* _wait))
            })
        }
    };
    (enqueue_object $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name(
            $($arg: $ty,)*
            num_events: cl_uint,
            event_wait_list: InArray<'_, Handle<Event>>,
            event: Out<'_, Handle<Event>>,
            errcode_ret: ErrorCode<'_>,
        ) -> *mut c_void {
            let _wait = Wait { count: num_events, list: event_wait_list, event };
            entry::object(stringify!($name), trace_args!($($arg)* num_events event_wait_list event), errcode_ret, || {
                run!(object $($path)::+ ($($arg,)* _wait))
            })
        }
    };
    (command $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name(
            buffer: Handle<CommandBuffer>,
            queue: Handle<Queue>,
            properties: Properties<'_, cl_command_properties_khr>,
            $($arg: $ty,)*
            count: cl_uint,
            list: InArray<'_, cl_sync_point_khr>,
            point: Out<'_, cl_sync_point_khr>,
            handle: Out<'_, Handle<MutableCommand>>,
        ) -> cl_int {
            let recording = Recording { buffer, queue, properties, count, list, point, handle };
            let args = trace_args!(buffer queue properties $($arg)* count list point handle);
            entry::status(stringify!($name), args, || run!(status $($path)::+ ($($arg,)* recording)))
        }
    };
    (pointer $name:ident ($($arg:ident: $ty:ty),*) $($path:ident)::+) => {
        unsafe extern "C" fn $name($($arg: $ty),*) -> *mut c_void {
            entry::pointer(stringify!($name), trace_args!($($arg)*), || run!(object $($path)::+ ($($arg),*)))
        }
    };
}
pub(super) use stub;

/// The arguments of a call for the trace, formatted only if the trace is enabled.
macro_rules! trace_args {
    ($($arg:ident)*) => {
        format_args!(concat!("" $(, " ", stringify!($arg), "={:#x?}")*), $($arg),*)
    };
}
pub(super) use trace_args;

/// The [`EntryKind`] that a row's keyword names.
macro_rules! kind {
    (status) => {
        EntryKind::Status
    };
    (info) => {
        EntryKind::Info
    };
    (object) => {
        EntryKind::Object
    };
    (enqueue) => {
        EntryKind::Enqueue
    };
    (enqueue_object) => {
        EntryKind::EnqueueObject
    };
    (command) => {
        EntryKind::Command
    };
    (pointer) => {
        EntryKind::Pointer
    };
    (nothing) => {
        EntryKind::Nothing
    };
}
pub(super) use kind;

/// Generates the stubs (private functions named as in C) and [`ENTRIES`] from the list.
macro_rules! entry_points {
    (
        slots { $([$slot:literal] $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $kind:ident = $($path:ident)::+;)* }
        by_name { $($extra:ident($($extra_arg:ident: $extra_ty:ty),* $(,)?) -> $extra_kind:ident = $($extra_path:ident)::+;)* }
    ) => {
        $(stub!($kind $name ($($arg: $ty),*) $($path)::+);)*
        $(stub!($extra_kind $extra ($($extra_arg: $extra_ty),*) $($extra_path)::+);)*

        /// Every entry point: first those with a slot, in the order of their slots.
        pub const ENTRIES: &[Entry] = &[
            $(Entry {
                slot: Some($slot),
                name: stringify!($name),
                address: Address($name as *const c_void),
                kind: kind!($kind),
                args: { const ARGS: &[&str] = &[$(stringify!($arg)),*]; ARGS.len() },
                gap: gap_of!($($path)::+),
            },)*
            $(Entry {
                slot: None,
                name: stringify!($extra),
                address: Address($extra as *const c_void),
                kind: kind!($extra_kind),
                args: { const ARGS: &[&str] = &[$(stringify!($extra_arg)),*]; ARGS.len() },
                gap: gap_of!($($extra_path)::+),
            },)*
        ];
    };
}
pub(super) use entry_points;
