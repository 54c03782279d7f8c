//! `libclift.so`: the OpenCL installable client driver.

pub mod envelope;
pub mod frontend;
