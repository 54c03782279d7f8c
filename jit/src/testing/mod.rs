//! Running compiled kernels without OpenCL: for the tests of this crate and for `kirc`.

pub mod launch;
