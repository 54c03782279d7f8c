//! Integer functions of extensions: dot products of bytes, bit fields, arithmetic that tells an overflow.

use clift_tests::kernel::{Case, Need};
use clift_tests::values::spread;

fn word(seed: u64, i: usize) -> u32 {
    let edges = [0, u32::MAX, 0x8080_8080, 0x7f7f_7f7f, 0x0102_0304, 0xff7f_8001];
    if i < 36 { edges[if seed.is_multiple_of(2) { i % 6 } else { i / 6 }] } else { spread(seed, i) as u32 }
}

/// The sum of the products of bytes, each signed or not.
fn dot(a: (u32, bool), b: (u32, bool)) -> i32 {
    let byte = |(word, signed): (u32, bool), k: usize| {
        let byte = word.to_le_bytes()[k];
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    (0..4).map(|k| byte(a, k) * byte(b, k)).sum()
}

fn dots() -> Case {
    Case::new(
        "integers::dot_products",
        "kernel void t(global const uint *a, global const uint *b, global int4 *plain, global uint4 *packed, global int4 *sums) {
            size_t i = get_global_id(0);
            uint x = a[i], y = b[i];
            plain[i] = (int4)(dot(as_char4(x), as_char4(y)), (int)dot(as_uchar4(x), as_uchar4(y)),
                              dot(as_char4(x), as_uchar4(y)), dot(as_uchar4(x), as_char4(y)));
            packed[i] = (uint4)(dot_4x8packed_ss_int(x, y), dot_4x8packed_uu_uint(x, y), dot_4x8packed_su_int(x, y),
                                dot_4x8packed_us_int(x, y));
            sums[i] = (int4)(dot_acc_sat_4x8packed_ss_int(x, y, (int)x), (int)dot_acc_sat_4x8packed_uu_uint(x, y, x),
                             dot_acc_sat(as_char4(x), as_uchar4(y), INT_MIN + 100), dot_acc_sat(as_char4(x), as_char4(y), INT_MAX - 100));
        }",
    )
    .input(|i| word(0, i))
    .input(|i| word(1, i))
    .expect(|i| {
        let (x, y) = (word(0, i), word(1, i));
        [(true, true), (false, false), (true, false), (false, true)].map(|(a, b)| dot((x, a), (y, b)))
    })
    .expect(|i| {
        let (x, y) = (word(0, i), word(1, i));
        [(true, true), (false, false), (true, false), (false, true)].map(|(a, b)| dot((x, a), (y, b)) as u32)
    })
    .expect(|i| {
        let (x, y) = (word(0, i), word(1, i));
        [
            dot((x, true), (y, true)).saturating_add(x as i32),
            (dot((x, false), (y, false)) as u32).saturating_add(x) as i32,
            dot((x, true), (y, false)).saturating_add(i32::MIN + 100),
            dot((x, true), (y, true)).saturating_add(i32::MAX - 100),
        ]
    })
    .needs(Need::Extension("cl_khr_integer_dot_product"))
}

fn bit_fields() -> Case {
    fn field(i: usize) -> (u32, u32) {
        let offset = (i % 33) as u32;
        (offset, (i / 7) as u32 % (33 - offset))
    }
    fn mask(count: u32) -> u32 {
        1_u32.checked_shl(count).map_or(u32::MAX, |bit| bit - 1)
    }
    Case::new(
        "integers::bit_fields",
        "kernel void t(global const uint *a, global const uint *b, global const uint2 *f, global uint4 *out) {
            size_t i = get_global_id(0);
            uint offset = f[i].x, count = f[i].y;
            uint2 both = bitfield_insert((uint2)(a[i], 0), (uint2)(b[i], 0), offset, count);
            out[i] = (uint4)(both.x, (uint)bitfield_extract_signed(a[i], offset, count),
                             bitfield_extract_unsigned(a[i], offset, count), bit_reverse(a[i]));
        }",
    )
    .input(|i| word(0, i))
    .input(|i| word(1, i))
    .input(|i| <[u32; 2]>::from(field(i)))
    .expect(|i| {
        let ((offset, count), a, b) = (field(i), word(0, i), word(1, i));
        let place = if offset < 32 { mask(count) << offset } else { 0 };
        let low = a.checked_shr(offset).unwrap_or(0) & mask(count);
        let signed = if count == 0 { 0 } else { ((low << (32 - count)) as i32 >> (32 - count)) as u32 };
        [(a & !place) | (b.checked_shl(offset).unwrap_or(0) & place), signed, low, a.reverse_bits()]
    })
    .needs(Need::Extension("cl_khr_extended_bit_ops"))
}

/// The clock exists and is monotonic across work-items, and both forms of it agree.
fn clock() -> Case {
    Case::new(
        "integers::clock",
        "kernel void t(global const uint *a, global uint4 *out) {
            size_t i = get_global_id(0);
            ulong first = clock_read_device();
            uint work = 0;
            for (uint k = 0; k < 20; k++) work = work * 31 + a[(i + k) % get_global_size(0)];
            ulong second = clock_read_work_group();
            uint2 halves = clock_read_hilo_sub_group();
            ulong third = upsample(halves.y, halves.x);
            out[i] = (uint4)(first > 0 && second >= first, third >= second, third - first < 100000000000ul, work != 1);
        }",
    )
    .input(|i| word(1, i) | 1)
    .expect(|_| [1_u32; 4])
    .needs(Need::Extension("cl_khr_kernel_clock"))
}

/// Numbers that are cut off and extended again, as clang's back end makes them without optimization.
fn cut_and_extended() -> Case {
    Case::new(
        "integers::cut_and_extended",
        "kernel void t(global const ulong *a, global uint *out) {
            size_t i = get_global_id(0);
            uint flipped = (uchar)((uchar)get_local_size(2) ^ (uchar)a[i]);
            out[i] = flipped + ((ushort)(uchar)a[i] << 16);
        }",
    )
    .options("-cl-std=CL3.0 -cl-opt-disable")
    .input(wide)
    .expect(|i| {
        let low = wide(i) as u32 & 0xff;
        (low ^ 1) + (low << 16)
    })
}

/// Arithmetic that tells an overflow, of operands of one type and of several.
fn overflows() -> Case {
    fn edge(seed: u64, i: usize) -> u64 {
        let edges = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 32, 0xffff_ffff, 1 << 31, 0x7fff_ffff, (1 << 33) - 1];
        if i < 100 { edges[if seed.is_multiple_of(2) { i % 10 } else { i / 10 }] } else { spread(seed, i) >> (i % 64) }
    }
    Case::new(
        "integers::overflows",
        "#define OF(k, T, call) { T r; bool o = call; out[8 * i + k] = (long)r; over |= o << k; }
        kernel void t(global const ulong *a, global const ulong *b, global long *out, global int *overs) {
            size_t i = get_global_id(0);
            long x = a[i], y = b[i];
            int over = 0;
            OF(0, long, __builtin_add_overflow(x, y, &r));
            OF(1, long, __builtin_ssubll_overflow(x, y, &r));
            OF(2, long, __builtin_mul_overflow(x, y, &r));
            OF(3, ulong, __builtin_umull_overflow(x, y, &r));
            OF(4, uint, __builtin_usub_overflow(x, y, &r));
            OF(5, int, __builtin_smul_overflow(x, y, &r));
            OF(6, short, __builtin_sub_overflow((uint)x, (int)y, &r));
            OF(7, int, __builtin_mul_overflow((uint)x, (uint)y, &r));
            overs[i] = over;
        }",
    )
    .input(|i| edge(0, i))
    .input(|i| edge(1, i))
    .expect(|i| results(edge(0, i), edge(1, i)).map(|(value, _)| value))
    .expect(|i| {
        let results = results(edge(0, i), edge(1, i));
        (0..8).map(|k| i32::from(results[k].1) << k).sum::<i32>()
    })
}

/// What `overflows` computes.
fn results(x: u64, y: u64) -> [(i64, bool); 8] {
    let (a, b) = (x as i64, y as i64);
    let (c, d) = (x as u32, y as u32);
    let sum = a.overflowing_add(b);
    let difference = a.overflowing_sub(b);
    let product = a.overflowing_mul(b);
    let (unsigned, over) = x.overflowing_mul(y);
    let (less, below) = c.overflowing_sub(d);
    let (int, beyond) = (c as i32).overflowing_mul(d as i32);
    let mixed = i64::from(c) - i64::from(d as i32);
    let whole = u64::from(c) * u64::from(d);
    [
        sum,
        difference,
        product,
        (unsigned as i64, over),
        (less.into(), below),
        (int.into(), beyond),
        (i64::from(mixed as i16), i16::try_from(mixed).is_err()),
        (i64::from(whole as i32), i32::try_from(whole).is_err()),
    ]
}

fn wide(i: usize) -> u64 {
    spread(83, i)
}

/// Numbers that are taken apart into coordinates of a grid and put together again, in several ways, and the id likewise as an
/// index.
fn coordinates(ty: &str, nx: u64, ny: u64) -> Case {
    let plane = nx * ny;
    let source = format!(
        "kernel void t(global const {ty} *in, global {ty} *out, global int *at) {{
            {ty} x = in[get_global_id(0)];
            {ty} k = x / {plane}, j = (x - k * {plane}) / {nx}, i = x - j * {nx} - k * {plane};
            {ty} first = i + j * {nx} + k * {plane};
            {ty} second = x % {nx} + {nx} * (x / {nx} % {ny}) + x / {nx} / {ny} * {plane};
            {ty} third = ((x >> 6) << 6) + (x & 63);
            {ty} fourth = x % {nx} + {nx} * (x / {nx} % {ny}) - 3;
            out[get_global_id(0)] = first == x && second == x && third == x ? fourth : 77;
            int id = get_global_id(0), row = id / {nx}, column = id - row * {nx};
            at[row * {nx} + column] = id;
        }}"
    );
    let is_signed = ty == "int" || ty == "long";
    let is_long = ty == "long" || ty == "ulong";
    let (nx, plane) = (nx as i128, plane as i128);
    let value = move |i: usize| {
        let bits = spread(72, i);
        match (is_signed, is_long) {
            (true, true) => i128::from(bits as i64),
            (false, true) => i128::from(bits),
            (true, false) => i128::from(bits as i32),
            (false, false) => i128::from(bits as u32),
        }
    };
    let case = Case::new(format!("integers::coordinates_{ty}_{nx}_{plane}"), source);
    // Division truncates.
    let fourth = move |i: usize| value(i) % nx + nx * (value(i) / nx % (plane / nx)) - 3;
    if is_long {
        case.input(move |i| value(i) as u64).expect(move |i| fourth(i) as u64).expect(|i| i as i32)
    } else {
        case.input(move |i| value(i) as u32).expect(move |i| fourth(i) as u32).expect(|i| i as i32)
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![dots(), bit_fields(), clock(), cut_and_extended(), overflows()];
    for ty in ["int", "uint", "long", "ulong"] {
        cases.extend([(7, 5), (64, 64), (50, 100), (32, 3)].map(|(nx, ny)| coordinates(ty, nx, ny)));
    }
    cases
}
