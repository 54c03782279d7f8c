//! Launches that repeat: meanwhile the driver tries other variants of the kernel's code, and results stay the same.

use std::time::{Duration, Instant};

use opencl3::kernel::ExecuteKernel;
use opencl3::memory::ClMem;
use opencl3::types::{CL_TRUE, cl_int};

use clift_tests::session::session;

use crate::child;

/// How long launches repeat. Variants are tried when launches have taken 10 ms, and then after each 40 ms.
const LONG: Duration = Duration::from_secs(4);
const SIDE: usize = 96;
const GROUP: usize = 16;

/// Work-items that are neighbours along x access rows of a matrix: the dimensions are exchanged. A barrier keeps the groups.
const SOURCE: &str = "kernel void sums(global const int *in, global int *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), row = get_local_id(0), column = get_local_id(1);
    local int tile[16 * 16];
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += in[x * n + i] * (i ^ y);
    tile[row * 16 + column] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[x * n + y] += tile[row * 16 + (column ^ 1)];
}";

fn repeat() {
    let session = session();
    let queue = session.queue();
    let (_program, kernel) = session.kernel(SOURCE, "", "sums");
    let (mut input, mut sums) = (session.ints(SIDE * SIDE), session.ints(SIDE * SIDE));
    let elements: Vec<cl_int> = (0..SIDE * SIDE).map(|i| (i as cl_int * 7919) % 1000 - 500).collect();
    // SAFETY: the buffers have so many elements, and calls wait for the end.
    unsafe {
        queue.enqueue_write_buffer(&mut input, CL_TRUE, 0, &elements, &[]).expect("the input");
        queue.enqueue_write_buffer(&mut sums, CL_TRUE, 0, &vec![0; SIDE * SIDE], &[]).expect("zeros");
    }
    let sum = |x: usize, y: usize| -> cl_int { (0..SIDE).map(|i| elements[x * SIDE + i] * (i ^ y) as cl_int).sum() };
    let once: Vec<cl_int> = (0..SIDE * SIDE).map(|i| sum(i / SIDE, (i % SIDE) ^ 1)).collect();
    let (begin, mut launches) = (Instant::now(), 0);
    while begin.elapsed() < LONG {
        for _ in 0..20 {
            // SAFETY: the arguments are those of the kernel, and its accesses are in bounds.
            unsafe {
                ExecuteKernel::new(&kernel)
                    .set_arg(&input.get())
                    .set_arg(&sums.get())
                    .set_arg(&(SIDE as cl_int))
                    .set_global_work_sizes(&[SIDE, SIDE])
                    .set_local_work_sizes(&[GROUP, GROUP])
                    .enqueue_nd_range(&queue)
                    .expect("a launch");
            }
            launches += 1;
        }
        let mut results = vec![0; SIDE * SIDE];
        // SAFETY: the buffer has so many elements, and the call waits for the end.
        unsafe { queue.enqueue_read_buffer(&sums, CL_TRUE, 0, &mut results, &[]) }.expect("the results");
        let wrong = (0..SIDE * SIDE).find(|&i| results[i] != once[i].wrapping_mul(launches));
        assert_eq!(wrong, None, "after {launches} launches");
    }
}

/// Work-items that wait for one another have one lane: only another backend can be tried.
const LOCKED: &str = "kernel void counts(global int *lock, global int *out, int n) {
    int id = get_global_id(0);
    while (atomic_cmpxchg(lock, 0, 1) != 0);
    for (int i = 0; i < n; ++i)
        out[(id + i) % n] += id ^ i;
    atomic_xchg(lock, 0);
}";

fn repeat_locked() {
    const ITEMS: usize = 64;
    const COUNTS: usize = 50;
    let session = session();
    let queue = session.queue();
    let (_program, kernel) = session.kernel(LOCKED, "", "counts");
    let (mut lock, mut counts) = (session.ints(1), session.ints(COUNTS));
    // SAFETY: the buffers have so many elements, and calls wait for the end.
    unsafe {
        queue.enqueue_write_buffer(&mut lock, CL_TRUE, 0, &[0], &[]).expect("an open lock");
        queue.enqueue_write_buffer(&mut counts, CL_TRUE, 0, &[0; COUNTS], &[]).expect("zeros");
    }
    let mut once = [0; COUNTS];
    for (id, i) in (0..ITEMS).flat_map(|id| (0..COUNTS).map(move |i| (id, i))) {
        once[(id + i) % COUNTS] += (id ^ i) as cl_int;
    }
    let (begin, mut launches) = (Instant::now(), 0);
    while begin.elapsed() < LONG / 2 {
        for _ in 0..20 {
            // SAFETY: the arguments are those of the kernel, and its accesses are in bounds.
            unsafe {
                ExecuteKernel::new(&kernel)
                    .set_arg(&lock.get())
                    .set_arg(&counts.get())
                    .set_arg(&(COUNTS as cl_int))
                    .set_global_work_sizes(&[ITEMS])
                    .set_local_work_sizes(&[16])
                    .enqueue_nd_range(&queue)
                    .expect("a launch");
            }
            launches += 1;
        }
        let mut results = [0; COUNTS];
        // SAFETY: the buffer has so many elements, and the call waits for the end.
        unsafe { queue.enqueue_read_buffer(&counts, CL_TRUE, 0, &mut results, &[]) }.expect("the results");
        assert_eq!(results, once.map(|count: cl_int| count.wrapping_mul(launches)), "after {launches} launches");
    }
}

/// Runs a test of repeated launches in a process of its own, which must try variants of these kinds.
fn tries(name: &str, variants: &[&str]) {
    if !session().driver.is_clift {
        return;
    }
    let output = child::run(name, &[("CLIFT_DEBUG", "time")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    for variant in variants {
        assert!(told.lines().any(|line| line.contains("specialize") && line.contains(variant)), "{variant}:\n{told}");
    }
}

#[test]
fn other_codes_compute_the_same() {
    let name = "repeated_launches::other_codes_compute_the_same";
    if child::is_for(name) {
        return repeat();
    }
    tries(name, &["variant: Usual", "variant: AsGiven", "variant: Lanes("]);
}

#[test]
fn another_backend_computes_the_same() {
    let name = "repeated_launches::another_backend_computes_the_same";
    if child::is_for(name) {
        return repeat_locked();
    }
    tries(name, if has_x86_backend() { &["variant: PackBackend"] } else { &[] });
}

/// Whether the driver has the backend that needs AVX2, besides Cranelift.
fn has_x86_backend() -> bool {
    let chosen = std::env::var("CLIFT_BACKEND").unwrap_or_default();
    #[cfg(target_arch = "x86_64")]
    let supported = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let supported = false;
    supported && !["cranelift", "interp"].contains(&chosen.as_str())
}
