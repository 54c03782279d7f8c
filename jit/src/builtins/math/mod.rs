//! Transcendental functions as kernel IR.
//!
//! Each is a [`Function`] of numbers: straight code without tables of data or calls, so that it runs on all lanes of a pack. The
//! steps are the same everywhere: reduce the argument (multiples of a constant are taken off with fused multiply-adds), evaluate
//! a polynomial (by Horner's rule, long ones in groups: chains of dependent steps take longer than the steps themselves), put the
//! result together by integer arithmetic on exponents and signs, and replace what the special values demand by selections.
//!
//! A function emits its code in place rather than as a kir function to be inlined: inlining would make the same code, and the
//! constants are then visible to every pass at once. Where rare arguments need long code (arguments of `sin` beyond 10^5),
//! [`num::Num::cold_path`] puts it on a branch that is taken when any lane wants it: the vectorizer and OpenCL vectors alike test once.
//!
//! Functions of floats may go through doubles where that is simpler than compensated arithmetic (`pow`, `tgamma`). Halves are the
//! caller's business: floats in between. The one call that remains, lane by lane, is for sines of huge doubles.
//!
//! Coefficients are in `coefficients.rs`, which `coefficients.sollya` prints. Error bounds are in `table.rs`; `tests/ulp` measures.
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

pub(super) use num::{Function, emit, emit_pair};
