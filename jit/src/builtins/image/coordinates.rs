//! From coordinates to element indices.
//!
//! Along each dimension a sampler selects one element (nearest) or two with a weight (linear), by the tables of the OpenCL C
//! specification, section "Image addressing and filtering". Indices are always clamped to the image; a separate mask says where
//! the border colour replaces the element.

use std::mem::offset_of;

use clift_include::image::{Addressing, ImageLevel, Sampler};
use clift_kir::inst::{ImageDims, ImageInfo};
use clift_kir::{Builder, Convert, Elem, Imm, IntCond, Opcode, Rounding, Type, Value};
use smallvec::SmallVec;

use super::DESCRIPTOR;

/// The index of an element along one dimension.
#[derive(Clone, Copy)]
pub(super) struct Index {
    /// The index clamped to the image, `i32`.
    pub(super) inside: Value,
    /// Whether the border colour is used; `None` if it never is.
    pub(super) border: Option<Value>,
}

/// The elements that a coordinate selects.
#[derive(Clone, Copy)]
pub(super) enum Taps {
    /// One element.
    One(Index),
    /// Two elements, and the weight of the second, `f32`.
    Two(Index, Index, Value),
}

/// A lane of a vector of coordinates, computed from scalars if that is as cheap, so that conversions from integers are visible.
pub(super) fn lane(b: &mut Builder<'_>, vector: Value, number: u32) -> Value {
    lane_within(b, vector, number, LANE_STEPS)
}

/// Maximum number of definitions to follow from a vector of coordinates to a lane. The recursion branches at sums, whose operands
/// may be shared: without a bound the work would be exponential in the length of a chain of sums.
const LANE_STEPS: u32 = 5;

fn lane_within(b: &mut Builder<'_>, vector: Value, number: u32, steps: u32) -> Value {
    let Some(steps) = steps.checked_sub(1) else { return b.extract(vector, number) };
    let Some(inst) = b.func.dfg.def_inst(vector) else { return b.extract(vector, number) };
    let data = b.func.dfg.inst(inst).clone();
    let (op, args) = (data.op, &data.args);
    if op == Opcode::Vec {
        return args[number as usize];
    }
    if op == Opcode::Splat {
        return args[0];
    }
    if let (Opcode::Insert, &Imm::Lane(at)) = (op, &data.imm) {
        return if u32::from(at) == number { args[1] } else { lane_within(b, args[0], number, steps) };
    }
    if let (Opcode::Shuffle, Imm::Lanes(from)) = (op, &data.imm) {
        let (from, first) = (u32::from(from[number as usize]), b.ty(args[0]).lanes());
        let (vector, number) = if from < first { (args[0], from) } else { (args[1], from - first) };
        return lane_within(b, vector, number, steps);
    }
    if let (Opcode::StoFp, &Imm::Convert(how)) = (op, &data.imm) {
        let from = lane_within(b, args[0], number, steps);
        return b.convert(Opcode::StoFp, from, Type::F32, how);
    }
    if op == Opcode::Fadd {
        let parts = [lane_within(b, args[0], number, steps), lane_within(b, args[1], number, steps)];
        return b.float2(Opcode::Fadd, parts[0], parts[1]);
    }
    b.extract(vector, number)
}

/// The size of a level in each dimension, and the number of layers of an array.
pub(super) fn sizes(b: &mut Builder<'_>, level: Value, info: ImageInfo) -> SmallVec<[Value; 4]> {
    let fields = [offset_of!(ImageLevel, width), offset_of!(ImageLevel, height), offset_of!(ImageLevel, depth)];
    let layers = offset_of!(ImageLevel, layers);
    let count = info.dims.count() as usize;
    let fields = fields[..count].iter().copied().chain((info.coordinates() as usize > count).then_some(layers));
    fields.map(|field| number(b, level, field, Type::I32)).collect()
}

/// A field of a level.
pub(super) fn number(b: &mut Builder<'_>, level: Value, offset: usize, ty: Type) -> Value {
    let place = b.addr(level, None, 1, offset as i64);
    let mem = clift_kir::inst::MemInfo { align: ty.bytes(), ..DESCRIPTOR };
    b.load(ty, place, mem)
}

/// The address of an element of a level.
pub(super) fn address(b: &mut Builder<'_>, level: Value, info: ImageInfo, at: &[Value], bytes: u32) -> Value {
    let mut place = number(b, level, offset_of!(ImageLevel, data), Type::ptr(clift_kir::Space::Global));
    let step = |b: &mut Builder<'_>, place: Value, index: Value, pitch: usize| {
        let pitch = number(b, level, pitch, Type::I64);
        let index = b.int_resize(index, Elem::I64, true);
        let offset = b.int2(Opcode::Imul, index, pitch);
        b.addr(place, Some(offset), 1, 0)
    };
    let (row, slice) = (offset_of!(ImageLevel, row_pitch), offset_of!(ImageLevel, slice_pitch));
    match info.dims {
        ImageDims::One => {
            if let Some(&layer) = at.get(1) {
                place = step(b, place, layer, slice);
            }
        }
        ImageDims::Two | ImageDims::Three => {
            if let Some(&third) = at.get(2) {
                place = step(b, place, third, slice);
            }
            place = step(b, place, at[1], row);
        }
    }
    let x = b.int_resize(at[0], Elem::I64, true);
    b.addr(place, Some(x), u64::from(bytes), 0)
}

/// The elements that a coordinate selects along a dimension of `size` elements.
pub(super) fn taps(b: &mut Builder<'_>, coordinate: Value, size: Value, sampler: Sampler, linear: bool) -> Taps {
    let addressing = sampler.addressing();
    if b.ty(coordinate).is_int() {
        return Taps::One(addressed(b, coordinate, size, addressing));
    }
    if !linear && !sampler.is_normalized() {
        // A float converted from an integer is equal to it, or too large for any image.
        let index = whole(b, coordinate, true).unwrap_or_else(|| floor_to_int(b, coordinate));
        return Taps::One(addressed(b, index, size, addressing));
    }
    let real_size = b.convert(Opcode::UtoFp, size, Type::F32, Convert::default());
    let u = if sampler.is_normalized() {
        let within = match addressing {
            Addressing::None | Addressing::ClampToEdge | Addressing::Clamp => coordinate,
            Addressing::Repeat => {
                let whole = b.float1(Opcode::Floor, coordinate);
                b.float2(Opcode::Fsub, coordinate, whole)
            }
            Addressing::MirroredRepeat => {
                // The distance to the nearest even number.
                let (half, two) = (b.fconst(Type::F32, 0.5), b.fconst(Type::F32, 2.0));
                let halves = b.float2(Opcode::Fmul, coordinate, half);
                let rounded = b.float1(Opcode::Rint, halves);
                let even = b.float2(Opcode::Fmul, rounded, two);
                let difference = b.float2(Opcode::Fsub, coordinate, even);
                b.float1(Opcode::Fabs, difference)
            }
        };
        b.float2(Opcode::Fmul, within, real_size)
    } else {
        coordinate
    };
    if !linear {
        let index = floor_to_int(b, u);
        return Taps::One(wrapped(b, index, size, addressing));
    }
    let half = b.fconst(Type::F32, 0.5);
    let u = b.float2(Opcode::Fsub, u, half);
    let floor = b.float1(Opcode::Floor, u);
    let weight = b.float2(Opcode::Fsub, u, floor);
    let first = to_int(b, floor);
    let one = b.iconst(Type::I32, 1);
    let second = b.int2(Opcode::SaddSat, first, one);
    Taps::Two(wrapped(b, first, size, addressing), wrapped(b, second, size, addressing), weight)
}

/// The layer of an array.
pub(super) fn layer(b: &mut Builder<'_>, coordinate: Value, layers: Value) -> Value {
    let index = if b.ty(coordinate).is_int() {
        coordinate
    } else {
        whole(b, coordinate, false).unwrap_or_else(|| {
            let rounded = b.float1(Opcode::Rint, coordinate);
            to_int(b, rounded)
        })
    };
    clamped(b, index, layers)
}

/// The element at an index, for addressing modes other than `Repeat`.
fn addressed(b: &mut Builder<'_>, index: Value, size: Value, addressing: Addressing) -> Index {
    let inside = clamped(b, index, size);
    let border = (addressing == Addressing::Clamp).then(|| b.icmp(IntCond::Uge, index, size));
    Index { inside, border }
}

/// The element at an index that is at most one outside the image; with `Repeat` it wraps around.
fn wrapped(b: &mut Builder<'_>, index: Value, size: Value, addressing: Addressing) -> Index {
    match addressing {
        Addressing::None | Addressing::ClampToEdge | Addressing::Clamp | Addressing::MirroredRepeat => {
            addressed(b, index, size, addressing)
        }
        Addressing::Repeat => {
            let zero = b.iconst(Type::I32, 0);
            let negative = b.icmp(IntCond::Slt, index, zero);
            let above = b.int2(Opcode::Iadd, index, size);
            let index = b.select(negative, above, index);
            let beyond = b.icmp(IntCond::Sge, index, size);
            let below = b.int2(Opcode::Isub, index, size);
            let index = b.select(beyond, below, index);
            Index { inside: clamped(b, index, size), border: None }
        }
    }
}

/// An index clamped to the range from 0 to `size - 1`.
pub(super) fn clamped(b: &mut Builder<'_>, index: Value, size: Value) -> Value {
    let (zero, one) = (b.iconst(Type::I32, 0), b.iconst(Type::I32, 1));
    let last = b.int2(Opcode::Isub, size, one);
    let index = b.int2(Opcode::Smax, index, zero);
    b.int2(Opcode::Smin, index, last)
}

/// The integer that a float was converted from. They are equal unless the integer is too large for a float, and so for any image.
/// With `halves`, also if one half was added, which does not change the integral part.
fn whole(b: &mut Builder<'_>, coordinate: Value, halves: bool) -> Option<Value> {
    let dfg = &b.func.dfg;
    let def = |value: Value| dfg.def_inst(value).map(|inst| dfg.inst(inst));
    let data = def(coordinate)?;
    let half = |value: Value| dfg.as_splat_bits(value) == Some(u64::from(0.5f32.to_bits()));
    let data = if halves && data.op == Opcode::Fadd && half(data.args[1]) { def(data.args[0])? } else { data };
    let integer = *data.args.first()?;
    (data.op == Opcode::StoFp && dfg.ty(integer) == Type::I32).then_some(integer)
}

fn floor_to_int(b: &mut Builder<'_>, value: Value) -> Value {
    let floor = b.float1(Opcode::Floor, value);
    to_int(b, floor)
}

/// An integral float as an integer, clamped; NaN becomes the lower bound.
fn to_int(b: &mut Builder<'_>, value: Value) -> Value {
    // Far outside any image, and well inside the range of integers.
    let (low, high) = (b.fconst(Type::F32, -1e9), b.fconst(Type::F32, 1e9));
    let value = b.float2(Opcode::Fmax, value, low);
    let value = b.float2(Opcode::Fmin, value, high);
    let how = Convert { rounding: Rounding::TowardZero, saturate: false };
    b.convert(Opcode::FptoS, value, Type::I32, how)
}

/// The mip levels that a level of detail selects: the numbers of one or two levels, and the weight of the second.
pub(super) fn levels(
    b: &mut Builder<'_>,
    detail: Value,
    sampler: Value,
    modes: Sampler,
    count: Value,
) -> (Value, Option<(Value, Value)>) {
    let bound = |b: &mut Builder<'_>, bit: u32| {
        let (bit, mask) = (b.iconst(Type::I64, bit.into()), b.iconst(Type::I64, 0xFFFF));
        let steps = b.int2(Opcode::Lshr, sampler, bit);
        let steps = b.int2(Opcode::And, steps, mask);
        let steps = b.int_resize(steps, Elem::I32, false);
        let steps = b.convert(Opcode::StoFp, steps, Type::F32, Convert::default());
        let step = b.fconst(Type::F32, f64::from(1.0 / Sampler::LOD_STEPS));
        b.float2(Opcode::Fmul, steps, step)
    };
    let (low, high) = (bound(b, Sampler::LOD_MIN_BIT), bound(b, Sampler::LOD_MAX_BIT));
    let detail = b.float2(Opcode::Fmax, detail, low);
    let detail = b.float2(Opcode::Fmin, detail, high);
    if modes.filters_levels() {
        let floor = b.float1(Opcode::Floor, detail);
        let weight = b.float2(Opcode::Fsub, detail, floor);
        let first = to_int(b, floor);
        let one = b.iconst(Type::I32, 1);
        let second = b.int2(Opcode::Iadd, first, one);
        (clamped(b, first, count), Some((clamped(b, second, count), weight)))
    } else {
        let nearest = b.float1(Opcode::Rint, detail);
        let nearest = to_int(b, nearest);
        (clamped(b, nearest, count), None)
    }
}

/// The address of a level of a descriptor.
pub(super) fn level_at(b: &mut Builder<'_>, image: Value, number: Value) -> Value {
    let number = b.int_resize(number, Elem::I64, false);
    b.addr(image, Some(number), size_of::<ImageLevel>() as u64, 0)
}
