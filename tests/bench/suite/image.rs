//! Pictures: images of RGBA bytes, read through samplers.

use opencl3::memory::{CL_FLOAT, CL_UNORM_INT8};

use crate::work::{Random, Tolerance, Work, args};

/// Elements along each side.
const SIDE: usize = 1024;

/// A byte as a number from 0 to 1, and back.
fn from_byte(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

fn to_byte(value: f32) -> u8 {
    (value * 255.0).round_ties_even().clamp(0.0, 255.0) as u8
}

/// A byte may be the one next to it: a device rounds as it likes.
const BYTES: Tolerance = Tolerance::close(0.0, 1.0);

/// A work of one launch over a random picture, to another one made of it element by element; `colour` gets the picture, x and y.
fn picture(
    kernel: &'static str,
    weights: Option<&[f32]>,
    colour: impl Fn(&dyn Fn(i64, i64) -> [f32; 4], usize, usize) -> [f32; 4] + 'static,
) -> Work {
    let mut work = Work::default();
    let bytes = Random::new(80).bytes(SIDE * SIDE * 4);
    let input = work.input(&bytes);
    work.image(input, [SIDE, SIDE], CL_UNORM_INT8);
    let output = work.output(SIDE * SIDE * 4, BYTES, move || {
        let read = |x: i64, y: i64| {
            let [x, y] = [x, y].map(|at| at.clamp(0, SIDE as i64 - 1) as usize);
            [0, 1, 2, 3].map(|c| from_byte(bytes[(y * SIDE + x) * 4 + c]))
        };
        (0..SIDE * SIDE).flat_map(|i| colour(&read, i % SIDE, i / SIDE).map(to_byte)).collect::<Vec<u8>>()
    });
    work.image(output, [SIDE, SIDE], CL_UNORM_INT8);
    let mut arguments = args![input, output];
    if let Some(weights) = weights {
        let weights = work.input(weights);
        arguments.extend(args![weights]);
    }
    work.launch(kernel, arguments, &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn image_copy() -> Work {
    picture("image_copy", None, |read, x, y| read(x as i64, y as i64))
}

pub(super) fn image_grayscale() -> Work {
    picture("image_grayscale", None, |read, x, y| {
        let [r, g, b, a] = read(x as i64, y as i64);
        let gray = 0.299 * r + 0.587 * g + 0.114 * b;
        [gray, gray, gray, a]
    })
}

pub(super) fn image_convolution() -> Work {
    let weights: Vec<f32> = (0..25).map(|i| 1.0 / 25.0 + (i as f32 - 12.0) / 1000.0).collect();
    let taken = weights.clone();
    picture("image_convolution", Some(&weights), move |read, x, y| {
        let mut sum = [0.0; 4];
        for (i, weight) in taken.iter().enumerate() {
            let [dx, dy] = [i % 5, i / 5].map(|at| at as i64 - 2);
            let colour = read(x as i64 + dx, y as i64 + dy);
            (0..4).for_each(|c| sum[c] += weight * colour[c]);
        }
        sum
    })
}

pub(super) fn image_bilinear() -> Work {
    /// Elements along each side of the smaller picture.
    const SMALL: usize = 700;
    let mut work = Work::default();
    let bytes = Random::new(81).bytes(SMALL * SMALL * 4);
    let input = work.input(&bytes);
    work.image(input, [SMALL, SMALL], CL_UNORM_INT8);
    // Hardware mixes with weights of eight bits, and so may a device.
    let output = work.output(SIDE * SIDE * 4, Tolerance::close(0.0, 2.0), move || {
        let along = |at: usize| {
            let at = (at as f64 + 0.5) / SIDE as f64 * SMALL as f64 - 0.5;
            let near = |i: f64| i.clamp(0.0, SMALL as f64 - 1.0) as usize;
            ([near(at.floor()), near(at.floor() + 1.0)], at - at.floor())
        };
        let mixed = |i: usize| {
            let ((xs, u), (ys, v)) = (along(i % SIDE), along(i / SIDE));
            [0, 1, 2, 3].map(|c| {
                let read = |x: usize, y: usize| f64::from(from_byte(bytes[(y * SMALL + x) * 4 + c]));
                let row = |y: usize| read(xs[0], y) * (1.0 - u) + read(xs[1], y) * u;
                to_byte((row(ys[0]) * (1.0 - v) + row(ys[1]) * v) as f32)
            })
        };
        (0..SIDE * SIDE).flat_map(mixed).collect::<Vec<u8>>()
    });
    work.image(output, [SIDE, SIDE], CL_UNORM_INT8);
    work.launch("image_bilinear", args![input, output], &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn image_convert() -> Work {
    let mut work = Work::default();
    let bytes = Random::new(82).bytes(SIDE * SIDE * 4);
    let input = work.input(&bytes);
    work.image(input, [SIDE, SIDE], CL_UNORM_INT8);
    let output = work.output(SIDE * SIDE * 4, Tolerance::close(1e-5, 1e-5), move || {
        bytes.iter().map(|byte| from_byte(*byte) * 2.0 - 1.0).collect::<Vec<f32>>()
    });
    work.image(output, [SIDE, SIDE], CL_FLOAT);
    work.launch("image_convert", args![input, output], &[SIDE, SIDE], &[16, 16]);
    work
}
