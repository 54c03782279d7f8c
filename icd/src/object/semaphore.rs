//! A semaphore (`cl_khr_semaphore`): binary; one command signals it and another one, of any queue, waits for it.
//!
//! The commands of a semaphore are paired when they are enqueued: a wait gets the event of its signal, and thus becomes an
//! ordinary dependency in the command graph, for which no thread blocks. A wait that is enqueued before its signal gets a *gate*,
//! a user event that ends with the signal.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};

use clift_include::cl::cl_semaphore_properties_khr;
use clift_runtime::graph;
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
    unpaired: Mutex<Unpaired>,
    /// Number of executed signals minus number of executed waits.
    payload: AtomicI64,
}

cl_object!(Semaphore, b"sema", InvalidSemaphore);

/// Commands that were enqueued without their counterpart.
#[derive(Debug, Default)]
struct Unpaired {
    /// The latest signal. (A second one without a wait in between is an error of the application.)
    signal: Option<graph::Event>,
    /// The gates of waits, earliest first.
    waits: VecDeque<graph::Event>,
}

impl Semaphore {
    /// A semaphore in the unsignaled state, for some of the context's devices. The property list is as given, including its final
    /// zero.
    pub fn new(context: Ref<Context>, devices: Vec<Ref<Device>>, properties: Vec<cl_semaphore_properties_khr>) -> Self {
        Self { context, devices, properties, unpaired: Mutex::default(), payload: AtomicI64::new(0) }
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
        self.payload.load(Ordering::Acquire) > 0
    }

    /// Pairs a signal, given by its event, with the earliest waiting gate or with the next wait.
    pub fn enqueue_signal(&self, signal: &graph::Event) {
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
        let mut unpaired = self.unpaired.lock();
        unpaired.signal.take().unwrap_or_else(|| {
            let gate = graph::Event::user();
            unpaired.waits.push_back(gate.clone());
            gate
        })
    }

    /// Executes a signal.
    pub fn signal(&self) {
        self.payload.fetch_add(1, Ordering::AcqRel);
    }

    /// Executes a wait.
    pub fn wait(&self) {
        self.payload.fetch_sub(1, Ordering::AcqRel);
    }
}
