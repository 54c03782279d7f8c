//! Reads, writes and queries of images.

use smallvec::SmallVec;
use spirv::{Capability, ImageOperands, Op};

use super::Call;
use crate::builtins::ImageQuery;
use crate::emit::Id;
use crate::emit::function::FunctionEmitter;
use crate::types::{ImageShape, Scalar, Ty, TypeKind};

/// `CLK_R` and `CLK_SNORM_INT8`, which SPIR-V's enumerations of channel orders and data types have as 0.
const FIRST_ORDER: u32 = 0x10b0;
const FIRST_DATA_TYPE: u32 = 0x10d0;

/// Dimensions of an image's elements, and whether there are several layers.
fn dimensions(shape: ImageShape) -> (u32, bool) {
    match shape {
        ImageShape::Dim1 | ImageShape::Dim1Buffer => (1, false),
        ImageShape::Dim1Array => (1, true),
        ImageShape::Dim2 | ImageShape::Dim2Depth | ImageShape::Dim2Msaa | ImageShape::Dim2MsaaDepth => (2, false),
        ImageShape::Dim2Array
        | ImageShape::Dim2ArrayDepth
        | ImageShape::Dim2ArrayMsaa
        | ImageShape::Dim2ArrayMsaaDepth => (2, true),
        ImageShape::Dim3 => (3, false),
    }
}

/// Whether an image has samples.
fn is_multi_sampled(shape: ImageShape) -> bool {
    match shape {
        ImageShape::Dim2Msaa
        | ImageShape::Dim2ArrayMsaa
        | ImageShape::Dim2MsaaDepth
        | ImageShape::Dim2ArrayMsaaDepth => true,
        ImageShape::Dim1
        | ImageShape::Dim1Buffer
        | ImageShape::Dim1Array
        | ImageShape::Dim2
        | ImageShape::Dim2Array
        | ImageShape::Dim2Depth
        | ImageShape::Dim2ArrayDepth
        | ImageShape::Dim3 => false,
    }
}

impl FunctionEmitter<'_, '_> {
    /// The shape of the image that is the first argument.
    fn shape_of(&self, ty: Ty) -> ImageShape {
        if let TypeKind::Image(shape, _) = self.module.source.types.kind(ty) { *shape } else { ImageShape::Dim2 }
    }

    /// A read: image, coordinates; image, coordinates, sample; or image, sampler, coordinates, perhaps a level or two gradients.
    pub(super) fn read_image(&mut self, call: &Call<'_>) -> Id {
        let (scalar, lanes) = self.lanes_of(call.result);
        let texel = self.module.lanes_type(scalar, 4);
        let is_sampler = |ty: Ty| matches!(self.module.source.types.kind(ty), TypeKind::Sampler);
        let value = if is_sampler(call.ty(1)) {
            let image_type = self.module.type_id(call.ty(0));
            let ty = self.module.unique_type(Op::TypeSampledImage, &[image_type]);
            let sampled = self.op(Op::SampledImage, ty, &[call.value(0), call.value(1)]);
            let mut operands: SmallVec<[u32; 6]> = SmallVec::from_slice(&[sampled, call.value(2)]);
            match call.count() {
                ..=3 => {
                    let zero = self.module.scalar(Scalar::Float, 0);
                    operands.extend([ImageOperands::LOD.bits(), zero]);
                }
                4 => {
                    self.module.capability(Capability::ImageMipmap);
                    operands.extend([ImageOperands::LOD.bits(), call.value(3)]);
                }
                _ => {
                    self.module.capability(Capability::ImageMipmap);
                    let [dx, dy] = [3, 4].map(|index| self.gradient(call.value(index), call.ty(index)));
                    operands.extend([ImageOperands::GRAD.bits(), dx, dy]);
                }
            }
            self.op(Op::ImageSampleExplicitLod, texel, &operands)
        } else {
            let mut operands: SmallVec<[u32; 4]> = SmallVec::from_slice(&[call.value(0), call.value(1)]);
            if call.count() > 2 {
                operands.extend([ImageOperands::SAMPLE.bits(), call.value(2)]);
            }
            self.op(Op::ImageRead, texel, &operands)
        };
        if lanes > 1 {
            return value;
        }
        let ty = self.module.type_id(call.result);
        self.lane(value, ty, 0)
    }

    /// A gradient: SPIR-V wants as many components as there are dimensions, and OpenCL C has four for three.
    fn gradient(&mut self, value: Id, ty: Ty) -> Id {
        match self.lanes_of(ty) {
            (scalar, 4) => {
                let three = self.module.lanes_type(scalar, 3);
                self.op(Op::VectorShuffle, three, &[value, value, 0, 1, 2])
            }
            _ => value,
        }
    }

    /// A write: image, coordinates, perhaps a level, colour.
    pub(super) fn write_image(&mut self, call: &Call<'_>) -> Id {
        let mut operands: SmallVec<[u32; 5]> = SmallVec::from_slice(&[call.value(0), call.value(1)]);
        if call.count() > 3 {
            self.module.capability(Capability::ImageMipmap);
            operands.extend([call.value(3), ImageOperands::LOD.bits(), call.value(2)]);
        } else {
            operands.push(call.value(2));
        }
        self.op_void(Op::ImageWrite, &operands);
        0
    }

    /// A property of an image.
    pub(super) fn query_image(&mut self, call: &Call<'_>, query: ImageQuery) -> Id {
        let (image, int) = (call.value(0), self.module.int_type(32));
        match query {
            ImageQuery::ChannelDataType => {
                let value = self.op(Op::ImageQueryFormat, int, &[image]);
                self.uint_op(Op::IAdd, value, FIRST_DATA_TYPE)
            }
            ImageQuery::ChannelOrder => {
                let value = self.op(Op::ImageQueryOrder, int, &[image]);
                self.uint_op(Op::IAdd, value, FIRST_ORDER)
            }
            ImageQuery::Levels => self.op(Op::ImageQueryLevels, int, &[image]),
            ImageQuery::Samples => self.op(Op::ImageQuerySamples, int, &[image]),
            ImageQuery::Width | ImageQuery::Height | ImageQuery::Depth | ImageQuery::Dim | ImageQuery::ArraySize => {
                self.image_size(call, query)
            }
        }
    }

    /// A part of an image's size.
    fn image_size(&mut self, call: &Call<'_>, query: ImageQuery) -> Id {
        let shape = self.shape_of(call.ty(0));
        let (dimensions, is_array) = dimensions(shape);
        let int = self.module.int_type(32);
        let lanes = dimensions + u32::from(is_array);
        let ty = self.module.vector_type(int, lanes);
        let sizes = if shape == ImageShape::Dim1Buffer || is_multi_sampled(shape) {
            self.op(Op::ImageQuerySize, ty, &[call.value(0)])
        } else {
            let level = self.module.int(0);
            self.op(Op::ImageQuerySizeLod, ty, &[call.value(0), level])
        };
        let lane = match query {
            ImageQuery::Height => 1,
            ImageQuery::Depth => 2,
            ImageQuery::ArraySize => dimensions,
            ImageQuery::Dim => {
                let result = self.module.type_id(call.result);
                return match dimensions {
                    3 => {
                        let mut parts: SmallVec<[Id; 4]> = (0..3).map(|lane| self.lane(sizes, int, lane)).collect();
                        parts.push(self.module.int(0));
                        self.op(Op::CompositeConstruct, result, &parts)
                    }
                    _ if is_array => self.op(Op::VectorShuffle, result, &[sizes, sizes, 0, 1]),
                    _ => sizes,
                };
            }
            ImageQuery::Width
            | ImageQuery::ChannelDataType
            | ImageQuery::ChannelOrder
            | ImageQuery::Levels
            | ImageQuery::Samples => 0,
        };
        let value = if lanes == 1 { sizes } else { self.lane(sizes, int, lane) };
        let to = self.lanes_of(call.result);
        self.convert_lanes(value, (Scalar::UInt, 1), to)
    }
}
