//! Mipmapped images: levels that the host writes and kernels sample, and vice versa.

use std::ptr::{null, null_mut};

use cl3::command_queue::{enqueue_read_image, enqueue_write_image};
use cl3::ext::*;
use cl3::memory::*;
use cl3::sampler::{create_sampler_with_properties, release_sampler};
use cl3::types::{CL_TRUE, cl_image_desc, cl_image_format, cl_mem, cl_sampler, cl_sampler_properties, cl_uint};
use opencl3::command_queue::CommandQueue;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::Buffer;

use clift_tests::session::session;

const WIDTH: usize = 12;
const HEIGHT: usize = 9;
const LEVELS: usize = 4;

/// An image of floats, of `layers` where it is an array.
fn image(kind: cl_uint, layers: usize) -> cl_mem {
    let format = cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_FLOAT };
    let desc = cl_image_desc {
        image_type: kind,
        image_width: WIDTH,
        image_height: HEIGHT,
        image_depth: 1,
        image_array_size: layers,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: LEVELS as cl_uint,
        num_samples: 0,
        buffer: null_mut(),
    };
    // SAFETY: it has memory of its own.
    unsafe { create_image(session().context.get(), 0, &raw const format, &raw const desc, null_mut()) }
        .expect("an image")
}

fn size(level: usize) -> [usize; 2] {
    [WIDTH, HEIGHT].map(|size| (size >> level).max(1))
}

/// The value that the host writes to an element of a layer of a level.
fn value(level: usize, layer: usize, [x, y]: [usize; 2]) -> f32 {
    (1000 * level + 200 * layer + 20 * y + x) as f32
}

fn elements(level: usize) -> impl Iterator<Item = [usize; 2]> {
    let [width, height] = size(level);
    (0..height).flat_map(move |y| (0..width).map(move |x| [x, y]))
}

/// Writes all levels; the position of the level in an origin depends on the type.
fn write(queue: &CommandQueue, image: cl_mem, layers: usize, level_at: usize) {
    for level in 0..LEVELS {
        let [width, height] = size(level);
        for layer in 0..layers {
            let mut values: Vec<f32> = elements(level).map(|at| value(level, layer, at)).collect();
            let mut origin = [0, 0, layer, 0];
            origin[level_at] = level;
            let (host, region) = (values.as_mut_ptr().cast(), [width, height, 1]);
            // SAFETY: it blocks, and there are as many values.
            unsafe {
                let (origin, region) = (origin.as_ptr(), region.as_ptr());
                enqueue_write_image(queue.get(), image, CL_TRUE, origin, region, 0, 0, host, 0, null())
            }
            .expect("a write");
        }
    }
}

fn sampler(linear_levels: bool, [min, max]: [f32; 2]) -> cl_sampler {
    let filter = if linear_levels { CL_FILTER_LINEAR } else { CL_FILTER_NEAREST };
    let property = |name: u64, value: u32| [name as cl_sampler_properties, value.into()];
    let mut list = [
        property(CL_SAMPLER_ADDRESSING_MODE.into(), CL_ADDRESS_CLAMP_TO_EDGE),
        property(CL_SAMPLER_MIP_FILTER_MODE_KHR, filter),
        property(CL_SAMPLER_LOD_MIN_KHR, min.to_bits()),
        property(CL_SAMPLER_LOD_MAX_KHR, max.to_bits()),
    ]
    .concat();
    list.push(0);
    create_sampler_with_properties(session().context.get(), list.as_ptr()).expect("a sampler")
}

fn results(queue: &CommandQueue, count: usize, execute: &mut ExecuteKernel<'_>) -> Vec<f32> {
    let mut values = vec![0f32; count];
    // SAFETY: no memory of the host is used.
    let out = unsafe { Buffer::create(&session().context, 0, count, null_mut()) }.expect("a buffer");
    // SAFETY: the argument is the kernel's last, which writes as many values as there are work-items.
    unsafe { execute.set_arg(&out).set_global_work_size(count).enqueue_nd_range(queue) }.expect("a launch");
    // SAFETY: it blocks, and there is room.
    unsafe { queue.enqueue_read_buffer(&out, CL_TRUE, 0, &mut values, &[]) }.expect("a read");
    values
}

#[test]
fn levels_are_sampled() {
    let session = session();
    let queue = session.queue();
    let source = "
    kernel void by_level(read_only image2d_t image, sampler_t s, global float *out) {
        int i = get_global_id(0);
        float lod = i / 4.0f - 1.0f;
        // Element (1, 1) of a level of any size, or the last one.
        int level = clamp((int)floor(lod + 0.5f), 0, 3);
        float2 size = max((float2)(12 >> level, 9 >> level), 1.0f);
        out[i] = i == 31 ? get_image_num_mip_levels(image) : read_imagef(image, s, (float2){1.5f, 1.5f} / size, lod).x;
    }
    kernel void by_gradient(read_only image2d_t image, sampler_t s, global float *out) {
        int i = get_global_id(0);
        float step = exp2((float)i) / 12.0f;
        out[i] = read_imagef(image, s, (float2)(0.01f, 0.01f), (float2)(step, 0), (float2)(0, step / 64)).x;
    }
    kernel void without(read_only image2d_t image, sampler_t s, global float *out) {
        int i = get_global_id(0);
        out[i] = read_imagef(image, s, (float2){(i + 0.5f) / 12, 0.5f}).x;
    }";
    let program = session.build(source, "").expect("a program");
    let image = image(CL_MEM_OBJECT_IMAGE2D, 1);
    write(&queue, image, 1, 2);
    let element = |level: usize| {
        let [width, height] = size(level);
        value(level, 0, [1.min(width - 1), 1.min(height - 1)])
    };
    // What a kernel stores with a sampler, which is released.
    let run = |name: &str, count, sampler: cl_sampler| {
        let kernel = Kernel::create(&program, name).expect("the kernel");
        let mut execute = ExecuteKernel::new(&kernel);
        // SAFETY: the arguments are those of the kernel.
        unsafe { execute.set_arg(&image).set_arg(&sampler) };
        let got = results(&queue, count, &mut execute);
        // SAFETY: the launch has ended.
        unsafe { release_sampler(sampler) }.expect("released");
        got
    };
    let got = run("by_level", 32, sampler(false, [0.0, f32::MAX]));
    assert_eq!(got[31], LEVELS as f32);
    for (i, got) in got.iter().enumerate().take(31) {
        let lod = (i as f32 / 4.0 - 1.0).clamp(0.0, 3.0);
        if lod.fract() != 0.5 {
            assert_eq!(*got, element(lod.round() as usize), "level {lod}");
        }
    }
    let got = run("by_level", 32, sampler(false, [1.0, 2.0]));
    assert_eq!([got[0], got[8], got[12], got[31]], [element_at(1, 0), element(1), element(2), LEVELS as f32]);
    let got = run("by_gradient", 4, sampler(false, [0.0, f32::MAX]));
    assert_eq!(got, [0, 1, 2, 3].map(|level| value(level, 0, [0, 0])));
    let got = run("by_gradient", 4, sampler(true, [0.5, 1.25]));
    assert_eq!(got, [500.0, 1000.0, 1250.0, 1250.0]);
    let got = run("without", 12, sampler(true, [2.0, 3.0]));
    assert_eq!(got, (0..12).map(|x| value(0, 0, [x, 4])).collect::<Vec<_>>());
    // SAFETY: it is not used any more.
    unsafe { release_mem_object(image) }.expect("released");
}

/// The expected value at the position of element (1, 1) of another level.
fn element_at(level: usize, place_of: usize) -> f32 {
    let at = |d: usize| (size(level)[d] as f32 * 1.5 / size(place_of)[d] as f32) as usize;
    value(level, 0, [at(0), at(1)])
}

/// Colours as halves, with levels and without, in every version of the language that has the functions.
#[test]
fn colours_are_halves() {
    let session = session();
    let queue = session.queue();
    let source = "
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void reads(read_only image2d_t image, sampler_t s, global float *out) {
        const sampler_t own = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
        int i = get_global_id(0);
        half4 a = read_imageh(image, (int2)(i, 2));
        half4 b = read_imageh(image, own, (int2)(i, 3));
        half4 c = read_imageh(image, s, (float2)((i + 0.5f) / 12, 4.5f / 9));
        half4 d = read_imageh(image, s, (float2)(0.9f, 0.9f), (float)(i & 1));
        half4 e = read_imageh(image, s, (float2)(0.01f), (float2)(2.0f / 12, 0), (float2)(0));
        out[i] = (float)a.x + (float)b.x * 2 + (float)c.x * 4 + (float)d.x * 8 + (float)e.x * 16;
    }
    kernel void writes(write_only image2d_t image, int dummy, global float *out) {
        int i = get_global_id(0);
        write_imageh(image, (int2)(i, 0), (half4)(i * 0.5h + 1));
        if (i < 6) write_imageh(image, (int2)(i, 0), 1, (half4)(i * 0.25h + 2));
        out[i] = dummy;
    }";
    for options in ["", "-cl-opt-disable", "-cl-std=CL2.0", "-cl-std=CL3.0"] {
        let program = session.build(source, options).expect("a program");
        let image = image(CL_MEM_OBJECT_IMAGE2D, 1);
        write(&queue, image, 1, 2);
        let sampler = sampler(false, [0.0, f32::MAX]);
        let kernel = Kernel::create(&program, "reads").expect("the kernel");
        let mut execute = ExecuteKernel::new(&kernel);
        // SAFETY: the arguments are those of the kernel.
        unsafe { execute.set_arg(&image).set_arg(&sampler) };
        let got = results(&queue, 12, &mut execute);
        for (x, got) in got.into_iter().enumerate() {
            let last = if x % 2 == 0 { value(0, 0, [10, 8]) } else { value(1, 0, [5, 3]) };
            let want = value(0, 0, [x, 2]) + value(0, 0, [x, 3]) * 2.0 + value(0, 0, [x, 4]) * 4.0;
            assert_eq!(got, want + last * 8.0 + value(1, 0, [0, 0]) * 16.0, "{options} {x}");
        }
        let kernel = Kernel::create(&program, "writes").expect("the kernel");
        let mut execute = ExecuteKernel::new(&kernel);
        // SAFETY: the arguments are those of the kernel.
        unsafe { execute.set_arg(&image).set_arg(&5i32) };
        results(&queue, 12, &mut execute);
        for (level, [step, first]) in [[0.5f32, 1.0], [0.25, 2.0]].into_iter().enumerate() {
            let mut values = vec![0f32; size(level)[0]];
            let (origin, region) = ([0, 0, level], [values.len(), 1, 1]);
            let (host, origin, region) = (values.as_mut_ptr().cast(), origin.as_ptr(), region.as_ptr());
            // SAFETY: it blocks, and there is room.
            unsafe { enqueue_read_image(queue.get(), image, CL_TRUE, origin, region, 0, 0, host, 0, null()) }
                .expect("a read");
            let want: Vec<f32> = (0..values.len()).map(|x| x as f32 * step + first).collect();
            assert_eq!(values, want, "{options} level {level}");
        }
        // SAFETY: they are not used any more.
        unsafe {
            release_sampler(sampler).expect("released");
            release_mem_object(image).expect("released");
        }
    }
}

#[test]
fn levels_of_arrays_are_written_by_kernels() {
    const LAYERS: usize = 3;
    let session = session();
    let queue = session.queue();
    let source = "
    kernel void t(write_only image2d_array_t image, int lod, global float *out) {
        int4 at = (int4)(get_global_id(0) % 4, get_global_id(0) / 4, 1, 0);
        // Outside of small levels, too.
        write_imagef(image, at, lod, (float4)(-1.0f - lod));
        out[get_global_id(0)] = lod;
    }";
    let (_program, kernel) = session.kernel(source, "", "t");
    let image = image(CL_MEM_OBJECT_IMAGE2D_ARRAY, LAYERS);
    write(&queue, image, LAYERS, 3);
    for level in 1..LEVELS {
        let lod = level as i32;
        let mut execute = ExecuteKernel::new(&kernel);
        // SAFETY: the arguments are those of the kernel.
        unsafe { execute.set_arg(&image).set_arg(&lod) };
        results(&queue, 16, &mut execute);
    }
    for level in 0..LEVELS {
        let [width, height] = size(level);
        let mut values = vec![0f32; width * height * LAYERS];
        let (origin, region) = ([0, 0, 0, level], [width, height, LAYERS]);
        let (host, origin, region) = (values.as_mut_ptr().cast(), origin.as_ptr(), region.as_ptr());
        // SAFETY: it blocks, and there is room.
        unsafe { enqueue_read_image(queue.get(), image, CL_TRUE, origin, region, 0, 0, host, 0, null()) }
            .expect("a read");
        let all = (0..LAYERS).flat_map(|layer| elements(level).map(move |at| (layer, at)));
        for ((layer, at), got) in all.zip(values) {
            let written = level > 0 && layer == 1 && at[0] < 4 && at[1] < 4;
            let want = if written { -1.0 - level as f32 } else { value(level, layer, at) };
            assert_eq!(got, want, "level {level} layer {layer} at {at:?}");
        }
    }
    // SAFETY: it is not used any more.
    unsafe { release_mem_object(image) }.expect("released");
}
