//! Neighbours on a grid.

use crate::work::{FILL, Random, Tolerance, Work, args};

pub(super) fn stencil2d() -> Work {
    const SIDE: usize = 2048;
    const K: f32 = 0.2;
    let mut work = Work::default();
    let grid = Random::new(70).floats(SIDE * SIDE, -1.0, 1.0);
    let input = work.input(&grid);
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-5, 1e-5), move || {
        let step = |i: usize| {
            let (x, y, centre) = (i % SIDE, i / SIDE, grid[i]);
            if x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1 {
                return centre;
            }
            centre + K * (grid[i - 1] + grid[i + 1] + grid[i - SIDE] + grid[i + SIDE] - 4.0 * centre)
        };
        (0..SIDE * SIDE).map(step).collect::<Vec<f32>>()
    });
    work.launch("stencil2d", args![input, output, SIDE as i32, SIDE as i32, K], &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn stencil3d() -> Work {
    /// Inner points along each axis.
    const INNER: usize = 128;
    const SIDE: usize = INNER + 2;
    const CENTRE: f32 = 0.4;
    const NEIGHBOUR: f32 = 0.1;
    let mut work = Work::default();
    let grid = Random::new(71).floats(SIDE * SIDE * SIDE, -1.0, 1.0);
    let input = work.input(&grid);
    let output = work.output(SIDE * SIDE * SIDE, Tolerance::close(1e-5, 1e-5), move || {
        // The border is not written.
        let mut next = vec![f32::from_ne_bytes([FILL; 4]); grid.len()];
        for z in 1..=INNER {
            for y in 1..=INNER {
                for x in 1..=INNER {
                    let i = (z * SIDE + y) * SIDE + x;
                    let around = [i - 1, i + 1, i - SIDE, i + SIDE, i - SIDE * SIDE, i + SIDE * SIDE];
                    next[i] = CENTRE * grid[i] + NEIGHBOUR * around.iter().map(|i| grid[*i]).sum::<f32>();
                }
            }
        }
        next
    });
    let arguments = args![input, output, SIDE as i32, SIDE as i32, CENTRE, NEIGHBOUR];
    work.launch("stencil3d", arguments, &[INNER; 3], &[32, 8, 1]);
    work
}

pub(super) fn life() -> Work {
    const SIDE: usize = 2048;
    let mut work = Work::default();
    let mut random = Random::new(72);
    let cells: Vec<u8> = (0..SIDE * SIDE).map(|_| random.below(2) as u8).collect();
    let input = work.input(&cells);
    let output = work.output(SIDE * SIDE, Tolerance::EXACT, move || {
        let next = |i: usize| {
            let (x, y) = (i % SIDE, i / SIDE);
            let cell = |dx: usize, dy: usize| cells[(y + dy) % SIDE * SIDE + (x + dx) % SIDE];
            // The side less one is one back, on a torus.
            let steps = [SIDE - 1, 0, 1];
            let block: u8 = steps.iter().flat_map(|dy| steps.iter().map(|dx| cell(*dx, *dy))).sum();
            u8::from(block - cells[i] == 3 || (block - cells[i] == 2 && cells[i] == 1))
        };
        (0..SIDE * SIDE).map(next).collect::<Vec<u8>>()
    });
    work.launch("life", args![input, output, SIDE as i32, SIDE as i32], &[SIDE, SIDE], &[64, 4]);
    work
}

pub(super) fn mirrored_blur() -> Work {
    const SIDE: usize = 1024;
    const RADIUS: usize = 7;
    let mut work = Work::default();
    let (image, filter) =
        (Random::new(73).floats(SIDE * SIDE, 0.0, 1.0), Random::new(74).floats(2 * RADIUS + 1, 0.0, 0.1));
    let (input, weights) = (work.input(&image), work.input(&filter));
    let output = work.output(SIDE * SIDE, Tolerance::close(1e-5, 1e-5), move || {
        let blurred = |i: usize| {
            let (x, row) = ((i % SIDE) as i32, &image[i / SIDE * SIDE..][..SIDE]);
            let side = SIDE as i32;
            let inside = |at: i32| if at < 0 { -at - 1 } else { at.min(2 * side - 1 - at) };
            let at = |k: usize| inside(x + k as i32 - RADIUS as i32) as usize;
            filter.iter().enumerate().map(|(k, weight)| weight * row[at(k)]).sum::<f32>()
        };
        (0..SIDE * SIDE).map(blurred).collect::<Vec<f32>>()
    });
    work.launch("mirrored_blur", args![input, output, weights, RADIUS as i32, SIDE as i32], &[SIDE, SIDE], &[16, 16]);
    work
}

pub(super) fn near_median() -> Work {
    const INNER: usize = 1024;
    const SIDE: usize = INNER + 4;
    const THRESHOLD: f32 = 0.3;
    let mut work = Work::default();
    let image = Random::new(75).floats(SIDE * SIDE, 0.0, 1.0);
    let input = work.input(&image);
    let output = work.output(SIDE * SIDE, Tolerance::EXACT, move || {
        // The border is not written.
        let mut medians = vec![f32::from_ne_bytes([FILL; 4]); image.len()];
        for y in 2..INNER + 2 {
            for x in 2..INNER + 2 {
                let diamond = [(0, -2), (-1, -1), (1, -1), (-2, 0), (0, 0), (2, 0), (-1, 1), (1, 1), (0, 2)];
                let place = |(dx, dy): (isize, isize)| y.wrapping_add_signed(dy) * SIDE + x.wrapping_add_signed(dx);
                let centre = image[y * SIDE + x];
                let values = diamond.iter().map(|&at| image[place(at)]);
                let mut near: Vec<f32> = values.filter(|value| (value - centre).abs() < THRESHOLD).collect();
                near.sort_by(f32::total_cmp);
                medians[y * SIDE + x] = near[(near.len() - 1) / 2];
            }
        }
        medians
    });
    work.launch("near_median", args![input, output, SIDE as i32, THRESHOLD], &[INNER, INNER], &[16, 8]);
    work
}
