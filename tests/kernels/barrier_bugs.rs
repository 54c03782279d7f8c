//! Barriers that led to bugs in another CPU driver: PoCL's issues, each class of bugs reproduced by a new kernel.
//! The numbers are those of PoCL's issue tracker.

use clift_tests::kernel::{Case, GLOBAL, Need};

use crate::barriers::{group, value, with_scratch};

/// Expects what `results` says the items of a group end with, for kernels that are followed step by step.
fn expect_group(case: Case, results: fn(std::ops::Range<usize>) -> Vec<i32>) -> Case {
    case.expect_in(move |launch, i| {
        let group = group(launch, i);
        let start = group.start;
        results(group)[i - start]
    })
}

/// #553: code around runtime conditions with barriers, in nested loops, runs once per iteration, not once per path.
fn conditions_in_nested_loops(name: &str, second: i32) -> Case {
    with_scratch(
        Case::new(
            name,
            "kernel void t(global int *out, local int *s, int outer, int inner, int first, int second) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                out[i] = 1;
                s[l] = i;
                for (int a = 0; a < outer; ++a) {
                    for (int b = 0; b < inner; ++b) {
                        out[i] = out[i] * 3 + a;
                        if (second > first) barrier(CLK_LOCAL_MEM_FENCE);
                        if (first > 0) barrier(CLK_LOCAL_MEM_FENCE);
                        out[i] = out[i] * 5 + b;
                    }
                }
                if (first > 0) barrier(CLK_LOCAL_MEM_FENCE);
                out[i] += s[(l + 1) % n];
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let steps = (0..3).flat_map(|a| (0..2).map(move |b| (a, b)));
            let trace = steps.fold(1_i32, |trace, (a, b)| (trace * 3 + a) * 5 + b);
            trace + (group.start + (i - group.start + 1) % group.len()) as i32
        })
        .stated_local(),
    )
    .value(3_i32)
    .value(2_i32)
    .value(1_i32)
    .value(second)
}

/// #1167: items leave a loop at different times, and a guard lets the barrier in it be met only in common iterations.
fn guard_in_uneven_loop() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::guarded_in_a_loop_of_uneven_trips",
            "kernel void t(global int *out, local int *s, int common) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int extra = 0;
                s[l] = i;
                for (int k = 0; k < common + l % 5; ++k) {
                    if (k < common) {
                        barrier(CLK_LOCAL_MEM_FENCE);
                        int other = s[(l + 1) % n];
                        barrier(CLK_LOCAL_MEM_FENCE);
                        s[l] = other + k;
                    } else {
                        extra += k * l;
                    }
                }
                out[i] = s[l] * 8 + extra;
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let l = i - group.start;
            let last = group.start + (l + 3) % group.len() + 3;
            (last * 8 + (3..3 + l % 5).map(|k| k * l).sum::<usize>()) as i32
        })
        .stated_local()
        .clift_only("gives wrong values, see its issue #1167"),
    )
    .value(3_i32)
}

/// #1711: a private array, indexed by item and iteration, and the loop's counter survive a barrier in the loop.
fn private_array_in_loop() -> Case {
    let case = Case::new(
        "barrier_bugs::private_array_in_a_loop",
        "kernel void t(global int *out, local int *s) {
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
            int own[8];
            for (int k = 0; k < 8; ++k) own[k] = i * 8 + k;
            s[l] = i;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int j = 0; j < 8; ++j) {
                int k = (j + i) & 7, other = s[(l + j) % n];
                barrier(CLK_LOCAL_MEM_FENCE);
                own[k] += other;
                s[l] = own[k] & 255;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            int sum = 0;
            for (int k = 0; k < 8; ++k) sum += own[k] * (k + 1);
            out[i] = sum;
        }",
    );
    with_scratch(expect_group(case, |group| {
        let n = group.len();
        let mut s: Vec<i32> = group.clone().map(|i| i as i32).collect();
        let mut own: Vec<[i32; 8]> = group.clone().map(|i| std::array::from_fn(|k| (i * 8 + k) as i32)).collect();
        for j in 0..8 {
            let before = s.clone();
            for (l, i) in group.clone().enumerate() {
                let k = (j + i) & 7;
                own[l][k] += before[(l + j) % n];
                s[l] = own[l][k] & 255;
            }
        }
        own.iter().map(|own| own.iter().zip(1..).map(|(own, factor)| own * factor).sum()).collect()
    }))
    .stated_local()
}

/// #2269: a value loaded before a barrier is not loaded again behind it, where memory has changed.
fn loads_stay_before() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::loads_are_not_repeated_behind_barriers",
            "kernel void t(global const int *a, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), next = (l + 1) % n;
                global int *same = out + (i - l);
                s[l] = a[i];
                out[i] = i;
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                int first = s[next], outer = same[next];
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                s[l] = first * 2;
                out[i] = -1;
                barrier(CLK_LOCAL_MEM_FENCE);
                int second = s[next];
                barrier(CLK_LOCAL_MEM_FENCE);
                s[l] = -7;
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = first + second * 3 + outer * 2;
            }",
        )
        .input(value)
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let at = |distance: usize| group.start + (i - group.start + distance) % group.len();
            value(at(1)) + value(at(2)) * 6 + at(1) as i32 * 2
        })
        .stated_local(),
    )
}

/// #2269: many divergent ways out of one piece of code meet before the barrier, and `continue` goes round it.
fn divergent_joins() -> Case {
    let case = Case::new(
        "barrier_bugs::divergent_ways_join_before_a_barrier",
        "kernel void t(global int *out, local int *s, int rounds) {
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), x = i;
            for (int r = 0; r < rounds; ++r) {
                switch ((l + r) & 3) {
                    case 0: x = x * 3 + 1; break;
                    case 1: x ^= 5;
                    case 2: x += r; break;
                    default: x -= l;
                }
                s[l] = x;
                barrier(CLK_LOCAL_MEM_FENCE);
                int other = s[(l + n - 1) % n];
                barrier(CLK_LOCAL_MEM_FENCE);
                if (r == 1) continue;
                if (other & 1) x += other;
                else if (other & 2) x -= other;
            }
            out[i] = x;
        }",
    );
    with_scratch(expect_group(case, |group| {
        let n = group.len();
        let mut x: Vec<i32> = group.map(|i| i as i32).collect();
        for r in 0..4 {
            for (l, x) in x.iter_mut().enumerate() {
                match (l + r) & 3 {
                    0 => *x = *x * 3 + 1,
                    1 => *x = (*x ^ 5) + r as i32,
                    2 => *x += r as i32,
                    _ => *x -= l as i32,
                }
            }
            let s = x.clone();
            for (l, x) in x.iter_mut().enumerate().filter(|_| r != 1) {
                let other = s[(l + n - 1) % n];
                match other & 3 {
                    1 | 3 => *x += other,
                    2 => *x -= other,
                    _ => {}
                }
            }
        }
        x
    }))
    .stated_local()
    .value(4_i32)
}

/// #2182: where items may return before a barrier, the first item still has its own global id behind it.
fn ids_behind_return() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::global_ids_behind_a_possible_return",
            "kernel void t(global int *out, local int *s, int limit) {
                if ((int)get_local_id(0) > limit) return;
                s[get_local_id(0)] = get_global_id(0);
                barrier(CLK_LOCAL_MEM_FENCE);
                int mirrored = s[get_local_size(0) - 1 - get_local_id(0)];
                out[get_global_id(0) - get_global_offset(0)] = (int)get_global_id(0) * 1000 + mirrored;
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            ((i + 37) * 1000 + group.end - 1 - (i - group.start) + 37) as i32
        })
        .offset(&[37])
        .stated_local(),
    )
    .value(1000_i32)
}

/// #2182, in two dimensions: rows and columns of the group both begin at their own first id.
fn ids_behind_return_in_rows() -> Case {
    Case::new(
        "barrier_bugs::global_ids_behind_a_possible_return_in_rows",
        "kernel void t(global int *out, local int *s, int limit) {
            int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);
            if (x + y > limit) return;
            s[y * w + x] = get_global_id(0) + get_global_id(1) * 100;
            barrier(CLK_LOCAL_MEM_FENCE);
            int mirrored = s[(h - 1 - y) * w + w - 1 - x];
            out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_global_id(1) * 100000 + mirrored;
        }",
    )
    .range(&[20, 12], &[&[5, 4], &[20, 3], &[4, 12], &[1, 6], &[10, 1], &[20, 12]])
    .expect_in(|launch, i| {
        let local = launch.local.as_ref().expect("a stated local size");
        let mirror = |at: usize, size: usize| at / size * size + size - 1 - at % size;
        let (x, y) = (i % 20, i / 20);
        (y * 100_000 + mirror(x, local[0]) + mirror(y, local[1]) * 100) as i32
    })
    .stated_local()
    .local_memory(|launch| launch.local.as_ref().map_or(GLOBAL, |local| local.iter().product()) * 4)
    .value(1000_i32)
}

/// #1747, #1794, #1886: checks of bounds that would end an item inside a reduction leave the barriers in it alone.
fn checked_reduction() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::bounds_checks_that_return_inside_a_reduction",
            "kernel void t(global const int *a, global int *out, local int *s, int capacity) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                s[l] = a[i];
                for (int d = 1; d < n; d *= 2) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    int at = 2 * d * l;
                    if (at < n) {
                        int other = 0;
                        if (at + d < n) {
                            if (at + d >= capacity) { out[i] = -1; return; }
                            other = s[at + d];
                        }
                        if (at >= capacity) { out[i] = -2; return; }
                        s[at] += other;
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = s[0];
            }",
        )
        .input(value)
        .expect_in(|launch, i| group(launch, i).map(value).sum::<i32>())
        .stated_local(),
    )
    .value(100_000_i32)
}

/// #94, #102: the counter of a loop that all items share, kept by some of them, is each item's own value behind it.
fn kept_counter() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::loop_counter_kept_by_some_items",
            "kernel void t(global const int *limit, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                int hit = -1, once = 0;
                for (int k = 0; k < *limit; ++k) {
                    if (k == i % 7) hit = k;
                    if (k == 3 && l == 2) once = k;
                }
                s[l] = hit;
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = hit * 100 + once * 10 + s[(l + 1) % n];
            }",
        )
        .input_n(1, |_| 5_i32)
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let hit = |i: usize| if i % 7 < 5 { (i % 7) as i32 } else { -1 };
            let l = i - group.start;
            hit(i) * 100 + if l == 2 { 30 } else { 0 } + hit(group.start + (l + 1) % group.len())
        })
        .stated_local(),
    )
}

/// #1990: a loop that all leave together, when a counter in local memory says so, ends.
fn sort_until_done() -> Case {
    let case = Case::new(
        "barrier_bugs::loop_until_local_memory_says_done",
        "kernel void t(global const int *a, global int *out, local int *s) {
            local int swaps;
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
            s[l] = a[i];
            do {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l == 0) swaps = 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int odd = 0; odd < 2; ++odd) {
                    int at = 2 * l + odd;
                    if (at + 1 < n && s[at] > s[at + 1]) {
                        int low = s[at + 1];
                        s[at + 1] = s[at];
                        s[at] = low;
                        atomic_inc(&swaps);
                    }
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
            } while (swaps != 0);
            out[i] = s[l];
        }",
    )
    .input(value);
    with_scratch(expect_group(case, |group| {
        let mut sorted: Vec<i32> = group.map(value).collect();
        sorted.sort_unstable();
        sorted
    }))
    .stated_local()
}

/// #1509: loops around compare-and-exchange between barriers compile, and end for every item.
fn exchange_loops() -> Case {
    Case::new(
        "barrier_bugs::compare_exchange_loops_between_barriers",
        "kernel void t(global const int *a, global int *out) {
            local volatile int total, best;
            int i = get_global_id(0), l = get_local_id(0), old;
            if (l == 0) { total = 0; best = INT_MIN; }
            barrier(CLK_LOCAL_MEM_FENCE);
            do old = total; while (atomic_cmpxchg(&total, old, old + a[i]) != old);
            do old = best; while (a[i] > old && atomic_cmpxchg(&best, old, a[i]) != old);
            barrier(CLK_LOCAL_MEM_FENCE);
            out[i] = total * 3 + best;
        }",
    )
    .input(value)
    .expect_in(|launch, i| {
        let group = group(launch, i);
        group.clone().map(value).sum::<i32>() * 3 + group.map(value).max().expect("a group has items")
    })
    .stated_local()
}

/// #458: waiting for a copy under a condition in a loop.
fn copy_in_condition() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::copy_and_wait_under_a_condition_in_a_loop",
            "kernel void t(global const int *a, global int *out, local int *s, int rounds) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), sum = 0;
                for (int r = 0; r < rounds; ++r) {
                    if (r & 1) {
                        event_t event = async_work_group_copy(s, a + (i - l), (size_t)n, 0);
                        wait_group_events(1, &event);
                    } else {
                        s[l] = l * r;
                        barrier(CLK_LOCAL_MEM_FENCE);
                    }
                    sum = sum * 3 + s[(l + r) % n];
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                out[i] = sum;
            }",
        )
        .input(value)
        .expect_in(|launch, i| {
            let group = group(launch, i);
            (0..5_usize).fold(0, |sum, r| {
                let at = (i - group.start + r) % group.len();
                sum * 3 + if r & 1 == 1 { value(group.start + at) } else { (at * r) as i32 }
            })
        })
        .stated_local(),
    )
    .value(5_i32)
}

/// #668: a function that is not inlined has barriers in a loop, an early return, and a private array of its caller's.
fn function_not_inlined() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::in_a_function_that_is_not_inlined",
            "__attribute__((noinline)) int rotated(local int *s, private int *own, int count) {
                int l = get_local_id(0), n = get_local_size(0);
                if (count == 0) return own[0];
                for (int k = 0; k < count; ++k) {
                    s[l] = own[k];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    own[k] = s[(l + k + 1) % n];
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                return own[count - 1];
            }
            kernel void t(global int *out, local int *s, int some) {
                int i = get_global_id(0);
                int own[4] = {i, 2 * i, 3 * i, 4 * i};
                int sum = rotated(s, own, 4);
                sum += rotated(s, own, some - 2);
                sum += rotated(s, own, some);
                out[i] = sum + own[0];
            }",
        )
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let item = |distance: usize| (group.start + (i - group.start + distance) % group.len()) as i32;
            item(4) * 4 + item(1) + item(4) * 2 + item(2)
        })
        .stated_local(),
    )
    .value(2_i32)
}

/// #205: the work of the compiler does not double with each condition around a barrier.
fn many_conditions() -> Case {
    const CONDITIONS: usize = 20;
    const TAKEN: u32 = 0b1011_0010_1110_0101_0011;
    let conditions: String = (0..CONDITIONS)
        .map(|k| {
            format!(
                "if (taken >> {k} & 1) {{
                    barrier(CLK_LOCAL_MEM_FENCE);
                    x = s[(l + {k}) % n];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    s[l] = x + {k};
                }} else x += {k};\n"
            )
        })
        .collect();
    let source = format!(
        "kernel void t(global int *out, local int *s, uint taken, int rounds) {{
            int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0), x = 0;
            s[l] = i;
            for (int r = 0; r < rounds; ++r) {{ {conditions} }}
            out[i] = x;
        }}"
    );
    with_scratch(expect_group(Case::new("barrier_bugs::many_conditions_in_a_loop", source), |group| {
        let n = group.len();
        let mut s: Vec<i32> = group.map(|i| i as i32).collect();
        let mut x = vec![0; n];
        for k in (0..2).flat_map(|_| 0..CONDITIONS) {
            if TAKEN >> k & 1 == 1 {
                x = (0..n).map(|l| s[(l + k) % n]).collect();
                s = x.iter().map(|x| x + k as i32).collect();
            } else {
                x.iter_mut().for_each(|x| *x += k as i32);
            }
        }
        x
    }))
    .stated_local()
    .value(TAKEN)
    .value(2_i32)
    .clift_only("compiles for minutes")
}

/// #2156: the first item of each sub-group leaves its part for the group, behind a guard that could return.
fn parts_of_sub_groups() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::parts_of_sub_groups_behind_a_guard",
            "kernel void t(global const int *a, global int *out, local int *s, uint capacity) {
                int i = get_global_id(0), l = get_local_id(0);
                s[l] = a[i];
                barrier(CLK_LOCAL_MEM_FENCE);
                int part = sub_group_reduce_add(s[l]);
                barrier(CLK_LOCAL_MEM_FENCE);
                if (get_sub_group_local_id() == 0) {
                    if (get_sub_group_id() >= capacity) return;
                    s[get_sub_group_id()] = part;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                int sum = 0;
                for (uint k = 0; k < get_num_sub_groups(); ++k) sum += s[k];
                out[i] = sum;
            }",
        )
        .input(value)
        .expect_in(|launch, i| group(launch, i).map(value).sum::<i32>())
        .needs(Need::SubGroups)
        .stated_local(),
    )
    .value(1000_u32)
}

/// #516, #1238: private arrays of vectors that are kept across barriers keep their alignment, for every item.
fn aligned_arrays() -> Case {
    with_scratch(
        Case::new(
            "barrier_bugs::private_vectors_stay_aligned",
            "kernel void t(global const int *a, global int *out, local int *s) {
                int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
                char tiny[3];
                long4 wide[3];
                short3 odd[2];
                for (int k = 0; k < 3; ++k) { tiny[k] = a[i] + k; wide[k] = (long4)(a[i] * k, 1, 2, 3); }
                odd[0] = (short3)(a[i], i, 1);
                odd[1] = odd[0] + (short3)(1);
                s[l] = i;
                barrier(CLK_LOCAL_MEM_FENCE);
                int k = s[(l + 1) % n] % 3;
                barrier(CLK_LOCAL_MEM_FENCE);
                size_t skew = (size_t)&wide[k] % sizeof(long4) + (size_t)&odd[k & 1] % sizeof(short3);
                wide[k].y += odd[k & 1].y;
                barrier(CLK_LOCAL_MEM_FENCE);
                out[i] = (int)(wide[k].x + wide[k].y + odd[k & 1].x) + tiny[k] + (int)skew * 100000;
            }",
        )
        .input(value)
        .expect_in(|launch, i| {
            let group = group(launch, i);
            let k = ((group.start + (i - group.start + 1) % group.len()) % 3) as i32;
            let (a, odd) = (value(i), k & 1);
            a * k + 1 + i as i32 + odd + a + odd + i32::from((a + k) as i8)
        })
        .stated_local(),
    )
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        conditions_in_nested_loops("barrier_bugs::conditions_in_nested_loops", 2),
        conditions_in_nested_loops("barrier_bugs::conditions_in_nested_loops_one_false", 0),
        guard_in_uneven_loop(),
        private_array_in_loop(),
        loads_stay_before(),
        divergent_joins(),
        ids_behind_return(),
        ids_behind_return_in_rows(),
        checked_reduction(),
        kept_counter(),
        sort_until_done(),
        exchange_loops(),
        copy_in_condition(),
        function_not_inlined(),
        many_conditions(),
        parts_of_sub_groups(),
        aligned_arrays(),
    ]
}
