//! A queue on the device, to which kernels enqueue. The runtime keeps its commands ([`clift_runtime::enqueue::DeviceQueue`]).
//!
//! It is an object of its own type, so that its handle is not one of a host queue: functions for host queues reject it.

use std::sync::Arc;

use clift_include::cl::{CL_QUEUE_ON_DEVICE_DEFAULT, cl_command_queue_properties, cl_queue_properties, cl_uint};
use clift_runtime::enqueue;

use super::context::Context;
use super::device::Device;
use crate::ffi::handle::{Ref, cl_object};

/// A device queue.
#[derive(Debug)]
pub struct DeviceQueue {
    context: Ref<Context>,
    device: Ref<Device>,
    properties: cl_command_queue_properties,
    property_list: Vec<cl_queue_properties>,
    size: cl_uint,
    commands: Arc<enqueue::DeviceQueue>,
}

cl_object!(DeviceQueue, b"dque", InvalidCommandQueue);

impl DeviceQueue {
    /// A queue of `size` bytes with the given property bits and list.
    pub fn new(
        context: Ref<Context>,
        device: Ref<Device>,
        properties: cl_command_queue_properties,
        property_list: Vec<cl_queue_properties>,
        size: cl_uint,
    ) -> Self {
        let commands = enqueue::DeviceQueue::new(size.into());
        Self { context, device, properties, property_list, size, commands }
    }

    /// Its context.
    pub fn context(&self) -> &Ref<Context> {
        &self.context
    }

    /// Its device.
    pub fn device(&self) -> &Ref<Device> {
        &self.device
    }

    /// Its property bits.
    pub fn properties(&self) -> cl_command_queue_properties {
        self.properties
    }

    /// Whether it was created as the default queue of its device.
    pub fn is_created_default(&self) -> bool {
        self.properties & CL_QUEUE_ON_DEVICE_DEFAULT != 0
    }

    /// The property list as given, including the final zero.
    pub fn property_list(&self) -> &[cl_queue_properties] {
        &self.property_list
    }

    /// Its size in bytes.
    pub fn size(&self) -> cl_uint {
        self.size
    }

    /// The runtime's queue.
    pub fn commands(&self) -> &Arc<enqueue::DeviceQueue> {
        &self.commands
    }

    /// The value of a kernel argument.
    pub fn word(&self) -> u64 {
        Arc::as_ptr(&self.commands).expose_provenance() as u64
    }
}
