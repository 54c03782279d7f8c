//! From the code of one work-item to that of a pack: block order, linearized control flow, masks, and vector instructions.

pub(crate) mod aggregated_atomics;
pub(crate) mod linearize;
pub(crate) mod masks;
pub(crate) mod order;
pub(crate) mod widen;
