//! Rectangles in linear memory: the checked geometry of rectangular copies.

use std::ops::Range;

use super::slice::OutOfBounds;

/// Why a rectangle is invalid. All of these are `CL_INVALID_VALUE` in the rules of the rect commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RectError {
    /// An extent is 0.
    #[error("the region has an extent of 0")]
    EmptyRegion,
    /// The row pitch is less than a row.
    #[error("the row pitch is smaller than the region's rows")]
    RowPitch,
    /// The slice pitch is less than a slice, or not a multiple of the row pitch.
    #[error("the slice pitch is smaller than the region's slices or not a multiple of the row pitch")]
    SlicePitch,
    /// The last byte's offset overflows.
    #[error("the region's size overflows")]
    Overflow,
}

/// The location of a region in memory. Origin and region are (bytes, rows, slices).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RectLayout {
    origin: [usize; 3],
    row_pitch: usize,
    slice_pitch: usize,
    start: usize,
    end: usize,
}

impl RectLayout {
    /// Checks a layout for `region`. A pitch of 0 means that rows or slices are contiguous.
    pub fn new(
        origin: [usize; 3],
        region: [usize; 3],
        row_pitch: usize,
        slice_pitch: usize,
    ) -> Result<Self, RectError> {
        let layout = Self::with_any_pitches(origin, region, row_pitch, slice_pitch)?;
        if layout.slice_pitch.is_multiple_of(layout.row_pitch) { Ok(layout) } else { Err(RectError::SlicePitch) }
    }

    /// As [`RectLayout::new`], but the slice pitch need not be a multiple of the row pitch.
    pub fn with_any_pitches(
        origin: [usize; 3],
        region: [usize; 3],
        row_pitch: usize,
        slice_pitch: usize,
    ) -> Result<Self, RectError> {
        if region.contains(&0) {
            return Err(RectError::EmptyRegion);
        }
        let row_pitch = if row_pitch == 0 { region[0] } else { row_pitch };
        if row_pitch < region[0] {
            return Err(RectError::RowPitch);
        }
        let slice = region[1].checked_mul(row_pitch).ok_or(RectError::Overflow)?;
        let slice_pitch = if slice_pitch == 0 { slice } else { slice_pitch };
        if slice_pitch < slice {
            return Err(RectError::SlicePitch);
        }
        let offset =
            |[x, y, z]: [usize; 3]| z.checked_mul(slice_pitch)?.checked_add(y.checked_mul(row_pitch)?)?.checked_add(x);
        let start = offset(origin).ok_or(RectError::Overflow)?;
        let end = offset([region[0], region[1] - 1, region[2] - 1])
            .and_then(|size| start.checked_add(size))
            .ok_or(RectError::Overflow)?;
        Ok(Self { origin, row_pitch, slice_pitch, start, end })
    }

    /// Offset of the first byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Offset after the last byte, which is the minimum size of the memory.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Bytes between rows.
    pub fn row_pitch(&self) -> usize {
        self.row_pitch
    }

    /// Bytes between slices.
    pub fn slice_pitch(&self) -> usize {
        self.slice_pitch
    }
}

/// A copy of a region from one layout to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RectCopy {
    /// Layout of the source.
    pub src: RectLayout,
    /// Layout of the destination.
    pub dst: RectLayout,
    region: [usize; 3],
}

impl RectCopy {
    /// A copy of `region` between two layouts made for it.
    pub fn new(region: [usize; 3], src: RectLayout, dst: RectLayout) -> Self {
        Self { src, dst, region }
    }

    /// The region copied: bytes, rows, slices.
    pub fn region(&self) -> [usize; 3] {
        self.region
    }

    /// Whether source and destination overlap when both are in the same memory, by appendix D of the OpenCL specification, which
    /// assumes equal pitches. `src_base` and `dst_base` are the offsets of the two memory objects in the shared memory (of
    /// sub-buffers in their parent; 0 for the same buffer).
    pub fn overlaps(&self, src_base: usize, dst_base: usize) -> bool {
        let [width, height, _] = self.region;
        let (row_pitch, slice_pitch) = (self.src.row_pitch as u128, self.src.slice_pitch as u128);
        let (width, height) = (width as u128, height as u128);
        let place = |layout: &RectLayout, base: usize| {
            let base = base as u128;
            (base + layout.start as u128, base + layout.end as u128)
        };
        let ((src_start, src_end), (dst_start, dst_end)) = (place(&self.src, src_base), place(&self.dst, dst_base));
        if dst_end <= src_start || src_end <= dst_start {
            return false;
        }
        // Two periodic intervals with period `pitch` and length `len`, starting at `a` and `b`: disjoint when one fits in the
        // gap.
        let apart = |a: u128, b: u128, len: u128, pitch: u128| {
            let fits = |a: u128, b: u128| b >= a + len && b + len <= a + pitch;
            fits(a, b) || fits(b, a)
        };
        let (src_dx, dst_dx) = (src_start % row_pitch, dst_start % row_pitch);
        if apart(src_dx, dst_dx, width, row_pitch) {
            return false;
        }
        let slice_len = (height - 1) * row_pitch + width;
        !apart(src_start % slice_pitch, dst_start % slice_pitch, slice_len, slice_pitch)
    }

    pub(super) fn check_within(&self, src_len: usize, dst_len: usize) -> Result<(), OutOfBounds> {
        if self.src.end <= src_len && self.dst.end <= dst_len { Ok(()) } else { Err(OutOfBounds) }
    }

    /// Length in bytes of the stretches that are contiguous on both sides, in how many rows and planes they are.
    fn contiguous(&self) -> [usize; 3] {
        let [width, height, depth] = self.region;
        let tight_rows = self.src.row_pitch == width && self.dst.row_pitch == width;
        let plane = width * height;
        let tight_planes = tight_rows && self.src.slice_pitch == plane && self.dst.slice_pitch == plane;
        if tight_planes {
            [plane * depth, 1, 1]
        } else if tight_rows {
            [plane, 1, depth]
        } else {
            [width, height, depth]
        }
    }

    /// Length in bytes and number of the stretches that are contiguous on both sides.
    pub(crate) fn stretches(&self) -> [usize; 2] {
        let [width, height, depth] = self.contiguous();
        [width, height * depth]
    }

    /// Calls `row(source offset, destination offset, length)` for some of these stretches.
    pub(super) fn rows_of(&self, stretches: Range<usize>, mut row: impl FnMut(usize, usize, usize)) {
        let [width, height, _] = self.contiguous();
        for stretch in stretches {
            let (y, z) = (stretch % height, stretch / height);
            row(
                self.src.start + z * self.src.slice_pitch + y * self.src.row_pitch,
                self.dst.start + z * self.dst.slice_pitch + y * self.dst.row_pitch,
                width,
            );
        }
    }
}
