//! Expansions of OpenCL.std instructions into kernel IR, by class. Branch-free: they run on all lanes.

pub(super) mod common;
pub(super) mod float;
pub(super) mod geometric;
pub(super) mod int;
pub(super) mod memory;
pub(super) mod misc;
