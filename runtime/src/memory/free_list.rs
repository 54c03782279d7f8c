//! Small freed blocks for later buffers of the same size. Programs create and release buffers of the same few sizes, and
//! allocating aligned blocks of some KiB with the C library is the most expensive part of creating a buffer.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of blocks.
const COUNT: usize = 16;
/// Maximum size of a block in bytes.
const MAX_BYTES: usize = 128 << 10;

type Block = (Layout, NonNull<u8>);

/// The blocks, latest last, and the index of the block to be replaced when the list is full.
struct Blocks {
    kept: [Option<Block>; COUNT],
    len: usize,
    oldest: usize,
}

impl Blocks {
    fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let found = self.kept[..self.len].iter().rposition(|kept| kept.is_some_and(|(of, _)| of == layout))?;
        self.len -= 1;
        self.kept.swap(found, self.len);
        self.kept[self.len].take().map(|(_, start)| start)
    }

    fn give(&mut self, block: Block) -> Option<Block> {
        if self.len < COUNT {
            self.kept[self.len] = Some(block);
            self.len += 1;
            return None;
        }
        let oldest = self.oldest;
        self.oldest = (oldest + 1) % COUNT;
        self.kept[oldest].replace(block)
    }
}

struct FreeList {
    busy: AtomicBool,
    blocks: UnsafeCell<Blocks>,
}

// SAFETY: only the thread that set `busy` accesses `blocks`, and the blocks themselves are unused memory.
unsafe impl Sync for FreeList {}

static FREE_LIST: FreeList = FreeList {
    busy: AtomicBool::new(false),
    blocks: UnsafeCell::new(Blocks { kept: [None; COUNT], len: 0, oldest: 0 }),
};

/// Calls `act` with the blocks unless another thread accesses them. It never blocks.
fn with<R>(act: impl FnOnce(&mut Blocks) -> R) -> Option<R> {
    if FREE_LIST.busy.swap(true, Ordering::Acquire) {
        return None;
    }
    // SAFETY: `busy` excludes other threads, and `act` does not call this function.
    let result = act(unsafe { &mut *FREE_LIST.blocks.get() });
    FREE_LIST.busy.store(false, Ordering::Release);
    Some(result)
}

/// Removes a block of exactly this layout, if there is one.
pub(super) fn take(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() > MAX_BYTES { None } else { with(|blocks| blocks.take(layout))? }
}

/// Stores a block; returns a block to free, if any.
pub(super) fn give(layout: Layout, start: NonNull<u8>) -> Option<Block> {
    let block = (layout, start);
    if layout.size() > MAX_BYTES {
        return Some(block);
    }
    with(|blocks| blocks.give(block)).unwrap_or(Some(block))
}
