//! The suite: one row per kernel. A function in the file of its kind creates the inputs and the reference; the OpenCL C is a file
//! in `kernels/`, written as in applications and not for a particular driver.
//!
//! Sizes are chosen so that a launch takes some milliseconds on a driver that uses SIMD, and so that the streams do not fit
//! a second-level cache.

mod arrays;
mod barrier;
mod compute;
mod divergent;
mod division;
mod fields;
mod graph;
mod image;
mod integer;
mod math;
mod memory;
mod numeric;
mod pixels;
mod rows;
mod sparse;
mod stencil;
mod text;

use serde::{Deserialize, Serialize};

use crate::work::Work;

/// What limits a kernel; means are computed by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Moving data.
    Memory,
    /// Local memory and barriers.
    Barrier,
    /// Arithmetic in single precision.
    Compute,
    /// Branches and loops that differ between work-items.
    Divergent,
    /// Integer arithmetic, small types, private arrays, atomics.
    Integer,
    /// Built-in functions.
    Math,
    /// Addresses read from memory.
    Sparse,
    /// Neighbours on a grid.
    Stencil,
    /// Images.
    Image,
    /// From source or SPIR-V to a result.
    Build,
    /// Overhead of calls.
    Launch,
}

impl Kind {
    /// The spelling on the command line and in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Barrier => "barrier",
            Self::Compute => "compute",
            Self::Divergent => "divergent",
            Self::Integer => "integer",
            Self::Math => "math",
            Self::Sparse => "sparse",
            Self::Stencil => "stencil",
            Self::Image => "image",
            Self::Build => "build",
            Self::Launch => "launch",
        }
    }
}

/// One kernel of the suite.
pub(crate) struct Row {
    /// What limits it.
    pub(crate) kind: Kind,
    /// Its name, and that of its file.
    pub(crate) name: &'static str,
    /// What it computes, with sizes.
    pub(crate) about: &'static str,
    /// OpenCL C.
    pub(crate) source: &'static str,
    /// Creates inputs, launches and references.
    pub(crate) work: fn() -> Work,
}

/// A row: kind, module and function with the work, what it is.
macro_rules! row {
    ($kind:ident, $module:ident::$name:ident, $about:literal) => {
        Row {
            kind: Kind::$kind,
            name: stringify!($name),
            about: $about,
            source: include_str!(concat!("../kernels/", stringify!($name), ".cl")),
            work: $module::$name,
        }
    };
}

/// The suite.
pub(crate) const ROWS: &[Row] = &[
    row!(Memory, memory::copy, "8 Mi floats, copied"),
    row!(Memory, memory::triad, "8 Mi floats: a + s * b"),
    row!(Memory, memory::saxpy4, "2 Mi float4: a * x + y, bounds checked"),
    row!(Memory, memory::structs, "1 Mi structures of 32 bytes, updated"),
    row!(Memory, memory::transpose, "2048 x 2048 floats, transposed without local memory"),
    row!(Memory, rows::half_blend, "512 Ki pixels of four halves"),
    row!(Memory, text::planes, "2 Mi pixels of 3 bytes to three planes of floats"),
    row!(Barrier, barrier::reduce, "4 Mi floats to 1024 sums, a tree in local memory"),
    row!(Barrier, barrier::scan, "1 Mi ints: prefix sums of 256"),
    row!(Barrier, barrier::transpose_tiled, "2048 x 2048 floats, transposed by tiles of 16 x 16"),
    row!(Barrier, barrier::matmul_tiled, "512 x 512 floats, tiles of 16 x 16 in local memory"),
    row!(Barrier, barrier::fft, "1024 transforms of 512 points in local memory"),
    row!(Barrier, barrier::bitonic, "512 sorts of 512 keys in local memory"),
    row!(Barrier, numeric::softmax, "1024 rows of 1000 floats, a work-group for each"),
    row!(Barrier, numeric::binomial_tree, "512 options, 128 steps, a work-group for each"),
    row!(Compute, compute::matmul, "512 x 512 floats, one element per work-item"),
    row!(Compute, compute::nbody, "4096 bodies, all pairs"),
    row!(Compute, compute::convolution, "1024 x 1024 floats, 7 x 7"),
    row!(Compute, compute::black_scholes, "512 Ki options"),
    row!(Compute, compute::horner, "512 Ki doubles, a polynomial of degree 32"),
    row!(Compute, rows::layer_norm, "4096 rows of 256 floats, one for each work-item"),
    row!(Compute, rows::biquad, "4096 channels of 300 samples, one for each work-item"),
    row!(Compute, rows::row_dots, "4096 x 1024 floats times a vector, a work-item for each row"),
    row!(Compute, compute::raytrace, "640 x 480 rays, 24 spheres, shadows and a mirror"),
    row!(Compute, numeric::perlin, "768 x 768 points, 5 octaves"),
    row!(Compute, numeric::small_cholesky, "32 Ki matrices of 6 x 6 floats, one for each work-item"),
    row!(Compute, fields::conv_layer, "32 channels of 56 x 56 floats, 32 filters of 3 x 3"),
    row!(Divergent, divergent::mandelbrot, "1024 x 768 points, at most 256 steps"),
    row!(Divergent, divergent::collatz, "128 Ki numbers, 64 bits"),
    row!(Divergent, divergent::interpreter, "16 Ki work-items, 4 programs, about 1000 steps"),
    row!(Divergent, divergent::binary_search, "512 Ki keys in 1 Mi"),
    row!(Divergent, divergent::bvh, "64 Ki rays, 1024 spheres in a tree of boxes"),
    row!(Divergent, text::insertion_sort, "16 Ki lists of 24 numbers"),
    row!(Divergent, text::word_search, "16 Ki pieces of 128 letters, a word of 6"),
    row!(Divergent, numeric::newton_fractal, "768 x 768 points, at most 40 steps"),
    row!(Integer, integer::sha256, "32 Ki messages of 64 bytes"),
    row!(Integer, integer::philox, "64 Ki work-items, 32 times four numbers"),
    row!(Integer, integer::xorshift, "64 Ki work-items, 128 points in a square"),
    row!(Integer, integer::mix64, "256 Ki words of 64 bits, 16 rounds"),
    row!(Integer, integer::grayscale, "2048 x 2048 pixels of 4 bytes"),
    row!(Integer, integer::box_blur, "1024 x 1024 bytes, 5 x 5"),
    row!(Integer, integer::histogram, "8 Mi bytes, counted in local memory"),
    row!(Integer, integer::compaction, "2 Mi words, one in four kept, by tickets in local memory"),
    row!(Integer, integer::edit_distance, "16 Ki pairs of 32 letters"),
    row!(Integer, integer::small_sort, "64 Ki medians of 25 numbers"),
    row!(Integer, arrays::digit_counts, "16 Ki work-items, 128 keys each, counted in private memory"),
    row!(Integer, arrays::median_filter, "1024 x 1024 bytes, 3 x 3"),
    row!(Integer, arrays::keccak, "32 Ki states of 25 words of 64 bits, 24 rounds"),
    row!(Integer, division::sort_step, "2 Mi words, a step of a bitonic sort"),
    row!(Integer, division::gcd, "128 Ki pairs of 32 bits"),
    row!(Integer, division::trial_division, "64 Ki numbers, at most 240 divisors each"),
    row!(Integer, division::modular_power, "64 Ki powers, products of 64 bits"),
    row!(Integer, pixels::rgb_to_yuv, "2 Mi pixels of 3 bytes"),
    row!(Integer, pixels::resize, "700 x 500 pixels of 4 bytes to 1024 x 1024"),
    row!(Integer, text::crc32, "16 Ki packets of 200 bytes"),
    row!(Integer, text::base64, "512 Ki times 3 bytes"),
    row!(Math, math::waves, "64 Ki sums of 16 sines and cosines"),
    row!(Math, math::powers, "512 Ki times exp, log, pow"),
    row!(Math, math::polar, "256 Ki points to angles and back"),
    row!(Math, math::fourier_sum, "2048 coefficients of 2048 samples, a sine and a cosine for each"),
    row!(Math, numeric::kepler, "256 Ki orbits"),
    row!(Sparse, sparse::spmv, "64 Ki rows, 1 to 31 entries each"),
    row!(Sparse, sparse::gather, "4 Mi of 1 Mi floats, in random order"),
    row!(Sparse, sparse::pagerank, "64 Ki pages, links by a power law"),
    row!(Sparse, graph::bfs_levels, "64 Ki nodes, 2 to 8 neighbours each, 8 levels"),
    row!(Sparse, graph::ellpack, "128 Ki rows, 16 entries each"),
    row!(Sparse, graph::hash_lookup, "256 Ki keys in 64 Ki slots"),
    row!(Sparse, graph::lennard_jones, "16 Ki particles, 64 neighbours each"),
    row!(Stencil, stencil::stencil2d, "2048 x 2048 floats, five points"),
    row!(Stencil, stencil::stencil3d, "128 x 128 x 128 floats, seven points"),
    row!(Stencil, stencil::life, "2048 x 2048 bytes, eight neighbours on a torus"),
    row!(Stencil, stencil::mirrored_blur, "1024 x 1024 floats, rows of 15, mirrored at the borders"),
    row!(Stencil, stencil::near_median, "1024 x 1024 floats, medians of close ones of nine"),
    row!(Stencil, fields::fdtd, "992 x 992 floats on a torus, 2 steps of three fields"),
    row!(Stencil, fields::lattice_boltzmann, "512 x 512 cells on a torus, nine velocities"),
    row!(Stencil, fields::bilateral, "512 x 512 floats, 7 x 7"),
    row!(Stencil, fields::convolve_rows, "1024 x 1024 floats, rows of 15, zero at the borders"),
    row!(Image, image::image_copy, "1024 x 1024 pixels of 4 bytes"),
    row!(Image, image::image_grayscale, "1024 x 1024 pixels of 4 bytes"),
    row!(Image, image::image_convert, "1024 x 1024 pixels of 4 bytes to 4 floats"),
    row!(Image, image::image_bilinear, "700 x 700 to 1024 x 1024 pixels of 4 bytes"),
    row!(Image, image::image_convolution, "1024 x 1024 pixels of 4 bytes, 5 x 5"),
];
