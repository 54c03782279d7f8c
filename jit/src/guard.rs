//! Turns panics of the compiler into build errors, so that they do not end the application.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::BuildError;

/// Runs `work` and turns a panic into an internal error whose message begins with `what`.
pub(crate) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T, BuildError>) -> Result<T, BuildError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(BuildError::Internal(format!("{what}: {}", panic_text(&*payload)))))
}

/// The message of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "panic without a message".to_owned())
}
