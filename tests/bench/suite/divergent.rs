//! Work-items that take different ways.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn mandelbrot() -> Work {
    const WIDTH: usize = 1024;
    const HEIGHT: usize = 768;
    const LIMIT: i32 = 256;
    let mut work = Work::default();
    // Points at the border of the set depend on each rounding.
    let output = work.output(WIDTH * HEIGHT, Tolerance::EXACT.except(0.02), || {
        let steps = |i: usize| {
            let cx = -2.2 + 3.2 * (i % WIDTH) as f32 / WIDTH as f32;
            let cy = -1.2 + 2.4 * (i / WIDTH) as f32 / HEIGHT as f32;
            let (mut x, mut y, mut n) = (0.0_f32, 0.0_f32, 0);
            while n < LIMIT && x * x + y * y <= 4.0 {
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                n += 1;
            }
            n
        };
        (0..WIDTH * HEIGHT).map(steps).collect()
    });
    work.launch("mandelbrot", args![output, WIDTH as i32, HEIGHT as i32, LIMIT], &[WIDTH, HEIGHT], &[16, 8]);
    work
}

pub(super) fn collatz() -> Work {
    const COUNT: usize = 128 << 10;
    const FIRST: u32 = 1;
    let mut work = Work::default();
    let output = work.output(COUNT, Tolerance::EXACT, || {
        let steps = |first: u64| {
            let next = |n: &u64| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            std::iter::successors(Some(first), |n| Some(next(n))).take_while(|n| *n != 1).count() as i32
        };
        (0..COUNT as u64).map(|i| steps(u64::from(FIRST) + i)).collect()
    });
    work.launch("collatz", args![output, FIRST], &[COUNT], &[64]);
    work
}

pub(super) fn interpreter() -> Work {
    const ITEMS: usize = 16 << 10;
    const PROGRAMS: usize = 4;
    const LENGTH: usize = 16;
    const DATA: usize = 1 << 12;
    // The kernel's operations.
    const ADD: u8 = 0;
    const SUB: u8 = 1;
    const MUL: u8 = 2;
    const XOR: u8 = 3;
    const SHIFT: u8 = 4;
    const LOAD: u8 = 5;
    const MOVE: u8 = 6;
    const LOOP: u8 = 7;
    const HALT: u8 = 8;
    let mut work = Work::default();
    let mut random = Random::new(30);
    // Random operations on the first three registers, then a loop around them; the fourth register counts.
    let programs: Vec<[u8; 4]> = (0..PROGRAMS * LENGTH)
        .map(|i| match i % LENGTH {
            at if at == LENGTH - 2 => [LOOP, 0, 0, 0],
            at if at == LENGTH - 1 => [HALT, 0, 0, 0],
            _ => [
                random.below(u32::from(MOVE) + 1) as u8,
                random.below(3) as u8,
                random.below(4) as u8,
                random.below(256) as u8,
            ],
        })
        .collect();
    let data = random.words(DATA);
    let inputs = [work.input(&programs), work.input(&data)];
    let run = move |item: usize| {
        let program = &programs[item % PROGRAMS * LENGTH..][..LENGTH];
        let first = item as u32;
        let (mut r, mut pc) = ([first, first * 3 + 1, 5, 64 + first % 7], 0);
        loop {
            let [op, target, source, immediate] = program[pc];
            let (target, source) = (usize::from(target), r[usize::from(source)]);
            let constant = u32::from(immediate);
            pc += 1;
            match op {
                ADD => r[target] = r[target].wrapping_add(source.wrapping_add(constant)),
                SUB => r[target] = r[target].wrapping_sub(source),
                MUL => r[target] = r[target].wrapping_mul(source | 1),
                XOR => r[target] ^= source.wrapping_add(constant),
                SHIFT => r[target] = r[target].rotate_right(constant & 31),
                LOAD => r[target] = data[source.wrapping_add(constant) as usize % DATA],
                MOVE => r[target] = source,
                LOOP => {
                    r[3] -= 1;
                    if r[3] != 0 {
                        pc = usize::from(immediate);
                    }
                }
                _ => return r[0] ^ r[1] ^ r[2],
            }
        }
    };
    let output = work.output(ITEMS, Tolerance::EXACT, move || (0..ITEMS).map(run).collect::<Vec<u32>>());
    let arguments = args![inputs[0], LENGTH as i32, PROGRAMS as i32, inputs[1], DATA as u32 - 1, output];
    work.launch("interpreter", arguments, &[ITEMS], &[64]);
    work
}

pub(super) fn binary_search() -> Work {
    const LENGTH: usize = 1 << 20;
    const KEYS: usize = 512 << 10;
    let mut work = Work::default();
    let mut random = Random::new(31);
    // Increasing, with gaps: about half of the keys are there.
    let table: Vec<i32> = (0..LENGTH as i32).map(|i| 2 * i + random.below(2) as i32).collect();
    let keys: Vec<i32> = (0..KEYS).map(|_| random.below(2 * LENGTH as u32) as i32).collect();
    let inputs = [work.input(&table), work.input(&keys)];
    let output = work.output(KEYS, Tolerance::EXACT, move || {
        keys.iter().map(|key| table.binary_search(key).map_or(-1, |place| place as i32)).collect()
    });
    let arguments = args![inputs[0], LENGTH as i32, inputs[1], output];
    work.launch("binary_search", arguments, &[KEYS], &[128]);
    work
}

pub(super) fn bvh() -> Work {
    const RAYS: usize = 64 << 10;
    const SPHERES: usize = 1024;
    const FAR: f32 = 1e20;
    let mut work = Work::default();
    let mut random = Random::new(32);
    let mut point = |low, high, last| [random.float(low, high), random.float(low, high), random.float(low, high), last];
    let spheres: Vec<[f32; 4]> = (0..SPHERES).map(|_| point(-10.0, 10.0, 0.25)).collect();
    let origins: Vec<[f32; 4]> = (0..RAYS).map(|_| point(-12.0, 12.0, 0.0)).collect();
    let directions: Vec<[f32; 4]> = (0..RAYS)
        .map(|_| {
            let [x, y, z, _] = point(-1.0, 1.0, 0.0);
            let length = (x * x + y * y + z * z).sqrt();
            [x / length, y / length, z / length, 0.0]
        })
        .collect();
    let nodes = tree(&spheres);
    let inputs = args![work.input(&nodes), work.input(&spheres), work.input(&origins), work.input(&directions)];
    // The reference knows no tree; grazing rays depend on each rounding.
    let output = work.output(RAYS, Tolerance::close(1e-3, 1e-3).except(0.002), move || {
        let nearest = |(from, along): (&[f32; 4], &[f32; 4])| {
            let hit = |sphere: &[f32; 4]| {
                let to = [from[0] - sphere[0], from[1] - sphere[1], from[2] - sphere[2]];
                let b = to[0] * along[0] + to[1] * along[1] + to[2] * along[2];
                let d = b * b - (to[0] * to[0] + to[1] * to[1] + to[2] * to[2] - sphere[3] * sphere[3]);
                let t = if d < 0.0 { FAR } else { -b - d.sqrt() };
                if t > 0.0 { t } else { FAR }
            };
            spheres.iter().map(hit).fold(FAR, f32::min)
        };
        origins.iter().zip(&directions).map(nearest).collect()
    });
    work.launch("bvh", [inputs, args![output]].concat(), &[RAYS], &[64]);
    work
}

/// The kernel's nodes: two corners each, the first with the index of the first child, or minus one less the sphere's.
fn tree(spheres: &[[f32; 4]]) -> Vec<[f32; 8]> {
    let mut nodes = vec![[0.0; 8]];
    // Nodes that are yet to be filled in, with what they contain.
    let mut open: Vec<(usize, Vec<usize>)> = vec![(0, (0..spheres.len()).collect())];
    while let Some((node, mut inside)) = open.pop() {
        let bound = |axis: usize, sign: f32, pick: fn(f32, f32) -> f32| {
            inside.iter().map(|i| spheres[*i][axis] + sign * spheres[*i][3]).reduce(pick).unwrap_or(0.0)
        };
        let low: [f32; 3] = std::array::from_fn(|axis| bound(axis, -1.0, f32::min));
        let high: [f32; 3] = std::array::from_fn(|axis| bound(axis, 1.0, f32::max));
        let link = if let [sphere] = inside[..] {
            -1 - sphere as i32
        } else {
            // Split at the median of the longest axis.
            let axis = (0..3).max_by(|a, b| (high[*a] - low[*a]).total_cmp(&(high[*b] - low[*b]))).unwrap_or(0);
            inside.sort_by(|a, b| spheres[*a][axis].total_cmp(&spheres[*b][axis]));
            let upper = inside.split_off(inside.len() / 2);
            let child = nodes.len();
            nodes.extend([[0.0; 8]; 2]);
            open.extend([(child, inside), (child + 1, upper)]);
            child as i32
        };
        nodes[node] = [low[0], low[1], low[2], f32::from_bits(link as u32), high[0], high[1], high[2], 0.0];
    }
    nodes
}
