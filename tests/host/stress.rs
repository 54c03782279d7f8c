//! Host threads that use pipes and kernels that enqueue kernels at the same time: no packet is lost or doubled, and every child
//! runs.
//!
//! `CLIFT_STRESS_MS` is how long they do so, in milliseconds.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use opencl3::command_queue::{
    CL_QUEUE_ON_DEVICE, CL_QUEUE_ON_DEVICE_DEFAULT, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue,
};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem, Pipe};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_int, cl_mem, cl_uint, cl_ulong};

use clift_tests::session::{Session, session};

const THREADS: usize = 8;
/// Work-items of a launch, and of its work-groups.
const ITEMS: usize = 512;
const GROUP: usize = 32;
/// Pipes have fewer packets than all threads together want to write.
const PIPES: usize = 2;
const PACKETS: cl_uint = 900;
/// The depth of a tree of kernels.
const DEPTH: cl_int = 6;

const SOURCE: &str = "
    kernel void put(write_only pipe ulong p, ulong first, global ulong *moved) {
        ulong value = first + get_global_id(0);
        moved[get_global_id(0)] = write_pipe(p, &value) == 0 ? value : 0;
    }
    kernel void put_groups(write_only pipe ulong p, ulong first, global ulong *moved) {
        ulong value = first + get_global_id(0);
        reserve_id_t id = work_group_reserve_write_pipe(p, get_local_size(0));
        bool valid = is_valid_reserve_id(id);
        if (valid) {
            valid = write_pipe(p, id, get_local_id(0), &value) == 0;
            work_group_commit_write_pipe(p, id);
        }
        moved[get_global_id(0)] = valid ? value : 0;
    }
    kernel void take(read_only pipe ulong p, ulong first, global ulong *moved) {
        ulong value = 0;
        moved[get_global_id(0)] = read_pipe(p, &value) == 0 ? value : 0;
    }
    kernel void take_groups(read_only pipe ulong p, ulong first, global ulong *moved) {
        ulong value = 0;
        reserve_id_t id = work_group_reserve_read_pipe(p, get_local_size(0));
        if (is_valid_reserve_id(id)) {
            if (read_pipe(p, id, get_local_id(0), &value) != 0) value = 0;
            work_group_commit_read_pipe(p, id);
        }
        moved[get_global_id(0)] = value;
    }
    kernel void tree(int depth, global int *leaves, global int *refused) {
        if (depth == 0) {
            atomic_inc(leaves);
            return;
        }
        queue_t queue = get_default_queue();
        for (int i = 0; i < 2; i++) {
            int status = enqueue_kernel(queue, i ? CLK_ENQUEUE_FLAGS_NO_WAIT : CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(1),
                                        ^{ tree(depth - 1, leaves, refused); });
            if (status != CLK_SUCCESS) atomic_add(refused, 1 << (depth - 1));
        }
    }
";

/// How many packets went one way, and sums that differ if one of them is another.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Packets {
    count: u64,
    sum: u64,
    mixed: u64,
}

impl Packets {
    fn add(&mut self, packet: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(packet);
        let mixed = (packet ^ packet >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.mixed = self.mixed.wrapping_add((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9));
    }

    fn join(&mut self, other: Packets) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.mixed = self.mixed.wrapping_add(other.mixed);
    }
}

/// What the threads share.
struct Shared {
    session: &'static Session,
    program: Program,
    /// The addresses of the pipes' handles.
    pipes: [usize; PIPES],
}

/// What a thread has written to and read from each pipe.
#[derive(Default)]
struct Moved {
    written: [Packets; PIPES],
    read: [Packets; PIPES],
}

/// What a thread works with.
struct Worker<'a> {
    shared: &'a Shared,
    queue: CommandQueue,
    moved: Buffer<cl_ulong>,
    counts: [Buffer<cl_int>; 2],
}

impl Worker<'_> {
    fn new(shared: &Shared) -> Worker<'_> {
        let context = &shared.session.context;
        // SAFETY: no host memory is given.
        let counts = [(); 2].map(|()| unsafe { Buffer::create(context, CL_MEM_READ_WRITE, 1, std::ptr::null_mut()) });
        // SAFETY: as above.
        let moved = unsafe { Buffer::create(context, CL_MEM_READ_WRITE, ITEMS, std::ptr::null_mut()) };
        Worker {
            shared,
            queue: shared.session.queue(),
            moved: moved.expect("a buffer"),
            counts: counts.map(|buffer| buffer.expect("a buffer")),
        }
    }

    /// Runs a kernel on a pipe; returns the packets that it moved.
    fn transfer(&self, name: &str, pipe: usize, first: cl_ulong) -> Packets {
        let kernel = Kernel::create(&self.shared.program, name).expect("the kernel");
        let (pipe, moved): (cl_mem, cl_mem) = (self.shared.pipes[pipe] as cl_mem, self.moved.get());
        let mut values = vec![0; ITEMS];
        // SAFETY: the arguments are those of the kernel, and the read blocks.
        unsafe {
            ExecuteKernel::new(&kernel)
                .set_arg(&pipe)
                .set_arg(&first)
                .set_arg(&moved)
                .set_global_work_size(ITEMS)
                .set_local_work_size(GROUP)
                .enqueue_nd_range(&self.queue)
                .expect("a launch");
            self.queue.enqueue_read_buffer(&self.moved, CL_BLOCKING, 0, &mut values, &[]).expect("a read");
        }
        let mut packets = Packets::default();
        values.iter().filter(|value| **value != 0).for_each(|value| packets.add(*value));
        packets
    }

    /// Runs a tree of kernels; every leaf is counted, or its enqueue was refused.
    fn tree(&self) {
        let kernel = Kernel::create(&self.shared.program, "tree").expect("the kernel");
        let mut found = [0; 2];
        // SAFETY: the arguments are those of the kernel, and the reads block.
        unsafe {
            for buffer in &self.counts {
                cl3::command_queue::enqueue_fill_buffer(
                    self.queue.get(),
                    buffer.get(),
                    (&raw const found).cast(),
                    size_of::<cl_int>(),
                    0,
                    size_of::<cl_int>(),
                    0,
                    std::ptr::null(),
                )
                .expect("a fill");
            }
            ExecuteKernel::new(&kernel)
                .set_arg(&DEPTH)
                .set_arg(&self.counts[0])
                .set_arg(&self.counts[1])
                .set_global_work_size(1)
                .enqueue_nd_range(&self.queue)
                .expect("a launch");
            for (buffer, count) in self.counts.iter().zip(&mut found) {
                let count = std::slice::from_mut(count);
                self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, count, &[]).expect("a read");
            }
        }
        assert_eq!(found[0] + found[1], 1 << DEPTH, "leaves and refused ones");
    }

    fn run(&self, number: usize, end: Instant) -> Moved {
        let mut moved = Moved::default();
        let mut round = 0;
        while round == 0 || Instant::now() < end {
            let (pipe, groups) = (round % PIPES, round / PIPES % 2 == 1);
            if number.is_multiple_of(2) {
                let first = (number as u64 + 1) << 48 | (round * ITEMS) as u64;
                moved.written[pipe].join(self.transfer(if groups { "put_groups" } else { "put" }, pipe, first));
            } else {
                moved.read[pipe].join(self.transfer(if groups { "take_groups" } else { "take" }, pipe, 0));
            }
            if (round + number).is_multiple_of(3) {
                self.tree();
            }
            round += 1;
        }
        moved
    }
}

#[test]
fn threads_with_pipes_and_children() {
    let session = session();
    let supported = [cl3::device::CL_DEVICE_PIPE_SUPPORT, cl3::device::CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES];
    if supported.iter().any(|query| session.device_u32(*query) == 0) {
        assert!(!session.driver.is_clift, "the device must have pipes and device-side enqueue");
        return;
    }
    let time = std::env::var("CLIFT_STRESS_MS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let properties = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    // SAFETY: the device belongs to the context.
    let _children =
        unsafe { CommandQueue::create_with_properties(&session.context, session.device_id(), properties, 0) }
            .expect("a device queue");
    // SAFETY: plain numbers.
    let pipes = [(); PIPES].map(|()| unsafe { Pipe::create(&session.context, 0, 8, PACKETS) }.expect("a pipe"));
    let program = session.build(SOURCE, "-cl-std=CL3.0").unwrap_or_else(|log| panic!("{log}"));
    let shared = Arc::new(Shared { session, program, pipes: pipes.each_ref().map(|pipe| pipe.get() as usize) });
    let end = Instant::now() + Duration::from_millis(time);
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let shared = shared.clone();
            thread::spawn(move || Worker::new(&shared).run(number, end))
        })
        .collect();
    let mut all = Moved::default();
    for thread in threads {
        let moved = thread.join().expect("a thread");
        for pipe in 0..PIPES {
            all.written[pipe].join(moved.written[pipe]);
            all.read[pipe].join(moved.read[pipe]);
        }
    }
    let last = Worker::new(&shared);
    for pipe in 0..PIPES {
        // One launch reads fewer packets than a full pipe has.
        for _ in 0..=PACKETS as usize / ITEMS {
            all.read[pipe].join(last.transfer("take", pipe, 0));
        }
        assert_eq!(all.written[pipe], all.read[pipe], "pipe {pipe}");
        assert!(all.written[pipe].count > 0, "nothing went through pipe {pipe}");
    }
}
