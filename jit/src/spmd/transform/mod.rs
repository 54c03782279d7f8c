//! Rewrites that make a kernel easier to vectorize. Most work on the code of one work-item, which stays that of one
//! work-item; [`loop_counters`] and [`unroll_and_jam`] work on the code of a pack.

pub(crate) mod clamped_loads;
pub(crate) mod index_widening;
pub(crate) mod loop_counters;
pub(crate) mod loop_vectorizer;
pub(crate) mod normalize;
pub(crate) mod one_lane;
pub(crate) mod one_row_groups;
pub(crate) mod private_arrays;
pub(crate) mod record_access;
pub(crate) mod reduction_ops;
pub(crate) mod rolled_loops;
pub(crate) mod row_loops;
pub(crate) mod single_item_groups;
pub(crate) mod single_lane_regions;
pub(crate) mod sink_under_guards;
pub(crate) mod superwords;
pub(crate) mod transposed_items;
pub(crate) mod unroll_and_jam;
pub(crate) mod versioning;
pub(crate) mod yields;
