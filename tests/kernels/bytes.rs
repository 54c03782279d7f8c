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

/// A statement on four bytes, and its effect on the host; C computes with them as `int`.
fn statement(seed: u64, number: usize) -> (String, impl Fn(&mut [i32; 4]) + Send + Sync + 'static) {
    let bits = spread(seed, number);
    let (a, b, c) = ((bits & 3) as usize, (bits >> 2 & 3) as usize, (bits >> 4 & 3) as usize);
    let k = 1 + (bits >> 6) as u32 % 7;
    let (text, op): (String, fn(i32, i32, u32) -> i32) = match (bits >> 32) % 12 {
        0 => (format!("v{b} + v{c}"), |b, c, _| b + c),
        1 => (format!("v{b} - v{c}"), |b, c, _| b - c),
        2 => (format!("v{b} ^ v{c}"), |b, c, _| b ^ c),
        3 => (format!("(v{b} << {k}) | (v{b} >> (8 - {k}))"), |b, _, k| b << k | b >> (8 - k)),
        4 => (format!("v{b} >> {k}"), |b, _, k| b >> k),
        5 => (format!("v{b} << {k}"), |b, _, k| b << k),
        6 => (format!("~v{b} & v{c}"), |b, c, _| !b & c),
        7 => (format!("(v{b} + v{c} + 1) >> 1"), |b, c, _| (b + c + 1) >> 1),
        8 => (format!("-v{b} | v{c}"), |b, c, _| -b | c),
        9 => (format!("(uint)v{b} >> {k}"), |b, _, k| (b as u32 >> k) as i32),
        10 => (format!("v{b} * v{c}"), |b, c, _| b * c),
        _ => (format!("((uint)v{b} >> {k}) + (v{c} >> 1)"), |b, c, k| ((b as u32 >> k) as i32).wrapping_add(c >> 1)),
    };
    (format!("v{a} = {text};"), move |v: &mut [i32; 4]| v[a] = op(v[b], v[c], k))
}

/// Random statements on bytes, repeated: computed with bytes, or with as many more bits as are needed.
fn mixed(ty: &str, seed: u64) -> Case {
    const ROUNDS: i32 = 3;
    let (texts, effects): (Vec<String>, Vec<_>) = (0..10).map(|number| statement(seed, number)).unzip();
    let source = format!(
        "kernel void t(global const {ty} *in, global {ty} *out, int rounds) {{
            size_t i = get_global_id(0);
            {ty} v0 = in[4 * i], v1 = in[4 * i + 1], v2 = in[4 * i + 2], v3 = in[4 * i + 3];
            for (int r = 0; r < rounds; r++) {{ {} }}
            out[4 * i] = v0; out[4 * i + 1] = v1; out[4 * i + 2] = v2; out[4 * i + 3] = v3;
        }}",
        texts.join(" ")
    );
    let is_signed = ty == "char";
    let promoted = move |byte: u8| if is_signed { i32::from(byte as i8) } else { i32::from(byte) };
    Case::new(format!("bytes::mixed_{ty}_{seed}"), source)
        .input_n(4 * GLOBAL, byte)
        .expect_n(4 * GLOBAL, move |k| {
            let mut v = [0, 1, 2, 3].map(|n| promoted(byte(k / 4 * 4 + n)));
            for effect in (0..ROUNDS).flat_map(|_| &effects) {
                effect(&mut v);
                v = v.map(|value| promoted(value as u8));
            }
            Some(v[k % 4] as u8)
        })
        .value(ROUNDS)
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
    for seed in 0..40 {
        cases.push(mixed(if seed % 2 == 0 { "uchar" } else { "char" }, seed));
    }
    for (ty, bytes) in [("ushort", 2), ("uint", 4), ("ulong", 8)] {
        for is_big in [false, true] {
            cases.extend([0, 3].map(|from| taken_apart(ty, bytes, is_big, from)));
        }
    }
    cases
}
