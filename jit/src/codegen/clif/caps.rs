//! What Cranelift's lowering of 128-bit vectors covers, on all targets that this backend is for.

use super::super::VectorCaps;
use super::target::Features;

/// The capabilities of a target.
pub(super) fn of(features: Features) -> VectorCaps {
    let _ = features.simd;
    VectorCaps::SCALAR
}
