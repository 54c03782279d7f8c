//! References to parts of memory, and what can be done to them.

use std::ptr::NonNull;
use std::sync::Arc;

use super::host::HostBuffer;
use super::rect::{RectCopy, RectLayout};

/// A range does not lie in the memory it should lie in, or two ranges differ in size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range passes the end of its memory")]
pub struct OutOfBounds;

/// A piece of memory that is kept alive: by a count when it belongs to a [`HostBuffer`], by promise when it is the
/// application's.
#[derive(Clone, Debug)]
pub struct MemSlice {
    start: NonNull<u8>,
    len: usize,
    owner: Option<Arc<HostBuffer>>,
}

// SAFETY: the slice is an address, its length and a count; the memory is only touched by raw copies.
unsafe impl Send for MemSlice {}
// SAFETY: as above.
unsafe impl Sync for MemSlice {}

impl MemSlice {
    /// The application's memory at `start`. `None` for a null pointer.
    ///
    /// # Safety
    /// `len` bytes from `start` can be read, and written if the slice is written to, as long as the slice or a copy of it
    /// is used: the duty OpenCL puts on the application for the pointers it passes.
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

    /// Whether the two have bytes in common.
    pub fn overlaps(&self, other: &MemSlice) -> bool {
        let (a, b) = (self.start.addr().get(), other.start.addr().get());
        if a <= b { b - a < self.len && other.len > 0 } else { a - b < other.len && self.len > 0 }
    }

    /// Copies all of `source`, which must be as long, into it. The two may overlap.
    pub fn copy_from(&self, source: &MemSlice) -> Result<(), OutOfBounds> {
        if source.len != self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: both are valid for `len` bytes; `copy` allows overlap.
        unsafe { self.start.copy_from(source.start, self.len) };
        Ok(())
    }

    /// Copies its first bytes out.
    pub fn read(&self, target: &mut [u8]) -> Result<(), OutOfBounds> {
        if target.len() > self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: the slice is valid for that many bytes; `target` is ours alone.
        unsafe { core::ptr::copy(self.start.as_ptr(), target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// Copies `source` over its first bytes.
    pub fn write(&self, source: &[u8]) -> Result<(), OutOfBounds> {
        if source.len() > self.len {
            return Err(OutOfBounds);
        }
        // SAFETY: the slice is valid for that many bytes.
        unsafe { core::ptr::copy(source.as_ptr(), self.start.as_ptr(), source.len()) };
        Ok(())
    }

    /// Repeats `pattern` over all of it; the length must be a multiple of the pattern's, which is not zero.
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
        // The written part is doubled until it has a size the cache likes, and then repeated.
        let mut done = pattern.len();
        while done < self.len {
            let step = done.min(self.len - done).min(FILL_STEP.next_multiple_of(pattern.len()));
            // SAFETY: `step <= done` bytes from the start are written already, `step` bytes from `done` lie in the slice.
            unsafe { self.start.add(done).copy_from_nonoverlapping(self.start, step) };
            done += step;
        }
        Ok(())
    }

    /// Repeats `pattern` over each row of a region, whose rows must be multiples of it.
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

    /// Copies a rectangle of `source` into it. Where the two rectangles overlap, the result is undefined (the driver
    /// refuses such copies).
    pub fn copy_rect_from(&self, source: &MemSlice, rect: &RectCopy) -> Result<(), OutOfBounds> {
        rect.check_within(source.len, self.len)?;
        rect.rows(|from, to, len| {
            // SAFETY: every row lies inside its slice: the rectangles' ends do, and rows only go up from the origins.
            unsafe { self.start.add(to).copy_from(source.start.add(from), len) };
        });
        Ok(())
    }
}

/// Most bytes a fill copies at once.
const FILL_STEP: usize = 16 << 10;
