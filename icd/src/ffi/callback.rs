//! Functions of the application that the driver calls.
//!
//! Each kind of callback is a C function together with the `user_data` it was registered with, wrapped so that `api/` and
//! `object/` can store and call it without `unsafe`. No lock may be held during the call. A callback may be called from any
//! thread, which the specification requires applications to support.

#![allow(unsafe_code, reason = "calls C functions of the application")]

use std::ffi::{CString, c_char, c_void};
use std::fmt;

use clift_include::cl::{cl_int, cl_uint};
use clift_runtime::{graph, pool};

use super::handle::Handle;
use super::pointer::{HostPtr, UserData};

macro_rules! callback {
    ($(#[$doc:meta])* $name:ident$(<$object:ident>)?($($arg:ident: $ty:ty),*)) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name$(<$object>)?(Option<unsafe extern "C" fn($($ty),*)>);

        impl$(<$object>)? $name$(<$object>)? {
            /// Whether the application passed NULL.
            pub fn is_null(self) -> bool {
                self.0.is_none()
            }
        }

        impl$(<$object>)? Clone for $name$(<$object>)? {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl$(<$object>)? Copy for $name$(<$object>)? {}

        impl$(<$object>)? fmt::Debug for $name$(<$object>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    Some(function) => write!(f, "{:p}", function as *const ()),
                    None => f.write_str("0x0"),
                }
            }
        }
    };
}

callback! {
    /// `pfn_notify` of `clCreateContext`.
    ContextNotify(message: *const c_char, private_info: *const c_void, size: usize, user_data: *mut c_void)
}

impl ContextNotify {
    /// Reports an error of the context; does nothing for NULL. The message ends at its first NUL.
    pub fn call(self, message: &str, user_data: UserData) {
        let Some(function) = self.0 else { return };
        let end = message.find('\0').unwrap_or(message.len());
        let Ok(message) = CString::new(&message[..end]) else {
            unreachable!("broken invariant: the text was cut at its first NUL")
        };
        // SAFETY: the application registered the function for this call; the string outlives it.
        unsafe { function(message.as_ptr(), std::ptr::null(), 0, user_data.0) }
    }
}

callback! {
    /// `pfn_notify` of `clSetContextDestructorCallback`, `clSetMemObjectDestructorCallback`, `clSetProgramReleaseCallback`,
    /// `clBuildProgram`, `clCompileProgram` and `clLinkProgram`.
    ObjectNotify<T>(object: Handle<T>, user_data: *mut c_void)
}

impl<T> ObjectNotify<T> {
    /// Reports what happened to the object: its end, or the end of its build; does nothing for NULL.
    pub fn call(self, object: Handle<T>, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application registered the function for this call.
            unsafe { function(object, user_data.0) }
        }
    }
}

/// A registered destructor callback with its arguments.
pub type Destructor<T> = (ObjectNotify<T>, Handle<T>, UserData);

/// Calls the destructor callbacks of an object, latest first: now, or, if a command that is just ending was its last user, when
/// the command has ended.
pub fn call_destructors<T: 'static>(registered: Vec<Destructor<T>>) {
    if registered.is_empty() {
        return;
    }
    let call = move || {
        for (notify, object, user_data) in registered.into_iter().rev() {
            notify.call(object, user_data);
        }
    };
    if graph::is_ending_command() { pool::defer(call) } else { call() }
}

callback! {
    /// `pfn_notify` of `clSetEventCallback`.
    StatusNotify<T>(event: Handle<T>, status: cl_int, user_data: *mut c_void)
}

impl<T> StatusNotify<T> {
    /// Reports that the event has reached a status; does nothing for NULL.
    pub fn call(self, event: Handle<T>, status: cl_int, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application registered the function for this call.
            unsafe { function(event, status, user_data.0) }
        }
    }
}

callback! {
    /// `user_func` of `clEnqueueNativeKernel`.
    NativeFunction(args: *mut c_void)
}

impl NativeFunction {
    /// Calls the function with its block of arguments; does nothing for NULL.
    pub fn call(self, args: HostPtr) {
        if let Some(function) = self.0 {
            // SAFETY: the application enqueued the function with these arguments.
            unsafe { function(args.as_ptr().cast()) }
        }
    }
}

callback! {
    /// `pfn_free_func` of `clEnqueueSVMFree`.
    FreeFunction<T>(queue: Handle<T>, count: cl_uint, pointers: *mut HostPtr, user_data: *mut c_void)
}

impl<T> FreeFunction<T> {
    /// Makes the application free memory; does nothing for NULL.
    pub fn call(self, queue: Handle<T>, mut pointers: Vec<HostPtr>, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application enqueued the function for this call; the array outlives it, and its length was given as a
            // `cl_uint`.
            unsafe { function(queue, pointers.len() as cl_uint, pointers.as_mut_ptr(), user_data.0) }
        }
    }
}
