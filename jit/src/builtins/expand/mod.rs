//! Expansions of OpenCL.std instructions into kernel IR, by class. They have no branches, as they execute for all lanes.

pub(super) mod common;
pub(super) mod float;
pub(super) mod geometric;
pub(super) mod int;
pub(super) mod memory;
pub(super) mod misc;
