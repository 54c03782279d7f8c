//! An image: what a memory object is besides bytes. Its elements lie in rows, its rows in slices, as the pitches say; kernels
//! find them through the [descriptor](ImageDescriptor).
//!
//! Not here: what formats there are ([`clift_include::image`]), and the rules for making images (`api/image.rs`).

use clift_include::cl::*;
use clift_include::image::{ArgFact, Format, ImageDescriptor, ImageLevel, Layout};

/// The type of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A row.
    D1,
    /// A row that is a buffer.
    D1Buffer,
    /// Rows with a number.
    D1Array,
    /// A rectangle.
    D2,
    /// Rectangles with a number.
    D2Array,
    /// A box.
    D3,
}

impl Kind {
    /// All types with their numbers.
    pub const ALL: [(cl_mem_object_type, Kind); 6] = [
        (CL_MEM_OBJECT_IMAGE2D, Kind::D2),
        (CL_MEM_OBJECT_IMAGE3D, Kind::D3),
        (CL_MEM_OBJECT_IMAGE2D_ARRAY, Kind::D2Array),
        (CL_MEM_OBJECT_IMAGE1D, Kind::D1),
        (CL_MEM_OBJECT_IMAGE1D_ARRAY, Kind::D1Array),
        (CL_MEM_OBJECT_IMAGE1D_BUFFER, Kind::D1Buffer),
    ];

    /// The type of a number.
    pub fn of(number: cl_mem_object_type) -> Option<Kind> {
        Self::ALL.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }

    /// Its number.
    pub fn number(self) -> cl_mem_object_type {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or(0, |(number, _)| *number)
    }

    /// Whether an image has a height.
    pub fn has_height(self) -> bool {
        matches!(self, Kind::D2 | Kind::D2Array | Kind::D3)
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        matches!(self, Kind::D1Array | Kind::D2Array)
    }

    /// Whether it has slices, and so a slice pitch.
    pub fn has_slices(self) -> bool {
        self.is_array() || self == Kind::D3
    }

    /// Which number of an origin says which level of a mipmapped image is meant; the numbers before it are coordinates.
    pub fn level_coordinate(self) -> usize {
        match self {
            Kind::D1 | Kind::D1Buffer => 1,
            Kind::D1Array | Kind::D2 => 2,
            Kind::D2Array | Kind::D3 => 3,
        }
    }
}

/// How many elements an image has; 1 where a type has no such dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// In a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices of a 3-D image.
    pub depth: usize,
    /// Slices of an array.
    pub layers: usize,
}

/// Where the elements of one level of an image lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How many there are.
    pub size: Size,
    /// Bytes from a row to the next.
    pub row_pitch: usize,
    /// Bytes from a slice to the next.
    pub slice_pitch: usize,
    /// Bytes from the start of the image's memory to the first.
    pub offset: usize,
}

impl Level {
    /// A level without gaps, behind `offset` bytes.
    fn tight(size: Size, element_bytes: usize, offset: usize) -> Level {
        let row_pitch = size.width * element_bytes;
        Level { size, row_pitch, slice_pitch: row_pitch * size.height, offset }
    }

    /// All levels of a mipmapped image: each is half the size of the one before, rounded down.
    pub fn chain(size: Size, element_bytes: usize, count: usize) -> Vec<Level> {
        let halved = |size: usize| (size / 2).max(1);
        let next = |level: &Level| {
            let Size { width, height, depth, layers } = level.size;
            let size = Size { width: halved(width), height: halved(height), depth: halved(depth), layers };
            Some(Level::tight(size, element_bytes, level.end()))
        };
        std::iter::successors(Some(Level::tight(size, element_bytes, 0)), next).take(count).collect()
    }

    /// Bytes from its first to behind its last, the end of each row and slice included.
    pub fn bytes(&self) -> usize {
        let slices = self.size.depth * self.size.layers;
        if slices > 1 { self.slice_pitch * slices } else { self.row_pitch * self.size.height }
    }

    /// Bytes from the start of the image's memory to behind its last.
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
    kind: Kind,
    format: Format,
    layout: Layout,
    levels: Vec<Level>,
    descriptor: Box<ImageDescriptor>,
}

impl Image {
    /// An image whose memory starts at `data`; it has at least one level and at most
    /// [`MAX_LEVELS`](clift_include::image::MAX_LEVELS).
    pub fn new(kind: Kind, format: Format, layout: Layout, levels: Vec<Level>, data: *mut u8) -> Image {
        let described = std::array::from_fn(|i| levels[i.min(levels.len() - 1)].described(data));
        let descriptor = ImageDescriptor {
            levels: described,
            level_count: levels.len() as u32,
            order: format.order,
            data_type: format.data_type,
            reserved: 0,
        };
        Image { kind, format, layout, levels, descriptor: Box::new(descriptor) }
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How its elements are laid out.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> usize {
        self.layout.bytes as usize
    }

    /// Its largest level.
    pub fn base(&self) -> &Level {
        &self.levels[0]
    }

    /// Its levels, the largest first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Bytes of all its levels, the end of each row and slice included.
    pub fn bytes(&self) -> usize {
        self.levels.last().map_or(0, Level::end)
    }

    /// Whether it has several levels.
    pub fn is_mipmapped(&self) -> bool {
        self.levels.len() > 1
    }

    /// Bytes from a slice of a level to the next, as queries tell it: 0 when there are no slices.
    pub fn slice_pitch(&self, level: &Level) -> usize {
        if self.kind.has_slices() { level.slice_pitch } else { 0 }
    }

    /// What kernels get.
    pub fn descriptor(&self) -> &ImageDescriptor {
        &self.descriptor
    }

    /// What code is made for.
    pub fn fact(&self) -> ArgFact {
        ArgFact::Image { format: self.format, mipmapped: self.is_mipmapped() }
    }

    /// A region of a level as (bytes, rows, slices), if it lies inside: coordinates that the type does not have must be 0,
    /// extents 1.
    pub fn region(&self, level: &Level, origin: [usize; 3], extent: [usize; 3]) -> Option<([usize; 3], [usize; 3])> {
        let Size { width, height, depth, layers } = level.size;
        let bounds = match self.kind {
            Kind::D1 | Kind::D1Buffer => [width, 1, 1],
            Kind::D1Array => [width, layers, 1],
            Kind::D2 => [width, height, 1],
            Kind::D2Array => [width, height, layers],
            Kind::D3 => [width, height, depth],
        };
        let inside =
            (0..3).all(|d| extent[d] > 0 && origin[d].checked_add(extent[d]).is_some_and(|end| end <= bounds[d]));
        if !inside {
            return None;
        }
        let [mut origin, mut extent] = [origin, extent];
        if self.kind == Kind::D1Array {
            origin = [origin[0], 0, origin[1]];
            extent = [extent[0], 1, extent[1]];
        }
        origin[0] *= self.element_bytes();
        extent[0] *= self.element_bytes();
        Some((origin, extent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_halve() {
        let size = Size { width: 5, height: 8, depth: 1, layers: 3 };
        let levels = Level::chain(size, 4, 4);
        let sizes: Vec<_> =
            levels.iter().map(|level| (level.size.width, level.size.height, level.size.layers)).collect();
        assert_eq!(sizes, [(5, 8, 3), (2, 4, 3), (1, 2, 3), (1, 1, 3)]);
        for pair in levels.windows(2) {
            assert_eq!(pair[0].offset + pair[0].bytes(), pair[1].offset);
        }
        assert_eq!(levels[3].end(), 4 * 3 * (40 + 8 + 2 + 1));
    }
}
