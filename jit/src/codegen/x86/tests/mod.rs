//! The wide backend against a decoder.

mod rows;
