//! Local memory and barriers: reductions, scans, barriers in loops and branches, early returns beside barriers, values
//! that live across them.

use clift_tests::kernel::{Case, GLOBAL, Launch, Need};
use clift_tests::values::spread;

/// The input of item `i`.
pub(crate) fn value(i: usize) -> i32 {
    (spread(41, i) % 2001) as i32 - 1000
}

/// The items of the group that `i` is in, as indices.
pub(crate) fn group(launch: &Launch, i: usize) -> std::ops::Range<usize> {
    let start = launch.group_start_of(i);
    start..start + launch.group_size_of(i)
}

/// The next argument: local memory of one `int` per item of a group.
pub(crate) fn with_scratch(case: Case) -> Case {
    case.local_memory(|launch| launch.local.as_ref().map_or(GLOBAL, |local| local[0]) * 4)
}

fn reversal() -> Case {
    with_scratch(
        Case::new(
            "barriers::reverse_in_group",
            "kernel void t(global const int *a, global int *out, local int *s) {
                size_t i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = a[i];
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = s[n - 1 - l];
            }",
        )
        .input(value)
        .expect_in(|launch, i| {
            let group = group(launch, i);
            value(group.end - 1 - (i - group.start))
        })
        .stated_local(),
    )
}

fn reduction() -> Case {
    with_scratch(
        Case::new(
            "barriers::tree_reduction",
            "kernel void t(global const int *a, global int *out, local int *s) {
                size_t i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = a[i];
                for (size_t upper = (n + 1) / 2, count = n; count > 1; count = upper, upper = (upper + 1) / 2) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (l < upper && l + upper < count) s[l] += s[l + upper];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = s[0];
            }",
        )
        .input(value)
        .expect_in(|launch, i| group(launch, i).map(value).sum::<i32>())
        .stated_local(),
    )
}

/// A loop around barriers whose end is in local memory, where one item counts, and variables of its body that have no initializer
/// and are set in parts, also by a function.
fn counted_by_one_item() -> Case {
    with_scratch(
        Case::new(
            "barriers::counted_by_one_item",
            "void set(int4 *v, int *part, int x) { v->x = x; v->z = x * 3; part[1] = x + 1; }
            kernel void t(global const int *a, global int *out, local int *s) {
                local int round, rounds;
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), x = a[i];
                if (l == 0) { round = 0; rounds = 5; }
                barrier(CLK_LOCAL_MEM_FENCE);
                while (round < rounds) {
                    int4 v;
                    int parts[3];
                    set(&v, parts, x);
                    s[l] = v.x;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    x = s[(l + 1) % n] + (v.z - v.x * 3) + (parts[1] - v.x) * round;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (l == 0) ++round;
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                out[i] = x;
            }",
        )
        .input(value)
        .expect_in(|launch, i| {
            let group = group(launch, i);
            // Each round moves the values by one item, and adds its number.
            value(group.start + (i - group.start + 5) % group.len()) + 10
        })
        .stated_local(),
    )
}

/// A tree whose items are picked by remainders, and an item that sums up for all: under `l == 0` it is known which one.
fn tree_by_remainders() -> Case {
    with_scratch(
        Case::new(
            "barriers::tree_by_remainders",
            "kernel void t(global const int *a, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = a[i];
                for (int k = 1; k < 16; k *= 2) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (l % (2 * k) == 0 && l + k < n) s[l] += s[l + k];
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                if (l == 0)
                    for (int j = 16; j < n; j += 16) s[3 * l] += s[j + 16 * l];
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l == n - 1) s[l - l] *= 3;
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = s[0];
            }",
        )
        .input(value)
        .expect_in(|launch, i| group(launch, i).map(value).sum::<i32>() * 3)
        .stated_local(),
    )
}

fn scan() -> Case {
    with_scratch(
        Case::new(
            "barriers::inclusive_scan",
            "kernel void t(global const int *a, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = a[i];
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int step = 1; step < n; step *= 2) {
                    int add = l >= step ? s[l - step] : 0;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    s[l] += add;
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                out[i] = s[l];
            }",
        )
        .input(value)
        .expect_in(|launch, i| (launch.group_start_of(i)..=i).map(value).sum::<i32>())
        .stated_local(),
    )
}

/// Values of several types and a private array live across the barrier.
fn live_values() -> Case {
    with_scratch(
        Case::new(
            "barriers::values_live_across",
            "kernel void t(global const int *a, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                char tiny = (char)a[i];
                float4 wide = (float4)(a[i], 1, 2, 3);
                long big = (long)a[i] << 33;
                bool odd = a[i] & 1;
                int array[4];
                for (int k = 0; k < 4; ++k) array[k] = a[i] + k;
                s[l] = i;
                barrier(CLK_LOCAL_MEM_FENCE);
                int next = s[(l + 1) % n];
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = tiny + (int)wide.x + (int)wide.w + (int)(big >> 33) + odd + array[next & 3] + next;
            }",
        )
        .input(value)
        .expect_in(|launch, i| {
            let (group, a) = (group(launch, i), value(i));
            let next = (group.start + (i - group.start + 1) % group.len()) as i32;
            i32::from(a as i8) + a + 3 + a + (a & 1) + (a + (next & 3)) + next
        })
        .stated_local(),
    )
}

fn nested_loops() -> Case {
    with_scratch(
        Case::new(
            "barriers::nested_loops",
            "kernel void t(global int *out, local int *s, int outer, int inner) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int sum = 0;
                s[l] = l;
                for (int a = 0; a < outer; ++a) {
                    for (int b = 0; b <= a % inner; ++b) {
                        barrier(CLK_LOCAL_MEM_FENCE);
                        int other = s[(l + b + 1) % n];
                        barrier(CLK_LOCAL_MEM_FENCE);
                        s[l] = other + b;
                        sum += other;
                    }
                    sum ^= a;
                }
                out[i] = sum;
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let n = group.len();
            let (mut s, mut sums) = ((0..n as i32).collect::<Vec<_>>(), vec![0_i32; n]);
            for a in 0..5 {
                for b in 0..=a % 3 {
                    let others: Vec<i32> = (0..n).map(|l| s[(l + b + 1) % n]).collect();
                    for l in 0..n {
                        s[l] = others[l] + b as i32;
                        sums[l] += others[l];
                    }
                }
                sums.iter_mut().for_each(|sum| *sum ^= a as i32);
            }
            sums[i - group.start]
        })
        .stated_local(),
    )
    .value(5_i32)
    .value(3_i32)
}

/// The condition is the same for all items of a group, but not for all groups.
fn uniform_branch() -> Case {
    with_scratch(
        Case::new(
            "barriers::in_a_uniform_branch",
            "kernel void t(global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = i;
                int result = -1;
                if (get_group_id(0) % 3 != 1) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    result = s[n - 1 - l];
                } else {
                    s[l] = 2 * i;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    result = s[0];
                }
                out[i] = result + l;
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let l = i - group.start;
            let own = group.start / launch.local_x() % 3 != 1;
            (if own { group.end - 1 - l } else { 2 * group.start } + l) as i32
        })
        .stated_local(),
    )
}

/// Uniform, but only the data knows: all groups read the same flag from memory.
fn branch_on_memory() -> Case {
    with_scratch(
        Case::new(
            "barriers::in_a_branch_on_memory",
            "kernel void t(global const int *flags, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int rounds = 0;
                s[l] = i;
                while (flags[rounds]) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    int other = s[(l + 1) % n];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    s[l] = other;
                    ++rounds;
                    if (flags[rounds + 8]) break;
                }
                out[i] = s[l] * 10 + rounds;
            }",
        )
        .input_n(16, |i| i32::from(i < 8 && i != 6 || i == 13))
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let from = group.start + (i - group.start + 5) % group.len();
            (from * 10 + 5) as i32
        })
        .stated_local(),
    )
}

/// Items that have nothing to do return before the barrier that the whole of the others reach: a whole group at a time.
fn early_return() -> Case {
    with_scratch(
        Case::new(
            "barriers::early_return_of_whole_groups",
            "kernel void t(global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                if (get_group_id(0) & 1) { out[i] = -i; return; }
                s[l] = i * 3;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l == 0) { out[i] = s[n - 1]; return; }
                out[i] = s[l - 1];
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            if group.start / launch.local_x() % 2 == 1 {
                -(i as i32)
            } else if i == group.start {
                3 * (group.end as i32 - 1)
            } else {
                3 * (i as i32 - 1)
            }
        })
        .stated_local(),
    )
}

/// Work-items that have nothing to do return; the others do not wait for them.
fn early_return_of_some() -> Case {
    with_scratch(
        Case::new(
            "barriers::early_return_of_some_work_items",
            "kernel void t(global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = i * 3;
                if (l & 1) { out[i] = -i; return; }
                barrier(CLK_LOCAL_MEM_FENCE);
                int next = l + 2 < n ? s[l + 2] : 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                s[l] = next;
                if (l % 3 == 0) { out[i] = next; return; }
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = next + 1;
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let l = i - group.start;
            let next = if i + 2 < group.end { 3 * (i as i32 + 2) } else { 0 };
            match (l % 2, l % 3) {
                (1, _) => -(i as i32),
                (_, 0) => next,
                (_, _) => next + 1,
            }
        })
        .stated_local(),
    )
}

/// A barrier in a function that is called twice, once from a loop.
fn in_functions() -> Case {
    with_scratch(
        Case::new(
            "barriers::in_called_functions",
            "int exchange(local int *s, int mine, int distance) {
                int l = get_local_id(0), n = get_local_size(0);
                barrier(CLK_LOCAL_MEM_FENCE);
                s[l] = mine;
                barrier(CLK_LOCAL_MEM_FENCE);
                return s[(l + distance) % n];
            }
            kernel void t(global int *out, local int *s) {
                int i = get_global_id(0);
                int mine = exchange(s, i, 1);
                for (int k = 0; k < 3; ++k) mine = exchange(s, mine, k);
                out[i] = mine;
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            (group.start + (i - group.start + 4) % group.len()) as i32
        })
        .stated_local(),
    )
}

fn divergent_work_between() -> Case {
    with_scratch(
        Case::new(
            "barriers::divergent_work_between",
            "kernel void t(global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int x = i;
                for (int k = 0; k < i % 7; ++k) x = x * 3 + k;
                s[l] = x;
                barrier(CLK_LOCAL_MEM_FENCE);
                int y = 0;
                if (l % 3 == 0) { for (int k = 0; k < n; ++k) y += s[k]; }
                else if (l % 3 == 1) y = s[n - 1];
                barrier(CLK_LOCAL_MEM_FENCE);
                s[l] = y;
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = s[(l + 1) % n];
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let x: Vec<i32> = group
                .clone()
                .map(|i| (0..i as i32 % 7).fold(i as i32, |x, k| x.wrapping_mul(3).wrapping_add(k)))
                .collect();
            let l = (i - group.start + 1) % group.len();
            match l % 3 {
                0 => x.iter().fold(0_i32, |sum, x| sum.wrapping_add(*x)),
                1 => x[group.len() - 1],
                _ => 0,
            }
        })
        .stated_local(),
    )
}

/// `__local` variables of the kernel itself, beside a local argument.
fn local_variables() -> Case {
    with_scratch(
        Case::new(
            "barriers::local_variables",
            "kernel void t(global int *out, local int *argument) {
                local int total;
                local struct { char c; int values[240]; } s;
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                if (l == 0) { total = 0; s.c = 'k'; }
                s.values[l] = i;
                argument[l] = -i;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l == n - 1) for (int k = 0; k < n; ++k) total += s.values[k];
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = total + s.c + argument[n - 1 - l];
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let sum: i32 = group.clone().map(|i| i as i32).sum();
            sum + i32::from(b'k') - (group.end - 1 - (i - group.start)) as i32
        })
        .stated_local(),
    )
}

/// `__local` variables in blocks within the kernel, two of one name: each is one variable per work-group, and keeps its values.
fn nested_local_variables() -> Case {
    Case::new(
        "barriers::nested_local_variables",
        "kernel void t(global int *out) {
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), sum = 0;
            for (int k = 0; k < 3; ++k) {
                local int tile[256];
                if (k == 0) tile[l] = i; else tile[l] += k;
                barrier(CLK_LOCAL_MEM_FENCE);
                sum += tile[(l + k) % n];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            {
                local int tile[256];
                tile[l] = sum;
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = tile[n - 1 - l];
            }
        }",
    )
    .expect_in(|launch, i| {
        let group = group(launch, i);
        let at = |l: usize| (group.start + l % group.len()) as i32;
        let l = group.end - 1 - i;
        at(l) + (at(l + 1) + 1) + (at(l + 2) + 3)
    })
    .stated_local()
    .clift_only("other compilers accept them in the outermost block only")
    .source_only("clang accepts them in the outermost block only")
}

fn global_fence() -> Case {
    Case::new(
        "barriers::global_memory_fence",
        "kernel void t(global int *out) {
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), base = i - l;
            out[i] = i;
            barrier(CLK_GLOBAL_MEM_FENCE);
            int other = out[base + (l + 1) % n];
            barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
            out[i] = other * 2;
        }",
    )
    .expect_in(|launch, i| {
        let group = group(launch, i);
        2 * (group.start + (i - group.start + 1) % group.len()) as i32
    })
    .stated_local()
}

fn work_group_barrier() -> Case {
    with_scratch(
        Case::new(
            "barriers::work_group_barrier_with_scope",
            "kernel void t(global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = i;
                work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
                out[i] = s[(l + n / 2) % n];
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            (group.start + (i - group.start + group.len() / 2) % group.len()) as i32
        })
        .stated_local(),
    )
}

fn async_copies() -> Case {
    Case::new(
        "barriers::async_work_group_copy",
        "kernel void t(global const int2 *a, global int2 *out, local int2 *s) {
            size_t n = get_local_size(0), l = get_local_id(0), base = get_group_id(0) * n;
            event_t event = async_work_group_copy(s, a + base, n, 0);
            wait_group_events(1, &event);
            int2 other = s[n - 1 - l];
            barrier(CLK_LOCAL_MEM_FENCE);
            s[l] = other + 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            event_t back = async_work_group_copy(out + base, s, n, 0);
            wait_group_events(1, &back);
        }",
    )
    .input_n(GLOBAL * 2, value)
    .expect_in(|launch, i| {
        let group = group(launch, i);
        let from = group.end - 1 - (i - group.start);
        [value(from * 2) + 1, value(from * 2 + 1) + 1]
    })
    .local_memory(|launch| launch.local_x() * 8)
    .uniform()
    .stated_local()
}

/// Each group brings in two planes of two lines, sums up what lies above each other, and puts a line back. Elements of `bytes`.
fn block_copies(name: &str, bytes: &str) -> Case {
    Case::new(
        format!("barriers::async_work_group_copy_block_{name}"),
        format!(
            "kernel void t(global const int *a, global int *out, local int *s) {{
                size_t l = get_local_id(0), n = get_local_size(0), g = get_group_id(0);
                size_t bytes = {bytes}, w = n * 4 / bytes;
                // In a, lines lie two of their lengths apart and planes four; in s there is nothing between.
                event_t e = async_work_group_copy_3D3D(s, 0, a, g * w * 8, bytes, w, 2, 2, 2 * w, 4 * w, w, 2 * w, 0);
                wait_group_events(1, &e);
                int sum = s[l] + 10 * s[n + l] + 100 * s[2 * n + l] + 1000 * s[3 * n + l];
                barrier(CLK_LOCAL_MEM_FENCE);
                s[n + l] = sum;
                barrier(CLK_LOCAL_MEM_FENCE);
                event_t back = async_work_group_copy_2D2D(out, g * w, s, w, bytes, w, 1, w, w, 0);
                async_work_group_copy_fence(CLK_LOCAL_MEM_FENCE);
                wait_group_events(1, &back);
            }}"
        ),
    )
    .input_n(GLOBAL * 8, value)
    .expect_in(|launch, i| {
        let group = group(launch, i);
        let (n, l) = (group.len(), i - group.start);
        let at = |line: usize, plane: usize| value(group.start * 8 + plane * 4 * n + line * 2 * n + l);
        at(0, 0) + 10 * at(1, 0) + 100 * at(0, 1) + 1000 * at(1, 1)
    })
    .local_memory(|launch| launch.local_x() * 16)
    .uniform()
    .stated_local()
}

fn strided_copies() -> Case {
    Case::new(
        "barriers::async_work_group_strided_copy",
        "kernel void t(global const int *a, global int *out, local int *s) {
            size_t n = get_local_size(0), l = get_local_id(0), base = get_group_id(0) * n;
            event_t event = async_work_group_strided_copy(s, a + base * 3, n, 3, 0);
            wait_group_events(1, &event);
            out[get_global_id(0)] = s[l];
        }",
    )
    .input_n(GLOBAL * 3, value)
    .expect(|i| value(i * 3))
    .local_memory(|launch| launch.local_x() * 4)
    .uniform()
    .stated_local()
}

/// Arrays that nothing but copies and vector accesses touch: clang's back end gave them the size of one element.
fn copied_arrays() -> Case {
    Case::new(
        "barriers::local_arrays_only_copied",
        "kernel void t(global const int *a, global int4 *out) {
            local int far[4096], near[4096], guard[16];
            size_t n = get_local_size(0), l = get_local_id(0), base = get_group_id(0) * n;
            if (l < 16) guard[l] = 77;
            event_t event = async_work_group_strided_copy(far, a + base * 4, n * 4, 1, (event_t)0);
            event = async_work_group_copy(near, a + base * 4, n * 4, event);
            wait_group_events(1, &event);
            int4 sum = vload4(l, far) + vload4(n - 1 - l, near);
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = sum + guard[l & 15 & (n - 1)] - 77;
        }",
    )
    .input_n(GLOBAL * 4, value)
    .expect_in(|launch, i| {
        let group = group(launch, i);
        let other = group.end - 1 - (i - group.start);
        std::array::from_fn::<_, 4, _>(|k| value(i * 4 + k) + value(other * 4 + k))
    })
    .uniform()
    .stated_local()
}

fn two_dimensions() -> Case {
    Case::new(
        "barriers::transpose_of_tiles",
        "kernel void t(global const int *a, global int *out, local int *tile) {
            int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);
            int gx = get_global_id(0), gy = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
            tile[y * w + x] = a[gy * width + gx];
            barrier(CLK_LOCAL_MEM_FENCE);
            int n = y * w + x, tx = n / h, ty = n % h;
            out[(get_group_id(0) * w + tx) * height + get_group_id(1) * h + ty] = tile[ty * w + tx];
        }",
    )
    .range(&[24, 12], &[&[4, 4], &[8, 3], &[3, 12], &[24, 1], &[1, 6], &[12, 12]])
    .input(value)
    .expect(|i| value(i % 12 * 24 + i / 12))
    .local_memory(|launch| launch.local.as_ref().map_or(288, |local| local[0] * local[1]) * 4)
}

/// Groups of up to 1,000 items, each of which keeps a private array across many barriers.
fn large_group() -> Case {
    with_scratch(
        Case::new(
            "barriers::large_group",
            "kernel void t(global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int history[16];
                for (int k = 0; k < 16; ++k) {
                    s[l] = i + k;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    history[k] = s[(l + k) % n];
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                int sum = 0;
                for (int k = 0; k < 16; ++k) sum += history[(k * 5 + l) & 15] * (k + 1);
                out[i] = sum;
            }",
        )
        .range(&[2000], &[&[1000], &[500], &[16]])
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let l = i - group.start;
            (0..16)
                .map(|k| {
                    let at = (k * 5 + l) & 15;
                    (group.start + (l + at) % group.len() + at) as i32 * (k as i32 + 1)
                })
                .sum::<i32>()
        })
        .stated_local(),
    )
}

/// The items leave a loop together, when one of them has said so in local memory.
fn divergent_loop_exit() -> Case {
    with_scratch(
        Case::new(
            "barriers::loop_left_by_a_uniform_flag_in_local_memory",
            "kernel void t(global const int *a, global int *out, local int *s) {
                local int done;
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int rounds = 0;
                if (l == 0) done = 0;
                s[l] = a[i] & 7;
                barrier(CLK_LOCAL_MEM_FENCE);
                for (;;) {
                    if (done) break;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (s[l] > 0) --s[l];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (l == 0) {
                        int any = 0;
                        for (int k = 0; k < n; ++k) any |= s[k];
                        done = !any;
                    }
                    ++rounds;
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                out[i] = rounds;
            }",
        )
        .input(value)
        .expect_in(|launch, i| group(launch, i).map(|i| value(i) & 7).max().unwrap_or(0).max(1))
        .stated_local(),
    )
}

fn tiled_product() -> Case {
    Case::new(
        "barriers::tiled_matrix_product",
        "#define TILE 8
        kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
        void t(global const float *a, global const float *b, global float *c, int n) {
            local float as[TILE][TILE], bs[TILE][TILE];
            int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
            float sum = 0;
            for (int tile = 0; tile < n; tile += TILE) {
                as[y][x] = a[row * n + tile + x];
                bs[y][x] = b[(tile + y) * n + column];
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int k = 0; k < TILE; ++k) sum += as[y][k] * bs[k][x];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            c[row * n + column] = sum;
        }",
    )
    .range(&[32, 32], &[&[8, 8]])
    .input(|e| (value(e) % 8) as f32)
    .input(|e| (value(e + 5000) % 8) as f32)
    .expect(|e| (0..32).map(|k| (value(e / 32 * 32 + k) % 8 * (value(k * 32 + e % 32 + 5000) % 8)) as f32).sum::<f32>())
    .value(32_i32)
    .stated_local()
}

/// Several copies with an event each: clang's back end makes one null event of them, worse with each.
fn several_copies() -> Case {
    Case::new(
        "barriers::several_copies",
        "kernel void t(global const uint *a, global uint *out) {
            local uint x[8], y[8], z[8], w[8];
            event_t e = async_work_group_copy(x, a, 8, 0);
            wait_group_events(1, &e);
            event_t f = async_work_group_copy(y, a + 8, 8, 0);
            wait_group_events(1, &f);
            event_t g = async_work_group_strided_copy(z, a, 8, 2, 0);
            wait_group_events(1, &g);
            event_t h = async_work_group_strided_copy(w, a, 8, 3, 0);
            wait_group_events(1, &h);
            uint i = get_global_id(0) % 8;
            out[get_global_id(0)] = x[i] + 10 * y[i] + 100 * z[i] + 1000 * w[i];
        }",
    )
    .input(|i| i as u32)
    .expect(|i| {
        let i = i as u32 % 8;
        i + 10 * (i + 8) + 100 * (2 * i) + 1000 * (3 * i)
    })
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        reversal(),
        several_copies(),
        reduction(),
        tree_by_remainders(),
        counted_by_one_item(),
        scan(),
        live_values(),
        nested_loops(),
        uniform_branch(),
        branch_on_memory(),
        early_return(),
        early_return_of_some(),
        in_functions(),
        divergent_work_between(),
        local_variables(),
        nested_local_variables(),
        global_fence(),
        work_group_barrier(),
        async_copies(),
        copied_arrays(),
        block_copies("ints", "4"),
        block_copies("shorts", "2"),
        block_copies("lines", "4 * n"),
        strided_copies(),
        two_dimensions(),
        large_group(),
        divergent_loop_exit(),
        tiled_product(),
        non_uniform_groups_meet(),
    ]
}

/// In the last, smaller group the barrier waits for fewer items.
fn non_uniform_groups_meet() -> Case {
    with_scratch(
        Case::new(
            "barriers::smaller_last_group",
            "kernel void t(global int4 *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = l;
                barrier(CLK_LOCAL_MEM_FENCE);
                int sum = 0;
                for (int k = 0; k < n; ++k) sum += s[k];
                out[i] = (int4)(n, (int)get_enqueued_local_size(0), (int)get_num_groups(0), sum);
            }",
        )
        .range(&[GLOBAL], &[&[7], &[64], &[100], &[239]])
        .expect_in(|launch, i| {
            let n = launch.group_size_of(i) as i32;
            let local = launch.local_x() as i32;
            [n, local, (GLOBAL as i32 + local - 1) / local, n * (n - 1) / 2]
        })
        .stated_local(),
    )
    .needs(Need::NonUniform)
}
