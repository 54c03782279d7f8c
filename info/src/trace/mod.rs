//! What a file of `CLIFT_TRACE` contains.
//!
//! - [`events`]: reads the file, also one whose end is missing;
//! - [`summary`]: sums over kernels, calls and builds;
//! - [`timeline`]: what happened when, in as many pieces as a page can show.
//!
//! Deliberately not here: how any of it is shown ([`crate::page`]).

pub mod events;
pub mod summary;
pub mod timeline;
