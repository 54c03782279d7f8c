//! Transcendental functions as kernel IR.
//!
//! Each is a [`MathFunction`] of numbers: straight-line code without lookup tables and calls, so that all lanes of a pack
//! execute it. The steps are the same in all of them: reduce the argument (subtract multiples of a constant with fused
//! multiply-adds), evaluate a polynomial (by Horner's rule; long ones in groups, to shorten the dependency chain), assemble the
//! result by integer arithmetic on exponents and signs, and select the results for special values.
//!
//! A function emits its code in place instead of as a kir function to be inlined. Inlining would give the same code, but this way
//! the constants are visible to all passes. If uncommon arguments need long code (arguments of `sin` beyond 10^5),
//! [`num::Num::cold_path`] puts it into a cold block that is executed if any lane needs it, with one test for all lanes.
//!
//! Functions of floats use doubles where that is simpler than compensated arithmetic (`pow`, `tgamma`). Halves are not handled
//! here: the caller converts them to floats. The only calls, lane by lane, are those for sine, cosine and tangent of huge
//! doubles.
//!
//! Coefficients are in `coefficients.rs`, the output of `coefficients.sollya`. Error bounds are in `table.rs`; `jit/tests/ulp`
//! measures errors.
//!
//! - `num`: kernel IR written as formulas;
//! - [`exp`], [`log`], [`pow`], [`trig`], [`inverse`], [`hyperbolic`], [`root`], [`remainder`], [`erf`], [`gamma`]: the families.

mod coefficients;
pub(super) mod erf;
pub(super) mod exp;
pub(super) mod gamma;
pub(super) mod hyperbolic;
pub(super) mod inverse;
pub(super) mod log;
mod num;
pub(super) mod pow;
pub(super) mod remainder;
pub(super) mod root;
pub(super) mod trig;

pub(super) use num::{MathFunction, emit, emit_pair};
