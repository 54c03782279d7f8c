//! The device: the processor, as a whole. Sub-devices are not offered.

use std::sync::OnceLock;

use crate::ffi::handle::{Object, Ref, cl_object};

/// A device. It has no state of its own: what it can comes from [`crate::caps`].
#[derive(Debug)]
pub struct Device;

cl_object!(Device, b"dev ", InvalidDevice);

/// The root device. It is never freed.
pub fn root() -> &'static Ref<Device> {
    static DEVICE: OnceLock<Ref<Device>> = OnceLock::new();
    DEVICE.get_or_init(|| Object::create(Device))
}
