//! The entry points of the library: the layer above [`crate::api`], which only C calls.
//!
//! - [`list`]: the list of entry points, one row each;
//! - [`generate`]: what is generated from the list: the C stubs, the dispatch table, the lookup by name, and the list of
//!   unimplemented functions;
//! - [`export`]: the three C symbols of the library.

pub mod export;
pub mod generate;
pub mod list;
