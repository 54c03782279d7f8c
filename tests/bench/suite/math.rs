//! Built-in functions.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn waves() -> Work {
    const COUNT: usize = 64 << 10;
    const TERMS: i32 = 16;
    let mut work = Work::default();
    let x = Random::new(50).floats(COUNT, -10.0, 10.0);
    let input = work.input(&x);
    let output = work.output(COUNT, Tolerance::close(1e-4, 1e-3), move || {
        let term = |at: f32, k: f32| (k * at).sin() / k + (at + k).cos();
        x.iter().map(|at| (1..=TERMS).map(|k| term(*at, k as f32)).sum::<f32>()).collect()
    });
    work.launch("waves", args![input, output, TERMS], &[COUNT], &[128]);
    work
}

pub(super) fn powers() -> Work {
    const COUNT: usize = 512 << 10;
    const GAMMA: f32 = 1.0 / 2.2;
    let mut work = Work::default();
    let values = Random::new(51).floats(COUNT, 0.01, 20.0);
    let input = work.input(&values);
    let output = work.output(COUNT, Tolerance::close(1e-4, 1e-5), move || {
        let tone = |value: &f32| {
            let bits = (1.0 + value).log2();
            (1.0 - (-value).exp()).powf(GAMMA) + 0.1 * (1.0 + bits).ln() + (-bits).exp2()
        };
        values.iter().map(tone).collect::<Vec<f32>>()
    });
    work.launch("powers", args![input, output, GAMMA], &[COUNT], &[]);
    work
}

pub(super) fn polar() -> Work {
    const COUNT: usize = 256 << 10;
    let mut work = Work::default();
    let points = Random::new(52).floats(4 * COUNT, -3.0, 3.0);
    let input = work.input(&points);
    let output = work.output(4 * COUNT, Tolerance::close(1e-3, 1e-3), move || {
        let there_and_back = |&[x, y, z, _]: &[f32; 4]| {
            let radius = (x * x + y * y + z * z).sqrt();
            let (sin, cos) = (z / radius).acos().sin_cos();
            let azimuth = y.atan2(x);
            [radius * sin * azimuth.cos(), radius * sin * azimuth.sin(), radius * cos, azimuth]
        };
        points.as_chunks().0.iter().flat_map(there_and_back).collect::<Vec<f32>>()
    });
    work.launch("polar", args![input, output], &[COUNT], &[64]);
    work
}

pub(super) fn fourier_sum() -> Work {
    const COUNT: usize = 2048;
    let mut work = Work::default();
    let samples = Random::new(53).floats(COUNT, -1.0, 1.0);
    let input = work.input(&samples);
    let unit = std::f32::consts::TAU / COUNT as f32;
    let output = work.output(2 * COUNT, Tolerance::close(1e-3, 1e-2), move || {
        let coefficient = |k: usize| {
            let angle = |j: usize| f64::from(unit * (j * k % COUNT) as f32);
            let terms = samples.iter().enumerate().map(|(j, &value)| (f64::from(value), angle(j)));
            let (real, imaginary) = terms.fold((0.0, 0.0), |(real, imaginary), (v, angle)| {
                (real + v * angle.cos(), imaginary - v * angle.sin())
            });
            [real as f32, imaginary as f32]
        };
        (0..COUNT).flat_map(coefficient).collect::<Vec<f32>>()
    });
    work.launch("fourier_sum", args![input, output, COUNT as i32, unit], &[COUNT], &[64]);
    work
}
