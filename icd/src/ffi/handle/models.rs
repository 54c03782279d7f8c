//! Models: the reference counts and registries of handles in all orders of the steps of two threads, by the crate `loom`.
//! `cargo xtask models` runs them.
//!
//! References of Rust are the standard library's and not modelled; their number is asserted.

use loom::thread::{Builder, JoinHandle};

use super::*;

/// The stack of a modelled thread, in words.
const STACK_WORDS: usize = 32 << 10;

/// An object without state.
struct Probe;

cl_object!(Probe, b"prob", InvalidDevice);

fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().stack_size(STACK_WORDS).spawn(body).expect("a modelled thread can be started")
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("a modelled thread does not panic")
}

/// Explores all orders.
fn explore(model: fn()) {
    let executions = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = executions.clone();
    loom::model(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        join(spawn(model));
    });
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// A thread retains an object that only the driver holds, and another thread releases it at once: that takes no reference from
/// those who hold one.
#[test]
fn a_release_takes_only_what_a_retain_gave() {
    explore(|| {
        let object = Object::create(Probe);
        object.release().expect("it has one reference");
        let own = object.clone();
        let other = spawn(move || {
            let released = own.release().is_ok();
            assert!(Arc::strong_count(&own) >= 2, "those of both threads");
            released
        });
        object.retain().expect("the count is small");
        let remaining = u32::from(!join(other));
        assert_eq!(object.reference_count(), remaining);
        assert_eq!(Arc::strong_count(&object), 1 + remaining as usize);
        if remaining > 0 {
            object.release().expect("it has one reference");
        }
    });
}

/// Two threads release the last two references: the object ends once, and its handle with it.
#[test]
fn the_last_release_ends_an_object() {
    explore(|| {
        let handle = Object::create(Probe).handle();
        retain(handle).expect("the count is small");
        let other = spawn(move || release(handle));
        let mine = release(handle);
        assert_eq!((mine, join(other)), (Ok(()), Ok(())));
        assert_eq!(release(handle), Err(ClError::InvalidDevice));
        assert!(Probe::registry().is_empty());
    });
}

/// A handle that is used while another thread releases it for the last time is invalid, or its object lives on.
#[test]
fn a_handle_in_use_is_valid_or_not() {
    explore(|| {
        let handle = Object::create(Probe).handle();
        let other = spawn(move || release(handle));
        if let Ok(object) = handle.get() {
            assert!(Arc::strong_count(&object) >= 1 && object.reference_count() <= 1);
            // The driver's reference lets the application retain it again.
            object.retain().expect("the count is small");
            assert_eq!(join(other), Ok(()));
            assert_eq!(object.reference_count(), 1);
            object.release().expect("it has one reference");
        } else {
            assert_eq!(join(other), Ok(()));
        }
        assert!(Probe::registry().is_empty());
    });
}

/// Of two threads that release one reference, one gets an error.
#[test]
fn one_reference_is_released_once() {
    explore(|| {
        let handle = Object::create(Probe).handle();
        let other = spawn(move || release(handle).is_ok());
        let mine = release(handle).is_ok();
        assert!(mine != join(other), "one of them");
        assert!(Probe::registry().is_empty());
    });
}
