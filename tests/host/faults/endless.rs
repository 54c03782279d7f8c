//! Kernels that do not end, and the time limit; threads with small stacks.

use std::time::{Duration, Instant};

use super::{ITEMS, Rig, isolated, launch, queue_of, set, set_null, status};

const LIMIT: (&str, &str) = ("CLIFT_TIMEOUT", "0.3");

/// Never ends while the flag is 0.
const SPIN: &str = "kernel void t(global volatile int *flag) { while (flag[0] == 0) ; flag[1] = 1; }";

fn stopped(source: &str, sizes: (usize, usize)) {
    let rig = Rig::new();
    let kernel = rig.kernel(source);
    set(kernel, 0, &rig.buffer(4096));
    let start = Instant::now();
    let text = rig.fails(kernel, sizes);
    assert!(text.contains("time limit"), "{text}");
    assert!(start.elapsed() > Duration::from_millis(290), "it was stopped too early");
}

isolated! {
    one_work_item with LIMIT => || stopped(SPIN, (1, 1));
    all_work_items with LIMIT => || stopped(SPIN, (4096, 64));
    without_any_instruction with LIMIT => || stopped("kernel void t(global int *p) { while (p[0] < 1000) p[0] &= 7; }", (64, 64));
    with_one_lane with ("CLIFT_WIDTH", "1") => || {
        // The limit is read when the driver is loaded, which is later.
        // SAFETY: no other thread exists yet.
        unsafe { std::env::set_var(LIMIT.0, LIMIT.1) };
        stopped(SPIN, (64, 64));
    };
    with_barriers with LIMIT => || {
        stopped(
            "kernel void t(global volatile int *flag) { while (flag[0] == 0) barrier(CLK_LOCAL_MEM_FENCE); }",
            (256, 64),
        );
    };
    in_mathematical_functions with LIMIT => || {
        stopped(
            "kernel void t(global float *p) { float x = p[1]; while (p[0] == 0.0f) { x = lgamma(x + 1.5f); p[2] = x; } }",
            (256, 64),
        );
    };
    in_printf with LIMIT => || {
        stopped("kernel void t(global volatile int *p) { while (p[0] == 0) printf(\"\"); }", (64, 64));
    };
    in_cranelift_code with ("CLIFT_BACKEND", "cranelift") => || {
        // SAFETY: no other thread exists yet.
        unsafe { std::env::set_var(LIMIT.0, LIMIT.1) };
        stopped(SPIN, (4096, 64));
    };
    other_queues_go_on with LIMIT => || {
        let rig = Rig::new();
        let endless = rig.kernel(SPIN);
        set(endless, 0, &rig.buffer(64));
        cl3::command_queue::finish(rig.queue).expect("it ends");
        let event = launch(rig.queue, endless, (1, 1));
        cl3::command_queue::flush(rig.queue).expect("a flush");
        let other = queue_of(rig.context, 0);
        let kernel = rig.kernel("kernel void t(global int *a) { a[get_global_id(0)] = 5; }");
        // SAFETY: no host memory is involved.
        let buffer = unsafe { cl3::memory::create_buffer(rig.context, 1, 4 * ITEMS, std::ptr::null_mut()) }.expect("a buffer");
        set(kernel, 0, &buffer);
        while status(event) > 0 {
            launch(other, kernel, (ITEMS, 0));
            assert!(super::read(other, buffer, ITEMS).iter().all(|value| *value == 5));
        }
        assert!(rig.failure(event).contains("time limit"));
        rig.works();
    };
    short_kernels_are_not_stopped with LIMIT => || {
        let rig = Rig::new();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) {
            rig.works();
        }
        assert!(super::MESSAGES.lock().unwrap().is_empty());
    };
    /// One work-group faults, while others wait for it for ever.
    others_wait_for_the_faulty_work_group => || {
        let rig = Rig::new();
        let kernel = rig.kernel(
            "kernel void t(global volatile int *flag, global int *p) {
                if (get_group_id(0) == get_num_groups(0) - 1) { p[0] = 1; flag[0] = 1; }
                while (flag[0] == 0) ;
            }",
        );
        set(kernel, 0, &rig.buffer(64));
        set_null(kernel, 1);
        rig.fails(kernel, (2, 1));
    };
    exit_while_a_kernel_runs => || {
        let rig = Rig::new();
        let kernel = rig.kernel(SPIN);
        set(kernel, 0, &rig.buffer(64));
        launch(rig.queue, kernel, (4096, 64));
        cl3::command_queue::flush(rig.queue).expect("a flush");
        std::thread::sleep(Duration::from_millis(50));
    };
    small_stacks_of_threads => || {
        let rig = Rig::new();
        // Many values are alive at once, so that the code needs a large frame.
        let values: Vec<String> = (0..300).map(|i| format!("float v{i} = p[{i} * n + g] * {i}.5f;")).collect();
        let uses: Vec<String> = (0..300).map(|i| format!("v{i} * v{} + ", (i * 7) % 300)).collect();
        let source = format!(
            "kernel void t(global float *p, int n) {{ size_t g = get_global_id(0); {} p[g] = {} 1.0f; }}",
            values.join(" "),
            uses.concat()
        );
        let kernel = rig.kernel(&source) as usize;
        set(kernel as _, 0, &rig.buffer(4 * 300 * 64));
        set(kernel as _, 1, &64i32);
        cl3::command_queue::finish(rig.queue).expect("it ends");
        let queue = rig.queue as usize;
        let waiter = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            for _ in 0..50 {
                launch(queue as _, kernel as _, (64, 16));
                assert_eq!(cl3::command_queue::finish(queue as _), Ok(()));
            }
        });
        waiter.expect("a thread").join().expect("it survives");
        rig.works();
    };
}
