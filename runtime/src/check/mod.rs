//! The checker of launches of checked kernels: it judges accesses that generated code asks about, and collects reports.
//!
//! The code of a checked kernel calls [`LaunchChecks::permits`] (through [`clift_include::abi::Callbacks::check`]) only if a
//! test in the code has found a bad access in a pack, or if it does not know the object. Reports are delivered when the launch
//! ends.
//!
//! - `group.rs`: the work-items of a group, for races and barriers;
//! - `shadow.rs`: the shadow memory in which the code of most kernels follows accesses for races.
//!
//! Deliberately not here: where reports go (the launch's sink decides), and the tests in the code (`jit/src/check`).

mod group;
mod report;
mod shadow;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clift_include::abi::WgContext;
use clift_include::check::{CheckKind, KernelChecks, Site, SiteKind, SiteObject, unpack_access};

use group::{Access, Arrival, Conflict, Divergence};
pub use report::{Item, OtherAccess, Problem, Report};

use crate::ndrange::NdRange;
use crate::sync::plain::Mutex;
use shadow::LaunchShadows;

/// Which sites of a kernel have been reported. Each is reported once.
#[derive(Debug)]
pub struct Reported(Vec<AtomicBool>);

impl Reported {
    /// None of the sites.
    pub fn none(checks: &KernelChecks) -> Reported {
        Reported(checks.sites.iter().map(|_| AtomicBool::new(false)).collect())
    }
}

/// The lock of this module, for a thread that forks.
pub(crate) fn lock_for_fork() -> impl Sized + 'static {
    shadow::lock_for_fork()
}

/// Receives the reports of a launch, before the launch is reported complete.
pub type ReportSink = Arc<dyn Fn(&Report) + Send + Sync>;

/// The checker of one launch.
pub struct LaunchChecks {
    /// Identifies the launch.
    number: u64,
    kernel: Arc<KernelChecks>,
    reported: Arc<Reported>,
    /// The memory that pointers of unknown origin may point to: disjoint ranges in ascending order.
    ranges: Vec<(u64, u64)>,
    shadows: LaunchShadows,
    sink: ReportSink,
    reports: Mutex<Vec<Report>>,
}

impl LaunchChecks {
    /// The checker of a launch. `ranges` are the start addresses and sizes of the memory that its kernel may access through
    /// pointers other than its arguments. They may overlap: a buffer and its sub-buffers, or shared virtual memory and a buffer
    /// that uses it.
    pub fn new(
        kernel: Arc<KernelChecks>,
        reported: Arc<Reported>,
        ranges: Vec<(u64, u64)>,
        sink: ReportSink,
    ) -> LaunchChecks {
        let ranges = united(ranges);
        static LAUNCHES: AtomicU64 = AtomicU64::new(1);
        let number = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        LaunchChecks {
            number,
            kernel,
            reported,
            ranges,
            shadows: LaunchShadows::default(),
            sink,
            reports: Mutex::default(),
        }
    }

    /// Makes the shadow memory of a launch. Returns the bytes of local memory that its threads need; without it they are
    /// `local_bytes`. `None` if that is more than can be addressed.
    pub(crate) fn make_shadows(&mut self, args: &mut [u8], nd: &NdRange, local_bytes: u64) -> Option<u64> {
        let (shadows, end) = LaunchShadows::place(&self.kernel, args, nd, local_bytes)?;
        self.shadows = shadows;
        Some(end)
    }

    /// A thread begins to execute groups of the launch.
    pub(crate) fn begin_thread(&self, ctx: &WgContext) {
        self.shadows.begin(ctx);
    }

    /// Whether a work-item may perform an access; reports it if not. `args` is the argument block.
    pub(crate) fn permits(&self, ctx: &WgContext, args: &[u8], site: u64, place: u64, bytes: u64, item: u64) -> bool {
        let Some(described) = usize::try_from(site).ok().and_then(|site| self.kernel.sites.get(site)) else {
            return false;
        };
        match described.check {
            CheckKind::Memory | CheckKind::Shadow | CheckKind::Uninit => {}
            CheckKind::Race | CheckKind::Barrier | CheckKind::End | CheckKind::Order => {
                self.follow(ctx, args, site as usize, [place, bytes, item]);
                return true;
            }
        }
        let (before, total) = match &described.object {
            SiteObject::Argument(index) => match self.kernel.bounds.get(*index) {
                Some(bounds) => (word(args, bounds.offset), word(args, bounds.offset + 8)),
                None => (0, 0),
            },
            SiteObject::ByValue(_, size)
            | SiteObject::Local(_, size)
            | SiteObject::Program(_, size)
            | SiteObject::Private(_, size) => (0, *size),
            SiteObject::Unknown if described.check == CheckKind::Uninit => (0, 0),
            SiteObject::Unknown => {
                let own = [(ctx.local_mem, ctx.local_mem_bytes), (ctx.scratch, ctx.scratch_bytes)];
                let own = own.map(|(start, size)| (start.addr() as u64, size));
                let args = (args.as_ptr().addr() as u64, args.len() as u64);
                let nearest = self.ranges.partition_point(|(start, _)| *start <= place).checked_sub(1);
                let known = nearest.map(|at| self.ranges[at]);
                if own.into_iter().chain([args]).chain(known).any(|range| contains(range, place, bytes)) {
                    return true;
                }
                (0, 0)
            }
            SiteObject::None => return true,
        };
        let at = place.wrapping_add(before);
        let problem = match described.check {
            CheckKind::Memory | CheckKind::Shadow if bytes == 0 || contains((0, total), at, bytes) => return true,
            CheckKind::Shadow => return false,
            CheckKind::Memory => Problem::OutOfBounds { place: at, bytes, size: total },
            CheckKind::Uninit => Problem::Uninitialized { place: at, bytes, size: total },
            CheckKind::Race | CheckKind::Barrier | CheckKind::End | CheckKind::Order => return true,
        };
        self.report(site as usize, problem, Item::of(ctx, item));
        false
    }

    /// Reports a site, unless it has been.
    fn report(&self, site: usize, problem: Problem, item: Item) {
        if !self.reported.0[site].swap(true, Ordering::Relaxed) {
            let report = Report::new(&self.kernel, &self.kernel.sites[site], problem, item);
            self.reports.lock().push(report);
        }
    }

    /// Follows what a work-item does.
    fn follow(&self, ctx: &WgContext, args: &[u8], site: usize, [place, bytes, linear]: [u64; 3]) {
        let item = Item::of(ctx, linear);
        let (items, index) = item.in_group(ctx);
        let [x, y, _] = ctx.num_groups;
        let group = item.group[0] + x * (item.group[1] + y * item.group[2]);
        let key = (self.number, group);
        if items < 2 || items > usize::from(u16::MAX) {
            return;
        }
        match self.kernel.sites[site].check {
            CheckKind::Race if shadow::is_in_shadows(bytes) => {
                if let Some(found) = self.shadows.conflict(&self.kernel, ctx, args, site, [place, bytes]) {
                    let (offset, bytes, _) = unpack_access(bytes);
                    let size = self.object_bytes(&self.kernel.sites[site], args);
                    let conflict = (found.site, found.item, found.writes);
                    self.race(site, conflict, ctx, item, [offset.cast_unsigned(), bytes, size]);
                }
            }
            CheckKind::Race => {
                let (offset, bytes, digest) = unpack_access(bytes);
                let kind = self.kernel.sites[site].kind;
                let is_local = place.wrapping_sub(ctx.local_mem.addr() as u64) < ctx.local_mem_bytes
                    || matches!(self.kernel.sites[site].object, SiteObject::Local(..));
                let access = Access {
                    site: site as u32,
                    address: place,
                    bytes,
                    writes: kind != SiteKind::Load,
                    atomic: kind == SiteKind::Atomic,
                    digest,
                    is_local,
                };
                if let Some(Conflict { site: other, item: by, writes }) = group::access(key, items, index, &access) {
                    let size = self.object_bytes(&self.kernel.sites[site], args);
                    let conflict = (other as usize, Some(by), writes);
                    self.race(site, conflict, ctx, item, [offset.cast_unsigned(), bytes, size]);
                }
            }
            CheckKind::Barrier => {
                let arrival = Arrival { site: site as u32, orders: place, sub_group: sub_group(bytes) };
                if let Some(divergence) = group::barrier(key, items, index, arrival) {
                    self.divergence(divergence, ctx, item);
                }
            }
            CheckKind::End => {
                for divergence in group::end(key, items, index, sub_group(bytes)) {
                    self.divergence(divergence, ctx, item);
                }
            }
            CheckKind::Order => group::order(key, items, index),
            CheckKind::Memory | CheckKind::Shadow | CheckKind::Uninit => {}
        }
    }

    /// Reports a race with the access of another site by a work-item of the group, if it is known.
    fn race(
        &self,
        site: usize,
        (other_site, by, writes): (usize, Option<usize>, bool),
        ctx: &WgContext,
        item: Item,
        access: [u64; 3],
    ) {
        let other = OtherAccess {
            item: by.map(|by| item.other_in_group(ctx, by)),
            writes,
            position: self.kernel.sites[other_site].position.clone(),
        };
        let [place, bytes, size] = access;
        // The other access would be reported for the same race if it came second.
        let both = [site, other_site];
        if both.iter().all(|site| self.reported.0[*site].load(Ordering::Relaxed)) {
            return;
        }
        self.report(site, Problem::Race { place, bytes, size, other }, item);
        self.reported.0[other_site].store(true, Ordering::Relaxed);
    }

    fn divergence(&self, found: Divergence, ctx: &WgContext, item: Item) {
        let Divergence { site, in_sub_group, here, missing, elsewhere } = found;
        let elsewhere = elsewhere.map(|site| self.kernel.sites[site as usize].position.clone());
        let here = item.other_in_group(ctx, here);
        self.report(
            site as usize,
            Problem::Divergence { in_sub_group, here, elsewhere },
            item.other_in_group(ctx, missing),
        );
    }

    /// The size of the object of a site; 0 if it is not known.
    fn object_bytes(&self, site: &Site, args: &[u8]) -> u64 {
        match &site.object {
            SiteObject::Argument(index) => {
                self.kernel.bounds.get(*index).map_or(0, |bounds| word(args, bounds.offset + 8))
            }
            SiteObject::ByValue(_, size)
            | SiteObject::Local(_, size)
            | SiteObject::Program(_, size)
            | SiteObject::Private(_, size) => *size,
            SiteObject::Unknown | SiteObject::None => 0,
        }
    }

    /// Passes the reports to the sink; called when the launch ends.
    pub(crate) fn deliver(&self) {
        let mut reports = core::mem::take(&mut *self.reports.lock());
        reports.sort_by_key(|Report { position: at, .. }| (at.line, at.column, at.word));
        for report in &reports {
            (self.sink)(report);
        }
    }
}

/// The union of ranges (start and size), as disjoint ranges in ascending order. Ranges that only touch stay separate.
fn united(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    ranges.dedup_by(|(start, size), (last_start, last_size)| {
        let overlaps = *start - *last_start < *last_size;
        if overlaps {
            *last_size = (*last_size).max((*start - *last_start).saturating_add(*size));
        }
        overlaps
    });
    ranges
}

/// Whether a range contains all bytes of an access.
fn contains((start, size): (u64, u64), place: u64, bytes: u64) -> bool {
    place >= start && place - start < size && bytes <= size - (place - start)
}

/// The sub-group in the operand of a barrier or an end.
fn sub_group(operand: u64) -> Option<u32> {
    u32::try_from(operand).ok()?.checked_sub(1)
}

/// A number in the argument block.
fn word(args: &[u8], offset: u32) -> u64 {
    let bytes = args.get(offset as usize..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert!(contains((10, 4), 10, 4) && contains((10, 4), 13, 1));
        assert!(!contains((10, 4), 9, 1) && !contains((10, 4), 14, 1) && !contains((10, 4), 12, 3));
        assert!(!contains((0, 8), u64::MAX, 1) && !contains((0, 8), 0, u64::MAX));
    }

    #[test]
    fn ranges_are_united_where_they_overlap() {
        assert_eq!(
            united(vec![(30, 5), (10, 20), (12, 3), (28, 2), (50, 1), (48, 2)]),
            [(10, 20), (30, 5), (48, 2), (50, 1)]
        );
        assert_eq!(united(vec![(10, 20), (25, 20), (40, 10), (10, 5)]), [(10, 40)]);
        assert_eq!(united(vec![(10, 0), (10, 4), (10, 4)]), [(10, 0), (10, 4)]);
        assert_eq!(united(Vec::new()), []);
    }

    #[test]
    fn bounds_come_from_the_argument_block() {
        let args = [0, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!((word(&args, 0), word(&args, 8), word(&args, 12)), (0, 261, 0));
    }
}
