//! Streams: little arithmetic, much data.

use crate::work::{Random, Tolerance, Work, args};

/// Elements of a stream.
const STREAM: usize = 8 << 20;

pub(super) fn copy() -> Work {
    let mut work = Work::default();
    let a = Random::new(1).floats(STREAM, -1.0, 1.0);
    let input = work.input(&a);
    let output = work.output(STREAM, Tolerance::EXACT, || a);
    work.launch("copy", args![input, output], &[STREAM], &[]);
    work
}

pub(super) fn triad() -> Work {
    const S: f32 = 3.0;
    let mut work = Work::default();
    let mut random = Random::new(2);
    let (a, b) = (random.floats(STREAM, -1.0, 1.0), random.floats(STREAM, -1.0, 1.0));
    let inputs = [work.input(&a), work.input(&b)];
    let output = work.output(STREAM, Tolerance::close(1e-6, 1e-6), move || {
        a.iter().zip(&b).map(|(a, b)| a + S * b).collect::<Vec<f32>>()
    });
    work.launch("triad", args![inputs[0], inputs[1], output, S], &[STREAM], &[256]);
    work
}

pub(super) fn saxpy4() -> Work {
    const A: f32 = 1.5;
    // Not a multiple of the work-group's size: the range is rounded up.
    const VECTORS: usize = STREAM / 4 - 77;
    let mut work = Work::default();
    let mut random = Random::new(3);
    let (x, y) = (random.floats(4 * VECTORS, -1.0, 1.0), random.floats(4 * VECTORS, -1.0, 1.0));
    let inputs = [work.input(&x), work.input(&y)];
    let output = work.output(4 * VECTORS, Tolerance::close(1e-6, 1e-6), move || {
        x.iter().zip(&y).map(|(x, y)| A * x + y).collect::<Vec<f32>>()
    });
    let arguments = args![VECTORS as i32, A, inputs[0], inputs[1], output];
    work.launch("saxpy4", arguments, &[VECTORS.next_multiple_of(128)], &[128]);
    work
}

pub(super) fn structs() -> Work {
    /// The kernel's structure; the kind is an integer in it.
    type Particle = [f32; 8];
    const COUNT: usize = 1 << 20;
    const DT: f32 = 0.01;
    let mut work = Work::default();
    let mut random = Random::new(4);
    let particles: Vec<Particle> = (0..COUNT)
        .map(|_| {
            let mut particle: Particle = std::array::from_fn(|_| random.float(-5.0, 5.0));
            particle[7] = f32::from_bits(random.below(2));
            particle
        })
        .collect();
    let input = work.input(&particles);
    let reference = move || {
        let step = |[x, y, z, vx, vy, vz, mass, kind]: &Particle| {
            let drag = if kind.to_bits() == 0 { 0.99 } else { 0.9 };
            let (vx, vy, vz) = (vx * drag, vy * drag - 9.81 * DT, vz * drag);
            [x + vx * DT, y + vy * DT, z + vz * DT, vx, vy, vz, *mass, *kind]
        };
        particles.iter().flat_map(step).collect::<Vec<f32>>()
    };
    let output = work.output(8 * COUNT, Tolerance::close(1e-5, 1e-5), reference);
    work.launch("structs", args![input, output, DT], &[COUNT], &[64]);
    work
}

pub(super) fn transpose() -> Work {
    const SIDE: usize = 2048;
    let mut work = Work::default();
    let matrix = Random::new(5).floats(SIDE * SIDE, -1.0, 1.0);
    let input = work.input(&matrix);
    let output = work.output(SIDE * SIDE, Tolerance::EXACT, move || transposed(&matrix, SIDE));
    work.launch("transpose", args![input, output, SIDE as i32, SIDE as i32], &[SIDE, SIDE], &[16, 16]);
    work
}

/// A square matrix with rows and columns exchanged.
pub(super) fn transposed(matrix: &[f32], side: usize) -> Vec<f32> {
    (0..side * side).map(|i| matrix[i % side * side + i / side]).collect()
}
