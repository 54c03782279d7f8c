//! Lazy compilation: functions that few launches need are compiled when they are first called.
//!
//! Launches whose rows are whole packs run a function that was compiled with the program. All other launches come here:
//!
//! - if packs of fewer lanes take less time for such rows, whole ones or with few idle lanes, they run a function for these packs
//!   (`short_packs`);
//! - if it is faster to execute several rows at once, they run a function for that;
//! - if work-groups have several rows that are not whole packs, and the kernel can observe sub-groups, they run a function that
//!   takes a work-group as one row;
//! - otherwise they run the function that takes any work-group. If it needs no memory but what the packed one needs, it is only
//!   made now, once for launches with bounded ids, whose indices of 32 bits it understands, and once for others.
//!
//! Programs whose rows have many lengths (kernels that kernels enqueue, levels of a pyramid) would get a function for each
//! number of lanes, which take longer to compile than to run. So a kernel gets few functions for short rows at once; for
//! others, such rows run the general function until that has taken as long as compiling does.
//!
//! All kernels share one entry, which finds the kernel by the context's entry data. The first thread that needs a function
//! compiles it, and others wait for it. If the general function cannot be compiled, the launch ends with a fault that gives the
//! reason. If a narrower function cannot be compiled, the general one is used instead.

#![allow(unsafe_code, reason = "entries get their data through a pointer")]

use std::iter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clift_include::abi::{GroupRunFn, Resources, WgContext, has_bounded_ids};
use clift_kir::{Function, Type};

use super::LazySource;
use super::code_memory::PlacedCode;
use super::data::ProgramData;
use super::native::{NativeBackend, PANIC};
use crate::BuildError;
use crate::guard::guarded;
use crate::spmd::Ids;

/// The lazily compiled functions of one kernel.
pub(super) struct LazyKernel {
    backend: &'static dyn NativeBackend,
    name: String,
    source: Box<dyn LazySource>,
    data: Arc<ProgramData>,
    /// For launches with bounded ids, or for all.
    general: OnceLock<Result<PlacedCode, BuildError>>,
    /// For launches with ids of any size.
    any_ids: OnceLock<Result<PlacedCode, BuildError>>,
    one_row: OnceLock<Result<PlacedCode, BuildError>>,
    /// By [`ShortPacks::index`].
    narrower: [OnceLock<Option<(PlacedCode, Resources)>>; 2 * WIDTHS],
    /// How long the general function has run for rows that have no function of their own yet, in ns.
    without_own: [AtomicU64; 2 * WIDTHS],
    /// The latest result of [`short_packs`], which takes longer than a small group: the row in the low 32 bits, 8 bits each
    /// with the trailing zeros of the offset and [`ShortPacks::index`] plus 2, or 1 for none.
    latest: AtomicU64,
}

/// The packs of short rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortPacks {
    /// Lanes of a pack. The kernel's own number: several rows at once, if that is faster.
    pub(crate) lanes: u32,
    /// Whether all rows are whole packs; otherwise the last pack of each row has idle lanes.
    pub(crate) whole: bool,
}

impl ShortPacks {
    fn index(self) -> usize {
        self.lanes.trailing_zeros() as usize + if self.whole { 0 } else { WIDTHS }
    }

    fn of_index(index: usize) -> ShortPacks {
        ShortPacks { lanes: 1 << (index % WIDTHS), whole: index < WIDTHS }
    }
}

/// Widths from 1 to 64 lanes.
const WIDTHS: usize = 7;

/// Number of functions for short rows that a kernel gets when it first needs them.
const AT_ONCE: usize = 2;

/// After the general function has run for so long, a function for short rows is worth compiling.
const WORTH_COMPILING_NS: u64 = 1_000_000;

impl LazyKernel {
    /// A kernel of which no function is compiled yet.
    pub(super) fn new(
        backend: &'static dyn NativeBackend,
        name: &str,
        source: Box<dyn LazySource>,
        data: Arc<ProgramData>,
    ) -> LazyKernel {
        let name = name.to_owned();
        let (general, any_ids, one_row) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (narrower, without_own, latest) = Default::default();
        LazyKernel { backend, name, source, data, general, any_ids, one_row, narrower, without_own, latest }
    }

    /// The function for all groups of a launch that no other function takes.
    fn general(&self, context: &WgContext) -> Result<GroupRunFn, &BuildError> {
        let rows = self.source.has_one_row()
            && self.source.resources().sub_groups_cross_rows(context.global_size, context.local_size);
        let code = if rows {
            self.one_row.get_or_init(|| self.make("groups as one row", || self.source.one_row()))
        } else if self.source.depends_on_ids() && !ids_are_bounded(context) {
            self.any_ids.get_or_init(|| self.make("any group, large ids", || self.source.general(Ids::Any)))
        } else {
            self.general.get_or_init(|| self.make("any group", || self.source.general(Ids::Bounded)))
        };
        code.as_ref().map(|placed| placed.functions[0])
    }

    fn make(&self, what: &str, legal: impl FnOnce() -> Result<Function, BuildError>) -> Result<PlacedCode, BuildError> {
        // A panic must not unwind out of the entry.
        let legal = guarded(PANIC, legal).map_err(|error| error.in_kernel(&self.name))?;
        self.compile(what, &legal)
    }

    /// The function for such packs and the resources it needs, if there is one.
    fn narrower(&self, packs: ShortPacks) -> Option<(GroupRunFn, Resources)> {
        let made = self.narrower.get(packs.index())?.get_or_init(|| {
            let made = guarded(PANIC, || self.source.narrower(packs)).and_then(|made| {
                made.map(|(legal, needs)| Ok((self.compile("short rows", &legal)?, needs))).transpose()
            });
            made.unwrap_or_else(|error| {
                tracing::debug!(kernel = self.name, packs.lanes, "no function for short rows: {error}");
                None
            })
        });
        made.as_ref().map(|(placed, needs)| (placed.functions[0], *needs))
    }

    fn compile(&self, what: &str, legal: &Function) -> Result<PlacedCode, BuildError> {
        let started = Instant::now();
        let made = guarded(PANIC, || {
            let mut session = self.backend.session(&[]);
            session.define(&self.name, legal, &self.data)?;
            session.finish(self.data.clone())
        });
        let micros = started.elapsed().as_micros() as u64;
        tracing::debug!(target: "clift::time", stage = "emit", kernel = self.name, what, micros);
        made.map_err(|error| error.in_kernel(&self.name))
    }

    /// The packs that the rows of a launch should have, if they are not the kernel's own.
    fn short_packs(&self, context: &WgContext) -> Option<ShortPacks> {
        if self.source.resources().packs_of_groups {
            return None;
        }
        let own = self.source.resources().width;
        let (row, offset) = (context.local_size[0], context.global_offset[0]);
        let key = row & u64::from(u32::MAX) | u64::from(offset.trailing_zeros()) << 32;
        let latest = self.latest.load(Ordering::Relaxed);
        let short = if latest << 24 == key << 24 && latest >> 40 > 0 && row <= u64::from(u32::MAX) {
            (latest >> 40).checked_sub(2).map(|index| ShortPacks::of_index(index as usize))
        } else {
            let short = short_packs(own, row, offset);
            let code = short.map_or(1, |packs| packs.index() as u64 + 2);
            self.latest.store(key | code << 40, Ordering::Relaxed);
            short
        };
        // Several rows at once, if those are not whole packs.
        let rows = || (context.local_size[1] > 1).then_some(ShortPacks { lanes: own, whole: false });
        short.or_else(rows)
    }

    /// Whether such packs should have their own function now. In debug builds they always should, so that tests, which launch
    /// kernels with many sizes, run all functions.
    fn has_own(&self, packs: ShortPacks) -> bool {
        let index = packs.index();
        let is_made = |own: &OnceLock<_>| own.get().is_some();
        cfg!(debug_assertions)
            || self.narrower.get(index).is_some_and(is_made)
            || self.narrower.iter().filter(|own| is_made(own)).count() < AT_ONCE
            || self.without_own.get(index).is_none_or(|time| time.load(Ordering::Relaxed) >= WORTH_COMPILING_NS)
    }

    /// Records that the general function has run for rows that should have such packs.
    fn ran_without_own(&self, packs: ShortPacks, began: Instant) {
        if let Some(time) = self.without_own.get(packs.index()) {
            time.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// A function for such packs that serves the first groups of a row, and the number of those groups, counted from the row's
    /// start.
    fn for_short_rows(&self, context: &WgContext, packs: ShortPacks) -> Option<(GroupRunFn, u64)> {
        if !packs.whole && !ids_are_bounded(context) {
            return None;
        }
        let (run, needs) = self.narrower(packs)?;
        let groups = if packs.whole {
            needs.packed_groups(context.global_size, context.global_offset, context.local_size)
        } else {
            u64::MAX
        };
        let fits = needs.scratch_bytes_for(context.local_size).is_some_and(|bytes| bytes <= context.scratch_bytes)
            && needs.local_bytes <= self.source.resources().local_bytes;
        (groups > 0 && fits).then_some((run, groups))
    }
}

/// Whether the ids of a launch are bounded for functions with idle lanes.
fn ids_are_bounded(context: &WgContext) -> bool {
    has_bounded_ids(context.global_size, context.global_offset, Type::MAX_LANES.into())
}

/// The time of a pack without lanes, relative to one of the kernel's own width; each lane adds its share of the rest. Loops
/// that wait for their own results take as long with any number of lanes.
const OF_ANY_PACK: f64 = 0.5;

/// The time of a pack with half of the lanes, which fills a register if the kernel's own packs fill two.
const OF_HALF: f64 = 0.6;

/// How much longer packs take whose function has masks, because rows are not whole packs.
const MASKED: f64 = 1.35;

/// How much of the time of the kernel's own packs others may take to be worth a function.
const WORTHWHILE: f64 = 0.9;

/// The packs that rows of `row` work-items should have instead of those of `width` lanes, if other ones take clearly less time:
/// either as many lanes as divide the row and its global offset, or fewer lanes of which some are idle.
fn short_packs(width: u32, row: u64, offset: u64) -> Option<ShortPacks> {
    let time = |lanes: u32, masked: f64| {
        let part = OF_ANY_PACK + (1.0 - OF_ANY_PACK) * f64::from(lanes) / f64::from(width);
        let pack = if 2 * lanes == width { OF_HALF } else { part };
        masked * pack * row.div_ceil(lanes.into()) as f64
    };
    let most = width.trailing_zeros().min(row.trailing_zeros()).min(offset.trailing_zeros());
    // Rows of whole packs are for the code without masks.
    if row == 0 || most == width.trailing_zeros() {
        return None;
    }
    let whole = ShortPacks { lanes: 1 << most, whole: true };
    let partial = (1..width.trailing_zeros()).map(|power| ShortPacks { lanes: 1 << power, whole: false });
    let candidates =
        iter::once((whole, time(whole.lanes, 1.0))).chain(partial.map(|packs| (packs, time(packs.lanes, MASKED))));
    let (best, least) = candidates.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (least < WORTHWHILE * time(width, MASKED)).then_some(best)
}

/// The entry of every kernel with lazily compiled functions.
///
/// # Safety
/// As [`GroupRunFn`]; the context's entry data is a [`LazyKernel`].
pub(super) unsafe extern "C" fn enter(ctx: *const WgContext, args: *const u8, first_group: u64, group_count: u64) {
    // SAFETY: the caller keeps the context alive and unchanged during the call. Its entry data belongs to this entry and lives as
    // long as the program.
    let (context, lazy) = unsafe { (&*ctx, &*(*ctx).entry_data.cast::<LazyKernel>()) };
    let (mut first, mut left) = (first_group, group_count);
    let packs = lazy.short_packs(context);
    let own = packs.filter(|packs| lazy.has_own(*packs));
    if let Some((run, groups)) = own.and_then(|packs| lazy.for_short_rows(context, packs)) {
        let count = groups.saturating_sub(first).min(left);
        if count > 0 {
            // SAFETY: the function takes these groups, and the scratch memory is large enough for it; its other requirements are
            // those of this function. The context contains the runtime's callbacks.
            if !unsafe { ((*context.callbacks).enter)(run, ctx, args, first, count) } {
                return;
            }
            (first, left) = (first + count, left - count);
        }
    }
    if left == 0 {
        return;
    }
    match lazy.general(context) {
        Ok(run) => {
            let began = packs.filter(|_| own.is_none()).map(|packs| (packs, Instant::now()));
            // SAFETY: the general function has the same requirements as this one. The context contains the runtime's callbacks.
            unsafe { ((*context.callbacks).enter)(run, ctx, args, first, left) };
            if let Some((packs, began)) = began {
                lazy.ran_without_own(packs, began);
            }
        }
        Err(error) => {
            let message = error.to_string();
            // SAFETY: the context contains the runtime's callbacks, and the message lives during the call.
            unsafe { ((*context.callbacks).fault)(ctx, message.as_ptr(), message.len() as u64) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ShortPacks, short_packs};

    #[test]
    fn short_rows_get_narrower_packs() {
        let packs = |width, row| short_packs(width, row, 0);
        let whole = |lanes| Some(ShortPacks { lanes, whole: true });
        let partial = |lanes| Some(ShortPacks { lanes, whole: false });
        assert_eq!(packs(16, 8), whole(8));
        assert_eq!(packs(16, 24), whole(8), "half a pack");
        assert_eq!(packs(16, 4), whole(4));
        assert_eq!(packs(16, 1), whole(1));
        assert_eq!(packs(8, 3), partial(4), "one pack with one idle lane");
        assert_eq!(packs(32, 14), partial(16), "seven packs of two lanes would take longer");
        assert_eq!(packs(16, 14), None);
        assert_eq!(packs(32, 40), None, "two packs of 32 rather than five of 8");
        assert_eq!(packs(16, 100), None, "a tail is cheaper than small packs");
        assert_eq!(packs(8, 6), None);
        assert_eq!(packs(8, 64), None, "whole packs: ids are out of bounds");
        assert_eq!(short_packs(16, 8, 4), partial(8), "packs do not begin at multiples of eight");
        assert_eq!(short_packs(16, 0, 0), None);
    }
}
