//! Shared helpers of Clift's end-to-end tests.
//!
//! [`driver`] finds the driver under test and makes the OpenCL loader use only that driver; [`session`] opens its device;
//! [`kernel`] defines a kernel test as source and expected values and runs it with several launches; [`translator`] compiles such
//! a source to SPIR-V in another way than the driver; [`ways`] are the configurations and drivers whose results are compared;
//! [`commands`] and [`raw`] are calls that the binding crate does not offer in the form needed; [`values`] are test values.
//! The tests themselves are in `kernels/` (results of kernels), `api/` and `host/` (the host interface) and `producers/`
//! (modules of other compilers); the programs `clift-demo`, `clift-bench`, `clift-fuzz` and `clift-corpus` are in `demo/`,
//! `bench/`, `fuzz/` and `corpus/`.
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
