//! Tests of small programs.
