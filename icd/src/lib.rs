//! `libclift.so`: the OpenCL installable client driver.
