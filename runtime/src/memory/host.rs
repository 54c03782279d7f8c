//! Owned memory.

use std::alloc::{Layout, alloc, dealloc};
use std::os::fd::{OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;

use super::free_list;
use super::mappings::{self, Mapping};
use super::slice::{MemSlice, OutOfBounds};
use crate::sys;
use crate::trace::Counter;

/// Minimum alignment of every allocation: the largest OpenCL type, and two cache lines.
pub const BASE_ALIGN: usize = 128;

/// Minimum size of allocations that are mapped from the operating system, which allocates pages when they are first accessed.
const MAP_FROM: usize = 1 << 20;

/// Bytes before and after mapped memory that may be accessed, too. Kernels for GPUs read the neighbours of the first and the last
/// elements, also in the rows and planes next to these, before they find out that there are none; nothing traps there. This is
/// a plane of 512 x 512 words. It costs addresses, and memory only where it is written.
const MARGIN: usize = 1 << 20;

/// The same for smaller memory, before and after: the element before the first one, and a word for each work-item of a group of
/// 256 of which only the first one has an element.
const SMALL_MARGINS: [usize; 2] = [BASE_ALIGN, 1 << 10];
/// The same from [`MEDIUM_FROM`] on: a row of 4096 words.
const MEDIUM_MARGINS: [usize; 2] = [16 << 10; 2];
const MEDIUM_FROM: usize = 32 << 10;

/// Size of all allocations, for traces.
static ALLOCATED: Counter = Counter::new("allocated bytes");

/// Minimum size of mappings that are aligned for huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// The memory cannot be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{size} bytes aligned to {align} cannot be allocated")]
pub struct AllocError {
    /// Requested size in bytes.
    pub size: usize,
    /// Requested alignment.
    pub align: usize,
}

/// An owned piece of memory, initialized with zeros.
///
/// OpenCL leaves the initial content undefined. But there are programs that rely on zeros (FFmpeg's `tonemap_opencl` reads an
/// index from a buffer that was never written), because memory fresh from the operating system is zero. Moreover, the content of
/// a freed buffer must not leak.
#[derive(Debug)]
pub struct HostBuffer {
    start: NonNull<u8>,
    len: usize,
    source: Backing,
}

/// What new memory has to contain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Zeros,
    /// Anything: it will be overwritten.
    Overwritten,
}

#[derive(Debug)]
enum Backing {
    Heap { base: NonNull<u8>, layout: Layout },
    Mapping(Mapping),
    File { file: OwnedFd },
}

/// Why external memory cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The number is not a file descriptor of mappable memory.
    #[error("not a file descriptor of mappable memory")]
    NoMemory,
    /// The file is smaller than the requested size.
    #[error("the file is too small")]
    TooSmall,
    /// The operating system cannot map the file.
    #[error("the file cannot be mapped")]
    Unmappable,
}

// SAFETY: the memory is only accessed through raw pointers; synchronization is up to the users of the pointers.
unsafe impl Send for HostBuffer {}
// SAFETY: as above.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// Allocates `len` bytes at an address that is a multiple of `align` (a power of two) and of [`BASE_ALIGN`]; from 1 MiB on,
    /// of the page size. A size of zero gives a valid pointer, too.
    pub fn new(len: usize, align: usize) -> Result<Self, AllocError> {
        Self::with(len, align, Content::Zeros)
    }

    /// The same for memory that the caller overwrites, all of it, before anything else can see it.
    pub fn overwritten(len: usize, align: usize) -> Result<Self, AllocError> {
        Self::with(len, align, Content::Overwritten)
    }

    fn with(len: usize, align: usize, content: Content) -> Result<Self, AllocError> {
        let error = AllocError { size: len, align };
        if !align.is_power_of_two() {
            return Err(error);
        }
        let align = align.max(BASE_ALIGN);
        let made = if len >= MAP_FROM { Self::map(len, align, content) } else { Self::heap(len, align) };
        made.inspect(|_| ALLOCATED.add(len)).ok_or(error)
    }

    /// Maps the first `len` bytes of a file descriptor's memory, shared with its other users. On success the buffer owns the
    /// descriptor; on an error it still belongs to the application.
    pub fn import(file: RawFd, len: usize) -> Result<Self, ImportError> {
        let size = sys::file_size(file).ok_or(ImportError::NoMemory)?;
        if size < len {
            return Err(ImportError::TooSmall);
        }
        isize::try_from(len).map_err(|_| ImportError::TooSmall)?;
        let start = sys::map_file(file, len).ok_or(ImportError::Unmappable)?;
        Ok(Self { start, len, source: Backing::File { file: sys::own_file(file) } })
    }

    /// Begins or ends an access to memory that is shared with other devices. No effect on other memory.
    pub fn sync_shared(&self, begin: bool) {
        if let Backing::File { file } = &self.source {
            sys::sync_dma_buf(file, begin);
        }
    }

    fn heap(len: usize, align: usize) -> Option<Self> {
        let [before, after] = if len >= MEDIUM_FROM { MEDIUM_MARGINS } else { SMALL_MARGINS };
        let before = before.checked_next_multiple_of(align)?;
        let size = len.checked_add(before + after)?.checked_next_multiple_of(BASE_ALIGN)?;
        let layout = Layout::from_size_align(size, align).ok()?;
        // SAFETY: the size is not zero.
        let base = free_list::take(layout).or_else(|| NonNull::new(unsafe { alloc(layout) }))?;
        // SAFETY: the block has this size and is not shared.
        unsafe { base.write_bytes(0, layout.size()) };
        // SAFETY: the block is longer than its margins.
        Some(Self { start: unsafe { base.add(before) }, len, source: Backing::Heap { base, layout } })
    }

    fn map(len: usize, align: usize, content: Content) -> Option<Self> {
        let align = if len >= 2 * HUGE_PAGE { align.max(HUGE_PAGE) } else { align };
        let page = sys::page_size();
        let margins = 2 * MARGIN + if align > page { align } else { 0 };
        let whole = len.checked_add(margins)?.checked_next_multiple_of(page)?;
        // Generated code computes signed differences of addresses.
        isize::try_from(whole).ok()?;
        let kept = mappings::take(whole, align);
        let base = match &kept {
            Some(kept) => kept.base,
            None => sys::map_anonymous(whole)?,
        };
        // SAFETY: the mapping is longer than a margin.
        let after_margin = unsafe { base.add(MARGIN) };
        let skip = after_margin.as_ptr().align_offset(align);
        // SAFETY: `skip` is less than `align`, and the mapping is `align` bytes longer than `len` and the margins when it is
        // not zero.
        let start = unsafe { after_margin.add(skip) };
        let mapping = match kept {
            Some(kept) => {
                let first = if content == Content::Zeros { 0 } else { len.min(kept.used) };
                // SAFETY: the buffer that was there before had so many bytes, from the same address on.
                unsafe { start.add(first).write_bytes(0, kept.used - first) };
                Mapping { used: len, ..kept }
            }
            None => Mapping { base, whole, align, used: len },
        };
        if align >= HUGE_PAGE {
            sys::advise_huge_pages(start, len);
        }
        Some(Self { start, len, source: Backing::Mapping(mapping) })
    }

    /// Whether it is the memory of a file, which others may access.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.source, Backing::File { .. })
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

    /// The whole buffer, as a slice that keeps it alive.
    pub fn slice(self: &Arc<Self>) -> MemSlice {
        MemSlice::of_buffer(self.clone())
    }

    /// The whole buffer, as a slice that owns it.
    pub fn into_slice(self) -> MemSlice {
        MemSlice::of_buffer(Arc::new(self))
    }

    /// A part of the buffer, as a slice that keeps it alive.
    pub fn part(self: &Arc<Self>, offset: usize, len: usize) -> Result<MemSlice, OutOfBounds> {
        self.slice().part(offset, len)
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        if !matches!(self.source, Backing::File { .. }) {
            ALLOCATED.subtract(self.len);
        }
        match self.source {
            Backing::Heap { base, layout } => {
                if let Some((layout, start)) = free_list::give(layout, base) {
                    // SAFETY: it was allocated with this layout, and the buffer has no users any more.
                    unsafe { dealloc(start.as_ptr(), layout) }
                }
            }
            Backing::Mapping(mapping) => mappings::give(mapping),
            Backing::File { .. } => sys::unmap(self.start, self.len),
        }
    }
}
