//! The dispatch table as the loader reads it, and its registration.
//!
//! Every object begins with the address of the table. The table is built from the list of entry points (`crate::entries`), whose
//! functions create objects; objects therefore take the address from here, where the library's exported functions put it before
//! they do anything else.

#![allow(unsafe_code, reason = "the table holds addresses of functions and is shared between threads")]

use std::ffi::c_void;
use std::sync::OnceLock;

/// Number of slots in the table, defined by the ICD interface.
pub const SLOTS: usize = 150;

/// The value of slots 0 and 31 that means "ICD 2" (`CL_ICD2_TAG_KHR`): the bytes of `OPENCL31`.
#[cfg(target_pointer_width = "64")]
pub const ICD2_TAG: usize = 0x4F50_454E_434C_3331;
/// The value of slots 0 and 31 that means "ICD 2" (`CL_ICD2_TAG_KHR`): the bytes of `CL31`.
#[cfg(target_pointer_width = "32")]
pub const ICD2_TAG: usize = 0x434C_3331;

/// Slots that hold [`ICD2_TAG`] instead of their functions, which no loader calls.
pub const ICD2_TAG_SLOTS: [usize; 2] = [0, 31];

/// The address of an entry stub, or null.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub *const c_void);

impl Address {
    /// No function.
    pub const NULL: Self = Self(std::ptr::null());
}

// SAFETY: the address of a function or a tag, which is immutable.
unsafe impl Sync for Address {}
// SAFETY: as above.
unsafe impl Send for Address {}

/// The table that every object refers to.
#[repr(C)]
#[derive(Debug)]
pub struct DispatchTable {
    /// The slots in the order of the ICD interface.
    pub slots: [Address; SLOTS],
}

/// The lookup of entry points by their C names.
type Lookup = fn(&[u8]) -> Option<Address>;

static INSTALLED: OnceLock<(&'static DispatchTable, Lookup)> = OnceLock::new();

/// Registers the table for all objects created from now on, and the lookup by name. There is one of each; later calls change
/// nothing.
pub fn install(table: &'static DispatchTable, lookup: Lookup) {
    INSTALLED.get_or_init(|| (table, lookup));
}

/// The table. Applications get their first object from an exported function, so only tests see `None`.
pub(super) fn table() -> Option<&'static DispatchTable> {
    INSTALLED.get().map(|(table, _)| *table)
}

/// Finds an entry point by its C name.
pub fn lookup(name: &[u8]) -> Option<Address> {
    INSTALLED.get().and_then(|(_, lookup)| lookup(name))
}
