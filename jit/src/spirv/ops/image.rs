//! Images: accesses become `image_read` and `image_write`, which are expanded for a format later; queries load from the
//! descriptor.

use std::mem::offset_of;

use clift_include::cl::{CL_R, CL_SNORM_INT8};
use clift_include::image::{ImageDescriptor, ImageLevel};
use clift_kir::inst::{ImageFlags, ImageInfo, MemInfo};
use clift_kir::{Elem, Imm, Opcode, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::ImageOperands;

use super::classes::ImageInst;
use crate::builtins::{self, ClOp};
use crate::spirv::llvm_backend;
use crate::spirv::lower::{FuncCx, Leaves, Val};
use crate::spirv::types::{ImageShape, TypeKind};
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: ImageInst) -> Result<(), InstError> {
    match op {
        ImageInst::SampledImage => {
            let parts = [cx.value(inst.id(0)?)?, cx.value(inst.id(1)?)?];
            shape(cx, inst.id(0)?)?;
            cx.set_val(inst, Val::Leaves(Leaves::from_slice(&parts)))
        }
        ImageInst::Image => {
            let (image, _, _) = sampled(cx, inst.id(0)?)?;
            cx.set(inst, image)
        }
        ImageInst::ImageSampleExplicitLod => {
            let (image, sampler, shape) = sampled(cx, inst.id(0)?)?;
            let coordinates = coordinates(cx, inst.id(1)?, shape)?;
            let level = level(cx, inst, 2, shape, image)?;
            let result = cx.kir_type(inst.result_type()?)?;
            let value = read(cx, result, ImageFlags::SAMPLER, shape, [image, sampler, coordinates], level)?;
            cx.set(inst, value)
        }
        ImageInst::ImageRead | ImageInst::ImageFetch => {
            let shape = shape(cx, inst.id(0)?)?;
            let image = cx.value(inst.id(0)?)?;
            let coordinates = integers(cx, inst.id(1)?, shape)?;
            let level = level(cx, inst, 2, shape, image)?;
            let sampler = cx.b.iconst(Type::I64, 0);
            let result = cx.kir_type(inst.result_type()?)?;
            let value = read(cx, result, ImageFlags::empty(), shape, [image, sampler, coordinates], level)?;
            cx.set(inst, value)
        }
        ImageInst::ImageWrite => {
            let shape = shape(cx, inst.id(0)?)?;
            let image = cx.value(inst.id(0)?)?;
            let coordinates = integers(cx, inst.id(1)?, shape)?;
            let colour = cx.value(inst.id(2)?)?;
            let level = level(cx, inst, 3, shape, image)?;
            write(cx, shape, [image, coordinates, colour], level)
        }
        ImageInst::ImageQueryFormat | ImageInst::ImageQueryOrder => {
            shape(cx, inst.id(0)?)?;
            let image = cx.value(inst.id(0)?)?;
            let is_order = op == ImageInst::ImageQueryOrder;
            let value = format_part(cx, image, if is_order { FormatPart::Order } else { FormatPart::DataType });
            // SPIR-V's enumerants begin with 0, OpenCL C's with `CL_R` and `CL_SNORM_INT8`. LLVM's back end expects OpenCL C's
            // values.
            let counted = cx.unit.module.generator != llvm_backend::GENERATOR;
            let first = if is_order { CL_R } else { CL_SNORM_INT8 };
            let first = cx.b.iconst(Type::I32, if counted { first.into() } else { 0 });
            let value = cx.b.int2(Opcode::Isub, value, first);
            set_integer(cx, inst, value)
        }
        ImageInst::ImageQueryLevels => {
            shape(cx, inst.id(0)?)?;
            let image = cx.value(inst.id(0)?)?;
            let value = number(cx, image, offset_of!(ImageDescriptor, level_count));
            set_integer(cx, inst, value)
        }
        ImageInst::ImageQuerySize | ImageInst::ImageQuerySizeLod => {
            let shape = shape(cx, inst.id(0)?)?;
            let mut level = cx.value(inst.id(0)?)?;
            if op == ImageInst::ImageQuerySizeLod {
                let wanted = cx.scalar_int(inst.id(1)?)?;
                let wanted = cx.b.int_resize(wanted, Elem::I64, false);
                // A level that does not exist counts as the last one.
                let count = number(cx, level, offset_of!(ImageDescriptor, level_count));
                let count = cx.b.int_resize(count, Elem::I64, false);
                let one = cx.b.iconst(Type::I64, 1);
                let last = cx.b.int2(Opcode::Isub, count, one);
                let number = cx.b.int2(Opcode::Umin, wanted, last);
                level = cx.b.addr(level, Some(number), size_of::<ImageLevel>() as u64, 0);
            }
            let sizes = sizes(cx, level, shape);
            let sizes = cx.b.vec(&sizes);
            set_integer(cx, inst, sizes)
        }
    }
}

/// One of the two enumerants of an image format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spirv) enum FormatPart {
    /// The channel order.
    Order,
    /// The channel data type.
    DataType,
}

/// An enumerant of an image's format, as OpenCL C's functions return it.
pub(in crate::spirv) fn format_part(cx: &mut FuncCx<'_>, image: Value, part: FormatPart) -> Value {
    let offset = match part {
        FormatPart::Order => offset_of!(ImageDescriptor, order),
        FormatPart::DataType => offset_of!(ImageDescriptor, data_type),
    };
    number(cx, image, offset)
}

/// Loads a 32-bit field of a descriptor.
pub(super) fn number(cx: &mut FuncCx<'_>, image: Value, offset: usize) -> Value {
    let place = cx.b.addr(image, None, 1, offset as i64);
    cx.b.load(Type::I32, place, MemInfo { align: 4, volatile: false, invariant: true, alias: 0 })
}

/// The number of elements in each dimension of a level, then the layers of an array.
fn sizes(cx: &mut FuncCx<'_>, level: Value, shape: ImageShape) -> Vec<Value> {
    let fields = [offset_of!(ImageLevel, width), offset_of!(ImageLevel, height), offset_of!(ImageLevel, depth)];
    let dims = &fields[..shape.dims.count() as usize];
    let layers = shape.arrayed.then_some(offset_of!(ImageLevel, layers));
    dims.iter().copied().chain(layers).map(|field| number(cx, level, field)).collect()
}

/// The image and the sampler of a sampled image, and the image's shape.
fn sampled(cx: &mut FuncCx<'_>, id: u32) -> Result<(Value, Value, ImageShape), InstError> {
    let ty = cx.type_of(id)?;
    let TypeKind::SampledImage { image } = cx.type_info(ty)?.kind else {
        return Err(InstError::malformed(format!("%{id} is not a sampled image")));
    };
    let TypeKind::Image { shape, .. } = cx.type_info(image)?.kind else {
        return Err(InstError::malformed(format!("%{image} is not an image type")));
    };
    if let Val::Leaves(leaves) = cx.val(id)?
        && let &[image, sampler] = leaves.as_slice()
    {
        return Ok((image, sampler, shape));
    }
    Err(InstError::malformed(format!("%{id} is not a sampled image")))
}

/// The shape of an image.
pub(super) fn shape(cx: &mut FuncCx<'_>, id: u32) -> Result<ImageShape, InstError> {
    let ty = cx.type_of(id)?;
    let TypeKind::Image { shape, .. } = cx.type_info(ty)?.kind else {
        return Err(InstError::malformed(format!("%{id} is not an image")));
    };
    Ok(shape)
}

/// Coordinates as four lanes; unused lanes have arbitrary values.
fn coordinates(cx: &mut FuncCx<'_>, id: u32, shape: ImageShape) -> Result<Value, InstError> {
    let value = cx.value(id)?;
    let ty = cx.b.ty(value);
    if ![Elem::I32, Elem::F32].contains(&ty.elem) {
        return Err(InstError::malformed("the coordinates are neither 32-bit floats nor 32-bit integers"));
    }
    if ty.lanes() < shape.dims.count() + u32::from(shape.arrayed) {
        return Err(InstError::malformed("the coordinates have too few components"));
    }
    Ok(four(cx, value))
}

fn integers(cx: &mut FuncCx<'_>, id: u32, shape: ImageShape) -> Result<Value, InstError> {
    let value = coordinates(cx, id, shape)?;
    if cx.b.ty(value).is_int() { Ok(value) } else { Err(InstError::malformed("the coordinates are not integers")) }
}

/// A value extended to four lanes by repeating the last one.
fn four(cx: &mut FuncCx<'_>, value: Value) -> Value {
    let lanes = cx.b.ty(value).lanes();
    if lanes == 4 {
        return value;
    }
    let parts: Vec<Value> = (0..4).map(|lane| cx.b.extract(value, lane.min(lanes - 1))).collect();
    cx.b.vec(&parts)
}

/// The level of detail of the image operands that begin at a position, a float or an integer.
fn level(
    cx: &mut FuncCx<'_>,
    inst: &Inst,
    at: usize,
    shape: ImageShape,
    image: Value,
) -> Result<Option<Value>, InstError> {
    if inst.len() <= at {
        return Ok(None);
    }
    let Operand::ImageOperands(mask) = *inst.operand(at)? else {
        return Err(InstError::malformed("the image operands mask is missing"));
    };
    let harmless = ImageOperands::SIGN_EXTEND | ImageOperands::ZERO_EXTEND | ImageOperands::NONTEMPORAL;
    let known = harmless | ImageOperands::LOD | ImageOperands::GRAD;
    if !known.contains(mask) {
        return Err(InstError::unsupported(format!("image operands {:?}", mask - known)));
    }
    if mask.contains(ImageOperands::GRAD) {
        return gradients(cx, inst.id(at + 1)?, inst.id(at + 2)?, shape, image).map(Some);
    }
    if !mask.contains(ImageOperands::LOD) {
        return Ok(None);
    }
    let level = cx.value(inst.id(at + 1)?)?;
    number_of_level(cx, level)
}

/// A level of detail, `None` for the constant 0; integers have 32 bits.
fn number_of_level(cx: &mut FuncCx<'_>, level: Value) -> Result<Option<Value>, InstError> {
    let ty = cx.b.ty(level);
    if ty.is_vector() || !(ty.is_int() || ty == Type::F32) {
        return Err(InstError::malformed("the level of detail is not a scalar integer or 32-bit float"));
    }
    // Plus zero as a float is zero as an integer.
    if cx.b.func.dfg.as_splat_bits(level) == Some(0) {
        return Ok(None);
    }
    Ok(Some(if ty.is_int() { cx.b.int_resize(level, Elem::I32, true) } else { level }))
}

/// The level of detail for two gradients: the logarithm of the longer one, measured in elements.
fn gradients(cx: &mut FuncCx<'_>, dx: u32, dy: u32, shape: ImageShape, image: Value) -> Result<Value, InstError> {
    let dims = shape.dims.count();
    let sizes = sizes(cx, image, ImageShape { arrayed: false, ..shape });
    let mut longest = None;
    for gradient in [dx, dy] {
        let gradient = cx.value(gradient)?;
        let ty = cx.b.ty(gradient);
        if ty.elem != Elem::F32 || ty.lanes() < dims {
            return Err(InstError::malformed("a gradient does not have a 32-bit float for each dimension"));
        }
        let mut square = cx.b.fconst(Type::F32, 0.0);
        for (lane, &size) in (0..).zip(&sizes) {
            let part = cx.b.extract(gradient, lane);
            let size = cx.b.convert(Opcode::UtoFp, size, Type::F32, Default::default());
            let part = cx.b.float2(Opcode::Fmul, part, size);
            square = cx.b.fma(part, part, square);
        }
        longest = Some(longest.map_or(square, |other| cx.b.float2(Opcode::Fmax, other, square)));
    }
    let square = longest.ok_or_else(|| InstError::malformed("the gradients are missing"))?;
    let log = builtins::expand(&mut cx.b, ClOp::log2, &[builtins::Operand::Value(square)], Some(Type::F32));
    let log = log.map_err(InstError::malformed)?.ok_or_else(|| InstError::malformed("the logarithm has no result"))?;
    let half = cx.b.fconst(Type::F32, 0.5);
    Ok(cx.b.float2(Opcode::Fmul, log, half))
}

fn as_integer(cx: &mut FuncCx<'_>, level: Value) -> Value {
    if cx.b.ty(level).is_int() {
        return level;
    }
    let how = clift_kir::Convert { saturate: true, ..Default::default() };
    cx.b.convert(Opcode::FptoS, level, Type::I32, how)
}

fn flags(shape: ImageShape, level: Option<Value>) -> ImageFlags {
    let mut has = ImageFlags::empty();
    has.set(ImageFlags::LAYERS, shape.arrayed);
    has.set(ImageFlags::LEVEL, level.is_some());
    has
}

/// Whether an image function of OpenCL C reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spirv) enum ImageFunction {
    /// Reads: image, coordinates; or image, sampler, coordinates, perhaps a level or two gradients.
    Read,
    /// Writes: image, coordinates, perhaps a level, colour.
    Write,
}

/// Emits an image function of OpenCL C; `result` is the result type of a read.
pub(in crate::spirv) fn access(
    cx: &mut FuncCx<'_>,
    access: ImageFunction,
    args: &[u32],
    result: Option<Type>,
) -> Result<Val, InstError> {
    let Some(&image_id) = args.first() else {
        return Err(InstError::malformed("the image function has too few arguments"));
    };
    let shape = shape(cx, image_id)?;
    let image = cx.value(image_id)?;
    match (access, &args[1..], result) {
        (ImageFunction::Read, &[position], Some(result)) => {
            let coordinates = integers(cx, position, shape)?;
            let sampler = cx.b.iconst(Type::I64, 0);
            let value = read(cx, result, ImageFlags::empty(), shape, [image, sampler, coordinates], None)?;
            Ok(Val::one(value))
        }
        (ImageFunction::Read, &[sampler, position, ref level @ ..], Some(result)) => {
            let coordinates = coordinates(cx, position, shape)?;
            let level = match *level {
                [] => None,
                [level] => {
                    let level = cx.value(level)?;
                    number_of_level(cx, level)?
                }
                [dx, dy] => Some(gradients(cx, dx, dy, shape, image)?),
                _ => return Err(InstError::malformed("the image function has too many arguments")),
            };
            let sampler = cx.value(sampler)?;
            let value = read(cx, result, ImageFlags::SAMPLER, shape, [image, sampler, coordinates], level)?;
            Ok(Val::one(value))
        }
        (ImageFunction::Write, &[position, ref level @ .., colour], None) => {
            let coordinates = integers(cx, position, shape)?;
            let level = match *level {
                [] => None,
                [level] => {
                    let level = cx.value(level)?;
                    number_of_level(cx, level)?
                }
                _ => return Err(InstError::malformed("the image function has too many arguments")),
            };
            let colour = cx.value(colour)?;
            write(cx, shape, [image, coordinates, colour], level)?;
            Ok(Val::Leaves(Leaves::new()))
        }
        (ImageFunction::Read | ImageFunction::Write, _, _) => {
            Err(InstError::malformed("the arguments do not match the image function"))
        }
    }
}

/// Emits a write; the operands are image, coordinates and colour.
fn write(
    cx: &mut FuncCx<'_>,
    shape: ImageShape,
    [image, coordinates, colour]: [Value; 3],
    level: Option<Value>,
) -> Result<(), InstError> {
    let colour = four(cx, colour);
    if ![Elem::I32, Elem::F32, Elem::F16].contains(&cx.b.ty(colour).elem) {
        return Err(InstError::malformed(
            "the texel's components are not 16-bit floats, 32-bit floats or 32-bit integers",
        ));
    }
    let has = flags(shape, level);
    let level = match level {
        Some(level) => as_integer(cx, level),
        None => cx.b.iconst(Type::I32, 0),
    };
    let imm = Imm::Image(ImageInfo { dims: shape.dims, has });
    cx.b.inst(Opcode::ImageWrite, &[image, coordinates, level, colour], imm, &[]);
    Ok(())
}

/// Emits a read of type `result`; the operands are image, sampler and coordinates.
fn read(
    cx: &mut FuncCx<'_>,
    result: Type,
    has: ImageFlags,
    shape: ImageShape,
    [image, sampler, coordinates]: [Value; 3],
    level: Option<Value>,
) -> Result<Value, InstError> {
    if ![Elem::I32, Elem::F32, Elem::F16].contains(&result.elem) || ![1, 4].contains(&result.lanes()) {
        return Err(InstError::malformed(
            "the result is not one or four 16-bit floats, 32-bit floats or 32-bit integers",
        ));
    }
    if cx.b.ty(sampler) != Type::I64 {
        return Err(InstError::malformed("the sampler of an image function is not a sampler"));
    }
    let has = has | flags(shape, level);
    let level = match level {
        Some(level) if cx.b.ty(level).is_int() => cx.b.convert(Opcode::StoFp, level, Type::F32, Default::default()),
        Some(level) => level,
        None => cx.b.fconst(Type::F32, 0.0),
    };
    let imm = Imm::Image(ImageInfo { dims: shape.dims, has });
    let colour = cx.b.value(Opcode::ImageRead, &[image, sampler, coordinates, level], imm, result.with_lanes(4));
    Ok(if result.is_vector() { colour } else { cx.b.extract(colour, 0) })
}

/// Sets an integer result, whose declared type may be wider or have more components.
fn set_integer(cx: &mut FuncCx<'_>, inst: &Inst, value: Value) -> Result<(), InstError> {
    let ty = cx.kir_type(inst.result_type()?)?;
    if !ty.is_int() {
        return Err(InstError::malformed("the result type is not an integer"));
    }
    let mut value = cx.b.int_resize(value, ty.elem, false);
    let lanes = cx.b.ty(value).lanes();
    if ty.lanes() > lanes {
        // OpenCL C's function for array images returns more components than the query.
        let zero = cx.b.iconst(ty.lane(), 0);
        let parts: Vec<Value> =
            (0..ty.lanes()).map(|lane| if lane < lanes { cx.b.extract(value, lane) } else { zero }).collect();
        value = cx.b.vec(&parts);
    }
    cx.set(inst, value)
}
