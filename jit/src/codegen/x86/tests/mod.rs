//! The x86 backend's encoder against a decoder.

mod rows;
mod scalars;
