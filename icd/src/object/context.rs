//! A context: the scope of objects that may be used together.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use clift_include::cl::{CL_CONTEXT_TERMINATE_KHR, CL_CONTEXT_TERMINATE_KHR_1X, cl_context_properties};
use clift_runtime::enqueue::DeviceEvents;
use clift_runtime::graph::Termination;
use parking_lot::Mutex;

use super::allocation::Allocations;
use super::buffer::Mem;
use super::device::Device;
use super::device_queue::DeviceQueue;
use super::queue::Queue;
use crate::error::{ClError, ClResult, ensure};
use crate::ffi::callback::{ContextNotify, Destructor, ObjectNotify, call_destructors};
use crate::ffi::handle::{Handle, Object, Ref, cl_object};
use crate::ffi::pointer::UserData;

/// A context.
#[derive(Debug)]
pub struct Context {
    devices: Vec<Ref<Device>>,
    properties: Vec<cl_context_properties>,
    notify: (ContextNotify, UserData),
    destructors: Mutex<Vec<Destructor<Context>>>,
    queues: Mutex<Vec<Weak<Object<Queue>>>>,
    device_queues: Mutex<DeviceQueues>,
    device_events: Arc<DeviceEvents>,
    /// Buffers whose addresses the application may query, by these addresses.
    addressed: Mutex<BTreeMap<usize, Weak<Object<Mem>>>>,
    /// What ends its commands, if the context was created so that it can be terminated.
    termination: Option<Arc<Termination>>,
    // The last field, so that it is freed after the destructor callbacks have been called.
    allocations: Allocations,
}

cl_object!(Context, b"ctxt", InvalidContext);

/// The device queues of a context.
#[derive(Debug, Default)]
struct DeviceQueues {
    all: Vec<Weak<Object<DeviceQueue>>>,
    /// The default queue of each device that has one.
    defaults: Vec<Weak<Object<DeviceQueue>>>,
}

impl DeviceQueues {
    fn default_of(&self, device: &Ref<Device>) -> Option<Ref<DeviceQueue>> {
        self.defaults.iter().filter_map(Weak::upgrade).find(|queue| Ref::ptr_eq(queue.device(), device))
    }
}

impl Context {
    /// A context for devices (without duplicates), with the property list as given.
    pub fn new(
        devices: Vec<Ref<Device>>,
        properties: Vec<cl_context_properties>,
        notify: (ContextNotify, UserData),
    ) -> Self {
        crate::trace::describe_device();
        let (destructors, queues, device_queues, device_events) = Default::default();
        let (addressed, allocations) = Default::default();
        let mut settings = properties.chunks_exact(2);
        let names = [CL_CONTEXT_TERMINATE_KHR, CL_CONTEXT_TERMINATE_KHR_1X];
        let can_end = settings.any(|pair| names.iter().any(|&name| pair == [name as cl_context_properties, 1]));
        let termination = can_end.then(Arc::default);
        Self {
            devices,
            properties,
            notify,
            destructors,
            queues,
            device_queues,
            device_events,
            addressed,
            termination,
            allocations,
        }
    }

    /// Its devices.
    pub fn devices(&self) -> &[Ref<Device>] {
        &self.devices
    }

    /// The property list as given, including the final zero; empty if there was none.
    pub fn properties(&self) -> &[cl_context_properties] {
        &self.properties
    }

    /// Whether the device belongs to the context.
    pub fn has_device(&self, device: &Ref<Device>) -> bool {
        self.devices.iter().any(|own| Ref::ptr_eq(own, device))
    }

    /// What ends its commands; `None` if it cannot be terminated.
    pub fn termination(&self) -> Option<&Arc<Termination>> {
        self.termination.as_ref()
    }

    /// `Err` if it has been terminated.
    ///
    /// # Errors
    /// [`ClError::ContextTerminated`].
    pub fn ensure_active(&self) -> ClResult<()> {
        let terminated = self.termination.as_ref().is_some_and(|termination| termination.has_begun());
        ensure(!terminated, ClError::ContextTerminated)
    }

    /// Memory that the application addresses by pointer.
    pub fn allocations(&self) -> &Allocations {
        &self.allocations
    }

    /// Adds a buffer of this context whose address the application may query.
    pub fn add_addressed(&self, buffer: &Ref<Mem>) {
        self.addressed.lock().insert(buffer.bytes().as_ptr().addr(), Arc::downgrade(buffer));
    }

    /// Removes the buffer at an address, unless another one has this address by now.
    pub fn forget_addressed(&self, start: usize) {
        let mut all = self.addressed.lock();
        if all.get(&start).is_some_and(|buffer| buffer.strong_count() == 0) {
            all.remove(&start);
        }
    }

    /// The buffer with a queryable address that contains `address`.
    pub fn addressed(&self, address: usize) -> Option<Ref<Mem>> {
        let nearest = self.addressed.lock().range(..=address).next_back().map(|(_, buffer)| buffer.clone());
        // The last reference to a buffer may be dropped here, so the lock is not held.
        nearest?.upgrade().filter(|buffer| address - buffer.bytes().as_ptr().addr() < buffer.bytes().len())
    }

    /// Start addresses and sizes of all memory that the application may address by pointer.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges = self.allocations.ranges();
        let buffers: Vec<_> = self.addressed.lock().values().cloned().collect();
        // The last reference to a buffer may be dropped here, so the lock is not held.
        let buffers = buffers.iter().filter_map(Weak::upgrade);
        ranges.extend(buffers.map(|mem| (mem.bytes().as_ptr().addr() as u64, mem.bytes().len() as u64)));
        ranges
    }

    /// Adds a queue of this context.
    pub fn add_queue(&self, queue: &Ref<Queue>) {
        let mut queues = self.queues.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// The queues of this context that still exist.
    pub fn queues(&self) -> Vec<Ref<Queue>> {
        self.queues.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Adds a device queue, unless there are already `most` of its device. If it is to be the default one, it becomes so; if
    /// there already is a default queue, that is returned instead. It does not count: the CTS creates `most` queues besides it.
    pub fn add_device_queue(&self, queue: &Ref<DeviceQueue>, most: usize) -> Option<Ref<DeviceQueue>> {
        let mut queues = self.device_queues.lock();
        if queue.is_created_default() {
            if let Some(present) = queues.default_of(queue.device()) {
                return Some(present);
            }
            queues.defaults.retain(|queue| queue.strong_count() > 0);
            queues.defaults.push(Arc::downgrade(queue));
        }
        queues.all.retain(|queue| queue.strong_count() > 0);
        let same_device = queues.all.iter().filter_map(Weak::upgrade);
        // Dropped without the lock.
        let same_device: Vec<_> = same_device.filter(|other| Ref::ptr_eq(other.device(), queue.device())).collect();
        let counted = same_device.iter().filter(|other| !other.is_created_default()).count();
        let added = (queue.is_created_default() || counted < most).then(|| queue.clone());
        if added.is_some() {
            queues.all.push(Arc::downgrade(queue));
        }
        drop(queues);
        added
    }

    /// The default queue on a device.
    pub fn default_device_queue(&self, device: &Ref<Device>) -> Option<Ref<DeviceQueue>> {
        self.device_queues.lock().default_of(device)
    }

    /// Replaces the default queue on the queue's device.
    pub fn set_default_device_queue(&self, queue: &Ref<DeviceQueue>) {
        let mut queues = self.device_queues.lock();
        let old = queues.default_of(queue.device());
        queues.defaults.retain(|other| {
            let is_old = old.as_ref().is_some_and(|old| std::ptr::eq(other.as_ptr(), Arc::as_ptr(old)));
            other.strong_count() > 0 && !is_old
        });
        queues.defaults.push(Arc::downgrade(queue));
        drop(queues);
        drop(old);
    }

    /// The events that kernels hold.
    pub fn device_events(&self) -> &Arc<DeviceEvents> {
        &self.device_events
    }

    /// Reports an error that no call can return (such as a command's failure) to the application's callback.
    pub fn report(&self, message: &str) {
        let (notify, user_data) = self.notify;
        tracing::warn!(target: "clift::context", "{message}");
        notify.call(message, user_data);
    }

    /// Registers a function to call when the context ends.
    pub fn add_destructor(&self, notify: ObjectNotify<Context>, context: Handle<Context>, user_data: UserData) {
        self.destructors.lock().push((notify, context, user_data));
    }
}

impl Handle<Context> {
    /// As [`Handle::get`], for calls that create objects.
    ///
    /// # Errors
    /// As [`Handle::get`]; [`ClError::ContextTerminated`] if the context has been terminated.
    pub fn active(self) -> ClResult<Ref<Context>> {
        let context = self.get()?;
        context.ensure_active()?;
        Ok(context)
    }
}

impl Drop for Context {
    /// Calls the destructor callbacks, latest first.
    fn drop(&mut self) {
        call_destructors(std::mem::take(self.destructors.get_mut()));
    }
}
