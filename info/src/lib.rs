//! What `clift-info` and `clift-report` have in common: programs for people, which show what the driver found, what it does, and
//! what it has done.
//!
//! - [`opencl`]: calls of an OpenCL loader or driver that is opened at run time; [`installation`]: why there is none;
//! - [`report`], [`selftest`]: what `clift-info` prints about the device, and its test;
//! - [`watch`]: what running processes say on their sockets (`clift-info --watch`);
//! - [`trace`]: what a file of `CLIFT_TRACE` contains; [`peaks`]: what the machine can do; [`page`]: the page that shows both
//!   (`clift-report`).
//!
//! Deliberately not here: the driver. Its library is used as any program uses it.

pub mod installation;
pub mod opencl;
pub mod page;
pub mod peaks;
pub mod report;
pub mod selftest;
pub mod trace;
pub mod units;
pub mod watch;
