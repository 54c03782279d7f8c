//! The small children of a family that wait for a thread, and how many there are that have not ended.
//!
//! There are several lists, so that threads rarely meet: a thread adds children to the list of its *place* and takes the latest
//! of them, and takes the oldest ones of another list when its own is empty. The family is *offered* while it is a job of the
//! pool:
//!
//! - whoever has added children looks afterwards whether the family is offered, and offers it if not;
//! - whoever finds no children marks the family as not offered, and looks once more.
//!
//! Both have a sequentially consistent fence between the two, so one of them sees the other's write: children are never
//! forgotten. `models.rs` runs this in all orders.

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;
use smallvec::SmallVec;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

/// Maximum number of lists.
const MAX_LISTS: usize = 16;

/// Maximum number of children that a thread takes from another one's list at once.
const MAX_STOLEN: usize = 32;

/// Children by the place of the thread that has added them.
pub(super) struct Pending<T> {
    lists: Box<[CachePadded<List<T>>]>,
    /// Number of children that have been counted and have not ended.
    unfinished: CachePadded<AtomicUsize>,
    /// Whether the family is a job of the pool, or is about to become one.
    offered: AtomicBool,
}

struct List<T> {
    children: Mutex<VecDeque<T>>,
    /// Their number, readable without the lock.
    len: AtomicUsize,
}

impl<T> Pending<T> {
    /// No children, for about as many threads.
    pub(super) fn new(threads: usize) -> Self {
        let list = || CachePadded::new(List { children: Mutex::new(VecDeque::new()), len: AtomicUsize::new(0) });
        Self {
            lists: (0..threads.clamp(1, MAX_LISTS)).map(|_| list()).collect(),
            unfinished: CachePadded::new(AtomicUsize::new(0)),
            offered: AtomicBool::new(false),
        }
    }

    /// Counts a child that is not in a list yet. Returns whether all others have ended.
    pub(super) fn count(&self) -> bool {
        self.unfinished.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// Discounts children that have ended. Returns whether all others have ended, too.
    pub(super) fn discount(&self, children: usize) -> bool {
        children > 0 && self.unfinished.fetch_sub(children, Ordering::AcqRel) == children
    }

    /// Adds a child that has been counted. Returns whether the caller has to offer the family.
    #[must_use]
    pub(super) fn add(&self, place: usize, child: T) -> bool {
        self.own(place).change(|list| list.push_back(child));
        self.must_offer()
    }

    /// Takes a child, if there is any. Returns, too, whether the caller has to offer the family.
    pub(super) fn take(&self, place: usize) -> (Option<T>, bool) {
        let own = self.own(place);
        if let Some(child) = own.change_if_any(VecDeque::pop_back).flatten() {
            return (Some(child), false);
        }
        let start = place % self.lists.len();
        for list in (1..self.lists.len()).map(|step| &self.lists[(start + step) % self.lists.len()]) {
            let half = |list: &mut VecDeque<T>| {
                let count = list.len().div_ceil(2).min(MAX_STOLEN);
                list.drain(..count).collect::<SmallVec<[T; MAX_STOLEN]>>()
            };
            let mut stolen = list.change_if_any(half).unwrap_or_default();
            if let Some(child) = stolen.pop() {
                let offer = !stolen.is_empty() && {
                    own.change(|list| list.extend(stolen));
                    self.must_offer()
                };
                return (Some(child), offer);
            }
        }
        (None, false)
    }

    /// Whether a thread would find a child.
    fn has_any(&self) -> bool {
        self.lists.iter().any(|list| list.len.load(Ordering::SeqCst) > 0)
    }

    /// Whether the family may be a job of the pool.
    pub(super) fn is_offered(&self) -> bool {
        self.offered.load(Ordering::Relaxed)
    }

    /// Ends the offer of the family if it has no children. Returns whether its job is to be removed: there are no children, or
    /// another thread has added some meanwhile and offers the family anew.
    pub(super) fn withdraw(&self) -> bool {
        if self.has_any() {
            return false;
        }
        self.offered.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // If somebody has added a child meanwhile, one of the two offers the family.
        !self.has_any() || self.offered.swap(true, Ordering::SeqCst)
    }

    fn own(&self, place: usize) -> &List<T> {
        &self.lists[place % self.lists.len()]
    }

    fn must_offer(&self) -> bool {
        fence(Ordering::SeqCst);
        !self.offered.load(Ordering::SeqCst) && !self.offered.swap(true, Ordering::SeqCst)
    }
}

impl<T> List<T> {
    fn change<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let mut children = self.children.lock();
        let result = change(&mut children);
        self.len.store(children.len(), Ordering::Release);
        result
    }

    fn change_if_any<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> Option<R> {
        (self.len.load(Ordering::Relaxed) > 0).then(|| self.change(change))
    }
}
