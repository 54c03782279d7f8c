//! The interface to C: all code that accesses pointers of the application.
//!
//! - [`dispatch`]: the dispatch table as the loader reads it;
//! - [`entry`]: what every stub does in addition to calling the Rust function: stop panics, trace, store the error code;
//! - [`handle`]: objects as the application sees them, and the check that a handle is live before anything is read;
//! - [`mod@pointer`]: typed, nullable views of the pointers in a call, with lifetimes;
//! - [`info`]: the output of info queries;
//! - [`callback`]: functions of the application that the driver calls;
//! - `sync`: what handles synchronize with.
//!
//! The types are `repr(transparent)` over what C passes, so stubs can use them as argument types, and `api/` never sees a raw
//! pointer and needs no `unsafe`. Their soundness depends on one assumption, called "the OpenCL contract" below: a non-null
//! *data* pointer in a call is valid, for the length stated in the call, for reading or writing as the specification says, until
//! the call (or the command it enqueues) ends. Nothing is assumed about *handles*: they may be arbitrary numbers.

pub mod callback;
pub mod dispatch;
pub mod entry;
pub mod handle;
pub mod info;
pub mod pointer;
pub(crate) mod sync;
