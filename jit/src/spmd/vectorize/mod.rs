//! From one work-item's code to that of a pack: block order, linearized control flow, masks, and instructions on all lanes.

pub(crate) mod aggregated_atomics;
pub(crate) mod linearize;
pub(crate) mod masks;
pub(crate) mod order;
pub(crate) mod widen;
