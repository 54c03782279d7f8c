//! The self-test: one kernel, built from source and run with a barrier, local memory and a partial work-group, and its results.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::opencl::Device;

const SOURCE: &str = include_str!("selftest.cl");

/// Work-items, in work-groups of [`GROUP`]; the last work-group is partial.
const ITEMS: usize = 100_003;
const GROUP: usize = 64;

/// Runs the kernel and compares each result. Returns what passed.
pub fn run(device: &Device<'_>) -> Result<String> {
    let started = Instant::now();
    let program = device.build(SOURCE, c"-cl-std=CL3.0")?;
    let built = started.elapsed();
    let results = program.run("selftest", ITEMS, GROUP)?;
    let ran = started.elapsed() - built;
    ensure!(results.len() == ITEMS, "the kernel returned {} of {ITEMS} results", results.len());
    for (index, result) in results.iter().enumerate() {
        let expected = expected(index);
        ensure!(*result == expected, "work-item {index} computed {result}, not {expected}");
    }
    Ok(format!("passed (build {:.1} ms, run {:.1} ms)", built.as_secs_f64() * 1e3, ran.as_secs_f64() * 1e3))
}

/// What a work-item computes: the number of its mirror image in the work-group, through branches and a loop.
fn expected(index: usize) -> u32 {
    let first = index / GROUP * GROUP;
    let size = GROUP.min(ITEMS - first);
    let mirror = (first + (size - 1 - (index - first))) as u32;
    let mut value = mirror;
    for _ in 0..mirror % 7 {
        value = if value.is_multiple_of(2) { value / 2 } else { value.wrapping_mul(3).wrapping_add(1) };
    }
    value
}
