//! Arithmetic in single precision.

use crate::work::{Random, Tolerance, Work, args};

/// The product of two square matrices, by rows.
pub(super) fn product(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let mut c = vec![0.0; n * n];
    for (row_a, row_c) in a.chunks(n).zip(c.chunks_mut(n)) {
        for (a, row_b) in row_a.iter().zip(b.chunks(n)) {
            row_c.iter_mut().zip(row_b).for_each(|(c, b)| *c += a * b);
        }
    }
    c
}

pub(super) fn matmul() -> Work {
    const N: usize = 512;
    let mut work = Work::default();
    let mut random = Random::new(20);
    let (a, b) = (random.floats(N * N, -1.0, 1.0), random.floats(N * N, -1.0, 1.0));
    let inputs = [work.input(&a), work.input(&b)];
    let output = work.output(N * N, Tolerance::close(1e-4, 1e-4), move || product(&a, &b, N));
    work.launch("matmul", args![inputs[0], inputs[1], output, N as i32], &[N, N], &[]);
    work
}

pub(super) fn nbody() -> Work {
    const BODIES: usize = 4096;
    const SOFTENING: f32 = 0.01;
    let mut work = Work::default();
    let mut random = Random::new(21);
    let bodies: Vec<[f32; 4]> = (0..BODIES)
        .map(|_| [random.float(-1.0, 1.0), random.float(-1.0, 1.0), random.float(-1.0, 1.0), random.float(0.1, 1.0)])
        .collect();
    let input = work.input(&bodies);
    let output = work.output(4 * BODIES, Tolerance::close(1e-3, 0.05), move || {
        let acceleration = |me: &[f32; 4]| {
            let mut sum = [0.0_f32; 3];
            for other in &bodies {
                let d = [other[0] - me[0], other[1] - me[1], other[2] - me[2]];
                let inverse = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING).sqrt().recip();
                let weight = other[3] * inverse * inverse * inverse;
                sum.iter_mut().zip(d).for_each(|(sum, d)| *sum += d * weight);
            }
            [sum[0], sum[1], sum[2], 0.0]
        };
        bodies.iter().flat_map(acceleration).collect::<Vec<f32>>()
    });
    work.launch("nbody", args![input, output, BODIES as i32, SOFTENING], &[BODIES], &[64]);
    work
}

pub(super) fn convolution() -> Work {
    const SIDE: usize = 1024;
    const RADIUS: usize = 3;
    const MASK: usize = 2 * RADIUS + 1;
    let mut work = Work::default();
    let mut random = Random::new(22);
    let (picture, mask) = (random.floats(SIDE * SIDE, 0.0, 1.0), random.floats(MASK * MASK, -0.1, 0.1));
    let inputs = [work.input(&picture), work.input(&mask)];
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-4, 1e-5), move || {
        let shifted = |at: usize, by: usize| (at + by).saturating_sub(RADIUS).min(SIDE - 1);
        let pixel = |i: usize| {
            let tap = |k: usize| {
                let (x, y) = (shifted(i % SIDE, k % MASK), shifted(i / SIDE, k / MASK));
                picture[y * SIDE + x] * mask[k]
            };
            (0..MASK * MASK).map(tap).sum::<f32>()
        };
        (0..SIDE * SIDE).map(pixel).collect()
    });
    let arguments = args![inputs[0], output, inputs[1], SIDE as i32, SIDE as i32];
    work.launch("convolution", arguments, &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn black_scholes() -> Work {
    const OPTIONS: usize = 512 << 10;
    const RATE: f32 = 0.02;
    const VOLATILITY: f32 = 0.3;
    /// By the same approximation (Abramowitz and Stegun 26.2.17), in double precision.
    fn normal_distribution(x: f64) -> f64 {
        const SERIES: [f64; 5] = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153];
        let k = (1.0 + 0.2316419 * x.abs()).recip();
        let series = SERIES.iter().fold(0.0, |sum, term| (sum + term) * k);
        let tail = 0.39894228 * (-0.5 * x * x).exp() * series;
        if x < 0.0 { tail } else { 1.0 - tail }
    }
    /// Call and put.
    fn price(s: f64, k: f64, t: f64) -> [f32; 2] {
        let (rate, volatility) = (f64::from(RATE), f64::from(VOLATILITY));
        let d1 = ((s / k).ln() + (rate + 0.5 * volatility * volatility) * t) / (volatility * t.sqrt());
        let d2 = d1 - volatility * t.sqrt();
        let discounted = k * (-rate * t).exp();
        let (n1, n2) = (normal_distribution(d1), normal_distribution(d2));
        [(s * n1 - discounted * n2) as f32, (discounted * (1.0 - n2) - s * (1.0 - n1)) as f32]
    }
    let mut work = Work::default();
    let mut random = Random::new(23);
    let prices = random.floats(OPTIONS, 5.0, 100.0);
    let strikes = random.floats(OPTIONS, 5.0, 100.0);
    let years = random.floats(OPTIONS, 0.25, 10.0);
    let inputs = args![work.input(&prices), work.input(&strikes), work.input(&years)];
    let options: std::rc::Rc<Vec<[f32; 3]>> =
        std::rc::Rc::new((0..OPTIONS).map(|i| [prices[i], strikes[i], years[i]]).collect());
    let outputs = [0, 1].map(|which| {
        let options = options.clone();
        work.output(OPTIONS, Tolerance::close(1e-4, 1e-3), move || {
            options.iter().map(|option| option.map(f64::from)).map(|[s, k, t]| price(s, k, t)[which]).collect()
        })
    });
    let arguments = [inputs, args![outputs[0], outputs[1], RATE, VOLATILITY]].concat();
    work.launch("black_scholes", arguments, &[OPTIONS], &[]);
    work
}

pub(super) fn horner() -> Work {
    const COUNT: usize = 512 << 10;
    const DEGREE: usize = 32;
    let mut work = Work::default();
    let mut random = Random::new(24);
    let mut doubles = |len: usize| -> Vec<f64> { (0..len).map(|_| f64::from(random.float(-1.0, 1.0))).collect() };
    let (x, coefficients) = (doubles(COUNT), doubles(DEGREE + 1));
    let inputs = [work.input(&x), work.input(&coefficients)];
    let output = work.output(COUNT, Tolerance::close(1e-10, 1e-10), move || {
        let value = |x: &f64| coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient);
        x.iter().map(value).collect::<Vec<f64>>()
    });
    work.launch("horner", args![inputs[0], output, inputs[1]], &[COUNT], &[128]);
    work
}

pub(super) fn raytrace() -> Work {
    const WIDTH: usize = 640;
    const HEIGHT: usize = 480;
    const SPHERES: usize = 24;
    let mut work = Work::default();
    let mut random = Random::new(25);
    let spheres: Vec<Sphere> = (0..SPHERES)
        .map(|_| {
            let radius = random.float(0.2, 0.7);
            let (x, z) = (random.float(-4.0, 4.0), random.float(-2.0, 6.0));
            let mirror = if random.below(2) == 0 { 0.0 } else { 0.6 };
            let colour = [random.float(0.2, 1.0), random.float(0.2, 1.0), random.float(0.2, 1.0), mirror];
            Sphere { centre: [x, radius, z, radius], colour }
        })
        .collect();
    let flat: Vec<[f32; 4]> = spheres.iter().flat_map(|sphere| [sphere.centre, sphere.colour]).collect();
    let input = work.input(&flat);
    // At edges a rounding decides what is hit.
    let tolerance = Tolerance::close(1e-2, 1e-2).except(0.005);
    let output = work.output(4 * WIDTH * HEIGHT, tolerance, move || {
        let pixel = |i: usize| {
            let u = (2.0 * (i % WIDTH) as f32 - WIDTH as f32) / HEIGHT as f32;
            let v = (HEIGHT as f32 - 2.0 * (i / WIDTH) as f32) / HEIGHT as f32;
            let [r, g, b] = trace(&spheres, [0.0, 1.5, -6.0], unit([u, v - 0.1, 2.0]));
            [r, g, b, 1.0]
        };
        (0..WIDTH * HEIGHT).flat_map(pixel).collect::<Vec<f32>>()
    });
    let arguments = args![input, SPHERES as i32, output, WIDTH as i32, HEIGHT as i32];
    work.launch("raytrace", arguments, &[WIDTH, HEIGHT], &[8, 8]);
    work
}

type Vector = [f32; 3];

/// The kernel's structure.
struct Sphere {
    /// The last one is the radius.
    centre: [f32; 4],
    /// The last one is the share of mirrored light.
    colour: [f32; 4],
}

impl Sphere {
    fn middle(&self) -> Vector {
        [self.centre[0], self.centre[1], self.centre[2]]
    }

    fn hit(&self, from: Vector, along: Vector) -> Option<f32> {
        let to = add(from, self.middle(), -1.0);
        let b = dot(to, along);
        let d = b * b - (dot(to, to) - self.centre[3] * self.centre[3]);
        let t = -b - d.sqrt();
        (d >= 0.0 && t > 1e-3).then_some(t)
    }
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `a + scale * b`.
fn add(a: Vector, b: Vector, scale: f32) -> Vector {
    std::array::from_fn(|i| a[i] + scale * b[i])
}

fn unit(v: Vector) -> Vector {
    v.map(|part| part / dot(v, v).sqrt())
}

/// The light that comes along a ray.
fn trace(spheres: &[Sphere], mut from: Vector, mut along: Vector) -> Vector {
    const LAMP: Vector = [-4.0, 6.0, -4.0];
    const FOG: f32 = 30.0;
    let (mut light, mut weight) = ([0.0; 3], 1.0);
    for _ in 0..2 {
        let hits = spheres.iter().filter_map(|sphere| Some((sphere.hit(from, along)?, sphere)));
        let nearest = hits.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let floor = (along[1] < 0.0).then(|| -from[1] / along[1]);
        let floor = floor.filter(|t| *t < nearest.map_or(FOG, |(nearest, _)| nearest.min(FOG)));
        let (distance, normal, colour, mirror) = if let Some(t) = floor {
            let p = add(from, along, t);
            let square = (p[0].floor() as i32 + p[2].floor() as i32) & 1;
            (t, [0.0, 1.0, 0.0], [if square == 1 { 0.8 } else { 0.2 }; 3], 0.0)
        } else if let Some((t, sphere)) = nearest {
            let normal = add(add(from, along, t), sphere.middle(), -1.0).map(|part| part / sphere.centre[3]);
            let [r, g, b, mirror] = sphere.colour;
            (t, normal, [r, g, b], mirror)
        } else {
            return add(light, [0.5, 0.6, 0.7], weight);
        };
        let point = add(add(from, along, distance), normal, 1e-3);
        let to_lamp = add(LAMP, point, -1.0);
        let far = dot(to_lamp, to_lamp).sqrt();
        let to_lamp = unit(to_lamp);
        let shaded = spheres.iter().any(|sphere| sphere.hit(point, to_lamp).is_some_and(|t| t < far));
        let direct = if shaded { 0.0 } else { dot(normal, to_lamp).max(0.0) };
        light = add(light, colour, weight * (1.0 - mirror) * (0.2 + 0.8 * direct));
        if mirror == 0.0 {
            break;
        }
        weight *= mirror;
        from = point;
        along = add(along, normal, -2.0 * dot(along, normal));
    }
    light
}
