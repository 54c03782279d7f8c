//! A launch in execution.
//!
//! Its groups are numbered, x first. Threads *claim* ranges of numbers until none are left. The thread that completes the last
//! group ends the launch. `pool/README.md` says when other threads join.
#![allow(unsafe_code, reason = "calls of generated code")]

use core::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use clift_include::abi::{GroupRunFn, WgContext};
use crossbeam_utils::CachePadded;

use super::arena::Arenas;
use super::{KernelCost, Launch};
use crate::callbacks::CALLBACKS;
use crate::clock::now_ns;
use crate::enqueue::{Child, Family, SmallChild};
use crate::fault::{Cause, Fault, KnownMemory, LaunchInfo, LaunchPlace, StopReason, Work};
use crate::fpenv::FpEnv;
use crate::graph::{Ended, Node};
use crate::ndrange::NdRange;
use crate::printf::PrintfOutput;
use crate::sync::plain::Mutex;
use crate::{enqueue, fault, pool, status, trace};

/// Launches with a smaller estimate run on one thread.
const SINGLE_THREAD_NS: u64 = 8_000;

/// Estimated work for which another thread is added.
const MIN_WORK_PER_THREAD_NS: u64 = 4_000;

/// If a group takes at least this long, sleeping workers are woken at once, otherwise after this much work has been done.
const WAKE_AFTER_NS: u64 = 3_000;

/// Minimum work in a claim, if the cost is known.
const MIN_CLAIM_NS: u64 = 1_000;

/// Maximum work in a claim, if the cost is known: threads end at about the same time even when one of them is delayed.
const MAX_CLAIM_NS: u64 = 1_000_000;

/// Why a launch is not executed.
const TOO_LARGE: &str = "the launch needs more memory than can be addressed";

/// A launch in execution, shared by its threads.
pub(crate) struct Running {
    launch: Box<Launch>,
    node: Arc<Node>,
    /// Sizes of the arenas.
    local_bytes: usize,
    scratch_bytes: usize,
    /// Number of groups at the start of each row that the entry for whole packs executes.
    packed_row: u64,
    /// Number of groups in a pack.
    pack_groups: u64,
    /// Number of groups.
    groups: u64,
    /// The first group that has not been claimed.
    next: CachePadded<AtomicU64>,
    /// Groups not yet completed.
    unfinished: AtomicU64,
    /// Minimum and maximum number of groups in a claim.
    min_claim: u64,
    max_claim: u64,
    /// Number of threads that may still join.
    slots: AtomicUsize,
    /// Maximum number of threads on the launch.
    threads: usize,
    /// The final status, so far.
    status: AtomicI32,
    /// The output of `printf`.
    output: PrintfOutput,
    /// When the first thread began to work; 0 before.
    started: AtomicU64,
    /// The time that threads have worked on it, in ns.
    worked: AtomicU64,
    /// The local size of the command, before work-groups were coalesced.
    local_size: [u64; 3],
    /// The family of its children, if they have one of their own.
    family: OnceLock<Arc<Family>>,
    /// Children that wait for the end of its own work.
    held: Mutex<Vec<Child>>,
    /// Of small children: how many have ended on this thread and are still counted by their family.
    ended: AtomicUsize,
}

/// What follows from a launch's geometry.
struct Shape {
    local_bytes: usize,
    scratch_bytes: usize,
    packed_row: u64,
    groups: u64,
    local_size: [u64; 3],
}

impl Shape {
    /// Coalesces work-groups if that is possible. `None` if the launch needs more memory than can be addressed.
    fn of(launch: &mut Launch, workers: usize) -> Option<Self> {
        let local_size = launch.nd.local_size();
        let row = u64::from(launch.resources.coalesced_row);
        if row > 0 && launch.checks.is_none() && launch.resources.scratch_item_bytes == 0 {
            let lanes = u64::from(launch.resources.width);
            launch.nd = launch.nd.coalesced(row, lanes, workers).in_whole_packs(row, lanes, workers);
        }
        let (mut local_bytes, scratch_bytes) = arena_sizes(launch)?;
        if let Some(checks) = &mut launch.checks {
            let with_shadows = checks.make_shadows(launch.args.bytes_mut(), &launch.nd, local_bytes as u64)?;
            local_bytes = usize::try_from(with_shadows).ok()?;
        }
        let nd = &launch.nd;
        let packed_row = match launch.entry.packed {
            Some(_) => launch.resources.packed_groups(nd.global_size(), nd.global_offset(), nd.local_size()),
            None => 0,
        };
        Some(Self { local_bytes, scratch_bytes, packed_row, groups: nd.total_groups(), local_size })
    }
}

/// Whether a thread may join a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// It may not: no slot or no work is left.
    None,
    /// It may, and more threads may follow.
    Taken,
    /// It may, as the last one.
    Last,
}

impl Running {
    /// Starts a launch on this thread. Returns the command if this thread has ended it.
    pub(crate) fn begin(mut launch: Box<Launch>, node: Arc<Node>) -> Option<Ended> {
        let Some(shape) = Shape::of(&mut launch, node.pool.size()) else {
            node.set_fault(TOO_LARGE.to_owned());
            report(launch.info.as_ref(), TOO_LARGE.to_owned());
            return Some(Ended { node, status: status::OUT_OF_RESOURCES, retired: Some(launch) });
        };
        if launch.enqueuing.is_some() {
            node.begin_family();
        }
        let estimate = launch.info.as_ref().and_then(|info| info.cost().estimate(launch.nd.total_items()));
        let plan = Plan::new(shape.groups, estimate, node.pool.size());
        let running = Self::new(launch, node, shape, &plan);
        if plan.slots == 0 {
            running.work(running.groups, false, false);
            let status = running.end();
            if running.launch.enqueuing.is_some() {
                return enqueue::work_ended(running, status);
            }
            let mut retired = running.launch;
            // Only its memory is kept.
            (retired.printf_sink, retired.info, retired.checks) = (None, None, None);
            return Some(Ended { node: running.node, status, retired: Some(retired) });
        }
        let running = Arc::new(running);
        let pool = running.node.pool.get();
        pool.offer(running.clone());
        if plan.wake_at_once {
            pool.wake_workers(plan.slots);
        }
        running.participate(plan.first_claim, !plan.wake_at_once)
    }

    fn new(launch: Box<Launch>, node: Arc<Node>, shape: Shape, plan: &Plan) -> Self {
        let Shape { local_bytes, scratch_bytes, packed_row, groups, local_size } = shape;
        Self {
            node,
            local_bytes,
            scratch_bytes,
            groups,
            packed_row,
            pack_groups: if launch.resources.packs_of_groups { u64::from(launch.resources.width.max(1)) } else { 1 },
            next: CachePadded::new(AtomicU64::new(0)),
            unfinished: AtomicU64::new(groups),
            min_claim: plan.min_claim,
            max_claim: plan.max_claim,
            slots: AtomicUsize::new(plan.slots),
            threads: plan.slots + 1,
            status: AtomicI32::new(status::COMPLETE),
            output: PrintfOutput::default(),
            started: AtomicU64::new(0),
            worked: AtomicU64::new(0),
            local_size,
            family: OnceLock::new(),
            held: Mutex::default(),
            ended: AtomicUsize::new(0),
            launch,
        }
    }

    /// Whether a launch is executed by one thread: it is small, or has one group.
    pub(crate) fn is_of_one_thread(nd: &NdRange, cost: &KernelCost, workers: usize) -> bool {
        let groups = nd.total_groups();
        groups == 1 || (groups > 0 && Plan::new(groups, cost.estimate(nd.total_items()), workers).slots == 0)
    }

    /// A launch of a kernel by which one thread executes small children of a command, one after the other.
    pub(crate) fn for_children(launch: Box<Launch>, ancestor: Arc<Node>) -> Self {
        let shape = Shape { local_bytes: 0, scratch_bytes: 0, packed_row: 0, groups: 0, local_size: [1; 3] };
        Self::new(launch, ancestor, shape, &Plan::ALONE)
    }

    /// Executes a small child; returns its status. `ended` children before it are still counted by the family; the result says
    /// how many remain, because its own children take their places.
    pub(crate) fn run_child(&mut self, child: &SmallChild, ended: usize) -> (i32, usize) {
        child.fill_in(&mut self.launch);
        let Some(shape) = Shape::of(&mut self.launch, self.node.pool.size()) else {
            self.fail(TOO_LARGE);
            return (status::OUT_OF_RESOURCES, ended);
        };
        let Shape { local_bytes, scratch_bytes, packed_row, groups, local_size } = shape;
        (self.local_bytes, self.scratch_bytes, self.packed_row) = (local_bytes, scratch_bytes, packed_row);
        (self.groups, self.local_size) = (groups, local_size);
        *self.next.get_mut() = 0;
        *self.status.get_mut() = status::COMPLETE;
        *self.started.get_mut() = 0;
        *self.ended.get_mut() = ended;
        self.work(groups, false, false);
        let status = self.end();
        if self.launch.enqueuing.is_some() {
            enqueue::begin_all(self, self.take_held(), status);
        }
        (status, *self.ended.get_mut())
    }

    /// Counts a new child in the place of one that has ended, if there is one.
    pub(crate) fn reuse_ended(&self) -> bool {
        // Small children are executed by one thread; no other launch has such places.
        let ended = self.ended.load(Ordering::Relaxed);
        if ended > 0 {
            self.ended.store(ended - 1, Ordering::Relaxed);
        }
        ended > 0
    }

    /// The family that the launch's children belong to, if it may have any.
    pub(crate) fn family(&self) -> Option<&Arc<Family>> {
        let enqueuing = self.launch.enqueuing.as_ref()?;
        let own = || enqueuing.own_family(&self.node, self.launch.printf_sink.clone());
        Some(enqueuing.family().unwrap_or_else(|| self.family.get_or_init(own)))
    }

    /// Keeps a child from beginning before the launch's own work has ended.
    pub(crate) fn hold_back(&self, child: Child) {
        self.held.lock().push(child);
    }

    /// The children that wait for the end of the launch's own work.
    pub(crate) fn take_held(&self) -> Vec<Child> {
        core::mem::take(&mut *self.held.lock())
    }

    /// Joins the launch, with a slot already taken. Returns as [`Running::begin`].
    pub(crate) fn join(self: Arc<Self>) -> Option<Ended> {
        self.node.pool.get().wake_workers(self.slots.load(Ordering::Relaxed));
        self.participate(0, false)
    }

    /// The command.
    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Takes a slot for one more thread.
    pub(crate) fn take_slot(&self) -> Slot {
        if self.next.load(Ordering::Relaxed) >= self.groups {
            return Slot::None;
        }
        match self.slots.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |slots| slots.checked_sub(1)) {
            Ok(1) => Slot::Last,
            Ok(_) => Slot::Taken,
            Err(_) => Slot::None,
        }
    }

    /// The launch.
    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Appends the text of a `printf` to the launch's output, as [`PrintfOutput::append`].
    pub(crate) fn print(&self, format: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        self.output.append(self.threads, format)
    }

    /// Whether a work-item of a checked kernel may perform an access.
    pub(crate) fn permits(&self, ctx: &WgContext, site: u64, place: u64, bytes: u64, item: u64) -> bool {
        let Some(checks) = &self.launch.checks else { return true };
        checks.permits(ctx, self.launch.args.bytes(), site, place, bytes, item)
    }

    /// Fails the launch. Groups that have not been claimed are not executed.
    pub(crate) fn fail(&self, message: &str) {
        tracing::error!(message, "a kernel launch failed");
        self.node.set_fault(message.to_owned());
        self.status.store(status::OUT_OF_RESOURCES, Ordering::Relaxed);
    }

    /// Fails the launch because a fault has ended the code of these groups, which are consecutive along x.
    pub(crate) fn left(&self, fault: &Fault, ctx: &WgContext, first_group: u64, group_count: u64) {
        if matches!(fault.cause, Cause::Stopped(StopReason::Failed | StopReason::Terminated)) {
            // The thread that failed has reported the fault; whoever has terminated the context knows.
            return;
        }
        let nd = &self.launch.nd;
        let (global, offset, local) = (nd.global_size(), nd.global_offset(), nd.local_size());
        let first = [first_group, ctx.group_y, ctx.group_z];
        let last = [first_group + group_count.max(1) - 1, ctx.group_y, ctx.group_z];
        let items = (
            core::array::from_fn(|d| first[d] * local[d]),
            core::array::from_fn(|d| ((last[d] + 1) * local[d]).min(global[d]).max(1) - 1),
        );
        let group_of = |item: [u64; 3]| nd.as_requested(core::array::from_fn(|d| item[d] / self.local_size[d].max(1)));
        let with_offset = |item: [u64; 3]| nd.as_requested(core::array::from_fn(|d| item[d] + offset[d]));
        let info = self.launch.info.as_deref();
        let mut memory = info.map_or_else(Vec::new, |info| info.memory(self.launch.args.bytes(), &self.node.kept()));
        let arenas = [(ctx.local_mem, ctx.local_mem_bytes, "local"), (ctx.scratch, ctx.scratch_bytes, "private")];
        memory.extend(arenas.into_iter().filter(|(_, bytes, _)| *bytes > 0).map(|(start, bytes, what)| KnownMemory {
            name: format!("the work-group's {what} memory"),
            start: start.addr(),
            len: bytes as usize,
        }));
        let place = LaunchPlace {
            kernel: info.map(LaunchInfo::kernel),
            groups: (group_of(items.0), group_of(items.1)),
            items: (with_offset(items.0), with_offset(items.1)),
            memory,
        };
        self.fail(&fault::describe(fault, &place));
        fault::stop_launch(self.number());
    }

    /// How messages about the launch begin.
    pub(crate) fn prefix(&self) -> String {
        self.launch.info.as_ref().map_or_else(String::new, |info| format!("kernel `{}`: ", info.kernel()))
    }

    /// Identifies the launch while a thread works on it.
    fn number(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    fn has_failed(&self) -> bool {
        self.status.load(Ordering::Relaxed) != status::COMPLETE || self.node.is_terminated()
    }

    /// Works on a launch that other threads may share.
    fn participate(self: Arc<Self>, first_claim: u64, wake_later: bool) -> Option<Ended> {
        let done = self.work(first_claim, wake_later, pool::on_worker());
        let exhausted = self.next.load(Ordering::Relaxed) >= self.groups;
        if exhausted && self.slots.swap(0, Ordering::Relaxed) > 0 {
            self.node.pool.get().retract(&self);
        }
        if done > 0 && self.unfinished.fetch_sub(done, Ordering::AcqRel) == done {
            let status = self.end();
            if self.launch.enqueuing.is_some() {
                return enqueue::work_ended(self, status);
            }
            return Some(Ended { node: self.node.clone(), status, retired: None });
        }
        if !exhausted {
            // This thread left early, so another one has to continue.
            self.slots.fetch_add(1, Ordering::Relaxed);
            self.node.pool.get().offer(self);
        }
        None
    }

    /// Executes groups until none are left to claim, and returns the number of groups done. If `first_claim` is not 0, the first
    /// claim has exactly this size. With `wake_later`, sleeping workers are woken after the first claim. With `leave_at_exit`,
    /// the thread stops between two claims when the process exits.
    fn work(&self, first_claim: u64, mut wake_later: bool, leave_at_exit: bool) -> u64 {
        let mut done = 0;
        match Arenas::take(self.local_bytes, self.scratch_bytes) {
            Some(arenas) => {
                let mut ctx = self.context(&arenas);
                if let Some(checks) = &self.launch.checks {
                    checks.begin_thread(&ctx);
                }
                let start = now_ns();
                if self.started.load(Ordering::Relaxed) == 0 {
                    // Threads that begin at the same time may overwrite each other's time.
                    self.started.store(start, Ordering::Relaxed);
                }
                let termination = self.node.termination();
                let number_of = termination.map_or(0, |termination| Arc::as_ptr(termination).addr());
                let work = fault::Work::begin(self.number(), self.started.load(Ordering::Relaxed), number_of);
                if termination.is_some() {
                    // This thread sees that termination has begun, or is seen to work.
                    std::sync::atomic::fence(Ordering::SeqCst);
                }
                let env = FpEnv::enter();
                let mut exactly = first_claim;
                while let Some((first, count)) = self.claim(exactly) {
                    done += count;
                    if self.node.is_terminated() {
                        break;
                    }
                    let begun = trace::begin();
                    self.run_groups(&work, &mut ctx, first, count);
                    if let Some(begun) = begun {
                        trace::groups(self.launch.info.as_ref().map(|info| info.kernel()), begun, first, count);
                    }
                    exactly = 0;
                    if wake_later {
                        wake_later = false;
                        self.node.pool.get().wake_workers(self.slots.load(Ordering::Relaxed));
                    }
                    if self.has_failed() || (leave_at_exit && pool::is_exiting()) {
                        break;
                    }
                }
                drop(env);
                drop(work);
                if done > 0
                    && let Some(info) = &self.launch.info
                {
                    let items = self.launch.nd.group_items().saturating_mul(done);
                    let time = now_ns().saturating_sub(start);
                    info.cost().learn(time, items.min(self.launch.nd.total_items()));
                    self.worked.fetch_add(time, Ordering::Relaxed);
                }
                arenas.put_back();
            }
            None => self.fail("no memory for the kernel's local and private variables"),
        }
        if self.has_failed() {
            // The remaining groups count as done, because they will not be executed.
            done += self.groups - self.next.swap(self.groups, Ordering::Relaxed).min(self.groups);
        }
        done
    }

    /// After the last group: writes the `printf` output and returns the final status.
    fn end(&self) -> i32 {
        self.output.write(self.launch.printf_sink.as_ref());
        if let Some(checks) = &self.launch.checks {
            checks.deliver();
        }
        if !self.has_failed() {
            if let Some(info) = &self.launch.info {
                info.took(self.worked.load(Ordering::Relaxed));
            }
        } else if let Some(reason) = self.node.fault() {
            report(self.launch.info.as_ref(), reason);
        }
        self.status.load(Ordering::Relaxed)
    }

    /// Claims groups: exactly `exactly` groups, or, if that is 0, a share of the remaining ones.
    fn claim(&self, exactly: u64) -> Option<(u64, u64)> {
        let row = self.launch.nd.num_groups()[0];
        let mut first = self.next.load(Ordering::Relaxed);
        loop {
            let left = self.groups.checked_sub(first).filter(|left| *left > 0)?;
            let mut count = exactly;
            if exactly == 0 {
                count = (left / (2 * self.threads as u64)).min(self.max_claim).max(self.min_claim);
                if count > row && first.is_multiple_of(row) {
                    // Whole rows give longer runs.
                    count -= count % row;
                }
            }
            // Packs of groups should be whole.
            let count = count.max(1).next_multiple_of(self.pack_groups).min(left);
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

    /// The entry for the group at `x` of a row, and how many of `groups` groups one call takes.
    fn entry_at(&self, x: u64, groups: u64) -> (GroupRunFn, u64) {
        let entry = &self.launch.entry;
        let (run, packed) = self.launch.resources.next_call(x, groups, self.packed_row);
        match entry.packed.filter(|_| packed) {
            Some(packed) => (packed, run),
            None => (entry.run, run),
        }
    }

    /// Executes groups by number, row by row.
    fn run_groups(&self, work: &Work, ctx: &mut WgContext, first: u64, count: u64) {
        let [row, rows, _] = self.launch.nd.num_groups();
        let args = self.launch.args.bytes().as_ptr();
        let (mut x, yz) = (first % row, first / row);
        (ctx.group_y, ctx.group_z) = (yz % rows, yz / rows);
        let mut left = count;
        while left > 0 {
            let (entry, run) = self.entry_at(x, left.min(row - x));
            // SAFETY: the launch guarantees a matching entry and argument block. The context is filled in as documented and does
            // not change during the call. The arenas belong to this thread and are large enough.
            if let Err(fault) = unsafe { fault::enter(work, entry, ctx, args, x, run) } {
                self.left(&fault, ctx, x, run);
            }
            if self.launch.enqueuing.is_some() {
                enqueue::groups_ended(self, self.status.load(Ordering::Relaxed));
            }
            if self.has_failed() {
                return;
            }
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

/// Makes the message about a failed launch due.
fn report(info: Option<&Arc<dyn LaunchInfo>>, reason: String) {
    if let Some(info) = info.cloned() {
        pool::defer(move || info.failed(&reason));
    }
}

/// Sizes of the local and scratch memory that a thread needs.
fn arena_sizes(launch: &Launch) -> Option<(usize, usize)> {
    let local = launch.resources.local_bytes.checked_add(launch.local_arg_bytes)?;
    let scratch = launch.resources.scratch_bytes_for(launch.nd.local_size())?;
    Some((usize::try_from(local).ok()?, usize::try_from(scratch).ok()?))
}

/// Minimum number of claims per thread of a launch with unknown cost.
const UNKNOWN_CLAIMS: u64 = 16;

/// How a launch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    /// Number of additional threads that may join.
    slots: usize,
    /// Whether sleeping workers are woken before the first group.
    wake_at_once: bool,
    /// Exact size of the first claim; 0 for no special size.
    first_claim: u64,
    /// Minimum and maximum size of a claim.
    min_claim: u64,
    max_claim: u64,
}

impl Plan {
    /// One thread.
    const ALONE: Self = Self { slots: 0, wake_at_once: false, first_claim: 0, min_claim: 1, max_claim: 0 };

    /// The plan for a launch of `groups` groups that takes an estimated `estimate` ns on one thread.
    fn new(groups: u64, estimate: Option<u64>, workers: usize) -> Self {
        let alone = Self { first_claim: groups, max_claim: groups, ..Self::ALONE };
        let most = usize::try_from(groups - 1).unwrap_or(usize::MAX).min(workers - 1);
        if most == 0 {
            return alone;
        }
        let Some(estimate) = estimate else {
            let max_claim = groups / (UNKNOWN_CLAIMS * (most as u64 + 1));
            return Self { slots: most, wake_at_once: true, first_claim: 0, min_claim: 1, max_claim };
        };
        if estimate < SINGLE_THREAD_NS {
            return alone;
        }
        let slots = usize::try_from(estimate / MIN_WORK_PER_THREAD_NS).unwrap_or(usize::MAX).clamp(1, most);
        let groups_in = |time: u64| {
            let groups = u128::from(groups) * u128::from(time) / u128::from(estimate);
            u64::try_from(groups).unwrap_or(u64::MAX)
        };
        // Limited so that other threads do not wait for the last claim.
        let min_claim = groups_in(MIN_CLAIM_NS).clamp(1, (groups / (4 * (slots as u64 + 1))).max(1));
        let before_wake = groups_in(WAKE_AFTER_NS);
        let wake_at_once = before_wake <= 1;
        let first_claim = if wake_at_once { 0 } else { before_wake };
        Self { slots, wake_at_once, first_claim, min_claim, max_claim: groups_in(MAX_CLAIM_NS) }
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn plans() {
        // One group, one worker, or little work: one thread and one claim.
        for (groups, estimate, workers) in [(1, None, 8), (100, None, 1), (100, Some(7_000), 8)] {
            let plan = Plan::new(groups, estimate, workers);
            assert_eq!((plan.slots, plan.first_claim), (0, groups));
        }
        // Unknown cost: all workers, at once.
        let plan = Plan::new(100, None, 8);
        assert_eq!((plan.slots, plan.wake_at_once, plan.first_claim), (7, true, 0));
        assert_eq!(Plan::new(3, None, 8).slots, 2);
        // Large groups: other workers at once.
        assert!(Plan::new(4, Some(4_000_000), 8).wake_at_once);
        // Many small groups: other workers after a first claim.
        let plan = Plan::new(100_000, Some(1_000_000), 8);
        assert_eq!((plan.slots, plan.wake_at_once, plan.first_claim, plan.min_claim), (7, false, 300, 100));
        assert_eq!(plan.max_claim, 100_000);
        assert_eq!(Plan::new(100, Some(10_000_000), 2).max_claim, 10);
        // Just enough work for two more threads.
        assert_eq!(Plan::new(1000, Some(8_000), 64).slots, 2);
    }
}
