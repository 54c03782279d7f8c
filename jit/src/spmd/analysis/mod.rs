//! Analyses of a kernel's values and control flow when its work-items run as lanes. Nothing here edits a function.

pub(crate) mod affine;
pub(crate) mod assumptions;
pub(crate) mod choices;
pub mod divergence;
pub(crate) mod known_bits;
pub(crate) mod polling;
pub(crate) mod ranges;
pub mod shape;
pub(crate) mod spin_loops;
pub(crate) mod transfer;
