//! Integer arithmetic, logic, shifts and comparisons, of every width, scalar and as vectors.

use clift_tests::kernel::{Case, GLOBAL};
use clift_tests::values::int_bits;

/// One column of results: the expression in OpenCL C over `a` and `b`, and its value (`None`: not specified).
type Column<T> = (&'static str, fn(T, T) -> Option<T>);

/// The integer types on the host side.
trait Int: clift_tests::kernel::Element + Copy {
    const BITS: u32;
    const NAME: &'static str;
    fn from_bits(bits: u64) -> Self;
    /// Columns that every integer type has.
    fn columns() -> Vec<Column<Self>>;
}

macro_rules! int {
    ($t:ty, $name:literal) => {
        impl Int for $t {
            const BITS: u32 = <$t>::BITS;
            const NAME: &'static str = $name;
            fn from_bits(bits: u64) -> Self {
                bits as $t
            }
            fn columns() -> Vec<Column<$t>> {
                // C's promotions do not show: everything is truncated to the type again. Vectors are not promoted at all.
                vec![
                    ("a + b", |a, b| Some(a.wrapping_add(b))),
                    ("a - b", |a, b| Some(a.wrapping_sub(b))),
                    ("a * b", |a, b| Some(a.wrapping_mul(b))),
                    ("a / b", |a, b| a.checked_div(b)),
                    ("a % b", |a, b| a.checked_rem(b)),
                    ("a & b", |a, b| Some(a & b)),
                    ("a | b", |a, b| Some(a | b)),
                    ("a ^ b", |a, b| Some(a ^ b)),
                    ("~a", |a, _| Some(!a)),
                    ("-a", |a, _| Some(a.wrapping_neg())),
                    ("min(a, b)", |a, b| Some(a.min(b))),
                    ("max(a, b)", |a, b| Some(a.max(b))),
                    ("add_sat(a, b)", |a, b| Some(a.saturating_add(b))),
                    ("sub_sat(a, b)", |a, b| Some(a.saturating_sub(b))),
                    ("mul_hi(a, b)", |a, b| Some(((a as i128).wrapping_mul(b as i128) >> <$t>::BITS) as $t)),
                    ("hadd(a, b)", |a, b| Some(((a as i128 + b as i128) >> 1) as $t)),
                    ("rhadd(a, b)", |a, b| Some(((a as i128 + b as i128 + 1) >> 1) as $t)),
                    ("rotate(a, b)", |a, b| Some(a.rotate_left((b as u64 % u64::from(<$t>::BITS)) as u32))),
                    ("clz(a)", |a, _| Some(a.leading_zeros() as $t)),
                    ("popcount(a)", |a, _| Some(a.count_ones() as $t)),
                    ("clamp(a, (T)2, (T)100)", |a, _| Some(a.clamp(2, 100))),
                    ("mad_sat(a, b, a)", |a, b| {
                        // Only a product of two unsigned longs can exceed 127 bits.
                        let exact =
                            (a as i128).checked_mul(b as i128).and_then(|product| product.checked_add(a as i128));
                        Some(exact.map_or(<$t>::MAX, |exact| exact.clamp(<$t>::MIN as i128, <$t>::MAX as i128) as $t))
                    }),
                    ("as_out(abs(a))", |a, _| Some((a as i128).unsigned_abs() as $t)),
                    ("as_out(abs_diff(a, b))", |a, b| Some(a.abs_diff(b) as $t)),
                ]
            }
        }
    };
}

int!(i8, "char");
int!(u8, "uchar");
int!(i16, "short");
int!(u16, "ushort");
int!(i32, "int");
int!(u32, "uint");
int!(i64, "long");
int!(u64, "ulong");

/// One kernel that computes all columns over vectors of `lanes` elements.
fn columns_case<T: Int>(name: &str, lanes: usize, columns: Vec<Column<T>>) -> Case {
    let count = columns.len();
    let vector = if lanes == 1 { T::NAME.to_owned() } else { format!("{}{lanes}", T::NAME) };
    let (load, store) = if lanes == 1 {
        ("x[i]".to_owned(), "out[i * COLUMNS + column] = value".to_owned())
    } else {
        (format!("vload{lanes}(i, x)"), format!("vstore{lanes}(value, i * COLUMNS + column, out)"))
    };
    let mut source = format!(
        "typedef {vector} T;\n#define as_out(e) as_{vector}(e)\n#define COLUMNS {count}\n\
         kernel void t(global const {elem} *as, global const {elem} *bs, global {elem} *out) {{\n\
         size_t i = get_global_id(0);\nT a = {a}, b = {b};\n",
        elem = T::NAME,
        a = load.replace('x', "as"),
        b = load.replace('x', "bs"),
    );
    for (column, (expression, _)) in columns.iter().enumerate() {
        source += &format!("{{ T value = {expression}; {}; }}\n", store.replace("column", &column.to_string()));
    }
    source += "}\n";
    let input = move |right: bool| move |e: usize| T::from_bits(int_bits(T::BITS, right, e));
    Case::new(name, source).input_n(GLOBAL * lanes, input(false)).input_n(GLOBAL * lanes, input(true)).expect_n(
        GLOBAL * count * lanes,
        move |e| {
            let (item, column, lane) = (e / lanes / count, e / lanes % count, e % lanes);
            let element = item * lanes + lane;
            columns[column].1(input(false)(element), input(true)(element))
        },
    )
}

fn arithmetic<T: Int>(lanes: &[usize]) -> Vec<Case> {
    let name =
        |lanes: usize| format!("arith::{}{}", T::NAME, if lanes == 1 { String::new() } else { lanes.to_string() });
    lanes.iter().map(|lanes| columns_case(&name(*lanes), *lanes, T::columns())).collect()
}

/// Shifts take the count modulo the width: that of the promoted type for scalars, of the element for vectors. Counts of which
/// the two make different things are not tested.
fn shifts() -> Vec<Case> {
    macro_rules! shift {
        ($t:ty, $lanes:literal) => {{
            let columns: Vec<Column<$t>> = vec![
                ("a << b", |a, b| {
                    (<$t>::BITS >= 32 || (b as u64) < u64::from(<$t>::BITS)).then(|| a.wrapping_shl(b as u32))
                }),
                ("a >> b", |a, b| {
                    (<$t>::BITS >= 32 || (b as u64) < u64::from(<$t>::BITS)).then(|| a.wrapping_shr(b as u32))
                }),
                ("a << (T)3", |a, _| Some(a << 3)),
                ("a >> (T)3", |a, _| Some(a >> 3)),
            ];
            let name = format!("arith::shift_{}{}", <$t>::NAME, $lanes);
            columns_case::<$t>(&name, $lanes, columns)
        }};
    }
    vec![
        shift!(i8, 1),
        shift!(u8, 16),
        shift!(i16, 4),
        shift!(u16, 1),
        shift!(i32, 1),
        shift!(i32, 4),
        shift!(u32, 8),
        shift!(u32, 3),
        shift!(i64, 1),
        shift!(u64, 2),
    ]
}

/// Comparisons give 0 or 1 on scalars, 0 or -1 on vectors.
fn comparisons() -> Vec<Case> {
    macro_rules! compare {
        ($t:ty, $signed:ty, $lanes:literal) => {{
            fn yes(condition: bool) -> Option<$signed> {
                let truth: $signed = if $lanes == 1 { 1 } else { -1 };
                Some(if condition { truth } else { 0 })
            }
            // The result type of a comparison is signed: compare as the other type, inside the expression.
            let columns: Vec<Column<$signed>> = vec![
                ("AS(a) < AS(b)", |a, b| yes((a as $t) < (b as $t))),
                ("AS(a) <= AS(b)", |a, b| yes((a as $t) <= (b as $t))),
                ("AS(a) > AS(b)", |a, b| yes((a as $t) > (b as $t))),
                ("AS(a) >= AS(b)", |a, b| yes((a as $t) >= (b as $t))),
                ("AS(a) == AS(b)", |a, b| yes(a == b)),
                ("AS(a) != AS(b)", |a, b| yes(a != b)),
                ("!a", |a, _| yes(a == 0)),
                ("a && b", |a, b| yes(a != 0 && b != 0)),
                ("a || b", |a, b| yes(a != 0 || b != 0)),
                ("AS(a) < AS(b) ? a : b", |a, b| Some(if (a as $t) < (b as $t) { a } else { b })),
            ];
            let vector = if $lanes == 1 { <$t>::NAME.to_owned() } else { format!("{}{}", <$t>::NAME, $lanes) };
            columns_case::<$signed>(&format!("arith::compare_{vector}"), $lanes, columns)
                .options(&format!("-cl-std=CL3.0 -DAS=as_{vector}"))
        }};
    }
    vec![
        compare!(i8, i8, 1),
        compare!(u8, i8, 16),
        compare!(i16, i16, 3),
        compare!(u16, i16, 8),
        compare!(i32, i32, 1),
        compare!(u32, i32, 1),
        compare!(i32, i32, 4),
        compare!(u32, i32, 2),
        compare!(i64, i64, 1),
        compare!(u64, i64, 1),
        compare!(i64, i64, 2),
        compare!(u64, i64, 4),
    ]
}

/// Division by zero and of the smallest value by -1 have no specified result, but must not end the process.
fn undefined_division() -> Case {
    Case::new(
        "arith::division_without_result",
        "kernel void t(global const long *zero, global const long *minus_one, global int *out) {
            size_t i = get_global_id(0);
            long z = zero[i], m = minus_one[i];
            int zi = (int)z, mi = (int)m;
            long sink = LONG_MIN / m + LONG_MIN % m + 5 / z + 5 % z + (long)(7ul / (ulong)z) + (long)(7ul % (ulong)z);
            sink += INT_MIN / mi + INT_MIN % mi + 5 / zi + 5 % zi + 7u / (uint)zi + 7u % (uint)zi;
            sink += (char)(-128 / (char)m) + (short)((short)-32768 % (short)m);
            int4 v = (int4)(INT_MIN, 5, INT_MIN, 7) / (int4)(mi, zi, zi, mi) + (int4)(INT_MIN, 5, INT_MIN, 7) % (int4)(mi, zi, zi, mi);
            sink += v.x + v.y + v.z + v.w;
            out[i] = sink == 0x123456789abcdefl ? 8 : 9;
        }",
    )
    .input(|_| 0_i64)
    .input(|_| -1_i64)
    .expect_n(GLOBAL, |_| None::<i32>)
    .clift_only("a division by zero traps")
}

/// Whether an unsigned quotient is zero, with divisors of zero among others. Programs take the comparison to be that of the
/// operands: how many items a work-item processes is `items / size + !(id / (items % size))`.
fn zero_quotients() -> Case {
    fn divisor(i: usize) -> u32 {
        (i % 3) as u32
    }
    Case::new(
        "arith::zero_quotients",
        "kernel void t(global const uint *by, global int *out) {
            size_t i = get_global_id(0);
            uint x = (uint)i % 5 / 2, y = by[i];
            int of_scalars = !(x / y) + 2 * (x / y == 0) + 4 * (0 != x / y) + 8 * (x / y > 0) + 16 * (x / y ? 1 : 0);
            int2 zero = convert_int2((ulong2)(x, 1) / (ulong2)(y, y) == 0) & 1;
            out[i] = of_scalars + 32 * zero.x + 64 * zero.y;
        }",
    )
    .input(divisor)
    .expect_n(GLOBAL, |i| {
        let (x, y) = ((i % 5 / 2) as u32, divisor(i));
        let of_scalars = if x < y { 3 } else { 28 };
        Some(of_scalars + 32 * i32::from(x < y) + 64 * i32::from(1 < y))
    })
}

/// 24-bit multiplication, and constants the compiler can fold into other forms.
fn special_products() -> Case {
    Case::new(
        "arith::mul24_and_constant_factors",
        "kernel void t(global const int *a, global int8 *out) {
            size_t i = get_global_id(0);
            int x = a[i] >> 8;
            uint u = (uint)x & 0xffffff;
            out[i] = (int8)(mul24(x, 37), mad24(x, -3, 11), (int)mul24(u, 5u), x * 8, x / 7, x % 10, (int)(u / 1000u), x / -16);
        }",
    )
    .input(|i| int_bits(32, false, i) as i32)
    .expect(|i| {
        let x = int_bits(32, false, i) as i32 >> 8;
        let u = x as u32 & 0xFF_FFFF;
        [x.wrapping_mul(37), x.wrapping_mul(-3).wrapping_add(11), u.wrapping_mul(5) as i32, x.wrapping_mul(8), x / 7, x % 10, (u / 1000) as i32, x / -16]
    })
}

/// Joins two halves.
fn upsample() -> Case {
    Case::new(
        "arith::upsample",
        "kernel void t(global const uchar *lo, global const char *hi, global short *out, global ulong *wide) {
            size_t i = get_global_id(0);
            out[i] = upsample(hi[i], lo[i]);
            wide[i] = upsample((uint)(lo[i] * 0x1010101u), (uint)hi[i]);
        }",
    )
    .input(|i| int_bits(8, false, i) as u8)
    .input(|i| int_bits(8, true, i) as i8)
    .expect(|i| (i16::from(int_bits(8, true, i) as i8) << 8) | i16::from(int_bits(8, false, i) as u8))
    .expect(|i| {
        let lo = u64::from(int_bits(8, false, i) as u8) * 0x101_0101;
        (lo << 32) | u64::from(int_bits(8, true, i) as i8 as u32)
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(arithmetic::<i8>(&[1, 16]));
    cases.extend(arithmetic::<u8>(&[1, 8]));
    cases.extend(arithmetic::<i16>(&[1, 4]));
    cases.extend(arithmetic::<u16>(&[1, 3]));
    cases.extend(arithmetic::<i32>(&[1, 2, 3, 4, 8, 16]));
    cases.extend(arithmetic::<u32>(&[1, 4]));
    cases.extend(arithmetic::<i64>(&[1, 2]));
    cases.extend(arithmetic::<u64>(&[1, 4]));
    cases.extend(shifts());
    cases.extend(comparisons());
    cases.extend([undefined_division(), zero_quotients(), special_products(), upsample()]);
    cases
}
