//! The memory that a thread provides to kernels: local memory, and scratch memory for private variables and contexts.
//!
//! Every thread has its own arenas, which grow on demand. Their content is undefined between work-groups.

use std::cell::Cell;

use clift_include::abi::ARENA_ALIGN;

use crate::memory::HostBuffer;

/// Arenas up to this size are kept forever; larger ones are freed before the thread sleeps.
const KEPT_BYTES: usize = 32 << 20;

/// Arena sizes are powers of two, from this size on.
const LEAST_BYTES: usize = 4 << 10;

/// A thread's arenas.
#[derive(Default)]
pub(super) struct Arenas {
    local: Option<HostBuffer>,
    scratch: Option<HostBuffer>,
}

thread_local! {
    static ARENAS: Cell<Option<Arenas>> = const { Cell::new(None) };
}

impl Arenas {
    /// The calling thread's arenas, with at least these sizes in bytes; `None` when memory is exhausted. A thread that runs a
    /// kernel inside another kernel's callback gets additional arenas.
    pub(super) fn take(local: usize, scratch: usize) -> Option<Self> {
        let mut arenas = ARENAS.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let enough = grow(&mut arenas.local, local) && grow(&mut arenas.scratch, scratch);
        if !enough {
            arenas.put_back();
            return None;
        }
        Some(arenas)
    }

    /// Address of the local memory.
    pub(super) fn local(&self) -> *mut u8 {
        address(&self.local)
    }

    /// Address of the scratch memory.
    pub(super) fn scratch(&self) -> *mut u8 {
        address(&self.scratch)
    }

    /// Stores them for the thread's next launch.
    pub(super) fn put_back(self) {
        let _ = ARENAS.try_with(|place| place.set(Some(self)));
    }
}

/// Frees large arenas of the calling thread.
pub(crate) fn trim() {
    let Ok(Some(mut arenas)) = ARENAS.try_with(Cell::take) else { return };
    for arena in [&mut arenas.local, &mut arenas.scratch] {
        if arena.as_ref().is_some_and(|arena| arena.len() > KEPT_BYTES) {
            *arena = None;
        }
    }
    arenas.put_back();
}

fn address(arena: &Option<HostBuffer>) -> *mut u8 {
    // An arena of zero bytes has a dangling but aligned address.
    arena.as_ref().map_or(core::ptr::without_provenance_mut(ARENA_ALIGN), HostBuffer::as_ptr)
}

fn grow(arena: &mut Option<HostBuffer>, bytes: usize) -> bool {
    if arena.as_ref().map_or(0, HostBuffer::len) >= bytes {
        return true;
    }
    // The old content is not needed. It is freed first, so that both never exist at the same time.
    *arena = None;
    let size = bytes.checked_next_power_of_two().unwrap_or(bytes).max(LEAST_BYTES);
    *arena = HostBuffer::new(size, ARENA_ALIGN).ok();
    arena.is_some()
}
