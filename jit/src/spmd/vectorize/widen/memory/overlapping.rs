//! Loads of elements that overlap those of the neighbouring lanes, such as of the word at each byte of a text.
//!
//! Lane i loads at `base + i * stride`, and an element has several strides. The k-th pieces of all lanes, a stride long each, are
//! contiguous: the pack loads the pieces, and joins them.

use clift_kir::inst::{Imm, MemInfo};
use clift_kir::{Elem, Opcode, Type, Value};

use super::super::{Mask, Widener};

/// The most pieces of an element: beyond, a gather takes fewer instructions.
const MAX_PIECES: u32 = 4;

/// How many pieces the elements have that lanes load which are so many bytes apart, if they are loaded as pieces.
pub(crate) fn overlapping_pieces(stride: i64, ty: Type) -> Option<u32> {
    let stride = u32::try_from(stride).ok().filter(|stride| stride.is_power_of_two())?;
    let is_number = ty.is_int() || ty.is_float();
    let pieces = ty.elem.bytes() / stride;
    (is_number && !ty.is_vector() && !ty.is_bool() && (2..=MAX_PIECES).contains(&pieces)).then_some(pieces)
}

impl Widener<'_> {
    /// Loads a scalar type in all lanes, which are `stride` bytes apart.
    pub(super) fn load_overlapping(&mut self, base: Value, stride: u32, ty: Type, mem: MemInfo, mask: Mask) -> Value {
        let pack = self.pack_type(ty);
        let whole = pack.as_int();
        let Some(piece) = Elem::int(8 * stride) else { unreachable!("broken invariant: a stride of {stride} bytes") };
        let pieces = whole.with_elem(piece);
        let mem = MemInfo { align: mem.align.min(stride), ..mem };
        let mut joined: Option<Value> = None;
        for number in 0..ty.elem.bytes() / stride {
            let mut b = self.at();
            let place = if number == 0 { base } else { b.addr(base, None, 1, i64::from(number * stride)) };
            let loaded = match mask {
                None => b.load(pieces, place, mem),
                Some(mask) => {
                    let other = b.undef(pieces);
                    b.value(Opcode::MaskedLoad, &[place, mask, other], Imm::Mem(mem), pieces)
                }
            };
            let wide = b.int_resize(loaded, whole.elem, false);
            let count = b.iconst(whole, i64::from(8 * number * stride));
            let moved = if number == 0 { wide } else { b.int2(Opcode::Shl, wide, count) };
            joined = Some(joined.map_or(moved, |others| b.int2(Opcode::Or, others, moved)));
        }
        let Some(joined) = joined else { unreachable!("broken invariant: an element without bytes") };
        if whole == pack { joined } else { self.at().cast(Opcode::Bitcast, joined, pack) }
    }
}
