//! Cold code: kept out of the way, or made a function of its own.

pub(crate) mod exchange;
pub(crate) mod outline;
pub(crate) mod placement;
