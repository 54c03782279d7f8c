//! Words that kernels load and store byte by byte, in either order, and words at each byte of a text.

use clift_tests::kernel::{Case, Element, GLOBAL};
use clift_tests::values::spread;

/// Bytes of the text of each work-item.
const TEXT: usize = 24;

fn byte(k: usize) -> u8 {
    (spread(11, k) >> 13) as u8
}

/// The bytes of a word from its lowest to its highest one.
fn word(bytes: usize, is_big: bool, at: impl Fn(usize) -> u8) -> u64 {
    (0..bytes).map(|k| u64::from(at(if is_big { bytes - 1 - k } else { k })) << (8 * k)).sum()
}

/// Words put together from bytes at the offset `from`, changed, and taken apart.
fn taken_apart(ty: &str, bytes: usize, is_big: bool, from: usize) -> Case {
    let place = |k: usize| if is_big { bytes - 1 - k } else { k };
    let joined: Vec<String> = (0..bytes).map(|k| format!("({ty})p[{}] << {}", place(k), 8 * k)).collect();
    let parts: String = (0..bytes).map(|k| format!("q[{}] = (uchar)(v >> {});\n", place(k), 8 * k)).collect();
    let source = format!(
        "kernel void t(global const uchar *in, global uchar *out) {{
            size_t g = get_global_id(0);
            global uchar *q = out + g * {TEXT};
            for (int i = 0; i < {TEXT}; i++)
                q[i] = 0;
            for (int i = {from}; i + {bytes} <= {TEXT}; i += {bytes}) {{
                global const uchar *p = in + g * {TEXT} + i;
                {ty} v = ({joined});
                v = ({ty})(v * 3);
                q = out + g * {TEXT} + i;
                {parts}
            }}
        }}",
        joined = joined.join(" | "),
    );
    let order = if is_big { "big" } else { "little" };
    Case::new(format!("bytes::taken_apart_{ty}_{order}_{from}"), source).input_n(GLOBAL * TEXT, byte).expect_n(
        GLOBAL * TEXT,
        move |at| {
            let (g, place) = (at / TEXT, at % TEXT);
            let Some(within) = place.checked_sub(from).filter(|within| within / bytes * bytes + from + bytes <= TEXT)
            else {
                return Some(0u8);
            };
            let (start, k) = (g * TEXT + from + within / bytes * bytes, within % bytes);
            let tripled = word(bytes, is_big, |k| byte(start + k)).wrapping_mul(3);
            let k = if is_big { bytes - 1 - k } else { k };
            Some((tripled >> (8 * k)) as u8)
        },
    )
}

/// The word at each byte of a text, for some or all work-items.
fn at_each_byte<T: Element>(
    ty: &str,
    bytes: usize,
    step: usize,
    from: impl Fn(u64) -> T + Send + Sync + 'static,
) -> Case {
    let joined: Vec<String> = (0..bytes).map(|k| format!("({ty})p[{k}] << {}", 8 * k)).collect();
    let joined = joined.join(" | ");
    let source = format!(
        "kernel void t(global const uchar *in, global {ty} *out) {{
            size_t g = get_global_id(0);
            global const uchar *p = in + g * {step};
            {ty} v = {joined};
            {ty} w = 0;
            p += 3;
            if (in[g] & 1)
                w = {joined};
            out[2 * g] = v;
            out[2 * g + 1] = w;
        }}"
    );
    Case::new(format!("bytes::at_each_byte_{ty}_{step}"), source).input_n(GLOBAL * step + 16, byte).expect_n(
        2 * GLOBAL,
        move |at| {
            let (g, second) = (at / 2, at % 2 == 1);
            let start = g * step + if second { 3 } else { 0 };
            let is_read = !second || byte(g) & 1 == 1;
            Some(from(if is_read { word(bytes, false, |k| byte(start + k)) } else { 0 }))
        },
    )
}

/// Words whose parts are moved as elements of a vector: rotations, other orders, and one part in two places.
fn moved_parts(ty: &str, bytes: usize, part: &str, order: &'static [usize]) -> Case {
    let (parts, bits) = (order.len(), 8 * bytes / order.len());
    let places: String = order.iter().map(|from| format!("{from:x}")).collect();
    let source = format!(
        "kernel void t(global const ulong *in, global ulong *out) {{
            size_t i = get_global_id(0);
            {ty} v = ({ty})in[i] + 3;
            out[i] = as_{ty}(as_{part}{parts}(v).s{places});
        }}"
    );
    let input = |i: usize| spread(12, i);
    let mask = |bits: usize| u64::MAX >> (64 - bits);
    Case::new(format!("bytes::moved_parts_{ty}_{part}_{places}"), source).input(input).expect(move |i| {
        let v = (input(i) & mask(8 * bytes)).wrapping_add(3) & mask(8 * bytes);
        order.iter().enumerate().map(|(to, from)| (v >> (from * bits) & mask(bits)) << (to * bits)).sum::<u64>()
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        at_each_byte("ushort", 2, 1, |v| v as u16),
        at_each_byte("uint", 4, 1, |v| v as u32),
        at_each_byte("uint", 4, 2, |v| v as u32),
        at_each_byte("ulong", 8, 1, |v| v),
        at_each_byte("ulong", 8, 2, |v| v),
        at_each_byte("ulong", 8, 4, |v| v),
    ];
    cases.extend([
        moved_parts("uint", 4, "uchar", &[1, 2, 3, 0]),
        moved_parts("uint", 4, "uchar", &[2, 3, 0, 1]),
        moved_parts("uint", 4, "uchar", &[3, 2, 1, 0]),
        moved_parts("uint", 4, "uchar", &[0, 0, 3, 1]),
        moved_parts("uint", 4, "ushort", &[1, 0]),
        moved_parts("ulong", 8, "uint", &[1, 0]),
        moved_parts("ulong", 8, "ushort", &[1, 2, 3, 0]),
        moved_parts("ulong", 8, "uchar", &[3, 4, 5, 6, 7, 0, 1, 2]),
        moved_parts("ulong", 8, "uchar", &[7, 6, 5, 4, 3, 2, 1, 0]),
        moved_parts("ushort", 2, "uchar", &[1, 0]),
    ]);
    for (ty, bytes) in [("ushort", 2), ("uint", 4), ("ulong", 8)] {
        for is_big in [false, true] {
            cases.extend([0, 3].map(|from| taken_apart(ty, bytes, is_big, from)));
        }
    }
    cases
}
