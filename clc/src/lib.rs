//! Clift's OpenCL C front end: text and options in; a SPIR-V module, descriptions of its kernels, the files that were read, and
//! diagnostics out.
//!
//! ```text
//! files -> preprocess -> tokens -> syntax -> syntax tree -> semantics -> typed tree -> emit -> SPIR-V
//! ```
//!
//! | module | turns | into |
//! |---|---|---|
//! | [`source`] | texts | a map of positions; interned names |
//! | [`preprocess`] | texts | [`preprocess::Token`]s |
//! | [`syntax`] | tokens | [`syntax::ast`], names unresolved |
//! | [`semantics`] | the syntax tree | [`tree`]: every name resolved, every conversion explicit |
//! | [`emit`] | the typed tree | SPIR-V words |
//!
//! [`types`] has the types and their layout, [`builtins`] the one table of built-in functions, [`diagnostics`] what is reported
//! to the user. Stages meet only in the data between them: each can be tested alone.
//!
//! This crate knows neither OpenCL objects nor the kernel compiler. It runs in the application's process: it does not panic,
//! does not recurse without bound ([`limits`]), and its output is deterministic.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod builtins;
pub mod diagnostics;
pub mod emit;
pub mod limits;
pub mod options;
pub mod preprocess;
pub mod semantics;
pub mod source;
pub mod syntax;
pub mod tree;
pub mod types;

mod compile;

pub use compile::{Output, compile, preprocess_to_text, tree_to_text};
pub use options::Options;
