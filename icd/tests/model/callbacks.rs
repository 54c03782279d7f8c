//! Callbacks of the application: each is called once, with the right status and in the right order.

use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Mutex;

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::world::{Detail, Handle, Kind, World};

/// Callbacks that have been registered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Callbacks {
    /// The commands that free memory by a function of the application.
    pub(crate) svm: Vec<usize>,
    /// For each callback of an event: the command, and the status it waits for.
    events: Vec<(usize, cl_int)>,
    /// For each callback at the end of an object: the object's number.
    ends: Vec<u64>,
}

/// Calls for events: number of the callback, and status.
static EVENT_CALLS: Mutex<Vec<(usize, cl_int)>> = Mutex::new(Vec::new());
/// Calls at ends of objects: number of the callback.
static END_CALLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

extern "C" fn event_ended(_event: cl_event, status: cl_int, user: *mut c_void) {
    EVENT_CALLS.lock().expect("no panic").push((user.addr(), status));
}

extern "C" fn object_ended(_object: *mut c_void, user: *mut c_void) {
    END_CALLS.lock().expect("no panic").push(user.addr());
}

impl World {
    /// Registers a callback.
    pub(crate) fn callback_step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let gives_function = u.ratio(15, 16)?;
        violated.rule(gives_function, CL_INVALID_VALUE);
        if u.ratio(2, 3)? {
            let event = self.pick(u, Kind::Event)?;
            let command = match self.get(Kind::Event, event).map(|object| &object.detail) {
                Some(Detail::Event(command)) => Some(*command),
                _ => None,
            };
            violated.rule(command.is_some(), CL_INVALID_EVENT);
            let kind = u.int_in_range(-1..=3)?;
            violated.rule((CL_COMPLETE..=CL_SUBMITTED).contains(&kind), CL_INVALID_VALUE);
            let user = without_provenance_mut(self.callbacks.events.len());
            let status = clSetEventCallback(event, kind, gives_function.then_some(event_ended), user);
            if self.check(format!("clSetEventCallback({event:?} of {command:?}, {kind})"), &violated, status) {
                self.callbacks.events.push((command.expect("an event"), kind));
            }
            return Ok(());
        }
        let of_context = u.ratio(1, 4)?;
        let kind = if of_context { Kind::Context } else { Kind::Mem };
        let object = self.pick(u, kind)?;
        // The base context does not end.
        if object == self.common.base {
            return Ok(());
        }
        let number = self.get(kind, object).map(|object| object.number);
        violated.rule(number.is_some(), kind.invalid());
        let user: Handle = without_provenance_mut(self.callbacks.ends.len());
        let function: ObjectNotify = if gives_function { Some(object_ended) } else { None };
        let status = if of_context {
            clSetContextDestructorCallback(object, function, user)
        } else {
            clSetMemObjectDestructorCallback(object, function, user)
        };
        if self.check(format!("destructor callback of {kind:?} {object:?}"), &violated, status) {
            self.callbacks.ends.push(number.expect("an object"));
        }
        Ok(())
    }

    /// Whether all callbacks have been called, at the end of a sequence.
    pub(crate) fn all_called(&self) -> bool {
        let (events, ends) = (EVENT_CALLS.lock().expect("no panic"), END_CALLS.lock().expect("no panic"));
        (events.len(), ends.len()) == (self.callbacks.events.len(), self.callbacks.ends.len())
    }

    /// Compares the calls with what has been registered.
    pub(crate) fn check_callbacks(&mut self) {
        let events = std::mem::take(&mut *EVENT_CALLS.lock().expect("no panic"));
        let ends = std::mem::take(&mut *END_CALLS.lock().expect("no panic"));
        let mut called: Vec<Option<cl_int>> = vec![None; self.callbacks.events.len()];
        for (number, status) in events {
            assert!(called[number].replace(status).is_none(), "a callback is called twice");
        }
        for (at, called) in called.into_iter().enumerate() {
            let (command, wanted) = self.callbacks.events[at];
            let end = self.timeline.end(command).expect("it has ended");
            let fits = |status: cl_int| {
                if end < 0 { status == end || (0..=wanted).contains(&status) } else { (0..=wanted).contains(&status) }
            };
            assert!(
                called.is_some_and(fits),
                "callback {at} for {wanted} of command {command}, which ends with {end}: {called:?}; calls:\n{}",
                self.calls.join("\n")
            );
        }
        let mut sorted = ends.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..self.callbacks.ends.len()), "callbacks for ends of objects: {ends:?}");
        // Those of one object are called in the reverse order of registration.
        for (at, first) in ends.iter().enumerate() {
            let same = |later: &&usize| self.callbacks.ends[**later] == self.callbacks.ends[*first];
            assert!(ends[at..].iter().filter(same).all(|later| later <= first), "the order of callbacks: {ends:?}");
        }
    }
}
