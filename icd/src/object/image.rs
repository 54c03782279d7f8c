//! An image: what a memory object is besides bytes. Its elements lie in rows, its rows in slices, as the pitches say; kernels find
//! them through the [descriptor](ImageDescriptor).
//!
//! Not here: what formats there are ([`clift_include::image`]), and the rules for making images (`api/image.rs`).

use clift_include::cl::*;
use clift_include::image::{ArgFact, Format, ImageDescriptor, ImageLevel, Layout, MAX_LEVELS};
use clift_runtime::memory::{RectError, RectLayout};

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

/// An image.
#[derive(Debug)]
pub struct Image {
    kind: Kind,
    format: Format,
    layout: Layout,
    size: Size,
    row_pitch: usize,
    slice_pitch: usize,
    descriptor: Box<ImageDescriptor>,
}

impl Image {
    /// An image whose first element lies at `data`.
    pub fn new(
        kind: Kind,
        format: Format,
        layout: Layout,
        size: Size,
        [row_pitch, slice_pitch]: [usize; 2],
        data: *mut u8,
    ) -> Image {
        let level = ImageLevel {
            data,
            width: size.width as u32,
            height: size.height as u32,
            depth: size.depth as u32,
            layers: size.layers as u32,
            row_pitch: row_pitch as u64,
            slice_pitch: slice_pitch as u64,
        };
        let descriptor = ImageDescriptor {
            levels: [level; MAX_LEVELS],
            level_count: 1,
            order: format.order,
            data_type: format.data_type,
            reserved: 0,
        };
        Image { kind, format, layout, size, row_pitch, slice_pitch, descriptor: Box::new(descriptor) }
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

    /// How many elements it has.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Bytes from a row to the next.
    pub fn row_pitch(&self) -> usize {
        self.row_pitch
    }

    /// Bytes from a slice to the next; 0 when there are no slices.
    pub fn slice_pitch(&self) -> usize {
        if self.kind.has_slices() { self.slice_pitch } else { 0 }
    }

    /// Bytes from its first to behind its last, the end of each row and slice included.
    pub fn bytes(&self) -> usize {
        let slices = self.size.depth * self.size.layers;
        if slices > 1 { self.slice_pitch * slices } else { self.row_pitch * self.size.height }
    }

    /// What kernels get.
    pub fn descriptor(&self) -> &ImageDescriptor {
        &self.descriptor
    }

    /// What code is made for.
    pub fn fact(&self) -> ArgFact {
        ArgFact::Image { format: self.format, mipmapped: false }
    }

    /// A region as (bytes, rows, slices), if it lies inside: coordinates that the type does not have must be 0, extents 1.
    pub fn region(&self, origin: [usize; 3], extent: [usize; 3]) -> Option<([usize; 3], [usize; 3])> {
        let Size { width, height, depth, layers } = self.size;
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

    /// Where a region of (bytes, rows, slices) lies in its memory.
    ///
    /// # Errors
    /// None for regions that [`Image::region`] gave.
    pub fn place(&self, origin: [usize; 3], extent: [usize; 3]) -> Result<RectLayout, RectError> {
        RectLayout::new(origin, extent, self.row_pitch, self.slice_pitch)
    }
}
