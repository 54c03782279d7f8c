//! What tests of this crate and of those above it share. Built for tests only (feature `testing`).
//!
//! - [`damage`]: damaged inputs, for fuzz tests;
//! - [`filetest`]: files of kernel IR with directives in comments, golden output, blessing;
//! - [`run`]: launches described by directives: what to run a kernel with and what must come out; the interpreter as executor;
//! - [`samples`]: valid instances of every op, from the op table's rules;
//! - [`generate`]: random kernels with defined behaviour, to compare interpreter, passes and backends.

pub mod damage;
pub mod filetest;
pub mod generate;
pub mod run;
pub mod samples;
