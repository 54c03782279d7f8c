//! Contracts between Clift's crates; no logic.
//!
//! - [`cl`]: the C types and constants of OpenCL, and what the installed binding crate lacks of them;
//! - [`abi`]: what generated code, the code generator and the runtime agree on;
//! - [`image`]: formats, descriptors and samplers of images.
//!
//! `jit` and `runtime` never see each other: everything they share is here.

pub mod abi;
pub mod cl;
pub mod image;
