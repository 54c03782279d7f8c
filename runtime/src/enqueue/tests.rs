//! Events, queues, and families of commands.

use std::sync::Arc;

use clift_include::request::status as request;

use super::LocalArg;
use super::events::DeviceEvents;
use super::queue::DeviceQueue;
use super::request::place_locals;
use crate::graph::{Dependency, Event, KeepAlive, Node, QueuePosition, Work};
use crate::pool::PoolHandle;
use crate::status;

#[test]
fn events_are_valid_until_their_last_release() {
    let events = DeviceEvents::default();
    let first = events.insert(Event::user()).expect("a slot");
    let second = events.insert(Event::user()).expect("a slot");
    assert!(first != second && first != 0 && events.get(0).is_none());
    events.retain(first);
    events.release(first);
    assert!(events.get(first).is_some());
    events.release(first);
    assert!(events.get(first).is_none());
    // The slot is used again under another handle; what is done to the old one has no effect.
    let third = events.insert(Event::user()).expect("a slot");
    assert_ne!(third, first);
    events.release(first);
    events.retain(u64::MAX);
    events.release(u64::MAX);
    assert!(events.get(second).is_some() && events.get(third).is_some());
    assert!(third < 1 << 48);
}

#[test]
fn events_are_limited() {
    let events = DeviceEvents::default();
    let event = Event::user();
    let handles: Vec<_> = (0..DeviceEvents::MAX).map(|_| events.insert(event.clone()).expect("a slot")).collect();
    assert_eq!(events.insert(event.clone()), None);
    events.release(handles[7]);
    assert!(events.insert(event).is_some());
}

#[test]
fn a_queue_is_full_until_a_command_ends() {
    let queue = DeviceQueue::new(100);
    let share = queue.share(60).expect("room");
    assert!(!queue.reserve(41) && !queue.reserve(u64::MAX));
    let rest = queue.share(40).expect("room");
    drop(share);
    assert!(queue.reserve(60));
    drop(rest);
}

#[test]
fn local_arguments_fit_or_are_refused() {
    let locals = [LocalArg { offset: 0, align: 1 }, LocalArg { offset: 8, align: 16 }];
    let mut args = [0; 16];
    assert_eq!(place_locals(&locals, &[5, 8], 10..100, &mut args), Ok(14));
    assert_eq!(args.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>(), [10, 16]);
    for (sizes, error) in [
        ([0, 8], request::INVALID_ARG_SIZE),
        ([5, 85], request::OUT_OF_RESOURCES),
        ([u64::MAX, 8], request::OUT_OF_RESOURCES),
        ([u64::MAX - 9, u64::MAX], request::OUT_OF_RESOURCES),
    ] {
        assert_eq!(place_locals(&locals, &sizes, 10..100, &mut args), Err(error), "{sizes:?}");
    }
}

#[test]
fn a_family_ends_with_its_last_member() {
    let position = QueuePosition { queue: 1, sequence: 1, in_order: true };
    let node =
        || Arc::new(Node::command(position, PoolHandle::root(), true, Work::Marker, KeepAlive::new(), None, None));
    let (parent, child, other) = (node(), node(), node());
    parent.release();
    parent.begin_family();
    child.precede(&parent, Dependency::Child);
    other.precede(&parent, Dependency::Child);
    assert_eq!(parent.leave_family(status::COMPLETE), None);
    parent.end_work(status::COMPLETE);
    // The first error is the family's.
    assert_eq!(parent.leave_family(-7), None);
    assert_eq!(parent.leave_family(-8), Some(-7));
}
