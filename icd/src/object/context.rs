//! A context: the scope of objects that may be used together.

use clift_include::cl::cl_context_properties;
use parking_lot::Mutex;

use super::device::Device;
use crate::ffi::callback::{ContextDestructor, ContextNotify};
use crate::ffi::handle::{Handle, Ref, cl_object};
use crate::ffi::pointer::UserData;

/// A context.
#[derive(Debug)]
pub struct Context {
    devices: Vec<Ref<Device>>,
    properties: Vec<cl_context_properties>,
    notify: (ContextNotify, UserData),
    destructors: Mutex<Vec<Destructor>>,
}

cl_object!(Context, b"ctxt", InvalidContext);

/// A registered destructor callback with its arguments.
type Destructor = (ContextDestructor, Handle<Context>, UserData);

impl Context {
    /// A context for devices (each once), with the property list as the application gave it.
    pub fn new(
        devices: Vec<Ref<Device>>,
        properties: Vec<cl_context_properties>,
        notify: (ContextNotify, UserData),
    ) -> Self {
        Self { devices, properties, notify, destructors: Mutex::default() }
    }

    /// Its devices.
    pub fn devices(&self) -> &[Ref<Device>] {
        &self.devices
    }

    /// The property list as given, the ending zero included; empty when none was.
    pub fn properties(&self) -> &[cl_context_properties] {
        &self.properties
    }

    /// Whether the device belongs to the context.
    pub fn has_device(&self, device: &Ref<Device>) -> bool {
        self.devices.iter().any(|own| Ref::ptr_eq(own, device))
    }

    /// Reports an error that no call can return (a command's failure, a remark) to the application's callback.
    pub fn report(&self, message: &str) {
        let (notify, user_data) = self.notify;
        tracing::warn!(target: "clift::context", "{message}");
        notify.call(message, user_data);
    }

    /// Registers a function to call when the context ends.
    pub fn add_destructor(&self, notify: ContextDestructor, context: Handle<Context>, user_data: UserData) {
        self.destructors.lock().push((notify, context, user_data));
    }
}

impl Drop for Context {
    /// Calls the destructor callbacks, the last registered first.
    fn drop(&mut self) {
        for (notify, context, user_data) in std::mem::take(self.destructors.get_mut()).into_iter().rev() {
            notify.call(context, user_data);
        }
    }
}
