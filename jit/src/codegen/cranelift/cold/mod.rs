//! Cold code: outlined, or placed apart within its function.

pub(crate) mod exchange;
pub(crate) mod outline;
pub(crate) mod placement;
