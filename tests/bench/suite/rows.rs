//! Work-items that walk along rows of their own, and storage in half precision.

use half::f16;

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn layer_norm() -> Work {
    const ROWS: usize = 4096;
    const LENGTH: usize = 256;
    const EPSILON: f32 = 1e-5;
    let mut work = Work::default();
    let rows = Random::new(90).floats(ROWS * LENGTH, -2.0, 3.0);
    let input = work.input(&rows);
    let output = work.output(ROWS * LENGTH, Tolerance::close(1e-3, 1e-3), move || {
        let normalized = |row: &[f32]| {
            let mean = row.iter().sum::<f32>() / LENGTH as f32;
            let squares = row.iter().map(|value| value * value).sum::<f32>() / LENGTH as f32;
            let scale = (squares - mean * mean + EPSILON).sqrt().recip();
            row.iter().map(|value| (value - mean) * scale).collect::<Vec<f32>>()
        };
        rows.chunks(LENGTH).flat_map(normalized).collect()
    });
    work.launch("layer_norm", args![input, output, LENGTH as i32, EPSILON], &[ROWS], &[64]);
    work
}

pub(super) fn biquad() -> Work {
    const CHANNELS: usize = 4096;
    const LENGTH: usize = 300;
    const FILTER: [f32; 5] = [0.2, 0.4, 0.2, -0.5, 0.3];
    let mut work = Work::default();
    let samples = Random::new(91).floats(CHANNELS * LENGTH, -1.0, 1.0);
    let inputs = [work.input(&samples), work.input(&FILTER)];
    let output = work.output(CHANNELS * LENGTH, Tolerance::close(1e-4, 1e-4), move || {
        let filtered = |channel: &[f32]| {
            let (mut one, mut two) = (0.0, 0.0);
            let mut step = |x: &f32| {
                let value = FILTER[0] * x + one;
                one = FILTER[1] * x - FILTER[3] * value + two;
                two = FILTER[2] * x - FILTER[4] * value;
                value
            };
            channel.iter().map(&mut step).collect::<Vec<f32>>()
        };
        samples.chunks(LENGTH).flat_map(filtered).collect()
    });
    work.launch("biquad", args![inputs[0], output, inputs[1], LENGTH as i32], &[CHANNELS], &[64]);
    work
}

pub(super) fn half_blend() -> Work {
    const PIXELS: usize = 512 << 10;
    const SHARE: f32 = 0.25;
    let mut work = Work::default();
    let mut random = Random::new(92);
    // Sums of these are exact in single precision.
    let mut picture =
        || -> Vec<u16> { (0..4 * PIXELS).map(|_| f16::from_f32(random.below(4096) as f32 / 64.0).to_bits()).collect() };
    let (a, b) = (picture(), picture());
    let inputs = [work.input(&a), work.input(&b)];
    let output = work.output(4 * PIXELS, Tolerance::EXACT, move || {
        let number = |bits: &u16| f16::from_bits(*bits).to_f32();
        let blended = |(a, b)| f16::from_f32(number(a) * SHARE + number(b) * (1.0 - SHARE)).to_bits();
        a.iter().zip(&b).map(blended).collect()
    });
    work.launch("half_blend", args![inputs[0], inputs[1], output, SHARE], &[PIXELS], &[]);
    work
}

pub(super) fn row_dots() -> Work {
    const ROWS: usize = 4096;
    const COLUMNS: usize = 1024;
    let mut work = Work::default();
    let mut random = Random::new(90);
    let (matrix, vector) = (random.floats(ROWS * COLUMNS, -1.0, 1.0), random.floats(COLUMNS, -1.0, 1.0));
    let (left, right) = (work.input(&matrix), work.input(&vector));
    let output = work.output(ROWS, Tolerance::close(1e-4, 1e-3), move || {
        let dot = |row: &[f32]| row.iter().zip(&vector).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32;
        matrix.chunks(COLUMNS).map(dot).collect::<Vec<f32>>()
    });
    work.launch("row_dots", args![left, right, output, ROWS as u32, COLUMNS as u32], &[ROWS / 2], &[64]);
    work
}
