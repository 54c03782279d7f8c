//! Shared helpers of Clift's end-to-end tests.
//!
//! [`driver`] finds the driver under test and makes the OpenCL loader see it and nothing else; [`session`] opens its
//! device; [`kernel`] states a kernel test as source and expected values and sweeps it over launches; [`translator`] makes
//! SPIR-V of such a source in another way than the driver does. The tests
//! themselves are in `kernels/` and `api/`, the demonstration program in `demo/`, the benchmark in `bench/`. Everything
//! here talks to `libOpenCL.so` like any application: nothing of the driver's code is linked in.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

pub mod commands;
pub mod driver;
pub mod kernel;
pub mod raw;
pub mod session;
pub mod translator;
pub mod values;
