//! Numerical methods: iterations, noise, options, probabilities and small matrices.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn newton_fractal() -> Work {
    const SIDE: usize = 768;
    const MOST: i32 = 40;
    const SCALE: f32 = 3.0 / SIDE as f32;
    let mut work = Work::default();
    // Rounding decides which root is found at the boundaries.
    let output = work.output(SIDE * SIDE, Tolerance::EXACT.except(0.02), || {
        let root = |i: usize| {
            let [mut x, mut y] = [i % SIDE, i / SIDE].map(|at| (at as f32 + 0.5) * SCALE - 1.5);
            let mut steps = 0;
            while steps < MOST {
                let (square_x, square_y) = (x * x - y * y, 2.0 * x * y);
                let (fx, fy) = (square_x * x - square_y * y - 1.0, square_x * y + square_y * x);
                let (dx, dy) = (3.0 * square_x, 3.0 * square_y);
                let n = dx * dx + dy * dy;
                let (step_x, step_y) = ((fx * dx + fy * dy) / n, (fy * dx - fx * dy) / n);
                (x, y) = (x - step_x, y - step_y);
                if step_x * step_x + step_y * step_y < 1e-6 {
                    break;
                }
                steps += 1;
            }
            let root = if x > 0.0 {
                0
            } else if y > 0.0 {
                1
            } else {
                2
            };
            root * 64 + steps.min(63) as u8
        };
        (0..SIDE * SIDE).map(root).collect::<Vec<u8>>()
    });
    work.launch("newton_fractal", args![output, SIDE as i32, SCALE, MOST], &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn kepler() -> Work {
    const COUNT: usize = 256 << 10;
    let mut work = Work::default();
    let mut random = Random::new(54);
    let (anomalies, eccentricities) = (random.floats(COUNT, 0.0, 6.2), random.floats(COUNT, 0.0, 0.9));
    let inputs = [work.input(&anomalies), work.input(&eccentricities)];
    let output = work.output(2 * COUNT, Tolerance::close(1e-3, 1e-3).except(0.001), move || {
        let position = |(&mean, &e): (&f32, &f32)| {
            let (mean, e) = (f64::from(mean), f64::from(e));
            let mut angle = if e < 0.8 { mean } else { std::f64::consts::PI };
            for _ in 0..40 {
                angle -= (angle - e * angle.sin() - mean) / (1.0 - e * angle.cos());
            }
            [(angle.cos() - e) as f32, ((1.0 - e * e).sqrt() * angle.sin()) as f32]
        };
        anomalies.iter().zip(&eccentricities).flat_map(position).collect::<Vec<f32>>()
    });
    work.launch("kepler", args![inputs[0], inputs[1], output], &[COUNT], &[64]);
    work
}

pub(super) fn perlin() -> Work {
    const SIDE: usize = 768;
    const SCALE: f32 = 0.015;
    const OCTAVES: i32 = 5;
    const GRADIENTS: [[f32; 2]; 8] =
        [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.7, 0.7], [-0.7, 0.7], [0.7, -0.7], [-0.7, -0.7]];
    let mut work = Work::default();
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-3, 1e-3), || {
        let corner = |x: i32, y: i32, dx: f32, dy: f32| {
            let hash = (x as u32).wrapping_mul(374_761_393).wrapping_add((y as u32).wrapping_mul(668_265_263));
            let hash = (hash ^ hash >> 13).wrapping_mul(1_274_126_177);
            let [gx, gy] = GRADIENTS[(hash ^ hash >> 16) as usize & 7];
            gx * dx + gy * dy
        };
        let fade = |t: f32| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        let noise = |x: f32, y: f32| {
            let (ix, iy, dx, dy) = (x.floor() as i32, y.floor() as i32, x - x.floor(), y - y.floor());
            let row = |down: i32| {
                let dy = dy - down as f32;
                mix(corner(ix, iy + down, dx, dy), corner(ix + 1, iy + down, dx - 1.0, dy), fade(dx))
            };
            mix(row(0), row(1), fade(dy))
        };
        let sum = |i: usize| -> f32 {
            let [x, y] = [i % SIDE, i / SIDE].map(|at| at as f32);
            let octave = |octave: i32| {
                let at = SCALE * 2.0_f32.powi(octave);
                0.5_f32.powi(octave + 1) * noise(x * at, y * at)
            };
            (0..OCTAVES).map(octave).sum()
        };
        (0..SIDE * SIDE).map(sum).collect()
    });
    work.launch("perlin", args![output, SIDE as i32, SCALE, OCTAVES], &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn softmax() -> Work {
    const ROWS: usize = 1024;
    const COLUMNS: usize = 1000;
    let mut work = Work::default();
    let logits = Random::new(55).floats(ROWS * COLUMNS, -8.0, 8.0);
    let input = work.input(&logits);
    let output = work.output(ROWS * COLUMNS, Tolerance::close(1e-3, 1e-7), move || {
        let row = |row: &[f32]| {
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = row.iter().map(|&value| f64::from(value - most).exp()).sum();
            row.iter().map(|&value| (f64::from(value - most).exp() / sum) as f32).collect::<Vec<f32>>()
        };
        logits.chunks(COLUMNS).flat_map(row).collect()
    });
    work.launch("softmax", args![input, output, COLUMNS as i32], &[128 * ROWS], &[128]);
    work
}

pub(super) fn binomial_tree() -> Work {
    const OPTIONS: usize = 512;
    const STEPS: usize = 128;
    const UP: f32 = 1.02;
    const DISCOUNT: f32 = 0.9997;
    const PROBABILITY: f32 = 0.502;
    let mut work = Work::default();
    let mut random = Random::new(56);
    let options: Vec<[f32; 2]> = (0..OPTIONS).map(|_| [random.float(20.0, 80.0), random.float(20.0, 80.0)]).collect();
    let input = work.input(&options);
    let output = work.output(OPTIONS, Tolerance::close(1e-3, 1e-3), move || {
        let price = |&[spot, strike]: &[f32; 2]| {
            let [spot, strike, up] = [spot, strike, UP].map(f64::from);
            let [discount, probability] = [DISCOUNT, PROBABILITY].map(f64::from);
            let value = |step: usize, ups: usize| strike - spot * up.powi(2 * ups as i32 - step as i32);
            let mut values: Vec<f64> = (0..=STEPS).map(|ups| value(STEPS, ups).max(0.0)).collect();
            for step in (0..STEPS).rev() {
                for ups in 0..=step {
                    let later = discount * (probability * values[ups + 1] + (1.0 - probability) * values[ups]);
                    values[ups] = later.max(value(step, ups));
                }
            }
            values[0] as f32
        };
        options.iter().map(price).collect::<Vec<f32>>()
    });
    let arguments = args![input, output, UP, PROBABILITY, DISCOUNT];
    work.launch("binomial_tree", arguments, &[STEPS * OPTIONS], &[STEPS]);
    work
}

pub(super) fn small_cholesky() -> Work {
    const COUNT: usize = 32 << 10;
    const N: usize = 6;
    let mut work = Work::default();
    let mut random = Random::new(57);
    let mut matrices = Vec::with_capacity(COUNT * N * N);
    for _ in 0..COUNT {
        let root = random.floats(N * N, -1.0, 1.0);
        let entry = |i: usize, j: usize| -> f32 {
            let product: f32 = (0..N).map(|k| root[i * N + k] * root[j * N + k]).sum();
            product + if i == j { 2.0 } else { 0.0 }
        };
        matrices.extend((0..N * N).map(|at| entry(at / N, at % N)));
    }
    let input = work.input(&matrices);
    let output = work.output(COUNT * N * N, Tolerance::close(1e-3, 1e-4), move || {
        let lower = |matrix: &[f32]| {
            let mut a: Vec<f64> = matrix.iter().copied().map(f64::from).collect();
            for j in 0..N {
                let part = |a: &[f64], i: usize| (0..j).map(|k| a[i * N + k] * a[j * N + k]).sum::<f64>();
                let diagonal = (a[j * N + j] - part(&a, j)).sqrt();
                a[j * N + j] = diagonal;
                for i in j + 1..N {
                    a[i * N + j] = (a[i * N + j] - part(&a, i)) / diagonal;
                }
            }
            (0..N * N).map(|at| if at % N <= at / N { a[at] as f32 } else { 0.0 }).collect::<Vec<f32>>()
        };
        matrices.chunks(N * N).flat_map(lower).collect()
    });
    work.launch("small_cholesky", args![input, output], &[COUNT], &[64]);
    work
}
