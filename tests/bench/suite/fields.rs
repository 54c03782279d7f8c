//! Fields on a torus, filters over neighbours, and layers of networks.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn fdtd() -> Work {
    const SIDE: usize = 992;
    const STEPS: usize = 2;
    const C: f32 = 0.5;
    let mut work = Work::default();
    let field = Random::new(75).floats(SIDE * SIDE, -1.0, 1.0);
    let input = work.input(&field);
    let magnetic = [work.scratch::<f32>(SIDE * SIDE), work.scratch::<f32>(SIDE * SIDE)];
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-4, 1e-4), move || {
        let (mut ez, mut hx, mut hy) = (field, vec![0.0; SIDE * SIDE], vec![0.0; SIDE * SIDE]);
        let at = |x: usize, y: usize| y % SIDE * SIDE + x % SIDE;
        for _ in 0..STEPS {
            for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
                let i = at(x, y);
                hx[i] -= C * (ez[at(x, y + 1)] - ez[i]);
                hy[i] += C * (ez[at(x + 1, y)] - ez[i]);
            }
            for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
                let i = at(x, y);
                ez[i] += C * (hy[i] - hy[at(x + SIDE - 1, y)] - hx[i] + hx[at(x, y + SIDE - 1)]);
            }
        }
        ez
    });
    let sizes = args![SIDE as i32, SIDE as i32, C];
    let fields = args![output, magnetic[0], magnetic[1]];
    work.launch("start", [args![input], fields.clone()].concat(), &[SIDE * SIDE], &[64]);
    for _ in 0..STEPS {
        work.launch("magnetic", [fields.clone(), sizes.clone()].concat(), &[SIDE, SIDE], &[32, 8]);
        work.launch("electric", [fields.clone(), sizes.clone()].concat(), &[SIDE, SIDE], &[32, 8]);
    }
    work
}

pub(super) fn lattice_boltzmann() -> Work {
    const SIDE: usize = 512;
    const CELLS: usize = SIDE * SIDE;
    const OMEGA: f32 = 1.2;
    const STEPS: [[i32; 2]; 9] = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]];
    let mut work = Work::default();
    let from = Random::new(76).floats(9 * CELLS, 0.1, 0.2);
    let input = work.input(&from);
    let output = work.output(9 * CELLS, Tolerance::close(1e-4, 1e-5), move || {
        let mut to = vec![0.0; 9 * CELLS];
        for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
            let source = |at: usize, step: i32| (at as i32 - step).rem_euclid(SIDE as i32) as usize;
            let f: [f32; 9] =
                std::array::from_fn(|k| from[k * CELLS + source(y, STEPS[k][1]) * SIDE + source(x, STEPS[k][0])]);
            let density: f32 = f.iter().sum();
            let [ux, uy] = [0, 1].map(|axis| (0..9).map(|k| f[k] * STEPS[k][axis] as f32).sum::<f32>() / density);
            for k in 0..9 {
                let weight = [4.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0][STEPS[k].map(i32::abs).iter().sum::<i32>() as usize];
                let along = 3.0 * (STEPS[k][0] as f32 * ux + STEPS[k][1] as f32 * uy);
                let square = 1.5 * (ux * ux + uy * uy);
                let equilibrium = weight * density * (1.0 + along + 0.5 * along * along - square);
                to[k * CELLS + y * SIDE + x] = f[k] + OMEGA * (equilibrium - f[k]);
            }
        }
        to
    });
    let arguments = args![input, output, SIDE as i32, SIDE as i32, OMEGA];
    work.launch("lattice_boltzmann", arguments, &[SIDE, SIDE], &[32, 4]);
    work
}

pub(super) fn bilateral() -> Work {
    const SIDE: usize = 512;
    const RADIUS: i32 = 3;
    const SPACE: f32 = 0.1;
    const RANGE: f32 = 4.0;
    let mut work = Work::default();
    let picture = Random::new(77).floats(SIDE * SIDE, 0.0, 1.0);
    let input = work.input(&picture);
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-4, 1e-5), move || {
        let filtered = |i: usize| {
            let (x, y) = ((i % SIDE) as i32, (i / SIDE) as i32);
            let near = |at: i32| at.clamp(0, SIDE as i32 - 1) as usize;
            let (mut sum, mut total) = (0.0, 0.0);
            for (dx, dy) in (-RADIUS..=RADIUS).flat_map(|dy| (-RADIUS..=RADIUS).map(move |dx| (dx, dy))) {
                let value = picture[near(y + dy) * SIDE + near(x + dx)];
                let difference = value - picture[i];
                let weight = (-((dx * dx + dy * dy) as f32) * SPACE - difference * difference * RANGE).exp();
                sum += weight * value;
                total += weight;
            }
            sum / total
        };
        (0..SIDE * SIDE).map(filtered).collect::<Vec<f32>>()
    });
    let arguments = args![input, output, SIDE as i32, SIDE as i32, SPACE, RANGE];
    work.launch("bilateral", arguments, &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn convolve_rows() -> Work {
    const SIDE: usize = 1024;
    const TAPS: usize = 15;
    let mut work = Work::default();
    let mut random = Random::new(78);
    let (picture, filter) = (random.floats(SIDE * SIDE, -1.0, 1.0), random.floats(TAPS, -1.0, 1.0));
    let inputs = [work.input(&picture), work.input(&filter)];
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-4, 1e-4), move || {
        let sum = |i: usize| -> f32 {
            let (x, row) = (i % SIDE, &picture[i / SIDE * SIDE..][..SIDE]);
            let term = |k: usize| row.get((x + TAPS / 2).wrapping_sub(k)).map_or(0.0, |value| filter[k] * value);
            (0..TAPS).map(term).sum()
        };
        (0..SIDE * SIDE).map(sum).collect()
    });
    let arguments = args![inputs[0], inputs[1], output, TAPS as i32, SIDE as i32];
    work.launch("convolve_rows", arguments, &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn conv_layer() -> Work {
    const SIDE: usize = 56;
    const CHANNELS: usize = 32;
    const FILTERS: usize = 32;
    let mut work = Work::default();
    let mut random = Random::new(79);
    let input = random.floats(CHANNELS * SIDE * SIDE, -1.0, 1.0);
    let (filters, bias) = (random.floats(FILTERS * CHANNELS * 9, -0.2, 0.2), random.floats(FILTERS, -0.5, 0.5));
    let inputs = args![work.input(&input), work.input(&filters), work.input(&bias)];
    let output = work.output(FILTERS * SIDE * SIDE, Tolerance::close(1e-4, 1e-3), move || {
        let value = |channel: usize, x: usize, y: usize| {
            // One more than the position, so that what is left of it or above is 0.
            if (1..=SIDE).contains(&x) && (1..=SIDE).contains(&y) {
                input[(channel * SIDE + y - 1) * SIDE + x - 1]
            } else {
                0.0
            }
        };
        let ramp = |i: usize| {
            let (x, y, filter) = (i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE);
            let term = |k: usize| {
                let (channel, dx, dy) = (k / 9, k % 3, k / 3 % 3);
                value(channel, x + dx, y + dy) * filters[filter * CHANNELS * 9 + k]
            };
            (bias[filter] + (0..CHANNELS * 9).map(term).sum::<f32>()).max(0.0)
        };
        (0..FILTERS * SIDE * SIDE).map(ramp).collect::<Vec<f32>>()
    });
    let sizes = args![CHANNELS as i32, SIDE as i32, SIDE as i32];
    work.launch("conv_layer", [inputs, args![output], sizes].concat(), &[SIDE, SIDE, FILTERS], &[8, 8, 1]);
    work
}
