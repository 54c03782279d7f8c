//! Elements that share bytes: raw data of image sensors. The layout is described at [`Group`].

use clift_include::image::{Group, Layout};
use clift_kir::inst::{ImageInfo, MemInfo};
use clift_kir::{Builder, Elem, Opcode, Type, Value};

use super::{coordinates, texel};

/// A byte of an image.
const BYTE: MemInfo = MemInfo { align: 1, volatile: false, invariant: false, alias: 0 };

/// Loads the number of an element, an unsigned integer.
pub(super) fn load(
    b: &mut Builder<'_>,
    layout: &Layout,
    group: Group,
    level: Value,
    info: ImageInfo,
    at: &[Value],
) -> texel::Raw {
    let low_bits = layout.fields[0].bits - 8;
    let number = |b: &mut Builder<'_>, number: u32| b.iconst(Type::I32, number.into());
    let (steps, last) = (number(b, group.elements.trailing_zeros()), number(b, group.elements - 1));
    let mut start = texel::Raw::from_slice(at);
    start[0] = b.int2(Opcode::Lshr, at[0], steps);
    let within = b.int2(Opcode::And, at[0], last);
    let start = coordinates::address(b, level, info, &start, group.bytes);
    let byte = |b: &mut Builder<'_>, place: Value| {
        let byte = b.load(Type::I8, place, BYTE);
        b.int_resize(byte, Elem::I32, false)
    };
    let index = b.int_resize(within, Elem::I64, false);
    let place = b.addr(start, Some(index), 1, 0);
    let upper = byte(b, place);
    let place = b.addr(start, None, 1, group.elements.into());
    let lower = byte(b, place);
    let (width, mask) = (number(b, low_bits), number(b, (1 << low_bits) - 1));
    let shift = b.int2(Opcode::Imul, within, width);
    let lower = b.int2(Opcode::Lshr, lower, shift);
    let lower = b.int2(Opcode::And, lower, mask);
    let upper = b.int2(Opcode::Shl, upper, width);
    texel::Raw::from_slice(&[b.int2(Opcode::Or, upper, lower)])
}
