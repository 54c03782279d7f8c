//! The parser: tokens in, a syntax tree out. Names are not resolved, except that the parser knows which names are types, because
//! the grammar of C depends on it.
//!
//! Recursive descent; binary operators by precedence climbing. What fails to parse is reported once, in clang's words, and the
//! parser goes on after the next `;` or before the next `}`.
//!
//! | file | concern |
//! |---|---|
//! | `parser.rs` | the state: the current token, limits, errors |
//! | `recovery.rs` | missing semicolons and brackets, and where to go on |
//! | `names.rs` | which names are types |
//! | `units.rs`, `declarations.rs` | declarations at file scope and elsewhere |
//! | `specifiers.rs`, `records.rs`, `attributes.rs` | what stands before declarators |
//! | `declarators.rs`, `initializers.rs` | declarators, type names, parameters; initializers |
//! | `statements.rs` | statements |
//! | `expressions.rs`, `primary.rs` | expressions |

pub mod ast;
pub mod keyword;

mod attributes;
mod declarations;
mod declarators;
mod expressions;
mod initializers;
mod names;
mod parser;
mod primary;
mod records;
mod recovery;
mod specifiers;
mod statements;
#[cfg(test)]
mod tests;
mod units;

use crate::preprocess::{Preprocessed, Session};

/// Parses a translation unit. Errors are reported; what could be parsed is returned.
pub fn parse(session: &mut Session<'_>, input: &Preprocessed) -> ast::Unit {
    parser::Parser::new(session, input).unit()
}
