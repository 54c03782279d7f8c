//! Accesses outside of mapped memory, in all ways that generated code accesses memory.
//!
//! The work-group that faults first is reported, and the order of work-groups is not defined: a case that looks at the address
//! launches one work-group.

use std::ffi::c_void;

use super::{ITEMS, Rig, isolated, read_from, set, set_null, write_to};

/// A mapping of one page.
fn page(protection: i32) -> *mut c_void {
    // SAFETY: a new mapping.
    unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) }
}

/// Runs a kernel with one null pointer, which has to fault; returns the message.
fn with_null(source: &str, sizes: (usize, usize)) -> String {
    let rig = Rig::new();
    let kernel = rig.kernel(source);
    set_null(kernel, 0);
    rig.fails(kernel, sizes)
}

isolated! {
    reads_near_null => || {
        let rig = Rig::new();
        let text = rig.fails(read_from(&rig, 64), (ITEMS, ITEMS));
        assert!(text.contains("read from address 0x40, which is not mapped"), "{text}");
        assert!(text.contains("bytes after the end of argument") && text.contains(", a null pointer"), "{text}");
        assert!(text.contains("line 2 of the source"), "{text}");
    };
    writes_near_null => || {
        let rig = Rig::new();
        let text = rig.fails(write_to(&rig, 0), (ITEMS, ITEMS));
        assert!(text.contains("write to address 0x0, which is not mapped"), "{text}");
        assert!(text.contains("line 1 of the source") && text.contains("work-item"), "{text}");
    };
    reads_far_away => || {
        let rig = Rig::new();
        let text = rig.fails(read_from(&rig, 0x7000_0000_0000 - 4096), (ITEMS, 0));
        assert!(text.contains("read from address"), "{text}");
    };
    writes_at_an_impossible_address => || {
        let rig = Rig::new();
        let text = rig.fails(write_to(&rig, 1 << 60), (ITEMS, 0));
        assert!(text.contains("an address that cannot exist"), "{text}");
    };
    writes_to_read_only_memory => || {
        let rig = Rig::new();
        let text = rig.fails(write_to(&rig, page(libc::PROT_READ) as u64), (ITEMS, 0));
        assert!(text.contains("which does not permit it"), "{text}");
    };
    reads_inaccessible_memory => || {
        let rig = Rig::new();
        rig.fails(read_from(&rig, page(libc::PROT_NONE) as u64), (ITEMS, 0));
    };
    writes_into_code => || {
        let rig = Rig::new();
        let text = rig.fails(write_to(&rig, libc::memcpy as *const () as u64 & !3), (ITEMS, 0));
        assert!(text.contains("write to address") && text.contains("does not permit"), "{text}");
    };
    reads_behind_the_end_of_a_file => || {
        // SAFETY: a new file and a new mapping; the file is shorter than the mapping.
        let mapped = unsafe {
            let file = libc::memfd_create(c"short".as_ptr(), 0);
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file, 0)
        };
        let rig = Rig::new();
        let text = rig.fails(read_from(&rig, mapped as u64), (ITEMS, 0));
        assert!(text.contains("read from address"), "{text}");
    };
    writes_behind_a_buffer => || {
        let rig = Rig::new();
        let kernel = rig.kernel("kernel void t(global int *far, long at) {\n  far[at + get_global_id(0)] = 1;\n}");
        set(kernel, 0, &rig.buffer(4 << 20));
        // Behind all mappings that may follow.
        set(kernel, 1, &(1i64 << 44));
        let text = rig.fails(kernel, (ITEMS, 0));
        assert!(text.contains("line 2 of the source"), "{text}");
    };
    large_reads_into_inaccessible_memory => || {
        const BYTES: usize = 8 << 20;
        let rig = Rig::new();
        // SAFETY: a new mapping, whose second half becomes inaccessible.
        let target = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            libc::mprotect(base.byte_add(BYTES / 2), BYTES / 2, libc::PROT_NONE);
            base
        };
        let buffer = rig.buffer(BYTES);
        // SAFETY: what is not accessible is what this test is about.
        let event = unsafe {
            cl3::command_queue::enqueue_read_buffer(rig.queue, buffer, 0, 0, BYTES, target, 0, std::ptr::null())
        };
        let event = event.expect("a read");
        let text = rig.failure(event);
        assert!(text.contains("write to address"), "{text}");
        rig.works();
    };
    names_the_nearest_buffer => || {
        let rig = Rig::new();
        // SAFETY: a new mapping, of which the second page becomes inaccessible.
        let base = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(std::ptr::null_mut(), 8192, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            libc::mprotect(base.byte_add(4096), 4096, libc::PROT_NONE);
            base
        };
        // CL_MEM_USE_HOST_PTR
        // SAFETY: the page stays mapped.
        let buffer = unsafe { cl3::memory::create_buffer(rig.context, 1 | 8, 4096, base) }.expect("a buffer");
        let kernel = rig.kernel("kernel void t(global int *edge) { edge[get_global_id(0)] = 7; }");
        set(kernel, 0, &buffer);
        let text = rig.fails(kernel, (1536, 1536));
        assert!(text.contains(", 0 bytes after the end of argument ") && text.contains(" (4096 bytes at "), "{text}");
        // SAFETY: the first page.
        let written = unsafe { base.cast::<i32>().add(3).read() };
        assert_eq!(written, 7, "work before the fault is done");
    };
    one_of_many_work_groups => || {
        let rig = Rig::new();
        let kernel = rig.kernel(
            "kernel void t(global int *p, global int *out) {
                size_t g = get_group_id(0);
                if (g == 777) p[1] = 1; else out[g] = 1;
            }",
        );
        set_null(kernel, 0);
        set(kernel, 1, &rig.buffer(4 * 4096));
        let text = rig.fails(kernel, (4096 * 16, 16));
        assert!(text.contains("line 3 of the source") && text.contains("work-group"), "{text}");
    };
    one_lane with ("CLIFT_WIDTH", "1") => || {
        with_null("kernel void t(global int *p) { p[get_global_id(0)] += 1; }", (ITEMS, 0));
    };
    packs_of_sixteen with ("CLIFT_WIDTH", "16") => || {
        with_null("kernel void t(global int *p) { p[get_global_id(0)] += 1; }", (ITEMS, 64));
    };
    gathers_and_scatters => || {
        with_null("kernel void t(global int *p) { size_t i = get_global_id(0); p[(i * 37) % 1001] = p[i * i]; }", (ITEMS, 64));
    };
    rows_that_are_not_whole_packs => || {
        with_null("kernel void t(global int *p) { p[get_global_id(0)] = 1; }", (7 * 13, 13));
        // A function for narrower packs.
        with_null("kernel void t(global int *p) { p[get_global_id(0)] = 1; }", (4 * 16, 4));
    };
    the_cranelift_backend with ("CLIFT_BACKEND", "cranelift") => || {
        let rig = Rig::new();
        let text = rig.fails(read_from(&rig, 64), (ITEMS, 0));
        assert!(text.contains("line 2 of the source"), "{text}");
    };
    the_interpreter with ("CLIFT_BACKEND", "interp") => || {
        let rig = Rig::new();
        let event = super::launch(rig.queue, read_from(&rig, 1 << 40), (ITEMS, 0));
        let text = rig.failure(event);
        assert!(text.contains("out of bounds") || text.contains("out-of-bounds"), "{text}");
        rig.works();
    };
    wide_vectors => || {
        with_null("kernel void t(global double8 *p) { p[get_global_id(0)] = p[get_global_id(0) + 3] * 2.0; }", (ITEMS, 64));
    };
    atomics => || {
        with_null("kernel void t(global int *p) { atomic_add(p, 1); }", (ITEMS, 64));
    };
    behind_a_barrier => || {
        with_null(
            "kernel void t(global int *p) {
                local int l[64];
                size_t i = get_local_id(0);
                l[i] = i;
                barrier(CLK_LOCAL_MEM_FENCE);
                p[i] = l[63 - i];
            }",
            (ITEMS, 64),
        );
    };
    large_copies => || {
        with_null(
            "typedef struct { int v[200]; } big;
            kernel void t(global big *p) { p[1] = p[0]; }",
            (1, 1),
        );
    };
    asynchronous_copies => || {
        with_null(
            "kernel void t(global int *p) {
                local int l[1024];
                wait_group_events(1, (event_t[]){ async_work_group_copy(l, p, 1024, 0) });
                if (l[get_local_id(0)] == 3) p[0] = 1;
            }",
            (64, 64),
        );
    };
    far_outside_local_memory => || {
        let rig = Rig::new();
        let kernel = rig.kernel("kernel void t(local int *l, long at) { l[at + get_local_id(0)] = 1; }");
        // SAFETY: a size without a value.
        unsafe { cl3::kernel::set_kernel_arg(kernel, 0, 256, std::ptr::null()) }.expect("an argument");
        set(kernel, 1, &(1i64 << 44));
        rig.fails(kernel, (64, 64));
    };
    far_outside_private_memory => || {
        let rig = Rig::new();
        let kernel = rig.kernel(
            "kernel void t(global int *out, long at) {
                int a[100];
                for (int i = 0; i < 100; i++) a[i] = out[i];
                a[at + get_local_id(0)] = 1;
                out[0] = a[out[1]];
            }",
        );
        set(kernel, 0, &rig.buffer(4096));
        set(kernel, 1, &(1i64 << 44));
        rig.fails(kernel, (64, 64));
    };
    strings_of_printf => || {
        let rig = Rig::new();
        let kernel = rig.kernel(
            "kernel void t(ulong at) { if (get_global_id(0) == 0) printf(\"%s\\n\", (constant char *)at); }",
        );
        set(kernel, 0, &4096u64);
        let text = rig.fails(kernel, (ITEMS, 0));
        assert!(text.contains("printf"), "{text}");
    };
    a_thousand_times => || {
        let rig = Rig::new();
        let kernel = write_to(&rig, 0);
        let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        rig.fails(kernel, (ITEMS, 0));
        let before = threads();
        for _ in 0..1000 {
            let event = super::launch(rig.queue, kernel, (ITEMS, 0));
            rig.failure(event);
        }
        rig.works();
        assert!(threads() <= before + 1, "threads are left");
    };
}
