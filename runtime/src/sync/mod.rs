//! What threads synchronize with: the standard library's primitives, or those of a model checker.
//!
//! With the feature `loom` the types of this module are those of the crate `loom`, and the models (`crate::models`) run the
//! code of the pool and the graph in all orders that matter. The protocols that have models ([`crate::pool`], [`crate::graph`])
//! use only this module; it is a re-export otherwise. State that no model is about uses [`plain`], so that it adds nothing to
//! what is explored.
//!
//! A constant cannot have loom's types: statics are declared by [`shared!`], and functions that initialize them by [`const_fn!`].

#[cfg(feature = "loom")]
mod checked;
mod locks;
#[cfg(not(feature = "loom"))]
mod system;

/// The standard library's locks.
pub(crate) mod plain {
    pub(crate) use super::locks::{Condvar, Mutex, MutexGuard};
}

#[cfg(feature = "loom")]
pub(crate) use checked::{Condvar, Instant, Mutex, MutexGuard, atomic, const_fn, per_thread, shared, thread};
#[cfg(not(feature = "loom"))]
pub(crate) use system::{Condvar, Instant, Mutex, MutexGuard, atomic, const_fn, per_thread, shared, thread};
