//! Shadow memory for races: where it is, which stamps a launch may use, and what its cells say.
//!
//! The code of a kernel reads and writes the cells itself (the compiler's `check/races` describes the protocol) and asks only
//! if a cell has the stamp of another work-item. A stamp is `first + (interval * groups + group) * (items + 1) + item`: each
//! group has its own in each interval between barriers, and the one behind those of its `items` work-items stands for several.
//! The planes of global memory belong to a launch, and are used again by later ones, whose stamps are greater. Those of local
//! memory belong to a thread.
#![allow(unsafe_code, reason = "cells are memory that generated code writes")]

use clift_include::abi::{ARENA_ALIGN, WgContext};
use clift_include::check::{
    IN_SHADOWS, KernelChecks, Plane, REPEATED, RaceFact, RaceShadows, SAME_VALUE, ShadowedObject, SiteKind, SiteObject,
    unpack_access,
};

use super::word;
use crate::memory::HostBuffer;
use crate::ndrange::NdRange;
use crate::sync::plain::Mutex;

/// The most bytes of the planes of a launch.
const MOST_BYTES: u64 = 8 << 30;

/// The most bytes of planes that are kept for later launches.
const KEPT_BYTES: usize = 256 << 20;

/// Bytes between planes.
const PLANE_ALIGN: u64 = 64;

/// Memory for planes, zero at first, and the first stamp that is not in it.
#[derive(Debug)]
struct Block {
    memory: HostBuffer,
    next_stamp: u32,
}

/// The blocks that no launch uses.
static BLOCKS: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// The lock of the blocks, for a thread that forks.
pub(super) fn lock_for_fork() -> impl Sized + 'static {
    BLOCKS.lock()
}

/// The shadow memory of a launch.
#[derive(Debug, Default)]
pub(super) struct LaunchShadows {
    first_stamp: u32,
    /// Work-items of a group, and one more.
    group_stamps: u32,
    /// Where the planes of local memory begin and end, as offsets in local memory.
    local: (u64, u64),
    block: Option<Block>,
}

impl LaunchShadows {
    /// Finds room for all planes and says so in the argument block. `local_bytes` is where local memory ends; the result is
    /// where it ends with its planes. `None` if that is too large. If global memory has no room, or arguments share memory, the
    /// code calls the checker for each access to it.
    pub(super) fn place(
        kernel: &KernelChecks,
        args: &mut [u8],
        nd: &NdRange,
        local_bytes: u64,
    ) -> Option<(LaunchShadows, u64)> {
        let Some(races) = &kernel.races else { return Some((LaunchShadows::default(), local_bytes)) };
        let mut local_end = local_bytes.checked_next_multiple_of(ARENA_ALIGN as u64)?;
        let locals = races.objects.iter().filter(|object| object.is_local);
        place_planes(kernel, locals.clone(), args, &mut local_end)?;
        let local = (local_bytes, if locals.count() > 0 { local_end } else { local_bytes });
        let mut shadows = LaunchShadows { first_stamp: 1, group_stamps: 0, local, block: None };
        let group_stamps = u32::try_from(nd.group_items()).ok().and_then(|items| items.checked_add(1));
        let interval_stamps = group_stamps.and_then(|stamps| nd.total_groups().checked_mul(stamps.into()));
        let mut facts = [0, 0, 0];
        // The window of a group has less than 2^31 stamps.
        if let (Some(group_stamps), Some(interval_stamps @ 1..0x8000_0000)) = (group_stamps, interval_stamps) {
            shadows.group_stamps = group_stamps;
            let is_shared = kernel.shared.is_some_and(|at| word(args, at) != 0);
            let in_shadows = !is_shared && shadows.place_global(kernel, races, args, interval_stamps).is_some();
            let first = u64::from(shadows.first_stamp);
            let intervals = (u64::from(u32::MAX) - first) / interval_stamps;
            facts = [in_shadows.into(), first, intervals];
        }
        for (fact, value) in [RaceFact::InShadows, RaceFact::FirstStamp, RaceFact::Intervals].into_iter().zip(facts) {
            put(args, races.facts + fact.offset(), value);
        }
        put(args, races.facts + RaceFact::Zero.offset(), 0);
        Some((shadows, local.1))
    }

    /// Finds room for the planes of global memory.
    fn place_global(
        &mut self,
        kernel: &KernelChecks,
        races: &RaceShadows,
        args: &mut [u8],
        interval_stamps: u64,
    ) -> Option<()> {
        let globals = races.objects.iter().filter(|object| !object.is_local);
        let mut bytes = 0;
        place_planes(kernel, globals.clone(), args, &mut bytes)?;
        if bytes == 0 {
            return Some(());
        }
        let stamps = races.intervals.map(|intervals| interval_stamps.saturating_mul(u64::from(intervals) + 1));
        let mut block = take_block(bytes, stamps.unwrap_or(interval_stamps))?;
        let start = block.memory.as_ptr().expose_provenance() as u64;
        for slot in slots(globals) {
            put(args, slot, word(args, slot).wrapping_add(start));
        }
        self.first_stamp = block.next_stamp;
        // If the kernel may use any number of stamps, none is left.
        let used = stamps.and_then(|stamps| u32::try_from(u64::from(block.next_stamp).saturating_add(stamps)).ok());
        block.next_stamp = used.unwrap_or(u32::MAX);
        self.block = Some(block);
        Some(())
    }

    /// A thread begins to execute groups of the launch.
    pub(super) fn begin(&self, ctx: &WgContext) {
        let (start, end) = self.local;
        if start < end && end <= ctx.local_mem_bytes {
            // SAFETY: the arena has `local_mem_bytes` bytes, which only this thread uses until it has executed its groups.
            unsafe { ctx.local_mem.add(start as usize).write_bytes(0, (end - start) as usize) };
        }
    }

    /// What the cells of an access say: the accesses of other work-items that no barrier orders.
    pub(super) fn conflict(
        &self,
        kernel: &KernelChecks,
        ctx: &WgContext,
        args: &[u8],
        site: usize,
        [stamp, packed]: [u64; 2],
    ) -> Option<ShadowConflict> {
        let races = kernel.races.as_ref()?;
        let object = &races.objects[*races.of_sites.get(&site)?];
        let stamp = u32::try_from(stamp).ok()?;
        let in_group = stamp.checked_sub(self.first_stamp)?.checked_rem(self.group_stamps)?;
        let window = stamp - in_group;
        let (offset, bytes, _) = unpack_access(packed);
        let cells = if object.one_cell { 1 } else { (bytes * u64::from(object.ratio) / 4).max(1) };
        let examined: &[Plane] = match kernel.sites[site].kind {
            SiteKind::Load => &[Plane::Writes, Plane::Atomics],
            SiteKind::Store => &Plane::ALL,
            SiteKind::Atomic => &[Plane::Writes, Plane::Reads],
            SiteKind::Barrier => &[],
        };
        for &plane in examined {
            let writes = plane == Plane::Writes;
            if writes && packed & SAME_VALUE != 0 {
                continue;
            }
            let about = &object.planes[plane as usize];
            let Some(slot) = about.cells else { continue };
            for cell in 0..cells {
                let at = offset.wrapping_mul(object.ratio.into()).wrapping_add(4 * cell as i64);
                let found = self.cell(object, ctx, args, slot, at)?;
                let other = found.wrapping_sub(window);
                if found == stamp || other >= self.group_stamps {
                    continue;
                }
                let of_cell = || match about.sites {
                    Some(slot) => self.cell(object, ctx, args, slot, at).map(|site| site as usize),
                    None => Some(about.only_site),
                };
                let repeated = writes && packed & REPEATED != 0;
                let other_site = if repeated { Some(site) } else { of_cell() };
                return Some(ShadowConflict {
                    site: other_site.filter(|&other| other < kernel.sites.len()).unwrap_or(site),
                    item: (other + 1 < self.group_stamps).then_some(other as usize),
                    writes: plane != Plane::Reads,
                });
            }
        }
        None
    }

    /// A cell of a plane.
    fn cell(&self, object: &ShadowedObject, ctx: &WgContext, args: &[u8], slot: u32, at: i64) -> Option<u32> {
        let address = word(args, slot).wrapping_add(at.cast_unsigned());
        let (start, end) = match (&self.block, object.is_local) {
            (_, true) => (ctx.local_mem.cast_const(), self.local.1.min(ctx.local_mem_bytes)),
            (Some(block), false) => (block.memory.as_ptr().cast_const(), block.memory.len() as u64),
            (None, false) => return None,
        };
        let offset = if object.is_local { address } else { address.wrapping_sub(start.addr() as u64) };
        if !offset.is_multiple_of(4) || offset.checked_add(4)? > end {
            return None;
        }
        // SAFETY: the four bytes are inside of the planes, which live as long as the launch. Generated code of other threads
        // may write them at the same time; any value that is read is a stamp or a site.
        Some(unsafe { start.add(offset as usize).cast::<u32>().read_volatile() })
    }
}

impl Drop for LaunchShadows {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else { return };
        let mut blocks = BLOCKS.lock();
        let kept: usize = blocks.iter().map(|block| block.memory.len()).sum();
        if kept + block.memory.len() <= KEPT_BYTES {
            blocks.push(block);
        }
    }
}

/// Another access to the same memory, as its cell says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShadowConflict {
    pub(super) site: usize,
    /// The work-item, by its index in the group; `None` if there are several.
    pub(super) item: Option<usize>,
    pub(super) writes: bool,
}

/// Whether an access is followed in shadow memory.
pub(super) fn is_in_shadows(packed: u64) -> bool {
    packed & IN_SHADOWS != 0
}

/// All offsets in the argument block of where planes begin.
fn slots<'a>(objects: impl Iterator<Item = &'a ShadowedObject>) -> Vec<u32> {
    objects
        .flat_map(|object| object.planes.iter().flat_map(|plane| plane.cells.into_iter().chain(plane.sites)))
        .collect()
}

/// Puts the places of all planes of some objects into the argument block, from `end` on, which becomes their end. `None` if an
/// object is too large.
fn place_planes<'a>(
    kernel: &KernelChecks,
    objects: impl Iterator<Item = &'a ShadowedObject>,
    args: &mut [u8],
    end: &mut u64,
) -> Option<()> {
    for object in objects {
        let (before, total) = match &object.object {
            SiteObject::Argument(index) => {
                let at = kernel.bounds.get(*index)?.offset;
                (word(args, at), word(args, at + 8))
            }
            SiteObject::ByValue(_, size)
            | SiteObject::Local(_, size)
            | SiteObject::Program(_, size)
            | SiteObject::Private(_, size) => (0, *size),
            SiteObject::Unknown | SiteObject::None => return None,
        };
        if total > MOST_BYTES {
            return None;
        }
        let ratio = u64::from(object.ratio);
        let bytes = (total * ratio).next_multiple_of(PLANE_ALIGN);
        for slot in slots(std::iter::once(object)) {
            put(args, slot, end.wrapping_add(before.wrapping_mul(ratio)));
            *end += bytes;
        }
        if *end > MOST_BYTES {
            return None;
        }
    }
    Some(())
}

/// A block of so many bytes whose cells have no stamp of those that follow; there are at least `stamps` of them.
fn take_block(bytes: u64, stamps: u64) -> Option<Block> {
    let fits = |block: &Block| block.memory.len() as u64 >= bytes && u64::from(u32::MAX - block.next_stamp) > stamps;
    {
        let mut blocks = BLOCKS.lock();
        if let Some(best) = (0..blocks.len()).filter(|&at| fits(&blocks[at])).min_by_key(|&at| blocks[at].memory.len())
        {
            return Some(blocks.swap_remove(best));
        }
        // Those without stamps, and those that are too small, make room.
        blocks.clear();
    }
    let bytes = usize::try_from(bytes).ok()?;
    let memory = HostBuffer::new(bytes.checked_next_multiple_of(1 << 16)?, ARENA_ALIGN).ok()?;
    Some(Block { memory, next_stamp: 1 })
}

/// Puts a number into the argument block.
fn put(args: &mut [u8], offset: u32, value: u64) {
    if let Some(place) = args.get_mut(offset as usize..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clift_include::check::ShadowPlane;

    use super::*;

    /// A kernel with a plane of writes for a variable of so many bytes.
    fn kernel(is_local: bool, intervals: Option<u32>) -> KernelChecks {
        let object = if is_local { SiteObject::Local } else { SiteObject::Program }("v".to_owned(), 1000);
        let plane = ShadowPlane { cells: Some(40), ..ShadowPlane::default() };
        let planes = [plane, ShadowPlane::default(), ShadowPlane::default()];
        let object = ShadowedObject { object, is_local, ratio: 4, one_cell: true, planes };
        let races = RaceShadows { facts: 0, intervals, objects: vec![object], of_sites: BTreeMap::new() };
        KernelChecks { races: Some(races), shared: Some(32), ..KernelChecks::default() }
    }

    fn launch(kernel: &KernelChecks, shared: u64) -> (LaunchShadows, [u64; 6], u64) {
        let nd = NdRange::new(1, [64, 1, 1], [0; 3], [32, 1, 1]).expect("a range");
        let mut args = [0; 48];
        put(&mut args, 32, shared);
        let (shadows, end) = LaunchShadows::place(kernel, &mut args, &nd, 100).expect("room");
        (shadows, [0, 8, 16, 24, 32, 40].map(|at| word(&args, at)), end)
    }

    #[test]
    fn stamps_of_later_launches_are_greater() {
        let kernel = kernel(false, Some(2));
        let (first, facts, end) = launch(&kernel, 0);
        assert_eq!((facts[0], facts[1], end), (1, u64::from(first.first_stamp), 100));
        let (block, next) =
            first.block.as_ref().map(|block| (block.memory.as_ptr().addr(), block.next_stamp)).expect("a block");
        assert_eq!((facts[5], next), (block as u64, first.first_stamp + 2 * 33 * 3));
        // Two launches at the same time have memory of their own.
        let (second, other, _) = launch(&kernel, 0);
        assert_ne!(facts[5], other[5]);
        drop((first, second));
        let (third, facts, _) = launch(&kernel, 0);
        let known = [(block as u64, u64::from(next)), (other[5], other[1] + 2 * 33 * 3)];
        assert!(known.contains(&(facts[5], facts[1])), "{facts:x?} {known:x?}");
        drop(third);
    }

    #[test]
    fn calls_instead_of_shadows() {
        let (shadows, facts, _) = launch(&kernel(false, Some(0)), 1);
        assert!(shadows.block.is_none() && facts[0] == 0);
    }

    #[test]
    fn local_memory_has_planes_behind_it() {
        let (shadows, facts, end) = launch(&kernel(true, None), 1);
        assert_eq!(shadows.local, (100, end));
        assert!(facts[5] >= 100 && facts[5].is_multiple_of(64) && end >= facts[5] + 4000, "{facts:?} {end}");
        // Each launch begins with cells of zeros.
        assert_eq!((facts[1], facts[2]), (1, (u64::from(u32::MAX) - 1) / (2 * 33)));
    }
}
