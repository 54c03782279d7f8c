//! Work-groups of one work-item, many of them: drivers may execute neighbouring groups together, which programs must not notice.

use clift_tests::kernel::Case;
use clift_tests::values::spread;

/// Groups of one work-item, and of a few for comparison.
const LOCALS: &[&[usize]] = &[&[1], &[2], &[4]];

fn collatz(mut n: u32, most: u32) -> u32 {
    let mut steps = 0;
    while n != 1 && steps < most {
        n = if n & 1 == 1 { 3 * n + 1 } else { n / 2 };
        steps += 1;
    }
    steps
}

fn loops_and_exits() -> Case {
    Case::new(
        "single_items::loops_and_early_exits",
        "kernel void t(global uint *out, uint most) {
            size_t g = get_group_id(0) * get_local_size(0) + get_local_id(0);
            uint n = (uint)g + 1, steps = 0;
            out[g] = 0;
            if (g % 5 == 3) return;
            while (n != 1) {
                if (steps == most) break;
                n = n & 1 ? 3 * n + 1 : n / 2;
                ++steps;
            }
            out[g] = steps;
        }",
    )
    .range(&[300], LOCALS)
    .stated_local()
    .expect(|i| if i % 5 == 3 { 0 } else { collatz(i as u32 + 1, 40) })
    .value(40_u32)
}

fn ids() -> Case {
    Case::new(
        "single_items::ids_in_three_dimensions",
        "kernel void t(global ulong8 *out) {
            size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
                   z = get_global_id(2) - get_global_offset(2);
            size_t at = (z * get_global_size(1) + y) * get_global_size(0) + x;
            out[at] = (ulong8)(get_group_id(0), get_group_id(1), get_group_id(2), get_num_groups(0),
                               get_num_groups(1) * 100 + get_num_groups(2), get_local_id(0) + 10 * get_local_id(1),
                               get_local_size(0) + 10 * get_enqueued_local_size(1), get_global_linear_id() * 10 + get_local_linear_id());
        }",
    )
    .range(&[37, 3, 2], &[&[1, 1, 1]])
    .offset(&[5, 1, 2])
    .expect(|i| [i % 37, i / 37 % 3, i / 111, 37, 302, 0, 11, i * 10].map(|n| n as u64))
    .stated_local()
}

fn own_local_memory() -> Case {
    Case::new(
        "single_items::local_arrays_and_atomics_on_them",
        "kernel __attribute__((reqd_work_group_size(1, 1, 1))) void t(global uint *out, uint n) {
            local uint words[16], sum;
            uint g = get_group_id(0);
            if (get_local_id(0) == 0) sum = g;
            for (uint i = 0; i < 16; ++i) words[i] = g * i;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = 0; i < n; ++i) {
                uint old = atomic_add(&sum, words[(g + i) & 15]);
                if (old & 1) atomic_xor(&words[i & 15], sum);
                atomic_cmpxchg(&words[(i + 3) & 15], g * 3, 7);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            out[g] = sum + words[g & 15];
        }",
    )
    .range(&[203], &[&[1]])
    .expect(|i| {
        let g = i as u32;
        let mut words: Vec<u32> = (0..16).map(|i| g.wrapping_mul(i)).collect();
        let mut sum = g;
        for i in 0..21 {
            let old = sum;
            sum = sum.wrapping_add(words[(g as usize + i) & 15]);
            if old & 1 == 1 {
                words[i & 15] ^= sum;
            }
            let cell = &mut words[(i + 3) & 15];
            if *cell == g * 3 {
                *cell = 7;
            }
        }
        sum.wrapping_add(words[g as usize & 15])
    })
    .value(21_u32)
}

fn given_local_memory() -> Case {
    Case::new(
        "single_items::local_memory_by_argument",
        "kernel void t(global uint *out, local uint *words) {
            uint g = get_global_id(0), l = get_local_id(0);
            words[l] = g;
            barrier(CLK_LOCAL_MEM_FENCE);
            uint sum = 0;
            for (uint i = 0; i < get_local_size(0); ++i) sum += words[i] * 3;
            out[g] = sum;
        }",
    )
    .range(&[131], &[&[1]])
    .stated_local()
    .expect(|i| 3 * i as u32)
    .local_memory(|_| 64)
}

fn vectors() -> Case {
    Case::new(
        "single_items::long_vectors",
        "kernel void t(global uint16 *out, uint n) {
            uint g = get_group_id(0) * get_local_size(0) + get_local_id(0);
            uint16 a = g + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), b = a * 3u, c = ~a, d = a ^ 77u;
            for (uint i = 0; i < n; ++i) {
                a = rotate(a ^ b, (uint16)7) + i; b = bitselect(c, d, a) - b; c += rotate(d, (uint16)(i)); d = max(a, c) * 5u;
            }
            out[g] = a ^ b ^ c ^ d;
        }",
    )
    .range(&[72], LOCALS)
    .stated_local()
    .expect(|g| {
        let lane = |lane: u32| {
            let mut a = g as u32 + lane;
            let (mut b, mut c, mut d) = (a.wrapping_mul(3), !a, a ^ 77);
            for i in 0..13 {
                a = (a ^ b).rotate_left(7).wrapping_add(i);
                b = ((c & !a) | (d & a)).wrapping_sub(b);
                c = c.wrapping_add(d.rotate_left(i));
                d = a.max(c).wrapping_mul(5);
            }
            a ^ b ^ c ^ d
        };
        std::array::from_fn::<u32, 16, _>(|i| lane(i as u32))
    })
    .value(13_u32)
}

/// Sums, differences, counts and extremes of integers, by a single work-item for each list.
fn reductions(ty: &'static str, count: usize) -> Case {
    const LISTS: usize = 3;
    let element = move |at: usize| {
        let value = spread(13, at);
        if ty == "uchar" { value as u8 as i64 } else { value as i32 as i64 }
    };
    let source = format!(
        "kernel void t(global int *out, global const {ty} *in, int n) {{
            global const {ty} *list = in + get_global_id(0) * {count};
            int sum = 3, left = 5, large = 0, odd = 0, least = list[0], most = list[0], bits = -1, mixed = 1;
            for (int i = 0; i < n; i++) sum += list[i];
            for (int i = 0; i < n; i++) left -= list[i];
            for (int i = 0; i < n; i++) if (list[i] > 90) large++;
            for (int i = 0; i < n; i++) odd += list[i] & 1 ? list[i] : 0;
            for (int i = 0; i < n; i++) {{
                least = list[i] < least ? list[i] : least;
                most = max(most, (int)list[i]);
            }}
            for (int i = 0; i < n; i++) {{
                bits &= list[i];
                mixed *= list[i] | 1;
            }}
            global int *results = out + get_global_id(0) * 8;
            results[0] = sum; results[1] = left; results[2] = large; results[3] = odd;
            results[4] = least; results[5] = most; results[6] = bits; results[7] = mixed;
        }}"
    );
    let case = Case::new(format!("single_items::reductions_{ty}_{count}"), source).range(&[LISTS], &[&[1]]).expect_n(
        LISTS * 8,
        move |at| {
            let list = (0..count).map(|i| element(at / 8 * count + i) as i32);
            Some(match at % 8 {
                0 => list.fold(3, i32::wrapping_add),
                1 => list.fold(5, i32::wrapping_sub),
                2 => list.filter(|&x| x > 90).count() as i32,
                3 => list.filter(|x| x & 1 == 1).fold(0, i32::wrapping_add),
                4 => list.min()?,
                5 => list.max()?,
                6 => list.fold(-1, |all, x| all & x),
                _ => list.fold(1i32, |all, x| all.wrapping_mul(x | 1)),
            })
        },
    );
    let case = if ty == "uchar" {
        case.input_n(LISTS * count, move |at| element(at) as u8)
    } else {
        case.input_n(LISTS * count, move |at| element(at) as i32)
    };
    case.value(count as i32)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![loops_and_exits(), ids(), own_local_memory(), given_local_memory(), vectors()];
    for count in [1, 4, 15, 16, 33, 100] {
        cases.extend(["uchar", "int"].map(|ty| reductions(ty, count)));
    }
    cases
}
