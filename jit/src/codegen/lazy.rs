//! Lazy compilation: functions that few launches need are compiled when they are first called.
//!
//! Launches whose rows are whole packs run a function that was compiled with the program. All other launches come here:
//!
//! - if the rows are too short for packs of the kernel's width but are whole packs of fewer lanes, they run a function for such
//!   packs;
//! - if work-groups have several rows that are not whole packs, and the kernel can observe sub-groups, they run a function that takes
//!   a work-group as one row;
//! - otherwise they run the function that takes any work-group.
//!
//! Programs whose rows have many lengths (kernels that kernels enqueue, levels of a pyramid) would get a function for each number of
//! lanes, which take longer to compile than to run. So a kernel gets few functions for short rows at once; for others, such rows run
//! the general function until that has taken as long as compiling does.
//!
//! All kernels share one entry, which finds the kernel by the context's entry data. The first thread that needs a function
//! compiles it, and others wait for it. If the general function cannot be compiled, the launch ends with a fault that gives the
//! reason. If a narrower function cannot be compiled, the general one is used instead.

#![allow(unsafe_code, reason = "entries get their data through a pointer")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clift_include::abi::{GroupRunFn, Resources, WgContext};
use clift_kir::Function;

use super::LazySource;
use super::code_memory::PlacedCode;
use super::data::ProgramData;
use super::native::{NativeBackend, PANIC};
use crate::BuildError;
use crate::guard::guarded;

/// The lazily compiled functions of one kernel.
pub(super) struct LazyKernel {
    backend: &'static dyn NativeBackend,
    name: String,
    source: Box<dyn LazySource>,
    data: Arc<ProgramData>,
    general: OnceLock<Result<PlacedCode, BuildError>>,
    one_row: OnceLock<Result<PlacedCode, BuildError>>,
    /// By the binary logarithm of the number of lanes.
    narrower: [OnceLock<Option<(PlacedCode, Resources)>>; WIDTHS],
    /// How long the general function has run for rows that have no function of their own yet, in ns.
    without_own: [AtomicU64; WIDTHS],
}

/// Widths from 1 to 16 lanes.
const WIDTHS: usize = 5;

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
        let (general, one_row) = (OnceLock::new(), OnceLock::new());
        let (narrower, without_own) = Default::default();
        LazyKernel { backend, name, source, data, general, one_row, narrower, without_own }
    }

    /// The function for all groups of a launch that no other function takes.
    fn general(&self, context: &WgContext) -> Result<GroupRunFn, &BuildError> {
        let rows = self.source.has_one_row()
            && self.source.resources().sub_groups_cross_rows(context.global_size, context.local_size);
        let code = if rows {
            self.one_row.get_or_init(|| self.make("groups as one row", || self.source.one_row()))
        } else {
            self.general.get_or_init(|| self.make("any group", || self.source.general()))
        };
        code.as_ref().map(|placed| placed.functions[0])
    }

    fn make(&self, what: &str, legal: impl FnOnce() -> Result<Function, BuildError>) -> Result<PlacedCode, BuildError> {
        // A panic must not unwind out of the entry.
        let legal = guarded(PANIC, legal).map_err(|error| error.in_kernel(&self.name))?;
        self.compile(what, &legal)
    }

    /// The function for packs of `lanes` lanes and the resources it needs, if such a function exists.
    fn narrower(&self, lanes: u32) -> Option<(GroupRunFn, Resources)> {
        let made = self.narrower.get(lanes.trailing_zeros() as usize)?.get_or_init(|| {
            let made = guarded(PANIC, || self.source.narrower(lanes)).and_then(|made| {
                made.map(|(legal, needs)| Ok((self.compile("short rows", &legal)?, needs))).transpose()
            });
            made.unwrap_or_else(|error| {
                tracing::debug!(kernel = self.name, lanes, "no function for short rows: {error}");
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

    /// The number of lanes of the packs that the rows of a launch should have, if that is not the kernel's width.
    fn short_lanes(&self, context: &WgContext) -> Option<u32> {
        if self.source.resources().packs_of_groups {
            return None;
        }
        narrower_lanes(self.source.resources().width, context.local_size[0], context.global_offset[0])
    }

    /// Whether packs of so many lanes should have their own function now. In debug builds they always should, so that tests, which launch
    /// kernels with many sizes, run all functions.
    fn has_own(&self, lanes: u32) -> bool {
        let index = lanes.trailing_zeros() as usize;
        let is_made = |own: &OnceLock<_>| own.get().is_some();
        cfg!(debug_assertions)
            || self.narrower.get(index).is_some_and(is_made)
            || self.narrower.iter().filter(|own| is_made(own)).count() < AT_ONCE
            || self.without_own.get(index).is_none_or(|time| time.load(Ordering::Relaxed) >= WORTH_COMPILING_NS)
    }

    /// Records that the general function has run for rows whose packs should have so many lanes.
    fn ran_without_own(&self, lanes: u32, began: Instant) {
        if let Some(time) = self.without_own.get(lanes.trailing_zeros() as usize) {
            time.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// A function for packs of so many lanes that serves the first groups of a row, and the number of those groups, counted from the
    /// row's start.
    fn for_short_rows(&self, context: &WgContext, lanes: u32) -> Option<(GroupRunFn, u64)> {
        let (run, needs) = self.narrower(lanes)?;
        let groups = needs.packed_groups(context.global_size, context.global_offset, context.local_size);
        let fits = needs.scratch_bytes_for(context.local_size).is_some_and(|bytes| bytes <= context.scratch_bytes)
            && needs.local_bytes <= self.source.resources().local_bytes;
        (groups > 0 && fits).then_some((run, groups))
    }
}

/// The number of lanes that packs of a short row should have instead of `width`. Worthwhile if all rows have this length, and
/// packs of the full width would be half empty, or packs of half the width would be full.
fn narrower_lanes(width: u32, row: u64, offset: u64) -> Option<u32> {
    let most = 1u64 << row.trailing_zeros().min(offset.trailing_zeros()).min(width.trailing_zeros());
    let width = u64::from(width);
    let lanes_used = row as f64 / row.next_multiple_of(width) as f64;
    let worth = row > 0 && most < width && (2 * most == width || lanes_used <= 0.5);
    worth.then(|| u32::try_from(most).unwrap_or(1))
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
    let lanes = lazy.short_lanes(context);
    let own = lanes.filter(|lanes| lazy.has_own(*lanes));
    if let Some((run, groups)) = own.and_then(|lanes| lazy.for_short_rows(context, lanes)) {
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
            let began = lanes.filter(|_| own.is_none()).map(|lanes| (lanes, Instant::now()));
            // SAFETY: the general function has the same requirements as this one. The context contains the runtime's callbacks.
            unsafe { ((*context.callbacks).enter)(run, ctx, args, first, left) };
            if let Some((lanes, began)) = began {
                lazy.ran_without_own(lanes, began);
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
    use super::narrower_lanes;

    #[test]
    fn short_rows_get_narrower_packs() {
        let lanes = |width, row| narrower_lanes(width, row, 0);
        assert_eq!(lanes(16, 8), Some(8));
        assert_eq!(lanes(16, 24), Some(8), "half a pack");
        assert_eq!(lanes(16, 4), Some(4));
        assert_eq!(lanes(16, 1), Some(1));
        assert_eq!(lanes(8, 3), Some(1), "most lanes would be idle");
        assert_eq!(lanes(16, 100), None, "a tail is cheaper than small packs");
        assert_eq!(lanes(8, 6), None);
        assert_eq!(lanes(8, 64), None, "whole packs: ids are out of bounds");
        assert_eq!(narrower_lanes(16, 8, 4), Some(4));
        assert_eq!(narrower_lanes(16, 0, 0), None);
    }
}
