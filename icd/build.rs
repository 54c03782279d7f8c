//! Linker settings of `libclift.so`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // The name that goes into OpenCL.icd.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libclift.so");
        // The types of OpenCL come from a crate that may ask for the loader to be linked: a driver must not load it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--as-needed");
        // Everything else is resolved when the library is loaded, not at a first call in the middle of work.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now,-z,relro,--no-undefined");
        // The workers run the library's code: it stays when a loader lets go of it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
