//! Images in kernels: reads through samplers compared with a model in doubles, writes, sizes, and accesses outside of the image.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use cl3::ext::*;
use cl3::memory::*;
use cl3::sampler::{create_sampler, release_sampler};
use cl3::types::{CL_TRUE, cl_image_desc, cl_image_format, cl_mem, cl_uint};
use half::f16;
use opencl3::command_queue::CommandQueue;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::Buffer;
use opencl3::types::cl_float;

use clift_tests::session::session;
use clift_tests::values::spread;

/// Width, height, depth.
type Size = [usize; 3];

fn image(kind: cl_uint, (order, data): (cl_uint, cl_uint), size: Size, layers: usize, bytes: &mut [u8]) -> cl_mem {
    let format = cl_image_format { image_channel_order: order, image_channel_data_type: data };
    let desc = cl_image_desc {
        image_type: kind,
        image_width: size[0],
        image_height: size[1],
        image_depth: size[2],
        image_array_size: layers,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    let host: *mut c_void = bytes.as_mut_ptr().cast();
    // SAFETY: as many bytes as the image has.
    unsafe { create_image(session().context.get(), CL_MEM_COPY_HOST_PTR, &raw const format, &raw const desc, host) }
        .expect("an image")
}

fn buffer<T>(values: &mut [T]) -> Buffer<T> {
    let (count, host) = (values.len(), values.as_mut_ptr().cast());
    // SAFETY: that many values are copied.
    unsafe { Buffer::create(&session().context, CL_MEM_COPY_HOST_PTR, count, host) }.expect("a buffer")
}

/// What a buffer of floats holds.
fn floats(queue: &CommandQueue, buffer: &Buffer<cl_float>, count: usize) -> Vec<f32> {
    let mut values = vec![0.0; count];
    // SAFETY: it blocks, and there is room.
    unsafe { queue.enqueue_read_buffer(buffer, CL_TRUE, 0, &mut values, &[]) }.expect("a read");
    values
}

fn run(queue: &CommandQueue, kernel: &Kernel, global: &[usize], set: impl FnOnce(&mut ExecuteKernel<'_>)) {
    let mut execute = ExecuteKernel::new(kernel);
    set(&mut execute);
    // SAFETY: the arguments are those of the kernel.
    unsafe { execute.set_global_work_sizes(global).enqueue_nd_range(queue) }.expect("a launch");
    queue.finish().expect("the end");
}

/// A colour of an element's bytes.
type Decode = fn(&[u8]) -> [f64; 4];

fn unorm(byte: u8) -> f64 {
    f64::from(byte) / 255.0
}

fn linear(byte: u8) -> f64 {
    let value = unorm(byte);
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

fn short(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

/// `CL_sRGBx`.
const SRGBX: cl_uint = 0x10C0;

/// `CL_UNORM_INT_2_101010_EXT`.
const UNORM_INT_2_101010: cl_uint = 0x10E5;

/// `CL_UNSIGNED_INT_RAW10_EXT`, `CL_UNSIGNED_INT_RAW12_EXT`.
const RAW10: cl_uint = 0x10E3;
const RAW12: cl_uint = 0x10E4;

/// `CL_UNORM_INT10X6_EXT`, and its siblings.
const UNORM_INT10X6: cl_uint = 0x10E1;
const UNORM_INT12X4: cl_uint = 0x10E9;
const UNORM_INT14X2: cl_uint = 0x10EA;

/// `CL_UNSIGNED_INT10X6_EXT`, and its siblings, with their bits.
const UPPER_INTEGERS: [(cl_uint, u32); 3] = [(0x10E6, 10), (0x10E7, 12), (0x10E8, 14)];

/// Formats with bytes of an element, what it means, and how exactly.
fn formats() -> Vec<((cl_uint, cl_uint), usize, Decode)> {
    vec![
        ((CL_RGBA, CL_UNORM_INT8), 4, |b| [b[0], b[1], b[2], b[3]].map(unorm)),
        ((CL_BGRA, CL_UNORM_INT8), 4, |b| [b[2], b[1], b[0], b[3]].map(unorm)),
        ((CL_ARGB, CL_SNORM_INT8), 4, |b| [1, 2, 3, 0].map(|i| (f64::from(b[i] as i8) / 127.0).max(-1.0))),
        ((CL_sRGBA, CL_UNORM_INT8), 4, |b| [linear(b[0]), linear(b[1]), linear(b[2]), unorm(b[3])]),
        ((CL_RG, CL_UNORM_INT8), 2, |b| [unorm(b[0]), unorm(b[1]), 0.0, 1.0]),
        ((CL_A, CL_SNORM_INT16), 2, |b| [0.0, 0.0, 0.0, (f64::from(short(b) as i16) / 32767.0).max(-1.0)]),
        ((CL_LUMINANCE, CL_UNORM_INT16), 2, |b| {
            let value = f64::from(short(b)) / 65535.0;
            [value, value, value, 1.0]
        }),
        ((CL_RGB, CL_UNORM_SHORT_565), 2, |b| {
            let field = |bit: u32, max: u16| f64::from(short(b) >> bit & max) / f64::from(max);
            [field(11, 31), field(5, 63), field(0, 31), 1.0]
        }),
        ((CL_ABGR, UNORM_INT_2_101010), 4, |b| {
            let bits = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let field = |bit: u32, max: u32| f64::from(bits >> bit & max) / f64::from(max);
            [field(0, 1023), field(10, 1023), field(20, 1023), field(30, 3)]
        }),
        ((CL_RGBA, UNORM_INT10X6), 8, |b| [0, 2, 4, 6].map(|i| f64::from(short(&b[i..]) >> 6) / 1023.0)),
        ((CL_RG, UNORM_INT12X4), 4, |b| {
            let field = |i: usize| f64::from(short(&b[i..]) >> 4) / 4095.0;
            [field(0), field(2), 0.0, 1.0]
        }),
        ((CL_R, UNORM_INT14X2), 2, |b| [f64::from(short(b) >> 2) / 16383.0, 0.0, 0.0, 1.0]),
        ((CL_Rx, CL_UNORM_INT8), 2, |b| [unorm(b[0]), 0.0, 0.0, 1.0]),
        ((CL_Rx, CL_FLOAT), 8, |b| [f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into(), 0.0, 0.0, 1.0]),
        ((CL_RGBx, CL_UNORM_INT8), 4, |b| [unorm(b[0]), unorm(b[1]), unorm(b[2]), 1.0]),
        ((CL_RGBx, CL_HALF_FLOAT), 8, |b| {
            let field = |i: usize| f64::from(f16::from_bits(short(&b[i..])).to_f32());
            [field(0), field(2), field(4), 1.0]
        }),
        ((CL_RGBx, CL_UNORM_SHORT_565), 2, |b| {
            let field = |bit: u32, max: u16| f64::from(short(b) >> bit & max) / f64::from(max);
            [field(11, 31), field(5, 63), field(0, 31), 1.0]
        }),
        ((SRGBX, CL_UNORM_INT8), 4, |b| [linear(b[0]), linear(b[1]), linear(b[2]), 1.0]),
        ((CL_ABGR, CL_UNORM_INT16), 8, |b| [6, 4, 2, 0].map(|i| f64::from(short(&b[i..])) / 65535.0)),
        ((CL_BGRA, CL_HALF_FLOAT), 8, |b| [4, 2, 0, 6].map(|i| f64::from(f16::from_bits(short(&b[i..])).to_f32()))),
        ((CL_RGBA, CL_HALF_FLOAT), 8, |b| [0, 2, 4, 6].map(|i| f64::from(f16::from_bits(short(&b[i..])).to_f32()))),
        ((CL_R, CL_FLOAT), 4, |b| [f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into(), 0.0, 0.0, 1.0]),
    ]
}

/// Bytes for elements; floats are finite and of moderate size.
fn content((_, data): (cl_uint, cl_uint), bytes: usize) -> Vec<u8> {
    let mut content: Vec<u8> = (0..bytes).map(|i| spread(3, i) as u8).collect();
    let float = |i: usize| spread(5, i) as u8 as f32 / 16.0 - 4.0;
    if data == CL_FLOAT {
        for (i, four) in content.chunks_exact_mut(4).enumerate() {
            four.copy_from_slice(&float(i).to_le_bytes());
        }
    } else if data == CL_HALF_FLOAT {
        for (i, two) in content.chunks_exact_mut(2).enumerate() {
            two.copy_from_slice(&f16::from_f32(float(i)).to_bits().to_le_bytes());
        }
    }
    content
}

/// The elements along a dimension that a coordinate leads to, `None` for the border, with their weights.
fn taps(at: f64, size: usize, normalized: bool, addressing: cl_uint, mixes: bool) -> Vec<(Option<usize>, f64)> {
    let count = size as i64;
    let at = match addressing {
        CL_ADDRESS_REPEAT => (at - at.floor()) * size as f64,
        CL_ADDRESS_MIRRORED_REPEAT => (at - 2.0 * (at / 2.0).round_ties_even()).abs() * size as f64,
        _ if normalized => at * size as f64,
        _ => at,
    };
    let element = |i: i64| match addressing {
        CL_ADDRESS_CLAMP => usize::try_from(i).ok().filter(|&i| i < size),
        CL_ADDRESS_REPEAT => Some(i.rem_euclid(count) as usize),
        _ => Some(i.clamp(0, count - 1) as usize),
    };
    if !mixes {
        return vec![(element(at.floor() as i64), 1.0)];
    }
    let floor = (at - 0.5).floor();
    let weight = at - 0.5 - floor;
    vec![(element(floor as i64), 1.0 - weight), (element(floor as i64 + 1), weight)]
}

const READ: &str =
    "kernel void t(read_only image2d_t image, sampler_t s, global const float2 *at, global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = read_imagef(image, s, at[i]);
}";

#[test]
fn samplers_read_what_the_model_says() {
    const COUNT: usize = 96;
    let [width, height] = [13, 7];
    let session = session();
    let queue = session.queue();
    let (_program, kernel) = session.kernel(READ, "", "t");
    let modes = [CL_ADDRESS_CLAMP, CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT];
    for (format, size, decode) in formats() {
        let mut bytes = content(format, width * height * size);
        let image = image(CL_MEM_OBJECT_IMAGE2D, format, [width, height, 1], 1, &mut bytes);
        for (addressing, normalized, mixes) in modes.into_iter().flat_map(|mode| {
            let repeats = [CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT].contains(&mode);
            [(mode, true, false), (mode, true, true), (mode, false, false), (mode, false, true)]
                .into_iter()
                .filter(move |(_, normalized, _)| *normalized || !repeats)
        }) {
            let filter = if mixes { CL_FILTER_LINEAR } else { CL_FILTER_NEAREST };
            let sampler =
                create_sampler(session.context.get(), normalized.into(), addressing, filter).expect("a sampler");
            // Around the image and inside; away from where rounding decides.
            let coordinate = |seed, i, size: usize| {
                let eighths = (spread(seed, i) % (8 * size as u64 * 2)) as f32 - 4.0 * size as f32;
                let at = (eighths * 2.0 + 1.0) / 16.0;
                if normalized { at / size as f32 } else { at }
            };
            let mut at: Vec<f32> =
                (0..COUNT).flat_map(|i| [coordinate(7, i, width), coordinate(11, i, height)]).collect();
            let (at_buffer, out) = (buffer(&mut at), buffer(&mut vec![0f32; COUNT * 4]));
            run(&queue, &kernel, &[COUNT], |execute| {
                // SAFETY: the arguments are those of the kernel.
                unsafe { execute.set_arg(&image).set_arg(&sampler).set_arg(&at_buffer).set_arg(&out) };
            });
            // SAFETY: the launch has ended.
            unsafe { release_sampler(sampler) }.expect("released");
            let got = floats(&queue, &out, COUNT * 4);
            for i in 0..COUNT {
                let along = |d: usize, size| taps(at[2 * i + d].into(), size, normalized, addressing, mixes);
                let opaque = [CL_RG, CL_RGB, CL_R, CL_LUMINANCE].contains(&format.0);
                let border = [0.0, 0.0, 0.0, if opaque { 1.0 } else { 0.0 }];
                let mut want = [0.0; 4];
                for (y, v) in along(1, height) {
                    for (x, u) in along(0, width) {
                        let colour = match (x, y) {
                            (Some(x), Some(y)) => decode(&bytes[(y * width + x) * size..][..size]),
                            _ => border,
                        };
                        (0..4).for_each(|c| want[c] += colour[c] * u * v);
                    }
                }
                for c in 0..4 {
                    let (want, got) = (want[c], f64::from(got[4 * i + c]));
                    assert!(
                        (want - got).abs() <= 2e-4 * want.abs().max(0.5),
                        "{format:x?} addressing {addressing:x} normalized {normalized} linear {mixes} at {:?}: \
                         component {c} is {got}, not {want}",
                        &at[2 * i..2 * i + 2]
                    );
                }
            }
        }
        // SAFETY: it is not used any more.
        unsafe { release_mem_object(image) }.expect("released");
    }
}

#[test]
fn integers_in_upper_bits_are_read_and_written() {
    let session = session();
    let queue = session.queue();
    // Values that are too large are clamped; what was in the lower bits does not matter to a read, and a write clears it.
    let source = "#ifndef __opencl_c_ext_image_unsigned_10x6_12x4_14x2
        #error the feature is missing
        #endif
        kernel void t(read_only image2d_t in, write_only image2d_t to, global uint *out) {
        int2 at = (int2)(get_global_id(0), get_global_id(1));
        uint4 colour = read_imageui(in, at);
        int i = at.x + at.y * get_image_width(in);
        vstore4(colour, i, out);
        write_imageui(to, at, colour * 3);
        if (i == 0) {
            int type = get_image_channel_data_type(in);
            int known = type == CLK_UNSIGNED_INT10X6_EXT ? 10 : type == CLK_UNSIGNED_INT12X4_EXT ? 12
                : type == CLK_UNSIGNED_INT14X2_EXT ? 14 : 0;
            out[4 * get_image_width(in) * get_image_height(in)] = known;
        }
    }";
    let (_program, kernel) = session.kernel(source, "-cl-std=CL3.0", "t");
    let [width, height] = [19, 3];
    for ((data, bits), (order, channels)) in
        UPPER_INTEGERS.into_iter().flat_map(|data| [(CL_R, 1), (CL_RG, 2), (CL_RGBA, 4)].map(|order| (data, order)))
    {
        let size = 2 * channels;
        let mut bytes = content((order, data), width * height * size);
        let mut written = vec![0xAA_u8; bytes.len()];
        let [input, output] = [&mut bytes, &mut written]
            .map(|bytes| image(CL_MEM_OBJECT_IMAGE2D, (order, data), [width, height, 1], 1, bytes));
        let out = buffer(&mut vec![0u32; 4 * width * height + 1]);
        run(&queue, &kernel, &[width, height], |execute| {
            // SAFETY: the arguments are those of the kernel.
            unsafe { execute.set_arg(&input).set_arg(&output).set_arg(&out) };
        });
        let mut got = vec![0u32; 4 * width * height + 1];
        let (origin, region, host) = ([0usize; 3], [width, height, 1], written.as_mut_ptr().cast());
        // SAFETY: they block, and there is room for the whole image and buffer.
        unsafe {
            queue.enqueue_read_buffer(&out, CL_TRUE, 0, &mut got, &[]).expect("a read");
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            cl3::command_queue::enqueue_read_image(queue.get(), output, CL_TRUE, origin, region, 0, 0, host, 0, null())
                .expect("a read");
            release_mem_object(input).expect("released");
            release_mem_object(output).expect("released");
        }
        assert_eq!(got[4 * width * height], bits);
        for element in 0..width * height {
            for channel in 0..4 {
                let at = element * size + 2 * channel;
                let value = if channel < channels {
                    u32::from(short(&bytes[at..]) >> (16 - bits))
                } else {
                    u32::from(channel == 3)
                };
                assert_eq!(got[4 * element + channel], value, "{data:x} {order:x} {element} {channel}");
                if channel < channels {
                    let stored = (3 * value).min((1 << bits) - 1) << (16 - bits);
                    assert_eq!(u32::from(short(&written[at..])), stored, "{data:x} {order:x} {element} {channel}");
                }
            }
        }
    }
}

#[test]
fn ignored_channels_are_ignored() {
    let session = session();
    let queue = session.queue();
    let source = "kernel void t(read_only image2d_t in, write_only image2d_t to, global uint *out) {
        int2 at = (int2)(get_global_id(0), get_global_id(1));
        uint4 colour = read_imageui(in, at);
        vstore4(colour, at.x + at.y * get_image_width(in), out);
        write_imageui(to, at, colour + (uint4)(1, 2, 3, 4));
    }";
    let (_program, kernel) = session.kernel(source, "-cl-std=CL3.0", "t");
    let [width, height] = [19, 3];
    let types = [(CL_UNSIGNED_INT8, 1), (CL_UNSIGNED_INT16, 2), (CL_UNSIGNED_INT32, 4)];
    let orders = [(CL_Rx, 1, 2), (CL_RGBx, 3, 4)];
    for ((data, bytes), (order, used, channels)) in types.into_iter().flat_map(|data| orders.map(|order| (data, order)))
    {
        let size = bytes * channels;
        let mut content = content((order, data), width * height * size);
        let mut written = vec![0u8; content.len()];
        let [input, output] = [&mut content, &mut written]
            .map(|bytes| image(CL_MEM_OBJECT_IMAGE2D, (order, data), [width, height, 1], 1, bytes));
        let out = buffer(&mut vec![0u32; 4 * width * height]);
        run(&queue, &kernel, &[width, height], |execute| {
            // SAFETY: the arguments are those of the kernel.
            unsafe { execute.set_arg(&input).set_arg(&output).set_arg(&out) };
        });
        let mut got = vec![0u32; 4 * width * height];
        // SAFETY: it blocks, and there is room.
        unsafe { queue.enqueue_read_buffer(&out, CL_TRUE, 0, &mut got, &[]) }.expect("a read");
        read_image(&queue, output, [width, height, 1], &mut written);
        let number = |content: &[u8], at: usize| {
            let mut word = [0; 4];
            word[..bytes].copy_from_slice(&content[at..at + bytes]);
            u32::from_le_bytes(word)
        };
        for (element, colour) in got.chunks_exact(4).enumerate() {
            for (channel, &got) in colour.iter().enumerate() {
                let at = element * size + channel * bytes;
                let want = if channel < used { number(&content, at) } else { u32::from(channel == 3) };
                assert_eq!(got, want, "{order:x} {data:x} element {element} channel {channel}");
                if channel < used {
                    let most = u32::MAX >> (32 - 8 * bytes);
                    let want = want.saturating_add(channel as u32 + 1).min(most);
                    // 32-bit sums wrap before they are written.
                    let want = if bytes == 4 { number(&content, at).wrapping_add(channel as u32 + 1) } else { want };
                    assert_eq!(number(&written, at), want, "{order:x} {data:x} element {element} channel {channel}");
                }
            }
        }
        release([input, output]);
    }
}

#[test]
fn raw_sensor_data_is_read() {
    let session = session();
    let queue = session.queue();
    let source = "#ifndef __opencl_c_ext_image_raw10_raw12
        #error the feature is missing
        #endif
        kernel void t(read_only image2d_t in, sampler_t s, global uint *out) {
        int2 at = (int2)(get_global_id(0), get_global_id(1));
        int width = get_image_width(in);
        vstore4(read_imageui(in, at), at.x + at.y * width, out);
        if (at.x + at.y == 0) {
            int type = get_image_channel_data_type(in), end = 4 * width * get_image_height(in);
            out[end] = type == CLK_UNSIGNED_INT_RAW10_EXT ? 10 : type == CLK_UNSIGNED_INT_RAW12_EXT ? 12 : 0;
            vstore4(read_imageui(in, s, (int2)(-1, 1)), 0, out + end + 1);
        }
    }";
    let (_program, kernel) = session.kernel(source, "-cl-std=CL3.0", "t");
    let sampler = create_sampler(session.context.get(), 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST).expect("a sampler");
    let [width, height] = [20, 3];
    for (data, bits, elements, bytes) in [(RAW10, 10, 4, 5), (RAW12, 12, 2, 3)] {
        let row = width / elements * bytes;
        let mut content = content((CL_R, data), row * height);
        let image = image(CL_MEM_OBJECT_IMAGE2D, (CL_R, data), [width, height, 1], 1, &mut content);
        let end = 4 * width * height;
        let out = buffer(&mut vec![0u32; end + 5]);
        run(&queue, &kernel, &[width, height], |execute| {
            // SAFETY: the arguments are those of the kernel.
            unsafe { execute.set_arg(&image).set_arg(&sampler).set_arg(&out) };
        });
        let mut got = vec![0u32; end + 5];
        // SAFETY: it blocks, and there is room.
        unsafe { queue.enqueue_read_buffer(&out, CL_TRUE, 0, &mut got, &[]) }.expect("a read");
        let element = |content: &[u8], x: usize, y: usize| {
            let group = &content[y * row + x / elements * bytes..][..bytes];
            let low = group[elements] >> (x % elements * (bits - 8)) & ((1 << (bits - 8)) - 1);
            u32::from(group[x % elements]) << (bits - 8) | u32::from(low)
        };
        for (i, colour) in got[..end].chunks_exact(4).enumerate() {
            assert_eq!(colour, [element(&content, i % width, i / width), 0, 0, 1], "{data:x} element {i}");
        }
        assert_eq!(got[end..], [bits as u32, 0, 0, 0, 1], "{data:x}");

        // The host writes whole groups: the second one of the second row.
        let [origin, region] = [[elements, 1, 0], [elements, 1, 1]];
        let colour = [0x3A5u32, 0, 0, 0];
        // SAFETY: the colour lives until the queue has ended.
        unsafe {
            let (origin, region) = (origin.as_ptr(), region.as_ptr());
            let colour = colour.as_ptr().cast();
            cl3::command_queue::enqueue_fill_image(queue.get(), image, colour, origin, region, 0, null())
                .expect("a fill");
        }
        let mut after = vec![0; content.len()];
        read_image(&queue, image, [width, height, 1], &mut after);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let filled = y == 1 && x / elements == 1;
            let want = if filled { 0x3A5 } else { element(&content, x, y) };
            assert_eq!(element(&after, x, y), want, "{data:x} at {x}, {y}");
        }
        release([image]);
    }
    // SAFETY: it is not used any more.
    unsafe { release_sampler(sampler) }.expect("released");
}

fn read_image(queue: &CommandQueue, image: cl_mem, region: Size, bytes: &mut [u8]) {
    let (origin, region, host) = ([0usize; 3].as_ptr(), region.as_ptr(), bytes.as_mut_ptr().cast());
    // SAFETY: it blocks, and there is room for the whole image.
    unsafe {
        cl3::command_queue::enqueue_read_image(queue.get(), image, CL_TRUE, origin, region, 0, 0, host, 0, null())
    }
    .expect("a read");
}

fn release<const N: usize>(images: [cl_mem; N]) {
    for image in images {
        // SAFETY: they are not used any more.
        unsafe { release_mem_object(image) }.expect("released");
    }
}

#[test]
fn writes_stay_inside() {
    let session = session();
    let queue = session.queue();
    // One row and column beyond the image on each side.
    let source = "kernel void t(write_only image2d_t image) {
        int2 at = (int2)(get_global_id(0), get_global_id(1)) - 1;
        write_imagef(image, at, (float4)(at.x / 16.0f, at.y / 16.0f, 2.0f, -1.0f));
    }";
    let (_program, kernel) = session.kernel(source, "", "t");
    let [width, height] = [37, 5];
    for (order, places) in [(CL_RGBA, [0, 1, 2, 3]), (CL_BGRA, [2, 1, 0, 3]), (CL_ABGR, [3, 2, 1, 0])] {
        let mut bytes = vec![77u8; width * height * 4];
        let image = image(CL_MEM_OBJECT_IMAGE2D, (order, CL_UNORM_INT8), [width, height, 1], 1, &mut bytes);
        run(&queue, &kernel, &[width + 2, height + 2], |execute| {
            // SAFETY: the argument is the kernel's.
            unsafe { execute.set_arg(&image) };
        });
        let (origin, region) = ([0usize; 3], [width, height, 1]);
        let (origin, region, host) = (origin.as_ptr(), region.as_ptr(), bytes.as_mut_ptr().cast());
        // SAFETY: it blocks, and there is room for the whole image.
        unsafe {
            cl3::command_queue::enqueue_read_image(queue.get(), image, CL_TRUE, origin, region, 0, 0, host, 0, null())
        }
        .expect("a read");
        for (i, element) in bytes.chunks_exact(4).enumerate() {
            let scaled = |at: usize| (at as f32 / 16.0 * 255.0).min(255.0).round_ties_even() as u8;
            let want = [scaled(i % width), scaled(i / width), 255, 0];
            assert_eq!(places.map(|place| element[place]), want, "{order:x} element {i}");
        }
        // SAFETY: it is not used any more.
        unsafe { release_mem_object(image) }.expect("released");
    }
}

#[test]
fn every_type_and_its_sizes() {
    let session = session();
    let queue = session.queue();
    let source = "kernel void t(read_only image1d_t a, read_only image1d_array_t b, read_only image2d_array_t c,
                                read_only image3d_t d, global float *out) {
        const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
        out[0] = read_imageui(a, 3).x;
        out[1] = read_imageui(b, s, (float2)(2.5f, 1.2f)).x;
        out[2] = read_imageui(c, (int4)(1, 2, 1, 0)).x;
        out[3] = read_imageui(d, s, (int4)(2, 1, 9, 0)).x;
        out[4] = get_image_width(a);
        out[5] = get_image_array_size(b);
        out[6] = get_image_dim(c).y;
        out[7] = get_image_depth(d);
        out[8] = get_image_channel_data_type(d) == CLK_UNSIGNED_INT8;
        out[9] = get_image_channel_order(a) == CLK_R;
    }";
    let (_program, kernel) = session.kernel(source, "", "t");
    let format = (CL_R, CL_UNSIGNED_INT8);
    let mut bytes: Vec<u8> = (0..60).collect();
    let made = |kind, size, layers, bytes: &mut Vec<u8>| image(kind, format, size, layers, bytes);
    let images = [
        made(CL_MEM_OBJECT_IMAGE1D, [5, 1, 1], 1, &mut bytes),
        made(CL_MEM_OBJECT_IMAGE1D_ARRAY, [5, 1, 1], 3, &mut bytes),
        made(CL_MEM_OBJECT_IMAGE2D_ARRAY, [5, 4, 1], 3, &mut bytes),
        made(CL_MEM_OBJECT_IMAGE3D, [5, 4, 3], 1, &mut bytes),
    ];
    let out = buffer(&mut [0f32; 10]);
    run(&queue, &kernel, &[1], |execute| {
        // SAFETY: the arguments are those of the kernel.
        images.iter().for_each(|image| _ = unsafe { execute.set_arg(image) });
        // SAFETY: as above.
        unsafe { execute.set_arg(&out) };
    });
    let want = [3.0, 5.0 + 2.0, 20.0 + 10.0 + 1.0, 40.0 + 5.0 + 2.0, 5.0, 3.0, 4.0, 3.0, 1.0, 1.0];
    assert_eq!(floats(&queue, &out, 10), want);
    for image in images {
        // SAFETY: it is not used any more.
        unsafe { release_mem_object(image) }.expect("released");
    }
}

/// `clEnqueueFillImage` encodes colours on the host, `write_imagef` in kernels: they round alike, also between two numbers.
#[test]
fn fills_and_writes_encode_colours_alike() {
    let session = session();
    let queue = session.queue();
    let source = "kernel void t(write_only image2d_t image, global const float4 *colours) {
        int x = get_global_id(0);
        write_imagef(image, (int2)(x, 0), colours[x]);
    }";
    let (_program, kernel) = session.kernel(source, "", "t");
    // Halves of the numbers of fields of all sizes, of both signs, and beyond 1.
    let maxima = [3u32, 31, 63, 127, 255, 1023, 4095, 16383, 32767, 65535];
    let half = |i: usize, c: usize| {
        let max = maxima[i % maxima.len()];
        let number = (spread(11, 4 * i + c) % u64::from(max + 2)) as f32 + 0.5;
        let sign = if i % 3 == 2 { -1.0 } else { 1.0 };
        sign * number / max as f32
    };
    let mut colours: Vec<[f32; 4]> = (0..200).map(|i| [0, 1, 2, 3].map(|c| half(i, c))).collect();
    let values = buffer(colours.as_flattened_mut());
    for (format, bytes, _) in formats() {
        if [CL_sRGBA, SRGBX].contains(&format.0) {
            continue; // the curve has an error of its own
        }
        let region = [colours.len(), 1, 1];
        let mut got = [vec![0u8; colours.len() * bytes], vec![0u8; colours.len() * bytes]];
        let [filled, written] = got.each_mut().map(|bytes| image(CL_MEM_OBJECT_IMAGE2D, format, region, 1, bytes));
        for (x, colour) in colours.iter().enumerate() {
            let (origin, region, colour) = ([x, 0, 0], [1, 1, 1], colour.as_ptr().cast());
            let (origin, region): (*const usize, *const usize) = (origin.as_ptr(), region.as_ptr());
            // SAFETY: the colour has four floats.
            unsafe { cl3::command_queue::enqueue_fill_image(queue.get(), filled, colour, origin, region, 0, null()) }
                .expect("a fill");
        }
        run(&queue, &kernel, &region[..1], |execute| {
            // SAFETY: the arguments are the kernel's.
            unsafe { execute.set_arg(&written).set_arg(&values) };
        });
        read_image(&queue, filled, region, &mut got[0]);
        read_image(&queue, written, region, &mut got[1]);
        for (x, colour) in colours.iter().enumerate() {
            let [filled, written] = got.each_ref().map(|all| &all[x * bytes..][..bytes]);
            assert_eq!(filled, written, "{format:x?} {colour:?}");
        }
        release([filled, written]);
    }
}
