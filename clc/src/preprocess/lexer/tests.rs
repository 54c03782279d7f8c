//! Tests of raw tokens.
