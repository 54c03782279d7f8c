//! Rewrites of one work-item's code that make it easier to vectorize. The function stays that of one work-item.

pub(crate) mod index_widening;
pub(crate) mod loop_counters;
pub(crate) mod normalize;
pub(crate) mod private_arrays;
pub(crate) mod record_access;
pub(crate) mod versioning;
