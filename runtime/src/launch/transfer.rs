//! Large copies and fills as launches: a work-group is a piece, so that several threads share the work.
//!
//! One thread does not use what a machine's memory can transfer, and a transfer that does not fit in caches waits for memory
//! only.
#![allow(unsafe_code, reason = "called as generated code is")]

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clift_include::abi::{KernelEntry, Resources, WgContext};

use super::{ArgBlock, Launch};
use crate::callbacks::launch_of;
use crate::memory::{MemSlice, MemoryError, RectCopy, RectLayout};
use crate::ndrange::NdRange;

/// Copies and fills of fewer bytes take one thread: waking another one takes about as long as it would save.
const MIN_BYTES: usize = 1 << 20;
/// Bytes of a piece, of whole rows if there are several.
const PIECE_BYTES: usize = 128 << 10;

/// A copy or fill that several threads execute.
pub struct LargeTransfer {
    target: MemSlice,
    from: From,
    rect: RectCopy,
    /// The pieces, and how much each has: bytes of the only row, or rows.
    nd: NdRange,
    of_each: usize,
}

/// What the target gets.
enum From {
    Memory(MemSlice),
    Pattern(Vec<u8>),
}

impl LargeTransfer {
    /// A copy of all of `source` to `target`, if it is large and they do not overlap.
    pub fn copy(target: &MemSlice, source: &MemSlice) -> Option<Arc<Self>> {
        Self::copy_rect(target, source, &whole(target).filter(|_| target.len() == source.len())?)
    }

    /// A copy of a rectangle, if it is large and the two sides do not overlap. Their bounds are checked when it is executed.
    pub fn copy_rect(target: &MemSlice, source: &MemSlice, rect: &RectCopy) -> Option<Arc<Self>> {
        Self::new(target, rect, 1, || (!target.overlaps(source)).then(|| From::Memory(source.clone())))
    }

    /// A fill of all of `target`, if it is large.
    pub fn fill(target: &MemSlice, pattern: &[u8]) -> Option<Arc<Self>> {
        Self::new(target, &whole(target)?, pattern.len(), || Some(From::Pattern(pattern.to_vec())))
    }

    /// A fill of a region, if it is large. Its rows must be multiples of the pattern.
    pub fn fill_rect(target: &MemSlice, pattern: &[u8], place: &RectLayout, region: [usize; 3]) -> Option<Arc<Self>> {
        let rect = RectCopy::new(region, *place, *place);
        Self::new(target, &rect, pattern.len(), || Some(From::Pattern(pattern.to_vec())))
    }

    fn new(target: &MemSlice, rect: &RectCopy, unit: usize, from: impl FnOnce() -> Option<From>) -> Option<Arc<Self>> {
        let [width, rows] = rect.stretches();
        if width.checked_mul(rows)? < MIN_BYTES || unit == 0 {
            return None;
        }
        let (all, of_each) = match rows {
            1 => (width, PIECE_BYTES.next_multiple_of(unit)),
            _ => (rows, (PIECE_BYTES / width.max(1)).max(1)),
        };
        let nd = NdRange::new(1, [all.div_ceil(of_each) as u64, 1, 1], [0; 3], [1; 3]).ok()?;
        Some(Arc::new(Self { target: target.clone(), from: from()?, rect: *rect, nd, of_each }))
    }

    /// The launch that executes it. Whoever submits it keeps the transfer alive until the command has ended.
    pub fn launch(self: &Arc<Self>) -> Box<Launch> {
        Box::new(Launch {
            entry: KernelEntry { run: execute_pieces, packed: None, data: Arc::as_ptr(self).cast::<c_void>() },
            resources: Resources { width: 1, ..Resources::default() },
            args: ArgBlock::new(0),
            nd: self.nd,
            local_arg_bytes: 0,
            printf_sink: None,
            enqueuing: None,
            info: None,
            checks: None,
        })
    }

    /// Copies or fills some of the pieces.
    fn execute(&self, first: usize, count: usize) -> Result<(), MemoryError> {
        let part = first * self.of_each..(first + count) * self.of_each;
        match &self.from {
            From::Memory(source) => self.target.copy_part_from(source, &self.rect, part),
            From::Pattern(pattern) => self.target.fill_part(pattern, &self.rect, part),
        }
    }
}

/// All of a slice, as a rectangle of one row.
fn whole(slice: &MemSlice) -> Option<RectCopy> {
    let region = [slice.len(), 1, 1];
    let layout = RectLayout::new([0; 3], region, 0, 0).ok()?;
    Some(RectCopy::new(region, layout, layout))
}

/// The entry of a transfer: a group is a piece.
///
/// # Safety
/// As documented at [`clift_include::abi::GroupRunFn`]; the entry's data is a [`LargeTransfer`].
unsafe extern "C" fn execute_pieces(ctx: *const WgContext, _args: *const u8, first_group: u64, group_count: u64) {
    let copied = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the runtime passes the context of the launch, whose entry has this data, which the command keeps alive.
        let (running, transfer) =
            unsafe { (launch_of(ctx)?, ctx.as_ref()?.entry_data.cast::<LargeTransfer>().as_ref()?) };
        if let Err(error) = transfer.execute(first_group as usize, group_count as usize) {
            running.fail(&error.to_string());
        }
        Some(())
    }));
    if !matches!(copied, Ok(Some(()))) {
        tracing::error!("a copy or fill could not be executed");
    }
}
