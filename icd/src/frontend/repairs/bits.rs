//! `cl_khr_extended_bit_ops`.

use std::fmt::Write;

use super::{INTEGERS, LANES};

/// The functions.
pub(super) fn functions() -> Vec<String> {
    ["bitfield_insert", "bitfield_extract_signed", "bitfield_extract_unsigned", "bit_reverse"].map(str::to_owned).into()
}

/// Their definitions.
pub(super) fn definitions() -> String {
    let mut text = String::new();
    let pairs = INTEGERS.chunks_exact(2);
    let types = pairs.flat_map(|pair| pair.iter().map(move |(ty, bits, _)| (*ty, *bits, pair[0].0, pair[1].0)));
    for (ty, bits, signed, unsigned) in types {
        for lanes in LANES {
            let [ty, signed, unsigned] = [ty, signed, unsigned].map(|name| format!("{name}{lanes}"));
            define(&mut text, &ty, bits, &signed, &unsigned);
        }
    }
    text
}

/// The definitions for a type of `bits` bits, `s` signed and `u` unsigned.
fn define(text: &mut String, ty: &str, bits: u32, s: &str, u: &str) {
    let (low, high) = (format!("({bits}-c-o)&{}", bits - 1), format!("({bits}-c)&{}", bits - 1));
    let _ = writeln!(
        text,
        "{ty} INLINE bitfield_insert({ty} b,{ty} i,uint o,uint c){{if(c==0)return b;\
         {u} m=({u})((({u})(-1)>>({u})({high}))<<({u})(o));\
         return as_{ty}(({u})((as_{u}(b)&~m)|((as_{u}(i)<<({u})(o))&m)));}}"
    );
    let _ = writeln!(
        text,
        "{s} INLINE bitfield_extract_signed({ty} b,uint o,uint c){{if(c==0)return ({s})(0);\
         return ({s})(as_{s}(({u})(as_{u}(b)<<({u})({low})))>>({s})({high}));}}"
    );
    let _ = writeln!(
        text,
        "{u} INLINE bitfield_extract_unsigned({ty} b,uint o,uint c){{if(c==0)return ({u})(0);\
         return ({u})(({u})(as_{u}(b)<<({u})({low}))>>({u})({high}));}}"
    );
    let _ = write!(text, "{ty} INLINE bit_reverse({ty} b){{{u} x=as_{u}(b);");
    let mut step = bits / 2;
    while step > 0 {
        // The lower half of each group of 2 * `step` bits.
        let group = (0..bits).filter(|bit| (bit / step).is_multiple_of(2)).fold(0u64, |mask, bit| mask | 1 << bit);
        let _ = write!(text, "x=({u})(((x>>({u})({step}))&({u})({group}UL))|((x&({u})({group}UL))<<({u})({step})));");
        step /= 2;
    }
    let _ = writeln!(text, "return as_{ty}(x);}}");
}
