//! Launches through a queue: every work-item once, memory, failures, output.
#![allow(unsafe_code, reason = "kernel entries are C functions")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use clift_include::abi::{ARENA_ALIGN, KernelEntry, PrintfArg, PrintfArgKind, Resources, WgContext};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::{ArgBlock, KernelCost, Launch};
use crate::graph::{Command, Event, Queue, QueueOptions, Work};
use crate::ndrange::NdRange;
use crate::status;
use crate::sync::plain::Mutex;

/// The code of a test's kernel for a run of groups.
type Body = dyn Fn(&WgContext, *const u8, u64, u64) + Send + Sync;

/// Calls the body behind [`WgContext::entry_data`].
unsafe extern "C" fn enter(ctx: *const WgContext, args: *const u8, first: u64, count: u64) {
    // SAFETY: the launch was made by `launch`, whose data is a body kept alive by the command.
    unsafe {
        let body = (*ctx).entry_data.cast::<Box<Body>>();
        (*body)(&*ctx, args, first, count);
    }
}

fn launch(nd: NdRange, resources: Resources, body: Box<Body>) -> (Launch, Arc<Box<Body>>) {
    let body = Arc::new(body);
    let launch = Launch {
        entry: KernelEntry { run: enter, packed: None, data: Arc::as_ptr(&body).cast() },
        resources,
        args: ArgBlock::new(resources.arg_block_bytes as usize),
        nd,
        local_arg_bytes: 0,
        printf_sink: None,
        enqueuing: None,
        info: None,
        checks: None,
    };
    (launch, body)
}

fn submit(queue: &Queue, launch: Launch, body: Arc<Box<Body>>) -> Event {
    queue.submit(Command::new(Work::Launch(Box::new(launch))).keeping(body))
}

fn queue() -> Queue {
    Queue::new(QueueOptions::default())
}

fn range(dims: u32, global: [u64; 3], offset: [u64; 3], local: [u64; 3]) -> NdRange {
    NdRange::new(dims, global, offset, local).expect("the test's geometry is legal")
}

/// Counts each work-item of the run, by its number without offset.
fn visit(ctx: &WgContext, first: u64, count: u64, counts: &[AtomicU32]) {
    for group_x in first..first + count {
        let group = [group_x, ctx.group_y, ctx.group_z];
        let start: [u64; 3] = core::array::from_fn(|d| group[d] * ctx.local_size[d]);
        let size: [u64; 3] = core::array::from_fn(|d| ctx.local_size[d].min(ctx.global_size[d] - start[d]));
        for z in start[2]..start[2] + size[2] {
            for y in start[1]..start[1] + size[1] {
                for x in start[0]..start[0] + size[0] {
                    let index = (z * ctx.global_size[1] + y) * ctx.global_size[0] + x;
                    counts[usize::try_from(index).expect("it is small")].fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_item_once(
        dims in 1u32..=3,
        global in [1u64..200, 1u64..20, 1u64..9],
        offset in [0u64..10, 0u64..10, 0u64..10],
        local in [1u64..40, 1u64..9, 1u64..5],
        known_cost in any::<bool>(),
        coalesced_row in 0u32..200,
    ) {
        let nd = range(dims, global, offset, local);
        let total = usize::try_from(nd.total_items()).expect("it is small");
        let counts: Arc<Vec<AtomicU32>> = Arc::new((0..total).map(|_| AtomicU32::new(0)).collect());
        let seen = counts.clone();
        let resources = Resources { coalesced_row, ..Resources::default() };
        let (mut launch, body) = launch(nd, resources, Box::new(move |ctx, _, first, count| {
            assert_eq!((ctx.work_dim, ctx.global_offset), (dims, core::array::from_fn(|d| if d < dims as usize { offset[d] } else { 0 })));
            assert!(first + count <= ctx.num_groups[0] && count > 0);
            visit(ctx, first, count, &seen);
        }));
        if known_cost {
            let cost = KernelCost::default();
            cost.learn(1_000_000, nd.total_items());
            launch.info = Some(Arc::new(cost));
        }
        prop_assert_eq!(submit(&queue(), launch, body).wait(), status::COMPLETE);
        prop_assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn many_launches_of_many_groups() {
    let queue = queue();
    let sum = Arc::new(AtomicU64::new(0));
    let cost = Arc::new(KernelCost::default());
    for _ in 0..300 {
        let total = sum.clone();
        let nd = range(2, [64, 50, 1], [0; 3], [1; 3]);
        let (mut launch, body) = launch(
            nd,
            Resources::default(),
            Box::new(move |_, _, _, count| {
                for i in 0..50 * count {
                    std::hint::black_box(i);
                }
                total.fetch_add(count, Ordering::Relaxed);
            }),
        );
        launch.info = Some(cost.clone());
        submit(&queue, launch, body);
    }
    queue.finish();
    assert_eq!(sum.load(Ordering::Relaxed), 300 * 3200);
    assert!(cost.estimate(1).is_some());
}

#[test]
fn empty_launches_end_without_a_call() {
    let nd = range(2, [0, 5, 1], [0; 3], [1; 3]);
    let (launch, body) = launch(nd, Resources::default(), Box::new(|_, _, _, _| unreachable!("no group")));
    assert_eq!(submit(&queue(), launch, body).wait(), status::COMPLETE);
}

#[test]
fn arenas_and_arguments() {
    let resources = Resources {
        arg_block_bytes: 24,
        local_bytes: 100,
        scratch_fixed_bytes: 10,
        scratch_item_bytes: 16 << 10,
        width: 8,
        coalesced_row: 0,
        packs_of_groups: false,
    };
    let nd = range(1, [1000, 1, 1], [0; 3], [1000, 1, 1]);
    let (mut launch, body) = launch(
        nd,
        resources,
        Box::new(|ctx, args, _, _| {
            assert_eq!((ctx.local_mem_bytes, ctx.scratch_bytes), (600, 10 + 1000 * (16 << 10)));
            assert!(ctx.local_mem.addr().is_multiple_of(ARENA_ALIGN) && ctx.scratch.addr().is_multiple_of(ARENA_ALIGN));
            assert!(args.addr().is_multiple_of(128));
            // SAFETY: the context says how much memory there is, and the block has 24 bytes.
            unsafe {
                ctx.local_mem.write_bytes(1, 600);
                ctx.scratch.write_bytes(2, ctx.scratch_bytes as usize);
                assert_eq!(args.add(16).read(), 42);
            }
        }),
    );
    launch.local_arg_bytes = 500;
    launch.args.bytes_mut()[16] = 42;
    assert_eq!(launch.args.clone().bytes(), launch.args.bytes());
    assert_eq!(submit(&queue(), launch, body).wait(), status::COMPLETE);
}

#[test]
fn failed_allocations_fail_the_launch() {
    for (local, item) in [(u64::MAX, 0), (1 << 60, 0), (0, u64::MAX / 2), (0, 1 << 60)] {
        let resources = Resources { local_bytes: local, scratch_item_bytes: item, width: 1, ..Resources::default() };
        let nd = range(1, [4, 1, 1], [0; 3], [2, 1, 1]);
        let (launch, body) = launch(nd, resources, Box::new(|_, _, _, _| unreachable!("no memory")));
        let event = submit(&queue(), launch, body);
        assert_eq!(event.wait(), status::OUT_OF_RESOURCES);
        assert!(event.fault().is_some());
    }
}

#[test]
fn faults_fail_the_launch_with_a_message() {
    let ran = Arc::new(AtomicU64::new(0));
    let counter = ran.clone();
    let nd = range(1, [1_000_000, 1, 1], [0; 3], [1; 3]);
    let (launch, body) = launch(
        nd,
        Resources::default(),
        Box::new(move |ctx, _, _, count| {
            counter.fetch_add(count, Ordering::Relaxed);
            for message in ["out of bounds", "and more"] {
                // SAFETY: the context is the one passed to the kernel.
                unsafe { ((*ctx.callbacks).fault)(ctx, message.as_ptr(), message.len() as u64) };
            }
        }),
    );
    let queue = queue();
    let event = submit(&queue, launch, body);
    let after = queue.submit(Command::new(Work::Marker));
    assert_eq!(event.wait(), status::OUT_OF_RESOURCES);
    assert_eq!(event.fault().as_deref(), Some("out of bounds"));
    assert!(ran.load(Ordering::Relaxed) < 1_000_000);
    assert_eq!(after.wait(), status::COMPLETE);
}

/// Prints `group x` in every group.
fn print(ctx: &WgContext, first: u64, count: u64) -> i32 {
    let mut result = 0;
    for group in first..first + count {
        let arg = PrintfArg { kind: PrintfArgKind::Int, elem_bytes: 8, lanes: 1, reserved: 0, offset: 0 };
        let data = group.to_le_bytes();
        let format = c"<group %4ld>\n";
        // SAFETY: as the ABI asks.
        result = unsafe { ((*ctx.callbacks).printf)(ctx, format.as_ptr().cast(), &arg, 1, data.as_ptr()) };
    }
    result
}

#[test]
fn output_is_complete_when_the_launch_has_ended() {
    let text = Arc::new(Mutex::new(Vec::new()));
    let nd = range(1, [500, 1, 1], [0; 3], [1; 3]);
    let (mut launch, body) = launch(
        nd,
        Resources::default(),
        Box::new(|ctx, _, first, count| {
            assert_eq!(print(ctx, first, count), 0);
        }),
    );
    let sink = text.clone();
    launch.printf_sink = Some(Arc::new(move |bytes: &[u8]| sink.lock().extend_from_slice(bytes)));
    assert_eq!(submit(&queue(), launch, body).wait(), status::COMPLETE);
    let text = String::from_utf8(text.lock().clone()).expect("it is text");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 500);
    assert_eq!((lines[0], lines[499]), ("<group    0>", "<group  499>"));
}

#[test]
fn output_is_bounded() {
    let printed = Arc::new(AtomicU64::new(0));
    let refused = Arc::new(AtomicU64::new(0));
    let len = Arc::new(AtomicU64::new(0));
    let nd = range(1, [1_500_000, 1, 1], [0; 3], [1; 3]);
    let counts = (printed.clone(), refused.clone());
    let (mut launch, body) = launch(
        nd,
        Resources::default(),
        Box::new(move |ctx, _, first, count| {
            for group in first..first + count {
                let counter = if print(ctx, group, 1) == 0 { &counts.0 } else { &counts.1 };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }),
    );
    let total = len.clone();
    launch.printf_sink = Some(Arc::new(move |bytes: &[u8]| total.store(bytes.len() as u64, Ordering::Relaxed)));
    assert_eq!(submit(&queue(), launch, body).wait(), status::COMPLETE);
    let len = len.load(Ordering::Relaxed);
    // A few KiB more, because threads take place in pieces.
    let size = crate::printf::BUFFER_BYTES as u64;
    assert!(len > size - 20 && len <= size + size / 4);
    assert_eq!(printed.load(Ordering::Relaxed) + refused.load(Ordering::Relaxed), 1_500_000);
    assert!(refused.load(Ordering::Relaxed) > 0);
}
