//! Models of the small children of a family: how threads find them, and how they wait.

use std::sync::Arc;

use super::pending::Pending;
use super::waiting::Waiting;
use crate::models::{Count, explore_with, join};
use crate::status;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread::spawn;

/// Takes children until there are none, and discounts them together. Returns whether they were the last.
fn run_all(children: &Pending<u32>, place: usize, done: &Count, offers: &AtomicUsize) -> bool {
    let mut ended = 0;
    loop {
        let (child, offer) = children.take(place);
        if offer {
            offers.fetch_add(1, Ordering::SeqCst);
        }
        if child.is_none() {
            return children.discount(ended);
        }
        done.add();
        ended += 1;
    }
}

/// A child that is added while another thread withdraws the family: it is taken, or the family is offered afterwards.
#[test]
fn an_added_child_is_not_forgotten() {
    explore_with(3, || {
        let children = Arc::new(Pending::new(2));
        children.count();
        assert!(children.add(0, 1), "the first offers the family");
        let other = children.clone();
        // Like the pool: a job is removed when the family is withdrawn.
        let thread = spawn(move || {
            let taken = usize::from(other.take(1).0.is_some());
            (taken, other.withdraw())
        });
        children.count();
        let offered = children.add(0, 2);
        let (taken, withdrawn) = join(thread);
        let is_job = !withdrawn || offered;
        assert!(is_job || (taken..2).all(|_| children.take(0).0.is_none()), "children without a job");
    });
}

/// Two threads take all children once each, and one of them discounts the last.
#[test]
fn children_are_taken_once_and_end_once() {
    explore_with(2, || {
        let (children, done) = (Arc::new(Pending::new(2)), Count::new());
        let offers = Arc::new(AtomicUsize::new(0));
        for child in 0..3 {
            assert_eq!(children.count(), child == 0);
            let _ = children.add(0, child);
        }
        let (other, counter, offered) = (children.clone(), done.clone(), offers.clone());
        let thread = spawn(move || run_all(&other, 1, &counter, &offered));
        let mine = run_all(&children, 0, &done, &offers);
        let last = join(thread);
        assert!(mine != last, "one of them was the last");
        assert_eq!(done.get(), 3);
    });
}

/// Who discounts the last child sees what the others have done.
#[test]
fn the_end_of_the_last_shows_all() {
    explore_with(2, || {
        let (children, done) = (Arc::new(Pending::new(2)), Count::new());
        let offers = Arc::new(AtomicUsize::new(0));
        for child in 0..2 {
            children.count();
            let _ = children.add(child as usize, child);
        }
        let (other, counter, offered) = (children.clone(), done.clone(), offers.clone());
        let thread = spawn(move || {
            let last = run_all(&other, 1, &counter, &offered);
            last.then(|| counter.get())
        });
        let mine = run_all(&children, 0, &done, &offers).then(|| done.get());
        let seen = [mine, join(thread)].into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(seen, [2]);
    });
}

/// A child that waits for two events, which end while it is enqueued: it begins once, after all, and knows that one has failed.
#[test]
fn a_waiting_child_begins_once() {
    explore_with(3, || {
        let (child, begun) = (Arc::new(Waiting::new(())), Count::new());
        let ends = |status: i32| {
            child.add_predecessor();
            let (child, begun) = (child.clone(), begun.clone());
            spawn(move || {
                begun.add();
                child.predecessor_ended(status)
            })
        };
        let threads = [ends(status::COMPLETE), ends(-7)];
        let mine = child.predecessor_ended(status::COMPLETE).map(|_| begun.get());
        let others = threads.map(|thread| join(thread).map(|((), status)| status));
        let all = others.into_iter().flatten().collect::<Vec<_>>();
        match mine {
            Some(count) => assert!(count == 2 && all.is_empty()),
            None => assert_eq!(all, [status::WAIT_LIST_FAILED]),
        }
        assert_eq!(begun.get(), 2);
    });
}
