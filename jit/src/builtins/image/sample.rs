//! Reads of images.

use std::mem::offset_of;

use clift_include::image::{ImageDescriptor, Layout, Sampler};
use clift_kir::inst::{ImageFlags, ImageInfo};
use clift_kir::{Builder, Elem, Opcode, Type, Value};
use smallvec::SmallVec;

use super::coordinates::{self, Index, Taps};
use super::{ImageAccess, ImageKind, texel};

/// Emits a read of a colour of type `ty`; `modes` are the modes of the sampler, if there is one.
pub(super) fn emit(
    b: &mut Builder<'_>,
    access: ImageAccess,
    kind: ImageKind,
    layout: &Layout,
    modes: Option<Sampler>,
    ty: Type,
) -> Value {
    let levels = access.info.has.contains(ImageFlags::LEVEL) && kind.mipmapped;
    let raw = match (modes, access.sampler) {
        (Some(modes), Some(sampler)) => {
            if levels {
                let count = coordinates::number(b, access.image, offset_of!(ImageDescriptor, level_count), Type::I32);
                let (first, second) = coordinates::levels(b, access.level, sampler, modes, count);
                let level = coordinates::level_at(b, access.image, first);
                let near = sampled(b, access, layout, level, modes);
                match second {
                    None => near,
                    Some((second, weight)) => {
                        let level = coordinates::level_at(b, access.image, second);
                        let far = sampled(b, access, layout, level, modes);
                        mixed(b, &near, &far, weight)
                    }
                }
            } else {
                sampled(b, access, layout, access.image, modes)
            }
        }
        _ => {
            let level = if levels {
                let count = coordinates::number(b, access.image, offset_of!(ImageDescriptor, level_count), Type::I32);
                let number = b.convert(Opcode::FptoS, access.level, Type::I32, Default::default());
                let number = coordinates::clamped(b, number, count);
                coordinates::level_at(b, access.image, number)
            } else {
                access.image
            };
            let at = element(b, access.info, access.coordinates, level);
            texel::load(b, layout, level, access.info, &at)
        }
    };
    texel::colour(b, layout, &raw, ty)
}

/// The element at unsampled coordinates, clamped to the image.
fn element(b: &mut Builder<'_>, info: ImageInfo, at: Value, level: Value) -> SmallVec<[Value; 4]> {
    let mut at_inside = SmallVec::new();
    for (i, size) in (0..).zip(coordinates::sizes(b, level, info)) {
        let coordinate = coordinates::lane(b, at, i);
        at_inside.push(coordinates::clamped(b, coordinate, size));
    }
    at_inside
}

/// Samples a level.
fn sampled(b: &mut Builder<'_>, access: ImageAccess, layout: &Layout, level: Value, modes: Sampler) -> texel::Raw {
    let info = access.info;
    let sizes = coordinates::sizes(b, level, info);
    let dims = info.dims.count();
    // Integers cannot be filtered.
    let linear = modes.is_linear() && layout.encoding.is_float();
    let mut taps: SmallVec<[Taps; 4]> = SmallVec::new();
    for (i, &size) in (0..).zip(&sizes) {
        let coordinate = coordinates::lane(b, access.coordinates, i);
        taps.push(if i < dims {
            coordinates::taps(b, coordinate, size, modes, linear)
        } else {
            Taps::One(Index { inside: coordinates::layer(b, coordinate, size), border: None })
        });
    }
    mix(b, access, layout, level, &taps, &mut SmallVec::new())
}

/// Filters the taps along the remaining dimensions, beginning with the last; `chosen` are the elements of the dimensions done.
fn mix(
    b: &mut Builder<'_>,
    access: ImageAccess,
    layout: &Layout,
    level: Value,
    taps: &[Taps],
    chosen: &mut SmallVec<[Index; 4]>,
) -> texel::Raw {
    let Some((last, rest)) = taps.split_last() else { return tap(b, access, layout, level, chosen) };
    let mut with = |b: &mut Builder<'_>, index: Index| {
        chosen.push(index);
        let raw = mix(b, access, layout, level, rest, chosen);
        chosen.pop();
        raw
    };
    match *last {
        Taps::One(index) => with(b, index),
        Taps::Two(first, second, weight) => {
            let (near, far) = (with(b, first), with(b, second));
            mixed(b, &near, &far, weight)
        }
    }
}

/// One element by its indices, the last dimension first, or the border colour.
fn tap(b: &mut Builder<'_>, access: ImageAccess, layout: &Layout, level: Value, chosen: &[Index]) -> texel::Raw {
    let at: SmallVec<[Value; 4]> = chosen.iter().rev().map(|index| index.inside).collect();
    let raw = texel::load(b, layout, level, access.info, &at);
    let outside = chosen.iter().filter_map(|index| index.border).collect::<SmallVec<[Value; 4]>>();
    let Some((&first, others)) = outside.split_first() else { return raw };
    let outside = others.iter().fold(first, |any, &one| b.int2(Opcode::Or, any, one));
    let border = texel::border(b, layout);
    raw.iter().zip(border).map(|(&inside, border)| b.select(outside, border, inside)).collect()
}

/// Linear interpolation of two elements, as a sum of products: a difference could overflow.
fn mixed(b: &mut Builder<'_>, near: &[Value], far: &[Value], weight: Value) -> texel::Raw {
    if near.first().is_some_and(|&value| b.ty(value).elem != Elem::F32) {
        return near.into();
    }
    let one = b.fconst(Type::F32, 1.0);
    let rest = b.float2(Opcode::Fsub, one, weight);
    let pairs = near.iter().zip(far);
    pairs
        .map(|(&near, &far)| {
            let part = b.float2(Opcode::Fmul, near, rest);
            b.fma(far, weight, part)
        })
        .collect()
}
