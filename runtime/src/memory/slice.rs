//! References to parts of memory, and operations on them.

use std::ptr::NonNull;
use std::sync::Arc;

use super::host::HostBuffer;
use super::rect::{RectCopy, RectLayout};

/// A range is outside of its memory, or two ranges differ in size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range exceeds its memory")]
pub struct OutOfBounds;

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

    /// Whether the two slices overlap.
    pub fn overlaps(&self, other: &MemSlice) -> bool {
        let (a, b) = (self.start.addr().get(), other.start.addr().get());
        if a <= b { b - a < self.len && other.len > 0 } else { a - b < other.len && self.len > 0 }
    }

    /// Copies all of `source`, which must have the same length, into this slice. The two may overlap.
    pub fn copy_from(&self, source: &MemSlice) -> Result<(), OutOfBounds> {
        if source.len != self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: both are valid for `len` bytes; `copy` allows overlap.
        unsafe { self.start.copy_from(source.start, self.len) };
        Ok(())
    }

    /// Copies its first bytes to `target`.
    pub fn read(&self, target: &mut [u8]) -> Result<(), OutOfBounds> {
        if target.len() > self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: the slice is valid for that many bytes; `target` is an exclusive reference.
        unsafe { core::ptr::copy(self.start.as_ptr(), target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// Overwrites its first bytes with `source`.
    pub fn write(&self, source: &[u8]) -> Result<(), OutOfBounds> {
        if source.len() > self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: the slice is valid for that many bytes.
        unsafe { core::ptr::copy(source.as_ptr(), self.start.as_ptr(), source.len()) };
        Ok(())
    }

    /// Fills the slice with `pattern`. Its length must be a multiple of the pattern's, which is not zero.
    pub fn fill(&self, pattern: &[u8]) -> Result<(), OutOfBounds> {
        if pattern.is_empty() || !self.len.is_multiple_of(pattern.len()) {
            return Err(OutOfBounds);
        }
        if self.len == 0 {
            return Ok(());
        }
        if pattern.iter().all(|byte| *byte == pattern[0]) {
            // SAFETY: the slice is valid for `len` bytes.
            unsafe { self.start.write_bytes(pattern[0], self.len) };
            return Ok(());
        }
        self.write(pattern)?;
        // The filled part is doubled up to a size that fits in the cache, and then repeated.
        let mut done = pattern.len();
        while done < self.len {
            let step = done.min(self.len - done).min(FILL_STEP.next_multiple_of(pattern.len()));
            // SAFETY: `step <= done` bytes from the start are written already, `step` bytes from `done` lie in the slice.
            unsafe { self.start.add(done).copy_from_nonoverlapping(self.start, step) };
            done += step;
        }
        Ok(())
    }

    /// Fills each row of a region with `pattern`. The rows must be multiples of it.
    pub fn fill_rect(&self, pattern: &[u8], place: &RectLayout, region: [usize; 3]) -> Result<(), OutOfBounds> {
        let rect = RectCopy::new(region, *place, *place);
        rect.check_within(self.len, self.len)?;
        let mut filled = Ok(());
        rect.rows(|start, _, len| {
            let row = self.part(start, len).and_then(|row| row.fill(pattern));
            filled = std::mem::replace(&mut filled, Ok(())).and(row);
        });
        filled
    }

    /// Copies a rectangle of `source` into this slice. If the two rectangles overlap, the result is undefined (the driver rejects
    /// such copies).
    pub fn copy_rect_from(&self, source: &MemSlice, rect: &RectCopy) -> Result<(), OutOfBounds> {
        rect.check_within(source.len, self.len)?;
        rect.rows(|from, to, len| {
            // SAFETY: every row is inside its slice: the rectangles' ends are, and rows only ascend from the origins.
            unsafe { self.start.add(to).copy_from(source.start.add(from), len) };
        });
        Ok(())
    }
}

/// Maximum number of bytes that a fill copies at once.
const FILL_STEP: usize = 16 << 10;
