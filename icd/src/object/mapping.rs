//! The application's mappings of memory objects: for the rule that no byte is mapped for writing twice, and for queries.
//!
//! Objects in the same memory (a buffer, its sub-buffers, images created from them) share one list, because the rule holds for
//! all of them together.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::ffi::pointer::HostPtr;

/// A part of a memory object: rows of bytes that are the same distance apart, and slices of such rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Offset of the first byte.
    pub start: usize,
    /// Number of bytes in a row, of rows, and of slices.
    pub extent: [usize; 3],
    /// Bytes from a row to the next one, and from a slice to the next one.
    pub pitches: [usize; 2],
}

impl Region {
    /// Consecutive bytes.
    pub fn linear(start: usize, len: usize) -> Self {
        Self { start, extent: [len, 1, 1], pitches: [len, len] }
    }

    /// Offset after the last byte.
    fn end(&self) -> usize {
        let ([width, rows, slices], [row, slice]) = (self.extent, self.pitches);
        self.start + (slices - 1) * slice + (rows - 1) * row + width
    }

    /// Position of the first byte in its row, its slice, and all slices, with the pitches of `other`.
    fn position(&self) -> [usize; 3] {
        let [row, slice] = self.pitches;
        [self.start % slice % row, self.start % slice / row, self.start / slice]
    }

    /// Whether a byte is in both. Regions with different pitches count as consecutive bytes.
    fn overlaps(&self, other: &Region) -> bool {
        if other.end() <= self.start || self.end() <= other.start {
            return false;
        }
        if self.pitches != other.pitches || self.extent[0] > self.pitches[0] {
            return true;
        }
        let (a, b) = (self.position(), other.position());
        // A row that goes beyond the end of the pitch continues in the next one; images have no such rows.
        let wraps = |at: [usize; 3], of: &Region| at[0] + of.extent[0] > of.pitches[0];
        wraps(a, self)
            || wraps(b, other)
            || (0..3).all(|axis| a[axis] < b[axis] + other.extent[axis] && b[axis] < a[axis] + self.extent[axis])
    }
}

/// A region that the application has mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The region, with an offset in its object.
    pub region: Region,
    /// The pointer returned to the application.
    pub pointer: HostPtr,
    /// Whether it may write through the pointer.
    pub write: bool,
    /// Distinguishes it from other mappings of the same memory, even of the same region.
    pub id: u64,
    /// The number of its object, and where that begins in the memory.
    view: u64,
    offset: usize,
}

impl Mapping {
    /// Whether a byte is in both.
    fn overlaps(&self, other: &Mapping) -> bool {
        if self.view == other.view {
            return self.region.overlaps(&other.region);
        }
        let shifted = |mapping: &Mapping| Region { start: mapping.offset + mapping.region.start, ..mapping.region };
        shifted(self).overlaps(&shifted(other))
    }
}

/// Mapping the region would allow writing to the same bytes through two pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

/// The mappings of all objects in the same memory, oldest first.
#[derive(Debug, Default)]
struct Mappings {
    held: Vec<Mapping>,
    made: u64,
    views: u64,
}

/// The mappings of one object.
#[derive(Debug, Default)]
pub struct MapView {
    all: Arc<Mutex<Mappings>>,
    /// The number of the object among those in the same memory.
    view: u64,
    /// Where it begins in the memory.
    offset: usize,
}

impl MapView {
    /// Those of a new object in this one's memory, which begins at `origin`.
    pub fn part(&self, origin: usize) -> MapView {
        let mut all = self.all.lock();
        all.views += 1;
        MapView { all: self.all.clone(), view: all.views, offset: self.offset + origin }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.lock().held.iter().filter(|mapping| mapping.view == self.view).count()
    }

    /// Maps a region, which begins at `pointer`.
    ///
    /// # Errors
    /// [`Overlap`] when bytes would be mapped for writing twice.
    pub fn add(&self, region: Region, pointer: HostPtr, write: bool) -> Result<Mapping, Overlap> {
        let mut all = self.all.lock();
        let mapping = Mapping { region, pointer, write, id: all.made, view: self.view, offset: self.offset };
        if write && all.held.iter().any(|other| other.write && mapping.overlaps(other)) {
            return Err(Overlap);
        }
        all.made += 1;
        all.held.push(mapping);
        Ok(mapping)
    }

    /// Removes a mapping by its pointer, latest first; `None` when there is none.
    pub fn remove(&self, pointer: HostPtr) -> Option<Mapping> {
        let mut all = self.all.lock();
        let is_it = |mapping: &Mapping| mapping.view == self.view && mapping.pointer == pointer;
        let index = all.held.iter().rposition(is_it)?;
        Some(all.held.remove(index))
    }

    /// Removes a mapping whose command failed, if it still exists.
    pub fn undo(&self, id: u64) {
        self.all.lock().held.retain(|mapping| mapping.id != id);
    }
}

impl Drop for MapView {
    /// The object has ended, and other ones in its memory may live on.
    fn drop(&mut self) {
        self.all.lock().held.retain(|mapping| mapping.view != self.view);
    }
}
