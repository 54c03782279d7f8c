//! Shared helpers of Clift's end-to-end tests.
//!
//! [`driver`] finds the driver under test and makes the OpenCL loader use only that driver; [`session`] opens its device;
//! [`kernel`] defines a kernel test as source and expected values and runs it with several launches; [`translator`] compiles such
//! a source to SPIR-V in another way than the driver; [`ways`] are the configurations and drivers whose results are compared.
//! The tests themselves are in `kernels/` and `api/`, the demonstration program in `demo/`, the benchmark in `bench/`.
//! Everything here uses `libOpenCL.so` like any application: the driver's code is not linked in.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

pub mod commands;
pub mod driver;
pub mod kernel;
pub mod raw;
pub mod session;
pub mod translator;
pub mod values;
pub mod ways;
