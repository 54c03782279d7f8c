//! File descriptors on which processes and other interfaces signal each other, for external semaphores: counters (`eventfd`),
//! and fences (sync files and everything else that becomes readable once).
//!
//! No command blocks a worker while it waits for a descriptor: it waits for a user event, and one thread waits for all
//! descriptors. It starts with the first wait and leaves after the last one.

use std::os::fd::{AsFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

use crate::graph::Event;
use crate::sync::plain::Mutex;
use crate::{pool, status, sys};

/// Stack of the thread, which only completes events.
const STACK_BYTES: usize = 256 << 10;

/// A descriptor that becomes readable.
#[derive(Debug)]
pub struct Descriptor(OwnedFd);

impl Descriptor {
    /// A counter of 0; `None` if the process has no more descriptors.
    pub fn counter() -> Option<Descriptor> {
        let flags = EventfdFlags::SEMAPHORE | EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        eventfd(0, flags).ok().map(Descriptor)
    }

    /// Takes a counter from the application; `None` if the number is not that of a counter, which then stays its own.
    pub fn import_counter(file: RawFd) -> Option<Descriptor> {
        sys::is_eventfd(file).then(|| Descriptor(sys::own_file(file)))
    }

    /// Takes a fence from the application; `None` if the number is not that of an open descriptor.
    pub fn import_fence(file: RawFd) -> Option<Descriptor> {
        sys::is_open(file).then(|| Descriptor(sys::own_file(file)))
    }

    /// Another number for it, which belongs to the application.
    pub fn export(&self) -> Option<RawFd> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, 0).ok().map(IntoRawFd::into_raw_fd)
    }

    /// Whether it is readable: a counter that is not 0, a fence that has been signaled.
    pub fn is_ready(&self) -> bool {
        let mut one = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut one, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Adds 1 to a counter. Returns whether it could: a counter has a limit, which signals that are waited for never reach.
    pub fn add(&self) -> bool {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).is_ok()
    }

    /// Takes 1 from a counter, if it is not 0.
    fn take(&self) -> bool {
        let mut value = [0; 8];
        rustix::io::read(&self.0, &mut value).is_ok()
    }

    /// An event that ends when 1 has been taken from the counter for it. Earlier ones come first.
    pub fn taken(self: &Arc<Self>) -> Event {
        wait_for(self, true)
    }

    /// An event that ends when the fence has been signaled.
    pub fn signaled(self: &Arc<Self>) -> Event {
        wait_for(self, false)
    }
}

/// An event that waits for a descriptor.
struct Pending {
    descriptor: Arc<Descriptor>,
    takes: bool,
    event: Event,
}

impl Pending {
    /// Ends the event if it may end now that the descriptor is readable. Returns whether it has: another process may have been
    /// faster.
    fn end(&self) -> bool {
        let ends = !self.takes || self.descriptor.take();
        if ends {
            let _ = self.event.set_user_status(status::COMPLETE);
        }
        ends
    }
}

/// What the thread works on.
struct Watch {
    /// Whether there is a thread, and in which process.
    runs_in: Option<u32>,
    /// Makes the thread look again.
    wake: Option<Arc<Descriptor>>,
    /// In the order of their beginnings.
    pending: Vec<Pending>,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { runs_in: None, wake: None, pending: Vec::new() });

/// The lock of this module, for a thread that forks.
pub(crate) fn lock_for_fork() -> impl Sized + 'static {
    WATCH.lock()
}

fn wait_for(descriptor: &Arc<Descriptor>, takes: bool) -> Event {
    let event = Event::user();
    let mut watch = WATCH.lock();
    if watch.runs_in != Some(pool::epoch()) {
        // A child of the process that had the thread waits for nothing of its parent.
        watch.pending.clear();
        watch.wake = Descriptor::counter().map(Arc::new);
        let builder = std::thread::Builder::new().name("clift-semaphores".to_owned()).stack_size(STACK_BYTES);
        let started = watch.wake.clone().map(|wake| sys::with_signals_blocked(|| builder.spawn(move || run(&wake))));
        let Some(Ok(_)) = started else {
            drop(watch);
            tracing::error!("the thread that waits for external semaphores could not be started");
            let _ = event.set_user_status(status::OUT_OF_RESOURCES);
            return event;
        };
        watch.runs_in = Some(pool::epoch());
    }
    watch.pending.push(Pending { descriptor: descriptor.clone(), takes, event: event.clone() });
    if let Some(wake) = &watch.wake {
        wake.add();
    }
    event
}

/// The thread.
fn run(wake: &Descriptor) {
    loop {
        let watched: Vec<Arc<Descriptor>> = {
            let mut watch = WATCH.lock();
            if watch.pending.is_empty() {
                watch.runs_in = None;
                watch.wake = None;
                return;
            }
            watch.pending.iter().map(|pending| pending.descriptor.clone()).collect()
        };
        let ready: Vec<bool> = {
            let files = std::iter::once(wake.0.as_fd()).chain(watched.iter().map(|descriptor| descriptor.0.as_fd()));
            let mut files: Vec<PollFd<'_>> = files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
            if poll(&mut files, None).is_err() {
                continue;
            }
            files.iter().map(|file| !file.revents().is_empty()).collect()
        };
        while wake.take() {}
        // Only this thread removes any, so those that were watched are still the first ones.
        let mut first: Vec<Pending> = {
            let mut watch = WATCH.lock();
            watch.pending.drain(..watched.len()).collect()
        };
        let mut is_ready = ready.iter().skip(1);
        first.retain(|pending| is_ready.next() != Some(&true) || !pending.end());
        let mut watch = WATCH.lock();
        watch.pending.splice(..0, first);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd;
    use std::sync::Arc;

    use super::Descriptor;
    use crate::status;

    #[test]
    fn a_counter_ends_as_many_events_as_it_counts() {
        let counter = Arc::new(Descriptor::counter().expect("a descriptor"));
        assert!(!counter.is_ready());
        let other = Descriptor::import_counter(counter.export().expect("a descriptor")).expect("a counter");
        let events = [counter.taken(), counter.taken()];
        assert!(events.iter().all(|event| event.status() > status::COMPLETE));
        assert!(other.add());
        assert_eq!(events[0].wait(), status::COMPLETE);
        assert!(events[1].status() > status::COMPLETE);
        assert!(other.add());
        assert_eq!(events[1].wait(), status::COMPLETE);
        assert!(!other.is_ready());
        // The thread may have left by now.
        assert!(counter.add());
        assert_eq!(Arc::new(other).taken().wait(), status::COMPLETE);
    }

    #[test]
    fn a_fence_ends_its_events_once() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let fence = Arc::new(Descriptor::import_fence(reader.into_raw_fd()).expect("a descriptor"));
        let (a, b) = (fence.signaled(), fence.signaled());
        assert!(!fence.is_ready() && a.status() > status::COMPLETE);
        drop(writer);
        assert_eq!((a.wait(), b.wait()), (status::COMPLETE, status::COMPLETE));
    }

    #[test]
    fn other_numbers_are_refused() {
        assert!(Descriptor::import_counter(-1).is_none() && Descriptor::import_fence(-1).is_none());
        assert!(Descriptor::import_fence(1 << 20).is_none());
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
        assert!(Descriptor::import_counter(number).is_none(), "it is not a counter");
    }
}
