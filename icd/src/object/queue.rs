//! A command queue: order and profiling are implemented in the runtime ([`clift_runtime::graph::Queue`]); the object adds its
//! context, its device and its properties.

use std::sync::Arc;

use clift_include::cl::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, cl_command_queue_properties, cl_queue_properties,
};
use clift_runtime::{fault, graph};

use super::context::Context;
use super::device::Device;
use crate::error::ClResult;
use crate::ffi::handle::{Handle, Ref, cl_object};

/// A command queue.
pub struct Queue {
    context: Ref<Context>,
    device: Ref<Device>,
    properties: cl_command_queue_properties,
    property_list: Vec<cl_queue_properties>,
    commands: graph::Queue,
}

cl_object!(Queue, b"queu", InvalidCommandQueue);

impl Handle<Queue> {
    /// As [`Handle::get`], for calls that enqueue commands or record them.
    ///
    /// # Errors
    /// As [`Handle::get`]; [`ContextTerminated`](crate::error::ClError::ContextTerminated) if the context has been terminated.
    pub fn active(self) -> ClResult<Ref<Queue>> {
        let queue = self.get()?;
        queue.context.ensure_active()?;
        Ok(queue)
    }
}

impl Queue {
    /// A queue with the given property bits; `property_list` is the list it was created with, empty if there was none.
    pub fn new(
        context: Ref<Context>,
        device: Ref<Device>,
        properties: cl_command_queue_properties,
        property_list: Vec<cl_queue_properties>,
    ) -> Self {
        fault::keep_handlers();
        let options = graph::QueueOptions {
            out_of_order: properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
            profiling: properties & CL_QUEUE_PROFILING_ENABLE != 0,
            pool: device.pool(),
        };
        // A command may end after its queue and its context have been released.
        let of_context = Arc::downgrade(&context);
        let errors: graph::ErrorSink = Arc::new(move |reason| {
            if let Some(context) = of_context.upgrade() {
                context.report(reason);
            }
        });
        let commands = graph::Queue::reporting(options, Some(errors)).with_termination(context.termination().cloned());
        Self { context, device, properties, property_list, commands }
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

    /// The property list as given, including the final zero; empty if there was none.
    pub fn property_list(&self) -> &[cl_queue_properties] {
        &self.property_list
    }

    /// The runtime's queue.
    pub fn commands(&self) -> &graph::Queue {
        &self.commands
    }
}
