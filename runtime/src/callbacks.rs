//! The functions generated code may call: the one table of [`Callbacks`], each entry panic-proof.
#![allow(unsafe_code, reason = "called by generated code through C function pointers")]

use clift_include::abi::{Callbacks, PrintfArg, WgContext};

/// The table every launch's [`WgContext::callbacks`] points to.
pub static CALLBACKS: Callbacks = Callbacks { printf, fault };

unsafe extern "C" fn printf(
    _ctx: *const WgContext,
    _format: *const u8,
    _args: *const PrintfArg,
    _count: u64,
    _data: *const u8,
) -> i32 {
    -1
}

unsafe extern "C" fn fault(_ctx: *const WgContext, _message: *const u8, _len: u64) {}
