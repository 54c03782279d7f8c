//! The number of lanes of a pack, and the estimates behind that choice. The properties of the machine are those of
//! [`crate::target`].

pub(crate) mod guards;
mod locality;
pub(crate) mod other_form;
pub(crate) mod recurrence;
pub(crate) mod register_pressure;
pub(crate) mod rows;
pub(crate) mod throughput;
pub(crate) mod tiles;
pub(crate) mod width;
