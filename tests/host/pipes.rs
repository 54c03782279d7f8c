//! Pipes: packets from writers to readers, by all functions of OpenCL C, at several widths and on all backends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opencl3::command_queue::CommandQueue;
use opencl3::error_codes::{CL_INVALID_ARG_SIZE, CL_INVALID_MEM_OBJECT, CL_SUCCESS};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, ClMem, Pipe};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_int, cl_mem, cl_uint, cl_ulong};

use crate::child;
use clift_tests::session::{Session, session};

/// The session, if its device has pipes.
fn with_pipes() -> Option<&'static Session> {
    let session = session();
    let supported = session.device_u32(cl3::device::CL_DEVICE_PIPE_SUPPORT) != 0;
    assert!(supported || !session.driver.is_clift, "the device must have pipes");
    supported.then_some(session)
}

fn build(session: &Session, source: &str) -> Program {
    session.build(source, "-cl-std=CL3.0").unwrap_or_else(|log| panic!("{log}\n{source}"))
}

fn pipe(session: &Session, packet: usize, count: usize) -> Pipe {
    // SAFETY: plain numbers.
    unsafe { Pipe::create(&session.context, 0, packet as cl_uint, count as cl_uint) }.expect("a pipe")
}

fn buffer<T>(session: &Session, content: &[T]) -> Buffer<T> {
    let host = content.as_ptr().cast_mut().cast();
    // SAFETY: the memory is as long as the buffer, which copies it.
    unsafe { Buffer::create(&session.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, content.len(), host) }
        .expect("a buffer")
}

fn content<T: Copy + Default>(queue: &CommandQueue, buffer: &Buffer<T>, count: usize) -> Vec<T> {
    let mut found = vec![T::default(); count];
    // SAFETY: the call blocks until the memory has been written.
    unsafe { queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut found, &[]) }.expect("a read");
    found
}

/// Enqueues a kernel with memory objects as arguments.
fn launch(queue: &CommandQueue, program: &Program, name: &str, mems: &[cl_mem], global: usize, local: Option<usize>) {
    let kernel = Kernel::create(program, name).expect("the kernel");
    let mut launch = ExecuteKernel::new(&kernel);
    launch.set_global_work_size(global);
    if let Some(local) = local {
        launch.set_local_work_size(local);
    }
    // SAFETY: the arguments are those of the kernel.
    unsafe {
        for mem in mems {
            launch.set_arg(mem);
        }
        launch.enqueue_nd_range(queue).expect("a launch");
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values
}

/// Global and local sizes; packs of any width are full, partial and missing in some of them.
const SIZES: [(usize, Option<usize>); 6] =
    [(1, None), (64, Some(64)), (1000, Some(40)), (333, Some(37)), (512, Some(1)), (2048, None)];

const ITEMS: &str = "
    kernel void put(write_only pipe int p, global int *status) {
        int value = (int) get_global_id(0) * 3;
        status[get_global_id(0)] = write_pipe(p, &value);
    }
    kernel void take(read_only pipe int p, global int *status, global int *out) {
        int value = -7;
        status[get_global_id(0)] = read_pipe(p, &value);
        out[get_global_id(0)] = value;
    }";

/// As many work-items succeed as there is space or packets, and no packet is lost or doubled, round after round.
fn items_read_what_items_wrote(session: &Session) {
    let program = build(session, ITEMS);
    let queue = session.queue();
    for (global, local) in SIZES {
        for capacity in [global, global.div_ceil(2), 3 * global + 1, 1] {
            let pipe = pipe(session, 4, capacity);
            let (status, out) = (buffer(session, &vec![9; global]), buffer(session, &vec![9; global]));
            for round in 0..4 {
                launch(&queue, &program, "put", &[pipe.get(), status.get()], global, local);
                let wrote = content::<cl_int>(&queue, &status, global);
                let written: Vec<cl_int> = (0..).zip(&wrote).filter(|(_, s)| **s == 0).map(|(i, _)| i * 3).collect();
                assert_eq!(written.len(), global.min(capacity), "{global} in {capacity}, round {round}");
                assert!(wrote.iter().all(|&status| status <= 0));

                launch(&queue, &program, "take", &[pipe.get(), status.get(), out.get()], global, local);
                let read = content::<cl_int>(&queue, &status, global);
                let values = content::<cl_int>(&queue, &out, global);
                let got: Vec<cl_int> = read.iter().zip(&values).filter(|(s, _)| **s == 0).map(|(_, v)| *v).collect();
                assert_eq!(sorted(got), sorted(written), "{global} in {capacity}, round {round}");
                assert!(read.iter().zip(&values).all(|(&s, &v)| s == 0 || (s < 0 && v == -7)));
            }
        }
    }
}

const RESERVATIONS: &str = "
    kernel void put(write_only pipe int2 p, global int *sent) {
        int gid = get_global_id(0);
        int count = gid % 5;
        reserve_id_t id = reserve_write_pipe(p, count);
        if (!is_valid_reserve_id(id)) { sent[gid] = -1; return; }
        sent[gid] = count;
        for (int i = count - 1; i >= 0; --i) {
            int2 packet = (int2)(gid, i);
            if (write_pipe(p, id, i, &packet) != 0) sent[gid] = -100;
        }
        int2 outside = 0;
        if (write_pipe(p, id, count, &outside) >= 0) sent[gid] = -200;
        commit_write_pipe(p, id);
    }
    kernel void work_group_put(write_only pipe int2 p, global int *sent) {
        int gid = get_global_id(0), lid = get_local_id(0), size = get_local_size(0);
        reserve_id_t id = work_group_reserve_write_pipe(p, size);
        sent[gid] = -1;
        if (is_valid_reserve_id(id)) {
            int2 packet = (int2)(get_group_id(0), size - 1 - lid);
            sent[gid] = write_pipe(p, id, size - 1 - lid, &packet) == 0;
            work_group_commit_write_pipe(p, id);
        }
    }
    kernel void sub_group_put(write_only pipe int2 p, global int *sent) {
        int gid = get_global_id(0), lid = get_sub_group_local_id(), size = get_sub_group_size();
        sent[gid] = -1;
        if (get_sub_group_id() % 2 == 0) {
            reserve_id_t id = sub_group_reserve_write_pipe(p, size);
            if (is_valid_reserve_id(id)) {
                int2 packet = (int2)(gid - lid, lid);
                sent[gid] = write_pipe(p, id, lid, &packet) == 0;
                sub_group_commit_write_pipe(p, id);
            }
        }
    }
    kernel void take_all(read_only pipe int2 p, global int *count, global int2 *out) {
        int i = 0;
        while (read_pipe(p, &out[i]) == 0) ++i;
        *count = i;
    }
    kernel void work_group_take(read_only pipe int2 p, global int *count, global int2 *out) {
        local reserve_id_t shared;
        int lid = get_local_id(0), size = get_local_size(0);
        reserve_id_t id = work_group_reserve_read_pipe(p, size);
        if (lid == 0) shared = id;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_valid_reserve_id(shared)) {
            if (read_pipe(p, shared, lid, &out[get_global_id(0)]) == 0) atomic_inc(count);
            work_group_commit_read_pipe(p, shared);
        }
    }
    kernel void take_three(read_only pipe int2 p, global int *count, global int2 *out) {
        reserve_id_t id = reserve_read_pipe(p, 3);
        if (is_valid_reserve_id(id)) {
            for (uint i = 0; i < 3; ++i) read_pipe(p, id, i, &out[3 * get_global_id(0) + i]);
            commit_read_pipe(p, id);
            atomic_add(count, 3);
        }
    }";

type Int2 = [cl_int; 2];

/// Packets of a reservation are neighbours in the pipe, in the order of their indices.
fn reservations_are_contiguous(session: &Session) {
    let program = build(session, RESERVATIONS);
    let queue = session.queue();
    for (global, local) in [(64, 64), (1000, 40), (330, 33), (96, 1), (48, 16)] {
        for kernel in ["put", "work_group_put", "sub_group_put"] {
            // The last capacity is too small for all.
            for capacity in [2 * global, 2 * global + 17, global + 7] {
                let pipe = pipe(session, 8, capacity);
                let (sent, count) = (buffer(session, &vec![9; global]), buffer(session, &[0; 1]));
                let out = buffer::<Int2>(session, &vec![[-1; 2]; capacity + 1]);
                launch(&queue, &program, kernel, &[pipe.get(), sent.get()], global, Some(local));
                launch(&queue, &program, "take_all", &[pipe.get(), count.get(), out.get()], 1, None);
                let sent = content::<cl_int>(&queue, &sent, global);
                let count = content::<cl_int>(&queue, &count, 1)[0] as usize;
                let packets = content::<Int2>(&queue, &out, capacity + 1);
                let what = format!("{kernel}, {global} by {local}, capacity {capacity}");
                assert!(sent.iter().all(|&status| status >= -1), "{what}: {sent:?}");
                let expected: cl_int = sent.iter().filter(|&&status| status > 0).sum();
                assert_eq!(count, expected as usize, "{what}");
                if capacity >= 2 * global && kernel != "sub_group_put" {
                    assert!(!sent.contains(&-1), "{what}");
                }
                for (at, &[from, index]) in packets[..count].iter().enumerate() {
                    let continues = index == 0 || packets[at - 1] == [from, index - 1];
                    assert!(continues, "{what}: packet {at} is {index} of {from}");
                    let length = if kernel == "put" { from % 5 } else { index + 1 };
                    assert!(index < length, "{what}");
                }
                assert_eq!(sorted(packets[..count].to_vec()).windows(2).filter(|w| w[0] == w[1]).count(), 0, "{what}");
            }
        }
    }
}

/// Readers that reserve get each packet once, as long as there are enough for a reservation.
fn reading_reservations(session: &Session) {
    let program = build(session, RESERVATIONS);
    let queue = session.queue();
    for (kernel, local, left) in [("work_group_take", 40, 0), ("take_three", 25, 1)] {
        let global = 400;
        let pipe = pipe(session, 8, global);
        let (sent, count) = (buffer(session, &vec![9; global]), buffer(session, &[0; 1]));
        let out = buffer::<Int2>(session, &vec![[-1; 2]; 3 * global]);
        launch(&queue, &program, "work_group_put", &[pipe.get(), sent.get()], global, Some(40));
        launch(&queue, &program, kernel, &[pipe.get(), count.get(), out.get()], global, Some(local));
        assert_eq!(content::<cl_int>(&queue, &count, 1), [(global - left) as cl_int], "{kernel}");
        let got: Vec<Int2> = content::<Int2>(&queue, &out, 3 * global).into_iter().filter(|p| p[0] >= 0).collect();
        let all: Vec<Int2> = (0..global as cl_int).map(|i| [i / 40, i % 40]).collect();
        let got = sorted(got);
        assert_eq!(got.len(), global - left, "{kernel}");
        assert!(got.windows(2).all(|w| w[0] != w[1]) && got.iter().all(|p| all.binary_search(p).is_ok()), "{kernel}");
    }
}

/// Packets of a type: written from global memory by a function, and read into private memory by another.
fn packets_of(session: &Session, declaration: &str, ty: &str, size: usize) {
    let source = format!(
        "{declaration}
        int send(write_only pipe {ty} p, const global {ty} *from) {{ return write_pipe(p, from); }}
        int receive(read_only pipe {ty} p, {ty} *to) {{ return read_pipe(p, to); }}
        kernel void put(write_only pipe {ty} p, const global {ty} *in) {{
            if (get_global_id(0) % 3 != 1) send(p, in + get_global_id(0));
            else while (send(p, in + get_global_id(0)) != 0);
        }}
        kernel void take(read_only pipe {ty} p, global {ty} *out) {{
            {ty} value;
            if (receive(p, &value) == 0) out[get_global_id(0)] = value;
        }}
        kernel void copy(read_only pipe {ty} in, write_only pipe {ty} out) {{
            reserve_id_t from = reserve_read_pipe(in, 1), to = reserve_write_pipe(out, 1);
            local {ty} value;
            if (is_valid_reserve_id(from) && is_valid_reserve_id(to)) {{
                read_pipe(in, from, 0, &value);
                commit_read_pipe(in, from);
                write_pipe(out, to, 0, &value);
                commit_write_pipe(out, to);
            }}
        }}"
    );
    let program = build(session, &source);
    let queue = session.queue();
    let count = 45;
    let bytes: Vec<u8> = (0..count * size).map(|i| (i * 7 + i / size) as u8).collect();
    let (first, second) = (pipe(session, size, count), pipe(session, size, count));
    let (input, output) = (buffer(session, &bytes), buffer(session, &vec![0u8; count * size]));
    launch(&queue, &program, "put", &[first.get(), input.get()], count, Some(9));
    launch(&queue, &program, "copy", &[first.get(), second.get()], count, Some(1));
    launch(&queue, &program, "take", &[second.get(), output.get()], count, Some(15));
    let got = content(&queue, &output, count * size);
    let packets = |bytes: &[u8]| sorted(bytes.chunks(size).map(<[u8]>::to_vec).collect::<Vec<_>>());
    assert!(packets(&got) == packets(&bytes), "{ty}");
}

fn packets_of_any_type(session: &Session) {
    for (ty, size) in [("char", 1), ("ushort", 2), ("float", 4), ("long", 8), ("uint4", 16), ("double16", 128)] {
        packets_of(session, "", ty, size);
    }
    packets_of(session, "typedef struct { uchar bytes[3]; } odd;", "odd", 3);
    packets_of(session, "typedef struct { int a; short b[2]; float c; } mixed;", "mixed", 12);
    packets_of(session, "typedef struct { uchar bytes[1000]; } large;", "large", 1000);
    packets_of(session, "typedef struct { uint4 bytes[100]; } larger;", "larger", 1600);
}

/// The numbers of packets, and kernels for packets of another size.
fn queries_and_wrong_sizes(session: &Session) {
    let source = "
        kernel void put(write_only pipe int p, global int *status) {
            int value = 1;
            status[get_global_id(0)] = write_pipe(p, &value);
        }
        kernel void ask(read_only pipe int p, global uint *out) {
            out[0] = get_pipe_num_packets(p);
            out[1] = get_pipe_max_packets(p);
        }
        kernel void wrong(read_only pipe long p, global int *status) {
            long value;
            status[get_global_id(0)] = read_pipe(p, &value);
            reserve_id_t id = reserve_read_pipe(p, 1);
            if (is_valid_reserve_id(id)) status[get_global_id(0)] = 5;
        }
        kernel void ask_writer(write_only pipe int p, global uint *out) {
            out[0] = get_pipe_num_packets(p);
            out[1] = get_pipe_max_packets(p);
        }";
    let program = build(session, source);
    let queue = session.queue();
    let pipe = pipe(session, 4, 1001);
    let (status, numbers) = (buffer(session, &[9; 100]), buffer::<cl_uint>(session, &[9; 2]));
    for round in 1..=3 {
        launch(&queue, &program, "put", &[pipe.get(), status.get()], 100, None);
        for kernel in ["ask", "ask_writer"] {
            launch(&queue, &program, kernel, &[pipe.get(), numbers.get()], 1, None);
            assert_eq!(content::<cl_uint>(&queue, &numbers, 2), [round * 100, 1001]);
        }
        if session.driver.is_clift {
            launch(&queue, &program, "wrong", &[pipe.get(), status.get()], 100, None);
            assert_eq!(content::<cl_int>(&queue, &status, 100), [-1; 100]);
        }
    }
}

/// All of the above, in this process's configuration.
fn everything(session: &Session) {
    items_read_what_items_wrote(session);
    reservations_are_contiguous(session);
    reading_reservations(session);
    packets_of_any_type(session);
    queries_and_wrong_sizes(session);
}

/// The configuration of the driver in child processes.
const CONFIGURATIONS: [(&str, &str); 5] = [
    ("CLIFT_WIDTH", "1"),
    ("CLIFT_WIDTH", "4"),
    ("CLIFT_THREADS", "1"),
    ("CLIFT_BACKEND", "cranelift"),
    ("CLIFT_BACKEND", "interp"),
];

#[test]
fn pipes_work() {
    if let Some(session) = with_pipes() {
        everything(session);
    }
}

#[test]
fn pipes_work_in_all_configurations() {
    const NAME: &str = "pipes::pipes_work_in_all_configurations";
    let Some(session) = with_pipes() else { return };
    if child::is_for(NAME) {
        everything(session);
    } else if session.driver.is_clift {
        for setting in CONFIGURATIONS {
            let output = child::run(NAME, &[setting]);
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{setting:?}: {}\n{told}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

const STREAM: &str = "
    kernel void put(write_only pipe ulong p, global uint *next, uint count, ulong base) {
        uint gid = get_global_id(0), i = next[gid];
        while (i < count) {
            uint size = min(1 + (gid + i) % 3, count - i);
            reserve_id_t id = reserve_write_pipe(p, size);
            if (!is_valid_reserve_id(id)) break;
            for (uint k = 0; k < size; ++k) {
                ulong value = base + (ulong) gid * count + i + k;
                write_pipe(p, id, k, &value);
            }
            commit_write_pipe(p, id);
            i += size;
            if (i < count) {
                ulong value = base + (ulong) gid * count + i;
                if (write_pipe(p, &value) != 0) break;
                ++i;
            }
        }
        next[gid] = i;
    }
    kernel void take(read_only pipe ulong p, global uint *seen, global uint *wrong, uint total, ulong base) {
        ulong value;
        for (int tries = 0; tries < 200; ++tries) {
            if (read_pipe(p, &value) != 0) continue;
            if (value - base >= total) atomic_inc(wrong);
            else atomic_inc(&seen[value - base]);
        }
    }";

/// Writers and readers that run at the same time, in several pipes: each packet arrives once.
fn stream(session: &Session, program: &Program, number: usize, stop: &AtomicBool) -> usize {
    const WRITERS: usize = 96;
    const EACH: usize = 100;
    let (writing, reading) = (session.queue(), session.queue());
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        let pipe = pipe(session, 8, [7, 64, 1000][rounds % 3]);
        let next = buffer::<cl_uint>(session, &[0; WRITERS]);
        let (seen, wrong) = (buffer::<cl_uint>(session, &vec![0; WRITERS * EACH]), buffer::<cl_uint>(session, &[0; 1]));
        let base = (number as cl_ulong) << 40 | (rounds as cl_ulong) << 20;
        let (put, take) =
            (Kernel::create(program, "put").expect("put"), Kernel::create(program, "take").expect("take"));
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            // SAFETY: the arguments are those of the kernels; all objects live until both queues are empty.
            unsafe {
                ExecuteKernel::new(&put)
                    .set_arg(&pipe.get())
                    .set_arg(&next)
                    .set_arg(&(EACH as cl_uint))
                    .set_arg(&base)
                    .set_global_work_size(WRITERS)
                    .set_local_work_size(24)
                    .enqueue_nd_range(&writing)
                    .expect("writers");
                ExecuteKernel::new(&take)
                    .set_arg(&pipe.get())
                    .set_arg(&seen)
                    .set_arg(&wrong)
                    .set_arg(&((WRITERS * EACH) as cl_uint))
                    .set_arg(&base)
                    .set_global_work_size(64)
                    .set_local_work_size(16)
                    .enqueue_nd_range(&reading)
                    .expect("readers");
            }
            writing.flush().expect("a flush");
            reading.finish().expect("the readers' end");
            let arrived: cl_uint = content::<cl_uint>(&reading, &seen, WRITERS * EACH).iter().sum();
            assert_eq!(content::<cl_uint>(&reading, &wrong, 1), [0]);
            writing.finish().expect("the writers' end");
            if arrived as usize == WRITERS * EACH {
                break;
            }
            assert!(Instant::now() < limit, "{arrived} packets arrived");
        }
        assert!(content::<cl_uint>(&reading, &seen, WRITERS * EACH).iter().all(|&times| times == 1));
        rounds += 1;
    }
    rounds
}

#[test]
fn concurrent_writers_and_readers() {
    let Some(session) = with_pipes() else { return };
    if !session.driver.is_clift {
        return;
    }
    let program = build(session, STREAM);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let streams: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn({
                    let (program, stop) = (&program, &stop);
                    move || stream(session, program, n, stop)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(3));
        stop.store(true, Ordering::Relaxed);
        for stream in streams {
            assert!(stream.join().expect("no panic") > 0);
        }
    });
}

#[test]
fn arguments() {
    let Some(session) = with_pipes() else { return };
    let program = session.build(ITEMS, "-cl-std=CL3.0 -cl-kernel-arg-info").expect("a build");
    let kernel = Kernel::create(&program, "put").expect("the kernel");
    let (object, buffer) = (pipe(session, 4, 10), buffer(session, &[0; 4]));
    let pipe = object.get();
    let set = |index, size, value: *const cl_mem| {
        // SAFETY: the value is null or a handle.
        unsafe { cl3::kernel::set_kernel_arg(kernel.get(), index, size, value.cast()) }.err().unwrap_or(CL_SUCCESS)
    };
    let handle = size_of::<cl_mem>();
    assert_eq!(set(0, handle, &pipe), CL_SUCCESS);
    assert_eq!(set(0, handle, &buffer.get()), CL_INVALID_MEM_OBJECT);
    assert_eq!(set(0, handle, std::ptr::null()), CL_INVALID_MEM_OBJECT);
    assert_eq!(set(0, handle, &std::ptr::null_mut()), CL_INVALID_MEM_OBJECT);
    assert_eq!(set(0, 4, &pipe), CL_INVALID_ARG_SIZE);
    assert_eq!(set(1, handle, &pipe), CL_INVALID_MEM_OBJECT);

    let info = |index, name| cl3::kernel::get_kernel_arg_info(kernel.get(), index, name).expect("the information");
    let qualifier = cl_ulong::from(info(0, cl3::kernel::CL_KERNEL_ARG_TYPE_QUALIFIER));
    assert_eq!(qualifier, u64::from(cl3::kernel::CL_KERNEL_ARG_TYPE_PIPE));
    let access = u32::from(info(0, cl3::kernel::CL_KERNEL_ARG_ACCESS_QUALIFIER));
    assert_eq!(access, cl3::kernel::CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
    assert_eq!(String::from(info(0, cl3::kernel::CL_KERNEL_ARG_TYPE_NAME)), "int");
}
