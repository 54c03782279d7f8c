//! Private arrays: counters and permutations with an index of each work-item, lists that are sorted, small arrays that loops over
//! constant ranges sort, eliminate or permute by tables, and quotients by a divisor that work-items share.

use clift_tests::kernel::{Case, Element, GLOBAL, Need};
use clift_tests::values::spread;

/// Elements that each work-item reads.
const STEPS: usize = 37;
/// Counters of a work-item.
const COUNTERS: usize = 11;

fn element(k: usize) -> u32 {
    spread(5, k) as u32
}

/// Counters of any type, of which only some work-items update some.
fn counters<T: Element>(
    ty: &str,
    from: impl Fn(u32) -> T + Clone + Send + Sync + 'static,
    add: impl Fn(T, T) -> T + Send + Sync + 'static,
) -> Case {
    let source = format!(
        "kernel void t(global {ty} *out, global const uint *in) {{
            size_t g = get_global_id(0);
            {ty} counts[{COUNTERS}];
            for (int k = 0; k < {COUNTERS}; k++)
                counts[k] = ({ty})(k * 3);
            for (int k = 0; k < {STEPS}; k++) {{
                uint v = in[g * {STEPS} + k];
                if (v & 64)
                    counts[v % {COUNTERS}] += ({ty})(v >> 28);
                else
                    counts[(v + k) % {COUNTERS}] += ({ty})1;
            }}
            for (int k = 0; k < {COUNTERS}; k++)
                out[g * {COUNTERS} + k] = counts[k];
        }}"
    );
    let case = Case::new(format!("private_arrays::counters_{ty}"), source)
        .expect_n(GLOBAL * COUNTERS, move |at| {
            let (g, which) = (at / COUNTERS, at % COUNTERS);
            let updates = (0..STEPS).filter_map(|k| {
                let v = element(g * STEPS + k);
                let (counter, by) = if v & 64 != 0 { (v, v >> 28) } else { (v.wrapping_add(k as u32), 1) };
                (counter as usize % COUNTERS == which).then(|| from(by))
            });
            Some(updates.fold(from(which as u32 * 3), &add))
        })
        .input_n(GLOBAL * STEPS, element);
    if ty == "double" { case.needs(Need::Fp64) } else { case }
}

/// Elements of an array that are exchanged, and others that are computed from them.
fn exchanged() -> Case {
    const N: usize = 32;
    Case::new(
        "private_arrays::exchanged",
        format!(
            "kernel void t(global uchar *out, global const uint *in) {{
                size_t g = get_global_id(0);
                uchar s[{N}];
                for (int i = 0; i < {N}; i++)
                    s[i] = i;
                int j = 0;
                for (int i = 0; i < {N}; i++) {{
                    j = (j + s[i] + in[g * 4 + i % 4]) % {N};
                    uchar t = s[i];
                    s[i] = s[j];
                    s[j] = t;
                    s[(s[i] + s[j]) % {N}] ^= t;
                }}
                for (int i = 0; i < {N}; i++)
                    out[g * {N} + i] = s[i];
            }}"
        ),
    )
    .expect_n(GLOBAL * N, |at| {
        let mut s: Vec<u8> = (0..N as u8).collect();
        let mut j = 0u32;
        for i in 0..N {
            j = j.wrapping_add(s[i].into()).wrapping_add(element(at / N * 4 + i % 4)) % N as u32;
            let t = s[i];
            s.swap(i, j as usize);
            let place = (usize::from(s[i]) + usize::from(s[j as usize])) % N;
            s[place] ^= t;
        }
        Some(s[at % N])
    })
    .input_n(GLOBAL * 4, element)
}

/// Two sorts of a small array: one exchanges neighbours, the other looks for the smallest element.
fn sorted(n: usize, ty: &str) -> Vec<Case> {
    let exchanges = "for (int i = 0; i < N - 1; i++)
                for (int j = i + 1; j < N; j++) { T a = v[i], b = v[j]; v[i] = min(a, b); v[j] = max(a, b); }";
    let selects = "for (int i = 0; i < N - 1; i++) {
                int least = i;
                for (int j = i + 1; j < N; j++) if (v[j] < v[least]) least = j;
                T t = v[i]; v[i] = v[least]; v[least] = t;
            }";
    let make = |name: &str, sort: &str| {
        let source = format!(
            "#define N {n}\ntypedef {ty} T;
            kernel void t(global int *out, global const uint *in) {{
                size_t g = get_global_id(0);
                T v[N];
                for (int i = 0; i < N; i++) v[i] = (T)(in[g * N + i] >> 26);
                {sort}
                for (int i = 0; i < N; i++) out[g * N + i] = (int)v[i];
            }}"
        );
        Case::new(format!("private_arrays::{name}_{ty}_{n}"), source)
            .expect_n(GLOBAL * n, move |at| {
                let mut all: Vec<i32> = (0..n).map(|i| (element(at / n * n + i) >> 26) as i32).collect();
                all.sort_unstable();
                Some(all[at % n])
            })
            .input_n(GLOBAL * n, element)
    };
    vec![make("exchanges", exchanges), make("selects", selects)]
}

/// Elimination in a small matrix: inner loops begin and end at counters of outer ones, and one loop counts down.
fn eliminated() -> Case {
    const N: usize = 5;
    let eliminate = |a: &mut [[i32; N]; N]| {
        for i in 0..N {
            for j in i + 1..N {
                for k in i..N {
                    a[j][k] = a[j][k].wrapping_sub(a[i][k].wrapping_mul(a[j][i] | 1));
                }
            }
        }
        for i in (0..N).rev() {
            let (above, below) = a.split_at_mut(i);
            for (row, &other) in above.iter_mut().zip(&below[0]) {
                row[i] ^= other;
            }
        }
    };
    Case::new(
        "private_arrays::eliminated",
        format!(
            "kernel void t(global int *out, global const int *in) {{
                size_t g = get_global_id(0);
                int a[{N}][{N}];
                for (int i = 0; i < {N}; i++) for (int j = 0; j < {N}; j++) a[i][j] = in[g * {N} + i] * (j + 1);
                for (int i = 0; i < {N}; i++)
                    for (int j = i + 1; j < {N}; j++)
                        for (int k = i; k < {N}; k++)
                            a[j][k] -= a[i][k] * (a[j][i] | 1);
                for (int i = {N} - 1; i >= 0; i--)
                    for (int j = 0; j < i; j++)
                        a[j][i] ^= a[i][j];
                for (int i = 0; i < {N}; i++) for (int j = 0; j < {N}; j++) out[(g * {N} + i) * {N} + j] = a[i][j];
            }}"
        ),
    )
    .expect_n(GLOBAL * N * N, move |at| {
        let (g, i, j) = (at / N / N, at / N % N, at % N);
        let mut a = [[0i32; N]; N];
        for (i, row) in a.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = (element(g * N + i) as i32).wrapping_mul(j as i32 + 1);
            }
        }
        eliminate(&mut a);
        Some(a[i][j])
    })
    .input_n(GLOBAL * N, |k| element(k) as i32)
}

/// Tables in constant memory that say where elements go and how they are rotated: of several types, with zeros at the end, and
/// one of vectors.
fn tables() -> Case {
    const PLACES: [usize; 8] = [3, 6, 1, 7, 0, 2, 5, 4];
    const COUNTS: [u32; 8] = [1, 13, 0, 31, 7, 0, 0, 0];
    Case::new(
        "private_arrays::tables",
        "constant uchar PLACES[8] = {3, 6, 1, 7, 0, 2, 5, 4};
         constant ulong COUNTS[8] = {1, 13, 0, 31, 7};
         constant int2 PAIRS[2] = {(int2)(5, -9), (int2)(100, 3)};
         constant float SCALES[3] = {0.5f, -2.0f, 16.0f};
         kernel void t(global uint *out, global const uint *in) {
            const int SIGNS[4] = {1, -1, -1, 1};
            size_t g = get_global_id(0);
            uint s[8];
            for (int i = 0; i < 8; i++) s[i] = in[g * 8 + i];
            for (int round = 0; round < 3; round++) {
                uint t = s[0];
                for (int i = 0; i < 8; i++) {
                    int j = PLACES[i];
                    uint c = s[j];
                    s[j] = rotate(t, (uint)COUNTS[i]) + (uint)(PAIRS[i & 1].x * PAIRS[i & 1].y);
                    t = c;
                }
                s[round] += (uint)(int)(SCALES[round] * 8.0f) * (uint)SIGNS[round + 1];
            }
            for (int i = 0; i < 8; i++) out[g * 8 + i] = s[i];
         }",
    )
    .expect_n(GLOBAL * 8, |at| {
        let mut s: Vec<u32> = (0..8).map(|i| element(at / 8 * 8 + i)).collect();
        for round in 0..3 {
            let mut t = s[0];
            for i in 0..8 {
                let added = if i % 2 == 0 { -45 } else { 300 };
                let c = s[PLACES[i]];
                s[PLACES[i]] = t.rotate_left(COUNTS[i]).wrapping_add(added as u32);
                t = c;
            }
            s[round] = s[round].wrapping_add([-4, 16, 128][round] as u32);
        }
        Some(s[at % 8])
    })
    .input_n(GLOBAL * 8, element)
}

/// Quotients and remainders by a number that all work-items share, read from memory.
fn shared_divisor<T: Element>(
    ty: &str,
    divisors: &'static [i64],
    bits: u32,
    signed: bool,
    from: impl Fn(i64) -> T + Clone + Send + Sync + 'static,
) -> Case {
    let n = divisors.len();
    let value = move |at: i64| if signed { at << (64 - bits) >> (64 - bits) } else { at & ((1 << bits) - 1) };
    // Near multiples of each divisor, and anything.
    let dividend = move |k: usize| {
        let (random, divisor) = (spread(7, k) as i64, value(divisors[k % n]));
        let random = value(random);
        match k % 4 {
            0 => random,
            1 => value(random / divisor * divisor),
            2 => value(random / divisor * divisor - 1),
            _ => value(if signed { -1 << (bits - 1) } else { -1 } + (k as i64 & 1)),
        }
    };
    let source = format!(
        "kernel void t(global {ty} *quotients, global {ty} *rests, global const {ty} *in, global const {ty} *divisors) {{
            size_t g = get_global_id(0);
            {ty} a = in[g];
            {ty} quotient = 0, rest = 0;
            for (int k = 0; k < {n}; k++) {{
                {ty} d = divisors[k];
                quotient = quotient * ({ty})3 + a / d;
                rest = rest * ({ty})5 + a % d;
            }}
            quotients[g] = quotient;
            rests[g] = rest;
        }}"
    );
    let folded = move |k: usize, times: i64, op: fn(i64, i64) -> i64| {
        let all = divisors.iter().map(|&d| op(dividend(k), value(d)));
        all.fold(0i64, |sum, one| value(sum.wrapping_mul(times).wrapping_add(one)))
    };
    let (quotients, rests, inputs) = (from.clone(), from.clone(), from.clone());
    Case::new(format!("private_arrays::shared_divisor_{ty}"), source)
        .expect(move |k| quotients(folded(k, 3, |a, b| a / b)))
        .expect(move |k| rests(folded(k, 5, |a, b| a % b)))
        .input(move |k| inputs(dividend(k)))
        .input_n(n, move |k| from(value(divisors[k])))
}

/// An array of pointers to elements of another array, in code that only some work-items execute.
fn pointers() -> Case {
    Case::new(
        "private_arrays::pointers",
        "kernel void t(global const uint *a, global const uint *b, global uint *out) {
            size_t i = get_global_id(0);
            uint x = a[i], y = b[i], v = 7;
            if (x & 1) {
                uint t[4] = { x, 5, y, x + y };
                private uint *q[4] = { t + 3, t, &t[2], 1 + t };
                private uint **p = &q[x >> 1 & 3];
                *p = q[y & 3];
                **p += 3;
                v = *q[0];
                *q[y >> 2 & 3] = v;
                v += t[0] + 3 * t[1] + 5 * t[2] + 7 * t[3];
            }
            out[i] = v;
        }",
    )
    .input(element)
    .input(|i| element(i + 1))
    .expect(|i| {
        let (x, y) = (element(i), element(i + 1));
        if x & 1 == 0 {
            return 7;
        }
        let (mut t, mut q) = ([x, 5, y, x.wrapping_add(y)], [3, 0, 2, 1]);
        let p = (x >> 1 & 3) as usize;
        q[p] = q[(y & 3) as usize];
        t[q[p]] = t[q[p]].wrapping_add(3);
        let v = t[q[0]];
        t[q[(y >> 2 & 3) as usize]] = v;
        t.iter().zip([1, 3, 5, 7]).fold(v, |sum, (&one, times)| sum.wrapping_add(one.wrapping_mul(times)))
    })
}

/// Keys with their values, sorted by exchanging neighbours: lists of a constant length, or of one that differs between
/// work-items.
fn sorted_pairs<T: Element + Ord>(
    ty: &str,
    constant: bool,
    of: impl Fn(u32) -> T + Clone + Send + Sync + 'static,
    xor: impl Fn(T, u32) -> T + Send + Sync + 'static,
) -> Case {
    const MOST: usize = 13;
    let length = if constant { MOST.to_string() } else { "(int)(g % 12) + 1".to_owned() };
    let source = format!(
        "kernel void t(global {ty} *out, global const {ty} *in) {{
            size_t g = get_global_id(0);
            {ty} keys[{MOST}];
            uchar values[{MOST}];
            int n = {length};
            for (int i = 0; i < n; i++) {{
                keys[i] = in[g * {MOST} + i];
                values[i] = i;
            }}
            for (int i = 0; i < n - 1; i++)
                for (int j = 0; j < n - 1 - i; j++)
                    if (keys[j] > keys[j + 1]) {{
                        {ty} key = keys[j];
                        uchar value = values[j];
                        keys[j] = keys[j + 1];
                        values[j] = values[j + 1];
                        keys[j + 1] = key;
                        values[j + 1] = value;
                    }}
            for (int i = 0; i < {MOST}; i++)
                out[g * {MOST} + i] = i < n ? ({ty})(keys[i] ^ values[i]) : ({ty})0;
        }}"
    );
    let key = of.clone();
    let kind = if constant { "constant" } else { "varying" };
    Case::new(format!("private_arrays::sorted_pairs_{kind}_{ty}"), source)
        .expect_n(GLOBAL * MOST, move |at| {
            let (g, place) = (at / MOST, at % MOST);
            let n = if constant { MOST } else { g % 12 + 1 };
            let mut pairs: Vec<(T, u32)> = (0..n).map(|i| (key(element(g * MOST + i)), i as u32)).collect();
            pairs.sort_by_key(|&(key, _)| key);
            Some(pairs.get(place).map_or(key(0), |&(key, value)| xor(key, value)))
        })
        .input_n(GLOBAL * MOST, move |k| of(element(k)))
}

/// A message that is put together from small elements and read as words: at indices that the work-items share or not, by some or
/// by all, also as vectors.
fn message<W: Element>(
    word: &str,
    part: &str,
    bytes: usize,
    part_bytes: usize,
    from: impl Fn(u64) -> W + Send + Sync + 'static,
) -> Case {
    const WORDS: usize = 16;
    let parts = WORDS * bytes / part_bytes;
    let source = format!(
        "kernel void t(global {word} *out, global const uint *in) {{
            size_t g = get_global_id(0);
            {word} words[{WORDS}];
            private {part} *parts = (private {part} *)words;
            for (int k = 0; k < {WORDS}; k++)
                words[k] = ({word})(in[g] * (k + 1));
            uint n = in[g + 1] % {parts};
            for (uint k = 0; k < n; k++)
                parts[k ^ 1] = ({part})(in[g + 2] >> (k & 7));
            parts[n ^ 1] = ({part})0x80;
            for (uint k = 0; k < {parts}; k += 3)
                if ((in[g] >> (k & 15)) & 1)
                    parts[k] += ({part})k;
            if (in[g] & 4)
                vstore2((({part}2)(({part})n, ({part})3)), (in[g] >> 8) % {half}, parts);
            for (int k = 0; k < {WORDS}; k++)
                out[g * {WORDS} + k] = words[k] + ({word})parts[(n + k) % {parts}];
        }}",
        half = parts / 2,
    );
    Case::new(format!("private_arrays::message_{word}_{part}"), source)
        .expect_n(GLOBAL * WORDS, move |at| {
            let (g, which) = (at / WORDS, at % WORDS);
            let [first, second, third] = [0, 1, 2].map(|k| element(g + k));
            let words = (0..WORDS).map(|k| first.wrapping_mul(k as u32 + 1));
            let mut memory: Vec<u8> =
                words.flat_map(|word| u64::from(word).to_le_bytes().into_iter().take(bytes)).collect();
            let mut set = |place: usize, value: u32| {
                let (start, value) = (place * part_bytes, value.to_le_bytes());
                memory[start..start + part_bytes].copy_from_slice(&value[..part_bytes]);
            };
            let n = second as usize % parts;
            (0..n).for_each(|k| set(k ^ 1, third >> (k & 7)));
            set(n ^ 1, 0x80);
            let part = |memory: &[u8], place: usize| {
                let mut value = [0; 4];
                value[..part_bytes].copy_from_slice(&memory[place * part_bytes..][..part_bytes]);
                u32::from_le_bytes(value)
            };
            for k in (0..parts).step_by(3).filter(|k| first >> (k & 15) & 1 != 0) {
                let sum = part(&memory, k) + k as u32;
                memory[k * part_bytes..][..part_bytes].copy_from_slice(&sum.to_le_bytes()[..part_bytes]);
            }
            if first & 4 != 0 {
                let start = (first as usize >> 8) % (parts / 2) * 2 * part_bytes;
                memory[start..][..part_bytes].copy_from_slice(&(n as u32).to_le_bytes()[..part_bytes]);
                memory[start + part_bytes..][..part_bytes].copy_from_slice(&3u32.to_le_bytes()[..part_bytes]);
            }
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&memory[which * bytes..][..bytes]);
            Some(from(u64::from_le_bytes(word).wrapping_add(part(&memory, (n + which) % parts).into())))
        })
        .input_n(GLOBAL + 2, element)
}

/// A table that all work-items fill alike, or that one kind of them changes afterwards: of scalars and of vectors, in private
/// memory and in the local memory of groups of one work-item.
fn filled_alike(
    name: &str,
    head: &str,
    change: &str,
    changed: impl Fn(u32, &mut [u32]) + Send + Sync + 'static,
) -> Case {
    const ENTRIES: usize = 48;
    let source = format!(
        "{head} void t(global uint *out, global const uint *in, global const uint *first) {{
            size_t g = get_global_id(0);
            TABLE uint table[{ENTRIES}];
            for (uint k = 0; k < {ENTRIES}; k++)
                table[k] = first[k] ^ k << 8;
            vstore2((uint2)(first[0], 9), 5, table);
            uint v = in[g];
            {change}
            uint sum = table[7] + vload2(v % 11, table).y;
            for (uint k = 0; k < v % 19; k++) {{
                sum = sum * 31 + table[(sum ^ v) % {ENTRIES}];
                if (sum % 13 == 0)
                    sum += table[k];
            }}
            out[g] = sum;
        }}"
    );
    Case::new(format!("private_arrays::filled_alike_{name}"), source)
        .expect(move |g| {
            let mut table: Vec<u32> = (0..ENTRIES).map(|k| element(k) ^ (k as u32) << 8).collect();
            table[10..12].copy_from_slice(&[element(0), 9]);
            let v = element(g);
            changed(v, &mut table);
            let mut sum = table[7].wrapping_add(table[(v % 11) as usize * 2 + 1]);
            for k in 0..v % 19 {
                sum = sum.wrapping_mul(31).wrapping_add(table[(sum ^ v) as usize % ENTRIES]);
                if sum.is_multiple_of(13) {
                    sum = sum.wrapping_add(table[k as usize]);
                }
            }
            sum
        })
        .input(element)
        .input_n(ENTRIES, element)
}

pub(crate) fn cases() -> Vec<Case> {
    const SMALL: &[i64] = &[1, 2, 3, 7, 10, 100, 127];
    const LARGE: &[i64] = &[1, 3, 10, 641, 1000, 0xffff, 0x7fff_ffff, 0x1234_5678];
    let mut cases = vec![
        counters("uchar", |v| v as u8, u8::wrapping_add),
        counters("short", |v| v as i16, i16::wrapping_add),
        counters("uint", |v| v, u32::wrapping_add),
        counters("ulong", u64::from, u64::wrapping_add),
        counters("float", |v| v as f32, |a, b| a + b),
        counters("double", f64::from, |a, b| a + b),
        message("uint", "uchar", 4, 1, |v| v as u32),
        message("uint", "ushort", 4, 2, |v| v as u32),
        message("ulong", "uchar", 8, 1, |v| v),
        message("ulong", "ushort", 8, 2, |v| v),
        message("ushort", "uchar", 2, 1, |v| v as u16),
        filled_alike("private", "#define TABLE\nkernel", "", |_, _| {}),
        filled_alike(
            "single_items",
            "#define TABLE local\nkernel __attribute__((reqd_work_group_size(1, 1, 1)))",
            "",
            |_, _| {},
        )
        .range(&[GLOBAL], &[&[1]]),
        filled_alike("by_some", "#define TABLE\nkernel", "if (v & 4) table[7] = 3;", |v, table| {
            if v & 4 != 0 {
                table[7] = 3;
            }
        }),
        filled_alike("by_index", "#define TABLE\nkernel", "table[v % 48] = 3;", |v, table| table[v as usize % 48] = 3),
        filled_alike("by_value", "#define TABLE\nkernel", "table[7] = v;", |v, table| table[7] = v),
        filled_alike(
            "by_iterations",
            "#define TABLE\nkernel",
            "for (uint k = 0; k < (v & 31); k++) table[k] += k;",
            |v, table| (0..v & 31).for_each(|k| table[k as usize] = table[k as usize].wrapping_add(k)),
        ),
        exchanged(),
        sorted_pairs("uchar", true, |v| v as u8, |key, value| key ^ value as u8),
        sorted_pairs("short", true, |v| v as i16, |key, value| key ^ value as i16),
        sorted_pairs("int", true, |v| v as i32, |key, value| key ^ value as i32),
        sorted_pairs("uchar", false, |v| v as u8, |key, value| key ^ value as u8),
        sorted_pairs("ulong", false, u64::from, |key, value| key ^ u64::from(value)),
        pointers(),
        eliminated(),
        tables(),
        shared_divisor("char", SMALL, 8, true, |v| v as i8),
        shared_divisor("uchar", SMALL, 8, false, |v| v as u8),
        shared_divisor("short", SMALL, 16, true, |v| v as i16),
        shared_divisor("ushort", SMALL, 16, false, |v| v as u16),
        shared_divisor("int", LARGE, 32, true, |v| v as i32),
        shared_divisor("uint", LARGE, 32, false, |v| v as u32),
    ];
    for n in [2, 5, 9, 12] {
        cases.extend(sorted(n, "int"));
        cases.extend(sorted(n, "uchar"));
    }
    cases
}
