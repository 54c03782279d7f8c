//! Pointer arguments whose memory overlaps: work-items see what they wrote through another argument. Usual code takes the
//! memory of different arguments for separate, so that such launches need other code.

use std::ffi::c_void;
use std::ptr::null_mut;

use cl3::kernel::{set_kernel_arg, set_kernel_arg_svm_pointer};
use cl3::memory::{
    CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, cl_buffer_region, create_buffer,
    create_sub_buffer, release_mem_object,
};
use cl3::types::cl_mem;
use opencl3::kernel::Kernel;
use opencl3::memory::CL_MAP_READ;
use opencl3::types::CL_TRUE;

use clift_tests::session::{Session, session};

/// Work-items, of which each has [`OWN`] elements of each array.
const ITEMS: usize = 100;
/// Elements of a work-item.
const OWN: usize = 16;
const COUNT: usize = ITEMS * OWN;

/// Each element is computed from one of `b` after an element of `a` has been written: the order of the accesses shows in the
/// results if the arrays overlap by whole elements, with a distance that keeps each work-item among its own elements.
const SOURCE: &str = "
kernel void t(global int *a, global const int *b, int first) {
    size_t i = get_global_id(0) * 16;
    a[i] = 5;
    int x = b[i];
    a[i] += x;
    for (int j = 1; j < 16 - first; ++j)
        a[i + j] = b[i + j] + 3 * j;
    int y = b[i + 1];
    a[i + 1] = 1;
    a[i + 2] = b[i + 1] + y;
}";

/// What the kernel does to one array, in which the two arguments begin at these elements.
fn expected(memory: &mut [i32], a: usize, b: usize, first: usize) {
    for item in 0..ITEMS {
        let (a, b) = (a + item * OWN, b + item * OWN);
        memory[a] = 5;
        memory[a] += memory[b];
        for j in 1..OWN - first {
            memory[a + j] = memory[b + j] + 3 * j as i32;
        }
        let y = memory[b + 1];
        memory[a + 1] = 1;
        memory[a + 2] = memory[b + 1] + y;
    }
}

fn content(count: usize) -> Vec<i32> {
    (0..count).map(|i| (i as i32 * 7) % 1000).collect()
}

/// Launches the kernel, whose buffers are set.
fn launch(session: &Session, kernel: &Kernel, first: usize) {
    let (first, items) = (first as i32, ITEMS);
    let queue = session.queue();
    // SAFETY: the argument is an int, and the sizes are in bounds.
    unsafe {
        set_kernel_arg(kernel.get(), 2, 4, (&raw const first).cast()).expect("an argument");
        cl3::command_queue::enqueue_nd_range_kernel(
            queue.get(),
            kernel.get(),
            1,
            std::ptr::null(),
            (&raw const items).cast(),
            std::ptr::null(),
            0,
            std::ptr::null(),
        )
        .and_then(|event| cl3::event::release_event(event))
        .expect("a launch");
    }
    queue.finish().expect("to finish");
}

fn set(kernel: &Kernel, index: u32, mem: cl_mem) {
    // SAFETY: the argument is a memory object.
    unsafe { set_kernel_arg(kernel.get(), index, size_of::<cl_mem>(), (&raw const mem).cast()) }.expect("an argument");
}

/// Buffers in one stretch of the application's memory, whose elements begin `a` and `b` elements in front.
fn in_host_memory(kernel: &Kernel, a: usize, b: usize, first: usize) {
    let session = session();
    let mut memory = content(2 * COUNT + OWN);
    let mut wanted = memory.clone();
    expected(&mut wanted, a, b, first);
    let context = session.context.get();
    let mem = |start: usize, memory: &mut [i32]| {
        let host = memory[start..].as_mut_ptr().cast::<c_void>();
        // SAFETY: the memory outlives the buffer.
        unsafe { create_buffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, COUNT * 4, host) }.expect("a buffer")
    };
    let mems = [mem(a, &mut memory), mem(b, &mut memory)];
    set(kernel, 0, mems[0]);
    set(kernel, 1, mems[1]);
    launch(session, kernel, first);
    let queue = session.queue();
    for mem in mems {
        // SAFETY: the buffer is mapped whole, and released last.
        unsafe {
            let mut pointer = null_mut();
            let event = cl3::command_queue::enqueue_map_buffer(
                queue.get(),
                mem,
                CL_TRUE,
                CL_MAP_READ,
                0,
                COUNT * 4,
                &mut pointer,
                0,
                std::ptr::null(),
            );
            event.and_then(|event| cl3::event::release_event(event)).expect("a mapping");
            let event = cl3::command_queue::enqueue_unmap_mem_object(queue.get(), mem, pointer, 0, std::ptr::null());
            event.and_then(|event| cl3::event::release_event(event)).expect("the end of a mapping");
            queue.finish().expect("to finish");
            release_mem_object(mem).expect("a release");
        }
    }
    assert!(memory == wanted, "arguments at elements {a} and {b}");
}

#[test]
fn buffers_of_overlapping_host_memory() {
    let (_program, kernel) = session().kernel(SOURCE, "", "t");
    // Separate, the same, one element apart, and separate again with the same kernel.
    for (a, b, first) in [(0, COUNT, 0), (0, 0, 0), (1, 0, 1), (0, 1, 1), (COUNT, 0, 0), (0, 2, 2), (0, COUNT, 0)] {
        in_host_memory(&kernel, a, b, first);
    }
}

#[test]
fn sub_buffers() {
    let session = session();
    let (_program, kernel) = session.kernel(SOURCE, "", "t");
    let mut memory = content(2 * COUNT);
    let context = session.context.get();
    // SAFETY: the buffer and its parts live until the end; sizes are in bounds.
    unsafe {
        let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        let whole = create_buffer(context, flags, COUNT * 8, memory.as_mut_ptr().cast()).expect("a buffer");
        let part = |origin: usize| {
            let region = cl_buffer_region { origin: origin * 4, size: COUNT * 4 };
            create_sub_buffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast())
                .expect("a part")
        };
        let mut wanted = memory.clone();
        // Two halves, one half twice, and a half as a part and within the whole.
        for (a, b, at) in [(part(0), part(COUNT), COUNT), (part(0), part(0), 0), (part(0), whole, 0)] {
            expected(&mut wanted, 0, at, 0);
            set(&kernel, 0, a);
            set(&kernel, 1, b);
            launch(session, &kernel, 0);
            let queue = session.queue();
            let mut found = vec![0i32; 2 * COUNT];
            let event = cl3::command_queue::enqueue_read_buffer(
                queue.get(),
                whole,
                CL_TRUE,
                0,
                COUNT * 8,
                found.as_mut_ptr().cast(),
                0,
                std::ptr::null(),
            );
            event.and_then(|event| cl3::event::release_event(event)).expect("a read");
            assert!(found == wanted, "a part at element {at}");
            release_mem_object(a).expect("a release");
            if b != whole {
                release_mem_object(b).expect("a release");
            }
        }
        release_mem_object(whole).expect("a release");
    }
}

#[test]
fn shared_virtual_memory() {
    let session = session();
    let (_program, kernel) = session.kernel(SOURCE, "", "t");
    // SAFETY: the allocations have so many elements, and nothing else accesses them.
    unsafe {
        let allocated = || {
            cl3::memory::svm_alloc(session.context.get(), CL_MEM_READ_WRITE, (COUNT + OWN) * 4, 64)
                .expect("shared memory")
                .cast::<i32>()
        };
        let memories = [allocated(), allocated()];
        // Elements of the two pointers, and the allocation of the second one.
        for (a, b, other, first) in [(0, 0, 1, 0), (0, 0, 0, 0), (2, 1, 0, 1), (0, 0, 1, 0), (1, 3, 0, 2)] {
            let mut wanted = content(2 * (COUNT + OWN));
            let content = wanted.clone();
            for (at, memory) in memories.iter().enumerate() {
                memory.copy_from_nonoverlapping(content[at * (COUNT + OWN)..].as_ptr(), COUNT + OWN);
            }
            expected(&mut wanted, a, other * (COUNT + OWN) + b, first);
            let pointers = [memories[0].add(a), memories[other].add(b)];
            for (index, pointer) in (0..).zip(pointers) {
                set_kernel_arg_svm_pointer(kernel.get(), index, pointer.cast()).expect("an argument");
            }
            launch(session, &kernel, first);
            for (at, &memory) in memories.iter().enumerate() {
                let found = std::slice::from_raw_parts(memory, COUNT + OWN);
                assert!(found == &wanted[at * (COUNT + OWN)..][..COUNT + OWN], "elements {a} and {b}, memory {other}");
            }
        }
        for memory in memories {
            cl3::memory::svm_free(session.context.get(), memory.cast()).expect("a release");
        }
    }
}
