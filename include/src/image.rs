//! Image formats, descriptors and samplers, shared by host transfers, generated code and queries.
//!
//! [`formats`] lists the supported formats, from one table of channel orders and one of data types. The *layout* of a format
//! follows from both ([`Format::layout`]): an element consists of *fields*, each with its bits and the component of the colour
//! in it.
//!
//! A kernel gets the address of an [`ImageDescriptor`], and samplers by value ([`Sampler`]). Generated code is specialized for
//! formats and samplers, which are given by a list of [`ArgFact`]s.
//!
//! Not here: the conversion of colours (in the runtime for fills, in kernel IR for kernels), and the memory of images.

use crate::cl::{
    CL_A, CL_ABGR, CL_ARGB, CL_BGRA, CL_DEPTH, CL_FLOAT, CL_HALF_FLOAT, CL_INTENSITY, CL_LUMINANCE, CL_R, CL_RA, CL_RG,
    CL_RGB, CL_RGBA, CL_RGBx, CL_Rx, CL_SIGNED_INT8, CL_SIGNED_INT16, CL_SIGNED_INT32, CL_SNORM_INT8, CL_SNORM_INT16,
    CL_UNORM_INT_2_101010_EXT, CL_UNORM_INT_101010, CL_UNORM_INT_101010_2, CL_UNORM_INT8, CL_UNORM_INT10X6_EXT,
    CL_UNORM_INT12X4_EXT, CL_UNORM_INT14X2_EXT, CL_UNORM_INT16, CL_UNORM_SHORT_555, CL_UNORM_SHORT_565,
    CL_UNSIGNED_INT_RAW10_EXT, CL_UNSIGNED_INT_RAW12_EXT, CL_UNSIGNED_INT8, CL_UNSIGNED_INT10X6_EXT,
    CL_UNSIGNED_INT12X4_EXT, CL_UNSIGNED_INT14X2_EXT, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32, CL_sBGRA, CL_sRGBA,
    CL_sRGBx, cl_uint,
};

/// Maximum number of mip levels.
pub const MAX_LEVELS: usize = 15;
/// Maximum width and height of 1-D and 2-D images, in elements.
pub const MAX_2D: u32 = 16384;
/// Maximum width, height and depth of 3-D images, in elements.
pub const MAX_3D: u32 = 2048;
/// Maximum number of layers of image arrays.
pub const MAX_LAYERS: u32 = 2048;
/// Maximum number of elements of a 1-D image created from a buffer. Indices of elements fit in 31 bits.
pub const MAX_BUFFER: u32 = 1 << 28;

/// The description of an image for a kernel. The argument block contains its address.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct ImageDescriptor {
    /// Its levels, the largest first. An image without mipmaps uses only the first.
    pub levels: [ImageLevel; MAX_LEVELS],
    /// Number of levels, at least 1.
    pub level_count: u32,
    /// Channel order, as in `cl_image_format`.
    pub order: u32,
    /// Channel data type, as in `cl_image_format`.
    pub data_type: u32,
    /// Bytes of an element.
    pub element_bytes: u32,
}

/// One level of an image: slices (of 3-D images) or layers (of arrays), which consist of rows of elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ImageLevel {
    /// The first element.
    pub data: *mut u8,
    /// Elements in a row, at least 1.
    pub width: u32,
    /// Rows in a slice; 1 for 1-D images.
    pub height: u32,
    /// Slices of a 3-D image, else 1.
    pub depth: u32,
    /// Slices of an array, else 1.
    pub layers: u32,
    /// Distance of rows in bytes.
    pub row_pitch: u64,
    /// Distance of slices or layers in bytes.
    pub slice_pitch: u64,
}

// SAFETY-free marker: a descriptor is read-only, and access to the memory it points to follows the rules for memory objects.
#[allow(unsafe_code, reason = "descriptors are plain data that workers read")]
mod descriptor_is_shared {
    // SAFETY: the memory of the level is only accessed by the rules for memory objects.
    unsafe impl Send for super::ImageLevel {}
    // SAFETY: as above.
    unsafe impl Sync for super::ImageLevel {}
}

/// A sampler in the representation of the argument block: one 64-bit word.
///
/// | bits | |
/// |---|---|
/// | 0 | coordinates are normalized |
/// | 1-3 | [`Addressing`] |
/// | 4 | linear filter |
/// | 5 | linear filter between mipmap levels |
/// | 32-47, 48-63 | lowest and highest level of detail, in 1/256 |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sampler(pub u64);

/// Addressing mode: what is read outside an image. The values are those of SPIR-V's sampler addressing modes.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Addressing {
    /// Undefined: the coordinates are always inside.
    None = 0,
    /// The nearest element.
    ClampToEdge = 1,
    /// The border colour.
    Clamp = 2,
    /// The image repeated.
    Repeat = 3,
    /// The image repeated, mirrored each time.
    MirroredRepeat = 4,
}

impl Sampler {
    /// The bits for which code is specialized; the rest is read at run time.
    const MODES: u64 = 0x3F;
    /// Lowest bit of the minimum level of detail.
    pub const LOD_MIN_BIT: u32 = 32;
    /// Lowest bit of the maximum level of detail.
    pub const LOD_MAX_BIT: u32 = 48;
    /// The representation's steps per level of detail.
    pub const LOD_STEPS: f32 = 256.0;

    /// A sampler without a filter between levels, and without bounds on the level of detail.
    pub fn new(normalized: bool, addressing: Addressing, linear: bool) -> Sampler {
        let modes = u64::from(normalized) | (addressing as u64) << 1 | u64::from(linear) << 4;
        Sampler(modes).with_levels(false, 0.0, 255.0)
    }

    /// The sampler with a filter between levels and bounds on the level of detail, from 0 to 255.
    #[must_use]
    pub fn with_levels(self, linear: bool, min: f32, max: f32) -> Sampler {
        let steps = |lod: f32| u64::from((lod * Self::LOD_STEPS) as u16);
        let range = steps(min) << Self::LOD_MIN_BIT | steps(max) << Self::LOD_MAX_BIT;
        Sampler(self.0 & 0x1F | u64::from(linear) << 5 | range)
    }

    /// The modes, for which code is specialized.
    #[must_use]
    pub fn modes(self) -> Sampler {
        Sampler(self.0 & Self::MODES)
    }

    /// Whether coordinates are normalized to the range from 0 to 1.
    pub fn is_normalized(self) -> bool {
        self.0 & 1 != 0
    }

    /// The addressing mode.
    pub fn addressing(self) -> Addressing {
        use Addressing::*;
        let all = [None, ClampToEdge, Clamp, Repeat, MirroredRepeat];
        all[(self.0 >> 1 & 7).min(4) as usize]
    }

    /// Whether the filter is linear.
    pub fn is_linear(self) -> bool {
        self.0 & 1 << 4 != 0
    }

    /// Whether it filters linearly between levels.
    pub fn filters_levels(self) -> bool {
        self.0 & 1 << 5 != 0
    }
}

/// A property of a launch argument for which code may be specialized.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgFact {
    /// An image of a format.
    Image {
        /// Its format.
        format: Format,
        /// Whether it has several levels.
        mipmapped: bool,
    },
    /// A sampler; only its [`Sampler::modes`].
    Sampler(Sampler),
}

/// A supported format; the numbers are those of `cl_image_format`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// Channel order.
    pub order: cl_uint,
    /// Channel data type.
    pub data_type: cl_uint,
}

/// A component of a colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component {
    /// Red; also luminance, intensity and depth.
    R = 0,
    /// Green.
    G = 1,
    /// Blue.
    B = 2,
    /// Alpha.
    A = 3,
}

/// The encoding of a number in the bits of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A normalized number from 0 to 1.
    Unorm,
    /// A normalized number from -1 to 1; the lowest two values are both -1.
    Snorm,
    /// A signed integer.
    Sint,
    /// An unsigned integer.
    Uint,
    /// An IEEE float of 16 or 32 bits.
    Float,
}

impl Encoding {
    /// Whether kernels read and write the components as floats.
    pub fn is_float(self) -> bool {
        match self {
            Encoding::Unorm | Encoding::Snorm | Encoding::Float => true,
            Encoding::Sint | Encoding::Uint => false,
        }
    }
}

/// A field of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its lowest bit in the element, taken as a little-endian number.
    pub bit: u32,
    /// Number of bits.
    pub bits: u32,
    /// The component that a write stores there.
    pub holds: Component,
}

/// The source of a component of the colour that a read returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The field with this index.
    Field(usize),
    /// 0.
    Zero,
    /// 1.
    One,
    /// 1 inside the image, but 0 for the border colour: alpha of orders with an ignored channel.
    Inside,
}

/// Elements that share bytes in memory: the upper eight bits of each have a byte of their own, in order, and the lower bits of
/// all are in the byte after these, those of the first element lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Number of elements, a power of two.
    pub elements: u32,
    /// Their bytes.
    pub bytes: u32,
}

/// The layout of a format's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes of an element, a power of two. With a group they are only what queries report.
    pub bytes: u32,
    /// The group of elements that share bytes, if they do. Kernels cannot write such elements: writes of neighbours would race.
    pub group: Option<Group>,
    /// The encoding of all fields.
    pub encoding: Encoding,
    /// The fields in memory order; only the first [`Layout::count`] exist.
    pub fields: [Field; 4],
    /// Number of fields.
    pub count: usize,
    /// Bits of a field's location in memory if each field has one of its own: 8, 16 or 32, and at least the field's bits, which
    /// are the upper ones. `None` if the fields are packed.
    pub location: Option<u32>,
    /// The sources of red, green, blue and alpha in a read. For the border colour all fields are zero.
    pub sources: [Source; 4],
    /// Whether red, green and blue are sRGB-encoded.
    pub srgb: bool,
}

impl Layout {
    /// The smallest number of elements that have bytes of their own, and these bytes.
    pub fn granule(&self) -> Group {
        self.group.unwrap_or(Group { elements: 1, bytes: self.bytes })
    }

    /// Alignment of elements and rows in bytes: the size of an element, if each has bytes of its own.
    pub fn alignment(&self) -> usize {
        if self.group.is_some() { 1 } else { self.bytes as usize }
    }

    /// Bytes of a row of so many elements, a multiple of the granule's.
    pub fn row_bytes(&self, elements: usize) -> usize {
        let granule = self.granule();
        elements / granule.elements as usize * granule.bytes as usize
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields[..self.count]
    }
}

/// A channel order: the components in the fields of an element, in memory order, and the sources of the components of a read.
struct Order {
    order: cl_uint,
    holds: &'static [Component],
    /// Whether a channel follows that is ignored.
    padded: bool,
    sources: [Source; 4],
    srgb: bool,
    types: &'static [cl_uint],
    /// Whether images of all dimensions can have it; otherwise only 2-D images and arrays of them.
    any_dimensions: bool,
}

/// A channel data type: the encoding and the bits of the fields.
struct DataType {
    data_type: cl_uint,
    encoding: Encoding,
    bits: Bits,
}

enum Bits {
    /// The number of bits of each field.
    Each(u32),
    /// The number of bits of each field, which is in the upper bits of a location of 16 bits.
    Upper(u32),
    /// The number of bits of elements with one field, which share bytes.
    Grouped(u32, Group),
    /// A packed element: its bytes, and the fields (lowest bit, number of bits) in the order of the channels.
    Packed(u32, &'static [(u32, u32)]),
}

/// Types for one to four channels in common orders.
const COMMON: &[cl_uint] = &[
    CL_UNORM_INT8,
    CL_UNORM_INT16,
    CL_SNORM_INT8,
    CL_SNORM_INT16,
    CL_SIGNED_INT8,
    CL_SIGNED_INT16,
    CL_SIGNED_INT32,
    CL_UNSIGNED_INT8,
    CL_UNSIGNED_INT16,
    CL_UNSIGNED_INT32,
    CL_HALF_FLOAT,
    CL_FLOAT,
];
/// Types in the upper bits of 16, for red, red and green, and all four channels.
const UPPER: &[cl_uint] = &[
    CL_UNORM_INT10X6_EXT,
    CL_UNORM_INT12X4_EXT,
    CL_UNORM_INT14X2_EXT,
    CL_UNSIGNED_INT10X6_EXT,
    CL_UNSIGNED_INT12X4_EXT,
    CL_UNSIGNED_INT14X2_EXT,
];
/// Types whose elements share bytes.
const RAW: &[cl_uint] = &[CL_UNSIGNED_INT_RAW10_EXT, CL_UNSIGNED_INT_RAW12_EXT];
/// Types for intensity and luminance.
const GRAY: &[cl_uint] = &[CL_UNORM_INT8, CL_UNORM_INT16, CL_SNORM_INT8, CL_SNORM_INT16, CL_HALF_FLOAT, CL_FLOAT];
/// Types for three channels.
const PACKED: &[cl_uint] = &[CL_UNORM_SHORT_565, CL_UNORM_SHORT_555, CL_UNORM_INT_101010];

/// All channel orders with the types that are supported for them.
///
/// Not supported: orders whose elements would have three channels of the same size (`CL_sRGB`, `CL_RGx`), because the number of
/// bits of an element has to be a power of two; and `CL_DEPTH_STENCIL` with `CL_UNORM_INT24`, which only images shared with
/// OpenGL have.
const ORDERS: &[Order] = {
    use Component::{A, B, G, R};
    use Source::{Field as F, Inside, One, Zero};
    const fn order(
        order: cl_uint,
        holds: &'static [Component],
        sources: [Source; 4],
        types: &'static [cl_uint],
    ) -> Order {
        Order { order, holds, padded: false, sources, srgb: false, types, any_dimensions: true }
    }
    const fn padded(row: Order) -> Order {
        Order { padded: true, ..row }
    }
    const fn srgb(code: cl_uint, holds: &'static [Component], sources: [Source; 4]) -> Order {
        Order { srgb: true, ..order(code, holds, sources, &[CL_UNORM_INT8]) }
    }
    &[
        order(CL_RGBA, &[R, G, B, A], [F(0), F(1), F(2), F(3)], COMMON),
        order(CL_RGBA, &[R, G, B, A], [F(0), F(1), F(2), F(3)], &[CL_UNORM_INT_101010_2]),
        order(CL_RGBA, &[R, G, B, A], [F(0), F(1), F(2), F(3)], UPPER),
        order(CL_BGRA, &[B, G, R, A], [F(2), F(1), F(0), F(3)], COMMON),
        order(CL_ARGB, &[A, R, G, B], [F(1), F(2), F(3), F(0)], COMMON),
        order(CL_ABGR, &[A, B, G, R], [F(3), F(2), F(1), F(0)], COMMON),
        order(CL_ABGR, &[A, B, G, R], [F(3), F(2), F(1), F(0)], &[CL_UNORM_INT_2_101010_EXT]),
        order(CL_R, &[R], [F(0), Zero, Zero, One], COMMON),
        order(CL_R, &[R], [F(0), Zero, Zero, One], UPPER),
        order(CL_A, &[A], [Zero, Zero, Zero, F(0)], COMMON),
        order(CL_RG, &[R, G], [F(0), F(1), Zero, One], COMMON),
        order(CL_RG, &[R, G], [F(0), F(1), Zero, One], UPPER),
        order(CL_RA, &[R, A], [F(0), Zero, Zero, F(1)], COMMON),
        order(CL_R, &[R], [F(0), Zero, Zero, One], RAW),
        order(CL_RGB, &[R, G, B], [F(0), F(1), F(2), One], PACKED),
        padded(order(CL_Rx, &[R], [F(0), Zero, Zero, Inside], COMMON)),
        padded(order(CL_RGBx, &[R, G, B], [F(0), F(1), F(2), Inside], COMMON)),
        padded(order(CL_RGBx, &[R, G, B], [F(0), F(1), F(2), Inside], PACKED)),
        order(CL_INTENSITY, &[R], [F(0), F(0), F(0), F(0)], GRAY),
        order(CL_LUMINANCE, &[R], [F(0), F(0), F(0), One], GRAY),
        srgb(CL_sRGBA, &[R, G, B, A], [F(0), F(1), F(2), F(3)]),
        srgb(CL_sBGRA, &[B, G, R, A], [F(2), F(1), F(0), F(3)]),
        padded(srgb(CL_sRGBx, &[R, G, B], [F(0), F(1), F(2), Inside])),
        Order { any_dimensions: false, ..order(CL_DEPTH, &[R], [F(0), Zero, Zero, One], &[CL_UNORM_INT16, CL_FLOAT]) },
    ]
};

/// All data types.
const TYPES: &[DataType] = {
    use Encoding::{Float, Sint, Snorm, Uint, Unorm};
    const fn each(data_type: cl_uint, encoding: Encoding, bits: u32) -> DataType {
        DataType { data_type, encoding, bits: Bits::Each(bits) }
    }
    const fn upper(data_type: cl_uint, encoding: Encoding, bits: u32) -> DataType {
        DataType { data_type, encoding, bits: Bits::Upper(bits) }
    }
    const fn raw(data_type: cl_uint, bits: u32, group: Group) -> DataType {
        DataType { data_type, encoding: Uint, bits: Bits::Grouped(bits, group) }
    }
    const fn packed(data_type: cl_uint, bytes: u32, fields: &'static [(u32, u32)]) -> DataType {
        DataType { data_type, encoding: Unorm, bits: Bits::Packed(bytes, fields) }
    }
    &[
        each(CL_SNORM_INT8, Snorm, 8),
        each(CL_SNORM_INT16, Snorm, 16),
        each(CL_UNORM_INT8, Unorm, 8),
        each(CL_UNORM_INT16, Unorm, 16),
        each(CL_SIGNED_INT8, Sint, 8),
        each(CL_SIGNED_INT16, Sint, 16),
        each(CL_SIGNED_INT32, Sint, 32),
        each(CL_UNSIGNED_INT8, Uint, 8),
        each(CL_UNSIGNED_INT16, Uint, 16),
        each(CL_UNSIGNED_INT32, Uint, 32),
        each(CL_HALF_FLOAT, Float, 16),
        each(CL_FLOAT, Float, 32),
        upper(CL_UNORM_INT10X6_EXT, Unorm, 10),
        upper(CL_UNORM_INT12X4_EXT, Unorm, 12),
        upper(CL_UNORM_INT14X2_EXT, Unorm, 14),
        upper(CL_UNSIGNED_INT10X6_EXT, Uint, 10),
        upper(CL_UNSIGNED_INT12X4_EXT, Uint, 12),
        upper(CL_UNSIGNED_INT14X2_EXT, Uint, 14),
        raw(CL_UNSIGNED_INT_RAW10_EXT, 10, Group { elements: 4, bytes: 5 }),
        raw(CL_UNSIGNED_INT_RAW12_EXT, 12, Group { elements: 2, bytes: 3 }),
        packed(CL_UNORM_SHORT_565, 2, &[(11, 5), (5, 6), (0, 5)]),
        packed(CL_UNORM_SHORT_555, 2, &[(10, 5), (5, 5), (0, 5)]),
        packed(CL_UNORM_INT_101010, 4, &[(20, 10), (10, 10), (0, 10)]),
        packed(CL_UNORM_INT_101010_2, 4, &[(22, 10), (12, 10), (2, 10), (0, 2)]),
        packed(CL_UNORM_INT_2_101010_EXT, 4, &[(30, 2), (20, 10), (10, 10), (0, 10)]),
    ]
};

/// All supported formats.
pub fn formats() -> impl Iterator<Item = Format> {
    ORDERS.iter().flat_map(|row| row.types.iter().map(|&data_type| Format { order: row.order, data_type }))
}

impl Format {
    /// RGBA with normalized bytes.
    pub const RGBA8: Format = Format { order: CL_RGBA, data_type: CL_UNORM_INT8 };

    fn row(self) -> Option<&'static Order> {
        ORDERS.iter().find(|row| row.order == self.order && row.types.contains(&self.data_type))
    }

    /// Whether images of all dimensions can have it; otherwise only 2-D images and arrays of them. `None` when it is not
    /// supported.
    pub fn any_dimensions(self) -> Option<bool> {
        self.row().map(|row| row.any_dimensions)
    }

    /// Whether queries list it. Those with an ignored channel work, but the conformance tests, which take every format that is
    /// listed, expect of them what contradicts the specification: one channel of `CL_Rx`, and an alpha of 0 inside of images of
    /// `CL_RGBx`.
    pub fn is_listed(self) -> bool {
        self.row().is_some_and(|row| !row.padded)
    }

    /// The layout of its elements; `None` if it is not supported.
    pub fn layout(self) -> Option<Layout> {
        let row = self.row()?;
        let data = TYPES.iter().find(|data| data.data_type == self.data_type)?;
        let mut fields = [Field { bit: 0, bits: 0, holds: Component::R }; 4];
        for (i, &holds) in row.holds.iter().enumerate() {
            let (bit, bits) = match data.bits {
                Bits::Each(bits) => (i as u32 * bits, bits),
                Bits::Upper(bits) => (i as u32 * 16 + 16 - bits, bits),
                Bits::Grouped(bits, _) => (0, bits),
                Bits::Packed(_, places) => places[i],
            };
            fields[i] = Field { bit, bits, holds };
        }
        let location = match data.bits {
            Bits::Each(bits) => Some(bits),
            Bits::Upper(_) => Some(16),
            Bits::Grouped(..) | Bits::Packed(..) => None,
        };
        let channels = row.holds.len() as u32 + u32::from(row.padded);
        let bytes = match data.bits {
            Bits::Each(bits) => bits / 8 * channels,
            Bits::Upper(_) | Bits::Grouped(..) => 2 * channels,
            Bits::Packed(bytes, _) => bytes,
        };
        let group = match data.bits {
            Bits::Grouped(_, group) => Some(group),
            Bits::Each(_) | Bits::Upper(_) | Bits::Packed(..) => None,
        };
        Some(Layout {
            bytes,
            group,
            encoding: data.encoding,
            fields,
            count: row.holds.len(),
            location,
            sources: row.sources,
            srgb: row.srgb,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_fields_side_by_side() {
        let mut count = 0;
        for format in formats() {
            let layout = format.layout().expect("a layout");
            assert!(layout.bytes.is_power_of_two() && layout.bytes <= 16, "{format:?}");
            let mut taken = 0u128;
            for field in layout.fields() {
                let mask = ((1u128 << field.bits) - 1) << field.bit;
                assert_eq!(taken & mask, 0, "{format:?}: fields overlap");
                taken |= mask;
            }
            assert!(
                taken.checked_ilog2().is_some_and(|top| top < layout.bytes * 8),
                "{format:?}: fields leave the element"
            );
            if let Some(bits) = layout.location {
                let channels = layout.count as u32 + u32::from(!format.is_listed());
                assert_eq!(bits * channels, layout.bytes * 8, "{format:?}");
                for (field, end) in layout.fields().iter().zip((1..).map(|end| end * bits)) {
                    assert!(field.bit + field.bits == end && field.bits <= bits, "{format:?}: not the upper bits");
                }
            }
            if let Some(group) = layout.group {
                let [field] = layout.fields() else { panic!("{format:?}: several fields in a group") };
                assert!(group.elements.is_power_of_two() && group.bytes == group.elements + 1, "{format:?}");
                assert_eq!(group.elements * field.bits, group.bytes * 8, "{format:?}");
                assert_eq!(layout.row_bytes(4 * group.elements as usize), 4 * group.bytes as usize, "{format:?}");
            }
            for source in layout.sources {
                if let Source::Field(field) = source {
                    assert!(field < layout.count, "{format:?}");
                }
            }
            count += 1;
        }
        assert!(count >= 163, "fewer formats than before: {count}");
    }

    #[test]
    fn samplers_keep_what_they_are_given() {
        let sampler = Sampler::new(true, Addressing::MirroredRepeat, true).with_levels(true, 0.5, 3.0);
        assert!(sampler.is_normalized() && sampler.is_linear() && sampler.filters_levels());
        assert_eq!(sampler.addressing(), Addressing::MirroredRepeat);
        assert_eq!(sampler.0 >> Sampler::LOD_MIN_BIT & 0xFFFF, 128);
        assert_eq!(sampler.0 >> Sampler::LOD_MAX_BIT, 768);
    }
}
