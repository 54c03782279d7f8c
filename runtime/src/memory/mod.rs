//! The memory of kernels and copies: allocations, slices, rectangles, copies and fills.
//!
//! A [`HostBuffer`] owns memory; a [`MemSlice`] is a counted reference to a part of it, or to memory of the application. Kernels,
//! copies and the application may write to memory at any time; the application is responsible for synchronization. Therefore no
//! `&[u8]` of it is ever created; bytes are only moved by raw copies.
//!
//! Not here: buffer objects with their flags, map counts and migration (in the driver), images.
#![allow(unsafe_code, reason = "allocations and raw copies")]

mod free_list;
mod host;
mod mappings;
mod rect;
mod slice;
#[cfg(test)]
mod tests;

pub use host::{AllocError, BASE_ALIGN, HostBuffer, ImportError};
pub(crate) use mappings::release as release_kept;
pub use rect::{RectCopy, RectError, RectLayout};
pub use slice::{MemSlice, MemoryError, OutOfBounds};
