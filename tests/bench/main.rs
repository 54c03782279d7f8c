//! The benchmark of latencies.
fn main() {}
