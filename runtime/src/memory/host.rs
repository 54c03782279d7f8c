//! Owned memory.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

use super::slice::{MemSlice, OutOfBounds};
use crate::sys;

/// Alignment every allocation has at least: the widest OpenCL type, and two cache lines.
pub const BASE_ALIGN: usize = 128;

/// Sizes from here on are mapped from the system: pages come into being when they are touched, and go back at once.
const MAP_FROM: usize = 1 << 20;

/// Mappings from this size on are aligned for huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// The memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{size} bytes aligned to {align} cannot be allocated")]
pub struct AllocError {
    /// Bytes asked for.
    pub size: usize,
    /// Alignment asked for.
    pub align: usize,
}

/// An owned piece of memory with undefined content.
#[derive(Debug)]
pub struct HostBuffer {
    start: NonNull<u8>,
    len: usize,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Heap(Layout),
    Mapping { base: NonNull<u8>, len: usize },
}

// SAFETY: the buffer is memory, reached by raw pointers only; who writes when is up to the users of the pointers.
unsafe impl Send for HostBuffer {}
// SAFETY: as above.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// `len` bytes at an address that is a multiple of `align` (a power of two) and of [`BASE_ALIGN`]; from 1 MiB on, of a
    /// page. Zero bytes give a valid pointer, too.
    pub fn new(len: usize, align: usize) -> Result<Self, AllocError> {
        let error = AllocError { size: len, align };
        if !align.is_power_of_two() {
            return Err(error);
        }
        let align = align.max(BASE_ALIGN);
        if len >= MAP_FROM { Self::map(len, align).ok_or(error) } else { Self::heap(len, align).ok_or(error) }
    }

    fn heap(len: usize, align: usize) -> Option<Self> {
        // Whole cache lines, so that vector loads of the last elements stay inside.
        let layout = Layout::from_size_align(len.max(1).checked_next_multiple_of(BASE_ALIGN)?, align).ok()?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { start, len, source: Source::Heap(layout) })
    }

    fn map(len: usize, align: usize) -> Option<Self> {
        let align = if len >= 2 * HUGE_PAGE { align.max(HUGE_PAGE) } else { align };
        let page = sys::page_size();
        let whole = len.checked_add(if align > page { align } else { 0 })?.checked_next_multiple_of(page)?;
        // Addresses are signed differences in generated code.
        isize::try_from(whole).ok()?;
        let base = sys::map_anonymous(whole)?;
        let skip = base.as_ptr().align_offset(align);
        // SAFETY: `skip` is less than `align`, by which the mapping is longer than `len` when it is not zero.
        let start = unsafe { base.add(skip) };
        if align >= HUGE_PAGE {
            sys::advise_huge_pages(start, len);
        }
        Some(Self { start, len, source: Source::Mapping { base, len: whole } })
    }

    /// The first byte's address.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it, as a slice that keeps it alive.
    pub fn slice(self: &Arc<Self>) -> MemSlice {
        MemSlice::of_buffer(self.clone())
    }

    /// A part of it, as a slice that keeps it alive.
    pub fn part(self: &Arc<Self>, offset: usize, len: usize) -> Result<MemSlice, OutOfBounds> {
        self.slice().part(offset, len)
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        match self.source {
            // SAFETY: allocated with this layout, and nobody has the buffer any more.
            Source::Heap(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            Source::Mapping { base, len } => sys::unmap(base, len),
        }
    }
}
