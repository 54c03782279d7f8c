//! A launch under way.
//!
//! Its groups are numbered x first; threads *claim* runs of numbers until there are none left. Whoever completes the last
//! group ends the launch. `pool/README.md` says when other threads are asked to join.
#![allow(unsafe_code, reason = "calls of generated code")]

use core::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clift_include::abi::{GroupRunFn, WgContext};
use crossbeam_utils::CachePadded;

use super::Launch;
use super::arena::Arenas;
use crate::callbacks::CALLBACKS;
use crate::clock::now_ns;
use crate::fpenv::FpEnv;
use crate::graph::{Ended, Node};
use crate::printf::Output;
use crate::{pool, status};

/// Launches estimated to take less are run by one thread alone.
const ALONE_NS: u64 = 8_000;

/// Work that makes another thread worth its while.
const SEAT_NS: u64 = 4_000;

/// Sleepers are woken at once when a group takes at least this long, else after so much work has been done.
const INVITE_AFTER_NS: u64 = 3_000;

/// Least work in a claim, if the cost is known.
const CLAIM_NS: u64 = 1_000;

/// Most work in a claim, if the cost is known: threads end close together even when one of them is held up.
const CLAIM_MOST_NS: u64 = 1_000_000;

/// A launch under way, shared by the threads on it.
pub(crate) struct Running {
    launch: Box<Launch>,
    node: Arc<Node>,
    /// Sizes of the arenas.
    local_bytes: usize,
    scratch_bytes: usize,
    /// Groups of each row, from its start, that the entry for whole packs takes.
    packed_row: u64,
    /// Number of groups.
    groups: u64,
    /// First group nobody has claimed.
    next: CachePadded<AtomicU64>,
    /// Groups not yet completed.
    unfinished: AtomicU64,
    /// Least and most groups in a claim.
    claim_least: u64,
    claim_most: u64,
    /// Threads that may still join.
    seats: AtomicUsize,
    /// Threads there may be on it at once.
    threads: usize,
    /// The status to end with.
    status: AtomicI32,
    /// What `printf` has printed.
    output: Mutex<Output>,
}

/// The answer to a thread that wants to join a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// There is nothing left to do for it.
    None,
    /// It may join, and others may after it.
    Taken,
    /// It may join as the last one.
    Last,
}

impl Running {
    /// Starts a launch on this thread. Returns the command if this thread ended it.
    pub(crate) fn begin(mut launch: Box<Launch>, node: Arc<Node>) -> Option<Ended> {
        if launch.resources.may_coalesce_groups && launch.resources.scratch_item_bytes == 0 {
            launch.nd = launch.nd.with_longer_rows(node.crew.size());
        }
        let Some((local_bytes, scratch_bytes)) = arena_sizes(&launch) else {
            node.set_fault("the launch needs more memory than can be addressed".to_owned());
            return Some(Ended { node, status: status::OUT_OF_RESOURCES, spent: Some(launch) });
        };
        let groups = launch.nd.total_groups();
        let nd = &launch.nd;
        let packed_row = launch.resources.packed_groups(nd.global_size(), nd.global_offset(), nd.local_size());
        let estimate = launch.cost.as_ref().and_then(|cost| cost.estimate(launch.nd.total_items()));
        let plan = Plan::new(groups, estimate, node.crew.size());
        let running = Self {
            launch,
            node,
            local_bytes,
            scratch_bytes,
            groups,
            packed_row,
            next: CachePadded::new(AtomicU64::new(0)),
            unfinished: AtomicU64::new(groups),
            claim_least: plan.claim_least,
            claim_most: plan.claim_most,
            seats: AtomicUsize::new(plan.seats),
            threads: plan.seats + 1,
            status: AtomicI32::new(status::COMPLETE),
            output: Mutex::default(),
        };
        if plan.seats == 0 {
            running.work(groups, false, false);
            let status = running.end();
            let mut spent = running.launch;
            // Only memory stays.
            spent.printf_sink = None;
            return Some(Ended { node: running.node, status, spent: Some(spent) });
        }
        let running = Arc::new(running);
        let pool = running.node.crew.pool();
        pool.offer(running.clone());
        if plan.invite_at_once {
            pool.invite(plan.seats);
        }
        running.participate(plan.first_claim, !plan.invite_at_once)
    }

    /// Joins the launch on a seat taken before. Returns as [`Running::begin`].
    pub(crate) fn join(self: Arc<Self>) -> Option<Ended> {
        self.node.crew.pool().invite(self.seats.load(Ordering::Relaxed));
        self.participate(0, false)
    }

    /// The command.
    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Lets one more thread join.
    pub(crate) fn take_seat(&self) -> Seat {
        if self.next.load(Ordering::Relaxed) >= self.groups {
            return Seat::None;
        }
        match self.seats.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |seats| seats.checked_sub(1)) {
            Ok(1) => Seat::Last,
            Ok(_) => Seat::Taken,
            Err(_) => Seat::None,
        }
    }

    /// Where the launch's `printf` goes.
    pub(crate) fn print(&self, text: &[u8]) -> bool {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).append(text)
    }

    /// The launch fails; what has not been claimed is not run.
    pub(crate) fn fail(&self, message: &str) {
        tracing::error!(message, "a kernel launch failed");
        self.node.set_fault(message.to_owned());
        self.status.store(status::OUT_OF_RESOURCES, Ordering::Relaxed);
    }

    fn has_failed(&self) -> bool {
        self.status.load(Ordering::Relaxed) != status::COMPLETE
    }

    /// Works on a launch that several threads may be on.
    fn participate(self: Arc<Self>, first_claim: u64, invite_later: bool) -> Option<Ended> {
        let done = self.work(first_claim, invite_later, pool::on_worker());
        let exhausted = self.next.load(Ordering::Relaxed) >= self.groups;
        if exhausted && self.seats.swap(0, Ordering::Relaxed) > 0 {
            self.node.crew.pool().retract(&self);
        }
        if done > 0 && self.unfinished.fetch_sub(done, Ordering::AcqRel) == done {
            let status = self.end();
            return Some(Ended { node: self.node.clone(), status, spent: None });
        }
        if !exhausted {
            // Left before the end: somebody else has to go on.
            self.seats.fetch_add(1, Ordering::Relaxed);
            self.node.crew.pool().offer(self);
        }
        None
    }

    /// Runs groups until there are none left to claim; returns how many are done with by that. The first claim is of
    /// exactly `first_claim` groups, unless that is 0. With `invite_later`, sleepers are invited after it; with
    /// `leave_at_exit`, the thread stops between two claims when the process ends.
    fn work(&self, first_claim: u64, mut invite_later: bool, leave_at_exit: bool) -> u64 {
        let mut done = 0;
        match Arenas::take(self.local_bytes, self.scratch_bytes) {
            Some(arenas) => {
                let mut ctx = self.context(&arenas);
                let start = now_ns();
                let env = FpEnv::enter();
                let mut exactly = first_claim;
                while let Some((first, count)) = self.claim(exactly) {
                    self.run_groups(&mut ctx, first, count);
                    done += count;
                    exactly = 0;
                    if invite_later {
                        invite_later = false;
                        self.node.crew.pool().invite(self.seats.load(Ordering::Relaxed));
                    }
                    if self.has_failed() || (leave_at_exit && pool::is_exiting()) {
                        break;
                    }
                }
                drop(env);
                if done > 0
                    && let Some(cost) = &self.launch.cost
                {
                    let items = self.launch.nd.group_items().saturating_mul(done);
                    cost.learn(now_ns().saturating_sub(start), items.min(self.launch.nd.total_items()));
                }
                arenas.put_back();
            }
            None => self.fail("no memory for the kernel's local and private variables"),
        }
        if self.has_failed() {
            // The rest counts as done: nobody runs it.
            done += self.groups - self.next.swap(self.groups, Ordering::Relaxed).min(self.groups);
        }
        done
    }

    /// The last group has been completed: prints what there is to print; the status to end with.
    fn end(&self) -> i32 {
        let output = core::mem::take(&mut *self.output.lock().unwrap_or_else(PoisonError::into_inner));
        output.write(self.launch.printf_sink.as_ref());
        self.status.load(Ordering::Relaxed)
    }

    /// Claims groups: exactly so many, or, for 0, a share of what is left.
    fn claim(&self, exactly: u64) -> Option<(u64, u64)> {
        let row = self.launch.nd.num_groups()[0];
        let mut first = self.next.load(Ordering::Relaxed);
        loop {
            let left = self.groups.checked_sub(first).filter(|left| *left > 0)?;
            let mut count = exactly;
            if exactly == 0 {
                count = (left / (2 * self.threads as u64)).min(self.claim_most).max(self.claim_least);
                if count > row && first.is_multiple_of(row) {
                    // Whole rows make longer runs.
                    count -= count % row;
                }
            }
            let count = count.clamp(1, left);
            match self.next.compare_exchange_weak(first, first + count, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((first, count)),
                Err(now) => first = now,
            }
        }
    }

    fn context(&self, arenas: &Arenas) -> WgContext {
        let nd = &self.launch.nd;
        WgContext {
            work_dim: nd.dims(),
            reserved: 0,
            global_size: nd.global_size(),
            global_offset: nd.global_offset(),
            local_size: nd.local_size(),
            num_groups: nd.num_groups(),
            group_y: 0,
            group_z: 0,
            local_mem: arenas.local(),
            local_mem_bytes: self.local_bytes as u64,
            scratch: arenas.scratch(),
            scratch_bytes: self.scratch_bytes as u64,
            callbacks: &CALLBACKS,
            launch: core::ptr::from_ref(self).cast::<c_void>(),
            entry_data: self.launch.entry.data,
        }
    }

    /// The entry for the group at `x` of a row, and for how many from there.
    fn entry_at(&self, x: u64) -> (GroupRunFn, u64) {
        let entry = &self.launch.entry;
        match entry.packed {
            // Only the last group of a row may be smaller.
            Some(packed) if x < self.packed_row => (packed, self.packed_row - x),
            Some(_) | None => (entry.run, u64::MAX),
        }
    }

    /// Runs groups by number, row by row.
    fn run_groups(&self, ctx: &mut WgContext, first: u64, count: u64) {
        let [row, rows, _] = self.launch.nd.num_groups();
        let args = self.launch.args.bytes().as_ptr();
        let (mut x, yz) = (first % row, first / row);
        (ctx.group_y, ctx.group_z) = (yz % rows, yz / rows);
        let mut left = count;
        while left > 0 {
            let (entry, most) = self.entry_at(x);
            let run = left.min(row - x).min(most);
            // SAFETY: the launch promises an entry and a block that fit; the context is filled in by its documentation
            // and stays as it is during the call; the arenas are this thread's, and large enough.
            unsafe { entry(ctx, args, x, run) };
            left -= run;
            x += run;
            if x < row {
                continue;
            }
            x = 0;
            ctx.group_y += 1;
            if ctx.group_y == rows {
                (ctx.group_y, ctx.group_z) = (0, ctx.group_z + 1);
            }
        }
    }
}

/// Bytes of local memory and of scratch a thread needs.
fn arena_sizes(launch: &Launch) -> Option<(usize, usize)> {
    let local = launch.resources.local_bytes.checked_add(launch.local_arg_bytes)?;
    let scratch = launch.resources.scratch_bytes_for(launch.nd.local_size())?;
    Some((usize::try_from(local).ok()?, usize::try_from(scratch).ok()?))
}

/// Claims per thread, at least, of a launch whose cost is not known.
const UNKNOWN_CLAIMS: u64 = 16;

/// How a launch is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    /// Threads that may join.
    seats: usize,
    /// Sleepers are woken before the first group.
    invite_at_once: bool,
    /// Exact size of the first claim; 0: as any other.
    first_claim: u64,
    /// Least and most size of a claim.
    claim_least: u64,
    claim_most: u64,
}

impl Plan {
    /// The plan for so many groups, estimated to take `estimate` ns on one thread, with so many workers.
    fn new(groups: u64, estimate: Option<u64>, workers: usize) -> Self {
        let alone = Self { seats: 0, invite_at_once: false, first_claim: groups, claim_least: 1, claim_most: groups };
        let most = usize::try_from(groups - 1).unwrap_or(usize::MAX).min(workers - 1);
        if most == 0 {
            return alone;
        }
        let Some(estimate) = estimate else {
            let claim_most = groups / (UNKNOWN_CLAIMS * (most as u64 + 1));
            return Self { seats: most, invite_at_once: true, first_claim: 0, claim_least: 1, claim_most };
        };
        if estimate < ALONE_NS {
            return alone;
        }
        let seats = usize::try_from(estimate / SEAT_NS).unwrap_or(usize::MAX).clamp(1, most);
        let groups_in = |time: u64| {
            let groups = u128::from(groups) * u128::from(time) / u128::from(estimate);
            u64::try_from(groups).unwrap_or(u64::MAX)
        };
        // Not so many that the last claim keeps the others waiting.
        let claim_least = groups_in(CLAIM_NS).clamp(1, (groups / (4 * (seats as u64 + 1))).max(1));
        let before_invitation = groups_in(INVITE_AFTER_NS);
        let invite_at_once = before_invitation <= 1;
        let first_claim = if invite_at_once { 0 } else { before_invitation };
        Self { seats, invite_at_once, first_claim, claim_least, claim_most: groups_in(CLAIM_MOST_NS) }
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn plans() {
        // One group, one worker, or little work: alone, in one claim.
        for (groups, estimate, workers) in [(1, None, 8), (100, None, 1), (100, Some(7_000), 8)] {
            let plan = Plan::new(groups, estimate, workers);
            assert_eq!((plan.seats, plan.first_claim), (0, groups));
        }
        // Unknown: everybody, at once.
        let plan = Plan::new(100, None, 8);
        assert_eq!((plan.seats, plan.invite_at_once, plan.first_claim), (7, true, 0));
        assert_eq!(Plan::new(3, None, 8).seats, 2);
        // Large groups: at once.
        assert!(Plan::new(4, Some(4_000_000), 8).invite_at_once);
        // Many small groups: a little alone first.
        let plan = Plan::new(100_000, Some(1_000_000), 8);
        assert_eq!((plan.seats, plan.invite_at_once, plan.first_claim, plan.claim_least), (7, false, 300, 100));
        assert_eq!(plan.claim_most, 100_000);
        assert_eq!(Plan::new(100, Some(10_000_000), 2).claim_most, 10);
        // Just worth one more thread.
        assert_eq!(Plan::new(1000, Some(8_000), 64).seats, 2);
    }
}
