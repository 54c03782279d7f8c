//! Clift's kernel IR.
#![forbid(unsafe_code)]
