//! Reads, writes and queries of images.

use super::super::condition::When::{self, All, Extension};
use super::{Group, Images, ONE, Types, V1_2, types};
use crate::builtins::ImageQuery;
use crate::builtins::Lowering::{self, QueryImage, ReadImage, WriteImage};
use crate::types::Access::{ReadOnly, ReadWrite, WriteOnly};
use crate::types::ImageShape::{
    self, Dim1, Dim1Array, Dim1Buffer, Dim2, Dim2Array, Dim2ArrayDepth, Dim2ArrayMsaa, Dim2ArrayMsaaDepth, Dim2Depth,
    Dim2Msaa, Dim2MsaaDepth, Dim3,
};
use crate::types::{Access, Scalar};

const FLOAT: Types = types(&[Scalar::Float], &[4]);
const INT: Types = types(&[Scalar::Int], &[4]);
const UINT: Types = types(&[Scalar::UInt], &[4]);
const HALF: Types = types(&[Scalar::Half], &[4]);

/// With a level or gradients. The extension adds to every version.
const LEVELS: When = All(&[When::Images, Extension("cl_khr_mipmap_image")]);
const LEVEL_WRITES: When = All(&[When::Images, Extension("cl_khr_mipmap_image_writes")]);
const LEVEL_QUERIES: When = All(&[V1_2, When::Images, Extension("cl_khr_mipmap_image")]);
const IMAGES_1_2: When = All(&[V1_2, When::Images]);
/// Every version has them.
const IMAGES: When = When::Images;

/// Images of colours that a sampler can read.
const SAMPLED: &[ImageShape] = &[Dim2, Dim3, Dim1];
const SAMPLED_ARRAYS: &[ImageShape] = &[Dim2Array, Dim1Array];
const DEPTH: &[ImageShape] = &[Dim2Depth, Dim2ArrayDepth];
/// Images of colours that can be accessed by integers.
const COLOURS: &[ImageShape] = &[Dim1, Dim1Buffer, Dim1Array, Dim2, Dim2Array, Dim3];
/// Images of colours that can have levels.
const LEVELLED: &[ImageShape] = &[Dim1, Dim1Array, Dim2, Dim2Array, Dim3];
const MSAA: &[ImageShape] = &[Dim2Msaa, Dim2ArrayMsaa];
const MSAA_DEPTH: &[ImageShape] = &[Dim2MsaaDepth, Dim2ArrayMsaaDepth];

const READ: &[Access] = &[ReadOnly];
const READABLE: &[Access] = &[ReadOnly, ReadWrite];
const WRITABLE: &[Access] = &[WriteOnly, ReadWrite];
const EVERY: &[Access] = &[ReadOnly, WriteOnly, ReadWrite];

const fn group(
    when: When,
    types: Types,
    shapes: &'static [ImageShape],
    accesses: &'static [Access],
    signature: &'static str,
    functions: &'static [(&'static str, Lowering)],
) -> Group {
    Group { when, types, images: Some(Images { shapes, accesses }), signature, functions }
}

/// The functions of one type of colour; `$more` are those of depth images.
macro_rules! colours {
    ($types:expr, $read:literal, $write:literal $(, $more:expr)*) => {
        &[
            group(IMAGES, $types, SAMPLED, READ, "texel(image, sampler_t, coord)", &[($read, ReadImage)]),
            group(IMAGES, $types, SAMPLED, READ, "texel(image, sampler_t, fcoord)", &[($read, ReadImage)]),
            group(IMAGES_1_2, $types, SAMPLED_ARRAYS, READ, "texel(image, sampler_t, coord)", &[($read, ReadImage)]),
            group(IMAGES_1_2, $types, SAMPLED_ARRAYS, READ, "texel(image, sampler_t, fcoord)", &[($read, ReadImage)]),
            group(IMAGES_1_2, $types, COLOURS, READABLE, "texel(image, coord)", &[($read, ReadImage)]),
            group(LEVELS, $types, LEVELLED, READABLE, "texel(image, sampler_t, fcoord, float)", &[($read, ReadImage)]),
            group(LEVELS, $types, LEVELLED, READABLE, "texel(image, sampler_t, fcoord, grad, grad)", &[($read, ReadImage)]),
            group(IMAGES_1_2, $types, MSAA, READABLE, "texel(image, coord, int)", &[($read, ReadImage)]),
            group(IMAGES, $types, COLOURS, WRITABLE, "void(image, coord, texel)", &[($write, WriteImage)]),
            group(LEVEL_WRITES, $types, LEVELLED, WRITABLE, "void(image, coord, int, texel)", &[($write, WriteImage)]),
            $($more,)*
        ]
    };
}

pub(super) const FLOATS: &[Group] = colours!(
    FLOAT,
    "read_imagef",
    "write_imagef",
    group(IMAGES, FLOAT, DEPTH, READ, "texel(image, sampler_t, coord)", &[("read_imagef", ReadImage)]),
    group(IMAGES, FLOAT, DEPTH, READ, "texel(image, sampler_t, fcoord)", &[("read_imagef", ReadImage)]),
    group(IMAGES_1_2, FLOAT, DEPTH, READABLE, "texel(image, coord)", &[("read_imagef", ReadImage)]),
    group(LEVELS, FLOAT, DEPTH, READABLE, "texel(image, sampler_t, fcoord, float)", &[("read_imagef", ReadImage)]),
    group(LEVELS, FLOAT, DEPTH, READABLE, "texel(image, sampler_t, fcoord, grad, grad)", &[("read_imagef", ReadImage)]),
    group(IMAGES_1_2, FLOAT, MSAA_DEPTH, READABLE, "texel(image, coord, int)", &[("read_imagef", ReadImage)]),
    group(IMAGES, FLOAT, DEPTH, WRITABLE, "void(image, coord, texel)", &[("write_imagef", WriteImage)]),
    group(LEVEL_WRITES, FLOAT, DEPTH, WRITABLE, "void(image, coord, int, texel)", &[("write_imagef", WriteImage)])
);
pub(super) const INTS: &[Group] = colours!(INT, "read_imagei", "write_imagei");
pub(super) const UINTS: &[Group] = colours!(UINT, "read_imageui", "write_imageui");
pub(super) const HALVES: &[Group] = colours!(HALF, "read_imageh", "write_imageh");

/// Images with a width: all.
const ALL: &[ImageShape] = &[
    Dim1,
    Dim1Buffer,
    Dim2,
    Dim3,
    Dim1Array,
    Dim2Array,
    Dim2Depth,
    Dim2ArrayDepth,
    Dim2Msaa,
    Dim2MsaaDepth,
    Dim2ArrayMsaa,
    Dim2ArrayMsaaDepth,
];
const WITH_HEIGHT: &[ImageShape] =
    &[Dim2, Dim3, Dim2Array, Dim2Depth, Dim2ArrayDepth, Dim2Msaa, Dim2MsaaDepth, Dim2ArrayMsaa, Dim2ArrayMsaaDepth];
const FLAT: &[ImageShape] =
    &[Dim2, Dim2Array, Dim2ArrayDepth, Dim2Depth, Dim2Msaa, Dim2MsaaDepth, Dim2ArrayMsaa, Dim2ArrayMsaaDepth];
const ARRAYS: &[ImageShape] = &[Dim1Array, Dim2Array, Dim2ArrayDepth, Dim2ArrayMsaa, Dim2ArrayMsaaDepth];
const WITH_LEVELS: &[ImageShape] = &[Dim1, Dim2, Dim3, Dim1Array, Dim2Array, Dim2ArrayDepth, Dim2Depth];
const MULTI_SAMPLED: &[ImageShape] = &[Dim2Msaa, Dim2MsaaDepth, Dim2ArrayMsaa, Dim2ArrayMsaaDepth];

pub(super) const TABLE: &[Group] = &[
    group(
        IMAGES,
        ONE,
        ALL,
        EVERY,
        "int(image)",
        &[
            ("get_image_channel_data_type", QueryImage(ImageQuery::ChannelDataType)),
            ("get_image_channel_order", QueryImage(ImageQuery::ChannelOrder)),
            ("get_image_width", QueryImage(ImageQuery::Width)),
        ],
    ),
    group(IMAGES, ONE, WITH_HEIGHT, EVERY, "int(image)", &[("get_image_height", QueryImage(ImageQuery::Height))]),
    group(IMAGES, ONE, &[Dim3], EVERY, "int(image)", &[("get_image_depth", QueryImage(ImageQuery::Depth))]),
    group(IMAGES, ONE, FLAT, EVERY, "int2(image)", &[("get_image_dim", QueryImage(ImageQuery::Dim))]),
    group(IMAGES, ONE, &[Dim3], EVERY, "int4(image)", &[("get_image_dim", QueryImage(ImageQuery::Dim))]),
    group(IMAGES, ONE, ARRAYS, EVERY, "size_t(image)", &[("get_image_array_size", QueryImage(ImageQuery::ArraySize))]),
    group(
        LEVEL_QUERIES,
        ONE,
        WITH_LEVELS,
        EVERY,
        "int(image)",
        &[("get_image_num_mip_levels", QueryImage(ImageQuery::Levels))],
    ),
    group(
        IMAGES,
        ONE,
        MULTI_SAMPLED,
        EVERY,
        "int(image)",
        &[("get_image_num_samples", QueryImage(ImageQuery::Samples))],
    ),
];
