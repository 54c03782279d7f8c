//! Device-side enqueue: kernels that enqueue kernels, markers and user events; device queues, and what is an error.

use cl3::command_queue as queues;
use opencl3::command_queue::{
    CL_QUEUE_ON_DEVICE, CL_QUEUE_ON_DEVICE_DEFAULT, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE,
    CL_QUEUE_PROPERTIES, CL_QUEUE_SIZE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::error_codes::{
    CL_INVALID_COMMAND_QUEUE, CL_INVALID_DEVICE_QUEUE, CL_INVALID_QUEUE_PROPERTIES, CL_INVALID_VALUE, CL_SUCCESS,
};
use opencl3::event::Event;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_command_queue, cl_context, cl_device_id, cl_int};

use clift_tests::raw;
use clift_tests::session::session;

/// `CL_QUEUE_DEVICE_DEFAULT`
const DEVICE_DEFAULT: u32 = 0x1095;

/// `clSetDefaultDeviceCommandQueue`
type SetDefault = unsafe extern "C" fn(cl_context, cl_device_id, cl_command_queue) -> cl_int;

/// The property bits of a device queue.
const PROPERTIES: u64 = CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

/// Results before a kernel runs.
const UNSET: cl_int = -7777;

fn create(context: &Context, properties: u64, size: Option<u64>) -> Result<cl_command_queue, cl_int> {
    let mut list = vec![u64::from(CL_QUEUE_PROPERTIES), properties];
    list.extend(size.into_iter().flat_map(|size| [u64::from(CL_QUEUE_SIZE), size]));
    list.push(0);
    // SAFETY: the list ends with 0, and the device belongs to the context.
    unsafe { queues::create_command_queue_with_properties(context.get(), session().device_id(), list.as_ptr()) }
}

/// A context of its own, with a default queue on the device: tests run concurrently, and the default belongs to the context.
struct OnDevice {
    context: Context,
    /// Null if there is none.
    default: cl_command_queue,
}

impl OnDevice {
    fn new(size: Option<u64>) -> Self {
        let context = Context::from_device(&session().device).expect("a context");
        let default = create(&context, PROPERTIES | CL_QUEUE_ON_DEVICE_DEFAULT, size).expect("a default queue");
        Self { context, default }
    }

    fn without_default() -> Self {
        let context = Context::from_device(&session().device).expect("a context");
        Self { context, default: std::ptr::null_mut() }
    }

    fn build(&self, source: &str, options: &str) -> Program {
        let options = format!("-cl-std=CL3.0 {options}");
        let built = Program::create_and_build_from_source(&self.context, source, &options);
        built.unwrap_or_else(|log| panic!("{log}\n{source}"))
    }

    fn queue(&self) -> CommandQueue {
        // SAFETY: the device belongs to the context.
        unsafe {
            CommandQueue::create_with_properties(&self.context, session().device_id(), CL_QUEUE_PROFILING_ENABLE, 0)
        }
        .expect("a queue")
    }

    /// Runs kernel `k` of a source, whose first argument is the results and whose second, if there are two, is the default queue.
    fn run(&self, source: &str, options: &str, global: usize, results: usize) -> (Vec<cl_int>, Event) {
        let program = self.build(source, options);
        let kernel = Kernel::create(&program, "k").expect("the kernel");
        let queue = self.queue();
        let mut out = vec![UNSET; results];
        // SAFETY: the arguments are those the kernel declares; reads and writes block.
        unsafe {
            let mut buffer = Buffer::<cl_int>::create(&self.context, CL_MEM_READ_WRITE, results, std::ptr::null_mut())
                .expect("a buffer");
            queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &out, &[]).expect("a write");
            let mut launch = ExecuteKernel::new(&kernel);
            launch.set_arg(&buffer);
            if kernel.num_args() == Ok(2) {
                launch.set_arg(&self.default);
            }
            let event = launch.set_global_work_size(global).enqueue_nd_range(&queue).expect("a launch");
            let _ = event.wait();
            queue.enqueue_read_buffer(&buffer, CL_BLOCKING, 0, &mut out, &[]).expect("a read");
            (out, event)
        }
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        if self.default.is_null() {
            return;
        }
        // SAFETY: the queue is released once.
        unsafe { queues::release_command_queue(self.default) }.expect("a release");
    }
}

/// Runs kernel `k`, which must succeed.
pub(crate) fn results(source: &str, global: usize, count: usize) -> Vec<cl_int> {
    let (out, event) = OnDevice::new(None).run(source, "", global, count);
    assert_eq!(event.command_execution_status().expect("a status").0, CL_SUCCESS);
    out
}

#[test]
fn each_work_item_enqueues() {
    let source = "kernel void k(global int *out) {
        int tid = get_global_id(0);
        int times = tid * 3;
        int r = enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{
            out[tid] = times + 1;
        });
        out[tid] = r;
    }";
    assert_eq!(results(source, 1000, 1000), (0..1000).map(|i| i * 3 + 1).collect::<Vec<_>>());
}

#[test]
fn ranges_have_up_to_three_dimensions() {
    let source = "kernel void k(global int *out, queue_t q) {
        const size_t offset[3] = {1, 2, 3}, global_size[3] = {4, 6, 2}, local_size[3] = {2, 3, 1};
        ndrange_t range = ndrange_3D(offset, global_size, local_size);
        void (^block)(void) = ^{
            size_t at = (get_global_id(2) - 3) * 24 + (get_global_id(1) - 2) * 4 + get_global_id(0) - 1;
            out[at] = get_local_size(0) * 100 + get_local_size(1) * 10 + get_work_dim();
        };
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, range, block);
        const size_t plane[2] = {8, 5};
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_2D(plane), ^{
            out[48 + get_global_id(1) * 8 + get_global_id(0)] = get_global_size(1) * 10 + get_work_dim();
        });
    }";
    let out = results(source, 1, 88);
    assert!(out[..48].iter().all(|value| *value == 233), "{out:?}");
    assert!(out[48..].iter().all(|value| *value == 52), "{out:?}");
}

#[test]
fn captures_have_all_types() {
    let source = "typedef struct { char c; double d; short3 s; } S;
    kernel void k(global int *out) {
        char c = -3; ulong l = 1UL << 40; float4 f = (float4)(1, 2, 3, 4); S s = { 5, 2.5, (short3)(6, 7, 8) };
        double2 d = (double2)(0.25, 0.5); global int *to = out + get_global_id(0); constant char *text = \"abc\";
        enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP, ndrange_1D(1), ^{
            *to = (c == -3) + 2 * (l == 1UL << 40) + 4 * (f.w == 4) + 8 * (s.d == 2.5 && s.c == 5 && s.s.z == 8)
                + 16 * (d.y == 0.5) + 32 * (text[2] == 'c');
        });
    }";
    assert!(results(source, 40, 40).iter().all(|value| *value == 63));
}

#[test]
fn blocks_nest_and_local_memory_has_the_given_size() {
    let source = "kernel void k(global int *out) {
        int base = get_global_id(0) * 16;
        queue_t q = get_default_queue();
        void (^sum)(local void *, local void *) = ^(local void *a, local void *b) {
            local int *x = (local int *)a;
            local long2 *y = (local long2 *)b;
            int i = get_local_id(0);
            x[i] = i; y[i] = (long2)(i, 2 * i);
            barrier(CLK_LOCAL_MEM_FENCE);
            int total = 0;
            for (int j = 0; j < 16; j++) total += x[j] + (int)y[j].y;
            enqueue_kernel(q, CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{ out[base + i] = total + i; });
        };
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(16, 16), sum, 16 * sizeof(int), 16 * sizeof(long2));
    }";
    let wanted = |i: i32| 360 + i % 16;
    assert_eq!(results(source, 3, 48), (0..48).map(wanted).collect::<Vec<_>>());
}

#[test]
fn recursion_sorts() {
    let source = "void sort(global int *a, int from, int to) {
        while (to - from > 8) {
            int pivot = a[(from + to) / 2], i = from - 1, j = to;
            for (;;) {
                do i++; while (a[i] < pivot);
                do j--; while (a[j] > pivot);
                if (i >= j) break;
                int t = a[i]; a[i] = a[j]; a[j] = t;
            }
            int end = to;
            int begin = j + 1;
            enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ sort(a, begin, end); });
            to = j + 1;
        }
        for (int i = from + 1; i < to; i++)
            for (int j = i; j > from && a[j - 1] > a[j]; j--) { int t = a[j]; a[j] = a[j - 1]; a[j - 1] = t; }
    }
    kernel void k(global int *out) {
        for (int i = 0; i < 10000; i++) out[i] = (i * 7919 + 13) % 10007;
        enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{ sort(out, 0, 10000); });
    }";
    let out = results(source, 1, 10000);
    assert!(out.is_sorted() && out[0] >= 0, "{:?}", &out[..20]);
}

#[test]
fn a_long_chain_takes_no_memory() {
    // Each kernel enqueues the next one; the queue has room for a few only.
    let source = "void step(global int *out, int left) {
        out[0]++;
        if (left == 0) return;
        int next = left - 1;
        int r = enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{ step(out, next); });
        if (r != CLK_SUCCESS) out[1] = r;
    }
    kernel void k(global int *out) {
        out[0] = 0; out[1] = 0;
        step(out, 20000);
    }";
    let (out, _) = OnDevice::new(Some(16 << 10)).run(source, "", 1, 2);
    assert_eq!(out, [20001, 0]);
}

#[test]
fn breadth_first_search_follows_levels() {
    // A tree with 2 children for each node: the level of node i is the number of its bits.
    let source = "void visit(global int *level, int count, int now) {
        int i = get_global_id(0);
        if (level[i] == now)
            for (int c = 2 * i + 1; c <= 2 * i + 2; c++)
                if (c < count) atomic_cmpxchg(level + c, -1, now + 1);
    }
    void next(global int *level, int count, int now) {
        if (now == 12) return;
        int then = now + 1;
        queue_t q = get_default_queue();
        clk_event_t done;
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(count), 0, NULL, &done, ^{ visit(level, count, now); });
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &done, NULL, ^{ next(level, count, then); });
        release_event(done);
    }
    kernel void k(global int *out) {
        for (int i = 0; i < 4000; i++) out[i] = i == 0 ? 0 : -1;
        next(out, 4000, 0);
    }";
    let out = results(source, 1, 4000);
    for (node, level) in out.iter().enumerate() {
        assert_eq!(*level as u32, (node as u32 + 1).ilog2(), "{node}");
    }
}

#[test]
fn flags_say_when_a_child_begins() {
    // The work-items of a group write after the enqueue; the child reads what its flag says it may.
    let source = "kernel void k(global int *out) {
        int i = get_global_id(0), g = get_group_id(0), n = get_local_size(0);
        if (get_local_id(0) == 0) {
            enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP, ndrange_1D(1), ^{
                int sum = 0;
                for (int j = 0; j < n; j++) sum += out[g * n + j];
                out[4096 + g] = sum;
            });
        }
        if (i == 0) {
            enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{
                int sum = 0;
                for (int j = 0; j < 4096; j++) sum += out[j];
                out[8192] = sum;
            });
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        out[i] = 2;
    }";
    let out = results(source, 4096, 8193);
    assert_eq!(out[8192], 8192);
    let groups: Vec<_> = out[4096..8192].iter().take_while(|sum| **sum != UNSET).collect();
    assert!(
        !groups.is_empty() && groups.iter().all(|sum| *sum == groups[0]) && groups[0] * groups.len() as i32 == 8192
    );
}

#[test]
fn events_order_commands() {
    let source = "kernel void k(global int *out) {
        int i = get_global_id(0);
        queue_t q = get_default_queue();
        clk_event_t events[3];
        out[i] = 1;
        events[0] = create_user_event();
        int r = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, events, &events[1], ^{ out[i] *= 3; });
        r |= enqueue_marker(q, 2, events, &events[2]);
        r |= enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 3, events, NULL, ^{ out[i] += 10; });
        retain_event(events[2]);
        release_event(events[2]);
        bool valid = is_valid_event(events[0]) && is_valid_event(events[2]) && !is_valid_event(CLK_NULL_EVENT);
        out[i] = r == 0 && valid && out[i] == 1 ? 7 : -1;
        set_user_event_status(events[0], CL_COMPLETE);
        for (int e = 0; e < 3; e++) release_event(events[e]);
    }";
    assert_eq!(results(source, 100, 100), [31; 100]);
}

#[test]
fn a_failed_event_fails_what_waits() {
    let source = "kernel void k(global int *out) {
        clk_event_t user = create_user_event();
        out[0] = 1;
        enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &user, NULL, ^{ out[0] = 2; });
        set_user_event_status(user, -5);
        release_event(user);
    }";
    let (out, event) = OnDevice::new(None).run(source, "", 1, 1);
    assert_eq!(out, [1]);
    assert!(event.command_execution_status().map_or(true, |status| status.0 < 0));
}

/// A graph of 200 children with events, in which each waits for up to three of the 16 before it and for a user event, and may
/// have a child itself. `out[i]` is 1 after child `i`, or -2 if it came before one of its predecessors. `set` is how the user
/// event of those whose number is a multiple of 50 gets its status; that of the others is set by a child.
fn graph(set: &str) -> String {
    format!(
        "int before(int i, int n) {{ return i - 1 - (i * 7 + n * 5 + (i >> 3)) % 16; }}
    void node(global int *out, int i) {{
        int r = 1;
        for (int n = 0; n < i % 4; n++) if (before(i, n) >= 0 && out[before(i, n)] != 1) r = -2;
        out[i] = r;
    }}
    kernel void k(global int *out) {{
        queue_t q = get_default_queue();
        clk_event_t events[200], start = create_user_event(), other = create_user_event();
        for (int i = 0; i < 200; i++) {{
            clk_event_t list[4];
            int count = 1;
            list[0] = i % 50 == 0 ? other : start;
            for (int n = 0; n < i % 4; n++) if (before(i, n) >= 0) list[count++] = events[before(i, n)];
            if (i % 5)
                enqueue_kernel(q, i % 3, ndrange_1D(1), count, list, events + i, ^{{ node(out, i); }});
            else
                enqueue_kernel(q, i % 3, ndrange_1D(1), count, list, events + i, ^{{
                    enqueue_kernel(q, CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{{ node(out, i); }});
                }});
        }}
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{{
            set_user_event_status(start, CL_COMPLETE);
            release_event(start);
            {set}
        }});
        for (int i = 0; i < 200; i++) release_event(events[i]);
    }}"
    )
}

#[test]
fn children_wait_for_children() {
    let device = OnDevice::new(None);
    for _ in 0..10 {
        let (out, event) =
            device.run(&graph("set_user_event_status(other, CL_COMPLETE); release_event(other);"), "", 1, 200);
        assert_eq!(out, [1; 200]);
        assert_eq!(event.command_execution_status().expect("a status").0, CL_SUCCESS);
    }
}

#[test]
fn a_failed_event_fails_all_that_wait_for_it_in_turn() {
    let before = |i: usize, n: usize| (i as isize) - 1 - ((i * 7 + n * 5 + (i >> 3)) % 16) as isize;
    let mut expected = vec![1; 200];
    for i in 0..200 {
        let fails = |n| usize::try_from(before(i, n)).is_ok_and(|before| expected[before] == UNSET);
        if i % 50 == 0 || (0..i % 4).any(fails) {
            expected[i] = UNSET;
        }
    }
    // The last one gets its status when it is released.
    for set in ["set_user_event_status(other, -5); release_event(other);", "release_event(other);"] {
        // The device queue gets back what the first launches have taken.
        let device = OnDevice::new(Some(1 << 19));
        for _ in 0..5 {
            let (out, event) = device.run(&graph(set), "", 1, 200);
            assert_eq!(out, expected);
            assert!(event.command_execution_status().map_or(true, |status| status.0 < 0));
        }
    }
}

#[test]
fn a_failed_child_fails_its_ancestors() {
    // A child of a child accesses no object; what waits for its end does not begin, and the other children are executed.
    let source = "void part(global int *out, int i) {
        enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1), ^{ atomic_inc(out + 1); });
        if (i == 77) *(global int *)(ulong)(i & 3) = 1;
        atomic_inc(out);
    }
    kernel void k(global int *out) {
        out[0] = 0;
        out[1] = 0;
        for (int i = 0; i < 200; i++)
            enqueue_kernel(get_default_queue(), i % 3, ndrange_1D(1), ^{
                enqueue_kernel(get_default_queue(), i % 2, ndrange_1D(1), ^{ part(out, i); });
            });
    }";
    // The device queue gets back what the first launch has taken.
    let device = OnDevice::new(Some(1 << 20));
    for _ in 0..3 {
        let (out, event) = device.run(source, "", 1, 2);
        assert_eq!(out, [199, 199]);
        assert!(event.command_execution_status().map_or(true, |status| status.0 < 0));
    }
}

#[test]
fn children_of_children_wait_as_their_flags_say() {
    // Each child waits for the work of its own parent, not for that of all ancestors.
    let source = "void after(global int *out, int i) { out[2 * i + 1] = out[2 * i] == 5 ? 1 : 0; }
    void part(global int *out, int i, int flags) {
        queue_t q = get_default_queue();
        enqueue_kernel(q, flags, ndrange_1D(1), ^{ after(out, i); });
        int sum = 0;
        for (int n = 0; n < 100; n++) sum += out[2 * i] == 5;
        out[2 * i] = 5 + sum;
    }
    kernel void k(global int *out) {
        for (int i = 0; i < 300; i++) {
            int flags = 1 + i % 2;
            enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ part(out, i, flags); });
        }
    }";
    let out = results(source, 1, 600);
    assert!(out.chunks(2).all(|pair| pair == [5, 1]), "{out:?}");
}

#[test]
fn many_children_recur() {
    // Each child of a level enqueues three of the next, on all threads.
    let source = "void node(global int *out, int depth) {
        atomic_inc(out + depth);
        if (depth == 8) return;
        for (int i = 0; i < 3; i++) {
            int r = enqueue_kernel(get_default_queue(), i, ndrange_1D(1), ^{ node(out, depth + 1); });
            if (r != CLK_SUCCESS) out[9] = r;
        }
    }
    kernel void k(global int *out) {
        for (int i = 0; i < 10; i++) out[i] = 0;
        node(out, 0);
    }";
    let out = results(source, 1, 10);
    let expected: Vec<cl_int> = (0..9).map(|depth| 3_i32.pow(depth)).chain([0]).collect();
    assert_eq!(out, expected);
}

#[test]
fn profiling_is_captured() {
    let source = "kernel void k(global int *out) {
        queue_t q = get_default_queue();
        global ulong *times = (global ulong *)out;
        clk_event_t user = create_user_event(), done;
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &user, &done, ^{
            int sum = 0;
            for (int i = 0; i < 1000; i++) sum += out[8 + (sum & 1)];
            out[8] = sum & 1;
            enqueue_kernel(q, CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(64), ^{ out[16 + get_global_id(0)] = 5; });
        });
        capture_event_profiling_info(done, CLK_PROFILING_COMMAND_EXEC_TIME, times);
        enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &done, NULL, ^{
            out[4] = times[0] > 0 && times[1] >= times[0] && times[1] < 60000000000UL;
            capture_event_profiling_info(done, CLK_PROFILING_COMMAND_EXEC_TIME, times + 3);
            out[5] = times[3] == times[0] && times[4] == times[1];
            release_event(done);
        });
        set_user_event_status(user, CL_COMPLETE);
        release_event(user);
    }";
    let (out, event) = OnDevice::new(None).run(source, "", 1, 80);
    assert_eq!(out[4..6], [1, 1]);
    assert_eq!(out[16..], [5; 64]);
    let end = event.profiling_command_end().expect("a time");
    // CL_PROFILING_COMMAND_COMPLETE
    let bytes = cl3::event::get_event_profiling_data(event.get(), 0x1284).expect("a time");
    assert!(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")) > end);
}

#[test]
fn profiling_of_small_children_is_captured() {
    let source = "kernel void k(global int *out) {
        queue_t q = get_default_queue();
        global ulong *times = (global ulong *)out;
        for (int i = 0; i < 100; i++) {
            clk_event_t done;
            enqueue_kernel(q, i % 2, ndrange_1D(1), 0, NULL, &done, ^{
                int sum = 0;
                for (int j = 0; j < 1000; j++) sum += out[400 + (sum & 1)];
                out[400] = sum & 1;
            });
            capture_event_profiling_info(done, CLK_PROFILING_COMMAND_EXEC_TIME, times + 2 * i);
            enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &done, NULL, ^{
                out[402 + i] = times[2 * i] > 0 && times[2 * i + 1] >= times[2 * i] && times[2 * i] < 60000000000UL;
            });
            release_event(done);
        }
    }";
    assert_eq!(results(source, 1, 502)[402..], [1; 100]);
}

#[test]
fn kernels_are_queried() {
    let source = "kernel void k(global int *out) {
        void (^block)(void) = ^{ out[get_global_id(0)] = get_sub_group_size(); };
        out[100] = get_kernel_work_group_size(block);
        out[101] = get_kernel_preferred_work_group_size_multiple(block);
        out[102] = get_kernel_max_sub_group_size_for_ndrange(ndrange_1D(64, 64), block);
        out[103] = get_kernel_sub_group_count_for_ndrange(ndrange_1D(64, 64), block);
        size_t global_size[2] = {20, 4}, local_size[2] = {20, 2};
        ndrange_t rows = ndrange_2D(global_size, local_size);
        out[104] = get_kernel_max_sub_group_size_for_ndrange(rows, block);
        out[105] = get_kernel_sub_group_count_for_ndrange(rows, block);
        enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(64, 64), block);
        enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, rows, ^{
            out[110 + get_global_linear_id()] = get_sub_group_size() + 100 * get_sub_group_id();
        });
    }";
    let out = results(source, 1, 190);
    assert!(out[100] >= 256 && out[101] >= 1, "{:?}", &out[100..]);
    assert_eq!(out[102] * out[103], 64);
    assert!(out[..64].iter().all(|size| *size == out[102]));
    // Sub-groups go beyond the ends of rows: all but the last one have the same size.
    let size = out[104];
    assert_eq!(out[105], (40 + size - 1) / size);
    let mut sizes: Vec<i32> = out[110..150].iter().map(|item| item % 100).collect();
    let ids = out[110..150].iter().map(|item| item / 100);
    let most = sizes.iter().copied().max().unwrap_or(0);
    assert!(ids.zip(0..).all(|(id, linear)| id == linear / most), "{:?}", &out[110..150]);
    sizes.truncate((40 / most * most) as usize);
    assert!(sizes.iter().all(|of| *of == most), "{sizes:?}");
}

/// A kernel that stores the statuses of invalid enqueues, and of some that are valid in the end.
const INVALID: &str = "kernel void k(global int *out) {
    queue_t q = get_default_queue();
    void (^block)(void) = ^{ out[20]++; };
    void (^local_block)(local void *) = ^(local void *p) { out[21]++; };
    clk_event_t none = CLK_NULL_EVENT;
    queue_t null = CLK_NULL_QUEUE;
    uint zero = out[19];
    out[0] = enqueue_kernel(null, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), block);
    out[1] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1, 1 << 20), block);
    out[2] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &none, NULL, block);
    out[3] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 0, &none, NULL, block);
    out[4] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), local_block, zero);
    out[5] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), local_block, 1 << 30);
    out[6] = enqueue_kernel(q, 77, ndrange_1D(1), block);
    clk_event_t event;
    out[7] = enqueue_marker(q, 0, NULL, &event);
    out[8] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), block);
}";

#[test]
fn failures_have_reasons_on_request() {
    let device = OnDevice::new(None);
    let source = INVALID.replace("uint zero = out[19];", "uint zero = out[19] = 0;");
    let (out, _) = device.run(&source, "-g", 1, 30);
    assert_eq!(out[..9], [-102, -160, -57, -57, -51, -5, -101, -57, 0]);
    let (out, _) = device.run(&source, "", 1, 30);
    assert_eq!(out[..9], [-101, -101, -101, -101, -101, -101, -101, -101, 0]);
}

#[test]
fn a_full_queue_is_reported() {
    let source = "kernel void k(global int *out) {
        clk_event_t user = create_user_event();
        out[0] = 0;
        for (int i = 0; i < 1000; i++) {
            int r = enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &user, NULL,
                ^{ atomic_inc(out); });
            if (r != CLK_SUCCESS) { out[1] = r; out[2] = i; break; }
        }
        set_user_event_status(user, CL_COMPLETE);
        release_event(user);
    }";
    let (out, _) = OnDevice::new(Some(16 << 10)).run(source, "-g", 1, 3);
    assert_eq!(out[1], -161);
    assert!(out[0] == out[2] && out[0] > 1, "{out:?}");
}

#[test]
fn several_host_queues_enqueue_at_once() {
    let device = OnDevice::new(None);
    let source = "kernel void k(global int *out) {
        int i = get_global_id(0);
        enqueue_kernel(get_default_queue(), i % 3, ndrange_1D(4), ^{ atomic_add(out + i, (int)get_global_id(0)); });
    }";
    let program = device.build(source, "");
    let queues: Vec<_> = (0..4).map(|_| device.queue()).collect();
    let buffers: Vec<_> = queues
        .iter()
        .map(|queue| {
            let kernel = Kernel::create(&program, "k").expect("the kernel");
            // SAFETY: the arguments are those the kernel declares; the write blocks.
            unsafe {
                let mut buffer =
                    Buffer::<cl_int>::create(&device.context, CL_MEM_READ_WRITE, 500, std::ptr::null_mut())
                        .expect("a buffer");
                queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &[0; 500], &[]).expect("a write");
                for _ in 0..10 {
                    let mut launch = ExecuteKernel::new(&kernel);
                    launch.set_arg(&buffer).set_global_work_size(500).enqueue_nd_range(queue).expect("a launch");
                }
                buffer
            }
        })
        .collect();
    for (queue, buffer) in queues.iter().zip(&buffers) {
        let mut out = vec![0; 500];
        // SAFETY: the read blocks.
        unsafe { queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut out, &[]) }.expect("a read");
        assert_eq!(out, [60; 500]);
    }
}

/// A query of a queue that gives a number.
fn number(queue: cl_command_queue, name: u32) -> Result<u64, cl_int> {
    let bytes = queues::get_command_queue_data(queue, name)?;
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(&bytes);
    Ok(u64::from_ne_bytes(word))
}

#[test]
fn device_queues_are_objects_of_their_own() {
    let device = OnDevice::new(Some(64 << 10));
    let context = &device.context;
    let default = device.default;
    assert_eq!(number(default, CL_QUEUE_SIZE), Ok(64 << 10));
    assert_eq!(number(default, CL_QUEUE_PROPERTIES), Ok(PROPERTIES | CL_QUEUE_ON_DEVICE_DEFAULT));
    let host = device.queue();
    assert_eq!(number(host.get(), CL_QUEUE_SIZE), Err(CL_INVALID_COMMAND_QUEUE));
    assert_eq!(number(host.get(), DEVICE_DEFAULT), Ok(default as u64));
    // There is one default queue; another one replaces it on request.
    let again = create(context, PROPERTIES | CL_QUEUE_ON_DEVICE_DEFAULT, None);
    assert_eq!(again, Ok(default));
    let other = create(context, PROPERTIES, None).expect("a queue");
    // SAFETY: the handles are valid.
    unsafe {
        let set_default: SetDefault = raw::entry(c"clSetDefaultDeviceCommandQueue");
        assert_eq!(set_default(context.get(), session().device_id(), other), CL_SUCCESS);
        assert_eq!(number(default, DEVICE_DEFAULT), Ok(other as u64));
        assert_eq!(set_default(context.get(), session().device_id(), host.get()), CL_INVALID_COMMAND_QUEUE);
        // Host commands do not go there.
        assert_eq!(queues::finish(default), Err(CL_INVALID_COMMAND_QUEUE));
        queues::release_command_queue(other).expect("a release");
        queues::release_command_queue(default).expect("a release");
    }
    assert_eq!(number(default, DEVICE_DEFAULT), Ok(0));
}

#[test]
fn wrong_device_queues_are_refused() {
    let device = OnDevice::new(None);
    let context = &device.context;
    let refused = |properties, size| create(context, properties, size).err();
    assert_eq!(refused(CL_QUEUE_ON_DEVICE, None), Some(CL_INVALID_VALUE));
    assert_eq!(
        refused(CL_QUEUE_ON_DEVICE_DEFAULT | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, None),
        Some(CL_INVALID_VALUE)
    );
    assert_eq!(refused(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, Some(4096)), Some(CL_INVALID_VALUE));
    assert_eq!(refused(PROPERTIES, Some(u64::MAX)), Some(CL_INVALID_VALUE));
    // CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_HIGH_KHR
    let list = [u64::from(CL_QUEUE_PROPERTIES), PROPERTIES, 0x1096, 1, 0];
    // SAFETY: the list ends with 0.
    let hinted =
        unsafe { queues::create_command_queue_with_properties(context.get(), session().device_id(), list.as_ptr()) };
    assert_eq!(hinted.err(), Some(CL_INVALID_QUEUE_PROPERTIES));
    let program = device.build("kernel void k(global int *out, queue_t q) { out[0] = 1; }", "");
    let kernel = Kernel::create(&program, "k").expect("the kernel");
    let host = device.queue();
    // SAFETY: the values are handles.
    unsafe {
        assert_eq!(kernel.set_arg(1, &host.get()).err().map(|error| error.0), Some(CL_INVALID_DEVICE_QUEUE));
        kernel.set_arg(1, &device.default).expect("a device queue");
    }
}

#[test]
fn without_a_default_queue_there_is_none() {
    let source = "kernel void k(global int *out) {
        queue_t q = get_default_queue();
        out[0] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ out[1] = 1; });
    }";
    let (out, _) = OnDevice::without_default().run(source, "-g", 1, 2);
    assert_eq!(out, [-102, UNSET]);
}
