//! Conversion between the bits of an element and a colour.

use clift_include::image::{Encoding, Field, Layout, Source};
use clift_kir::dfg::ConstData;
use clift_kir::inst::{ImageInfo, MemInfo};
use clift_kir::{Builder, Convert, Elem, Opcode, Rounding, Type, Value};
use smallvec::SmallVec;

use super::{coordinates, grouped};
use crate::builtins::{self, ClOp, Operand};

/// The fields of an element as numbers: integers, floats, and for normalized formats the integers converted to floats, which
/// [`colour`] scales after filtering. If the order has an ignored channel, another number follows: 1 inside the image.
pub(super) type Raw = SmallVec<[Value; 4]>;

/// Loads the element of a level at indices inside of it.
pub(super) fn load(b: &mut Builder<'_>, layout: &Layout, level: Value, info: ImageInfo, at: &[Value]) -> Raw {
    if let Some(group) = layout.group {
        return grouped::load(b, layout, group, level, info, at);
    }
    let address = coordinates::address(b, level, info, at, layout.bytes);
    let bits = load_fields(b, layout, address);
    let fields = layout.fields().iter().zip(bits);
    let mut raw: Raw = fields.map(|(field, bits)| decode(b, layout, *field, bits)).collect();
    if layout.sources.contains(&Source::Inside) {
        raw.push(one(b, layout));
    }
    raw
}

/// A component of a colour that is 1.
fn one(b: &mut Builder<'_>, layout: &Layout) -> Value {
    if layout.encoding.is_float() { b.fconst(Type::F32, 1.0) } else { b.iconst(Type::I32, 1) }
}

/// The bits of each field, in a value of its width or shifted in a wider integer.
fn load_fields(b: &mut Builder<'_>, layout: &Layout, address: Value) -> SmallVec<[FieldBits; 4]> {
    let mem = access(layout);
    if let Some(location) = locations(layout) {
        let element = b.load(memory_type(layout, location), address, mem);
        let field = |(lane, field): (usize, &Field)| {
            let value = b.extract(element, lane as u32);
            match location - field.bits {
                0 => FieldBits { value, shifted: None },
                bit => FieldBits { value: b.int_resize(value, Elem::I32, false), shifted: Some(bit) },
            }
        };
        return layout.fields().iter().enumerate().map(field).collect();
    }
    let elem = if layout.bytes == 2 { Elem::I16 } else { Elem::I32 };
    let element = b.load(Type::vector(elem, 1), address, mem);
    let element = b.int_resize(element, Elem::I32, false);
    layout.fields().iter().map(|field| FieldBits { value: element, shifted: Some(field.bit) }).collect()
}

/// A loaded field.
#[derive(Clone, Copy)]
struct FieldBits {
    value: Value,
    /// Its bit offset in a 32-bit integer; `None` if the value is the field.
    shifted: Option<u32>,
}

/// The bits of the fields' locations, if an element is loaded as a vector of them, because they are large or there is only one.
fn locations(layout: &Layout) -> Option<u32> {
    layout.location.filter(|bits| layout.count == 1 || *bits >= 16)
}

/// The type of an element in memory, if it is loaded as a vector of locations with so many bits.
fn memory_type(layout: &Layout, location: u32) -> Type {
    let elem = match (layout.encoding, location) {
        (Encoding::Float, 16) => Elem::F16,
        (Encoding::Float, _) => Elem::F32,
        (_, 8) => Elem::I8,
        (_, 16) => Elem::I16,
        (_, _) => Elem::I32,
    };
    Type::vector(elem, layout.count as u32)
}

/// The properties of an access to an element: memory from applications is only aligned to a field.
fn access(layout: &Layout) -> MemInfo {
    let align = locations(layout).map_or(1, |bits| bits / 8);
    MemInfo { align, volatile: false, invariant: false, alias: 0 }
}

/// The number in a field.
fn decode(b: &mut Builder<'_>, layout: &Layout, field: Field, bits: FieldBits) -> Value {
    let signed = match layout.encoding {
        Encoding::Snorm | Encoding::Sint => true,
        Encoding::Unorm | Encoding::Uint => false,
        Encoding::Float => {
            let ty = Type::F32;
            return match b.ty(bits.value) {
                Type::F32 => bits.value,
                _ => b.convert(Opcode::FptoFp, bits.value, ty, Convert::default()),
            };
        }
    };
    let number = match bits.shifted {
        None => b.int_resize(bits.value, Elem::I32, signed),
        Some(bit) if signed => {
            let up = constant(b, 32 - field.bits - bit);
            let high = b.int2(Opcode::Shl, bits.value, up);
            let down = constant(b, 32 - field.bits);
            b.int2(Opcode::Ashr, high, down)
        }
        Some(bit) => {
            let shift = constant(b, bit);
            let low = if bit == 0 { bits.value } else { b.int2(Opcode::Lshr, bits.value, shift) };
            let mask = b.iconst(Type::I32, ((1u64 << field.bits) - 1) as i64);
            b.int2(Opcode::And, low, mask)
        }
    };
    match layout.encoding {
        Encoding::Sint | Encoding::Uint | Encoding::Float => number,
        Encoding::Unorm => {
            let number = b.convert(Opcode::StoFp, number, Type::F32, Convert::default());
            if layout.srgb && field.holds != clift_include::image::Component::A {
                linear_from_srgb(b, number, field)
            } else {
                number
            }
        }
        Encoding::Snorm => {
            // The two lowest numbers both represent -1.
            let least = b.iconst(Type::I32, -max_of(layout, field));
            let number = b.int2(Opcode::Smax, number, least);
            b.convert(Opcode::StoFp, number, Type::F32, Convert::default())
        }
    }
}

fn constant(b: &mut Builder<'_>, number: u32) -> Value {
    b.iconst(Type::I32, i64::from(number))
}

/// The number that represents 1.
fn max_of(layout: &Layout, field: Field) -> i64 {
    let bits = if layout.encoding == Encoding::Snorm { field.bits - 1 } else { field.bits };
    (1i64 << bits) - 1
}

/// The result of a read from an element's numbers: a colour of type `ty`, which has four components.
pub(super) fn colour(b: &mut Builder<'_>, layout: &Layout, raw: &[Value], ty: Type) -> Value {
    let lane = if layout.encoding.is_float() { Type::F32 } else { Type::I32 };
    let scaled: Raw = layout.fields().iter().zip(raw).map(|(field, &value)| scaled(b, layout, *field, value)).collect();
    let one = one(b, layout);
    let zero = b.constant(ConstData::splat(lane, 0));
    let parts: Vec<Value> = layout
        .sources
        .iter()
        .map(|source| match source {
            Source::Field(field) => scaled[*field],
            Source::Zero => zero,
            Source::One => one,
            Source::Inside => raw[layout.count],
        })
        .collect();
    let colour = b.vec(&parts);
    converted(b, colour, ty)
}

/// A colour converted to the declared type: floats of another width, or (undefined in OpenCL) the bits as another kind of number.
pub(super) fn converted(b: &mut Builder<'_>, colour: Value, ty: Type) -> Value {
    let from = b.ty(colour);
    match (from.is_float(), ty.is_float()) {
        _ if from == ty => colour,
        (true, true) => b.convert(Opcode::FptoFp, colour, ty, Convert::default()),
        (true, false) => b.cast(Opcode::Bitcast, colour, from.as_int()),
        (false, true) => {
            let floats = b.cast(Opcode::Bitcast, colour, from.with_elem(Elem::F32));
            converted(b, floats, ty)
        }
        (false, false) => colour,
    }
}

/// Scales a normalized number to the range from 0 (or -1) to 1.
fn scaled(b: &mut Builder<'_>, layout: &Layout, field: Field, value: Value) -> Value {
    match layout.encoding {
        Encoding::Sint | Encoding::Uint | Encoding::Float => value,
        Encoding::Unorm | Encoding::Snorm => {
            let scale = b.fconst(Type::F32, 1.0 / max_of(layout, field) as f64);
            b.float2(Opcode::Fmul, value, scale)
        }
    }
}

/// The border colour, as the numbers of an element's fields.
pub(super) fn border(b: &mut Builder<'_>, layout: &Layout) -> Raw {
    // All numbers are zero: where the border's alpha is 1, the format has neither a field nor an ignored channel for it.
    let ty = if layout.encoding.is_float() { Type::F32 } else { Type::I32 };
    let inside = layout.sources.contains(&Source::Inside);
    (0..layout.count + usize::from(inside)).map(|_| b.constant(ConstData::splat(ty, 0))).collect()
}

/// Stores a colour: four 32-bit floats or four integers.
pub(super) fn store(b: &mut Builder<'_>, layout: &Layout, address: Value, colour: Value) {
    let numbers: Raw = layout
        .fields()
        .iter()
        .map(|field| {
            let component = b.extract(colour, field.holds as u32);
            encode(b, layout, *field, component)
        })
        .collect();
    let mem = access(layout);
    if let Some(location) = locations(layout) {
        let ty = memory_type(layout, location);
        let fields: Raw = layout
            .fields()
            .iter()
            .zip(&numbers)
            .map(|(field, &number)| match b.ty(number) {
                Type::F32 if ty.elem == Elem::F16 => b.convert(Opcode::FptoFp, number, Type::F16, Convert::default()),
                from if from.is_float() => number,
                _ => {
                    let number = shifted_up(b, number, location - field.bits);
                    b.int_resize(number, ty.elem, false)
                }
            })
            .collect();
        let element = b.vec(&fields);
        b.store(address, element, mem);
        return;
    }
    let mut element: Option<Value> = None;
    for (field, &number) in layout.fields().iter().zip(&numbers) {
        let mask = b.iconst(Type::I32, ((1u64 << field.bits) - 1) as i64);
        let signed = matches!(layout.encoding, Encoding::Snorm | Encoding::Sint);
        let bits = if signed { b.int2(Opcode::And, number, mask) } else { number };
        let bits = shifted_up(b, bits, field.bit);
        element = Some(element.map_or(bits, |rest| b.int2(Opcode::Or, rest, bits)));
    }
    if let Some(element) = element {
        let elem = if layout.bytes == 2 { Elem::I16 } else { Elem::I32 };
        let element = b.int_resize(element, elem, false);
        b.store(address, element, mem);
    }
}

fn shifted_up(b: &mut Builder<'_>, number: Value, bits: u32) -> Value {
    if bits == 0 {
        return number;
    }
    let bits = constant(b, bits);
    b.int2(Opcode::Shl, number, bits)
}

/// The number that represents a component in a field: a float, or an `i32`, which has no bits above the field if it is unsigned.
fn encode(b: &mut Builder<'_>, layout: &Layout, field: Field, component: Value) -> Value {
    match layout.encoding {
        Encoding::Float => component,
        Encoding::Unorm => {
            let curve = layout.srgb && field.holds != clift_include::image::Component::A;
            let component = if curve { srgb_from_linear(b, component) } else { component };
            let max = max_of(layout, field) as f64;
            rounded(b, component, max, 0.0, max)
        }
        Encoding::Snorm => {
            let max = max_of(layout, field) as f64;
            rounded(b, component, max, -max - 1.0, max)
        }
        Encoding::Sint if field.bits < 32 => {
            let max = (1i64 << (field.bits - 1)) - 1;
            let (low, high) = (b.iconst(Type::I32, -max - 1), b.iconst(Type::I32, max));
            let number = b.int2(Opcode::Smax, component, low);
            b.int2(Opcode::Smin, number, high)
        }
        Encoding::Uint if field.bits < 32 => {
            let high = b.iconst(Type::I32, (1i64 << field.bits) - 1);
            b.int2(Opcode::Umin, component, high)
        }
        Encoding::Sint | Encoding::Uint => component,
    }
}

/// The nearest integer to a scaled float, clamped to bounds; the lower bound for NaN.
fn rounded(b: &mut Builder<'_>, value: Value, scale: f64, low: f64, high: f64) -> Value {
    let [scale, low, high] = [scale, low, high].map(|number| b.fconst(Type::F32, number));
    let value = b.float2(Opcode::Fmul, value, scale);
    let value = b.float2(Opcode::Fmax, value, low);
    let value = b.float2(Opcode::Fmin, value, high);
    b.convert(Opcode::FptoS, value, Type::I32, Convert { rounding: Rounding::NearestEven, saturate: false })
}

/// Converts an sRGB number to linear. Both are scaled by the number that represents 1.
fn linear_from_srgb(b: &mut Builder<'_>, number: Value, field: Field) -> Value {
    let max = ((1u64 << field.bits) - 1) as f64;
    let c = |b: &mut Builder<'_>, number: f64| b.fconst(Type::F32, number);
    let scale = c(b, 1.0 / max);
    let value = b.float2(Opcode::Fmul, number, scale);
    let (slope, offset, factor) = (c(b, 1.0 / 12.92), c(b, 0.055 / 1.055), c(b, 1.0 / 1.055));
    let low = b.float2(Opcode::Fmul, value, slope);
    let base = b.fma(value, factor, offset);
    let high = power(b, base, 2.4);
    let knee = c(b, 0.04045);
    let is_low = b.fcmp(clift_kir::FloatCond::Ole, value, knee);
    let linear = b.select(is_low, low, high);
    let scale = c(b, max);
    b.float2(Opcode::Fmul, linear, scale)
}

/// Converts a linear number to sRGB; 0 for NaN.
fn srgb_from_linear(b: &mut Builder<'_>, value: Value) -> Value {
    let c = |b: &mut Builder<'_>, number: f64| b.fconst(Type::F32, number);
    let (zero, one) = (c(b, 0.0), c(b, 1.0));
    let value = b.float2(Opcode::Fmax, value, zero);
    let value = b.float2(Opcode::Fmin, value, one);
    let slope = c(b, 12.92);
    let low = b.float2(Opcode::Fmul, value, slope);
    let root = power(b, value, 1.0 / 2.4);
    let (factor, offset) = (c(b, 1.055), c(b, -0.055));
    let high = b.fma(root, factor, offset);
    let knee = c(b, 0.0031308);
    let is_low = b.fcmp(clift_kir::FloatCond::Olt, value, knee);
    b.select(is_low, low, high)
}

/// A power of a nonnegative number.
fn power(b: &mut Builder<'_>, base: Value, exponent: f64) -> Value {
    let exponent = b.fconst(Type::F32, exponent);
    let operands = [Operand::Value(base), Operand::Value(exponent)];
    match builtins::expand(b, ClOp::powr, &operands, Some(Type::F32)) {
        Ok(Some(value)) => value,
        other => unreachable!("broken invariant: powr of floats is {other:?}"),
    }
}
