//! Atomics: 32 and 64 bits and halves, in global and local memory, of OpenCL C 1.2 and 2.0.

use clift_tests::kernel::{Case, GLOBAL, Launch, Need};
use clift_tests::values::spread;
use half::f16;

fn value(i: usize) -> i32 {
    spread(61, i) as i32
}

fn signed() -> Case {
    Case::new(
        "atomics::int_in_global_memory",
        "kernel void t(global const int *a, volatile global int *r) {
            int x = a[get_global_id(0)];
            atomic_add(r, x); atomic_sub(r + 1, x); atomic_inc(r + 2); atomic_dec(r + 3);
            atomic_min(r + 4, x); atomic_max(r + 5, x); atomic_and(r + 6, x | 0x1010); atomic_or(r + 7, x & 0x7777); atomic_xor(r + 8, x);
        }",
    )
    .options("-cl-std=CL1.2")
    .uniform()
    .input(value)
    .update(9, |k| if k == 6 { -1 } else { 3 }, |_, k| {
        let all = || (0..GLOBAL).map(value);
        Some(match k {
            0 => all().fold(3, i32::wrapping_add),
            1 => all().fold(3, i32::wrapping_sub),
            2 => 3 + GLOBAL as i32,
            3 => 3 - GLOBAL as i32,
            4 => all().min().unwrap_or(3).min(3),
            5 => all().max().unwrap_or(3).max(3),
            6 => all().fold(-1, |r, x| r & (x | 0x1010)),
            7 => all().fold(3, |r, x| r | (x & 0x7777)),
            _ => all().fold(3, |r, x| r ^ x),
        })
    })
}

fn unsigned_minimum() -> Case {
    Case::new(
        "atomics::uint_min_max_and_xchg",
        "kernel void t(global const uint *a, volatile global uint *r, volatile global float *f) {
            uint x = a[get_global_id(0)];
            atomic_min(r, x); atomic_max(r + 1, x);
            atomic_xchg(r + 2, 77u); atomic_xchg(f, 2.5f);
        }",
    )
    .input(|i| value(i) as u32)
    .update(
        3,
        |k| if k == 0 { u32::MAX } else { 0 },
        |_, k| {
            let all = || (0..GLOBAL).map(|i| value(i) as u32);
            Some([all().min().unwrap_or(0), all().max().unwrap_or(0), 77][k])
        },
    )
    .update(1, |_| 0.0_f32, |_, _| Some(2.5))
}

/// The values that an increment returns are all different: each item gets its own place.
fn tickets() -> Case {
    Case::new(
        "atomics::tickets_are_unique",
        "kernel void t(volatile global uint *next, global uint *place) {
            uint mine = atomic_inc(next);
            place[mine] = get_global_id(0) + 1;
        }",
    )
    .update(1, |_| 0_u32, |_, _| Some(GLOBAL as u32))
    .judge(GLOBAL, 0_u32, |_, places| {
        let mut seen = places.to_vec();
        seen.sort_unstable();
        if seen.iter().enumerate().all(|(i, place)| *place as usize == i + 1) {
            Ok(())
        } else {
            Err(format!("not every item has a place of its own: {seen:?}"))
        }
    })
}

fn compare_exchange() -> Case {
    Case::new(
        "atomics::cmpxchg_loop",
        "void add(volatile global float *p, float x) {
            uint old, new;
            do { old = as_uint(*p); new = as_uint(as_float(old) + x); } while (atomic_cmpxchg((volatile global uint *)p, old, new) != old);
        }
        kernel void t(volatile global float *sum, global const float *a) { add(sum, a[get_global_id(0)]); }",
    )
    // Whole numbers: exact in whatever order.
    .update(1, |_| 0.5_f32, |_, _| Some(0.5 + (0..GLOBAL).map(|i| (i % 50) as f32).sum::<f32>()))
    .input(|i| (i % 50) as f32)
}

fn local_histogram() -> Case {
    Case::new(
        "atomics::histogram_in_local_memory",
        "kernel void t(global const uint *a, volatile global uint *bins, local uint *mine) {
            size_t l = get_local_id(0), n = get_local_size(0);
            for (size_t k = l; k < 16; k += n) mine[k] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_inc(mine + (a[get_global_id(0)] & 15));
            barrier(CLK_LOCAL_MEM_FENCE);
            for (size_t k = l; k < 16; k += n) if (mine[k]) atomic_add(bins + k, mine[k]);
        }",
    )
    .input(|i| value(i) as u32)
    .update(16, |_| 0_u32, |_, k| Some((0..GLOBAL).filter(|i| value(*i) & 15 == k as i32).count() as u32))
    .local_memory(|_| 64)
}

fn wide() -> Case {
    Case::new(
        "atomics::long",
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
        #pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
        kernel void t(global const int *a, volatile global long *r, volatile global ulong *u, local long *s) {
            long x = (long)a[get_global_id(0)] << 20;
            size_t l = get_local_id(0);
            atom_add(r, x); atom_sub(r + 1, x); atom_inc(r + 2); atom_min(r + 3, x); atom_max(r + 4, x); atom_xor(r + 5, x);
            atom_max(u, (ulong)x);
            if (l == 0) *s = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            atom_add(s, x);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l == 0) atom_add(r + 6, *s);
        }",
    )
    .options("-cl-std=CL1.2")
    .uniform()
    .input(value)
    .update(7, |_| 5_i64, |_, k| {
        let all = || (0..GLOBAL).map(|i| i64::from(value(i)) << 20);
        Some(match k {
            0 | 6 => 5 + all().sum::<i64>(),
            1 => 5 - all().sum::<i64>(),
            2 => 5 + GLOBAL as i64,
            3 => all().min().unwrap_or(0).min(5),
            4 => all().max().unwrap_or(0).max(5),
            _ => all().fold(5, |r, x| r ^ x),
        })
    })
    .update(1, |_| 0_u64, |_, _| (0..GLOBAL).map(|i| (i64::from(value(i)) << 20) as u64).max())
    .local_memory(|_| 8)
    .needs(Need::Int64Atomics)
}

fn modern() -> Case {
    Case::new(
        "atomics::opencl_c_2",
        "kernel void t(global const int *a, volatile global atomic_int *r, volatile global atomic_uint *ready, global int *data) {
            int x = a[get_global_id(0)];
            atomic_fetch_add(r, x);
            atomic_fetch_sub_explicit(r + 1, x, memory_order_relaxed, memory_scope_device);
            atomic_fetch_or_explicit(r + 2, x, memory_order_acq_rel, memory_scope_device);
            atomic_fetch_min_explicit(r + 3, x, memory_order_relaxed, memory_scope_device);
            int expected = 3;
            if (atomic_compare_exchange_strong(r + 4, &expected, 1000)) atomic_store(r + 5, expected);
            if (get_global_id(0) == 0) {
                data[0] = 42;
                atomic_store_explicit(ready, 1u, memory_order_release, memory_scope_device);
            }
            if (atomic_load_explicit(ready, memory_order_acquire, memory_scope_device) == 1u && data[0] != 42)
                atomic_fetch_add(r + 6, 1);
            atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);
        }",
    )
    .input(value)
    .update(7, |_| 3_i32, |_, k| {
        let all = || (0..GLOBAL).map(value);
        Some(match k {
            0 => all().fold(3, i32::wrapping_add),
            1 => all().fold(3, i32::wrapping_sub),
            2 => all().fold(3, |r, x| r | x),
            3 => all().min().unwrap_or(3).min(3),
            4 => 1000,
            _ => 3,
        })
    })
    .update(1, |_| 0_u32, |_, _| Some(1))
    .update(1, |_| 0_i32, |_, _| Some(42))
    .needs(Need::SeqCst)
    .needs(Need::Generic)
}

/// Orders without scopes, and exchanges of floats, which compare bits.
fn explicit_orders() -> Case {
    Case::new(
        "atomics::orders_without_scope_and_floats",
        "kernel void t(volatile global atomic_int *n, volatile global atomic_float *f, global const float *a) {
            int old = atomic_load_explicit(n, memory_order_relaxed);
            while (!atomic_compare_exchange_weak_explicit(n, &old, old + 2, memory_order_acq_rel, memory_order_acquire)) { }
            old = atomic_load_explicit(n, memory_order_acquire, memory_scope_device);
            while (!atomic_compare_exchange_strong_explicit(n, &old, old - 1, memory_order_seq_cst, memory_order_relaxed,
                                                            memory_scope_device)) { }
            float sum = atomic_load(f);
            while (!atomic_compare_exchange_strong(f, &sum, sum + a[get_global_id(0)])) { }
        }",
    )
    .update(1, |_| 100_i32, |_, _| Some(100 + GLOBAL as i32))
    .update(1, |_| 0.0_f32, |_, _| Some((0..GLOBAL).map(|i| i as f32).sum()))
    .input(|i| i as f32)
    .needs(Need::SeqCst)
    .needs(Need::Generic)
}

/// Loads of every order and scope.
fn ordered_loads() -> Case {
    Case::new(
        "atomics::loads_with_orders_and_scopes",
        "kernel void t(volatile global atomic_int *a, global int4 *out) {
            local atomic_int n;
            size_t i = get_global_id(0);
            if (get_local_id(0) == 0) atomic_store_explicit(&n, 7, memory_order_relaxed, memory_scope_work_group);
            barrier(CLK_LOCAL_MEM_FENCE);
            out[i] = (int4)(atomic_load_explicit(&n, memory_order_seq_cst, memory_scope_work_group),
                            atomic_load_explicit(a + i, memory_order_seq_cst, memory_scope_device),
                            atomic_load_explicit(a + i, memory_order_acquire, memory_scope_all_svm_devices),
                            atomic_load_explicit(&n, memory_order_relaxed, memory_scope_work_item));
        }",
    )
    .input(|i| i as i32 - 5)
    .expect(|i| [7, i as i32 - 5, i as i32 - 5, 7])
    .needs(Need::SeqCst)
    .needs(Need::Generic)
}

fn flags() -> Case {
    Case::new(
        "atomics::flag",
        "kernel void t(volatile global atomic_flag *flag, volatile global int *winners) {
            if (!atomic_flag_test_and_set(flag)) atomic_add(winners, 1);
        }",
    )
    .update(1, |_| 0_u32, |_, _| None)
    .update(1, |_| 0_i32, |_, _| Some(1))
    .needs(Need::SeqCst)
    .needs(Need::Generic)
}

/// All that can be done with atomic floats and doubles, in global and local memory. Whole numbers: exact in whatever order.
fn floats() -> Case {
    const SOURCE: &str = "
        #define ALL(T, g, s, n, x) \
            atomic_fetch_add_explicit(g, x, memory_order_relaxed, memory_scope_device); \
            atomic_fetch_sub(g + 1, x); \
            atomic_fetch_min(g + 2, x); atomic_fetch_max_explicit(g + 3, x, memory_order_acq_rel, memory_scope_device); \
            atomic_fetch_min_explicit(g + 4, (T)NAN, memory_order_relaxed); \
            atomic_store_explicit(g + 5, atomic_load(g + 5), memory_order_relaxed); \
            atomic_fetch_add(s, x); \
            atomic_fetch_min_explicit(s + 1, x, memory_order_relaxed, memory_scope_work_group); \
            atomic_fetch_max(s + 2, x); atomic_exchange(s + 3, (T)9); \
            barrier(CLK_LOCAL_MEM_FENCE); \
            if (get_local_id(0) == 0) { \
                atomic_fetch_add(g + 6, atomic_load(s)); atomic_fetch_min(g + 7, atomic_load(s + 1)); \
                atomic_fetch_max(g + 8, atomic_load(s + 2)); atomic_fetch_max(g + 9, atomic_load(s + 3)); \
            }
        kernel void t(global const int *a, volatile global atomic_float *f, volatile global atomic_double *d) {
            local atomic_float sf[4];
            local atomic_double sd[4];
            if (get_local_id(0) == 0)
                for (int i = 0; i < 4; i++) { atomic_init(sf + i, 0.0f); atomic_init(sd + i, 0.0); }
            barrier(CLK_LOCAL_MEM_FENCE);
            int x = a[get_global_id(0)];
            ALL(float, f, sf, 4, (float)x)
            ALL(double, d, sd, 4, (double)x)
        }";
    fn number(i: usize) -> i32 {
        value(i) % 1000
    }
    fn expected(k: usize) -> f64 {
        let all = || (0..GLOBAL).map(|i| f64::from(number(i)));
        let (sum, least, most) = (all().sum::<f64>(), all().fold(3.0, f64::min), all().fold(3.0, f64::max));
        match k {
            0 | 6 => 3.0 + sum,
            1 => 3.0 - sum,
            2 | 7 => least,
            3 | 8 => most,
            9 => 9.0,
            _ => 3.0,
        }
    }
    Case::new("atomics::floats_and_doubles", SOURCE)
        .input(number)
        .update(10, |_| 3.0_f32, |_, k| Some(expected(k) as f32))
        .update(10, |_| 3.0_f64, |_, k| Some(expected(k)))
        .needs(Need::Extension("cl_ext_float_atomics"))
        .needs(Need::Generic)
        .needs(Need::Fp64)
}

/// The same with halves, of which two lie in a word. Sums stay exact below 2048.
fn halves() -> Case {
    const SOURCE: &str = "
        #pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void t(global const int *a, volatile global atomic_half *f) {
            local atomic_half s[4];
            if (get_local_id(0) == 0)
                for (int i = 0; i < 4; i++) atomic_store(s + i, (half)0);
            barrier(CLK_LOCAL_MEM_FENCE);
            half x = a[get_global_id(0)];
            atomic_fetch_add_explicit(f, x, memory_order_relaxed, memory_scope_device);
            atomic_fetch_sub(f + 1, x);
            atomic_fetch_min(f + 2, x);
            atomic_fetch_max_explicit(f + 3, x, memory_order_acq_rel, memory_scope_device);
            atomic_store_explicit(f + 4, atomic_load(f + 5), memory_order_relaxed);
            atomic_fetch_add(s, x);
            atomic_fetch_min_explicit(s + 1, x, memory_order_relaxed, memory_scope_work_group);
            atomic_fetch_max(s + 2, x);
            atomic_exchange(s + 3, (half)9);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (get_local_id(0) == 0) {
                atomic_fetch_add(f + 6, atomic_load(s));
                atomic_fetch_min(f + 7, atomic_load(s + 1));
                atomic_fetch_max(f + 8, atomic_load(s + 2));
                atomic_fetch_max(f + 9, atomic_load(s + 3));
            }
        }";
    fn number(i: usize) -> i32 {
        value(i) % 8
    }
    fn expected(k: usize) -> f64 {
        let all = || (0..GLOBAL).map(|i| f64::from(number(i)));
        let (sum, least, most) = (all().sum::<f64>(), all().fold(3.0, f64::min), all().fold(3.0, f64::max));
        match k {
            0 | 6 => 3.0 + sum,
            1 => 3.0 - sum,
            2 | 7 => least,
            3 | 8 => most,
            9 => 9.0,
            _ => 3.0,
        }
    }
    Case::new("atomics::halves", SOURCE)
        .input(number)
        .update(10, |_| f16::from_f64(3.0), |_, k| Some(f16::from_f64(expected(k))))
        .needs(Need::Extension("cl_ext_float_atomics"))
        .needs(Need::Extension("cl_khr_fp16"))
}

/// A group agrees through an atomic in local memory on what its items vote.
fn votes() -> Case {
    fn expected(launch: &Launch, i: usize) -> i32 {
        let start = launch.group_start_of(i);
        (start..start + launch.group_size_of(i)).filter(|i| value(*i) > 0).count() as i32
    }
    Case::new(
        "atomics::votes_in_local_memory",
        "kernel void t(global const int *a, global int *out) {
            local int count;
            int i = get_global_id(0);
            if (get_local_id(0) == 0) count = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (a[i] > 0) atomic_inc(&count);
            barrier(CLK_LOCAL_MEM_FENCE);
            out[i] = count;
        }",
    )
    .input(value)
    .expect_in(expected)
    .stated_local()
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        signed(),
        unsigned_minimum(),
        tickets(),
        compare_exchange(),
        local_histogram(),
        wide(),
        modern(),
        explicit_orders(),
        ordered_loads(),
        flags(),
        floats(),
        halves(),
        votes(),
    ]
}
