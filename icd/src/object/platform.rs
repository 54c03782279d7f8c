//! The platform: the one there is.

use std::sync::OnceLock;

use crate::ffi::handle::{Object, Ref, cl_object};

/// The platform. It has no state of its own: what it says comes from [`crate::caps`].
#[derive(Debug)]
pub struct Platform;

cl_object!(Platform, b"plat", InvalidPlatform);

/// The platform object. It is never freed.
pub fn get() -> &'static Ref<Platform> {
    static PLATFORM: OnceLock<Ref<Platform>> = OnceLock::new();
    PLATFORM.get_or_init(|| Object::create(Platform))
}
