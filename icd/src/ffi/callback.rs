//! Functions of the application that the driver calls.
//!
//! Each kind of callback is a C function together with the `user_data` it was registered with, wrapped so that `api/` and
//! `object/` can store and call it without `unsafe`. No lock may be held during the call. A callback may be called from any
//! thread, which the specification requires applications to support.

#![allow(unsafe_code, reason = "calls C functions of the application")]

use std::ffi::{CString, c_char, c_void};
use std::fmt;

use clift_include::cl::{cl_int, cl_uint};

use super::handle::Handle;
use super::pointer::{HostPtr, UserData};
use crate::object::buffer::Mem;
use crate::object::context::Context;
use crate::object::event::Event;
use crate::object::program::Program;
use crate::object::queue::Queue;

macro_rules! callback {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*)) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy)]
        pub struct $name(Option<unsafe extern "C" fn($($ty),*)>);

        impl $name {
            /// Whether the application passed NULL.
            pub fn is_null(self) -> bool {
                self.0.is_none()
            }
        }

        impl fmt::Debug for $name {
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
    /// `pfn_notify` of `clSetContextDestructorCallback`.
    ContextDestructor(context: Handle<Context>, user_data: *mut c_void)
}

impl ContextDestructor {
    /// Reports the end of the context; does nothing for NULL.
    pub fn call(self, context: Handle<Context>, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application registered the function for this call.
            unsafe { function(context, user_data.0) }
        }
    }
}

callback! {
    /// `pfn_notify` of `clSetMemObjectDestructorCallback`.
    MemDestructor(mem: Handle<Mem>, user_data: *mut c_void)
}

impl MemDestructor {
    /// Reports the end of the memory object; does nothing for NULL.
    pub fn call(self, mem: Handle<Mem>, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application registered the function for this call.
            unsafe { function(mem, user_data.0) }
        }
    }
}

callback! {
    /// `pfn_notify` of `clSetEventCallback`.
    EventNotify(event: Handle<Event>, status: cl_int, user_data: *mut c_void)
}

impl EventNotify {
    /// Reports that the event has reached a status; does nothing for NULL.
    pub fn call(self, event: Handle<Event>, status: cl_int, user_data: UserData) {
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
    SvmFreeFunction(queue: Handle<Queue>, count: cl_uint, pointers: *mut HostPtr, user_data: *mut c_void)
}

impl SvmFreeFunction {
    /// Makes the application free memory; does nothing for NULL.
    pub fn call(self, queue: Handle<Queue>, mut pointers: Vec<HostPtr>, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application enqueued the function for this call; the array outlives it, and its length was given as a
            // `cl_uint`.
            unsafe { function(queue, pointers.len() as cl_uint, pointers.as_mut_ptr(), user_data.0) }
        }
    }
}

callback! {
    /// `pfn_notify` of `clBuildProgram`, `clCompileProgram`, `clLinkProgram` and `clSetProgramReleaseCallback`.
    ProgramNotify(program: Handle<Program>, user_data: *mut c_void)
}

impl ProgramNotify {
    /// Reports the end of a build; does nothing for NULL.
    pub fn call(self, program: Handle<Program>, user_data: UserData) {
        if let Some(function) = self.0 {
            // SAFETY: the application registered the function for this call.
            unsafe { function(program, user_data.0) }
        }
    }
}
