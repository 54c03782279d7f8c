//! Floating point: exact operations exactly, mathematical functions within a loose bound (the accuracy sweeps are
//! elsewhere), classification and comparison with NaNs.

use clift_tests::kernel::{Case, GLOBAL, Need};
use clift_tests::values::{any_float, double, float, spread, ulps, ulps64};

/// The exactly rounded operations on `float`, `lanes` at a time.
fn exact(lanes: usize) -> Case {
    const COLUMNS: [&str; 14] = [
        "a + b",
        "a - b",
        "a * b",
        "fma(a, b, a)",
        "fmin(a, b)",
        "fmax(a, b)",
        "fabs(a)",
        "floor(a)",
        "ceil(a)",
        "trunc(a)",
        "rint(a)",
        "round(a)",
        "copysign(a, b)",
        "-a",
    ];
    fn value(column: usize, a: f32, b: f32) -> f32 {
        match column {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => a.mul_add(b, a),
            4 => a.min(b),
            5 => a.max(b),
            6 => a.abs(),
            7 => a.floor(),
            8 => a.ceil(),
            9 => a.trunc(),
            10 => a.round_ties_even(),
            11 => a.round(),
            12 => a.copysign(b),
            _ => -a,
        }
    }
    let (vector, load, store) = match lanes {
        1 => ("float".to_owned(), "x[i]".to_owned(), "out[i * COLUMNS + column] = value".to_owned()),
        _ => (
            format!("float{lanes}"),
            format!("vload{lanes}(i, x)"),
            format!("vstore{lanes}(value, i * COLUMNS + column, out)"),
        ),
    };
    let mut source = format!(
        "#pragma OPENCL FP_CONTRACT OFF\n#define COLUMNS {}\n\
         kernel void t(global const float *as, global const float *bs, global float *out) {{\n\
         size_t i = get_global_id(0);\n{vector} a = {}, b = {};\n",
        COLUMNS.len(),
        load.replace('x', "as"),
        load.replace('x', "bs"),
    );
    for (column, expression) in COLUMNS.iter().enumerate() {
        source += &format!("{{ {vector} value = {expression}; {}; }}\n", store.replace("column", &column.to_string()));
    }
    source += "}\n";
    Case::new(format!("float::exact_{vector}"), source)
        .input_n(GLOBAL * lanes, |e| float(1, e))
        .input_n(GLOBAL * lanes, |e| float(2, e))
        .expect_by(
            GLOBAL * COLUMNS.len() * lanes,
            move |e| {
                let (item, column, lane) = (e / lanes / COLUMNS.len(), e / lanes % COLUMNS.len(), e % lanes);
                let element = item * lanes + lane;
                Some(value(column, float(1, element), float(2, element)))
            },
            // The sign of the smaller or larger of two zeros is free.
            |want: &f32, got| want.to_bits() == got.to_bits() || (*want == 0.0 && *got == 0.0),
        )
}

/// Functions of one argument, with a bound in units in the last place.
struct Function {
    name: &'static str,
    ulp: u64,
    map: fn(f64) -> f64,
    argument: fn(f32) -> f32,
}

const FUNCTIONS: &[Function] = &[
    Function { name: "sqrt", ulp: 3, map: f64::sqrt, argument: f32::abs },
    Function { name: "rsqrt", ulp: 2, map: |x| 1.0 / x.sqrt(), argument: |x| x.abs() + 1.0e-3 },
    Function { name: "cbrt", ulp: 2, map: f64::cbrt, argument: |x| x },
    Function { name: "sin", ulp: 4, map: f64::sin, argument: |x| x },
    Function { name: "cos", ulp: 4, map: f64::cos, argument: |x| x },
    Function { name: "tan", ulp: 5, map: f64::tan, argument: |x| x },
    Function { name: "asin", ulp: 4, map: f64::asin, argument: |x| x.abs().fract() },
    Function { name: "acos", ulp: 4, map: f64::acos, argument: |x| x.fract() },
    Function { name: "atan", ulp: 5, map: f64::atan, argument: |x| x },
    Function { name: "sinh", ulp: 4, map: f64::sinh, argument: |x| x % 20.0 },
    Function { name: "cosh", ulp: 4, map: f64::cosh, argument: |x| x % 20.0 },
    Function { name: "tanh", ulp: 5, map: f64::tanh, argument: |x| x },
    Function { name: "exp", ulp: 3, map: f64::exp, argument: |x| x % 80.0 },
    Function { name: "exp2", ulp: 3, map: f64::exp2, argument: |x| x % 120.0 },
    Function { name: "exp10", ulp: 3, map: |x| 10.0_f64.powf(x), argument: |x| x % 37.0 },
    Function { name: "expm1", ulp: 3, map: f64::exp_m1, argument: |x| x % 80.0 },
    Function { name: "log", ulp: 3, map: f64::ln, argument: |x| x.abs() + 1.0e-6 },
    Function { name: "log2", ulp: 3, map: f64::log2, argument: |x| x.abs() + 1.0e-6 },
    Function { name: "log10", ulp: 3, map: f64::log10, argument: |x| x.abs() + 1.0e-6 },
    Function { name: "log1p", ulp: 2, map: f64::ln_1p, argument: f32::abs },
    Function { name: "degrees", ulp: 2, map: f64::to_degrees, argument: |x| x },
    Function { name: "radians", ulp: 2, map: f64::to_radians, argument: |x| x },
];

fn functions() -> Vec<Case> {
    let one = |function: &'static Function| {
        let source = format!(
            "kernel void t(global const float *a, global float *out) {{\n\
             size_t i = get_global_id(0); out[i] = {}(a[i]); }}",
            function.name
        );
        Case::new(format!("float::{}", function.name), source).input(|i| (function.argument)(float(3, i))).expect_by(
            GLOBAL,
            |i| Some((function.map)(f64::from((function.argument)(float(3, i)))) as f32),
            |want, got| ulps(*want, *got) <= function.ulp,
        )
    };
    FUNCTIONS.iter().map(one).collect()
}

/// Exponentials of neighbouring work-items that are normal, subnormal, 0, infinite and no numbers.
fn exponentials() -> Case {
    fn argument(i: usize) -> f32 {
        const SPECIAL: [f32; 4] = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::MAX];
        let number = spread(21, i) as usize;
        match number % 16 {
            0 => SPECIAL[number / 16 % 4],
            // Subnormal results of each function.
            1 => -87.4 - (number / 16 % 160) as f32 / 10.0,
            2 => -126.1 - (number / 16 % 220) as f32 / 10.0,
            3 => -38.0 - (number / 16 % 65) as f32 / 10.0,
            4..8 => (number / 16 % 4000) as f32 - 2000.0,
            _ => (number / 16 % 3000) as f32 / 10.0 - 150.0,
        }
    }
    Case::new(
        "float::exponentials",
        "kernel void t(global const float *a, global float4 *out) {
            size_t i = get_global_id(0);
            out[i] = (float4)(exp(a[i]), exp2(a[i]), exp10(a[i]), exp((float)get_local_size(1) * -200.0f));
        }",
    )
    .input(argument)
    .expect_by(
        GLOBAL,
        |i| {
            let x = f64::from(argument(i));
            Some([x.exp() as f32, x.exp2() as f32, 10.0_f64.powf(x) as f32, 0.0])
        },
        |want: &[f32; 4], got| want.iter().zip(got).all(|(want, got)| ulps(*want, *got) <= 3),
    )
}

fn binary_functions() -> Case {
    Case::new(
        "float::functions_of_two",
        "kernel void t(global const float *a, global const float *b, global float8 *out) {
            size_t i = get_global_id(0);
            float x = a[i], y = b[i];
            out[i] = (float8)(x / y, pow(fabs(x), fmin(fmax(y, -9.0f), 9.0f)), atan2(x, y), hypot(x, y), fmod(x, y),
                              ldexp(x, (int)i % 20 - 10), fdim(x, y), remainder(x, y));
        }",
    )
    .input(|i| float(4, i + 12))
    .input(|i| float(5, i + 12))
    .expect_by(
        GLOBAL,
        |i| {
            let (x, y) = (float(4, i + 12), float(5, i + 12));
            let (wide_x, wide_y) = (f64::from(x), f64::from(y));
            let remainder = {
                // Exact: |x| < 2^10 and |y| > 2^-11, so the quotient and the product fit in a double.
                let quotient = (wide_x / wide_y).round_ties_even();
                (wide_x - quotient * wide_y) as f32
            };
            Some([
                x / y,
                wide_x.abs().powf(f64::from(y.clamp(-9.0, 9.0))) as f32,
                wide_x.atan2(wide_y) as f32,
                wide_x.hypot(wide_y) as f32,
                x % y,
                x * 2.0_f32.powi(i as i32 % 20 - 10),
                if x > y { x - y } else { 0.0 },
                remainder,
            ])
        },
        |want: &[f32; 8], got| {
            let bound = [3, 16, 6, 4, 0, 0, 0, 0];
            (0..8).all(|lane| ulps(want[lane], got[lane]) <= bound[lane])
        },
    )
}

fn results_through_pointers() -> Case {
    Case::new(
        "float::results_through_pointers",
        "kernel void t(global const float *a, global float4 *out, global int2 *ints) {
            size_t i = get_global_id(0);
            float whole, cosine; int exponent, quotient;
            float fraction = fract(a[i], &whole);
            float sine = sincos(a[i], &cosine);
            float mantissa = frexp(a[i], &exponent);
            float part = modf(a[i], &whole);
            float rest = remquo(a[i], 3.0f, &quotient);
            out[i] = (float4)(fraction, mantissa, part + whole, rest);
            ints[i] = (int2)(exponent, ilogb(a[i]));
        }",
    )
    .input(|i| float(6, i + 12))
    .expect_by(
        GLOBAL,
        |i| {
            let x = float(6, i + 12);
            let exponent = (f64::from(x).abs().log2().floor() as i32) + 1;
            let fraction = (x - x.floor()).min(f32::from_bits(0x3F7F_FFFF));
            let wide = f64::from(x);
            Some([fraction, x / 2.0_f32.powi(exponent), x, (wide - (wide / 3.0).round_ties_even() * 3.0) as f32])
        },
        |want: &[f32; 4], got| want == got,
    )
    .expect(|i| {
        let exponent = f64::from(float(6, i + 12)).abs().log2().floor() as i32;
        [exponent + 1, exponent]
    })
}

fn classification() -> Case {
    Case::new(
        "float::classification",
        "kernel void t(global const float *a, global const float *b, global int16 *out) {
            size_t i = get_global_id(0);
            float x = a[i], y = b[i];
            out[i] = (int16)(isnan(x), isinf(x), isfinite(x), isnormal(x), signbit(x) != 0, isequal(x, y), isnotequal(x, y),
                             isgreater(x, y), isless(x, y), islessgreater(x, y), isordered(x, y), isunordered(x, y),
                             x == y, x != y, x < y, !(x >= y));
        }",
    )
    .input(|i| any_float(0, i))
    .input(|i| any_float(1, i))
    .expect(|i| {
        let (x, y) = (any_float(0, i), any_float(1, i));
        let unordered = x.is_nan() || y.is_nan();
        [
            x.is_nan(),
            x.is_infinite(),
            x.is_finite(),
            x.is_normal(),
            x.is_sign_negative(),
            x == y,
            x != y,
            x > y,
            x < y,
            x.partial_cmp(&y).is_some_and(|order| order.is_ne()),
            !unordered,
            unordered,
            x == y,
            x != y,
            x < y,
            unordered || x < y,
        ]
        .map(i32::from)
    })
}

/// Scalars that comparisons of floats choose between: their own operands, as minima and maxima are written, or others; with NaNs
/// and zeros of both signs.
fn choices(real: &'static str) -> Case {
    const COUNT: usize = 12;
    const CHOICES: [&str; COUNT] = [
        "x < y ? x : y",
        "x > y ? y : x",
        "x < y ? y : x",
        "x > y ? x : y",
        "x <= y ? x : y",
        "x >= y ? x : y",
        "!(x < y) ? x : y",
        "x == y ? z : w",
        "x != y ? z : w",
        "isunordered(x, y) ? z : w",
        "islessgreater(x, y) ? z : w",
        "x < y ? z : 0",
    ];
    let source = format!(
        "kernel void t(global const {real} *a, global const {real} *b, global {real} *out) {{
            size_t i = get_global_id(0);
            {real} x = a[i], y = b[i], z = x + 1, w = y - 1;
            {real} chosen[{count}] = {{ {} }};
            for (int n = 0; n < {count}; ++n) out[i * {count} + n] = chosen[n];
        }}",
        CHOICES.join(", "),
        count = COUNT,
    );
    let chosen = |choice: usize, x: f64, y: f64| {
        let (z, w) = (x + 1.0, y - 1.0);
        let unordered = x.is_nan() || y.is_nan();
        let (cond, then, otherwise) = match choice {
            0 => (x < y, x, y),
            1 => (x > y, y, x),
            2 => (x < y, y, x),
            3 => (x > y, x, y),
            4 => (x <= y, x, y),
            5 => (x >= y, x, y),
            6 => (unordered || x >= y, x, y),
            7 => (x == y, z, w),
            8 => (x != y, z, w),
            9 => (unordered, z, w),
            10 => (!unordered && x != y, z, w),
            _ => (x < y, z, 0.0),
        };
        if cond { then } else { otherwise }
    };
    // Zeros of both signs, NaNs, and numbers that are exact in both types, one more or less, too.
    let value = |stream: u64, i: usize| [0.0, -0.0, f64::NAN, 1.0, -2.5, 4096.0][(spread(stream, i) % 6) as usize];
    // By element of the output.
    let expected = move |at: usize| chosen(at % COUNT, value(20, at / COUNT), value(21, at / COUNT));
    let case = Case::new(format!("float::choices_{real}"), source);
    if real == "double" {
        case.input(move |i| value(20, i))
            .input(move |i| value(21, i))
            .expect_by(GLOBAL * COUNT, move |at| Some(expected(at)), |want, got| same(*want, *got))
            .needs(Need::Fp64)
    } else {
        case.input(move |i| value(20, i) as f32).input(move |i| value(21, i) as f32).expect_by(
            GLOBAL * COUNT,
            move |at| Some(expected(at) as f32),
            |want, got| same(f64::from(*want), f64::from(*got)),
        )
    }
}

/// Whether two numbers are equal, zeros with their signs, or both NaN.
fn same(want: f64, got: f64) -> bool {
    want.is_nan() && got.is_nan() || want.to_bits() == got.to_bits()
}

fn vector_relations() -> Case {
    Case::new(
        "float::vector_relations",
        "kernel void t(global const float4 *a, global const float4 *b, global int4 *out, global int2 *votes) {
            size_t i = get_global_id(0);
            int4 less = a[i] < b[i];
            out[i] = select(convert_int4_sat_rtz(a[i]), isnan(a[i]), less);
            votes[i] = (int2)(any(less), all(less));
        }",
    )
    .input_n(GLOBAL * 4, |e| float(7, e))
    .input_n(GLOBAL * 4, |e| float(8, e))
    .expect_n(GLOBAL * 4, |e| Some(if float(7, e) < float(8, e) { 0 } else { float(7, e) as i32 }))
    .expect(|i| {
        let less = (0..4).map(|lane| float(7, i * 4 + lane) < float(8, i * 4 + lane));
        [i32::from(less.clone().any(|less| less)), i32::from(less.clone().all(|less| less))]
    })
}

fn geometry() -> Case {
    Case::new(
        "float::geometry",
        "kernel void t(global const float4 *a, global const float4 *b, global float4 *out) {
            size_t i = get_global_id(0);
            float4 p = a[i], q = b[i];
            out[i] = (float4)(dot(p, q), length(p.xyz), distance(p.xy, q.xy), dot(cross(p.xyz, q.xyz), p.xyz) + normalize(p).x);
        }",
    )
    .input_n(GLOBAL * 4, |e| float(9, e + 12) % 4.0 + 5.0)
    .input_n(GLOBAL * 4, |e| float(10, e + 12) % 4.0 + 5.0)
    .expect_by(
        GLOBAL,
        |i| {
            let p: [f64; 4] = std::array::from_fn(|lane| f64::from(float(9, i * 4 + lane + 12) % 4.0 + 5.0));
            let q: [f64; 4] = std::array::from_fn(|lane| f64::from(float(10, i * 4 + lane + 12) % 4.0 + 5.0));
            let dot: f64 = p.iter().zip(&q).map(|(p, q)| p * q).sum();
            let length3 = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
            let length4 = p.iter().map(|p| p * p).sum::<f64>().sqrt();
            Some([dot, length3, (p[0] - q[0]).hypot(p[1] - q[1]), p[0] / length4].map(|value| value as f32))
        },
        |want: &[f32; 4], got| want.iter().zip(got).all(|(want, got)| (want - got).abs() < 2.0e-4 * want.abs().max(1.0)),
    )
}

fn mixing() -> Case {
    Case::new(
        "float::common_functions",
        "kernel void t(global const float *a, global float8 *out) {
            size_t i = get_global_id(0);
            float x = a[i];
            out[i] = (float8)(clamp(x, -1.0f, 2.0f), mix(x, 8.0f, 0.25f), step(0.5f, x), sign(x), smoothstep(-4.0f, 4.0f, x),
                              mad(x, 2.0f, 1.0f), maxmag(x, -2.0f), minmag(x, -2.0f));
        }",
    )
    .input(|i| float(11, i))
    .expect_by(
        GLOBAL,
        |i| {
            let x = float(11, i);
            let t = ((x + 4.0) / 8.0).clamp(0.0, 1.0);
            Some([
                x.clamp(-1.0, 2.0),
                x + (8.0 - x) * 0.25,
                if x < 0.5 { 0.0 } else { 1.0 },
                if x == 0.0 { x } else { x.signum() },
                t * t * (3.0 - 2.0 * t),
                x * 2.0 + 1.0,
                if x.abs() > 2.0 { x } else { -2.0 },
                if x.abs() < 2.0 { x } else { -2.0 },
            ])
        },
        |want: &[f32; 8], got| want.iter().zip(got).all(|(want, got)| (want - got).abs() <= 4.0e-6 * want.abs().max(1.0)),
    )
}

fn bits() -> Case {
    Case::new(
        "float::bits_and_neighbours",
        "kernel void t(global const float *a, global float4 *out) {
            size_t i = get_global_id(0);
            float x = a[i];
            out[i] = (float4)(as_float(as_uint(x) ^ 0x80000000u), nextafter(x, 1e9f), bitselect(x, 1.0f, as_float(0x7fffffu)), logb(x));
        }",
    )
    .input(|i| float(12, i + 12))
    .expect(|i| {
        let x = float(12, i + 12);
        [-x, x.next_up(), f32::from_bits(x.to_bits() & 0xFF80_0000), x.abs().log2().floor()]
    })
}

fn double_exact() -> Case {
    Case::new(
        "float::double",
        "#pragma OPENCL FP_CONTRACT OFF
        kernel void t(global const double *a, global const double *b, global double8 *out) {
            size_t i = get_global_id(0);
            double x = a[i], y = b[i];
            out[i] = (double8)(x + y, x - y, x * y, x / y, fma(x, y, x), sqrt(fabs(x)), floor(x), x < y ? x : -y);
        }",
    )
    .input(|i| double(13, i + 12))
    .input(|i| double(14, i + 12))
    .expect(|i| {
        let (x, y) = (double(13, i + 12), double(14, i + 12));
        [x + y, x - y, x * y, x / y, x.mul_add(y, x), x.abs().sqrt(), x.floor(), if x < y { x } else { -y }]
    })
    .needs(Need::Fp64)
}

fn double_functions() -> Case {
    Case::new(
        "float::double_functions",
        "kernel void t(global const double *a, global double8 *out) {
            size_t i = get_global_id(0);
            double x = a[i];
            out[i] = (double8)(sin(x), cos(x), exp(fmin(x, 700.0)), log(fabs(x)), pow(fabs(x), 1.5), atan2(x, 2.0), cbrt(x), tanh(x));
        }",
    )
    .input(|i| double(15, i + 12))
    .expect_by(
        GLOBAL,
        |i| {
            let x = double(15, i + 12);
            Some([x.sin(), x.cos(), x.min(700.0).exp(), x.abs().ln(), x.abs().powf(1.5), x.atan2(2.0), x.cbrt(), x.tanh()])
        },
        |want: &[f64; 8], got| (0..8).all(|lane| ulps64(want[lane], got[lane]) <= 17),
    )
    .needs(Need::Fp64)
}

/// A long chain whose every step rounds: any reordering or fusing shows.
fn long_double_chain() -> Case {
    fn logistic(mut x: f64) -> f64 {
        for _ in 0..200 {
            x = 3.75 * x * (1.0 - x);
        }
        x
    }
    Case::new(
        "float::long_chain_in_double",
        "#pragma OPENCL FP_CONTRACT OFF
        kernel void t(global const double *a, global double *out) {
            size_t i = get_global_id(0);
            double x = a[i];
            for (int k = 0; k < 200; ++k)
                x = 3.75 * x * (1.0 - x);
            out[i] = x;
        }",
    )
    .input(|i| (i as f64 + 0.5) / 241.0)
    .expect(|i| logistic((i as f64 + 0.5) / 241.0))
    .needs(Need::Fp64)
}

/// Powers with constant exponents, which are computed by products and square roots, and beside these one that is not.
fn constant_powers(function: &'static str, exponents: &'static [f64]) -> Case {
    let count = exponents.len();
    let powers: String = exponents
        .iter()
        .enumerate()
        .map(|(at, exponent)| match function {
            "pown" => format!("out[i * {count} + {at}] = pown(x, {});\n", *exponent as i32),
            _ => format!("out[i * {count} + {at}] = {function}(x, {exponent:?}f);\n"),
        })
        .collect();
    let power = move |x: f32, exponent: f64| match function {
        "powr" if x < 0.0 => f32::NAN,
        "powr" => f64::from(x.abs()).powf(f64::from(exponent as f32)) as f32,
        _ => f64::from(x).powf(f64::from(exponent as f32)) as f32,
    };
    Case::new(
        format!("float::constant_powers_{function}"),
        format!("kernel void t(global const float *a, global float *out) {{ size_t i = get_global_id(0); float x = a[i]; {powers} }}"),
    )
    .input(|i| any_float(22, i))
    .expect_by(
        GLOBAL * count,
        move |at| Some(power(any_float(22, at / count), exponents[at % count])),
        // Bits of zeros and infinities must agree.
        |want, got| ulps(*want, *got) <= if *want == 0.0 || want.is_infinite() { 0 } else { 16 },
    )
}

/// Denormals are neither flushed on the way in nor out.
fn denormals() -> Case {
    Case::new(
        "float::denormals",
        "#pragma OPENCL FP_CONTRACT OFF
        kernel void t(global const float *a, global float *out) { size_t i = get_global_id(0); out[i] = a[i] * 0.5f + a[i]; }",
    )
    .input(|i| f32::from_bits(i as u32 * 7919))
    .expect(|i| f32::from_bits(i as u32 * 7919) * 0.5 + f32::from_bits(i as u32 * 7919))
}

/// Spreadsheets (LibreOffice Calc) keep the number of an error in the lower bits of a NaN, and take one with other bits there
/// for a plain NaN. The bits survive calls, selections and memory, and `NAN` has those that clang gives it.
fn errors_in_nans() -> Case {
    Case::new(
        "float::errors_in_nans",
        "double error(ulong number) { return as_double(0x7FF8000000000000 + number); }
        uint number(double x) {
            if (isfinite(x)) return 0;
            if (isinf(x)) return 503;
            if (as_ulong(x) & 0xFFFF0000u) return 519;
            return as_ulong(x) & 0xFFFF;
        }
        double sum(double a, double b) { return isnan(b) ? b : isnan(a) ? a : a + b; }
        kernel void t(global const double *a, global uint *out) {
            size_t i = get_global_id(0);
            double results[5] = { a[i], error(532), NAN, a[i] / 0, error(502) };
            out[i] = number(sum(results[i % 5], sum(a[i], 1.0)));
        }",
    )
    .input(|i| i as f64 + 1.0)
    .expect(|i| [0_u32, 532, 519, 503, 502][i % 5])
    .needs(Need::Fp64)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [1, 2, 3, 4, 8, 16].into_iter().map(exact).collect();
    cases.extend(functions());
    cases.extend([
        exponentials(),
        binary_functions(),
        results_through_pointers(),
        classification(),
        constant_powers("pow", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -1.0, -2.0, -3.0, 0.5, 1.5, 2.5, -0.5, 2.2]),
        constant_powers("powr", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -1.0, -2.0, -3.0, 0.5, 1.5, 2.5, -0.5, 2.2]),
        constant_powers("pown", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -1.0, -2.0, -3.0, 8.0, -11.0]),
        choices("float"),
        choices("double"),
        vector_relations(),
        geometry(),
        mixing(),
        bits(),
        double_exact(),
        double_functions(),
        long_double_chain(),
        denormals(),
        errors_in_nans(),
    ]);
    cases
}
