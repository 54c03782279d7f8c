//! The JIT interface of gdb, which LLDB has, too: a list of ELF files in memory, and a function with a breakpoint of the
//! debugger, which is called after each change of the list.

#![allow(non_upper_case_globals, reason = "the name that debuggers know")]
#![allow(unsafe_code, reason = "debuggers define the interface: a list with raw pointers, under fixed names")]

use std::cell::UnsafeCell;
use std::ptr;

use crate::codegen::process_lock::ProcessLock;

/// An element of the list.
#[repr(C)]
#[derive(Debug)]
struct Entry {
    next: *mut Entry,
    previous: *mut Entry,
    image: *const u8,
    image_bytes: u64,
}

/// What has just happened to the list.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
enum Action {
    None,
    Register,
    Unregister,
}

/// The list.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Descriptor {
    version: u32,
    action: Action,
    relevant: *mut Entry,
    first: *mut Entry,
}

/// The list in a variable that the debugger reads.
#[repr(transparent)]
#[derive(Debug)]
pub(super) struct Shared(UnsafeCell<Descriptor>);

// SAFETY: this process accesses it only with `LOCK`.
unsafe impl Sync for Shared {}

// SAFETY: no other code of this library has this name, and other libraries use it for the same variable.
#[unsafe(no_mangle)]
pub(super) static __jit_debug_descriptor: Shared = Shared(UnsafeCell::new(Descriptor {
    version: 1,
    action: Action::None,
    relevant: ptr::null_mut(),
    first: ptr::null_mut(),
}));

pub(super) static LOCK: ProcessLock<()> = ProcessLock::new(());

/// Where the debugger has its breakpoint.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[inline(never)]
pub(super) extern "C" fn __jit_debug_register_code() {
    std::hint::black_box(&__jit_debug_descriptor);
}

/// A file that the debugger knows, until it is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    entry: *mut Entry,
    _image: Vec<u8>,
}

// SAFETY: the entry is accessed only with `LOCK`.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    /// Adds a file to the list.
    pub(super) fn new(image: Vec<u8>) -> Registration {
        let _lock = LOCK.lock();
        let list = __jit_debug_descriptor.0.get();
        // SAFETY: the lock is held; all entries in the list exist.
        unsafe {
            let next = (*list).first;
            let image_bytes = image.len() as u64;
            let entry = Entry { next, previous: ptr::null_mut(), image: image.as_ptr(), image_bytes };
            let entry = Box::into_raw(Box::new(entry));
            if let Some(next) = next.as_mut() {
                next.previous = entry;
            }
            (*list).first = entry;
            notify(list, Action::Register, entry);
            Registration { entry, _image: image }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _lock = LOCK.lock();
        let list = __jit_debug_descriptor.0.get();
        // SAFETY: the lock is held; all entries in the list exist, and this one is removed once.
        unsafe {
            let Entry { next, previous, .. } = *self.entry;
            match previous.as_mut() {
                Some(previous) => previous.next = next,
                None => (*list).first = next,
            }
            if let Some(next) = next.as_mut() {
                next.previous = previous;
            }
            notify(list, Action::Unregister, self.entry);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Tells the debugger what has happened to an entry.
///
/// # Safety
/// The lock is held.
unsafe fn notify(list: *mut Descriptor, action: Action, entry: *mut Entry) {
    // SAFETY: by contract.
    unsafe {
        ((*list).relevant, (*list).action) = (entry, action);
        __jit_debug_register_code();
        ((*list).relevant, (*list).action) = (ptr::null_mut(), Action::None);
    }
}
