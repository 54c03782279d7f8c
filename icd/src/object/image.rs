//! An image: the properties of a memory object in addition to its bytes. Elements are in rows, and rows in slices, by the
//! pitches; kernels find them by the [descriptor](ImageDescriptor).
//!
//! Not here: the formats ([`clift_include::image`]), and the rules for creating images (`api/image.rs`).

use clift_include::cl::*;
use clift_include::image::{ArgFact, Format, ImageDescriptor, ImageLevel, Layout};

/// The type of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageType {
    /// One row.
    D1,
    /// One row, whose memory is a buffer.
    D1Buffer,
    /// Rows with indices.
    D1Array,
    /// A rectangle.
    D2,
    /// Rectangles with indices.
    D2Array,
    /// A box.
    D3,
}

impl ImageType {
    /// All types with their OpenCL constants.
    pub const ALL: [(cl_mem_object_type, ImageType); 6] = [
        (CL_MEM_OBJECT_IMAGE2D, ImageType::D2),
        (CL_MEM_OBJECT_IMAGE3D, ImageType::D3),
        (CL_MEM_OBJECT_IMAGE2D_ARRAY, ImageType::D2Array),
        (CL_MEM_OBJECT_IMAGE1D, ImageType::D1),
        (CL_MEM_OBJECT_IMAGE1D_ARRAY, ImageType::D1Array),
        (CL_MEM_OBJECT_IMAGE1D_BUFFER, ImageType::D1Buffer),
    ];

    /// The type of an OpenCL constant.
    pub fn of(number: cl_mem_object_type) -> Option<ImageType> {
        Self::ALL.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }

    /// Its OpenCL constant.
    pub fn number(self) -> cl_mem_object_type {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or(0, |(number, _)| *number)
    }

    /// The number of dimensions, without the index of an array.
    pub fn dimensions(self) -> u32 {
        match self {
            ImageType::D1 | ImageType::D1Buffer | ImageType::D1Array => 1,
            ImageType::D2 | ImageType::D2Array => 2,
            ImageType::D3 => 3,
        }
    }

    /// Whether images of this type have a height.
    pub fn has_height(self) -> bool {
        matches!(self, ImageType::D2 | ImageType::D2Array | ImageType::D3)
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        matches!(self, ImageType::D1Array | ImageType::D2Array)
    }

    /// Whether images of this type have slices, and thus a slice pitch.
    pub fn has_slices(self) -> bool {
        self.is_array() || self == ImageType::D3
    }

    /// The index in an origin of the level of a mipmapped image; the components before it are coordinates.
    pub fn level_coordinate(self) -> usize {
        match self {
            ImageType::D1 | ImageType::D1Buffer => 1,
            ImageType::D1Array | ImageType::D2 => 2,
            ImageType::D2Array | ImageType::D3 => 3,
        }
    }
}

/// The number of elements of an image; 1 for dimensions that its type does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    /// Elements in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices of a 3-D image.
    pub depth: usize,
    /// Slices of an array.
    pub layers: usize,
}

/// The memory layout of one mipmap level of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MipLevel {
    /// Its number of elements.
    pub size: ImageSize,
    /// Distance between rows in bytes.
    pub row_pitch: usize,
    /// Distance between slices in bytes.
    pub slice_pitch: usize,
    /// Offset of its first element in the image's memory in bytes.
    pub offset: usize,
}

impl MipLevel {
    /// A level without padding, at `offset`.
    fn tight(size: ImageSize, layout: &Layout, offset: usize) -> MipLevel {
        let row_pitch = layout.row_bytes(size.width);
        MipLevel { size, row_pitch, slice_pitch: row_pitch * size.height, offset }
    }

    /// All levels of a mipmapped image: each has half the size of the previous one, rounded down.
    pub fn chain(size: ImageSize, layout: &Layout, count: usize) -> Vec<MipLevel> {
        let halved = |size: usize| (size / 2).max(1);
        let next = |level: &MipLevel| {
            let ImageSize { width, height, depth, layers } = level.size;
            let size = ImageSize { width: halved(width), height: halved(height), depth: halved(depth), layers };
            Some(MipLevel::tight(size, layout, level.end()))
        };
        std::iter::successors(Some(MipLevel::tight(size, layout, 0)), next).take(count).collect()
    }

    /// Its size in bytes, including the padding of the last row and slice.
    pub fn bytes(&self) -> usize {
        self.slice_pitch * self.size.depth * self.size.layers
    }

    /// Offset of its end in the image's memory in bytes.
    pub fn end(&self) -> usize {
        self.offset + self.bytes()
    }

    fn described(&self, data: *mut u8) -> ImageLevel {
        ImageLevel {
            data: data.wrapping_add(self.offset),
            width: self.size.width as u32,
            height: self.size.height as u32,
            depth: self.size.depth as u32,
            layers: self.size.layers as u32,
            row_pitch: self.row_pitch as u64,
            slice_pitch: self.slice_pitch as u64,
        }
    }
}

/// An image.
#[derive(Debug)]
pub struct Image {
    kind: ImageType,
    format: Format,
    layout: Layout,
    levels: Vec<MipLevel>,
    descriptor: Box<ImageDescriptor>,
}

impl Image {
    /// An image whose memory starts at `data`. It has at least one level and at most
    /// [`MAX_LEVELS`](clift_include::image::MAX_LEVELS).
    pub fn new(kind: ImageType, format: Format, layout: Layout, levels: Vec<MipLevel>, data: *mut u8) -> Image {
        let described = std::array::from_fn(|i| levels[i.min(levels.len() - 1)].described(data));
        let descriptor = ImageDescriptor {
            levels: described,
            level_count: levels.len() as u32,
            order: format.order,
            data_type: format.data_type,
            // So that reads of blocks of bytes stay inside also where elements share bytes.
            element_bytes: layout.alignment() as u32,
        };
        Image { kind, format, layout, levels, descriptor: Box::new(descriptor) }
    }

    /// Its type.
    pub fn kind(&self) -> ImageType {
        self.kind
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The layout of its elements.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Size of an element in bytes.
    pub fn element_bytes(&self) -> usize {
        self.layout.bytes as usize
    }

    /// Its largest level.
    pub fn base(&self) -> &MipLevel {
        &self.levels[0]
    }

    /// Its levels, largest first.
    pub fn levels(&self) -> &[MipLevel] {
        &self.levels
    }

    /// Size of all its levels in bytes, including the padding of rows and slices.
    pub fn bytes(&self) -> usize {
        self.levels.last().map_or(0, MipLevel::end)
    }

    /// Whether it has more than one level.
    pub fn is_mipmapped(&self) -> bool {
        self.levels.len() > 1
    }

    /// Distance between slices of a level in bytes, as queries report it: 0 when there are no slices.
    pub fn slice_pitch(&self, level: &MipLevel) -> usize {
        if self.kind.has_slices() { level.slice_pitch } else { 0 }
    }

    /// The descriptor for kernels.
    pub fn descriptor(&self) -> &ImageDescriptor {
        &self.descriptor
    }

    /// The facts for which code is specialized.
    pub fn fact(&self) -> ArgFact {
        ArgFact::Image { format: self.format, mipmapped: self.is_mipmapped() }
    }

    /// A region of a level as (bytes, rows, slices), if it is inside the level and no byte is shared with elements outside of it.
    /// Coordinates that the type does not have must be 0, and extents 1.
    pub fn region(&self, level: &MipLevel, origin: [usize; 3], extent: [usize; 3]) -> Option<([usize; 3], [usize; 3])> {
        let ImageSize { width, height, depth, layers } = level.size;
        let bounds = match self.kind {
            ImageType::D1 | ImageType::D1Buffer => [width, 1, 1],
            ImageType::D1Array => [width, layers, 1],
            ImageType::D2 => [width, height, 1],
            ImageType::D2Array => [width, height, layers],
            ImageType::D3 => [width, height, depth],
        };
        let inside =
            (0..3).all(|d| extent[d] > 0 && origin[d].checked_add(extent[d]).is_some_and(|end| end <= bounds[d]));
        let granule = self.layout.granule().elements as usize;
        if !inside || !origin[0].is_multiple_of(granule) || !extent[0].is_multiple_of(granule) {
            return None;
        }
        let [mut origin, mut extent] = [origin, extent];
        if self.kind == ImageType::D1Array {
            origin = [origin[0], 0, origin[1]];
            extent = [extent[0], 1, extent[1]];
        }
        origin[0] = self.layout.row_bytes(origin[0]);
        extent[0] = self.layout.row_bytes(extent[0]);
        Some((origin, extent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_halve() {
        let size = ImageSize { width: 5, height: 8, depth: 1, layers: 3 };
        let levels = MipLevel::chain(size, &Format::RGBA8.layout().expect("a layout"), 4);
        let sizes: Vec<_> =
            levels.iter().map(|level| (level.size.width, level.size.height, level.size.layers)).collect();
        assert_eq!(sizes, [(5, 8, 3), (2, 4, 3), (1, 2, 3), (1, 1, 3)]);
        for pair in levels.windows(2) {
            assert_eq!(pair[0].offset + pair[0].bytes(), pair[1].offset);
        }
        assert_eq!(levels[3].end(), 4 * 3 * (40 + 8 + 2 + 1));
    }
}
