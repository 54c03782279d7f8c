//! Locks of process-wide state: the map of generated code, and the files and lists that debuggers and profilers read.
//!
//! A thread that forks holds all of them meanwhile ([`lock_for_fork`]), so that none is locked forever in the child. They are
//! the standard library's, because threads that wait for these leave nothing behind in the child.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{code_map, symbols};

/// A lock in a static variable, which [`lock_for_fork`] has to name.
pub(super) struct ProcessLock<T>(Mutex<T>);

impl<T> ProcessLock<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the locks until it is dropped, in the thread that forks.
pub struct ForkLocks {
    _guards: [Box<dyn Any>; 4],
}

/// Acquires the locks of this crate before a fork. No thread that holds one of them waits for another lock.
pub fn lock_for_fork() -> ForkLocks {
    let [gdb, jitdump, perf_map] = symbols::lock_for_fork();
    ForkLocks { _guards: [Box::new(code_map::lock_for_fork()), gdb, jitdump, perf_map] }
}
