//! The border to C: everything that touches a pointer of the application is here.
//!
//! - [`dispatch`]: makes, from the one list of entry points, the C stubs, the dispatch table, the lookup by name and the
//!   list of gaps;
//! - [`entries`]: that list;
//! - [`entry`]: what every stub does around the Rust function: catch panics, trace, store the error code;
//! - [`handle`]: objects as the application sees them, and the proof that a handle is live before anything is read;
//! - [`mod@pointer`]: typed, nullable, lifetime-bound views of the pointers in a call;
//! - [`export`]: the three C symbols of the library;
//! - [`info`]: the sink that info queries write to;
//! - [`callback`]: functions of the application that the driver calls.
//!
//! The types here are `repr(transparent)` over what C passes, so stubs take them directly: `api/` never sees a raw pointer
//! and needs no `unsafe`. Their soundness rests on one premise, stated here once and named "the OpenCL contract" below: a
//! non-null *data* pointer in a call is valid, for the length the call states, for reading or writing as the specification
//! says, until the call (or the command it enqueues) ends. Nothing is assumed of *handles*: they may be garbage.

pub mod callback;
pub mod dispatch;
pub mod entries;
pub mod entry;
pub mod export;
pub mod handle;
pub mod info;
pub mod pointer;
