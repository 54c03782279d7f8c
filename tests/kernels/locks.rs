//! Work-items that wait for each other: locks, and flags set by earlier ones. They terminate when work-items run one after
//! another.

use clift_tests::kernel::{Case, GLOBAL, Need};

/// A kernel in which each work-item adds its element to a sum that only a lock protects.
fn lock(name: &str, source: &str) -> Case {
    Case::new(format!("locks::{name}"), source)
        .update(8, |_| 0_i32, |_, _| Some(0))
        .update(1, |_| 5_i32, |_, _| Some(5 + (0..GLOBAL as i32).map(|i| i % 17).sum::<i32>()))
        .input(|i| (i % 17) as i32)
}

const ARGUMENTS: &str = "(volatile global int *lock, volatile global int *sum, global const int *a)";

fn spins() -> Vec<Case> {
    let add = "int s = *sum; *sum = s + a[get_global_id(0)]; mem_fence(CLK_GLOBAL_MEM_FENCE);";
    vec![
        lock(
            "spin",
            &format!("kernel void t{ARGUMENTS} {{ while (atomic_cmpxchg(lock, 0, 1) != 0); {add} atomic_xchg(lock, 0); }}"),
        ),
        lock(
            "done",
            &format!(
                "kernel void t{ARGUMENTS} {{ int done = 0; while (!done) {{ \
                 if (atomic_cmpxchg(lock, 0, 1) == 0) {{ {add} atomic_xchg(lock, 0); done = 1; }} }} }}"
            ),
        ),
        lock(
            "exchanged",
            &format!("kernel void t{ARGUMENTS} {{ while (atomic_xchg(lock, 1)) ; {add} atomic_xchg(lock, 0); }}"),
        ),
        lock(
            "bits",
            &format!("kernel void t{ARGUMENTS} {{ while (atomic_or(lock, 4) & 4) ; {add} atomic_and(lock, ~4); }}"),
        ),
        lock(
            "counted",
            &format!(
                "kernel void t{ARGUMENTS} {{ while (atomic_inc(lock) != 0) atomic_dec(lock); {add} atomic_dec(lock); }}"
            ),
        ),
        lock(
            "some_items_only",
            &format!(
                "kernel void t{ARGUMENTS} {{ if (a[get_global_id(0)] == 0) return; \
                 while (atomic_cmpxchg(lock, 0, 1) != 0); {add} atomic_xchg(lock, 0); }}"
            ),
        ),
        lock(
            "one_of_several_in_a_function",
            &format!(
                "void take(volatile global int *lock) {{ while (atomic_cmpxchg(lock, 0, 1) != 0) ; }}
                kernel void t{ARGUMENTS} {{
                    for (int k = 0; k < 4; ++k) {{
                        take(lock + 2 * k);
                        if (k == a[get_global_id(0)] % 4) {{
                            take(lock + 1); {add} atomic_xchg(lock + 1, 0);
                        }}
                        atomic_xchg(lock + 2 * k, 0);
                    }}
                }}"
            ),
        ),
        lock(
            "looked_at_first",
            &format!(
                "kernel void t{ARGUMENTS} {{ for (;;) {{ while (*lock) ; if (atomic_cmpxchg(lock, 0, 1) == 0) break; }} \
                 {add} atomic_xchg(lock, 0); }}"
            ),
        ),
        lock(
            "flag_of_opencl_c_2",
            &format!(
                "kernel void t(global atomic_flag *lock, volatile global int *sum, global const int *a) {{
                    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire, memory_scope_device)) ;
                    {add}
                    atomic_flag_clear_explicit(lock, memory_order_release, memory_scope_device);
                }}"
            ),
        )
        .needs(Need::SeqCst),
        lock(
            "exchange_of_opencl_c_2",
            &format!(
                "kernel void t(global atomic_int *lock, volatile global int *sum, global const int *a) {{
                    int free;
                    do free = 0; while (!atomic_compare_exchange_weak_explicit(lock, &free, 1, memory_order_acquire,
                                                                               memory_order_relaxed, memory_scope_device));
                    {add}
                    atomic_store_explicit(lock, 0, memory_order_release, memory_scope_device);
                }}"
            ),
        )
        .needs(Need::SeqCst),
    ]
}

fn local_lock() -> Case {
    Case::new(
        "locks::in_local_memory",
        "kernel void t(global int *o, local int *s) {
            volatile local int *lock = s, *sum = s + 1;
            if (get_local_id(0) == 0) { *lock = 0; *sum = 0; }
            barrier(CLK_LOCAL_MEM_FENCE);
            bool done = false;
            while (!done) if (atomic_cmpxchg(lock, 0, 1) == 0) { *sum += 1; done = true; mem_fence(CLK_LOCAL_MEM_FENCE); atomic_xchg(lock, 0); }
            barrier(CLK_LOCAL_MEM_FENCE);
            o[get_global_id(0)] = *sum == get_local_size(0);
        }",
    )
    .expect(|_| 1_i32)
    .local_memory(|_| 8)
}

/// Each work-item waits for the one before it.
fn chain() -> Vec<Case> {
    let chain = |name: &str, source: &str| {
        Case::new(format!("locks::{name}"), source)
            .update(GLOBAL, |_| 0_i32, |_, i| Some(1 + i as i32))
            .expect(|i| 1 + i as i32)
    };
    vec![
        chain(
            "a_volatile_flag",
            "kernel void t(volatile global int *flag, global int *o) {
                int i = get_global_id(0), before = 0;
                if (i) while ((before = flag[i - 1]) == 0) ;
                o[i] = before + 1;
                mem_fence(CLK_GLOBAL_MEM_FENCE);
                flag[i] = before + 1;
            }",
        ),
        chain(
            "an_atomic_flag",
            "kernel void t(global atomic_int *flag, global int *o) {
                int i = get_global_id(0), before = 0;
                if (i) while ((before = atomic_load_explicit(flag + i - 1, memory_order_acquire, memory_scope_device)) == 0) ;
                o[i] = before + 1;
                atomic_store_explicit(flag + i, before + 1, memory_order_release, memory_scope_device);
            }",
        )
        .needs(Need::SeqCst),
    ]
}

/// Similar loops that do not depend on other work-items.
fn free() -> Vec<Case> {
    let sum = || 0.5 + (0..GLOBAL).map(|i| (i % 50) as f32).sum::<f32>();
    vec![
        Case::new(
            "locks::a_sum_by_exchanges",
            "kernel void t(volatile global float *sum, global const float *a) {
                float old = a[get_global_id(0)];
                while ((old = atomic_xchg(sum, atomic_xchg(sum, 0.0f) + old)) != 0.0f) ;
            }",
        )
        .update(1, |_| 0.5_f32, move |_, _| Some(sum()))
        .input(|i| (i % 50) as f32),
        Case::new(
            "locks::a_maximum_by_compare_exchange",
            "kernel void t(volatile global int *most, global const int *a) {
                int x = a[get_global_id(0)], old = *most;
                while (x > old) { int found = atomic_cmpxchg(most, old, x); if (found == old) break; old = found; }
            }",
        )
        .update(1, |_| -7_i32, |_, _| Some(210))
        .input(|i| (i * 7 % 211) as i32),
        Case::new(
            "locks::a_queue_of_work",
            "kernel void t(volatile global int *next, global int *o) {
                int i;
                while ((i = atomic_inc(next)) < (int) get_global_size(0)) o[i] = 3 * i;
            }",
        )
        .update(1, |_| 0_i32, |_, _| Some(2 * GLOBAL as i32))
        .expect(|i| 3 * i as i32),
        Case::new(
            "locks::a_table_with_open_addresses",
            "kernel void t(volatile global int *table, global const int *a) {
                int x = a[get_global_id(0)];
                for (uint h = x * 40503u; ; ++h) {
                    int old = atomic_cmpxchg(table + (h & 255), 0, x);
                    if (old == 0 || old == x) break;
                }
            }",
        )
        .judge(256, 0_i32, |_, table: &[i32]| {
            let mut found: Vec<i32> = table.iter().copied().filter(|&x| x != 0).collect();
            found.sort_unstable();
            if found == (1..=GLOBAL as i32 / 2).collect::<Vec<_>>() { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .input(|i| 1 + i as i32 / 2),
    ]
}

/// All cases of this class.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = spins();
    cases.push(local_lock());
    cases.extend(chain());
    cases.extend(free());
    cases
}
