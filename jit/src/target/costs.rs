//! What operations cost on a machine: the figures behind the choice of lanes (`spmd/cost`). One table, so that a machine of
//! another kind can have its own.
//!
//! Latencies are those of Intel's Skylake-X as <https://uops.info> measures them, rounded. On
//! Zen 4 and Zen 5 integer multiplications are faster and gathers are slower. Throughput figures are relative to one vector instruction on full registers and are estimates: nothing measures them
//! again yet.

/// Latencies, in cycles, of vector operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latencies {
    /// Addition, multiplication, fused multiply-add of floats: `VADDPS`, `VFMADD213PS`.
    pub(crate) float: u32,
    /// Multiplication of integers: `VPMULLD`.
    pub(crate) int_multiply: u32,
    /// Division or square root: `VDIVPS`, `VSQRTPS`.
    pub(crate) divide: u32,
    /// A contiguous load from the first-level cache: `VMOVUPS`.
    pub(crate) load: u32,
    /// A gather, or an operation executed lane by lane: `VPGATHERDD`.
    pub(crate) scattered: u32,
    /// An exchange between lanes: `VPERMD`.
    pub(crate) exchange: u32,
}

/// What operations cost, relative to one vector instruction on a full register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughputs {
    /// A scalar division of integers.
    pub(crate) divide: f64,
    /// What a division of integers through floats takes beside the division: conversions, and the case of zero.
    pub(crate) convert_and_correct: f64,
    /// A division of floats by an estimate of the reciprocal, with its Newton-Raphson steps.
    pub(crate) divide_estimate: f64,
    /// Divisions of 64-bit integers: a reciprocal, and two products with what they leave.
    pub(crate) long_division: f64,
    /// A 64-bit multiplication, or the upper half of one: three multiplications of 32 bits.
    pub(crate) wide_multiply: f64,
    /// A call of a library function.
    pub(crate) call: f64,
    /// An atomic operation: a locked instruction on a line in the own cache.
    pub(crate) atomic: f64,
    /// Extracting or inserting a lane, and an access with it.
    pub(crate) scattered: f64,
    /// A branch that is hard to predict: half of a misprediction in a loop of vector instructions.
    pub(crate) unsure_branch: f64,
    /// A test whether any lane is active, and the branch on it.
    pub(crate) any_lane_test: f64,
    /// A volatile private variable that is carried from one iteration to the next through memory. A pack waits for its own
    /// store, while processors rename such memory for scalars.
    pub(crate) carried_through_memory: f64,
}

/// Latencies of processors with vectors.
pub(crate) const LATENCIES: Latencies =
    Latencies { float: 4, int_multiply: 10, divide: 16, load: 7, scattered: 20, exchange: 3 };

/// Throughputs of processors with vectors.
pub(crate) const THROUGHPUTS: Throughputs = Throughputs {
    divide: 12.0,
    convert_and_correct: 5.0,
    divide_estimate: 8.0,
    long_division: 26.0,
    wide_multiply: 3.0,
    call: 40.0,
    atomic: 8.0,
    scattered: 2.5,
    unsure_branch: 4.0,
    any_lane_test: 3.0,
    carried_through_memory: 130.0,
};
