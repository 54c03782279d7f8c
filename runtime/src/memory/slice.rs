//! References to parts of memory, and operations on them.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::host::HostBuffer;
use super::rect::{RectCopy, RectLayout};
use crate::fault::access::{self, Inaccessible};

/// A range is outside of its memory, or two ranges differ in size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range exceeds its memory")]
pub struct OutOfBounds;

/// Why memory cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// See [`OutOfBounds`].
    #[error("the range exceeds its memory")]
    OutOfBounds,
    /// The application's memory is not accessible.
    #[error("a command on memory: {0}")]
    Inaccessible(String),
}

impl From<OutOfBounds> for MemoryError {
    fn from(_: OutOfBounds) -> Self {
        Self::OutOfBounds
    }
}

impl From<Inaccessible> for MemoryError {
    fn from(error: Inaccessible) -> Self {
        Self::Inaccessible(error.to_string())
    }
}

/// A part of memory that stays valid: by a reference count for a [`HostBuffer`], by the application's guarantee for its own
/// memory.
#[derive(Clone, Debug)]
pub struct MemSlice {
    start: NonNull<u8>,
    len: usize,
    owner: Option<Arc<HostBuffer>>,
}

// SAFETY: the slice is an address, a length and a reference count; the memory is only accessed by raw copies.
unsafe impl Send for MemSlice {}
// SAFETY: as above.
unsafe impl Sync for MemSlice {}

impl MemSlice {
    /// The application's memory at `start`. `None` for a null pointer.
    ///
    /// # Safety
    /// `len` bytes from `start` can be read, and written if the slice is written to, while the slice or a copy of it is used.
    /// OpenCL requires this from the application for the pointers it passes.
    pub unsafe fn from_raw(start: *mut u8, len: usize) -> Option<Self> {
        Some(Self { start: NonNull::new(start)?, len, owner: None })
    }

    pub(super) fn of_buffer(buffer: Arc<HostBuffer>) -> Self {
        let start = NonNull::new(buffer.as_ptr())
            .unwrap_or_else(|| unreachable!("broken invariant: a host buffer has a non-null address"));
        Self { start, len: buffer.len(), owner: Some(buffer) }
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

    /// The `len` bytes from `offset` on.
    pub fn part(&self, offset: usize, len: usize) -> Result<MemSlice, OutOfBounds> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(OutOfBounds);
        }
        // SAFETY: `offset` is at most the slice's length.
        let start = unsafe { self.start.add(offset) };
        Ok(MemSlice { start, len, owner: self.owner.clone() })
    }

    /// Whether all of it can be accessed: it is neither the application's, nor a file that another process may shorten.
    fn is_own(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| !owner.is_shared())
    }

    /// Whether the two slices overlap.
    pub fn overlaps(&self, other: &MemSlice) -> bool {
        let (a, b) = (self.start.addr().get(), other.start.addr().get());
        if a <= b { b - a < self.len && other.len > 0 } else { a - b < other.len && self.len > 0 }
    }

    /// Copies all of `source`, which must have the same length, into this slice. The two may overlap.
    pub fn copy_from(&self, source: &MemSlice) -> Result<(), MemoryError> {
        if source.len != self.len {
            return Err(MemoryError::OutOfBounds);
        }
        // SAFETY: what exists of both may be accessed.
        Ok(unsafe { access::copy(self.as_ptr(), source.as_ptr(), self.len) }?)
    }

    /// Copies its first bytes to `target`.
    pub fn read(&self, target: &mut [u8]) -> Result<(), MemoryError> {
        if target.len() > self.len {
            return Err(MemoryError::OutOfBounds);
        }
        // SAFETY: what exists of the slice may be read; `target` is an exclusive reference.
        Ok(unsafe { access::copy(target.as_mut_ptr(), self.as_ptr(), target.len()) }?)
    }

    /// Overwrites its first bytes with `source`.
    pub fn write(&self, source: &[u8]) -> Result<(), MemoryError> {
        if source.len() > self.len {
            return Err(MemoryError::OutOfBounds);
        }
        // SAFETY: what exists of the slice may be written.
        Ok(unsafe { access::copy(self.as_ptr(), source.as_ptr(), source.len()) }?)
    }

    /// Fills the slice with `pattern`. Its length must be a multiple of the pattern's, which is not zero.
    pub fn fill(&self, pattern: &[u8]) -> Result<(), MemoryError> {
        if pattern.is_empty() || !self.len.is_multiple_of(pattern.len()) {
            return Err(MemoryError::OutOfBounds);
        }
        if self.len == 0 {
            return Ok(());
        }
        if pattern.iter().all(|byte| *byte == pattern[0]) {
            // SAFETY: what exists of the slice may be written.
            return Ok(unsafe { access::fill(self.as_ptr(), pattern[0], self.len) }?);
        }
        self.write(pattern)?;
        // The filled part is doubled up to a size that fits in the cache, and then repeated.
        let mut done = pattern.len();
        while done < self.len {
            let step = done.min(self.len - done).min(FILL_STEP.next_multiple_of(pattern.len()));
            // SAFETY: `step <= done` bytes from the start are written already, `step` bytes from `done` lie in the slice.
            unsafe { access::copy(self.start.add(done).as_ptr(), self.as_ptr(), step) }?;
            done += step;
        }
        Ok(())
    }

    /// Fills each row of a region with `pattern`. The rows must be multiples of it.
    pub fn fill_rect(&self, pattern: &[u8], place: &RectLayout, region: [usize; 3]) -> Result<(), MemoryError> {
        let rect = RectCopy::new(region, *place, *place);
        self.fill_rows(pattern, &rect, 0..rect.stretches()[1])
    }

    /// Fills some of the contiguous stretches of a region; if there is only one, some of its bytes.
    pub(crate) fn fill_part(&self, pattern: &[u8], rect: &RectCopy, part: Range<usize>) -> Result<(), MemoryError> {
        let [bytes, rows] = rect.stretches();
        if rows > 1 {
            return self.fill_rows(pattern, rect, part.start..part.end.min(rows));
        }
        let len = part.end.min(bytes).saturating_sub(part.start);
        self.part(rect.dst.start() + part.start, len)?.fill(pattern)
    }

    fn fill_rows(&self, pattern: &[u8], rect: &RectCopy, rows: Range<usize>) -> Result<(), MemoryError> {
        rect.check_within(self.len, self.len)?;
        let mut filled = Ok(());
        rect.rows_of(rows, |start, _, len| {
            if filled.is_ok() {
                filled = self.part(start, len).map_err(MemoryError::from).and_then(|row| row.fill(pattern));
            }
        });
        filled
    }

    /// Copies a rectangle of `source` into this slice. If the two rectangles overlap, the result is undefined (the driver rejects
    /// such copies).
    pub fn copy_rect_from(&self, source: &MemSlice, rect: &RectCopy) -> Result<(), MemoryError> {
        self.copy_rows_from(source, rect, 0..rect.stretches()[1])
    }

    /// Copies some of the stretches of a rectangle that are contiguous on both sides; if there is only one, some of its bytes.
    pub(crate) fn copy_part_from(
        &self,
        source: &MemSlice,
        rect: &RectCopy,
        part: Range<usize>,
    ) -> Result<(), MemoryError> {
        let [bytes, rows] = rect.stretches();
        if rows > 1 {
            return self.copy_rows_from(source, rect, part.start..part.end.min(rows));
        }
        let (start, end) = (part.start, part.end.min(bytes));
        let of = |slice: &MemSlice, origin: usize| slice.part(origin + start, end.saturating_sub(start));
        of(self, rect.dst.start())?.copy_from(&of(source, rect.src.start())?)
    }

    fn copy_rows_from(&self, source: &MemSlice, rect: &RectCopy, rows: Range<usize>) -> Result<(), MemoryError> {
        rect.check_within(source.len, self.len)?;
        let own = self.is_own() && source.is_own();
        let mut copied = Ok(());
        rect.rows_of(rows, |from, to, len| {
            if copied.is_ok() {
                // SAFETY: every row is inside its slice: the rectangles' ends are, and rows only ascend from the origins.
                let (to, from) = unsafe { (self.start.add(to).as_ptr(), source.start.add(from).as_ptr()) };
                if own {
                    // SAFETY: both are memory of buffers, which exists.
                    unsafe { core::ptr::copy(from, to, len) }
                } else {
                    // SAFETY: what exists of the slices may be accessed.
                    copied = unsafe { access::copy(to, from, len) };
                }
            }
        });
        Ok(copied?)
    }
}

/// Maximum number of bytes that a fill copies at once.
const FILL_STEP: usize = 16 << 10;
