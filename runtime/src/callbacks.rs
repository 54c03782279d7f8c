//! The functions that generated code may call: the table of [`Callbacks`]. No panic leaves an entry.
//!
//! Each function gets its launch from [`WgContext::launch`]. The implementations are in [`crate::printf`] and, for failures of a
//! launch, in [`crate::launch`].
#![allow(unsafe_code, reason = "called by generated code, with raw pointers")]

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use clift_include::abi::{Callbacks, GroupRunFn, PrintfArg, WgContext};

use crate::launch::Running;
use crate::printf::FormatError;
use crate::{clock, enqueue, fault, printf};

/// The table every launch's [`WgContext::callbacks`] points to.
pub static CALLBACKS: Callbacks = Callbacks {
    printf: on_printf,
    fault: on_fault,
    request: enqueue::on_request,
    clock: on_clock,
    enter: on_enter,
    copy: on_copy,
    check: on_check,
};

/// Maximum length of a fault's message in bytes; the remainder is cut off.
const MESSAGE_MAX: usize = 4 << 10;

/// The launch that a context belongs to.
///
/// # Safety
/// `ctx` is null, or points to a context created by the runtime whose launch is in execution.
pub(crate) unsafe fn launch_of<'a>(ctx: *const WgContext) -> Option<&'a Running> {
    // SAFETY: by contract the context is valid or null, and its `launch` is null or a `Running` that outlives the call.
    unsafe { ctx.as_ref().and_then(|ctx| ctx.launch.cast::<Running>().as_ref()) }
}

/// [`Callbacks::printf`].
///
/// # Safety
/// As documented there.
unsafe extern "C" fn on_printf(
    ctx: *const WgContext,
    format: *const u8,
    args: *const PrintfArg,
    count: u64,
    data: *const u8,
) -> i32 {
    let printed = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: generated code passes the context it was given.
        let running = unsafe { launch_of(ctx) }?;
        if format.is_null() {
            return None;
        }
        // SAFETY: the format is a NUL-terminated constant of the program.
        let format = unsafe { CStr::from_ptr(format.cast()) };
        let count = usize::try_from(count).ok()?;
        let args = if count == 0 || args.is_null() {
            &[][..]
        } else {
            // SAFETY: generated code describes `count` values.
            unsafe { slice::from_raw_parts(args, count) }
        };
        let end =
            args.iter().map(|arg| arg.offset as usize + usize::from(arg.elem_bytes) * usize::from(arg.lanes)).max();
        let data = match end {
            Some(end) if !data.is_null() => {
                // SAFETY: every described value is inside the call's data.
                unsafe { slice::from_raw_parts(data, end) }
            }
            Some(_) | None => &[][..],
        };
        let printed = running.print(|text| {
            // SAFETY: pointers that `%s` prints point to NUL-terminated strings, which is the kernel's responsibility.
            let formatted = unsafe { printf::format(format.to_bytes(), args, data, text) };
            if let Err(FormatError::Inaccessible(reason)) = &formatted {
                running.fail(&format!("{}printf: {reason}", running.prefix()));
            }
            formatted.is_ok()
        });
        printed.then_some(0)
    }));
    printed.ok().flatten().unwrap_or(-1)
}

/// [`Callbacks::check`].
///
/// # Safety
/// As documented there.
unsafe extern "C" fn on_check(ctx: *const WgContext, site: u64, place: u64, bytes: u64, item: u64) -> i32 {
    let permitted = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: generated code passes the context it was given.
        let (running, ctx) = unsafe { (launch_of(ctx)?, ctx.as_ref()?) };
        Some(running.permits(ctx, site, place, bytes, item))
    }));
    permitted.ok().flatten().map_or(0, i32::from)
}

/// [`Callbacks::clock`].
extern "C" fn on_clock() -> u64 {
    catch_unwind(clock::now_ns).unwrap_or(0)
}

/// [`Callbacks::enter`].
///
/// # Safety
/// As documented there.
unsafe extern "C" fn on_enter(
    run: GroupRunFn,
    ctx: *const WgContext,
    args: *const u8,
    first_group: u64,
    group_count: u64,
) -> bool {
    // SAFETY: by contract.
    let Err(left) = (unsafe { fault::enter(&fault::Work::current(), run, ctx, args, first_group, group_count) }) else {
        return true;
    };
    let reported = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the entry passes the context it was given.
        if let (Some(running), Some(ctx)) = unsafe { (launch_of(ctx), ctx.as_ref()) } {
            running.left(&left, ctx, first_group, group_count);
        }
    }));
    if reported.is_err() {
        tracing::error!("a kernel's fault could not be recorded");
    }
    false
}

/// [`Callbacks::copy`].
///
/// # Safety
/// As documented there.
unsafe extern "C" fn on_copy(to: *mut u8, from: *const u8, bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else { return false };
    // SAFETY: by contract.
    unsafe { fault::access::copy(to, from, bytes) }.is_ok()
}

/// [`Callbacks::fault`].
///
/// # Safety
/// As documented there.
unsafe extern "C" fn on_fault(ctx: *const WgContext, message: *const u8, len: u64) {
    let reported = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: generated code passes the context it was given.
        let Some(running) = (unsafe { launch_of(ctx) }) else { return };
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(MESSAGE_MAX);
        let message = if message.is_null() || len == 0 {
            &[][..]
        } else {
            // SAFETY: the message has at least `len` bytes.
            unsafe { slice::from_raw_parts(message, len) }
        };
        running.fail(&String::from_utf8_lossy(message));
    }));
    if reported.is_err() {
        tracing::error!("a kernel's fault could not be recorded");
    }
}
