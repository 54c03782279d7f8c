//! Linker settings of `libclift.so`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // The library's name in OpenCL.icd.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libclift.so");
        // The OpenCL types come from a crate that may request linking the OpenCL loader, which a driver must not load.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--as-needed");
        // All symbols are resolved when the library is loaded, not at their first call.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now,-z,relro");
        // The functions of a sanitizer are in the program.
        if std::env::var_os("CARGO_CFG_SANITIZE").is_none() {
            println!("cargo:rustc-cdylib-link-arg=-Wl,--no-undefined");
        }
        // The workers execute the library's code, so it stays loaded when a loader closes it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
