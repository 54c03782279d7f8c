//! Memory that cannot be had, where its size comes from the application: an error, never the end of the process.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use clift_tests::raw::entry;
use opencl3::types::{cl_program, cl_uint};

use super::*;

const OUT_OF_HOST_MEMORY: cl_int = -6;
const MEM_OBJECT_ALLOCATION_FAILURE: cl_int = -4;

/// More memory than a limited process can get.
const MUCH: usize = 1 << 30;

/// Limits the addresses of the process to what it has and 768 MiB more: stacks of threads fit, [`MUCH`] does not.
fn limit_addresses() {
    let text = std::fs::read_to_string("/proc/self/statm").expect("the process's sizes");
    let pages: u64 = text.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number of pages");
    let most = pages * 4096 + (768 << 20);
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: a valid limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Zeros that take addresses, but no memory until they are written to.
fn much() -> Vec<u8> {
    vec![0; MUCH]
}

type CreateWithSource =
    unsafe extern "C" fn(cl_context, cl_uint, *const *const c_char, *const usize, *mut cl_int) -> cl_program;
type CreateWithIl = unsafe extern "C" fn(cl_context, *const c_void, usize, *mut cl_int) -> cl_program;
type CreateWithBinary = unsafe extern "C" fn(
    cl_context,
    cl_uint,
    *const *mut c_void,
    *const usize,
    *const *const u8,
    *mut cl_int,
    *mut cl_int,
) -> cl_program;

/// The status of `clCreateProgramWithSource` for a text of a length.
fn create_with_source(rig: &Rig, text: &[u8], length: usize) -> cl_int {
    let (text, mut error) = (text.as_ptr().cast::<c_char>(), 1);
    // SAFETY: no more than the text is read if there is no memory for a copy.
    unsafe {
        let create: CreateWithSource = entry(c"clCreateProgramWithSource");
        create(rig.context, 1, &raw const text, &raw const length, &raw mut error);
    }
    error
}

isolated! {
    sources_of_impossible_lengths => || {
        let rig = Rig::new();
        for length in [usize::MAX, usize::MAX / 2, 1 << 62] {
            assert_eq!(create_with_source(&rig, b"kernel void t() {}", length), OUT_OF_HOST_MEMORY);
        }
        rig.works();
    };
    programs_that_cannot_be_copied => || {
        let (rig, program, much) = (Rig::new(), much(), much().len());
        rig.works();
        limit_addresses();
        assert_eq!(create_with_source(&rig, &program, much), OUT_OF_HOST_MEMORY);
        let (device, mut error, mut status) = (session().device_id(), 1, 1);
        // SAFETY: the program has this size.
        unsafe {
            let create: CreateWithIl = entry(c"clCreateProgramWithIL");
            create(rig.context, program.as_ptr().cast(), much, &raw mut error);
            assert_eq!(error, OUT_OF_HOST_MEMORY);
            let create: CreateWithBinary = entry(c"clCreateProgramWithBinary");
            let start = program.as_ptr();
            create(rig.context, 1, &raw const device, &raw const much, &raw const start, &raw mut status, &raw mut error);
            assert_eq!(error, OUT_OF_HOST_MEMORY);
        }
        rig.works();
    };
    memory_objects => || {
        let rig = Rig::new();
        rig.works();
        limit_addresses();
        // SAFETY: no host memory is involved.
        unsafe {
            let buffer = cl3::memory::create_buffer(rig.context, 1, MUCH, null_mut());
            assert_eq!(buffer, Err(MEM_OBJECT_ALLOCATION_FAILURE));
            assert!(cl3::memory::svm_alloc(rig.context, 1, MUCH, 0).is_err());
            // 16384 packets of 64 KiB.
            let pipe = cl3::memory::create_pipe(rig.context, 1, 1024, 1 << 20);
            assert_eq!(pipe, Err(MEM_OBJECT_ALLOCATION_FAILURE));
        }
        rig.works();
    };
    arguments_of_native_kernels => || {
        extern "C" fn never(_: *mut c_void) {
            std::process::abort();
        }
        let (rig, mut arguments) = (Rig::new(), much());
        rig.works();
        limit_addresses();
        // SAFETY: the arguments have this size; there are no memory objects.
        let event = unsafe {
            let start = arguments.as_mut_ptr().cast();
            let queue = rig.queue;
            cl3::command_queue::enqueue_native_kernel(queue, Some(never), start, MUCH, 0, null(), null(), 0, null())
        };
        assert_eq!(event, Err(OUT_OF_HOST_MEMORY));
        rig.works();
    };
    /// Private variables of all work-items of a work-group.
    private_memory => || {
        let rig = Rig::new();
        rig.works();
        let kernel = rig.kernel(
            "kernel void t(global int *p, int n) {
                volatile int a[1 << 20]; // 4 MiB
                for (int i = 0; i < n; i++) a[i * 37 & 0xfffff] = p[i & 63] + i;
                barrier(CLK_GLOBAL_MEM_FENCE);
                p[get_global_id(0)] = a[n & 0xfffff];
            }",
        );
        set(kernel, 0, &rig.buffer(4 * 4096));
        set(kernel, 1, &100i32);
        cl3::command_queue::finish(rig.queue).expect("it ends");
        limit_addresses();
        // 4096 work-items need 16 GiB: the launch is refused, or its command fails.
        let (size, queue) = (4096usize, rig.queue);
        // SAFETY: all arguments are set.
        let event = unsafe {
            let size = &raw const size;
            cl3::command_queue::enqueue_nd_range_kernel(queue, kernel, 1, null(), size, size, 0, null())
        };
        match event {
            Ok(event) => assert_eq!(cl3::event::wait_for_events(&[event]), Err(-14)),
            Err(code) => assert!(matches!(code, -5 | -6 | -54), "{code}"),
        }
        rig.works();
    };
}
