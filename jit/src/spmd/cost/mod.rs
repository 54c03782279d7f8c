//! How many lanes a pack gets, and the estimates behind that choice. The figures are those of [`crate::target`].

pub(crate) mod recurrence;
pub(crate) mod register_pressure;
pub(crate) mod throughput;
pub(crate) mod width;
