//! Freed mappings for later buffers of about the same size.
//!
//! Programs that compute with whole arrays create a buffer for each result, and release it soon. The operating system takes
//! about ten times as long to provide new pages as it takes to clear old ones. Mappings are only kept while there are queues.

use std::ptr::NonNull;

use crate::sync::plain::Mutex;
use crate::{pool, sys};

/// Maximum number of mappings.
const COUNT: usize = 16;
/// Maximum number of used bytes, in one mapping and in all. Longer ones have huge pages, which take no longer to provide than
/// to clear.
const MAX_BYTES: usize = 8 << 20;
const MAX_BYTES_OF_ALL: usize = 32 << 20;
/// Another mapping may be longer by this part of its length.
const TOLERANCE: usize = 4;

/// A mapping of the operating system's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) base: NonNull<u8>,
    /// Its length in bytes, with margins.
    pub(super) whole: usize,
    /// The alignment of the buffer in it.
    pub(super) align: usize,
    /// The length of that buffer. All other bytes are zero, but for what kernels write out of bounds.
    pub(super) used: usize,
}

// SAFETY: a kept mapping is memory that is not used.
unsafe impl Send for Mapping {}

/// The mappings, latest last.
static KEPT: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

/// Removes a mapping that has this length or is somewhat longer, and the alignment. It never blocks.
pub(super) fn take(whole: usize, align: usize) -> Option<Mapping> {
    let mut kept = KEPT.try_lock()?;
    let most = whole + whole / TOLERANCE;
    let fits = |mapping: &Mapping| mapping.align == align && (whole..=most).contains(&mapping.whole);
    let found = (0..kept.len()).rev().filter(|&at| fits(&kept[at])).min_by_key(|&at| kept[at].whole)?;
    Some(kept.remove(found))
}

/// Keeps a mapping, or unmaps it. It never blocks.
pub(super) fn give(mapping: Mapping) {
    let mut surplus = vec![mapping];
    if mapping.used <= MAX_BYTES
        && pool::has_queues()
        && let Some(mut kept) = KEPT.try_lock()
    {
        kept.append(&mut surplus);
        while kept.len() > COUNT || kept.iter().map(|mapping| mapping.used).sum::<usize>() > MAX_BYTES_OF_ALL {
            surplus.push(kept.remove(0));
        }
    }
    unmap(surplus);
}

/// Unmaps all that is kept.
pub(crate) fn release() {
    let kept = KEPT.try_lock().map(|mut kept| core::mem::take(&mut *kept));
    unmap(kept.unwrap_or_default());
}

fn unmap(mappings: Vec<Mapping>) {
    for mapping in mappings {
        sys::unmap(mapping.base, mapping.whole);
    }
}
