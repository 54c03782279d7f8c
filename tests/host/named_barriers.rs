//! Named barriers: subsets of the sub-groups of a work-group that meet at a barrier, for all sub-group sizes.

use opencl3::error_codes::{CL_OUT_OF_RESOURCES, CL_SUCCESS};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_int};

use clift_tests::session::{Session, session};

/// A module from the importer's tests.
const MODULE: &[u8] = include_bytes!("../../jit/tests/files/spirv/run/named_barrier.spv");

/// The module with a required sub-group size for each kernel.
fn module(size: u32) -> Vec<u8> {
    const ENTRY_POINT: u32 = 15;
    const EXECUTION_MODE: u32 = 16;
    const SUBGROUP_SIZE: u32 = 35;
    let words: Vec<u32> = MODULE.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    let (mut at, mut end, mut modes) = (5, 5, Vec::new());
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        if words[at] & 0xFFFF == ENTRY_POINT {
            modes.extend([4 << 16 | EXECUTION_MODE, words[at + 2], SUBGROUP_SIZE, size]);
            end = at + length;
        }
        at += length;
    }
    let all = words[..end].iter().chain(&modes).chain(&words[end..]);
    all.flat_map(|word| word.to_le_bytes()).collect()
}

/// Runs a kernel of the module over groups; returns the launch's status and the stored values.
fn run(session: &Session, size: u32, kernel: &str, global: usize, local: usize) -> (cl_int, Vec<cl_int>) {
    let mut program = Program::create_from_il(&session.context, &module(size)).expect("a module");
    program.build(session.context.devices(), "").expect("a build");
    run_program(session, &program, kernel, global, local)
}

fn run_program(
    session: &Session,
    program: &Program,
    kernel: &str,
    global: usize,
    local: usize,
) -> (cl_int, Vec<cl_int>) {
    let kernel = Kernel::create(program, kernel).expect("the kernel");
    let queue = session.queue();
    let mut out = vec![-1; global];
    // SAFETY: the one argument is a buffer of as many words as there are work-items.
    unsafe {
        let buffer = Buffer::<cl_int>::create(&session.context, CL_MEM_READ_WRITE, global, std::ptr::null_mut())
            .expect("a buffer");
        let event = ExecuteKernel::new(&kernel)
            .set_arg(&buffer)
            .set_global_work_size(global)
            .set_local_work_size(local)
            .enqueue_nd_range(&queue)
            .expect("a launch");
        let _ = event.wait();
        let status = event.command_execution_status().expect("a status").0;
        if status == CL_SUCCESS {
            queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[]).expect("a read");
        }
        (status, out)
    }
}

/// For each work-item, the result of a function of its sub-group's number.
fn by_sub_group(global: usize, local: usize, size: u32, value: impl Fn(usize) -> usize) -> Vec<cl_int> {
    (0..global).map(|i| value(i % local / size as usize) as cl_int).collect()
}

#[test]
fn sub_groups_form_a_pipeline() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    for size in [1, 4, 8, 16, 32] {
        for (global, local) in [(64, 64), (240, 40), (333, 37), (5, 5)] {
            let (status, out) = run(session, size, "pipeline", global, local);
            let wanted = |number| if number == 0 { 0 } else { (0..5).map(|round| round * round + 1 + number).sum() };
            assert_eq!(status, CL_SUCCESS);
            assert_eq!(out, by_sub_group(global, local, size, wanted), "sub-groups of {size}, groups of {local}");
        }
    }
}

#[test]
fn pairs_meet_as_often_as_they_like() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    for size in [1, 4, 8, 16, 32] {
        let local = 4 * size as usize;
        let (status, out) = run(session, size, "pairs", 9 * local, local);
        let wanted = |number: usize| {
            let (rounds, partner) = (if number < 2 { 2 } else { 4 }, number ^ 1);
            (1..=rounds).map(|round| round * partner).sum::<usize>() * 100 + rounds * partner
        };
        assert_eq!(status, CL_SUCCESS);
        assert_eq!(out, by_sub_group(9 * local, local, size, wanted), "sub-groups of {size}");
    }
}

#[test]
fn a_deadlock_ends_the_launch() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    for size in [1, 4, 8, 16, 32] {
        let (status, _) = run(session, size, "stuck", 128, 64);
        assert_eq!(status, CL_OUT_OF_RESOURCES, "sub-groups of {size}");
        // A single sub-group does not wait.
        let (status, out) = run(session, size, "stuck", size as usize, size as usize);
        assert_eq!((status, out), (CL_SUCCESS, vec![1; size as usize]), "sub-groups of {size}");
    }
}

/// OpenCL C: the sub-groups ahead of a barrier of their own, and a function with a barrier that is called from two places.
const SOURCE: &str = "
    int through(int sub_groups, int value, local int *cell) {
        named_barrier_t all = named_barrier_init(sub_groups);
        if (get_sub_group_id() == sub_groups - 1) *cell = value;
        work_group_named_barrier(all, CLK_LOCAL_MEM_FENCE);
        return *cell;
    }
    kernel void twice(global int *out) {
        local int cells[3];
        int count = get_num_sub_groups();
        named_barrier_t first = named_barrier_init(1);
        if (get_sub_group_id() == 0) {
            cells[2] = 100;
            work_group_named_barrier(first, CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
        }
        int sum = through(count, 1, &cells[0]) + through(count, 20, &cells[1]);
        out[get_global_id(0)] = sum + cells[2];
    }";

#[test]
fn named_barriers_of_opencl_c() {
    let session = session();
    if !session.driver.is_clift {
        return;
    }
    for size in [4, 8, 16] {
        let required = format!("__attribute__((intel_reqd_sub_group_size({size}))) kernel void");
        let source = SOURCE.replace("kernel void", &required);
        let program = session.build(&source, "-cl-std=CL3.0").unwrap_or_else(|log| panic!("{log}"));
        for (global, local) in [(64, 64), (240, 40), (333, 37), (5, 5)] {
            let (status, out) = run_program(session, &program, "twice", global, local);
            assert_eq!((status, out), (CL_SUCCESS, vec![121; global]), "sub-groups of {size}, groups of {local}");
        }
    }
}
