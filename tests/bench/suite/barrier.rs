//! Work-groups that share local memory between barriers.

use std::f64::consts::PI;

use super::compute::product;
use super::memory::transposed;
use crate::work::{Random, Tolerance, Work, args};

pub(super) fn reduce() -> Work {
    const GROUP: usize = 256;
    const PER_ITEM: usize = 16;
    const GROUPS: usize = 1024;
    let mut work = Work::default();
    let numbers = Random::new(10).floats(GROUP * PER_ITEM * GROUPS, 0.0, 1.0);
    let input = work.input(&numbers);
    let output = work.output(GROUPS, Tolerance::close(1e-5, 0.0), move || {
        let sum = |chunk: &[f32]| chunk.iter().copied().map(f64::from).sum::<f64>() as f32;
        numbers.chunks(GROUP * PER_ITEM).map(sum).collect()
    });
    work.launch("reduce", args![input, output, PER_ITEM as i32], &[GROUP * GROUPS], &[GROUP]);
    work
}

pub(super) fn scan() -> Work {
    const GROUP: usize = 256;
    const COUNT: usize = 1 << 20;
    let mut work = Work::default();
    let mut random = Random::new(11);
    let numbers: Vec<i32> = (0..COUNT).map(|_| random.below(1000) as i32).collect();
    let input = work.input(&numbers);
    let output = work.output(COUNT, Tolerance::EXACT, move || {
        let sums = |chunk: &[i32]| -> Vec<i32> {
            let running = |sum: &mut i32, value: &i32| {
                *sum += value;
                Some(*sum)
            };
            chunk.iter().scan(0, running).collect()
        };
        numbers.chunks(GROUP).flat_map(sums).collect()
    });
    work.launch("scan", args![input, output], &[COUNT], &[GROUP]);
    work
}

pub(super) fn matmul_tiled() -> Work {
    const N: usize = 512;
    const TILE: usize = 16;
    let mut work = Work::default();
    let mut random = Random::new(12);
    let (a, b) = (random.floats(N * N, -1.0, 1.0), random.floats(N * N, -1.0, 1.0));
    let inputs = [work.input(&a), work.input(&b)];
    let output = work.output(N * N, Tolerance::close(1e-4, 1e-4), move || product(&a, &b, N));
    work.launch("matmul_tiled", args![inputs[0], inputs[1], output, N as i32], &[N, N], &[TILE, TILE]);
    work
}

pub(super) fn fft() -> Work {
    const POINTS: usize = 512;
    const BATCH: usize = 1024;
    let mut work = Work::default();
    let signal = Random::new(13).floats(2 * POINTS * BATCH, -1.0, 1.0);
    let input = work.input(&signal);
    let output = work.output(2 * POINTS * BATCH, Tolerance::close(1e-4, 1e-3), move || {
        let mut all: Vec<[f64; 2]> =
            signal.as_chunks().0.iter().map(|&[re, im]| [f64::from(re), f64::from(im)]).collect();
        all.chunks_mut(POINTS).for_each(transform);
        all.iter().flatten().map(|part| *part as f32).collect()
    });
    work.launch("fft", args![input, output], &[POINTS / 2 * BATCH], &[POINTS / 2]);
    work
}

/// The discrete Fourier transform in place, by halving; the length is a power of two.
fn transform(data: &mut [[f64; 2]]) {
    let half = data.len() / 2;
    if half == 0 {
        return;
    }
    let mut even: Vec<[f64; 2]> = data.iter().copied().step_by(2).collect();
    let mut odd: Vec<[f64; 2]> = data.iter().copied().skip(1).step_by(2).collect();
    transform(&mut even);
    transform(&mut odd);
    for (k, ([a, b], [c, d])) in even.into_iter().zip(odd).enumerate() {
        let (sin, cos) = (-PI * k as f64 / half as f64).sin_cos();
        let (re, im) = (cos * c - sin * d, cos * d + sin * c);
        data[k] = [a + re, b + im];
        data[k + half] = [a - re, b - im];
    }
}

pub(super) fn bitonic() -> Work {
    const KEYS: usize = 512;
    const GROUPS: usize = 512;
    let mut work = Work::default();
    let keys = Random::new(14).words(KEYS * GROUPS);
    let input = work.input(&keys);
    let output = work.output(KEYS * GROUPS, Tolerance::EXACT, move || {
        let mut sorted = keys;
        sorted.chunks_mut(KEYS).for_each(<[u32]>::sort_unstable);
        sorted
    });
    work.launch("bitonic", args![input, output], &[KEYS / 2 * GROUPS], &[KEYS / 2]);
    work
}

pub(super) fn transpose_tiled() -> Work {
    const SIDE: usize = 2048;
    const TILE: usize = 16;
    let mut work = Work::default();
    let matrix = Random::new(15).floats(SIDE * SIDE, -1.0, 1.0);
    let input = work.input(&matrix);
    let output = work.output(SIDE * SIDE, Tolerance::EXACT, move || transposed(&matrix, SIDE));
    work.launch("transpose_tiled", args![input, output, SIDE as i32, SIDE as i32], &[SIDE, SIDE], &[TILE, TILE]);
    work
}
