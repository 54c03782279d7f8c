//! Forks: the thread that forks holds the locks of all registries, and those of the compiler, meanwhile. So handles are valid
//! in the child, and programs can be built, whatever other threads did at that moment. (The locks of single objects are held
//! only while they are used.)

use std::any::Any;
use std::cell::RefCell;
use std::sync::Once;

use super::buffer::Mem;
use super::command_buffer::{CommandBuffer, MutableCommand};
use super::context::Context;
use super::device::Device;
use super::device_queue::DeviceQueue;
use super::event::Event;
use super::kernel::Kernel;
use super::platform::Platform;
use super::program::Program;
use super::queue::Queue;
use super::sampler::Sampler;
use super::semaphore::Semaphore;
use crate::ffi::handle::{ClObject, ForkLock};

/// The registries of all types of objects.
fn registries() -> [&'static dyn ForkLock; 13] {
    [
        Platform::registry(),
        Device::registry(),
        Context::registry(),
        Queue::registry(),
        DeviceQueue::registry(),
        Mem::registry(),
        Sampler::registry(),
        Program::registry(),
        Kernel::registry(),
        Event::registry(),
        CommandBuffer::registry(),
        MutableCommand::registry(),
        Semaphore::registry(),
    ]
}

thread_local! {
    static HELD: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn before() {
    let compiler: Box<dyn Any> = Box::new(clift_jit::lock_for_fork());
    let held = registries().into_iter().map(ForkLock::lock_for_fork).chain([compiler]).collect();
    // On a thread that is being destroyed the guards are dropped at once.
    let _ = HELD.try_with(|place| place.replace(held));
}

extern "C" fn after() {
    let _ = HELD.try_with(|place| place.take());
}

/// Registers the handlers, once per process and its children.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !clift_runtime::at_fork(before, after, after) {
            tracing::warn!("no handlers for fork could be registered");
        }
    });
}
