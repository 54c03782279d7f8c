//! What is run: the arguments and launches of a kernel, and the reproducible data of its arguments.

use serde::{Deserialize, Serialize};

/// A kernel with the launches to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KernelPlan {
    pub(crate) name: String,
    pub(crate) args: Vec<Arg>,
    pub(crate) launches: Vec<Launch>,
}

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Arg {
    /// A buffer of elements.
    Buffer(Element),
    /// Local memory.
    Local,
    /// A value of this many bytes.
    Value(Element, usize),
    /// An image with this type name.
    Image(Dimensions, Channels),
    /// A sampler.
    Sampler,
}

/// The dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Dimensions {
    One,
    OneArray,
    OneBuffer,
    Two,
    TwoArray,
    Three,
}

/// The values that an image's channels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Channels {
    Float,
    Normalized,
    Signed,
    Unsigned,
}

/// The elements of a buffer or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Element {
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
    /// Of an unknown type: words that are small integers or floats.
    Mixed,
}

/// A launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) global: Vec<usize>,
    pub(crate) local: Vec<usize>,
    /// Which values the arguments get: an index into [`VALUES`].
    pub(crate) values: usize,
}

/// The values of a launch's arguments.
pub(crate) struct Values {
    /// Integers passed by value.
    integer: u64,
    /// Integers in buffers are below this.
    below: u64,
    /// The range of floats.
    floats: (f32, f32),
    /// Bytes of a buffer.
    pub(crate) bytes: usize,
    /// Bytes of a local argument.
    pub(crate) local: usize,
    /// Texels of an image along x and y.
    pub(crate) side: usize,
    /// Whether launches with these values are measured.
    pub(crate) is_large: bool,
}

const SMALL: Values =
    Values { integer: 16, below: 16, floats: (0.0, 1.0), bytes: 256 << 10, local: 8 << 10, side: 64, is_large: false };
const LARGE: Values =
    Values { integer: 128, below: 128, bytes: 4 << 20, side: 256, local: 16 << 10, is_large: true, ..SMALL };

/// All kinds of values.
pub(crate) const VALUES: [Values; 6] = [
    SMALL,
    Values { integer: 64, below: 64, floats: (-2.0, 2.0), ..SMALL },
    Values { integer: 3, below: 4, ..SMALL },
    LARGE,
    Values { integer: 4096, ..LARGE },
    Values { integer: 16, ..LARGE },
];

/// Work-items of a launch that is checked as one group.
const MOST_IN_GROUP: usize = 1024;

/// Names of types, and what they are.
const TYPES: &[(&str, Element)] = &[
    ("char", Element::I8),
    ("uchar", Element::I8),
    ("unsigned char", Element::I8),
    ("signed char", Element::I8),
    ("int8_t", Element::I8),
    ("uint8_t", Element::I8),
    ("short", Element::I16),
    ("ushort", Element::I16),
    ("unsigned short", Element::I16),
    ("int16_t", Element::I16),
    ("uint16_t", Element::I16),
    ("int", Element::I32),
    ("uint", Element::I32),
    ("unsigned int", Element::I32),
    ("unsigned", Element::I32),
    ("int32_t", Element::I32),
    ("uint32_t", Element::I32),
    ("long", Element::I64),
    ("ulong", Element::I64),
    ("unsigned long", Element::I64),
    ("size_t", Element::I64),
    ("int64_t", Element::I64),
    ("uint64_t", Element::I64),
    ("half", Element::F16),
    ("float", Element::F32),
    ("double", Element::F64),
];

const IMAGES: &[(&str, Dimensions)] = &[
    ("image1d_t", Dimensions::One),
    ("image1d_array_t", Dimensions::OneArray),
    ("image1d_buffer_t", Dimensions::OneBuffer),
    ("image2d_t", Dimensions::Two),
    ("image2d_array_t", Dimensions::TwoArray),
    ("image3d_t", Dimensions::Three),
];

/// The element type and the number of components of a type's name, if it is a built-in one.
pub(crate) fn element(name: &str) -> Option<(Element, usize)> {
    let words: Vec<&str> = name
        .trim_end_matches(['*', ' '])
        .split_whitespace()
        .filter(|word| !["const", "volatile", "restrict", "__restrict"].contains(word))
        .collect();
    let name = words.join(" ");
    let find = |name: &str| TYPES.iter().find(|row| row.0 == name).map(|row| row.1);
    if let Some(element) = find(&name) {
        return Some((element, 1));
    }
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let count = name[base.len()..].parse().ok().filter(|count| [2, 3, 4, 8, 16].contains(count))?;
    Some((find(base)?, count))
}

/// The dimensions of an image type.
pub(crate) fn image(name: &str) -> Option<Dimensions> {
    IMAGES.iter().find(|row| row.0 == name).map(|row| row.1)
}

impl Launch {
    /// This launch with all work-items in one group, and not too many of them.
    pub(crate) fn as_one_group(&self) -> Self {
        let mut global = self.global.clone();
        while global.iter().product::<usize>() > MOST_IN_GROUP {
            let largest = global.iter_mut().max().expect("a launch has a dimension");
            *largest /= 2;
        }
        Self { local: global.clone(), global, values: self.values }
    }
}

impl Element {
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::I16 | Self::F16 => 2,
            Self::I32 | Self::F32 | Self::Mixed => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

impl Values {
    /// `bytes` bytes of elements; the same for the same `seed`. A value passed to the kernel is `scalar`.
    pub(crate) fn bytes_of(&self, element: Element, bytes: usize, seed: u64, scalar: bool) -> Vec<u8> {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9) ^ self.integer);
        let mut data = Vec::with_capacity(bytes + 8);
        let mut index = 0_usize;
        while data.len() < bytes {
            let integer = if scalar { self.integer } else { rng.u64(..self.below) };
            let float = self.floats.0 + rng.f32() * (self.floats.1 - self.floats.0);
            match element {
                Element::I8 if scalar => data.push(integer.min(127) as u8),
                Element::I8 => data.push(rng.u8(..)),
                Element::I16 => data.extend((integer as u16).to_le_bytes()),
                Element::I32 => data.extend((integer as u32).to_le_bytes()),
                Element::I64 => data.extend(integer.to_le_bytes()),
                Element::F16 => data.extend(half::f16::from_f32(float).to_bits().to_le_bytes()),
                Element::F32 => data.extend(float.to_le_bytes()),
                Element::F64 => data.extend(f64::from(float).to_le_bytes()),
                Element::Mixed if index.is_multiple_of(2) == (self.integer == 16) => data.extend(float.to_le_bytes()),
                Element::Mixed => data.extend((integer as u32).to_le_bytes()),
            }
            index += 1;
        }
        data.truncate(bytes);
        data
    }
}

/// The launches to try, by dimensions that the source uses, in the order in which they are tried.
pub(crate) fn launches(dimensions: usize, required: Option<[usize; 3]>) -> Vec<Launch> {
    type Shape = (&'static [usize], &'static [usize]);
    const ONE: &[Shape] = &[(&[256], &[64]), (&[60], &[20]), (&[64], &[1]), (&[33], &[33])];
    const TWO: &[Shape] = &[(&[32, 16], &[8, 8]), (&[24, 6], &[6, 3]), (&[16, 8], &[1, 1]), (&[64, 4], &[64, 1])];
    const THREE: &[Shape] = &[(&[16, 8, 4], &[8, 4, 2]), (&[9, 6, 4], &[3, 3, 2]), (&[16, 4, 2], &[1, 1, 1])];
    const LARGE: [Shape; 3] = [(&[4096], &[64]), (&[64, 64], &[16, 8]), (&[32, 16, 8], &[8, 8, 1])];
    let launch = |(global, local): (&[usize], &[usize]), values| Launch {
        global: global.to_vec(),
        local: local.to_vec(),
        values,
    };
    if let Some(required) = required {
        let dimensions = dimensions.max(3 - required.iter().rev().take_while(|size| **size == 1).count()).max(1);
        let local = &required[..dimensions];
        let global =
            |count: usize| local.iter().map(|size| size * if *size == 1 { 1 } else { count }).collect::<Vec<_>>();
        let shapes = [
            (global(2), 0),
            (global(4), 1),
            (global(1), 2),
            (global(8), 3),
            (global(8), 4),
            (global(8), 5),
            (global(4), 0),
            (global(2), 1),
        ];
        return shapes.iter().map(|(global, values)| launch((global, local), *values)).collect();
    }
    let (shapes, large) = match dimensions {
        0 | 1 => (ONE, LARGE[0]),
        2 => (TWO, LARGE[1]),
        _ => (THREE, LARGE[2]),
    };
    let mut all: Vec<Launch> = shapes.iter().enumerate().map(|(i, shape)| launch(*shape, i % 3)).collect();
    all.extend((3..VALUES.len()).map(|values| launch(large, values)));
    for offset in 1..3 {
        all.extend(shapes.iter().enumerate().map(|(i, shape)| launch(*shape, (i + offset) % 3)));
    }
    all
}
