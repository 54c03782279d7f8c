//! A semaphore (`cl_khr_semaphore`): binary; one command signals it and another one, of any queue, waits for it.
//!
//! The commands of a semaphore are paired when they are enqueued: a wait gets the event of its signal, and thus becomes an
//! ordinary dependency in the command graph, for which no thread blocks. A wait that is enqueued before its signal gets a *gate*,
//! a user event that ends with the signal.
//!
//! External semaphores (`cl_khr_external_semaphore`): one that may be exported, or that comes from an opaque descriptor, is a
//! counter of the operating system, which other processes know too; each signal adds 1, and each wait gets an event that ends
//! when 1 has been taken for it. A sync file that is imported is a signal that has been enqueued already: it ends when the file
//! has been signaled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use clift_include::cl::{cl_external_semaphore_handle_type_khr, cl_semaphore_properties_khr};
use clift_runtime::descriptor::Descriptor;
use clift_runtime::{graph, status};
use parking_lot::Mutex;

use super::context::Context;
use super::device::Device;
use crate::ffi::handle::{Ref, cl_object};

/// A semaphore.
#[derive(Debug)]
pub struct Semaphore {
    context: Ref<Context>,
    /// The devices whose queues may use it.
    devices: Vec<Ref<Device>>,
    properties: Vec<cl_semaphore_properties_khr>,
    external: External,
    unpaired: Mutex<Unpaired>,
    /// Number of executed signals minus number of executed waits.
    payload: AtomicI64,
}

cl_object!(Semaphore, b"sema", InvalidSemaphore);

/// Where else a semaphore is known.
#[derive(Debug)]
pub enum External {
    /// Nowhere.
    None,
    /// Wherever its counter is; the handle type as which it may be exported, if it may.
    Counter(Arc<Descriptor>, Option<cl_external_semaphore_handle_type_khr>),
    /// Nowhere, but it comes from a sync file; `None` for one that had been signaled.
    Fence(Option<Arc<Descriptor>>),
}

/// Commands that were enqueued without their counterpart.
#[derive(Debug, Default)]
struct Unpaired {
    /// The latest signal. (A second one without a wait in between is an error of the application.)
    signal: Option<graph::Event>,
    /// The gates of waits, earliest first.
    waits: VecDeque<graph::Event>,
}

impl Semaphore {
    /// A semaphore in the unsignaled state, or in that of its fence, for some of the context's devices. The property list is as
    /// given, including its final zero.
    pub fn new(
        context: Ref<Context>,
        devices: Vec<Ref<Device>>,
        properties: Vec<cl_semaphore_properties_khr>,
        external: External,
    ) -> Self {
        let unpaired = match &external {
            External::None | External::Counter(..) => Unpaired::default(),
            External::Fence(fence) => Unpaired::signaled_by(fence.as_ref()),
        };
        Self { context, devices, properties, external, unpaired: Mutex::new(unpaired), payload: AtomicI64::new(0) }
    }

    /// Where else it is known.
    pub fn external(&self) -> &External {
        &self.external
    }

    /// Forgets what came of its fence, and takes another one.
    pub fn take_fence(&self, fence: Option<&Arc<Descriptor>>) {
        let new = Unpaired::signaled_by(fence);
        let old = std::mem::replace(&mut *self.unpaired.lock(), new);
        self.payload.store(0, Ordering::Release);
        // Without the lock: the last handles of gates fail the commands that wait for them.
        drop(old);
    }

    /// Its context.
    pub fn context(&self) -> &Ref<Context> {
        &self.context
    }

    /// The devices whose queues may use it.
    pub fn devices(&self) -> &[Ref<Device>] {
        &self.devices
    }

    /// The property list as given, including the final zero.
    pub fn properties(&self) -> &[cl_semaphore_properties_khr] {
        &self.properties
    }

    /// Whether it is signaled, by commands that have been executed.
    pub fn is_signaled(&self) -> bool {
        match &self.external {
            External::None => self.payload.load(Ordering::Acquire) > 0,
            External::Counter(counter, _) => counter.is_ready(),
            External::Fence(_) => {
                let of_fence =
                    self.unpaired.lock().signal.as_ref().is_some_and(|signal| signal.status() == status::COMPLETE);
                of_fence || self.payload.load(Ordering::Acquire) > 0
            }
        }
    }

    /// Pairs a signal, given by its event, with the earliest waiting gate or with the next wait.
    pub fn enqueue_signal(&self, signal: &graph::Event) {
        if let External::Counter(..) = self.external {
            return;
        }
        let mut unpaired = self.unpaired.lock();
        let Some(gate) = unpaired.waits.pop_front() else {
            unpaired.signal = Some(signal.clone());
            return;
        };
        drop(unpaired);
        gate.end_with(signal);
    }

    /// The event for a wait that is now enqueued.
    pub fn enqueue_wait(&self) -> graph::Event {
        if let External::Counter(counter, _) = &self.external {
            return counter.taken();
        }
        let mut unpaired = self.unpaired.lock();
        unpaired.signal.take().unwrap_or_else(|| {
            let gate = graph::Event::user();
            unpaired.waits.push_back(gate.clone());
            gate
        })
    }

    /// Executes a signal.
    pub fn signal(&self) {
        match &self.external {
            External::None | External::Fence(_) => {
                self.payload.fetch_add(1, Ordering::AcqRel);
            }
            External::Counter(counter, _) => {
                counter.add();
            }
        }
    }

    /// Executes a wait.
    pub fn wait(&self) {
        match &self.external {
            External::None => {
                self.payload.fetch_sub(1, Ordering::AcqRel);
            }
            // A wait for a fence takes nothing that a signal has added.
            External::Fence(_) => {
                let less = |payload: i64| (payload > 0).then(|| payload - 1);
                let _ = self.payload.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
            }
            // It has been taken.
            External::Counter(..) => {}
        }
    }
}

impl Unpaired {
    /// The state after a fence, signaled or not, has been imported.
    fn signaled_by(fence: Option<&Arc<Descriptor>>) -> Unpaired {
        let signal = fence.map_or_else(
            || {
                let done = graph::Event::user();
                let _ = done.set_user_status(status::COMPLETE);
                done
            },
            Descriptor::signaled,
        );
        Unpaired { signal: Some(signal), waits: VecDeque::new() }
    }
}
