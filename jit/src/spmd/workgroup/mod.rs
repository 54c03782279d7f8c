//! From the code of a pack to that of a work-group: regions between barriers, and loops over packs around them.

pub(crate) mod collectives;
pub(crate) mod context;
pub(crate) mod env;
pub(crate) mod loops;
pub(crate) mod named_barriers;
pub(crate) mod private;
pub(crate) mod regions;
