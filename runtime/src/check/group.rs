//! The work-items of a group, followed for races and divergent barriers.
//!
//! The barriers of the work-group are one sequence, and those of each sub-group another one, to which named barriers belong
//! too: all work-items of a sub-group wait at a named barrier together. A sequence has to be the same for all who take part in
//! it.
//!
//! A thread executes one work-group after another, so that its state is that of one group. Each byte that the group's
//! work-items access has the last write and the last reads, with the time of the work-item. Times are numbers: all work-items
//! that have passed the same barriers have the same time, and accesses at different times are ordered. A work-item that
//! executes a fence or an atomic with a memory order gets a time of its own until the next barrier, because it may order its
//! accesses by means that are not followed: then races are missed, and none is reported that is not there.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use clift_include::check::{ORDERS_GLOBAL, ORDERS_LOCAL};

/// Bytes per page of the map of accesses.
const PAGE: usize = 256;

/// Pages that are kept from group to group.
const KEPT_PAGES: usize = 1 << 10;

/// The first time of work-items that are on their own.
const ALONE: u32 = 1 << 31;

/// An access, or several reads.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    time: u32,
    site: u32,
    item: u16,
    /// Another work-item that has read at this time, if there was one.
    second: Option<u16>,
    /// A digest of the value that was written; 0 if it is not known.
    digest: u16,
    atomic: bool,
}

/// The last accesses to a byte.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Past,
    read: Past,
}

/// An access to be followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) site: u32,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) writes: bool,
    pub(super) atomic: bool,
    /// A digest of the value that it writes; 0 if it is not known.
    pub(super) digest: u16,
    pub(super) is_local: bool,
}

/// The other access of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) site: u32,
    /// The work-item, by its index in the group.
    pub(super) item: usize,
    pub(super) writes: bool,
}

/// A barrier that a work-item has reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) site: u32,
    /// The memory that it orders for the work-items that wait: [`ORDERS_LOCAL`], [`ORDERS_GLOBAL`].
    pub(super) orders: u64,
    /// The sub-group that waits; the whole work-group if there is none.
    pub(super) sub_group: Option<u32>,
}

/// What is wrong with the barriers of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divergence {
    /// The barrier.
    pub(super) site: u32,
    /// Whether a sub-group waits there, not the work-group.
    pub(super) in_sub_group: bool,
    /// A work-item that is there.
    pub(super) here: usize,
    /// A work-item that is not, and the barrier at which it is instead, if it has not ended.
    pub(super) missing: usize,
    pub(super) elsewhere: Option<u32>,
}

/// A work-item.
#[derive(Clone, Copy, Debug, Default)]
struct ItemState {
    local_time: u32,
    global_time: u32,
    /// Barriers of the work-group, and of its sub-group, that it has reached.
    barriers: [u32; 2],
    /// Its sub-group, if the kernel has barriers of sub-groups.
    sub_group: Option<u32>,
    ended: bool,
}

/// The barriers of one sequence, in the order in which a work-item reached them first, and that work-item.
#[derive(Debug, Default)]
struct Sequence {
    is_of_sub_group: bool,
    barriers: Vec<(u32, usize)>,
    diverged: bool,
}

impl Sequence {
    /// A work-item reaches its barrier with a number in the sequence.
    fn arrive(&mut self, number: usize, site: u32, item: usize) -> Option<Divergence> {
        match self.barriers.get(number) {
            None => self.barriers.push((site, item)),
            Some(&(other, first)) if other != site && !self.diverged => {
                self.diverged = true;
                return Some(Divergence {
                    site: other,
                    in_sub_group: self.is_of_sub_group,
                    here: first,
                    missing: item,
                    elsewhere: Some(site),
                });
            }
            Some(_) => {}
        }
        None
    }

    /// All work-items have ended: who takes part, and the numbers of barriers that they have reached.
    fn end(&self, members: impl Iterator<Item = (usize, u32)> + Clone) -> Option<Divergence> {
        if self.diverged {
            return None;
        }
        let (missing, reached) = members.clone().find(|&(_, reached)| (reached as usize) < self.barriers.len())?;
        let (here, _) = members.clone().find(|&(_, other)| other > reached)?;
        let (site, _) = self.barriers[reached as usize];
        Some(Divergence { site, in_sub_group: self.is_of_sub_group, here, missing, elsewhere: None })
    }
}

/// The group that a thread executes.
#[derive(Debug, Default)]
struct Group {
    /// The launch and the group's number.
    key: (u64, u64),
    items: Vec<ItemState>,
    ended: usize,
    barriers: Sequence,
    /// By sub-group.
    sub_groups: BTreeMap<u32, Sequence>,
    /// The time at the start of the group, and the latest.
    start: u32,
    latest: u32,
    alone: u32,
    accesses: Accesses,
}

/// The last accesses to all bytes, by pages. Pages that are not used any more keep their content, whose times have passed.
#[derive(Debug, Default)]
struct Accesses {
    /// Where the page of an address is.
    numbers: HashMap<u64, usize, BuildHasherDefault<PageHasher>>,
    pages: Vec<Box<[Cell; PAGE]>>,
    /// The last pages found: their addresses plus one, and numbers.
    recent: [(u64, usize); RECENT],
}

/// Number of pages that are found without a look-up.
const RECENT: usize = 16;

impl Accesses {
    /// All pages become free.
    fn forget(&mut self) {
        self.numbers.clear();
        self.recent = [(0, 0); RECENT];
    }

    fn page(&mut self, address: u64) -> &mut [Cell; PAGE] {
        let recent = &mut self.recent[(address % RECENT as u64) as usize];
        if recent.0 != address + 1 {
            let next = self.numbers.len();
            let number = *self.numbers.entry(address).or_insert(next);
            if number == self.pages.len() {
                self.pages.push(Box::new([Cell::default(); PAGE]));
            }
            *recent = (address + 1, number);
        }
        &mut self.pages[recent.1]
    }
}

#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Runs `f` on the state of a group of a launch, with so many work-items.
fn with<T>(key: (u64, u64), items: usize, f: impl FnOnce(&mut Group) -> T) -> Option<T> {
    GROUP
        .try_with(|group| {
            let mut group = group.try_borrow_mut().ok()?;
            if group.key != key || group.items.len() != items || group.ended == items {
                group.begin(key, items);
            }
            Some(f(&mut group))
        })
        .ok()
        .flatten()
}

/// Follows an access of a work-item, and returns the first conflict.
pub(super) fn access(key: (u64, u64), items: usize, item: usize, access: &Access) -> Option<Conflict> {
    with(key, items, |group| group.access(item, access)).flatten()
}

/// A work-item has reached a barrier.
pub(super) fn barrier(key: (u64, u64), items: usize, item: usize, arrival: Arrival) -> Option<Divergence> {
    with(key, items, |group| group.barrier(item, arrival)).flatten()
}

/// A work-item of a sub-group has ended. The sub-group matters only if the kernel has barriers of sub-groups.
pub(super) fn end(key: (u64, u64), items: usize, item: usize, sub_group: Option<u32>) -> Vec<Divergence> {
    with(key, items, |group| group.end(item, sub_group)).unwrap_or_default()
}

/// The work-item orders its accesses by other means than barriers.
pub(super) fn order(key: (u64, u64), items: usize, item: usize) {
    with(key, items, |group| {
        group.alone += 1;
        let time = ALONE + group.alone;
        if let Some(state) = group.items.get_mut(item) {
            (state.local_time, state.global_time) = (time, time);
        }
    });
}

impl Group {
    fn begin(&mut self, key: (u64, u64), items: usize) {
        if self.latest > ALONE / 2 || self.alone > ALONE / 2 {
            self.accesses = Accesses::default();
            (self.latest, self.alone) = (0, 0);
        } else if self.accesses.numbers.len() > KEPT_PAGES {
            self.accesses.forget();
            self.accesses.pages.truncate(KEPT_PAGES);
        }
        self.start = self.latest + 1;
        self.latest = self.start;
        self.key = key;
        self.items.clear();
        let state = ItemState { local_time: self.start, global_time: self.start, ..ItemState::default() };
        self.items.resize(items, state);
        self.ended = 0;
        self.barriers = Sequence::default();
        self.sub_groups.clear();
    }

    fn access(&mut self, item: usize, access: &Access) -> Option<Conflict> {
        let state = self.items.get(item)?;
        let time = if access.is_local { state.local_time } else { state.global_time };
        let now = Past {
            time,
            site: access.site,
            item: item as u16,
            second: None,
            digest: access.digest,
            atomic: access.atomic,
        };
        let mut found = None;
        let mut at = access.address;
        let end = access.address.saturating_add(access.bytes);
        while at < end {
            let page = self.accesses.page(at / PAGE as u64);
            let first = (at % PAGE as u64) as usize;
            let count = ((end - at) as usize).min(PAGE - first);
            for cell in &mut page[first..first + count] {
                let conflict = cell.access(&now, access);
                found = found.or(conflict);
            }
            at += count as u64;
        }
        found
    }

    fn barrier(&mut self, item: usize, Arrival { site, orders, sub_group }: Arrival) -> Option<Divergence> {
        let state = self.items.get_mut(item)?;
        if let Some(sub_group) = sub_group {
            let number = state.barriers[1] as usize;
            state.barriers[1] += 1;
            state.sub_group = Some(sub_group);
            let new = || Sequence { is_of_sub_group: true, ..Sequence::default() };
            return self.sub_groups.entry(sub_group).or_insert_with(new).arrive(number, site, item);
        }
        let number = state.barriers[0] as usize;
        state.barriers[0] += 1;
        // A barrier that does not order a kind of memory leaves its time unchanged.
        let time = self.start + state.barriers[0];
        self.latest = self.latest.max(time);
        if orders & ORDERS_LOCAL != 0 {
            state.local_time = time;
        }
        if orders & ORDERS_GLOBAL != 0 {
            state.global_time = time;
        }
        self.barriers.arrive(number, site, item)
    }

    fn end(&mut self, item: usize, sub_group: Option<u32>) -> Vec<Divergence> {
        let Some(state) = self.items.get_mut(item) else { return Vec::new() };
        state.sub_group = state.sub_group.or(sub_group);
        if std::mem::replace(&mut state.ended, true) {
            return Vec::new();
        }
        self.ended += 1;
        if self.ended < self.items.len() {
            return Vec::new();
        }
        let items = || self.items.iter().enumerate();
        let of_group = self.barriers.end(items().map(|(item, state)| (item, state.barriers[0])));
        let of_sub_groups = self.sub_groups.iter().filter_map(|(&sub_group, sequence)| {
            let members = items().filter(|(_, state)| state.sub_group == Some(sub_group));
            sequence.end(members.map(|(item, state)| (item, state.barriers[1])))
        });
        of_group.into_iter().chain(of_sub_groups).collect()
    }
}

impl Cell {
    fn access(&mut self, now: &Past, access: &Access) -> Option<Conflict> {
        let concurrent = |past: &Past| past.time == now.time && !(past.atomic && now.atomic);
        let mut found = None;
        let written = self.write;
        // Several work-items may write the same value.
        let same = access.writes && now.digest != 0 && written.digest == now.digest;
        if concurrent(&written) && written.item != now.item && !same {
            found = Some(Conflict { site: written.site, item: written.item.into(), writes: true });
        }
        let read = self.read;
        if access.writes && concurrent(&read) {
            let other = if read.item == now.item { read.second } else { Some(read.item) };
            if let Some(other) = other {
                found = found.or(Some(Conflict { site: read.site, item: other.into(), writes: false }));
            }
        }
        if access.writes {
            self.write = *now;
        } else if read.time != now.time {
            self.read = *now;
        } else {
            self.read.atomic &= now.atomic;
            if read.item != now.item {
                self.read.second.get_or_insert(now.item);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: Access =
        Access { site: 1, address: 64, bytes: 4, writes: true, atomic: false, digest: 0, is_local: true };
    const LOAD: Access = Access { site: 2, writes: false, ..STORE };

    /// A barrier of the work-group.
    fn barrier(key: (u64, u64), items: usize, item: usize, site: u32, orders: u64) -> Option<Divergence> {
        super::barrier(key, items, item, Arrival { site, orders, sub_group: None })
    }

    #[test]
    fn accesses_without_a_barrier_between_them() {
        let key = (1, 0);
        assert_eq!(access(key, 4, 0, &STORE), None);
        assert_eq!(access(key, 4, 0, &LOAD), None);
        assert_eq!(access(key, 4, 1, &LOAD), Some(Conflict { site: 1, item: 0, writes: true }));
        // Another byte, another group.
        assert_eq!(access(key, 4, 1, &Access { address: 68, ..STORE }), None);
        assert_eq!(access((1, 1), 4, 1, &STORE), None);
    }

    #[test]
    fn barriers_order() {
        let key = (2, 0);
        assert_eq!(access(key, 2, 0, &STORE), None);
        for item in 0..2 {
            assert_eq!(barrier(key, 2, item, 7, ORDERS_LOCAL), None);
        }
        assert_eq!(access(key, 2, 1, &LOAD), None);
        assert_eq!(access(key, 2, 0, &LOAD), None);
        let global = Access { is_local: false, address: 1024, ..STORE };
        assert_eq!(access(key, 2, 0, &global), None);
        for item in 0..2 {
            assert_eq!(barrier(key, 2, item, 8, ORDERS_LOCAL), None);
        }
        let other = Access { writes: false, ..global };
        assert_eq!(access(key, 2, 1, &other), Some(Conflict { site: 1, item: 0, writes: true }));
    }

    #[test]
    fn reads_of_several_and_atomics() {
        let key = (3, 0);
        for item in [2, 0, 1] {
            assert_eq!(access(key, 3, item, &LOAD), None);
        }
        assert_eq!(access(key, 3, 2, &STORE), Some(Conflict { site: 2, item: 0, writes: false }));
        let atomic = Access { atomic: true, address: 512, ..STORE };
        assert_eq!(access(key, 3, 0, &atomic), None);
        assert_eq!(access(key, 3, 1, &atomic), None);
        assert!(access(key, 3, 2, &Access { address: 512, ..LOAD }).is_some());
    }

    #[test]
    fn divergent_barriers() {
        let key = (4, 0);
        assert_eq!(barrier(key, 2, 0, 5, 0), None);
        let elsewhere = Divergence { site: 5, in_sub_group: false, here: 0, missing: 1, elsewhere: Some(6) };
        assert_eq!(barrier(key, 2, 1, 6, 0), Some(elsewhere));
        let key = (4, 1);
        assert_eq!(barrier(key, 2, 1, 5, 0), None);
        assert_eq!(end(key, 2, 0, None), []);
        assert_eq!(
            end(key, 2, 1, None),
            [Divergence { site: 5, in_sub_group: false, here: 1, missing: 0, elsewhere: None }]
        );
    }

    #[test]
    fn barriers_of_sub_groups() {
        let at = |key, item, site, sub_group| {
            super::barrier(key, 4, item, Arrival { site, orders: 0, sub_group: Some(sub_group) })
        };
        // Sub-groups do not wait for each other.
        let key = (5, 0);
        assert_eq!((at(key, 0, 7, 0), at(key, 1, 7, 0)), (None, None));
        assert_eq!((at(key, 0, 8, 0), at(key, 1, 8, 0)), (None, None));
        assert_eq!((at(key, 2, 9, 1), at(key, 3, 9, 1)), (None, None));
        assert!((0..4).all(|item| end(key, 4, item, Some(item as u32 / 2)).is_empty()));
        // Two work-items of one are at different barriers.
        let key = (5, 1);
        assert_eq!(at(key, 0, 7, 0), None);
        assert_eq!(
            at(key, 1, 8, 0),
            Some(Divergence { site: 7, in_sub_group: true, here: 0, missing: 1, elsewhere: Some(8) })
        );
        // One of each reaches none.
        let key = (5, 2);
        assert_eq!((at(key, 1, 7, 0), at(key, 2, 7, 1)), (None, None));
        assert!((0..3).all(|item| end(key, 4, item, Some(item as u32 / 2)).is_empty()));
        let missing = |here, missing| Divergence { site: 7, in_sub_group: true, here, missing, elsewhere: None };
        assert_eq!(end(key, 4, 3, Some(1)), [missing(1, 0), missing(2, 3)]);
    }
}
