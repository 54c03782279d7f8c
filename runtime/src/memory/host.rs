//! Owned memory.

use std::alloc::{Layout, alloc, dealloc};
use std::os::fd::{OwnedFd, RawFd};
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

/// An owned piece of memory, of zeros at first.
///
/// OpenCL leaves the content undefined. Programs exist that count on zeros all the same (FFmpeg's `tonemap_opencl` takes an index from
/// a buffer that nobody wrote), since memory fresh from the system is zero; and what another program's buffer held is nobody's business.
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
    File { file: OwnedFd },
}

/// Why memory of somebody else cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The number is not that of a file with memory.
    #[error("no file descriptor of memory")]
    NoMemory,
    /// It has fewer bytes than wanted.
    #[error("the file is too small")]
    TooSmall,
    /// The system refuses to map it.
    #[error("the file cannot be mapped")]
    Unmappable,
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

    /// The first `len` bytes of the memory that a file descriptor stands for, shared with all others who use it. The buffer owns
    /// the descriptor from then on; after an error it is still the application's.
    pub fn import(file: RawFd, len: usize) -> Result<Self, ImportError> {
        let size = sys::file_size(file).ok_or(ImportError::NoMemory)?;
        if size < len {
            return Err(ImportError::TooSmall);
        }
        isize::try_from(len).map_err(|_| ImportError::TooSmall)?;
        let start = sys::map_file(file, len).ok_or(ImportError::Unmappable)?;
        Ok(Self { start, len, source: Source::File { file: sys::own_file(file) } })
    }

    /// Begins or ends the use of memory that other devices use as well. Nothing has to be done for other memory.
    pub fn sync_shared(&self, begin: bool) {
        if let Source::File { file } = &self.source {
            sys::sync_dma_buf(file, begin);
        }
    }

    fn heap(len: usize, align: usize) -> Option<Self> {
        // Whole cache lines, so that vector loads of the last elements stay inside.
        let layout = Layout::from_size_align(len.max(1).checked_next_multiple_of(BASE_ALIGN)?, align).ok()?;
        // SAFETY: the size is not zero.
        let start = spare::take(layout).or_else(|| NonNull::new(unsafe { alloc(layout) }))?;
        // SAFETY: the block has that size, and is nobody else's.
        unsafe { start.write_bytes(0, layout.size()) };
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

    /// All of it, as a slice that owns it.
    pub fn into_slice(self) -> MemSlice {
        MemSlice::of_buffer(Arc::new(self))
    }

    /// A part of it, as a slice that keeps it alive.
    pub fn part(self: &Arc<Self>, offset: usize, len: usize) -> Result<MemSlice, OutOfBounds> {
        self.slice().part(offset, len)
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        match self.source {
            Source::Heap(layout) => {
                if let Some((layout, start)) = spare::give(layout, self.start) {
                    // SAFETY: allocated with this layout, and nobody has the buffer any more.
                    unsafe { dealloc(start.as_ptr(), layout) }
                }
            }
            Source::Mapping { base, len } => sys::unmap(base, len),
            Source::File { .. } => sys::unmap(self.start, self.len),
        }
    }
}

/// Small blocks that were given back, for the next buffers of their size: programs make and drop buffers of the same few sizes,
/// and aligned blocks of some KiB cost the C library more than all else in making a buffer.
mod spare {
    use std::alloc::Layout;
    use std::cell::UnsafeCell;
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Blocks kept, at most.
    const COUNT: usize = 16;
    /// Bytes of a block, at most.
    const MAX_BYTES: usize = 64 << 10;

    type Block = (Layout, NonNull<u8>);

    /// The blocks, the latest last, and the one that goes next when there are too many.
    struct Blocks {
        kept: [Option<Block>; COUNT],
        len: usize,
        oldest: usize,
    }

    impl Blocks {
        fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
            let found = self.kept[..self.len].iter().rposition(|kept| kept.is_some_and(|(of, _)| of == layout))?;
            self.len -= 1;
            self.kept.swap(found, self.len);
            self.kept[self.len].take().map(|(_, start)| start)
        }

        fn give(&mut self, block: Block) -> Option<Block> {
            if self.len < COUNT {
                self.kept[self.len] = Some(block);
                self.len += 1;
                return None;
            }
            let oldest = self.oldest;
            self.oldest = (oldest + 1) % COUNT;
            self.kept[oldest].replace(block)
        }
    }

    struct Shared {
        busy: AtomicBool,
        blocks: UnsafeCell<Blocks>,
    }

    // SAFETY: `blocks` is reached only by whoever set `busy`; blocks are memory that nobody uses.
    unsafe impl Sync for Shared {}

    static SHARED: Shared = Shared {
        busy: AtomicBool::new(false),
        blocks: UnsafeCell::new(Blocks { kept: [None; COUNT], len: 0, oldest: 0 }),
    };

    /// Does something with the blocks unless another thread is at them: nobody waits here.
    fn with<R>(act: impl FnOnce(&mut Blocks) -> R) -> Option<R> {
        if SHARED.busy.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: no other thread has found `busy` unset since, and `act` does not come here again.
        let result = act(unsafe { &mut *SHARED.blocks.get() });
        SHARED.busy.store(false, Ordering::Release);
        Some(result)
    }

    /// A block of exactly this layout, if there is one.
    pub(super) fn take(layout: Layout) -> Option<NonNull<u8>> {
        if layout.size() > MAX_BYTES { None } else { with(|blocks| blocks.take(layout))? }
    }

    /// Keeps a block; gives the one to free.
    pub(super) fn give(layout: Layout, start: NonNull<u8>) -> Option<Block> {
        let block = (layout, start);
        if layout.size() > MAX_BYTES {
            return Some(block);
        }
        with(|blocks| blocks.give(block)).unwrap_or(Some(block))
    }
}
