//! Entry points by name, for calls that the binding crate does not support (several sources or headers, null lists).

use std::ffi::CStr;

/// The loader's function `name`.
///
/// # Panics
/// When the loader has none of that name.
///
/// # Safety
/// `F` is the function's pointer type.
pub unsafe fn entry<F: Copy>(name: &CStr) -> F {
    crate::driver::select();
    // SAFETY: both names are NUL-terminated; the library stays loaded, so the pointer stays valid; the caller vouches for
    // its type, which has to be one pointer wide.
    unsafe {
        let library = libc::dlopen(c"libOpenCL.so.1".as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "no libOpenCL.so.1");
        let symbol = libc::dlsym(library, name.as_ptr());
        assert!(!symbol.is_null(), "the loader has no {name:?}");
        assert_eq!(size_of::<F>(), size_of_val(&symbol));
        std::mem::transmute_copy(&symbol)
    }
}
