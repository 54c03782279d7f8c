//! Permutations of the bytes and half-words of integers, which programs write as vectors: rotations and masks instead.
//!
//! ```text
//! as_uint(as_uchar4(x).s1230)     rotl x, 24
//! as_uint(as_ushort2(x).yx)       rotl x, 16
//! as_uint(as_uchar4(x).wzyx)      rotl x, 8 & 0x00ff00ff | rotl x, 24 & 0xff00ff00
//! ```
//!
//! Parts that move by one distance are rotated together, so the numbers of rotations and masks are that of the distances. In
//! packs the components of a vector are vectors of their own, which had to be taken apart and put together again.

use clift_kir::{Builder, Imm, InstData, Opcode, Type, Value};
use smallvec::SmallVec;

use super::{defined_by, splat};

/// The most distances. The bytes of a word of 64 bits in reverse order have four.
const MAX_DISTANCES: usize = 4;

/// What takes the place of a cast of a shuffled vector to the integers that the vector was.
pub(super) fn cast(b: &mut Builder<'_>, data: &InstData, ty: Type) -> Option<Value> {
    let shuffle = defined_by(b, data.args[0], Opcode::Shuffle)?;
    let Imm::Lanes(lanes) = &shuffle.imm else { return None };
    let parts = b.ty(shuffle.args[0]);
    let source = defined_by(b, shuffle.args[0], Opcode::Bitcast)?.args[0];
    if b.ty(source) != ty
        || !ty.elem.is_int()
        || !parts.elem.is_int()
        || parts.elem.bits() >= ty.elem.bits()
        || parts.lanes() != lanes.len() as u32
    {
        return None;
    }
    let (bits, count) = (parts.elem.bits(), ty.elem.bits() / parts.elem.bits());
    let both = shuffle.args[0] == shuffle.args[1];
    // What moves by so many parts, as a mask.
    let mut moved: SmallVec<[(u32, u64); MAX_DISTANCES]> = SmallVec::new();
    for (to, &from) in (0..).zip(lanes.iter()) {
        let from = u32::from(from);
        let from = if both { from % parts.lanes() } else { from };
        let (integer, place) = (to / count, to % count);
        if from / count != integer {
            return None;
        }
        let distance = (place + count - from % count) % count;
        let part = parts.elem.mask() << (place * bits);
        // The first integer says what moves in all of them.
        match moved.iter().position(|&(other, _)| other == distance) {
            Some(at) if integer == 0 => moved[at].1 |= part,
            Some(at) if moved[at].1 & part != 0 => {}
            None if integer == 0 && moved.len() < MAX_DISTANCES => moved.push((distance, part)),
            Some(_) | None => return None,
        }
    }
    let mut combined = None;
    for (distance, mask) in moved {
        let turned = match distance {
            0 => source,
            _ => {
                let distance = splat(b, ty, (distance * bits).into());
                b.int2(Opcode::Rotl, source, distance)
            }
        };
        let part = if mask == ty.elem.mask() {
            turned
        } else {
            let mask = splat(b, ty, mask);
            b.int2(Opcode::And, turned, mask)
        };
        combined = Some(combined.map_or(part, |others| b.int2(Opcode::Or, others, part)));
    }
    combined
}
