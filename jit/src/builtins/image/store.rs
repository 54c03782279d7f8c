//! Writes of images.

use std::mem::offset_of;

use clift_include::image::{ImageDescriptor, Layout};
use clift_kir::inst::ImageFlags;
use clift_kir::{BlockCall, Builder, Elem, IntCond, Opcode, Type, Value};
use smallvec::SmallVec;

use super::{ImageAccess, ImageKind, coordinates, texel};

/// Emits a write; writes outside the image are dropped, and those to formats that kernels cannot write.
pub(super) fn emit(b: &mut Builder<'_>, access: ImageAccess, kind: ImageKind, layout: &Layout, colour: Value) {
    if layout.group.is_some() {
        return;
    }
    let level = if access.info.has.contains(ImageFlags::LEVEL) && kind.mipmapped {
        let count = coordinates::number(b, access.image, offset_of!(ImageDescriptor, level_count), Type::I32);
        let number = coordinates::clamped(b, access.level, count);
        coordinates::level_at(b, access.image, number)
    } else {
        access.image
    };
    let sizes = coordinates::sizes(b, level, access.info);
    let mut inside: Option<Value> = None;
    let mut at: SmallVec<[Value; 4]> = SmallVec::new();
    for (i, &size) in (0..).zip(&sizes) {
        let coordinate = coordinates::lane(b, access.coordinates, i);
        let here = b.icmp(IntCond::Ult, coordinate, size);
        inside = Some(inside.map_or(here, |all| b.int2(Opcode::And, all, here)));
        at.push(coordinate);
    }
    let (write, join) = (b.func.append_block(), b.func.append_block());
    match inside {
        Some(inside) => b.branch(inside, BlockCall::new(write, &[]), BlockCall::new(join, &[])),
        None => b.jump(write, &[]),
    };
    b.switch_to(write);
    let place = coordinates::address(b, level, access.info, &at, layout.bytes);
    let wanted = if layout.encoding.is_float() { Elem::F32 } else { Elem::I32 };
    let ty = b.ty(colour).with_elem(wanted);
    let colour = texel::converted(b, colour, ty);
    texel::store(b, layout, place, colour);
    b.jump(join, &[]);
    b.switch_to(join);
}
