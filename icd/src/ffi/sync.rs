//! What the counts and registries of handles synchronize with: the standard library's primitives. With the feature `loom`,
//! those of the model checker, for the models of handles alone: objects can then be created in models only.

#[cfg(feature = "loom")]
pub(crate) use loom::sync::atomic::AtomicU32;
#[cfg(feature = "loom")]
pub(crate) use loom::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::atomic::AtomicU32;
#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Declares a static variable; in a model, one that each execution initializes anew.
#[cfg(not(feature = "loom"))]
macro_rules! shared {
    (static $name:ident: $type:ty = $init:expr;) => {
        static $name: $type = $init;
    };
}
#[cfg(feature = "loom")]
macro_rules! shared {
    (static $name:ident: $type:ty = $init:expr;) => {
        loom::lazy_static! {
            static ref $name: $type = $init;
        }
    };
}
pub(crate) use shared;
