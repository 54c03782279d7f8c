//! Functions of sub-groups that Intel's extensions add: shuffles, and reads and writes of blocks of buffers, local memory and
//! images.

use std::ptr::{null, null_mut};

use cl3::ext::*;
use cl3::memory::*;
use cl3::types::{CL_TRUE, cl_image_desc, cl_image_format, cl_mem, cl_uint};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::Buffer;

use clift_tests::session::{Session, session};
use clift_tests::values::spread;

/// Runs a program's kernel `t` on one buffer in place.
fn run(session: &Session, source: &str, bytes: &[u8], global: &[usize], local: &[usize]) -> Vec<u8> {
    let (_program, kernel) = session.kernel(source, "", "t");
    run_kernel(session, &kernel, bytes, None, global, local)
}

/// Runs a kernel on one buffer in place, and perhaps on an image at a coordinate; returns the buffer.
fn run_kernel(
    session: &Session,
    kernel: &Kernel,
    bytes: &[u8],
    image: Option<(cl_mem, [i32; 2])>,
    global: &[usize],
    local: &[usize],
) -> Vec<u8> {
    let queue = session.queue();
    let mut bytes = bytes.to_vec();
    // SAFETY: the arguments are those of the kernel, and the buffer has as many bytes.
    unsafe {
        let mut buffer =
            Buffer::<u8>::create(&session.context, CL_MEM_READ_WRITE, bytes.len(), null_mut()).expect("a buffer");
        queue.enqueue_write_buffer(&mut buffer, CL_TRUE, 0, &bytes, &[]).expect("a write");
        let mut execute = ExecuteKernel::new(kernel);
        execute.set_arg(&buffer);
        if let Some((image, at)) = &image {
            execute.set_arg(image).set_arg(at);
        }
        execute.set_global_work_sizes(global).set_local_work_sizes(local).enqueue_nd_range(&queue).expect("a launch");
        queue.enqueue_read_buffer(&buffer, CL_TRUE, 0, &mut bytes, &[]).expect("a read");
    }
    bytes
}

/// A type of elements: its name, that of the functions, and bytes.
const TYPES: [(&str, &str, usize); 5] =
    [("uchar", "_uc", 1), ("ushort", "_us", 2), ("uint", "", 4), ("uint", "_ui", 4), ("ulong", "_ul", 8)];
const COUNTS: [usize; 5] = [1, 2, 4, 8, 16];

/// The numbers of elements that a type's functions have.
fn counts(suffix: &str) -> &'static [usize] {
    if matches!(suffix, "_uc" | "_us") { &COUNTS } else { &COUNTS[..4] }
}

fn number(count: usize) -> String {
    if count == 1 { String::new() } else { count.to_string() }
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| spread(11, i) as u8).collect()
}

#[test]
fn blocks_of_buffers() {
    let session = session();
    if !session.has_extension("cl_intel_subgroups") {
        return;
    }
    for (ty, suffix, bytes) in TYPES {
        for &count in counts(suffix) {
            for (size, space) in [(8, "global"), (16, "local")] {
                let n = number(count);
                // Each sub-group reads a block, reverses it by components and lanes, and writes it elsewhere.
                let sub_groups = 3;
                let block = size * count;
                let components = match count {
                    1 => "b".to_owned(),
                    _ => {
                        let reversed: Vec<String> = (0..count).rev().map(|i| format!("b.s{i:x}")).collect();
                        format!("({ty}{n})({})", reversed.join(", "))
                    }
                };
                let body = if space == "global" {
                    format!(
                        "{ty}{n} b = intel_sub_group_block_read{suffix}{n}(p + start);
                         intel_sub_group_block_write{suffix}{n}(p + start + {total}, {components});",
                        total = sub_groups * block
                    )
                } else {
                    format!(
                        "local {ty} m[{total}];
                         for (uint i = get_local_id(0); i < {total}; i += get_local_size(0)) m[i] = p[i];
                         barrier(CLK_LOCAL_MEM_FENCE);
                         {ty}{n} b = intel_sub_group_block_read{suffix}{n}(m + start);
                         intel_sub_group_block_write{suffix}{n}(m + start, {components});
                         barrier(CLK_LOCAL_MEM_FENCE);
                         for (uint i = get_local_id(0); i < {total}; i += get_local_size(0)) p[i + {total}] = m[i];",
                        total = sub_groups * block
                    )
                };
                let source = format!(
                    "__attribute__((intel_reqd_sub_group_size({size}))) kernel void t(global {ty} *p) {{
                        size_t start = get_sub_group_id() * {block};
                        {body}
                    }}"
                );
                let before = content(2 * sub_groups * block * bytes);
                let items = sub_groups * size;
                let after = run(session, &source, &before, &[items], &[items]);
                let (input, output) = after.split_at(after.len() / 2);
                assert_eq!(input, &before[..input.len()], "{source}");
                for (i, element) in output.chunks_exact(bytes).enumerate() {
                    let (row, lane) = (i % block / size, i % size);
                    let from = i / block * block + (count - 1 - row) * size + lane;
                    assert_eq!(element, &before[from * bytes..][..bytes], "element {i} of\n{source}");
                }
            }
        }
    }
}

const SIZE: [usize; 2] = [40, 9];

fn image(session: &Session, data: cl_uint, bytes: &mut [u8]) -> cl_mem {
    let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: data };
    let desc = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: SIZE[0],
        image_height: SIZE[1],
        image_depth: 1,
        image_array_size: 1,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    // SAFETY: as many bytes as the image has.
    unsafe { create_image(session.context.get(), flags, &raw const format, &raw const desc, bytes.as_mut_ptr().cast()) }
        .expect("an image")
}

/// Where blocks begin: inside, and across each border.
const STARTS: [[i32; 2]; 7] = [[0, 0], [32, 1], [-24, 3], [100, 6], [152, -2], [-400, 2], [64, 30]];

#[test]
fn blocks_of_images() {
    let session = session();
    if !session.has_extension("cl_intel_subgroups") {
        return;
    }
    let [width, height] = SIZE;
    let pitch = 4 * width;
    let pixels = content(pitch * height);
    for (ty, suffix, bytes) in TYPES {
        for &count in counts(suffix) {
            for size in [8, 16] {
                let n = number(count);
                let program = |signature: &str, call: &str| {
                    let source = format!(
                        "__attribute__((intel_reqd_sub_group_size({size})))
                         kernel void t(global {ty}{n} *data, {signature} image2d_t image, int2 at) {{
                            {call}
                         }}"
                    );
                    (session.kernel(&source, "", "t"), source)
                };
                let ((_read, read), read_source) = program(
                    "read_only",
                    &format!("data[get_global_id(0)] = intel_sub_group_block_read{suffix}{n}(image, at);"),
                );
                let ((_write, write), write_source) = program(
                    "write_only",
                    &format!("intel_sub_group_block_write{suffix}{n}(image, at, data[get_global_id(0)]);"),
                );
                for [x, y] in STARTS {
                    let image = image(session, CL_UNSIGNED_INT8, &mut pixels.clone());
                    let zeros = vec![0; size * count * bytes];
                    let got = run_kernel(session, &read, &zeros, Some((image, [x, y])), &[size], &[size]);
                    for (i, element) in got.chunks_exact(bytes).enumerate() {
                        let (lane, row) = ((i / count) as i32, (i % count) as i32);
                        let row = (y + row).clamp(0, height as i32 - 1);
                        let byte = x + lane * bytes as i32;
                        // The nearest element of the image, and the same part of it.
                        let from = (byte - byte.rem_euclid(4)).clamp(0, pitch as i32 - 4) + byte.rem_euclid(4);
                        let from = from.min((pitch - bytes) as i32);
                        let from = row as usize * pitch + from as usize;
                        assert_eq!(element, &pixels[from..][..bytes], "element {i} at ({x}, {y}) of\n{read_source}");
                    }

                    let data: Vec<u8> = content(size * count * bytes).iter().map(|byte| !byte).collect();
                    run_kernel(session, &write, &data, Some((image, [x, y])), &[size], &[size]);
                    let mut expected = pixels.clone();
                    for (i, element) in data.chunks_exact(bytes).enumerate() {
                        let (at, row) = (x + ((i / count) * bytes) as i32, y + (i % count) as i32);
                        if (0..=(pitch - bytes) as i32).contains(&at) && (0..height as i32).contains(&row) {
                            expected[row as usize * pitch + at as usize..][..bytes].copy_from_slice(element);
                        }
                    }
                    let mut written = vec![0; pixels.len()];
                    let (origin, region) = ([0_usize; 3], [width, height, 1]);
                    // SAFETY: it blocks, there is room, and the image is not used afterwards.
                    unsafe {
                        cl3::command_queue::enqueue_read_image(
                            session.queue().get(),
                            image,
                            CL_TRUE,
                            origin.as_ptr(),
                            region.as_ptr(),
                            0,
                            0,
                            written.as_mut_ptr().cast(),
                            0,
                            null(),
                        )
                        .expect("a read");
                        release_mem_object(image).expect("the release");
                    }
                    assert!(written == expected, "({x}, {y}) of\n{write_source}");
                }
            }
        }
    }
}

#[test]
fn shuffles() {
    let session = session();
    if !session.has_extension("cl_intel_subgroups") {
        return;
    }
    let types = ["float", "int", "uint", "long", "ulong", "half", "double", "char", "ushort"];
    let vectors = [("float", 2), ("float", 16), ("int", 3), ("uint", 4), ("uchar", 16), ("short", 8)];
    for (ty, lanes) in types.map(|ty| (ty, 1)).into_iter().chain(vectors) {
        let n = number(lanes);
        for size in [4_u32, 16] {
            let source = format!(
                "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
                 bool same({ty}{n} a, {ty}{n} b) {{ return {equal}; }}
                 {ty}{n} value(uint lane, int set) {{ return ({ty}{n})(({ty})(lane * 5 + set)) + ({ty}{n})({parts}); }}
                 __attribute__((intel_reqd_sub_group_size({size}))) kernel void t(global uint *out) {{
                    uint i = get_sub_group_local_id(), wild = (i * 7 + 3) % {size}, ok = 0;
                    {ty}{n} a = value(i, 0), b = value(i, 60);
                    ok |= same(intel_sub_group_shuffle(a, wild), value(wild, 0));
                    ok |= same(intel_sub_group_shuffle(a, 2), value(2, 0)) << 1;
                    ok |= same(intel_sub_group_shuffle_xor(a, 3), value(i ^ 3, 0)) << 2;
                    for (uint d = 0; d <= {size}; d++) {{
                        uint down = i + d;
                        bool good = same(intel_sub_group_shuffle_down(a, b, d), value(down % {size}, down < {size} ? 0 : 60));
                        int up = (int)i - (int)d;
                        good &= same(intel_sub_group_shuffle_up(a, b, d), value((up + {size}) % {size}, up < 0 ? 0 : 60));
                        ok |= good << (3 + d);
                    }}
                    out[get_global_id(0)] = ok;
                }}",
                equal = if lanes == 1 { "a == b" } else { "all(a == b)" },
                parts = (0..lanes).map(|i| i.to_string()).collect::<Vec<_>>().join(", "),
            );
            let got = run(session, &source, &[0; 4 * 32], &[32], &[32]);
            let expected = (1_u32 << (3 + size + 1)) - 1;
            for word in got.as_chunks().0 {
                assert_eq!(u32::from_le_bytes(*word), expected, "{source}");
            }
        }
    }
}

#[test]
fn collective_functions_of_bytes_and_shorts() {
    let session = session();
    if !session.has_extension("cl_intel_subgroups_char") {
        return;
    }
    for ty in ["char", "uchar", "short", "ushort"] {
        let functions: Vec<String> = ["reduce", "scan_exclusive", "scan_inclusive"]
            .iter()
            .flat_map(|kind| ["add", "min", "max"].map(|operator| format!("{kind}_{operator}")))
            .collect();
        let compared: String = functions
            .iter()
            .enumerate()
            .map(|(bit, name)| format!("ok |= (intel_sub_group_{name}(x) == sub_group_{name}(x)) << {bit};"))
            .collect();
        let source = format!(
            "kernel void t(global uint *out) {{
                {ty} x = ({ty})(get_global_id(0) * 37);
                uint ok = 0;
                {compared}
                ok |= (intel_sub_group_broadcast(x, 0) == sub_group_broadcast(x, 0)) << {};
                out[get_global_id(0)] = ok;
            }}",
            functions.len()
        );
        let got = run(session, &source, &[0; 4 * 40], &[40], &[20]);
        assert!(got.as_chunks().0.iter().all(|word| u32::from_le_bytes(*word) == (1 << 10) - 1), "{got:?}\n{source}");
    }
}
