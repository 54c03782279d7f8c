//! The primitives of the standard library.

pub(crate) use std::sync::atomic;
pub(crate) use std::thread_local as per_thread;
pub(crate) use std::time::Instant;

pub(crate) use super::locks::{Condvar, Mutex, MutexGuard};

/// The functions of threads.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, Thread, current, park, park_timeout, yield_now};
}

/// Declares a static variable.
macro_rules! shared {
    ($(#[$attr:meta])* static $name:ident: $type:ty = $init:expr;) => {
        $(#[$attr])*
        static $name: $type = $init;
    };
}
pub(crate) use shared;

/// Declares a function that static variables are initialized by.
macro_rules! const_fn {
    ($(#[$attr:meta])* $vis:vis const fn $($rest:tt)*) => {
        $(#[$attr])*
        $vis const fn $($rest)*
    };
}
pub(crate) use const_fn;
