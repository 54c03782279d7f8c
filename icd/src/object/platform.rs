//! The platform, of which there is only one.

use std::sync::OnceLock;

use crate::ffi::handle::{Object, Ref, cl_object};

/// The platform. It has no state: its properties are in [`crate::caps`].
#[derive(Debug)]
pub struct Platform;

cl_object!(Platform, b"plat", InvalidPlatform);

/// The platform object. It is never freed.
pub fn get() -> &'static Ref<Platform> {
    static PLATFORM: OnceLock<Ref<Platform>> = OnceLock::new();
    PLATFORM.get_or_init(|| Object::create(Platform))
}
