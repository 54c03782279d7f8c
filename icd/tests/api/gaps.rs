//! The entry points that are not implemented, each with the error it returns, and a check of the whole table.
//!
//! An entry point that gets implemented has to be removed from [`GAPS`].

use std::ffi::c_void;
use std::ptr::null_mut;

use clift::entries::generate::{Entry, EntryKind, TABLE, gaps, lookup};
use clift::entries::list::ENTRIES;
use clift::ffi::dispatch::{ICD2_TAG, ICD2_TAG_SLOTS, SLOTS};

use super::cl::*;

/// Slots of Direct3D 10, Direct3D 11 and DX9.
const WINDOWS_ONLY: [std::ops::RangeInclusive<usize>; 2] = [75..=80, 109..=118];

/// Every gap with its error, in the order of the slots.
const GAPS: &[(&str, cl_int)] = &[
    ("clCreateFromGLBuffer", CL_INVALID_OPERATION),
    ("clCreateFromGLTexture2D", CL_INVALID_OPERATION),
    ("clCreateFromGLTexture3D", CL_INVALID_OPERATION),
    ("clCreateFromGLRenderbuffer", CL_INVALID_OPERATION),
    ("clGetGLObjectInfo", CL_INVALID_OPERATION),
    ("clGetGLTextureInfo", CL_INVALID_OPERATION),
    ("clEnqueueAcquireGLObjects", CL_INVALID_OPERATION),
    ("clEnqueueReleaseGLObjects", CL_INVALID_OPERATION),
    ("clGetGLContextInfoKHR", CL_INVALID_OPERATION),
    ("clCreateSubDevicesEXT", CL_INVALID_OPERATION),
    ("clCreateEventFromGLsyncKHR", CL_INVALID_OPERATION),
    ("clCreateFromGLTexture", CL_INVALID_OPERATION),
    ("clCreateFromEGLImageKHR", CL_INVALID_OPERATION),
    ("clEnqueueAcquireEGLObjectsKHR", CL_INVALID_OPERATION),
    ("clEnqueueReleaseEGLObjectsKHR", CL_INVALID_OPERATION),
    ("clCreateEventFromEGLSyncKHR", CL_INVALID_OPERATION),
];

#[test]
fn gaps_are_exactly_these() {
    let found: Vec<(&str, cl_int)> = gaps().map(|(name, error)| (name, error.code())).collect();
    assert_eq!(found, GAPS);
}

/// Most arguments that a function in the list has, with those that its kind adds.
const MAX_ARGS: usize = 16;

/// Calls an entry point with these arguments, as many of them as it has, and returns what it left in the register of the
/// result. On the platforms supported, C functions may be called with more arguments than they have, and integers and
/// pointers are passed alike.
fn call(entry: &Entry, args: [usize; MAX_ARGS]) -> usize {
    type Any = unsafe extern "C" fn(
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
    ) -> usize;
    // SAFETY: the address of a function; for its signature see above.
    let function: Any = unsafe { std::mem::transmute::<*const c_void, Any>(entry.address.0) };
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = args;
    // SAFETY: null and zero are allowed, or refused by a check; the only other argument is a place for the error code.
    unsafe { function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
}

/// The status that an entry point returns or stores when all arguments are zero or NULL; 0 where there is none.
fn call_with_nothing(entry: &Entry) -> cl_int {
    let mut error: cl_int = 1;
    let place = (&raw mut error).expose_provenance();
    let mut args = [0; MAX_ARGS];
    match entry.kind {
        EntryKind::Status | EntryKind::Info | EntryKind::Enqueue | EntryKind::Command => {
            return call(entry, args) as cl_int;
        }
        EntryKind::Object => args[entry.args] = place,
        // The wait list and the event come before the error code.
        EntryKind::EnqueueObject => args[entry.args + 3] = place,
        EntryKind::Pointer => {
            assert_eq!(call(entry, args), 0, "{}", entry.name);
            return 0;
        }
        EntryKind::Nothing => {
            call(entry, args);
            return 0;
        }
    }
    assert_eq!(call(entry, args), 0, "{}: an object", entry.name);
    error
}

#[test]
fn gaps_return_their_errors() {
    for (name, error) in GAPS {
        let entry = ENTRIES.iter().find(|entry| entry.name == *name).unwrap();
        let expected = if matches!(entry.kind, EntryKind::Pointer | EntryKind::Nothing) { 0 } else { *error };
        assert_eq!(call_with_nothing(entry), expected, "{name}");
        // Without a place for the error code, too.
        call(entry, [0; MAX_ARGS]);
    }
}

/// Every function rejects NULL for all arguments, except the few for which that is a valid call.
#[test]
fn null_arguments_are_rejected() {
    for entry in ENTRIES {
        let has_status = !matches!(entry.kind, EntryKind::Pointer | EntryKind::Nothing);
        let status = call_with_nothing(entry);
        assert_eq!(status != 0, has_status && entry.name != "clUnloadCompiler", "{}: {status}", entry.name);
    }
}

#[test]
fn every_slot() {
    for (index, address) in TABLE.slots.iter().enumerate() {
        let entry = ENTRIES.iter().find(|entry| entry.slot == Some(index));
        let windows = WINDOWS_ONLY.iter().any(|range| range.contains(&index));
        assert_eq!(entry.is_none(), windows, "slot {index}");
        let expected = match entry {
            None => null_mut::<c_void>().cast_const(),
            Some(_) if ICD2_TAG_SLOTS.contains(&index) => std::ptr::without_provenance(ICD2_TAG),
            Some(entry) => entry.address.0,
        };
        assert_eq!(address.0, expected, "slot {index}");
    }
    assert_eq!(ENTRIES.iter().filter(|entry| entry.slot.is_some()).count(), SLOTS - 16);
    for (index, entry) in ENTRIES.iter().enumerate() {
        assert!(!entry.address.0.is_null());
        assert_eq!(lookup(entry.name.as_bytes()), Some(entry.address));
        assert!(ENTRIES[..index].iter().all(|other| other.name != entry.name), "{} twice", entry.name);
    }
}
