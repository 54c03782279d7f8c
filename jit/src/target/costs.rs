//! What operations cost on a machine: the figures behind the choice of lanes (`spmd/cost`). One table, so that a machine of
//! another kind can have its own.
//!
//! `cargo run --release -p kirc -- costs` measures every figure but `missed_line` again on the machine that it runs on, beside
//! this table. The documentation of a figure names its source and what that program measured on an Emerald Rapids (EMR below).
//!
//! - *Latencies* are those of Intel's Skylake-X on <https://uops.info>, with registers of 256 bits where they depend on the
//!   width, quoted from memory: the measured ones are the evidence. On Zen 4 and Zen 5 integer multiplications are faster and
//!   gathers are slower.
//! - *Throughputs* are relative to one vector instruction on a full register. Where their source is "chosen", the figure is not
//!   the measured cost but the one with which the choice of lanes was right for the kernels of the benchmark: one figure stands
//!   for many cases (an atomic in the own cache and a contended one, a misprediction and a branch that is always predicted),
//!   and both sides of the comparison contain it.

/// Latencies, in cycles, of vector operations.
#[derive(Clone, Copy, Debug)]
pub struct Latencies {
    /// Addition, multiplication, fused multiply-add of floats. uops.info: `VADDPS`, `VMULPS`, `VFMADD213PS` 4. EMR: 3 to 4.
    pub float: u32,
    /// Multiplication of integers. uops.info: `VPMULLD` 10. EMR: 11.
    pub int_multiply: u32,
    /// Division or square root. uops.info: `VDIVPS` 11 (512 bits: 17), `VSQRTPS` 12 (512 bits: 19); those of the longest
    /// registers. EMR: 17 and 19.
    pub divide: u32,
    /// A contiguous load from the first-level cache. uops.info: `VMOVUPS` 7. EMR: 16 together with moving the address from a
    /// lane to a general register, which is 5 of them, and computing it.
    pub load: u32,
    /// A gather, or an operation executed lane by lane. uops.info: `VPGATHERDD` 20 (512 bits: 26). EMR: 35 with the
    /// conversion of the index.
    pub scattered: u32,
    /// An exchange between lanes. uops.info: `VPERMD` 3. EMR: 3.
    pub exchange: u32,
}

/// What operations cost, relative to one vector instruction on a full register.
#[derive(Clone, Copy, Debug)]
pub struct Throughputs {
    /// A scalar division of integers. uops.info: `DIV` of 32 bits 6 cycles, which are 12 vector instructions. EMR: 12.
    pub divide: f64,
    /// What a division of integers through floats takes beside the division: conversions, and the case of zero. Counted in the
    /// code of the legalizer (`divide_floats.rs`). EMR: 11, where the multiplication by the shared reciprocal is included.
    pub convert_and_correct: f64,
    /// A division of floats by an estimate of the reciprocal, with its Newton-Raphson steps. Counted as above. EMR: 8 to 11.
    pub divide_estimate: f64,
    /// Divisions of 64-bit integers: a reciprocal, and two products with what they leave. Counted as above. EMR: 37 to 48.
    pub long_division: f64,
    /// A 64-bit multiplication, or the upper half of one: three multiplications of 32 bits. EMR: 3.
    pub wide_multiply: f64,
    /// A call of a library function. Chosen. EMR: 110 for `cbrt`, of which the function itself is the most.
    pub call: f64,
    /// An atomic operation: a locked instruction on a line in the own cache. Chosen. uops.info: `LOCK XADD` 18 cycles. EMR: 35.
    pub atomic: f64,
    /// Extracting or inserting a lane, and an access with it. uops.info: `VEXTRACTI32X4`, `VPEXTRD` and a load, 2 to 3. EMR, for
    /// a lane of a gather 1, of a scatter 2.
    pub scattered: f64,
    /// A lane of a gather, where that is faster than a load for each lane. uops.info, Alder Lake: `VPGATHERQQ` 5 cycles for 8
    /// lanes, which are 10 vector instructions. EMR: 1.
    pub gathered: f64,
    /// A scalar access that misses the first-level cache in each iteration, while a pack's lanes share lines. Zen 4, copies of
    /// elements in steps of 16 KiB: 20 cycles for each access beyond those of the pack; less where lines fit the second-level
    /// cache.
    pub missed_line: f64,
    /// A branch that is hard to predict. Chosen: such branches are mixed with predictable ones. EMR: 22 if every second one is
    /// mispredicted.
    pub unsure_branch: f64,
    /// A test whether any lane is active, and the branch on it: `KORTESTW`, `JZ`, and what moves the mask. EMR: 6, with the
    /// comparison.
    pub any_lane_test: f64,
    /// A volatile private variable that is carried from one iteration to the next through memory. A pack waits for its own
    /// store, while processors rename such memory for scalars. Chosen. EMR: 13 for one vector of 16 words.
    pub carried_through_memory: f64,
}

/// Latencies of processors with vectors.
pub const LATENCIES: Latencies =
    Latencies { float: 4, int_multiply: 10, divide: 16, load: 7, scattered: 20, exchange: 3 };

/// Throughputs of processors with vectors.
pub const THROUGHPUTS: Throughputs = Throughputs {
    divide: 12.0,
    convert_and_correct: 5.0,
    divide_estimate: 8.0,
    long_division: 26.0,
    wide_multiply: 3.0,
    call: 40.0,
    atomic: 8.0,
    scattered: 2.5,
    gathered: 1.25,
    missed_line: 8.0,
    unsure_branch: 4.0,
    any_lane_test: 3.0,
    carried_through_memory: 130.0,
};
