//! The text form of kernel IR: complete, readable, and its own parser's input.
//!
//! `writer` prints functions, modules and single instructions (also broken ones: the verifier's messages need that);
//! `literal` holds what both sides must agree on about constants and quoted strings; [`same`] compares structurally, which
//! is what "`parse(print(m)) == m`" means: ids of values and blocks may differ, all else may not.
//!
//! The grammar is described in `docs/kernel-ir.md`. No analysis result is ever printed or read here.

mod literal;
pub mod same;
mod writer;

pub use same::{same_function, same_module};
pub use writer::InstText;
