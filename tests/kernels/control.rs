//! Control flow: divergent branches and loops, switches, jumps that no structured loop makes, calls.

use clift_tests::kernel::{Case, GLOBAL};
use clift_tests::values::spread;

fn value(i: usize) -> u32 {
    spread(51, i) as u32
}

fn collatz() -> Case {
    Case::new(
        "control::divergent_loop",
        "kernel void t(global int *out) {
            uint n = get_global_id(0) + 1;
            int steps = 0;
            while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++steps; }
            out[get_global_id(0)] = steps;
        }",
    )
    .expect(|i| {
        let (mut n, mut steps) = (i + 1, 0);
        while n != 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            steps += 1;
        }
        steps
    })
}

/// The values that are left, tried one after another; the loop's only exit is in one arm of a branch.
fn backtracking() -> Case {
    Case::new(
        "control::backtracking",
        "kernel void t(global const uint *a, global int *out) {
            size_t i = get_global_id(0);
            uint left[4];
            int level = 0, found = 0;
            left[0] = a[i] & 7;
            for (;;) {
                if (left[level] == 0) {
                    if (level == 0) break;
                    level--;
                    continue;
                }
                uint bit = left[level] & -left[level];
                left[level] ^= bit;
                if (level == 3) { found++; continue; }
                left[++level] = (a[i] >> bit) & 7;
            }
            out[i] = found;
        }",
    )
    .input(value)
    .expect(|i| {
        fn found(a: u32, level: u32, left: u32) -> i32 {
            let bits = (0..3).map(|bit| 1 << bit).filter(|bit| left & bit != 0);
            bits.map(|bit| if level == 3 { 1 } else { found(a, level + 1, a >> bit & 7) }).sum()
        }
        found(value(i), 0, value(i) & 7)
    })
}

fn switches() -> Case {
    Case::new(
        "control::switch",
        "kernel void t(global const uint *a, global int *out) {
            size_t i = get_global_id(0);
            int result = 0;
            switch (a[i] % 9) {
            case 0: result = 10; break;
            case 1: result = 5; // falls through
            case 2: result += 7; break;
            case 3: case 4: result = -1; break;
            case 7: out[i] = 99; return;
            default: result = a[i] & 1 ? 3 : 4;
            }
            switch ((long)a[i] << 20) { case 0x123456789L: result = 0; break; case -1: result = 1; }
            out[i] = result;
        }",
    )
    .input(value)
    .expect(|i| match value(i) % 9 {
        0 => 10,
        1 => 12,
        2 => 7,
        3 | 4 => -1,
        7 => 99,
        _ => {
            if value(i) & 1 == 1 {
                3
            } else {
                4
            }
        }
    })
}

/// A loop with two entries: no structured form exists.
fn irreducible() -> Case {
    fn run(a: u32) -> u32 {
        let (mut x, mut count) = (a % 50, 0);
        let mut in_second = a & 1 == 1;
        loop {
            if !in_second {
                x += 3;
                count += 1;
                if x > 100 {
                    break;
                }
            }
            in_second = false;
            x += x % 5;
            count += 10;
            if x > 90 {
                break;
            }
            x += 1;
        }
        x * 1000 + count
    }
    Case::new(
        "control::irreducible_loop",
        "kernel void t(global const uint *a, global uint *out) {
            size_t i = get_global_id(0);
            uint x = a[i] % 50, count = 0;
            if (a[i] & 1) goto second;
        first:
            x += 3; count += 1;
            if (x > 100) goto done;
        second:
            x += x % 5; count += 10;
            if (x > 90) goto done;
            x += 1;
            goto first;
        done:
            out[i] = x * 1000 + count;
        }",
    )
    .input(value)
    .expect(|i| run(value(i)))
}

fn breaks() -> Case {
    Case::new(
        "control::break_and_continue",
        "kernel void t(global const uint *a, global uint *out) {
            size_t i = get_global_id(0);
            uint sum = 0;
            for (uint r = 0; r < 10; ++r) {
                if ((a[i] >> r) & 1) continue;
                for (uint c = 0; ; ++c) {
                    if (c > a[i] % 5) break;
                    if (c == r) continue;
                    sum += r * c + 1;
                    if (sum > 60) goto out_of_both;
                }
                do { sum = sum * 2 + r; } while (sum % 3 == 1 && sum < 50);
            }
        out_of_both:
            out[i] = sum;
        }",
    )
    .input(value)
    .expect(|i| {
        let a = value(i);
        let mut sum = 0_u32;
        'both: for r in 0..10 {
            if a >> r & 1 == 1 {
                continue;
            }
            for c in 0.. {
                if c > a % 5 {
                    break;
                }
                if c == r {
                    continue;
                }
                sum += r * c + 1;
                if sum > 60 {
                    break 'both;
                }
            }
            loop {
                sum = sum * 2 + r;
                if sum % 3 != 1 || sum >= 50 {
                    break;
                }
            }
        }
        sum
    })
}

fn calls() -> Case {
    Case::new(
        "control::function_calls",
        "typedef struct { int low, high; } Pair;
        int square(int x) { return x * x; }
        Pair split(int x) { Pair p; p.low = x & 0xffff; p.high = x >> 16; return p; }
        float4 lift(float x) { return (float4)(x, x + 1, x + 2, x + 3); }
        void accumulate(private int *sum, int x, bool negate) { if (negate) { *sum -= x; return; } *sum += x; }
        int sum_up(int depth) { int s = 0; for (int k = 0; k < depth; ++k) accumulate(&s, square(k), k & 1); return s; }
        kernel void t(global const int *a, global int4 *out) {
            size_t i = get_global_id(0);
            Pair p = split(a[i]);
            out[i] = (int4)(p.low + p.high, sum_up((int)i % 9), (int)lift((float)(i % 10)).w, square(square(3)));
        }",
    )
    .input(|i| value(i) as i32)
    .expect(|i| {
        let a = value(i) as i32;
        let sum: i32 = (0..i as i32 % 9).map(|k| if k & 1 == 1 { -k * k } else { k * k }).sum();
        [(a & 0xFFFF) + (a >> 16), sum, i as i32 % 10 + 3, 81]
    })
}

/// A kernel that calls another kernel as a function.
fn kernel_call() -> Case {
    Case::new(
        "control::kernel_calls_kernel",
        "kernel void helper(global int *out, int x) { out[get_global_id(0)] = x * 2; }
        kernel void t(global int *out) { helper(out, (int)get_global_id(0) + 1); }",
    )
    .expect(|i| (i as i32 + 1) * 2)
}

fn short_circuit() -> Case {
    Case::new(
        "control::short_circuit",
        "kernel void t(global const uint *a, global int *out) {
            size_t i = get_global_id(0);
            int evaluated = 0;
            bool r = (a[i] & 1) && (++evaluated, a[i] & 2) || (evaluated += 10, a[i] & 4);
            out[i] = evaluated * 2 + r;
        }",
    )
    .input(value)
    .expect(|i| {
        let a = value(i);
        let mut evaluated = 0;
        let mut step = |by, bit| {
            evaluated += by;
            a & bit != 0
        };
        let r = (a & 1 != 0 && step(1, 2)) || step(10, 4);
        evaluated * 2 + i32::from(r)
    })
}

/// An interpreter's loop: a switch inside a loop, driven by data that differs per item.
fn bytecode() -> Case {
    fn run(code: &[u8], mut pc: usize, mut acc: u32) -> u32 {
        let mut stack = [0_u32; 4];
        for _ in 0..64 {
            let op = code[pc % 64];
            pc += 1;
            match op % 8 {
                0 => acc = acc.wrapping_add(u32::from(op)),
                1 => acc = acc.wrapping_mul(2654435761),
                2 => acc ^= acc >> 7,
                3 => stack[(op >> 3 & 3) as usize] = acc,
                4 => acc = acc.wrapping_add(stack[(op >> 3 & 3) as usize]),
                5 => {
                    if acc & 1 == 1 {
                        pc += (op >> 4) as usize;
                    }
                }
                6 => acc = acc.rotate_left(u32::from(op >> 3)),
                _ => break,
            }
        }
        acc
    }
    let code = |e: usize| {
        let byte = spread(52, e) as u8;
        // Ends only now and then.
        if byte % 8 == 7 && byte > 40 { byte & !1 } else { byte }
    };
    Case::new(
        "control::bytecode_interpreter",
        "kernel void t(global const uchar *code, global const uint *a, global uint *out) {
            size_t i = get_global_id(0);
            uint acc = a[i], pc = a[i] & 63;
            uint stack[4] = {0, 0, 0, 0};
            for (int step = 0; step < 64; ++step) {
                uchar op = code[pc++ % 64];
                bool end = false;
                switch (op % 8) {
                case 0: acc += op; break;
                case 1: acc *= 2654435761u; break;
                case 2: acc ^= acc >> 7; break;
                case 3: stack[(op >> 3) & 3] = acc; break;
                case 4: acc += stack[(op >> 3) & 3]; break;
                case 5: if (acc & 1) pc += op >> 4; break;
                case 6: acc = rotate(acc, (uint)(op >> 3)); break;
                default: end = true;
                }
                if (end) break;
            }
            out[i] = acc;
        }",
    )
    .input_n(64, code)
    .input(value)
    .expect(move |i| {
        let code: Vec<u8> = (0..64).map(code).collect();
        run(&code, (value(i) & 63) as usize, value(i))
    })
}

fn deep_nesting() -> Case {
    Case::new(
        "control::deeply_nested_branches",
        "kernel void t(global const uint *a, global int *out) {
            size_t i = get_global_id(0);
            uint x = a[i];
            int r = 0;
            if (x & 1) { r += 1; if (x & 2) { r += 2; if (x & 4) { r += 4; if (x & 8) { r += 8; if (x & 16) r += 16; else r -= 1; }
                else if (x & 32) r *= 2; } else r = -r; } else if (x & 64) { r += 3; } } else { r = x & 128 ? 50 : 60; if (x & 256) r++; }
            out[i] = r;
        }",
    )
    .input(value)
    .expect(|i| {
        let x = value(i);
        let bit = |n: u32| x & n != 0;
        if !bit(1) {
            return (if bit(128) { 50 } else { 60 }) + i32::from(bit(256));
        }
        let mut r = 1;
        if bit(2) {
            r += 2;
            if bit(4) {
                r += 4;
                if bit(8) {
                    r += 8;
                    r += if bit(16) { 16 } else { -1 };
                } else if bit(32) {
                    r *= 2;
                }
            } else {
                r = -r;
            }
        } else if bit(64) {
            r += 3;
        }
        r
    })
}

fn early_returns() -> Case {
    Case::new(
        "control::early_returns",
        "int find(global const uint *a, uint from, uint what) {
            for (uint k = from; k < 240; ++k) { if ((a[k] & 31) == what) return (int)k; }
            return -1;
        }
        kernel void t(global const uint *a, global int *out) {
            size_t i = get_global_id(0);
            if (i % 11 == 3) { out[i] = -7; return; }
            int at = find(a, (uint)i, (uint)i & 31);
            if (at < 0) { out[i] = -1; return; }
            out[i] = at;
        }",
    )
    .input(value)
    .expect(|i| {
        if i % 11 == 3 {
            return -7;
        }
        (i..GLOBAL).find(|k| value(*k) as usize & 31 == i & 31).map_or(-1, |k| k as i32)
    })
}

fn infinite_loop_with_exit() -> Case {
    Case::new(
        "control::endless_loop_left_by_return",
        "kernel void t(global uint *out) {
            uint i = get_global_id(0), a = i, b = 360;
            for (;;) {
                if (a == 0) { out[i] = b; return; }
                if (a >= b) a -= b; else { uint swap = a; a = b; b = swap; if (b == 0) { out[i] = a; return; } }
            }
        }",
    )
    .expect(|i| {
        let (mut a, mut b) = (i as u32, 360);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

fn unrolled() -> Case {
    Case::new(
        "control::unroll_hints_and_constant_bounds",
        "kernel void t(global const uint *a, global uint *out) {
            size_t i = get_global_id(0);
            uint hash = 2166136261u;
            __attribute__((opencl_unroll_hint(4)))
            for (int k = 0; k < 4; ++k) { hash ^= (a[i] >> (8 * k)) & 255; hash *= 16777619u; }
            #pragma unroll
            for (int k = 3; k >= 0; --k) hash += (uint)k << hash % 7;
            out[i] = hash;
        }",
    )
    .input(value)
    .expect(|i| {
        let mut hash = value(i)
            .to_le_bytes()
            .iter()
            .fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619));
        for k in (0..4).rev() {
            hash = hash.wrapping_add(k << (hash % 7));
        }
        hash
    })
}

/// A loop over neighbours in which part of the test is the same for all of them; here the work-items are the pixels of rows of 8.
fn borders() -> Case {
    Case::new(
        "control::neighbours_inside_an_image",
        "kernel void t(global const uint *a, global uint *out) {
            int i = get_global_id(0), x = i & 7, y = i >> 3, height = get_global_size(0) >> 3;
            uint sum = 0, inside = 0;
            for (int dy = -2; dy <= 2; ++dy)
                for (int dx = -1 - (int)(a[i] & 1); dx <= 1; ++dx)
                    if (x + dx >= 0 && x + dx < 8 && y + dy >= 0 && y + dy < height) {
                        sum += a[(y + dy) * 8 + x + dx];
                        ++inside;
                    }
            out[i] = sum * 16 + inside;
        }",
    )
    .input(value)
    .expect(|i| {
        let (x, y, height) = (i as i32 & 7, i as i32 >> 3, (GLOBAL / 8) as i32);
        let (mut sum, mut inside) = (0u32, 0);
        for y in (y - 2..=y + 2).filter(|y| (0..height).contains(y)) {
            for x in (x - 1 - (value(i) & 1) as i32..=x + 1).filter(|x| (0..8).contains(x)) {
                sum = sum.wrapping_add(value((y * 8 + x) as usize));
                inside += 1;
            }
        }
        sum.wrapping_mul(16).wrapping_add(inside)
    })
}

/// Functions that are `inline` but not `static` are called where the compiler does not inline them: they exist, as in GNU C.
fn inline_functions(name: &str, options: &str) -> Case {
    Case::new(
        format!("control::inline_functions_{name}"),
        "inline int tripled(int x) { return x * 3; }
        extern inline int by_five(int x);
        inline int by_five(int x) { return x * 5; }
        inline __attribute__((noinline)) int less(int x) { return tripled(x) - 1; }
        inline float2 __attribute__((overloadable)) sum(float2 a, float2 b) { return a + b; }
        inline int __attribute__((overloadable)) sum(int a, int b) { return a + b; }
        kernel void t(global int *out) {
            int i = get_global_id(0);
            out[i] = sum(less(i), by_five(i)) + (int)sum((float2)(i), (float2)(1, 2)).y;
        }",
    )
    .options(options)
    .uniform()
    .expect(|i| i as i32 * 9 + 1)
}

/// A program's own functions and macros may have the names of built-in ones.
fn own_functions(name: &str, options: &str) -> Case {
    Case::new(
        format!("control::own_functions_with_built_in_names_{name}"),
        "// A comment: read_imagef(i, c), convert_int
        int bit_reverse(int x) { return x + 1; }
        uint bitfield_insert(uint a, uint b) { return a * b; }
        int bitfield_extract_signed(int a) { return a - 5; }
        float __attribute__((overloadable)) vloada_half3(float x) { return x * 2; }
        int __attribute__((overloadable)) convert_int(char x) { return x + 100; }
        float4 read_imagef(int a, int b, int c, int d) { return (float4)(a, b, c, d); }
        void async_work_group_copy_2D2D(global int *p) { p[0] = 7; }
        int async_work_group_copy(int a) { return a + 11; }
        #define atomic_load_explicit(p, o) ((p)[0] + (o))
        int mad24(int a) { return a + 3; }
        float __attribute__((overloadable)) dot(float4 a, float4 b) { return 42.0f; }
        int __attribute__((overloadable)) popcount(int x) { return -x; }
        kernel void t(global int *o) {
          size_t i = get_global_id(0);
          int n = i; char c = n & 63;
          int r = bit_reverse(n) + bitfield_insert(n, 2) + bitfield_extract_signed(n) + (int)vloada_half3((float)n) + convert_int(c);
          float4 f = read_imagef(n, 2, 3, 4);
          r += (int)(f.x + f.y + f.z + f.w) + async_work_group_copy(n) + atomic_load_explicit(&n, 2) + mad24(n);
          r += (int)dot(f, f) + popcount(n);
          o[i] = r;
        }",
    )
    .source_only("takes functions of these names for the built-in ones")
    .options(options)
    .uniform()
    .expect(|i| {
        let (n, c) = (i as i32, (i & 63) as i32);
        let first = n + 1 + n * 2 + (n - 5) + n * 2 + (c + 100);
        first + (n + 2 + 3 + 4) + (n + 11) + (n + 2) + (n + 3) + 42 - n
    })
}

/// Calls of built-in functions through macros, with braces and by pasted names.
fn calls_in_disguise() -> Case {
    Case::new(
        "control::built_in_functions_through_macros",
        "#define CONVERT(T, x) convert_##T(x)
        #define CALL(f, ...) f(__VA_ARGS__)
        #define CAT_(a, b) a##b
        #define CAT(a, b) CAT_(a, b)
        kernel void t(global int *out) {
            int i = get_global_id(0);
            char c = i - 120;
            int4 v = CONVERT(int4, ((char4){c, 1, 2, (char)-3}));
            out[i] = v.x + v.w + CALL(convert_int, c) + CALL(CAT(convert_, short_sat), i * 1000) + CALL(CAT, convert, _int)((uchar)c);
        }",
    )
    .uniform()
    .expect(|i| {
        let c = (i as i32 - 120) as i8;
        i32::from(c) * 2 - 3 + (i as i32 * 1000).min(32767) + i32::from(c as u8)
    })
}

/// Work-items that look for a larger value leave a nest of loops each in its own iteration, some by no way but its end.
fn leaving_nests(name: &str, search: &str) -> Case {
    let level = |i: usize| (spread(52, i) % 1000) as f32 / 8.0;
    Case::new(
        format!("control::leaving_nests_{name}"),
        format!(
            "kernel void t(global const float *s, global uint *out) {{
                int i = get_global_id(0);
                float m = s[i] + 90;
                int top = 1, seen = 0;
                {search}
                out[i] = top ? 1000 + seen : seen;
            }}"
        ),
    )
    .input_n(1024, level)
    .expect(move |i| {
        let m = level(i) + 90.0;
        let larger = (0..16).position(|k| level((i + k / 4 * 64 + k % 4 * 16) & 1023) > m);
        larger.map_or(1000 + 16, |k| k as u32)
    })
}

/// The ways out of two loops at once that C has. No loop is unrolled: it is the loops that are tested.
fn multi_level_exits() -> Vec<Case> {
    const LOOPS: [&str; 2] =
        ["_Pragma(\"nounroll\") for (int a = 0; a < 4; ++a)", "_Pragma(\"nounroll\") for (int b = 0; b < 4; ++b)"];
    let [outer, inner] = LOOPS;
    let found = "s[(i + a * 64 + b * 16) & 1023] > m";
    vec![
        leaving_nests("by_goto", &format!("{outer} {inner} {{ if ({found}) {{ top = 0; goto out; }} ++seen; }} out:;")),
        leaving_nests(
            "by_two_breaks",
            &format!("{outer} {{ {inner} {{ if ({found}) {{ top = 0; break; }} ++seen; }} if (!top) break; }}"),
        ),
        leaving_nests("by_return", &format!("{outer} {inner} {{ if ({found}) {{ out[i] = seen; return; }} ++seen; }}")),
        leaving_nests(
            "from_a_switch",
            &format!(
                "{outer} {inner} switch ({found} ? 1 : b & 2) {{
                    case 1: top = 0; goto out;
                    case 2: ++seen; continue;
                    default: ++seen; break;
                }} out:;"
            ),
        ),
        leaving_nests(
            "by_continue_of_the_outer",
            &format!(
                "{outer} {{ if (!top) continue; {inner} {{ if ({found}) {{ top = 0; goto next; }} ++seen; }} next:; }}"
            ),
        ),
    ]
}

/// What the inner one of two loops computes is used after both, whichever of them a work-item leaves.
fn value_of_left_loops() -> Case {
    Case::new(
        "control::value_of_left_loops",
        "kernel void t(global const uint *a, global uint *out) {
            size_t i = get_global_id(0);
            uint x, sum = 0, round = 0;
            do {
                x = a[i] & 7;
                for (uint k = 0; k < (a[i] >> round & 15); ++k) {
                    if ((x ^ a[i]) % 11 == 5) goto done;
                    x = x * 3 + k;
                }
                sum += a[i] >> round * 3 & 63;
            } while (++round < 3 && sum < 70);
        done:
            out[i] = x;
        }",
    )
    .input(value)
    .expect(|i| {
        let a = value(i);
        let mut sum = 0;
        for round in 0.. {
            let mut x = a & 7;
            for k in 0..a >> round & 15 {
                if (x ^ a) % 11 == 5 {
                    return x;
                }
                x = x.wrapping_mul(3) + k;
            }
            sum += a >> (round * 3) & 63;
            if round == 2 || sum >= 70 {
                return x;
            }
        }
        unreachable!("the third round is the last")
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        calls_in_disguise(),
        own_functions("optimized", ""),
        own_functions("not_optimized", "-cl-opt-disable"),
        own_functions("of_2_0", "-cl-std=CL2.0"),
        own_functions("of_3_0", "-cl-std=CL3.0 -cl-opt-disable"),
        inline_functions("optimized", ""),
        inline_functions("not_optimized", "-cl-opt-disable"),
        inline_functions("of_3_0", "-cl-opt-disable -cl-std=CL3.0"),
        collatz(),
        borders(),
        backtracking(),
        value_of_left_loops(),
        switches(),
        irreducible(),
        breaks(),
        calls(),
        kernel_call(),
        short_circuit(),
        bytecode(),
        deep_nesting(),
        early_returns(),
        infinite_loop_with_exit(),
        unrolled(),
    ];
    cases.extend(multi_level_exits());
    cases
}
