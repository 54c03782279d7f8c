//! Measures launches: nanoseconds per empty kernel, launched and waited for one at a time, in bursts, and through events; and the
//! scaling of a large launch.
//!
//! ```text
//! cargo run --release -p clift-runtime --example latency [threads]
//! ```
#![allow(unsafe_code, reason = "kernel entries are C functions")]

use std::sync::Arc;
use std::time::Instant;

use clift_include::abi::{KernelEntry, Resources, WgContext};
use clift_runtime::graph::{Command, Queue, QueueOptions, Work};
use clift_runtime::launch::{ArgBlock, KernelCost, Launch};
use clift_runtime::ndrange::NdRange;
use clift_runtime::pool::{self, PoolOptions};

/// # Safety
/// None needed: it does nothing.
unsafe extern "C" fn empty(_: *const WgContext, _: *const u8, _: u64, _: u64) {}

/// Does some work in each group.
///
/// # Safety
/// None needed.
unsafe extern "C" fn heavy(_: *const WgContext, _: *const u8, first: u64, count: u64) {
    let mut sum = first as f64;
    for group in 0..count {
        for i in 0..2000u64 {
            sum = (sum + (group ^ i) as f64).sqrt();
        }
    }
    std::hint::black_box(sum);
}

fn launch(entry: clift_include::abi::GroupRunFn, groups: u64, cost: &Arc<KernelCost>) -> Command {
    let nd = NdRange::new(1, [groups, 1, 1], [0; 3], [1; 3]).unwrap_or(NdRange::single());
    Command::new(Work::Launch(Box::new(Launch {
        entry: KernelEntry { run: entry, packed: None, data: std::ptr::null() },
        resources: Resources { arg_block_bytes: 64, width: 1, ..Resources::default() },
        args: ArgBlock::new(64),
        nd,
        local_arg_bytes: 0,
        printf_sink: None,
        enqueuing: None,
        info: Some(cost.clone()),
        checks: None,
    })))
}

/// Median, and 90th percentile, of nanoseconds per step.
fn measure(name: &str, rounds: usize, steps: u32, mut round: impl FnMut()) {
    round();
    let mut times: Vec<u128> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_nanos() / u128::from(steps)
        })
        .collect();
    times.sort_unstable();
    println!("{name:<44}{:>9} ns   (90 %: {} ns)", times[rounds / 2], times[rounds * 9 / 10]);
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|text| text.parse().ok());
    if pool::configure(PoolOptions { threads }).is_err() {
        eprintln!("the pool has already been configured");
    }
    println!("{} workers", pool::worker_count());
    let cost = Arc::new(KernelCost::default());
    for (name, options) in [
        ("in-order", QueueOptions::default()),
        ("in-order, profiling", QueueOptions { profiling: true, ..QueueOptions::default() }),
        ("out-of-order", QueueOptions { out_of_order: true, ..QueueOptions::default() }),
    ] {
        let queue = Queue::new(options);
        println!("{name}:");
        measure("  empty launch + finish", 5000, 1, || {
            queue.submit(launch(empty, 1, &cost));
            queue.finish();
        });
        measure("  empty launch + wait", 5000, 1, || {
            queue.submit(launch(empty, 1, &cost)).wait();
        });
        measure("  1000 launches + finish, each", 200, 1000, || {
            for _ in 0..1000 {
                queue.submit(launch(empty, 1, &cost));
            }
            queue.finish();
        });
        measure("  submission alone, of 1000", 200, 1000, || {
            for _ in 0..1000 {
                queue.submit(launch(empty, 1, &cost));
            }
        });
        queue.finish();
        measure("  1000 tasks + finish, each", 200, 1000, || {
            for _ in 0..1000 {
                queue.submit(Command::new(Work::Task(Box::new(|| Ok(())))));
            }
            queue.finish();
        });
    }
    let queue = Queue::new(QueueOptions::default());
    let mut times: Vec<u128> = (0..300)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            let start = Instant::now();
            queue.submit(launch(empty, 1, &cost));
            queue.finish();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    println!("launch + finish after 1 ms of sleep: {} ns (90 %: {} ns)", times[150], times[270]);
    for groups in [1u64, 4, 64, 1024, 16_384] {
        let cost = Arc::new(KernelCost::default());
        let start = Instant::now();
        // SAFETY: `heavy` needs nothing.
        unsafe { heavy(std::ptr::null(), std::ptr::null(), 0, groups) };
        let alone = start.elapsed();
        let mut best = u128::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            queue.submit(launch(heavy, groups, &cost));
            queue.finish();
            best = best.min(start.elapsed().as_nanos());
        }
        println!(
            "{groups:>6} groups: alone {:>10} ns, launched {best:>10} ns, x{:.2}",
            alone.as_nanos(),
            alone.as_nanos() as f64 / best as f64
        );
    }
}
