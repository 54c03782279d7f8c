//! Buffers: flags, sub-buffers, copies, fills, rectangles, maps, callbacks.

use std::ffi::c_void;

use opencl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP};
use opencl3::memory::{
    Buffer, CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_ONLY,
    CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, ClMem as _,
};
use opencl3::types::{CL_BLOCKING, cl_int, cl_mem};

use clift_tests::commands::{copy, fill};
use clift_tests::session::{Session, session};

fn numbers(session: &Session, len: usize) -> Buffer<cl_int> {
    let mut data: Vec<cl_int> = (0..len as cl_int).collect();
    // SAFETY: the data are copied.
    unsafe { Buffer::create(&session.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, len, data.as_mut_ptr().cast()) }
        .expect("a buffer")
}

fn content(session: &Session, buffer: &Buffer<cl_int>, len: usize) -> Vec<cl_int> {
    let mut out = vec![-1; len];
    // SAFETY: a blocking read into memory of the right size.
    unsafe { session.queue().enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut out, &[]) }.expect("a read");
    out
}

#[test]
fn copies_and_fills() {
    let session = session();
    let queue = session.queue();
    let (from, to) = (numbers(session, 100), numbers(session, 100));
    copy(&queue, (&from, 40), (&to, 200), 80, &[]).expect("a copy");
    fill(&queue, &to, &[0xFFFF, 9], 0, 16, &[]).expect("a fill by a pattern of eight bytes");
    queue.finish().expect("finish");
    let mut expected: Vec<cl_int> = (0..100).collect();
    expected.copy_within(10..30, 50);
    expected[50..70].copy_from_slice(&(10..30).collect::<Vec<_>>());
    expected[..4].copy_from_slice(&[0xFFFF, 9, 0xFFFF, 9]);
    assert_eq!(content(session, &to, 100), expected);
    let overlap = copy(&queue, (&from, 0), (&from, 8), 16, &[]);
    assert_eq!(overlap.map(drop), Err(CL_MEM_COPY_OVERLAP));
    let outside = copy(&queue, (&from, 396), (&to, 0), 8, &[]);
    assert_eq!(outside.map(drop), Err(CL_INVALID_VALUE));
}

/// Transfers that several threads share.
#[test]
fn large_transfers() {
    const WORDS: usize = (5 << 20) / 4 + 3;
    let session = session();
    let queue = session.queue();
    let (from, to) = (numbers(session, WORDS), numbers(session, WORDS));
    let all: Vec<cl_int> = (0..WORDS as cl_int).collect();
    assert!(content(session, &from, WORDS) == all);
    let mut expected: Vec<cl_int> = all.iter().map(|at| 3 * at).collect();
    // SAFETY: a blocking write of as much as the buffer holds.
    unsafe { queue.enqueue_write_buffer(&mut numbers(session, WORDS), CL_BLOCKING, 0, &expected, &[]) }
        .expect("a write");
    copy(&queue, (&from, 4), (&to, 12), 4 * (WORDS - 3), &[]).expect("a copy");
    fill(&queue, &to, &[1, 2, 3, 4], 16 * 1000, 16 * 200_000, &[]).expect("a fill");
    queue.finish().expect("finish");
    expected[..3].copy_from_slice(&[0, 1, 2]);
    expected[3..].copy_from_slice(&all[1..WORDS - 2]);
    for at in 4000..804_000 {
        expected[at] = [1, 2, 3, 4][at % 4];
    }
    assert!(content(session, &to, WORDS) == expected);
    // Rows of 1001 words, in the middle of rows of 1024.
    let mut rows = vec![-1; 1024 * 1200];
    // SAFETY: the regions are inside, and the read is blocking.
    unsafe {
        queue.enqueue_read_buffer_rect(
            &to,
            CL_BLOCKING,
            [4, 2, 0].as_ptr(),
            [8, 1, 0].as_ptr(),
            [4004, 1100, 1].as_ptr(),
            4096,
            0,
            4096,
            0,
            rows.as_mut_ptr().cast(),
            &[],
        )
    }
    .expect("a read");
    for (at, &word) in rows.iter().enumerate() {
        let (x, y) = (at % 1024, at / 1024);
        let inside = (2..1003).contains(&x) && (1..1101).contains(&y);
        assert_eq!(word, if inside { expected[(y + 1) * 1024 + x - 1] } else { -1 }, "{x}, {y}");
    }
}

/// Memory of released buffers is used again, and its content must not be seen.
#[test]
fn new_buffers_contain_zeros() {
    let session = session();
    for words in [400_000, 300_000, 350_000, 2_000_000, 1_900_000] {
        drop(numbers(session, words + 1000));
        // SAFETY: no host memory is involved.
        let new = unsafe { Buffer::create(&session.context, CL_MEM_READ_WRITE, words, std::ptr::null_mut()) };
        assert!(content(session, &new.expect("a buffer"), words).iter().all(|&word| word == 0), "{words}");
        assert!(
            content(session, &numbers(session, words), words)
                .iter()
                .enumerate()
                .all(|(at, &word)| at as cl_int == word)
        );
    }
}

#[test]
fn rectangles() {
    let session = session();
    let queue = session.queue();
    // 4 x 5 x 6 elements (width, height, depth) into the middle of 8 x 8 x 8.
    let source: Vec<cl_int> = (0..120).collect();
    let mut cube = numbers(session, 512);
    let mut back = vec![0; 120];
    let (row, slice) = (8 * 4, 8 * 8 * 4);
    // SAFETY: regions and pitches stay inside; the host arrays outlive the blocking calls.
    unsafe {
        queue
            .enqueue_write_buffer_rect(
                &mut cube,
                CL_BLOCKING,
                [2 * 4, 1, 1].as_ptr(),
                [0, 0, 0].as_ptr(),
                [4 * 4, 5, 6].as_ptr(),
                row,
                slice,
                4 * 4,
                5 * 4 * 4,
                source.as_ptr().cast_mut().cast(),
                &[],
            )
            .expect("a write");
        // The same block, one step along z and y elsewhere in the cube is read back after a copy.
        let mut other = numbers(session, 512);
        queue
            .enqueue_copy_buffer_rect(
                &cube,
                &mut other,
                [2 * 4, 1, 1].as_ptr(),
                [0, 3, 2].as_ptr(),
                [4 * 4, 5, 6].as_ptr(),
                row,
                slice,
                row,
                slice,
                &[],
            )
            .expect("a copy");
        queue
            .enqueue_read_buffer_rect(
                &other,
                CL_BLOCKING,
                [0, 3, 2].as_ptr(),
                [0, 0, 0].as_ptr(),
                [4 * 4, 5, 6].as_ptr(),
                row,
                slice,
                0,
                0,
                back.as_mut_ptr().cast(),
                &[],
            )
            .expect("a read");
    }
    assert_eq!(back, source);
    let content = content(session, &cube, 512);
    assert_eq!(content[64 + 8 + 1], 73, "beside the block");
    assert_eq!(content[64 + 8 + 2], 0, "its first element");
}

#[test]
fn sub_buffers() {
    let session = session();
    let align = session.device_u32(cl3::device::CL_DEVICE_MEM_BASE_ADDR_ALIGN) as usize / 8;
    let whole = numbers(session, align);
    // In elements.
    // SAFETY: an aligned region inside the buffer.
    let part = unsafe { whole.create_sub_buffer(CL_MEM_READ_WRITE, align / 4, 16) }.expect("a sub-buffer");
    let queue = session.queue();
    fill(&queue, &part, &[-7], 4, 8, &[]).expect("a fill");
    queue.finish().expect("finish");
    let content = content(session, &whole, align);
    let start = align / 4;
    assert_eq!(content[start..start + 4], [start as cl_int, -7, -7, start as cl_int + 3]);
    assert_eq!(part.associated_memobject().expect("its buffer"), whole.get());
    assert_eq!(part.offset().expect("an offset"), align);
}

#[test]
fn host_memory_is_used() {
    let session = session();
    let mut memory: Vec<cl_int> = vec![5; 1024];
    let queue = session.queue();
    // SAFETY: the memory outlives the buffer, and is read only while the buffer is mapped.
    unsafe {
        let buffer = Buffer::<cl_int>::create(&session.context, CL_MEM_USE_HOST_PTR, 1024, memory.as_mut_ptr().cast())
            .expect("a buffer");
        fill(&queue, &buffer, &[6], 0, 2048, &[]).expect("a fill");
        let mut mapped: cl_mem = std::ptr::null_mut();
        queue
            .enqueue_map_buffer(&buffer, CL_BLOCKING, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, &mut mapped, &[])
            .expect("a map");
        assert_eq!(mapped.cast::<c_void>(), memory.as_mut_ptr().cast());
        assert_eq!((*memory.as_ptr().add(511), *memory.as_ptr().add(512)), (6, 5));
        *memory.as_mut_ptr().add(1000) = 99;
        queue.enqueue_unmap_mem_object(buffer.get(), mapped, &[]).expect("an unmap");
        assert_eq!(content(session, &buffer, 1024)[1000], 99);
    }
}

#[test]
fn maps() {
    let session = session();
    let queue = session.queue();
    // SAFETY: mapped memory is used between map and unmap only, inside the region.
    unsafe {
        let buffer = Buffer::<cl_int>::create(&session.context, CL_MEM_ALLOC_HOST_PTR, 256, std::ptr::null_mut())
            .expect("a buffer");
        let mut mapped: cl_mem = std::ptr::null_mut();
        queue.enqueue_map_buffer(&buffer, CL_BLOCKING, CL_MAP_WRITE, 512, 512, &mut mapped, &[]).expect("a map");
        assert_eq!(buffer.map_count().expect("a count"), 1);
        for i in 0..128 {
            *mapped.cast::<cl_int>().add(i) = i as cl_int;
        }
        queue.enqueue_unmap_mem_object(buffer.get(), mapped, &[]).expect("an unmap");
        queue.finish().expect("finish");
        assert_eq!(buffer.map_count().expect("a count"), 0);
        assert_eq!(content(session, &buffer, 256)[128..], (0..128).collect::<Vec<_>>());
    }
}

#[test]
fn destructor_callbacks_run_in_reverse() {
    use std::sync::mpsc::{Sender, channel};
    extern "C" fn destroyed(_: cl_mem, data: *mut c_void) {
        // SAFETY: the test passes boxes that it never frees.
        let (sender, number) = unsafe { &*data.cast::<(Sender<u32>, u32)>() };
        let _ = sender.send(*number);
    }
    let session = session();
    let (sender, receiver) = channel();
    let buffer = numbers(session, 16);
    for number in 0..3 {
        let data = Box::into_raw(Box::new((sender.clone(), number))).cast();
        // SAFETY: the data are never freed.
        unsafe { cl3::memory::set_mem_object_destructor_callback(buffer.get(), destroyed, data) }.expect("a callback");
    }
    drop(buffer);
    let order: Vec<u32> =
        (0..3).map(|_| receiver.recv_timeout(std::time::Duration::from_secs(30)).expect("a call")).collect();
    assert_eq!(order, [2, 1, 0]);
}

/// The application may hold a lock that its callback needs while it waits for the command that was the last user of an object.
#[test]
fn destructor_callbacks_do_not_delay_commands() {
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};
    static LOCK: Mutex<()> = Mutex::new(());
    extern "C" fn destroyed(_: cl_mem, data: *mut c_void) {
        let _lock = LOCK.lock();
        // SAFETY: the test passes a box that it never frees.
        let _ = unsafe { &*data.cast::<Sender<()>>() }.send(());
    }
    let session = session();
    let queue = session.queue();
    let (sender, receiver) = channel::<()>();
    let mut buffer = numbers(session, 16);
    let data = Box::into_raw(Box::new(sender)).cast();
    // SAFETY: the data are never freed.
    unsafe { cl3::memory::set_mem_object_destructor_callback(buffer.get(), destroyed, data) }.expect("a callback");
    let gate = cl3::event::create_user_event(session.context.get()).expect("a user event");
    // SAFETY: the pattern is copied by the call.
    unsafe { queue.enqueue_fill_buffer(&mut buffer, &[7], 0, 64, &[gate]) }.expect("a fill");
    drop(buffer);
    let lock = LOCK.lock();
    cl3::event::set_user_event_status(gate, 0).expect("a status");
    queue.finish().expect("the fill");
    drop(lock);
    receiver.recv_timeout(std::time::Duration::from_secs(30)).expect("a call");
    // SAFETY: the one reference of this test.
    unsafe { cl3::event::release_event(gate) }.expect("a release");
}

#[test]
fn refused_buffers() {
    let session = session();
    let create = |flags, size, pointer: *mut c_void| {
        // SAFETY: the calls must refuse these; a buffer made all the same is leaked.
        unsafe { cl3::memory::create_buffer(session.context.get(), flags, size, pointer) }.map(drop)
    };
    let mut host = [0_u8; 16];
    let pointer = host.as_mut_ptr().cast();
    assert_eq!(create(CL_MEM_READ_WRITE, 0, std::ptr::null_mut()), Err(CL_INVALID_BUFFER_SIZE));
    assert_eq!(create(CL_MEM_READ_WRITE, usize::MAX, std::ptr::null_mut()), Err(CL_INVALID_BUFFER_SIZE));
    assert_eq!(create(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 16, std::ptr::null_mut()), Err(CL_INVALID_VALUE));
    assert_eq!(create(CL_MEM_READ_WRITE, 16, pointer), Err(opencl3::error_codes::CL_INVALID_HOST_PTR));
    assert_eq!(create(CL_MEM_COPY_HOST_PTR, 16, std::ptr::null_mut()), Err(opencl3::error_codes::CL_INVALID_HOST_PTR));
    assert_eq!(create(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 16, pointer), Err(CL_INVALID_VALUE));
}
