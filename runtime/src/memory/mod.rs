//! Memory that kernels and copies work on: allocations, slices of them, rectangles, copies and fills.
//!
//! A [`HostBuffer`] owns memory; a [`MemSlice`] is a counted reference to a part of it, or to memory of the application.
//! Memory is *shared* in the machine's sense: kernels, copies and the application may write to it at any time, and when they
//! do so without order the values are the application's problem. So no `&[u8]` into it is ever made; bytes are moved by raw
//! copies only.
//!
//! Not here: buffer objects and their flags, map counts, migration (the driver's), images.
#![allow(unsafe_code, reason = "allocations and raw copies")]

mod host;
mod rect;
mod slice;
#[cfg(test)]
mod tests;

pub use host::{AllocError, BASE_ALIGN, HostBuffer, ImportError};
pub use rect::{RectCopy, RectError, RectLayout};
pub use slice::{MemSlice, OutOfBounds};
