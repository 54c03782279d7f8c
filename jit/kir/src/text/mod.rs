//! The text form of kernel IR: complete, readable, and its own parser's input.
//!
//! `writer` prints functions, modules and single instructions (also broken ones: the verifier's messages need that);
//! [`parse_module`] and [`parse_function()`] read (`lexer`, `parser`, `parse_function`), with line, column and what was expected;
//! `literal` holds what both sides must agree on about constants and quoted strings; [`same`] compares structurally, which
//! is what "`parse(print(m)) == m`" means: ids of values and blocks may differ, all else may not.
//!
//! The grammar is described in `docs/kernel-ir.md`. No analysis result is ever printed or read here.

mod lexer;
pub(crate) mod literal;
mod parse_function;
mod parser;
pub mod same;
#[cfg(test)]
mod tests;
mod writer;

pub use parser::{ParseError, parse_function, parse_module};
pub use same::{same_function, same_module};
pub use writer::InstText;
