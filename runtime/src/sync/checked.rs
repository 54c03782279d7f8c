//! The primitives of the model checker.
//!
//! Time is not modelled: whoever waits for a limited time wakes up at once, or finds that another thread has been faster.

use std::sync::PoisonError;
use std::time::Duration;

pub(crate) use loom::sync::{MutexGuard, atomic};

/// The functions of threads. Loom's `unpark` also wakes a thread that waits for a lock, so parking is made of a lock here.
pub(crate) mod thread {
    use std::cell::RefCell;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    pub(crate) use loom::thread::yield_now;
    use loom::thread::{self, JoinHandle};

    use super::{Condvar, Mutex};

    /// The stack of a modelled thread, in words: unoptimized code needs more than the default.
    const STACK_WORDS: usize = 32 << 10;

    // All threads of an execution are coroutines of one thread.
    std::thread_local! {
        static STARTED: RefCell<Vec<JoinHandle<()>>> = const { RefCell::new(Vec::new()) };
    }

    /// Starts threads that live until [`join_all`].
    pub(crate) struct Builder;

    impl Builder {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn name(self, _: String) -> Self {
            self
        }

        pub(crate) fn stack_size(self, _: usize) -> Self {
            self
        }

        pub(crate) fn spawn(self, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
            let thread = spawn(body);
            STARTED.with_borrow_mut(|started| started.push(thread));
            Ok(())
        }
    }

    /// Starts a thread that is joined.
    pub(crate) fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        thread::Builder::new().stack_size(STACK_WORDS).spawn(body).expect("a modelled thread can be started")
    }

    /// Waits for the threads that the code under test has started: static variables live as long as the first thread.
    pub(crate) fn join_all() {
        while let Some(thread) = STARTED.with_borrow_mut(Vec::pop) {
            thread.join().expect("a modelled thread does not panic");
        }
    }

    /// Forgets the threads of an execution that has failed.
    pub(crate) fn forget_all() {
        STARTED.with_borrow_mut(Vec::clear);
    }

    /// A thread that can be woken.
    #[derive(Clone, Default)]
    pub(crate) struct Thread(Arc<Token>);

    #[derive(Default)]
    struct Token {
        present: Mutex<bool>,
        changed: Condvar,
    }

    loom::thread_local! {
        static CURRENT: Thread = Thread::default();
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            *self.0.present.lock() = true;
            self.0.changed.notify_one();
        }
    }

    pub(crate) fn current() -> Thread {
        CURRENT.with(Thread::clone)
    }

    pub(crate) fn park() {
        let Thread(token) = current();
        let mut present = token.present.lock();
        while !*present {
            present = token.changed.wait(present);
        }
        *present = false;
    }

    pub(crate) fn park_timeout(_: Duration) {
        yield_now();
    }
}

/// A point in time, which is after every other.
#[derive(Clone, Copy)]
pub(crate) struct Instant;

impl Instant {
    pub(crate) fn now() -> Self {
        Self
    }

    pub(crate) fn saturating_duration_since(self, _: Self) -> Duration {
        Duration::ZERO
    }

    /// Longer than any limit.
    pub(crate) fn elapsed(self) -> Duration {
        Duration::MAX
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Self;

    fn add(self, _: Duration) -> Self {
        self
    }
}

/// As [`super::plain::Mutex`].
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// As [`super::plain::Condvar`].
#[derive(Debug)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets other threads run, and returns.
    pub(crate) fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, _: Duration) -> MutexGuard<'a, T> {
        thread::yield_now();
        guard
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

/// Declares a static variable, which each execution of a model initializes anew.
macro_rules! shared {
    ($(#[$attr:meta])* static $name:ident: $type:ty = $init:expr;) => {
        loom::lazy_static! {
            $(#[$attr])*
            static ref $name: $type = $init;
        }
    };
}
pub(crate) use shared;

/// Declares a function that static variables are initialized by.
macro_rules! const_fn {
    ($(#[$attr:meta])* $vis:vis const fn $($rest:tt)*) => {
        $(#[$attr])*
        $vis fn $($rest)*
    };
}
pub(crate) use const_fn;

/// As the standard library's, for the forms that are used.
macro_rules! per_thread {
    () => {};
    ($(#[$attr:meta])* static $name:ident: $type:ty = const { $init:expr }; $($rest:tt)*) => {
        loom::thread_local! { $(#[$attr])* static $name: $type = $init; }
        $crate::sync::per_thread! { $($rest)* }
    };
    ($(#[$attr:meta])* static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        loom::thread_local! { $(#[$attr])* static $name: $type = $init; }
        $crate::sync::per_thread! { $($rest)* }
    };
}
pub(crate) use per_thread;
